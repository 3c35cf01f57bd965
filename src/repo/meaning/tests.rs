use super::super::testing::{File, Scratch};
use super::set::RUNNERS;
use super::*;
use crate::repo::Error;

const CI: &str = ".github/workflows/ci.yml";
const FILE: u32 = 0o100_644;
const EXEC: u32 = 0o100_755;
const LINK_MODE: u32 = 0o120_000;

/// A repository as it stands on the default branch.
struct Stage {
    repo: Scratch,
    files: BTreeMap<String, (u32, String)>,
}

impl Stage {
    fn new(workflow: &str) -> Self {
        Self { repo: Scratch::new(), files: BTreeMap::new() }.with(CI, workflow)
    }

    fn with(self, path: &str, text: &str) -> Self {
        self.mode(path, FILE, text)
    }

    fn exec(self, path: &str, text: &str) -> Self {
        self.mode(path, EXEC, text)
    }

    fn link(self, path: &str, to: &str) -> Self {
        self.mode(path, LINK_MODE, to)
    }

    fn mode(mut self, path: &str, mode: u32, text: &str) -> Self {
        self.files.insert(path.to_owned(), (mode, text.to_owned()));
        self
    }

    fn commit(&self, files: &BTreeMap<String, (u32, String)>) -> CommitId {
        let files: Vec<File<'_>> =
            files.iter().map(|(path, (mode, text))| (path.as_bytes(), *mode, text.as_bytes())).collect();
        self.repo.commit(&[], &files)
    }

    /// What is said of a change that writes these files; an empty text deletes.
    fn change(&self, files: &[(&str, &str)]) -> Drift {
        let mut head = self.files.clone();
        for (path, text) in files {
            match *text {
                "" => drop(head.remove(*path)),
                text => {
                    let mode = head.get(*path).map_or(FILE, |(mode, _)| *mode);
                    head.insert((*path).to_owned(), (mode, text.to_owned()));
                }
            }
        }
        self.head(&head)
    }

    fn head(&self, head: &BTreeMap<String, (u32, String)>) -> Drift {
        self.between(&self.files, head)
    }

    /// What is said of a head that began at a base, when the default branch stands as this does.
    fn between(&self, base: &BTreeMap<String, (u32, String)>, head: &BTreeMap<String, (u32, String)>) -> Drift {
        let (tip, base, head) = (self.commit(&self.files), self.commit(base), self.commit(head));
        let reader = self.repo.reader();
        let named = policy::globs(["named/**"]).unwrap();
        let different = reader.diff(&tip, &head).unwrap();
        let touched = crate::repo::touched(&reader.diff(&base, &head).unwrap());
        let sides = Sides { tip: &tip, base: &base, head: &head };
        drift(&reader, CI, Some(&named), sides, &different, &touched).unwrap()
    }

    #[track_caller]
    fn counts(&self, path: &str, what: &str) -> &Self {
        let found = self.change(&[(path, "changed\n")]).unwrap();
        assert_eq!(found.get(path).map(|changed| changed.what), Some(what), "{path} {found:?}");
        self
    }

    #[track_caller]
    fn free(&self, path: &str) -> &Self {
        assert_eq!(self.change(&[(path, "changed\n")]), Ok(BTreeMap::new()), "{path}");
        self
    }
}

fn steps(steps: &str) -> String {
    format!("on: pull_request\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n{steps}")
}

