//! All that the twin remembers, behind one lock.
//!
//! Every API call runs start to end under the lock and never awaits there, so calls happen one after another, and two
//! racing writers see a real compare-and-swap. Webhooks are only queued here; couriers carry them outside the lock.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use jiff::Timestamp;

use super::Admin;
use super::auth::{Quota, Token};
use super::bad_day::{Switch, Weather};
use super::feature::Feature;
use super::git::{Git, Shelf};
use super::hooks::Post;
use super::model::*;
use super::reply::Problem;
use super::stage::Stage;

/// What time it is on GitHub.
pub(crate) type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// A failure to be played on the next request that matches.
#[derive(Debug, Clone)]
pub struct Fault {
    /// `None` matches any method.
    pub method: Option<String>,
    /// A part of the path below the API base.
    pub path_contains: String,
    pub effect: Effect,
    /// How many requests it hits.
    pub times: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Answer this status, having done nothing.
    Refuse(u16),
    /// Do the work, then answer this status: the unclear write.
    Lose(u16),
    /// The hour is used up: this status and no calls left until a reset that is near.
    Primary { status: u16 },
    /// The secondary limit, 403 or 429, with `retry-after` or without.
    Secondary { status: u16, retry_after: Option<u64> },
    /// Do the work, then drop the connection without an answer.
    Hang,
    /// Drop the connection, having done nothing.
    Break,
    /// The token that came is good no more: 401 from now on.
    Expire,
    /// Answer from a replica that has not heard of the last write.
    Lag,
    /// Let another writer do the same first, then do the work.
    Rival,
}

impl Effect {
    /// Whether it means something to a write only.
    pub(crate) fn is_for_writes(&self) -> bool {
        matches!(self, Self::Lose(_) | Self::Hang | Self::Rival)
    }
}

/// Waits until all that follows from what was done has happened, or long enough; says which.
pub(crate) type Settles = Arc<dyn Fn(Admin) -> BoxFuture<'static, bool> + Send + Sync>;

pub(crate) struct State {
    pub(crate) base: String,
    pub(crate) data: PathBuf,
    /// By the repositories' ids.
    shelves: Mutex<BTreeMap<u64, Shelf>>,
    pub(crate) last_id: u64,
    /// Which key signs the tokens of jobs.
    pub(crate) token_key: usize,
    /// Who may ask for such a token: the run, and its repository.
    pub(crate) token_requests: HashMap<String, (u64, u64)>,
    /// How many keys it has given to Apps.
    pub(crate) keys_given: usize,
    pub(crate) accounts: BTreeMap<u64, Account>,
    pub(crate) teams: BTreeMap<u64, Vec<Team>>,
    pub(crate) repos: BTreeMap<u64, Repo>,
    pub(crate) apps: BTreeMap<u64, App>,
    pub(crate) installations: BTreeMap<u64, Installation>,
    pub(crate) tokens: HashMap<String, Token>,
    pub(crate) deliveries: BTreeMap<u64, Delivery>,
    pub(crate) log: Vec<Logged>,
    pub(crate) quotas: HashMap<String, Quota>,
    pub(crate) faults: Vec<Fault>,
    /// What this GitHub is without.
    pub(crate) without: BTreeSet<Feature>,
    /// The repositories whose pages let visitors act.
    pub(crate) stages: BTreeMap<u64, Stage>,
    /// What is waited for after a visitor has acted, before they are told that it is done.
    pub(crate) settles: Option<Settles>,
    /// How many more times a queue's list is told as it was before anybody came.
    pub(crate) queue_lag: u32,
    /// While set, a push leaves a pull request in its queue.
    pub(crate) queue_ignores_pushes: bool,
    /// While set, nothing that happens sends a webhook.
    pub(crate) quiet: bool,
    /// What happened since somebody last asked, where somebody asks: workflows are started by it.
    pub(crate) bus: Option<Vec<Happened>>,
    pub(crate) post: Post,
    /// What is switched on of a bad day.
    pub(crate) weather: Option<Weather>,
    /// What struck on the last bad day that is over.
    pub(crate) past_day: Option<BTreeMap<Switch, u64>>,
    pub(crate) clock: Clock,
    /// What is played here, for those who keep what was said.
    pub(crate) story: String,
    /// The last moment that [`State::tick`] told.
    ticked: Timestamp,
}

impl State {
    pub(crate) fn new(base: String, data: PathBuf, post: Post) -> Self {
        let mut state = Self {
            base,
            data,
            shelves: Mutex::default(),
            last_id: 1_000,
            token_key: 0,
            token_requests: HashMap::new(),
            keys_given: 0,
            accounts: BTreeMap::new(),
            teams: BTreeMap::new(),
            repos: BTreeMap::new(),
            apps: BTreeMap::new(),
            installations: BTreeMap::new(),
            tokens: HashMap::new(),
            deliveries: BTreeMap::new(),
            log: Vec::new(),
            quotas: HashMap::new(),
            faults: Vec::new(),
            without: BTreeSet::new(),
            stages: BTreeMap::new(),
            settles: None,
            queue_lag: 0,
            queue_ignores_pushes: false,
            quiet: false,
            bus: None,
            post,
            weather: None,
            past_day: None,
            clock: Arc::new(Timestamp::now),
            story: super::exchange::story(),
            ticked: Timestamp::UNIX_EPOCH,
        };
        state.found_actions();
        state
    }

