//! One set of good documents: the demo's agent writes them, and so does everyone in a test whose subject is another.

pub const SCOPE: &str = include_str!("papers/scope.md");
pub const DESIGN: &str = include_str!("papers/design.md");
pub const READINESS: &str = include_str!("papers/readiness.md");
pub const LOG: &str = include_str!("papers/log.md");

/// What a project has that is delivered.
pub const README: &str = include_str!("papers/README.md");
pub const DELIVERY: &str = include_str!("papers/DELIVERY.md");

/// All of them with their paths.
pub const ALL: [(&str, &str); 4] = [
    ("scaffolding/scope.md", SCOPE),
    ("scaffolding/log.md", LOG),
    ("scaffolding/design.md", DESIGN),
    ("scaffolding/readiness.md", READINESS),
];

/// The code that they ask for, with its tests.
pub const CODE: [(&str, &str); 2] =
    [("src/dimmer.py", "def dim(level):\n    return max(0, level - 1)\n"), ("tests/test_dimmer.py", TESTS)];

/// A test for each criterion.
pub const TESTS: &str = include_str!("papers/test_dimmer.py");

/// The document of a phase, with what its gate wants beside it.
pub fn of(document: &str) -> Vec<(&'static str, &'static str)> {
    let beside = |path: &str| document == "scaffolding/scope.md" && path == "scaffolding/log.md";
    ALL.into_iter().filter(|(path, _)| *path == document || beside(path)).collect()
}
