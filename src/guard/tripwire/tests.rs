//! What trips and what does not, one way at a time.

use super::*;
use crate::ids::Digest;

fn blob(word: &str) -> BlobId {
    BlobId::new(&Digest::of(word).as_str()[..40]).unwrap()
}

struct Case {
    manifest: Manifest,
    scene: Scene,
    accepted: Accepted,
}

/// A change that had written `tests/ours.rs`, in a repository with more tests, a workflow, a contract and a lock file.
fn case() -> Case {
    let mut case = Case { manifest: Manifest::default(), scene: Scene::default(), accepted: Accepted::new() };
    for (path, kind, ours) in [
        ("tests/ours.rs", Kind::Test, true),
        ("tests/theirs.rs", Kind::Test, false),
        ("tests/data/café.txt", Kind::Test, false),
        (".github/workflows/ci.yml", Kind::Meaning, false),
        ("pytest.ini", Kind::Meaning, true),
        ("contract.json", Kind::Contract, true),
        ("Cargo.lock", Kind::Lock, false),
    ] {
        let (path, blob) = (RepoPath::from(path), blob(path));
        if ours {
            case.scene.touched.insert(path.clone());
        }
        case.scene.files.insert(path.clone(), (Mode::FILE, blob.clone()));
        case.manifest.files.insert(path, Frozen { kind, mode: Mode::FILE, blob, ours });
    }
    case.writes("src/lib.rs", "code");
    case
}

impl Case {
    /// The change writes a file.
    fn writes(&mut self, path: &str, text: &str) -> &mut Self {
        self.puts(path, Mode::FILE, blob(text))
    }

    fn puts(&mut self, path: &str, mode: Mode, blob: BlobId) -> &mut Self {
        self.scene.touched.insert(path.into());
        self.scene.files.insert(path.into(), (mode, blob));
        self
    }

    fn deletes(&mut self, path: &str) -> &mut Self {
        self.scene.touched.insert(path.into());
        assert!(self.scene.files.remove(&RepoPath::from(path)).is_some(), "{path} is not there");
        self
    }

    /// What the change touches no more is as its base has it.
    fn takes_the_bases(&mut self, path: &str, text: Option<&str>) -> &mut Self {
        self.scene.touched.remove(&RepoPath::from(path));
        match text {
            Some(text) => drop(self.scene.files.insert(path.into(), (Mode::FILE, blob(text)))),
            None => drop(self.scene.files.remove(&RepoPath::from(path))),
        }
        self
    }

    fn trips(&self) -> Vec<Trip> {
        hold(&self.manifest, &self.scene, &self.accepted)
    }

    fn codes(&self) -> Vec<String> {
        self.trips().iter().map(Trip::code).collect()
    }

    #[track_caller]
    fn only(&self, path: &str) -> How {
        let trips = self.trips();
        assert_eq!(trips.iter().map(|trip| trip.path.to_string()).collect::<Vec<_>>(), [path]);
        trips[0].how.clone()
    }
}

#[test]
fn what_is_as_it_was_trips_nothing_whatever_else_is_built() {
    let mut case = case();
    case.writes("src/more.rs", "more").writes("tests/new.rs", "new").writes("Tests/more.rs", "more");
    assert_eq!(case.trips(), []);
}

#[test]
fn a_changed_test_trips_also_one_that_is_only_skipped_now() {
    let mut case = case();
    assert_eq!(case.writes("tests/ours.rs", "#[ignore]").only("tests/ours.rs"), How::Changed);
    case.writes("tests/theirs.rs", "weaker").writes("contract.json", "{}");
    assert_eq!(case.codes(), ["contract_tampered", "build_tampered:tests/ours.rs", "build_tampered:tests/theirs.rs"]);
}

#[test]
fn deleted_and_renamed_away_are_told_apart() {
    let mut case = case();
    assert_eq!(case.deletes("tests/ours.rs").only("tests/ours.rs"), How::Deleted);
    case.puts("old/ours.rs", Mode::FILE, blob("tests/ours.rs"));
    assert_eq!(case.only("tests/ours.rs"), How::Renamed { to: "old/ours.rs".into() });
}

#[test]
fn two_empty_files_have_nothing_in_common() {
    let mut case = case();
    let empty = BlobId::new(EMPTY).unwrap();
    let frozen = Frozen { kind: Kind::Test, mode: Mode::FILE, blob: empty.clone(), ours: true };
    case.manifest.files.insert("tests/__init__.py".into(), frozen);
    case.scene.touched.insert("tests/__init__.py".into());
    assert_eq!(case.puts("src/__init__.py", Mode::FILE, empty).only("tests/__init__.py"), How::Deleted);
}

#[test]
fn a_link_a_mount_a_folder_and_a_mode_trip() {
    let case = || {
        let mut case = case();
        case.scene.files.retain(|path, _| !path.is_under(&"tests/data".into()));
        case.manifest.files.retain(|path, _| !path.is_under(&"tests/data".into()));
        case
    };
    let at = "tests/ours.rs";
    assert_eq!(case().puts(at, Mode::SYMLINK, blob("target")).only(at), How::Link);
    assert_eq!(case().puts(at, Mode::SUBMODULE, blob("commit")).only(at), How::Mounted);
    assert_eq!(case().deletes(at).writes("tests/ours.rs/mod.rs", "x").only(at), How::Folder);
    let mode = How::Mode { from: Mode::FILE, to: Mode::EXECUTABLE };
    assert_eq!(case().puts(at, Mode::EXECUTABLE, blob(at)).only(at), mode);
}

