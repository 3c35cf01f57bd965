//! The readers of `SUMMARY.md` and `deltas.md`. They tell every problem at once, each with its line.

use super::super::cell::shown;
use super::block::{Block, verdicts};
use super::{DELTAS, Kind, LARGEST, MALFORMED, Outcome, Proposal, Residue, SUMMARY};
use crate::finding::Finding;
use crate::policy::yaml::{self, Node, Scalar};

#[cfg(test)]
mod tests;

const FORM: &str = "Write one block ```yaml with `task`, `outcome`, `evidence`, `residue` and `deltas`.";
const FIELDS: [&str; 5] = ["task", "outcome", "evidence", "residue", "deltas"];
/// A list of a verdict has no more entries.
const MOST: usize = 100;
/// An entry has no more characters.
const LONGEST: usize = 2_000;

/// Reads the verdict of a summary; or tells all that is wrong with it. Findings are placed in `path`.
pub fn read(path: &str, bytes: &[u8]) -> Result<Proposal, Vec<Finding>> {
    let text = decoded(path, SUMMARY, bytes).map_err(|finding| vec![*finding])?;
    let blocks = verdicts(text);
    let block = match blocks.as_slice() {
        [block] => *block,
        [] => {
            let says = format!("{SUMMARY} has no block with a verdict.");
            return Err(vec![Finding::error(MALFORMED, says, FORM).at(path, Some(1))]);
        }
        [first, second, ..] => {
            let says = format!("{SUMMARY} has {} verdicts, first on line {}.", blocks.len(), first.line);
            let next = "Keep one: of two nobody can tell which counts.";
            return Err(vec![Finding::error(MALFORMED, says, next).at(path, Some(second.line))]);
        }
    };
    let mut reader = Reader { path, block, findings: Vec::new() };
    let proposal = reader.all();
    match proposal {
        Some(proposal) if reader.findings.is_empty() => Ok(proposal),
        _ => Err(reader.findings),
    }
}

/// A verdict that is not in its form. What it stops for is no less said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    pub findings: Vec<Finding>,
    /// It speaks of security.
    pub security: bool,
    /// The outcome that it names, where that stops.
    pub stops: Option<Outcome>,
}

/// The same of a file that may be another's: none where it has no verdict at all.
pub fn handed_in(path: &str, bytes: &[u8]) -> Option<Result<Proposal, Unread>> {
    let text = decoded(path, SUMMARY, bytes).ok()?;
    let blocks = verdicts(text);
    if blocks.is_empty() {
        return formless(path, text).map(Err);
    }
    Some(read(path, bytes).map_err(|findings| {
        // A line may have all of them.
        let told: Vec<Vec<Part>> = blocks.iter().map(|block| parts(block.text)).collect();
        let security = blocks.iter().any(|block| speaks_of_security(block.text))
            || told.iter().any(|parts| leaves_security(parts));
        let outcome = told.iter().filter_map(|parts| outcome_told(parts)).max();
        Unread { findings, security, stops: outcome.max(security.then_some(Outcome::HardStop)) }
    }))
}

/// A verdict that stands in no block: as lines of its own, all on one line, under headings, quoted, in a table, as TOML. None
/// where it is none.
fn formless(path: &str, text: &str) -> Option<Unread> {
    let parts = parts(text);
    let told = parts.iter().find(|part| part.field == "outcome" && !part.value.trim().is_empty());
    let outcome = told.or_else(|| parts.iter().find(|part| part.field == "outcome"))?;
    let security = leaves_security(&parts) || text.lines().any(|line| begins_with(bare(line), "security:"));
    let named = outcome_told(&parts);
    let fields = |of: &dyn Fn(&Part) -> bool| {
        FIELDS.iter().filter(|field| parts.iter().any(|part| part.field == **field && of(part))).count()
    };
    // An outcome alone may be anybody's word, unless it is all that is said, or security is spoken of.
    let several = fields(&|part| part.begins) > 1 && outcome.begins
        || fields(&|_| true) > 1 && (named.is_some() || outcome_in(&outcome.value).is_some());
    let alone = named.is_some() && (is_all(&outcome.value) || speaks_of_security(text));
    if !several && !alone {
        return None;
    }
    let says = format!("This looks like a verdict, and {SUMMARY} has no block with one.");
    let findings = vec![Finding::error(MALFORMED, says, FORM).at(path, Some(outcome.line))];
    Some(Unread { findings, security, stops: named.max(security.then_some(Outcome::HardStop)) })
}

