//! What gives a workflow's run its meaning, and what of it is not as on the default branch.
//!
//! A green of a workflow says something only where the change did not decide itself what was run. In the set are the
//! workflow's file, the local actions and workflows that it uses to any depth, the scripts and task files that its steps
//! run and those that these run in turn, and the configuration of test runners and linters (`set`, as data). Both sides
//! are read, the default branch's and the head's: what a changed workflow uses counts as well.
//!
//! Symbolic links are followed inside the tree, and each link on the way is in the set. Where one leads out of the tree
//! or nowhere, nothing is known of what would be run, and the answer is that. So it is when the look costs more than it
//! may (`budget`): what is read here was written by whoever opened the pull request.

mod budget;
mod cargo;
mod entries;
mod folders;
mod follow;
mod imports;
mod parts;
mod programs;
mod runners;
pub mod set;
#[cfg(test)]
mod tests;
mod values;
mod words;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::rc::Rc;
use std::sync::LazyLock;

use globset::GlobSet;

use super::actions::{Workflow, workflow};
use super::{Delta, Mode, Reader, RepoPath, Result};
use crate::ids::{BlobId, CommitId};
use crate::policy;
use budget::{Budget, Cost, Look, Stop};
use follow::ends_in;
use programs::SHELL;
use set::{CONFIGURATION, PARTS};

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

/// What the policy itself has to say about the set.
#[derive(Clone, Copy)]
pub struct ByPolicy<'a> {
    /// Its globs; none where they can't be read, and then every file is one.
    pub named: Option<&'a GlobSet>,
    /// The commands that `phasegate run` carries out in a job: such a job's own steps do not have them.
    pub commands: &'a [String],
}

/// The files of the set that differ, by their shown path; or why that can't be known.
pub type Drift = std::result::Result<BTreeMap<String, Changed>, String>;

const WORKFLOW: &str = "the workflow";
const USED: &str = "an action or workflow that it uses";
const SCRIPT: &str = "a script that it runs";
const LINK: &str = "a link on the way to what it runs";
const NAMED: &str = "configuration that it names";
const BY_POLICY: &str = "named in the policy's `freeze.meaning`";

/// How far scripts are followed from the workflow: what it runs, what that runs, and what that runs.
const DEPTH: usize = 3;
/// A script larger than this is compared, not read.
const LONGEST_SCRIPT: usize = 512 * 1024;
const MOST_LINKS: usize = 20;
/// No system takes a longer path.
const LONGEST_PATH: usize = 4096;

static GROUPS: LazyLock<Vec<(GlobSet, &'static str)>> = LazyLock::new(|| {
    let group = |group: &set::Group| policy::globs(group.files).ok().map(|globs| (globs, group.what));
    CONFIGURATION.iter().filter_map(group).collect()
});

/// What kind of configuration a path is by its name, wherever it stands.
pub fn configuration(path: &RepoPath) -> Option<&'static str> {
    GROUPS.iter().find(|(globs, _)| path.matches(globs)).map(|(_, what)| *what)
}

/// What of the set differs between the default branch's tip and the head. `different` is their diff, `touched` the paths
/// that the change touches. Configuration counts only where the change touches
/// it; what is run counts as it stands on the default branch. Without a workflow it is what the policy names and runs.
pub fn drift<'w>(
    reader: &dyn Reader,
    workflow: impl Into<Option<&'w str>>,
    by_policy: ByPolicy<'_>,
    sides: Sides<'_>,
    different: &[Delta],
    touched: &BTreeSet<RepoPath>,
) -> Result<Drift> {
    let mut gather = Gather::new(reader, sides);
    match gather.look(workflow.into(), by_policy, different, touched) {
        Ok(files) => Ok(Ok(files)),
        Err(Stop::Unknown(why)) => Ok(Err(why)),
        Err(Stop::Repo(error)) => Err(error),
    }
}

