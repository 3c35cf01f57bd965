//! The manifest: which content was frozen, path by path.
//!
//! It is canonical JSON (RFC 8785), so that the same files have the same digest everywhere, and says nothing of the commit
//! that it was taken at: two heads with the same proof have one manifest.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::inline::Taken;
use crate::ids::{BlobId, Digest};
use crate::repo::{Mode, RepoPath};

/// More files than this are not frozen, and that is said.
pub const MOST_FILES: usize = 50_000;
/// A manifest's text is no longer than this.
pub const LONGEST: usize = 8 * 1024 * 1024;

const SCHEMA: &str = "phasegate/manifest@2";
/// The form from before tests inside of source files were frozen. It is read, and says nothing of them.
const OLDER: &str = "phasegate/manifest@1";

/// Why a file is frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Test,
    Contract,
    /// It decides what a test run means.
    Meaning,
    /// It pins what a test run loads. Building adds dependencies, so it is frozen only when BUILD has passed.
    Lock,
}

impl Kind {
    /// What such a file is called in a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Contract => "contract",
            Self::Meaning => "file that decides what a test run means",
            Self::Lock => "lock file",
        }
    }
}

/// One frozen file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frozen {
    pub kind: Kind,
    pub mode: Mode,
    pub blob: BlobId,
    /// The change had touched it by then. What it never touched may change when the base does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ours: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifest {
    pub files: BTreeMap<RepoPath, Frozen>,
    /// The tests inside of source files that the change had made something of. None: it is not known of any.
    pub inside: Option<BTreeMap<RepoPath, Taken>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    schema: String,
    files: BTreeMap<RepoPath, Frozen>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inside: Option<BTreeMap<RepoPath, Taken>>,
}

/// A manifest as it is kept: its text, and the digest that a record names it by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    pub digest: Digest,
    pub text: Arc<str>,
    pub files: u64,
}

impl Manifest {
    /// The text that is kept, or why there can be none.
    pub fn seal(&self) -> Result<Sealed, String> {
        let count = self.len();
        if count > MOST_FILES {
            return Err(format!("there are {count} files to freeze; more than {MOST_FILES} are not"));
        }
        let schema = if self.inside.is_some() { SCHEMA } else { OLDER }.to_owned();
        let written = Written { schema, files: self.files.clone(), inside: self.inside.clone() };
        let bytes = serde_json_canonicalizer::to_vec(&written).map_err(|error| error.to_string())?;
        if bytes.len() > LONGEST {
            return Err(format!("the manifest has {} bytes; more than {LONGEST} are not kept", bytes.len()));
        }
        let text = String::from_utf8(bytes).map_err(|error| error.to_string())?;
        Ok(Sealed { digest: Digest::of(&text), text: text.into(), files: count as u64 })
    }

