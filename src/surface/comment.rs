//! The one comment: where it stands, the phases, what was found, the next step.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::capsule::Capsule;
use super::project::{ADVISORY, by_itself, headline, observes, self_approved, standing};
use super::stopped::{self, Words};
use super::text::{Links, items, phases, plain, plain_to, strange_files};
use super::{Seen, answers, change_record, diary, escalation, freeze_review, incident, memory, task};
use crate::engine::possible;
use crate::finding::quoted;
use crate::flow::pipeline::limit;
use crate::flow::{Exported, FlowName, Mode, Phase, Stage, merge, pipeline};
use crate::gate::aside::{self, Aside};
use crate::gate::first;
use crate::gate::goal::Goal;
use crate::gate::people::who_decides_first;
use crate::gate::phase::{Outcome as GateOutcome, judged_by};
use crate::gate::task::change::JUDGED_BY;
use crate::gate::{Finding, GateName, Verdict, only_waiting};
use crate::ids::{ChangeNumber, CommitId};
use crate::ledger::State;
use crate::ledger::heal::{Caught, MOST_HEALED};
use crate::ledger::origin::Inherited;
use crate::ledger::record::{By, Claim, Evidence, Grouped, Outcome};
use crate::ledger::resolution::Remedy;
use crate::ledger::state::{Answered, Judged, Stop};
use crate::policy::{Commands, Policy};

/// At most this many findings of a gate are listed; the check run has them all.
const MOST_FINDINGS: usize = 12;

