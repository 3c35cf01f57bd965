//! Runs that meet. GitHub starts one for each event, and `concurrency` can't hold back what does not name the change: here
//! the real binary is started several times in the same moment, as for a pull request, the end of its gates and the schedule.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::{Method, Request, Response, header};
use futures::future::join_all;
use phasegate::rehearsal::{Bot, CHECK, MERGE_POLICY, REPO, Rehearsal, WORKFLOW};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore};

use crate::act::{REFEREE, template};
use crate::bad_input::{Step, pulled, stage};

/// Stands between a run and the API, and holds back what it writes to one place.
struct Held {
    api: String,
    url: String,
    http: reqwest::Client,
    /// What is held back, by the end of its path.
    place: String,
    /// One has come; and how many may go on.
    came: Notify,
    goes_on: Semaphore,
}

impl Held {
    async fn back(on: &Rehearsal, place: &str) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let twin = reqwest::Url::parse(&on.api_url()).unwrap();
        let url = format!("http://{}{}", listener.local_addr().unwrap(), twin.path().trim_end_matches('/'));
        let api = format!("http://{}", twin.authority());
        let (came, goes_on) = (Notify::new(), Semaphore::new(0));
        let held = Arc::new(Self { api, url, http: reqwest::Client::new(), place: place.to_owned(), came, goes_on });
        let router = Router::new().fallback(pass_on).with_state(Arc::clone(&held));
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        held
    }
}

async fn pass_on(State(held): State<Arc<Held>>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    if parts.method != Method::GET && parts.uri.path().ends_with(&held.place) {
        held.came.notify_one();
        // Whoever was to let it go on may have failed: the test is to end all the same.
        let _ =
            tokio::time::timeout(Duration::from_secs(60), held.goes_on.acquire()).await.map(|go| go.unwrap().forget());
    }
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let url = format!("{}{}", held.api, parts.uri.path_and_query().unwrap());
    let mut asked = held.http.request(parts.method, url).body(body);
    for name in [header::AUTHORIZATION, header::ACCEPT, header::CONTENT_TYPE, header::USER_AGENT] {
        asked = parts.headers.get(&name).into_iter().fold(asked, |asked, value| asked.header(&name, value));
    }
    let answer = asked.send().await.unwrap();
    let told = Response::builder().status(answer.status()).header(header::CONTENT_TYPE, "application/json");
    told.body(Body::from(answer.bytes().await.unwrap())).unwrap()
}

/// What a run of the gates ends with, told to the referee.
fn gates_ended(on: &Rehearsal, number: u64) -> Value {
    let pull = on.pull(number).unwrap();
    json!({ "action": "completed", "repository": pull["base"]["repo"], "sender": pull["user"],
        "workflow_run": { "id": 1, "head_sha": pull["head"]["sha"], "head_branch": pull["head"]["ref"],
            "head_repository": pull["head"]["repo"] } })
}

/// Where a change stands: the newest merge check, and the one comment.
fn stands(on: &Rehearsal, number: u64, conclusion: &str, words: &str) {
    let newest = on.merge_run(number).unwrap();
    assert_eq!(newest.conclusion.as_deref(), Some(conclusion), "#{number}: {newest:#?}");
    let comment = on.status_comment(number).unwrap();
    assert!(comment.body.contains(words), "#{number}: {}", comment.body);
}

/// At the workflow, a run that the job's `if` skips would wait with the others, and throw one of them out.
#[test]
fn what_is_skipped_throws_out_nothing_that_waits() {
    for kind in ["action", "advisory"] {
        let files = template(kind);
        let (_, referee) = files.iter().find(|(name, _)| name == REFEREE).unwrap();
        let referee: Value = serde_yaml::from_str(referee).unwrap();
        assert_eq!(referee["concurrency"], Value::Null, "{kind}");
        let group = referee["jobs"]["referee"]["concurrency"]["group"].as_str().unwrap();
        assert!(group.contains("github.event.pull_request.number"), "{kind}: {group}");
    }
}

/// Whoever comes first begins a change's comment; here two come first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_comments_the_first_stays() {
    let (on, number) = stage(Bot::Action, Some(MERGE_POLICY)).await;
    let held = Held::back(&on, "/comments").await;
    let events = [("pull_request_target", pulled(&on, number, "opened")), ("workflow_run", gates_ended(&on, number))];
    let steps = events.each_ref().map(|(event, _)| Step::on(&on, event).by(&held.url));
    let both_have_come = async {
        held.came.notified().await;
        held.came.notified().await;
        held.goes_on.add_permits(2);
    };
    let runs = join_all(steps.iter().zip(&events).map(|(step, (_, payload))| step.given(payload)));
    let (ended, ()) = tokio::join!(runs, both_have_come);
    assert!(ended.iter().all(|ended| ended.rc == 0), "{ended:#?}");
    let comments: Vec<u64> = on.admin().comments(REPO, number).unwrap().iter().map(|comment| comment.id).collect();
    let asked = on.writes();
    let made = asked.iter().filter(|asked| asked.method == "POST" && asked.path.ends_with("/comments")).count();
    assert_eq!((made, comments.len()), (2, 1), "two were written, and one stays");
    stands(&on, number, "action_required", "has not run");
    on.end().await;
}

