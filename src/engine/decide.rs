//! The decision: from what is recorded and what the world looks like to what is to be recorded now.
//!
//! The order matters, and each step is there for a reason:
//! 1. *the change begins*, the law that holds for it is noted;
//! 2. *what is there now*: new content, a new base, closed, reopened, merged. First, so that a command is judged
//!    against the content that is there, not against what was there when the delivery was sent;
//! 3. *commands*, in the order they were given. Each leaves a record, whatever came of it, so it is never run twice;
//!    then the claims that come with a push or with the pull request being ready;
//! 4. *gates*: the current phase's gate is judged, and the next, for as long as one passes;
//! 5. *the merge gate*, when its verdict or findings changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::ask;
use super::binding;
use super::command::Given;
use super::freeze;
use super::heal;
use super::hear::hear;
use super::lease;
use super::memory;
use super::repair;
use super::risk;
use super::stop;
use super::task;
use super::verbs::on_escalation;
use crate::fact::Comment;
use crate::flow::merge::Stage as MergeStage;
use crate::flow::pipeline::{self, Beside, Step};
use crate::flow::{Action, Actor, FlowName, Mode, Phase, Refusal, Stage};
use crate::gate::aside;
use crate::gate::papers::Followed;
use crate::gate::people::{May, Standing};
use crate::gate::phase::Outcome as GateOutcome;
use crate::gate::task::change;
use crate::gate::world::{Review, World};
use crate::gate::{Finding, GateName, Verdict, build, merge, papers, phase, reconcile, review};
use crate::ids::{ChangeNumber, CommitId, Digest, Person, RepoId};
use crate::ledger::against::things_against;
use crate::ledger::incident::{self, Breach};
use crate::ledger::record::{Claim, Job, Moment, Prev, Ran, Why};
use crate::ledger::{About, Body, By, Entry, Record, State};
use crate::policy::{Autonomy, Declared, Deploy, Enforce, Policy};

/// Something that happened and can't be read from the world afterwards.
#[derive(Debug, Clone)]
pub enum Happened {
    /// This person pushed to the change.
    Pushed(Person),
    /// The pull request was marked ready for review, which claims the current phase.
    Ready,
    /// A command was given.
    Command(Box<Order>),
    /// One of ours was changed by somebody else, as this delivery told; without one, a look has found it.
    Tampered { what: String, told: Option<String> },
    /// An issue was opened for the escalation with this id.
    Escalated { id: u64, issue: u64 },
    /// An issue was opened for the incident with this id.
    IncidentShown { of: u64, issue: u64 },
    /// The gate is not required any more where it was.
    Unguarded(Breach),
    /// Somebody closed the issue of the incident with this id.
    IncidentNoted { of: u64, by: By },
    /// The files of a fix could not be put onto the branch.
    Unfixed { of: u64, why: String },
    /// The tasks of the resolution in this record have these issues.
    Split { of: u64, issues: Vec<u64> },
    /// The stop that is open was brought to mind for this time.
    Reminded { of: u64, number: u32 },
    /// Somebody said something on the issue of the stop that is open, and it is no command.
    Noted(Comment, Standing),
    /// What the escalation's issue shows. What is said there counts for that.
    Displayed { issue: u64, shown: Shown },
    /// A run that was asked for has answered.
    Ran(Box<Answer>),
    /// The agent can't be asked for this pass.
    Unreached { pass: u32, why: String },
    /// Somebody said something that is no command.
    Spoke(Person),
    /// It is so late now. Told where the policy gives leases.
    Now { at: jiff::Timestamp },
}

/// What a run that was asked for has answered, proved and judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub by: Job,
    pub ran: Ran,
    /// The execution log's text.
    pub log: Arc<str>,
}

/// A command with everything that its judgement needs.
#[derive(Debug, Clone)]
pub struct Order {
    pub comment: Comment,
    pub given: Given,
    pub standing: Standing,
    /// What stands behind the number of a `/link`.
    pub target: Option<Target>,
    /// Why the files of a fix can't be committed to the present head.
    pub no_fix: Option<String>,
}

impl Order {
    pub(super) fn said(&self) -> Moment {
        Moment { at: self.comment.created_at, comment: self.comment.id }
    }
}

/// What is to be linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Nothing,
    Pull,
    /// An issue, and the change that it belongs to already.
    Issue {
        of: Option<ChangeNumber>,
    },
}

/// The head that the bot's comment shows, and since when (on GitHub's clock).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    pub head: CommitId,
    /// Its content then; none where only the comment itself is left to tell.
    pub content: Option<Digest>,
    pub since: jiff::Timestamp,
    /// The files that it asks somebody to accept, as [`evidence::print`](crate::gate::evidence::print) has them, and since
    /// when.
    pub files: Option<(Digest, jiff::Timestamp)>,
}

