//! The one reader of snapshots.
//!
//! It goes line by line: a header of fields, then sections of items. Decoration has no meaning; a field that is missing,
//! there twice or not in its form is a finding (`SNP-01`) with its line, and so is an issue without its one next action
//! (`SNP-09`).

use std::collections::BTreeMap;

use super::{
    Action, Cap, Fact, FactId, Fails, Gates, IssueId, Kind, LARGEST, LONGEST, MOST_FACTS, MOST_ISSUES, Open, Resolved,
    SliceId, Snapshot, line, name,
};
use crate::finding::{Finding, Verdict, quoted};

/// The fields of the header, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    Iteration,
    Parent,
    SliceId,
    Slice,
    Cap,
    IterationGate,
    ExitGate,
    LastRun,
    LastOutcome,
    IterationFails,
    ExitFails,
}

impl Field {
    pub const ALL: [Self; 11] = [
        Self::Iteration,
        Self::Parent,
        Self::SliceId,
        Self::Slice,
        Self::Cap,
        Self::IterationGate,
        Self::ExitGate,
        Self::LastRun,
        Self::LastOutcome,
        Self::IterationFails,
        Self::ExitFails,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Iteration => "Iteration",
            Self::Parent => "Parent snapshot",
            Self::SliceId => "Slice ID",
            Self::Slice => "Slice",
            Self::Cap => "Scope cap",
            Self::IterationGate => "Gate (iteration)",
            Self::ExitGate => "Gate (exit)",
            Self::LastRun => "Last gate run",
            Self::LastOutcome => "Last gate outcome",
            Self::IterationFails => "Consecutive Iteration FAILs (this Slice ID)",
            Self::ExitFails => "Consecutive Exit FAILs (this Slice ID)",
        }
    }

    /// What its value looks like.
    fn form(self) -> &'static str {
        match self {
            Self::Iteration => "four digits, such as `0007`",
            Self::Parent => "`iter-0006`, or `none`",
            Self::SliceId => "`S-0001`",
            Self::Slice => "one sentence: the smallest coherent change that is attempted",
            Self::Cap => "a sentence with globs: `The parser. in: src/parser/** out: src/parser/generated/**`",
            Self::IterationGate | Self::ExitGate => "names of gates with commas between them, or `none`",
            Self::LastRun => "`iteration`, `exit` or `none`",
            Self::LastOutcome => "`PASS`, `FAIL` or `none`",
            Self::IterationFails | Self::ExitFails => "a whole number from 0",
        }
    }

    fn called(key: &str) -> Option<Self> {
        // What stands in brackets tells the two gates apart and says nothing more of the counters.
        let short = |field: Self| match field {
            Self::IterationFails | Self::ExitFails => field.name().split(" (").next().unwrap_or_default(),
            _ => field.name(),
        };
        let same = |field: &Self| key.eq_ignore_ascii_case(field.name()) || key.eq_ignore_ascii_case(short(*field));
        Self::ALL.into_iter().find(same)
    }
}

/// The rule of a field or a section that is not as it is to be.
const FORM: &str = "SNP-01";
/// The rule of issues.
const ISSUES: &str = "SNP-09";

/// An entry of a section, as it stands in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its number, where it has one.
    pub id: Option<u32>,
    pub text: String,
    pub line: u32,
}

/// What a file says, and what is wrong with it.
#[derive(Debug, Clone, Default)]
pub struct Read {
    values: BTreeMap<Field, (u32, String)>,
    pub iteration: Option<u32>,
    /// `Some(None)`: it says that it has none.
    pub parent: Option<Option<u32>>,
    pub slice_id: Option<SliceId>,
    pub slice: Option<String>,
    pub cap: Option<Cap>,
    pub gates: Option<Gates>,
    pub last: Option<Option<(Kind, Verdict)>>,
    pub fails: Option<Fails>,
    pub evidence: Vec<Item>,
    pub context: Vec<Item>,
    pub open: Vec<(Item, Action)>,
    pub resolved: Vec<(Item, String)>,
    pub findings: Vec<Finding>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Section {
    Evidence,
    Context,
    Issues,
    Open,
    Resolved,
}

impl Section {
    const ALL: [(Self, &'static str); 5] = [
        (Self::Evidence, "Evidence"),
        (Self::Context, "Consolidated Context"),
        (Self::Issues, "Issues"),
        (Self::Open, "Open Issues"),
        (Self::Resolved, "Resolved This Iteration"),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(section, _)| *section == self).map_or("", |(_, name)| name)
    }

