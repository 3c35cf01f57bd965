//! Every published example of a webhook, through the parser.
//!
//! The examples are those of the npm package `@octokit/webhooks-examples`; they are not kept in this repository.

use std::path::PathBuf;

use phasegate::github::webhook::{UNDERSTOOD, parse};
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

#[test]
fn every_published_example_is_understood_or_ignored_on_purpose() {
    let (mut understood, mut ignored, mut problems) = (0, 0, Vec::new());
    for file in files() {
        let events: Vec<Value> = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        for event in &events {
            let name = event["name"].as_str().unwrap();
            for (at, example) in event["examples"].as_array().unwrap().iter().enumerate() {
                let body = serde_json::to_vec(example).unwrap();
                let tag = name == "push" && example["ref"].as_str().is_some_and(|r| r.starts_with("refs/tags/"));
                let wanted = UNDERSTOOD.contains(&name) && !tag;
                match parse(name, &body) {
                    Ok(Some(_)) if wanted => understood += 1,
                    Ok(None) if !wanted => ignored += 1,
                    other => problems.push(format!("{} {name}[{at}]: {other:?}", file.display())),
                }
            }
        }
    }
    assert!(problems.is_empty(), "{} of {}:\n{}", problems.len(), understood + ignored, problems.join("\n"));
    assert!(understood > 100, "only {understood} examples were understood: is this the right package?");
    assert!(ignored > 100, "only {ignored} examples were ignored: is this the right package?");
}