/// What is to be recorded. What people see follows from the state after it.
#[derive(Debug, Clone, Default)]
pub struct Decision {
    pub entries: Vec<Entry>,
    /// Comments with commands that were passed over, because their author has been told that they say too much.
    pub unheard: BTreeSet<u64>,
}

/// The state as it becomes while the decision is made.
pub(super) struct Draft<'w> {
    change: ChangeNumber,
    pub(super) state: State,
    pub(super) entries: Vec<Entry>,
    pub(super) world: &'w World,
}

impl Draft<'_> {
    pub(super) fn by(&mut self, by: By, body: Body) -> Result<(), Refusal> {
        let about = self.state.subject.clone();
        self.about(by, about, body)
    }

    pub(super) fn bot(&mut self, body: Body) -> Result<(), Refusal> {
        self.by(By::Bot, body)
    }

    fn about(&mut self, by: By, about: Option<About>, body: Body) -> Result<(), Refusal> {
        self.enter(Entry::new(by, about, body))
    }

    pub(super) fn enter(&mut self, entry: Entry) -> Result<(), Refusal> {
        self.state = scratch(Some(self.state.clone()), self.change, &entry)?;
        self.entries.push(entry);
        Ok(())
    }

    pub(super) fn step(&mut self, action: Action, actor: Actor, by: By) -> Result<(), Refusal> {
        self.by(by, Body::Step { action, actor, why: None })
    }

    /// What follows by itself from where the pipeline stands.
    pub(super) fn settle(&mut self) -> Result<(), Refusal> {
        let Some(pipeline) = &self.state.pipeline else { return Ok(()) };
        let before_merge = self.world.policy().is_some_and(|policy| policy.deploy == Deploy::BeforeMerge);
        for Step { action, actor } in pipeline::settle(pipeline, before_merge || self.state.merged.is_some()) {
            let why =
                self.state.pipeline.as_ref().and_then(|at| pipeline::why(at, action, |phase| self.is_absent(phase)));
            self.bot(Body::Step { action, actor, why })?;
        }
        Ok(())
    }

    /// Whether a phase's document is known not to be there.
    fn is_absent(&self, phase: Phase) -> bool {
        let found = self.world.subject.as_ref().and_then(|subject| subject.documents.get(&phase));
        found.is_some_and(|found| found.iter().any(papers::is_absent))
    }

    pub(super) fn stage(&self) -> Option<Stage> {
        self.state.pipeline.as_ref().map(|pipeline| pipeline.stage)
    }
}

/// One entry further, without a ledger: for thinking ahead.
fn scratch(state: Option<State>, change: ChangeNumber, entry: &Entry) -> Result<State, Refusal> {
    let record = Record {
        repo: RepoId(0),
        change,
        seq: state.as_ref().map_or(1, |state| state.seq + 1),
        prev: Prev::Begins { repo: RepoId(0), change },
        at: jiff::Timestamp::UNIX_EPOCH,
        by: entry.by.clone(),
        about: entry.about.clone(),
        body: entry.body.clone(),
    };
    State::fold(state, &record, Digest::of("not written yet")).map_err(|error| match error {
        crate::ledger::fold::FoldError::Unlawful { refusal, .. } => refusal,
        other => Refusal::new("CMD-03", other.to_string(), "Report this: it is a bug."),
    })
}

