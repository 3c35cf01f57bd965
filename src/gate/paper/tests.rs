//! The model by itself: lines, bounds, and what decoration must not change.

use proptest::prelude::*;

use super::*;
use crate::engine::kit::{good_papers, sheet};
use crate::flow::Phase;
use crate::gate::papers::{Papers, judge};
use crate::policy::Policy;
use crate::rehearsal::papers as good;

fn read(text: &str) -> Paper {
    Paper::read(text, names::SCOPE).unwrap()
}

fn items(text: &str, section: &str) -> Vec<(u32, String)> {
    let paper = read(text);
    let part = paper.section(section).unwrap();
    part.items().into_iter().map(|item| (item.line, item.text)).collect()
}

#[test]
fn lines_are_those_of_the_file() {
    for (before, shift) in
        [("", 0), ("\u{feff}", 0), ("---\na: b\n---\n", 3), ("+++\n+++\n", 2), ("<!-- a\nb -->\n", 2)]
    {
        let text = format!("{before}# Stack\n\n- one\n- two\n  wrapped\n\nafter\n");
        for text in [text.clone(), text.replace('\n', "\r\n")] {
            let at = |line: u32| line + shift;
            assert_eq!(
                items(&text, "Stack"),
                [(at(3), "one".to_owned()), (at(4), "two wrapped".to_owned())],
                "{text:?}"
            );
            assert_eq!(read(&text).section("Stack").unwrap().line, at(1));
        }
    }
}

#[test]
fn a_section_ends_where_another_begins() {
    let text = "# Scope\n## Problem\na\n### Why\nb\n## Other\nc\n#### Stack\nd\n## Stack\ne\n";
    let paper = read(text);
    assert_eq!(paper.section("Problem").unwrap().text().lines().collect::<Vec<_>>(), ["a", "Why", "b"]);
    assert_eq!(paper.section("Stack").unwrap().text().lines().collect::<Vec<_>>(), ["d", "e"]);
    assert!(paper.section("Deferred").is_none());
    assert!(read("```\n# Stack\n```\n").section("Stack").is_none());
}

#[test]
fn items_are_entries_rows_sub_headings_or_paragraphs() {
    let texts = |body: &str| {
        items(&format!("# Criteria\n{body}"), "Acceptance Criteria")
            .into_iter()
            .map(|(_, text)| text)
            .collect::<Vec<_>>()
    };
    assert_eq!(texts("intro\n\n- a\n  - b\n- [x] c\n- TBD\n"), ["a\nb", "c"]);
    assert_eq!(texts("| id | what |\n|---|---|\n| AC-1 | x |\n| | |\n"), ["AC-1\nx"]);
    assert_eq!(texts("## AC-1\n- given\n- then\n## AC-2\nb\n"), ["AC-1\ngiven\nthen", "AC-2\nb"]);
    assert_eq!(texts("## Group\n- AC-1 a\n- AC-2 b\n"), ["AC-1 a", "AC-2 b"]);
    assert_eq!(texts("one\n\ntwo\n"), ["one", "two"]);
    assert_eq!(texts("> - quoted\n"), ["quoted"]);
    assert_eq!(texts("<p>in html</p>\n"), ["in html"]);
}

