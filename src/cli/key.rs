//! `phasegate key`: the public half of the App's key, for keeping when the key is changed.

use std::path::PathBuf;

use super::{Exit, app, out};

/// Print the public half of the App's key
///
/// Keep it when the key is changed: what the old key signed on the ledger is proven with it (PREVIOUS_KEYS_PATH).
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A PEM file with the key; without it, PRIVATE_KEY or PRIVATE_KEY_PATH of the environment
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let pem = match &args.file {
        Some(file) => app::public_key(file)?.pem(),
        None => app::key()?.public_pem(),
    };
    out::raw(&pem)?;
    Ok(Exit::Fine)
}
