//! Who and what is on stage: people, organisations, repositories and Apps, and how they come there.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::KeyPair as _;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::json;
use uuid::Uuid;

use super::admin::Admin;
use super::api::contents::identity;
use super::auth::{Grants, Scope, Token};
use super::git::{Change, Git};
use super::model::*;
use super::reply::Problem;
use super::state::State;
use super::view::node;
use super::{Error, Result};

/// A person with a token.
#[derive(Debug, Clone)]
pub struct UserHandle {
    pub id: u64,
    pub login: String,
    pub token: String,
}

#[derive(Debug, Clone)]
pub struct RepoHandle {
    pub id: u64,
    /// `owner/name`.
    pub slug: String,
    /// The commit that `main` starts with.
    pub head: String,
}

/// How a repository begins.
#[derive(Debug, Clone, Default)]
pub struct NewRepo {
    pub private: bool,
    /// The files of the first commit. A README is written when there are none.
    pub files: Vec<(String, String)>,
}

/// An App to be registered.
#[derive(Debug, Clone, Default)]
pub struct NewApp {
    pub name: String,
    pub webhook_url: Option<String>,
    pub webhook_secret: String,
    /// `("checks", Level::Write)` and so on. Reading metadata is always among them.
    pub permissions: Vec<(String, Level)>,
    pub events: Vec<String>,
}

/// A registered App with all that its owner is given.
#[derive(Clone)]
pub struct AppHandle {
    pub id: u64,
    pub slug: String,
    pub client_id: String,
    /// PKCS#1, as GitHub hands it out.
    pub pem: String,
    pub webhook_secret: String,
}

impl std::fmt::Debug for AppHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AppHandle").field("id", &self.id).field("slug", &self.slug).finish_non_exhaustive()
    }
}

impl AppHandle {
    /// A JWT that GitHub would accept: issued a minute back, good for nine.
    pub fn jwt(&self) -> Result<String> {
        let now = jiff::Timestamp::now().as_second();
        self.jwt_with(&json!({"iat": now - 60, "exp": now + 540, "iss": self.client_id}))
    }

    /// A JWT with these claims, right or wrong.
    pub fn jwt_with(&self, claims: &serde_json::Value) -> Result<String> {
        let key = EncodingKey::from_rsa_pem(self.pem.as_bytes()).map_err(|_| Error::Key)?;
        jsonwebtoken::encode(&Header::new(Algorithm::RS256), claims, &key).map_err(|_| Error::Key)
    }
}

/// A key pair: the private half as PKCS#1 PEM, the public half as DER.
type Pair = (String, Vec<u8>);

/// The keys that were made so far. Making one takes a while, and hundreds of twins can have the same ones: what matters is
/// that each gives out none twice. Twins of one process have them from here, and those of several from the folder that
/// `PHASEGATE_TWIN_KEYS` names.
static MADE: Mutex<Vec<Pair>> = Mutex::new(Vec::new());

fn nth_key(at: usize) -> Result<Pair> {
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    while made.len() <= at {
        let next = shown(&kept_key(made.len())?)?;
        made.push(next);
    }
    made.get(at).cloned().ok_or(Error::Key)
}

/// The private half of a key that signs the tokens of jobs. It is none that an App is given.
pub(crate) fn token_key(at: usize) -> Result<String> {
    static MADE: Mutex<BTreeMap<usize, String>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pem) = made.get(&at) {
        return Ok(pem.clone());
    }
    let (pem, _) = shown(&kept_key(TOKEN_KEYS + at)?)?;
    made.insert(at, pem.clone());
    Ok(pem)
}

/// No twin has as many Apps.
const TOKEN_KEYS: usize = 1000;

