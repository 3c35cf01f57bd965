//! The engine, explored to its end on a tiny world.
//!
//! Every decision is made by the real [`decide`] and folded by the real ledger. People push, check, review and say
//! things; what they say is delivered late, twice, in another order or never; workers decide on what they have read,
//! and crash before they have written it. The world is read when a decision is made, as the server does.

use std::collections::{BTreeMap, HashMap};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use stateright::{Checker, Model, Property};

use crate::engine::kit::*;
use crate::engine::{Decision, Happened, Shown, ahead, decide};
use crate::flow::pipeline::phase_of;
use crate::flow::{Action, Phase, Stage};
use crate::gate::world::{CheckRun, Review, Subject, World};
use crate::gate::{GateName, Verdict};
use crate::ids::{ChangeNumber, Digest, Role};
use crate::ledger::against::Against;
use crate::ledger::diary::Diary;
use crate::ledger::{Body, By, Entry, State};
use crate::model::{documented, holds};

const CHANGE: ChangeNumber = ChangeNumber(7);
/// The comment of the bot is this old, in seconds.
const SHOWN_AT: i64 = 5_000_000;

/// The heads that may be pushed.
const ONE: u8 = 0;
const TWO: u8 = 1;
/// Another head with the content of the first.
const ONE_AGAIN: u8 = 2;
const REWRITTEN: u8 = 3;
const UNDESIGNED: u8 = 4;
/// Nobody pushes it but who comes to help.
const HELP: u8 = 5;
/// Its scope is gone.
const UNSCOPED: u8 = 6;
const HEADS: usize = 7;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Check {
    None,
    Red,
    Green,
    GreenAfterRed,
}

/// What there is to see.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Sight {
    head: u8,
    pushes: u8,
    checks: [Check; HEADS],
    /// Which of the menu, on which head, oldest first.
    reviews: Vec<(u8, u8)>,
    open: bool,
    merged: bool,
    deployed: bool,
}

/// A comment, and how often it was delivered.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Said {
    what: u8,
    /// Its author saw what the bot's comment shows now.
    fresh: bool,
    told: u8,
}

/// The ledger's state without what decides nothing: numbers, times, what was answered.
#[derive(Clone)]
struct Ledger {
    state: Arc<State>,
    print: Digest,
}

impl Ledger {
    fn of(mut state: State) -> Self {
        state.said.clear();
        state.recent.clear();
        // What is only told of stops, and the numbers they are told by.
        state.tries.clear();
        state.recovered = None;
        state.diary = Diary::default();
        state.escalated.clear();
        if let Some(open) = &mut state.escalation {
            (open.id, open.since) = (1, jiff::Timestamp::UNIX_EPOCH);
        }
        // What is remembered in words holds nothing up; rows of FAILs and audits do.
        if let Some(memory) = &mut state.memory {
            let latest = &mut memory.latest;
            (latest.iteration, latest.parent, latest.last) = (1, None, None);
            latest.slice.clear();
            latest.open.clear();
            latest.resolved.clear();
            latest.context.clear();
            memory.watched.clear();
            memory.written.clear();
            memory.last_issue = 0;
            match &mut memory.audit {
                Some(audit) => audit.since = 0,
                None => {
                    latest.evidence.clear();
                    memory.last_fact = 0;
                }
            }
        }
        // By which records it came to what it is matters to other changes only. What was counted decides here, too.
        state.against = Against { counted: state.against.counted, ..Against::default() };
        state.seq = 1;
        state.tip = Digest::new("0".repeat(64)).unwrap();
        let print = Digest::of(serde_json::to_vec(&state).unwrap());
        Self { state: Arc::new(state), print }
    }
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pipeline = self.state.pipeline.as_ref();
        write!(f, "{:?} {:?}", pipeline.map(|at| (at.stage, at.return_to)), self.state.merge)
    }
}

/// What a worker has decided and not written yet.
#[derive(Debug, Clone)]
struct Mind {
    on: Digest,
    after: Ledger,
    counted: [u8; 8],
    broken: u8,
}

#[derive(Debug, Clone)]
struct At {
    sight: Sight,
    ledger: Ledger,
    /// The head that the bot's comment shows.
    shown: Option<u8>,
    said: Vec<Said>,
    minds: Vec<Option<Mind>>,
    /// FAILs that counted, by the judgements on record, since the gate's last PASS or a person's unblock.
    counted: [u8; 8],
    broken: u8,
}

