//! Other changes of the same work: which there are, and what their records say.

use std::collections::BTreeSet;

use super::{Ledger, LedgerError};
use crate::ids::{ChangeNumber, Digest};
use crate::ledger::chain::{self, Break};
use crate::ledger::store::{Store, StoreError};
use crate::ledger::{State, folder, origin};

/// So many others are read for one change. It may be made of a thousand commits that count, each the head of another.
const MOST_RELATED: usize = 1_500;
/// The names in so many folders are asked for at once.
const FOLDERS_AT_ONCE: usize = 100;
/// The records of so many changes are asked for at once.
const CHANGES_AT_ONCE: usize = 20;

/// What the ledger has of other changes.
#[derive(Debug, Default)]
pub struct Related {
    /// What the records of each say, the newest first. `None`: it is named, and there are none.
    pub read: Vec<(ChangeNumber, Result<Option<State>, Break>)>,
    /// How many there are beyond those that can be read.
    pub unread: usize,
}

/// The other changes that have one of these keys, by the index in a store.
pub async fn sharing(
    store: &dyn Store,
    change: ChangeNumber,
    keys: &[Digest],
) -> Result<BTreeSet<ChangeNumber>, StoreError> {
    let mut numbers = BTreeSet::new();
    for keys in keys.chunks(FOLDERS_AT_ONCE) {
        let folders: Vec<String> = keys.iter().map(origin::folder).collect();
        let names = store.names(&folders).await?;
        numbers.extend(names.iter().flatten().filter_map(|name| name.parse().ok()).map(ChangeNumber));
    }
    numbers.remove(&change);
    Ok(numbers)
}

impl Ledger {
    /// The other changes that have one of these keys, by the index alone.
    pub async fn sharing(&self, change: ChangeNumber, keys: &[Digest]) -> Result<BTreeSet<ChangeNumber>, LedgerError> {
        Ok(sharing(self.store.as_ref(), change, keys).await?)
    }

    /// What the records of other changes say: of those that have one of these keys by the index, and of those that are known
    /// to have one from elsewhere. That they have it, and whether they are whole to their end, is for the caller to see: the
    /// index only finds them.
    pub async fn related(
        &self,
        change: ChangeNumber,
        keys: &[Digest],
        known: BTreeSet<ChangeNumber>,
    ) -> Result<Related, LedgerError> {
        let mut numbers = self.sharing(change, keys).await?;
        numbers.extend(known);
        numbers.remove(&change);
        let newest: Vec<ChangeNumber> = numbers.iter().rev().take(MOST_RELATED).copied().collect();
        let mut related = Related { read: Vec::new(), unread: numbers.len() - newest.len() };
        for some in newest.chunks(CHANGES_AT_ONCE) {
            let paths: Vec<String> = some.iter().map(|number| folder(*number)).collect();
            for (number, files) in some.iter().zip(self.store.folders(&paths).await?) {
                let proven = chain::prove(self.repo, *number, &files, self.keys.as_ref(), chain::From::Checkpoint);
                related.read.push((*number, proven.map(|proven| proven.state)));
            }
        }
        Ok(related)
    }
}