pub(super) fn render(state: &State, seen: &Seen<'_>, links: &Links) -> String {
    let mut out = format!("### Phasegate: {}\n\n", standing(state, seen));
    if let Some(pipeline) = &state.pipeline {
        let _ = writeln!(out, "{}\n", phases(pipeline));
    }
    if let Some(task) = task::of(state) {
        let _ = writeln!(out, "{}\n", task::phases(task));
    }
    if observes(seen) {
        out.push_str("_Observing only: nothing is blocked._\n\n");
    }
    if seen.advisory {
        let _ = writeln!(out, "_{ADVISORY}_\n");
    }
    let _ = writeln!(out, "**Next:** {}\n", next_step(state, seen));
    for line in [memory::slice(state, seen), memory::ladder(state, seen)].into_iter().flatten() {
        let _ = writeln!(out, "{line}\n");
    }
    if let Some(goal) = goal(state, seen) {
        let _ = writeln!(out, "{goal}\n");
    }
    for line in risks(state) {
        let _ = writeln!(out, "{line}\n");
    }
    if let Some(line) = cheats(state) {
        let _ = writeln!(out, "{line}\n");
    }
    if let Some(recovered) = state.taken_up() {
        let _ = writeln!(out, "{}\n", answers::taken_up(&recovered.why));
    }
    let asked = escalation::pointer(state, seen);
    if !asked.is_empty() {
        let _ = writeln!(out, "{asked}\n");
    }
    if let Some(whole) = escalation::in_the_comment(state, seen) {
        let _ = writeln!(out, "{whole}\n");
    }

    if let Some(lines) = freeze_review::lines(state, seen) {
        let _ = writeln!(out, "{lines}\n");
    }
    round(&mut out, state, seen, links);
    let begun = state.pipeline.as_ref().is_none_or(|at| at.stage != Stage::SteppedModePaused);
    if let Some((phase, judged)) =
        seen.phase.filter(|(phase, _)| begun && (state.open || (state.merged.is_some() && *phase == Phase::Deploy)))
    {
        let name = phase.as_str().to_uppercase();
        let title = if seen.advisory { name.clone() } else { format!("{name} gate") };
        findings(&mut out, &title, &judged.findings, links);
        if let Some(before) = diary::tried_before(state, seen) {
            let _ = writeln!(out, "{before}");
        }
        out.push_str(&repair(state, seen, *phase).unwrap_or_default());
        let _ = writeln!(out, "_{name}: {}_\n", judged_by(*phase));
    }
    if let Some(judged) = seen.task.filter(|_| state.open) {
        findings(&mut out, if seen.advisory { "Task" } else { "Task gate" }, &judged.findings, links);
        let _ = writeln!(out, "_TASK: {}_\n", JUDGED_BY);
    }
    if state.open {
        // What the phase's gate already says is not said twice.
        let of_phase = seen.phase.iter().flat_map(|(_, judged)| &judged.findings);
        let of_task = seen.task.iter().flat_map(|judged| &judged.findings);
        let said: Vec<&str> = of_phase.chain(of_task).map(|finding| finding.says.as_str()).collect();
        let rest: Vec<Finding> =
            seen.merge.findings.iter().filter(|finding| !said.contains(&finding.says.as_str())).cloned().collect();
        findings(&mut out, if seen.advisory { "Merge" } else { "Merge gate" }, &rest, links);
        if let Some(group) = red_group(state) {
            let links = Links { head: group.head.clone(), ..links.clone() };
            let title = format!("Merge queue, group `{}` may not merge", group.head.short());
            findings(&mut out, &title, &group.findings, &links);
        }
        let files = strange_files(state, seen.world, &commands(seen).written("refreeze"), links);
        if !files.is_empty() {
            let _ = writeln!(out, "{files}");
        }
        for said in self_approved(seen.merge).into_iter().chain(by_itself(&seen.merge.evidence)) {
            let _ = writeln!(out, "{said}\n");
        }
    }
    let mut taken: BTreeMap<ChangeNumber, Inherited> = BTreeMap::new();
    for one in &state.inherited {
        let all = taken.remove(&one.from).map_or_else(|| one.clone(), |before| before.and(one));
        taken.insert(one.from, all);
    }
    for (from, taken) in taken {
        let what = taken.says();
        if !what.is_empty() {
            let _ = writeln!(out, "Carries on from {from}: {}.\n", plain_to(400, &what.join("; ")));
        }
    }
    if let Some(merged) = &state.merged {
        let _ = writeln!(out, "Merged as `{}`.\n", merged.commit.short());
        let judged = state.gates.get(&GateName::Merge).filter(|_| merged.bypassed.is_empty());
        if let Some(said) = judged.and_then(|judged| by_itself(&judged.evidence)) {
            let _ = writeln!(out, "{said}\n");
        }
        if !merged.bypassed.is_empty() {
            let rules: Vec<String> = merged.bypassed.iter().map(|rule| format!("`{rule}`")).collect();
            let _ = writeln!(out, "❌ `bypassed_gate` It was merged while {} stood against it.\n", rules.join(", "));
        }
    }
    for line in incident::pointers(state) {
        let _ = writeln!(out, "{line}\n");
    }
    if let Some(last) = state.recent.last() {
        let who = match &last.by {
            By::Person { person, .. } => format!("`{}`", plain(&person.login)),
            By::Bot | By::Workflow(_) | By::Runner(_) => "the bot".to_owned(),
        };
        let came = match &last.outcome {
            Outcome::Done => came_of(state, last),
            Outcome::Answered => "answered".to_owned(),
            Outcome::Refused(refusal) => format!("refused by `{}`", refusal.rule),
        };
        let written = commands(seen).written(&last.name);
        let _ = writeln!(out, "Last command: `{}` by {who}: {came}.\n", plain(&written));
    }
    for what in &state.tampered {
        let _ = writeln!(out, "⚠️ {}\n", plain_to(400, what));
    }
    if let Some(record) = change_record(state) {
        let (_, parts) = record.split_once("\n\n").unwrap_or_default();
        let _ = writeln!(
            out,
            "<details><summary>Change record</summary>\n\n{}\n</details>\n",
            parts.replace("## ", "#### ")
        );
    }
    if let Some(log) = diary::to_append(state, seen) {
        let _ = writeln!(out, "{log}");
    }
    capsule(&mut out, state, seen);
    details(&mut out, state);
    if let Some(about) = &state.subject {
        let _ = write!(out, "Head `{}` · ", about.head.short());
    }
    let commands = commands(seen);
    let (record, help) = (state.newest().0, commands.written("help"));
    let _ = write!(out, "flow {} · record {record} · [evidence]({}) · `{help}`", state.flow, seen.evidence);
    out
}