/// Decides. An `Err` is a bug in here, never something that a user did: theirs become records.
pub fn decide(
    change: ChangeNumber,
    state: Option<&State>,
    world: &World,
    happened: &[Happened],
    shown: Option<&Shown>,
) -> Result<Decision, Refusal> {
    let mut entries = Vec::new();
    let state = match state {
        Some(state) => state.clone(),
        None => {
            let entry = Entry::new(By::Bot, None, Body::Opened { author: world.pull.author.clone() });
            let state = scratch(None, change, &entry)?;
            entries.push(entry);
            state
        }
    };
    let mut draft = Draft { change, state, entries, world };
    let before = draft.state.clone();
    declare(&mut draft)?;
    law(&mut draft)?;
    binding::inherit(&mut draft)?;
    binding::release(&mut draft)?;
    continues(&mut draft)?;
    for one in happened {
        if let Happened::Tampered { what, told } = one
            && !told.as_ref().is_some_and(|told| draft.state.tampering_told.contains(told))
        {
            draft.bot(Body::Tampered { what: what.clone(), told: told.clone() })?;
        }
    }
    for one in happened {
        match one {
            Happened::Escalated { id, issue } => draft.bot(Body::Escalated { id: *id, issue: *issue })?,
            Happened::IncidentShown { of, issue } => {
                draft.bot(Body::IncidentShown { of: *of, issue: *issue })?;
            }
            Happened::IncidentNoted { of, by } => draft.by(by.clone(), Body::IncidentNoted { of: *of })?,
            Happened::Unguarded(breach) => unguarded(&mut draft, breach)?,
            Happened::Unfixed { of, why } => unfixed(&mut draft, *of, why)?,
            Happened::Split { of, issues } => draft.bot(Body::Split { of: *of, issues: issues.clone() })?,
            Happened::Reminded { of, number } => draft.bot(Body::Reminded { of: *of, number: *number })?,
            _ => {}
        }
    }
    content(&mut draft, happened)?;
    lifecycle(&mut draft)?;
    stop::raised(&mut draft)?;
    heal::raised(&mut draft)?;
    ask::answered(&mut draft, happened)?;
    memory::take_in(&mut draft, happened)?;
    if draft.state.merged.is_none() {
        binding::reviewed(&mut draft)?;
    }
    for one in happened {
        if let Happened::Noted(comment, standing) = one {
            note(&mut draft, comment, *standing)?;
        }
    }
    lease::heard(&mut draft, happened)?;
    risk::end(&mut draft, happened)?;
    let mut unheard = BTreeSet::new();
    let now = task::now(happened);
    for order in in_order(happened) {
        let there = happened.iter().find_map(|one| match one {
            Happened::Displayed { issue, shown } if *issue == order.comment.number => Some(shown),
            _ => None,
        });
        let shown = if on_escalation(&draft, order) { there } else { shown };
        hear(&mut draft, order, shown, &mut unheard)?;
        // The next command of the same comment finds what became of this one.
        gates(&mut draft, now)?;
    }
    claims(&mut draft, &before, happened)?;
    gates(&mut draft, now)?;
    task::unreached(&mut draft, happened)?;
    task::begin(&mut draft, now)?;
    lease::end(&mut draft, happened)?;
    red_pushes(&mut draft)?;
    if draft.state.open {
        let judged = merge::judge(&draft.state, world);
        record_judgement(&mut draft, GateName::Merge, judged.verdict, None, judged.findings, judged.evidence)?;
    } else if draft.state.merged.is_none() {
        binding::objections(&mut draft)?;
    }
    Ok(Decision { entries: draft.entries, unheard })
}

/// Asks a person, once, where more pushes were red than the policy lets pass.
fn red_pushes(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let Some(policy) = draft.world.policy().filter(|_| draft.state.open && draft.state.merged.is_none()) else {
        return Ok(());
    };
    let due = draft.state.audit_due(policy.limits.previews);
    match (due, draft.state.red_pushes) {
        (Some((phase, reds)), told) if told != Some((phase, reds)) => {
            draft.bot(Body::RedPushes { at: Some(phase), reds })
        }
        // The policy lets more pass now.
        (None, Some(_)) => draft.bot(Body::RedPushes { at: None, reds: 0 }),
        _ => Ok(()),
    }
}

/// A fix that is not on the branch has answered nothing: what it was given for is asked again.
fn unfixed(draft: &mut Draft<'_>, of: u64, why: &str) -> Result<(), Refusal> {
    let Some(fix) = draft.state.fix.clone().filter(|fix| fix.record == of) else { return Ok(()) };
    let by = match &fix.by {
        By::Person { person, .. } => person.login.clone(),
        By::Bot | By::Workflow(_) | By::Runner(_) => "somebody".to_owned(),
    };
    draft.bot(Body::Unfixed { of })?;
    let lost = format!("the fix that {by} gave is not on the branch: {why}");
    // What it was given for stands as it was said.
    let (reason, condition) = match &fix.stood {
        Some(stood) => (format!("{}; {lost}", stood.reason), stood.condition),
        None => (lost, None),
    };
    stop::call(draft, By::Bot, stop::Call { condition, ..stop::Call::new(reason) })
}

/// So many notes are kept of one stop.
pub const MOST_NOTES: usize = 50;
/// So much is kept of one, in characters.
const LONGEST_NOTE: usize = 1_000;

/// Keeps what somebody said about the stop, beside what is decided. Nothing follows from it.
fn note(draft: &mut Draft<'_>, comment: &Comment, standing: Standing) -> Result<(), Refusal> {
    let Some(open) = draft.state.escalation.as_ref().filter(|open| open.issue == Some(comment.number)) else {
        return Ok(());
    };
    let known = open.noted.contains(&comment.id) || open.noted.len() >= MOST_NOTES;
    if known || comment.author.bot || !May::Ask.allows(standing) || comment.body.trim().is_empty() {
        return Ok(());
    }
    let by = By::Person { person: comment.author.clone(), role: standing.role.as_str().to_owned() };
    let text = Digest::of(&comment.body);
    let says = comment.body.chars().filter(|c| !c.is_control() || *c == '\n').take(LONGEST_NOTE).collect();
    draft.by(by, Body::Noted { of: open.id, comment: comment.id, text, says })
}

