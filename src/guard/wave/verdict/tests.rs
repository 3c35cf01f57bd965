use proptest::prelude::*;

use super::*;

const GOOD: &str = "\
# dates

Zones are read.

```yaml
task: dates
outcome: PASS
evidence: 12 passed, 0 failed; coverage 81% (was 80%)
residue: []
deltas:
  - The zone table is in another crate.
```
";

fn block(body: &str) -> String {
    format!("# dates\n\n```yaml\n{body}\n```\n")
}

/// `line rule: says next` of each.
fn wrong(text: &str) -> Vec<String> {
    match read("SUMMARY.md", text.as_bytes()) {
        Ok(proposal) => vec![format!("read: {proposal:?}")],
        Err(findings) => findings
            .iter()
            .map(|one| {
                assert_eq!((one.rule.as_str(), one.blocks()), (MALFORMED, true));
                format!("{} {} {}", one.line.unwrap_or(0), one.says, one.next)
            })
            .collect(),
    }
}

fn good() -> Proposal {
    read("SUMMARY.md", GOOD.as_bytes()).unwrap()
}

#[test]
fn the_five_fields_are_read() {
    let proposal = good();
    assert_eq!((proposal.task.as_str(), proposal.outcome, proposal.line), ("dates", Outcome::Pass, 7));
    assert_eq!(proposal.evidence, ["12 passed, 0 failed; coverage 81% (was 80%)"]);
    assert_eq!(
        (proposal.residue.len(), proposal.deltas.as_slice()),
        (0, &["The zone table is in another crate.".to_owned()][..])
    );
}

#[test]
fn however_it_is_written_it_says_the_same() {
    let fields =
        |proposal: Proposal| (proposal.task, proposal.outcome, proposal.evidence, proposal.residue, proposal.deltas);
    let json = r#"{
	"task": "dates",
	"outcome": "PASS",
	"evidence": "12 passed, 0 failed; coverage 81% (was 80%)",
	"residue": [],
	"deltas": ["The zone table is in another crate."]
}"#;
    let body = GOOD.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    for (what, text) in [
        ("JSON", format!("text\n\n```json\n{json}\n```\n")),
        ("JSON on one line", format!("```json\n{}\n```", json.replace(['\n', '\t'], " "))),
        ("Windows", GOOD.replace('\n', "\r\n")),
        ("a byte order mark", format!("\u{feff}{GOOD}")),
        ("tildes", GOOD.replace("```", "~~~~")),
        ("no language", GOOD.replace("```yaml", "```")),
        ("yml and words", GOOD.replace("```yaml", "``` YML title=verdict")),
        ("front matter", format!("---\n{body}---\n\n# dates\n")),
        ("case", GOOD.replace("task:", "Task:").replace("outcome: PASS", "Outcome: pass")),
        ("none", GOOD.replace("residue: []", "residue: none")),
        ("another block", format!("{GOOD}\n```text\noutcome: HARD-STOP\n```\n\n```rust\nfn main() {{}}\n```\n")),
        ("no fence's end", GOOD.trim_end().trim_end_matches("```").to_owned()),
        ("a hidden one", format!("<!--\n{}\n-->\n{GOOD}", GOOD.replace("PASS", "HARD-STOP"))),
        ("one text", GOOD.replace("deltas:\n  - The", "deltas: The")),
    ] {
        match read("SUMMARY.md", text.as_bytes()) {
            Ok(proposal) => assert_eq!(fields(proposal), fields(good()), "{what}"),
            Err(findings) => panic!("{what}: {findings:?}"),
        }
    }
    let parts = GOOD.replace("evidence: 12", "evidence: {tests: 12 passed, coverage: 81%, log: run 7} #");
    assert_eq!(
        read("SUMMARY.md", parts.as_bytes()).unwrap().evidence,
        ["tests: 12 passed", "coverage: 81%", "log: run 7"]
    );
}

#[test]
fn residue_is_told_by_its_kind() {
    for entry in [
        "security: a token in a log",
        "'security: a token in a log'",
        "'[security] a token in a log'",
        "Security: a token in a log",
        "{security: a token in a log}",
        "{kind: security, finding: a token in a log}",
    ] {
        let text = GOOD.replace("residue: []", &format!("residue:\n  - {entry}\n  - concurrency: two writers"));
        let residue = read("SUMMARY.md", text.as_bytes()).unwrap().residue;
        let told: Vec<(Kind, &str, u32)> = residue.iter().map(|one| (one.kind, one.says.as_str(), one.line)).collect();
        assert_eq!(told, [(Kind::Security, "a token in a log", 10), (Kind::Concurrency, "two writers", 11)], "{entry}");
    }
}

