//! Documents and what the gates say about them: a case a folder in `tests/corpus/`, each a test. The real program judges a
//! real repository.
//!
//! `tests/corpus/README.md` says how a case is written.

#![allow(clippy::unwrap_used, reason = "a test that can not go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use assert_cmd::cargo::cargo_bin_cmd;
use git2::{Repository, Signature, Time};
use libtest_mimic::{Arguments, Failed, Trial};
use phasegate::flow::Phase;
use phasegate::gate::papers::{self, Followed, Papers};
use phasegate::ids::{BlobId, CommitId};
use phasegate::ledger::record::{Impact, Round};
use phasegate::policy;
use phasegate::repo::LocalRepo;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[expect(dead_code, reason = "it is for people")]
    about: String,
    like: Option<String>,
    policy: Option<Value>,
    #[serde(default)]
    delete: Vec<String>,
    round: Option<Confirmed>,
    findings: Vec<String>,
}

/// A round that was confirmed, whose delivered scope is the base's.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Confirmed {
    version: u32,
    accepted: BTreeSet<String>,
    #[serde(default)]
    minor: bool,
}

const POLICY: &str = ".github/phasegate.yml";

type Files = BTreeMap<String, Vec<u8>>;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut trials = Vec::new();
    for gate in folders(&root) {
        for case in folders(&gate) {
            let (root, gate) = (root.clone(), name(&gate));
            trials.push(Trial::test(format!("{gate}::{}", name(&case)), move || judge(&root, &gate, &case)));
        }
    }
    trials.push(Trial::test("there_are_cases", {
        let count = trials.len();
        move || if count > 100 { Ok(()) } else { Err(format!("only {count} cases").into()) }
    }));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    found.sort();
    found
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

fn judge(root: &Path, gate: &str, folder: &Path) -> Result<(), Failed> {
    let case: Case = serde_yaml::from_str(&std::fs::read_to_string(folder.join("case.yml"))?)?;
    let (mut base, mut head) = (Files::new(), Files::new());
    let like = case.like.as_ref().map(|like| root.join(like));
    for folder in like.iter().map(PathBuf::as_path).chain([folder]) {
        read(&folder.join("base"), "", &mut base);
        read(folder, "", &mut head);
    }
    head.retain(|path, _| path != "case.yml" && !path.starts_with("base/"));
    base.insert(POLICY.to_owned(), policy_of(case.policy)?.into_bytes());
    let mut all = base.clone();
    all.extend(head);
    all.retain(|path, _| !case.delete.contains(path));

    let scratch = tempfile::tempdir()?;
    let repo = Repository::init(scratch.path())?;
    let first = commit(&repo, "refs/heads/main", &base, None)?;
    let work = commit(&repo, "refs/heads/work", &all, Some(first))?;
    let mut wanted = case.findings;
    wanted.sort();
    if let Some(round) = case.round {
        let commits = [first, work].map(|id| CommitId::new(id.to_string()).unwrap());
        return compare(wanted, of_round(scratch.path(), gate, &commits, round, &base[POLICY])?);
    }
    let mut command = cargo_bin_cmd!("phasegate");
    command.current_dir(scratch.path()).env_clear();
    let output = command.args(["check", gate, "--base", "main", "--head", "work", "--json"]).output()?;
    let said = String::from_utf8(output.stdout)?;
    let report: Value = serde_json::from_str(&said)
        .map_err(|error| format!("{error}: {said}\n{}", String::from_utf8_lossy(&output.stderr)))?;
    let findings = report["gates"][0]["findings"].as_array().ok_or("no findings")?;
    // Whether the goal is auto-ready is told beside the gate, of nearly every scope here: a case that is about it names it.
    let beside = |finding: &&Value| {
        finding["rule"] == "goal_not_auto_ready" && !wanted.iter().any(|one| one.starts_with("goal_not_auto_ready"))
    };
    let found: Vec<(String, String)> = findings
        .iter()
        .filter(|finding| !beside(finding))
        .map(|finding| (line(finding), finding["says"].as_str().unwrap_or_default().to_owned()))
        .collect();
    let failed = found.iter().any(|(line, _)| line.contains(" error"));
    compare(wanted, found)?;
    if output.status.code() != Some(i32::from(failed)) {
        return Err(format!("it ended with {}", output.status).into());
    }
    Ok(())
}

