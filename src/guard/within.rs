//! Tests inside of source files in a freeze: what is kept of them, and what became of them.
//!
//! A source file is free to be edited and the tests in it are not ([`super::inline`]). Only files that the change touches are
//! parsed, or that it had touched when it was frozen: everywhere else the tests are as the base has them, now and then.
//!
//! What it promises:
//!
//! - **what can't be read is held as a whole**: a file that the parser can't make out, or one too many, is frozen by its blob if
//!   its text speaks of tests, and one that was readable when it was frozen trips;
//! - **it is bounded** ([`MOST_SOURCES`], [`MOST_BYTES`]), in the order of the paths, and what goes beyond is said.

use std::collections::{BTreeMap, BTreeSet};

use super::inline::{self, Became, FrozenItems, Item, Now, READING, Sort, Taken, compare_all};
use super::parse::Language;
use super::set::{self, Added};
use super::tripwire::{How, Scene, Trip};
use super::{Frozen, Kind, Manifest};
use crate::ids::{BlobId, CommitId};
use crate::policy::Policy;
use crate::repo::{Error, Mode, Reader, RepoPath, Result};

/// No more source files with tests inside than this are parsed of a change.
pub const MOST_SOURCES: usize = 2_000;
/// No more bytes than this are parsed of them, of both sides together.
pub const MOST_BYTES: usize = 32 * 1024 * 1024;

/// Of so many files that are documentation of one file the examples are read.
const MOST_FETCHED: usize = 50;

/// Lines that open a file are followed no farther than this.
const MOST_AROUND: usize = 8;

/// A file that may have tests inside, at the base and at the head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub base: Side,
    pub head: Side,
    /// It is a test as a whole, so nothing of it is kept here: what was moved to it is found in it.
    pub test: bool,
}

/// What one side has of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Side {
    /// No plain file stands there.
    Absent,
    Read(Vec<Item>),
    Unread {
        why: String,
        /// Its text speaks of tests.
        marked: bool,
    },
}

impl Side {
    fn items(&self) -> &[Item] {
        match self {
            Self::Read(items) => items,
            Self::Absent | Self::Unread { .. } => &[],
        }
    }
}

/// How much may still be parsed.
struct Budget {
    files: usize,
    bytes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { files: MOST_SOURCES, bytes: MOST_BYTES }
    }
}

impl Budget {
    fn takes(&mut self, bytes: usize) -> bool {
        let Some(left) = self.bytes.checked_sub(bytes).filter(|_| self.files > 0) else { return false };
        (self.files, self.bytes) = (self.files - 1, left);
        true
    }
}

impl Scene {
    /// Reads the tests inside of the source files that the change touches, and of those that `frozen` has some of.
    pub fn look_inside(
        &mut self,
        reader: &dyn Reader,
        (base, head): (Option<&CommitId>, &CommitId),
        policy: &Policy,
        frozen: Option<&Manifest>,
    ) -> Result<()> {
        self.look(reader, (base, head), policy, frozen, &mut Budget::default())
    }

    fn look(
        &mut self,
        reader: &dyn Reader,
        (base, head): (Option<&CommitId>, &CommitId),
        policy: &Policy,
        frozen: Option<&Manifest>,
        budget: &mut Budget,
    ) -> Result<()> {
        let added = Added::by(policy);
        let kept = frozen.and_then(|frozen| frozen.inside.as_ref());
        let mut paths: BTreeMap<&RepoPath, bool> = BTreeMap::new();
        for path in self.touched.iter().filter(|path| has_items(path)) {
            match set::kind(path, &added) {
                None => drop(paths.insert(path, false)),
                // What is frozen as a whole and stands there was moved from nowhere.
                Some(Kind::Test) if frozen.is_some_and(|frozen| !frozen.files.contains_key(path)) => {
                    paths.insert(path, true);
                }
                Some(_) => {}
            }
        }
        let fetching = self.fetching(reader, head, &added)?;
        paths.extend(fetching.iter().map(|path| (path, false)));
        paths.extend(kept.into_iter().flatten().map(|(path, _)| (path, false)));
        let mut sources = BTreeMap::new();
        let rust: Vec<String> = paths.keys().map(ToString::to_string).filter(|path| path.ends_with(".rs")).collect();
        let lines = |at| Lines::new(reader, at, &added, &rust);
        let (mut lines_of_head, mut lines_of_base) = (lines(head), base.map(lines));
        for (path, test) in paths {
            let is_test = test || lines_of_head.open_for_tests(path, MOST_AROUND)?;
            let head = side(reader, head, path, is_test, budget)?;
            let base = match (base, &mut lines_of_base) {
                (Some(_), _) if !self.touched.contains(path) && !self.touches_what_it_fetches(&head) => head.clone(),
                (Some(base), Some(lines)) => {
                    let is_test = test || lines.open_for_tests(path, MOST_AROUND)?;
                    side(reader, base, path, is_test, budget)?
                }
                _ => Side::Absent,
            };
            sources.insert(path.clone(), Source { base, head, test });
        }
        self.sources = sources;
        Ok(())
    }