impl At {
    fn key(&self) -> impl Hash + PartialEq + '_ {
        let minds: Vec<_> = self
            .minds
            .iter()
            .map(|mind| mind.as_ref().map(|mind| (&mind.on, &mind.after.print, mind.counted, mind.broken)))
            .collect();
        (&self.sight, &self.ledger.print, self.shown, &self.said, minds, self.counted, self.broken)
    }

    fn stage(&self) -> Option<Stage> {
        self.ledger.state.pipeline.as_ref().map(|pipeline| pipeline.stage)
    }
}

impl PartialEq for At {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Hash for At {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.key().hash(hasher);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Move {
    Push(u8),
    Check(Check),
    Review(u8),
    Say(u8),
    Close,
    Reopen,
    Merge,
    Deploy,
    /// A whole pass: the world is read, decided on, written and shown. `Some`: a comment was delivered.
    Pass(Option<u8>),
    /// Its three parts.
    Read(u8, Option<u8>),
    Write(u8),
    Crash(u8),
}

type Menu = &'static [(&'static str, Role, &'static str)];

#[derive(Clone, Copy)]
struct Bounds {
    name: &'static str,
    policy: &'static str,
    /// What has happened before.
    before: &'static [Move],
    pushes: u8,
    heads: &'static [u8],
    says: Menu,
    comments: usize,
    /// How often a comment is delivered at most.
    tellings: u8,
    reviews: Menu,
    /// How many reviews there may be.
    reviewed: usize,
    red: bool,
    /// None: passes are whole.
    workers: usize,
    /// Whether it is closed, reopened and merged.
    lives: bool,
    /// Where it must get to, or it says nothing.
    reaches: &'static [Stage],
    turns_green: bool,
}

struct Engine {
    bounds: Bounds,
    world: World,
    heads: Vec<(Subject, CheckRun, CheckRun)>,
    comments: Vec<Vec<Happened>>,
    reviews: Vec<Review>,
    /// One state of each standing that was met.
    standings: Mutex<BTreeMap<String, At>>,
    /// What was thought before, and the ledgers in it once each: most looks are the same look from another state.
    thoughts: Mutex<HashMap<Question, Mind>>,
    ledgers: Mutex<HashMap<Digest, Ledger>>,
}

/// All that a decision may hang on: what there is to see, the ledger, the head that is shown, what was delivered, and at
/// which place it was said.
type Question = (Sight, Digest, Option<u8>, Option<(u8, u8, bool)>, [u8; 8]);

const GREEN: u8 = 1;
const COMPLETE: u8 = 2;
const RECOVERY: u8 = 4;
const THIRD_FAIL: u8 = 8;
const PERSON: u8 = 16;
const TWICE: u8 = 32;
const AGAIN: u8 = 64;
const CONTRADICTION: u8 = 128;

fn closed_door(stage: Stage) -> bool {
    matches!(stage, Stage::BlockedOnGate | Stage::ReconcileBlocked | Stage::ComplexityBrakeTriggered)
}

impl Engine {
    fn new(bounds: Bounds) -> Self {
        let mut game = Game::pipeline_with(bounds.policy);
        let mut heads = Vec::new();
        let mut keep = |game: &mut Game| {
            let run = 10 + heads.len() as u64;
            let red = game.job(TEST, CI, run, "failure");
            let green = game.job(TEST, CI, run, "success");
            heads.push((game.subject().clone(), red, green));
        };
        keep(&mut game);
        keep(game.push("two"));
        keep(game.rebase("one again", "one"));
        keep(game.push_with("rewritten", |game| {
            game.rewrites_documents("second");
        }));
        keep(game.push_with("undesigned", |game| {
            game.rewrites_documents("undesigned").without("scaffolding/design.md");
        }));
        keep(game.push_with("help", |game| {
            game.documents();
        }));
        keep(game.push_with("unscoped", |game| {
            game.rewrites_documents("unscoped").without("scaffolding/scope.md");
        }));
        let says = HELPFUL.iter().chain(bounds.says);
        let comments = says.map(|(who, role, text)| game.comment(who, standing(*role), text)).collect();
        let reviews = HELPFUL_REVIEW.iter().chain(bounds.reviews).map(|(who, role, state)| {
            game.review(who, *role, state);
            game.world.reviews.pop().unwrap()
        });
        let reviews = reviews.collect();
        let mut world = Game::pipeline_with(bounds.policy).world;
        world.workflow_runs = (10..10 + HEADS as u64).collect();
        Self {
            bounds,
            world,
            heads,
            comments,
            reviews,
            standings: Mutex::default(),
            thoughts: Mutex::default(),
            ledgers: Mutex::default(),
        }
    }

