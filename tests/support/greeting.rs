//! What `phasegate mcp` says of itself before anything is asked of it: every agent that has it reads that.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

pub(crate) struct Greeting {
    pub(crate) instructions: String,
    pub(crate) tools: Vec<Value>,
}

/// Greets it, asks for the tools, and hangs up: what was asked before the end is answered.
pub(crate) fn greeting() -> Greeting {
    let nowhere = tempfile::tempdir().unwrap();
    let mut server = Command::new(env!("CARGO_BIN_EXE_phasegate"));
    server.arg("mcp").current_dir(nowhere.path()).env_clear();
    let mut server = server.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let client = json!({ "name": "by hand", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    let mut stdin = server.stdin.take().unwrap();
    for message in [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {} }),
    ] {
        stdin.write_all(format!("{message}\n").as_bytes()).unwrap();
    }
    drop(stdin);
    let said = server.wait_with_output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    let messages: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let result = |id: u64| &messages.iter().find(|one| one["id"] == id).unwrap_or_else(|| panic!("{said}"))["result"];
    Greeting {
        instructions: result(1)["instructions"].as_str().unwrap().to_owned(),
        tools: result(2)["tools"].as_array().unwrap().clone(),
    }
}
