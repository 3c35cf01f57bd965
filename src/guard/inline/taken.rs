//! What a freeze keeps of a source file: only what the change itself has made of its items.
//!
//! The rest is as the base has it, then and later. So a freeze is as long as the change and not as the repository, what the base
//! makes of its own tests is nobody's fault, and only files that the change touches are ever parsed.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::compare::FrozenItems;
use super::{Item, READING, freeze};

/// What was frozen of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Taken {
    /// Which reading made the digests.
    pub reading: u32,
    /// Items that the base did not have, or not so.
    #[serde(default, skip_serializing_if = "FrozenItems::is_empty")]
    pub items: FrozenItems,
    /// Items that the base had and the change did not have any more.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub without: BTreeSet<String>,
}

impl Taken {
    /// Of a file at a head, with what its base has there.
    pub fn of(head: &[Item], base: &[Item]) -> Self {
        let (mut items, base) = (freeze(head), freeze(base));
        let without = base.keys().filter(|name| !items.contains_key(*name)).cloned().collect();
        items.retain(|name, item| base.get(name) != Some(item));
        Self { reading: READING, items, without }
    }

    /// Whether nothing has to be kept.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && self.without.is_empty()
    }

    /// What must stand in the file now, with what the base has there by now.
    pub fn expected(&self, base: &[Item]) -> FrozenItems {
        let mut expected = freeze(base);
        expected.retain(|name, _| !self.without.contains(name));
        expected.extend(self.items.iter().map(|(name, item)| (name.clone(), item.clone())));
        expected
    }
}