/// A field of a verdict however it is told, and what stands behind it up to the next.
struct Part {
    field: &'static str,
    line: u32,
    /// Its line begins with it.
    begins: bool,
    value: String,
}

/// The fields that a text tells. What stands in an HTML comment is seen by nobody.
fn parts(text: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    // Whether a line that has no field goes on with the last one, and whether a blank one ends that.
    let (mut open, mut short, mut hidden) = (false, false, false);
    for (at, line) in (1..).zip(text.lines()) {
        if hidden || line.trim_start().starts_with("<!--") {
            hidden = !line.contains("-->");
            continue;
        }
        let keys = keys(line);
        if let Some(last) = keys.last() {
            (open, short) = (true, !line.get(last.behind..).unwrap_or_default().trim_matches(['|', ' ']).is_empty());
            let ends = keys.iter().skip(1).map(|key| key.at).chain([line.len()]);
            parts.extend(keys.iter().zip(ends).map(|(key, end)| Part {
                field: key.field,
                line: at,
                begins: key.begins,
                value: line.get(key.behind..end).unwrap_or_default().trim().trim_end_matches('|').to_owned(),
            }));
        } else if let Some(field) = titled(line) {
            (open, short) = (true, false);
            parts.push(Part { field, line: at, begins: false, value: String::new() });
        } else if line.trim_start().starts_with('#') || short && line.trim().is_empty() {
            open = false;
        } else if let Some(last) = parts.last_mut().filter(|_| open) {
            last.value.push('\n');
            last.value.push_str(line);
        }
    }
    parts
}

/// Where a line names a field, and where its value begins.
struct Key {
    field: &'static str,
    at: usize,
    behind: usize,
    begins: bool,
}

/// The fields that a line tells as `NAME: VALUE`: the one that it begins with, out of what quotes it or makes it a row, and
/// those behind it or in braces. In a sentence an outcome is one only where the word is one.
fn keys(line: &str) -> Vec<Key> {
    const MARKS: [char; 12] = ['{', '>', '|', '-', '*', '+', ' ', '\t', '"', '\'', '`', '_'];
    let lower = line.to_ascii_lowercase();
    let mut keys: Vec<Key> = FIELDS
        .iter()
        .flat_map(|field| lower.match_indices(field).map(move |(at, _)| (*field, at)))
        .filter_map(|(field, at)| {
            let before = lower.get(..at)?;
            let rest = lower.get(at + field.len()..)?;
            let value = rest.trim_start_matches(['"', '\'', '`', '*', '_', ' ', '\t']);
            let begins = before.trim_start_matches('#').trim_start_matches(MARKS).is_empty();
            let row = begins || before.trim_start().starts_with('|');
            let sign = value.chars().next().filter(|sign| matches!(sign, ':' | '=') || row && *sign == '|')?;
            let word = before.trim_end_matches(['-', '_']).ends_with(char::is_alphanumeric);
            let doubled = sign != '|' && value.get(1..).is_some_and(|rest| rest.starts_with(sign));
            let behind = line.len() - value.len() + 1;
            let part = before.trim_end_matches(['"', '\'', '`', '*', '_', ' ', '\t']);
            let apart = part.is_empty() || part.ends_with(['{', ',', ';', '|', '(', '[', ']', '}']);
            let told = field == "outcome" && outcome_in(line.get(behind..)?).is_some();
            (!word && !doubled && (begins || apart || told)).then_some(Key { field, at, behind, begins })
        })
        .collect();
    keys.sort_by_key(|key| key.at);
    keys
}

/// A line that is a field's name and nothing else, as a heading.
fn titled(line: &str) -> Option<&'static str> {
    let bare = line.trim_matches(|c: char| !c.is_alphanumeric());
    FIELDS.into_iter().find(|field| bare.eq_ignore_ascii_case(field))
}

/// A line without what stands before its first word.
fn bare(line: &str) -> &str {
    line.trim_start_matches(|c: char| !c.is_alphanumeric())
}

