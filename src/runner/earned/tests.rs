use super::*;
use crate::runner::artefact::TestRun;
use crate::runner::reports::Read;

/// A run with these tests: `+` passed, `-` failed, `!` could not be carried out, `?` skipped; `~` failed for want of something.
fn run(tests: &[&str]) -> Carried {
    let mut read = Read::default();
    for test in tests {
        let (how, name) = test.split_at(1);
        read.totals.tests += 1;
        let (result, kind) = match how {
            "+" => (TestResult::Pass, None),
            "-" | "~" => (TestResult::Fail, Some(FailingKind::Failed)),
            "!" => (TestResult::Fail, Some(FailingKind::Error)),
            _ => {
                read.totals.skipped += 1;
                read.skipped.push(name.to_owned());
                continue;
            }
        };
        match kind {
            None => read.totals.passed += 1,
            Some(_) => read.totals.failed += 1,
        }
        let bare = name.rsplit(' ').next().unwrap_or(name).to_owned();
        let run = TestRun { name: name.to_owned(), result, duration_ms: 1, kind, attempts: Vec::new() };
        if let Some(kind) = kind {
            let [suite, message, details, report] = ["", "no", "", "a.xml"].map(str::to_owned);
            let (path, line) = (None, None);
            read.failing.push(Failing { kind, name: name.to_owned(), suite, message, details, path, line, report });
        }
        let stem = name.split(" #").next().unwrap_or(name).to_owned();
        read.tests.push(Listed { run, bare, stem, place: None, lacks: matches!(how, "~" | "!") });
    }
    Carried { read, ..Carried::empty() }
}

fn base() -> CommitId {
    CommitId::new("b".repeat(40)).unwrap()
}

fn laid(path: &str) -> Laid {
    Laid { path: RepoPath::from(path), file: None }
}

fn held(head: &[&str], on_base: &[&str], old: Option<&[&str]>, new: Option<&[&str]>) -> Earned {
    let sides = Sides { old_tests: vec![laid("tests/a")], new_tests: vec![laid("tests/b")], ..Sides::default() };
    let tried = |tests: &[&str]| Ok(run(tests));
    let old = old.map(|old| (tried(old), false));
    compared((true, &base()), &sides, &run(head), &tried(on_base), old, new.map(tried))
}

#[test]
fn what_the_base_ran_and_the_head_does_not_is_named() {
    let earned = held(&["+a", "?c", "+d"], &["+a", "+b", "+c", "-d"], None, None);
    assert_eq!((earned.gone, earned.now_skipped), (vec!["b".to_owned()], vec!["c".to_owned()]));
    assert_eq!(earned.on_base.totals.ran(), 4);
}

/// As many ran, because the head brought others: by their names the skipped ones are seen.
#[test]
fn a_test_of_the_base_that_the_heads_code_skips_is_named() {
    let old = held(&["?a", "+new"], &["+a", "+b"], Some(&["?a", "+b", "+new", "?never"]), None).old_tests.unwrap();
    assert_eq!((old.skipped, old.run.totals.ran()), (vec!["a".to_owned()], 2));
}

#[test]
fn a_new_test_is_judged_by_how_it_ends_on_the_base() {
    let new = ["-asks", "+idle", "~misses", "!breaks", "+a"];
    let earned = held(&["+a", "+asks", "+idle", "+misses", "+breaks", "+gone"], &["+a"], None, Some(&new)).new_tests;
    assert_eq!((earned.proved, earned.idle, earned.unproven), (1, 1, 3));
    assert_eq!(
        (earned.idle_names, earned.unproven_names),
        (vec!["idle".to_owned()], ["misses", "breaks", "gone"].map(str::to_owned).to_vec())
    );
    // Where the tests are not in files of their own, nothing could be laid over.
    let earned = held(&["+a", "+inline"], &["+a"], None, None).new_tests;
    assert_eq!((earned.unproven, earned.run), (1, None));
}

/// As many ran, and they are others: by their names that is seen.
#[test]
fn tests_of_the_base_that_nobody_runs_any_more_are_missing() {
    let missing = |earned: Earned| earned.missing;
    let on_base = ["+a", "+b", "-red", "?skipped"];
    assert_eq!(missing(held(&["+a", "+c", "+d"], &on_base, None, None)), ["b"]);
    assert_eq!(missing(held(&["+a", "?b", "+c"], &on_base, None, None)), [""; 0], "that is told as skipped");
    // With their files as on the base they run, whatever the head calls them.
    assert_eq!(missing(held(&["+a", "+c"], &on_base, Some(&["+a", "+b"]), None)), [""; 0]);
    assert_eq!(missing(held(&["+a", "+b", "+c"], &on_base, Some(&["+a", "+c"]), None)), ["b"]);
    // Those that stand among the code go with it.
    let sides = Sides { inline: true, ..Sides::default() };
    let inline = compared((true, &base()), &sides, &run(&["+a", "+c"]), &Ok(run(&on_base)), None, None);
    assert_eq!(inline.missing, [""; 0]);
}

#[test]
fn an_idle_test_is_told_where_it_is() {
    let mut there = run(&["+idle"]);
    let place = Place { path: "tests/a.py".to_owned(), line: Some(3) };
    there.read.tests[0].place = Some(place.clone());
    let sides = Sides { new_tests: vec![laid("tests/a.py")], ..Sides::default() };
    let head = run(&["+a", "+idle"]);
    let new = compared((true, &base()), &sides, &head, &Ok(run(&["+a"])), None, Some(Ok(there))).new_tests;
    assert_eq!(new.idle_places.get("idle"), Some(&place));
}