/// The commands in the order in which they were said. Deliveries come in any.
fn in_order(happened: &[Happened]) -> Vec<&Order> {
    let orders = happened.iter().filter_map(|one| match one {
        Happened::Command(order) => Some(order.as_ref()),
        _ => None,
    });
    let mut orders: Vec<&Order> = orders.collect();
    orders.sort_by_key(|order| (order.said(), order.given.index));
    orders
}

/// Notes what the description declares, here and under earlier numbers of the same work. What was declared stays: a line that is
/// taken out again loosens nothing.
fn declare(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let (state, world) = (&draft.state, draft.world);
    if world.policy().is_none() || !world.pull.open || state.merged.is_some() {
        return Ok(());
    }
    let here = world.pull.header.declared;
    // The highest rung is what there is without a word.
    let here = Declared { autonomy: here.autonomy.filter(|rung| *rung < Autonomy::Auto), ..here };
    let all = world.earlier.iter().map(|earlier| earlier.declared).fold(state.declared.and(here), Declared::and);
    if all == state.declared {
        return Ok(());
    }
    draft.bot(Body::Declared(all))
}

/// Notes the law. From the same policy, it may only get tighter: a label that is taken off again loosens nothing.
fn law(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let Some(policy) = draft.world.policy() else { return Ok(()) };
    let digest = policy.digest();
    let wanted = draft.world.effective;
    let flow = match wanted.flow {
        // What only brings papers for a next round is none of a round's phases.
        crate::policy::Flow::Pipeline if draft.world.subject.as_ref().is_some_and(aside::only_brings_papers) => {
            FlowName::Merge
        }
        crate::policy::Flow::Merge => FlowName::Merge,
        crate::policy::Flow::Task => FlowName::Task,
        crate::policy::Flow::Pipeline => FlowName::Pipeline,
    };
    let mode = match wanted.mode {
        crate::policy::Mode::Auto => Mode::Auto,
        crate::policy::Mode::Stepped => Mode::Stepped,
    };
    let state = &draft.state;
    let (flow, mode, autonomy) = if state.policy.as_ref() == Some(&digest) {
        let stepped = state.mode == Mode::Stepped || mode == Mode::Stepped;
        let mode = if stepped { Mode::Stepped } else { Mode::Auto };
        (flow.max(state.flow), mode, wanted.autonomy.min(state.autonomy))
    } else {
        (flow, mode, wanted.autonomy)
    };
    let (flow, mode, autonomy) = binding::tightened(draft, &digest, (flow, mode, autonomy));
    let autonomy = draft.state.declared.autonomy.map_or(autonomy, |declared| declared.min(autonomy));
    let state = &draft.state;
    let same =
        state.policy.as_ref() == Some(&digest) && (state.flow, state.mode, state.autonomy) == (flow, mode, autonomy);
    if same || state.merged.is_some() || draft.world.pull.merged.is_some() {
        return Ok(());
    }
    draft.bot(Body::Law { policy: digest, flow, mode, autonomy })
}

/// Notes that the change is the work of a round that was confirmed on another.
fn continues(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let Some((of, Followed::Round(round))) = &draft.world.continues else { return Ok(()) };
    if draft.state.pipeline.is_none() || draft.state.round.is_some() || !draft.world.pull.open {
        return Ok(());
    }
    draft.bot(Body::Continues { of: *of, round: round.clone() })
}

fn content(draft: &mut Draft<'_>, happened: &[Happened]) -> Result<(), Refusal> {
    let now = draft.world.subject.as_ref().filter(|_| draft.world.pull.open);
    let mut pushers = happened.iter().filter_map(|one| match one {
        Happened::Pushed(person) => Some(person),
        _ => None,
    });
    if let Some(subject) = now {
        let old = draft.state.subject.as_ref();
        // A flow that was tightened to the pipeline has yet to learn what its gates would read.
        let unread = draft.state.pipeline.as_ref().is_some_and(|pipeline| pipeline.present != subject.present);
        // It may have gone into another base and back.
        let based_since =
            draft.world.based_since.filter(|since| draft.state.based_since.is_none_or(|old| old < *since));
        if old != Some(&subject.about) || unread || based_since.is_some() {
            let why = match old {
                None => Why::Opened,
                Some(old) if old.base_ref != subject.about.base_ref => Why::Retargeted,
                Some(old) if old.head != subject.about.head => Why::Pushed,
                Some(_) => Why::BaseMoved,
            };
            let origin = draft.world.origin();
            let news = origin.keys(&subject.about.head).iter().any(|(_, key)| !draft.state.origins.contains(key));
            let body = Body::Subject {
                why,
                pushed_by: pushers.next().cloned(),
                present: subject.present.clone(),
                origin: news.then_some(origin),
                based_since,
                older_reviews: binding::older_reviews(draft, &subject.about),
                older_runs: binding::older_runs(draft, &subject.about),
            };
            draft.about(By::Bot, Some(subject.about.clone()), body)?;
            draft.settle()?;
        }
    }
    for person in pushers {
        if !draft.state.operators.iter().any(|operator| operator.id == person.id) {
            draft.bot(Body::Operator { person: person.clone() })?;
        }
    }
    Ok(())
}

