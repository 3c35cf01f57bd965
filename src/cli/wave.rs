//! `phasegate wave`: several workers at once, from the ledger's opening to its deletion.

mod desk;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Subcommand;
use jiff::Timestamp;

use self::desk::{Desk, DigestReport};
use super::{Exit, check, out};
use crate::finding::{Finding, Verdict, verdict};
use crate::guard::wave::digest::Digest;
use crate::guard::wave::git::Git as _;
use crate::guard::wave::lease::{Lease, Stop, Term, moment};
pub(super) use crate::guard::wave::ledger::FILE;
use crate::guard::wave::life::{self, Hand, Step};
use crate::guard::wave::verdict::Outcome;
use crate::guard::wave::verify::Hold;
use crate::guard::wave::{self, Branch, Facts, Looked, Target, monitor};
use crate::ids::CommitId;
use crate::repo::{LocalRepo, Reader, RepoPath};

/// Workers side by side: their ledger, their fork bases, their way back
///
/// WAVE.md says who works on what, on which branch, forked from where. The one who hands out the work keeps it; workers
/// never write it. docs/waves.md has the template and what each code means.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write the ledger of a new wave: its base is HEAD, its rows are merged back in the order given here
    Open(Open),
    /// Hold the ledger against git, and exit with 1 where a worker did not begin at the base
    ///
    /// It asks for all that the merge-back asks for, also while the wave is live: an echo that is pending is refused.
    Verify(Look),
    /// Print the branch that may be merged now, and exit with 1 where there is none
    Next(Look),
    /// Write down where a worker's worktree stands: what `git rev-parse HEAD` prints in it
    ///
    /// Exits with 1 where that is not the base: then the worker is not to be started.
    Echo {
        /// The task, as the roster has it
        task: String,
        /// The commit; `pending` takes it back
        commit: String,
        /// The worktree came from a pool, and the worker has merged the base as its first step
        #[arg(long)]
        step_0: bool,
        #[command(flatten)]
        place: Place,
    },
    /// Give a task that nobody holds to a worker
    Take {
        /// The task, as the roster has it
        task: String,
        #[command(flatten)]
        hand: HandArgs,
        #[command(flatten)]
        place: Place,
    },
    /// Let a task go back to READY: its worker is dead, or a person has decided about a stop
    Release {
        /// The task, as the roster has it
        task: String,
        #[command(flatten)]
        place: Place,
    },
    /// Take in what a worker hands in: the branch's tip, by its committed SUMMARY.md and deltas.md
    ///
    /// Exits with 3 where its verdict comes to a stop, which is written down: a person has to decide.
    Done {
        /// The task, as the roster has it
        task: String,
        #[command(flatten)]
        place: Place,
    },
    /// Stop a task: HARD-STOP or ESCALATE
    Stop {
        /// The task, as the roster has it
        task: String,
        /// Why: `HARD-STOP` or `ESCALATE`
        outcome: String,
        #[command(flatten)]
        place: Place,
    },
    /// Begin the merge-back: from here on each row is held to its fork base
    Merging {
        #[command(flatten)]
        place: Place,
    },
    /// Print what became of the wave: what was merged, in which order, at which commits, what was learned
    Digest(Look),
    /// Print the digest and delete the ledger, once each row is merged or stopped
    Close {
        #[command(flatten)]
        look: Look,
        /// Put the digest at the end of this file too, before the ledger is gone
        #[arg(long, value_name = "FILE")]
        log: Option<PathBuf>,
    },
}

#[derive(Debug, clap::Args)]
struct Open {
    /// What the wave is called
    name: String,
    /// A row: task, worker and branch
    #[arg(long = "row", num_args = 3, value_names = ["TASK", "WORKER", "BRANCH"], required = true)]
    rows: Vec<String>,
    /// How long each lease holds: `45m`, `2h`, `1d12h`, at most 7 days
    #[arg(long, default_value = "2h", value_name = "TERM", value_parser = term)]
    lease: Term,
    /// Worktrees come from a pool: the worker's first step merges the base, and the echo is checked before merge-back
    #[arg(long)]
    pool: bool,
    /// The commit that every fork must have as its base
    #[arg(long, value_name = "REV", default_value = "HEAD")]
    base: String,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, clap::Args)]
struct HandArgs {
    /// Who works on it from now on
    #[arg(long)]
    worker: String,
    /// A new branch, or one that is put back to the base
    #[arg(long)]
    branch: String,
    /// How long the lease holds
    #[arg(long, default_value = "2h", value_name = "TERM", value_parser = term)]
    lease: Term,
    /// The worktree comes from a pool
    #[arg(long)]
    pool: bool,
}

#[derive(Debug, clap::Args)]
struct Place {
    /// The ledger; the one that is not named stands in the repository's first folder
    #[arg(long, default_value = FILE)]
    file: PathBuf,
    #[command(flatten)]
    into: Into,
}

#[derive(Debug, clap::Args)]
struct Look {
    /// The ledger; the one that is not named stands in the repository's first folder
    #[arg(default_value = FILE)]
    file: PathBuf,
    #[command(flatten)]
    into: Into,
}

