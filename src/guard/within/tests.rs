//! Tests inside of source files, frozen and held on real repositories.

use super::*;
use crate::guard::hold;
use crate::guard::tripwire::Accepted;
use crate::repo::testing::Scratch;

const LAMP: &str = "pub fn lamp() -> u8 { 1 }\n#[cfg(test)]\nmod tests {\n    use super::*;\n    #[test]\n    fn shines() { assert_eq!(lamp(), 1) }\n}\n";
const OLD: &str = "pub fn old() -> u8 { 2 }\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn holds() { assert_eq!(super::old(), 2) }\n}\n";
const DATES: &str = "def year(text):\n    \"\"\"The year.\n\n    >>> year('2026-01-01')\n    2026\n    \"\"\"\n    return int(text[:4])\n";
const LIB: &str = "pub mod lamp;\npub mod old;\n";

type Files<'a> = Vec<(&'a str, String)>;

/// A repository whose base has `src/old.rs`, and a change that adds `src/lamp.rs` and `src/dates.py`.
struct House {
    scratch: Scratch,
    base: CommitId,
    frozen: Manifest,
}

fn base_files<'a>() -> Files<'a> {
    [("Cargo.toml", "[package]\n"), ("src/lib.rs", LIB), ("src/old.rs", OLD)]
        .map(|(path, text)| (path, text.to_owned()))
        .to_vec()
}

fn change_files<'a>() -> Files<'a> {
    let mut files = base_files();
    files.extend([("src/lamp.rs", LAMP.to_owned()), ("src/dates.py", DATES.to_owned())]);
    files
}

fn commit(scratch: &Scratch, parents: &[&CommitId], files: &Files<'_>) -> CommitId {
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    scratch.text(parents, &files)
}

fn edited<'a>(mut files: Files<'a>, path: &'a str, from: &str, to: &str) -> Files<'a> {
    let (_, text) = files.iter_mut().find(|(known, _)| *known == path).unwrap();
    assert!(text.contains(from), "{path} has no {from:?}");
    *text = text.replacen(from, to, 1);
    files
}

fn put<'a>(mut files: Files<'a>, path: &'a str, text: &str) -> Files<'a> {
    files.retain(|(known, _)| *known != path);
    files.push((path, text.to_owned()));
    files
}

fn without<'a>(mut files: Files<'a>, path: &str) -> Files<'a> {
    files.retain(|(known, _)| *known != path);
    files
}

impl House {
    fn new() -> Self {
        let scratch = Scratch::new();
        let base = commit(&scratch, &[], &base_files());
        let head = commit(&scratch, &[&base], &change_files());
        let frozen = scene(&scratch, &base, &head, None).manifest(&Policy::default());
        Self { scratch, base, frozen }
    }

    fn trips(&self, files: &Files<'_>) -> Vec<Trip> {
        self.trips_on(&self.base, files)
    }

    fn trips_on(&self, base: &CommitId, files: &Files<'_>) -> Vec<Trip> {
        let head = commit(&self.scratch, &[base], files);
        hold(&self.frozen, &scene(&self.scratch, base, &head, Some(&self.frozen)), &Accepted::new())
    }

    /// What trips, in short: the code and the item.
    #[track_caller]
    fn only(&self, files: &Files<'_>) -> (String, String) {
        let trips = self.trips(files);
        let [trip] = trips.as_slice() else { panic!("{trips:#?}") };
        (trip.code(), trip.says())
    }
}

fn scene(scratch: &Scratch, base: &CommitId, head: &CommitId, frozen: Option<&Manifest>) -> Scene {
    let reader = scratch.reader();
    let mut scene = Scene::read(&reader, Some(base), head).unwrap();
    scene.look_inside(&reader, (Some(base), head), &Policy::default(), frozen).unwrap();
    scene
}

