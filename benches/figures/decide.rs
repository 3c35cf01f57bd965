//! How long a decision takes, as the ledger grows: from reading the change's records to what is to be recorded next.
//!
//! A ledger can grow in two ways. It has more and more changes, each of them short: that is what happens in a repository.
//! Or one change has more and more records, which no change in life has by the thousand. Both are measured, in a local
//! repository, with the App's kind of key. What GitHub needs to answer is not in it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use phasegate::engine::{self, Happened};
use phasegate::flow::Phase;
use phasegate::gate::header::Header;
use phasegate::gate::world::{
    ACTIONS_APP, AskedRun, Asks, CheckRun, Law, Offer, Proposal, Pull, Subject, WorkflowRun, World,
};
use phasegate::github::{AppKey, Keys};
use phasegate::guard::Guard;
use phasegate::guard::weaken::Weakened;
use phasegate::ids::{ChangeNumber, CommitId, Digest, Person, RepoId};
use phasegate::ledger::local::LocalStore;
use phasegate::ledger::origin::Branch;
use phasegate::ledger::{About, Entry, Ledger};
use phasegate::policy;
use phasegate::rehearsal::{CHECK, MERGE_POLICY, WORKFLOW};
use secrecy::SecretString;

use crate::Size;
use crate::stage::Stage;
use crate::stats::{Rounds, short, table};

const REPO: RepoId = RepoId(1);
const SIZES: [u64; 4] = [10, 100, 1_000, 10_000];
/// Records of each of the changes, where there are many.
const EACH: u64 = 10;
const SAMPLES: usize = 25;

/// A change as the engine sees it: the merge flow, one required check.
struct Change {
    number: ChangeNumber,
    world: World,
    ids: u64,
}

fn commit(word: &str) -> anyhow::Result<CommitId> {
    let digest = Digest::of(word);
    CommitId::new(&digest.as_str()[..40]).map_err(|error| anyhow!("{error}"))
}

fn person(login: &str, id: u64) -> Person {
    Person { id, login: login.to_owned(), bot: false }
}

