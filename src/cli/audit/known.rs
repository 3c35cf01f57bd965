//! What is known of a ledger's changes from elsewhere, and held against it: from the history of its branch in a clone, and from
//! GitHub's own word. A record that is not there says nothing itself.

use std::collections::BTreeMap;

use anyhow::Context as _;
use futures::{StreamExt as _, TryStreamExt as _};
use jiff::{SignedDuration, Timestamp};

use super::super::{app, replay};
use crate::finding::{Finding, Severity};
use crate::gate::merge::CHECK_NAME;
use crate::github::calls::pulls::Pull;
use crate::github::calls::rules::Rule;
use crate::github::{Error, Repo, Result};
use crate::ids::{ChangeNumber, CommitId};
use crate::ledger::chain::{self, Proven};
use crate::ledger::local::{History, LocalStore, Undone};
use crate::ledger::record::Body;
use crate::ledger::{Anchor, BreakKind, KeyRing, file_name, folder};
use crate::surface::witness;

/// A merge that is younger may not be on record yet.
const GRACE: SignedDuration = SignedDuration::from_hours(1);
/// So many things are asked of GitHub at a time.
const AT_ONCE: usize = 8;

#[derive(Default)]
pub(super) struct Known {
    /// What the history of the branch tells of each change.
    undone: BTreeMap<ChangeNumber, Vec<Finding>>,
    pulls: BTreeMap<ChangeNumber, Told>,
    /// What could not be looked at.
    pub(super) notes: Vec<String>,
}

/// GitHub's word on a pull request.
struct Told {
    /// What our merge check on its head has witnessed.
    anchor: Option<Anchor>,
    /// When it was merged, if that is long enough ago to be on record.
    merged: Option<Timestamp>,
}

impl Known {
    /// What the branch's history in this clone tells.
    pub(super) async fn of_clone(store: &LocalStore, branch: &str, ring: &dyn KeyRing) -> anyhow::Result<Self> {
        let History { undone, cut } = store.history().await.context("can't read the ledger's history")?;
        let mut notes = Vec::new();
        if cut {
            notes.push(format!(
                "This clone does not have the whole history of {branch}, so records that were taken away may not be found. Get it \
                 with `git fetch --unshallow origin {branch}:{branch}`."
            ));
        }
        Ok(Self { undone: by_change(&undone, branch, ring), notes, ..Self::default() })
    }

    /// What GitHub says of these changes; where none are named, of the pull requests that something happened to last. It is to be
    /// asked before the ledger is read: what is written in between is no surplus of GitHub's.
    pub(super) async fn on_github(repo: &Repo, advisory: bool, only: &[u64]) -> anyhow::Result<Self> {
        let Some(made_by) = made_by(repo, advisory).await? else {
            let note = format!(
                "Whose check {CHECK_NAME} is ours is not known: no rule of the default branch requires it of one App. So it can't be \
                 seen whether records were cut off at the end. With APP_ID and the App's private key it can."
            );
            return Ok(Self { notes: vec![note], ..Self::default() });
        };
        match ask(repo, made_by, only).await {
            Ok(known) => Ok(known),
            Err(error) if error.lacks_permission().is_some() => {
                let note = format!(
                    "GitHub does not let this token read pull requests and checks, so it can't be seen whether records were cut off at \
                     the end ({error}). Give the job `pull-requests: read` and `checks: read`."
                );
                Ok(Self { notes: vec![note], ..Self::default() })
            }
            Err(error) => Err(error).context("GitHub does not say what was merged"),
        }
    }

    /// The changes that have, or had, records by what is known.
    pub(super) fn changes(&self) -> impl Iterator<Item = ChangeNumber> {
        let anchored = self.pulls.iter().filter(|(_, told)| told.anchor.is_some()).map(|(change, _)| *change);
        self.undone.keys().copied().chain(anchored)
    }

