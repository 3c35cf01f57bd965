//! Waves on real repositories, as whoever hands out the work meets them.

use super::testing::{Yard, ledger, now, summary, told};
use super::verify::Hold;
use super::{Looked, Status, Turn, judge_at};
use crate::finding::Finding;
use crate::ids::CommitId;

const HELD: &str = "2h since 2026-03-01T10:00:00Z";
const DEAD: &str = "30m since 2026-03-01T10:00:00Z";

/// A history of `main` with three commits: an old one, the base, and one that came later.
struct House {
    yard: Yard,
    old: CommitId,
    base: CommitId,
}

impl House {
    fn new() -> Self {
        let yard = Yard::new();
        let old = yard.commit(&[], &[("README.md", "old\n")]);
        let base = yard.commit(&[&old], &[("README.md", "base\n")]);
        yard.point("main", &base);
        Self { yard, old, base }
    }

    fn look(&self, status: &str, rows: &[[&str; 5]]) -> Looked {
        self.yard.look(&ledger(status, &self.base, rows)).unwrap()
    }

    /// Merges a branch into main, as merge-back does.
    fn merge(&self, tips: &[&CommitId]) -> CommitId {
        let main = self.yard.reader().resolve("refs/heads/main").unwrap().unwrap();
        let parents: Vec<&CommitId> = [&main].into_iter().chain(tips.iter().copied()).collect();
        let merged = self.yard.commit(&parents, &[]);
        self.yard.point("main", &merged);
        merged
    }
}

fn all(looked: &Looked) -> Vec<String> {
    told(&looked.findings())
}

fn errors(findings: &[Finding]) -> Vec<String> {
    told(&findings.iter().filter(|finding| finding.blocks()).cloned().collect::<Vec<_>>())
}

fn done(tip: &CommitId) -> String {
    format!("done {tip}")
}

#[test]
fn a_fresh_worktree_is_proved_before_its_worker_starts() {
    let house = House::new();
    house.yard.point("wave/dates", &house.base);
    let row = |echo| ["dates", "w1", "wave/dates", HELD, echo];
    assert_eq!(all(&house.look("live", &[row(house.base.as_str())])), Vec::<String>::new());
    assert_eq!(
        all(&house.look("live", &[row("pending")])),
        ["fork_base_pending warning WAVE.md:8 The fork-base of `dates` is pending."]
    );
    assert_eq!(
        all(&house.look("merging", &[row("pending")])),
        ["unverified_fork_base error WAVE.md:8 The fork-base of `dates` is pending."]
    );
    for status in ["live", "merging"] {
        let missing = ["unverified_fork_base error WAVE.md:8 The fork-base of `dates` is missing."];
        assert_eq!(all(&house.look(status, &[row("")])), missing, "{status}");
    }
    let old = house.old.as_str();
    assert_eq!(
        all(&house.look("live", &[row(old)])),
        [format!(
            "unverified_fork_base error WAVE.md:8 The fork-base of `dates` is `{old}`, and the base `{}`.",
            house.base
        )]
    );
}

#[test]
fn a_right_echo_beside_a_stale_fork_is_refused_and_says_where_it_forked() {
    let house = House::new();
    house.yard.work("dates", "wave/dates", &house.old);
    for status in ["live", "merging"] {
        let looked = house.look(status, &[["dates", "w1", "wave/dates", HELD, house.base.as_str()]]);
        let says = format!("`wave/dates` forked from `{}`, and not from the base `{}`.", house.old, house.base);
        assert_eq!(all(&looked), [format!("unverified_fork_base error WAVE.md:8 {says}")]);
    }
}

#[test]
fn a_worker_that_rebased_or_merged_the_base_is_honest() {
    let house = House::new();
    let stale = house.yard.commit(&[&house.old], &[("a", "a")]);
    let synced = house.yard.commit(&[&stale, &house.base], &[]);
    house.yard.work("merged", "wave/merged", &synced);
    house.yard.work("rebased", "wave/rebased", &house.base);
    // Main goes on, and a worker takes that in, too.
    let later = house.yard.commit(&[&house.base], &[("b", "b")]);
    house.yard.point("main", &later);
    let newer = house.yard.commit(&[&house.base, &later], &[]);
    house.yard.work("newer", "wave/newer", &newer);
    let echo = house.base.as_str();
    let rows = [
        ["merged", "w1", "wave/merged", HELD, echo],
        ["rebased", "w2", "wave/rebased", HELD, echo],
        ["newer", "w3", "wave/newer", HELD, echo],
    ];
    for status in ["live", "merging"] {
        assert_eq!(all(&house.look(status, &rows)), Vec::<String>::new());
    }
}

#[test]
fn a_rebase_onto_another_commit_than_the_base_is_seen() {
    let house = House::new();
    let later = house.yard.commit(&[&house.base], &[("b", "b")]);
    house.yard.point("main", &later);
    // On top of what came later it has the base; on top of what came before it has not.
    house.yard.work("dates", "wave/dates", &later);
    let row = ["dates", "w1", "wave/dates", HELD, house.base.as_str()];
    assert_eq!(all(&house.look("merging", &[row])), Vec::<String>::new());
    house.yard.work("dates", "wave/dates", &house.old);
    assert_eq!(errors(&house.look("merging", &[row]).findings()).len(), 1);
}

