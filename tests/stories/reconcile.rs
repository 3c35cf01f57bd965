//! RECONCILE holds the documents against what was built: it names the line that puts them right, and stops for a person where the
//! code goes against the scope.

use phasegate::rehearsal::{PIPELINE_POLICY, Rehearsal, Setup, papers};

use serde_json::json;

use super::{assert_merge, proposes};

/// `rover`'s change with these papers and files in place of the good ones, built and approved.
async fn approved(on: &Rehearsal, others: &[(&str, &str)]) -> u64 {
    let number = proposes(on, "work").await;
    on.says("ada", number, "/expand").await.unwrap();
    let all = papers::ALL.iter().chain(&papers::CODE);
    let files: Vec<(&str, &str)> = all
        .map(|(path, text)| others.iter().find(|(other, _)| other == path).copied().unwrap_or((*path, *text)))
        .collect();
    let head = on.pushes("rover", "work", "the dimmer", &files).await.unwrap();
    on.ci(&head, "success").await.unwrap();
    on.reviews("mia", number, "APPROVE").await.unwrap();
    number
}

async fn pushes(on: &Rehearsal, number: u64, files: &[(&str, &str)]) {
    let head = on.pushes("rover", "work", "puts it right", files).await.unwrap();
    on.ci(&head, "success").await.unwrap();
    on.reviews("mia", number, "APPROVE").await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_that_are_out_of_step_are_put_right_by_the_line_that_is_named() {
    let on = Rehearsal::start(Setup::default()).await.unwrap();
    let readiness = papers::READINESS.replace("tests/test_dimmer.py::test_dark", "tests/test_dark.py::test_dark");
    let number = approved(&on, &[("scaffolding/readiness.md", &readiness)]).await;
    let head = on.head(number).unwrap();
    let run = on.run(&head, "phasegate/reconcile").unwrap().unwrap();
    assert_eq!(run.conclusion.as_deref(), Some("action_required"), "{run:#?}");
    let line = readiness.lines().position(|line| line.contains("test_dark.py")).unwrap() + 1;
    let here = |note: &serde_json::Value| {
        note["path"] == "scaffolding/readiness.md" && note["start_line"] == u64::try_from(line).unwrap()
    };
    assert!(run.annotations.iter().any(here), "{run:#?}");
    let comment = on.bot_comments(number).unwrap().join("\n");
    assert!(comment.contains("Structural drift") && comment.contains("tests/test_dimmer.py"), "{comment}");
    assert!(on.escalations().unwrap().is_empty(), "nobody is asked for what a push puts right");

    pushes(&on, number, &[("scaffolding/readiness.md", papers::READINESS)]).await;
    assert_eq!(on.label(number).unwrap().as_deref(), Some("phase:verified"));
    assert_merge(&on, number, "success");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_goes_against_the_scope_waits_for_a_person_and_for_a_scope_that_has_it() {
    let on = Rehearsal::start(Setup::default()).await.unwrap();
    let put_off = papers::SCOPE.replace("- Fading from one", "- AC-3: within 2 s, fading from one");
    let tests =
        format!("{}\n\ndef test_fades():\n    \"\"\"AC-3: fading.\"\"\"\n    assert dim(1) == 0\n", papers::TESTS);
    let number = approved(&on, &[("scaffolding/scope.md", &put_off), ("tests/test_dimmer.py", &tests)]).await;
    assert_eq!(on.label(number).unwrap().as_deref(), Some("phase:blocked"));
    let issue = on.escalations().unwrap().pop().unwrap();
    let asked = issue.body.unwrap_or_default();
    assert!(asked.contains("REC-08") && asked.contains("AC-3"), "{asked}");

    // It is taken into the scope, with all that belongs to a criterion.
    let scope = papers::SCOPE
        .replace("with zero errors.\n", "with zero errors.\n- AC-3: fading takes 2 s at most.\n")
        .replace("- Fading from one level to the next.", "none");
    let row = |text: &str, after: &str, more: &str| text.replacen(after, &format!("{after}{more}"), 1);
    let readiness = row(
        papers::READINESS,
        "print(dimmer.dim(0))'` prints `0` |\n",
        "| AC-3 | Interfaces | `tests/test_dimmer.py::test_fades` | `$ cd src && python3 -c 'import dimmer; print(dimmer.dim(1))'` prints `0` |\n",
    );
    let readiness = row(
        &readiness,
        "| AC-2 | no step from 0 | `$ cd src && python3 -c 'import dimmer; print(dimmer.dim(0))'` |\n",
        "| AC-3 | from 1 | `$ cd src && python3 -c 'import dimmer; print(dimmer.dim(1))'` |\n",
    );
    let readiness = row(&readiness, "2. AC-2: the end of the steps.\n", "3. AC-3: fading.\n");
    on.says("mia", number, "/unblock it is part of this, with a scope that says so").await.unwrap();
    pushes(&on, number, &[("scaffolding/scope.md", &scope), ("scaffolding/readiness.md", &readiness)]).await;
    assert_eq!(on.label(number).unwrap().as_deref(), Some("phase:verified"), "{:?}", on.bot_comments(number).unwrap());
    assert_merge(&on, number, "success");
    on.end().await;
}

/// The policy lets the bot write: it commits the line to the branch, and what was passed and approved before stands.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn by_policy_the_bot_puts_the_documents_right_itself_and_nothing_goes_stale() {
    let policy = PIPELINE_POLICY.replacen("gates:\n", "gates:\n  reconcile: { repairs: commit }\n", 1);
    let on = Rehearsal::start(Setup::with_policy(&policy)).await.unwrap();
    let readiness = papers::READINESS.replace("tests/test_dimmer.py::test_dark", "tests/test_dark.py::test_dark");
    let number = approved(&on, &[("scaffolding/readiness.md", &readiness)]).await;
    let head = on.head(number).unwrap();
    let commit = on.does("mia", "GET", &format!("/git/commits/{head}"), json!({})).await.unwrap();
    let (by, message) = (&commit["author"]["name"], commit["message"].as_str().unwrap());
    assert!(message.starts_with("docs: put scaffolding/readiness.md in step with the code\n"), "{message}");
    assert!(by.as_str().unwrap().ends_with("[bot]"), "{by}");
    let blob = async |head: &str, path: &str| {
        let file = on.does("mia", "GET", &format!("/contents/{path}?ref={head}"), json!({})).await.unwrap();
        file["sha"].as_str().unwrap().to_owned()
    };
    let right = git2::Oid::hash_object(git2::ObjectType::Blob, papers::READINESS.as_bytes()).unwrap().to_string();
    assert_eq!(
        blob(&head, "scaffolding/readiness.md").await,
        right,
        "the whole document, with the line that was wrong"
    );
    assert_eq!(
        blob(&head, "src/dimmer.py").await,
        blob(commit["parents"][0]["sha"].as_str().unwrap(), "src/dimmer.py").await
    );
    let at = |label: &str| {
        assert_eq!(on.label(number).unwrap().as_deref(), Some(label), "{}", on.status_comment(number).unwrap().body)
    };

    // It waits for the checks of the new commit, and for nothing else: nobody reviews again.
    at("phase:reconcile");
    on.ci(&head, "success").await.unwrap();
    at("phase:verified");
    assert_merge(&on, number, "success");
    let steps = super::evidence::bodies(&on, number, "step");
    assert!(steps.iter().any(|step| step["body"]["action"] == "ReconcileRepaired"), "{steps:#?}");

    // Beside other content it is somebody's edit, also the very same words.
    let other = on.pushes(
        "rover",
        "work",
        "dim twice",
        &[("src/dimmer.py", "def dim(level):\n    return max(0, level - 2)\n")],
    );
    let other = other.await.unwrap();
    on.ci(&other, "success").await.unwrap();
    assert_merge(&on, number, "action_required");
    on.force_pushes("rover", "work", &head).await.unwrap();
    assert_merge(&on, number, "success");

    // What somebody writes over it is theirs.
    let more = format!("{}\nAnd more.\n", papers::READINESS);
    let head = on.pushes("rover", "work", "more", &[("scaffolding/readiness.md", &more)]).await.unwrap();
    on.ci(&head, "success").await.unwrap();
    assert_merge(&on, number, "action_required");

    // Where the old words were approved for something else, the bot's own are an edit of them like any other.
    let dark =
        "from src.dimmer import dim\n\n\ndef test_dark():\n    \"\"\"AC-2: dark.\"\"\"\n    assert dim(0) == 0\n";
    pushes(&on, number, &[("scaffolding/readiness.md", &readiness), ("tests/test_dark.py", dark)]).await;
    assert_merge(&on, number, "success");
    let words = &[("scaffolding/readiness.md", papers::READINESS)];
    let head = on.pushes("rover", "work", "the bot's words", words).await.unwrap();
    on.ci(&head, "success").await.unwrap();
    assert_merge(&on, number, "action_required");
    on.end().await;
}

/// By default it only says how, in a form that `git apply` takes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_patch_that_is_shown_can_be_applied() {
    let on = Rehearsal::start(Setup::default()).await.unwrap();
    let readiness = papers::READINESS.replace("tests/test_dimmer.py::test_dark", "tests/test_dark.py::test_dark");
    let number = approved(&on, &[("scaffolding/readiness.md", &readiness)]).await;
    let comment = on.status_comment(number).unwrap().body;
    let (_, patch) = comment.split_once("diff\n").unwrap();
    let (patch, _) = patch.split_once("\n```").unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("scaffolding")).unwrap();
    std::fs::write(folder.path().join("scaffolding/readiness.md"), &readiness).unwrap();
    std::fs::write(folder.path().join("a.patch"), format!("{patch}\n")).unwrap();
    let applied =
        std::process::Command::new("git").current_dir(folder.path()).args(["apply", "a.patch"]).output().unwrap();
    assert!(applied.status.success(), "{}\n{patch}", String::from_utf8_lossy(&applied.stderr));
    let now = std::fs::read_to_string(folder.path().join("scaffolding/readiness.md")).unwrap();
    assert_eq!(now, papers::READINESS);
    on.end().await;
}

