use proptest::prelude::*;

use super::super::cell::{Branch, Digits, Echo, Worker};
use super::super::git::{Fork, RowFacts, Stack, Target};
use super::super::lease::Stop;
use super::super::testing::now;
use super::super::verdict::{Filed, Proposal};
use super::super::{WaveName, verify::Found};
use super::*;
use crate::finding::Finding;

fn id(nth: usize) -> CommitId {
    CommitId::new(format!("{nth:040x}")).unwrap()
}

/// What a row may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Held,
    Dead,
    Released,
    Stopped,
    Merged,
    Passed,
    Refused,
    Unread,
    Escalated,
}

const KINDS: [Kind; 9] = [
    Kind::Held,
    Kind::Dead,
    Kind::Released,
    Kind::Stopped,
    Kind::Merged,
    Kind::Passed,
    Kind::Refused,
    Kind::Unread,
    Kind::Escalated,
];

fn turns_of(kinds: &[Kind], status: Status, against_all: bool) -> Vec<Turn> {
    let (mut rows, mut facts, mut judged, mut found) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    if against_all {
        found.push(Found { row: None, finding: Finding::error("unverified_fork_base", "no", "no") });
    }
    for (nth, kind) in kinds.iter().enumerate() {
        let lease = match kind {
            Kind::Held => Lease::parse("until 2026-03-01T11:00:01Z"),
            Kind::Dead => Lease::parse("until 2026-03-01T11:00:00Z"),
            Kind::Released => Ok(Lease::Released),
            Kind::Stopped => Ok(Lease::Stopped(Stop::Escalate)),
            _ => Ok(Lease::Done(Digits::from(&id(nth)))),
        };
        rows.push(Row {
            task: TaskId::parse(&format!("t{nth}")).unwrap(),
            worker: Some(Worker::parse(&format!("w{nth}")).unwrap()),
            branch: Branch::parse(&format!("b{nth}")).unwrap(),
            lease: lease.unwrap(),
            fork_base: Echo::Missing,
            line: 0,
        });
        let arrived = (*kind == Kind::Merged).then(|| Arrival {
            nth,
            commit: id(nth),
            merge: id(nth),
            what: id(nth),
            more: None,
            out: None,
        });
        let fork = Ok(Some(Fork::Nowhere));
        facts.push(RowFacts {
            tip: Ok(None),
            handed: Ok(None),
            fork,
            arrived: Ok(arrived),
            followed: Ok(None),
            altered: Ok(Vec::new()),
            squashed: Ok(false),
            ahead: Ok(None),
            stack: Stack::default(),
            filed: Ok(Filed::default()),
            wrote_ledger: Ok(false),
        });
        let outcome = if *kind == Kind::Escalated { Outcome::Escalate } else { Outcome::Pass };
        let proposal = Proposal {
            task: String::new(),
            outcome,
            evidence: vec![],
            residue: vec![],
            deltas: vec![],
            line: 1,
            task_line: 1,
        };
        judged.push(Judged { proposal: Some(proposal).filter(|_| *kind != Kind::Unread), ..Judged::default() });
        if *kind == Kind::Refused {
            found.push(Found { row: Some(nth), finding: Finding::error("gate_record_mismatch", "no", "no") });
        }
        // A warning is nothing against it.
        found.push(Found { row: Some(nth), finding: Finding::warning("fork_base_pending", "no", "no") });
    }
    let (name, base) = (WaveName::parse("w").unwrap(), Digits::from(&id(0)));
    let ledger = Ledger { name, status, base, base_line: 2, into: None, notes: vec![], rows };
    let target = Target { name: "main".to_owned(), tip: id(0) };
    let facts = Facts {
        base: Ok(None),
        target,
        based: Ok(true),
        rows: facts,
        noted: vec![],
        behind: Ok(None),
        left: vec![],
        copies: Ok(vec![]),
    };
    turns(&ledger, &facts, &judged, &found, now())
}

fn words(kinds: &[Kind]) -> Vec<String> {
    let first = |turn: &Turn| serde_json::to_value(turn).unwrap()["turn"].as_str().unwrap().to_owned();
    turns_of(kinds, Status::Merging, false).iter().map(first).collect()
}

#[test]
fn a_row_behind_one_that_is_not_merged_waits_and_a_failure_lets_by() {
    use Kind::{Dead, Escalated, Held, Merged, Passed, Refused, Released, Stopped, Unread};
    for (kinds, says) in [
        (&[Passed, Passed][..], &["next", "waits"][..]),
        (&[Merged, Passed, Passed], &["merged", "next", "waits"]),
        (&[Held, Passed], &["held", "waits"]),
        (&[Dead, Passed], &["ready", "next"]),
        (&[Released, Passed], &["ready", "next"]),
        (&[Stopped, Passed], &["stopped", "next"]),
        (&[Escalated, Passed], &["stopped", "next"]),
        (&[Refused, Passed], &["refused", "waits"]),
        (&[Unread, Passed], &["refused", "waits"]),
        (&[Passed, Stopped, Held], &["next", "stopped", "held"]),
        (&[Merged, Merged], &["merged", "merged"]),
    ] {
        assert_eq!(words(kinds), *says, "{kinds:?}");
    }
}

#[test]
fn nothing_is_merged_while_the_wave_is_live_or_its_base_is_not_proved() {
    assert_eq!(turns_of(&[Kind::Passed], Status::Live, false), [Turn::Early]);
    assert_eq!(turns_of(&[Kind::Passed], Status::Merging, true), [Turn::Refused]);
}

proptest! {
    #[test]
    fn at_most_one_is_next_and_nothing_unmerged_is_before_it(
        drawn in proptest::collection::vec(0_usize..KINDS.len(), 1..12),
        merging: bool,
        against_all: bool,
    ) {
        let kinds: Vec<Kind> = drawn.iter().map(|nth| KINDS[*nth]).collect();
        let status = if merging { Status::Merging } else { Status::Live };
        let turns = turns_of(&kinds, status, against_all);
        let waits = |kind: &Kind| matches!(kind, Kind::Held | Kind::Passed | Kind::Refused | Kind::Unread);
        let first = kinds.iter().position(waits);
        let next = first.filter(|nth| merging && !against_all && kinds[*nth] == Kind::Passed);
        prop_assert_eq!(turns.iter().position(|turn| *turn == Turn::Next), next, "{:?}", kinds);
        prop_assert!(turns.iter().filter(|turn| **turn == Turn::Next).count() <= 1);
    }
}
