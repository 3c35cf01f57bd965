//! `phasegate wave` as whoever hands out the work meets it: on real repositories with worktrees, by the binary.

#![allow(clippy::unwrap_used, reason = "a test that can not go on has failed")]

use std::path::{Path, PathBuf};

use assert_cmd::cargo::cargo_bin_cmd;
use git2::{Oid, Repository, RepositoryInitOptions, Signature, Time};
use serde_json::Value;
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

    fn turns(&self) -> Vec<String> {
        let rows = self.json()["rows"].as_array().unwrap().clone();
        rows.iter().map(|row| format!("{} {}", row["state"].as_str().unwrap(), row["turn"].as_str().unwrap())).collect()
    }
}

/// A repository whose `main` has two commits, with worktrees beside it.
struct House {
    dir: TempDir,
    repo: Repository,
}

impl House {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("house");
        let repo = Repository::init_opts(&root, RepositoryInitOptions::new().initial_head("main").mkdir(true)).unwrap();
        let house = Self { dir, repo };
        house.commit(&house.root(), &[("README.md", "old\n")]);
        house.commit(&house.root(), &[("README.md", "base\n")]);
        house
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("house")
    }

    fn head(&self) -> String {
        self.repo.head().unwrap().peel_to_commit().unwrap().id().to_string()
    }

    /// Writes these files into a working tree and commits them on its branch.
    fn commit(&self, tree: &Path, files: &[(&str, &str)]) -> Oid {
        let repo = Repository::open(tree).unwrap();
        let mut index = repo.index().unwrap();
        for (path, text) in files {
            let file = tree.join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, text).unwrap();
            index.add_path(Path::new(path)).unwrap();
        }
        index.write().unwrap();
        let tree = repo.find_tree(index.write_tree().unwrap()).unwrap();
        let by = Signature::new("ada", "ada@example.com", &Time::new(1_700_000_000, 0)).unwrap();
        let parent = repo.head().ok().map(|head| head.peel_to_commit().unwrap());
        let parents: Vec<&git2::Commit<'_>> = parent.iter().collect();
        repo.commit(Some("HEAD"), &by, &by, &format!("files {}", files.len()), &tree, &parents).unwrap()
    }

    /// A worktree with a branch of its own, at this revision.
    fn worktree(&self, branch: &str, at: &str) -> PathBuf {
        let commit = self.repo.revparse_single(at).unwrap().peel_to_commit().unwrap();
        let made = self.repo.branch(branch, &commit, false).unwrap();
        let name = branch.replace('/', "-");
        let path = self.dir.path().join(&name);
        let mut options = git2::WorktreeAddOptions::new();
        options.reference(Some(made.get()));
        self.repo.worktree(&name, &path, Some(&options)).unwrap();
        path
    }

    /// Merges a branch into main, as merge-back does.
    fn merge(&self, branch: &str) {
        let ours = self.repo.head().unwrap().peel_to_commit().unwrap();
        let theirs = self.repo.find_branch(branch, git2::BranchType::Local).unwrap().get().peel_to_commit().unwrap();
        let mut index = self.repo.merge_commits(&ours, &theirs, None).unwrap();
        let tree = self.repo.find_tree(index.write_tree_to(&self.repo).unwrap()).unwrap();
        let by = Signature::new("ada", "ada@example.com", &Time::new(1_700_000_900, 0)).unwrap();
        self.repo.commit(Some("HEAD"), &by, &by, "merge", &tree, &[&ours, &theirs]).unwrap();
    }

    fn run(&self, args: &[&str]) -> Ended {
        Self::run_in(&self.root(), args)
    }

    fn run_in(folder: &Path, args: &[&str]) -> Ended {
        let mut command = cargo_bin_cmd!("phasegate");
        let output = command.current_dir(folder).env_clear().args(args).output().unwrap();
        Ended {
            code: output.status.code().expect("it ended by itself"),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    fn wave(&self, args: &[&str]) -> Ended {
        self.run(&[&["wave"], args].concat())
    }

    fn open(&self) -> Ended {
        let rows = ["--row", "dates", "w1", "wave/dates", "--row", "zones", "w2", "wave/zones"];
        self.wave(&[&["open", "parsers"], &rows[..]].concat())
    }

    fn ledger(&self) -> String {
        std::fs::read_to_string(self.root().join("WAVE.md")).unwrap()
    }
}

fn summary(task: &str, outcome: &str, residue: &str) -> String {
    format!(
        "```yaml\ntask: {task}\noutcome: {outcome}\nevidence: 12 passed; coverage 81%\nresidue: {residue}\ndeltas: [Zones are slow.]\n```\n"
    )
}

fn verdict<'f>(path: &'f str, summary: &'f str, deltas: &'f str) -> [(&'f str, &'f str); 2] {
    [(path, summary), (deltas, "- Zones are slow.\n")]
}