    /// What is known and does not go with the records of a change. Without proven ones it has none.
    pub(super) fn against(&self, change: ChangeNumber, proven: Option<&Proven>) -> Vec<Finding> {
        let undone = self.undone.get(&change).into_iter().flatten().cloned();
        undone.chain(self.pulls.get(&change).and_then(|told| told.against(change, proven))).collect()
    }

    /// The same of a change whose records can't be proved: what a check has witnessed can't be held against them.
    pub(super) fn undone(&self, change: ChangeNumber) -> Vec<Finding> {
        self.undone.get(&change).cloned().unwrap_or_default()
    }
}

fn malformed(says: String, next: String) -> Finding {
    Finding::error("malformed_gate_record", says, next)
}

/// The numbers of records, as people would say them: `2, 5 to 7`.
fn in_words(numbers: &[u64]) -> String {
    let mut rows: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match rows.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => rows.push((*number, *number)),
        }
    }
    let row = |(first, last): (u64, u64)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last}"),
    };
    rows.into_iter().map(row).collect::<Vec<_>>().join(", ")
}

/// How a record is not there any more that was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Lost {
    Taken,
    Replaced,
    /// It may never have been ours.
    OfUnknownKey,
}

/// The commit that took a record of ours away. What was nobody's to write there, and was reverted, is not lost.
fn lost<'a>(one: &'a Undone, ring: &dyn KeyRing) -> Option<(&'a CommitId, Lost)> {
    let is = |text: &str| chain::alone(one.change, one.seq, text, ring).map_err(|broken| broken.kind);
    let is_ours = |text: &str| is(text).is_ok();
    if one.were.iter().any(|former| is_ours(&former.text)) {
        let how = if one.now.is_some() { Lost::Replaced } else { Lost::Taken };
        return one.lost(is_ours).map(|former| (&former.by, how));
    }
    let is_of_unknown_key = |text: &str| is(text).is_err_and(|kind| kind == BreakKind::UnknownKey);
    one.lost(is_of_unknown_key).map(|former| (&former.by, Lost::OfUnknownKey))
}

/// A finding for each change, and each commit that did something to its records.
fn by_change(undone: &[Undone], branch: &str, ring: &dyn KeyRing) -> BTreeMap<ChangeNumber, Vec<Finding>> {
    let mut done: BTreeMap<(ChangeNumber, &CommitId, Lost), Vec<u64>> = BTreeMap::new();
    for one in undone {
        if let Some((by, how)) = lost(one, ring) {
            done.entry((one.change, by, how)).or_default().push(one.seq);
        }
    }
    let mut all: BTreeMap<ChangeNumber, Vec<Finding>> = BTreeMap::new();
    for ((change, by, how), numbers) in done {
        let (which, commit) = (in_words(&numbers), by.short());
        let (records, are) = if numbers.len() > 1 { ("Records", "are") } else { ("Record", "is") };
        let says = match how {
            Lost::Taken => {
                format!("{records} {which} of it {are} not there any more: the commit {commit} took that away.")
            }
            Lost::Replaced => {
                format!("{records} {which} of it {are} not what was written first: the commit {commit} did that.")
            }
            Lost::OfUnknownKey => {
                format!("The commit {commit} took away what was signed with a key that is not known here: {which}.")
            }
        };
        let whole = format!("`phasegate replay {}` says whether the chain is whole then.", change.0);
        let next = match how {
            Lost::OfUnknownKey => {
                "If it was an earlier key of the App, give it with --key; otherwise all is well.".to_owned()
            }
            Lost::Taken | Lost::Replaced => {
                format!("Put back what was there: `git revert {}` on {branch}. {whole}", by.as_str())
            }
        };
        let found = malformed(says, next);
        let severity = if how == Lost::OfUnknownKey { Severity::Warning } else { found.severity };
        let path = numbers.first().map(|seq| format!("{}/{}", folder(change), file_name(*seq)));
        all.entry(change).or_default().push(Finding { path, severity, ..found });
    }
    all
}

