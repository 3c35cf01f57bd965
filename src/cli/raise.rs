//! Who builds says something of their own change by an empty commit on its branch: that they stop, or that the build is not
//! honest.
//!
//! The commit is made beside the index and the working tree: neither is read or touched. Its trailer is what the bot looks for.
//! All that follows from it is that the change is held back, so nothing but the branch is asked of whoever makes it.

use git2::{ErrorCode, Repository, RepositoryState};
use schemars::JsonSchema;
use serde::Serialize;

use super::status::{self, Place};
use super::{explain, next, out};
use crate::ids::CommitId;
use crate::ledger::unsigned::ADVISORY;
use crate::repo::LocalRepo;

/// How long a reason is, in characters.
const SHORTEST: usize = 3;
const LONGEST: usize = 1_000;
/// So much of it is in the commit's subject.
pub(super) const SUBJECT: usize = 60;

/// What stands against a commit, and what to do about it.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) says: String,
    pub(super) next: String,
}

impl Refused {
    fn new(says: impl Into<String>, next: impl Into<String>) -> Self {
        Self { says: says.into(), next: next.into() }
    }
}

/// What is said by the commit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    /// What the commit's subject begins with.
    pub(super) word: &'static str,
    pub(super) trailer: &'static str,
    /// What the reason is to say.
    pub(super) ask: &'static str,
    /// Where it has to be done.
    pub(super) place: &'static str,
    /// The command that says the same on the pull request.
    pub(super) command: &'static str,
    /// What comes of it once a change is merged.
    pub(super) merged: &'static str,
    pub(super) schema: &'static str,
    pub(super) next: &'static str,
}

/// The commit that was made.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Raised {
    schema: &'static str,
    pub(super) commit: String,
    pub(super) branch: String,
    message: String,
    pub(super) next: &'static str,
}

/// The commit's message: a subject for people, and the trailer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Message(pub(super) String);

impl Message {
    /// `before` stands before the reason, in the trailer alone.
    pub(super) fn of(kind: Kind, before: &str, reason: &str) -> Result<Self, Refused> {
        let again = || format!("{}, and try again.", kind.ask);
        let words: Vec<&str> = reason.split_whitespace().collect();
        let reason = words.join(" ");
        let length = reason.chars().count();
        if !(SHORTEST..=LONGEST).contains(&length) {
            let s = if length == 1 { "" } else { "s" };
            let says = format!("The reason has {length} character{s}, and {SHORTEST} to {LONGEST} are taken.");
            return Err(Refused::new(says, again()));
        }
        if !reason.chars().any(char::is_alphanumeric) {
            return Err(Refused::new("The reason has no word in it.", again()));
        }
        if out::plain(&reason) != reason {
            return Err(Refused::new(
                "The reason has control characters, or marks that turn the reading direction.",
                "Leave them out, and try again.",
            ));
        }
        let subject: String = reason.chars().take(SUBJECT).collect();
        let Kind { word, trailer, .. } = kind;
        Ok(Self(format!("{word}: {}\n\n{trailer}: {before}{reason}\n", subject.trim_end())))
    }
}

/// The branch that the commit is put on.
pub(super) struct Spot {
    kind: Kind,
    repo: Repository,
    pub(super) branch: String,
    pub(super) head: CommitId,
}

impl Spot {
    /// The branch checked out here, where it may be put there.
    pub(super) fn find(kind: Kind, place: &Place) -> Result<Self, Refused> {
        let Some(here) = place.here() else {
            return Err(Refused::new(
                format!("With --github there is no working tree, and so no branch to put the {} on.", kind.word),
                format!("{}; or say `{}` on the pull request.", kind.place, kind.command),
            ));
        };
        let repo = Repository::discover(here).map_err(|error| no_tree(kind, here, error.message()))?;
        if repo.is_bare() {
            return Err(no_tree(kind, here, "it is bare"));
        }
        if repo.state() != RepositoryState::Clean {
            return Err(Refused::new(
                format!("A merge, rebase or the like is under way ({:?}).", repo.state()),
                "End it, or call it off; then try again.",
            ));
        }
        let own = "Check out the change's branch, and try again.";
        let detached = || Refused::new("HEAD is detached: no branch is checked out.", own);
        let head = repo.head().map_err(|error| match error.code() {
            ErrorCode::UnbornBranch | ErrorCode::NotFound => {
                Refused::new("The branch checked out has no commit yet.", own)
            }
            _ => broken(error.message()),
        })?;
        if !head.is_branch() {
            return Err(detached());
        }
        let branch = head.shorthand().map_err(|_| detached())?.to_owned();
        let tip = head.peel_to_commit().map_err(|error| broken(error.message()))?.id();
        let id = CommitId::new(tip.to_string()).map_err(|error| broken(&error.to_string()))?;
        drop(head);
        if let Some(what) = kept(&repo, &branch, place) {
            return Err(Refused::new(
                format!("{} is the repository's {what} branch, and no change's.", out::plain(&branch)),
                own,
            ));
        }
        Ok(Self { kind, repo, branch, head: id })
    }

