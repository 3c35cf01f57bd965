//! What BUILD looks at, read out of a repository.

use std::collections::{BTreeMap, BTreeSet};

use super::code::{Language, Masked, blocks};
use super::covered::{is_of_tests, is_rust_test, is_test, may_have_inline, names as is_named, test_text};
use super::{
    Finding, Site, Touched, brake, criteria, is_paper, is_vendored, judge, locks, paper, secrets, structure, wanted,
};
use crate::gate::paper::names;
use crate::gate::papers::Papers;
use crate::ids::{BlobId, CommitId};
use crate::policy::Policy;
use crate::repo::{Delta, Error, Filter, Reader, RepoPath, Result};

/// So many files of a change are looked through, and so many bytes of them.
const MOST_FILES: usize = 2_000;
const MOST_BYTES: usize = 32 << 20;
/// A larger file is none that anybody wrote.
const LARGEST: usize = 2 << 20;
/// A lock is written by a tool.
const LARGEST_LOCK: usize = 8 << 20;
/// So many manifests are held against their locks, each of so many files that may be one.
const MOST_MANIFESTS: usize = 100;
const MOST_LOCKS: usize = 60;
/// So many tests that the change leaves as they are are looked through for a criterion.
const MOST_TESTS: usize = 300;

/// What the gate finds at the head of a change. Where it touches papers only, there is nothing to look at yet.
pub fn look(
    reader: &dyn Reader,
    base: &CommitId,
    head: &CommitId,
    papers: &Papers,
    policy: &Policy,
) -> Result<Vec<Finding>> {
    Ok(site(reader, base, head, papers)?.map(|site| judge(&site, papers, policy)).unwrap_or_default())
}

/// What there is to look at. None where a change touches papers only.
pub fn site(reader: &dyn Reader, base: &CommitId, head: &CommitId, papers: &Papers) -> Result<Option<Site>> {
    let deltas = reader.diff(base, head)?;
    if deltas.iter().all(|delta| is_paper(&String::from_utf8_lossy(delta.path.as_bytes()))) {
        return Ok(None);
    }
    Site::read(reader, base, head, papers).map(Some)
}

/// So many sources that the change leaves as they are are looked through for a name.
const MOST_SOURCES: usize = 300;

/// A text in which names are found however they are written: `nextLevel` is `next_level`.
fn folded(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}

/// Of the names that are looked for, those that are still not found, with what each is found by.
struct Left(Vec<(String, Sought)>);

enum Sought {
    /// A name in the code.
    Name(String),
    /// The last part of an address that is no parameter: it may be put together of several.
    Address(String),
}

impl Left {
    fn new(names: &BTreeSet<String>) -> Self {
        let sought = |name: &String| match name.split_once('/') {
            Some((_, path)) => {
                let fixed = |part: &&str| {
                    part.len() > 2 && part.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
                };
                let own = path.split(['/', '?']).rfind(|part| fixed(part) && *part != "api");
                own.map(|part| Sought::Address(folded(part)))
            }
            None => Some(Sought::Name(folded(name))),
        };
        Self(names.iter().filter_map(|name| Some((name.clone(), sought(name)?))).collect())
    }

    /// Takes out what a source has. A word in a comment, in a string or in a test is no interface; an address stands in a string, or
    /// in the path of its file.
    fn look(&mut self, path: &str, text: &str) {
        if self.0.is_empty() || is_of_tests(path) || !brake::is_code(path, text) {
            return;
        }
        let (code, strings) = match Language::of(path) {
            Some(language) => {
                let masked = Masked::new(text, language).code;
                let whole = Masked::with_strings(text, language).code;
                // Some frameworks make addresses out of names: `post :dim`, `[controller]/[action]`.
                let by_name = language == Language::Ruby || whole.contains("[action]");
                let strings = if by_name { whole } else { only_in(&whole, &masked) };
                (folded(&without_tests(masked, language)), folded(&strings))
            }
            None => (folded(text), folded(text)),
        };
        let path = folded(path);
        self.0.retain(|(_, sought)| match sought {
            Sought::Name(name) => !code.contains(name),
            Sought::Address(part) => !(strings.contains(part) || path.contains(part)),
        });
    }
}

