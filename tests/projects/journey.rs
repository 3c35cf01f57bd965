//! Each project taken from `/expand` to its deployment on the twin, with reds, repairs and a cheat. What the trusted workflow
//! runs is run: the real program, and the project's own test runner.

use phasegate::rehearsal::{Rehearsal, Setup};
use serde_json::json;

use super::trusted::{self, Trusted};
use super::{Project, javascript, python, rust};

/// What the papers say of a project.
struct Told {
    stack: &'static str,
    tree: &'static str,
    faint: &'static str,
    dimmed: &'static str,
    /// How its program is started.
    program: String,
    dark: &'static str,
    two: &'static str,
}

/// Where a change goes wrong before it is right: a file, what is right in it, and what stands there first.
struct Slip {
    file: &'static str,
    right: &'static str,
    wrong: &'static str,
}

struct Journey {
    project: Project,
    told: Told,
    /// A test sees it.
    code: Slip,
    /// No test sees it, and whoever runs the program does.
    program: Slip,
    /// The test is bent to what the code did at first.
    bent: Slip,
}

/// The files of a folder below this one.
fn files(folder: &str) -> Vec<(String, String)> {
    let from = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/projects").join(folder);
    let (mut open, mut found) = (vec![std::path::PathBuf::new()], Vec::new());
    while let Some(below) = open.pop() {
        for entry in std::fs::read_dir(from.join(&below)).unwrap() {
            let path = below.join(entry.unwrap().file_name());
            match from.join(&path).is_dir() {
                true => open.push(path),
                false => {
                    let text = std::fs::read_to_string(from.join(&path)).unwrap();
                    found.push((path.to_str().unwrap().to_owned(), text));
                }
            }
        }
    }
    found.sort();
    found
}

impl Journey {
    fn papers(&self) -> Vec<(String, String)> {
        let Told { stack, tree, faint, dimmed, program, dark, two } = &self.told;
        let words = [
            ("{stack}", *stack),
            ("{tree}", tree),
            ("{faint}", faint),
            ("{dimmed}", dimmed),
            ("{program}", program),
            ("{dark}", dark),
            ("{two}", two),
        ];
        let filled = |text: String| words.iter().fold(text, |text, (word, with)| text.replace(word, with));
        let papers = files("papers").into_iter().map(|(name, text)| (format!("scaffolding/{name}"), filled(text)));
        let idea = ("docs/input/idea.md".to_owned(), "A lamp that can be turned down.\n".to_owned());
        papers.chain([idea]).collect()
    }

    /// The change's code, with these slips in it.
    fn code(&self, slips: &[&Slip]) -> Vec<(String, String)> {
        let mut all = files(&format!("{}/journey", self.project.language));
        for Slip { file, right, wrong } in slips {
            let (_, text) = all.iter_mut().find(|(path, _)| path == file).unwrap();
            assert!(text.contains(right), "{file}: {right}");
            *text = text.replace(right, wrong);
        }
        all
    }

    fn policy(&self) -> String {
        let none = "{ none: it is a lamp }";
        format!(
            "version: 1\nflow: pipeline\ngates:\n  verify:\n    from: [actions]\n{}    security: {{ dependencies: {none}, injection: {none}, \
             authentication: {none} }}\n",
            self.project.gate
        )
    }

