//! `phasegate next`: what an agent needs to go on with a change, in less than a kilobyte.

use anyhow::{Context as _, bail};

use super::status::{self, Form, Place, Report};
use super::{Exit, explain, out, replay};
use crate::ids::CommitId;
use crate::ledger::origin::{folder, head_key};
use crate::ledger::store::Store as _;
use crate::repo::LocalRepo;
use crate::surface::capsule::Capsule;

/// Say what an agent that starts fresh needs to go on with a change
///
/// Its phase, what may be done there and what not, and what fails, in less than a kilobyte. It exits as `phasegate status` does.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The change's number, or that of an issue or pull request that belongs to it [default: the change whose head is checked
    /// out]
    #[arg(value_parser = replay::number)]
    change: Option<u64>,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    form: Form,
}

pub(super) async fn run(args: &Args) -> anyhow::Result<Exit> {
    let change = match args.change {
        Some(change) => change,
        None => here(&args.place).await?,
    };
    let (capsule, report) = of(change, &args.place).await?;
    if args.form.json {
        out::raw(&format!("{}\n", capsule.json()))?;
    } else {
        out::text(&capsule.text())?;
    }
    Ok(status::exit(&report))
}

/// The capsule of a change, and where it stands.
pub(super) async fn of(change: u64, place: &Place) -> anyhow::Result<(Capsule, Report)> {
    let (state, report) = status::read(change, place).await?;
    // As `git show` takes it.
    let at = |path: &str| format!("{}:{path}", report.ledger);
    let capsule = Capsule::of(&state, &explain::against(place, &state), &explain::commands(place), at);
    Ok((capsule, report))
}

/// So many changes with one head are looked at for one that is open.
const MOST_READ: usize = 20;

/// The change that has what is checked out as a head: where several have, the newest that is open, or the newest.
pub(super) async fn here(place: &Place) -> anyhow::Result<u64> {
    if place.github.is_some() {
        bail!("name the change: with --github nothing is checked out");
    }
    let repo = LocalRepo::around(&place.repo).context("there is no git repository here; name one with --repo")?;
    let Some(head) = repo.revision("HEAD")? else { bail!("nothing is checked out; name the change") };
    let all = with_head(&head, place).await?;
    // One that is closed has nothing to go on with.
    for change in all.iter().copied().take(MOST_READ).filter(|_| all.len() > 1) {
        if status::read(change, place).await.is_ok_and(|(state, _)| state.open) {
            return Ok(change);
        }
    }
    all.first().copied().with_context(|| no_change(&head))
}

/// The changes that have this as a head, by the ledger that is here; the newest first.
pub(super) async fn with_head(head: &CommitId, place: &Place) -> anyhow::Result<Vec<u64>> {
    let mut missing = None;
    for branch in status::branches(place) {
        match replay::store(&place.repo, &branch) {
            Ok(store) => {
                let index = store.names(&[folder(&head_key(head))]).await.context("can't read the ledger")?;
                let mut all: Vec<u64> = index.into_iter().flatten().filter_map(|name| name.parse().ok()).collect();
                all.sort_unstable_by(|a, b| b.cmp(a));
                return Ok(all);
            }
            Err(error) => missing = missing.or(Some(error)),
        }
    }
    Err(missing.unwrap_or_else(|| anyhow::anyhow!("there is no ledger")))
}

fn no_change(head: &CommitId) -> String {
    format!("no change on the ledger has {} as its head: push it, fetch the ledger, or name the change", head.short())
}
