//! What came in, and whether it stays, on real histories.

use super::super::testing::{Yard, ledger, told};
use super::super::{Looked, Turn};
use crate::ids::CommitId;

const HELD: &str = "2h since 2026-03-01T10:00:00Z";

struct House {
    yard: Yard,
    base: CommitId,
}

impl House {
    fn new() -> Self {
        let yard = Yard::new();
        let base = yard.commit(&[], &[("README.md", "base\n")]);
        yard.point("main", &base);
        Self { yard, base }
    }

    fn main(&self) -> CommitId {
        self.yard.reader().resolve("refs/heads/main").unwrap().unwrap()
    }

    fn merge(&self, tip: &CommitId) -> CommitId {
        let merged = self.yard.commit(&[&self.main(), tip], &[]);
        self.yard.point("main", &merged);
        merged
    }

    /// A commit on main that takes these files away.
    fn take_out(&self, gone: &[&str]) -> CommitId {
        let out = self.yard.raw(&[&self.main()], &[], gone);
        self.yard.point("main", &out);
        out
    }

    fn look(&self, rows: &[[&str; 5]]) -> Looked {
        self.yard.look(&ledger("merging", &self.base, rows)).unwrap()
    }

    fn all(&self, rows: &[[&str; 5]]) -> Vec<String> {
        told(&self.look(rows).findings())
    }
}

fn done(tip: &CommitId) -> String {
    format!("done {tip}")
}

fn files(task: &str) -> [String; 3] {
    [format!("src/{task}.rs"), format!("tasks/{task}/SUMMARY.md"), format!("tasks/{task}/deltas.md")]
}

#[test]
fn what_was_pushed_after_it_was_handed_in_is_seen_whatever_the_branch_says() {
    let house = House::new();
    let tip = house.yard.work("a", "wave/a", &house.base);
    let late = house.yard.commit(&[&tip], &[("src/late", "late")]);
    house.yard.point("wave/a", &late);
    let lease = done(&tip);
    let row = ["a", "w1", "wave/a", &lease, house.base.as_str()];
    let merged = house.merge(&late);
    let says = [format!(
        "bypassed_gate error WAVE.md:8 `a` was handed in at {}, and {} merged {}, which nobody has handed in.",
        tip.short(),
        merged.short(),
        late.short()
    )];
    assert_eq!(house.all(&[row]), says);
    // Put back, as a finding advised once, and deleted.
    house.yard.point("wave/a", &tip);
    assert_eq!(house.all(&[row]), says);
    house.yard.drop_branch("wave/a");
    assert_eq!(house.all(&[row]), says);
    // Nor is it made good by handing in more.
    let more = house.yard.commit(&[&late], &[("src/more", "more")]);
    house.yard.point("wave/a", &more);
    let looked = house.look(&[row]);
    assert_eq!(super::super::life::came_with_more(&looked, 0, "a").unwrap()[0].rule, "bypassed_gate");
}

#[test]
fn what_was_merged_is_not_handed_in_again_with_more() {
    let house = House::new();
    let tip = house.yard.work("a", "wave/a", &house.base);
    let late = house.yard.commit(&[&tip], &[("src/late", "late")]);
    house.yard.point("wave/a", &late);
    house.merge(&late);
    let (before, after) = (done(&tip), done(&late));
    let looked = house.look(&[["a", "w1", "wave/a", &before, house.base.as_str()]]);
    let as_if = house.look(&[["a", "w1", "wave/a", &after, house.base.as_str()]]);
    let now = super::super::testing::now();
    let hand_in = |ledger: &super::super::Ledger, tip: &CommitId, as_if: &Looked| {
        super::super::life::hand_in(ledger, "a", (tip, as_if.facts.rows.first()), &as_if.judged[0], now)
    };
    assert_eq!(hand_in(&looked.ledger, &late, &as_if).unwrap_err()[0].rule, "bypassed_gate");
    // Once more, and nothing is new.
    assert!(hand_in(&looked.ledger, &tip, &looked).is_ok());
    // What is not in yet is handed in again.
    house.yard.point("main", &house.base);
    let as_if = house.look(&[["a", "w1", "wave/a", &after, house.base.as_str()]]);
    assert!(hand_in(&looked.ledger, &late, &as_if).is_ok());
}

