//! What gives a workflow's run its meaning, and what of it is not as on the default branch.
//!
//! A green of a workflow says something only where the change did not decide itself what was run. In the set are the
//! workflow's file, the local actions and workflows that it uses to any depth, the scripts and task files that its steps
//! run and those that these run in turn, and the configuration of test runners and linters (`set`, as data). Both sides
//! are read, the default branch's and the head's: what a changed workflow uses counts as well.
//!
//! Symbolic links are followed inside the tree, and each link on the way is in the set. Where one leads out of the tree
//! or nowhere, nothing is known of what would be run, and the answer is that.

mod follow;
mod imports;
mod parts;
pub mod set;
#[cfg(test)]
mod tests;
mod words;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::LazyLock;

use globset::{GlobMatcher, GlobSet};

use super::actions::workflow;
use super::{Delta, Mode, Reader, RepoPath, Result};
use crate::ids::{BlobId, CommitId};
use crate::policy;
use follow::ends_in;
use set::{CONFIGURATION, PARTS, SHELL};

/// A file of the set that is not as on the default branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// Its content at the head; none when it is gone.
    pub blob: Option<BlobId>,
    pub what: &'static str,
    /// Whether the change did that; otherwise the default branch moved on.
    pub touched: bool,
}

/// The commits that are compared.
#[derive(Clone, Copy)]
pub struct Sides<'a> {
    /// The default branch's tip.
    pub tip: &'a CommitId,
    /// Where the change began.
    pub base: &'a CommitId,
    pub head: &'a CommitId,
}

/// The files of the set that differ, by their shown path; or why that can't be known.
pub type Drift = std::result::Result<BTreeMap<String, Changed>, String>;

const WORKFLOW: &str = "the workflow";
const USED: &str = "an action or workflow that it uses";
const SCRIPT: &str = "a script that it runs";
const LINK: &str = "a link on the way to what it runs";
const NAMED: &str = "configuration that it names";
const BY_POLICY: &str = "named in the policy's `freeze.meaning`";

/// More files than any workflow runs.
const MOST_FILES: usize = 1000;
/// How far scripts are followed from the workflow: what it runs, what that runs, and what that runs.
const DEPTH: usize = 3;
/// A script larger than this is compared, not read.
const LONGEST_SCRIPT: usize = 512 * 1024;
const MOST_LINKS: usize = 20;

static GROUPS: LazyLock<Vec<(GlobSet, &'static str)>> = LazyLock::new(|| {
    let group = |group: &set::Group| policy::globs(group.files).ok().map(|globs| (globs, group.what));
    CONFIGURATION.iter().filter_map(group).collect()
});

/// What kind of configuration a path is by its name, wherever it stands.
pub fn configuration(path: &RepoPath) -> Option<&'static str> {
    GROUPS.iter().find(|(globs, _)| path.matches(globs)).map(|(_, what)| *what)
}

/// What of the set differs between the default branch's tip and the head. `different` is their diff, `named` the
/// policy's own globs, `touched` the paths that the change touches. Configuration counts only where the change touches
/// it; what is run counts as it stands on the default branch.
pub fn drift(
    reader: &dyn Reader,
    workflow: &str,
    named: Option<&GlobSet>,
    sides: Sides<'_>,
    different: &[Delta],
    touched: &BTreeSet<RepoPath>,
) -> Result<Drift> {
    let mut gather = Gather::new(reader, sides);
    gather.uses(workflow)?;
    if let Some(why) = gather.unknown {
        return Ok(Err(why));
    }
    let mut files = BTreeMap::new();
    for delta in different {
        let touched = touched.contains(&delta.path);
        let what = match gather.runs(delta)? {
            Some(what) => Some(what),
            None if named.is_none_or(|globs| delta.path.matches(globs)) => Some(BY_POLICY),
            None if touched => gather.configures(delta)?,
            None => None,
        };
        if let Some(what) = what {
            let blob = delta.new.as_ref().map(|(_, blob)| blob.clone());
            files.insert(delta.path.to_string(), Changed { blob, what, touched });
        }
    }
    Ok(Ok(files))
}

/// What stands at a path, links followed.
enum Place {
    Nothing,
    File(String),
    Folder(String),
    /// It is not in this tree; why.
    Unknown(String),
}

