//! For tests: a change that is played like a game, in words that read as prose.
//!
//! A [`Game`] holds the world and the ledger's state. Each verb changes the world or lets something happen, decides,
//! folds what was decided as the ledger would, and then decides once more: a second look at the same world must
//! decide nothing, in every story.

mod proof;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use proof::Proof;

use super::command;
use super::{Happened, Order, Shown, Target, decide};
use crate::fact::Comment;
use crate::flow::pipeline::State as Pipeline;
use crate::flow::{Phase, Refusal, Stage};
use crate::gate::aside::Aside;
use crate::gate::header::{self, Header};
use crate::gate::papers::{self, Document, Judged, Papers, Sheet};
use crate::gate::people::Standing;
use crate::gate::review::block;
use crate::gate::world::{
    ACTIONS_APP, AskedRun, Asks, CheckRun, Deployment, Law, Offer, Proposal, Pull, Review, Rival, Subject, WorkflowRun,
    World,
};
use crate::gate::{Finding, GateName, Verdict};
use crate::guard::Guard;
use crate::guard::weaken::Weakened;
use crate::ids::{BlobId, ChangeNumber, CommitId, Digest, Person, RepoId, Role};
use crate::ledger::against::Mark;
use crate::ledger::heal::Caught;
use crate::ledger::origin::Branch;
use crate::ledger::record::{Outcome, Prev};
use crate::ledger::{About, Body, Entry, Record, State};
use crate::policy::{self, Policy, Tier};
use crate::repo::meaning::Changed;
use crate::surface::escalation::{Notice, notice};
use crate::surface::{Seen, Surface, incident, project};

pub(crate) const CI: &str = ".github/workflows/ci.yml";
/// The trusted workflow.
pub(crate) const EVIDENCE: &str = ".github/workflows/phasegate-evidence.yml";
pub(crate) const TEST: &str = "ci / test";
pub(crate) const OUR_APP: u64 = 4711;
/// A green is enough, and no critic is asked for.
pub(crate) const ALONE: &str = "merge: { require: [verify] }\ngates: { review: { critic: off }, verify: { checks: [{ name: ci / test, \
     workflow: .github/workflows/ci.yml }] } }\n";
const CHECKS: &str = "gates: { verify: { checks: [{ name: ci / test, workflow: .github/workflows/ci.yml }] } }\n";

/// A verifier's report.
pub(crate) const REPORT: &str = "/audit\nVerdict: FAIL\nMismatches: AC-1 is unmet\nDiagnosis: stale cache \
     (confidence: high)\nEvidence gaps: none\nRisk flags: none\nVerification: compare the two logs";

pub(crate) fn commit(word: &str) -> CommitId {
    CommitId::new(&Digest::of(format!("commit {word}")).as_str()[..40]).unwrap()
}

pub(crate) fn blob(word: &str) -> BlobId {
    BlobId::new(&Digest::of(format!("blob {word}")).as_str()[..40]).unwrap()
}

pub(crate) fn deployment_of(commit: CommitId, environment: &str, state: &str, by: &str) -> Deployment {
    Deployment { environment: environment.to_owned(), state: state.to_owned(), commit, by: person(by) }
}

pub(crate) fn person(login: &str) -> Person {
    let id = login.bytes().fold(7u64, |id, byte| id * 31 % 1_000_003 + u64::from(byte));
    Person { id, login: login.to_owned(), bot: login.ends_with("[bot]") }
}

pub(crate) fn standing(role: Role) -> Standing {
    Standing { role, named: false }
}

/// A policy that names one check and says this besides.
pub(crate) fn law(yaml: &str) -> Policy {
    let text = if yaml.contains("gates:") { yaml.to_owned() } else { format!("{yaml}\n{CHECKS}") };
    policy::parse(text.as_bytes()).unwrap_or_else(|problems| panic!("{text}\n{problems:#?}"))
}

fn present(content: &str, documents: &str, base: &str) -> BTreeMap<Phase, Digest> {
    let bound = |phase: Phase| match phase.reads_documents() {
        true => Digest::of(format!("documents {documents} up to {phase}")),
        false => Digest::of(format!("content {content} on {base}")),
    };
    Phase::ALL.into_iter().map(|phase| (phase, bound(phase))).collect()
}

