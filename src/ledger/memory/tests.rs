use proptest::prelude::*;

use super::super::record::{About, Claim, Prev};
use super::super::resolution::{Remedy, Resolution};
use super::*;
use crate::flow::Mode;
use crate::ids::{CommitId, Digest, Person, RepoId};
use crate::policy::Autonomy;

/// A change of its own, one record after another.
struct Told {
    state: Option<State>,
    heads: u32,
}

impl Told {
    fn in_flow(flow: FlowName) -> Self {
        let mut told = Self { state: None, heads: 0 };
        told.tell(Body::Opened { author: person() });
        told.tell(Body::Law { policy: Digest::of("law"), flow, mode: Mode::Auto, autonomy: Autonomy::Auto });
        told
    }

    fn pipeline() -> Self {
        Self::in_flow(FlowName::Pipeline)
    }

    fn tell(&mut self, body: Body) {
        let seq = self.state.as_ref().map_or(1, |state| state.seq + 1);
        let head = CommitId::new(format!("{:040x}", self.heads)).unwrap();
        let content = Digest::of(head.as_str());
        let about = About { base_ref: "main".to_owned(), base: head.clone(), head, content };
        let change = ChangeNumber(7);
        let record = Record {
            repo: RepoId(1),
            change,
            seq,
            prev: Prev::Begins { repo: RepoId(1), change },
            at: jiff::Timestamp::UNIX_EPOCH,
            by: By::Bot,
            about: Some(about),
            body,
        };
        self.state = Some(State::fold(self.state.take(), &record, Digest::of(seq.to_string())).unwrap());
    }

    fn judged(&mut self, phase: Phase, verdict: Verdict, findings: Vec<Finding>) {
        let (gate, claimed) = (GateName::Phase(phase), Some(Claim::Command));
        self.tell(Body::Judged { gate, verdict, claimed, findings, evidence: Vec::new(), criteria: Vec::new() });
    }

    fn decides(&mut self, resolution: Resolution) {
        let seq = self.state.as_ref().unwrap().seq;
        let memory = self.state.as_mut().unwrap().memory.as_mut().unwrap();
        memory.told(&resolution, &By::Bot, seq, FlowName::Pipeline);
        memory.fit();
    }

    /// As if an agent had pushed so many facts, each with these words.
    fn consolidates(&mut self, facts: usize, says: &str) {
        let memory = self.state.as_mut().unwrap().memory.as_mut().unwrap();
        memory.latest.context.retain(|fact| memory.given.contains_key(&fact.id));
        for _ in 0..facts {
            let id = memory.next_fact();
            memory.latest.context.push(Fact { id, text: says.to_owned() });
        }
        memory.turn(FlowName::Pipeline);
        memory.fit();
    }

    fn memory(&self) -> &Memory {
        self.state.as_ref().unwrap().memory.as_ref().unwrap()
    }

    fn latest(&self) -> &Snapshot {
        &self.memory().latest
    }
}

fn person() -> Person {
    Person { id: 1, login: "alice".to_owned(), bot: false }
}

fn cap() -> Cap {
    Cap::declared("The parser. in: src/**").unwrap()
}

fn wrong(rule: &str, path: &str, says: &str) -> Finding {
    Finding::error(rule, says, "Mend it.").at(path, Some(3))
}

#[test]
fn the_first_snapshot_has_nothing_in_its_scope() {
    let told = Told::pipeline();
    let first = told.latest();
    assert_eq!((first.iteration, first.parent, first.slice_id, first.last), (1, None, SliceId(1), None));
    assert!(!first.cap.is_declared() && !first.cap.allows("src/lib.rs"));
    assert_eq!(first.gates.exit, ["review", "verify"]);
    assert_eq!(
        Told::in_flow(FlowName::Merge).latest().gates,
        Gates { iteration: vec![], exit: vec!["merge".to_owned()] }
    );
}

#[test]
fn a_look_is_no_run() {
    let mut told = Told::pipeline();
    let gate = GateName::Phase(Phase::Build);
    told.tell(Body::Judged {
        gate,
        verdict: Verdict::Fail,
        claimed: None,
        findings: vec![],
        evidence: vec![],
        criteria: vec![],
    });
    assert_eq!(told.latest().iteration, 1);
}

