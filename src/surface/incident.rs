//! What an incident's issue says: what went around the gate, what stood against it, what to do.
//!
//! Nothing waits for it: closing it says that somebody has taken note. It is made from the records alone, so it stays as it is.

use std::fmt::Write as _;

use super::Seen;
use super::closed::RULES;
use super::escalation::{Notice, asked};
use super::project::{Label, pages};
use super::text::{Links, copied, items, plain, plain_to};
use crate::finding::{Finding, quoted};
use crate::gate::merge::CHECK_NAME;
use crate::ids::Person;
use crate::ledger::incident::{Breach, Incident};
use crate::ledger::record::By;
use crate::ledger::state::Merged;
use crate::ledger::{About, State};
use crate::policy::Policy;

/// The label of every incident's issue.
pub const LABEL: &str = "phasegate:incident";

pub(super) fn label() -> Label {
    Label { name: LABEL.to_owned(), color: "d93f0b", description: "Something went around the gate" }
}

/// The most findings that are listed.
const MOST_FINDINGS: usize = 30;

/// The issue of an incident.
pub fn notice(state: &State, one: &Incident, seen: &Seen<'_>) -> Option<Notice> {
    let (title, mut body) = match &one.breach {
        Breach::Bypassed { by, findings } => {
            let merged = state.merged.as_ref()?;
            let title = format!("Phasegate: {} was merged around the gate", state.change);
            let mut body = format!("**{} was merged{} {}.**\n\n", state.change, by_whom(by.as_ref()), around(one));
            bypassed(&mut body, state, findings, merged, seen);
            (title, body)
        }
        Breach::Unguarded { branch, seen: at, .. } => {
            let title = format!("Phasegate: `{CHECK_NAME}` is not required on {} any more", plain_to(100, branch));
            (title, unguarded(branch, *at, seen))
        }
    };
    let _ =
        writeln!(body, "Nothing waits for this. Closing it says that you have taken note, and who did is recorded.\n");
    let fallback = Policy::default();
    let names = asked(seen.world.policy().unwrap_or(&fallback), &[]);
    if !names.is_empty() {
        let _ = writeln!(body, "**Asked to look:** {}\n", names.join(" "));
    }
    let noticed = match &one.breach {
        Breach::Bypassed { .. } => "",
        Breach::Unguarded { .. } => "noticed with ",
    };
    let pull = format!("{noticed}[{}]({}/{}/pull/{})", state.change, seen.server, seen.slug, state.change.0);
    let since = minute(one.since);
    let _ = write!(body, "{pull} · since {since} · record {} · [evidence]({})", one.id, seen.evidence);
    Some(Notice { title, body })
}

fn minute(at: jiff::Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

/// What an incident is, in a line for who asks how the change stands.
pub fn says(one: &Incident) -> String {
    match &one.breach {
        Breach::Bypassed { by, .. } => {
            let by = by.as_ref().map(|by| format!(" by {}", by.login)).unwrap_or_default();
            format!("it was merged around the gate{by}, while {} stood against it", one.breach.rules().join(", "))
        }
        Breach::Unguarded { branch, .. } => format!("{CHECK_NAME} is not required on {branch} any more"),
    }
}

fn unguarded(branch: &str, last: jiff::Timestamp, seen: &Seen<'_>) -> String {
    let (server, slug) = (seen.server, seen.slug);
    let name = quoted(&plain_to(200, branch));
    let search = copied(&format!("is:pr is:merged base:{branch} merged:>={}", last.strftime("%Y-%m-%d")));
    format!(
        "**No ruleset requires `{CHECK_NAME}` from this App on {name} any more.** One did when it was last looked for, on {}. Until one does \
         again, whoever may write there merges what the gates stand against.\n\n\
         **What to do**\n\n\
         1. See what became of it, and by whom: *Settings, Rules, Rulesets* has [the rules]({server}/{slug}/rules) and the \
         history of each, and the audit log has who deleted one. A ruleset that was switched off, does not name the branch any \
         more, or requires the check from any source counts as gone.\n\
         2. Put it back, with the check pinned to this App: [docs/install.md]({RULES}) has the ruleset to import.\n\
         3. Look at what was merged meanwhile: search the pull requests for\n\n{}\n\n   \
         `phasegate audit` finds what was merged while a gate stood against it.\n\n\
         Where it is meant to be so, take the branch out of `branches` in the policy or say `enforce: observe` there. Otherwise \
         the gate goes on saying yes and no, and holds nothing.\n\n",
        minute(last),
        indented(&search),
    )
}

fn by_whom(by: Option<&Person>) -> String {
    by.map(|by| format!(" by {}", quoted(&plain(&by.login)))).unwrap_or_default()
}

/// What was gone around, in a few words.
fn around(one: &Incident) -> String {
    let rules: Vec<String> = one.breach.rules().into_iter().map(|rule| format!("`{}`", plain_to(60, rule))).collect();
    format!("while {} stood against it", rules.join(", "))
}

fn bypassed(out: &mut String, state: &State, findings: &[Finding], merged: &Merged, seen: &Seen<'_>) {
    let (server, slug, commit) = (seen.server, seen.slug, &merged.commit);
    let at = format!("[`{}`]({server}/{slug}/commit/{commit})", commit.short());
    let into = match &state.subject {
        Some(About { base_ref, .. }) => format!(" in {}", quoted(&plain_to(200, base_ref))),
        None => String::new(),
    };
    let _ = writeln!(out, "It is {at}{into}. What stood against it:\n");
    let links = Links { head: seen.world.pull.head.clone(), ..pages(state, seen) };
    let _ = writeln!(out, "{}", items(findings, MOST_FINDINGS, &links));
    let _ = writeln!(
        out,
        "**What to do**\n\n\
         1. Read [what came in]({server}/{slug}/pull/{}/files).\n\
         2. Where it may not stay, revert it in a pull request of its own, with the button *Revert* there or with this (and `-m 1` \
         for a merge commit):\n\n{}\n\n   Where it may stay, say why and close this.\n\
         3. See who may bypass [the rules]({server}/{slug}/rules): *Settings, Rules, Rulesets, Bypass list*.\n",
        state.change.0,
        indented(&copied(&format!("git revert {commit}")))
    );
}

/// As a part of an item of a list.
fn indented(block: &str) -> String {
    let lines: Vec<String> = block.lines().map(|line| format!("   {line}")).collect();
    lines.join("\n")
}

/// Where the incidents stand, for the comment and the answer to `/status`: a line each.
pub(super) fn pointers(state: &State) -> Vec<String> {
    let line = |one: &Incident| {
        let issue = one.issue?;
        Some(match &one.noted {
            None => format!("**Incident #{issue} is open**: it says what to do."),
            Some(By::Person { person, .. }) => {
                format!("Incident #{issue} was closed by {}.", quoted(&plain(&person.login)))
            }
            Some(By::Bot | By::Workflow(_) | By::Runner(_)) => format!("Incident #{issue} is closed."),
        })
    };
    state.incidents.iter().filter_map(line).collect()
}
