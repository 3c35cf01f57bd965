//! `phasegate guard heal`: whoever builds says that the build is not honest, by an empty commit that the bot looks for.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::anyhow;
use owo_colors::OwoColorize as _;

use crate::cli::raise::{Kind, Message, Raised, Refused, Spot, same_change};
use crate::cli::status::Place;
use crate::cli::{Exit, out};

const HEAL: Kind = Kind {
    word: "heal",
    trailer: "Phasegate-Heal",
    ask: "Say in a sentence what is not honest about the build",
    place: "Run it in a clone",
    command: "/heal REASON",
    merged: "nothing of it can be held back any more",
    schema: "phasegate/heal@1",
    next: "Push it: this content passes no gate then. Build it honestly, and push that: it is judged anew.",
};

pub(super) async fn run(reason: &str, branch: Option<&str>, json: bool) -> anyhow::Result<Exit> {
    let branch = branch.map(str::to_owned);
    let place = Place { repo: PathBuf::from("."), github: None, branch, keys: Vec::new() };
    let raised = raise(reason, &place).await.map_err(|Refused { says, next }| anyhow!("{says}\n{next}"))?;
    if json {
        out::json(&raised)?;
    } else {
        let mut text = String::new();
        let commit = raised.commit.get(..12).unwrap_or(&raised.commit);
        let _ = writeln!(text, "{} {commit} on {}", "HEAL".bold(), out::plain(&raised.branch));
        let _ = writeln!(text, "  → {}", raised.next);
        out::text(&text)?;
    }
    Ok(Exit::Fine)
}

async fn raise(reason: &str, place: &Place) -> Result<Raised, Refused> {
    let message = Message::of(HEAL, "", reason)?;
    let spot = Spot::find(HEAL, place)?;
    same_change(HEAL, (&spot.branch, &spot.head), None, place).await?;
    spot.raise(message)
}
