//! The `phasegate` binary.

fn main() {}
