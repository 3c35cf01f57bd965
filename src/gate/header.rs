//! What a pull request declares of itself in its description: `autonomy: …` and `risk: high`, each on a line of its own.
//!
//! A description is its author's to write, so it can only ask for more: a lower rung of autonomy, a higher risk. What is quoted,
//! in a block of code, in an HTML comment, struck out or an open box of a checklist declares nothing.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::Finding;
use super::paper::text;
use crate::finding::quoted;
use crate::policy::{Autonomy, Declared};

/// A description as it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Header {
    pub declared: Declared,
    /// Lines that look like a declaration and say nothing that is known.
    pub unread: Vec<(Key, String)>,
    /// What its author is least sure of.
    pub least_sure: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Autonomy,
    Risk,
}

impl Key {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Autonomy => "autonomy",
            Self::Risk => "risk",
        }
    }

    fn values(self) -> &'static str {
        match self {
            Self::Autonomy => "`manual`, `conservative` or `auto`",
            Self::Risk => "`high`; anything less is not declared",
        }
    }
}

const RUNGS: [Autonomy; 3] = [Autonomy::Manual, Autonomy::Conservative, Autonomy::Auto];
/// So many lines that could not be read are told.
const MOST_TOLD: usize = 5;
/// So much is told of what somebody is not sure of.
const LONGEST_DOUBT: usize = 300;
/// What is no high risk, and no mistake either.
const LESSER: [&str; 6] = ["low", "medium", "normal", "moderate", "none", "minimal"];

const DIALECT: Options = Options::ENABLE_TABLES.union(Options::ENABLE_TASKLISTS).union(Options::ENABLE_STRIKETHROUGH);

/// Reads the description of a pull request.
pub fn read(body: &str) -> Header {
    let mut header = Header { least_sure: least_sure(body), ..Header::default() };
    let (front, rest) = front_matter(body);
    for line in front.lines().map(str::to_owned).chain(lines(rest)) {
        let Some((key, value)) = declaration(&line) else { continue };
        let word = value.to_ascii_lowercase();
        match (key, RUNGS.into_iter().find(|rung| rung.as_str() == word)) {
            (Key::Autonomy, Some(rung)) => {
                header.declared = header.declared.and(Declared { autonomy: Some(rung), high_risk: false });
            }
            (Key::Risk, _) if word == "high" => header.declared.high_risk = true,
            (Key::Risk, _) if LESSER.contains(&word.as_str()) => {}
            _ if header.unread.len() < MOST_TOLD => header.unread.push((key, value.to_owned())),
            _ => {}
        }
    }
    for (key, value) in apart(rest) {
        if header.unread.len() < MOST_TOLD && !is_declared(&header.declared, key) {
            header.unread.push((key, value));
        }
    }
    header
}

fn is_declared(declared: &Declared, key: Key) -> bool {
    match key {
        Key::Autonomy => declared.autonomy.is_some(),
        Key::Risk => declared.high_risk,
    }
}

/// What would be a declaration on a line of its own and stands under a heading, or in a row of a table: it declares nothing, and
/// whoever wrote it is to be told so.
fn apart(body: &str) -> Vec<(Key, String)> {
    let shown: Vec<String> = lines(body).into_iter().filter(|line| !line.trim().is_empty()).collect();
    let pairs = shown.windows(2).filter_map(|pair| match pair {
        [key, value] => Some((key.clone(), value.clone())),
        _ => None,
    });
    let asks = |value: &str| {
        let word = value.trim().trim_matches(['*', '_', '`', '.']).to_ascii_lowercase();
        matches!(word.as_str(), "high" | "critical" | "severe" | "manual" | "conservative").then_some(word)
    };
    let told = pairs.chain(rows(body)).filter_map(|(key, value)| Some((named(&key)?, asks(&value)?)));
    told.take(MOST_TOLD).collect()
}

/// The first two cells of each row of a table.
fn rows(body: &str) -> Vec<(String, String)> {
    let (mut rows, mut cells): (Vec<(String, String)>, Vec<String>) = (Vec::new(), Vec::new());
    for event in Parser::new_ext(body, DIALECT) {
        match event {
            Event::Start(Tag::TableRow | Tag::TableHead) => cells.clear(),
            Event::Start(Tag::TableCell) => cells.push(String::new()),
            Event::Text(text) | Event::Code(text) => {
                if let Some(cell) = cells.last_mut() {
                    cell.push_str(&text);
                }
            }
            Event::End(TagEnd::TableRow | TagEnd::TableHead) => {
                let mut two = std::mem::take(&mut cells).into_iter();
                rows.extend(two.next().zip(two.next()));
            }
            _ => {}
        }
    }
    rows
}

/// The key that a text is, and nothing else.
fn named(text: &str) -> Option<Key> {
    match text.trim().trim_matches(['*', '_', '`', '"', '\'', ':']).trim().to_ascii_lowercase().as_str() {
        "autonomy" => Some(Key::Autonomy),
        "risk" | "risk level" | "risk-level" | "risk_level" => Some(Key::Risk),
        _ => None,
    }
}

