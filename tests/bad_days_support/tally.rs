//! What struck, how often, and how it ended.

use std::collections::BTreeMap;
use std::fmt;

use phasegate::twin::Switch;

#[derive(Default, Clone, Copy)]
struct Row {
    struck: u64,
    stories: u64,
    equal: u64,
}

#[derive(Default)]
pub(crate) struct Tally {
    rows: BTreeMap<Switch, Row>,
    stories: u64,
}

impl Tally {
    /// A story was played, in which these struck; did it end as on a calm day?
    pub(crate) fn add(&mut self, struck: &BTreeMap<Switch, u64>, equal: bool) {
        self.stories += 1;
        for (switch, times) in struck {
            let row = self.rows.entry(*switch).or_default();
            row.struck += times;
            row.stories += 1;
            row.equal += u64::from(equal);
        }
    }

    pub(crate) fn stories(&self) -> u64 {
        self.stories
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{:<18} {:>7} {:>8} {:>6}", "switch", "struck", "stories", "equal")?;
        for switch in Switch::ALL {
            let Row { struck, stories, equal } = self.rows.get(&switch).copied().unwrap_or_default();
            writeln!(f, "{:<18} {struck:>7} {stories:>8} {equal:>6}", switch.name())?;
        }
        let struck: u64 = self.rows.values().map(|row| row.struck).sum();
        writeln!(f, "bad days: {} stories, {struck} strikes", self.stories)
    }
}