const FORM: &str = "Write one block ```yaml with `task`, `outcome`, `evidence`, `residue` and `deltas`.";
const RESIDUE: &str =
    "Write `residue: []`, or a list of `security: WHAT`, `concurrency: WHAT` and `architecture: WHAT`.";
const EVIDENCE: &str =
    "Write what the tests and the coverage came to: `evidence: 42 passed, 0 failed; coverage 81% (was 80%)`.";
const OUTCOME: &str = "Write `outcome: PASS`, `RISK-ACCEPTED`, `HARD-STOP` or `ESCALATE`.";
const DELTAS_FORM: &str = "Write `deltas: []`, or a list of what was learned, a sentence an entry.";

#[test]
fn every_field_is_held_to_its_form() {
    let cases: &[(&str, &str, &[String])] = &[
        ("task: dates\n", "", &["6 The field `task` is missing. Write `task: ID`, the id in the roster.".into()]),
        ("task: dates", "task:", &["6 `task` says nothing. Write `task: ID`, the id in the roster.".into()]),
        ("task: dates", "task: [a]", &["6 `task` says nothing. Write `task: ID`, the id in the roster.".into()]),
        ("task: dates", "task: a\nTask: b", &["7 The field `Task` is there twice, first on line 6. Keep one of the two.".into()]),
        ("task: dates", "task: a\ntask: b", &["7 In the verdict the key `task` stands twice; it was first given on line 6. Keep one of the two.".into()]),
        ("outcome: PASS", "outcome: GREEN", &[format!("7 The outcome is `GREEN`. {OUTCOME}")]),
        ("outcome: PASS", "outcome:", &[format!("7 The outcome is (nothing). {OUTCOME}")]),
        ("outcome: PASS", "outcome: [PASS]", &[format!("7 The outcome is (nothing). {OUTCOME}")]),
        ("outcome: PASS", "outcome: PASS|RISK-ACCEPTED", &[format!("7 The outcome is `PASS|RISK-ACCEPTED`. {OUTCOME}")]),
        ("evidence: 12 passed, 0 failed; coverage 81% (was 80%)\n", "", &[format!("6 The field `evidence` is missing. {EVIDENCE}")]),
        ("evidence: 12 passed, 0 failed; coverage 81% (was 80%)", "evidence: TBD", &[format!("8 `evidence` shows nothing. {EVIDENCE}")]),
        ("evidence: 12 passed, 0 failed; coverage 81% (was 80%)", "evidence: <tests+coverage>", &[format!("8 `evidence` shows nothing. {EVIDENCE}")]),
        ("evidence: 12 passed, 0 failed; coverage 81% (was 80%)", "evidence: []", &[format!("8 `evidence` shows nothing. {EVIDENCE}")]),
        ("evidence: 12 passed, 0 failed; coverage 81% (was 80%)", "evidence: none", &[format!("8 `evidence` shows nothing. {EVIDENCE}")]),
        ("evidence: 12 passed, 0 failed; coverage 81% (was 80%)", "evidence: {tests: 12 passed}", &[format!("8 `evidence` says nothing of `coverage`. {EVIDENCE}")]),
        ("evidence: 12 passed, 0 failed; coverage 81% (was 80%)", "evidence: {tests: TODO, coverage: 80%}", &[format!("8 `evidence` says nothing of `tests`. {EVIDENCE}")]),
        ("evidence: 12 passed, 0 failed; coverage 81% (was 80%)", "evidence:", &[format!("8 `evidence` says nothing. {EVIDENCE}")]),
        ("residue: []\n", "", &[format!("6 The field `residue` is missing. {RESIDUE}")]),
        ("residue: []", "residue:", &[format!("9 `residue` is no list. {RESIDUE}")]),
        ("residue: []", "residue: a little", &[format!("9 `residue` is no list. {RESIDUE}")]),
        ("residue: []", "residue: {security: x}", &[format!("9 `residue` is no list. {RESIDUE}")]),
        ("residue: []", "residue: [security]", &[format!("9 The residue `security` is not in the form `KIND: WHAT`. {RESIDUE}")]),
        ("residue: []", "residue: ['security:']", &[format!("9 The residue `security:` is not in the form `KIND: WHAT`. {RESIDUE}")]),
        ("residue: []", "residue: ['style: tabs']", &[format!("9 `style` is no kind of residue. {RESIDUE}")]),
        ("residue: []", "residue:\n  - performance: slow", &[format!("10 `performance` is no kind of residue. {RESIDUE}")]),
        ("residue: []", "residue: [[security]]", &[format!("9 The residue (nothing) is not in the form `KIND: WHAT`. {RESIDUE}")]),
        ("  - The zone table is in another crate.", "", &[format!("10 `deltas` says nothing. {DELTAS_FORM}")]),
        ("deltas:\n  - The zone table is in another crate.\n", "", &[format!("6 The field `deltas` is missing. {DELTAS_FORM}")]),
        ("  - The zone table is in another crate.", "  - ''", &[format!("11 An entry of `deltas` says nothing, or is no text. {DELTAS_FORM}")]),
        ("  - The zone table is in another crate.", "  - [a]", &[format!("11 An entry of `deltas` says nothing, or is no text. {DELTAS_FORM}")]),
        ("residue: []", "residue: []\nowner: me", &["10 A verdict has no field `owner`. Take it out, or say it in the text around the block.".into()]),
        ("outcome: PASS", "outcome: &a PASS", &["7 The verdict can't be read: anchors (`&name`) and aliases (`*name`) are not allowed here. Correct the YAML at this line; the verdict has five fields and no more.".into()]),
        ("task: dates", "task: !x dates", &["6 In the verdict YAML tags (`!…`) have no meaning here. Remove the tag; quote the value if it is text.".into()]),
    ];
    for (from, to, says) in cases {
        assert_eq!(GOOD.matches(from).count(), 1, "{from}");
        assert_eq!(wrong(&GOOD.replace(from, to)), *says, "{from} -> {to}");
    }
    assert_eq!(wrong(&block("- outcome: PASS")), [format!("4 The verdict is no mapping of fields to values. {FORM}")]);
    assert_eq!(wrong(&block("outcome: PASS")).len(), 4, "all that is missing, at once");
}