    fn content(&self, head: u8) -> &Digest {
        &self.heads[usize::from(head)].0.about.content
    }

    fn world(&self, sight: &Sight) -> World {
        let (subject, red, green) = &self.heads[usize::from(sight.head)];
        let mut world = self.world.clone();
        world.pull.head = subject.about.head.clone();
        world.pull.open = sight.open;
        world.subject = Some(subject.clone());
        world.checks = match sight.checks[usize::from(sight.head)] {
            Check::None => vec![],
            Check::Red => vec![red.clone()],
            Check::Green => vec![green.clone()],
            Check::GreenAfterRed => vec![red.clone(), green.clone()],
        };
        let review = |(at, (what, on)): (usize, &(u8, u8))| Review {
            id: 500 + at as u64,
            commit: Some(self.heads[usize::from(*on)].0.about.head.clone()),
            ..self.reviews[usize::from(*what)].clone()
        };
        world.reviews = sight.reviews.iter().enumerate().map(review).collect();
        if sight.merged {
            world.pull.merged = Some(commit("merge"));
        }
        if sight.deployed {
            world.deployments = vec![deployment_of(commit("merge"), "production", "success", "zoe")];
        }
        world
    }

    /// The comment as it reaches the engine, with the time at which it was written.
    fn facts(&self, at: &At, delivered: Option<u8>) -> Vec<Happened> {
        let Some(place) = delivered else { return Vec::new() };
        let said = &at.said[usize::from(place)];
        let mut facts = self.comments[usize::from(said.what)].clone();
        for fact in &mut facts {
            if let Happened::Command(order) = fact {
                order.comment.id = 1_000 + u64::from(place);
                let written = if said.fresh { SHOWN_AT + 10 } else { SHOWN_AT - 10 };
                order.comment.created_at = jiff::Timestamp::from_second(written).unwrap();
            }
        }
        facts
    }

    fn decide(&self, at: &At, world: &World, facts: &[Happened]) -> Option<Decision> {
        let shown = at.shown.map(|head| Shown {
            head: self.heads[usize::from(head)].0.about.head.clone(),
            content: Some(self.content(head).clone()),
            since: jiff::Timestamp::from_second(SHOWN_AT).unwrap(),
            files: None,
        });
        decide(CHANGE, Some(&at.ledger.state), world, facts, shown.as_ref()).ok()
    }

    /// Decides on what is there now, once for each question.
    fn think(&self, at: &At, delivered: Option<u8>) -> Mind {
        let said = delivered.map(|place| {
            let said = &at.said[usize::from(place)];
            (place, said.what, said.fresh)
        });
        // How often was pushed is counted for the bounds only.
        let sight = Sight { pushes: 0, ..at.sight.clone() };
        let question = (sight, at.ledger.print.clone(), at.shown, said, at.counted);
        if let Some(thought) = self.thoughts.lock().unwrap_or_else(PoisonError::into_inner).get(&question) {
            return thought.clone();
        }
        let mut mind = self.decided(at, delivered);
        let mut ledgers = self.ledgers.lock().unwrap_or_else(PoisonError::into_inner);
        mind.after = ledgers.entry(mind.after.print.clone()).or_insert(mind.after).clone();
        drop(ledgers);
        self.thoughts.lock().unwrap_or_else(PoisonError::into_inner).insert(question, mind.clone());
        mind
    }

