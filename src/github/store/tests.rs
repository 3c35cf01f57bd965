//! The ledger's branch on a GitHub without GraphQL, and on one that only has a bad day.

use base64::Engine as _;
use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, Respond, ResponseTemplate};

use super::*;
use crate::github::client_tests::{Stage, in_turn, ok, stage, status};

const GRAPHQL: &str = "/api/graphql";
const REF: &str = "/repos/o/r/git/ref/heads/ledger";
const MOVE: &str = "/repos/o/r/git/refs/heads/ledger";
const COMMITS: &str = "/repos/o/r/commits";

fn id(digit: &str) -> String {
    digit.repeat(40)
}

fn commit(digit: &str) -> CommitId {
    CommitId::new(id(digit)).unwrap()
}

fn at(digit: &str) -> ResponseTemplate {
    ok(json!({"ref": "refs/heads/ledger", "object": {"sha": id(digit), "type": "commit"}}))
}

fn made(digit: &str) -> ResponseTemplate {
    ResponseTemplate::new(201).set_body_json(json!({"sha": id(digit)}))
}

fn refused(message: &str) -> ResponseTemplate {
    ResponseTemplate::new(422).set_body_json(json!({"message": message}))
}

/// The newest commits of the branch.
fn history(digits: &[&str]) -> ResponseTemplate {
    let commits: Vec<Value> =
        digits.iter().map(|digit| json!({"sha": id(digit), "commit": {"message": "m"}, "parents": []})).collect();
    ok(json!(commits))
}

async fn graphql_answers(on: &Stage, with: impl Respond + 'static) {
    Mock::given(method("POST")).and(path(GRAPHQL)).respond_with(with).mount(&on.server).await;
}

/// A GitHub with the repository, and whatever at GraphQL's address.
async fn with_graphql(with: impl Respond + 'static) -> (Stage, GitHubStore) {
    let on = stage().await;
    graphql_answers(&on, with).await;
    let repository = json!({"id": 5, "full_name": "o/r", "default_branch": "main", "owner": {"id": 1, "login": "o"}});
    on.answers("GET", "/repos/o/r", ok(repository)).await;
    let store = GitHubStore::new(on.repo.clone(), "ledger");
    (on, store)
}

/// One without GraphQL, where the branch is at 1, whose tree is 2; a new tree is 3, and the commit on it 4.
async fn without_graphql() -> (Stage, GitHubStore) {
    let (on, store) = with_graphql(status(404)).await;
    on.answers("GET", &format!("/repos/o/r/git/commits/{}", id("1")), ok(json!({"tree": {"sha": id("2")}}))).await;
    on.answers("POST", "/repos/o/r/git/trees", made("3")).await;
    on.answers("POST", "/repos/o/r/git/commits", made("4")).await;
    (on, store)
}

fn record() -> Vec<NewFile> {
    vec![NewFile { path: "changes/0/7/0002.json".to_owned(), bytes: b"{}".to_vec() }]
}

async fn append(store: &GitHubStore) -> Result<CommitId> {
    store.commit(Some(&commit("1")), "record 7", &record()).await
}

async fn tree(on: &Stage, digit: &str, entries: &[(&str, &str, &str)]) {
    let entries: Vec<Value> =
        entries.iter().map(|(path, mode, digit)| json!({"path": path, "mode": mode, "sha": id(digit)})).collect();
    let at = format!("/repos/o/r/git/trees/{}", id(digit));
    on.answers("GET", &at, ok(json!({"tree": entries, "truncated": false}))).await;
}

async fn blob(on: &Stage, digit: &str, bytes: &[u8]) {
    let content = base64::engine::general_purpose::STANDARD.encode(bytes);
    on.answers("GET", &format!("/repos/o/r/git/blobs/{}", id(digit)), ok(json!({"content": content}))).await;
}