#[test]
fn one_block_has_the_verdict() {
    for text in [
        "",
        "PASS",
        "task: a\noutcome: PASS\n",
        "```text\noutcome: PASS\n```",
        "<!--\n```yaml\noutcome: PASS\n```\n-->",
        "```yaml\nresult: PASS\n```",
    ] {
        assert_eq!(wrong(text), [format!("1 SUMMARY.md has no block with a verdict. {FORM}")], "{text}");
    }
    let two = format!("{GOOD}\n{GOOD}");
    assert_eq!(
        wrong(&two),
        ["19 SUMMARY.md has 2 verdicts, first on line 6. Keep one: of two nobody can tell which counts."]
    );
    assert!(
        wrong(&GOOD.replace("outcome: PASS", "outcome: {"))[0].contains("The verdict can't be read: not valid YAML")
    );
}

#[test]
fn it_is_bounded() {
    let finding = |bytes: &[u8]| read("SUMMARY.md", bytes).unwrap_err().remove(0).says;
    assert_eq!(finding(&vec![b' '; LARGEST + 1]), "SUMMARY.md has 262145 bytes; at most 262144 are read.");
    assert_eq!(finding(b"# a\n\xff"), "SUMMARY.md is no UTF-8 text from here on.");
    let many = format!("deltas: [{}]", "a,".repeat(101));
    assert!(
        wrong(&GOOD.replace("deltas:\n  - The zone table is in another crate.", &many))[0]
            .contains("`deltas` has 101 entries; at most 100")
    );
    let long = "x".repeat(2_001);
    assert!(wrong(&GOOD.replace("12 passed", &long))[0].contains("longer than 2000 characters"));
    assert!(wrong(&GOOD.replace("residue: []", &format!("residue: ['security: {long}']"))).len() == 1);
    let deep = GOOD.replace("residue: []", &format!("residue: {}{}", "[".repeat(50_000), "]".repeat(50_000)));
    assert!(wrong(&deep)[0].contains("nested deeper"), "{:?}", wrong(&deep));
    for piece in [
        "```yaml\noutcome:\n",
        "```\n",
        "---\n",
        "<!--",
        "outcome:",
        "\"outcome\":",
        "- ",
        "outcome \n",
        "~~~\noutcome: a\n~~~\n",
    ] {
        let text = piece.repeat((LARGEST - 30) / piece.len());
        let inside = format!("```yaml\noutcome: PASS\n{text}");
        assert!(read("SUMMARY.md", text.as_bytes()).is_err());
        assert!(read("SUMMARY.md", inside.as_bytes()).is_err());
        let _ = lessons("deltas.md", text.as_bytes());
    }
}