#[test]
fn a_pool_is_checked_at_the_merge_back_and_never_skipped() {
    let house = House::new();
    // The pool hands out an old commit.
    house.yard.point("wave/dates", &house.old);
    let echo = format!("step-0 {}", house.base);
    let row = |echo| ["dates", "w1", "wave/dates", HELD, echo];
    assert_eq!(all(&house.look("live", &[row(&echo)])), Vec::<String>::new(), "it shifts");
    let warned = house.look("live", &[row("step-0 pending")]);
    assert_eq!(all(&warned), ["fork_base_pending warning WAVE.md:8 The fork-base of `dates` is pending."]);
    assert!(warned.findings()[0].next.contains("step-0"), "{}", warned.findings()[0].next);
    // The worker never synced, and pasted what it should have been.
    let stale = house.yard.work("dates", "wave/dates", &house.old);
    let refused = [format!(
        "unverified_fork_base error WAVE.md:8 `wave/dates` forked from `{}`, and not from the base `{}`.",
        house.old, house.base
    )];
    assert_eq!(all(&house.look("merging", &[row(&echo)])), refused, "it never lifts");
    assert_eq!(
        all(&house.look("live", &[["dates", "w1", "wave/dates", &done(&stale), &echo]])),
        refused,
        "nor when it is done"
    );
    // One that did.
    house.yard.work("dates", "wave/dates", &house.base);
    assert_eq!(all(&house.look("merging", &[row(&echo)])), Vec::<String>::new());
    // An echo of before the first step.
    let early = format!("step-0 {}", house.old);
    assert_eq!(errors(&house.look("merging", &[row(&early)]).findings()).len(), 1);
}

#[test]
fn a_worker_does_not_write_the_ledger() {
    let house = House::new();
    let row =
        |tip: &CommitId| ["dates".to_owned(), "w1".into(), "wave/dates".into(), done(tip), house.base.to_string()];
    let look = |tip: &CommitId| all(&house.look("merging", &[row(tip).each_ref().map(String::as_str)]));
    let with = |files: &[(&str, &str)], on: &CommitId| {
        let first = house.yard.commit(&[on], files);
        house.yard.work("dates", "wave/dates", &first)
    };
    let refused = ["wave_ledger_malformed error WAVE.md:8 `wave/dates` changes WAVE.md, which no worker writes."];
    assert_eq!(look(&with(&[("WAVE.md", "another base\n")], &house.base)), refused);
    assert_eq!(look(&with(&[("tasks/WAVE.md", "a note\n")], &house.base)), Vec::<String>::new());
    // The ledger goes on where it is kept, and a worker takes that in.
    let kept = house.yard.commit(&[&house.base], &[("WAVE.md", "one\n")]);
    house.yard.point("main", &kept);
    let early = house.yard.commit(&[&house.base], &[("src/a.rs", "a\n")]);
    let synced = house.yard.commit(&[&early, &kept], &[]);
    assert_eq!(look(&with(&[], &synced)), Vec::<String>::new());
    // One that was handed in before is not compared with what came later.
    assert_eq!(look(&with(&[], &house.base)), Vec::<String>::new());
    assert_eq!(look(&with(&[("WAVE.md", "two\n")], &synced)), refused);
}

#[test]
fn before_the_merge_back_all_of_it_is_asked_for() {
    let house = House::new();
    house.yard.point("wave/dates", &house.old);
    let held = |echo: &str| {
        let looked = house.look("live", &[["dates", "w1", "wave/dates", HELD, echo]]);
        judge_at(Hold::AsAtMergeBack, "WAVE.md", looked.ledger, looked.facts, now())
    };
    let pending = ["unverified_fork_base error WAVE.md:8 The fork-base of `dates` is pending."];
    assert_eq!(all(&held("pending")), pending);
    assert_eq!(all(&held("step-0 pending")), pending);
    let synced = format!("step-0 {}", house.base);
    assert_eq!(errors(&held(&synced).findings()).len(), 1, "the worker has not merged the base");
    house.yard.point("wave/dates", &house.base);
    assert_eq!(all(&held(&synced)), Vec::<String>::new());
    assert_eq!(held(&synced).ledger.status, Status::Live, "its status stays");
    let released = house.look("live", &[["dates", "-", "wave/dates", "released", "pending"]]);
    let released = judge_at(Hold::AsAtMergeBack, "WAVE.md", released.ledger, released.facts, now());
    assert_eq!(all(&released), Vec::<String>::new(), "nobody is held up by it");
}

#[test]
fn what_is_not_there_proves_nothing() {
    let house = House::new();
    let echo = house.base.as_str();
    let row = ["dates", "w1", "wave/dates", HELD, echo];
    for status in ["live", "merging"] {
        assert_eq!(
            all(&house.look(status, &[row])),
            [
                "unverified_fork_base error WAVE.md:8 There is no branch `wave/dates` here, so its fork-base is not proved."
            ]
        );
    }
    // Its branch need not be there while its echo is pending.
    assert_eq!(errors(&house.look("live", &[["dates", "w1", "wave/dates", HELD, "pending"]]).findings()).len(), 0);

    house.yard.work("dates", "wave/dates", &house.base);
    let text = ledger("merging", &house.base, &[row]);
    let nowhere = text.replace(&format!("base: {}", house.base), "base: 0123456789");
    let found = all(&house.yard.look(&nowhere).unwrap());
    assert_eq!(
        found[0],
        "unverified_fork_base error WAVE.md:2 The base `0123456789` is no commit of this repository, or the beginning of several."
    );
    assert!(found.len() == 3, "the row is refused, too: {found:?}");

    // A base beside the target.
    let beside = house.yard.commit(&[&house.old], &[("x", "x")]);
    house.yard.work("dates", "wave/dates", &beside);
    let looked =
        house.yard.look(&ledger("merging", &beside, &[["dates", "w1", "wave/dates", HELD, beside.as_str()]])).unwrap();
    assert_eq!(
        all(&looked),
        [format!("unverified_fork_base error WAVE.md:2 The base `{beside}` is not in the history of `main`.")]
    );
}

