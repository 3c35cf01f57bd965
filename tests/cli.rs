//! The command line as a person or a script meets it: what is printed where, and how it ends.

#![allow(clippy::unwrap_used, reason = "a test that can not go on has failed")]

use std::path::Path;
use std::time::Duration;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin_cmd;
use phasegate::inbox::{Delivery, Inbox};
use serde_json::{Value, json};
use tempfile::TempDir;

struct Ended {
    code: i32,
    out: String,
    err: String,
}

impl Ended {
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("not JSON: {e}\n{}", self.out))
    }
}

/// The program in this folder, with nothing of the tester's environment.
fn phasegate(dir: &Path) -> Command {
    let mut command = cargo_bin_cmd!("phasegate");
    command.current_dir(dir).env_clear();
    command
}

fn end(mut command: Command) -> Ended {
    let output = command.output().unwrap();
    Ended {
        code: output.status.code().expect("it ended by itself"),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn run(dir: &Path, args: &[&str]) -> Ended {
    let mut command = phasegate(dir);
    command.args(args);
    end(command)
}

fn run_anywhere(args: &[&str]) -> Ended {
    run(&std::env::temp_dir(), args)
}

#[test]
fn version_and_help() {
    let version = run_anywhere(&["--version"]);
    assert_eq!((version.code, version.out.as_str()), (0, concat!("phasegate ", env!("CARGO_PKG_VERSION"), "\n")));

    let help = run_anywhere(&["--help"]);
    assert_eq!(help.code, 0);
    for part in ["Usage: phasegate <COMMAND>", "Rules:\n  check   ", "Proof:\n  status  ", "Exit codes: 0 fine"] {
        assert!(help.out.contains(part), "{part:?} is missing in:\n{}", help.out);
    }
    assert!(!help.out.contains('\x1b'), "no colours where nobody sees them");
    assert!(help.out.lines().all(|line| line.len() <= 120), "{}", help.out);
}

#[test]
fn wrong_usage_is_2_and_says_so_on_stderr() {
    for args in [&[][..], &["frobnicate"], &["flow"], &["config", "check", "--frob"], &["inbox", "retry"], &["replay"]]
    {
        let ended = run_anywhere(args);
        assert_eq!(ended.code, 2, "{args:?}");
        assert_eq!(ended.out, "", "{args:?}");
        assert!(ended.err.contains("Usage:"), "{args:?}: {}", ended.err);
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_bug() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin!("phasegate"))
        .args(["flow", "export", "pipeline"])
        .stdout(writer)
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let err = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
    assert_eq!(err, "");
}

#[test]
fn a_flow_is_exported_in_every_format() {
    for (format, starts) in [
        ("json", "{\n  \"schema\": \"phasegate/flow@1\","),
        ("mermaid", "stateDiagram-v2\n    [*] --> Waiting\n"),
        ("dot", "digraph merge {\n"),
        ("tla", "---- MODULE PhasegateMerge ----\n"),
    ] {
        let ended = run_anywhere(&["flow", "export", "merge", "--format", format]);
        assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{format}");
        assert!(ended.out.starts_with(starts), "{}", ended.out);
    }
}

#[test]
fn a_flow_is_written_with_all_that_its_reader_needs() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("a/new one");
    let written = |flow: &str, format: &str| {
        let folder = folder.to_str().unwrap();
        let ended = run_anywhere(&["flow", "export", flow, "--format", format, "--out", folder]);
        assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{flow} {format}");
        let names = ended.out.lines().map(|path| path.strip_prefix(folder).unwrap().trim_start_matches('/').to_owned());
        names.collect::<Vec<_>>()
    };
    for (format, name) in [("json", "merge.json"), ("mermaid", "merge.mmd"), ("dot", "merge.dot")] {
        assert_eq!(written("merge", format), [name]);
        let printed = run_anywhere(&["flow", "export", "merge", "--format", format]).out;
        assert_eq!(std::fs::read_to_string(folder.join(name)).unwrap(), printed);
    }
    assert_eq!(written("merge", "tla"), ["PhasegateMerge.tla", "PhasegateMerge.cfg"]);
    let pipeline = written("pipeline", "tla");
    assert_eq!(pipeline[..3], ["PhasegatePipeline.tla", "PhasegatePipeline.cfg", "PhasegatePipelineLaw.tla"]);
    for name in ["content.cfg", "fails-of-review.cfg", "unguarded.cfg"] {
        assert!(pipeline.contains(&name.to_owned()), "{pipeline:?}");
    }
    let printed = run_anywhere(&["flow", "export", "pipeline", "--format", "tla"]).out;
    assert_eq!(std::fs::read_to_string(folder.join("PhasegatePipeline.tla")).unwrap(), printed);

    let taken = folder.join("merge.json");
    let ended = run_anywhere(&["flow", "export", "merge", "--out", taken.to_str().unwrap()]);
    assert_eq!((ended.code, ended.out.as_str()), (2, ""));
    assert!(ended.err.contains("merge.json can't be made") && ended.err.contains("Name a folder"), "{}", ended.err);
}

#[test]
fn an_unknown_flow_is_answered_with_those_that_exist() {
    let ended = run_anywhere(&["flow", "export", "pipelin"]);
    assert_eq!((ended.code, ended.out.as_str()), (2, ""));
    assert!(ended.err.contains("[possible values: merge, task, pipeline]"), "{}", ended.err);
    assert_eq!(run_anywhere(&["flow", "export", "merge", "--format", "svg"]).code, 2);
}

const VALID: &str = "version: 1\nmode: stepped\nmerge: { require: [review] }\n";
const BROKEN: &str = "version: 1\nflow: pipelin\nmodus: auto\nmerge: { require: [review] }\n";

/// A job that runs something else would let BUILD pass whatever its commands say.
#[test]
fn commands_of_build_that_nothing_runs_are_warned_of() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join(".github/workflows")).unwrap();
    let policy = "version: 1\ngates:\n  build:\n    run: [\"false\"]\n  verify:\n    checks: [{ name: test, workflow: .github/workflows/ci.yml }]\n";
    std::fs::write(dir.path().join(".github/phasegate.yml"), policy).unwrap();
    std::fs::write(dir.path().join(".github/workflows/ci.yml"), "jobs: { test: { steps: [{ run: pytest }] } }\n")
        .unwrap();
    let ended = run(dir.path(), &["config", "check"]);
    assert_eq!(ended.code, 0);
    assert!(ended.out.contains("nothing that counts runs these") && ended.out.contains("is valid"), "{}", ended.out);
    std::fs::write(
        dir.path().join(".github/workflows/ci.yml"),
        "jobs: { test: { steps: [{ run: phasegate run build }] } }\n",
    )
    .unwrap();
    assert!(!run(dir.path(), &["config", "check"]).out.contains("nothing that counts"));
}

