//! `phasegate demo`: the whole story on the embedded twin.

use std::net::SocketAddr;

use anyhow::Context as _;
use clap::builder::Styles;

use super::{Exit, out, serve};
use crate::rehearsal::{Beat, REPO, Rehearsal, Setup, play};

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

pub(super) async fn run(args: &Args) -> anyhow::Result<Exit> {
    let say = |text: &str| if args.json { Ok(()) } else { out::text(text) };
    say("Phasegate's demo: an embedded GitHub, the real bot, and a cast that plays one change.\n\n")?;
    let setup = Setup { listen: args.listen, ..Setup::default() };
    let rehearsal = Rehearsal::start(setup).await.context("the rehearsal can't begin")?;
    let url = rehearsal.url();
    say(&format!("The repository is {url}/{REPO}; its main branch takes nothing without phasegate/merge.\n\n"))?;
    let mut broken_pipe = Ok(());
    let timeline = play(&rehearsal, &mut |beat| {
        if let Err(error) = say(&told(beat)) {
            broken_pipe = Err(error);
        }
    })
    .await
    .context("the story did not go as it should")?;
    broken_pipe?;
    if args.json {
        out::json(&timeline)?;
    }
    if args.once {
        say(&format!("\nMerged: {}. {} beats.\n", if timeline.merged { "yes" } else { "no" }, timeline.beats.len()))?;
        rehearsal.end().await;
        return Ok(Exit::found(!timeline.merged));
    }
    let number = timeline.change;
    let token = rehearsal.admin().create_user("guest")?.token;
    rehearsal.admin().set_role(REPO, "guest", crate::twin::Role::Maintain)?;
    say(&format!(
        "\nThe stage stays up. Look around, or take part (you are `guest`, who maintains):\n\n  \
         the pull request   {url}/{REPO}/pull/{number}\n  \
         clone and push     git clone http://guest:{token}@{host}/{REPO}.git\n  \
         say something      curl -H 'Authorization: Bearer {token}' -d '{{\"body\":\"/status\"}}' \\\n                     \
         {url}/api/v3/repos/{REPO}/issues/{number}/comments\n\nCtrl-C ends it.\n",
        host = url.trim_start_matches("http://"),
    ))?;
    serve::stop_signal().await.context("can't wait for signals")?;
    rehearsal.end().await;
    Ok(Exit::Fine)
}

/// One beat, as two or three lines.
fn told(beat: &Beat) -> String {
    let styles = Styles::styled();
    let (who, quiet) = (styles.get_literal(), styles.get_placeholder());
    let mut text = format!("{who}{:>6}{who:#} {}\n", beat.who, out::plain(&beat.does));
    if let Some(label) = &beat.label {
        let merge = beat.merge.as_deref().unwrap_or("no merge check");
        text.push_str(&format!("{quiet}       → {label}   merge: {}{quiet:#}\n", out::plain(merge)));
    }
    if let Some(answer) = &beat.answer {
        let lines = answer.lines().filter(|line| !line.trim().is_empty());
        for line in lines {
            text.push_str(&format!("{quiet}       ← {}{quiet:#}\n", out::plain(line)));
        }
    }
    text
}
