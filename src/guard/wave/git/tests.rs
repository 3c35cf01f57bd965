//! A reader that is no repository, and histories that are long or strange.

use std::collections::HashSet;

use super::super::testing::{Yard, ledger, now};
use super::super::way::MOST_COMMITS;
use super::super::{Turn, judge};
use super::*;

/// A history in memory: of each commit, those that it follows.
struct Book(Vec<Vec<usize>>);

fn id(nth: usize) -> CommitId {
    CommitId::new(format!("{:040x}", nth + 1)).unwrap()
}

fn nth(id: &CommitId) -> usize {
    usize::from_str_radix(id.as_str(), 16).unwrap() - 1
}

impl Book {
    fn behind(&self, of: &CommitId) -> HashSet<usize> {
        let mut all = HashSet::new();
        let mut open = vec![nth(of)];
        while let Some(one) = open.pop() {
            if all.insert(one) {
                open.extend(&self.0[one]);
            }
        }
        all
    }
}

impl Git for Book {
    fn commit(&self, digits: &Digits) -> Result<Option<CommitId>> {
        // All of them are written in full here.
        Ok(CommitId::new(digits.as_str()).ok().filter(|id| nth(id) < self.0.len()))
    }

    /// `b7` is at commit 7.
    fn branch(&self, name: &Branch) -> Result<Option<CommitId>> {
        Ok(name.as_str().strip_prefix('b').and_then(|nth| nth.parse().ok()).map(id))
    }

    fn fork(&self, base: &CommitId, _: &CommitId) -> Result<Fork> {
        Ok(Fork::At(base.clone()))
    }

    fn is_ancestor(&self, old: &CommitId, new: &CommitId) -> Result<bool> {
        Ok(self.behind(new).contains(&nth(old)))
    }

    fn since(&self, base: &CommitId, tip: &CommitId, most: usize) -> Result<Vec<CommitId>> {
        let old = self.behind(base);
        Ok(self.behind(tip).difference(&old).copied().map(id).take(most).collect())
    }

    fn parents(&self, of: &CommitId) -> Result<Vec<CommitId>> {
        Ok(self.0[nth(of)].iter().copied().map(id).collect())
    }

    fn changed(&self, _: &CommitId, to: &CommitId) -> Result<Vec<String>> {
        Ok(vec![format!("tasks/t{}/SUMMARY.md", nth(to))])
    }

    fn at_origin(&self, _: &Branch) -> Result<Option<CommitId>> {
        Ok(None)
    }

    fn deltas(&self, _: &CommitId, _: &CommitId) -> Result<Vec<Delta>> {
        Ok(Vec::new())
    }

    fn otherwise(&self, _: &CommitId) -> Result<Vec<Delta>> {
        Ok(Vec::new())
    }

    fn patch(&self, _: &CommitId, _: &CommitId) -> Result<Option<Digest>> {
        Ok(None)
    }

    fn file(&self, at: &CommitId, path: &str) -> Result<Option<Vec<u8>>> {
        if path == FILE {
            return Ok(None);
        }
        let text = super::super::testing::summary(&format!("t{}", nth(at)), "PASS", "[]");
        Ok(Some(if path.ends_with(DELTAS) { b"- one".to_vec() } else { text.into_bytes() }))
    }
}

/// Rows that are done, at these commits.
fn turns(book: &Book, base: usize, tip: usize, rows: &[usize]) -> (Vec<Turn>, Vec<String>) {
    let cells: Vec<[String; 5]> = rows
        .iter()
        .map(|nth| {
            [
                format!("t{nth}"),
                format!("w{nth}"),
                format!("b{nth}"),
                format!("done {}", id(*nth)),
                id(base).to_string(),
            ]
        })
        .collect();
    let cells: Vec<[&str; 5]> = cells.iter().map(|row| row.each_ref().map(String::as_str)).collect();
    let ledger = super::super::ledger::read(ledger("merging", &id(base), &cells).as_bytes()).unwrap();
    let facts = Facts::gather(book, &ledger, Target { name: "main".to_owned(), tip: id(tip) });
    let looked = judge("WAVE.md", ledger, facts, now());
    (looked.turns.clone(), super::super::testing::told(&looked.findings()))
}

