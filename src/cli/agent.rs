//! `phasegate agent`: one pass of an agent, and an agent that plays a script.

mod scripted;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use owo_colors::OwoColorize as _;
use serde::Serialize;
use serde_json::Value;

use super::check::Told;
use super::run::{law_of, stop_on_signals};
use super::{Exit, check, mcp, out};
use crate::finding::{Finding, Verdict, bounded, verdict};
use crate::gate::pass as rules;
use crate::ids::CommitId;
use crate::policy::{Adapter, Pack, Policy, Role};
use crate::repo::{LocalRepo, Reader as _};
use crate::runner::Orphans;
use crate::runner::pass::{self, Passed, Report};

/// Ask an agent for one bounded pass, or be one that plays a script
///
/// docs/agents.md says what an agent is given, what it may do, and what is taken of it.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Ask the policy's agent once, in a role, on a copy of a commit
    ///
    /// What the agent says goes to stderr. The program is `agents.main` of the policy, or `agents.reader` for every other role. What the main agent did becomes a commit
    /// that is on no branch, and is printed; whoever is asked in another role may write nothing but an answer.
    Pass {
        /// `main`, `scout`, `verifier`, `reviewer`, `critic`, `challenger` or `arbiter`
        #[arg(value_name = "ROLE", value_parser = role)]
        role: Role,
        /// What it is asked; `-` is standard input
        #[arg(long, value_name = "FILE")]
        prompt: PathBuf,
        /// The repository, or a folder of it
        #[arg(long, value_name = "DIR", default_value = ".")]
        dir: PathBuf,
        /// The commit that it works on
        #[arg(long, value_name = "REV", default_value = "HEAD")]
        at: String,
        /// The commit whose policy is taken [default: origin/HEAD, main, master]
        #[arg(long, value_name = "REV", conflicts_with = "policy")]
        base: Option<String>,
        /// Take this policy file instead
        #[arg(long, value_name = "FILE")]
        policy: Option<PathBuf>,
        /// Print `phasegate/pass@1`
        #[arg(long)]
        json: bool,
    },
    /// Be an agent that does what a script says: edits, answers, delays, crashes
    ///
    /// It is what `command: [phasegate, agent, scripted, FILE]` of a policy starts, to rehearse the policy without a model. What it
    /// plays depends on the variables PHASEGATE_ROLE, PHASEGATE_PHASE, PHASEGATE_PASS and PHASEGATE_TRY.
    Scripted {
        /// The script, as docs/agents.md has it
        file: PathBuf,
    },
}

pub(super) fn role(text: &str) -> Result<Role, String> {
    Role::EACH.into_iter().find(|role| role.as_str() == text).ok_or_else(|| {
        let all: Vec<&str> = Role::EACH.iter().map(|role| role.as_str()).collect();
        format!("there are the roles {}", all.join(", "))
    })
}

pub(super) async fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.command {
        Command::Pass { role, prompt, dir, at, base, policy, json } => {
            let repo = around(dir)?;
            let law = law_of(&repo, base.as_deref(), policy.as_deref())?;
            let prompt = prompted(prompt)?;
            let commit = check::revision(&repo, at)?;
            let asked = Asked { role: *role, prompt: &prompt, commit: &commit, about: &[], until: None, task: None };
            let Some(asked) = asked.carried_out(&repo, &law).await? else {
                out::complain("interrupted: the agent was ended, and nothing was taken of it.\n");
                return Ok(Exit::Interrupted);
            };
            asked.told(&repo, &commit, *json)
        }
        Command::Scripted { file } => scripted::play(file),
    }
}

fn around(dir: &Path) -> anyhow::Result<LocalRepo> {
    let folder = dir.canonicalize().with_context(|| format!("there is no folder {}", dir.display()))?;
    LocalRepo::around(&folder).with_context(|| format!("{} is in no git repository", dir.display()))
}

