"""Cheats with workers side by side. Each tool has its own ledger, and each is written as its own template has it."""

import datetime
import json
import sys
from pathlib import Path

from cheats import Cheat
from projects import PYTHON
from tools import TASK, Add, Outcome, Phasegate, must, run


def history(root: Path) -> tuple:
    """Two commits on the main branch, the second of which is the wave's base, and a worker's branch for each of them."""
    if not (root / ".git").exists():
        root.mkdir(parents=True)
        must(root, "git", "init", "-q", "-b", "main")
    ids = []
    for text in ("one\n", "two\n"):
        (root / "README.md").write_text(text, encoding="utf-8")
        must(root, "git", "add", "README.md")
        must(root, "git", "commit", "-q", "-m", text.strip())
        ids.append(must(root, "git", "rev-parse", "HEAD").strip())
    for branch, at in (("stale", ids[0]), ("fresh", ids[1])):
        tree = must(root, "git", "rev-parse", f"{at}^{{tree}}").strip()
        tip = must(root, "git", "commit-tree", tree, "-p", at, "-m", "work").strip()
        must(root, "git", "branch", f"wave/{branch}", tip)
    return tuple(ids)


def ours(base: str, branch: str, echo: str, status: str = "merging") -> str:
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return (
        f"wave: one status: {status}\nbase: {base}\n\n### Roster\n\n| task | worker | branch | lease | fork-base |\n"
        f"|---|---|---|---|---|\n| dates | w1 | wave/{branch} | 2h since {now} | {echo} |\n"
    )


def theirs(base: str, _branch: str, echo: str, status: str = "merging") -> str:
    return (
        "# WAVE.md — transient wave ledger (orchestrator-owned · one live wave per milestone)\n"
        f"wave: 1 · opened: 2026-03-01 · status: {status}\nbase: {base}\n\n### Roster (lease ledger)\n"
        "| task   | lease (worker) | fork-base (pasted) | autonomy | spawned | timeout |\n"
        "|--------|----------------|--------------------|----------|---------|---------|\n"
        f"| dates | wt-a | {echo} | auto | 10:00 | 2h |\n\n### Mid-wave decisions\n\n"
        "### Merge order (serial; integration Verify per merge)\n1. dates\n"
    )


def verify(tool, name: str, ledger) -> Outcome:
    """`ledger` makes the text of a ledger: of the old commit, the base, and the tool's template."""
    root = tool.home / name
    if isinstance(tool, Add):
        tool.install(root)
        old, base = history(root)
        tool.ok(root, "new-milestone", "m1")
        (root / ".add/milestones/m1/WAVE.md").write_text(ledger(old, base, theirs), encoding="utf-8")
        ended = tool.add(root, "wave-verify")
        if ended.code != 0:
            return tool.refused(ended)
        check = tool.add(root, "check")
        return Outcome(stopped=False, said=ended.said) if check.code == 0 else tool.refused(check)
    old, base = history(root)
    (root / "WAVE.md").write_text(ledger(old, base, ours), encoding="utf-8")
    return tool.found(run(root, tool.binary, "wave", "verify", "--json"))


def bent(tool, name: str, cheat: bool) -> Outcome:
    """The ledger's base is set back to where a stale worker forked; the honest twin goes on to the merge-back."""
    after = lambda old, base, form: form(old, "stale", old) if cheat else form(base, "fresh", base)
    if isinstance(tool, Add):
        return verify(tool, name, after)
    root = tool.home / name
    old, base = history(root)
    for text in (ours(base, "stale" if cheat else "fresh", "pending", "live"), after(old, base, ours)):
        (root / "WAVE.md").write_text(text, encoding="utf-8")
        must(root, "git", "add", "WAVE.md")
        must(root, "git", "commit", "-q", "-m", "the ledger")
    return tool.found(run(root, tool.binary, "guard", "check", "--base", "HEAD~1", "--json"))


