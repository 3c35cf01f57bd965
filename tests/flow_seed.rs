//! The pipeline's table against the module that it comes from.

#![allow(clippy::unwrap_used, reason = "a test that can not go on has failed")]

use std::collections::BTreeSet;

use assert_cmd::cargo::cargo_bin_cmd;
use serde_json::Value;

type Triple = (String, String, String);

/// The module's transition relation, kept apart from the table that the engine runs.
const SEED: &str = include_str!("fixtures/pipeline.triples.tsv");

fn seed() -> BTreeSet<Triple> {
    let lines: Vec<&str> = SEED.lines().filter(|line| !line.starts_with('#')).collect();
    let triples: BTreeSet<Triple> = lines
        .iter()
        .map(|line| match line.split('\t').collect::<Vec<_>>()[..] {
            [action, from, to] => (action.to_owned(), from.to_owned(), to.to_owned()),
            _ => panic!("not a triple: {line:?}"),
        })
        .collect();
    assert_eq!(triples.len(), lines.len(), "a triple stands there twice");
    triples
}

fn exported(format: &str) -> String {
    let output = cargo_bin_cmd!("phasegate").args(["flow", "export", "pipeline", "--format", format]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn json() -> (Value, Vec<Triple>) {
    let json: Value = serde_json::from_str(&exported("json")).unwrap();
    let text = |edge: &Value, key: &str| edge[key].as_str().unwrap().to_owned();
    let edges = json["transitions"].as_array().unwrap();
    let triples = edges.iter().map(|edge| (text(edge, "action"), text(edge, "from"), text(edge, "to"))).collect();
    (json, triples)
}

/// Reads our own TLA+ back: definitions of `\/ stage = "A" /\ stage' = "B"` lines, and the disjuncts of `Next`.
fn read_back(module: &str) -> (BTreeSet<Triple>, BTreeSet<String>) {
    let (mut triples, mut next, mut action) = (BTreeSet::new(), BTreeSet::new(), None);
    for line in module.lines() {
        if let Some(name) = line.strip_suffix(" ==") {
            action = Some(name.to_owned());
        } else if let Some(disjunct) = line.trim().strip_prefix("\\/ ") {
            let within = action.clone().expect("a disjunct belongs to a definition");
            if within == "Next" {
                next.insert(disjunct.to_owned());
                continue;
            }
            let words: Vec<&str> = disjunct.split('"').collect();
            let ["stage = ", from, " /\\ stage' = ", to, ""] = words[..] else { panic!("can't read {line:?}") };
            triples.insert((within, from.to_owned(), to.to_owned()));
        }
    }
    (triples, next)
}

#[test]
fn the_exported_table_is_the_modules() {
    let (json, triples) = json();
    let ours: BTreeSet<Triple> = triples.iter().cloned().collect();
    assert_eq!(ours.len(), triples.len(), "no triple twice");
    let seed = seed();
    assert_eq!(ours.difference(&seed).collect::<Vec<_>>(), Vec::<&Triple>::new(), "ours, not the module's");
    assert_eq!(seed.difference(&ours).collect::<Vec<_>>(), Vec::<&Triple>::new(), "the module's, not ours");

    assert_eq!(json["schema"], "phasegate/flow@1");
    assert_eq!(json["name"], "pipeline");
    assert_eq!(json["initial"], "Ideating");
    let states: BTreeSet<&str> =
        json["states"].as_array().unwrap().iter().map(|state| state.as_str().unwrap()).collect();
    let named: BTreeSet<&str> = seed.iter().flat_map(|(_, from, to)| [from.as_str(), to.as_str()]).collect();
    assert_eq!(states, named);
}

#[test]
fn the_modules_numbers() {
    let seed = seed();
    let states: BTreeSet<&String> = seed.iter().flat_map(|(_, from, to)| [from, to]).collect();
    let actions: BTreeSet<&String> = seed.iter().map(|(action, _, _)| action).collect();
    let edges: BTreeSet<(&String, &String)> = seed.iter().map(|(_, from, to)| (from, to)).collect();
    assert_eq!((states.len(), actions.len(), seed.len(), edges.len()), (41, 91, 112, 110));
}

#[test]
fn our_tla_reads_back_as_the_same_relation() {
    let (triples, next) = read_back(&exported("tla"));
    let seed = seed();
    assert_eq!(triples, seed);
    let actions: BTreeSet<String> = seed.into_iter().map(|(action, _, _)| action).collect();
    assert_eq!(next, actions, "each action is in Next");
}
