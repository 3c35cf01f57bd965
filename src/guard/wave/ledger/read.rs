//! The one reader of `WAVE.md`. It tells every problem of the file at once, in the order of the lines.

use std::collections::BTreeMap;

use super::super::cell::{Branch, Digits, Echo, TaskId, WaveName, Worker, Wrong, is_hidden, shown};
use super::super::lease::Lease;
use super::{Field, LARGEST, Ledger, MOST_NOTES, MOST_PROBLEMS, MOST_ROWS, Note, NoteKind, Problem, Row, Status};

const COLUMNS: [&str; 5] = ["task", "worker", "branch", "lease", "fork-base"];
const FIRST: &str = "Begin the file with `wave: NAME status: live` (or `merging`).";
const BASE: &str =
    "Write `base: COMMIT` below the first line, with 7 to 40 hexadecimal digits, as `git rev-parse HEAD` prints them.";
const NOTE: &str = "Write `stopped: TASK COMMIT`, `early: TASK COMMIT` or `left: TASK COMMIT` between `base:` and the roster, as `phasegate wave` does, with a task of the roster.";
const INTO: &str = "Write `into: BRANCH` once, between `base:` and the roster: the branch that the wave goes into.";
const ROSTER: &str = "Write the heading `### Roster`, and the table below it.";
const HEADER: &str =
    "Begin the table with `| task | worker | branch | lease | fork-base |` and `|---|---|---|---|---|`.";

/// Reads a ledger; or tells all that is wrong with it.
pub fn read(bytes: &[u8]) -> Result<Ledger, Vec<Problem>> {
    let text = match decoded(bytes) {
        Ok(text) => text,
        Err(problem) => return Err(vec![problem]),
    };
    let mut reader = Reader::default();
    for (number, raw) in text.split('\n').enumerate() {
        let at = u32::try_from(number + 1).unwrap_or(u32::MAX);
        reader.line(at, raw.strip_suffix('\r').unwrap_or(raw).trim_matches([' ', '\t']));
    }
    reader.end()
}

/// The text, where nothing in it makes a person read another one than the machine.
fn decoded(bytes: &[u8]) -> Result<&str, Problem> {
    let problem = |line: usize, says: String, next: &str| Problem {
        line: u32::try_from(line).unwrap_or(u32::MAX),
        field: Field::File,
        says,
        next: next.to_owned(),
    };
    if bytes.len() > LARGEST {
        let says = format!("It has {} bytes; a wave's ledger has at most {LARGEST}.", bytes.len());
        return Err(problem(1, says, "Keep the template and nothing else: notes belong into the log."));
    }
    let lines = |before: &[u8]| before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        problem(lines(before), "It is no UTF-8 text from here on.".to_owned(), "Save the file as UTF-8.")
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let unix = text.char_indices().find(|(at, c)| {
        let line_end = *c == '\r' && text.as_bytes().get(at + 1).is_none_or(|next| *next == b'\n');
        !line_end && is_hostile(*c)
    });
    match unix {
        None => Ok(text),
        Some((at, c)) => {
            let says = format!("The character U+{:04X} is invisible or changes how the text reads.", c as u32);
            let line = lines(text.as_bytes().get(..at).unwrap_or_default());
            Err(problem(line, says, "Take the character out."))
        }
    }
}

/// In a ledger there is no use for letters that only change how the one before them looks, either.
fn is_hostile(c: char) -> bool {
    is_hidden(c) || matches!(c, '\u{fe00}'..='\u{fe0f}')
}

#[derive(Default)]
struct Reader {
    problems: Vec<Problem>,
    /// Those that are counted only.
    more: usize,
    last: u32,
    /// A line that says something was there.
    begun: bool,
    wave: Option<u32>,
    name: Option<WaveName>,
    status: Option<Status>,
    base: Option<(u32, Option<Digits>)>,
    into: Option<(u32, Option<Branch>)>,
    notes: Vec<Note>,
    roster: Option<u32>,
    table: Table,
    rows: Vec<Row>,
    /// How many rows there were, read or not.
    seen: usize,
    tasks: BTreeMap<String, u32>,
    workers: BTreeMap<String, u32>,
    branches: BTreeMap<String, (u32, String)>,
}

