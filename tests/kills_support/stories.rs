//! Short stories, which together pass every point. Everybody waits for the bot at every step.

use anyhow::{Context as _, ensure};
use phasegate::gate::merge::CHECK_NAME;
use phasegate::rehearsal::{MERGE_POLICY, PIPELINE_POLICY, REPO, Rehearsal, Setup, papers};
use phasegate::twin::{Delivery, Effect, Fault, Feature, QueueMethod, RequiredCheck, Rule};
use serde_json::json;

use super::bot::Bot;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Story {
    /// From the pull request to its merge, with an approval that a push makes stale.
    Merged,
    /// Stopped, asked about in an issue, answered there; then given up.
    Stopped,
    /// Stopped, with people assigned; answered with a fix; stopped again, brought to mind, and split.
    Resolved,
    /// Stopped, answered with another plan; stopped again, answered with other criteria.
    Amended,
    /// Stepped: a wait is answered on its issue; then a gate fails as often as it may, and that is answered, too.
    Waited,
    /// The pipeline flow: a gate fails with more findings than GitHub takes at once, then passes.
    Expanded,
    /// Two pull requests with one head.
    Rivals,
    /// A merge queue, with a stop after entering.
    Queued,
    /// What only the bot may write is meddled with.
    Meddled,
    /// GitHub fails, limits and suspends, and something comes that nobody can read.
    Stormy,
    /// The pull request was opened before the bot was there.
    Missed,
    /// On a GitHub without GraphQL and git over HTTP.
    Plain,
    /// Evidence is asked of the trusted workflow, once for each content.
    Asked,
    /// The bot puts a document right by a commit of its own.
    Repaired,
    /// Snapshots are copied to the branch, and the commits of that are all that comes of it.
    Copied,
    /// Nobody is heard of, and the lease runs out once.
    Leased,
    /// Merged around the gate: an incident, closed by somebody.
    Bypassed,
    /// Without a server: each event starts a run of the Action, which keeps nothing.
    Acted,
}

impl Story {
    /// The longest come first: whoever waits at the end is not to wait for one of them.
    pub(crate) const ALL: [Self; 18] = [
        Self::Acted,
        Self::Queued,
        Self::Rivals,
        Self::Merged,
        Self::Expanded,
        Self::Repaired,
        Self::Copied,
        Self::Resolved,
        Self::Amended,
        Self::Waited,
        Self::Stopped,
        Self::Leased,
        Self::Bypassed,
        Self::Meddled,
        Self::Stormy,
        Self::Plain,
        Self::Asked,
        Self::Missed,
    ];

    /// Whether a server plays in it.
    pub(crate) fn is_served(self) -> bool {
        self != Self::Acted
    }

    pub(crate) fn setup(self) -> Setup {
        match self {
            Self::Acted => Setup { bot: phasegate::rehearsal::Bot::Action, ..Setup::with_policy(PIPELINE_POLICY) },
            Self::Amended | Self::Expanded | Self::Meddled => Setup::with_policy(PIPELINE_POLICY),
            Self::Repaired => {
                let by_commit = "gates:\n  reconcile: { repairs: commit }\n";
                Setup::with_policy(&PIPELINE_POLICY.replacen("gates:\n", by_commit, 1))
            }
            Self::Copied => Setup::with_policy(&format!("{MERGE_POLICY}ledger: {{ snapshots: branch }}\n")),
            Self::Resolved | Self::Bypassed => {
                Setup::with_policy(&format!("{MERGE_POLICY}people: {{ escalate: [\"@mia\"] }}\n"))
            }
            Self::Waited => Setup::with_policy(&format!("{PIPELINE_POLICY}mode: stepped\n")),
            Self::Leased => Setup::with_policy(&format!("{PIPELINE_POLICY}agents: {{ lease: 2h }}\n")),
            Self::Rivals => Setup::with_policy(&format!("{MERGE_POLICY}branches: [stable]\n")),
            Self::Plain => {
                Setup { without: &[Feature::Graphql, Feature::GitOverHttp], ..Setup::with_policy(MERGE_POLICY) }
            }
            Self::Asked => {
                Setup { files: vec![(EVIDENCE.to_owned(), TRUSTED.to_owned())], ..Setup::with_policy(ACTIONS) }
            }
            _ => Setup::with_policy(MERGE_POLICY),
        }
    }