pub(crate) fn sheet(text: &str) -> Sheet {
    Sheet { blob: Some(blob(text)), document: Document::Text(text.to_owned()) }
}

/// The rehearsal's documents.
pub(crate) fn good_papers() -> Papers {
    use crate::rehearsal::papers::{DESIGN, LOG, READINESS, SCOPE};
    let [scope, design, readiness, log] = [SCOPE, DESIGN, READINESS, LOG].map(|text| Some(sheet(text)));
    Papers { scope, design, readiness, log, ..Papers::default() }
}

/// What the gates say about them: nothing that blocks.
static GOOD: LazyLock<Judged> = LazyLock::new(|| judge_all(&good_papers()));

/// What they say where nothing is written.
static NOTHING: LazyLock<Judged> = LazyLock::new(|| judge_all(&Papers::default()));

/// By the documents; there is nothing wrong with the code, nor with what is delivered.
fn judge_all(papers: &Papers) -> Judged {
    let mut judged = papers::judge_all(papers, &Policy::default());
    judged.insert(Phase::Build, Vec::new());
    judged.insert(Phase::Deploy, Vec::new());
    judged.insert(Phase::Reconcile, Vec::new());
    judged.insert(Phase::Verify, Vec::new());
    judged
}

pub(crate) struct Game {
    papers: Papers,
    pub(crate) world: World,
    pub(crate) state: Option<State>,
    /// Everything that was decided, oldest first.
    pub(crate) log: Vec<Entry>,
    /// The same as records.
    pub(crate) records: Vec<Record>,
    /// How many entries the last decision had.
    pub(crate) fresh: usize,
    pub(crate) shown: Option<Shown>,
    /// What `/link` finds.
    pub(crate) target: Target,
    /// Why a fix can't be committed.
    pub(crate) no_fix: Option<String>,
    /// The repository has no issues.
    pub(crate) no_issues: bool,
    now: i64,
    ids: u64,
    branch: String,
    labels: Vec<String>,
    pub(crate) proof: Proof,
}

impl Game {
    /// Ada's pull request into main, with this policy.
    pub(crate) fn with(yaml: &str) -> Self {
        let policy = law(yaml);
        let effective = policy.effective("feature", &[]);
        let mut game = Self {
            papers: Papers::default(),
            world: World {
                default_branch: "main".to_owned(),
                app: OUR_APP,
                law: Law::Valid(Box::new(policy)),
                effective,
                pull: Pull {
                    number: 7,
                    open: true,
                    draft: false,
                    merged: None,
                    merged_by: None,
                    merged_at: None,
                    author: person("ada"),
                    head: commit("one"),
                    base_ref: "main".to_owned(),
                    fork: false,
                    branch: Some(Branch { repo: RepoId(0), name: "feature".to_owned() }),
                    header: Header::default(),
                },
                subject: None,
                checks: Vec::new(),
                workflow_runs: BTreeSet::new(),
                beneath: Vec::new(),
                checks_unread: false,
                merge_checks: Vec::new(),
                deployments: Vec::new(),
                untold: BTreeSet::new(),
                reviews: Vec::new(),
                standings: BTreeMap::new(),
                settled: None,
                based_since: jiff::Timestamp::from_second(1).ok(),
                asks: Asks::Yes,
                commits: true,
                asked_run: AskedRun::Unseen,
                aside: Some(Aside::default()),
                continues: None,
                runner: Offer { asks: Asks::Yes, run: AskedRun::Unseen },
                siblings: Vec::new(),
                rivals: Vec::new(),
                base_protected: true,
                earlier: Vec::new(),
                broken: BTreeSet::new(),
                unread: 0,
                unseen_moves: false,
                ledger: "phasegate/ledger".to_owned(),
                landed: BTreeMap::new(),
            },
            state: None,
            log: Vec::new(),
            records: Vec::new(),
            fresh: 0,
            shown: None,
            target: Target::Issue { of: None },
            no_fix: None,
            no_issues: false,
            now: 1_000_000,
            ids: 100,
            branch: "feature".to_owned(),
            labels: Vec::new(),
            proof: Proof::default(),
        };
        game.head_is("one", "one");
        game
    }