#[test]
fn what_the_change_has_made_is_kept_and_comes_back() {
    let house = House::new();
    let inside = house.frozen.inside.as_ref().unwrap();
    assert_eq!(inside.keys().map(ToString::to_string).collect::<Vec<_>>(), ["src/dates.py", "src/lamp.rs"]);
    let lamp = &inside[&RepoPath::from("src/lamp.rs")];
    assert!(lamp.items.contains_key("tests::shines"), "{lamp:?}");
    let sealed = house.frozen.seal().unwrap();
    assert!(sealed.text.contains(r#""schema":"phasegate/manifest@2""#), "{}", sealed.text);
    assert_eq!(Manifest::open(&sealed.text, &sealed.digest).unwrap(), house.frozen);
    assert_eq!(sealed.files, 2, "files with tests inside count");
    assert_eq!(house.trips(&change_files()), []);
}

#[test]
fn the_code_around_a_test_is_free() {
    let house = House::new();
    for (about, files) in [
        ("code", edited(change_files(), "src/lamp.rs", "{ 1 }", "{ let on = 1; on }")),
        ("a doctest's function", edited(change_files(), "src/dates.py", "int(text[:4])", "int(text.split('-')[0])")),
        (
            "another test",
            edited(change_files(), "src/lamp.rs", "    #[test]", "    #[test]\n    fn more() {}\n    #[test]"),
        ),
        ("a comment", edited(change_files(), "src/lamp.rs", "    #[test]", "    // Why.\n    #[test]")),
        ("a file of the base's", edited(change_files(), "src/old.rs", "{ 2 }", "{ 1 + 1 }")),
        (
            "a new source file",
            put(change_files(), "src/new.rs", "#[cfg(test)]\nmod tests {\n    #[test]\n    fn n() {}\n}\n"),
        ),
    ] {
        assert_eq!(house.trips(&files), [], "{about}");
    }
}

#[test]
fn a_test_inside_that_is_changed_gone_or_skipped_trips_by_its_name_and_line() {
    let house = House::new();
    let lamp = "build_tampered:src/lamp.rs".to_owned();
    let (code, says) = house.only(&edited(change_files(), "src/lamp.rs", "lamp(), 1", "lamp(), lamp()"));
    assert_eq!(code, lamp);
    assert_eq!(
        says,
        "The test `tests::shines` inside of `src/lamp.rs` is not as it was frozen: it, or a condition on it, was changed."
    );
    let changed = house.trips(&edited(change_files(), "src/lamp.rs", "lamp(), 1", "lamp(), lamp()"));
    let finding = changed[0].finding("or ask.");
    assert_eq!((finding.path.as_deref(), finding.line), (Some("src/lamp.rs"), Some(6)), "{finding:?}");
    assert!(finding.next.starts_with("Put it back as it was; or ask."), "{finding:?}");

    for (about, files, expected) in [
        (
            "gone",
            edited(change_files(), "src/lamp.rs", "    #[test]\n    fn shines() { assert_eq!(lamp(), 1) }\n", ""),
            "is gone",
        ),
        ("skipped", edited(change_files(), "src/lamp.rs", "#[test]", "#[test]\n    #[ignore]"), "is not run any more"),
        (
            "renamed and weaker",
            edited(change_files(), "src/lamp.rs", "fn shines() { assert_eq!(lamp(), 1) }", "fn glows() {}"),
            "is gone",
        ),
        ("switched off", edited(change_files(), "src/lamp.rs", "#[cfg(test)]", "#[cfg(any())]"), ""),
        ("unreadable", edited(change_files(), "src/lamp.rs", "mod tests {", "mod tests {{{ ("), "can't be read"),
        ("deleted", without(change_files(), "src/lamp.rs"), "is gone"),
    ] {
        let trips = house.trips(&files);
        assert!(!trips.is_empty(), "{about}");
        assert!(trips.iter().all(|trip| trip.code() == lamp), "{about}: {trips:#?}");
        assert!(trips.iter().any(|trip| trip.says().contains(expected)), "{about}: {trips:#?}");
    }
    let (code, says) = house.only(&edited(change_files(), "src/dates.py", "    2026\n", "    2025\n"));
    assert_eq!(code, "build_tampered:src/dates.py");
    assert!(says.starts_with("The example `"), "{says}");
    // A test of the base's, in a file that the change had not touched.
    let (code, _) = house.only(&edited(change_files(), "src/old.rs", "old(), 2", "old(), old()"));
    assert_eq!(code, "build_tampered:src/old.rs");
}

#[test]
fn what_the_base_makes_of_its_own_tests_is_nobodys_fault() {
    let house = House::new();
    let main = commit(&house.scratch, &[&house.base], &edited(base_files(), "src/old.rs", "old(), 2", "1 + 1, 2"));
    let merged = edited(change_files(), "src/old.rs", "old(), 2", "1 + 1, 2");
    assert_eq!(house.trips_on(&main, &merged), []);
    // The same with code of the change in that file.
    assert_eq!(house.trips_on(&main, &edited(merged.clone(), "src/old.rs", "{ 2 }", "{ 3 - 1 }")), []);
    assert_eq!(house.trips_on(&main, &edited(merged, "src/old.rs", "1 + 1, 2", "2, 2")).len(), 1);
    // What the change had added must still be there on the other base.
    assert!(house.trips_on(&main, &edited(base_files(), "src/old.rs", "old(), 2", "1 + 1, 2")).len() > 1);
}

#[test]
fn what_moves_with_its_module_trips_nothing() {
    let house = House::new();
    let body = "use super::*;\n#[test]\nfn shines() { assert_eq!(lamp(), 1) }\n";
    let lamp = "pub fn lamp() -> u8 { 1 }\n#[cfg(test)]\nmod tests;\n";
    let moved = put(put(change_files(), "src/lamp.rs", lamp), "src/lamp/tests.rs", body);
    assert_eq!(house.trips(&moved), []);
    let aside = put(put(change_files(), "src/lamp.rs", "pub fn lamp() -> u8 { 1 }\n"), "src/lamp/tests.rs", body);
    let trips = house.trips(&aside);
    assert!(trips.iter().any(|trip| trip.says().contains("no `mod` line")), "{trips:#?}");
    let weaker = put(moved, "src/lamp/tests.rs", &body.replace("lamp(), 1", "1, 1"));
    assert!(!house.trips(&weaker).is_empty());
}

#[test]
fn a_file_that_can_not_be_read_is_frozen_as_a_whole() {
    let scratch = Scratch::new();
    let base = commit(&scratch, &[], &base_files());
    let torn = put(base_files(), "src/lamp.rs", &LAMP.replace("mod tests {", "mod tests {{{ ("));
    let head = commit(&scratch, &[&base], &torn);
    let frozen = scene(&scratch, &base, &head, None).manifest(&Policy::default());
    assert_eq!(frozen.files[&RepoPath::from("src/lamp.rs")].kind, Kind::Test);
    assert_eq!(frozen.inside, Some(BTreeMap::new()));
    let later = commit(&scratch, &[&base], &put(torn, "src/lamp.rs", LAMP));
    let trips = hold(&frozen, &scene(&scratch, &base, &later, Some(&frozen)), &Accepted::new());
    assert_eq!(trips.iter().map(|trip| &trip.how).collect::<Vec<_>>(), [&How::Changed]);
}

#[test]
fn an_older_manifest_says_nothing_of_what_is_inside() {
    let house = House::new();
    let frozen = Manifest { inside: None, ..house.frozen.clone() };
    assert!(frozen.seal().unwrap().text.contains("manifest@1"));
    let head = commit(&house.scratch, &[&house.base], &edited(change_files(), "src/lamp.rs", "lamp(), 1", "1, 1"));
    let scene = scene(&house.scratch, &house.base, &head, Some(&frozen));
    assert_eq!(hold(&frozen, &scene, &Accepted::new()), []);
}

#[test]
fn another_reading_and_a_look_that_was_not_taken_trip() {
    let house = House::new();
    let head = commit(&house.scratch, &[&house.base], &change_files());
    let unseen = Scene::read(&house.scratch.reader(), Some(&house.base), &head).unwrap();
    let trips = hold(&house.frozen, &unseen, &Accepted::new());
    assert_eq!(
        trips.iter().map(Trip::code).collect::<Vec<_>>(),
        ["build_tampered:src/dates.py", "build_tampered:src/lamp.rs"]
    );
    let mut older = house.frozen.clone();
    for taken in older.inside.iter_mut().flat_map(BTreeMap::values_mut) {
        taken.reading += 1;
    }
    let trips = hold(&older, &scene(&house.scratch, &house.base, &head, Some(&older)), &Accepted::new());
    assert!(trips.iter().all(|trip| trip.says().contains("reading")) && trips.len() == 2, "{trips:#?}");
}

#[test]
fn what_is_one_too_many_is_said_and_held_as_a_whole() {
    let house = House::new();
    let reader = house.scratch.reader();
    let head = commit(&house.scratch, &[&house.base], &change_files());
    let look = |frozen: Option<&Manifest>, files: usize, bytes: usize| {
        let mut scene = Scene::read(&reader, Some(&house.base), &head).unwrap();
        let mut budget = Budget { files, bytes };
        scene.look(&reader, (Some(&house.base), &head), &Policy::default(), frozen, &mut budget).unwrap();
        scene
    };
    for (files, bytes) in [(1, MOST_BYTES), (MOST_SOURCES, DATES.len() + 10)] {
        let manifest = look(None, files, bytes).manifest(&Policy::default());
        assert_eq!(manifest.files[&RepoPath::from("src/lamp.rs")].kind, Kind::Test, "the second is held as a whole");
        assert_eq!(manifest.inside.as_ref().unwrap().len(), 1);
        let trips = hold(&house.frozen, &look(Some(&house.frozen), files, bytes), &Accepted::new());
        assert_eq!(trips.iter().map(Trip::code).collect::<Vec<_>>(), ["build_tampered:src/lamp.rs"]);
        assert!(trips[0].says().contains("more source files with tests inside than are parsed"), "{}", trips[0].says());
    }
}

#[test]
fn a_file_that_is_opened_for_tests_alone_is_frozen_name_by_name() {
    let body = "use super::lamp;\nconst N: u8 = 1;\nfn want() -> u8 { N }\n#[test]\nfn shines() { assert_eq!(lamp(), want()) }\n";
    let lamp = "pub fn lamp() -> u8 { 1 }\n#[cfg(test)]\nmod unit;\n";
    let scratch = Scratch::new();
    let base = commit(&scratch, &[], &base_files());
    let files = put(put(change_files(), "src/lamp.rs", lamp), "src/lamp/unit.rs", body);
    let files = put(files, "src/lamp/unit/deep.rs", "pub fn deep() -> u8 { 3 }\n");
    let files = edited(files, "src/lamp/unit.rs", "use super::lamp;", "mod deep;\nuse super::lamp;");
    let head = commit(&scratch, &[&base], &files);
    let frozen = scene(&scratch, &base, &head, None).manifest(&Policy::default());
    let says = |files: &Files<'_>| {
        let head = commit(&scratch, &[&base], files);
        let trips = hold(&frozen, &scene(&scratch, &base, &head, Some(&frozen)), &Accepted::new());
        trips.iter().map(Trip::says).collect::<Vec<_>>()
    };
    let unit = |from: &str, to: &str| says(&edited(files.clone(), "src/lamp/unit.rs", from, to));
    for (from, to, name) in [
        ("u8 { N }", "u8 { lamp() }", "`want`"),
        ("N: u8 = 1", "N: u8 = 2", "`N`"),
        ("use super::lamp", "use crate::fake::lamp", "`use super::lamp`"),
    ] {
        let told = unit(from, to);
        assert!(told.iter().any(|said| said.contains(name)), "{to}: {told:?}");
    }
    let told = says(&edited(files.clone(), "src/lamp/unit/deep.rs", "{ 3 }", "{ 4 }"));
    assert!(told.iter().any(|said| said.contains("`deep`")), "{told:?}");
    // What is new beside them is free, and so is a file that is part of the program.
    assert_eq!(unit("const N", "const M: u8 = 2;\nconst N"), [""; 0]);
    assert_eq!(unit("fn want", "#[test]\nfn more() {}\nfn want"), [""; 0]);
    let plain = edited(files.clone(), "src/lamp.rs", "{ 1 }", "{ 2 - 1 }");
    assert_eq!(says(&plain), [""; 0]);
}

#[test]
fn tests_move_to_a_file_of_any_name() {
    let house = House::new();
    let body = "use super::*;\n#[test]\nfn shines() { assert_eq!(lamp(), 1) }\n";
    for (line, file) in [
        ("mod unit;", "src/lamp/unit.rs"),
        ("mod test;", "src/lamp/test.rs"),
        ("mod spec;", "src/lamp/spec/mod.rs"),
        ("#[path = \"u.rs\"]\nmod tests;", "src/u.rs"),
    ] {
        let lamp = format!("pub fn lamp() -> u8 {{ 1 }}\n#[cfg(test)]\n{line}\n");
        let moved = put(put(change_files(), "src/lamp.rs", &lamp), file, body);
        assert_eq!(house.trips(&moved), [], "{file}");
        let fake = put(moved.clone(), file, &body.replace("super::*", "crate::old::*"));
        assert!(!house.trips(&fake).is_empty(), "{file}");
        let never = edited(moved, "src/lamp.rs", "#[cfg(test)]", "#[cfg(any())]");
        assert!(!house.trips(&never).is_empty(), "{file}");
    }
}

const GUIDE: &str = "# Lamp\n\nIt shines.\n\n```\nassert_eq!(lamp::on(), 1);\n```\n";

/// A library whose documentation is its README, and a change that adds a guide.
fn documented() -> (Scratch, CommitId, Files<'static>, Manifest) {
    let scratch = Scratch::new();
    let lib = "#![doc = include_str!(\"../README.md\")]\npub fn on() -> u8 { 1 }\n".to_owned();
    let files = vec![("Cargo.toml", "[package]\n".to_owned()), ("src/lib.rs", lib), ("README.md", GUIDE.to_owned())];
    let base = commit(&scratch, &[], &files);
    let guide = "#[doc = include_str!(\"../docs/guide.md\")]\npub struct Guide;\n";
    let files = put(put(files, "src/guide.rs", guide), "docs/guide.md", &GUIDE.replace("== 1", "== 1 "));
    let head = commit(&scratch, &[&base], &files);
    let frozen = scene(&scratch, &base, &head, None).manifest(&Policy::default());
    (scratch, base, files, frozen)
}

/// A README is run where it is a library's documentation, and nobody would edit the line that fetches it.
#[test]
fn an_example_that_is_fetched_from_another_file_is_frozen() {
    let (scratch, base, files, frozen) = documented();
    let trips = |files: &Files<'_>| {
        let head = commit(&scratch, &[&base], files);
        let trips = hold(&frozen, &scene(&scratch, &base, &head, Some(&frozen)), &Accepted::new());
        trips.iter().map(|trip| format!("{} {}", trip.code(), trip.says())).collect::<Vec<_>>()
    };
    for (file, of, from, to) in [
        ("README.md", "src/lib.rs", "lamp::on(), 1", "lamp::on(), lamp::on()"),
        ("README.md", "src/lib.rs", "```\nassert", "```ignore\nassert"),
        ("docs/guide.md", "src/guide.rs", "assert_eq!(lamp::on(), 1);\n", ""),
    ] {
        let told = trips(&edited(files.clone(), file, from, to));
        let [told] = told.as_slice() else { panic!("{told:#?}") };
        assert!(told.starts_with(&format!("build_tampered:{of} ")) && told.contains(file), "{told}");
    }
    for (about, files) in [
        ("as it was", files.clone()),
        ("prose", edited(files.clone(), "README.md", "It shines.", "It shines at night.")),
        ("spaces", edited(files.clone(), "README.md", "lamp::on(), 1", "lamp::on(),  1")),
        ("another example", edited(files.clone(), "README.md", "# Lamp\n", "# Lamp\n\n```\nlamp::on();\n```\n")),
        ("another text", put(files.clone(), "docs/other.md", "```\nassert!(true);\n```\n")),
        ("code", edited(files.clone(), "src/lib.rs", "{ 1 }", "{ 2 - 1 }")),
    ] {
        assert!(trips(&files).is_empty(), "{about}: {:#?}", trips(&files));
    }
}

