//! Reads the world for one change: from git what git knows, from the API the rest.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::answered;
use super::delivered;
use super::frozen::{self, Kept};
use super::remembered;
use crate::flow::Phase;
use crate::gate::Finding;
use crate::gate::build;
use crate::gate::memory::Files;
use crate::gate::paper::seen::seen;
use crate::gate::papers::{self, Followed, Judged, Papers, Sheet};
use crate::gate::people::{May, Standing};
use crate::gate::reconcile;
use crate::gate::review::block;
use crate::gate::task::look::look;
use crate::gate::verify;
use crate::gate::world::{Deployment, Law, Proposal, Raises, Review, Subject};
use crate::github::calls::pulls::Pull;
use crate::github::{Repo, Result};
use crate::guard::Guard;
use crate::guard::weaken::{Weakened, weakened};
use crate::ids::{BlobId, ChangeNumber, CommitId, Digest, Person, RepoRef, Role};
use crate::ledger::diary::{self, Diary};
use crate::ledger::memory::Memory;
use crate::ledger::record::{Condition, Raised};
use crate::ledger::snapshot::{self, folder_of};
use crate::ledger::{About, By, State};
use crate::policy::{self, Base, Flow, Limits, MadeBy, OWN_ENVIRONMENT, Policy, RunGate, Source, Tier, Who};
use crate::repo::meaning::{self, ByPolicy, Drift, Sides};
use crate::repo::{
    CommitInfo, Delta, Fetched, LocalRepo, Mirror, Mode, Reader, RepoPath, Want, Written, blob_of, content_digest,
    touched, without,
};

/// The policy file as it was read.
pub(super) struct Read {
    pub(super) law: Law,
    /// The default branch's tip, where it stands.
    pub(super) tip: CommitId,
    /// The ledger's branch, where the file names one that can be read, with its line; also out of an invalid file.
    pub(super) ledger: Option<(String, u32)>,
}

/// The law at the tip of the default branch. `None`: there is no policy, so nobody is to hear anything from us.
pub(super) async fn law(mirror: &Mirror, home: &RepoRef) -> anyhow::Result<Option<Read>> {
    let Some(tip) = mirror.fetch(&[branch(&home.default_branch)]).await?.into_iter().next() else {
        return Ok(None);
    };
    Ok(mirror.read(move |reader| read_law(reader, tip.clone())).await?)
}

/// Whether there was a policy when this head was merged, other than one that it brought itself. What can't be fetched
/// any more accuses nobody.
pub(super) async fn was_law(mirror: &Mirror, head: &CommitId, merged: &CommitId) -> anyhow::Result<bool> {
    match mirror.fetch(&[Want::Commit(merged.clone())]).await {
        Err(crate::repo::Error::Missing(_)) => return Ok(false),
        fetched => drop(fetched?),
    }
    let commit = merged.clone();
    let parents = mirror.read(move |reader| Ok(reader.commit(&commit)?.parents)).await?;
    let Some(before) = parents.into_iter().next() else { return Ok(false) };
    let (before, head) = (Want::Commit(before), Want::Commit(head.clone()));
    let fetched = match mirror.fetch_change(&before, &head).await {
        Err(crate::repo::Error::Missing(_) | crate::repo::Error::Crosswise) => return Ok(false),
        fetched => fetched?,
    };
    let said = mirror.read(move |reader| {
        let there = |at: &CommitId| reader.mode(at, &RepoPath::from(policy::PATH)).map(|mode| mode.is_some());
        // Where its commits were rebased one by one, the one before the last is the change's own.
        let brought = there(&fetched.head)? && !fetched.merge_base.as_ref().map_or(Ok(false), there)?;
        Ok(there(&fetched.base)? && !brought)
    });
    Ok(said.await?)
}

pub(super) fn branch(name: &str) -> Want {
    Want::Ref(format!("refs/heads/{name}"))
}