/// What its author is least sure of, on a line of its own in a description or a document.
pub fn least_sure(text: &str) -> Option<String> {
    let (front, rest) = front_matter(text);
    let said = |line: String| {
        let (key, value) = line.split_once(':')?;
        let key = key.trim().trim_matches(['*', '_', '`']).trim().to_lowercase();
        let known = ["least sure", "least sure of", "least-sure", "lowest confidence"].contains(&key.as_str());
        let value = value.trim().trim_start_matches(['*', '_']).trim();
        (known && text::says_something(value, &[])).then(|| value.chars().take(LONGEST_DOUBT).collect())
    };
    front.lines().map(str::to_owned).chain(lines(rest)).find_map(said)
}

impl Header {
    /// `unread_header`: what was meant as a declaration and has no effect, for a change on this rung.
    pub fn findings(&self, law: Autonomy) -> Vec<Finding> {
        let unknown = self.unread.iter().map(|(key, value)| {
            Finding::warning(
                "unread_header",
                format!("The description says `{}:` {}, which declares nothing.", key.as_str(), quoted(value)),
                format!("`{}:` takes {}.", key.as_str(), key.values()),
            )
        });
        let raises = self.declared.autonomy.filter(|rung| *rung > law).map(|rung| {
            Finding::warning(
                "unread_header",
                format!(
                    "The description says `autonomy: {}`, and it is {} here: a description raises nothing.",
                    rung.as_str(),
                    law.as_str()
                ),
                "Whoever wants more autonomy changes the policy on the default branch.",
            )
        });
        unknown.chain(raises).collect()
    }
}

/// YAML between two lines of `---` at the very beginning, as tasks have it, and the rest.
fn front_matter(body: &str) -> (&str, &str) {
    let body = body.trim_start_matches('\u{feff}').trim_start_matches(['\r', '\n']);
    let Some(rest) = body.strip_prefix("---").and_then(|rest| rest.strip_prefix("\r\n").or(rest.strip_prefix('\n')))
    else {
        return ("", body);
    };
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return (&rest[..at], &rest[at + line.len()..]);
        }
        at += line.len();
    }
    ("", body)
}

/// The key and the value of a line that declares something. What offers a choice (`risk: high | low`) is a form that nobody has
/// filled in, and what goes on is a sentence, but for a reason behind a known word.
fn declaration(line: &str) -> Option<(Key, &str)> {
    let at = line.find([':', '：', '='])?;
    let (key, value) = (&line[..at], line[at..].trim_start_matches([':', '：', '=']));
    let key = named(key)?;
    let value = value.split(" #").next().unwrap_or_default().trim();
    let mut words = value.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | '.'));
    let first = words.next()?.trim_matches(['*', '_', '`', '"', '\'']);
    let chooses = value.contains('|') || value.contains(" or ") || first.contains('/');
    if first.is_empty() || chooses {
        return None;
    }
    let alone = words.all(str::is_empty);
    let known =
        first.eq_ignore_ascii_case("high") || RUNGS.iter().any(|rung| first.eq_ignore_ascii_case(rung.as_str()));
    if key == Key::Risk && !known && speaks_of_much(value) {
        return Some((key, value));
    }
    (alone || known).then_some((key, first))
}

/// Whether a short value means a high risk in words of its own: whoever wrote it is to be told that it counts for nothing.
fn speaks_of_much(value: &str) -> bool {
    const MUCH: [&str; 5] = ["high", "higher", "highest", "critical", "severe"];
    let mut words = value.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let few = words.clone().count() <= 3;
    few && words.any(|word| MUCH.iter().any(|much| word.eq_ignore_ascii_case(much)))
}

