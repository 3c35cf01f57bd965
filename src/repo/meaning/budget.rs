//! What one look may cost. It is counted and not timed, so that the same change has the same answer everywhere.

use crate::repo::Error;

/// Why a look ended early.
#[derive(Debug)]
pub(super) enum Stop {
    Repo(Error),
    /// What gives the run its meaning can't be known; why.
    Unknown(String),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Repo(error)
    }
}

pub(super) type Look<T> = std::result::Result<T, Stop>;

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cost {
    /// Questions to the repository; what was asked before is remembered.
    Lookups,
    /// Names that were held against the folders that a step works in, a long one as several.
    Names,
    Words,
    Patterns,
    Files,
    Bytes,
    /// Entries of folders that were listed.
    Entries,
    /// Files and folders that are in the set.
    Roots,
}

/// How much of each, and how it is called. The largest monorepo in the tests stays below two thirds of each, and
/// all of it together takes about a second where nothing is optimised.
const MOST: [(Cost, usize, &str); 8] = [
    (Cost::Lookups, 12_000, "lookups"),
    (Cost::Names, 300_000, "names to look for"),
    (Cost::Words, 300_000, "words of scripts"),
    (Cost::Patterns, 4_000, "patterns"),
    (Cost::Files, 5_000, "files to read"),
    (Cost::Bytes, 64 * 1024 * 1024, "bytes to read"),
    (Cost::Entries, 500_000, "files in its actions"),
    (Cost::Roots, 5_000, "files that it runs"),
];

#[cfg(test)]
pub(super) const ALL: [Cost; MOST.len()] = {
    use Cost::*;
    [Lookups, Names, Words, Patterns, Files, Bytes, Entries, Roots]
};

#[derive(Debug, Default)]
pub(super) struct Budget {
    spent: [usize; MOST.len()],
}

impl Budget {
    pub(super) fn spend(&mut self, cost: Cost, many: usize) -> Look<()> {
        let (_, most, what) = MOST[cost as usize];
        let spent = &mut self.spent[cost as usize];
        *spent = spent.saturating_add(many);
        if *spent > most {
            return Err(Stop::Unknown(format!("it takes more than {most} {what} to tell what it runs")));
        }
        Ok(())
    }

    /// What was spent, and what there was.
    #[cfg(test)]
    pub(super) fn of(&self, cost: Cost) -> (usize, usize) {
        (self.spent[cost as usize], MOST[cost as usize].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cost_has_its_own_line_and_its_end() {
        for (at, (cost, most, what)) in MOST.into_iter().enumerate() {
            assert_eq!(cost as usize, at);
            let mut budget = Budget::default();
            assert!(budget.spend(cost, most).is_ok());
            assert_eq!(budget.of(cost), (most, most));
            assert!(matches!(budget.spend(cost, 1), Err(Stop::Unknown(why)) if why.contains(what)));
            assert!(budget.spend(cost, usize::MAX).is_err());
        }
    }
}