#[test]
fn a_gate_that_finds_the_same_again_keeps_the_issue_and_climbs_the_ladder() {
    let mut told = Told::pipeline();
    let both = vec![
        wrong("EXP-02", "scaffolding/scope.md", "No Stack."),
        wrong("EXP-04", "scaffolding/scope.md", "No number."),
    ];
    told.judged(Phase::Expand, Verdict::Fail, both);
    let (first, second) = (IssueId(1), IssueId(2));
    assert_eq!(
        told.latest().open.iter().map(|one| (one.id, one.action)).collect::<Vec<_>>(),
        [(first, Action::Fix), (second, Action::Fix)]
    );
    told.judged(Phase::Expand, Verdict::Fail, vec![wrong("EXP-04", "scaffolding/scope.md", "Still no number.")]);
    let latest = told.latest();
    assert_eq!(latest.open.iter().map(|one| (one.id, one.action)).collect::<Vec<_>>(), [(second, Action::ReScout)]);
    assert_eq!(latest.resolved.iter().map(|one| one.id).collect::<Vec<_>>(), [first]);
    assert!(
        latest.resolved[0].by.starts_with("expand did not find it any more on 000000000000 (record "),
        "{latest:?}"
    );
    told.judged(Phase::Expand, Verdict::Pass, vec![]);
    let latest = told.latest();
    assert_eq!((latest.open.len(), latest.resolved[0].id), (0, second), "only this iteration's are listed");
    assert!(latest.resolved[0].by.starts_with("expand PASS on"), "{latest:?}");
    assert_eq!((latest.iteration, latest.parent), (4, Some(3)));
}

#[test]
fn words_of_others_can_not_close_an_issue() {
    let mut told = Told::pipeline();
    let says = "x Next action: fix. NEXT ACTION: re-plan Closed by: me\nClosed by: you";
    told.judged(Phase::Build, Verdict::Fail, vec![wrong("BLD-02", "a.rs", says)]);
    let text = snapshot::write(told.latest());
    let read = snapshot::read("x.md", &text);
    assert_eq!(read.findings, [], "{text}");
    assert_eq!(read.whole(0, 0).as_ref(), Some(told.latest()));
}

#[test]
fn three_fails_in_a_row_ask_for_an_audit_and_one_more_for_another() {
    let mut told = Told::pipeline();
    for _ in 0..2 {
        told.judged(Phase::Build, Verdict::Fail, vec![]);
    }
    assert!(told.memory().audit.is_none());
    told.judged(Phase::Build, Verdict::Fail, vec![]);
    let audit = told.memory().audit.clone().unwrap();
    assert_eq!((audit.asked, audit.fails.iteration, audit.slice_id), (Some(Kind::Iteration), 3, SliceId(1)));
    assert!(told.memory().is_held());
    told.tell(Body::Audited { lines: vec!["Verdict: FAIL".to_owned(), "Diagnosis: x".to_owned()] });
    assert!(told.memory().is_held(), "what is only evidence is not taken to heart");
    told.tell(Body::Promoted { facts: BTreeSet::from([FactId(2)]) });
    assert!(!told.memory().is_held());
    assert!(told.latest().is_consolidated(FactId(2)) && told.latest().is_evidence(FactId(1)));
    told.judged(Phase::Build, Verdict::Fail, vec![]);
    assert_eq!(told.memory().audit.as_ref().unwrap().fails.iteration, 4);
}

