//! The figures of `docs/benchmarks.md`. `benches/run.sh` builds what they need, and runs this.
//!
//! Each figure is a Markdown table, printed as soon as it is measured. When all of them were, they replace those on the
//! page, each between its two marks; with `--page` so do some of them.

mod calls;
mod decide;
mod frozen;
mod load;
mod machine;
mod memory;
mod page;
mod process;
mod run;
mod stage;
mod start;
mod stats;
mod tree;
mod webhooks;

use std::io::Write as _;
use std::time::Duration;

use anyhow::bail;

use stage::Stage;

/// How much is measured.
pub(crate) struct Size {
    pub(crate) warm_up: Duration,
    pub(crate) round: Duration,
    /// How often each takes its turn.
    pub(crate) rounds: usize,
    /// How many deliveries memory is watched over.
    pub(crate) deliveries: u64,
    /// How many records the largest ledger has.
    pub(crate) records: u64,
    /// How often each action is started.
    pub(crate) starts: usize,
    /// How often a change's life is played.
    pub(crate) lives: usize,
    /// How many files the two repositories have, and how often each is looked at.
    pub(crate) files: [usize; 2],
    pub(crate) looks: usize,
    /// How many files the repositories have whose tests are frozen, each ten times the one before.
    pub(crate) frozen: [usize; 3],
}

const FULL: Size = Size {
    warm_up: Duration::from_secs(3),
    round: Duration::from_secs(2),
    rounds: 5,
    deliveries: 100_000,
    records: 10_000,
    starts: 15,
    lives: 3,
    files: [10_000, 100_000],
    looks: 5,
    frozen: [1_000, 10_000, 100_000],
};

/// To try whether all of it works. Its numbers are worth nothing.
const QUICK: Size = Size {
    warm_up: Duration::from_millis(500),
    round: Duration::from_millis(500),
    rounds: 2,
    deliveries: 2_000,
    records: 1_000,
    starts: 2,
    lives: 1,
    files: [1_000, 2_000],
    looks: 1,
    frozen: [1_000, 2_000, 4_000],
};

const FIGURES: [&str; 9] = ["machine", "webhooks", "memory", "calls", "decide", "start", "run", "tree", "frozen"];

fn main() -> anyhow::Result<()> {
    // Cargo adds `--bench`.
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let (flags, named): (Vec<&str>, Vec<&str>) = args.iter().map(String::as_str).partition(|arg| arg.starts_with('-'));
    if let Some(wrong) = named.iter().find(|name| !FIGURES.contains(name)) {
        bail!("{wrong} is no figure; there are: {}", FIGURES.join(", "));
    }
    if let Some(wrong) = flags.iter().find(|flag| !["--quick", "--page"].contains(flag)) {
        bail!("{wrong} is not known; there are --quick, --page, and the names of figures: {}", FIGURES.join(", "));
    }
    let quick = flags.contains(&"--quick");
    let size = if quick { QUICK } else { FULL };
    let stage = Stage::new(&stage::root().join("target"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut measured = Vec::new();
    for name in FIGURES.into_iter().filter(|name| named.is_empty() || named.contains(name)) {
        let table = runtime.block_on(figure(name, &stage, &size))?;
        let mut out = std::io::stdout().lock();
        writeln!(out, "\n## {name}\n\n{table}")?;
        out.flush()?;
        measured.push((name, table));
    }
    stage.end();
    if !quick && (named.is_empty() || flags.contains(&"--page")) {
        page::write(&stage::root().join("docs/benchmarks.md"), &measured)?;
    }
    Ok(())
}

async fn figure(name: &str, stage: &Stage, size: &Size) -> anyhow::Result<String> {
    match name {
        "machine" => machine::figure(stage),
        "webhooks" => webhooks::figure(stage, size).await,
        "memory" => memory::figure(stage, size).await,
        "calls" => calls::figure(size).await,
        "decide" => decide::figure(stage, size).await,
        "start" => start::figure(stage, size),
        "run" => run::figure(stage, size),
        "tree" => tree::figure(stage, size),
        "frozen" => frozen::figure(stage, size),
        other => bail!("{other} is no figure"),
    }
}