/// The outcome that a text begins with.
fn outcome_in(value: &str) -> Option<Outcome> {
    let said = bare(value.trim_start()).to_ascii_lowercase().replace(['_', ' '], "-");
    let behind = |one: &Outcome| said.strip_prefix(&one.as_str().to_ascii_lowercase()).map(str::to_owned);
    Outcome::ALL.into_iter().find(|one| behind(one).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric)))
}

/// Whether an outcome's name is all that is said there.
fn is_all(value: &str) -> bool {
    let bare = value.trim_matches(|c: char| !c.is_alphanumeric()).replace(['_', ' '], "-");
    Outcome::parse(&bare).is_some()
}

/// The outcome of the first field that tells one, or of a cell below, where it is one that stops.
fn outcome_told(parts: &[Part]) -> Option<Outcome> {
    let lines =
        |part: &Part| part.value.lines().map(str::to_owned).filter(|line| !bare(line).is_empty()).collect::<Vec<_>>();
    let first = parts.iter().filter(|part| part.field == "outcome").find_map(|part| lines(part).into_iter().next());
    let Some(first) = first else {
        let cells = parts.iter().flat_map(lines).filter(|line| line.contains('|')).collect::<Vec<_>>();
        return cells.iter().flat_map(|line| line.split('|')).filter(|cell| is_all(cell)).find_map(stops_by);
    };
    stops_by(&first)
}

/// Whether something of security is left, wherever the word stands but in the task and the evidence.
fn leaves_security(parts: &[Part]) -> bool {
    let told = parts.iter().filter(|part| !matches!(part.field, "task" | "evidence"));
    told.into_iter().any(|part| speaks_of_security(&format!("{}:{}", part.field, part.value)))
}

/// Whether something is left of that kind, wherever the word stands that would tell it.
fn speaks_of_security(text: &str) -> bool {
    let words = |line: &str| {
        let said = line.split('#').next().unwrap_or_default();
        let mut words = said.split(|c: char| !c.is_alphanumeric());
        words.any(|word| word.eq_ignore_ascii_case(Kind::Security.as_str()))
    };
    // What was looked at may be security, with nothing left of it; so may a task be called.
    text.lines().filter(|line| !begins_with(line, "evidence") && !begins_with(line, "task")).any(words)
}

/// The outcome that a line names, where it is one that stops. A line that lists them names none.
fn stops_by(line: &str) -> Option<Outcome> {
    let lower = line.to_ascii_lowercase().replace(['_', ' '], "-");
    let mut named = Outcome::ALL.into_iter().filter(|one| lower.contains(&one.as_str().to_ascii_lowercase()));
    named.next().filter(|one| one.stops() && named.next().is_none())
}

fn begins_with(line: &str, field: &str) -> bool {
    let bare = line.trim_start_matches(['{', '-', '"', '\'', ' ', '\t']);
    bare.get(..field.len()).is_some_and(|start| start.eq_ignore_ascii_case(field))
}

/// A file's text within its bounds.
fn decoded<'b>(path: &str, name: &str, bytes: &'b [u8]) -> Result<&'b str, Box<Finding>> {
    if bytes.len() > LARGEST {
        let says = format!("{name} has {} bytes; at most {LARGEST} are read.", bytes.len());
        let next = "Say it shorter, and leave logs to the evidence.";
        return Err(Box::new(Finding::error(MALFORMED, says, next).at(path, None)));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let says = format!("{name} is no UTF-8 text from here on.");
        Finding::error(MALFORMED, says, "Save the file as UTF-8.").at(path, u32::try_from(line).ok())
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

struct Reader<'r> {
    path: &'r str,
    block: Block<'r>,
    findings: Vec<Finding>,
}

/// A value and the line that its key stands on.
type Found<'n> = Option<(u32, &'n Node)>;

