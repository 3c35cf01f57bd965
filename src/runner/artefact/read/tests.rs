use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::*;
use crate::runner::artefact::sample as honest;

fn head() -> CommitId {
    CommitId::new("a".repeat(40)).unwrap()
}

fn expected() -> Expected {
    Expected { gate: RunGate::Verify, repository: "octo/lamp".parse().unwrap(), head: head(), run: 99, attempt: 2 }
}

fn written(text: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join(FILE), text).unwrap();
    dir
}

fn refuse(dir: &tempfile::TempDir) -> Refused {
    let refused = read(dir.path(), &expected()).unwrap_err();
    assert!(!refused.next().is_empty() && !refused.to_string().contains(char::is_control), "{refused}");
    refused
}

/// How an honest artefact is refused after something was done to it.
fn bent(bend: impl FnOnce(&mut Value)) -> String {
    let mut value = serde_json::to_value(honest()).unwrap();
    bend(&mut value);
    refuse(&written(&value.to_string())).to_string()
}

#[test]
fn an_honest_artefact_is_read_as_it_was_written() {
    let dir = tempfile::tempdir().unwrap();
    honest().write(&dir.path().join("deep/er"), "<p>the page</p>").unwrap();
    assert_eq!(std::fs::read_to_string(dir.path().join("deep/er/evidence.html")).unwrap(), "<p>the page</p>");
    assert_eq!(read(&dir.path().join("deep/er"), &expected()), Ok(honest()));
    // Fields of a later version are passed over, and the case of a name is nothing.
    let mut value = serde_json::to_value(honest()).unwrap();
    value["confined"] = json!({ "by": ["landlock"] });
    value["commands"][0]["memory"] = json!(1);
    value["subject"]["repository"] = json!("Octo/Lamp");
    assert!(read(written(&value.to_string()).path(), &expected()).is_ok());
}

#[test]
fn what_is_not_there_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let gone = read(&dir.path().join("gone"), &expected()).unwrap_err();
    assert!(matches!(&gone, Refused::NoFolder(name) if name.ends_with("/gone`")), "{gone}");
    assert!(gone.next().contains("if: always()"));
    assert_eq!(refuse(&dir).to_string(), "The artefact is empty: there is no `execution_log.json` in it.");
    std::fs::write(dir.path().join("file"), "").unwrap();
    let file = read(&dir.path().join("file"), &expected()).unwrap_err();
    assert!(file.to_string().ends_with("/file` is a file, and not a folder."), "{file}");
    assert!(file.next().contains("a folder of that name"));
    let below = read(&dir.path().join("file/below"), &expected()).unwrap_err();
    assert!(matches!(&below, Refused::NoFolder(_)), "{below}");
    drop(std::os::unix::net::UnixListener::bind(dir.path().join("socket")).unwrap());
    let socket = read(&dir.path().join("socket"), &expected()).unwrap_err();
    assert!(socket.to_string().ends_with("/socket` is a device or a pipe, and not a folder."), "{socket}");
}

#[test]
fn what_is_no_plain_file_is_not_opened() {
    let outside = written(&honest().text().unwrap());
    let put = |make: &dyn Fn(&Path)| {
        let dir = tempfile::tempdir().unwrap();
        make(&dir.path().join(FILE));
        refuse(&dir).to_string()
    };
    let target = outside.path().join(FILE);
    assert_eq!(
        put(&|at| symlink(&target, at).unwrap()),
        "`execution_log.json` of the artefact is a link, and not a plain file."
    );
    assert_eq!(
        put(&|at| symlink("gone", at).unwrap()),
        "`execution_log.json` of the artefact is a link, and not a plain file."
    );
    assert_eq!(
        put(&|at| std::fs::create_dir(at).unwrap()),
        "`execution_log.json` of the artefact is a folder, and not a plain file."
    );
    let odd = "`execution_log.json` of the artefact is a device or a pipe, and not a plain file.";
    // Nobody writes into it: whoever waits for that waits for ever.
    assert_eq!(put(&|at| assert!(std::process::Command::new("mkfifo").arg(at).status().unwrap().success())), odd);
    assert_eq!(put(&|at| drop(std::os::unix::net::UnixListener::bind(at).unwrap())), odd);
    let several = "`execution_log.json` of the artefact is a file with several names, and not a plain file.";
    assert_eq!(put(&|at| std::fs::hard_link(&target, at).unwrap()), several);
}

