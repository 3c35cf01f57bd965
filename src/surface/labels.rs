//! Our labels: which of them a change has, and that they look as they are to.
//!
//! GitHub makes a label that it does not know when one is put on, grey and without a description, and tells with every
//! issue how its labels look. So one that was deleted since we made it is known by that, and nothing is asked for it.

use std::collections::BTreeMap;

use super::project::{Label, Surface};
use super::sync::{Memory, Present};
use crate::github::calls::issues::{self, same_label};
use crate::github::{Repo, Result};

/// What is listed may be older than our last write, so what we put there last counts too: it goes though it is not listed,
/// and another comes though it is.
pub(super) async fn write(surface: &Surface, present: &Present<'_>) -> Result<()> {
    let wanted = surface.label.as_ref();
    let is_wanted = |name: &str| wanted.is_some_and(|label| same_label(&label.name, name));
    let put_key = format!("labelled:{}", present.pull);
    let put = present.memory.recall(&put_key).await.filter(|put| !put.is_empty());
    let is_ours = |label: &&issues::Label| surface.our_labels.iter().any(|ours| same_label(ours, &label.name));
    let listed = present.labels.iter().filter(is_ours).map(|label| label.name.as_str());
    let there: BTreeMap<String, &str> =
        put.as_deref().into_iter().chain(listed).map(|name| (name.to_lowercase(), name)).collect();
    for label in there.into_values().filter(|name| !is_wanted(name)) {
        present.repo.remove_label(present.pull, label).await?;
    }
    let as_put = match (&put, wanted) {
        (Some(put), Some(label)) => same_label(put, &label.name),
        (put, label) => put.is_none() && label.is_none(),
    };
    if let Some(label) = wanted {
        let listed = present.labels.iter().any(|there| same_label(&there.name, &label.name));
        if listed && (put.is_none() || as_put) {
            mend(label, present.labels, present.repo).await?;
        } else {
            ensure(label, present.repo, present.memory).await?;
            mend(label, &present.repo.add_labels(present.pull, &[&label.name]).await?, present.repo).await?;
        }
    }
    if !as_put {
        present.memory.keep(&put_key, wanted.map_or("", |label| &label.name)).await;
    }
    Ok(())
}

/// Makes the repository have the label, where we have not yet.
pub(super) async fn ensure(label: &Label, repo: &Repo, memory: &dyn Memory) -> Result<()> {
    let key = format!("label:{}", label.name);
    let made = format!("{} {}", label.color, label.description);
    if memory.recall(&key).await.as_ref() != Some(&made) {
        repo.ensure_label(&label.name, label.color, label.description).await?;
        memory.keep(&key, &made).await;
    }
    Ok(())
}

/// Makes one look as it is to that GitHub made, among those of an issue. One that people gave another look keeps it.
pub(super) async fn mend(label: &Label, there: &[issues::Label], repo: &Repo) -> Result<()> {
    if there.iter().any(|one| same_label(&one.name, &label.name) && one.description.is_empty()) {
        repo.ensure_label(&label.name, label.color, label.description).await?;
    }
    Ok(())
}
