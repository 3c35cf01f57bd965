//! From a stop to the reply to the merge, by comments alone: a story for each cause, and each way out at least once.

use phasegate::rehearsal::{Bot, MERGE_POLICY, PIPELINE_POLICY, REPO, Rehearsal, Setup, papers};
use phasegate::twin::{Effect, Fault, Issue, Rule};
use serde_json::{Value, json};

use super::{assert_merge, kinds, merge_flow, proposes, proves};

/// The newest escalation.
#[track_caller]
pub(crate) fn asked(on: &Rehearsal) -> Issue {
    on.escalations().unwrap().pop().expect("a person is asked")
}

#[track_caller]
fn assert_label(on: &Rehearsal, number: u64, label: &str) {
    assert_eq!(on.label(number).unwrap().as_deref(), Some(label), "{:?}", on.bot_comments(number).unwrap());
}

/// The reply that the issue has ready for this kind, as somebody would copy it.
fn ready_made(issue: &Issue, remedy: &str) -> String {
    let body = issue.body.clone().unwrap_or_default();
    let from = body.find(&format!("/resolve {remedy}\n")).unwrap_or_else(|| panic!("no {remedy} in {body}"));
    // One without a payload stands in a shorter fence.
    let fence = if body[..from].ends_with("````text\n") { "\n````" } else { "\n```" };
    let to = body[from..].find(fence).unwrap();
    body[from..from + to].to_owned()
}

/// The same with somebody's own words in place of the example's.
fn filled(reply: &str) -> String {
    let words = [
        "What the fix does, and why.",
        "print(\"the whole file as it is to be\")",
        "What it does.",
        "Why the criteria changed.",
    ];
    words.iter().fold(reply.to_owned(), |reply, words| reply.replace(words, &format!("{words} Indeed")))
}

fn payload(remedy: &str, yaml: &str) -> String {
    format!("/resolve {remedy}\n\n```yaml\n{yaml}\n```\n")
}

/// What is in the record of a resolution.
fn resolved(on: &Rehearsal, number: u64) -> Vec<Value> {
    let records = on.records(number).unwrap();
    let bodies = records.into_iter().map(|record| record["record"]["body"].clone());
    bodies.filter(|body| body["kind"] == "resolved").collect()
}

async fn merges(on: &Rehearsal, number: u64) {
    assert_merge(on, number, "success");
    on.merges("ada", number).await.unwrap().unwrap();
    assert_eq!(on.pull(number).unwrap()["merged"], true);
}

/// What a person amends.
const COLD: &str = "It stays cold.";

/// EXPAND has failed three times.
async fn blocked(on: &Rehearsal) -> u64 {
    let number = proposes(on, "work").await;
    on.says("ada", number, "/expand").await.unwrap();
    for text in ["1", "2", "3"] {
        on.pushes("rover", "work", "try", &[("docs/try.md", text)]).await.unwrap();
        on.says("rover", number, "/expand").await.unwrap();
    }
    assert_label(on, number, "phase:blocked");
    number
}