#[test]
fn a_rust_project() {
    let stage = Stage::new(&steps(
        "      - uses: actions/checkout@v4\n      - run: cargo nextest run --profile ci\n      - run: ./scripts/coverage.sh --min 80\n      - run: cargo xtask lint\n",
    ))
    .exec("scripts/coverage.sh", "#!/bin/sh\nscripts/lib/report.sh \"$@\"\n")
    .exec("scripts/lib/report.sh", "true\n")
    .exec("scripts/release.sh", "true\n")
    .with("src/lib.rs", "x")
    .with("Cargo.lock", "x")
    .with("Cargo.toml", "[package]\nname = 'x'\n[dependencies]\na = '1'\n")
    .with("tests/a.rs", "x")
    .with(".config/nextest.toml", "x")
    .with("xtask/src/main.rs", "x");
    stage
        .counts(CI, WORKFLOW)
        .counts("scripts/coverage.sh", SCRIPT)
        .counts("scripts/lib/report.sh", SCRIPT)
        .counts(".config/nextest.toml", "configuration of a test runner")
        .counts(".cargo/config.toml", "configuration of the program that runs the tests")
        .counts("clippy.toml", "configuration of a linter or type checker")
        .counts("xtask/src/main.rs", "the task runner that it builds and runs")
        .counts("named/x", BY_POLICY);
    for path in ["src/lib.rs", "Cargo.lock", "tests/a.rs", "README.md", "scripts/release.sh"] {
        stage.free(path);
    }
    let gone = stage.change(&[("scripts/coverage.sh", "")]).unwrap();
    assert_eq!(gone["scripts/coverage.sh"], Changed { blob: None, what: SCRIPT, touched: true });

    let manifest = |path: &str, text: &str| {
        let found = stage.change(&[(path, text)]).unwrap();
        found.get(path).map(|changed| changed.what)
    };
    let own = "[package]\nname = 'x'\n[dependencies]\na = '2'\n";
    assert_eq!(manifest("Cargo.toml", own), None, "a dependency may move");
    assert_eq!(manifest("new/Cargo.toml", &format!("{own}[lib]\nname = 'y'\n")), None, "a crate may come");
    for more in ["[lib]\ntest = false\n", "[profile.test]\ndebug-assertions = false\n", "[lints.rust]\nx = 'allow'\n"] {
        let what = Some("targets, profiles and lints of a package");
        assert_eq!(manifest("Cargo.toml", &format!("{own}{more}")), what, "{more}");
    }
    let quiet = own.replace("name", "autotests = false\nname");
    assert!(manifest("Cargo.toml", &quiet).is_some() && manifest("Cargo.toml", "[broken").is_some());
}

#[test]
fn a_python_project() {
    let project = "[project]\ndependencies = ['a==1']\n[tool.pytest.ini_options]\naddopts = '-q'\n";
    let stage = Stage::new(&steps(
        "      - run: pip install -r requirements.txt -c constraints.txt\n      - run: |\n          python -m tools.check --all\n          python3.12 ci/run.py\n          env CI=1 python -m pytest tests/test_a.py\n        working-directory: ./\n",
    ))
    .with("tools/check.py", "x")
    .with("ci/run.py", "x")
    .with("requirements.txt", "a==1")
    .with("constraints.txt", "a==1")
    .with("pyproject.toml", project)
    .with("tests/test_a.py", "x");
    stage
        .counts("tools/check.py", SCRIPT)
        .counts("ci/run.py", SCRIPT)
        .counts("tests/conftest.py", "code that every test run loads first")
        .counts("conftest.py", "code that every test run loads first")
        .counts("pytest.ini", "configuration of a test runner")
        .counts("pyproject.toml", "configuration of a test runner or linter");
    for path in ["requirements.txt", "constraints.txt", "tests/test_a.py", "tests/test_b.py", "src/conftest_notes.md"] {
        stage.free(path);
    }
    let bumped = project.replace("a==1", "a==2");
    assert_eq!(stage.change(&[("pyproject.toml", &bumped)]), Ok(BTreeMap::new()));
}

