//! What a server lives through: another key, an outage of GitHub, a second server, a lost database, a hurried end.

use std::sync::Arc;
use std::time::Duration;

use assert_cmd::cargo::cargo_bin_cmd;
use phasegate::github::store::GitHubStore;
use phasegate::github::{AppKey, Credentials, Endpoint, Hub};
use phasegate::ids::Slug;
use phasegate::inbox::{Filter, Which};
use phasegate::ledger::store::{NewFile, Store as _};
use phasegate::rehearsal::{CHECK, LEDGER, MERGE_POLICY, REPO, Rehearsal, Setup, WORKFLOW};
use phasegate::twin::{Effect, Fault};
use secrecy::SecretString;
use serde_json::Value;

use super::server::Program;
use super::{assert_merge, green, kinds, merge_flow, proposes, proves};

fn refuses(path: &str, status: u16, times: u32) -> Fault {
    Fault { method: None, path_contains: path.to_owned(), effect: Effect::Refuse(status), times }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_earlier_key_signed_stays_good_when_the_server_is_given_it() {
    let mut on = merge_flow().await;
    let old = on.app().pem.clone();
    let number = green(&on, "work").await;
    on.changes_key(true).await.unwrap();
    on.says("tim", number, "/status").await.unwrap();
    assert_merge(&on, number, "success");
    // Old and new records stand in one chain, and a reader needs both keys.
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("old.pem");
    std::fs::write(&file, old).unwrap();
    let public = cargo_bin_cmd!("phasegate").env_clear().arg("key").arg(&file).output().unwrap();
    assert!(public.status.success() && public.stdout.starts_with(b"-----BEGIN PUBLIC KEY-----"));
    std::fs::write(&file, public.stdout).unwrap();
    let replay = |earlier: &std::path::Path| {
        let mut command = cargo_bin_cmd!("phasegate");
        command.env_clear().env("APP_ID", on.app().id.to_string()).env("PRIVATE_KEY", &on.app().pem);
        command.env("GITHUB_API_URL", on.api_url()).env("PREVIOUS_KEYS_PATH", earlier);
        let output = command.args(["replay", &number.to_string(), "--github", REPO, "--json"]).output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    assert_eq!(replay(dir.path())["verdict"], "PASS", "a folder of keys");
    assert_eq!(replay(&file)["verdict"], "PASS", "one file");
    std::fs::remove_file(&file).unwrap();
    let report = replay(dir.path());
    assert_eq!(report["findings"][0]["kind"], "unknown_key", "{report:#}");
    on.merges("ada", number).await.unwrap().expect("nothing is in the way");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_the_server_does_not_know_is_named_with_what_to_do() {
    let mut on = merge_flow().await;
    let number = green(&on, "work").await;
    let id = phasegate::github::PublicKey::from_pem(&on.app().pem).unwrap().fingerprint();
    on.changes_key(false).await.unwrap();
    on.says("tim", number, "/status").await.unwrap();
    assert_merge(&on, number, "failure");
    let summary = on.merge_run(number).unwrap().summary.unwrap();
    for part in ["MRG-08", "a key that is not known here", id.short(), "PREVIOUS_KEYS_PATH"] {
        assert!(summary.contains(part), "{part} is missing in: {summary}");
    }
    on.end().await;
}

async fn ready(address: &str) -> Value {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let answer = client.get(format!("http://{address}/readyz")).send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 200);
    answer.json().await.unwrap()
}

/// GitHub is down when the server starts: what it is told then is worked off when GitHub is back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_at_the_start_loses_no_webhook() {
    let mut on = merge_flow().await;
    on.stop_server().await;
    on.admin().inject(refuses("/app", 500, u32::MAX));
    let mut program = Program::starts(&on).await;
    program.says("GitHub can't say who we are").await;
    let github = ready(&program.address).await["github"].clone();
    assert!(github.as_str().unwrap().starts_with("not reached yet: GitHub answered with status 500"), "{github}");

    let head = on.admin().commit(REPO, "rover", "work", "work", &[("src/lamp.py", Some("pass\n"))]).unwrap();
    let number = on.admin().open_pull(REPO, "rover", "Shine", "work", "main").unwrap();
    on.admin().wait_idle().await;
    assert!(on.deliveries().iter().rev().take(2).all(|one| one.outcome.as_ref().is_some_and(|o| o.status_code == 202)));
    on.admin().clear_faults();
    program.says("GitHub knows this App").await;
    assert_eq!(ready(&program.address).await["github"], "known");
    let (code, log) = program.ends_by_sigterm().await;
    assert_eq!(code, Some(0), "{log}");

    on.start_server().await.unwrap();
    on.settle().await.unwrap();
    assert_eq!(on.head(number).unwrap(), head);
    assert_merge(&on, number, "action_required");
    on.end().await;
}

/// It died between taking a label off and putting the next one on, and hears of the first before it is known who it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_of_its_own_write_is_not_somebody_elses_doing() {
    let mut on = Rehearsal::start(Setup::default()).await.unwrap();
    let number = proposes(&on, "work").await;
    on.stop_server().await;
    on.admin().inject(refuses("/app", 500, u32::MAX));
    let mut program = Program::starts(&on).await;
    program.says("GitHub can't say who we are").await;
    let path = format!("/repos/{REPO}/issues/{number}/labels/phase%3Astart");
    on.admin().call_as_app(on.app().id, REPO, "DELETE", &path, Value::Null).unwrap();
    on.admin().wait_idle().await;
    let told = on.deliveries().pop().unwrap();
    assert_eq!(told.action.as_deref(), Some("unlabeled"));
    assert_eq!(told.outcome.unwrap().status_code, 202, "it can't be known yet that it is an echo");
    on.admin().clear_faults();
    program.says("GitHub knows this App").await;
    let (code, log) = program.ends_by_sigterm().await;
    assert_eq!(code, Some(0), "{log}");

    on.start_server().await.unwrap();
    on.says("tim", number, "/status").await.unwrap();
    assert_eq!(on.label(number).unwrap().as_deref(), Some("phase:start"));
    assert!(!kinds(&on, number).contains(&"tampered".to_owned()), "{:?}", kinds(&on, number));
    on.end().await;
}

