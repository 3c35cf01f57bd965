//! Stories over real HTTP and real git: what a maintainer would see if they tried it on GitHub.

mod law;
mod stage;
mod tokens;
mod tour;
mod travel;
mod wires;
