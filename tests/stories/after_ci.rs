//! The trusted workflow where the App does not start it: the end of the change's own CI does, by `on: workflow_run`.

use phasegate::rehearsal::{Bot, REPO, Rehearsal, Setup, WORKFLOW};
use serde_json::{Value, json};

use super::artefact::{leaves, uploaded};
use super::evidence::{DIM, bodies, proposes, setup};
use super::trusted::{self, Trusted};
use super::{assert_merge, merge_says};

fn after() -> Setup {
    let Setup { policy: Some(policy), mut files, .. } = setup() else { panic!("it has a policy") };
    let template = files.iter_mut().find(|(path, _)| path == trusted::WORKFLOW).unwrap();
    template.1 = trusted::AFTER.to_owned();
    Setup { files, ..Setup::with_policy(&format!("{policy}    start: workflow_run\n")) }
}

/// The change's own CI has run on its head.
fn ci(on: &Rehearsal, number: u64) -> u64 {
    let head = on.head(number).unwrap();
    on.admin().workflow_run(REPO, &head, WORKFLOW, "pull_request", &[("test", Some("success"))]).unwrap()
}

fn started(on: &Rehearsal) -> usize {
    on.admin().dispatched(REPO, trusted::WORKFLOW).unwrap().len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_merges_on_what_ran_after_its_ci() {
    let on = Rehearsal::start(after()).await.unwrap();
    let number = proposes(&on, "dim", DIM).await;
    assert_merge(&on, number, "action_required");
    assert_eq!((bodies(&on, number, "asked").len(), started(&on)), (1, 0), "it is asked for, and nobody starts it");
    let says = merge_says(&on, number);
    assert!(says.contains("has not answered for") && says.contains("under `workflow_run` has ended"), "{says}");

    let trusted = Trusted::after(&on, ci(&on, number));
    let told = trusted.answers(&on).await;
    assert!(String::from_utf8_lossy(&told.stdout).contains("Taken"), "{told:?}");
    let ran = bodies(&on, number, "ran");
    assert_eq!(ran.len(), 1, "{ran:#?}");
    assert_eq!(ran[0]["by"]["workflow"]["run"], trusted.run);
    assert_eq!((&ran[0]["body"]["tests"], &ran[0]["body"]["findings"]), (&json!(2), &json!([])), "{:#}", ran[0]);
    assert_eq!(ran[0]["body"]["nonce"], bodies(&on, number, "asked")[0]["body"]["nonce"]);
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "success");

    // What nobody waits for is no failure of the run that brings it.
    let late = Trusted::after(&on, ci(&on, number));
    late.executes(&on);
    let told = late.posts(&on).await;
    let says = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.status.success() && says.contains("is waited for on any open pull request"), "{told:?}");
    assert_eq!(bodies(&on, number, "ran").len(), 1);
    on.merges("mia", number).await.unwrap().unwrap();
    on.end().await;
}

