//! `phasegate replay`: proves a change's chain of records and refolds it, on a local copy of the ledger's branch or, as
//! the App, on GitHub.
//!
//! It trusts nothing in the repository: signatures are held against keys that the caller gives,
//! and the end of the chain against an [`Anchor`], which only the App can have written into the merge check. What it
//! finds is located: which record, how, and what to do.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use owo_colors::OwoColorize as _;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::{Exit, app, out};
use crate::flow::pipeline::words;
use crate::flow::{FlowName, Stage};
use crate::gate::merge::CHECK_NAME;
use crate::gate::world::{ACTIONS_APP, ACTIONS_SLUG};
use crate::github::store::GitHubStore;
use crate::github::{Keys, PublicKey, Repo};
use crate::ids::{ChangeNumber, Digest, InstallationId, RepoId, Slug};
use crate::ledger::chain::{self, From, Proven};
use crate::ledger::local::LocalStore;
use crate::ledger::snapshot::{self, Snapshot};
use crate::ledger::store::{Folder, Store};
use crate::ledger::unsigned::{ADVISORY, Unsigned};
use crate::ledger::{
    Anchor, Anchors, Body, Break, BreakKind, CHECKPOINT_FILE, KeyRing, Record, State, alias_path, change_record,
    context_path, file_name, folder, log_path, manifest_path, snapshot_path,
};
use crate::surface::{self, witness};

/// Prove a change's records and refold them
///
/// Signatures, order and the fold are proven from the first record to the last. An altered, dropped or reordered record
/// is located; a cut-off end shows by the anchor in the merge check. Exits with 3 for an advisory ledger, whose records nobody
/// signs: they are only shown to follow from each other.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The change's number, or that of an issue or pull request that belongs to it
    #[arg(value_parser = number)]
    change: u64,
    /// A local repository that has the ledger's branch
    #[arg(long, default_value = ".", value_name = "PATH")]
    repo: PathBuf,
    /// Read ledger, repository id and anchor from GitHub instead, as the App: needs APP_ID and its private key (an
    /// advisory ledger GITHUB_TOKEN)
    #[arg(long, value_name = "OWNER/REPO", conflicts_with_all = ["repo", "repository_id", "anchor"])]
    github: Option<Slug>,
    /// The ledger's branch
    #[arg(long, default_value = "phasegate/ledger")]
    branch: String,
    /// GitHub's numeric id of the repository; without it, the first record's is believed
    #[arg(long, value_name = "N")]
    repository_id: Option<u64>,
    /// A PEM file with a key of the App, public or private; repeat it for earlier keys. PRIVATE_KEY, PRIVATE_KEY_PATH,
    /// PREVIOUS_KEYS and PREVIOUS_KEYS_PATH of the environment are used too
    #[arg(long = "key", value_name = "FILE")]
    keys: Vec<PathBuf>,
    /// The `external_id` of the check run phasegate/merge: pg1:CHANGE:SEQ:DIGEST, several of them where pull requests
    /// share a head. Where there are more than it has room for, all stand in the run's text; --github finds them
    #[arg(long)]
    anchor: Option<Anchors>,
    /// Print `phasegate/replay@1`
    #[arg(long)]
    json: bool,
}

pub(super) fn number(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix('#').unwrap_or(text);
    digits.parse().ok().filter(|number| *number > 0).ok_or_else(|| "a change is a number such as 42".to_owned())
}

