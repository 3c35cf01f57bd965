"""The cheats, each with an honest twin that nothing should stop. docs/comparison.md has a row for each of them."""

import json
import unicodedata
from dataclasses import dataclass, field
from typing import Callable, Optional

from projects import JAVASCRIPT, LANGUAGES, PYTHON, RUST
from tools import TASK, Add, Outcome, Place


@dataclass
class Cheat:
    words: str
    twin: str
    # Each changes a project whose code is built, and is then judged.
    play: Optional[Callable] = None
    honest: Optional[Callable] = None
    languages: list = field(default_factory=lambda: [PYTHON])
    # Each plays all of it, and says what came of it.
    peer: Optional[Callable] = None
    peer_honest: Optional[Callable] = None
    # What plays it against Phasegate, where that takes a server.
    story: str = ""
    # Where it is no matter of a language.
    where: str = ""


def nothing(_tool, _place: Place) -> None:
    pass


def further_test(_tool, place: Place) -> None:
    place.write(place.more, place.language.proof)


def further_code(_tool, place: Place) -> None:
    place.write(place.beside, "")


def loosen(_tool, place: Place) -> None:
    place.write(place.test, place.language.loosened)


def loosen_and_put_back(tool, place: Place) -> None:
    loosen(tool, place)
    place.write(place.test, place.language.proof)


def skip(_tool, place: Place) -> None:
    place.write(place.test, place.language.skipped)


def delete(_tool, place: Place) -> None:
    place.delete(place.test)


def move_away(_tool, place: Place) -> None:
    place.move(place.test, place.unseen)


def base_moves(tool, place: Place) -> None:
    tool.base_moves(place)


def edit_contract(tool, place: Place) -> None:
    tool.contract(place)


def expected(_tool, place: Place) -> None:
    place.replace(f"{place.tests}/expected.json", "5", "6")


def deep(_tool, place: Place) -> None:
    place.replace(f"{place.tests}/deep/test_deep.py", "== 5", "> 0")


def not_executable(_tool, place: Place) -> None:
    (place.root / place.tests / "smoke.sh").chmod(0o644)


def linked(place: Place) -> str:
    """The folder of tests moves among the code, and a link stands in its place."""
    code = place.code.rsplit("/", 1)[0]
    place.move(place.tests, f"{code}/checks")
    up = "../" * place.tests.count("/")
    place.link(place.tests, f"{up}{code}/checks")
    return f"{code}/checks"


def folder_linked(_tool, place: Place) -> None:
    linked(place)


def folder_linked_to_weaker(_tool, place: Place) -> None:
    place.replace(f"{linked(place)}/{place.test.rsplit('/', 1)[1]}", "== 5", "== 6")


def other_folder_linked(_tool, place: Place) -> None:
    place.move("guide", f"{place.code.rsplit('/', 1)[0]}/guide")
    place.link("guide", f"{place.code.rsplit('/', 1)[0]}/guide")


def case_twin(_tool, place: Place) -> None:
    place.write(f"{place.tests}/Test_Total.py", place.language.loosened)


def unicode_twin(_tool, place: Place) -> None:
    name = unicodedata.normalize("NFD", "test_größe.py")
    place.write(f"{place.tests}/{name}", "def test_size():\n    pass\n")


def another_name(_tool, place: Place) -> None:
    place.write(f"{place.tests}/test_total_twice.py", place.language.proof)


def runner_configuration(_tool, place: Place) -> None:
    place.write("pytest.ini", "[pytest]\naddopts = --deselect tests\n")


def readme(_tool, place: Place) -> None:
    place.write("README.md", "# Shop\n\nIt adds.\n")


INLINE = "\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn it_adds() {\n        assert_eq!(super::total(&[2, 3]), 5);\n    }\n}\n"


def overfit(_tool, place: Place) -> None:
    place.write(place.code, "def total(prices):\n    return 5\n")


