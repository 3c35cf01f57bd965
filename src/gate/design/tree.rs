//! Whether the directory structure is a tree of paths, and which.

use super::super::paper::{Cell, Line, Paper, Part, Piece, text};
use super::super::papers::{DESIGN, Desk, Found, excerpt};
use super::said;

const MARKS: [char; 12] = ['├', '└', '│', '─', '|', '-', '+', '`', '╰', '┬', '\u{a0}', '*'];

pub(super) fn is_none(desk: &Desk<'_>) -> Vec<Found> {
    let Some(part) = desk.design.as_ref().and_then(|paper| said(paper, "Directory Structure")) else {
        return Vec::new();
    };
    let mut lines = drawn(&part);
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

/// The lines of a tree that is drawn in a code block.
fn drawn(part: &Part<'_>) -> Vec<Line> {
    part.all_code().into_iter().flat_map(|code| code.lines).collect()
}

/// A path that the design names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::gate) struct Named {
    pub(in crate::gate) line: u32,
    /// From the root of the tree, without a slash at its end.
    pub(in crate::gate) path: String,
    /// Whether more of it is named below.
    pub(in crate::gate) has_children: bool,
    /// Whether it may have more below it than is named: `…`, `*.py`, `01.txt … 30.txt`.
    pub(in crate::gate) is_open: bool,
    /// Not where the line says that it is generated, or comes later.
    pub(in crate::gate) is_required: bool,
}

/// The paths of the directory structure.
pub(in crate::gate) fn named(design: &Paper) -> Vec<Named> {
    let Some(part) = said(design, "Directory Structure") else { return Vec::new() };
    let lines = drawn(&part);
    if !lines.is_empty() {
        return nested(&lines);
    }
    // How deep an entry stands in a list is not kept: what has entries below it is open.
    let mut all = Vec::new();
    for item in part.listed() {
        let below = item.entries.len() > 1 && item.cells.is_empty();
        let first = paths(item).into_iter().next();
        if let Some(mut one) = first.and_then(|line| nested(&[line]).pop()) {
            one.is_open |= below;
            all.push(one);
        }
    }
    all
}

/// A line without what draws the tree. A star with something at it is a pattern, and no mark of a list.
fn unmarked(line: &str) -> &str {
    let bare = line.trim_start_matches(|c: char| c.is_whitespace() || MARKS.contains(&c));
    let before = &line[..line.len() - bare.len()];
    &line[before.trim_end_matches('*').len()..]
}

/// `{a,b}.py` as what it stands for; nothing where it is some other pattern.
fn alternatives(path: &str) -> Vec<String> {
    let parts = path.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    let Some((before, (inside, after))) = parts else { return Vec::new() };
    let is_plain = |part: &str| !part.contains(['*', '<', '{', '$', '…', '.']);
    if !inside.contains(',')
        || !is_plain(before)
        || !inside.split(',').all(|one| is_plain(one) && !one.trim().is_empty())
        || after.contains(['*', '<', '{', '$'])
    {
        return Vec::new();
    }
    inside.split(',').map(|one| format!("{before}{}{after}", one.trim())).collect()
}

/// Paths by how far their lines are indented.
fn nested(lines: &[Line]) -> Vec<Named> {
    let mut all: Vec<Named> = Vec::new();
    // The indent of each folder that is open, and which it is.
    let mut open: Vec<(usize, usize)> = Vec::new();
    for line in lines {
        let bare = unmarked(&line.text);
        let indent = line.text.chars().count() - bare.chars().count();
        let elided = matches!(bare.split_whitespace().next(), Some("..." | "…" | "etc." | "etc"));
        let Some(path) = path_of(&line.text).ok().flatten().or(elided.then_some("…")) else { continue };
        while open.last().is_some_and(|(above, _)| *above >= indent) {
            open.pop();
        }
        let parent = open.last().map(|(_, parent)| *parent);
        let ranged = [" … ", " ... ", " .. "].iter().any(|mark| line.text.contains(mark));
        let many = path.contains(['*', '<', '{', '$']) && alternatives(path).is_empty() || ranged || elided;
        if let Some(parent) = parent {
            all[parent].has_children = true;
            all[parent].is_open |= many && !path.trim_end_matches('/').contains('/');
        }
        if elided {
            continue;
        }
        let own = path.trim_start_matches("./").trim_end_matches('/');
        let several = alternatives(own);
        // Of what stands for many, the folder is known.
        let known = match own.find(['*', '<', '{', '$']) {
            Some(at) => own[..at].rsplit_once('/').map_or("", |(folder, _)| folder),
            None if ranged => own.rsplit_once('/').map_or("", |(folder, _)| folder),
            None => own,
        };
        if (known.is_empty() || known == ".") && several.is_empty() {
            continue;
        }
        let above = parent.map(|parent| all[parent].path.clone());
        let path = match above {
            Some(above) => format!("{above}/{known}"),
            None => known.to_owned(),
        };
        let small = line.text.to_lowercase();
        let later = ["generated", "optional", "ignored", "not committed", "later", "planned", "deferred"];
        let is_required = !later.iter().any(|word| small.contains(word));
        if !several.is_empty() {
            let above = parent.map(|parent| format!("{}/", all[parent].path)).unwrap_or_default();
            let each = several.into_iter().map(|one| Named {
                line: line.at,
                path: format!("{above}{one}"),
                has_children: false,
                is_open: false,
                is_required,
            });
            all.extend(each);
            continue;
        }
        // `src/  # the function, …`, `src/ …   # all of it`
        let is_open = many
            || ends_open(&line.text)
            || line.text.trim_end().ends_with('…')
            || line.text.trim_end().ends_with("...");
        all.push(Named { line: line.at, path, has_children: false, is_open, is_required });
        open.push((indent, all.len() - 1));
    }
    all
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
    let marked = line.contains(['├', '└', '│']) || line.contains("|--") || line.contains("+--");
    Ok(path_of(line)?.map(|path| marked || path.contains(['/', '.'])))
}

