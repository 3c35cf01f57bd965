//! More verbs for the cast, and more ways to look at what came of it. The demo's story needs none of these.

use anyhow::Context as _;
use serde_json::{Value, json};

use super::{Bot, CHECK, REPO, Rehearsal, WORKFLOW};
use crate::gate::merge::CHECK_NAME;
use crate::twin::{CheckRun, Comment, Delivery, Issue, Logged, QueueMethod};

/// How the marker of an incident's issue begins.
const INCIDENT: &str = "<!-- phasegate:incident:";

/// The branch that the records are on.
pub const LEDGER: &str = "phasegate/ledger";

impl Rehearsal {
    /// Someone does something over the API, and everything that follows has happened.
    pub async fn does(&self, login: &str, method: &str, path: &str, body: Value) -> anyhow::Result<Value> {
        let answer = self.admin.call_as(login, method, &format!("/repos/{REPO}{path}"), body)?;
        self.settle().await?;
        Ok(answer)
    }

    /// Someone opens a pull request into another branch than `main`.
    pub async fn opens_into(&self, login: &str, title: &str, branch: &str, base: &str) -> anyhow::Result<u64> {
        let number = self.admin.open_pull(REPO, login, title, branch, base)?;
        self.settle().await?;
        Ok(number)
    }

    pub async fn closes(&self, login: &str, number: u64) -> anyhow::Result<()> {
        self.does(login, "PATCH", &format!("/pulls/{number}"), json!({ "state": "closed" })).await.map(drop)
    }

    pub async fn reopens(&self, login: &str, number: u64) -> anyhow::Result<()> {
        self.does(login, "PATCH", &format!("/pulls/{number}"), json!({ "state": "open" })).await.map(drop)
    }

    pub async fn retargets(&self, login: &str, number: u64, base: &str) -> anyhow::Result<()> {
        self.does(login, "PATCH", &format!("/pulls/{number}"), json!({ "base": base })).await.map(drop)
    }

    pub async fn puts_label(&self, login: &str, number: u64, label: &str) -> anyhow::Result<()> {
        self.does(login, "POST", &format!("/issues/{number}/labels"), json!({ "labels": [label] })).await.map(drop)
    }

    pub async fn takes_label(&self, login: &str, number: u64, label: &str) -> anyhow::Result<()> {
        let label = label.replace(':', "%3A");
        self.does(login, "DELETE", &format!("/issues/{number}/labels/{label}"), Value::Null).await.map(drop)
    }

    /// Someone opens an issue.
    pub async fn files_issue(&self, login: &str, title: &str) -> anyhow::Result<u64> {
        let made = self.does(login, "POST", "/issues", json!({ "title": title })).await?;
        made["number"].as_u64().context("an issue without a number")
    }

    /// Someone presses a button of the merge check.
    pub async fn presses(&self, login: &str, number: u64, button: &str) -> anyhow::Result<()> {
        let run = self.merge_run(number)?;
        self.admin.press(REPO, run.id, button, login)?;
        self.settle().await
    }

    /// Someone moves a branch to a commit that is there already.
    pub async fn force_pushes(&self, login: &str, branch: &str, commit: &str) -> anyhow::Result<()> {
        let body = json!({ "sha": commit, "force": true });
        self.does(login, "PATCH", &format!("/git/refs/heads/{branch}"), body).await.map(drop)
    }

    /// Someone writes on the ledger's branch, with the ruleset out of the way for that moment. `None` deletes a file.
    pub async fn rewrites_ledger(&self, login: &str, files: &[(&str, Option<&str>)]) -> anyhow::Result<()> {
        self.lift(LEDGER)?;
        self.admin.commit(REPO, login, LEDGER, "a small correction", files)?;
        self.admin.reserve_branch(REPO, LEDGER, self.app.id)?;
        self.settle().await
    }

    /// Someone moves the ledger's branch, with the ruleset out of the way for that moment.
    pub async fn moves_ledger(&self, login: &str, commit: &str) -> anyhow::Result<()> {
        self.lift(LEDGER)?;
        let body = json!({ "sha": commit, "force": true });
        self.admin.call_as(login, "PATCH", &format!("/repos/{REPO}/git/refs/heads/{LEDGER}"), body)?;
        self.admin.reserve_branch(REPO, LEDGER, self.app.id)?;
        self.settle().await
    }

