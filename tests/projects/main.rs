//! Small projects in three languages with their real test runners: what a green of theirs is worth (docs/runner.md).
//!
//! Each lies in a folder: `base`, and what changes bring. `honest` has a new test that is red without it, and one of something that
//! the base does not have at all. `idle` has a new test that asks for nothing, `bent` a test that was bent to broken code, `hidden` one
//! that asks for nothing beside one that does not compile on the base.

#![allow(clippy::unwrap_used, reason = "a test that can not go on has failed")]

mod journey;
#[path = "../support/trusted.rs"]
mod trusted;

use std::path::{Path, PathBuf};
use std::process::Command;

use phasegate::runner::artefact::Artefact;

struct Project {
    language: &'static str,
    /// What `gates.verify` has.
    gate: String,
    /// A file of tests, for a change that takes it away.
    dark: &'static str,
    /// The names of its tests, as the runner reports them.
    names: Names,
}

struct Names {
    dark: &'static str,
    faint: &'static str,
    dimmed: &'static str,
}

fn given(name: &str) -> PathBuf {
    let set = std::env::var_os(name);
    PathBuf::from(set.unwrap_or_else(|| panic!("{name} is not set: `tests/run.sh` fetches what it names, and sets it")))
}

fn python() -> Project {
    let pytest = given("PHASEGATE_PYTEST");
    let pytest = pytest.display();
    let command = format!("PYTHONPATH={pytest} python3 -B -m pytest -q -p no:cacheprovider --junitxml=out.xml");
    Project {
        language: "python",
        gate: format!("    run: [\"{command}\"]\n    reports: [out.xml]\n    confine: {{ read: [\"{pytest}\"] }}\n"),
        dark: "tests/test_dark.py",
        names: Names {
            dark: "tests.test_dark test_is_dark",
            faint: "tests.test_faint test_faint_is_dark",
            dimmed: "tests.test_faint test_is_dimmed",
        },
    }
}

fn javascript() -> Project {
    let node = given("PHASEGATE_NODE");
    let node = node.display();
    let command = format!("{node} --test --test-reporter=junit --test-reporter-destination=out.xml 'test/*.test.mjs'");
    Project {
        language: "javascript",
        gate: format!("    run: [\"{command}\"]\n    reports: [out.xml]\n    confine: {{ read: [\"{node}\"] }}\n"),
        dark: "test/dark.test.mjs",
        names: Names { dark: "test it is dark", faint: "test faint is dark", dimmed: "test it is dimmed" },
    }
}

/// With nextest where it is, else with what Cargo has of its own, which needs a word to write reports.
fn rust() -> Project {
    let nextest = Command::new("cargo").args(["nextest", "--version"]).output();
    let gate = if nextest.is_ok_and(|told| told.status.success()) {
        "    run: [\"cargo nextest run --offline --no-fail-fast --profile ci\"]\n    reports: [target/nextest/ci/junit.xml]\n"
    } else {
        "    run:\n      - |\n        RUSTC_BOOTSTRAP=1 cargo test -q --offline --no-fail-fast -- -Zunstable-options --format junit > all || s=$?\n        \
         awk '/<\\?xml/ { n++ } n { print > (\"out-\" n \".xml\") }' all\n        exit ${s:-0}\n    reports: [\"out-*.xml\"]\n"
    };
    let names = match gate.contains("nextest") {
        true => {
            Names { dark: "lamp::dark is_dark", faint: "lamp::faint faint_is_dark", dimmed: "lamp tests::is_dimmed" }
        }
        false => Names { dark: "integration is_dark", faint: "integration faint_is_dark", dimmed: "tests is_dimmed" },
    };
    Project { language: "rust", gate: gate.to_owned(), dark: "tests/dark.rs", names }
}

impl Project {
    fn put(&self, part: &str, to: &Path) {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/projects").join(self.language).join(part);
        let mut open = vec![PathBuf::new()];
        while let Some(below) = open.pop() {
            std::fs::create_dir_all(to.join(&below)).unwrap();
            for entry in std::fs::read_dir(from.join(&below)).unwrap() {
                let path = below.join(entry.unwrap().file_name());
                match from.join(&path).is_dir() {
                    true => open.push(path),
                    false => drop(std::fs::copy(from.join(&path), to.join(&path)).unwrap()),
                }
            }
        }
    }

