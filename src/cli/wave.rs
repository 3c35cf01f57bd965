//! `phasegate wave`: several workers at once, from the ledger's opening to its deletion.

mod desk;

use std::collections::HashSet;
use std::fmt::Write as _;
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
use crate::guard::wave::verify::{AS_IF, Hold, PENDING};
use crate::guard::wave::{self, Branch, Facts, Ledger, Looked, Target, monitor};
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
    /// Exits with 1 where that is not the base: then the worker is not to be started. With 2 where its branch is not here yet.
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
    /// Hold a task for longer: its worker is slow and not dead
    ///
    /// Also after its lease is over, as long as nobody else has taken or released the task.
    Extend {
        /// The task, as the roster has it
        task: String,
        /// How long from now
        #[arg(long, default_value = "2h", value_name = "TERM", value_parser = term)]
        lease: Term,
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
    /// Print the digest and delete the ledger, once each row is merged or stopped, and nothing stands against it
    ///
    /// A ledger that is committed has to be committed in its last state first.
    Close {
        #[command(flatten)]
        look: Look,
        /// Put the digest at the end of this file too, before the ledger is gone
        #[arg(long, value_name = "FILE")]
        log: Option<PathBuf>,
        /// Close it although something stands against it; the reason and what stood against it go into the digest
        #[arg(long, value_name = "REASON")]
        despite: Option<String>,
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
            let desk = Desk::new(&place.file, &place.into)?;
            let ended = desk.step(Some(task), |looked| Ok(life::echo(&looked.ledger, task, &text)))?;
            Ok(if ended == Exit::Finding && is_too_early(&desk, task)? { Exit::Usage } else { ended })
        }
        Command::Take { task, hand, place } => {
            let desk = Desk::new(&place.file, &place.into)?;
            desk.step(Some(task), |looked| take(&desk, looked, task, hand))
        }
        Command::Extend { task, lease, place } => {
            let desk = Desk::new(&place.file, &place.into)?;
            desk.step(Some(task), |looked| Ok(life::extend(&looked.ledger, task, *lease, desk.now)))
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
                let ledger = life::merging(looked);
                let facts = Facts::gather(&desk.repo, &ledger, desk.target.clone());
                let judged = wave::judge(&desk.shown, ledger.clone(), facts, desk.now);
                let refused = life::against_merging(&judged, desk.now);
                Ok(if refused { Err(judged.findings()) } else { Ok(ledger) })
            })
        }
        Command::Digest(args) => end(args, None),
        Command::Close { look, log, despite } => {
            end(look, Some(&Closing { log: log.as_deref(), despite: despite.as_deref() }))
        }
    }
}

fn open(args: &Open) -> anyhow::Result<Exit> {
    let desk = Desk::new(&args.place.file, &args.place.into)?;
    let _alone = desk.alone()?;
    if let Some(refused) = already_open(&desk)? {
        return desk.report(None, vec![refused]);
    }
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
    let mut ledger = match life::open(&args.name, &base, &hands, desk.now) {
        Ok(ledger) => ledger,
        Err(findings) => return desk.report(None, findings),
    };
    ledger.into = args.place.into.into.as_deref().and_then(|into| Branch::parse(into).ok());
    let ledger = wave::read(FILE, ledger.write().as_bytes()).unwrap_or(ledger);
    let facts = Facts::gather(&desk.repo, &ledger, desk.target.clone());
    let looked = wave::judge(&desk.shown, ledger, facts, desk.now);
    let findings = looked.findings();
    if verdict(&findings) == Verdict::Fail {
        // There is no wave whose rows could be shown.
        return desk.report(None, findings);
    }
    if !desk.create(&looked.ledger)? {
        return desk.report(None, vec![life::already_open(&desk.shown)]);
    }
    let ended = desk.report(Some(&looked), findings)?;
    if !desk.json {
        out::text(&worktrees(&looked))?;
    }
    Ok(ended)
}

