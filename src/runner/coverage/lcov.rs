//! LCOV, as `geninfo`, cargo-llvm-cov, c8, jest, coverage.py and their kin write it: a block of lines for each source file.

use super::{Tally, is_hit, number};

/// What a block tells of its file.
struct Block {
    file: u32,
    /// It names its lines, so that numbers of them are of no use.
    has_lines: bool,
    lines: u32,
    covered: u32,
}

pub(super) fn read(text: &str, tally: &mut Tally<'_>) -> Result<(), String> {
    let mut open: Option<Block> = None;
    let mut is_one = false;
    for (at, line) in text.lines().enumerate() {
        let told = |why: String| format!("its line {}: {why}", at + 1);
        let line = line.trim();
        let (key, value) = line.split_once(':').unwrap_or((line, ""));
        match (key, &mut open) {
            ("SF", None) => {
                is_one = true;
                open = Some(Block { file: tally.file(value, &[]), has_lines: false, lines: 0, covered: 0 });
            }
            ("SF", Some(_)) => return Err(told("a file begins before the last one has ended".to_owned())),
            ("DA", Some(block)) => {
                let mut parts = value.split(',');
                let mut part = || parts.next().unwrap_or_default();
                let (at, hits) = (number(part()).map_err(told)?, is_hit(part()).map_err(told)?);
                tally.line(block.file, at, hits);
                block.has_lines = true;
            }
            ("LF", Some(block)) => block.lines = number(value).map_err(told)?,
            ("LH", Some(block)) => block.covered = number(value).map_err(told)?,
            ("end_of_record", Some(_)) => {
                if let Some(block) = open.take() {
                    end(&block, tally).map_err(told)?;
                }
            }
            ("DA" | "LF" | "LH" | "end_of_record", None) => return Err(told("it is of no file".to_owned())),
            _ => {}
        }
    }
    match (open, is_one) {
        // Whoever wrote it was ended, and the rest is not there.
        (Some(_), _) => Err("it ends in the middle of a file".to_owned()),
        (None, false) => Err("it is neither LCOV nor Cobertura's XML".to_owned()),
        (None, true) => Ok(()),
    }
}

fn end(block: &Block, tally: &mut Tally<'_>) -> Result<(), String> {
    if block.has_lines {
        return Ok(());
    }
    if block.covered > block.lines {
        return Err(format!("{} lines are reached of {}", block.covered, block.lines));
    }
    tally.count(block.file, block.lines, block.covered);
    Ok(())
}
