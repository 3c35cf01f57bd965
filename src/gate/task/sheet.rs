//! `STATE.md`, the claim of whoever works on a task: its fields and its features, each with its line.
//!
//! A field is a line `Name: value`, also in a list or in bold, in any letter case; what follows up to the next field or heading
//! belongs to it. What stands in a block of code or in an HTML comment is no field. Every problem is told at once (`TSK-02`,
//! `TSK-06`), with the line and the line as it is to be.

use std::fmt;
use std::ops::Range;

use crate::finding::{Finding, quoted};
use crate::flow::task::Stage;
use crate::gate::paper::text;

/// The file's name.
pub const STATE: &str = "STATE.md";
/// A longer one is not read.
pub const LARGEST: usize = 256 * 1024;
/// A value has no more characters than this.
pub const LONGEST: usize = 8_000;
/// No more features are tracked.
pub const MOST_FEATURES: usize = 200;

/// The rule of a field.
pub const FIELD: &str = "TSK-02";
/// The rule of a feature's label.
pub const LABEL: &str = "TSK-06";

/// The fields, in the order in which they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    Phase,
    Status,
    Objective,
    DoneGate,
    NotDoing,
    Constraints,
    ValidationPlan,
    CurrentResult,
    NextStep,
    Blockers,
    EvidenceLocation,
    EvidenceLink,
    CandidateDone,
    ValidatorStatus,
    RepairApplied,
    RevalidationStatus,
    LastUpdated,
    /// Ours: the only one that may be left out.
    UserFacing,
}

impl Field {
    pub const ALL: [Self; 18] = [
        Self::Phase,
        Self::Status,
        Self::Objective,
        Self::DoneGate,
        Self::NotDoing,
        Self::Constraints,
        Self::ValidationPlan,
        Self::CurrentResult,
        Self::NextStep,
        Self::Blockers,
        Self::EvidenceLocation,
        Self::EvidenceLink,
        Self::CandidateDone,
        Self::ValidatorStatus,
        Self::RepairApplied,
        Self::RevalidationStatus,
        Self::LastUpdated,
        Self::UserFacing,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Phase => "Phase",
            Self::Status => "Status",
            Self::Objective => "Objective",
            Self::DoneGate => "Done gate",
            Self::NotDoing => "Not doing",
            Self::Constraints => "Reality constraints",
            Self::ValidationPlan => "Validation plan",
            Self::CurrentResult => "Current result",
            Self::NextStep => "Next step",
            Self::Blockers => "Blockers",
            Self::EvidenceLocation => "Evidence location",
            Self::EvidenceLink => "Evidence link",
            Self::CandidateDone => "Candidate done",
            Self::ValidatorStatus => "Validator status",
            Self::RepairApplied => "Repair applied",
            Self::RevalidationStatus => "Revalidation status",
            Self::LastUpdated => "Last updated",
            Self::UserFacing => "User-facing",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        let name = plain(name);
        Self::ALL.into_iter().find(|field| plain(field.as_str()) == name)
    }

    fn is_optional(self) -> bool {
        self == Self::UserFacing
    }

    /// What it takes, where that is one of a few words.
    fn choices(self) -> &'static [&'static str] {
        match self {
            Self::CandidateDone | Self::RepairApplied | Self::UserFacing => &["yes", "no"],
            Self::ValidatorStatus | Self::RevalidationStatus => &["pending", "pass", "fail"],
            _ => &[],
        }
    }

    /// A line that is right.
    fn example(self) -> String {
        let value = match self {
            Self::Phase => "intake",
            Self::Status => "not started",
            Self::LastUpdated => "2026-01-31",
            Self::CandidateDone | Self::RepairApplied | Self::UserFacing => "no",
            Self::ValidatorStatus | Self::RevalidationStatus => "pending",
            _ => "",
        };
        format!("{}: {value}", self.as_str()).trim_end().to_owned()
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How far a check has come, by whoever claims it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checked {
    Pending,
    Pass,
    Fail,
}

/// How truly a feature is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truth {
    RealWorking,
    RealReadOnly,
    BlockedHidden,
    UnknownDoNotShow,
}