#[derive(Debug, clap::Args)]
struct Into {
    /// The branch that everything is merged back into [default: main, else master, else origin/HEAD]
    #[arg(long, value_name = "BRANCH")]
    into: Option<String>,
    /// Judge leases by this moment instead of the clock (RFC 3339)
    #[arg(long, value_name = "MOMENT", value_parser = at, hide = true)]
    now: Option<Timestamp>,
    /// Print `phasegate/wave@1`; of a digest `phasegate/wave-digest@1`
    #[arg(long)]
    json: bool,
}

fn term(text: &str) -> Result<Term, String> {
    Term::parse(text).ok_or_else(|| "write `45m`, `2h` or `1d12h`, from 1m to 7d".to_owned())
}

fn at(text: &str) -> Result<Timestamp, String> {
    moment(text).ok_or_else(|| "write a moment of RFC 3339: `2026-03-01T10:00:00Z`".to_owned())
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.command {
        Command::Open(args) => open(args),
        Command::Verify(args) => {
            let desk = Desk::new(&args.file, &args.into)?;
            match desk.look(&desk.read()?) {
                Ok(Looked { ledger, facts, .. }) => {
                    let looked = wave::judge_at(Hold::AsAtMergeBack, &desk.shown, ledger, facts, desk.now);
                    desk.report(Some(&looked), looked.findings())
                }
                Err(findings) => desk.report(None, findings),
            }
        }
        Command::Next(args) => next(args),
        Command::Echo { task, commit, step_0, place } => {
            let text = if *step_0 { format!("step-0 {commit}") } else { commit.clone() };
            Desk::new(&place.file, &place.into)?.step(Some(task), |looked| Ok(life::echo(&looked.ledger, task, &text)))
        }
        Command::Take { task, hand, place } => {
            let desk = Desk::new(&place.file, &place.into)?;
            desk.step(Some(task), |looked| take(&desk, looked, task, hand))
        }
        Command::Release { task, place } => {
            Desk::new(&place.file, &place.into)?.step(Some(task), |looked| Ok(life::release(looked, task)))
        }
        Command::Done { task, place } => {
            let desk = Desk::new(&place.file, &place.into)?;
            let ended = desk.step_over(Some(task), |looked| done(&desk, looked, task))?;
            Ok(if ended == Exit::Fine && desk.is_stopped(task)? { Exit::Human } else { ended })
        }
        Command::Stop { task, outcome, place } => {
            let Some(stop) = Outcome::parse(outcome).and_then(Stop::of) else {
                bail!("`{outcome}` stops nothing; say HARD-STOP or ESCALATE")
            };
            Desk::new(&place.file, &place.into)?.step(Some(task), |looked| Ok(life::stop(looked, task, stop)))
        }
        Command::Merging { place } => {
            let desk = Desk::new(&place.file, &place.into)?;
            desk.step(None, |looked| {
                let ledger = life::merging(&looked.ledger);
                let judged = wave::judge(&desk.shown, ledger.clone(), looked.facts.clone(), desk.now);
                let findings = judged.findings();
                Ok(if verdict(&findings) == Verdict::Fail { Err(findings) } else { Ok(ledger) })
            })
        }
        Command::Digest(args) => end(args, None),
        Command::Close { look, log } => end(look, Some(log.as_deref())),
    }
}

fn open(args: &Open) -> anyhow::Result<Exit> {
    let desk = Desk::new(&args.place.file, &args.place.into)?;
    let base = check::revision(&desk.repo, &args.base)?;
    let hands: Vec<(String, Hand)> = args
        .rows
        .chunks_exact(3)
        .filter_map(|row| match row {
            [task, worker, branch] => {
                let (worker, branch) = (worker.clone(), branch.clone());
                Some((task.clone(), Hand { worker, branch, term: args.lease, pool: args.pool }))
            }
            _ => None,
        })
        .collect();
    let ledger = match life::open(&args.name, &base, &hands, desk.now) {
        Ok(ledger) => ledger,
        Err(findings) => return desk.report(None, findings),
    };
    let facts = Facts::gather(&desk.repo, &ledger, desk.target.clone());
    let looked = wave::judge(&desk.shown, ledger, facts, desk.now);
    let findings = looked.findings();
    if verdict(&findings) == Verdict::Fail {
        return desk.report(Some(&looked), findings);
    }
    // Only where nothing is: two who open at once do not write over each other.
    match std::fs::OpenOptions::new().write(true).create_new(true).open(&desk.file) {
        Ok(mut file) => {
            let written = file.write_all(looked.ledger.write().as_bytes());
            written.with_context(|| format!("can't write {}", desk.shown))?;
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return desk.report(None, vec![life::already_open(&desk.shown)]);
        }
        Err(error) => return Err(error).with_context(|| format!("can't make {}", desk.shown)),
    }
    desk.report(Some(&looked), findings)
}

