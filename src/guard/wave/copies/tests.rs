//! Stopped work that comes back under other commits, and honest work beside it.

use super::super::digest::Digest;
use super::super::testing::{Yard, ledger, summary, told};
use super::super::verdict::Outcome;
use super::super::{Looked, Turn};
use crate::ids::CommitId;

const HELD: &str = "2h since 2026-03-01T10:00:00Z";
const LEAK: &str = "['security: a token in a log']";

/// `dates` was stopped for a finding of security, in two files.
struct House {
    yard: Yard,
    base: CommitId,
    stopped: CommitId,
}

const CODE: [(&str, &str); 2] = [("src/dates.rs", "log(token)\n"), ("src/util.rs", "fn util() {}\n")];

/// Long enough to be known under another name.
const LONG: [&str; 2] = [
    "pub fn of(token: &str) -> Day {\n    log(token);\n    parse(token).unwrap_or_default()\n}\n",
    "pub fn days(from: Day, to: Day) -> usize {\n    from.until(to).filter(Day::is_work).count()\n}\n",
];

impl House {
    fn new() -> Self {
        let yard = Yard::new();
        let base = yard.commit(&[], &[("README.md", "base\n")]);
        yard.point("main", &base);
        let mut house = Self { stopped: base.clone(), yard, base };
        house.stopped = house.work("wave/dates", &house.base, &CODE, "PASS", LEAK);
        house
    }

    /// Work with its verdict, in one commit.
    fn work(&self, branch: &str, on: &CommitId, code: &[(&str, &str)], outcome: &str, residue: &str) -> CommitId {
        let said = summary("dates", outcome, residue);
        let verdict = [("dates/SUMMARY.md", said.as_str()), ("dates/deltas.md", "- one\n")];
        let tip = self.yard.commit(&[on], &[code, &verdict].concat());
        self.yard.point(branch, &tip);
        tip
    }

    fn main(&self) -> CommitId {
        self.yard.reader().resolve("refs/heads/main").unwrap().unwrap()
    }

    fn merge(&self, tip: &CommitId) -> CommitId {
        let merged = self.yard.commit(&[&self.main(), tip], &[]);
        self.yard.point("main", &merged);
        merged
    }

    fn look(&self, rows: &[[&str; 5]]) -> Looked {
        let text = ledger("merging", &self.base, rows);
        self.yard.look(&text.replace("\n\n###", &format!("\nstopped: dates {}\n\n###", self.stopped))).unwrap()
    }

    /// The task was released, taken by another, and handed in at this commit.
    fn anew(&self, tip: &CommitId) -> Looked {
        self.look(&[["dates", "w2", "wave/dates-2", &format!("done {tip}"), self.base.as_str()]])
    }
}

#[test]
fn an_amended_verdict_makes_no_other_work_of_it() {
    let house = House::new();
    let again = house.work("wave/dates-2", &house.base, &CODE, "PASS", "[]");
    let looked = house.anew(&again);
    let says = format!(
        "`wave/dates-2` contains the work of the stopped row `dates` under other commits (`src/dates.rs`, `src/util.rs` as at {})",
        house.stopped.short()
    );
    assert_eq!(told(&looked.findings()), [format!("bypassed_gate error WAVE.md:9 {says}.")]);
    assert_eq!(looked.turns, [Turn::Refused]);
    // Nor do other commits around it, another mode, or more files.
    let first = house.yard.commit(&[&house.base], &CODE[1..]);
    let other =
        house.yard.raw(&[&first], &[("src/dates.rs", 0o100_755, CODE[0].1), ("src/more.rs", 0o100_644, "x")], &[]);
    let again = house.work("wave/dates-2", &other, &[], "PASS", "[]");
    assert_eq!(told(&house.anew(&again).findings()), [format!("bypassed_gate error WAVE.md:9 {says}.")]);
    let merged = house.merge(&again);
    assert_eq!(
        told(&house.anew(&again).findings()),
        [format!("bypassed_gate error WAVE.md:9 {says}, and came in with {}.", merged.short())]
    );
    // Out again, it is told no more.
    let gone = ["src/dates.rs", "src/util.rs", "src/more.rs", "dates/SUMMARY.md", "dates/deltas.md"];
    house.yard.point("main", &house.yard.raw(&[&merged], &[], &gone));
    assert!(told(&house.anew(&again).findings()).iter().all(|one| !one.contains("under other commits")));
}