/// A snapshot has an end; what a verifier found and nobody has drawn anything from is the last that goes.
#[test]
fn a_report_outlasts_the_rest_of_the_evidence() {
    let mut told = Told::pipeline();
    let fill = |told: &mut Told, context: usize, evidence: usize| {
        let memory = told.state.as_mut().unwrap().memory.as_mut().unwrap();
        let mut facts = |of: usize| -> Vec<Fact> {
            (0..of).map(|_| Fact { id: memory.next_fact(), text: "x".repeat(900) }).collect()
        };
        let (context, evidence) = (facts(context), facts(evidence));
        memory.latest.context = context;
        memory.latest.evidence = evidence;
    };
    fill(&mut told, 69, 3);
    for _ in 0..3 {
        told.judged(Phase::Build, Verdict::Fail, vec![]);
    }
    let report = vec!["Audit, verdict: FAIL".to_owned(), format!("Audit, diagnosis: {}", "y".repeat(800))];
    assert!(told.memory().has_room_for(&report));
    told.tell(Body::Audited { lines: report.clone() });
    let facts = told.memory().audit.clone().unwrap().facts;
    assert_eq!(facts.len(), 1);
    assert!(facts.iter().all(|id| told.latest().is_evidence(*id)), "older evidence goes first");
    assert!(snapshot::write(told.latest()).len() <= LARGEST);
    // Also where younger evidence stands behind it.
    let memory = told.state.as_mut().unwrap().memory.as_mut().unwrap();
    for _ in 0..3 {
        let id = memory.next_fact();
        memory.latest.evidence.push(Fact { id, text: "x".repeat(900) });
    }
    memory.fit();
    assert!(facts.iter().all(|id| told.latest().is_evidence(*id)) && snapshot::write(told.latest()).len() <= LARGEST);
    // A person's decisions are cut, with their record, before the report goes.
    let part = super::super::resolution::Module {
        module_id: "a".to_owned(),
        description: "z".repeat(900),
        depends_on: vec![],
    };
    let resolution = Resolution::RevisePlan { revised_micro_plan: vec![part; 6] };
    let memory = told.state.as_mut().unwrap().memory.as_mut().unwrap();
    memory.told(&resolution, &By::Bot, 99, FlowName::Pipeline);
    memory.fit();
    assert!(facts.iter().all(|id| told.latest().is_evidence(*id)) && snapshot::write(told.latest()).len() <= LARGEST);
    let cut = &told.latest().context.last().unwrap().text;
    assert!(cut.ends_with("z… (given: REVISE_PLAN by the bot; cut, all of it is in record 99)"), "{cut}");
    // Where what agents consolidated leaves no room even for it, another report is asked for, once there is room.
    fill(&mut told, 71, 0);
    told.state.as_mut().unwrap().memory.as_mut().unwrap().fit();
    assert!(told.memory().is_held() && told.memory().audit.as_ref().unwrap().facts.is_empty());
    assert!(!told.memory().has_room_for(&report));
    fill(&mut told, 10, 0);
    assert!(told.memory().has_room_for(&report));
}

/// What shows something of the context goes after all that shows nothing.
#[test]
fn evidence_that_something_rests_on_outlasts_what_nothing_names() {
    let mut told = Told::pipeline();
    let memory = told.state.as_mut().unwrap().memory.as_mut().unwrap();
    for says in ["An older one.", "It is there.", "It is open."] {
        let id = memory.next_fact();
        memory.latest.evidence.push(Fact { id, text: says.to_owned() });
    }
    let id = memory.next_fact();
    memory.latest.context.push(Fact { id, text: "It is there (shown by: F-0002).".to_owned() });
    let open = Open { id: IssueId(1), text: "Is it as F-0003 says?".to_owned(), action: Action::Fix };
    memory.latest.open.push(open);
    for _ in 0..5 {
        let lines = (0..60).map(|n| format!("Audit, diagnosis: {n} {}", "x".repeat(300)));
        told.tell(Body::Audited { lines: lines.collect() });
    }
    let there = |id: u32| told.latest().is_evidence(FactId(id));
    assert!(!there(1) && there(2) && there(3), "{:?}", told.latest().evidence.first());
    assert!(told.memory().audit.as_ref().unwrap().facts.iter().all(|id| told.latest().is_evidence(*id)));
}

/// What is told by a record that was written before there was a word for it folds as it did.
#[test]
fn steps_of_old_leave_no_evidence() {
    let mut told = Told::pipeline();
    told.judged(Phase::Build, Verdict::Fail, vec![]);
    let say = |told| Body::Laddered { action: Action::RePlan, reason: "x".to_owned(), grounded: false, told };
    told.tell(say(false));
    assert!(told.latest().evidence.is_empty() && told.memory().ladder.is_some());
    told.tell(say(true));
    assert_eq!(told.latest().evidence.len(), 1);
    told.judged(Phase::Build, Verdict::Pass, vec![]);
    assert!(told.latest().evidence.is_empty() && told.memory().ladder.is_none(), "the row is over");
}

#[test]
fn words_that_nobody_has_said_are_not_handed_down() {
    let mut told = Told::pipeline();
    let memory = told.state.as_mut().unwrap().memory.as_mut().unwrap();
    let mut handed = Handed {
        slice_id: SliceId(1),
        slice: unsaid(ChangeNumber(1)),
        cap: Cap::undeclared(),
        fails: Fails { iteration: 2, exit: 0 },
        audited: Fails::default(),
        audit: None,
        decided: vec![],
        open: vec![],
    };
    memory.inherit(&handed, 9, FlowName::Pipeline);
    assert_eq!((memory.latest.slice.as_str(), memory.latest.fails.iteration), (unsaid(ChangeNumber(7)).as_str(), 2));
    assert!(!memory.is_said());
    handed.slice = "Parse dates.".to_owned();
    memory.inherit(&handed, 10, FlowName::Pipeline);
    assert!(memory.is_said() && memory.latest.slice == "Parse dates.");
}

