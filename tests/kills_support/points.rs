//! The points that the code names, found by reading it: one that no story passes is found out.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, ensure};

/// Points that no story passes, each with the reason.
pub(crate) const BESIDE_THE_ROAD: &[(&str, &str)] = &[];

/// Every point in the sources.
pub(crate) fn all() -> anyhow::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(here) = open.pop() {
        for entry in std::fs::read_dir(here)? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("src/fault.rs") {
                let text = std::fs::read_to_string(&path)?;
                let text = text.split("\nmod tests {").next().unwrap_or_default();
                in_file(text, &mut names).with_context(|| path.display().to_string())?;
                let tests = path.file_name().is_some_and(|name| name.to_string_lossy().ends_with("tests.rs"));
                if !tests && path.components().any(|part| part.as_os_str() == "github") {
                    calls(text, &mut names).with_context(|| path.display().to_string())?;
                }
            }
        }
    }
    Ok(names)
}

fn in_file(text: &str, names: &mut BTreeSet<String>) -> anyhow::Result<()> {
    for rest in text.split("around!(").skip(1) {
        both(literal(rest)?, names);
    }
    for rest in text.split("point!(").skip(1) {
        // The wire names its points by what it sends, which is found below.
        if !rest.starts_with("if ") {
            names.insert(literal(rest)?.to_owned());
        }
    }
    Ok(())
}

/// Everything that writes to GitHub says so with its method and its route.
fn calls(text: &str, names: &mut BTreeSet<String>) -> anyhow::Result<()> {
    for method in ["POST", "PATCH", "PUT", "DELETE"] {
        for (at, called) in text.match_indices(&format!("Method::{method}, ")) {
            let route = match text[at + called.len()..].strip_prefix("route") {
                Some(_) => text[..at].rsplit("let route = ").next().unwrap_or_default(),
                None => &text[at + called.len()..],
            };
            both(&format!("github.{method} {}", literal(route)?), names);
        }
    }
    if text.contains("\"mutation(") {
        both("github.POST /graphql", names);
    }
    Ok(())
}

fn both(name: &str, names: &mut BTreeSet<String>) {
    names.extend(["before", "after"].map(|when| format!("{name}.{when}")));
}

/// The text in quotes at the beginning.
fn literal(code: &str) -> anyhow::Result<&str> {
    let inside = code.trim_start().strip_prefix('"').and_then(|code| code.split_once('"'));
    let (name, _) = inside.with_context(|| {
        format!("a point whose name can't be read: {:?}", code.chars().take(60).collect::<String>())
    })?;
    ensure!(!name.is_empty(), "a point without a name");
    Ok(name)
}