    async fn goes_all_the_way(&self) {
        let mut base = files(&format!("{}/base", self.project.language));
        base.push((trusted::WORKFLOW.to_owned(), trusted::FILE.to_owned()));
        let on = Rehearsal::start(Setup { files: base, ..Setup::with_policy(&self.policy()) }).await.unwrap();
        let pushes = async |message: &str, files: Vec<(String, String)>| {
            let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
            on.pushes("rover", "work", message, &files).await.unwrap()
        };
        // The papers, from `/expand` to where building begins.
        pushes("the papers", self.papers()).await;
        let number = on.opens("rover", "Less light", "work").await.unwrap();
        on.says("ada", number, "/expand").await.unwrap();
        let shown = || on.status_comment(number).unwrap().body;
        let is_at = |label: &str| assert_eq!(on.label(number).unwrap().as_deref(), Some(label), "{}", shown());
        is_at("phase:build");

        // Red: a test sees what is wrong.
        pushes("first try", self.code(&[&self.code])).await;
        Trusted::asked(&on).answers(&on).await;
        is_at("phase:build");
        assert!(shown().contains("BLD-02") && shown().contains("VER-01: The test"), "{}", shown());

        // Repaired, as far as the tests can see: BUILD passes, and a person approves.
        pushes("second try", self.code(&[&self.program])).await;
        Trusted::asked(&on).answers(&on).await;
        is_at("phase:review");
        on.reviews("mia", number, "APPROVE").await.unwrap();
        // Red: whoever runs the program sees what is wrong.
        is_at("phase:verify");
        let says = shown();
        assert!(says.contains("`VER-02`") && says.contains("which is to show `AC-2`, did not print"), "{says}");
        assert!(says.contains("scaffolding/readiness.md:16"), "{says}");

        // A cheat: the test is bent until it asks for nothing, and so is the code.
        let head = pushes("third try", self.code(&[&self.code, &self.bent])).await;
        let says = shown();
        assert!(says.contains(&format!("build_tampered:{}", self.bent.file)), "{says}");
        assert_eq!(on.merge_check(number).unwrap().as_deref(), Some("failure"), "{says}");
        Trusted::asked(&on).answers(&on).await;
        assert_eq!(on.head(number).unwrap(), head);
        assert_eq!(on.merge_check(number).unwrap().as_deref(), Some("failure"), "a green does not help");

        // Honest: the test as it was, and code that does what is asked for.
        pushes("fourth try", self.code(&[])).await;
        Trusted::asked(&on).answers(&on).await;
        on.reviews("mia", number, "APPROVE").await.unwrap();
        is_at("phase:verified");
        assert_eq!(on.merge_check(number).unwrap().as_deref(), Some("success"), "{}", shown());

        // Merged, and deployed.
        let commit = on.merges("ada", number).await.unwrap().unwrap();
        is_at("phase:deploy");
        let deploys = "/deployments";
        let body = json!({ "ref": commit, "environment": "lamp", "required_contexts": [], "auto_merge": false });
        let deployment = on.does("root", "POST", deploys, body).await.unwrap();
        let statuses = format!("{deploys}/{}/statuses", deployment["id"]);
        let ended = |state: &str| {
            let (at, log) = ("https://lamp.example.com", "https://lamp.example.com/log");
            json!({ "state": state, "environment_url": at, "log_url": log })
        };
        on.does("root", "POST", &statuses, ended("failure")).await.unwrap();
        is_at("phase:deploy");
        assert!(shown().contains("DEP-03"), "{}", shown());
        on.does("root", "POST", &statuses, ended("success")).await.unwrap();
        is_at("phase:complete");
        let kinds: Vec<String> =
            on.records(number).unwrap().iter().map(|one| one["record"]["body"]["kind"].to_string()).collect();
        assert_eq!(kinds.iter().filter(|kind| *kind == "\"ran\"").count(), 4, "{kinds:?}");
        on.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_python_project_goes_from_its_scope_to_its_deployment() {
    let told = Told {
        stack: "Python 3.11",
        tree: "lamp/\n  __init__.py\n  __main__.py\ntests/\n  test_faint.py\n  test_dimmed.py",
        faint: "tests/test_faint.py::test_ac_1_faint_is_dark",
        dimmed: "tests/test_dimmed.py::test_ac_2_half_of_it",
        program: "python3 -B -m lamp".to_owned(),
        dark: "False",
        two: "True 2.0",
    };
    let code = Slip { file: "lamp/__init__.py", right: "level > FAINT", wrong: "level > 0" };
    let program = Slip { file: "lamp/__main__.py", right: "lamp.dimmed(level)", wrong: "level" };
    let bent = Slip { file: "tests/test_faint.py", right: "not lamp.shines(0.05)", wrong: "lamp.shines(0.05)" };
    Journey { project: python(), told, code, program, bent }.goes_all_the_way().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_javascript_project_goes_from_its_scope_to_its_deployment() {
    let told = Told {
        stack: "JavaScript, Node 24",
        tree: "lamp.mjs\ncli.mjs\ntest/\n  faint.test.mjs\n  dimmed.test.mjs",
        faint: "test/faint.test.mjs",
        dimmed: "test/dimmed.test.mjs",
        program: format!("{} cli.mjs", super::given("PHASEGATE_NODE").display()),
        dark: "false",
        two: "true 2",
    };
    let code = Slip { file: "lamp.mjs", right: "level > FAINT", wrong: "level > 0" };
    let program = Slip { file: "cli.mjs", right: "lamp.dimmed(level)", wrong: "level" };
    let bent =
        Slip { file: "test/faint.test.mjs", right: "lamp.shines(0.05), false", wrong: "lamp.shines(0.05), true" };
    Journey { project: javascript(), told, code, program, bent }.goes_all_the_way().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rust_project_goes_from_its_scope_to_its_deployment() {
    let told = Told {
        stack: "Rust 1.95",
        tree: "src/\n  lib.rs\nexamples/\n  lamp.rs\ntests/\n  faint.rs\n  dimmed.rs",
        faint: "tests/faint.rs",
        dimmed: "tests/dimmed.rs",
        program: "cargo run -q --offline --example lamp --".to_owned(),
        dark: "false",
        two: "true 2",
    };
    let code = Slip { file: "src/lib.rs", right: "level > FAINT", wrong: "level > 0.0 * FAINT" };
    let program = Slip { file: "examples/lamp.rs", right: "lamp::dimmed(level)", wrong: "level" };
    let bent = Slip { file: "tests/faint.rs", right: "!lamp::shines(0.05)", wrong: "lamp::shines(0.05)" };
    Journey { project: rust(), told, code, program, bent }.goes_all_the_way().await;
}