#[test]
fn origin_that_is_ahead_is_told_before_it_is_merged() {
    let house = House::new();
    let tip = house.yard.work("a", "wave/a", &house.base);
    let late = house.yard.commit(&[&tip], &[("src/late", "late")]);
    let lease = done(&tip);
    let row = ["a", "w1", "wave/a", &lease, house.base.as_str()];
    house.yard.reference("refs/remotes/origin/wave/a", &house.base);
    assert_eq!(house.all(&[row]), Vec::<String>::new(), "one that is behind is only not pushed yet");
    house.yard.reference("refs/remotes/origin/wave/a", &late);
    let looked = house.look(&[row]);
    assert_eq!(
        told(&looked.findings()),
        [format!(
            "gate_record_mismatch warning WAVE.md:8 `wave/a` is at {} at `origin`, with commits that were not handed in; here it is at `{tip}`.",
            late.short()
        )]
    );
    assert_eq!(looked.turns, [Turn::Next], "what is here may be merged");
    house.merge(&late);
    assert!(house.all(&[row])[0].contains("which nobody has handed in"));
}

#[test]
fn branches_that_were_put_together_come_in_each_by_its_own_merge() {
    let house = House::new();
    let (a, b) = (house.yard.work("a", "wave/a", &house.base), house.yard.work("b", "wave/b", &house.base));
    let (one, two) = (done(&a), done(&b));
    let rows = [["a", "w1", "wave/a", &one, house.base.as_str()], ["b", "w2", "wave/b", &two, house.base.as_str()]];
    let first = house.yard.commit(&[&house.base, &a], &[]);
    let land = house.yard.commit(&[&first, &b], &[]);
    house.merge(&land);
    assert_eq!(house.all(&rows), Vec::<String>::new());
    // By one merge they do not.
    house.yard.point("main", &house.base);
    let octopus = house.yard.commit(&[&house.base, &a, &b], &[]);
    house.merge(&octopus);
    assert!(house.all(&rows)[0].contains("`b` came in with the same commit"), "{:?}", house.all(&rows));
}

#[test]
fn a_fast_forward_shows_not_all_and_that_is_told() {
    let house = House::new();
    let a = house.yard.work("a", "wave/a", &house.base);
    let late = house.yard.commit(&[&a], &[("src/late", "late")]);
    house.yard.point("main", &late);
    let one = done(&a);
    let row = ["a", "w1", "wave/a", &one, house.base.as_str()];
    let says = format!(
        "bypassed_gate warning WAVE.md:8 `a` came in by a fast-forward, and {} stands on it: whether that is its branch's can't be told.",
        late.short()
    );
    assert_eq!(house.all(&[row]), [says]);
    // The ledger is written there, too.
    let kept = house.yard.commit(&[&a], &[("WAVE.md", "x")]);
    house.yard.point("main", &kept);
    assert_eq!(house.all(&[row]), Vec::<String>::new());
    // Two at once, of which one is built on the other.
    let b = house.yard.work("b", "wave/b", &a);
    house.yard.point("main", &b);
    let two = done(&b);
    let rows = [row, ["b", "w2", "wave/b", &two, house.base.as_str()]];
    assert_eq!(
        house.all(&rows),
        [
            "bypassed_gate warning WAVE.md:9 `a` and `b` came in by fast-forward, so whether it was one at a time can't be told."
        ]
    );
}

#[test]
fn a_revert_takes_it_out_again_and_a_revert_of_that_puts_it_back() {
    let house = House::new();
    let a = house.yard.work("a", "wave/a", &house.base);
    let (b, held) = (house.yard.work("b", "wave/b", &house.base), HELD);
    let two = done(&b);
    let rows = [["a", "w1", "wave/a", held, house.base.as_str()], ["b", "w2", "wave/b", &two, house.base.as_str()]];
    let looked = |errors: usize, what: &str| {
        let looked = house.look(&rows);
        assert_eq!(
            looked.findings().iter().filter(|one| one.blocks()).count(),
            errors,
            "{what}: {:?}",
            looked.findings()
        );
        looked
    };
    house.merge(&a);
    let before = looked(1, "merged");
    assert!(super::super::life::release(&before, "a").is_err());
    let gone = files("a");
    let gone: Vec<&str> = gone.iter().map(String::as_str).collect();
    // A part of it is not all of it.
    house.take_out(&gone[..1]);
    looked(1, "in part");
    let out = house.take_out(&gone[1..]);
    let after = looked(0, "reverted");
    assert_eq!(after.facts.rows[0].arrived.as_ref().unwrap().as_ref().unwrap().out, Some(out));
    assert!(super::super::life::release(&after, "a").is_ok());
    assert_eq!(super::super::life::stop(&after, "a", super::super::lease::Stop::Escalate).unwrap().notes.len(), 1);
    // What is stopped lets the other go on.
    let stopped = [["a", "w1", "wave/a", "stopped ESCALATE", "pending"], rows[1]];
    assert_eq!(house.look(&stopped).next().unwrap().task.as_str(), "b");
    // Back again.
    let texts: Vec<(String, String)> = gone
        .iter()
        .map(|path| {
            let bytes = super::super::git::Git::file(&house.yard.reader(), &a, path).unwrap().unwrap();
            ((*path).to_owned(), String::from_utf8(bytes).unwrap())
        })
        .collect();
    let texts: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let back = house.yard.commit(&[&house.main()], &texts);
    house.yard.point("main", &back);
    looked(1, "the revert was reverted");
}