#[test]
fn a_branch_that_is_called_like_the_base_is_not_the_base() {
    let house = House::new();
    let digits = &house.base.as_str()[..10];
    let evil = house.yard.work("evil", digits, &house.old);
    house.yard.work("dates", "wave/dates", &house.base);
    let text = ledger("merging", &house.base, &[["dates", "w1", "wave/dates", HELD, digits]]);
    let text = text.replace(house.base.as_str(), digits);
    let looked = house.yard.look(&text).unwrap();
    assert!(errors(&looked.findings())[0].contains("is no commit of this repository"), "{evil}: {:?}", all(&looked));
}

#[test]
fn history_without_a_common_beginning_and_crosswise_merges_are_refused() {
    let house = House::new();
    let orphan = house.yard.commit(&[], &[("o", "o")]);
    house.yard.work("orphan", "wave/orphan", &orphan);
    let one = house.yard.commit(&[&house.old], &[("1", "1")]);
    let two = house.yard.commit(&[&house.old], &[("2", "2")]);
    let cross = house.yard.commit(&[&one, &two], &[]);
    let other = house.yard.commit(&[&two, &one], &[]);
    house.yard.point("wave/cross", &other);
    house.yard.point("main", &cross);
    let base = cross.as_str();
    let rows = [["orphan", "w1", "wave/orphan", HELD, base], ["cross", "w2", "wave/cross", HELD, base]];
    let looked = house.yard.look(&ledger("merging", &cross, &rows)).unwrap();
    assert_eq!(
        all(&looked),
        [
            format!("unverified_fork_base error WAVE.md:8 `wave/orphan` shares no history with the base `{base}`."),
            format!(
                "unverified_fork_base error WAVE.md:9 `wave/cross` and the base `{base}` were merged into each other crosswise, so it has no one fork-base."
            ),
        ]
    );
}

#[test]
fn nobody_works_on_the_branch_that_all_goes_into() {
    let house = House::new();
    let looked = house.look("live", &[["dates", "w1", "main", HELD, house.base.as_str()]]);
    assert_eq!(
        all(&looked),
        ["unverified_fork_base error WAVE.md:8 The branch `main` is the one that everything is merged back into."]
    );
}

#[test]
fn a_dead_worker_holds_up_nobody_and_its_work_is_not_merged() {
    let house = House::new();
    house.yard.work("dates", "wave/dates", &house.old);
    let zones = house.yard.work("zones", "wave/zones", &house.base);
    let echo = house.base.as_str();
    let rows = [["dates", "w1", "wave/dates", DEAD, "pending"], ["zones", "w2", "wave/zones", &done(&zones), echo]];
    let looked = house.look("merging", &rows);
    assert_eq!(all(&looked), Vec::<String>::new());
    let ran_out = "2026-03-01T10:30:00Z".parse().ok();
    assert_eq!(looked.turns, [Turn::Ready { ran_out }, Turn::Next]);
    assert_eq!(looked.next().unwrap().task.as_str(), "zones");
    // The clock alone makes the difference.
    let alive = [["dates", "w1", "wave/dates", HELD, echo], ["zones", "w2", "wave/zones", &done(&zones), echo]];
    let looked = house.look("merging", &alive);
    assert_eq!(looked.turns[1], Turn::Waits { behind: looked.ledger.rows[0].task.clone() });
}

#[test]
fn merge_back_goes_in_the_rosters_order_one_at_a_time() {
    let house = House::new();
    let names = ["a", "b", "c"];
    let tips: Vec<CommitId> =
        names.iter().map(|task| house.yard.work(task, &format!("wave/{task}"), &house.base)).collect();
    let leases: Vec<String> = tips.iter().map(done).collect();
    let branches = ["wave/a", "wave/b", "wave/c"];
    let rows: Vec<[&str; 5]> = (0..3)
        .map(|nth| [names[nth], ["w1", "w2", "w3"][nth], branches[nth], &leases[nth], house.base.as_str()])
        .collect();
    let turns = |status: &str| house.look(status, &rows).turns.iter().map(Turn::words).collect::<Vec<_>>();
    let early = "is handed in; the wave is still live";
    assert_eq!(turns("live"), [early, early, early]);
    assert_eq!(turns("merging"), ["may be merged now", "waits for `a`", "waits for `a`"]);
    let one = house.merge(&[&tips[0]]);
    assert_eq!(turns("merging"), [&format!("merged with {}", one.short()), "may be merged now", "waits for `b`"]);
    house.merge(&[&tips[1]]);
    // A branch that is deleted behind its merge is merged still.
    house.yard.drop_branch("wave/a");
    assert_eq!(turns("merging")[2], "may be merged now");
    let three = house.merge(&[&tips[2]]);
    let looked = house.look("merging", &rows);
    assert_eq!((looked.next(), all(&looked)), (None, Vec::new()));
    assert_eq!(looked.turns[2], Turn::Merged { with: three });
    assert!(super::life::open_ends(&looked).is_empty());
}