/// A wave that is open already: here, in another working tree, or on the branch that this one is to go into.
fn already_open(desk: &Desk) -> anyhow::Result<Option<Finding>> {
    if let Some(other) = desk.open_wave() {
        return Ok(Some(life::already_open(&other)));
    }
    if desk.has_one() {
        return Ok(Some(life::already_open(&desk.shown)));
    }
    if let Some(other) = desk.open_elsewhere()?.first() {
        return Ok(Some(life::open_elsewhere(&other.display().to_string())));
    }
    Ok(desk.open_on()?.map(|branch| life::open_on(&branch)))
}

/// How to make the worktrees of a new wave. Where the ledger is committed first, a branch that is made without the base begins
/// one commit too late.
fn worktrees(looked: &Looked) -> String {
    let mut text = "Worktrees, each with a branch from the base:\n".to_owned();
    let base = looked.facts.base.as_ref().ok().and_then(Option::as_ref).map_or_else(String::new, ToString::to_string);
    for row in looked.ledger.rows.iter().filter(|row| row.fork_base == wave::Echo::Pending { pool: false }) {
        let _ = writeln!(text, "  git worktree add -b {} ../{} {base}", out::plain(row.branch.as_str()), row.task);
    }
    if text.lines().count() > 1 { text } else { String::new() }
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
        let nth = looked.turns.iter().position(|turn| *turn == wave::Turn::Next);
        let about =
            looked.found.iter().filter(|one| (one.row.is_none() || one.row == nth) && one.finding.rule != PENDING);
        let about: Vec<Finding> = about.map(|one| one.finding.clone()).collect();
        if !about.is_empty() {
            out::complain(&check::lines(&about));
        }
        out::text(&format!("{}\n", out::plain(row.branch.as_str())))?;
    } else {
        let into = out::plain(&looked.facts.target.name);
        let mut why = format!("Nothing may be merged into {into} now.\n");
        for (row, turn) in looked.ledger.rows.iter().zip(&looked.turns) {
            let _ = writeln!(why, "  {} {}", row.task, turn.words());
        }
        why.push_str(&check::lines(&looked.findings()));
        out::complain(&why);
    }
    Ok(desk.unless_cut(Some(&looked), Exit::found(looked.next().is_none())))
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
    let taken = life::take(&looked.ledger, task, &hand, base, tip.as_ref(), desk.now);
    Ok(taken.and_then(|after| life::leave(looked, task, after)))
}

/// Whether the only thing against a row is that its branch is not here yet: that proves nothing, and is not another commit.
fn is_too_early(desk: &Desk, task: &str) -> anyhow::Result<bool> {
    let Ok(looked) = desk.look(&desk.read()?) else { return Ok(false) };
    let Some(nth) = looked.ledger.rows.iter().position(|row| row.task.as_str() == task) else { return Ok(false) };
    let absent = looked.facts.rows.get(nth).is_some_and(|known| known.fork == Ok(None));
    let against = looked.found.iter().filter(|one| one.finding.blocks() && one.row.is_none_or(|row| row == nth));
    Ok(absent && against.count() == 1)
}

/// The row as if it were done already, so that what it hands in is read; with what that stops for, where it does.
fn done(desk: &Desk, looked: &Looked, task: &str) -> anyhow::Result<(Step, Vec<Finding>)> {
    let Some(nth) = looked.ledger.rows.iter().position(|row| row.task.as_str() == task) else {
        bail!("the wave has no task `{task}`")
    };
    if let Some(refused) = life::came_with_more(looked, nth, task) {
        return Ok((Err(refused), Vec::new()));
    }
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
    // What is refused is not written: it would read as handed in. A stop is, whatever else is wrong.
    let against = judged.found.iter().filter(|one| one.row == Some(nth) && one.finding.blocks());
    let against: Vec<Finding> = against.map(|one| one.finding.clone()).collect();
    let step = match step {
        Err(why) if why.is_empty() => Err(against),
        Ok(_) if !stops && !against.is_empty() => Err(against),
        step => step,
    };
    Ok((step, if stops { handed.findings } else { Vec::new() }))
}

/// How a wave is to be closed.
struct Closing<'c> {
    /// The file that the digest goes into.
    log: Option<&'c Path>,
    /// Why it is closed although something stands against it.
    despite: Option<&'c str>,
}

