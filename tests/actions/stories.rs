//! A change from `/expand` to its merge, without a server.

use std::sync::Arc;

use phasegate::gate::merge::CHECK_NAME;
use phasegate::rehearsal::{Bot, REPO, Rehearsal, Setup, papers};
use serde_json::{Value, json};

use crate::act::{Act, GATES, Place, Run, said, template};
use crate::bad_input::pulled;

/// What proves a change here.
pub(crate) const TEST: &str = "! grep -qr broken src\n";

/// A template's files, the policy first, set up as a gate with phases.
pub(crate) fn phased(name: &str) -> Vec<(String, String)> {
    let mut files = template(name);
    let policy = &mut files[0].1;
    let none = "{ none: it is a lamp }";
    let told =
        format!("  verify:\n    security: {{ dependencies: {none}, injection: {none}, authentication: {none} }}\n");
    for (from, to) in [
        ("enforce: observe\n", ""),
        ("flow: merge", "flow: pipeline"),
        ("make test", "sh test.sh"),
        ("  verify:\n", told.as_str()),
    ] {
        assert!(policy.contains(from), "the template has no `{from}` any more");
        *policy = policy.replace(from, to);
    }
    files
}

/// A stage whose repository was made from a template.
async fn made_from(name: &str, bot: Bot) -> (Rehearsal, Arc<Act>) {
    let act = Arc::new(Act::new());
    let setup = setup(name, bot, &[]);
    (Rehearsal::start(Setup { runner: Some(act.clone()), ..setup }).await.unwrap(), act)
}

fn setup(name: &str, bot: Bot, more: &[(&str, &str)]) -> Setup {
    let mut files = phased(name);
    let (_, policy) = files.remove(0);
    let code = [("test.sh", TEST), ("src/lamp.py", "def shine(): pass\n")];
    files.extend(code.iter().chain(more).map(|(path, text)| ((*path).to_owned(), (*text).to_owned())));
    Setup { bot, files, ..Setup::with_policy(&policy) }
}

/// The referee's pages have what the gates left, of those that failed and of those that passed.
fn claims_are_shown(act: &Act) {
    let pages = act.summaries();
    let has = |words: &[&str]| pages.iter().any(|page| words.iter().all(|word| page.contains(word)));
    let command = "`sh test.sh`: ";
    assert!(has(&["### ❌ verify, as its run tells it", command, "ended with exit status 1"]), "{pages:#?}");
    assert!(has(&["### ✅ verify, as its run tells it", command, "passed after"]), "{pages:#?}");
    assert!(!has(&["left nothing to show"]) && !has(&["is not shown"]), "{pages:#?}");
}

const BRANCH: &str = "agent/dimmer";

/// The agent writes something, its gates run, and the change is where it is to be.
async fn writes(on: &Rehearsal, number: u64, files: &[(&str, &str)], label: &str) {
    on.pushes("rover", BRANCH, "work", files).await.unwrap();
    stands(on, number, label);
}

fn stands(on: &Rehearsal, number: u64, label: &str) {
    assert_eq!(on.label(number).unwrap().as_deref(), Some(label), "{:#?}", on.bot_comments(number));
}

/// How the agent hands in the documents of the first three phases.
enum Documents {
    OneByOne,
    Together,
}

/// A pull request from `/expand` to its green: the documents of the phases, code that fails and is mended, a review.
async fn walks(on: &Rehearsal, documents: Documents) -> u64 {
    on.pushes("rover", BRANCH, "an idea", &[("docs/input/idea.md", "A dimmer would be nice.\n")]).await.unwrap();
    let number = on.opens("rover", "Add a dimmer", BRANCH).await.unwrap();
    stands(on, number, "phase:start");
    on.says("ada", number, "/expand a dimmer for the lantern").await.unwrap();
    stands(on, number, "phase:expand");
    assert_eq!(on.merge_check(number).unwrap().as_deref(), Some("action_required"));
    match documents {
        Documents::OneByOne => {
            writes(on, number, &papers::of("scaffolding/scope.md"), "phase:design").await;
            writes(on, number, &papers::of("scaffolding/design.md"), "phase:analyze").await;
            writes(on, number, &papers::of("scaffolding/readiness.md"), "phase:build").await;
        }
        Documents::Together => writes(on, number, &papers::ALL, "phase:build").await,
    }
    writes(on, number, &[("src/dimmer.py", "broken\n")], "phase:build").await;
    assert_eq!(on.merge_check(number).unwrap().as_deref(), Some("failure"), "{:#?}", on.bot_comments(number));
    writes(on, number, &papers::CODE, "phase:review").await;
    assert_eq!(on.merge_check(number).unwrap().as_deref(), Some("action_required"), "{:#?}", on.bot_comments(number));
    on.says("ada", number, "/status").await.unwrap();
    assert_eq!(on.bot_comments(number).unwrap().len(), 2, "the answer stands under the comment");
    on.reviews("mia", number, "APPROVE").await.unwrap();
    stands(on, number, "phase:verified");
    number
}

#[tokio::test]
async fn with_an_apps_key_it_is_a_gate() {
    let (on, act) = made_from("action", Bot::Action).await;
    let number = walks(&on, Documents::OneByOne).await;
    claims_are_shown(&act);
    let run = on.run(&on.head(number).unwrap(), CHECK_NAME).unwrap().unwrap();
    assert_eq!((run.conclusion.as_deref(), run.title.as_deref()), (Some("success"), Some("May merge")));
    on.merges("ada", number).await.unwrap().unwrap();
    on.end().await;
}