    /// A manifest out of its text, in whatever order and spacing that is.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > LONGEST {
            return Err(format!("it has {} bytes; more than {LONGEST} are not read", text.len()));
        }
        let written: Written = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let Written { schema, files, inside } = written;
        match (schema.as_str(), &inside) {
            (SCHEMA, Some(_)) | (OLDER, None) => {}
            (SCHEMA, None) => return Err("missing field `inside`".to_owned()),
            (OLDER, Some(_)) => return Err(format!("unknown field `inside` for the schema {OLDER:?}")),
            _ => return Err(format!("its schema is {schema:?}, neither {SCHEMA:?} nor {OLDER:?}")),
        }
        let manifest = Self { files, inside };
        if manifest.len() > MOST_FILES {
            return Err(format!("it has {} files; more than {MOST_FILES} are not read", manifest.len()));
        }
        Ok(manifest)
    }

    /// The manifest that a record names by this digest, out of what is kept under it.
    pub fn open(text: &str, digest: &Digest) -> Result<Self, String> {
        if Digest::of(text) != *digest {
            return Err("its text is not the one that was recorded".to_owned());
        }
        Self::parse(text)
    }

    /// Without lock files: building adds dependencies.
    #[must_use]
    pub fn without_locks(&self) -> Self {
        let kept = self.files.iter().filter(|(_, frozen)| frozen.kind != Kind::Lock);
        let files = kept.map(|(path, frozen)| (path.clone(), frozen.clone())).collect();
        Self { files, inside: self.inside.clone() }
    }

    /// How many files it has something of.
    pub fn len(&self) -> usize {
        self.files.len() + self.within()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many source files it has tests of.
    pub fn within(&self) -> usize {
        self.inside.as_ref().map_or(0, BTreeMap::len)
    }

    /// How many files there are of a kind.
    pub fn count(&self, kind: Kind) -> usize {
        self.files.values().filter(|frozen| frozen.kind == kind).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frozen(kind: Kind, blob: char) -> Frozen {
        Frozen { kind, mode: Mode::FILE, blob: BlobId::new(blob.to_string().repeat(40)).unwrap(), ours: false }
    }

    fn manifest() -> Manifest {
        let files = [
            ("tests/b.rs", frozen(Kind::Test, 'b')),
            ("tests/a.rs", Frozen { ours: true, ..frozen(Kind::Test, 'a') }),
            ("Cargo.lock", frozen(Kind::Lock, 'c')),
        ];
        let files = files.map(|(path, frozen)| (RepoPath::from(path), frozen)).into_iter().collect();
        Manifest { files, inside: None }
    }

    #[test]
    fn the_same_files_have_the_same_text_and_it_comes_back() {
        let sealed = manifest().seal().unwrap();
        let a = format!(r#""tests/a.rs":{{"blob":"{}","kind":"test","mode":"100644","ours":true}}"#, "a".repeat(40));
        assert!(sealed.text.starts_with(r#"{"files":{"Cargo.lock":"#) && sealed.text.contains(&a), "{}", sealed.text);
        assert_eq!((sealed.files, &sealed.digest), (3, &manifest().seal().unwrap().digest));
        assert_eq!(Manifest::open(&sealed.text, &sealed.digest).unwrap(), manifest());
        // A path that is no text comes back too.
        let odd = BTreeMap::from([(RepoPath::new(b"tests/\xff".as_slice()), frozen(Kind::Test, 'd'))]);
        let odd = Manifest { files: odd, inside: None };
        assert_eq!(Manifest::parse(&odd.seal().unwrap().text).unwrap(), odd);
    }

    #[test]
    fn another_text_is_not_the_recorded_one() {
        let sealed = manifest().seal().unwrap();
        let other = sealed.text.replace(&"a".repeat(40), &"d".repeat(40));
        assert!(Manifest::open(&other, &sealed.digest).unwrap_err().contains("not the one that was recorded"));
        assert!(Manifest::parse(&other).is_ok());
    }

    #[test]
    fn what_is_no_manifest_is_refused() {
        let hex = "a".repeat(40);
        for (text, says) in [
            ("", "EOF"),
            ("{}", "missing field"),
            (r#"{"schema":"phasegate/manifest@3","files":{}}"#, "its schema"),
            (r#"{"schema":"phasegate/manifest@2","files":{}}"#, "missing field `inside`"),
            (r#"{"schema":"phasegate/manifest@1","files":{},"inside":{}}"#, "unknown field `inside`"),
            (r#"{"schema":"phasegate/manifest@2","files":{},"inside":{"a.rs":{}}}"#, "missing field"),
            (
                r#"{"schema":"phasegate/manifest@2","files":{},"inside":{"a.rs":{"reading":1,"more":1}}}"#,
                "unknown field",
            ),
            (r#"{"schema":"phasegate/manifest@1","files":{},"more":1}"#, "unknown field"),
            (r#"{"schema":"phasegate/manifest@1","files":{"a":{"kind":"test","mode":"100644","blob":"x"}}}"#, "x"),
            (
                &format!(
                    r#"{{"schema":"phasegate/manifest@1","files":{{"a":{{"kind":"toast","mode":"100644","blob":"{hex}"}}}}}}"#
                ),
                "toast",
            ),
        ] {
            let error = Manifest::parse(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn it_is_bounded() {
        let many = |count: usize| Manifest {
            files: (0..count)
                .map(|n| (RepoPath::from(format!("tests/{n}").as_str()), frozen(Kind::Test, 'a')))
                .collect(),
            inside: None,
        };
        assert_eq!(many(MOST_FILES).seal().unwrap().files, MOST_FILES as u64);
        assert!(many(MOST_FILES + 1).seal().unwrap_err().contains("50001 files to freeze"));
        assert!(Manifest::parse(&" ".repeat(LONGEST + 1)).unwrap_err().contains("bytes"));
    }

    #[test]
    fn a_claim_freezes_no_lock_file() {
        let claimed = manifest().without_locks();
        assert_eq!((claimed.count(Kind::Lock), claimed.count(Kind::Test)), (0, 2));
        assert_eq!(manifest().count(Kind::Lock), 1);
    }
}