/// Nothing of it is lost: the delivery is still in the inbox.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_signal_ends_the_server_at_once() {
    let mut on = merge_flow().await;
    on.stop_server().await;
    let mut program = Program::starts(&on).await;
    program.says("GitHub knows this App").await;
    // A look that waits for GitHub again and again.
    let effect = Effect::Secondary { status: 403, retry_after: Some(2) };
    on.admin().inject(Fault { method: None, path_contains: "/pulls/".to_owned(), effect, times: u32::MAX });
    on.admin().commit(REPO, "rover", "work", "work", &[("src/lamp.py", Some("pass\n"))]).unwrap();
    let number = on.admin().open_pull(REPO, "rover", "Shine", "work", "main").unwrap();
    on.admin().wait_idle().await;
    program.says("limited by GitHub").await;
    program.sigterm().await;
    program.says("a second signal ends at once").await;
    let (code, log) = program.ends_by_sigterm().await;
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("ended at once"), "{log}");

    on.admin().clear_faults();
    on.start_server().await.unwrap();
    on.time_passes(Duration::from_secs(120)).await.unwrap();
    assert_merge(&on, number, "action_required");
    proves(&on, number).await;
    assert_merge(&on, number, "success");
    on.end().await;
}

/// Every delivery once more, with the same GUIDs.
async fn everything_is_delivered_again(on: &Rehearsal) {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    for delivery in on.deliveries().into_iter().filter(|delivery| !delivery.redelivery) {
        let url = format!("{}/app/hook/deliveries/{}/attempts", on.api_url(), delivery.id);
        let answer = client.post(url).bearer_auth(on.app().jwt().unwrap()).header("User-Agent", "test").send().await;
        assert_eq!(answer.unwrap().status().as_u16(), 202);
    }
    on.settle().await.unwrap();
}

