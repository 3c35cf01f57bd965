//! The built-in set, as data: each group with what its files are called in a finding, and why they are in it.
//!
//! docs/policy.md prints these tables, and a test holds it against them. In are files that decide whether a test is
//! run and what counts as a failure. Out is ordinary source, and what the freeze is for: tests themselves, lock files,
//! manifests, code owners, instructions to agents.

/// Files that are in the set wherever they stand, whatever the workflow says.
pub struct Group {
    /// What such a file is, for a finding.
    pub what: &'static str,
    pub files: &'static [&'static str],
    pub why: &'static str,
}

pub const CONFIGURATION: &[Group] = &[
    Group {
        what: "configuration of a test runner",
        files: &[
            "**/.config/nextest.toml",
            "**/pytest.ini",
            "**/.pytest.ini",
            "**/pytest.toml",
            "**/.pytest.toml",
            "**/tox.ini",
            "**/tox.toml",
            "**/hatch.toml",
            "**/noxfile.py",
            "**/.coveragerc",
            "**/jest.config.*",
            "**/vitest.config.*",
            "**/vitest.workspace.*",
            "**/vite.config.*",
            "**/playwright.config.*",
            "**/cypress.config.*",
            "**/cypress.json",
            "**/.mocharc*",
            "**/karma.conf.*",
            "**/ava.config.*",
            "**/wdio.conf.*",
            "**/.nycrc*",
            "**/bunfig.toml",
            "**/phpunit.xml*",
            "**/phpunit.dist.xml",
            "**/codeception.yml",
            "**/behat.y*ml*",
            "**/.rspec*",
            "**/Rakefile",
            "**/junit-platform.properties",
            "**/testng.xml",
            "**/*.runsettings",
            "**/xunit.runner.json",
            "**/dart_test.yaml",
            "**/CTestCustom.cmake",
            "**/.bazelrc",
            "**/turbo.json",
            "**/nx.json",
        ],
        why: "it says which tests are run, which are left out, and when a run counts as passed",
    },
    Group {
        what: "code that every test run loads first",
        files: &[
            "**/conftest.py",
            "**/sitecustomize.py",
            "**/usercustomize.py",
            "**/spec_helper.rb",
            "**/rails_helper.rb",
            "**/test_helper.rb",
            "**/test_helper.exs",
            "**/Pest.php",
            "**/jest.setup.*",
            "**/vitest.setup.*",
            "**/babel.config.*",
            "**/.babelrc*",
            "**/.swcrc",
        ],
        why: "a few lines in it can skip every test, or rewrite what a test says",
    },
    Group {
        what: "configuration of a linter or type checker",
        files: &[
            "**/rustfmt.toml",
            "**/.rustfmt.toml",
            "**/clippy.toml",
            "**/.clippy.toml",
            "**/deny.toml",
            "**/.eslintrc*",
            "**/eslint.config.*",
            "**/.eslintignore",
            "**/biome.json*",
            "**/.oxlintrc.json",
            "**/.prettierrc*",
            "**/prettier.config.*",
            "**/.prettierignore",
            "**/.stylelintrc*",
            "**/stylelint.config.*",
            "**/tsconfig*.json",
            "**/jsconfig.json",
            "**/.flake8",
            "**/.pylintrc",
            "**/pylintrc",
            "**/mypy.ini",
            "**/.mypy.ini",
            "**/ruff.toml",
            "**/.ruff.toml",
            "**/pyrightconfig.json",
            "**/.golangci.*",
            "**/.rubocop*.yml",
            "**/phpcs.xml*",
            "**/.phpcs.xml*",
            "**/phpstan.neon*",
            "**/psalm.xml*",
            "**/.php-cs-fixer*.php",
            "**/checkstyle*.xml",
            "**/detekt*.yml",
            "**/.clang-tidy",
            "**/.clang-format",
            "**/.shellcheckrc",
            "**/.yamllint*",
            "**/.markdownlint*",
            "**/.hadolint.yaml",
            "**/.swiftlint.yml",
            "**/.credo.exs",
            "**/analysis_options.yaml",
            "**/.pre-commit-config.yaml",
        ],
        why: "it says what counts as a mistake and which files are looked at",
    },
    Group {
        what: "configuration of the program that runs the tests",
        files: &[
            "**/.cargo/config",
            "**/.cargo/config.toml",
            "**/rust-toolchain",
            "**/rust-toolchain.toml",
            "**/.npmrc",
            "**/.yarnrc*",
            "**/.yarn/releases/**",
            "**/.yarn/plugins/**",
            "**/.pnpmfile.cjs",
            "**/.pnp.cjs",
            "**/.pnp.loader.mjs",
            "**/node_modules/.bin/**",
            "**/gradle/wrapper/**",
            "**/.mvn/**",
        ],
        why: "it can put another program in place of the compiler, the shell or the test runner",
    },
];