/// How far the table is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Table {
    #[default]
    Before,
    /// Behind the names of the columns.
    Named,
    Rows,
    /// A blank line ended it.
    Ended(u32),
}

impl Reader {
    fn problem(&mut self, line: u32, field: Field, says: impl Into<String>, next: impl Into<String>) {
        if self.problems.len() >= MOST_PROBLEMS {
            self.more += 1;
            return;
        }
        self.problems.push(Problem { line, field, says: says.into(), next: next.into() });
    }

    /// A cell that is as it should be, or the problem with it.
    fn cell<T>(&mut self, line: u32, field: Field, read: Result<T, Wrong>) -> Option<T> {
        match read {
            Ok(value) => Some(value),
            Err(wrong) => {
                self.problem(line, field, wrong.says, wrong.next);
                None
            }
        }
    }

    fn line(&mut self, at: u32, text: &str) {
        self.last = at;
        if text.is_empty() {
            if matches!(self.table, Table::Named | Table::Rows) {
                self.table = Table::Ended(at);
            }
            return;
        }
        let first = !std::mem::replace(&mut self.begun, true);
        if let Some(rest) = after(text, "wave:") {
            self.wave(at, rest, first);
        } else if let Some(rest) = after(text, "base:") {
            self.base(at, rest);
        } else if let Some(rest) = after(text, "into:").filter(|rest| !rest.contains('|')) {
            self.into(at, rest);
        } else if let Some((kind, rest)) = NoteKind::ALL.into_iter().find_map(|kind| Some((kind, noted(kind, text)?))) {
            self.note(at, kind, rest);
        } else if text.starts_with('#') {
            self.heading(at, text);
        } else if text.contains('|') {
            self.table(at, text);
        } else {
            let next = "Take it out: notes belong into the log, and what a row has to say into its five cells.";
            self.problem(at, Field::File, format!("The line {} is not of the template.", shown(text)), next);
        }
    }

    fn wave(&mut self, at: u32, rest: &str, first: bool) {
        if let Some(before) = self.wave {
            let says = format!("A second wave begins here; the first is on line {before}.");
            self.problem(at, Field::Wave, says, "One ledger has one wave: close the first, then open the next.");
            return;
        }
        self.wave = Some(at);
        if !first {
            self.problem(at, Field::Wave, "`wave:` is not on the first line.", FIRST);
        }
        let lower = rest.to_ascii_lowercase();
        let Some(mark) = lower.find("status:") else {
            self.problem(at, Field::Status, "The first line has no `status:`.", FIRST);
            self.name = self.cell(at, Field::Wave, WaveName::parse(rest));
            return;
        };
        let (name, status) = (rest.get(..mark).unwrap_or_default(), rest.get(mark + 7..).unwrap_or_default());
        self.name = self.cell(at, Field::Wave, WaveName::parse(name.trim()));
        self.status = Status::parse(status.trim());
        if self.status.is_none() {
            let says = format!("The status is {}.", shown(status.trim()));
            self.problem(
                at,
                Field::Status,
                says,
                "Write `status: live`, or `status: merging` once branches are merged back.",
            );
        }
    }

    fn base(&mut self, at: u32, rest: &str) {
        if let Some((before, _)) = self.base {
            let says = format!("`base:` is there twice, first on line {before}.");
            self.problem(at, Field::Base, says, "Every fork has one base: keep that of the wave.");
            return;
        }
        let digits = Digits::parse(unquoted(rest));
        if digits.is_none() {
            self.problem(at, Field::Base, format!("The base is {}.", shown(rest)), BASE);
        }
        self.base = Some((at, digits));
        if let Some(roster) = self.roster {
            let says = format!("`base:` stands below the roster of line {roster}.");
            self.problem(at, Field::Base, says, BASE);
        }
    }