fn lifecycle(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let pull = &draft.world.pull;
    match &pull.merged {
        Some(commit) if draft.state.merged.is_none() => {
            let mut against = stood_against(draft);
            if draft.world.policy().is_none_or(|policy| policy.enforce != Enforce::Observe) {
                against.extend(draft.state.red_group(commit));
            }
            let bypassed = against.iter().map(|finding| finding.rule.clone()).collect();
            let breach = bypass(draft, against);
            if let Some(present) = unseen(draft) {
                draft.bot(Body::Beside { fact: Beside::Content { present } })?;
            }
            draft.bot(Body::Merged { commit: commit.clone(), bypassed })?;
            if let Some(breach) = breach {
                draft.bot(Body::Incident(Box::new(breach)))?;
            }
            draft.settle()
        }
        None if !pull.open && draft.state.open => draft.bot(Body::Closed {}),
        None if pull.open && !draft.state.open => {
            draft.bot(Body::Reopened {})?;
            draft.settle()
        }
        _ => Ok(()),
    }
}

/// Whether the gate stands before the branch that the pull request goes into. (A stack is merged into its own branches.)
fn covers(policy: &Policy, world: &World) -> bool {
    policy.may_merge_into(&world.pull.base_ref, &world.default_branch)
}

/// A head that was merged before anybody looked at it is content that no gate has passed for, whatever passed for the
/// one before it. Otherwise that would be deployed and called complete.
fn unseen(draft: &Draft<'_>) -> Option<BTreeMap<Phase, Digest>> {
    let head = &draft.world.pull.head;
    if draft.state.pipeline.is_none() || draft.state.subject.as_ref().is_some_and(|about| about.head == *head) {
        return None;
    }
    let unread = |phase: Phase| Digest::of_parts(["merged unseen", head.as_str(), phase.as_str()]);
    Some(Phase::ALL.into_iter().map(|phase| (phase, unread(phase))).collect())
}

/// What somebody is told of a merge past the gate. Where no policy can be read, nobody is named who could be told.
fn bypass(draft: &Draft<'_>, mut findings: Vec<Finding>) -> Option<Breach> {
    let enforced = draft.world.policy().is_some_and(|policy| policy.enforce == Enforce::Enforce);
    findings.truncate(incident::MOST_FINDINGS);
    let by = draft.world.pull.merged_by.clone();
    (enforced && !findings.is_empty()).then_some(Breach::Bypassed { by, findings })
}

/// The gate is not required any more where it was. However often that is told, it is one incident.
fn unguarded(draft: &mut Draft<'_>, breach: &Breach) -> Result<(), Refusal> {
    match draft.state.incidents.iter().any(|one| one.breach == *breach) {
        true => Ok(()),
        false => draft.bot(Body::Incident(Box::new(breach.clone()))),
    }
}

/// What stood against it when somebody merged all the same.
fn stood_against(draft: &Draft<'_>) -> Vec<Finding> {
    // Nothing was in the way that could have been gone around.
    if draft.world.policy().is_some_and(|policy| policy.enforce == Enforce::Observe || !covers(policy, draft.world)) {
        return Vec::new();
    }
    if draft.state.subject.as_ref().is_none_or(|about| about.head != draft.world.pull.head) {
        let head = draft.world.pull.head.short();
        let next = "Read what came in with it.";
        return vec![
            Finding::error(
                "MRG-01",
                format!("Nothing is known of `{head}`: it was merged before it was looked at."),
                next,
            ),
            Finding::error("MRG-02", format!("Nobody is known to have approved `{head}`."), next),
        ];
    }
    let recorded = draft
        .state
        .gates
        .get(&GateName::Merge)
        .filter(|judged| draft.state.subject.as_ref().is_some_and(|about| *about == judged.about));
    match recorded {
        Some(judged) if judged.verdict == Verdict::Pass => objected(draft),
        // The evidence may have come after the last look.
        _ => {
            let red = |findings: &[Finding]| -> Vec<Finding> {
                findings.iter().filter(|finding| finding.blocks()).cloned().collect()
            };
            let now = red(&merge::judge(&draft.state, draft.world).findings);
            let still = |finding: &Finding| now.iter().any(|one| one.rule == finding.rule);
            match recorded {
                // In the words that stood there when it was merged.
                Some(judged) => red(&judged.findings).into_iter().filter(still).collect(),
                None => now,
            }
        }
    }
}

