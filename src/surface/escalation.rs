//! What an escalation's issue says: what is wrong, what was tried, the options, a recommendation, who may answer.
//!
//! It is made from the records, so that it stays as it is while nothing is decided; only the head follows the pushes,
//! because an answer counts for the head that it shows.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::Seen;
use super::comment::commands;
use super::project::{observes, pages};
use super::text::{Links, items, plain, plain_to};
use crate::finding::quoted;
use crate::flow::pipeline::limit;
use crate::flow::{FlowName, Phase};
use crate::gate::people::who_decides_first;
use crate::gate::{GateName, Verdict};
use crate::ledger::escalation::{Cause, End, Ending, Escalation, Try};
use crate::ledger::record::{By, Claim};
use crate::ledger::state::Judged;
use crate::ledger::{About, State};
use crate::policy::Policy;

/// The label of every escalation's issue.
pub const LABEL: &str = "phasegate:escalation";
pub(super) const LABEL_COLOR: &str = "b60205";
pub(super) const LABEL_ABOUT: &str = "A change waits for a person's decision";

/// An issue as it is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub title: String,
    pub body: String,
}

/// The most findings that are listed.
const MOST_FINDINGS: usize = 12;

/// The issue of the escalation that is open. None where none is, or where we only observe.
pub fn notice(state: &State, seen: &Seen<'_>) -> Option<Notice> {
    let open = state.escalation.as_ref().filter(|_| !observes(seen))?;
    Some(Notice { title: title(state, open), body: body(state, open, seen) })
}

fn named(phase: Option<Phase>) -> String {
    phase.map(|phase| phase.as_str().to_uppercase()).unwrap_or_default()
}

fn title(state: &State, open: &Escalation) -> String {
    let (change, phase) = (state.change, named(open.phase));
    match (open.cause, phase.is_empty()) {
        (Cause::Gate | Cause::Reconcile, false) => format!("Phasegate: {change} is blocked at {phase}"),
        (Cause::Gate | Cause::Reconcile, true) => format!("Phasegate: {change} is blocked"),
        (Cause::Stop, false) => format!("Phasegate: {change} is stopped at {phase}"),
        (Cause::Stop, true) => format!("Phasegate: {change} is stopped"),
        (Cause::Brake, _) => format!("Phasegate: {change} is stopped by the complexity brake"),
        (Cause::Pause, _) => format!("Phasegate: {change} waits before {phase}"),
    }
}

/// The verdict that stands against the change, when it is a gate's.
fn judged<'s>(state: &'s State, open: &Escalation) -> Option<&'s Judged> {
    let blocks = matches!(open.cause, Cause::Gate | Cause::Reconcile);
    state.gates.get(&GateName::Phase(open.phase?)).filter(|judged| blocks && judged.verdict == Verdict::Fail)
}

/// What was tried at the gate in question, oldest first.
fn tries<'s>(state: &'s State, open: &Escalation) -> Vec<&'s Try> {
    let gate = match (state.flow, open.phase) {
        (FlowName::Pipeline, Some(phase)) => Some(GateName::Phase(phase)),
        (FlowName::Pipeline, None) => None,
        (FlowName::Merge, _) => Some(GateName::Merge),
    };
    state.tries.iter().filter(|one| Some(one.gate) == gate).collect()
}

fn body(state: &State, open: &Escalation, seen: &Seen<'_>) -> String {
    let fallback = Policy::default();
    let policy = seen.world.policy().unwrap_or(&fallback);
    let say = |name: &str| policy.commands.written(name);
    let mut out = format!("**BLOCKED:** {}\n\n", wrong(state, open));
    if let Some(judged) = judged(state, open) {
        let links = Links { head: judged.about.head.clone(), ..pages(state, seen) };
        let _ = writeln!(out, "{}", items(&judged.findings, MOST_FINDINGS, &links));
    }
    let tried = tries(state, open);
    if !tried.is_empty() {
        let _ = writeln!(out, "**What was tried**\n");
        for one in &tried {
            let _ = writeln!(out, "{}", tried_line(one, &say));
        }
        out.push('\n');
    }
    post_mortem(&mut out, state, open, &tried);
    let _ = writeln!(out, "**Options:**\n");
    for option in options(state, open, &say) {
        let _ = writeln!(out, "- {option}");
    }
    let _ = writeln!(out, "\n**Recommendation:** {}\n", recommendation(open, &tried));
    let _ = write!(out, "**Who may answer:** {}, here or on {}.", plain(&who_decides_first(policy)), state.change);
    if open.cause == Cause::Pause {
        let _ = write!(out, " `{}` is for anyone with write access.", say("continue"));
    }
    if !policy.people.escalate.is_empty() {
        // Names of the policy, whose form has no room for anything else.
        let names: Vec<&str> = policy.people.escalate.iter().map(|one| one.as_str()).collect();
        let _ = write!(out, " {}", names.join(" "));
    }
    out.push_str("\n\n");
    let pull = format!("[{}]({}/{}/pull/{})", state.change, seen.server, seen.slug, state.change.0);
    let since = open.since.strftime("%Y-%m-%d %H:%M UTC");
    if let Some(About { head, .. }) = &state.subject {
        let _ = write!(out, "What is said here counts for the head that is shown. Head `{}` · ", head.short());
    }
    let _ = write!(out, "{pull} · since {since} · record {}", open.id);
    out
}