#[tokio::test]
async fn without_graphql_the_branch_is_read_by_its_trees_and_only_once() {
    let (on, store) = without_graphql().await;
    on.answers("GET", REF, at("1")).await;
    tree(&on, "2", &[("aliases", "040000", "5"), ("changes", "040000", "6"), ("README", "100644", "f")]).await;
    tree(&on, "5", &[("9", "100644", "a")]).await;
    tree(&on, "6", &[("0", "040000", "7")]).await;
    tree(&on, "7", &[("7", "040000", "8")]).await;
    let binary = ("picture", "100644", "d");
    tree(&on, "8", &[("0001.json", "100644", "b"), ("0002.json", "100644", "c"), binary, ("x", "120000", "e")]).await;
    for (digit, text) in [("a", "7\n".as_bytes()), ("b", b"one"), ("c", b"two"), ("d", b"\xff\x00")] {
        blob(&on, digit, text).await;
    }
    let folder = store.folder("changes/0/7").await.unwrap();
    assert_eq!(folder.head, Some(commit("1")));
    let files: Vec<(&str, &str)> = folder.files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    assert_eq!(files, [("0001.json", "one"), ("0002.json", "two")], "what is no text, or a link, is no record");
    assert_eq!(store.file("aliases/9").await.unwrap().as_deref(), Some("7\n"));
    for nothing in ["aliases/8", "aliases", "aliases/9/x", "none/9"] {
        assert_eq!(store.file(nothing).await.unwrap(), None, "{nothing}");
    }
    let folders = ["changes/0".to_owned(), "changes/0/8".to_owned(), "changes/0/7".to_owned()];
    let names = store.names(&folders).await.unwrap();
    assert_eq!(names, [vec!["7"], vec![], vec!["0001.json", "0002.json", "picture", "x"]]);
    assert_eq!(store.folders(&folders).await.unwrap()[2], folder.files);
    assert_eq!(store.folder("changes/0/7").await.unwrap(), folder);

    // Found out once; after that an object is asked for once, and the branch each time.
    let asked = on.server.received_requests().await.unwrap();
    assert_eq!(asked.iter().filter(|request| request.url.path() == GRAPHQL).count(), 1);
    assert_eq!(on.asked("GET", "/repos/o/r").await, 1);
    for digit in ["2", "6", "8"] {
        assert_eq!(on.asked("GET", &format!("/repos/o/r/git/trees/{}", id(digit))).await, 1, "{digit}");
    }
    assert_eq!(on.asked("GET", &format!("/repos/o/r/git/blobs/{}", id("b"))).await, 1);
    assert_eq!(on.asked("GET", REF).await, 9);
}

#[tokio::test]
async fn what_is_no_graphql_is_known_by_its_answer_and_a_bad_day_is_not_taken_for_it() {
    let page = |code: u16| ResponseTemplate::new(code).set_body_string("<html>Welcome</html>");
    for missing in [status(404), status(405), status(501), page(200), page(400), page(404)] {
        let (on, store) = with_graphql(missing).await;
        on.answers("GET", REF, status(404)).await;
        assert_eq!(store.folder("changes/0/7").await.unwrap(), Folder::default());
        assert!(on.hub.lacks(Part::Graphql));
    }
    let limited = ResponseTemplate::new(403).insert_header("x-ratelimit-remaining", "0");
    let limited = limited.insert_header("x-ratelimit-reset", "4102444800");
    for weather in [status(500), status(502), page(503), status(401), status(403), limited, status(400)] {
        let (on, store) = with_graphql(weather).await;
        on.answers("GET", REF, at("1")).await;
        assert!(store.folder("changes/0/7").await.is_err());
        assert!(!on.hub.lacks(Part::Graphql), "REST was taken");
        assert_eq!(on.asked("GET", REF).await, 0);
    }
}

#[tokio::test]
async fn where_rest_does_not_answer_either_nothing_is_concluded() {
    let on = stage().await;
    graphql_answers(&on, status(404)).await;
    on.answers("GET", "/repos/o/r", in_turn([status(503), status(503), status(503), status(503)])).await;
    on.answers("GET", REF, at("1")).await;
    let store = GitHubStore::new(on.repo.clone(), "ledger");
    assert!(matches!(store.folder("changes/0/7").await, Err(StoreError::Unreachable(_))));
    assert!(!on.hub.lacks(Part::Graphql));
}

#[tokio::test]
async fn an_append_is_a_tree_a_commit_and_the_branch_moved_forward() {
    let (on, store) = without_graphql().await;
    on.answers("PATCH", MOVE, at("4")).await;
    assert_eq!(append(&store).await.unwrap(), commit("4"));
    let tree = &on.sent("POST", "/api/v3/repos/o/r/git/trees").await[0];
    assert_eq!(tree["base_tree"], id("2"));
    assert_eq!(tree["tree"][0]["content"], "{}");
    let made = &on.sent("POST", "/api/v3/repos/o/r/git/commits").await[0];
    assert_eq!(made["parents"], json!([id("1")]));
    assert_eq!(made["tree"], id("3"));
    let message = made["message"].as_str().unwrap();
    assert!(message.starts_with("record 7\n\nWrite-Id: "), "{message}");
    let moved = &on.sent("PATCH", &format!("/api/v3{MOVE}")).await[0];
    assert_eq!(*moved, json!({"sha": id("4"), "force": false}));

    // A second write of the same is another commit.
    append(&store).await.unwrap();
    let both = on.sent("POST", "/api/v3/repos/o/r/git/commits").await;
    assert_ne!(both[0]["message"], both[1]["message"]);
}