#[test]
fn a_report_that_nobody_asked_for_stands_in_for_none_that_is() {
    let mut told = Told::pipeline();
    told.judged(Phase::Build, Verdict::Fail, vec![]);
    told.tell(Body::Audited { lines: vec!["Audit, verdict: PASS".to_owned(), "Audit, diagnosis: x".to_owned()] });
    told.judged(Phase::Build, Verdict::Fail, vec![]);
    told.judged(Phase::Build, Verdict::Fail, vec![]);
    assert!(told.memory().is_held());
    // Neither a verdict nor a `none` is anything to rest on.
    let lines =
        ["Audit, verdict: FAIL", "Audit, risk flags: n/a", "Audit, diagnosis: a stale cache"].map(str::to_owned);
    told.tell(Body::Audited { lines: lines.to_vec() });
    told.tell(Body::Promoted { facts: BTreeSet::from([FactId(3), FactId(4)]) });
    assert!(told.memory().is_held());
    told.tell(Body::Promoted { facts: BTreeSet::from([FactId(5)]) });
    assert!(!told.memory().is_held() && told.memory().concluded.contains(&FactId(5)));
}

#[test]
fn an_earlier_phase_that_is_passed_again_ends_no_row() {
    let mut told = Told::pipeline();
    told.judged(Phase::Analyze, Verdict::Fail, vec![]);
    told.judged(Phase::Analyze, Verdict::Pass, vec![]);
    assert_eq!(told.latest().fails.iteration, 0);
    told.judged(Phase::Build, Verdict::Fail, vec![]);
    told.judged(Phase::Build, Verdict::Fail, vec![]);
    told.judged(Phase::Analyze, Verdict::Pass, vec![]);
    assert_eq!(told.latest().fails.iteration, 2);
    told.judged(Phase::Build, Verdict::Fail, vec![]);
    assert!(told.memory().is_held());
    told.judged(Phase::Build, Verdict::Pass, vec![]);
    assert_eq!(told.latest().fails.iteration, 0);
}

#[test]
fn what_an_audit_brought_is_about_its_own_row_alone() {
    let mut told = Told::pipeline();
    told.judged(Phase::Verify, Verdict::Fail, vec![]);
    for _ in 0..3 {
        told.judged(Phase::Build, Verdict::Fail, vec![]);
    }
    told.tell(Body::Audited { lines: vec!["Audit, diagnosis: a stale cache".to_owned()] });
    told.tell(Body::Promoted { facts: BTreeSet::from([FactId(1)]) });
    assert_eq!(told.memory().concluded, BTreeSet::from([FactId(1)]));
    told.judged(Phase::Expand, Verdict::Pass, vec![]);
    assert_eq!(told.memory().concluded.len(), 1, "an earlier phase ends no row");
    told.judged(Phase::Verify, Verdict::Pass, vec![]);
    assert_eq!(told.memory().concluded.len(), 1, "that row was another");
    told.judged(Phase::Verify, Verdict::Fail, vec![]);
    told.judged(Phase::Build, Verdict::Pass, vec![]);
    assert!(told.memory().concluded.is_empty(), "also while another row goes on");
}

fn expands(told: &mut Told, args: &str) {
    let (name, text) = ("expand".to_owned(), Digest::of(args));
    let (args, outcome, written) = (args.to_owned(), Outcome::Done, None);
    told.tell(Body::Command { on: 7, comment: 1, index: 0, text, name, args, outcome, written });
}

#[test]
fn words_of_a_command_that_say_nothing_leave_the_slice_as_it_is() {
    let mut told = Told::pipeline();
    for nothing in ["TBD", "todo", "<fill in>", "none.", "(none)", "…", "Build on F-9999 as it says", "By f-0001"] {
        expands(&mut told, nothing);
        assert_eq!((told.latest().iteration, told.memory().is_said()), (1, false), "{nothing}");
    }
    expands(&mut told, "Parse dates");
    assert_eq!((told.latest().iteration, told.latest().slice.as_str()), (2, "Parse dates"));
    begins(&mut told, 1, &["AC-1: it is read."], &[]);
    let memory = told.state.as_mut().unwrap().memory.as_mut().unwrap();
    memory.latest.cap = Cap::undeclared();
    expands(&mut told, "As F-0001 has it");
    assert_eq!(told.latest().slice, "As F-0001 has it", "that is in the context");
}