/// A part of a file that is in the set while the rest of it is not: a dependency may move without anybody being asked.
pub struct Part {
    pub what: &'static str,
    pub file: &'static str,
    pub members: &'static [&'static str],
    /// Only where the workflow, or a script that it runs, uses one of these; always when empty.
    pub after: &'static [&'static str],
    /// Whether a file that comes with the change counts: it may stand in front of what is there.
    pub added: bool,
    pub why: &'static str,
}

const NODE: &[&str] = &["npm", "pnpm", "yarn", "bun", "lerna", "nx", "turbo"];

pub const PARTS: &[Part] = &[
    Part {
        what: "scripts of a package",
        file: "package.json",
        members: &["scripts", "wireit"],
        after: NODE,
        added: true,
        why: "`npm test` runs what stands there",
    },
    Part {
        what: "configuration of a test runner or linter",
        file: "package.json",
        members: &["jest", "vitest", "mocha", "ava", "tap", "nyc", "c8", "babel", "eslintConfig", "eslintIgnore", "xo"],
        after: &[],
        added: true,
        why: "the runner's own file may stand in the manifest instead",
    },
    Part {
        what: "scripts of a package",
        file: "composer.json",
        members: &["scripts"],
        after: &["composer"],
        added: true,
        why: "`composer test` runs what stands there",
    },
    Part {
        what: "tasks, and configuration of a test runner or linter",
        file: "deno.json",
        members: &["tasks", "test", "lint", "fmt"],
        after: &["deno"],
        added: true,
        why: "`deno task test` runs what stands there",
    },
    Part {
        what: "tasks, and configuration of a test runner or linter",
        file: "deno.jsonc",
        members: &["tasks", "test", "lint", "fmt"],
        after: &["deno"],
        added: true,
        why: "`deno task test` runs what stands there",
    },
    Part {
        what: "the project file that it runs",
        file: "mix.exs",
        members: &["all but versions of dependencies"],
        after: &["mix"],
        added: true,
        why: "an alias can stand in for `mix test`",
    },
    Part {
        what: "tasks of a workspace",
        file: "pixi.toml",
        members: &["tasks", "feature", "target"],
        after: &["pixi"],
        added: true,
        why: "`pixi run test` runs what stands there",
    },
    Part {
        what: "targets, profiles and lints of a package",
        file: "Cargo.toml",
        members: &["package.autotests", "lib", "bin", "test", "profile", "lints", "workspace.lints"],
        after: &["cargo"],
        added: false,
        why: "`test = false` leaves a target's tests out, and a profile can turn assertions off",
    },
    Part {
        what: "configuration of a test runner or linter",
        file: "pyproject.toml",
        members: &[
            "tool.pytest",
            "tool.coverage",
            "tool.tox",
            "tool.nox",
            "tool.ruff",
            "tool.mypy",
            "tool.pyright",
            "tool.pylint",
            "tool.black",
            "tool.isort",
            "tool.bandit",
            "tool.hatch.envs",
            "tool.pdm.scripts",
            "tool.pixi.tasks",
            "tool.pixi.feature",
            "tool.poe",
            "tool.taskipy",
        ],
        after: &[],
        added: true,
        why: "the runner's own file may stand in the manifest instead",
    },
    Part {
        what: "configuration of a test runner or linter",
        file: "setup.cfg",
        members: &[
            "tool:pytest",
            "pytest",
            "aliases",
            "coverage",
            "flake8",
            "mypy",
            "isort",
            "pylint",
            "tox",
            "pycodestyle",
        ],
        after: &[],
        added: true,
        why: "the runner's own file may stand in the manifest instead",
    },
];

/// A program that runs what a file in its folder says.
pub struct Runner {
    pub what: &'static str,
    pub commands: &'static [&'static str],
    /// In the repository's root, and in every folder that the step works in.
    pub files: &'static [&'static str],
    pub why: &'static str,
}

