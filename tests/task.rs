//! `phasegate task run` and `task loop` as a person meets them: a task from its intake to its end, by agents that play a script.

#![allow(clippy::unwrap_used, reason = "a test that can not go on has failed")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A repository with a task in `t`, whose agents play a script.
struct Stage {
    dir: TempDir,
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

    /// The rules that the last pass was told.
    fn rules(&self) -> Vec<String> {
        let told = self.json();
        let passes = told["passes"].as_array().unwrap();
        let found = passes.last().map(|pass| pass["findings"].as_array().unwrap().clone()).unwrap_or_default();
        found.iter().map(|one| one["rule"].as_str().unwrap().to_owned()).filter(|rule| rule != "AGT-06").collect()
    }

    fn phase(&self) -> String {
        self.json()["phase"].as_str().unwrap().to_owned()
    }
}

fn program() -> PathBuf {
    assert_cmd::cargo::cargo_bin!("phasegate").to_owned()
}

/// What shows that the lamp can be lit.
const CHECK: &str =
    "set -e\ngrep -q 'return True' lamp.py\necho '<testsuite><testcase name=\"on\"/></testsuite>' > junit.xml\n";

fn stage_with(script: &str, more: &str) -> Stage {
    let on = Stage { dir: tempfile::tempdir().unwrap() };
    let program = json!(program());
    let policy = format!(
        "merge: {{ require: [review] }}\ngates:\n  verify:\n    from: [runner]\n    earned: off\n    run: [\"sh check.sh\"]\n    reports: [junit.xml]\n\
         agents:\n  main:\n    command: [{program}, agent, scripted, script.yml]\n    timeout: 2m\n    confine: {{ read: [{program}] }}\n{more}"
    );
    on.git(&["init", "-q", "-b", "main"]);
    on.git(&["config", "user.name", "ada"]);
    on.git(&["config", "user.email", "ada@example.com"]);
    let ended = on.phasegate(&["task", "init", "t", "--title", "Light the lamp"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    for (path, text) in [
        (".github/phasegate.yml", policy.as_str()),
        ("script.yml", script),
        ("check.sh", CHECK),
        ("lamp.py", "def on():\n    return None\n"),
    ] {
        on.write(path, text);
    }
    on.commit("begin");
    on
}

impl Stage {
    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn write(&self, path: &str, text: &str) {
        let file = self.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path().join(path)).unwrap()
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", message]);
    }

    fn git(&self, args: &[&str]) -> String {
        let output = Command::new("git").arg("-C").arg(self.path()).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn git_with(&self, index: &Path, args: &[&str]) -> String {
        let mut command = Command::new("git");
        let output = command.arg("-C").arg(self.path()).env("GIT_INDEX_FILE", index).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn phasegate(&self, args: &[&str]) -> Ended {
        let mut command = Command::new(program());
        command.current_dir(self.path()).env_clear().env("PATH", std::env::var_os("PATH").unwrap()).args(args);
        let output = command.stdin(Stdio::null()).output().unwrap();
        Ended {
            code: output.status.code().expect("it ended by itself"),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    fn run(&self) -> Ended {
        self.phasegate(&["task", "run", "t", "--json"])
    }

    fn goes(&self) -> Ended {
        self.phasegate(&["task", "loop", "t", "--json"])
    }
}

fn field(name: &str, to: &str) -> String {
    format!("      - field: {{ path: t/STATE.md, name: {name:?}, to: {to:?} }}\n")
}

const DONE: &str = "      - answer: { with: { summary: \"A pass.\", credits: 1 } }\n";

/// A part of a script, for a phase.
fn part(on: &str, steps: &[String]) -> String {
    format!("  - on: {{ {on} }}\n    steps:\n{}{DONE}", steps.concat())
}

fn framed() -> String {
    part(
        "role: main, phase: intake",
        &[
            field("Objective", "The lamp can be lit."),
            field("Done gate", "on() gives back True."),
            field("Not doing", "dimming"),
            field("Reality constraints", "none"),
            field("Phase", "shape"),
        ],
    )
}

fn planned() -> String {
    part("role: main, phase: shape", &[field("Validation plan", "- `sh check.sh`"), field("Phase", "implement")])
}

fn built(text: &str) -> String {
    part(
        "role: main, phase: implement",
        &[
            format!("      - write: {{ path: lamp.py, text: {text:?} }}\n"),
            field("Candidate done", "yes"),
            field("Evidence location", "EVIDENCE.md"),
            field("Phase", "verify"),
        ],
    )
}

fn reviewed(fails: &str) -> String {
    let check = |rule: &str| {
        format!("{{ rule: {rule}, pass: {}, evidence: \"lamp.py:2 gives back what is asked for\" }}", rule != fails)
    };
    let checks: Vec<String> = ["TSK-21", "TSK-22", "TSK-23", "TSK-24", "TSK-25"].map(check).into();
    format!(
        "  - on: {{ role: reviewer }}\n    steps:\n      - answer: {{ with: {{ checks: [{}], summary: \"Looked.\", credits: 1 }} }}\n",
        checks.join(", ")
    )
}

/// From its intake to its end: the first build is wrong, verify says so, it is mended, and everything is verified again.
fn whole() -> String {
    let verified = |on: &str, more: &[String]| {
        let mut steps = vec![
            field("Validator status", "pass"),
            "      - append: { path: t/EVIDENCE.md, text: \"\\nsh check.sh: green\\n\" }\n".to_owned(),
        ];
        steps.extend_from_slice(more);
        steps.push(field("Phase", "review"));
        part(on, &steps)
    };
    let parts = [
        framed(),
        planned(),
        built("def on():\n    return 1\n"),
        // It claims what is not so, is refused, and owns up to it.
        verified("role: main, phase: verify, pass: 4", &[]),
        part("role: main, phase: verify, pass: 5", &[field("Validator status", "fail"), field("Phase", "repair")]),
        part(
            "role: main, phase: repair",
            &[
                "      - write: { path: lamp.py, text: \"def on():\\n    return True\\n\" }\n".to_owned(),
                field("Repair applied", "yes"),
                field("Revalidation status", "pending"),
                field("Phase", "verify"),
            ],
        ),
        verified("role: main, phase: verify", &[field("Revalidation status", "pass")]),
        part(
            "role: main, phase: review",
            &[
                field("Evidence link", "https://example.com/lamp/t/EVIDENCE.md"),
                field("User-facing", "no"),
                field("Phase", "done"),
            ],
        ),
        reviewed("none"),
    ];
    format!("passes:\n{}", parts.concat())
}

#[test]
fn a_task_goes_from_its_intake_to_its_end() {
    let on = stage_with(&whole(), "budget: { passes: 20, credits: 100 }\n");
    let ended = on.goes();
    assert_eq!((ended.code, ended.phase().as_str()), (0, "done"), "{}\n{}", ended.out, ended.err);
    let told = ended.json();
    let ways: Vec<String> = told["passes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pass| format!("{}>{}", pass["from"].as_str().unwrap(), pass["to"].as_str().unwrap()))
        .collect();
    assert_eq!(
        ways,
        [
            "intake>shape",
            "shape>implement",
            "implement>verify",
            "verify>verify",
            "verify>repair",
            "repair>verify",
            "verify>review",
            "review>done",
        ]
    );
    // What was claimed and not shown is told by its rule, and the file says what is so.
    let refused = &told["passes"][3];
    assert_eq!((&refused["claims"], &refused["findings"][0]["rule"]), (&json!("review"), &json!("TSK-12")));
    assert!(on.read("t/STATE.md").contains("Phase: done\n"));
    assert_eq!(on.read("lamp.py"), "def on():\n    return True\n");
    assert_eq!(on.git(&["status", "--short"]), "");
    // Everything is on record, and proves.
    let branch = told["ledger"].as_str().unwrap();
    let replayed = on.phasegate(&["replay", "1", "--branch", branch]);
    assert!(replayed.code == 3 && replayed.out.contains("done"), "{}\n{}", replayed.out, replayed.err);
    // A report that somebody altered is seen.
    let log = on.git(&["ls-tree", "-r", "--name-only", branch]);
    let log = log.lines().find(|path| path.contains("/evidence/")).unwrap().to_owned();
    let index = on.path().join("index");
    let blob = on.git_with(&index, &["hash-object", "-w", "lamp.py"]);
    on.git_with(&index, &["read-tree", branch]);
    on.git_with(&index, &["update-index", "--cacheinfo", &format!("100644,{blob},{log}")]);
    let tree = on.git_with(&index, &["write-tree"]);
    let forged = on.git(&["commit-tree", &tree, "-p", branch, "-m", "another answer"]);
    on.git(&["branch", "forged-advisory", &forged]);
    std::fs::remove_file(index).unwrap();
    let replayed = on.phasegate(&["replay", "1", "--branch", "forged-advisory"]);
    assert!(replayed.code == 1 && replayed.out.contains("AGT-08"), "{}\n{}", replayed.out, replayed.err);
    // There is nothing left to do.
    let again = on.run();
    assert_eq!((again.code, again.json()["passes"][0]["pass"].clone()), (0, Value::Null), "{}", again.out);
}

/// The tools of a pass know the task: what is next is its phase's, and a claim stands in its evidence, whose record is not the agent's.
#[cfg(target_os = "linux")]
#[test]
fn an_agent_at_a_task_has_its_tools() {
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "by hand", "version": "1" } });
    let call = |id: u32, tool: &str, arguments: Value| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": tool, "arguments": arguments } });
    let claim = json!({ "item": "the lamp is lit", "seen": "it is", "artefact": "artifacts/run.log" });
    let lines = [
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        call(1, "next", json!({})),
        call(2, "submit_evidence_claim", claim),
    ];
    let said: Vec<String> = lines.iter().map(|line| format!("'{line}'")).collect();
    let talk = format!("printf '%s\\n' {} | phasegate mcp --pass > t/artifacts/talk.jsonl", said.join(" "));
    let steps = [
        "      - write: { path: t/artifacts/run.log, text: \"lit\" }\n".to_owned(),
        format!("      - run: {{ command: {talk:?} }}\n"),
        // What belongs to it it may write on.
        "      - append: { path: t/EVIDENCE.md, text: \"\\nand more\\n\" }\n".to_owned(),
        field("Validation plan", "- the lamp is lit"),
    ];
    let on = stage_with(&format!("passes:\n{}", part("role: main", &steps)), "    pack: { hide: [check.sh] }\n");
    let ended = on.run();
    assert_eq!(ended.code, 0, "{}\n{}", ended.out, ended.err);
    let talk = on.read("t/artifacts/talk.jsonl");
    assert!(talk.contains(r#""phase":"intake""#) && talk.contains(r#""next":["shape"]"#), "{talk}");
    assert!(talk.contains("decides nothing") && talk.contains("no plan yet"), "{talk}");
    let evidence = on.read("t/EVIDENCE.md");
    assert!(evidence.contains("## the lamp is lit\n\n- Claimed by the main agent (pass 1), "), "{evidence}");
    assert!(
        evidence.contains("- Seen: it is\n- Artefact: [artifacts/run.log](<artifacts/run.log>)\n\nand more\n"),
        "{evidence}"
    );
    assert!(on.read("check.sh").contains("junit"), "what it did not get is as it was");
    // The report on the ledger has both calls.
    let branch = ended.json()["ledger"].as_str().unwrap().to_owned();
    let log = on.git(&["ls-tree", "-r", "--name-only", &branch]);
    let log = log.lines().find(|path| path.contains("/evidence/")).unwrap().to_owned();
    let report: Value = serde_json::from_str(&on.git(&["show", &format!("{branch}:{log}")])).unwrap();
    let mut tools: Vec<&str> =
        report["calls"]["kept"].as_array().unwrap().iter().map(|call| call["tool"].as_str().unwrap()).collect();
    tools.sort_unstable();
    assert_eq!(tools, ["next", "submit_evidence_claim"], "{report:#}");
    // A pack without the task's own folder is none for it.
    let on = stage_with(&format!("passes:\n{}", part("role: main", &[])), "    pack: { hide: [t] }\n");
    let ended = on.run();
    assert!(ended.code == 2 && ended.err.contains("leaves out t/STATE.md"), "{}\n{}", ended.out, ended.err);
}

#[test]
fn a_pass_that_gains_nothing_ends_it() {
    let on = stage_with(&format!("passes:\n  - steps:\n{DONE}"), "");
    let ended = on.goes();
    assert_eq!(
        (ended.code, ended.phase().as_str(), ended.rules()),
        (1, "intake", vec!["TSK-04".to_owned()]),
        "{}",
        ended.out
    );
    assert_eq!(ended.json()["passes"].as_array().unwrap().len(), 1);
    // The claim alone is no work.
    let on = stage_with(
        &format!("passes:\n{}", part("role: main", &[field("Status", "going on"), field("Next step", "more")])),
        "",
    );
    assert_eq!(on.goes().rules(), ["TSK-04"]);
}

#[test]
fn what_is_claimed_out_of_turn_is_put_back() {
    for to in ["done", "review", "verify", "implement", "repair", "blocked"] {
        let on = stage_with(&format!("passes:\n{}", part("role: main", &[field("Phase", to)])), "");
        let ended = on.run();
        assert_eq!((ended.code, ended.phase().as_str()), (1, "intake"), "{to}: {}", ended.out);
        assert!(ended.rules().contains(&"TSK-01".to_owned()), "{to}: {}", ended.out);
        assert!(on.read("t/STATE.md").contains("Phase: intake\n"), "{to}");
        assert_eq!(on.git(&["status", "--short"]), "", "{to}");
    }
}

#[test]
fn what_a_phase_forbids_is_not_taken() {
    for (steps, rule) in [
        ("      - write: { path: lamp.py, text: \"x\" }\n", "TSK-05"),
        ("      - delete: { path: t }\n", "TSK-05"),
        ("      - delete: { path: t/STATE.md }\n", "TSK-05"),
        ("      - write: { path: t/STATE.md, text: \"Phase: done\\n\" }\n", "TSK-02"),
        ("      - append: { path: t/STATE.md, text: \"Phase: shape\\n\" }\n", "TSK-02"),
        ("      - run: { command: \"printf 'Phase: \\\\377' > t/STATE.md\" }\n", "TSK-02"),
    ] {
        let on = stage_with(&format!("passes:\n{}", part("role: main", &[steps.to_owned()])), "");
        let before = on.git(&["rev-parse", "HEAD"]);
        let ended = on.run();
        assert_eq!((ended.code, ended.phase().as_str()), (1, "intake"), "{steps}: {}", ended.out);
        assert!(ended.rules().contains(&rule.to_owned()), "{steps}: {:?}", ended.rules());
        assert_eq!(on.git(&["rev-parse", "HEAD"]), before, "{steps}");
        assert_eq!(on.git(&["status", "--short"]), "", "{steps}");
    }
}

#[test]
fn a_task_that_waits_goes_on_by_a_persons_word_where_it_was_left() {
    let parts = [
        framed(),
        part(
            "role: main, phase: shape",
            &[field("Blockers", "Ada has to say which lamp."), field("Phase", "needs_user_decision")],
        ),
    ];
    let on = stage_with(&format!("passes:\n{}", parts.concat()), "");
    let ended = on.goes();
    assert_eq!((ended.code, ended.phase().as_str()), (3, "needs_user_decision"), "{}", ended.out);
    assert_eq!(ended.json()["why"], "Ada has to say which lamp.");
    assert_eq!(on.goes().code, 3, "nobody goes on by themselves");
    assert_eq!(on.phasegate(&["task", "reopen", "t", "--reason", "."]).code, 2);
    let reopened = on.phasegate(&["task", "reopen", "t", "--reason", "The one in the hall"]);
    assert_eq!(reopened.code, 0, "{}", reopened.err);
    assert!(on.read("t/STATE.md").contains("Phase: shape\n"));
    let again = on.phasegate(&["task", "reopen", "t", "--reason", "The one in the hall"]);
    assert!(again.code == 2 && again.err.contains("waits for nobody"), "{}", again.err);
}

#[test]
fn what_all_passes_may_take_ends() {
    let script = format!("passes:\n{}{}", framed(), planned());
    let on = stage_with(&script, "budget: { passes: 1 }\n");
    assert_eq!(on.run().code, 0);
    let ended = on.run();
    assert_eq!((ended.code, ended.rules()), (1, vec!["AGT-07".to_owned()]), "{}", ended.out);
    // Nobody who is silent about it goes on.
    let on = stage_with(&script.replace(", credits: 1", ""), "budget: { credits: 10 }\n");
    assert_eq!(on.run().code, 0);
    assert_eq!(on.run().rules(), ["AGT-07"]);
}

#[test]
fn a_review_that_finds_something_keeps_it_from_being_done() {
    let script = whole().replace(&reviewed("none"), &reviewed("TSK-22"));
    let on = stage_with(&script, "");
    let ended = on.goes();
    assert_eq!((ended.code, ended.phase().as_str()), (1, "review"), "{}", ended.out);
    let told = ended.json();
    let rules: Vec<&str> = told["passes"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|pass| pass["findings"].as_array().unwrap())
        .filter_map(|one| one["rule"].as_str())
        .collect();
    assert!(rules.contains(&"TSK-22") && rules.contains(&"TSK-15"), "{rules:?}");
    assert!(on.read("t/STATE.md").contains("Phase: review\n"));
}

#[test]
fn what_is_wrong_with_the_place_is_said_and_nothing_is_run() {
    let on = stage_with(&whole(), "");
    let says = |args: &[&str]| {
        let ended = on.phasegate(args);
        assert_eq!(ended.code, 2, "{args:?}: {}", ended.out);
        ended.err
    };
    assert!(says(&["task", "run", "nowhere"]).contains("there is no folder"));
    on.write("other/x", "1");
    assert!(says(&["task", "run", "other"]).contains("is not committed"));
    on.write("lamp.py", "changed");
    assert!(says(&["task", "run", "t"]).contains("commit or stash"));
    on.git(&["checkout", "-q", "lamp.py"]);
    on.git(&["checkout", "-q", "--detach"]);
    assert!(says(&["task", "run", "t"]).contains("no branch is checked out"));
}

#[test]
fn several_pieces_of_evidence_are_joined_by_a_page() {
    let piece = |name: &str| format!("      - write: {{ path: t/artifacts/{name}, text: seen }}\n");
    let parts = [
        part("role: main, pass: 1", &[piece("one.txt"), field("Objective", "The <lamp> can be lit.")]),
        part("role: main, pass: 2", &[piece("a two.txt")]),
        part("role: main, pass: 3", &["      - write: { path: t/artifacts/evidence.html, text: mine }\n".to_owned()]),
        part("role: main, pass: 4", &[piece("three.txt")]),
    ];
    let on = stage_with(&format!("passes:\n{}", parts.concat()), "");
    assert_eq!(on.run().code, 0);
    assert!(!on.path().join("t/artifacts/evidence.html").exists(), "one piece is linked by itself");
    let second = on.run();
    assert_eq!(second.json()["passes"][0]["gained"], json!(["evidence"]), "{}", second.out);
    let page = on.read("t/artifacts/evidence.html");
    assert!(page.contains("href=\"./one.txt\"") && page.contains("href=\"./a%20two.txt\""), "{page}");
    assert!(page.contains("The &lt;lamp&gt; can be lit."), "{page}");
    assert_eq!(second.json()["passes"][0]["commit"], on.git(&["rev-parse", "HEAD"]));
    // The pass left the claim as it was, which is said and stops nothing.
    assert_eq!(second.rules(), ["TSK-05"]);
    // What somebody else wrote stays.
    on.run();
    on.run();
    assert_eq!(on.read("t/artifacts/evidence.html"), "mine");
    assert!(on.path().join("t/artifacts/three.txt").exists());
}
