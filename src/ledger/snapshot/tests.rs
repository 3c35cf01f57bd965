use proptest::prelude::*;

use super::read::Field;
use super::*;

/// A snapshot with something in every section.
pub(crate) fn example() -> Snapshot {
    Snapshot {
        iteration: 7,
        parent: Some(6),
        slice_id: SliceId(1),
        slice: "Parse dates with a zone.".to_owned(),
        cap: Cap::declared("The parser and its tests. in: src/parser/**, tests/** out: src/parser/gen/**").unwrap(),
        gates: Gates { iteration: vec!["build".to_owned()], exit: vec!["review".to_owned(), "verify".to_owned()] },
        last: Some((Kind::Iteration, Verdict::Fail)),
        fails: Fails { iteration: 2, exit: 0 },
        evidence: vec![Fact { id: FactId(3), text: "`src/parser/date.rs` has `fn zone`.".to_owned() }],
        context: vec![Fact { id: FactId(1), text: "AC-1: dates with a zone are read (given: scope.md).".to_owned() }],
        open: vec![Open { id: IssueId(4), text: "BLD-02: a test fails.".to_owned(), action: Action::ReScout }],
        resolved: vec![Resolved {
            id: IssueId(2),
            text: "EXP-04: no threshold.".to_owned(),
            by: "expand PASS on 0123456789ab (record 9)".to_owned(),
        }],
    }
}

fn rules(text: &str) -> Vec<(String, u32)> {
    let found = read("agent/context/iter-0007.md", text).findings;
    found.into_iter().map(|finding| (finding.rule, finding.line.unwrap_or(0))).collect()
}

fn whole(text: &str) -> Snapshot {
    let read = read("x.md", text);
    assert_eq!(read.findings, [], "{text}");
    read.whole(0, 0).unwrap()
}

#[test]
fn facts_are_cited_in_any_letter_case_and_with_any_dash() {
    let cited = |text: &str| super::cited(text).into_iter().map(|id| id.0).collect::<Vec<_>>();
    assert_eq!(cited("By F-0009, f-0010 and F\u{2011}0011."), [9, 10, 11]);
    assert_eq!(cited("PDF-0009, xf-0009, f-00, f-0009a, f-0000009"), [0; 0]);
}

#[test]
fn a_comment_that_never_ends_is_named_and_any_line_end_is_one() {
    let text = super::write(&example());
    let found = super::read("x.md", &text.replacen("\n\n## Evidence", "\n<!-- note\n## Evidence", 1)).findings;
    assert_eq!((found.len(), found[0].rule.as_str(), found[0].line), (1, "SNP-01", Some(14)), "{found:?}");
    assert!(found[0].says.contains("<!--"), "{found:?}");
    let old = super::read("x.md", &text.replace('\n', "\r"));
    assert_eq!(old.findings, []);
    assert_eq!(old.whole(0, 0), super::read("x.md", &text).whole(0, 0));
}

#[test]
fn what_is_written_is_read_back() {
    assert_eq!(whole(&write(&example())), example());
}

#[test]
fn decoration_has_no_meaning() {
    let text = write(&example());
    let same = [
        text.replace('\n', "\r\n"),
        format!("\u{feff}{text}"),
        text.replace("- Iteration:", "* **Iteration**:").replace("- Slice ID:", "SLICE id:"),
        text.replace("## Evidence (Scout Findings) — NON-AUTHORITATIVE", "#### evidence"),
        text.replace("### Open Issues", "**Open Issues:**"),
        text.replace("PASS", "pass").replace("FAIL", "fail").replace("expand pass", "expand PASS"),
        text.replace("Next action: re-scout", "**Next action:** Re-Scout."),
        format!("<!-- Iteration: 0001 -->\n{text}"),
        text.replace("- I-0004:", "1. [I-0004]"),
        text.replace("# iter-0007", "Snapshot 🧭\n=====\n\n---"),
    ];
    for (at, text) in same.iter().enumerate() {
        let read = read("x.md", text);
        assert_eq!(read.findings, [], "{at}: {text}");
        let got = read.whole(0, 0).unwrap();
        let fails = |text: &str| text.to_ascii_lowercase();
        assert_eq!(fails(&write(&got)), fails(&write(&example())), "{at}");
    }
}

#[test]
fn the_order_of_fields_has_no_meaning() {
    let text = write(&example());
    let (mut fields, rest): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| Field::ALL.iter().any(|field| line.starts_with(&format!("- {}:", field.name()))));
    fields.reverse();
    let turned = format!("{}\n{}", fields.join("\n"), rest.join("\n"));
    assert_eq!(whole(&turned), example());
}