    fn into(&mut self, at: u32, rest: &str) {
        if self.into.is_some() || self.roster.is_some() || self.base.is_none() {
            self.problem(at, Field::Into, "`into:` stands twice, or not where it belongs.", INTO);
            return;
        }
        let branch = self.cell(at, Field::Into, Branch::parse(unquoted(rest)));
        self.into = Some((at, branch));
    }

    fn note(&mut self, at: u32, kind: NoteKind, rest: &str) {
        let words: Vec<&str> = rest.split_ascii_whitespace().take(3).collect();
        let read = match words.as_slice() {
            [task, commit] => TaskId::parse(task).ok().zip(Digits::parse(commit)),
            _ => None,
        };
        let Some((task, commit)) = read.filter(|_| self.roster.is_none() && self.base.is_some()) else {
            let says = match self.roster {
                Some(roster) => format!("A note stands below the roster of line {roster}."),
                None => format!("The note is {}.", shown(rest)),
            };
            self.problem(at, Field::Note, says, NOTE);
            return;
        };
        self.notes.push(Note { kind, task, commit, line: at });
        if self.notes.len() == MOST_NOTES + 1 {
            let says = format!("There are more than {MOST_NOTES} notes.");
            self.problem(at, Field::Note, says, "Close this wave, and open another for what is left.");
        }
    }

    fn heading(&mut self, at: u32, text: &str) {
        let name = text.trim_matches('#').trim();
        if !name.trim_end_matches(':').eq_ignore_ascii_case("roster") {
            let says = format!("The heading {} is not of the template.", shown(name));
            self.problem(at, Field::File, says, "Take it out: a ledger has the heading `### Roster` and no other.");
            return;
        }
        if let Some(before) = self.roster {
            let says = format!("A second roster begins here; the first is on line {before}.");
            self.problem(
                at,
                Field::Roster,
                says,
                "Put all rows into one table, in the order in which they are merged back.",
            );
            return;
        }
        self.roster = Some(at);
    }

    fn table(&mut self, at: u32, text: &str) {
        let cells = cells(text);
        match self.table {
            Table::Before => {
                self.table = Table::Named;
                if self.roster.is_none() {
                    self.problem(at, Field::Roster, "The table has no heading above it.", ROSTER);
                }
                let named = cells.len() == COLUMNS.len()
                    && cells.iter().zip(COLUMNS).all(|(cell, name)| unquoted(cell).eq_ignore_ascii_case(name));
                if !named {
                    let found: Vec<&str> = cells.iter().take(9).map(String::as_str).collect();
                    let says = format!("The columns are {}.", shown(&found.join(", ")));
                    self.problem(at, Field::Roster, says, HEADER);
                }
            }
            Table::Named => {
                self.table = Table::Rows;
                if !cells.iter().all(|cell| is_rule(cell)) {
                    self.problem(at, Field::Roster, "The line below the names of the columns is missing.", HEADER);
                    self.row(at, &cells);
                } else if cells.len() != COLUMNS.len() {
                    let says = format!("The line below the names of the columns has {} cells.", cells.len());
                    self.problem(at, Field::Roster, says, HEADER);
                }
            }
            Table::Rows => self.row(at, &cells),
            Table::Ended(blank) => {
                let says = format!("The table ended on line {blank}, and this row stands behind it.");
                self.problem(
                    at,
                    Field::Row,
                    says,
                    "Take the blank line out: what stands behind it is not shown as a row.",
                );
                self.row(at, &cells);
            }
        }
    }