/// The last merge group that this change was in with the head that it has, if that was red.
fn red_group(state: &State) -> Option<&Grouped> {
    let head = &state.subject.as_ref()?.head;
    let last = state.groups.iter().rev().find(|group| group.has(state.change, head))?;
    (last.verdict == Verdict::Fail && !only_waiting(&last.findings)).then_some(last)
}

/// What came of a command that was carried out. A claim is no pass: what the gate said to it is said.
fn came_of(state: &State, last: &Answered) -> String {
    let gate = last.name.to_uppercase();
    let claimed = state.claim.is_some_and(|(phase, how)| how == Claim::Command && phase.as_str() == last.name.as_str());
    match last.came {
        Some(Verdict::Pass) => format!("claimed; {gate} said PASS"),
        Some(Verdict::Fail) => format!("claimed; {gate} said FAIL"),
        None if claimed => format!("claimed; {gate} waits for its evidence"),
        None => "done".to_owned(),
    }
}

pub(super) fn commands(seen: &Seen<'_>) -> Commands {
    seen.world.policy().map(|policy| policy.commands.clone()).unwrap_or_default()
}

fn findings(out: &mut String, title: &str, findings: &[Finding], links: &Links) {
    if findings.is_empty() {
        return;
    }
    let _ = writeln!(out, "**{title}**\n\n{}", items(findings, MOST_FINDINGS, links));
}

/// How a machine would put the documents right, while RECONCILE waits for that.
pub(super) fn repair(state: &State, seen: &Seen<'_>, phase: Phase) -> Option<String> {
    let subject = seen.world.subject.as_ref().filter(|_| phase == Phase::Reconcile && state.open)?;
    let repair = subject.repair.as_ref()?;
    let by_bot = state.repairs.iter().any(|known| known.head == subject.about.head);
    let says = match by_bot {
        true => {
            "Phasegate commits this to the branch, unless a rule of the repository or a fork keeps it from that; then `git apply` takes it"
        }
        false => "`git apply` takes this",
    };
    // Longer than any that the documents have.
    let ticks = repair.diff.split(|c| c != '`').map(str::len).max().unwrap_or(0).max(2) + 1;
    let fence = "`".repeat(ticks);
    let what = "<summary>What puts the documents right</summary>";
    Some(format!("\n<details>{what}\n\n{says}:\n\n{fence}diff\n{}{fence}\n\n</details>\n\n", repair.diff))
}

/// What the proposal of another round lacks, while it is written.
pub(super) fn unproposed(state: &State, seen: &Seen<'_>) -> Vec<Finding> {
    let stage = state.pipeline.as_ref().map(|pipeline| pipeline.stage);
    let (Some(Stage::Iterating), Some(aside)) = (stage, &seen.world.aside) else { return Vec::new() };
    let mut found = aside::proposed(aside, &aside::red(seen.world)).err().unwrap_or_default();
    found.extend(aside::again(aside, state.declined.as_ref()));
    found
}

/// What stands against a change, first things first; that the gate of its phase is to be claimed, where it would pass.
pub(super) fn against(state: &State, seen: &Seen<'_>) -> Vec<Finding> {
    let phase = seen.phase.iter().flat_map(|(_, judged)| judged.findings.clone());
    let phase = phase.chain(seen.task.iter().flat_map(|judged| judged.findings.clone()));
    let all = first::of_change(state, phase.chain(seen.merge.findings.clone()), &commands(seen));
    match (first::claimable(state), &seen.phase) {
        (Some(phase), Some((at, judged))) if phase == *at && judged.outcome == GateOutcome::Pass => {
            first::to_claim(all, phase, &commands(seen))
        }
        _ => all,
    }
}

