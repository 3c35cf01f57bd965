use super::super::What::*;
use super::*;

const TEST: &str = "def test_dim():\n    level = dim(2)\n    assert level == 3\n";

fn found(path: &str, old: Option<&str>, new: Option<&str>) -> Vec<What> {
    let report = weaker(path, old.map(str::as_bytes), new.map(str::as_bytes));
    report.found.iter().map(|one| one.what).collect()
}

#[test]
fn a_file_that_is_new_is_asked_what_its_tests_hold() {
    assert_eq!(found("test_a.py", None, Some(TEST)), []);
    assert_eq!(found("test_a.py", None, Some("def test_dim():\n    dim(2)\n")), [AssertsNothing]);
    assert_eq!(found("test_a.py", None, Some("@pytest.mark.skip\ndef test_dim():\n    assert dim(2)\n")), [Skipped]);
    assert_eq!(
        found("lamp.test.js", None, Some("jest.mock('./lamp');\nit('a', () => { expect(dim()).toBe(1); });")),
        [MocksSubject]
    );
}

#[test]
fn a_file_that_is_gone_takes_its_tests_along() {
    assert_eq!(found("test_a.py", Some(TEST), None), [TestRemoved]);
    assert_eq!(found("notes.txt", Some("a"), None), []);
    assert_eq!(found("test_a.py", None, None), []);
}

#[test]
fn a_test_that_moved_to_another_file_is_the_same_test() {
    let here = |text: &'static str| Some(text.as_bytes());
    let rest = "def test_a():\n    assert a() == 1\n";
    let both = "def test_a():\n    assert a() == 1\ndef test_dim():\n    level = dim(2)\n    assert level == 3\n";
    let moved = weaker_all(&[("test_a.py", here(both), here(rest)), ("test_b.py", None, here(TEST))]);
    assert_eq!(moved, [Report::default(), Report::default()]);
    // Moved and weakened on the way: it is told where it stands now.
    let weak = "def test_dim():\n    level = dim(2)\n    assert level\n";
    let moved = weaker_all(&[("test_a.py", here(both), here(rest)), ("test_b.py", None, here(weak))]);
    let kinds: Vec<Vec<What>> = moved.iter().map(|report| report.found.iter().map(|one| one.what).collect()).collect();
    assert_eq!(kinds, [vec![], vec![AssertionLoosened]]);
    // The whole file under another name.
    let moved = weaker_all(&[("test_a.py", here(both), None), ("tests/test_b.py", None, here(both))]);
    assert_eq!(moved, [Report::default(), Report::default()]);
    let gone = weaker_all(&[("test_a.py", here(both), here(rest)), ("test_b.py", None, here(rest))]);
    assert_eq!(gone[0].found.iter().map(|one| one.what).collect::<Vec<_>>(), [TestRemoved]);
}

#[test]
fn a_check_that_moved_to_a_test_of_another_file_is_not_gone() {
    let old = "def test_a():\n    assert dim(2) == 3\n    assert glow(4) == 5\n";
    let new = "def test_a():\n    assert dim(2) == 3\n";
    let other = "def test_glow():\n    assert glow(4) == 5\n";
    let all = [("test_a.py", Some(old.as_bytes()), Some(new.as_bytes())), ("test_b.py", None, Some(other.as_bytes()))];
    let fine = Report { changed: 1, ..Report::default() };
    assert_eq!(weaker_all(&all), [fine.clone(), fine], "each has one test that is not as it was");
    assert_eq!(found("test_a.py", Some(old), Some(new)), [AssertionRemoved]);
}

#[test]
fn tests_in_another_order_are_the_same() {
    let old = "def test_a():\n    assert a() == 1\ndef test_b():\n    assert b() == 2\n";
    let new = "def test_b():\n    assert b() == 2\n\n\ndef test_a():\n    assert a() == 1\n";
    assert_eq!(found("test_a.py", Some(old), Some(new)), []);
}

#[test]
fn what_is_too_large_is_unknown_and_not_fine() {
    let large = "a = 1\n".repeat(MOST_BYTES / 6 + 1);
    let report = weaker("test_a.py", Some(TEST.as_bytes()), Some(large.as_bytes()));
    assert!(report.unread.is_some_and(|why| why.contains("bytes")));
    assert_eq!(report.found, []);
}

#[test]
fn line_ends_marks_and_odd_bytes_change_nothing() {
    let crlf = TEST.replace('\n', "\r\n");
    assert_eq!(found("test_a.py", Some(TEST), Some(&crlf)), []);
    assert_eq!(found("test_a.py", Some(TEST), Some(&format!("\u{feff}{TEST}"))), []);
    let odd = [TEST.as_bytes(), b"# \xff\xfe\0\n"].concat();
    assert_eq!(weaker("test_a.py", Some(TEST.as_bytes()), Some(&odd)), Report::default());
}
