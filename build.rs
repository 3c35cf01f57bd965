//! Builds for development have fault points (`src/fault.rs`), those for release have none. The compiler's own
//! `debug_assertions` is no mark of that: `Cargo.toml` turns it off for the tests' sake.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(fault_points)");
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        println!("cargo::rustc-cfg=fault_points");
    }
}
