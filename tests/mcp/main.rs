//! `phasegate mcp` as a client meets it that speaks the protocol by hand: every line it is sent, and every line it answers.

#![allow(clippy::unwrap_used, reason = "a test that can not go on has failed")]

mod client;
#[path = "../support/desk.rs"]
mod desk;
mod task;
mod tools;

use std::io::Write as _;
use std::process::Stdio;

use client::{Client, command, hello};
use desk::Desk;
use phasegate::rehearsal::{LEDGER, REPO};
use serde_json::{Value, json};

/// What a model reads of the tools before it has done anything: names, descriptions, what they take.
const MOST_READ: usize = 5_000;
/// The whole list, with what they answer.
const MOST_LISTED: usize = 10_000;
/// In the order in which they are listed.
const ALL: [&str; 11] = [
    "next",
    "status",
    "explain",
    "ls",
    "glob",
    "grep",
    "read",
    "search",
    "submit_evidence_claim",
    "write_snapshot",
    "raise_decision",
];

fn tools(client: &mut Client) -> Vec<Value> {
    client.ask("tools/list", &json!({}))["result"]["tools"].as_array().unwrap().clone()
}

/// What the command line prints.
fn cli(desk: &Desk, args: &[&str]) -> String {
    let ran = command(&desk.path(), args).output().unwrap();
    assert!(ran.status.code().is_some_and(|code| code != 2), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn it_says_who_it_is_and_what_it_can_do_in_few_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let mut client = Client::unread(dir.path(), &[]);
    let greeted = client.ask("initialize", &hello());
    let result = &greeted["result"];
    assert_eq!(result["serverInfo"], json!({ "name": "phasegate", "version": env!("CARGO_PKG_VERSION") }));
    assert_eq!(result["protocolVersion"], "2025-11-25");
    assert_eq!(result["capabilities"], json!({ "tools": {} }));
    let instructions = result["instructions"].as_str().unwrap();
    assert!(instructions.contains("`next` first") && instructions.contains("Obey refusals"), "{instructions}");
    client.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);

    let mut tools = tools(&mut client);
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ALL);
    for tool in &tools {
        for schema in ["inputSchema", "outputSchema"] {
            assert_eq!(tool[schema]["type"], "object", "{tool}");
            jsonschema::validator_for(&tool[schema]).unwrap();
        }
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
    }
    let listed = Value::from(tools.clone()).to_string().len();
    assert!(listed <= MOST_LISTED, "the list of tools has {listed} bytes");
    for tool in &mut tools {
        tool.as_object_mut().unwrap().remove("outputSchema");
    }
    let read = Value::from(tools).to_string().len();
    assert!(read <= MOST_READ, "what a model reads of the tools has {read} bytes");
    assert_eq!(client.end(), (Some(0), Vec::new()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_answers_what_the_command_line_prints() {
    let desk = Desk::new().await;
    let number = desk.number.to_string();
    // By its number, and by what is checked out; from a folder inside of it, too.
    for (folder, args) in [("", vec![number.as_str()]), ("", vec![]), ("src", vec![])] {
        let mut client = Client::start(&desk.path().join(folder), &args);
        let schemas = tools(&mut client);
        for tool in ["next", "status", "explain"] {
            let told = client.good(tool, json!({}));
            let printed: Value = serde_json::from_str(&cli(&desk, &[tool, &number, "--json"])).unwrap();
            assert_eq!(told, printed, "{tool}");
            let listed = schemas.iter().find(|one| one["name"] == tool).unwrap();
            let schema = jsonschema::validator_for(&listed["outputSchema"]).unwrap();
            assert!(schema.is_valid(&told), "{tool}: {:?}", schema.iter_errors(&told).collect::<Vec<_>>());
        }
        // The capsule to the byte: its size is what it is for.
        let heard = client.ask("tools/call", &json!({ "name": "next" }));
        let text = heard["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(format!("{text}\n"), cli(&desk, &["next", &number, "--json"]));
        assert_eq!(client.end().0, Some(0));
    }
    // The head is looked up at each call.
    let mut open = Client::start(&desk.path(), &[]);
    let mut named = Client::start(&desk.path(), &[&number]);
    open.good("next", json!({}));
    desk.git(&["commit", "-q", "--allow-empty", "-m", "not pushed yet"]);
    open.refused_with("next", json!({}), "no change on the ledger has");
    named.good("next", json!({}));
    desk.git(&["reset", "-q", "--hard", "HEAD^"]);
    open.good("next", json!({}));
    // What can't be read is refused with the way out.
    desk.git(&["branch", "-q", "-m", "phasegate/ledger", "elsewhere"]);
    named.refused_with("status", json!({}), "fetch origin phasegate/ledger:phasegate/ledger");
    let mut elsewhere = Client::start(&desk.path(), &[&number, "--branch", "elsewhere"]);
    elsewhere.good("status", json!({}));
    let mut none = Client::start(&desk.path(), &["4711", "--branch", "elsewhere"]);
    none.refused_with("explain", json!({}), "no records of #4711");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_is_written_where_it_would_be_taken_in() {
    let desk = Desk::new().await;
    let (path, number) = (desk.path(), desk.number.to_string());
    let mut client = Client::start(&path, &[&number]);
    let folder = path.join(format!("agent/context/pr-{number}"));
    let written = |client: &mut Client, more: &Value| {
        let mut given =
            json!({ "evidence": "- `src/lamp.py` has `shine`.", "issues": "- a bulb is missing Next action: fix" });
        given.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        client.call("write_snapshot", &given)
    };

    // Nothing is written where something is wrong, and each finding says of which entry.
    for (given, rule, entry) in [
        (json!({ "evidence": "- `lib/other.rs` is in the way." }), "SNP-07", "`lib/other.rs`"),
        (json!({ "issues": "- something is wrong" }), "SNP-09", "something is wrong"),
        (json!({ "context": "- it is dark" }), "SNP-08", "it is dark"),
        (json!({ "evidence": "- one\n## Evidence\n- two" }), "SNP-01", "## Evidence"),
        (json!({ "evidence": "- We should use a map." }), "SNP-13", "a map"),
    ] {
        let refused = client.refused("write_snapshot", given.clone());
        let findings = refused["findings"].as_array().unwrap_or_else(|| panic!("{refused:#}"));
        let found = findings.iter().find(|one| one["rule"] == rule).unwrap_or_else(|| panic!("{rule}: {refused:#}"));
        assert!(found["entry"].as_str().is_some_and(|line| line.contains(entry)), "{given}: {found:#}");
        assert!(found["path"].as_str().unwrap().starts_with("agent/context/pr-") && found["next"].is_string());
        assert!(!folder.exists(), "{given}");
    }
    client.refused_with("write_snapshot", json!({ "drop": ["F-9999"] }), "`F-9999`");
    client.refused_with("write_snapshot", json!({ "scope": "everything" }), "no scope cap");
    client.refused_with("write_snapshot", json!({ "slice": "TBD" }), "says nothing");
    assert!(!folder.exists());

    let (good, answer) = written(&mut client, &json!({}));
    assert!(good, "{answer:#}");
    let file = answer["path"].as_str().unwrap();
    assert!(file.starts_with(&format!("agent/context/pr-{number}/iter-")), "{file}");
    assert!(answer["next"].as_str().unwrap().starts_with("Commit it"));
    let text = std::fs::read_to_string(path.join(file)).unwrap();
    let added: Vec<&str> = answer["added"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
    assert!(text.contains(&format!("- {}: `src/lamp.py` has `shine`.", added[0])), "{text}");
    assert!(text.contains(&format!("- {}: a bulb is missing Next action: fix", added[1])), "{text}");
    let valid = cli(&desk, &["snapshot", "validate", file, "--change", &number]);
    assert!(valid.contains("follows from the latest snapshot"), "{valid}");

    // A file that is there is not written over, unless that is asked for; and never through a link.
    let (good, again) = written(&mut client, &json!({}));
    assert!(!good && again["says"].as_str().unwrap().contains("can't make"), "{again:#}");
    let (good, other) = written(&mut client, &json!({ "replace": true, "evidence": "- `src/lamp.py` has 2 lines." }));
    assert!(good && other["path"] == file, "{other:#}");
    assert!(std::fs::read_to_string(path.join(file)).unwrap().contains("has 2 lines."));
    std::fs::remove_dir_all(&folder).unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), &folder).unwrap();
    let (good, link) = written(&mut client, &json!({ "replace": true }));
    assert!(!good && link["says"].as_str().unwrap().contains("is a link"), "{link:#}");
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);

    let mut far = Client::start(&path, &[&number, "--github", "octo-org/lantern"]);
    far.refused_with("write_snapshot", json!({}), "no working tree");
}

/// A claim goes into the evidence of the next snapshot, beside what a draft of it has already.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_about_a_change_is_evidence_of_the_next_snapshot() {
    let desk = Desk::new().await;
    let (path, number) = (desk.path(), desk.number.to_string());
    let mut client = Client::start(&path, &[&number]);
    let claim = |item: &str| json!({ "item": item, "command": "python3 -m pytest", "expected": "3 passed", "seen": "3 passed in 0.1 s" });
    let first = client.good("submit_evidence_claim", claim("the lamp is lit"));
    assert!(first["next"].as_str().unwrap().starts_with("It is a claim, and decides nothing"), "{first:#}");
    client.good("submit_evidence_claim", claim("the lamp is dimmed"));
    let file = first["path"].as_str().unwrap();
    let text = std::fs::read_to_string(path.join(file)).unwrap();
    let head = desk.git(&["rev-parse", "--short=12", "HEAD"]);
    for item in ["the lamp is lit", "the lamp is dimmed"] {
        let line = text.lines().find(|line| line.contains(item)).unwrap_or_else(|| panic!("{text}"));
        let says = format!("3 passed in 0.1 s (on {head}; ran: python3 -m pytest; expected: 3 passed)");
        assert!(line.starts_with("- F-") && line.contains(&says), "{line}");
    }
    let valid = cli(&desk, &["snapshot", "validate", file, "--change", &number]);
    assert!(valid.contains("follows from the latest snapshot"), "{valid}");
    client.refused_with(
        "submit_evidence_claim",
        json!({ "item": "x", "seen": "We should use a map." }),
        "would not be taken in",
    );
    client.refused_with("submit_evidence_claim", json!({ "item": "x", "seen": "?!" }), "no word");
    client.refused_with("submit_evidence_claim", json!({ "item": "x", "seen": "y".repeat(3_000) }), "at most 2000");
    client.refused_with("submit_evidence_claim", json!({ "item": "x" }), "missing field `seen`");
    // A draft that would not be taken in is not added to.
    std::fs::write(path.join(file), format!("{text}\n## More\n")).unwrap();
    client.refused_with("submit_evidence_claim", claim("it glows"), "The draft of the next snapshot");
    assert_eq!(std::fs::read_to_string(path.join(file)).unwrap(), format!("{text}\n## More\n"));
    Client::start(&path, &[&number, "--role", "scout"]).refused_with(
        "submit_evidence_claim",
        claim("x"),
        "not for the role `scout`",
    );
}

/// What is written is what the bot takes in, twice in a row.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_written_is_taken_in_when_it_is_pushed() {
    let (on, desk) = Desk::begun().await;
    let mut client = Client::start(&desk.path(), &[&desk.number.to_string()]);
    let fact = "`src/lamp.py` has `shine`.";
    let first = client.good("write_snapshot", json!({ "evidence": format!("- {fact}\n- `tests/` has no file yet.") }));
    let (known, other) = (first["added"][0].as_str().unwrap(), first["added"][1].as_str().unwrap());
    let promoted = json!({ "context": format!("- {known}: {fact}"), "drop": [other] });
    for given in [None, Some(promoted)] {
        let written = given.map_or_else(|| first.clone(), |given| client.good("write_snapshot", given));
        let path = written["path"].as_str().unwrap();
        let text = std::fs::read_to_string(desk.path().join(path)).unwrap();
        on.pushes("rover", "work", path, &[(path, &text)]).await.unwrap();
        desk.fetch();
        let name = path.rsplit('/').next().unwrap();
        let kept = desk.git(&["show", &format!("{LEDGER}:changes/0/{}/context/{name}", desk.number)]);
        assert_eq!(kept, text.trim_end(), "to the byte");
        assert!(!on.status_comment(desk.number).unwrap().body.contains("SNP-"));
    }
    let latest = desk.git(&["show", &format!("{LEDGER}:changes/0/{}/context/latest.md", desk.number)]);
    assert_eq!(latest.matches(&format!("- {known}: {fact}")).count(), 2, "{latest}");
    assert!(!latest.contains(other), "{latest}");
    on.end().await;
}