    /// Decides on what is there now, folds it entry by entry and holds each against the rules.
    fn decided(&self, at: &At, delivered: Option<u8>) -> Mind {
        let world = self.world(&at.sight);
        let facts = self.facts(at, delivered);
        let on = at.ledger.print.clone();
        let mut mind = Mind { on, after: at.ledger.clone(), counted: at.counted, broken: 0 };
        let Some(decision) = self.decide(at, &world, &facts) else {
            return Mind { broken: CONTRADICTION, ..mind };
        };
        if delivered.is_some_and(|place| at.ledger.state.commands.contains(&(1_000 + u64::from(place), 0))) {
            // It was worked off: what is decided now is what any look would decide.
            let look = self.decide(at, &world, &[]);
            let bodies = |decision: &Decision| decision.entries.iter().map(|one| one.body.clone()).collect::<Vec<_>>();
            if look.map(|look| bodies(&look)) != Some(bodies(&decision)) {
                mind.broken |= TWICE;
            }
        }
        if decision.entries.is_empty() {
            return mind;
        }
        let mut state = (*at.ledger.state).clone();
        for entry in &decision.entries {
            let one = Decision { entries: vec![entry.clone()], ..Decision::default() };
            let Ok(Some(next)) = ahead(CHANGE, Some(&state), &one) else {
                return Mind { broken: CONTRADICTION, ..mind };
            };
            self.watch(&state, &next, entry, &mut mind);
            state = next;
        }
        let stage = state.pipeline.as_ref().map(|pipeline| pipeline.stage);
        let spent = |phase: Phase| mind.counted[phase as usize] >= if phase == Phase::Reconcile { 4 } else { 3 };
        if Phase::ALL.into_iter().any(spent) && !stage.is_some_and(closed_door) {
            mind.broken |= THIRD_FAIL;
        }
        let green = state.gates.get(&GateName::Merge).is_some_and(|judged| {
            judged.verdict == Verdict::Pass && Some(&judged.about) == state.subject.as_ref() && state.open
        });
        if green && !(self.earned(&at.sight, &state) && self.through(&at.sight, &state)) {
            mind.broken |= GREEN;
        }
        if stage == Some(Stage::PipelineComplete) && !self.shown_once(&at.sight, &state) {
            mind.broken |= COMPLETE;
        }
        mind.after = Ledger::of(state);
        let settled = At { ledger: mind.after.clone(), ..at.clone() };
        if self.decide(&settled, &world, &[]).is_none_or(|again| !again.entries.is_empty()) {
            mind.broken |= AGAIN;
        }
        mind
    }

    fn watch(&self, before: &State, after: &State, entry: &Entry, mind: &mut Mind) {
        let (Some(before), Some(after)) = (&before.pipeline, &after.pipeline) else { return };
        match &entry.body {
            Body::Judged { gate: GateName::Phase(phase), verdict: Verdict::Fail, claimed: Some(_), .. } => {
                mind.counted[*phase as usize] += 1;
            }
            Body::Judged { gate: GateName::Phase(phase), verdict: Verdict::Pass, claimed: Some(_), .. } => {
                mind.counted[*phase as usize] = 0;
            }
            Body::Step { action: Action::UnblockByUser, .. } => {
                if let Some(phase) = before.return_to.and_then(phase_of) {
                    mind.counted[phase as usize] = 0;
                }
            }
            _ => {}
        }
        if before.stage == Stage::ContextRecovering {
            let same = |phase: &Phase| {
                before.present.contains_key(phase) && before.passed.get(phase) == before.present.get(phase)
            };
            let open = Phase::ALL.into_iter().find(|phase| !same(phase)).unwrap_or(Phase::Deploy);
            if phase_of(after.stage).is_some_and(|phase| phase > open) {
                mind.broken |= RECOVERY;
            }
        }
        // Mia is the only one who may, and did not write it.
        let mia = matches!(&entry.by, By::Person { person, .. } if person.login == "mia");
        if closed_door(before.stage) && !closed_door(after.stage) && !mia {
            mind.broken |= PERSON;
        }
    }

    /// The head's check is green, and Mia stands by its content: in words of its own, nothing here asks a gate.
    fn earned(&self, sight: &Sight, state: &State) -> bool {
        let content = self.content(sight.head);
        let green = matches!(sight.checks[usize::from(sight.head)], Check::Green | Check::GreenAfterRed);
        let mias = |(what, _): &&(u8, u8)| self.reviews[usize::from(*what)].by.login == "mia";
        let by_review = sight.reviews.iter().rev().find(mias).is_some_and(|(what, on)| {
            self.reviews[usize::from(*what)].state == "APPROVED" && self.content(*on) == content
        });
        let by_comment = state.approvals.iter().any(|approval| {
            let mia = matches!(&approval.by, By::Person { person, .. } if person.login == "mia");
            mia && approval.content == *content
        });
        green && (by_review || by_comment)
    }

    /// The same of this content under any head, though Mia may have turned to other content since.
    fn shown_once(&self, sight: &Sight, state: &State) -> bool {
        let content = self.content(sight.head);
        let mias = |(what, on): &(u8, u8)| {
            let review = &self.reviews[usize::from(*what)];
            review.by.login == "mia" && review.state == "APPROVED" && self.content(*on) == content
        };
        let green = |head: &usize| matches!(sight.checks[*head], Check::Green | Check::GreenAfterRed);
        let verified = (0..HEADS).filter(green).any(|head| self.content(head as u8) == content);
        let approved = state.approvals.iter().any(|approval| approval.content == *content);
        verified && (approved || sight.reviews.iter().any(mias))
    }

