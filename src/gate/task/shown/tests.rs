use super::*;
use crate::gate::task::read;
use crate::gate::task::sheet::tests::template;

fn sheet(changes: &[(Field, &str)]) -> Sheet {
    let all = [
        (Field::Objective, "The lamp can be dimmed in steps of ten."),
        (Field::DoneGate, "Each step is seen on the meter."),
        (Field::NotDoing, "none"),
        (Field::Constraints, "The old dimmer stays."),
        (Field::ValidationPlan, "- `cargo test dim`\n- Turn the knob, look at the meter"),
        (Field::EvidenceLocation, "EVIDENCE.md"),
        (Field::EvidenceLink, "https://a.example/artifacts/evidence.html"),
    ];
    let written = all
        .iter()
        .chain(changes)
        .fold(template(), |text, (field, value)| read(STATE, text.as_bytes()).unwrap().with(*field, value));
    read(STATE, written.as_bytes()).unwrap()
}

struct Scene {
    sheet: Sheet,
    frame: Option<Digest>,
    ran: Option<Ran>,
    honest: Option<bool>,
    evidence: &'static str,
    files: Vec<(String, u64)>,
}

impl Scene {
    /// Everything is shown.
    fn whole() -> Self {
        let sheet = sheet(&[]);
        let frame = Some(frame(&sheet));
        let files =
            ["EVIDENCE.md", "artifacts/run.txt", "artifacts/.gitkeep"].map(|path| (path.to_owned(), 9)).to_vec();
        let evidence = "## turn the knob: look at the METER\n\nOn 1234567: it went down.\n";
        Self { sheet, frame, ran: Some(Ran::Found(Vec::new())), honest: Some(true), evidence, files }
    }

    fn rules(&self) -> Vec<String> {
        let is_there = |path: &RepoPath| {
            let path = path.to_string();
            self.files.iter().any(|(file, _)| path == format!("t/{file}")) || path == "docs/proof.md"
        };
        let Self { sheet, frame, ran, honest, evidence, files } = self;
        let seen = Seen {
            folder: "t",
            sheet,
            frame: frame.as_ref(),
            ran: ran.as_ref(),
            honest: *honest,
            evidence,
            files,
            is_there: &is_there,
        };
        lacks(&seen).into_iter().map(|finding| finding.rule).collect()
    }
}

fn rules(change: impl FnOnce(&mut Scene)) -> Vec<String> {
    let mut scene = Scene::whole();
    change(&mut scene);
    scene.rules()
}

#[test]
fn what_is_shown_stands_against_nothing() {
    assert_eq!(rules(|_| ()), [""; 0]);
    assert_eq!(
        rules(|scene| scene.sheet = sheet(&[(Field::EvidenceLocation, "`EVIDENCE.md`, docs/proof.md")])),
        [""; 0]
    );
    assert_eq!(
        rules(|scene| scene.sheet = sheet(&[(Field::Objective, "the lamp can be dimmed, in steps of ten")])),
        [""; 0]
    );
}

#[test]
fn each_gate_is_told_by_its_rule() {
    let warns = || Finding::warning("VER-11", "one", "two");
    assert_eq!(rules(|scene| scene.frame = None), [OBJECTIVE]);
    assert_eq!(
        rules(|scene| scene.sheet = sheet(&[(Field::DoneGate, "It compiles.")])),
        [OBJECTIVE],
        "the posts were moved"
    );
    assert_eq!(rules(|scene| scene.ran = None), [COMMANDS]);
    assert_eq!(rules(|scene| scene.ran = Some(Ran::NoCommands)), [COMMANDS]);
    let red = Finding::error("VER-01", "`cargo test` ended with 1.", "Mend it.");
    assert_eq!(rules(|scene| scene.ran = Some(Ran::Found(vec![red, warns()]))), [COMMANDS]);
    assert_eq!(rules(|scene| scene.ran = Some(Ran::Found(vec![warns()]))), [""; 0]);
    assert_eq!(rules(|scene| scene.evidence = "All good."), [SCENARIOS]);
    let unsaid = |scene: &mut Scene| {
        let text = scene.sheet.text().replace("User-facing: no\n", "");
        scene.sheet = read(STATE, text.as_bytes()).unwrap();
    };
    assert_eq!(rules(unsaid), [LABELS]);
    assert_eq!(rules(|scene| scene.sheet = sheet(&[(Field::UserFacing, "yes")])), [LABELS]);
    assert_eq!(rules(|scene| scene.honest = Some(false)), [PRETENCE]);
    assert_eq!(rules(|scene| scene.honest = None), [PRETENCE]);
    for nowhere in ["", "proof.md", "EVIDENCE.md, proof.md", "../EVIDENCE.md", "/etc/passwd"] {
        assert_eq!(rules(|scene| scene.sheet = sheet(&[(Field::EvidenceLocation, nowhere)])), [PROOF], "{nowhere}");
    }
    assert_eq!(rules(|scene| scene.sheet = sheet(&[(Field::EvidenceLink, "artifacts/evidence.html")])), [LINKED]);
}

#[test]
fn more_than_one_piece_is_joined_by_a_page() {
    let two = |scene: &mut Scene| scene.files.push(("artifacts/shot.png".to_owned(), 9));
    assert_eq!(rules(two), [INDEX]);
    let joined = |scene: &mut Scene| {
        two(scene);
        scene.files.push((PAGE.to_owned(), 9));
    };
    assert_eq!(rules(joined), [""; 0]);
    let empty = |scene: &mut Scene| {
        two(scene);
        scene.files.push((PAGE.to_owned(), 0));
    };
    assert_eq!(rules(empty), [INDEX]);
    let elsewhere = |scene: &mut Scene| {
        joined(scene);
        scene.sheet = sheet(&[(Field::EvidenceLink, "https://a.example/run.txt")]);
    };
    assert_eq!(rules(elsewhere), [INDEX]);
}
