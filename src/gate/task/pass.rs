//! What a pass at a task came to: whether what it did may be kept, which phase its claim leads to, and what it gained.

use std::collections::BTreeSet;

use super::prompt::may_build;
use super::{Field, STATE, Sheet, lacks, read};
use crate::finding::{Finding, quoted};
use crate::flow::Actor;
use crate::flow::task::{Progress, Stage, State, apply};
use crate::gate::paper::text;

/// No progress.
pub const STILL: &str = "TSK-04";
/// Something that the phase forbids.
pub const FORBIDDEN: &str = "TSK-05";

/// A file that a pass left different, by its path from the repository's root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    pub path: String,
    /// It is not there any more.
    pub gone: bool,
}

/// What a pass left.
pub struct Work<'a> {
    /// The task's folder.
    pub folder: &'a str,
    pub state: State,
    /// `STATE.md` before it; none where there was none in its form.
    pub before: Option<&'a Sheet>,
    /// `STATE.md` after it; none where it is gone.
    pub after: Option<&'a [u8]>,
    pub changed: &'a [Changed],
}

/// What is to become of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// Nothing of it is kept.
    Refused(Vec<Finding>),
    /// Its files are kept, and the task stays where it is.
    Stays { sheet: Box<Sheet>, findings: Vec<Finding> },
    /// It claims to go there, and nothing in the file speaks against it. What has to be shown for it is another matter.
    Goes { sheet: Box<Sheet>, to: Stage },
}

/// Holds what a pass left against the phase and the table.
pub fn claimed(work: &Work<'_>) -> Claim {
    let path = format!("{}/{STATE}", work.folder);
    let paths = work.changed.iter().map(|one| one.path.as_str());
    let outside: Vec<&str> = paths.filter(|path| !is_inside(path, work.folder)).collect();
    let stage = work.state.stage;
    if !may_build(stage) && !outside.is_empty() {
        let named: Vec<String> = outside.iter().take(5).map(|path| quoted(path)).collect();
        let more = outside.len().saturating_sub(5);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let says = format!(
            "In `{stage}` nothing outside of the task's folder is changed, and this was: {}{more}.",
            named.join(", ")
        );
        let next = match stage {
            Stage::Verify | Stage::Review => "What has to be mended is mended in `repair`: claim that phase.",
            _ => "That work is for `implement`: claim the phases before it one by one.",
        };
        return Claim::Refused(vec![Finding::error(FORBIDDEN, says, next)]);
    }
    let Some(bytes) = work.after else {
        let says = format!("{} is gone, and with it the task.", quoted(&path));
        let next = "A task is ended by its phase: claim `blocked` or `needs_user_decision` with the reason.";
        return Claim::Refused(vec![Finding::error(FORBIDDEN, says, next)]);
    };
    let sheet = match read(&path, bytes) {
        Ok(sheet) => Box::new(sheet),
        Err(findings) => return Claim::Refused(findings),
    };
    if sheet.phase == stage {
        let untouched = !work.changed.is_empty() && work.changed.iter().all(|one| one.path != path);
        let says = format!("The pass left {} as it was.", quoted(&path));
        let next = "Bring `Current result`, `Next step` and `Last updated` up to date with what was done.";
        let findings =
            if untouched { vec![Finding::warning(FORBIDDEN, says, next).at(path, None)] } else { Vec::new() };
        return Claim::Stays { sheet, findings };
    }
    if let Err(refusal) = apply(work.state, sheet.phase, Actor::Agent) {
        let found = Finding::error(&refusal.rule, refusal.says, refusal.next).at(path, sheet.line(Field::Phase));
        return Claim::Stays { sheet, findings: vec![found] };
    }
    let to = sheet.phase;
    let findings = match to {
        _ if stage.onward() == Some(to) => lacks(&path, &sheet, stage),
        Stage::Blocked | Stage::NeedsUserDecision if !tells_blockers(&sheet) => {
            let says = format!("`{to}` is claimed, and `Blockers:` says nothing.");
            let next = "Say what is in the way, and what a person has to decide or to get.";
            vec![Finding::error(super::leave::EXIT, says, next).at(path, sheet.line(Field::Blockers))]
        }
        _ => Vec::new(),
    };
    match findings.is_empty() {
        true => Claim::Goes { sheet, to },
        false => Claim::Stays { sheet, findings },
    }
}

/// Whether it says what is in the way. That nothing is says nothing of that.
fn tells_blockers(sheet: &Sheet) -> bool {
    sheet.says(Field::Blockers) && !text::is_none(sheet.value(Field::Blockers))
}

fn is_inside(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// What is measured of a pass, beside its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    /// The phase is another.
    pub moved: bool,
    /// How much spoke against going on, before it and after it.
    pub against: (usize, usize),
    /// The content was there before, after an earlier pass.
    pub returned: bool,
    /// The commands of the repository were run on content on which they had not been run.
    pub ran: bool,
}

/// What a pass gained. It is measured; nobody is asked.
pub fn progress(work: &Work<'_>, sheet: Option<&Sheet>, measured: Measured) -> BTreeSet<Progress> {
    let mut gained = BTreeSet::new();
    if measured.moved {
        gained.insert(Progress::State);
    }
    let own = |name: &str| format!("{}/{name}", work.folder);
    let is_evidence = |path: &str| path == own("EVIDENCE.md") || is_inside(path, &own("artifacts"));
    // What only keeps a folder there is nothing.
    let changed = work.changed.iter().filter(|one| !one.path.ends_with("/.gitkeep"));
    let is_claim = |path: &str| path == own(STATE);
    // What leads back to where it was is no gain, and neither is evidence that goes away.
    if !measured.returned {
        if changed.clone().any(|one| !is_claim(&one.path) && !is_evidence(&one.path)) {
            gained.insert(Progress::Change);
        }
        if measured.ran || changed.clone().any(|one| !one.gone && is_evidence(&one.path)) {
            gained.insert(Progress::Evidence);
        }
        if let (Some(before), Some(after)) = (work.before, sheet)
            && tells_blockers(after)
            && words(before.value(Field::Blockers)) != words(after.value(Field::Blockers))
        {
            gained.insert(Progress::Blocker);
        }
    }
    if measured.against.1 < measured.against.0 {
        gained.insert(Progress::Risk);
    }
    gained
}

/// Its words, whatever stands between them.
fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// What is said of a pass that gained nothing.
pub fn still(stage: Stage) -> Finding {
    let says = format!(
        "The pass gained nothing: no change of code or documents, no other phase, no evidence, no clearer blocker, nothing less that \
         speaks against it. The task stays in `{stage}`."
    );
    let next =
        "Look at what it was asked and what it said. Change the task, the plan or the agent, and begin the next pass.";
    Finding::error(STILL, says, next)
}

#[cfg(test)]
mod tests;