#[test]
fn a_valid_policy_passes_wherever_it_stands() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join(".github")).unwrap();
    std::fs::write(dir.path().join(".github/phasegate.yml"), VALID).unwrap();
    let ended = run(dir.path(), &["config", "check"]);
    assert_eq!((ended.code, ended.out.as_str()), (0, ".github/phasegate.yml: the policy is valid.\n"));

    std::fs::write(dir.path().join("other.yml"), VALID).unwrap();
    assert_eq!(run(dir.path(), &["config", "check", "other.yml"]).code, 0);

    let mut piped = phasegate(dir.path());
    piped.args(["config", "check", "-", "--json"]).write_stdin(VALID);
    let ended = end(piped);
    assert_eq!(ended.code, 0);
    assert_eq!(ended.json(), json!({ "schema": "phasegate/config-check@1", "verdict": "PASS", "findings": [] }));
}

#[test]
fn every_mistake_of_a_policy_is_shown_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("p.yml"), BROKEN).unwrap();
    let shown = run(dir.path(), &["config", "check", "p.yml"]);
    assert_eq!((shown.code, shown.err.as_str()), (1, ""));
    for part in ["MRG-07", "p.yml:2:7", "p.yml:3:1", "2 mistakes", "help:"] {
        assert!(shown.out.contains(part), "{part:?} is missing in:\n{}", shown.out);
    }
    assert!(!shown.out.contains('\x1b'), "no colours where nobody sees them");

    let json = run(dir.path(), &["config", "check", "p.yml", "--json"]);
    assert_eq!(json.code, 1);
    let report = json.json();
    assert_eq!(report["verdict"], "FAIL");
    let lines: Vec<&Value> = report["findings"].as_array().unwrap().iter().map(|finding| &finding["line"]).collect();
    assert_eq!(lines, [2, 3]);
    for key in ["rule", "severity", "path", "line", "says", "next"] {
        assert!(!report["findings"][0][key].is_null(), "{key}");
    }
}

