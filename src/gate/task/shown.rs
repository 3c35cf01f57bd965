//! The eight gates of evidence before a task is done (`TSK-11` to `TSK-18`), each from what is there and not from what is said of it.

use super::leave::is_full;
use super::{Field, STATE, Sheet};
use crate::finding::{Finding, quoted};
use crate::ids::Digest;
use crate::repo::RepoPath;

pub const OBJECTIVE: &str = "TSK-11";
pub const COMMANDS: &str = "TSK-12";
pub const SCENARIOS: &str = "TSK-13";
pub const LABELS: &str = "TSK-14";
pub const PRETENCE: &str = "TSK-15";
pub const PROOF: &str = "TSK-16";
pub const LINKED: &str = "TSK-17";
pub const INDEX: &str = "TSK-18";

/// The page that joins several pieces of evidence, in the task's folder.
pub const PAGE: &str = "artifacts/evidence.html";

/// What the task is held to, as it was locked before the work began.
const FRAME: [Field; 5] =
    [Field::Objective, Field::DoneGate, Field::NotDoing, Field::Constraints, Field::ValidationPlan];

/// What the repository's own commands came to on this content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ran {
    /// The policy names none.
    NoCommands,
    /// They were run, and this stood against it.
    Found(Vec<Finding>),
}

/// What is there to be looked at.
pub struct Seen<'a> {
    /// The task's folder.
    pub folder: &'a str,
    pub sheet: &'a Sheet,
    /// The frame that was locked; none where none was.
    pub frame: Option<&'a Digest>,
    pub ran: Option<&'a Ran>,
    /// Of a review: whether nothing pretends. None where nobody looked.
    pub honest: Option<bool>,
    /// `EVIDENCE.md`.
    pub evidence: &'a str,
    /// Files below the task's folder, by their paths in it, and how large each is.
    pub files: &'a [(String, u64)],
    /// Whether a path of the repository is there.
    pub is_there: &'a dyn Fn(&RepoPath) -> bool,
}

/// What a task is held to: the same words are the same frame.
pub fn frame(sheet: &Sheet) -> Digest {
    Digest::of_parts(FRAME.iter().map(|field| words(sheet.value(*field))))
}

