//! Which branch the ledger is on, whatever state the policy is in.

use super::memory::Kept;
use super::observe::Read;
use super::pass::ledger_key;
use super::route::Halt;
use crate::gate::Finding;
use crate::gate::world::Law;
use crate::github::Repo;
use crate::ids::RepoRef;
use crate::policy::{self, Policy};
use crate::surface::sync::Memory as _;

/// Under which key the branch of the last valid policy is remembered.
const LAST: &str = "ledger-branch";

/// The branch that the policy names, where it can be read and may be used. Else the one of the last valid policy: a
/// slip in the file must not make every record look lost. A branch that may not be used makes the policy invalid.
pub(super) async fn choose(read: &mut Read, home: &RepoRef, repo: &Repo, memory: &Kept) -> Result<String, Halt> {
    let named = match &read.law {
        Law::Valid(policy) => Some(policy.ledger.branch.clone()),
        Law::Invalid(_) => read.ledger.as_ref().map(|(branch, _)| branch.clone()),
    };
    if let Some(named) = named {
        let Some(why) = refused(&named, home, repo, memory).await? else {
            memory.keep(&ledger_key(&named), "seen").await;
            return Ok(named);
        };
        let finding = Finding::error(
            "MRG-07",
            format!("`ledger.branch`: the ledger can't be on `{named}`: {why}."),
            "Give the ledger a branch of its own, such as `phasegate/ledger`, in the policy on the default branch.",
        );
        let finding = finding.at(policy::PATH, read.ledger.as_ref().map(|(_, line)| *line));
        match &mut read.law {
            Law::Invalid(problems) => problems.insert(0, finding),
            law => *law = Law::Invalid(vec![finding]),
        }
    }
    Ok(last(memory).await.unwrap_or_else(|| Policy::default().ledger.branch))
}

/// The branch of the last policy under which a look could be finished.
pub(super) async fn last(memory: &Kept) -> Option<String> {
    memory.recall(LAST).await
}

pub(super) async fn remember(memory: &Kept, branch: &str) {
    if last(memory).await.as_deref() != Some(branch) {
        memory.keep(LAST, branch).await;
    }
}

/// Why the ledger can't be on a branch. Whether somebody works on it is asked once, before the first record goes there:
/// afterwards a pull request from it can't take the ledger from everyone else.
async fn refused(branch: &str, home: &RepoRef, repo: &Repo, memory: &Kept) -> Result<Option<String>, Halt> {
    if branch == home.default_branch {
        return Ok(Some("it is the default branch".to_owned()));
    }
    if memory.recall(&ledger_key(branch)).await.is_some() {
        return Ok(None);
    }
    let head = format!("{}:{branch}", home.slug.owner());
    let pulls = repo.list_open_pulls(Some(&head)).await?;
    let own = pulls.iter().find(|pull| !pull.is_from_fork() && pull.head.r#ref == branch);
    Ok(own.map(|pull| format!("it is the head of the open pull request #{}", pull.number)))
}