#[test]
fn each_field_that_is_missing_is_told() {
    let text = write(&example());
    for field in Field::ALL {
        let start = format!("- {}:", field.name());
        let without: Vec<&str> = text.lines().filter(|line| !line.starts_with(&start)).collect();
        let found = read("x.md", &without.join("\n")).findings;
        assert_eq!(found.len(), 1, "{field:?} {found:?}");
        assert!(found[0].rule == "SNP-01" && found[0].says.contains(field.name()), "{found:?}");
        assert!(found[0].next.contains(&start), "{found:?}");
    }
}

#[test]
fn each_field_that_is_there_twice_is_told_with_both_lines() {
    let text = write(&example());
    for field in Field::ALL {
        let start = format!("- {}:", field.name());
        let line = text.lines().find(|line| line.starts_with(&start)).unwrap();
        let at = text.lines().position(|other| other == line).unwrap() + 1;
        let doubled = text.replacen(line, &format!("{line}\n{line}"), 1);
        let found = read("x.md", &doubled).findings;
        assert_eq!(found.len(), 1, "{found:?}");
        let says = &found[0].says;
        assert!(says.contains("twice") && says.contains(&format!("line {at}")), "{says}");
        assert_eq!(found[0].line, Some(u32::try_from(at).unwrap() + 1));
    }
}

#[test]
fn each_field_of_another_form_is_told_with_its_line() {
    let wrong = [
        (Field::Iteration, vec!["7", "007", "-0007", "0007a", "", "iter-0007", "９９９９", "99999999999"]),
        (Field::Parent, vec!["0006", "iter-6", "", "iter-", "itself"]),
        (Field::SliceId, vec!["S-1", "1", "", "S-0000", "T-0001", "S-abcd"]),
        (Field::Slice, vec!["", "none", "TBD", "<one sentence>"]),
        (Field::Cap, vec!["", "in: src/**", "All. in: **", "Up. in: ../x"]),
        (Field::IterationGate, vec!["", "build; verify", "the fast ones!", "a,,b"]),
        (Field::ExitGate, vec!["", "build verify"]),
        (Field::LastRun, vec!["", "maybe", "iteration, exit", "none"]),
        (Field::LastOutcome, vec!["", "green", "none"]),
        (Field::IterationFails, vec!["", "-1", "two", "1.0", "+1", "99999999999"]),
        (Field::ExitFails, vec!["", "0 of 3", "zero"]),
    ];
    let text = write(&example());
    for (field, values) in wrong {
        let start = format!("- {}:", field.name());
        let line = text.lines().find(|line| line.starts_with(&start)).unwrap();
        for value in values {
            let found = read("x.md", &text.replacen(line, &format!("{start} {value}"), 1)).findings;
            assert!(
                !found.is_empty() && found.iter().all(|one| one.rule == "SNP-01"),
                "{field:?} {value:?}: {found:?}"
            );
            assert!(found.iter().all(|one| one.line.is_some_and(|line| line > 1)), "{found:?}");
        }
    }
}

#[test]
fn an_issue_has_one_next_action_and_a_resolved_one_its_check() {
    let text = write(&example());
    for wrong in ["", " Next action: fix Next action: re-plan", " Next action: pray", " Next action: fix / re-plan"] {
        let found = rules(&text.replace(" Next action: re-scout", wrong));
        assert_eq!(found.iter().map(|(rule, _)| rule.as_str()).collect::<Vec<_>>(), ["SNP-09"], "{wrong:?}");
    }
    for wrong in ["", " Closed by:", " Closed by: none"] {
        let closed = " Closed by: expand PASS on 0123456789ab (record 9)";
        let found = rules(&text.replace(closed, wrong));
        assert_eq!(found.iter().map(|(rule, _)| rule.as_str()).collect::<Vec<_>>(), ["SNP-09"], "{wrong:?}");
    }
}

#[test]
fn each_section_is_there_once() {
    let text = write(&example());
    for heading in ["## Evidence", "## Consolidated", "## Issues", "### Open", "### Resolved"] {
        let line = text.lines().find(|line| line.starts_with(heading)).unwrap();
        let missing = read("x.md", &text.replacen(line, "## Something else", 1)).findings;
        assert!(missing.iter().any(|one| one.rule == "SNP-01" && one.says.contains("is missing")), "{missing:?}");
        let twice = read("x.md", &format!("{text}\n{line}\n\n- F-0009: x\n")).findings;
        assert!(twice.iter().any(|one| one.says.contains("twice")), "{heading} {twice:?}");
    }
}

