//! What an escalation's issue says: the one decision that is needed, what is wrong, the options as replies to copy, a
//! recommendation, what was tried, who may answer.
//!
//! It is made from the records, so that it stays as it is while nothing is decided; only the head follows the pushes,
//! because an answer counts for the head that it shows.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Seen;
use super::comment::commands;
use super::project::{observes, pages};
use super::stopped::{self, Words};
use super::text::{Links, copied, items, plain, plain_to};
use crate::engine::resolution::example;
use crate::finding::quoted;
use crate::flow::pipeline::limit;
use crate::flow::{FlowName, Phase};
use crate::gate::papers::document;
use crate::gate::people::{who_decides, who_decides_first};
use crate::gate::{GateName, Verdict};
use crate::ledger::escalation::{Cause, End, Ending, Escalation, Try};
use crate::ledger::record::{By, Claim, Condition};
use crate::ledger::resolution::{Module, Remedy, Resolution, Settled, offered};
use crate::ledger::state::{Judged, Stop};
use crate::ledger::{About, State, escalation_path};
use crate::policy::{Approver, Commands, Policy};

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
        (Cause::Stop, _) if is_exhausted(state) => {
            format!("Phasegate: {change} is stopped after {} confirmed cheats", state.against.cheats.len())
        }
        (Cause::Stop, false) => format!("Phasegate: {change} is stopped at {phase}"),
        (Cause::Stop, true) => format!("Phasegate: {change} is stopped"),
        (Cause::Brake, _) if state.stopped.as_ref().is_some_and(Stop::is_third_approach) => {
            format!("Phasegate: {change} is stopped before a third approach to the same failure")
        }
        (Cause::Brake, _) => format!("Phasegate: {change} is stopped by the complexity brake"),
        (Cause::Reds, _) => format!("Phasegate: {change} was red at {phase} too often"),
        (Cause::Pause, _) => format!("Phasegate: {change} waits before {phase}"),
    }
}

fn is_exhausted(state: &State) -> bool {
    state.stopped.as_ref().is_some_and(|stop| stop.condition == Some(Condition::HealExhausted))
}

/// The verdict that stands against the change, when it is a gate's.
pub(super) fn judged<'s>(state: &'s State, open: &Escalation) -> Option<&'s Judged> {
    let blocks = matches!(open.cause, Cause::Gate | Cause::Reconcile | Cause::Reds);
    state.gates.get(&GateName::Phase(open.phase?)).filter(|judged| blocks && judged.verdict == Verdict::Fail)
}

/// What was tried at the gate in question, oldest first.
pub(super) fn tries<'s>(state: &'s State, open: &Escalation) -> Vec<&'s Try> {
    let gate = match (state.flow, open.phase) {
        (FlowName::Pipeline, Some(phase)) => Some(GateName::Phase(phase)),
        (FlowName::Pipeline, None) => None,
        (FlowName::Merge, _) => Some(GateName::Merge),
        (FlowName::Task, _) => Some(GateName::Task),
    };
    state.tries.iter().filter(|one| Some(one.gate) == gate).collect()
}

