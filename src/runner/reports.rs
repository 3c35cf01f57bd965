//! The reports that the commands of a gate have promised: found, told from those that were there before, and read.
//!
//! A report that was there before the run says nothing about it: a change could bring one along, and an honest one may be
//! left of an earlier run. So it is noted before the commands start what is there, and what is the same afterwards, or
//! older than the run, is *stale*. Nothing is deleted.

use std::collections::{BTreeMap, HashMap};
use std::fs::{File, Metadata};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{Mode, OFlags};

use super::artefact::{Counts, Failing, FailingKind, Report, ReportState, TestResult, TestRun};
use super::environ::Masks;
use super::junit::{self, Case, Outcome};
use super::{lacks, place, text};
use crate::ids::Digest;
use crate::policy;

/// What all reports of a run may have together.
const MOST_BYTES: u64 = 50 * 1024 * 1024;
const MOST_TESTS: usize = 100_000;
/// Of one test.
const MOST_TRIES: u32 = 100;
/// What the names of all tests may have together.
const MOST_OF_NAMES: usize = 8 * 1024 * 1024;
pub(crate) const MOST_REPORTS: usize = 1_000;
pub(crate) const MOST_FAILING: usize = 100;
pub(crate) const MOST_FLAKY: usize = 100;
/// What a glob may look at.
const MOST_ENTRIES: usize = 200_000;
const DEEPEST: usize = 64;
pub(super) const LONGEST_PATH: usize = 1_024;
/// The clock of a file system may go behind the system's.
const SLACK: Duration = Duration::from_secs(2);

/// What a run's reports say.
#[derive(Debug, Default)]
pub(crate) struct Read {
    pub(crate) reports: Vec<Report>,
    pub(crate) totals: Counts,
    /// Those that were carried out, each with a name of its own.
    pub(crate) tests: Vec<Listed>,
    pub(crate) skipped: Vec<String>,
    pub(crate) failing: Vec<Failing>,
    pub(crate) failing_left_out: u64,
    pub(crate) flaky: Vec<String>,
}

/// A test that was carried out.
#[derive(Debug, Clone)]
pub(crate) struct Listed {
    pub(crate) run: TestRun,
    /// Its name without its class.
    pub(crate) bare: String,
    /// It did not fail in what it says, but because something that it needs is not there.
    pub(crate) lacks: bool,
}

impl Read {
    /// Tests that did not pass.
    pub(crate) fn failed(&self) -> u64 {
        self.totals.failed.saturating_add(self.totals.errors)
    }
}

/// The reports that were there before the commands, with their contents. One that could not be read has none.
pub(crate) struct Before {
    files: BTreeMap<PathBuf, Option<Digest>>,
    began: SystemTime,
}

impl Before {
    pub(crate) fn note(folder: &Path, globs: &[String]) -> Self {
        let mut left = MOST_BYTES;
        let mut files = BTreeMap::new();
        for glob in globs {
            for file in found(folder, glob).unwrap_or_default() {
                let digest = content(&folder.join(&file), &mut left).ok().map(|(content, _)| Digest::of(content));
                files.entry(file).or_insert(digest);
            }
        }
        Self { files, began: SystemTime::now() }
    }

    /// Why a report can't be of this run.
    pub(super) fn stale(&self, file: &Path, about: &Metadata, digest: &Digest) -> Option<&'static str> {
        let same = self.files.get(file).is_some_and(|before| before.as_ref().is_none_or(|before| before == digest));
        let older = about.modified().is_ok_and(|at| at + SLACK < self.began);
        match (same, older) {
            (true, _) => Some("it was there before the commands, and is the same as it was"),
            (false, true) => Some("it is older than this run"),
            (false, false) => None,
        }
    }
}

/// Reads what the globs match now.
pub(crate) fn read(folder: &Path, globs: &[String], before: &Before, masks: &Masks) -> Read {
    let mut read = Read::default();
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut left = Left { bytes: MOST_BYTES, tests: MOST_TESTS, names: MOST_OF_NAMES, taken: HashMap::new() };
    for glob in globs {
        let files = match found(folder, glob) {
            Ok(files) => files,
            Err(why) => {
                read.reports.push(Report { why: Some(why), ..Report::new(glob, ReportState::Unreadable) });
                continue;
            }
        };
        if files.is_empty() {
            read.reports.push(Report::new(glob, ReportState::Missing));
        }
        for file in files {
            // Two globs may name one.
            if seen.contains(&file) {
                continue;
            }
            if seen.len() == MOST_REPORTS {
                let why = Some(format!("the globs match more than {MOST_REPORTS} files"));
                read.reports.push(Report { why, ..Report::new(glob, ReportState::Unreadable) });
                return read;
            }
            read.one(folder, glob, &file, before, masks, &mut left);
            seen.push(file);
        }
    }
    read
}