    /// Whether a commit is the tip of the branch, asked of another handle, which remembers nothing.
    fn is_written(&self, commit: git2::Oid) -> bool {
        let branch = format!("refs/heads/{}", self.branch);
        let tip = || Repository::open(self.repo.path())?.find_reference(&branch)?.peel_to_commit().map(|tip| tip.id());
        tip().is_ok_and(|tip| tip == commit)
    }

    /// Puts the commit on top of the branch, with the same content.
    pub(super) fn raise(&self, message: Message) -> Result<Raised, Refused> {
        let Message(message) = message;
        let nobody = |_| {
            Refused::new(
                "git does not know who makes the commit: user.name or user.email is not set.",
                "Set both (`git config user.name …`, `git config user.email …`), and try again.",
            )
        };
        // As git itself does: the environment may name another author than the configuration.
        let author = self.repo.author_from_env().map_err(nobody)?;
        let committer = self.repo.committer_from_env().map_err(nobody)?;
        let made = || {
            // A branch that has moved on since is refused by git.
            let tip = self.repo.find_commit(self.head.as_str().parse()?)?;
            let branch = format!("refs/heads/{}", self.branch);
            self.repo.commit(Some(&branch), &author, &committer, &message, &tip.tree()?, &[&tip])
        };
        let commit = made().map_err(|error: git2::Error| broken(error.message()))?;
        let Kind { command, schema, next, .. } = self.kind;
        // What could not be written is not always told.
        if !self.is_written(commit) {
            return Err(Refused::new(
                "git could not write the commit: the disk may be full, or the repository may not be written.",
                format!("Put that right, and try again; or say `{command}` on the pull request."),
            ));
        }
        Ok(Raised { schema, commit: commit.to_string(), branch: self.branch.clone(), message, next })
    }
}

/// Refuses it on the branch of another change, or of one that is merged. Where the ledger can't be read or does not know the head,
/// nothing is against it: holding back must always be possible.
pub(super) async fn same_change(
    kind: Kind,
    (branch, head): (&str, &CommitId),
    change: Option<u64>,
    place: &Place,
) -> Result<(), Refused> {
    let others = next::with_head(head, place).await.unwrap_or_default();
    let Some(number) = change.or_else(|| others.first().copied()) else { return Ok(()) };
    let known = status::read(number, place).await.ok();
    if let Some((_, report)) = known.as_ref().filter(|(state, _)| state.merged.is_some()) {
        return Err(Refused::new(
            format!("#{} is merged, so {}.", report.change, kind.merged),
            "What is wrong with it is mended in a pull request of its own: raise it there.",
        ));
    }
    let Some(other) = others.first() else { return Ok(()) };
    let own = known.map_or(number, |(_, report)| report.change);
    if others.contains(&own) {
        return Ok(());
    }
    Err(Refused::new(
        format!("The branch {branch} has the head of #{other}, and this server is about #{own}."),
        format!("Check out the branch of #{own}, and try again."),
    ))
}

/// What kind of branch this is, where it is none of a change.
fn kept(repo: &Repository, branch: &str, place: &Place) -> Option<&'static str> {
    let policy = place.here().and_then(|here| explain::policy(&LocalRepo::around(here).ok()?));
    let mut ledgers = status::branches(place);
    if let Some(policy) = policy {
        let own = policy.ledger.branch;
        ledgers.extend([format!("{own}{ADVISORY}"), own]);
    }
    if ledgers.iter().any(|ledger| ledger == branch) {
        return Some("ledger");
    }
    // What a remote calls its default; where none tells, what is usually called so.
    let remotes = repo.references_glob("refs/remotes/*/HEAD").into_iter().flatten().flatten();
    let named: Vec<String> = remotes
        .filter_map(|head| {
            let remote = head.name().ok()?.strip_suffix("HEAD")?.to_owned();
            let target = head.symbolic_target().ok().flatten()?.to_owned();
            Some(target.strip_prefix(&remote)?.to_owned())
        })
        .collect();
    let is_default = match named.is_empty() {
        false => named.iter().any(|named| named == branch),
        true => ["main", "master", "trunk"].contains(&branch),
    };
    is_default.then_some("default")
}

fn no_tree(kind: Kind, here: &std::path::Path, why: &str) -> Refused {
    Refused::new(format!("{} is no working tree of git: {why}.", here.display()), format!("{}.", kind.place))
}

fn broken(why: &str) -> Refused {
    Refused::new(format!("git could not do it: {why}."), "Look at the repository, and try again.")
}