    /// Its people speak after those of another.
    pub(crate) fn later_than(mut self, other: &Self) -> Self {
        (self.now, self.ids) = (other.now, other.ids);
        self
    }

    /// The merge flow, opened.
    pub(crate) fn merge() -> Self {
        let mut game = Self::with("");
        game.look();
        game
    }

    /// The pipeline, opened, with all documents written and nothing begun.
    pub(crate) fn pipeline() -> Self {
        Self::pipeline_with("")
    }

    pub(crate) fn pipeline_with(yaml: &str) -> Self {
        let mut game = Self::with(&format!("flow: pipeline\n{yaml}"));
        game.documents();
        game.look();
        game
    }

    // What the world looks like.

    fn head_is(&mut self, head: &str, content: &str) {
        let base_ref = self.world.pull.base_ref.clone();
        let old = self.world.subject.take();
        let about = About { base_ref, base: commit("base"), head: commit(head), content: Digest::of(content) };
        self.world.pull.head = about.head.clone();
        self.world.subject = Some(Subject {
            base_tip: about.base.clone(),
            present: present(content, "first", &about.base_ref),
            patch: Some(about.content.clone()),
            conflicts: false,
            commits: Vec::new(),
            signers: BTreeSet::new(),
            about,
            changed: vec!["src/lib.rs".to_owned()],
            repair: None,
            documents: old.map_or_else(|| NOTHING.clone(), |old| old.documents),
            // Of what is to last more is asked: the tests of that say so.
            tier: Some(Tier::Shed),
            proposal: Proposal::Untouched,
            drift: BTreeMap::from([CI, EVIDENCE, "runner"].map(|path| (path.to_owned(), Ok(BTreeMap::new())))),
            guard: Guard::default(),
            weakened: Weakened::default(),
            context: crate::gate::memory::Files::default(),
            logged: BTreeSet::new(),
            trailer: None,
            no_trailer: None,
            asks_refreeze: None,
            stops: Vec::new(),
            heals: Vec::new(),
            beneath: Vec::new(),
            contracts: BTreeMap::new(),
            beyond: Some(BTreeSet::new()),
            handed_in: Vec::new(),
            structural_fix: false,
            task: None,
        });
        self.world.checks.clear();
    }

    /// What lies beside the phases.
    pub(crate) fn aside(&mut self) -> &mut Aside {
        self.world.aside.as_mut().expect("it can be read")
    }

    /// This is what another round is to bring.
    pub(crate) fn proposal(&mut self, text: &str) -> &mut Self {
        let feedback = ("docs/input/feedback.md".to_owned(), blob("feedback"));
        let aside = self.aside();
        aside.inputs.extend([feedback]);
        aside.iteration = Some(sheet(text));
        self
    }

    pub(crate) fn subject(&mut self) -> &mut Subject {
        self.world.subject.as_mut().expect("the content can be read")
    }

    /// All documents are written, and good.
    pub(crate) fn documents(&mut self) -> &mut Self {
        self.papers = good_papers();
        self.subject().documents = GOOD.clone();
        self
    }

    pub(crate) fn without(&mut self, document: &str) -> &mut Self {
        *self.paper(document) = None;
        self.judged()
    }

    pub(crate) fn paper_says(&mut self, document: &str, text: &str) -> &mut Self {
        *self.paper(document) = Some(sheet(text));
        self.judged()
    }

    fn judged(&mut self) -> &mut Self {
        self.subject().documents = judge_all(&self.papers.clone());
        self
    }

    fn paper(&mut self, document: &str) -> &mut Option<Sheet> {
        match document {
            "scaffolding/scope.md" => &mut self.papers.scope,
            "scaffolding/design.md" => &mut self.papers.design,
            "scaffolding/readiness.md" => &mut self.papers.readiness,
            other => panic!("{other} is no document of a phase"),
        }
    }

    /// The documents' text is another.
    pub(crate) fn rewrites_documents(&mut self, version: &str) -> &mut Self {
        let base = self.world.pull.base_ref.clone();
        let subject = self.subject();
        for (phase, bound) in present("", version, &base) {
            if phase.reads_documents() {
                subject.present.insert(phase, bound);
            }
        }
        self
    }

    pub(crate) fn changes(&mut self, path: &str) -> &mut Self {
        self.subject().changed.push(path.to_owned());
        self
    }

