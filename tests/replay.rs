//! `phasegate replay` on a real ledger: signed with an RSA key, on a branch of a real repository, and then tampered with
//! by somebody who can push but has no key.

#![allow(clippy::unwrap_used, reason = "a test that can not go on has failed")]

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use assert_cmd::cargo::cargo_bin_cmd;
use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use git2::{ObjectType, Repository, Signature};
use phasegate::flow::{FlowName, Mode};
use phasegate::github::{AppKey, Keys, PublicKey};
use phasegate::ids::{ChangeNumber, Digest, Person, RepoId};
use phasegate::ledger::local::LocalStore;
use phasegate::ledger::unsigned::Unsigned;
use phasegate::ledger::{Anchor, Body, By, Entry, KeyRing, Ledger, Signer};
use phasegate::policy::Autonomy;
use secrecy::SecretString;
use serde_json::Value;
use tempfile::TempDir;

const REPO: RepoId = RepoId(7);
const CHANGE: ChangeNumber = ChangeNumber(42);
const BRANCH: &str = "phasegate/ledger";

/// A fresh key as PEM text.
fn pem() -> String {
    let pair = rsa::KeyPair::generate(rsa::KeySize::Rsa2048).unwrap();
    let der: Pkcs8V1Der<'_> = pair.as_der().unwrap();
    let text = BASE64.encode(der.as_ref());
    let lines: Vec<&str> = text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", lines.join("\n"))
}

static APP: LazyLock<String> = LazyLock::new(pem);

struct House {
    dir: TempDir,
    anchor: Anchor,
}

struct Replayed {
    code: i32,
    out: String,
    err: String,
}

impl Replayed {
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("not JSON: {e}\n{}\n{}", self.out, self.err))
    }

    /// The code, the record and the way in which it is broken.
    fn broken(&self) -> (i32, u64, String) {
        let report = self.json();
        assert_eq!(report["verdict"], "FAIL", "{report:#}");
        let finding = &report["findings"][0];
        assert_eq!(finding["rule"], "MRG-08");
        assert!(finding["next"].as_str().unwrap().len() > 20);
        (self.code, finding["seq"].as_u64().unwrap(), finding["kind"].as_str().unwrap().to_owned())
    }
}

fn entry(body: Body) -> Entry {
    Entry::new(By::Bot, None, body)
}

impl House {
    /// A change with so many records; an issue is linked to it.
    fn with(records: u64) -> Self {
        let key = Arc::new(AppKey::from_pem(&SecretString::from(APP.as_str())).unwrap());
        let keys: Keys = std::iter::once(key.public().clone()).collect();
        let public = key.public_pem();
        let house = Self::signed(records, BRANCH, key, Arc::new(keys));
        std::fs::write(house.path().join("app.pem"), public).unwrap();
        house
    }