fn next(args: &Look) -> anyhow::Result<Exit> {
    let desk = Desk::new(&args.file, &args.into)?;
    let looked = match desk.look(&desk.read()?) {
        Ok(looked) => looked,
        Err(findings) => return desk.report(None, findings),
    };
    if desk.json {
        desk.report(Some(&looked), looked.findings())?;
    } else if let Some(row) = looked.next() {
        out::text(&format!("{}\n", out::plain(row.branch.as_str())))?;
    } else {
        let mut why = "Nothing may be merged now.\n".to_owned();
        for (row, turn) in looked.ledger.rows.iter().zip(&looked.turns) {
            let _ = writeln!(why, "  {} {}", row.task, turn.words());
        }
        out::complain(&why);
    }
    Ok(Exit::found(looked.next().is_none()))
}

fn take(desk: &Desk, looked: &Looked, task: &str, hand: &HandArgs) -> anyhow::Result<Step> {
    let Ok(Some(base)) = &looked.facts.base else {
        bail!("the base {} is no commit here; fetch it", looked.ledger.base)
    };
    let tip = match Branch::parse(&hand.branch) {
        Ok(branch) => desk.repo.branch(&branch)?,
        // The step itself refuses the name.
        Err(_) => None,
    };
    let (worker, branch) = (hand.worker.clone(), hand.branch.clone());
    let hand = Hand { worker, branch, term: hand.lease, pool: hand.pool };
    Ok(life::take(&looked.ledger, task, &hand, base, tip.as_ref(), desk.now))
}

/// The row as if it were done already, so that what it hands in is read; with what that stops for, where it does.
fn done(desk: &Desk, looked: &Looked, task: &str) -> anyhow::Result<(Step, Vec<Finding>)> {
    let Some(nth) = looked.ledger.rows.iter().position(|row| row.task.as_str() == task) else {
        bail!("the wave has no task `{task}`")
    };
    let tip = looked.facts.rows.get(nth).and_then(|known| known.tip.clone().ok().flatten());
    let Some(tip) = tip else { bail!("the branch of `{task}` is not here; fetch it") };
    let mut as_if = looked.ledger.clone();
    if let Some(row) = as_if.rows.get_mut(nth) {
        row.lease = Lease::Done((&tip).into());
    }
    let facts = Facts::gather(&desk.repo, &as_if, desk.target.clone());
    let judged = wave::judge(&desk.shown, as_if, facts, desk.now);
    let handed = judged.judged.get(nth).cloned().unwrap_or_default();
    let stops = handed.proposal.as_ref().is_some_and(|proposal| proposal.weighed().stops());
    let step = life::hand_in(&looked.ledger, task, (&tip, judged.facts.rows.get(nth)), &handed, desk.now);
    Ok((step, if stops { handed.findings } else { Vec::new() }))
}

/// The digest; with `close` the ledger goes, and the digest into the file that this names.
fn end(args: &Look, close: Option<Option<&Path>>) -> anyhow::Result<Exit> {
    let desk = Desk::new(&args.file, &args.into)?;
    let looked = match desk.look(&desk.read()?) {
        Ok(looked) => looked,
        Err(findings) => return desk.report(None, findings),
    };
    let open = if close.is_some() { life::open_ends(&looked) } else { Vec::new() };
    if !open.is_empty() {
        return desk.report(Some(&looked), open);
    }
    let digest = Digest::of(&looked);
    // The digest is kept and out before the ledger is gone: nothing is lost when the last fails.
    if let Some(Some(log)) = close {
        desk::append(log, &digest.text())?;
    }
    if desk.json {
        out::json(&DigestReport { schema: "phasegate/wave-digest@1", closed: close.is_some(), digest: &digest })?;
    } else {
        out::raw(&digest.text())?;
    }
    if close.is_some() {
        std::fs::remove_file(&desk.file).with_context(|| format!("can't delete {}", desk.shown))?;
    }
    Ok(Exit::Fine)
}

/// What `phasegate guard check` says of a wave: of the one at the head, and of what became of the one at the base. None:
/// neither has a ledger.
pub(super) fn standing(
    repo: &LocalRepo,
    base: &CommitId,
    head: &CommitId,
    now: Timestamp,
) -> anyhow::Result<Option<Vec<Finding>>> {
    let at = |commit: &CommitId| repo.blob(commit, &RepoPath::from(FILE));
    let (before, after) = (at(base)?, at(head)?);
    if before.is_none() && after.is_none() {
        return Ok(None);
    }
    // What was no ledger binds nobody.
    let before = before.and_then(|blob| wave::read(FILE, &blob.bytes).ok());
    let Some(after) = after else {
        let Some(before) = before else { return Ok(Some(Vec::new())) };
        let facts = Facts::gather(repo, &before, Target { name: "HEAD".to_owned(), tip: head.clone() });
        return Ok(Some(monitor::vanished(FILE, &wave::judge(FILE, before, facts, now))));
    };
    let target = Target { name: "HEAD".to_owned(), tip: head.clone() };
    let looked = match wave::look(FILE, &after.bytes, repo, target, now) {
        Ok(looked) => looked,
        Err(findings) => return Ok(Some(findings)),
    };
    let mut findings = monitor::standing(&looked);
    if let Some(before) = before {
        findings.extend(monitor::follows(FILE, &before, &looked.ledger));
    }
    Ok(Some(findings))
}