    /// Plays it, from the moment that the App is installed. Gives the numbers of its changes.
    pub(crate) async fn play(self, on: &Rehearsal, bot: &Bot) -> anyhow::Result<Vec<u64>> {
        if self == Self::Missed {
            return missed(on).await;
        }
        on.settle().await?;
        on.install().await?;
        match self {
            Self::Acted => acted(on).await,
            Self::Merged => merged(on).await,
            Self::Stopped => stopped(on).await,
            Self::Resolved => resolved(on).await,
            Self::Amended => amended(on).await,
            Self::Waited => waited(on).await,
            Self::Expanded => expanded(on).await,
            Self::Rivals => rivals(on).await,
            Self::Queued => queued(on).await,
            Self::Meddled => meddled(on).await,
            Self::Stormy => stormy(on, bot).await,
            Self::Missed => missed(on).await,
            Self::Plain => plain(on).await,
            Self::Asked => asks(on).await,
            Self::Repaired => repaired(on).await,
            Self::Copied => copied(on).await,
            Self::Leased => leased(on).await,
            Self::Bypassed => bypassed(on).await,
        }
    }
}

const ACTIONS: &str = "gates: { verify: { from: [actions], run: [sh test.sh], reports: [out.xml] } }\n";
const EVIDENCE: &str = ".github/workflows/phasegate-evidence.yml";
const TRUSTED: &str = include_str!("../../templates/evidence/.github/workflows/phasegate-evidence.yml");

/// A run for each content, and never a second one.
async fn asks(on: &Rehearsal) -> anyhow::Result<Vec<u64>> {
    let runs = |many: usize| -> anyhow::Result<()> {
        let asked = on.admin().dispatched(REPO, EVIDENCE)?;
        ensure!(asked.len() == many, "{} runs were asked for, not {many}: {asked:?}", asked.len());
        Ok(())
    };
    let number = proposes(on, "work").await?;
    runs(1)?;
    on.pushes("rover", "work", "more work", &[("src/more.py", "pass\n")]).await?;
    runs(2)?;
    on.says("tim", number, "/status").await?;
    runs(2)?;
    Ok(vec![number])
}

/// `rover` proposes one file on a branch of that name.
async fn proposes(on: &Rehearsal, branch: &str) -> anyhow::Result<u64> {
    let (message, path) = (format!("work on {branch}"), format!("src/{branch}.py"));
    on.pushes("rover", branch, &message, &[(path.as_str(), "def shine(): pass\n")]).await?;
    on.opens("rover", "Shine", branch).await
}

/// CI is green on the head and `mia` approves it.
async fn proves(on: &Rehearsal, number: u64) -> anyhow::Result<()> {
    on.ci(&on.head(number)?, "success").await?;
    on.reviews("mia", number, "APPROVE").await?;
    shows(on, number, "success")
}

fn shows(on: &Rehearsal, number: u64, conclusion: &str) -> anyhow::Result<()> {
    let run = on.merge_run(number)?;
    ensure!(run.conclusion.as_deref() == Some(conclusion), "#{number} is not {conclusion}: {:?}", run.title);
    Ok(())
}

/// The bot's newest escalation.
fn asked(on: &Rehearsal) -> anyhow::Result<u64> {
    Ok(on.escalations()?.last().context("nobody was asked")?.number)
}

async fn merged(on: &Rehearsal) -> anyhow::Result<Vec<u64>> {
    let number = proposes(on, "work").await?;
    on.says("tim", number, "/status").await?;
    on.says("ada", number, "/unblock please").await?;
    proves(on, number).await?;
    on.pushes("rover", "work", "more work", &[("src/more.py", "pass\n")]).await?;
    shows(on, number, "action_required")?;
    on.presses("ada", number, "explain").await?;
    proves(on, number).await?;
    on.merges("ada", number).await?.map_err(anyhow::Error::msg)?;
    Ok(vec![number])
}