    fn row(&mut self, at: u32, cells: &[String]) {
        self.seen += 1;
        if self.seen > MOST_ROWS {
            if self.seen == MOST_ROWS + 1 {
                let says = format!("The roster has more than {MOST_ROWS} rows.");
                self.problem(at, Field::Roster, says, "Make several waves of it, one after the other.");
            }
            return;
        }
        let [task, worker, branch, lease, echo] = cells else {
            let says = format!("This row has {} cells instead of 5.", cells.len());
            self.problem(at, Field::Row, says, "Give it task, worker, branch, lease and fork-base, each between `|`.");
            return;
        };
        let task = self.cell(at, Field::Task, TaskId::parse(unquoted(task)));
        let worker = match unquoted(worker) {
            "-" => Some(None),
            name => {
                // In a roster a row may have nobody; whoever is to take a task has a name.
                let nobody = |wrong: Wrong| {
                    let next = format!("{}; or `-` where nobody holds it.", wrong.next.trim_end_matches('.'));
                    Wrong { next, ..wrong }
                };
                self.cell(at, Field::Worker, Worker::parse(name).map_err(nobody)).map(Some)
            }
        };
        let branch = self.cell(at, Field::Branch, Branch::parse(unquoted(branch)));
        let lease = self.cell(at, Field::Lease, Lease::parse(unquoted(lease)));
        let fork_base = self.cell(at, Field::ForkBase, Echo::parse(unquoted(echo)));
        if let (Some(None), Some(lease)) = (&worker, &lease)
            && !matches!(lease, Lease::Released | Lease::Stopped(_))
        {
            let says = format!("Nobody is named, and the lease is {}.", shown(&lease.to_string()));
            let next = "Name the worker; `-` is for a row whose lease is `released` or `stopped`.";
            self.problem(at, Field::Worker, says, next);
        }
        self.doubled(at, task.as_ref(), worker.as_ref().and_then(Option::as_ref), branch.as_ref());
        let (Some(task), Some(worker), Some(branch)) = (task, worker, branch) else { return };
        let (Some(lease), Some(fork_base)) = (lease, fork_base) else { return };
        self.rows.push(Row { task, worker, branch, lease, fork_base, line: at });
    }

    /// Two rows with one task, worker or branch. Names that differ only in case are one file on some systems.
    fn doubled(&mut self, at: u32, task: Option<&TaskId>, worker: Option<&Worker>, branch: Option<&Branch>) {
        if let Some(task) = task
            && let Some(before) = earlier(&mut self.tasks, task.as_str(), at)
        {
            let says = format!("The task {} is there twice, first on line {before}.", shown(task.as_str()));
            self.problem(at, Field::Task, says, "One task has one row: keep that of the worker who holds it.");
        }
        if let Some(worker) = worker
            && let Some(before) = earlier(&mut self.workers, worker.as_str(), at)
        {
            let says = format!("The worker {} is there twice, first on line {before}.", shown(worker.as_str()));
            self.problem(
                at,
                Field::Worker,
                says,
                "A worker has one task in a wave: name another, or wait for the next wave.",
            );
        }
        let Some(branch) = branch else { return };
        let lower = branch.as_str().to_lowercase();
        let mine = (at, branch.as_str().to_owned());
        if let Some((before, _)) = self.branches.get(&lower) {
            let says = format!("The branch {} is there twice, first on line {before}.", shown(branch.as_str()));
            self.problem(at, Field::Branch, says, "Give each worker a branch of its own.");
            return;
        }
        let above = lower.match_indices('/').filter_map(|(slash, _)| self.branches.get(lower.get(..slash)?)).next();
        let below = format!("{lower}/");
        let below = || self.branches.range(below.clone()..).next().filter(|(name, _)| name.starts_with(&below));
        if let Some((before, other)) = above.or_else(|| below().map(|(_, other)| other)) {
            let says = format!(
                "Git can't have the branch {} beside {} of line {before}.",
                shown(branch.as_str()),
                shown(other)
            );
            self.problem(at, Field::Branch, says, "Give one of them another name: one is the folder of the other.");
        }
        self.branches.insert(lower, mine);
    }