    /// A repository with the base and one change on it. The change without a name takes the tests of the dark away.
    fn with(&self, change: Option<&str>) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| {
            let mut git = Command::new("git");
            git.current_dir(dir.path()).args(["-c", "user.name=a", "-c", "user.email=a@b.c"]).args(args);
            let done = git.output().unwrap();
            assert!(done.status.success(), "{args:?} {}", String::from_utf8_lossy(&done.stderr));
        };
        git(&["init", "-q", "-b", "main"]);
        self.put("base", dir.path());
        let checks = "    checks: [{ name: verify, workflow: .github/workflows/phasegate-gates.yml }]\n";
        let policy = format!("version: 1\ngates:\n  verify:\n{checks}{}    earned: demand\n", self.gate);
        std::fs::create_dir_all(dir.path().join(".github")).unwrap();
        std::fs::write(dir.path().join(".github/phasegate.yml"), policy).unwrap();
        git(&["add", "-A"]);
        git(&["commit", "-qm", "base"]);
        git(&["checkout", "-qb", "work"]);
        match change {
            Some(part) => self.put(part, dir.path()),
            None => std::fs::remove_file(dir.path().join(self.dark)).unwrap(),
        }
        git(&["add", "-A"]);
        git(&["commit", "-qm", "change"]);
        dir
    }

    /// How the gate ends on a change, and what stands against it or is to be looked at, without the walls.
    fn judged(&self, change: Option<&str>) -> (i32, Vec<String>, Artefact) {
        let dir = self.with(change);
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("phasegate"));
        command.current_dir(dir.path()).args(["run", "verify"]).env_remove("GITHUB_ACTIONS");
        let ended = command.output().unwrap();
        let said = format!("{}{}", String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
        let log = std::fs::read(dir.path().join(".git/phasegate-verify/execution_log.json"));
        let artefact: Artefact = serde_json::from_slice(&log.unwrap_or_else(|_| panic!("{said}"))).unwrap();
        let mark = |blocks: bool| if blocks { "" } else { "~" };
        let told = artefact.findings.iter().filter(|one| !one.says.starts_with("Unconfined: "));
        let told = told.map(|one| format!("{}{} {}", mark(one.blocks()), one.rule, one.says)).collect();
        (ended.status.code().unwrap(), told, artefact)
    }

    fn is_judged_as_it_should(&self) {
        let Names { dark, faint, dimmed } = &self.names;
        let (code, told, log) = self.judged(Some("honest"));
        assert_eq!((code, log.summary.total, log.summary.failed), (0, 4, 0), "{told:#?}");
        let new = &log.earned.as_ref().unwrap().new_tests;
        assert_eq!((new.proved, new.idle, new.unproven), (1, 0, 1), "{told:#?}");
        assert_eq!(new.unproven_names, [*dimmed], "there is nothing of the kind on the base");
        assert!(log.tests.iter().any(|test| test.name == *faint), "{:?}", log.tests);

        let (code, told, _) = self.judged(Some("idle"));
        let says = format!(
            "VER-12 The new test `{faint}` passes on the base's code too, so it proves nothing about the change."
        );
        assert_eq!((code, told), (1, vec![says]));

        let (code, told, _) = self.judged(Some("bent"));
        let says = format!("VER-11 The test `{dark}`, as the base has it, fails on the head's code");
        assert!(code == 1 && told.len() == 1 && told[0].starts_with(&says), "{told:#?}");

        let (code, told, log) = self.judged(None);
        let base = log.earned.as_ref().unwrap().base.short();
        let says = format!("VER-10 2 tests ran on the base ({base}), and 1 on the head. Gone: `{dark}`.");
        assert_eq!((code, told), (1, vec![says]));
    }
}

#[test]
fn python_with_pytest() {
    python().is_judged_as_it_should();
}

#[test]
fn javascript_with_nodes_own_runner() {
    javascript().is_judged_as_it_should();
}

#[test]
fn rust_with_nextest_or_with_what_cargo_has() {
    rust().is_judged_as_it_should();
}

/// One file that does not compile without the change keeps all of them from running there. It hides none.
#[test]
fn a_test_that_does_not_compile_hides_no_other() {
    let rust = rust();
    let (code, told, log) = rust.judged(Some("hidden"));
    let new = &log.earned.as_ref().unwrap().new_tests;
    assert_eq!((new.proved, new.idle, new.unproven), (0, 1, 1), "{told:#?}");
    let says = format!(
        "VER-12 The new test `{}` passes on the base's code too, so it proves nothing about the change.",
        rust.names.faint
    );
    assert!(code == 1 && told[0] == says && told.len() == 2, "{told:#?}");
}
