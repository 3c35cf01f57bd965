//! Who sent it: the signature of a delivery.
//!
//! Promises: the whole raw body is checked, in constant time, before anything looks inside; a delivery without a
//! signature, or with only the old SHA-1 one, is refused, so nobody can choose the weaker proof; a deployment without
//! any secret refuses everything instead of accepting everything.
//!
//! Several secrets may be valid at once, so that a secret can be changed without losing the deliveries in flight.

use hmac::{Hmac, Mac};
use http::HeaderMap;
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

const SHA256_HEADER: &str = "x-hub-signature-256";
const SHA1_HEADER: &str = "x-hub-signature";

/// Why a delivery was not believed. None of these says anything about the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    #[error("no webhook secret is configured: set WEBHOOK_SECRET to the one in the App's settings")]
    NoSecret,
    #[error("the delivery has no X-Hub-Signature-256 header: set a secret in the App's webhook settings")]
    Missing,
    #[error("the delivery has only a SHA-1 signature, which is not accepted: X-Hub-Signature-256 is needed")]
    OnlySha1,
    #[error("X-Hub-Signature-256 must be given once, as sha256= and 64 hexadecimal digits")]
    Malformed,
    #[error("the signature does not match the body: the secret here and in the App's settings differ")]
    Mismatch,
}

/// Checks a delivery's signature against any of `secrets`.
pub fn verify(secrets: &[SecretString], headers: &HeaderMap, raw_body: &[u8]) -> Result<(), SignatureError> {
    // An empty secret is a configuration mistake that would let anyone sign.
    if secrets.iter().all(|secret| secret.expose_secret().is_empty()) {
        return Err(SignatureError::NoSecret);
    }
    let claimed = claimed(headers)?;
    let matches = secrets
        .iter()
        .filter(|secret| !secret.expose_secret().is_empty())
        // No short circuit: the time taken does not tell which secret is the good one.
        .fold(false, |found, secret| found | mac(secret, raw_body).verify_slice(&claimed).is_ok());
    if matches { Ok(()) } else { Err(SignatureError::Mismatch) }
}

/// The signature that a delivery claims to have. What has none needs no reading.
pub fn claimed(headers: &HeaderMap) -> Result<[u8; 32], SignatureError> {
    let mut given = headers.get_all(SHA256_HEADER).iter();
    let Some(value) = given.next() else {
        return Err(if headers.contains_key(SHA1_HEADER) { SignatureError::OnlySha1 } else { SignatureError::Missing });
    };
    // Two signatures: a proxy in between could have checked one and passed the other on.
    if given.next().is_some() {
        return Err(SignatureError::Malformed);
    }
    let digits = value.as_bytes().strip_prefix(b"sha256=").ok_or(SignatureError::Malformed)?;
    let mut claimed = [0; 32];
    hex::decode_to_slice(digits, &mut claimed).map_err(|_| SignatureError::Malformed)?;
    Ok(claimed)
}

/// The header value GitHub would send for this body: for the tests, the demo and forwarded deliveries.
pub fn sign(secret: &SecretString, raw_body: &[u8]) -> String {
    format!("sha256={}", hex::encode(mac(secret, raw_body).finalize().into_bytes()))
}

fn mac(secret: &SecretString, body: &[u8]) -> Hmac<Sha256> {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(secret.expose_secret().as_bytes()).expect("HMAC takes a key of any length");
    mac.update(body);
    mac
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENTED: &str = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

    fn secret(text: &str) -> SecretString {
        SecretString::from(text.to_owned())
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(*name, value.parse().unwrap());
        }
        map
    }

    #[test]
    fn githubs_documented_example_is_accepted() {
        let secrets = [secret("It's a Secret to Everybody")];
        assert_eq!(verify(&secrets, &headers(&[(SHA256_HEADER, DOCUMENTED)]), b"Hello, World!"), Ok(()));
        assert_eq!(sign(&secrets[0], b"Hello, World!"), DOCUMENTED);
    }

    #[test]
    fn another_body_or_secret_is_refused() {
        let good = headers(&[(SHA256_HEADER, DOCUMENTED)]);
        let secrets = [secret("It's a Secret to Everybody")];
        assert_eq!(verify(&secrets, &good, b"Hello, World"), Err(SignatureError::Mismatch));
        assert_eq!(verify(&[secret("other")], &good, b"Hello, World!"), Err(SignatureError::Mismatch));
    }

    #[test]
    fn during_a_rotation_both_secrets_are_accepted() {
        let good = headers(&[(SHA256_HEADER, DOCUMENTED)]);
        let secrets = [secret("the new one"), secret("It's a Secret to Everybody")];
        assert_eq!(verify(&secrets, &good, b"Hello, World!"), Ok(()));
    }

    #[test]
    fn each_way_to_be_unsigned_has_its_own_name() {
        let secrets = [secret("s")];
        assert_eq!(verify(&secrets, &headers(&[]), b""), Err(SignatureError::Missing));
        assert_eq!(verify(&secrets, &headers(&[(SHA1_HEADER, "sha1=00")]), b""), Err(SignatureError::OnlySha1));
        for bad in ["sha256=", "sha256=zz", "757107ea", "sha1=00", "sha256=00", &format!("{DOCUMENTED}00")] {
            let headers = headers(&[(SHA256_HEADER, bad)]);
            assert_eq!(verify(&secrets, &headers, b""), Err(SignatureError::Malformed), "{bad}");
        }
        let two = headers(&[(SHA256_HEADER, DOCUMENTED), (SHA256_HEADER, DOCUMENTED)]);
        assert_eq!(verify(&secrets, &two, b""), Err(SignatureError::Malformed));
    }

    #[test]
    fn without_a_secret_nothing_is_accepted() {
        let signed = sign(&secret(""), b"x");
        let headers = headers(&[(SHA256_HEADER, &signed)]);
        assert_eq!(verify(&[], &headers, b"x"), Err(SignatureError::NoSecret));
        assert_eq!(verify(&[secret("")], &headers, b"x"), Err(SignatureError::NoSecret));
        assert_eq!(verify(&[secret(""), secret("real")], &headers, b"x"), Err(SignatureError::Mismatch));
    }

    proptest::proptest! {
        #[test]
        fn a_flipped_bit_anywhere_is_refused(body in proptest::collection::vec(proptest::num::u8::ANY, 1..200), at in 0usize..1600) {
            let secrets = [secret("s")];
            let headers = headers(&[(SHA256_HEADER, &sign(&secrets[0], &body))]);
            proptest::prop_assert!(verify(&secrets, &headers, &body).is_ok());
            let mut changed = body.clone();
            let bit = at % (body.len() * 8);
            changed[bit / 8] ^= 1 << (bit % 8);
            proptest::prop_assert_eq!(verify(&secrets, &headers, &changed), Err(SignatureError::Mismatch));
        }
    }
}
