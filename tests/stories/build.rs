//! BUILD reads what the change adds: what it objects to stands at its line, and is mended there.

use phasegate::rehearsal::{PIPELINE_POLICY, REPO, Rehearsal, Setup, papers};
use serde_json::Value;

use super::proposes;

/// `path:line rule` of each annotation.
fn told(annotations: &[Value]) -> Vec<String> {
    let one = |note: &Value| {
        let title = note["title"].as_str().unwrap_or_default();
        let rule = title.split(|c: char| !(c.is_alphanumeric() || c == '-')).next().unwrap_or_default();
        format!("{}:{} {rule}", note["path"].as_str().unwrap_or_default(), note["start_line"])
    };
    let mut all: Vec<String> = annotations.iter().map(one).collect();
    all.sort();
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_build_objects_to_stands_at_its_line_until_it_is_mended() {
    // The third file is stray, and is not to be one too many.
    let policy = format!("{PIPELINE_POLICY}limits: {{ files_over_design: 5 }}\n");
    let on = Rehearsal::start(Setup::with_policy(&policy)).await.unwrap();
    let number = proposes(&on, "work").await;
    on.says("ada", number, "/expand").await.unwrap();
    let head = on.pushes("rover", "work", "documents", &papers::ALL).await.unwrap();
    on.ci(&head, "success").await.unwrap();
    assert_eq!(on.label(number).unwrap().as_deref(), Some("phase:build"));

    let token = format!("ghp_{}", "aB3dE5fG7".repeat(4));
    let code = format!("TOKEN = \"{token}\"\n\n\ndef dim(level):\n    raise NotImplementedError(\"AC-2\")\n");
    let test = papers::TESTS.replace("AC-2: dimming", "Dimming");
    let files = [("src/dimmer.py", code.as_str()), ("tests/test_dimmer.py", test.as_str()), ("lib/x.py", "x = 1\n")];
    let head = on.pushes("rover", "work", "a first try", &files).await.unwrap();
    on.ci(&head, "success").await.unwrap();
    on.says("rover", number, "/build").await.unwrap();
    let run = on.run(&head, "phasegate/build").unwrap().unwrap();
    assert_eq!(run.conclusion.as_deref(), Some("failure"), "{run:#?}");
    let expected =
        ["lib/x.py:1 BLD-07", "scaffolding/scope.md:15 BLD-03", "src/dimmer.py:1 BLD-04", "src/dimmer.py:5 BLD-08"];
    assert_eq!(told(&run.annotations), expected, "{run:#?}");
    // Nobody who reads it learns the secret.
    let said = format!("{run:?}{:?}{:?}", on.bot_comments(number).unwrap(), on.records(number).unwrap());
    assert!(said.contains("BLD-04") && !said.contains(&token), "{said}");

    let head = on.admin().commit(REPO, "rover", "work", "a second try", &[("lib/x.py", None)]).unwrap();
    on.settle().await.unwrap();
    on.ci(&head, "success").await.unwrap();
    let head = on.pushes("rover", "work", "the dimmer", &papers::CODE).await.unwrap();
    on.ci(&head, "success").await.unwrap();
    assert_eq!(on.label(number).unwrap().as_deref(), Some("phase:review"));

    // After the approval it is judged again, and what keeps it from being built is told where one waits for it.
    let again = [("src/dimmer.py", "def dim(level):\n    pass\n")];
    let head = on.pushes("rover", "work", "less", &again).await.unwrap();
    on.ci(&head, "success").await.unwrap();
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_ne!(on.label(number).unwrap().as_deref(), Some("phase:verified"));
    let comment = on.bot_comments(number).unwrap().join("\n");
    assert!(comment.contains("BLD-08"), "{comment}");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_outgrew_its_design_waits_for_a_person_and_counts_no_attempt() {
    let on = Rehearsal::start(Setup::default()).await.unwrap();
    let number = proposes(&on, "work").await;
    on.says("ada", number, "/expand").await.unwrap();
    on.pushes("rover", "work", "documents", &papers::ALL).await.unwrap();
    on.pushes("rover", "work", "the dimmer", &papers::CODE).await.unwrap();
    let long = "def shine():\n    return 10\n\n\n".repeat(80);
    let head = on.pushes("rover", "work", "more", &[("src/lamp.py", &long)]).await.unwrap();
    on.ci(&head, "success").await.unwrap();
    let comment = on.bot_comments(number).unwrap().join("\n");
    assert!(comment.contains("BRK-02"), "{comment}");
    assert_ne!(on.label(number).unwrap().as_deref(), Some("phase:review"));
    let records = serde_json::to_string(&on.records(number).unwrap()).unwrap();
    assert!(records.contains("trigger_complexity_brake") || records.contains("TriggerComplexityBrake"), "{records}");
    assert!(!records.contains("\"gate\":\"build\",\"kind\":\"judged\",\"verdict\":\"fail\""), "{records}");

    on.says("ada", number, "/brake-resolved fine").await.unwrap();
    assert_ne!(on.label(number).unwrap().as_deref(), Some("phase:review"), "it is not hers to say");
    on.says("mia", number, "/brake-resolved it has to be that long").await.unwrap();
    assert_eq!(on.label(number).unwrap().as_deref(), Some("phase:review"));
    on.end().await;
}