#[test]
fn nothing_outside_of_the_folder_is_read() {
    let dir = written(&honest().text().unwrap());
    let link = tempfile::tempdir().unwrap();
    symlink(dir.path(), link.path().join("folder")).unwrap();
    for name in ["folder", "folder/", "folder/."] {
        let refused = read(&link.path().join(name), &expected()).unwrap_err();
        assert!(matches!(refused, Refused::NotPlain { is: "a link", .. }), "{name}: {refused}");
    }
    assert!(read(&dir.path().join("."), &expected()).is_ok());
    // Below the folder every step is looked at.
    symlink(dir.path(), dir.path().join("round")).unwrap();
    std::fs::create_dir(dir.path().join("own")).unwrap();
    std::fs::write(dir.path().join("own/x"), "y").unwrap();
    assert_eq!(content(dir.path(), Path::new("own/x")), Ok(b"y".to_vec()));
    for (path, why) in [
        ("round/own/x", "`round/own/x` of the artefact is a link, and not a plain file."),
        ("own/../../x", "`own/../../x` is not a path inside the artefact."),
        ("/etc/hostname", "`/etc/hostname` is not a path inside the artefact."),
        ("", "(nothing) is not a path inside the artefact."),
        ("own/gone", "The artefact is empty: there is no `own/gone` in it."),
    ] {
        assert_eq!(content(dir.path(), Path::new(path)).unwrap_err().to_string(), why);
    }
}

#[test]
fn what_can_not_be_understood_is_refused_by_name() {
    let text = honest().text().unwrap();
    let deep = format!("{{\"schema\": {}{}}}", "[".repeat(40), "]".repeat(40));
    let deeper = "[".repeat(100_000);
    let cases: Vec<(String, &str)> = vec![
        (String::new(), "The artefact is not JSON: `EOF while parsing"),
        (text[..text.len() / 2].to_owned(), "The artefact is not JSON: `EOF while parsing"),
        (format!("{text}{text}"), "The artefact is not JSON: `trailing characters"),
        ("\u{fffd}PNG".to_owned(), "The artefact is not JSON: `expected value"),
        (deep, "The artefact is nested deeper than 16 levels."),
        (deeper, "The artefact is nested deeper than 16 levels."),
        ("[1]".to_owned(), "The artefact is of the form `(none)`"),
        ("1".to_owned(), "The artefact does not have the form that it names: `invalid type"),
        ("{}".to_owned(), "The artefact is of the form `(none)`, and not `phasegate/run@1`."),
        ("{\"schema\": 1}".to_owned(), "The artefact is of the form `(none)`"),
        ("{\"schema\": \"x\\u001b[2J\"}".to_owned(), "The artefact is of the form `x`, and not"),
        (
            "{\"schema\": \"phasegate/run@2\", \"gate\": {}}".to_owned(),
            "The artefact is of the form `phasegate/run@2`, which is newer than this version of Phasegate.",
        ),
        (
            text.replacen("\"gate\"", "\"verdict\": \"PASS\", \"gate\"", 1),
            "The artefact has the key `verdict` twice in one object.",
        ),
        ("{\"a\": {\"b\\u001b\": 1, \"b\\u001b\": 1}}".to_owned(), "The artefact has the key `b"),
    ];
    for (text, why) in cases {
        let shown: String = text.chars().take(60).collect();
        let refused = refuse(&written(&text)).to_string();
        assert!(refused.starts_with(why), "{shown}: {refused}");
    }
    let refused = refuse(&written(&" ".repeat(MOST_BYTES as usize + 1)));
    assert_eq!(refused.to_string(), "The artefact has 50331649 bytes or more; at most 50331648 are read.");
    assert!(Refused::Newer(String::new()).next().starts_with("Update Phasegate"));
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join(FILE), b"{\"schema\": \"\xff\"}").unwrap();
    assert!(matches!(refuse(&dir), Refused::NotJson(_)));
}

#[test]
fn fields_of_the_wrong_type_are_refused() {
    for pointer in [
        "/gate",
        "/verdict",
        "/findings",
        "/subject",
        "/policy/digest",
        "/run/id",
        "/run/attempt",
        "/started",
        "/commands",
        "/commands/0/command",
        "/commands/0/outcome",
        "/commands/0/status",
        "/reports/0/state",
        "/reports/0/counts",
        "/totals/tests",
        "/failing/0/line",
        "/failing_left_out",
        "/tests/0/result",
        "/summary/total",
        "/attempts",
        "/environment/cpus",
        "/subject/head",
        "/subject/repository",
    ] {
        for wrong in [json!([[]]), json!("no such word"), json!(-1), json!(1.5), json!(true)] {
            // An exit status may be below 0, and a text may say anything.
            if matches!((pointer, &wrong), ("/commands/0/status", Value::Number(n)) if n.is_i64())
                || (pointer == "/commands/0/command" && wrong.is_string())
            {
                continue;
            }
            let refused = bent(|value| *value.pointer_mut(pointer).unwrap() = wrong.clone());
            assert!(
                refused.starts_with("The artefact does not have the form that it names: "),
                "{pointer} {wrong}: {refused}"
            );
        }
    }
    for key in ["gate", "verdict", "subject", "policy", "commands", "totals", "failing_left_out"] {
        let refused = bent(|value| drop(value.as_object_mut().unwrap().remove(key)));
        assert!(refused.contains(&format!("missing field '{key}'")), "{refused}");
    }
}

