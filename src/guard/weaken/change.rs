//! The tests that a change touches, read from its repository and compared.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::{Changed, Weaker, kept, weaker_beside};
use crate::finding::{Finding, Severity};
use crate::guard::parse::Language;
use crate::guard::set::{self, Added};
use crate::guard::tripwire::{How, Scene};
use crate::guard::{Frozen, Kind, Manifest, within};
use crate::ids::{BlobId, CommitId};
use crate::policy::Policy;
use crate::repo::{Delta, Error, Mode, Reader, RepoPath, Result};

/// No more changed files than this are compared.
const MOST_FILES: usize = 2_000;
/// No more bytes than this are compared, of both sides together.
const MOST_BYTES: usize = 32 * 1024 * 1024;

/// What got weaker in the tests of a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Weakened {
    pub found: Vec<Found>,
    /// What of the tests that were there before is not as it was. It may be nothing weaker, and is somebody's decision.
    pub edits: Vec<Edit>,
    /// Files that could not be compared. They are not fine, but unknown.
    pub unread: Vec<Unread>,
    /// Changed test files that were compared, and how many of them were there before and are there now.
    pub files: usize,
    pub edited: usize,
    /// Tests in them that are new, gone or not as they were.
    pub tests: usize,
    /// Changed files among the tests that are of no language that is read.
    pub others: usize,
    /// Those of them that were there before, each with its content now (none: it is gone).
    pub unjudged: BTreeMap<String, Option<BlobId>>,
}

/// A file that could not be compared, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    pub path: String,
    /// The file's content now; none where it is gone.
    pub now: Option<BlobId>,
    pub why: String,
}

impl Unread {
    pub fn finding(&self, severity: Severity) -> Finding {
        let says = format!("Whether its tests got weaker is not known. {}", self.why);
        let next = "Split the file, or write it so that it can be read.";
        Finding { severity, ..Finding::error("test_weakened", says, next) }.at(&self.path, None)
    }
}

/// Something of a test that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub path: String,
    /// The file's content now; none where it is gone.
    pub now: Option<BlobId>,
    /// None: it is not there any more.
    pub line: Option<u32>,
    pub says: String,
}

/// Something that got weaker, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub path: String,
    /// The file's content now; none where it is gone.
    pub now: Option<BlobId>,
    pub weaker: Weaker,
}

impl Found {
    /// Of this weight: it is somebody's decision what a weaker test is.
    pub fn finding(&self, severity: Severity) -> Finding {
        let Weaker { test, line, gone, says, next, .. } = &self.weaker;
        let of = if *test == self.path { String::new() } else { format!("{}: ", crate::finding::quoted(test)) };
        // A line of a text that is not there any more would lead to another one.
        let (line, stood) =
            if *gone { (None, format!(" It stood in line {line} at the base.")) } else { (Some(*line), String::new()) };
        let finding = Finding::error("test_weakened", format!("{of}{says}{stood}"), next.clone());
        Finding { severity, ..finding }.at(&self.path, line)
    }
}

/// A changed test file with both its texts.
struct File {
    path: String,
    /// It is a file of tests as a whole.
    whole: bool,
    now: Option<BlobId>,
    old: Option<Vec<u8>>,
    new: Option<Vec<u8>>,
}