#[test]
fn what_is_valid_and_hardly_meant_is_a_warning() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("p.yml"), "version: 1\nmerge:\n  require: []\n").unwrap();
    let shown = run(dir.path(), &["config", "check", "p.yml"]);
    assert_eq!(shown.code, 0, "{}", shown.out);
    for part in ["warning", "p.yml:3:12", "nothing is required", "p.yml: the policy is valid."] {
        assert!(shown.out.contains(part), "{part:?} is missing in:\n{}", shown.out);
    }
    let report = run(dir.path(), &["config", "check", "p.yml", "--json"]).json();
    assert_eq!(report["verdict"], "PASS");
    let finding = &report["findings"][0];
    assert_eq!(
        (&finding["severity"], &finding["path"], &finding["line"]),
        (&json!("warning"), &json!("merge.require"), &json!(3))
    );
}

#[test]
fn a_policy_with_the_other_end_is_told_to_be_renamed() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join(".github")).unwrap();
    std::fs::write(dir.path().join(".github/phasegate.yaml"), VALID).unwrap();
    for args in [&["config", "check"][..], &["config", "check", "./.github/phasegate.yaml"]] {
        let ended = run(dir.path(), args);
        assert_eq!(ended.code, 1, "{args:?}");
        assert!(ended.out.contains("Rename it to `.github/phasegate.yml`."), "{}", ended.out);
        assert!(ended.out.contains("phasegate.yaml: 1 mistake."), "{}", ended.out);
    }
    let report = run(dir.path(), &["config", "check", "--json"]).json();
    assert_eq!((&report["verdict"], &report["findings"][0]["rule"]), (&json!("FAIL"), &json!("MRG-07")));
    // Beside one that is at its place it says nothing.
    std::fs::write(dir.path().join(".github/phasegate.yml"), VALID).unwrap();
    assert_eq!(run(dir.path(), &["config", "check"]).code, 0);
}

#[test]
fn a_policy_that_is_not_there_is_no_finding() {
    let dir = tempfile::tempdir().unwrap();
    for args in [&["config", "check"][..], &["config", "check", "gone.yml", "--json"], &["config", "check", "."]] {
        let ended = run(dir.path(), args);
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{args:?}");
        assert!(ended.err.starts_with("error: can't read "), "{}", ended.err);
    }
    assert!(run(dir.path(), &["config", "check"]).err.contains("name the policy file"));
}

#[test]
fn a_policy_of_any_size_is_answered() {
    let mut piped = phasegate(&std::env::temp_dir());
    piped.args(["config", "check", "-"]).write_stdin(vec![b'#'; 3 * 1024 * 1024]);
    let ended = end(piped);
    assert_eq!(ended.code, 1);
    assert!(ended.out.contains("more than 262144 bytes"), "{}", ended.out);
}

#[test]
fn the_schema_accepts_what_the_check_accepts() {
    let ended = run_anywhere(&["config", "schema"]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    let schema = jsonschema::validator_for(&ended.json()).unwrap();
    assert!(schema.is_valid(&json!({ "version": 1, "flow": "pipeline" })));
    assert!(!schema.is_valid(&json!({ "version": 1, "flow": "pipelin" })));
}

/// An inbox with three deliveries: 1 is dead, 2 is done, 3 is ready. Their payloads hold a word that must not be seen.
fn inbox() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", dir.path().join("phasegate.db").display());
    let delivery = |n: u32| Delivery {
        guid: format!("guid-{n}"),
        event: "pull_request".to_owned(),
        installation: None,
        repo: None,
        key: format!("7#{n}"),
        barrier: false,
        payload: b"PAYLOADWORD".to_vec(),
        meta: json!({ "header": "METAWORD", "about": if n == 3 { json!("octo/lamp#3") } else { Value::Null } }),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let inbox = Inbox::open(&url).await.unwrap();
        for n in 1..=3 {
            inbox.put(&delivery(n)).await.unwrap();
        }
        for n in 1..=2 {
            let batch = inbox.claim("test", Duration::from_secs(60)).await.unwrap().unwrap();
            match n {
                1 => inbox.bury(&batch, "it broke\u{1b}[2J\nsecond line").await.unwrap(),
                _ => inbox.complete(&batch).await.unwrap(),
            }
        }
        inbox.close().await;
    });
    dir
}

