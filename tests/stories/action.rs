//! The bot as an Action: the same engine, without a server.

use phasegate::gate::merge::CHECK_NAME;
use phasegate::rehearsal::{Bot, MERGE_POLICY, REPO, Rehearsal, Setup};
use phasegate::twin::ACTIONS_APP;
use serde_json::Value;

use super::kinds;

async fn plays(bot: Bot) -> Rehearsal {
    Rehearsal::start(Setup { bot, ..Setup::with_policy(MERGE_POLICY) }).await.unwrap()
}

#[tokio::test]
async fn a_change_is_merged_by_runs_alone() {
    let on = plays(Bot::Action).await;
    on.pushes("rover", "work", "work", &[("src/lamp.rs", "fn lamp() {}\n")]).await.unwrap();
    let number = on.opens("rover", "A lamp", "work").await.unwrap();
    assert_eq!(on.merge_check(number).unwrap().as_deref(), Some("action_required"));
    on.says("mia", number, "/status").await.unwrap();
    assert_eq!(on.bot_comments(number).unwrap().len(), 2, "{:#?}", on.bot_comments(number));
    on.ci(&on.head(number).unwrap(), "success").await.unwrap();
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_eq!(on.merge_check(number).unwrap().as_deref(), Some("success"));
    on.merges("ada", number).await.unwrap().unwrap();
    on.end().await;
}

/// An agent's own workflow posts a merge check with its token.
async fn forges(on: &Rehearsal, number: u64) {
    let head = on.head(number).unwrap();
    let body = serde_json::json!({
        "name": CHECK_NAME, "head_sha": head, "status": "completed", "conclusion": "success",
        "output": { "title": "May merge", "summary": "Trust me." },
    });
    on.admin().check_run_as(ACTIONS_APP, REPO, body).unwrap();
}

#[tokio::test]
async fn what_is_advisory_can_be_forged_and_says_so_and_with_a_key_it_can_not() {
    for (bot, merged) in [(Bot::Advisory, true), (Bot::Action, false)] {
        let on = plays(bot).await;
        on.pushes("rover", "work", "work", &[("src/lamp.rs", "fn lamp() {}\n")]).await.unwrap();
        let number = on.opens("rover", "A lamp", "work").await.unwrap();
        let shown = on.run(&on.head(number).unwrap(), CHECK_NAME).unwrap().unwrap();
        let title = shown.title.unwrap_or_default();
        assert_eq!(title.starts_with("Advisory: "), bot == Bot::Advisory, "{title}");
        let comment = on.bot_comments(number).unwrap().remove(0);
        assert_eq!(comment.contains("can forge it"), bot == Bot::Advisory, "{comment}");
        forges(&on, number).await;
        // Before the referee has looked again.
        let answer = on.admin().call_as("ada", "PUT", &format!("/repos/{REPO}/pulls/{number}/merge"), Value::Null);
        assert_eq!(answer.is_ok(), merged, "{bot:?}: {answer:?}");
        on.end().await;
    }
}

#[tokio::test]
async fn what_was_said_while_its_run_was_cancelled_is_heard_by_the_next() {
    let on = plays(Bot::Action).await;
    on.pushes("rover", "work", "work", &[("src/lamp.rs", "fn lamp() {}\n")]).await.unwrap();
    let number = on.opens("rover", "A lamp", "work").await.unwrap();
    on.is_read();
    // Quiet: no run is started by it, as if GitHub had cancelled that.
    on.admin().quiet().comment(REPO, "mia", number, "/stop it is unsafe").unwrap();
    let edited = on.admin().quiet().comment(REPO, "mia", number, "never mind").unwrap();
    on.is_read();
    let path = format!("/repos/{REPO}/issues/comments/{edited}");
    on.admin().quiet().call_as("ada", "PATCH", &path, serde_json::json!({ "body": "/unblock it is fine" })).unwrap();
    on.says("eve", number, "looks nice").await.unwrap();
    assert!(on.bot_comments(number).unwrap()[0].contains("it is unsafe"), "{:#?}", on.bot_comments(number));
    // Heard once, whatever comes after it.
    let answers = on.bot_comments(number).unwrap().len();
    on.run_on("schedule", &Value::Null).await.unwrap();
    assert_eq!(on.bot_comments(number).unwrap().len(), answers);
    on.end().await;
}

/// A run remembers nothing: which head the issue of a stop shows, and since when, it reads there.
#[tokio::test]
async fn an_answer_on_the_issue_counts_for_the_head_that_it_shows() {
    let on = plays(Bot::Action).await;
    on.pushes("rover", "work", "work", &[("src/lamp.rs", "fn lamp() {}\n")]).await.unwrap();
    let number = on.opens("rover", "A lamp", "work").await.unwrap();
    on.says("ada", number, "/stop the lamp is too bright").await.unwrap();
    on.pushes("rover", "work", "more", &[("src/lamp.rs", "fn lamp() { dim() }\n")]).await.unwrap();
    let head = on.head(number).unwrap();
    let issue = super::resolutions::asked(&on);
    let body = issue.body.clone().unwrap_or_default();
    assert!(body.contains(&format!("Head `{}`", &head[..12])), "{body}");
    on.is_read();
    on.says("mia", issue.number, "/resolve A it is known").await.unwrap();
    assert!(!super::resolutions::asked(&on).open, "{:#?}", on.bot_comments(issue.number));

    // What somebody else wrote there shows nothing.
    on.says("ada", number, "/stop the lamp is too dark").await.unwrap();
    on.pushes("rover", "work", "most", &[("src/lamp.rs", "fn lamp() { bright() }\n")]).await.unwrap();
    let issue = super::resolutions::asked(&on);
    let body = issue.body.clone().unwrap_or_default();
    let path = format!("/repos/{REPO}/issues/{}", issue.number);
    on.admin()
        .quiet()
        .call_as("root", "PATCH", &path, serde_json::json!({ "body": format!("It is fine.\n\n{body}") }))
        .unwrap();
    on.is_read();
    on.says("mia", issue.number, "/resolve A it is known").await.unwrap();
    let said = on.bot_comments(issue.number).unwrap().pop().unwrap();
    assert!(said.starts_with("`CMD-04`"), "{said}");
    assert!(super::resolutions::asked(&on).open);
    on.end().await;
}