fn compare(wanted: Vec<String>, mut found: Vec<(String, String)>) -> Result<(), Failed> {
    found.sort();
    if found.iter().map(|(line, _)| line).ne(&wanted) {
        let listed: String = found.iter().map(|(line, says)| format!("  {line}   ({says})\n")).collect();
        return Err(format!("expected\n  {}\nfound\n{listed}", wanted.join("\n  ")).into());
    }
    Ok(())
}

/// What the gate finds in the work of a round. Which round that is stands on the ledger, which the command line does not read for
/// a check, so the gate is asked itself.
fn of_round(
    folder: &Path,
    gate: &str,
    [base, head]: &[CommitId; 2],
    round: Confirmed,
    policy: &[u8],
) -> Result<Vec<(String, String)>, Failed> {
    let repo = LocalRepo::around(folder)?;
    let blob = |path: &str| Ok::<_, Failed>(papers::read_sheet(&repo, base, path)?.and_then(|sheet| sheet.blob));
    let round = Round {
        changes: Vec::new(),
        impact: if round.minor { Impact::Minor } else { Impact::None },
        document: BlobId::new("0".repeat(40))?,
        version: round.version,
        scope: blob(papers::SCOPE)?,
        design: blob(papers::DESIGN)?,
        accepted: Some(round.accepted),
    };
    let followed = Some(Followed::Round(Box::new(round)));
    let read = Papers::read(&repo, base, base, head)?.following(&repo, head, followed)?;
    let policy = policy::parse(policy).map_err(|problems| format!("{problems:?}"))?;
    let phase = Phase::parse(gate).ok_or("no gate")?;
    let told = papers::judge(phase, &read, &policy).into_iter().map(|finding| {
        let value = serde_json::to_value(&finding).unwrap_or_default();
        (line(&value), finding.says)
    });
    Ok(told.collect())
}

fn line(finding: &Value) -> String {
    let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    let mut line = format!("{} {}", text("rule"), text("severity"));
    if let Some(path) = finding["path"].as_str() {
        line += &format!(" {path}");
    }
    if let Some(at) = finding["line"].as_u64() {
        line += &format!(":{at}");
    }
    line
}

/// Everything below a folder, by its path.
fn read(folder: &Path, prefix: &str, files: &mut Files) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        let name = format!("{prefix}{}", name(&path));
        if path.is_dir() {
            read(&path, &format!("{name}/"), files);
        } else {
            files.insert(name, std::fs::read(path).unwrap());
        }
    }
}

/// The case's keys, over what every policy of the pipeline has. JSON is YAML.
fn policy_of(keys: Option<Value>) -> Result<String, Failed> {
    let mut policy = serde_json::json!({
        "version": 1,
        "flow": "pipeline",
        "gates": { "verify": { "checks": [{ "name": "test", "workflow": ".github/workflows/ci.yml" }] } },
    });
    if let (Value::Object(policy), Some(Value::Object(keys))) = (&mut policy, keys) {
        policy.extend(keys);
    }
    Ok(serde_json::to_string(&policy)?)
}

fn commit(repo: &Repository, name: &str, files: &Files, parent: Option<git2::Oid>) -> Result<git2::Oid, Failed> {
    let mut index = git2::Index::new()?;
    repo.set_index(&mut index)?;
    for (path, bytes) in files {
        let id = repo.blob(bytes)?;
        let entry = git2::IndexEntry {
            ctime: git2::IndexTime::new(0, 0),
            mtime: git2::IndexTime::new(0, 0),
            dev: 0,
            ino: 0,
            mode: 0o100_644,
            uid: 0,
            gid: 0,
            file_size: 0,
            id,
            flags: 0,
            flags_extended: 0,
            path: path.clone().into_bytes(),
        };
        index.add(&entry)?;
    }
    let tree = repo.find_tree(index.write_tree_to(repo)?)?;
    let by = Signature::new("rover", "rover@example.com", &Time::new(1_700_000_000, 0))?;
    let parent = parent.map(|parent| repo.find_commit(parent)).transpose()?;
    let parents: Vec<&git2::Commit<'_>> = parent.iter().collect();
    Ok(repo.commit(Some(name), &by, &by, "documents", &tree, &parents)?)
}
