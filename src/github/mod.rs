//! GitHub: webhooks, signatures, App authentication, the client and its rate budget. Knows nothing about phases.
//!
//! - [`webhook`] proves and understands deliveries.
//! - [`AppKey`] is the App's key, [`PublicKey`] its public half, [`Keys`] a ring of those.
//! - [`Hub`] is GitHub as one App sees it, [`Repo`] one repository; their calls are typed, in [`calls`].
//! - [`oidc`] proves the tokens of workflows' jobs.
//! - [`Budget`] is what an installation may ask, [`Error`] what can go wrong.

mod answer;
mod auth;
mod budget;
pub mod calls;
mod client;
mod clock;
mod elsewhere;
mod endpoint;
mod error;
mod etag;
mod keys;
mod objects;
pub mod oidc;
mod request;
pub mod store;
mod token;
pub mod webhook;
mod wire;

#[cfg(test)]
mod client_tests;

pub use auth::{AppKey, KeyError, PublicKey};
pub use budget::{Allowance, Budget};
pub use client::{GitAuth, Hub, Options, Part, Repo};
pub use clock::{Clock, SystemClock};
pub use endpoint::{BadAddress, Endpoint};
pub use error::{Error, Result, Speaker};
pub use keys::Keys;
pub use token::Credentials;
pub(crate) use token::tell_of_minted;