/// The proposal of another round: what it lacks while it is written, and what is to be decided about once it is there.
fn round(out: &mut String, state: &State, seen: &Seen<'_>, links: &Links) {
    let stage = state.pipeline.as_ref().map(|pipeline| pipeline.stage);
    if stage == Some(Stage::Iterating) && seen.world.aside.is_some() {
        findings(out, "The proposal", &unproposed(state, seen), links);
    }
    if let Some(declined) = &state.declined {
        let (who, why) = (escalation::login(&declined.by), quoted(&plain_to(300, &declined.reason)));
        let _ = writeln!(out, "The last proposal of a round was rejected by {who}: {why}\n");
    }
    let Some(round) =
        state.round.as_ref().filter(|_| matches!(stage, Some(Stage::IterationProposed | Stage::IterationConfirmed)))
    else {
        return;
    };
    let at = if state.merged.is_some() { "HEAD" } else { links.head.as_str() };
    let document = Links::read_at(seen.server, seen.slug, at, aside::ITERATION, None);
    let impact = round.impact.as_str();
    // Whoever decides is to read what is decided about.
    let is_it = |aside: &Aside| aside.iteration.as_ref().and_then(|sheet| sheet.blob.as_ref()) == Some(&round.document);
    let name = match &seen.world.aside {
        Some(aside) if !is_it(aside) => "The proposal".to_owned(),
        _ => format!("[The proposal]({document})"),
    };
    let _ = writeln!(out, "**{name}** (impact on the architecture: {impact})\n");
    if !name.starts_with('[') {
        let (file, blob) = (aside::ITERATION, round.document.short());
        let _ = writeln!(
            out,
            "`{file}` says something else by now. What is decided about is what it said then (blob `{blob}`), and this list:\n"
        );
    }
    for change in round.changes.iter().take(MOST_FINDINGS) {
        let out_of_it = round.accepted.as_ref().is_some_and(|accepted| !accepted.contains(&change.id));
        let left = if out_of_it { ", not in this round" } else { "" };
        let (id, priority, says) =
            (plain_to(40, &change.id), plain_to(20, &change.priority), plain_to(200, &change.says));
        let _ = writeln!(out, "- {} ({priority}{left}): {says}", quoted(&id));
    }
    if round.changes.len() > MOST_FINDINGS {
        let _ = writeln!(out, "- … and {} more, in the document.", round.changes.len() - MOST_FINDINGS);
    }
    out.push('\n');
}

/// The longest address that a capsule has, in bytes.
const LONGEST_LINK: usize = 200;

/// What an agent that remembers nothing needs to go on.
fn capsule(out: &mut String, state: &State, seen: &Seen<'_>) {
    // What is over is not gone on with.
    if !state.open && (state.merged.is_none() || state.pipeline.is_none()) {
        return;
    }
    let beside = unproposed(state, seen);
    let findings = match beside.is_empty() {
        false => beside,
        true if state.open || first::is_delivered(state) => against(state, seen),
        true => Vec::new(),
    };
    let place = |path: &str| {
        let link = Links::read_at(seen.server, seen.slug, &seen.world.ledger, path, None);
        // A long address would leave no room for the rest.
        if link.len() <= LONGEST_LINK { link } else { format!("{}:{path}", seen.world.ledger) }
    };
    let text = Capsule::of(state, &findings, &commands(seen), place).text();
    let _ = writeln!(
        out,
        "<details><summary>For an agent that starts fresh</summary>\n\n```text\n{text}```\n\n</details>\n"
    );
}

