//! What a pull request or a commit changes, line by line, with what checks say of a line under it.
//!
//! A page stays a page: so many files, lines and letters are shown, and what is left out is said.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::super::git::FileDiff;
use super::super::model::*;
use super::super::state::State;
use super::super::view::git::oid;
use super::pull::counted;
use super::safe;

/// The most that is shown.
const FILES: usize = 60;
const LINES: usize = 3_000;
const LINES_OF_A_FILE: usize = 600;
const LETTERS_OF_A_LINE: usize = 400;
/// A file with more lines is folded.
const UNFOLDED: usize = 80;

/// What a check says of a line.
pub(super) struct Note<'a> {
    pub(super) check: &'a str,
    pub(super) level: &'a str,
    pub(super) title: &'a str,
    pub(super) message: &'a str,
}

/// Where a check says something: a path at the head, and a line of it.
pub(super) type Spot = (String, u64);

/// What a run says of which line, as far as it names one.
pub(super) fn spot(note: &serde_json::Value) -> Option<Spot> {
    Some((note["path"].as_str()?.to_owned(), note["end_line"].as_u64().or(note["start_line"].as_u64())?))
}

/// What is changed, ready to be shown.
pub(super) struct Diff {
    files: Vec<FileDiff>,
}

/// One line of a patch.
enum Line<'a> {
    Hunk(&'a str),
    Same(u64, u64, &'a str),
    Added(u64, &'a str),
    Removed(u64, &'a str),
    /// `\ No newline at end of file`
    Remark(&'a str),
}

impl Diff {
    /// A pull request's: from where it left its base to its head.
    pub(super) fn of_pull(state: &State, repo: &Repo, pull: &Pull) -> Option<Self> {
        let git = state.git(repo.id).ok()?;
        let head = oid(&pull.head_sha).ok()?;
        let base = git.merge_base(oid(&pull.base_sha).ok()?, head);
        Some(Self { files: git.diff(base, head).ok()? })
    }

    pub(super) fn of(files: Vec<FileDiff>) -> Self {
        Self { files }
    }

    pub(super) fn count(&self) -> usize {
        self.files.len()
    }

    /// Whether a line of a file at the head is among those that are shown.
    pub(super) fn shows(&self, (path, line): &Spot) -> bool {
        let mut left = LINES;
        for file in self.files.iter().take(FILES) {
            let lines = lines(file, left);
            if file.path == *path {
                return lines
                    .iter()
                    .any(|shown| matches!(shown, Line::Same(_, new, _) | Line::Added(new, _) if new == line));
            }
            left -= lines.len();
        }
        false
    }

    /// All of it. `notes` is what checks say of the lines that are shown.
    pub(super) fn html(&self, notes: &BTreeMap<Spot, Vec<Note<'_>>>) -> String {
        let (added, removed) = self.files.iter().fold((0, 0), |(a, r), file| (a + file.additions, r + file.deletions));
        let mut out = format!(
            "<p class=\"sub\">{} changed, <span class=\"ok\">+{added}</span> <span class=\"bad\">−{removed}</span></p>",
            counted(self.files.len(), "file")
        );
        let mut left = LINES;
        for file in self.files.iter().take(FILES) {
            let lines = lines(file, left);
            left -= lines.len();
            let all = each(file).count();
            let noted = notes.keys().any(|(path, _)| *path == file.path);
            let open = if lines.len() <= UNFOLDED || noted { " open" } else { "" };
            let _ = write!(out, "<details class=\"box file\"{open}><summary>{}</summary>", title(file));
            if lines.is_empty() {
                let _ = write!(out, "<p class=\"pad sub\">{}</p>", without_lines(file, all > 0));
            } else {
                out.push_str(&table(file, &lines, notes));
            }
            if !lines.is_empty() && all > lines.len() {
                let _ = write!(out, "<p class=\"pad sub\">{} more lines are not shown.</p>", all - lines.len());
            }
            out.push_str("</details>");
        }
        if self.files.len() > FILES {
            let _ = write!(out, "<p class=\"sub\">{} more files are not shown.</p>", self.files.len() - FILES);
        }
        out
    }
}

/// A file's head line: its name, what happened to it, and how many lines.
fn title(file: &FileDiff) -> String {
    let path = safe(&file.path);
    let name = match &file.previous {
        Some(previous) => format!("<code>{}</code> → <code>{path}</code>", safe(previous)),
        None => format!("<code>{path}</code>"),
    };
    let word = match file.status {
        "modified" => String::new(),
        status => format!(" <span class=\"sub\">{status}</span>"),
    };
    let lines = match file.binary {
        true => "binary".to_owned(),
        false => {
            let (added, removed) = (file.additions, file.deletions);
            format!("<span class=\"ok\">+{added}</span> <span class=\"bad\">−{removed}</span>")
        }
    };
    format!("{name}{word} <span class=\"count\">{lines}</span>")
}

/// Why nothing is shown of a file.
fn without_lines(file: &FileDiff, too_much: bool) -> &'static str {
    match file.status {
        _ if too_much => "Not shown: there is too much above it.",
        _ if file.binary => "A binary file: not shown.",
        "renamed" | "copied" => "No line of it differs.",
        _ => "No lines: it is empty, or only its mode differs.",
    }
}

/// The lines of a file's patch, up to `most`.
fn lines(file: &FileDiff, most: usize) -> Vec<Line<'_>> {
    let (mut old, mut new) = (0, 0);
    let read = |line| {
        let (first, rest) = cut(line);
        match first {
            Some('@') if line.starts_with("@@ ") => {
                (old, new) = starts(line).unwrap_or((old, new));
                Line::Hunk(line)
            }
            Some('+') => {
                new += 1;
                Line::Added(new - 1, rest)
            }
            Some('-') => {
                old += 1;
                Line::Removed(old - 1, rest)
            }
            Some('\\') => Line::Remark(rest.trim_start()),
            _ => {
                (old, new) = (old + 1, new + 1);
                Line::Same(old - 1, new - 1, rest)
            }
        }
    };
    each(file).take(most.min(LINES_OF_A_FILE)).map(read).collect()
}

/// A patch's lines. Each has a mark in front, so none is empty.
fn each(file: &FileDiff) -> impl Iterator<Item = &str> {
    file.patch.as_deref().unwrap_or_default().split('\n').filter(|line| !line.is_empty())
}

/// A line's first letter, and what follows it.
fn cut(line: &str) -> (Option<char>, &str) {
    let mut letters = line.chars();
    (letters.next(), letters.as_str())
}

/// Where a hunk starts, in the old file and in the new one: `@@ -3,7 +3,9 @@`.
fn starts(hunk: &str) -> Option<(u64, u64)> {
    let mut parts = hunk.split(' ').skip(1).map(|part| part.get(1..)?.split(',').next()?.parse().ok());
    Some((parts.next()??, parts.next()??))
}

fn table(file: &FileDiff, lines: &[Line<'_>], notes: &BTreeMap<Spot, Vec<Note<'_>>>) -> String {
    let mut out = String::from("<table class=\"diff\"><tbody>");
    for line in lines {
        let (class, old, new, mark, text) = match *line {
            Line::Hunk(text) => ("hunk", None, None, ' ', text),
            Line::Same(old, new, text) => ("", Some(old), Some(new), ' ', text),
            Line::Added(new, text) => ("add", None, Some(new), '+', text),
            Line::Removed(old, text) => ("del", Some(old), None, '-', text),
            Line::Remark(text) => ("hunk", None, None, ' ', text),
        };
        let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
        let _ = write!(
            out,
            "<tr class=\"{class}\"><td>{}</td><td>{}</td><td><span>{mark}</span>{}</td></tr>",
            number(old),
            number(new),
            safe(&bounded(text))
        );
        let Some(spot) = new.map(|new| (file.path.clone(), new)) else { continue };
        for note in notes.get(&spot).into_iter().flatten() {
            let class = if note.level == "failure" { "bad" } else { "wait" };
            let title = if note.title.is_empty() { String::new() } else { format!("<b>{}</b>", safe(note.title)) };
            let _ = write!(
                out,
                "<tr class=\"note-row\"><td colspan=\"3\"><div class=\"finding {class}\"><span class=\"sub\">{} · {}</span>\
                 {title}<span>{}</span></div></td></tr>",
                safe(note.check),
                safe(note.level),
                safe(note.message)
            );
        }
    }
    out.push_str("</tbody></table>");
    out
}

/// A line that is not too long; a file may have no line breaks at all.
fn bounded(text: &str) -> String {
    match text.char_indices().nth(LETTERS_OF_A_LINE) {
        Some((at, _)) => format!("{} … ({} letters more)", &text[..at], text[at..].chars().count()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(patch: &str) -> FileDiff {
        FileDiff {
            path: "a.md".into(),
            previous: None,
            status: "modified",
            additions: 1,
            deletions: 1,
            blob: None,
            binary: false,
            patch: Some(patch.to_owned()),
        }
    }

    #[test]
    fn lines_have_their_numbers() {
        let of = file(
            "@@ -3,3 +3,3 @@ head\n same\n-old\n+new\n tail\n@@ -20 +20,2 @@\n x\n+y\n\\ No newline at end of file",
        );
        let told: Vec<String> = lines(&of, LINES)
            .iter()
            .map(|line| match line {
                Line::Hunk(_) => "@".to_owned(),
                Line::Same(old, new, text) => format!("{old} {new} {text}"),
                Line::Added(new, text) => format!("+{new} {text}"),
                Line::Removed(old, text) => format!("-{old} {text}"),
                Line::Remark(text) => (*text).to_owned(),
            })
            .collect();
        let wanted =
            ["@", "3 3 same", "-4 old", "+4 new", "5 5 tail", "@", "20 20 x", "+21 y", "No newline at end of file"];
        assert_eq!(told, wanted);
        let diff = Diff::of(vec![of]);
        assert!(diff.shows(&("a.md".into(), 4)) && diff.shows(&("a.md".into(), 21)));
        assert!(!diff.shows(&("a.md".into(), 10)) && !diff.shows(&("b.md".into(), 4)));
    }

    #[test]
    fn much_is_cut_and_said() {
        let many: String = (0..2_000).map(|n| format!("\n+{n}")).collect();
        let of = file(&format!("@@ -0,0 +1,2000 @@{many}"));
        assert_eq!(lines(&of, LINES).len(), LINES_OF_A_FILE);
        assert_eq!(lines(&of, 7).len(), 7);
        let long = "x".repeat(5_000);
        assert!(bounded(&long).ends_with("(4600 letters more)"));
        assert_eq!(bounded("é"), "é");
    }
}