    /// Files of Rust whose documentation is a file that the change touches: they are as they were, and their examples are not.
    fn fetching(&self, reader: &dyn Reader, head: &CommitId, added: &Added) -> Result<Vec<RepoPath>> {
        let is_text =
            |path: &&RepoPath| [&b".md"[..], b".markdown", b".txt"].iter().any(|end| path.as_bytes().ends_with(end));
        let mut found = Vec::new();
        if !self.touched.iter().any(|path| is_text(&path)) {
            return Ok(found);
        }
        let rust = |path: &&RepoPath| path.as_bytes().ends_with(b".rs") && set::kind(path, added).is_none();
        let files = self.files.keys().filter(rust).filter(|path| !self.touched.contains(*path));
        for path in files.take(MOST_SOURCES) {
            let fetches = match reader.blob(head, path) {
                Ok(Some(blob)) => inline::may_fetch(&blob.bytes),
                Ok(None) | Err(Error::NotAFile(_) | Error::TooLarge { .. }) => false,
                Err(error) => return Err(error),
            };
            if fetches {
                found.push(path.clone());
            }
        }
        Ok(found)
    }

    fn touches_what_it_fetches(&self, head: &Side) -> bool {
        let places = head.items().iter().filter_map(|item| item.fetches.as_deref());
        places.into_iter().any(|place| self.touched.contains(&RepoPath::from(place)))
    }

    /// Adds the tests inside of source files to what is frozen.
    pub(super) fn freeze_inside(&self, files: &mut BTreeMap<RepoPath, Frozen>) -> BTreeMap<RepoPath, Taken> {
        let mut inside = BTreeMap::new();
        for (path, source) in &self.sources {
            if source.test || files.contains_key(path) {
                continue;
            }
            let marked = |side: &Side| matches!(side, Side::Unread { marked: true, .. });
            if let Side::Unread { .. } = source.head {
                let there = self.files.get(path).filter(|_| marked(&source.head));
                if let Some((mode, blob)) = there {
                    let ours = self.touched.contains(path);
                    let whole = Frozen { kind: Kind::Test, mode: *mode, blob: blob.clone(), ours };
                    files.insert(path.clone(), whole);
                }
                continue;
            }
            let taken = Taken::of(source.head.items(), source.base.items());
            // Where the base can't be read, it is remembered that what is here was looked at.
            if !taken.is_empty() || marked(&source.base) {
                inside.insert(path.clone(), taken);
            }
        }
        inside
    }
}

/// The lines of a revision that make files of Rust part of its program, as far as they are asked for.
struct Lines<'a> {
    reader: &'a dyn Reader,
    at: &'a CommitId,
    added: &'a Added,
    /// The files of the change: a `#[path]` in one may open any file.
    changed: &'a [String],
    read: BTreeSet<String>,
    /// The lines that may open a file, each with the file that it stands in.
    opened: BTreeMap<String, Vec<(String, Sort)>>,
    budget: Budget,
}

impl<'a> Lines<'a> {
    fn new(reader: &'a dyn Reader, at: &'a CommitId, added: &'a Added, changed: &'a [String]) -> Self {
        let (read, opened, budget) = (BTreeSet::new(), BTreeMap::new(), Budget::default());
        Self { reader, at, added, changed, read, opened, budget }
    }