    /// Someone commits to `main` itself, with the ruleset out of the way for that moment.
    pub async fn lands(&self, login: &str, message: &str, files: &[(&str, &str)]) -> anyhow::Result<String> {
        let queues = self.admin.repo(REPO)?.rulesets.into_values().filter(|ruleset| ruleset.name == "merge queue");
        let queues: Vec<_> = queues.collect();
        self.lift("merge queue")?;
        self.lift("required checks")?;
        let files: Vec<(&str, Option<&str>)> = files.iter().map(|(path, text)| (*path, Some(*text))).collect();
        let commit = self.admin.commit(REPO, login, "main", message, &files)?;
        self.admin.require_checks(REPO, &[(CHECK_NAME, Some(self.app.id))])?;
        for queue in queues {
            self.admin.add_ruleset(REPO, &queue.name, &["~DEFAULT_BRANCH"], queue.rules, queue.bypass)?;
        }
        self.settle().await?;
        Ok(commit)
    }

    /// `main` is merged into through a queue from now on.
    pub fn queues(&self, method: QueueMethod) -> anyhow::Result<()> {
        Ok(self.admin.require_queue(REPO, method).map(drop)?)
    }

    /// Someone puts a pull request into the merge queue; its group's commit, or what GitHub says when it refuses.
    pub async fn enqueues(&self, login: &str, number: u64) -> anyhow::Result<Result<String, String>> {
        let answer = self.admin.enqueue(REPO, login, number);
        self.settle().await?;
        match answer {
            Ok(group) => Ok(Ok(group)),
            Err(crate::twin::Error::Refused { message, .. }) => Ok(Err(message)),
            Err(error) => Err(error.into()),
        }
    }

    /// The commit of the group that a pull request is the last of.
    pub fn group(&self, number: u64) -> anyhow::Result<String> {
        let line = self.admin.queue(REPO, "main")?;
        let entry = line.into_iter().find(|entry| entry.number == number).context("it is not in the queue")?;
        Ok(entry.group.context("it has no group")?.head)
    }

    /// CI ran for a merge group.
    pub async fn group_ci(&self, commit: &str, conclusion: &str) -> anyhow::Result<()> {
        self.admin.workflow_run(REPO, commit, WORKFLOW, "merge_group", &[(CHECK, Some(conclusion))])?;
        self.settle().await
    }

    /// The merge check on a group's commit.
    pub fn group_run(&self, commit: &str) -> anyhow::Result<CheckRun> {
        self.run(commit, CHECK_NAME)?.context("there is no merge check on the group")
    }

    fn lift(&self, name: &str) -> anyhow::Result<()> {
        let rulesets = self.admin.repo(REPO)?.rulesets;
        for ruleset in rulesets.values().filter(|ruleset| ruleset.name == name) {
            self.admin.remove_ruleset(REPO, ruleset.id)?;
        }
        Ok(())
    }

    pub fn ledger_head(&self) -> anyhow::Result<Option<String>> {
        Ok(self.admin.branch(REPO, LEDGER)?)
    }

    /// A change's records, in order, as they are written.
    pub fn records(&self, number: u64) -> anyhow::Result<Vec<Value>> {
        let mut records = Vec::new();
        while let Some(text) = self.admin.file(REPO, LEDGER, &self.record_path(number, records.len() as u64 + 1))? {
            records.push(serde_json::from_str(&text)?);
        }
        Ok(records)
    }

    /// The path of one of a change's records.
    pub fn record_path(&self, number: u64, seq: u64) -> String {
        let folder = crate::ledger::folder(crate::ids::ChangeNumber(number));
        format!("{folder}/{}", crate::ledger::file_name(seq))
    }

    /// The merge check on a pull request's head.
    pub fn merge_run(&self, number: u64) -> anyhow::Result<CheckRun> {
        self.run(&self.head(number)?, CHECK_NAME)?.context("there is no merge check")
    }

    /// The one comment that shows where a change stands.
    pub fn status_comment(&self, number: u64) -> anyhow::Result<Comment> {
        let ours =
            self.admin.comments(REPO, number)?.into_iter().filter(|comment| comment.via_app == Some(self.app.id));
        let mut found: Vec<Comment> = ours.filter(|comment| comment.body.contains("### Phasegate: ")).collect();
        anyhow::ensure!(found.len() == 1, "there are {} comments that show where it stands", found.len());
        found.pop().context("there is none")
    }