    fn signed(records: u64, branch: &str, signer: Arc<dyn Signer>, keys: Arc<dyn KeyRing>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        Repository::init(dir.path()).unwrap();
        let store = Arc::new(LocalStore::new(dir.path(), branch));
        let ledger = Arc::new(Ledger::new(REPO, store, signer, keys));
        let author = Person { id: 1, login: "ada".to_owned(), bot: false };
        let law = Body::Law {
            policy: Digest::of("policy"),
            flow: FlowName::Pipeline,
            mode: Mode::Auto,
            autonomy: Autonomy::Auto,
        };
        let mut entries = vec![entry(Body::Opened { author }), entry(law), entry(Body::Linked { number: 41 })];
        entries.extend((4..=records).map(|n| entry(Body::Tampered { what: format!("note {n}"), told: None })));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let state = runtime.block_on(async {
            let loaded = ledger.load(CHANGE).await.unwrap();
            ledger.append(loaded, jiff::Timestamp::now(), entries).await.unwrap().state
        });
        Self { dir, anchor: Anchor { change: CHANGE, seq: state.seq, tip: state.tip } }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Somebody pushes another folder of the change over it: each file is what `edit` makes of it.
    fn tamper(&self, edit: impl Fn(&mut Vec<(String, Vec<u8>)>)) {
        let repo = Repository::open(self.path()).unwrap();
        let tip = repo.find_reference(&format!("refs/heads/{BRANCH}")).unwrap().peel_to_commit().unwrap();
        let folder = Path::new("changes/0/42");
        let tree = tip.tree().unwrap().get_path(folder).unwrap().to_object(&repo).unwrap().peel_to_tree().unwrap();
        let mut files: Vec<(String, Vec<u8>)> = tree
            .iter()
            .filter(|entry| entry.kind() == Some(ObjectType::Blob))
            .map(|entry| {
                let content = repo.find_blob(entry.id()).unwrap().content().to_vec();
                (String::from_utf8(entry.name_bytes().to_vec()).unwrap(), content)
            })
            .collect();
        edit(&mut files);
        let mut inner = repo.treebuilder(None).unwrap();
        // What stands in folders below stays.
        for entry in tree.iter().filter(|entry| entry.kind() == Some(ObjectType::Tree)) {
            inner.insert(entry.name_bytes(), entry.id(), entry.filemode()).unwrap();
        }
        for (name, content) in &files {
            inner.insert(name, repo.blob(content).unwrap(), 0o100_644).unwrap();
        }
        let mut oid = inner.write().unwrap();
        for name in ["42", "0", "changes"] {
            let mut outer = repo.treebuilder(None).unwrap();
            outer.insert(name, oid, 0o040_000).unwrap();
            oid = outer.write().unwrap();
        }
        let (tree, who) = (repo.find_tree(oid).unwrap(), Signature::now("mallory", "m@example.com").unwrap());
        repo.commit(Some(&format!("refs/heads/{BRANCH}")), &who, &who, "tidy up", &tree, &[&tip]).unwrap();
    }

    fn run(&self, change: &str, args: &[&str]) -> Replayed {
        let mut command = cargo_bin_cmd!("phasegate");
        command.current_dir(self.path()).env_clear().args(["replay", change]).args(args);
        let output = command.output().unwrap();
        Replayed {
            code: output.status.code().expect("it ended by itself"),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    fn replay(&self) -> Replayed {
        self.run("42", &["--key", "app.pem", "--repository-id", "7", "--json"])
    }

    fn replay_against(&self, anchor: &Anchor) -> Replayed {
        let anchor = anchor.to_string();
        self.run("42", &["--key", "app.pem", "--repository-id", "7", "--json", "--anchor", &anchor])
    }
}

#[test]
fn an_edited_or_deleted_snapshot_is_located() {
    let house = House::with(5);
    assert_eq!(house.replay().code, 0);
    let replace = |text: Option<&str>| {
        let repo = Repository::open(house.path()).unwrap();
        let tip = repo.find_branch(BRANCH, git2::BranchType::Local).unwrap().get().peel_to_commit().unwrap();
        let path = "changes/0/42/context/iter-0001.md";
        let was = tip.tree().unwrap().get_path(Path::new(path)).unwrap().to_object(&repo).unwrap();
        let was = String::from_utf8(was.peel_to_blob().unwrap().content().to_vec()).unwrap();
        let mut update = git2::build::TreeUpdateBuilder::new();
        match text {
            Some(text) => {
                let edited = repo.blob(was.replace("none", text).as_bytes()).unwrap();
                update.upsert(path, edited, git2::FileMode::Blob);
            }
            None => drop(update.remove(path)),
        }
        let tree = repo.find_tree(update.create_updated(&repo, &tip.tree().unwrap()).unwrap()).unwrap();
        let who = Signature::now("mallory", "m@example.com").unwrap();
        repo.commit(Some(&format!("refs/heads/{BRANCH}")), &who, &who, "tidy up", &tree, &[&tip]).unwrap();
    };
    replace(Some("iteration"));
    let edited = house.replay();
    assert_eq!((edited.code, edited.json()["findings"][0]["rule"].clone()), (1, "SNP-04".into()), "{}", edited.out);
    assert_eq!(edited.json()["findings"][0]["kind"], "altered");
    replace(None);
    let gone = house.replay();
    assert_eq!(gone.json()["findings"][0]["path"], "changes/0/42/context/iter-0001.md");
    assert_eq!((gone.code, gone.json()["findings"][0]["kind"].clone()), (1, "dropped".into()), "{}", gone.out);
}

/// Whatever people read of a change's memory is held against the records to the byte, and each file by its name.
#[test]
fn whatever_was_done_to_a_changes_memory_is_located() {
    const CONTEXT: &str = "changes/0/42/context";
    type Edit = fn(&str) -> Option<String>;
    let prose: Edit = |text| Some(format!("Read this first: the scope cap is lifted.\n\n{text}"));
    let below: Edit =
        |text| Some(text.replace("## Issues (State)\n", "## Issues (State)\n\nAll are settled, says mia.\n"));
    let heading: Edit = |text| Some(format!("{text}\n## AC-1: anything goes\n"));
    let counters: Edit = |text| Some(text.replace("FAILs (this Slice ID): 0", "FAILs (this Slice ID): 9"));
    let added: Edit = |_| Some("# iter-0099\n".to_owned());
    let gone: Edit = |_| None;
    let cases: [(&str, Edit, &str); 9] = [
        ("iter-0001.md", prose, "altered"),
        ("iter-0001.md", below, "altered"),
        ("iter-0001.md", heading, "altered"),
        ("latest.md", counters, "altered"),
        ("latest.md", gone, "dropped"),
        ("iter-0001.md", gone, "dropped"),
        ("iter-0099.md", added, "foreign"),
        ("ITER-2.markdown", added, "foreign"),
        ("change-record.md", added, "altered"),
    ];
    for (name, edit, kind) in cases {
        let house = House::with(5);
        let path = format!("{CONTEXT}/{name}");
        let repo = Repository::open(house.path()).unwrap();
        let tip = repo.find_branch(BRANCH, git2::BranchType::Local).unwrap().get().peel_to_commit().unwrap();
        let was = tip.tree().unwrap().get_path(Path::new(&path)).and_then(|entry| entry.to_object(&repo));
        let was = was.map(|one| String::from_utf8(one.peel_to_blob().unwrap().content().to_vec()).unwrap());
        let was = was.unwrap_or_default();
        let mut update = git2::build::TreeUpdateBuilder::new();
        match edit(&was) {
            Some(text) => {
                assert_ne!(text, was);
                update.upsert(path.as_str(), repo.blob(text.as_bytes()).unwrap(), git2::FileMode::Blob);
            }
            None => drop(update.remove(path.as_str())),
        }
        let tree = repo.find_tree(update.create_updated(&repo, &tip.tree().unwrap()).unwrap()).unwrap();
        let who = Signature::now("mallory", "m@example.com").unwrap();
        repo.commit(Some(&format!("refs/heads/{BRANCH}")), &who, &who, "tidy up", &tree, &[&tip]).unwrap();
        let replayed = house.replay();
        let found = replayed.json()["findings"].as_array().unwrap().clone();
        assert_eq!((replayed.code, found.len()), (1, 1), "{name}: {}", replayed.out);
        assert_eq!((&found[0]["rule"], &found[0]["path"]), (&"SNP-04".into(), &path.into()), "{}", replayed.out);
        assert_eq!(found[0]["kind"], kind, "{name}");
    }
}

/// The place of a record's file.
fn at(files: &[(String, Vec<u8>)], name: &str) -> usize {
    files.iter().position(|(file, _)| file == name).unwrap()
}

#[test]
fn an_intact_chain_is_proven_to_its_end() {
    let house = House::with(5);
    let replayed = house.replay_against(&house.anchor);
    assert_eq!((replayed.code, replayed.err.as_str()), (0, ""));
    let report = replayed.json();
    assert_eq!(report["schema"], "phasegate/replay@1");
    assert_eq!(report["verdict"], "PASS");
    assert_eq!((&report["change"], &report["repository"], &report["records"]), (&42.into(), &7.into(), &5.into()));
    assert_eq!(report["state"]["flow"], "pipeline");
    assert_eq!(report["state"]["stage"], "PreferencesConfigured");
    assert_eq!(report["state"]["tip"], house.anchor.tip.as_str());
    assert_eq!(report["findings"].as_array().unwrap().len(), 0);
    assert_eq!(report["notes"].as_array().unwrap().len(), 0, "nothing is left open: {report:#}");
}

#[test]
fn of_the_anchors_of_several_changes_the_changes_own_is_taken() {
    let house = House::with(5);
    let other = Anchor { change: ChangeNumber(41), seq: 99, tip: Digest::of("another") };
    let replay =
        |anchor: &str| house.run("42", &["--key", "app.pem", "--repository-id", "7", "--json", "--anchor", anchor]);
    let replayed = replay(&format!("{other} {}", house.anchor));
    assert_eq!(replayed.code, 0, "{}", replayed.err);
    assert_eq!(replayed.json()["anchor"], house.anchor.to_string());
    let newer = Anchor { seq: 6, ..house.anchor.clone() };
    assert_eq!(replay(&format!("{other} {newer}")).broken(), (1, 6, "cut_off".to_owned()));
    assert!(replay(&other.to_string()).err.contains("the anchor is one of change #41, not of #42"));
}

#[test]
fn a_person_reads_where_it_stands_and_what_is_not_proven() {
    let house = House::with(5);
    let replayed = house.run("#42", &["--key", "app.pem"]);
    assert_eq!((replayed.code, replayed.err.as_str()), (0, ""));
    for part in [
        "change #42: 5 records, the chain is intact",
        "pipeline flow at “ready to start”, open",
        "record 5, ",
        "it can't be seen whether records were cut off at the end",
        "--repository-id",
    ] {
        assert!(replayed.out.contains(part), "{part:?} is missing in:\n{}", replayed.out);
    }
}

#[test]
fn a_linked_number_leads_to_its_change_from_any_folder_of_the_repository() {
    let house = House::with(3);
    let below = house.path().join("below");
    std::fs::create_dir(&below).unwrap();
    let replayed = house.run("41", &["--key", "app.pem", "--repo", "below", "--json"]);
    assert_eq!(replayed.code, 0, "{}", replayed.err);
    assert_eq!(replayed.json()["change"], 42);
}

#[test]
fn an_altered_record_is_located() {
    let house = House::with(5);
    house.tamper(|files| {
        let four = at(files, "0004.json");
        let text = String::from_utf8(files[four].1.clone()).unwrap();
        assert!(text.contains("note 4"));
        files[four].1 = text.replace("note 4", "note X").into_bytes();
    });
    assert_eq!(house.replay().broken(), (1, 4, "altered".to_owned()));
    let told = house.run("42", &["--key", "app.pem"]);
    assert_eq!(told.code, 1);
    assert!(told.out.contains("MRG-08: record 4 is altered (changes/0/42/0004.json)"), "{}", told.out);
    assert!(told.out.contains("git log -p phasegate/ledger -- changes/0/42/0004.json"), "{}", told.out);
}

#[test]
fn a_record_that_is_no_json_any_more_is_located_even_as_the_first() {
    let house = House::with(3);
    house.tamper(|files| files[0].1 = b"\xff\xfe{".to_vec());
    assert_eq!(house.run("42", &["--key", "app.pem", "--json"]).broken(), (1, 1, "altered".to_owned()));
}

/// Git has where a link leads as its text.
#[test]
fn a_record_that_became_a_link_is_said_to_be_none() {
    let house = House::with(3);
    house.tamper(|files| files[1].1 = b"0001.json".to_vec());
    let told = house.run("42", &["--key", "app.pem"]);
    assert!(told.out.contains("it is no record any more: the file was replaced, or became a link"), "{}", told.out);
    assert_eq!(house.replay().broken(), (1, 2, "altered".to_owned()));
}

#[test]
fn a_dropped_record_is_located() {
    let house = House::with(5);
    house.tamper(|files| drop(files.remove(at(files, "0003.json"))));
    assert_eq!(house.replay().broken(), (1, 3, "dropped".to_owned()));
}

#[test]
fn a_dropped_first_record_is_located_without_knowing_the_repository() {
    let house = House::with(5);
    house.tamper(|files| drop(files.remove(0)));
    assert_eq!(house.run("42", &["--key", "app.pem", "--json"]).broken(), (1, 1, "dropped".to_owned()));
}

#[test]
fn reordered_records_are_located() {
    let house = House::with(5);
    house.tamper(|files| {
        let (three, four) = (at(files, "0003.json"), at(files, "0004.json"));
        let content = files[three].1.clone();
        files[three].1 = std::mem::replace(&mut files[four].1, content);
    });
    assert_eq!(house.replay().broken(), (1, 3, "reordered".to_owned()));
}

#[test]
fn a_cut_off_end_shows_by_the_anchor_and_only_by_it() {
    let house = House::with(5);
    house.tamper(|files| files.truncate(3));
    let blind = house.replay();
    assert_eq!(blind.code, 0, "three good records are a good chain of three");
    assert!(blind.json()["notes"][0].as_str().unwrap().contains("cut off at the end"));

    let seeing = house.replay_against(&house.anchor);
    assert_eq!(seeing.broken(), (1, 4, "cut_off".to_owned()));
    assert_eq!(seeing.json()["state"]["seq"], 3, "what is there is still told");
}

#[test]
fn a_change_cut_off_as_a_whole_shows_by_the_anchor() {
    let house = House::with(3);
    house.tamper(|files| {
        files.clear();
        files.push(("context.md".to_owned(), b"nothing was ever here".to_vec()));
    });
    assert_eq!(house.run("42", &["--key", "app.pem"]).code, 2, "no such change, as far as anyone can see");
    let anchor = house.anchor.to_string();
    let seeing = house.run("42", &["--key", "app.pem", "--json", "--anchor", &anchor]);
    assert_eq!(seeing.broken(), (1, 1, "cut_off".to_owned()));
}

#[test]
fn a_checkpoint_left_behind_gives_a_cut_off_end_away() {
    let house = House::with(101);
    assert_eq!(house.replay_against(&house.anchor).code, 0);
    house.tamper(|files| files.retain(|(name, _)| !matches!(name.as_str(), "0099.json" | "0100.json" | "0101.json")));
    assert_eq!(house.replay().broken(), (1, 99, "cut_off".to_owned()));
}

#[test]
fn a_forged_checkpoint_is_found() {
    let house = House::with(100);
    house.tamper(|files| {
        let place = at(files, "checkpoint.json");
        let text = String::from_utf8(files[place].1.clone()).unwrap();
        files[place].1 = text.replace("ada", "eve").into_bytes();
    });
    assert_eq!(house.replay().broken(), (1, 0, "altered".to_owned()));
    assert!(house.run("42", &["--key", "app.pem"]).out.contains("the checkpoint is altered"));
}

#[test]
fn an_older_anchor_still_holds_and_one_of_another_history_does_not() {
    let (house, other) = (House::with(5), House::with(3));
    assert_eq!(house.replay_against(&other.anchor).broken(), (1, 3, "altered".to_owned()));
    let prev = {
        let repo = Repository::open(house.path()).unwrap();
        let object = repo.revparse_single(&format!("{BRANCH}:changes/0/42/0005.json")).unwrap();
        let record: Value = serde_json::from_slice(object.peel_to_blob().unwrap().content()).unwrap();
        record["record"]["prev"]["follows"].as_str().unwrap().to_owned()
    };
    let older = Anchor { change: CHANGE, seq: 4, tip: Digest::new(prev).unwrap() };
    assert_eq!(house.replay_against(&older).code, 0);
}

#[test]
fn files_with_almost_a_records_name_are_no_records_and_no_bug() {
    let house = House::with(3);
    house.tamper(|files| {
        let content = files[1].1.clone();
        for name in ["+001.json", "00002.json", "00009.json", "99999999999999999999.json", "x.json"] {
            files.push((name.to_owned(), content.clone()));
        }
    });
    let replayed = house.replay_against(&house.anchor);
    assert_eq!(replayed.code, 0, "{}{}", replayed.out, replayed.err);
    house.tamper(|files| files.retain(|(name, _)| name != "0002.json"));
    assert_eq!(house.replay().broken(), (1, 2, "dropped".to_owned()), "and none stands in for one");
}

#[test]
fn a_key_that_is_not_the_apps_proves_nothing() {
    let house = House::with(3);
    std::fs::write(house.path().join("other.pem"), pem()).unwrap();
    let replayed = house.run("42", &["--key", "other.pem", "--repository-id", "7", "--json"]);
    assert_eq!(replayed.broken(), (1, 1, "unknown_key".to_owned()));
    let both = house.run("42", &["--key", "other.pem", "--key", "app.pem", "--json"]);
    assert_eq!(both.code, 0, "a ring of keys");
}

#[test]
fn the_records_of_another_repository_are_foreign() {
    let house = House::with(3);
    let replayed = house.run("42", &["--key", "app.pem", "--repository-id", "8", "--json"]);
    assert_eq!(replayed.broken(), (1, 1, "foreign".to_owned()));
}

#[test]
fn a_key_comes_from_the_environment_too_and_is_never_printed() {
    let house = House::with(3);
    let file: PathBuf = house.path().join("private.pem");
    std::fs::write(&file, APP.as_str()).unwrap();
    let escaped = APP.replace('\n', "\\n");
    for (name, value) in [("PRIVATE_KEY", escaped.as_str()), ("PRIVATE_KEY_PATH", file.to_str().unwrap())] {
        let mut command = cargo_bin_cmd!("phasegate");
        command.current_dir(house.path()).env_clear().env(name, value).args(["replay", "42", "--json"]);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let fingerprint = PublicKey::from_pem(&APP).unwrap().fingerprint();
        assert_eq!(report["keys"][0], fingerprint.as_str());
        let line = APP.lines().nth(3).unwrap();
        assert!(!String::from_utf8_lossy(&output.stdout).contains(line));
    }
}

#[test]
fn earlier_keys_come_as_text_too() {
    let house = House::with(3);
    let public = std::fs::read_to_string(house.path().join("app.pem")).unwrap();
    let another = AppKey::from_pem(&SecretString::from(pem())).unwrap().public_pem();
    let run = |text: &str| {
        let mut command = cargo_bin_cmd!("phasegate");
        command.current_dir(house.path()).env_clear().env("PREVIOUS_KEYS", text).args(["replay", "42", "--json"]);
        command.output().unwrap()
    };
    let both = run(&format!("{another}\n{public}"));
    assert_eq!(both.status.code(), Some(0), "{}", String::from_utf8_lossy(&both.stderr));
    let report: Value = serde_json::from_slice(&both.stdout).unwrap();
    assert_eq!(report["keys"].as_array().unwrap().len(), 2);
    assert_eq!(run(&public.replace('\n', "\\n")).status.code(), Some(0), "as an environment file has it");
    for (text, says) in [
        ("/etc/keys".to_owned(), "PREVIOUS_KEYS has no key"),
        (format!("{public}-----BEGIN PUBLIC KEY-----\nx\n"), "number 2 is no key"),
    ] {
        let refused = run(&text);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(2) && said.contains(says), "{said}");
    }
}

#[test]
fn an_advisory_ledger_needs_no_key_and_proves_no_signature() {
    const LEDGER: &str = "phasegate/ledger-advisory";
    let house = House::signed(3, LEDGER, Arc::new(Unsigned), Arc::new(Unsigned));
    let whole = house.run("42", &["--branch", LEDGER, "--json"]);
    let report = whole.json();
    assert_eq!((whole.code, &report["verdict"], &report["records"]), (3, &"ADVISORY".into(), &3.into()), "{report:#}");
    assert!(report["notes"][0].as_str().unwrap().contains("anyone who can push a workflow"), "{report:#}");
    // A record that somebody signed does not belong here, and an advisory one does not belong to a gate's ledger.
    let signed = House::with(3);
    let public = std::fs::read_to_string(signed.path().join("app.pem")).unwrap();
    for (house, from, to, args) in [
        (&signed, BRANCH, LEDGER, &["--branch", LEDGER, "--json"][..]),
        (&house, LEDGER, BRANCH, &["--key", "app.pem", "--json"][..]),
    ] {
        std::fs::write(house.path().join("app.pem"), &public).unwrap();
        let repo = Repository::open(house.path()).unwrap();
        let tip = repo.find_reference(&format!("refs/heads/{from}")).unwrap().target().unwrap();
        repo.reference(&format!("refs/heads/{to}"), tip, true, "moved").unwrap();
        assert_eq!(house.run("42", args).broken(), (1, 1, "unknown_key".to_owned()));
    }
}

#[test]
fn what_can_not_be_asked_is_2() {
    let house = House::with(3);
    std::fs::write(house.path().join("no.pem"), "hello").unwrap();
    let empty = tempfile::tempdir().unwrap();
    let nowhere = empty.path().to_str().unwrap();
    let foreign_anchor = Anchor { change: ChangeNumber(43), ..house.anchor.clone() }.to_string();
    for (change, args, says) in [
        ("42", &[][..], "there is no key"),
        ("42", &["--key", "gone.pem"], "can't read the key gone.pem"),
        ("42", &["--key", "no.pem"], "no.pem is no key"),
        ("43", &["--key", "app.pem"], "no records of change #43"),
        ("42", &["--key", "app.pem", "--branch", "other"], "fetch origin other:other"),
        ("42", &["--key", "app.pem", "--repo", nowhere], "there is no git repository"),
        ("42", &["--key", "app.pem", "--anchor", &foreign_anchor], "the anchor is one of change #43"),
        ("42", &["--key", "app.pem", "--anchor", "pg1:42"], "an anchor looks like pg1:CHANGE:SEQ:DIGEST"),
        ("none", &["--key", "app.pem"], "a change is a number"),
    ] {
        let replayed = house.run(change, args);
        assert_eq!((replayed.code, replayed.out.as_str()), (2, ""), "{args:?}");
        assert!(replayed.err.contains(says), "{says:?} is missing in:\n{}", replayed.err);
    }
}
