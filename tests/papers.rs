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
    for room in ["src/gate", "src/guard", "src/engine", "src/flow", "src/policy", "src/cli"] {
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

/// The cells of a table's rows, without header and rule.
fn rows(paper: &str) -> Vec<Vec<String>> {
    let cells = |line: &str| {
        let line = line.trim().trim_start_matches('|').trim_end_matches('|').replace("\\|", "\u{0}");
        line.split('|').map(|cell| cell.trim().replace('\u{0}', "|")).collect::<Vec<_>>()
    };
    paper.lines().filter(|line| line.starts_with("| `")).map(cells).collect()
}

#[test]
fn the_commands_are_documented_as_they_are() {
    use phasegate::engine::command::COMMANDS;
    let listed = rows(&read("docs/commands.md"));
    assert_eq!(listed.len(), COMMANDS.len());
    for (row, spec) in listed.iter().zip(COMMANDS) {
        let usage = format!("`{}`", spec.usage(&format!("/{}", spec.name)));
        let flow = spec.flow.map_or("all", phasegate::flow::FlowName::as_str);
        assert_eq!(row, &[usage.as_str(), spec.may.who(), flow, spec.about], "/{}", spec.name);
    }
}

#[test]
fn the_marks_and_limits_are_documented_as_they_are() {
    use phasegate::engine::COMMANDS_AN_HOUR;
    use phasegate::engine::command::{COMMANDS_A_COMMENT, LATER};
    use phasegate::flow::pipeline::{FAILS_THAT_BLOCK, RECONCILE_CYCLES};
    let paper = read("docs/commands.md");
    let line = |start: &str| paper.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{start}"));
    for (mark, meaning) in phasegate::surface::MARKS {
        assert_eq!(line(&format!("| {mark} |")), format!("| {mark} | {meaning} |"));
    }
    let most = format!("| commands in one comment | {COMMANDS_A_COMMENT} | the first {COMMANDS_A_COMMENT} are");
    assert!(line("| commands in one comment |").starts_with(&most), "{most}");
    let start = "| commands of one person on one change within an hour |";
    assert!(line(start).starts_with(&format!("{start} {COMMANDS_AN_HOUR} |")));
    assert!(line("| FAILs of a gate |").starts_with(&format!("| FAILs of a gate | {FAILS_THAT_BLOCK} |")));
    assert_eq!(RECONCILE_CYCLES + 1, 4, "RECONCILE: the fourth");
    let rules = read("docs/rules.md");
    assert!(rules.contains(&format!("at most {COMMANDS_AN_HOUR} commands on one change within an hour")));
    assert!(rules.contains(&format!("A comment has at most {COMMANDS_A_COMMENT} commands.")));
    for name in LATER {
        assert!(paper.contains(&format!("`/{name}`")), "{name}");
    }
}

/// The blocks of a language in a paper.
fn blocks(paper: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}");
    let mut found = Vec::new();
    let mut inside: Option<String> = None;
    for line in paper.lines() {
        match &mut inside {
            None if line.trim() == fence => inside = Some(String::new()),
            Some(_) if line.trim() == "```" => found.extend(inside.take()),
            Some(block) => *block += &format!("{}\n", line.strip_prefix("   ").unwrap_or(line)),
            None => {}
        }
    }
    found
}

#[test]
fn the_readme_says_what_is_so() {
    let readme = read("README.md");
    for block in blocks(&readme, "yaml") {
        phasegate::policy::parse(block.as_bytes()).unwrap_or_else(|problems| panic!("{problems:?}\n{block}"));
    }
    for link in readme.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
        assert!(root().join(link).exists(), "{link} does not exist");
    }
    let commands: BTreeSet<&str> = readme
        .split("`phasegate ")
        .skip(1)
        .filter_map(|rest| rest.split(['`', ' ']).next())
        .filter(|word| !word.is_empty())
        .collect();
    assert!(commands.len() >= 6, "{commands:?}");
    for command in commands {
        assert_cmd::Command::cargo_bin("phasegate").unwrap().args([command, "--help"]).assert().success();
    }
}

