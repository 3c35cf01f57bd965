"""The two tools, each used as its own pages say. A play changes files; whoever is asked then says whether it may pass."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from projects import AMONG_TESTS, PYTHON, SHARED, Language

# A git without anybody's own settings.
CLEAN = {
    **{name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PHASEGATE_"))},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "rover",
    "GIT_AUTHOR_EMAIL": "rover@example.com",
    "GIT_COMMITTER_NAME": "rover",
    "GIT_COMMITTER_EMAIL": "rover@example.com",
    "PYTHONDONTWRITEBYTECODE": "1",
    "NO_COLOR": "1",
}


@dataclass
class Ended:
    code: int
    said: str


@dataclass
class Outcome:
    """`stopped`: the tool refused at the gate. `later`: its gate let it pass, and another command of it does not."""

    stopped: bool
    later: bool = False
    codes: list = field(default_factory=list)
    said: str = ""


def run(folder: Path, *command: str) -> Ended:
    ended = subprocess.run(command, cwd=folder, env=CLEAN, capture_output=True, text=True, timeout=120)
    return Ended(ended.returncode, ended.stdout + ended.stderr)


def must(folder: Path, *command: str) -> str:
    ended = run(folder, *command)
    if ended.code != 0:
        sys.exit(f"{' '.join(command)} in {folder} exits with {ended.code}:\n{ended.said}")
    return ended.said


class Place:
    """A project as a play finds it. Paths are those of the project, except for `test`, `tests` and `code`."""

    def __init__(self, root: Path, language: Language, code: str, test: str):
        self.root, self.language, self.code, self.test = root, language, code, test
        self.tests = str(Path(test).parent)
        # A further test, a further file of code, and a place where no runner looks.
        self.more, self.beside, self.unseen = language.more, language.beside, language.unseen

    def read(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8")

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")

    def replace(self, path: str, old: str, new: str) -> None:
        text = self.read(path)
        if old not in text:
            sys.exit(f"{path} has no {old!r}")
        self.write(path, text.replace(old, new))

    def delete(self, path: str) -> None:
        (self.root / path).unlink()

    def move(self, path: str, to: str) -> None:
        (self.root / to).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).rename(self.root / to)

    def link(self, path: str, to: str) -> None:
        (self.root / path).symlink_to(to)


def fill(place: Place) -> None:
    """The project when its tests are red."""
    language = place.language
    for path, text in SHARED.items():
        place.write(path, text)
    if language is PYTHON:
        for path, text in AMONG_TESTS.items():
            place.write(f"{place.tests}/{path}", text)
        (place.root / place.tests / "smoke.sh").chmod(0o755)
    place.write(place.code, language.red)
    place.write(place.test, language.proof)


class Phasegate:
    """Its offline commands: `guard freeze` where the tests are red, `guard check` at the end. The manifest is kept outside of
    the repository, as the App keeps it."""

    name = "Phasegate"

    def __init__(self, binary: Path, home: Path):
        self.binary, self.home = str(binary), home / "phasegate"

    def start(self, language: Language, name: str) -> Place:
        root = self.home / name
        place = Place(root, language, language.code, language.test)
        root.mkdir(parents=True)
        must(root, "git", "init", "-q", "-b", "main")
        place.write("README.md", "# Shop\n")
        place.write("theirs/test_theirs.py", "def test_theirs():\n    assert True\n")
        self.commit(place, "the beginning")
        must(root, "git", "checkout", "-q", "-b", "change")
        fill(place)
        place.write("contract.json", '{"total": {"of": "numbers", "returns": "number"}}\n')
        self.commit(place, "red tests")
        must(root, self.binary, "guard", "freeze", "--base", "main", "--out", self.manifest(place))
        place.write(place.code, language.green)
        return place

    def manifest(self, place: Place) -> str:
        return str(place.root.with_suffix(".manifest"))

    def contract(self, place: Place) -> None:
        place.replace("contract.json", "number", "anything")

    def base_moves(self, place: Place) -> None:
        """Somebody else's test changes on the main branch, and the change takes that in."""
        self.commit(place, "built")
        must(place.root, "git", "checkout", "-q", "main")
        place.write("theirs/test_theirs.py", "def test_theirs():\n    assert 1 + 1 == 2\n")
        self.commit(place, "theirs")
        must(place.root, "git", "checkout", "-q", "change")
        must(place.root, "git", "merge", "-q", "--no-edit", "main")

    def commit(self, place: Place, message: str) -> None:
        must(place.root, "git", "add", "-A")
        must(place.root, "git", "commit", "-q", "--allow-empty", "-m", message)

    def passes(self, place: Place) -> None:
        outcome = self.judge(place)
        if outcome.stopped:
            sys.exit(f"honest work is stopped in {place.root}: {outcome.said}")

    def judge(self, place: Place) -> Outcome:
        self.commit(place, "built")
        return self.found(run(place.root, self.binary, "guard", "check", self.manifest(place), "--base", "main", "--json"))

    def found(self, ended: Ended) -> Outcome:
        if ended.code not in (0, 1, 3):
            sys.exit(f"phasegate exits with {ended.code}:\n{ended.said}")
        rules = [one["rule"] for one in json.JSONDecoder().raw_decode(ended.said)[0]["findings"] if one["severity"] == "error"]
        codes = sorted({rule.split(":")[0] for rule in rules})
        return Outcome(stopped=ended.code != 0, codes=codes, said=ended.said)