impl Reader<'_> {
    fn wrong(&mut self, line: u32, says: impl Into<String>, next: impl Into<String>) {
        self.findings.push(Finding::error(MALFORMED, says, next).at(self.path, Some(line)));
    }

    fn all(&mut self) -> Option<Proposal> {
        let mut problems = Vec::new();
        let language = if self.block.json { "JSON" } else { "YAML" };
        // Below as many blank lines as stand above it in the file, so that lines are the file's.
        let mut text = "\n".repeat(usize::try_from(self.block.line.saturating_sub(1)).unwrap_or_default());
        // Tabs are fine between the parts of JSON and nowhere in YAML, which is what reads both.
        text.push_str(&if self.block.json { without_tabs(self.block.text) } else { self.block.text.to_owned() });
        let tree = yaml::tree(&text, &mut problems);
        let root = match tree {
            Ok(root) => root,
            Err(problem) => {
                let next = match self.begins_with_a_backtick(problem.line) {
                    true => "A text that begins with a backtick stands in quotes: `- '`name` is …'`.".to_owned(),
                    false => format!("Correct the {language} at this line; the verdict has five fields and no more."),
                };
                self.wrong(problem.line, format!("The verdict can't be read: {}.", problem.says), next);
                return None;
            }
        };
        for problem in problems {
            let next = format!("{}.", problem.next.trim_end_matches('.'));
            self.wrong(problem.line, format!("In the verdict {}.", problem.says), next);
        }
        let Some(Node { kind: yaml::Kind::Map(entries), .. }) = &root else {
            self.wrong(self.block.line, "The verdict is no mapping of fields to values.", FORM);
            return None;
        };
        let fields = self.fields(entries);
        let [task, outcome, evidence, residue, deltas] = fields;
        let task = self.task(task);
        let outcome = self.outcome(outcome);
        let evidence = self.evidence(evidence);
        let residue = self.residue(residue);
        let deltas = self.list("deltas", deltas);
        let ((task, task_line), (outcome, line)) = (task?, outcome?);
        Some(Proposal { task, outcome, evidence: evidence?, residue: residue?, deltas: deltas?, line, task_line })
    }

    /// YAML keeps the sign for later, and says so in words that nobody understands.
    fn begins_with_a_backtick(&self, line: u32) -> bool {
        let nth = usize::try_from(line.saturating_sub(self.block.line)).unwrap_or_default();
        let text = self.block.text.lines().nth(nth).unwrap_or_default();
        let entry = text.trim_start_matches(['-', ' ']);
        entry.starts_with('`')
            || entry.split_once(": ").is_some_and(|(_, value)| value.trim_start_matches(['[', ' ']).starts_with('`'))
    }

    /// The five fields, each told where it is missing, doubled or not one of them.
    fn fields<'n>(&mut self, entries: &'n [(yaml::Key, Node)]) -> [Found<'n>; 5] {
        let mut found: [Found<'n>; 5] = [None; 5];
        for (key, value) in entries {
            let line = key.at.line;
            let slot = FIELDS.iter().position(|field| key.name.trim().eq_ignore_ascii_case(field));
            match slot.and_then(|slot| found.get_mut(slot)) {
                None => {
                    let says = format!("A verdict has no field {}.", shown(&key.name));
                    self.wrong(line, says, "Take it out, or say it in the text around the block.");
                }
                Some(Some((before, _))) => {
                    let says = format!("The field {} is there twice, first on line {before}.", shown(&key.name));
                    self.wrong(line, says, "Keep one of the two.");
                }
                Some(empty) => *empty = Some((line, value)),
            }
        }
        for (field, _) in FIELDS.iter().zip(&found).filter(|(_, value)| value.is_none()) {
            self.wrong(self.block.line, format!("The field `{field}` is missing."), form(field));
        }
        found
    }

    fn task(&mut self, found: Found<'_>) -> Option<(String, u32)> {
        let (line, node) = found?;
        match text(node) {
            Some(task) => Some((task.to_owned(), line)),
            None => {
                self.wrong(line, "`task` says nothing.", form("task"));
                None
            }
        }
    }

    fn outcome(&mut self, found: Found<'_>) -> Option<(Outcome, u32)> {
        let (line, node) = found?;
        let said = text(node).unwrap_or_default();
        if let Some(outcome) = Outcome::parse(said) {
            return Some((outcome, line));
        }
        self.wrong(line, format!("The outcome is {}.", shown(said)), form("outcome"));
        None
    }

    /// A text, a list of texts, or `tests` and `coverage`.
    fn evidence(&mut self, found: Found<'_>) -> Option<Vec<String>> {
        let (line, node) = found?;
        let evidence = match &node.kind {
            yaml::Kind::Map(entries) => {
                let before = self.findings.len();
                let mut said = Vec::new();
                for part in ["tests", "coverage"] {
                    let value = entries.iter().find(|(key, _)| key.name.trim().eq_ignore_ascii_case(part));
                    match value.and_then(|(_, node)| text(node)).filter(|said| !is_placeholder(said)) {
                        Some(value) => said.push(format!("{part}: {value}")),
                        None => self.wrong(line, format!("`evidence` says nothing of `{part}`."), form("evidence")),
                    }
                }
                for (key, value) in entries {
                    let known = ["tests", "coverage"].iter().any(|part| key.name.trim().eq_ignore_ascii_case(part));
                    if let Some(value) = text(value).filter(|_| !known) {
                        said.push(format!("{}: {value}", key.name.trim()));
                    }
                }
                if self.findings.len() > before {
                    return None;
                }
                said
            }
            _ => self.list("evidence", found)?,
        };
        if evidence.iter().all(|entry| is_placeholder(entry)) {
            self.wrong(line, "`evidence` shows nothing.", form("evidence"));
            return None;
        }
        self.bounded("evidence", line, evidence)
    }

    fn residue(&mut self, found: Found<'_>) -> Option<Vec<Residue>> {
        let (line, node) = found?;
        let mut all = Vec::new();
        let before = self.findings.len();
        match &node.kind {
            yaml::Kind::List(items) if items.len() > MOST => {
                self.too_many("residue", line, items.len());
            }
            yaml::Kind::List(items) => {
                for item in items {
                    let at = item.at.line;
                    match entry(item) {
                        Some((kind, says)) => all.push(Residue { kind, says, line: at }),
                        None => {
                            let said = flat(item).unwrap_or_default();
                            let says = match said.split_once(':').map(|(kind, what)| (kind.trim(), what.trim())) {
                                Some((kind, what)) if !kind.is_empty() && !what.is_empty() => {
                                    format!("{} is no kind of residue.", shown(kind))
                                }
                                _ => format!("The residue {} is not in the form `KIND: WHAT`.", shown(&said)),
                            };
                            self.wrong(at, says, form("residue"));
                        }
                    }
                }
            }
            _ if text(node).is_some_and(is_none) => {}
            _ => self.wrong(line, "`residue` is no list.", form("residue")),
        }
        (self.findings.len() == before).then_some(all)
    }

    /// A list of texts, one text, or `none`.
    fn list(&mut self, field: &'static str, found: Found<'_>) -> Option<Vec<String>> {
        let (line, node) = found?;
        let before = self.findings.len();
        let mut all = Vec::new();
        match &node.kind {
            yaml::Kind::List(items) if items.len() > MOST => self.too_many(field, line, items.len()),
            yaml::Kind::List(items) => {
                for item in items {
                    match flat(item) {
                        Some(text) => all.push(text),
                        None => {
                            let says = format!("An entry of `{field}` says nothing, or is no text.");
                            self.wrong(item.at.line, says, form(field));
                        }
                    }
                }
            }
            _ => match text(node) {
                Some(text) if is_none(text) => {}
                Some(text) => all.push(text.to_owned()),
                None => self.wrong(line, format!("`{field}` says nothing."), form(field)),
            },
        }
        if self.findings.len() > before {
            return None;
        }
        self.bounded(field, line, all)
    }

    fn too_many(&mut self, field: &str, line: u32, count: usize) {
        self.wrong(
            line,
            format!("`{field}` has {count} entries; at most {MOST} are read."),
            "Put those together that belong together.",
        );
    }

    fn bounded(&mut self, field: &str, line: u32, all: Vec<String>) -> Option<Vec<String>> {
        if all.iter().any(|entry| entry.chars().count() > LONGEST) {
            let says = format!("An entry of `{field}` is longer than {LONGEST} characters.");
            self.wrong(line, says, "Say it shorter, and leave logs to the evidence.");
            return None;
        }
        Some(all)
    }
}

