//! Each rule on a change that meets it and on one that does not.

use super::*;
use crate::engine::kit::{good_papers, sheet};
use crate::gate::papers::tests::told;
use crate::rehearsal::papers as good;

/// The rehearsal's code and its tests, in a change that brings both.
pub(crate) fn good_site() -> Site {
    of(&good::CODE)
}

fn of(files: &[(&str, &str)]) -> Site {
    let files: Vec<Touched> = files.iter().map(|(path, text)| Touched::new(path, text)).collect();
    let added: BTreeSet<String> = files.iter().map(|file| file.path.clone()).collect();
    let folders = added.iter().filter_map(|path| path.rsplit_once('/')).map(|(folder, _)| folder.to_owned());
    let there = folders.chain(added.iter().cloned()).collect();
    let manifests = added.iter().filter(|path| locks::locks_of(path).is_some()).cloned().collect();
    let locks = files.iter().map(|file| (file.path.clone(), Some(file.text.clone()))).collect();
    Site { files, added, there, manifests, locks, ..Site::default() }
}

fn found(site: &Site) -> Vec<String> {
    let mut policy = Policy::default();
    policy.gates.build.audit = vec!["pip-audit".to_owned()];
    told(&judge(site, &good_papers(), &policy))
}

/// The same change with one more file, or another text in one of them.
fn with(path: &str, text: &str) -> Site {
    let mut files: Vec<(&str, &str)> = good::CODE.into_iter().filter(|(own, _)| *own != path).collect();
    files.push((path, text));
    of(&files)
}

#[test]
fn the_good_change_is_good() {
    assert_eq!(found(&good_site()), [] as [&str; 0]);
}

#[test]
fn every_rule_has_a_sentence_and_a_next_step() {
    for rule in RULES.iter().chain(BRAKE) {
        assert!(rule.about.ends_with('.') && rule.next.ends_with('.'), "{}", rule.id);
    }
}

/// `BLD-03`: each criterion, at its line in scope.
#[test]
fn a_criterion_has_a_test_that_names_it() {
    let test = "def test_one_step():\n    \"\"\"AC-1\"\"\"\n    assert dim(3) == 2\n";
    assert_eq!(found(&with("tests/test_dimmer.py", test)), ["BLD-03 scope.md:15"]);
    assert_eq!(found(&with("tests/test_dimmer.py", "# AC-1 AC-2\n")), ["BLD-03 scope.md:14", "BLD-03 scope.md:15"]);
    // One that is never run shows nothing, and a comment is only said of the test that it stands at.
    let both = "import pytest\n\n\n@pytest.mark.skip\ndef test_ac_1():\n    assert dim(3) == 2\n\n\n# AC-2\ndef test_dark():\n    assert dim(0) == 0\n";
    assert_eq!(found(&with("tests/test_dimmer.py", both)), ["BLD-03 scope.md:14"]);
    let both = "# AC-1 and AC-2 are for later.\n\n\ndef helper():\n    assert True\n";
    assert_eq!(found(&with("tests/test_dimmer.py", both)), ["BLD-03 scope.md:14", "BLD-03 scope.md:15"]);
    // One that looks at nothing shows nothing either, and that is said.
    let both = "def test_ac_1():\n    assert dim(3) == 2\n\n\ndef test_ac_2():\n    assert True\n";
    let findings = judge(&with("tests/test_dimmer.py", both), &good_papers(), &Policy::default());
    assert_eq!(told(&findings), ["BLD-03 scope.md:15"]);
    assert!(findings[0].says.contains("looks at nothing, in `tests/test_dimmer.py`"), "{}", findings[0].says);
    // It may have been there before.
    let mut site = with("tests/test_dimmer.py", test);
    site.beside.push(("tests/test_dark.py".to_owned(), "def test_ac_2():\n    assert dim(0) == 0\n".to_owned()));
    assert_eq!(found(&site), [] as [&str; 0]);
}

/// The second of `BLD-03`: the way that readiness shows leads somewhere.
#[test]
fn the_tests_that_readiness_names_are_there() {
    let readiness = good::READINESS.replace("tests/test_dimmer.py::test_dark", "tests/test_dark.py::test_dark");
    let papers = Papers { readiness: Some(sheet(&readiness)), ..good_papers() };
    let findings = judge(&good_site(), &papers, &Policy::default());
    assert_eq!(told(&findings), ["BLD-03 warning readiness.md:16"]);
    assert!(findings[0].says.contains("`tests/test_dark.py`"), "{}", findings[0].says);
}