#[test]
fn deliveries_are_listed_without_what_is_in_them() {
    let dir = inbox();
    let shown = run(dir.path(), &["inbox", "list"]);
    assert_eq!((shown.code, shown.err.as_str()), (0, ""));
    for part in
        ["1 ready, 0 running, 0 parked, 1 dead", "7#1", "octo/lamp#3", "last failure: it broke", "inbox retry ID"]
    {
        assert!(shown.out.contains(part), "{part:?} is missing in:\n{}", shown.out);
    }
    let json = run(dir.path(), &["inbox", "list", "--json"]);
    let report = json.json();
    assert_eq!(report["schema"], "phasegate/inbox@1");
    assert_eq!(report["waiting"]["dead"], 1);
    let ids: Vec<&Value> = report["deliveries"].as_array().unwrap().iter().map(|row| &row["id"]).collect();
    assert_eq!(ids, [3, 2, 1], "the newest first");
    for secret in ["PAYLOADWORD", "METAWORD", "\x1b"] {
        assert!(!shown.out.contains(secret) && !json.out.contains(secret), "{secret:?}");
    }
}

#[test]
fn an_empty_variable_counts_as_unset() {
    let dir = inbox();
    let mut command = phasegate(dir.path());
    command.args(["inbox", "list"]).env("DATABASE_URL", "");
    let ended = end(command);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    assert!(ended.out.contains("octo/lamp#3"), "{}", ended.out);
}

#[test]
fn a_list_is_narrowed_by_state_and_page() {
    let dir = inbox();
    let ids = |args: &[&str]| -> Vec<i64> {
        let ended = run(dir.path(), &[&["inbox", "list", "--json"], args].concat());
        assert_eq!(ended.code, 0, "{}", ended.err);
        ended.json()["deliveries"].as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect()
    };
    assert_eq!(ids(&["--dead"]), [1]);
    assert_eq!(ids(&["--state", "done"]), [2]);
    assert_eq!(ids(&["--limit", "1"]), [3]);
    assert_eq!(ids(&["--limit", "1", "--before", "3"]), [2]);
    assert_eq!(run(dir.path(), &["inbox", "list", "--dead", "--state", "done"]).code, 2);
}

#[test]
fn a_dead_delivery_gets_a_new_life_once() {
    let dir = inbox();
    let once = run(dir.path(), &["inbox", "retry", "1", "--json"]);
    assert_eq!(once.code, 0, "{}", once.err);
    assert_eq!(once.json(), json!({ "schema": "phasegate/inbox-retry@1", "retried": 1, "not_dead": [] }));
    let again = run(dir.path(), &["inbox", "retry", "1", "3"]);
    assert_eq!(again.code, 1);
    assert!(again.out.starts_with("0 deliveries are ready again.\n1 is no dead delivery"), "{}", again.out);
    assert_eq!(run(dir.path(), &["inbox", "retry", "--all", "--json"]).json()["retried"], 0);
    assert_eq!(run(dir.path(), &["inbox", "retry", "--all", "1"]).code, 2);
}

#[test]
fn all_dead_deliveries_are_retried_where_the_environment_says() {
    let (dir, elsewhere) = (inbox(), tempfile::tempdir().unwrap());
    let mut command = phasegate(elsewhere.path());
    command.args(["inbox", "retry", "--all"]);
    command.env("DATABASE_URL", format!("sqlite:{}", dir.path().join("phasegate.db").display()));
    let ended = end(command);
    assert_eq!((ended.code, ended.out.as_str()), (0, "1 delivery is ready again.\n"), "{}", ended.err);
}