async fn stopped(on: &Rehearsal) -> anyhow::Result<Vec<u64>> {
    let number = proposes(on, "work").await?;
    on.says("ada", number, "/stop it leaks").await?;
    shows(on, number, "failure")?;
    on.says("mia", asked(on)?, "/resolve A it is tight now").await?;
    ensure!(on.escalations()?.iter().all(|issue| !issue.open), "the answer was not heard");
    on.says("ada", number, "/stop it leaks again").await?;
    on.says("mia", asked(on)?, "/resolve C nobody needs it").await?;
    ensure!(on.pull(number)?["state"] == "closed", "it was not given up");
    Ok(vec![number])
}

async fn resolved(on: &Rehearsal) -> anyhow::Result<Vec<u64>> {
    let number = proposes(on, "work").await?;
    on.says("ada", number, "/stop it leaks").await?;
    let head = on.head(number)?;
    let fix = "fix_description: it is tight\nfix_artifacts:\n  src/work.py: |\n    def shine(): return 1";
    on.says("mia", asked(on)?, &format!("/resolve PROVIDE_FIX\n```yaml\n{fix}\n```")).await?;
    ensure!(on.head(number)? != head, "the fix is not there");
    on.says("ada", number, "/stop it is two things").await?;
    let issue = asked(on)?;
    on.time_passes(std::time::Duration::from_secs(25 * 3600)).await?;
    on.says("tim", issue, "What is it about?").await?;
    let reminders = on.bot_comments(issue)?.iter().filter(|said| said.contains("still waits")).count();
    ensure!(reminders == 1, "{reminders} reminders");
    let part = |name: &str, needs: &str| {
        format!("\n  - {{ name: {name}, description: it, acceptance_criteria: [it works], depends_on: [{needs}] }}")
    };
    let parts = format!("new_tasks:{}{}", part("bulb", "wire"), part("wire", ""));
    // Whoever gave the fix has a hand in it now.
    on.says("root", issue, &format!("/resolve SPLIT_TASK\n```yaml\n{parts}\n```")).await?;
    ensure!(on.pull(number)?["state"] == "closed", "it was not given up");
    let issues = on.admin().repo(REPO)?.issues;
    let made = issues.values().filter(|issue| ["bulb", "wire"].contains(&issue.title.as_str())).count();
    ensure!(made == 2, "{made} parts");
    Ok(vec![number])
}

/// Each answer is recorded once and leads back to its phase once.
async fn amended(on: &Rehearsal) -> anyhow::Result<Vec<u64>> {
    let number = proposes(on, "work").await?;
    on.says("ada", number, "/expand a dimmer").await?;
    let files: Vec<(&str, &str)> = papers::ALL.into_iter().chain(papers::CODE).collect();
    on.pushes("rover", "work", "the dimmer", &files).await?;
    on.says("ada", number, "/stop scope: it has doubled").await?;
    let plan = "revised_micro_plan:\n  - { module_id: reader, description: it reads, depends_on: [] }";
    on.says("mia", asked(on)?, &format!("/resolve REVISE_PLAN\n```yaml\n{plan}\n```")).await?;
    ensure!(on.label(number)?.as_deref() == Some("phase:design"), "it did not go back to its design");
    on.says("ada", number, "/stop unsafe: it burns").await?;
    let criteria = "amended_acceptance_criteria: [\"AC-1: It stays cold.\"]\namendment_rationale: it burns";
    on.says("mia", asked(on)?, &format!("/resolve AMEND_SPEC\n```yaml\n{criteria}\n```")).await?;
    ensure!(on.label(number)?.as_deref() == Some("phase:expand"), "it did not go back to its scope");
    let kinds = |kind: &str| -> anyhow::Result<usize> {
        let named = format!("\"kind\":\"{kind}\"");
        Ok(on.records(number)?.iter().filter(|one| one.to_string().contains(&named)).count())
    };
    let found = (on.escalations()?.len(), kinds("resolved")?, kinds("replanned")?, kinds("rescoped")?);
    ensure!(found == (2, 2, 1, 1), "issues, resolutions, plans and scopes: {found:?}");
    ensure!(on.escalations()?.iter().all(|issue| !issue.open), "an answer was not heard");
    Ok(vec![number])
}

