//! What people say to the bot, and how it answers.

use phasegate::engine::command::COMMANDS;
use phasegate::flow::FlowName;
use phasegate::rehearsal::{Rehearsal, Setup};

use super::{assert_merge, kinds, merge_flow, proposes};

/// The rows of the table in an answer: command and who.
fn rows(answer: &str) -> Vec<(String, String)> {
    let cells = |line: &str| line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let rows = answer.lines().filter(|line| line.starts_with("| `")).map(cells);
    rows.map(|cells| (cells[0].clone(), cells[1].clone())).collect()
}

async fn help_is_exact(on: Rehearsal, flow: FlowName) {
    let number = proposes(&on, "work").await;
    on.says("tim", number, "/help").await.unwrap();
    let said = on.bot_comments(number).unwrap();
    let expected: Vec<(String, String)> = COMMANDS
        .iter()
        .filter(|spec| spec.is_known_in(flow, None))
        .map(|spec| {
            let usage = spec.usage(&format!("/{}", spec.name)).replace('|', "\\|");
            (format!("`{usage}`"), spec.may.who().to_owned())
        })
        .collect();
    assert_eq!(rows(&said[1]), expected);
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn help_lists_the_commands_of_the_merge_flow() {
    help_is_exact(merge_flow().await, FlowName::Merge).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn help_lists_the_commands_of_the_pipeline() {
    help_is_exact(Rehearsal::start(Setup::default()).await.unwrap(), FlowName::Pipeline).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_is_seen_and_then_done_or_refused() {
    let on = merge_flow().await;
    let number = proposes(&on, "work").await;
    let done = on.says("mia", number, "Fine.\n\n/approve").await.unwrap();
    assert_eq!(on.reactions(done).unwrap(), ["eyes", "rocket"]);
    let refused = on.says("ada", number, "/approve").await.unwrap();
    assert_eq!(on.reactions(refused).unwrap(), ["eyes", "confused"]);
    let said = on.bot_comments(number).unwrap();
    assert!(said.last().unwrap().starts_with("`CMD-02`"), "{said:?}");
    // Strangers get no answer at all, and talk is no command.
    let stranger = on.says("eve", number, "/status").await.unwrap();
    let talk = on.says("mia", number, "I would say /approve, or `/reject`.").await.unwrap();
    assert!(on.reactions(stranger).unwrap().is_empty() && on.reactions(talk).unwrap().is_empty());
    assert_eq!(on.bot_comments(number).unwrap().len(), said.len());
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_commands_in_one_comment_run_in_order() {
    let on = merge_flow().await;
    let number = proposes(&on, "work").await;
    let comment = on.says("mia", number, "/stop the lamp is on fire\n/status\n/unblock it is out").await.unwrap();
    let order: Vec<String> = kinds(&on, number)
        .into_iter()
        .filter(|kind| ["stopped", "resumed", "command"].contains(&kind.as_str()))
        .collect();
    assert_eq!(order, ["stopped", "command", "command", "resumed", "command"]);
    assert_eq!(on.reactions(comment).unwrap(), ["eyes", "rocket"]);
    let said = on.bot_comments(number).unwrap();
    assert_eq!(said.len(), 2, "one answer, to /status: {said:?}");

    // One that fails does not stop the others, and shows.
    let comment = on.says("mia", number, "/unblock why not\n/approve").await.unwrap();
    assert_eq!(on.reactions(comment).unwrap(), ["eyes", "confused"]);
    on.ci(&on.head(number).unwrap(), "success").await.unwrap();
    assert_merge(&on, number, "success");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_on_a_linked_issue_acts_on_the_change() {
    let on = merge_flow().await;
    let number = proposes(&on, "work").await;
    let issue = on.files_issue("ada", "The lamp").await.unwrap();
    on.admin().clear_log();
    on.says("mia", issue, "/approve").await.unwrap();
    assert!(on.writes().is_empty(), "an unlinked issue is no change: {:?}", on.writes());

    let link = on.says("ada", number, &format!("/link #{issue}")).await.unwrap();
    assert_eq!(on.reactions(link).unwrap(), ["eyes", "rocket"]);
    let approve = on.says("mia", issue, "/approve").await.unwrap();
    assert_eq!(on.reactions(approve).unwrap(), ["eyes", "confused"], "there the content is not before her eyes");
    let head = on.head(number).unwrap();
    let approve = on.says("mia", issue, &format!("/approve {}", &head[..12])).await.unwrap();
    assert_eq!(on.reactions(approve).unwrap(), ["eyes", "rocket"]);
    on.ci(&on.head(number).unwrap(), "success").await.unwrap();
    assert_merge(&on, number, "success");

    let ask = on.says("tim", issue, "/status").await.unwrap();
    assert_eq!(on.reactions(ask).unwrap(), ["eyes", "rocket"]);
    let there = on.bot_comments(issue).unwrap();
    assert_eq!(there.len(), 2, "the answer stands where the question was: {there:?}");
    on.end().await;
}

/// Thirty commands an hour, and then one answer that says so; whoever goes on sees that it was of no use.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_says_too_much_is_told_once() {
    let on = merge_flow().await;
    let number = proposes(&on, "work").await;
    let issue = on.files_issue("ada", "The lamp").await.unwrap();
    let link = format!("/link #{issue}\n");
    let most = on.says("ada", number, &link.repeat(20)).await.unwrap();
    assert_eq!(on.reactions(most).unwrap(), ["eyes", "rocket"]);
    let over = on.says("ada", number, &link.repeat(13)).await.unwrap();
    assert_eq!(on.reactions(over).unwrap(), ["eyes", "confused"]);
    let said = on.bot_comments(number).unwrap();
    assert_eq!(said.len(), 2, "one answer: {said:?}");
    let start = "`CMD-09` `/link` was not done: you have given 30 commands on this change within an hour, and more are \
                 not taken.\n\nSay it again after ";
    assert!(said[1].starts_with(start) && said[1].contains(" UTC. Until then what you say here gets 😕"), "{said:?}");

    let records = kinds(&on, number).len();
    let again = on.says("ada", number, "/status").await.unwrap();
    assert_eq!(on.reactions(again).unwrap(), ["eyes", "confused"]);
    assert_eq!(on.bot_comments(number).unwrap().len(), 2, "once an hour");
    assert_eq!(kinds(&on, number).len(), records, "a flood leaves no records");
    let other = on.says("tim", number, "/status").await.unwrap();
    assert_eq!(on.reactions(other).unwrap(), ["eyes", "rocket"]);

    let many = on.says("mia", number, &link.repeat(22)).await.unwrap();
    assert_eq!(on.reactions(many).unwrap(), ["eyes", "confused"]);
    let said = on.bot_comments(number).unwrap();
    assert!(
        said.last().unwrap().starts_with(
            "`CMD-10` `/link` was not done: a comment has at most 20 commands. The first 20 were carried out, the other \
             2 were not.\n\nGive the rest in another comment."
        ),
        "{said:?}"
    );
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_telephone_s_capital_is_no_obstacle_and_a_full_stop_is_asked_about() {
    let on = merge_flow().await;
    let number = proposes(&on, "work").await;
    let stopped = on.says("mia", number, "/approve.").await.unwrap();
    assert_eq!(on.reactions(stopped).unwrap(), ["eyes", "confused"]);
    let said = on.bot_comments(number).unwrap().pop().unwrap();
    let words = "`CMD-01` `/approve.` was not done: behind `/approve` stands another character, `.` (U+002E).\n\nWrite \
                 `/approve`";
    assert!(said.starts_with(words), "{said}");
    on.says("mia", number, "/Approve").await.unwrap();
    on.ci(&on.head(number).unwrap(), "success").await.unwrap();
    assert_merge(&on, number, "success");
    on.end().await;
}

/// Whoever marks a pull request ready claims what was there then. What was pushed meanwhile, or an old delivery that comes
/// again, is nobody's claim.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ready_for_review_claims_the_head_it_was_said_of() {
    let on = Rehearsal::start(Setup::default()).await.unwrap();
    let number = proposes(&on, "work").await;
    on.says("ada", number, "/expand").await.unwrap();
    let opened = on.deliveries().into_iter().find(|one| one.action.as_deref() == Some("opened")).unwrap();
    let mut payload = opened.payload;
    payload["action"] = "ready_for_review".into();
    let before = on.records(number).unwrap().len();
    on.pushes("rover", "work", "more", &[("src/more.py", "pass\n")]).await.unwrap();
    let of_old = serde_json::to_vec(&payload).unwrap();
    assert_eq!(on.posts("pull_request", "ready-1", of_old).await.unwrap(), 202);
    on.settle().await.unwrap();
    let claimed = |on: &Rehearsal| kinds(on, number)[before..].iter().filter(|kind| *kind == "claimed").count();
    assert_eq!(claimed(&on), 0, "{:?}", kinds(&on, number));
    payload["pull_request"]["head"]["sha"] = on.head(number).unwrap().into();
    let of_now = serde_json::to_vec(&payload).unwrap();
    on.posts("pull_request", "ready-2", of_now).await.unwrap();
    on.settle().await.unwrap();
    assert_eq!(claimed(&on), 1, "{:?}", kinds(&on, number));
    on.end().await;
}
