//! `phasegate flow`: a flow's states and transitions, from the table that the engine runs.

use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Subcommand, ValueEnum};

use super::{Exit, out};
use crate::flow::{self, Exported};

/// Look at the flows
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print a flow's states and transitions
    Export {
        /// Which flow
        #[arg(value_parser = Exported::NAMES)]
        name: String,
        /// For which reader
        #[arg(long, value_enum, default_value = "json")]
        format: Format,
        /// Write it into this folder, with all that its reader needs, instead of printing it
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// `phasegate/flow@1`
    Json,
    /// A state diagram that GitHub draws
    Mermaid,
    /// Graphviz
    Dot,
    /// A TLA+ module
    Tla,
}

impl From<Format> for flow::Format {
    fn from(format: Format) -> Self {
        match format {
            Format::Json => Self::Json,
            Format::Mermaid => Self::Mermaid,
            Format::Dot => Self::Dot,
            Format::Tla => Self::Tla,
        }
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    const NEXT: &str = "Name a folder that may be written.";
    let Command::Export { name, format, out: folder } = &args.command;
    let flow = Exported::named(name).with_context(|| format!("there is no flow {name}"))?;
    let Some(folder) = folder else {
        out::raw(&flow.print((*format).into()))?;
        return Ok(Exit::Fine);
    };
    fs::create_dir_all(folder).with_context(|| format!("{} can't be made. {NEXT}", folder.display()))?;
    for file in flow.files((*format).into()) {
        let path = folder.join(&file.name);
        fs::write(&path, file.text).with_context(|| format!("{} can't be written. {NEXT}", path.display()))?;
        out::raw(&format!("{}\n", out::plain(&path.display().to_string())))?;
    }
    Ok(Exit::Fine)
}