/// A wait and a blocked gate: an issue and a resolution for each.
async fn waited(on: &Rehearsal) -> anyhow::Result<Vec<u64>> {
    let number = proposes(on, "work").await?;
    on.says("ada", number, "/expand a dimmer").await?;
    on.pushes("rover", "work", "a scope", &papers::of("scaffolding/scope.md")).await?;
    on.says("rover", number, "/expand").await?;
    ensure!(on.label(number)?.as_deref() == Some("phase:paused"), "it does not wait");
    on.says("mia", asked(on)?, "/resolve CONTINUE").await?;
    ensure!(on.label(number)?.as_deref() == Some("phase:design"), "the answer was not heard");
    for _ in 0..3 {
        on.says("rover", number, "/design").await?;
    }
    ensure!(on.label(number)?.as_deref() == Some("phase:blocked"), "it is not blocked");
    on.says("mia", asked(on)?, "/resolve A look again").await?;
    ensure!(on.label(number)?.as_deref() == Some("phase:design"), "the answer was not heard");
    let answers = on.records(number)?.iter().filter(|one| one.to_string().contains("\"kind\":\"resolved\"")).count();
    let found = (on.escalations()?.len(), answers);
    ensure!(found == (2, 2), "issues and resolutions: {found:?}");
    ensure!(on.escalations()?.iter().all(|issue| !issue.open), "an answer was not heard");
    Ok(vec![number])
}

async fn expanded(on: &Rehearsal) -> anyhow::Result<Vec<u64>> {
    let number = proposes(on, "work").await?;
    on.says("ada", number, "/expand a dimmer").await?;
    let criteria: String = (0..60).map(|n| format!("- AC-{n}X It is fine.\n")).collect();
    let poor = format!("# Scope\n\n## Problem\n\nDark.\n\n## Acceptance Criteria\n\n{criteria}");
    on.pushes("rover", "work", "a poor scope", &[("scaffolding/scope.md", poor.as_str())]).await?;
    on.says("rover", number, "/expand").await?;
    ensure!(on.label(number)?.as_deref() == Some("phase:expand"), "a poor scope passed");
    on.pushes("rover", "work", "a scope", &papers::of("scaffolding/scope.md")).await?;
    on.says("rover", number, "/expand").await?;
    ensure!(on.label(number)?.as_deref() == Some("phase:design"), "a good scope did not pass");
    Ok(vec![number])
}

/// One drop, however often the timer fires, and one way back.
async fn leased(on: &Rehearsal) -> anyhow::Result<Vec<u64>> {
    let number = proposes(on, "work").await?;
    on.says("ada", number, "/expand a dimmer").await?;
    for _ in 0..2 {
        on.time_passes(std::time::Duration::from_secs(3 * 3600)).await?;
        ensure!(on.label(number)?.as_deref() == Some("phase:dropped"), "it was not dropped");
    }
    on.pushes("rover", "work", "a scope", &papers::of("scaffolding/scope.md")).await?;
    ensure!(on.label(number)?.as_deref() == Some("phase:design"), "it was not taken up");
    let drops = on.records(number)?.iter().filter(|one| one.to_string().contains("\"lapsed\"")).count();
    ensure!(drops == 1, "it was dropped {drops} times");
    Ok(vec![number])
}

/// One issue, that is closed by one person.
async fn bypassed(on: &Rehearsal) -> anyhow::Result<Vec<u64>> {
    let number = proposes(on, "work").await?;
    on.lifts_the_rules()?;
    on.merges("root", number).await?.map_err(anyhow::Error::msg)?;
    let told = on.incidents()?;
    let [issue] = &told[..] else { anyhow::bail!("{} incidents", told.len()) };
    on.does("mia", "PATCH", &format!("/issues/{}", issue.number), json!({ "state": "closed" })).await?;
    let kinds = |kind: &str| -> anyhow::Result<usize> {
        let named = format!("\"kind\":\"{kind}\"");
        Ok(on.records(number)?.iter().filter(|one| one.to_string().contains(&named)).count())
    };
    let found = (on.incidents()?.len(), kinds("incident")?, kinds("incident_shown")?, kinds("incident_noted")?);
    ensure!(found == (1, 1, 1, 1), "issues and records: {found:?}");
    Ok(vec![number])
}