/// `BLD-04`: at its line, and never what it is.
#[test]
fn no_secret_is_added() {
    let token = format!("ghp_{}", "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zA3");
    let code = format!("import os\n\nTOKEN = \"{token}\"\n\n\ndef dim(level):\n    return max(0, level - 1)\n");
    let site = with("src/dimmer.py", &code);
    let findings = judge(&site, &good_papers(), &Policy::default());
    assert_eq!(told(&findings), ["BLD-04 src/dimmer.py:3"]);
    assert!(!format!("{findings:?}").contains("aB3d"), "{findings:?}");
    // What was there before is not this change's, and the policy may know better.
    let mut old = site.clone();
    old.files[1].lines[2] = false;
    assert_eq!(found(&old), [] as [&str; 0]);
    let mut policy = Policy::default();
    policy.secrets.allow = vec!["src/*.py".to_owned()];
    assert_eq!(told(&judge(&site, &good_papers(), &policy)), [] as [&str; 0]);
    // A mark that the change itself brings is nobody's word.
    let marked = code.replace("\"\n\n", "\"  # gitleaks:allow\n\n");
    assert_eq!(found(&with("src/dimmer.py", &marked)), ["BLD-04 src/dimmer.py:3"]);
}

/// The second of `BLD-04`, and what is too much to be looked through.
#[test]
fn what_was_not_looked_through_is_told() {
    let mut site = good_site();
    site.unread.push("tests/data/levels.csv".to_owned());
    assert_eq!(found(&site), ["BLD-04 warning tests/data/levels.csv"]);
    site.more = true;
    assert_eq!(found(&site), ["BLD-04", "BLD-04 warning tests/data/levels.csv"]);
}

/// `BLD-05`: nobody looks, and that is said once.
#[test]
fn dependencies_that_nobody_audits_are_unknown() {
    let unaudited = |site: &Site| {
        let all = told(&judge(site, &good_papers(), &Policy::default()));
        all.into_iter().filter(|one| one.starts_with("BLD-05")).collect::<Vec<_>>()
    };
    let manifest = "[project]\nname = \"dimmer\"\ndependencies = [\n  \"opentelemetry>=1\",\n]\n";
    assert_eq!(unaudited(&with("pyproject.toml", manifest)), ["BLD-05 warning pyproject.toml"]);
    assert_eq!(unaudited(&with("pyproject.toml", "[project]\nname = \"dimmer\"\n")), [] as [&str; 0]);
    assert_eq!(unaudited(&good_site()), [] as [&str; 0]);
    assert!(!found(&with("pyproject.toml", manifest)).iter().any(|one| one.starts_with("BLD-05")));
}

/// `BLD-06`.
#[test]
fn dependencies_are_locked() {
    let manifest = "[project]\nname = \"dimmer\"\ndependencies = [\n  \"opentelemetry>=1\",\n]\n";
    let lock = "[[package]]\nname = \"opentelemetry\"\nversion = \"3.0.0\"\n";
    assert_eq!(found(&with("pyproject.toml", manifest)), ["BLD-06 pyproject.toml"]);
    let files = [good::CODE[0], good::CODE[1], ("pyproject.toml", manifest), ("uv.lock", lock)];
    assert_eq!(found(&of(&files)), [] as [&str; 0]);
    let files = [good::CODE[0], good::CODE[1], ("pyproject.toml", manifest), ("uv.lock", "version = 1\n")];
    assert_eq!(found(&of(&files)), ["BLD-06 pyproject.toml:4"]);
}

/// `BLD-07`: each that is missing, at its line in the design, and each that nobody designed.
#[test]
fn the_tree_is_the_designs() {
    assert_eq!(
        found(&of(&[("src/dimmer.py", "x = 1\n"), ("src/test_x.py", "def test_ac_1_ac_2(): assert x\n")])),
        [
            "BLD-03 warning readiness.md:15",
            "BLD-03 warning readiness.md:16",
            "BLD-07 design.md:12",
            "BLD-07 design.md:13",
        ]
    );
    assert_eq!(found(&with("lib/other.py", "x = 1\n")), ["BLD-07 lib/other.py"]);
    for path in
        ["docs/a.md", "README.md", ".github/agents/x.md", "src/__init__.py", "tests/data.json", "Makefile", "uv.lock"]
    {
        assert_eq!(found(&with(path, "x\n")), [] as [&str; 0], "{path}");
    }
    // The name of the project above all is no folder, and a folder of which no more is said holds what it may.
    let tree = "lantern/\n├── src/\n└── tests/\n    └── test_dimmer.py\n";
    let drawn = "src/                    # and what it needs beside, …\n  dimmer.py             # the function\ntests/\n  \
                 test_dimmer.py\n";
    let design = good::DESIGN.replace(drawn, tree);
    assert_ne!(design, good::DESIGN);
    let papers = Papers { design: Some(sheet(&design)), ..good_papers() };
    assert_eq!(told(&judge(&with("src/more.py", "x = 1\n"), &papers, &Policy::default())), [] as [&str; 0]);
}