/// What the tool has committed stops the change, a person answers in its issue, and the tools tell the agent both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_decision_that_was_raised_is_asked_and_answered() {
    let (on, desk) = Desk::begun().await;
    let mut client = Client::start(&desk.path(), &[&desk.number.to_string()]);
    let raised = client.good("raise_decision", json!({ "condition": "unsafe", "reason": "it switches the mains" }));
    on.pushes("rover", "work", raised["message"].as_str().unwrap(), &[]).await.unwrap();
    let issue = on.escalations().unwrap().pop().unwrap();
    let asks = issue.body.clone().unwrap();
    assert!(issue.open && asks.contains("unsafe: it switches the mains"), "{asks}");
    let head = on.head(desk.number).unwrap();
    assert!(asks.contains(&format!("commit {} stopped", &head[..12])), "{asks}");
    desk.fetch();
    let told = client.good("status", json!({}));
    assert_eq!(told["waits_for"].as_str().unwrap(), "it is stopped: unsafe: it switches the mains", "{told:#}");

    on.says("mia", issue.number, "/resolve A a fuse is in front of it").await.unwrap();
    assert!(!on.escalations().unwrap().pop().unwrap().open);
    desk.fetch();
    let told = client.good("status", json!({}));
    assert_eq!(told["waits_for"], Value::Null, "{told:#}");
    assert_eq!(told["answer"]["by"], "mia");
    assert_eq!(told["answer"]["says"], "a fuse is in front of it");
    // What others push over it before anybody looked is asked all the same.
    let more = client.good("raise_decision", json!({ "condition": "stuck", "reason": "two ways are left" }));
    on.admin().quiet().commit(REPO, "rover", "work", more["message"].as_str().unwrap(), &[]).unwrap();
    on.pushes("rover", "work", "format", &[("src/lamp.py", "def shine():\n    return 11\n")]).await.unwrap();
    assert!(on.escalations().unwrap().pop().unwrap().body.unwrap().contains("stuck: two ways are left"));
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_is_an_empty_commit_that_says_why() {
    let desk = Desk::new().await;
    let (path, number) = (desk.path(), desk.number.to_string());
    // Work that is under way stays as it is, staged or not.
    std::fs::write(path.join("src/lamp.py"), "half\n").unwrap();
    std::fs::write(path.join("src/new.py"), "staged\n").unwrap();
    desk.git(&["add", "src/new.py"]);
    let (before, under_way) = (desk.git(&["rev-parse", "HEAD"]), desk.git(&["status", "--porcelain"]));
    let index = std::fs::read(path.join(".git/index")).unwrap();
    let mut client = Client::start(&path, &[&number]);
    let reason = "the bulb's driver\n  panics in three ways; which bulb is meant?";
    let raised = client.good("raise_decision", json!({ "condition": "dependency", "reason": reason }));
    assert_eq!(std::fs::read(path.join(".git/index")).unwrap(), index);
    assert_eq!(desk.git(&["status", "--porcelain"]), under_way);
    assert_eq!((&raised["commit"], &raised["branch"]), (&desk.git(&["rev-parse", "work"]).into(), &"work".into()));
    assert_eq!(desk.git(&["symbolic-ref", "HEAD"]), "refs/heads/work");
    assert_eq!(desk.git(&["rev-parse", "HEAD^"]), before);
    assert_eq!(desk.git(&["diff", "HEAD^", "HEAD"]), "");
    let said = "the bulb's driver panics in three ways; which bulb is meant?";
    let message = format!("stop: {said}\n\nPhasegate-Stop: dependency: {said}\n");
    assert_eq!(raised["message"], message);
    assert_eq!(desk.git(&["log", "-1", "--format=%B"]), message.trim_end());
    assert_eq!(
        desk.git(&["log", "-1", "--format=%(trailers:key=Phasegate-Stop,valueonly)"]),
        format!("dependency: {said}")
    );
    assert_eq!(desk.git(&["log", "-1", "--format=%an <%ae>"]), "rover <rover@example.com>");
    assert_eq!(raised["next"], "Push it; then wait: a person answers in an issue.");

    // What is refused leaves everything as it was.
    desk.git(&["stash", "-q", "--include-untracked"]);
    desk.git(&["reset", "-q", "--hard", &before]);
    desk.git(&["branch", "-q", "main", "origin/main"]);
    let all = desk.git(&["for-each-ref"]);
    for (given, words) in [
        (json!({ "condition": "stuck", "reason": "  " }), "0 characters"),
        (json!({ "condition": "stuck", "reason": "x".repeat(1001) }), "1001 characters"),
        (json!({ "condition": "stuck", "reason": "ring \u{7} the bell" }), "control characters"),
        (json!({ "condition": "heal_exhausted", "reason": "let me out" }), "unknown variant"),
        (json!({ "condition": "stuck" }), "missing field `reason`"),
        (json!({ "reason": "let me out" }), "missing field `condition`"),
        (json!({ "condition": ["stuck"], "reason": "let me out" }), "arguments are wrong: `condition`: "),
        (json!({ "condition": "stuck", "reason": 7 }), "wrong: `reason`: invalid type: integer `7`, expected a string"),
        (json!({ "condition": "stuck", "reason": "let me out", "change": 7 }), "unknown field `change`"),
    ] {
        client.refused_with("raise_decision", given, words);
    }
    let stop = || json!({ "condition": "unsafe", "reason": "nobody knows what it holds" });
    let mut other = Client::start(&path, &["4711"]);
    other.refused_with("raise_decision", stop(), "and this server is about #4711");
    let mut far = Client::start(&path, &[&number, "--github", "octo-org/lantern"]);
    far.refused_with("raise_decision", stop(), "no working tree");
    for (branch, words) in [("main", "default branch"), ("phasegate/ledger", "ledger branch")] {
        desk.git(&["checkout", "-q", branch]);
        client.refused_with("raise_decision", stop(), words);
    }
    desk.git(&["checkout", "-q", "--detach", "work"]);
    client.refused_with("raise_decision", stop(), "detached");
    desk.git(&["checkout", "-q", "work"]);
    desk.git(&["config", "--unset", "user.email"]);
    client.refused_with("raise_decision", stop(), "user.email");
    desk.git(&["config", "user.email", "rover@example.com"]);
    std::fs::write(path.join(".git/MERGE_HEAD"), format!("{before}\n")).unwrap();
    client.refused_with("raise_decision", stop(), "under way");
    std::fs::remove_file(path.join(".git/MERGE_HEAD")).unwrap();
    let bare = tempfile::tempdir().unwrap();
    desk.git(&["clone", "-q", "--bare", ".", bare.path().to_str().unwrap()]);
    Client::start(bare.path(), &[&number]).refused_with("raise_decision", stop(), "bare");
    assert_eq!(desk.git(&["for-each-ref"]), all);
    // Without a ledger that could be read an agent can stop all the same.
    desk.git(&["branch", "-q", "-D", "phasegate/ledger"]);
    client.good("raise_decision", stop());
}