/// Who had asked for changes before it was merged, while nobody looked. What is said after the merge is nothing that was gone around.
fn objected(draft: &Draft<'_>) -> Vec<Finding> {
    let (Some(policy), Some(merged)) = (draft.world.policy(), draft.world.pull.merged_at) else { return Vec::new() };
    let mut before = draft.world.clone();
    // Moments are whole seconds: of one that is the merge's own, an approval may have come before it, and a no counts for nothing.
    let asks = |review: &Review| review.state == "CHANGES_REQUESTED";
    before.reviews.retain(|review| review.submitted_at.is_some_and(|at| at < merged || at == merged && !asks(review)));
    let against = review::approvals(policy, &draft.state, &before).against.into_iter();
    against
        .map(|one| {
            let says = format!("It was merged before anybody had seen that `{}` {}.", one.login, one.says);
            Finding::error("MRG-02", says, "Read what they name, and what came in.")
        })
        .collect()
}

/// Claims that come with a push or with the pull request being ready.
fn claims(draft: &mut Draft<'_>, before: &State, happened: &[Happened]) -> Result<(), Refusal> {
    if memory::is_held(draft) {
        return Ok(());
    }
    let current = match (&draft.state.pipeline, draft.state.flow) {
        (Some(pipeline), _) => pipeline.phase(),
        // Without phases what is claimed is the exit: that it may be merged.
        (None, FlowName::Merge) => Some(Phase::Verify),
        (None, FlowName::Task | FlowName::Pipeline) => None,
    };
    let Some(current) = current.filter(|_| draft.state.open || draft.state.pipeline.is_some()) else { return Ok(()) };
    let new_head =
        before.subject.as_ref().map(|about| &about.head) != draft.state.subject.as_ref().map(|about| &about.head);
    let trailer = draft.world.subject.as_ref().and_then(|subject| subject.trailer);
    if new_head && trailer == Some(current) {
        draft.bot(Body::Claimed { phase: current, how: Claim::Trailer })?;
        return Ok(());
    }
    let ready = happened.iter().any(|one| matches!(one, Happened::Ready));
    // A second delivery of the same fact claims nothing more.
    let told = draft.state.subject.as_ref().is_some_and(|about| draft.state.readied.as_ref() == Some(&about.head));
    if ready && !told {
        draft.bot(Body::Claimed { phase: current, how: Claim::ReadyForReview })?;
    }
    Ok(())
}

/// The most gates that one decision can pass: all of them, and each that went stale once more.
const MOST_GATES: usize = 24;

fn gates(draft: &mut Draft<'_>, now: Option<jiff::Timestamp>) -> Result<(), Refusal> {
    for _ in 0..MOST_GATES {
        ask::by_itself(draft)?;
        freeze::take(draft)?;
        renew(draft)?;
        freeze::take(draft)?;
        if !(judge_current(draft)? || task::judge(draft, now)?) {
            break;
        }
    }
    repair::record(draft)
}

/// Gates that passed in this change for older content are judged again for this one, where they stand under the
/// present phase. A fix in REVIEW or VERIFY makes their evidence stale without leading back to them.
fn renew(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let Some(current) = draft.state.pipeline.as_ref().and_then(pipeline::State::phase) else { return Ok(()) };
    for gate in current.before().filter(|gate| !gate.reads_documents()) {
        let stale = draft
            .state
            .pipeline
            .as_ref()
            .is_some_and(|p| p.passed.contains_key(&gate) && p.present.contains_key(&gate) && !p.holds(gate));
        if !stale || !draft.state.open {
            continue;
        }
        let judged = phase::judge(gate, &draft.state, draft.world);
        if judged.outcome != GateOutcome::Pass {
            break;
        }
        let name = GateName::Phase(gate);
        record_judgement(draft, name, Verdict::Pass, Some(Claim::Preview), judged.findings, judged.evidence)?;
        draft.bot(Body::Beside { fact: Beside::Renewed { phase: gate } })?;
    }
    Ok(())
}