/// VERIFY fails where it is claimed before anybody has looked at the security of the change; what is pushed then, and looked at with
/// every push, is held against that failure.
async fn fixed_by(fix: &[(&str, &str)]) -> bool {
    let policy: Vec<&str> = PIPELINE_POLICY.lines().filter(|line| !line.contains("authentication")).collect();
    let mut setup = Setup::with_policy(&format!("{}\n", policy.join("\n")));
    setup.files = vec![("requirements.txt".to_owned(), "attrs==23.1.0\n".to_owned())];
    let on = Rehearsal::start(setup).await.unwrap();
    let number = approved(&on, &[]).await;
    on.says("ada", number, "/verify").await.unwrap();
    let comment = on.status_comment(number).unwrap().body;
    assert!(comment.contains("FAIL 1 of 3"), "{comment}");

    // In two pushes, so that the second could be taken for all of it.
    let head = on.pushes("rover", "work", "mends it", fix).await.unwrap();
    on.ci(&head, "success").await.unwrap();
    let more = [("src/lamp.py", "def shine():\n    # As bright as it gets.\n    return 10\n")];
    let head = on.pushes("rover", "work", "and says so", &more).await.unwrap();
    on.ci(&head, "success").await.unwrap();
    assert_eq!(on.label(number).unwrap().as_deref(), Some("phase:verify"));
    let looked = json!({ "event": "APPROVE", "body": "```phasegate-review\naxes: [security]\n```\n" });
    on.does("mia", "POST", &format!("/pulls/{number}/reviews"), looked).await.unwrap();
    on.settle().await.unwrap();
    assert_eq!(
        on.label(number).unwrap().as_deref(),
        Some("phase:verified"),
        "{:?}",
        on.status_comment(number).unwrap()
    );
    assert_merge(&on, number, "success");
    let records = serde_json::to_string(&on.records(number).unwrap()).unwrap();
    assert!(records.contains("PassVerifyGate"), "{records}");
    on.end().await;
    records.contains("VerifyFixReconcile")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fix_with_a_new_file_interface_or_dependency_is_reconciled_before_verify_passes() {
    assert!(fixed_by(&[("src/shade.py", "def shade(level):\n    return level // 2\n")]).await, "a new file");
    let interface = "def dim(level, step=1):\n    return max(0, level - step)\n";
    assert!(fixed_by(&[("src/dimmer.py", interface)]).await, "another interface");
    assert!(fixed_by(&[("requirements.txt", "attrs==23.2.0\n")]).await, "another dependency");
    let small = "def dim(level):\n    lower = level - 1\n    return max(0, lower)\n";
    assert!(!fixed_by(&[("src/dimmer.py", small)]).await, "an honest small fix goes straight on");
}
