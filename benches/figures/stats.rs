//! Medians with their spread, and tables.

use std::fmt::Write as _;

/// What several rounds measured.
#[derive(Clone, Default)]
pub(crate) struct Rounds(Vec<f64>);

impl Rounds {
    pub(crate) fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    fn sorted(&self) -> Vec<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted
    }

    pub(crate) fn median(&self) -> f64 {
        let sorted = self.sorted();
        match sorted.len() {
            0 => f64::NAN,
            n if n % 2 == 1 => sorted[n / 2],
            n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
        }
    }

    /// The median, and from where to where the rounds went.
    pub(crate) fn told(&self) -> String {
        let sorted = self.sorted();
        match (sorted.first(), sorted.last()) {
            (Some(least), Some(most)) => {
                format!("{} ({}–{})", short(self.median()), short(*least), short(*most))
            }
            _ => "–".to_owned(),
        }
    }
}

impl FromIterator<f64> for Rounds {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

/// Three digits are all that these numbers are good for.
pub(crate) fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 1000.0 => thousands(value.round() as i64),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

fn thousands(value: i64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

pub(crate) fn mib(bytes: u64) -> f64 {
    bytes as f64 / (1024.0 * 1024.0)
}

/// A Markdown table.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let mut out = format!("| {} |\n|{}\n", head.join(" | "), "---|".repeat(head.len()));
    for row in rows {
        // Writing to a string can't fail.
        let _ = writeln!(out, "| {} |", row.join(" | "));
    }
    out
}