struct Gather<'a> {
    reader: &'a dyn Reader,
    sides: [&'a CommitId; 2],
    base: &'a CommitId,
    /// Files and folders that are in the set as a whole.
    roots: BTreeMap<RepoPath, &'static str>,
    globs: Vec<(GlobMatcher, &'static str)>,
    /// Configuration that a step names.
    configured: BTreeSet<RepoPath>,
    /// Scripts whose names are only known when they run, as far as they are known.
    patterns: Vec<GlobMatcher>,
    /// Programs that decide whether a part of a manifest is in the set.
    programs: BTreeSet<&'static str>,
    read: BTreeSet<(String, usize)>,
    unknown: Option<String>,
}

impl<'a> Gather<'a> {
    fn new(reader: &'a dyn Reader, sides: Sides<'a>) -> Self {
        Self {
            reader,
            sides: [sides.tip, sides.head],
            base: sides.base,
            roots: BTreeMap::new(),
            globs: Vec::new(),
            configured: BTreeSet::new(),
            patterns: Vec::new(),
            programs: BTreeSet::new(),
            read: BTreeSet::new(),
            unknown: None,
        }
    }

    fn not_known(&mut self, why: String) {
        self.unknown.get_or_insert(why);
    }

    fn add(&mut self, path: &str, what: &'static str) {
        if self.roots.len() >= MOST_FILES {
            self.not_known(format!("it runs more than {MOST_FILES} files"));
        } else {
            self.roots.entry(RepoPath::from(path)).or_insert(what);
        }
    }

    /// What a differing path is, if the workflow runs it.
    fn runs(&self, delta: &Delta) -> Result<Option<&'static str>> {
        let path = &delta.path;
        if let Some((_, what)) = self.roots.iter().find(|(root, _)| path.is_under(root)) {
            return Ok(Some(what));
        }
        let text = String::from_utf8_lossy(path.as_bytes());
        if let Some((_, what)) = self.globs.iter().find(|(glob, _)| glob.is_match(text.as_ref())) {
            return Ok(Some(what));
        }
        let named = self.patterns.iter().any(|pattern| pattern.is_match(text.as_ref()));
        Ok((named && self.is_script(delta)?).then_some(SCRIPT))
    }

    /// What a differing path is, if it is configuration.
    fn configures(&self, delta: &Delta) -> Result<Option<&'static str>> {
        if let Some(what) = configuration(&delta.path) {
            return Ok(Some(what));
        }
        if self.configured.contains(&delta.path) {
            return Ok(Some(NAMED));
        }
        let text = String::from_utf8_lossy(delta.path.as_bytes());
        let name = text.rsplit('/').next().unwrap_or_default();
        for part in PARTS.iter().filter(|part| part.file == name) {
            let asked = part.after.is_empty() || part.after.iter().any(|program| self.programs.contains(program));
            if asked && self.part_differs(delta, part)? {
                return Ok(Some(part.what));
            }
        }
        Ok(None)
    }

    fn part_differs(&self, delta: &Delta, part: &set::Part) -> Result<bool> {
        let read = |at: &CommitId| -> Result<Option<BTreeMap<String, String>>> {
            // A file that is not there says nothing, and neither does one without these members.
            if self.reader.mode(at, &delta.path)?.is_none() {
                return Ok(Some(BTreeMap::new()));
            }
            let bytes = self.bytes(at, &delta.path)?;
            Ok(bytes.and_then(|bytes| parts::parts(part.file, part.members, &bytes)))
        };
        let there = |at: &CommitId| self.reader.mode(at, &delta.path).map(|mode| mode.is_some());
        if !part.added && !there(self.sides[0])? && !there(self.base)? {
            return Ok(false);
        }
        let head = read(self.sides[1])?;
        // What can't be read may say anything.
        Ok(head.is_none() || (head != read(self.sides[0])? && head != read(self.base)?))
    }

    fn is_script(&self, delta: &Delta) -> Result<bool> {
        for (at, side) in self.sides.into_iter().zip([&delta.old, &delta.new]) {
            if let Some((mode, _)) = side
                && self.runs_by_itself(at, &String::from_utf8_lossy(delta.path.as_bytes()), *mode)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The content of a plain file of bounded size.
    fn bytes(&self, at: &CommitId, path: &RepoPath) -> Result<Option<Vec<u8>>> {
        match self.reader.blob(at, path) {
            Ok(blob) => Ok(blob.filter(|blob| blob.mode.is_file()).map(|blob| blob.bytes)),
            Err(super::Error::TooLarge { .. } | super::Error::NotAFile(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A file that is there to be run: by its name, its mode or its first line.
    fn runs_by_itself(&self, at: &CommitId, path: &str, mode: Mode) -> Result<bool> {
        if ends_in(path, SHELL) || mode == Mode::EXECUTABLE || mode.is_symlink() {
            return Ok(true);
        }
        Ok(self.bytes(at, &RepoPath::from(path))?.is_some_and(|bytes| bytes.starts_with(b"#!")))
    }

    /// Follows a path inside the tree. Every link on the way is added to the set.
    fn place(&mut self, at: &CommitId, path: &str) -> Result<Place> {
        let mut rest: VecDeque<String> = path.split('/').map(str::to_owned).collect();
        let mut here: Vec<String> = Vec::new();
        let mut links = 0;
        let gone = |links: usize, path: &str| match links {
            0 => Place::Nothing,
            _ => Place::Unknown(format!("`{path}` goes through a link that leads nowhere in the repository")),
        };
        while let Some(part) = rest.pop_front() {
            match part.as_str() {
                "" | "." => continue,
                ".." if here.pop().is_none() => return Ok(gone(links, path)),
                ".." => continue,
                _ => here.push(part),
            }
            let so_far = here.join("/");
            match self.reader.mode(at, &RepoPath::from(so_far.as_str()))? {
                None => return Ok(gone(links, path)),
                Some(mode) if mode.is_tree() => {}
                Some(mode) if mode.is_symlink() => {
                    links += 1;
                    self.add(&so_far, LINK);
                    let blob = self.reader.blob(at, &RepoPath::from(so_far.as_str()))?;
                    let target = blob.and_then(|blob| String::from_utf8(blob.bytes).ok()).unwrap_or_default();
                    if links > MOST_LINKS || target.is_empty() || target.starts_with('/') {
                        return Ok(Place::Unknown(format!("`{so_far}` is a link that leads out of the repository")));
                    }
                    here.pop();
                    for part in target.split('/').rev() {
                        rest.push_front(part.to_owned());
                    }
                }
                // Behind a submodule's commit is content that can't change without it.
                Some(mode) if mode.is_submodule() => return Ok(Place::File(so_far)),
                Some(_) if rest.iter().all(|part| part.is_empty() || part == ".") => return Ok(Place::File(so_far)),
                Some(_) => return Ok(gone(links, path)),
            }
        }
        Ok(Place::Folder(here.join("/")))
    }

    /// A workflow's file and the local actions and workflows that it uses, to any depth.
    fn uses(&mut self, first: &str) -> Result<()> {
        let mut open = vec![(first.to_owned(), WORKFLOW)];
        let mut seen = BTreeSet::new();
        while let Some((path, what)) = open.pop() {
            let Some(path) = inside(&path) else {
                self.not_known(format!("`{path}` is not in the repository"));
                continue;
            };
            if !seen.insert(path.clone()) || self.unknown.is_some() {
                continue;
            }
            self.add(&path, what);
            for at in self.sides {
                let (files, folder) = match self.place(at, &path)? {
                    Place::Nothing => continue,
                    Place::Unknown(why) => {
                        self.not_known(why);
                        continue;
                    }
                    Place::File(file) => (vec![file], None),
                    Place::Folder(folder) => {
                        let files = ["action.yml", "action.yaml"].map(|name| join(&folder, name));
                        (files.to_vec(), Some(folder))
                    }
                };
                if let Some(folder) = &folder {
                    self.add(folder, USED);
                    self.links_below(at, folder)?;
                }
                for file in files {
                    let Place::File(file) = self.place(at, &file)? else { continue };
                    self.add(&file, what);
                    let Some(bytes) = self.bytes(at, &RepoPath::from(file.as_str()))? else { continue };
                    match workflow(&bytes) {
                        Ok(read) => {
                            open.extend(read.uses.iter().map(|used| (used.replace('\\', "/"), USED)));
                            self.texts(&read.texts, &read.folders, folder.as_deref().unwrap_or_default())?;
                        }
                        Err(error) => self.not_known(format!("`{file}`: {error}")),
                    }
                }
            }
        }
        Ok(())
    }

    /// What the links inside an action's folder lead to.
    fn links_below(&mut self, at: &CommitId, folder: &str) -> Result<()> {
        let below = self.reader.tree(at, super::Filter::Under(&RepoPath::from(folder)))?;
        for entry in below.into_iter().filter(|entry| entry.mode.is_symlink()) {
            let path = String::from_utf8_lossy(entry.path.as_bytes()).into_owned();
            match self.place(at, &path)? {
                Place::File(to) | Place::Folder(to) => self.add(&to, USED),
                Place::Nothing => {}
                Place::Unknown(why) => self.not_known(why),
            }
        }
        Ok(())
    }
}

/// A path from the root without dots, unless it leads out.
fn inside(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match part {
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// A folder as it is written, without what changes nothing.
fn clean(folder: &str) -> String {
    let parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    parts.join("/")
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