    /// Every gate before the merge has passed for what is there, and nobody has called a stop.
    fn through(&self, sight: &Sight, state: &State) -> bool {
        let subject = &self.heads[usize::from(sight.head)].0;
        let passed = |phase: Phase| {
            let passed = state.pipeline.as_ref().and_then(|pipeline| pipeline.passed.get(&phase));
            passed.is_some() && passed == subject.present.get(&phase)
        };
        let closed = state.pipeline.as_ref().is_some_and(|pipeline| closed_door(pipeline.stage));
        state.stopped.is_none() && !closed && Phase::ALL.into_iter().filter(|phase| *phase <= Phase::Verify).all(passed)
    }

    fn written(&self, at: &At, mind: &Mind) -> At {
        let mut next = At { ledger: mind.after.clone(), counted: mind.counted, broken: mind.broken, ..at.clone() };
        // The bot's comment follows. What was written before saw something else.
        let about = next.ledger.state.subject.as_ref();
        let shown =
            about.and_then(|about| self.heads.iter().position(|(subject, _, _)| subject.about.head == about.head));
        let shown = shown.map(|head| head as u8);
        if next.shown != shown {
            next.shown = shown;
            next.said.iter_mut().for_each(|said| said.fresh = false);
        }
        next
    }

    fn play(&self, at: &At, one: Move) -> Option<At> {
        let mut next = at.clone();
        let head = usize::from(at.sight.head);
        match one {
            Move::Push(head) => {
                next.sight.head = head;
                next.sight.pushes += 1;
            }
            Move::Check(check) => {
                next.sight.checks[head] = match (next.sight.checks[head], check) {
                    (Check::None, check) => check,
                    (Check::Red, Check::Green) => Check::GreenAfterRed,
                    _ => return None,
                };
            }
            Move::Review(what) => next.sight.reviews.push((what, at.sight.head)),
            Move::Say(what) => next.said.push(Said { what, fresh: true, told: 0 }),
            Move::Close => next.sight.open = false,
            Move::Reopen => next.sight.open = true,
            Move::Merge => (next.sight.open, next.sight.merged) = (false, true),
            Move::Deploy => next.sight.deployed = true,
            Move::Pass(place) => {
                let mind = self.think(at, place);
                next = self.written(at, &mind);
                if let Some(place) = place {
                    next.said[usize::from(place)].told += 1;
                }
            }
            Move::Read(worker, place) => {
                next.minds[usize::from(worker)] = Some(self.think(at, place));
                if let Some(place) = place {
                    next.said[usize::from(place)].told += 1;
                }
            }
            Move::Write(worker) => {
                let mind = next.minds[usize::from(worker)].take()?;
                // Another was faster: nothing is written, and the pass begins again.
                if mind.on == at.ledger.print {
                    next = At { minds: next.minds, ..self.written(at, &mind) };
                }
            }
            Move::Crash(worker) => drop(next.minds[usize::from(worker)].take()?),
        }
        Some(next)
    }