impl Told {
    fn new(pull: &Pull, anchor: Option<Anchor>, now: Timestamp) -> Self {
        let merged = pull.merged_at.filter(|at| now.duration_since(*at) > GRACE);
        Self { anchor, merged }
    }

    fn against(&self, change: ChangeNumber, proven: Option<&Proven>) -> Option<Finding> {
        let none = Proven { state: None, records: Vec::new() };
        let held = proven.unwrap_or(&none);
        if let Some(anchor) = &self.anchor
            && let Err(broken) = chain::hold_against(held, anchor)
        {
            let says = match (held.state.is_none(), broken.kind) {
                (true, _) => format!(
                    "The merge check on its head was made when it had {} records, and the ledger has none of them.",
                    anchor.seq
                ),
                (false, BreakKind::CutOff) => format!("Its records are cut off: {broken}."),
                (false, _) => format!("Its records are not those that the merge check has witnessed: {broken}."),
            };
            let next = format!(
                "`phasegate replay {}` says how to find the commit that did it, and how to put them back. If the ledger is another \
                 one now, or was begun anew, that is why.",
                change.0
            );
            return Some(malformed(says, next).at(broken.path(change), None));
        }
        // What never was on the ledger may have been merged before we were here, or where no policy reaches.
        let at = self.merged.filter(|_| !held.records.is_empty())?;
        let recorded = held.records.iter().any(|record| matches!(record.body, Body::Merged { .. }));
        (!recorded).then(|| {
            let says = format!("GitHub says that it was merged at {at}, and the ledger has no record of that.");
            let next = format!(
                "If Phasegate was not running then, `/status` on #{} lets it record the merge. Otherwise its record was taken away: \
                 `git log -- {}` on the ledger's branch shows the commit, revert that one.",
                change.0,
                folder(change)
            );
            malformed(says, next).at(folder(change), None)
        })
    }
}

/// The App whose checks are believed; none where that can't be known. A token alone does not say who we are, but the rule that
/// requires the check does.
async fn made_by(repo: &Repo, advisory: bool) -> anyhow::Result<Option<u64>> {
    if advisory || app::given_id().is_some() {
        return replay::made_by(repo, advisory).await.map(Some);
    }
    let branch = repo.get_repo().await.context("the repository can't be read")?.default_branch;
    let rules = match repo.rules_for_branch(&branch).await {
        Err(error) if error.is_for_a_person() => return Ok(None),
        rules => rules.context("GitHub does not say what the default branch requires")?,
    };
    let pinned = |(name, app): (String, Option<u64>)| app.filter(|_| name == CHECK_NAME);
    Ok(rules.iter().flat_map(Rule::required_checks).find_map(pinned))
}

