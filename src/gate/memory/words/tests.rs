use super::*;
use crate::engine::kit::Game;
use crate::ids::Role;

#[test]
fn a_proposal_is_told_from_a_finding() {
    for text in [
        "We should use a map here.",
        "I suggest to split it",
        "The fix is to lock first.",
        "let’s rewrite it",
        "You need to call zone() first",
    ] {
        assert!(proposes(text).is_some(), "{text}");
    }
    for text in [
        "`parse` returns None for dates with a zone.",
        "The comment says \"we should use a map\".",
        "Callers expect that it should fail loudly: see `docs/api.md`.",
        "Unknown: which timezone database is installed.",
        "The second call must now pass a zone: it fails since 3.12 (shown by: tests/a.py).",
        "The scheduler does its best to finish first.",
        "The next step is the header, which has four bytes.",
        "It is necessary to run both workers to see it.",
        "We could not reproduce it with one worker.",
        "We could only see it with two workers.",
        "One could never see it alone.",
    ] {
        assert_eq!(proposes(text), None, "{text}");
    }
}

#[test]
fn prescriptions_are_told_from_what_is_unmet() {
    let orders = [
        "Replace the loop by a fold.",
        "It leaks. Add a lock around it.",
        "You should not cache here.",
        "Replace `loop` by a fold and delete tests/b.rs",
        "The loop needs to be replaced by a fold.",
        "Increase the timeout to 30 s.",
        "The timeout is short. Increase the timeout.",
        "Return an Option from `parse`.",
        "Guard `x` with a mutex.",
        "Set `retries` to 3.",
        "Call flush() before close.",
        "Handle the None.",
        "Put a lock around the map.",
        "Disable the cache.",
        "Increase the time limit.",
        "Swap the loop for a fold",
        "Swap the loop for a fold in src/a.py",
        "make `parse` return an Option",
        "Make the parser return an Option.",
        "Make level an int.",
        "Please change zone",
        "Kindly add a lock",
        "1) add a lock",
        "=> add a lock",
        "TODO: fix zone",
        "Let us replace zone",
        "We propose to rewrite it",
        "The author must now create it.",
        "One has to rename it.",
        "Someone ought to fix the parser.",
        "It is necessary to add a lock.",
        "What is missing is a lock: put one around the map.",
        "Best to drop the cache.",
        "It is best to move it.",
        "One could wrap it.",
        "It would be better with a lock.",
        "The check should go into the parser.",
        "The check has to go into the parser.",
        "The next step is rewriting zone.",
        "The team will want to add a lock.",
        "The correct code is `x = 1`.",
        "consider replacing b.rs",
        "Consider replacing the loop by a fold.",
        "It may be worth adding a lock.",
        "Try removing the cache.",
        "Please replace the loop.",
        "The cache is stale; then remove it.",
        "Just drop the cache.",
        "Extract a function for this.",
        "Introduce a lock around it.",
        "Wrap the call in a transaction.",
        "Split the module.",
        "Convert it to a map.",
        "Switch to a map.",
        "Create `src/clamp.py` (confidence: high).",
        "Write a function clamp in src/dimmer.py.",
        "Write scaffolding/design.md with the section Interfaces.",
        "Rename dim to fade.",
        "Split dim in two.",
        "Merge the two functions.",
        "Document the interfaces in design.md.",
        "Provide a default.",
        "Create `src/x.py`; the check of AC-1 is missing.",
        "Implement AC-2 in `src/dimmer.py`.",
        "Revert commit abc1234.",
        "Downgrade numpy to 1.26.",
        "AC-1 is unmet; use max(0, level-1).",
        "Write tests for AC-2.",
        "We should create `src/x.py`.",
        "Upgrade the driver.",
        "Rework the loop.",
        "Inline the helper.",
        "Simplify the match.",
        "Migrate the table.",
        "The status should be replaced.",
        "The status should be changed and is not.",
        "`parse` should be pure.",
        "It should not cache here.",
        "The loop could be replaced by a fold.",
        "The loop must be rewritten.",
        "It would be better to use a map.",
        "We could use a map.",
        "I would use a map.",
        "The fix would be a lock.",
        "The solution is to lock first.",
        "You might want to lock first.",
        "It can be fixed by a lock.",
        "Why not use a map?",
    ];
    let told = [
        "AC-2: the status should be 200 and is 500",
        "AC-2: the status should be 200 but is 500",
        "AC-2: expected the status, which should be 200, got 500",
        "Expected: it should be 200; expected 200, got 500",
        "The answer should be empty and has three entries.",
        "The answer should be empty but has three entries.",
        "The list should be sorted, is not.",
        "By AC-3 the limit should be 10 but was 12.",
        "It should not fail and does so.",
        "It should not be empty, but it is.",
        "The total should be 3.5 and is 3.4.",
        "`dim(0)` returns -1 and should be 0.",
        "It returns 500 where it should be 200.",
        "Write to the closed socket: the server answers 500.",
        "Create a lamp without a name and it crashes.",
        "scope.md says that it should be read once.",
        "The cache is read before it is filled (confidence: high).",
        "AC-2 is unmet: no test names it.",
        "Run the load test at 50 connections and look whether p95 stays under 200 ms.",
        "Users rename files while it runs.",
        "Use of a stale cache.",
        "Change detection is off.",
        "Run it alone and compare the two logs.",
        "Make a request with an empty body and compare.",
        "Make sure that the clock is in step before the run.",
        "Compare the two logs.",
        "Set the log level to debug and look at the first error.",
        "Consider the case of an empty list: no test has it.",
        "Try it with an empty list.",
        "Try running it alone.",
        "The test swaps two files.",
        "A split of the module came before the failure.",
        "Fix confidence is low.",
        "The move of `a` happened in the same commit.",
        "Drop rates rise with the load.",
        "Count how often the cache is missed.",
        "Cache misses double under load.",
        "It must be 200 by AC-2.",
        "Edit distance is computed twice.",
        "The API would answer twice.",
        "Anyone could read the key.",
        "It is unknown why not all tests ran.",
        "Call to flush() is missing.",
        "Return value of `parse` is dropped.",
        "Increase in latency under load (confidence: low).",
        "Set difference of both is empty.",
        "Call the endpoint twice: the second time it fails.",
        "Handle leak in the pool.",
        "The status should have been 200 but was 500.",
    ];
    assert!(orders.len() >= 30 && told.len() >= 30);
    let missed: Vec<&str> = orders.into_iter().filter(|text| prescribes(text, false).is_none()).collect();
    assert_eq!(missed, [""; 0], "prescriptions that are not seen");
    let wrong: Vec<(&str, String)> =
        told.into_iter().filter_map(|text| Some((text, prescribes(text, false)?))).collect();
    assert_eq!(wrong, [], "no prescriptions");
    let wrong: Vec<(&str, String)> =
        told.into_iter().filter_map(|text| Some((text, prescribes(text, true)?))).collect();
    assert_eq!(wrong, [], "nor where it is said how to find out");
}