pub const RUNNERS: &[Runner] = &[
    Runner {
        what: "the makefile that it runs",
        commands: &["make", "gmake"],
        files: &["Makefile", "makefile", "GNUmakefile", "*.mk"],
        why: "a target can be emptied",
    },
    Runner {
        what: "the justfile that it runs",
        commands: &["just"],
        files: &["justfile", "Justfile", ".justfile", "*.just"],
        why: "a recipe can be emptied",
    },
    Runner {
        what: "the task file that it runs",
        commands: &["task", "go-task"],
        files: &["Taskfile.y*ml", "taskfile.y*ml", "Taskfile.dist.y*ml"],
        why: "a task can be emptied",
    },
    Runner {
        what: "the task file that it runs",
        commands: &["mise"],
        files: &["mise.toml", ".mise.toml", "mise-tasks/**", ".mise/tasks/**"],
        why: "a task can be emptied",
    },
    Runner {
        what: "the task file that it runs",
        commands: &["cargo make", "cargo-make"],
        files: &["Makefile.toml"],
        why: "a task can be emptied",
    },
    Runner {
        what: "the task runner that it builds and runs",
        commands: &["cargo xtask", "cargo run -p xtask"],
        files: &["xtask/**", "crates/xtask/**"],
        why: "it is a script, though it is compiled",
    },
    Runner {
        what: "the task file that it runs",
        commands: &["invoke", "inv"],
        files: &["tasks.py", "tasks/**"],
        why: "a task can be emptied",
    },
    Runner {
        what: "the task file that it runs",
        commands: &["mage"],
        files: &["magefile.go", "magefiles/**"],
        why: "a task can be emptied",
    },
    Runner {
        what: "a module in the place of the test runner",
        commands: &["pytest", "py.test"],
        files: &["pytest.py", "pytest/**", "_pytest/**", "pluggy.py", "pluggy/**"],
        why: "Python takes a module of the folder that it is in before an installed one",
    },
];

/// Programs whose first file argument is run.
pub const INTERPRETERS: &[&str] = &[
    "bash",
    "sh",
    "zsh",
    "dash",
    "ksh",
    "fish",
    "pwsh",
    "powershell",
    "source",
    ".",
    "python",
    "python2",
    "python3",
    "pypy3",
    "py",
    "node",
    "nodejs",
    "ts-node",
    "tsx",
    "ruby",
    "perl",
    "php",
    "Rscript",
    "lua",
    "julia",
    "groovy",
    "elixir",
    "swift",
];

/// Programs in front of the one that matters.
pub const WRAPPERS: &[&str] = &[
    "env", "sudo", "time", "exec", "nice", "nohup", "command", "builtin", "timeout", "xvfb-run", "stdbuf", "then",
    "do", "else", "if", "elif", "while", "until", "!", "run", "--", "uv", "poetry", "pdm", "pipenv", "hatch",
    "coverage", "npx", "bunx", "xargs",
];

/// Programs that read the files they are given and run none of them.
pub const READERS: &[&str] = &[
    "shellcheck",
    "shfmt",
    "cat",
    "echo",
    "printf",
    "grep",
    "rg",
    "ls",
    "git",
    "diff",
    "head",
    "tail",
    "wc",
    "rm",
    "mkdir",
    "touch",
    "sha256sum",
    "prettier",
    "eslint",
    "ruff",
    "black",
    "flake8",
    "mypy",
    "pylint",
    "isort",
    "pytest",
    "jest",
    "vitest",
    "mocha",
    "rspec",
    "phpunit",
];

/// Ends of names of files that are there to be run.
pub const SHELL: &[&str] = &["sh", "bash", "zsh", "fish", "ksh", "ps1", "psm1", "bat", "cmd", "mk"];

/// Ends of names of files that an interpreter runs.
pub const SOURCE: &[&str] = &[
    "py", "rb", "pl", "js", "mjs", "cjs", "ts", "mts", "cts", "php", "lua", "jl", "R", "groovy", "exs", "swift", "go",
];

/// Folders of the product itself. What an interpreter runs there is ordinary source, not a script of the run.
pub const PRODUCT: &[&str] = &["src", "lib", "app", "apps", "cmd", "pkg", "internal", "packages", "crates"];

/// Folders of tools. What a script names is followed there, and beside the script itself.
pub const TOOLS: &[&str] =
    &["scripts", "script", "ci", ".ci", "tools", "tool", "build", "bin", "hack", "dev", "etc", ".github", "tasks"];