fn body(state: &State, open: &Escalation, seen: &Seen<'_>) -> String {
    let fallback = Policy::default();
    let policy = seen.world.policy().unwrap_or(&fallback);
    let say = |name: &str| policy.commands.written(name);
    let word = if open.cause == Cause::Pause { "WAITING" } else { "BLOCKED" };
    let mut out = format!("**{}**\n\n**{word}:** {}\n\n", decision(state, open), wrong(state, open));
    if let Some(left) = left_behind(state, open, seen) {
        let _ = writeln!(out, "{left}\n");
    }
    let mut also = also(state);
    if let Some((phase, reds)) = state.red_pushes.filter(|_| open.cause != Cause::Reds) {
        also.push(format!("- {reds} pushes were red at {} (`MRG-06`)", named(Some(phase))));
    }
    if !also.is_empty() {
        let _ = writeln!(out, "It is stopped as well, and an answer is for all of it:\n\n{}\n", also.join("\n"));
    }
    if let Some(owed) = state.audit_owed() {
        let audit = say("audit");
        let until = match owed.facts.iter().next() {
            None => format!("its report is handed in (`{audit}` says what it is about)"),
            Some(fact) => format!("something of its report is promoted (`{audit} promote {fact}`)"),
        };
        let _ = writeln!(out, "An audit is owed as well: whatever is decided here, nothing goes on before {until}.\n");
    }
    if is_exhausted(state) {
        let _ = writeln!(out, "{}", cheats(state));
    }
    if let Some(judged) = judged(state, open) {
        let links = Links { head: judged.about.head.clone(), ..pages(state, seen) };
        let _ = writeln!(out, "{}", items(&judged.findings, MOST_FINDINGS, &links));
    }
    let tried = tries(state, open);
    let _ = writeln!(out, "**Options**, each as a reply to copy, with your words in place of the example's:\n");
    options(&mut out, state, open, seen, &policy.commands);
    let (remedy, why) = recommended(state, open, &tried);
    let _ = writeln!(out, "**Recommendation:** ({}) `{remedy}`: {why}\n", remedy.letter());
    if let Some(PostMortem { what_went_wrong, what_to_try_differently, what_to_avoid }) =
        post_mortem(state, open, &tried)
    {
        let _ = writeln!(out, "**Post-mortem**\n");
        let _ = writeln!(out, "- What went wrong: {what_went_wrong}");
        let _ = writeln!(out, "- What to try differently: {what_to_try_differently}");
        let _ = writeln!(out, "- What to avoid: {what_to_avoid}\n");
    }
    if !tried.is_empty() {
        let _ = writeln!(out, "<details>\n<summary>What was tried ({})</summary>\n", tried.len());
        for one in &tried {
            let _ = writeln!(out, "{}", tried_line(one, &say));
        }
        let _ = writeln!(out, "\n</details>\n");
    }
    let _ = write!(
        out,
        "**Who may answer:** {}, here or on {}.",
        plain(&who_decides_first(policy, &state.operators)),
        state.change
    );
    if open.cause == Cause::Pause {
        let _ = write!(out, " `{}` is for anyone with write access.", say("continue"));
    }
    let names = asked(policy, seen.owners);
    if !names.is_empty() {
        let _ = write!(out, "\n\n**Asked to look:** {}", names.join(" "));
    }
    out.push_str("\n\n");
    let pull = format!("[{}]({}/{}/pull/{})", state.change, seen.server, seen.slug, state.change.0);
    let since = open.since.strftime("%Y-%m-%d %H:%M UTC");
    if let Some(About { head, .. }) = &state.subject {
        let _ = write!(out, "What is said here counts for the head that is shown. Head `{}` · ", head.short());
    }
    let name = Escalation::artefact(seen.repo, state.change, open.id);
    let path = escalation_path(state.change, &name);
    let artefact = Links::read_at(seen.server, seen.slug, &seen.world.ledger, &path, None);
    let _ = write!(out, "{pull} · since {since} · record {} · [{name}]({artefact}) · ", open.id);
    let _ = write!(out, "[evidence]({})", seen.evidence);
    out
}

/// What the gate before a stepped wait said, and of which content.
fn left_behind(state: &State, open: &Escalation, seen: &Seen<'_>) -> Option<String> {
    let phase = open.phase.filter(|_| open.cause == Cause::Pause)?;
    let passed = phase.before().last()?;
    let judged = state.gates.get(&GateName::Phase(passed))?;
    let links = Links { head: judged.about.head.clone(), ..pages(state, seen) };
    let name = passed.as_str().to_uppercase();
    let verdict = if judged.verdict == Verdict::Pass { "passed" } else { "failed" };
    let mut out = format!("**{name} {verdict}** on `{}`.", judged.about.head.short());
    if let Some(document) = document(passed) {
        let read = Links::read_at(seen.server, seen.slug, judged.about.head.as_str(), document, None);
        let _ = write!(out, " What it left behind: [{document}]({read}).");
    }
    let told = items(&judged.findings, MOST_FINDINGS, &links);
    if !judged.findings.is_empty() {
        let _ = write!(out, "\n\n{}", told.trim_end());
    }
    Some(out)
}

