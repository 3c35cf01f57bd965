//! Where `phasegate wave` works, and how it tells what it found.

use std::fmt::Write as _;
use std::fs::TryLockError;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use owo_colors::OwoColorize as _;
use serde::Serialize;

use super::{FILE, Into};
use crate::cli::check::{self, Told};
use crate::cli::{Exit, out};
use crate::finding::{Finding, Verdict, verdict};
use crate::guard::wave::digest::Digest;
use crate::guard::wave::git::Git as _;
use crate::guard::wave::lease::{Lease, State};
use crate::guard::wave::ledger::LARGEST;
use crate::guard::wave::life::Step;
use crate::guard::wave::verdict::Outcome;
use crate::guard::wave::verify::Found;
use crate::guard::wave::{self, Echo, Facts, Ledger, Looked, Target, Turn};
use crate::ids::CommitId;
use crate::repo::{LocalRepo, Reader as _, RepoPath};

/// How long to wait for whoever changes the ledger.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);

#[derive(Serialize)]
struct Report<'r> {
    schema: &'static str,
    verdict: Verdict,
    wave: Option<&'r str>,
    status: Option<&'r str>,
    base: Option<&'r str>,
    into: Option<&'r str>,
    rows: Vec<RowReport<'r>>,
    findings: Vec<Told>,
}

#[derive(Serialize)]
struct RowReport<'r> {
    task: &'r str,
    worker: Option<&'r str>,
    branch: &'r str,
    state: State,
    lease: &'r Lease,
    fork_base: &'r Echo,
    /// What it hands in comes to; the turn of a row that was stopped has what that stopped for.
    handed_in: Option<Outcome>,
    #[serde(flatten)]
    turn: &'r Turn,
}

#[derive(Serialize)]
pub(super) struct DigestReport<'r> {
    pub(super) schema: &'static str,
    pub(super) closed: bool,
    #[serde(flatten)]
    pub(super) digest: &'r Digest,
}

/// Where a command works: the repository, the ledger's file, the branch that it goes into, the moment.
pub(super) struct Desk {
    pub(super) repo: LocalRepo,
    pub(super) file: PathBuf,
    pub(super) shown: String,
    pub(super) target: Target,
    pub(super) now: Timestamp,
    pub(super) json: bool,
}

impl Desk {
    /// The ledger that nobody named is that of the repository, wherever in it one stands.
    pub(super) fn new(file: &Path, into: &Into) -> anyhow::Result<Self> {
        let repo = LocalRepo::around(".").context("this is not in a git repository")?;
        let root = repo.root().filter(|_| file == Path::new(FILE));
        let (now, shown) = (into.now.unwrap_or_else(Timestamp::now), out::plain(&file.display().to_string()));
        let file = root.map_or(file.to_owned(), |root| root.join(file));
        // What the ledger was opened for, unless somebody says otherwise.
        let plain = std::fs::symlink_metadata(&file).is_ok_and(|found| found.is_file());
        let kept = plain.then(|| bounded(&file).ok()).flatten();
        let kept = kept.and_then(|bytes| wave::read(FILE, &bytes).ok()).and_then(|ledger| ledger.into);
        let name = into.into.as_deref().or(kept.as_ref().map(wave::Branch::as_str));
        let target = target(&repo, name)?;
        Ok(Self { repo, file, shown, target, now, json: into.json })
    }

    pub(super) fn look(&self, bytes: &[u8]) -> Result<Looked, Vec<Finding>> {
        wave::look(&self.shown, bytes, &self.repo, self.target.clone(), self.now)
    }