#[test]
fn lessons_are_entries_and_none_is_said() {
    let read = |text: &str| lessons("deltas.md", text.as_bytes()).map_err(|finding| finding.says);
    assert_eq!(
        read("# Deltas\n\n- one\n  and more\n* two\n\nthree\nof it\n"),
        Ok(vec!["one and more".into(), "two".into(), "three of it".into()])
    );
    assert_eq!(read("None.\n"), Ok(Vec::new()));
    assert_eq!(read("- none\n"), Ok(Vec::new()));
    assert_eq!(read("# Deltas\n<!-- a\nb -->\n"), Err("deltas.md says nothing.".to_owned()));
    assert_eq!(read(""), Err("deltas.md says nothing.".to_owned()));
    assert!(read(&"- a\n".repeat(101)).unwrap_err().contains("has 101 entries"));
    assert!(lessons("deltas.md", b"\xff").unwrap_err().says.contains("no UTF-8"));
}

const LESSON: &str = "- The zone table is in another crate.\n";

fn filed(summary: &str, deltas: &str) -> Filed {
    let file = |path: &str, text: &str| Some(Committed { path: path.to_owned(), bytes: text.as_bytes().to_vec() });
    Filed {
        summary: file("t/SUMMARY.md", summary),
        deltas: file("t/deltas.md", deltas),
        link: None,
        several: Vec::new(),
    }
}

fn judged(summary: &str, deltas: &str) -> Vec<String> {
    let judged = judge(&TaskId::parse("dates").unwrap(), "wave/dates", &filed(summary, deltas));
    judged.findings.iter().map(|one| format!("{} {}", one.rule, one.place().unwrap_or_default())).collect()
}

#[test]
fn what_no_worker_may_decide_is_refused() {
    let with = |outcome: &str, residue: &str| {
        judged(&GOOD.replace("PASS", outcome).replace("residue: []", &format!("residue: [{residue}]")), LESSON)
    };
    let none: [&str; 0] = [];
    assert_eq!(with("PASS", ""), none);
    assert_eq!(with("PASS", "'security: a'"), ["residue_security t/SUMMARY.md:9"]);
    assert_eq!(with("ESCALATE", "'security: a'"), ["residue_security t/SUMMARY.md:9"]);
    assert_eq!(with("RISK-ACCEPTED", "'security: a'"), ["risk_accepted_security t/SUMMARY.md:9"]);
    assert_eq!(with("HARD-STOP", "'security: a'"), none);
    assert_eq!(with("PASS", "'concurrency: a'"), ["residue_concurrency t/SUMMARY.md:9"]);
    assert_eq!(with("PASS", "'architecture: a'"), ["residue_architecture t/SUMMARY.md:9"]);
    for outcome in ["RISK-ACCEPTED", "ESCALATE", "HARD-STOP"] {
        assert_eq!(with(outcome, "'concurrency: a', 'architecture: b'"), none, "{outcome}");
    }
    assert_eq!(with("PASS", "'architecture: a', 'security: b', 'concurrency: c'").len(), 3, "each is told");
}

