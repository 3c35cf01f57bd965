//! What can go wrong when talking to GitHub, as callers need to tell it apart.
//!
//! Promises: no error carries a token, a key or a request's body; GitHub's own words are cut to a bounded length.
//! `unclear` is the important bit: the write may have happened, so whoever repeats it looks for its key first.

use jiff::Timestamp;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Not there, or not for us to see: GitHub does not tell the two apart.
    #[error("GitHub knows no such thing, or {} ({route})", by.may_not(*write))]
    NotFound { route: &'static str, by: Speaker, write: bool },
    /// This GitHub has no such thing to ask: an older Enterprise Server, or a stand-in. What it would have told is not
    /// known; that is not the same as "none".
    #[error("this GitHub has no {route}")]
    NoEndpoint { route: &'static str },
    #[error("GitHub forbids it: {message}{} ({route})", needed(.needs.as_deref()))]
    Forbidden {
        route: &'static str,
        message: String,
        /// The permission that it lacks, where GitHub names it: `Issues: write`.
        needs: Option<String>,
    },
    /// The credentials were refused, also after a fresh token.
    #[error("GitHub refused the credentials: {} ({route})", by.to_check())]
    Unauthorized { route: &'static str, by: Speaker },
    /// There is no such installation: it is gone, and does not come back under this id.
    #[error("the App is not installed there any more")]
    NotInstalled,
    /// The installation is there, and has no token until somebody lets it in again.
    #[error("the App is suspended there; unsuspend it on the installation's page")]
    Suspended,
    /// 409: something else got there first.
    #[error("GitHub reports a conflict: {message} ({route})")]
    Conflict { route: &'static str, message: String },
    /// A branch is not where it was expected to be: reload and decide again.
    #[error("the branch has moved")]
    StaleHead,
    #[error("GitHub can't accept it: {message} {errors:?} ({route})")]
    Unprocessable { route: &'static str, message: String, errors: Vec<String> },
    /// Nothing was done. Park the work until then.
    #[error("GitHub's {} rate limit is used up until {until}", if *secondary { "secondary" } else { "primary" })]
    RateLimited { until: Timestamp, secondary: bool },
    #[error("GitHub answered with status {status} ({route})")]
    Server { route: &'static str, status: u16, unclear: bool },
    #[error("GitHub did not answer in time ({route})")]
    Timeout { route: &'static str, unclear: bool },
    #[error("the connection to GitHub failed: {message} ({route})")]
    Transport { route: &'static str, message: String, unclear: bool },
    /// A list that is longer than what is read, or than what GitHub tells. A part of it would be a wrong answer.
    #[error("there are too many to read all of them ({route})")]
    TooMany { route: &'static str },
    /// A file that is larger than what is taken of it.
    #[error("there are more than {most} bytes of it ({route})")]
    TooLarge { route: &'static str, most: usize },
    /// An answer that we can't read, or a request that would not be well-formed.
    #[error("not as expected: {what} ({route})")]
    Malformed { route: &'static str, what: String },
}

/// As what was spoken to GitHub. Who is told to look at an App's key where there is none looks in vain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    App,
    Token,
}

impl Speaker {
    fn to_check(self) -> &'static str {
        match self {
            Self::App => "check the App's id, private key and installation",
            Self::Token => {
                "the token is wrong or has run out. A workflow's own (`github.token`) lives as long as its job: run that again"
            }
        }
    }

    /// To those who may read and not write, GitHub says the same as to those who may not even see it.
    fn may_not(self, write: bool) -> &'static str {
        match (self, write) {
            (Self::App, _) => "the App may not see it",
            (Self::Token, false) => "this token may not see it",
            (Self::Token, true) => {
                "this token may not write it. In a workflow, use its own (`github.token`), and give the job's `permissions:` all \
                 lines that the template has"
            }
        }
    }
}

impl Error {
    /// The same call may succeed later without anyone changing anything.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Server { .. } | Self::Timeout { .. } | Self::Transport { .. })
    }

    /// The same call comes to the same until a person changes something: a permission, a setting, a file.
    pub fn is_for_a_person(&self) -> bool {
        matches!(
            self,
            Self::NotFound { .. } | Self::NoEndpoint { .. } | Self::Forbidden { .. } | Self::Unprocessable { .. }
        )
    }

    /// The write may have happened.
    pub fn is_unclear(&self) -> bool {
        matches!(
            self,
            Self::Server { unclear: true, .. }
                | Self::Timeout { unclear: true, .. }
                | Self::Transport { unclear: true, .. }
        )
    }

    /// GitHub has understood it and does not do it.
    pub(super) fn refuses(&self) -> bool {
        matches!(self, Self::Unprocessable { .. } | Self::Conflict { .. } | Self::NotFound { .. })
    }

    /// The same of a write that is of no consequence by itself.
    pub(super) fn clear(self) -> Self {
        match self {
            Self::Server { route, status, .. } => Self::Server { route, status, unclear: false },
            Self::Timeout { route, .. } => Self::Timeout { route, unclear: false },
            Self::Transport { route, message, .. } => Self::Transport { route, message, unclear: false },
            error => error,
        }
    }

    /// The App has not been given what this takes: the permission, where it is known.
    pub fn lacks_permission(&self) -> Option<Option<&str>> {
        match self {
            Self::Forbidden { message, needs, .. } if is_for_want_of_permission(message) => Some(needs.as_deref()),
            _ => None,
        }
    }

    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }

    pub(super) fn malformed(route: &'static str, what: impl std::fmt::Display) -> Self {
        Self::Malformed { route, what: clip(&what.to_string()) }
    }
}

fn needed(needs: Option<&str>) -> String {
    needs.map(|needs| format!("; it takes the permission {needs}")).unwrap_or_default()
}

/// Whether GitHub says so because the App lacks a permission.
pub(super) fn is_for_want_of_permission(message: &str) -> bool {
    message.starts_with("Resource not accessible by integration")
}

/// Turns "not found" into `None`.
pub(super) fn maybe<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Text from elsewhere, at a length that is fit for a log line.
pub(super) fn clip(text: &str) -> String {
    text.chars().take(500).collect()
}
