//! The tally, by class.

use std::collections::BTreeMap;
use std::fmt;

use super::story::{Class, Story};

/// How the two halves of a story went; `None` is as told.
pub(crate) struct Result {
    pub(crate) cheat: Option<String>,
    pub(crate) honest: Option<String>,
}

impl Result {
    pub(crate) fn failure(&self) -> Option<String> {
        let cheat = self.cheat.as_ref().map(|why| format!("the cheat was missed: {why}"));
        let honest = self.honest.as_ref().map(|why| format!("the honest twin was stopped: {why}"));
        let both: Vec<String> = cheat.into_iter().chain(honest).collect();
        (!both.is_empty()).then(|| both.join("\n"))
    }
}

#[derive(Default, Clone, Copy)]
struct Row {
    caught: usize,
    missed: usize,
    passed: usize,
    stopped: usize,
}

#[derive(Default)]
pub(crate) struct Tally(BTreeMap<Class, Row>);

impl Tally {
    pub(crate) fn add(&mut self, story: &Story, played: &Result) {
        let row = self.0.entry(story.class).or_default();
        match played.cheat {
            None => row.caught += 1,
            Some(_) => row.missed += 1,
        }
        match played.honest {
            None => row.passed += 1,
            Some(_) => row.stopped += 1,
        }
    }

    pub(crate) fn stories(&self) -> usize {
        self.0.values().map(|row| row.caught + row.missed).sum()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{:<27} {:>7} {:>7} {:>7} {:>8}", "class", "caught", "missed", "honest", "stopped")?;
        let mut all = Row::default();
        for (class, row) in &self.0 {
            let Row { caught, missed, passed, stopped } = *row;
            writeln!(f, "{:<27} {caught:>7} {missed:>7} {passed:>7} {stopped:>8}", class.as_str())?;
            all.caught += caught;
            all.missed += missed;
            all.passed += passed;
            all.stopped += stopped;
        }
        writeln!(
            f,
            "cheats: {} caught, {} missed; honest: {} passed, {} stopped",
            all.caught, all.missed, all.passed, all.stopped
        )
    }
}
