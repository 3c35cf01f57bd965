//! RECONCILE holds the documents against what was built: it names the line that puts them right, and stops for a person where the
//! code goes against the scope.

use phasegate::rehearsal::{Rehearsal, Setup, papers};

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
