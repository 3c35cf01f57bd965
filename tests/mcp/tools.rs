//! The tools that read, over a clone: what is committed, as far as the role's pack goes; and the log of the calls.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::Client;

/// A repository with some files, one of which is nobody's to see.
pub(crate) struct Clone {
    dir: TempDir,
}

impl Clone {
    pub(crate) fn new(pack: &str) -> Self {
        let on = Self { dir: tempfile::tempdir().unwrap() };
        on.git(&["init", "-q", "-b", "main"]);
        on.git(&["config", "user.name", "ada"]);
        on.git(&["config", "user.email", "ada@example.com"]);
        let policy = format!(
            "merge: {{ require: [review] }}\nagents:\n  main: {{ command: [agent-cli] }}\n  reader: {{ command: [agent-cli]{pack} }}\n"
        );
        on.put(".github/phasegate.yml", &policy);
        on.put("src/lamp.py", "def on():\n    return True\n");
        on.put("docs/lamp.md", "# The lamp\n\nA lamp is lit by its switch.\n");
        on.put("secret/key", "t0p-s3cret\n");
        on.commit("files");
        on
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    pub(crate) fn put(&self, path: &str, text: &str) {
        let file = self.dir.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", message]);
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let done = Command::new("git").arg("-C").arg(self.dir.path()).args(args).output().unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().trim_end().to_owned()
    }
}

const HIDES: &str = ", pack: { hide: [\"secret/**\"] }";

#[test]
fn what_is_committed_is_read_and_the_answer_says_which_commit() {
    let on = Clone::new("");
    on.put("src/lamp.py", "not committed\n");
    let mut client = Client::start(&on.path(), &[]);
    let head = on.git(&["rev-parse", "HEAD"]);
    let answers = [
        ("ls", json!({ "path": "src" }), "entries", json!(["lamp.py"])),
        ("glob", json!({ "pattern": "**/*.md" }), "paths", json!(["docs/lamp.md"])),
        (
            "grep",
            json!({ "pattern": "^def " }),
            "matches",
            json!([{ "path": "src/lamp.py", "line": 1, "text": "def on():" }]),
        ),
        ("read", json!({ "path": "src/lamp.py" }), "text", json!("def on():\n    return True\n")),
    ];
    for (tool, given, key, value) in answers {
        let told = client.good(tool, given);
        assert_eq!((&told[key], &told["at"]), (&value, &json!(head)), "{tool}");
    }
    let found = client.good("search", json!({ "words": "switch" }));
    assert_eq!(found["hits"][0]["path"], "docs/lamp.md");
    let schemas = client.ask("tools/list", &json!({}))["result"]["tools"].as_array().unwrap().clone();
    let schema = schemas.iter().find(|one| one["name"] == "search").unwrap();
    assert!(jsonschema::validator_for(&schema["outputSchema"]).unwrap().is_valid(&found), "{found}");
    // The head moves, and what is read moves with it.
    on.commit("more");
    assert_eq!(client.good("read", json!({ "path": "src/lamp.py" }))["text"], "not committed\n");
    // What leads anywhere else is refused, and what is no text is told as such.
    on.put("logo.png", "\u{0}");
    std::os::unix::fs::symlink("/etc/passwd", on.path().join("way")).unwrap();
    on.commit("odd");
    for (given, says) in [
        (json!({ "path": "../x" }), "leads out"),
        (json!({ "path": "/etc/passwd" }), "outside"),
        (json!({ "path": "way" }), "is a link that leads to `/etc/passwd`"),
        (json!({ "path": "logo.png" }), "is binary"),
        (json!({ "path": ".git/config" }), "There is no"),
        (json!({ "path": "SRC/lamp.py" }), "There is `src/lamp.py`"),
        (json!({ "path": "src" }), "is a folder"),
        (json!({ "lines": 3 }), "missing field `path`"),
    ] {
        client.refused_with("read", given, says);
    }
    client.refused_with("grep", json!({ "pattern": "(" }), "no regular expression");
    client.refused_with("glob", json!({ "pattern": "[" }), "no glob");
    Client::start(&on.path(), &["7", "--github", "octo-org/lantern"]).refused_with("ls", json!({}), "With --github");
}

#[test]
fn a_role_gets_what_its_pack_lets_through() {
    let on = Clone::new(HIDES);
    let whole = |client: &mut Client| client.good("ls", json!({}))["entries"].clone();
    assert_eq!(whole(&mut Client::start(&on.path(), &[])), json!([".github/", "docs/", "secret/", "src/"]));
    let mut scout = Client::start(&on.path(), &["--role", "scout"]);
    assert_eq!(whole(&mut scout), json!([".github/", "docs/", "src/"]));
    for path in ["secret/key", "secret", "Secret/key", "secret/../secret/key", "secret//key"] {
        let told = scout.refused("read", json!({ "path": path })).to_string();
        assert!(!told.contains("t0p") && !told.contains("There is `secret"), "{path}: {told}");
    }
    assert_eq!(scout.good("glob", json!({ "pattern": "secret/**" }))["paths"], json!([]));
    assert_eq!(scout.good("grep", json!({ "pattern": "s3cret" }))["matches"], json!([]));
    assert_eq!(scout.good("search", json!({ "words": "t0p s3cret" }))["hits"], json!([]));
    // Its own branch can't widen it.
    on.git(&["switch", "-q", "-c", "own"]);
    let policy = on.path().join(".github/phasegate.yml");
    let text = std::fs::read_to_string(&policy).unwrap();
    std::fs::write(&policy, text.replace(HIDES, "")).unwrap();
    on.commit("wider");
    assert_eq!(scout.good("glob", json!({ "pattern": "secret/**" }))["paths"], json!([]));
    // What can't be read says nothing, and nothing is not everything.
    on.git(&["switch", "-q", "main"]);
    std::fs::write(&policy, "agents: {").unwrap();
    on.commit("broken");
    scout.refused_with("ls", json!({}), "what the scout may read is not known");
    // Whoever looks has no tool that writes.
    let names = |client: &mut Client| {
        let listed = client.ask("tools/list", &json!({}))["result"]["tools"].as_array().unwrap().clone();
        listed.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&mut scout), ["next", "status", "explain", "ls", "glob", "grep", "read", "search"]);
    for tool in ["write_snapshot", "raise_decision", "submit_evidence_claim"] {
        scout.refused_with(tool, json!({}), "is not for the role `scout`");
    }
}