/// The digest; with `close` the ledger goes, and the digest into the file that this names.
fn end(args: &Look, close: Option<&Closing<'_>>) -> anyhow::Result<Exit> {
    let desk = Desk::new(&args.file, &args.into)?;
    let _alone = close.map(|_| desk.alone()).transpose()?;
    let looked = match desk.look(&desk.read()?) {
        Ok(Looked { ledger, facts, .. }) if close.is_some() => {
            wave::judge_at(Hold::AsAtMergeBack, &desk.shown, ledger, facts, desk.now)
        }
        Ok(looked) => looked,
        Err(findings) => return desk.report(None, findings),
    };
    if let Some(close) = close {
        let refused = refused(&desk, &looked, close)?;
        if !refused.is_empty() {
            return desk.report(Some(&looked), refused);
        }
    }
    let mut digest = Digest::of(&looked);
    let reason = close.and_then(|close| close.despite);
    if reason.is_some() && digest.against.is_empty() {
        out::complain("note: nothing stands against the wave, so the reason of --despite is not kept.\n");
    }
    digest.despite = reason.map(str::to_owned).filter(|_| !digest.against.is_empty());
    // The digest is kept and out before the ledger is gone: nothing is lost when the last fails.
    if let Some(log) = close.and_then(|close| close.log) {
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

/// Why a wave can't be closed now.
fn refused(desk: &Desk, looked: &Looked, close: &Closing<'_>) -> anyhow::Result<Vec<Finding>> {
    if let Some(log) = close.log.filter(|log| desk.is_ledger(log)) {
        return Ok(vec![life::log_is_ledger(&log.display().to_string())]);
    }
    if close.despite.is_some_and(|reason| !reason.chars().any(char::is_alphanumeric)) {
        return Ok(vec![life::no_reason()]);
    }
    let mut refused = life::open_ends(looked);
    if close.despite.is_none() {
        refused.extend(life::in_the_way(looked));
    }
    if !desk.is_committed(&looked.ledger)? {
        refused.push(life::not_committed());
    }
    Ok(refused)
}

/// What `phasegate guard check` says of a wave: of the one at the head, and of what became of the one at the base. One that is
/// gone is judged as it was when it was last committed. Where the change knows of none, that of the branch counts which it goes
/// into: workers fork from the base, which was there before the ledger. None: there is no ledger.
pub(super) fn standing(
    repo: &LocalRepo,
    (tip, base): (&CommitId, &CommitId),
    head: &CommitId,
    now: Timestamp,
) -> anyhow::Result<Option<Vec<Finding>>> {
    let before = kept(repo, base)?;
    let since: HashSet<CommitId> = repo.commits_between(base, head, MOST_COMMITS)?.into_iter().collect();
    let (at, after) = match kept(repo, head)? {
        Some(after) => (Some(head.clone()), Some(after)),
        None => match last_kept(repo, &since, head)? {
            Some((at, last)) => (Some(at), Some(last)),
            None => (None, None),
        },
    };
    if before.is_none()
        && at.is_none()
        && let Some(bytes) = kept(repo, tip)?
    {
        return Ok(Some(if_merged(repo, tip, head, &bytes, now)?));
    }
    let gone = at.as_ref() != Some(head);
    let any = before.is_some() || at.is_some();
    // What was no ledger binds nobody.
    let before = before.and_then(|bytes| wave::read(FILE, &bytes).ok());
    let target = || Target { name: AS_IF.to_owned(), tip: head.clone() };
    let looked = |ledger: Ledger| {
        let facts = Facts::gather(repo, &ledger, target());
        wave::judge_at(if gone { Hold::AsAtMergeBack } else { Hold::ByStatus }, FILE, ledger, facts, now)
    };
    let last = match after.map(|bytes| wave::read(FILE, &bytes)) {
        Some(Ok(last)) => Some(last),
        Some(Err(findings)) if !gone => return Ok(Some(findings)),
        // It is gone, and was none before: what counts is that at the base.
        Some(Err(_)) | None => None,
    };
    let (judged, last) = match (last, &before) {
        (Some(last), _) => (looked(last.clone()), last),
        (None, Some(before)) => (looked(before.clone()), before.clone()),
        (None, None) => return Ok(any.then(Vec::new)),
    };
    let mut findings = if gone { monitor::vanished(FILE, &judged) } else { monitor::standing(&judged) };
    if let Some(before) = before.filter(|before| *before != last) {
        let follows = monitor::follows(FILE, &before, &last);
        let same = before.name == last.name;
        findings.extend(follows);
        if same {
            findings.extend(monitor::let_go(FILE, &looked(before), &last, repo));
        }
    }
    // Nor is anything forgotten that was noted in between.
    for then in at.map(|at| noted(repo, &since, &at)).transpose()?.unwrap_or_default() {
        let forgotten = monitor::forgotten(FILE, &then, &last).into_iter().filter(|one| !findings.contains(one));
        let forgotten: Vec<Finding> = forgotten.filter(|_| then.name == last.name).collect();
        findings.extend(forgotten);
    }
    Ok(Some(findings))
}

/// The wave of the branch that a change goes into, as if the change were merged there.
fn if_merged(
    repo: &LocalRepo,
    tip: &CommitId,
    head: &CommitId,
    bytes: &[u8],
    now: Timestamp,
) -> anyhow::Result<Vec<Finding>> {
    // What is no ledger binds nobody, and is told where it stands.
    let Ok(ledger) = wave::read(FILE, bytes) else { return Ok(Vec::new()) };
    out::complain(&format!("note: there is no {FILE} here; that of its base is taken, at {}.\n", tip.short()));
    let merged = repo.as_if_merged(tip, head)?;
    let target = Target { name: AS_IF.to_owned(), tip: merged.clone() };
    let facts = Facts::gather(repo, &ledger, target);
    let mut findings = monitor::standing(&wave::judge(FILE, ledger, facts, now));
    // Nobody can look at a commit that is not there.
    for finding in &mut findings {
        finding.says = finding.says.replace(merged.short(), head.short());
    }
    Ok(findings)
}

/// More commits of a change are not looked through for a ledger.
const MOST_COMMITS: usize = 50_000;

/// The ledger at a commit.
fn kept(repo: &LocalRepo, at: &CommitId) -> anyhow::Result<Option<Vec<u8>>> {
    Ok(repo.blob(at, &RepoPath::from(FILE))?.map(|blob| blob.bytes))
}

/// The last ledger before it was deleted in these commits, and the commit that has it: on the way back from the head, along
/// those that have none.
fn last_kept(
    repo: &LocalRepo,
    since: &HashSet<CommitId>,
    head: &CommitId,
) -> anyhow::Result<Option<(CommitId, Vec<u8>)>> {
    let mut at = head.clone();
    'back: while since.contains(&at) {
        let mut last = None;
        for parent in Reader::commit(repo, &at)?.parents {
            if !since.contains(&parent) {
                continue;
            }
            match kept(repo, &parent)? {
                None => {
                    at = parent;
                    continue 'back;
                }
                Some(bytes) => last = last.or(Some((parent, bytes))),
            }
        }
        return Ok(last);
    }
    Ok(None)
}

/// The ledgers on the way to a commit, as far as they are some and have notes.
fn noted(repo: &LocalRepo, since: &HashSet<CommitId>, head: &CommitId) -> anyhow::Result<Vec<Ledger>> {
    let (mut found, mut before): (Vec<Ledger>, Option<Vec<u8>>) = (Vec::new(), None);
    let mut at = Some(head.clone()).filter(|at| since.contains(at));
    while let Some(commit) = at {
        let bytes = kept(repo, &commit)?;
        if bytes != before {
            let read = bytes.as_ref().and_then(|bytes| wave::read(FILE, bytes).ok());
            found.extend(read.filter(|ledger| !ledger.notes.is_empty()));
            before = bytes;
        }
        at = Reader::commit(repo, &commit)?.parents.into_iter().next().filter(|first| since.contains(first));
    }
    Ok(found)
}
