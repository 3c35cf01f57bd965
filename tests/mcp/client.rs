//! A client that speaks the protocol by hand.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

pub(crate) fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_phasegate"));
    command.args(args).current_dir(dir).env_clear();
    command
}

pub(crate) struct Client {
    child: Child,
    pub(crate) stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    last: u64,
}

impl Client {
    pub(crate) fn unread(dir: &Path, args: &[&str]) -> Self {
        let mut command = command(dir, &[&["mcp"], args].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, stdin, stdout, last: 0 }
    }

    /// A server that has been greeted.
    pub(crate) fn start(dir: &Path, args: &[&str]) -> Self {
        let mut client = Self::unread(dir, args);
        let greeted = client.ask("initialize", &hello());
        assert_eq!(greeted["result"]["serverInfo"]["name"], "phasegate", "{greeted}");
        client.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        client
    }

    pub(crate) fn line(&mut self, line: &str) {
        self.stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// The next line of stdout, which is always a message.
    pub(crate) fn hear(&mut self) -> Value {
        let mut line = String::new();
        assert_ne!(self.stdout.read_line(&mut line).unwrap(), 0, "it has ended");
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        message
    }

    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        self.line(&json!({ "jsonrpc": "2.0", "id": self.last, "method": method, "params": params }).to_string());
        let heard = self.hear();
        assert_eq!(heard["id"], self.last, "{heard}");
        heard
    }

    /// What a tool answers; its text is an object, and the same as the structured one where there is one.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> (bool, Value) {
        let heard = self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }));
        let result = &heard["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{heard}"));
        let object: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"));
        let failed = result["isError"] == true;
        match failed {
            true => assert_eq!(object["schema"], "phasegate/mcp-refusal@1", "{text}"),
            false => assert_eq!(result["structuredContent"], object, "{text}"),
        }
        (!failed, object)
    }

    #[track_caller]
    pub(crate) fn good(&mut self, tool: &str, arguments: Value) -> Value {
        let (good, object) = self.call(tool, &arguments);
        assert!(good, "{object:#}");
        object
    }

    /// A refusal, which says what is wrong and what is next.
    #[track_caller]
    pub(crate) fn refused(&mut self, tool: &str, arguments: Value) -> Value {
        let (good, object) = self.call(tool, &arguments);
        assert!(!good, "{object:#}");
        assert!(object["says"].as_str().is_some_and(|says| says.len() > 15), "{object:#}");
        assert!(object["next"].as_str().is_some_and(|next| next.len() > 15), "{object:#}");
        object
    }

    #[track_caller]
    pub(crate) fn refused_with(&mut self, tool: &str, arguments: Value, words: &str) {
        let object = self.refused(tool, arguments);
        assert!(object["says"].as_str().unwrap().contains(words), "{words:?} is not in {object:#}");
    }

    /// Ends by its stdin. What is left on stdout has to be messages.
    pub(crate) fn end(self) -> (Option<i32>, Vec<Value>) {
        let Self { mut child, stdin, stdout, .. } = self;
        drop(stdin);
        let left = stdout.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
        (child.wait().unwrap().code(), left)
    }
}

pub(crate) fn hello() -> Value {
    json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "by hand", "version": "1" } })
}