fn form(field: &str) -> &'static str {
    match field {
        "task" => "Write `task: ID`, the id in the roster.",
        "outcome" => "Write `outcome: PASS`, `RISK-ACCEPTED`, `HARD-STOP` or `ESCALATE`.",
        "evidence" => {
            "Write what the tests and the coverage came to: `evidence: 42 passed, 0 failed; coverage 81% (was 80%)`."
        }
        "residue" => {
            "Write `residue: []`, or a list of `security: WHAT`, `concurrency: WHAT` and `architecture: WHAT`."
        }
        _ => "Write `deltas: []`, or a list of what was learned, a sentence an entry.",
    }
}

/// The text of a value; none where it is empty or no text.
fn text(node: &Node) -> Option<&str> {
    match &node.kind {
        yaml::Kind::Scalar { text, plain } if yaml::scalar(text, *plain) != Scalar::Nothing => {
            Some(text.trim()).filter(|text| !text.is_empty())
        }
        _ => None,
    }
}

/// An entry of a list: a text, or `key: text`, which YAML takes for a mapping.
fn flat(node: &Node) -> Option<String> {
    match &node.kind {
        yaml::Kind::Map(entries) => match entries.as_slice() {
            [(key, value)] => Some(format!("{}: {}", key.name.trim(), text(value)?)),
            _ => None,
        },
        _ => text(node).map(str::to_owned),
    }
}

