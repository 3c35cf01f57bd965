//! A merge queue's group: may all of these changes go in together, as this commit?
//!
//! `MRG-09` asks for two things. Each member must have passed its own merge gate, for exactly the head that is in the
//! queue; and the group's commit must be proved too, because nobody has seen it before: verified itself, or carried by its
//! members where no file in it is another than one of them has proved. Whatever else is in the group came from nowhere, and
//! fails. The queue's own list says who is in it; where that can't be had, it is unknown who is, and unknown is not fine.

use std::collections::{BTreeMap, BTreeSet};

use super::evidence::{self, Accepted, GroupRuns, listed};
use super::merge::{self, Judgement};
use super::world::{CheckRun, Law};
use super::{Finding, GateName, Verdict, bounded, verdict};
use crate::ids::{ChangeNumber, CommitId};
use crate::ledger::State;
use crate::ledger::record::{Evidence, GroupMember, Grouped};
use crate::ledger::state::{RED, Red};
use crate::policy::{Base, Policy, Queue, Require};
use crate::repo::meaning::Drift;
use crate::repo::{Delta, RepoPath};

const RULE: &str = "MRG-09";

/// What a group looks like at the moment of a decision.
#[derive(Debug, Clone)]
pub struct Group {
    pub law: Law,
    /// This App's id.
    pub app: u64,
    /// The group's own commit.
    pub head: CommitId,
    pub base_ref: String,
    pub listed: Listing,
    /// In the queue's order; the last is the one that the group is for.
    pub members: Vec<Member>,
    pub content: Content,
    /// Every check run on the group's commit, and every job that policy could count.
    pub checks: Vec<CheckRun>,
    pub workflow_runs: BTreeSet<u64>,
    pub checks_unread: bool,
    /// What gives the checks their meaning and is not the default branch's at the group's commit.
    pub drift: BTreeMap<String, Drift>,
}

/// Whether the queue lists this group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listing {
    Known,
    /// It does not, or can't be read: what is wrong. An answer may be older than the group.
    Unknown {
        why: String,
        /// It was asked often enough.
        settled: bool,
    },
}

/// What is in the group's commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// What its members bring into the base, and nothing else: the differences from the base.
    Members { base: CommitId, files: Vec<Delta> },
    /// These paths are not as merging the members makes them.
    Strange(Vec<String>),
    /// Its members can't be merged here, so it can't be told.
    Unreadable(String),
}

#[derive(Debug, Clone)]
pub struct Member {
    pub number: u64,
    /// The head that it is in the queue with.
    pub head: CommitId,
    pub record: Record,
    /// Where it leaves the base, and what it changes from there.
    pub base: Option<CommitId>,
    pub files: Vec<Delta>,
}

/// What the ledger says of a member.
#[derive(Debug, Clone)]
pub enum Record {
    State(Box<State>),
    Nothing,
    Broken(String),
}

impl Member {
    fn state(&self) -> Option<&State> {
        match &self.record {
            Record::State(state) => Some(state),
            _ => None,
        }
    }
}

/// Judges the group.
pub fn judge(group: &Group) -> Judgement {
    let (mut findings, mut evidence) = (Vec::new(), Vec::new());
    match &group.law {
        Law::Invalid(problems) => findings.extend(problems.iter().cloned()),
        Law::Valid(policy) => {
            findings.extend(unlisted(group));
            findings.extend(group.members.iter().filter_map(|member| unproved(member, group, policy)));
            // Who is in it is not known, so what ought to be in it is not either.
            if group.listed == Listing::Known {
                findings.extend(strange(group));
            }
            findings.extend(merge::forged(&group.checks, group.app));
            findings.extend(merge::unread(group.checks_unread, &group.head));
            let (more, proof) = proved(group, policy);
            findings.extend(more);
            evidence.extend(proof);
        }
    }
    Judgement { verdict: verdict(&findings), findings: bounded(findings), evidence }
}

