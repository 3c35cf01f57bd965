//! `phasegate guard` as a person or an agent meets it, and `replay` of what was frozen: on real repositories, by the binary.

#![allow(clippy::unwrap_used, reason = "a test that can not go on has failed")]

#[path = "support/frozen.rs"]
mod frozen;

use std::path::Path;

use assert_cmd::cargo::cargo_bin_cmd;
use git2::{Oid, Repository, RepositoryInitOptions, Signature, Time};
use phasegate::guard::Manifest;
use phasegate::ids::{ChangeNumber, Digest};
use phasegate::ledger::manifest_path;
use phasegate::ledger::unsigned::ADVISORY;
use serde_json::{Value, json};
use tempfile::TempDir;

struct Ended {
    code: i32,
    out: String,
    err: String,
}

impl Ended {
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("not JSON: {e}\n{}\n{}", self.out, self.err))
    }

    fn rules(&self) -> Vec<String> {
        let findings = self.json()["findings"].as_array().unwrap().clone();
        findings.iter().map(|finding| finding["rule"].as_str().unwrap().to_owned()).collect()
    }
}

/// A repository whose main has a test, and a branch `work` with another one.
struct House {
    dir: TempDir,
    repo: Repository,
}

const POLICY: &str = "freeze: { tests: ['checks/**'] }\ngates: { verify: { checks: [{ name: t, app: 1 }] } }\n";

