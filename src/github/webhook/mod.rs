//! Deliveries from GitHub: first proven, then understood.
//!
//! The two steps are separate on purpose, and the order matters: [`verify`] works on the raw bytes and the headers
//! alone, so nothing that a stranger sent is parsed before the signature has been found good; [`parse`] then turns a
//! delivery into a [`crate::fact::Event`], or into `None` when it is one that we ignore on purpose.

mod payload;
mod signature;

pub(super) use payload::{Account, person};
pub use payload::{IGNORED_ACTIONS, NO_INSTALLATION, ParseError, UNDERSTOOD, parse};
pub(crate) use payload::{article, wrong_in};
pub use signature::{SignatureError, claimed, sign, verify};