/// Writes that leave one more thing behind, by their paths.
fn made(on: &Rehearsal) -> Vec<String> {
    let adds = |path: &str| path.ends_with("/comments") || path.ends_with("/check-runs") || path.ends_with("/graphql");
    on.writes().into_iter().filter(|one| one.method == "POST" && adds(&one.path)).map(|one| one.path).collect()
}

/// A second server with a memory of its own hears what the first has answered already. Its memory is empty, or it is
/// that of a while ago: then it knows the comment, and not the answers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_server_with_a_memory_of_its_own_doubles_nothing() {
    let mut on = merge_flow().await;
    let number = proposes(&on, "work").await;
    let file = on.database().strip_prefix("sqlite:").unwrap().to_owned();
    let copy = on.data().join("copy.db");
    on.stop_server().await;
    std::fs::copy(&file, &copy).unwrap();
    on.start_server().await.unwrap();

    on.says("tim", number, "/status").await.unwrap();
    on.says("mia", number, "/help\n/explain").await.unwrap();
    proves(&on, number).await;
    let (comments, head) = (on.bot_comments(number).unwrap(), on.head(number).unwrap());
    assert_eq!(comments.len(), 3);
    let runs = on.admin().check_runs(REPO, &head).unwrap().len();
    for empty in [false, true] {
        on.loses_its_database().await.unwrap();
        if !empty {
            on.stop_server().await;
            std::fs::copy(&copy, &file).unwrap();
            on.start_server().await.unwrap();
        }
        on.admin().clear_log();
        everything_is_delivered_again(&on).await;
        assert_eq!(made(&on), Vec::<String>::new(), "empty: {empty}");
        assert_eq!(on.bot_comments(number).unwrap(), comments, "empty: {empty}");
        assert_eq!(on.admin().check_runs(REPO, &head).unwrap().len(), runs, "empty: {empty}");
    }
    on.end().await;
}

/// Somebody deletes the one comment; one server writes a new one, and the other, which knows only the old one, uses it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_comment_that_another_server_wrote_anew_is_taken_up() {
    let mut on = merge_flow().await;
    let number = proposes(&on, "work").await;
    let file = on.database().strip_prefix("sqlite:").unwrap().to_owned();
    let copy = on.data().join("copy.db");
    on.stop_server().await;
    std::fs::copy(&file, &copy).unwrap();
    on.start_server().await.unwrap();
    let ours = on.status_comment(number).unwrap().id;
    on.does("ada", "DELETE", &format!("/issues/comments/{ours}"), Value::Null).await.unwrap();
    let new = on.status_comment(number).unwrap().id;
    assert_ne!(new, ours);

    on.loses_its_database().await.unwrap();
    on.stop_server().await;
    std::fs::copy(&copy, &file).unwrap();
    on.start_server().await.unwrap();
    proves(&on, number).await;
    assert_eq!(on.bot_comments(number).unwrap().len(), 1);
    assert!(on.status_comment(number).unwrap().body.contains("may merge"));
    on.end().await;
}

/// A green that a closed pull request leaves behind would be the first that another one with its head is seen with.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pull_request_that_is_closed_leaves_no_green_behind() {
    let on = merge_flow().await;
    let number = green(&on, "work").await;
    let head = on.head(number).unwrap();
    on.closes("rover", number).await.unwrap();
    assert_merge(&on, number, "action_required");
    assert_eq!(on.merge_run(number).unwrap().title.as_deref(), Some("Closed without a merge"));
    on.admin().clear_log();
    on.says("ada", number, "Hm.").await.unwrap();
    on.ci(&head, "success").await.unwrap();
    assert_eq!(on.writes().len(), 0, "{:?}", on.writes());

    // Another one with the same head begins without a green, also when nobody tells the bot of it.
    let quiet = on.admin().quiet();
    let second = quiet.open_pull(REPO, "rover", "Again", "work", "main").unwrap();
    assert!(on.merges("ada", second).await.unwrap().is_err(), "merged on a green of a closed pull request");
    on.does("rover", "PATCH", &format!("/pulls/{second}"), serde_json::json!({ "state": "closed" })).await.unwrap();

    on.reopens("rover", number).await.unwrap();
    assert_merge(&on, number, "success");
    on.merges("ada", number).await.unwrap().expect("it is as green as before");
    assert_merge(&on, number, "success");
    on.end().await;
}

