//! How many lines the commands reach, by the reports that they write: LCOV, or Cobertura's XML.
//!
//! A line counts once, however many reports name it, and is covered where one of them says so. What can't be read is not left out: a
//! report that is missing takes its lines along, and the rest may look better than the whole. Then it is *unknown*, and why. What was
//! there before the run, lies behind a link or is too large is no more believed here than of tests (`super::reports`).

mod cobertura;
mod lcov;

use std::collections::{BTreeSet, HashMap};
use std::path::{Component, Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::artefact::DIGEST;
use super::environ::Masks;
use super::reports::{Before, LONGEST_PATH, MOST_BYTES, MOST_REPORTS, content, found};
use super::{place, text};
use crate::finding::quoted;
use crate::ids::Digest;

/// How many lines were reached, of those that could be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Coverage {
    pub covered: u64,
    pub lines: u64,
    /// Why it is not known; both are zero then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The reports that it was taken from, as far as it got with them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<CoverageReport>,
}

/// A coverage report that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CoverageReport {
    /// The file, as seen from the repository.
    pub path: String,
    /// SHA-256 of what it had.
    #[schemars(with = "String", extend("pattern" = DIGEST))]
    pub digest: Digest,
    pub bytes: u64,
}

impl Coverage {
    fn unknown(why: &str) -> Self {
        Self { why: Some(text::line(why, 300)), ..Self::default() }
    }

    /// The same, or why it is not known. Of no line at all nothing is.
    pub fn known(&self) -> Result<&Self, &str> {
        match &self.why {
            Some(why) => Err(why),
            None if self.lines == 0 => Err("the reports name no line"),
            None => Ok(self),
        }
    }

    /// Whether it is a smaller part of its lines than another one is of its own. A product of two such numbers fits.
    pub fn is_less_than(&self, other: &Self) -> bool {
        let part = |of: &Self, whole: &Self| u128::from(of.covered) * u128::from(whole.lines);
        part(self, other) < part(other, self)
    }

    /// `812 of 1000 lines`
    pub fn shown(&self) -> String {
        format!("{} {}", self.part(), if self.lines == 1 { "line" } else { "lines" })
    }

    /// `812 of 1000`
    pub fn part(&self) -> String {
        format!("{} of {}", self.covered, self.lines)
    }

    /// Whether it can be what it says that it is.
    pub(super) fn adds_up(&self) -> bool {
        self.covered <= self.lines && (self.why.is_none() || self.lines == 0)
    }
}

/// What the reports say that the globs match now. None where nothing is asked for.
pub(super) fn read(folder: &Path, globs: &[String], before: &Before, masks: &Masks) -> Option<Coverage> {
    if globs.is_empty() {
        return None;
    }
    let mut reports = Vec::new();
    let told = |why: String| Coverage::unknown(&masks.hide_text(&why));
    let coverage = all(folder, globs, before, &mut reports).unwrap_or_else(told);
    for report in &mut reports {
        report.path = text::head(&masks.hide_text(&report.path), LONGEST_PATH);
    }
    Some(Coverage { reports, ..coverage })
}

fn all(
    folder: &Path,
    globs: &[String],
    before: &Before,
    reports: &mut Vec<CoverageReport>,
) -> Result<Coverage, String> {
    let (mut tally, mut left) = (Tally::of(folder), MOST_BYTES);
    for file in files(folder, globs)? {
        let name = quoted(&text::line(&file.to_string_lossy(), 200));
        let unread = |why: String| format!("{name} can't be read: {why}");
        let (content, about) = content(folder, &file, &mut left).map_err(unread)?;
        let (digest, bytes) = (Digest::of(&content), content.len() as u64);
        reports.push(CoverageReport { path: file.to_string_lossy().into_owned(), digest: digest.clone(), bytes });
        if let Some(why) = before.stale(&file, &about, &digest) {
            return Err(format!("{name} is not of this run: {why}"));
        }
        tally.take(&content).map_err(unread)?;
    }
    let coverage = tally.sum();
    coverage.known().map_err(str::to_owned)?;
    Ok(coverage)
}