#[test]
fn what_comes_in_while_the_wave_is_live_came_past_the_check() {
    let house = House::new();
    let a = house.yard.work("a", "wave/a", &house.base);
    let merged = house.merge(&[&a]);
    let lease = done(&a);
    let row = ["a", "w1", "wave/a", &lease, house.base.as_str()];
    let says = format!("bypassed_gate error WAVE.md:8 `a` came in with {} while the wave was live.", merged.short());
    assert_eq!(all(&house.look("live", &[row])), [says]);
    assert_eq!(all(&house.look("merging", &[row])), Vec::<String>::new());
    // Nor may what has no verdict come in.
    let bare = house.yard.commit(&[&house.base], &[("src/b", "b")]);
    house.yard.point("wave/b", &bare);
    let merged = house.merge(&[&bare]);
    let looked = house.look("merging", &[["b", "w2", "wave/b", &done(&bare), house.base.as_str()]]);
    let says =
        format!("bypassed_gate error WAVE.md:8 `b` came in with {}, and its verdict is refused.", merged.short());
    assert_eq!(all(&looked)[1..], [says]);
}

#[test]
fn what_nobody_handed_in_does_not_come_in_and_is_not_made_good_afterwards() {
    let house = House::new();
    let a = house.yard.work("a", "wave/a", &house.base);
    let held = ["a", "w1", "wave/a", HELD, house.base.as_str()];
    assert_eq!(all(&house.look("live", &[held])), Vec::<String>::new());
    let merged = house.merge(&[&a]);
    let (tip, with) = (a.short(), merged.short());
    let says = |why: &str| {
        vec![format!(
            "bypassed_gate error WAVE.md:8 `a` {why}, and its branch `wave/a` ({tip}) is in `main` since {with}."
        )]
    };
    for status in ["live", "merging"] {
        let looked = house.look(status, &[held]);
        assert_eq!(all(&looked), says("was not handed in yet"), "{status}");
        let refused = super::life::release(&looked, "a").unwrap_err();
        assert_eq!(refused[0].rule, "bypassed_gate");
        let as_if = house.look(status, &[["a", "w1", "wave/a", &done(&a), house.base.as_str()]]);
        let handed = super::life::hand_in(&looked.ledger, "a", (&a, as_if.facts.rows.first()), &as_if.judged[0], now());
        assert_eq!(handed.unwrap_err()[0].rule, "bypassed_gate");
    }
    let late = ["a", "w1", "wave/a", "2h since 2026-01-01T10:00:00Z", house.base.as_str()];
    assert_eq!(all(&house.look("merging", &[late])), says("was never handed in"));
    // Once it is stopped, a person decides, and may release it.
    let stopped = house.look("merging", &[["a", "w1", "wave/a", "stopped ESCALATE", "pending"]]);
    assert!(super::life::release(&stopped, "a").is_ok());
    // A worker that has not begun stands at the base, which is in everything.
    house.yard.point("wave/b", &house.base);
    let fresh = ["b", "w2", "wave/b", HELD, house.base.as_str()];
    assert_eq!(all(&house.look("merging", &[fresh])), Vec::<String>::new());
}

#[test]
fn a_history_that_is_cut_proves_nothing() {
    let house = House::new();
    let stale = house.yard.commit(&[&house.old], &[("a", "a")]);
    house.yard.work("a", "wave/a", &stale);
    let row = ["a", "w1", "wave/a", HELD, house.base.as_str()];
    assert!(all(&house.look("merging", &[row]))[0].contains("forked from"));
    house.yard.cut(&stale);
    let found = all(&house.look("merging", &[row]));
    let cut = "unverified_fork_base error WAVE.md:8 Where `wave/a` forked can't be told: the history is cut";
    assert!(found[0].starts_with(cut), "{found:?}");
    // Where it is cut behind the base, nothing is in doubt.
    house.yard.work("b", "wave/b", &house.base);
    house.yard.cut(&house.base);
    assert_eq!(all(&house.look("merging", &[["b", "w2", "wave/b", HELD, house.base.as_str()]])), Vec::<String>::new());
}

#[test]
fn two_at_once_are_refused_and_another_order_is_told() {
    let house = House::new();
    let a = house.yard.work("a", "wave/a", &house.base);
    let b = house.yard.work("b", "wave/b", &house.base);
    let rows =
        [["a", "w1", "wave/a", &done(&a), house.base.as_str()], ["b", "w2", "wave/b", &done(&b), house.base.as_str()]];
    let octopus = house.merge(&[&a, &b]);
    assert_eq!(
        all(&house.look("merging", &rows)),
        [format!("bypassed_gate error WAVE.md:9 `b` came in with the same commit, {}, as `a`.", octopus.short())]
    );
    house.yard.point("main", &house.base);
    let swapped = ["bypassed_gate warning WAVE.md:9 `b` came in before `a`, which the roster has first."];
    house.merge(&[&b]);
    assert_eq!(all(&house.look("merging", &rows)), swapped, "it is told before the other one comes in, too");
    house.merge(&[&a]);
    assert_eq!(all(&house.look("merging", &rows)), swapped);
}

