use super::*;
use crate::engine::kit::{good_papers, sheet};
use crate::gate::{Verdict, verdict};
use crate::rehearsal::papers as good;

/// `RULE severity path:line` of each finding.
pub(crate) fn told(findings: &[Finding]) -> Vec<String> {
    let place = |finding: &Finding| match (&finding.path, finding.line) {
        (Some(path), Some(line)) => format!(" {}:{line}", path.trim_start_matches("scaffolding/")),
        (Some(path), None) => format!(" {}", path.trim_start_matches("scaffolding/")),
        _ => String::new(),
    };
    let severity = |finding: &Finding| if finding.blocks() { "" } else { " warning" };
    findings.iter().map(|finding| format!("{}{}{}", finding.rule, severity(finding), place(finding))).collect()
}

#[test]
fn the_good_documents_are_good() {
    let policy = Policy::default();
    for phase in [Phase::Expand, Phase::Design, Phase::Analyze] {
        let findings = judge(phase, &good_papers(), &policy);
        assert_eq!(verdict(&findings), Verdict::Pass, "{findings:#?}");
    }
}

#[test]
fn what_the_templates_say_is_nobodys_answer() {
    let policy = Policy::default();
    let [scope, design, readiness, log] = [
        include_str!("../../../templates/pipeline/scaffolding/scope.md"),
        include_str!("../../../templates/pipeline/scaffolding/design.md"),
        include_str!("../../../templates/pipeline/scaffolding/readiness.md"),
        include_str!("../../../templates/pipeline/scaffolding/log.md"),
    ]
    .map(|text| Some(sheet(text)));
    let preferences = Some(sheet(include_str!("../../../templates/pipeline/preferences.md")));
    let papers = Papers { scope, design, readiness, log, preferences, ..Papers::default() };
    for (phase, rule, sections) in
        [(Phase::Expand, "EXP-02", 10), (Phase::Design, "DSN-02", 7), (Phase::Analyze, "ANL-02", 8)]
    {
        let findings = judge(phase, &papers, &policy);
        let bare = findings.iter().filter(|finding| finding.rule == rule && finding.line.is_some()).count();
        assert_eq!(bare, sections, "{findings:#?}");
    }
}

#[test]
fn every_rule_has_a_sentence_and_a_next_step() {
    for phase in [Phase::Expand, Phase::Design, Phase::Analyze] {
        for rule in rules(phase) {
            assert!(rule.about.ends_with('.') && rule.next.ends_with('.'), "{}", rule.id);
        }
    }
}

/// The first rule, which is the same for each gate.
#[test]
fn a_document_is_there_and_can_be_read() {
    let policy = Policy::default();
    let first = |document: Option<Document>| {
        let scope = document.map(|document| Sheet { blob: None, document });
        let papers = Papers { scope, ..good_papers() };
        judge(Phase::Expand, &papers, &policy)
    };
    let text = |text: &str| Some(Document::Text(text.to_owned()));
    let deep = format!("{}x", "> ".repeat(40));
    for (document, says) in [
        (text(""), "is empty"),
        (text("\u{feff}\r\n"), "is empty"),
        (text("<!-- nothing -->\n"), "nothing to read"),
        (Some(Document::of(vec![0xff, 0xfe])), "is no text"),
        (Some(Document::of(b"a\0b".to_vec())), "is no text"),
        (Some(Document::NotAFile), "is no plain file"),
        (Some(Document::of(vec![b'x'; LARGEST + 1])), "more than 1048576 bytes"),
        (text(&"x\n".repeat(20_001)), "more than 20000 lines"),
        (text(&deep), "more than 32 deep"),
    ] {
        let findings = first(document);
        assert_eq!(told(&findings), ["EXP-01 scope.md"], "{says}");
        assert!(findings[0].says.contains(says), "{}", findings[0].says);
    }
    let gone = first(None);
    assert_eq!(told(&gone), ["EXP-01"]);
    assert_eq!(gone[0].next, "Write it and push; then say `/expand`.");
    let turned = good::SCOPE.replace("too bright", "too \u{202e}bright");
    assert_eq!(told(&first(text(&turned)))[0], "EXP-01 scope.md:5");
    for (phase, rule) in [(Phase::Design, "DSN-01"), (Phase::Analyze, "ANL-01")] {
        assert_eq!(told(&judge(phase, &Papers::default(), &policy)), [rule]);
    }
}

/// A line in the log costs a pass nothing; an edit of scope, or a file that it does not name, does.
#[test]
fn a_pass_is_bound_to_what_the_gate_read() {
    let policy = Policy::default();
    let first = bound(&good_papers(), &judge_all(&good_papers(), &policy), &Written::new());
    let with = |change: &dyn Fn(&mut Papers)| {
        let mut papers = good_papers();
        change(&mut papers);
        let now = bound(&papers, &judge_all(&papers, &policy), &Written::new());
        let held = first.iter().zip(&now).filter(|(was, now)| was == now);
        held.map(|((phase, _), _)| phase.as_str()).collect::<Vec<_>>()
    };
    let edited = |text: &str| Some(sheet(&format!("{text}\nOne more line.\n")));
    assert_eq!(with(&|papers| papers.log = edited(good::LOG)), ["expand", "design", "analyze"]);
    assert_eq!(with(&|papers| papers.inputs = vec!["docs/input/idea.md".to_owned()]), ["expand", "design", "analyze"]);
    assert_eq!(with(&|papers| papers.readiness = edited(good::READINESS)), ["expand", "design"]);
    assert_eq!(with(&|papers| papers.design = edited(good::DESIGN)), ["expand"]);
    for change in [
        &(|papers: &mut Papers| papers.scope = edited(good::SCOPE)) as &dyn Fn(&mut Papers),
        &|papers| papers.inputs = vec!["docs/input/other.md".to_owned()],
        &|papers| papers.log = None,
        &|papers| papers.base_scope = papers.scope.clone(),
        &|papers| papers.preferences = Some(sheet("# Stack\nRust\n")),
    ] {
        assert!(with(change).is_empty());
    }
}