    /// A file that gives the check its meaning is not the default branch's.
    pub(crate) fn drifts(&mut self, path: &str, version: &str) -> &mut Self {
        self.drifted(path, Some(blob(version)))
    }

    pub(crate) fn drifted(&mut self, path: &str, blob: Option<BlobId>) -> &mut Self {
        for drift in self.subject().drift.values_mut() {
            let drift = drift.as_mut().expect("it is known");
            drift.insert(path.to_owned(), Changed { blob: blob.clone(), what: "a script that it runs", touched: true });
        }
        self
    }

    pub(crate) fn labelled(&mut self, label: &str) -> &mut Self {
        self.labels.push(label.to_owned());
        self.relaw()
    }

    pub(crate) fn unlabelled(&mut self) -> &mut Self {
        self.labels.clear();
        self.relaw()
    }

    pub(crate) fn policy_is(&mut self, yaml: &str) -> &mut Self {
        self.world.law = Law::Valid(Box::new(law(yaml)));
        self.relaw()
    }

    /// The pull request has this description from now on.
    pub(crate) fn described(&mut self, body: &str) -> &mut Self {
        self.world.pull.header = header::read(body);
        self.look()
    }

    fn relaw(&mut self) -> &mut Self {
        if let Law::Valid(policy) = &self.world.law {
            self.world.effective = policy.effective(&self.branch, &self.labels);
        }
        self.look()
    }

    fn id(&mut self) -> u64 {
        self.ids += 1;
        self.ids
    }

    /// A job of this workflow run on the head.
    pub(crate) fn job(&mut self, name: &str, path: &str, workflow_run: u64, conclusion: &str) -> CheckRun {
        // Each call is another attempt, so the newest is the one with the highest id.
        let (id, head) = (self.id(), self.world.pull.head.clone());
        CheckRun {
            id,
            name: name.to_owned(),
            app: ACTIONS_APP,
            conclusion: (conclusion != "running").then(|| conclusion.to_owned()),
            started_at: jiff::Timestamp::from_second(self.now).ok(),
            job_of: Some(self.workflow_run(workflow_run, id, path, head)),
        }
    }

    fn workflow_run(&self, id: u64, attempt: u64, path: &str, head: CommitId) -> WorkflowRun {
        WorkflowRun {
            id,
            attempt,
            path: path.to_owned(),
            head,
            event: "pull_request".to_owned(),
            created_at: jiff::Timestamp::from_second(self.now).ok(),
            branch: self.world.pull.branch.clone(),
        }
    }

    pub(crate) fn run(&mut self, run: CheckRun) -> &mut Self {
        self.world.checks.push(run);
        self.look()
    }

    /// The check ends so, as a job of the policy's workflow. The same name again is another attempt of the same run.
    pub(crate) fn check(&mut self, name: &str, conclusion: &str) -> &mut Self {
        let run = self.job(name, CI, 1, conclusion);
        self.run(run)
    }

    pub(crate) fn green(&mut self) -> &mut Self {
        self.check(TEST, "success")
    }

    pub(crate) fn red(&mut self) -> &mut Self {
        self.check(TEST, "failure")
    }

    pub(crate) fn review(&mut self, login: &str, role: Role, state: &str) -> &mut Self {
        let review = Review {
            id: self.id(),
            by: person(login),
            standing: standing(role),
            state: state.to_owned(),
            commit: Some(self.world.pull.head.clone()),
            submitted_at: jiff::Timestamp::from_second(self.now).ok(),
            body: None,
            says: String::new(),
        };
        self.world.reviews.push(review);
        self.look()
    }

    /// A remark with a block of findings.
    pub(crate) fn finds(&mut self, login: &str, role: Role, yaml: &str) -> &mut Self {
        self.review_saying(login, role, "COMMENTED", &format!("Read it.\n\n```phasegate-review\n{yaml}\n```\n"))
    }

    pub(crate) fn review_saying(&mut self, login: &str, role: Role, state: &str, text: &str) -> &mut Self {
        self.world.reviews.push(Review {
            id: self.ids + 1,
            by: person(login),
            standing: if login.ends_with("[bot]") { Standing::default() } else { standing(role) },
            state: state.to_owned(),
            commit: Some(self.world.pull.head.clone()),
            submitted_at: jiff::Timestamp::from_second(self.now).ok(),
            body: Some(text.to_owned()),
            says: block::begins(text),
        });
        self.ids += 1;
        self.look()
    }