/// Compares the tests that a head touches with what they were at its base.
pub fn weakened(reader: &dyn Reader, policy: &Policy, (base, head): (&CommitId, &CommitId)) -> Result<Weakened> {
    let added = Added::by(policy);
    let mut all = Weakened::default();
    let (mut files, mut bytes) = (Vec::new(), 0_usize);
    let (mut beside, mut opens) = (Vec::new(), 0_usize);
    for delta in reader.diff(base, head)? {
        let path = String::from_utf8_lossy(delta.path.as_bytes()).into_owned();
        let among = set::is_among_tests(&delta.path, &added);
        let Some(language) = Language::of(&path) else {
            all.others += usize::from(among);
            if among && delta.old.is_some() {
                all.unjudged.insert(path, delta.new.map(|(_, blob)| blob));
            }
            continue;
        };
        // Rust has its unit tests in the file that they test.
        if !among && language != Language::Rust {
            continue;
        }
        let Delta { path: at, old, new } = &delta;
        let is_link = |side: &Option<(Mode, BlobId)>| side.as_ref().is_some_and(|(mode, _)| !mode.is_file());
        if among && old.is_some() && (is_link(old) || is_link(new)) {
            let now = new.as_ref().map(|(_, blob)| blob.clone());
            let says = "It is a link, or was one: what stands there is not as it was.".to_owned();
            all.edits.push(Edit { path: path.clone(), now, line: None, says });
        }
        let now = new.as_ref().map(|(_, blob)| blob.clone());
        let sides = (text(reader, base, at, old.as_ref())?, text(reader, head, at, new.as_ref())?);
        let (old, new) = match sides {
            (Ok(old), Ok(new)) => (old, new),
            (Err(why), _) | (_, Err(why)) => {
                all.unread.push(Unread { path, now, why });
                continue;
            }
        };
        let size = |side: &Option<Vec<u8>>| side.as_ref().map_or(0, Vec::len);
        if !among && ![&old, &new].into_iter().flatten().any(|text| has_tests(text)) {
            // It may open a file of tests.
            opens = opens.saturating_add(size(&new));
            beside.extend(new.filter(|_| opens <= MOST_BYTES));
            continue;
        }
        bytes = bytes.saturating_add(size(&old)).saturating_add(size(&new));
        if files.len() >= MOST_FILES || bytes > MOST_BYTES {
            let why = format!("The change has more tests than are compared: {MOST_FILES} files, {MOST_BYTES} bytes.");
            all.unread.push(Unread { path, now, why });
            continue;
        }
        files.push(File { path, whole: among, now, old, new });
    }
    let changed: Vec<_> =
        files.iter().map(|file| (file.path.as_str(), file.old.as_deref(), file.new.as_deref())).collect();
    for (file, report) in files.iter().zip(weaker_beside(&changed, &beside)) {
        let File { path, now, old, new, .. } = file;
        let found = report.found.into_iter().map(|weaker| Found { path: path.clone(), now: now.clone(), weaker });
        all.found.extend(found);
        all.unread.extend(report.unread.map(|why| Unread { path: path.clone(), now: now.clone(), why }));
        all.tests += report.changed;
        all.edited += usize::from(old.is_some() && new.is_some());
    }
    let whole: Vec<&File> = files.iter().filter(|file| file.whole).collect();
    let texts: Vec<Changed<'_>> =
        whole.iter().map(|file| (file.path.as_str(), file.old.as_deref(), file.new.as_deref())).collect();
    for (file, edits) in whole.iter().zip(kept::edits(&texts)) {
        let edit = |(line, says)| Edit { path: file.path.clone(), now: file.now.clone(), line, says };
        all.edits.extend(edits.into_iter().map(edit));
    }
    all.edits.extend(inside(reader, policy, (base, head))?);
    all.files = files.len();
    Ok(all)
}

/// What of the tests and examples inside of source files is not as the base has it, by the same reading as that of a freeze.
fn inside(reader: &dyn Reader, policy: &Policy, (base, head): (&CommitId, &CommitId)) -> Result<Vec<Edit>> {
    let added = Added::by(policy);
    let deltas = reader.diff(base, head)?;
    let is_test = |path: &RepoPath| set::kind(path, &added) == Some(Kind::Test);
    let is_source = |delta: &Delta| {
        let read = delta.path.as_str().and_then(Language::of).is_some_and(|language| language != Language::Go);
        read && delta.old.is_some() && !is_test(&delta.path)
    };
    if !deltas.iter().any(is_source) {
        return Ok(Vec::new());
    }
    let whole = deltas.iter().filter(|delta| is_test(&delta.path)).filter_map(|delta| {
        let (mode, blob) = delta.old.clone()?;
        Some((delta.path.clone(), Frozen { kind: Kind::Test, mode, blob, ours: false }))
    });
    let manifest = Manifest { files: whole.collect(), inside: Some(BTreeMap::new()) };
    let mut scene = Scene::read(reader, Some(base), head)?;
    scene.look_inside(reader, (Some(base), head), policy, Some(&manifest))?;
    let trips = within::hold(&manifest, &scene).into_iter();
    Ok(trips
        .map(|trip| {
            let line = match &trip.how {
                How::Inside { became, .. } => became.line(),
                How::Together { line, .. } => Some(*line),
                _ => None,
            };
            // Nothing is frozen here: it is as the base has it.
            let says = trip.says().replace("as it was frozen", "as it was").replace("was frozen and ", "");
            let says = says.replace("was frozen, and ", "is not what it was: ");
            Edit { path: trip.path.to_string(), says, now: trip.now, line }
        })
        .collect())
}

/// Whether a text of Rust has tests among its code.
fn has_tests(text: &[u8]) -> bool {
    static MARKS: LazyLock<Option<AhoCorasick>> =
        LazyLock::new(|| AhoCorasick::new(["test]", "test(", "cfg(test", "rstest", "test_case", "proptest!"]).ok());
    MARKS.as_ref().is_none_or(|marks| marks.is_match(text))
}

/// What a plain file has in it; none for what is not there, or is no plain file.
fn text(
    reader: &dyn Reader,
    at: &CommitId,
    path: &RepoPath,
    side: Option<&(Mode, BlobId)>,
) -> Result<std::result::Result<Option<Vec<u8>>, String>> {
    if !side.is_some_and(|(mode, _)| mode.is_file()) {
        return Ok(Ok(None));
    }
    match reader.blob(at, path) {
        Ok(blob) => Ok(Ok(blob.map(|blob| blob.bytes))),
        Err(Error::TooLarge { size, cap, .. }) => Ok(Err(format!("It has {size} bytes; up to {cap} are read."))),
        Err(error) => Err(error),
    }
}