fn details(out: &mut String, state: &State) {
    let here = match &state.pipeline {
        Some(pipeline) => pipeline.stage.as_str(),
        None => match task::of(state) {
            Some(task) => task.state.stage.as_str(),
            None => state.merge.as_str(),
        },
    };
    let _ = writeln!(out, "<details><summary>Where this is in the {} flow</summary>\n", state.flow);
    for (gate, judged) in &state.gates {
        let verdict = if judged.verdict == Verdict::Pass { "PASS" } else { "FAIL" };
        let reds = match gate {
            GateName::Phase(phase) if judged.verdict == Verdict::Pass => state.reds_at_pass.get(phase).copied(),
            _ => None,
        };
        let after = match reds.unwrap_or(0) {
            0 => String::new(),
            1 => ", after 1 red push".to_owned(),
            reds => format!(", after {reds} red pushes"),
        };
        let _ = writeln!(out, "- {gate}: {verdict} on {}{after}", judged_on(state, *gate, judged));
    }
    if let Some(frozen) = &state.frozen {
        let (files, head, record) = (frozen.files, frozen.head.short(), frozen.record);
        let _ = writeln!(out, "- frozen: {files} files at `{head}`, by record {record}");
    }
    let _ = writeln!(out, "\n```mermaid\n{}```\n\n</details>\n", Exported::of(state.flow).diagram(here));
}

/// What a verdict is about. A deployment after the merge is one of the merge commit, not of the head.
fn judged_on(state: &State, gate: GateName, judged: &Judged) -> String {
    let merge = state.merged.as_ref().map(|merged| &merged.commit).filter(|_| gate == GateName::Phase(Phase::Deploy));
    let of_merge = |commit: &&CommitId| {
        judged.evidence.iter().any(|one| match one {
            Evidence::Deployment { commit: of, .. }
            | Evidence::Check { head: of, .. }
            | Evidence::Run { head: of, .. }
            | Evidence::Word { head: of, .. } => of == *commit,
            Evidence::Review { .. } | Evidence::Findings { .. } | Evidence::Security { .. } | Evidence::Auto { .. } => {
                false
            }
        })
    };
    match merge.filter(of_merge) {
        Some(commit) => format!("the merge commit `{}`", commit.short()),
        None => format!("`{}`", judged.about.head.short()),
    }
}

/// The one thing to do now, and why: what an agent reads. It is under 1 KB.
pub(super) fn next_step(state: &State, seen: &Seen<'_>) -> String {
    cut(MOST_BYTES, what_next(state, seen))
}

/// What the next step may take, and what an answer to a command may.
const MOST_BYTES: usize = 900;

/// Whether each criterion cites what verifies it.
fn goal(state: &State, seen: &Seen<'_>) -> Option<String> {
    state.pipeline.as_ref().filter(|_| state.open)?;
    Goal::of(&seen.world.subject.as_ref()?.context.criteria).map(|goal| format!("_{}_", goal.line()))
}

/// What somebody answers for in this content.
fn risks(state: &State) -> impl Iterator<Item = String> {
    let holds = state.risks().filter(|one| !one.over && state.merged.is_none());
    holds.map(|one| {
        let (by, waiver) = (quoted(&one.by), &one.waiver);
        let rules: Vec<&str> = waiver.rules.iter().map(String::as_str).collect();
        let (owner, ticket) = (quoted(&waiver.owner), quoted(&waiver.ticket));
        format!(
            "**RISK-ACCEPTED** until {}: {} by {by} (owner {owner}, ticket {ticket}): {}. It is for this content alone.",
            waiver.until,
            rules.join(", "),
            quoted(&waiver.reason)
        )
    })
}

/// How often it was caught, and what comes of the next time.
fn cheats(state: &State) -> Option<String> {
    let caught = state.against.cheats.len();
    let record = |one: &Caught| match one.mark.change == state.change {
        true => one.mark.seq.to_string(),
        false => format!("{} of {}", one.mark.seq, one.mark.change),
    };
    let records: Vec<String> = state.against.cheats.iter().rev().take(5).map(record).collect();
    let then = match MOST_HEALED.checked_sub(caught) {
        Some(0) => "The next one stops the change for a person.".to_owned(),
        Some(left) => format!(
            "{left} more may be healed by an honest build, and the one after that stops the change for a person."
        ),
        None => "No more may be healed: each further one stops the change for a person.".to_owned(),
    };
    let records = records.join(", ");
    (caught > 0 && state.merged.is_none())
        .then(|| format!("**Confirmed cheats: {caught}** (records {records}). {then}"))
}

