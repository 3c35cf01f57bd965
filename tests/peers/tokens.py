#!/usr/bin/env python3
"""What an agent has to read, on docs/benchmarks.md: ours as tests/oracles/tokens.rs counts it, beside a peer and beside our own pages.

    benches/tokens.sh            counts, and prints the tables
    benches/tokens.sh --page     and puts them on the page

The peer is played for one task as its own pages say, and its files are those that they tell an agent to load for it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path

# Nothing is left beside the script.
sys.dont_write_bytecode = True

import tools
from compare import ROOT, peer
from projects import PYTHON

PAGE = ROOT / "docs/benchmarks.md"
MARK = "<!-- measured: tokens -->"

# What SKILL.md of the peer tells to load for a task from its intake to its gate; not the book, the set-up, or what is for several
# tasks at once.
LOADED = [
    "SKILL.md",
    "intake.md",
    *[f"phases/{name}.md" for name in (
        "0-ground", "1-specify", "2-scenarios", "3-contract", "4-tests", "5-build", "6-verify", "7-observe",
    )],
    "run.md",
    "report-template.md",
    "deltas.md",
]

# What our pages for people stand in for.
FILES = ["`AGENTS.md`", "the skill", "the files of its roles", "the prompts of the phases"]

# Where our pages for people say what the files for agents say in short, of the pipeline.
PAGES = ["gates", "commands", "memory", "guard", "mcp"]


def said_by(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def counted(texts: list) -> list:
    script = ROOT / "tests/oracles/tokens.cjs"
    asked = subprocess.run(
        ["node", str(script), os.environ["PHASEGATE_TOKENIZER"]], input=json.dumps(texts), capture_output=True, text=True, check=True
    )
    return json.loads(asked.stdout)


def played(package: Path) -> tuple:
    """The files of the peer's task as they are before anybody wrote into them, and what its commands print on the way."""
    said = []
    plain = tools.run

    def run(folder, *command):
        ended = plain(folder, *command)
        if ".add/tooling/add.py" in command:
            said.append(ended.said)
        return ended

    with tempfile.TemporaryDirectory() as home:
        add = tools.Add(package, Path(home), False)
        add.install(Path(home) / "fresh")
        fresh = Path(home) / "fresh"
        add.ok(fresh, "new-task", tools.TASK)
        files = [fresh / path for path in ("AGENTS.md", ".add/PROJECT.md", f".add/tasks/{tools.TASK}/TASK.md")]
        begun = [path.read_text(encoding="utf-8") for path in files]
        tools.run = run
        try:
            place = add.start(PYTHON, "task")
            add.passes(place)
            add.ok(place.root, "status")
        finally:
            tools.run = plain
    return begun, said


def the_peer() -> list:
    package = peer()
    skill = package / "add_method/_bundled/skill/add"
    loaded = [(skill / name).read_text(encoding="utf-8") for name in LOADED]
    begun, said = played(package)
    return [
        ("its skill and the guides that this tells to load", loaded),
        ("`AGENTS.md`, `PROJECT.md` and `TASK.md`, as they are made", begun),
        ("what its commands print on the way", said),
    ]


def table(head: list, rows: list) -> str:
    lines = [f"| {' | '.join(str(cell) for cell in line)} |" for line in [head, *rows]]
    return "\n".join([lines[0], f"|{'---|' * len(head)}", *lines[1:]])


def number(value: int) -> str:
    return f"{value:,}"


def ours(measured: list) -> str:
    """The rows of each story, below its sum."""
    rows = []
    for story in measured:
        texts = sum(row["texts"] for row in story["rows"])
        rows.append([f"**{story['story']}**", texts, f"**{number(story['all'])}**", number(story["most"])])
        rows += [[row["what"], row["texts"], number(row["tokens"]), ""] for row in story["rows"]]
    return table(["what is read", "texts", "tokens", "at most"], rows)


def beside(measured: list) -> str:
    known = {story["story"]: story for story in measured}
    task = known["a task"]["all"]
    parts = the_peer()
    sums = [sum(counted(texts)) for _, texts in parts]
    rows = [["Phasegate, a task", number(task), "1.00×"], ["pilotspace-add 1.3.0, a task", number(sum(sums)), f"{sum(sums) / task:.2f}×"]]
    rows += [[f"of that, {what} ({len(texts)})", number(tokens), ""] for (what, texts), tokens in zip(parts, sums)]
    change = known["a change"]
    files = sum(row["tokens"] for row in change["rows"] if row["what"] in FILES)
    pages = sum(counted([(ROOT / f"docs/{name}.md").read_text(encoding="utf-8") for name in PAGES]))
    without = change["all"] - files + pages
    said = ", ".join(f"`{name}.md`" for name in PAGES)
    rows.append(["Phasegate, a change", number(change["all"]), "1.00×"])
    rows.append([f"the same with {said} in place of the files for agents", number(without), f"{without / change['all']:.2f}×"])
    return table(["what is read", "tokens", "of Phasegate's"], rows)


def main() -> None:
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("measured", type=Path)
    args.add_argument("--page", action="store_true")
    args = args.parse_args()
    measured = json.loads(args.measured.read_text(encoding="utf-8"))
    commit = said_by("git", "rev-parse", "--short=12", "HEAD")
    if said_by("git", "status", "--porcelain", "--", "src", "templates", "tests"):
        commit += ", with changes"
    when = f"Measured on {datetime.now(timezone.utc):%Y-%m-%d}, commit {commit}."
    text = f"{ours(measured)}\n\n{beside(measured)}\n\n{when}"
    print(text)
    if args.page:
        page = PAGE.read_text(encoding="utf-8")
        before, rest = page.split(f"{MARK}\n", 1)
        after = rest.split("<!-- end -->", 1)[1]
        PAGE.write_text(f"{before}{MARK}\n\n{text}\n\n<!-- end -->{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