/// Judges the gate of the phase that the change is in. Says whether the change moved on.
fn judge_current(draft: &mut Draft<'_>) -> Result<bool, Refusal> {
    let Some(pipeline) = draft.state.pipeline.clone() else { return Ok(false) };
    let Some(phase) = pipeline::phase_of(pipeline.stage) else { return Ok(false) };
    // What is looked at while an audit is owed shows, and counts for nothing.
    let held = memory::is_held(draft);
    let in_gate = pipeline.stage == phase.stage() || pipeline::retry_action(pipeline.stage).is_some();
    let alive = draft.state.open || (phase == Phase::Deploy && draft.state.merged.is_some());
    if !in_gate || !alive || draft.state.stopped.is_some() {
        return Ok(false);
    }
    let claimed = draft.state.claim.filter(|(claimed, _)| *claimed == phase).map(|(_, how)| how);
    let judged = phase::judge(phase, &draft.state, draft.world);
    // A reconcile that was asked for in the middle of another phase ends where it began.
    let detour = phase == Phase::Reconcile && pipeline.return_to.is_some();
    let counts = match (&judged.outcome, claimed, draft.state.mode) {
        (GateOutcome::Pending, _, _) => None,
        _ if held => None,
        (_, Some(how), _) => Some(how),
        // Whoever sent it back to its scope wants another one, or somebody's word that this is it.
        (GateOutcome::Pass, None, _) if phase == Phase::Expand && same_scope(&draft.state) => None,
        (GateOutcome::Pass, None, _) if phase == Phase::Design && same_design(&draft.state) => None,
        (GateOutcome::Pass, None, Mode::Auto) => Some(Claim::Preview),
        (GateOutcome::Pass, None, Mode::Stepped) if detour => Some(Claim::Preview),
        // What a reviewer says is a verdict, not a preview.
        (GateOutcome::Fail, None, _) if judged.findings.iter().any(|finding| finding.rule == "REV-03") => {
            Some(Claim::Reviewer)
        }
        // So is what a person reports.
        (GateOutcome::Fail, None, _) if judged.findings.iter().any(|finding| finding.rule == "reported_cheat") => {
            Some(Claim::Reviewer)
        }
        // What goes against the scope stops for a person, whoever noticed.
        (GateOutcome::Fail, None, _)
            if judged.findings.iter().any(reconcile::is_spec_violating) && phase == Phase::Reconcile =>
        {
            Some(Claim::Preview)
        }
        // After the merge there is nobody to push and preview; the verdict is the world's.
        (_, None, _) if phase == Phase::Deploy && draft.state.merged.is_some() => Some(Claim::Preview),
        _ => None,
    };
    let name = GateName::Phase(phase);
    let pass = judged.outcome == GateOutcome::Pass;
    let Some(how) = counts else {
        if judged.outcome == GateOutcome::Fail {
            let unearned = heal::is_unearned(&judged.findings).then(|| judged.findings.clone());
            record_judgement(draft, name, Verdict::Fail, None, judged.findings, judged.evidence)?;
            // A green that is not earned is a cheat, whether or not somebody claims it.
            if heal::catch(draft, &unearned.unwrap_or_default())? {
                heal::exhaust(draft)?;
            }
        }
        return Ok(false);
    };
    // What nobody claimed is a failure once for each thing that speaks against it: another look, a push that meets the
    // same review, a green beside the same red, the way back to content that was rejected is not a second one.
    let told = draft.state.gates.get(&name).is_some_and(|last| last.verdict == Verdict::Fail && last.claimed.is_some());
    let counted = draft.state.against.counted.get(&phase);
    let now = things_against(&judged.evidence, &draft.state);
    let news = now.iter().any(|(one, times)| counted.and_then(|counted| counted.get(one)) < Some(times));
    if !pass && !news && (told || !now.is_empty()) && matches!(how, Claim::Preview | Claim::Reviewer) {
        return Ok(false);
    }
    if phase == Phase::Build && brake(draft, &judged.findings, claimed.is_some())? {
        return Ok(false);
    }
    let structural = draft.world.subject.as_ref().is_some_and(|subject| subject.structural_fix);
    if pass && structural && pipeline.stage == Stage::VerifyFixing {
        // The documents may no longer match what was fixed: reconcile is judged before the verdict counts.
        draft.step(Action::VerifyFixReconcile, Actor::Bot, By::Bot)?;
        return Ok(true);
    }
    take_up(draft, phase)?;
    let verdict = if pass { Verdict::Pass } else { Verdict::Fail };
    let about = draft.state.subject.clone();
    let asked = draft.world.subject.as_ref().filter(|_| pass && phase == Phase::Expand);
    let criteria = asked.map(|subject| subject.context.criteria.clone()).unwrap_or_default();
    let (findings, evidence) = (judged.findings.clone(), judged.evidence);
    let body = Body::Judged { gate: name, verdict, claimed: Some(how), findings, evidence, criteria };
    draft.about(By::Bot, about, body)?;
    let caught = heal::catch(draft, &judged.findings)?;
    let action = match (pass, detour, pipeline.return_to) {
        (true, true, Some(back)) => resume_after_reconcile(back),
        (true, ..) if phase == Phase::Reconcile && is_repaired(&draft.state) => Some(Action::ReconcileRepaired),
        _ => Some(pipeline::verdict_action(phase, pass)),
    };
    if let Some(action) = action {
        draft.step(action, Actor::Bot, By::Bot)?;
    }
    draft.settle()?;
    if caught {
        heal::exhaust(draft)?;
    }
    Ok(pass)
}

/// Whether the documents that are there are those that the bot has put right.
fn is_repaired(state: &State) -> bool {
    let about = state.subject.as_ref();
    about.is_some_and(|about| state.repairs.iter().any(|one| one.content == about.content && one.head != about.head))
}

