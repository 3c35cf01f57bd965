//! The papers say what the code does.

#![allow(clippy::unwrap_used, reason = "a test that can not go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn sources(under: &str) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root().join(under)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ext| ext == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                found.insert(path, text);
            }
        }
    }
    found
}

/// `ABC-01`
fn is_numbered(text: &str) -> bool {
    text.split_once('-').is_some_and(|(family, number)| {
        (3..=4).contains(&family.len())
            && family.bytes().all(|b| b.is_ascii_uppercase())
            && number.len() == 2
            && number.bytes().all(|b| b.is_ascii_digit())
    })
}

/// The rule ids of a source: every literal of a numbered rule's form, and the first argument of whatever makes a
/// finding or a refusal.
fn rules(source: &str) -> BTreeSet<String> {
    let numbered = source.split('"').filter(|piece| is_numbered(piece));
    let made = ["Finding::error(", "Finding::warning(", "Finding::waiting(", "Refusal::new("]
        .into_iter()
        .flat_map(|maker| source.split(maker).skip(1))
        .filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next());
    numbered.chain(made).map(str::to_owned).collect()
}

/// The first column of the tables, which is in backticks.
fn first_column(paper: &str) -> Vec<String> {
    paper.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).map(str::to_owned).collect()
}

fn once(names: Vec<String>) -> BTreeSet<String> {
    let set: BTreeSet<String> = names.iter().cloned().collect();
    assert_eq!(set.len(), names.len(), "a line stands there twice: {names:?}");
    set
}

#[test]
fn every_rule_is_documented() {
    let documented = once(first_column(&read("docs/rules.md")));
    for room in ["src/gate", "src/engine", "src/flow", "src/policy", "src/cli"] {
        for (path, source) in sources(room) {
            // What tests make up is no rule.
            let code = source.split("#[cfg(test)]\nmod ").next().unwrap();
            if path.file_stem().is_some_and(|stem| stem == "tests") {
                continue;
            }
            for rule in rules(code) {
                assert!(documented.contains(&rule), "{rule} of {} is not in docs/rules.md", path.display());
            }
        }
    }
}

#[test]
fn every_documented_rule_exists() {
    let all: String = sources("src").into_values().collect();
    for rule in once(first_column(&read("docs/rules.md"))) {
        let exists = all.contains(&format!("\"{rule}\"")) || all.contains(&format!("`{rule}` "));
        assert!(exists, "{rule} of docs/rules.md is nowhere in the sources");
    }
}

#[test]
fn every_dependency_has_its_reason() {
    let manifest = read("Cargo.toml");
    let mut direct = BTreeSet::new();
    let mut section = "";
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
        } else if section.ends_with("dependencies]") {
            direct.extend(line.split_once('=').map(|(name, _)| name.trim().to_owned()));
        }
    }
    assert!(direct.len() > 20, "{direct:?}");
    assert_eq!(once(first_column(&read("docs/dependencies.md"))), direct);
}