#[test]
fn an_artefact_of_something_else_is_not_taken() {
    let other = "b".repeat(40);
    let cases = [
        ("/gate", json!("build"), "The artefact is of the gate build, and not of verify.".to_owned()),
        (
            "/subject/repository",
            json!("eve/lamp"),
            "The artefact is of the repository eve/lamp, and not of octo/lamp.".to_owned(),
        ),
        (
            "/subject/repository",
            Value::Null,
            "The artefact is of the repository none, and not of octo/lamp.".to_owned(),
        ),
        ("/subject/head", json!(other), format!("The artefact is of the head {other}, and not of {}.", head())),
        ("/subject/head", Value::Null, format!("The artefact is of the head none, and not of {}.", head())),
        ("/run/id", json!(98), "The artefact is of the run 98, and not of 99.".to_owned()),
        ("/run/attempt", json!(1), "The artefact is of attempt 1, and not of 2.".to_owned()),
        ("/run", Value::Null, "The artefact is of the run none, and not of 99.".to_owned()),
    ];
    for (pointer, to, why) in cases {
        assert_eq!(bent(|value| *value.pointer_mut(pointer).unwrap() = to), why);
    }
}

#[test]
fn numbers_have_to_add_up() {
    let set = |pairs: &[(&str, Value)]| {
        let refused = bent(|value| {
            for (pointer, to) in pairs {
                *value.pointer_mut(pointer).unwrap() = to.clone();
            }
        });
        refused.strip_prefix("The artefact's numbers do not add up: ").unwrap_or(&refused).to_owned()
    };
    let sum = "the tests of `out/junit.xml` are not the sum of how they ended.";
    assert_eq!(set(&[("/reports/0/counts/passed", json!(3))]), sum);
    assert_eq!(set(&[("/reports/0/counts/passed", json!(u64::MAX))]), sum);
    assert_eq!(set(&[("/reports/0/counts/flaky", json!(3))]), sum);
    assert_eq!(set(&[("/reports/0/state", json!("stale"))]), sum, "a stale one does not count");
    assert_eq!(set(&[("/totals/tests", json!(5))]), "the totals are not those of the reports.");
    let summary = "the summary is not the count of the tests.";
    assert_eq!(set(&[("/summary/failed", json!(0))]), summary);
    assert_eq!(set(&[("/tests/1/result", json!("PASS"))]), summary);
    assert_eq!(set(&[("/tests", json!([])), ("/summary", json!({ "total": 0, "passed": 0, "failed": 0 }))]), summary);
    assert_eq!(set(&[("/tests/1/kind", Value::Null)]), "a test does not end as it is said to.");
    assert_eq!(set(&[("/tests/0/name", json!("a::b"))]), "two tests have one name.");
    assert_eq!(set(&[("/skipped", json!([]))]), "there are not as many names of skipped tests as were skipped.");
    assert_eq!(
        set(&[("/executed_at", json!("2020-01-01T00:00:00Z"))]),
        "it was executed at another time than it started."
    );
    let more = [("/totals/tests", json!(5)), ("/totals/passed", json!(3))];
    assert_eq!(set(&more), "the totals are not those of the reports.");
    assert_eq!(set(&[("/failing", json!([]))]), "1 tests failed, and others are told.");
    assert_eq!(set(&[("/failing_left_out", json!(u64::MAX))]), "1 tests failed, and others are told.");
    assert_eq!(set(&[("/commands/0/status", Value::Null)]), "`make check` does not end as it is said to.");
    assert_eq!(set(&[("/commands/0/outcome", json!("timed_out"))]), "`make check` does not end as it is said to.");
    assert_eq!(set(&[("/ended", json!("2001-01-01T00:00:00Z"))]), "it ended before it started.");
    assert_eq!(set(&[("/verdict", json!("PASS"))]), "the verdict is not that of the findings.");
    let covered =
        |coverage: Value| bent(|value| drop(value.as_object_mut().unwrap().insert("coverage".to_owned(), coverage)));
    for lie in [json!({ "covered": 3, "lines": 2 }), json!({ "covered": 1, "lines": 1, "why": "it is not known" })] {
        assert!(covered(lie).ends_with("more lines are covered than there are."));
    }
    assert!(covered(json!({ "covered": 0.5, "lines": 1 })).contains("does not have the form"));
    let report = |path: &str| {
        let report = json!({ "path": path, "digest": "0".repeat(64), "bytes": 1 });
        covered(json!({ "covered": 1, "lines": 1, "reports": [report] }))
    };
    assert!(report("../lcov.info").contains("../lcov.info"));
    let both = [("/verdict", json!("PASS")), ("/findings", json!([]))];
    assert_eq!(set(&both), "it says PASS, and has what fails a gate.");
}