/// More check runs than GitHub tells: a clear red on this head, no error that comes again and again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_check_runs_than_github_tells_are_a_finding() {
    let on = merge_flow().await;
    let number = green(&on, "work").await;
    let head = on.head(number).unwrap();
    let quiet = on.admin().quiet();
    for _ in 0..1_000 {
        quiet.workflow_run(REPO, &head, ".github/workflows/other.yml", "push", &[("other", Some("success"))]).unwrap();
    }
    on.says("tim", number, "/explain").await.unwrap();
    assert_merge(&on, number, "failure");
    let summary = on.merge_run(number).unwrap().summary.unwrap();
    assert!(summary.contains("MRG-01") && summary.contains("more check runs on"), "{summary}");
    assert_eq!(on.server().unwrap().inbox().stats().await.unwrap().dead, 0);
    assert_eq!(on.bot_comments(number).unwrap().len(), 2, "the command was answered all the same");
    let runs = on.admin().check_runs(REPO, &head).unwrap();
    assert_eq!(runs.iter().filter(|run| run.name == "phasegate/merge").count(), 1);

    on.pushes("rover", "work", "more", &[("src/more.py", "pass\n")]).await.unwrap();
    proves(&on, number).await;
    assert_merge(&on, number, "success");
    on.end().await;
}

/// GraphQL gives 512,000 bytes of a file; the rest is read in another way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_file_of_the_ledger_is_read_whole() {
    let on = merge_flow().await;
    let number = green(&on, "work").await;
    let key = AppKey::from_pem(&SecretString::from(on.app().pem.clone())).unwrap();
    let credentials = Credentials::App { issuer: on.app().id.to_string(), key: Arc::new(key) };
    let hub = Hub::new(Endpoint::new(&on.api_url()).unwrap(), credentials).unwrap();
    let slug: Slug = REPO.parse().unwrap();
    let installation = hub.installation_for(&slug).await.unwrap().unwrap();
    let store = GitHubStore::new(hub.repo(installation, slug), LEDGER);
    let head = store.head().await.unwrap();
    let text = "0123456789".repeat(60_000);
    let file = NewFile { path: "changes/0/9999/0001.json".to_owned(), bytes: text.clone().into_bytes() };
    store.commit(head.as_ref(), "a large one", &[file]).await.unwrap();
    assert_eq!(store.file("changes/0/9999/0001.json").await.unwrap().as_ref(), Some(&text));
    let folder = store.folder("changes/0/9999").await.unwrap();
    assert_eq!(folder.files.get("0001.json"), Some(&text));
    assert!(!store.folder(&format!("changes/0/{number}")).await.unwrap().files.is_empty());
    on.end().await;
}