/// A path without what says that there is more below it: `src/…`, `src/ ...`.
fn closed(path: &str) -> &str {
    let end = path.trim_end_matches('…');
    let end = if end.len() == path.len() { path.strip_suffix("...").unwrap_or(path) } else { end };
    if end.trim_end().ends_with('/') { end.trim_end() } else { path }
}

fn ends_open(line: &str) -> bool {
    written(line).is_some_and(|path| closed(path).len() < path.len())
}

/// What stands as a path on a line, before what is said of it.
fn written(line: &str) -> Option<&str> {
    let bare = unmarked(line);
    let end = [" #", "\t#", " //", " —", " –", ": ", " (", " - ", " <-", " ←", " [", "  "]
        .iter()
        .filter_map(|mark| bare.find(mark))
        .min();
    let path = end.map_or(bare, |end| &bare[..end]).trim().trim_end_matches(':').trim_matches('`').trim();
    (!path.is_empty()).then_some(path)
}

/// The path of a line, or the first of several that it stands for.
fn path_of(line: &str) -> Result<Option<&str>, ()> {
    let bare = unmarked(line);
    let path = closed(written(line).unwrap_or_default());
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
    Ok(Some(path))
}

#[cfg(test)]
mod tests {
    use super::{Line, Named, nested, path_in};

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

    fn tree(text: &str) -> Vec<Named> {
        let lines = (1..).zip(text.lines()).map(|(at, line)| Line { at, text: line.to_owned() });
        nested(&lines.collect::<Vec<_>>())
    }

    #[test]
    fn a_path_is_known_by_where_it_stands() {
        let drawn = tree(
            "lantern/\n├── src/\n│   ├── main.py  # the entry\n│   └── levels/\n└── tests/\n    └── test_main.py\n",
        );
        let paths: Vec<(&str, bool)> = drawn.iter().map(|one| (one.path.as_str(), one.has_children)).collect();
        let expected = [
            ("lantern", true),
            ("lantern/src", true),
            ("lantern/src/main.py", false),
            ("lantern/src/levels", false),
            ("lantern/tests", true),
            ("lantern/tests/test_main.py", false),
        ];
        assert_eq!(paths, expected);
        let open = tree(
            "src/\n  a.py\n  …\nweb/*.ts\nlib/  # more, …\nrecipes/01.txt … 30.txt\ndist/  # generated\nsrc/b/c.py\nx/ …\ny/…\nz/...   # all\n└── w/ ...\n",
        );
        let told: Vec<(&str, bool, bool)> =
            open.iter().map(|one| (one.path.as_str(), one.is_open, one.is_required)).collect();
        let expected = [
            ("src", true, true),
            ("src/a.py", false, true),
            ("web", true, true),
            ("lib", true, true),
            ("recipes", true, true),
            ("dist", false, false),
            ("src/b/c.py", false, true),
            ("x", true, true),
            ("y", true, true),
            ("z", true, true),
            ("z/w", true, true),
        ];
        assert_eq!(told, expected);
        let many = tree("migrations/\n  *.sql\n└── db/\n    └── *.py\n* lib/\nweb/\n  {a,b}.ts\n");
        let told: Vec<(&str, bool, bool)> =
            many.iter().map(|one| (one.path.as_str(), one.has_children, one.is_open)).collect();
        let expected = [
            ("migrations", true, true),
            ("migrations/db", true, true),
            ("migrations/lib", false, false),
            ("web", true, false),
            ("web/a.ts", false, false),
            ("web/b.ts", false, false),
        ];
        assert_eq!(told, expected);
        assert_eq!((path_in("src/ …"), path_in("src/…"), path_in("…")), (Ok(Some(true)), Ok(Some(true)), Ok(None)));
    }
}