#[test]
fn a_revert_counts_by_its_lines_where_others_have_written_in_between() {
    let house = House::new();
    let text = |top: &str, end: &str| format!("{top}{}{end}", "a line\n".repeat(20));
    let start = house.yard.commit(&[&house.base], &[("shared", &text("", ""))]);
    house.yard.point("main", &start);
    let house = House { base: start, ..house };
    let work = house.yard.commit(&[&house.base], &[("shared", &text("work\n", ""))]);
    house.yard.point("wave/a", &work);
    let row = ["a", "w1", "wave/a", "stopped HARD-STOP", "pending"];
    house.merge(&work);
    assert_eq!(house.all(&[row]).len(), 1);
    for (top, end) in [("work\n", "other\n"), ("", "other\n")] {
        let next = house.yard.commit(&[&house.main()], &[("shared", &text(top, end))]);
        house.yard.point("main", &next);
    }
    assert_eq!(house.all(&[row]), Vec::<String>::new());
}

#[test]
fn what_is_done_and_was_taken_out_is_not_merged_again() {
    let house = House::new();
    let a = house.yard.work("a", "wave/a", &house.base);
    let lease = done(&a);
    let row = ["a", "w1", "wave/a", &lease, house.base.as_str()];
    let merged = house.merge(&a);
    assert!(super::super::life::stop(&house.look(&[row]), "a", super::super::lease::Stop::Escalate).is_err());
    let gone = files("a");
    let out = house.take_out(&gone.each_ref().map(String::as_str));
    let looked = house.look(&[row]);
    assert_eq!(
        told(&looked.findings()),
        [format!(
            "gate_record_mismatch error WAVE.md:8 `a` came in with {}, and {} took it out again.",
            merged.short(),
            out.short()
        )]
    );
    assert_eq!(looked.turns, [Turn::Refused]);
    assert!(super::super::life::release(&looked, "a").is_ok(), "a revert is what was asked for");
    assert!(super::super::life::stop(&looked, "a", super::super::lease::Stop::Escalate).is_ok());
    // With the same commits nothing comes in.
    let held = house.look(&[["a", "w1", "wave/a", HELD, house.base.as_str()]]);
    let handed = super::super::life::hand_in(
        &held.ledger,
        "a",
        (&a, looked.facts.rows.first()),
        &looked.judged[0],
        super::super::testing::now(),
    );
    assert!(handed.unwrap_err()[0].next.contains("a new branch"));
}

#[test]
fn a_part_of_what_was_stopped_is_seen_and_what_it_took_in_is_not_its_own() {
    let house = House::new();
    let first = house.yard.commit(&[&house.base], &[("src/leak", "token")]);
    house.yard.work("a", "wave/a", &first);
    let row = ["a", "w1", "wave/a", "stopped HARD-STOP", "pending"];
    let b = house.yard.work("b", "wave/b", &house.base);
    // It took in what main has, and another row's work.
    let other = house.yard.commit(&[&house.base], &[("src/other", "x")]);
    let main = house.merge(&other);
    let took = house.yard.commit(&[&first, &main], &[]);
    let took = house.yard.commit(&[&took, &b], &[]);
    house.yard.work("a", "wave/a", &took);
    house.merge(&b);
    let lease = done(&b);
    let rows = [row, ["b", "w2", "wave/b", &lease, house.base.as_str()]];
    assert_eq!(house.all(&rows), Vec::<String>::new());
    let merged = house.merge(&first);
    assert_eq!(
        house.all(&rows),
        [format!(
            "bypassed_gate error WAVE.md:8 `a` was stopped, and {} of its branch `wave/a` is in `main` since {}.",
            first.short(),
            merged.short()
        )]
    );
}

