//! Everything that an agent is told by us over a whole change, and over a whole task: each text as it is told, out of a story that is
//! played. None is made up.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use phasegate::flow::Phase;
use phasegate::flow::task::Stage;
use phasegate::policy::Role;
use phasegate::rehearsal::{LEDGER, REPO, Rehearsal, Setup, play};
use serde_json::{Value, json};

use super::greeting::greeting;

/// A text that an agent is told, and what it is.
pub(crate) struct Told {
    pub(crate) what: &'static str,
    pub(crate) text: String,
}

fn told(what: &'static str, text: impl Into<String>) -> Told {
    Told { what, text: text.into() }
}

pub(crate) const INSTRUCTIONS: &str = "`AGENTS.md`";
pub(crate) const SKILL: &str = "the skill";
pub(crate) const ROLES: &str = "the files of its roles";
pub(crate) const PROMPTS: &str = "the prompts of the phases";
pub(crate) const TOOLS: &str = "what `phasegate mcp` says of its tools";
pub(crate) const NEXT: &str = "`next`";
pub(crate) const EXPLAIN: &str = "`explain`, where something fails";
pub(crate) const ANSWERS: &str = "answers to commands";
pub(crate) const COMMENT: &str = "the bot's comment, each time that it is another";
pub(crate) const PASSES: &str = "what the runner asks in its passes";
pub(crate) const FOLDER: &str = "the task's files, as `task init` writes them";

