//! GitHub: webhooks, signatures, App authentication, the client and its rate budget. Knows nothing about phases.

pub mod webhook;