    /// The section that a line begins: by its name. A heading may say more behind that, in brackets or after a dash; any other line
    /// only the words that belong to the name, because `Issues (3) were open` is somebody's sentence.
    fn called(text: &str, heading: bool) -> Option<Self> {
        let named = |name: &str| {
            let (start, rest) = text.split_at_checked(name.len())?;
            let behind = match rest.trim_start().strip_prefix('(') {
                Some(brackets) => brackets.split_once(')')?.1.trim_start(),
                None => rest.trim_start(),
            };
            let ends = behind.is_empty() || behind.starts_with(['-', '–', '—']);
            (start.eq_ignore_ascii_case(name) && ends && (heading || is_usual(rest))).then_some(())
        };
        Self::ALL.into_iter().find(|(_, name)| named(name).is_some()).map(|(section, _)| section)
    }
}

/// Reads a snapshot's file. Findings are placed in `path`.
pub fn read(path: &str, text: &str) -> Read {
    let mut read = Read::default();
    if text.len() > LARGEST {
        let says = format!("It has {} bytes; a snapshot has at most {LARGEST}.", text.len());
        let next = "Keep what plans rest on, and leave the rest to the files that it names.";
        read.findings.push(Finding::error(FORM, says, next).at(path, None));
        return read;
    }
    Reader { path, read: &mut read, section: None, level: 0, foreign: false, sections: BTreeMap::new(), item: None }
        .all(text);
    read
}

struct Reader<'r> {
    path: &'r str,
    read: &'r mut Read,
    section: Option<Section>,
    /// How deep the heading of the section is; of one that is no heading, deeper than any.
    level: usize,
    /// In a section of the author's own, which is none of a snapshot.
    foreign: bool,
    sections: BTreeMap<Section, u32>,
    /// The entry that is being read.
    item: Option<(Section, u32, String)>,
}