#[test]
fn another_name_makes_no_other_work_of_it() {
    let house = House::new();
    let long = [("src/dates.rs", LONG[0]), ("src/util.rs", LONG[1])];
    let stopped = house.work("wave/dates", &house.base, &long, "PASS", LEAK);
    let house = House { stopped, ..house };
    let moved = [("src/days.rs", LONG[0]), ("lib/util.rs", LONG[1])];
    let again = house.work("wave/dates-2", &house.base, &moved, "PASS", "[]");
    let says = format!(
        "`wave/dates-2` contains the work of the stopped row `dates` under other commits (`src/dates.rs, now src/days.rs`, `src/util.rs, now lib/util.rs` as at {}).",
        house.stopped.short()
    );
    assert_eq!(told(&house.anew(&again).findings()), [format!("bypassed_gate error WAVE.md:9 {says}")]);
    // The same picked into the target, one file with its name and one with another.
    let rows = [["dates", "w1", "wave/dates", "stopped HARD-STOP", "pending"]];
    let picked = house.yard.commit(&[&house.main()], &[long[0], moved[1]]);
    house.yard.point("main", &picked);
    let says = format!(
        "bypassed_gate error WAVE.md:9 Work of `dates` that was stopped ({}) is in `main` since {} under other commits: `src/dates.rs`, `src/util.rs, now lib/util.rs`.",
        house.stopped.short(),
        picked.short()
    );
    assert_eq!(told(&house.look(&rows).findings()), [says]);
}

#[test]
fn one_file_under_another_name_may_be_nobodys() {
    let house = House::new();
    let stopped = house.work("wave/dates", &house.base, &[("src/dates.rs", LONG[0])], "PASS", LEAK);
    let house = House { stopped, ..house };
    let again = house.work("wave/dates-2", &house.base, &[("src/days.rs", LONG[0])], "PASS", "[]");
    let looked = house.anew(&again);
    assert_eq!(
        told(&looked.findings()),
        [format!(
            "bypassed_gate warning WAVE.md:9 `wave/dates-2` has files as the stopped work of `dates` had them at {}: `src/dates.rs, now src/days.rs`.",
            house.stopped.short()
        )]
    );
    assert_eq!(looked.turns, [Turn::Next]);
}

#[test]
fn what_is_picked_into_the_target_is_seen() {
    let house = House::new();
    let rows = [["dates", "w1", "wave/dates", "stopped HARD-STOP", "pending"]];
    assert_eq!(told(&house.look(&rows).findings()), Vec::<String>::new());
    let picked = house.yard.commit(&[&house.main()], &CODE);
    house.yard.point("main", &picked);
    let says = format!(
        "bypassed_gate error WAVE.md:9 Work of `dates` that was stopped ({}) is in `main` since {} under other commits: `src/dates.rs`, `src/util.rs`.",
        house.stopped.short(),
        picked.short()
    );
    assert_eq!(told(&house.look(&rows).findings()), std::slice::from_ref(&says));
    // Whoever has the task, and wherever the branch is.
    house.yard.drop_branch("wave/dates");
    assert_eq!(told(&house.look(&rows).findings()), [says]);
    let released = house.look(&[["dates", "-", "wave/dates", "released", "pending"]]);
    assert_eq!(released.findings().len(), 1);
}

