use super::*;
use crate::runner::artefact::TestRun;
use crate::runner::reports::Read;

/// A run with these tests: `+` passed, `-` failed, `!` could not be carried out, `?` skipped; `~` failed for want of something, and `^` was never begun. What
/// stands before a `>` is the suite.
fn run(tests: &[&str]) -> Carried {
    let mut read = Read::default();
    for test in tests {
        let (how, name) = test.split_at(1);
        read.totals.tests += 1;
        let (result, kind) = match how {
            "+" => (TestResult::Pass, None),
            "-" | "~" | "^" => (TestResult::Fail, Some(FailingKind::Failed)),
            "!" => (TestResult::Fail, Some(FailingKind::Error)),
            _ => {
                read.totals.skipped += 1;
                read.skipped.push(name.to_owned());
                read.skipped_whole.push(whole(name));
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
        let (lacks, unloaded) = (matches!(how, "~" | "!" | "^"), how == "^");
        read.tests.push(Listed { run, bare, stem, whole: whole(name), place: None, lacks, unloaded });
    }
    Carried { read, ..Carried::empty() }
}

fn whole(name: &str) -> String {
    if name.contains(" > ") { name.to_owned() } else { format!("one > {name}") }
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
    let looks = Looks { old: old.map(|old| Asked::alone(tried(old))), new: new.map(tried), ..Looks::default() };
    compared((true, &base()), &sides, &run(head), &tried(on_base), looks)
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
fn a_test_that_the_base_skips_is_not_new_when_it_runs() {
    let new = held(&["+a", "+b"], &["+a", "?b"], None, Some(&["+a", "+b"])).new_tests;
    assert_eq!((new.idle, new.proved, new.unproven), (0, 0, 0), "{new:?}");
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
}

#[test]
fn a_test_that_stands_among_the_code_goes_with_it() {
    let path = |path: &str| RepoPath::from(path);
    let is_test = |path: &RepoPath| path.to_string().contains("test");
    let is_rust = |path: &RepoPath| path.to_string().ends_with(".rs");
    let blob = || Some((crate::repo::Mode::FILE, crate::ids::BlobId::new("1".repeat(40)).unwrap()));
    let among = |name: &str, old, files: &[&str]| {
        let files: Vec<RepoPath> = files.iter().map(|one| path(one)).collect();
        Among::of(&[Delta { path: path(name), old, new: blob() }], files.iter(), is_test, is_rust)
    };
    let missing = |among: Among, on_base: &[&str]| {
        let sides = Sides { among, ..Sides::default() };
        compared((true, &base()), &sides, &run(&["+a"]), &Ok(run(on_base)), Looks::default()).missing
    };
    let inline = ["+a", "+lamp shine::works", "+lamp::bin/lamp dims"];
    assert_eq!(missing(among("src/shine.rs", blob(), &[]), &inline), [""; 0]);
    // A file that is new, or one of tests, had none of them in it.
    assert_eq!(missing(among("tools/x.rs", None, &[]), &inline).len(), 2);
    assert_eq!(missing(among("tests/x.rs", blob(), &[]), &inline).len(), 2);
    // Nor has it those of another language, nor those that a file of tests has.
    let others = ["+a", "+tests.test_a test_dim", "+lamp::api shine::works", "+lamp shine::tests::works"];
    assert_eq!(
        missing(among("src/shine.rs", blob(), &["src/shine/tests.rs"]), &others),
        others[1..].iter().map(|name| &name[1..]).collect::<Vec<_>>()
    );
    assert_eq!(missing(among("src/shine.rs", blob(), &["bulb/src/shine/tests.rs"]), &others[3..]), [""; 0]);
    // They are not what the others lack, either.
    let sides = Sides { among: among("src/shine.rs", blob(), &[]), ..Sides::default() };
    assert!(!lack_something(&sides, &run(&inline), &Ok(run(&["+a"]))));
    assert!(lack_something(&Sides::default(), &run(&inline), &Ok(run(&["+a"]))));
}

/// Runners tell suites as they end, and a second test of a name may come.
#[test]
fn a_test_is_known_by_its_suite_too() {
    let both = ["+web/a > lamp works", "+web/b > lamp works"];
    let earned = held(&["+web/b > lamp works", "+web/a > lamp works"], &both, None, None);
    assert_eq!((earned.missing.len(), earned.gone.len()), (0, 0));
    let mut one = run(&["+lamp works"]);
    one.read.tests[0].whole = "web/a > lamp works".to_owned();
    let against = |head: &Carried, on_base: &Carried| {
        compared((true, &base()), &Sides::default(), head, &Ok(on_base.clone()), Looks::default())
    };
    let came = against(&run(&both), &one);
    assert_eq!(
        (came.missing.len(), came.gone.len(), came.new_tests.unproven_names),
        (0, 0, vec!["web/b > lamp works".to_owned()])
    );
    assert_eq!(against(&one, &run(&both)).missing, ["web/b > lamp works"]);
}

#[test]
fn a_name_that_the_base_does_not_give_twice_is_not_asked_for() {
    let on_base = ["+a", "+started 1763405", "+dims 2"];
    let told = |head: &[&str], again: Option<&[&str]>| {
        let again = again.map(|again| Ok(run(again)));
        let looks = Looks { again, ..Looks::default() };
        let earned = compared((true, &base()), &Sides::default(), &run(head), &Ok(run(&on_base)), looks);
        (earned.missing, earned.gone, earned.new_tests.unproven_names)
    };
    let none: Vec<String> = Vec::new();
    let honest = ["+a", "+started 1763409", "+dims 2"];
    assert!(misses_some(&Sides::default(), &run(&on_base), &run(&honest), None));
    let again = ["+a", "+started 1763407", "+dims 2"];
    assert_eq!(told(&honest, Some(&again)), (none.clone(), none.clone(), none.clone()));
    assert_eq!(told(&honest, None).0, ["started 1763405"], "nobody has looked");
    // What it gives twice is asked for, whatever number it has; and a second run that broke says nothing.
    assert_eq!(told(&["+a", "+started 1763409", "+dims 3"], Some(&again)).0, ["dims 2"]);
    assert_eq!(told(&honest, Some(&["+a"])).0, ["started 1763405"]);
}

#[test]
fn numbers_in_names_are_told_from_words() {
    assert_eq!(masked("started 1763405"), "started 0");
    assert_eq!(masked("t[0x7f3a-b]"), masked("t[0x91-b]"));
    assert_ne!(masked("dim_2"), masked("dims_2"));
    assert_eq!((masked("at 7f3a"), masked("feed")), ("at 0".to_owned(), "feed".to_owned()));
}

#[test]
fn new_tests_that_the_head_skips_are_named() {
    let new = held(&["+a", "?b", "?c"], &["+a", "?b"], None, None).new_tests;
    assert_eq!(new.skipped, ["c"]);
    assert_eq!(held(&["?a"], &["+a"], None, None).new_tests.skipped, [""; 0], "that is told as skipped now");
}

#[test]
fn what_is_frozen_is_held_without_what_came_later() {
    let frozen = |tests: &[&str]| {
        let frozen = Some(Frozen { without: vec!["tests/z".to_owned()], tried: Ok(run(tests)) });
        let looks = Looks { frozen, ..Looks::default() };
        let head = run(&["+a", "+b", "+new"]);
        compared((true, &base()), &Sides::default(), &head, &Ok(run(&["+a", "-red", "?s"])), looks).frozen.unwrap()
    };
    let told = frozen(&["+a", "-b", "-red", "?s", "?frozen"]);
    let names: Vec<&str> = told.failing.iter().map(|test| test.name.as_str()).collect();
    assert_eq!((names, told.skipped, told.files), (vec!["b"], vec!["frozen".to_owned()], vec!["tests/z".to_owned()]));
}

#[test]
fn an_idle_test_is_told_where_it_is() {
    let mut there = run(&["+idle"]);
    let place = Place { path: "tests/a.py".to_owned(), line: Some(3) };
    there.read.tests[0].place = Some(place.clone());
    let sides = Sides { new_tests: vec![laid("tests/a.py")], ..Sides::default() };
    let head = run(&["+a", "+idle"]);
    let looks = Looks { new: Some(Ok(there)), ..Looks::default() };
    let new = compared((true, &base()), &sides, &head, &Ok(run(&["+a"])), looks).new_tests;
    assert_eq!(new.idle_places.get("idle"), Some(&place));
}

#[test]
fn what_the_bases_tests_lack_is_told_from_what_they_refuse() {
    let sides = Sides::default();
    let lack = |alone: &[&str]| lack_something(&sides, &run(&["+a", "+b", "-red"]), &Ok(run(alone)));
    assert!(!lack(&["+a", "+b", "-red"]) && !lack(&["+a", "?b"]), "nothing to look for elsewhere");
    assert!(lack(&["+a", "^b"]) && lack(&["+a"]) && lack(&[]));
    assert!(!lack(&["-a", "^b"]), "one that fails in what it asserts is the answer");
    assert!(!lack(&["+a", "!b"]) && !lack(&["+a", "~b"]), "and so is one that ran and broke");
    assert!(lack_something(&sides, &run(&[]), &Err("no room".to_owned())));
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
    // What is skipped on the base, and let run, was there before.
    assert!(has_new(&run(&["+a"]), &run(&["?b"])) && !has_new(&run(&["+a"]), &run(&["?a"])));
    assert!(!has_new(&run(&["+a"]), &run(&["-a"])));
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
    let earned = compared((true, &base()), &sides, &run(&["+a"]), &Err("no room".to_owned()), Looks::default());
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
    let sides = Sides::of(&deltas, Among::default(), |path| path.to_string().starts_with("tests/"));
    let shown = |laid: &[Laid]| -> Vec<String> {
        let digit = |laid: &Laid| laid.file.as_ref().map_or("-", |(_, blob)| &blob.as_str()[..1]).to_owned();
        laid.iter().map(|laid| format!("{} {}", laid.path, digit(laid))).collect()
    };
    assert_eq!(shown(&sides.old_tests), ["tests/changed.rs 1", "tests/gone.rs 3", "tests/new.rs -"]);
    let (beside, left) = sides.beside(|_| true);
    assert_eq!(
        (shown(&beside), left),
        (vec!["tests/changed.rs 1".to_owned(), "tests/gone.rs 3".to_owned()], vec!["tests/new.rs".to_owned()])
    );
    assert_eq!(sides.beside(|_| false), (sides.old_tests.clone(), Vec::new()));
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
