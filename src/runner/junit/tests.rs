use proptest::prelude::*;

use super::*;

fn fixture(name: &str) -> Vec<Case> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/junit").join(name);
    read(&std::fs::read(path).unwrap(), 1000).unwrap_or_else(|why| panic!("{name}: {why}"))
}

/// Each of these once took the time of its square.
#[test]
fn what_no_tool_writes_is_refused_at_once() {
    let refused = |text: String, why: &str| {
        let said = read(text.as_bytes(), 1_000_000).unwrap_err();
        assert!(said.contains(why), "{said}");
    };
    let deep = "<a><testcase name=\"x\"/>".repeat(60_000);
    refused(format!("<testsuite>{deep}{}</testsuite>", "</a>".repeat(60_000)), "nested more than 100 deep");
    let crowd: String = (0..150_000).map(|at| format!(" a{at}='>'")).collect();
    refused(format!("<testsuite><!-- <a b=\" --><testcase{crowd}/></testsuite>"), "more than 100 attributes");
    refused(format!("<testsuite>{}</testsuite>", "&#".repeat(1_000_000)), "not XML that can be read");
    let nested: String = (0..90).map(|at| format!("<a xmlns:n{at}='u{at}'>")).collect();
    refused(format!("<testsuite>{nested}{}</testsuite>", "</a>".repeat(90)), "more than 20 namespaces");
    let suite = "<testsuite xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance'><testcase name='x'/></testsuite>";
    let merged = format!("<testsuites>{}</testsuites>", suite.repeat(2_000));
    assert_eq!(read(merged.as_bytes(), 2_000).unwrap().len(), 2_000, "side by side each is alone");
    let named = "<testcase name=' xmlns=1 > '/>".repeat(30);
    assert_eq!(read(format!("<testsuite>{named}</testsuite>").as_bytes(), 30).unwrap().len(), 30, "a name is none");
    let aside = format!("<testsuite><![CDATA[<a {}>]]><testcase name='x'/></testsuite>", "a=1 ".repeat(500));
    assert_eq!(read(aside.as_bytes(), 10).unwrap().len(), 1, "what only looks like an element is none");
}

/// `passed failed error skipped flaky`, and what failed.
fn told(cases: &[Case]) -> (String, Vec<String>) {
    let of = |outcome| cases.iter().filter(|case| case.outcome == outcome).count();
    let counts = format!(
        "{} {} {} {} {}",
        of(Outcome::Passed),
        of(Outcome::Failed),
        of(Outcome::Error),
        of(Outcome::Skipped),
        cases.iter().filter(|case| case.flaky).count()
    );
    let failed = cases.iter().filter(|case| case.failed());
    (counts, failed.map(|case| format!("{} {}: {}", case.class, case.name, case.message)).collect())
}

#[test]
fn what_the_tools_write_is_read() {
    let (counts, failed) = told(&fixture("nextest.xml"));
    assert_eq!(counts, "2 2 0 0 1");
    assert_eq!(failed[0], "lamp tests::breaks_the_process: process aborted with signal 6 (SIGABRT)");
    assert!(failed[1].starts_with("lamp tests::turns_off: thread 'tests::turns_off' ("), "{failed:?}");
    let why = "panicked at src/lib.rs:9:9: assertion `left == right` failed: the lamp stays <on> & hums";
    assert!(failed[1].ends_with(why), "{failed:?}");

    for name in ["pytest.xml", "pytest-xunit1.xml"] {
        let (counts, failed) = told(&fixture(name));
        assert_eq!(counts, "4 1 1 2 0", "{name}");
        let says = "test_lamp test_turns_off: AssertionError: the lamp stays <on> & hums assert 'on' == 'off'";
        assert!(failed[0].starts_with(says), "{failed:?}");
        assert_eq!(failed[1], "test_lamp test_bulb: failed on setup with \"RuntimeError: no bulb in the box\"");
    }
    let cases = fixture("pytest-xunit1.xml");
    assert_eq!((cases[1].file.as_deref(), cases[1].line), (Some("test_lamp.py"), Some(9)), "the line of its `def`");

    let (counts, failed) = told(&fixture("jest.xml"));
    assert_eq!(counts, "3 1 0 1 0");
    let says = "Error: expect(received).toBe(expected) // Object.is equality";
    assert_eq!(failed, [format!("the lamp turns off the lamp turns off: {says}")]);
    let (counts, failed) = told(&fixture("jest-errors.xml"));
    assert_eq!((counts.as_str(), failed.len()), ("3 2 1 1 0", 3));
    assert!(failed[1].ends_with("t/broken.test.js: ● Test suite failed to run"), "{failed:?}");

    let (counts, failed) = told(&fixture("gotestsum.xml"));
    assert_eq!((counts.as_str(), failed.len()), ("2 3 0 1 0", 3));
    assert_eq!(failed[0], "example.com/lamp TestOff: lamp_test.go:12: the lamp stays <on> & hums");
    assert_eq!(told(&fixture("gotestsum-rerun.xml")), ("1 0 0 0 1".to_owned(), vec![]));

    let (counts, failed) = told(&fixture("surefire.xml"));
    assert_eq!(counts, "2 1 1 1 1");
    assert_eq!(failed[0], "lamp.LampTest hasABulb: no bulb in the box");
    let cases = fixture("surefire.xml");
    let flaky = cases.iter().find(|case| case.flaky).unwrap();
    assert_eq!((flaky.name.as_str(), flaky.millis), ("comesOnAtTheSecondTry", 15));
    assert!(flaky.details.contains("LampTest.java:25"), "{flaky:?}");
}