/// What begins a section in some other line is somebody's sentence.
#[test]
fn a_sentence_that_begins_like_a_section_is_an_entry() {
    let text = write(&example());
    for says in [
        "Issues (3) were open on Monday.",
        "Issues - three of them - are about dates.",
        "Evidence — as far as there is any — is in `src/`.",
        "Open Issues (see the tracker) name the zone.",
        "**Issues** — all but one — are about dates.",
    ] {
        let more = text.replacen("- F-0003: ", &format!("- {says}\n- F-0003: "), 1);
        assert_eq!(whole(&more).evidence[0].text, says);
        let wrapped = text.replacen("has `fn zone`.", &format!("has `fn zone`.\n  {says}"), 1);
        assert!(whole(&wrapped).evidence[0].text.ends_with(says), "{says}");
    }
    let listed = text
        .replace("## Evidence (Scout Findings) — NON-AUTHORITATIVE", "1. Evidence (Scout Findings)")
        .replace("## Issues (State)", "- Issues:")
        .replace("### Open Issues", "* **Open Issues — as of today**");
    assert_eq!(whole(&listed), example());
}

#[test]
fn what_is_in_a_code_block_or_hidden_is_no_header() {
    let text = write(&example());
    let hidden = text.replacen("- Slice ID: S-0001", "<!--\n- Slice ID: S-0001\n-->", 1);
    assert!(read("x.md", &hidden).findings[0].says.contains("Slice ID"));
    let coded = text.replacen("- Slice ID: S-0001", "```\n- Slice ID: S-0001\n```", 1);
    assert!(read("x.md", &coded).findings[0].says.contains("Slice ID"));
}

#[test]
fn only_what_is_seen_as_a_heading_is_one() {
    let text = write(&example());
    let in_evidence =
        |lines: &str| text.replacen("## Consolidated Context", &format!("{lines}\n\n## Consolidated Context"), 1);
    for kept in [
        "- It says:\n> ## Install\n> by hand",
        "- It says:\n\n    # make all\n    make",
        "- The fourth line is\n  # of the title",
        "- It begins with `<!--` and never ends",
        "```html\n<!-- it says ```so\n```\n- And more",
        "### Of the parser\n\n- It has two states",
    ] {
        let read = read("x.md", &in_evidence(kept));
        assert_eq!(read.findings, [], "{kept}");
        assert!(read.evidence.len() > example().evidence.len(), "{kept}");
    }
    for other in
        ["Plan\n====\n\nRewrite it.", "Plan\n----\n\nRewrite it.", "## Plan\n\nRewrite it.", "# Plan\n\nRewrite it."]
    {
        let read = read("x.md", &in_evidence(other));
        assert_eq!(read.findings.len(), 1, "{other}: {:?}", read.findings);
        assert!(read.findings[0].says.contains("`Plan` is no section"), "{other}: {:?}", read.findings);
        assert_eq!(read.evidence.len(), example().evidence.len(), "{other}");
    }
    // Below words in bold a heading can be deeper, too.
    let bold =
        text.replace("## Evidence", "**Evidence**").replacen("**Evidence**", "**Evidence**\n\n### Of the parser", 1);
    assert_eq!(read("x.md", &bold).findings, []);
    let above = text.replacen("## Evidence", "## Notes\n\n- F-0099: It is there (shown by: a.rs).\n\n## Evidence", 1);
    assert!(
        read("x.md", &above).findings[0].says.contains("above the sections"),
        "{:?}",
        read("x.md", &above).findings
    );
}

#[test]
fn entries_without_a_number_get_the_next() {
    let text = write(&example()).replace("- F-0003: ", "- ").replace("- I-0004: ", "* ");
    let read = read("x.md", &text);
    let whole = read.whole(10, 20).unwrap();
    assert_eq!((whole.evidence[0].id, whole.open[0].id), (FactId(11), IssueId(21)));
    assert_eq!(whole.context[0].id, FactId(1), "a number that is there stays");
}

#[test]
fn the_same_number_twice_is_told() {
    let text = write(&example()).replace("- F-0003: ", "- F-0003: once\n- F-0003: ");
    assert_eq!(rules(&text).len(), 1);
    let text = write(&example()).replace("- I-0002: ", "- I-0004: ");
    assert_eq!(rules(&text).len(), 1, "open and resolved are one list of names");
}

