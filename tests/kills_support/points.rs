//! The points that the code names, found by reading it: one that no story passes is found out.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, ensure};

/// Points that no story passes, each with the reason.
pub(crate) const BESIDE_THE_ROAD: &[(&str, &str)] = &[
    ("inbox.extend.", "a lease is renewed after 15 seconds of work on one batch, and no story takes that long"),
    ("inbox.release.", "a batch is given back after 25 seconds of a stop, and no story stops the process gently"),
    ("inbox.give_up.", "a delivery that ended the process eight times is dead; that is another end"),
    ("inbox.retry_dead.", "a person's command, which is another process"),
    ("inbox.put_many.", "nothing on the road uses it"),
    ("inbox.cache_delete.", "nothing on the road uses it"),
    ("inbox.cache_clear.", "nothing on the road uses it"),
    (
        "github.DELETE /repos/{owner}/{repo}/issues/comments/{comment}.",
        "two runs of the Action that met: here one runs at a time",
    ),
];

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

/// Every point in the sources that a story can pass.
pub(crate) fn on_the_road() -> anyhow::Result<BTreeSet<String>> {
    let mut names = all()?;
    names.retain(|point| !BESIDE_THE_ROAD.iter().any(|(name, _)| point.starts_with(name)));
    Ok(names)
}

/// Writes to the inbox's database that have no point: a transaction that is begun and committed as it is.
pub(crate) fn unnamed_writes() -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/inbox"))? {
        let path = entry?.path();
        if path.is_dir() || path.ends_with("db.rs") {
            continue;
        }
        let text = std::fs::read_to_string(&path)?;
        for function in text.split("async fn ").skip(1) {
            let (commits, named) = (function.matches("tx.commit().await"), function.matches("around!("));
            if function.contains(".begin().await") && commits.count() > named.count() {
                let name = function.split('(').next().unwrap_or_default();
                found.push(format!("{name} in {} writes without a point", path.display()));
            }
        }
    }
    Ok(found)
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
