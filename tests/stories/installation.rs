//! Installations come and go, are suspended and let in again, and some have more repositories than an hour has calls.

use std::time::Duration;

use phasegate::inbox::{Filter, State};
use phasegate::rehearsal::{REPO, Rehearsal};
use phasegate::twin::{Effect, Fault, NewRepo, Role};
use serde_json::{Value, json};

use super::{assert_merge, green, merge_flow, proposes, proves};

const HOUR: Duration = Duration::from_hours(1);

fn strikes(on: &Rehearsal, path: &str, effect: Effect, times: u32) {
    on.admin().inject(Fault { method: None, path_contains: path.to_owned(), effect, times });
}

/// A change that the bot has not been told of.
async fn proposes_unheard(on: &Rehearsal) -> u64 {
    on.pushes("rover", "work", "work", &[("src/lamp.py", "def shine(): pass\n")]).await.unwrap();
    on.admin().quiet().open_pull(REPO, "rover", "Shine", "work", "main").unwrap()
}

fn was_seen(on: &Rehearsal, number: u64) -> bool {
    on.merge_check(number).unwrap().is_some()
}

/// GitHub tells of an installation with these repositories, or without a word on which.
async fn is_told(on: &Rehearsal, guid: &str, action: &str, installation: u64, repos: &[Value]) {
    let mut body = json!({
        "action": action, "installation": { "id": installation }, "sender": { "id": 1, "login": "root", "type": "User" },
    });
    if !repos.is_empty() {
        body["repositories"] = repos.into();
    }
    assert_eq!(on.posts("installation", guid, body.to_string().into_bytes()).await.unwrap(), 202);
    on.settle().await.unwrap();
}

fn here(on: &Rehearsal) -> Value {
    json!({ "id": on.admin().repo(REPO).unwrap().id, "full_name": REPO })
}

/// A repository that GitHub names and has not; it is older than ours, and comes first.
fn elsewhere(n: u64) -> Value {
    json!({ "id": 1 + n, "full_name": format!("octo-org/r{n}") })
}

fn asked_of(on: &Rehearsal, n: u64) -> usize {
    let path = format!("/repos/octo-org/r{n}/");
    on.admin().request_log().iter().filter(|one| one.path.starts_with(&path)).count()
}

/// Days, each with the tries that are due in it.
async fn days_pass(on: &Rehearsal) {
    for _ in 0..3 {
        on.time_passes(24 * HOUR).await.unwrap();
    }
}

async fn dead(on: &Rehearsal) -> u64 {
    on.server().unwrap().inbox().stats().await.unwrap().dead
}

/// What waits from before stands in one batch with what was said since, and has a token no more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_is_heard_beside_what_waits_from_before_the_app_was_installed_anew() {
    let on = merge_flow().await;
    let number = proposes(&on, "work").await;
    strikes(&on, "/reviews", Effect::Refuse(500), u32::MAX);
    on.says("tim", number, "How does it look?").await.unwrap();
    on.ci(&on.head(number).unwrap(), "success").await.unwrap();
    on.admin().uninstall(on.app().id, REPO).unwrap();
    on.admin().install(on.app().id, REPO).unwrap();
    on.settle().await.unwrap();
    on.says("ada", number, "/stop it deletes the backups").await.unwrap();
    on.admin().clear_faults();
    days_pass(&on).await;
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "failure");
    assert!(on.merges("ada", number).await.unwrap().is_err());
    assert_eq!(dead(&on).await, 0);
    on.end().await;
}