#[derive(Debug, Serialize)]
struct Report {
    schema: &'static str,
    verdict: &'static str,
    change: u64,
    repository: u64,
    branch: String,
    /// The commit of the ledger's branch that was read.
    head: String,
    /// How many records are there, proven or not.
    records: u64,
    /// The keys that signatures were held against, by their fingerprints.
    keys: Vec<Digest>,
    anchor: Option<String>,
    /// What the records add up to; none when the chain breaks before its end.
    state: Option<Summary>,
    findings: Vec<Finding>,
    /// What could not be proven, and why.
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Summary {
    seq: u64,
    tip: Digest,
    flow: FlowName,
    /// The pipeline's stage; the merge flow has none in its records.
    stage: Option<Stage>,
    /// A task's phase.
    phase: Option<crate::flow::task::Stage>,
    open: bool,
    merged: Option<String>,
}

#[derive(Debug, Serialize)]
struct Finding {
    rule: &'static str,
    severity: &'static str,
    path: String,
    seq: u64,
    kind: BreakKind,
    says: String,
    next: String,
}

pub(super) async fn run(args: &Args) -> anyhow::Result<Exit> {
    let advisory = args.branch.ends_with(ADVISORY);
    let keys = if advisory { Keys::default() } else { some_keys(&args.keys)? };
    let ring: &dyn KeyRing = if advisory { &Unsigned } else { &keys };
    let (store, (change, folder, anchor, given)): (Box<dyn Store>, Looked) = match &args.github {
        Some(slug) => on_github(args, slug, advisory).await?,
        None => {
            let store = store(&args.repo, &args.branch)?;
            let (change, folder) = find(args.change, &store).await?;
            (Box::new(store), (change, folder, anchor(args, change)?, args.repository_id.map(RepoId)))
        }
    };
    let Some(repo) = given.or_else(|| claimed_repository(&folder.files)).or(anchor.as_ref().map(|_| RepoId(0))) else {
        bail!("the ledger on {} has no records of change {change}", out::plain(&args.branch));
    };
    let examined = examine(repo, change, &folder.files, ring, anchor.as_ref());

    let lost = match lost_file(store.as_ref(), change, &examined.named).await? {
        Some(lost) => vec![lost],
        None => lost_memory(store.as_ref(), change, &examined.memory).await?,
    };
    let records = record_numbers(&folder.files).count() as u64;
    let mut notes = Vec::new();
    if change.0 != args.change {
        notes.push(format!("#{} belongs to change {change}.", args.change));
    }
    // On GitHub it should be there: what can't be held against it is not proven to its end.
    let unanchored = args.github.is_some() && anchor.is_none();
    if advisory && examined.broken.is_none() {
        notes.push(
            "The ledger is advisory: anyone who can push a workflow could have written these records. They follow from each other, \
             and nobody has signed them."
                .to_owned(),
        );
    }
    if unanchored {
        notes.push(format!(
            "It is not anchored: no check run {CHECK_NAME} on the head of #{change} carries an anchor of it, so it can't be \
             seen whether records were cut off at the end. While #{change} is open, a look writes one: say /status there.",
            change = change.0
        ));
    } else if anchor.is_none() {
        notes.push(format!(
            "No anchor was given, so it can't be seen whether records were cut off at the end. The external_id of the \
             newest check run {CHECK_NAME} is one: give it with --anchor."
        ));
    }
    if given.is_none() && records > 0 {
        notes.push(format!(
            "That these are the records of this repository is not proven: the id {} is their own word. Give it with \
             --repository-id.",
            repo.0
        ));
    }
    let report = Report {
        schema: "phasegate/replay@1",
        verdict: match &examined.broken {
            Some(_) => "FAIL",
            None if !lost.is_empty() => "FAIL",
            None if unanchored => "UNANCHORED",
            None if advisory => "ADVISORY",
            None => "PASS",
        },
        change: change.0,
        repository: repo.0,
        branch: args.branch.clone(),
        head: folder.head.map(|id| id.to_string()).unwrap_or_default(),
        records,
        keys: keys.fingerprints().cloned().collect(),
        anchor: anchor.map(|anchor| anchor.to_string()),
        state: examined.state.as_ref().map(summary),
        findings: examined.broken.iter().map(|broken| finding(change, &args.branch, broken)).chain(lost).collect(),
        notes,
    };
    if args.json {
        out::json(&report)?
    } else {
        out::text(&told(&report))?
    }
    match unanchored || !report.findings.is_empty() {
        false if advisory => Ok(Exit::Human),
        found => Ok(Exit::found(found)),
    }
}

/// The change, its folder, the anchor that its end is held against, and the repository's id where that is known.
type Looked = (ChangeNumber, Folder, Option<Anchor>, Option<RepoId>);

/// What a look at a change's folder brings: the state, if the records can be folded, and the first break.
struct Examined {
    state: Option<State>,
    broken: Option<Break>,
    /// The files that its records name by their digests, each with the record's number.
    named: Vec<(u64, Named)>,
    /// What they come to that is written down for people and agents.
    memory: Remembered,
}

/// What is to be in the folder `context` of a change.
#[derive(Default)]
struct Remembered {
    /// The snapshots, each with the record that made it.
    snapshots: Vec<(u64, Snapshot)>,
    /// The change records that may be there: what was written last may be older than the last record, where that leaves none.
    records: Vec<String>,
    last: u64,
}

/// A file that a record names by its digest.
enum Named {
    Manifest(Digest),
    Log(Digest),
    /// What an agent's pass at a task came to.
    Pass(Digest),
}

/// Proves the files of a change's folder from the first record on, and holds the end against its checkpoint and the
/// anchor. Wherever the anchor was read, this is what is done with it.
fn examine(
    repo: RepoId,
    change: ChangeNumber,
    files: &BTreeMap<String, String>,
    keys: &dyn KeyRing,
    anchor: Option<&Anchor>,
) -> Examined {
    let proven = match chain::prove(repo, change, files, keys, From::Beginning) {
        Ok(proven) => proven,
        Err(broken) => {
            return Examined { state: None, broken: Some(broken), named: Vec::new(), memory: Remembered::default() };
        }
    };
    let held = match anchor {
        Some(anchor) => chain::hold_against(&proven, anchor),
        None => Ok(()),
    };
    let broken = held.and_then(|()| hold_against_checkpoint(repo, change, files, keys, &proven)).err();
    let named = proven.records.iter().filter_map(|record| match &record.body {
        Body::Frozen { manifest, .. } => Some((record.seq, Named::Manifest(manifest.clone()))),
        Body::Ran(ran) => Some((record.seq, Named::Log(ran.log.clone()))),
        Body::PassEnded(ended) => ended.log.clone().map(|log| (record.seq, Named::Pass(log))),
        _ => None,
    });
    Examined { named: named.collect(), memory: remembered(&proven.records), state: proven.state, broken }
}

/// What was to be remembered after each record that brought something to remember.
fn remembered(records: &[Record]) -> Remembered {
    let (mut state, mut all): (Option<State>, Remembered) = (None, Remembered::default());
    let newest = last_news(records);
    for record in records {
        // They are proven, so they fold.
        let Ok(next) = State::fold(state.take(), record, Digest::of("")) else { return all };
        let last = all.snapshots.last().map(|(_, snapshot)| snapshot.iteration);
        let new = next.snapshot().filter(|latest| Some(latest.iteration) != last);
        all.snapshots.extend(new.map(|latest| (record.seq, latest.clone())));
        // That something was shown leads to no new one.
        if !matches!(record.body, Body::Shown { .. }) {
            match surface::change_record(&next) {
                // Records are written several at a time, and this is what the last of them come to.
                Some(text) if record.seq == newest => all.records = vec![text],
                Some(text) => all.records.push(text),
                None => {}
            }
        }
        all.last = record.seq;
        state = Some(next);
    }
    all
}

/// The last record that is news to be shown.
fn last_news(records: &[Record]) -> u64 {
    let news = records.iter().rev().find(|record| !matches!(record.body, Body::Shown { .. }));
    news.map_or(0, |record| record.seq)
}

/// So many files of a change's memory are told one by one.
const MOST_LOST: usize = 20;

/// What is not in a change's folder `context` as it was written, to the byte. Nothing is read back from there; people and agents
/// read it.
async fn lost_memory(store: &dyn Store, change: ChangeNumber, memory: &Remembered) -> anyhow::Result<Vec<Finding>> {
    let Some((made, newest)) = memory.snapshots.last() else { return Ok(Vec::new()) };
    let mut lost = Vec::new();
    let mut find = |path: String, seq: u64, kind: BreakKind, says: String| {
        let next = format!(
            "`git log -p -- {path}` on the ledger's branch shows the commit that did it: revert that one. The records are whole, and \
             nothing is read back from it. Where nobody did, another version of Phasegate wrote it: replay with that one."
        );
        lost.push(Finding { rule: "SNP-04", severity: "error", path, seq, kind, says, next });
    };
    let each = memory.snapshots.iter();
    let each = each.map(|(seq, wanted)| (snapshot_path(change, wanted.iteration), *seq, wanted, wanted.name()));
    let alias = (context_path(change), *made, newest, "latest.md".to_owned());
    for (path, seq, wanted, name) in each.chain([alias]) {
        match store.file(&path).await.context("can't read the ledger")? {
            Some(text) if text == snapshot::write(wanted) => {}
            Some(_) => {
                let says = format!("the snapshot {name} is not what the records come to, to the byte");
                find(path, seq, BreakKind::Altered, says);
            }
            None => find(path, seq, BreakKind::Dropped, format!("the snapshot {name} is not there")),
        }
    }
    let path = change_record(change);
    if let Some(text) = store.file(&path).await.context("can't read the ledger")?
        && !memory.records.contains(&text)
    {
        let says = "the change record is not what the records come to, to the byte".to_owned();
        find(path, memory.last, BreakKind::Altered, says);
    }
    let place = format!("{}/context", folder(change));
    let names = store.names(std::slice::from_ref(&place)).await.context("can't read the ledger")?;
    let is_known = |name: &str| {
        snapshot::named(name).is_some_and(|number| memory.snapshots.iter().any(|(_, one)| one.iteration == number))
    };
    let added = |name: &String| name.to_ascii_lowercase().starts_with("iter-") && !is_known(name);
    for name in names.into_iter().flatten().filter(added) {
        let says = format!("{} is there, and no record made it", out::plain(&name));
        find(format!("{place}/{name}"), memory.last, BreakKind::Foreign, says);
    }
    lost.truncate(MOST_LOST);
    Ok(lost)
}

/// A file that a record names by its digest, and that is not there as it was. Without it nobody can say what was frozen, or what
/// a verdict rests on.
async fn lost_file(store: &dyn Store, change: ChangeNumber, named: &[(u64, Named)]) -> anyhow::Result<Option<Finding>> {
    for (seq, named) in named {
        let (path, digest, what) = match named {
            Named::Manifest(digest) => (manifest_path(change, digest), digest, "manifest"),
            Named::Log(digest) => (log_path(change, digest), digest, "execution log"),
            Named::Pass(digest) => (log_path(change, digest), digest, "report of a pass"),
        };
        let (kind, says) = match store.file(&path).await.context("can't read the ledger")? {
            Some(text) if Digest::of(&text) == *digest => continue,
            Some(_) => (BreakKind::Altered, format!("the {what} that it names is not the one that was written")),
            None => (BreakKind::Dropped, format!("the {what} that it names is not there")),
        };
        let (rule, otherwise) = match named {
            Named::Manifest(_) => ("tripwire_missing", "a person says /refreeze on the pull request"),
            Named::Log(_) => ("MRG-08", "push, so that the content is run anew"),
            Named::Pass(_) => ("AGT-08", "nobody can say any more what was asked and answered in that pass"),
        };
        let next = format!(
            "`git log -p -- {path}` on the ledger's branch shows the commit that did it: revert that one. Where the file can't \
             be had any more, {otherwise}."
        );
        return Ok(Some(Finding { rule, severity: "error", path, seq: *seq, kind, says, next }));
    }
    Ok(None)
}

/// A checkpoint names the record that it stands for, and is signed: a weak anchor, but one that is always there.
pub(super) fn hold_against_checkpoint(
    repo: RepoId,
    change: ChangeNumber,
    files: &BTreeMap<String, String>,
    keys: &dyn KeyRing,
    proven: &Proven,
) -> Result<(), Break> {
    if !files.contains_key(CHECKPOINT_FILE) {
        return Ok(());
    }
    let Some(after) = chain::prove(repo, change, files, keys, From::Checkpoint)?.state else { return Ok(()) };
    let newest = proven.state.as_ref().map_or(0, |state| state.seq);
    if after.seq > newest {
        let says = format!("it and all after it are missing; there is a checkpoint of {} records", after.seq);
        return Err(Break { seq: newest + 1, kind: BreakKind::CutOff, says });
    }
    if proven.state.as_ref().is_some_and(|state| state.tip != after.tip) {
        let says = "it is not the record that the checkpoint was made on".to_owned();
        return Err(Break { seq: newest, kind: BreakKind::Altered, says });
    }
    Ok(())
}

/// The ledger as GitHub has it, the anchor of the merge check on the change's head, and the repository's id. Of an advisory one
/// GitHub Actions has made that check, and any token may read it.
async fn on_github(args: &Args, slug: &Slug, advisory: bool) -> anyhow::Result<(Box<dyn Store>, Looked)> {
    if advisory && app::variable("GITHUB_TOKEN").is_none() && app::variable("APP_ID").is_none() {
        bail!("GITHUB_TOKEN is not set: a token that may read {slug}");
    }
    if !advisory {
        // A token alone does not say whose check is ours.
        app::id()?;
    }
    let (repo, id) = app::reader(slug).await?;
    let made_by = made_by(&repo, advisory).await?;
    let store = GitHubStore::new(repo.clone(), &args.branch);
    let (change, found) = find(args.change, &store).await?;
    let head = repo.get_pull(change.0).await.with_context(|| format!("{change} can't be read"))?.head.sha;
    let runs = repo.check_runs_of(made_by, &head).await?;
    let anchor = witness::anchors(&runs, made_by).of(change).cloned();
    Ok((Box::new(store), (change, found, anchor, Some(id))))
}

/// The App that makes our merge checks: we ourselves, and for an advisory ledger GitHub Actions.
pub(super) async fn made_by(repo: &Repo, advisory: bool) -> anyhow::Result<u64> {
    if !advisory {
        return Ok(repo.hub().app().await.context("GitHub does not know this App")?.id);
    }
    let actions = repo.hub().app_called(ACTIONS_SLUG, InstallationId(0)).await.ok().flatten();
    Ok(actions.map_or(ACTIONS_APP, |app| app.id))
}

/// The anchor that was given by hand.
fn anchor(args: &Args, change: ChangeNumber) -> anyhow::Result<Option<Anchor>> {
    let Some(given) = &args.anchor else { return Ok(None) };
    match (given.of(change), given.first()) {
        (None, Some(other)) => bail!("the anchor is one of change {}, not of {change}", other.change),
        (anchor, _) => Ok(anchor.cloned()),
    }
}

/// Every key that the caller knows the App by.
pub(super) fn keys(files: &[PathBuf]) -> anyhow::Result<Keys> {
    let mut keys: Keys = app::earlier_keys()?.into_iter().collect();
    let named = std::env::var_os("PRIVATE_KEY_PATH").filter(|path| !path.is_empty()).map(PathBuf::from);
    for file in files.iter().chain(&named) {
        keys.add(app::public_key(file)?);
    }
    if let Some(pem) = std::env::var("PRIVATE_KEY").ok().filter(|pem| !pem.is_empty()).map(Zeroizing::new) {
        // Environment files often have literal `\n` in place of line ends.
        let pem = Zeroizing::new(pem.replace("\\n", "\n"));
        keys.add(PublicKey::from_pem(&pem).context("PRIVATE_KEY is no key")?);
    }
    Ok(keys)
}

/// The same, where there is no proof without one.
pub(super) fn some_keys(files: &[PathBuf]) -> anyhow::Result<Keys> {
    let keys = keys(files)?;
    if keys.is_empty() {
        bail!(
            "there is no key to prove the signatures with; give the App's key, public or private, with --key FILE, or \
             set PRIVATE_KEY or PRIVATE_KEY_PATH"
        );
    }
    Ok(keys)
}

/// The ledger of the repository that holds this path.
pub(super) fn store(path: &Path, branch: &str) -> anyhow::Result<LocalStore> {
    let shown = out::plain(&path.display().to_string());
    let repo = git2::Repository::discover(path)
        .with_context(|| format!("there is no git repository at {shown}; name one with --repo"))?;
    if repo.find_reference(&format!("refs/heads/{branch}")).is_err() {
        let branch = out::plain(branch);
        bail!(
            "{shown} has no branch {branch}; get it with\n  git -C {shown} fetch origin {branch}:{branch}\nor name \
             another with --branch"
        );
    }
    Ok(LocalStore::new(repo.path(), branch))
}

/// The folder of the change that this number belongs to.
pub(super) async fn find(number: u64, store: &dyn Store) -> anyhow::Result<(ChangeNumber, Folder)> {
    let change = ChangeNumber(number);
    let found = store.folder(&folder(change)).await.context("can't read the ledger")?;
    if found.files.is_empty() {
        let alias = store.file(&alias_path(change.0)).await.context("can't read the ledger")?;
        if let Some(home) = alias.and_then(|text| text.trim().parse().ok()).map(ChangeNumber) {
            let found = store.folder(&folder(home)).await.context("can't read the ledger")?;
            return Ok((home, found));
        }
    }
    Ok((change, found))
}

fn record_numbers(files: &BTreeMap<String, String>) -> impl Iterator<Item = u64> {
    files.keys().filter_map(|name| {
        let number = name.strip_suffix(".json")?.parse().ok()?;
        (*name == file_name(number)).then_some(number)
    })
}

/// The repository that the first record names. None: there is no record.
pub(super) fn claimed_repository(files: &BTreeMap<String, String>) -> Option<RepoId> {
    #[derive(Deserialize)]
    struct Sealed {
        record: Named,
    }
    #[derive(Deserialize)]
    struct Named {
        repo: RepoId,
    }
    let mut numbers: Vec<u64> = record_numbers(files).collect();
    numbers.sort_unstable();
    let first = file_name(*numbers.first()?);
    // One that can't be read is found out when it is proven.
    Some(serde_json::from_str::<Sealed>(&files[&first]).map_or(RepoId(0), |sealed| sealed.record.repo))
}

fn summary(state: &State) -> Summary {
    Summary {
        seq: state.seq,
        tip: state.tip.clone(),
        flow: state.flow,
        stage: state.pipeline.as_ref().map(|pipeline| pipeline.stage),
        phase: state.task.as_ref().map(|task| task.state.stage),
        open: state.open,
        merged: state.merged.as_ref().map(|merged| merged.commit.to_string()),
    }
}

fn finding(change: ChangeNumber, branch: &str, broken: &Break) -> Finding {
    let mend = broken.mend(change, branch);
    let next = match broken.kind {
        BreakKind::UnknownKey if branch.ends_with(ADVISORY) => {
            "An advisory ledger has no signed records: somebody else wrote this one. Revert the one commit that did."
                .to_owned()
        }
        BreakKind::CutOff => format!("If this is a copy, fetch it again: it may be old. {mend}"),
        BreakKind::UnknownKey => format!("{mend} Here an earlier key is given with --key or PREVIOUS_KEYS_PATH."),
        BreakKind::Foreign => format!("Check --repository-id and --repo. If they are right: {mend}"),
        _ => mend,
    };
    Finding {
        rule: "MRG-08",
        severity: "error",
        path: broken.path(change),
        seq: broken.seq,
        kind: broken.kind,
        says: broken.says.clone(),
        next,
    }
}

fn told(report: &Report) -> String {
    let mut text = String::new();
    let records = if report.records == 1 { "1 record".to_owned() } else { format!("{} records", report.records) };
    let whole = report.findings.is_empty();
    let verdict = match report.verdict {
        "ADVISORY" => "intact, and signed by nobody".yellow().to_string(),
        "UNANCHORED" => "intact as far as it goes, and not anchored".red().to_string(),
        _ if whole => "intact".green().to_string(),
        _ => "broken".red().to_string(),
    };
    let _ = writeln!(text, "change #{}: {records}, the chain is {verdict}", report.change);
    if let Some(state) = &report.state {
        let stage = state.stage.map(|stage| format!(" at “{}”", words(stage))).unwrap_or_default();
        let phase = state.phase.map(|phase| format!(" in `{phase}`")).unwrap_or_default();
        let life = match (&state.merged, state.open) {
            (Some(commit), _) => format!("merged as {commit}"),
            (None, true) => "open".to_owned(),
            (None, false) => "closed".to_owned(),
        };
        let _ = writeln!(text, "state:  {} flow{stage}{phase}, {life}", state.flow);
        let _ = writeln!(text, "tip:    record {}, {}", state.seq, state.tip);
    }
    let _ = writeln!(text, "ledger: {} at {}", out::plain(&report.branch), report.head);
    for Finding { rule, seq, kind, path, says, next, .. } in &report.findings {
        let told = match kind {
            BreakKind::Altered => "altered",
            BreakKind::Dropped => "dropped",
            BreakKind::Reordered => "reordered",
            BreakKind::CutOff => "cut off",
            BreakKind::UnknownKey => "signed with an unknown key",
            BreakKind::Foreign if *rule == "SNP-04" => "not by any record",
            BreakKind::Foreign => "of another change",
            BreakKind::Unlawful => "against the law",
        };
        let what = match (*rule, *seq) {
            ("SNP-04", _) => "what is remembered".to_owned(),
            (_, 0) => "the checkpoint".to_owned(),
            _ => format!("record {seq}"),
        };
        let _ = writeln!(text, "\n{}: {what} is {told} ({path})", rule.red());
        let _ = writeln!(text, "  {}\n  next: {}", out::plain(says), out::plain(next));
    }
    for note in &report.notes {
        let _ = write!(text, "\nnote: {note}");
    }
    text.push('\n');
    text
}
