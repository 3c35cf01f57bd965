//! What was frozen of a change, read from its ledger and held against its head.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::pass::Pass;
use super::route::Halt;
use crate::gate::world::World;
use crate::guard::tripwire::Accepted;
use crate::guard::{Guard, Held, Manifest, Present, Scene, hold};
use crate::ids::{CommitId, Digest};
use crate::ledger::State;
use crate::ledger::origin::Now;
use crate::ledger::state::Frozen;
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
    let opened = frozen.map(|Kept { manifest, text }| {
        let text = text.as_ref().ok_or_else(|| "its manifest is not on the ledger".to_owned());
        (manifest, text.and_then(|text| Manifest::open(text, manifest)))
    });
    let mut scene = Scene::read(reader, Some(base), head)?;
    let held = opened.as_ref().and_then(|(_, manifest)| manifest.as_ref().ok());
    scene.look_inside(reader, (Some(base), head), policy, held)?;
    let manifest = scene.manifest(policy);
    let seal = |manifest: &Manifest| manifest.seal().map(Arc::new);
    let present = seal(&manifest.without_locks()).and_then(|claimed| Ok(Present { claimed, built: seal(&manifest)? }));
    let held = opened.map(|(manifest, frozen)| {
        let found = frozen.map(|frozen| hold(&frozen, &scene, accepted));
        Held { manifest: manifest.clone(), found }
    });
    Ok(Guard { present, held })
}

impl Pass<'_> {
    /// The manifest of what is frozen, for a change that goes through phases.
    pub(super) async fn frozen(&self, state: Option<&State>) -> Result<Option<Kept>, Halt> {
        let frozen = state
            .filter(|state| state.pipeline.is_some() || state.task.is_some())
            .and_then(|state| state.frozen.as_ref());
        match frozen {
            Some(frozen) => Ok(Some(self.kept(frozen).await?)),
            None => Ok(None),
        }
    }

    /// A manifest is named by its digest, so one that was read once is not asked for again.
    async fn kept(&self, frozen: &Frozen) -> Result<Kept, Halt> {
        let (key, manifest) = (frozen_key(&frozen.manifest), frozen.manifest.clone());
        let known = self.memory.recall(&key).await.filter(|text| Digest::of(text) == manifest);
        if known.is_some() {
            return Ok(Kept { manifest, text: known });
        }
        let text = self.ledger.manifest(frozen.of, &manifest).await?;
        if let Some(text) = text.as_ref().filter(|text| Digest::of(text) == manifest) {
            self.memory.keep(&key, text).await;
        }
        Ok(Kept { manifest, text })
    }

    /// Holds against this head what another change of the same work has frozen and this one takes over in this look.
    pub(super) async fn hold_inherited(&self, world: &mut World, state: Option<&State>) -> Result<(), Halt> {
        let Some(subject) = &world.subject else { return Ok(()) };
        let now = Now {
            base_ref: &world.pull.base_ref,
            head: &world.pull.head,
            patch: subject.patch.as_ref(),
            commits: &subject.commits,
            runs: &BTreeSet::new(),
        };
        let taken = world.earlier.iter().find_map(|earlier| now.freeze(earlier, state));
        let (Some(taken), Some(policy)) = (taken, world.policy()) else { return Ok(()) };
        let (kept, policy) = (self.kept(taken).await?, policy.clone());
        let sides = (subject.about.base.clone(), subject.about.head.clone());
        let guard = self
            .mirror
            .read(move |reader| guard(reader, &policy, (&sides.0, &sides.1), Some(&kept), &Accepted::default()));
        let guard = guard.await.map_err(anyhow::Error::from)?;
        if let Some(subject) = &mut world.subject {
            subject.guard = guard;
        }
        Ok(())
    }
}
