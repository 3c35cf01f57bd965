//! The names of things, as types.
//!
//! A commit id, a blob id, a digest and a change number are all "some text or a number" on the wire, and swapping two
//! of them is the kind of mistake that only shows when a wrong commit has been approved. So each is a type of its own,
//! checked when it is made, and none converts into another.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// A value that does not have the form its type demands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} must be {wants}, but is {got:?}")]
pub struct Malformed {
    pub what: &'static str,
    pub wants: &'static str,
    pub got: String,
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

macro_rules! hex_id {
    ($(#[$doc:meta])* $name:ident, $what:literal, $wants:literal, $ok:expr) => {
        $(#[$doc])*
        // Shared, because every copy of a state has many.
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes lower-case hexadecimal of the right length, and nothing else.
            pub fn new(text: impl Into<String>) -> Result<Self, Malformed> {
                let text = text.into();
                let ok: fn(usize) -> bool = $ok;
                if ok(text.len()) && is_hex(&text) {
                    Ok(Self(text.into()))
                } else {
                    Err(Malformed { what: $what, wants: $wants, got: text.chars().take(80).collect() })
                }
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The first twelve digits: the shortest prefix that people are ever shown or asked for, because a
            /// shorter one can be forged.
            pub fn short(&self) -> &str {
                &self.0[..12]
            }
        }

        impl TryFrom<String> for $name {
            type Error = Malformed;
            fn try_from(text: String) -> Result<Self, Malformed> {
                Self::new(text)
            }
        }

        impl std::str::FromStr for $name {
            type Err = Malformed;
            fn from_str(text: &str) -> Result<Self, Malformed> {
                Self::new(text)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

hex_id!(
    /// A git commit.
    CommitId, "a commit id", "40 or 64 hexadecimal digits", |n| n == 40 || n == 64
);
hex_id!(
    /// A git blob.
    BlobId, "a blob id", "40 or 64 hexadecimal digits", |n| n == 40 || n == 64
);
hex_id!(
    /// A SHA-256 digest that we computed.
    Digest, "a digest", "64 hexadecimal digits", |n| n == 64
);

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        Self(hex::encode(Sha256::digest(bytes.as_ref())).into())
    }

    /// The digest of what was put into this hash bit by bit.
    pub fn of_hash(hash: Sha256) -> Self {
        Self(hex::encode(hash.finalize()).into())
    }

    /// The digest of a list of parts, each preceded by its length, so that no two lists run together.
    pub fn of_parts<P: AsRef<[u8]>>(parts: impl IntoIterator<Item = P>) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            let part = part.as_ref();
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        Self::of_hash(hash)
    }
}

/// The number of a change: that of the issue or pull request that is its home.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ChangeNumber(pub u64);

impl fmt::Display for ChangeNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// GitHub's numeric id of a repository: it survives renames, which a slug does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RepoId(pub u64);

/// GitHub's numeric id of an App's installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InstallationId(pub u64);

/// A repository's `owner/name`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Slug {
    owner: String,
    name: String,
}

impl Slug {
    pub fn new(owner: &str, name: &str) -> Result<Self, Malformed> {
        let fine = |part: &str| {
            !part.is_empty()
                && part.len() <= 100
                && part != "."
                && part != ".."
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        };
        if fine(owner) && fine(name) {
            Ok(Self { owner: owner.to_owned(), name: name.to_owned() })
        } else {
            Err(Malformed {
                what: "a repository",
                wants: "owner/name of letters, digits, '-', '_' and '.'",
                got: format!("{owner}/{name}").chars().take(80).collect(),
            })
        }
    }

    pub fn owner(&self) -> &str {
        &self.owner
    }

    pub fn name(&self) -> &str {
        &self.name
    }
}

impl std::str::FromStr for Slug {
    type Err = Malformed;
    fn from_str(text: &str) -> Result<Self, Malformed> {
        match text.split_once('/') {
            Some((owner, name)) => Self::new(owner, name),
            None => Self::new(text, ""),
        }
    }
}

impl TryFrom<String> for Slug {
    type Error = Malformed;
    fn try_from(text: String) -> Result<Self, Malformed> {
        text.parse()
    }
}

impl From<Slug> for String {
    fn from(slug: Slug) -> String {
        slug.to_string()
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

/// Where a change lives: enough to talk to GitHub about it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RepoRef {
    pub id: RepoId,
    pub slug: Slug,
    pub installation: InstallationId,
    pub default_branch: String,
}

/// Someone on GitHub. The id is who they are; the login is what they are called today.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Person {
    pub id: u64,
    pub login: String,
    /// An App or another automatic account. Such accounts never approve anything.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bot: bool,
}

impl Person {
    /// Whoever did what nobody told of. No account has this id.
    pub fn unknown() -> Self {
        Self { id: 0, login: "somebody unknown".to_owned(), bot: false }
    }

    pub fn is_unknown(&self) -> bool {
        self.id == 0
    }
}

/// What GitHub says someone may do in the repository, from the least to the most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    #[default]
    None,
    Read,
    Triage,
    Write,
    Maintain,
    Admin,
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Role::None => "none",
            Role::Read => "read",
            Role::Triage => "triage",
            Role::Write => "write",
            Role::Maintain => "maintain",
            Role::Admin => "admin",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_of_the_wrong_form_is_refused_with_what_it_should_be() {
        let err = CommitId::new("abc").unwrap_err();
        assert_eq!(err.to_string(), "a commit id must be 40 or 64 hexadecimal digits, but is \"abc\"");
        assert!(CommitId::new("A".repeat(40)).is_err(), "upper case is another spelling of the same id");
        assert!(BlobId::new("é".repeat(20)).is_err());
        assert!(Digest::new("0".repeat(40)).is_err());
    }

    #[test]
    fn parts_do_not_run_together() {
        assert_ne!(Digest::of_parts(["ab", "c"]), Digest::of_parts(["a", "bc"]));
        assert_ne!(Digest::of_parts(["a"]), Digest::of_parts(["a", ""]));
    }

    #[test]
    fn a_slug_keeps_to_its_form() {
        assert_eq!("o/r".parse::<Slug>().unwrap().to_string(), "o/r");
        for bad in ["", "o", "o/", "/r", "o/r/s", "o/..", "o/r s", "o/r\n"] {
            assert!(bad.parse::<Slug>().is_err(), "{bad:?}");
        }
    }
}