    pub(crate) fn approved_by(&mut self, login: &str) -> &mut Self {
        self.review(login, Role::Maintain, "APPROVED")
    }

    pub(crate) fn rival(&mut self, number: u64, base: &str, green: bool) -> &mut Self {
        self.world.rivals = vec![Rival { number, base_ref: base.to_owned(), green }];
        self.look()
    }

    // What happens.

    pub(crate) fn opened(&mut self) -> &mut Self {
        self.look()
    }

    /// Nothing happened, as far as anyone told us: the world is looked at.
    pub(crate) fn look(&mut self) -> &mut Self {
        self.happens(&[])
    }

    /// A new head with new content, pushed by the author.
    pub(crate) fn push(&mut self, head: &str) -> &mut Self {
        self.pushed_by("ada", head)
    }

    /// Nobody has looked at it yet.
    pub(crate) fn push_untold(&mut self, head: &str) -> &mut Self {
        self.head_is(head, head);
        self
    }

    pub(crate) fn pushed_by(&mut self, login: &str, head: &str) -> &mut Self {
        self.head_is(head, head);
        self.happens(&[Happened::Pushed(person(login))])
    }

    /// A new head of the same content.
    pub(crate) fn rebase(&mut self, head: &str, content: &str) -> &mut Self {
        self.rebased_by("ada", head, content)
    }

    pub(crate) fn rebased_by(&mut self, login: &str, head: &str, content: &str) -> &mut Self {
        self.head_is(head, content);
        self.happens(&[Happened::Pushed(person(login))])
    }

    /// A new head, prepared before anyone looks.
    pub(crate) fn push_with(&mut self, head: &str, prepare: impl FnOnce(&mut Self)) -> &mut Self {
        self.head_is(head, head);
        prepare(self);
        self.happens(&[Happened::Pushed(person("ada"))])
    }

    /// A push of an empty commit: another head with the same content.
    pub(crate) fn push_empty(&mut self, head: &str, content: &str, prepare: impl FnOnce(&mut Self)) -> &mut Self {
        self.head_is(head, content);
        prepare(self);
        self.happens(&[Happened::Pushed(person("ada"))])
    }

    pub(crate) fn retargeted(&mut self, base: &str) -> &mut Self {
        self.world.pull.base_ref = base.to_owned();
        self.world.based_since = jiff::Timestamp::from_second(self.now).ok();
        let content = self.subject().about.content.as_str().to_owned();
        let subject = self.subject();
        subject.about.base_ref = base.to_owned();
        subject.present = present(&content, "first", base);
        self.look()
    }

    pub(crate) fn closed(&mut self) -> &mut Self {
        self.world.pull.open = false;
        self.look()
    }

    pub(crate) fn reopened(&mut self) -> &mut Self {
        self.world.pull.open = true;
        self.look()
    }

    pub(crate) fn merged(&mut self) -> &mut Self {
        self.world.pull.open = false;
        self.world.pull.merged = Some(commit("merge"));
        self.look()
    }

    /// As a workflow tells it, of what was merged, in production.
    pub(crate) fn deployment(&mut self, state: &str) -> &mut Self {
        self.deployed("production", state, "github-actions[bot]")
    }

    pub(crate) fn deployed(&mut self, environment: &str, state: &str, by: &str) -> &mut Self {
        self.world.deployments.push(deployment_of(commit("merge"), environment, state, by));
        self.look()
    }

    /// A check on the merge commit.
    pub(crate) fn merge_check(&mut self, conclusion: &str) -> &mut Self {
        let mut run = self.job(TEST, CI, 2, conclusion);
        run.job_of =
            Some(WorkflowRun { event: "push".to_owned(), ..self.workflow_run(2, run.id, CI, commit("merge")) });
        self.world.merge_checks.push(run);
        self.look()
    }

    /// Nothing happens for so long, and then somebody looks at the clock.
    pub(crate) fn hours_pass(&mut self, hours: i64) -> &mut Self {
        self.now += hours * 3600;
        let at = self.time();
        self.happens(&[Happened::Now { at }])
    }