SUMMARY = "---\ntask: dates\noutcome: PASS\nevidence: 4 passed, 0 failed; coverage 81%\nresidue: []\ndeltas: {}\n---\n"


# What a worker writes down who leaves a finding of security: the same for every tool, where it asks for that.
LEAK = "a token is written to a log"


def handed_in(tool, name: str, cheat: bool) -> Outcome:
    """A worker notes a finding of security, and passes."""
    if isinstance(tool, Add):
        place = tool.start(PYTHON, name)
        sheet = f".add/tasks/{TASK}/TASK.md"
        if cheat:
            secrets = "no exposed secrets, injection openings, or unexpected dependencies"
            place.replace(sheet, secrets, f"{secrets} NOTE {LEAK}")
        place.replace(sheet, "Reviewed by: mia", "Reviewed by: auto-gate (run 7)")
        return tool.judge(place)
    root = tool.home / name
    _, base = history(root)
    must(root, tool.binary, "wave", "open", "one", "--row", "dates", "w1", "wave/dates")
    must(root, "git", "branch", "wave/dates", base)
    must(root, tool.binary, "wave", "echo", "dates", base)
    must(root, "git", "worktree", "add", "-q", "../" + name + "-dates", "wave/dates")
    folder = tool.home / f"{name}-dates"
    (folder / "dates").mkdir()
    # There the note stands on the line about security; here it says so.
    note = f"NOTE security: {LEAK}"
    (folder / "dates/SUMMARY.md").write_text(SUMMARY.format(f"['{note}']" if cheat else "[]"), encoding="utf-8")
    (folder / "dates/deltas.md").write_text(f"- {note}\n" if cheat else "None.\n", encoding="utf-8")
    must(folder, "git", "add", "-A")
    must(folder, "git", "commit", "-q", "-m", "dates")
    done = run(root, tool.binary, "wave", "done", "dates", "--json")
    if done.code not in (0, 1, 3):
        sys.exit(f"phasegate wave done exits with {done.code}:\n{done.said}")
    findings = json.loads(done.said)["findings"]
    return Outcome(stopped=done.code != 0, codes=sorted({one["rule"] for one in findings}) or ["HARD-STOP"] * (done.code == 3))


def both(words: str, twin: str, ledger, honest) -> tuple:
    return (Cheat(words, twin, where="waves"), lambda tool, name: verify(tool, name, ledger), lambda tool, name: verify(tool, name, honest))


def cheating(words: str, twin: str, play) -> tuple:
    return (Cheat(words, twin, where="waves"), lambda tool, name: play(tool, name, True), lambda tool, name: play(tool, name, False))


WAVES = [
    both("the base is pasted as the echo, and the branch forked elsewhere", "the echo is the base, and so is the fork",
         lambda old, base, form: form(base, "stale", base), lambda old, base, form: form(base, "fresh", base)),
    both("another commit is pasted as the echo", "the echo is the first 12 digits of the base",
         lambda old, base, form: form(base, "fresh", old), lambda old, base, form: form(base, "fresh", base[:12])),
    both("no echo is there, and the merge-back begins", "the echo came before the merge-back",
         lambda old, base, form: form(base, "fresh", "pending"), lambda old, base, form: form(base, "fresh", base)),
    both("a tick is there in place of the echo", "the echo is there in backticks",
         lambda old, base, form: form(base, "fresh", "✓"), lambda old, base, form: form(base, "fresh", f"`{base}`")),
    both("the ledger's status is the template's own placeholder", "the ledger's table is aligned otherwise",
         lambda old, base, form: form(base, "fresh", base, "live|merging"), lambda old, base, form: form(base, "fresh", base).replace("|---", "|:---")),
    cheating("the ledger's base is set back to where a stale worker forked", "the ledger goes on to the merge-back", bent),
    cheating("a worker passes with a finding of security", "a worker passes without one", handed_in),
]