#[test]
fn a_wave_from_its_opening_to_its_deletion() {
    let house = House::new();
    let base = house.head();
    let opened = house.open();
    assert_eq!((opened.code, opened.err.as_str()), (0, ""), "{}", opened.out);
    assert!(opened.out.contains("fork_base_pending (warning) WAVE.md:8"), "{}", opened.out);
    assert!(house.ledger().starts_with(&format!("wave: parsers status: live\nbase: {base}\n")));

    // One wave at a time, and the first is untouched.
    let before = house.ledger();
    let second = house.wave(&["open", "writers", "--row", "a", "w", "b"]);
    assert!(second.code == 1 && second.out.contains("one wave is open at a time"), "{}", second.out);
    assert_eq!(house.ledger(), before);

    // Fresh worktrees, each with the echo of where it stands.
    let (dates, zones) = (house.worktree("wave/dates", "main"), house.worktree("wave/zones", "main"));
    for task in ["dates", "zones"] {
        assert_eq!(house.wave(&["echo", task, &base]).code, 0);
    }
    assert_eq!(house.wave(&["verify", "--json"]).rules(), Vec::<String>::new());
    assert_eq!(house.wave(&["verify", "--json"]).turns(), ["HELD held", "HELD held"]);

    // A report that is only in the worktree is not handed in.
    house.commit(&dates, &[("src/dates.rs", "fn dates() {}\n")]);
    std::fs::create_dir_all(dates.join("tasks/dates")).unwrap();
    std::fs::write(dates.join("tasks/dates/SUMMARY.md"), summary("dates", "PASS", "[]")).unwrap();
    std::fs::write(dates.join("tasks/dates/deltas.md"), "- Zones are slow.\n").unwrap();
    let early = house.wave(&["done", "dates", "--json"]);
    assert_eq!((early.code, early.rules()), (1, vec!["malformed_gate_record".to_owned()]));
    house.commit(&dates, &verdict("tasks/dates/SUMMARY.md", &summary("dates", "PASS", "[]"), "tasks/dates/deltas.md"));
    assert_eq!(house.wave(&["done", "dates", "--json"]).turns(), ["DONE early", "HELD held"]);
    let none = house.wave(&["next"]);
    assert!(none.code == 1 && none.err.contains("dates is handed in; the wave is still live"), "{}", none.err);

    house.commit(&zones, &verdict("tasks/zones/SUMMARY.md", &summary("zones", "PASS", "[]"), "tasks/zones/deltas.md"));
    assert_eq!(house.wave(&["done", "zones"]).code, 0);
    assert_eq!(house.wave(&["merging"]).code, 0);
    assert!(house.ledger().starts_with("wave: parsers status: merging\n"));
    assert_eq!(house.wave(&["close"]).code, 1, "nothing is merged yet");

    // One at a time, in order.
    for branch in ["wave/dates", "wave/zones"] {
        let next = house.wave(&["next"]);
        assert_eq!((next.code, next.out), (0, format!("{branch}\n")));
        house.merge(branch);
    }
    let digest = house.wave(&["digest"]);
    assert!(
        digest.out.contains("1. `dates` by `w1`: `wave/dates` at ") && digest.out.contains("2. `zones`"),
        "{}",
        digest.out
    );
    let log = house.root().join("docs-waves.md");
    std::fs::write(&log, "# Waves\n").unwrap();
    let closed = house.wave(&["close", "--json", "--log", "docs-waves.md"]);
    assert_eq!(closed.code, 0);
    assert_eq!(std::fs::read_to_string(&log).unwrap(), format!("# Waves\n\n{}", digest.out));
    let closed = closed.json();
    assert_eq!((closed["schema"].as_str(), closed["closed"].as_bool()), (Some("phasegate/wave-digest@1"), Some(true)));
    assert_eq!(closed["merged"][1]["deltas"][0], "Zones are slow.");
    assert!(!house.root().join("WAVE.md").exists());
    assert_eq!(house.wave(&["verify"]).code, 2, "there is none any more");
    // From wherever in the repository somebody asks.
    let within = house.root().join("src");
    std::fs::create_dir_all(&within).unwrap();
    let opened = House::run_in(&within, &["wave", "open", "parsers", "--row", "dates", "w1", "wave/dates"]);
    assert_eq!(opened.code, 0, "{}{}", opened.out, opened.err);
    assert!(house.root().join("WAVE.md").exists() && !within.join("WAVE.md").exists());
    assert_eq!(House::run_in(&within, &["wave", "digest"]).code, 0);
    std::fs::remove_file(house.root().join("WAVE.md")).unwrap();
    assert_eq!(house.open().code, 0, "and the next may be opened");
}

#[test]
fn a_stale_worktree_is_refused_whatever_is_pasted() {
    let house = House::new();
    let base = house.head();
    house.open();
    house.worktree("wave/dates", "main~1");
    assert_eq!(house.wave(&["echo", "dates", &base]).code, 1, "the worker is not to be started");
    let verified = house.wave(&["verify", "--json"]);
    assert_eq!(
        (verified.code, verified.rules()),
        (1, vec!["unverified_fork_base".to_owned(); 2]),
        "the other has no echo yet, which is no proof either"
    );
    let old = house.repo.revparse_single("main~1").unwrap().id().to_string();
    assert!(verified.json()["findings"][0]["says"].as_str().unwrap().contains(&format!("forked from `{old}`")));
    assert_eq!(house.wave(&["merging"]).code, 1, "merge-back does not begin");
    assert!(house.ledger().contains("status: live"));
}

#[test]
fn a_pooled_worktree_is_checked_before_the_merge_back() {
    let house = House::new();
    let base = house.head();
    assert_eq!(house.wave(&["open", "pool", "--pool", "--row", "dates", "w1", "wave/dates"]).code, 0);
    let pooled = house.worktree("wave/dates", "main~1");
    assert_eq!(house.wave(&["echo", "dates", &base, "--step-0"]).code, 0);
    // Nothing is said of it while the worker begins; before the merge-back it is.
    for command in ["verify", "merging"] {
        assert_eq!(house.wave(&[command, "--json"]).rules(), ["unverified_fork_base"], "{command}");
    }
    // Its first step: the merge of the base, which here goes forward to it.
    let repo = Repository::open(&pooled).unwrap();
    let tip = repo.find_commit(Oid::from_str(&base).unwrap()).unwrap();
    repo.reset(tip.as_object(), git2::ResetType::Hard, None).unwrap();
    assert_eq!(house.wave(&["verify"]).code, 0);
    assert_eq!(house.wave(&["merging"]).code, 0);
}

#[test]
fn a_dead_workers_task_is_taken_again_on_sound_ground() {
    let house = House::new();
    house.open();
    let tree = house.worktree("wave/dates", "main");
    house.commit(&tree, &[("half.rs", "half\n")]);
    let take = |branch: &str, now: &str| {
        house.wave(&["take", "dates", "--worker", "w3", "--branch", branch, "--now", now, "--json"])
    };
    let soon = "2020-01-01T00:00:00Z";
    assert_eq!(take("wave/dates-2", soon).rules(), ["CMD-03"], "somebody holds it");
    let later = "2999-01-01T00:00:00Z";
    assert_eq!(take("wave/dates", later).rules(), ["unverified_fork_base"], "what is left there is not sound");
    assert_eq!(take("wave/dates-2", later).code, 0);
    assert!(house.ledger().contains("| dates | w3 | wave/dates-2 | 2h since 2999-01-01T00:00:00Z | pending |"));
}