/// One commit for what is out of step, and nobody has to look again.
async fn repaired(on: &Rehearsal) -> anyhow::Result<Vec<u64>> {
    let number = proposes(on, "work").await?;
    on.says("ada", number, "/expand a dimmer").await?;
    let astray = papers::READINESS.replace("tests/test_dimmer.py::test_dark", "tests/test_dark.py::test_dark");
    let mut files: Vec<(&str, &str)> = papers::ALL.into_iter().chain(papers::CODE).collect();
    files[3].1 = &astray;
    files.push(("src/work.py", "def shine():\n    return 10\n"));
    let head = on.pushes("rover", "work", "the dimmer", &files).await?;
    on.ci(&head, "success").await?;
    on.reviews("mia", number, "APPROVE").await?;
    let mended = on.head(number)?;
    ensure!(mended != head, "nothing was put right");
    on.ci(&mended, "success").await?;
    ensure!(on.label(number)?.as_deref() == Some("phase:verified"), "something went stale");
    Ok(vec![number])
}

/// A copy of each snapshot, and a change that stays green under them.
async fn copied(on: &Rehearsal) -> anyhow::Result<Vec<u64>> {
    let number = proposes(on, "work").await?;
    proves(on, number).await?;
    let on_ledger = on.admin().file(REPO, "phasegate/ledger", &format!("changes/0/{number}/context/latest.md"))?;
    let copy = on.admin().file(REPO, "work", &format!("agent/context/pr-{number}/latest.md"))?;
    ensure!(on_ledger.is_some() && copy == on_ledger, "the latest snapshot was not copied: {copy:?}");
    let head = on.head(number)?;
    on.ci(&head, "success").await?;
    shows(on, number, "success")?;
    ensure!(on.head(number)? == head, "the bot goes on committing");
    Ok(vec![number])
}

/// A change with its phases, stopped and let go on.
pub(crate) async fn acted(on: &Rehearsal) -> anyhow::Result<Vec<u64>> {
    let number = proposes(on, "work").await?;
    on.says("ada", number, "/expand a dimmer").await?;
    on.pushes("rover", "work", "a scope", &papers::of("scaffolding/scope.md")).await?;
    ensure!(on.label(number)?.as_deref() == Some("phase:design"), "a good scope did not pass");
    on.says("ada", number, "/stop it leaks").await?;
    on.says("mia", asked(on)?, "/resolve A it is tight now").await?;
    ensure!(on.escalations()?.iter().all(|issue| !issue.open), "the answer was not heard");
    Ok(vec![number])
}

async fn rivals(on: &Rehearsal) -> anyhow::Result<Vec<u64>> {
    on.pushes("root", "stable", "stable", &[("STABLE", "yes\n")]).await?;
    let check = RequiredCheck { context: CHECK_NAME.to_owned(), integration_id: Some(on.app().id) };
    let rules = vec![Rule::RequiredChecks { checks: vec![check], strict: false }];
    on.admin().add_ruleset(REPO, "stable", &["refs/heads/stable"], rules, Vec::new())?;
    let first = proposes(on, "work").await?;
    proves(on, first).await?;
    let second = on.opens_into("rover", "Shine on stable", "work", "stable").await?;
    ensure!(shows(on, first, "success").is_err(), "one of two was enough");
    on.ci(&on.head(second)?, "success").await?;
    on.reviews("mia", second, "APPROVE").await?;
    shows(on, first, "success")?;
    on.says("ada", second, "/stop it leaks").await?;
    shows(on, first, "failure")?;
    Ok(vec![first, second])
}