/// The key of this number: whoever comes first makes it.
fn kept_key(at: usize) -> Result<KeyPair> {
    let new = || KeyPair::generate(KeySize::Rsa2048).map_err(|_| Error::Key);
    let Some(folder) = std::env::var_os("PHASEGATE_TWIN_KEYS").filter(|folder| !folder.is_empty()) else {
        return new();
    };
    let file = Path::new(&folder).join(format!("{at}.der"));
    if let Some(pair) = std::fs::read(&file).ok().and_then(|der| KeyPair::from_pkcs8(&der).ok()) {
        return Ok(pair);
    }
    let pair = new()?;
    let der: Pkcs8V1Der<'_> = pair.as_der().map_err(|_| Error::Key)?;
    // Whole or not at all. One that can't be kept is as good.
    if let Ok(mut draft) = tempfile::NamedTempFile::new_in(&folder)
        && draft.write_all(der.as_ref()).is_ok()
    {
        let _ = draft.persist(&file);
    }
    Ok(pair)
}

fn shown(pair: &KeyPair) -> Result<Pair> {
    let der: Pkcs8V1Der<'_> = pair.as_der().map_err(|_| Error::Key)?;
    // A PKCS#8 envelope of a 2048-bit RSA key is a fixed 26 bytes; GitHub gives out what is inside.
    let inner = der.as_ref().get(26..).ok_or(Error::Key)?;
    let mut pem = String::from("-----BEGIN RSA PRIVATE KEY-----\n");
    use base64::Engine as _;
    let flat = base64::engine::general_purpose::STANDARD.encode(inner);
    for line in flat.as_bytes().chunks(64) {
        pem.extend(line.iter().map(|byte| char::from(*byte)));
        pem.push('\n');
    }
    pem.push_str("-----END RSA PRIVATE KEY-----\n");
    Ok((pem, pair.public_key().as_ref().to_vec()))
}

