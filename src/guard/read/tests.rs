//! Real repositories, frozen and held.

use super::*;
use crate::guard::{How, Kind, hold};
use crate::policy;
use crate::repo::testing::Scratch;

const BASE: &[(&str, &str)] = &[
    ("src/lib.rs", "pub fn on() {}\n"),
    ("tests/old.rs", "#[test]\nfn old() {}\n"),
    (".github/workflows/ci.yml", "on: push\n"),
    ("Cargo.lock", "version = 4\n"),
];

fn with<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut files = BASE.to_vec();
    for (path, text) in more {
        files.retain(|(old, _)| old != path);
        files.push((path, text));
    }
    files
}

#[test]
fn a_head_is_read_with_what_the_change_had_touched() {
    let scratch = Scratch::new();
    let base = scratch.text(&[], BASE);
    let head = scratch.text(&[&base], &with(&[("tests/new.rs", "new\n"), ("checks/lamp.txt", "on\n")]));
    let policy =
        policy::parse(b"freeze: { tests: ['checks/**'] }\ngates: { verify: { checks: [{ name: t, app: 1 }] } }\n")
            .unwrap();
    let manifest = Scene::read(&scratch.reader(), Some(&base), &head).unwrap().manifest(&policy);
    let of = |path: &str| manifest.files.get(&path.into()).map(|frozen| (frozen.kind, frozen.ours));
    assert_eq!(of("tests/new.rs"), Some((Kind::Test, true)));
    assert_eq!(of("tests/old.rs"), Some((Kind::Test, false)));
    assert_eq!(of("checks/lamp.txt"), Some((Kind::Test, true)));
    assert_eq!(of(".github/workflows/ci.yml"), Some((Kind::Meaning, false)));
    assert_eq!(of("Cargo.lock"), Some((Kind::Lock, false)));
    assert_eq!(of("src/lib.rs"), None);
    let alone = Scene::read(&scratch.reader(), None, &head).unwrap().manifest(&policy);
    assert!(alone.files.values().all(|frozen| frozen.ours), "without a base everything is the change's own");
}

#[test]
fn a_merge_of_the_base_trips_nothing_and_an_edit_does() {
    let scratch = Scratch::new();
    let policy = Policy::default();
    let base = scratch.text(&[], BASE);
    let head = scratch.text(&[&base], &with(&[("tests/new.rs", "new\n")]));
    let scene = |base, head| Scene::read(&scratch.reader(), Some(base), head).unwrap();
    let frozen = scene(&base, &head).manifest(&policy);
    let main = scratch.text(&[&base], &with(&[("tests/old.rs", "better\n")]));
    let merged = scratch.text(&[&head, &main], &with(&[("tests/new.rs", "new\n"), ("tests/old.rs", "better\n")]));
    assert_eq!(hold(&frozen, &scene(&main, &merged), &Default::default()), []);
    let edited = scratch.text(&[&merged], &with(&[("tests/new.rs", "new\n"), ("tests/old.rs", "weaker\n")]));
    let trips = hold(&frozen, &scene(&main, &edited), &Default::default());
    assert_eq!(
        trips.iter().map(|trip| (trip.code(), &trip.how)).collect::<Vec<_>>(),
        [("build_tampered:tests/old.rs".to_owned(), &How::Changed)]
    );
}
