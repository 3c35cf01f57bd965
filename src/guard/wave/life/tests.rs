use super::super::testing::{Yard, ledger, now, told};
use super::super::verdict::{Committed, Filed, judge};
use super::*;

fn hand(worker: &str, branch: &str) -> Hand {
    Hand { worker: worker.to_owned(), branch: branch.to_owned(), term: Term::parse("2h").unwrap(), pool: false }
}

fn id(digit: char) -> CommitId {
    CommitId::new(digit.to_string().repeat(40)).unwrap()
}

fn opened() -> Ledger {
    let hands = [
        ("dates".to_owned(), hand("w1", "wave/dates")),
        ("zones".to_owned(), Hand { pool: true, ..hand("w2", "wave/zones") }),
    ];
    open("parsers", &id('a'), &hands, "2026-03-01T11:00:00.5Z".parse().unwrap()).unwrap()
}

/// `rule says` of each.
fn refused(step: Step) -> Vec<String> {
    step.unwrap_err().iter().map(|finding| format!("{} {}", finding.rule, finding.says)).collect()
}

fn lease(ledger: &Ledger, task: &str) -> String {
    ledger.row(task).unwrap().lease.to_string()
}

#[test]
fn a_wave_is_opened_with_its_rows() {
    let a = "a".repeat(40);
    let text = format!(
        "wave: parsers status: live\nbase: {a}\n\n### Roster\n\n| task | worker | branch | lease | fork-base |\n|---|---|---|---|---|\n\
         | dates | w1 | wave/dates | 2h since 2026-03-01T11:00:00Z | pending |\n\
         | zones | w2 | wave/zones | 2h since 2026-03-01T11:00:00Z | step-0 pending |\n"
    );
    assert_eq!(opened().write(), text);
    assert_eq!((opened().rows[1].line, opened().base_line), (9, 2));
}

#[test]
fn what_could_not_be_read_again_is_not_opened() {
    let open = |name: &str, hands: &[(&str, &str, &str)]| {
        let hands: Vec<(String, Hand)> =
            hands.iter().map(|(task, worker, branch)| ((*task).to_owned(), hand(worker, branch))).collect();
        refused(open(name, &id('a'), &hands, now()))
    };
    assert_eq!(open("a b", &[("x y", "w 1", "a..b")]).len(), 4, "all at once");
    assert_eq!(open("w", &[]), ["CMD-05 The roster has no rows."]);
    assert_eq!(
        open("w", &[("a", "w1", "b1"), ("A", "w2", "b2")]),
        ["CMD-05 The task `A` is there twice, first on line 8."]
    );
    assert_eq!(
        open("w", &[("a", "w1", "b"), ("c", "w2", "b/c")]),
        ["CMD-05 Git can't have the branch `b/c` beside `b` of line 8."]
    );
    assert_eq!(already_open("WAVE.md").says, "`WAVE.md` is there already: one wave is open at a time.");
}

#[test]
fn only_what_nobody_holds_is_taken() {
    let ledger = opened();
    let take = |ledger: &Ledger, tip: Option<char>, at: &str| {
        take(ledger, "dates", &hand("w3", "wave/dates-2"), &id('a'), tip.map(id).as_ref(), at.parse().unwrap())
    };
    let during = "2026-03-01T12:59:59Z";
    assert_eq!(refused(take(&ledger, None, during)), ["CMD-03 `dates` is HELD: `2h since 2026-03-01T11:00:00Z`."]);
    // At its end the lease is over, and its worker taken for dead.
    let later = "2026-03-01T13:00:00Z";
    assert_eq!(
        refused(take(&ledger, Some('b'), later)),
        ["unverified_fork_base The branch `wave/dates-2` is there and stands at bbbbbbbbbbbb, not at the base."]
    );
    for tip in [None, Some('a')] {
        let taken = take(&ledger, tip, later).unwrap();
        let row = taken.row("dates").unwrap();
        assert_eq!((row.worker.as_ref().unwrap().as_str(), row.branch.as_str()), ("w3", "wave/dates-2"));
        assert_eq!(
            (row.lease.to_string().as_str(), &row.fork_base),
            ("2h since 2026-03-01T13:00:00Z", &Echo::Pending { pool: false })
        );
    }
    let twice = super::take(&ledger, "dates", &hand("w2", "wave/dates-2"), &id('a'), None, later.parse().unwrap());
    assert_eq!(refused(twice), ["CMD-05 The worker `w2` is there twice, first on line 8."]);
    let unknown = super::take(&ledger, "none", &hand("w3", "b"), &id('a'), None, now());
    assert_eq!(refused(unknown), ["CMD-05 The wave has no task `none`."]);
    for (cell, says) in [("done 0123456", "DONE"), ("stopped ESCALATE", "STOPPED")] {
        let text = ledger.write().replacen("2h since 2026-03-01T11:00:00Z", cell, 1);
        let ledger = super::super::ledger::read(text.as_bytes()).unwrap();
        assert_eq!(refused(take(&ledger, None, later)), [format!("CMD-03 `dates` is {says}: `{cell}`.")]);
    }
}