#[test]
fn a_stop_blocks_only_itself_and_nothing_of_it_comes_in() {
    let house = House::new();
    let a = house.yard.work_with("a", "wave/a", &house.base, "HARD-STOP", "['security: a token in a log']");
    let b = house.yard.work("b", "wave/b", &house.base);
    let rows =
        [["a", "w1", "wave/a", "stopped HARD-STOP", "pending"], ["b", "w2", "wave/b", &done(&b), house.base.as_str()]];
    let looked = house.look("merging", &rows);
    assert_eq!((all(&looked), looked.next().unwrap().task.as_str()), (Vec::new(), "b"));
    let merged = house.merge(&[&a]);
    let says =
        format!("`a` was stopped, and its branch `wave/a` ({}) is in `main` since {}.", a.short(), merged.short());
    assert_eq!(all(&house.look("merging", &rows)), [format!("bypassed_gate error WAVE.md:8 {says}")]);
}

#[test]
fn a_push_after_it_was_handed_in_is_seen() {
    let house = House::new();
    let tip = house.yard.work("a", "wave/a", &house.base);
    let later = house.yard.commit(&[&tip], &[("late", "late")]);
    house.yard.point("wave/a", &later);
    let looked = house.look("merging", &[["a", "w1", "wave/a", &done(&tip), house.base.as_str()]]);
    assert_eq!(
        all(&looked),
        [format!("gate_record_mismatch error WAVE.md:8 `wave/a` was handed in at `{tip}` and is at `{later}` now.")]
    );
    assert_eq!(looked.turns, [Turn::Refused]);
    let nothing = house.look("merging", &[["a", "w1", "wave/a", "done 0123456789", house.base.as_str()]]);
    assert!(all(&nothing)[0].contains("What was handed in, `0123456789`, is no commit"), "{:?}", all(&nothing));
    assert_eq!(nothing.turns, [Turn::Refused]);
}

#[test]
fn a_verdict_is_read_from_the_branchs_own_commits() {
    let house = House::new();
    let look = |tip: &CommitId| {
        house.yard.point("wave/a", tip);
        all(&house.look("merging", &[["a", "w1", "wave/a", &done(tip), house.base.as_str()]]))
    };
    let bare = house.yard.commit(&[&house.base], &[("src/a", "a")]);
    assert_eq!(look(&bare), ["malformed_gate_record error WAVE.md:8 `wave/a` has no SUMMARY.md of its own committed."]);
    let pass = summary("a", "PASS", "[]");
    let alone = house.yard.commit(&[&house.base], &[("tasks/a/SUMMARY.md", &pass)]);
    assert_eq!(
        look(&alone),
        ["malformed_gate_record error tasks/a/SUMMARY.md `tasks/a/deltas.md` is not committed on `wave/a`."]
    );
    let root = house.yard.commit(&[&house.base], &[("SUMMARY.md", &pass), ("deltas.md", "- one\n")]);
    assert_eq!(look(&root), Vec::<String>::new(), "the only one will do, wherever it is");
    let other = summary("b", "PASS", "[]");
    let files = [("SUMMARY.md", other.as_str()), ("tasks/a/SUMMARY.md", &pass), ("tasks/a/deltas.md", "- one\n")];
    assert_eq!(
        look(&house.yard.commit(&[&house.base], &files)),
        Vec::<String>::new(),
        "of several, that in its folder"
    );
    let files = [("x/SUMMARY.md", other.as_str()), ("y/SUMMARY.md", &pass), ("y/deltas.md", "- one\n")];
    assert_eq!(
        look(&house.yard.commit(&[&house.base], &files)),
        ["malformed_gate_record error WAVE.md:8 `wave/a` has several summaries: `x/SUMMARY.md`, `y/SUMMARY.md`."]
    );
    let files = [("tasks/a/SUMMARY.md", other.as_str()), ("tasks/a/deltas.md", "- one\n")];
    assert_eq!(
        look(&house.yard.commit(&[&house.base], &files)),
        ["gate_record_mismatch error tasks/a/SUMMARY.md:6 The verdict is for the task `b`, and the row for `a`."]
    );
}

#[test]
fn a_summary_of_an_earlier_wave_is_not_this_workers() {
    let house = House::new();
    let earlier = house.yard.work("a", "wave/a", &house.base);
    house.yard.point("main", &earlier);
    let tip = house.yard.commit(&[&earlier], &[("src/new", "new")]);
    house.yard.point("wave/a", &tip);
    let text = ledger("merging", &earlier, &[["a", "w1", "wave/a", &done(&tip), earlier.as_str()]]);
    let looked = house.yard.look(&text).unwrap();
    assert_eq!(
        all(&looked),
        ["malformed_gate_record error WAVE.md:8 `wave/a` has no SUMMARY.md of its own committed."]
    );
}