#[test]
fn a_large_file_ends_in_one_answer() {
    let found = read("x.md", &"- F-0001: x\n".repeat(1_000_000)).findings;
    assert_eq!(found.len(), 1);
    assert!(found[0].says.contains("bytes"), "{found:?}");
}

#[test]
fn nothing_is_no_snapshot() {
    for text in ["", "\n\n", "\u{feff}", "hello", "🧭🧭🧭", "\0\0\0", "```"] {
        let read = read("x.md", text);
        assert_eq!(read.findings.len(), Field::ALL.len() + 5, "{text:?}");
        assert!(read.whole(0, 0).is_none());
    }
}

#[test]
fn names_are_told_by_their_form() {
    let number = |path: &str| number_of(path, ChangeNumber(7));
    assert_eq!(number("agent/context/iter-0007.md"), Some(7));
    assert_eq!(number("agent/context/iter-12345.md"), Some(12_345));
    assert_eq!(number(&path_of(ChangeNumber(7), 12)), Some(12));
    for none in [
        "agent/context/iter-7.md",
        "agent/context/iter-00007.md",
        "iter-0007.md",
        "agent/context/iter-+007.md",
        "agent/context/pr-8/iter-0007.md",
        "agent/context/pr-7/latest.md",
        "agent/context/pr-7/pr-7/iter-0007.md",
    ] {
        assert_eq!(number(none), None, "{none}");
    }
    assert_eq!(cited("by F-0003, (F-0012) and AF-0001, F-12, F-0004x, F-0005."), [FactId(3), FactId(12), FactId(5)]);
}

fn words() -> impl Strategy<Value = String> {
    "[A-Za-z][a-z0-9`*_é🧭:/.-]{0,12}( [a-zA-Z0-9`é/.-]{1,9}){0,6}".prop_map(|text| format!("x{}", line(&text)))
}

prop_compose! {
    fn snapshots()(
        iteration in 2_u32..20_000,
        slice in 1_u32..9_999,
        texts in proptest::collection::vec(words(), 6),
        fails in (0_u32..9, 0_u32..9),
        last in proptest::option::of((any::<bool>(), any::<bool>())),
        evidence in proptest::collection::btree_map(1_u32..9_999, words(), 0..5),
        context in proptest::collection::btree_map(1_u32..9_999, words(), 0..5),
        open in proptest::collection::btree_map(1_u32..4_000, (words(), 0_usize..3), 0..4),
        resolved in proptest::collection::btree_map(4_000_u32..9_999, (words(), words()), 0..4),
    ) -> Snapshot {
        let fact = |(id, text): (u32, String)| Fact { id: FactId(id), text };
        Snapshot {
            iteration,
            parent: Some(iteration - 1),
            slice_id: SliceId(slice),
            slice: texts[0].clone(),
            cap: Cap { says: "Some words.".to_owned(), within: vec!["src/**".to_owned()], without: Vec::new() },
            gates: Gates { iteration: vec!["build".to_owned()], exit: Vec::new() },
            last: last.map(|(exit, pass)| (
                if exit { Kind::Exit } else { Kind::Iteration },
                if pass { Verdict::Pass } else { Verdict::Fail },
            )),
            fails: Fails { iteration: fails.0, exit: fails.1 },
            evidence: evidence.into_iter().map(fact).collect(),
            context: context.into_iter().map(fact).collect(),
            open: open.into_iter().map(|(id, (text, at))| Open { id: IssueId(id), text, action: Action::ALL[at] }).collect(),
            resolved: resolved.into_iter().map(|(id, (text, by))| Resolved { id: IssueId(id), text, by }).collect(),
        }
    }
}