#[test]
fn a_stop_is_recorded_and_the_others_go_on() {
    let house = House::new();
    let base = house.head();
    house.open();
    let (dates, zones) = (house.worktree("wave/dates", "main"), house.worktree("wave/zones", "main"));
    for task in ["dates", "zones"] {
        house.wave(&["echo", task, &base]);
    }
    let bad = summary("dates", "PASS", "['security: a token in a log']");
    house.commit(&dates, &verdict("tasks/dates/SUMMARY.md", &bad, "tasks/dates/deltas.md"));
    house.commit(&zones, &verdict("tasks/zones/SUMMARY.md", &summary("zones", "PASS", "[]"), "tasks/zones/deltas.md"));
    let stopped = house.wave(&["done", "dates"]);
    assert_eq!(stopped.code, 3, "a person has to decide");
    assert!(stopped.out.starts_with("WAVE FAIL") && stopped.out.contains("residue_security"), "{}", stopped.out);
    assert_eq!(house.wave(&["done", "zones"]).code, 0);
    assert!(house.ledger().contains("| stopped HARD-STOP |"), "{}", house.ledger());
    assert_eq!(house.wave(&["merging"]).code, 0);
    assert_eq!(house.wave(&["next"]).out, "wave/zones\n");
    house.merge("wave/zones");
    let closed = house.wave(&["close"]);
    assert_eq!(closed.code, 0);
    assert!(
        closed.out.contains("- `dates` by `w1`: `wave/dates` at ") && closed.out.contains("security: a token in a log"),
        "{}",
        closed.out
    );
}

#[test]
fn what_is_no_ledger_is_refused_with_every_line() {
    let house = House::new();
    std::fs::write(house.root().join("WAVE.md"), "wave: x status: maybe\nbase: HEAD\n").unwrap();
    for command in ["verify", "next", "digest", "close"] {
        let ended = house.wave(&[command, "--json"]);
        assert_eq!((ended.code, ended.rules()), (1, vec!["wave_ledger_malformed".to_owned(); 3]), "{command}");
        assert_eq!((ended.json()["wave"].clone(), ended.json()["verdict"].as_str()), (Value::Null, Some("FAIL")));
    }
    assert_eq!(house.wave(&["echo", "a", "0123456"]).code, 1);
    assert!(house.root().join("WAVE.md").exists(), "it is not deleted");
    std::fs::write(house.root().join("WAVE.md"), vec![b'|'; 10_000_000]).unwrap();
    let long = house.wave(&["verify"]);
    assert!(long.code == 1 && long.out.contains("a wave's ledger has at most 262144"), "{}", long.out);
    for args in [
        &["wave", "stop", "a", "PASS"][..],
        &["wave", "open", "x"],
        &["wave", "verify", "--into", "nowhere"],
        &["wave", "verify", "none.md"],
    ] {
        assert_eq!(house.run(args).code, 2, "{args:?}");
    }
}

#[test]
fn the_standing_monitor_follows_a_committed_ledger() {
    let house = House::new();
    let base = house.head();
    house.open();
    let live = house.ledger();
    let monitor = || {
        let ended = house.run(&["guard", "check", "--base", "HEAD~1"]);
        let words = ended.out.lines().filter(|line| line.starts_with("  ") && !line.starts_with("    "));
        (ended.code, words.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect::<Vec<_>>())
    };
    let commit = |text: &str| house.commit(&house.root(), &[("WAVE.md", text)]);
    let pending = || vec!["fork_base_pending".to_owned(); 2];
    commit(&live);
    assert_eq!(monitor(), (0, pending()));
    commit(&live.replace("status: live", "status: merging"));
    assert_eq!(monitor(), (1, vec!["unverified_fork_base".to_owned(); 2]));
    // Back to a warning would be a way round.
    commit(&live);
    assert_eq!(monitor(), (1, [pending(), vec!["wave_ledger_malformed".to_owned()]].concat()));
    // A base that is bent until it fits.
    let old = house.repo.revparse_single(&format!("{base}~1")).unwrap().id().to_string();
    commit(&live.replace(&base, &old));
    assert_eq!(monitor(), (1, [pending(), vec!["unverified_fork_base".to_owned()]].concat()));
    // A ledger that is gone before its end.
    let mut index = house.repo.index().unwrap();
    index.read(true).unwrap();
    index.remove_path(Path::new("WAVE.md")).unwrap();
    index.write().unwrap();
    std::fs::remove_file(house.root().join("WAVE.md")).unwrap();
    house.commit(&house.root(), &[]);
    assert_eq!(monitor(), (1, vec!["bypassed_gate".to_owned(); 2]));
}

#[test]
fn the_monitor_stands_beside_what_is_frozen_and_alone() {
    let house = House::new();
    // Neither a ledger nor a manifest: as a required check it is green between waves, and says that it held nothing.
    let nothing = house.run(&["guard", "check"]);
    assert!(nothing.code == 0 && nothing.err.contains("no WAVE.md here: nothing is held."), "{}", nothing.err);
    assert!(nothing.out.starts_with("GUARD PASS nothing held at "), "{}", nothing.out);
    house.commit(&house.root(), &[("tests/a.py", "def test_a(): pass\n")]);
    let manifest = house.dir.path().join("manifest.json").display().to_string();
    assert_eq!(house.run(&["guard", "freeze", "--out", &manifest]).code, 0);
    house.open();
    house.commit(&house.root(), &[("WAVE.md", &house.ledger().replace("status: live", "status: merging"))]);
    let alone = house.run(&["guard", "check", "--json"]);
    assert_eq!((alone.code, alone.rules()), (1, vec!["unverified_fork_base".to_owned(); 2]));
    assert_eq!((alone.json()["manifest"].clone(), alone.json()["files"].as_u64()), (Value::Null, Some(0)));
    let words = house.run(&["guard", "check"]).out;
    assert!(words.starts_with("GUARD FAIL the wave at "), "{words}");
    // Findings of the wave are not counted as files that are not as they were.
    let both = house.run(&["guard", "check", &manifest]);
    assert!(both.code == 1 && both.out.starts_with("GUARD FAIL 1 of 1 frozen files at "), "{}", both.out);
    house.commit(&house.root(), &[("WAVE.md", "no ledger\n")]);
    let wrong = house.run(&["guard", "check", &manifest, "--json"]);
    assert!(wrong.code == 1 && wrong.rules().iter().all(|rule| rule == "wave_ledger_malformed"), "{}", wrong.out);
    assert_eq!(wrong.json()["files"], 1);
}