#[test]
fn a_node_project() {
    let package = |test: &str, version: &str| {
        format!(
            r#"{{"scripts": {{"test": "{test}", "start": "node src/server.js"}}, "dependencies": {{"a": "{version}"}}}}"#
        )
    };
    let own = package("node tools/run.js && jest", "1");
    let stage = Stage::new(&steps(
        "      - run: npm ci\n      - run: cd web && npm test\n      - run: node src/server.js &\n      - run: npx eslint --config=ci/eslint.mjs src/a.js\n",
    ))
    .with("web/package.json", &own)
    .with("web/tools/run.js", "x")
    .with("src/server.js", "x")
    .with("src/a.js", "x")
    .with("ci/eslint.mjs", "x")
    .with("web/package-lock.json", "{}");
    assert_eq!(stage.change(&[("web/package.json", &package("node tools/run.js && jest", "2"))]), Ok(BTreeMap::new()));
    let emptied = stage.change(&[("web/package.json", &package("true", "1"))]).unwrap();
    assert_eq!(emptied["web/package.json"].what, "scripts of a package");
    stage
        .counts("web/tools/run.js", SCRIPT)
        .counts("src/server.js", SCRIPT)
        .counts("ci/eslint.mjs", NAMED)
        .counts("web/jest.config.ts", "configuration of a test runner")
        .counts("web/tsconfig.build.json", "configuration of a linter or type checker")
        .counts("web/.npmrc", "configuration of the program that runs the tests");
    for path in ["src/a.js", "web/package-lock.json", "web/src/server.js", "web/a.test.js"] {
        stage.free(path);
    }
    // Nobody runs the package's scripts here, so they mean nothing.
    let rust = Stage::new(&steps("      - run: cargo test\n")).with("web/package.json", &own);
    assert_eq!(rust.change(&[("web/package.json", &package("true", "1"))]), Ok(BTreeMap::new()));
    assert!(rust.change(&[("web/package.json", "{\"jest\": {}}")]).unwrap().contains_key("web/package.json"));
}

#[test]
fn task_files_and_what_they_run() {
    let stage = Stage::new(&steps(
        "      - run: make -C backend test\n      - run: just lint\n      - run: task check\n        working-directory: front\n",
    ))
    .with("backend/Makefile", "include rules.mk\ntest:\n\t@../tools/test.sh\nrun:\n\tpython src/app.py\n\t./manage.py\n")
    .with("backend/rules.mk", "x")
    .exec("tools/test.sh", "x")
    .exec("backend/manage.py", "x")
    .with("backend/src/app.py", "x")
    .with("justfile", "x")
    .with("front/Taskfile.yml", "x");
    stage
        .counts("backend/Makefile", "the makefile that it runs")
        .counts("backend/GNUmakefile", "the makefile that it runs")
        .counts("backend/rules.mk", SCRIPT)
        .counts("backend/more.mk", "the makefile that it runs")
        .counts("Makefile", "the makefile that it runs")
        .counts("tools/test.sh", SCRIPT)
        .counts("justfile", "the justfile that it runs")
        .counts("front/Taskfile.yml", "the task file that it runs");
    for path in ["backend/src/app.py", "other/Makefile", "docs/Makefile.md"] {
        stage.free(path);
    }
}

#[test]
fn scripts_are_found_however_they_are_named() {
    for run in [
        "./ci/test.sh",
        "bash -eu ci/test.sh",
        "cd ci && ./test.sh",
        "cd \"$GITHUB_WORKSPACE/ci\" && sh test.sh",
        "cd x && cd ../ci && ./test.sh",
        "env A=1 timeout 10m ci/test.sh --fast",
        "bash -c \"ci/test.sh\"",
        "if ! ci/test.sh; then exit 1; fi",
        "$GITHUB_WORKSPACE/ci/test.sh",
        "${{ github.workspace }}/ci/test.sh",
        "./ci/${{ matrix.kind }}.sh",
        "for t in ci/*.sh; do bash \"$t\"; done",
        "docker run -v $PWD:/w image ci/test.sh",
        ". ci/test.sh",
        "make test FLAGS=ci/test.sh",
    ] {
        let quoted = serde_json::to_string(run).unwrap();
        let stage =
            Stage::new(&steps(&format!("      - run: {quoted}\n"))).with("ci/test.sh", "x").with("ci/notes.md", "x");
        stage.counts("ci/test.sh", SCRIPT).free("ci/notes.md").free("src/test.py");
    }
    // To look at one is not to run it.
    for run in ["shellcheck ci/*.sh", "cat ci/test.sh", "git diff --exit-code ci/test.sh"] {
        let stage = Stage::new(&steps(&format!("      - run: {run}\n"))).with("ci/test.sh", "x");
        stage.free("ci/test.sh");
    }
    for run in
        ["uv run tools/check.py", "coverage run tools/check.py", "tools/check.py", "poetry run python tools/check.py"]
    {
        let workflow = steps(&format!("      - run: {run}\n        working-directory: web\n"));
        let stage = Stage::new(&workflow).with("web/tools/check.py", "x").with("web/src/app.py", "x");
        stage.counts("web/tools/check.py", SCRIPT).free("web/src/app.py").free("web/tests/test_check.py");
    }
    let go = Stage::new(&steps("      - run: go run ./tools/check && go run ./cmd/server\n"))
        .with("tools/check/main.go", "x")
        .with("tools/check/more.go", "x")
        .with("cmd/server/main.go", "x");
    go.counts("tools/check/main.go", SCRIPT).counts("tools/check/more.go", SCRIPT).free("cmd/server/main.go");
}

