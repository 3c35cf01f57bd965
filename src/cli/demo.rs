//! `phasegate demo`: the whole story on the embedded twin.

use std::net::SocketAddr;

use anyhow::Context as _;
use clap::builder::Styles;

use super::serve::StopSignal;
use super::{Exit, out};
use crate::rehearsal::{Beat, REPO, Rehearsal, Setup, demo_stage, play};
use crate::twin::Role;

/// Play one change from /expand to its merge, on an embedded GitHub
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Play it to the end and exit: 0 when the change merged
    #[arg(long)]
    once: bool,
    /// Where the embedded GitHub listens
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// With --once: print the timeline as `phasegate/demo@1`
    #[arg(long, requires = "once")]
    json: bool,
}

/// Whom visitors may act as. `guest` is theirs; the others are the story's cast.
const CAST: &[&str] = &["guest", "mia", "ada", "rover", "tim", "eve", "root"];

pub(super) async fn run(args: &Args) -> anyhow::Result<Exit> {
    let mut stop = StopSignal::new()?;
    say(args, "Phasegate's demo: an embedded GitHub, the real bot, and a cast that plays one change.\n\n")?;
    let setup = Setup { listen: args.listen, ..Setup::default() };
    let rehearsal = Rehearsal::start(setup).await.context("the rehearsal can't begin")?;
    let ended = perform(args, &rehearsal, &mut stop).await;
    // However it ended: the bot is stopped before its folder is removed.
    rehearsal.end().await;
    ended
}

fn say(args: &Args, text: &str) -> anyhow::Result<()> {
    if args.json { Ok(()) } else { out::text(text) }
}

async fn perform(args: &Args, on: &Rehearsal, stop: &mut StopSignal) -> anyhow::Result<Exit> {
    let url = on.url();
    say(
        args,
        &format!(
            "Watch it in a browser:  {url}/{REPO}\n\
             Its main branch takes nothing without the check phasegate/merge.\n\n"
        ),
    )?;
    let mut written = Ok(());
    let mut tell = |beat: &Beat| {
        if let Err(error) = say(args, &told(beat)) {
            written = Err(error);
        }
    };
    let timeline = tokio::select! {
        played = play(on, &mut tell) => played.context("the story did not go as it should")?,
        () = stop.came() => {
            say(args, "\nStopped in the middle of the story; everything is tidied up.\n")?;
            return Ok(Exit::Interrupted);
        }
    };
    written?;
    if args.json {
        out::json(&timeline)?;
    }
    if args.once {
        let merged = if timeline.merged { "yes" } else { "no" };
        say(args, &format!("\nMerged: {merged}. {} beats.\n", timeline.beats.len()))?;
        return Ok(Exit::found(!timeline.merged));
    }
    let token = on.admin().create_user("guest")?.token;
    on.admin().set_role(REPO, "guest", Role::Maintain)?;
    on.admin().open_stage(REPO, demo_stage(CAST))?;
    say(args, &invitation(&url, &token, timeline.change))?;
    stop.came().await;
    say(args, "\nThe stage is taken down; nothing is left of it.\n")?;
    Ok(Exit::Fine)
}

/// What a visitor can do now, to be copied line by line. The pages name the same three things.
fn invitation(url: &str, token: &str, change: u64) -> String {
    let host = url.trim_start_matches("http://");
    let (repo, pull) = (format!("{url}/{REPO}"), format!("{url}/{REPO}/pull/{}", change + 1));
    format!(
        "
The stage stays up. What was played:  {repo}/pull/{change}

Three things to try, with the forms at {repo} or with these lines:

1. Approve your own change, and read why not.

  curl {repo}/act -d do=begin -d as=guest -d change=brighter
  curl {pull}/act -d do=comment -d as=guest -d body=/expand
  curl {pull}/act -d do=ci-green
  curl {pull}/act -d do=comment -d as=guest -d body=/approve

2. Push after the approval, and see it fall.

  curl {pull}/act -d do=approve -d as=mia
  curl {pull}/act -d do=push -d as=guest -d commit=harmless

3. Merge on a bad day, on which GitHub loses every third webhook.

  curl {repo}/act -d do=bad-day -d day=loses-webhooks -d seed=7
  curl {pull}/act -d do=ci-green
  curl {pull}/act -d do=approve -d as=mia
  curl {pull}/act -d do=merge -d as=guest
  curl {repo}/act -d do=calm

It is a git server and an API too. You are `guest`, who maintains:

  git clone http://guest:{token}@{host}/{REPO}.git
  curl -H 'Authorization: Bearer {token}' {url}/api/v3/repos/{REPO}/pulls/{change}

Ctrl-C ends it.
"
    )
}

/// One beat, as two or three lines.
fn told(beat: &Beat) -> String {
    let styles = Styles::styled();
    let (who, quiet) = (styles.get_literal(), styles.get_placeholder());
    let mut text = format!("{who}{:>6}{who:#} {}\n", beat.who, out::plain(&beat.does));
    if let Some(label) = &beat.label {
        let merge = beat.merge.as_deref().map(|merge| format!("   merge: {}", out::plain(merge))).unwrap_or_default();
        text.push_str(&format!("{quiet}       → {label}{merge}{quiet:#}\n"));
    }
    if let Some(answer) = &beat.answer {
        let lines = answer.lines().filter(|line| !line.trim().is_empty());
        for line in lines {
            text.push_str(&format!("{quiet}       ← {}{quiet:#}\n", out::plain(line)));
        }
    }
    for finding in &beat.findings {
        text.push_str(&format!("{quiet}         {}{quiet:#}\n", out::plain(finding)));
    }
    text
}