/// Each of these is a megabyte that some reader of Markdown takes minutes for. That they end is the test; a run that does
/// not would be ended by the test runner.
#[test]
fn a_hostile_document_ends_in_an_answer() {
    let policy = Policy::default();
    // Without optimisation a part of it has to do.
    let largest = if cfg!(fault_points) { LARGEST / 256 } else { LARGEST };
    let mega = |piece: &str| piece.repeat(largest / piece.len());
    let lines = |piece: &str| piece.repeat((largest / piece.len()).min(MOST_LINES - 10));
    for text in [
        mega("["),
        mega("![["),
        mega("*a "),
        mega("**a _b "),
        mega("`"),
        mega("<"),
        mega("<!--"),
        mega("> "),
        mega("- "),
        mega("1. "),
        mega("a|"),
        mega("&amp;"),
        mega("(x: "),
        mega("AC-1 "),
        mega("AC-1–AC-9 "),
        mega("answer: "),
        mega("later deferred "),
        lines("| a | b | c | d | e | f | g | h |\n"),
        lines("# Criteria AC-1 TBD\n"),
        lines("**Stack**\n\n"),
        lines("- AC-1 … AC-999: design test run\n"),
        lines("[a]: b\n"),
        format!("{}{}", "- ".repeat(99), "\n".repeat(largest / 60)),
        format!("# {}\n\nTBD {}", mega("x y ").split_at(largest / 2).0, "x ".repeat(largest / 8)),
    ] {
        for (section, phase) in
            [("Acceptance Criteria", Phase::Expand), ("Open Questions", Phase::Design), ("Key Links", Phase::Analyze)]
        {
            let text: String = format!("# {section}\n\n{text}").chars().take(LARGEST).collect();
            let paper = Some(sheet(&text));
            let papers = match phase {
                Phase::Expand => Papers { scope: paper, ..good_papers() },
                Phase::Design => Papers { design: paper, ..good_papers() },
                _ => Papers { readiness: paper, ..good_papers() },
            };
            assert!(!judge(phase, &papers, &policy).is_empty());
        }
    }
}

/// A way of writing the same, and by how many lines it shifts.
fn rewritten(text: &str, how: usize) -> (String, u32) {
    match how {
        0 => (text.replace("\n## ", "\n#### "), 0),
        1 => (text.replace('\n', "\r\n"), 0),
        2 => (text.replace("\n## ", "\n## 3.1) "), 0),
        3 => (format!("---\ntitle: x\n---\n{text}"), 3),
        4 => (format!("\u{feff}{text}"), 0),
        5 => (text.replace("\n- ", "\n* "), 0),
        6 => (text.replace("\n## ", "\n## IV. **").replace("**Stack", "**STACK"), 0),
        _ => (format!("<!-- a\ncomment -->\n\n{text}"), 3),
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "(#{1,3} |- |> |\\| |\\*\\*|`{1,3}|<|AC-1|\\[|\\]|:|\\?|\n|\r|[a-zé0-9.]| ){0,200}") {
        for phase in [Phase::Expand, Phase::Design, Phase::Analyze] {
            let one = Some(sheet(&text));
            let papers = Papers {
                scope: one.clone(), design: one.clone(), readiness: one.clone(), log: one.clone(),
                preferences: one.clone(), base_scope: one, inputs: vec!["docs/input/a".to_owned()],
                ..Papers::default()
            };
            let findings = judge(phase, &papers, &Policy::default());
            let lines = u32::try_from(text.lines().count().max(text.split('\r').count())).unwrap() + 1;
            prop_assert!(findings.iter().all(|finding| finding.line.is_none_or(|line| (1..=lines).contains(&line))));
        }
    }

    /// What was taken out of a good scope is found wherever and however the rest is written.
    #[test]
    fn decoration_changes_no_finding(gone in prop::collection::vec(any::<bool>(), 40), how in prop::collection::vec(0..8usize, 1..3)) {
        let kept: Vec<&str> = good::SCOPE.lines().enumerate().filter(|(n, _)| !gone.get(*n).copied().unwrap_or(false) || *n == 0).map(|(_, line)| line).collect();
        let text = kept.join("\n") + "\n";
        let found = |text: &str| judge(Phase::Expand, &Papers { scope: Some(sheet(text)), ..good_papers() }, &Policy::default());
        let (mut new, mut shift) = (text.clone(), 0);
        let mut how = how;
        // Front matter and the mark stand first, so they are put there last.
        how.sort_by_key(|how| match how { 7 => 1, 3 => 2, 4 => 3, _ => 0 });
        how.dedup();
        for how in how {
            let (next, by) = rewritten(&new, how);
            new = next;
            shift += by;
        }
        let shifted: Vec<_> = found(&text).into_iter().map(|finding| (finding.rule, finding.path, finding.line.map(|line| line + shift))).collect();
        let now: Vec<_> = found(&new).into_iter().map(|finding| (finding.rule, finding.path, finding.line)).collect();
        prop_assert_eq!(shifted, now, "{}", new);
    }
}