/// Whom the issue mentions: names of the policy and of code owners, whose form has no room for anything else. Each once.
pub(super) fn asked<'n>(policy: &'n Policy, owners: &'n [Approver]) -> Vec<&'n str> {
    let mut names: Vec<&str> = Vec::new();
    for one in policy.people.escalate.iter().chain(owners).map(Approver::as_str) {
        if !names.iter().any(|known| known.eq_ignore_ascii_case(one)) {
            names.push(one);
        }
    }
    names.truncate(MOST_MENTIONED);
    names
}

/// Nobody reads a longer list, and each on it is told.
const MOST_MENTIONED: usize = 30;
/// GitHub takes no more.
const MOST_ASSIGNED: usize = 10;

/// Whom the issue is assigned to: people, because a team can't be.
pub fn assignees(policy: &Policy, owners: &[Approver]) -> Vec<String> {
    let people = asked(policy, owners).into_iter().filter(|name| !name.contains('/'));
    people.map(|name| name.trim_start_matches('@').to_owned()).take(MOST_ASSIGNED).collect()
}

/// The comment that brings a stop to mind.
pub fn reminder(state: &State, open: &Escalation, policy: &Policy, owners: &[Approver], number: u32) -> String {
    let what = match open.cause {
        Cause::Pause => format!("{} waits too long: nobody has said that it may go on.", state.change),
        _ => format!("{} still waits for an answer.", state.change),
    };
    let names = asked(policy, owners);
    let names = if names.is_empty() { String::new() } else { format!(" {}", names.join(" ")) };
    let last = if number >= MOST_REMINDERS { " This is the last reminder." } else { "" };
    format!(
        "{what} {} It is for {}; the replies to copy stand above.{last}{names}",
        decision(state, open),
        plain(&who_decides(policy, &state.operators))
    )
}

/// A stop is brought to mind so often.
pub const MOST_REMINDERS: u32 = 3;

/// What is wrong, in a sentence or two.
pub(super) fn wrong(state: &State, open: &Escalation) -> String {
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
            let known = words(state, open).map(|words| format!(" because {}", words.wrong)).unwrap_or_default();
            let (reason, who) = match &state.stopped {
                Some(stop) => (quoted(&plain_to(1_100, &stop.reason)), caller(stop)),
                None => ("(no reason is recorded)".to_owned(), "somebody".to_owned()),
            };
            let braked = state.stopped.as_ref().is_some_and(|stop| match stop.condition {
                Some(condition) => condition.is_structural(),
                None => stop.by == By::Bot && stop.raised.is_none(),
            });
            let what = if open.cause == Cause::Brake && braked { "pulled the complexity brake on" } else { "stopped" };
            let of = state.stopped.as_ref().and_then(|stop| stop.of);
            let too = of.map(|of| {
                format!(" It is the same work as {of}, and what is answered there is answered for {of} alone.")
            });
            let too = too.unwrap_or_default();
            format!("{who} {what} {change}{known}: {reason}. Nothing goes on before a person decides.{too}")
        }
        Cause::Reds => {
            let reds = state.red_pushes.map_or(0, |(_, reds)| reds);
            format!(
                "{reds} pushes to {change} were red at {phase} (`MRG-06`). Nothing is merged before a \
                 person has looked at what is tried there."
            )
        }
        Cause::Pause => {
            format!(
                "{change} is in stepped mode. Nothing is wrong: {phase} begins when a person has looked at what the \
                 phase before left behind."
            )
        }
    }
}