async fn ask(repo: &Repo, made_by: u64, only: &[u64]) -> Result<Known> {
    let now = Timestamp::now();
    let (mut pulls, mut notes) = (Vec::new(), Vec::new());
    if only.is_empty() {
        let (latest, all) = repo.latest_pulls().await?;
        if !all {
            notes.push(format!(
                "GitHub was asked about the {} pull requests that something happened to last. Of older ones it can't be seen whether \
                 records were cut off at the end; name them, as in `phasegate audit 42`, and it is asked about them too.",
                latest.len()
            ));
        }
        pulls = latest;
    }
    for number in only {
        match repo.get_pull(*number).await {
            Ok(pull) => pulls.push(pull),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    let asked = pulls.iter().map(|pull| async move {
        let change = ChangeNumber(pull.number);
        let runs = match repo.check_runs_of(made_by, &pull.head.sha).await {
            // The commit is not there any more.
            Err(Error::NotFound { .. } | Error::Unprocessable { .. }) => Vec::new(),
            runs => runs?,
        };
        let anchor = witness::anchors(&runs, made_by).of(change).cloned();
        Ok::<_, Error>((change, Told::new(pull, anchor, now)))
    });
    let asked: Vec<_> = asked.collect();
    let pulls: BTreeMap<_, _> = futures::stream::iter(asked).buffered(AT_ONCE).try_collect().await?;
    Ok(Known { pulls, notes, ..Known::default() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::engine::kit::Game;
    use crate::ids::Digest;
    use crate::ledger::local::Former;
    use crate::ledger::record::Record;
    use crate::ledger::unsigned::Unsigned;
    use crate::ledger::{Signer, State};

    const CHANGE: ChangeNumber = ChangeNumber(42);

    /// The records of a merged change.
    fn merged() -> Vec<Record> {
        let mut game = Game::pipeline();
        game.until_reviewing().merged();
        game.records
    }

    fn proven(records: &[Record]) -> Proven {
        let fold = |state, record: &Record| Some(State::fold(state, record, digest(record)).unwrap());
        Proven { state: records.iter().fold(None, fold), records: records.to_vec() }
    }

    fn digest(record: &Record) -> Digest {
        Digest::of(format!("record {}", record.seq))
    }

    fn anchor(records: &[Record]) -> Option<Anchor> {
        let newest = records.last().unwrap();
        Some(Anchor { change: CHANGE, seq: newest.seq, tip: digest(newest) })
    }

    fn before_the_merge(records: &[Record]) -> &[Record] {
        let at = records.iter().position(|record| matches!(record.body, Body::Merged { .. })).unwrap();
        &records[..at]
    }

    fn pull(merged_at: Option<Timestamp>) -> Pull {
        let side = json!({"sha": "5bd5f196a46b8222fb7484f05faba41a73cf34bd", "ref": "work", "repo": null});
        let pull = json!({"number": 42, "state": "closed", "head": side, "base": side, "merged_at": merged_at});
        serde_json::from_value(pull).unwrap()
    }

    fn says(told: &Told, proven: Option<&Proven>) -> Option<String> {
        let found = told.against(CHANGE, proven)?;
        assert_eq!((found.rule.as_str(), found.blocks()), ("malformed_gate_record", true));
        Some(found.says)
    }

    #[test]
    fn a_chain_that_ends_before_its_anchor_was_cut() {
        let records = merged();
        let told = Told { anchor: anchor(&records), merged: None };
        assert_eq!(says(&told, Some(&proven(&records))), None);
        let cut = says(&told, Some(&proven(before_the_merge(&records)))).unwrap();
        assert!(cut.starts_with("Its records are cut off: record "), "{cut}");
        let gone = says(&told, None).unwrap();
        assert!(
            gone.ends_with(&format!("when it had {} records, and the ledger has none of them.", records.len())),
            "{gone}"
        );
        let other =
            Told { anchor: told.anchor.map(|anchor| Anchor { tip: Digest::of("other"), ..anchor }), merged: None };
        let rewritten = says(&other, Some(&proven(&records))).unwrap();
        assert!(rewritten.starts_with("Its records are not those that the merge check has witnessed"), "{rewritten}");
    }

    #[test]
    fn what_github_says_is_merged_is_on_record_after_a_while() {
        let (records, now) = (merged(), Timestamp::now());
        let (whole, unfinished) = (proven(&records), proven(before_the_merge(&records)));
        let told = |merged_at: Option<Timestamp>| Told::new(&pull(merged_at), None, now);
        let long_ago = told(Some(now - SignedDuration::from_hours(2)));
        assert_eq!(says(&long_ago, Some(&whole)), None);
        assert!(says(&long_ago, Some(&unfinished)).unwrap().ends_with("and the ledger has no record of that."));
        assert_eq!(says(&long_ago, None), None, "it may have been merged before there was a ledger");
        assert_eq!(says(&told(Some(now - SignedDuration::from_mins(5))), Some(&unfinished)), None);
        assert_eq!(says(&told(None), Some(&unfinished)), None, "it is open, or was closed");
    }

    /// What was signed, by this key, and what was not.
    struct Ring;

    impl KeyRing for Ring {
        fn verify(&self, key: &Digest, _: &[u8], signature: &[u8]) -> Option<bool> {
            (*key == Unsigned.key()).then_some(signature.is_empty())
        }
    }

    /// Signs with a key that nobody knows.
    struct Stranger;

    impl Signer for Stranger {
        fn key(&self) -> Digest {
            Digest::of("a stranger")
        }

        fn sign(&self, _: &[u8]) -> std::result::Result<Vec<u8>, String> {
            Ok(Vec::new())
        }
    }

    fn file(change: u64, seq: u64, signer: &dyn Signer) -> String {
        let record = Record { change: ChangeNumber(change), seq, ..merged().remove(0) };
        String::from_utf8(chain::seal_record(&record, signer).unwrap().0).unwrap()
    }

    fn commit(digit: &str) -> CommitId {
        CommitId::new(digit.repeat(40)).unwrap()
    }

    fn undone(change: u64, seq: u64, were: &[(&str, &str)], now: Option<&str>) -> Undone {
        let former = |(text, by): &(&str, &str)| Former { text: (*text).to_owned(), by: commit(by) };
        let were = were.iter().map(former).collect();
        Undone { change: ChangeNumber(change), seq, were, now: now.map(str::to_owned) }
    }

    #[test]
    fn what_a_commit_did_to_a_change_is_one_finding() {
        assert_eq!(in_words(&[1, 3, 4, 6, 7, 8]), "1, 3, 4, 6 to 8");
        let taken = |seq| undone(7, seq, &[(&file(7, seq, &Unsigned), "a")], None);
        let replaced = undone(8, 1, &[(&file(8, 1, &Unsigned), "b")], Some("{}"));
        let found = by_change(&[taken(5), taken(6), taken(7), replaced], "ledger", &Ring);
        let [taken] = found[&ChangeNumber(7)].as_slice() else { panic!("{found:?}") };
        assert_eq!(taken.says, "Records 5 to 7 of it are not there any more: the commit aaaaaaaaaaaa took that away.");
        assert_eq!((taken.path.as_deref(), taken.blocks()), (Some("changes/0/7/0005.json"), true));
        assert!(taken.next.contains(&format!("`git revert {}` on ledger", "a".repeat(40))), "{}", taken.next);
        let [replaced] = found[&ChangeNumber(8)].as_slice() else { panic!("{found:?}") };
        assert!(replaced.says.starts_with("Record 1 of it is not what was written first: "), "{}", replaced.says);
    }

    /// Whoever reverts what somebody else wrote there has done what they were told to.
    #[test]
    fn what_was_never_ours_is_not_missed() {
        let (ours, others) = (file(7, 1, &Unsigned), file(7, 1, &Stranger));
        let (forged, moved) = (ours.replace("\"signature\":\"\"", "\"signature\":\"AAAA\""), file(7, 2, &Unsigned));
        assert_ne!(forged, ours);
        let none = |were: &[(&str, &str)], now: Option<&str>| {
            by_change(&[undone(7, 1, were, now)], "ledger", &Ring).is_empty()
        };
        for text in ["{}", &forged, &moved] {
            assert!(none(&[(text, "a")], None), "{text}");
            assert!(none(&[(text, "a")], Some(&ours)), "{text}");
            assert!(!none(&[(text, "a"), (&ours, "b")], None), "{text}");
        }
        assert!(none(&[(&ours, "a"), (&others, "b")], Some(&ours)), "it was put back");
        let found = by_change(&[undone(7, 1, &[(&others, "a")], None)], "ledger", &Ring);
        let [unknown] = found[&ChangeNumber(7)].as_slice() else { panic!("{found:?}") };
        assert!(!unknown.blocks() && unknown.says.contains("a key that is not known here: 1"), "{unknown:?}");
    }
}