#[test]
fn an_inbox_that_is_not_there_is_not_made() {
    let dir = tempfile::tempdir().unwrap();
    for url in ["sqlite:phasegate.db", "other.db"] {
        let ended = run(dir.path(), &["inbox", "list", "--database", url]);
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{url}");
        assert!(ended.err.contains("there is no inbox at"), "{}", ended.err);
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);

    let ended = run(dir.path(), &["inbox", "list", "--database", "mysql://me:PASSWORD@host/db"]);
    assert_eq!(ended.code, 2);
    assert!(ended.err.contains("unknown kind of database"), "{}", ended.err);
    assert!(!ended.err.contains("PASSWORD"));

    let mut help = phasegate(dir.path());
    help.args(["inbox", "list", "--help"]).env("DATABASE_URL", "postgres://me:PASSWORD@host/db");
    assert!(!end(help).out.contains("PASSWORD"));
}

/// A repository with a base, and a branch `work` with these files on top.
fn change(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let repo =
        git2::Repository::init_opts(dir.path(), git2::RepositoryInitOptions::new().initial_head("main")).unwrap();
    let by = git2::Signature::new("ada", "ada@example.com", &git2::Time::new(1_700_000_000, 0)).unwrap();
    let commit = |name: &str, files: &[(&str, &str)]| {
        let mut index = repo.index().unwrap();
        for (path, text) in files {
            let file = dir.path().join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, text).unwrap();
            index.add_path(Path::new(path)).unwrap();
        }
        index.write().unwrap();
        let tree = repo.find_tree(index.write_tree().unwrap()).unwrap();
        let parent = repo.head().ok().map(|head| head.peel_to_commit().unwrap());
        let parents: Vec<&git2::Commit<'_>> = parent.iter().collect();
        repo.commit(Some(name), &by, &by, "files", &tree, &parents).unwrap()
    };
    let policy = (".github/phasegate.yml", phasegate::rehearsal::PIPELINE_POLICY);
    let first = commit("HEAD", &[policy]);
    repo.branch("work", &repo.find_commit(first).unwrap(), false).unwrap();
    repo.set_head("refs/heads/work").unwrap();
    commit("HEAD", files);
    dir
}

/// What EXPAND says of criteria that cite nothing: it blocks nothing.
const UNCITED: &str =
    "2 of 2 criteria cite nothing that verifies them: AC-1, AC-2. A run can't hold its own result against them.";
const CITE: &str = "Write `(verify: …)` with a test, a command or a metric behind each. This blocks nothing.";

fn goal() -> Value {
    json!({
        "rule": "goal_not_auto_ready", "severity": "warning", "path": "scaffolding/scope.md", "line": null, "says": UNCITED, "next": CITE,
    })
}

/// The same for people, and the line that the comment has at every look.
fn goal_told() -> String {
    let line = "goal-ready: no, 2 of 2 criteria cite nothing that verifies them (AC-1, AC-2)";
    format!("  goal_not_auto_ready (warning) scaffolding/scope.md: {UNCITED}\n         {CITE}\n  {line}\n")
}

#[test]
fn check_judges_the_documents_of_a_change() {
    use phasegate::rehearsal::papers;
    let dir = change(&papers::ALL);
    let good = run(dir.path(), &["check", "--json"]);
    assert_eq!((good.code, good.err.as_str()), (0, ""), "{}", good.out);
    let mut gates: Vec<Value> =
        ["expand", "design", "analyze"].map(|gate| json!({ "gate": gate, "verdict": "PASS", "findings": [] })).to_vec();
    gates[0]["findings"] = json!([goal()]);
    assert_eq!(good.json(), json!({ "schema": "phasegate/check@1", "verdict": "PASS", "gates": gates }));

    // What is committed is judged, and whoever changed more since hears that.
    std::fs::write(dir.path().join("scaffolding/scope.md"), "# Less\n").unwrap();
    let dirty = run(dir.path(), &["check", "expand"]);
    assert_eq!((dirty.code, dirty.out), (0, format!("EXPAND PASS\n{}", goal_told())));
    assert!(dirty.err.contains("scaffolding/scope.md has changes that are not committed"), "{}", dirty.err);
}