/// A change whose test is red until there is a file `on` in the folder that comes with it.
async fn flaky(on: &Rehearsal) -> (u64, tempfile::TempDir) {
    let flag = tempfile::tempdir().unwrap();
    let flaky = format!(". ./lamp.sh\n[ \"$dim\" = 1 ] && [ -e {}/on ]\n", flag.path().display());
    let before = on.admin().file(REPO, "main", ".github/phasegate.yml").unwrap().unwrap();
    let policy = format!("{before}    earned: show\n    confine: {{ read: [\"{}\"] }}\n", flag.path().display());
    on.lands("mia", "read there", &[(".github/phasegate.yml", &policy)]).await.unwrap();
    (proposes(on, "dim", &[DIM[0], ("tests/dim.sh", &flaky)]).await, flag)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_red_is_run_anew_by_another_run_and_no_run_answers_twice() {
    let on = Rehearsal::start(after()).await.unwrap();
    let (number, flag) = flaky(&on).await;
    let first = Trusted::after(&on, ci(&on, number));
    first.answers(&on).await;
    assert_merge(&on, number, "failure");

    std::fs::write(flag.path().join("on"), "").unwrap();
    on.says("ada", number, "/verify").await.unwrap();
    assert_eq!((bodies(&on, number, "asked").len(), started(&on)), (2, 0));
    // The first run is of the same head, and what it had to say is said.
    first.executes(&on);
    let told = first.posts(&on).await;
    let says = String::from_utf8_lossy(&told.stdout).into_owned() + &String::from_utf8_lossy(&told.stderr);
    assert!(!told.status.success() && says.contains("attempt 1 of it has answered before"), "{says}");
    assert_eq!(bodies(&on, number, "ran").len(), 1);

    Trusted::after(&on, ci(&on, number)).answers(&on).await;
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "success");
    let says = merge_says(&on, number);
    let red = format!("The same content was red before, in run {}.", first.run);
    assert!(says.contains(&red) && !says.contains("was started for the same"), "{says}");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_attempt_of_the_same_run_does_not_take_its_red_back() {
    let on = Rehearsal::start(after()).await.unwrap();
    let (number, flag) = flaky(&on).await;
    let run = Trusted::after(&on, ci(&on, number));
    run.answers(&on).await;
    assert_merge(&on, number, "failure");
    std::fs::write(flag.path().join("on"), "").unwrap();
    on.says("ada", number, "/verify").await.unwrap();
    on.admin().rerun(REPO, run.run, &[("execute", None), ("post", None)]).unwrap();
    run.answers(&on).await;
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "success");
    let says = merge_says(&on, number);
    assert!(says.contains(&format!("The same content was red before, in run {}.", run.run)), "{says}");
    assert!(!says.contains("What came of it before was not told"), "{says}");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_start_that_the_policy_names_counts() {
    let on = Rehearsal::start(after()).await.unwrap();
    let number = proposes(&on, "dim", DIM).await;
    let run = Trusted::after(&on, ci(&on, number));
    run.executes(&on);
    let head = on.head(number).unwrap();
    let answers = async |bend: &dyn Fn(&mut Value), about: &str| {
        let mut claims = on.admin().token_claims(REPO, run.run, &on.server_url()).unwrap();
        bend(&mut claims);
        let token = on.admin().token_with(&claims).unwrap();
        let url = format!("{}/api/evidence?{about}", on.server_url());
        let answer = reqwest::Client::new().post(url).bearer_auth(token).body(run.written().to_string());
        let answer: Value = answer.send().await.unwrap().json().await.unwrap();
        on.settle().await.unwrap();
        answer["refused"].as_str().unwrap_or("taken").to_owned()
    };
    let owner = REPO.split('/').next().unwrap();
    let about = format!("head={head}&branch={owner}:dim");
    assert_eq!(answers(&|claims| claims["event_name"] = json!("workflow_dispatch"), &about).await, "wrong_workflow");
    assert_eq!(answers(&|claims| claims["event_name"] = json!("pull_request"), &about).await, "wrong_workflow");
    assert_eq!(answers(&|claims| claims["ref_protected"] = json!("false"), &about).await, "unprotected_ref");
    assert_eq!(answers(&|_| (), &format!("head={head}")).await, "no_nonce");
    assert_eq!(answers(&|_| (), &format!("head=x&branch={owner}:dim")).await, "no_nonce");
    assert_eq!(answers(&|_| (), &format!("{about}&change={number}")).await, "no_nonce");
    assert_eq!(answers(&|_| (), &format!("head={}&branch={owner}:dim", "b".repeat(40))).await, "unasked");
    assert_eq!(answers(&|_| (), &format!("head={head}&branch={owner}:other")).await, "unasked");
    assert!(bodies(&on, number, "ran").is_empty());
    assert_eq!(bodies(&on, number, "tampered").len(), 2, "both other starts are on record");
    assert_eq!(answers(&|_| (), &about).await, "taken");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_an_action_what_it_left_is_fetched() {
    let on = Rehearsal::start(Setup { bot: Bot::Action, ..after() }).await.unwrap();
    let number = proposes(&on, "dim", &[("lamp.sh", "level=0\ndim=1\n"), DIM[1]]).await;
    assert_eq!((bodies(&on, number, "asked").len(), started(&on)), (1, 0));
    let first = Trusted::after(&on, ci(&on, number));
    first.executes(&on);
    leaves(&on, first.run, &uploaded(&first), "failure").await;
    assert_merge(&on, number, "failure");

    on.pushes("rover", "dim", "mended", DIM).await.unwrap();
    assert_eq!((bodies(&on, number, "asked").len(), started(&on)), (2, 0));
    let second = Trusted::after(&on, ci(&on, number));
    assert!(second.executes(&on).status.success());
    leaves(&on, second.run, &uploaded(&second), "success").await;
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "success");
    assert_eq!(bodies(&on, number, "ran").len(), 2);
    assert_eq!(bodies(&on, number, "tampered"), Vec::<Value>::new());
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_from_a_fork_is_known_by_its_branch() {
    let on = Rehearsal::start(after()).await.unwrap();
    let fork = on.admin().fork(REPO, "eve").unwrap().slug;
    let files: Vec<(&str, Option<&str>)> = DIM.iter().map(|(path, text)| (*path, Some(*text))).collect();
    on.admin().commit(&fork, "eve", "dim", "work", &files).unwrap();
    let number = on.admin().open_pull(REPO, "eve", "Dim", "eve:dim", "main").unwrap();
    on.settle().await.unwrap();
    // Whoever lets its CI run has looked at it.
    assert_eq!(bodies(&on, number, "asked").len(), 1, "{:#?}", on.records(number));
    Trusted::after(&on, ci(&on, number)).answers(&on).await;
    assert_eq!(bodies(&on, number, "ran")[0]["body"]["findings"], json!([]));
    on.end().await;
}

/// Nothing is started, so nothing has to be allowed to be.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_takes_no_more_than_reading_what_ran() {
    let on = Rehearsal::start(Setup { bot: Bot::Advisory, ..after() }).await.unwrap();
    let number = proposes(&on, "dim", DIM).await;
    let run = Trusted::after(&on, ci(&on, number));
    assert!(run.executes(&on).status.success());
    leaves(&on, run.run, &uploaded(&run), "success").await;
    // What is left is a person's to say.
    let says = merge_says(&on, number);
    assert!(says.contains("MRG-02") && !says.contains("MRG-01"), "{says}");
    on.end().await;
}

/// A push starts CI as well as the pull request does, and what follows the push has nothing to run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_was_skipped_is_nobodys() {
    let on = Rehearsal::start(after()).await.unwrap();
    let number = proposes(&on, "dim", DIM).await;
    let run = Trusted::after(&on, ci(&on, number));
    let skipped = Trusted::after(&on, ci(&on, number));
    on.admin().end_run(REPO, skipped.run, "skipped").unwrap();
    on.settle().await.unwrap();
    assert!(!merge_says(&on, number).contains("skipped"), "{}", merge_says(&on, number));
    run.answers(&on).await;
    assert_eq!(bodies(&on, number, "ran")[0]["body"]["findings"], json!([]));
    on.end().await;
}