/// A prompt with more bytes is not one.
const LONGEST_PROMPT: u64 = 1024 * 1024;

fn prompted(file: &Path) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let read = match file.to_str() {
        Some("-") => std::io::stdin().lock().take(LONGEST_PROMPT + 1).read_to_end(&mut bytes),
        _ => std::fs::File::open(file).and_then(|file| file.take(LONGEST_PROMPT + 1).read_to_end(&mut bytes)),
    };
    read.with_context(|| format!("the prompt {} can't be read", file.display()))?;
    if bytes.len() as u64 > LONGEST_PROMPT {
        bail!("the prompt has more than {LONGEST_PROMPT} bytes");
    }
    let text = String::from_utf8(bytes).context("the prompt is not text (UTF-8)")?;
    if text.trim().is_empty() {
        bail!("the prompt is empty");
    }
    Ok(text)
}

/// What an agent is asked for.
pub(super) struct Asked<'a> {
    pub(super) role: Role,
    pub(super) prompt: &'a str,
    pub(super) commit: &'a CommitId,
    pub(super) about: &'a [(&'static str, String)],
    pub(super) until: Option<tokio::time::Instant>,
    /// The task that it is about, if it is about one.
    pub(super) task: Option<mcp::Task>,
}

/// What came of it, with what is to be said.
pub(super) struct Came {
    pub(super) passed: Passed,
    pub(super) findings: Vec<Finding>,
    /// Of a scout: what it found, each where it says.
    pub(super) found: Vec<rules::Found>,
}

impl Asked<'_> {
    /// None where it was stopped.
    pub(super) async fn carried_out(&self, repo: &LocalRepo, law: &Policy) -> anyhow::Result<Option<Came>> {
        let Some(agent) = law.agents.of(self.role) else {
            bail!(
                "the policy names no agent for this\nAdd `agents: {{ main: {{ command: [\"agent-cli\", \"--stdin\"] }} }}` to {} on \
                 the default branch",
                crate::policy::PATH
            );
        };
        if let Adapter::Comment(_) | Adapter::Workflow(_) = agent.adapter() {
            bail!(
                "the policy's agent works elsewhere and is reached from GitHub\nSay `/task run` on the pull request; or name a program, with \
                 `command`, in {}",
                crate::policy::PATH
            );
        }
        let environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        let below = std::env::var_os("RUNNER_TEMP").filter(|folder| !folder.is_empty());
        let below = below.map_or_else(std::env::temp_dir, PathBuf::from);
        let schema = rules::schema(self.role);
        // With a pack it must not see the clone itself, wherever that lies.
        let hides = match agent.pack == Pack::default() {
            true => Vec::new(),
            false => kept_from(repo),
        };
        let program = std::env::current_exe().ok().and_then(|program| program.canonicalize().ok());
        let tools: Arc<dyn pass::Tools> = Arc::new(mcp::Served { task: self.task.clone() });
        let asked = pass::Pass {
            role: self.role,
            agent,
            prompt: self.prompt,
            schema: &schema,
            git_folder: &repo.common_folder(),
            commit: self.commit,
            below: &below,
            environment: &environment,
            hides: &hides,
            about: self.about,
            until: self.until,
            tools: Some(tools),
            program: program.as_deref(),
        };
        let stop = stop_on_signals()?;
        // From here on every child of this process is the agent's.
        let orphans = Orphans::adopt();
        let Some(passed) = pass::carry_out(&asked, &mut out::passed_on, orphans.as_ref(), &stop).await? else {
            return Ok(None);
        };
        let mut findings = rules::judge(&passed.report);
        let mut found = Vec::new();
        if let (Role::Scout, Some(answer)) = (self.role, &passed.answer) {
            let mut text =
                |path: &crate::repo::RepoPath| repo.blob(self.commit, path).ok().flatten().map(|blob| blob.bytes);
            let (stand, wrong) = rules::scouted(answer, &mut text);
            found = stand;
            findings.extend(wrong);
        }
        Ok(Some(Came { passed, findings: bounded(findings), found }))
    }
}

