//! A repository that borrows the objects of another, with one commit laid out.

use std::path::Path;
use std::time::Duration;

use super::program::git;
use super::{Error, Result};
use crate::ids::CommitId;

/// Makes one in a folder that is not there yet. `from` is the git folder that has the objects: its history is there too, as far as
/// it goes, and none of its branches, remotes and settings.
pub async fn borrowed(folder: &Path, from: &Path, commit: &CommitId, limit: Duration) -> Result<()> {
    let repo = git2::Repository::init(folder)?;
    let own = repo.path().to_owned();
    drop(repo);
    let objects = from.join("objects");
    let objects = objects.to_str().filter(|path| !path.contains('\n'));
    let objects =
        objects.ok_or_else(|| Error::Fetch("the path of the repository is not one line of text".to_owned()))?;
    let cant = Error::io("can't set up the copy");
    std::fs::write(own.join("objects/info/alternates"), format!("{objects}\n")).map_err(cant)?;
    let shallow = from.join("shallow");
    if shallow.is_file() {
        std::fs::copy(shallow, own.join("shallow")).map_err(Error::io("can't set up the copy"))?;
    }
    let tree = folder.to_str().ok_or_else(|| Error::Fetch("the path of the copy is not text".to_owned()))?;
    let args = ["--work-tree", tree, "checkout", "--quiet", "--force", "--detach", commit.as_str()];
    git(&own, &args.map(str::to_owned), None, limit).await
}