    /// Whether a file is there for tests alone: each line that opens it is under `cfg(test)`, or in such a file itself.
    fn open_for_tests(&mut self, path: &RepoPath, steps: usize) -> Result<bool> {
        let name = path.to_string();
        let Some(stem) = name.strip_suffix(".rs").filter(|_| steps > 0) else { return Ok(false) };
        let folder = stem.strip_suffix("/mod").unwrap_or(stem).rsplit_once('/').map_or("", |(folder, _)| folder);
        if !folder.is_empty() {
            for file in ["/mod.rs", "/lib.rs", "/main.rs", ".rs"] {
                self.learn(&format!("{folder}{file}"))?;
            }
        }
        let changed = self.changed;
        for file in changed {
            self.learn(file)?;
        }
        let mut found = false;
        for (file, sort) in self.opened.get(&name).cloned().unwrap_or_default() {
            if file == name {
                continue;
            }
            let file = RepoPath::from(file.as_str());
            let is_test = sort == Sort::Helper
                || set::kind(&file, self.added) == Some(Kind::Test)
                || self.open_for_tests(&file, steps - 1)?;
            if !is_test {
                return Ok(false);
            }
            found = true;
        }
        Ok(found)
    }

    /// Notes what the lines of a file open, once.
    fn learn(&mut self, file: &str) -> Result<()> {
        if !self.read.insert(file.to_owned()) {
            return Ok(());
        }
        let side = side(self.reader, self.at, &RepoPath::from(file), false, &mut self.budget)?;
        for item in side.items() {
            for place in &item.opens {
                let lines = self.opened.entry(place.clone()).or_default();
                lines.push((file.to_owned(), item.sort));
            }
        }
        Ok(())
    }
}

/// Whether tests inside of files of its language are looked for.
fn has_items(path: &RepoPath) -> bool {
    Language::of(&path.to_string()).is_some_and(|language| language != Language::Go)
}

fn side(reader: &dyn Reader, at: &CommitId, path: &RepoPath, test: bool, budget: &mut Budget) -> Result<Side> {
    let unread = |why: String, marked: bool| Ok(Side::Unread { why, marked });
    let bytes = match reader.blob(at, path) {
        Ok(Some(blob)) if blob.mode.is_file() => blob.bytes,
        Ok(_) | Err(Error::NotAFile(_)) => return Ok(Side::Absent),
        Err(Error::TooLarge { size, cap, .. }) => {
            return unread(format!("it has {size} bytes; up to {cap} are read"), true);
        }
        Err(error) => return Err(error),
    };
    let name = path.to_string();
    if !test && !inline::may_have_items(&name, &bytes) {
        return Ok(Side::Read(Vec::new()));
    }
    let marked = inline::has_marks(&name, &bytes);
    if !budget.takes(bytes.len()) {
        let why = format!(
            "the change has more source files with tests inside than are parsed ({MOST_SOURCES} files, {MOST_BYTES} bytes)"
        );
        return unread(why, marked);
    }
    let items = if test { inline::items_of_test(&name, &bytes) } else { inline::items(&name, &bytes) };
    match items {
        Ok(items) => {
            let mut items = items.unwrap_or_default();
            items.extend(examples_elsewhere(reader, at, &items, budget)?);
            Ok(Side::Read(items))
        }
        Err(why) => unread(why, marked),
    }
}

