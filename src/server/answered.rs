//! What a change brings in answer to a gate, and what whoever built it hands in: read for what passes by itself.

use std::collections::{BTreeMap, BTreeSet};

use crate::gate::world::{HandedIn, Raises};
use crate::guard::Kind;
use crate::guard::set::{Added, CONTRACT, kind};
use crate::guard::wave::verdict::{self, DELTAS, Outcome, Proposal, SUMMARY};
use crate::ids::{BlobId, CommitId, Digest};
use crate::ledger::escalation::LEAVES;
use crate::ledger::record::Raised;
use crate::ledger::state::Failed;
use crate::policy::{self, Policy};
use crate::repo::{Delta, LocalRepo, Reader as _, RepoPath, Result};

/// More verdicts of one change are not read.
const MOST_HANDED_IN: usize = 20;
/// So much is kept of what one stops for, in characters.
const LONGEST: usize = 300;

/// Where a change tells of itself, and builds nothing.
const TOLD: &[&str] = &["scaffolding/**", "agent/context/**", "agent/context.md", "**/SUMMARY.md", "**/deltas.md"];

fn name(path: &RepoPath) -> String {
    String::from_utf8_lossy(path.as_bytes()).into_owned()
}

/// Contracts of the base that are not as they were, each with its content now.
pub(super) fn contracts(deltas: &[Delta]) -> BTreeMap<String, Option<BlobId>> {
    let contract = policy::globs(CONTRACT).ok();
    let edited = deltas.iter().filter(|delta| delta.old.is_some()).map(|delta| {
        let now = delta.new.as_ref().map(|(_, blob)| blob.clone());
        (name(&delta.path), now)
    });
    edited.filter(|(path, _)| contract.as_ref().is_some_and(|contract| contract.is_match(path))).collect()
}

/// The paths that were changed since a gate failed, and that it did not ask for. None: the head that failed is gone, so nobody can
/// tell. New tests and what a change tells of itself may always come.
pub(super) fn beyond(
    reader: &LocalRepo,
    policy: &Policy,
    (base, head): (&CommitId, &CommitId),
    failed: Option<&Failed>,
) -> Option<BTreeSet<String>> {
    let Some(failed) = failed.filter(|failed| failed.about.head != *head) else { return Some(BTreeSet::new()) };
    let made = |base: &CommitId, head: &CommitId| {
        let deltas = reader.diff(base, head).ok()?;
        let made = deltas.into_iter().map(|delta| (delta.path, (delta.old.is_some(), delta.new)));
        Some(made.collect::<BTreeMap<_, _>>())
    };
    let (then, now) = (made(&failed.about.base, &failed.about.head)?, made(base, head)?);
    let (added, told) = (Added::by(policy), policy::globs(TOLD).ok());
    let is_asked = |path: &RepoPath| {
        let is_new = !then.contains_key(path) && now.get(path).is_some_and(|(was_there, _)| !was_there);
        let shown = name(path);
        failed.files.contains(&shown)
            || (failed.anywhere && then.contains_key(path))
            || (is_new && kind(path, &added) == Some(Kind::Test))
            || told.as_ref().is_some_and(|told| told.is_match(&shown))
    };
    let paths: BTreeSet<&RepoPath> = then.keys().chain(now.keys()).collect();
    let changed =
        paths.into_iter().filter(|path| then.get(path).map(|(_, new)| new) != now.get(path).map(|(_, new)| new));
    Some(changed.filter(|path| !is_asked(path)).map(name).collect())
}

/// The verdicts that a change brings. A `SUMMARY.md` without one is something else.
pub(super) fn handed_in(reader: &LocalRepo, head: &CommitId, deltas: &[Delta]) -> Result<Vec<HandedIn>> {
    let is_one = |delta: &&Delta| {
        let called = name(&delta.path).rsplit('/').next().is_some_and(|called| called.eq_ignore_ascii_case(SUMMARY));
        delta.new.is_some() && called
    };
    let mut all = Vec::new();
    for delta in deltas.iter().filter(is_one).take(MOST_HANDED_IN) {
        let bytes = match reader.blob(head, &delta.path) {
            Ok(Some(blob)) => blob.bytes,
            Ok(None) | Err(crate::repo::Error::TooLarge { .. } | crate::repo::Error::NotAFile(_)) => continue,
            Err(error) => return Err(error),
        };
        let path = name(&delta.path);
        if let Some(read) = verdict::handed_in(&path, &bytes) {
            let lessons = lessons(reader, head, &path)?;
            all.push(HandedIn { path, read, lessons });
        }
    }
    Ok(all)
}