#[test]
fn the_installation_asks_for_what_the_app_uses() {
    let paper = read("docs/install.md");
    let named = |row: &str| paper.lines().find(|line| line.starts_with(&format!("| {row} |"))).unwrap().to_lowercase();
    let permissions = named("Repository permissions");
    for (name, level) in phasegate::rehearsal::PERMISSIONS {
        if *name == "members" {
            assert!(named("Organization permissions").contains("members: read"));
            continue;
        }
        let level = if *level == phasegate::twin::Level::Write { "read and write" } else { "read" };
        let wanted = format!("{}: {level}", name.replace('_', " "));
        assert!(permissions.contains(&wanted), "{wanted} is not in {permissions}");
    }
    let events = named("Events");
    // GitHub sends these two to every App, without being asked.
    for event in phasegate::rehearsal::EVENTS.iter().filter(|event| !event.starts_with("installation")) {
        assert!(events.contains(&event.replace('_', " ")), "{event} is not in {events}");
    }
    for block in blocks(&paper, "json") {
        let rules: serde_json::Value = serde_json::from_str(&block).unwrap();
        assert_eq!(rules["enforcement"], "active");
    }
    let help = assert_cmd::Command::cargo_bin("phasegate").unwrap().args(["serve", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let code = read("src/cli/app.rs") + &read("src/cli/serve.rs") + &read("src/github/endpoint.rs");
    let cells = first_column(&paper);
    let (metrics, settings): (Vec<&str>, Vec<&str>) =
        cells.iter().flat_map(|cell| cell.split("`, `")).partition(|name| name.starts_with("phasegate_"));
    for name in settings {
        assert!(help.contains(name) || code.contains(name), "{name} is read nowhere");
    }
    // The metrics of the paper are those that are described, and those that are set.
    let named = |source: &str| -> BTreeSet<String> {
        let name =
            |part: &&str| part.starts_with("phasegate_") && part.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        source.split('"').filter(name).map(str::to_owned).collect()
    };
    let described = named(&read("src/server/mod.rs"));
    assert_eq!(metrics.into_iter().map(str::to_owned).collect::<BTreeSet<_>>(), described);
    let sources = [
        "src/server/intake.rs",
        "src/server/posted.rs",
        "src/server/own_runner.rs",
        "src/github/budget.rs",
        "src/github/wire.rs",
    ];
    let set = named(&sources.map(read).concat());
    assert_eq!(set, described);
}

#[test]
fn the_templates_are_valid_policies() {
    for flow in ["merge", "pipeline"] {
        let text = read(&format!("templates/{flow}/.github/phasegate.yml"));
        let policy = phasegate::policy::parse(text.as_bytes()).unwrap_or_else(|problems| panic!("{problems:?}"));
        assert_eq!(policy.flow.as_str(), flow);
    }
}

/// The set that decides which greens count is printed as it is in the code, line by line.
#[test]
fn the_built_in_set_is_printed_as_it_is() {
    use phasegate::repo::meaning::set::{CONFIGURATION, PARTS, RUNNERS};
    let paper = read("docs/policy.md");
    let paper = paper.split("## Which greens count").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    let ticks = |words: &[&str]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    let mut lines: Vec<String> = Vec::new();
    for runner in RUNNERS {
        let (files, commands) = (ticks(runner.files), ticks(runner.commands));
        lines.push(format!("| {} | {files} | {commands} | {} |", runner.what, runner.why));
    }
    for part in PARTS {
        let after = if part.after.is_empty() { "anything".to_owned() } else { ticks(part.after) };
        lines.push(format!("| {} | {} of `{}` | {after} | {} |", part.what, ticks(part.members), part.file, part.why));
    }
    for group in CONFIGURATION {
        lines.push(format!("| {} | {} | {} |", group.what, ticks(group.files), group.why));
    }
    let head = |line: &&str| line.starts_with("| ") && !line.starts_with("| what it is");
    let printed: Vec<&str> = paper.lines().filter(head).collect();
    assert_eq!(printed, lines);
}

#[test]
fn what_is_frozen_is_printed_as_it_is() {
    use phasegate::guard::set::{CONTRACT, LAW, LOCKS, TESTS};
    let paper = read("docs/guard.md");
    let ticks = |words: &[&str]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    let mut lines: Vec<String> =
        TESTS.iter().map(|group| format!("| {} | {} |", group.language, ticks(group.files))).collect();
    for (what, files) in [
        ("the contract", CONTRACT),
        ("the law: workflows, the policy, code owners, instructions to agents, what git makes of files", LAW),
        ("lock files", LOCKS),
    ] {
        lines.push(format!("| {what} | {} |", ticks(files)));
    }
    let frozen = paper.split("## What is frozen").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    let row =
        |line: &&str| line.starts_with("| ") && !line.starts_with("| language") && !line.starts_with("| what it is");
    assert_eq!(frozen.lines().filter(row).collect::<Vec<_>>(), lines);
}

#[test]
fn the_page_of_waves_has_a_ledger_and_codes_that_are_so() {
    use phasegate::guard::wave::{self, ledger, verdict, verify};
    let page = read("docs/waves.md");
    let template = &blocks(&page, "markdown")[0];
    assert_eq!(wave::read(wave::FILE, template.as_bytes()).unwrap().write(), *template);
    let codes = page.split("## Codes").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    let codes: BTreeSet<String> =
        rows(codes).iter().flat_map(|row| row[0].split(", ").map(|code| code.replace('`', ""))).collect();
    for code in [ledger::MALFORMED, verify::UNVERIFIED, verify::PENDING, verify::BYPASSED] {
        assert!(codes.contains(code), "{code}");
    }
    for code in [verdict::MALFORMED, verdict::MISMATCH, "unescalated_security_note"] {
        assert!(codes.contains(code), "{code}");
    }
    let documented = once(first_column(&read("docs/rules.md")));
    assert!(codes.is_subset(&documented), "{:?}", codes.difference(&documented));
}

/// The texts that these words are followed by in a script: `Cheat("this", "and that"`.
fn given(script: &str, words: &[&str]) -> Vec<(String, String)> {
    let text = |rest: &str| rest.split_once('"').map(|(text, behind)| (text.to_owned(), behind.to_owned()));
    let mut found = Vec::new();
    for word in words {
        for rest in script.split(&format!("{word}(\"")).skip(1) {
            let (first, behind) = text(rest).unwrap();
            found.push((first, text(behind.trim_start_matches([',', ' ', '"'])).unwrap().0));
        }
    }
    found
}

#[test]
fn the_comparison_has_the_rows_that_are_played() {
    let page = read("docs/comparison.md");
    let played = |name: &str| {
        let part =
            page.split(&format!("<!-- played: {name} -->")).nth(1).unwrap().split("<!-- end -->").next().unwrap();
        let lines = part.lines().filter(|line| line.starts_with('|')).skip(2);
        lines.map(|line| line.split('|').skip(1).map(|cell| cell.trim().to_owned()).collect()).collect::<Vec<Vec<_>>>()
    };
    let script = ["cheats", "waves", "compare"].map(|name| read(&format!("tests/peers/{name}.py"))).concat();
    let given = given(&script, &["Cheat", "both", "cheating"]);
    let (cheats, twins) = (played("cheats"), played("twins"));
    let first = |rows: &[Vec<String>]| rows.iter().map(|row| row[0].clone()).collect::<BTreeSet<_>>();
    assert_eq!(first(&cheats), given.iter().map(|(cheat, _)| cheat.clone()).collect());
    assert_eq!(first(&twins), given.iter().map(|(_, twin)| twin.clone()).collect());
    // A cheat and its twin stand in the same row of the two tables.
    assert_eq!(cheats.len(), twins.len());
    for (cheat, twin) in cheats.iter().zip(&twins) {
        assert!(given.contains(&(cheat[0].clone(), twin[0].clone())) && cheat[1] == twin[1], "{cheat:?} {twin:?}");
    }
    for story in page.split("](../tests/cheats/").skip(1).filter_map(|rest| rest.split(')').next()) {
        assert!(read(&format!("tests/cheats/{story}")).contains("\nhonest:\n"), "{story}");
    }
}

#[test]
fn the_answer_of_config_check_is_printed_as_it_is() {
    let paper = read("docs/policy.md");
    let printed: serde_json::Value = serde_json::from_str(&blocks(&paper, "json")[0]).unwrap();
    let policy = "version: 1\nmerge:\n  aprovals: 2\n  require: [review]\n";
    assert_eq!(serde_json::to_value(phasegate::policy::check(policy.as_bytes())).unwrap(), printed);
}

/// The blocks of a page that are said to be out of a file: their language is followed by its path.
fn quoted(page: &str) -> Vec<(&str, &str)> {
    let fences = page.split("\n```").skip(1).step_by(2);
    let blocks = fences.filter_map(|block| block.split_once('\n'));
    blocks.filter_map(|(head, text)| Some((head.split_once(' ')?.1.trim(), text))).collect()
}

#[test]
fn what_the_walk_through_quotes_is_what_the_files_say() {
    let page = read("CONTRIBUTING.md");
    let blocks = quoted(&page);
    assert!(blocks.len() >= 6, "{blocks:?}");
    for (path, text) in blocks {
        assert!(read(path).contains(text), "{path} does not have this any more:\n{text}");
    }
}

#[test]
fn every_room_says_what_it_promises() {
    for (path, source) in sources("src") {
        let name = path.file_name().unwrap().to_string_lossy();
        let tests = name.ends_with("tests.rs") || path.components().any(|part| part.as_os_str() == "tests");
        assert!(tests || source.starts_with("//! "), "{} does not say what it is", path.display());
    }
}

#[test]
fn the_playground_is_documented_as_it_is() {
    let paper = read("docs/playground.md");
    let stage = phasegate::rehearsal::demo_stage(&["guest"]);
    let ready = stage.commits.iter().chain(&stage.changes).map(|one| (one.name.as_str(), one.about.as_str()));
    let days = phasegate::twin::PRESETS.iter().map(|preset| (preset.name, preset.about));
    let wanted: Vec<[String; 2]> =
        ready.chain(days).map(|(name, about)| [format!("`{name}`"), about.to_owned()]).collect();
    assert_eq!(rows(&paper), wanted);
    // What it and the README show is there, and small enough to be fetched by phone.
    for (folder, paper) in [("docs", paper), (".", read("README.md"))] {
        let pictures =
            paper.split("](").skip(1).filter_map(|rest| rest.split(')').next()).filter(|to| to.ends_with(".png"));
        for picture in pictures {
            let file = root().join(folder).join(picture);
            let size = std::fs::metadata(&file).unwrap_or_else(|error| panic!("{picture}: {error}")).len();
            assert!((1..200_000).contains(&size), "{picture} has {size} bytes");
        }
    }
}
