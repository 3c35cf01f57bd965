//! `evidence.html`: all that the ledger knows of a change, on one page that needs nothing else.
//!
//! It is made of records and nothing else, so it can be made again from them, and nobody reads anything back from it.
//! Whatever is in it was written by somebody: it is text, and there is no script, no form, and nothing that is fetched.
//! It has a size that it does not pass, however long the change's story is: what is left out says where it stands.

mod bundle;
mod history;
mod html;
mod log;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt::Write as _;

pub use bundle::{bundle, is_ours};
pub use html::content_security_policy;
use html::{code, finding, link, prose, safe, shell, table};

use super::text::{Links, counted, marks};
use crate::finding::{Finding, GateName, Verdict};
use crate::flow::Phase;
use crate::flow::pipeline::{self, words};
use crate::gate::first;
use crate::ids::{ChangeNumber, CommitId, Digest, RepoId, Slug};
use crate::ledger::{Body, Pages, Record, State, evidence_page, log_path, manifest_path};
use crate::runner::artefact::{Artefact, Subject};

/// A change's page beside its records, at most. It is written with each gate run.
const MOST_BYTES: usize = 256 * 1024;
/// The page of one run, at most: it stands beside the run's log, which may be larger.
const MOST_BYTES_OF_A_RUN: usize = 4 * 1024 * 1024;

/// Where a repository is on GitHub, for links.
#[derive(Debug, Clone, Copy)]
pub struct Home<'a> {
    /// Where GitHub's pages are, without a slash at the end.
    pub server: &'a str,
    pub slug: &'a Slug,
    /// The ledger's branch; empty where no ledger is known.
    pub ledger: &'a str,
    /// The change; 0 where it is known of no pull request.
    pub change: u64,
}

impl Home<'_> {
    fn at(&self, path: &str) -> String {
        format!("{}/{}/{path}", self.server, self.slug)
    }

    fn commit(&self, id: &CommitId) -> String {
        self.at(&format!("commit/{id}"))
    }

    fn pull(&self, number: u64) -> String {
        self.at(&format!("pull/{number}"))
    }

    fn issue(&self, number: u64) -> String {
        self.at(&format!("issues/{number}"))
    }

    fn comment(&self, on: u64, comment: u64) -> String {
        self.at(&format!("issues/{on}#issuecomment-{comment}"))
    }

    fn review(&self, id: u64) -> String {
        self.at(&format!("pull/{}#pullrequestreview-{id}", self.change))
    }

    fn check_run(&self, id: u64) -> String {
        self.at(&format!("runs/{id}"))
    }

    fn workflow_run(&self, id: u64) -> String {
        self.at(&format!("actions/runs/{id}"))
    }

    fn attempt(&self, id: u64, attempt: u32) -> String {
        self.at(&format!("actions/runs/{id}/attempts/{attempt}"))
    }

    fn manifest(&self, manifest: &Digest) -> String {
        self.on_ledger(&manifest_path(ChangeNumber(self.change), manifest))
    }

    fn log(&self, log: &Digest) -> String {
        self.on_ledger(&log_path(ChangeNumber(self.change), log))
    }

    fn on_ledger(&self, path: &str) -> String {
        on_ledger(self.server, self.slug, self.ledger, path)
    }

    /// Where a finding's file can be read, at this commit.
    fn line(&self, head: &str, finding: &Finding) -> Option<String> {
        let path = finding.path.as_ref().filter(|path| path.len() <= 300)?;
        Some(Links::read_at(self.server, self.slug, head, path, finding.line))
    }

    /// The same of a run: what was checked out, else the head.
    fn place(&self, subject: &Subject, finding: &Finding) -> Option<String> {
        let at = subject.head.as_ref().or(subject.checkout.as_ref())?;
        self.line(at.as_str(), finding)
    }
}

fn on_ledger(server: &str, slug: &Slug, branch: &str, path: &str) -> String {
    Links::read_at(server, slug, branch, path, None)
}

/// Where a change's page is on the ledger's branch. GitHub shows the source of it there.
pub fn source(server: &str, slug: &Slug, branch: &str, change: ChangeNumber) -> String {
    on_ledger(server, slug, branch, &evidence_page(change))
}

/// What is left of a page.
struct Room(usize);

impl Room {
    /// A part, or what stands in its place where there is no room for it.
    fn of(&mut self, part: impl FnOnce() -> String, instead: impl FnOnce() -> String) -> String {
        let part = if self.0 == 0 { None } else { Some(part()).filter(|part| part.len() <= self.0) };
        let part = part.unwrap_or_else(|| {
            // Nothing after it has room either: a page is not to have holes that nobody expects.
            self.0 = 0;
            instead()
        });
        self.0 = self.0.saturating_sub(part.len());
        part
    }
}

/// What a change's page is made of.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    pub home: Home<'a>,
    pub state: &'a State,
    /// The records that were read, the oldest first: all, or the newest of them.
    pub records: &'a [Record],
    /// The execution logs that were taken in, the newest first.
    pub logs: &'a [Artefact],
    /// The records are signed by nobody.
    pub advisory: bool,
}

