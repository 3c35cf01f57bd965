//! The official Python client of the Model Context Protocol talks to `phasegate mcp`, by both generations of the protocol: that with
//! a handshake, and that in which each request says all that is needed.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use super::desk::Desk;
use super::{ask, oracle};

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
        assert_eq!(talk["tools"], json!(["next", "status", "explain", "write_snapshot", "raise_decision"]));
        let results = talk["results"].as_array().unwrap();
        let failed: Vec<bool> = results.iter().map(|result| result["error"] == true).collect();
        assert_eq!(failed, [false, false, false, false, true, false, true], "{mode}: {results:#?}");
        for result in results {
            let object: Value = serde_json::from_str(result["text"].as_str().unwrap()).unwrap();
            match result["error"] == true {
                true => assert_eq!(object["schema"], "phasegate/mcp-refusal@1"),
                false => assert_eq!(result["object"], object),
            }
        }
        assert_eq!(results[0]["object"]["change"], desk.number);
        assert!(results[4]["text"].as_str().unwrap().contains("SNP-07"));
    }
    // One stop for each of the two.
    assert_eq!(desk.git(&["rev-list", "--count", "origin/work..work"]), "2");
}