/// The lessons beside a verdict. A file that is not there, or not in its form, has none.
fn lessons(reader: &LocalRepo, head: &CommitId, summary: &str) -> Result<Vec<String>> {
    let folder = summary.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
    let path = format!("{folder}{DELTAS}");
    match reader.blob(head, &RepoPath::from(path.as_str())) {
        Ok(Some(blob)) => Ok(verdict::lessons(&path, &blob.bytes).unwrap_or_default()),
        Ok(None) | Err(crate::repo::Error::TooLarge { .. } | crate::repo::Error::NotAFile(_)) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// What a verdict stops for. It is asked once, also when it is rebased or moved to another commit.
pub(super) fn stop(one: &HandedIn, head: &CommitId) -> Option<Raises> {
    let path = one.path.as_str();
    let (outcome, left, why) = match &one.read {
        Ok(proposal) => {
            let left = proposal.residue.iter().map(|left| format!("{}: {}", left.kind.as_str(), left.says));
            let left: Vec<String> = left.collect();
            // Nobody accepts a risk of their own making.
            let outcome = match proposal.weighed() {
                Outcome::RiskAccepted => Outcome::Escalate,
                other => other,
            };
            // In the verdict's own words: what it comes to is another matter.
            let said = proposal.outcome.as_str();
            let why = match left.is_empty() {
                true => {
                    format!("{said} in {path}, which names nothing that is left; its evidence: {}", evidence(proposal))
                }
                false => format!("{said} in {path}{LEAVES}{}", left.join("; ")),
            };
            (outcome, left, why)
        }
        Err(unread) if unread.security => {
            let why = format!("a verdict that is not in its form, in {path}{LEAVES}security: it speaks of it");
            (unread.stops?, Vec::new(), why)
        }
        Err(unread) => {
            let outcome = unread.stops?;
            let why = format!("{} in {path}: the rest of the verdict is not in its form", outcome.as_str());
            (outcome, Vec::new(), why)
        }
    };
    if !outcome.stops() {
        return None;
    }
    let key = Digest::of_parts([&["handed in", path, outcome.as_str()][..], &strs(&left)].concat());
    let unsafe_ = if outcome == Outcome::HardStop { "unsafe: " } else { "" };
    let reason = format!("{unsafe_}{why}");
    let reason = reason.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    Some(Raises { raised: Raised { commit: head.clone(), key }, reason })
}

fn strs(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

/// The first thing that it goes by.
fn evidence(proposal: &Proposal) -> String {
    proposal.evidence.first().cloned().unwrap_or_else(|| "no reason is given".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::About;
    use crate::repo::testing::Scratch;

    const CHECKS: &str = "gates: {verify: {checks: [{name: test, workflow: .github/workflows/ci.yml}]}}";

    fn failed(base: &CommitId, head: &CommitId, files: &[&str], anywhere: bool) -> Failed {
        let (base, head) = (base.clone(), head.clone());
        let about = About { base_ref: "main".to_owned(), base, head, content: Digest::of("content") };
        Failed { about, files: files.iter().map(|file| (*file).to_owned()).collect(), anywhere }
    }

    #[test]
    fn what_a_fix_does_beside_what_was_asked_for_is_told() {
        let scratch = Scratch::new();
        let base = scratch.text(&[], &[("src/lamp.rs", "1\n"), ("src/dimmer.rs", "1\n")]);
        let red = scratch.text(&[&base], &[("src/lamp.rs", "2\n"), ("src/dimmer.rs", "1\n"), ("src/new.rs", "1\n")]);
        let fix = [
            ("src/lamp.rs", "3\n"),
            ("src/dimmer.rs", "2\n"),
            ("src/new.rs", "1\n"),
            ("src/extra.rs", "1\n"),
            ("tests/dark.rs", "1\n"),
            ("scaffolding/log.md", "- mended\n"),
            ("SUMMARY.md", "done\n"),
        ];
        let fixed = scratch.text(&[&red], &fix);
        let reader = scratch.reader();
        let policy = policy::parse(CHECKS.as_bytes()).unwrap();
        let told = |failed: Option<&Failed>, base: &CommitId, head: &CommitId| {
            beyond(&reader, &policy, (base, head), failed).map(|paths| paths.into_iter().collect::<Vec<_>>())
        };
        let named = failed(&base, &red, &["src/lamp.rs"], false);
        assert_eq!(told(Some(&named), &base, &fixed).unwrap(), ["src/dimmer.rs", "src/extra.rs"]);
        // What is in no file may be mended wherever the change was.
        let anywhere = failed(&base, &red, &[], true);
        assert_eq!(told(Some(&anywhere), &base, &fixed).unwrap(), ["src/dimmer.rs", "src/extra.rs"]);
        let nowhere = failed(&base, &red, &["README.md"], false);
        assert_eq!(told(Some(&nowhere), &base, &fixed).unwrap(), ["src/dimmer.rs", "src/extra.rs", "src/lamp.rs"]);
        // Taking a file of one's own back is a change, too.
        let less = scratch.text(&[&red], &[("src/lamp.rs", "2\n"), ("src/dimmer.rs", "1\n")]);
        assert_eq!(told(Some(&named), &base, &less).unwrap(), ["src/new.rs"]);
        assert!(told(Some(&anywhere), &base, &less).unwrap().is_empty());
        // The base's own changes are nobody's fix.
        let moved = scratch.text(&[&base], &[("src/lamp.rs", "1\n"), ("src/dimmer.rs", "9\n")]);
        let merged = [("src/lamp.rs", "2\n"), ("src/dimmer.rs", "9\n"), ("src/new.rs", "1\n")];
        let merged = scratch.text(&[&red, &moved], &merged);
        assert!(told(Some(&named), &moved, &merged).unwrap().is_empty());
        // Nothing failed, or the failure is of this head.
        assert!(told(None, &base, &fixed).unwrap().is_empty());
        assert!(told(Some(&failed(&base, &fixed, &[], false)), &base, &fixed).unwrap().is_empty());
        // Of a head that is gone nobody can tell.
        let gone = CommitId::new("0123456789012345678901234567890123456789").unwrap();
        assert_eq!(told(Some(&failed(&base, &gone, &[], true)), &base, &fixed), None);
    }

    #[test]
    fn contracts_that_were_there_are_told_and_new_ones_are_not() {
        let scratch = Scratch::new();
        let base = scratch.text(&[], &[("api/contract.json", "{}"), ("old/contract.json", "{}")]);
        let head = scratch.text(&[&base], &[("api/contract.json", "{\"a\":1}"), ("new/contract.json", "{}")]);
        let reader = scratch.reader();
        let told = contracts(&reader.diff(&base, &head).unwrap());
        let told: Vec<(&str, bool)> = told.iter().map(|(path, now)| (path.as_str(), now.is_some())).collect();
        assert_eq!(told, [("api/contract.json", true), ("old/contract.json", false)]);
    }

    #[test]
    fn a_verdict_that_stops_asks_once_and_a_table_of_contents_is_none() {
        let scratch = Scratch::new();
        let verdict = |outcome: &str, residue: &str| {
            format!(
                "# Done\n\n```yaml\ntask: a\noutcome: {outcome}\nevidence: it is dark\nresidue: {residue}\ndeltas: []\n```\n"
            )
        };
        let base = scratch.text(&[], &[("a/SUMMARY.md", &verdict("HARD-STOP", "[]")), ("README.md", "x")]);
        let files = [
            ("a/SUMMARY.md", verdict("HARD-STOP", "[]")),
            ("docs/SUMMARY.md", "# Summary\n\n- [Lamps](lamps.md)\n".to_owned()),
            ("left/SUMMARY.md", verdict("PASS", "[{security: the token is in the log}]")),
            ("race/SUMMARY.md", verdict("PASS", "[{concurrency: two writers}]")),
            ("risk/SUMMARY.md", verdict("RISK-ACCEPTED", "[{concurrency: two readers}]")),
            ("said/SUMMARY.md", verdict("ESCALATE", "[]")),
            ("fine/SUMMARY.md", verdict("PASS", "[]")),
            ("bent/SUMMARY.md", "```yaml\noutcome: PASS\n```\n".to_owned()),
            ("torn/SUMMARY.md", "```yaml\noutcome: HARD-STOP\n```\n".to_owned()),
            ("word/SUMMARY.md", "```yaml\noutcome: PASS\nresidue: security\n```\n".to_owned()),
        ];
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        let head = scratch.text(&[&base], &files);
        let reader = scratch.reader();
        let all = handed_in(&reader, &head, &reader.diff(&base, &head).unwrap()).unwrap();
        let read: Vec<(&str, bool)> = all.iter().map(|one| (one.path.as_str(), one.read.is_ok())).collect();
        let there =
            ["bent", "fine", "left", "race", "risk", "said", "torn", "word"].map(|name| format!("{name}/SUMMARY.md"));
        assert_eq!(
            read,
            there
                .iter()
                .map(|path| (path.as_str(), !["bent", "torn", "word"].iter().any(|bent| path.starts_with(bent))))
                .collect::<Vec<_>>()
        );
        let stops: Vec<Raises> = all.iter().filter_map(|one| stop(one, &head)).collect();
        let reasons: Vec<&str> = stops.iter().map(|stop| stop.reason.as_str()).collect();
        assert_eq!(
            reasons,
            [
                "unsafe: PASS in left/SUMMARY.md leaves security: the token is in the log",
                "PASS in race/SUMMARY.md leaves concurrency: two writers",
                "RISK-ACCEPTED in risk/SUMMARY.md leaves concurrency: two readers",
                "ESCALATE in said/SUMMARY.md, which names nothing that is left; its evidence: it is dark",
                "unsafe: HARD-STOP in torn/SUMMARY.md: the rest of the verdict is not in its form",
                "unsafe: a verdict that is not in its form, in word/SUMMARY.md leaves security: it speaks of it"
            ]
        );
        let again: Vec<Raises> = all.iter().filter_map(|one| stop(one, &base)).collect();
        assert!(stops.iter().zip(&again).all(|(one, other)| one.raised.key == other.raised.key));
    }
}
