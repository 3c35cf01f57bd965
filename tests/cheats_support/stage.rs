//! Plays the steps of half a story on a rehearsal of its own.
//!
//! Every step ends when all that follows from it has happened; nothing here sleeps.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, bail, ensure};
use phasegate::gate::merge::CHECK_NAME;
use phasegate::inbox::Which;
use phasegate::rehearsal::{Bot, CHECK, REPO, Rehearsal, Setup, WORKFLOW};
use phasegate::twin::{Error, Level, NewApp, QueueMethod, RequiredCheck, Role, Rule, Ruleset};
use serde::Deserialize;
use serde_json::{Value, json};

use super::story::{Step, Story, read};
use super::trusted::Trusted;
use super::{asked, expect, hostile, issue, ledger, weather};

/// GitHub Actions' own App.
const ACTIONS: u64 = 15368;
/// Where nobody listens: what is sent there waits for `webhooks: release`.
const NOWHERE: &str = "http://127.0.0.1:9/";

pub(crate) struct Stage {
    pub(crate) on: Rehearsal,
    /// Commits by the names that the story gives them.
    pub(crate) heads: BTreeMap<String, String>,
    /// Pull requests and issues by name, in the order they came.
    pub(crate) numbers: Vec<(String, u64)>,
    pub(crate) comments: BTreeMap<String, u64>,
    /// Runs of the trusted workflow by the names that the story gives them.
    pub(crate) asked: BTreeMap<String, Trusted>,
    apps: BTreeMap<String, u64>,
    pushes: usize,
    /// Deliveries sent before webhooks were held.
    held: Option<usize>,
    /// How many deliveries the story made itself.
    pub(crate) made: usize,
    database: String,
    _data: tempfile::TempDir,
}