#[tokio::test]
async fn an_approval_counts_for_what_was_shown_though_the_comment_was_changed_meanwhile() {
    let on = plays(Bot::Action).await;
    on.pushes("rover", "work", "work", &[("src/lamp.rs", "fn lamp() {}\n")]).await.unwrap();
    let number = on.opens("rover", "A lamp", "work").await.unwrap();
    on.is_read();
    on.admin().quiet().comment(REPO, "mia", number, "/approve").unwrap();
    on.is_read();
    // The run for the checks comes first, and changes the comment.
    on.ci(&on.head(number).unwrap(), "success").await.unwrap();
    assert_eq!(on.merge_check(number).unwrap().as_deref(), Some("success"), "{:#?}", on.bot_comments(number));
    on.end().await;
}

#[tokio::test]
async fn a_run_that_finds_everything_as_it_is_writes_nothing() {
    let on = plays(Bot::Action).await;
    on.pushes("rover", "work", "work", &[("src/lamp.rs", "fn lamp() {}\n")]).await.unwrap();
    let number = on.opens("rover", "A lamp", "work").await.unwrap();
    on.ci(&on.head(number).unwrap(), "success").await.unwrap();
    on.says("mia", number, "/status").await.unwrap();
    on.run_on("schedule", &Value::Null).await.unwrap();
    on.admin().clear_log();
    on.run_on("schedule", &Value::Null).await.unwrap();
    let ours = |login: &str| login.contains("[bot]");
    let log = on.admin().request_log();
    let writes: Vec<String> = log
        .iter()
        .filter(|one| ours(&one.actor) && one.method != "GET" && !one.path.ends_with("graphql"))
        .map(|one| format!("{} {}", one.method, one.path))
        .collect();
    assert_eq!(writes, Vec::<String>::new());
    on.end().await;
}

#[tokio::test]
async fn what_somebody_did_to_our_words_while_its_run_was_cancelled_is_noted_by_the_next() {
    let on = plays(Bot::Action).await;
    on.pushes("rover", "work", "work", &[("src/lamp.rs", "fn lamp() {}\n")]).await.unwrap();
    let number = on.opens("rover", "A lamp", "work").await.unwrap();
    on.says("root", number, "/stop it is unsafe").await.unwrap();
    let (comment, issue) = (on.status_comment(number).unwrap().id, on.escalations().unwrap()[0].number);
    let noted = |on: &Rehearsal| kinds(on, number).iter().filter(|kind| *kind == "tampered").count();
    let (comment_path, issue_path) =
        (format!("/repos/{REPO}/issues/comments/{comment}"), format!("/repos/{REPO}/issues/{issue}"));
    let quietly =
        |method: &str, path: &str, body: Value| on.admin().quiet().call_as("ada", method, path, body).unwrap();
    on.run_on("schedule", &Value::Null).await.unwrap();
    assert_eq!(noted(&on), 0, "nobody has touched anything: {:?}", kinds(&on, number));

    quietly("PATCH", &comment_path, serde_json::json!({ "body": "May merge." }));
    on.run_on("schedule", &Value::Null).await.unwrap();
    let said = on.status_comment(number).unwrap().body;
    assert!(said.contains("ada edited this comment"), "{said}");
    quietly("PATCH", &issue_path, serde_json::json!({ "body": "All is well." }));
    on.run_on("schedule", &Value::Null).await.unwrap();
    let said = on.status_comment(number).unwrap().body;
    assert!(said.contains(&format!("ada edited the escalation issue #{issue}")), "{said}");
    quietly("DELETE", &comment_path, Value::Null);
    on.run_on("schedule", &Value::Null).await.unwrap();
    let said = on.status_comment(number).unwrap().body;
    assert!(said.contains("Somebody deleted this comment"), "{said}");
    // Each of them once.
    on.run_on("schedule", &Value::Null).await.unwrap();
    assert_eq!(noted(&on), 3, "{:?}", kinds(&on, number));
    on.end().await;
}

#[tokio::test]
async fn that_it_is_ready_is_seen_though_the_run_for_it_was_cancelled() {
    let on = Rehearsal::start(Setup { bot: Bot::Action, ..Setup::default() }).await.unwrap();
    on.pushes("rover", "work", "work", &[("docs/idea.md", "A lamp.\n")]).await.unwrap();
    let body = serde_json::json!({ "title": "A lamp", "head": "work", "base": "main", "draft": true });
    let pull = on.does("rover", "POST", "/pulls", body).await.unwrap();
    let number = pull["number"].as_u64().unwrap();
    on.says("ada", number, "/expand").await.unwrap();
    let claims = |on: &Rehearsal| kinds(on, number).iter().filter(|kind| *kind == "claimed").count();
    let before = claims(&on);
    on.run_on("schedule", &Value::Null).await.unwrap();
    assert_eq!(claims(&on), before, "it is still a draft");
    on.admin().quiet().set_draft(REPO, "rover", number, false).unwrap();
    on.run_on("schedule", &Value::Null).await.unwrap();
    assert_eq!(claims(&on), before + 1, "{:?}", kinds(&on, number));
    on.run_on("schedule", &Value::Null).await.unwrap();
    assert_eq!(claims(&on), before + 1, "once for each head");
    on.end().await;
}