#[test]
fn both_files_say_the_same_and_hide_nothing() {
    assert_eq!(judged(GOOD, "None.\n"), ["gate_record_mismatch t/SUMMARY.md:7"]);
    let without = GOOD.replace("deltas:\n  - The zone table is in another crate.", "deltas: []");
    assert_eq!(judged(&without, "- a lesson\n"), ["gate_record_mismatch t/SUMMARY.md:7"]);
    assert!(judged(&without, "None.").is_empty());
    let with = |outcome: &str, lesson: &str| {
        let summary =
            GOOD.replace("PASS", outcome).replace("The zone table is in another crate.", &format!("'{lesson}'"));
        judged(&summary, &format!("- {lesson}\n"))
    };
    for lesson in [
        "security: tokens are logged",
        "[Security] tokens",
        "**security**: tokens",
        "a lesson [security]",
        "a lesson (Security), and more",
        "tokens are logged **[security]**",
        "security - the parser",
        "Security – the parser",
        "security— the parser",
        "SEC: sql injection in login",
        "sec - login",
        "(sec) login",
        "⚠ Security: tokens are logged",
        "⚠️ **Security**: tokens are logged",
        "NOTE: security: tokens are logged",
        "NOTE security: tokens are logged",
        "Note - security: tokens are logged",
        "Security note: tokens are logged",
        "Security finding: tokens are logged",
        "SEC risk: tokens are logged",
        "Lesson, security: tokens are logged",
        "Important finding: security issue - tokens are logged",
    ] {
        assert_eq!(with("PASS", lesson), ["unescalated_security_note t/SUMMARY.md:7"], "{lesson}");
        assert!(with("HARD-STOP", lesson).is_empty(), "{lesson}");
    }
    for lesson in [
        "Security tests are slow.",
        "security headers are set",
        "security-relevant code is in src/login.rs",
        "sec-fetch headers are set",
        "Seconds: they are whole",
        "the section: security has its own",
        "[the security page](docs/security.md) is long",
        "NOTE security tests are slow",
        "Note: security headers are set by the proxy",
        "Lesson: the security team reads src/login.rs first",
        "Security findings go into the residue, not here",
        "Security issues: none.",
        "Security: nothing found.",
        "security - none",
        "Notes on security are in docs/security.md",
        "Finding security holes early is cheap",
        "Security lessons of last year: read docs/security.md",
        "⚠ the security suite takes an hour",
    ] {
        assert!(with("PASS", lesson).is_empty(), "{lesson}: a word is no mark");
    }
    assert_eq!(judged(&GOOD.replace("task: dates", "task: Dates"), LESSON), ["gate_record_mismatch t/SUMMARY.md:6"]);
}

#[test]
fn both_files_have_the_same_lessons_in_any_order() {
    let two = GOOD.replace("another crate.", "another crate.\n  - Zones are slow");
    for deltas in [
        "- The zone table is in another crate.\n- Zones are slow\n",
        "# Deltas\n\n* **zones** are slow.\n* The zone table\n  is in another crate\n",
    ] {
        assert!(judged(&two, deltas).is_empty(), "{deltas}");
    }
    for deltas in ["- Zones are slow\n", "- The zone table is in another crate.\n- Zones are fast\n"] {
        assert_eq!(judged(&two, deltas), ["gate_record_mismatch t/SUMMARY.md:7"], "{deltas}");
    }
}

#[test]
fn an_outcome_is_weighed_and_never_lightened() {
    for outcome in Outcome::ALL {
        for kinds in [&[][..], &[Kind::Security], &[Kind::Concurrency], &[Kind::Architecture], &Kind::ALL] {
            let residue = kinds.iter().map(|kind| Residue { kind: *kind, says: "x".into(), line: 1 }).collect();
            let weighed = Proposal { outcome, residue, ..good() }.weighed();
            assert!(weighed >= outcome);
            assert_eq!(weighed == Outcome::HardStop, outcome == Outcome::HardStop || kinds.contains(&Kind::Security));
            assert!(weighed != Outcome::Pass || kinds.is_empty());
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>) {
        let _ = read("SUMMARY.md", &bytes);
        let _ = lessons("deltas.md", &bytes);
    }

    #[test]
    fn no_change_makes_it_panic_or_pass_with_security(at: prop::sample::Index, gone in 0_usize..8, put in prop_oneof![".{0,4}", "[-:{}\\[\\]'\"`~#&*!|>%@, \n\t]{0,5}"]) {
        let text: Vec<char> = GOOD.replace("residue: []", "residue: [security: x]").chars().collect();
        let at = at.index(text.len());
        let bent: String = text[..at].iter().copied().chain(put.chars()).chain(text[(at + gone).min(text.len())..].iter().copied()).collect();
        let lines = u32::try_from(bent.split('\n').count()).unwrap();
        match read("SUMMARY.md", bent.as_bytes()) {
            // Whatever is still read as a risk stops it; it may be that the change took the risk out.
            Ok(proposal) => prop_assert!(proposal.weighed().stops() || proposal.residue.is_empty()),
            Err(findings) => prop_assert!(findings.iter().all(|one| one.line.is_none_or(|line| line <= lines + 1)), "{findings:?}"),
        }
    }
}