    /// Somebody who means well and is entitled to it takes the change up: does it get to its end?
    fn helped(&self, at: &At) -> Result<(), String> {
        let mut at = At { minds: Vec::new(), ..at.clone() };
        at.sight.pushes = 0;
        at = self.play(&at, Move::Pass(None)).unwrap();
        for _ in 0..24 {
            if at.broken != 0 {
                return Err("a rule breaks on the way".to_owned());
            }
            let state = at.ledger.state.clone();
            let bypassed = state.merged.as_ref().is_some_and(|merged| !merged.bypassed.is_empty());
            if at.stage() == Some(Stage::PipelineComplete) || bypassed {
                return Ok(());
            }
            let audit = state.audit_owed();
            let word = match at.stage() {
                Some(stage) if !closed_door(stage) && audit.is_some() => {
                    if audit.is_some_and(|audit| audit.facts.is_empty()) { "/audit\n" } else { "/audit promote" }
                }
                Some(Stage::PreferencesConfigured) => "/expand",
                Some(Stage::SteppedModePaused) => "/continue",
                Some(Stage::SessionDropped) => "/recover",
                Some(Stage::ComplexityBrakeTriggered) => "/brake-resolved",
                Some(stage) if closed_door(stage) || state.stopped.is_some() => "/unblock",
                Some(stage) => phase_of(stage).map_or("/status", |phase| match phase {
                    Phase::Expand => "/expand",
                    Phase::Design => "/design",
                    Phase::Analyze => "/analyze",
                    Phase::Build => "/build",
                    Phase::Review => "/review",
                    Phase::Reconcile => "/reconcile",
                    Phase::Verify => "/verify",
                    Phase::Deploy => "/deploy",
                }),
                None => "/status",
            };
            let mut moves = Vec::new();
            if !at.sight.merged {
                if !at.sight.open {
                    moves.push(Move::Reopen);
                }
                if at.sight.head != HELP {
                    moves.extend([Move::Push(HELP), Move::Pass(None), Move::Check(Check::Green)]);
                    moves.extend([Move::Review(0), Move::Pass(None)]);
                }
                let green = state.gates.get(&GateName::Merge).is_some_and(|judged| judged.verdict == Verdict::Pass);
                if green && at.sight.head == HELP {
                    moves.extend([Move::Merge, Move::Deploy, Move::Pass(None)]);
                }
            } else {
                moves.push(Move::Deploy);
            }
            let says = HELPFUL.iter().position(|(_, _, text)| text.starts_with(word));
            if let (Some(says), false) = (says, moves.contains(&Move::Merge)) {
                moves.push(Move::Say(says as u8));
                moves.push(Move::Pass(Some(at.said.len() as u8)));
            }
            for one in moves {
                at = self.play(&at, one).unwrap_or(at);
            }
        }
        Err(format!("after all help it stands at {:?}", at.ledger))
    }
}

/// What somebody who helps says.
const HELPFUL: Menu = &[
    ("zoe", Role::Write, "/expand"),
    ("zoe", Role::Write, "/design"),
    ("zoe", Role::Write, "/analyze"),
    ("zoe", Role::Write, "/build"),
    ("zoe", Role::Write, "/review"),
    ("zoe", Role::Write, "/reconcile"),
    ("zoe", Role::Write, "/verify"),
    ("zoe", Role::Write, "/deploy"),
    ("zoe", Role::Write, "/continue"),
    ("zoe", Role::Write, "/recover"),
    ("mia", Role::Maintain, "/unblock looked at it"),
    ("mia", Role::Maintain, "/brake-resolved smaller now"),
    ("zoe", Role::Write, REPORT),
    ("zoe", Role::Write, "/audit promote F-0003"),
];
const HELPFUL_REVIEW: Menu = &[("mia", Role::Maintain, "APPROVED")];

fn unbroken<const WHAT: u8>(_: &Engine, at: &At) -> bool {
    at.broken & WHAT == 0
}

macro_rules! sometimes {
    ($name:literal, $stage:ident) => {
        (Stage::$stage, Property::sometimes($name, |_: &Engine, at: &At| at.stage() == Some(Stage::$stage)))
    };
}

impl Model for Engine {
    type State = At;
    type Action = Move;

    fn init_states(&self) -> Vec<At> {
        let sight = Sight {
            head: ONE,
            pushes: 0,
            checks: [Check::None; HEADS],
            reviews: Vec::new(),
            open: true,
            merged: false,
            deployed: false,
        };
        let begun = decide(CHANGE, None, &self.world(&sight), &[], None).unwrap();
        let state = ahead(CHANGE, None, &begun).unwrap().unwrap();
        let mut at = At {
            sight,
            ledger: Ledger::of(state),
            shown: Some(ONE),
            said: Vec::new(),
            minds: vec![None; self.bounds.workers],
            counted: [0; 8],
            broken: 0,
        };
        for one in self.bounds.before {
            at = self.play(&at, *one).unwrap();
        }
        // What was said before is over.
        at.said.iter_mut().for_each(|said| said.told = 2);
        vec![at]
    }

    fn actions(&self, at: &At, moves: &mut Vec<Move>) {
        let (bounds, sight) = (&self.bounds, &at.sight);
        if sight.open {
            if sight.pushes < bounds.pushes {
                moves.extend(bounds.heads.iter().filter(|head| **head != sight.head).map(|head| Move::Push(*head)));
            }
            match sight.checks[usize::from(sight.head)] {
                Check::None if bounds.red => moves.extend([Move::Check(Check::Red), Move::Check(Check::Green)]),
                Check::None | Check::Red => moves.push(Move::Check(Check::Green)),
                _ => {}
            }
            if sight.reviews.len() < bounds.reviewed {
                moves.extend((1..=bounds.reviews.len()).map(|what| Move::Review(what as u8)));
            }
            if bounds.lives {
                moves.extend([Move::Close, Move::Merge]);
            }
        } else if !sight.merged {
            moves.push(Move::Reopen);
        } else if !sight.deployed {
            moves.push(Move::Deploy);
        }
        let said_before = bounds.before.iter().filter(|one| matches!(one, Move::Say(_))).count();
        if at.said.len() < bounds.comments + said_before {
            moves.extend((0..bounds.says.len()).map(|what| Move::Say((HELPFUL.len() + what) as u8)));
        }
        let places =
            (0..at.said.len()).filter(|place| at.said[*place].told < bounds.tellings).map(|place| Some(place as u8));
        for place in places.chain([None]) {
            if bounds.workers == 0 {
                moves.push(Move::Pass(place));
            }
            for (worker, mind) in at.minds.iter().enumerate() {
                // The workers are alike: the second begins when the first is busy.
                let first_free = at.minds.iter().position(Option::is_none) == Some(worker);
                if mind.is_none() && first_free {
                    moves.push(Move::Read(worker as u8, place));
                }
            }
        }
        for (worker, mind) in at.minds.iter().enumerate() {
            if mind.is_some() {
                moves.extend([Move::Write(worker as u8), Move::Crash(worker as u8)]);
            }
        }
    }

