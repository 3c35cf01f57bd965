//! The App's keys as the ledger uses them: one signs, any of a ring may have signed.
//!
//! An App changes its key now and then, and records of years ago stay as they were signed. So a ring holds every key
//! that was ever in use, each under its fingerprint, which the record names.

use std::collections::BTreeMap;

use super::{AppKey, PublicKey};
use crate::ids::Digest;
use crate::ledger::{KeyRing, Signer};

impl Signer for AppKey {
    fn key(&self) -> Digest {
        self.fingerprint()
    }

    fn sign(&self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        AppKey::sign(self, bytes).map_err(|error| error.to_string())
    }
}

/// Public keys by their fingerprints.
#[derive(Debug, Clone, Default)]
pub struct Keys(BTreeMap<Digest, PublicKey>);

impl Keys {
    pub fn add(&mut self, key: PublicKey) {
        self.0.insert(key.fingerprint(), key);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn fingerprints(&self) -> impl Iterator<Item = &Digest> {
        self.0.keys()
    }
}

impl FromIterator<PublicKey> for Keys {
    fn from_iter<I: IntoIterator<Item = PublicKey>>(keys: I) -> Self {
        Self(keys.into_iter().map(|key| (key.fingerprint(), key)).collect())
    }
}

impl KeyRing for Keys {
    fn verify(&self, key: &Digest, bytes: &[u8], signature: &[u8]) -> Option<bool> {
        self.0.get(key).map(|key| key.verify(bytes, signature))
    }
}
