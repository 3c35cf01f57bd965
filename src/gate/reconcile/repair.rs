//! Documents put right: what is out of step with the code, and a machine can write down by itself.
//!
//! That is the Directory Structure and the Interfaces of the design, and where Key Links of readiness lead to. A repair is a new text for a document. It
//! is proposed only where the documents, judged again with it, have less drift and nothing else against them, so it is what
//! somebody would have written who does what the findings say.

use std::collections::BTreeSet;

use super::super::build::{self, Bench, Site, criteria, structure};
use super::super::design::tree::named;
use super::super::papers::{self, DESIGN, Document, Papers, READINESS, Sheet};
use super::super::proofs;
use super::{interfaces, judge, said};
use crate::finding::Finding;
use crate::ids::BlobId;
use crate::policy::Policy;
use crate::repo::blob_of;

/// Nobody reads more lines than this in a patch.
const MOST_LINES: usize = 50;
/// Nor more bytes.
const MOST_BYTES: usize = 16 * 1024;

/// Documents as they would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    pub files: Vec<Rewritten>,
    /// What `git apply` takes.
    pub diff: String,
}

/// A document that is written anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewritten {
    pub path: &'static str,
    pub was: BlobId,
    pub is: BlobId,
    pub text: String,
}

/// What puts the documents right, as far as that goes.
pub fn of(site: &Site, papers: &Papers, policy: &Policy, unseen: &BTreeSet<String>) -> Option<Repair> {
    let bench = Bench::new(site, papers, policy);
    // What was added is there, also where the design did not ask for it.
    let site = Site { there: site.there.union(&site.added).cloned().collect(), ..site.clone() };
    let mut now = papers.clone();
    now.design = now.design.map(|sheet| redrawn(&sheet, &bench, &site, papers).unwrap_or(sheet));
    now.readiness = now.readiness.map(|sheet| led(&sheet, &bench).unwrap_or(sheet));
    if now == *papers {
        return None;
    }
    let against = |papers: &Papers| {
        let documents = papers::judge_all(papers, policy).into_values().flatten();
        let all = documents.chain(build::judge(&site, papers, policy)).chain(judge(&site, papers, policy, unseen));
        all.filter(Finding::blocks).map(|finding| (finding.rule, finding.says)).collect::<BTreeSet<_>>()
    };
    let (before, after) = (against(papers), against(&now));
    // What is run for a criterion was agreed on by people: nobody else writes that.
    if !after.is_subset(&before) || after.len() == before.len() || proofs::asked(papers) != proofs::asked(&now) {
        return None;
    }
    let pairs = [(DESIGN, &papers.design, &now.design), (READINESS, &papers.readiness, &now.readiness)];
    let mut repair = Repair { files: Vec::new(), diff: String::new() };
    for (path, was, is) in pairs {
        let (Some(was), Some(is)) = (was, is) else { continue };
        let (Some(before), Some(text), Some(old), Some(new)) = (was.text(), is.text(), &was.blob, &is.blob) else {
            continue;
        };
        if before != text {
            repair.diff.push_str(&patch(path, before, text)?);
            repair.files.push(Rewritten { path, was: old.clone(), is: new.clone(), text: text.to_owned() });
        }
    }
    (!repair.files.is_empty() && repair.diff.len() <= MOST_BYTES).then_some(repair)
}

/// As `git diff` writes it.
fn patch(path: &str, before: &str, after: &str) -> Option<String> {
    let (before, after) = (before.as_bytes(), after.as_bytes());
    let path = std::path::Path::new(path);
    let mut patch = git2::Patch::from_buffers(before, Some(path), after, Some(path), None).ok()?;
    let text = patch.to_buf().ok()?;
    text.as_str().ok().map(str::to_owned)
}

/// The same file with another text.
fn sheet(text: String) -> Option<Sheet> {
    Some(Sheet { blob: Some(blob_of(text.as_bytes())?), document: Document::Text(text) })
}

/// Whether it stands in a line of Markdown as what it is. Names of files and code are the change's own, and are to write nothing else
/// into a document that nobody looks at again.
fn is_plain(text: &str) -> bool {
    !text.contains(|c: char| c.is_control() || matches!(c, '`' | '|' | '$' | '<' | '\\' | '\u{2028}' | '\u{2029}'))
}

/// A text by its lines, each with its end.
fn lines(text: &str) -> Vec<String> {
    text.split_inclusive('\n').map(str::to_owned).collect()
}