/// What is wrong, in a sentence or two.
fn wrong(state: &State, open: &Escalation) -> String {
    let (change, phase) = (state.change, named(open.phase));
    match open.cause {
        Cause::Gate => {
            let fails = open.phase.and_then(|phase| Some(state.pipeline.as_ref()?.fails(phase))).unwrap_or(0);
            format!(
                "{phase} failed {fails} times on {change}, which blocks it. Nothing goes on before a person decides."
            )
        }
        Cause::Reconcile => {
            let (fails, most) = match open.phase {
                Some(phase) => (state.pipeline.as_ref().map_or(0, |pipeline| pipeline.fails(phase)), limit(phase)),
                None => (0, 0),
            };
            format!(
                "RECONCILE found on {change} what only a person can decide (cycle {fails} of {most}: the last blocks)."
            )
        }
        Cause::Stop | Cause::Brake => {
            let (reason, who) = match &state.stopped {
                Some(stop) => (quoted(&plain_to(600, &stop.reason)), login(&stop.by)),
                None => ("(no reason is recorded)".to_owned(), "somebody".to_owned()),
            };
            let what = if open.cause == Cause::Brake { "pulled the complexity brake on" } else { "stopped" };
            format!("{who} {what} {change}: {reason}. Nothing goes on before a person decides.")
        }
        Cause::Pause => {
            format!(
                "{change} is in stepped mode. Nothing is wrong: {phase} begins when a person has looked at what the \
                 phase before left behind."
            )
        }
    }
}

fn login(by: &By) -> String {
    match by {
        By::Person { person, .. } => quoted(&plain(&person.login)),
        By::Bot | By::Workflow(_) | By::Runner(_) => "the bot".to_owned(),
    }
}

fn tried_line(one: &Try, say: &dyn Fn(&str) -> String) -> String {
    let verdict = if one.verdict == Verdict::Pass { "PASS" } else { "FAIL" };
    let how = match (one.how, &one.by) {
        (Some(Claim::Command), Some(by)) => format!(", claimed by {} with `{}`", login(by), say(one.gate.as_str())),
        (Some(Claim::Command), None) => format!(", claimed with `{}`", say(one.gate.as_str())),
        (Some(Claim::Trailer), _) => ", claimed by the commit's trailer".to_owned(),
        (Some(Claim::ReadyForReview), _) => ", claimed by being ready for review".to_owned(),
        (Some(Claim::Reviewer), _) => ", by a reviewer".to_owned(),
        (Some(Claim::Preview), _) | (None, _) => String::new(),
    };
    let says = match (one.verdict, one.rules.first()) {
        (Verdict::Fail, Some(_)) => format!(": {} {}", rules(one.rules.iter()), plain_to(300, &one.says)),
        _ => String::new(),
    };
    format!("1. `{}`{how}: {verdict}{says} (record {})", one.head.short(), one.seq)
}

fn rules<'r>(rules: impl Iterator<Item = &'r String>) -> String {
    rules.map(|rule| format!("`{}`", plain(rule))).collect::<Vec<_>>().join(", ")
}

/// The rules that stood against every try that failed.
fn common(tried: &[&Try]) -> BTreeSet<String> {
    let failed = tried.iter().filter(|one| one.verdict == Verdict::Fail);
    let sets = failed.map(|one| one.rules.iter().cloned().collect::<BTreeSet<String>>());
    sets.reduce(|all, one| all.intersection(&one).cloned().collect()).unwrap_or_default()
}

/// The three parts of a post-mortem, as far as the records know them. A wait is no accident, and has none.
fn post_mortem(out: &mut String, state: &State, open: &Escalation, tried: &[&Try]) {
    if open.cause == Cause::Pause {
        return;
    }
    let failed: Vec<&&Try> = tried.iter().filter(|one| one.verdict == Verdict::Fail).collect();
    let common = common(tried);
    let wrong = match open.cause {
        Cause::Stop | Cause::Brake => "What the stop names; nobody has looked for the cause behind it yet.".to_owned(),
        _ if failed.len() > 1 && common.is_empty() => {
            "Each try failed by something else, so the cause lies before them all.".to_owned()
        }
        _ if common.is_empty() => "The findings above; no try of this gate is recorded.".to_owned(),
        _ => format!("{} stood against every try: whatever is behind it was never mended.", rules(common.iter())),
    };
    let steps: Vec<String> = judged(state, open)
        .iter()
        .flat_map(|judged| judged.findings.iter().filter(|finding| finding.blocks()))
        .take(3)
        .map(|finding| plain_to(300, &finding.next))
        .collect();
    let differently = if steps.is_empty() {
        "That is for whoever answers; the reason given is kept with the record.".to_owned()
    } else {
        steps.join(" ")
    };
    let mut heads: Vec<&str> = failed.iter().map(|one| one.head.short()).collect();
    heads.dedup();
    let avoid = match heads.as_slice() {
        [] => "Nothing failed before this.".to_owned(),
        heads => {
            let heads: Vec<String> = heads.iter().map(|head| format!("`{head}`")).collect();
            format!("What was tried on {}: it failed.", heads.join(", "))
        }
    };
    let _ = writeln!(out, "**Post-mortem**\n");
    let _ = writeln!(out, "- What went wrong: {wrong}");
    let _ = writeln!(out, "- What to try differently: {differently}");
    let _ = writeln!(out, "- What to avoid: {avoid}\n");
}