PLAYED = [
    Cheat("an expectation is replaced by what the code returns", "the code is built, and the test stays", loosen, nothing, LANGUAGES),
    Cheat("a test is marked as skipped", "a test is loosened and put back", skip, loosen_and_put_back, LANGUAGES),
    Cheat("a test is deleted", "a further file of code comes", delete, further_code, LANGUAGES),
    Cheat("a test is renamed to where no runner looks", "a further test comes", move_away, further_test, LANGUAGES),
    Cheat("a test in a folder below is loosened", "a further test comes there", deep, lambda tool, place: place.write(f"{place.tests}/deep/test_more.py", "def test_more():\n    assert True\n")),
    Cheat("an expected result in a file beside the tests is changed", "somebody else's test changes on the main branch, and that is taken in", expected, base_moves),
    Cheat("a test that is a program loses its executable bit", "a program that is no test gets one", not_executable, lambda _tool, place: (place.root / place.code).chmod(0o755)),
    Cheat("the folder of tests is replaced by a link to weaker ones", "another folder is replaced by a link", folder_linked_to_weaker, other_folder_linked),
    Cheat("the folder of tests is replaced by a link into the code, with the same content for now", "a further test comes under a name of its own", folder_linked, another_name),
    Cheat("a weaker test comes beside a frozen one, under a name that differs in case only", "a further test comes under another name", case_twin, another_name),
    Cheat("the same, under a name that differs in Unicode form only", "a further test comes under another name", unicode_twin, another_name),
    Cheat("the contract is changed to what was built", "the page about the project is changed", edit_contract, readme),
    Cheat("the configuration of the test runner deselects the tests", "the page about the project is changed", runner_configuration, readme),
    Cheat("the code is made for the one example of the test", "the code is built for all of them", overfit, nothing),
]


def inline(tool, name: str, cheat: bool) -> Outcome:
    """A test inside of the file that is to be built."""
    red = {**RUST.__dict__, "red": RUST.red + INLINE}
    place = tool.start(type(RUST)(**{**red, "name": "Rust with tests inside"}), name)
    place.write(place.code, RUST.green + (INLINE.replace("5", "6") if cheat else INLINE))
    return tool.judge(place)


def recross(add: Add, place: Place) -> Outcome:
    """Back to the phase of tests, over the crossing once more, and to the gate."""
    add.ok(place.root, "phase", "tests")
    add.ok(place.root, "advance")
    add.ok(place.root, "advance")
    return add.gate(place)


def after_a_hard_stop(add: Add, name: str) -> Outcome:
    place = add.start(PYTHON, name)
    loosen(add, place)
    add.ok(place.root, "advance")
    for nth in range(4):
        ended = add.add(place.root, "gate", "PASS")
        assert ended.code != 0, ended.said
        if nth < 3:
            add.ok(place.root, "advance")
    assert "heal_exhausted" in ended.said, ended.said
    add.ok(place.root, "gate", "HARD-STOP")
    return recross(add, place)


def healed(add: Add, name: str) -> Outcome:
    place = add.start(PYTHON, name)
    loosen(add, place)
    add.ok(place.root, "advance")
    assert add.add(place.root, "gate", "PASS").code != 0
    place.write(place.test, PYTHON.proof)
    return add.judge(place)


def overwritten_fingerprint(add: Add, name: str) -> Outcome:
    place = add.start(PYTHON, name)
    loosen(add, place)
    return recross(add, place)


def crossed_again(add: Add, name: str) -> Outcome:
    return recross(add, add.start(PYTHON, name))


def never_crossed(add: Add, name: str) -> Outcome:
    place = add.red(PYTHON, name)
    place.write(place.code, PYTHON.green)
    loosen(add, place)
    add.ok(place.root, "phase", "verify")
    return add.gate(place)


