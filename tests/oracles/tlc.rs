//! TLC, the model checker of TLA+, on what `phasegate flow export --out` writes.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::{oracle, phasegate};

/// Everything that TLC needs for this flow, as the command line writes it.
pub(super) fn exported(flow: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    phasegate(&["flow", "export", flow, "--format", "tla", "--out", folder.path().to_str().unwrap()]);
    folder
}

/// What TLC says, whether it found something or not.
pub(super) fn tlc(folder: &Path, config: &str, module: &str) -> String {
    let output = Command::new("java")
        .current_dir(folder)
        // TLC puts its own modules there: in a folder that is shared, two of them write the same file.
        .arg(format!("-Djava.io.tmpdir={}", folder.display()))
        // It is over before a better compiler pays.
        .args(["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx512m", "-cp"])
        .arg(oracle("PHASEGATE_TLA2TOOLS"))
        // Ends (`PipelineComplete`, `Merged`) are no deadlocks: -deadlock says not to look for those.
        .args(["tlc2.TLC", "-deadlock", "-workers", "1", "-config", config, module])
        .output()
        .unwrap_or_else(|error| panic!("java does not start: {error}"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("TLC2 Version"), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    said
}

/// How far TLC got: different states, steps that led to them (with the first ones), and states on the longest way.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Walked {
    pub(super) states: usize,
    pub(super) steps: usize,
    pub(super) depth: usize,
}

impl Walked {
    /// As TLC counted, when it has found no error and left nothing out.
    pub(super) fn by(said: &str) -> Self {
        assert!(said.contains("No error has been found"), "{said}");
        let line = |end: &str| said.lines().find(|line| line.ends_with(end)).unwrap_or_else(|| panic!("{said}"));
        let number = |word: &str| word.parse().unwrap_or_else(|_| panic!("{word} in {said}"));
        let counts: Vec<&str> = line(" distinct states found, 0 states left on queue.").split(' ').collect();
        let [steps, "states", "generated,", states, ..] = counts[..] else { panic!("{counts:?}") };
        let depth = said.split("state graph search is ").nth(1).and_then(|rest| rest.split('.').next());
        Self { states: number(states), steps: number(steps), depth: number(depth.unwrap_or("no depth")) }
    }

    /// As `docs/model.md` has it, which the exploration in Rust is held against.
    pub(super) fn in_rust(exploration: &str) -> Self {
        let paper = include_str!("../../docs/model.md");
        let start = format!("| law: {exploration} |");
        let row = paper.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("no {start} there"));
        let cells: Vec<String> = row.split('|').map(|cell| cell.trim().replace(',', "")).collect();
        let [.., states, steps, depth, _] = &cells[..] else { panic!("{row}") };
        let number = |cell: &String| cell.parse().unwrap_or_else(|_| panic!("{cell} in {row}"));
        Self { states: number(states), steps: number(steps), depth: number(depth) }
    }
}

/// The steps of the way to what TLC found, by their names in the module.
pub(super) fn way(said: &str) -> Vec<&str> {
    said.lines()
        .filter_map(|line| line.strip_prefix("State ")?.split_once(": <")?.1.split_once(" line "))
        .map(|(step, _)| step)
        .collect()
}