/// What stands in one text and is blank in the other, which is as long.
fn only_in(whole: &str, masked: &str) -> String {
    let bytes = whole.bytes().zip(masked.bytes()).map(|(one, other)| if one == other { b' ' } else { one });
    String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned()
}

/// Masked code without the tests that stand among it.
fn without_tests(code: String, language: Language) -> String {
    if language != Language::Rust || !code.contains("test") {
        return code;
    }
    let tests: Vec<(usize, usize)> =
        blocks(&code).iter().filter(|block| is_rust_test(&block.header)).map(|block| (block.from, block.to)).collect();
    let (mut kept, mut at) = (String::with_capacity(code.len()), 0);
    for (from, to) in tests {
        kept.push_str(code.get(at..from.max(at)).unwrap_or_default());
        at = at.max(to);
    }
    kept.push_str(code.get(at..).unwrap_or_default());
    kept
}

/// Of these names and addresses (`POST /lamps`), those that no source at the head has. None of them where there is more than is looked
/// through: then nobody knows.
pub fn unseen(reader: &dyn Reader, head: &CommitId, site: &Site, names: &BTreeSet<String>) -> Result<BTreeSet<String>> {
    let mut left = Left::new(names);
    for (path, text) in site.texts().filter(|(path, _)| !is_paper(path)) {
        left.look(path, text);
    }
    if left.0.is_empty() || site.more || !site.unread.is_empty() {
        return Ok(BTreeSet::new());
    }
    let touched: BTreeSet<&str> = site.texts().map(|(path, _)| path).collect();
    let mut others: Vec<String> = Vec::new();
    for entry in reader.tree(head, Filter::All)? {
        let path = String::from_utf8_lossy(entry.path.as_bytes()).into_owned();
        let may_be = brake::is_code(&path, "") && !is_of_tests(&path) && !is_paper(&path);
        if entry.mode.is_file() && may_be && !touched.contains(path.as_str()) {
            others.push(path);
        }
    }
    if others.len() > MOST_SOURCES {
        return Ok(BTreeSet::new());
    }
    let mut reading = Reading::new(reader);
    for path in others {
        match reading.text(head, &RepoPath::from(path.as_str()))? {
            Text::Read(text) => left.look(&path, &text),
            Text::TooLarge => return Ok(BTreeSet::new()),
            Text::Opaque(_) | Text::None => {}
        }
        if left.0.is_empty() {
            break;
        }
    }
    reading.absent.map_or_else(|| Ok(left.0.into_iter().map(|(name, _)| name).collect()), Err)
}

/// Files that name what a project depends on.
pub fn is_manifest(path: &RepoPath) -> bool {
    locks::locks_of(&path.to_string()).is_some()
}

impl Site {
    /// What the change adds from its base to its head, and what of the rest the rules ask for by these papers.
    pub fn read(reader: &dyn Reader, base: &CommitId, head: &CommitId, papers: &Papers) -> Result<Self> {
        let deltas = reader.diff(base, head)?;
        let mut reading = Reading::new(reader);
        let mut site = Self::default();
        let removed = removed(&deltas);
        site.removed = deltas.iter().filter(|delta| delta.new.is_none()).count();
        site.lost = lost(&deltas);
        for delta in &deltas {
            let path = String::from_utf8_lossy(delta.path.as_bytes()).into_owned();
            let Some((mode, blob)) = &delta.new else { continue };
            if delta.old.is_none() {
                site.added.insert(path.clone());
            }
            let was_link = delta.old.as_ref().is_some_and(|(mode, _)| mode.is_symlink());
            if mode.is_symlink() && !was_link && Language::of(&path).is_some() {
                site.links.push(path.clone());
            }
            if !mode.is_file() || delta.old.as_ref().is_some_and(|(_, old)| old == blob) {
                continue;
            }
            if site.files.len() >= MOST_FILES || reading.left == 0 {
                site.more = true;
                break;
            }
            match reading.text(head, &delta.path)? {
                Text::Read(text) => {
                    let old = reading.old(base, delta, &removed, &text)?;
                    if delta.old.is_none() && old.is_some() {
                        site.moved.insert(path.clone());
                    }
                    let lines = lines_added(&path, old.as_deref(), &text)?;
                    let lines_before = old.map(|old| brake::length(&path, &old));
                    site.files.push(Touched { lines, lines_before, path, text });
                }
                // Pictures and the like are not searched at all.
                Text::Opaque(_) if secrets::is_passed_over(&path) || secrets::is_media(&path) => {}
                Text::TooLarge if secrets::is_media(&path) => {}
                Text::Opaque(text) if reading.opaque >= text.len() => {
                    reading.opaque -= text.len();
                    let old = reading.old(base, delta, &removed, &text)?;
                    let lines = lines_added(&path, old.as_deref(), &text)?;
                    site.opaque.push(Touched { lines, lines_before: None, path, text });
                }
                Text::Opaque(_) | Text::TooLarge => site.unread.push(path),
                Text::None => {}
            }
        }
        reading.tests(&mut site, &deltas, head, papers)?;
        reading.locks(&mut site, &deltas, head)?;
        for path in site.manifests.clone() {
            if let Text::Read(text) = reading.text(base, &RepoPath::from(path.as_str()))? {
                site.manifests_before.insert(path, text);
            }
        }
        for path in structure::asked(paper(papers.design.as_ref(), names::DESIGN).as_ref()) {
            if reading.is_there(head, &path)? {
                site.there.insert(path);
            }
        }
        match reading.absent {
            Some(error) => Err(error),
            None => Ok(site),
        }
    }
}