    /// What the clock says.
    pub(crate) fn time(&self) -> jiff::Timestamp {
        jiff::Timestamp::from_second(self.now).unwrap()
    }

    /// Somebody says something that is no command.
    pub(crate) fn chats(&mut self, login: &str) -> &mut Self {
        let at = self.time();
        self.happens(&[Happened::Spoke(person(login)), Happened::Now { at }])
    }

    pub(crate) fn ready(&mut self) -> &mut Self {
        self.happens(&[Happened::Ready])
    }

    pub(crate) fn says(&mut self, login: &str, role: Role, text: &str) -> &mut Self {
        let orders = self.comment(login, standing(role), text);
        self.happens(&orders)
    }

    /// The bot has opened this issue for the escalation that is open.
    /// A verifier hands in the report that is owed, and plans may rest on it.
    pub(crate) fn audited(&mut self) -> &mut Self {
        self.says("zoe", Role::Write, REPORT).done();
        let facts = self.now().audit_owed().map(|audit| audit.facts.clone()).expect("an audit is owed");
        let first = facts.first().expect("it has facts").to_string();
        self.says("zoe", Role::Write, &format!("/audit promote {first}")).done()
    }

    pub(crate) fn asked_in(&mut self, issue: u64) -> &mut Self {
        let id = self.now().escalation.as_ref().expect("an escalation is open").id;
        self.happens(&[Happened::Escalated { id, issue }])
    }

    /// What is said on the escalation's issue, which shows what the comment shows.
    pub(crate) fn answers(&mut self, login: &str, role: Role, text: &str) -> &mut Self {
        let issue = self.now().escalation.as_ref().and_then(|open| open.issue).expect("it is asked in an issue");
        let mut happened: Vec<Happened> =
            self.shown.iter().map(|shown| Happened::Displayed { issue, shown: shown.clone() }).collect();
        for mut one in self.comment(login, standing(role), text) {
            if let Happened::Command(order) = &mut one {
                (order.comment.number, order.comment.on_pull) = (issue, false);
            }
            happened.push(one);
        }
        self.happens(&happened)
    }

    /// The same within the second in which the issue came to show what it shows.
    pub(crate) fn answers_at_once(&mut self, login: &str, role: Role, text: &str) -> &mut Self {
        let since = self.shown.as_ref().expect("something is shown").since.as_second();
        self.now = since - 1;
        self.answers(login, role, text)
    }

    /// What is said while the bot's comment still shows an older head.
    pub(crate) fn says_too_early(&mut self, login: &str, role: Role, text: &str) -> &mut Self {
        let shown = self.shown.clone().expect("something is shown");
        let now = std::mem::replace(&mut self.now, shown.since.as_second() - 10);
        let orders = self.comment(login, standing(role), text);
        self.now = now;
        self.happens(&orders)
    }

    /// The commands of a comment, as they reach the engine.
    pub(crate) fn comment(&mut self, login: &str, standing: Standing, text: &str) -> Vec<Happened> {
        self.now += 1;
        let comment = Comment {
            number: self.world.pull.number,
            on_pull: true,
            id: self.id(),
            author: person(login),
            body: text.to_owned(),
            created_at: jiff::Timestamp::from_second(self.now).unwrap(),
        };
        let commands = self.world.policy().map(|policy| policy.commands.clone()).unwrap_or_default();
        let target = Some(self.target);
        let no_fix = &self.no_fix;
        let order = |given| {
            let no_fix = no_fix.clone();
            Happened::Command(Box::new(Order { comment: comment.clone(), given, standing, target, no_fix }))
        };
        command::parse(text, |line| commands.strip(line)).into_iter().map(order).collect()
    }

    /// Decides, folds, and looks again: the second look must decide nothing.
    pub(crate) fn happens(&mut self, happened: &[Happened]) -> &mut Self {
        self.fresh = self.take(happened);
        if let Some(state) = &self.state {
            let again = decide(ChangeNumber(7), Some(state), &self.world, &[], self.shown.as_ref())
                .unwrap_or_else(|bug| panic!("the second look fails: {bug}"));
            let bodies: Vec<_> = again.entries.iter().map(|entry| &entry.body).collect();
            assert!(bodies.is_empty(), "a second look decides something: {bodies:#?}\nafter {:#?}", self.last());
        }
        self
    }

