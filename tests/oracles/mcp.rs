//! The official Python client of the Model Context Protocol talks to `phasegate mcp`, by both generations of the protocol: that with
//! a handshake, and that in which each request says all that is needed.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use super::desk::Desk;
use super::{ask, oracle};

const READING: [&str; 8] = ["next", "status", "explain", "ls", "glob", "grep", "read", "search"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_official_client_lists_and_calls_every_tool() {
    let package = oracle("PHASEGATE_MCP_CLIENT");
    let desk = Desk::new().await;
    let asked = json!({
        "command": env!("CARGO_BIN_EXE_phasegate"),
        "args": ["mcp", desk.number.to_string()],
        "cwd": desk.path(),
        "env": { "HOME": desk.path() },
        "modes": ["legacy", "auto"],
        "calls": [
            ["next", {}],
            ["status", {}],
            ["explain", {}],
            ["write_snapshot", { "evidence": "- `src/lamp.py` has `shine`.", "replace": true }],
            ["write_snapshot", { "evidence": "- `lib/other.rs` is in the way." }],
            ["ls", {}],
            ["glob", { "pattern": "src/**" }],
            ["grep", { "pattern": "^def " }],
            ["read", { "path": "src/lamp.py" }],
            ["search", { "words": "shine" }],
            ["submit_evidence_claim", { "item": "it shines", "seen": "10" }],
            ["read", { "path": "../secret" }],
            ["raise_decision", { "condition": "stuck", "reason": "three ways, and the lamp stays dark" }],
            ["raise_decision", { "condition": "stuck", "reason": "x" }],
        ],
    });
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/oracles/mcp.py");
    let said = ask(Command::new("python3").arg(script).arg(package), &asked.to_string());
    let said: Value = serde_json::from_str(&said).unwrap();
    for (mode, version) in [("legacy", "2025-11-25"), ("auto", "2026-07-28")] {
        let talk = &said[mode];
        assert_eq!(talk["version"], version);
        assert_eq!(talk["server"], json!(["phasegate", env!("CARGO_PKG_VERSION")]));
        assert!(talk["instructions"].as_str().unwrap().contains("`next` first"));
        let writing = ["submit_evidence_claim", "write_snapshot", "raise_decision"];
        assert_eq!(talk["tools"], json!([&READING[..], &writing[..]].concat()));
        let results = talk["results"].as_array().unwrap();
        let failed: Vec<bool> = results.iter().map(|result| result["error"] == true).collect();
        let refused = [4, 11, 13];
        assert_eq!(failed, (0..14).map(|at| refused.contains(&at)).collect::<Vec<_>>(), "{mode}: {results:#?}");
        for result in results {
            let object: Value = serde_json::from_str(result["text"].as_str().unwrap()).unwrap();
            match result["error"] == true {
                true => assert_eq!(object["schema"], "phasegate/mcp-refusal@1"),
                false => assert_eq!(result["object"], object),
            }
        }
        assert_eq!(results[0]["object"]["change"], desk.number);
        assert!(results[4]["text"].as_str().unwrap().contains("SNP-07"));
        assert_eq!(results[8]["object"]["text"], "def shine():\n    return 10\n");
    }
    // One stop for each of the two.
    assert_eq!(desk.git(&["rev-list", "--count", "origin/work..work"]), "2");
}

/// Inside of the walls, over the socket of the pass: what the client made of it is a file that it left.
#[test]
fn the_official_client_calls_the_tools_of_a_pass() {
    let package = oracle("PHASEGATE_MCP_CLIENT").canonicalize().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let git = |args: &[&str]| {
        let by = ["-c", "user.name=ada", "-c", "user.email=ada@example.com"];
        let done = Command::new("git").arg("-C").arg(dir.path()).args(by).args(args).output().unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    let asked = json!({
        "command": "phasegate",
        "args": ["mcp", "--pass"],
        "cwd": ".",
        "modes": ["legacy", "auto"],
        "calls": [
            ["next", {}],
            ["status", {}],
            ["explain", {}],
            ["ls", {}],
            ["glob", { "pattern": "*.py" }],
            ["grep", { "pattern": "^def " }],
            ["read", { "path": "lamp.py" }],
            ["search", { "words": "lamp" }],
            ["read", { "path": "secret/key" }],
            ["submit_evidence_claim", { "item": "x", "seen": "y" }],
        ],
    });
    let talks = format!(
        "python3 talk.py {} < asked.json > talk.json && echo '{{\"summary\":\"talked\"}}' > \"$PHASEGATE_ANSWER\"",
        package.display()
    );
    let policy = format!(
        "merge: {{ require: [review] }}\nagents:\n  main:\n    command: [sh, -c, {}]\n    pack: {{ hide: [secret] }}\n    confine: {{ read: [{}] }}\n",
        json!(talks),
        json!(package),
    );
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/oracles/mcp.py");
    for (path, text) in [
        (".github/phasegate.yml", policy),
        ("talk.py", std::fs::read_to_string(script).unwrap()),
        ("asked.json", asked.to_string()),
        ("lamp.py", "def lamp():\n    return True\n".to_owned()),
        ("secret/key", "hush\n".to_owned()),
        ("prompt.md", "Talk.\n".to_owned()),
    ] {
        let file = dir.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "-A"]);
    git(&["commit", "-qm", "files"]);
    let mut pass = Command::new(env!("CARGO_BIN_EXE_phasegate"));
    pass.args(["agent", "pass", "main", "--prompt", "prompt.md", "--json"]).current_dir(dir.path());
    let told: Value = serde_json::from_str(&ask(&mut pass, "")).unwrap();
    assert_eq!(told["calls"]["total"], 20, "{told:#}");
    let said = git(&["show", &format!("{}:talk.json", told["commit"].as_str().unwrap())]);
    let said: Value = serde_json::from_str(&said).unwrap();
    for mode in ["legacy", "auto"] {
        let talk = &said[mode];
        assert_eq!(talk["tools"], json!(READING));
        let results = talk["results"].as_array().unwrap();
        let failed: Vec<bool> = results.iter().map(|result| result["error"] == true).collect();
        assert_eq!(failed, (0..10).map(|at| at >= 8).collect::<Vec<_>>(), "{mode}: {results:#?}");
        assert_eq!(results[6]["object"]["text"], "def lamp():\n    return True\n");
        assert!(results[8]["text"].as_str().unwrap().contains("There is no `secret/key`"));
    }
}