impl Truth {
    pub const ALL: [Self; 4] = [Self::RealWorking, Self::RealReadOnly, Self::BlockedHidden, Self::UnknownDoNotShow];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::RealWorking => "real_working",
            Self::RealReadOnly => "real_read_only",
            Self::BlockedHidden => "blocked_hidden",
            Self::UnknownDoNotShow => "unknown_do_not_show",
        }
    }
}

/// Something that people see, and how truly it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feature {
    pub name: String,
    pub truth: Truth,
    pub line: u32,
}

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    field: Field,
    value: String,
    line: u32,
    /// Its bytes in the text, from its name to the last line of its value.
    span: Range<usize>,
}

/// A `STATE.md` that is in its form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sheet {
    text: String,
    entries: Vec<Entry>,
    pub phase: Stage,
    pub candidate_done: bool,
    pub validator: Checked,
    pub repair_applied: bool,
    pub revalidation: Checked,
    /// Whether it is said that people see something of it.
    pub user_facing: Option<bool>,
    pub features: Vec<Feature>,
}

impl Sheet {
    /// What a field says. Empty where it says nothing.
    pub fn value(&self, field: Field) -> &str {
        self.entry(field).map_or("", |entry| entry.value.as_str())
    }

    pub fn line(&self, field: Field) -> Option<u32> {
        self.entry(field).map(|entry| entry.line)
    }

    /// Whether a field says something that is no placeholder.
    pub fn says(&self, field: Field) -> bool {
        text::says_something(self.value(field), &text::words(field.as_str()))
    }

    fn entry(&self, field: Field) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.field == field)
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text with another value of a field, and all else as it is. A value of several lines stands below its name.
    #[must_use]
    pub fn with(&self, field: Field, value: &str) -> String {
        let mut text = self.text.clone();
        let written = match value.contains('\n') {
            true => format!("{field}:\n{value}"),
            false => format!("{field}: {value}").trim_end().to_owned(),
        };
        match self.entry(field) {
            Some(entry) => text.replace_range(entry.span.clone(), &written),
            None => {
                let end = self.entries.last().map_or(text.len(), |entry| entry.span.end);
                text.insert_str(end, &format!("\n{written}"));
            }
        }
        text
    }
}

/// Reads the file; or tells all that is wrong with it. Findings are placed in `path`.
pub fn read(path: &str, bytes: &[u8]) -> Result<Sheet, Vec<Finding>> {
    let text = decoded(path, bytes).map_err(|finding| vec![*finding])?;
    let mut reader = Reader { path, findings: Vec::new() };
    let Scan { entries, features, strays } = scan(text);
    let entries = reader.once(entries);
    reader.missing(&entries, &strays);
    let features = reader.features(features);
    let phase = reader.phase(&entries);
    let candidate_done = reader.yes(&entries, Field::CandidateDone);
    let repair_applied = reader.yes(&entries, Field::RepairApplied);
    let user_facing = reader.yes(&entries, Field::UserFacing);
    let validator = reader.checked(&entries, Field::ValidatorStatus);
    let revalidation = reader.checked(&entries, Field::RevalidationStatus);
    reader.status(&entries);
    reader.updated(&entries);
    if !reader.findings.is_empty() {
        reader.findings.sort_by_key(|finding| finding.line);
        return Err(reader.findings);
    }
    let (Some(phase), Some(candidate_done), Some(repair_applied)) = (phase, candidate_done, repair_applied) else {
        return Err(reader.findings);
    };
    let (Some(validator), Some(revalidation)) = (validator, revalidation) else { return Err(reader.findings) };
    let text = text.to_owned();
    Ok(Sheet { text, entries, phase, candidate_done, validator, repair_applied, revalidation, user_facing, features })
}