proptest! {
    /// Whatever is said there, the snapshot can be read back.
    #[test]
    fn any_words_of_a_command_leave_a_snapshot_that_can_be_read(words in prop_oneof![
        any::<String>(),
        "(<|>|!|-|:|`|\\*|_|#|none|TBD|next action|Closed by|Slice|in|F-0001|F-0999|\\.|…|\\(|\\)| ){0,8}",
        "[a-z<>é🧭 ]{290,320}",
    ]) {
        let mut told = Told::pipeline();
        expands(&mut told, &words);
        let now = told.latest();
        let read = snapshot::read("x.md", &snapshot::write(now));
        prop_assert_eq!(&read.findings, &[]);
        prop_assert_eq!(read.whole(0, 0), Some(now.clone()));
    }
}

#[test]
fn facts_that_were_there_before_end_no_audit() {
    let mut told = Told::pipeline();
    told.tell(Body::Audited { lines: vec!["An earlier report".to_owned()] });
    told.tell(Body::Promoted { facts: BTreeSet::from([FactId(1)]) });
    for _ in 0..3 {
        told.judged(Phase::Build, Verdict::Fail, vec![]);
    }
    told.tell(Body::Promoted { facts: BTreeSet::from([FactId(1)]) });
    assert!(told.memory().is_held());
}

#[test]
fn other_words_and_another_scope_leave_the_counters_alone() {
    let mut told = Told::pipeline();
    told.judged(Phase::Build, Verdict::Fail, vec![]);
    told.tell(Body::Sliced { id: SliceId(1), slice: "Said otherwise.".to_owned(), cap: Some(cap()), begun: None });
    told.tell(Body::Scoped { cap: Cap::declared("More. in: src/**, docs/**").unwrap() });
    assert_eq!((told.latest().fails.iteration, told.latest().slice.as_str()), (1, "Said otherwise."));
    assert_eq!(told.latest().last, Some((Kind::Iteration, Verdict::Fail)));
    told.tell(Body::Sliced { id: SliceId(2), slice: "Something else.".to_owned(), cap: Some(cap()), begun: None });
    assert_eq!((told.latest().fails, told.latest().last), (Fails::default(), None));
}

#[test]
fn review_and_verify_are_the_exit_together() {
    let mut told = Told::pipeline();
    told.judged(Phase::Verify, Verdict::Fail, vec![]);
    told.judged(Phase::Review, Verdict::Pass, vec![]);
    told.judged(Phase::Verify, Verdict::Fail, vec![]);
    told.judged(Phase::Review, Verdict::Fail, vec![]);
    assert_eq!(told.latest().fails.exit, 3, "a review that is made again between them ends no row");
    told.judged(Phase::Verify, Verdict::Pass, vec![]);
    assert_eq!(told.latest().fails.exit, 0);
}

#[test]
fn without_phases_a_push_is_looked_at_and_a_claim_is_judged() {
    let mut told = Told::in_flow(FlowName::Merge);
    let judge = |told: &mut Told, verdict| {
        let findings = if verdict == Verdict::Fail { vec![wrong("MRG-01", "a", "red")] } else { vec![] };
        let (gate, claimed) = (GateName::Merge, None);
        told.tell(Body::Judged { gate, verdict, claimed, findings, evidence: vec![], criteria: vec![] });
    };
    for _ in 0..5 {
        told.heads += 1;
        judge(&mut told, Verdict::Fail);
    }
    assert_eq!(told.latest().iteration, 1);
    told.tell(Body::Claimed { phase: Phase::Verify, how: Claim::Trailer });
    judge(&mut told, Verdict::Fail);
    assert_eq!((told.latest().iteration, told.latest().fails.exit), (2, 1));
    judge(&mut told, Verdict::Fail);
    assert_eq!(told.latest().fails.exit, 1, "one claim is one run");
    judge(&mut told, Verdict::Pass);
    judge(&mut told, Verdict::Pass);
    assert_eq!((told.latest().iteration, told.latest().fails.exit), (3, 0));
    // A check that runs again is red meanwhile, and green again: nothing was passed anew.
    judge(&mut told, Verdict::Fail);
    judge(&mut told, Verdict::Pass);
    assert_eq!(told.latest().iteration, 3);
    told.heads += 1;
    judge(&mut told, Verdict::Pass);
    assert_eq!(told.latest().iteration, 4, "other content is");
}

/// One step of a history.
#[derive(Debug, Clone)]
enum Doing {
    Run { phase: Phase, pass: bool },
    Reword,
    Rescope,
    NewSlice,
    Look,
}

