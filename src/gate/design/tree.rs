//! Whether the directory structure is a tree of paths.

use super::super::paper::{Cell, Line, Piece, text};
use super::super::papers::{DESIGN, Desk, Found, excerpt};
use super::said;

const MARKS: [char; 12] = ['├', '└', '│', '─', '|', '-', '+', '`', '╰', '┬', '\u{a0}', '*'];

pub(super) fn is_none(desk: &Desk<'_>) -> Vec<Found> {
    let Some(part) = desk.design.as_ref().and_then(|paper| said(paper, "Directory Structure")) else {
        return Vec::new();
    };
    let mut lines: Vec<Line> = part.all_code().into_iter().flat_map(|code| code.lines).collect();
    if lines.is_empty() {
        lines = part.listed().into_iter().flat_map(paths).collect();
    }
    let mut shown = false;
    for line in &lines {
        match path_in(&line.text) {
            Ok(None) => {}
            Ok(Some(tree)) => shown |= tree,
            Err(()) => {
                let says = format!("“{}” in the directory structure is no path.", excerpt(&line.text));
                return vec![Found::at(DESIGN, line.at, says)];
            }
        }
    }
    if shown {
        return Vec::new();
    }
    vec![Found::at(DESIGN, part.line, "The directory structure is no tree of paths.")]
}

/// The lines of an entry with what is below it, or the paths of a row: a column of its own, or the first.
fn paths(item: Piece) -> Vec<Line> {
    let named = |cell: &&Cell| {
        let is_path = |word: &String| matches!(word.as_str(), "path" | "file" | "directory" | "folder");
        text::words(&cell.header).iter().any(is_path)
    };
    match item.cells.iter().find(named).or(item.cells.first()) {
        Some(cell) => vec![Line { at: item.line, text: cell.text.clone() }],
        None => item.entries,
    }
}

/// The path of a line: `None` where it has none to have, otherwise whether it shows that this is a tree.
fn path_in(line: &str) -> Result<Option<bool>, ()> {
    let bare = line.trim_start_matches(|c: char| c.is_whitespace() || MARKS.contains(&c));
    let marked = line.contains(['├', '└', '│']) || line.contains("|--") || line.contains("+--");
    let end = [" #", "\t#", " //", " —", " –", ": ", " (", " - ", " <-", " ←", " [", "  "]
        .iter()
        .filter_map(|mark| bare.find(mark))
        .min();
    let path = end.map_or(bare, |end| &bare[..end]).trim().trim_end_matches(':').trim_matches('`').trim();
    // What `tree` prints below it, and how it was called.
    let counts = |word: &String| {
        matches!(word.as_str(), "directories" | "directory" | "file" | "files")
            || word.bytes().all(|b| b.is_ascii_digit())
    };
    if bare.starts_with("$ ") || bare.contains(' ') && text::words(bare).iter().all(counts) {
        return Ok(None);
    }
    let comment = path.starts_with('#') || path.starts_with("//") || path.starts_with('(');
    if path.is_empty() || comment || matches!(path, "..." | "…" | "etc." | "etc") {
        return Ok(None);
    }
    // `recipes/01.txt … 30.txt`
    let range = [" … ", " ... ", " .. "].iter().find_map(|mark| path.split_once(mark));
    let path = range.filter(|(_, last)| !last.contains(char::is_whitespace)).map_or(path, |(first, _)| first);
    if path.contains(char::is_whitespace) || !path.contains(|c: char| c.is_alphanumeric() || matches!(c, '.' | '/')) {
        return Err(());
    }
    Ok(Some(marked || path.contains(['/', '.'])))
}

#[cfg(test)]
mod tests {
    use super::path_in;

    #[test]
    fn a_line_of_a_tree_is_one_path() {
        for line in [
            "├── src/",
            "│   └── main.rs  # the entry",
            "    |-- tests",
            "src/lib.rs: the library",
            "- docs/ (for people)",
            "a/b — c d",
            "main.rs   the entry",
            "├── lib.rs [new]",
            "recipes/01.txt … 30.txt",
        ] {
            assert_eq!(path_in(line), Ok(Some(true)), "{line}");
        }
        assert_eq!(path_in("src"), Ok(Some(false)));
        for line in ["", "│", "...", "# all of it", "└── …", "1 directory, 2 files", "$ tree src"] {
            assert_eq!(path_in(line), Ok(None), "{line}");
        }
        for line in ["the source code", "├── some words here"] {
            assert_eq!(path_in(line), Err(()), "{line}");
        }
    }
}