#[test]
fn check_says_where_what_and_what_to_do() {
    use phasegate::rehearsal::papers;
    let scope = papers::SCOPE.replace("$0 a month.", "a little");
    let dir = change(&[("scaffolding/scope.md", &scope), ("scaffolding/log.md", papers::LOG)]);
    let ended = run(dir.path(), &["check"]);
    assert_eq!(ended.code, 1);
    let says = "EXPAND FAIL\n  EXP-07 scaffolding/scope.md:29: The estimated cost has no monthly figure.\n         \
                Write an amount of money a month, such as `$5 a month`; `$0` is one.\n";
    assert_eq!(ended.out, format!("{says}{}", goal_told()));
    let json = run(dir.path(), &["check", "expand", "--base", "main", "--head", "work", "--json"]);
    let finding = json!({
        "rule": "EXP-07", "severity": "error", "path": "scaffolding/scope.md", "line": 29,
        "says": "The estimated cost has no monthly figure.",
        "next": "Write an amount of money a month, such as `$5 a month`; `$0` is one.",
    });
    assert_eq!((json.code, &json.json()["gates"][0]["findings"]), (1, &json!([finding, goal()])));
    let cited = papers::SCOPE
        .replace("10 ms.", "10 ms (verify: make test).")
        .replace("zero errors.", "zero errors (verify: make test).");
    let ready = run(
        change(&[("scaffolding/scope.md", &cited), ("scaffolding/log.md", papers::LOG)]).path(),
        &["check", "expand"],
    )
    .out;
    assert_eq!(ready, "EXPAND PASS\n  goal-ready: yes, each of 2 criteria cites what verifies it\n");
    let design = run(dir.path(), &["check", "design", "--json"]);
    assert_eq!(design.json()["gates"][0]["findings"][0]["path"], Value::Null);
}

/// BUILD of what is committed, by the same rules.
#[test]
fn check_judges_what_a_change_adds() {
    use phasegate::rehearsal::papers;
    let mut files = papers::ALL.to_vec();
    files.extend(papers::CODE);
    let dir = change(&files);
    let good = run(dir.path(), &["check", "--json"]);
    assert_eq!(good.code, 0, "{}{}", good.out, good.err);
    assert_eq!(good.json()["gates"][3], json!({ "gate": "build", "verdict": "PASS", "findings": [] }));
    let manifest = "[project]\nname = \"dimmer\"\ndependencies = [\"opentelemetry\"]\n";
    let code = "def dim(level):\n    raise NotImplementedError\n";
    files.retain(|(path, _)| !papers::CODE.iter().any(|(own, _)| own == path));
    files.extend([("src/dimmer.py", code), ("pyproject.toml", manifest)]);
    let dir = change(&files);
    let bad = run(dir.path(), &["check", "build"]);
    assert_eq!(bad.code, 1);
    for says in [
        "BUILD FAIL\n",
        "BLD-03 scaffolding/scope.md:14: No test names `AC-1`.",
        "BLD-03 scaffolding/scope.md:15: No test names `AC-2`.",
        "BLD-06 pyproject.toml: It has dependencies (`opentelemetry`), and no lock file.",
        "BLD-07 scaffolding/design.md:13: The design has `tests/test_dimmer.py`, which is not there.",
        "BLD-08 src/dimmer.py:2: This only holds a place: NotImplementedError.",
    ] {
        assert!(bad.out.contains(says), "{says}: {}", bad.out);
    }
}