#[test]
fn what_the_bases_tests_lack_is_told_from_what_they_refuse() {
    let lack = |alone: &[&str]| lack_something(&run(&["+a", "+b", "-red"]), &Ok(run(alone)));
    assert!(!lack(&["+a", "+b", "-red"]) && !lack(&["+a", "?b"]), "nothing to look for elsewhere");
    assert!(lack(&["+a", "!b"]) && lack(&["+a", "~b"]) && lack(&["+a"]) && lack(&[]));
    assert!(!lack(&["-a", "!b"]), "one that fails in what it asserts is the answer");
    assert!(lack_something(&run(&[]), &Err("no room".to_owned())));
}

#[test]
fn of_several_tests_of_one_name_nobody_knows_which_is_which() {
    let told = |new: &[&str]| {
        let new = held(&["+a", "+a #2"], &["+a"], None, Some(new)).new_tests;
        (new.proved, new.idle, new.unproven)
    };
    assert_eq!(told(&["+a", "-a #2"]), (0, 0, 1), "the idle one may be either");
    assert_eq!(told(&["-a", "+a #2"]), (0, 0, 1));
    assert_eq!((told(&["-a", "-a #2"]), told(&["+a", "+a #2"])), ((1, 0, 0), (0, 1, 0)));
}

#[test]
fn a_test_that_moved_is_not_new() {
    let earned = held(&["+b x", "+b y"], &["+a x"], None, Some(&["+b x", "+b y"])).new_tests;
    assert_eq!((earned.idle, earned.idle_names), (1, vec!["b y".to_owned()]), "one moved, and the other is new");
    // One that is gone does not let two of its name in.
    let earned = held(&["+b x", "+c x"], &["+a x"], None, Some(&["+b x", "+c x"])).new_tests;
    assert_eq!(earned.idle, 1);
    // What was skipped on the base has not run there.
    assert!(has_new(&run(&["+a"]), &run(&["?a"])) && !has_new(&run(&["+a"]), &run(&["-a"])));
}

#[test]
fn the_bases_tests_that_are_red_there_too_are_not_the_changes_doing() {
    let earned = held(&["+a", "+b"], &["+a", "-b"], Some(&["-a", "-b"]), None);
    let old = earned.old_tests.unwrap();
    let names: Vec<&str> = old.failing.iter().map(|test| test.name.as_str()).collect();
    assert_eq!((names, old.failing_left_out, old.files), (vec!["a"], 0, vec!["tests/a".to_owned()]));
}

#[test]
fn what_could_not_be_run_says_why() {
    let sides = Sides::default();
    let earned = compared((true, &base()), &sides, &run(&["+a"]), &Err("no room".to_owned()), None, None);
    assert_eq!(earned.on_base.trouble().as_deref(), Some("no room"));
    assert_eq!(earned.new_tests.unproven, 1);
}

#[test]
fn tests_are_laid_over_the_other_side() {
    let blob = |c: char| Some((crate::repo::Mode::FILE, crate::ids::BlobId::new(c.to_string().repeat(40)).unwrap()));
    let delta = |path: &str, old, new| Delta { path: RepoPath::from(path), old, new };
    let deltas = [
        delta("src/a.rs", blob('1'), blob('2')),
        delta("tests/changed.rs", blob('1'), blob('2')),
        delta("tests/gone.rs", blob('3'), None),
        delta("tests/new.rs", None, blob('4')),
    ];
    let sides = Sides::of(&deltas, false, |path| path.to_string().starts_with("tests/"));
    let shown = |laid: &[Laid]| -> Vec<String> {
        let digit = |laid: &Laid| laid.file.as_ref().map_or("-", |(_, blob)| &blob.as_str()[..1]).to_owned();
        laid.iter().map(|laid| format!("{} {}", laid.path, digit(laid))).collect()
    };
    assert_eq!(shown(&sides.old_tests), ["tests/changed.rs 1", "tests/gone.rs 3", "tests/new.rs -"]);
    assert_eq!(shown(&sides.beside_new), ["tests/changed.rs 1", "tests/gone.rs 3"]);
    assert_eq!(shown(&sides.new_tests), ["tests/changed.rs 2", "tests/gone.rs -", "tests/new.rs 4"]);
}

#[test]
fn files_are_tried_one_by_one_where_there_are_some() {
    let file = Some((crate::repo::Mode::FILE, crate::ids::BlobId::new("1".repeat(40)).unwrap()));
    let sides = |count: usize| {
        let there = (0..count).map(|n| Laid { path: RepoPath::from(n.to_string().as_str()), file: file.clone() });
        Sides { new_tests: there.chain([laid("gone")]).collect(), ..Sides::default() }
    };
    let tried = |count| sides(count).each_by_itself(3).count();
    assert_eq!([tried(0), tried(1), tried(2), tried(3), tried(4)], [0, 0, 2, 3, 0]);
}

#[test]
fn what_another_run_tells_is_taken_to_it() {
    let mut together = run(&["+a"]);
    together.join(run(&["-a", "-b"]));
    let told: Vec<_> = together.read.tests.iter().map(|test| (test.run.name.as_str(), test.run.result)).collect();
    assert_eq!(told, [("a", TestResult::Pass), ("b", TestResult::Fail)]);
}