#[test]
fn what_is_left_over_stops_a_row_that_says_it_passed() {
    let house = House::new();
    let cases = [
        ("PASS", "['security: a']", "residue_security", "HARD-STOP"),
        ("RISK-ACCEPTED", "['security: a']", "risk_accepted_security", "HARD-STOP"),
        ("PASS", "['concurrency: a']", "residue_concurrency", "ESCALATE"),
        ("PASS", "['architecture: a']", "residue_architecture", "ESCALATE"),
        ("HARD-STOP", "['security: a']", "gate_record_mismatch", "HARD-STOP"),
        ("ESCALATE", "[]", "gate_record_mismatch", "ESCALATE"),
    ];
    for (outcome, residue, rule, weighed) in cases {
        let tip = house.yard.work_with("a", "wave/a", &house.base, outcome, residue);
        let other = house.yard.work("b", "wave/b", &house.base);
        let rows = [
            ["a", "w1", "wave/a", &done(&tip), house.base.as_str()],
            ["b", "w2", "wave/b", &done(&other), house.base.as_str()],
        ];
        let looked = house.look("merging", &rows);
        let rules: Vec<String> = looked.findings().into_iter().map(|finding| finding.rule).collect();
        assert_eq!(rules, [rule], "{outcome} {residue}");
        assert_eq!(looked.turns[0].words(), format!("is stopped ({weighed}): a person has to decide"));
        assert_eq!(looked.turns[1], Turn::Next, "it blocks only itself");
    }
    // Merged all the same.
    let tip = house.yard.work_with("a", "wave/a", &house.base, "PASS", "['security: a']");
    house.merge(&[&tip]);
    let looked = house.look("merging", &[["a", "w1", "wave/a", &done(&tip), house.base.as_str()]]);
    let rules: Vec<String> = looked.findings().into_iter().map(|finding| finding.rule).collect();
    assert_eq!(rules, ["residue_security", "bypassed_gate"]);
    // Risks that are named may be accepted, but for security.
    let tip = house.yard.work_with("a", "wave/a", &house.base, "RISK-ACCEPTED", "['concurrency: a']");
    house.yard.point("main", &house.base);
    assert_eq!(house.look("merging", &[["a", "w1", "wave/a", &done(&tip), house.base.as_str()]]).turns, [Turn::Next]);
}

#[test]
fn the_digest_has_what_was_merged_in_the_order_in_which_it_came() {
    let house = House::new();
    let a = house.yard.work("a", "wave/a", &house.base);
    let b = house.yard.work_with("b", "wave/b", &house.base, "RISK-ACCEPTED", "['concurrency: two `writers` <b>']");
    house.yard.work_with("c", "wave/c", &house.base, "HARD-STOP", "['security: a token']");
    let (second, first) = (house.merge(&[&b]), house.merge(&[&a]));
    let rows = [
        ["a", "w1", "wave/a", &done(&a), house.base.as_str()],
        ["b", "w2", "wave/b", &done(&b), house.base.as_str()],
        ["c", "w3", "wave/c", "stopped HARD-STOP", "-"],
    ];
    let looked = house.look("merging", &rows);
    let digest = super::digest::Digest::of(&looked);
    let c = house.yard.reader().resolve("refs/heads/wave/c").unwrap().unwrap();
    let text = format!(
        "## Wave parsers\n\nbase: {}\n\nMerged into `main`, in this order:\n\n\
         1. `b` by `w2`: `wave/b` at {}, forked from {base}, RISK-ACCEPTED; it came in with {}.\n   - residue: `concurrency: two 'writers' <b>`\n   - delta: `one`\n\
         2. `a` by `w1`: `wave/a` at {}, forked from {base}, PASS; it came in with {}.\n   - delta: `one`\n\nNot merged:\n\n\
         - `c` by `w3`: `wave/c` at {}, forked from {base}, HARD-STOP; it is stopped (HARD-STOP): a person has to decide.\n   - residue: `security: a token`\n   - delta: `one`\n\n\
         What is told of it:\n\n- bypassed_gate: `b` came in before `a`, which the roster has first.\n",
        house.base,
        b.short(),
        second.short(),
        a.short(),
        first.short(),
        c.short(),
        base = house.base.short(),
    );
    assert_eq!(digest.text(), text);
    assert_eq!(
        digest.merged.iter().map(|line| line.fork_base.as_str()).collect::<Vec<_>>(),
        [house.base.as_str(), house.base.as_str()]
    );
    assert_eq!(digest.merged.iter().map(|line| line.task.as_str()).collect::<Vec<_>>(), ["b", "a"]);
}

#[test]
fn the_digest_never_says_not_merged_of_what_is_in() {
    let house = House::new();
    let a = house.yard.work_with("a", "wave/a", &house.base, "HARD-STOP", "['security: a token']");
    house.yard.work_with("b", "wave/b", &house.base, "HARD-STOP", "[]");
    let merged = house.merge(&[&a]);
    let rows = [["a", "w1", "wave/a", "stopped HARD-STOP", "-"], ["b", "w2", "wave/b", "stopped HARD-STOP", "pending"]];
    let looked = house.look("merging", &rows);
    let mut digest = super::digest::Digest::of(&looked);
    digest.despite = Some("We live\nwith it.".to_owned());
    let text = digest.text();
    let (past, left) = text.split_once("\nNot merged:\n").unwrap();
    let came = format!("is stopped (HARD-STOP): a person has to decide; it came in with {}.", merged.short());
    assert!(past.contains("In it all the same:\n\n- `a` by `w1`") && past.contains(&came), "{past}");
    assert!(left.contains("- `b` by `w2`") && !left.contains("- `a` by"), "{left}");
    let against = left.split_once("What stood against it:\n\n").unwrap().1;
    assert!(against.starts_with("- bypassed_gate: `a` was stopped, and its branch"), "{against}");
    assert!(text.ends_with("\nClosed despite that: `We live with it.`\n"), "{text}");
    // Nor of a row that nobody holds any more.
    let released = house.look("merging", &[["a", "-", "wave/a", "released", "pending"]]);
    let digest = super::digest::Digest::of(&released);
    assert_eq!((digest.past.len(), digest.left.len(), digest.against.len()), (1, 0, 0));
}