fn options(state: &State, open: &Escalation, say: &dyn Fn(&str) -> String) -> [String; 3] {
    let resolve = say("resolve");
    let short = match open.cause {
        Cause::Pause => say("continue"),
        Cause::Brake => format!("{} REASON", say("brake-resolved")),
        _ => format!("{} REASON", say("unblock")),
    };
    let go_on = match open.cause {
        Cause::Gate | Cause::Reconcile => "mend it and go on: its FAILs are counted from zero",
        Cause::Stop => "go on: what the stop names is settled",
        Cause::Brake => "go on: the design is simpler now, or the complexity is accepted",
        Cause::Pause => "go on: what the phase left behind is good",
    };
    let rescope = match (state.flow, state.merged.is_some()) {
        (_, true) => "(B) change the scope: it is merged, so that takes a pull request of its own".to_owned(),
        (FlowName::Pipeline, _) => {
            format!("(B) change the scope: back to EXPAND, and every gate is passed again. `{resolve} B REASON`")
        }
        (FlowName::Merge, _) => {
            format!("(B) change what it does: it goes on, and its author pushes less. `{resolve} B REASON`")
        }
    };
    let give_up = if state.merged.is_some() {
        "give up: it is merged, so somebody reverts it in a pull request of its own"
    } else {
        "give up: the pull request is closed"
    };
    [
        format!("(A) {go_on}. `{resolve} A REASON` (or `{short}`)"),
        rescope,
        format!("(C) {give_up}. `{resolve} C REASON`"),
    ]
}

fn recommendation(open: &Escalation, tried: &[&Try]) -> String {
    let failed = tried.iter().filter(|one| one.verdict == Verdict::Fail).count();
    match open.cause {
        Cause::Gate | Cause::Reconcile if failed > 1 && common(tried).is_empty() => {
            "(B): what fails in another place each time is mostly too large.".to_owned()
        }
        Cause::Gate | Cause::Reconcile => {
            "(A), with another approach than those above: the findings name what to mend.".to_owned()
        }
        Cause::Stop => "(A) once the reason is settled; (C) if it can't be.".to_owned(),
        Cause::Brake => "(B): what outgrew its design is cut before it is built.".to_owned(),
        Cause::Pause => "(A), after a look at what the phase left behind.".to_owned(),
    }
}

/// The last word on an issue: what was decided, by whom, why.
pub(super) fn closing(state: &State, end: &End) -> String {
    let (who, change) = (login(&end.by), state.change);
    let what = match end.how {
        Ending::Lifted => format!("{who} let {change} go on"),
        Ending::Rescoped => format!("{who} sent {change} back to its scope"),
        Ending::GivenUp => format!("{who} gave {change} up"),
        Ending::Closed => format!("{change} was closed, so nothing is asked here any more"),
        Ending::Merged => format!("{change} was merged, so nothing is asked here any more"),
        Ending::Overtaken => {
            format!("{change} does not wait for this any more: other content, another stop or another policy came")
        }
    };
    let why = match &end.reason {
        Some(reason) => format!(": {}", quoted(&plain_to(600, reason))),
        None => String::new(),
    };
    format!("{what}{why}. (Record {} of the ledger.)", end.seq)
}

/// Where the stop is asked about, for the comment and `/status`. Empty where nothing is.
pub(super) fn pointer(state: &State, seen: &Seen<'_>) -> String {
    let Some(open) = &state.escalation else { return String::new() };
    if observes(seen) {
        return "_Observing only: no issue is opened for this._".to_owned();
    }
    match open.issue {
        Some(issue) => {
            let resolve = commands(seen).written("resolve");
            format!("**Asked in #{issue}**, with the options of `{resolve}`. It is answered there or here.")
        }
        None if seen.no_issues => {
            "_Issues are disabled in this repository, so this is asked here and nowhere else._".to_owned()
        }
        None => String::new(),
    }
}

/// The whole of it, for where there can be no issue.
pub(super) fn in_the_comment(state: &State, seen: &Seen<'_>) -> Option<String> {
    let without = state.escalation.as_ref().filter(|open| open.issue.is_none() && seen.no_issues);
    without.and(notice(state, seen)).map(|notice| notice.body)
}