#[test]
fn reusable_workflows_and_actions_are_followed() {
    let stage = Stage::new("on: push\njobs: {a: {uses: ./.github/workflows/reusable.yml}}\n")
        .with(".github/workflows/reusable.yml", &steps("      - uses: ./.github/actions/prove\n"))
        .with(".github/workflows/other.yml", "x")
        .with(
            ".github/actions/prove/action.yml",
            "runs: {using: composite, steps: [{run: 'make -f ci/rules.mk all', shell: bash}, {uses: ./tools/../more}]}\n",
        )
        .with(".github/actions/prove/helper.txt", "x")
        .with("more/action.yaml", "runs: {using: node20, main: index.js}\n")
        .with("ci/rules.mk", "x");
    stage
        .counts(".github/workflows/reusable.yml", USED)
        .counts(".github/actions/prove/action.yml", USED)
        .counts(".github/actions/prove/helper.txt", USED)
        .counts("more/index.js", USED)
        .counts("ci/rules.mk", SCRIPT)
        .free(".github/workflows/other.yml");
    // A workflow that the change brings along is read as well.
    let head = steps("      - run: new/run.sh\n");
    let found = stage.change(&[(CI, &head), ("new/run.sh", "true\n")]).unwrap();
    assert_eq!(found.keys().collect::<Vec<_>>(), [CI, "new/run.sh"]);
}

#[test]
fn links_are_followed_inside_the_tree_and_nowhere_else() {
    let workflow = steps("      - uses: ./.github/actions/prove\n      - run: ci/test.sh\n");
    let stage = Stage::new(&workflow)
        .link(".github/actions", "../shared")
        .with("shared/prove/action.yml", "runs: {using: composite, steps: []}\n")
        .link("shared/prove/data", "../../deep/data")
        .with("deep/data/x.txt", "x")
        .link("ci", "tools/ci")
        .with("tools/ci/test.sh", "x")
        .with("src/a.py", "x");
    stage
        .counts("shared/prove/action.yml", USED)
        .counts("deep/data/x.txt", USED)
        .counts("tools/ci/test.sh", SCRIPT)
        .free("src/a.py");
    let mut moved = stage.files.clone();
    moved.insert("ci".to_owned(), (LINK_MODE, "evil".to_owned()));
    moved.insert("evil/test.sh".to_owned(), (EXEC, "true".to_owned()));
    let found = stage.head(&moved).unwrap();
    assert_eq!(found.keys().collect::<Vec<_>>(), ["ci", "evil/test.sh"]);

    for to in ["/opt/actions", "../../out", "gone", "../actions"] {
        let stage = Stage::new(&workflow).link(".github/actions", to).with("src/a.py", "x");
        let why = stage.change(&[("src/a.py", "changed")]).unwrap_err();
        assert!(why.contains(".github/actions"), "{to}: {why}");
    }
    let outside = Stage::new(&steps("      - uses: ./../x\n"));
    assert!(outside.change(&[("a", "b")]).unwrap_err().contains("not in the repository"));
    let broken = Stage::new("a: [");
    assert!(broken.change(&[("a", "b")]).is_err());
}