/// `security: WHAT`, as text or as a mapping, or `[security] WHAT`, or `kind` and `finding`.
fn entry(node: &Node) -> Option<(Kind, String)> {
    if let yaml::Kind::Map(entries) = &node.kind
        && let [(one, first), (two, second)] = entries.as_slice()
        && one.name.trim().eq_ignore_ascii_case("kind")
        && two.name.trim().eq_ignore_ascii_case("finding")
    {
        return Some((Kind::parse(text(first)?)?, text(second)?.to_owned()));
    }
    let flat = flat(node)?;
    let (kind, says) = match flat.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => flat.split_once(':')?,
    };
    let says = says.trim().trim_start_matches([':', '-', '–', '—']).trim();
    let kind = Kind::parse(kind.trim())?;
    (!says.is_empty() && says.chars().count() <= LONGEST).then(|| (kind, says.to_owned()))
}

fn is_none(text: &str) -> bool {
    matches!(text.trim_end_matches('.').to_ascii_lowercase().as_str(), "none" | "nothing")
}

/// What people write where they have nothing to show.
fn is_placeholder(text: &str) -> bool {
    let bare = text
        .trim_matches(|c: char| c.is_whitespace() || matches!(c, '.' | '…' | '-' | '–' | '—' | '?' | '<' | '>' | '`'));
    let lower = bare.to_ascii_lowercase();
    matches!(
        lower.as_str(),
        "" | "tbd" | "todo" | "n/a" | "na" | "none" | "nothing" | "pending" | "tests+coverage" | "unknown"
    )
}

/// JSON with spaces in place of the tabs between its parts; in a text of JSON there is none that is not escaped.
fn without_tabs(text: &str) -> String {
    text.replace('\t', " ")
}

/// The entries of `deltas.md`: of its lists, and otherwise its paragraphs. `None.` is a file without any.
pub fn lessons(path: &str, bytes: &[u8]) -> Result<Vec<String>, Box<Finding>> {
    let text = decoded(path, DELTAS, bytes)?;
    let (mut all, mut open): (Vec<String>, bool) = (Vec::new(), false);
    let (mut hidden, mut said) = (false, false);
    for raw in text.lines() {
        let bare = raw.trim();
        if hidden || bare.starts_with("<!--") {
            hidden = !bare.contains("-->");
            continue;
        }
        let bullet = bare.strip_prefix(['-', '*', '+']).filter(|rest| rest.is_empty() || rest.starts_with([' ', '\t']));
        if bare.is_empty() || bare.starts_with('#') {
            open = false;
            continue;
        }
        said = true;
        match bullet {
            Some(rest) => {
                all.push(rest.trim().to_owned());
                open = true;
            }
            None if open => {
                if let Some(last) = all.last_mut() {
                    last.push(' ');
                    last.push_str(bare);
                }
            }
            None => {
                all.push(bare.to_owned());
                open = true;
            }
        }
    }
    all.retain(|entry| !entry.is_empty() && !is_none(entry));
    if !said {
        let says = format!("{DELTAS} says nothing.");
        let next = "Write a lesson an entry; where nothing was learned, `None.`";
        return Err(Box::new(Finding::error(MALFORMED, says, next).at(path, None)));
    }
    if all.len() > MOST || all.iter().any(|entry| entry.chars().count() > LONGEST) {
        let says =
            format!("{DELTAS} has {} entries; at most {MOST} of at most {LONGEST} characters are read.", all.len());
        return Err(Box::new(Finding::error(MALFORMED, says, "Say it shorter.").at(path, None)));
    }
    Ok(all)
}
