//! What is to be frozen, read out of a repository.
//!
//! Scripts that a workflow runs are not in it: they are held against the default branch at every look ([`crate::repo::meaning`]),
//! which is tighter than any freeze.

use super::manifest::{Frozen, Manifest};
use super::set::{self, Added};
use super::tripwire::Scene;
use crate::ids::{BlobId, CommitId};
use crate::policy::Policy;
use crate::repo::{Entry, Filter, Mode, Reader, RepoPath, Result, touched};

impl Scene {
    /// Reads a head. `base` is where the change began; without one, everything is its own.
    pub fn read(reader: &dyn Reader, base: Option<&CommitId>, head: &CommitId) -> Result<Self> {
        let entries = reader.tree(head, Filter::All)?;
        let touched = match base {
            Some(base) => touched(&reader.diff(base, head)?),
            None => entries.iter().map(|entry| entry.path.clone()).collect(),
        };
        let files = entries.into_iter().map(|Entry { path, mode, blob }| (path, (mode, blob))).collect();
        Ok(Self { files, touched, ..Self::default() })
    }

    /// What of it would be frozen by this policy, with the tests inside of source files as far as they were looked at.
    pub fn manifest(&self, policy: &Policy) -> Manifest {
        let added = Added::by(policy);
        let frozen = |(path, (mode, blob)): (&RepoPath, &(Mode, BlobId))| {
            let kind = set::kind(path, &added)?;
            let ours = self.touched.contains(path);
            Some((path.clone(), Frozen { kind, mode: *mode, blob: blob.clone(), ours }))
        };
        let mut files = self.files.iter().filter_map(frozen).collect();
        let inside = Some(self.freeze_inside(&mut files));
        Manifest { files, inside }
    }
}

#[cfg(test)]
mod tests;