impl Reader<'_> {
    fn find(&mut self, rule: &str, at: u32, says: String, next: impl Into<String>) {
        self.read.findings.push(Finding::error(rule, says, next).at(self.path, Some(at)));
    }

    fn all(mut self, text: &str) {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        // A file of an old editor's ends its lines by this alone. Elsewhere it is no line's end, so that lines are counted as anybody does.
        let text = if text.contains('\n') { text.to_owned() } else { text.replace('\r', "\n") };
        let text = match without_comments(&text) {
            Ok(text) => text,
            Err(at) => {
                // Nobody sees what follows, so nothing is said of what may be missing there.
                let says = "A comment begins here (`<!--`) and never ends: nobody sees what follows.".to_owned();
                return self.find(FORM, at, says, "End it with `-->`, or take it out.");
            }
        };
        let (mut at, mut fence) = (0_u32, None);
        let lines: Vec<&str> = text.split('\n').map(|raw| raw.trim_end_matches('\r')).collect();
        for (n, raw) in lines.iter().enumerate() {
            at += 1;
            let bare = raw.trim();
            let before = n.checked_sub(1).and_then(|n| lines.get(n)).is_none_or(|before| ends_text(before));
            let underlined = lines.get(n + 1).and_then(|next| underline(next)).filter(|_| before && is_text(raw));
            let mark = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark));
            match (fence, mark) {
                (None, Some(mark)) => fence = Some(mark),
                (Some(open), Some(mark)) if open == mark => fence = None,
                (Some(_), _) if self.foreign => {}
                (Some(_), _) => self.more(at, bare),
                (None, None) => match underlined.filter(|_| self.section.is_some()) {
                    Some(mark) => self.one(at, &format!("{mark} {bare}")),
                    None => self.one(at, raw),
                },
            }
        }
        self.end_item();
        self.header(at);
        for (section, name) in Section::ALL {
            if !self.sections.contains_key(&section) {
                self.find(
                    FORM,
                    at,
                    format!("The section {} is missing.", quoted(name)),
                    "Add it as a heading; it may say `None.`",
                );
            }
        }
        self.bound();
    }

    /// One line outside of a code block.
    fn one(&mut self, at: u32, raw: &str) {
        let bare = raw.trim();
        if bare.is_empty() {
            self.end_item();
            return;
        }
        // The line below a heading, or around front matter.
        if bare.len() > 2 && bare.chars().all(|c| matches!(c, '-' | '=' | '*' | '_')) {
            self.end_item();
            return;
        }
        let (marked, content) = entry(raw);
        let plain = undecorated(content);
        // What is quoted, is code by where it stands, or goes on with an entry is no heading, but for one of a snapshot's own.
        let within = self.section.is_some()
            && (bare.starts_with('>') || is_code(raw) || raw.starts_with([' ', '\t']) && self.item.is_some());
        if let Some(section) = Section::called(plain.trim_end_matches(':'), is_heading(content)) {
            self.end_item();
            if let Some(before) = self.sections.insert(section, at) {
                let says = format!("The section {} is there twice, first on line {before}.", quoted(section.name()));
                self.find(FORM, at, says, "Put what they say into one.");
            }
            self.section = Some(section);
            (self.level, self.foreign) = (depth(content).unwrap_or(NO_HEADING), false);
            return;
        }
        if self.section.is_none() {
            if marked && ["F-", "I-"].iter().any(|prefix| numbered(content, prefix).0.is_some()) {
                let says = "This entry stands above the sections, where it is none.".to_owned();
                self.find(
                    FORM,
                    at,
                    says,
                    "Put facts into Evidence or Consolidated Context, and issues into Open Issues.",
                );
            }
            self.field(at, &plain, content);
            return;
        }
        if let Some(depth) = depth(content).filter(|_| !marked && !within) {
            // A heading of the author's own belongs to the section above it where it is deeper. Otherwise it ends that: what stands
            // below it was never meant as evidence, or as what plans rest on.
            self.end_item();
            if depth <= self.level && !self.foreign {
                self.foreign = true;
                let says = format!("{} is no section of a snapshot.", quoted(&plain));
                let next = "Put what it says into Evidence, with what shows it, or into Open Issues; or make it a deeper heading of one of them.";
                self.find(FORM, at, says, next);
            }
            return;
        }
        if self.foreign {
            return;
        }
        let indented = raw.starts_with(['\t', ' ']) && raw.len() - raw.trim_start().len() > 3;
        if (marked && !indented) || self.item.is_none() {
            self.end_item();
            self.begin(at, content);
        } else {
            self.more(at, content);
        }
    }

    fn begin(&mut self, at: u32, content: &str) {
        let Some(section) = self.section else { return };
        self.item = Some((section, at, content.to_owned()));
    }

    fn more(&mut self, at: u32, content: &str) {
        match &mut self.item {
            Some((_, _, text)) => {
                text.push(' ');
                text.push_str(content);
            }
            None => self.begin(at, content),
        }
    }

    fn end_item(&mut self) {
        let Some((section, at, text)) = self.item.take() else { return };
        let text = line(&text);
        if is_nothing(&text) {
            return;
        }
        let prefix = match section {
            Section::Evidence | Section::Context => "F-",
            Section::Issues | Section::Open | Section::Resolved => "I-",
        };
        let (id, text) = numbered(&text, prefix);
        let item = Item { id, text, line: at };
        if item.text.is_empty() {
            self.find(
                FORM,
                at,
                "This entry has a number and says nothing.".to_owned(),
                "Say what it is, or leave it out.",
            );
            return;
        }
        // What is said, without its number and the marks that an issue ends with.
        let marks = match section {
            Section::Evidence | Section::Context => 0,
            Section::Issues | Section::Open | Section::Resolved => LONGEST + 100,
        };
        if item.text.chars().count() > LONGEST + marks {
            let says = format!("This entry of {} is longer than {LONGEST} characters.", quoted(section.name()));
            self.find(FORM, at, says, "Say it shorter, or make it several.");
            return;
        }
        match section {
            Section::Evidence => self.read.evidence.push(item),
            Section::Context => self.read.context.push(item),
            Section::Open => self.opened(item),
            Section::Resolved => self.closed(item),
            // Words before the two lists.
            Section::Issues => {}
        }
    }

    fn opened(&mut self, item: Item) {
        let (at, shown) =
            (item.line, item.id.map_or_else(|| "This open issue".to_owned(), |id| IssueId(id).to_string()));
        let Some((text, action)) = split(&item.text, "next action:") else {
            let says = format!("{shown} has no next action, or more than one.");
            self.find(ISSUES, at, says, "End it with `Next action: fix`, `re-scout` or `re-plan`: one of them.");
            return;
        };
        let Some(action) = Action::parse(action) else {
            let says = format!("{shown} has the next action {}.", quoted(action));
            self.find(ISSUES, at, says, "End it with `Next action: fix`, `re-scout` or `re-plan`: one of them.");
            return;
        };
        let item = Item { text: text.to_owned(), ..item };
        self.read.open.push((item, action));
    }

    fn closed(&mut self, item: Item) {
        let (at, shown) =
            (item.line, item.id.map_or_else(|| "This resolved issue".to_owned(), |id| IssueId(id).to_string()));
        match split(&item.text, "closed by:").filter(|(_, by)| !is_nothing(by)) {
            Some((text, by)) => {
                let (text, by) = (text.to_owned(), by.to_owned());
                self.read.resolved.push((Item { text, ..item }, by));
            }
            None => {
                let says = format!("{shown} does not say which check or evidence closed it.");
                self.find(ISSUES, at, says, "End it with `Closed by:` and what shows it.");
            }
        }
    }

    /// A line of the header.
    fn field(&mut self, at: u32, plain: &str, content: &str) {
        let Some((key, _)) = plain.split_once(':') else { return };
        let Some(field) = Field::called(key.trim()) else { return };
        // The value as it was written: decoration may be part of a glob.
        let (start, value) = content.split_once(':').unwrap_or((content, ""));
        let value = match start.strip_prefix("**") {
            // `**Key:** value`, or all of it in bold.
            Some(key) if !key.contains("**") => value.strip_prefix("**").or(value.strip_suffix("**")).unwrap_or(value),
            _ => value,
        };
        let value = line(value);
        let value = match field {
            Field::Cap | Field::Slice => value,
            _ => value.trim_matches(['`', '*', '_']).to_owned(),
        };
        if let Some((before, _)) = self.read.values.get(&field) {
            let says = format!("{} is there twice, first on line {before}.", quoted(field.name()));
            self.find(FORM, at, says, "Keep one of them.");
            return;
        }
        self.read.values.insert(field, (at, value));
    }

    /// What the header comes to, once all of it was seen.
    fn header(&mut self, end: u32) {
        for field in Field::ALL {
            if !self.read.values.contains_key(&field) {
                let says = format!("The header's {} is missing.", quoted(field.name()));
                let next = format!("Add the line `- {}: …`, with {}.", field.name(), field.form());
                self.find(FORM, end.min(1), says, next);
            }
        }
        self.read.iteration = self.value(Field::Iteration, iteration);
        self.read.parent = self.value(Field::Parent, |text| match text.to_ascii_lowercase().as_str() {
            "none" => Some(None),
            text => iteration(text.strip_prefix("iter-")?).map(Some),
        });
        if let (Some(own), Some(Some(parent))) = (self.read.iteration, self.read.parent)
            && parent >= own
        {
            let at = self.read.values.get(&Field::Parent).map_or(1, |(at, _)| *at);
            let says = format!("The parent of iter-{own:04} is iter-{parent:04}, which is not before it.");
            self.find("SNP-03", at, says, "Name the snapshot that it follows.");
        }
        self.read.slice_id = self.value(Field::SliceId, |text| {
            let digits = text.strip_prefix(['S', 's'])?.strip_prefix('-')?;
            iteration(digits).filter(|id| *id > 0).map(SliceId)
        });
        self.read.slice = self.value(Field::Slice, sentence);
        self.read.cap = match self.read.values.get(&Field::Cap).cloned() {
            None => None,
            Some((at, text)) => match Cap::read(&text) {
                Ok(cap) => Some(cap),
                Err(why) => {
                    let says = format!("The scope cap is none: {why}.");
                    self.find(FORM, at, says, format!("Write {}.", Field::Cap.form()));
                    None
                }
            },
        };
        let iteration_gates = self.value(Field::IterationGate, gates);
        let exit_gates = self.value(Field::ExitGate, gates);
        self.read.gates = iteration_gates.zip(exit_gates).map(|(iteration, exit)| Gates { iteration, exit });
        let run = self.value(Field::LastRun, |text| match text.to_ascii_lowercase().as_str() {
            "none" => Some(None),
            "iteration" => Some(Some(Kind::Iteration)),
            "exit" => Some(Some(Kind::Exit)),
            _ => None,
        });
        let outcome = self.value(Field::LastOutcome, |text| match text.to_ascii_lowercase().as_str() {
            "none" => Some(None),
            "pass" => Some(Some(Verdict::Pass)),
            "fail" => Some(Some(Verdict::Fail)),
            _ => None,
        });
        self.read.last = match (run, outcome) {
            (Some(None), Some(None)) => Some(None),
            (Some(Some(kind)), Some(Some(verdict))) => Some(Some((kind, verdict))),
            (Some(_), Some(_)) => {
                let at = self.read.values.get(&Field::LastOutcome).map_or(1, |(at, _)| *at);
                let says =
                    "Either a gate was run and had an outcome, or neither; the header says one of them.".to_owned();
                self.find(FORM, at, says, "Give both, or `none` twice.");
                None
            }
            _ => None,
        };
        let iteration_fails = self.value(Field::IterationFails, count);
        let exit_fails = self.value(Field::ExitFails, count);
        self.read.fails = iteration_fails.zip(exit_fails).map(|(iteration, exit)| Fails { iteration, exit });
    }

    fn value<T>(&mut self, field: Field, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let (at, text) = self.read.values.get(&field).cloned()?;
        let parsed = parse(&text);
        if parsed.is_none() {
            let shown: String = text.chars().take(80).collect();
            let says = format!("{} is {}, which is not {}.", quoted(field.name()), quoted(&shown), field.form());
            self.find(FORM, at, says, format!("Write {}.", field.form()));
        }
        parsed
    }

    /// Numbers that stand twice, and more than anybody reads.
    fn bound(&mut self) {
        let (evidence, context) = (self.read.evidence.clone(), self.read.context.clone());
        let open: Vec<Item> = self.read.open.iter().map(|(item, _)| item.clone()).collect();
        let resolved: Vec<Item> = self.read.resolved.iter().map(|(item, _)| item.clone()).collect();
        let issues: Vec<Item> = open.iter().chain(&resolved).cloned().collect();
        for (items, prefix) in [(&evidence, 'F'), (&context, 'F'), (&issues, 'I')] {
            let mut seen = BTreeMap::new();
            for item in items {
                let Some(id) = item.id else { continue };
                if let Some(before) = seen.insert(id, item.line) {
                    let says = format!("{prefix}-{id:04} is there twice, first on line {before}.");
                    self.find(FORM, item.line, says, "Give each its own number; one without gets the next.");
                }
            }
        }
        let lists = [
            (evidence.len(), MOST_FACTS, Section::Evidence),
            (context.len(), MOST_FACTS, Section::Context),
            (open.len(), MOST_ISSUES, Section::Open),
        ];
        for (has, most, section) in lists {
            if has > most {
                let at = self.sections.get(&section).copied().unwrap_or(1);
                let says = format!("{} has {has} entries; {most} are kept at most.", quoted(section.name()));
                self.find(FORM, at, says, "Distil it.");
            }
        }
    }
}