/// The files below `scaffolding/` and `docs/input/` that the change takes away. One that is moved within them is not lost, nor is
/// one with nothing in it.
fn lost(deltas: &[Delta]) -> BTreeSet<String> {
    let is_record = |path: &str| path.starts_with("scaffolding/") || path.starts_with("docs/input/");
    let named = |delta: &Delta| String::from_utf8_lossy(delta.path.as_bytes()).into_owned();
    let there = deltas.iter().filter(|delta| is_record(&named(delta))).filter_map(|delta| delta.new.as_ref());
    let there: BTreeSet<&BlobId> = there.map(|(_, blob)| blob).collect();
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let added = deltas.iter().filter(|delta| delta.old.is_none() && is_record(&named(delta)));
    let added: BTreeSet<String> = added.map(|delta| name(&named(delta))).collect();
    let gone = deltas.iter().filter(|delta| delta.new.is_none() && is_record(&named(delta)));
    let gone = gone.filter(|delta| {
        delta.old.as_ref().is_some_and(|(mode, blob)| mode.is_file() && !there.contains(blob) && blob.as_str() != EMPTY)
    });
    gone.map(named).filter(|path| !name(path).starts_with('.') && !added.contains(&name(path))).collect()
}

/// The blob of a file with nothing in it.
const EMPTY: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";

/// Where each file is that the change takes away, by its content.
fn removed(deltas: &[Delta]) -> BTreeMap<&BlobId, &RepoPath> {
    let gone = deltas.iter().filter(|delta| delta.new.is_none());
    gone.filter_map(|delta| delta.old.as_ref().map(|(_, blob)| (blob, &delta.path))).collect()
}

enum Text {
    Read(String),
    /// It is no text: what may be read of it all the same.
    Opaque(String),
    TooLarge,
    /// It is not there, or no file.
    None,
}