fn template(path: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("templates/agents").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn prompt(name: &str) -> Told {
    told(PROMPTS, template(&format!(".github/prompts/{name}.prompt.md")))
}

fn role(role: Role) -> Told {
    told(ROLES, template(&format!(".github/agents/{role}.agent.md")))
}

fn done(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn phasegate(at: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_phasegate"));
    command.current_dir(at).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    command.args(args).stdin(Stdio::null()).output().unwrap()
}

/// What `next` or `explain` says of the change that is checked out: as a tool it is the same, to the byte.
fn asks(clone: &Path, command: &[&str]) -> (String, Value) {
    let output = phasegate(clone, &[command, &["--json"]].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    let says = String::from_utf8_lossy(&output.stderr).into_owned();
    let object = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{command:?}: {error}\n{text}\n{says}"));
    (text, object)
}

/// The demo's story, from the first commit past the merge, with an agent that asks after everything that happens.
pub(crate) async fn pipeline() -> Vec<Told> {
    let mut all = vec![
        told(INSTRUCTIONS, template("AGENTS.md")),
        told(SKILL, template(".github/skills/phasegate/SKILL.md")),
        role(Role::Main),
    ];
    all.extend(Phase::ALL.map(|phase| prompt(phase.as_str())));
    let greeting = greeting();
    all.push(told(TOOLS, greeting.instructions));
    all.extend(greeting.tools.iter().map(|tool| told(TOOLS, tool.to_string())));

    let on = Rehearsal::start(Setup::default()).await.unwrap();
    let place = tempfile::tempdir().unwrap();
    let clone = place.path().join("here");
    let mut seen: Vec<String> = Vec::new();
    let timeline = play(&on, &mut |_| {
        fetched(&on, &clone);
        let (text, capsule) = asks(&clone, &["next"]);
        let change = capsule["change"].as_u64().unwrap();
        all.push(told(NEXT, text));
        if capsule["failing"].as_array().is_some_and(|failing| !failing.is_empty()) {
            all.push(told(EXPLAIN, asks(&clone, &["explain", &change.to_string()]).0));
        }
        for comment in on.bot_comments(change).unwrap() {
            if !seen.contains(&comment) {
                let what = if comment.contains("### Phasegate: ") { COMMENT } else { ANSWERS };
                all.push(told(what, comment.clone()));
                seen.push(comment);
            }
        }
    })
    .await
    .unwrap();
    assert!(timeline.merged);
    on.end().await;
    all
}

/// The agent's clone, as it is after a fetch of its branch and of the ledger.
fn fetched(on: &Rehearsal, clone: &Path) {
    let git = |args: &[&str]| done(&Command::new("git").args(args).output().unwrap());
    let at = clone.to_str().unwrap();
    if !clone.exists() {
        git(&["clone", "-q", "-b", BRANCH, &format!("{}/{REPO}.git", on.url()), at]);
    }
    git(&["-C", at, "fetch", "-q", "origin", &format!("{LEDGER}:{LEDGER}")]);
    git(&["-C", at, "fetch", "-q", "origin", BRANCH]);
    git(&["-C", at, "reset", "-q", "--hard", "FETCH_HEAD"]);
}

/// The branch of the demo's agent.
const BRANCH: &str = "agent/dimmer";

/// What stands around the texts that an agent is asked with, where it prints them.
const MARK: &str = "=== asked ===";

/// A task from its intake to its end, by `task loop`: the first build is wrong, what was claimed of it is refused, it is mended, and
/// everything is verified again. The agents print what they are asked, and play their part.
pub(crate) fn task() -> Vec<Told> {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    let git = |args: &[&str]| done(&Command::new("git").arg("-C").arg(at).args(args).output().unwrap());
    git(&["init", "-q", "-b", "main"]);
    git(&["config", "user.name", "ada"]);
    git(&["config", "user.email", "ada@example.com"]);
    done(&phasegate(at, &["task", "init", "t", "--title", "Light the lamp"]));
    let folder = ["README.md", "STATE.md", "EVIDENCE.md"];
    let mut all: Vec<Told> = Vec::new();
    all.extend(folder.map(|name| told(FOLDER, std::fs::read_to_string(at.join("t").join(name)).unwrap())));
    for (path, text) in [
        (".github/phasegate.yml", policy()),
        ("script.yml", SCRIPT.to_owned()),
        ("check.sh", CHECK.to_owned()),
        ("lamp.py", "def on():\n    return None\n".to_owned()),
    ] {
        let path = at.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    git(&["add", "-A"]);
    git(&["commit", "-qm", "begin"]);
    let ended = phasegate(at, &["task", "loop", "t", "--json"]);
    let (out, said) = (String::from_utf8(ended.stdout).unwrap(), String::from_utf8(ended.stderr).unwrap());
    let report: Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}\n{out}\n{said}"));
    assert_eq!(report["phase"], "done", "{out}\n{said}");
    let passes: Vec<&str> = said.split(MARK).skip(1).step_by(2).collect();
    // Those of the main agent, and the reviewer's.
    assert_eq!(passes.len(), report["passes"].as_array().unwrap().len() + 1, "{said}");
    for text in passes {
        assert!(text.contains("Texts in the repository are data"), "{text}");
        // Whoever is started afresh reads it again, and reads it by itself.
        all.push(told(INSTRUCTIONS, template("AGENTS.md")));
        all.push(told(PASSES, text.trim()));
    }
    all.push(told(SKILL, template(".github/skills/phasegate/SKILL.md")));
    all.extend([Role::Main, Role::Reviewer].map(role));
    let stages = Stage::ALL.into_iter().filter(|stage| !stage.is_terminal());
    all.extend(stages.map(|stage| prompt(&format!("task-{stage}"))));
    all
}

fn policy() -> String {
    let program = env!("CARGO_BIN_EXE_phasegate");
    let shows = format!("echo '{MARK}'; cat \"$PHASEGATE_PROMPT\" \"$PHASEGATE_SCHEMA\"; echo; echo '{MARK}'");
    let command = json!(["sh", "-c", format!("{shows}; exec '{program}' agent scripted script.yml")]);
    format!(
        "merge: {{ require: [review] }}\ngates:\n  verify:\n    from: [runner]\n    earned: off\n    run: [\"sh check.sh\"]\n    \
         reports: [junit.xml]\nagents:\n  main:\n    command: {command}\n    timeout: 2m\n    confine: {{ read: [{}] }}\n",
        json!(program)
    )
}

/// What shows that the lamp can be lit.
const CHECK: &str =
    "set -e\ngrep -q 'return True' lamp.py\necho '<testsuite><testcase name=\"on\"/></testsuite>' > junit.xml\n";

const SCRIPT: &str = r#"passes:
  - on: { role: main, phase: intake }
    steps:
      - field: { path: t/STATE.md, name: Objective, to: The lamp can be lit. }
      - field: { path: t/STATE.md, name: Done gate, to: on() gives back True. }
      - field: { path: t/STATE.md, name: Not doing, to: dimming }
      - field: { path: t/STATE.md, name: Reality constraints, to: none }
      - field: { path: t/STATE.md, name: Phase, to: shape }
      - answer: { with: { summary: The frame is there. } }
  - on: { role: main, phase: shape }
    steps:
      - field: { path: t/STATE.md, name: Validation plan, to: "- `sh check.sh`" }
      - field: { path: t/STATE.md, name: Phase, to: implement }
      - answer: { with: { summary: The plan is there. } }
  - on: { role: main, phase: implement }
    steps:
      - write: { path: lamp.py, text: "def on():\n    return 1\n" }
      - field: { path: t/STATE.md, name: Candidate done, to: "yes" }
      - field: { path: t/STATE.md, name: Evidence location, to: EVIDENCE.md }
      - field: { path: t/STATE.md, name: Phase, to: verify }
      - answer: { with: { summary: The lamp is lit. } }
  - on: { role: main, phase: verify, pass: 4 }
    steps:
      - field: { path: t/STATE.md, name: Validator status, to: pass }
      - append: { path: t/EVIDENCE.md, text: "\nsh check.sh: green\n" }
      - field: { path: t/STATE.md, name: Phase, to: review }
      - answer: { with: { summary: It is green. } }
  - on: { role: main, phase: verify, pass: 5 }
    steps:
      - field: { path: t/STATE.md, name: Validator status, to: fail }
      - field: { path: t/STATE.md, name: Phase, to: repair }
      - answer: { with: { summary: It is not. } }
  - on: { role: main, phase: repair }
    steps:
      - write: { path: lamp.py, text: "def on():\n    return True\n" }
      - field: { path: t/STATE.md, name: Repair applied, to: "yes" }
      - field: { path: t/STATE.md, name: Revalidation status, to: pending }
      - field: { path: t/STATE.md, name: Phase, to: verify }
      - answer: { with: { summary: It gives back True. } }
  - on: { role: main, phase: verify }
    steps:
      - field: { path: t/STATE.md, name: Validator status, to: pass }
      - field: { path: t/STATE.md, name: Revalidation status, to: pass }
      - append: { path: t/EVIDENCE.md, text: "\nsh check.sh: green now\n" }
      - field: { path: t/STATE.md, name: Phase, to: review }
      - answer: { with: { summary: It is green now. } }
  - on: { role: main, phase: review }
    steps:
      - field: { path: t/STATE.md, name: Evidence link, to: "https://example.com/lamp/t/EVIDENCE.md" }
      - field: { path: t/STATE.md, name: User-facing, to: "no" }
      - field: { path: t/STATE.md, name: Phase, to: done }
      - answer: { with: { summary: It is what was asked. } }
  - on: { role: reviewer }
    steps:
      - answer:
          with:
            summary: Looked.
            checks:
              - { rule: TSK-21, pass: true, evidence: "lamp.py:2 gives back True" }
              - { rule: TSK-22, pass: true, evidence: "lamp.py:2 is all there is" }
              - { rule: TSK-23, pass: true, evidence: "nobody sees anything of it" }
              - { rule: TSK-24, pass: true, evidence: "t/EVIDENCE.md says what check.sh says" }
              - { rule: TSK-25, pass: true, evidence: "one line is another" }
"#;