    fn take(&mut self, happened: &[Happened]) -> usize {
        self.world.workflow_runs.extend(self.world.checks.iter().filter_map(|run| Some(run.job_of.as_ref()?.id)));
        self.hold();
        let decision = decide(ChangeNumber(7), self.state.as_ref(), &self.world, happened, self.shown.as_ref())
            .unwrap_or_else(|bug| panic!("a decision is refused: {bug}\nafter {:#?}", self.last()));
        let count = decision.entries.len();
        for entry in decision.entries {
            self.fold(&entry);
            self.log.push(entry);
        }
        // The bot's comment follows.
        self.now += 5;
        if let Some(about) = self.state.as_ref().and_then(|state| state.subject.clone()) {
            let (head, content) = (about.head, Some(about.content));
            let now = jiff::Timestamp::from_second(self.now).unwrap();
            let before = self.shown.take();
            let since = before.as_ref().filter(|shown| shown.head == head && shown.content == content);
            let since = since.map_or(now, |shown| shown.since);
            let files = self.state.as_ref().and_then(|state| crate::gate::evidence::print(state, &self.world));
            let files = files.map(|files| {
                let listed = before.and_then(|shown| shown.files).filter(|(listed, _)| *listed == files);
                listed.unwrap_or((files, now))
            });
            self.shown = Some(Shown { head, content, since, files });
        }
        self.now += 5;
        count
    }

    fn fold(&mut self, entry: &Entry) {
        let state = self.state.take();
        let change = ChangeNumber(7);
        let record = Record {
            repo: RepoId(1),
            change,
            seq: state.as_ref().map_or(1, |state| state.seq + 1),
            prev: Prev::Begins { repo: RepoId(1), change },
            at: jiff::Timestamp::from_second(self.now).unwrap(),
            by: entry.by.clone(),
            about: entry.about.clone(),
            body: entry.body.clone(),
        };
        let tip = Digest::of(format!("record {}", record.seq));
        self.state = Some(State::fold(state, &record, tip).unwrap_or_else(|error| panic!("{error}: {entry:#?}")));
        self.records.push(record);
    }

    // What came of it.

    /// Where it stands, as if its number were 3.
    pub(crate) fn as_three(&self) -> State {
        let mut state = State { change: ChangeNumber(3), ..self.now().clone() };
        let of_three = |marks: &BTreeSet<Mark>| -> BTreeSet<Mark> {
            marks.iter().map(|mark| Mark { change: ChangeNumber(3), seq: mark.seq }).collect()
        };
        state.against.blocks = of_three(&state.against.blocks);
        state.against.stops = of_three(&state.against.stops);
        let cheats = std::mem::take(&mut state.against.cheats).into_iter();
        let of = |mark: Mark| Mark { change: ChangeNumber(3), seq: mark.seq };
        state.against.cheats = cheats.map(|one| Caught { mark: of(one.mark), ..one }).collect();
        for marks in state.against.fails.values_mut() {
            *marks = of_three(marks);
        }
        state
    }

    pub(crate) fn now(&self) -> &State {
        self.state.as_ref().expect("the change has begun")
    }

    pub(crate) fn last(&self) -> &[Entry] {
        &self.log[self.log.len() - self.fresh.min(self.log.len())..]
    }

    pub(crate) fn table(&self) -> &Pipeline {
        self.now().pipeline.as_ref().expect("a pipeline")
    }

    pub(crate) fn stage(&self) -> Stage {
        self.table().stage
    }

    pub(crate) fn outcomes(&self) -> Vec<(&str, &Outcome)> {
        let commands = self.last().iter().filter_map(|entry| match &entry.body {
            Body::Command { name, outcome, .. } => Some((name.as_str(), outcome)),
            _ => None,
        });
        commands.collect()
    }

    pub(crate) fn outcome(&self) -> &Outcome {
        self.outcomes().last().unwrap_or_else(|| panic!("no command was taken: {:#?}", self.last())).1
    }