/// What a file says. A source is read whatever is in it: compilers pass over a NUL in a comment, and a rule that stops at one can
/// be stopped by it.
fn said(path: &RepoPath, bytes: &[u8]) -> Text {
    let wide = |read: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes[2..].chunks_exact(2).map(|pair| read([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    let text = match bytes {
        [0xFF, 0xFE, ..] => wide(u16::from_le_bytes),
        [0xFE, 0xFF, ..] => wide(u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    };
    match Language::of(&String::from_utf8_lossy(path.as_bytes())) {
        Some(language) if language.ends_lines_with_cr() => Text::Read(with_line_feeds(text)),
        Some(_) => Text::Read(text),
        None if text.contains('\0') => Text::Opaque(text),
        None => Text::Read(text),
    }
}

/// A text in which each line ends with a line feed, where some end with a carriage return alone.
fn with_line_feeds(text: String) -> String {
    let mut bytes = text.into_bytes();
    for at in 0..bytes.len() {
        if bytes[at] == b'\r' && bytes.get(at + 1) != Some(&b'\n') {
            bytes[at] = b'\n';
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

struct Reading<'r> {
    reader: &'r dyn Reader,
    left: usize,
    /// The same for what is no text.
    opaque: usize,
    /// The first of the objects that are not here. The others are looked for all the same: then all are fetched at once.
    absent: Option<Error>,
}

impl<'r> Reading<'r> {
    fn new(reader: &'r dyn Reader) -> Self {
        Self { reader, left: MOST_BYTES, opaque: MOST_BYTES, absent: None }
    }

    fn text(&mut self, at: &CommitId, path: &RepoPath) -> Result<Text> {
        self.sized(at, path, LARGEST)
    }

    fn sized(&mut self, at: &CommitId, path: &RepoPath, largest: usize) -> Result<Text> {
        match self.reader.blob(at, path) {
            Ok(Some(blob)) if blob.mode.is_symlink() => Ok(Text::None),
            Ok(Some(blob)) if blob.bytes.len() > largest => Ok(Text::TooLarge),
            Ok(Some(blob)) => {
                let text = said(path, &blob.bytes);
                if matches!(text, Text::Read(_)) {
                    self.left = self.left.saturating_sub(blob.bytes.len());
                }
                Ok(text)
            }
            Ok(None) | Err(Error::NotAFile(_)) => Ok(Text::None),
            Err(Error::TooLarge { .. }) => Ok(Text::TooLarge),
            Err(error @ Error::Absent(_)) => {
                self.absent.get_or_insert(error);
                Ok(Text::None)
            }
            Err(error) => Err(error),
        }
    }

    fn is_there(&mut self, at: &CommitId, path: &str) -> Result<bool> {
        match self.reader.mode(at, &RepoPath::from(path)) {
            Err(error @ Error::Absent(_)) => {
                self.absent.get_or_insert(error);
                Ok(false)
            }
            mode => Ok(mode?.is_some()),
        }
    }

    /// What a file was before: at its own path, or where it was moved from.
    fn old(
        &mut self,
        base: &CommitId,
        delta: &Delta,
        removed: &BTreeMap<&BlobId, &RepoPath>,
        text: &str,
    ) -> Result<Option<String>> {
        if delta.old.is_some() {
            return Ok(match self.text(base, &delta.path)? {
                Text::Read(text) | Text::Opaque(text) => Some(text),
                Text::TooLarge | Text::None => None,
            });
        }
        if let Some((_, blob)) = &delta.new
            && removed.contains_key(blob)
        {
            return Ok(Some(text.to_owned()));
        }
        // Moved and changed: the one that it has most of, as git sees it, if that is half of it.
        let end = |path: &RepoPath| path.as_bytes().rsplit(|b| *b == b'.').next().map(<[u8]>::to_vec);
        let mut best: Option<(usize, String)> = None;
        for (_, from) in removed.iter().filter(|(_, from)| end(from) == end(&delta.path)).take(MOST_MOVED) {
            let Text::Read(old) = self.text(base, from)? else { continue };
            let known: BTreeSet<&str> = old.lines().map(str::trim).filter(|line| line.len() > 3).collect();
            let own = text.lines().map(str::trim).filter(|line| line.len() > 3);
            let (mut shared, mut all) = (0, 0);
            for line in own {
                all += 1;
                shared += usize::from(known.contains(line));
            }
            if shared * 2 >= all && all > 0 && best.as_ref().is_none_or(|(most, _)| shared > *most) {
                best = Some((shared, old));
            }
        }
        Ok(best.map(|(_, old)| old))
    }

    /// The manifests that the change touches, or whose locks it touches, with the locks and the manifests above them.
    fn locks(&mut self, site: &mut Site, deltas: &[Delta], head: &CommitId) -> Result<()> {
        let mut manifests = BTreeSet::new();
        for delta in deltas {
            let path = String::from_utf8_lossy(delta.path.as_bytes()).into_owned();
            manifests.extend(locks::manifests_of(&path));
            if locks::locks_of(&path).is_some() {
                manifests.insert(path);
            }
        }
        for manifest in manifests.into_iter().filter(|path| !is_vendored(path)).take(MOST_MANIFESTS) {
            let mut wanted = locks::candidates(&manifest);
            let mut folder = manifest.as_str();
            // The workspace that it may belong to.
            while let Some((above, _)) = folder.rsplit_once('/') {
                folder = above;
                wanted.push(format!("{above}/Cargo.toml"));
            }
            wanted.extend(["Cargo.toml".to_owned(), manifest.clone()]);
            for path in wanted.into_iter().take(MOST_LOCKS) {
                let needed = path == manifest || !path.ends_with("Cargo.toml") || manifest.ends_with("Cargo.toml");
                if !needed || site.locks.contains_key(&path) {
                    continue;
                }
                match self.sized(head, &RepoPath::from(path.as_str()), LARGEST_LOCK)? {
                    Text::Read(text) => drop(site.locks.insert(path, Some(text))),
                    Text::TooLarge => drop(site.locks.insert(path, None)),
                    Text::Opaque(_) | Text::None if self.is_there(head, &path)? => {
                        site.locks.insert(path, None);
                    }
                    Text::Opaque(_) | Text::None => {}
                }
            }
            site.manifests.insert(manifest);
        }
        Ok(())
    }

    /// Of the tests that the change leaves as they are, those that name what its own do not; and those that readiness names.
    fn tests(&mut self, site: &mut Site, deltas: &[Delta], head: &CommitId, papers: &Papers) -> Result<()> {
        let touched: BTreeSet<&RepoPath> = deltas.iter().map(|delta| &delta.path).collect();
        if let Some(readiness) = papers.readiness.as_ref().and_then(|sheet| sheet.text()) {
            for path in
                criteria::paths(readiness).filter(|path| is_test(path)).take(MOST_TESTS).collect::<BTreeSet<_>>()
            {
                let own = RepoPath::from(path);
                if !touched.contains(&own)
                    && let Text::Read(text) = self.text(head, &own)?
                {
                    site.beside.push((path.to_owned(), text));
                }
            }
        }
        let mut missing = wanted(paper(papers.scope.as_ref(), names::SCOPE).as_ref());
        for (path, text) in site.texts() {
            keep_unnamed(&mut missing, path, text);
        }
        if missing.is_empty() {
            return Ok(());
        }
        let known: BTreeSet<String> = site.beside.iter().map(|(path, _)| path.clone()).collect();
        let entries = self.reader.tree(head, Filter::All)?;
        let plain = entries.iter().filter(|entry| entry.mode.is_file() && !touched.contains(&entry.path));
        let mut others: Vec<String> =
            plain.map(|entry| String::from_utf8_lossy(entry.path.as_bytes()).into_owned()).collect();
        others.retain(|path| (is_test(path) || may_have_inline(path)) && !known.contains(path));
        // Those that are tests by their names first.
        others.sort_by_key(|path| !is_test(path));
        for path in others.into_iter().take(MOST_TESTS) {
            if missing.is_empty() || self.left == 0 {
                break;
            }
            let Text::Read(text) = self.text(head, &RepoPath::from(path.as_str()))? else { continue };
            let before = missing.len();
            keep_unnamed(&mut missing, &path, &text);
            if missing.len() < before {
                site.beside.push((path, text));
            }
        }
        Ok(())
    }
}

/// Of files that were taken away, so many are held against one that was added.
const MOST_MOVED: usize = 20;

fn keep_unnamed(missing: &mut Vec<(String, u32)>, path: &str, text: &str) {
    if missing.is_empty() {
        return;
    }
    if let Some(test) = test_text(path, text, is_test(path)) {
        missing.retain(|(id, _)| !(is_named(&test, id) || is_test(path) && is_named(path, id)));
    }
}

/// Of each line of a text, whether it was not there before, as git sees it.
fn lines_added(path: &str, old: Option<&str>, new: &str) -> Result<Vec<bool>> {
    let count = new.split('\n').count();
    let Some(old) = old else { return Ok(vec![true; count]) };
    let mut lines = vec![false; count];
    let mut options = git2::DiffOptions::new();
    options.context_lines(0).force_text(true);
    let path = std::path::Path::new(path);
    let patch = git2::Patch::from_buffers(old.as_bytes(), Some(path), new.as_bytes(), Some(path), Some(&mut options))?;
    for hunk in 0..patch.num_hunks() {
        for line in 0..patch.num_lines_in_hunk(hunk)? {
            let line = patch.line_in_hunk(hunk, line)?;
            if line.origin() == '+'
                && let Some(number) = line.new_lineno()
                && let Some(added) =
                    usize::try_from(number).ok().and_then(|number| lines.get_mut(number.checked_sub(1)?))
            {
                *added = true;
            }
        }
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::kit::good_papers;
    use crate::rehearsal::papers as good;
    use crate::repo::testing::Scratch;

    #[test]
    fn what_was_added_is_known_line_by_line() {
        assert_eq!(lines_added("a", None, "x\ny\n").unwrap(), [true, true, true]);
        assert_eq!(lines_added("a", Some("x\ny\n"), "x\nz\ny\n").unwrap(), [false, true, false, false]);
        assert_eq!(lines_added("a", Some("x\n"), "x\n").unwrap(), [false, false]);
        assert_eq!(lines_added("a", Some("x"), "x\ny").unwrap(), [true, true]);
    }

    fn read(before: &[(&str, &[u8])], after: &[(&str, &[u8])]) -> Site {
        let scratch = Scratch::new();
        let files = |files: &[(&'static str, &'static [u8])]| {
            files.iter().map(|(path, text)| (path.as_bytes(), 0o100_644, *text)).collect::<Vec<_>>()
        };
        let owned = |list: &[(&str, &[u8])]| -> Vec<(&'static str, &'static [u8])> {
            let leak = |(path, text): &(&str, &[u8])| -> (&'static str, &'static [u8]) {
                ((*path).to_owned().leak(), text.to_vec().leak())
            };
            list.iter().map(leak).collect()
        };
        let base = scratch.commit(&[], &files(&owned(before)));
        let head = scratch.commit(&[&base], &files(&owned(after)));
        Site::read(&scratch.reader(), &base, &head, &good_papers()).unwrap()
    }

    #[test]
    fn what_is_read_is_what_the_change_adds_and_what_it_needs() {
        let old: &[u8] = b"one = 1\ntwo = 2\nthree = 3\nfour = 4\n";
        let moved: &[u8] = b"one = 1\ntwo = 2\nthree = 3\nfour = 5\n";
        let large = vec![b'x'; LARGEST + 1];
        let lock: &[u8] = b"[[package]]\nname = \"a\"\n";
        let site = read(
            &[
                ("src/old.py", old),
                ("src/same.py", b"same = 1\n"),
                ("tests/test_dark.py", b"def test_ac_2():\n    assert dim(0) == 0\n"),
                ("tests/test_other.py", b"def test_other():\n    assert 1\n"),
                ("Cargo.lock", lock),
            ],
            &[
                ("src/new.py", moved),
                ("src/same.py", b"same = 1\nmore = 2\n"),
                ("src/dimmer.py", good::CODE[0].1.as_bytes()),
                ("src/picture.png", b"\x89PNG\0\0"),
                ("data/large.txt", &large),
                ("tests/test_dark.py", b"def test_ac_2():\n    assert dim(0) == 0\n"),
                ("tests/test_other.py", b"def test_other():\n    assert 1\n"),
                ("tests/test_dimmer.py", b"def test_ac_1():\n    assert dim(3) == 2\n"),
                ("crates/a/Cargo.toml", b"[dependencies]\na = \"1\"\n"),
                ("Cargo.lock", lock),
            ],
        );
        let lines = |path: &str| {
            let file = site.files.iter().find(|file| file.path == path).unwrap();
            (1..).zip(&file.lines).filter(|(_, added)| **added).map(|(line, _): (u32, _)| line).collect::<Vec<_>>()
        };
        // It was moved, and one line of it is another.
        assert_eq!(lines("src/new.py"), [4]);
        assert_eq!((site.moved.iter().map(String::as_str).collect::<Vec<_>>(), site.removed), (vec!["src/new.py"], 1));
        assert_eq!(lines("src/same.py"), [2]);
        assert_eq!(lines("src/dimmer.py"), [1, 2, 3]);
        assert_eq!(site.unread, ["data/large.txt"]);
        assert!(site.added.contains("src/picture.png") && !site.added.contains("src/same.py"), "{:?}", site.added);
        // Of the tests that were there, the one that names what no other does.
        assert_eq!(site.beside.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(), ["tests/test_dark.py"]);
        assert!(site.there.contains("src/dimmer.py") && site.there.contains("tests"), "{:?}", site.there);
        assert_eq!(site.manifests.iter().collect::<Vec<_>>(), ["crates/a/Cargo.toml"]);
        assert!(site.locks["Cargo.lock"].is_some());
        assert!(!site.more);
    }

    /// `BLD-09`
    #[test]
    fn what_the_project_rests_on_is_not_deleted() {
        let before: &[(&str, &[u8])] = &[
            ("scaffolding/scope.md", b"# One\n"),
            ("scaffolding/old.md", b"# Old\n"),
            ("scaffolding/.gitkeep", b""),
            ("docs/input/idea.md", b"An idea.\n"),
            ("docs/input/call.md", b"A call.\n"),
            ("docs/guide.md", b"A guide.\n"),
        ];
        let kept: &[(&str, &[u8])] = &[
            ("scaffolding/scope.md", b"# Two\n"),
            ("scaffolding/scope-v1.md", b"# One\n"),
            // Moved, and moved with a change.
            ("scaffolding/archive/older.md", b"# Old\n"),
            ("docs/input/2024/call.md", b"A call, in full.\n"),
            ("docs/input/idea.md", b"An idea.\n"),
        ];
        assert_eq!(read(before, kept).lost, BTreeSet::new(), "a guide is no record");
        let lost = read(before, &[("scaffolding/scope.md", b"# Two\n"), ("src/idea.py", b"An idea.\n")]).lost;
        let lost: Vec<&str> = lost.iter().map(String::as_str).collect();
        assert_eq!(lost, ["docs/input/call.md", "docs/input/idea.md", "scaffolding/old.md"]);
    }

    /// A word in a comment, a string or a test is no interface, and an address is looked for in strings.
    #[test]
    fn an_interface_is_looked_for_in_code() {
        let unseen_in = |before: &[(&str, &str)], after: &[(&str, &str)]| -> Vec<String> {
            let scratch = Scratch::new();
            let files = |list: &[(&str, &str)]| -> Vec<(&'static [u8], u32, &'static [u8])> {
                let leak = |text: &str| -> &'static [u8] { text.to_owned().leak().as_bytes() };
                list.iter().map(|(path, text)| (leak(path), 0o100_644, leak(text))).collect()
            };
            let base = scratch.commit(&[], &files(before));
            let head = scratch.commit(&[&base], &files(&[before, after].concat()));
            let site = Site::read(&scratch.reader(), &base, &head, &good_papers()).unwrap();
            let names = ["brighten", "POST /lamps/{id}/dim"].into_iter().map(str::to_owned).collect();
            unseen(&scratch.reader(), &head, &site, &names).unwrap().into_iter().collect()
        };
        let both = ["POST /lamps/{id}/dim", "brighten"];
        let none: [&str; 0] = [];
        let old = ("src/old.py", "x = 1\n");
        for (path, text) in [
            ("src/a.py", "# brighten is later, and so is /lamps/{id}/dim\nx = 1\n"),
            ("src/a.py", "\"\"\"brighten, and /lamps/{id}/dim\"\"\"\nx = 1\n"),
            ("tests/test_a.py", "def test_brighten():\n    post('/lamps/1/dim')\n"),
            ("README.md", "brighten /lamps/1/dim\n"),
        ] {
            assert_eq!(unseen_in(&[old], &[(path, text)]), both, "{text}");
        }
        assert_eq!(unseen_in(&[old], &[("src/a.py", "X = \"brighten\"\n")]), both);
        // A name of the code is no address.
        let named = ("src/a.py", "def brighten(x): return dim(x)\n");
        assert_eq!(unseen_in(&[old], &[named]), ["POST /lamps/{id}/dim"]);
        assert_eq!(unseen_in(&[old], &[("src/a.rb", "def brighten; end\npost :dim, on: :member\n")]), none);
        assert_eq!(unseen_in(&[old], &[("src/a.rs", "#[cfg(test)]\nmod tests {\n    fn brighten() {}\n}\n")]), both);
        for (path, text) in [
            ("src/a.py", "def brighten(x):\n    return x\n\n\n@router.post('/{id}/dim')\ndef set(id): return 1\n"),
            ("src/a.ts", "class A { reBrighten() { return app.post(`/lamps/:id/dim`, x); } }\n"),
            ("src/a.c", "int brighten(int x) { serve(\"/dim\"); }\n"),
            ("web/lamps/[id]/dim/route.ts", "export function brighten() { return 1; }\n"),
        ] {
            assert_eq!(unseen_in(&[old], &[(path, text)]), none, "{text}");
            // It may have been there before.
            assert_eq!(unseen_in(&[(path, text)], &[old]), none, "{text}");
        }
    }

    /// A NUL in a comment compiles, and hides nothing.
    #[test]
    fn a_source_is_read_whatever_is_in_it() {
        let wide = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
        let code = "def dim(level):\n    raise NotImplementedError\n";
        let secret = format!("ghp_{}", "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zA3");
        let store = format!("\0\0{secret}\0\0");
        let site = read(
            &[("src/a.py", b"x = 1\n")],
            &[
                ("src/a.py", format!("x = 1\n# a\0b\n{code}").as_bytes()),
                ("src/wide.py", &[&[0xFF, 0xFE], wide(code).as_slice()].concat()),
                ("src/notes.txt", &[&[0xFF, 0xFE], wide(&secret).as_slice()].concat()),
                ("src/old.py", format!("# a\r{}", code.replace('\n', "\r")).as_bytes()),
                ("src/levels.db", store.as_bytes()),
                ("src/clean.db", b"\0\0levels\0"),
                ("src/lamp.png", store.as_bytes()),
                ("src/lamp.mp4", &vec![0; LARGEST + 1]),
                ("src/large.db", &vec![0; LARGEST + 1]),
            ],
        );
        let found = judge(&site, &Papers::default(), &Policy::default());
        let found: Vec<String> = found
            .iter()
            .map(|one| format!("{} {} {:?}", one.rule, one.path.clone().unwrap_or_default(), one.line))
            .collect();
        let expected = [
            "BLD-04 src/notes.txt Some(1)",
            "BLD-04 src/levels.db None",
            "BLD-04 src/large.db None",
            "BLD-08 src/a.py Some(4)",
            "BLD-08 src/old.py Some(3)",
            "BLD-08 src/wide.py Some(2)",
        ];
        assert_eq!(found, expected);
        assert_eq!(site.unread, ["src/large.db"]);
        // What was in there before is not this change's.
        let (store, more) = (format!("{store}\n"), format!("{store}\nmore"));
        let site = read(&[("src/levels.db", store.as_bytes())], &[("src/levels.db", more.as_bytes())]);
        assert_eq!(judge(&site, &Papers::default(), &Policy::default()), []);
    }

    /// It leads anywhere, and is not followed.
    #[test]
    fn a_new_link_that_is_called_like_a_source_is_told() {
        let scratch = Scratch::new();
        let file = |path: &'static str, mode| (path.as_bytes(), mode, b"real.py".as_slice());
        let before = [file("src/was.py", 0o120_000), file("real.py", 0o100_644)];
        let base = scratch.commit(&[], &before);
        let after = [file("src/new.py", 0o120_000), file("latest", 0o120_000), file("src/is.py", 0o100_644)];
        let head = scratch.commit(&[&base], &[before.as_slice(), after.as_slice()].concat());
        let found = look(&scratch.reader(), &base, &head, &Papers::default(), &Policy::default()).unwrap();
        let told: Vec<_> = found.iter().map(|one| (one.rule.as_str(), one.path.as_deref(), one.severity)).collect();
        assert_eq!(told, [("BLD-04", Some("src/new.py"), crate::gate::Severity::Warning)]);
    }

    #[test]
    fn where_nothing_but_papers_is_touched_nothing_is_looked_at() {
        let scratch = Scratch::new();
        let base = scratch.commit(&[], &[(b"a".as_slice(), 0o100_644, b"a\n".as_slice())]);
        let files = [(b"a".as_slice(), 0o100_644, b"a\n".as_slice()), (b"docs/x.py", 0o100_644, b"def a(): pass\n")];
        let head = scratch.commit(&[&base], &files);
        let found = look(&scratch.reader(), &base, &head, &good_papers(), &Policy::default()).unwrap();
        assert_eq!(found, []);
    }
}