#[test]
fn configuration_counts_where_the_change_touches_it_and_scripts_as_they_stand() {
    let package = |test: &str, version: &str| {
        format!(r#"{{"scripts": {{"test": "{test}"}}, "dependencies": {{"a": "{version}"}}}}"#)
    };
    let stage = Stage::new(&steps("      - run: npm test\n      - run: ci/test.sh && jest --config ci/jest.json\n"))
        .exec("ci/test.sh", "new")
        .with("ci/jest.json", "new")
        .with("packages/new/tsconfig.json", "{}")
        .with("package.json", &package("jest --strict", "1"))
        .with("named/x", "new");
    let mut base = stage.files.clone();
    base.remove("packages/new/tsconfig.json");
    for (path, text) in [("ci/test.sh", "old"), ("ci/jest.json", "old"), ("named/x", "old")] {
        base.insert(path.to_owned(), (FILE, text.to_owned()));
    }
    base.insert("package.json".to_owned(), (FILE, package("jest", "1")));
    // The default branch moved on under a change that only bumps a dependency.
    let mut head = base.clone();
    head.insert("package.json".to_owned(), (FILE, package("jest", "2")));
    let found = stage.between(&base, &head).unwrap();
    let moved: Vec<(&str, bool)> = found.iter().map(|(path, now)| (path.as_str(), now.touched)).collect();
    assert_eq!(moved, [("ci/test.sh", false), ("named/x", false)]);
    // What it touches counts, though the default branch moved too.
    head.insert("package.json".to_owned(), (FILE, package("true", "2")));
    head.insert("ci/jest.json".to_owned(), (FILE, "mine".to_owned()));
    head.insert("tsconfig.json".to_owned(), (FILE, "{}".to_owned()));
    let found = stage.between(&base, &head).unwrap();
    let touched: Vec<&str> = found.iter().filter(|(_, now)| now.touched).map(|(path, _)| path.as_str()).collect();
    assert_eq!(touched, ["ci/jest.json", "package.json", "tsconfig.json"]);
    // What it took over from the default branch does not.
    let found = stage.between(&base, &stage.files.clone()).unwrap();
    assert_eq!(found, BTreeMap::new());
}

/// A step, the files beside it, and the one that counts.
type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);

