//! The `phasegate` binary. Everything it does is in the library, in [`phasegate::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    phasegate::cli::main()
}
