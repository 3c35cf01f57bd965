//! Canonical JSON (RFC 8785), which is what gets signed: against the npm package `canonicalize`.

use phasegate::ledger::chain::canonical;
use phasegate::rehearsal::{LEDGER, MERGE_POLICY, REPO, Rehearsal, Setup};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Map, Value};

use super::node;

const SEED: [u8; 32] = *b"phasegate: one seed for all runs";
const VALUES: usize = 3000;
/// The largest integer that every reader of JSON keeps.
const MOST: i64 = 1 << 53;

/// Text with all that has its own rule: quotes, control characters, pairs of surrogates, marks, look-alikes.
fn text() -> impl Strategy<Value = String> {
    let odd = prop::sample::select(
        &[
            '"',
            '\\',
            '/',
            '\u{0}',
            '\u{8}',
            '\t',
            '\n',
            '\u{b}',
            '\u{c}',
            '\r',
            '\u{1f}',
            '\u{7f}',
            '\u{80}',
            'é',
            '\u{2028}',
            '\u{d7ff}',
            '\u{e000}',
            '\u{fb33}',
            '\u{ffff}',
            '😂',
            '\u{10ffff}',
            'A',
            'a',
            '1',
            ' ',
        ][..],
    );
    prop::collection::vec(prop_oneof![2 => odd, 1 => any::<char>()], 0..8).prop_map(|all| all.into_iter().collect())
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-MOST + 1..MOST).prop_map(Value::from),
        (-20..20i64).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..6).prop_map(|all| Value::from(Map::from_iter(all))),
        ]
    })
}

/// Both forms of each value, compared byte by byte.
fn agree(values: &[Value]) {
    let lines: String = values.iter().map(|value| format!("{value}\n")).collect();
    let theirs = node("canonicalize.cjs", "PHASEGATE_CANONICALIZE", &lines);
    let theirs: Vec<&str> = theirs.split_terminator('\n').collect();
    assert_eq!(theirs.len(), values.len());
    for (value, theirs) in values.iter().zip(theirs) {
        let ours = String::from_utf8(canonical(value).unwrap()).unwrap();
        assert_eq!(ours, theirs, "of {value}");
    }
}

#[test]
fn random_values_have_the_same_canonical_form() {
    eprintln!("seed: {}", String::from_utf8_lossy(&SEED));
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &SEED));
    let strategy = values();
    let values: Vec<Value> = (0..VALUES).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect();
    let nested = values.iter().filter(|value| value.is_object() || value.is_array()).count();
    assert!(nested > VALUES / 10, "only {nested} of {VALUES} are more than a leaf");
    agree(&values);
}

/// The records of a change that was really played, as they lie on the ledger's branch.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_ledgers_files_are_canonical() {
    let on = Rehearsal::start(Setup::with_policy(MERGE_POLICY)).await.unwrap();
    let head = on.pushes("rover", "agent/x", "é \"quoted\" \u{1f980}", &[("src/é.py", "x = 1\n")]).await.unwrap();
    let number = on.opens("rover", "Über \"alles\" 🦀", "agent/x").await.unwrap();
    on.ci(&head, "failure").await.unwrap();
    on.says("ada", number, "/stop because of “this” \\ 🦀").await.unwrap();
    on.says("mia", number, "/unblock it's \"fine\"").await.unwrap();
    let head = on.pushes("rover", "agent/x", "better", &[("src/é.py", "x = 2\n")]).await.unwrap();
    on.ci(&head, "success").await.unwrap();
    on.reviews("mia", number, "APPROVE").await.unwrap();
    on.merges("ada", number).await.unwrap().unwrap();
    let mut files = Vec::new();
    for seq in 1.. {
        let Some(text) = on.admin().file(REPO, LEDGER, &on.record_path(number, seq)).unwrap() else { break };
        files.push(text);
    }
    on.end().await;
    assert!(files.len() > 8, "only {} records", files.len());
    let values: Vec<Value> = files.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    agree(&values);
    for (file, value) in files.iter().zip(&values) {
        assert_eq!(file.as_bytes(), canonical(value).unwrap(), "a file is the canonical form and nothing else");
    }
}
