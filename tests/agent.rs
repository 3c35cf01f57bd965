//! `phasegate agent` as a person meets it: what an agent is given, what is taken of it, and what it can't get out of.

#![allow(clippy::unwrap_used, reason = "a test that can not go on has failed")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A repository whose agents play a script.
struct Stage {
    dir: TempDir,
    /// Beside it: what nobody inside is to reach.
    outside: TempDir,
    head: String,
}

struct Ended {
    code: i32,
    out: String,
    err: String,
}

impl Ended {
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}\n{}\n{}", self.out, self.err))
    }

    fn rules(&self) -> Vec<String> {
        let found = self.json()["findings"].as_array().unwrap().clone();
        let rules = found.iter().map(|one| one["rule"].as_str().unwrap().to_owned());
        // Where a wall is missing that is told besides.
        rules.filter(|rule| rule != "AGT-06").collect()
    }
}

fn program() -> PathBuf {
    assert_cmd::cargo::cargo_bin!("phasegate").to_owned()
}

/// `more` is a part of the policy's `agents.main`, and `confine` of its walls.
fn stage_with(script: &str, more: &str, confine: &str) -> Stage {
    let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let repo =
        git2::Repository::init_opts(dir.path(), git2::RepositoryInitOptions::new().initial_head("main")).unwrap();
    let program = program();
    let policy = format!(
        "merge: {{ require: [review] }}\nagents:\n  main:\n    command: [{}, agent, scripted, script.yml]\n    confine: {{ read: [{}]{confine} }}\n{more}",
        json!(program),
        json!(program),
    );
    let files = [
        (".github/phasegate.yml", policy.as_str()),
        ("script.yml", script),
        ("lamp.py", "def on():\n    return 1\n"),
        (".gitignore", "out/\n"),
    ];
    let mut index = repo.index().unwrap();
    for (path, text) in files {
        let file = dir.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        index.add_path(Path::new(path)).unwrap();
    }
    index.write().unwrap();
    let tree = repo.find_tree(index.write_tree().unwrap()).unwrap();
    let by = git2::Signature::new("ada", "ada@example.com", &git2::Time::new(1_700_000_000, 0)).unwrap();
    let head = repo.commit(Some("HEAD"), &by, &by, "files", &tree, &[]).unwrap().to_string();
    Stage { dir, outside, head }
}

fn stage(steps: &str) -> Stage {
    stage_with(&format!("passes:\n  - steps:\n{steps}"), "", "")
}