fn slug_of(name: &str) -> String {
    let dashed: String = name.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    dashed.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

impl State {
    fn give_key(&mut self) -> Result<Pair> {
        self.keys_given += 1;
        nth_key(self.keys_given - 1)
    }

    fn new_account(&mut self, login: &str, kind: AccountKind) -> std::result::Result<Account, Problem> {
        if self.account(login).is_some() {
            return Err(Problem::field("User", "login", "already_exists", None));
        }
        let account = Account { id: self.new_id(), login: login.to_owned(), kind };
        self.accounts.insert(account.id, account.clone());
        Ok(account)
    }

    fn new_repo(&mut self, slug: &str, fork_of: Option<u64>, private: bool) -> std::result::Result<u64, Problem> {
        let (owner, name) = slug.split_once('/').ok_or_else(Problem::not_found)?;
        if self.repo_id(owner, name).is_some() {
            return Err(Problem::field("Repository", "name", "already_exists", None));
        }
        let owner = self.account(owner).ok_or_else(Problem::not_found)?.clone();
        let (id, at) = (self.new_id(), self.now());
        let repo = Repo {
            id,
            owner,
            name: name.to_owned(),
            private,
            default_branch: "main".into(),
            fork_of,
            has_issues: true,
            deleted_issues: BTreeSet::new(),
            roles: BTreeMap::new(),
            issues: BTreeMap::new(),
            labels: BTreeMap::new(),
            comments: BTreeMap::new(),
            suites: BTreeMap::new(),
            check_runs: BTreeMap::new(),
            workflows: BTreeMap::new(),
            workflow_runs: BTreeMap::new(),
            artifacts: BTreeMap::new(),
            jobs: BTreeMap::new(),
            statuses: Vec::new(),
            rulesets: BTreeMap::new(),
            queues: BTreeMap::new(),
            deployments: BTreeMap::new(),
            dispatches: Vec::new(),
            activities: Vec::new(),
            created_at: at,
            pushed_at: at,
        };
        Git::init(&self.git_path(id), &repo.default_branch)?;
        self.repos.insert(id, repo);
        Ok(id)
    }

    /// Tells one App about its own installation.
    fn tell_installation(&mut self, installation: u64, event: &str, action: &str, added: &[u64], removed: &[u64]) {
        let Some(one) = self.installations.get(&installation).cloned() else { return };
        let brief = |state: &Self, ids: &[u64]| -> serde_json::Value {
            let repos = ids.iter().filter_map(|id| state.repos.get(id));
            repos
                .map(|repo| {
                    json!({
                        "id": repo.id, "node_id": node("R", repo.id), "name": repo.name,
                        "full_name": repo.full_name(), "private": repo.private,
                    })
                })
                .collect()
        };
        let mut payload = json!({
            "action": action, "installation": self.installation_json(&one),
            "sender": self.user_json(&one.account), "requester": null,
        });
        match event {
            "installation" => payload["repositories"] = brief(self, added),
            _ => {
                payload["repository_selection"] = "selected".into();
                payload["repositories_added"] = brief(self, added);
                payload["repositories_removed"] = brief(self, removed);
            }
        }
        self.deliver(one.app, event, Some(action), Some(installation), None, payload);
    }
}

impl Admin {
    /// A person, with a personal token.
    pub fn create_user(&self, login: &str) -> Result<UserHandle> {
        let mut state = self.state();
        let account = state.new_account(login, AccountKind::User)?;
        let token = format!("ghp_{}", Uuid::new_v4().simple());
        state.tokens.insert(token.clone(), Token { grants: Grants::User(account.id), expires_at: None });
        Ok(UserHandle { id: account.id, login: account.login, token })
    }

    pub fn create_org(&self, login: &str) -> Result<u64> {
        let mut state = self.state();
        let account = state.new_account(login, AccountKind::Organization)?;
        state.teams.insert(account.id, Vec::new());
        Ok(account.id)
    }

    /// A team of an organisation. Asked again, it replaces the members.
    pub fn set_team(&self, org: &str, slug: &str, members: &[(&str, TeamRole)]) -> Result<()> {
        let mut state = self.state();
        let mut found = BTreeMap::new();
        for (login, role) in members {
            found.insert(state.account(login).ok_or_else(Problem::not_found)?.id, *role);
        }
        let org = state.account(org).ok_or_else(Problem::not_found)?.id;
        let id = state.new_id();
        let teams = state.teams.get_mut(&org).ok_or_else(Problem::not_found)?;
        teams.retain(|team| team.slug != slug);
        teams.push(Team { id, slug: slug.to_owned(), members: found });
        Ok(())
    }

    /// A repository with its first commit on `main`.
    pub fn create_repo(&self, slug: &str, new: NewRepo) -> Result<RepoHandle> {
        let mut state = self.state();
        let id = state.new_repo(slug, None, new.private)?;
        let owner = state.repo(id)?.owner.clone();
        let git = state.git(id)?;
        let mut files: Vec<Change> =
            new.files.into_iter().map(|(path, text)| (path, Some(text.into_bytes()))).collect();
        if files.is_empty() {
            files.push(("README.md".into(), Some(format!("# {slug}\n").into_bytes())));
        }
        let (name, email) = identity(&owner);
        let tree = git.tree_with(None, &files)?;
        let head = git.commit(tree, &[], "Initial commit", (&name, &email), (&name, &email))?;
        git.set_ref("refs/heads/main", head)?;
        Ok(RepoHandle { id, slug: slug.to_owned(), head: head.to_string() })
    }

    /// A fork with all branches, owned by someone else.
    pub fn fork(&self, slug: &str, owner: &str) -> Result<RepoHandle> {
        let mut state = self.state();
        let source = self.find(&state, slug)?;
        let (name, private) = (state.repo(source)?.name.clone(), state.repo(source)?.private);
        let slug = format!("{owner}/{name}");
        let id = state.new_repo(&slug, Some(source), private)?;
        let git = state.git(id)?;
        git.bring(&state.git_path(source), "refs/heads/*", "refs/heads/*")?;
        let head = git.branch("main").map(|id| id.to_string()).unwrap_or_default();
        Ok(RepoHandle { id, slug, head })
    }

    /// All that happened on an issue or pull request so far was a day earlier.
    pub fn long_ago(&self, slug: &str, number: u64) -> Result<()> {
        let mut state = self.state();
        let repo = self.find(&state, slug)?;
        let issue = state.issue_mut(repo, number)?;
        let day = jiff::SignedDuration::from_hours(24);
        issue.created_at -= day;
        issue.updated_at -= day;
        issue.closed_at = issue.closed_at.map(|at| at - day);
        Ok(())
    }

    /// A repository is deleted, by its owner.
    pub fn delete_repo(&self, slug: &str) -> Result<()> {
        let mut state = self.state();
        let id = self.find(&state, slug)?;
        state.repos.remove(&id);
        Ok(())
    }

    /// Gives an App another key, whose private half is returned; the one it had is no good any more.
    pub fn change_key(&self, app: u64) -> Result<String> {
        let mut state = self.state();
        let (pem, public_key) = state.give_key()?;
        state.apps.get_mut(&app).ok_or_else(Problem::not_found)?.public_key = public_key;
        Ok(pem)
    }

    /// Gives a repository another name, which its id survives.
    pub fn rename_repo(&self, slug: &str, name: &str) -> Result<()> {
        let mut state = self.state();
        let id = self.find(&state, slug)?;
        let (from, owner) = (state.repo(id)?.name.clone(), state.repo(id)?.owner.clone());
        if state.repo_id(&owner.login, name).is_some() {
            return Err(Problem::field("Repository", "name", "already_exists", None).into());
        }
        state.repo_mut(id)?.name = name.to_owned();
        let fields = json!({"changes": {"repository": {"name": {"from": from}}}});
        state.emit(id, "repository", Some("renamed"), &owner, fields);
        Ok(())
    }

    pub fn set_role(&self, repo: &str, login: &str, role: Role) -> Result<()> {
        let mut state = self.state();
        let id = self.find(&state, repo)?;
        let account = state.account(login).ok_or_else(Problem::not_found)?.id;
        state.repo_mut(id)?.roles.insert(account, role);
        Ok(())
    }

    /// Registers an App with a key of its own.
    pub fn register_app(&self, owner: &str, new: NewApp) -> Result<AppHandle> {
        let mut state = self.state();
        let (pem, public_key) = state.give_key()?;
        let owner = state.account(owner).ok_or_else(Problem::not_found)?.clone();
        let slug = slug_of(&new.name);
        let bot = state.new_account(&format!("{slug}[bot]"), AccountKind::Bot)?;
        let (id, hook_id) = (state.new_id(), state.new_id());
        let mut permissions: Permissions = new.permissions.into_iter().collect();
        permissions.insert("metadata".into(), Level::Read);
        let client_id = format!("Iv23li{}", &Uuid::new_v4().simple().to_string()[..14]);
        let app = App {
            id,
            slug: slug.clone(),
            name: new.name,
            client_id: client_id.clone(),
            owner,
            bot,
            hook_id,
            webhook_url: new.webhook_url,
            webhook_secret: new.webhook_secret.clone(),
            permissions,
            events: new.events.into_iter().collect(),
            public_key,
            created_at: state.now(),
        };
        state.apps.insert(id, app);
        Ok(AppHandle { id, slug, client_id, pem, webhook_secret: new.webhook_secret })
    }

    /// `None` stops deliveries: then nothing is sent, and nothing is logged as missed.
    pub fn set_webhook_url(&self, app: u64, url: Option<&str>) -> Result<()> {
        let mut state = self.state();
        let app = state.apps.get_mut(&app).ok_or_else(Problem::not_found)?;
        app.webhook_url = url.map(str::to_owned);
        Ok(())
    }

    /// Installs an App on a repository, with all permissions it asks for. One account has one installation.
    pub fn install(&self, app: u64, repo: &str) -> Result<u64> {
        let mut state = self.state();
        let repo = self.find(&state, repo)?;
        let account = state.repo(repo)?.owner.clone();
        let permissions = state.apps.get(&app).ok_or_else(Problem::not_found)?.permissions.clone();
        let there = state.installations.values_mut().find(|one| one.app == app && one.account.id == account.id);
        if let Some(one) = there {
            let (id, new) = (one.id, one.repos.insert(repo));
            if new {
                state.tell_installation(id, "installation_repositories", "added", &[repo], &[]);
            }
            return Ok(id);
        }
        let id = state.new_id();
        let (repos, created_at) = (BTreeSet::from([repo]), state.now());
        let one = Installation { id, app, account, repos, permissions, created_at, suspended_at: None };
        state.installations.insert(id, one);
        state.tell_installation(id, "installation", "created", &[repo], &[]);
        Ok(id)
    }

    /// Takes an App off a repository; off the last one, the installation goes too, and its tokens with it.
    pub fn uninstall(&self, app: u64, repo: &str) -> Result<()> {
        let mut state = self.state();
        let repo = self.find(&state, repo)?;
        let id = state.installation_on(app, repo).ok_or_else(Problem::not_found)?.id;
        let last = state.installations.get_mut(&id).is_some_and(|one| {
            one.repos.remove(&repo);
            one.repos.is_empty()
        });
        if last {
            state.tell_installation(id, "installation", "deleted", &[repo], &[]);
            state.installations.remove(&id);
        } else {
            state.tell_installation(id, "installation_repositories", "removed", &[], &[repo]);
        }
        Ok(())
    }

    /// Its owner suspends an App on a repository's account, or lets it in again: until then it hears nothing, and has no
    /// token. Which repositories that is about is not told.
    pub fn suspend(&self, app: u64, repo: &str, suspended: bool) -> Result<()> {
        let mut state = self.state();
        let repo = self.find(&state, repo)?;
        let (id, now) = (state.installation_on(app, repo).ok_or_else(Problem::not_found)?.id, state.now());
        if let Some(one) = state.installations.get_mut(&id) {
            one.suspended_at = suspended.then_some(now);
        }
        let action = if suspended { "suspend" } else { "unsuspend" };
        state.tell_installation(id, "installation", action, &[], &[]);
        Ok(())
    }

    /// A workflow's `GITHUB_TOKEN` for one repository, with these permissions.
    pub fn actions_token(&self, repo: &str, permissions: &[(&str, Level)]) -> Result<String> {
        let mut state = self.state();
        let repo = self.find(&state, repo)?;
        let mut permissions: Permissions =
            permissions.iter().map(|(name, level)| ((*name).to_owned(), *level)).collect();
        permissions.insert("metadata".into(), Level::Read);
        let scope = Scope { app: ACTIONS_APP, installation: 0, permissions, repos: Some(BTreeSet::from([repo])) };
        let token = format!("ghs_{}", Uuid::new_v4().simple());
        let expires_at = Some(state.now() + jiff::SignedDuration::from_hours(1));
        state.tokens.insert(token.clone(), Token { grants: Grants::Installation(scope), expires_at });
        Ok(token)
    }

    /// An installation token as the API would give it, without asking over HTTP.
    pub fn installation_token(&self, installation: u64) -> Result<String> {
        let mut state = self.state();
        let one = state.installations.get(&installation).ok_or_else(Problem::not_found)?;
        let scope = Scope { app: one.app, installation: one.id, permissions: one.permissions.clone(), repos: None };
        let token = format!("ghs_{}", Uuid::new_v4().simple());
        let expires_at = Some(state.now() + jiff::SignedDuration::from_hours(1));
        state.tokens.insert(token.clone(), Token { grants: Grants::Installation(scope), expires_at });
        Ok(token)
    }

    /// Ends every installation token at once, as an hour would.
    pub fn expire_installation_tokens(&self) {
        let mut state = self.state();
        for token in state.tokens.values_mut().filter(|token| token.expires_at.is_some()) {
            token.expires_at = Some(jiff::Timestamp::UNIX_EPOCH);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_signs_what_its_public_half_verifies() {
        let (pem, public) = nth_key(0).unwrap();
        let app = AppHandle { id: 1, slug: "s".into(), client_id: "c".into(), pem, webhook_secret: String::new() };
        let jwt = app.jwt().unwrap();
        let key = jsonwebtoken::DecodingKey::from_rsa_der(&public);
        let validation = jsonwebtoken::Validation::new(Algorithm::RS256);
        assert!(jsonwebtoken::decode::<serde_json::Value>(&jwt, &key, &validation).is_ok());
    }

    #[test]
    fn slugs_are_lower_case_words() {
        assert_eq!(slug_of("Phase Gate (dev)"), "phase-gate-dev");
    }
}