#[test]
fn what_is_no_call_is_answered_and_it_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut client = Client::start(dir.path(), &[]);
    // What is no message is ignored, as other servers do; what is one and makes no sense is told so.
    client.line("");
    client.line("garbage \u{1b}[2J {");
    client.line("{\"jsonrpc\":");
    let listed = r#"{"jsonrpc":"2.0","id":98,"method":"tools/call","params":[1]}"#;
    for odd in ["{\"a\":1}", "[]", "7", "null", listed] {
        client.line(odd);
        assert_eq!(client.hear()["error"]["code"], -32600, "{odd}");
    }
    // More than anybody sends is dropped, however long it goes on, and what follows is heard.
    client.line(&format!("{{\"jsonrpc\":\"2.0\",\"id\":99,\"method\":\"{}\"}}", "x".repeat(3 << 20)));
    let error = |client: &mut Client, method: &str, params: Value| client.ask(method, &params)["error"].clone();
    assert_eq!(error(&mut client, "no/such/method", json!({}))["code"], -32601);
    let unknown = error(&mut client, "tools/call", json!({ "name": "merge" }));
    assert_eq!(unknown["code"], -32602);
    assert!(unknown["message"].as_str().unwrap().contains("raise_decision"), "{unknown}");
    for odd in [json!({ "name": "next", "arguments": "x" }), json!({ "name": 7 }), json!({})] {
        assert_eq!(error(&mut client, "tools/call", odd.clone())["code"], -32602, "{odd}");
    }
    client.refused_with("next", json!({ "change": 7 }), "unknown field `change`");
    client.refused_with("write_snapshot", json!({ "evidence": 7 }), "expected a string");
    client.refused_with("write_snapshot", json!({ "drop": "F-0001" }), "expected a sequence");
    for tool in ["next", "status", "explain", "write_snapshot", "ls"] {
        client.refused_with(tool, json!({}), "git");
    }
    client.refused_with("raise_decision", json!({ "condition": "stuck", "reason": "let me out" }), "no working tree");
    assert_eq!(client.ask("ping", &json!({}))["result"], json!({}));

    // What was asked before the end is answered.
    client.line(r#"{"jsonrpc":"2.0","id":"last","method":"tools/list"}"#);
    let (code, left) = client.end();
    assert_eq!(code, Some(0));
    assert!(left.len() == 1 && left[0]["id"] == "last" && left[0]["result"]["tools"].is_array(), "{left:?}");
    // Nobody has to say anything, or to end a line.
    assert_eq!(Client::unread(dir.path(), &[]).end(), (Some(0), Vec::new()));
    let mut half = Client::start(dir.path(), &[]);
    half.stdin.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,").unwrap();
    assert_eq!(half.end(), (Some(0), Vec::new()));
}

#[test]
fn what_it_can_never_be_about_is_wrong_usage() {
    let dir = tempfile::tempdir().unwrap();
    for (args, words) in [
        (&["mcp", "--github", "octo-org/lantern"][..], "name the change"),
        (&["mcp", "0"], "invalid value"),
        (&["mcp", "7", "--json"], "unexpected argument"),
        (&["mcp", "7", "--github", "octo-org/lantern", "--repo", "."], "cannot be used with"),
        (&["mcp", "7", "--task", "t"], "cannot be used with"),
        (&["mcp", "--role", "boss"], "there are the roles main, scout"),
        (&["mcp", "--pass", "7"], "cannot be used with"),
        (&["mcp", "--pass"], "not in a pass that has tools"),
    ] {
        let ended = command(dir.path(), args).stdin(Stdio::null()).output().unwrap();
        let says = String::from_utf8(ended.stderr).unwrap();
        assert_eq!((ended.status.code(), ended.stdout.len()), (Some(2), 0), "{args:?}: {says}");
        assert!(says.contains(words), "{args:?}: {says}");
    }
}