    #[track_caller]
    pub(crate) fn refused_with(&self, rule: &str) -> &Refusal {
        match self.outcome() {
            Outcome::Refused(refusal) if refusal.rule == rule => refusal,
            other => panic!("not refused with {rule}: {other:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn last_refusal(&self) -> Refusal {
        match self.outcome() {
            Outcome::Refused(refusal) => refusal.clone(),
            other => panic!("not refused: {other:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn done(&mut self) -> &mut Self {
        assert_eq!(*self.outcome(), Outcome::Done);
        self
    }

    #[track_caller]
    pub(crate) fn at(&mut self, stage: Stage) -> &mut Self {
        assert_eq!(self.stage(), stage, "{:#?}", self.last());
        self
    }

    pub(crate) fn merge_verdict(&self) -> Verdict {
        super::merge_gate(self.now(), &self.world).verdict
    }

    pub(crate) fn findings(&self) -> Vec<Finding> {
        super::merge_gate(self.now(), &self.world).findings
    }

    /// The rules that stand against merging.
    pub(crate) fn against(&self) -> BTreeSet<String> {
        self.findings().into_iter().filter(Finding::blocks).map(|finding| finding.rule).collect()
    }

    #[track_caller]
    pub(crate) fn finding(&self, rule: &str) -> Finding {
        let findings = self.findings();
        let found = findings.iter().find(|finding| finding.rule == rule).cloned();
        found.unwrap_or_else(|| panic!("no {rule} among {findings:#?}"))
    }

    #[track_caller]
    pub(crate) fn may_merge(&mut self) -> &mut Self {
        assert_eq!(self.against(), BTreeSet::new(), "{:#?}", self.findings());
        self
    }

    #[track_caller]
    pub(crate) fn may_not_merge(&mut self, rules: &[&str]) -> &mut Self {
        let rules: BTreeSet<String> = rules.iter().map(|rule| (*rule).to_owned()).collect();
        assert_eq!(self.against(), rules, "{:#?}", self.findings());
        self
    }

    /// The last recorded judgement of the merge gate.
    pub(crate) fn recorded(&self) -> &crate::ledger::state::Judged {
        &self.now().gates[&GateName::Merge]
    }

    pub(crate) fn surface(&self) -> Surface {
        self.seen(project)
    }

    /// The issue of the escalation that is open.
    pub(crate) fn notice(&self) -> Option<Notice> {
        self.seen(notice)
    }

    /// The issue of the newest incident.
    pub(crate) fn incident(&self) -> Option<Notice> {
        self.seen(|state, seen| incident::notice(state, state.incidents.last()?, seen))
    }

    fn seen<T>(&self, look: impl FnOnce(&State, &Seen<'_>) -> T) -> T {
        let merge = super::merge_gate(self.now(), &self.world);
        let phase = super::phase_gate(self.now(), &self.world);
        let task = super::task_gate(self.now(), &self.world);
        let slug = "octo/demo".parse().unwrap();
        let seen = Seen {
            slug: &slug,
            server: "https://github.com",
            world: &self.world,
            merge: &merge,
            phase: phase.as_ref(),
            task: task.as_ref(),
            no_issues: self.no_issues,
            advisory: false,
            evidence: "https://github.com/octo/demo/blob/phasegate/ledger/changes/0/7/page/evidence.html",
            repo: RepoId(1),
            owners: &[],
        };
        look(self.now(), &seen)
    }

    // Whole ways.

    /// From a fresh pipeline to Designing: the design is yet to be written.
    pub(crate) fn until_designing(&mut self) -> &mut Self {
        self.without("scaffolding/design.md").says("ada", Role::Write, "/expand").done();
        self.green().at(Stage::Designing)
    }

    /// From a fresh pipeline to Building, on the head `built`, whose checks have not run.
    pub(crate) fn until_building(&mut self) -> &mut Self {
        self.until_reviewing().push("built").at(Stage::Building)
    }

    /// From a fresh pipeline to Reviewing, by green checks.
    pub(crate) fn until_reviewing(&mut self) -> &mut Self {
        self.says("ada", Role::Write, "/expand").done();
        self.green().at(Stage::Reviewing)
    }

    /// From a fresh pipeline through VERIFY, by green checks and Mia's approval.
    pub(crate) fn through_verify(&mut self) -> &mut Self {
        self.until_reviewing().approved_by("mia").at(Stage::VerifyGatePassed)
    }
}