fn with(nth: usize) -> Turn {
    Turn::Merged { with: id(nth) }
}

#[test]
fn what_came_in_is_found_by_the_targets_own_commits() {
    // 0 is the base. 1 and 2 are branches, 3 merges 1, 4 merges 2, 5 is a branch that nobody merged.
    let book = Book(vec![vec![], vec![0], vec![0], vec![0, 1], vec![3, 2], vec![0]]);
    assert_eq!(turns(&book, 0, 4, &[1, 2]), (vec![with(3), with(4)], vec![]));
    assert_eq!(turns(&book, 0, 4, &[1, 5]).0, [with(3), Turn::Next]);
    assert_eq!(turns(&book, 0, 3, &[1, 2]).0, [with(3), Turn::Next]);
    assert_eq!(turns(&book, 0, 0, &[1, 2]).0[0], Turn::Next, "nothing came in");
    // A fast-forward brings a branch in with itself.
    assert_eq!(turns(&book, 0, 1, &[1]).0, [with(1)]);
    // One that was built on another brings that one with it.
    let stacked = Book(vec![vec![], vec![0], vec![1], vec![0, 2]]);
    let (turns, found) = turns(&stacked, 0, 3, &[1, 2]);
    assert_eq!(turns, [with(3), with(3)]);
    let same = "bypassed_gate error WAVE.md:9 `t2` came in with the same commit, 000000000000, as `t1`.";
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("`t1` was handed in at") && found[1] == same, "{found:?}");
}

#[test]
fn a_long_history_is_walked_once_and_one_that_is_too_long_is_told() {
    let chain = |length: usize| Book((0..=length).map(|nth| nth.checked_sub(1).into_iter().collect()).collect());
    let rows: Vec<usize> = (0..200).map(|row| 49_999 - row * 10).rev().collect();
    let long = chain(MOST_COMMITS);
    let (turns_found, found) = turns(&long, 0, MOST_COMMITS, &rows);
    assert!(turns_found.iter().zip(&rows).all(|(turn, nth)| *turn == with(*nth)), "{found:?}");
    let (turns_found, found) = turns(&chain(MOST_COMMITS + 1), 0, MOST_COMMITS + 1, &[7]);
    assert_eq!(turns_found, [Turn::Refused]);
    assert_eq!(
        found,
        [
            "gate_record_mismatch error WAVE.md:8 Whether `b7` is merged can't be told: there are more than 50000 commits since the base."
        ]
    );
}

#[test]
fn a_link_or_a_folder_is_no_report() {
    let yard = Yard::new();
    let base = yard.commit(&[], &[("a", "a")]);
    let files = [("t/SUMMARY.md/inside", 0o100_644, "x"), ("t/other", 0o100_755, "y"), ("t/link", 0o120_000, "other")];
    let tip = yard.raw(&[&base], &files, &["a"]);
    let repo = yard.reader();
    assert_eq!(Git::file(&repo, &tip, "t/SUMMARY.md").unwrap(), None);
    assert_eq!(Git::file(&repo, &tip, "t/none").unwrap(), None);
    assert_eq!(Git::file(&repo, &tip, "t/other").unwrap(), Some(b"y".to_vec()));
    assert_eq!(Git::file(&repo, &tip, "t/link").unwrap(), None);
    let changed = ["t/SUMMARY.md/inside", "t/link", "t/other"];
    assert_eq!(Git::changed(&repo, &base, &tip).unwrap(), changed, "what is deleted is nobody's report");
}

#[test]
fn a_branch_of_origin_will_do_where_there_is_none_here() {
    let yard = Yard::new();
    let (one, two) = (yard.commit(&[], &[("a", "a")]), yard.commit(&[], &[("b", "b")]));
    let name = Branch::parse("wave/x").unwrap();
    let repo = yard.reader();
    assert_eq!(Git::branch(&repo, &name).unwrap(), None);
    yard.reference("refs/remotes/origin/wave/x", &one);
    assert_eq!(Git::branch(&repo, &name).unwrap(), Some(one));
    yard.point("wave/x", &two);
    assert_eq!(Git::branch(&repo, &name).unwrap(), Some(two));
}