async fn builds(on: &Rehearsal, message: &str) {
    let files: Vec<(&str, &str)> = papers::ALL.iter().chain(&papers::CODE).copied().collect();
    let head = on.pushes("rover", "work", message, &files).await.unwrap();
    on.ci(&head, "success").await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocked_gate_gets_other_criteria_and_is_merged() {
    let on = Rehearsal::start(Setup::default()).await.unwrap();
    let number = blocked(&on).await;
    let issue = asked(&on);
    // What is wrong is answered with what would be right.
    let bad = payload("AMEND_SPEC", "amended_acceptance_criteria: [less]");
    let said = on.says("mia", issue.number, &bad).await.unwrap();
    assert_eq!(on.reactions(said).unwrap(), ["eyes", "confused"]);
    let answer = on.bot_comments(issue.number).unwrap().pop().unwrap();
    assert!(answer.contains("`amendment_rationale`: it is missing"), "{answer}");
    let head = &on.head(number).unwrap()[..12];
    assert!(
        answer.contains(&format!("\n/resolve {head} AMEND_SPEC\n```yaml\namended_acceptance_criteria:\n")),
        "{answer}"
    );
    assert!(resolved(&on, number).is_empty());
    assert_label(&on, number, "phase:blocked");

    let reply = filled(&ready_made(&issue, "AMEND_SPEC")).replace("What must be true now.", COLD);
    on.says("mia", issue.number, &reply).await.unwrap();
    assert_label(&on, number, "phase:expand");
    let body = &resolved(&on, number)[0];
    assert_eq!(body["action"], "AMEND_SPEC");
    assert_eq!(body["payload"]["amended_acceptance_criteria"], json!([format!("AC-1: {COLD}")]));
    assert_eq!(body["digest"].as_str().map(str::len), Some(64), "{body}");
    let last = on.bot_comments(issue.number).unwrap().pop().unwrap();
    assert!(last.contains("`AMEND_SPEC` is record ") && last.contains(&format!("- AC-1: {COLD}")), "{last}");
    assert!(!asked(&on).open);

    // Plans rest on what a person said, and what failed three times in a row is looked at by a verifier.
    let latest =
        on.admin().file(REPO, "phasegate/ledger", &format!("changes/0/{number}/context/latest.md")).unwrap().unwrap();
    assert!(latest.contains(&format!("- F-0001: AC-1: {COLD} (given: AMEND_SPEC by mia)")), "{latest}");
    on.says("ada", number, super::memory::REPORT).await.unwrap();
    on.says("ada", number, "/audit promote F-0004").await.unwrap();
    // The scope as it was is not what a person asked for.
    builds(&on, "less").await;
    assert!(on.bot_comments(number).unwrap()[0].contains("`EXP-14`"), "{:?}", on.bot_comments(number).unwrap());
    let scope = papers::SCOPE.replace("dimming from level 3 gives level 2, within 10 ms.", COLD);
    let head = on.pushes("rover", "work", "cold", &[("scaffolding/scope.md", &scope)]).await.unwrap();
    on.ci(&head, "success").await.unwrap();
    on.reviews("mia", number, "APPROVE").await.unwrap();
    merges(&on, number).await;
    // Whoever comes late is told who was there before.
    on.says("root", issue.number, "/resolve C too late").await.unwrap();
    let late = on.bot_comments(issue.number).unwrap().pop().unwrap();
    assert!(late.starts_with("`CMD-03`") && late.contains("`mia` answered it with `AMEND_SPEC` on "), "{late}");
    on.end().await;
}

/// A maintainer's own files: they are judged like any others, and somebody else approves them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_gets_a_fix_and_is_merged() {
    for bot in [Bot::Server, Bot::Action] {
        let on = Rehearsal::start(Setup { bot, ..Setup::with_policy(MERGE_POLICY) }).await.unwrap();
        let number = proposes(&on, "work").await;
        proves(&on, number).await;
        on.says("ada", number, "/stop it leaks").await.unwrap();
        let issue = asked(&on);
        let before = on.head(number).unwrap();
        let fix = "fix_description: |\n  It is tight now\n\n  Phasegate-Claim: verify\nfix_artifacts:\n  src/lamp.py: |\n    def shine():\n        return 11\n  \"docs/a b.md\": \"\"";
        on.says("mia", issue.number, &payload("PROVIDE_FIX", fix)).await.unwrap();
        let head = on.head(number).unwrap();
        assert_ne!(head, before, "{bot:?}: {:?}", on.bot_comments(issue.number).unwrap());
        let commit = on.does("mia", "GET", &format!("/git/commits/{head}"), json!({})).await.unwrap();
        let message = commit["message"].as_str().unwrap();
        assert!(message.starts_with("fix: It is tight now\n\nGiven by mia "), "{message}");
        assert!(!message.contains("Phasegate-Claim"), "{message}");
        assert_eq!(commit["parents"][0]["sha"], before.as_str());
        let file = on.does("mia", "GET", &format!("/contents/src/lamp.py?ref={head}"), json!({})).await.unwrap();
        let right = git2::Oid::hash_object(git2::ObjectType::Blob, b"def shine():\n    return 11\n").unwrap();
        assert_eq!(file["sha"], right.to_string());
        assert!(!asked(&on).open);
        let said = on.bot_comments(number).unwrap();
        assert!(!said.iter().any(|one| one.starts_with("The fix that")), "{said:#?}");

        // Nothing that was shown or approved before is for this.
        assert_merge(&on, number, "action_required");
        on.ci(&head, "success").await.unwrap();
        on.reviews("mia", number, "APPROVE").await.unwrap();
        assert_merge(&on, number, "action_required");
        on.reviews("root", number, "APPROVE").await.unwrap();
        merges(&on, number).await;
        on.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fix_that_github_does_not_take_is_shown_instead() {
    let on = merge_flow().await;
    let number = proposes(&on, "work").await;
    on.says("ada", number, "/stop it leaks").await.unwrap();
    on.admin().add_ruleset(REPO, "closed", &["refs/heads/work"], vec![Rule::Update], Vec::new()).unwrap();
    let before = on.head(number).unwrap();
    on.says("mia", asked(&on).number, &filled(&ready_made(&asked(&on), "PROVIDE_FIX"))).await.unwrap();
    assert_eq!(on.head(number).unwrap(), before);
    let said = on.bot_comments(number).unwrap();
    let told: Vec<&String> = said.iter().filter(|one| one.starts_with("The fix that `mia` gave")).collect();
    assert_eq!(told.len(), 1, "{said:#?}");
    assert!(told[0].contains("src/example.py") && told[0].contains("the whole file as it is to be"), "{}", told[0]);
    // The stop that it answered is there again, and its giver may answer it in another way.
    assert_merge(&on, number, "failure");
    assert_eq!(on.escalations().unwrap().iter().map(|issue| issue.open).collect::<Vec<_>>(), [false, true]);
    on.says("mia", asked(&on).number, "/resolve A it was pushed by hand").await.unwrap();
    assert!(on.escalations().unwrap().iter().all(|issue| !issue.open));
    on.says("tim", number, "/status").await.unwrap();
    let said = on.bot_comments(number).unwrap();
    let told = said.iter().filter(|one| one.starts_with("The fix that `mia` gave")).count();
    assert_eq!(told, 1, "{said:#?}");
    on.end().await;
}

/// What can't be a file there, or is there already, is told on the spot with its path, and nothing changes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fix_that_would_be_none_is_refused_and_leaves_the_stop_as_it_was() {
    let on = merge_flow().await;
    let number = proposes(&on, "work").await;
    on.says("ada", number, "/stop unsafe: it sends passwords in the clear").await.unwrap();
    let issue = asked(&on);
    for (path, text, why) in [
        ("src", "x", "`src` is a folder there"),
        ("src/lamp.py/x", "x", "`src/lamp.py` is a file there, and no folder"),
        ("src/lamp.py", "\"def shine():\\n    return 10\\n\"", "all of it is there already, as it is given"),
    ] {
        let fix = format!("fix_description: it encrypts\nfix_artifacts: {{ \"{path}\": {text} }}");
        on.says("mia", issue.number, &payload("PROVIDE_FIX", &fix)).await.unwrap();
        let said = on.bot_comments(issue.number).unwrap();
        let told = said.iter().filter(|one| one.contains("CMD-05") && one.contains(why)).count();
        assert_eq!(told, 1, "{said:#?}");
    }
    assert_eq!(resolved(&on, number).len(), 0);
    let body = asked(&on).body.clone().unwrap();
    assert!(asked(&on).number == issue.number && body.contains("**Recommendation:** (B)"), "{body}");
    assert_merge(&on, number, "failure");
    on.end().await;
}

/// Whoever pushes before the bot has committed is not written over, and whoever gave the fix learns of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fix_that_a_push_outran_is_shown_instead() {
    let on = merge_flow().await;
    let number = proposes(&on, "work").await;
    on.says("ada", number, "/stop it leaks").await.unwrap();
    // The answer is recorded, and the look ends before the commit.
    let (method, path_contains) = (Some("PATCH".to_owned()), "/issues/".to_owned());
    on.admin().inject(Fault { method, path_contains, times: 1000, effect: Effect::Refuse(502) });
    let before = on.head(number).unwrap();
    on.says("mia", asked(&on).number, &filled(&ready_made(&asked(&on), "PROVIDE_FIX"))).await.unwrap();
    assert_eq!(on.head(number).unwrap(), before);
    let pushed = on.pushes("rover", "work", "my own", &[("src/own.py", "pass\n")]).await.unwrap();
    on.admin().clear_faults();
    on.everybody_is_patient(true);
    on.says("tim", number, "/status").await.unwrap();
    assert_eq!(resolved(&on, number).len(), 1);
    assert_eq!(on.head(number).unwrap(), pushed, "nothing goes on top of what nobody looked at");
    let said = on.bot_comments(number).unwrap();
    let told: Vec<&String> = said.iter().filter(|one| one.starts_with("The fix that")).collect();
    assert_eq!(told.len(), 1, "{said:#?}");
    assert!(told[0].contains(&before[..12]) && told[0].contains(&pushed[..12]), "{}", told[0]);
    assert_merge(&on, number, "failure");
    assert!(told[0].contains("src/example.py") && told[0].contains("the whole file as it is to be"), "{}", told[0]);
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_is_split_into_issues_once() {
    let mut on = merge_flow().await;
    let number = proposes(&on, "work").await;
    on.says("ada", number, "/stop it is two things").await.unwrap();
    let issue = asked(&on);
    let yaml = "new_tasks:\n  - name: The bulb\n    description: It glows, @octo-org/leads.\n    acceptance_criteria: [It glows.]\n    depends_on: [The wire]\n  \
                - name: The wire\n    description: It leads.\n    acceptance_criteria: [It leads., \"<b>It holds</b>.\"]\n    depends_on: []";
    on.says("mia", issue.number, &payload("SPLIT_TASK", yaml)).await.unwrap();
    let parts = |on: &Rehearsal| -> Vec<Issue> {
        let all = on.admin().repo(REPO).unwrap().issues;
        all.into_values().filter(|one| one.title.starts_with("The ")).collect()
    };
    let made = parts(&on);
    assert_eq!(made.iter().map(|one| one.title.as_str()).collect::<Vec<_>>(), ["The wire", "The bulb"], "{made:#?}");
    assert_eq!(on.admin().labels(REPO, made[0].number).unwrap(), ["phasegate:task"]);
    let bulb = made[1].body.clone().unwrap();
    assert!(bulb.contains(&format!("**Depends on:** #{}", made[0].number)), "{bulb}");
    assert!(bulb.contains("- [ ] It glows.") && !bulb.contains("@octo-org"), "{bulb}");
    assert_eq!(on.pull(number).unwrap()["state"], "closed");
    let last = on.bot_comments(issue.number).unwrap().pop().unwrap();
    assert!(last.contains(&format!("Its parts are #{}, #{}.", made[0].number, made[1].number)), "{last}");
    // Neither another look nor a lost database opens them again.
    on.loses_its_database().await.unwrap();
    on.says("tim", number, "/status").await.unwrap();
    assert_eq!(parts(&on).len(), 2);
    assert_eq!(kinds(&on, number).iter().filter(|kind| *kind == "split").count(), 1);
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_brake_gets_another_plan_and_is_merged() {
    let on = Rehearsal::start(Setup::default()).await.unwrap();
    let number = proposes(&on, "work").await;
    on.says("ada", number, "/expand").await.unwrap();
    builds(&on, "the dimmer").await;
    on.says("ada", number, "/stop scope: it has doubled").await.unwrap();
    let issue = asked(&on);
    assert!(
        issue
            .body
            .clone()
            .unwrap()
            .starts_with(&format!("**Decide whether #{number} may be as large as it has become.**")),
        "{issue:?}"
    );
    // What mends code is not offered where the design is in question.
    on.says("mia", issue.number, &payload("PROVIDE_FIX", "fix_description: d\nfix_artifacts: { a: b }")).await.unwrap();
    let answer = on.bot_comments(issue.number).unwrap().pop().unwrap();
    assert!(answer.starts_with("`CMD-03`") && answer.contains("`PROVIDE_FIX` is not offered here"), "{answer}");
    on.says("mia", issue.number, &filled(&ready_made(&issue, "REVISE_PLAN"))).await.unwrap();
    assert_label(&on, number, "phase:design");
    let last = on.bot_comments(issue.number).unwrap().pop().unwrap();
    assert!(last.starts_with(&format!("`mia` sent #{number} back to its design")), "{last}");
    assert!(last.contains("- `writer`: What it does. Indeed (after `reader`)"), "{last}");
    on.says("ada", number, "/design").await.unwrap();
    assert!(on.bot_comments(number).unwrap()[0].contains("`DSN-11`"), "{:?}", on.bot_comments(number).unwrap());
    let design = format!("{}\nThe reader reads, and the writer writes.\n", papers::DESIGN);
    let head = on.pushes("rover", "work", "two parts", &[("scaffolding/design.md", &design)]).await.unwrap();
    on.ci(&head, "success").await.unwrap();
    on.reviews("mia", number, "APPROVE").await.unwrap();
    merges(&on, number).await;
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_goes_against_the_scope_is_let_go_on_and_is_still_to_be_put_right() {
    let on = Rehearsal::start(Setup::default()).await.unwrap();
    let number = proposes(&on, "work").await;
    on.says("ada", number, "/expand").await.unwrap();
    let scope = papers::SCOPE.replace("- Fading from one", "- AC-3: within 2 s, fading from one");
    let tests =
        format!("{}\n\ndef test_fades():\n    \"\"\"AC-3: fading.\"\"\"\n    assert dim(1) == 0\n", papers::TESTS);
    let mut files: Vec<(&str, &str)> = papers::ALL.iter().chain(&papers::CODE).copied().collect();
    for file in &mut files {
        match file.0 {
            "scaffolding/scope.md" => file.1 = &scope,
            "tests/test_dimmer.py" => file.1 = &tests,
            _ => {}
        }
    }
    let head = on.pushes("rover", "work", "the dimmer", &files).await.unwrap();
    on.ci(&head, "success").await.unwrap();
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_label(&on, number, "phase:blocked");
    let issue = asked(&on);
    on.says("mia", issue.number, "/resolve APPROVE_OVERRIDE because it is wanted").await.unwrap();
    assert!(!on.escalations().unwrap()[0].open);
    assert_ne!(on.merge_run(number).unwrap().conclusion.as_deref(), Some("success"), "let go on is not passed");
    let right = [("scaffolding/scope.md", papers::SCOPE), ("tests/test_dimmer.py", papers::TESTS)];
    let head = on.pushes("rover", "work", "as it was asked for", &right).await.unwrap();
    on.ci(&head, "success").await.unwrap();
    on.says("mia", number, "/refreeze the test of what was put off goes with it").await.unwrap();
    on.reviews("mia", number, "APPROVE").await.unwrap();
    merges(&on, number).await;
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stepped_wait_is_answered_with_continue_until_it_is_merged() {
    let on = Rehearsal::start(Setup::with_policy(&format!("{PIPELINE_POLICY}mode: stepped\n"))).await.unwrap();
    let number = proposes(&on, "work").await;
    on.says("ada", number, "/expand").await.unwrap();
    builds(&on, "the dimmer").await;
    let mut waits = 0;
    for phase in ["expand", "design", "analyze", "build", "review", "reconcile", "verify"] {
        if phase == "review" {
            on.reviews("mia", number, "APPROVE").await.unwrap();
        }
        on.says("ada", number, &format!("/{phase}")).await.unwrap();
        while on.label(number).unwrap().as_deref() == Some("phase:paused") {
            let issue = asked(&on);
            assert!(issue.open);
            let reply = ready_made(&issue, "CONTINUE");
            let reply = if waits == 0 { payload("CONTINUE", "rationale: it is as it should be") } else { reply };
            on.says("mia", issue.number, &reply).await.unwrap();
            waits += 1;
            assert!(waits < 12, "{:?}", on.bot_comments(issue.number).unwrap());
        }
    }
    assert!(waits >= 5, "{waits}");
    merges(&on, number).await;
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn red_pushes_are_looked_at_and_it_is_merged() {
    let policy = format!("{PIPELINE_POLICY}\nlimits: {{ previews: 1 }}\n");
    let on = Rehearsal::start(Setup::with_policy(&policy)).await.unwrap();
    let number = proposes(&on, "work").await;
    on.says("ada", number, "/expand").await.unwrap();
    let files: Vec<(&str, &str)> = papers::ALL.iter().chain(&papers::CODE).copied().collect();
    let head = on.pushes("rover", "work", "the dimmer", &files).await.unwrap();
    on.ci(&head, "failure").await.unwrap();
    assert_eq!(on.escalations().unwrap().len(), 0);
    for text in ["1", "2"] {
        let head = on.pushes("rover", "work", "try", &[("docs/try.md", text)]).await.unwrap();
        on.ci(&head, "failure").await.unwrap();
    }
    let issue = asked(&on);
    assert_eq!(issue.title, format!("Phasegate: #{number} was red at BUILD too often"));
    let body = issue.body.clone().unwrap();
    assert!(body.contains("3 pushes to ") && body.contains("`BLD-02`"), "{body}");
    // What is called on top of it stands beside it.
    on.says("rover", number, "/stop waiting for CI").await.unwrap();
    let body = asked(&on).body.unwrap();
    assert!(body.contains("`waiting for CI`") && body.contains("- 3 pushes were red at BUILD"), "{body}");
    assert_eq!(on.escalations().unwrap().len(), 1);
    let head = on.pushes("rover", "work", "mended", &[("docs/try.md", "3")]).await.unwrap();
    on.ci(&head, "success").await.unwrap();
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "failure");
    on.says("mia", issue.number, "/resolve A it is green now, and CI is done").await.unwrap();
    assert!(!asked(&on).open);
    merges(&on, number).await;
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn giving_up_is_one_of_the_ways_out() {
    let on = Rehearsal::start(Setup::default()).await.unwrap();
    let number = blocked(&on).await;
    let issue = asked(&on);
    on.says("mia", issue.number, &payload("ABANDON_TASK", "rationale: nobody needs it")).await.unwrap();
    assert_eq!(on.pull(number).unwrap()["state"], "closed");
    let last = on.bot_comments(issue.number).unwrap().pop().unwrap();
    assert!(last.starts_with(&format!("`mia` gave #{number} up: `nobody needs it`.")), "{last}");
    on.end().await;
}

/// The artefact of the newest stop, as it stands on the ledger.
async fn artefact(on: &Rehearsal, number: u64) -> (String, Value) {
    let body = asked(on).body.unwrap();
    let from = body.find("[ESC-").expect("the issue links to it") + 1;
    let name = body[from..from + 12].to_owned();
    let path = format!("/contents/changes/0/{number}/escalations/{name}.json?ref=phasegate/ledger");
    let file = on.does("mia", "GET", &path, json!({})).await.unwrap();
    let text: String = file["content"].as_str().unwrap().split_whitespace().collect();
    let bytes = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, text).unwrap();
    (name, serde_json::from_slice(&bytes).unwrap())
}

/// One kind of artefact for every stop, written once, by the published schema.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_stop_leaves_its_artefact_on_the_ledger() {
    let published: Value = serde_json::from_str(include_str!("../../docs/schemas/escalation.schema.json")).unwrap();
    let made = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("escalation.schema.json");
    let schema = phasegate::surface::artefact::EscalationArtifact::schema_of();
    std::fs::write(&made, serde_json::to_string_pretty(&schema).unwrap() + "\n").unwrap();
    assert!(published == schema, "the types say something else: put {} into docs/schemas", made.display());
    let valid = jsonschema::validator_for(&published).unwrap();

    let on = Rehearsal::start(Setup::default()).await.unwrap();
    let number = blocked(&on).await;
    let (name, first) = artefact(&on, number).await;
    let wrong: Vec<String> = valid.iter_errors(&first).map(|error| error.to_string()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}\n{first:#}");
    assert_eq!((first["escalation_id"].as_str(), first["cause"].as_str()), (Some(name.as_str()), Some("gate")));
    assert_eq!(first["task_id"], format!("{REPO}#{number}"));
    assert_eq!(first["state_machine_snapshot"]["pipeline"]["stage"], "BlockedOnGate", "{first:#}");
    assert_eq!(first["recommended_resolution"], "APPROVE_OVERRIDE");
    assert!(first["failed_invariants"][0]["invariant"].as_str().unwrap().starts_with("EXP-"), "{first:#}");
    let trail = &first["debate_trail"];
    assert_eq!(trail["proposals"].as_array().unwrap().len(), 3, "{trail:#}");
    assert!(trail["challenges"].as_array().unwrap().iter().any(|one| one["what"] == "expand FAIL"), "{trail:#}");
    let actions: Vec<&str> =
        first["options"].as_array().unwrap().iter().filter_map(|one| one["action"].as_str()).collect();
    assert_eq!(actions, ["APPROVE_OVERRIDE", "AMEND_SPEC", "ABANDON_TASK", "PROVIDE_FIX", "SPLIT_TASK"]);
    assert!(first["post_mortem"]["what_to_avoid"].as_str().unwrap().contains("it failed"), "{first:#}");

    // What happens to the stop changes nothing in it.
    on.deletes_issue("root", asked(&on).number).await.unwrap();
    on.pushes("rover", "work", "more", &[("docs/try.md", "4")]).await.unwrap();
    assert_eq!(artefact(&on, number).await, (name.clone(), first.clone()));
    on.says("mia", number, "/unblock it is clear").await.unwrap();
    on.says("ada", number, "/stop it is not").await.unwrap();
    let (second, stop) = artefact(&on, number).await;
    assert!(second != name && stop["cause"] == "stop" && valid.is_valid(&stop), "{stop:#}");
    assert_eq!(stop["failed_invariants"][0]["evidence"], "ada: it is not");
    let decided = stop["debate_trail"]["adjudications"].as_array().unwrap();
    assert!(decided.iter().any(|one| one["what"] == "lets it go on" && one["says"] == "it is clear"), "{stop:#}");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_the_policy_and_the_code_owners_name_is_assigned_and_mentioned() {
    let policy = format!(
        "{MERGE_POLICY}people: {{ escalate: [\"@octo-org/leads\", \"@tim\", \"@nobody-there\"] }}\nescalation: {{ code_owners: true }}\n"
    );
    for bot in [Bot::Server, Bot::Action] {
        let owners = "* @root\n/src/ @ada @octo-org/leads eve@example.com\n".to_owned();
        let files =
            vec![(".github/CODEOWNERS".to_owned(), owners), ("docs/CODEOWNERS".to_owned(), "* @eve\n".to_owned())];
        let on = Rehearsal::start(Setup { bot, files, ..Setup::with_policy(&policy) }).await.unwrap();
        let number = proposes(&on, "work").await;
        on.says("mia", number, "/stop it leaks").await.unwrap();
        let issue = asked(&on);
        let assigned: Vec<&str> = issue.assignees.iter().map(|one| one.login.as_str()).collect();
        assert_eq!(assigned, ["tim", "ada"], "{bot:?}");
        let body = issue.body.clone().unwrap();
        assert!(body.contains(" @octo-org/leads @tim @nobody-there @ada\n"), "{body}");
        // Who takes themselves off stays off.
        on.does("tim", "PATCH", &format!("/issues/{}", issue.number), json!({ "assignees": ["ada"] })).await.unwrap();
        on.pushes("rover", "work", "more", &[("src/more.py", "x = 1\n")]).await.unwrap();
        on.says("tim", number, "/status").await.unwrap();
        assert_eq!(asked(&on).assignees.len(), 1, "{bot:?}");
        on.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_that_nobody_answers_is_brought_to_mind_three_times_and_no_more() {
    let policy = format!("{MERGE_POLICY}people: {{ escalate: [\"@mia\"] }}\nescalation: {{ remind: 2h }}\n");
    let mut on = Rehearsal::start(Setup::with_policy(&policy)).await.unwrap();
    let number = proposes(&on, "work").await;
    on.says("ada", number, "/stop it leaks").await.unwrap();
    let issue = asked(&on).number;
    let reminders = |on: &Rehearsal| -> Vec<String> {
        let said = on.bot_comments(issue).unwrap();
        said.into_iter().filter(|one| one.contains("still waits for an answer")).collect()
    };
    let hours = |hours: u64| std::time::Duration::from_secs(hours * 3600);
    on.time_passes(hours(1)).await.unwrap();
    assert!(reminders(&on).is_empty(), "it is not time");
    for round in 1..=2 {
        on.time_passes(hours(2)).await.unwrap();
        assert_eq!(reminders(&on).len(), round);
        // Looking again reminds nobody again.
        on.says("tim", number, "/status").await.unwrap();
        assert_eq!(reminders(&on).len(), round);
    }
    assert!(reminders(&on)[0].contains(" @mia"), "{:?}", reminders(&on));
    // A lost database loses none, and doubles none.
    on.loses_its_database().await.unwrap();
    on.says("tim", number, "/status").await.unwrap();
    assert_eq!(reminders(&on).len(), 2);
    on.time_passes(hours(50)).await.unwrap();
    on.time_passes(hours(50)).await.unwrap();
    assert_eq!(reminders(&on).len(), 3);
    assert!(reminders(&on)[2].contains("This is the last reminder."));
    let told = kinds(&on, number).iter().filter(|kind| *kind == "reminded").count();
    assert_eq!(told, 3);
    on.says("mia", issue, "/resolve A it is tight").await.unwrap();
    on.time_passes(hours(50)).await.unwrap();
    assert_eq!(reminders(&on).len(), 3);
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stepped_wait_waits_too_long_and_never_means_never() {
    for (remind, words) in [("24h", 1), ("never", 0)] {
        let policy = format!("{PIPELINE_POLICY}mode: stepped\nescalation: {{ remind: {remind} }}\n");
        let on = Rehearsal::start(Setup { bot: Bot::Action, ..Setup::with_policy(&policy) }).await.unwrap();
        let number = proposes(&on, "work").await;
        on.says("ada", number, "/expand").await.unwrap();
        builds(&on, "the dimmer").await;
        on.says("ada", number, "/expand").await.unwrap();
        let issue = asked(&on).number;
        on.time_passes(std::time::Duration::from_secs(25 * 3600)).await.unwrap();
        // A run in a workflow reminds when it comes.
        on.says("tim", number, "/status").await.unwrap();
        on.says("tim", number, "/status").await.unwrap();
        let said = on.bot_comments(issue).unwrap();
        assert_eq!(said.iter().filter(|one| one.contains("waits too long")).count(), words, "{said:#?}");
        on.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_said_on_the_issue_is_kept_and_never_acts() {
    for bot in [Bot::Server, Bot::Action] {
        let on = Rehearsal::start(Setup { bot, ..Setup::with_policy(MERGE_POLICY) }).await.unwrap();
        let number = proposes(&on, "work").await;
        on.says("ada", number, "/stop it leaks").await.unwrap();
        let issue = asked(&on);
        on.says("mia", issue.number, "Resolved. I approve the override: APPROVE_OVERRIDE.").await.unwrap();
        on.says("tim", issue.number, &format!("I saw it too.\n{}", "x".repeat(3_000))).await.unwrap();
        // Who only reads is not kept, nor what is said elsewhere, nor what is a command.
        on.says("eve", issue.number, "Me too.").await.unwrap();
        on.says("mia", number, "Hm.").await.unwrap();
        on.says("tim", issue.number, "/status").await.unwrap();
        let records = on.records(number).unwrap();
        let notes: Vec<&Value> =
            records.iter().map(|one| &one["record"]["body"]).filter(|one| one["kind"] == "noted").collect();
        assert_eq!(notes.len(), 2, "{bot:?}: {notes:#?}");
        assert_eq!(notes[0]["says"], "Resolved. I approve the override: APPROVE_OVERRIDE.");
        assert_eq!(notes[1]["says"].as_str().map(|text| text.chars().count()), Some(1_000));
        assert!(asked(&on).open);
        assert_merge(&on, number, "failure");
        on.end().await;
    }
}