#[test]
fn a_folder_of_tests_that_became_a_link_trips_for_each() {
    let mut case = case();
    case.deletes("tests/ours.rs").deletes("tests/theirs.rs").deletes("tests/data/café.txt");
    case.puts("tests", Mode::SYMLINK, blob("elsewhere"));
    let behind = How::Behind { what: "tests".into() };
    let found: Vec<(String, How)> = case.trips().into_iter().map(|trip| (trip.path.to_string(), trip.how)).collect();
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found.iter().all(|(_, how)| *how == behind), "{found:?}");
}

#[test]
fn a_name_that_differs_only_in_case_or_unicode_form_trips_beside_the_file_and_in_its_place() {
    let mut beside = case();
    beside.writes("tests/Ours.rs", "weaker");
    assert_eq!(beside.only("tests/ours.rs"), How::Alike { other: "tests/Ours.rs".into() });
    beside.deletes("tests/ours.rs");
    assert_eq!(beside.only("tests/ours.rs"), How::Alike { other: "tests/Ours.rs".into() });

    let mut form = case();
    form.writes("tests/data/cafe\u{301}.txt", "weaker");
    assert_eq!(form.only("tests/data/café.txt"), How::Alike { other: "tests/data/cafe\u{301}.txt".into() });

    // On a system that tells no case apart, the link stands where the folder is.
    let mut folder = case();
    folder.puts("TESTS", Mode::SYMLINK, blob("elsewhere"));
    assert_eq!(folder.codes().len(), 3, "{:?}", folder.trips());
}

#[test]
fn two_names_that_were_frozen_together_are_fine() {
    let mut case = case();
    let frozen = Frozen { kind: Kind::Test, mode: Mode::FILE, blob: blob("upper"), ours: true };
    case.manifest.files.insert("tests/OURS.rs".into(), frozen);
    case.writes("tests/OURS.rs", "upper");
    assert_eq!(case.trips(), []);
}

#[test]
fn what_only_the_base_changed_is_nobodys_fault() {
    let mut case = case();
    case.takes_the_bases("tests/theirs.rs", Some("newer on main"));
    case.takes_the_bases("tests/data/café.txt", None);
    case.takes_the_bases(".github/workflows/ci.yml", Some("newer on main"));
    case.takes_the_bases("Cargo.lock", Some("newer on main"));
    assert_eq!(case.trips(), []);
}

#[test]
fn a_test_of_ones_own_does_not_go_back_to_the_bases_and_what_gives_meaning_may() {
    let mut case = case();
    case.takes_the_bases("tests/ours.rs", None).takes_the_bases("contract.json", Some("as on main"));
    case.takes_the_bases("pytest.ini", Some("as on main"));
    assert_eq!(case.codes(), ["contract_tampered", "build_tampered:tests/ours.rs"]);
}

#[test]
fn what_a_person_accepted_counts_for_what_gives_meaning_alone() {
    let mut case = case();
    case.writes("pytest.ini", "looser").writes("tests/ours.rs", "looser");
    assert_eq!(case.codes(), ["build_tampered:pytest.ini", "build_tampered:tests/ours.rs"]);
    for path in ["pytest.ini", "tests/ours.rs"] {
        case.accepted.entry(path.to_owned()).or_default().insert(Some(blob("looser")));
    }
    assert_eq!(case.codes(), ["build_tampered:tests/ours.rs"]);
    case.writes("pytest.ini", "looser still");
    assert_eq!(case.codes().len(), 2);
}

#[test]
fn a_finding_names_the_code_the_path_and_both_ways_out() {
    let mut case = case();
    case.writes("tests/ours.rs", "weaker");
    let finding = case.trips()[0].finding("or ask somebody.");
    assert_eq!(finding.rule, "build_tampered:tests/ours.rs");
    assert_eq!(finding.path.as_deref(), Some("tests/ours.rs"));
    assert_eq!(finding.says, "The test `tests/ours.rs` is not as it was frozen: its content was changed.");
    let back = format!("Put it back as it was (blob {}); or ask somebody.", &blob("tests/ours.rs").as_str()[..12]);
    assert_eq!(finding.next, back);
    assert!(finding.blocks());
}

#[test]
fn a_code_is_one_word_of_bounded_length_whatever_the_path_is() {
    let trip = |path: &str| Trip {
        path: path.into(),
        kind: Kind::Test,
        frozen: Some(blob("x")),
        now: None,
        how: How::Deleted,
    };
    assert_eq!(trip("tests/a `b`\n@ada").code(), r#"build_tampered:"tests/a__b_\n@ada""#);
    assert!(trip(&format!("tests/{}", "x".repeat(4000))).code().len() < 250);
}
