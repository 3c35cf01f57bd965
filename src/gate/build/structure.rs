//! Whether the tree is the one that the design draws.

use std::collections::BTreeSet;

use super::super::design::tree::{Named, named};
use super::super::paper::Paper;
use super::super::papers::{DESIGN, Found, excerpt};
use super::code::Language;
use super::covered::is_of_tests;
use super::locks::locks_of;
use super::secrets::is_lock;
use super::{Bench, is_paper};

/// More paths than this are not looked for.
const MOST: usize = 1_000;

/// The paths of the design, as they may be: from the root that it draws, and from the repository's, where that root is only the
/// project's name.
pub(in crate::gate) fn asked(design: Option<&Paper>) -> BTreeSet<String> {
    let named = design.map(named).unwrap_or_default();
    let root = root(&named);
    let below =
        |path: &str| root.as_ref().and_then(|root| path.strip_prefix(root)?.strip_prefix('/').map(str::to_owned));
    let own = named.iter().take(MOST);
    own.flat_map(|one| [Some(one.path.clone()), below(&one.path)]).flatten().collect()
}

/// The only path at the top, where all others are below it.
fn root(named: &[Named]) -> Option<String> {
    let first = named.first().filter(|first| first.has_children && !first.path.contains('/'))?;
    let begins = format!("{}/", first.path);
    named[1..].iter().all(|one| one.path.starts_with(&begins)).then(|| first.path.clone())
}

/// Each path that the design names and that is not there, and each that the change adds and that the design does not name.
pub(in crate::gate) fn differs(bench: &Bench<'_>) -> Vec<Found> {
    let mut named = bench.design.as_ref().map(named).unwrap_or_default();
    named.truncate(MOST);
    if let Some(root) = root(&named).filter(|root| !bench.site.there.contains(root)) {
        named.remove(0);
        for one in &mut named {
            one.path.drain(..=root.len());
        }
    }
    if named.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for one in &named {
        if one.is_required && !bench.site.there.contains(&one.path) && !comes_later(&one.path) {
            let says = format!("The design has `{}`, which is not there.", excerpt(&one.path));
            let next = "Build it, or take it out of the design's Directory Structure and say `/design`.";
            found.push(Found::at(DESIGN, one.line, says).next(next));
        }
    }
    for path in &bench.site.added {
        if !is_tolerated(path) && !named.iter().any(|one| covers(one, path)) {
            found.push(Found::in_file(path, "The design's Directory Structure does not have this file."));
        }
    }
    found
}

/// Whether a path of the design is this file, or a folder that it may be in: one that is open, or of which nothing more is said.
fn covers(one: &Named, path: &str) -> bool {
    match path.strip_prefix(one.path.as_str()) {
        Some("") => true,
        Some(rest) => rest.starts_with('/') && (one.is_open || !one.has_children),
        None => false,
    }
}

/// What is not there at this phase, or is never committed.
fn comes_later(path: &str) -> bool {
    const MADE: &[&str] =
        &["target", "node_modules", "dist", "build", "out", "coverage", "venv", "__pycache__", "bin", "obj"];
    path.ends_with(".md")
        || is_paper(path)
        || path == "docs"
        || path == "scaffolding"
        || is_lock(path)
        || path.split('/').any(|part| MADE.contains(&part) || part.starts_with('.'))
}

/// What no design has to name: papers, what begins with a dot, tests and what they need, what tools ask for.
pub(in crate::gate) fn is_tolerated(path: &str) -> bool {
    const FILES: &[&str] = &["__init__.py", "py.typed", "conftest.py", "mod.rs", "build.rs", "setup.py", "noxfile.py"];
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_config =
        name.contains(".config.") || name.ends_with(".toml") || name.ends_with(".cfg") || name.ends_with(".ini");
    is_paper(path)
        || is_of_tests(path)
        || path.split('/').any(|part| part.starts_with('.'))
        || FILES.contains(&name)
        || name.ends_with(".md")
        || is_lock(name)
        || locks_of(path).is_some()
        || !path.contains('/') && (Language::of(name).is_none() || is_config)
}