    /// The bytes of the ledger, within bounds. A link is none: a repository could have it point anywhere.
    pub(super) fn read(&self) -> anyhow::Result<Vec<u8>> {
        let what = || format!("can't read {}; `phasegate wave open` writes one", self.shown);
        match std::fs::symlink_metadata(&self.file) {
            Ok(found) if !found.is_file() => bail!("{} is no plain file", self.shown),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                if let Some(place) = self.place_of_another()? {
                    bail!("there is no {} in this working tree: {place}", self.shown);
                }
            }
            _ => {}
        }
        bounded(&self.file).with_context(what)
    }

    /// Where the ledger is, where it is not here.
    fn place_of_another(&self) -> anyhow::Result<Option<String>> {
        if self.own().is_none_or(|own| own != self.file) {
            return Ok(None);
        }
        if let Some(other) = self.open_elsewhere()?.first() {
            let folder = out::plain(&other.parent().unwrap_or(other).display().to_string());
            return Ok(Some(format!("the wave's is kept in {folder}; go there")));
        }
        Ok(self.open_on()?.map(|branch| {
            format!(
                "the wave's is committed on {}; go where that is checked out, or bring it up to date",
                out::plain(&branch)
            )
        }))
    }

    /// The ledgers in the repository's other working trees. What was committed there, and deleted since on the branch that the
    /// wave went into, is that of a wave which is closed.
    pub(super) fn open_elsewhere(&self) -> anyhow::Result<Vec<PathBuf>> {
        let here = self.repo.root();
        let mut found = Vec::new();
        for tree in self.repo.working_trees()? {
            let file = tree.join(FILE);
            let other = !here.as_ref().is_some_and(|here| is_same(here, &tree));
            if other && std::fs::symlink_metadata(&file).is_ok() && !self.is_closed(&tree, &file) {
                found.push(file);
            }
        }
        Ok(found)
    }

    fn is_closed(&self, tree: &Path, file: &Path) -> bool {
        let kept = |at: &CommitId| self.repo.blob(at, &RepoPath::from(FILE)).ok().flatten().map(|blob| blob.bytes);
        let head = LocalRepo::open(tree).ok().and_then(|repo| repo.revision("HEAD").ok().flatten());
        let Some(head) = head.filter(|head| kept(head).is_some() && kept(head) == bounded(file).ok()) else {
            return false;
        };
        let shared = self.repo.merge_base(&head, &self.target.tip).ok().flatten();
        kept(&self.target.tip).is_none() && shared.is_some_and(|shared| kept(&shared).is_some())
    }

    /// The branch on which a ledger is committed: the one that the wave goes into, here or, where that is further on, at `origin`.
    pub(super) fn open_on(&self) -> anyhow::Result<Option<String>> {
        let kept = |at: &CommitId| self.repo.blob(at, &RepoPath::from(FILE)).map(|blob| blob.is_some());
        if kept(&self.target.tip)? {
            return Ok(Some(self.target.name.clone()));
        }
        let Ok(branch) = wave::Branch::parse(&self.target.name) else { return Ok(None) };
        let Some(there) = self.repo.at_origin(&branch)? else { return Ok(None) };
        let further = !crate::repo::Reader::is_ancestor(&self.repo, &there, &self.target.tip)?;
        Ok((further && kept(&there)?).then(|| format!("origin/{branch}")))
    }

    /// What comes of a step is written, unless it is refused or somebody has written in between. It ends with a finding where
    /// something stands against the task that it is about, so that nobody is sent to work on it.
    pub(super) fn step(
        &self,
        task: Option<&str>,
        step: impl FnOnce(&Looked) -> anyhow::Result<Step>,
    ) -> anyhow::Result<Exit> {
        self.step_over(task, |looked| Ok((step(looked)?, Vec::new())))
    }

    /// The same, with what is told of it although it is done.
    pub(super) fn step_over(
        &self,
        task: Option<&str>,
        step: impl FnOnce(&Looked) -> anyhow::Result<(Step, Vec<Finding>)>,
    ) -> anyhow::Result<Exit> {
        let _alone = self.alone()?;
        let before = self.read()?;
        let looked = match self.look(&before) {
            Ok(looked) => looked,
            Err(findings) => return self.report(None, findings),
        };
        let (ledger, over) = match step(&looked)? {
            (Ok(ledger), over) => (ledger, over),
            (Err(findings), _) => return self.report(Some(&looked), findings),
        };
        if self.read()? != before {
            bail!("{} was changed in the meantime; look at it and say it again", self.shown);
        }
        self.replace(&ledger)?;
        let facts = Facts::gather(&self.repo, &ledger, self.target.clone());
        let after = wave::judge(&self.shown, ledger, facts, self.now);
        self.report(Some(&after), over.into_iter().chain(after.findings()).collect())?;
        let nth = after.ledger.rows.iter().position(|row| Some(row.task.as_str()) == task);
        let against = |found: &Found| found.finding.blocks() && (found.row.is_none() || found.row == nth);
        Ok(self.unless_cut(Some(&after), Exit::found(after.found.iter().any(against))))
    }

    /// Whoever reads meanwhile sees the old ledger or the new one, never half of one.
    fn replace(&self, ledger: &Ledger) -> anyhow::Result<()> {
        let what = || format!("can't write {}", self.shown);
        let mut beside = tempfile::NamedTempFile::new_in(self.folder()).with_context(what)?;
        beside.write_all(ledger.write().as_bytes()).with_context(what)?;
        let allowed = std::fs::metadata(&self.file).with_context(what)?.permissions();
        beside.as_file().set_permissions(allowed).with_context(what)?;
        beside.persist(&self.file).with_context(what)?;
        Ok(())
    }

    /// Nobody else changes a ledger of this repository as long as this is held. The system lets go of it when the process ends,
    /// however that happens.
    pub(super) fn alone(&self) -> anyhow::Result<std::fs::File> {
        let path = self.repo.common_folder().join("phasegate-wave.lock");
        let what = || format!("can't lock {}", out::plain(&path.display().to_string()));
        let lock = std::fs::OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let lock = lock.with_context(what)?;
        let begun = Instant::now();
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(lock),
                Err(TryLockError::WouldBlock) if begun.elapsed() < LONGEST_WAIT => std::thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => {
                    bail!("somebody else is changing {}; nothing was written, say it again", self.shown)
                }
                Err(TryLockError::Error(error)) => return Err(error).with_context(what),
            }
        }
    }

    /// Writes a ledger where there is none; false: there is one. Whoever reads meanwhile sees none or all of it.
    pub(super) fn create(&self, ledger: &Ledger) -> anyhow::Result<bool> {
        let what = || format!("can't make {}", self.shown);
        let mut beside = tempfile::Builder::new();
        // As other files are: what is made for a while is for its owner only.
        #[cfg(unix)]
        let beside = beside.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut beside = beside.tempfile_in(self.folder()).with_context(what)?;
        beside.write_all(ledger.write().as_bytes()).with_context(what)?;
        match beside.persist_noclobber(&self.file) {
            Ok(_) => Ok(true),
            Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error.error).with_context(what),
        }
    }

    fn folder(&self) -> &Path {
        self.file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    /// The repository's own ledger, where another one is asked for.
    fn own(&self) -> Option<PathBuf> {
        Some(self.repo.root()?.join(FILE))
    }

    /// A wave that is open in the repository beside the file that is asked for.
    pub(super) fn open_wave(&self) -> Option<String> {
        let own = self.own().filter(|own| std::fs::symlink_metadata(own).is_ok())?;
        (!is_same(&own, &self.file)).then(|| FILE.to_owned())
    }

    /// There is something where the ledger is to be written.
    pub(super) fn has_one(&self) -> bool {
        std::fs::symlink_metadata(&self.file).is_ok()
    }

    /// Whether a file is the ledger.
    pub(super) fn is_ledger(&self, file: &Path) -> bool {
        is_same(&self.file, file)
    }

    /// Whether the repository's own ledger is committed as it is; one that was never committed is nobody's but the keeper's.
    pub(super) fn is_committed(&self, ledger: &Ledger) -> anyhow::Result<bool> {
        if !self.own().is_some_and(|own| is_same(&own, &self.file)) {
            return Ok(true);
        }
        let Some(head) = self.repo.revision("HEAD")? else { return Ok(true) };
        let Some(kept) = self.repo.blob(&head, &RepoPath::from(FILE))? else { return Ok(true) };
        Ok(wave::read(FILE, &kept.bytes).is_ok_and(|kept| kept.write() == ledger.write()))
    }

    /// What was handed in came to a stop.
    pub(super) fn is_stopped(&self, task: &str) -> anyhow::Result<bool> {
        let ledger = wave::read(&self.shown, &self.read()?).ok();
        Ok(ledger
            .and_then(|ledger| ledger.row(task).map(|row| matches!(row.lease, Lease::Stopped(_))))
            .unwrap_or_default())
    }

    pub(super) fn report(&self, looked: Option<&Looked>, findings: Vec<Finding>) -> anyhow::Result<Exit> {
        let verdict = verdict(&findings);
        if self.json {
            let ledger = looked.map(|looked| &looked.ledger);
            out::json(&Report {
                schema: "phasegate/wave@1",
                verdict,
                wave: ledger.map(|ledger| ledger.name.as_str()),
                status: ledger.map(|ledger| ledger.status.as_str()),
                base: ledger.map(|ledger| ledger.base.as_str()),
                into: Some(&self.target.name),
                rows: looked.map(|looked| self.rows(looked)).unwrap_or_default(),
                findings: findings.into_iter().map(Told::from).collect(),
            })?;
        } else {
            out::text(&text(looked, &findings, verdict))?;
        }
        Ok(self.unless_cut(looked, Exit::found(verdict == Verdict::Fail)))
    }

    /// What stands behind the end of a history that is cut can't be found out, which is not the same as that something is wrong.
    pub(super) fn unless_cut(&self, looked: Option<&Looked>, exit: Exit) -> Exit {
        if exit == Exit::Finding && looked.is_some_and(|looked| looked.facts.is_cut()) { Exit::Usage } else { exit }
    }

    fn rows<'r>(&self, looked: &'r Looked) -> Vec<RowReport<'r>> {
        let rows = looked.ledger.rows.iter().zip(&looked.judged).zip(&looked.turns);
        let one = |((row, judged), turn): ((&'r wave::Row, &'r wave::verdict::Judged), &'r Turn)| RowReport {
            task: row.task.as_str(),
            worker: row.worker.as_ref().map(wave::Worker::as_str),
            branch: row.branch.as_str(),
            state: row.lease.state(self.now),
            lease: &row.lease,
            fork_base: &row.fork_base,
            handed_in: judged.proposal.as_ref().map(wave::verdict::Proposal::weighed),
            turn,
        };
        rows.map(one).collect()
    }
}