impl Read {
    /// Where a field stands.
    pub fn line(&self, field: Field) -> Option<u32> {
        self.values.get(&field).map(|(at, _)| *at)
    }

    /// The snapshot, where nothing is wrong with its form. Entries without a number get the next ones after these.
    pub fn whole(&self, mut last_fact: u32, mut last_issue: u32) -> Option<Snapshot> {
        if self.findings.iter().any(Finding::blocks) {
            return None;
        }
        let facts = self.evidence.iter().chain(&self.context).filter_map(|item| item.id);
        last_fact = facts.chain([last_fact]).max().unwrap_or(0);
        let issues = self.open.iter().map(|(item, _)| item).chain(self.resolved.iter().map(|(item, _)| item));
        last_issue = issues.filter_map(|item| item.id).chain([last_issue]).max().unwrap_or(0);
        let mut fact = |item: &Item| {
            let id = item.id.unwrap_or_else(|| {
                last_fact += 1;
                last_fact
            });
            Fact { id: FactId(id), text: item.text.clone() }
        };
        let evidence = self.evidence.iter().map(&mut fact).collect();
        let context = self.context.iter().map(&mut fact).collect();
        let mut issue = |item: &Item| {
            IssueId(item.id.unwrap_or_else(|| {
                last_issue += 1;
                last_issue
            }))
        };
        let open = self.open.iter();
        let open = open.map(|(item, action)| Open { id: issue(item), text: item.text.clone(), action: *action });
        let open = open.collect();
        let resolved = self.resolved.iter();
        let resolved =
            resolved.map(|(item, by)| Resolved { id: issue(item), text: item.text.clone(), by: by.clone() }).collect();
        Some(Snapshot {
            iteration: self.iteration?,
            parent: self.parent?,
            slice_id: self.slice_id?,
            slice: self.slice.clone()?,
            cap: self.cap.clone()?,
            gates: self.gates.clone()?,
            last: self.last?,
            fails: self.fails?,
            evidence,
            context,
            open,
            resolved,
        })
    }
}