/// What stands at a path, links followed.
#[derive(Clone)]
enum Place {
    Nothing,
    File(String),
    Folder(String),
    /// It is not in this tree; why.
    Unknown(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Side {
    Tip,
    Head,
}

const SIDES: [Side; 2] = [Side::Tip, Side::Head];

struct Gather<'a> {
    reader: &'a dyn Reader,
    commits: Sides<'a>,
    budget: Budget,
    /// Files and folders that are in the set as a whole.
    roots: BTreeMap<RepoPath, &'static str>,
    globs: BTreeMap<String, &'static str>,
    /// Configuration that a step names.
    configured: BTreeSet<RepoPath>,
    /// Scripts whose names are only known when they run, as far as they are known.
    patterns: BTreeSet<String>,
    /// Programs that decide whether a part of a manifest is in the set.
    programs: BTreeSet<&'static str>,
    /// What waits to be read, what ever did, and the contents that were read with the folder and kind of their file.
    open: VecDeque<follow::Open>,
    followed: HashSet<(String, Option<&'static str>)>,
    scanned: HashSet<(BlobId, String, Option<&'static str>)>,
    modes: HashMap<(Side, String), Option<Mode>>,
    places: HashMap<(Side, String), Place>,
    begins_as_script: HashMap<(Side, String), bool>,
    /// Folders that a text is seen from, each such list with a number; and what was looked for there.
    scopes: HashMap<Scope, usize>,
    near: HashMap<(usize, String), Rc<[String]>>,
    named: HashMap<(usize, usize, bool, follow::Kind, String), bool>,
    /// Tables of runners that were gone through, by their scope and level.
    asked: HashSet<(usize, usize, &'static str, &'static [&'static str])>,
    /// The packages of a workspace, by name.
    packages: Option<BTreeMap<String, BTreeSet<String>>>,
    /// The programs that manifests declare, by the manifest.
    entries: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
}

/// Folders that are there, folders that are not, patterns of folders, and the one of the script itself.
type Scope = (Vec<String>, Vec<String>, Vec<String>, Option<String>);

/// What is held against the paths that differ.
struct Nets {
    globs: GlobSet,
    whats: Vec<&'static str>,
    patterns: GlobSet,
}

impl<'a> Gather<'a> {
    fn new(reader: &'a dyn Reader, commits: Sides<'a>) -> Self {
        Self {
            reader,
            commits,
            budget: Budget::default(),
            roots: BTreeMap::new(),
            globs: BTreeMap::new(),
            configured: BTreeSet::new(),
            patterns: BTreeSet::new(),
            programs: BTreeSet::new(),
            open: VecDeque::new(),
            followed: HashSet::new(),
            scanned: HashSet::new(),
            modes: HashMap::new(),
            places: HashMap::new(),
            begins_as_script: HashMap::new(),
            scopes: HashMap::new(),
            near: HashMap::new(),
            named: HashMap::new(),
            asked: HashSet::new(),
            packages: None,
            entries: BTreeMap::new(),
        }
    }

    fn look(
        &mut self,
        workflow: Option<&str>,
        ByPolicy { named, commands }: ByPolicy<'_>,
        different: &[Delta],
        touched: &BTreeSet<RepoPath>,
    ) -> Look<BTreeMap<String, Changed>> {
        if let Some(workflow) = workflow {
            self.uses(workflow)?;
        }
        self.texts(&Workflow::running(commands), "")?;
        self.followed()?;
        let nets = self.nets()?;
        let mut files = BTreeMap::new();
        for delta in different {
            let touched = touched.contains(&delta.path);
            let what = match self.runs(delta, &nets)? {
                Some(what) => Some(what),
                None if named.is_none_or(|globs| delta.path.matches(globs)) => Some(BY_POLICY),
                None if touched => self.configures(delta)?,
                None => None,
            };
            if let Some(what) = what {
                let blob = delta.new.as_ref().map(|(_, blob)| blob.clone());
                files.insert(delta.path.to_string(), Changed { blob, what, touched });
            }
        }
        Ok(files)
    }

    fn at(&self, side: Side) -> &'a CommitId {
        match side {
            Side::Tip => self.commits.tip,
            Side::Head => self.commits.head,
        }
    }

    fn add(&mut self, path: &str, what: &'static str) -> Look<()> {
        let path = RepoPath::from(path);
        if !self.roots.contains_key(&path) {
            self.budget.spend(Cost::Roots, 1)?;
            self.roots.insert(path, what);
        }
        Ok(())
    }

    /// A name with stars in it, for a file of the set.
    fn add_glob(&mut self, glob: String, what: &'static str) -> Look<()> {
        if !self.globs.contains_key(&glob) && policy::is_glob(&glob) {
            self.budget.spend(Cost::Patterns, 1 + glob.len() / 100)?;
            self.globs.insert(glob, what);
        }
        Ok(())
    }

    fn add_pattern(&mut self, pattern: String) -> Look<()> {
        if pattern.len() <= LONGEST_PATH && !self.patterns.contains(&pattern) && policy::is_glob(&pattern) {
            self.budget.spend(Cost::Patterns, 1 + pattern.len() / 100)?;
            self.patterns.insert(pattern);
        }
        Ok(())
    }

    fn nets(&self) -> Look<Nets> {
        let all = |error: globset::Error| Stop::Unknown(format!("its names with stars are too many: {error}"));
        Ok(Nets {
            globs: policy::globs(self.globs.keys()).map_err(all)?,
            whats: self.globs.values().copied().collect(),
            patterns: policy::globs(&self.patterns).map_err(all)?,
        })
    }

    /// What a differing path is, if the workflow runs it.
    fn runs(&mut self, delta: &Delta, nets: &Nets) -> Look<Option<&'static str>> {
        let path = delta.path.as_bytes();
        let folders = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        for end in std::iter::once(0).chain(folders).chain([path.len()]) {
            if let Some(what) = self.roots.get(&RepoPath::new(&path[..end])) {
                return Ok(Some(what));
            }
        }
        let text = String::from_utf8_lossy(path);
        if let Some(first) = nets.globs.matches(text.as_ref()).first() {
            return Ok(nets.whats.get(*first).copied());
        }
        let named = nets.patterns.is_match(text.as_ref());
        Ok((named && self.is_script(delta)?).then_some(SCRIPT))
    }

    /// What a differing path is, if it is configuration.
    fn configures(&mut self, delta: &Delta) -> Look<Option<&'static str>> {
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

    fn part_differs(&mut self, delta: &Delta, part: &set::Part) -> Look<bool> {
        let Sides { tip, base, head } = self.commits;
        let there = |at: &CommitId| self.reader.mode(at, &delta.path).map(|mode| mode.is_some());
        self.budget.spend(Cost::Lookups, 2)?;
        if !part.added && !there(tip)? && !there(base)? {
            return Ok(false);
        }
        let head = self.part(head, delta, part)?;
        // What can't be read may say anything.
        Ok(head.is_none() || (head != self.part(tip, delta, part)? && head != self.part(base, delta, part)?))
    }

    fn part(&mut self, at: &CommitId, delta: &Delta, part: &set::Part) -> Look<Option<BTreeMap<String, String>>> {
        // A file that is not there says nothing, and neither does one without these members.
        self.budget.spend(Cost::Lookups, 1)?;
        if self.reader.mode(at, &delta.path)?.is_none() {
            return Ok(Some(BTreeMap::new()));
        }
        let bytes = self.blob(at, &delta.path)?;
        Ok(bytes.and_then(|(_, bytes)| parts::parts(part.file, part.members, &bytes)))
    }

    fn is_script(&mut self, delta: &Delta) -> Look<bool> {
        for (side, there) in SIDES.into_iter().zip([&delta.old, &delta.new]) {
            if let Some((mode, _)) = there
                && self.runs_by_itself(side, &String::from_utf8_lossy(delta.path.as_bytes()), *mode)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The content of a plain file of bounded size.
    fn blob(&mut self, at: &CommitId, path: &RepoPath) -> Look<Option<(BlobId, Vec<u8>)>> {
        self.budget.spend(Cost::Files, 1)?;
        match self.reader.blob(at, path) {
            Ok(Some(blob)) => {
                self.budget.spend(Cost::Bytes, blob.bytes.len())?;
                Ok(blob.mode.is_file().then_some((blob.id, blob.bytes)))
            }
            Ok(None) | Err(super::Error::TooLarge { .. } | super::Error::NotAFile(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// A file that is there to be run: by its name, its mode or its first line.
    fn runs_by_itself(&mut self, side: Side, path: &str, mode: Mode) -> Look<bool> {
        if ends_in(path, SHELL) || mode == Mode::EXECUTABLE || mode.is_symlink() {
            return Ok(true);
        }
        let key = (side, path.to_owned());
        if let Some(known) = self.begins_as_script.get(&key) {
            return Ok(*known);
        }
        let bytes = self.blob(self.at(side), &RepoPath::from(path))?;
        let begins = bytes.is_some_and(|(_, bytes)| bytes.starts_with(b"#!"));
        self.begins_as_script.insert(key, begins);
        Ok(begins)
    }

    fn mode(&mut self, side: Side, path: &str) -> Look<Option<Mode>> {
        // A long path is as dear as several.
        let cost = 1 + path.len() / 64;
        self.budget.spend(Cost::Names, cost)?;
        let key = (side, path.to_owned());
        if let Some(known) = self.modes.get(&key) {
            return Ok(*known);
        }
        self.budget.spend(Cost::Lookups, cost)?;
        let mode = self.reader.mode(self.at(side), &RepoPath::from(path))?;
        self.modes.insert(key, mode);
        Ok(mode)
    }

    /// What stands at a path. Asked for again, it is what it was.
    fn place(&mut self, side: Side, path: &str) -> Look<Place> {
        if path.len() > LONGEST_PATH {
            return Ok(Place::Nothing);
        }
        self.budget.spend(Cost::Names, 1 + path.len() / 64)?;
        let key = (side, path.to_owned());
        if let Some(known) = self.places.get(&key) {
            return Ok(known.clone());
        }
        let place = self.walk(side, path)?;
        self.places.insert(key, place.clone());
        Ok(place)
    }

    /// Follows a path inside the tree. Every link on the way is added to the set.
    fn walk(&mut self, side: Side, path: &str) -> Look<Place> {
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
            match self.mode(side, &so_far)? {
                None => return Ok(gone(links, path)),
                Some(mode) if mode.is_tree() => {}
                Some(mode) if mode.is_symlink() => {
                    links += 1;
                    self.add(&so_far, LINK)?;
                    self.budget.spend(Cost::Files, 1)?;
                    let blob = self.reader.blob(self.at(side), &RepoPath::from(so_far.as_str()))?;
                    let target = blob.and_then(|blob| String::from_utf8(blob.bytes).ok()).unwrap_or_default();
                    let long = target.len() > LONGEST_PATH;
                    if links > MOST_LINKS || long || target.is_empty() || target.starts_with('/') {
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
    fn uses(&mut self, first: &str) -> Look<()> {
        let mut open = vec![(first.to_owned(), WORKFLOW)];
        let mut seen = BTreeSet::new();
        let mut read: BTreeSet<(BlobId, Option<String>)> = BTreeSet::new();
        while let Some((path, what)) = open.pop() {
            let Some(path) = inside(&path) else {
                return Err(Stop::Unknown(format!("`{path}` is not in the repository")));
            };
            if !seen.insert(path.clone()) {
                continue;
            }
            self.add(&path, what)?;
            for side in SIDES {
                let (files, folder) = match self.place(side, &path)? {
                    Place::Nothing => continue,
                    Place::Unknown(why) => return Err(Stop::Unknown(why)),
                    Place::File(file) => (vec![file], None),
                    Place::Folder(folder) => {
                        let files = ["action.yml", "action.yaml"].map(|name| join(&folder, name));
                        (files.to_vec(), Some(folder))
                    }
                };
                if let Some(folder) = &folder {
                    self.add(folder, USED)?;
                    self.links_below(side, folder)?;
                }
                for file in files {
                    let Place::File(file) = self.place(side, &file)? else { continue };
                    self.add(&file, what)?;
                    let Some((blob, bytes)) = self.blob(self.at(side), &RepoPath::from(file.as_str()))? else {
                        continue;
                    };
                    // Most often both sides have the same.
                    if !read.insert((blob, folder.clone())) {
                        continue;
                    }
                    let read = workflow(&bytes).map_err(|error| Stop::Unknown(format!("`{file}`: {error}")))?;
                    open.extend(read.uses.iter().map(|used| (used.replace('\\', "/"), USED)));
                    if let Some(folder) = &folder {
                        self.images(&read.images, folder)?;
                    }
                    self.texts(&read, folder.as_deref().unwrap_or_default())?;
                }
            }
        }
        Ok(())
    }

    /// The files that an action in this folder is built from as an image.
    fn images(&mut self, images: &BTreeSet<String>, folder: &str) -> Look<()> {
        for image in images {
            let Some(path) = inside(&join(folder, image)) else {
                return Err(Stop::Unknown(format!("`{image}` is not in the repository")));
            };
            self.add(&path, USED)?;
            for file in self.found(&path)? {
                self.add(&file, USED)?;
                self.follow(&file, None, &follow::From::default());
            }
        }
        Ok(())
    }

    /// What the links inside an action's folder lead to.
    fn links_below(&mut self, side: Side, folder: &str) -> Look<()> {
        let below = self.reader.tree(self.at(side), super::Filter::Under(&RepoPath::from(folder)))?;
        self.budget.spend(Cost::Entries, below.len())?;
        for entry in below.into_iter().filter(|entry| entry.mode.is_symlink()) {
            let path = String::from_utf8_lossy(entry.path.as_bytes()).into_owned();
            match self.place(side, &path)? {
                Place::File(to) | Place::Folder(to) => self.add(&to, USED)?,
                Place::Nothing => {}
                Place::Unknown(why) => return Err(Stop::Unknown(why)),
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