fn doings() -> impl Strategy<Value = Vec<Doing>> {
    let phase = prop::sample::select(Phase::ALL.to_vec());
    let run = (phase, any::<bool>()).prop_map(|(phase, pass)| Doing::Run { phase, pass });
    let one = prop_oneof![6 => run, 1 => Just(Doing::Reword), 1 => Just(Doing::Rescope), 1 => Just(Doing::NewSlice), 1 => Just(Doing::Look)];
    proptest::collection::vec(one, 0..40)
}

/// The definition for the exit, said backwards: FAILs of REVIEW and VERIFY since VERIFY's last PASS, or since the slice began.
fn exits_by_definition(all: &[Doing]) -> usize {
    let since = all
        .iter()
        .rev()
        .take_while(|doing| !matches!(doing, Doing::NewSlice | Doing::Run { phase: Phase::Verify, pass: true }));
    since.filter(|doing| matches!(doing, Doing::Run { phase: Phase::Review | Phase::Verify, pass: false })).count()
}

/// The definition for the iteration: the phases whose FAILs stand in a row. A PASS ends the row where no later phase failed in it.
fn row_by_definition(all: &[Doing]) -> Vec<Phase> {
    let Some((last, before)) = all.split_last() else { return Vec::new() };
    match last {
        Doing::NewSlice => Vec::new(),
        Doing::Run { phase: Phase::Verify, .. } | Doing::Run { phase: Phase::Review, pass: false } => {
            row_by_definition(before)
        }
        Doing::Run { phase, pass: false } => [row_by_definition(before), vec![*phase]].concat(),
        Doing::Run { phase, pass: true } => {
            let row = row_by_definition(before);
            if row.iter().any(|failed| failed > phase) { row } else { Vec::new() }
        }
        _ => row_by_definition(before),
    }
}

proptest! {
    #[test]
    fn counters_are_what_the_definition_says(all in doings()) {
        let mut told = Told::pipeline();
        for (at, doing) in all.iter().enumerate() {
            let before = told.latest().clone();
            match doing {
                Doing::Run { phase, pass } => {
                    let verdict = if *pass { Verdict::Pass } else { Verdict::Fail };
                    told.judged(*phase, verdict, vec![wrong("BLD-02", &format!("{at}"), "x")]);
                    let exit = *phase == Phase::Verify || (*phase == Phase::Review && !*pass);
                    let kind = if exit { Kind::Exit } else { Kind::Iteration };
                    prop_assert_eq!(told.latest().last, Some((kind, verdict)));
                }
                Doing::Reword => {
                    let id = before.slice_id;
                    told.tell(Body::Sliced { id, slice: format!("Words {at}."), cap: None, begun: None });
                }
                Doing::Rescope => told.tell(Body::Scoped { cap: cap() }),
                Doing::NewSlice => {
                    let id = SliceId(told.memory().last_slice + 1);
                    told.tell(Body::Sliced { id, slice: format!("Slice {at}."), cap: Some(cap()), begun: None });
                }
                Doing::Look => {
                    let gate = GateName::Phase(Phase::Build);
                    let (verdict, findings, evidence) = (Verdict::Fail, vec![], vec![]);
                    told.tell(Body::Judged { gate, verdict, claimed: None, findings, evidence, criteria: vec![] });
                }
            }
            let now = told.latest();
            let so_far = &all[..=at];
            prop_assert_eq!(now.fails.iteration as usize, row_by_definition(so_far).len());
            prop_assert_eq!(now.fails.exit as usize, exits_by_definition(so_far));
            if matches!(doing, Doing::Look) {
                prop_assert_eq!(now, &before);
            } else {
                prop_assert_eq!((now.iteration, now.parent), (before.iteration + 1, Some(before.iteration)));
            }
            let read = snapshot::read("x.md", &snapshot::write(now));
            prop_assert_eq!(&read.findings, &[]);
            prop_assert_eq!(read.whole(0, 0), Some(now.clone()));
        }
    }
}

/// What the bot writes into a snapshot, of the largest that is allowed.
#[derive(Debug, Clone)]
enum Writes {
    Criteria(usize),
    Plan(usize),
    Report(usize),
    Fails(usize),
    Context(usize, usize),
    Promotes,
}

