//! Which points there are, how often they were passed, and how often the bot survived being killed there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

#[derive(Default)]
pub(crate) struct Tally {
    /// How often each point was passed in the calm runs.
    pub(crate) passages: BTreeMap<String, u64>,
    /// How often it was killed at each, and how often it survived that.
    kills: BTreeMap<String, (u64, u64)>,
    pub(crate) runs: u64,
    beside: Vec<(&'static str, String)>,
}

impl Tally {
    pub(crate) fn add(&mut self, point: &str, survived: bool) {
        let (killed, alive) = self.kills.entry(point.to_owned()).or_default();
        *killed += 1;
        *alive += u64::from(survived);
    }

    /// Those that it was never killed at.
    pub(crate) fn unstruck(&self, points: BTreeSet<String>) -> Vec<String> {
        points.into_iter().filter(|point| self.kills.get(point).is_none_or(|(killed, _)| *killed == 0)).collect()
    }

    /// What is not in the table.
    pub(crate) fn beside(&mut self, what: &'static str, told: String) {
        self.beside.push((what, told));
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wide = self.passages.keys().map(String::len).max().unwrap_or_default() + 2;
        writeln!(f, "\n| {:wide$} | passages | killed | survived |", "point")?;
        writeln!(f, "|{:-<1$}|---------:|-------:|---------:|", "", wide + 2)?;
        let (mut points, mut kills, mut alive) = (0, 0, 0);
        for (point, passages) in self.passages.iter().filter(|(_, passages)| **passages > 0) {
            let (killed, survived) = self.kills.get(point).copied().unwrap_or_default();
            writeln!(f, "| {:wide$} | {passages:8} | {killed:6} | {survived:8} |", format!("`{point}`"))?;
            (points, kills, alive) = (points + 1, kills + killed, alive + survived);
        }
        writeln!(f, "\nkills: {points} points, {kills} kills, {alive} survived ({} runs)", self.runs)?;
        self.beside.iter().try_for_each(|(what, told)| writeln!(f, "{what}: {told}"))
    }
}