/// Of each tool, the failures that are failed assertions, and those that are not.
#[test]
fn a_failed_assertion_is_told_from_what_broke_in_what_the_tools_write() {
    let told = |name: &str| {
        let (mut asserted, mut broke) = (Vec::new(), Vec::new());
        for case in fixture(name).into_iter().filter(Case::failed) {
            if case.lacks { &mut broke } else { &mut asserted }.push(case.name);
        }
        (asserted.join(", "), broke.join(", "))
    };
    let expected = [
        ("nextest.xml", "tests::turns_off", "tests::breaks_the_process"),
        ("pytest.xml", "test_turns_off", "test_bulb"),
        ("jest.xml", "the lamp turns off", ""),
        ("gotestsum.xml", "TestOff, TestWatts/60, TestWatts", ""),
        ("surefire.xml", "turnsOff", "hasABulb"),
        ("node.xml", "turns off, says much, hums", "has a bulb, goes on for ever, throws a word"),
    ];
    for (name, asserted, broke) in expected {
        assert_eq!(told(name), (asserted.to_owned(), broke.to_owned()), "{name}");
    }
    // What could not be loaded was never begun, and what broke was.
    let unloaded = |name: &str| -> Vec<String> {
        let cases = fixture(name).into_iter().filter(|case| case.failed() && case.unloaded);
        cases.map(|case| case.name).collect()
    };
    assert_eq!(unloaded("jest-errors.xml")[0], "t/broken.test.js");
    assert!(
        unloaded("pytest.xml").is_empty() && unloaded("node.xml").is_empty() && unloaded("surefire.xml").is_empty()
    );
}

#[test]
fn a_count_that_is_no_plain_number_is_one() {
    for count in ["18446744073709551616", "1.0", " 2 "] {
        let cases =
            read(format!("<testsuite failures='{count}'><testcase name='a'/></testsuite>").as_bytes(), 9).unwrap();
        assert!(cases.iter().any(Case::failed), "{count}");
    }
    assert_eq!(read(b"<testsuite failures='0.0' errors='none'><testcase name='a'/></testsuite>", 9).unwrap().len(), 1);
}

fn one(inside: &str) -> Vec<Case> {
    read(format!("<testsuite name='s'>{inside}</testsuite>").as_bytes(), 10).unwrap()
}

#[test]
fn suites_stand_in_suites_and_words_for_not_run_are_many() {
    let unsaid = one("<testsuite name='t'><testcase classname='c'/></testsuite>");
    assert_eq!((unsaid[0].class.as_str(), unsaid[0].name.as_str()), ("c", "(not named)"));
    let nested = one("<testsuite name='t'><testcase name='a' classname='c' time='1,000.5'/></testsuite>");
    assert_eq!((nested[0].suite.as_str(), nested[0].millis), ("t", 1_000_500));
    for skipped in
        ["status='notrun'", "status='disabled'", "status='Pending'", "status='ignored'", "result='suppressed'"]
    {
        assert_eq!(one(&format!("<testcase {skipped}/>"))[0].outcome, Outcome::Skipped, "{skipped}");
    }
    // CTest, behave and others say it at the test.
    for failed in ["status='failed'", "status='FAILED'", "status='fail'", "result='failure'"] {
        assert_eq!(one(&format!("<testcase {failed}/>"))[0].outcome, Outcome::Failed, "{failed}");
        assert_eq!(one(&format!("<testcase {failed}><skipped/></testcase>"))[0].outcome, Outcome::Failed, "{failed}");
    }
    assert_eq!(one("<testcase status='error'/>")[0].outcome, Outcome::Error);
    assert_eq!(one("<testcase><rerunFailure/></testcase>")[0].outcome, Outcome::Failed);
    for passed in ["status='passed'", "status='run'", "status='PASS'", "result='completed'", "status='success'"] {
        assert_eq!(one(&format!("<testcase {passed}/>"))[0].outcome, Outcome::Passed, "{passed}");
    }
    assert_eq!(one("<testcase status='run' result='completed' time='NaN'/>")[0].outcome, Outcome::Passed);
}

#[test]
fn a_test_of_the_same_name_hides_nothing() {
    let twice = "<testcase name='a'><failure/></testcase><testcase name='a'/>";
    assert_eq!(told(&one(twice)).0, "1 1 0 0 0");
    let go = "<properties><property name='go.version'/></properties>";
    assert_eq!(told(&one(&format!("{go}{twice}"))).0, "1 0 0 0 1");
    let worse = "<testcase name='a'/><testcase name='a'><failure/></testcase>";
    assert_eq!(told(&one(&format!("{go}{worse}"))).0, "0 1 0 0 0");
}