/// A name without what does not tell names apart.
fn plain(name: &str) -> String {
    let words = name.split(|c: char| c.is_whitespace() || matches!(c, '-' | '_' | '*' | '`'));
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

fn decoded<'b>(path: &str, bytes: &'b [u8]) -> Result<&'b str, Box<Finding>> {
    if bytes.len() > LARGEST {
        let says = format!("{STATE} has {} bytes; at most {LARGEST} are read.", bytes.len());
        let next = "Say it shorter; logs and outputs belong to the evidence.";
        return Err(Box::new(Finding::error(FIELD, says, next).at(path, None)));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let says = format!("{STATE} is no UTF-8 text from here on.");
        Finding::error(FIELD, says, "Save the file as UTF-8.").at(path, u32::try_from(line).ok())
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// What the lines of a text are.
#[derive(Default)]
struct Scan {
    entries: Vec<Entry>,
    /// The items of the checklist, each with its line.
    features: Vec<(String, u32)>,
    /// Labels that are no field's, each with its line.
    strays: Vec<(String, u32)>,
}

/// A heading that the checklist of features stands below.
fn is_checklist(heading: &str) -> bool {
    let words = text::words(heading);
    words.iter().any(|word| word == "features" || word == "feature") && words.iter().any(|word| word == "visible")
}

fn scan(text: &str) -> Scan {
    let mut scan = Scan::default();
    let (mut fence, mut comment, mut listing, mut open): (Option<String>, bool, bool, bool) =
        (None, false, false, false);
    let mut start = 0;
    for (number, raw) in (1_u32..).zip(text.split_inclusive('\n')) {
        let (from, end) = (start, start + raw.trim_end_matches(['\n', '\r']).len());
        start += raw.len();
        let whole = raw.trim_end();
        if let Some(mark) = &fence {
            let ends =
                whole.trim_start().starts_with(mark.as_str()) && whole.trim().chars().all(|c| mark.starts_with(c));
            if open {
                extend(&mut scan.entries, whole, end);
            }
            if ends {
                fence = None;
            }
            continue;
        }
        let line = uncommented(whole, &mut comment);
        let bare = line.trim_start();
        if let Some(mark) = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark)) {
            let length = bare.chars().take_while(|c| mark.starts_with(*c)).count();
            fence = Some(mark.chars().take(1).cycle().take(length).collect());
            if open {
                extend(&mut scan.entries, whole, end);
            }
            continue;
        }
        if let Some(heading) = heading(bare) {
            (listing, open) = (is_checklist(heading), false);
            continue;
        }
        if let Some((name, value)) = label(bare) {
            if let Some(field) = Field::parse(name) {
                let entry = Entry { field, value: value.to_owned(), line: number, span: from..end };
                scan.entries.push(entry);
                (listing, open) = (false, true);
                continue;
            }
            // A label for the checklist, in place of a heading.
            if is_checklist(name) && value.is_empty() {
                (listing, open) = (true, false);
                continue;
            }
            if !listing {
                scan.strays.push((name.trim().to_owned(), number));
            }
        }
        if listing {
            if let Some(item) = item(bare) {
                scan.features.push((item.to_owned(), number));
            }
        } else if open && !line.trim().is_empty() {
            extend(&mut scan.entries, &line, end);
        }
    }
    scan
}

/// One more line of the newest value.
fn extend(entries: &mut [Entry], line: &str, end: usize) {
    let Some(entry) = entries.last_mut() else { return };
    if !entry.value.is_empty() {
        entry.value.push('\n');
    }
    entry.value.push_str(line.trim_end());
    entry.span.end = end;
}

/// A line without what is commented out in it.
fn uncommented(line: &str, comment: &mut bool) -> String {
    let (mut out, mut rest) = (String::new(), line);
    loop {
        if *comment {
            let Some((_, after)) = rest.split_once("-->") else { return out };
            (*comment, rest) = (false, after);
        }
        let Some((before, after)) = rest.split_once("<!--") else {
            out.push_str(rest);
            return out;
        };
        out.push_str(before);
        (*comment, rest) = (true, after);
    }
}