/// Every confirmed cheat, oldest first: who told of it or which rules, and on which head.
fn cheats(state: &State) -> String {
    let mut out = String::from("The confirmed cheats:\n\n");
    for one in &state.against.cheats {
        let head = state.heads.iter().find(|(_, content)| **content == one.content).map(|(head, _)| head);
        let on = head.map(|head| format!("`{}`, ", head.short())).unwrap_or_default();
        let found = state.tries.iter().find(|tried| Some(&tried.head) == head && tried.verdict == Verdict::Fail);
        let what = match (&one.reported, found) {
            (Some(report), _) => {
                format!("reported by {}: {}", quoted(&plain(&report.by)), quoted(&plain_to(300, &report.reason)))
            }
            (None, Some(tried)) => format!("{} {}", rules(tried.rules.iter()), plain_to(300, &tried.says)),
            (None, None) => "what is frozen was changed".to_owned(),
        };
        let _ = writeln!(out, "1. {on}{what} (record {} of {})", one.mark.seq, one.mark.change);
    }
    out
}

/// What was called on top of it, a line each.
fn also(state: &State) -> Vec<String> {
    let line = |stop: &&Stop| {
        let known = stopped::words(stop).map(|words| format!(" because {}", words.wrong)).unwrap_or_default();
        format!("- {} stopped it{known}: {}", caller(stop), quoted(&plain_to(600, &stop.reason)))
    };
    state.also_stopped().iter().map(line).collect()
}

/// Who called it: a person, the bot, or whoever wrote a commit that asks for it.
fn caller(stop: &Stop) -> String {
    let who = match &stop.raised {
        Some(head) => format!("commit {}", head.short()),
        None => login(&stop.by),
    };
    match stop.of {
        Some(of) => format!("{who}, on {of},"),
        None => who,
    }
}

pub(super) fn login(by: &By) -> String {
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
        (Some(Claim::Sheet), _) => ", by its STATE.md".to_owned(),
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

/// The three parts of a post-mortem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PostMortem {
    pub what_went_wrong: String,
    pub what_to_try_differently: String,
    pub what_to_avoid: String,
}

/// A post-mortem, as far as the records know it. A wait is no accident, and has none.
pub(super) fn post_mortem(state: &State, open: &Escalation, tried: &[&Try]) -> Option<PostMortem> {
    if open.cause == Cause::Pause {
        return None;
    }
    let failed: Vec<&&Try> = tried.iter().filter(|one| one.verdict == Verdict::Fail).collect();
    let common = common(tried);
    let wrong = match open.cause {
        Cause::Stop | Cause::Brake => "What the stop names; nobody has looked for the cause behind it yet.".to_owned(),
        _ if failed.len() > 1 && common.is_empty() => {
            "Each try failed by something else, so the cause lies before them all.".to_owned()
        }
        Cause::Reds => "What stood against the last of the red pushes is shown above.".to_owned(),
        _ if common.is_empty() => "The findings above; no try of this gate is recorded.".to_owned(),
        _ if failed.len() == 1 => format!("{} stood against it.", rules(common.iter())),
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
        [] if open.cause == Cause::Reds => {
            "Another push of the same kind without a look at why the last ones were red.".to_owned()
        }
        [] => "Nothing failed before this.".to_owned(),
        heads => {
            let heads: Vec<String> = heads.iter().map(|head| format!("`{head}`")).collect();
            format!("What was tried on {}: it failed.", heads.join(", "))
        }
    };
    Some(PostMortem { what_went_wrong: wrong, what_to_try_differently: differently, what_to_avoid: avoid })
}

/// The words of a stop for a known reason.
fn words(state: &State, open: &Escalation) -> Option<Words> {
    let stopped = matches!(open.cause, Cause::Stop | Cause::Brake);
    state.stopped.as_ref().filter(|_| stopped).and_then(stopped::words)
}

/// What a remedy comes to here.
pub(super) fn what_it_does(state: &State, open: &Escalation, remedy: Remedy) -> String {
    let known = words(state, open);
    let usual = usual(state, open, remedy);
    match (remedy, known) {
        (Remedy::ApproveOverride, Some(words)) => words.go_on.to_owned(),
        (Remedy::AmendSpec, Some(words)) => match usual.split_once(": ") {
            Some((_, then)) => format!("{}: {then}", words.rescope),
            None => words.rescope.to_owned(),
        },
        _ => usual.to_owned(),
    }
}