    /// The bot's own issues, oldest first: its escalations.
    pub fn escalations(&self) -> anyhow::Result<Vec<Issue>> {
        let marks = |issue: &Issue, kind: &str| issue.body.as_ref().is_some_and(|body| body.contains(kind));
        let mut issues = self.own_issues()?;
        issues.retain(|issue| !marks(issue, "<!-- phasegate:part:") && !marks(issue, INCIDENT));
        Ok(issues)
    }

    /// Those that tell of incidents, oldest first.
    pub fn incidents(&self) -> anyhow::Result<Vec<Issue>> {
        let mut issues = self.own_issues()?;
        issues.retain(|issue| issue.body.as_ref().is_some_and(|body| body.contains(INCIDENT)));
        Ok(issues)
    }

    fn own_issues(&self) -> anyhow::Result<Vec<Issue>> {
        let login = match self.bot {
            Bot::Advisory => "github-actions[bot]".to_owned(),
            Bot::Action | Bot::Server => format!("{}[bot]", self.app.slug),
        };
        let issues = self.admin.repo(REPO)?.issues.into_values();
        Ok(issues.filter(|issue| issue.pull.is_none() && issue.user.login == login).collect())
    }

    /// Anything can be merged from here on: nothing requires a check any more.
    pub fn lifts_the_rules(&self) -> anyhow::Result<()> {
        let rulesets = self.admin.repo(REPO)?.rulesets;
        let found = rulesets.iter().find(|(_, ruleset)| ruleset.name == "required checks");
        let (id, _) = found.context("no ruleset requires a check")?;
        Ok(self.admin.remove_ruleset(REPO, *id)?)
    }

    /// The check is required again, from whoever has this App's id.
    pub fn requires_the_gate_of(&self, app: Option<u64>) -> anyhow::Result<()> {
        Ok(self.admin.require_checks(REPO, &[(CHECK_NAME, app)]).map(drop)?)
    }

    /// Someone deletes an issue.
    pub async fn deletes_issue(&self, login: &str, number: u64) -> anyhow::Result<()> {
        self.admin.delete_issue(REPO, login, number)?;
        self.settle().await
    }

    /// The reactions on a comment, in the order they were given.
    pub fn reactions(&self, comment: u64) -> anyhow::Result<Vec<String>> {
        let found = self.admin.repo(REPO)?.comments.get(&comment).cloned().context("no such comment")?;
        Ok(found.reactions.into_iter().map(|reaction| reaction.content).collect())
    }

    /// Every request of the bot since the log was last cleared.
    pub fn requests(&self) -> Vec<Logged> {
        let log = self.admin.request_log();
        log.into_iter().filter(|request| request.app == Some(self.app.id)).collect()
    }

    /// Those of them that were to change something.
    pub fn writes(&self) -> Vec<Logged> {
        self.requests().into_iter().filter(|request| request.is_write && !is_token(request)).collect()
    }

    /// Every delivery so far, each once.
    pub fn deliveries(&self) -> Vec<Delivery> {
        self.admin.deliveries(self.app.id).into_iter().filter(|delivery| !delivery.redelivery).collect()
    }

    /// The secret's signature over a body, as GitHub would send it.
    pub fn signature(&self, body: &[u8]) -> String {
        use aws_lc_rs::hmac;
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.app.webhook_secret.as_bytes());
        format!("sha256={}", hex::encode(hmac::sign(&key, body)))
    }

    /// Sends the bot a body as a delivery of its own. Answers the status.
    pub async fn posts(&self, event: &str, guid: &str, body: Vec<u8>) -> anyhow::Result<u16> {
        let url = self.server.as_ref().context("the bot is not running")?.webhook_url();
        let request = reqwest::Client::builder().no_proxy().build()?.post(url);
        let request = request.header("X-Hub-Signature-256", self.signature(&body));
        let request = request.header("X-GitHub-Event", event).header("X-GitHub-Delivery", guid);
        Ok(request.body(body).send().await?.status().as_u16())
    }
}

/// Asking for a token changes nothing that anybody sees.
fn is_token(request: &Logged) -> bool {
    request.path.ends_with("/access_tokens")
}