/// What nobody could read, and what is made to be dear to read, is one finding that says which limit it is.
#[test]
fn check_answers_hostile_documents_with_their_limit() {
    let deep = format!("x\r{}y", "> ".repeat(200_000));
    let wide = format!("|{}\n|{}\n{}", "a|".repeat(10_000), "-|".repeat(10_000), "|b|\n".repeat(5_000));
    for (scope, says) in [
        ("And more text.\n".repeat(700_000), "has more than 1048576 bytes; it is not read."),
        ("x\n".repeat(100_000), "has more than 20000 lines; it is not read."),
        (">".repeat(1_000_000), "is nested more than 32 deep; it is not read."),
        ("- ".repeat(400_000) + "x", "is nested more than 32 deep; it is not read."),
        (deep, "is nested more than 32 deep; it is not read."),
        ("a\0b".to_owned(), "is no text: it is not UTF-8, or has a NUL."),
        ("[".repeat(500_000), "The section “Problem” is missing."),
        ("*_".repeat(300_000), "The section “Problem” is missing."),
        (wide, "The section “Problem” is missing."),
    ] {
        let dir = change(&[("scaffolding/scope.md", &scope)]);
        let ended = run(dir.path(), &["check", "expand", "--json"]);
        assert_eq!((ended.code, ended.err.as_str()), (1, ""), "{says}");
        let first = &ended.json()["gates"][0]["findings"][0];
        assert_eq!(first["path"], "scaffolding/scope.md", "{says}");
        assert!(first["says"].as_str().unwrap().contains(says), "{first}");
    }
    let turned = change(&[("scaffolding/scope.md", "## Problem\n\nIt is &#x202e;enif\u{202e}.\n")]);
    let ended = run(turned.path(), &["check", "expand"]);
    assert_eq!(ended.code, 1);
    assert!(ended.out.contains("EXP-01 scaffolding/scope.md:3: A character here turns the direction"), "{}", ended.out);
    assert!(!ended.out.contains('\u{202e}'));
}

#[test]
fn check_without_what_it_needs_is_wrong_usage() {
    let dir = change(&[("a.txt", "a")]);
    for (args, says) in [
        (&["check", "desing"][..], "did you mean `design`?"),
        (&["check", "verify"][..], "reads no document"),
        (&["check", "everything"][..], "there are expand, design, analyze, build and reconcile"),
        (&["check", "--base", "nowhere"][..], "there is no commit `nowhere`"),
        (&["check", "--head", "v9"][..], "there is no commit `v9`"),
    ] {
        let ended = run(dir.path(), args);
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{args:?}");
        assert!(ended.err.contains(says), "{args:?}: {}", ended.err);
    }
    let outside = tempfile::tempdir().unwrap();
    let ended = run(outside.path(), &["check"]);
    assert_eq!(ended.code, 2);
    assert!(ended.err.contains("not in a git repository"), "{}", ended.err);
}

/// What `task check` finds, by rule and line.
fn found(ended: &Ended) -> Vec<(String, u64)> {
    let findings = ended.json()["findings"].as_array().unwrap().clone();
    findings.iter().map(|one| (one["rule"].as_str().unwrap().to_owned(), one["line"].as_u64().unwrap_or(0))).collect()
}

#[test]
fn a_task_is_begun_once_and_says_what_it_lacks() {
    let dir = TempDir::new().unwrap();
    let begun = run(dir.path(), &["task", "init", "work/T-1", "--title", "Dim the lamp", "--json"]);
    assert_eq!(begun.code, 0, "{}", begun.err);
    assert_eq!(begun.json()["schema"], "phasegate/task-init@1");
    let files: Vec<&str> = vec!["README.md", "EVIDENCE.md", "artifacts/.gitkeep", "STATE.md"];
    let named: Vec<String> = serde_json::from_value(begun.json()["files"].clone()).unwrap();
    assert_eq!(named, files.iter().map(|file| format!("work/T-1/{file}")).collect::<Vec<_>>());
    let folder = dir.path().join("work/T-1");
    assert!(std::fs::read_to_string(folder.join("README.md")).unwrap().starts_with("# Dim the lamp\n"));

    let new = run(dir.path(), &["task", "check", "work/T-1", "--json"]);
    assert_eq!((new.code, &new.json()["phase"], &new.json()["next"]), (1, &json!("intake"), &json!(["shape"])));
    assert_eq!(found(&new).len(), 4, "the frame: {}", new.out);
    let told = run(&folder, &["task", "check"]);
    assert!(told.out.contains("TSK-03 ./STATE.md:"), "{}", told.out);
    assert!(told.out.ends_with("Next, when that is there, it may be `shape`.\n"), "{}", told.out);

    // Nothing is written over, and nothing is written beside it.
    std::fs::remove_file(folder.join("README.md")).unwrap();
    let again = run(dir.path(), &["task", "init", "work/T-1"]);
    assert_eq!((again.code, again.out.as_str()), (2, ""));
    assert!(again.err.contains("EVIDENCE.md is there already, and nothing was written"), "{}", again.err);
    assert!(!folder.join("README.md").exists());
}

