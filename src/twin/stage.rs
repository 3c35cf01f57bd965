//! What visitors of a repository's pages may do there, for demos.

/// Whom visitors may act as from a repository's pages, and what is laid out for them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stage {
    /// Logins.
    pub cast: Vec<String>,
    /// The path of the workflow whose job they may let end.
    pub workflow: String,
    pub job: String,
    /// Commits that they may push to a pull request.
    pub commits: Vec<Prepared>,
    /// Changes that they may begin: a new branch with one commit, and its pull request.
    pub changes: Vec<Prepared>,
    /// What is worth trying, in Markdown.
    pub tries: Vec<String>,
}

/// A commit that is made ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// What a form calls it.
    pub name: String,
    /// What it is for, in a few words.
    pub about: String,
    /// Its message, and the title of a pull request that begins with it.
    pub message: String,
    /// Each file as it is to be; `None` deletes it.
    pub files: Vec<(String, Option<String>)>,
}