#[test]
fn what_stands_behind_a_step_counts() {
    let cases: &[Case<'_>] = &[
        ("python ci/run.py", &[("ci/run.py", "import checks\n"), ("ci/checks.py", "x")], "ci/checks.py"),
        (
            "node scripts/t.mjs",
            &[("scripts/t.mjs", "import a from './r.mjs'\n"), ("scripts/r.mjs", "x")],
            "scripts/r.mjs",
        ),
        (
            "node scripts/t.js",
            &[("scripts/t.js", "require('./lib/r')()\n"), ("scripts/lib/r.js", "x")],
            "scripts/lib/r.js",
        ),
        ("make test", &[("Makefile", "include conf/rules.inc\n"), ("conf/rules.inc", "x")], "conf/rules.inc"),
        ("cargo run --release -p xtask -- ci", &[("xtask/src/main.rs", "x")], "xtask/src/main.rs"),
        ("cargo run --package=xtask ci", &[("crates/xtask/src/main.rs", "x")], "crates/xtask/src/main.rs"),
        ("node lib/test-runner.js", &[("lib/test-runner.js", "x")], "lib/test-runner.js"),
        ("python src/ci/run_tests.py", &[("src/ci/run_tests.py", "x")], "src/ci/run_tests.py"),
        ("python -m pytest", &[], "pytest.py"),
        ("python -m pytest", &[], "pytest/__init__.py"),
        ("python -m pytest", &[], "_pytest/__init__.py"),
        ("python -m unittest", &[], "unittest/__init__.py"),
        (
            "hatch run test",
            &[("pyproject.toml", "[tool.hatch.envs.default.scripts]\ntest = 'pytest'\n")],
            "pyproject.toml",
        ),
        ("pdm run test", &[("pyproject.toml", "[tool.pdm.scripts]\ntest = 'pytest'\n")], "pyproject.toml"),
        ("pixi run test", &[("pixi.toml", "[tasks]\ntest = 'pytest'\n")], "pixi.toml"),
        ("deno task test", &[("deno.jsonc", "{\"tasks\": {\"test\": \"deno test\"}}")], "deno.jsonc"),
        ("tox", &[], "tox.toml"),
        ("pytest", &[], "pytest.toml"),
        ("mix test", &[("mix.exs", "x")], "mix.exs"),
        ("yarn test", &[(".pnp.cjs", "x")], ".pnp.cjs"),
        ("npx jest", &[], "node_modules/.bin/jest"),
    ];
    for (run, files, changed) in cases {
        let mut stage = Stage::new(&steps(&format!("      - run: {run}\n")));
        for (path, text) in *files {
            stage = stage.with(path, text);
        }
        let found = stage.change(&[(changed, "changed = 1\n")]).unwrap();
        assert_eq!(found.keys().collect::<Vec<_>>(), [changed], "{run}");
        stage.free("src/a.py").free("lib/b.js").free("Cargo.lock");
    }
    // The product's own sources, though a script imports them, and the package that a step starts.
    let stage = Stage::new(&steps("      - run: node scripts/t.mjs && python -m myapp --help\n"))
        .with("scripts/t.mjs", "import a from '../src/a.mjs'\n")
        .with("src/a.mjs", "x")
        .with("myapp/core.py", "x");
    stage.free("src/a.mjs").free("myapp/core.py");
}

#[test]
fn every_glob_of_the_set_is_one() {
    assert_eq!(GROUPS.len(), CONFIGURATION.len());
    for runner in RUNNERS {
        for file in runner.files {
            policy::glob(file).unwrap();
        }
    }
    assert_eq!(configuration(&"a/b/conftest.py".into()), Some("code that every test run loads first"));
    assert_eq!(configuration(&"src/main.rs".into()), None);
}

#[test]
fn a_file_that_is_not_text_is_compared_all_the_same() {
    let stage = Stage::new(&steps("      - run: bin/tool\n"));
    let mut files = stage.files.clone();
    files.insert("bin/tool".to_owned(), (EXEC, "\u{7f}ELF".to_owned()));
    let found = stage.head(&files).unwrap();
    assert_eq!(found.keys().collect::<Vec<_>>(), ["bin/tool"]);
    let reader = stage.repo.reader();
    let nowhere = CommitId::new("0".repeat(40)).unwrap();
    let sides = Sides { tip: &nowhere, base: &nowhere, head: &nowhere };
    assert!(matches!(drift(&reader, CI, None, sides, &[], &BTreeSet::new()), Err(Error::Missing(_))));
}

proptest::proptest! {
    // Each case makes a repository.
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(40))]
    #[test]
    fn whatever_stands_in_a_workflow_ends_in_an_answer(
        run in "((\\./|ci/|test\\.sh|bash |python |-m |cd |\\*|\\$X|\\$\\{\\{ x \\}\\}| |&& |make |npm |=|\\.\\./|-C |\\{){1,4}){0,8}",
    ) {
        let workflow = steps(&format!("      - run: {}\n", serde_json::to_string(&run).unwrap()));
        let stage = Stage::new(&workflow).with("ci/test.sh", "ci/test.sh\n").link("ci/l", "l").with("src/a.rs", "x");
        if let Ok(found) = stage.change(&[("src/a.rs", "changed")]) {
            proptest::prop_assert!(found.is_empty(), "{:?}", found);
        }
    }
}