/// Whether each of these is an error that names the merge as none of git's, by the paths in it.
fn not_as_git(house: &House, row: [&str; 5], merged: &CommitId, paths: &str) {
    let says = format!("`a` came in with {}, which is not as git merges the two: {paths}.", merged.short());
    assert_eq!(house.all(&[row]), [format!("bypassed_gate error WAVE.md:8 {says}")]);
}

#[test]
fn a_merge_that_brings_more_or_less_than_was_handed_in_is_seen() {
    let house = House::new();
    let a = house.yard.work("a", "wave/a", &house.base);
    let lease = done(&a);
    let row = ["a", "w1", "wave/a", &lease, house.base.as_str()];
    // Something is put into the merge.
    let evil = house.yard.commit(&[&house.base, &a], &[("back", "door"), ("README.md", "more\n")]);
    house.yard.point("main", &evil);
    not_as_git(&house, row, &evil, "`README.md`, `back`");
    // A commit of its own that takes it out, and puts the rest right, is what mends it.
    let half = house.yard.raw(&[&evil], &[], &["back"]);
    house.yard.point("main", &half);
    not_as_git(&house, row, &evil, "`README.md`");
    house.yard.point("main", &house.yard.commit(&[&half], &[("README.md", "base\n")]));
    assert_eq!(house.all(&[row]), Vec::<String>::new());
    // `git merge -s ours` brings nothing.
    let names = files("a");
    let ours = house.yard.raw(&[&house.base, &a], &[], &names.each_ref().map(String::as_str));
    house.yard.point("main", &ours);
    not_as_git(&house, row, &ours, "`src/a.rs`, `tasks/a/SUMMARY.md`, `tasks/a/deltas.md`");
    // So does a merge into a branch that others were put together on, and the merge of that.
    let land = house.yard.commit(&[&house.base, &a], &[("back", "door")]);
    let main = house.yard.commit(&[&house.base], &[("other", "x")]);
    let merged = house.yard.commit(&[&main, &land], &[]);
    house.yard.point("main", &merged);
    not_as_git(&house, row, &merged, "`back`");
    let land = house.yard.commit(&[&house.base, &a], &[]);
    let merged = house.yard.commit(&[&main, &land], &[("second", "door")]);
    house.yard.point("main", &merged);
    not_as_git(&house, row, &merged, "`second`");
}

#[test]
fn an_honest_merge_is_no_finding_however_it_was_settled() {
    let house = House::new();
    let lines = |first: &str| format!("{first}\n{}", "a line that stays as it is\n".repeat(8));
    let shared = house.yard.commit(&[&house.base], &[("shared", &lines("base")), ("old/name", &lines("a file"))]);
    house.yard.point("main", &shared);
    let house = House { base: shared, ..house };
    let work = house.yard.work("a", "wave/a", &house.base);
    let a = house.yard.commit(&[&work], &[("shared", &lines("theirs")), ("old/name", &lines("a file of a"))]);
    house.yard.point("wave/a", &a);
    let lease = done(&a);
    let row = ["a", "w1", "wave/a", &lease, house.base.as_str()];
    // Main has changed the same line, and moved the other file; whoever merges settles the one, and git the other.
    let ours = [("shared", 0o100_644, lines("ours")), ("new/name", 0o100_644, lines("a file"))];
    let ours: Vec<(&str, u32, &str)> = ours.iter().map(|(path, mode, text)| (*path, *mode, text.as_str())).collect();
    let main = house.yard.raw(&[&house.base], &ours, &["old/name"]);
    let settled = [("shared", 0o100_644, lines("both")), ("new/name", 0o100_644, lines("a file of a"))];
    let settled: Vec<(&str, u32, &str)> =
        settled.iter().map(|(path, mode, text)| (*path, *mode, text.as_str())).collect();
    let merged = house.yard.raw(&[&main, &a], &settled, &["old/name"]);
    house.yard.point("main", &merged);
    assert_eq!(house.all(&[row]), Vec::<String>::new());
    // The ledger is its keeper's, who may write it with the merge.
    let kept = house.yard.commit(&[&house.base, &a], &[("WAVE.md", "as it is now\n")]);
    house.yard.point("main", &kept);
    assert_eq!(house.all(&[row]), Vec::<String>::new());
    // A fast-forward has nothing to be held against.
    house.yard.point("main", &a);
    assert_eq!(house.all(&[row]), Vec::<String>::new());
}

