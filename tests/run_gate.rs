//! `phasegate run` as a person and a job meet it: what is run, what is printed, how it ends, and what is left of it.

#![allow(clippy::unwrap_used, reason = "a test that can not go on has failed")]

#[path = "support/frozen.rs"]
mod frozen;

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use phasegate::ids::ChangeNumber;
use phasegate::policy::RunGate;
use phasegate::runner::artefact::{self, Artefact, CommandOutcome, Expected, PolicyFrom, ReportState};
use phasegate::runner::wall::Wall;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A repository with a policy on `main`, and a change on `work`.
struct Stage {
    dir: TempDir,
    base: String,
    head: String,
}

struct Ended {
    code: i32,
    out: String,
    err: String,
}

const CHECK: &str = "checks: [{ name: verify, workflow: .github/workflows/phasegate-gates.yml }]";

/// A policy whose VERIFY runs these.
fn policy(commands: &[&str], reports: &[&str], timeout: &str) -> String {
    let (run, reports) =
        (json!(commands), if reports.is_empty() { String::new() } else { format!("reports: {}", json!(reports)) });
    format!("gates:\n  verify:\n    {CHECK}\n    run: {run}\n    timeout: {timeout}\n    {reports}\n")
}

fn stage(policy: &str, change: &[(&str, &str)]) -> Stage {
    let dir = tempfile::tempdir().unwrap();
    let repo =
        git2::Repository::init_opts(dir.path(), git2::RepositoryInitOptions::new().initial_head("main")).unwrap();
    let by = git2::Signature::new("ada", "ada@example.com", &git2::Time::new(1_700_000_000, 0)).unwrap();
    let commit = |files: &[(&str, &str)]| {
        let mut index = repo.index().unwrap();
        for (path, text) in files {
            let file = dir.path().join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, text).unwrap();
            if path.ends_with(".sh") {
                std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
            }
            index.add_path(Path::new(path)).unwrap();
        }
        index.write().unwrap();
        let tree = repo.find_tree(index.write_tree().unwrap()).unwrap();
        let parent = repo.head().ok().map(|head| head.peel_to_commit().unwrap());
        let parents: Vec<&git2::Commit<'_>> = parent.iter().collect();
        repo.commit(Some("HEAD"), &by, &by, "files", &tree, &parents).unwrap()
    };
    let base = commit(&[(".github/phasegate.yml", policy)]);
    repo.branch("work", &repo.find_commit(base).unwrap(), false).unwrap();
    repo.set_head("refs/heads/work").unwrap();
    let head = commit(change);
    Stage { dir, base: base.to_string(), head: head.to_string() }
}

impl Stage {
    fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The program, with a path and nothing else of the tester's environment.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("phasegate"));
        command.current_dir(self.path()).env_clear().env("PATH", std::env::var_os("PATH").unwrap()).args(args);
        command.stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Ended {
        end(self.command(&[&["run"], args].concat()))
    }

    fn artefact(&self) -> Artefact {
        let file = self.path().join(".git/phasegate-verify/execution_log.json");
        serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
    }

