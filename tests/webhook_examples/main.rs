//! Every published example of a webhook, through the parser and through the server's own endpoint; then each with a field
//! removed, one doubled and one retyped, through both.
//!
//! The examples are those of the npm package `@octokit/webhooks-examples`; they are not kept in this repository.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that can not go on has failed, and prints why")]

mod bent;
mod endpoint;
mod examples;

use phasegate::github::webhook::{UNDERSTOOD, parse};

#[test]
fn every_published_example_is_understood_or_ignored_on_purpose() {
    let (mut understood, mut ignored, mut problems) = (0, 0, Vec::new());
    for example in examples::all() {
        let tag = example.event == "push" && example.body["ref"].as_str().is_some_and(|r| r.starts_with("refs/tags/"));
        let wanted = UNDERSTOOD.contains(&example.event.as_str()) && !tag;
        match parse(&example.event, &example.bytes()) {
            Ok(Some(_)) if wanted => understood += 1,
            Ok(None) if !wanted => ignored += 1,
            other => problems.push(format!("{example}: {other:?}")),
        }
    }
    assert!(problems.is_empty(), "{} of {}:\n{}", problems.len(), understood + ignored, problems.join("\n"));
    assert!(understood > 100, "only {understood} examples were understood: is this the right package?");
    assert!(ignored > 100, "only {ignored} examples were ignored: is this the right package?");
}
