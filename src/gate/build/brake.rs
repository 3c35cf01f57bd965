//! The complexity brake: what a change adds has outgrown its design. That is no failure of the gate, but a question for a person.

use super::super::design::tree::named;
use super::super::papers::Found;
use super::code::{Language, Masked};
use super::covered::is_of_tests;
use super::{Bench, is_paper, is_vendored, locks, structure};

/// `BRK-01`. Tests, papers and what tools ask for are not counted, on either side.
pub(super) fn too_many_files(bench: &Bench<'_>) -> Vec<Found> {
    let named = bench.design.as_ref().map(named).unwrap_or_default();
    let is_file = |path: &str| path.rsplit('/').next().is_some_and(|name| name.contains('.'));
    let counts = |path: &str| !structure::is_tolerated(path) && !is_vendored(path);
    let designed = named.iter().filter(|one| !one.has_children && is_file(&one.path) && counts(&one.path)).count();
    let added = bench.site.added.iter().filter(|path| counts(path)).count();
    let times = bench.policy.limits.files_over_design;
    // A design that names folders only says nothing of how many files there are to be.
    if designed == 0 || added <= designed.saturating_mul(times as usize) {
        return Vec::new();
    }
    vec![Found::nowhere(format!("The change adds more than {times} times the files that the design names."))]
}

/// A line with more statements than these is as many lines as it has statements more: `for (;;)` has two of its own.
const STATEMENTS: usize = 4;

/// How many lines a file has for who reads it. What is written on one line is not shorter for that.
pub(super) fn length(path: &str, text: &str) -> usize {
    let lines = text.lines().count();
    // What a tool made small is nobody's to read.
    let Some(language) = Language::of(path).filter(|_| !path.contains(".min.")) else { return lines };
    let code = Masked::new(text, language).code;
    let more = code.lines().map(|line| line.bytes().filter(|byte| *byte == b';').count().saturating_sub(STATEMENTS));
    lines + more.sum::<usize>()
}

/// `BRK-02`. A file that was as long before is not this change's.
pub(super) fn too_long(bench: &Bench<'_>) -> Vec<Found> {
    let most = bench.policy.limits.file_lines as usize;
    let is_source = |path: &str| Language::of(path).is_some() && !is_of_tests(path) && !is_vendored(path);
    let long = bench.site.files.iter().filter(|file| {
        is_source(&file.path)
            && length(&file.path, &file.text) > most
            && file.lines_before.is_none_or(|before| before <= most)
    });
    long.map(|file| Found::in_file(&file.path, format!("This file has more than {most} lines."))).collect()
}

/// `BRK-04`. What only tests and tools need is not asked for.
pub(super) fn undesigned(bench: &Bench<'_>) -> Vec<Found> {
    let said = [&bench.design, &bench.scope].into_iter().flatten().map(|paper| plain(&paper.everything()));
    let said: String = said.collect::<Vec<_>>().join(" ");
    if said.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for path in bench.site.manifests.iter().filter(|path| !is_of_tests(path) && !is_paper(path)) {
        let Some(Some(text)) = bench.site.locks.get(path) else { continue };
        let before = bench.site.manifests_before.get(path).map(|text| locks::runtime(path, text)).unwrap_or_default();
        for (name, line) in locks::runtime(path, text) {
            let is_old = before.iter().any(|(old, _)| *old == name);
            if !is_old && !says(&said, &name) {
                let says = format!("`{}` is a dependency that neither design nor scope names.", locks::shown(&name));
                found.push(Found { path: Some(path.clone()), line, says, next: None });
            }
        }
    }
    found
}

/// Small, with one sign for all that stands between words.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    for c in std::iter::once(' ').chain(text.chars()).chain([' ']) {
        match c {
            c if c.is_alphanumeric() => out.extend(c.to_lowercase()),
            _ if out.ends_with(' ') => {}
            _ => out.push(' '),
        }
    }
    out
}

/// Whether a name is said: as a whole, or for `@scope/name` and `host/owner/name` by its last part.
fn says(said: &str, name: &str) -> bool {
    let last = name.rsplit('/').find(|part| !part.starts_with('v') || part.len() > 3).unwrap_or(name);
    said.contains(&plain(name)) || said.contains(&plain(last))
}