/// Where the content lies on this machine: git's folder, those that it borrows objects of, and every working tree, under each of their
/// names.
fn kept_from(repo: &LocalRepo) -> Vec<PathBuf> {
    let common = repo.common_folder();
    let borrowed = std::fs::read_to_string(common.join("objects/info/alternates")).unwrap_or_default();
    let borrowed = borrowed.lines().map(PathBuf::from).filter(|objects| objects.is_absolute());
    let folders = repo.working_trees().unwrap_or_default().into_iter().chain(borrowed).chain([common]);
    let mut all: Vec<PathBuf> =
        folders.flat_map(|folder| [folder.canonicalize().ok(), Some(folder)]).flatten().collect();
    all.sort();
    all.dedup();
    all
}

/// `phasegate/pass@1`
#[derive(Serialize)]
struct Shown<'a> {
    schema: &'static str,
    verdict: Verdict,
    #[serde(flatten)]
    report: &'a Report,
    /// What it answered.
    said: Option<&'a Value>,
    /// Of a scout: what it found, each where it says.
    found: &'a [rules::Found],
    /// The commit of what it did, which is on no branch.
    commit: Option<CommitId>,
    findings: Vec<Told>,
}

impl Came {
    fn told(self, repo: &LocalRepo, parent: &CommitId, json: bool) -> anyhow::Result<Exit> {
        let Self { passed: Passed { report, answer, left }, findings, found } = self;
        let verdict = verdict(&findings);
        let commit = match left.filter(|left| verdict == Verdict::Pass && !left.taken.deltas.is_empty()) {
            Some(left) => {
                let summary = answer.as_ref().and_then(|answer| answer.get("summary")).and_then(Value::as_str);
                let message = message("agent: one pass", summary.unwrap_or_default());
                Some(left.taken.commit(&repo.common_folder(), parent, &message, BY)?)
            }
            None => None,
        };
        let exit = Exit::found(verdict == Verdict::Fail);
        if json {
            let said = answer.as_ref();
            let findings = findings.into_iter().map(Told::from).collect();
            let shown =
                Shown { schema: "phasegate/pass@1", verdict, report: &report, said, found: &found, commit, findings };
            out::json(&shown)?;
            return Ok(exit);
        }
        let mut text = format!("{} {} {}\n", "PASS OF".bold(), report.role, check::coloured(verdict));
        text.push_str(&check::lines(&findings));
        if let Some(answer) = &answer {
            for line in serde_json::to_string_pretty(answer)?.lines() {
                let _ = writeln!(text, "{}", out::plain(line));
            }
        }
        if let Some(commit) = commit {
            text.push_str(&format!(
                "What it did is the commit {commit}, which is on no branch: `git merge --ff-only {commit}`\n"
            ));
        } else if verdict == Verdict::Pass && !report.role.is_read_only() {
            text.push_str("It left everything as it was.\n");
        }
        out::text(&text)?;
        Ok(exit)
    }
}

/// Whose commits these are.
pub(super) const BY: (&str, &str) = ("Phasegate", "phasegate@localhost");

/// A commit's message out of an agent's own words: they are data, and name nobody.
pub(super) fn message(title: &str, says: &str) -> String {
    let lines = says.lines().map(str::trim_end).map(|line| {
        // What looks like a trailer would be one.
        let trailer = line.split_once(':').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') && name.contains('-')
        });
        let plain: String = line.chars().filter(|c| !c.is_control()).take(500).collect();
        if trailer { format!("> {plain}") } else { plain }
    });
    let body: Vec<String> = lines.take(40).collect();
    let body = body.join("\n");
    if body.trim().is_empty() { format!("{title}\n") } else { format!("{title}\n\n{}\n", body.trim()) }
}
