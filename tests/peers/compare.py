#!/usr/bin/env python3
"""The cheats of docs/comparison.md, played against pilotspace-add and against Phasegate.

    cargo build --locked
    python3 tests/peers/compare.py            plays all of them and prints the tables
    python3 tests/peers/compare.py --write    and puts them on the page

The peer comes from PyPI, by version and by sum (requirements.txt), into a folder below target/; nothing is installed.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

# Nothing is left beside the script.
sys.dont_write_bytecode = True

from cheats import ASKED, PLAYED, Cheat, after_the_gate, inline
from projects import RUST
from tools import CODES, Add, Outcome, Phasegate
from waves import WAVES

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/comparison.md"


def peer() -> Path:
    """Fetches it once."""
    home = ROOT / "target/peers/pilotspace-add-1.3.0"
    if not (home / "add_method/__init__.py").exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", "--no-compile"]
        which = ["--require-hashes", "--requirement", str(Path(__file__).with_name("requirements.txt"))]
        subprocess.run([*pip, "--root-user-action", "ignore", "--target", str(home), *which], check=True)
    return home


def rows() -> list:
    """What is played: the cheat, where, and for a tool and a name what came of it and of its twin."""
    found = []
    for cheat in PLAYED:
        for language in cheat.languages:
            def play(tool, name, do, language=language):
                place = tool.start(language, name)
                do(tool, place)
                return tool.judge(place)
            found.append((
                cheat,
                language.name,
                lambda tool, name, cheat=cheat, play=play: play(tool, name, cheat.play),
                lambda tool, name, cheat=cheat, play=play: play(tool, name, cheat.honest),
            ))
    for cheat, do in [
        (Cheat("a test inside of a source file is loosened", "the code around it is built"), inline),
        (Cheat("a test is loosened after the gate has passed", "the code is changed after it"), after_the_gate),
    ]:
        where = RUST.name if do is inline else "Python"
        found.append((cheat, where, lambda tool, name, do=do: do(tool, name, True), lambda tool, name, do=do: do(tool, name, False)))
    for cheat in ASKED:
        found.append((cheat, cheat.where or "Python", cheat.peer, cheat.peer_honest))
    for cheat, do, honest in WAVES:
        found.append((cheat, cheat.where, do, honest))
    return found


def names(outcome: Outcome) -> str:
    return " ".join(f"`{code}`" for code in outcome.codes)


def caught(outcome: Outcome) -> str:
    if outcome.later:
        return f"told later {names(outcome)}".rstrip()
    return f"caught {names(outcome)}".rstrip() if outcome.stopped else "**missed**"


def left_alone(outcome: Outcome) -> str:
    if outcome.later:
        return f"**told later** {names(outcome)}".rstrip()
    return f"**stopped** {names(outcome)}".rstrip() if outcome.stopped else "free"


def story(cheat: Cheat) -> str:
    path = ROOT / cheat.story
    if "\nhonest:\n" not in path.read_text(encoding="utf-8"):
        sys.exit(f"{cheat.story} has no honest twin")
    return f"[story](../{cheat.story})"


def quote(said: str) -> str:
    """What it was about, in the tool's own words: the line that has the code or the outcome, on one line of a table."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    best = [line for line in lines if CODES.search(line) or "gate -> " in line or "verified" in line]
    line = re.sub(r"[0-9a-f]{12,40}", "…", (best or lines or [""])[0]).replace("|", "/").replace("`", "'")
    return f"`{line[:180]}{'…' if len(line) > 180 else ''}`"


def play_all(binary: Path, only: str) -> tuple:
    cheats, twins, quotes, told = [], [], [], set()
    package = peer()
    with tempfile.TemporaryDirectory() as folder:
        tools = [Add(package, Path(folder), True), Add(package, Path(folder), False), Phasegate(binary, Path(folder))]
        count = [[0, 0, 0] for _ in tools]
        for nth, (cheat, where, do, honest) in enumerate(row for row in rows() if only in row[0].words):
            found, left = [], []
            for tool, sum_ in zip(tools, count):
                if cheat.story and isinstance(tool, Phasegate):
                    found.append(f"caught ({story(cheat)})")
                    left.append(f"free ({story(cheat)})")
                    sum_[0] += 1
                    continue
                bad, good = do(tool, f"{nth}-cheat"), honest(tool, f"{nth}-honest")
                found.append(caught(bad))
                left.append(left_alone(good))
                sum_[0] += bad.stopped
                sum_[1] += bad.later
                sum_[2] += good.stopped or good.later
                # Each of its codes once, and each of its own rules that was gone round.
                new = set(bad.codes) - told
                if isinstance(tool, Add) and tool.scaffolded and (new or cheat.peer or cheat.where):
                    told |= new
                    quotes.append((cheat.words, quote(bad.said)))
            cheats.append((cheat.words, where, *found))
            twins.append((cheat.twin, where, *left))
            print(" | ".join(cheats[-1]), "||", " | ".join(left), file=sys.stderr)
    return cheats, twins, quotes, count


def table(head: list, lines: list) -> str:
    text = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return "\n".join(text + [f"| {' | '.join(line)} |" for line in lines]) + "\n"


def between(page: str, mark: str, text: str) -> str:
    found = re.compile(rf"(<!-- played: {mark} -->\n).*?(<!-- end -->)", re.S)
    if len(found.findall(page)) != 1:
        sys.exit(f"docs/comparison.md has no place for {mark}")
    return found.sub(lambda place: f"{place[1]}\n{text}\n{place[2]}", page)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/comparison.md")
    parser.add_argument("--only", default="", metavar="WORDS", help="play the cheats that have these words in them")
    parser.add_argument("--phasegate", type=Path, default=ROOT / "target/debug/phasegate", help="the binary")
    args = parser.parse_args()
    if args.write and args.only:
        parser.error("the page has all of them")
    cheats, twins, quotes, count = play_all(args.phasegate.resolve(), args.only)
    tools = ["pilotspace-add, as scaffolded", "pilotspace-add, scope by file", "Phasegate"]
    total = [(name, f"{a} of {len(cheats)}", str(b), f"{c} of {len(cheats)}") for name, (a, b, c) in zip(tools, count)]
    tables = {
        "sum": table(["", "cheats caught", "told later", "honest twins stopped"], total),
        "cheats": table(["cheat", "in", *tools], cheats),
        "twins": table(["honest twin", "in", *tools], twins),
        "quotes": table(["cheat", "pilotspace-add, as scaffolded, prints"], quotes),
    }
    for name, text in tables.items():
        print(f"## {name}\n\n{text}")
    if args.write:
        page = PAGE.read_text(encoding="utf-8")
        for name, text in tables.items():
            page = between(page, name, text)
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