    /// GitHub Actions is an App that every repository has, with the id that everybody knows.
    fn found_actions(&mut self) {
        let owner = Account { id: 9_919, login: "github".into(), kind: AccountKind::Organization };
        let bot = Account { id: 41_898_282, login: "github-actions[bot]".into(), kind: AccountKind::Bot };
        self.accounts.insert(owner.id, owner.clone());
        self.accounts.insert(bot.id, bot.clone());
        let permissions = ["actions", "checks", "contents", "deployments", "issues", "pull_requests", "statuses"]
            .into_iter()
            .map(|name| (name.to_owned(), Level::Write))
            .chain([("metadata".to_owned(), Level::Read)])
            .collect();
        let app = App {
            id: ACTIONS_APP,
            slug: "github-actions".into(),
            name: "GitHub Actions".into(),
            client_id: "Iv1.05c79e9ad1f6bdfa".into(),
            owner,
            bot,
            hook_id: 1,
            webhook_url: None,
            webhook_secret: String::new(),
            permissions,
            events: ["workflow_dispatch".to_owned(), "repository_dispatch".to_owned()].into(),
            public_key: Vec::new(),
            created_at: self.now(),
        };
        self.apps.insert(app.id, app);
    }

    /// The time in whole seconds, which is all that GitHub tells. Never before a moment that was already told.
    pub(crate) fn now(&self) -> Timestamp {
        let now = (self.clock)();
        Timestamp::from_second(now.as_second()).unwrap_or(now).max(self.ticked)
    }

    /// A moment in whole seconds that is later than all before it. Where it matters what came first, a story that is
    /// played within one second must not lose the order.
    pub(crate) fn tick(&mut self) -> Timestamp {
        self.ticked = self.now().max(self.ticked + jiff::SignedDuration::from_secs(1));
        self.ticked
    }

    pub(crate) fn new_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    pub(crate) fn account(&self, login: &str) -> Option<&Account> {
        self.accounts.values().find(|account| account.login.eq_ignore_ascii_case(login))
    }

    pub(crate) fn repo_id(&self, owner: &str, name: &str) -> Option<u64> {
        self.repos
            .values()
            .find(|repo| repo.owner.login.eq_ignore_ascii_case(owner) && repo.name.eq_ignore_ascii_case(name))
            .map(|repo| repo.id)
    }

    pub(crate) fn repo(&self, id: u64) -> Result<&Repo, Problem> {
        self.repos.get(&id).ok_or_else(Problem::not_found)
    }

    pub(crate) fn repo_mut(&mut self, id: u64) -> Result<&mut Repo, Problem> {
        self.repos.get_mut(&id).ok_or_else(Problem::not_found)
    }

    pub(crate) fn issue(&self, repo: u64, number: u64) -> Result<&Issue, Problem> {
        self.repo(repo)?.issues.get(&number).ok_or_else(Problem::not_found)
    }

    pub(crate) fn issue_mut(&mut self, repo: u64, number: u64) -> Result<&mut Issue, Problem> {
        self.repo_mut(repo)?.issues.get_mut(&number).ok_or_else(Problem::not_found)
    }

    pub(crate) fn pull(&self, repo: u64, number: u64) -> Result<(&Issue, &Pull), Problem> {
        let issue = self.issue(repo, number)?;
        Ok((issue, issue.pull.as_ref().ok_or_else(Problem::not_found)?))
    }

    pub(crate) fn pull_mut(&mut self, repo: u64, number: u64) -> Result<&mut Pull, Problem> {
        let now = self.now();
        let issue = self.issue_mut(repo, number)?;
        issue.updated_at = now;
        issue.pull.as_mut().ok_or_else(Problem::not_found)
    }

    pub(crate) fn next_number(&self, repo: u64) -> Result<u64, Problem> {
        let repo = self.repo(repo)?;
        Ok(repo.issues.keys().chain(&repo.deleted_issues).max().map_or(1, |last| last + 1))
    }

    pub(crate) fn git_path(&self, repo: u64) -> PathBuf {
        self.data.join(format!("{repo}.git"))
    }

    pub(crate) fn git(&self, repo: u64) -> Result<Git, Problem> {
        let mut shelves = self.shelves.lock().unwrap_or_else(PoisonError::into_inner);
        let shelf = Arc::clone(shelves.entry(repo).or_default());
        Ok(Git::open(&self.git_path(repo), shelf)?)
    }

    /// What this account may do here, given or inherited.
    pub(crate) fn role(&self, repo: &Repo, account: u64) -> Role {
        if repo.owner.id == account {
            return Role::Admin;
        }
        let given = repo.roles.get(&account).copied().unwrap_or(Role::None);
        if repo.private { given } else { given.max(Role::Read) }
    }

    /// The installation of an App that covers this repository.
    pub(crate) fn installation_on(&self, app: u64, repo: u64) -> Option<&Installation> {
        self.installations.values().find(|one| one.app == app && one.repos.contains(&repo))
    }
}