#[tokio::test]
async fn another_commit_in_between_is_a_conflict_whatever_words_it_comes_in() {
    let words = [
        refused("Update is not a fast forward"),
        refused("Update is not a fast-forward"),
        refused("Reference does not exist"),
        refused("Something else"),
        status(404),
        status(409),
    ];
    for refusal in words {
        let (on, store) = without_graphql().await;
        on.answers("PATCH", MOVE, refusal).await;
        on.answers("GET", COMMITS, history(&["9", "1"])).await;
        on.answers("GET", REF, at("9")).await;
        assert!(matches!(append(&store).await, Err(StoreError::Conflict)));
        assert_eq!(on.asked("PATCH", MOVE).await, 1, "it is not tried again as it is");
    }
    // The parent is gone, and so is the branch's head.
    let (on, store) = with_graphql(status(404)).await;
    on.answers("GET", &format!("/repos/o/r/git/commits/{}", id("1")), status(404)).await;
    on.answers("GET", REF, status(404)).await;
    assert!(matches!(append(&store).await, Err(StoreError::Conflict)));
    // A replica that has not heard of the other one.
    let (on, store) = without_graphql().await;
    on.answers("PATCH", MOVE, refused("Update is not a fast forward")).await;
    on.answers("GET", COMMITS, history(&["1"])).await;
    on.answers("GET", REF, at("1")).await;
    assert!(matches!(append(&store).await, Err(StoreError::Conflict)));
}

#[tokio::test]
async fn a_refusal_of_a_branch_that_has_not_moved_is_told_as_it_is() {
    let (on, store) = without_graphql().await;
    on.answers("PATCH", MOVE, refused("Repository rule violations found")).await;
    on.answers("GET", COMMITS, history(&["1"])).await;
    on.answers("GET", REF, at("1")).await;
    match append(&store).await {
        Err(StoreError::Refused(why)) => assert!(why.contains("rule violations"), "{why}"),
        other => panic!("{other:?}"),
    }
    let (on, store) = without_graphql().await;
    let lacks = json!({"message": "Resource not accessible by integration"});
    on.answers("PATCH", MOVE, ResponseTemplate::new(403).set_body_json(lacks)).await;
    assert!(matches!(append(&store).await, Err(StoreError::NotPermitted(_))));
}

#[tokio::test]
async fn after_an_unclear_answer_it_is_looked_before_it_is_written_again() {
    // It landed, and somebody has gone on from it: nothing is written again.
    let (on, store) = without_graphql().await;
    on.answers("PATCH", MOVE, in_turn([status(502), refused("Update is not a fast forward")])).await;
    on.answers("GET", COMMITS, history(&["9", "4", "1"])).await;
    assert_eq!(append(&store).await.unwrap(), commit("4"));
    assert_eq!(on.asked("PATCH", MOVE).await, 1);

    // It did not land: the same commit is moved to, not a second one.
    let (on, store) = without_graphql().await;
    on.answers("PATCH", MOVE, in_turn([status(502), at("4")])).await;
    on.answers("GET", COMMITS, history(&["1"])).await;
    assert_eq!(append(&store).await.unwrap(), commit("4"));
    assert_eq!(on.asked("PATCH", MOVE).await, 2);
    assert_eq!(on.asked("POST", "/repos/o/r/git/commits").await, 1);

    // It did not land at first, then late, with another's on top: the list was behind.
    let (on, store) = without_graphql().await;
    on.answers("PATCH", MOVE, in_turn([status(502), refused("Update is not a fast forward")])).await;
    on.answers("GET", COMMITS, in_turn([history(&["1"]), history(&["1"]), history(&["9", "4", "1"])])).await;
    assert_eq!(append(&store).await.unwrap(), commit("4"));

    // Nobody can say.
    let (on, store) = without_graphql().await;
    on.answers("PATCH", MOVE, status(502)).await;
    on.answers("GET", COMMITS, status(502)).await;
    assert!(matches!(append(&store).await, Err(StoreError::Unclear(_))));
}

#[tokio::test]
async fn what_fails_before_the_branch_is_moved_was_certainly_not_written() {
    let (on, store) = with_graphql(status(404)).await;
    on.answers("GET", &format!("/repos/o/r/git/commits/{}", id("1")), ok(json!({"tree": {"sha": id("2")}}))).await;
    on.answers("POST", "/repos/o/r/git/trees", status(502)).await;
    assert!(matches!(append(&store).await, Err(StoreError::Unreachable(_))));
    assert_eq!(on.asked("PATCH", MOVE).await, 0);
}

#[tokio::test]
async fn a_ledger_begins_the_same_on_both_roads() {
    let (on, store) = without_graphql().await;
    on.answers("POST", "/repos/o/r/git/refs", in_turn([at("4"), refused("Reference already exists")])).await;
    assert_eq!(store.commit(None, "record 7", &record()).await.unwrap(), commit("4"));
    assert!(matches!(store.commit(None, "record 7", &record()).await, Err(StoreError::Conflict)));
    let bytes = vec![NewFile { path: "x".to_owned(), bytes: vec![0xff] }];
    assert!(matches!(store.commit(None, "m", &bytes).await, Err(StoreError::Refused(_))));
}
