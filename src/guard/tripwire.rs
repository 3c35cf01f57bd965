//! The tripwire: a manifest held against a head.
//!
//! A file that is as it was frozen is fine, and so is one that only the base has changed: the change had not touched it when
//! it was frozen, and does not touch it now. What gives a run its meaning may also go back to what the base has. Everything
//! else trips, and each trip says how, because what to do about a file that is gone is not what to do about a link.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use unicode_normalization::UnicodeNormalization as _;

use super::inline::{Became, Sort};
use super::within::{self, Source};
use super::{Frozen, Kind, Manifest};
use crate::finding::{Finding, quoted};
use crate::ids::BlobId;
use crate::repo::{Mode, RepoPath};

/// A head, as far as the tripwire looks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scene {
    /// Every file, link and submodule.
    pub files: BTreeMap<RepoPath, (Mode, BlobId)>,
    /// The paths that the change touches: what differs from where it began.
    pub touched: BTreeSet<RepoPath>,
    /// The source files that may have tests inside, as far as they were looked at.
    pub sources: BTreeMap<RepoPath, Source>,
}

/// A frozen file that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trip {
    pub path: RepoPath,
    pub kind: Kind,
    /// What was frozen; none where only a part of the file was.
    pub frozen: Option<BlobId>,
    /// What stands there now.
    pub now: Option<BlobId>,
    #[serde(flatten)]
    pub how: How,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum How {
    Changed,
    Deleted,
    /// The same content stands elsewhere.
    Renamed {
        to: RepoPath,
    },
    /// It is a symbolic link now.
    Link,
    /// Another repository is mounted there.
    Mounted,
    /// A folder stands there.
    Folder,
    /// One of its folders is something else now.
    Behind {
        what: RepoPath,
    },
    /// A path that differs only in case or Unicode form stands in for it, or beside it.
    Alike {
        other: RepoPath,
    },
    Mode {
        from: Mode,
        to: Mode,
    },
    /// A test inside of it, or what belongs to one, is not as it was.
    Inside {
        item: String,
        sort: Sort,
        #[serde(flatten)]
        became: Became,
    },
    /// All tests inside of it, or of a part of it, are not as they were, as where a condition above them changed.
    Together {
        items: Vec<String>,
        line: u32,
    },
    /// What was frozen inside of it can't be found, because it can't be read.
    Unread {
        why: String,
    },
}

/// Changed files that a person has accepted, each with the content they saw (none: that it is gone).
pub type Accepted = BTreeMap<String, BTreeSet<Option<BlobId>>>;

/// What of a manifest is not as it was frozen, in the order of the paths.
pub fn hold(manifest: &Manifest, scene: &Scene, accepted: &Accepted) -> Vec<Trip> {
    let alike = Alike::of(manifest, scene);
    let elsewhere = LazyCell::new(|| elsewhere(manifest, scene));
    let mut trips = Vec::new();
    for (path, frozen) in &manifest.files {
        let now = scene.files.get(path);
        let other = alike.with(path);
        let intact = now == Some(&(frozen.mode, frozen.blob.clone()));
        let how = match other {
            Some(other) if intact || now.is_none() => How::Alike { other },
            _ if intact || is_the_bases(path, frozen, scene) || is_accepted(path, frozen, now, accepted) => continue,
            _ => how(path, frozen, &elsewhere, scene),
        };
        let now = now.map(|(_, blob)| blob.clone());
        trips.push(Trip { path: path.clone(), kind: frozen.kind, frozen: Some(frozen.blob.clone()), now, how });
    }
    let inside = within::hold(manifest, scene);
    if !inside.is_empty() {
        trips.extend(inside);
        trips.sort_by(|a, b| a.path.cmp(&b.path));
    }
    trips
}

fn gives_meaning(kind: Kind) -> bool {
    matches!(kind, Kind::Meaning | Kind::Lock)
}

/// The change has nothing to do with it: neither then nor now. What gives meaning is fine as the base has it, whatever the
/// change had made of it.
fn is_the_bases(path: &RepoPath, frozen: &Frozen, scene: &Scene) -> bool {
    !scene.touched.contains(path) && (!frozen.ours || gives_meaning(frozen.kind))
}

fn is_accepted(path: &RepoPath, frozen: &Frozen, now: Option<&(Mode, BlobId)>, accepted: &Accepted) -> bool {
    let now = now.map(|(_, blob)| blob.clone());
    gives_meaning(frozen.kind) && accepted.get(&path.to_string()).is_some_and(|seen| seen.contains(&now))
}

/// Git's id of no bytes at all: files that have nothing in them have nothing in common.
const EMPTY: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";

/// Where content stands that the change brings to a path that was not frozen: the first of them.
type Elsewhere<'s> = BTreeMap<&'s BlobId, &'s RepoPath>;

fn elsewhere<'s>(manifest: &Manifest, scene: &'s Scene) -> Elsewhere<'s> {
    let mut found = Elsewhere::new();
    for path in scene.touched.iter().filter(|path| !manifest.files.contains_key(path)) {
        if let Some((_, blob)) = scene.files.get(path) {
            found.entry(blob).or_insert(path);
        }
    }
    found
}

