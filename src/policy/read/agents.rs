//! Reading `agents` and `budget`: the programs that work, and what they may take.

use super::gates::{confine, time};
use super::{globs, set};
use crate::policy::decode::{Decoder, Fields, Spot};
use crate::policy::sight::Sight;
use crate::policy::types::*;

const MAX_WORDS: usize = 50;
const MAX_WORD: usize = 4096;
/// The ways to an agent.
const ADAPTERS: [&str; 3] = ["command", "comment", "workflow"];
/// What says how a program is run, and nothing of an agent elsewhere.
const OF_A_PROGRAM: [&str; 4] = ["attempts", "network", "confine", "pack"];

pub(super) fn read(d: &mut Decoder, top: &Fields<'_>, p: &mut Policy) {
    if let Some(f) = top.get("agents").and_then(|s| d.map(s, &["lease", "main", "reader"], &[])) {
        p.agents.lease = f.get("lease").and_then(|s| time(d, s));
        p.agents.main = f.get("main").and_then(|s| agent(d, s, true));
        p.agents.reader = f.get("reader").and_then(|s| agent(d, s, false));
    }
    if let Some(f) = top.get("budget").and_then(|s| d.map(s, &["minutes", "passes", "credits"], &[])) {
        let number = |d: &mut Decoder, key: &str, most: u64| f.get(key).and_then(|s| d.number(s, 1..=most));
        let small = |number: Option<u64>| number.and_then(|number| u32::try_from(number).ok());
        p.budget.minutes = small(number(d, "minutes", 100_000));
        p.budget.passes = small(number(d, "passes", 10_000));
        p.budget.credits = number(d, "credits", 1_000_000_000);
        if let (None, Some(spot)) = (top.get("agents"), top.get("budget")) {
            let next = "Name one: `agents: { main: { command: [\"agent-cli\"] } }`, or remove it";
            d.problem(spot.key, &spot.path, "this has no effect without an agent", next);
        }
    }
}

fn agent(d: &mut Decoder, spot: &Spot<'_>, writes: bool) -> Option<Agent> {
    let before = d.problems.len();
    const KEYS: [&str; 8] = ["command", "comment", "workflow", "timeout", "attempts", "network", "confine", "pack"];
    let f = d.map(spot, &KEYS, &[])?;
    let mut agent = Agent::default();
    set(&mut agent.timeout, f.get("timeout").and_then(|s| time(d, s)));
    let attempts = f.get("attempts").and_then(|s| d.number(s, 1..=5));
    agent.attempts = attempts.and_then(|number| u32::try_from(number).ok());
    set(&mut agent.network, f.get("network").and_then(|s| d.word(s)));
    confine(d, &f, &mut agent.confine);
    set(&mut agent.pack, f.get("pack").and_then(|s| pack(d, s)));
    let mut ways = ADAPTERS.into_iter().filter(|way| f.get(way).is_some());
    if let (Some(first), Some(second)) = (ways.next(), ways.next())
        && let Some(s) = f.get(second)
    {
        d.problem(
            s.key,
            &s.path,
            format!("there is `{first}` already: an agent is reached in one way"),
            "Remove one of them",
        );
        return None;
    }
    for way in ["comment", "workflow"] {
        let Some(s) = f.get(way) else { continue };
        if !writes {
            let says = "whoever only looks is kept from writing by walls, and there are none around an agent elsewhere";
            d.problem(s.key, &s.path, says, "Give it a `command`, or leave `reader` out");
            return None;
        }
        for key in OF_A_PROGRAM {
            if let Some(s) = f.get(key) {
                d.problem(s.key, &s.path, "this has no effect on an agent elsewhere", "Remove it");
            }
        }
        let text = d.text(s)?.trim().to_owned();
        match way {
            "comment" => agent.comment = Some(mention(d, s, text)?),
            _ => agent.workflow = Some(workflow(d, s, text)?),
        }
        return Some(agent);
    }
    let Some(command) = f.get("command") else {
        // Under a misspelt key, or one that is not there yet, it may have been said.
        if d.problems.len() > before {
            return None;
        }
        let says = "there is no `command`: nothing could be asked";
        d.problem(spot.key, &spot.path, says, "Add `command: [\"agent-cli\", \"--stdin\"]`");
        return None;
    };
    agent.command = words(d, command)?;
    Some(agent)
}

/// Whom a comment begins with: nothing that could be anything else than that.
fn mention(d: &mut Decoder, spot: &Spot<'_>, text: String) -> Option<String> {
    let name = text.strip_prefix('@').unwrap_or_default();
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/');
    if name.is_empty() || text.len() > 100 || !name.chars().all(is_letter) {
        let says = "this is whom a comment begins with, and no name with an `@` before it";
        d.problem(spot.at(), &spot.path, says, "Write `\"@copilot\"` or the like");
        return None;
    }
    Some(text)
}

/// The file of a workflow, as it is named when it is started.
fn workflow(d: &mut Decoder, spot: &Spot<'_>, text: String) -> Option<String> {
    let name = text.strip_prefix(".github/workflows/").unwrap_or_default();
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_file = name.strip_suffix(".yml").or_else(|| name.strip_suffix(".yaml")).is_some_and(|name| !name.is_empty());
    if !is_file || text.len() > 200 || !name.chars().all(is_letter) {
        let says = "this is no workflow's file";
        d.problem(spot.at(), &spot.path, says, "Write `.github/workflows/agent.yml` or the like");
        return None;
    }
    Some(text)
}

/// What of the content it gets.
fn pack(d: &mut Decoder, spot: &Spot<'_>) -> Option<Pack> {
    let before = d.problems.len();
    let f = d.map(spot, &["only", "hide"], &[])?;
    let mut pack = Pack::default();
    set(&mut pack.only, f.get("only").and_then(|s| globs(d, s, "path globs")));
    set(&mut pack.hide, f.get("hide").and_then(|s| globs(d, s, "path globs")));
    if d.problems.len() > before {
        return None;
    }
    if let Some(only) = f.get("only").filter(|_| pack.only.is_empty()) {
        let next = "Name what it gets, such as `[\"src/**\"]`, or leave the key out";
        d.problem(only.at(), &only.path, "the list is empty: it would get nothing", next);
        return None;
    }
    if let Err(error) = Sight::of(&pack) {
        let says = format!("these globs can't be read in another spelling: {}", error.kind());
        d.problem(spot.at(), &spot.path, says, "Correct the globs under `hide`");
        return None;
    }
    Some(pack)
}

/// A program and its arguments.
fn words(d: &mut Decoder, spot: &Spot<'_>) -> Option<Vec<String>> {
    let items = d.items_like(spot, "the program and its arguments", MAX_WORDS, |text| {
        let quoted: Vec<String> = text.split_whitespace().map(|word| format!("\"{word}\"")).collect();
        format!("`[{}]`", quoted.join(", "))
    })?;
    if items.is_empty() {
        let next = "Write `[\"agent-cli\", \"--stdin\"]` or the like";
        d.problem(spot.at(), &spot.path, "the list is empty: nothing would be run", next);
        return None;
    }
    let mut words = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let Some(text) = d.text(item) else { continue };
        let (says, next) = if at == 0 && text.trim().is_empty() {
            ("this is the program, and it has no name".to_owned(), "Write its name, or its path")
        } else if text.len() > MAX_WORD || text.contains('\0') {
            (format!("this may have at most {MAX_WORD} bytes, and no NUL"), "Put it into a file, and name that")
        } else {
            words.push(text.to_owned());
            continue;
        };
        d.problem(item.at(), &item.path, says, next);
    }
    Some(words)
}