/// The content of a change. `None` when base or head are not there, or have nothing in common.
pub(super) async fn content(
    mirror: &Mirror,
    law: &Law,
    (tip, default_branch): (&CommitId, &str),
    pull: &Pull,
    (state, kept, round): (Option<&State>, Option<Kept>, Option<Followed>),
) -> anyhow::Result<Option<Subject>> {
    let (change, base_ref, head) = (ChangeNumber(pull.number), &pull.base.r#ref, &pull.head.sha);
    // The default branch was fetched a moment ago, and what is here already costs no fetch.
    let base = if base_ref == default_branch { Want::Commit(tip.clone()) } else { branch(base_ref) };
    let wanted = Want::Commit(head.clone());
    let fetched = match mirror.fetch_change(&base, &wanted).await {
        Ok(fetched) => fetched,
        Err(error @ (crate::repo::Error::Missing(_) | crate::repo::Error::Crosswise)) => {
            tracing::warn!(%error, "base and head can't be compared");
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    let failed_at = state.and_then(|state| state.fixing_since.clone());
    let failed = state.and_then(|state| state.failed.clone());
    let known = state.and_then(|state| state.subject.clone());
    let pipeline = state.is_some_and(|state| state.pipeline.is_some());
    let task = state.and_then(|state| state.task.clone());
    let phased = pipeline || task.is_some();
    let accepted = state.map(|state| state.accepted.clone()).unwrap_or_default();
    let memory = state.and_then(|state| state.memory.clone());
    let bot = state.map(|state| Repaired {
        files: state.written_by_bot(),
        of: state.repairs.iter().map(|repair| repair.content.clone()).collect(),
        snapshots: state.snapshots_by_bot(),
        pushed: state.memory.as_ref().map(Memory::pushed_as_written).unwrap_or_default(),
        diary: state.diary.clone(),
        change,
    });
    let bot = bot.unwrap_or_else(|| Repaired::of(change));
    let (law, tip, base_ref) = (law.clone(), tip.clone(), base_ref.to_owned());
    let read = mirror.read(move |reader| {
        let mut subject =
            subject(reader, &law, &tip, &base_ref, &fetched, (failed_at.as_ref(), &bot, round.as_ref()), pipeline)?;
        if let Some(subject) = &mut subject {
            let About { base, head, .. } = &subject.about;
            subject.context = remembered::files(reader, (base, head), &subject.changed, (change, memory.as_ref()))?;
            if let Law::Valid(policy) = &law
                && (phased || wants_papers(&law) || wants_tasks(&law))
            {
                subject.guard = frozen::guard(reader, policy, (base, head), kept.as_ref(), &accepted)?;
            }
            if task.is_some() || wants_tasks(&law) {
                let deltas = counted(reader, base, head, &bot)?;
                subject.task = Some(look(reader, (base, head), &deltas, task.as_deref())?);
            }
            if let Law::Valid(policy) = &law {
                subject.weakened = weakened(reader, policy, (base, head))?;
                subject.beyond = answered::beyond(reader, policy, (base, head), failed.as_ref());
            }
            // It costs a diff of every line, and is the same for the same two commits.
            if known.as_ref().is_none_or(|known| known.base != *base || known.head != *head) {
                made_of(reader, base, head)?.into_subject(subject);
            }
        }
        Ok(subject)
    });
    Ok(read.await?)
}

/// By what else a change is known than by its head.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct MadeOf {
    patch: Option<Digest>,
    commits: Vec<CommitId>,
    signers: BTreeSet<String>,
}

impl MadeOf {
    /// What a subject has of it, if it has any.
    pub(super) fn of(subject: &Subject) -> Option<Self> {
        let Subject { patch, commits, signers, .. } = subject;
        let any = patch.is_some() || !commits.is_empty();
        any.then(|| Self { patch: patch.clone(), commits: commits.clone(), signers: signers.clone() })
    }

    pub(super) fn into_subject(self, subject: &mut Subject) {
        (subject.patch, subject.commits, subject.signers) = (self.patch, self.commits, self.signers);
    }
}

fn made_of(reader: &LocalRepo, base: &CommitId, head: &CommitId) -> crate::repo::Result<MadeOf> {
    let commits = reader.commits_between(base, head, MOST_COMMITS)?;
    let mut signers = BTreeSet::new();
    for commit in &commits {
        let CommitInfo { message, author, committer, parents, .. } = reader.commit(commit)?;
        // Whoever merges writes nothing.
        if parents.len() > 1 {
            continue;
        }
        let beside =
            message.lines().filter_map(|line| line.trim_end().strip_suffix('>').and_then(|line| line.rsplit_once('<')));
        let emails = beside.filter(|(words, _)| words.to_ascii_lowercase().starts_with("co-authored-by:"));
        let emails = emails.map(|(_, email)| email.to_owned()).chain([author.email, committer.email]);
        signers.extend(emails.filter_map(|email: String| no_reply(&email)));
    }
    Ok(MadeOf { patch: reader.patch_id(base, head)?, commits, signers })
}

/// Whose an address is that GitHub gives to those who keep theirs to themselves: `7+mia@users.noreply.github.com`.
fn no_reply(email: &str) -> Option<String> {
    let (who, host) = email.split_once('@')?;
    host.starts_with("users.noreply.").then(|| who.to_ascii_lowercase())
}

/// The same, for one that was seen before.
pub(super) async fn made_of_again(mirror: &Mirror, base: &CommitId, head: &CommitId) -> anyhow::Result<MadeOf> {
    let (base, head) = (base.clone(), head.clone());
    Ok(mirror.read(move |reader| made_of(reader, &base, &head)).await?)
}

/// Of so many of a change's commits it is asked whether one was the head of another change.
const MOST_COMMITS: usize = 1_000;

fn read_law(reader: &LocalRepo, tip: CommitId) -> crate::repo::Result<Option<Read>> {
    let unread = |finding: Finding, tip| {
        Ok(Some(Read { law: Law::Invalid(vec![finding.at(policy::PATH, None)]), tip, ledger: None }))
    };
    let blob = match reader.blob(&tip, &RepoPath::from(policy::PATH)) {
        Ok(None) if reader.mode(&tip, &RepoPath::from(policy::PATH))?.is_some() => {
            return unread(Finding::error("MRG-07", "The policy is a folder.", "Make it a plain file."), tip);
        }
        Ok(None) if reader.mode(&tip, &RepoPath::from(policy::MISNAMED))?.is_some() => {
            let problem = policy::misnamed();
            let finding = Finding::error(problem.rule, problem.says, problem.next).at(policy::MISNAMED, None);
            return Ok(Some(Read { law: Law::Invalid(vec![finding]), tip, ledger: None }));
        }
        Ok(None) => return Ok(None),
        Ok(Some(blob)) if blob.mode == Mode::SYMLINK => {
            return unread(Finding::error("MRG-07", "The policy is a symbolic link.", "Make it a plain file."), tip);
        }
        Ok(Some(blob)) => blob,
        Err(error @ (crate::repo::Error::TooLarge { .. } | crate::repo::Error::NotAFile(_))) => {
            let finding = Finding::error("MRG-07", error.to_string(), "Make it a plain file of at most 256 KiB.");
            return unread(finding, tip);
        }
        Err(error) => return Err(error),
    };
    let ledger = policy::ledger_branch(&blob.bytes);
    let law = match policy::parse(&blob.bytes) {
        Ok(policy) => Law::Valid(Box::new(policy)),
        Err(problems) => Law::Invalid(
            problems
                .into_iter()
                .map(|problem| {
                    let place = if problem.path.is_empty() { String::new() } else { format!("`{}`: ", problem.path) };
                    Finding::error(problem.rule, format!("{place}{}", problem.says), problem.next)
                        .at(policy::PATH, Some(problem.line))
                })
                .collect(),
        ),
    };
    Ok(Some(Read { law, tip, ledger }))
}

fn subject(
    reader: &LocalRepo,
    law: &Law,
    tip: &CommitId,
    base_ref: &str,
    fetched: &Fetched,
    (failed_at, bot, round): (Option<&CommitId>, &Repaired, Option<&Followed>),
    pipeline: bool,
) -> crate::repo::Result<Option<Subject>> {
    let Some(merge_base) = &fetched.merge_base else { return Ok(None) };
    let deltas = counted(reader, merge_base, &fetched.head, bot)?;
    let paths = touched(&deltas);
    let (policy_digest, base_rule) = match law {
        Law::Valid(policy) => (policy.digest(), policy.base),
        Law::Invalid(_) => (Digest::of("no valid policy"), Base::Strict),
    };
    let moved = reader.diff(merge_base, &fetched.base)?;
    let moved: Vec<&Delta> = moved.iter().filter(|delta| paths.contains(&delta.path)).collect();
    let conflicts = !moved.is_empty() && reader.brings(&fetched.base, &fetched.head)?.is_none();
    // Where the base stands matters as far as policy says: always, or where it touches what the change touches.
    let base_print = match base_rule {
        Base::Strict => Digest::of(fetched.base.as_str()),
        Base::Touch => {
            let mut under: Vec<String> = Vec::new();
            for delta in moved {
                let now = delta.new.as_ref().map(|(mode, blob)| format!("{mode:?} {blob}")).unwrap_or_default();
                under.push(format!("{}\0{now}", delta.path));
            }
            Digest::of_parts(under)
        }
    };
    // What was judged for one branch was not judged for another.
    let content = |bot: &Written| {
        let change = content_digest(&deltas, &policy_digest, bot);
        Digest::of_parts([change.as_str(), base_print.as_str(), base_ref])
    };
    // A repair counts as what it replaces beside what it was made for, and nowhere else: put into other content it is somebody's edit.
    let without = Some(content(&bot.files)).filter(|content| bot.of.contains(content));
    let content = without.unwrap_or_else(|| content(&Written::new()));
    let mut repair = None;
    let mut logged = BTreeSet::new();
    let (documents, bound, tier) = if pipeline || wants_papers(law) {
        let papers = Papers::read(reader, tip, merge_base, &fetched.head)?;
        logged = papers.log.as_ref().and_then(Sheet::text).map(diary::told_in).unwrap_or_default();
        let papers = papers.without_own(&bot.diary).following(reader, &fetched.head, round.cloned())?;
        // Under no valid policy nothing is judged, and what passed under one does not go stale by its mistake.
        let mut judged = match law {
            Law::Valid(policy) => papers::judge_all(&papers, policy),
            Law::Invalid(_) => papers::judge_all(&papers, &lenient()),
        };
        let bound = papers::bound(&papers, &judged, &bot.files);
        if let Law::Valid(policy) = law {
            let site = build::site(reader, merge_base, &fetched.head, &papers)?;
            let built = site.as_ref().map(|site| build::judge(site, &papers, policy));
            judged.insert(Phase::Build, built.unwrap_or_default());
            let drift = site.as_ref().map(|site| reconcile::look(reader, &fetched.head, site, &papers, policy));
            let (drift, put_right) = drift.transpose()?.unwrap_or_default();
            judged.insert(Phase::Reconcile, drift);
            repair = put_right;
            let shown = site.map(|site| verify::look(reader, &fetched.head, &site, &papers, policy)).transpose()?;
            judged.insert(Phase::Verify, shown.unwrap_or_else(|| verify::ahead(&papers, policy)));
            judged.extend(delivered::before_merge(reader, policy, &fetched.head)?);
        }
        (judged, bound, verify::tier(&papers))
    } else {
        (Judged::new(), BTreeMap::new(), None)
    };
    let about = About {
        base_ref: base_ref.to_owned(),
        base: merge_base.clone(),
        head: fetched.head.clone(),
        content: content.clone(),
    };
    let structural_fix = failed_at
        .is_some_and(|failed| *failed != fetched.head && reconcile::is_structural(reader, failed, &fetched.head));
    let (mut stops, mut heals) = raises(reader, merge_base, &fetched.head)?;
    let mut same = BTreeMap::new();
    for Raises { raised: Raised { commit, .. }, .. } in &heals {
        same.insert(commit.clone(), counted(reader, merge_base, commit, bot)? == deltas);
    }
    // What was built since is other content, and nobody has said anything of that.
    heals.retain(|heal| same.get(&heal.raised.commit) == Some(&true));
    let message = reader.commit(&fetched.head)?.message;
    let handed_in = answered::handed_in(reader, &fetched.head, &deltas)?;
    stops.extend(handed_in.iter().filter_map(|one| answered::stop(one, &fetched.head)));
    let (trailer, no_trailer) = trailer(&message);
    Ok(Some(Subject {
        base_tip: fetched.base.clone(),
        conflicts,
        patch: None,
        commits: Vec::new(),
        signers: BTreeSet::new(),
        proposal: proposal(reader, &paths, &fetched.head)?,
        present: present(bound, &content),
        // As they are, not as they are quoted: policy's globs are held against them.
        changed: paths.iter().map(|path| String::from_utf8_lossy(path.as_bytes()).into_owned()).collect(),
        documents,
        repair,
        tier,
        drift: match law {
            Law::Valid(policy) => {
                let sides = Sides { tip, base: merge_base, head: &fetched.head };
                drift(reader, policy, sides, &paths)?
            }
            Law::Invalid(_) => BTreeMap::new(),
        },
        guard: Guard::default(),
        weakened: Weakened::default(),
        context: Files::default(),
        contracts: answered::contracts(&deltas),
        beyond: Some(BTreeSet::new()),
        logged,
        trailer,
        no_trailer,
        asks_refreeze: reason(&message, "Phasegate-Refreeze:", 300),
        stops,
        heals,
        handed_in,
        beneath: beneath(reader, merge_base, &fetched.head, &deltas, bot)?,
        structural_fix,
        task: None,
        about,
    }))
}

/// What the bot has written itself: documents that it has put right, with the content that it did so for.
#[derive(Debug)]
struct Repaired {
    files: Written,
    of: BTreeSet<Digest>,
    /// The change's snapshots, copied to its branch.
    snapshots: Written,
    /// Those of them that somebody has pushed to the byte, and that were taken in.
    pushed: BTreeMap<u32, BlobId>,
    /// What may stand in its log.
    diary: Diary,
    change: ChangeNumber,
}

impl Repaired {
    /// Nothing yet.
    fn of(change: ChangeNumber) -> Self {
        let (files, of, snapshots) = (Written::new(), BTreeSet::new(), Written::new());
        Self { files, of, snapshots, pushed: BTreeMap::new(), diary: Diary::default(), change }
    }
}

/// What a change is made of: every file that differs from its base, without copies of what is on the ledger, and with the log as it
/// is without the bot's lines.
fn counted(reader: &LocalRepo, base: &CommitId, head: &CommitId, bot: &Repaired) -> crate::repo::Result<Vec<Delta>> {
    let deltas = reader.diff(base, head)?;
    let mut copies = bot.snapshots.clone();
    // What somebody pushed stays theirs when it is taken in, or what was judged with it would be stale. Where they put it into the other
    // place, the one here is the bot's copy.
    for (number, blob) in &bot.pushed {
        let beside = RepoPath::from(snapshot::beside(*number).as_str());
        let is_it = |delta: &Delta| delta.path == beside && delta.new.as_ref().is_some_and(|(_, new)| new == blob);
        if !deltas.iter().any(is_it) {
            copies.remove(&(RepoPath::from(snapshot::path_of(bot.change, *number).as_str()), blob.clone()));
        }
    }
    let mut deltas = without(deltas, &copies);
    let log = RepoPath::from(papers::LOG);
    let at = deltas.iter().position(|delta| delta.path == log);
    if let Some(at) = at.filter(|at| matches!(deltas[*at].new, Some((Mode::FILE, _)))) {
        let own = |text: &str| bot.diary.without_own(text);
        if let (Some(now), Some(was)) = (log_at(reader, head)?, log_at(reader, base)?) {
            let now = own(&now);
            if now == own(&was) && deltas[at].old.as_ref().is_none_or(|(mode, _)| *mode == Mode::FILE) {
                deltas.remove(at);
            } else {
                deltas[at].new = blob_of(now.as_bytes()).map(|blob| (Mode::FILE, blob));
            }
        }
    }
    Ok(deltas)
}

/// What the log says; none where it is no text.
fn log_at(reader: &LocalRepo, at: &CommitId) -> crate::repo::Result<Option<String>> {
    let sheet = papers::read_sheet(reader, at, papers::LOG)?;
    Ok(sheet.map_or(Some(String::new()), |sheet| sheet.text().map(str::to_owned)))
}

/// So many commits of the bot's are looked through for what they stand on.
const MOST_BENEATH: usize = 8;

/// The heads on which the present one only has the bot's own files on top, the nearest first. What was shown of them is shown of
/// it.
fn beneath(
    reader: &LocalRepo,
    base: &CommitId,
    head: &CommitId,
    deltas: &[Delta],
    bot: &Repaired,
) -> crate::repo::Result<Vec<CommitId>> {
    let folder = folder_of(bot.change);
    let is_own = |delta: &Delta| {
        let path = String::from_utf8_lossy(delta.path.as_bytes());
        path.starts_with(&folder) || path == papers::LOG
    };
    let (mut found, mut at) = (Vec::new(), head.clone());
    while found.len() < MOST_BENEATH {
        let parents = reader.commit(&at)?.parents;
        let [parent] = parents.as_slice() else { break };
        let brought = reader.diff(parent, &at)?;
        let own = !brought.is_empty() && brought.iter().all(is_own);
        if parent == base || !own || counted(reader, base, parent, bot)? != deltas {
            break;
        }
        at = parent.clone();
        found.push(at.clone());
    }
    Ok(found)
}

/// What the change makes of the policy file.
fn proposal(reader: &LocalRepo, paths: &BTreeSet<RepoPath>, head: &CommitId) -> crate::repo::Result<Proposal> {
    if !paths.contains(&RepoPath::from(policy::PATH)) {
        return Ok(Proposal::Untouched);
    }
    Ok(match read_law(reader, head.clone())?.map(|read| read.law) {
        None => Proposal::Removed,
        Some(Law::Valid(_)) => Proposal::Valid,
        Some(Law::Invalid(problems)) => Proposal::Invalid(problems),
    })
}

/// What each gate's pass is bound to: documents, or the content.
fn present(bound: BTreeMap<Phase, Digest>, content: &Digest) -> BTreeMap<Phase, Digest> {
    let mut present: BTreeMap<Phase, Digest> = Phase::ALL.into_iter().map(|phase| (phase, content.clone())).collect();
    present.extend(bound);
    present
}

/// A policy that asks for no more of a document than any other does.
fn lenient() -> Policy {
    let mut policy = Policy { tier: Tier::Shed, ..Policy::default() };
    let Limits { criteria, components, .. } = &mut policy.limits;
    (criteria.shed, criteria.house, criteria.skyscraper) = (u32::MAX, u32::MAX, u32::MAX);
    (components.shed, components.house, components.skyscraper) = (u32::MAX, u32::MAX, u32::MAX);
    policy
}

/// Whether any change could be in the pipeline.
fn wants_papers(law: &Law) -> bool {
    match law {
        Law::Valid(policy) => policy.may_be_in(Flow::Pipeline),
        Law::Invalid(_) => true,
    }
}

/// Whether any change could be a task.
fn wants_tasks(law: &Law) -> bool {
    matches!(law, Law::Valid(policy) if policy.may_be_in(Flow::Task))
}

/// For each workflow that evidence comes from: what gives its run a meaning and differs from the default
/// branch's.
pub(super) fn drift(
    reader: &LocalRepo,
    policy: &Policy,
    sides: Sides<'_>,
    touched: &BTreeSet<RepoPath>,
) -> crate::repo::Result<BTreeMap<String, Drift>> {
    let different = reader.diff(sides.tip, sides.head)?;
    let named = policy::globs(&policy.freeze.meaning).ok();
    // Which of the workflows run them is not looked at: to compare a file too many costs little.
    let commands: Vec<String> =
        RunGate::EACH.iter().flat_map(|gate| policy.gates.runs(*gate).commands).cloned().collect();
    let by_policy = ByPolicy { named: named.as_ref(), commands: &commands };
    let verify = &policy.gates.verify;
    let made = verify.checks.iter().filter_map(|check| match check.made_by() {
        Some(MadeBy::Workflow(path)) => Some(path),
        _ => None,
    });
    let mut drift = BTreeMap::new();
    for path in made {
        if !drift.contains_key(path) {
            drift.insert(path.to_owned(), meaning::drift(reader, path, by_policy, sides, &different, touched)?);
        }
    }
    // The trusted workflow is the default branch's own, whatever the head has there. What it runs is the head's.
    let trusted = verify.has(Source::Actions).then_some(verify.workflow.as_str());
    if let Some(path) = trusted.filter(|path| !drift.contains_key(*path)) {
        let mut bent = meaning::drift(reader, path, by_policy, sides, &different, touched)?;
        bent.iter_mut().for_each(|bent| drop(bent.remove(path)));
        drift.insert(path.to_owned(), bent);
    }
    // The server's own runner has no file at all.
    if verify.has(Source::Runner) {
        let bent = meaning::drift(reader, None, by_policy, sides, &different, touched)?;
        drift.insert(Source::Runner.to_string(), bent);
    }
    Ok(drift)
}

/// `Phasegate-Claim: <phase>` in the last paragraph of a commit message.
fn trailer(message: &str) -> (Option<Phase>, Option<String>) {
    let last = message.trim_end().rsplit("\n\n").next().unwrap_or_default();
    let claims = || last.lines().rev().filter_map(|line| Some(line.strip_prefix("Phasegate-Claim:")?.trim()));
    match claims().find_map(Phase::parse) {
        Some(phase) => (Some(phase), None),
        // What goes on is a sentence about claims.
        None => {
            let mut words = claims().filter(|word| !word.is_empty() && !word.contains(char::is_whitespace));
            (None, words.next().map(|word| word.chars().take(60).collect()))
        }
    }
}

/// `<key> <reason>` in the last paragraph of a commit message, so much of it.
fn reason(message: &str, key: &str, most: usize) -> Option<String> {
    let last = message.trim_end().rsplit("\n\n").next()?;
    let reason = last.lines().rev().find_map(|line| line.strip_prefix(key))?.trim();
    let reason: String = reason.chars().filter(|c| !c.is_control()).take(most).collect();
    (!reason.is_empty()).then_some(reason)
}

/// So many stops, and as many reports, of a change's commits are taken: those about safety first, then the newest.
const MOST_RAISED: usize = 20;
/// So much is kept of what one says, with its condition.
const LONGEST_STOP: usize = 1_020;

/// What the commits of a change stop for, and what they report of their own build, the oldest first. All of them are looked at:
/// one that is pushed over, or has come with others, still says it.
fn raises(reader: &LocalRepo, base: &CommitId, head: &CommitId) -> crate::repo::Result<(Vec<Raises>, Vec<Raises>)> {
    let (mut stops, mut heals) = (Vec::new(), Vec::new());
    for commit in reader.commits_between(base, head, MOST_COMMITS)? {
        let CommitInfo { message, author, .. } = reader.commit(&commit)?;
        let at = author.at.to_string();
        // Who rebases or amends keeps when it was written.
        for reason in said(&message, "Phasegate-Stop").into_iter().rev() {
            let key = Digest::of_parts([&at, &author.email, &reason]);
            stops.push(Raises { raised: Raised { commit: commit.clone(), key }, reason });
        }
        for reason in said(&message, "Phasegate-Heal").into_iter().rev() {
            let key = Digest::of_parts(["heal", &at, &author.email, &reason]);
            heals.push(Raises { raised: Raised { commit: commit.clone(), key }, reason });
        }
    }
    for all in [&mut stops, &mut heals] {
        all.reverse();
        while all.len() > MOST_RAISED {
            let is_light = |one: &Raises| Condition::of(&one.reason) != Some(Condition::Unsafe);
            all.remove(all.iter().position(is_light).unwrap_or_default());
        }
    }
    Ok((stops, heals))
}

/// The reasons behind a trailer, each on a line that begins with it, in any letter case, and goes on where the next ones are
/// indented. Whoever uses it without a word does so too.
fn said(message: &str, trailer: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in message.lines() {
        if let Some(last) = all.last_mut().filter(|_| goes_on && line.starts_with([' ', '\t'])) {
            last.push(' ');
            last.push_str(line.trim());
            continue;
        }
        let key = line.split_once(':').filter(|(key, _)| key.trim_end().eq_ignore_ascii_case(trailer));
        goes_on = key.is_some();
        all.extend(key.map(|(_, reason)| reason.to_owned()));
    }
    let clean = |reason: String| {
        let reason = seen(&reason);
        let reason: String = reason.trim().chars().filter(|c| !c.is_control()).take(LONGEST_STOP).collect();
        if reason.is_empty() { "no reason is given".to_owned() } else { reason }
    };
    all.into_iter().map(clean).collect()
}

/// `Phasegate-Change: #N` in the last paragraph of a commit message, or of a pull request's text.
pub(super) fn belongs_to(text: &str) -> Option<ChangeNumber> {
    let text = text.replace('\r', "");
    let last = text.trim_end().rsplit("\n\n").next()?;
    let number = |line: &str| line.strip_prefix("Phasegate-Change:")?.trim().strip_prefix('#')?.parse().ok();
    last.lines().rev().find_map(number).map(ChangeNumber)
}

/// The content as it was recorded, for a change that is closed or merged.
pub(super) fn recorded(state: &State) -> Option<Subject> {
    let about = state.subject.clone()?;
    let present = state.pipeline.as_ref().map(|pipeline| pipeline.present.clone()).unwrap_or_default();
    Some(Subject {
        base_tip: about.base.clone(),
        conflicts: false,
        about,
        patch: None,
        commits: Vec::new(),
        signers: BTreeSet::new(),
        present,
        changed: Vec::new(),
        documents: Judged::new(),
        repair: None,
        tier: None,
        proposal: Proposal::Untouched,
        drift: BTreeMap::new(),
        guard: Guard::default(),
        weakened: Weakened::default(),
        context: Files::default(),
        logged: BTreeSet::new(),
        trailer: None,
        no_trailer: None,
        asks_refreeze: None,
        stops: Vec::new(),
        heals: Vec::new(),
        beneath: Vec::new(),
        contracts: BTreeMap::new(),
        beyond: Some(BTreeSet::new()),
        handed_in: Vec::new(),
        structural_fix: false,
        task: None,
    })
}

/// Where someone stands now: their role, and whether the policy names them.
pub(super) async fn standing(repo: &Repo, policy: Option<&Policy>, person: &Person) -> Result<Standing> {
    if person.bot {
        return Ok(Standing::default());
    }
    let role = repo.permission_of(person).await?;
    // What a team could add is not asked for where nothing depends on it: it takes a permission of its own.
    if May::Approve.allows(Standing { role, named: false }) {
        return Ok(Standing { role, named: false });
    }
    let approvers = || policy.iter().flat_map(|policy| &policy.people.approve);
    let mut named = role > Role::None && approvers().any(|approver| approver.is_person(&person.login));
    for approver in approvers() {
        if let Who::Team { organisation, team } = approver.who() {
            named = named || repo.team_membership(organisation, team, &person.login).await?;
        }
    }
    Ok(Standing { role, named })
}

/// The reviews of a pull request, with where each reviewer stands now.
pub(super) async fn reviews(
    repo: &Repo,
    policy: Option<&Policy>,
    pull: u64,
    known: &mut BTreeMap<u64, Standing>,
) -> Result<Vec<Review>> {
    let mut reviews = Vec::new();
    for review in repo.list_reviews(pull).await? {
        let decides = matches!(review.state.as_str(), "APPROVED" | "CHANGES_REQUESTED" | "DISMISSED");
        let says = block::begins(&review.body);
        let body = Some(review.body).filter(|body| block::may_hold_one(body));
        let at = match known.get(&review.user.id) {
            Some(at) => *at,
            None if decides || body.is_some() => {
                let at = standing(repo, policy, &review.user).await?;
                known.insert(review.user.id, at);
                at
            }
            None => Standing::default(),
        };
        reviews.push(Review {
            id: review.id,
            by: review.user,
            standing: at,
            state: review.state,
            commit: review.commit_id,
            submitted_at: review.submitted_at,
            body,
            says,
        });
    }
    Ok(reviews)
}

/// Asks where those stand now whose approval by a comment is for this content: a role can be lost.
pub(super) async fn approvers(
    repo: &Repo,
    policy: Option<&Policy>,
    state: Option<&State>,
    content: Option<&Digest>,
    known: &mut BTreeMap<u64, Standing>,
) -> Result<()> {
    let approved = state.iter().flat_map(|state| &state.approvals).filter(|given| Some(&given.content) == content);
    let rejected = state.iter().flat_map(|state| &state.rejections);
    let rejected = rejected.filter(|given| content.is_some_and(|content| given.is_for(content)));
    for by in approved.map(|given| &given.by).chain(rejected.map(|given| &given.by)) {
        if let By::Person { person, .. } = by
            && !known.contains_key(&person.id)
        {
            known.insert(person.id, standing(repo, policy, person).await?);
        }
    }
    Ok(())
}

/// The deployments of a commit, oldest first, each with its newest state. None: GitHub does not tell.
pub(super) async fn deployments(repo: &Repo, commit: &CommitId) -> Result<Option<Vec<Deployment>>> {
    let mut found = Vec::new();
    let Some(mut listed) = repo.deployments(commit, None).await? else { return Ok(None) };
    listed.retain(|deployment| !deployment.environment.eq_ignore_ascii_case(OWN_ENVIRONMENT));
    listed.sort_by_key(|deployment| deployment.id);
    for deployment in listed {
        let statuses = repo.deployment_statuses(deployment.id).await?;
        let newest = statuses.iter().max_by_key(|status| status.id);
        let state = newest.map_or_else(|| "pending".to_owned(), |status| status.state.clone());
        let by = newest.map_or(deployment.creator, |status| status.creator.clone());
        found.push(Deployment { environment: deployment.environment, state, commit: deployment.sha, by });
    }
    Ok(Some(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_is_heard_however_it_is_written() {
        for (message, expected) in [
            ("stop\n\nPhasegate-Stop: stuck: three ways\n", vec!["stuck: three ways"]),
            ("stop\n\nphasegate-stop : unsafe: the mains\r\n", vec!["unsafe: the mains"]),
            (
                "stop\n\nPhasegate-Stop: unsafe: it switches\n the mains\n\tand more\n",
                vec!["unsafe: it switches the mains and more"],
            ),
            (
                "stop\n\nPhasegate-Stop: unsafe: one\nPhasegate-Stop: stuck: two\n\nCo-authored-by: x",
                vec!["unsafe: one", "stuck: two"],
            ),
            ("stop\n\nPhasegate-Stop:\n", vec!["no reason is given"]),
            ("stop\n\nPhasegate-Stop: \u{200b}\u{2060}\n", vec!["no reason is given"]),
            ("stop\n\nPhasegate-Stop: stuck: \u{1b}[31mred\n", vec!["stuck: [31mred"]),
            ("it is told by a Phasegate-Stop: line", vec![]),
            ("how to\n\n    Phasegate-Stop: stuck: an example\n", vec![]),
            ("how to stop", vec![]),
        ] {
            assert_eq!(said(message, "Phasegate-Stop"), expected, "{message:?}");
            // The other one goes by the same rules, and neither is taken for the other.
            let heals = message.replace("Stop", "Heal").replace("stop :", "heal :");
            assert_eq!(said(&heals, "Phasegate-Heal"), expected, "{heals:?}");
            assert!(said(&heals, "Phasegate-Stop").is_empty(), "{heals:?}");
        }
        let long = format!("x\n\nPhasegate-Stop: dependency: {}", "y".repeat(5_000));
        assert_eq!(said(&long, "Phasegate-Stop")[0].chars().count(), LONGEST_STOP);
    }

    /// What somebody pushed and what the bot copied may be the same bytes at the same place: the one is content, the other is not.
    #[test]
    fn a_pushed_snapshot_stays_content_when_it_is_taken_in() {
        let scratch = crate::repo::testing::Scratch::new();
        let base = scratch.commit(&[], &[]);
        let (own, beside) = (snapshot::path_of(ChangeNumber(7), 2), snapshot::beside(2));
        let file = |path: &str| (path.to_owned().into_bytes(), 0o100_644, b"two".to_vec());
        let commit = |files: &[(Vec<u8>, u32, Vec<u8>)]| {
            let files: Vec<_> =
                files.iter().map(|(path, mode, text)| (path.as_slice(), *mode, text.as_slice())).collect();
            scratch.commit(&[&base], &files)
        };
        let blob = blob_of(b"two").unwrap();
        let mut bot = Repaired::of(ChangeNumber(7));
        bot.snapshots.insert((RepoPath::from(own.as_str()), blob.clone()), None);
        let paths = |bot: &Repaired, head: &CommitId| -> Vec<String> {
            let deltas = counted(&scratch.reader(), &base, head, bot).unwrap();
            deltas.into_iter().map(|delta| delta.path.to_string()).collect()
        };
        let pushed = commit(&[file(&own)]);
        assert_eq!(paths(&bot, &pushed), [""; 0], "a copy");
        bot.pushed.insert(2, blob);
        assert_eq!(paths(&bot, &pushed), [own.as_str()], "somebody's own file");
        assert_eq!(paths(&bot, &commit(&[file(&own), file(&beside)])), [beside.as_str()], "theirs, and the copy of it");
    }

    #[test]
    fn an_address_that_github_gives_out_says_whose_it_is() {
        assert_eq!(no_reply("7+Mia@users.noreply.github.com").as_deref(), Some("7+mia"));
        assert_eq!(no_reply("mia@users.noreply.ghe.example").as_deref(), Some("mia"));
        assert_eq!(no_reply("mia@example.org"), None);
        assert_eq!(no_reply("noreply@github.com"), None);
    }

    #[test]
    fn a_claim_is_a_trailer_and_nothing_else() {
        assert_eq!(trailer("scope\n\nPhasegate-Claim: expand\n"), (Some(Phase::Expand), None));
        assert_eq!(
            trailer("scope\n\nText.\n\nCo-authored-by: x\nPhasegate-Claim: Verify"),
            (Some(Phase::Verify), None)
        );
        assert_eq!(trailer("Phasegate-Claim: expand is how one claims"), (None, None));
        assert_eq!(trailer("scope\n\nPhasegate-Claim: expand\n\nmore text"), (None, None));
        assert_eq!(trailer("scope\n\nPhasegate-Claim: done\n"), (None, Some("done".to_owned())));
        assert_eq!(
            reason("test\n\nPhasegate-Refreeze: it was wrong\n", "Phasegate-Refreeze:", 300).as_deref(),
            Some("it was wrong")
        );
        for none in ["Phasegate-Refreeze:", "test\n\nPhasegate-Refreeze: \n", "Phasegate-Refreeze: a\n\nmore"] {
            assert_eq!(reason(none, "Phasegate-Refreeze:", 300), None, "{none:?}");
        }
    }
}
