//! What a resolution leaves on GitHub: the issues of the parts that a change was split into, and a fix's commit.

use std::fmt::Write as _;

use super::escalation::login;
use super::labels;
use super::project::Label;
use super::sync::Memory;
use super::text::{copied, plain_to};
use crate::finding::quoted;
use crate::github::{Repo, Result};
use crate::ids::CommitId;
use crate::ledger::State;
use crate::ledger::record::By;
use crate::ledger::resolution::{Fix, NewTask, Split};

/// The label of every part's issue.
pub const LABEL: &str = "phasegate:task";

pub async fn ensure_label(repo: &Repo, memory: &dyn Memory) -> Result<()> {
    let about = "A part of a change that was split";
    labels::ensure(&Label { name: LABEL.to_owned(), color: "1d76db", description: about }, repo, memory).await
}

/// Since when an issue of the split can have been there. Our clock and GitHub's may differ.
pub fn since(split: &Split) -> jiff::Timestamp {
    split.at.checked_sub(jiff::SignedDuration::from_hours(1)).unwrap_or(split.at)
}

pub fn title(task: &NewTask) -> String {
    plain_to(200, &task.name)
}

/// What a part's issue says. `made`: the issues of the parts before it, by their names.
pub fn body(state: &State, split: &Split, task: &NewTask, made: &[(String, u64)]) -> String {
    let mut out = String::new();
    for line in task.description.lines() {
        let _ = writeln!(out, "{}", plain_to(1_000, line));
    }
    let _ = writeln!(out, "\n**Acceptance criteria**\n");
    for one in &task.acceptance_criteria {
        let _ = writeln!(out, "- [ ] {}", plain_to(1_000, one));
    }
    if !task.depends_on.is_empty() {
        let named = |need: &String| match made.iter().find(|(name, _)| name == need) {
            Some((_, number)) => format!("#{number}"),
            None if need.strip_prefix('#').is_some_and(|number| number.parse::<u64>().is_ok()) => need.clone(),
            None => quoted(&plain_to(200, need)),
        };
        let needs: Vec<String> = task.depends_on.iter().map(named).collect();
        let _ = writeln!(out, "\n**Depends on:** {}", needs.join(", "));
    }
    let _ = write!(
        out,
        "\nA part of {}, which {} split. (Record {} of its ledger.)",
        state.change,
        login(&split.by),
        split.record
    );
    out
}

/// The message of a fix's commit. Somebody's words are its headline and nothing more: a trailer would be a claim.
pub fn fix_message(state: &State, fix: &Fix) -> String {
    let line: String =
        fix.description.lines().next().unwrap_or_default().chars().filter(|c| !c.is_control()).take(60).collect();
    let who = match &fix.by {
        By::Person { person, .. } => person.login.clone(),
        By::Bot | By::Workflow(_) | By::Runner(_) => "somebody".to_owned(),
    };
    format!(
        "fix: {}\n\nGiven by {who} as the answer to a stop of {}, record {} of its ledger. Nothing vouches for it but what is shown \
         of it like of any other commit.",
        line.trim(),
        state.change,
        fix.record
    )
}

/// Where it can't be committed, and why.
pub fn not_committed(fix: &Fix, why: &str) -> String {
    let first = format!(
        "The fix that {} gave ({}) is not on the branch: {}. The change is stopped again. Whoever may push does it by \
         hand, or the stop is answered by another option:",
        login(&fix.by),
        names(fix),
        plain_to(400, why)
    );
    with_files(first, fix)
}

/// Where somebody pushed before the bot had committed it.
pub fn overtaken(fix: &Fix, head: &CommitId) -> String {
    let first = format!(
        "The fix that {} gave ({}) is not on the branch: it was for `{}`, and the branch moved to `{}` before it was committed. The \
         change is stopped again. Look at what was pushed; if the fix is still wanted, whoever may push does it by hand, or it is given once more:",
        login(&fix.by),
        names(fix),
        fix.head.short(),
        head.short()
    );
    with_files(first, fix)
}

fn names(fix: &Fix) -> String {
    let names: Vec<String> = fix.files.keys().map(|path| quoted(&plain_to(200, path))).collect();
    names.join(", ")
}

/// The files behind the words, as far as a comment has room.
fn with_files(first: String, fix: &Fix) -> String {
    let mut out = format!("{first}\n");
    for (path, text) in &fix.files {
        if out.len() + text.len() < 40_000 {
            let _ = write!(out, "\n{}\n\n{}\n", quoted(&plain_to(200, path)), copied(text));
        }
    }
    out
}