#[test]
fn what_was_stopped_and_released_does_not_come_in() {
    let house = House::new();
    let a = house.yard.work_with("a", "wave/a", &house.base, "HARD-STOP", "['security: a token in a log']");
    let b = house.yard.work("b", "wave/b", &house.base);
    let held = house.look("merging", &[["a", "w1", "wave/a", HELD, house.base.as_str()]]);
    let as_if = house.look("merging", &[["a", "w1", "wave/a", &done(&a), house.base.as_str()]]);
    let handed = super::life::hand_in(&held.ledger, "a", (&a, as_if.facts.rows.first()), &as_if.judged[0], now());
    let stopped = house.yard.look(&handed.unwrap().write()).unwrap();
    let released = super::life::release(&stopped, "a").unwrap();
    let text = released.write();
    assert!(text.contains(&format!("\nstopped: a {a}\n")), "{text}");
    // Somebody else works on it, and that comes in.
    assert_eq!(all(&house.yard.look(&text).unwrap()), Vec::<String>::new());
    let again = text.replace("wave/a | released | pending", &format!("wave/b | {} | {}", done(&b), house.base));
    let again = again.replace("| a |", "| b |").replace("stopped: a", "stopped: b");
    house.merge(&[&b]);
    assert_eq!(all(&house.yard.look(&again).unwrap()), Vec::<String>::new());
    // What was stopped does not.
    let merged = house.merge(&[&a]);
    let looked = house.yard.look(&text).unwrap();
    assert_eq!(
        all(&looked),
        [format!(
            "bypassed_gate error WAVE.md:3 Work of `a` that was stopped ({}) is in `main` since {}.",
            a.short(),
            merged.short()
        )]
    );
    // Nor when its branch is gone, or its task is another's.
    house.yard.drop_branch("wave/a");
    assert_eq!(all(&house.yard.look(&text).unwrap()).len(), 1);
    // The row itself tells it as long as it is stopped.
    house.yard.point("wave/a", &a);
    assert_eq!(all(&house.yard.look(&stopped.ledger.write()).unwrap()).len(), 1);
    // A dead worker's task was not stopped, and what was refused was.
    house.yard.point("main", &house.base);
    let dead = house.look("live", &[["a", "w1", "wave/a", DEAD, "pending"]]);
    let left = super::life::release(&dead, "a").unwrap();
    assert_eq!(left.notes.iter().map(|note| note.kind).collect::<Vec<_>>(), [super::NoteKind::Left]);
    let refused = house.look("merging", &[["a", "w1", "wave/a", &done(&a), house.base.as_str()]]);
    assert_eq!(super::life::release(&refused, "a").unwrap().notes.len(), 1);
    let passes = house.look("merging", &[["b", "w1", "wave/b", &done(&b), house.base.as_str()]]);
    assert!(super::life::release(&passes, "b").unwrap().notes.is_empty());
}

#[test]
fn what_came_in_while_the_wave_was_live_stays_told() {
    let house = House::new();
    let a = house.yard.work("a", "wave/a", &house.base);
    let merged = house.merge(&[&a]);
    let looked = house.look("live", &[["a", "w1", "wave/a", &done(&a), house.base.as_str()]]);
    let text = super::life::merging(&looked).write();
    assert!(text.contains(&format!("\nearly: a {merged}\n")), "{text}");
    let looked = house.yard.look(&text).unwrap();
    let says = format!("`a` came in with {} while the wave was live.", merged.short());
    assert_eq!(all(&looked), [format!("bypassed_gate warning WAVE.md:3 {says}")]);
    assert_eq!(super::digest::Digest::of(&looked).told, [format!("bypassed_gate: {says}")]);
    let begun = super::life::merging(&house.look("live", &[["a", "w1", "wave/a", &done(&a), house.base.as_str()]]));
    assert_eq!(begun.notes[0].line, 3, "it is told where it will stand");
    // Once it merges, nothing more is early.
    assert_eq!(super::life::merging(&looked).notes.len(), 1);
}

#[test]
fn merge_back_begins_although_something_stands_against_what_is_over() {
    let house = House::new();
    let a = house.yard.work("a", "wave/a", &house.base);
    let b = house.yard.work("b", "wave/b", &house.base);
    house.merge(&[&a]);
    let begins = |lease: &str| {
        let rows = [["a", "w1", "wave/a", lease, "pending"], ["b", "w2", "wave/b", &done(&b), house.base.as_str()]];
        let looked = house.look("merging", &rows);
        (!super::life::against_merging(&looked, now()), looked.next().map(|row| row.task.to_string()))
    };
    assert_eq!(begins(HELD), (false, None), "somebody works on it still");
    assert_eq!(begins("stopped ESCALATE"), (true, Some("b".to_owned())), "a person has to decide");
    assert_eq!(begins(DEAD), (true, Some("b".to_owned())));
}

#[test]
fn a_lease_has_an_end_that_nobody_puts_off_for_ever() {
    let house = House::new();
    house.yard.point("wave/a", &house.base);
    let look = |lease: &str| all(&house.look("live", &[["a", "w1", "wave/a", lease, house.base.as_str()]]));
    assert_eq!(
        look("until 2026-03-09T11:00:00Z"),
        [
            "wave_ledger_malformed error WAVE.md:8 The lease of `a` ends at 2026-03-09T11:00:00Z, more than 7 days from now."
        ]
    );
    assert_eq!(look("until 2026-03-08T11:00:00Z"), Vec::<String>::new());
    assert_eq!(
        look("2h since 2026-03-01T12:00:00Z"),
        ["wave_ledger_malformed error WAVE.md:8 The lease of `a` begins at 2026-03-01T12:00:00Z, which is to come."]
    );
    assert_eq!(look("2h since 2026-03-01T11:04:00Z"), Vec::<String>::new(), "clocks differ a little");
    assert_eq!(now().to_string(), "2026-03-01T11:00:00Z");
}