/// What it comes to wherever nothing more is known.
fn usual(state: &State, open: &Escalation, remedy: Remedy) -> &'static str {
    let pipeline = state.flow == FlowName::Pipeline;
    match (remedy, open.cause) {
        (Remedy::ApproveOverride, Cause::Gate) => {
            "mend it and go on: its FAILs are counted from zero, and the gate is still to be passed"
        }
        (Remedy::ApproveOverride, Cause::Reconcile) => {
            "bring documents and code in step and go on, by one of the ways that the findings name: the gate is still to be passed"
        }
        (Remedy::ApproveOverride, Cause::Brake) => "go on: the design is simpler now, or the complexity is accepted",
        (Remedy::ApproveOverride, _) => "go on: what the stop names is settled",
        (Remedy::Continue, _) => "go on: what the phase left behind is good",
        (Remedy::AmendSpec, _) if pipeline => {
            "change the scope: these are the criteria now, it goes back to EXPAND, and every gate is passed again"
        }
        (Remedy::AmendSpec, _) => "change what it does: these are the criteria now, and it goes on",
        (Remedy::AbandonTask, _) if state.merged.is_some() => {
            "give up: it is merged, so somebody reverts it in a pull request of its own"
        }
        (Remedy::AbandonTask, _) => "give up: the pull request is closed",
        (Remedy::RevisePlan, _) => "change the plan: this is it now, it goes back to DESIGN, and passes it again",
        (Remedy::ProvideFix, _) => {
            "give the fix: the bot commits these files on top of the head, and it goes on; they are judged like any others"
        }
        (Remedy::SplitTask, _) => "split it: each part gets an issue, and this pull request is closed",
    }
}

/// The ways out, each with a reply that is ready to be copied.
fn options(out: &mut String, state: &State, open: &Escalation, seen: &Seen<'_>, commands: &Commands) {
    let resolve = commands.written("resolve");
    for remedy in offered(state, open, seen.world.bot_may_commit()) {
        let (letter, what) = (remedy.letter(), what_it_does(state, open, remedy));
        let as_well = match (remedy, open.cause) {
            (Remedy::Continue, _) => format!(" or `{}`", commands.written("continue")),
            (Remedy::ApproveOverride, Cause::Brake) => format!(" or `{} REASON`", commands.written("brake-resolved")),
            (Remedy::ApproveOverride, _) => format!(" or `{} REASON`", commands.written("unblock")),
            _ => String::new(),
        };
        let short = match remedy {
            Remedy::Continue => format!(" In short: `{resolve} {letter}`{as_well}."),
            one if one.takes_one_text() => format!(" In short: `{resolve} {letter} REASON`{as_well}."),
            _ => String::new(),
        };
        let reply = copied(&example(commands, None, remedy));
        let _ = writeln!(out, "**({letter}) `{remedy}`**: {what}.{short}\n\n{reply}\n");
    }
}

/// The one decision that is needed, in a sentence.
pub(super) fn decision(state: &State, open: &Escalation) -> String {
    let (change, phase) = (state.change, named(open.phase));
    let at = if phase.is_empty() { String::new() } else { format!(" at {phase}") };
    if let Some(words) = words(state, open) {
        return format!("Decide {}.", words.decide.replacen("{}", &change.to_string(), 1));
    }
    match open.cause {
        Cause::Gate | Cause::Reconcile if state.merged.is_some() => {
            format!("Decide whether {change} is tried again{at} or given up.")
        }
        Cause::Gate | Cause::Reconcile => format!("Decide whether {change} is tried again{at}, changed or given up."),
        Cause::Stop => format!("Decide whether what stopped {change}{at} is settled, or what becomes of it."),
        Cause::Brake => format!("Decide whether {change} may be as complex as it has become."),
        Cause::Reds => format!("Decide whether {change} is on its way{at}, or what becomes of it."),
        Cause::Pause => format!("Decide whether {phase} of {change} may begin."),
    }
}

