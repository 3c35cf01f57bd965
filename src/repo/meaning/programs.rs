//! Lists of names that a text is held against: programs, their options, ends of names, folders.

/// Programs whose first file argument is run, and what their options load.
pub(super) const INTERPRETERS: &[&str] = &[
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
    "java",
    "kotlin",
];

/// Options whose file is loaded first.
pub(super) const LOADS: &[&str] = &[
    "-r",
    "--require",
    "--import",
    "--loader",
    "--experimental-loader",
    "--rcfile",
    "--init-file",
    "--env-file",
    "--preload",
];

/// Programs that read what they do from the file behind `-f`.
pub(super) const FROM_FILE: &[&str] = &["awk", "gawk", "mawk", "sed"];

/// Options of interpreters that take the next word, which may be a file that is loaded.
pub(super) const VALUED: &[&str] =
    &["-X", "-W", "-I", "-C", "-L", "-K", "-d", "-l", "-M", "-F", "--conditions", "--project"];

/// Programs in front of the one that matters.
pub(super) const WRAPPERS: &[&str] = &[
    "env",
    "sudo",
    "time",
    "exec",
    "nice",
    "nohup",
    "command",
    "builtin",
    "timeout",
    "xvfb-run",
    "stdbuf",
    "then",
    "do",
    "else",
    "if",
    "elif",
    "while",
    "until",
    "!",
    "run",
    "--",
    "uv",
    "poetry",
    "pdm",
    "pipenv",
    "hatch",
    "coverage",
    "npx",
    "bunx",
    "xargs",
    "RUN",
    "CMD",
    "ENTRYPOINT",
];

/// Programs that read the files they are given and run none of them.
pub(super) const READERS: &[&str] = &[
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
pub(super) const SHELL: &[&str] = &["sh", "bash", "zsh", "fish", "ksh", "ps1", "psm1", "bat", "cmd", "mk"];

/// Ends of names of files that an interpreter runs.
pub(super) const SOURCE: &[&str] = &[
    "py", "rb", "pl", "js", "mjs", "cjs", "ts", "mts", "cts", "php", "lua", "jl", "R", "groovy", "exs", "swift", "go",
    "java", "kt", "kts",
];

/// Names of sources that many folders have one of. In a folder that nobody knows they say nothing.
pub(super) const COMMON: &[&str] =
    &["index", "main", "__main__", "__init__", "mod", "lib", "app", "server", "cli", "run", "start", "setup", "utils"];

/// Folders of the product itself. What an interpreter runs there is ordinary source, not a script of the run.
pub(super) const PRODUCT: &[&str] = &["src", "lib", "app", "apps", "cmd", "pkg", "internal", "packages", "crates"];

/// Folders of tools. What a script names is followed there, and beside the script itself.
pub(super) const TOOLS: &[&str] =
    &["scripts", "script", "ci", ".ci", "tools", "tool", "build", "bin", "hack", "dev", "etc", ".github", "tasks"];