def edited_fingerprint(add: Add, name: str) -> Outcome:
    place = add.start(PYTHON, name)
    other = add.start(PYTHON, f"{name}-other")
    loosen(add, other)
    add.ok(other.root, "phase", "tests")
    add.ok(other.root, "advance")
    wanted = json.loads(other.read(".add/state.json"))["tasks"][TASK]["tripwire"]
    loosen(add, place)
    state = json.loads(place.read(".add/state.json"))
    state["tasks"][TASK]["tripwire"] = wanted
    place.write(".add/state.json", json.dumps(state))
    # The scope's own list of what was there is a file of the project too.
    if not add.scaffolded:
        for path in (f".add/tasks/{TASK}/scope-snapshot.json",):
            place.write(path, other.read(path))
        state["tasks"][TASK]["scope"] = json.loads(other.read(".add/state.json"))["tasks"][TASK]["scope"]
        place.write(".add/state.json", json.dumps(state))
    return add.judge(place)


def plain(add: Add, name: str) -> Outcome:
    return add.judge(add.start(PYTHON, name))


def outside(add: Add, name: str) -> Outcome:
    place = add.start(PYTHON, name)
    place.write("keys/master.txt", "open\n")
    return add.judge(place)


def new_configuration(add: Add, name: str) -> Outcome:
    place = add.start(PYTHON, name)
    place.write("conftest.py", "collect_ignore_glob = ['*']\n")
    return add.judge(place)


def empty_script(add: Add, name: str) -> Outcome:
    place = add.start(JAVASCRIPT, name)
    place.write("package.json", '{"scripts": {"test": "true"}}\n')
    return add.judge(place)


def newer_dependency(add: Add, name: str) -> Outcome:
    place = add.start(JAVASCRIPT, name)
    place.write("package.json", '{"scripts": {"test": "jest"}, "devDependencies": {"jest": "29.7.0"}}\n')
    return add.judge(place)


def after_the_gate(tool, name: str, cheat: bool) -> Outcome:
    place = tool.start(PYTHON, name)
    tool.passes(place)
    if cheat:
        loosen(tool, place)
    else:
        place.write(place.code, PYTHON.green + "\n")
    return tool.afterwards(place) if isinstance(tool, Add) else tool.judge(place)


STORIES = "tests/cheats"

ASKED = [
    Cheat("after a hard stop the phase is stepped back, and the gate asked again", "after a refusal the test is put back, and the gate asked again",
          peer=after_a_hard_stop, peer_honest=healed, story=f"{STORIES}/tampered_memory/fails_shed_by_crossing_a_phase_again.yml"),
    Cheat("the phase is crossed again to overwrite the fingerprint of a loosened test", "the phase is crossed again with the tests as they were",
          peer=overwritten_fingerprint, peer_honest=crossed_again, story=f"{STORIES}/weaken_frozen_proof/a_second_way_through_the_phases.yml"),
    Cheat("the crossing that takes the fingerprint is left out", "each phase is gone through",
          peer=never_crossed, peer_honest=plain, story=f"{STORIES}/skipped_law/a_claim_of_a_later_phase.yml"),
    Cheat("the recorded fingerprint is edited", "nobody edits it",
          peer=edited_fingerprint, peer_honest=plain, story=f"{STORIES}/tampered_memory/a_record_changed.yml"),
    Cheat("work outside of the declared scope", "work inside of it",
          peer=outside, peer_honest=plain, story=f"{STORIES}/skipped_law/work_outside_of_the_declared_scope.yml"),
    Cheat("a configuration of the test runner that was not there before", "none comes",
          peer=new_configuration, peer_honest=plain, story=f"{STORIES}/weaken_the_meaning_of_a_run/a_new_conftest.yml"),
    Cheat("the script that runs the tests does nothing", "the script stays, and a dependency is newer", where=JAVASCRIPT.name,
          peer=empty_script, peer_honest=newer_dependency, story=f"{STORIES}/forged_evidence/a_package_whose_test_is_nothing.yml"),
]