/// The remedy that is recommended, and why.
pub(super) fn recommended(state: &State, open: &Escalation, tried: &[&Try]) -> (Remedy, &'static str) {
    // Of what is merged nothing is changed any more.
    if let Some(words) = words(state, open).filter(|_| state.merged.is_none()) {
        return (words.remedy, words.why);
    }
    let failed = tried.iter().filter(|one| one.verdict == Verdict::Fail).count();
    match open.cause {
        Cause::Gate | Cause::Reconcile
            if failed > 1 && common(tried).is_empty() && open.phase != Some(Phase::Deploy) =>
        {
            (Remedy::AmendSpec, "what fails in another place each time is mostly too large.")
        }
        Cause::Gate => {
            (Remedy::ApproveOverride, "with another approach than those that failed: the findings name what to mend.")
        }
        Cause::Reconcile => (
            Remedy::ApproveOverride,
            "where it is known which of the two is to follow the other; (B) where the scope is to.",
        ),
        Cause::Stop => (Remedy::ApproveOverride, "once the reason is settled; (C) if it can't be."),
        Cause::Brake if state.merged.is_some() => (Remedy::ApproveOverride, "once somebody has looked at it."),
        Cause::Brake => (Remedy::AmendSpec, "what outgrew its design is cut before it is built."),
        Cause::Reds => (Remedy::ApproveOverride, "after a look at what was pushed and what stood against it."),
        Cause::Pause => (Remedy::Continue, "after a look at what the phase left behind."),
    }
}

/// The last word on an issue: what was decided, by whom, why.
pub(super) fn closing(state: &State, one: &Escalation, end: &End) -> String {
    let (who, change) = (login(&end.by), state.change);
    let what = match end.how {
        Ending::Lifted => format!("{who} let {change} go on"),
        Ending::Rescoped => format!("{who} sent {change} back to its scope"),
        Ending::Replanned => format!("{who} sent {change} back to its design"),
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
    let mut out = format!("{what}{why}. (Record {} of the ledger.)", end.seq);
    if let Some(settled) = &one.settled {
        settlement(&mut out, settled);
    }
    out
}

/// So many things of one resolution are listed; the record has all of them.
const MOST_LISTED: usize = 20;

/// What the resolution says, as it is recorded.
fn settlement(out: &mut String, settled: &Settled) {
    let (remedy, digest) = (settled.resolution.remedy(), settled.digest.short());
    let _ = write!(out, "\n\n`{remedy}` is record {}, with the digest `{digest}`.", settled.record);
    let list = |out: &mut String, items: Vec<String>| {
        out.push('\n');
        for item in items.iter().take(MOST_LISTED) {
            let _ = write!(out, "\n- {item}");
        }
        if items.len() > MOST_LISTED {
            let _ = write!(out, "\n- and {} more", items.len() - MOST_LISTED);
        }
    };
    match &settled.resolution {
        Resolution::AmendSpec { amended_acceptance_criteria, .. } => {
            out.push_str(" The criteria are now:");
            list(out, amended_acceptance_criteria.iter().map(|one| plain_to(300, one)).collect());
        }
        Resolution::RevisePlan { revised_micro_plan } => {
            out.push_str(" The plan is now:");
            let module = |one: &Module| {
                let needs: Vec<String> = one.depends_on.iter().map(|need| quoted(&plain_to(60, need))).collect();
                let needs = if needs.is_empty() { String::new() } else { format!(" (after {})", needs.join(", ")) };
                format!("{}: {}{needs}", quoted(&plain_to(60, &one.module_id)), plain_to(300, &one.description))
            };
            list(out, revised_micro_plan.iter().map(module).collect());
        }
        Resolution::ProvideFix { fix_artifacts, .. } => {
            out.push_str(" These files are given for the branch:");
            list(out, fix_artifacts.keys().map(|path| quoted(&plain_to(200, path))).collect());
        }
        Resolution::SplitTask { .. } if !settled.issues.is_empty() => {
            let issues: Vec<String> = settled.issues.iter().map(|issue| format!("#{issue}")).collect();
            let _ = write!(out, " Its parts are {}.", issues.join(", "));
        }
        _ => {}
    }
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
