//! What was frozen of a change, read from its ledger and held against its head.

use std::sync::Arc;

use super::pass::Pass;
use super::route::Halt;
use crate::guard::tripwire::Accepted;
use crate::guard::{Guard, Held, Manifest, Present, Scene, hold};
use crate::ids::{CommitId, Digest};
use crate::ledger::State;
use crate::policy::Policy;
use crate::repo::LocalRepo;
use crate::surface::sync::Memory as _;

fn frozen_key(manifest: &Digest) -> String {
    format!("frozen:{manifest}")
}

/// A manifest that the change's records name, and its text, where that is still there.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) manifest: Digest,
    pub(super) text: Option<String>,
}

/// What would be frozen at a head, and what became of what was frozen last.
pub(super) fn guard(
    reader: &LocalRepo,
    policy: &Policy,
    (base, head): (&CommitId, &CommitId),
    frozen: Option<&Kept>,
    accepted: &Accepted,
) -> crate::repo::Result<Guard> {
    let scene = Scene::read(reader, Some(base), head)?;
    let manifest = scene.manifest(policy);
    let seal = |manifest: &Manifest| manifest.seal().map(Arc::new);
    let present = seal(&manifest.without_locks()).and_then(|claimed| Ok(Present { claimed, built: seal(&manifest)? }));
    let held = frozen.map(|Kept { manifest, text }| {
        let text = text.as_ref().ok_or_else(|| "its manifest is not on the ledger".to_owned());
        let found = text.and_then(|text| Manifest::open(text, manifest)).map(|frozen| hold(&frozen, &scene, accepted));
        Held { manifest: manifest.clone(), found }
    });
    Ok(Guard { present, held })
}

impl Pass<'_> {
    /// The manifest of what is frozen. It is named by its digest, so one that was read once is not asked for again.
    pub(super) async fn frozen(&self, state: Option<&State>) -> Result<Option<Kept>, Halt> {
        let frozen = state.filter(|state| state.pipeline.is_some()).and_then(|state| state.frozen.as_ref());
        let Some(frozen) = frozen else { return Ok(None) };
        let (key, manifest) = (frozen_key(&frozen.manifest), frozen.manifest.clone());
        let known = self.memory.recall(&key).await.filter(|text| Digest::of(text) == manifest);
        if known.is_some() {
            return Ok(Some(Kept { manifest, text: known }));
        }
        let text = self.ledger.manifest(frozen.of, &manifest).await?;
        if let Some(text) = text.as_ref().filter(|text| Digest::of(text) == manifest) {
            self.memory.keep(&key, text).await;
        }
        Ok(Some(Kept { manifest, text }))
    }
}