/// The examples of files that are documentation of this one.
fn examples_elsewhere(reader: &dyn Reader, at: &CommitId, items: &[Item], budget: &mut Budget) -> Result<Vec<Item>> {
    let mut found = Vec::new();
    for item in items.iter().filter(|item| item.fetches.is_some()).take(MOST_FETCHED) {
        let place = RepoPath::from(item.fetches.as_deref().unwrap_or_default());
        match reader.blob(at, &place) {
            Ok(Some(blob)) if blob.mode.is_file() && budget.takes(blob.bytes.len()) => {
                found.extend(inline::fetched(item, &blob.bytes));
            }
            Ok(_) | Err(Error::NotAFile(_) | Error::TooLarge { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// What of the tests inside of source files is not as it was frozen, in the order of the paths.
pub(super) fn hold(manifest: &Manifest, scene: &Scene) -> Vec<Trip> {
    let Some(inside) = &manifest.inside else { return Vec::new() };
    let mut trips = Vec::new();
    let mut put = |path: &RepoPath, how: How| trips.push(trip(path, how, scene));
    let mut names: BTreeMap<String, &RepoPath> = BTreeMap::new();
    let (mut expected, mut now): (BTreeMap<String, FrozenItems>, BTreeMap<String, Now>) = Default::default();
    for path in inside.keys().filter(|path| !scene.sources.contains_key(*path)) {
        put(path, How::Unread { why: "it was not looked into".to_owned() });
    }
    for (path, source) in &scene.sources {
        // What is frozen as a whole is held as a whole.
        if manifest.files.contains_key(path) {
            continue;
        }
        let name = path.to_string();
        if !source.test {
            match (inside.get(path), &source.base) {
                (Some(taken), _) if taken.reading != READING => {
                    let why = format!("it was frozen by reading {}, and this is reading {READING}", taken.reading);
                    put(path, How::Unread { why });
                    continue;
                }
                (Some(taken), base) => drop(expected.insert(name.clone(), taken.expected(base.items()))),
                (None, Side::Unread { why, marked: true }) => {
                    put(path, How::Unread { why: format!("at the base, {why}") });
                    continue;
                }
                (None, base) => drop(expected.insert(name.clone(), inline::freeze(base.items()))),
            }
        }
        // A file of the change that has frozen items was there when they were.
        let new = source.base == Side::Absent && !inside.contains_key(path);
        match &source.head {
            Side::Absent => {}
            Side::Read(items) => drop(now.insert(name.clone(), Now { items: Ok(Some(items.clone())), new })),
            Side::Unread { why, .. } => drop(now.insert(name.clone(), Now { items: Err(why.clone()), new })),
        }
        names.insert(name, path);
    }
    let is_there = |path: &str| scene.files.get(&RepoPath::from(path)).is_some_and(|(mode, _)| mode.is_file());
    for (name, found) in compare_all(&expected, &now, &is_there) {
        let Some(path) = names.get(&name) else { continue };
        let unread = found.iter().find_map(|(_, became)| match became {
            Became::Unread { why } => Some(why.clone()),
            _ => None,
        });
        if let Some(why) = unread {
            put(path, How::Unread { why });
            continue;
        }
        let (together, found) = together(found, expected.get(&name));
        for (items, line) in together {
            put(path, How::Together { items, line });
        }
        for (item, became) in found.into_iter().filter(|(_, became)| became.trips()) {
            // What is new was not expected, and is no test.
            let known = expected.get(&name).and_then(|items| items.get(&item));
            put(path, How::Inside { item, sort: known.map_or(Sort::Helper, |item| item.sort), became });
        }
    }
    trips.sort_by(|a, b| a.path.cmp(&b.path));
    trips
}

/// So many items of a part are told one by one.
const FEW: usize = 3;

/// Items of a part, and the first line of them.
type Part = (Vec<String>, u32);

/// The parts of a file of which nothing is as it was frozen, each with its items and the first line, and what else became of its
/// items. A condition above a module or a file changes each of them, and is one thing to put back.
fn together(found: Vec<(String, Became)>, expected: Option<&FrozenItems>) -> (Vec<Part>, Vec<(String, Became)>) {
    let part = |name: &str| name.split_once("::").map_or(String::new(), |(part, _)| part.to_owned());
    let all: Vec<&String> = expected.into_iter().flat_map(FrozenItems::keys).collect();
    let changed = |became: &Became| matches!(became, Became::Changed { .. });
    let is_whole = found.iter().filter(|(_, became)| changed(became)).count() == all.len();
    let of = |name: &str| if is_whole { String::new() } else { part(name) };
    let mut parts: BTreeMap<String, Part> = BTreeMap::new();
    for (name, became) in &found {
        if let Became::Changed { line } = became {
            let (names, first) = parts.entry(of(name)).or_insert_with(|| (Vec::new(), *line));
            names.push(name.clone());
            *first = (*first).min(*line);
        }
    }
    parts.retain(|part, (names, _)| {
        let there = all.iter().filter(|name| of(name) == *part).count();
        names.len() > FEW && names.len() == there && (is_whole || !part.is_empty())
    });
    let rest = found.into_iter().filter(|(name, became)| !(changed(became) && parts.contains_key(&of(name)))).collect();
    (parts.into_values().collect(), rest)
}

fn trip(path: &RepoPath, how: How, scene: &Scene) -> Trip {
    let now: Option<&(Mode, BlobId)> = scene.files.get(path);
    Trip { path: path.clone(), kind: Kind::Test, frozen: None, now: now.map(|(_, blob)| blob.clone()), how }
}

#[cfg(test)]
mod tests;