#[cfg(unix)]
#[test]
fn a_link_in_the_repository_leads_nowhere() {
    let house = House::new();
    let secret = house.dir.path().join("secret");
    std::fs::write(&secret, "token\n").unwrap();
    let link = house.root().join("WAVE.md");
    std::os::unix::fs::symlink(&secret, &link).unwrap();
    for command in ["verify", "close"] {
        let ended = house.wave(&[command]);
        assert!(ended.code == 2 && ended.err.contains("is no plain file"), "{} {}", ended.out, ended.err);
    }
    let second = house.open();
    assert!(second.code == 1 && second.out.contains("one wave is open at a time"), "{}", second.out);
    // Nor is anything written through one that stands beside the ledger.
    std::fs::remove_file(&link).unwrap();
    house.open();
    std::os::unix::fs::symlink(&secret, house.root().join("WAVE.md.new")).unwrap();
    assert_eq!(house.wave(&["stop", "dates", "ESCALATE"]).code, 0);
    assert!(house.ledger().contains("| stopped ESCALATE |"));
    assert_eq!(house.wave(&["stop", "zones", "ESCALATE"]).code, 0);
    std::os::unix::fs::symlink(&secret, house.root().join("log.md")).unwrap();
    let closed = house.wave(&["close", "--log", "log.md"]);
    assert!(closed.code == 2 && closed.err.contains("log.md is no plain file"), "{} {}", closed.out, closed.err);
    assert!(house.root().join("WAVE.md").exists(), "what is not told yet is not deleted");
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "token\n");
}

#[cfg(unix)]
#[test]
fn the_ledger_keeps_its_mode_and_nothing_is_left_beside_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let house = House::new();
    house.open();
    let file = house.root().join("WAVE.md");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(house.wave(&["release", "dates"]).code, 0);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o644);
    let mut names: Vec<String> = std::fs::read_dir(house.root())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, [".git", "README.md", "WAVE.md"]);
}

impl House {
    /// Merges a branch into main, and has the working copy follow but for the ledger.
    fn land(&self, branch: &str) {
        self.merge(branch);
        self.follow();
    }

    fn follow(&self) {
        let head = self.repo.head().unwrap().peel_to_commit().unwrap();
        self.repo.reset(head.as_object(), git2::ResetType::Mixed, None).unwrap();
    }

    /// Commits the ledger as it is.
    fn keep(&self) -> String {
        self.commit(&self.root(), &[("WAVE.md", &self.ledger())]).to_string()
    }

    /// Commits that there is no ledger.
    fn drop_ledger(&self) {
        let mut index = Repository::open(self.root()).unwrap().index().unwrap();
        index.remove_path(Path::new("WAVE.md")).unwrap();
        index.write().unwrap();
        let _ = std::fs::remove_file(self.root().join("WAVE.md"));
        self.commit(&self.root(), &[]);
    }

    fn monitor(&self, base: &str) -> (i32, Vec<String>) {
        let ended = self.run(&["guard", "check", "--base", base, "--json"]);
        (ended.code, ended.rules())
    }

    /// A branch from this revision, with work and a verdict.
    fn work(&self, task: &str, at: &str, residue: &str) -> PathBuf {
        let tree = self.worktree(&format!("wave/{task}"), at);
        self.commit(&tree, &[(&format!("src/{task}.rs"), "fn main() {}\n")]);
        let (path, deltas) = (format!("tasks/{task}/SUMMARY.md"), format!("tasks/{task}/deltas.md"));
        self.commit(&tree, &verdict(&path, &summary(task, "PASS", residue), &deltas));
        tree
    }
}

const LEAK: &str = "['security: a token in a log']";

/// Both rows are held, with their echoes, and `dates` leaves a finding of security.
fn with_a_leak() -> House {
    let house = House::new();
    let base = house.head();
    house.open();
    for (task, residue) in [("dates", LEAK), ("zones", "[]")] {
        house.wave(&["echo", task, &base]);
        house.work(task, &base, residue);
    }
    assert_eq!(house.wave(&["done", "dates"]).code, 3);
    house
}

#[test]
fn to_close_a_wave_wipes_nothing() {
    let house = with_a_leak();
    assert_eq!(house.wave(&["stop", "zones", "ESCALATE"]).code, 0);
    let kept = house.keep();
    house.land("wave/dates");
    assert_eq!(house.wave(&["verify"]).code, 1);
    let closed = house.wave(&["close"]);
    assert!(
        closed.code == 1 && closed.out.contains("bypassed_gate") && closed.out.contains("--despite"),
        "{}",
        closed.out
    );
    for reason in ["", " . "] {
        let closed = house.wave(&["close", "--despite", reason, "--json"]);
        assert_eq!((closed.code, closed.rules()), (1, vec!["CMD-05".to_owned()]));
    }
    assert!(house.root().join("WAVE.md").exists());
    let closed = house.wave(&["close", "--despite", "The token is a test's.", "--log", "log.md"]);
    assert_eq!(closed.code, 0, "{}{}", closed.out, closed.err);
    let log = std::fs::read_to_string(house.root().join("log.md")).unwrap();
    assert!(log.contains("In it all the same:\n\n- `dates` by `w1`"), "{log}");
    assert!(log.contains("What stood against it:\n\n- bypassed_gate: `dates` was stopped"), "{log}");
    assert!(log.ends_with("Closed despite that: `The token is a test's.`\n"), "{log}");
    // Who looks at the change does not take a word for it.
    house.drop_ledger();
    assert_eq!(house.monitor(&kept), (1, vec!["bypassed_gate".to_owned()]));
    // Nor is there anything to find where nothing of it came in.
    let house = with_a_leak();
    house.wave(&["stop", "zones", "ESCALATE"]);
    let kept = house.keep();
    let closed = house.wave(&["close", "--despite", "For nothing."]);
    assert!(closed.code == 0 && !closed.out.contains("despite"), "{}", closed.out);
    house.drop_ledger();
    assert_eq!(house.monitor(&kept), (0, Vec::new()));
}

