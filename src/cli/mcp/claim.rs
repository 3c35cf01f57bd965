//! `submit_evidence_claim`: an agent says that something was shown. It is written where the next one looks for it, as a claim: nothing
//! follows from it, and the answer says by what it will be held.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answer::Refused;
use super::content::path_of;
use super::task::{Desk, Task, has_plan, plan};
use super::write;
use crate::finding::quoted;
use crate::gate::task::evidence::{Claimed, EVIDENCE, added};
use crate::gate::task::shown;
use crate::ledger::State;
use crate::repo::{ReadBelow, RepoPath, Stands};

const LONGEST_ITEM: usize = 500;
const LONGEST: usize = 2_000;
/// A larger file takes no entry more.
const LARGEST: u64 = 1024 * 1024;
/// So many items of the plan are told.
const MOST_ITEMS: usize = 10;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Given {
    /// What was to be shown: the plan's own words
    item: String,
    /// What was run
    #[serde(default)]
    command: Option<String>,
    #[serde(default)]
    expected: Option<String>,
    /// What came of it
    seen: String,
    /// A file of the task's folder that shows it
    #[serde(default)]
    artefact: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Submitted {
    schema: &'static str,
    path: String,
    /// Whether the plan has such an item.
    #[serde(skip_serializing_if = "Option::is_none")]
    planned: Option<bool>,
    /// What the plan has, where it has no such item.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    plan: Vec<String>,
    next: String,
}

const SCHEMA: &str = "phasegate/claim@1";

/// Adds it to a task's `EVIDENCE.md`.
pub(super) fn of_task(desk: &Desk, task: &Task, given: &Given) -> Result<Submitted, Refused> {
    given.check()?;
    let artefact = given.artefact.as_deref().map(|path| artefact(desk, &task.folder, path)).transpose()?;
    let sheet = desk.sheet(&task.folder)?.ok();
    let known = sheet.as_ref().filter(|sheet| has_plan(sheet)).map(plan).unwrap_or_default();
    let asked = shown::words(&given.item);
    let found = known.iter().find(|item| shown::words(item) == asked);

    let path = RepoPath::from(format!("{}/{EVIDENCE}", task.folder).as_str());
    let unwritten = |why: String| {
        Refused::new(
            format!("{path} can't be written: {why}."),
            "Put a plain file there, in a plain folder, and call again.",
        )
    };
    let before = match desk.below.read(&path, LARGEST) {
        Ok(ReadBelow::Bytes(bytes)) => {
            String::from_utf8(bytes).map_err(|_| unwritten("what is there is not UTF-8".to_owned()))?
        }
        Ok(ReadBelow::TooLarge(size)) => return Err(unwritten(format!("it has {size} bytes already"))),
        Ok(ReadBelow::NotAFile) => match desk.below.stands(&path) {
            Ok(None) => "# Evidence\n".to_owned(),
            _ => return Err(unwritten("what is there is no plain file".to_owned())),
        },
        Err(error) => return Err(unwritten(error.to_string())),
    };
    let pass = task.pass.map(|pass| format!(" (pass {pass})")).unwrap_or_default();
    let entry = Claimed {
        item: &given.item,
        command: given.command.as_deref(),
        expected: given.expected.as_deref(),
        seen: &given.seen,
        artefact: artefact.as_deref(),
        on: &desk.on,
        by: &format!("the {} agent{pass}", desk.role),
        at: &jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
    };
    let after = added(&before, &entry.entry());
    desk.below.put(&path, after.as_bytes(), desk.owner).map_err(|error| unwritten(error.to_string()))?;
    let next = match found {
        Some(item) if shown::is_command(item) => {
            "It is a claim, and decides nothing: the repository's own commands are run again on what you leave (TSK-12)."
        }
        Some(_) => {
            "It is a claim, and decides nothing: before `done` the item has to stand there (TSK-13), the repository's commands are run \
             again (TSK-12), and a reviewer holds it against the content."
        }
        None if known.is_empty() => {
            "It is a claim, and decides nothing. The task has no plan yet that it would be a part of."
        }
        None => {
            "It is a claim, and decides nothing. No item of the plan reads so, and it shows none of them (TSK-13): call again in the \
             plan's own words, if it was to."
        }
    };
    let cut = |item: &String| item.chars().take(200).collect();
    let told = if found.is_none() { known.iter().take(MOST_ITEMS).map(cut).collect() } else { Vec::new() };
    Ok(Submitted {
        schema: SCHEMA,
        path: path.to_string(),
        planned: Some(found.is_some()),
        plan: told,
        next: next.to_owned(),
    })
}

/// Adds it to the evidence of the next snapshot.
pub(super) fn of_change(state: &State, into: &Path, on: &str, given: &Given) -> Result<Submitted, Refused> {
    given.check()?;
    let mut more = vec![format!("on {on}")];
    let told = [("ran", &given.command), ("expected", &given.expected), ("artefact", &given.artefact)];
    more.extend(told.into_iter().filter_map(|(name, value)| Some(format!("{name}: {}", one_line(value.as_deref()?)))));
    let line = format!("- {}: {} ({})", one_line(&given.item), one_line(&given.seen), more.join("; "));
    let path = write::noted(state, into, &line)?;
    let next = "It is a claim, and decides nothing: commit it with the work and push. The gates look for themselves, on what is pushed.";
    Ok(Submitted { schema: SCHEMA, path, planned: None, plan: Vec::new(), next: next.to_owned() })
}

impl Given {
    fn check(&self) -> Result<(), Refused> {
        let texts = [
            ("item", Some(&self.item), LONGEST_ITEM),
            ("command", self.command.as_ref(), LONGEST),
            ("expected", self.expected.as_ref(), LONGEST),
            ("seen", Some(&self.seen), LONGEST),
            ("artefact", self.artefact.as_ref(), LONGEST_ITEM),
        ];
        for (name, text, most) in texts {
            let Some(text) = text else { continue };
            let length = text.chars().count();
            if length > most {
                let says = format!("`{name}` has {length} characters, and at most {most} are taken.");
                return Err(Refused::new(says, "Say it shorter, and put the whole into a file that `artefact` names."));
            }
            if !text.chars().any(char::is_alphanumeric) {
                return Err(Refused::new(
                    format!("`{name}` has no word in it."),
                    "Say what was to be seen, and what was.",
                ));
            }
        }
        Ok(())
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().filter(|c| !c.is_control()).collect()
}

/// The path of an artefact in the task's folder, where a plain file lies there.
fn artefact(desk: &Desk, folder: &str, text: &str) -> Result<String, Refused> {
    let path = path_of(text)?;
    let below = RepoPath::from(folder);
    let inside = match path.is_under(&below) {
        true => path,
        false => path_of(&format!("{folder}/{text}"))?,
    };
    let next = "Write it into the task's folder first, such as `artifacts/run.log`, and name it by its path there.";
    match desk.below.stands(&inside) {
        Ok(Some(Stands::File { .. })) => {}
        _ => {
            let says = format!("{} is no plain file in the task's folder.", quoted(text));
            return Err(Refused::new(says, next));
        }
    }
    let whole = inside.as_str().and_then(|path| path.strip_prefix(folder)?.strip_prefix('/'));
    let plain = whole.filter(|path| !path.chars().any(char::is_control));
    plain
        .map(str::to_owned)
        .ok_or_else(|| Refused::new(format!("{} has a name that is no plain text.", quoted(text)), next))
}