/// Four digits or more.
fn iteration(text: &str) -> Option<u32> {
    let number = text.parse().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()))?;
    (name(number) == format!("iter-{text}")).then_some(number)
}

fn count(text: &str) -> Option<u32> {
    text.parse().ok().filter(|_| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()))
}

/// As deep as the heading of a section is that stands below bold or bare words.
const NO_HEADING: usize = 2;

/// How deep a heading is.
fn depth(content: &str) -> Option<usize> {
    let marks = content.bytes().take_while(|byte| *byte == b'#').count();
    let ends = content[marks..].is_empty() || content[marks..].starts_with([' ', '\t']);
    (marks > 0 && ends).then_some(marks)
}

/// The marks of the heading that a line makes of the one above it.
fn underline(raw: &str) -> Option<&'static str> {
    let bare = raw.trim();
    let all = |mark: char| bare.len() > 1 && bare.chars().all(|c| c == mark);
    match () {
        () if is_code(raw) => None,
        () if all('=') => Some("#"),
        () if all('-') => Some("##"),
        () => None,
    }
}

/// Whether a line is code by how far it is indented.
fn is_code(raw: &str) -> bool {
    raw.starts_with('\t') || raw.starts_with("    ")
}

/// Whether what stands below a line begins anew.
fn ends_text(raw: &str) -> bool {
    raw.trim().is_empty() || raw.starts_with('#') || underline(raw).is_some()
}