fn how<'s>(
    path: &RepoPath,
    frozen: &Frozen,
    elsewhere: &LazyCell<Elsewhere<'s>, impl FnOnce() -> Elsewhere<'s>>,
    scene: &Scene,
) -> How {
    match scene.files.get(path) {
        Some((mode, _)) if mode.is_symlink() && !frozen.mode.is_symlink() => How::Link,
        Some((mode, _)) if mode.is_submodule() && !frozen.mode.is_submodule() => How::Mounted,
        Some((mode, blob)) if *blob == frozen.blob => How::Mode { from: frozen.mode, to: *mode },
        Some(_) => How::Changed,
        None => {
            let below = RepoPath::new([path.as_bytes(), b"/"].concat());
            if scene.files.range(below..).next().is_some_and(|(first, _)| first.is_under(path)) {
                return How::Folder;
            }
            if let Some(what) = folders(path).find(|folder| scene.files.contains_key(folder)) {
                return How::Behind { what };
            }
            match elsewhere.get(&frozen.blob).filter(|_| frozen.blob.as_str() != EMPTY) {
                Some(to) => How::Renamed { to: (*to).clone() },
                None => How::Deleted,
            }
        }
    }
}

/// The folders that a path is in, from the outermost.
fn folders(path: &RepoPath) -> impl Iterator<Item = RepoPath> + '_ {
    let slashes = path.as_bytes().iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes.map(|(at, _)| RepoPath::new(&path.as_bytes()[..at]))
}

/// Paths that the change brings and that some systems take for a frozen one, or for a folder of one.
struct Alike(BTreeMap<String, RepoPath>);

impl Alike {
    fn of(manifest: &Manifest, scene: &Scene) -> Self {
        let new = |path: &&RepoPath| scene.files.contains_key(path) && !manifest.files.contains_key(path);
        Self(scene.touched.iter().filter(new).map(|path| (folded(path), path.clone())).collect())
    }

    /// The one that stands in for this path, if there is one.
    fn with(&self, path: &RepoPath) -> Option<RepoPath> {
        if self.0.is_empty() {
            return None;
        }
        let mut places = folders(path).chain([path.clone()]);
        places.find_map(|place| self.0.get(&folded(&place)).filter(|other| **other != place).cloned())
    }
}

/// A path as a system sees it that tells neither case nor Unicode form apart.
fn folded(path: &RepoPath) -> String {
    let text = String::from_utf8_lossy(path.as_bytes());
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let unseen = |c: &char| matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}');
    text.nfkc().filter(|c| !unseen(c)).flat_map(char::to_uppercase).flat_map(char::to_lowercase).nfkc().collect()
}

/// A path is somebody else's words, and may be as long as they like.
const LONGEST_IN_A_CODE: usize = 200;

impl Trip {
    /// `build_tampered:<path>` or `contract_tampered`.
    pub fn code(&self) -> String {
        match self.kind {
            Kind::Contract => "contract_tampered".to_owned(),
            _ => {
                let harmless = |c: char| if c == '`' || c.is_whitespace() { '_' } else { c };
                let path: String = self.path.to_string().chars().take(LONGEST_IN_A_CODE).map(harmless).collect();
                format!("build_tampered:{path}")
            }
        }
    }

    /// What happened, in a sentence.
    pub fn says(&self) -> String {
        let (kind, path) = (self.kind.words(), quoted(&self.path.to_string()));
        let how = match &self.how {
            How::Changed => "is not as it was frozen: its content was changed".to_owned(),
            How::Deleted => "was frozen and is gone".to_owned(),
            How::Renamed { to } => format!("was frozen and is gone: its content stands in {}", quoted(&to.to_string())),
            How::Link => "was frozen as a file and is a symbolic link now".to_owned(),
            How::Mounted => "was frozen as a file, and another repository is mounted there now".to_owned(),
            How::Folder => "was frozen as a file and is a folder now".to_owned(),
            How::Behind { what } => {
                format!("was frozen and is gone: {} is no folder any more", quoted(&what.to_string()))
            }
            How::Alike { other } => {
                format!("was frozen, and {} differs from it only in case or Unicode form", quoted(&other.to_string()))
            }
            How::Mode { from, to } => format!("is not as it was frozen: its mode was {from} and is {to}"),
            How::Inside { item, sort, became } => {
                return format!("The {} {} inside of {path} {}.", sort.words(), quoted(item), became.says());
            }
            How::Together { items, .. } => {
                let named: Vec<String> = items.iter().take(3).map(|item| quoted(item)).collect();
                return format!(
                    "All {} tests and parts of tests inside of {path} that stand together ({} and {} more) are not as they were \
                     frozen: each of them, or a condition above them, was changed.",
                    items.len(),
                    named.join(", "),
                    items.len() - named.len()
                );
            }
            How::Unread { why } => {
                return format!(
                    "The tests inside of {path} were frozen and can't be found, because it can't be read: {why}."
                );
            }
        };
        format!("The {kind} {path} {how}.")
    }

    /// The finding, with this as the other way out.
    pub fn finding(&self, or: &str) -> Finding {
        let put_back = match &self.how {
            How::Alike { other } => format!("Take {} out again", quoted(&other.to_string())),
            How::Renamed { to } => format!("Move {} back", quoted(&to.to_string())),
            How::Mode { from, .. } => format!("Give it its mode {from} back"),
            How::Inside { became: Became::Speaks { .. }, .. } => {
                "Take it out again, or give it another name".to_owned()
            }
            How::Unread { .. } => "Make it a file that can be read, with its tests as they were".to_owned(),
            _ => match &self.frozen {
                Some(blob) => format!("Put it back as it was (blob {})", blob.as_str().get(..12).unwrap_or_default()),
                None => "Put it back as it was".to_owned(),
            },
        };
        let line = match &self.how {
            How::Inside { became, .. } => became.line(),
            How::Together { line, .. } => Some(*line),
            _ => None,
        };
        Finding::error(&self.code(), self.says(), format!("{put_back}; {or}")).at(self.path.to_string(), line)
    }
}

#[cfg(test)]
mod tests;