pub(crate) async fn play(story: &Story, steps: &[Step], bot: Bot) -> anyhow::Result<()> {
    let data = tempfile::tempdir()?;
    let database = format!("sqlite:{}", data.path().join("inbox.db").display());
    let setup = Setup {
        policy: story.policy(),
        files: story.on_main(),
        database: Some(database.clone()),
        bot,
        runs: (story.policy == "runner").then(asked::runs),
        ..Setup::default()
    };
    let mut stage = Stage {
        on: Rehearsal::start(setup).await?,
        heads: BTreeMap::new(),
        numbers: Vec::new(),
        comments: BTreeMap::new(),
        asked: BTreeMap::new(),
        apps: BTreeMap::from([("actions".to_owned(), ACTIONS)]),
        pushes: 0,
        held: None,
        made: 0,
        database,
        _data: data,
    };
    stage.on.admin().plays(&format!("cheat: {}", story.name));
    for (at, step) in steps.iter().enumerate() {
        let who = step.who.as_deref().map(|who| format!("{who} ")).unwrap_or_default();
        let told = stage.step(step).await;
        told.with_context(|| format!("step {}, `{who}{}: {}`", at + 1, step.does, step.what))?;
    }
    stage.on.end().await;
    Ok(())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pushes {
    #[serde(default = "agents_branch")]
    branch: String,
    /// `null` deletes a file. Without any, a file of code changes.
    files: Option<BTreeMap<String, Option<String>>>,
    #[serde(default)]
    message: Option<String>,
    /// A force-push: on top of this commit (by name) or branch.
    onto: Option<String>,
    /// A force-push to this very commit.
    exactly: Option<String>,
    /// An admin lifts every rule for the moment it takes.
    #[serde(default)]
    around_the_rules: bool,
    /// The rules refuse it, and that is right.
    #[serde(default)]
    refused: bool,
    /// What to call the commit.
    #[serde(rename = "as")]
    name: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Links {
    #[serde(default = "agents_branch")]
    branch: String,
    /// Symbolic links, and where each leads.
    #[serde(default)]
    to: BTreeMap<String, String>,
    /// Paths where another repository is mounted.
    #[serde(default)]
    submodules: Vec<String>,
    #[serde(default)]
    around_the_rules: bool,
}

/// A commit out of nothing but its parents: the tree is the first one's, with these files in it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Makes {
    parents: Vec<String>,
    files: BTreeMap<String, Option<String>>,
    /// When it says it was made.
    date: String,
    #[serde(rename = "as")]
    name: String,
}

fn agents_branch() -> String {
    "agent/x".to_owned()
}

fn main_branch() -> String {
    "main".to_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Opens {
    #[serde(default = "agents_branch")]
    branch: String,
    #[serde(default = "main_branch")]
    base: String,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    body: Option<String>,
    #[serde(rename = "as")]
    name: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Says {
    text: String,
    on: Option<String>,
    #[serde(rename = "as")]
    name: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raises {
    #[serde(rename = "as")]
    name: String,
    /// The issue that it is to look like, to the last letter.
    forges: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reviews {
    verdict: String,
    text: Option<String>,
    commit: Option<String>,
    on: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EditsReview {
    of: String,
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edits {
    /// The name of a comment; `bot` is the bot's own, `answer` its newest answer.
    comment: String,
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ci {
    conclusion: Option<String>,
    #[serde(default = "workflow")]
    workflow: String,
    #[serde(default = "job")]
    job: String,
    #[serde(default = "event")]
    event: String,
    commit: Option<String>,
    /// Another attempt of the last run, instead of a run of its own.
    #[serde(default)]
    again: bool,
    /// More jobs of the run, with their conclusions.
    #[serde(default)]
    and: Vec<(String, String)>,
}

fn workflow() -> String {
    WORKFLOW.to_owned()
}

fn job() -> String {
    CHECK.to_owned()
}

fn event() -> String {
    "pull_request".to_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Posts {
    name: String,
    conclusion: String,
    commit: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rewrites {
    check: String,
    /// It is the bot's, and GitHub lets nobody else write it.
    #[serde(default)]
    ours: bool,
    name: Option<String>,
    conclusion: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Merges {
    ends: String,
    on: Option<String>,
    /// `merge`, `squash` or `rebase`.
    method: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Enqueues {
    on: Option<String>,
    /// Past what the base asks for.
    anyway: bool,
    #[serde(rename = "as")]
    name: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Aim {
    to: String,
    on: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Grants {
    to: String,
    role: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Short<T> {
    Word(String),
    Long(T),
}

/// What a step that can be refused came to.
fn as_told(ends: &str, done: Result<(), String>) -> anyhow::Result<()> {
    match (ends, done) {
        ("ok", Ok(())) | ("refused", Err(_)) => Ok(()),
        ("ok", Err(why)) => bail!("GitHub refused it: {why}"),
        ("refused", Ok(())) => bail!("GitHub let it through"),
        (other, _) => bail!("it ends as `ok` or `refused`, not as {other:?}"),
    }
}

impl Stage {
    async fn step(&mut self, step: &Step) -> anyhow::Result<()> {
        let what = &step.what;
        let who = || step.who.as_deref().context("who does it?");
        match step.does.as_str() {
            "expect" => return expect::hold(self, &read(what)?).await,
            "change" => return self.change(&read::<String>(what)?).await,
            "pushes" => self.pushes(who()?, what)?,
            "links" => self.links(who()?, &read(what)?)?,
            "makes" => self.makes(who()?, &read(what)?)?,
            "forks" => {
                let fork = format!(
                    "{}/{}",
                    who()?,
                    self.on.admin().fork(REPO, who()?)?.slug.rsplit('/').next().unwrap_or_default()
                );
                let files = [("src/a.py", Some("a = 2\n"))];
                let head = self.on.admin().commit(&fork, who()?, &agents_branch(), "forked", &files)?;
                self.heads.insert(read::<String>(what)?, head);
            }
            "long-ago" => {
                let number = self.number(read::<Option<String>>(what)?.as_deref())?;
                self.on.admin().long_ago(REPO, number)?;
            }
            "deletes-the-fork" => {
                let name = REPO.rsplit('/').next().unwrap_or_default();
                self.on.admin().delete_repo(&format!("{}/{name}", who()?))?;
            }
            "protects" => self.protects(&read::<String>(what)?)?,
            "opens" => self.opens(who()?, what)?,
            "raises" => self.raises(who()?, what)?,
            "says" => self.says(who()?, what)?,
            "edits" => {
                let edit: Edits = read(what)?;
                let path = format!("/repos/{REPO}/issues/comments/{}", self.comment(&edit.comment)?);
                self.on.admin().call_as(who()?, "PATCH", &path, json!({ "body": self.filled(&edit.text)? }))?;
            }
            "deletes" => {
                let name: String = read(what)?;
                let path = format!("/repos/{REPO}/issues/comments/{}", self.comment(&name)?);
                self.on.admin().call_as(who()?, "DELETE", &path, Value::Null)?;
            }
            "reviews" => self.reviews(who()?, what)?,
            "edits-the-review" => self.edits_the_review(who()?, &read::<EditsReview>(what)?)?,
            "dismisses" => self.dismisses(who()?, &read::<String>(what)?)?,
            "ci" => self.ci(what)?,
            "asked" => asked::name(self, read(what)?)?,
            "trusted" => {
                let how = match read::<Option<Short<asked::Answers>>>(what)? {
                    None => asked::Answers::default(),
                    Some(Short::Word(run)) => read(&json!({ "run": run }))?,
                    Some(Short::Long(how)) => how,
                };
                return asked::answers(self, how).await;
            }
            "dispatches" => asked::dispatches(self, who()?, &read(what)?)?,
            "cancels" => {
                let run = asked::run(self, read::<Option<String>>(what)?.as_deref())?;
                self.on.admin().end_run(REPO, run, "cancelled")?;
            }
            "reruns" => {
                let run = asked::run(self, read::<Option<String>>(what)?.as_deref())?;
                self.on.admin().rerun(REPO, run, &[("execute", None), ("post", None)])?;
            }
            "posts" => {
                let post: Posts = read(what)?;
                let (app, head) = (self.app(who()?)?, self.commit(post.commit.as_deref())?);
                let body = json!({
                    "name": post.name, "head_sha": head, "status": "completed", "conclusion": post.conclusion,
                });
                self.on.admin().check_run_as(app, REPO, body)?;
            }
            "rewrites" => self.rewrites(who()?, &read(what)?)?,
            "deletes-the-run" => {
                let path = format!("/repos/{REPO}/actions/runs/{}", self.last_run()?);
                self.call(who()?, "DELETE", &path, Value::Null)?;
            }
            "sets-status" => {
                let post: Posts = read(what)?;
                let head = self.commit(post.commit.as_deref())?;
                self.on.admin().commit_status(REPO, who()?, &head, &post.name, &post.conclusion)?;
            }
            "labels" => issue::labels(self, who()?, &read(what)?)?,
            "rewords" => issue::rewords(self, who()?, &read(what)?)?,
            "deletes-the-issue" => {
                let number = self.number(Some(&read::<String>(what)?))?;
                self.on.admin().delete_issue(REPO, who()?, number)?;
            }
            "presses" => {
                let run = self.on.merge_run(self.number(None)?)?;
                self.on.admin().press(REPO, run.id, &read::<String>(what)?, who()?)?;
            }
            "merges" => {
                let merge = match read::<Option<Short<Merges>>>(what)? {
                    None => Merges { ends: "ok".to_owned(), on: None, method: None },
                    Some(Short::Word(ends)) => Merges { ends, on: None, method: None },
                    Some(Short::Long(merge)) => merge,
                };
                let refused = {
                    let (number, method) = (self.number(merge.on.as_deref())?, merge.method.as_deref());
                    self.on.merges_by(method.unwrap_or("merge"), who()?, number).await?
                };
                as_told(&merge.ends, refused.map(drop))?;
            }
            "queue" => {
                let method = match read::<String>(what)?.as_str() {
                    "merge" => QueueMethod::Merge,
                    "squash" => QueueMethod::Squash,
                    other => bail!("a queue merges or squashes, not {other:?}"),
                };
                self.on.queues(method)?;
            }
            "enqueues" => self.enqueues(who()?, what)?,
            "slips-in" => {
                let files: BTreeMap<String, String> = read(what)?;
                let files: Vec<(&str, &str)> =
                    files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
                let group = self.on.admin().slip_into_group(REPO, self.number(None)?, &files)?;
                self.heads.insert("group".to_owned(), group);
            }
            "queue-ignores-pushes" => self.on.admin().queue_ignores_pushes(true),
            "retargets" => {
                let aim = match read(what)? {
                    Short::Word(to) => Aim { to, on: None },
                    Short::Long(aim) => aim,
                };
                self.edit_pull(who()?, aim.on.as_deref(), json!({ "base": aim.to }))?;
            }
            "closes" => self.edit_pull(who()?, what.as_str(), json!({ "state": "closed" }))?,
            "reopens" => self.edit_pull(who()?, what.as_str(), json!({ "state": "open" }))?,
            "lifts-the-rules" => drop(self.lift()?),
            "grants" => {
                let grant: Grants = read(what)?;
                self.on.admin().set_role(REPO, &grant.to, role(&grant.role)?)?;
            }
            "tampers" => ledger::tamper(self, who()?, &read(what)?)?,
            "webhooks" => return self.webhooks(&read::<String>(what)?).await,
            "delivers" => return hostile::deliver(self, &read(what)?).await,
            "replays" => return hostile::replay(self, &read(what)?).await,
            "strikes" => {
                weather::strikes(self, read(what)?);
                return Ok(());
            }
            "bad-day" => {
                weather::bad_day(self, read(what)?);
                return Ok(());
            }
            "calm" => return weather::calm(self).await,
            "hours-pass" => return weather::hours_pass(self, read(what)?).await,
            "retries" => {
                let revived = self.on.server().context("the bot is off")?.inbox().retry_dead(Which::All).await?;
                ensure!(revived == read::<u64>(what)?, "{revived} dead letters were given a new life");
            }
            "reinstalls" => {
                let app = self.on.app().id;
                self.on.admin().uninstall(app, REPO)?;
                self.on.admin().install(app, REPO)?;
            }
            // A run remembers nothing, so each is another one.
            "restarts" | "loses-the-database" if self.on.bot() != Bot::Server => {}
            "restarts" => {
                self.on.stop_server().await;
                self.on.start_server().await?;
            }
            "loses-the-database" => {
                self.on.stop_server().await;
                let file = self.database.trim_start_matches("sqlite:");
                for end in ["", "-wal", "-shm"] {
                    match std::fs::remove_file(format!("{file}{end}")) {
                        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
                        _ => {}
                    }
                }
                self.on.start_server().await?;
            }
            other => bail!("there is no step `{other}`"),
        }
        self.settle().await
    }

    /// Waits for all that follows, and does not wait for the time between two tries.
    pub(crate) async fn settle(&self) -> anyhow::Result<()> {
        for _ in 0..20 {
            self.on.settle().await?;
            let Some(server) = self.on.server() else { return Ok(()) };
            if server.inbox().stats().await?.parked == 0 {
                return Ok(());
            }
            let pool = sqlx::SqlitePool::connect(&self.database).await?;
            sqlx::query("update inbox_deliveries set not_before = 0 where state = 'open'").execute(&pool).await?;
            pool.close().await;
            server.inbox().notify();
        }
        bail!("it never settles")
    }

    /// How most stories begin: the agent's commit (called `first`) is proposed, proven by CI, approved by mia.
    async fn change(&mut self, how: &str) -> anyhow::Result<()> {
        let far = ["proposed", "proven", "approved"].iter().position(|known| *known == how);
        let far = far.with_context(|| format!("a change is proposed, proven or approved, not {how:?}"))?;
        self.pushes("rover", &json!({ "as": "first" }))?;
        self.opens("rover", &Value::Null)?;
        self.settle().await?;
        if far >= 1 {
            self.ci(&"success".into())?;
            self.settle().await?;
        }
        if far >= 2 {
            self.reviews("mia", &"APPROVE".into())?;
            self.settle().await?;
        }
        Ok(())
    }

    fn pushes(&mut self, who: &str, what: &Value) -> anyhow::Result<()> {
        let push: Pushes = read(or_empty(what, &json!({})))?;
        self.pushes += 1;
        let code = format!("def lamp():\n    return {}\n", self.pushes);
        let files = push.files.unwrap_or_else(|| BTreeMap::from([("src/a.py".to_owned(), Some(code))]));
        let files: BTreeMap<String, Option<String>> = files
            .into_iter()
            .map(|(path, text)| {
                let text = text.map(|text| good(&path, &text)).transpose()?;
                Ok((path, text.as_deref().map(repeated)))
            })
            .collect::<anyhow::Result<_>>()?;
        let files: Vec<(&str, Option<&str>)> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_deref())).collect();
        let message = push.message.unwrap_or_else(|| format!("push {}", self.pushes));
        let onto = push.onto.as_ref().map(|onto| self.heads.get(onto).unwrap_or(onto).clone());
        let lifted = if push.around_the_rules { self.lift()? } else { Vec::new() };
        let head = match &push.exactly {
            Some(name) => {
                let sha = self.commit(Some(name))?;
                let (refs, branch) = (format!("/repos/{REPO}/git/refs"), &push.branch);
                match self.on.admin().branch(REPO, branch)? {
                    Some(_) => {
                        let body = json!({ "sha": sha, "force": true });
                        self.on.admin().call_as(who, "PATCH", &format!("{refs}/heads/{branch}"), body)?
                    }
                    None => {
                        let body = json!({ "sha": sha, "ref": format!("refs/heads/{branch}") });
                        self.on.admin().call_as(who, "POST", &refs, body)?
                    }
                };
                sha
            }
            None => {
                let made = self.on.admin().commit_onto(REPO, who, &push.branch, onto.as_deref(), &message, &files);
                ensure!(made.is_err() == push.refused, "the push was answered with {made:?}");
                made.unwrap_or_default()
            }
        };
        self.restore(&lifted)?;
        if let Some(name) = push.name {
            self.heads.insert(name, head);
        }
        Ok(())
    }

    fn enqueues(&mut self, who: &str, what: &Value) -> anyhow::Result<()> {
        let enqueue: Enqueues = match read::<Option<Short<Enqueues>>>(what)? {
            None => Enqueues::default(),
            Some(Short::Word(on)) => Enqueues { on: Some(on), ..Enqueues::default() },
            Some(Short::Long(enqueue)) => enqueue,
        };
        let (admin, number) = (self.on.admin(), self.number(enqueue.on.as_deref())?);
        let group = match enqueue.anyway {
            true => admin.enqueue_anyway(REPO, who, number)?,
            false => admin.enqueue(REPO, who, number)?,
        };
        self.heads.insert(enqueue.name.unwrap_or_else(|| "group".to_owned()), group);
        Ok(())
    }

    fn makes(&mut self, who: &str, make: &Makes) -> anyhow::Result<()> {
        let mut parents = Vec::new();
        for parent in &make.parents {
            parents.push(match self.on.admin().branch(REPO, parent)? {
                Some(branch) => branch,
                None => self.commit(Some(parent))?,
            });
        }
        let entry = |(path, text): (&String, &Option<String>)| match text {
            None => json!({ "path": path, "mode": "100644", "type": "blob", "sha": null }),
            Some(text) => json!({ "path": path, "mode": "100644", "type": "blob", "content": text }),
        };
        let entries: Vec<Value> = make.files.iter().map(entry).collect();
        let git = format!("/repos/{REPO}/git");
        let base = parents.first().context("a commit has a parent")?.clone();
        let made = self.call(who, "POST", &format!("{git}/trees"), json!({ "base_tree": base, "tree": entries }))?;
        let by = json!({ "name": who, "email": format!("{who}@users.noreply.github.com"), "date": make.date });
        let body = json!({ "message": "made", "tree": made["sha"], "parents": parents, "author": by, "committer": by });
        let made = self.call(who, "POST", &format!("{git}/commits"), body)?;
        self.heads.insert(make.name.clone(), made["sha"].as_str().context("a commit has an id")?.to_owned());
        Ok(())
    }

    /// A commit of symbolic links and of other repositories.
    fn links(&mut self, who: &str, links: &Links) -> anyhow::Result<()> {
        let admin = self.on.admin();
        let old = admin.branch(REPO, &links.branch)?;
        let parent = old.clone().or(admin.branch(REPO, "main")?).context("there is a main")?;
        let entry =
            |(path, to): (&String, &String)| json!({ "path": path, "mode": "120000", "type": "blob", "content": to });
        let mut entries: Vec<Value> = links.to.iter().map(entry).collect();
        let module = |path: &String| json!({ "path": path, "mode": "160000", "type": "commit", "sha": parent });
        entries.extend(links.submodules.iter().map(module));
        let git = format!("/repos/{REPO}/git");
        let made =
            admin.call_as(who, "POST", &format!("{git}/trees"), json!({ "base_tree": parent, "tree": entries }))?;
        let body = json!({ "message": "links", "tree": made["sha"], "parents": [parent] });
        let made = admin.call_as(who, "POST", &format!("{git}/commits"), body)?;
        let lifted = if links.around_the_rules { self.lift()? } else { Vec::new() };
        let (admin, branch) = (self.on.admin(), &links.branch);
        match old {
            Some(_) => {
                admin.call_as(who, "PATCH", &format!("{git}/refs/heads/{branch}"), json!({ "sha": made["sha"] }))?
            }
            None => {
                let body = json!({ "sha": made["sha"], "ref": format!("refs/heads/{branch}") });
                admin.call_as(who, "POST", &format!("{git}/refs"), body)?
            }
        };
        self.restore(&lifted)
    }

    /// The branch requires our check from now on.
    fn protects(&mut self, branch: &str) -> anyhow::Result<()> {
        let check = RequiredCheck { context: CHECK_NAME.to_owned(), integration_id: Some(self.on.app().id) };
        let rules = vec![Rule::RequiredChecks { checks: vec![check], strict: false }];
        self.on.admin().add_ruleset(REPO, branch, &[&format!("refs/heads/{branch}")], rules, Vec::new())?;
        Ok(())
    }

    fn opens(&mut self, who: &str, what: &Value) -> anyhow::Result<()> {
        let open: Opens = read(or_empty(what, &json!({})))?;
        let title = open.title.unwrap_or_else(|| "A brighter lamp".to_owned());
        let body = json!({ "title": title, "head": open.branch, "base": open.base, "body": open.body });
        let made = self.on.admin().call_as(who, "POST", &format!("/repos/{REPO}/pulls"), body)?;
        let number = made["number"].as_u64().context("a pull request has a number")?;
        self.numbers.push((open.name.unwrap_or_else(|| format!("pull {}", self.numbers.len() + 1)), number));
        Ok(())
    }

    /// An issue. It never becomes the story's own pull request.
    fn raises(&mut self, who: &str, what: &Value) -> anyhow::Result<()> {
        let raises = match read(what)? {
            Short::Word(name) => Raises { name, forges: None },
            Short::Long(raises) => raises,
        };
        let name = raises.name;
        let body = match raises.forges {
            None => json!({ "title": name }),
            Some(forged) => {
                let real = self.on.admin().issue(REPO, self.number(Some(&forged))?)?;
                json!({ "title": real.title, "body": real.body, "labels": ["phasegate:escalation"] })
            }
        };
        let made = self.on.admin().call_as(who, "POST", &format!("/repos/{REPO}/issues"), body)?;
        self.numbers.push((name, made["number"].as_u64().context("an issue has a number")?));
        Ok(())
    }

    fn says(&mut self, who: &str, what: &Value) -> anyhow::Result<()> {
        let says = match read(what)? {
            Short::Word(text) => Says { text, on: None, name: None },
            Short::Long(says) => says,
        };
        let (number, text) = (self.number(says.on.as_deref())?, self.filled(&says.text)?);
        let path = format!("/repos/{REPO}/issues/{number}/comments");
        self.on.is_read();
        let made = self.call(who, "POST", &path, json!({ "body": text }))?;
        if let (Some(name), Some(id)) = (says.name, made["id"].as_u64()) {
            self.comments.insert(name, id);
        }
        Ok(())
    }

    fn reviews(&mut self, who: &str, what: &Value) -> anyhow::Result<()> {
        let review = match read(what)? {
            Short::Word(verdict) => Reviews { verdict, text: None, commit: None, on: None },
            Short::Long(review) => review,
        };
        let number = self.number(review.on.as_deref())?;
        let mut body = json!({ "event": review.verdict, "body": review.text.unwrap_or_else(|| "Read it.".to_owned()) });
        if let Some(name) = review.commit {
            body["commit_id"] = self.commit(Some(&name))?.into();
        }
        self.on.is_read();
        self.call(who, "POST", &format!("/repos/{REPO}/pulls/{number}/reviews"), body).map(drop)
    }

    fn edits_the_review(&mut self, who: &str, edit: &EditsReview) -> anyhow::Result<()> {
        let path = self.review_of(&edit.of)?;
        self.call(who, "PUT", &path, json!({ "body": edit.text })).map(drop)
    }

    /// Where somebody's newest review is.
    fn review_of(&self, whose: &str) -> anyhow::Result<String> {
        let number = self.number(None)?;
        let issue = self.on.admin().issue(REPO, number)?;
        let reviews = issue.pull.context("reviews are on pull requests")?.reviews;
        let review = reviews.iter().rev().find(|review| review.user.login == whose).context("no such review")?;
        Ok(format!("/repos/{REPO}/pulls/{number}/reviews/{}", review.id))
    }

    fn dismisses(&mut self, who: &str, whose: &str) -> anyhow::Result<()> {
        let path = format!("{}/dismissals", self.review_of(whose)?);
        self.call(who, "PUT", &path, json!({ "message": "not any more" })).map(drop)
    }

    fn ci(&mut self, what: &Value) -> anyhow::Result<()> {
        let ci = match read(what)? {
            Short::Word(conclusion) => read::<Ci>(&json!({ "conclusion": conclusion }))?,
            Short::Long(ci) => ci,
        };
        let first = (ci.job.as_str(), ci.conclusion.as_deref());
        let more = ci.and.iter().map(|(name, end)| (name.as_str(), Some(end.as_str())));
        let jobs: Vec<(&str, Option<&str>)> = [first].into_iter().chain(more).collect();
        if ci.again {
            self.on.admin().rerun(REPO, self.last_run()?, &jobs)?;
        } else {
            let head = self.commit(ci.commit.as_deref())?;
            self.on.admin().workflow_run(REPO, &head, &ci.workflow, &ci.event, &jobs)?;
        }
        Ok(())
    }

    fn last_run(&self) -> anyhow::Result<u64> {
        let runs = self.on.admin().repo(REPO)?.workflow_runs;
        runs.keys().next_back().copied().context("no workflow has run yet")
    }

    /// An App writes over check runs: those of Actions' App are every workflow's to write.
    fn rewrites(&mut self, who: &str, rewrite: &Rewrites) -> anyhow::Result<()> {
        let (app, head) = (self.app(who)?, self.commit(None)?);
        let runs = self.on.admin().check_runs(REPO, &head)?;
        let whose = if rewrite.ours { self.on.app().id } else { app };
        let run =
            runs.iter().rev().find(|run| run.name == rewrite.check && run.app == whose).context("no such check")?;
        let mut body = json!({});
        if let Some(name) = &rewrite.name {
            body["name"] = name.as_str().into();
        }
        if let Some(conclusion) = &rewrite.conclusion {
            (body["status"], body["conclusion"]) = ("completed".into(), conclusion.as_str().into());
        }
        let path = format!("/repos/{REPO}/check-runs/{}", run.id);
        let done = self.on.admin().call_as_app(app, REPO, "PATCH", &path, body);
        ensure!(done.is_err() == rewrite.ours, "it was answered with {done:?}");
        Ok(())
    }

    fn edit_pull(&mut self, who: &str, which: Option<&str>, body: Value) -> anyhow::Result<()> {
        let number = self.number(which)?;
        let kind = if self.on.admin().issue(REPO, number)?.pull.is_some() { "pulls" } else { "issues" };
        self.call(who, "PATCH", &format!("/repos/{REPO}/{kind}/{number}"), body).map(drop)
    }

    /// `hold` keeps what GitHub would send; `release` sends it in order, `release newest first` the other way round.
    async fn webhooks(&mut self, how: &str) -> anyhow::Result<()> {
        let app = self.on.app().id;
        if self.on.bot() != Bot::Server {
            return self.runs(how).await;
        }
        let url = self.on.server().context("the bot is off stage")?.webhook_url();
        if how == "hold" {
            self.held = Some(self.on.admin().attempts(app));
            self.on.admin().set_webhook_url(app, Some(NOWHERE))?;
            return Ok(());
        }
        self.on.admin().wait_idle().await;
        let from = self.held.take().context("nothing is held")?;
        let mut waiting = self.on.admin().deliveries(app).split_off(from);
        match how {
            "release" => {}
            "lose" => waiting.clear(),
            "release newest first" => waiting.reverse(),
            other => bail!("webhooks are held and released, not {other:?}"),
        }
        self.on.admin().set_webhook_url(app, Some(&url))?;
        for delivery in waiting {
            let status = hostile::send(self, &delivery.event, &delivery.guid, &delivery.payload.to_string()).await?;
            ensure!((200..300).contains(&status), "{} was answered with {status}", delivery.event);
            self.settle().await?;
        }
        Ok(())
    }

    /// The same where there is no server: the runs wait, which they would have started.
    async fn runs(&mut self, how: &str) -> anyhow::Result<()> {
        match how {
            "hold" => {
                self.on.holds_runs();
                Ok(())
            }
            "release" => self.on.lets_runs_go(|_| ()).await,
            "lose" => self.on.lets_runs_go(Vec::clear).await,
            "release newest first" => self.on.lets_runs_go(|runs| runs.reverse()).await,
            other => bail!("webhooks are held and released, not {other:?}"),
        }
    }

    /// Takes every rule off the repository, as an admin can.
    pub(crate) fn lift(&self) -> anyhow::Result<Vec<Ruleset>> {
        let rules: Vec<Ruleset> = self.on.admin().repo(REPO)?.rulesets.into_values().collect();
        for ruleset in &rules {
            self.on.admin().remove_ruleset(REPO, ruleset.id)?;
        }
        Ok(rules)
    }

    pub(crate) fn restore(&self, rules: &[Ruleset]) -> anyhow::Result<()> {
        for one in rules {
            let include: Vec<&str> = one.include.iter().map(String::as_str).collect();
            self.on.admin().add_ruleset(REPO, &one.name, &include, one.rules.clone(), one.bypass.clone())?;
        }
        Ok(())
    }

    /// A call as a person, or as an App (`app:NAME`, which comes into being when it is first named).
    pub(crate) fn call(&mut self, who: &str, method: &str, path: &str, body: Value) -> anyhow::Result<Value> {
        if who.starts_with("app:") {
            let app = self.app(who)?;
            return Ok(self.on.admin().call_as_app(app, REPO, method, path, body)?);
        }
        self.on.admin().call_as(who, method, path, body).map_err(|error| match error {
            Error::Refused { message, .. } => anyhow::anyhow!("GitHub refused it: {message}"),
            error => error.into(),
        })
    }

    fn app(&mut self, who: &str) -> anyhow::Result<u64> {
        let name = who.strip_prefix("app:").with_context(|| format!("`{who}` is no App"))?;
        if let Some(app) = self.apps.get(name) {
            return Ok(*app);
        }
        let permissions = ["checks", "pull_requests", "issues", "contents", "statuses"];
        let new = NewApp {
            name: name.to_owned(),
            permissions: permissions.iter().map(|one| ((*one).to_owned(), Level::Write)).collect(),
            ..NewApp::default()
        };
        let app = self.on.admin().register_app("octo-org", new)?.id;
        self.on.admin().install(app, REPO)?;
        self.apps.insert(name.to_owned(), app);
        Ok(app)
    }

    /// The number of a pull request or issue by name; without one, of the first pull request. `escalation` is the newest
    /// issue of the bot's.
    pub(crate) fn number(&self, name: Option<&str>) -> anyhow::Result<u64> {
        match name {
            Some("escalation") => {
                let newest = self.on.escalations()?.pop().context("the bot has asked nothing")?;
                Ok(newest.number)
            }
            Some(name) => {
                let found = self.numbers.iter().find(|(known, _)| known == name);
                found.map(|(_, number)| *number).with_context(|| format!("nothing is called {name:?}"))
            }
            None => {
                let issues = self.on.admin().repo(REPO)?.issues;
                let pull = |number: &u64| issues.get(number).is_some_and(|issue| issue.pull.is_some());
                let first = self.numbers.iter().map(|(_, number)| *number).find(pull);
                first.context("no pull request was opened yet")
            }
        }
    }

    /// A commit by name; without one, the head of the first pull request.
    pub(crate) fn commit(&self, name: Option<&str>) -> anyhow::Result<String> {
        match name {
            Some("main") => self.on.admin().branch(REPO, "main")?.context("there is a main"),
            Some(name) => self.heads.get(name).cloned().with_context(|| format!("no commit is called {name:?}")),
            None => self.on.head(self.number(None)?),
        }
    }

    fn comment(&self, name: &str) -> anyhow::Result<u64> {
        if name == "bot" || name == "answer" {
            let login = format!("{}[bot]", self.on.app().slug);
            let comments = self.on.admin().comments(REPO, self.number(None)?)?;
            let mut own = comments.into_iter().filter(|comment| comment.user.login == login);
            let own = if name == "bot" { own.next() } else { own.skip(1).last() };
            return own.map(|comment| comment.id).with_context(|| format!("there is no {name}"));
        }
        self.comments.get(name).copied().with_context(|| format!("no comment is called {name:?}"))
    }

    /// `{3 x ab}` becomes `ababab`, `{head}` becomes the head's first 12 digits, `{NAME}` those of the commit of that name.
    pub(crate) fn filled(&self, text: &str) -> anyhow::Result<String> {
        let mut out = repeated(text);
        for (name, sha) in &self.heads {
            out = out.replace(&format!("{{{name}}}"), &sha[..12]);
        }
        for (name, number) in &self.numbers {
            out = out.replace(&format!("{{#{name}}}"), &format!("#{number}"));
        }
        if out.contains("{head}") {
            out = out.replace("{head}", &self.commit(None)?[..12]);
        }
        Ok(out)
    }

    /// The bot's comments on the story's pull request and on every issue.
    pub(crate) fn bot_comments(&self) -> anyhow::Result<Vec<String>> {
        let numbers: BTreeSet<u64> = self.numbers.iter().map(|(_, number)| *number).collect();
        let mut all = Vec::new();
        for number in numbers {
            all.extend(self.on.bot_comments(number)?);
        }
        Ok(all)
    }
}

fn role(name: &str) -> anyhow::Result<Role> {
    Ok(match name {
        "none" => Role::None,
        "read" => Role::Read,
        "triage" => Role::Triage,
        "write" => Role::Write,
        "maintain" => Role::Maintain,
        "admin" => Role::Admin,
        other => bail!("there is no role {other:?}"),
    })
}

/// `{good}` is the good document of that path, the code that they ask for, or what the trusted workflow's project has there, `{good|this=>that|more=>less}` the same with other words in it.
fn good(path: &str, text: &str) -> anyhow::Result<String> {
    let known = phasegate::rehearsal::papers::ALL.into_iter().chain(phasegate::rehearsal::papers::CODE);
    let known = known.chain(asked::FILES);
    let document = known.into_iter().find(|(one, _)| *one == path);
    let (Some((_, good)), Some((before, rest))) = (document, text.split_once("{good")) else {
        return Ok(text.to_owned());
    };
    let (changes, after) = rest.split_once('}').context("`{good` is never closed")?;
    let mut whole = good.to_owned();
    for change in changes.split('|').filter(|change| !change.is_empty()) {
        let (this, that) = change.split_once("=>").with_context(|| format!("{change:?} changes nothing"))?;
        ensure!(whole.contains(this), "the good {path} does not say {this:?}");
        whole = whole.replace(this, that);
    }
    Ok(format!("{before}{whole}{after}"))
}

/// `{3 x ab}` becomes `ababab`.
fn repeated(text: &str) -> String {
    let part = |from: &str| -> Option<(String, usize)> {
        let (count, rest) = from.split_once(" x ")?;
        let (what, _) = rest.split_once('}')?;
        Some((what.repeat(count.parse().ok()?), count.len() + what.len() + 4))
    };
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        match part(after) {
            Some((many, length)) => {
                out.push_str(&many);
                rest = &after[length..];
            }
            None => {
                out.push('{');
                rest = after;
            }
        }
    }
    out + rest
}

/// A step without anything behind it takes its defaults.
fn or_empty<'v>(what: &'v Value, empty: &'v Value) -> &'v Value {
    if what.is_null() { empty } else { what }
}
