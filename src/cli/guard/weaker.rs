//! `phasegate guard weaker`: what got weaker in the tests that a change touches. Nothing is guessed: what could not be read is
//! said, and then there is no verdict of PASS.

use std::fmt::Write as _;

use owo_colors::OwoColorize as _;
use serde::Serialize;

use super::super::check::{self, Told};
use super::super::{Exit, out};
use crate::gate::{Finding, Severity, Verdict, verdict};
use crate::guard::weaken::{Edit, What, weakened};
use crate::ids::CommitId;
use crate::policy::Policy;
use crate::repo::LocalRepo;

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    /// None: nothing was found, and not all of it could be read.
    verdict: Option<Verdict>,
    base: CommitId,
    head: CommitId,
    /// Changed test files that were compared.
    files: usize,
    /// Those of them that were there before and are there now.
    edited: usize,
    /// Tests in them that are new, gone or not as they were.
    tests: usize,
    /// Changed files among the tests that are of no language that is read.
    others: usize,
    findings: Vec<Kinded>,
    /// What of the tests that were there before is not as it was. It is nothing weaker by itself, and counts for no verdict.
    edits: Vec<Edited>,
    unread: Vec<Unread>,
}

#[derive(Serialize)]
struct Edited {
    path: String,
    line: Option<u32>,
    says: String,
}

/// A finding and in which way the test is weaker.
#[derive(Serialize)]
struct Kinded {
    #[serde(flatten)]
    told: Told,
    kind: What,
}

#[derive(Serialize)]
struct Unread {
    path: String,
    why: String,
}

pub(super) fn run(
    repo: &LocalRepo,
    policy: &Policy,
    (base, head): (CommitId, CommitId),
    json: bool,
) -> anyhow::Result<Exit> {
    let weakened = weakened(repo, policy, (&base, &head))?;
    let found = weakened.found.iter().map(|found| (found.finding(Severity::Error), found.weaker.what));
    let (findings, kinds): (Vec<Finding>, Vec<What>) = found.unzip();
    let unread: Vec<Unread> =
        weakened.unread.into_iter().map(|unread| Unread { path: unread.path, why: unread.why }).collect();
    let edits: Vec<Edited> =
        weakened.edits.into_iter().map(|Edit { path, line, says, .. }| Edited { path, line, says }).collect();
    let failed = verdict(&findings) == Verdict::Fail;
    let ended = match (failed, unread.is_empty()) {
        (true, _) => Some(Verdict::Fail),
        (false, true) => Some(Verdict::Pass),
        (false, false) => None,
    };
    let (files, edited, tests, others) = (weakened.files, weakened.edited, weakened.tests, weakened.others);
    if json {
        let findings =
            findings.into_iter().map(Told::from).zip(kinds).map(|(told, kind)| Kinded { told, kind }).collect();
        let schema = "phasegate/weaker@1";
        out::json(&Report {
            schema,
            verdict: ended,
            base,
            head,
            files,
            edited,
            tests,
            others,
            findings,
            edits,
            unread,
        })?;
    } else {
        let end = ended.map_or_else(|| "UNKNOWN".yellow().to_string(), check::coloured);
        let mut shown = format!("{} {end} {files} changed test files at {}", "WEAKER".bold(), head.short());
        if others > 0 {
            let _ = write!(shown, ", and {others} that are of no language that is read");
        }
        shown.push('\n');
        shown.push_str(&check::lines(&findings));
        if !edits.is_empty() {
            shown.push_str("  Of the tests that were there before, this is not as it was; so the change does not pass by itself:\n");
        }
        for Edited { path, line, says } in &edits {
            let place = line.map(|line| format!(":{line}")).unwrap_or_default();
            let _ = writeln!(shown, "    {}{place} {}", out::plain(path), out::plain(says));
        }
        for Unread { path, why } in &unread {
            let _ = writeln!(shown, "  {} {}: {}", "unread".yellow(), out::plain(path), out::plain(why));
        }
        out::text(&shown)?;
    }
    Ok(ended.map_or(Exit::Usage, |verdict| Exit::found(verdict == Verdict::Fail)))
}
