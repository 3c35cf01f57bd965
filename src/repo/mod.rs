//! Reading a repository at a revision: trees, blobs, diffs, and the identity of a change's content.
//!
//! This room knows git and nothing of phases. Content of a change is read from the object store, never checked out:
//! no filter, attribute, hook or symlink of the change takes effect here. It promises:
//!
//! - **paths are bytes** ([`RepoPath`]): two paths that differ in case, Unicode form or in bytes that are not text
//!   stay two paths;
//! - **a diff has no opinion**: a rename is a deletion and an addition, a mode change is a change, symlinks and
//!   submodules are listed like files;
//! - **hostile objects end in an error**, not in a loop or a full memory: sizes, depth and the number of entries are
//!   bounded, and a tree that git itself would refuse (a name with a slash, a doubled name) is malformed;
//! - **a missing fact is an error, not an answer**: where history is cut (a shallow clone), [`Reader::merge_base`]
//!   and [`Reader::is_ancestor`] say [`Error::Shallow`] unless the answer is certain.
//!
//! [`LocalRepo`] reads a repository on disk. [`Mirror`] keeps one up to date: with the `git` program, or, where a
//! [`Remote`] has nothing for it, object by object.

mod actions;
mod below;
mod borrow;
mod content;
mod local;
pub mod meaning;
mod mirror;
mod owners;
mod path;
mod program;
mod rebuild;
mod remote;
mod take;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod tree;
mod update;

use std::fmt;

use globset::GlobSet;
use serde::{Deserialize, Serialize};

use crate::ids::{BlobId, CommitId};

pub use below::{Below, ReadBelow, Stands};
pub use borrow::{Laid, borrowed, packed};
pub use content::{Written, blob_of, content_digest, same_blobs, touched, without, written_over};
pub use local::{Compared, LocalRepo};
pub use mirror::{Fetched, Mirror, Want};
pub use owners::{OWNERS, Owners};
pub use path::RepoPath;
pub use program::git_runs;
pub use remote::{Access, Hand, Listed, Listing, Page, Remote, Sealed, Told};
pub use take::{LARGEST_TAKEN, TakeError, Taken, advance, branch_of, committed, taken};
pub use update::{Ground, Landed, merged_in};

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0} is not in the repository")]
    Missing(String),
    /// Objects that are named here and are not here. A mirror that was not filled with all of it can get them.
    #[error("{} in the repository", named(.0))]
    Absent(Vec<Absent>),
    /// What an API tells does not have the id that it tells it for.
    #[error("{0} can't be put together from what the API tells of it; it takes git over HTTP to read it")]
    Unproved(String),
    #[error("{what}: more than {most} are not asked for one by one; it takes git over HTTP to read this")]
    TooMuch { what: &'static str, most: usize },
    /// What the API said instead.
    #[error("the repository can't be read through the API")]
    Remote(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("{path} has {size} bytes; at most {cap} are read")]
    TooLarge { path: RepoPath, size: u64, cap: u64 },
    #[error("{0} is a submodule, not a file")]
    NotAFile(RepoPath),
    #[error("the tree has more than {0} entries")]
    TooMany(usize),
    #[error("malformed tree: {0}")]
    Malformed(String),
    #[error("the history is cut before the answer is certain; fetch more of it (in an Action: `fetch-depth: 0`)")]
    Shallow,
    #[error("`info/grafts` in git's folder gives commits other parents than they have; take it away and try again")]
    Grafted,
    #[error("the two were merged into each other crosswise, so what one adds to the other can't be told")]
    Crosswise,
    #[error("not a URL that is fetched from: {0}")]
    Url(String),
    #[error("git failed: {0}")]
    Fetch(String),
    #[error("git did not end within {0} seconds")]
    TimedOut(u64),
    #[error("git: {0}")]
    Git(#[from] git2::Error),
    /// The system's error is in the message and not its source, or it would be told twice.
    #[error("{what}: {error}")]
    Io { what: String, error: std::io::Error },
}

impl Error {
    fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |error| Self::Io { what, error }
    }
}

/// An object that is not here.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Absent {
    Tree(TreeId),
    Blob(BlobId),
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tree(id) => write!(f, "the tree {id}"),
            Self::Blob(id) => write!(f, "the file {id}"),
        }
    }
}

