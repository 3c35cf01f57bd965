//! The folders that a text works in.
//!
//! Some are only known when it runs: a matrix's value, a variable, what a loop goes through. Such a folder is any that its
//! pattern fits, and a file that is looked for there counts by its name. Where the values stand in the same text, the
//! folders that they name are entered too: so what is in them is followed.

use std::collections::BTreeSet;

use super::budget::Look;
use super::follow::{From, Kind, base_name, ends_in, program, unwrapped};
use super::programs::{COMMON, SHELL, SOURCE};
use super::set::{PARTS, RUNNERS};
use super::words::{Command, HOLE, assigns, commands};
use super::{Gather, LONGEST_PATH, Place, SCRIPT, SIDES, clean, inside, join};
use crate::repo::actions::Text;

/// More folders than a step works in.
const MOST_FOLDERS: usize = 40;
/// More values than a list of folders has.
const MOST_VALUES: usize = 100;

/// Where a text works.
#[derive(Debug, Clone, Default)]
pub(super) struct Folders {
    /// In these, from the root.
    pub(super) known: BTreeSet<String>,
    /// In some that these patterns fit.
    pub(super) open: BTreeSet<String>,
}

impl Folders {
    /// Into a folder, seen from wherever one may be by then.
    fn enter(&mut self, folder: &str) {
        let below: Vec<String> = self.known.iter().filter_map(|base| inside(&join(base, folder))).collect();
        self.known.extend(below.into_iter().filter(|folder| folder.len() <= LONGEST_PATH));
        if !folder.split('/').any(|part| part == "..") {
            let below: Vec<String> = self.open.iter().map(|base| join(base, folder)).collect();
            self.open(below);
        }
    }

    fn open(&mut self, patterns: impl IntoIterator<Item = String>) {
        for pattern in patterns.into_iter().filter(|pattern| pattern.len() <= LONGEST_PATH) {
            if self.open.len() < MOST_FOLDERS {
                self.open.insert(pattern);
            }
        }
    }
}