#[test]
fn a_step_to_find_out_is_no_prescription_where_it_is_asked_for() {
    for step in [
        "Remove the cache folder, run the test again and compare",
        "Revert the last commit locally and see whether the test passes",
        "Change the clock to 23:59 and run the test",
        "Fix the seed to 42 and run the test twice",
        "Use a debugger to look at `x`",
        "Add a breakpoint at line 3 and look",
        "Replace the real clock by a fake one and compare the two logs",
        "Increase the timeout to 30 s and run it again",
        "Set `retries` to 0 and count the requests",
        "Try removing the cache and run it once more",
        "Make the server return 500 and watch the client",
        "Add a log line before the call and run the test again",
        "Add two assertions and run it once",
        "Delete the build folder and run the tests",
        "Remove `target/` and run tests/zone.rs again",
    ] {
        assert_eq!(prescribes(step, true), None, "{step}");
    }
    for order in [
        "Rewrite the parser and run the tests",
        "Refactor the loop and compare",
        "Replace the cache with a map and see that it works",
        "Add a lock around the map, then run the tests",
        "Delete tests/flaky.py and check",
        "Delete `tests/flaky.py` and check",
        "Commit the fix and look at CI",
        "Fix the parser and rerun the tests",
        "Apply the patch from #12 and rerun",
        "Update the lock file.",
        "Move the zone handling into the lexer; run the tests afterwards",
        "Wrap the call in a retry and run the tests",
        "Replace the loop by a fold.",
        "Remove the cache.",
        "Add a lock around it.",
        "We should rewrite the parser and run the test",
        "The loop needs to be replaced by a fold.",
        "The cache must be flushed",
    ] {
        assert!(prescribes(order, true).is_some(), "{order}");
    }
}

#[test]
fn what_closed_an_issue_can_be_looked_up() {
    let mut game = Game::pipeline();
    game.until_building().red().says("ada", Role::Write, "/build").done();
    let state = game.now();
    let is = |by: &str| check(by, state).is_ok();
    for by in [
        "build PASS on 0123456789ab (record 9)",
        "expand passed",
        "`design PASS`, and build failed",
        "record 12",
        "F-0003",
        "`cargo test zone` is green",
        "tests/zone.rs names it",
        "https://ci.example.org/runs/7",
    ] {
        assert!(is(by), "{by}");
    }
    for by in [
        "magic",
        "I looked",
        "mia said so",
        "build PASS on deadbeef (record 999)",
        "record 0",
        "build",
        "build PASS",
        "merge PASS",
        "`merge PASS`",
        "build FAIL",
        "`magic`",
        "verify failed no more: VERIFY passed",
        "all passed",
        "``",
        "`x`",
        "`TBD`",
        "`todo`",
        "`n/a`",
    ] {
        assert!(!is(by), "{by}");
    }
}