fn named(absent: &[Absent]) -> String {
    match absent {
        [] => "nothing is not".to_owned(),
        [one] => format!("{one} is not"),
        [first, rest @ ..] => format!("{first} and {} more are not", rest.len()),
    }
}

/// The mode of a tree's entry, exactly as the tree has it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Mode(u32);

impl Mode {
    pub const FILE: Mode = Mode(0o100_644);
    pub const EXECUTABLE: Mode = Mode(0o100_755);
    pub const SYMLINK: Mode = Mode(0o120_000);
    pub const SUBMODULE: Mode = Mode(0o160_000);
    pub(crate) const TREE: Mode = Mode(0o040_000);

    pub(crate) fn new(bits: u32) -> Self {
        Self(bits)
    }

    pub fn bits(self) -> u32 {
        self.0
    }

    fn kind(self) -> u32 {
        self.0 & 0o170_000
    }

    /// A regular file, executable or not.
    pub fn is_file(self) -> bool {
        self.kind() == 0o100_000
    }

    pub fn is_symlink(self) -> bool {
        self.kind() == Self::SYMLINK.0
    }

    pub fn is_submodule(self) -> bool {
        self.kind() == Self::SUBMODULE.0
    }

    pub(crate) fn is_tree(self) -> bool {
        self.kind() == Self::TREE.0
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:06o}", self.0)
    }
}

impl fmt::Debug for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl From<Mode> for String {
    fn from(mode: Mode) -> String {
        mode.to_string()
    }
}

impl TryFrom<String> for Mode {
    type Error = String;
    fn try_from(text: String) -> std::result::Result<Self, String> {
        u32::from_str_radix(&text, 8).map(Mode).map_err(|_| format!("{text:?} is not an octal mode"))
    }
}

/// A file's content. Of a symlink, `bytes` is its target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    pub id: BlobId,
    pub mode: Mode,
    pub bytes: Vec<u8>,
}

/// A file, symlink or submodule of a tree. For a submodule, `blob` is the id of its commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub path: RepoPath,
    pub mode: Mode,
    pub blob: BlobId,
}

/// What happened to one path between two trees.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Delta {
    pub path: RepoPath,
    /// `None`: it was not there.
    pub old: Option<(Mode, BlobId)>,
    /// `None`: it is not there any more.
    pub new: Option<(Mode, BlobId)>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TreeId(pub(crate) String);

impl fmt::Display for TreeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who a commit says wrote it. Anyone can write any name here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signed {
    pub name: String,
    pub email: String,
    /// Seconds since 1970.
    pub at: i64,
}

/// A commit. The parents are those that the commit names, also where the history is cut behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitInfo {
    pub message: String,
    pub author: Signed,
    pub committer: Signed,
    pub parents: Vec<CommitId>,
    pub tree: TreeId,
}

/// Which entries of a tree to list.
#[derive(Clone, Copy)]
pub enum Filter<'a> {
    All,
    /// This path, and what is below it.
    Under(&'a RepoPath),
    Globs(&'a GlobSet),
}

/// Reads a repository at a revision.
pub trait Reader: Send + Sync {
    /// The file at a path, without following symlinks; `None` when nothing or a directory is there.
    fn blob(&self, at: &CommitId, path: &RepoPath) -> Result<Option<Blob>>;

    /// What stands at a path: a file, a symlink, a submodule or a directory. The root is a directory.
    fn mode(&self, at: &CommitId, path: &RepoPath) -> Result<Option<Mode>>;

    /// The files, symlinks and submodules that the filter lets through, sorted by the bytes of their paths.
    fn tree(&self, at: &CommitId, filter: Filter<'_>) -> Result<Vec<Entry>>;

    /// The best common ancestor; `None` when there certainly is none. Where there are several, each shows another
    /// difference, and a fix that one side has may be missing in all of them: that is refused ([`Error::Crosswise`]).
    fn merge_base(&self, a: &CommitId, b: &CommitId) -> Result<Option<CommitId>>;

    /// Every path whose mode or content differs, sorted by the bytes of the paths. No rename is detected.
    fn diff(&self, from: &CommitId, to: &CommitId) -> Result<Vec<Delta>>;

    fn commit(&self, id: &CommitId) -> Result<CommitInfo>;

    /// Whether `ancestor` is `descendant` or before it.
    fn is_ancestor(&self, ancestor: &CommitId, descendant: &CommitId) -> Result<bool>;
}
