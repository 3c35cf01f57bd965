//! The papers of what was delivered, read after the merge.

use crate::gate::Finding;
use crate::gate::deploy::{self, Delivered};
use crate::ids::CommitId;
use crate::policy::Policy;
use crate::repo::{Mirror, Want};

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