TASK = "total"
# What add.py calls a refusal by.
CODES = re.compile(
    r"\b(build_tampered|contract_tampered|scope_violation|scope_snapshot_tampered|scope_anchor_missing|tripwire_missing|"
    r"heal_exhausted|gate_pass_before_verify|unverified_fork_base|wave_ledger_malformed|unescalated_security_note|"
    r"gate_record_mismatch|malformed_gate_record|unstamped_freeze|unflagged_freeze|fork_base_pending|wave_not_found)\b"
)


class Add:
    """add.py: a task from `new-task` to `gate`, with a frozen contract that names its least sure point.

    `scaffolded`: code and tests in the folders that `new-task` makes, and the scope that its template has, `./src/`.
    Otherwise they are where the language has them, and the scope names the one file that is to be built."""

    def __init__(self, package: Path, home: Path, scaffolded: bool):
        self.package, self.scaffolded = package, scaffolded
        self.home = home / ("scaffolded" if scaffolded else "by-file")
        self.name = "as scaffolded" if scaffolded else "scope by file"

    def add(self, root: Path, *command: str) -> Ended:
        return run(root, sys.executable, ".add/tooling/add.py", *command)

    def ok(self, root: Path, *command: str) -> str:
        return must(root, sys.executable, ".add/tooling/add.py", *command)

    def install(self, root: Path) -> None:
        root.mkdir(parents=True)
        must(root, "git", "init", "-q", "-b", "main")
        code = "import sys; from add_method._cli import main; sys.exit(main(['init', '.']))"
        env = {**CLEAN, "PYTHONPATH": str(self.package)}
        subprocess.run([sys.executable, "-c", code], cwd=root, env=env, check=True, capture_output=True)
        self.ok(root, "init", "--name", "shop", "--stage", "mvp")

    def red(self, language: Language, name: str) -> Place:
        """At the phase `tests`, with red tests and a frozen contract."""
        root = self.home / name
        mould = self.home / f"mould-{language.name}"
        of = f".add/tasks/{TASK}"
        code = f"{of}/src/{Path(language.code).name}" if self.scaffolded else language.code
        test = f"{of}/tests/{Path(language.test).name}" if self.scaffolded else language.test
        if not mould.exists():
            self.install(mould)
            self.ok(mould, "new-task", TASK)
            place = Place(mould, language, code, test)
            place.write("theirs/test_theirs.py", "def test_theirs():\n    assert True\n")
            fill(place)
            self.freeze(place)
            for _ in range(4):
                self.ok(mould, "advance")
        shutil.copytree(mould, root, symlinks=True)
        place = Place(root, language, code, test)
        if self.scaffolded:
            place.more = f"{of}/tests/{Path(language.more).name}"
            place.beside = f"{of}/src/{Path(language.beside).name}"
            place.unseen = f"{of}/old/{Path(language.unseen).name}"
        return place

    def freeze(self, place: Place) -> None:
        """Fills the sheet: what its template asks for, and the approval."""
        sheet = f".add/tasks/{TASK}/TASK.md"
        anchors = "Anchors the contract cites:"
        place.replace(sheet, f"{anchors} <the symbols §3 will name>", f"{anchors} {place.code}:total")
        place.replace(sheet, "<METHOD> <path>   body: { <fields> }", "total(prices: numbers) -> number")
        flag = "Least-sure flag surfaced at freeze: ⚠ [spec] an empty list adds up to 0 — because nobody said; if wrong: one test"
        place.replace(sheet, "Status: DRAFT", f"Status: FROZEN @ v1 — approved by mia\n{flag}")
        if not self.scaffolded:
            place.replace(sheet, "Tests live in: `./tests/`", f"Tests live in: `{place.tests}/`")
            place.replace(sheet, "Scope (may touch): `./src/`", f"Scope (may touch): `{place.code}`")
        record = "Outcome: <PASS | RISK-ACCEPTED | HARD-STOP>"
        place.replace(sheet, record, "Outcome: PASS")
        place.replace(sheet, "Reviewed by: <name> · date: <date>", "Reviewed by: mia · date: today")

    def start(self, language: Language, name: str) -> Place:
        place = self.red(language, name)
        self.ok(place.root, "advance")
        place.write(place.code, language.green)
        return place

    def contract(self, place: Place) -> None:
        place.replace(f".add/tasks/{TASK}/TASK.md", "-> number", "-> anything")

    def base_moves(self, place: Place) -> None:
        place.write("theirs/test_theirs.py", "def test_theirs():\n    assert 1 + 1 == 2\n")

    def passes(self, place: Place) -> None:
        self.ok(place.root, "advance")
        self.ok(place.root, "gate", "PASS")

    def judge(self, place: Place) -> Outcome:
        """The gate, and where that lets it pass, the two commands that look afterwards."""
        self.ok(place.root, "advance")
        return self.gate(place)

    def gate(self, place: Place) -> Outcome:
        gate = self.add(place.root, "gate", "PASS")
        if gate.code != 0:
            return self.refused(gate)
        outcome = self.afterwards(place)
        return Outcome(stopped=False, later=outcome.later, codes=outcome.codes, said=outcome.said or gate.said)

    def afterwards(self, place: Place) -> Outcome:
        for command in ("check", "audit"):
            ended = self.add(place.root, command)
            if ended.code != 0:
                return Outcome(stopped=False, later=True, codes=codes(ended), said=ended.said)
        return Outcome(stopped=False)

    def refused(self, ended: Ended) -> Outcome:
        return Outcome(stopped=True, codes=codes(ended), said=ended.said)


def codes(ended: Ended) -> list:
    return sorted(set(CODES.findall(ended.said)))