/// The lines of a Markdown text that are shown as text.
fn lines(body: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    // How deep it stands in what declares nothing.
    let mut hidden = 0usize;
    let mut open_box = false;
    for event in Parser::new_ext(body, DIALECT) {
        match event {
            Event::Start(
                Tag::BlockQuote(_)
                | Tag::CodeBlock(_)
                | Tag::HtmlBlock
                | Tag::Table(_)
                | Tag::Strikethrough
                | Tag::Image { .. },
            ) => {
                hidden += 1;
            }
            Event::End(
                TagEnd::BlockQuote(_)
                | TagEnd::CodeBlock
                | TagEnd::HtmlBlock
                | TagEnd::Table
                | TagEnd::Strikethrough
                | TagEnd::Image,
            ) => {
                hidden = hidden.saturating_sub(1);
            }
            Event::Start(Tag::Item) => {
                open_box = false;
                lines.push(String::new());
            }
            Event::TaskListMarker(checked) => open_box = !checked,
            Event::Start(Tag::Paragraph | Tag::Heading { .. }) | Event::SoftBreak | Event::HardBreak | Event::Rule => {
                lines.push(String::new());
            }
            Event::End(TagEnd::Item) => {
                open_box = false;
                lines.push(String::new());
            }
            Event::Text(text) | Event::Code(text) if hidden == 0 && !open_box => {
                if let Some(line) = lines.last_mut() {
                    line.push_str(&text);
                }
            }
            _ => {}
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declares(body: &str) -> (Option<Autonomy>, bool) {
        let declared = read(body).declared;
        (declared.autonomy, declared.high_risk)
    }

    #[test]
    fn what_stands_under_a_heading_or_in_a_table_is_told_to_declare_nothing() {
        for (body, key, value) in [
            ("## Risk\n\nHigh\n", Key::Risk, "high"),
            ("# Lamp\n\nText.\n\n**Risk level**\n\n- critical\n", Key::Risk, "critical"),
            ("| what | is |\n|---|---|\n| risk | high |\n", Key::Risk, "high"),
            ("| Autonomy | manual |\n|---|---|\n| a | b |\n", Key::Autonomy, "manual"),
            ("## Autonomy\n\n`conservative`\n", Key::Autonomy, "conservative"),
        ] {
            assert_eq!(read(body).unread, [(key, value.to_owned())], "{body}");
        }
        for body in [
            "## Risk\n\nLow\n",
            "## Risk\n\nHigh traffic is not expected.\n",
            "## Risk\n\nrisk: high\n\n| risk | high |\n|---|---|\n",
            "| risk | low |\n|---|---|\n",
            "```\n## Risk\n\nHigh\n```\n",
            "## Risks\n\nHigh\n",
        ] {
            assert!(read(body).unread.is_empty(), "{body}");
        }
    }

    #[test]
    fn a_line_of_its_own_declares_however_it_is_written() {
        for body in [
            "risk: high",
            "Risk: High",
            "**risk:** high",
            "- risk: high",
            "* **Risk**: `high`",
            "- [x] risk: high",
            "---\nrisk: high\n---\nText",
            "\u{feff}---\r\nautonomy: auto\r\nrisk: \"high\"\r\n---\r\n",
            "Adds a lamp.\n\nrisk: high (it holds the keys)",
            "risk: high # money",
            "risk: high\n---\n",
            "## risk: high",
            "autonomy: auto\nrisk: high",
            "risk = high",
            "risk：high",
            "Risk level: high",
        ] {
            assert!(declares(body).1, "{body:?}");
        }
        assert_eq!(declares("autonomy: manual\nautonomy: conservative").0, Some(Autonomy::Manual));
        assert_eq!(declares("Autonomy: Conservative.").0, Some(Autonomy::Conservative));
    }

    #[test]
    fn what_is_quoted_hidden_or_a_form_declares_nothing() {
        for body in [
            "",
            "risk:",
            "> risk: high",
            "```\nrisk: high\n```",
            "    risk: high",
            "<!-- risk: high -->",
            "~~risk: high~~",
            "- [ ] risk: high",
            "risk: high | medium | low",
            "risk: low/medium/high",
            "autonomy: manual or auto",
            "The risk: high costs.",
            "risk: low",
            "risk: highly unlikely to matter",
            "| risk: high | x |\n|---|---|\n| risk: high | y |",
            "---\nrisk: low\n",
        ] {
            let header = read(body);
            assert!(header.declared.is_none() && header.unread.is_empty(), "{body:?}: {header:?}");
        }
    }

    #[test]
    fn what_is_no_value_is_told_and_nothing_is_raised() {
        let header = read("risk: hgih\nautonomy: full");
        assert!(header.declared.is_none());
        let told: Vec<String> = header.findings(Autonomy::Auto).into_iter().map(|finding| finding.says).collect();
        assert_eq!(
            told,
            [
                "The description says `risk:` `hgih`, which declares nothing.",
                "The description says `autonomy:` `full`, which declares nothing.",
            ]
        );
        for (body, value) in [
            ("risk: very high", "very high"),
            ("risk: critical", "critical"),
            ("Risk level: the highest", "the highest"),
        ] {
            let header = read(body);
            assert_eq!((header.declared.is_none(), &header.unread[..]), (true, &[(Key::Risk, value.to_owned())][..]));
        }
        let header = read("autonomy: auto");
        assert!(header.findings(Autonomy::Auto).is_empty());
        let told = header.findings(Autonomy::Manual);
        assert_eq!(told[0].rule, "unread_header");
        assert!(told[0].says.contains("a description raises nothing"), "{told:?}");
        assert_eq!(read(&"risk: x\n".repeat(100)).unread.len(), MOST_TOLD);
    }

    #[test]
    fn a_doubt_is_read_and_a_placeholder_is_none() {
        for body in
            ["least sure: the zone table, because it is old", "- **Least sure of:** the zone table, because it is old"]
        {
            assert_eq!(least_sure(body).as_deref(), Some("the zone table, because it is old"), "{body}");
        }
        for body in ["least sure: TBD", "least sure:", "> least sure: x of y", "We are least sure of it."] {
            assert_eq!(least_sure(body), None, "{body}");
        }
    }

    #[test]
    fn the_tighter_of_two_holds() {
        let one = Declared { autonomy: Some(Autonomy::Conservative), high_risk: false };
        let other = Declared { autonomy: Some(Autonomy::Manual), high_risk: true };
        assert_eq!(one.and(other), other);
        assert_eq!(other.and(one), other);
        assert_eq!(one.and(Declared::default()), one);
    }
}
