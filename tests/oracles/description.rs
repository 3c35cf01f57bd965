//! The check against GitHub's description is alive: it is shown exchanges that are wrong in every way it knows, and must
//! name each; and one that is right. `tests/run.sh` runs it on all that the tests have said, as its last step.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

fn check(folder: &Path, deviations: &Value) -> (bool, String) {
    let list = folder.join("deviations");
    std::fs::write(&list, deviations.to_string()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracles/description.cjs");
    for name in ["PHASEGATE_AJV", "PHASEGATE_OPENAPI", "PHASEGATE_GRAPHQL", "PHASEGATE_GRAPHQL_SCHEMA"] {
        super::oracle(name);
    }
    let output = Command::new("node").arg(script).arg(folder).arg(list).output().unwrap();
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    (output.status.success(), said)
}

fn keep(folder: &Path, at: usize, mut exchange: Value) {
    exchange["story"] = format!("story {at}").into();
    std::fs::write(folder.join(format!("{at:03}.json")), exchange.to_string()).unwrap();
}

/// A request of the bot with its answer.
fn rest(method: &str, path: &str, query: &str, status: u16, request: Option<Value>, response: Option<Value>) -> Value {
    let mut exchange = json!({
        "kind": "rest", "method": method, "path": path, "route": path, "query": query, "status": status,
        "bot": true, "played": false, "raw": false,
    });
    for (name, body) in [("request", request), ("response", response)] {
        if let Some(body) = body {
            exchange[name] = body;
        }
    }
    exchange
}

fn label() -> Value {
    json!({
        "id": 1, "node_id": "LA_1", "url": "https://api.github.com/repos/o/r/labels/x", "name": "x",
        "description": null, "color": "ededed", "default": false,
    })
}

fn with(mut body: Value, field: &str, value: Option<Value>) -> Value {
    match value {
        Some(value) => body[field] = value,
        None => drop(body.as_object_mut().unwrap().remove(field)),
    }
    body
}

fn graphql(query: &str, variables: Value, response: Value) -> Value {
    let request = json!({ "query": query, "variables": variables });
    json!({ "kind": "graphql", "bot": true, "played": false, "request": request, "response": response })
}

#[test]
fn what_github_does_not_describe_is_named() {
    let answer = |body| rest("GET", "/repos/o/r/labels/x", "", 200, None, Some(body));
    let list = |query| rest("GET", "/repos/o/r/labels", query, 200, None, Some(json!([label()])));
    let makes = |request| rest("POST", "/repos/o/r/labels", "", 201, request, Some(label()));
    let hook = |event: &str, action: &str, payload: Value| {
        let headers = ["User-Agent", "X-GitHub-Delivery", "X-GitHub-Event"];
        json!({ "kind": "webhook", "event": event, "action": action, "headers": headers, "payload": payload })
    };
    let wrong: Vec<(Value, &str)> = vec![
        (list("per_pag=3"), "GET /repos/{owner}/{repo}/labels request  query per_pag: is not in the description"),
        (list("per_page=many"), "query per_page: must be integer; found \"many\""),
        (
            rest("GET", "/repos/o/r/pulls", "state=opened", 200, None, Some(json!([]))),
            "query state: must be equal to one",
        ),
        (
            rest("GET", "/repos/o/r/pulls/x", "", 404, None, Some(json!({"message": "m"}))),
            "path pull_number: must be integer",
        ),
        (rest("GET", "/repos/o/r/nothing", "", 200, None, None), "GET /repos/o/r/nothing  operation: is not in the"),
        (makes(None), "body: is required"),
        (makes(Some(json!({"color": "ededed"}))), "body /: must have required property 'name'"),
        (makes(Some(json!({"name": 7}))), "body /name: must be string; found 7"),
        (makes(Some(json!({"name": "x", "colour": "red"}))), "body /colour: is not in the description"),
        (
            rest("DELETE", "/repos/o/r/labels/x", "", 204, Some(json!({"a": 1})), None),
            "body: there is none in the description",
        ),
        (rest("GET", "/repos/o/r/labels/x", "", 418, None, Some(label())), "labels/{name} 418  status: is not in the"),
        (rest("GET", "/repos/o/r/labels/x", "", 200, None, None), "labels/{name} 200  body: is missing"),
        (
            rest("GET", "/repos/o/r/labels/x", "", 403, None, Some(json!({"message": 4}))),
            "403  /message: must be string",
        ),
        (answer(with(label(), "node_id", None)), "200  /: must have required property 'node_id'"),
        (answer(with(label(), "color", Some(Value::Null))), "200  /color: must be string; found null"),
        (answer(with(label(), "url", Some("nowhere".into()))), "200  /url: must match format \"uri\""),
        (answer(with(label(), "shoe_size", Some(43.into()))), "200  /shoe_size: is not in the description; found 43"),
        (hook("pull_request", "danced", json!({})), "webhook pull_request.danced  event: is not in the description"),
        (hook("star", "created", json!({"action": "created"})), "webhook star.created  /: must have required property"),
        (hook("star", "created", json!({"action": "made"})), "webhook star.created  /action: must be equal to one"),
        (
            hook("star", "created", json!({"action": "created"})),
            "webhook star.created  header X-Hub-Signature-256: is miss",
        ),
        (
            graphql("{ viewer { shoeSize } }", json!({}), json!({})),
            "GraphQL viewer  query: Cannot query field \"shoeSize\"",
        ),
        (graphql("{ viewer", json!({}), json!({})), "GraphQL viewer  query: Syntax Error"),
        (
            graphql("query($l: String!) { user(login: $l) { login } }", json!({}), json!({})),
            "GraphQL user  query: Variable \"$l\" of required type",
        ),
        (
            graphql("{ viewer { login } }", json!({}), json!({"data": {"viewer": {"login": 5}}})),
            "GraphQL viewer  /data/viewer/login: String cannot represent",
        ),
        (
            graphql("{ viewer { id login } }", json!({}), json!({"data": {"viewer": {"login": "a"}}})),
            "GraphQL viewer  /data/viewer/id: was asked for and is missing",
        ),
    ];
    let dir = tempfile::tempdir().unwrap();
    for (at, (exchange, _)) in wrong.iter().enumerate() {
        keep(dir.path(), at, exchange.clone());
    }
    let deviations = json!([{ "where": "GET /repos/o/r", "at": "/", "what": "is", "why": "because" }]);
    let (passed, said) = check(dir.path(), &deviations);
    assert!(!passed, "{said}");
    for (at, (_, named)) in wrong.iter().enumerate() {
        let line = said.lines().find(|line| line.contains(named));
        let line = line.unwrap_or_else(|| panic!("{at}: not named: {named}\n{said}"));
        assert!(line.contains("(story "), "no story: {line}");
    }
    assert!(said.contains("GET /repos/o/r / does not say why"), "{said}");
    assert!(said.contains("GET /repos/o/r / is no longer needed: take it out"), "{said}");
}

/// What every webhook comes with.
const HEADERS: [&str; 7] = [
    "User-Agent",
    "X-GitHub-Delivery",
    "X-GitHub-Event",
    "X-GitHub-Hook-ID",
    "X-GitHub-Hook-Installation-Target-ID",
    "X-GitHub-Hook-Installation-Target-Type",
    "X-Hub-Signature-256",
];

#[test]
fn what_github_describes_passes_and_so_does_what_differs_on_purpose() {
    let dir = tempfile::tempdir().unwrap();
    let (passed, said) = check(dir.path(), &json!([]));
    let kinds = ["has no exchanges", "has no webhooks", "has no GraphQL queries"];
    assert!(!passed && kinds.iter().all(|kind| said.contains(kind)), "{said}");

    let odd = with(label(), "shoe_size", Some(43.into()));
    let played = rest("GET", "/repos/o/r/labels/x", "", 418, None, None);
    let stale = json!({ "message": "m", "documentation_url": "https://docs.github.com", "errors": [] });
    for (at, exchange) in [
        rest("GET", "/repos/o/r/labels", "per_page=100", 200, None, Some(json!([label()]))),
        rest("POST", "/repos/o/r/labels", "", 201, Some(json!({"name": "x"})), Some(label())),
        rest("POST", "/repos/o/r/labels", "", 422, Some(json!({"name": "x"})), Some(stale)),
        rest("GET", "/repos/o/r/git/ref/heads/a/b", "", 404, None, Some(json!({"message": "m"}))),
        rest("GET", "/repos/o/r/labels/x", "", 200, None, Some(odd)),
        with(played, "played", Some(true.into())),
        graphql("{ viewer { login } }", json!({}), json!({"data": {"viewer": {"login": "a"}}})),
        json!({ "kind": "webhook", "event": "ping", "headers": HEADERS, "payload": { "zen": "Design for failure." } }),
    ]
    .into_iter()
    .enumerate()
    {
        keep(dir.path(), at, exchange);
    }
    let deviations = json!([{
        "where": "* 200", "at": "/shoe_size", "what": "is not in the description", "why": "This label belongs to a shoe.",
    }]);
    let (passed, said) = check(dir.path(), &deviations);
    assert!(passed, "{said}");
    let counts = "4 operations, 6 exchanges (6 requests of the bot; 1 answers were played";
    assert!(said.contains(counts) && said.contains("0 violations, 1 deviations"), "{said}");

    // Where one of the three is missing, nothing was said of it.
    for (at, kind) in [(6, "has no GraphQL queries"), (7, "has no webhooks")] {
        let (hidden, shown) = (dir.path().join("hidden"), dir.path().join(format!("{at:03}.json")));
        std::fs::rename(&shown, &hidden).unwrap();
        let (passed, said) = check(dir.path(), &deviations);
        assert!(!passed && said.contains(kind) && said.matches(" has no ").count() == 1, "{said}");
        std::fs::rename(hidden, shown).unwrap();
    }
}

/// What differs at the same place and in the same way, but has another value, is not meant by a deviation that names one.
#[test]
fn a_deviation_hides_what_it_names_and_nothing_beside_it() {
    let named = json!([{
        "where": "* 200", "at": "/shoe_size", "what": "is not in the description; found 4", "why": "This label belongs to a shoe.",
    }]);
    for sizes in [[43, 70], [70, 43]] {
        let dir = tempfile::tempdir().unwrap();
        for (at, size) in sizes.into_iter().enumerate() {
            let odd = with(label(), "shoe_size", Some(size.into()));
            keep(dir.path(), at, rest("GET", "/repos/o/r/labels/x", "", 200, None, Some(odd)));
        }
        let (passed, said) = check(dir.path(), &named);
        assert!(!passed && said.contains("1 violations, 1 deviations"), "{said}");
        assert!(said.contains("found 70") && !said.contains("found 43"), "{said}");
    }
}