/// What is to be recorded of it.
pub fn grouped(group: &Group, base: &CommitId, head_ref: &str, judgement: &Judgement) -> Grouped {
    Grouped {
        head: group.head.clone(),
        base: base.clone(),
        base_ref: group.base_ref.clone(),
        head_ref: head_ref.to_owned(),
        members: group
            .members
            .iter()
            .map(|member| GroupMember { change: ChangeNumber(member.number), head: member.head.clone() })
            .collect(),
        verdict: judgement.verdict,
        findings: judgement.findings.clone(),
        evidence: judgement.evidence.clone(),
    }
}

fn unlisted(group: &Group) -> Option<Finding> {
    let Listing::Unknown { why, settled } = &group.listed else { return None };
    let says = format!("It is not known who is in this group: {why}.");
    Some(if *settled {
        Finding::error(RULE, says, "Take the changes out of the queue and put them in again.")
    } else {
        Finding::waiting(RULE, says, "Nothing to do: the queue is asked again.")
    })
}

/// Why a member does not belong into a group, if it does not.
fn unproved(member: &Member, group: &Group, policy: &Policy) -> Option<Finding> {
    let (number, head) = (member.number, &member.head);
    let out = format!("Take #{number} out of the queue, bring it to green and put it in again.");
    let fails = |says: String| Some(Finding::error(RULE, format!("#{number} {says}."), out.clone()));
    let waits = |says: &str| {
        let next = "Nothing to do: it is looked at again. If it stays, say `status` there.";
        let next = next.replace("`status`", &format!("`{}`", policy.commands.written("status")));
        Some(Finding::waiting(RULE, format!("#{number} {says}."), next))
    };
    let state = match &member.record {
        Record::State(state) => state,
        Record::Nothing => return fails("is in the group, and nothing is known of it".to_owned()),
        Record::Broken(why) => return fails(format!("has a broken record: {why}")),
    };
    if !state.open {
        return fails("is in the group, and is not open".to_owned());
    }
    let Some(about) = &state.subject else { return fails("has no content that could be read".to_owned()) };
    if about.head != *head {
        return fails(format!("is in the queue with {}, but was judged at {}", head.short(), about.head.short()));
    }
    if about.base_ref != group.base_ref {
        return fails("was judged for another branch".to_owned());
    }
    if state.policy.as_ref() != Some(&policy.digest()) {
        return waits("has not been looked at under the present policy yet");
    }
    let Some(judged) = state.gates.get(&GateName::Merge) else {
        return fails("has never been judged".to_owned());
    };
    if judged.verdict == Verdict::Fail {
        let red = judged.findings.iter().filter(|finding| finding.blocks());
        let first = red.clone().find(|finding| !finding.waiting).or_else(|| red.clone().next());
        let why = first.map_or_else(String::new, |first| format!(": {} ({})", first.says, first.rule));
        // Also where it only waits: it was green when it entered, and those behind it do not wait for its reviewers.
        return Some(Finding::error(RULE, format!("#{number} is not green{why}"), out));
    }
    if judged.about != *about {
        return waits("has not been judged for its present content yet");
    }
    None
}

fn strange(group: &Group) -> Option<Finding> {
    let out = "Take the changes out of the queue and put them in again. If it stays, find out what makes the group.";
    match &group.content {
        Content::Members { .. } => None,
        Content::Strange(paths) => {
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            let says = format!(
                "Unknown content: {} in the group's commit is not what merging its members into {} makes.",
                listed(&paths),
                crate::finding::quoted(&group.base_ref),
            );
            Some(Finding::error(RULE, says, out))
        }
        Content::Unreadable(why) => {
            Some(Finding::error(RULE, format!("Unknown content: the group's commit can't be explained ({why})."), out))
        }
    }
}

