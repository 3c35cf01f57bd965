use std::collections::BTreeSet;

use jiff::civil::date;

use super::*;
use crate::engine::kit::*;
use crate::flow::Stage;
use crate::ids::Role;
use crate::ledger::record::Moment;
use crate::ledger::risk::Waiver;

/// A change that went through all of its gates.
fn merged() -> Game {
    let mut game = Game::pipeline();
    game.test_says("tests/lamp.rs", "it shines");
    game.described("least sure: the curve, because nobody measured it");
    game.through_verify();
    game.merged();
    game
}

fn rules(records: &[Record]) -> BTreeSet<String> {
    audit(records).expect("it is finished").into_iter().filter(Finding::blocks).map(|finding| finding.rule).collect()
}

/// The rules that an audit finds after somebody has altered a record that is so.
fn after(game: &Game, is: impl Fn(&Body) -> bool, alter: impl Fn(&mut Record)) -> BTreeSet<String> {
    let mut records = game.records.clone();
    let record = records.iter_mut().rev().find(|record| is(&record.body)).expect("there is such a record");
    alter(record);
    rules(&records)
}

fn one(rule: &str) -> BTreeSet<String> {
    BTreeSet::from([rule.to_owned()])
}

fn is_pass_of(gate: GateName) -> impl Fn(&Body) -> bool {
    move |body| matches!(body, Body::Judged { gate: judged, verdict: Verdict::Pass, .. } if *judged == gate)
}

#[test]
fn what_went_through_its_gates_is_fine_and_what_is_open_is_not_judged() {
    let mut game = merged();
    assert_eq!(rules(&game.records), BTreeSet::new());
    let mut open = Game::pipeline();
    open.through_verify();
    assert_eq!(audit(&open.records), None);
    // What comes after the merge is none of it.
    game.says("ada", Role::Write, "/status");
    assert_eq!(rules(&game.records), BTreeSet::new());
}

#[test]
fn a_merge_past_the_gate_is_told_with_what_stood_against_it() {
    let mut game = Game::pipeline();
    game.until_reviewing().merged();
    assert_eq!(rules(&game.records), one("bypassed_gate"));
    let found = audit(&game.records).expect("it is merged");
    assert!(found[0].says.contains("MRG-01"), "{found:?}");
}

#[test]
fn records_that_were_altered_do_not_fit() {
    let game = merged();
    let is_merge = is_pass_of(GateName::Merge);
    let failed = after(&game, &is_merge, |record| {
        if let Body::Judged { verdict, .. } = &mut record.body {
            *verdict = Verdict::Fail;
        }
    });
    assert_eq!(failed, one("gate_record_mismatch"));
    let against = after(&game, is_pass_of(GateName::Phase(Phase::Verify)), |record| {
        if let Body::Judged { findings, .. } = &mut record.body {
            findings.push(Finding::error("VER-01", "It is red.", "Mend it."));
        }
    });
    assert_eq!(against, one("gate_record_mismatch"));
    let unseen = after(&game, &is_merge, |record| {
        if let Body::Judged { evidence, .. } = &mut record.body {
            evidence.clear();
        }
    });
    assert_eq!(unseen, one("unstamped_freeze"));
    let weakened = after(&game, &is_merge, |record| {
        if let Body::Judged { evidence, findings, .. } = &mut record.body {
            evidence.clear();
            findings.push(Finding::warning("self_weakening", "It touches its own law.", "A person approves it."));
        }
    });
    assert_eq!(weakened, BTreeSet::from(["self_weakening".to_owned(), "unstamped_freeze".to_owned()]));
    let unknown = after(
        &game,
        |body| matches!(body, Body::Frozen { .. }),
        |record| {
            record.body = Body::Tampered { what: "nothing".to_owned(), told: None };
        },
    );
    assert!(unknown.contains("tripwire_missing"), "{unknown:?}");
}