/// A line of words: no heading, no entry, no quotation, no code.
fn is_text(raw: &str) -> bool {
    let bare = raw.trim();
    !bare.is_empty() && !bare.starts_with(['#', '>', '|']) && !entry(raw).0 && !is_code(raw) && underline(raw).is_none()
}

/// Whether a line is marked as a heading, or bold from its beginning to its end.
fn is_heading(content: &str) -> bool {
    let bare = content.trim_end().trim_end_matches(':');
    content.starts_with('#')
        || ["**", "__"].iter().any(|mark| bare.len() > 4 && bare.starts_with(mark) && bare.ends_with(mark))
}

/// Whether what stands behind the name of a section is nothing but what usually does.
fn is_usual(text: &str) -> bool {
    const USUAL: [&str; 7] = ["scout", "findings", "source", "of", "truth", "state", "authoritative"];
    let mut words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.all(|word| word.eq_ignore_ascii_case("non") || USUAL.iter().any(|usual| word.eq_ignore_ascii_case(usual)))
}

/// Words, and not what a template left standing.
pub fn sentence(text: &str) -> Option<String> {
    let template = text.starts_with('<') && text.ends_with('>');
    let empty = is_nothing(text) || ["tbd", "todo", "…", "..."].contains(&text.to_ascii_lowercase().as_str());
    (!template && !empty && text.chars().count() <= LONGEST).then(|| text.to_owned())
}

fn gates(text: &str) -> Option<Vec<String>> {
    if text.eq_ignore_ascii_case("none") {
        return Some(Vec::new());
    }
    let clean = |part: &str| part.trim().trim_matches('`').to_ascii_lowercase();
    let names: Vec<String> = text.split(',').map(clean).collect();
    let fine = |name: &String| {
        !name.is_empty() && name.len() <= 40 && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
    };
    names.iter().all(fine).then_some(names)
}

/// What a section says that has nothing in it.
fn is_nothing(text: &str) -> bool {
    let text = text.trim().trim_end_matches('.').trim_matches(['(', ')', '*', '_']);
    text.is_empty() || text.eq_ignore_ascii_case("none")
}

