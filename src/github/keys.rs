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

#[cfg(test)]
mod tests {
    use super::super::auth::tests::fresh_key;
    use super::*;

    #[test]
    fn a_ring_knows_its_keys_and_says_nothing_of_others() {
        let (old, new, other) = (fresh_key(), fresh_key(), fresh_key());
        let ring: Keys = [old.public().clone(), new.public().clone()].into_iter().collect();
        for key in [&old, &new] {
            let signature = Signer::sign(key, b"record").unwrap();
            assert_eq!(ring.verify(&key.key(), b"record", &signature), Some(true));
            assert_eq!(ring.verify(&key.key(), b"Record", &signature), Some(false));
        }
        let signature = Signer::sign(&other, b"record").unwrap();
        assert_eq!(ring.verify(&other.key(), b"record", &signature), None, "not known is not the same as wrong");
        assert_eq!(ring.verify(&old.key(), b"record", &signature), Some(false), "a borrowed fingerprint");
    }
}