/// A change with a risk that somebody has accepted before it was merged.
fn accepted(waiver: Waiver) -> BTreeSet<String> {
    let game = merged();
    let mut records = game.records.clone();
    let at = records.iter().position(|record| matches!(record.body, Body::Merged { .. })).expect("it is merged");
    let (mut risk, when) = (records[at - 1].clone(), records[at].at);
    let mia = By::Person { person: person("mia"), role: "maintain".to_owned() };
    (risk.by, risk.body) = (mia, Body::RiskAccepted { waiver, said: Moment { at: when, comment: 1 } });
    risk.about = records[..at].iter().rev().find_map(|record| record.about.clone());
    records.insert(at, risk);
    for (seq, record) in (1..).zip(&mut records) {
        record.seq = seq;
    }
    rules(&records)
}

#[test]
fn risks_are_held_against_what_may_be_accepted() {
    let good = Waiver {
        rules: one("BLD-07"),
        owner: "ada".to_owned(),
        ticket: "OPS-12".to_owned(),
        until: date(1970, 3, 1),
        reason: "it goes".to_owned(),
    };
    assert_eq!(accepted(good.clone()), BTreeSet::new());
    assert_eq!(accepted(Waiver { rules: one("BLD-04"), ..good.clone() }), one("risk_accepted_security"));
    assert_eq!(accepted(Waiver { ticket: " ".to_owned(), ..good.clone() }), one("waiver_incomplete"));
    assert_eq!(accepted(Waiver { until: date(1970, 1, 1), ..good }), one("waiver_expired"));
}

#[test]
fn a_report_and_a_fourth_cheat_do_not_end_with_the_merge() {
    let mut game = merged();
    let at = game.records.iter().position(|record| matches!(record.body, Body::Merged { .. })).expect("it is merged");
    let mut report = game.records[at - 1].clone();
    report.about = game.now().subject.clone();
    report.by = By::Person { person: person("bea"), role: "write".to_owned() };
    report.body =
        Body::Cheated { codes: BTreeSet::new(), reason: Some("overfit".to_owned()), said: None, raised: None };
    game.records.insert(at, report);
    for (seq, record) in (1..).zip(&mut game.records) {
        record.seq = seq;
    }
    assert_eq!(rules(&game.records), one("reported_cheat"));
}

#[test]
fn declared_risk_that_was_merged_by_itself_is_found() {
    let mut game = Game::with(ALONE);
    game.opened().green().may_merge();
    game.merged();
    assert_eq!(rules(&game.records), BTreeSet::new());
    let mut records = game.records.clone();
    let mut declared = records[1].clone();
    declared.body = Body::Declared(crate::policy::Declared { autonomy: None, high_risk: true });
    records.insert(1, declared);
    for (seq, record) in (1..).zip(&mut records) {
        record.seq = seq;
    }
    assert_eq!(rules(&records), one("unguarded_high_risk_auto"));
}

#[test]
fn what_passed_by_itself_names_its_run_and_leaves_nothing_to_a_person() {
    let mut game = Game::with(ALONE);
    game.opened().green().may_merge();
    game.merged();
    let is_auto = |body: &Body| match body {
        Body::Judged { gate: GateName::Merge, evidence, .. } => {
            evidence.iter().any(|one| matches!(one, Evidence::Auto { .. }))
        }
        _ => false,
    };
    let unnamed = after(&game, is_auto, |record| {
        if let Body::Judged { evidence, .. } = &mut record.body {
            evidence.retain(|one| !matches!(one, Evidence::Auto { .. }));
            evidence.push(Evidence::Auto { runs: Vec::new() });
        }
    });
    assert_eq!(unnamed, one("gate_record_mismatch"));
    for rule in ["test_weakened", "contract_edited", "loops_not_dry", "critic_open"] {
        let noted = after(&game, is_auto, |record| {
            if let Body::Judged { findings, .. } = &mut record.body {
                findings.push(Finding::warning(rule, "Somebody is to look.", "Look."));
            }
        });
        assert_eq!(noted, one(rule));
    }
}

#[test]
fn what_was_not_flagged_is_a_warning() {
    let mut game = Game::pipeline();
    game.test_says("tests/lamp.rs", "it shines");
    game.through_verify().at(Stage::VerifyGatePassed).merged();
    let found = audit(&game.records).expect("it is merged");
    let told: Vec<&str> = found.iter().map(|finding| finding.rule.as_str()).collect();
    assert_eq!(told, ["unflagged_freeze"]);
    assert!(!found[0].blocks());
}
