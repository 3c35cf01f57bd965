//! A GitHub that nobody here wrote, and that has neither GraphQL nor git over HTTP: the npm package `emulate`.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A running emulator. It ends with the test, whatever becomes of that.
pub(crate) struct Emulator {
    child: Child,
    pub(crate) url: String,
    dir: TempDir,
    http: reqwest::Client,
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Emulator {
    /// One with these people and repositories.
    pub(crate) fn start(seed: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("seed.yaml"), seed).unwrap();
        // It takes a port and not "any": one that is free now may be taken in a moment.
        let mut said = String::new();
        for _ in 0..5 {
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            match try_start(dir.path(), port) {
                Ok(child) => {
                    let http = reqwest::Client::builder().no_proxy().build().unwrap();
                    return Self { child, url: format!("http://127.0.0.1:{port}"), dir, http };
                }
                Err(why) => said.push_str(&why),
            }
        }
        panic!("emulate does not start:\n{said}");
    }

    /// A folder that goes with it.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// What anybody with this token would ask of it.
    pub(crate) async fn ask(&self, token: &str, method: &str, path: &str, body: Value) -> Value {
        let request = self.http.request(method.parse().unwrap(), format!("{}{path}", self.url));
        let request = request.bearer_auth(token).header("User-Agent", "test");
        let answer = if body.is_null() { request.send().await } else { request.json(&body).send().await }.unwrap();
        let status = answer.status();
        let text = answer.text().await.unwrap();
        assert!(status.is_success(), "{method} {path}: {status} {text}");
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }
}

fn try_start(dir: &Path, port: u16) -> Result<Child, String> {
    let oracle = |variable: &str| {
        std::env::var_os(variable)
            .map(PathBuf::from)
            .unwrap_or_else(|| panic!("{variable} is not set: run tests/run.sh"))
    };
    let mut child = Command::new(oracle("PHASEGATE_NODE"))
        .arg(oracle("PHASEGATE_EMULATE"))
        .args(["start", "--service", "github", "--host", "127.0.0.1", "--seed", "seed.yaml"])
        .args(["--port", &port.to_string()])
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let mut said = String::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap_or_default();
        said.push_str(&line);
        said.push('\n');
        if line.trim() == "Ready." {
            return Ok(child);
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    Err(said)
}
