//! The papers of what is delivered.

use crate::flow::Phase;
use crate::gate::Finding;
use crate::gate::deploy::{self, Delivered};
use crate::ids::CommitId;
use crate::policy::{Deploy, Policy};
use crate::repo::{LocalRepo, Mirror, Want};

/// What they lack at the head, where the policy wants the deployment before the merge.
pub(super) fn before_merge(
    reader: &LocalRepo,
    policy: &Policy,
    head: &CommitId,
) -> crate::repo::Result<Option<(Phase, Vec<Finding>)>> {
    if policy.deploy != Deploy::BeforeMerge {
        return Ok(None);
    }
    Ok(Some((Phase::Deploy, deploy::judge(&Delivered::read(reader, head, head)?, policy))))
}

/// What the papers of what was delivered lack: on the branch that it was merged into, as that is now. None where they can't be
/// read.
pub(super) async fn delivered(
    mirror: &Mirror,
    policy: &Policy,
    at: &CommitId,
    merged: &CommitId,
) -> anyhow::Result<Option<Vec<Finding>>> {
    match mirror.fetch(&[Want::Commit(at.clone()), Want::Commit(merged.clone())]).await {
        Err(crate::repo::Error::Missing(_)) => return Ok(None),
        fetched => drop(fetched?),
    }
    let (at, merged, policy) = (at.clone(), merged.clone(), policy.clone());
    let read = mirror.read(move |reader| Ok(deploy::judge(&Delivered::read(reader, &at, &merged)?, &policy)));
    Ok(Some(read.await?))
}