/// A suspension can be lifted, so what was said before it waits, where people see it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_waits_while_the_app_is_suspended() {
    let on = merge_flow().await;
    let number = green(&on, "work").await;
    strikes(&on, "/reviews", Effect::Refuse(500), u32::MAX);
    on.says("ada", number, "/stop it deletes the backups").await.unwrap();
    on.admin().suspend(on.app().id, REPO, true).unwrap();
    on.admin().clear_faults();
    days_pass(&on).await;
    let inbox = on.server().unwrap().inbox().clone();
    let waiting = inbox.list(&Filter { state: Some(State::Parked), ..Filter::default() }).await.unwrap();
    assert_eq!(waiting.len(), 1, "{waiting:?}");
    assert!(waiting[0].error.as_ref().unwrap().contains("suspended"), "{waiting:?}");
    assert_merge(&on, number, "success");

    on.admin().suspend(on.app().id, REPO, false).unwrap();
    on.settle().await.unwrap();
    assert_merge(&on, number, "failure");
    assert!(on.merges("ada", number).await.unwrap().is_err());
    on.end().await;
}

/// The suspension may come while there is a token that has not run out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_just_before_a_suspension_waits_too() {
    let on = merge_flow().await;
    let number = green(&on, "work").await;
    on.admin().set_webhook_url(on.app().id, Some("http://127.0.0.1:9/")).unwrap();
    on.says("ada", number, "/stop it deletes the backups").await.unwrap();
    let said = on.deliveries().into_iter().rev().find(|one| one.event == "issue_comment").unwrap();
    on.admin().set_webhook_url(on.app().id, Some(&on.server().unwrap().webhook_url())).unwrap();
    on.admin().suspend(on.app().id, REPO, true).unwrap();
    on.posts("issue_comment", &said.guid, said.payload.to_string().into_bytes()).await.unwrap();
    on.settle().await.unwrap();
    for _ in 0..12 {
        on.time_passes(Duration::from_mins(10)).await.unwrap();
    }
    let stats = on.server().unwrap().inbox().stats().await.unwrap();
    assert_eq!((stats.parked, stats.dead), (1, 0));
    on.admin().suspend(on.app().id, REPO, false).unwrap();
    on.settle().await.unwrap();
    assert_merge(&on, number, "failure");
    on.end().await;
}

/// Two accounts install the App while GitHub can't be asked, and one of them thinks better of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_is_looked_at_whatever_becomes_of_another() {
    let on = merge_flow().await;
    let installation = on.admin().install(on.app().id, REPO).unwrap();
    let number = proposes_unheard(&on).await;
    strikes(&on, "/", Effect::Refuse(500), u32::MAX);
    is_told(&on, "gone", "created", 77_777, &[elsewhere(1)]).await;
    is_told(&on, "here", "created", installation, &[here(&on)]).await;
    on.admin().clear_faults();
    days_pass(&on).await;
    assert!(was_seen(&on, number));
    assert_eq!(dead(&on).await, 0);
    on.end().await;
}

/// The hour is over in the middle of a long list: what was looked at before is not looked at again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_installation_goes_on_where_the_hour_ended() {
    let on = merge_flow().await;
    let installation = on.admin().install(on.app().id, REPO).unwrap();
    let number = proposes_unheard(&on).await;
    strikes(&on, "/repos/octo-org/r70/", Effect::Primary { status: 403 }, 3);
    let mut repos: Vec<Value> = (0..120).map(elsewhere).collect();
    repos.push(here(&on));
    on.admin().clear_log();
    is_told(&on, "many", "created", installation, &repos).await;
    for _ in 0..4 {
        on.time_passes(2 * HOUR).await.unwrap();
    }
    assert!(was_seen(&on, number));
    for n in 0..120 {
        let (asked, refused) = (asked_of(&on, n), if n == 70 { 3 } else { 0 });
        assert_eq!(asked, 1 + refused, "r{n} is asked for once, besides what was refused");
    }
    assert_eq!(dead(&on).await, 0);
    on.end().await;
}