/// Everything that is not shown, gate by gate.
pub fn lacks(seen: &Seen<'_>) -> Vec<Finding> {
    let all: [fn(&Seen<'_>) -> Option<Finding>; 6] = [objective, labels, pretence, proof, linked, index];
    let mut findings: Vec<Finding> = all.iter().filter_map(|gate| gate(seen)).collect();
    findings.extend(commands(seen.ran));
    findings.extend(scenarios(seen));
    findings.sort_by(|a, b| a.rule.cmp(&b.rule));
    findings
}

fn at(seen: &Seen<'_>, field: Field, finding: Finding) -> Finding {
    finding.at(format!("{}/{STATE}", seen.folder), seen.sheet.line(field))
}

fn objective(seen: &Seen<'_>) -> Option<Finding> {
    if seen.frame == Some(&frame(seen.sheet)) {
        return None;
    }
    let says = match seen.frame {
        None => "Nobody has locked what it is held to.",
        Some(_) => {
            "Objective, done gate, what it leaves out, its constraints or its plan are not as they were when the work began."
        }
    };
    let next =
        "Put them back as they were; or claim `needs_user_decision`: what it is held to is a person's to change.";
    Some(at(seen, Field::Objective, Finding::error(OBJECTIVE, says, next)))
}

/// What stands against the commands that were run.
pub fn commands(ran: Option<&Ran>) -> Vec<Finding> {
    match ran {
        None => vec![Finding::error(
            COMMANDS,
            "The repository's commands were not run on this content.",
            "Run the next pass.",
        )],
        Some(Ran::NoCommands) => {
            let says = "The policy names no command that would show anything.";
            vec![Finding::error(
                COMMANDS,
                says,
                "Name them on the default branch: `gates: { verify: { run: [\"cargo test\"] } }`.",
            )]
        }
        Some(Ran::Found(findings)) => findings
            .iter()
            .filter(|finding| finding.blocks())
            .map(|finding| {
                let says = format!("`{}` {}", finding.rule, finding.says);
                let mended = Finding::error(COMMANDS, says, finding.next.clone());
                match &finding.path {
                    Some(path) => mended.at(path.clone(), finding.line),
                    None => mended,
                }
            })
            .collect(),
    }
}

/// The items of the plan, in its own words.
pub fn plan(sheet: &Sheet) -> impl Iterator<Item = &str> {
    let items = sheet.value(Field::ValidationPlan).lines().map(str::trim);
    items.map(|line| line.trim_start_matches(['-', '*', '+']).trim()).filter(|line| !line.is_empty())
}

/// Whether an item is a command, which is run again, and not something that somebody does and looks at.
pub fn is_command(item: &str) -> bool {
    item.contains('`')
}

/// A text's words alone: by these an item is found again.
pub fn words(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

/// What of the plan is no command is something that somebody does and looks at. It stands in EVIDENCE.md under the same words.
fn scenarios(seen: &Seen<'_>) -> Vec<Finding> {
    let evidence = words(seen.evidence);
    let missing = plan(seen.sheet).filter(|item| !is_command(item) && !evidence.contains(&words(item)));
    let told = |item: &str| {
        let says = format!("The plan asks for {}, and EVIDENCE.md has nothing under these words.", quoted(item));
        let next = "Do it, and write it down there in the plan's own words: on which commit, what was expected, what was seen.";
        at(seen, Field::ValidationPlan, Finding::error(SCENARIOS, says, next))
    };
    missing.map(told).collect()
}

fn labels(seen: &Seen<'_>) -> Option<Finding> {
    let sheet = seen.sheet;
    let (says, next) = match sheet.user_facing {
        None => (
            "Nobody says whether people see anything of it.",
            "Write `User-facing: no`; or `yes`, and list what they see below `## Visible features`.",
        ),
        Some(true) if sheet.features.is_empty() => (
            "People see something of it, and no feature is listed.",
            "List each below `## Visible features`, with its label.",
        ),
        Some(_) => return None,
    };
    Some(at(seen, Field::UserFacing, Finding::error(LABELS, says, next)))
}

fn pretence(seen: &Seen<'_>) -> Option<Finding> {
    match seen.honest {
        Some(true) => None,
        Some(false) => Some(pretends()),
        None => Some(Finding::error(PRETENCE, "Nobody has looked whether anything pretends to be real.", REAL)),
    }
}

const REAL: &str = "Make it real, or hide it and say so in its label; then it is reviewed again.";

/// What a review has found that pretends.
pub fn pretends() -> Finding {
    Finding::error(PRETENCE, "The review found something that pretends to be real.", REAL)
}

/// Whoever comes next finds the proof by the file alone.
fn proof(seen: &Seen<'_>) -> Option<Finding> {
    let is_there = |name: &str| meant(seen.folder, name).any(|path| (seen.is_there)(&path));
    let mut names = names(seen.sheet).peekable();
    let says = match names.peek() {
        None => "`Evidence location:` names no file.".to_owned(),
        Some(_) => format!("{} is not there.", quoted(names.find(|name| !is_there(name))?)),
    };
    let next = "Name files of the repository, such as `EVIDENCE.md`, in which the next one finds what was seen.";
    Some(at(seen, Field::EvidenceLocation, Finding::error(PROOF, says, next)))
}

/// What `Evidence location` names.
fn names(sheet: &Sheet) -> impl Iterator<Item = &str> {
    let names = sheet.value(Field::EvidenceLocation).split([',', ';', '\n']);
    names.map(|name| name.trim().trim_matches(['`', '-', ' '])).filter(|name| !name.is_empty())
}

/// The paths that one of them may mean: in the task's folder, or from the root.
fn meant(folder: &str, name: &str) -> impl Iterator<Item = RepoPath> {
    let name = name.trim_end_matches('/');
    [RepoPath::parse(&format!("{folder}/{name}")), RepoPath::parse(name)].into_iter().flatten()
}

/// More of them are not looked for.
const MOST_NAMES: usize = 50;

/// Every path that may be meant by where the evidence is.
pub fn candidates(folder: &str, sheet: &Sheet) -> Vec<RepoPath> {
    names(sheet).take(MOST_NAMES).flat_map(|name| meant(folder, name)).collect()
}

fn linked(seen: &Seen<'_>) -> Option<Finding> {
    let link = seen.sheet.value(Field::EvidenceLink).trim();
    (!is_full(link)).then(|| {
        let says = "`Evidence link:` has no address that opens elsewhere.";
        let next = "Write the address under which the evidence opens in a browser, with `https://`.";
        at(seen, Field::EvidenceLink, Finding::error(LINKED, says, next))
    })
}

/// More than one piece is joined by a page.
fn index(seen: &Seen<'_>) -> Option<Finding> {
    if pieces(seen.files) < 2 {
        return None;
    }
    let there = seen.files.iter().any(|(path, size)| path == PAGE && *size > 0);
    let named = seen.sheet.value(Field::EvidenceLink).contains("evidence.html");
    let says = match (there, named) {
        (true, true) => return None,
        (false, _) => format!("There is more than one artefact, and no `{PAGE}` that joins them."),
        (true, false) => format!("There is more than one artefact, and `Evidence link:` does not lead to `{PAGE}`."),
    };
    let next = format!("Link them all from `{PAGE}`, and let `Evidence link:` lead there.");
    Some(at(seen, Field::EvidenceLink, Finding::error(INDEX, says, next)))
}

/// How many artefacts there are, without the page itself.
pub fn pieces(files: &[(String, u64)]) -> usize {
    files.iter().filter(|(path, _)| is_piece(path)).count()
}

/// Whether a file of the task's folder is an artefact.
pub fn is_piece(path: &str) -> bool {
    path.starts_with("artifacts/") && path != PAGE && !path.ends_with("/.gitkeep")
}

#[cfg(test)]
mod tests;
