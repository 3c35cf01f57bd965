//! Problems of a policy file for a terminal: the line, a caret, and what to do.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use super::problem::Problem;

/// Each problem with the line it stands on. The text carries colours: print it through `anstream`, which takes them
/// away where nobody sees them. Control characters of the source are shown, not sent to the terminal.
pub fn render_problems(name: &str, source: &[u8], problems: &[Problem]) -> String {
    let text = String::from_utf8_lossy(source);
    let lines: Vec<&str> = text.split('\n').collect();
    let renderer = Renderer::styled();
    let mut out = String::new();
    for problem in problems {
        let index = (problem.line.max(1) as usize - 1).min(lines.len().saturating_sub(1));
        // One line is enough context, and keeps a 256 KiB line from being laid out as a whole.
        let line: String =
            lines.get(index).copied().unwrap_or_default().trim_end_matches('\r').chars().take(400).collect();
        let title =
            if problem.path.is_empty() { problem.says.clone() } else { format!("{}: {}", problem.path, problem.says) };
        let level = if problem.is_error() { Level::ERROR } else { Level::WARNING };
        let group = level
            .primary_title(title)
            .id(problem.rule)
            .element(
                Snippet::source(line.clone())
                    .line_start(index + 1)
                    .path(name.to_owned())
                    .annotation(AnnotationKind::Primary.span(word(&line, problem.column))),
            )
            .element(Level::HELP.message(problem.next.clone()));
        out.push_str(&renderer.render(&[group]));
        out.push_str("\n\n");
    }
    out
}

/// The bytes of the word that starts at this column, for the caret.
fn word(line: &str, column: u32) -> Range<usize> {
    let skip = column.max(1) as usize - 1;
    let start = line.char_indices().nth(skip).map_or(line.len(), |(i, _)| i);
    let rest = &line[start..];
    let end = match rest.chars().next() {
        Some(quote @ ('"' | '\'')) => rest[1..].find(quote).map(|i| i + 2),
        _ => rest.find(|c: char| c.is_whitespace() || matches!(c, ',' | ']' | '}' | ':')),
    };
    start..start + end.unwrap_or(rest.len())
}