#[test]
fn a_file_that_nobody_can_resolve_is_fetched_by_name_only() {
    let fetches = |lib: &str| {
        let items = inline::items("a/src/lib.rs", lib.as_bytes()).unwrap().unwrap();
        items.iter().find_map(|item| item.fetches.clone())
    };
    for (line, place) in [
        ("#![doc = include_str!(\"../README.md\")]", Some("a/README.md")),
        ("#![doc = include_str!(r\"../../b/./c.md\")]", Some("b/c.md")),
        ("#![cfg_attr(doctest, doc = include_str!(\"x.md\"))]", Some("a/src/x.md")),
        ("#![doc = include_str!(\"../../../out.md\")]", None),
        ("#![doc = include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/README.md\"))]", None),
        ("#![doc = include_str!(\"/etc/motd\")]", None),
    ] {
        assert_eq!(fetches(&format!("{line}\npub fn on() {{}}\n")).as_deref(), place, "{line}");
    }
}

/// The same two lines for each of fourteen tests hid which line had changed.
#[test]
fn a_condition_above_many_tests_is_told_once() {
    let test = |at: usize| format!("    #[test]\n    fn shines_{at}() {{ assert_eq!(super::lamp(), {at}) }}\n");
    let all: String = (0..5).map(test).collect();
    let lamp = format!("pub fn lamp() -> u8 {{ 1 }}\n#[cfg(test)]\nmod tests {{\n{all}}}\n");
    let scratch = Scratch::new();
    let base = commit(&scratch, &[], &base_files());
    let files = put(base_files(), "src/lamp.rs", &lamp);
    let head = commit(&scratch, &[&base], &files);
    let frozen = scene(&scratch, &base, &head, None).manifest(&Policy::default());
    let trips = |to: &str| {
        let head = commit(&scratch, &[&base], &put(files.clone(), "src/lamp.rs", to));
        hold(&frozen, &scene(&scratch, &base, &head, Some(&frozen)), &Accepted::new())
    };
    let above = trips(&lamp.replace("cfg(test)", "cfg(all(test, feature = \"slow\"))"));
    let [above] = above.as_slice() else { panic!("{above:#?}") };
    assert_eq!(above.code(), "build_tampered:src/lamp.rs");
    assert!(
        above.says().starts_with(
            "All 5 tests and parts of tests inside of `src/lamp.rs` that stand together (`tests::shines_0`, "
        ),
        "{}",
        above.says()
    );
    let each = trips(&lamp.replace("lamp(), 0", "lamp(), 7").replace("lamp(), 1", "lamp(), 7"));
    assert_eq!(each.len(), 2, "{each:#?}");
}