#[test]
fn honest_work_on_the_same_task_comes_in() {
    // Written anew, with the same lessons, and an empty file as everybody has them.
    let house = House::new();
    let anew = [("src/dates.rs", "log(\"***\")\n"), ("src/tools.rs", "fn util() {}\n"), ("src/__init__.py", "")];
    let again = house.work("wave/dates-2", &house.base, &anew, "PASS", "[]");
    assert_eq!(told(&house.anew(&again).findings()), Vec::<String>::new());
    // What was sound of it may be kept: that is told, and stops nobody.
    let kept = [("src/dates.rs", "log(\"***\")\n"), CODE[1]];
    let again = house.work("wave/dates-2", &house.base, &kept, "PASS", "[]");
    let looked = house.anew(&again);
    assert_eq!(
        told(&looked.findings()),
        [format!(
            "bypassed_gate warning WAVE.md:9 `wave/dates-2` has files as the stopped work of `dates` had them at {}: `src/util.rs`.",
            house.stopped.short()
        )]
    );
    assert_eq!(looked.turns, [Turn::Next]);
    house.merge(&again);
    assert!(house.anew(&again).findings().iter().all(|one| !one.blocks()));
}

#[test]
fn what_stopped_work_took_in_is_not_its_own() {
    let house = House::new();
    // It was built on another row's work, and merged what main had meanwhile.
    let zones = house.yard.work("zones", "wave/zones", &house.base);
    let later = house.yard.commit(&[&house.base], &[("src/later.rs", "later\n")]);
    house.yard.point("main", &later);
    let took = house.yard.commit(&[&zones, &later], &[]);
    let stopped = house.work("wave/dates", &took, &CODE[..1], "PASS", LEAK);
    let house = House { stopped, ..house };
    let rows = [
        ["zones", "w2", "wave/zones", &format!("done {zones}"), house.base.as_str()],
        ["dates", "w1", "wave/dates", "stopped HARD-STOP", "pending"],
    ];
    assert_eq!(told(&house.look(&rows).findings()), Vec::<String>::new());
    house.merge(&zones);
    assert_eq!(told(&house.look(&rows).findings()), Vec::<String>::new());
    // Without that it is one file, and that one is told.
    house.yard.point("main", &house.yard.commit(&[&house.main()], &CODE[..1]));
    assert_eq!(house.look(&rows).findings().len(), 1);
}

#[test]
fn the_digest_has_the_verdict_that_was_stopped_for() {
    let house = House::new();
    let leaking = house.stopped.clone();
    // The branch says otherwise since.
    house.work("wave/dates", &house.base, &[("src/dates.rs", "fine\n")], "PASS", "[]");
    let looked = house.look(&[["dates", "w1", "wave/dates", "stopped HARD-STOP", "pending"]]);
    let digest = Digest::of(&looked);
    assert_eq!(
        (digest.left[0].outcome, digest.left[0].residue.as_slice()),
        (Some(Outcome::HardStop), &["security: a token in a log".to_owned()][..])
    );
    let text = digest.text();
    assert!(text.contains(", HARD-STOP; it is stopped (HARD-STOP)") && !text.contains("PASS"), "{text}");
    // A verdict that a person did not follow is told as what was handed in.
    house.yard.drop_branch("wave/dates");
    let fine = house.work("wave/dates", &house.base, &[("src/dates.rs", "fine\n")], "PASS", "[]");
    let by_hand = House { stopped: fine, ..house };
    let looked = by_hand.look(&[["dates", "w1", "wave/dates", "stopped HARD-STOP", "pending"]]);
    let text = Digest::of(&looked).text();
    assert!(text.contains(", handed in as PASS; it is stopped (HARD-STOP)"), "{text}");
    let house = House { stopped: leaking, ..by_hand };
    // So it has once another holds the task.
    let held = Digest::of(&house.look(&[["dates", "w2", "wave/dates-2", HELD, "pending"]]));
    let told = format!(
        "\nStopped on the way:\n\n- `dates` at {}: HARD-STOP.\n   - residue: `security: a token in a log`\n   - delta: `one`\n",
        house.stopped.short()
    );
    assert!(held.text().contains(&told), "{}", held.text());
    assert_eq!(serde_json::to_value(&held).unwrap()["stopped"][0]["outcome"], "HARD-STOP");
}