/// What can't be looked at is not green, and says why; the next look that works puts it right and leaves nothing behind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_that_fails_again_and_again_closes_the_gate_until_one_works() {
    let on = merge_flow().await;
    let number = green(&on, "work").await;
    let records = on.records(number).unwrap().len();
    on.admin().inject(refuses("/reviews", 500, u32::MAX));
    on.ci(&on.head(number).unwrap(), "success").await.unwrap();
    assert_merge(&on, number, "success");
    on.time_passes(Duration::from_secs(120)).await.unwrap();
    assert_merge(&on, number, "action_required");
    let run = on.merge_run(number).unwrap();
    assert_eq!(run.title.as_deref(), Some("Phasegate can't finish its look at this change"));
    assert!(run.summary.unwrap().contains("GitHub answered with status 500"));
    assert!(on.merges("ada", number).await.unwrap().is_err(), "merged while nobody could look");
    on.admin().clear_log();
    on.time_passes(Duration::from_secs(600)).await.unwrap();
    assert!(on.writes().is_empty(), "{:?}", on.writes());

    on.admin().clear_faults();
    on.time_passes(Duration::from_secs(3600)).await.unwrap();
    assert_merge(&on, number, "success");
    assert_eq!(on.merge_run(number).unwrap().title.as_deref(), Some("May merge"));
    let runs = on.admin().check_runs(REPO, &on.head(number).unwrap()).unwrap();
    assert_eq!(runs.iter().filter(|run| run.app == on.app().id).count(), 1);
    assert_eq!(on.bot_comments(number).unwrap().len(), 1);
    assert_eq!(on.records(number).unwrap().len(), records + 1, "the second green run is evidence");
    assert_eq!(on.server().unwrap().inbox().stats().await.unwrap().dead, 0);
    on.merges("ada", number).await.unwrap().expect("nothing is in the way");
    on.end().await;
}

/// A dead letter is given a new life when its change is over already: there is nothing to do, and nothing fails.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_letter_of_a_change_that_is_over_can_be_tried_again() {
    let on = merge_flow().await;
    let (merged, closed) = (green(&on, "work").await, proposes(&on, "other").await);
    on.admin().inject(refuses("/reviews", 500, u32::MAX));
    for number in [merged, closed] {
        on.says("tim", number, "/status").await.unwrap();
    }
    let inbox = on.server().unwrap().inbox().clone();
    while inbox.stats().await.unwrap().dead < 2 {
        on.time_passes(Duration::from_secs(86_400)).await.unwrap();
    }
    on.admin().clear_faults();
    on.closes("rover", closed).await.unwrap();
    on.ci(&on.head(merged).unwrap(), "success").await.unwrap();
    on.merges("ada", merged).await.unwrap().expect("it is green again");
    assert_eq!(inbox.retry_dead(Which::All).await.unwrap(), 2);
    on.time_passes(Duration::from_secs(1)).await.unwrap();
    assert_eq!(inbox.stats().await.unwrap().dead, 0);
    // Both are answered, late as it is.
    for number in [merged, closed] {
        assert_eq!(on.bot_comments(number).unwrap().len(), 2);
    }
    on.end().await;
}

/// The App is taken away while something is waiting: that is let go, and is no dead letter. When it comes back, what is
/// open is looked at.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_for_an_installation_that_is_gone_is_let_go() {
    let on = merge_flow().await;
    let number = proposes(&on, "work").await;
    on.admin().inject(refuses("/reviews", 500, u32::MAX));
    on.ci(&on.head(number).unwrap(), "success").await.unwrap();
    on.admin().uninstall(on.app().id, REPO).unwrap();
    on.admin().clear_faults();
    for _ in 0..3 {
        on.time_passes(Duration::from_secs(86_400)).await.unwrap();
    }
    let stats = on.server().unwrap().inbox().stats().await.unwrap();
    assert_eq!((stats.ready, stats.running, stats.parked, stats.dead), (0, 0, 0, 0));
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "action_required");

    on.admin().install(on.app().id, REPO).unwrap();
    on.settle().await.unwrap();
    assert_merge(&on, number, "success");
    on.end().await;
}

/// GitHub's page has a button for it, and that is where people look first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_letter_that_is_delivered_again_is_tried_again() {
    let on = merge_flow().await;
    let number = green(&on, "work").await;
    on.admin().inject(refuses("/reviews", 500, u32::MAX));
    on.says("ada", number, "/stop it deletes the backups").await.unwrap();
    let inbox = on.server().unwrap().inbox().clone();
    while inbox.stats().await.unwrap().dead == 0 {
        on.time_passes(Duration::from_secs(86_400)).await.unwrap();
    }
    on.admin().clear_faults();
    let said = on.deliveries().into_iter().rev().find(|one| one.event == "issue_comment").unwrap();
    let body = said.payload.to_string().into_bytes();
    assert_eq!(on.posts("issue_comment", &said.guid, body.clone()).await.unwrap(), 202);
    on.settle().await.unwrap();
    assert_merge(&on, number, "failure");
    assert_eq!(inbox.stats().await.unwrap().dead, 0);
    // What was worked off is not, a second time.
    let records = on.records(number).unwrap().len();
    assert_eq!(on.posts("issue_comment", &said.guid, body).await.unwrap(), 200);
    on.settle().await.unwrap();
    assert_eq!(on.records(number).unwrap().len(), records);
    on.end().await;
}

