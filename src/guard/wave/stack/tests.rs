use super::super::testing::{Yard, ledger, now, told};
use super::super::{Looked, Turn, judge_at};
use super::*;
use crate::ids::CommitId;

struct Two {
    yard: Yard,
    base: CommitId,
    dates: CommitId,
    zones: CommitId,
}

/// `zones` was built on the work of `dates`.
fn two() -> Two {
    let yard = Yard::new();
    let base = yard.commit(&[], &[("a", "a")]);
    yard.point("main", &base);
    let dates = yard.work("dates", "wave/dates", &base);
    let zones = yard.work("zones", "wave/zones", &dates);
    Two { yard, base, dates, zones }
}

impl Two {
    fn look(&self, order: [&str; 2], dates: &str) -> Looked {
        let done = format!("done {}", self.zones);
        let row = |task: &str| match task {
            "dates" => ["dates", "w1", "wave/dates", dates, self.base.as_str()].map(str::to_owned),
            _ => ["zones", "w2", "wave/zones", done.as_str(), self.base.as_str()].map(str::to_owned),
        };
        let rows = order.map(row);
        let rows: Vec<[&str; 5]> = rows.iter().map(|row| row.each_ref().map(String::as_str)).collect();
        self.yard.look(&ledger("merging", &self.base, &rows)).unwrap()
    }
}

const ON_STOPPED: &str = "`wave/zones` contains the work of the stopped row `dates`.";

#[test]
fn what_was_built_on_a_stop_is_not_merged() {
    let two = two();
    let looked = two.look(["dates", "zones"], "stopped HARD-STOP");
    assert_eq!(told(&looked.findings()), [format!("bypassed_gate error WAVE.md:9 {ON_STOPPED}")]);
    assert_eq!((looked.next(), &looked.turns[1]), (None, &Turn::Refused));
    // The stop itself is held up by nobody.
    assert!(matches!(looked.turns[0], Turn::Stopped { .. }));
    // A verdict that comes to a stop is one, also where the lease says that it is done.
    let bad = two.yard.work_with("dates", "wave/dates", &two.base, "PASS", "['security: x']");
    two.yard.work("zones", "wave/zones", &bad);
    let two =
        Two { dates: bad.clone(), zones: two.yard.reader().resolve("refs/heads/wave/zones").unwrap().unwrap(), ..two };
    let looked = two.look(["dates", "zones"], &format!("done {bad}"));
    assert!(told(&looked.findings()).iter().any(|one| one.ends_with(ON_STOPPED)), "{:?}", looked.findings());
}

#[test]
fn what_was_built_on_another_row_waits_for_it_and_brings_nothing_with_it() {
    let two = two();
    let done = format!("done {}", two.dates);
    // After it, all is well.
    let looked = two.look(["dates", "zones"], &done);
    assert_eq!((looked.findings(), looked.next().unwrap().task.as_str()), (Vec::new(), "dates"));
    // Before it, it would bring it.
    let says = "`wave/zones` contains the work of the row `dates`, which nobody has let in yet.";
    for lease in [done.as_str(), "2h since 2026-03-01T10:00:00Z"] {
        let looked = two.look(["zones", "dates"], lease);
        assert_eq!(told(&looked.findings()), [format!("bypassed_gate error WAVE.md:8 {says}")], "{lease}");
    }
    // So does what a dead worker left; what was released is nobody's.
    let looked = two.look(["dates", "zones"], "30m since 2026-03-01T10:00:00Z");
    assert_eq!(told(&looked.findings()), [format!("bypassed_gate error WAVE.md:9 {says}")]);
    assert_eq!(two.look(["dates", "zones"], "released").findings(), Vec::new());
    // While the wave is live, the rows may be put into another order, or be handed in.
    let live = two.look(["zones", "dates"], &done).ledger.write().replace("status: merging", "status: live");
    let looked = two.yard.look(&live).unwrap();
    assert_eq!(looked.findings(), Vec::new());
    let asked = judge_at(Hold::AsAtMergeBack, "WAVE.md", looked.ledger, looked.facts, now());
    assert_eq!(asked.findings().len(), 1);
}

#[test]
fn who_was_built_on_is_innocent_and_a_part_is_told() {
    let two = two();
    // `zones` was stopped, and is built on `dates`.
    let rows = [
        ["dates", "w1", "wave/dates", &format!("done {}", two.dates), two.base.as_str()],
        ["zones", "w2", "wave/zones", "stopped HARD-STOP", "pending"],
    ];
    let looked = two.yard.look(&ledger("merging", &two.base, &rows)).unwrap();
    assert_eq!((told(&looked.findings()), looked.next().unwrap().task.as_str()), (Vec::new(), "dates"));
    // Both go on from a commit in the middle.
    let middle = two.yard.commit(&[&two.base], &[("src/middle", "x")]);
    two.yard.work("dates", "wave/dates", &middle);
    let zones = two.yard.work("zones", "wave/zones", &middle);
    let two = Two { zones, ..two };
    assert_eq!(
        told(&two.look(["dates", "zones"], "stopped HARD-STOP").findings()),
        ["bypassed_gate warning WAVE.md:9 `wave/zones` has commits that the stopped row `dates` has too."]
    );
}

#[test]
fn what_was_stopped_is_remembered_when_its_task_goes_to_another() {
    let two = two();
    let rows = [
        ["dates", "-", "wave/new", "released", "pending"],
        ["zones", "w2", "wave/zones", &format!("done {}", two.zones), two.base.as_str()],
    ];
    let text = ledger("merging", &two.base, &rows);
    let noted = text.replace("\n\n###", &format!("\nstopped: dates {}\n\n###", two.dates));
    assert_eq!(told(&two.yard.look(&text).unwrap().findings()), Vec::<String>::new());
    assert_eq!(
        told(&two.yard.look(&noted).unwrap().findings()),
        [format!("bypassed_gate error WAVE.md:10 {ON_STOPPED}")]
    );
}
