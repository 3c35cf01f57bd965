//! `REC-04` and `REC-05`: what the code calls, and what it is written in.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::Table;
use crate::gate::build::code::{Language, Masked, line_at};
use crate::gate::build::covered::is_of_tests;
use crate::gate::build::is_vendored;
use crate::gate::paper::Part;
use crate::gate::papers::{DESIGN, Found, SCOPE};

/// Each service whose API is called in a line that the change added, and that neither scope nor design names. An address in a
/// comment, or one that is no API's, is a reference.
pub(super) fn undesigned(table: &Table<'_>) -> Vec<Found> {
    static ADDRESS: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"["'`]https?://([A-Za-z0-9.-]+)(/[^\s"'`]*)?"#).ok());
    let told = table.told();
    let (mut seen, mut all) = (BTreeSet::new(), Vec::new());
    for file in &table.bench.site.files {
        let Some(language) = Language::of(&file.path) else { continue };
        if is_of_tests(&file.path) || is_vendored(&file.path) || !file.text.contains("://") {
            continue;
        }
        let code = Masked::new(&file.text, language).code;
        for found in ADDRESS.iter().flat_map(|address| address.captures_iter(&file.text)) {
            let at = found.get(0).map_or(0, |found| found.start());
            let line = line_at(&file.text, at);
            let added = usize::try_from(line).ok().and_then(|line| file.lines.get(line.checked_sub(1)?));
            // In a comment its quote is blank too.
            let quoted_there = code.as_bytes().get(at).is_some_and(|b| b"\"'`".contains(b));
            let host = found[1].trim_end_matches('.').to_ascii_lowercase();
            let path = found.get(2).map_or("", |path| path.as_str());
            if added == Some(&true)
                && quoted_there
                && is_api(&host, path)
                && !names(&told, &host)
                && seen.insert(host.clone())
            {
                let says = format!("this calls `{host}`, and the design's External Integrations do not have it.");
                let next = format!(
                    "Add the line `- {host}: … When it is down, …` to the External Integrations in `{DESIGN}`, with what it is for \
                     and what happens then."
                );
                all.push(Found::at(&file.path, line, says).next(next));
            }
        }
    }
    all
}

fn is_api(host: &str, path: &str) -> bool {
    let reserved = ["localhost", "local", "test", "example", "invalid", "internal"];
    let labels: Vec<&str> = host.split('.').collect();
    let somewhere = labels.len() > 1
        && !host.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        && !labels.last().is_some_and(|last| reserved.contains(last))
        && labels.iter().rev().nth(1) != Some(&"example");
    let version = path.strip_prefix("/v").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    somewhere && (labels[0] == "api" || version || path == "/api" || path.starts_with("/api/"))
}

/// Whether a text names a host, or whose it is: `stripe` of `api.stripe.com`.
fn names(told: &str, host: &str) -> bool {
    let mut owners = host.split('.').rev().skip(1).filter(|label| label.len() > 3 && !matches!(*label, "www"));
    told.contains(host) || owners.any(|owner| told.contains(owner))
}

/// What people call a language, and what they say in its place.
fn called(language: Language) -> (&'static str, &'static [&'static str]) {
    match language {
        Language::Rust => ("Rust", &["rust", "cargo"]),
        Language::Python => ("Python", &["python", "django", "flask", "fastapi"]),
        Language::JavaScript => (
            "JavaScript",
            &[
                "javascript",
                "typescript",
                "js",
                "ts",
                "node",
                "nodejs",
                "react",
                "vue",
                "svelte",
                "nextjs",
                "deno",
                "bun",
                "angular",
                "web",
                "browser",
                "html",
            ],
        ),
        // `go` is a word, so it is asked for with its capital.
        Language::Go => ("Go", &["Go", "golang"]),
        Language::Java => ("Java", &["java", "jvm", "spring", "maven", "gradle", "android"]),
        Language::Kotlin => ("Kotlin", &["kotlin", "jvm", "android", "gradle"]),
        Language::CSharp => ("C#", &["csharp", "c", "net", "dotnet", "aspnet"]),
        Language::Ruby => ("Ruby", &["ruby", "rails"]),
        Language::Php => ("PHP", &["php", "laravel", "symfony", "wordpress"]),
        Language::Swift => ("Swift", &["swift", "ios", "macos"]),
    }
}

/// The words of scope and design, small, and `Go`. Paths name no language: the drawn tree, and `src/lamp.go` in the text.
fn words(table: &Table<'_>) -> BTreeSet<String> {
    const ENDS: &[&str] = &["go", "py", "rs", "rb", "kt", "cs", "php", "swift", "java", "ts", "tsx", "jsx", "mjs"];
    let mut all = BTreeSet::new();
    for paper in [&table.bench.scope, &table.bench.design].into_iter().flatten() {
        let tree = paper.section("Directory Structure");
        let drawn: BTreeSet<u32> = tree.iter().flat_map(Part::lines).map(|line| line.at).collect();
        for line in paper.lines().into_iter().filter(|line| !drawn.contains(&line.at)) {
            for word in line.text.split_whitespace() {
                let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
                let is_path = bare.contains('/') && bare.contains('.');
                if is_path
                    || bare.rsplit_once('.').is_some_and(|(before, end)| !before.is_empty() && ENDS.contains(&end))
                {
                    continue;
                }
                let parts = bare.split(|c: char| !c.is_alphanumeric());
                all.extend(parts.map(|part| if part == "Go" { part.to_owned() } else { part.to_lowercase() }));
            }
        }
    }
    all
}

/// Each language of a file that was added and that neither scope nor design names.
pub(super) fn languages(table: &Table<'_>) -> Vec<Found> {
    let words = words(table);
    let (mut seen, mut all) = (BTreeSet::new(), Vec::new());
    let sources = table.bench.site.added.iter().filter(|path| !is_of_tests(path) && !is_vendored(path));
    for path in sources.filter(|path| path.contains('/')) {
        let Some(language) = Language::of(path) else { continue };
        let (name, others) = called(language);
        if !others.iter().any(|word| words.contains(*word)) && seen.insert(name) {
            let says = format!("this is {name}, which the Stack of scope does not name.");
            all.push(Found::in_file(path, says).next(format!("Add the line `- {name}` to the Stack in `{SCOPE}`.")));
        }
    }
    all
}
