//! What others make of what we write: programs and libraries that nobody here wrote.
//!
//! `tests/run.sh` fetches them, pinned, and says where they are. Without it these tests fail and say so; none is skipped.

#![allow(clippy::unwrap_used, reason = "a test that can not go on has failed")]

mod browser;
mod canonical;
mod description;
#[path = "../support/desk.rs"]
mod desk;
mod emulate;
#[path = "../support/emulator.rs"]
mod emulator;
mod evidence;
mod flow;
#[path = "../support/greeting.rs"]
mod greeting;
mod law;
mod linters;
mod mcp;
mod schema;
mod tlc;
mod tokens;
#[path = "../support/told.rs"]
mod told;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Where `tests/run.sh` has put something.
fn oracle(variable: &str) -> PathBuf {
    let path = std::env::var_os(variable).map(PathBuf::from).unwrap_or_else(|| {
        panic!("{variable} is not set: run the tests through tests/run.sh, which fetches what they compare with")
    });
    assert!(path.exists(), "{variable} = {}: there is nothing", path.display());
    path
}

/// Runs a program to its end and answers what it wrote.
fn ask(command: &mut Command, input: &str) -> String {
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{name} does not start: {error}"));
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    // A program that reads nothing may leave first.
    let _ = writer.join().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{name}: {}\n{out}\n{err}", output.status);
    out.into_owned()
}

/// A script of this folder, run by Node with a package's folder as its argument.
fn node(script: &str, package: &str, input: &str) -> String {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/oracles").join(script);
    ask(Command::new("node").arg(script).arg(oracle(package)), input)
}

fn phasegate(args: &[&str]) -> String {
    ask(Command::new(env!("CARGO_BIN_EXE_phasegate")).args(args), "")
}