    fn end(mut self) -> Result<Ledger, Vec<Problem>> {
        let last = self.last;
        if self.wave.is_none() {
            self.problem(1, Field::Wave, "The line `wave:` is missing.", FIRST);
        }
        if self.base.is_none() {
            self.problem(last, Field::Base, "The line `base:` is missing.", BASE);
        }
        if self.roster.is_none() && self.table == Table::Before {
            self.problem(last, Field::Roster, "The roster is missing.", ROSTER);
        } else if self.table == Table::Before {
            self.problem(last, Field::Roster, "The roster has no table.", HEADER);
        } else if self.seen == 0 {
            self.problem(
                last,
                Field::Roster,
                "The roster has no rows.",
                "Add a row for each worker: a wave is opened with its first.",
            );
        }
        let known = |note: &&Note| self.rows.iter().any(|row| row.task == note.task);
        // Where a row could not be read, its note is not in doubt.
        let strays: Vec<Note> =
            self.notes.iter().filter(|note| self.problems.is_empty() && !known(note)).cloned().collect();
        for note in strays {
            let says = format!("The note is of {}, which is no task of the roster.", shown(note.task.as_str()));
            self.problem(note.line, Field::Note, says, NOTE);
        }
        if self.more > 0 {
            let says = format!("And {} more problems.", self.more);
            let next = "Put right those that are told, and the next ones show.".to_owned();
            self.problems.push(Problem { line: last, field: Field::File, says, next });
        }
        let (name, status, base) = (self.name, self.status, self.base);
        match (name, status, base) {
            (Some(name), Some(status), Some((base_line, Some(base)))) if self.problems.is_empty() => {
                let into = self.into.and_then(|(_, into)| into);
                Ok(Ledger { name, status, base, base_line, into, notes: self.notes, rows: self.rows })
            }
            _ => {
                self.problems.sort_by_key(|problem| problem.line);
                Err(self.problems)
            }
        }
    }
}

/// Where this stood before; now it stands here, too.
fn earlier(seen: &mut BTreeMap<String, u32>, name: &str, at: u32) -> Option<u32> {
    let lower = name.to_lowercase();
    let before = seen.get(&lower).copied();
    seen.entry(lower).or_insert(at);
    before
}

/// What stands behind the word of a note. A row may begin with the same word, and has borders.
fn noted(kind: NoteKind, text: &str) -> Option<&str> {
    let rest = after(text, kind.as_str())?.strip_prefix(':')?;
    (!text.contains('|')).then(|| rest.trim())
}

/// What stands behind a key.
fn after<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let (start, rest) = text.split_at_checked(key.len())?;
    start.eq_ignore_ascii_case(key).then(|| rest.trim())
}

/// A cell without the backticks around it.
fn unquoted(cell: &str) -> &str {
    let inside = cell.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')).filter(|inside| !inside.contains('`'));
    inside.unwrap_or(cell).trim()
}

/// A cell of the line below the names of the columns.
fn is_rule(cell: &str) -> bool {
    let bare = cell.strip_prefix(':').unwrap_or(cell);
    let bare = bare.strip_suffix(':').unwrap_or(bare);
    !bare.is_empty() && bare.bytes().all(|byte| byte == b'-')
}

/// The cells of a line of a table. A `\|` is no border.
fn cells(text: &str) -> Vec<String> {
    let text = text.strip_prefix('|').unwrap_or(text);
    let mut cells = vec![String::new()];
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.peek() == Some(&'|') => push(&mut cells, letters.next()),
            '|' if letters.peek().is_none() => {}
            '|' => cells.push(String::new()),
            _ => push(&mut cells, Some(letter)),
        }
    }
    for cell in &mut cells {
        *cell = cell.trim_matches([' ', '\t']).to_owned();
    }
    cells
}

fn push(cells: &mut [String], letter: Option<char>) {
    if let Some(last) = cells.last_mut() {
        last.extend(letter);
    }
}
