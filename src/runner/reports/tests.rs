use super::*;

const GREEN: &str =
    "<testsuite name='s'><testcase name='a' time='0.5'/><testcase name='b'><skipped/></testcase></testsuite>";
const RED: &str =
    "<testsuite><testcase classname='c' name='a'><failure message='no'>src/a.rs:3</failure></testcase></testsuite>";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, path: &str, text: &str) {
        let file = self.0.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    fn before(&self, globs: &[&str]) -> Before {
        Before::note(self.0.path(), &owned(globs), true)
    }

    fn read(&self, globs: &[&str], before: &Before) -> Read {
        read(self.0.path(), &owned(globs), before, &Masks::default())
    }
}

fn owned(globs: &[&str]) -> Vec<String> {
    globs.iter().map(|glob| (*glob).to_owned()).collect()
}

/// `state path why` of each.
fn states(read: &Read) -> Vec<String> {
    let one = |report: &Report| {
        let path = report.path.as_deref().unwrap_or("-");
        format!("{:?} {path} {}", report.state, report.why.as_deref().unwrap_or("-"))
    };
    read.reports.iter().map(one).collect()
}

#[test]
fn reports_are_found_and_added_up() {
    let on = Folder::new();
    let globs = ["out/junit.xml", "target/**/TEST-*.xml", "gone.xml"];
    let before = on.before(&globs);
    on.write("out/junit.xml", GREEN);
    on.write("target/a/TEST-a.xml", RED);
    on.write("target/b/c/TEST-b.xml", GREEN);
    on.write("target/b/other.xml", RED);
    on.write("src/a.rs", "");
    let read = on.read(&globs, &before);
    assert_eq!(
        states(&read),
        ["Read out/junit.xml -", "Read target/a/TEST-a.xml -", "Read target/b/c/TEST-b.xml -", "Missing - -"]
    );
    let totals = Counts { tests: 5, passed: 2, failed: 1, skipped: 2, duration_ms: 1000, ..Counts::default() };
    assert_eq!((read.totals, read.failing.len()), (totals, 1));
    let failing = &read.failing[0];
    assert_eq!((failing.name.as_str(), failing.message.as_str()), ("c a", "no"));
    assert_eq!((failing.path.as_deref(), failing.line), (Some("src/a.rs"), Some(3)));
    // One that two globs name counts once.
    assert_eq!(on.read(&["out/*.xml", "out/junit.xml"], &before).totals.tests, 2);
}

#[test]
fn what_was_there_before_is_stale_until_it_is_another() {
    let on = Folder::new();
    on.write("junit.xml", GREEN);
    let before = on.before(&["junit.xml"]);
    let same = "Stale junit.xml it was there before the commands, and is the same as it was";
    assert_eq!(states(&on.read(&["junit.xml"], &before)), [same]);
    assert_eq!(on.read(&["junit.xml"], &before).totals, Counts::default(), "it does not count");
    // To touch it makes nothing of it.
    on.write("junit.xml", GREEN);
    assert_eq!(states(&on.read(&["junit.xml"], &before)), [same]);
    // In a folder that was run in before, it is this run's once it is written again, and not without that.
    let left = Before::note(on.0.path(), &["junit.xml".to_owned()], false);
    assert_eq!(states(&on.read(&["junit.xml"], &left)), [same]);
    let other = File::options().write(true).open(on.0.path().join("junit.xml")).unwrap();
    other.set_modified(SystemTime::now() + Duration::from_millis(1)).unwrap();
    assert_eq!(states(&on.read(&["junit.xml"], &left)), ["Read junit.xml -"]);
    on.write("junit.xml", RED);
    assert_eq!(states(&on.read(&["junit.xml"], &before)), ["Read junit.xml -"]);
    // One that came with its time, out of an archive or a cache.
    let old = File::options().write(true).open(on.0.path().join("junit.xml")).unwrap();
    old.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    assert_eq!(states(&on.read(&["junit.xml"], &before)), ["Stale junit.xml it is older than this run"]);
}