/// The text without what nobody sees, its lines where they were; or the line of a comment that never ends.
fn without_comments(text: &str) -> Result<String, u32> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut fence: Option<&str> = None;
    while !rest.is_empty() {
        let end = rest.find('\n').map_or(rest.len(), |end| end + 1);
        let line = &rest[..end];
        if out.is_empty() || out.ends_with('\n') {
            let mark = ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
            let fenced = fence.is_some() || mark.is_some();
            match (fence, mark) {
                (None, Some(mark)) => fence = Some(mark),
                (Some(open), Some(mark)) if open == mark => fence = None,
                _ => {}
            }
            // Code is seen as it stands.
            if fenced {
                out.push_str(line);
                rest = &rest[end..];
                continue;
            }
        }
        let Some(start) = hidden_from(line) else {
            out.push_str(line);
            rest = &rest[end..];
            continue;
        };
        out.push_str(&rest[..start]);
        let hidden = &rest[start..];
        let Some(end) = hidden.find("-->").map(|end| end + 3) else {
            return Err(u32::try_from(out.matches('\n').count() + 1).unwrap_or(u32::MAX));
        };
        out.extend(hidden[..end].chars().filter(|c| *c == '\n'));
        rest = &hidden[end..];
    }
    Ok(out)
}

/// Where a comment begins in a line, outside of code.
fn hidden_from(line: &str) -> Option<usize> {
    let mut at = 0;
    while at < line.len() {
        let rest = &line[at..];
        let comment = rest.find("<!--")?;
        let Some(tick) = rest.find('`').filter(|tick| *tick < comment) else { return Some(at + comment) };
        let marks = rest[tick..].bytes().take_while(|byte| *byte == b'`').count();
        let inside = at + tick + marks;
        at = closing(&line[inside..], marks).map_or(inside, |end| inside + end);
    }
    None
}

/// Where code ends that began with so many marks.
fn closing(text: &str, marks: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(tick) = text[at..].find('`') {
        let run = text[at + tick..].bytes().take_while(|byte| *byte == b'`').count();
        at += tick + run;
        if run == marks {
            return Some(at);
        }
    }
    None
}

/// Whether a line begins an entry of a list, and what it says.
fn entry(raw: &str) -> (bool, &str) {
    let bare = raw.trim();
    let bullet = bare.strip_prefix(['-', '*', '+']).filter(|rest| rest.starts_with([' ', '\t']));
    let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
    let numbered = bare.get(digits..).filter(|_| (1..=4).contains(&digits));
    let numbered = numbered.and_then(|rest| rest.strip_prefix(['.', ')'])).filter(|rest| rest.starts_with([' ', '\t']));
    match bullet.or(numbered) {
        Some(rest) => (true, rest.trim_start().trim_start_matches("[ ] ").trim_start_matches("[x] ")),
        None => (false, bare.trim_start_matches('>').trim_start()),
    }
}

/// The words of a line, without heading marks, bold and code.
fn undecorated(content: &str) -> String {
    let bare = content.trim_start_matches('#').trim_end_matches('#').trim();
    line(&bare.replace("**", "").replace("__", "").replace('`', ""))
}

/// `F-0001: text`, `**F-0001** text`, `[F-0001] text`.
fn numbered(text: &str, prefix: &str) -> (Option<u32>, String) {
    let whole = || (None, text.trim().to_owned());
    let bare = text.trim_start_matches(['*', '_', '[', '(', '`']);
    let decorated = bare.len() < text.len();
    let Some((start, rest)) = bare.split_at_checked(prefix.len()) else { return whole() };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (number, mut rest) = rest.split_at(digits);
    let id = number.parse::<u32>().ok().filter(|id| *id > 0 && (4..=6).contains(&digits));
    let ends = !rest.chars().next().is_some_and(char::is_alphanumeric);
    let Some(id) = id.filter(|_| ends && start.eq_ignore_ascii_case(prefix)) else { return whole() };
    if decorated {
        rest = rest.trim_start_matches([':', '*', '_', ']', ')', '`']);
    }
    rest = rest.trim_start();
    let rest = rest.strip_prefix([':', '–', '—']).or_else(|| rest.strip_prefix("- ")).unwrap_or(rest);
    (Some(id), rest.trim().to_owned())
}

/// What stands before a mark and behind it, where the mark stands once.
fn split<'t>(text: &'t str, mark: &str) -> Option<(&'t str, &'t str)> {
    let lower = text.to_ascii_lowercase();
    let mut found = lower.match_indices(mark).map(|(at, _)| at);
    let at = found.next().filter(|_| found.next().is_none())?;
    let (mut before, mut after) = (text[..at].trim_end(), text[at + mark.len()..].trim());
    // The mark itself in bold.
    if let (Some(start), Some(end)) = (before.strip_suffix("**"), after.strip_prefix("**")) {
        (before, after) = (start.trim_end(), end.trim_start());
    }
    (!before.is_empty()).then_some((before, after))
}