impl Gather<'_> {
    /// The folders that a workflow names, with the values that stand in it.
    pub(super) fn folders_of(&mut self, folders: &BTreeSet<String>, texts: &[Text], own: &str) -> Look<Folders> {
        let mut found = Folders::default();
        found.known.extend([String::new(), own.to_owned()]);
        found.known.extend(folders.iter().filter(|folder| !folder.contains('$')).map(|folder| clean(folder)));
        let values = texts.iter().map(|text| text.text.trim()).filter(|text| !text.contains(char::is_whitespace));
        let values: BTreeSet<&str> = values.collect();
        for folder in folders.iter().filter(|folder| folder.contains('$')) {
            // With a default it is read twice, and the last word of each is the folder.
            for word in commands(&format!("cd {folder}")).iter().filter_map(|command| command.words.last()) {
                if let Some(folder) = known(word) {
                    found.known.insert(folder);
                }
                self.open_into(word, &values, &mut found)?;
            }
        }
        Ok(found)
    }

    /// Where a text works, when it begins in these; and those of its folders that are on neither side. These hold
    /// nothing, but one may come from them (`mkdir out && cd out && ../ci/test.sh`).
    pub(super) fn entered(&mut self, commands: &[Command], begin: &Folders) -> Look<(Folders, Vec<String>)> {
        let mut all = begin.clone();
        let listed = listed(commands);
        let (mut opened, mut seen) = (BTreeSet::new(), BTreeSet::new());
        for words in commands.iter().map(|command| &command.words) {
            for (at, word) in words.iter().enumerate() {
                let Some((how, folder)) = into(word, words.get(at + 1), words) else { continue };
                if (["cd", "pushd"].contains(&how) || works_elsewhere(words)) && opened.insert(folder) {
                    self.open_into(folder, &listed, &mut all)?;
                }
                if let Some(folder) = known(folder)
                    && all.known.len() < MOST_FOLDERS
                    && seen.insert((all.known.len(), folder.clone()))
                {
                    all.enter(&folder);
                }
            }
        }
        let mut gone = Vec::new();
        for folder in std::mem::take(&mut all.known) {
            if self.is_there(&folder)? {
                all.known.insert(folder);
            } else {
                gone.push(folder);
            }
        }
        Ok((all, gone))
    }

    /// Into a folder with a part that is only known when it runs, if it is one.
    fn open_into(&mut self, folder: &str, values: &BTreeSet<&str>, all: &mut Folders) -> Look<()> {
        let Some(pattern) = pattern(folder) else { return Ok(()) };
        if pattern.starts_with("**") {
            all.open([pattern]);
        } else {
            let below: Vec<String> = all.known.iter().chain(&all.open).map(|base| join(base, &pattern)).collect();
            all.open(below);
        }
        let from: Vec<String> = all.known.iter().cloned().collect();
        for value in values.iter().take(MOST_VALUES).filter(|value| !value.starts_with(['-', '/', '~'])) {
            let named = folder.replace(HOLE, value);
            for folder in from.iter().filter_map(|base| inside(&join(base, &named))) {
                if all.known.len() < MOST_FOLDERS && folder.len() <= LONGEST_PATH && self.is_there(&folder)? {
                    all.known.insert(folder);
                }
            }
        }
        Ok(())
    }

    fn is_there(&mut self, folder: &str) -> Look<bool> {
        for side in SIDES {
            if matches!(self.place(side, folder)?, Place::Folder(_) | Place::Unknown(_)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A script that is named in a folder that is only known when it runs: by its name, in any that it may be.
    pub(super) fn script_in_open(&mut self, word: &str, from: &From, kind: Kind) -> Look<()> {
        let by_step = from.level == 0 && from.is_command;
        // By names that every folder has, the product's sources would be meant.
        if COMMON.contains(&base_name(word).split('.').next().unwrap_or_default()) && ends_in(word, SOURCE) {
            return Ok(());
        }
        let (is_script, is_plain) = (ends_in(word, SHELL), !word.contains('.'));
        let is_named = match kind {
            Kind::Command => true,
            Kind::ByItself => by_step && is_script,
            Kind::Interpreted | Kind::Sourced | Kind::Fed | Kind::Included => {
                by_step && (is_script || ends_in(word, SOURCE) || word.contains('/'))
            }
        };
        if !is_named || from.open.is_empty() {
            return Ok(());
        }
        let name = word.trim_start_matches("../").replace(HOLE, "*");
        if name.chars().filter(|c| c.is_alphanumeric()).count() < 2 {
            return Ok(());
        }
        for path in from.open.iter().map(|folder| join(folder, &name)) {
            // As in a folder that is known: a word in the place of a command may be anything that is there to be run.
            if kind == Kind::ByItself || (kind == Kind::Command && !(by_step && is_plain)) {
                self.add_pattern(path)?;
            } else {
                self.add_glob(path, SCRIPT)?;
            }
        }
        Ok(())
    }
}

/// The folder that a word, or the one after it, says to work in, and how it says so.
fn into<'a>(word: &'a str, next: Option<&'a String>, words: &[String]) -> Option<(&'a str, &'a str)> {
    if !word.starts_with(['c', 'p', '-']) {
        return None;
    }
    let into = ["cd", "pushd", "-C", "--directory", "--prefix", "--cwd", "--dir", "--cd"];
    let program_is = |names: &[&str]| unwrapped(words).first().is_some_and(|word| names.contains(&program(word)));
    match word.split_once('=') {
        Some((option, value)) if into.contains(&option) => Some((option, value)),
        _ if into.contains(&word) => Some((word, next?)),
        _ if word == "-d" && program_is(&["task", "go-task", "mage"]) => Some((word, next?)),
        _ if word.len() > 2 && word.starts_with("-C") && program_is(&["make", "gmake", "ninja", "mise"]) => {
            Some(("-C", &word[2..]))
        }
        _ => None,
    }
}

/// As far as it is known: what a path starts with at run time is most often the folder that one is in anyway.
fn known(folder: &str) -> Option<String> {
    let folder = match folder.split_once('/') {
        Some((first, rest)) if first.contains(HOLE) => clean(rest),
        _ => clean(folder),
    };
    (!folder.is_empty() && !folder.contains(HOLE) && folder.len() <= LONGEST_PATH).then_some(folder)
}

/// What a folder with a part that is only known when it runs may be.
pub(super) fn pattern(folder: &str) -> Option<String> {
    if !folder.contains(HOLE) || folder.starts_with(['/', '~']) || folder.contains("://") {
        return None;
    }
    let mut parts: Vec<String> = Vec::new();
    for part in folder.split('/').filter(|part| !part.is_empty() && *part != ".") {
        let any = part.chars().all(|c| c == HOLE);
        match part {
            ".." => return Some("**".to_owned()),
            _ if any && parts.last().is_some_and(|last| last == "**") => {}
            _ if any => parts.push("**".to_owned()),
            _ => parts.push(part.replace(HOLE, "*")),
        }
    }
    Some(parts.join("/"))
}

/// Whether an option of the program says where it runs what it finds; those of others only say where files go.
fn works_elsewhere(words: &[String]) -> bool {
    let Some(name) = unwrapped(words).first().map(|word| program(word)) else { return false };
    let runner = RUNNERS.iter().flat_map(|runner| runner.commands).chain(PARTS.iter().flat_map(|part| part.after));
    !["docker", "podman", "cmake"].contains(&name) && runner.into_iter().any(|command| *command == name)
}

/// What loops go through and variables are set to: `for d in web api`, `DIRS="web api"`, `DIRS := web api`.
fn listed(commands: &[Command]) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    for words in commands.iter().map(|command| &command.words) {
        let sets = words.get(1).is_some_and(|word| ["=", ":=", "+=", "?="].contains(&word.as_str()));
        if sets || words[0] == "for" || assigns(&words[0]) {
            found.extend(words.iter().map(|word| word.split_once('=').map_or(word.as_str(), |(_, value)| value)));
        }
    }
    found.retain(|word| !word.is_empty() && !word.contains(HOLE));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_known_as_far_as_it_is_written() {
        for (folder, expected) in [
            ("*", Some("**")),
            ("*/", Some("**")),
            ("./*/api", Some("**/api")),
            ("packages/*", Some("packages/**")),
            ("packages/*/*/x", Some("packages/**/x")),
            ("web-*/x", Some("web-*/x")),
            ("*/..", Some("**")),
            ("web", None),
            ("/opt/*", None),
            ("~/*", None),
        ] {
            let folder = folder.replace('*', &HOLE.to_string());
            assert_eq!(pattern(&folder).as_deref(), expected, "{folder}");
        }
    }
}