#[test]
fn a_ledger_that_is_committed_is_committed_to_its_end() {
    let house = House::new();
    let base = house.head();
    house.open();
    let kept = house.keep();
    for task in ["dates", "zones"] {
        house.wave(&["echo", task, &base]);
        house.work(task, &base, "[]");
        assert_eq!(house.wave(&["done", task]).code, 0);
    }
    assert_eq!(house.wave(&["merging"]).code, 0);
    for branch in ["wave/dates", "wave/zones"] {
        house.land(branch);
    }
    let early = house.wave(&["close"]);
    assert!(early.code == 1 && early.out.contains("Commit it in its last state"), "{}", early.out);
    house.keep();
    let closed = house.wave(&["close"]);
    assert_eq!(closed.code, 0, "{}", closed.out);
    house.drop_ledger();
    assert_eq!(house.monitor(&kept), (0, Vec::new()), "it is judged as it was last");
    assert_eq!(house.monitor(&base), (0, Vec::new()), "also where it was opened in the same change");
}

#[test]
fn who_was_not_written_is_told() {
    let house = House::new();
    let tasks: Vec<String> = (0..12).map(|nth| format!("t{nth}")).collect();
    let mut args = vec!["wave".to_owned(), "open".to_owned(), "many".to_owned()];
    for task in &tasks {
        args.extend(["--row".to_owned(), task.clone(), format!("w-{task}"), format!("wave/{task}")]);
    }
    assert_eq!(house.run(&args.iter().map(String::as_str).collect::<Vec<_>>()).code, 0);
    let root = house.root();
    let codes: Vec<i32> = std::thread::scope(|scope| {
        let stop = |task: &String| {
            let (root, task) = (root.clone(), task.clone());
            scope.spawn(move || House::run_in(&root, &["wave", "stop", &task, "ESCALATE"]).code)
        };
        let running: Vec<_> = tasks.iter().map(stop).collect();
        running.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(codes, [0; 12]);
    assert_eq!(house.ledger().matches("| stopped ESCALATE |").count(), 12, "{}", house.ledger());
    // The system lets go of the lock with the process, so what is left of one holds up nobody.
    assert!(root.join(".git/phasegate-wave.lock").exists());
    assert_eq!(house.wave(&["close"]).code, 0);
}

#[test]
fn to_release_what_was_stopped_lets_nothing_of_it_in() {
    let house = with_a_leak();
    let kept = house.keep();
    house.land("wave/dates");
    let released = house.wave(&["release", "dates", "--json"]);
    assert_eq!((released.code, released.rules()), (1, vec!["bypassed_gate".to_owned()]));
    assert!(
        house.ledger().contains("| released |") && house.ledger().contains("\nstopped: dates "),
        "{}",
        house.ledger()
    );
    house.keep();
    assert_eq!(house.monitor(&kept), (1, vec!["bypassed_gate".to_owned()]));
    assert_eq!(house.wave(&["verify"]).code, 1);
    // By hand it is not talked away either.
    let ledger = house.ledger();
    let without: String =
        ledger.lines().filter(|line| !line.starts_with("stopped:")).map(|line| format!("{line}\n")).collect();
    house.commit(&house.root(), &[("WAVE.md", &without)]);
    assert_eq!(house.monitor(&kept).1[0], "wave_ledger_malformed");
    // Taken by somebody else, on a branch of their own, it is worked on anew, and that comes in.
    let house = with_a_leak();
    let (kept, base) = (house.keep(), house.repo.revparse_single("HEAD~1").unwrap().id().to_string());
    assert_eq!(house.wave(&["release", "dates"]).code, 0);
    let hand = ["take", "dates", "--worker", "w3", "--branch", "wave/dates-2"];
    assert_eq!(house.wave(&hand).code, 0);
    let tree = house.worktree("wave/dates-2", &base);
    assert_eq!(house.wave(&["echo", "dates", &base]).code, 0);
    house.commit(&tree, &verdict("tasks/dates/SUMMARY.md", &summary("dates", "PASS", "[]"), "tasks/dates/deltas.md"));
    assert_eq!(house.wave(&["done", "dates"]).code, 0);
    assert_eq!(house.wave(&["stop", "zones", "ESCALATE"]).code, 0);
    assert_eq!(house.wave(&["merging"]).code, 0);
    house.land("wave/dates-2");
    house.keep();
    assert_eq!(house.monitor(&kept), (0, Vec::new()));
    assert_eq!(house.wave(&["close"]).code, 0);
}

#[test]
fn what_is_built_on_a_stop_is_not_handed_in() {
    let house = House::new();
    let base = house.head();
    house.open();
    for task in ["dates", "zones"] {
        house.wave(&["echo", task, &base]);
    }
    house.work("dates", &base, LEAK);
    house.work("zones", "wave/dates", "[]");
    assert_eq!(house.wave(&["done", "dates"]).code, 3);
    let refused = house.wave(&["done", "zones", "--json"]);
    assert_eq!((refused.code, refused.rules()), (1, vec!["bypassed_gate".to_owned()]));
    assert!(refused.out.contains("contains the work of the stopped row `dates`"), "{}", refused.out);
    // Where the other was stopped afterwards.
    let tip = house.repo.revparse_single("wave/zones").unwrap().id();
    let ledger = house.ledger();
    let row = ledger.lines().find(|line| line.starts_with("| zones")).unwrap();
    let handed_in = format!("| zones | w2 | wave/zones | done {tip} | {base} |");
    std::fs::write(house.root().join("WAVE.md"), ledger.replace(row, &handed_in)).unwrap();
    for command in ["verify", "merging", "next"] {
        let ended = house.wave(&[command]);
        let said = format!("{}{}", ended.out, ended.err);
        assert!(ended.code == 1 && said.contains("contains the work of the stopped row `dates`"), "{command}: {said}");
    }
}

#[test]
fn a_row_that_is_renamed_hides_no_merge() {
    let house = House::new();
    house.open();
    house.worktree("empty", "main");
    house.work("dates", "main~1", "[]");
    let kept = house.keep();
    house.land("wave/dates");
    std::fs::write(house.root().join("WAVE.md"), house.ledger().replace("| wave/dates |", "| empty |")).unwrap();
    house.keep();
    let (code, rules) = house.monitor(&kept);
    assert_eq!(code, 1);
    for rule in ["wave_ledger_malformed", "bypassed_gate"] {
        assert!(rules.iter().any(|one| one == rule), "{rules:?}");
    }
}

#[test]
fn more_than_was_handed_in_is_not_made_good() {
    let house = House::new();
    let base = house.head();
    house.open();
    let mut trees = Vec::new();
    for task in ["dates", "zones"] {
        house.wave(&["echo", task, &base]);
        trees.push(house.work(task, &base, "[]"));
        assert_eq!(house.wave(&["done", task]).code, 0);
    }
    assert_eq!(house.wave(&["merging"]).code, 0);
    let kept = house.keep();
    house.commit(&trees[0], &[("src/late.rs", "fn late() {}\n")]);
    house.land("wave/dates");
    let again = house.wave(&["done", "dates", "--json"]);
    assert_eq!((again.code, again.rules()), (1, vec!["bypassed_gate".to_owned()]));
    assert_eq!(house.monitor(&kept), (1, vec!["bypassed_gate".to_owned()]));
    // It holds up nobody else.
    assert_eq!(house.wave(&["next"]).out, "wave/zones\n");
    house.land("wave/zones");
    let closed = house.wave(&["close"]);
    assert!(closed.code == 1 && closed.out.contains("which nobody has handed in"), "{}", closed.out);
}

#[test]
fn a_wave_is_opened_and_closed_where_it_is_safe() {
    let house = House::new();
    let nobody = house.wave(&["open", "p", "--row", "dates", "-", "wave/dates"]);
    assert!(nobody.code == 1 && !nobody.out.contains("or `-`"), "{}", nobody.out);
    let main = house.wave(&["open", "p", "--row", "dates", "w1", "main"]);
    assert!(main.code == 1 && !main.out.contains("is held until"), "{}", main.out);
    assert!(!house.root().join("WAVE.md").exists(), "nothing was written");
    assert_eq!(house.wave(&["open", "p", "--row", "dates", "w1", "wave/dates"]).code, 0);
    std::fs::create_dir_all(house.root().join("d")).unwrap();
    let beside = house.wave(&["open", "q", "--file", "d/W.md", "--row", "zones", "w2", "wave/zones"]);
    assert!(beside.code == 1 && beside.out.contains("one wave is open at a time"), "{}", beside.out);
    assert!(!house.root().join("d/W.md").exists());
    assert_eq!(house.wave(&["stop", "dates", "ESCALATE"]).code, 0);
    for log in ["WAVE.md", "./d/../WAVE.md"] {
        let closed = house.wave(&["close", "--log", log, "--json"]);
        assert_eq!((closed.code, closed.rules()), (1, vec!["CMD-05".to_owned()]), "{log}");
    }
    assert!(house.ledger().starts_with("wave: p "), "{}", house.ledger());
}

#[test]
fn a_branch_that_was_forked_before_the_ledger_is_held_to_that_of_its_base() {
    let house = with_a_leak();
    house.keep();
    let check = |tree: &Path| House::run_in(tree, &["guard", "check", "--base", "main", "--json"]);
    let (dates, zones) = (house.dir.path().join("wave-dates"), house.dir.path().join("wave-zones"));
    let stopped = check(&dates);
    assert_eq!((stopped.code, stopped.rules()), (1, vec!["bypassed_gate".to_owned()]), "{}", stopped.out);
    assert!(stopped.err.contains("there is no WAVE.md here; that of its base is taken"), "{}", stopped.err);
    let head = Repository::open(&dates).unwrap().head().unwrap().target().unwrap().to_string();
    let says = stopped.json()["findings"][0]["says"].as_str().unwrap().to_owned();
    assert!(says.contains("was stopped") && says.contains(&format!("is in `HEAD` since {}", &head[..12])), "{says}");
    // What is handed in may be merged once it is its turn, and what is of no row at any time.
    assert_eq!(house.wave(&["done", "zones"]).code, 0);
    assert_eq!(house.wave(&["merging"]).code, 0);
    house.keep();
    let other = house.worktree("other", "main~3");
    house.commit(&other, &[("README.md", "other\n"), ("src/other.rs", "x\n")]);
    for tree in [&zones, &other] {
        let fine = check(tree);
        assert_eq!((fine.code, fine.rules()), (0, Vec::new()), "{}{}", fine.out, fine.err);
    }
    // Beside what is frozen, too.
    let manifest = house.dir.path().join("manifest.json").display().to_string();
    assert_eq!(house.run(&["guard", "freeze", "--out", &manifest]).code, 0);
    assert_eq!(House::run_in(&dates, &["guard", "check", &manifest, "--base", "main"]).code, 1);
    assert_eq!(House::run_in(&zones, &["guard", "check", &manifest, "--base", "main"]).code, 0);
}

#[test]
fn one_wave_is_open_in_all_working_trees() {
    let house = House::new();
    let base = house.head();
    let beside = house.worktree("beside", "main");
    house.open();
    let row = ["wave", "open", "second", "--row", "a", "w", "wave/a"];
    let refused = |said: &str| {
        let second = House::run_in(&beside, &row);
        assert!(second.code == 1 && second.out.contains(said), "{}{}", second.out, second.err);
        assert!(!beside.join("WAVE.md").exists());
    };
    let place = house.root().canonicalize().unwrap().display().to_string();
    refused(&place);
    // Whoever asks there is told where it is.
    for command in [&["wave", "verify"][..], &["wave", "next"], &["wave", "done", "dates"], &["wave", "close"]] {
        let lost = House::run_in(&beside, command);
        assert!(
            lost.code == 2 && lost.err.contains(&place) && lost.err.contains("go there"),
            "{command:?} {}",
            lost.err
        );
    }
    // Committed, it is open whatever is checked out.
    house.keep();
    std::fs::remove_file(house.root().join("WAVE.md")).unwrap();
    refused("A wave is open on `main`");
    assert!(house.run(&row).out.contains("A wave is open on `main`"), "what is closed is committed as deleted first");
    assert!(house.wave(&["verify"]).err.contains("the wave's is committed on main"));
    // At origin only, which is further on.
    let kept = house.repo.revparse_single("main").unwrap().id();
    house.repo.reference("refs/remotes/origin/main", kept, true, "test").unwrap();
    let before = house.repo.find_commit(Oid::from_str(&base).unwrap()).unwrap();
    house.repo.reset(before.as_object(), git2::ResetType::Hard, None).unwrap();
    refused("A wave is open on `origin/main`");
    // Closed for good; a copy that a worker has taken in keeps nobody from the next.
    let kept = house.repo.find_commit(kept).unwrap();
    house.repo.reset(kept.as_object(), git2::ResetType::Hard, None).unwrap();
    let copy = house.worktree("copy", "main");
    assert!(copy.join("WAVE.md").exists());
    house.drop_ledger();
    let next = House::run_in(&beside, &row);
    assert_eq!(next.code, 0, "{}{}", next.out, next.err);
    // That one is kept where it is, and seen from there.
    assert!(house.open().out.contains("A wave is open in another working tree"));
}

#[test]
fn a_slow_worker_goes_on_and_hands_in() {
    let house = House::new();
    let base = house.head();
    house.open();
    assert_eq!(house.wave(&["echo", "dates", &base]).code, 2, "its branch is not here yet");
    house.work("dates", &base, "[]");
    assert_eq!(house.wave(&["echo", "dates", &base]).code, 0);
    let later = ["--now", "2998-01-01T00:00:00Z"];
    let over = house.wave(&[&["done", "dates"][..], &later].concat());
    assert!(over.code == 1 && over.out.contains("`phasegate wave extend TASK`"), "{}", over.out);
    let longer = house.wave(&[&["extend", "dates", "--lease", "3h"][..], &later].concat());
    assert_eq!(longer.code, 0, "{}", longer.out);
    assert!(
        house.ledger().contains("| dates | w1 | wave/dates | 3h since 2998-01-01T00:00:00Z |"),
        "{}",
        house.ledger()
    );
    assert_eq!(house.wave(&[&["done", "dates"][..], &later].concat()).code, 0);
    assert_eq!(house.wave(&["extend", "dates"]).code, 1, "nothing runs out any more");
    // Somebody else has taken the other one, and what was left there does not come in under another name.
    let zones = house.work("zones", &base, "[]");
    let other = ["take", "zones", "--worker", "w3", "--branch", "wave/zones-2", "--now", "2999-01-01T00:00:00Z"];
    assert_eq!(house.wave(&other).code, 0);
    assert!(house.ledger().contains("\nleft: zones "), "{}", house.ledger());
    let tip = Repository::open(&zones).unwrap().head().unwrap().peel_to_commit().unwrap().id();
    house.repo.branch("wave/zones-2", &house.repo.find_commit(tip).unwrap(), false).unwrap();
    let soon = ["--now", "2999-01-01T00:10:00Z"];
    house.wave(&[&["echo", "zones", &base][..], &soon].concat());
    let before = house.ledger();
    let refused = house.wave(&[&["done", "zones", "--json"][..], &soon].concat());
    assert_eq!((refused.code, refused.rules()), (1, vec!["unverified_fork_base".to_owned()]), "{}", refused.out);
    assert_eq!(house.ledger(), before);
}

#[test]
fn what_is_refused_is_not_written_as_handed_in() {
    let house = House::new();
    let base = house.head();
    house.open();
    // One has the ledger in its work, and one began elsewhere.
    let dates = house.work("dates", &base, "[]");
    house.commit(&dates, &[("WAVE.md", "mine\n")]);
    let zones = house.work("zones", "main~1", "[]");
    for task in ["dates", "zones"] {
        house.wave(&["echo", task, &base]);
        let before = house.ledger();
        let refused = house.wave(&["done", task]);
        assert_eq!((refused.code, house.ledger() == before), (1, true), "{task}: {}", refused.out);
    }
    // As they are told to, they put it right.
    let mut index = Repository::open(&dates).unwrap().index().unwrap();
    index.remove_path(Path::new("WAVE.md")).unwrap();
    index.write().unwrap();
    std::fs::remove_file(dates.join("WAVE.md")).unwrap();
    house.commit(&dates, &[]);
    let repo = Repository::open(&zones).unwrap();
    let (ours, theirs) =
        (repo.head().unwrap().peel_to_commit().unwrap(), repo.find_commit(Oid::from_str(&base).unwrap()).unwrap());
    let tree = repo.find_tree(repo.merge_commits(&ours, &theirs, None).unwrap().write_tree_to(&repo).unwrap()).unwrap();
    let by = Signature::new("ada", "ada@example.com", &Time::new(1_700_000_900, 0)).unwrap();
    repo.commit(Some("HEAD"), &by, &by, "merge", &tree, &[&ours, &theirs]).unwrap();
    for task in ["dates", "zones"] {
        let done = house.wave(&["done", task]);
        assert_eq!(done.code, 0, "{task}: {}", done.out);
    }
}

#[test]
fn a_worktree_that_was_made_after_the_ledger_has_a_way_on() {
    let house = House::new();
    let base = house.head();
    let opened = house.open();
    let line = format!("git worktree add -b wave/dates ../dates {base}");
    assert!(opened.out.contains(&line), "{}", opened.out);
    let kept = house.keep();
    let tree = house.worktree("wave/dates", "main");
    assert_eq!(house.wave(&["verify", "--json"]).rules(), ["unverified_fork_base"; 2], "the two echoes are to come");
    let echo = house.wave(&["echo", "dates", &kept]);
    assert!(echo.code == 1 && echo.out.contains(&format!("git reset --hard {base}")), "{}", echo.out);
    assert!(!echo.out.contains("bypassed_gate"), "{}", echo.out);
    let repo = Repository::open(&tree).unwrap();
    let tip = repo.find_commit(Oid::from_str(&base).unwrap()).unwrap();
    repo.reset(tip.as_object(), git2::ResetType::Hard, None).unwrap();
    assert_eq!(house.wave(&["echo", "dates", &base]).code, 0);
}

#[test]
fn a_wave_goes_into_the_branch_that_it_was_opened_for() {
    let house = House::new();
    let base = house.head();
    let develop = house.worktree("develop", "main");
    let rows = ["--row", "dates", "w1", "wave/dates"];
    let opened = house.wave(&[&["open", "parsers", "--into", "develop"], &rows[..]].concat());
    assert_eq!(opened.code, 0, "{}", opened.out);
    assert!(house.ledger().starts_with(&format!("wave: parsers status: live\nbase: {base}\ninto: develop\n")));
    house.work("dates", &base, "[]");
    for step in [&["echo", "dates", &base][..], &["done", "dates"], &["merging"]] {
        let ended = house.wave(step);
        assert!(ended.code == 0 && ended.out.contains(", into develop"), "{}", ended.out);
    }
    // Nobody need say it again.
    let repo = Repository::open(&develop).unwrap();
    let ours = repo.head().unwrap().peel_to_commit().unwrap();
    let theirs = repo.revparse_single("wave/dates").unwrap().peel_to_commit().unwrap();
    let by = Signature::new("ada", "ada@example.com", &Time::new(1_700_000_900, 0)).unwrap();
    repo.commit(Some("HEAD"), &by, &by, "merge", &theirs.tree().unwrap(), &[&ours, &theirs]).unwrap();
    assert!(house.wave(&["next"]).err.contains("Nothing may be merged into develop now."));
    let other = house.wave(&["close", "--into", "main"]);
    assert!(
        other.code == 1 && other.out.contains("into `main` with `git merge --no-ff` (a squash leaves no trace"),
        "{}",
        other.out
    );
    let closed = house.wave(&["close", "--despite", "We like it so."]);
    assert!(closed.code == 0 && closed.err.contains("nothing stands against the wave"), "{}{}", closed.out, closed.err);
}

#[test]
fn a_history_that_is_cut_can_tell_nothing() {
    let house = with_a_leak();
    let base = house.repo.revparse_single("main").unwrap().id();
    assert_eq!(house.wave(&["done", "zones"]).code, 0);
    assert_eq!(house.wave(&["merging"]).code, 0);
    house.land("wave/zones");
    assert_eq!(house.wave(&["verify"]).code, 0);
    std::fs::write(house.repo.commondir().join("shallow"), format!("{}\n", house.head())).unwrap();
    std::fs::write(house.root().join("WAVE.md"), house.ledger().replace(&base.to_string(), &"0".repeat(40))).unwrap();
    for command in ["verify", "next"] {
        let cut = house.wave(&[command]);
        let said = format!("{}{}", cut.out, cut.err);
        assert!(
            cut.code == 2 && said.contains("`fetch-depth: 0`") && !said.contains("no SUMMARY.md"),
            "{command}: {} {said}",
            cut.code
        );
    }
}

#[test]
fn what_somebodys_own_program_merges_is_not_held_against_git() {
    for (attributes, code) in [("pins merge=ours\n", 0), ("", 1)] {
        let house = House::new();
        let lines = |top: &str, end: &str| format!("{top}\n{}{end}\n", "a line that stays\n".repeat(8));
        house.commit(&house.root(), &[(".gitattributes", attributes), ("pins", &lines("one", "two"))]);
        let base = house.head();
        assert_eq!(house.wave(&["open", "parsers", "--row", "dates", "w1", "wave/dates"]).code, 0);
        let dates = house.work("dates", &base, "[]");
        house.commit(&dates, &[("pins", &lines("theirs", "two"))]);
        for step in [&["echo", "dates", &base][..], &["done", "dates"], &["merging"]] {
            assert_eq!(house.wave(step).code, 0);
        }
        house.commit(&house.root(), &[("pins", &lines("one", "ours"))]);
        house.merge("wave/dates");
        // As the program leaves it: what main has.
        let (merged, ours) = (
            house.repo.head().unwrap().peel_to_commit().unwrap(),
            house.repo.revparse_single("HEAD~1:pins").unwrap().id(),
        );
        let mut tree = house.repo.treebuilder(Some(&merged.tree().unwrap())).unwrap();
        tree.insert("pins", ours, 0o100_644).unwrap();
        let tree = house.repo.find_tree(tree.write().unwrap()).unwrap();
        let amended = merged.amend(None, None, None, None, None, Some(&tree)).unwrap();
        house.repo.reference("refs/heads/main", amended, true, "amend").unwrap();
        let verified = house.wave(&["verify"]);
        assert_eq!(verified.code, code, "{}", verified.out);
        assert_eq!(verified.out.contains("not as git merges the two: `pins`"), code == 1);
    }
}