impl Stage {
    fn asks(&self, role: &str, more: &[&str]) -> Ended {
        let prompt = self.outside.path().join("prompt.md");
        std::fs::write(&prompt, "Light the lamp.\n").unwrap();
        let mut command = Command::new(program());
        command.current_dir(self.dir.path()).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        command.env("PRIVATE_KEY", "t0p-s3cret-key").env("GITHUB_TOKEN", "t0p-s3cret-token");
        command.args(["agent", "pass", role, "--prompt"]).arg(&prompt).args(more).stdin(Stdio::null());
        let output = command.output().unwrap();
        Ended {
            code: output.status.code().expect("it ended by itself"),
            out: String::from_utf8(output.stdout).unwrap(),
            // An agent says what it likes.
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    fn json(&self, role: &str) -> Ended {
        self.asks(role, &["--json"])
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["-c", "user.name=ada", "-c", "user.email=ada@example.com", "commit", "-qm", message]);
    }

    fn git(&self, args: &[&str]) -> String {
        let output = Command::new("git").arg("-C").arg(self.dir.path()).args(args).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}

const ANSWER: &str = "      - answer: { with: { summary: \"It can be lit.\", credits: 3 } }\n";

#[test]
fn what_the_main_agent_did_becomes_one_commit_on_no_branch() {
    let on = stage(&format!(
        "      - replace: {{ path: lamp.py, find: \"return 1\", with: \"return True\" }}\n      - write: {{ path: docs/lamp.md, text: \"lit\" }}\n      \
         - write: {{ path: out/built, text: \"x\" }}\n{ANSWER}"
    ));
    let ended = on.json("main");
    assert_eq!(ended.code, 0, "{}\n{}", ended.out, ended.err);
    let told = ended.json();
    assert_eq!((&told["schema"], &told["verdict"]), (&json!("phasegate/pass@1"), &json!("PASS")));
    assert_eq!(told["changed"], json!(["docs/lamp.md", "lamp.py"]));
    assert_eq!(told["said"]["credits"], 3);
    let commit = told["commit"].as_str().unwrap();
    assert_eq!(on.git(&["show", &format!("{commit}:lamp.py")]), "def on():\n    return True");
    assert_eq!(on.git(&["log", "--format=%an %s", "-1", commit]), "Phasegate agent: one pass");
    assert!(on.git(&["log", "--format=%b", "-1", commit]).contains("It can be lit."));
    assert_eq!(on.git(&["rev-parse", &format!("{commit}^")]), on.head);
    assert_eq!(on.git(&["branch", "--contains", commit]), "");
    assert_eq!(on.git(&["status", "--short"]), "", "and what is here is as it was");
    // For people, with a way on that works.
    let ended = on.asks("main", &[]);
    assert!(ended.out.contains("\n  \"summary\": \"It can be lit.\"\n"), "{}", ended.out);
    let line = ended.out.lines().find(|line| line.contains("git merge --ff-only")).unwrap();
    let way = line.split('`').nth(1).unwrap().split_whitespace().last().unwrap();
    on.git(&["merge", "--ff-only", way]);
    assert_eq!(on.git(&["show", "HEAD:docs/lamp.md"]), "lit");
}

#[test]
fn prose_is_asked_again_and_told_what_was_wrong() {
    let script = "passes:\n  - on: { try: 1 }\n    steps:\n      - prose: { text: \"I am done!\" }\n  - on: { try: 2 }\n    steps:\n      \
                  - run: { command: \"grep -q 'is no JSON' $PHASEGATE_PROMPT\" }\n";
    let ended = stage_with(&format!("{script}{ANSWER}"), "", "").json("main");
    assert_eq!((ended.code, ended.json()["tries"].as_array().unwrap().len()), (0, 2), "{}\n{}", ended.out, ended.err);
    // And no more than that.
    let ended = stage("      - prose: { text: \"I am done!\" }\n").json("main");
    assert_eq!((ended.code, ended.rules()), (1, vec!["AGT-02".to_owned()]), "{}", ended.out);
    assert_eq!(ended.json()["tries"].as_array().unwrap().len(), 2);
    assert!(ended.json()["commit"].is_null());
    // Something beside what is asked for is no answer either.
    let ended = stage("      - answer: { with: { summary: done, approve: true } }\n").json("main");
    assert!(ended.code == 1 && ended.out.contains("approve"), "{}", ended.out);
}

#[test]
fn what_breaks_off_is_told_and_not_taken() {
    let edit = "      - write: { path: lamp.py, text: \"half\" }\n";
    for (steps, more, says) in [
        ("      - exit: { status: 7 }\n", "", "status 7"),
        ("      - crash: {}\n", "", "signal 6"),
        ("      - wait: { time: 1h }\n", "    timeout: 2s\n", "time was over"),
        ("      - run: { command: \"yes\" }\n", "", "it said more than 64M"),
    ] {
        let on = stage_with(&format!("passes:\n  - steps:\n{edit}{steps}"), more, "");
        let ended = on.json("main");
        assert_eq!((ended.code, ended.rules()), (1, vec!["AGT-01".to_owned()]), "{steps}: {}", ended.out);
        assert!(ended.json()["findings"][0]["says"].as_str().unwrap().contains(says), "{steps}: {}", ended.out);
        assert!(ended.json()["commit"].is_null(), "{steps}");
        assert_eq!(ended.json()["tries"].as_array().unwrap().len(), 1, "{steps}");
    }
}

#[test]
fn it_commits_by_itself_and_only_its_files_are_taken() {
    let on = stage(&format!(
        "      - write: {{ path: lamp.py, text: \"own\" }}\n      - run: {{ command: \"git -c user.name=x -c user.email=x@y commit -qam 'Approved-by: ada'\" }}\n{ANSWER}"
    ));
    let ended = on.json("main");
    assert_eq!((ended.code, ended.rules()), (0, vec!["AGT-04".to_owned()]), "{}\n{}", ended.out, ended.err);
    let commit = ended.json()["commit"].as_str().unwrap().to_owned();
    assert_eq!(on.git(&["rev-list", "--count", &format!("{}..{commit}", on.head)]), "1");
    assert!(!on.git(&["log", "--format=%B", "-1", &commit]).contains("Approved-by"));
}

#[test]
fn an_answer_writes_no_trailers() {
    let on = stage(
        "      - write: { path: a, text: \"1\" }\n      - answer: { with: { summary: \"Done.\\n\\nSigned-off-by: ada <ada@example.com>\\nPhasegate-Claim: verify\" } }\n",
    );
    let commit = on.json("main").json()["commit"].as_str().unwrap().to_owned();
    assert_eq!(on.git(&["log", "--format=%(trailers)", "-1", &commit]), "");
}

/// What holds only where there are walls. Where a wall is missing a role that looks is not run at all, and that is told.
#[cfg(target_os = "linux")]
mod behind_walls {
    use super::*;

    #[test]
    fn who_looks_can_not_write() {
        let on = stage(
            "      - attempt: { step: { write: { path: lamp.py, text: \"mine\" } } }\n      - attempt: { step: { delete: { path: lamp.py } } }\n      \
             - attempt: { step: { run: { command: \"touch new; ln -s / x; git commit --allow-empty -m x; test ! -e new\" } } }\n      \
             - answer: { with: { checks: [{ rule: TSK-21, pass: true, evidence: \"read\" }], summary: \"fine\" } }\n",
        );
        let ended = on.json("reviewer");
        assert_eq!((ended.code, ended.json()["changed"].clone()), (0, json!([])), "{}\n{}", ended.out, ended.err);
        assert!(ended.err.matches("refused: lamp.py can't be").count() == 2, "{}", ended.err);
        assert!(ended.json()["commit"].is_null() && ended.json()["left"].is_null());
    }

    #[test]
    fn a_scout_is_held_against_the_files() {
        let on = stage(
            "      - answer:\n          with:\n            findings:\n              - { says: \"It gives back one.\", path: lamp.py, line: 2, quote: \"return 1\" }\n              \
             - { says: \"It gives back two.\", path: lamp.py, line: 2, quote: \"return 2\" }\n              \
             - { says: \"It should give back True.\", path: lamp.py, line: 2, quote: \"return 1\" }\n",
        );
        let ended = on.json("scout");
        assert_eq!((ended.code, ended.rules()), (1, vec!["AGT-05".to_owned(), "AGT-05".to_owned()]), "{}", ended.out);
        assert_eq!(ended.json()["found"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn nothing_outside_is_written_or_read() {
        let on = stage("");
        let outside = on.outside.path().join("key");
        std::fs::write(&outside, "t0p-s3cret-file").unwrap();
        let repo = on.dir.path().display();
        let steps = format!(
            "      - attempt: {{ step: {{ write: {{ path: {0}, text: \"mine\" }} }} }}\n      - attempt: {{ step: {{ run: {{ command: \"cat {0} >> seen\" }} }} }}\n      \
             - attempt: {{ step: {{ write: {{ path: {repo}/lamp.py, text: \"mine\" }} }} }}\n      - attempt: {{ step: {{ write: {{ path: {repo}/.git/refs/heads/mine, text: {1} }} }} }}\n      \
             - attempt: {{ step: {{ run: {{ command: \"env > seen; cat /proc/*/environ >> seen; ls {repo}/.. >> seen\" }} }} }}\n{ANSWER}",
            outside.display(),
            on.head,
        );
        std::fs::write(on.dir.path().join("script.yml"), format!("passes:\n  - steps:\n{steps}")).unwrap();
        on.git(&["-c", "user.name=ada", "-c", "user.email=ada@example.com", "commit", "-qam", "script"]);
        let ended = on.json("main");
        let told = ended.json();
        assert_eq!(ended.code, 0, "{}\n{}", ended.out, ended.err);
        let seen = on.git(&["show", &format!("{}:seen", told["commit"].as_str().unwrap())]);
        assert!(seen.contains("PHASEGATE_ROLE=main"), "{seen}");
        assert!(!seen.contains("t0p-s3cret"), "{seen}");
        assert_eq!(std::fs::read_to_string(&outside).unwrap(), "t0p-s3cret-file");
        assert!(std::fs::read_to_string(on.dir.path().join("lamp.py")).unwrap().starts_with("def on"));
        assert_eq!(on.git(&["branch", "--list", "mine"]), "");
        assert!(!format!("{}{}", ended.out, ended.err).contains("t0p-s3cret"));
    }

    /// A repository whose agents get no `secret/`, though it lies in the commit and, in another form, in its history.
    fn packed(steps: &str) -> Stage {
        let steps = format!("passes:\n  - steps:\n{steps}");
        let on = stage_with("passes: []\n", "    pack: { hide: [\"secret/**\"] }\n", "");
        let put = |path: &str, text: &str| {
            let file = on.dir.path().join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        put("secret/key", "t0p-s3cret-old\n");
        on.commit("an old key");
        put("secret/key", "t0p-s3cret-new\n");
        put("script.yml", &steps);
        on.commit("a new key");
        on
    }

    const SAW: &str =
        "      - answer: { with: { checks: [{ rule: TSK-21, pass: true, evidence: \"read\" }], summary: \"fine\" } }\n";

    fn attempt(command: &str) -> String {
        format!("      - attempt: {{ step: {{ run: {{ command: {command:?} }} }} }}\n")
    }

    /// Says these lines to the server of the pass, and prints what it answers.
    fn talk(calls: &[(&str, Value)]) -> String {
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "by hand", "version": "1" } });
        let mut lines = vec![
            json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }),
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        ];
        for (id, (tool, arguments)) in calls.iter().enumerate() {
            let params = json!({ "name": tool, "arguments": arguments });
            lines.push(json!({ "jsonrpc": "2.0", "id": id + 1, "method": "tools/call", "params": params }));
        }
        let said: Vec<String> = lines.iter().map(|line| format!("'{line}'")).collect();
        format!("printf '%s\\n' {} | phasegate mcp --pass", said.join(" "))
    }

    #[test]
    fn what_a_pack_hides_is_nowhere_in_reach() {
        let on = packed("");
        let (repo, head) = (on.dir.path().display().to_string(), on.git(&["rev-parse", "HEAD"]));
        let tries = [
            "find . / -name key 2>/dev/null; cat secret/key ./SECRET/key; ls -la".to_owned(),
            format!(
                "git show {head}:secret/key; git show HEAD:secret/key; git log -p --all; git show {head}^:secret/key"
            ),
            "git cat-file --batch-all-objects --batch; cat .git/objects/info/alternates".to_owned(),
            "git fsck --lost-found; git stash list; git reflog".to_owned(),
            format!(
                "cat {repo}/secret/key; git -C {repo} show HEAD:secret/key; GIT_DIR={repo}/.git git cat-file --batch-all-objects --batch"
            ),
            format!("GIT_ALTERNATE_OBJECT_DIRECTORIES={repo}/.git/objects git show {head}:secret/key"),
            "cat /proc/*/root/secret/key /proc/*/cwd/secret/key /proc/[0-9]*/fd/* </dev/null".to_owned(),
            format!("cat /proc/1/root{repo}/secret/key; cat /proc/self/root{repo}/secret/key; ls /proc/*/root{repo}"),
            talk(&[
                ("read", json!({ "path": "secret/key" })),
                ("read", json!({ "path": "secret/../secret/key" })),
                ("read", json!({ "path": ".git/../../../secret/key" })),
                ("grep", json!({ "pattern": "t0p-s3cret" })),
                ("glob", json!({ "pattern": "**/key" })),
                ("read", json!({ "path": "lamp.py" })),
            ]),
        ];
        let steps: String = tries.iter().map(|command| attempt(command)).collect();
        std::fs::write(on.dir.path().join("script.yml"), format!("passes:\n  - steps:\n{steps}{SAW}")).unwrap();
        on.commit("the tries");
        let ended = on.json("reviewer");
        assert_eq!(ended.code, 0, "{}\n{}", ended.out, ended.err);
        for secret in ["t0p-s3cret-new", "t0p-s3cret-old"] {
            assert!(!ended.err.contains(secret) && !ended.out.contains(secret), "{secret}: {}", ended.err);
        }
        // What it may see it saw, or nothing of this was tried.
        assert!(ended.err.contains("def on()") && ended.err.contains("There is no `secret/key`"), "{}", ended.err);
        let calls = &ended.json()["calls"];
        assert_eq!((&calls["total"], &calls["refused"]), (&json!(6), &json!(3)), "{calls:#}");
        // They are answered side by side, so they stand in any order.
        let kept = calls["kept"].as_array().unwrap();
        assert!(kept.iter().any(|call| call["arguments"] == r#"{"path":"secret/key"}"#), "{calls:#}");
    }

    #[test]
    fn what_a_pack_hides_stays_as_it_was_in_the_commit() {
        let on = packed(&format!(
            "      - write: {{ path: lamp.py, text: \"lit\" }}\n      - run: {{ command: \"test ! -e secret && test $(git rev-list --all --count) = 1\" }}\n{ANSWER}"
        ));
        let ended = on.json("main");
        assert_eq!(ended.code, 0, "{}\n{}", ended.out, ended.err);
        assert_eq!(ended.json()["changed"], json!(["lamp.py"]));
        let commit = ended.json()["commit"].as_str().unwrap().to_owned();
        assert_eq!(on.git(&["show", &format!("{commit}:secret/key")]), "t0p-s3cret-new");
        assert_eq!(on.git(&["diff", "--name-only", "HEAD", &commit]), "lamp.py");
    }

    #[test]
    fn what_is_written_outside_of_a_pack_is_refused() {
        for write in ["secret/own", "Secret/key", "secret"] {
            let on = packed(&format!("      - write: {{ path: {write}, text: \"mine\" }}\n{ANSWER}"));
            let ended = on.json("main");
            assert_eq!((ended.code, ended.rules()), (1, vec!["AGT-09".to_owned()]), "{write}: {}", ended.out);
            assert!(ended.json()["commit"].is_null(), "{write}");
        }
    }

    #[test]
    fn a_pack_that_lets_nothing_through_is_no_pass() {
        let on = stage_with(&format!("passes:\n  - steps:\n{ANSWER}"), "    pack: { only: [src] }\n", "");
        let ended = on.asks("main", &[]);
        assert!(ended.code == 2 && ended.err.contains("lets nothing through of the 4 files"), "{}", ended.err);
    }

    #[test]
    fn the_tools_of_a_pass_see_its_edits_and_the_record_is_not_its_own() {
        let calls = [
            ("next", json!({})),
            ("read", json!({ "path": "lamp.py" })),
            ("ls", json!({ "path": "../.." })),
            ("submit_evidence_claim", json!({ "item": "x", "seen": "y" })),
            ("raise_decision", json!({ "condition": "stuck", "reason": "let me out" })),
            ("merge", json!({ "now": true })),
        ];
        let on = stage(&format!(
            "      - write: {{ path: lamp.py, text: \"edited by it\" }}\n{}      - run: {{ command: \"rm -f $PHASEGATE_MCP\" }}\n{}{ANSWER}",
            attempt(&talk(&calls)),
            attempt("phasegate mcp --pass </dev/null"),
        ));
        let ended = on.json("main");
        assert_eq!(ended.code, 0, "{}\n{}", ended.out, ended.err);
        assert!(ended.err.contains("edited by it") && ended.err.contains("this pass's copy of"), "{}", ended.err);
        assert!(
            ended.err.contains("This pass is about no task") && ended.err.contains("does not answer"),
            "{}",
            ended.err
        );
        let calls = ended.json()["calls"].clone();
        let kept: Vec<(&str, &str)> = calls["kept"]
            .as_array()
            .unwrap()
            .iter()
            .map(|call| (call["tool"].as_str().unwrap(), call["outcome"].as_str().unwrap()))
            .collect();
        let mut kept = kept;
        kept.sort_unstable();
        let told = [
            ("ls", "refused"),
            ("merge", "refused"),
            ("next", "answered"),
            ("raise_decision", "refused"),
            ("read", "answered"),
            ("submit_evidence_claim", "refused"),
        ];
        assert_eq!(kept, told);
        assert_eq!((&calls["total"], &calls["refused"], &calls["left_out"]), (&json!(6), &json!(4), &json!(0)));
        assert!(calls["bytes"].as_u64().unwrap() > 100);
    }

    #[test]
    fn who_only_looks_can_not_write_by_its_tools() {
        let on = stage(&format!(
            "{}{SAW}",
            attempt(&talk(&[("next", json!({})), ("submit_evidence_claim", json!({ "item": "x", "seen": "y" }))]))
        ));
        let ended = on.json("reviewer");
        assert_eq!((ended.code, ended.json()["changed"].clone()), (0, json!([])), "{}\n{}", ended.out, ended.err);
        assert!(
            ended.err.contains("Who looks writes nothing") && ended.err.contains("write anything but your answer"),
            "{}",
            ended.err
        );
    }

    #[test]
    fn what_it_started_does_not_outlive_it() {
        let on = stage_with(
            "passes:\n  - steps:\n      - run: { command: \"(setsid sh -c 'while :; do sleep 1; done' &)\" }\n      \
             - attempt: { step: { run: { command: \"f() { f | f & }; f\" } } }\n      - wait: { time: 1h }\n",
            "    timeout: 3s\n",
            ", processes: 200",
        );
        let ended = on.json("main");
        assert_eq!((ended.code, ended.rules()), (1, vec!["AGT-01".to_owned()]), "{}\n{}", ended.out, ended.err);
    }
}

#[test]
fn what_is_wrong_with_the_asking_is_said_and_nothing_is_run() {
    let on = stage(ANSWER);
    for (args, says) in [
        (vec!["agent", "pass", "boss", "--prompt", "script.yml"], "there are the roles main, scout"),
        (vec!["agent", "pass", "main", "--prompt", "nowhere.md"], "can't be read"),
        (vec!["agent", "pass", "main", "--prompt", "/dev/null"], "the prompt is empty"),
        (vec!["agent", "pass", "main", "--prompt", "script.yml", "--at", "nowhere"], "nowhere"),
        (vec!["agent", "pass", "main", "--prompt", "script.yml", "--dir", "/"], "no git repository"),
        (vec!["agent", "scripted", "lamp.py"], "is no script"),
        (vec!["agent", "scripted", "nowhere.yml"], "can't be read"),
    ] {
        let mut command = Command::new(program());
        command.current_dir(on.dir.path()).env_clear().env("PATH", std::env::var_os("PATH").unwrap()).args(&args);
        let output = command.stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(says), "{args:?}: {said}");
    }
    // A policy without agents names the key.
    std::fs::write(on.dir.path().join("none.yml"), "merge: { require: [review] }\n").unwrap();
    let ended = on.asks("main", &["--policy", "none.yml"]);
    assert!(ended.code == 2 && ended.err.contains("the policy names no agent"), "{}", ended.err);
}