#[test]
fn a_slow_worker_holds_a_task_for_longer() {
    let ledger = opened();
    let later: Timestamp = "2026-03-01T14:00:00Z".parse().unwrap();
    let longer = extend(&ledger, "dates", Term::parse("1h").unwrap(), later).unwrap();
    let (before, after) = (ledger.row("dates").unwrap(), longer.row("dates").unwrap());
    assert_eq!(after.lease.to_string(), "1h since 2026-03-01T14:00:00Z");
    assert_eq!((&after.worker, &after.branch, &after.fork_base), (&before.worker, &before.branch, &before.fork_base));
    for (cell, says) in
        [("released", "is released"), ("done 0123456", "is handed in"), ("stopped ESCALATE", "is stopped")]
    {
        let text = ledger.write().replacen("2h since 2026-03-01T11:00:00Z", cell, 1);
        let ledger = super::super::ledger::read(text.as_bytes()).unwrap();
        let said = refused(extend(&ledger, "dates", Term::parse("1h").unwrap(), later));
        assert_eq!(said, [format!("CMD-03 `dates` {says}: nobody holds it.")]);
    }
    assert_eq!(
        refused(extend(&ledger, "none", Term::parse("1h").unwrap(), later)),
        ["CMD-05 The wave has no task `none`."]
    );
}

#[test]
fn an_echo_is_written_as_it_was_pasted() {
    let ledger = opened();
    let digits = "a".repeat(40);
    assert_eq!(echo(&ledger, "dates", &digits).unwrap().row("dates").unwrap().fork_base.to_string(), digits);
    let step = format!("step-0 {digits}");
    assert_eq!(echo(&ledger, "zones", &step).unwrap().row("zones").unwrap().fork_base.to_string(), step);
    assert_eq!(
        refused(echo(&ledger, "dates", "yes")),
        ["CMD-05 The fork-base is `yes`: a tick or a word is no evidence."]
    );
}

fn judged(outcome: &str, residue: &str) -> Judged {
    let text = super::super::testing::summary("dates", outcome, residue);
    let file = |path: &str, text: &str| Some(Committed { path: path.to_owned(), bytes: text.as_bytes().to_vec() });
    let filed = Filed {
        summary: file("SUMMARY.md", &text),
        deltas: file("deltas.md", "- one"),
        link: None,
        several: Vec::new(),
    };
    judge(&TaskId::parse("dates").unwrap(), "wave/dates", &filed)
}

#[test]
fn what_is_handed_in_is_done_stopped_or_refused() {
    let ledger = opened();
    let hand_in = |outcome: &str, residue: &str| {
        super::hand_in(&ledger, "dates", (&id('b'), None), &judged(outcome, residue), now())
    };
    for (outcome, residue, cell) in [
        ("PASS", "[]", format!("done {}", id('b'))),
        ("RISK-ACCEPTED", "['concurrency: x']", format!("done {}", id('b'))),
        ("HARD-STOP", "[]", "stopped HARD-STOP".to_owned()),
        ("ESCALATE", "[]", "stopped ESCALATE".to_owned()),
        ("PASS", "['security: x']", "stopped HARD-STOP".to_owned()),
        ("RISK-ACCEPTED", "['security: x']", "stopped HARD-STOP".to_owned()),
        ("PASS", "['architecture: x']", "stopped ESCALATE".to_owned()),
    ] {
        assert_eq!(lease(&hand_in(outcome, residue).unwrap(), "dates"), cell, "{outcome} {residue}");
    }
    assert_eq!(refused(hand_in("GREEN", "[]")), ["malformed_gate_record The outcome is `GREEN`."]);
    let foreign = Judged { findings: Vec::new(), ..Judged::default() };
    assert!(super::hand_in(&ledger, "dates", (&id('b'), None), &foreign, now()).is_err(), "no verdict is no PASS");
    let late = super::hand_in(
        &ledger,
        "dates",
        (&id('b'), None),
        &judged("PASS", "[]"),
        "2026-03-02T11:00:00Z".parse().unwrap(),
    );
    assert_eq!(refused(late), ["CMD-03 Nobody holds `dates`: `2h since 2026-03-01T11:00:00Z`."]);
}

#[test]
fn a_wave_goes_from_open_to_closed() {
    let yard = Yard::new();
    let base = yard.commit(&[], &[("a", "a")]);
    yard.point("main", &base);
    let tip = yard.work("dates", "wave/dates", &base);
    let done = format!("done {tip}");
    let rows = |first: &str, second: &str| {
        let rows =
            [["dates", "w1", "wave/dates", first, base.as_str()], ["zones", "w2", "wave/zones", second, "pending"]];
        yard.look(&ledger("live", &base, &rows)).unwrap()
    };
    let held = "2h since 2026-03-01T10:00:00Z";
    let looked = rows(&done, held);
    assert_eq!(
        told(&open_ends(&looked)),
        [
            "CMD-03 error WAVE.md:8 `dates` is handed in; the wave is still live.",
            "CMD-03 error WAVE.md:9 `zones` is held until 2026-03-01T12:00:00Z.",
        ]
    );
    assert_eq!(
        told(&open_ends(&rows("stopped ESCALATE", "released"))),
        ["CMD-03 error WAVE.md:9 `zones` is released: anyone may take it."]
    );
    // Released, then stopped, and nobody is named any more.
    let released = release(&looked, "zones").unwrap();
    assert_eq!(lease(&released, "zones"), "released");
    let again = yard.look(&released.write().replace("w2", "-")).unwrap();
    let stopped = stop(&again, "zones", Stop::Escalate).unwrap();
    assert_eq!(
        (lease(&stopped, "zones"), &stopped.row("zones").unwrap().worker),
        ("stopped ESCALATE".to_owned(), &None)
    );
    // What is in can be neither released nor stopped.
    let merged = yard.commit(&[&base, &tip], &[]);
    yard.point("main", &merged);
    let looked = yard.look(&merging(&yard.look(&stopped.write()).unwrap()).write()).unwrap();
    let says = format!("CMD-03 `dates` is merged with {}.", merged.short());
    assert_eq!(refused(release(&looked, "dates")), [says.as_str()]);
    assert_eq!(refused(stop(&looked, "dates", Stop::HardStop)), [says.as_str()]);
    assert_eq!(open_ends(&looked), Vec::new());
}
