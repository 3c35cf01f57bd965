//! `phasegate twin`: the embedded GitHub alone.

use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::serve::StopSignal;
use super::{Exit, out};
use crate::rehearsal::{CI, EVENTS, LEDGER, MERGE_POLICY, PERMISSIONS, WORKFLOW, sandbox_stage};
use crate::twin::{Admin, AppHandle, NewApp, NewRepo, Options, Role, Twin};

/// Run the embedded GitHub alone, for trying things out
///
/// It has a repository with a policy, people, and an App that is installed on it. What it prints can be copied: how to
/// start `phasegate serve` for that App, and how to push a change.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Where to listen
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Where its git repositories are kept; a folder that goes with it when left out
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Where the App's server will listen, for its webhooks
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:3000")]
    server: SocketAddr,
}

const REPO: &str = "mia/sandbox";
const CAST: &[(&str, Role)] =
    &[("mia", Role::Admin), ("ada", Role::Write), ("rover", Role::Write), ("eve", Role::Read)];

pub(super) async fn run(args: &Args) -> anyhow::Result<Exit> {
    let mut stop = StopSignal::new()?;
    let kept = tempfile::tempdir().context("no place for the twin's files")?;
    let data = args.data.clone().unwrap_or_else(|| kept.path().join("git"));
    let taken = std::fs::read_dir(&data).is_ok_and(|mut entries| entries.next().is_some());
    if taken {
        // Its people, pull requests and App are new each time: what is there belongs to others.
        anyhow::bail!(
            "{} is not empty. A twin begins anew each time: name a folder that is empty or not there yet.",
            data.display()
        );
    }
    let twin = Twin::start(Options { listen: args.listen, data })
        .await
        .with_context(|| format!("the twin can't listen on {}", args.listen))?;
    let admin = twin.admin();
    let people = set_up(&admin)?;
    let app = admin.register_app(
        "mia",
        NewApp {
            name: "Phasegate".to_owned(),
            webhook_url: Some(format!("http://{}/api/github/webhooks", args.server)),
            webhook_secret: uuid::Uuid::new_v4().simple().to_string(),
            permissions: PERMISSIONS.iter().map(|(name, level)| ((*name).to_owned(), *level)).collect(),
            events: EVENTS.iter().map(|event| (*event).to_owned()).collect(),
        },
    )?;
    // Installed without a word: the server is not there yet, and learns of it with the first event.
    admin.quiet().install(app.id, REPO)?;
    admin.require_checks(REPO, &[(crate::gate::merge::CHECK_NAME, Some(app.id))])?;
    admin.reserve_branch(REPO, LEDGER, app.id)?;
    let key = kept.path().join("app.pem");
    write_key(&key, &app.pem).with_context(|| format!("can't write {}", key.display()))?;
    out::text(&told(&twin, &app, kept.path(), args.server, &people))?;
    stop.came().await;
    twin.shutdown().await;
    Ok(Exit::Fine)
}

/// People with their tokens, and a repository with a policy and the workflow that it names.
fn set_up(admin: &Admin) -> anyhow::Result<Vec<(&'static str, Role, String)>> {
    let mut people = Vec::new();
    for (login, role) in CAST {
        people.push((*login, *role, admin.create_user(login)?.token));
    }
    let files = [("README.md", "# Sandbox\n"), (crate::policy::PATH, MERGE_POLICY), (WORKFLOW, CI)];
    let files = files.map(|(path, text)| (path.to_owned(), text.to_owned())).to_vec();
    admin.create_repo(REPO, NewRepo { private: false, files })?;
    for (login, role) in CAST {
        admin.set_role(REPO, login, *role)?;
    }
    let logins: Vec<&str> = CAST.iter().map(|(login, _)| *login).collect();
    admin.open_stage(REPO, sandbox_stage(&logins))?;
    Ok(people)
}

/// Nobody else on this machine needs to read it.
fn write_key(path: &Path, pem: &str) -> std::io::Result<()> {
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(pem.as_bytes())
}

fn told(twin: &Twin, app: &AppHandle, home: &Path, server: SocketAddr, people: &[(&str, Role, String)]) -> String {
    let (url, api, home) = (twin.url(), twin.api_url(), home.display());
    let host = url.trim_start_matches("http://").to_owned();
    let (id, secret) = (app.id, &app.webhook_secret);
    let rows: String =
        people.iter().map(|(login, role, token)| format!("  {login:<6} {:<9} {token}\n", role.name())).collect();
    let token = people.iter().find(|(login, ..)| *login == "ada").map_or("", |(.., token)| token);
    format!(
        "\
A GitHub of its own, at {url}
Its pages let you act as whom you choose; its API is at {api}.

People, their roles in {REPO}, and their tokens (for the API, and as the password of git):

{rows}
The App `{slug}` is registered and installed, and main takes nothing without its check phasegate/merge. Start its
server in another terminal:

  APP_ID={id} PRIVATE_KEY_PATH={home}/app.pem WEBHOOK_SECRET={secret} \\
  GITHUB_API_URL={api} \\
  phasegate serve --listen {server} --database sqlite:{home}/inbox.db --data {home}/mirrors --unpaced

(`cargo run -- serve …` in a checkout.) Then bring a change, in a third, line by line: the bot takes a moment for each.

  git clone http://ada:{token}@{host}/{REPO}.git && cd sandbox
  git switch -c idea && echo hello > hello.txt && git add .
  git -c user.name=ada -c user.email=ada@example.com commit -m 'An idea' && git push origin idea
  curl {url}/{REPO}/act -d do=open -d as=ada -d branch=idea -d title='An idea'
  curl {url}/{REPO}/pull/1/act -d do=ci-green
  curl {url}/{REPO}/pull/1/act -d do=approve -d as=mia
  curl {url}/{REPO}/pull/1/act -d do=merge -d as=ada

or do the last four at {url}/{REPO}. What is in it is gone when it ends. Ctrl-C ends it.
",
        slug = app.slug,
    )
}