fn heading(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    ((1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t']))).then(|| rest.trim())
}

/// The text of a list's item; with or without a box.
fn item(line: &str) -> Option<&str> {
    let rest = line.strip_prefix(['-', '*', '+'])?;
    let rest = rest.strip_prefix([' ', '\t'])?.trim_start();
    let boxed = ["[ ] ", "[x] ", "[X] "].into_iter().find_map(|mark| rest.strip_prefix(mark));
    Some(boxed.unwrap_or(rest).trim())
}

/// `Name: value`, also as an item of a list, or with its name in bold.
fn label(line: &str) -> Option<(&str, &str)> {
    const LONGEST_NAME: usize = 40;
    let (name, value) = item(line).unwrap_or(line).split_once([':', '：'])?;
    let is_name = !name.trim().is_empty() && name.len() <= LONGEST_NAME && !value.starts_with("//");
    // `**Phase:** intake`
    let value = value.trim_start_matches(if name.trim_start().starts_with("**") { "**" } else { "" });
    is_name.then(|| (name, value.trim()))
}

struct Reader<'r> {
    path: &'r str,
    findings: Vec<Finding>,
}

impl Reader<'_> {
    fn wrong(&mut self, rule: &str, line: Option<u32>, says: String, next: String) {
        self.findings.push(Finding::error(rule, says, next).at(self.path, line));
    }

    /// Each field once. Of two nobody can tell which counts.
    fn once(&mut self, entries: Vec<Entry>) -> Vec<Entry> {
        let mut kept: Vec<Entry> = Vec::new();
        for entry in entries {
            if let Some(first) = kept.iter().find(|one| one.field == entry.field) {
                let says = format!("`{}:` stands here once more; line {} has it first.", entry.field, first.line);
                self.wrong(FIELD, Some(entry.line), says, "Keep one: of two nobody can tell which counts.".to_owned());
                continue;
            }
            if entry.value.chars().count() > LONGEST {
                let says = format!("`{}:` has more than {LONGEST} characters.", entry.field);
                self.wrong(
                    FIELD,
                    Some(entry.line),
                    says,
                    "Say it shorter, and leave the rest to the evidence.".to_owned(),
                );
            }
            kept.push(entry);
        }
        kept
    }

    fn missing(&mut self, entries: &[Entry], strays: &[(String, u32)]) {
        for field in Field::ALL.into_iter().filter(|field| !field.is_optional()) {
            if entries.iter().any(|entry| entry.field == field) {
                continue;
            }
            let near =
                |(name, _): &&(String, u32)| strsim::damerau_levenshtein(&plain(name), &plain(field.as_str())) <= 2;
            match strays.iter().find(near) {
                Some((name, line)) => {
                    let says = format!("`{field}:` is missing, and {} is close to it.", quoted(name));
                    self.wrong(FIELD, Some(*line), says, format!("Call it `{field}:`."));
                }
                None => {
                    let next = format!("Add a line `{}`.", field.example());
                    self.wrong(FIELD, None, format!("`{field}:` is missing."), next);
                }
            }
        }
    }

    fn phase(&mut self, entries: &[Entry]) -> Option<Stage> {
        let entry = entries.iter().find(|entry| entry.field == Field::Phase)?;
        let word = word(&entry.value);
        let phase = Stage::parse(&word.replace([' ', '-'], "_"));
        if phase.is_none() {
            let says = match word.is_empty() {
                true => "`Phase:` names none.".to_owned(),
                false => format!("{} is no phase.", quoted(&clipped(&entry.value))),
            };
            let next = format!("Write one of {}.", crate::flow::task::listed(Stage::ALL.into_iter()));
            self.wrong(FIELD, Some(entry.line), says, next);
        }
        phase
    }

    /// One of the words that a field takes.
    fn choice(&mut self, entries: &[Entry], field: Field) -> Option<&'static str> {
        let entry = entries.iter().find(|entry| entry.field == field)?;
        let (said, choices) = (word(&entry.value), field.choices());
        let found = choices.iter().copied().find(|choice| *choice == said);
        if found.is_none() {
            let all: Vec<String> = choices.iter().map(|choice| format!("`{choice}`")).collect();
            let says = match said.is_empty() {
                true => format!("`{field}:` says nothing."),
                false => format!("`{field}:` can't be {}.", quoted(&clipped(&entry.value))),
            };
            self.wrong(
                FIELD,
                Some(entry.line),
                says,
                format!("Write {}, and nothing else on the line.", all.join(" or ")),
            );
        }
        found
    }

    fn yes(&mut self, entries: &[Entry], field: Field) -> Option<bool> {
        self.choice(entries, field).map(|word| word == "yes")
    }

    fn checked(&mut self, entries: &[Entry], field: Field) -> Option<Checked> {
        self.choice(entries, field).map(|word| match word {
            "pass" => Checked::Pass,
            "fail" => Checked::Fail,
            _ => Checked::Pending,
        })
    }

    fn status(&mut self, entries: &[Entry]) {
        let Some(entry) = entries.iter().find(|entry| entry.field == Field::Status) else { return };
        if text::words(&entry.value).is_empty() {
            let next = format!("Say in a few words where it stands: `{}`.", Field::Status.example());
            self.wrong(FIELD, Some(entry.line), "`Status:` says nothing.".to_owned(), next);
        }
    }

    /// A day, or a moment with its zone.
    fn updated(&mut self, entries: &[Entry]) {
        let Some(entry) = entries.iter().find(|entry| entry.field == Field::LastUpdated) else { return };
        let said = entry.value.trim().trim_matches('`');
        let is_day = said.parse::<jiff::civil::Date>().is_ok() && said.len() == "2026-01-31".len();
        if !is_day && said.parse::<jiff::Timestamp>().is_err() {
            let says = match said.is_empty() {
                true => "`Last updated:` says nothing.".to_owned(),
                false => format!("`Last updated:` can't be {}.", quoted(&clipped(said))),
            };
            let next = "Write a day (`2026-01-31`), or a moment with its zone (`2026-01-31T08:00:00Z`).".to_owned();
            self.wrong(FIELD, Some(entry.line), says, next);
        }
    }

    fn features(&mut self, items: Vec<(String, u32)>) -> Vec<Feature> {
        let labels: Vec<String> = Truth::ALL.map(|truth| format!("`{}`", truth.as_str())).to_vec();
        let labels = labels.join(", ");
        let mut features: Vec<Feature> = Vec::new();
        if let Some((_, line)) = items.get(MOST_FEATURES) {
            let says = format!("There are {} features; at most {MOST_FEATURES} are tracked.", items.len());
            self.wrong(LABEL, Some(*line), says, "Put together what belongs together.".to_owned());
        }
        for (item, line) in items.into_iter().take(MOST_FEATURES) {
            let parts = item.rsplit_once([':', '—', '–', '=']);
            let (name, said) = parts.map_or((item.as_str(), ""), |(name, said)| (name.trim(), said));
            let said = word(said).replace([' ', '-'], "_");
            let truth = Truth::ALL.into_iter().find(|truth| truth.as_str() == said);
            let name = name.trim_matches(['*', '`', ' ']);
            match truth {
                _ if text::words(name).is_empty() => {
                    let next = format!("Write `- NAME: LABEL`, with one of {labels}.");
                    self.wrong(LABEL, Some(line), "A feature has no name.".to_owned(), next);
                }
                None => {
                    let says = match said.is_empty() {
                        true => format!("The feature {} has no label.", quoted(&clipped(name))),
                        false => {
                            format!("The feature {} can't be {}.", quoted(&clipped(name)), quoted(&clipped(&said)))
                        }
                    };
                    self.wrong(
                        LABEL,
                        Some(line),
                        says,
                        format!("Write `- {}: LABEL`, with one of {labels}.", clipped(name)),
                    );
                }
                Some(truth) => match features.iter().find(|one| plain(&one.name) == plain(name)) {
                    Some(first) => {
                        let says = format!(
                            "The feature {} stands here once more; line {} has it first.",
                            quoted(name),
                            first.line
                        );
                        self.wrong(
                            LABEL,
                            Some(line),
                            says,
                            "Keep one: of two nobody can tell which counts.".to_owned(),
                        );
                    }
                    None => features.push(Feature { name: name.to_owned(), truth, line }),
                },
            }
        }
        features
    }
}

/// A value of one word, without what marks it.
fn word(value: &str) -> String {
    value.trim().trim_matches(['*', '`', '"', '\'', '.', ' ']).to_lowercase()
}

/// The beginning of somebody's words.
fn clipped(text: &str) -> String {
    const MOST: usize = 60;
    let line = text.lines().next().unwrap_or_default();
    match line.chars().count() > MOST {
        true => line.chars().take(MOST - 1).chain(['…']).collect(),
        false => line.to_owned(),
    }
}

#[cfg(test)]
pub(in crate::gate::task) mod tests;