/// The complexity brake, where a run of BUILD would count: what outgrew its design is a person's to decide, once for each
/// concern. It is no verdict, so no attempt is counted.
fn brake(draft: &mut Draft<'_>, findings: &[Finding], claimed: bool) -> Result<bool, Refusal> {
    let mut concerns = build::concerns(findings);
    if claimed {
        concerns.extend(draft.state.third_approaches(findings));
    }
    let fresh: Vec<&String> = concerns.iter().filter(|one| !build::is_decided(one, &draft.state.braked)).collect();
    if fresh.is_empty() {
        return Ok(false);
    }
    let told: Vec<&str> = fresh.iter().take(5).map(|concern| concern.as_str()).collect();
    let more =
        if fresh.len() > told.len() { format!(" And {} more.", fresh.len() - told.len()) } else { String::new() };
    let reason = format!("{}{more}", told.join(" "));
    take_up(draft, Phase::Build)?;
    draft.bot(Body::Stopped { reason, said: None, concerns, condition: None, raised: None })?;
    draft.step(Action::TriggerComplexityBrake, Actor::Bot, By::Bot)?;
    Ok(true)
}

/// Whether the scope is still the one with which the change was sent back to it.
fn same_scope(state: &State) -> bool {
    let present = state.pipeline.as_ref().and_then(|pipeline| pipeline.present.get(&Phase::Expand));
    state.rescoped.is_some() && state.rescoped.as_ref() == present
}

/// The same of its design.
fn same_design(state: &State) -> bool {
    let present = state.pipeline.as_ref().and_then(|pipeline| pipeline.present.get(&Phase::Design));
    state.replanned.is_some() && state.replanned.as_ref() == present
}

fn resume_after_reconcile(back: Stage) -> Option<Action> {
    Some(match back {
        Stage::Designing => Action::ResumeAfterReconcileToDesigning,
        Stage::Analyzing => Action::ResumeAfterReconcileToAnalyzing,
        Stage::Building => Action::ResumeAfterReconcileToBuilding,
        Stage::Reviewing => Action::ResumeAfterReconcileToReviewing,
        Stage::Verifying => Action::ResumeAfterReconcileToVerifying,
        _ => return None,
    })
}

/// From a retrying or fixing stage back to the phase's work, before its gate is judged.
pub(super) fn take_up(draft: &mut Draft<'_>, phase: Phase) -> Result<(), Refusal> {
    while let Some(stage) = draft.stage().filter(|stage| *stage != phase.stage()) {
        let Some(action) = pipeline::retry_action(stage) else { break };
        draft.step(action, Actor::Bot, By::Bot)?;
    }
    Ok(())
}

/// Records a judgement that counts for nothing but to be seen, if it says something new.
pub(super) fn record_judgement(
    draft: &mut Draft<'_>,
    gate: GateName,
    verdict: Verdict,
    claimed: Option<Claim>,
    findings: Vec<Finding>,
    evidence: Vec<crate::ledger::record::Evidence>,
) -> Result<(), Refusal> {
    let Some(about) = draft.state.subject.clone() else { return Ok(()) };
    // A reopened change waits until its gate was looked at again, also where that says what it said before.
    let waits = gate == GateName::Merge && draft.state.merge == MergeStage::Waiting && verdict == Verdict::Pass;
    let said = !waits
        && draft.state.gates.get(&gate).is_some_and(|last| {
            last.verdict == verdict && last.about == about && last.findings == findings && last.evidence == evidence
        });
    // A preview is one look at one head: more findings on it, or a base that moved under it, are shown, not tallied.
    let same_preview = claimed.is_none()
        && gate != GateName::Merge
        && draft.state.gates.get(&gate).is_some_and(|last| {
            // What the bot commits on top is no other push.
            last.verdict == verdict && (last.about.head == about.head || last.about.content == about.content)
        });
    if said || same_preview {
        return Ok(());
    }
    draft.about(By::Bot, Some(about), Body::Judged { gate, verdict, claimed, findings, evidence, criteria: Vec::new() })
}

/// The state that a decision would lead to.
pub fn ahead(change: ChangeNumber, state: Option<&State>, decision: &Decision) -> Result<Option<State>, Refusal> {
    let start = state.cloned();
    decision.entries.iter().try_fold(start, |state, entry| scratch(state, change, entry).map(Some))
}

/// How the merge gate looks now, for people to see.
pub fn merge_gate(state: &State, world: &World) -> merge::Judgement {
    merge::judge(state, world)
}

/// How the gate of the current phase looks now, for people to see.
pub fn phase_gate(state: &State, world: &World) -> Option<(Phase, phase::Judgement)> {
    let phase = state.pipeline.as_ref().and_then(pipeline::State::phase)?;
    Some((phase, phase::judge(phase, state, world)))
}

/// How a task's claim looks now, for people to see.
pub fn task_gate(state: &State, world: &World) -> Option<change::Judgement> {
    (state.flow == FlowName::Task && state.open).then(|| change::judge(state, world))
}