/// The proof of the group's own commit.
fn proved(group: &Group, policy: &Policy) -> (Vec<Finding>, Vec<Evidence>) {
    if !policy.merge.require.contains(&Require::Verify) {
        return Default::default();
    }
    let mut findings = Vec::new();
    if policy.merge.queue == Queue::Carry {
        match uncarried(group, policy) {
            None => return Default::default(),
            Some(why) => findings.push(Finding::warning(
                RULE,
                format!("What the members have shown does not carry the group: {why}."),
                "Nothing to do: the group's own commit is verified instead.",
            )),
        }
    }
    let heard = evidence::grouped(
        RULE,
        policy,
        &GroupRuns {
            head: &group.head,
            runs: &group.checks,
            workflow_runs: &group.workflow_runs,
            drift: &group.drift,
            accepted: &accepted(group),
            reds: &reds(group),
        },
    );
    findings.extend(heard.findings);
    (findings, heard.evidence)
}

/// Why the members' own evidence says nothing of the group's commit, if it does not.
fn uncarried(group: &Group, policy: &Policy) -> Option<String> {
    let Content::Members { base, files } = &group.content else {
        return Some("its content is not known".to_owned());
    };
    if policy.base == Base::Strict {
        return match group.members.as_slice() {
            [only] if only.base.as_ref() == Some(base) => None,
            _ => Some("with `base: strict` each was judged on another base".to_owned()),
        };
    }
    let brings = |member: &&Member, path: &RepoPath| member.files.iter().any(|file| file.path == *path);
    for file in files {
        let by: Vec<&Member> = group.members.iter().filter(|member| brings(member, &file.path)).collect();
        let path = crate::finding::quoted(&file.path.to_string());
        match by.as_slice() {
            [only] if only.files.contains(file) => {}
            [only] => return Some(format!("{path} is not as #{} has shown it: the base changed it too", only.number)),
            [] => return Some(format!("nobody brings {path}")),
            several => {
                let all: Vec<String> = several.iter().map(|member| format!("#{}", member.number)).collect();
                return Some(format!("{path} is changed by {}", all.join(" and ")));
            }
        }
    }
    None
}

/// What a person has accepted for a member, as far as it is this member's file that is in the group.
fn accepted(group: &Group) -> Accepted {
    let mut accepted = Accepted::new();
    for member in &group.members {
        let Some(state) = member.state() else { continue };
        for file in &member.files {
            let (path, blob) = (file.path.to_string(), file.new.as_ref().map(|(_, blob)| blob.clone()));
            if state.accepted.get(&path).is_some_and(|seen| seen.contains(&blob)) {
                accepted.entry(path).or_default().insert(blob);
            }
        }
    }
    accepted
}

/// Jobs that ended red on this commit when it was last recorded: a run can be deleted.
fn reds(group: &Group) -> BTreeSet<Red> {
    let known = group.members.iter().filter_map(Member::state).flat_map(|state| &state.groups);
    let evidence = known.filter(|known| known.head == group.head).flat_map(|known| &known.evidence);
    evidence
        .filter_map(|one| match one {
            Evidence::Check { name, workflow_run: Some(run), conclusion, head, discounted: None, .. }
                if RED.contains(&conclusion.as_str()) =>
            {
                Some(Red { workflow_run: *run, name: name.clone(), head: head.clone(), content: None })
            }
            _ => None,
        })
        .collect()
}

/// The prefix of the branches that a merge queue keeps its groups on.
pub const BRANCHES: &str = "gh-readonly-queue/";

/// What the name of a group's branch says: the base branch, the pull request that it is for, and the commit that it stands
/// on.
pub fn named(branch: &str) -> Option<(&str, u64, CommitId)> {
    let (base_ref, last) = branch.strip_prefix(BRANCHES)?.rsplit_once('/')?;
    let (number, base) = last.strip_prefix("pr-")?.split_once('-')?;
    Some((base_ref, number.parse().ok()?, CommitId::new(base.to_owned()).ok()?))
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