/// The text, not longer than this many bytes.
pub(super) fn cut(most: usize, mut text: String) -> String {
    if text.len() > most {
        let end = (0..=most - '…'.len_utf8()).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}

fn what_next(state: &State, seen: &Seen<'_>) -> String {
    let next = decided_next(state, seen);
    let both = state.open && waits_for_person(state);
    let Some(audit) = state.audit_owed().filter(|_| both) else { return next };
    let written = commands(seen).written("audit");
    match audit.facts.iter().next() {
        None => format!("{next} An audit is owed as well: `{written}`."),
        Some(fact) => {
            format!("{next} An audit is handed in as well: `{written} promote {fact}` lets plans rest on it.")
        }
    }
}

fn decided_next(state: &State, seen: &Seen<'_>) -> String {
    let commands = commands(seen);
    if let Some(gone) = given_up(state) {
        return gone;
    }
    if !state.open && state.merged.is_none() {
        return "Nothing: it is closed. Reopening takes it up where its gates stand.".to_owned();
    }
    if state.merged.as_ref().is_some_and(|merged| !merged.bypassed.is_empty()) {
        return "It was merged around the gate: a maintainer looks at what was skipped and decides whether it stays."
            .to_owned();
    }
    let also = state.also_stopped();
    if let Some(stop) = state.stopped.as_ref().filter(|stop| also.first() != Some(stop)) {
        let brake = state.pipeline.as_ref().is_some_and(|at| at.stage == Stage::ComplexityBrakeTriggered);
        let lift = commands.written(if brake { "brake-resolved" } else { "unblock" });
        let says = match stopped::words(stop) {
            Some(words) => stopped_for(&words, state, (&stop.reason, &lift), seen),
            None => format!(
                "It is stopped ({}). {} looks at it and says `{lift} REASON`.",
                quoted(&plain_to(200, &stop.reason)),
                who(state, seen),
            ),
        };
        return format!("{says}{}", stopped_too(&also));
    }
    if !also.is_empty() {
        let state = &State { stopped: None, ..state.clone() };
        return format!("{}{}", decided_next(state, seen), stopped_too(&also));
    }
    if let Some(owed) = memory::owed(state, seen).filter(|_| !waits_for_person(state)) {
        return owed;
    }
    match (&state.pipeline, state.merge) {
        (Some(pipeline), _) => in_pipeline(state, seen, pipeline, &commands),
        (None, merge::Stage::Merged) => "Nothing: it is merged.".to_owned(),
        (None, _) if state.flow == FlowName::Task => {
            task::next(state, seen).or_else(|| first_step(&seen.merge.findings)).unwrap_or_else(|| may_be_merged(seen))
        }
        (None, _) => first_step(&seen.merge.findings).unwrap_or_else(|| may_be_merged(seen)),
    }
}

/// Whether a person is to decide before anything else.
fn waits_for_person(state: &State) -> bool {
    state.pipeline.as_ref().is_some_and(|at| pipeline::waits_for_human(at.stage))
}

/// What is left to do about a change that was given up.
fn given_up(state: &State) -> Option<String> {
    let given_up = state.given_up.as_ref()?;
    let who = escalation::login(&given_up.by);
    let why = quoted(&plain_to(200, &given_up.reason));
    Some(match &state.merged {
        Some(merged) => format!(
            "{who} gave it up ({why}), and it is merged: revert it in a pull request of its own, with the button *Revert* \
             or with `git revert {}` (`-m 1` for a merge commit).",
            merged.commit.short()
        ),
        None => format!("Nothing: {who} gave it up ({why}). Reopening takes it up where it stopped."),
    })
}

fn may_be_merged(seen: &Seen<'_>) -> String {
    if seen.world.pull.draft {
        "Mark it ready for review; then it may be merged.".to_owned()
    } else {
        "It may be merged.".to_owned()
    }
}

/// Who decides, at the beginning of a sentence.
fn who(state: &State, seen: &Seen<'_>) -> String {
    let fallback = Policy::default();
    plain_to(300, &who_decides_first(seen.world.policy().unwrap_or(&fallback), &state.operators))
}

/// The finding that matters most: its rule, what was found, what to do.
pub(super) fn first_step(findings: &[Finding]) -> Option<String> {
    let blocking = || findings.iter().filter(|finding| finding.blocks());
    blocking().find(|finding| !finding.waiting).or_else(|| blocking().next()).map(|finding| {
        format!(
            "{} {} {}",
            quoted(&plain_to(300, &finding.rule)),
            plain_to(300, &finding.says),
            plain_to(400, &finding.next)
        )
    })
}

fn in_pipeline(state: &State, seen: &Seen<'_>, pipeline: &pipeline::State, commands: &Commands) -> String {
    let say = |name: &str| format!("`{}`", commands.written(name));
    let can = || possible(state, commands).unwrap_or_else(|| say("status"));
    // What lies beside the phases is read at the head, and after the merge where the change went.
    let there = if state.merged.is_some() { " on the default branch" } else { "" };
    match pipeline.stage {
        stage
            if state.merged.is_some()
                && pipeline.phase().is_some_and(|at| at < Phase::Deploy)
                && !pipeline::rests(stage) =>
        {
            "Nothing: it was merged before it was through, and its gates are not judged any more.".to_owned()
        }
        Stage::PreferencesConfigured => format!("Say {} to begin.", say("expand")),
        Stage::SteppedModePaused => format!("Look at what the phase left behind, then say {}.", say("continue")),
        Stage::SessionDropped => match &state.lapsed {
            Some(lapsed) => {
                let by_itself = if state.mode == Mode::Auto { "Push, or say" } else { "Say" };
                format!(
                    "Nobody who works on it was heard of for {}, so it was dropped; what was reached is kept. {by_itself} {} to \
                     take it up again.",
                    lapsed.lease,
                    say("recover")
                )
            }
            None => format!("Say {} to take it up again.", say("recover")),
        },
        Stage::BlockedOnGate | Stage::ReconcileBlocked => blocked(state, seen, pipeline, commands),
        Stage::ComplexityBrakeTriggered => {
            format!("{} looks at it and says `{} REASON`.", who(state, seen), commands.written("brake-resolved"))
        }
        Stage::VerifyGatePassed | Stage::PipelineComplete if state.open => {
            first_step(&seen.merge.findings).unwrap_or_else(|| may_be_merged(seen))
        }
        Stage::PipelineComplete => {
            format!(
                "Nothing: it is through. {} begins another round, {} asks its users.",
                say("iterate"),
                say("pmf start")
            )
        }
        Stage::Distilling => format!(
            "Write what the files of `docs/input/` come to into `docs/input/distilled-TOPIC.md`{there}, then say {}.",
            say("distill")
        ),
        Stage::AuditingStack => format!(
            "Write `{}` with the sections Findings and Recommendation, leave `preferences.md` as it is, then say {}.",
            aside::AUDIT,
            say("audit-stack")
        ),
        Stage::Ideating => format!("Collect what the users said; {} begins another round with it.", say("iterate")),
        Stage::Iterating => {
            format!("Write `{}`{there}, then say {} to propose it.", aside::ITERATION, say("iterate"))
        }
        Stage::IterationProposed => format!(
            "{} decides about the proposal: {} takes all of it, `{} CH-1 CH-3` a part, {} none.",
            who(state, seen),
            say("approve"),
            commands.written("approve"),
            say("reject REASON")
        ),
        Stage::IterationConfirmed if state.merged.is_some() => {
            format!(
                "Open a pull request for the round's work, if there is none yet, with `Phasegate-Change: {}` as the last line of \
                 its text, and say {} there; this one is merged.",
                state.change,
                say("expand")
            )
        }
        // EXPAND comes first: the next look goes there.
        Stage::IterationConfirmed => match &state.round {
            Some(round) => format!(
                "Push version {} of `scaffolding/scope.md`, which names what was confirmed, and keep the delivered one as `scaffolding/scope-v{}.md`.",
                round.version + 1,
                round.version
            ),
            None => format!("Say {} to go on.", say("iterate")),
        },
        Stage::ValidatingPMF => {
            format!(
                "Say {} when its users are content, or {} when they are not.",
                say("pmf validated"),
                say("pmf iterate")
            )
        }
        _ => match seen.phase {
            Some((phase, judged)) if judged.outcome == GateOutcome::Pass => {
                let what = if seen.advisory { phase.as_str().to_uppercase() } else { format!("The {phase} gate") };
                format!("{what} would pass. Say {} to claim it.", say(phase.as_str()))
            }
            Some((_, judged)) => first_step(&judged.findings)
                .unwrap_or_else(|| plain_to(400, &format!("{}.", headline(&judged.findings)))),
            None => format!("Possible: {}.", can()),
        },
    }
}

/// What was called on top of what a person is asked about.
fn stopped_too(also: &[&Stop]) -> String {
    const SHOWN: usize = 3;
    let each =
        also.iter().take(SHOWN).map(|stop| format!(" It is stopped, too: {}.", quoted(&plain_to(200, &stop.reason))));
    let more = also.len().checked_sub(SHOWN).filter(|more| *more > 0).map(|more| format!(" And {more} more."));
    each.chain(more).collect()
}

/// The report of a stop for a known reason, in the same form.
fn stopped_for(words: &Words, state: &State, (reason, lift): (&str, &str), seen: &Seen<'_>) -> String {
    let plan = match words.remedy {
        Remedy::RevisePlan => format!("; (D) change the plan with `{} D`", commands(seen).written("resolve")),
        _ => String::new(),
    };
    format!(
        "BLOCKED: {} ({}). Options: (A) {}; (B) {}; (C) close the pull request{plan}. For A {} says `{lift} REASON`, \
         for another one `{} LETTER` as the issue shows. \
         Recommendation: ({}) {}",
        words.wrong,
        quoted(&plain_to(200, reason)),
        words.go_on,
        words.rescope,
        who(state, seen).replacen('A', "a", 1),
        commands(seen).written("resolve"),
        words.remedy.letter(),
        words.why,
    )
}

/// The report in the form that people know: what is wrong, the options, a recommendation.
fn blocked(state: &State, seen: &Seen<'_>, pipeline: &pipeline::State, commands: &Commands) -> String {
    let phase = pipeline.phase().unwrap_or(Phase::Expand);
    let fails = pipeline.fails(phase);
    let wrong = state.gates.get(&GateName::Phase(phase)).map(|judged| headline(&judged.findings)).unwrap_or_default();
    let (what, recommended) = if pipeline.stage == Stage::ReconcileBlocked {
        let (fails, most) = (pipeline.fails(phase), limit(phase));
        let what = format!("{phase} found what only a person can decide (cycle {fails} of {most}).");
        (what, "where it is known which of the two is to follow the other, A; where the scope is to, B.")
    } else {
        let times = if fails == 1 { "once".to_owned() } else { format!("{fails} times") };
        (format!("{phase} failed {times}."), "read the findings; if they name one cause, A.")
    };
    format!(
        "BLOCKED: {what} {} Options: (A) mend it; (B) change the scope; (C) {}. \
         For A {} says `{} REASON`, for another one `{} LETTER` as the issue shows. Recommendation: {recommended}",
        plain_to(300, &wrong),
        if state.merged.is_some() { "revert it" } else { "close the pull request" },
        who(state, seen).replacen('A', "a", 1),
        commands.written("unblock"),
        commands.written("resolve"),
    )
}