    fn next_state(&self, at: &At, one: Move) -> Option<At> {
        if at.broken != 0 {
            return None;
        }
        let next = self.play(at, one)?;
        let state = &next.ledger.state;
        let standing = format!(
            "{:?} {} {} {} {}",
            state.pipeline.as_ref().map(|at| (at.stage, at.return_to, at.mode, &at.attempts)),
            state.stopped.is_some(),
            next.sight.open,
            next.sight.merged,
            next.sight.head,
        );
        let mut standings = self.standings.lock().unwrap_or_else(PoisonError::into_inner);
        standings.entry(standing).or_insert_with(|| next.clone());
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut all: Vec<Property<Self>> = vec![
            Property::always("no merge gate is green without review and verify of what is there", unbroken::<GREEN>),
            Property::always("nothing is complete without review and verify of what is there", unbroken::<COMPLETE>),
            Property::always("recovery lands no later than the earliest gate that does not hold", unbroken::<RECOVERY>),
            Property::always("the third FAIL of a gate blocks", unbroken::<THIRD_FAIL>),
            Property::always("nothing but an entitled person leaves a block or the brake", unbroken::<PERSON>),
            Property::always("what is told twice counts once", unbroken::<TWICE>),
            Property::always("a second look decides nothing", unbroken::<AGAIN>),
            Property::always("the engine never contradicts itself", unbroken::<CONTRADICTION>),
        ];
        let stands: [(Stage, Property<Self>); 11] = [
            sometimes!("it is built", Building),
            sometimes!("it is designed again", Designing),
            sometimes!("its scope is made again", Expanding),
            sometimes!("it is reviewed", Reviewing),
            sometimes!("it is verified", VerifyGatePassed),
            sometimes!("it is completed", PipelineComplete),
            sometimes!("it is blocked", BlockedOnGate),
            sometimes!("it is braked", ComplexityBrakeTriggered),
            sometimes!("it is dropped", SessionDropped),
            sometimes!("it pauses", SteppedModePaused),
            sometimes!("it fixes what the review found", ReviewFixing),
        ];
        all.extend(stands.into_iter().filter(|(stage, _)| self.bounds.reaches.contains(stage)).map(|(_, one)| one));
        if self.bounds.turns_green {
            let green = |_: &Engine, at: &At| at.ledger.state.merge == crate::flow::merge::Stage::Mergeable;
            all.push(Property::sometimes("the merge gate turns green", green));
        }
        all
    }
}

/// Explores, and fails with everything that was found.
fn explore(bounds: Bounds) {
    let checker = Engine::new(bounds).checker().spawn_bfs().join();
    let mut found = holds(bounds.name, &checker);
    let engine = checker.model();
    let standings = engine.standings.lock().unwrap_or_else(PoisonError::into_inner).clone();
    for (standing, at) in standings.iter().filter(|(_, at)| at.broken == 0) {
        if let Err(why) = engine.helped(at) {
            found.push(format!("FAILS `every state has a way on` ({}): {standing}: {why}", bounds.name));
            break;
        }
    }
    if found.is_empty() {
        found.extend(documented(bounds.name, &checker));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// `/expand`, said and heard.
const EXPAND: [Move; 2] = [Move::Say(0), Move::Pass(Some(0))];

const CALM: Bounds = Bounds {
    name: "",
    policy: "",
    before: &EXPAND,
    pushes: 0,
    heads: &[ONE, TWO],
    says: &[],
    comments: 0,
    tellings: 1,
    reviews: &[],
    reviewed: 0,
    red: false,
    workers: 0,
    lives: false,
    reaches: &[],
    turns_green: false,
};

#[test]
fn engine_crashes_and_repeats() {
    explore(Bounds {
        name: "engine: crashes and repeats",
        before: &[Move::Say(0), Move::Pass(Some(0)), Move::Check(Check::Green), Move::Pass(None)],
        pushes: 1,
        says: &[("mia", Role::Maintain, "/approve")],
        comments: 1,
        tellings: 2,
        workers: 2,
        reaches: &[Stage::Building, Stage::Reviewing, Stage::VerifyGatePassed],
        turns_green: true,
        ..CALM
    });
}

#[test]
fn engine_evidence() {
    explore(Bounds {
        name: "engine: evidence",
        before: &[Move::Say(0), Move::Pass(Some(0)), Move::Check(Check::Green), Move::Pass(None)],
        pushes: 2,
        heads: &[ONE, TWO],
        reviews: &[
            ("mia", Role::Maintain, "APPROVED"),
            ("mia", Role::Maintain, "CHANGES_REQUESTED"),
            ("ada", Role::Admin, "APPROVED"),
        ],
        reviewed: 2,
        red: true,
        reaches: &[Stage::Building, Stage::Reviewing, Stage::ReviewFixing, Stage::VerifyGatePassed],
        turns_green: true,
        ..CALM
    });
}

#[test]
fn engine_documents() {
    explore(Bounds {
        name: "engine: documents",
        pushes: 2,
        heads: &[ONE, UNDESIGNED, UNSCOPED],
        says: &[("ada", Role::Write, "/design")],
        comments: 1,
        reviews: &[("mia", Role::Maintain, "APPROVED")],
        reviewed: 1,
        reaches: &[Stage::Expanding, Stage::Designing, Stage::Reviewing, Stage::VerifyGatePassed],
        turns_green: true,
        ..CALM
    });
}

#[test]
fn engine_stops() {
    explore(Bounds {
        name: "engine: stops and recovery",
        before: &[Move::Say(0), Move::Pass(Some(0)), Move::Check(Check::Green), Move::Pass(None)],
        pushes: 1,
        says: &[
            ("bob", Role::Write, "/stop unsafe"),
            ("bob", Role::Write, "/stop scope grew"),
            ("ada", Role::Admin, "/unblock fine"),
            ("mia", Role::Maintain, "/unblock fine"),
            ("mia", Role::Maintain, "/brake-resolved fine"),
            ("bob", Role::Write, "/drop"),
            ("bob", Role::Write, "/recover"),
        ],
        comments: 2,
        reaches: &[Stage::BlockedOnGate, Stage::ComplexityBrakeTriggered, Stage::SessionDropped, Stage::Building],
        ..CALM
    });
}

#[test]
fn engine_fails() {
    explore(Bounds {
        name: "engine: three FAILs",
        before: &[
            Move::Say(0),
            Move::Pass(Some(0)),
            Move::Check(Check::Green),
            Move::Pass(None),
            Move::Push(TWO),
            Move::Pass(None),
            Move::Check(Check::Red),
            Move::Pass(None),
            Move::Say(3),
            Move::Pass(Some(1)),
        ],
        says: &[("ada", Role::Write, "/build"), ("bob", Role::Write, "/unblock fine")],
        comments: 3,
        tellings: 2,
        reaches: &[Stage::BlockedOnGate],
        ..CALM
    });
}

#[test]
fn engine_pauses() {
    explore(Bounds {
        name: "engine: pauses",
        policy: "mode: stepped\n",
        before: &[
            Move::Say(0),
            Move::Pass(Some(0)),
            Move::Check(Check::Green),
            Move::Pass(None),
            Move::Say(0),
            Move::Pass(Some(1)),
        ],
        pushes: 1,
        heads: &[ONE, TWO, REWRITTEN],
        says: &[("ada", Role::Write, "/continue"), ("tom", Role::Triage, "/continue"), ("ada", Role::Write, "/design")],
        comments: 2,
        reaches: &[Stage::SteppedModePaused, Stage::Designing],
        ..CALM
    });
}

#[test]
fn engine_lives() {
    explore(Bounds {
        name: "engine: closing and merging",
        before: &[
            Move::Say(0),
            Move::Pass(Some(0)),
            Move::Check(Check::Green),
            Move::Pass(None),
            Move::Review(0),
            Move::Pass(None),
        ],
        pushes: 2,
        heads: &[ONE, TWO, ONE_AGAIN],
        reviews: &[("mia", Role::Maintain, "APPROVED")],
        reviewed: 2,
        lives: true,
        reaches: &[Stage::VerifyGatePassed, Stage::PipelineComplete, Stage::Building],
        turns_green: true,
        ..CALM
    });
}