/// One that GitHub has blocked is shown among the dead letters, and holds up none of the others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_that_is_blocked_holds_up_no_other() {
    let on = merge_flow().await;
    let installation = on.admin().install(on.app().id, REPO).unwrap();
    let number = proposes_unheard(&on).await;
    strikes(&on, "/repos/octo-org/r1", Effect::Refuse(451), u32::MAX);
    is_told(&on, "some", "created", installation, &[elsewhere(1), here(&on)]).await;
    assert!(was_seen(&on, number));
    for _ in 0..10 {
        on.time_passes(HOUR).await.unwrap();
    }
    let dead = on.server().unwrap().inbox().dead().await.unwrap();
    assert_eq!(dead.iter().map(|one| &one.meta["about"]).collect::<Vec<_>>(), ["octo-org/r1"]);
    on.end().await;
}

/// Not every event says which repositories it is about.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_installation_that_names_no_repositories_is_asked_for_them() {
    let on = merge_flow().await;
    let installation = on.admin().install(on.app().id, REPO).unwrap();
    let number = proposes_unheard(&on).await;
    is_told(&on, "permissions", "new_permissions_accepted", installation, &[]).await;
    assert!(was_seen(&on, number));
    on.end().await;
}

/// The address of the repository after it was renamed.
const RENAMED: &str = "octo-org/beacon";

/// A change that may merge, a `/stop` that waits for GitHub to be well again, and its repository renamed meanwhile.
async fn renamed_under_a_stop() -> (Rehearsal, u64) {
    let on = merge_flow().await;
    let number = green(&on, "work").await;
    strikes(&on, "/reviews", Effect::Refuse(500), u32::MAX);
    on.says("ada", number, "/stop it deletes the backups").await.unwrap();
    on.admin().rename_repo(REPO, "beacon").unwrap();
    on.settle().await.unwrap();
    (on, number)
}

fn merge_check_of(on: &Rehearsal, repo: &str, number: u64) -> Option<String> {
    let pull = on.admin().call_as("mia", "GET", &format!("/repos/{repo}/pulls/{number}"), json!({})).unwrap();
    let runs = on.admin().check_runs(repo, pull["head"]["sha"].as_str().unwrap()).unwrap();
    let mut ours = runs.into_iter().filter(|run| run.name == "phasegate/merge");
    ours.next_back().and_then(|run| run.conclusion)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_while_its_repository_is_renamed_is_heard_under_the_new_name() {
    assert_eq!(REPO.split('/').next(), RENAMED.split('/').next());
    let (on, number) = renamed_under_a_stop().await;
    on.admin().clear_faults();
    days_pass(&on).await;
    assert_eq!(merge_check_of(&on, RENAMED, number).as_deref(), Some("failure"), "the stop was not heard");
    let stats = on.server().unwrap().inbox().stats().await.unwrap();
    assert_eq!((stats.dead, stats.parked), (0, 0));
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_that_has_the_old_name_of_another_hears_nothing_of_it() {
    let (on, number) = renamed_under_a_stop().await;
    let seen = |path: &&str| Some(((*path).to_owned(), on.admin().file(RENAMED, "main", path).unwrap()?));
    let files = ["README.md", ".github/workflows/ci.yml", ".github/phasegate.yml"].iter().filter_map(seen).collect();
    on.admin().create_repo(REPO, NewRepo { private: false, files }).unwrap();
    for (login, role) in [("mia", Role::Maintain), ("ada", Role::Write), ("rover", Role::Write), ("root", Role::Admin)]
    {
        on.admin().set_role(REPO, login, role).unwrap();
    }
    on.admin().install(on.app().id, REPO).unwrap();
    on.settle().await.unwrap();
    let second = proposes(&on, "fresh").await;
    assert_eq!(number, second, "only a change of the same number could be taken for the other");
    on.admin().clear_faults();
    proves(&on, second).await;
    days_pass(&on).await;
    assert_merge(&on, second, "success");
    let said = on.bot_comments(second).unwrap();
    assert!(!said.iter().any(|comment| comment.contains("backups")), "{said:?}");
    assert_eq!(merge_check_of(&on, RENAMED, number).as_deref(), Some("failure"), "the stop was not heard");
    on.end().await;
}