/// `BLD-08`.
#[test]
fn nothing_holds_a_place() {
    let code = "def dim(level):\n    raise NotImplementedError(\"AC-2\")\n";
    assert_eq!(found(&with("src/dimmer.py", code)), ["BLD-08 src/dimmer.py:2"]);
    let other = "class Lamp(Protocol):\n    def dim(self, level: int) -> int: ...\n";
    assert_eq!(found(&with("src/dimmer.py", other)), [] as [&str; 0]);
}

/// `BRK-01`: of what the design counts, without tests and papers.
#[test]
fn many_more_files_than_designed_pull_the_brake() {
    let few = [good::CODE[0], good::CODE[1], ("src/a.py", "a = 1\n"), ("tests/test_a.py", "def test_a(): assert 1\n")];
    assert_eq!(found(&of(&few)), [] as [&str; 0]);
    let many = [good::CODE[0], good::CODE[1], ("src/a.py", "a = 1\n"), ("src/b.py", "b = 1\n")];
    assert_eq!(found(&of(&many)), ["BRK-01 warning"]);
    let findings = judge(&of(&many), &good_papers(), &Policy::default());
    assert!(findings[0].says.ends_with("more than 2 files, and the design names 1."), "{}", findings[0].says);
    // Pictures and data are no sources, and a folder of which no more is drawn holds what it likes.
    let data = [
        good::CODE[0],
        good::CODE[1],
        ("src/a.png", "a"),
        ("src/b.json", "{}"),
        ("src/c.csv", "1"),
        ("src/d.svg", "<svg/>"),
    ];
    assert!(!found(&of(&data)).iter().any(|one| one.starts_with("BRK-01")));
    let design = good::DESIGN.replace("  dimmer.py             # the function\n", "  dimmer.py\n  handlers/\n");
    assert_ne!(design, good::DESIGN);
    let papers = Papers { design: Some(sheet(&design)), ..good_papers() };
    let handlers = [good::CODE[0], good::CODE[1], ("src/handlers/a.py", "a = 1\n"), ("src/handlers/b.py", "b = 1\n")];
    assert_eq!(told(&judge(&of(&handlers), &papers, &Policy::default())), [] as [&str; 0]);
    let papers = Papers { design: Some(sheet(&design.replace("  handlers/\n", "  handlers/\n    ...\n"))), ..papers };
    assert_eq!(told(&judge(&of(&handlers), &papers, &Policy::default())), [] as [&str; 0]);
    // What was only moved is not more, as far as something is gone elsewhere.
    let mut site = of(&many);
    site.moved = ["src/a.py", "src/b.py"].into_iter().map(str::to_owned).collect();
    assert_eq!(found(&site), ["BRK-01 warning"]);
    site.removed = 2;
    assert_eq!(found(&site), [] as [&str; 0]);
    let mut policy = Policy::default();
    policy.limits.files_over_design = 3;
    assert_eq!(told(&judge(&of(&many), &good_papers(), &policy)), [] as [&str; 0]);
}

