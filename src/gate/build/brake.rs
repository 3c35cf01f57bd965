//! The complexity brake: what a change adds has outgrown its design. That is no failure of the gate, but a question for a person.

use std::collections::BTreeSet;

use super::super::design::tree::{Named, named as drawn};
use super::super::papers::Found;
use super::code::{Language, Masked};
use super::covered::is_of_tests;
use super::secrets::is_lock;
use super::{Bench, is_paper, is_vendored, locks, structure};

mod named;

use named::Said;

/// `BRK-01`. Tests, papers and what tools ask for are not counted, on either side.
pub(super) fn too_many_files(bench: &Bench<'_>) -> Vec<Found> {
    let named = bench.design.as_ref().map(drawn).unwrap_or_default();
    let is_file = |path: &str| path.rsplit('/').next().is_some_and(|name| name.contains('.'));
    let is_ours = |path: &str| !structure::is_tolerated(path) && !is_vendored(path);
    let designed = |one: &&Named| !one.has_children && is_code(&one.path, "") && is_ours(&one.path);
    let designed = named.iter().filter(designed).count();
    // A folder of which no more is drawn may hold what it likes; above it may stand the project's name.
    let is_empty = |one: &&Named| {
        let inside = format!("{}/", one.path);
        !is_file(&one.path) && !named.iter().any(|other| other.path.starts_with(&inside))
    };
    let free: Vec<&str> = named.iter().filter(is_empty).map(|one| one.path.as_str()).collect();
    let below = |path: &str, folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    let is_free = |path: &str| {
        free.iter()
            .any(|folder| below(path, folder) || folder.split_once('/').is_some_and(|(_, folder)| below(path, folder)))
    };
    let counts =
        |path: &str| is_code(path, bench.site.text(path).unwrap_or_default()) && is_ours(path) && !is_free(path);
    let added = bench.site.added.iter().filter(|path| counts(path)).count();
    // What was only moved is not more.
    let moved = bench.site.moved.iter().filter(|path| counts(path)).count();
    let added = added - moved.min(bench.site.removed);
    let most = designed.saturating_mul(bench.policy.limits.files_over_design as usize);
    // A design that names folders only says nothing of how many files there are to be.
    if designed == 0 || added <= most {
        return Vec::new();
    }
    let step = step(most, added);
    vec![Found::nowhere(format!("The change adds more than {step} files, and the design names {designed}."))]
}

/// How far beyond its limit something is: the limit, half as much again, and so on. What was decided at one step is asked again at
/// the next, and not for each line.
fn step(most: usize, now: usize) -> usize {
    let mut step = most;
    loop {
        let next = step.saturating_add((step / 2).max(1));
        if next >= now {
            return step;
        }
        step = next;
    }
}

/// Whether a person has decided on a concern, or on a greater one of the same: what has shrunk is not asked again.
pub(super) fn is_decided(concern: &str, decided: &BTreeSet<String>) -> bool {
    let own = sized(concern);
    let is_greater = |one: &String| match (&own, sized(one)) {
        (Some((what, size)), Some((other, far))) => *what == other && far >= *size,
        _ => false,
    };
    decided.contains(concern) || decided.iter().any(is_greater)
}

/// What a concern is about, and its number.
fn sized(concern: &str) -> Option<(String, usize)> {
    let (before, rest) = concern.rsplit_once("more than ")?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some((format!("{before}{}", &rest[end..]), rest[..end].parse().ok()?))
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

/// Ends of files that people write, beside those of the languages whose code is looked into.
#[rustfmt::skip]
const ENDS: &[&str] = &[
    "c", "h", "cc", "cpp", "cxx", "hpp", "hh", "hxx", "m", "mm", "cu", "asm", "s", "f90", "pas", "d", "zig", "nim", "v", "sv", "vhd", "vhdl",
    "scala", "groovy", "gradle", "clj", "cljs", "cljc", "fs", "fsx", "vb", "dart", "ex", "exs", "erl", "hs", "ml", "mli", "elm", "lua", "jl",
    "r", "R", "pl", "pm", "sol", "coffee", "sh", "bash", "zsh", "fish", "ps1", "bat", "cmd", "awk", "tcl", "sql", "proto", "graphql", "tf",
    "vue", "svelte", "astro", "css", "scss", "sass", "less", "styl", "html", "htm", "xhtml", "erb", "ejs", "hbs", "mustache", "jinja",
    "jinja2", "j2", "tmpl", "tpl", "twig", "liquid", "haml", "pug", "cshtml", "razor", "jsp",
];

/// Whether a file is code of any kind.
pub(super) fn is_code(path: &str, text: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.').filter(|(before, _)| !before.is_empty()) {
        Some((_, end)) => Language::of(path).is_some() || ENDS.contains(&end),
        None => text.starts_with("#!"),
    }
}

/// Whether a file is one that somebody wrote to be read: no test, nobody else's, not made by a tool, no data.
fn is_source(path: &str, text: &str) -> bool {
    is_code(path, text)
        && !is_of_tests(path)
        && !is_vendored(path)
        && !is_paper(path)
        && !is_lock(path)
        && !is_made(path)
}