async fn queued(on: &Rehearsal) -> anyhow::Result<Vec<u64>> {
    on.queues(QueueMethod::Merge)?;
    let one = proposes(on, "one").await?;
    proves(on, one).await?;
    on.enqueues("ada", one).await?.map_err(anyhow::Error::msg)?;
    let group = on.group(one)?;
    on.says("mia", one, "/stop it burns").await?;
    let run = on.group_run(&group)?;
    ensure!(run.conclusion.as_deref() == Some("failure"), "the group of a stopped change: {:?}", run.title);
    on.says("mia", one, "/unblock it does not").await?;
    on.enqueues("ada", one).await?.map_err(anyhow::Error::msg)?;
    on.group_ci(&on.group(one)?, "success").await?;
    ensure!(on.pull(one)?["merged"] == true, "it is not merged");
    Ok(vec![one])
}

async fn meddled(on: &Rehearsal) -> anyhow::Result<Vec<u64>> {
    let number = proposes(on, "work").await?;
    on.puts_label("tim", number, "phase:verified").await?;
    ensure!(on.label(number)?.as_deref() == Some("phase:start"), "the label was not put right");
    // One that looks as GitHub made it is given its look.
    on.does("root", "PATCH", "/labels/phase%3Astart", json!({ "description": "" })).await?;
    on.says("ada", number, "/status").await?;
    let comment = on.status_comment(number)?;
    on.does("root", "PATCH", &format!("/issues/comments/{}", comment.id), json!({ "body": "All is well." })).await?;
    ensure!(on.status_comment(number)?.id == comment.id, "the comment was not put right");
    on.says("ada", number, "/stop it leaks").await?;
    let issue = asked(on)?;
    on.does("root", "PATCH", &format!("/issues/{issue}"), json!({ "state": "closed" })).await?;
    ensure!(on.escalations()?.last().is_some_and(|issue| issue.open), "the issue was not put right");
    Ok(vec![number])
}

async fn stormy(on: &Rehearsal, bot: &Bot) -> anyhow::Result<Vec<u64>> {
    let strikes = |path: &str, effect: Effect| {
        on.admin().inject(Fault { method: None, path_contains: path.to_owned(), effect, times: 1 });
    };
    let number = proposes(on, "work").await?;
    // What fails is tried again, and what is limited waits.
    strikes("/reviews", Effect::Refuse(500));
    on.says("tim", number, "/status").await?;
    strikes("/reviews", Effect::Secondary { status: 429, retry_after: Some(600) });
    on.ci(&on.head(number)?, "success").await?;
    // A mirror that is broken is made again.
    bot.breaks_the_mirror(on)?;
    on.pushes("rover", "work", "more work", &[("src/more.py", "pass\n")]).await?;
    // What nobody can read is kept, and tried again when somebody asks for it.
    for _ in 0..2 {
        bot.hears(on, "pull_request", "unreadable", b"{\"action\":\"opened\"}").await?;
        on.settle().await?;
    }
    // What was said before the App was suspended waits until it is let in again.
    let said = |one: &Delivery| one.event == "issue_comment" && one.payload["comment"]["user"]["login"] == "tim";
    let said = on.deliveries().into_iter().find(said).context("nothing was said")?;
    on.admin().suspend(on.app().id, REPO, true)?;
    bot.hears(on, "issue_comment", "from-before", said.payload.to_string().as_bytes()).await?;
    bot.waits().await?;
    on.admin().suspend(on.app().id, REPO, false)?;
    on.settle().await?;
    Ok(vec![number])
}

async fn missed(on: &Rehearsal) -> anyhow::Result<Vec<u64>> {
    let admin = on.admin();
    admin.install(on.app().id, REPO)?;
    admin.commit(REPO, "rover", "work", "work", &[("src/work.py", Some("def shine(): pass\n"))])?;
    let number = admin.open_pull(REPO, "rover", "Shine", "work", "main")?;
    admin.wait_idle().await;
    on.settle().await?;
    on.says("tim", number, "/status").await?;
    Ok(vec![number])
}

async fn plain(on: &Rehearsal) -> anyhow::Result<Vec<u64>> {
    let number = proposes(on, "work").await?;
    proves(on, number).await?;
    on.pushes("rover", "work", "more work", &[("src/more.py", "pass\n")]).await?;
    shows(on, number, "action_required")?;
    on.says("ada", number, "/stop it leaks").await?;
    Ok(vec![number])
}
