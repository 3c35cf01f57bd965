//! The App's private key: what it signs, and nothing else about it.
//!
//! Promises: the key is never printed, not by `Debug` and not inside an error; after loading there is one copy of it,
//! inside the crypto library, and the PEM text that it came from is wiped. That is also why the App's token is signed
//! here in a few lines rather than handed, key and all, to a JWT library that keeps a second copy unwiped.
//!
//! The same key signs the ledger's records, so that a rewritten branch shows; [`PublicKey`] checks them and needs only
//! the public half.

use std::fmt;

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa;
use aws_lc_rs::signature::{KeyPair as _, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jiff::Timestamp;
use rustls_pki_types::pem::{PemObject, SectionKind};
use secrecy::{ExposeSecret, SecretString};
use zeroize::Zeroizing;

use crate::ids::Digest;

/// GitHub's clock may be behind ours.
const BACKDATED_SECONDS: i64 = 60;
/// Ten minutes are allowed, counted from GitHub's clock.
const LIFETIME_SECONDS: i64 = 8 * 60;

/// Why a key could not be loaded or used. Never carries any of its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("the key is not PEM text: give the whole .pem file that GitHub generated, with its BEGIN and END lines")]
    NotPem,
    #[error("the PEM text holds something else than an RSA key of 2048 to 8192 bits")]
    NotRsa,
    #[error("this needs a private key, and the PEM text holds a public one")]
    NotPrivate,
    #[error("the crypto library could not sign")]
    Signing,
}

/// An App's private RSA key.
pub struct AppKey {
    pair: rsa::KeyPair,
    public: PublicKey,
}

impl AppKey {
    /// Loads PEM text, PKCS#1 (as GitHub generates it) or PKCS#8. Literal `\n` in place of line ends, as environment
    /// files often have them, are understood.
    pub fn from_pem(pem: &SecretString) -> Result<Self, KeyError> {
        let text = Zeroizing::new(pem.expose_secret().replace("\\n", "\n"));
        let (kind, der) = section(text.as_bytes())?;
        let der = Zeroizing::new(der);
        let pair = match kind {
            SectionKind::RsaPrivateKey => rsa::KeyPair::from_der(&der),
            SectionKind::PrivateKey => rsa::KeyPair::from_pkcs8(&der),
            SectionKind::PublicKey => return Err(KeyError::NotPrivate),
            _ => return Err(KeyError::NotRsa),
        }
        .map_err(|_| KeyError::NotRsa)?;
        let spki: PublicKeyX509Der<'_> = pair.public_key().as_der().map_err(|_| KeyError::NotRsa)?;
        let public = PublicKey::from_spki(spki.as_ref())?;
        Ok(Self { pair, public })
    }

    /// The token with which the App speaks for itself. `issuer` is its id or its client id.
    pub fn jwt(&self, issuer: &str, now: Timestamp) -> Result<SecretString, KeyError> {
        let issued = now.as_second() - BACKDATED_SECONDS;
        let claims = serde_json::json!({ "iat": issued, "exp": now.as_second() + LIFETIME_SECONDS, "iss": issuer });
        let header = URL_SAFE_NO_PAD.encode(br#"{"alg":"RS256","typ":"JWT"}"#);
        let mut token = Zeroizing::new(format!("{header}.{}", URL_SAFE_NO_PAD.encode(claims.to_string())));
        let signature = self.sign(token.as_bytes())?;
        token.push('.');
        token.push_str(&URL_SAFE_NO_PAD.encode(signature));
        Ok(SecretString::from(token.as_str()))
    }

    /// RSASSA-PKCS1-v1_5 with SHA-256: the same bytes give the same signature, so a record can be signed again.
    pub fn sign(&self, bytes: &[u8]) -> Result<Vec<u8>, KeyError> {
        let mut signature = vec![0; self.pair.public_modulus_len()];
        self.pair
            .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), bytes, &mut signature)
            .map_err(|_| KeyError::Signing)?;
        Ok(signature)
    }

    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// The public half, as DER of a SubjectPublicKeyInfo.
    pub fn public_der(&self) -> &[u8] {
        self.public.der()
    }

    pub fn public_pem(&self) -> String {
        self.public.pem()
    }

    /// Names the key: the SHA-256 of [`Self::public_der`]. GitHub shows the same value, in base64, on the App's page.
    pub fn fingerprint(&self) -> Digest {
        self.public.fingerprint()
    }
}

impl fmt::Debug for AppKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AppKey({})", self.fingerprint().short())
    }
}

/// The public half of an App's key: enough to check what it signed.
#[derive(Clone)]
pub struct PublicKey {
    spki: Vec<u8>,
    key: ParsedPublicKey,
}

impl PublicKey {
    /// Loads PEM text of a public key, or takes the public half of a private one.
    pub fn from_pem(pem: &str) -> Result<Self, KeyError> {
        match section(pem.as_bytes())? {
            (SectionKind::PublicKey, der) => Self::from_spki(&der),
            (SectionKind::PrivateKey | SectionKind::RsaPrivateKey, der) => {
                drop(Zeroizing::new(der));
                Ok(AppKey::from_pem(&SecretString::from(pem))?.public)
            }
            _ => Err(KeyError::NotRsa),
        }
    }