    /// The program as a step of a pull request's job, with the files that the runner reads afterwards.
    fn step(&self, args: &[&str]) -> (Command, PathBuf) {
        let temp = self.path().join(".git/temp");
        std::fs::create_dir_all(&temp).unwrap();
        let event = json!({
            "repository": { "default_branch": "main" },
            "pull_request": {
                "number": 7,
                "base": { "sha": self.base, "ref": "main" },
                "head": { "sha": self.head, "ref": "work" },
            },
        });
        std::fs::write(temp.join("event.json"), event.to_string()).unwrap();
        let mut command = self.command(&[&["run"], args].concat());
        for (name, value) in [
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_EVENT_NAME", "pull_request"),
            ("GITHUB_REPOSITORY", "octo/lamp"),
            ("GITHUB_RUN_ID", "99"),
            ("GITHUB_RUN_ATTEMPT", "2"),
            ("GITHUB_SHA", &self.head),
            ("GITHUB_TOKEN", "job-token-1"),
            ("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "oidc-token-1"),
            ("NPM_TOKEN", "npm-secret-1"),
        ] {
            command.env(name, value);
        }
        command.env("RUNNER_TEMP", &temp).env("GITHUB_EVENT_PATH", temp.join("event.json"));
        for name in ["GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY"] {
            std::fs::write(temp.join(name), "").unwrap();
            command.env(name, temp.join(name));
        }
        (command, temp)
    }

    fn expected(&self) -> Expected {
        Expected {
            gate: RunGate::Verify,
            repository: "octo/lamp".parse().unwrap(),
            head: self.head.parse().unwrap(),
            run: 99,
            attempt: 2,
        }
    }
}

fn end(mut command: Command) -> Ended {
    let output = command.output().unwrap();
    Ended {
        code: output.status.code().expect("it ended by itself"),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// With what differs from run to run left out.
fn calm(text: &str, dir: &Path) -> String {
    let text = text.replace(&format!("{}/", dir.canonicalize().unwrap().display()), "");
    let mut out = String::new();
    for line in text.lines() {
        let (before, time) = line.split_at(line.rfind(" (").unwrap_or(line.len()));
        let is_time = time.ends_with(" ms)") || time.ends_with(" s)");
        out.push_str(&if is_time { format!("{before} (… ms)\n") } else { format!("{line}\n") });
    }
    out
}

const GREEN: &str = "echo '<testsuite><testcase name=\"on\"/></testsuite>' > junit.xml";

/// Tests that no file is known of are not frozen.
const UNFROZEN: &str = "  VER-11 (warning) A test ran, and no file of this content is known as a test: nothing of the tests is frozen.\n         \
                        Name their files in the policy: `freeze: { tests: [\"checks/**\"] }`. Known are folders and files that are called as \
                        usual, such as `tests/` and `test_*.py`.\n";

/// What is left of a run is not taken for the next one's, and what the next one writes again is.
#[test]
fn a_gate_runs_in_place_as_often_as_one_likes() {
    let on = stage(&policy(&[GREEN], &["junit.xml"], "1m"), &[("a", "1")]);
    for _ in 0..2 {
        let ended = on.run(&["verify", "--in-place"]);
        assert_eq!(ended.code, 0, "{}", ended.out);
    }
    let idle = stage(&policy(&["test -e junit.xml"], &["junit.xml"], "1m"), &[("a", "1")]);
    std::fs::write(idle.path().join("junit.xml"), "<testsuite><testcase name=\"on\"/></testsuite>").unwrap();
    let ended = idle.run(&["verify", "--in-place"]);
    assert!(ended.code == 1 && ended.out.contains("VER-09"), "{}", ended.out);
}

/// The home is not opened because it is on the path.
#[cfg(target_os = "linux")]
#[test]
fn a_search_path_opens_no_home() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("key"), "t0p-secret").unwrap();
    std::fs::write(home.path().join("run"), "").unwrap();
    std::fs::set_permissions(home.path().join("run"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let reads = format!("! cat {}/key", home.path().display());
    let on = stage(&policy(&[&reads, GREEN], &["junit.xml"], "1m"), &[("a", "1")]);
    let mut command = on.command(&["run", "verify", "--json"]);
    let path = std::env::join_paths(
        std::iter::once(home.path().to_owned()).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    command.env("HOME", home.path()).env("PATH", path.unwrap());
    let ended = end(command);
    let walls: Artefact = serde_json::from_str(&ended.out).unwrap();
    // Where there are no walls around files, everything is seen, and that is told elsewhere.
    if walls.confinement.stand.iter().any(|wall| matches!(wall, Wall::Files | Wall::LandlockFiles)) {
        assert_eq!(ended.code, 0, "{}\n{}", ended.out, ended.err);
        assert!(ended.err.contains("which PATH or a toolchain's variable names: the home is in it"), "{}", ended.err);
    }
}

/// A log that is larger than a server takes is told of by the one who writes it.
#[test]
fn a_log_that_is_too_large_is_told_of() {
    let many = "{ echo '<testsuite>'; for n in $(seq 1 $MANY); do echo \"<testcase name='a-test-with-a-name-of-usual-length-that-says-what-it-is-about-in-full-\
                and-then-some-more-words-to-be-read-by-nobody-$n'/>\"; done; echo '</testsuite>'; } > junit.xml";
    let on = stage(&policy(&[many], &["junit.xml"], "5m"), &[("a", "1")]);
    let run = |many: &str| {
        let mut command = on.command(&["run", "verify", "--in-place"]);
        command.env("MANY", many);
        end(command)
    };
    let ended = run("20");
    assert!(ended.code == 0 && ended.err.is_empty(), "{}", ended.err);
    let ended = run("55000");
    assert_eq!(ended.code, 0, "{}", ended.out);
    assert!(
        ended.err.contains("more than the server of an App takes") && ended.err.contains("fewer tests"),
        "{}",
        ended.err
    );
}

#[test]
fn a_gate_passes_and_says_what_was_run() {
    let on = stage(&policy(&["echo building", GREEN], &["junit.xml"], "1m"), &[("a", "1")]);
    let ended = on.run(&["verify"]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{}", ended.out);
    let once = format!("$ echo building\nbuilding\n✓ echo building (… ms)\n$ {GREEN}\n✓ {GREEN} (… ms)\n");
    let shown = format!(
        "{once}the same on the base ({}):\n{once}VERIFY PASS  1 test: 1 passed\n{UNFROZEN}artefact: .git/phasegate-verify/execution_log.json\n",
        &on.base[..12]
    );
    assert_eq!(calm(&ended.out, on.path()), shown);
    let artefact = on.artefact();
    assert_eq!(artefact.subject.head.as_ref().unwrap().as_str(), on.head);
    assert_eq!(artefact.policy.commit.as_ref().unwrap().as_str(), on.base);
    assert_eq!((artefact.commands.len(), artefact.totals.passed, artefact.run), (2, 1, None));
    assert!(!artefact.subject.uncommitted);
}

#[test]
fn the_object_is_the_file_and_has_the_form_that_is_published() {
    let published: Value = serde_json::from_str(include_str!("../docs/schemas/run.schema.json")).unwrap();
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join("run.schema.json");
    std::fs::write(&made, serde_json::to_string_pretty(&Artefact::schema_of()).unwrap() + "\n").unwrap();
    let same = published == Artefact::schema_of();
    assert!(same, "the types say something else: put {} in the place of docs/schemas/run.schema.json", made.display());
    let schema = jsonschema::validator_for(&published).unwrap();
    let red = "echo '<testsuite><testcase name=\"x\"><failure/></testcase></testsuite>' > junit.xml; kill -9 $$";
    for (commands, code) in [(&[GREEN][..], 0), (&[red, "true"], 1)] {
        let on = stage(&policy(commands, &["junit.xml", "gone.xml"][..1], "1m"), &[("a", "1")]);
        let ended = on.run(&["verify", "--json"]);
        assert_eq!(ended.code, code, "{}", ended.err);
        let object: Value = serde_json::from_str(&ended.out).unwrap();
        assert_eq!(object, serde_json::to_value(on.artefact()).unwrap());
        let wrong: Vec<String> = schema.iter_errors(&object).map(|error| error.to_string()).collect();
        assert_eq!(wrong, [""; 0]);
        assert!(ended.err.contains("VERIFY "), "people read stderr then: {}", ended.err);
        let (step, temp) = on.step(&["verify"]);
        assert_eq!(end(step).code, code);
        let file = std::fs::read(temp.join("phasegate-verify/execution_log.json")).unwrap();
        assert!(schema.is_valid(&serde_json::from_slice(&file).unwrap()));
        let mut lacks = object;
        lacks.as_object_mut().unwrap().remove("totals");
        assert!(!schema.is_valid(&lacks));
    }
}

/// What an execution log must have, whoever reads it.
fn execution_log() -> jsonschema::Validator {
    let count = json!({ "type": "integer", "minimum": 0 });
    let test = json!({
        "type": "object",
        "required": ["name", "result"],
        "properties": {
            "name": { "type": "string", "minLength": 1 },
            "result": { "enum": ["PASS", "FAIL"] },
            "duration_ms": count,
        },
    });
    let schema = json!({
        "type": "object",
        "required": ["module_id", "module_version", "executed_at", "tests", "summary"],
        "properties": {
            "module_id": { "type": "string", "minLength": 1 },
            "module_version": { "type": "string", "minLength": 1 },
            "executed_at": { "type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z$" },
            "tests": { "type": "array", "minItems": 1, "items": test },
            "summary": {
                "type": "object",
                "required": ["total", "passed", "failed"],
                "properties": { "total": count, "passed": count, "failed": count },
            },
        },
    });
    jsonschema::validator_for(&schema).unwrap()
}

#[test]
fn the_log_has_each_test_by_its_name_and_each_attempt() {
    // Green on every second try of the same content.
    let cases = "<testcase name=\"on\" time=\"0.25\"/><testcase name=\"off\"><skipped/></testcase>";
    let red = "<testcase name=\"dim\"><failure message=\"too dark\"/></testcase>";
    let flips = format!(
        "echo '<testsuite name=\"lamp\">{cases}' > junit.xml; test -e /tmp/phasegate-flips-$FLIP || echo '{red}' >> junit.xml; \
         echo '</testsuite>' >> junit.xml"
    );
    let on = stage(&policy(&[&flips], &["junit.xml"], "1m"), &[("a", "1")]);
    let run = |flip: &str| {
        let mut command = on.command(&["run", "verify", "--in-place"]);
        command.env("FLIP", flip).env("A_SECRET", "t0p-secret");
        end(command)
    };
    let there = tempfile::Builder::new().prefix("phasegate-flips-").tempdir_in("/tmp").unwrap();
    let there =
        there.path().file_name().unwrap().to_str().unwrap().strip_prefix("phasegate-flips-").unwrap().to_owned();
    assert_eq!(run("nowhere").code, 1);
    let first = on.artefact();
    let value = serde_json::to_value(&first).unwrap();
    let wrong: Vec<String> = execution_log().iter_errors(&value).map(|error| error.to_string()).collect();
    assert_eq!(wrong, [""; 0]);
    assert_eq!(value["summary"], json!({ "total": 2, "passed": 1, "failed": 1 }));
    let on_test = json!({ "name": "on", "result": "PASS", "duration_ms": 250 });
    let dim = json!({ "name": "dim", "result": "FAIL", "duration_ms": 0, "kind": "failed" });
    assert_eq!((&value["tests"], &value["skipped"]), (&json!([on_test, dim]), &json!(["off"])));
    assert_eq!((value["module_version"].as_str(), &value["attempts"]), (Some(on.head.as_str()), &json!([])));
    assert_eq!(value["module_id"].as_str(), on.path().file_name().unwrap().to_str());
    let variables = &first.environment.variables;
    assert!(variables.contains(&"FLIP".to_owned()) && !value.to_string().contains("t0p-secret"), "{variables:?}");
    assert!(first.environment.cpus > 0 && !first.environment.kernel.is_empty());

    // A green does not take the red back.
    let ended = run(&there);
    assert_eq!(ended.code, 0, "{}", ended.out);
    let said = "VER-13 (warning) Tests failed once before on the same content, last at ";
    assert!(ended.out.contains(said) && ended.out.contains(": `dim`."), "{}", ended.out);
    let second = on.artefact();
    let digest = |artefact: &Artefact| phasegate::ids::Digest::of(artefact.text().unwrap());
    assert_eq!((second.attempts.len(), &second.attempts[0].log), (1, &digest(&first)));
    assert_eq!((second.attempts[0].failing.as_slice(), second.attempts[0].is_red()), (&["dim".to_owned()][..], true));
    run(&there);
    let third = on.artefact();
    assert_eq!((third.attempts.len(), third.attempts[1].is_red()), (2, false));

    // Nor does another commit with the same content.
    let amended = [
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b.c",
        "commit",
        "-q",
        "--amend",
        "--no-edit",
        "--date",
        "1000000000 +0000",
    ];
    assert!(Command::new("git").current_dir(on.path()).args(amended).status().unwrap().success());
    run(&there);
    assert_eq!(on.artefact().attempts.len(), 3);

    // Other content has a past of its own, and what was found before it is found again after it.
    let git = |args: &[&str]| {
        let done = Command::new("git")
            .current_dir(on.path())
            .args(["-c", "user.name=a", "-c", "user.email=a@b.c"])
            .args(args)
            .status();
        assert!(done.unwrap().success(), "{args:?}");
    };
    std::fs::write(on.path().join("more.txt"), "more\n").unwrap();
    git(&["add", "more.txt"]);
    git(&["commit", "-q", "-m", "more"]);
    run(&there);
    assert_eq!(on.artefact().attempts, []);
    git(&["reset", "-q", "--hard", "HEAD~1"]);
    run(&there);
    let back = on.artefact();
    assert_eq!((back.attempts.len(), back.attempts[0].is_red()), (4, true));

    // A file that is no log is none, and takes nothing with it.
    std::fs::write(on.path().join(".git/phasegate-verify/execution_log.json"), "{}").unwrap();
    run(&there);
    assert_eq!(on.artefact().attempts.len(), 4);
    let beside = std::fs::read_dir(on.path().join(".git/phasegate-verify")).unwrap().count();
    assert_eq!(beside, 3, "the log, its page, and what is known of others");
}

/// What whoever starts it has open is not open to what it runs.
#[test]
fn open_files_of_the_caller_are_not_handed_on() {
    let on = stage(&policy(&["test ! -e /proc/self/fd/7 || { cat <&7; exit 1; }"], &[], "1m"), &[("a", "1")]);
    let starts = "exec 7< \"$1/a\"; exec \"$0\" run verify --dir \"$1\"";
    let ended = Command::new("bash")
        .args(["-c", starts])
        .arg(assert_cmd::cargo::cargo_bin!("phasegate"))
        .arg(on.path())
        .output()
        .unwrap();
    assert!(ended.status.code().is_some_and(|code| code < 2), "{}", String::from_utf8_lossy(&ended.stderr));
    let log = on.artefact();
    assert!(log.commands[0].passed(), "{:#?}", log.commands);
}

/// A shell that becomes this program leaves its own children with it.
#[test]
fn children_of_the_caller_are_left_alone() {
    let on = stage(&policy(&["sleep 600 & true"], &[], "1m"), &[("a", "1")]);
    let starts = "sleep 600 & echo $!; exec \"$0\" run verify --dir \"$1\" >&2";
    let program = assert_cmd::cargo::cargo_bin!("phasegate");
    let mut starts = {
        let mut shell = Command::new("bash");
        shell.args(["-c", starts]).arg(program).arg(on.path());
        shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut out = String::new();
    // The other child has the same output open, so this is not read to its end.
    let mut lines = std::io::BufReader::new(starts.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut lines, &mut out).unwrap();
    assert!(starts.wait().unwrap().code().is_some_and(|code| code < 2));
    let its = rustix::process::Pid::from_raw(out.trim().parse().unwrap()).unwrap();
    assert!(rustix::process::kill_process(its, rustix::process::Signal::KILL).is_ok(), "it was ended: {out}");
}

/// A hook of git has these set, and they lead out of the copy.
#[test]
fn the_copy_is_the_repository_that_commands_find() {
    let on = stage(&policy(&["git rev-parse --show-toplevel | grep phasegate-"], &[], "1m"), &[("a", "1")]);
    let mut command = on.command(&["run", "verify"]);
    command.env("GIT_DIR", on.path().join(".git")).env("GIT_WORK_TREE", on.path());
    let ended = end(command);
    assert!(on.artefact().commands[0].passed(), "{}{}", ended.out, ended.err);
}

/// Each would forget what the other came to.
#[test]
fn two_runs_do_not_write_into_one_folder() {
    let on = stage(&policy(&["true"], &[], "1m"), &[("a", "1")]);
    let folder = on.path().join(".git/phasegate-verify");
    std::fs::create_dir(&folder).unwrap();
    let held = std::fs::File::open(&folder).unwrap();
    held.lock().unwrap();
    let ended = on.run(&["verify"]);
    assert_eq!(ended.code, 2, "{}{}", ended.out, ended.err);
    assert!(ended.err.contains("another run writes into"), "{}", ended.err);
    held.unlock().unwrap();
    assert_ne!(on.run(&["verify"]).code, 2);
}

#[test]
fn the_first_failure_ends_it_and_its_exit_status_is_told() {
    let on = stage(&policy(&["echo no; exit 3", "echo late"], &["junit.xml"], "1m"), &[("a", "1")]);
    let ended = on.run(&["verify"]);
    assert_eq!((ended.code, ended.err.as_str()), (1, ""));
    for part in [
        "✗ echo no; exit 3 ended with exit status 3 after ",
        "· echo late (not run)",
        "VERIFY FAIL\n  VER-01 `echo no; exit 3`",
    ] {
        assert!(ended.out.contains(part), "{part:?} is missing in:\n{}", ended.out);
    }
    assert!(!ended.out.contains("promised"), "the report is missing because of that:\n{}", ended.out);
    let artefact = on.artefact();
    assert_eq!((artefact.commands[0].status, artefact.commands[1].outcome), (Some(3), CommandOutcome::NotRun));
    assert!(on.run(&["verify", "--keep-going"]).out.contains("✓ echo late"));
}

#[test]
fn the_change_does_not_choose_what_it_is_tested_by() {
    let on = stage(&policy(&["false"], &[], "1m"), &[(".github/phasegate.yml", &policy(&["true"], &[], "1m"))]);
    assert_eq!(on.run(&["verify"]).code, 1);
    assert_eq!(on.artefact().policy.from, PolicyFrom::Base);
    // Who wants to try it says so, and the artefact does too.
    assert_eq!(on.run(&["verify", "--policy", ".github/phasegate.yml"]).code, 0);
    assert_eq!((on.artefact().policy.from, on.artefact().policy.commit), (PolicyFrom::File, None));
    assert_eq!(on.run(&["verify", "--base", "work"]).code, 0);
    let (step, _) = on.step(&["verify"]);
    assert_eq!(end(step).code, 1);
}

/// Whether a process has this word among its arguments.
fn runs(word: &str) -> bool {
    let numbers =
        std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let has = |number: &i32| {
        let line = std::fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|part| part == word.as_bytes())
    };
    numbers.into_iter().any(|number| has(&number))
}

/// Sleeps that no other test has.
fn odd_time() -> String {
    format!("9{:05}.{}", std::process::id() % 100_000, uuid::Uuid::new_v4().as_u128() % 1_000_000_000)
}

#[test]
fn a_command_that_hangs_is_ended_with_all_that_it_started() {
    let [child, apart, lost] = [odd_time(), odd_time(), odd_time()];
    // One that ignores the request, one in a session of its own, and one whose parent is gone.
    let tree = format!(
        "(trap '' TERM; sleep {child}) & setsid bash -c 'trap \"\" TERM; sleep {apart}; true' > /dev/null 2>&1 & \
         setsid bash -c 'sleep {lost} > /dev/null 2>&1 & disown' & wait"
    );
    let on = stage(&policy(&[&tree, "true"], &[], "3s"), &[("a", "1")]);
    let started = Instant::now();
    let mut run = on.command(&["run", "verify"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // They were there before they were ended.
    while [&child, &apart, &lost].iter().any(|time| !runs(time)) {
        assert!(run.try_wait().unwrap().is_none() && started.elapsed() < Duration::from_secs(60), "they never started");
        std::thread::yield_now();
    }
    let ended = run.wait_with_output().unwrap();
    let out = String::from_utf8(ended.stdout).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{out}");
    for time in [&child, &apart, &lost] {
        assert!(!runs(time), "{out}");
    }
    assert!(out.contains("when the gate's time was over"), "{out}");
    let artefact = on.artefact();
    assert_eq!(
        (artefact.commands[0].outcome, artefact.commands[1].outcome),
        (CommandOutcome::TimedOut, CommandOutcome::NotRun)
    );
}

#[test]
fn who_interrupts_it_leaves_nothing_behind() {
    let time = odd_time();
    let on = stage(&policy(&[&format!("setsid sleep {time} & echo ready; wait")], &[], "1m"), &[("a", "1")]);
    // Of an earlier run.
    std::fs::create_dir_all(on.path().join(".git/phasegate-verify")).unwrap();
    std::fs::write(on.path().join(".git/phasegate-verify/execution_log.json"), "{}").unwrap();
    let mut run = on.command(&["run", "verify"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(run.stdout.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap() == "ready"));
    let number = rustix::process::Pid::from_raw(i32::try_from(run.id()).unwrap()).unwrap();
    rustix::process::kill_process(number, rustix::process::Signal::INT).unwrap();
    let ended = run.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130));
    assert!(String::from_utf8_lossy(&ended.stderr).contains("nothing was written"));
    assert!(!runs(&time));
    assert!(
        !on.path().join(".git/phasegate-verify/execution_log.json").exists(),
        "the one before is nobody's any more"
    );
}

#[test]
fn what_a_command_leaves_behind_does_not_reach_the_next() {
    let time = odd_time();
    let first = format!("setsid sleep {time} > /dev/null 2>&1 & sleep 0");
    // The brackets keep it from finding itself.
    let second = format!("! grep -qsz '^[9]{}$' /proc/[0-9]*/cmdline", &time[1..]);
    let on = stage(&policy(&[&first, &second], &[], "1m"), &[("a", "1")]);
    let ended = on.run(&["verify"]);
    assert_eq!(ended.code, 0, "{}", ended.out);
    assert!(!runs(&time));
}

#[test]
fn reports_are_there_of_this_run_and_have_tests_that_ran() {
    let told = |commands: &[&str], reports: &[&str], change: &[(&str, &str)]| {
        let on = stage(&policy(commands, reports, "1m"), change);
        let ended = on.run(&["verify"]);
        assert_eq!(ended.code, 1, "{}", ended.out);
        (ended.out, on.artefact())
    };
    let (out, _) = told(&["true"], &["out/*.xml"], &[("a", "1")]);
    let missing = "  VER-09 A report was promised and is not there: nothing matches `out/*.xml`.\n";
    assert!(out.contains(missing), "{out}");

    // A change that brings a report along, and commands that never write one.
    let report = "<testsuite><testcase name='a'/></testsuite>";
    for command in ["true", "touch junit.xml"] {
        let (out, artefact) = told(&[command], &["junit.xml"], &[("junit.xml", report)]);
        assert!(out.contains("VER-09 junit.xml: The report `junit.xml` is not of this run"), "{out}");
        assert_eq!((artefact.reports[0].state, artefact.totals.tests), (ReportState::Stale, 0));
    }
    let (out, _) = told(&["echo '<testsuite/>' > junit.xml"], &["junit.xml"], &[("a", "1")]);
    assert!(out.contains("VER-09 No test ran"), "{out}");
    let red = "echo '<testsuite><testcase name=\"a\"><failure message=\"no\"/></testcase></testsuite>' > junit.xml";
    let (out, _) = told(&[red], &["junit.xml"], &[("a", "1")]);
    assert!(out.contains("VERIFY FAIL  1 test: 0 passed, 1 failed\n  VER-01 The test `a` failed: no"), "{out}");
    assert!(out.contains('✓'), "the command itself passed: {out}");
}

#[test]
fn a_commands_words_are_no_orders_to_the_runner() {
    let hostile = "printf '::add-mask::a\\n##[add-mask]b\\n::set-output name=x::y\\n::error::forged\\n::stop-commands::z\\n::z::\\n::endgroup::'";
    let listed = "env | cut -d= -f1";
    let policy = policy(&[hostile, listed, "echo $NPM_TOKEN; exit 1"], &[], "1m");
    let on = stage(&format!("{policy}    confine: {{ secrets: [NPM_TOKEN] }}\n"), &[("a", "1")]);
    let (step, temp) = on.step(&["verify"]);
    let ended = end(step);
    assert_eq!((ended.code, ended.err.as_str()), (1, ""), "{}", ended.out);

    // Read it as the runner does: nothing between a stop and its own token is a command.
    let mut stopped: Option<String> = None;
    let mut commands: Vec<&str> = Vec::new();
    for line in ended.out.lines() {
        match &stopped {
            Some(token) if line == format!("::{token}::") => stopped = None,
            Some(_) => {}
            None => match line.strip_prefix("::stop-commands::") {
                Some(token) => stopped = Some(token.to_owned()),
                None => {
                    assert!(!line.contains("##["), "{line}");
                    commands.extend(line.starts_with("::").then_some(line));
                }
            },
        }
    }
    assert_eq!(stopped, None);
    let kinds: Vec<&str> = commands.iter().map(|line| line.split([' ', ':']).nth(2).unwrap()).collect();
    assert_eq!(kinds, ["group", "endgroup", "group", "endgroup", "group", "endgroup", "error"], "{commands:?}");
    assert!(ended.out.contains("\n::error::forged\n"), "it is shown all the same");

    let names: Vec<&str> = ended.out.lines().collect();
    for given in ["PATH", "GITHUB_ACTIONS", "GITHUB_REPOSITORY", "NPM_TOKEN"] {
        assert!(names.contains(&given), "{given}");
    }
    for withheld in
        ["GITHUB_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_STEP_SUMMARY"]
    {
        assert!(!names.contains(&withheld), "{withheld}");
    }
    let read = |name: &str| std::fs::read_to_string(temp.join(name)).unwrap();
    for name in ["GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE"] {
        assert_eq!(read(name), "", "{name}");
    }
    let names: Vec<String> = outputs(&temp).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["verdict", "reason", "json"]);
    let summary = read("GITHUB_STEP_SUMMARY");
    for part in ["### ❌ VERIFY failed", "| ✗ | `echo $NPM_TOKEN; exit 1` | ended with exit status 1", "text\n***\n"]
    {
        assert!(summary.contains(part), "{part:?} is missing in:\n{summary}");
    }
    let artefact = read("phasegate-verify/execution_log.json");
    assert!(!artefact.contains("npm-secret-1") && !artefact.contains("##["), "{artefact}");
}

#[test]
fn the_steps_after_it_are_told_the_verdict_and_why() {
    let told = |commands: &[&str], reports: &[&str]| {
        let on = stage(&policy(commands, reports, "1m"), &[("a", "1")]);
        let (step, temp) = on.step(&["verify"]);
        let ended = end(step);
        let given: BTreeMap<String, String> = outputs(&temp).into_iter().collect();
        let object: Artefact = serde_json::from_str(&given["json"]).unwrap();
        assert_eq!((object.run.unwrap().id, object.commands.len()), (99, commands.len()));
        (ended.code, given["verdict"].clone(), given["reason"].clone(), given["json"].clone())
    };
    let (code, verdict, reason, _) = told(&[GREEN], &["junit.xml"]);
    assert_eq!((code, verdict.as_str(), reason.as_str()), (0, "PASS", "1 test: 1 passed"));
    let (code, verdict, reason, json) = told(&["printf 'verdict<<x\\nPASS\\nx\\n'; exit 3"], &[]);
    assert_eq!((code, verdict.as_str()), (1, "FAIL"));
    assert!(reason.starts_with("VER-01 ") && reason.contains("exit status 3"), "{reason}");
    assert!(json.contains("exit 3") && !json.contains("tail\":\"v"), "{json}");
}

#[test]
fn a_run_that_can_not_run_says_so_on_the_page_of_the_job() {
    let on = stage(&policy(&["true"], &[], "1m"), &[("a", "1")]);
    let is_told = |ended: &Ended, temp: &Path, words: &[&str]| {
        let summary = std::fs::read_to_string(temp.join("GITHUB_STEP_SUMMARY")).unwrap();
        assert_eq!(ended.code, 2, "{}{}", ended.out, ended.err);
        for word in words {
            assert!(ended.err.contains(word) && summary.contains(word), "{word}: {}\n{summary}", ended.err);
        }
        assert!(outputs(temp).is_empty() && summary.starts_with("## Phasegate\n\n❌ "), "{summary}");
    };
    // The checkout has one commit, which is what the checkout action fetches by itself.
    let (mut step, temp) = on.step(&["verify"]);
    let event = std::fs::read_to_string(temp.join("event.json")).unwrap().replace(&on.base, &"c".repeat(40));
    std::fs::write(temp.join("event.json"), event).unwrap();
    step.env("GITHUB_SHA", "c".repeat(40));
    let ended = end(step);
    is_told(&ended, &temp, &["fetch-depth: 0"]);
    assert!(ended.out.starts_with("::error title=Phasegate::"), "{}", ended.out);

    let (step, temp) = on.step(&["build", "--json"]);
    let ended = end(step);
    is_told(&ended, &temp, &["names no commands for the gate `build`", "      run: [\"make test\"]\n"]);
    assert!(ended.out.is_empty() && ended.err.contains("::error title=Phasegate::"), "{}{}", ended.out, ended.err);

    // Elsewhere it is a text for a terminal, and nothing else.
    let ended = on.run(&["build"]);
    assert!(ended.code == 2 && !ended.err.contains("::error") && ended.out.is_empty(), "{}{}", ended.out, ended.err);
}

/// There the commands of a change stand beside what only the repository is to have.
#[test]
fn a_gate_on_pull_request_target_is_warned_of() {
    let on = stage(&policy(&["true"], &[], "1m"), &[("a.txt", "a\n")]);
    for (event, warned) in [("pull_request", false), ("pull_request_target", true)] {
        let (mut command, _) = on.step(&["verify"]);
        command.env("GITHUB_EVENT_NAME", event);
        let ended = end(command);
        let told =
            ended.err.contains("::warning title=Phasegate::") && ended.err.contains("Run gates on `pull_request`");
        assert_eq!((ended.code, told), (0, warned), "{event}: {}", ended.err);
    }
}

#[test]
fn a_folder_that_can_not_be_written_is_found_before_anything_is_run() {
    let on = stage(&policy(&["touch was-run"], &[], "1m"), &[("a", "1")]);
    for folder in ["/proc/x", "/proc", "a", "a/below"] {
        let (step, temp) = on.step(&["verify", "--out", folder]);
        let ended = end(step);
        let summary = std::fs::read_to_string(temp.join("GITHUB_STEP_SUMMARY")).unwrap();
        assert_eq!(ended.code, 2, "{folder}: {}{}", ended.out, ended.err);
        assert!(summary.contains("--out") && ended.err.contains("--out"), "{folder}: {summary}");
        assert!(!on.path().join("was-run").exists(), "{folder}");
    }
}

/// What the runner reads out of a step's file of outputs.
fn outputs(temp: &Path) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(temp.join("GITHUB_OUTPUT")).unwrap();
    let mut lines = text.lines();
    let mut all = Vec::new();
    while let Some(line) = lines.next() {
        let (name, end) = line.split_once("<<").unwrap();
        let value: Vec<&str> = lines.by_ref().take_while(|line| *line != end).collect();
        all.push((name.to_owned(), value.join("\n")));
    }
    all
}

#[test]
fn annotations_stand_at_the_lines_and_within_the_limits() {
    let cases: String = (0..14)
        .map(|n| format!("<testcase name='t{n}'><failure message='m, {n}'>src/a.rs:{}: no</failure></testcase>", n + 1))
        .collect();
    let report = format!("<testsuite>{cases}</testsuite>");
    let on = stage(
        &policy(&["mkdir out; cp made.xml out/junit.xml"], &["out/junit.xml"], "1m"),
        &[("made.xml", &report), ("src/a.rs", "x")],
    );
    let (step, temp) = on.step(&["verify"]);
    let ended = end(step);
    assert_eq!(ended.code, 1, "{}", ended.out);
    let errors: Vec<&str> = ended.out.lines().filter(|line| line.starts_with("::error")).collect();
    assert_eq!(errors.len(), 10, "{errors:?}");
    assert!(
        errors[0].starts_with("::error file=src/a.rs,line=1,title=VER-01::The test `t0` failed: m, 0%0A"),
        "{}",
        errors[0]
    );
    assert!(errors[9].contains("And 5 more"), "{}", errors[9]);
    let summary = std::fs::read_to_string(temp.join("GITHUB_STEP_SUMMARY")).unwrap();
    assert!(summary.contains("14 tests: 0 passed, 14 failed") && summary.contains("`t13`"), "{summary}");
}

#[test]
fn the_artefact_of_a_job_is_read_by_another_for_that_run_alone() {
    let on = stage(&policy(&[GREEN], &["junit.xml"], "1m"), &[("a", "1")]);
    let (step, temp) = on.step(&["verify"]);
    assert_eq!(end(step).code, 0);
    let folder = temp.join("phasegate-verify");
    let artefact = artefact::read(&folder, &on.expected()).unwrap();
    assert_eq!((artefact.subject.change, artefact.totals.passed), (Some(7), 1));
    assert_eq!(artefact.shown().tests.as_deref(), Some("1 test: 1 passed"));

    let other = "b".repeat(40);
    let refusals = [
        (Expected { run: 98, ..on.expected() }, "The artefact is of the run 99, and not of 98.".to_owned()),
        (Expected { attempt: 1, ..on.expected() }, "The artefact is of attempt 2, and not of 1.".to_owned()),
        (
            Expected { repository: "eve/lamp".parse().unwrap(), ..on.expected() },
            "The artefact is of the repository octo/lamp, and not of eve/lamp.".to_owned(),
        ),
        (
            Expected { head: other.parse().unwrap(), ..on.expected() },
            format!("The artefact is of the head {}, and not of {other}.", on.head),
        ),
        (
            Expected { gate: RunGate::Build, ..on.expected() },
            "The artefact is of the gate verify, and not of build.".to_owned(),
        ),
    ];
    for (expected, why) in refusals {
        let refused = artefact::read(&folder, &expected).unwrap_err();
        assert_eq!(refused.to_string(), why);
        assert_eq!(refused.next(), "Let the gate run on this head, and take the artefact of that run.");
    }
    // One that leads out of its folder, one that is empty, none at all.
    let file = folder.join("execution_log.json");
    std::fs::rename(&file, temp.join("moved.json")).unwrap();
    let refused = |folder: &Path| artefact::read(folder, &on.expected()).unwrap_err().to_string();
    assert_eq!(refused(&folder), "The artefact is empty: there is no `execution_log.json` in it.");
    std::os::unix::fs::symlink("../moved.json", &file).unwrap();
    assert_eq!(refused(&folder), "`execution_log.json` of the artefact is a link, and not a plain file.");
    assert!(refused(&temp.join("gone")).starts_with("There is no artefact: the folder "));
    std::fs::remove_file(&file).unwrap();
    let forged =
        std::fs::read_to_string(temp.join("moved.json")).unwrap().replacen("\"passed\": 1", "\"passed\": 9", 1);
    std::fs::write(&file, forged).unwrap();
    assert!(refused(&folder).starts_with("The artefact's numbers do not add up: "));
}

#[test]
fn a_checkout_without_the_base_is_told_the_lines_to_add() {
    let on = stage(&policy(&["true"], &[], "1m"), &[("a", "1")]);
    let (mut step, temp) = on.step(&["verify"]);
    let event = std::fs::read_to_string(temp.join("event.json")).unwrap().replace(&on.base, &"d".repeat(40));
    std::fs::write(temp.join("event.json"), event).unwrap();
    step.env("GITHUB_SHA", "e".repeat(40));
    let ended = end(step);
    assert_eq!((ended.code, ended.out.lines().count()), (2, 1), "the mark on the job's page alone: {}", ended.out);
    let says = "error: the commit dddddddddddd of `main`, which has the policy, is not in this checkout\n";
    assert!(ended.err.starts_with(says), "{}", ended.err);
    for line in ["- uses: actions/checkout@…", "with:", "fetch-depth: 0"] {
        assert!(ended.err.contains(line), "{}", ended.err);
    }
    assert!(!temp.join("phasegate-verify").exists());
}

#[test]
fn what_can_not_be_found_out_says_what_to_do() {
    let on = stage(&policy(&["true"], &[], "1m"), &[("a", "1")]);
    let asked = |args: &[&str]| {
        let ended = on.run(args);
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{args:?}");
        ended.err
    };
    let none = asked(&["build"]);
    let says = format!(
        "error: the policy at {} names no commands for the gate `build` (it has some for `verify`)\n",
        &on.base[..12]
    );
    assert!(none.starts_with(&says), "{none}");
    assert!(none.contains("  gates:\n    build:\n      run: [\"make test\"]\n"), "{none}");
    assert!(asked(&["verfy"]).contains("there is no gate `verfy`; did you mean `verify`?"));
    assert!(asked(&["lint"]).contains("there are build and verify"));
    assert!(asked(&["expand"]).contains("judged by its document; `phasegate check` looks at it"));
    assert!(asked(&["review"]).contains("judged by people's reviews"));
    assert!(asked(&["verify", "--base", "gone"]).contains("there is no commit `gone` in this repository"));
    assert!(asked(&["verify", "--policy", "gone.yml"]).contains("can't read the policy gone.yml"));
    assert!(asked(&["verify", "--dir", "gone"]).contains("there is no folder gone"));
    std::fs::write(on.path().join("bad.yml"), "gates: { verfy: {} }").unwrap();
    assert!(
        asked(&["verify", "--policy", "bad.yml"])
            .contains("the policy in bad.yml is invalid (line 1: unknown key `verfy`")
    );

    // A repository without a policy on its default branch, whose author is about to write one.
    let bare = stage("merge: { require: [review] }\n", &[("a", "1")]);
    assert!(bare.run(&["verify"]).err.contains("names no commands for the gate `verify`\n"));
    let elsewhere = tempfile::tempdir().unwrap();
    let mut command = on.command(&["run", "verify"]);
    command.current_dir(elsewhere.path());
    assert!(end(command).err.contains("is not in a git repository; name the policy with --policy FILE"));
}

/// The page has a policy and what is seen of it; both are so.
#[test]
fn the_page_shows_what_is_printed() {
    let page = include_str!("../docs/runner.md");
    let block = |language: &str| {
        let start = format!("```{language}\n");
        page.split(&start).nth(1).unwrap().split("```").next().unwrap().to_owned()
    };
    let report = "<testsuite><testcase classname='lamp' name='turns_on'/><testcase classname='lamp' name='turns_off'>\
                  <failure>src/lamp.c:3: it stays on</failure></testcase></testsuite>";
    let test = format!("#!/bin/sh\nmkdir -p out\ncat > out/junit.xml <<'EOF'\n{report}\nEOF\necho 2 tests\n");
    let on = stage(
        &block("yaml"),
        &[("Makefile", "all:\n\t@echo building\n"), ("test.sh", &test), ("src/lamp.c", "int x;\n")],
    );
    let ended = on.run(&["verify"]);
    let shown = format!("$ phasegate run verify\n{}", calm(&ended.out, on.path()));
    assert_eq!((ended.code, shown), (1, block("console")), "{}", ended.err);
}

#[test]
fn the_page_lists_what_commands_are_not_given() {
    let page = include_str!("../docs/runner.md");
    let listed: Vec<&str> =
        page.lines().filter(|line| line.starts_with("| `") && line.matches(" |").count() == 2).collect();
    let own: Vec<String> =
        phasegate::runner::WITHHELD.iter().map(|one| format!("| `{}` | {} |", one.name, one.why)).collect();
    assert_eq!(listed, own);
}

/// A project of a function and its tests, in a language that is everywhere: each test is a script, and one that can't find the
/// function breaks.
struct Earning {
    stage: Stage,
}

const RUNNER: &str = r#"
echo '<testsuite name="lamp">' > junit.xml
for test in tests/*; do
    [ -e "$test" ] || continue
    name=$(basename "$test")
    if grep -q '^# skip' "$test"; then echo "<testcase name='$name'><skipped/></testcase>" >> junit.xml; continue; fi
    out=$(sh "$test" 2>&1); status=$?
    case $status in
        0) echo "<testcase name='$name'/>" >> junit.xml ;;
        127) echo "<testcase name='$name'><error message='$out'/></testcase>" >> junit.xml; red=1 ;;
        *) echo "<testcase name='$name'><failure message='$out'/></testcase>" >> junit.xml; red=1 ;;
    esac
done
echo '</testsuite>' >> junit.xml
exit ${red:-0}
"#;

impl Earning {
    /// The base has a lamp that is on at 1, and a test of it; the change brings these files, and takes those with no text away.
    fn new(earned: &str, change: &[(&str, Option<&str>)]) -> Self {
        Self::by(RUNNER, earned, change)
    }

    /// The same with another script that runs the tests.
    fn by(runner: &str, earned: &str, change: &[(&str, Option<&str>)]) -> Self {
        let policy = format!("{}    earned: {earned}\n", policy(&["sh run-tests"], &["junit.xml"], "1m"));
        Self::under(&policy, runner, change)
    }

    /// And by another policy.
    fn under(policy: &str, runner: &str, change: &[(&str, Option<&str>)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| {
            let mut git = Command::new("git");
            git.current_dir(dir.path()).args(["-c", "user.name=a", "-c", "user.email=a@b.c"]).args(args);
            let done = git.output().unwrap();
            assert!(done.status.success(), "{args:?} {}", String::from_utf8_lossy(&done.stderr));
            String::from_utf8(done.stdout).unwrap().trim().to_owned()
        };
        let put = |path: &str, text: Option<&str>| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            match text {
                Some(text) => std::fs::write(path, text).unwrap(),
                None => std::fs::remove_file(path).unwrap(),
            }
        };
        git(&["init", "-q", "-b", "main"]);
        put(".github/phasegate.yml", Some(policy));
        put("run-tests", Some(runner));
        put("lamp", Some("test \"$1\" = 1 && echo on || echo off\n"));
        put("tests/on", Some("test $(sh lamp 1) = on || { echo it stays off; exit 1; }\n"));
        put("tests/off", Some("test $(sh lamp 0) = off || { echo it stays on; exit 1; }\n"));
        git(&["add", "-A"]);
        git(&["commit", "-qm", "base"]);
        let base = git(&["rev-parse", "HEAD"]);
        git(&["checkout", "-qb", "work"]);
        for (path, text) in change {
            put(path, *text);
        }
        git(&["add", "-A"]);
        git(&["commit", "-qm", "change"]);
        let head = git(&["rev-parse", "HEAD"]);
        Self { stage: Stage { dir, base, head } }
    }

    /// One more commit with these files.
    fn goes_on(&mut self, files: &[(&str, &str)]) {
        for (path, text) in files {
            std::fs::write(self.stage.path().join(path), text).unwrap();
        }
        for args in [&["add", "-A"][..], &["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "more"]] {
            assert!(Command::new("git").current_dir(self.stage.path()).args(args).status().unwrap().success());
        }
        let head = Command::new("git").current_dir(self.stage.path()).args(["rev-parse", "HEAD"]).output().unwrap();
        self.stage.head = String::from_utf8(head.stdout).unwrap().trim().to_owned();
    }

    /// The exit code, and `RULE says` of each finding about what was earned.
    fn told(&self) -> (i32, Vec<String>) {
        self.told_by(&["verify"])
    }

    fn told_by(&self, args: &[&str]) -> (i32, Vec<String>) {
        let ended = self.stage.run(args);
        let artefact = self.stage.artefact();
        let mark = |blocks: bool| if blocks { "" } else { "~" };
        let earned = artefact.findings.iter().filter(|one| ["VER-10", "VER-11", "VER-12"].contains(&one.rule.as_str()));
        let told = earned.map(|one| format!("{}{} {}", mark(one.blocks()), one.rule, one.says)).collect();
        (ended.code, told)
    }
}

/// A lamp that dims, and a test of it.
const DIMS: (&str, Option<&str>) = ("lamp", Some("case $1 in 1) echo on ;; half) echo dim ;; *) echo off ;; esac\n"));
const ASKS: (&str, Option<&str>) =
    ("tests/dims", Some("test $(sh lamp half) = dim || { echo it does not dim; exit 1; }\n"));

#[test]
fn a_green_that_was_earned_says_how() {
    let on = Earning::new("demand", &[DIMS, ASKS]);
    let ended = on.stage.run(&["verify"]);
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    let base = &on.stage.base[..12];
    for part in [
        format!("the same on the base ({base}):"),
        format!("the same on the base ({base}) with the tests of the head:"),
        "VERIFY PASS  3 tests: 3 passed".to_owned(),
    ] {
        assert!(ended.out.contains(&part), "{part} is missing in {}", ended.out);
    }
    let artefact = on.stage.artefact();
    let earned = artefact.earned.as_ref().unwrap();
    assert_eq!((earned.base.as_str(), earned.demanded, earned.on_base.totals.ran()), (on.stage.base.as_str(), true, 2));
    assert_eq!((earned.new_tests.proved, earned.new_tests.idle, earned.new_tests.unproven), (1, 0, 0));
    let old = earned.old_tests.as_ref().unwrap();
    assert_eq!((old.run.totals.ran(), old.beside_new), (2, false), "theirs, without the new one beside them");
    assert_eq!(artefact.findings.iter().filter(|one| one.blocks()).count(), 0);
}

/// A policy that is tried from a file is held to the same.
#[test]
fn a_green_by_a_policy_from_a_file_is_held_against_the_base_too() {
    let on = Earning::new("demand", &[DIMS, ("tests/dims", Some("true\n"))]);
    assert_eq!(on.stage.run(&["verify", "--policy", ".github/phasegate.yml"]).code, 1);
    let earned = on.stage.artefact().earned.unwrap();
    assert_eq!((earned.base.as_str(), earned.new_tests.idle), (on.stage.base.as_str(), 1));
}

/// A part of the repository that the base does not have yet has no tests there, either.
#[test]
fn a_folder_that_the_base_does_not_have_has_no_tests_there() {
    let change = [
        ("desk/run-tests", Some(RUNNER)),
        ("desk/lamp", Some("echo on\n")),
        ("desk/tests/on", Some("test $(sh lamp) = on || { echo it stays off; exit 1; }\n")),
    ];
    let on = Earning::new("demand", &change);
    let ended = on.stage.run(&["verify", "--dir", &on.stage.dir.path().join("desk").display().to_string()]);
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    let earned = on.stage.artefact().earned.unwrap();
    assert_eq!((earned.on_base.totals.ran(), &earned.on_base.why), (0, &None));
    assert_eq!((earned.new_tests.idle, earned.new_tests.unproven), (0, 1), "{:#?}", earned.new_tests);
}

#[test]
fn a_green_that_was_not_earned_is_refused() {
    let base = |on: &Earning| on.stage.base[..12].to_owned();
    // A test that asks for nothing.
    let idle = ("tests/dims", Some("true\n"));
    let on = Earning::new("demand", &[DIMS, idle]);
    let says = "VER-12 The new test `dims` passes on the base's code too, so it proves nothing about the change.";
    assert_eq!(on.told(), (1, vec![says.to_owned()]));
    // A test of what is not there at all breaks on the base, which is no proof and no crime.
    let missing = ("tests/blinks", Some("test -e blink || { echo there is no blink; exit 127; }\n"));
    let on = Earning::new("demand", &[("blink", Some("true\n")), missing]);
    let says = "~VER-12 Unproven: 1 new test did not come as far as a failed assertion on the base's code: `blinks`.";
    assert_eq!(on.told(), (0, vec![says.to_owned()]));
    // Tests that are gone.
    let on = Earning::new("demand", &[("tests/off", None)]);
    let (code, told) = on.told();
    let fewer = format!("VER-10 2 tests ran on the base ({}), and 1 on the head. Gone: `off`.", base(&on));
    assert_eq!((code, told), (1, vec![fewer]));
    // Tests that are skipped.
    let on = Earning::new("demand", &[("tests/off", Some("# skip\n"))]);
    let (code, told) = on.told();
    let fewer = format!("VER-10 2 tests ran on the base ({}), and 1 on the head.", base(&on));
    assert_eq!((code, told), (1, vec![fewer, "VER-10 Skipped now, and run on the base: `off`.".to_owned()]));
    // A test that was bent to what the code does now.
    let broken = ("lamp", Some("echo on\n"));
    let bent = ("tests/off", Some("test $(sh lamp 0) = on\n"));
    let on = Earning::new("demand", &[broken, bent]);
    let says = "VER-11 The test `off`, as the base has it, fails on the head's code: it stays on";
    assert_eq!(on.told(), (1, vec![says.to_owned()]));
    // The same is said, and no more, where the policy asks for no more; and nobody looks where it asks for nothing.
    let on = Earning::new("show", &[broken, bent]);
    assert_eq!(on.told(), (0, vec![format!("~{says}")]));
    let on = Earning::new("off", &[broken, bent]);
    assert_eq!((on.told(), on.stage.artefact().earned), ((0, vec![]), None));
}

#[test]
fn new_tests_that_are_skipped_are_named() {
    let on = Earning::new("demand", &[DIMS, ASKS, ("tests/blinks", Some("# skip\n"))]);
    let says =
        "~VER-12 New tests are skipped on the head, or fail as they are marked to, so they show nothing: `blinks`.";
    assert_eq!(on.told(), (0, vec![says.to_owned()]));
}

/// Times, ports and seeds stand in names, and suites are told as they end. A change that touches neither is stopped by neither.
#[test]
fn names_that_are_others_each_time_stop_nobody() {
    let by_time = RUNNER.replace("$(basename \"$test\")", "$(basename \"$test\").$(date +%s%N)");
    let paper = ("docs/a.md", Some("A lamp.\n"));
    assert_eq!(Earning::by(&by_time, "demand", &[paper]).told(), (0, vec![]));
    // What the code makes of it is another thing: these names the base gives each time.
    let by_code = RUNNER.replace("$(basename \"$test\")", "$(basename \"$test\").$(cat seed 2>/dev/null || echo 1)");
    let (code, told) = Earning::by(&by_code, "demand", &[("seed", Some("2\n"))]).told();
    let missing = "VER-11 Tests that pass on the base did not run on the head's code, with their files as on the base: \
                   `off.1`, `on.1`.";
    assert!(code == 1 && told.contains(&missing.to_owned()), "{told:?}");

    let suites = "a='<testsuite name=\"web/a\"><testcase classname=\"lamp\" name=\"works\"/></testsuite>'\n\
                  b='<testsuite name=\"web/b\"><testcase classname=\"lamp\" name=\"works\"/></testsuite>'\n\
                  if [ -e docs/a.md ]; then all=$b$a; else all=$a$b; fi\necho \"<testsuites>$all</testsuites>\" > junit.xml\n";
    assert_eq!(Earning::by(suites, "demand", &[paper]).told(), (0, vec![]));
}

/// Where tests ran on the base, a new file that is only called like one does not tell where these are.
#[test]
fn a_file_that_is_called_like_a_test_does_not_put_a_warning_out() {
    let checks = RUNNER.replace("tests/*", "checks/*");
    let on = |files: &[(&str, &str)]| {
        let mut on = Earning::by(
            &checks,
            "demand",
            &[("checks/on", Some("test $(sh lamp 1) = on\n")), ("tests/on", None), ("tests/off", None)],
        );
        let main = ["branch", "-qf", "main", "HEAD"];
        assert!(Command::new("git").current_dir(on.stage.path()).args(main).status().unwrap().success());
        std::fs::create_dir_all(on.stage.path().join("tests")).unwrap();
        on.goes_on(files);
        on.told().1
    };
    let unknown = "~VER-11 A test ran, and no file of this content is known as a test: nothing of the tests is frozen.";
    assert_eq!(on(&[("lamp", "echo on\n")]), [unknown]);
    assert_eq!(on(&[("lamp", "echo on\n"), ("tests/README.md", "Tests.\n")]), [unknown]);
    assert_eq!(on(&[("lamp", "echo on\n"), ("tests/none", "true\n")]), [unknown]);
}

/// Like a compiler, it wants the files that the code names.
#[test]
fn tests_that_run_only_beside_new_ones_are_for_a_person_unless_the_code_names_these() {
    let runner = format!("for file in $(cat names 2>/dev/null); do [ -e $file ] || exit 1; done\n{RUNNER}");
    let told = |part: &str| {
        let (names, asks) = (format!("{part}\n"), ASKS.1);
        Earning::by(&runner, "demand", &[DIMS, ("names", Some(&names)), (part, asks)]).told()
    };
    let says = |part| {
        format!(
            "VER-11 The base's tests can be carried out on the head's code only beside new files of tests: `{part}`."
        )
    };
    assert_eq!(told("tests/part.rs"), (0, vec![format!("~{}", says("tests/part.rs"))]));
    assert_eq!(told("tests/part"), (1, vec![says("tests/part")]));
}

/// What comes after the freeze could help what is frozen.
#[test]
fn frozen_tests_are_asked_without_those_that_came_later() {
    let frozen = |later: &[(&str, &str)]| {
        let mut on = Earning::new("demand", &[ASKS]);
        let manifest = on.stage.path().join(".git/manifest.json").display().to_string();
        assert_eq!(end(on.stage.command(&["guard", "freeze", "--out", &manifest])).code, 0);
        let text = std::fs::read_to_string(&manifest).unwrap().trim_end().to_owned();
        on.goes_on(later);
        (on, manifest, text)
    };
    let helps = [
        ("lamp", "case $1 in 1) echo on ;; half) cat .half || echo 77 ;; *) echo off ;; esac\n"),
        (
            "tests/a",
            "echo dim > .half; test -n \"$(sh lamp half | grep -v off)\" || { echo it does nothing; exit 1; }\n",
        ),
    ];
    let says = "VER-11 Without `tests/a`, which came after the freeze, the test `dims` fails: cat: .half: No such file or \
                directory it does not dim";
    let (on, manifest, text) = frozen(&helps);
    assert_eq!(on.told(), (0, vec![]), "nobody knows that it is frozen");
    assert_eq!(on.told_by(&["verify", "--frozen", &manifest]), (1, vec![says.to_owned()]));
    // A job finds it on the ledger.
    frozen::on_ledger(on.stage.path(), "phasegate/ledger", ChangeNumber(7), &on.stage.head, &text);
    let (step, temp) = on.stage.step(&["verify"]);
    let ended = end(step);
    let log = std::fs::read(temp.join("phasegate-verify/execution_log.json")).unwrap();
    let log: Artefact = serde_json::from_slice(&log).unwrap();
    assert_eq!((ended.code, log.earned.unwrap().frozen.unwrap().failing.len()), (1, 1), "{}{}", ended.out, ended.err);
    // Another test of what is there now helps nobody, and one that is frozen must run.
    let more = [DIMS, ("tests/a", Some("test $(sh lamp half) = dim || { echo no; exit 1; }\n"))];
    let more = more.map(|(path, text)| (path, text.unwrap()));
    let (on, manifest, _) = frozen(&more);
    assert_eq!(on.told_by(&["verify", "--frozen", &manifest]), (0, vec![]));
    let hides = RUNNER.replace("'^# skip'", "-e '^# skip' -e 'it does not dim'");
    let (on, manifest, _) = frozen(&[more[0], more[1], ("run-tests", &hides)]);
    let (code, told) = on.told_by(&["verify", "--frozen", &manifest]);
    let skipped = "VER-11 Tests that are frozen are skipped on the head's code: `dims`.".to_owned();
    assert!(code == 1 && told.contains(&skipped), "{told:?}");
}

/// Who parts from a commit where no test ran yet is held to those of where it goes.
#[test]
fn a_change_from_before_the_tests_is_held_to_them() {
    let on = Earning::new("demand", &[DIMS]);
    let place = on.stage.path();
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(place).args(["-c", "user.name=a", "-c", "user.email=a@b.c"]).args(args);
        assert!(git.output().unwrap().status.success(), "{args:?}");
    };
    let tip = on.stage.base[..12].to_owned();
    let from_before = |files: &[(&str, &str)]| {
        git(&["checkout", "-q", "--orphan", "early", &on.stage.base]);
        git(&["rm", "-rqf", "tests"]);
        git(&["commit", "-qm", "before the tests"]);
        // The branch goes on from there to where it is now.
        git(&["checkout", "-q", "-B", "main"]);
        git(&["checkout", "-q", &on.stage.base, "--", "."]);
        git(&["commit", "-qm", "the tests"]);
        git(&["checkout", "-q", "-B", "work", "early"]);
        for (path, text) in files {
            let path = place.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        git(&["add", "-A"]);
        git(&["commit", "-qm", "change"]);
        git(&["branch", "-qD", "early"]);
    };
    from_before(&[("lamp", "echo on\n"), ("tests/shines", "test $(sh lamp 1) = on\n")]);
    let (code, told) = on.told();
    assert_eq!(code, 1, "{told:?}");
    assert!(told.iter().any(|one| one.starts_with("VER-10 2 tests ran on the base (")), "{told:?}");
    assert!(told.iter().any(|one| one.starts_with("VER-11 The test `off`, as the base has it, fails")), "{told:?}");
    assert!(!told.iter().any(|one| one.contains(&tip)), "the branch has another commit of that content: {told:?}");
}

/// What is laid over the other side stays inside of it, whatever the other side has there.
#[test]
fn tests_that_are_laid_over_links_and_folders_stay_in_the_copy() {
    let on = Earning::new("demand", &[DIMS, ASKS]);
    let place = on.stage.path();
    let outside = tempfile::tempdir().unwrap();
    std::fs::create_dir(outside.path().join("tests")).unwrap();
    std::fs::remove_dir_all(place.join("tests")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("tests"), place.join("tests")).unwrap();
    for args in [&["add", "-A"][..], &["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "a link"]] {
        assert!(Command::new("git").current_dir(place).args(args).status().unwrap().success());
    }
    std::fs::write(outside.path().join("tests/yes"), "true\n").unwrap();
    let (code, told) = on.told();
    assert_eq!(code, 1, "{told:?}");
    let found: Vec<_> =
        std::fs::read_dir(outside.path().join("tests")).unwrap().flatten().map(|one| one.file_name()).collect();
    assert_eq!(found, ["yes"], "nothing was written there");
}

/// `BLD-05`: the audit runs after the build, on a copy that the build has not touched, and fails as an audit.
#[test]
fn dependencies_are_audited_after_the_build() {
    let policy = |build: &str, audit: &str| {
        format!(
            "gates:\n  build:\n    run: [{}]\n    audit: [{}]\n  verify:\n    {CHECK}\n",
            json!(build),
            json!(audit)
        )
    };
    let log = |on: &Stage| -> Artefact {
        serde_json::from_slice(&std::fs::read(on.path().join(".git/phasegate-build/execution_log.json")).unwrap())
            .unwrap()
    };
    let on = stage(&policy("echo built > lock", "test ! -e lock && echo 'bad-lib 1.0: high'; exit 1"), &[("a", "1")]);
    let ended = on.run(&["build"]);
    assert_eq!(ended.code, 1, "{}{}", ended.out, ended.err);
    let artefact = log(&on);
    let audits: Vec<bool> = artefact.commands.iter().map(|command| command.audit).collect();
    assert_eq!(audits, [false, true]);
    let errors: Vec<_> = artefact.findings.iter().filter(|one| one.blocks()).collect();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].rule, "BLD-05");
    assert!(errors[0].says.ends_with("It said last: `bad-lib 1.0: high`"), "{}", errors[0].says);
    assert!(std::fs::read_to_string(on.path().join(".git/phasegate-build/evidence.html")).unwrap().contains("BLD-05"));

    let on = stage(&policy("true", "echo fine"), &[("a", "1")]);
    assert_eq!(on.run(&["build"]).code, 0);
    // It has not its turn where the build is red.
    let on = stage(&policy("false", "echo never"), &[("a", "1")]);
    let ended = on.run(&["build"]);
    assert!(ended.code == 1 && !ended.out.contains("\nnever"), "{}", ended.out);
    let artefact = log(&on);
    assert_eq!(artefact.commands[1].outcome, CommandOutcome::NotRun);
    let rules: Vec<&str> = artefact.findings.iter().filter(|one| one.blocks()).map(|one| one.rule.as_str()).collect();
    assert_eq!(rules, ["BLD-01"]);
}

/// Which words of the lamp the tests ask for, as LCOV.
const COVER: &str = r#"
mkdir -p out
echo SF:lamp > out/lcov.info
for word in $(grep -o 'echo [a-z]*' lamp); do
    [ $word = echo ] && continue
    at=$((at + 1))
    if grep -qw $word tests/*; then hit=1; else hit=0; fi
    echo "DA:$at,$hit" >> out/lcov.info
done
echo end_of_record >> out/lcov.info
"#;

/// A lamp whose coverage counts, by a script of the base's.
fn covering(script: &str, change: &[(&str, Option<&str>)]) -> Earning {
    let policy = "gates:\n  verify:\n    from: [actions]\n    run: [sh run-tests]\n    reports: [junit.xml]\n    timeout: 1m\n    \
                  coverage: [\"out/*.info\"]\n";
    Earning::under(policy, script, change)
}

/// The exit code, and what is found of the coverage.
fn covered(on: &Earning, args: &[&str]) -> (i32, Vec<String>) {
    let ended = on.stage.run(args);
    let artefact = on.stage.artefact();
    let mark = |blocks: bool| if blocks { "" } else { "~" };
    let found = artefact.findings.iter().filter(|one| one.rule == "coverage_decreased" || one.blocks());
    (ended.code, found.map(|one| format!("{}{}", mark(one.blocks()), one.says)).collect())
}

#[test]
fn less_coverage_than_on_the_base_is_refused() {
    let script = &format!("{COVER}{RUNNER}");
    let on = covering(script, &[DIMS, ASKS]);
    assert_eq!(covered(&on, &["verify"]), (0, vec![]));
    let artefact = on.stage.artefact();
    let (now, before) = (artefact.coverage.unwrap(), artefact.earned.unwrap().on_base.coverage.unwrap());
    assert_eq!((now.shown(), before.shown()), ("3 of 3 lines".to_owned(), "2 of 2 lines".to_owned()));
    // Each side's report is known by what it had.
    let [report] = &now.reports[..] else { panic!("{now:?}") };
    let [on_base] = &before.reports[..] else { panic!("{before:?}") };
    assert_eq!((report.path.as_str(), on_base.path.as_str()), ("out/lcov.info", "out/lcov.info"));
    assert_ne!(report.digest, on_base.digest);
    // Nobody asks for what is new.
    let on = covering(script, &[DIMS]);
    let base = on.stage.base[..12].to_owned();
    let less = format!("Less is covered than on the base ({base}): 2 of 3 lines, before 2 of 2.");
    assert_eq!(covered(&on, &["verify"]), (1, vec![less]));
    // Where it can't be held against anything, that is said.
    let unheld =
        "~2 of 3 lines are covered. Whether that is less than before is not known: nothing was run on the base.";
    assert_eq!(covered(&on, &["verify", "--in-place"]), (0, vec![unheld.to_owned()]));
}

#[test]
fn coverage_that_this_run_did_not_write_is_not_known() {
    let script = &format!("{COVER}{RUNNER}");
    let quiet = ("run-tests", Some(RUNNER));
    let on = covering(script, &[quiet]);
    let missing = "How much is covered is not known: nothing matches `out/*.info`.";
    assert_eq!(covered(&on, &["verify"]), (1, vec![missing.to_owned()]));
    let on = covering(script, &[quiet, ("out/lcov.info", Some("SF:lamp\nDA:1,1\nend_of_record\n"))]);
    let stale = "How much is covered is not known: `out/lcov.info` is not of this run: it was there before the commands, and is the same \
                 as it was.";
    assert_eq!(covered(&on, &["verify"]), (1, vec![stale.to_owned()]));
    // The first change that measures it is a person's to take.
    let on = covering(RUNNER, &[("run-tests", Some(script))]);
    let base = on.stage.base[..12].to_owned();
    let before = format!("How much was covered on the base ({base}) is not known: nothing matches `out/*.info`.");
    assert_eq!(covered(&on, &["verify"]), (1, vec![before]));
}