#[test]
fn lists_are_bounded_and_places_are_inside() {
    let many = |key: &str, count: usize| {
        bent(|value| {
            let one = value[key][0].clone();
            value[key] = Value::Array(vec![one; count]);
        })
    };
    let form = "The artefact does not have the form that it names: it has";
    assert_eq!(many("commands", 41), format!("{form} 41 commands, and 40 are the most."));
    assert_eq!(many("failing", 101), format!("{form} 101 failing tests, and 100 are the most."));
    assert_eq!(many("reports", 1_501), format!("{form} 1501 reports, and 1500 are the most."));
    for path in ["/etc/passwd", "../x", "a/../../x", "", "a\0b"] {
        for pointer in ["/failing/0/path", "/reports/0/path", "/findings/0/path"] {
            let refused = bent(|value| *value.pointer_mut(pointer).unwrap() = json!(path));
            assert!(refused.ends_with("is not a path inside the artefact."), "{pointer} {path}: {refused}");
        }
    }
}

#[test]
fn what_is_shown_is_bounded_and_orders_nobody() {
    let mut artefact = honest();
    let hostile = format!("\u{1b}[2J\u{202e}{}", "x".repeat(9_000));
    artefact.commands[0].command.clone_from(&hostile);
    artefact.commands[0].output.as_mut().unwrap().tail = format!("{hostile}\n").repeat(20);
    let mut test = artefact.failing[0].clone();
    (test.name, test.message, test.path) = (hostile.clone(), hostile.clone(), Some(hostile.clone()));
    artefact.failing = vec![test; 50];
    artefact.flaky = vec![hostile; 50];
    let shown = artefact.shown();
    assert_eq!((shown.failing.len(), shown.more, shown.flaky.len()), (20, 30, 20));
    let command = &shown.commands[0];
    let lines = [&command.text, &command.ended, &shown.failing[0].name, &shown.failing[0].message, &shown.flaky[0]];
    for line in lines.into_iter().chain(shown.failing[0].path.as_ref()) {
        assert!(line.chars().count() <= 300 && !line.contains(char::is_control), "{line}");
    }
    assert!(command.tail.len() <= 4_000 && !command.tail.contains(['\u{1b}', '\u{202e}']));
    assert_eq!(honest().shown().tests.as_deref(), Some("4 tests: 2 passed (1 at a later try), 1 failed, 1 skipped"));
    assert!(!honest().shown().own_policy);
}

/// The longest artefact that a run can make is one that can be read.
#[test]
fn what_is_written_is_never_too_large_to_be_read() {
    let mut artefact = honest();
    let wide = |most: usize| "\"".repeat(most);
    let mut command = artefact.commands[0].clone();
    command.command = wide(4_096);
    command.output.as_mut().unwrap().tail = wide(crate::runner::LONGEST_TAIL);
    artefact.commands = vec![command; MOST_COMMANDS];
    let mut test = artefact.failing[0].clone();
    let emoji = |most: usize| "🦀".repeat(most);
    (test.name, test.suite, test.message, test.details) = (emoji(601), emoji(300), emoji(500), emoji(2_000));
    (test.path, test.report) = (Some(wide(1_024)), wide(1_024));
    artefact.failing = vec![test; MOST_FAILING];
    artefact.flaky = vec![emoji(601); MOST_FAILING];
    let mut report = artefact.reports[0].clone();
    (report.glob, report.path) = (wide(512), Some(wide(1_024)));
    artefact.reports = vec![report; 1_201];
    let finding = crate::finding::Finding::error("VER-01", emoji(1_000), emoji(1_000)).at(wide(1_024), Some(1));
    artefact.findings = vec![finding; 160];
    let text = artefact.text().unwrap();
    assert!(text.len() as u64 <= MOST_BYTES, "{}", text.len());
}