#[test]
fn what_a_dead_worker_left_is_not_handed_in_by_another() {
    let house = House::new();
    let a = house.yard.work("a", "wave/a", &house.base);
    let dead = house.look("live", &[["a", "w1", "wave/a", DEAD, house.base.as_str()]]);
    let hand = |worker: &str| super::life::Hand {
        worker: worker.to_owned(),
        branch: "wave/b".to_owned(),
        term: super::Term::parse("2h").unwrap(),
        pool: false,
    };
    let take = |worker: &str| {
        let taken = super::life::take(&dead.ledger, "a", &hand(worker), &house.base, None, now());
        super::life::leave(&dead, "a", taken.unwrap()).unwrap()
    };
    assert!(take("w1").notes.is_empty(), "the same worker goes on");
    let taken = take("w2").write();
    assert!(taken.contains(&format!("\nleft: a {a}\n")), "{taken}");
    // On the old commits under a new name.
    let more = house.yard.commit(&[&a], &[("src/more.rs", "x")]);
    house.yard.point("wave/b", &more);
    let row = |tip: &CommitId| {
        let held = taken.lines().last().unwrap().to_owned();
        taken.replace(&held, &format!("| a | w2 | wave/b | {} | {} |", done(tip), house.base))
    };
    let says = format!(
        "unverified_fork_base error WAVE.md:9 `wave/b` contains {}, which a worker left of `a` who did not hold it any more.",
        a.short()
    );
    assert_eq!(all(&house.yard.look(&row(&more)).unwrap()), [says]);
    // Anew, all is well; and what was left does not come in by itself either.
    let again = house.yard.work("a", "wave/b", &house.base);
    assert_eq!(all(&house.yard.look(&row(&again)).unwrap()), Vec::<String>::new());
    let merged = house.merge(&[&a]);
    let told = all(&house.yard.look(&row(&again)).unwrap());
    let says = format!(
        "bypassed_gate error WAVE.md:3 What a worker left of `a` ({}), who did not hold it any more, is in `main` since {}.",
        a.short(),
        merged.short()
    );
    assert!(told.contains(&says), "{told:?}");
}

#[test]
fn a_row_that_contains_a_later_one_changes_places_with_it() {
    let house = House::new();
    let d = house.yard.work("d", "wave/d", &house.base);
    let z = house.yard.work("z", "wave/z", &d);
    let (one, two) = (done(&z), done(&d));
    let rows = [["z", "w1", "wave/z", &one, house.base.as_str()], ["d", "w2", "wave/d", &two, house.base.as_str()]];
    let looked = house.look("live", &rows);
    let asked = judge_at(Hold::AsAtMergeBack, "WAVE.md", looked.ledger, looked.facts, now());
    let [finding] = &asked.findings()[..] else { panic!("{:?}", all(&asked)) };
    assert!(finding.next.starts_with("Swap the two rows"), "{}", finding.next);
    assert_eq!(all(&house.look("merging", &[rows[1], rows[0]])), Vec::<String>::new(), "which is enough");
    let merging = house.look("merging", &rows);
    assert!(merging.findings()[0].next.contains("release this row"), "{}", merging.findings()[0].next);
}

#[test]
fn what_origin_has_is_named_where_a_report_is_missing_and_a_link_is_none() {
    let house = House::new();
    let half = house.yard.commit(&[&house.base], &[("src/a.rs", "x")]);
    house.yard.point("wave/a", &half);
    let whole = house.yard.work("a", "wave/there", &half);
    house.yard.reference("refs/remotes/origin/wave/a", &whole);
    let (lease, echo) = (done(&half), house.base.as_str());
    let looked = house.look("merging", &[["a", "w1", "wave/a", &lease, echo]]);
    let missing = looked.findings().into_iter().find(|one| one.rule == "malformed_gate_record").unwrap();
    assert!(missing.next.contains("git merge --ff-only origin/wave/a"), "{}", missing.next);
    let link = house.yard.raw(
        &[&house.base],
        &[("a/SUMMARY.md", 0o120_000, "../report.md"), ("a/deltas.md", 0o100_644, "None.")],
        &[],
    );
    house.yard.point("wave/l", &link);
    let looked = house.look("merging", &[["l", "w1", "wave/l", &done(&link), echo]]);
    assert!(all(&looked)[0].ends_with("`a/SUMMARY.md` on `wave/l` is a link, or no plain file."), "{:?}", all(&looked));
}

#[test]
fn behind_the_end_of_a_history_nothing_is_told() {
    let house = House::new();
    let a = house.yard.work("a", "wave/a", &house.base);
    house.merge(&[&a]);
    let text = ledger("merging", &house.base, &[["a", "w1", "wave/a", &done(&a), house.base.as_str()]]);
    assert!(!house.yard.look(&text).unwrap().facts.is_cut());
    house.yard.cut(&a);
    let looked = house.yard.look(&text.replace(house.base.as_str(), &"0".repeat(40))).unwrap();
    assert!(looked.facts.is_cut());
    let told = all(&looked);
    assert!(
        told.iter().all(|one| !one.contains("is no commit of this repository") && !one.contains("has no SUMMARY.md")),
        "{told:?}"
    );
    assert!(told.iter().any(|one| one.contains("`fetch-depth: 0`")), "{told:?}");
}