/// What the slower of two runs saw is not so any more when it writes it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_slower_of_two_has_not_the_last_word() {
    let (on, number) = approved_unseen().await;
    overtaken(&on, number, "FAIL", async { review(&on, number, "REQUEST_CHANGES") }).await;
    stands(&on, number, "failure", "mia");
    on.end().await;
}

/// Nor is the policy that it had read, and the second look is not by that one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_slower_of_two_does_not_judge_by_the_policy_of_before() {
    let (on, number) = approved_unseen().await;
    let stricter = format!("{MERGE_POLICY}merge: {{ approvals: 2 }}\n");
    overtaken(&on, number, "WAITING", async {
        on.lands("root", "two approve from now on", &[(".github/phasegate.yml", &stricter)]).await.unwrap();
    })
    .await;
    stands(&on, number, "action_required", "the policy moved under this change");
    on.end().await;
}

/// Nor the head.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_slower_of_two_does_not_bring_the_old_head_back() {
    let (on, number) = approved_unseen().await;
    let old = on.head(number).unwrap();
    overtaken(&on, number, "WAITING", async {
        on.admin().commit(REPO, "rover", &branch(&on, number), "more", &[("src/more.py", Some("pass\n"))]).unwrap();
    })
    .await;
    let new = on.head(number).unwrap();
    assert_ne!(old, new);
    let comment = on.status_comment(number).unwrap().body;
    assert!(comment.contains(&new[..7]) && !comment.contains(&old[..7]), "{comment}");
    stands(&on, number, "action_required", "has not run");
    on.end().await;
}

/// Two that see the same stop ask people once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_issues_the_first_stays() {
    let (on, number) = stage(Bot::Action, Some(MERGE_POLICY)).await;
    on.says("rover", number, "/status").await.unwrap();
    let held = Held::back(&on, "/issues").await;
    let said = json!({ "body": "/stop it leaks the key" });
    on.admin().call_as("mia", "POST", &format!("/repos/{REPO}/issues/{number}/comments"), said).unwrap();
    let payload = gates_ended(&on, number);
    let steps = [(); 2].map(|()| Step::on(&on, "workflow_run").by(&held.url));
    let both_have_come = async {
        held.came.notified().await;
        held.came.notified().await;
        held.goes_on.add_permits(2);
    };
    let runs = join_all(steps.iter().map(|step| step.given(&payload)));
    let (ended, ()) = tokio::join!(runs, both_have_come);
    assert!(ended.iter().all(|ended| (ended.rc, ended.output("verdict")) == (0, "FAIL")), "{ended:#?}");
    let path = format!("/repos/{REPO}/issues?labels=phasegate:escalation&state=all");
    let issues = on.admin().call_as("mia", "GET", &path, Value::Null).unwrap();
    let mut issues: Vec<&Value> = issues.as_array().unwrap().iter().collect();
    issues.sort_by_key(|issue| issue["number"].as_u64());
    let [first, other] = issues[..] else { panic!("two were opened: {issues:#?}") };
    assert_eq!((first["state"].as_str(), other["state"].as_str()), (Some("open"), Some("closed")));
    let where_to = format!("The question stands in #{}", first["number"]);
    assert!(other["body"].as_str().unwrap().contains(&where_to), "{other:#?}");
    stands(&on, number, "failure", &format!("#{}", first["number"]));
    on.end().await;
}

fn branch(on: &Rehearsal, number: u64) -> String {
    on.pull(number).unwrap()["head"]["ref"].as_str().unwrap().to_owned()
}

fn review(on: &Rehearsal, number: u64, verdict: &str) {
    let path = format!("/repos/{REPO}/pulls/{number}/reviews");
    on.admin().call_as("mia", "POST", &path, json!({ "event": verdict, "body": "Looked." })).unwrap();
}

/// A change that is red on record and has an approval that no run has seen: the next has a green to write.
async fn approved_unseen() -> (Rehearsal, u64) {
    let (on, number) = stage(Bot::Action, Some(MERGE_POLICY)).await;
    let head = on.head(number).unwrap();
    on.admin().workflow_run(REPO, &head, WORKFLOW, "pull_request", &[(CHECK, Some("success"))]).unwrap();
    on.reviews("mia", number, "APPROVE").await.unwrap();
    stands(&on, number, "success", "may merge");
    on.reviews("mia", number, "REQUEST_CHANGES").await.unwrap();
    stands(&on, number, "failure", "mia");
    review(&on, number, "APPROVE");
    (on, number)
}

/// One run is held back when it writes its green; meanwhile something happens, and another run sees it. Both have to come
/// to the same end.
async fn overtaken(on: &Rehearsal, number: u64, verdict: &str, happens: impl Future<Output = ()>) {
    let held = Held::back(on, &format!("/check-runs/{}", on.merge_run(number).unwrap().id)).await;
    let slow = Step::on(on, "workflow_run").by(&held.url);
    let payload = gates_ended(on, number);
    let meanwhile = async {
        held.came.notified().await;
        happens.await;
        let ended = Step::on(on, "workflow_run").given(&gates_ended(on, number)).await;
        assert_eq!(ended.output("verdict"), verdict, "{ended:#?}");
        held.goes_on.add_permits(100);
    };
    let (ended, ()) = tokio::join!(slow.given(&payload), meanwhile);
    assert_eq!((ended.rc, ended.output("verdict")), (0, verdict), "{ended:#?}");
}
