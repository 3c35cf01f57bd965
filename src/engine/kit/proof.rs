//! The tests of a game's change, and what was frozen of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Game, blob};
use crate::guard::{Frozen, Guard, Held, Kind, Manifest, Present, Scene, hold};
use crate::ledger::{Body, Entry};
use crate::repo::{Mode, RepoPath};

#[derive(Default)]
pub(crate) struct Proof {
    /// What the change's own tests say at the head; a lock file is what its name says.
    files: BTreeMap<String, String>,
    touched: BTreeSet<RepoPath>,
    /// Why nothing can be frozen.
    pub(crate) unreadable: Option<String>,
    /// What another change has recorded.
    pub(crate) theirs: Vec<Entry>,
    /// The manifests on the ledger are gone.
    pub(crate) lost: bool,
}

impl Proof {
    fn scene(&self) -> Scene {
        let files = self.files.iter().map(|(path, text)| (path.as_str().into(), (Mode::FILE, blob(text)))).collect();
        Scene { files, touched: self.touched.clone(), ..Scene::default() }
    }

    fn manifest(&self) -> Manifest {
        let kind = |path: &RepoPath| match path.to_string().as_str() {
            "Cargo.lock" => Kind::Lock,
            "contract.json" => Kind::Contract,
            _ => Kind::Test,
        };
        let frozen = |(path, (mode, blob))| {
            let kind = kind(&path);
            let ours = self.touched.contains(&path);
            (path, Frozen { kind, mode, blob, ours })
        };
        Manifest { files: self.scene().files.into_iter().map(frozen).collect(), inside: None }
    }

    fn present(&self) -> Result<Present, String> {
        if let Some(why) = &self.unreadable {
            return Err(why.clone());
        }
        let manifest = self.manifest();
        Ok(Present { claimed: Arc::new(manifest.without_locks().seal()?), built: Arc::new(manifest.seal()?) })
    }
}

impl Game {
    /// The head has this test, and it says this.
    pub(crate) fn test_says(&mut self, path: &str, text: &str) -> &mut Self {
        self.proof.files.insert(path.to_owned(), text.to_owned());
        self.proof.touched.insert(path.into());
        self
    }

    /// The same, and it is as the base has it.
    pub(crate) fn base_has(&mut self, path: &str, text: &str) -> &mut Self {
        self.test_says(path, text).proof.touched.remove(&path.into());
        self
    }

    pub(crate) fn test_is_gone(&mut self, path: &str) -> &mut Self {
        self.proof.files.remove(path);
        self
    }

    /// Reads the guard as the server does: what is there, and what was frozen held against it.
    pub(super) fn hold(&mut self) {
        let own = self.state.as_ref().and_then(|state| state.frozen.as_ref());
        // What is taken over in this look is read for it.
        let frozen = own.or_else(|| self.world.earlier.iter().find_map(|earlier| earlier.frozen.as_ref()));
        let accepted = self.state.as_ref().map(|state| state.accepted.clone()).unwrap_or_default();
        let held = frozen.map(|frozen| {
            let kept = self.log.iter().chain(&self.proof.theirs).find_map(|entry| match (&entry.body, &entry.file) {
                (Body::Frozen { manifest, .. }, Some(text)) if *manifest == frozen.manifest => Some(text),
                _ => None,
            });
            let text = kept.filter(|_| !self.proof.lost).ok_or("it is not on the ledger");
            let manifest = text.map_err(str::to_owned).and_then(|text| Manifest::open(text, &frozen.manifest));
            let found = manifest.map(|manifest| hold(&manifest, &self.proof.scene(), &accepted));
            Held { manifest: frozen.manifest.clone(), found }
        });
        let guard = Guard { present: self.proof.present(), held };
        if let Some(subject) = &mut self.world.subject {
            subject.guard = guard;
        }
    }

    /// The manifests that were recorded, oldest first, each with why and how many files.
    pub(crate) fn freezes(&self) -> Vec<String> {
        let frozen = self.log.iter().filter_map(|entry| match &entry.body {
            Body::Frozen { files, why, .. } => Some(format!("{why:?} {files}").to_lowercase()),
            _ => None,
        });
        frozen.collect()
    }
}