#[test]
fn a_task_that_can_not_be_begun_leaves_nothing() {
    let dir = TempDir::new().unwrap();
    std::fs::write(dir.path().join("file"), "x").unwrap();
    let ended = run(dir.path(), &["task", "init", "file/T-1"]);
    assert_eq!(ended.code, 2, "{}", ended.out);
    let there = run(dir.path(), &["task", "init", "T-2", "--title", "two\nlines"]);
    assert!(there.code == 2 && there.err.contains("a title is one line of text"), "{}", there.err);
    // A file in the place of the folder of artifacts.
    std::fs::create_dir(dir.path().join("T-3")).unwrap();
    std::fs::write(dir.path().join("T-3/artifacts"), "x").unwrap();
    assert_eq!(run(dir.path(), &["task", "init", "T-3"]).code, 2);
    let left: Vec<_> = std::fs::read_dir(dir.path().join("T-3")).unwrap().map(|one| one.unwrap().file_name()).collect();
    assert_eq!(left, ["artifacts"]);
    let none = run(dir.path(), &["task", "check", "T-9"]);
    assert!(
        none.code == 2 && none.err.contains("there is no T-9/STATE.md; `phasegate task init DIR` writes one"),
        "{}",
        none.err
    );
}

#[test]
fn a_task_is_held_against_the_commit_before() {
    let dir = TempDir::new().unwrap();
    let git = |args: &[&str]| {
        let ended = std::process::Command::new("git").args(args).current_dir(dir.path()).output().unwrap();
        assert!(ended.status.success(), "{args:?} {}", String::from_utf8_lossy(&ended.stderr));
    };
    git(&["init", "-q"]);
    assert_eq!(run(dir.path(), &["task", "init", "T-1"]).code, 0);
    let file = dir.path().join("T-1/STATE.md");
    let change = |from: &str, to: &str| {
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "{from}");
        std::fs::write(&file, text.replace(from, to)).unwrap();
    };
    let commit = || {
        git(&["add", "-A"]);
        git(&["-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "x"]);
    };
    change("Objective:\n", "Objective: The lamp can be dimmed.\n");
    change("Done gate:\n", "Done gate: Each step is seen on the meter.\n");
    change("Not doing:\n", "Not doing: none\n");
    change("Reality constraints:\n", "Reality constraints: The old dimmer stays.\n");
    commit();
    change("Phase: intake", "Phase: done");
    let jumped = run(dir.path(), &["task", "check", "T-1", "--since", "HEAD", "--json"]);
    assert_eq!((jumped.code, found(&jumped).len(), found(&jumped)[0].0.as_str()), (1, 1, "TSK-01"));
    assert_eq!(jumped.json()["findings"][0]["next"], "Claim `shape`.");
    change("Phase: done", "Phase: shape");
    let shaped = run(dir.path(), &["task", "check", "T-1", "--since", "HEAD"]);
    assert!(shaped.code == 1 && shaped.out.contains("`Validation plan:` says nothing"), "{}", shaped.out);
    change("Phase: shape", "Phase: blocked");
    assert_eq!(run(dir.path(), &["task", "check", "T-1"]).code, 3, "it waits for a person");
    change("Phase: blocked", "Phase: building");
    let bent = run(dir.path(), &["task", "check", "T-1", "--json"]);
    assert_eq!((bent.code, &bent.json()["phase"], found(&bent)[0].0.as_str()), (1, &Value::Null, "TSK-02"));
    // What was there is not known, so nobody can tell what may follow.
    commit();
    change("Phase: building", "Phase: shape");
    let unknown = run(dir.path(), &["task", "check", "T-1", "--since", "HEAD"]);
    assert!(unknown.code == 2 && unknown.err.contains("so what may follow on it is not known"), "{}", unknown.err);
}

#[test]
fn the_flow_of_a_task_is_exported() {
    let ended = run_anywhere(&["flow", "export", "task"]);
    let flow = ended.json();
    assert_eq!((ended.code, &flow["name"], &flow["initial"]), (0, &json!("task"), &json!("intake")));
    assert_eq!((flow["states"].as_array().unwrap().len(), flow["transitions"].as_array().unwrap().len()), (9, 26));
}