/// By where it is. What a file says of itself does not count: the change would be its own judge.
fn is_made(path: &str) -> bool {
    const FOLDERS: &[&str] =
        &["dist", "build", "out", "target", "generated", "gen", "__generated__", "seeds", "data", "dumps"];
    const MARKS: &[&str] =
        &[".min.", ".generated.", ".gen.", ".g.dart", ".freezed.dart", ".pb.", "_pb2.", "_pb2_grpc.", ".designer.cs"];
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let small = name.to_ascii_lowercase();
    // Of the languages whose code is looked into, a folder excuses nothing.
    let by_folder = Language::of(path).is_none() && folders.split('/').any(|part| FOLDERS.contains(&part));
    by_folder || MARKS.iter().any(|mark| small.contains(mark)) || small.starts_with("zz_generated")
}

/// `BRK-02`. A file that was as long before is not this change's, unless it grows by half of the limit again.
pub(super) fn too_long(bench: &Bench<'_>) -> Vec<Found> {
    let most = bench.policy.limits.file_lines as usize;
    let mut found = Vec::new();
    for file in bench.site.files.iter().filter(|file| is_source(&file.path, &file.text)) {
        let now = length(&file.path, &file.text);
        let grows = |before: usize| before <= most || now.saturating_sub(before) > most / 2;
        if now > most && file.lines_before.is_none_or(grows) {
            found.push(Found::in_file(&file.path, format!("This file has more than {} lines.", step(most, now))));
        }
    }
    found
}

/// `BRK-04`. What only tests and tools need is not asked for.
pub(super) fn undesigned(bench: &Bench<'_>) -> Vec<Found> {
    let Some(said) = Said::of([&bench.design, &bench.scope].into_iter().flatten()) else { return Vec::new() };
    let there: locks::There<'_> =
        bench.site.locks.iter().map(|(path, text)| (path.as_str(), text.as_deref())).collect();
    let mut found = Vec::new();
    for path in bench.site.manifests.iter().filter(|path| !is_of_tests(path) && !is_paper(path)) {
        let Some(Some(text)) = bench.site.locks.get(path) else { continue };
        let before = bench.site.manifests_before.get(path);
        let before = before.map(|text| locks::runtime(path, text, &there)).unwrap_or_default();
        for one in locks::runtime(path, text, &there) {
            // What others need is theirs, unless the code takes it up.
            let counts = |one: &locks::Needed| !one.indirect || is_imported(bench, &one.name);
            let is_old = before.iter().any(|old| old.name == one.name && counts(old));
            if counts(&one) && !is_old && !said.names(&one.name) {
                let called = if one.written == one.name {
                    String::new()
                } else {
                    format!(", called `{}` here,", locks::shown(&one.written))
                };
                let name = locks::shown(&one.name);
                let says = format!("`{name}`{called} is a dependency that neither design nor scope names.");
                found.push(Found { path: Some(path.clone()), line: one.line, says, next: None });
            }
        }
    }
    found
}

/// Whether a source of Go imports a module.
fn is_imported(bench: &Bench<'_>, module: &str) -> bool {
    let quoted = [format!("\"{module}\""), format!("\"{module}/")];
    let sources = bench.site.files.iter().filter(|file| Language::of(&file.path) == Some(Language::Go));
    sources.filter(|file| !is_of_tests(&file.path)).any(|file| quoted.iter().any(|quoted| file.text.contains(quoted)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that has grown is asked about again at the next step, and one that has shrunk is not.
    #[test]
    fn what_was_decided_is_asked_again_when_it_has_grown() {
        assert_eq!([301, 450, 451, 9_303].map(|now| step(300, now)), [300, 300, 450, 7_683]);
        assert_eq!(step(1, 2), 1);
        let concern = |lines: usize| format!("BRK-02 src/a.py: This file has more than {lines} lines.");
        let decided = BTreeSet::from([concern(450)]);
        assert!(is_decided(&concern(450), &decided) && is_decided(&concern(300), &decided));
        assert!(!is_decided(&concern(675), &decided));
        assert!(!is_decided(&concern(300).replace("a.py", "b.py"), &decided));
    }

    #[test]
    fn what_people_write_is_a_source() {
        for path in [
            "src/a.c",
            "a/b.h",
            "run.sh",
            "db/0001.sql",
            "web/App.vue",
            "web/a.scss",
            "web/index.html",
            "src/build/a.py",
        ] {
            assert!(is_source(path, ""), "{path}");
        }
        assert!(is_source("bin/lamp", "#!/bin/sh\n") && !is_source("bin/lamp", "lamp\n"));
        for path in [
            "README.md",
            "data/a.csv",
            "a.json",
            "docs/a.html",
            "tests/a.sh",
            "vendor/a.c",
            "web/a.min.css",
            "dist/a.css",
            "api/a.pb.go",
            "package-lock.json",
            "db/seeds/a.sql",
            ".gitignore",
        ] {
            assert!(!is_source(path, "x"), "{path}");
        }
    }
}