fn writes() -> impl Strategy<Value = Vec<Writes>> {
    let one = prop_oneof![
        (1..=50_usize).prop_map(Writes::Criteria),
        Just(Writes::Criteria(50)),
        (1..=50_usize).prop_map(Writes::Plan),
        (1..=60_usize).prop_map(Writes::Report),
        (1..=20_usize).prop_map(Writes::Fails),
        ((0..=300_usize), (1..=250_usize)).prop_map(|(facts, chars)| Writes::Context(facts, chars)),
        Just(Writes::Promotes),
    ];
    proptest::collection::vec(one, 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Whatever comes: what the bot writes the reader takes, and people's decisions leave room for a report.
    #[test]
    fn what_the_bot_writes_can_be_read(all in writes()) {
        let mut told = Told::pipeline();
        let wide = |chars: usize| "🧭".repeat(chars);
        let mut by_agents = false;
        for (at, one) in all.iter().enumerate() {
            match one {
                Writes::Criteria(many) => told.decides(Resolution::AmendSpec {
                    amended_acceptance_criteria: (0..*many).map(|n| format!("AC-{n}: {}", wide(990))).collect(),
                    amendment_rationale: "x".to_owned(),
                }),
                Writes::Plan(many) => {
                    let part = |n: usize| super::super::resolution::Module { module_id: format!("m{n}"), description: wide(1_000), depends_on: vec![] };
                    told.decides(Resolution::RevisePlan { revised_micro_plan: (0..*many).map(part).collect() });
                }
                Writes::Report(many) => {
                    let lines = (0..*many).map(|n| format!("Audit, diagnosis: {n} {}", wide(60)));
                    told.tell(Body::Audited { lines: lines.collect() });
                }
                Writes::Fails(many) => {
                    let found = (0..*many).map(|n| wrong("BLD-02", &format!("{at}-{n}"), &wide(400)));
                    told.judged(Phase::Build, Verdict::Fail, found.collect());
                }
                Writes::Context(facts, chars) => {
                    by_agents = true;
                    told.consolidates(*facts, &wide(*chars));
                }
                Writes::Promotes => {
                    let facts = told.latest().evidence.iter().map(|fact| fact.id).collect();
                    told.tell(Body::Promoted { facts });
                    by_agents = true;
                }
            }
            let now = told.latest();
            let text = snapshot::write(now);
            let read = snapshot::read("x.md", &text);
            prop_assert_eq!(&read.findings, &[]);
            prop_assert_eq!(read.whole(0, 0), Some(now.clone()));
            let bare = Snapshot { evidence: vec![], resolved: vec![], ..now.clone() };
            prop_assert!(by_agents || snapshot::write(&bare).len() + ROOM <= LARGEST);
            for (id, given) in &told.memory().given {
                let fact = now.context.iter().find(|fact| fact.id == *id).unwrap();
                let Source::Decided { remedy, .. } = &given.source else { unreachable!("only people gave anything") };
                prop_assert!(fact.text.contains(&format!("(given: {remedy} by ")), "{}", fact.text);
            }
        }
    }
}

#[test]
fn newer_criteria_and_plans_stand_in_for_older_ones() {
    let mut told = Told::pipeline();
    let amend = |says: &str| Resolution::AmendSpec {
        amended_acceptance_criteria: vec![says.to_owned()],
        amendment_rationale: "x".to_owned(),
    };
    let plan = |says: &str| {
        let part = super::super::resolution::Module {
            module_id: "a".to_owned(),
            description: says.to_owned(),
            depends_on: vec![],
        };
        Resolution::RevisePlan { revised_micro_plan: vec![part] }
    };
    told.decides(amend("AC-1: the lamp has 24 levels."));
    told.decides(plan("first"));
    told.decides(amend("AC-1: the lamp has 36 levels."));
    told.decides(amend("AC-1: the lamp has 28 levels."));
    told.decides(plan("second"));
    let texts: Vec<&str> = told.latest().context.iter().map(|fact| fact.text.as_str()).collect();
    assert_eq!(
        texts,
        ["AC-1: the lamp has 28 levels. (given: AMEND_SPEC by the bot)", "a: second (given: REVISE_PLAN by the bot)"]
    );
    assert_eq!(told.memory().given.len(), 2);
}

fn criteria(all: &[&str]) -> Vec<String> {
    all.iter().map(|one| (*one).to_owned()).collect()
}

fn begins(told: &mut Told, id: u32, asked: &[&str], before: &[&str]) {
    let begun = Begun {
        criteria: criteria(asked),
        head: Some(CommitId::new("ab".repeat(20)).unwrap()),
        before: criteria(before),
        changed: before.len(),
    };
    let slice = format!("Slice {id}.");
    told.tell(Body::Sliced { id: SliceId(id), slice, cap: Some(cap()), begun: Some(Box::new(begun)) });
}

fn context(told: &Told) -> Vec<String> {
    told.latest().context.iter().map(|fact| format!("{}: {}", fact.id, fact.text)).collect()
}

const GATES: &str = "Gates: expand, design, analyze, build, review, reconcile, deploy at each iteration; \
                     review, verify at the exit. (given: the flow)";

#[test]
fn a_slice_begins_with_what_it_is_to_bring_its_gates_and_the_work_before_it() {
    let mut told = Told::pipeline();
    begins(&mut told, 1, &["AC-1: it is read.", "AC-2: it is written."], &[]);
    let both = [
        "F-0001: AC-1: it is read. (given: scaffolding/scope.md)",
        "F-0002: AC-2: it is written. (given: scaffolding/scope.md)",
    ];
    assert_eq!(context(&told), [both[0], both[1], &format!("F-0003: {GATES}")]);
    assert_eq!((told.latest().evidence.as_slice(), told.memory().before), (&[][..], None));
    begins(&mut told, 2, &["AC-1: it is read.", "AC-2: it is written."], &["src/a.rs", "src/b.rs"]);
    assert_eq!(context(&told), [both[0], both[1], &format!("F-0004: {GATES}")], "the same words keep their numbers");
    let there: Vec<&str> = told.latest().evidence.iter().map(|fact| fact.text.as_str()).collect();
    assert_eq!(there, ["When S-0002 was declared, work was there already: `src/a.rs`, `src/b.rs`."]);
    assert_eq!(told.memory().before, Some(FactId(5)));
}

#[test]
fn criteria_are_those_that_expand_passed_with_and_what_a_person_amends_goes_first() {
    let mut told = Told::pipeline();
    let passes = |told: &mut Told, asked: &[&str]| {
        let (gate, claimed) = (GateName::Phase(Phase::Expand), Some(Claim::Command));
        let (findings, evidence) = (vec![], vec![]);
        let criteria = criteria(asked);
        told.tell(Body::Judged { gate, verdict: Verdict::Pass, claimed, findings, evidence, criteria });
    };
    passes(&mut told, &["AC-1: it is read.", "AC-2: it is written."]);
    passes(&mut told, &["AC-1: it is read.", "AC-2: it is written twice."]);
    assert_eq!(
        context(&told),
        [
            "F-0001: AC-1: it is read. (given: scaffolding/scope.md)",
            "F-0003: AC-2: it is written twice. (given: scaffolding/scope.md)"
        ]
    );
    told.decides(Resolution::AmendSpec {
        amended_acceptance_criteria: criteria(&["AC-2: it is written once."]),
        amendment_rationale: "x".to_owned(),
    });
    let amended = "F-0004: AC-2: it is written once. (given: AMEND_SPEC by the bot)";
    assert_eq!(context(&told), [amended]);
    passes(&mut told, &["AC-1: it is read.", "AC-2: it is written thrice."]);
    assert_eq!(context(&told), [amended, "F-0005: AC-1: it is read. (given: scaffolding/scope.md)"]);
}

#[test]
fn what_people_decided_and_agents_left_open_goes_along_under_another_number() {
    let mut told = Told::pipeline();
    begins(&mut told, 1, &["AC-1: it is read."], &[]);
    told.decides(Resolution::AmendSpec {
        amended_acceptance_criteria: criteria(&["AC-1: it is read twice."]),
        amendment_rationale: "x".to_owned(),
    });
    let memory = told.state.as_mut().unwrap().memory.as_mut().unwrap();
    memory.latest.open.push(Open {
        id: IssueId(9),
        text: "Nobody knows the format.".to_owned(),
        action: Action::ReScout,
    });
    let handed = told.state.as_ref().unwrap().hands_down_slice(None).unwrap();
    assert_eq!(handed.decided.iter().map(|one| one.remedy).collect::<Vec<_>>(), [Remedy::AmendSpec]);
    let mut other = Told::pipeline();
    begins(&mut other, 1, &["AC-1: it is read."], &[]);
    let heir = other.state.as_mut().unwrap().memory.as_mut().unwrap();
    heir.inherit(&handed, 12, FlowName::Pipeline);
    let texts: Vec<&str> = heir.latest.context.iter().map(|fact| fact.text.as_str()).collect();
    assert_eq!(texts, [GATES, "AC-1: it is read twice. (given: AMEND_SPEC by the bot)"]);
    assert_eq!(heir.latest.open.iter().map(|one| one.text.as_str()).collect::<Vec<_>>(), ["Nobody knows the format."]);
    assert_eq!(told.state.as_ref().unwrap().hands_down_slice(Some(heir)), None, "it has it already");
}