/// The bytes of a file, and one more than a ledger has.
fn bounded(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(file)?.take(LARGEST as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether two paths are one file, however they are written.
fn is_same(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}

/// Puts a digest at the end of a file, a blank line behind what is there. A link is none: a repository could have it point
/// anywhere.
pub(super) fn append(file: &Path, digest: &str) -> anyhow::Result<()> {
    let shown = out::plain(&file.display().to_string());
    let what = || format!("can't write {shown}");
    let blank = match std::fs::symlink_metadata(file) {
        Ok(found) if !found.is_file() => bail!("{shown} is no plain file"),
        Ok(found) => found.len() > 0,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
        Err(error) => return Err(error).with_context(what),
    };
    let mut log = std::fs::OpenOptions::new().append(true).create(true).open(file).with_context(what)?;
    let lead = if blank { "\n" } else { "" };
    log.write_all(format!("{lead}{digest}").as_bytes()).with_context(what)?;
    Ok(())
}

/// The branch that a wave goes into. What is here comes first: merge-back is done here.
fn target(repo: &LocalRepo, into: Option<&str>) -> anyhow::Result<Target> {
    if let Some(name) = into {
        return Ok(Target { name: name.to_owned(), tip: check::revision(repo, name)? });
    }
    for name in ["main", "master", "origin/HEAD", "origin/main", "origin/master"] {
        if let Some(tip) = repo.revision(name)? {
            return Ok(Target { name: name.to_owned(), tip });
        }
    }
    bail!("there is no default branch here (main, master, origin/HEAD); name the branch with --into")
}

fn text(looked: Option<&Looked>, findings: &[Finding], verdict: Verdict) -> String {
    let mut text = String::new();
    let end = check::coloured(verdict);
    match looked.map(|looked| &looked.ledger) {
        Some(ledger) => {
            let (name, status) = (ledger.name.as_str(), ledger.status.as_str());
            let into = looked.map(|looked| out::plain(&looked.facts.target.name)).unwrap_or_default();
            let _ = writeln!(text, "{} {end} {name}, {status}, base {}, into {into}", "WAVE".bold(), ledger.base);
        }
        None => {
            let _ = writeln!(text, "{} {end}", "WAVE".bold());
        }
    }
    for (row, turn) in looked.iter().flat_map(|looked| looked.ledger.rows.iter().zip(&looked.turns)) {
        let _ = writeln!(text, "  {} {}", out::plain(row.task.as_str()).bold(), out::plain(&turn.words()));
    }
    text.push_str(&check::lines(findings));
    text
}
