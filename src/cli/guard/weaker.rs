//! `phasegate guard weaker`: what got weaker in the tests that a change touches. Nothing is guessed: what could not be read is
//! said, and then there is no verdict of PASS.

use std::fmt::Write as _;

use owo_colors::OwoColorize as _;
use serde::Serialize;

use super::super::check::{self, Told};
use super::super::{Exit, out};
use crate::gate::{Finding, Verdict, verdict};
use crate::guard::parse::Language;
use crate::guard::set::{self, Added};
use crate::guard::weaken::{Weaker, weaker_all};
use crate::ids::{BlobId, CommitId};
use crate::policy::Policy;
use crate::repo::{Error, LocalRepo, Mode, Reader as _, RepoPath};

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    /// None: nothing was found, and not all of it could be read.
    verdict: Option<Verdict>,
    base: CommitId,
    head: CommitId,
    /// Changed test files that were compared.
    files: usize,
    /// Changed files among the tests that are of no language that is read.
    others: usize,
    findings: Vec<Told>,
    unread: Vec<Unread>,
}

#[derive(Serialize)]
struct Unread {
    path: String,
    why: String,
}

/// A changed test file with both its texts.
struct File {
    path: String,
    old: Option<Vec<u8>>,
    new: Option<Vec<u8>>,
}

pub(super) fn run(
    repo: &LocalRepo,
    policy: &Policy,
    (base, head): (CommitId, CommitId),
    json: bool,
) -> anyhow::Result<Exit> {
    let added = Added::by(policy);
    let (mut files, mut unread, mut others) = (Vec::new(), Vec::new(), 0);
    for delta in repo.diff(&base, &head)?.iter().filter(|delta| set::is_among_tests(&delta.path, &added)) {
        let path = String::from_utf8_lossy(delta.path.as_bytes()).into_owned();
        if Language::of(&path).is_none() {
            others += 1;
            continue;
        }
        match (text(repo, &base, &delta.path, delta.old.as_ref())?, text(repo, &head, &delta.path, delta.new.as_ref())?)
        {
            (Ok(old), Ok(new)) => files.push(File { path, old, new }),
            (Err(why), _) | (_, Err(why)) => unread.push(Unread { path, why }),
        }
    }
    let changed: Vec<_> =
        files.iter().map(|file| (file.path.as_str(), file.old.as_deref(), file.new.as_deref())).collect();
    let mut findings = Vec::new();
    for (file, report) in files.iter().zip(weaker_all(&changed)) {
        findings.extend(report.found.iter().map(|weaker| finding(&file.path, weaker)));
        unread.extend(report.unread.map(|why| Unread { path: file.path.clone(), why }));
    }
    let failed = verdict(&findings) == Verdict::Fail;
    let ended = match (failed, unread.is_empty()) {
        (true, _) => Some(Verdict::Fail),
        (false, true) => Some(Verdict::Pass),
        (false, false) => None,
    };
    let compared = files.len();
    if json {
        let findings = findings.into_iter().map(Told::from).collect();
        let schema = "phasegate/weaker@1";
        out::json(&Report { schema, verdict: ended, base, head, files: compared, others, findings, unread })?;
    } else {
        let end = ended.map_or_else(|| "UNKNOWN".yellow().to_string(), check::coloured);
        let mut shown = format!("{} {end} {compared} changed test files at {}", "WEAKER".bold(), head.short());
        if others > 0 {
            let _ = write!(shown, ", and {others} that are of no language that is read");
        }
        shown.push('\n');
        shown.push_str(&check::lines(&findings));
        for Unread { path, why } in &unread {
            let _ = writeln!(shown, "  {} {}: {}", "unread".yellow(), out::plain(path), out::plain(why));
        }
        out::text(&shown)?;
    }
    Ok(ended.map_or(Exit::Usage, |verdict| Exit::found(verdict == Verdict::Fail)))
}

/// What a plain file has in it; none for what is not there, or is no plain file.
fn text(
    repo: &LocalRepo,
    at: &CommitId,
    path: &RepoPath,
    side: Option<&(Mode, BlobId)>,
) -> anyhow::Result<Result<Option<Vec<u8>>, String>> {
    if !side.is_some_and(|(mode, _)| mode.is_file()) {
        return Ok(Ok(None));
    }
    match repo.blob(at, path) {
        Ok(blob) => Ok(Ok(blob.map(|blob| blob.bytes))),
        Err(Error::TooLarge { size, cap, .. }) => Ok(Err(format!("It has {size} bytes; up to {cap} are read."))),
        Err(error) => Err(error.into()),
    }
}

fn finding(path: &str, weaker: &Weaker) -> Finding {
    let Weaker { test, line, gone, says, next, .. } = weaker;
    let of = if test == path { String::new() } else { format!("`{test}`: ") };
    // A line of a text that is not there any more would lead to another one.
    let (line, stood) =
        if *gone { (None, format!(" It stood in line {line} at the base.")) } else { (Some(*line), String::new()) };
    Finding::error("test_weakened", format!("{of}{says}{stood}"), next.clone()).at(path, line)
}