#[test]
fn a_file_that_went_along_with_its_folder_is_where_git_puts_it() {
    let house = House::new();
    let base = house.yard.commit(&[&house.base], &[("old/one", "one\n"), ("old/two", "two\n")]);
    let house = House { base, ..house };
    let work = house.yard.work("a", "wave/a", &house.base);
    let a = house.yard.commit(&[&work], &[("old/three", "three\n")]);
    house.yard.point("wave/a", &a);
    let main = house.yard.raw(
        &[&house.base],
        &[("new/one", 0o100_644, "one\n"), ("new/two", 0o100_644, "two\n")],
        &["old/one", "old/two"],
    );
    let at = |path: &str| {
        let files = [("new/one", 0o100_644, "one\n"), ("new/two", 0o100_644, "two\n"), (path, 0o100_644, "three\n")];
        let merged = house.yard.raw(&[&main, &a], &files, &["old/one", "old/two", "old/three"]);
        house.yard.point("main", &merged);
        let lease = done(&a);
        house.all(&[["a", "w1", "wave/a", &lease, house.base.as_str()]]).len()
    };
    assert_eq!((at("new/three"), at("new/four")), (0, 1));
}

#[test]
fn a_branch_without_a_commit_of_its_own_is_no_bypass() {
    let house = House::new();
    // The ledger is committed first, and a branch is made where main is then.
    let kept = house.yard.commit(&[&house.base], &[("WAVE.md", "x")]);
    house.yard.point("main", &kept);
    house.yard.point("wave/a", &kept);
    let row = ["a", "w1", "wave/a", HELD, house.base.as_str()];
    assert_eq!(house.all(&[row]), Vec::<String>::new());
    let echoed = house.look(&[["a", "w1", "wave/a", HELD, kept.as_str()]]);
    let [finding] = &echoed.findings()[..] else { panic!("{:?}", told(&echoed.findings())) };
    assert_eq!(finding.rule, "unverified_fork_base");
    assert!(finding.next.contains(&format!("git worktree add -b wave/a PATH {}", house.base)), "{}", finding.next);
    // Where somebody has worked there, nobody can tell whose it is: a fast-forward looks the same.
    let work = house.yard.commit(&[&kept], &[("src/a.rs", "x")]);
    house.yard.point("main", &work);
    house.yard.point("wave/a", &work);
    let [finding] = &house.look(&[row]).findings()[..] else { panic!("{:?}", house.all(&[row])) };
    assert!(finding.blocks() && finding.next.contains("git reset --hard"), "{}", finding.next);
}

#[test]
fn a_squash_is_told_as_one_and_so_is_a_target_that_is_behind() {
    let house = House::new();
    let a = house.yard.work("a", "wave/a", &house.base);
    let lease = done(&a);
    let row = ["a", "w1", "wave/a", &lease, house.base.as_str()];
    let texts: Vec<(String, Vec<u8>)> = files("a")
        .into_iter()
        .map(|path| (path.clone(), super::super::git::Git::file(&house.yard.reader(), &a, &path).unwrap().unwrap()))
        .collect();
    let texts: Vec<(&str, &str)> =
        texts.iter().map(|(path, bytes)| (path.as_str(), std::str::from_utf8(bytes).unwrap())).collect();
    let squashed = house.yard.commit(&[&house.base], &texts);
    house.yard.point("main", &squashed);
    let looked = house.look(&[row]);
    assert_eq!(
        told(&looked.findings()),
        [
            "gate_record_mismatch warning WAVE.md:8 All that `wave/a` changes is in `main` already, and its commits are not: a squash leaves no trace."
        ]
    );
    assert_eq!(looked.turns, [Turn::Next]);
    house.merge(&a);
    assert_eq!(house.all(&[row]), Vec::<String>::new(), "which is what was advised");
    // Origin has merged it, and nobody has fetched that into main.
    let there = house.main();
    house.yard.reference("refs/remotes/origin/main", &there);
    assert_eq!(house.all(&[row]), Vec::<String>::new());
    house.yard.point("main", &house.base);
    let looked = house.look(&[row]);
    assert_eq!(
        told(&looked.findings()),
        [format!(
            "gate_record_mismatch warning WAVE.md:2 `main` is at {} at `origin`, with commits that are not here: what is merged there does not show.",
            there.short()
        )]
    );
}
