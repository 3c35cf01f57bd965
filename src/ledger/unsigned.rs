//! Records that nobody signs: those of a ledger that is advisory.
//!
//! They chain as others do, so a slip shows. But whoever can write the branch can write all of it anew: nothing that such a
//! ledger says may ever count for a gate, and so it has a branch of its own, and this ring knows no other signature.

use super::chain::{KeyRing, Signer};
use crate::ids::Digest;

/// What the name of an advisory ledger's branch ends with.
pub const ADVISORY: &str = "-advisory";

pub struct Unsigned;

impl Unsigned {
    fn name() -> Digest {
        Digest::of("advisory: signed by nobody")
    }
}

impl Signer for Unsigned {
    fn key(&self) -> Digest {
        Self::name()
    }

    fn sign(&self, _: &[u8]) -> Result<Vec<u8>, String> {
        Ok(Vec::new())
    }
}

impl KeyRing for Unsigned {
    fn verify(&self, key: &Digest, _: &[u8], signature: &[u8]) -> Option<bool> {
        (*key == Self::name()).then_some(signature.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_signed_is_told_from_what_somebody_did() {
        let signature = Unsigned.sign(b"record").unwrap();
        assert_eq!(Unsigned.verify(&Unsigned.key(), b"record", &signature), Some(true));
        assert_eq!(Unsigned.verify(&Unsigned.key(), b"record", b"signed"), Some(false));
        assert_eq!(Unsigned.verify(&Digest::of("a key"), b"record", &signature), None);
    }
}