/// The design with the paths that are there, and without those that are not.
fn redrawn(design: &Sheet, bench: &Bench<'_>, site: &Site, papers: &Papers) -> Option<Sheet> {
    let differs = structure::differs(bench);
    let out: BTreeSet<usize> = differs
        .iter()
        .filter(|found| found.path.as_deref() == Some(DESIGN))
        .filter_map(|found| index(found.line))
        .collect();
    let missing: Vec<&str> =
        differs.iter().filter_map(|found| found.path.as_deref().filter(|path| *path != DESIGN)).collect();
    if out.len() + missing.len() > MOST_LINES {
        return None;
    }
    let mut written = lines(design.text()?);
    for one in interfaces::reshapes(bench).into_iter().filter(|one| is_plain(&one.now)) {
        if let Some(line) = index(Some(one.line)).and_then(|at| written.get_mut(at))
            && let Some(place) = taken(line, &one.name)
        {
            line.replace_range(place, &one.now);
        }
    }
    let kept = written.into_iter().enumerate().filter(|(at, _)| !out.contains(at));
    let mut now = kept.map(|(_, line)| line).collect::<String>();
    let judged = |text: &str| {
        let papers = Papers { design: sheet(text.to_owned()), ..papers.clone() };
        let found = structure::differs(&Bench::new(site, &papers, bench.policy));
        found.into_iter().filter_map(|found| found.path.map(|path| (path, found.says))).collect::<BTreeSet<_>>()
    };
    for path in missing.into_iter().filter(|path| is_plain(path)) {
        let before = judged(&now);
        let with = forms(&now, path).into_iter().find(|text| {
            let after = judged(text);
            after.len() < before.len() && after.is_subset(&before) && !after.iter().any(|(own, _)| own == path)
        });
        now = with.unwrap_or(now);
    }
    sheet(now)
}

/// Where a line has a name with what it takes: `dim(level: int)`.
fn taken(line: &str, name: &str) -> Option<std::ops::Range<usize>> {
    let before = |at: usize| line[..at].chars().next_back().is_none_or(|c| !(c.is_alphanumeric() || c == '_'));
    let from = line
        .match_indices(name)
        .map(|(at, _)| at)
        .find(|at| before(*at) && line[at + name.len()..].starts_with('('))?;
    let mut depth = 0_u32;
    for (at, c) in line[from..].char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 1 => return Some(from..from + at + 1),
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

fn index(line: Option<u32>) -> Option<usize> {
    usize::try_from(line?).ok()?.checked_sub(1)
}

/// The text with one more path behind the last of its Directory Structure, in the ways that its first lines are written in.
fn forms(text: &str, path: &str) -> Vec<String> {
    let design = super::super::paper::Paper::read(text, super::super::paper::names::DESIGN).ok();
    let named = design.as_ref().map(named).unwrap_or_default();
    let lines = lines(text);
    let Some(last) = named.iter().filter_map(|one| index(Some(one.line))).max().filter(|last| *last < lines.len())
    else {
        return Vec::new();
    };
    let begins = |at: usize| {
        let line = lines.get(at)?;
        let bare = line.trim_start_matches(|c: char| c.is_whitespace() || "│├└─|`+-*".contains(c));
        Some(line[..line.len() - bare.len()].to_owned())
    };
    let mut forms = Vec::new();
    for begin in named.iter().take(2).filter_map(|one| begins(index(Some(one.line))?)) {
        let close = if begin.ends_with('`') { "`" } else { "" };
        let mut with = lines.clone();
        if !with[last].ends_with('\n') {
            with[last].push('\n');
        }
        with.insert(last + 1, format!("{begin}{path}{close}\n"));
        forms.push(with.concat());
    }
    forms
}

/// Readiness with the files that the tests are in.
fn led(readiness: &Sheet, bench: &Bench<'_>) -> Option<Sheet> {
    let mut lines = lines(readiness.text()?);
    let mut changed = false;
    for lost in criteria::lost(bench) {
        let now = said::tested_in(bench, &lost.id).filter(|now| is_plain(now));
        let (Some(at), Some(now)) = (index(Some(lost.line)), now) else { continue };
        // An entry may have several lines.
        let line = lines.iter_mut().skip(at).take(10).find(|line| criteria::paths(line).any(|path| path == lost.path));
        if let Some(line) = line {
            *line = line.replacen(&lost.path, &now, 1);
            changed = true;
        }
    }
    changed.then(|| sheet(lines.concat())).flatten()
}