#[test]
fn what_is_no_plain_file_is_not_read() {
    let on = Folder::new();
    let before = on.before(&["*.xml"]);
    on.write("elsewhere", GREEN);
    std::os::unix::fs::symlink("elsewhere", on.0.path().join("link.xml")).unwrap();
    std::fs::create_dir(on.0.path().join("folder.xml")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(on.0.path().join("pipe.xml")).status();
    assert!(made.unwrap().success());
    on.write("words.xml", "all fine");
    let read = on.read(&["*.xml", "folder.xml"], &before);
    let told = states(&read);
    assert_eq!(told[..2], ["Unreadable link.xml it is a link", "Unreadable pipe.xml it is no plain file"]);
    assert!(told[2].starts_with("Unreadable words.xml it is not XML that can be read: "), "{told:?}");
    assert_eq!(told[3], "Unreadable folder.xml it is no plain file");
    // A link that leads round is not followed.
    std::os::unix::fs::symlink(".", on.0.path().join("round")).unwrap();
    assert_eq!(on.read(&["**/words.xml"], &before).reports.len(), 1);
}

#[test]
fn there_is_an_end_to_what_is_read() {
    let on = Folder::new();
    let before = on.before(&["*.xml"]);
    let case = "<testcase name='x'><failure/></testcase>";
    on.write("a.xml", &format!("<testsuite>{}</testsuite>", case.repeat(MOST_FAILING + 5)));
    let read = on.read(&["*.xml"], &before);
    assert_eq!((read.failing.len(), read.failing_left_out, read.totals.failed), (MOST_FAILING, 5, 105));
    let mut left = 10;
    assert_eq!(
        content(on.0.path(), Path::new("a.xml"), &mut left).unwrap_err(),
        "the reports have more than 50 MB together"
    );
    assert_eq!(left, 0, "and nothing after it is read");
    for n in 0..MOST_REPORTS + 3 {
        on.write(&format!("many/{n:04}.xml"), "<testsuite><testcase name='x'/></testsuite>");
    }
    let read = on.read(&["many/*.xml"], &before);
    assert_eq!((read.reports.len(), read.totals.tests), (MOST_REPORTS + 1, MOST_REPORTS as u64));
    assert!(states(&read)[MOST_REPORTS].ends_with("match more than 1000 files"));
}

#[test]
fn each_test_has_a_name_of_its_own() {
    let on = Folder::new();
    let before = on.before(&["*.xml"]);
    let case = "<testcase classname='c' name='x'/>";
    on.write("a.xml", &format!("<testsuite name='s'>{case}{case}{case}<testcase name='c x #2'/></testsuite>"));
    on.write("b.xml", &format!("<testsuite name='t'>{case}<testcase name='c x'><skipped/></testcase></testsuite>"));
    let read = on.read(&["*.xml"], &before);
    let names: Vec<&str> = read.tests.iter().map(|test| test.run.name.as_str()).collect();
    assert_eq!(names, ["s > c x", "s > c x #2", "s > c x #3", "c x #2", "t > c x"]);
    assert_eq!((&read.skipped, &read.skipped_whole), (&vec!["t > c x #2".to_owned()], &vec!["t > c x #2".to_owned()]));
    assert_eq!((read.totals.ran(), read.totals.skipped), (5, 1));
    // Whichever suite is told first.
    let told = |files: [&str; 2]| {
        for (file, suite) in files.iter().zip(["web/a", "web/b"]) {
            on.write(file, &format!("<testsuite name='{suite}'>{case}</testsuite>"));
        }
        let read = on.read(&["*.xml"], &before);
        let mut names: Vec<String> = read.tests.into_iter().map(|test| test.run.name).collect();
        names.sort();
        names
    };
    assert_eq!(told(["a.xml", "b.xml"]), ["web/a > c x", "web/b > c x"]);
    assert_eq!(told(["b.xml", "a.xml"]), ["web/a > c x", "web/b > c x"]);
    std::fs::remove_file(on.0.path().join("b.xml")).unwrap();
    // However many have one name: no search from the start for each.
    on.write("a.xml", &format!("<testsuite>{}</testsuite>", "<testcase name='x'/>".repeat(50_000)));
    let read = on.read(&["a.xml"], &before);
    assert_eq!(read.tests.last().map(|test| test.run.name.as_str()), Some("x #50000"));
}

#[test]
fn each_try_of_a_test_is_listed() {
    let on = Folder::new();
    let before = on.before(&["*.xml"]);
    let text = "<testsuite><testcase name='flaky' time='0.5'><flakyFailure/><flakyError/></testcase>\
                <testcase name='red'><failure/><rerunFailure/></testcase><testcase name='broken'><error/></testcase>\
                <testcase name='plain'/></testsuite>";
    on.write("a.xml", text);
    let read = on.read(&["a.xml"], &before);
    let shown = |Listed { run: test, .. }: &Listed| {
        let tries: String = test.attempts.iter().map(|one| if *one == TestResult::Pass { '+' } else { '-' }).collect();
        format!("{} {:?} {:?} {} {tries}", test.name, test.result, test.kind, test.duration_ms)
    };
    let told: Vec<String> = read.tests.iter().map(shown).collect();
    let expected =
        ["flaky Pass None 500 --+", "red Fail Some(Failed) 0 --", "broken Fail Some(Error) 0 ", "plain Pass None 0 "];
    assert_eq!(told, expected);
}

#[test]
fn names_without_end_are_not_read() {
    let on = Folder::new();
    let before = on.before(&["*.xml"]);
    let long = format!("<testcase name='{}'/>", "x".repeat(290)).repeat(MOST_OF_NAMES / 290 + 1);
    on.write("a.xml", &format!("<testsuite>{long}</testsuite>"));
    let read = on.read(&["a.xml"], &before);
    assert_eq!(states(&read), ["Unreadable a.xml the names of all tests have more than 8 MB"]);
    assert!(read.tests.is_empty() && read.totals == Counts::default());
}

#[test]
fn secrets_in_reports_are_hidden() {
    let on = Folder::new();
    let before = on.before(&["*.xml"]);
    let text =
        "<testsuite><testcase name='t0ken-x'><error message='m t0ken-x'>d t0ken-x</error></testcase></testsuite>";
    on.write("a.xml", text);
    let masks = Masks::of([("A_TOKEN".into(), "t0ken-x".into())]);
    let read = read(on.0.path(), &owned(&["a.xml"]), &before, &masks);
    let failing = &read.failing[0];
    assert_eq!((failing.name.as_str(), failing.message.as_str(), failing.details.as_str()), ("***", "m ***", "d ***"));
    assert_eq!(failing.kind, FailingKind::Error);
    // In the name of a report too, and in why it can't be read.
    on.write("t0ken-x.xml", "<t0ken-x/>");
    let read = super::read(on.0.path(), &owned(&["t*.xml"]), &before, &masks);
    let (path, why) = (read.reports[0].path.as_deref(), read.reports[0].why.as_deref());
    assert!(path == Some("***.xml") && why.is_some_and(|why| why.contains("`***`")), "{:?}", read.reports);
}

/// Node's own runner tells of a file as of a test, by where the copy lies.
#[test]
fn a_file_without_a_test_is_none_and_names_do_not_say_where_the_copy_lies() {
    let on = Folder::new();
    let before = on.before(&["*.xml"]);
    on.write("a.test.js", "// nothing");
    let here = on.0.path().canonicalize().unwrap();
    let there = here.display();
    let case = |name: &str, inside: &str| format!("<testcase name='{name}' classname='test'>{inside}</testcase>");
    let report = |cases: &str| format!("<testsuites>{cases}</testsuites>");
    let cases = [
        case(&format!("{there}/a.test.js"), ""),
        case(&format!("{there}/b.test.js"), "<failure message='no'/>"),
        case("a.test.js", ""),
    ];
    on.write("a.xml", &report(&cases.concat()));
    let read = read(&here, &owned(&["a.xml"]), &before, &Masks::default());
    let names: Vec<&str> = read.tests.iter().map(|test| test.run.name.as_str()).collect();
    assert_eq!((names, read.totals.tests), (vec!["test b.test.js", "test a.test.js"], 2));
}

#[test]
fn a_copy_of_ours_is_in_no_name() {
    let around = tempfile::Builder::new().prefix(worktree::PREFIX).tempdir().unwrap();
    let around = around.path().canonicalize().unwrap();
    let folder = around.join("work");
    std::fs::create_dir(&folder).unwrap();
    let before = Before::note(&folder, &owned(&["a.xml"]), true);
    let name = |name: &Path| format!("<testcase name='t[{}]'/>", name.display());
    let cases = [name(&folder), name(&folder.join("a")), name(&around.join("home"))].concat();
    std::fs::write(folder.join("a.xml"), format!("<testsuite>{cases}</testsuite>")).unwrap();
    let read = read(&folder, &owned(&["a.xml"]), &before, &Masks::default());
    let names: Vec<&str> = read.tests.iter().map(|test| test.run.name.as_str()).collect();
    assert_eq!(names, ["t[.]", "t[a]", "t[~/home]"]);
}
