//! The files for agents in `templates/agents` say what the code does: one for each role and phase, nothing that is not there, and short.

#![allow(clippy::unwrap_used, reason = "a test that can not go on has failed")]

#[path = "support/greeting.rs"]
mod greeting;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use phasegate::flow::task::{Stage, listed};
use phasegate::flow::{Phase, pipeline};
use phasegate::gate::papers::document;
use phasegate::gate::pass::scouted;
use phasegate::gate::task::prompt;
use phasegate::policy::Role;
use phasegate::surface::capsule;
use serde_json::{Value, json};

/// The most bytes of a file. Every agent pays for each of them each time.
const MOST_INSTRUCTIONS: usize = 2_000;
const MOST_SKILL: usize = 3_000;
const MOST_ROLE: usize = 1_200;
const MOST_PROMPT: usize = 1_300;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every text below a folder, by its path in there.
fn texts(under: &str, ending: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root().join(under)];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                let name = path.strip_prefix(root().join(under)).unwrap().to_string_lossy().into_owned();
                found.insert(name, std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

fn files() -> BTreeMap<String, String> {
    texts("templates/agents", "")
}

fn of_role(role: Role) -> String {
    format!(".github/agents/{role}.agent.md")
}

fn of_phase(phase: Phase) -> String {
    format!(".github/prompts/{phase}.prompt.md")
}

fn of_stage(stage: Stage) -> String {
    format!(".github/prompts/task-{stage}.prompt.md")
}

/// The phases in which an agent works at a task.
fn stages() -> impl Iterator<Item = Stage> {
    Stage::ALL.into_iter().filter(|stage| !stage.is_terminal())
}

const INSTRUCTIONS: &str = "AGENTS.md";
const SKILL: &str = ".github/skills/phasegate/SKILL.md";

/// What stands between the two lines of dashes, and what stands below.
fn parted(text: &str) -> (Value, &str) {
    let rest = text.strip_prefix("---\n").expect("front matter begins on the first line");
    let (front, below) = rest.split_once("\n---\n").expect("front matter ends");
    (serde_yaml::from_str(front).unwrap_or_else(|error| panic!("{error}\n{front}")), below)
}

/// What is not front matter, with each run of white space as one blank.
fn body(text: &str) -> String {
    let below = if text.starts_with("---\n") { parted(text).1 } else { text };
    below.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The entries below a heading, each on one line.
fn entries(text: &str, heading: &str) -> Vec<String> {
    let part = text.split(&format!("\n## {heading}\n")).nth(1).unwrap_or_else(|| panic!("no {heading}:\n{text}"));
    let mut all: Vec<String> = Vec::new();
    for line in part.lines().skip(1).take_while(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_prefix("- ") {
            Some(entry) => all.push(entry.to_owned()),
            None => *all.last_mut().unwrap() += &format!(" {}", line.trim()),
        }
    }
    all
}

/// What stands in code marks, outside of blocks.
fn spans(text: &str) -> BTreeSet<String> {
    let mut in_block = false;
    let outside = text.lines().filter(|line| {
        let fence = line.starts_with("```");
        in_block ^= fence;
        !fence && !in_block
    });
    outside.flat_map(|line| line.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

#[test]
fn there_is_one_for_each_role_and_each_phase_and_no_other() {
    let roles = Role::EACH.into_iter().map(of_role);
    let phases = Phase::ALL.into_iter().map(of_phase).chain(stages().map(of_stage));
    let wanted: BTreeSet<String> =
        [INSTRUCTIONS, SKILL].map(str::to_owned).into_iter().chain(roles).chain(phases).collect();
    assert_eq!(files().into_keys().collect::<BTreeSet<_>>(), wanted);
}

#[test]
fn the_front_matter_is_what_its_format_asks_for() {
    let files = files();
    let keys = |front: &Value| front.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let says = |front: &Value| {
        let says = front["description"].as_str().unwrap().to_owned();
        // A skill is found by it, and every skill's stands in every context.
        assert!((20..=300).contains(&says.len()), "{says}");
    };
    for role in Role::EACH {
        let (front, _) = parted(&files[&of_role(role)]);
        assert_eq!(keys(&front), ["description", "name", "tools"], "{role}");
        assert_eq!(front["name"], role.as_str());
        says(&front);
    }
    for path in Phase::ALL.into_iter().map(of_phase).chain(stages().map(of_stage)) {
        let (front, _) = parted(&files[&path]);
        assert_eq!(keys(&front), ["agent", "description"], "{path}");
        // Whoever works on a phase edits files.
        assert_eq!(front["agent"], Role::Main.as_str(), "{path}");
        says(&front);
    }
    let (front, _) = parted(&files[SKILL]);
    assert_eq!(keys(&front), ["description", "name"]);
    assert_eq!(front["name"], Path::new(SKILL).parent().unwrap().file_name().unwrap().to_str().unwrap());
    says(&front);
}

#[test]
fn whoever_only_looks_is_given_nothing_to_write_with() {
    let tools = greeting::greeting().tools;
    let named = |tool: &Value| format!("phasegate/{}", tool["name"].as_str().unwrap());
    let all: BTreeSet<String> = tools.iter().map(named).collect();
    let reads: BTreeSet<String> =
        tools.iter().filter(|tool| tool["annotations"]["readOnlyHint"] == true).map(named).collect();
    assert!(reads.len() < all.len(), "{all:?}");
    for role in Role::EACH {
        let (front, _) = parted(&files()[&of_role(role)]);
        let given: Vec<String> = serde_json::from_value(front["tools"].clone()).unwrap();
        for tool in &given {
            let looks = ["read", "search"].contains(&tool.as_str()) || reads.contains(tool);
            let works = ["edit", "execute", "phasegate/*"].contains(&tool.as_str()) || all.contains(tool);
            assert!(looks || (works && !role.is_read_only()), "{role}: {tool}");
        }
        assert_eq!(given.iter().any(|tool| tool == "edit"), !role.is_read_only(), "{role}");
        assert!(given.iter().any(|tool| tool == "phasegate/next" || tool == "phasegate/*"), "{role} can't ask");
    }
}

/// What an agent on GitHub can't see is no instruction, and what a person can't see is a trap.
#[test]
fn they_are_short_and_hide_nothing() {
    for (path, text) in files() {
        let most = match path.as_str() {
            INSTRUCTIONS => MOST_INSTRUCTIONS,
            SKILL => MOST_SKILL,
            path if path.starts_with(".github/agents/") => MOST_ROLE,
            _ => MOST_PROMPT,
        };
        assert!(text.len() <= most, "{path} has {} bytes, and {most} are enough", text.len());
        assert!(!text.contains("<!--"), "{path}: nobody on GitHub sees a comment");
        let odd: Vec<char> = text.chars().filter(|c| !c.is_ascii_graphic() && !" \n".contains(*c)).collect();
        assert!(odd.is_empty(), "{path}: {odd:?}");
        assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{path}");
    }
}

#[test]
fn each_begins_with_asking() {
    // So does the server itself.
    assert!(greeting::greeting().instructions.contains("`next` first"));
    for (path, text) in files() {
        let first = match path.as_str() {
            INSTRUCTIONS => body(&text).split("**Obey").next().unwrap().to_owned(),
            SKILL => continue,
            _ => body(&text).split(" ## ").next().unwrap().chars().take(160).collect(),
        };
        let task = path.contains("/task-");
        let asks = if task { "`phasegate task check FOLDER`" } else { "next`" };
        assert!(first.contains(asks), "{path}: {first}");
    }
}

/// Words of a command: those before what is to be put in.
fn asked_for_help(span: &str) -> bool {
    let plain = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    let words: Vec<&str> = span.split(' ').skip(1).take_while(plain).collect();
    Command::new(env!("CARGO_BIN_EXE_phasegate")).args(words).arg("--help").output().unwrap().status.success()
}

fn is_numbered(word: &str) -> bool {
    word.split_once('-').is_some_and(|(family, number)| {
        (3..=4).contains(&family.len())
            && family.bytes().all(|b| b.is_ascii_uppercase())
            && number.len() == 2
            && number.bytes().all(|b| b.is_ascii_digit())
    })
}

#[test]
fn they_name_nothing_that_is_not_there() {
    use phasegate::engine::command::COMMANDS;
    let tools: BTreeSet<String> =
        greeting::greeting().tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    let rules = read("docs/rules.md");
    let rules: BTreeSet<&str> =
        rules.lines().filter_map(|line| line.strip_prefix("| `")?.split(['`', ':']).next()).collect();
    let pages: String = texts("docs", ".md").into_values().collect();
    let code: String = texts("src", ".rs").into_values().collect();
    let mut counted = [0; 4];
    for (path, text) in files() {
        for word in text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').filter(|word| is_numbered(word)) {
            counted[0] += 1;
            assert!(rules.contains(word), "{path}: there is no rule {word}");
        }
        for span in spans(&text) {
            let there = if span.starts_with("phasegate ") {
                counted[1] += 1;
                asked_for_help(&span)
            } else if let Some(rest) = span.strip_prefix('/') {
                counted[2] += 1;
                COMMANDS.iter().any(|command| Some(command.name) == rest.split(' ').next())
            } else if span.starts_with("Phasegate-") {
                counted[3] += 1;
                let trailer = span.split(':').next().unwrap();
                [format!("\"{trailer}\""), format!("\"{trailer}:\"")].iter().any(|literal| code.contains(literal))
            } else if let Some(stage) = span.strip_prefix("Phase: ") {
                Stage::parse(stage).is_some()
            } else if is_numbered(&span) {
                true
            } else {
                tools.contains(&span) || rules.contains(span.as_str()) || pages.contains(&format!("`{span}`")) || {
                    // A place, or a word that stands inside of something.
                    pages.contains(&span) && span.contains(['/', '.', ' ']) || code.contains(&format!("\"{span}\""))
                }
            };
            assert!(there, "{path}: there is no `{span}`");
        }
    }
    assert!(counted.iter().all(|count| *count >= 4), "{counted:?}");
    for tool in ["next", "raise_decision"] {
        assert!(files()[INSTRUCTIONS].contains(&format!("`{tool}`")) && tools.contains(tool), "{tool}");
    }
    // The table of the skill has each tool that there is, in its last column.
    let columns = files()[SKILL]
        .lines()
        .filter_map(|line| line.strip_suffix("` |")?.rsplit_once("| `"))
        .map(|(_, tools)| tools.to_owned())
        .collect::<Vec<String>>();
    let listed: BTreeSet<String> = columns.iter().flat_map(|tools| tools.split("`, `")).map(str::to_owned).collect();
    assert_eq!(listed, &tools - &BTreeSet::from(["phasegate mcp".to_owned()]));
}

/// One text for an agent that is asked by the runner and one for an agent that a person asks: both say what the table says.
#[test]
fn a_prompt_of_a_task_says_what_the_runner_says() {
    for stage in stages() {
        let text = files()[&of_stage(stage)].clone();
        assert_eq!(entries(&text, "You may"), prompt::allowed(stage), "{stage}");
        assert_eq!(entries(&text, "You may not"), prompt::forbidden(stage), "{stage}");
        let writes = entries(&text, "You write");
        let fields = format!("In `STATE.md`: {}; and `Status`, `Next step`, `Blockers`", prompt::updates(stage));
        assert!(writes[0].starts_with(&fields), "{stage}: {}\n{fields}", writes[0]);
        let next = format!(
            "When the phase is done: `Phase:` may be {}. Otherwise leave `Phase: {stage}`.",
            listed(stage.next())
        );
        assert_eq!(writes[1], next, "{stage}");
    }
}

/// What the capsule says of a phase, in its words; a path may stand in code marks.
#[test]
fn a_prompt_of_the_pipeline_says_what_the_capsule_says() {
    let pages = read("docs/gates.md");
    for phase in Phase::ALL {
        let text = files()[&of_phase(phase)].clone();
        let plain = |heading: &str| -> Vec<String> {
            entries(&text, heading).iter().map(|entry| entry.replace('`', "")).collect()
        };
        let (may, may_not) = (plain("You may"), plain("You may not"));
        assert_eq!(may[0], capsule::work(phase), "{phase}");
        let forbidden = [capsule::ahead(phase), Some(capsule::DELETE.to_owned()), Some(capsule::MERGE.to_owned())];
        for one in forbidden.iter().flatten().map(|one| one.strip_prefix("to ").unwrap().to_owned()) {
            assert!(may_not.contains(&one), "{phase}: {one} is not in {may_not:?}");
        }
        // It claims its own phase. What is judged after the merge has no head to claim it by.
        let claims: Vec<&str> =
            text.split("`Phasegate-Claim: ").skip(1).filter_map(|rest| rest.split('`').next()).collect();
        match phase {
            Phase::Deploy => assert!(claims.is_empty() && text.contains("`/deploy`"), "{claims:?}"),
            _ => assert_eq!(claims, [phase.as_str()]),
        }
        let Some(paper) = document(phase) else { continue };
        let paper = Path::new(paper).file_stem().unwrap().to_str().unwrap().to_owned();
        let sections: Vec<&str> =
            pages.lines().filter_map(|line| line.strip_prefix(&format!("| {paper} | "))?.split(" | ").next()).collect();
        assert!(sections.len() > 5, "{paper}: {sections:?}");
        let body = body(&text);
        let asks = body.split("## What the gate reads ").nth(1).unwrap().split(". ").next().unwrap();
        assert_eq!(asks.split(", ").collect::<Vec<_>>(), sections, "{phase}");
    }
    // They speak of three FAILs at a gate.
    assert_eq!(pipeline::FAILS_THAT_BLOCK, 3);
    for path in [INSTRUCTIONS, SKILL] {
        assert!(body(&files()[path]).contains("after three at one gate a person has to decide"), "{path}");
    }
}

#[test]
fn the_phases_of_the_runner_name_rules_of_their_own() {
    for (phase, family) in Phase::ALL.into_iter().zip(["EXP", "DSN", "ANL", "BLD", "REV", "REC", "VER", "DEP"]) {
        let text = &files()[&of_phase(phase)];
        assert!(text.matches(&format!("`{family}-")).count() >= 3, "{phase}: {text}");
    }
}

/// What a role is told of its answer is what its answer is held against.
#[test]
fn a_role_is_told_the_form_of_its_answer() {
    let text = |role: Role| files()[&of_role(role)].clone();
    for (role, key) in [(Role::Reviewer, "findings"), (Role::Critic, "gaps")] {
        let block = text(role).split("````md\n").nth(1).unwrap().split("````").next().unwrap().to_owned();
        let read = phasegate::gate::review::block::parse(&block).unwrap_or_else(|| panic!("no block in {block}"));
        assert!(read.is_ok() && block.contains(&format!("{key}:")), "{read:?}");
    }
    // Each word that a scout is told to leave out is one for which a sentence is left out.
    let scout = text(Role::Scout);
    let words: Vec<&str> = scout.split('*').skip(1).step_by(2).collect();
    assert!(words.len() >= 3, "{words:?}");
    for word in words {
        let finding = json!({ "says": format!("The lamp {word} be lit."), "path": "a", "line": 1, "quote": "x" });
        let (found, wrong) = scouted(&json!({ "findings": [finding] }), &mut |_| Some(b"x\n".to_vec()));
        assert_eq!((found.len(), wrong.len()), (0, 1), "{word}");
    }
    for role in Role::EACH.into_iter().filter(|role| role.is_read_only()) {
        let schema = phasegate::gate::pass::schema(role);
        let list = if role == Role::Scout { "findings" } else { "checks" };
        let each = schema["properties"][list]["items"]["required"].as_array().unwrap();
        // The auditor and the critic answer in forms of their own.
        if [Role::Scout, Role::Challenger, Role::Arbiter].contains(&role) {
            for key in each {
                assert!(text(role).contains(&format!("`{}`", key.as_str().unwrap())), "{role}: {key}");
            }
        }
        let (front, _) = parted(&files()[&of_role(role)]).clone();
        assert!(front["description"].as_str().unwrap().contains("nothing"), "{role}");
    }
}

/// The commands of the page are run as they stand there.
#[test]
fn they_are_put_into_a_repository_as_the_page_says() {
    let page = read("docs/agents.md");
    let part = page.split("\n## Files for agents\n").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    let script = part.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let git = |args: &[&str]| {
        let output = Command::new("git").arg("-C").arg(dir.path()).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["config", "user.name", "ada"]);
    git(&["config", "user.email", "ada@example.com"]);
    let own = [("AGENTS.md", "# Ours\n\nBe kind.\n"), (".github/workflows/ci.yml", "on: push\n")];
    for (path, text) in own {
        let path: PathBuf = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let script = script.replace("PHASEGATE/", &format!("{}/", root().display()));
    let ran = Command::new("sh").args(["-euc", &script]).current_dir(dir.path()).output().unwrap();
    assert!(ran.status.success(), "{script}\n{}", String::from_utf8_lossy(&ran.stderr));
    let committed: BTreeSet<String> =
        git(&["ls-tree", "-r", "--name-only", "HEAD"]).lines().map(str::to_owned).collect();
    for (path, text) in files() {
        assert!(committed.contains(&path), "{path} is not in {committed:?}");
        let there = std::fs::read_to_string(dir.path().join(&path)).unwrap();
        assert!(there.ends_with(&text), "{path}");
        // Whoever changes them later is seen to change what decides over the change.
        assert!(phasegate::guard::set::is_law(&path), "{path}");
    }
    for (path, text) in own {
        assert!(std::fs::read_to_string(dir.path().join(path)).unwrap().starts_with(text), "{path}");
    }
}