    fn from_spki(spki: &[u8]) -> Result<Self, KeyError> {
        // Through the RSA type, so that a key of another kind is refused when it is loaded, not when it is used.
        let rsa = rsa::PublicKey::from_der(spki).map_err(|_| KeyError::NotRsa)?;
        let spki: PublicKeyX509Der<'_> = rsa.as_der().map_err(|_| KeyError::NotRsa)?;
        let key = ParsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, spki.as_ref()).map_err(|_| KeyError::NotRsa)?;
        Ok(Self { spki: spki.as_ref().to_vec(), key })
    }

    /// Whether the key's owner signed exactly these bytes.
    #[must_use]
    pub fn verify(&self, bytes: &[u8], signature: &[u8]) -> bool {
        self.key.verify_sig(bytes, signature).is_ok()
    }

    pub fn der(&self) -> &[u8] {
        &self.spki
    }

    pub fn pem(&self) -> String {
        let mut pem = String::from("-----BEGIN PUBLIC KEY-----\n");
        let text = STANDARD.encode(&self.spki);
        for line in text.as_bytes().chunks(64) {
            pem.extend(line.iter().map(|byte| char::from(*byte)));
            pem.push('\n');
        }
        pem.push_str("-----END PUBLIC KEY-----\n");
        pem
    }

    pub fn fingerprint(&self) -> Digest {
        Digest::of(&self.spki)
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.fingerprint().short())
    }
}

fn section(pem: &[u8]) -> Result<(SectionKind, Vec<u8>), KeyError> {
    PemObject::from_pem_slice(pem).map_err(|_| KeyError::NotPem)
}

#[cfg(test)]
pub(in crate::github) mod tests {
    use aws_lc_rs::encoding::Pkcs8V1Der;
    use aws_lc_rs::rsa::KeySize;
    use jsonwebtoken::{Algorithm, DecodingKey, Validation};

    use super::*;

    fn pem(kind: &str, der: &[u8]) -> SecretString {
        let body: Vec<_> =
            STANDARD.encode(der).as_bytes().chunks(64).map(|line| String::from_utf8_lossy(line).into_owned()).collect();
        SecretString::from(format!("-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n", body.join("\n")))
    }

    /// A fresh key's PKCS#8 form. In it, the PKCS#1 form of a 2048-bit key starts at byte 26.
    fn pkcs8() -> Vec<u8> {
        let pair = rsa::KeyPair::generate(KeySize::Rsa2048).unwrap();
        let der: Pkcs8V1Der<'_> = pair.as_der().unwrap();
        der.as_ref().to_vec()
    }

    pub(in crate::github) fn fresh_key() -> AppKey {
        AppKey::from_pem(&pem("PRIVATE KEY", &pkcs8())).unwrap()
    }

    #[test]
    fn both_forms_of_a_key_are_the_same_key() {
        let der = pkcs8();
        let eight = AppKey::from_pem(&pem("PRIVATE KEY", &der)).unwrap();
        let one = AppKey::from_pem(&pem("RSA PRIVATE KEY", &der[26..])).unwrap();
        assert_eq!(one.fingerprint(), eight.fingerprint());
        assert_eq!(one.sign(b"x").unwrap(), eight.sign(b"x").unwrap(), "signing is repeatable");
        let escaped = pem("RSA PRIVATE KEY", &der[26..]).expose_secret().replace('\n', "\\n");
        assert_eq!(AppKey::from_pem(&SecretString::from(escaped)).unwrap().fingerprint(), one.fingerprint());
    }

    #[test]
    fn a_signature_holds_for_its_bytes_and_key_only() {
        let (key, other) = (fresh_key(), fresh_key());
        let signature = key.sign(b"record").unwrap();
        let public = PublicKey::from_pem(&key.public_pem()).unwrap();
        assert_eq!(public.fingerprint(), key.fingerprint());
        assert!(public.verify(b"record", &signature));
        assert!(!public.verify(b"Record", &signature));
        assert!(!public.verify(b"record", &signature[1..]));
        assert!(!other.public().verify(b"record", &signature));
    }

    #[test]
    fn a_private_key_serves_as_a_public_one_but_not_the_other_way_round() {
        let text = pem("PRIVATE KEY", &pkcs8());
        let public = PublicKey::from_pem(text.expose_secret()).unwrap();
        let key = AppKey::from_pem(&text).unwrap();
        assert_eq!(public.der(), key.public_der());
        assert_eq!(AppKey::from_pem(&SecretString::from(key.public_pem())).unwrap_err(), KeyError::NotPrivate);
    }

    #[test]
    fn the_token_is_one_that_a_jwt_library_accepts() {
        let key = fresh_key();
        let now = Timestamp::now();
        let token = key.jwt("Iv23liClientId", now).unwrap();
        let mut rules = Validation::new(Algorithm::RS256);
        rules.set_issuer(&["Iv23liClientId"]);
        let decoding = DecodingKey::from_rsa_pem(key.public_pem().as_bytes()).unwrap();
        let claims =
            jsonwebtoken::decode::<serde_json::Value>(token.expose_secret(), &decoding, &rules).unwrap().claims;
        let (iat, exp) = (claims["iat"].as_i64().unwrap(), claims["exp"].as_i64().unwrap());
        assert_eq!(iat, now.as_second() - 60);
        assert!(exp - iat <= 9 * 60, "GitHub refuses more than ten minutes");
    }

    #[test]
    fn nothing_secret_is_printed() {
        let text = pem("PRIVATE KEY", &pkcs8());
        let key = AppKey::from_pem(&text).unwrap();
        let shown = format!("{key:?} {:?}", key.public());
        assert_eq!(shown, format!("AppKey({0}) PublicKey({0})", key.fingerprint().short()));

        let broken = text.expose_secret().replace("PRIVATE", "PIRATE");
        let error = AppKey::from_pem(&SecretString::from(broken.clone())).unwrap_err();
        for line in broken.lines().skip(1).take(3) {
            assert!(!format!("{error} {error:?}").contains(line));
        }
        for not_a_key in ["", "hello", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"] {
            assert!(AppKey::from_pem(&SecretString::from(not_a_key)).is_err());
        }
    }
}
