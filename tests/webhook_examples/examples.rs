//! The published examples.

use std::fmt;
use std::path::PathBuf;

use serde_json::Value;

const VARIABLE: &str = "PHASEGATE_WEBHOOK_EXAMPLES";

fn files() -> Vec<PathBuf> {
    let Some(path) = std::env::var_os(VARIABLE).map(PathBuf::from) else {
        panic!(
            "{VARIABLE} is not set.\n\
             Run `npm install --no-save @octokit/webhooks-examples@7.6.1` in a folder of its own and set {VARIABLE} to\n\
             FOLDER/node_modules/@octokit/webhooks-examples (or to one index.json inside it)."
        );
    };
    if path.is_file() {
        return vec![path];
    }
    let folders = std::fs::read_dir(&path).unwrap_or_else(|error| panic!("{VARIABLE} = {}: {error}", path.display()));
    let mut files: Vec<_> = folders
        .filter_map(Result::ok)
        .map(|entry| entry.path().join("index.json"))
        .filter(|file| file.is_file())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{VARIABLE} = {}: no */index.json in it", path.display());
    files
}

/// One of them, and which: `issue_comment[3]`.
pub(crate) struct Example {
    pub(crate) event: String,
    at: usize,
    pub(crate) body: Value,
}

impl Example {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(&self.body).unwrap()
    }
}

impl fmt::Display for Example {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}[{}]", self.event, self.at)
    }
}

pub(crate) fn all() -> Vec<Example> {
    let mut all = Vec::new();
    for file in files() {
        let events: Vec<Value> = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        for mut event in events {
            let name = event["name"].as_str().unwrap().to_owned();
            let Value::Array(examples) = event["examples"].take() else { panic!("{name} has no examples") };
            let told = examples.into_iter().enumerate();
            all.extend(told.map(|(at, body)| Example { event: name.clone(), at, body }));
        }
    }
    all
}