#[test]
fn a_failure_that_is_only_counted_is_one() {
    let only = |root: &str| read(root.as_bytes(), 10).unwrap();
    let (counts, failed) =
        told(&only("<testsuites failures='0' errors='1'><testsuite><testcase/></testsuite></testsuites>"));
    assert_eq!(counts, "1 0 1 0 0");
    assert_eq!(failed, [" (not named): The report counts a failure that it does not show."]);
    assert_eq!(told(&only("<testsuites><testsuite failures='2'/><testsuite errors='1'/></testsuites>")).1.len(), 1);
    // Those of a test that was tried again are counted each time.
    let again = "<testsuites failures='1'><testcase><flakyFailure/></testcase></testsuites>";
    assert_eq!(told(&only(again)).0, "1 0 0 0 1");
    // Beyond those, and in suites of suites, they are failures of something else.
    let more = "<testsuites failures='2'><testcase><flakyFailure/></testcase></testsuites>";
    assert_eq!(told(&only(more)).0, "1 0 1 0 1");
    let deep = "<testsuites><testsuite><testsuite errors='1'><testcase/></testsuite></testsuite></testsuites>";
    assert_eq!(told(&only(deep)).0, "1 0 1 0 0");
    assert!(only("<testsuites failures='0'/>").is_empty());
}

#[test]
fn what_failed_around_the_tests_of_a_suite_is_told() {
    let text =
        "<testsuites><testsuite name='lamp'><error message='no bulb'/><testcase name='a'/></testsuite></testsuites>";
    let (counts, failed) = told(&read(text.as_bytes(), 10).unwrap());
    assert_eq!((counts.as_str(), failed), ("1 0 1 0 0", vec![" (the suite itself): no bulb".to_owned()]));
    assert_eq!(told(&one("<failure>no bulb</failure><testcase/>")).0, "1 1 0 0 0");
    let quiet = "<system-err>error</system-err><properties><property name='error'/></properties><testcase><system-out/></testcase>";
    assert_eq!(told(&one(quiet)).0, "1 0 0 0 0");
}

#[test]
fn a_report_in_utf_16_is_read() {
    let text = "<?xml version=\"1.0\" encoding=\"utf-16\"?><testsuite><testcase name='Lämpchen'/></testsuite>";
    let of = |mark: bool, bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        mark.then_some(0xfeff).into_iter().chain(text.encode_utf16()).flat_map(bytes).collect()
    };
    for mark in [true, false] {
        for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
            assert_eq!(read(&of(mark, bytes), 2).unwrap()[0].name, "Lämpchen");
        }
    }
}

#[test]
fn what_can_not_be_read_is_said() {
    let why = |text: &str| read(text.as_bytes(), 2).unwrap_err();
    assert!(why("").starts_with("it is not XML that can be read: "));
    assert!(why("<testsuite><testcase>").starts_with("it is not XML"));
    assert!(why("<html/>").contains("its root is `html`"));
    assert_eq!(why("<testsuite><testcase/><testcase/><testcase/></testsuite>"), "it has more than 2 tests");
    let bomb = "<!DOCTYPE t [<!ENTITY a 'x'><!ENTITY b '&a;&a;&a;'>]><testsuite name='&b;'/>";
    assert!(why(bomb).starts_with("it is not XML"), "{}", why(bomb));
    let deep = format!("<testsuite>{}{}</testsuite>", "<a>".repeat(300_000), "</a>".repeat(300_000));
    assert_eq!(why(&deep), "its elements are nested more than 100 deep");
}

#[test]
fn characters_that_xml_does_not_have_are_made_visible() {
    let text = "<testsuite><testcase name='a\x1b[31m&#27;b&#x1B;&#10;&amp;&#xD800;'><failure>\0&#0;x</failure></testcase></testsuite>";
    let cases = read(text.as_bytes(), 2).unwrap();
    assert_eq!(cases[0].name, "a\u{fffd}[31m\u{fffd}b\u{fffd} &\u{fffd}");
    assert_eq!(cases[0].details, "\u{fffd}\u{fffd}x");
    assert_eq!(read(b"\xef\xbb\xbf<testsuite><testcase name='\xff'/></testsuite>", 2).unwrap()[0].name, "\u{fffd}");
    assert_eq!(one(&format!("<testcase name='{}'/>", "é".repeat(999)))[0].name.chars().count(), LONGEST_NAME);
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in "(<testsuites?|<testcase|<failure| name=| time=|'|\"|/?>|</|&#x?1?|;|&|\x1b|\0|[a-c ]){0,40}") {
        let _ = read(text.as_bytes(), 5);
        let _ = read(format!("<testsuite>{text}</testsuite>").as_bytes(), 5);
    }
}