proptest! {
    #[test]
    fn every_snapshot_is_read_back(snapshot in snapshots()) {
        let read = read("x.md", &write(&snapshot));
        prop_assert_eq!(&read.findings, &[]);
        prop_assert_eq!(read.whole(0, 0), Some(snapshot));
    }

    #[test]
    fn any_text_ends_in_an_answer(text in "\\PC{0,400}") {
        let read = read("x.md", &text);
        prop_assert!(!read.findings.is_empty());
    }

    #[test]
    fn a_torn_file_is_never_taken_for_whole(snapshot in snapshots(), at in 0_usize..4_000) {
        let text = write(&snapshot);
        let at = (0..=at.min(text.len() - 1)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        if let Some(got) = read("x.md", &text[..at]).whole(0, 0) {
            // What is missing at the very end can't be seen: the last entry's last words.
            prop_assert_eq!(got.fails, snapshot.fails);
            prop_assert_eq!(got.open, snapshot.open);
        }
    }
}

/// What means something in a snapshot, a report or a proposal, and what is to mean nothing.
const PIECES: [&str; 64] = [
    "\n",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    " ",
    "    ",
    "\t",
    "- ",
    "* ",
    "+ ",
    "1. ",
    "7) ",
    "> ",
    "# ",
    "## ",
    "#### ",
    "**",
    "__",
    "`",
    "```\n",
    "~~~\n",
    "<!--",
    "-->",
    "<!-- x -->",
    "---\n",
    "===\n",
    "- [ ] ",
    "- [x] ",
    "| a | b |\n|---|---|\n",
    "Iteration: 0008",
    "Parent snapshot: iter-0007",
    "Slice ID: S-0002",
    "- Slice: ",
    "Scope cap: All. in: src/** out: none",
    "in: ",
    "Gate (exit): none",
    "Last gate run: exit",
    "Last gate outcome: FAIL",
    "Consecutive Exit FAILs: 4",
    "## Evidence\n",
    "## Consolidated Context (x)\n",
    "## Issues\n",
    "### Open Issues\n",
    "### Resolved This Iteration\n",
    "F-0001: ",
    "F-0003",
    "F-90000: ",
    "I-0004: ",
    "[I-0001] ",
    " Next action: fix",
    "Next action: re-plan",
    "**Next action:** re-scout",
    " Closed by: a run",
    "None.",
    "none",
    "TBD",
    ":",
    "—",
    "\u{feff}",
    "\u{202e}",
    "\0",
    "🧭é",
    "x",
];

fn pieces(most: usize) -> impl Strategy<Value = String> {
    let one = prop_oneof![4 => proptest::sample::select(&PIECES[..]).prop_map(str::to_owned), 1 => "[a-zA-Z0-9 .,:()-]{1,12}"];
    proptest::collection::vec(one, 0..most).prop_map(|all| all.concat())
}

type Edit = (prop::sample::Index, usize, String);

pub(crate) fn edits() -> impl Strategy<Value = Vec<Edit>> {
    proptest::collection::vec((any::<prop::sample::Index>(), 0_usize..12, pieces(4)), 1..6)
}

/// A file that was edited in a few places.
pub(crate) fn edited(mut text: String, edits: Vec<Edit>) -> String {
    for (at, gone, put) in edits {
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let start = at.index(places.len());
        let end = (start + gone).min(places.len() - 1);
        text.replace_range(places[start]..places[end], &put);
    }
    text
}

/// A good file that was edited, or nothing like one.
fn hostile() -> impl Strategy<Value = String> {
    let good = (snapshots(), edits()).prop_map(|(snapshot, edits)| edited(write(&snapshot), edits));
    prop_oneof![3 => good, 1 => pieces(120)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    /// Whatever is in a file ends in an answer with lines that it has; what is taken for a snapshot keeps the limits, and is
    /// read back as it was from what the writer makes of it.
    #[test]
    fn what_is_read_is_written_and_read_back(text in hostile()) {
        let once = read("agent/context/iter-0007.md", &text);
        let end = if text.contains('\n') { '\n' } else { '\r' };
        let lines = u32::try_from(text.split(end).count()).unwrap();
        prop_assert!(once.findings.iter().all(|one| one.line.is_none_or(|line| (1..=lines).contains(&line))));
        let Some(got) = once.whole(10, 10) else {
            prop_assert!(!once.findings.is_empty());
            return Ok(());
        };
        prop_assert!(got.evidence.len() <= MOST_FACTS && got.context.len() <= MOST_FACTS && got.open.len() <= MOST_ISSUES);
        prop_assert!(got.evidence.iter().chain(&got.context).all(|fact| fact.text.chars().count() <= LONGEST));
        let written = write(&got);
        let again = read("agent/context/iter-0007.md", &written);
        prop_assert_eq!(&again.findings, &[], "{}", written);
        prop_assert_eq!(again.whole(10, 10), Some(got), "{}", written);
    }
}

/// The largest file, of one piece again and again, is read to its end: nothing in it is looked at from every other place.
#[test]
fn a_file_of_one_piece_is_read_to_its_end() {
    let head = write(&example());
    for piece in PIECES {
        let text = format!("{head}{}", piece.repeat((LARGEST - head.len()) / piece.len()));
        let read = read("x.md", &text);
        assert!(read.whole(0, 0).is_some() || !read.findings.is_empty(), "{piece:?}");
    }
}