/// `BRK-02`: what was as long before is not this change's.
#[test]
fn a_file_that_outgrows_its_limit_pulls_the_brake() {
    let long = "x = 1\n".repeat(301);
    let mut site = with("src/a.py", &long);
    assert_eq!(found(&site), ["BRK-02 warning src/a.py"]);
    for (before, now) in [(300, 1), (301, 0)] {
        site.files[2].lines_before = Some(before);
        assert_eq!(found(&site).len(), now, "{before}");
    }
    assert_eq!(found(&with("src/a.py", &"x = 1\n".repeat(300))), [] as [&str; 0]);
    assert_eq!(found(&with("tests/data/a.py", &long)), [] as [&str; 0]);
    // It was too long, and grows by half of that again.
    site.files[2].text = "x = 1\n".repeat(452);
    assert_eq!(found(&site), ["BRK-02 warning src/a.py"]);
    assert!(judge(&site, &good_papers(), &Policy::default())[0].says.contains("more than 450 lines"));
    site.files[2].lines_before = Some(302);
    assert_eq!(found(&site), [] as [&str; 0]);
    // Whatever it is written in.
    for path in ["src/engine.c", "src/run.sh", "src/a.sql", "src/App.vue", "src/a.scss", "src/lamp"] {
        let text = format!("#!/bin/sh\n{long}");
        assert_eq!(found(&with(path, &text)), [format!("BRK-02 warning {path}")], "{path}");
    }
    for path in ["src/levels.csv", "src/levels.json", "src/a.min.css", "vendor/a.c"] {
        assert!(!found(&with(path, &long)).iter().any(|one| one.starts_with("BRK-02")), "{path}");
    }
    // What stands on one line is not shorter for that, and what stands in a string is no statement.
    assert_eq!(found(&with("src/a.py", &"x = 1; ".repeat(310))), ["BRK-02 warning src/a.py"]);
    assert_eq!(found(&with("src/a.py", &format!("x = \"{}\"\n", "x; ".repeat(310)))), [] as [&str; 0]);
    assert_eq!(found(&with("src/a.js", &"for (let i = 0; i < 1; i++) { x(); y(); }\n".repeat(300))), [] as [&str; 0]);
    assert_eq!(found(&with("src/a.min.js", &"x(); ".repeat(310))), [] as [&str; 0]);
}

/// `BRK-04`: what only tests need, what was there before, and what the papers name is none.
#[test]
fn a_dependency_that_nobody_designed_pulls_the_brake() {
    let manifest = "[project]\nname = \"dimmer\"\ndependencies = [\n  \"opentelemetry\",\n  \"left-pad\",\n]\n[dependency-groups]\ndev = [\"pytest\"]\n";
    let lock = ["opentelemetry", "left-pad", "pytest"].map(|name| format!("[[package]]\nname = \"{name}\"\n")).concat();
    let files = [good::CODE[0], good::CODE[1], ("pyproject.toml", manifest), ("uv.lock", lock.as_str())];
    let mut site = of(&files);
    assert_eq!(found(&site), ["BRK-04 warning pyproject.toml:5"]);
    let findings = judge(&site, &good_papers(), &Policy::default());
    let expected = "BRK-04 pyproject.toml: `left-pad` is a dependency that neither design nor scope names.";
    assert_eq!(concerns(&findings).into_iter().collect::<Vec<_>>(), [expected]);
    site.manifests_before.insert("pyproject.toml".to_owned(), manifest.to_owned());
    assert_eq!(found(&site), [] as [&str; 0]);
}

/// By what it really is, on whatever system, and what only happens to be a word of the papers is not named.
#[test]
fn a_dependency_does_not_hide_behind_a_word() {
    let lock = ["openssl-sys", "nix", "press"].map(|name| format!("[[package]]\nname = \"{name}\"\n")).concat();
    let of_cargo = |manifest: &str| {
        let files = [good::CODE[0], good::CODE[1], ("Cargo.toml", manifest), ("Cargo.lock", lock.as_str())];
        found(&of(&files))
    };
    for manifest in [
        "[dependencies]\nlevel = { package = \"openssl-sys\", version = \"1\" }\n",
        "[target.\"cfg(all())\".dependencies]\nnix = \"1\"\n",
        // The design has "Each press logs".
        "[dependencies]\npress = \"1\"\n",
    ] {
        assert_eq!(of_cargo(manifest), ["BRK-04 warning Cargo.toml:2"], "{manifest}");
    }
    // The code imports what is called indirect; what it does not import is somebody else's.
    let module = "module a\n\nrequire golang.org/x/text v0.3.0 // indirect\n";
    let sum = "golang.org/x/text v0.3.0 h1:abc=\n";
    for (code, expected) in
        [("import \"golang.org/x/text/width\"\n", &["BRK-04 warning go.mod:3"][..]), ("import \"fmt\"\n", &[])]
    {
        let code = format!("package a\n\n{code}");
        let files = [good::CODE[0], good::CODE[1], ("go.mod", module), ("go.sum", sum), ("src/a.go", code.as_str())];
        assert_eq!(found(&of(&files)), expected, "{code}");
    }
    // A manifest that asks for no lock has dependencies all the same.
    let files = [good::CODE[0], good::CODE[1], ("setup.py", "setup(install_requires=['left-pad'])\n")];
    assert_eq!(found(&of(&files)), ["BRK-04 warning setup.py:1"]);
}
