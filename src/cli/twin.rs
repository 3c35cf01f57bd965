//! `phasegate twin`: the embedded GitHub alone.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context as _;

use super::{Exit, out, serve};
use crate::twin::{NewRepo, Options, Role, Twin};

/// Run the embedded GitHub alone, for trying things out
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Where to listen
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Where its git repositories are kept; a folder that goes with it when left out
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

pub(super) async fn run(args: &Args) -> anyhow::Result<Exit> {
    let kept = tempfile::tempdir().context("no place for the twin's files")?;
    let data = args.data.clone().unwrap_or_else(|| kept.path().to_owned());
    let twin = Twin::start(Options { listen: args.listen, data })
        .await
        .with_context(|| format!("the twin can't listen on {}", args.listen))?;
    let admin = twin.admin();
    let user = admin.create_user("mia")?;
    let repo = admin.create_repo("mia/sandbox", NewRepo::default())?;
    admin.set_role(&repo.slug, "mia", Role::Admin)?;
    out::text(&format!(
        "A GitHub of its own, at {url}\n\n  pages    {url}/\n  API      {api}\n  token    {token} (mia)\n  \
         clone    git clone {url}/{slug}.git\n\nWhat is in it is gone when it ends. Ctrl-C ends it.\n",
        url = twin.url(),
        api = twin.api_url(),
        token = user.token,
        slug = repo.slug,
    ))?;
    serve::stop_signal().await.context("can't wait for signals")?;
    twin.shutdown().await;
    Ok(Exit::Fine)
}