/// The inbox does not grow for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_done_long_ago_is_forgotten() {
    let mut on = merge_flow().await;
    let number = green(&on, "work").await;
    assert!(!on.server().unwrap().inbox().list(&Filter::default()).await.unwrap().is_empty());
    // A server also tidies while it runs, at its own times, so this one may have done so by now: the next one has.
    on.time_passes(Duration::from_secs(8 * 86_400)).await.unwrap();
    on.stop_server().await;
    on.start_server().await.unwrap();
    assert_eq!(on.server().unwrap().inbox().list(&Filter::default()).await.unwrap(), []);
    on.says("tim", number, "/status").await.unwrap();
    assert_merge(&on, number, "success");
    on.end().await;
}

/// A fork's head is not told by commit, so the rival is known from when it was looked at.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rival_from_a_fork_is_seen() {
    let on = Rehearsal::start(Setup::with_policy(&format!("{MERGE_POLICY}branches: [stable]\n"))).await.unwrap();
    on.pushes("root", "stable", "stable", &[("STABLE", "yes\n")]).await.unwrap();
    let number = proposes(&on, "work").await;
    let fork = on.admin().fork(REPO, "eve").unwrap();
    let rival = on.admin().open_pull(REPO, "eve", "The same", "eve:work", "stable").unwrap();
    on.settle().await.unwrap();
    assert_eq!(on.head(rival).unwrap(), on.head(number).unwrap(), "{}", fork.slug);
    proves(&on, number).await;
    assert_ne!(on.merge_check(number).unwrap().as_deref(), Some("success"));
    assert!(on.status_comment(number).unwrap().body.contains("MRG-10"));
    on.closes("eve", rival).await.unwrap();
    assert_merge(&on, number, "success");
    on.end().await;
}

/// Two jobs of one name in one workflow run: the red one is not hidden behind the green one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_red_job_is_not_hidden_behind_a_green_one_of_its_name() {
    let on = merge_flow().await;
    let number = proposes(&on, "work").await;
    on.reviews("mia", number, "APPROVE").await.unwrap();
    let jobs = [(CHECK, Some("failure")), (CHECK, Some("success"))];
    on.admin().workflow_run(REPO, &on.head(number).unwrap(), WORKFLOW, "pull_request", &jobs).unwrap();
    on.settle().await.unwrap();
    assert_merge(&on, number, "failure");
    on.end().await;
}

/// What a repository is may have changed under its pull requests: its default branch, and with it the law.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_that_was_edited_is_looked_at() {
    let on = merge_flow().await;
    let number = green(&on, "work").await;
    let body = serde_json::json!({ "event": "REQUEST_CHANGES", "body": "No." });
    on.admin().quiet().call_as("mia", "POST", &format!("/repos/{REPO}/pulls/{number}/reviews"), body).unwrap();
    let told = on.deliveries().into_iter().rev().find(|one| one.event == "pull_request").unwrap().payload;
    for (action, merge) in [("starred", "success"), ("edited", "failure")] {
        let body = serde_json::json!({
            "action": action, "repository": told["repository"], "sender": told["sender"],
            "installation": told["installation"],
        });
        on.posts("repository", &format!("repository-{action}"), body.to_string().into_bytes()).await.unwrap();
        on.settle().await.unwrap();
        assert_merge(&on, number, merge);
    }
    on.end().await;
}