/// What may still be read, and the names that are given away.
struct Left {
    bytes: u64,
    tests: usize,
    names: usize,
    /// With the last number that was put after each.
    taken: HashMap<String, u64>,
}

impl Left {
    /// A name that no other test has: with its suite, else with a number.
    fn own_name(&mut self, name: String, suite: &str) -> String {
        let with_suite = format!("{suite} > {name}");
        let own = if !self.taken.contains_key(&name) {
            name
        } else if !suite.is_empty() && !self.taken.contains_key(&with_suite) {
            with_suite
        } else {
            let mut number = self.taken.get(&name).copied().unwrap_or(1);
            let own = loop {
                number += 1;
                let own = format!("{name} #{number}");
                if !self.taken.contains_key(&own) {
                    break own;
                }
            };
            self.taken.insert(name, number);
            own
        };
        self.taken.insert(own.clone(), 1);
        own
    }
}

impl Read {
    fn one(&mut self, folder: &Path, glob: &str, file: &Path, before: &Before, masks: &Masks, left: &mut Left) {
        let path = text::head(&file.to_string_lossy(), LONGEST_PATH);
        let report = |state| Report { path: Some(path.clone()), ..Report::new(glob, state) };
        let (content, about) = match content(&folder.join(file), &mut left.bytes) {
            Ok(read) => read,
            Err(why) => return self.reports.push(Report { why: Some(why), ..report(ReportState::Unreadable) }),
        };
        let digest = Digest::of(&content);
        let known = Report { digest: Some(digest.clone()), bytes: content.len() as u64, ..report(ReportState::Read) };
        if let Some(why) = before.stale(file, &about, &digest) {
            return self.reports.push(Report { state: ReportState::Stale, why: Some(why.to_owned()), ..known });
        }
        let cases = junit::read(&content, left.tests).and_then(|cases| {
            let names = cases.iter().map(|case| case.suite.len() + case.class.len() + case.name.len()).sum();
            match left.names.checked_sub(names) {
                Some(rest) => left.names = rest,
                None => return Err(format!("the names of all tests have more than {} MB", MOST_OF_NAMES >> 20)),
            }
            Ok(cases)
        });
        let cases = match cases {
            Ok(cases) => cases,
            Err(why) => {
                let why = Some(text::line(&why, 300));
                return self.reports.push(Report { state: ReportState::Unreadable, why, ..known });
            }
        };
        left.tests -= cases.len().min(left.tests);
        let mut counts = Counts::default();
        for case in &cases {
            count(&mut counts, case);
            self.list(case, masks, left);
            self.note(case, &path, folder, masks);
        }
        self.totals.add(&counts);
        self.reports.push(Report { counts, ..known });
    }

    fn list(&mut self, case: &Case, masks: &Masks, left: &mut Left) {
        let name = left.own_name(masks.hide_text(&named(case)), &masks.hide_text(&case.suite));
        let (result, kind) = match case.outcome {
            Outcome::Skipped => return self.skipped.push(name),
            Outcome::Passed => (TestResult::Pass, None),
            Outcome::Failed => (TestResult::Fail, Some(FailingKind::Failed)),
            Outcome::Error => (TestResult::Fail, Some(FailingKind::Error)),
        };
        let reds = case.reds.min(MOST_TRIES) as usize;
        let mut attempts = vec![TestResult::Fail; reds];
        attempts.extend((reds > 0).then_some(result));
        self.tests.push(Listed {
            run: TestRun { name, result, duration_ms: case.millis, kind, attempts },
            bare: masks.hide_text(&case.name),
            lacks: case.outcome == Outcome::Error || (case.failed() && lacks::says(&case.message)),
        });
    }