impl House {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repository::init_opts(dir.path(), RepositoryInitOptions::new().initial_head("main")).unwrap();
        let house = Self { dir, repo };
        house.commit(&[
            (".github/phasegate.yml", POLICY),
            ("tests/old.py", "def test(): pass\n"),
            ("Cargo.lock", "1\n"),
        ]);
        {
            let head = house.repo.head().unwrap().peel_to_commit().unwrap();
            house.repo.branch("work", &head, false).unwrap();
        }
        house.repo.set_head("refs/heads/work").unwrap();
        house.commit(&[
            ("tests/new.py", "def test_new(): assert 1\n"),
            ("checks/lamp.txt", "on\n"),
            ("src/a.py", "a\n"),
        ]);
        house
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Writes these files and commits everything that is there.
    fn commit(&self, files: &[(&str, &str)]) -> Oid {
        for (path, text) in files {
            let file = self.path().join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, text).unwrap();
        }
        let mut index = self.repo.index().unwrap();
        index.add_all(["*"], git2::IndexAddOption::DEFAULT, None).unwrap();
        index.update_all(["*"], None).unwrap();
        index.write().unwrap();
        let tree = self.repo.find_tree(index.write_tree().unwrap()).unwrap();
        let by = Signature::new("ada", "ada@example.com", &Time::new(1_700_000_000, 0)).unwrap();
        let parent = self.repo.head().ok().map(|head| head.peel_to_commit().unwrap());
        let parents: Vec<&git2::Commit<'_>> = parent.iter().collect();
        self.repo.commit(Some("HEAD"), &by, &by, "files", &tree, &parents).unwrap()
    }

    fn run(&self, args: &[&str]) -> Ended {
        let mut command = cargo_bin_cmd!("phasegate");
        let output = command.current_dir(self.path()).env_clear().args(args).output().unwrap();
        Ended {
            code: output.status.code().expect("it ended by itself"),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The manifest of the head, beside the repository's own files.
    fn frozen(&self) -> String {
        let file = self.path().join(".git/manifest.json").display().to_string();
        assert_eq!(self.run(&["guard", "freeze", "--out", &file]).code, 0);
        file
    }
}

#[test]
fn a_manifest_is_printed_as_json_and_written_where_it_is_asked_for() {
    let house = House::new();
    let printed = house.run(&["guard", "freeze"]);
    assert_eq!((printed.code, printed.err.as_str()), (0, ""));
    let manifest = printed.json();
    assert_eq!((&manifest["schema"], &manifest["inside"]), (&json!("phasegate/manifest@2"), &json!({})));
    let files: Vec<&String> = manifest["files"].as_object().unwrap().keys().collect();
    assert_eq!(files, [".github/phasegate.yml", "Cargo.lock", "checks/lamp.txt", "tests/new.py", "tests/old.py"]);
    assert_eq!(manifest["files"]["tests/new.py"]["ours"], true);
    assert_eq!(manifest["files"]["tests/old.py"]["ours"], Value::Null);
    assert_eq!(house.run(&["guard", "freeze"]).out, printed.out, "the same every time");
    assert!(house.run(&["guard", "freeze", "--without-locks"]).json()["files"].get("Cargo.lock").is_none());

    let at = house.path().join(".git/m.json").display().to_string();
    let written = house.run(&["guard", "freeze", "work", "--base", "main", "--out", &at]);
    assert_eq!(written.code, 0, "{}", written.err);
    assert!(
        written.out.contains("tests 3, contracts 0, files that give a run its meaning 1, lock files 1"),
        "{}",
        written.out
    );
    assert_eq!(std::fs::read_to_string(&at).unwrap(), printed.out);
    let report = house.run(&["guard", "freeze", "--out", &at, "--json"]).json();
    assert_eq!((&report["schema"], &report["tests"]), (&json!("phasegate/freeze@1"), &json!(3)));
    let digest = Manifest::parse(&printed.out).unwrap().seal().unwrap().digest;
    assert_eq!(report["manifest"], digest.to_string());
}

#[test]
fn what_is_as_it_was_is_fine_and_what_is_not_is_named() {
    let house = House::new();
    let manifest = house.frozen();
    house.commit(&[("src/a.py", "built\n"), ("tests/more.py", "more\n")]);
    let fine = house.run(&["guard", "check", &manifest]);
    assert_eq!((fine.code, fine.err.as_str()), (0, ""));
    assert!(fine.out.starts_with("GUARD PASS 5 of 5 frozen files at "), "{}", fine.out);

    house.commit(&[("tests/new.py", "import pytest\n@pytest.mark.skip\ndef test_new(): assert 1\n")]);
    std::fs::remove_file(house.path().join("tests/old.py")).unwrap();
    house.commit(&[]);
    let tampered = house.run(&["guard", "check", &manifest, "--json"]);
    assert_eq!((tampered.code, tampered.json()["verdict"].as_str()), (1, Some("FAIL")));
    assert_eq!(tampered.json()["schema"], "phasegate/guard@1");
    assert_eq!(tampered.rules(), ["build_tampered:tests/new.py", "build_tampered:tests/old.py"]);
    let first = &tampered.json()["findings"][0];
    assert_eq!(first["path"], "tests/new.py");
    assert!(first["next"].as_str().unwrap().contains("/refreeze REASON"), "{first}");
    let told = house.run(&["guard", "check", &manifest]);
    assert_eq!(told.code, 1);
    let says = "  build_tampered:tests/old.py tests/old.py: The test `tests/old.py` was frozen and is gone.\n";
    assert!(told.out.starts_with("GUARD FAIL 3 of 5") && told.out.contains(says), "{}", told.out);
    // The commit at which it was frozen is as it was, whatever came later.
    assert_eq!(house.run(&["guard", "check", &manifest, "--head", "HEAD~3"]).code, 0);
}

#[test]
fn what_main_changed_is_nobodys_fault() {
    let house = House::new();
    let manifest = house.frozen();
    let work = house.repo.head().unwrap().peel_to_commit().unwrap();
    house.repo.set_head("refs/heads/main").unwrap();
    house.repo.checkout_head(Some(git2::build::CheckoutBuilder::new().force().remove_untracked(true))).unwrap();
    let main = house.commit(&[("tests/old.py", "def test(): assert 2\n")]);
    // The branch takes main in.
    let main = house.repo.find_commit(main).unwrap();
    let mut index = house.repo.merge_commits(&work, &main, None).unwrap();
    let tree = house.repo.find_tree(index.write_tree_to(&house.repo).unwrap()).unwrap();
    let by = Signature::new("ada", "ada@example.com", &Time::new(1_700_000_000, 0)).unwrap();
    house.repo.commit(Some("refs/heads/work"), &by, &by, "merge", &tree, &[&work, &main]).unwrap();
    let ended = house.run(&["guard", "check", &manifest, "--head", "work"]);
    assert_eq!(ended.code, 0, "{}", ended.out);
}

#[test]
fn a_missing_manifest_is_a_failure_and_a_broken_one_wrong_usage() {
    let house = House::new();
    let missing = house.run(&["guard", "check", "nowhere.json", "--json"]);
    assert_eq!((missing.code, missing.rules()), (1, vec!["tripwire_missing".to_owned()]));
    std::fs::write(house.path().join("broken.json"), "{\"schema\": \"phasegate/manifest@1\"}").unwrap();
    for (args, says) in [
        (&["guard", "check", "broken.json"][..], "broken.json is no manifest"),
        (&["guard", "check", "broken.json", "--ledger", "42"][..], "cannot be used with"),
        (&["guard", "freeze", "nowhere"][..], "there is no commit `nowhere`"),
        (&["guard", "freeze", "--base", "nowhere"][..], "there is no commit `nowhere`"),
        (&["guard", "check", "--ledger", "42"][..], "there is no key"),
    ] {
        let ended = house.run(args);
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{args:?}");
        assert!(ended.err.contains(says), "{args:?}: {}", ended.err);
    }
}

#[test]
fn whoever_has_changed_a_frozen_file_and_not_committed_it_hears_that() {
    let house = House::new();
    let manifest = house.frozen();
    std::fs::write(house.path().join("tests/new.py"), "weaker\n").unwrap();
    let ended = house.run(&["guard", "check", &manifest]);
    assert_eq!(ended.code, 0);
    assert!(ended.err.contains("tests/new.py has changes that are not committed"), "{}", ended.err);
}

const CHANGE: ChangeNumber = ChangeNumber(42);

fn branch() -> String {
    format!("phasegate/ledger{ADVISORY}")
}

impl House {
    /// The head's manifest is frozen on a ledger that nobody signs, in this repository.
    fn ledger(&self) -> Digest {
        let text = self.run(&["guard", "freeze"]).out.trim_end().to_owned();
        let head = self.repo.head().unwrap().target().unwrap().to_string();
        frozen::on_ledger(self.path(), &branch(), CHANGE, &head, &text)
    }

    /// Somebody takes a file out of the ledger, or writes another in its place.
    fn rewrites(&self, path: &str, text: Option<&str>) {
        let name = format!("refs/heads/{}", branch());
        let tip = self.repo.find_reference(&name).unwrap().peel_to_commit().unwrap();
        let mut update = git2::build::TreeUpdateBuilder::new();
        match text {
            Some(text) => update.upsert(path, self.repo.blob(text.as_bytes()).unwrap(), git2::FileMode::Blob),
            None => update.remove(path),
        };
        let tree = update.create_updated(&self.repo, &tip.tree().unwrap()).unwrap();
        let (tree, who) = (self.repo.find_tree(tree).unwrap(), Signature::now("mallory", "m@example.com").unwrap());
        self.repo.commit(Some(&name), &who, &who, "tidy up", &tree, &[&tip]).unwrap();
    }

    fn check_ledger(&self) -> Ended {
        self.run(&["guard", "check", "--ledger", "42", "--branch", &branch(), "--json"])
    }

    fn replay(&self) -> Ended {
        self.run(&["replay", "42", "--branch", &branch(), "--json"])
    }
}

#[test]
fn the_manifest_of_the_ledger_is_the_one_that_its_records_name() {
    let house = House::new();
    let manifest = house.ledger();
    let fine = house.check_ledger();
    assert_eq!((fine.code, fine.json()["manifest"].as_str()), (0, Some(manifest.as_str())), "{}", fine.err);
    assert_eq!(house.replay().code, 3, "an advisory ledger");
    house.commit(&[("tests/new.py", "weaker\n")]);
    let tampered = house.check_ledger();
    assert_eq!((tampered.code, tampered.rules()), (1, vec!["build_tampered:tests/new.py".to_owned()]));
}

#[test]
fn a_manifest_that_was_altered_or_taken_away_shows_in_both() {
    let path = |house: &House| manifest_path(CHANGE, &house.ledger());
    let altered = House::new();
    altered.rewrites(&path(&altered), Some("{\"schema\":\"phasegate/manifest@1\",\"files\":{}}"));
    let gone = House::new();
    gone.rewrites(&path(&gone), None);
    for (house, kind, says) in [(altered, "altered", "not the one that was"), (gone, "dropped", "is not on the ledger")]
    {
        let checked = house.check_ledger();
        assert_eq!((checked.code, checked.rules()), (1, vec!["tripwire_missing".to_owned()]));
        assert!(checked.out.contains(says), "{}", checked.out);
        let replayed = house.replay();
        assert_eq!((replayed.code, replayed.rules()), (1, vec!["tripwire_missing".to_owned()]), "{}", replayed.out);
        let finding = &replayed.json()["findings"][0];
        assert_eq!((finding["seq"].as_u64(), finding["kind"].as_str()), (Some(4), Some(kind)));
    }
}

#[test]
fn what_got_weaker_is_told_and_what_did_not_is_fine() {
    let house = House::new();
    house.commit(&[("tests/new.py", "def test_new():\n    assert lamp(1) == 'on'\n")]);
    let fine = house.run(&["guard", "weaker"]);
    assert_eq!((fine.code, fine.err.as_str()), (0, ""), "{}", fine.out);
    assert!(fine.out.starts_with("WEAKER PASS 1 changed test files at "), "{}", fine.out);
    assert!(fine.out.contains("and 1 that are of no language that is read"), "{}", fine.out);

    let before =
        house.commit(&[("tests/lamp.py", "def test_lamp():\n    assert lamp(1) == 'on'\n    assert off(2) == 3\n")]);
    house.commit(&[("tests/lamp.py", "def test_lamp():\n    assert lamp(1) == 'on'\n")]);
    let base = before.to_string();
    let weaker = house.run(&["guard", "weaker", "--base", &base, "--json"]);
    let report = weaker.json();
    assert_eq!((weaker.code, &report["schema"]), (1, &json!("phasegate/weaker@1")), "{report}");
    assert_eq!((&report["verdict"], &report["files"], &report["unread"]), (&json!("FAIL"), &json!(1), &json!([])));
    assert_eq!(weaker.rules(), ["test_weakened"]);
    assert_eq!(report["findings"][0]["path"], "tests/lamp.py");
    assert!(house.run(&["guard", "weaker", "--base", &base]).out.contains("test_weakened tests/lamp.py"));

    // What is too large to be read is unknown, and not fine.
    house.commit(&[("tests/lamp.py", "def test_lamp():\n    assert lamp(1) == 'on'\n    assert off(2) == 3\n")]);
    house.commit(&[("tests/large.py", &"a = 1\n".repeat(400_000))]);
    let unknown = house.run(&["guard", "weaker", "--base", &base, "--json"]);
    assert_eq!((unknown.code, &unknown.json()["verdict"]), (2, &Value::Null), "{}", unknown.out);
    assert_eq!(unknown.json()["unread"][0]["path"], "tests/large.py");
    assert_eq!(house.run(&["guard", "weaker", "--base", "nowhere"]).code, 2);
}

#[test]
fn tests_inside_of_source_files_are_named() {
    let house = House::new();
    let text = |code: &str, value: u8| {
        format!(
            "fn lamp() -> u8 {{ {code} }}\n#[cfg(test)]\nmod tests {{\n    #[test]\n    fn shines() {{ assert_eq!(super::lamp(), {value}) }}\n}}\n"
        )
    };
    house.commit(&[("src/lamp.rs", &text("1", 1)), ("src/notes.txt", "no code\n")]);
    let first = house.run(&["guard", "items", "src/lamp.rs", "--json"]);
    let report = first.json();
    assert_eq!((first.code, &report["schema"]), (0, &json!("phasegate/items@1")), "{report}");
    let found = |report: &Value| {
        let items = report["files"][0]["items"].as_array().unwrap().clone();
        items.into_iter().find(|item| item["name"] == "tests::shines").unwrap_or_else(|| panic!("{report}"))
    };
    assert_eq!((&found(&report)["line"], &found(&report)["sort"]), (&json!(5), &json!("test")));
    assert!(house.run(&["guard", "items", "src/lamp.rs"]).out.contains("src/lamp.rs:5: tests::shines "));

    // The code around it is free; its own words are not.
    house.commit(&[("src/lamp.rs", &text("0 + 1", 1))]);
    let same = house.run(&["guard", "items", "src/lamp.rs", "--json"]).json();
    assert_eq!(found(&same)["digest"], found(&report)["digest"]);
    house.commit(&[("src/lamp.rs", &text("2", 2))]);
    let other = house.run(&["guard", "items", "src/lamp.rs", "--json"]).json();
    assert_ne!(found(&other)["digest"], found(&report)["digest"]);
    let earlier = house.run(&["guard", "items", "src/lamp.rs", "--at", "HEAD~1", "--json"]).json();
    assert_eq!(found(&earlier)["digest"], found(&report)["digest"]);

    let unread = house.run(&["guard", "items", "src/notes.txt", "--json"]);
    assert_eq!(unread.code, 2, "{}", unread.out);
    assert!(unread.json()["files"][0]["unread"].is_string());
    assert_eq!(house.run(&["guard", "items", "src/nothing.rs"]).code, 2);
}

#[test]
fn a_test_inside_of_a_source_file_is_held_and_the_code_beside_it_is_free() {
    let house = House::new();
    let text = |code: &str, test: &str| {
        format!(
            "pub fn lamp() -> u8 {{ {code} }}\n#[cfg(test)]\nmod tests {{\n    #[test]\n    fn shines() {{ {test} }}\n}}\n"
        )
    };
    house.commit(&[("src/lamp.rs", &text("1", "assert_eq!(super::lamp(), 1)"))]);
    let manifest = house.frozen();
    let written = house.run(&["guard", "freeze", "--out", &manifest]);
    assert!(written.out.contains("source files with tests inside 1."), "{}", written.out);
    let json = house.run(&["guard", "freeze"]).json();
    assert!(json["inside"]["src/lamp.rs"]["items"]["tests::shines"]["digest"].is_string(), "{json}");

    house.commit(&[("src/lamp.rs", &text("0 + 1", "assert_eq!(super::lamp(), 1)"))]);
    let fine = house.run(&["guard", "check", &manifest]);
    assert_eq!(fine.code, 0, "{}", fine.out);
    assert!(fine.out.starts_with("GUARD PASS 6 of 6 frozen files at "), "{}", fine.out);

    house.commit(&[("src/lamp.rs", &text("0", "assert_eq!(super::lamp(), 0)"))]);
    let tampered = house.run(&["guard", "check", &manifest, "--json"]);
    assert_eq!((tampered.code, tampered.rules()), (1, vec!["build_tampered:src/lamp.rs".to_owned()]));
    let finding = &tampered.json()["findings"][0];
    assert_eq!((&finding["path"], &finding["line"]), (&json!("src/lamp.rs"), &json!(5)));
    assert!(
        finding["says"].as_str().unwrap().starts_with("The test `tests::shines` inside of `src/lamp.rs`"),
        "{finding}"
    );

    // A manifest from before such tests were frozen holds what it held.
    let mut older = json.as_object().unwrap().clone();
    older.remove("inside");
    older.insert("schema".to_owned(), json!("phasegate/manifest@1"));
    let file = house.path().join(".git/older.json");
    std::fs::write(&file, serde_json::to_string(&older).unwrap()).unwrap();
    let held = house.run(&["guard", "check", &file.display().to_string()]);
    assert_eq!(held.code, 0, "{}", held.out);
    assert!(held.out.starts_with("GUARD PASS 5 of 5 frozen files at "), "{}", held.out);
}

#[test]
fn a_build_that_is_not_honest_is_reported_by_an_empty_commit() {
    let house = House::new();
    let refs = || -> Vec<(String, Oid)> {
        let all = house.repo.references().unwrap().map(Result::unwrap);
        all.map(|one| (one.name().unwrap().to_owned(), one.peel_to_commit().unwrap().id())).collect()
    };
    let before = refs();
    let reason = "--fast: the expected\n  values are compiled in";
    // Nobody is there yet who could have made it.
    let nobody = house.run(&["guard", "heal", "--reason", reason]);
    assert!(nobody.code == 2 && nobody.err.contains("user.name or user.email"), "{}", nobody.err);
    let mut config = house.repo.config().unwrap();
    for (name, value) in [("user.name", "rover"), ("user.email", "rover@example.com")] {
        config.set_str(name, value).unwrap();
    }
    for (reason, says) in [
        (" \n", "0 characters"),
        ("ab", "3 to 1000 are taken"),
        ("...", "no word"),
        ("ring \u{7} the bell", "control characters"),
    ] {
        let refused = house.run(&["guard", "heal", "--reason", reason]);
        assert!(refused.code == 2 && refused.err.contains(says), "{reason:?}: {}", refused.err);
    }
    let work = house.repo.head().unwrap().peel_to_commit().unwrap();
    house.repo.branch("phasegate/ledger", &work, false).unwrap();
    for (head, says) in [("main", "default branch"), ("phasegate/ledger", "ledger branch")] {
        house.repo.set_head(&format!("refs/heads/{head}")).unwrap();
        let refused = house.run(&["guard", "heal", "--reason", reason]);
        assert!(refused.code == 2 && refused.err.contains(says), "{head}: {}", refused.err);
    }
    house.repo.find_reference("refs/heads/phasegate/ledger").unwrap().delete().unwrap();
    house.repo.set_head_detached(work.id()).unwrap();
    assert!(house.run(&["guard", "heal", "--reason", reason]).err.contains("detached"));
    house.repo.set_head("refs/heads/work").unwrap();
    assert_eq!(refs(), before, "what is refused changes nothing");
    assert_eq!(house.run(&["guard", "heal"]).code, 2, "without a reason it says nothing");

    // Work that is under way stays as it is.
    std::fs::write(house.path().join("src/a.py"), "half\n").unwrap();
    let made = house.run(&["guard", "heal", "--reason", reason, "--json"]);
    assert_eq!((made.code, made.err.as_str()), (0, ""));
    let head = house.repo.head().unwrap().peel_to_commit().unwrap();
    assert_eq!((head.parent_id(0).unwrap(), head.tree_id()), (work.id(), work.tree_id()));
    let message = "heal: --fast: the expected values are compiled in\n\n\
                   Phasegate-Heal: --fast: the expected values are compiled in\n";
    let told = made.json();
    assert_eq!((&told["schema"], &told["message"]), (&json!("phasegate/heal@1"), &json!(message)));
    assert_eq!((head.message().unwrap(), head.author().email().unwrap()), (message, "rover@example.com"));
    assert_eq!((&told["commit"], &told["branch"]), (&json!(head.id().to_string()), &json!("work")));
    assert!(told["next"].as_str().unwrap().starts_with("Push it"));
    assert_eq!(std::fs::read_to_string(house.path().join("src/a.py")).unwrap(), "half\n");
    let again = house.run(&["guard", "heal", "--reason", "it is a stub"]);
    assert!(again.code == 0 && again.out.contains(" on work") && again.out.contains("→ Push it"), "{}", again.out);
}