/// The page of a change.
pub fn change(known: &Known<'_>) -> String {
    let Known { home, state, records, logs, advisory } = known;
    let title = format!("{} {}", home.slug, state.change);
    let mut body = format!(
        "<h1>{} {}</h1>",
        safe(&home.slug.to_string()),
        link(&home.pull(state.change.0), &state.change.to_string())
    );
    body.push_str(&standing(state));
    if *advisory {
        body.push_str("<p class=\"wait\">Advisory: anyone who can push a workflow could have written these records. They are no gate.</p>");
    }
    if let Some(about) = &state.subject {
        body.push_str(&history::subject(about, home));
    }
    // With logs it is made for whoever asks, and not kept.
    let most = if logs.is_empty() { MOST_BYTES } else { MOST_BYTES_OF_A_RUN };
    let mut room = Room(most.saturating_sub(body.len() + 16 * 1024));
    body.push_str(
        &room.of(|| what_first(state, home), || "<p>There is no room for what stands against it.</p>".to_owned()),
    );
    body.push_str(&room.of(|| gates(state, records, home), String::new));
    if !logs.is_empty() {
        body.push_str("<h2 id=\"logs\">Execution logs</h2>");
        for one in *logs {
            let _ = write!(body, "<h3>{}</h3>", log::title(one));
            body.push_str(&log::log(one, Some(home), 4, &mut room));
        }
    }
    body.push_str(&told(known, &mut room));
    let (seq, tip) = state.newest();
    let footer = format!(
        "Made by Phasegate {} from the records of this change, up to {seq} ({}). Nothing is read back from this page: \
         {} proves the records themselves.",
        env!("CARGO_PKG_VERSION"),
        code(tip.as_str()),
        code(&format!("phasegate replay {}", state.change.0))
    );
    shell(&title, &body, &footer)
}

/// Where it is.
fn standing(state: &State) -> String {
    let stage =
        state.pipeline.as_ref().map_or_else(|| state.merge.as_str().to_owned(), |pipeline| words(pipeline.stage));
    let around = state.merged.as_ref().is_some_and(|merged| !merged.bypassed.is_empty());
    let merge = state.gates.get(&GateName::Merge).map(|judged| judged.verdict);
    let (class, said) = match (&state.merged, state.open, merge) {
        (Some(_), ..) if around => ("bad", "merged around the gate".to_owned()),
        (Some(_), ..) => ("ok", format!("merged; {stage}")),
        (None, false, _) => ("wait", "closed".to_owned()),
        (None, true, _) if state.stopped.is_some() => ("bad", format!("stopped; {stage}")),
        (None, true, Some(Verdict::Pass)) => ("ok", format!("may merge; {stage}")),
        (None, true, _) => ("wait", stage),
    };
    let mut out = format!("<div class=\"verdict {class}\"><b>{}</b>", safe(&said));
    if let Some(pipeline) = &state.pipeline {
        let _ = write!(out, "<p>{}</p>{}", safe(&marks(pipeline)), failed(pipeline));
    }
    if let Some(stop) = &state.stopped {
        for stop in [stop].into_iter().chain(&stop.also) {
            let _ = write!(out, "<p>{}</p>", prose(&format!("It is stopped: {}", stop.reason)));
        }
    }
    let _ = write!(
        out,
        "<p class=\"sub\">by {} · flow {} · autonomy {}</p></div>",
        history::person(&state.author),
        state.flow,
        state.autonomy.as_str()
    );
    out
}

fn failed(pipeline: &pipeline::State) -> String {
    let said = pipeline.phase().and_then(|phase| Some((phase, counted(pipeline, phase)?)));
    said.map(|(phase, said)| format!("<p>{}: {}.</p>", phase.as_str().to_uppercase(), safe(&said))).unwrap_or_default()
}

fn what_first(state: &State, home: &Home<'_>) -> String {
    let mut findings = first::against(state);
    let phase = state.pipeline.as_ref().and_then(|pipeline| pipeline.phase());
    if state.merged.is_some() && phase == Some(Phase::Deploy) {
        // Merged is not delivered.
        let judged = state.gates.get(&GateName::Phase(Phase::Deploy)).filter(|judged| judged.verdict == Verdict::Fail);
        findings = first::first_things_first(judged.iter().flat_map(|judged| judged.findings.clone()));
    }
    let mut out = "<h2 id=\"first\">What to do first</h2>".to_owned();
    if findings.is_empty() {
        let over = if state.open { "Nothing stands against merging it." } else { "Nothing: it is not open any more." };
        let _ = write!(out, "<p>{over}</p>");
        return out;
    }
    if let Some(phase) = first::unrecorded(state) {
        let checks = home.at(&format!("pull/{}/checks", state.change.0));
        let _ = write!(
            out,
            "<p>{} waits. What for stands in its check {}, and here once it has passed or failed.</p>",
            phase.as_str().to_uppercase(),
            link(&checks, &code(&format!("phasegate/{phase}")))
        );
    }
    let head = state.subject.as_ref().map(|about| about.head.as_str());
    let each = findings.iter().map(|one| finding(one, head.and_then(|head| home.line(head, one))));
    let _ = write!(out, "<ol>{}</ol>", each.collect::<String>());
    out
}

