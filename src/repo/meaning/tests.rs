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
    /// The policy's commands.
    commands: Vec<String>,
}

impl Stage {
    fn new(workflow: &str) -> Self {
        Self { repo: Scratch::new(), files: BTreeMap::new(), commands: Vec::new() }.with(CI, workflow)
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
        let by_policy = ByPolicy { named: Some(&named), commands: &self.commands };
        drift(&reader, CI, by_policy, sides, &different, &touched).unwrap()
    }

    /// What a look at a change of these files costs, and how it ends.
    fn cost(&self, files: &[(&str, &str)]) -> (Look<BTreeMap<String, Changed>>, Budget) {
        let mut head = self.files.clone();
        for (path, text) in files {
            head.insert((*path).to_owned(), (FILE, (*text).to_owned()));
        }
        let (tip, head) = (self.commit(&self.files), self.commit(&head));
        let reader = self.repo.reader();
        let different = reader.diff(&tip, &head).unwrap();
        let touched = crate::repo::touched(&different);
        let mut gather = Gather::new(&reader, Sides { tip: &tip, base: &tip, head: &head });
        let found =
            gather.look(Some(CI), ByPolicy { named: Some(&GlobSet::empty()), commands: &[] }, &different, &touched);
        (found, gather.budget)
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

/// A job that runs `phasegate run` has no script in its own steps: what it runs stands in the policy.
#[test]
fn what_the_policys_commands_run_counts() {
    let mut stage = Stage::new(&steps("      - run: phasegate run verify\n"))
        .exec("ci/test.sh", "#!/bin/sh\nci/lib/setup.sh\n")
        .exec("ci/lib/setup.sh", "true\n")
        .with("Makefile", "check:\n\ttrue\n")
        .with("src/a.c", "x");
    for path in ["ci/test.sh", "Makefile"] {
        stage.free(path);
    }
    stage.commands = vec!["./ci/test.sh --all".to_owned(), "make check".to_owned()];
    stage
        .counts(CI, WORKFLOW)
        .counts("ci/test.sh", SCRIPT)
        .counts("ci/lib/setup.sh", SCRIPT)
        .counts("Makefile", "the makefile that it runs")
        .free("src/a.c");
}

/// Beside a script in the root lies the product, so not all that it names there counts. But what it reads into itself and the default
/// branch does not have changes the run without a word of the script being changed.
#[test]
fn a_file_that_a_script_would_load_counts_when_it_comes() {
    let mut stage = Stage::new(&steps("      - run: phasegate run verify\n"))
        .with("test.sh", "[ ! -f settings.sh ] || . ./settings.sh\n. ./lamp.sh\nsource .env\nsh more.sh\n")
        .with("lamp.sh", "level=5\n");
    stage.commands = vec!["sh test.sh".to_owned()];
    stage.counts("test.sh", SCRIPT).counts("settings.sh", SCRIPT).counts(".env", SCRIPT);
    stage.free("lamp.sh").free("more.sh").free("other.sh").free("docs/settings.sh");
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
    let image = Stage::new(&steps("      - uses: ./.github/actions/t\n"))
        .with(".github/actions/t/action.yml", "runs: {using: docker, image: ../../../docker/Dockerfile.ci}\n")
        .with("docker/Dockerfile.ci", "FROM x\nCOPY run.sh /\nENTRYPOINT [\"/run.sh\"]\n")
        .with("docker/run.sh", "x")
        .with("docker/Dockerfile", "x");
    image.counts("docker/Dockerfile.ci", USED).counts("docker/run.sh", SCRIPT).free("docker/Dockerfile");
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

const DECLARED: &str = "[tool.poetry.scripts]\nchecks = 'checks:main'\n[project.scripts]\nlint = 'scripts.lint:main'\napp = 'myapp.cli:main'\n";

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
        ("pipenv run test", &[("Pipfile", "[scripts]\ntest = 'pytest'\n")], "Pipfile"),
        ("poetry run checks", &[("pyproject.toml", DECLARED)], "pyproject.toml"),
        ("poetry run checks", &[("pyproject.toml", DECLARED), ("checks.py", "x")], "checks.py"),
        ("uv run lint", &[("pyproject.toml", DECLARED), ("scripts/lint.py", "x")], "scripts/lint.py"),
        ("poe test", &[], "poe_tasks.toml"),
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
    // A program that the project declares counts where a step runs one; what is sold is its own.
    let declared = |run: &str, to: &str| {
        let stage = Stage::new(&steps(&format!("      - run: {run}\n"))).with("pyproject.toml", DECLARED);
        stage.change(&[("pyproject.toml", &DECLARED.replace("myapp.cli:main", to))]).unwrap().len()
    };
    assert_eq!(declared("uv run app --help", "os:getcwd"), 1);
    assert_eq!(declared("uv run pytest && poetry install", "myapp.other:main"), 0);
    let stage = Stage::new(&steps("      - run: uv run app --help\n")).with("pyproject.toml", DECLARED);
    stage.with("myapp/cli.py", "x").free("myapp/cli.py");
}

/// A folder that is only known when the step runs may be any; a file in it counts by its name.
#[test]
fn a_folder_behind_a_variable_may_be_any() {
    let job = |defaults: &str, run: &str| {
        let run = serde_json::to_string(run).unwrap();
        format!(
            "on: push\nenv: {{D: web}}\njobs: {{t: {{strategy: {{matrix: {{dir: [web, api]}}}}, {defaults} steps: [{{run: {run}}}]}}}}\n"
        )
    };
    let matrix = "defaults: {run: {working-directory: '${{ matrix.dir }}'}},";
    let open = "defaults: {run: {working-directory: '${{ inputs.dir }}'}},";
    let packages = "defaults: {run: {working-directory: 'packages/${{ inputs.dir }}'}},";
    let (make, just, image) = ("the makefile that it runs", "the justfile that it runs", "the image that it builds");
    for (defaults, run, file, what) in [
        (matrix, "make test", "web/Makefile", make),
        (open, "make test", "other/deep/GNUmakefile", make),
        (matrix, "just test", "web/justfile", just),
        (matrix, "./test.sh", "web/test.sh", SCRIPT),
        (open, "./test.sh", "other/test.sh", SCRIPT),
        (open, "./run-tests --all", "other/run-tests", SCRIPT),
        (open, "bash ci/test.sh", "other/ci/test.sh", SCRIPT),
        (open, "python run_tests.py", "other/run_tests.py", SCRIPT),
        (open, "cd sub && make", "other/sub/Makefile", make),
        (open, "cd sub && ../test.sh", "other/test.sh", SCRIPT),
        (packages, "make test", "packages/web/Makefile", make),
        ("", "cd ${{ matrix.dir }} && make test", "api/Makefile", make),
        ("", "make -C ${{ matrix.dir }} test", "api/Makefile", make),
        ("", "make -C${{matrix.dir}} test", "api/Makefile", make),
        ("", "make --directory=${{ env.D }} test", "web/Makefile", make),
        ("", "make -f ${{ matrix.dir }}/Makefile", "web/Makefile", SCRIPT),
        ("", "make -f $X/ci.mk", "web/ci.mk", SCRIPT),
        ("", "python ${{ matrix.dir }}/check.py", "web/check.py", SCRIPT),
        ("", "node ci/test-${{ matrix.dir }}.js", "ci/test-api.js", SCRIPT),
        ("", "task -d web test", "web/Taskfile.yml", "the task file that it runs"),
        ("", "mage -d web test", "web/magefile.go", "the task file that it runs"),
        ("", "mise --cd ${{ matrix.dir }} run test", "api/mise.toml", "the task file that it runs"),
        ("", "just -f $D/ci.just test", "web/ci.just", SCRIPT),
        ("", "pytest -c ${{ matrix.dir }}/ci.ini", "web/ci.ini", SCRIPT),
        ("", "cd $D && ./test.sh", "web/test.sh", SCRIPT),
        ("", "cd services/$D && make", "services/web/Makefile", make),
        ("", "for d in web api; do (cd $d && make test); done", "web/Makefile", make),
        ("", "for d in */; do make -C \"$d\"; done", "other/Makefile", make),
        ("", "docker build -t x:$SHA services/$D", "services/web/Dockerfile", image),
        ("", "docker build --file=ci/${{ matrix.dir }}.image .", "ci/api.image", SCRIPT),
        ("", "docker build -f services/$D/ci.image .", "services/web/ci.image", SCRIPT),
    ] {
        let stage = Stage::new(&job(defaults, run)).with(file, "x").with("web/src/a.py", "x");
        stage.counts(file, what);
        for path in ["web/src/a.py", "web/README.md", "web/release.sh", "docs/Makefile.md", "docs/test.shtml"] {
            stage.free(path);
        }
    }
    let stage = Stage::new(&job(packages, "make test"));
    stage.free("docs/Makefile").free("other/web/Makefile");
    // Where all values are written, no other folder is meant; and a name that every folder has says nothing.
    for (defaults, run, file) in [
        (matrix, "make test", "docs/Makefile"),
        (matrix, "make test", "web/docs/Makefile"),
        (matrix, "python run_tests.py", "other/run_tests.py"),
        (matrix, "./test.sh", "other/test.sh"),
        (open, "python main.py", "web/core/main.py"),
        (open, "go run main.go", "other/main.go"),
        (open, "node index.js", "web/src/index.js"),
        ("", "for d in web api; do (cd $d && make test); done", "docs/Makefile"),
        ("", "docker build ${{ matrix.dir }}", "deploy/Dockerfile"),
        ("", "cd $HOME && mkdir x\ncd ${{ runner.temp }}\ncd \"$(mktemp -d)\"\nmake -C x", "docs/Makefile"),
        ("", "cd \"$(git rev-parse --show-toplevel)\" && make test", "docs/Makefile"),
    ] {
        Stage::new(&job(defaults, run)).with(file, "x").free(file);
    }
    // Where the value stands in the workflow or in the script, what is in the folder is followed.
    for (defaults, run) in [
        (matrix, "make test"),
        ("", "for d in web api; do (cd $d && make test); done"),
        ("", "make all"),
        ("", "bash ci/all.sh web"),
    ] {
        let stage = Stage::new(&job(defaults, run))
            .with("web/Makefile", "test:\n\tbash tools/check.txt\n\t./tools/check.sh\n")
            .with("web/tools/check.sh", "x")
            .with("Makefile", "DIRS := web api\nall:\n\tfor d in $(DIRS); do $(MAKE) -C $$d test; done\n")
            .with("ci/all.sh", "DIRS=\"web api\"\ncd \"$1\" && make test\n");
        stage.counts("web/Makefile", make).counts("web/tools/check.sh", SCRIPT).free("web/tools/notes.md");
    }
    // The repository's own folder is known, and what only takes files elsewhere works nowhere else.
    for run in [
        "cd $GITHUB_WORKSPACE && make test",
        "make -C ${{ github.workspace }} test",
        "tar -x -C $OUT && git -C $OUT log && make test",
        "cmake --install build --prefix $OUT; make test",
        "docker build -t $IMAGE . && make test",
        "cd /opt/$X && make test",
    ] {
        let stage = Stage::new(&job("", run)).with("docs/Makefile", "x").with("docs/Dockerfile", "x");
        stage.free("docs/Makefile").free("docs/Dockerfile").counts("Makefile", make);
    }
}

/// A step alone, and a file that decides what it means.
#[test]
fn what_a_step_names_counts_wherever_it_lies() {
    for (run, file) in [
        ("./apps/web/run-tests", "apps/web/run-tests"),
        ("src/cli/check", "src/cli/check"),
        ("echo \"# Tests\" && ./ci/test.sh", "ci/test.sh"),
        ("[ $# -eq 0 ] && ./ci/test.sh", "ci/test.sh"),
        ("A=\"x y\" bash ci/test", "ci/test"),
        ("${RUNNER:-./ci/test.sh}", "ci/test.sh"),
        ("${RUNNER:=ci/test.sh} --fast", "ci/test.sh"),
        ("bash ${DIR:-ci}/test", "ci/test"),
        ("${{ inputs.script || './ci/test.sh' }}", "ci/test.sh"),
        ("cat ci/test.txt | bash", "ci/test.txt"),
        ("cat ci/test.txt | tee log | bash -eu -s -- --fast", "ci/test.txt"),
        ("sed s/a/b/ ci/test.txt 2>&1 | sudo sh", "ci/test.txt"),
        ("bash < ci/test.sh", "ci/test.sh"),
        ("bash <(cat ci/test.txt)", "ci/test.txt"),
        ("bash -c \"$(cat ci/test.txt)\"", "ci/test.txt"),
        ("eval \"$(cat ci/test.txt)\"", "ci/test.txt"),
        ("$(cat ci/test.txt)", "ci/test.txt"),
        ("(cat ci/test.txt; cat b) | sh", "ci/test.txt"),
        ("envsubst < ci/test.sh.in | sh", "ci/test.sh.in"),
        ("cat ci/test.txt | docker run -i image bash", "ci/test.txt"),
        ("node -r ./ci/first.js ci/test.js", "ci/first.js"),
        ("node -r ./ci/first ci/test.js", "ci/first.js"),
        ("node -r ./ci/first.js ci/test.js", "ci/test.js"),
        ("node --import=./ci/first.mjs ci/test.js", "ci/first.mjs"),
        ("ruby -r ./ci/first ci/test.rb", "ci/first.rb"),
        ("ruby -r./ci/first ci/test.rb", "ci/test.rb"),
        ("python -X dev -W error ci/test.py", "ci/test.py"),
        ("php -d auto_prepend_file=ci/first.php ci/test.php", "ci/first.php"),
        ("python ci/test.py -m unit", "ci/test.py"),
        ("node ci/run.js --test", "ci/run.js"),
        ("NODE_OPTIONS=\"--require ./ci/first.js\" npm test", "ci/first.js"),
        ("mocha -r ./ci/first.js", "ci/first.js"),
        ("vendor/bin/phpunit", "vendor/bin/phpunit"),
        ("./tools/pytest", "tools/pytest"),
        ("make -f ci/Tests", "ci/Tests"),
        ("mkdir out && cd out && ../ci/test.sh", "ci/test.sh"),
        ("java ci/Check.java", "ci/Check.java"),
        ("kotlin ci/check.main.kts", "ci/check.main.kts"),
        ("awk -f ci/check.awk log", "ci/check.awk"),
        ("sed -n -fci/check.sed log", "ci/check.sed"),
        ("run-parts --exit-on-error ci/checks.d", "ci/checks.d/10-unit"),
        ("node node_modules/jest/bin/jest.js", "node_modules/jest/bin/jest.js"),
    ] {
        let quoted = serde_json::to_string(run).unwrap();
        let stage = Stage::new(&steps(&format!("      - run: {quoted}\n"))).with(file, "x").with("data/a.json", "x");
        let found = stage.change(&[(file, "changed\n")]).unwrap();
        assert_eq!(found.keys().collect::<Vec<_>>(), [file], "{run}");
        stage.free("data/a.json").free("src/a.py");
    }
    // What is read and not run, or given to a program that runs another.
    for run in [
        "cat ci/data.txt | python ci/test.py",
        "cat ci/data.txt | grep bash",
        "curl -sSf https://sh.example.org/ci/data.txt | sh",
        "X=$(cat ci/data.txt)",
        "node -p \"require('./ci/data.txt').version\"",
        "echo '# a' # bash ci/data.txt",
        "pip install -r ci/data.txt",
        "bash ci/test.sh; cat ci/data.txt",
        "# cat ci/data.txt | bash",
    ] {
        let quoted = serde_json::to_string(run).unwrap();
        let stage = Stage::new(&steps(&format!("      - run: {quoted}\n"))).with("ci/data.txt", "x");
        stage.free("ci/data.txt");
    }
    let env = "env: {NODE_OPTIONS: --require ./ci/first.js}\njobs: {a: {steps: [{run: npm test}]}}\n";
    Stage::new(env).with("ci/first.js", "x").counts("ci/first.js", SCRIPT);
    let package =
        Stage::new(&steps("      - run: node node_modules/@a/b/bin/c.js && yarn gulp && npx -y jest@29 --ci\n"))
            .with("node_modules/@a/b/bin/c.js", "x")
            .with("node_modules/@a/b/lib/d.js", "x")
            .with("node_modules/@a/e/f.js", "x");
    package.counts("node_modules/@a/b/lib/d.js", SCRIPT).counts("node_modules/gulp/index.js", SCRIPT);
    package.counts("node_modules/jest/index.js", SCRIPT);
    package.free("node_modules/@a/e/f.js");
}

#[test]
fn files_of_common_runners_count_after_them() {
    for (run, file) in [
        ("docker compose run --rm tests", "compose.yaml"),
        ("docker-compose -f ci/tests.yml up", "ci/tests.yml"),
        ("docker-compose up", "docker-compose.ci.yml"),
        ("docker build --target test .", "Dockerfile"),
        ("docker build -f ci/Image .", "ci/Image"),
        ("docker build ./docker/test", "docker/test/Dockerfile"),
        ("docker buildx build .", "test.Dockerfile"),
        ("docker build .", ".dockerignore"),
        ("cmake -B build && ctest --test-dir build", "CMakeLists.txt"),
        ("ctest", "src/deep/CMakeLists.txt"),
        ("cmake .", "cmake/tests.cmake"),
        ("meson test -C build", "tests/meson.build"),
        ("npx gulp test", "gulpfile.js"),
        ("yarn run gulp", "gulpfile.mjs"),
        ("pnpm exec grunt", "Gruntfile.js"),
        ("npx jake", "Jakefile"),
        ("bazel test //...", "BUILD.bazel"),
        ("bazelisk test //...", "src/BUILD"),
        ("bazel test //...", "rules/tests.bzl"),
        ("earthly +test", "Earthfile"),
        ("earthly ./web+test", "web/Earthfile"),
        ("nix flake check", "flake.nix"),
        ("nix-shell --run x", "shell.nix"),
        ("ant test", "build.xml"),
        ("ant -buildfile ci/x.xml test", "ci/x.xml"),
        ("./gradlew test", "gradlew"),
        ("./gradlew test", "app/build.gradle.kts"),
        (".\\gradlew.bat test", "build.gradle"),
        ("gradle test", "settings.gradle"),
        ("mvn -B verify", "core/pom.xml"),
        ("./mvnw verify", "pom.xml"),
        ("sbt test", "build.sbt"),
        ("sbt test", "project/Tests.scala"),
        ("tilt ci", "Tiltfile"),
        ("dagger call test", "dagger.json"),
        ("snakemake -c1", "Snakefile"),
        ("scons test", "src/SConscript"),
        ("./waf test", "wscript"),
        ("npx nx run-many -t test", "apps/web/project.json"),
        ("yarn nx test web", "apps/web/project.json"),
        ("npx ng test", "angular.json"),
        ("zig build test", "build.zig"),
        ("doit test", "dodo.py"),
        ("python -m doit test", "dodo.py"),
        ("bundle exec rake test", "lib/tasks/test.rake"),
        ("go test ./...", "go.work"),
        ("swift test", "Package.swift"),
        ("dotnet test", "Directory.Build.props"),
        ("dotnet test", "tests/Directory.Build.targets"),
        ("msbuild.exe x.sln", "Directory.Packages.props"),
        ("pnpm test", ".pnpmfile.mjs"),
        ("pnpm test", "pnpm-workspace.yaml"),
    ] {
        let quoted = serde_json::to_string(run).unwrap();
        let stage = Stage::new(&steps(&format!("      - run: {quoted}\n"))).with(file, "x: 1\n").with("src/a.py", "x");
        let found = stage.change(&[(file, "scriptShell: changed\n")]).unwrap();
        assert_eq!(found.keys().collect::<Vec<_>>(), [file], "{run}");
        stage.free("src/a.py").free("Cargo.lock");
        // Without the program it means nothing; what is there as a script is another matter.
        let other = Stage::new(&steps("      - run: cargo test\n")).with(file, "x: 1\n");
        if ![".pnpmfile.mjs"].contains(&file) {
            other.free(file);
        }
    }
    let image = Stage::new(&steps("      - run: docker build .\n"))
        .with("Dockerfile", "FROM x\nRUN make test\n")
        .with("compose.yaml", "services: {a: {command: x}}\n");
    image.counts("Makefile", "the makefile that it runs").free("compose.yaml");
}

#[test]
fn what_task_files_include_counts() {
    let stage = Stage::new(&steps("      - run: just test && task lint && make all\n"))
        .with("justfile", "import 'ci/rules.txt'\nmod web\nmod docs 'other/docs.txt'\n")
        .with("ci/rules.txt", "x")
        .with("web/mod.just", "x")
        .with("other/docs.txt", "x")
        .with(
            "Taskfile.yml",
            "includes:\n  api: ./api\n  ui: {taskfile: ui/tasks.yml}\ntasks: {lint: {cmd: bash ci/lint}}\n",
        )
        .with("api/Taskfile.yml", "x")
        .with("ui/tasks.yml", "x")
        .with("ui/more.yml", "x")
        .with("ci/lint", "x")
        .with("Makefile", "-include src/rules.inc\n")
        .with("src/rules.inc", "x");
    let files = ["ci/rules.txt", "web/mod.just", "other/docs.txt", "api/Taskfile.yml", "ui/tasks.yml", "ci/lint"];
    for file in files.into_iter().chain(["src/rules.inc"]) {
        stage.counts(file, SCRIPT);
    }
    stage.free("ui/more.yml").free("web/justfile.md");
    for (include, file) in [
        ("include build/rules/*.mk", "build/rules/test.mk"),
        ("-include conf/*.inc", "conf/test.inc"),
        ("include $(wildcard conf/*.inc)", "conf/test.inc"),
        ("include a.mk $(sort $(wildcard conf/*.inc))", "conf/test.inc"),
        ("RULES := $(wildcard conf/*.mk)\ninclude $(RULES)", "conf/test.mk"),
        ("include $(TOP)/conf/*.inc", "conf/test.inc"),
        ("include $(D)/test-*.inc", "conf/test-a.inc"),
    ] {
        let stage = Stage::new(&steps("      - run: make test\n"))
            .with("Makefile", &format!("{include}\nSRCS := $(wildcard src/*.c)\n"))
            .with(file, "test:\n\tbash ci/deep\n")
            .with("src/a.c", "x")
            .with("conf/notes.md", "x");
        stage.counts(file, SCRIPT).free("src/a.c").free("conf/notes.md").free("conf/deep/x.txt");
    }
    let stage = Stage::new(&steps("      - run: make test\n"))
        .with("Makefile", "include conf/*.inc\n")
        .with("conf/test.inc", "test:\n\tbash ci/deep\n")
        .with("ci/deep", "x");
    stage.counts("ci/deep", SCRIPT);
}

#[test]
fn what_an_alias_of_cargo_runs_counts() {
    let what = "the task runner that it builds and runs";
    let package = |name: &str| format!("[package]\nname = '{name}'\n");
    let stage = Stage::new(&steps("      - run: cargo +nightly -q ci --all\n      - run: cargo run -p app && cargo lint\n"))
        .with(".cargo/config.toml", "[alias]\nci = 'do'\ndo = ['run', '--quiet', '-p', 'tasks', '--']\nlint = 'run --manifest-path dev/lint/Cargo.toml'\n")
        .with("crates/runner/Cargo.toml", &package("tasks"))
        .with("crates/runner/src/main.rs", "x")
        .with("crates/app/Cargo.toml", &package("app"))
        .with("crates/app/src/main.rs", "x")
        .with("dev/lint/src/main.rs", "x");
    stage.counts("crates/runner/src/main.rs", what).counts("dev/lint/src/main.rs", what);
    stage.free("crates/app/src/main.rs");
    // An alias of itself ends.
    Stage::new(&steps("      - run: cargo a\n")).with(".cargo/config.toml", "[alias]\na = 'a'\n").free("src/a.rs");
}

/// As large as they come: what is honest is looked at in whole.
#[test]
fn a_large_monorepo_stays_within_its_budget() {
    let mut text = String::new();
    for job in 0..40 {
        for step in 0..20 {
            text += &format!(
                "      - run: |\n          cd packages/p{job} && npm ci && npm run build --workspace=p{job}\n          bash scripts/s{}.sh --report out/${{{{ matrix.os }}}}-{job}.xml\n          python tools/t{}.py && cat docs/d{step}.md > /tmp/x\n        working-directory: packages/p{}\n",
                (job * 20 + step) % 150,
                (job * 20 + step) % 150,
                job % 12,
            );
        }
    }
    let mut stage = Stage::new(&steps(&text));
    for script in 0..150 {
        let next = (script + 1) % 150;
        stage = stage
            .exec(
                &format!("scripts/s{script}.sh"),
                &format!("set -e\nsource scripts/s{next}.sh\n{}", "echo ok && ls out/a | wc -l\n".repeat(100)),
            )
            .with(
                &format!("tools/t{script}.py"),
                &format!("import t{next}\n{}", "def f(x):\n    return open('data/x.json')\n".repeat(60)),
            );
    }
    for file in 0..2700 {
        stage = stage.with(&format!("packages/p{}/src/m{}/f{file}.ts", file % 40, file % 7), "export {}\n");
    }
    for package in 0..40 {
        stage = stage.with(
            &format!("packages/p{package}/package.json"),
            r#"{"scripts": {"build": "bash ../../scripts/s1.sh"}}"#,
        );
    }
    let (found, spent) = stage.cost(&[("packages/p1/src/m1/f1.ts", "changed"), ("scripts/s77.sh", "changed")]);
    assert_eq!(found.unwrap().keys().collect::<Vec<_>>(), ["scripts/s77.sh"]);
    for cost in budget::ALL {
        let (spent, most) = spent.of(cost);
        assert!(spent * 3 < most * 2, "{cost:?}: {spent} of {most}");
    }
}

/// What was made to be dear ends at the budget, which is known to be affordable.
#[test]
fn a_hostile_workflow_ends_at_its_budget() {
    let many = |what: &str, times: usize| what.repeat(times);
    let differing =
        |what: &str, times: usize| (0..times).map(|at| what.replace('N', &at.to_string())).collect::<String>();
    let step = |run: &str| format!("      - run: {}\n", serde_json::to_string(run).unwrap());
    let into = differing("cd dN; ", 40);
    let cases = [
        (step(&format!("x {}", many("qq*/z ", 150_000))), None),
        (step(&format!("{into} x {}", differing("qqN*/z ", 60_000))), Some(Cost::Patterns)),
        (step(&format!("{into} x {}", differing("aN/z ", 90_000))), Some(Cost::Lookups)),
        (step(&format!("{into} x {}", differing("a/z/N ", 90_000))), Some(Cost::Lookups)),
        (step(&format!("{into} {}", many("make; ", 40_000))), None),
        (step(&format!("x {}", many(&format!("{}/z ", "a".repeat(1000)), 900))), None),
        (step(&many("${{ ${a $(a ", 80_000)), None),
        ((0..11).map(|at| step(&format!("{at} {}", many("a ", 45_000)))).collect(), Some(Cost::Words)),
        (differing("      - run: cd dN; a/z a/y\n", 30_000), Some(Cost::Lookups)),
        (step(&differing("npx tN; ", 40_000)), Some(Cost::Roots)),
        (
            step(&format!("for x in {}; do {} done", differing("dN ", 100), differing("cd eN$x; ", 10_000))),
            Some(Cost::Lookups),
        ),
        (step(&differing("cd eN$x; make; ", 10_000)), None),
        (
            step(&format!("{into} {} {}", differing("cd dN$x; ", 40), differing("./tN.sh; ", 10_000))),
            Some(Cost::Patterns),
        ),
    ];
    for (run, ends_at) in cases {
        let mut stage = Stage::new("on: push\n");
        for at in 0..40 {
            stage = stage.with(&format!("d{at}/a/z/x"), "x");
        }
        let (found, spent) = stage.cost(&[(CI, &steps(&run))]);
        match ends_at {
            Some(cost) => {
                let (spent, most) = spent.of(cost);
                let why = format!("more than {most}");
                assert!(matches!(&found, Err(Stop::Unknown(says)) if says.contains(&why)), "{cost:?} {found:?}");
                assert!(spent > most && spent <= most + 50_000, "{cost:?} {spent}");
            }
            // What only repeats itself is looked at once.
            None => assert!(found.is_ok() && spent.of(Cost::Lookups).0 < 6000 && spent.of(Cost::Names).0 < 300_000),
        }
    }
    // Scripts that name each other, each a hundred names in many folders.
    let script = format!("{}\n{}", differing("cd eN\n", 30), differing("hN/z.sh\n", 4000));
    let calls = differing("bash sN.sh\n", 200);
    let text = serde_json::to_string(&calls).unwrap();
    let mut files = vec![(CI.to_owned(), steps(&format!("      - run: {text}\n")))];
    files.extend((0..200).map(|at| (format!("s{at}.sh"), format!("{script}# {at}\n"))));
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let (found, _) = Stage::new("on: push\n").cost(&files);
    assert!(matches!(found, Err(Stop::Unknown(_))));
}

#[test]
fn every_glob_of_the_set_is_one() {
    assert_eq!(GROUPS.len(), CONFIGURATION.len());
    for runner in RUNNERS {
        for file in runner.files {
            policy::glob(file).unwrap();
        }
    }
    for first in ["a/b/conftest.py", "zz.egg-info/entry_points.txt", "features/environment.py", "src/setupTests.ts"] {
        assert_eq!(configuration(&first.into()), Some("code that every test run loads first"), "{first}");
    }
    for compiled in ["tests/__pycache__/test_a.cpython-311.pyc", "target/test-classes/LampTest.class"] {
        assert_eq!(configuration(&compiled.into()), Some("compiled code in the place of its source"), "{compiled}");
    }
    for runner in ["behave.ini", "cucumber.yml", ".config/insta.yaml", "nightwatch.conf.js", ".taprc"] {
        assert_eq!(configuration(&runner.into()), Some("configuration of a test runner"), "{runner}");
    }
    for program in [".nvmrc", "app/.python-version", "global.json"] {
        let what = Some("configuration of the program that runs the tests");
        assert_eq!(configuration(&program.into()), what, "{program}");
    }
    for none in
        ["src/egg-info/entry_points.txt", "features/lamp.py", "docs/cucumber.md", "src/global.ts", "packaging/deb.sh"]
    {
        assert_eq!(configuration(&none.into()), None, "{none}");
    }
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
    assert!(matches!(
        drift(&reader, CI, ByPolicy { named: None, commands: &[] }, sides, &[], &BTreeSet::new()),
        Err(Error::Missing(_))
    ));
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
