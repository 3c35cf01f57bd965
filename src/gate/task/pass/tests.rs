use super::*;

/// A claim with these fields in the place of the ones that are right for anything.
fn text(fields: &[(Field, &str)]) -> String {
    let mut text = String::new();
    for field in Field::ALL {
        let value = match field {
            Field::Phase => "intake",
            Field::CandidateDone | Field::RepairApplied | Field::UserFacing => "no",
            Field::ValidatorStatus | Field::RevalidationStatus => "pending",
            Field::LastUpdated => "2026-01-31",
            Field::EvidenceLink => "https://example.com/evidence.html",
            Field::Blockers => "none",
            _ => "the lamp can be dimmed to a third",
        };
        let value = fields.iter().find(|(one, _)| *one == field).map_or(value, |(_, value)| value);
        text.push_str(&format!("{field}: {value}\n"));
    }
    text
}

fn sheet(fields: &[(Field, &str)]) -> Sheet {
    read("t/STATE.md", text(fields).as_bytes()).unwrap()
}

fn changed(paths: &[&str]) -> Vec<Changed> {
    paths.iter().map(|path| Changed { path: (*path).to_owned(), gone: false }).collect()
}

/// What becomes of a pass in this stage that left these fields and touched these paths.
fn judged(stage: Stage, fields: &[(Field, &str)], paths: &[&str]) -> Claim {
    let (after, changed) = (text(fields), changed(paths));
    let state = State { stage, left: None };
    claimed(&Work { folder: "t", state, before: None, after: Some(after.as_bytes()), changed: &changed })
}

fn rules(claim: &Claim) -> Vec<&str> {
    match claim {
        Claim::Refused(findings) | Claim::Stays { findings, .. } => {
            findings.iter().map(|one| one.rule.as_str()).collect()
        }
        Claim::Goes { .. } => Vec::new(),
    }
}

#[test]
fn a_claim_goes_only_where_the_table_leads() {
    for stage in Stage::ALL.into_iter().filter(|stage| !stage.is_terminal()) {
        for to in Stage::ALL.into_iter().filter(|to| *to != stage) {
            let yes = [
                (Field::Phase, to.as_str()),
                (Field::CandidateDone, "yes"),
                (Field::ValidatorStatus, "pass"),
                (Field::Blockers, "the key to the house is with ada"),
                (Field::RepairApplied, if stage == Stage::Repair { "yes" } else { "no" }),
            ];
            let claim = judged(stage, &yes, &["t/STATE.md"]);
            let may = stage.next().any(|next| next == to);
            assert_eq!(
                matches!(claim, Claim::Goes { to: there, .. } if there == to),
                may,
                "{stage} -> {to}: {claim:?}"
            );
            if !may {
                let rule = if stage == Stage::Repair { "TSK-08" } else { "TSK-01" };
                assert_eq!(rules(&claim), [rule], "{stage} -> {to}");
                assert!(matches!(claim, Claim::Stays { .. }));
            }
        }
    }
}

#[test]
fn what_a_phase_has_to_leave_is_there_before_the_next() {
    let claim = judged(Stage::Implement, &[(Field::Phase, "verify")], &["src/lamp.rs"]);
    assert_eq!(rules(&claim), ["TSK-03"]);
    let claim = judged(Stage::Verify, &[(Field::Phase, "blocked")], &[]);
    assert_eq!(rules(&claim), ["TSK-03"], "blocked, and nobody knows by what");
    let claim = judged(Stage::Verify, &[(Field::Phase, "repair")], &[]);
    assert!(matches!(claim, Claim::Goes { to: Stage::Repair, .. }), "a failure needs nothing to be shown");
}

#[test]
fn outside_of_the_folder_only_building_is_done() {
    for stage in Stage::ALL.into_iter().filter(|stage| !stage.is_terminal()) {
        for path in ["src/lamp.rs", "t2/STATE.md", "t"] {
            let claim = judged(stage, &[(Field::Phase, stage.as_str())], &["t/STATE.md", path]);
            let refused = matches!(&claim, Claim::Refused(_));
            assert_eq!(refused, !matches!(stage, Stage::Implement | Stage::Repair), "{stage} {path}");
            assert_eq!(rules(&claim).first().copied(), refused.then_some(FORBIDDEN));
        }
    }
}

#[test]
fn without_its_claim_nothing_is_kept() {
    let changed = changed(&["t/STATE.md"]);
    let state = State { stage: Stage::Implement, left: None };
    let of = |after| claimed(&Work { folder: "t", state, before: None, after, changed: &changed });
    assert_eq!(rules(&of(None)), [FORBIDDEN]);
    let broken = of(Some(b"Phase: finished\n"));
    assert!(matches!(broken, Claim::Refused(_)) && rules(&broken).contains(&"TSK-02"), "{broken:?}");
}

const NOTHING: Measured = Measured { moved: false, against: (0, 0), returned: false, ran: false };

fn gained(
    before: &[(Field, &str)],
    after: &[(Field, &str)],
    paths: &[Changed],
    measured: Measured,
) -> Vec<&'static str> {
    let (before, after) = (sheet(before), sheet(after));
    let state = State { stage: Stage::Implement, left: None };
    let work = Work { folder: "t", state, before: Some(&before), after: None, changed: paths };
    progress(&work, Some(&after), measured).into_iter().map(Progress::as_str).collect()
}

#[test]
fn each_kind_of_progress_is_measured() {
    let none: [(Field, &str); 0] = [];
    let all = |paths: &[&str], measured| gained(&none, &none, &changed(paths), measured);
    assert_eq!(all(&["src/lamp.rs"], NOTHING), ["change"]);
    assert_eq!(all(&["t/README.md"], NOTHING), ["change"], "its documents, too");
    assert_eq!(all(&[], Measured { moved: true, ..NOTHING }), ["state"]);
    assert_eq!(all(&["t/artifacts/run.txt"], NOTHING), ["evidence"]);
    assert_eq!(all(&["t/EVIDENCE.md"], NOTHING), ["evidence"]);
    assert_eq!(all(&[], Measured { ran: true, ..NOTHING }), ["evidence"]);
    assert_eq!(all(&[], Measured { against: (3, 2), ..NOTHING }), ["risk"]);
    let said = [(Field::Blockers, "the key to the house is with ada")];
    assert_eq!(gained(&none, &said, &[], NOTHING), ["blocker"]);
}

#[test]
fn what_only_looks_like_progress_is_none() {
    let none: [(Field, &str); 0] = [];
    let all = |paths: &[Changed], measured| gained(&none, &none, paths, measured);
    assert_eq!(all(&changed(&["t/STATE.md"]), NOTHING), [""; 0], "the claim alone");
    let gone = [Changed { path: "t/EVIDENCE.md".to_owned(), gone: true }];
    assert_eq!(all(&gone, NOTHING), [""; 0], "evidence that goes away");
    assert_eq!(all(&changed(&["src/lamp.rs"]), Measured { returned: true, ..NOTHING }), [""; 0], "there and back");
    assert_eq!(all(&changed(&["t/artifacts/.gitkeep"]), NOTHING), [""; 0]);
    assert_eq!(all(&[], Measured { against: (2, 3), ..NOTHING }), [""; 0]);
    let spaced = [(Field::Blockers, "the  key, to the house is with ADA")];
    assert_eq!(gained(&[(Field::Blockers, "the key to the house is with ada")], &spaced, &[], NOTHING), [""; 0]);
    assert_eq!(gained(&[(Field::Blockers, "a key")], &none, &[], NOTHING), [""; 0], "taken away is not clearer");
}