fn logged(clone: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(clone.join(".git/phasegate/mcp.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn each_call_is_in_the_log_of_the_clone() {
    let on = Clone::new(HIDES);
    let mut client = Client::start(&on.path().join("src"), &["--role", "scout"]);
    client.good("read", json!({ "path": "src/lamp.py" }));
    client.refused("read", json!({ "path": "secret/key" }));
    client.ask("tools/call", &json!({ "name": "merge", "arguments": { "now": true } }));
    client.good("search", json!({ "words": "lamp ".repeat(150) }));
    let lines = logged(&on.path());
    let told: Vec<(&str, bool)> =
        lines.iter().map(|line| (line["tool"].as_str().unwrap(), line["refused"].as_bool().unwrap())).collect();
    assert_eq!(told, [("read", false), ("read", true), ("merge", true), ("search", false)]);
    assert_eq!(lines[1]["arguments"], r#"{"path":"secret/key"}"#);
    assert!(lines[0]["bytes"].as_u64().unwrap() > 50 && lines[0]["prev"].is_null() && lines[0].get("digest").is_none());
    assert!(lines[3]["digest"].is_string() && lines[3]["arguments"].as_str().unwrap().len() < 400);
    // Each names the one before it, to the byte.
    let text = std::fs::read_to_string(on.path().join(".git/phasegate/mcp.jsonl")).unwrap();
    let all: Vec<&str> = text.lines().collect();
    for (before, line) in all.iter().zip(&lines[1..]) {
        assert_eq!(line["prev"], json!(phasegate::ids::Digest::of(before)));
    }
    // Where it can't be written a call is answered all the same.
    std::fs::remove_dir_all(on.path().join(".git/phasegate")).unwrap();
    std::fs::write(on.path().join(".git/phasegate"), "in the way").unwrap();
    client.good("ls", json!({}));
}
