use pulldown_cmark::{Event, Options, Parser};
use serde_json::{Value, json};

use super::*;
use crate::ids::CommitId;
use crate::runner::artefact::{FILE, sample};

/// What a fork may write into its artefact to be read on the page of a job that is not its own.
const EVIL: &str =
    "a` **✅ May merge** [ok](https://evil.example) <img src=https://evil.example/x.png> &lt;b&gt; @ada ::error::x ``";

fn after() -> WorkflowRun {
    let head_sha = CommitId::new("a".repeat(40)).unwrap();
    WorkflowRun { id: 99, run_attempt: 2, head_sha, path: format!("{GATES}@refs/heads/main") }
}

/// The summary's part of a folder whose `phasegate-verify` has this in it.
fn told(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("phasegate-verify");
    std::fs::create_dir(&at).unwrap();
    std::fs::write(at.join(FILE), text).unwrap();
    shown(folder.path(), &"octo/lamp".parse().unwrap(), &after()).concat()
}

/// The words of a page that are not code, once nothing in it is found that acts.
fn dead(page: &str) -> String {
    let mut words = String::new();
    for event in Parser::new_ext(page, Options::all()) {
        match event {
            Event::Start(tag) => {
                let tag = format!("{tag:?}");
                let acts = ["Link", "Image", "Html", "Strong", "Emphasis", "Strikethrough", "Table", "CodeBlock"];
                assert!(!acts.iter().any(|one| tag.starts_with(one)), "{tag} in {page}");
            }
            Event::Html(html) | Event::InlineHtml(html) => panic!("{html} in {page}"),
            Event::Text(text) => words.push_str(&text),
            _ => {}
        }
    }
    words
}

fn is_dead(page: &str) {
    let words = dead(page);
    for word in ["evil", "May merge", "@ada", "::error::"] {
        assert!(!words.contains(word), "`{word}` is not code in {page}");
    }
}

#[test]
fn nothing_of_an_artefact_that_is_refused_acts_on_the_page() {
    let honest = serde_json::to_value(sample()).unwrap();
    let bent = |pointer: &str, to: Value| {
        let mut value = honest.clone();
        *value.pointer_mut(pointer).unwrap() = to;
        value.to_string()
    };
    let key = json!(EVIL);
    let cases = [
        (json!({ "schema": EVIL }).to_string(), "is of the form `a' "),
        (json!({ "schema": format!("phasegate/run@2{EVIL}") }).to_string(), "is of the form `phasegate/run"),
        (format!("{{{key}: 1, {key}: 2}}"), "has the key `a' "),
        (bent("/verdict", json!(EVIL)), "the form that it names: `unknown variant"),
        (bent("/gate", json!(EVIL)), "the form that it names: `unknown variant"),
        (bent("/subject/repository", json!(EVIL)), "the form that it names: `"),
        (bent("/failing/0/path", json!(format!("../{EVIL}"))), "is not a path inside the artefact"),
        (
            bent("/commands/0/command", json!(EVIL)).replace("\"status\":0", "\"status\":null"),
            "does not end as it is said to",
        ),
        (
            bent("/reports/0/path", json!(EVIL)).replace("\"passed\":2", "\"passed\":3"),
            "are not the sum of how they ended",
        ),
        (format!("{EVIL}{}", "x".repeat(900)), "is not JSON"),
    ];
    for (text, why) in cases {
        let page = told(&text);
        assert!(page.contains("is not shown") && page.contains(why), "{why}: {page}");
        is_dead(&page);
    }
}

#[test]
fn nothing_of_an_artefact_that_is_shown_acts_on_the_page() {
    let mut artefact = sample();
    let evil = || EVIL.to_owned();
    (artefact.commands[0].command, artefact.failing[0].name) = (evil(), evil());
    (artefact.failing[0].message, artefact.failing[0].path) = (evil(), Some(evil()));
    artefact.flaky = vec![evil(), String::new()];
    let mut unstarted = artefact.commands[0].clone();
    (unstarted.outcome, unstarted.status) = (artefact::CommandOutcome::NotStarted, None);
    (unstarted.why, unstarted.output) = (Some(evil()), None);
    artefact.commands.push(unstarted);
    let page = told(&artefact.text().unwrap());
    for word in ["verify, as its run tells it", "could not be started: `a'", "Passed only when tried again: `a'"] {
        assert!(page.contains(word), "{word}: {page}");
    }
    assert_eq!(page.matches("evil.example/x.png").count(), 7, "{page}");
    is_dead(&page);
}

/// What `artifacts` is said to name in `action.yml` and docs/action.md, and nothing else.
#[test]
fn only_folders_of_the_gates_names_are_looked_into() {
    let folder = tempfile::tempdir().unwrap();
    let text = sample().text().unwrap();
    let slug = "octo/lamp".parse().unwrap();
    let all = || shown(folder.path(), &slug, &after()).concat();
    // Without a folder of its name it may be anybody's.
    std::fs::write(folder.path().join(FILE), &text).unwrap();
    std::fs::create_dir(folder.path().join("phasegate-other")).unwrap();
    std::fs::write(folder.path().join("phasegate-other").join(FILE), &text).unwrap();
    let page = all();
    for word in
        ["left nothing to show", "`phasegate-verify` is not there", "`if: always()`", "into a folder of that name"]
    {
        assert!(page.contains(word), "{word}: {page}");
    }
    // Nobody expects anything of other workflows.
    let other = WorkflowRun { path: ".github/workflows/phasegate-review.yml".to_owned(), ..after() };
    assert!(shown(folder.path(), &slug, &other).is_empty());
    std::fs::write(folder.path().join("phasegate-verify"), &text).unwrap();
    let page = all();
    assert!(page.contains("phasegate-verify` is a file, and not a folder. Let the step that downloads"), "{page}");
    std::fs::remove_file(folder.path().join("phasegate-verify")).unwrap();
    for name in ["phasegate-verify", "phasegate-build"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
        std::fs::write(folder.path().join(name).join(FILE), &text).unwrap();
    }
    let page = all();
    assert!(
        page.contains("verify, as its run tells it") && page.contains("is of the gate verify, and not of build"),
        "{page}"
    );
}
