//! What an agent says that it saw, as an entry of a task's `EVIDENCE.md`. It is a claim and is written down as one: what it is held
//! by is in [`super::shown`].

use std::fmt::Write as _;

/// The file, in the task's folder.
pub const EVIDENCE: &str = "EVIDENCE.md";

/// What is claimed.
#[derive(Debug, Clone, Copy)]
pub struct Claimed<'a> {
    /// What was to be shown: an item of the plan, in its words.
    pub item: &'a str,
    pub command: Option<&'a str>,
    pub expected: Option<&'a str>,
    pub seen: &'a str,
    /// Where what came out lies, by its path in the task's folder.
    pub artefact: Option<&'a str>,
    /// On which content.
    pub on: &'a str,
    pub by: &'a str,
    pub at: &'a str,
}

impl Claimed<'_> {
    /// The entry, whose heading has the item's words.
    pub fn entry(&self) -> String {
        let mut text =
            format!("## {}\n\n- Claimed by {}, {}, on {}\n", line(self.item), line(self.by), self.at, line(self.on));
        let mut told = |name: &str, value: Option<&str>| {
            if let Some(value) = value {
                let _ = writeln!(text, "- {name}: {}", line(value));
            }
        };
        told("Command", self.command);
        told("Expected", self.expected);
        told("Seen", Some(self.seen));
        if let Some(path) = self.artefact {
            // Between angle brackets a path may have blanks and brackets.
            let _ =
                writeln!(text, "- Artefact: [{}](<{}>)", line(path).replace(']', "\\]"), path.replace(['<', '>'], ""));
        }
        text
    }
}

/// The file with an entry more, above those that are there: the newest comes first.
pub fn added(text: &str, entry: &str) -> String {
    let at = first_entry(text).unwrap_or(text.len());
    let (head, rest) = text.split_at(at);
    let between = match head {
        "" => "",
        head if head.ends_with("\n\n") => "",
        head if head.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let after = if rest.is_empty() { "" } else { "\n" };
    format!("{head}{between}{entry}{after}{rest}")
}

/// Where the first heading of an entry begins. What stands in a block of code or in an HTML comment is none.
fn first_entry(text: &str) -> Option<usize> {
    let (mut at, mut fence, mut comment) = (0, None::<&str>, false);
    for line in text.split_inclusive('\n') {
        let start = line.trim_start();
        match fence {
            Some(mark) => {
                if start.starts_with(mark) {
                    fence = None;
                }
            }
            None if comment => comment = !start.contains("-->"),
            None => {
                if let Some(mark) = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark)) {
                    fence = Some(mark);
                } else if line.starts_with("## ") {
                    return Some(at);
                }
                comment = start.rfind("<!--").is_some_and(|begins| !start[begins..].contains("-->"));
            }
        }
        at += line.len();
    }
    None
}

/// One line, in which nothing begins a comment or a tag. Its words stay what they are.
fn line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().filter(|c| !c.is_control()).collect::<String>().replace('<', "\\<")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::task::shown::words;

    const CLAIM: Claimed<'_> = Claimed {
        item: "the lamp is lit in < 100 ms",
        command: Some("sh check.sh"),
        expected: None,
        seen: "lit\n## Verdict\n<!-- and the rest is gone",
        artefact: Some("artifacts/out 1.log"),
        on: "abc123",
        by: "the main agent",
        at: "2026-01-31T00:00:00Z",
    };

    #[test]
    fn an_entry_has_the_words_of_the_item_and_nothing_that_begins_anything_else() {
        let entry = CLAIM.entry();
        assert!(words(&entry).contains(&words(CLAIM.item)), "{entry}");
        assert_eq!(entry.matches("\n## ").count(), 0, "{entry}");
        assert!(entry.starts_with("## the lamp") && !entry.contains(" <!--") && !entry.contains("Expected"), "{entry}");
        assert!(entry.contains("- Artefact: [artifacts/out 1.log](<artifacts/out 1.log>)\n"), "{entry}");
    }

    #[test]
    fn the_newest_comes_first() {
        let template = include_str!("../../../templates/task/EVIDENCE.md");
        let once = added(template, &CLAIM.entry());
        assert!(once.starts_with(template) && once.ends_with(&CLAIM.entry()), "{once}");
        let second = Claimed { item: "it is dimmed", ..CLAIM }.entry();
        let twice = added(&once, &second);
        let place = |words: &str| twice.find(words).unwrap();
        assert!(place("## it is dimmed") < place("## the lamp") && twice.starts_with(template), "{twice}");
        // What is no entry is not taken for one.
        let odd = "# E\n\n```\n## no\n```\n<!--\n## no\n-->\n~~~\n## no\n~~~\n";
        assert!(added(odd, "## new\n").ends_with("~~~\n\n## new\n"));
        assert_eq!(added("", "## new\n"), "## new\n");
    }
}
