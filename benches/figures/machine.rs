//! Where all of this was measured.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use anyhow::Context as _;

use crate::stage::{Stage, given};
use crate::stats::{Rounds, table};

/// A delivery's commit is about as large as this.
const BLOCK: usize = 32 * 1024;

/// How long the disk takes to keep a block.
fn synchronised(folder: &Path) -> anyhow::Result<Rounds> {
    let mut file = File::create(folder.join("synchronised"))?;
    let mut rounds = Rounds::default();
    for _ in 0..100 {
        file.write_all(&[7; BLOCK])?;
        let begun = Instant::now();
        file.sync_data()?;
        rounds.push(begun.elapsed().as_secs_f64() * 1000.0);
    }
    Ok(rounds)
}

fn line_of(file: &str, start: &str) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(file)?;
    let line = text.lines().find_map(|line| line.strip_prefix(start)).with_context(|| format!("{file}: no {start}"))?;
    Ok(line.trim_start_matches([' ', '\t', ':']).trim().to_owned())
}

/// The folder's file system, by the name that the kernel has for it.
fn file_system(folder: &Path) -> anyhow::Result<String> {
    let folder = folder.canonicalize()?;
    let mounts = std::fs::read_to_string("/proc/self/mounts")?;
    let of = |line: &str| {
        let mut words = line.split(' ').skip(1);
        Some((words.next()?.to_owned(), words.next()?.to_owned()))
    };
    let mounts = mounts.lines().filter_map(of).filter(|(at, _)| folder.starts_with(at));
    Ok(mounts.max_by_key(|(at, _)| at.len()).map_or_else(|| "unknown".to_owned(), |(_, kind)| kind))
}

pub(crate) fn figure(stage: &Stage) -> anyhow::Result<String> {
    let cores = std::thread::available_parallelism()?;
    let memory: f64 = line_of("/proc/meminfo", "MemTotal")?.trim_end_matches(" kB").parse()?;
    let load = std::fs::read_to_string("/proc/loadavg")?;
    let load = load.split(' ').take(3).collect::<Vec<_>>().join(", ");
    let told = |name: &str| given(name).map(|value| value.display().to_string());
    let row = |what: &str, is: String| vec![what.to_owned(), is];
    Ok(table(
        &["", ""],
        &[
            row("measured", told("FIGURES_DATE")?),
            row("commit", told("FIGURES_COMMIT")?),
            row("processor", format!("{}, {cores} cores", line_of("/proc/cpuinfo", "model name")?)),
            row("memory", format!("{:.0} GiB", memory / 1024.0 / 1024.0)),
            row("kernel", std::fs::read_to_string("/proc/sys/kernel/osrelease")?.trim().to_owned()),
            row("file system", file_system(stage.path())?),
            row("`fdatasync` of 32 KiB, ms", synchronised(stage.path())?.told()),
            row("load when it began", load),
            row("built by", told("FIGURES_RUSTC")?),
            row("peers", told("FIGURES_PEERS")?),
        ],
    ))
}
