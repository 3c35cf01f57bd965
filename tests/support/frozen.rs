//! A ledger that nobody signs, with one change of which something is frozen.

use std::path::Path;
use std::sync::Arc;

use phasegate::flow::{FlowName, Mode};
use phasegate::ids::{ChangeNumber, CommitId, Digest, Person, RepoId};
use phasegate::ledger::local::LocalStore;
use phasegate::ledger::record::{Froze, Why};
use phasegate::ledger::unsigned::Unsigned;
use phasegate::ledger::{About, Body, By, Entry, Ledger};
use phasegate::policy::Autonomy;

/// Writes it to a branch of a repository: the change is at this head, and the manifest of this text is frozen. Answers its digest.
pub(crate) fn on_ledger(repo: &Path, branch: &str, change: ChangeNumber, head: &str, text: &str) -> Digest {
    let (head, manifest) = (CommitId::new(head).unwrap(), Digest::of(text));
    let about = About { base_ref: "main".to_owned(), base: head.clone(), head, content: Digest::of("content") };
    let author = Person { id: 1, login: "ada".to_owned(), bot: false };
    let (flow, mode, autonomy) = (FlowName::Pipeline, Mode::Auto, Autonomy::Auto);
    let law = Body::Law { policy: Digest::of("policy"), flow, mode, autonomy };
    let subject = Body::Subject {
        why: Why::Opened,
        pushed_by: None,
        present: Default::default(),
        origin: None,
        based_since: None,
        older_reviews: Default::default(),
        older_runs: Default::default(),
    };
    let frozen = Body::Frozen { manifest: manifest.clone(), files: 5, why: Froze::Built };
    let entries = vec![
        Entry::new(By::Bot, None, Body::Opened { author }),
        Entry::new(By::Bot, None, law),
        Entry::new(By::Bot, Some(about.clone()), subject),
        Entry { file: Some(text.into()), ..Entry::new(By::Bot, Some(about), frozen) },
    ];
    let store = Arc::new(LocalStore::new(repo, branch));
    let ledger = Ledger::new(RepoId(7), store, Arc::new(Unsigned), Arc::new(Unsigned));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let loaded = ledger.load(change).await.unwrap();
        let state = ledger.append(loaded, jiff::Timestamp::now(), entries).await.unwrap().state;
        assert_eq!(state.frozen.unwrap().manifest, manifest);
        assert!(ledger.manifest(change, &manifest).await.unwrap().is_some());
    });
    manifest
}