/// Each file once. A glob that matches none leaves a part out.
fn files(folder: &Path, globs: &[String]) -> Result<BTreeSet<PathBuf>, String> {
    let mut files = BTreeSet::new();
    for glob in globs {
        let name = quoted(&text::line(glob, 200));
        let found = found(folder, glob).map_err(|why| format!("{name}: {why}"))?;
        if found.is_empty() {
            return Err(format!("nothing matches {name}"));
        }
        files.extend(found);
    }
    match files.len() > MOST_REPORTS {
        true => Err(format!("the globs match more than {MOST_REPORTS} files")),
        false => Ok(files),
    }
}

/// What the reports of a run name, taken together.
struct Tally<'a> {
    folder: &'a Path,
    files: HashMap<String, u32>,
    /// Each line as a report names it: its file, its number, and whether it was missed.
    lines: Vec<(u32, u32, bool)>,
    /// What is told of files in numbers alone: how many lines, and how many of them were reached.
    counts: HashMap<u32, (u32, u32)>,
}

impl<'a> Tally<'a> {
    fn of(folder: &'a Path) -> Self {
        Self { folder, files: HashMap::new(), lines: Vec::new(), counts: HashMap::new() }
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), String> {
        let begins = bytes.iter().find(|byte| !byte.is_ascii_whitespace() && !b"\xef\xbb\xbf\xff\xfe\0".contains(byte));
        match begins {
            Some(b'<') => cobertura::read(bytes, self),
            _ => lcov::read(&String::from_utf8_lossy(bytes), self),
        }
    }

    /// A file as it is called in each report: from the repository, wherever the copy lies, and out of the folder that has it.
    fn file(&mut self, path: &str, sources: &[&str]) -> u32 {
        let joined = |source: &&str| Path::new(source).join(path);
        let path = match sources {
            [] => PathBuf::from(path),
            [one] => joined(one),
            // Which of them it is, the report does not say.
            all => {
                let is_there = |path: &PathBuf| place::inside(&path.to_string_lossy(), self.folder).is_some();
                all.iter().map(joined).find(is_there).unwrap_or_else(|| PathBuf::from(path))
            }
        };
        let path = path.strip_prefix(self.folder).unwrap_or(&path);
        let path: PathBuf = path.components().filter(|part| *part != Component::CurDir).collect();
        let next = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
        *self.files.entry(path.to_string_lossy().into_owned()).or_insert(next)
    }

    fn line(&mut self, file: u32, number: u32, is_hit: bool) {
        self.lines.push((file, number, !is_hit));
    }

    /// Two such reports of one file may have reached other lines of it, or the same. So it is what is sure.
    fn count(&mut self, file: u32, lines: u32, covered: u32) {
        let (most, surely) = self.counts.entry(file).or_default();
        (*most, *surely) = ((*most).max(lines), (*surely).max(covered));
    }

    fn sum(mut self) -> Coverage {
        // Where one report has reached it, that comes first, and stays.
        self.lines.sort_unstable();
        self.lines.dedup_by_key(|(file, number, _)| (*file, *number));
        for (file, ..) in &self.lines {
            self.counts.remove(file);
        }
        let reached = self.lines.iter().filter(|(.., is_missed)| !is_missed).count() as u64;
        let counted = |of: fn(&(u32, u32)) -> u32| self.counts.values().map(of).map(u64::from).sum::<u64>();
        let lines = self.lines.len() as u64 + counted(|(lines, _)| *lines);
        Coverage { covered: reached + counted(|(_, covered)| *covered), lines, ..Coverage::default() }
    }
}

/// A number of a line, or of lines.
fn number(words: &str) -> Result<u32, String> {
    digits(words)?.parse().map_err(|_| format!("{} is too large", shown(words)))
}

/// Whether a line was reached. How often may be more than any number here.
fn is_hit(words: &str) -> Result<bool, String> {
    Ok(digits(words)?.bytes().any(|byte| byte != b'0'))
}

fn digits(words: &str) -> Result<&str, String> {
    let digits = words.trim();
    let is_count = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_count.then_some(digits).ok_or_else(|| format!("{} is no count", shown(words)))
}

fn shown(words: &str) -> String {
    quoted(&text::line(words, 40))
}

#[cfg(test)]
mod tests;