impl Change {
    fn new(number: u64) -> anyhow::Result<Self> {
        let policy = policy::parse(MERGE_POLICY.as_bytes()).map_err(|problems| anyhow!("{problems:?}"))?;
        let branch = format!("agent/{number}");
        let effective = policy.effective(&branch, &[]);
        let mut change = Self {
            number: ChangeNumber(number),
            world: World {
                default_branch: "main".to_owned(),
                app: 4711,
                law: Law::Valid(Box::new(policy)),
                effective,
                pull: Pull {
                    number,
                    open: true,
                    draft: false,
                    merged: None,
                    merged_by: None,
                    merged_at: None,
                    author: person("rover", 2),
                    head: commit("none yet")?,
                    base_ref: "main".to_owned(),
                    fork: false,
                    branch: Some(Branch { repo: REPO, name: branch }),
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
                aside: None,
                continues: None,
                runner: Offer { asks: Asks::NoRunner, run: AskedRun::Unseen },
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
            ids: number * 1_000_000,
        };
        change.is_pushed()?;
        Ok(change)
    }

    fn id(&mut self) -> u64 {
        self.ids += 1;
        self.ids
    }

    /// A new head with new content; nothing has run on it.
    fn is_pushed(&mut self) -> anyhow::Result<()> {
        let head = commit(&format!("head {}", self.id()))?;
        let content = Digest::of(head.as_str());
        let about = About { base_ref: "main".to_owned(), base: commit("base")?, head: head.clone(), content };
        self.world.pull.head = head;
        self.world.checks.clear();
        self.world.workflow_runs.clear();
        self.world.subject = Some(Subject {
            repair: None,
            base_tip: about.base.clone(),
            conflicts: false,
            patch: Some(about.content.clone()),
            commits: vec![about.head.clone()],
            signers: BTreeSet::new(),
            present: Phase::ALL.into_iter().map(|phase| (phase, about.content.clone())).collect(),
            about,
            changed: vec!["src/lib.rs".to_owned()],
            documents: BTreeMap::new(),
            tier: None,
            proposal: Proposal::Untouched,
            drift: BTreeMap::from([(WORKFLOW.to_owned(), Ok(BTreeMap::new()))]),
            guard: Guard::default(),
            weakened: Weakened::default(),
            context: phasegate::gate::memory::Files::default(),
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
        Ok(())
    }

    /// The required check ended so on the head.
    fn ran(&mut self, conclusion: &str) {
        let (id, run, head) = (self.id(), self.id(), self.world.pull.head.clone());
        let at = jiff::Timestamp::from_second(2).ok();
        let job_of = WorkflowRun {
            id: run,
            attempt: 1,
            path: WORKFLOW.to_owned(),
            head,
            event: "pull_request".to_owned(),
            created_at: at,
            branch: self.world.pull.branch.clone(),
        };
        self.world.workflow_runs.insert(run);
        self.world.checks.push(CheckRun {
            id,
            name: CHECK.to_owned(),
            app: ACTIONS_APP,
            conclusion: Some(conclusion.to_owned()),
            started_at: at,
            job_of: Some(job_of),
        });
    }
}

/// A ledger in a repository of its own.
struct Book {
    ledger: Ledger,
    _folder: tempfile::TempDir,
}

impl Book {
    fn new(key: &Arc<AppKey>, stage: &Stage) -> anyhow::Result<Self> {
        let folder = stage.folder()?;
        git2::Repository::init_bare(folder.path())?;
        let store = Arc::new(LocalStore::new(folder.path(), "phasegate/ledger"));
        let keys: Keys = [key.public().clone()].into_iter().collect();
        let ledger = Ledger::new(REPO, store, key.clone(), Arc::new(keys));
        Ok(Self { ledger, _folder: folder })
    }

    /// Decides on a change over and over, each time after `next` has happened to it, until it has so many records more;
    /// all of them are appended at once. Says how many they are.
    async fn grow(
        &self,
        change: &mut Change,
        by: u64,
        mut next: impl FnMut(&mut Change) -> anyhow::Result<Vec<Happened>>,
    ) -> anyhow::Result<u64> {
        let loaded = self.ledger.load(change.number).await?;
        let mut state = loaded.state.clone();
        let mut entries: Vec<Entry> = Vec::new();
        while (entries.len() as u64) < by {
            let happened = next(change)?;
            let decision = engine::decide(change.number, state.as_ref(), &change.world, &happened, None);
            let decision = decision.map_err(|refusal| anyhow!("{refusal}"))?;
            state = engine::ahead(change.number, state.as_ref(), &decision).map_err(|refusal| anyhow!("{refusal}"))?;
            entries.extend(decision.entries);
        }
        entries.truncate(usize::try_from(by)?);
        self.ledger.append(loaded, jiff::Timestamp::now(), entries).await?;
        Ok(by)
    }
}

/// What happens to a change, again and again: a push, its check red; another push, and it is green.
fn life() -> impl FnMut(&mut Change) -> anyhow::Result<Vec<Happened>> {
    let mut step = 0;
    move |change| {
        step += 1;
        match step % 4 {
            1 => {
                change.is_pushed()?;
                return Ok(vec![Happened::Pushed(person("rover", 2))]);
            }
            2 => change.ran("failure"),
            3 => {
                change.is_pushed()?;
                return Ok(vec![Happened::Pushed(person("rover", 2))]);
            }
            _ => change.ran("success"),
        }
        Ok(Vec::new())
    }
}

/// How long reading and deciding take: a push has been recorded, and now its check is green.
struct Took {
    read: Rounds,
    decided: Rounds,
    both: Rounds,
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

impl Book {
    async fn measure(&self, change: &Change) -> anyhow::Result<Took> {
        let mut took = Took { read: Rounds::default(), decided: Rounds::default(), both: Rounds::default() };
        // The first is for the file system's cache.
        for sample in 0..=SAMPLES {
            let begun = Instant::now();
            let loaded = self.ledger.load(change.number).await?;
            let read = begun.elapsed();
            let decision = engine::decide(change.number, loaded.state.as_ref(), &change.world, &[], None);
            let both = begun.elapsed();
            let decision = decision.map_err(|refusal| anyhow!("{refusal}"))?;
            anyhow::ensure!(!decision.entries.is_empty(), "nothing was decided");
            if sample > 0 {
                took.read.push(ms(read));
                took.decided.push(ms(both - read));
                took.both.push(ms(both));
            }
        }
        Ok(took)
    }
}

fn row(records: u64, changes: u64, took: &Took) -> Vec<String> {
    let (read, decided) = (short(took.read.median()), short(took.decided.median()));
    vec![short(records as f64), short(changes as f64), read, decided, took.both.told()]
}

pub(crate) async fn figure(stage: &Stage, size: &Size) -> anyhow::Result<String> {
    let key = Arc::new(AppKey::from_pem(&SecretString::from(stage.app.pem.clone()))?);
    let sizes: Vec<u64> = SIZES.into_iter().filter(|records| *records <= size.records).collect();
    let head = ["records", "changes", "reading, ms", "deciding, ms", "both, ms"];
    let mut rows = Vec::new();
    let book = Book::new(&key, stage)?;
    let mut watched = Change::new(1)?;
    book.grow(&mut watched, EACH, life()).await?;
    let mut changes = 1;
    for size in &sizes {
        while changes * EACH < *size {
            changes += 1;
            book.grow(&mut Change::new(changes)?, EACH, life()).await?;
        }
        watched.is_pushed()?;
        watched.ran("success");
        rows.push(row(*size, changes, &book.measure(&watched).await?));
    }
    let many = table(&head, &rows);

    let mut rows = Vec::new();
    let book = Book::new(&key, stage)?;
    let mut change = Change::new(1)?;
    let mut next = life();
    for size in &sizes {
        let there = book.ledger.load(change.number).await?.state.map_or(0, |state| state.seq);
        let mut left = size.checked_sub(there).context("it has more already")?;
        while left > 0 {
            left -= book.grow(&mut change, left.min(500), &mut next).await?;
        }
        change.is_pushed()?;
        change.ran("success");
        rows.push(row(*size, 1, &book.measure(&change).await?));
    }
    let one = table(&head, &rows);
    Ok(format!("{many}\n{one}"))
}