/// Each gate's newest verdict with what it was judged on and what was counted.
fn gates(state: &State, records: &[Record], home: &Home<'_>) -> String {
    let mut out = "<h2 id=\"gates\">Gates</h2>".to_owned();
    if state.gates.is_empty() {
        out.push_str("<p>No gate was judged yet.</p>");
        return out;
    }
    let seq = |gate: GateName| {
        let of = |record: &&Record| matches!(&record.body, Body::Judged { gate: one, .. } if *one == gate);
        records.iter().rev().find(of).map(|record| record.seq.to_string()).unwrap_or_default()
    };
    let rows = state.gates.iter().map(|(gate, judged)| {
        vec![
            format!("<b>{}</b>", gate.as_str().to_uppercase()),
            history::came_to(judged.verdict, &judged.findings).to_owned(),
            seq(*gate),
            link(&home.commit(&judged.about.head), &code(judged.about.head.short())),
            code(judged.about.content.short()),
        ]
    });
    out.push_str(&table(&["gate", "verdict", "record", "head", "content"], rows));
    if let Some(frozen) = &state.frozen {
        let of = Home { change: frozen.of.0, ..*home };
        let _ = write!(
            out,
            "<p>Frozen: {} files at {}, manifest {}.</p>",
            frozen.files,
            link(&home.commit(&frozen.head), &code(frozen.head.short())),
            link(&of.manifest(&frozen.manifest), &code(frozen.manifest.short()))
        );
    }
    for (gate, judged) in &state.gates {
        if !judged.evidence.is_empty() {
            let _ = write!(
                out,
                "<h3>{}: what was counted</h3>{}",
                gate.as_str().to_uppercase(),
                history::evidence(&judged.evidence, home)
            );
        }
    }
    out
}

/// The records in their order. Where there is no room for all of them, the newest are there.
fn told(known: &Known<'_>, room: &mut Room) -> String {
    let Known { home, records, .. } = known;
    let mut seen = BTreeSet::new();
    let mut shown = Vec::new();
    let mut left_out = records.first().map_or(0, |record| record.seq.saturating_sub(1));
    for record in records.iter().rev() {
        let newest = match &record.body {
            Body::Judged { gate, .. } => seen.insert(*gate),
            Body::Shown { .. } => continue,
            _ => false,
        };
        let part = room.of(|| history::entry(record, newest, home), String::new);
        if part.is_empty() {
            left_out = record.seq;
            break;
        }
        shown.push(part);
    }
    let mut out = "<h2 id=\"records\">Records</h2>".to_owned();
    if left_out > 0 {
        let to = home.on_ledger(&crate::ledger::folder(ChangeNumber(home.change)));
        let _ = write!(
            out,
            "<p>Up to record {left_out} they stand {} alone.</p>",
            link(&to.replacen("/blob/", "/tree/", 1), "on the ledger")
        );
    }
    out.extend(shown.into_iter().rev());
    out
}

/// The page of one run of a gate's commands.
pub fn run(log: &Artefact, home: Option<&Home<'_>>) -> String {
    let mut body = log::heading(log, home);
    let mut room = Room(MOST_BYTES_OF_A_RUN);
    body.push_str(&log::log(log, home, 2, &mut room));
    let footer = format!(
        "Made by Phasegate {} from {}, which stands beside it. It was written next to code of the change: it is a claim, \
         and the job's own conclusion is what decides.",
        safe(&log.phasegate),
        code(crate::runner::artefact::FILE)
    );
    shell(&format!("{} of {}", log.gate.as_str().to_uppercase(), log.module_id), &body, &footer)
}

/// Makes the pages that a ledger writes beside its records.
#[derive(Debug, Clone)]
pub struct Painter {
    pub server: String,
    pub slug: Slug,
    pub branch: String,
    pub advisory: bool,
}

impl Painter {
    pub fn paint(&self, state: &State, records: &[Record], logs: &[Artefact]) -> String {
        let Self { server, slug, branch, advisory } = self;
        let home = Home { server, slug, ledger: branch, change: state.change.0 };
        change(&Known { home, state, records, logs, advisory: *advisory })
    }
}

impl Pages for Painter {
    fn page(&self, state: &State, records: &[Record]) -> String {
        self.paint(state, records, &[])
    }

    fn record(&self, state: &State) -> Option<String> {
        super::change_record(state)
    }

    fn escalation(&self, repo: RepoId, state: &State, records: &[Record]) -> Option<String> {
        super::artefact::text(self, repo, state, records)
    }
}