    fn note(&mut self, case: &Case, report: &str, folder: &Path, masks: &Masks) {
        let shown = |text: &str| masks.hide_text(text);
        if case.flaky && self.flaky.len() < MOST_FLAKY {
            self.flaky.push(shown(&named(case)));
        }
        if !case.failed() {
            return;
        }
        if self.failing.len() == MOST_FAILING {
            self.failing_left_out += 1;
            return;
        }
        // Where it failed says more than where the test begins.
        let said = place::named(&case.message, folder).or_else(|| place::named(&case.details, folder));
        let given = case.file.as_deref().and_then(|file| place::inside(file, folder));
        let (path, line) = match (said, given) {
            (Some((path, line)), _) => (Some(path), Some(line)),
            (None, Some(path)) => (Some(path), case.line),
            (None, None) => (None, None),
        };
        self.failing.push(Failing {
            kind: if case.outcome == Outcome::Error { FailingKind::Error } else { FailingKind::Failed },
            name: shown(&named(case)),
            suite: shown(&case.suite),
            message: shown(&case.message),
            details: shown(&case.details),
            path: path.filter(|path| path.len() <= LONGEST_PATH),
            line,
            report: report.to_owned(),
        });
    }
}

/// A test's name with its class before it, where that says more.
fn named(case: &Case) -> String {
    if case.class.is_empty() || case.name.starts_with(&case.class) {
        return case.name.clone();
    }
    format!("{} {}", case.class, case.name)
}

fn count(counts: &mut Counts, case: &Case) {
    counts.tests += 1;
    counts.flaky += u64::from(case.flaky);
    counts.duration_ms = counts.duration_ms.saturating_add(case.millis);
    match case.outcome {
        Outcome::Passed => counts.passed += 1,
        Outcome::Failed => counts.failed += 1,
        Outcome::Error => counts.errors += 1,
        Outcome::Skipped => counts.skipped += 1,
    }
}

