//! The policy's JSON Schema against `ajv`, and against the reader of the policy itself.

use std::path::Path;

use serde_json::{Value, json};

use super::{node, phasegate};

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The first YAML block of a paper.
fn example(path: &str) -> String {
    read(path).split("```yaml\n").nth(1).unwrap().split("```").next().unwrap().to_owned()
}

#[test]
fn the_schema_is_sound_and_says_what_the_reader_says() {
    let good = [
        read("templates/merge/.github/phasegate.yml"),
        read("templates/pipeline/.github/phasegate.yml"),
        example("docs/policy.md"),
        phasegate::rehearsal::MERGE_POLICY.to_owned(),
        phasegate::rehearsal::PIPELINE_POLICY.to_owned(),
    ];
    let bad = [
        // All that the vocabulary has and this version has not.
        read("tests/fixtures/policy/later.yml"),
        "version: 2".to_owned(),
        "version: 1\nflow: waterfall".to_owned(),
        "version: 1\nunknown: true".to_owned(),
        "version: 1\nenforce: sometimes".to_owned(),
        "version: 1\ngates: { verify: { checks: test } }".to_owned(),
        "version: 1\ngates: { verify: { checks: [{ workflow: ci.yml }] } }".to_owned(),
        "version: 1\ngates: { build: { run: make } }".to_owned(),
        "version: 1\ngates: { build: { run: [] } }".to_owned(),
        "version: 1\ngates: { build: { run: [\" \"] } }".to_owned(),
        "version: 1\ngates: { build: { run: [make], timeout: 25h } }".to_owned(),
        "version: 1\ngates: { build: { timeout: 5m } }".to_owned(),
        "version: 1\nlimits: { previews: many }".to_owned(),
        "version: 1\nlimits: { previews: -1 }".to_owned(),
        "version: 1\npeople: { approve: mia }".to_owned(),
    ];
    let texts: Vec<&String> = good.iter().chain(&bad).collect();
    let parsed: Vec<Value> = texts.iter().map(|text| yaml(text)).collect();
    let schema: Value = serde_json::from_str(&phasegate(&["config", "schema"])).unwrap();
    let asked = json!({ "schema": schema, "values": parsed }).to_string();
    let told: Vec<bool> = serde_json::from_str(&node("validate.cjs", "PHASEGATE_AJV", &asked)).unwrap();
    assert_eq!(told.len(), texts.len());
    for (at, (text, accepted)) in texts.iter().zip(told).enumerate() {
        let ours = phasegate::policy::parse(text.as_bytes());
        let wanted = at < good.len();
        assert_eq!(ours.is_ok(), wanted, "the reader: {text}\n{ours:?}");
        assert_eq!(accepted, wanted, "the schema: {text}");
    }
}

fn yaml(text: &str) -> Value {
    serde_yaml::from_str(text).unwrap()
}
