//! The folders that a text works in.

use std::collections::BTreeSet;

use super::budget::Look;
use super::words::{Command, HOLE};
use super::{Gather, LONGEST_PATH, Place, SIDES, clean, inside, join};

/// More folders than a step works in.
const MOST_FOLDERS: usize = 40;

impl Gather<'_> {
    /// The folders that a text works in, when it begins in these: those that are there, and those that are on neither
    /// side. The latter hold nothing, but one may come from them (`mkdir out && cd out && ../ci/test.sh`).
    pub(super) fn entered(
        &mut self,
        commands: &[Command],
        begin: &BTreeSet<String>,
    ) -> Look<(Vec<String>, Vec<String>)> {
        let mut all = begin.clone();
        let mut seen = BTreeSet::new();
        for words in commands.iter().map(|command| &command.words) {
            for folder in words.iter().enumerate().filter_map(|(at, word)| into(word, words.get(at + 1))) {
                if all.len() < MOST_FOLDERS && seen.insert((all.len(), folder.clone())) {
                    // Seen from wherever the step may be by then.
                    let below: Vec<String> = all.iter().filter_map(|base| inside(&join(base, &folder))).collect();
                    all.extend(below.into_iter().filter(|folder| folder.len() <= LONGEST_PATH));
                }
            }
        }
        let (mut there, mut gone) = (Vec::new(), Vec::new());
        for folder in all {
            if self.is_there(&folder)? { there.push(folder) } else { gone.push(folder) }
        }
        Ok((there, gone))
    }

    fn is_there(&mut self, folder: &str) -> Look<bool> {
        for side in SIDES {
            if matches!(self.place(side, folder)?, Place::Folder(_) | Place::Unknown(_)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The folder that a word, or the one after it, says to work in.
fn into(word: &str, next: Option<&String>) -> Option<String> {
    if !word.starts_with(['c', 'p', '-']) {
        return None;
    }
    let into = ["cd", "pushd", "-C", "--directory", "--prefix", "--cwd", "--dir"];
    let folder = match word.split_once('=') {
        Some((option, value)) if into.contains(&option) => value,
        _ if into.contains(&word) => next?,
        _ => return None,
    };
    // What a path starts with at run time is most often the folder that one is in anyway.
    let folder = match folder.split_once('/') {
        Some((first, rest)) if first.contains(HOLE) => clean(rest),
        _ => clean(folder),
    };
    (!folder.is_empty() && !folder.contains(HOLE) && folder.len() <= LONGEST_PATH).then_some(folder)
}