/// The content of a plain file, taken from what is left of the budget; or why not.
pub(super) fn content(file: &Path, left: &mut u64) -> Result<(Vec<u8>, Metadata), String> {
    let opened = open(file)?;
    let about = opened.metadata().map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    opened.take(*left + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > *left {
        *left = 0;
        return Err(format!("the reports have more than {} MB together", MOST_BYTES / 1024 / 1024));
    }
    *left -= bytes.len() as u64;
    Ok((bytes, about))
}

/// Opens a plain file. A link is not followed, and a pipe that nobody writes to is not waited for.
fn open(file: &Path) -> Result<File, String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::open(file, flags, Mode::empty()).map(File::from);
    let opened = opened.map_err(|error| match error {
        rustix::io::Errno::LOOP => "it is a link".to_owned(),
        error => error.to_string(),
    })?;
    match opened.metadata() {
        Ok(about) if about.is_file() => Ok(opened),
        Ok(_) => Err("it is no plain file".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// The files that a glob matches, as seen from the folder, in their order.
pub(super) fn found(folder: &Path, glob: &str) -> Result<Vec<PathBuf>, String> {
    let matcher = policy::glob(glob).map_err(|error| error.to_string())?;
    let plain = |part: &&str| !part.contains(['*', '?', '[', ']', '{', '}', '\\']);
    let parts: Vec<&str> = glob.split('/').collect();
    let start: PathBuf = parts.iter().copied().take_while(plain).collect();
    if parts.iter().all(plain) {
        return Ok(folder.join(&start).symlink_metadata().is_ok().then_some(start).into_iter().collect());
    }
    let mut found = Vec::new();
    let mut open = vec![(start, 0)];
    let mut looked = 0;
    while let Some((below, depth)) = open.pop() {
        let Ok(entries) = std::fs::read_dir(folder.join(&below)) else { continue };
        for entry in entries.flatten() {
            looked += 1;
            if looked > MOST_ENTRIES {
                return Err(format!("there are more than {MOST_ENTRIES} files where it looks; name a folder in it"));
            }
            let path = below.join(entry.file_name());
            // Of the entry itself: a link to a folder may lead anywhere, and round.
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                if depth < DEEPEST && entry.file_name() != ".git" {
                    open.push((path, depth + 1));
                }
            } else if matcher.is_match(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GREEN: &str =
        "<testsuite name='s'><testcase name='a' time='0.5'/><testcase name='b'><skipped/></testcase></testsuite>";
    const RED: &str =
        "<testsuite><testcase classname='c' name='a'><failure message='no'>src/a.rs:3</failure></testcase></testsuite>";

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn write(&self, path: &str, text: &str) {
            let file = self.0.path().join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }

        fn before(&self, globs: &[&str]) -> Before {
            Before::note(self.0.path(), &owned(globs))
        }

        fn read(&self, globs: &[&str], before: &Before) -> Read {
            read(self.0.path(), &owned(globs), before, &Masks::default())
        }
    }

    fn owned(globs: &[&str]) -> Vec<String> {
        globs.iter().map(|glob| (*glob).to_owned()).collect()
    }

    /// `state path why` of each.
    fn states(read: &Read) -> Vec<String> {
        let one = |report: &Report| {
            let path = report.path.as_deref().unwrap_or("-");
            format!("{:?} {path} {}", report.state, report.why.as_deref().unwrap_or("-"))
        };
        read.reports.iter().map(one).collect()
    }

    #[test]
    fn reports_are_found_and_added_up() {
        let on = Folder::new();
        let globs = ["out/junit.xml", "target/**/TEST-*.xml", "gone.xml"];
        let before = on.before(&globs);
        on.write("out/junit.xml", GREEN);
        on.write("target/a/TEST-a.xml", RED);
        on.write("target/b/c/TEST-b.xml", GREEN);
        on.write("target/b/other.xml", RED);
        on.write("src/a.rs", "");
        let read = on.read(&globs, &before);
        assert_eq!(
            states(&read),
            ["Read out/junit.xml -", "Read target/a/TEST-a.xml -", "Read target/b/c/TEST-b.xml -", "Missing - -"]
        );
        let totals = Counts { tests: 5, passed: 2, failed: 1, skipped: 2, duration_ms: 1000, ..Counts::default() };
        assert_eq!((read.totals, read.failing.len()), (totals, 1));
        let failing = &read.failing[0];
        assert_eq!((failing.name.as_str(), failing.message.as_str()), ("c a", "no"));
        assert_eq!((failing.path.as_deref(), failing.line), (Some("src/a.rs"), Some(3)));
        // One that two globs name counts once.
        assert_eq!(on.read(&["out/*.xml", "out/junit.xml"], &before).totals.tests, 2);
    }

    #[test]
    fn what_was_there_before_is_stale_until_it_is_another() {
        let on = Folder::new();
        on.write("junit.xml", GREEN);
        let before = on.before(&["junit.xml"]);
        let same = "Stale junit.xml it was there before the commands, and is the same as it was";
        assert_eq!(states(&on.read(&["junit.xml"], &before)), [same]);
        assert_eq!(on.read(&["junit.xml"], &before).totals, Counts::default(), "it does not count");
        // To touch it makes nothing of it.
        on.write("junit.xml", GREEN);
        assert_eq!(states(&on.read(&["junit.xml"], &before)), [same]);
        on.write("junit.xml", RED);
        assert_eq!(states(&on.read(&["junit.xml"], &before)), ["Read junit.xml -"]);
        // One that came with its time, out of an archive or a cache.
        let old = File::options().write(true).open(on.0.path().join("junit.xml")).unwrap();
        old.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
        assert_eq!(states(&on.read(&["junit.xml"], &before)), ["Stale junit.xml it is older than this run"]);
    }

    #[test]
    fn what_is_no_plain_file_is_not_read() {
        let on = Folder::new();
        let before = on.before(&["*.xml"]);
        on.write("elsewhere", GREEN);
        std::os::unix::fs::symlink("elsewhere", on.0.path().join("link.xml")).unwrap();
        std::fs::create_dir(on.0.path().join("folder.xml")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(on.0.path().join("pipe.xml")).status();
        assert!(made.unwrap().success());
        on.write("words.xml", "all fine");
        let read = on.read(&["*.xml", "folder.xml"], &before);
        let told = states(&read);
        assert_eq!(told[..2], ["Unreadable link.xml it is a link", "Unreadable pipe.xml it is no plain file"]);
        assert!(told[2].starts_with("Unreadable words.xml it is not XML that can be read: "), "{told:?}");
        assert_eq!(told[3], "Unreadable folder.xml it is no plain file");
        // A link that leads round is not followed.
        std::os::unix::fs::symlink(".", on.0.path().join("round")).unwrap();
        assert_eq!(on.read(&["**/words.xml"], &before).reports.len(), 1);
    }

    #[test]
    fn there_is_an_end_to_what_is_read() {
        let on = Folder::new();
        let before = on.before(&["*.xml"]);
        let case = "<testcase name='x'><failure/></testcase>";
        on.write("a.xml", &format!("<testsuite>{}</testsuite>", case.repeat(MOST_FAILING + 5)));
        let read = on.read(&["*.xml"], &before);
        assert_eq!((read.failing.len(), read.failing_left_out, read.totals.failed), (MOST_FAILING, 5, 105));
        let mut left = 10;
        assert_eq!(
            content(&on.0.path().join("a.xml"), &mut left).unwrap_err(),
            "the reports have more than 50 MB together"
        );
        assert_eq!(left, 0, "and nothing after it is read");
        for n in 0..MOST_REPORTS + 3 {
            on.write(&format!("many/{n:04}.xml"), "<testsuite><testcase name='x'/></testsuite>");
        }
        let read = on.read(&["many/*.xml"], &before);
        assert_eq!((read.reports.len(), read.totals.tests), (MOST_REPORTS + 1, MOST_REPORTS as u64));
        assert!(states(&read)[MOST_REPORTS].ends_with("match more than 1000 files"));
    }

    #[test]
    fn each_test_has_a_name_of_its_own() {
        let on = Folder::new();
        let before = on.before(&["*.xml"]);
        let case = "<testcase classname='c' name='x'/>";
        on.write("a.xml", &format!("<testsuite name='s'>{case}{case}{case}<testcase name='c x #2'/></testsuite>"));
        on.write("b.xml", &format!("<testsuite name='t'>{case}<testcase name='c x'><skipped/></testcase></testsuite>"));
        let read = on.read(&["*.xml"], &before);
        let names: Vec<&str> = read.tests.iter().map(|test| test.run.name.as_str()).collect();
        assert_eq!(names, ["c x", "s > c x", "c x #2", "s > c x #2", "t > c x"]);
        assert_eq!(read.skipped, ["c x #3"]);
        assert_eq!((read.totals.ran(), read.totals.skipped), (5, 1));
        // However many have one name: no search from the start for each.
        on.write("a.xml", &format!("<testsuite>{}</testsuite>", "<testcase name='x'/>".repeat(50_000)));
        let read = on.read(&["a.xml"], &before);
        assert_eq!(read.tests.last().map(|test| test.run.name.as_str()), Some("x #50000"));
    }

    #[test]
    fn each_try_of_a_test_is_listed() {
        let on = Folder::new();
        let before = on.before(&["*.xml"]);
        let text = "<testsuite><testcase name='flaky' time='0.5'><flakyFailure/><flakyError/></testcase>\
                    <testcase name='red'><failure/><rerunFailure/></testcase><testcase name='broken'><error/></testcase>\
                    <testcase name='plain'/></testsuite>";
        on.write("a.xml", text);
        let read = on.read(&["a.xml"], &before);
        let shown = |Listed { run: test, .. }: &Listed| {
            let tries: String =
                test.attempts.iter().map(|one| if *one == TestResult::Pass { '+' } else { '-' }).collect();
            format!("{} {:?} {:?} {} {tries}", test.name, test.result, test.kind, test.duration_ms)
        };
        let told: Vec<String> = read.tests.iter().map(shown).collect();
        let expected = [
            "flaky Pass None 500 --+",
            "red Fail Some(Failed) 0 --",
            "broken Fail Some(Error) 0 ",
            "plain Pass None 0 ",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn names_without_end_are_not_read() {
        let on = Folder::new();
        let before = on.before(&["*.xml"]);
        let long = format!("<testcase name='{}'/>", "x".repeat(290)).repeat(MOST_OF_NAMES / 290 + 1);
        on.write("a.xml", &format!("<testsuite>{long}</testsuite>"));
        let read = on.read(&["a.xml"], &before);
        assert_eq!(states(&read), ["Unreadable a.xml the names of all tests have more than 8 MB"]);
        assert!(read.tests.is_empty() && read.totals == Counts::default());
    }

    #[test]
    fn secrets_in_reports_are_hidden() {
        let on = Folder::new();
        let before = on.before(&["*.xml"]);
        let text =
            "<testsuite><testcase name='t0ken-x'><error message='m t0ken-x'>d t0ken-x</error></testcase></testsuite>";
        on.write("a.xml", text);
        let masks = Masks::of([("A_TOKEN".into(), "t0ken-x".into())]);
        let read = read(on.0.path(), &owned(&["a.xml"]), &before, &masks);
        let failing = &read.failing[0];
        assert_eq!(
            (failing.name.as_str(), failing.message.as_str(), failing.details.as_str()),
            ("***", "m ***", "d ***")
        );
        assert_eq!(failing.kind, FailingKind::Error);
    }
}