#[tokio::test]
async fn with_the_workflows_token_it_is_advice_and_says_so() {
    let (on, act) = made_from("advisory", Bot::Advisory).await;
    let number = walks(&on, Documents::Together).await;
    claims_are_shown(&act);
    let run = on.run(&on.head(number).unwrap(), CHECK_NAME).unwrap().unwrap();
    assert_eq!((run.conclusion.as_deref(), run.title.as_deref()), (Some("success"), Some("Advisory: May merge")));
    let comment = on.bot_comments(number).unwrap().remove(0);
    // The names of the table's steps are in the diagram below it, and those of the policy's keys are code.
    let shown = comment.split("<details>").next().unwrap_or_default().to_lowercase();
    let small = shown.split('`').step_by(2).collect::<String>().replace("phasegate", "");
    assert!(comment.contains("Advisory:") && !small.contains("gate"), "it is called what it is not: {comment}");
    on.end().await;
}

/// A step after the gate that keeps what it was given.
const OUTPUTS: &str = r#"on: pull_request
jobs:
  verify:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
      - id: gate
        continue-on-error: true
        uses: phasegate/phasegate@0000000000000000000000000000000000000000
        with:
          command: run
          gate: verify
          out: ${{ runner.temp }}/phasegate-verify
      - shell: bash
        env:
          VERDICT: ${{ steps.gate.outputs.verdict }}
          REASON: ${{ steps.gate.outputs.reason }}
          JSON: ${{ steps.gate.outputs.json }}
          OTHERS: ${{ steps.gate.outputs.phase }}${{ steps.gate.outputs.change }}
        run: |
          mkdir -p "$PHASEGATE_TEST_ARTIFACTS"
          printf '%s\n' "$VERDICT" "$REASON" "$OTHERS" "$JSON" > "$PHASEGATE_TEST_ARTIFACTS/$GITHUB_RUN_ID.given"
"#;

#[tokio::test]
async fn the_steps_after_a_gate_are_given_its_verdict() {
    let workflow = ".github/workflows/outputs.yml";
    let on = Rehearsal::start(setup("action", Bot::Action, &[(workflow, OUTPUTS)])).await.unwrap();
    let act = Act::new();
    let cases = [
        ("bad", "broken\n", "FAIL", "VER-01 `sh test.sh` ended with exit status 1"),
        ("good", "def dim(level): pass\n", "PASS", "Each command passed"),
    ];
    for (id, (branch, text, verdict, reason)) in (900..).zip(cases) {
        on.admin().commit(REPO, "rover", branch, "work", &[("src/dimmer.py", Some(text))]).unwrap();
        let number = on.admin().open_pull(REPO, "rover", "Dim", branch, "main").unwrap();
        let (payload, head) = (pulled(&on, number, "opened"), on.head(number).unwrap());
        let run = Run { event: "pull_request", workflow, payload, at: head.as_str(), id };
        let ended = act.run(&Place::of(&on).unwrap(), &run).await.unwrap();
        assert!(ended.status.success(), "{}", said(&ended));
        let given = std::fs::read_to_string(act.artifacts().join(format!("{id}.given"))).unwrap();
        let lines: Vec<&str> = given.lines().collect();
        assert_eq!((lines[0], lines[2]), (verdict, ""), "{given}");
        assert!(lines[1].starts_with(reason), "{given}");
        let object: Value = serde_json::from_str(lines[3]).unwrap();
        assert_eq!((&object["schema"], &object["verdict"]), (&json!("phasegate/run@1"), &json!(verdict)));
        assert_eq!(object["subject"]["head"], head.as_str());
    }
    on.end().await;
}

/// As on a server that has no place for artefacts, or on a day when GitHub's is out of order.
#[tokio::test]
async fn without_a_place_for_artefacts_the_gate_is_what_its_commands_are() {
    let on = Rehearsal::start(setup("action", Bot::Action, &[])).await.unwrap();
    let act = Act::new();
    std::fs::write(act.artifacts(), "no folder").unwrap();
    on.admin().commit(REPO, "rover", "work", "work", &[("src/dimmer.py", Some("def dim(level): pass\n"))]).unwrap();
    let number = on.admin().open_pull(REPO, "rover", "Dim", "work", "main").unwrap();
    let (payload, head) = (pulled(&on, number, "opened"), on.head(number).unwrap());
    let place = Place::of(&on).unwrap();
    let run = Run { event: "pull_request", workflow: GATES, payload: payload.clone(), at: head.as_str(), id: 900 };
    let ended = act.run(&place, &run).await.unwrap();
    assert!(ended.status.success() && said(&ended).contains("Failed but continue"), "{}", said(&ended));
    assert!(act.summary(900).contains("✅ VERIFY passed"), "{}", act.summary(900));

    let run = json!({ "id": 900, "run_attempt": 1, "head_sha": head, "head_branch": "work", "path": GATES });
    let told = json!({ "action": "completed", "workflow_run": run, "repository": payload["repository"],
        "sender": payload["sender"] });
    act.referees(&place, "workflow_run", told, 901).await.unwrap();
    assert!(act.summary(901).contains("left nothing to show"), "{}", act.summary(901));
    on.end().await;
}
