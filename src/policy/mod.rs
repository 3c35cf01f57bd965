//! The policy: what a repository asks for, in `.github/phasegate.yml` at the tip of its default branch.
//!
//! This room turns the bytes of that file into a [`Policy`], or into every mistake in it at once, each with its line
//! and what to do. It promises:
//!
//! - nothing is silently accepted: an unknown key, a word of a later version or a doubled key is a [`Problem`];
//! - the file is hostile input: size, depth and elements are bounded, and invisible characters are refused;
//! - a rule by branch or label can only tighten (see [`Policy::effective`]);
//! - two files that say the same have the same [`Policy::digest`].
//!
//! It reads no repository: which commit's file is the law is decided by whoever calls [`parse`].

mod decode;
#[cfg(test)]
mod gates_tests;
mod law;
mod problem;
mod read;
mod render;
mod sight;
#[cfg(test)]
mod tests;
mod types;
pub(crate) mod yaml;

pub(crate) use decode::{Decoder, Fields, Spot};
pub use law::{Declared, Effective, glob, globs, is_glob};
pub use problem::{Finding, Problem, Report};
pub use render::render_problems;
pub use sight::{Sight, folded};
pub use types::{
    Account, Adapter, Agent, Agents, Approver, Autonomy, Axes, Base, Budget, Build, Check, Commands, Completeness,
    Confine, Deploy, Deploying, Earned, Enforce, Escalating, Flow, Freeze, Gates, Labels, Ledger, Limits, Log,
    LogWrite, MadeBy, MatchRule, Merge, Mode, Network, Pack, People, Policy, Proofs, Queue, Reconciling, Remind,
    Repairs, Require, Reviewing, Risk, Role, RunGate, Runs, Size, Slices, Snapshots, Source, Start, Tier, TighterMode,
    Timeout, Verify, Weakening, Who, security,
};
pub(crate) use types::{Word, words};

/// Where the policy stands in a repository.
pub const PATH: &str = ".github/phasegate.yml";

/// Where the Action's key is kept. GitHub notes each job of an environment as a deployment of the commit that it ran on, and
/// that of the referee deploys nothing.
pub const OWN_ENVIRONMENT: &str = "phasegate";

/// Where it does not stand, though somebody meant it to.
pub const MISNAMED: &str = ".github/phasegate.yaml";

/// What is wrong with a policy at [`MISNAMED`]: nothing is asked for, and nobody would notice.
pub fn misnamed() -> Problem {
    let says = format!("The policy is read from `{PATH}`, and not from this file.");
    Problem::at(yaml::At::START, "", says, format!("Rename it to `{PATH}`."))
}

/// Reads a policy file. An empty file means all defaults, and is judged like one that spells them out.
pub fn parse(bytes: &[u8]) -> Result<Policy, Vec<Problem>> {
    let (policy, problems) = inspect(bytes);
    policy.ok_or(problems)
}

/// The same with what is valid and hardly meant: warnings come with a policy, errors without.
pub fn inspect(bytes: &[u8]) -> (Option<Policy>, Vec<Problem>) {
    let (policy, mut problems) = rooted(bytes, read::policy);
    problems.truncate(problem::MAX_PROBLEMS);
    let valid = !problems.iter().any(Problem::is_error);
    (policy.filter(|_| valid), problems)
}

/// Reads another text of people's in the same strict way. The problems' lines are those of the text.
pub(crate) fn strictly<T>(text: &str, read: impl FnOnce(&mut Decoder, &Spot<'_>) -> T) -> Result<T, Vec<Problem>> {
    let (value, problems) = rooted(text.as_bytes(), read);
    value.filter(|_| problems.is_empty()).ok_or(problems)
}

/// What is read from the root of the tree, and what is wrong with it, in order.
fn rooted<T>(bytes: &[u8], read: impl FnOnce(&mut Decoder, &Spot<'_>) -> T) -> (Option<T>, Vec<Problem>) {
    let mut d = Decoder::default();
    let value = match yaml::text(bytes).and_then(|text| yaml::tree(text, &mut d.problems)) {
        Ok(tree) => {
            let empty = yaml::Node { at: yaml::At::START, kind: yaml::Kind::Map(Vec::new()) };
            let root = tree.filter(|node| !node.is_nothing()).unwrap_or(empty);
            Some(read(&mut d, &Spot { node: &root, path: String::new(), key: root.at }))
        }
        Err(problem) => {
            d.problems.push(problem);
            None
        }
    };
    let mut problems = d.problems;
    problems.sort_by_key(|p| (p.line, p.column));
    (value, problems)
}

/// A warning where no workflow of the checks that count runs `gates.build.run`: then these stop nothing. `workflow` gives a file's text;
/// of a check that an App makes nobody knows.
pub fn unrun(bytes: &[u8], workflow: &dyn Fn(&str) -> Option<String>) -> Option<Problem> {
    let policy = parse(bytes).ok()?;
    let checks = &policy.gates.verify.checks;
    if policy.gates.build.run.is_empty() || !policy.gates.verify.has(Source::Checks) || checks.is_empty() {
        return None;
    }
    let runs = |text: String| {
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        flat.contains("run build")
            || flat.contains("gate: build")
            || flat.contains("gate: 'build'")
            || flat.contains("gate: \"build\"")
    };
    let may_run = |check: &Check| match &check.workflow {
        Some(path) => workflow(path).is_some_and(runs),
        None => true,
    };
    if checks.iter().any(may_run) {
        return None;
    }
    let at = rooted(bytes, read::build_run).0.flatten()?;
    let says = "nothing that counts runs these: no workflow under `gates.verify.checks` has `phasegate run build`";
    let next = "Name a job that runs it under `gates.verify.checks`; or let `gates.verify.run` do it, and remove these";
    Some(Problem { severity: "warning", ..Problem::at(at, "gates.build.run", says, next) })
}

/// The findings about a policy file, for `config check`.
pub fn check(bytes: &[u8]) -> Report {
    Report::new(&inspect(bytes).1)
}

/// The ledger's branch with its line, out of a file that may be invalid elsewhere: a slip in one key must not make the
/// records look lost. `None`: the file does not name one that could be used.
pub fn ledger_branch(bytes: &[u8]) -> Option<(String, u32)> {
    let mut d = decode::Decoder::default();
    let tree = yaml::tree(yaml::text(bytes).ok()?, &mut d.problems).ok()??;
    let spot = decode::Spot { node: &tree, path: String::new(), key: tree.at };
    read::ledger(&mut d, &spot)
}
