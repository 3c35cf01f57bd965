//! Which files are tests, the contract, lock files and instructions, as data. docs/guard.md prints these tables, and a test
//! holds it against them.
//!
//! A folder of tests is taken as a whole: what a test compares with is proof as much as the test. What is told from a name
//! alone is only taken in the languages where the name means that.

use std::sync::LazyLock;

use globset::GlobSet;

use super::Kind;
use crate::policy;
use crate::repo::{RepoPath, meaning};

/// Files that are tests, and for which language.
pub struct Group {
    pub language: &'static str,
    pub files: &'static [&'static str],
}

pub const TESTS: &[Group] = &[
    Group {
        language: "any",
        files: &[
            "**/tests/**",
            "**/test/**",
            "**/__tests__/**",
            "**/testdata/**",
            "**/e2e/**",
            "**/cypress/**",
            "**/{unittest,unittests,testsuite,testsuites}/**",
            "**/__fixtures__/**",
            "**/{unit,integration,functional,acceptance,system,smoke}[-_]{test,tests}/**",
            "**/{tests,test,__tests__,testdata,e2e,cypress}",
            "**/__snapshots__/**",
            "**/__mocks__/**",
            "**/*.snap",
            "**/*.feature",
            "**/features/step_definitions/**",
            "features/{steps,support}/**",
            "**/features/steps/*.py",
            "**/*.robot",
            "**/*.resource",
            "**/*.bats",
            "**/*.golden",
            "**/*.{approved,verified}.*",
            "**/{spec,specs}/{fixtures,cassettes,factories,data,files,samples,mocks,stubs,snapshots,golden,expected,__*__}/**",
            "spec/{support,controllers,features,jobs,mailers,models,requests,services,system,views}/**",
        ],
    },
    Group { language: "Rust", files: &["**/tests.rs", "**/*_test.rs", "**/*_tests.rs", "**/test_*.rs"] },
    Group {
        language: "Python",
        files: &[
            "**/test_*.py",
            "**/*_test.py",
            "**/*_tests.py",
            "**/tests.py",
            "test.py",
            "**/*_spec.py",
            "**/*.{test,tests}.py",
        ],
    },
    Group {
        language: "JavaScript and TypeScript",
        files: &[
            "**/*.{test,spec,e2e,e2e-spec}.{js,jsx,mjs,cjs,ts,tsx,mts,cts,vue,svelte}",
            "**/*.cy.{js,jsx,ts,tsx}",
            "**/*{_test,_spec,-test,-spec,.tests,.test-d}.{js,jsx,mjs,cjs,ts,tsx,mts,cts}",
            "**/test-*.{js,mjs,cjs,ts,mts,cts}",
            "{test,tests}.{js,mjs,cjs,ts,mts}",
            "**/{spec,specs}/**/*.{js,jsx,mjs,cjs,ts,tsx,mts,cts}",
        ],
    },
    Group { language: "Go", files: &["**/*_test.go"] },
    Group {
        language: "Java, Kotlin, Scala and Groovy",
        files: &[
            "**/src/*Test/**",
            "**/src/testFixtures/**",
            "**/src/it/**",
            "**/*Test.{java,kt,scala,groovy}",
            "**/*Tests.{java,kt,scala,groovy}",
            "**/*TestCase.{java,kt,scala,groovy}",
            "**/*TestSuite.{java,kt,scala,groovy}",
            "**/Test[A-Z]*.java",
            "**/*IT.{java,kt,scala,groovy}",
            "**/*Spec.{kt,scala,groovy}",
            "**/*Suite.scala",
        ],
    },
    Group { language: "Ruby", files: &["**/{spec,specs}/**/*.rb", "**/*_spec.rb", "**/*_test.rb", "**/test_*.rb"] },
    Group {
        language: "C#, F# and Visual Basic",
        files: &[
            "**/*.{Test,Tests,test,tests,UnitTests,IntegrationTests,Specs}/**",
            "**/*.{Test,Tests}.*/**",
            "**/*{Test,Tests,Specs}/**/*.{cs,fs,vb}",
            "**/*{Test,Tests,Specs}.{cs,fs,vb}",
            "**/UnitTest*.{cs,fs,vb}",
            "**/*TestCase.{cs,fs,vb}",
        ],
    },
    Group {
        language: "PHP",
        files: &["**/*Test.php", "**/*TestCase.php", "**/*Cest.php", "**/*Spec.php", "**/*.phpt"],
    },
    Group {
        language: "Swift",
        files: &[
            "**/Tests/**",
            "**/*Tests/**/*.swift",
            "**/*Test.swift",
            "**/*Tests.swift",
            "**/*TestCase.swift",
            "**/*Spec.swift",
        ],
    },
    Group { language: "Elixir and Erlang", files: &["**/*_test.exs", "**/*_SUITE.erl", "**/*_tests.erl"] },
    Group {
        language: "C and C++",
        files: &[
            "**/*[-_.]{test,tests,unittest,unittests}.{c,cc,cpp,cxx,h,hh,hpp,hxx}",
            "**/{test,unittest}[-_]*.{c,cc,cpp,cxx,h,hh,hpp,hxx}",
            "**/tests.{c,cc,cpp,cxx}",
            "**/*{Test,Tests}.{cc,cpp,cxx,h,hh,hpp,hxx}",
            "**/Test[A-Z]*.{cc,cpp,cxx}",
        ],
    },
    Group { language: "Objective-C", files: &["**/*{Test,Tests}.{m,mm}", "**/*Tests/**/*.{m,mm}"] },
    Group { language: "Dart", files: &["**/*_test.dart"] },
    Group { language: "Haskell", files: &["**/*Spec.hs"] },
    Group { language: "Clojure", files: &["**/*_test.{clj,cljs,cljc}"] },
    Group { language: "Lua", files: &["**/*_spec.lua", "**/test_*.lua"] },
    Group { language: "Shell", files: &["**/test_*.sh", "**/*_test.sh"] },
    Group { language: "Perl", files: &["**/t/**/*.t", "**/xt/**/*.t"] },
];

/// The contract that tests and code are written against.
pub const CONTRACT: &[&str] = &["**/contract.json"];

/// What pins the programs that a test run loads.
pub const LOCKS: &[&str] = &[
    "**/Cargo.lock",
    "**/package-lock.json",
    "**/npm-shrinkwrap.json",
    "**/yarn.lock",
    "**/pnpm-lock.yaml",
    "**/bun.lock",
    "**/bun.lockb",
    "**/deno.lock",
    "**/poetry.lock",
    "**/uv.lock",
    "**/pdm.lock",
    "**/Pipfile.lock",
    "**/go.sum",
    "**/go.work.sum",
    "**/Gemfile.lock",
    "**/composer.lock",
    "**/packages.lock.json",
    "**/mix.lock",
    "**/rebar.lock",
    "**/pubspec.lock",
    "**/Package.resolved",
    "**/gradle.lockfile",
    "**/flake.lock",
];

/// Who decides over the change, what agents are told, and what git makes of files: workflows, the policy, code owners,
/// instructions, attributes.
pub const LAW: &[&str] = &[
    ".github/workflows/**",
    ".github/actions/**",
    ".github/phasegate.yml",
    "**/CODEOWNERS",
    "**/AGENTS.md",
    "**/CLAUDE.md",
    "**/GEMINI.md",
    ".github/copilot-instructions.md",
    ".github/instructions/**",
    ".github/agents/**",
    ".github/prompts/**",
    ".github/skills/**",
    "**/.cursorrules",
    "**/.cursor/rules/**",
    "**/.windsurfrules",
    "**/.clinerules/**",
    "**/.claude/**",
    "**/.gitattributes",
    ".gitmodules",
];

/// The sets as they are held against a path. They are ours, so they compile; should one not, everything matches it.
struct Nets {
    tests: Option<GlobSet>,
    contract: Option<GlobSet>,
    locks: Option<GlobSet>,
    law: Option<GlobSet>,
}

static NETS: LazyLock<Nets> = LazyLock::new(|| Nets {
    tests: policy::globs(TESTS.iter().flat_map(|group| group.files)).ok(),
    contract: policy::globs(CONTRACT).ok(),
    locks: policy::globs(LOCKS).ok(),
    law: policy::globs(LAW).ok(),
});

/// What the policy adds: `freeze.tests` and `freeze.meaning`. None where its globs can't be read, and then every file is one.
#[derive(Debug, Clone, Default)]
pub struct Added {
    pub tests: Option<GlobSet>,
    pub meaning: Option<GlobSet>,
}

impl Added {
    pub fn by(policy: &policy::Policy) -> Self {
        Self { tests: policy::globs(&policy.freeze.tests).ok(), meaning: policy::globs(&policy.freeze.meaning).ok() }
    }
}

/// Whether a path is one of a test by its name alone, for whoever has no policy at hand. This list is the only one.
pub fn is_test(path: &str) -> bool {
    NETS.tests.as_ref().is_none_or(|net| RepoPath::from(path).matches(net))
}

/// Whether a path is one of the law's, in whatever letter case: some systems tell none apart, and some agents neither.
pub fn is_law(path: &str) -> bool {
    static LOWER: LazyLock<Option<GlobSet>> =
        LazyLock::new(|| policy::globs(LAW.iter().map(|glob| glob.to_ascii_lowercase())).ok());
    LOWER.as_ref().is_none_or(|law| RepoPath::from(path.to_ascii_lowercase().as_str()).matches(law))
}

/// Whether a path lies among the tests, whatever else it is: the contract that a test reads is put back with it.
pub fn is_among_tests(path: &RepoPath, added: &Added) -> bool {
    let in_net = |net: &Option<GlobSet>| net.as_ref().is_none_or(|net| path.matches(net));
    in_net(&NETS.tests) || in_net(&added.tests)
}

/// Whether tests may stand among the code of a file.
pub fn may_hold_tests(path: &RepoPath) -> bool {
    [&b".rs"[..], b".zig"].iter().any(|end| path.as_bytes().ends_with(end))
}

/// What a path is by its name. A test that also configures is a test: it is held more strictly.
pub fn kind(path: &RepoPath, added: &Added) -> Option<Kind> {
    let in_net = |net: &Option<GlobSet>| net.as_ref().is_none_or(|net| path.matches(net));
    if in_net(&NETS.contract) {
        Some(Kind::Contract)
    } else if in_net(&NETS.tests) || in_net(&added.tests) {
        Some(Kind::Test)
    } else if in_net(&NETS.law) || in_net(&added.meaning) || meaning::configuration(path).is_some() {
        Some(Kind::Meaning)
    } else if in_net(&NETS.locks) {
        Some(Kind::Lock)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str) -> Option<Kind> {
        let none = || policy::globs::<&str>([]).ok();
        kind(&RepoPath::from(path), &Added { tests: none(), meaning: none() })
    }

    #[test]
    fn the_built_in_globs_compile() {
        let nets = &*NETS;
        assert!(nets.tests.is_some() && nets.contract.is_some() && nets.locks.is_some() && nets.law.is_some());
    }

    /// What is frozen as law takes the autonomy of a change that touches it, too.
    #[test]
    fn the_law_is_one_list() {
        for path in [
            "CLAUDE.md",
            "web/GEMINI.md",
            ".github/instructions/rust.instructions.md",
            ".cursorrules",
            ".cursor/rules/tests.mdc",
            ".windsurfrules",
            ".clinerules/a.md",
            ".claude/settings.json",
            "web/.gitattributes",
            ".gitmodules",
            ".github/workflows/ci.yml",
            "docs/AGENTS.md",
            "CODEOWNERS",
        ] {
            assert_eq!(of(path), Some(Kind::Meaning), "{path}");
            assert!(is_law(path) && is_law(&path.to_lowercase()) && is_law(&path.to_uppercase()), "{path}");
        }
        for path in ["src/claude.md.rs", "docs/gemini.txt", ".github/ISSUE_TEMPLATE/bug.md", ".gitignore", "README.md"]
        {
            assert!(!is_law(path), "{path}");
        }
    }

    #[test]
    fn tests_of_the_common_languages_are_known_by_their_names() {
        for path in [
            "tests/api.rs",
            "crates/lamp/tests/fixtures/on.json",
            "src/lamp/tests.rs",
            "src/lamp_test.rs",
            "test_lamp.py",
            "pkg/lamp_test.py",
            "app/tests.py",
            "src/lamp.test.ts",
            "src/lamp.spec.jsx",
            "web/__tests__/lamp.js",
            "web/__snapshots__/lamp.js.snap",
            "cypress/e2e/lamp.cy.ts",
            "lamp_test.go",
            "pkg/testdata/in.txt",
            "app/src/test/java/Lamp.java",
            "app/src/androidTest/kotlin/Lamp.kt",
            "src/main/java/LampTest.java",
            "lamp/LampSpec.scala",
            "spec/models/lamp_spec.rb",
            "test/lamp_test.rb",
            "Lamp.Tests/Shine.cs",
            "src/LampTests.cs",
            "src/LampTest.php",
            "Tests/LampTests/Lamp.swift",
            "LampTests.swift",
            "lib/lamp_test.exs",
            "src/lamp_test.cc",
            "src/lamp.test.cpp",
            "src/lamp-test.cpp",
            "src/LampTests.cpp",
            "src/lamp_test.h",
            "src/test_lamp.hpp",
            "src/unittest_lamp.cpp",
            "src/tests.c",
            "src/test_lamp.rs",
            "src/lamp_tests.py",
            "src/lamp-test.js",
            "src/lamp.tests.ts",
            "src/test-lamp.mjs",
            "LampTest/Shine.cs",
            "LampUnitTests/Shine.cs",
            "src/UnitTest1.cs",
            "Lamp.Specs/Shine.fs",
            "spec/LampSpec.php",
            "LampTests/Shine.m",
            "lib/src/testFixtures/java/Lamps.java",
            "features/lamp.feature",
            "features/steps/lamp.py",
            "desk/features/steps/lamp.py",
            "desk/features/step_definitions/lamp.rb",
            "features/support/world.js",
            "spec/fixtures/lamp.yml",
            "spec/support/lamp.json",
            "robot/lamp.robot",
            "robot/lamp.resource",
            "src/__mocks__/lamp.js",
            "src/Lamp.verified.txt",
            "specs/lamp.js",
            "cypress/support/commands.js",
            "unittests/lamp.cpp",
            "src/TestLamp.java",
            "app/src/it/java/Lamp.java",
            "src/LampTestSuite.java",
            "pkg/lamp.tests.py",
            "src/TestLamp.cpp",
            "Lamp.Tests.Unit/Shine.cs",
            "src/lamp_spec.js",
            "types/lamp.test-d.ts",
            "src/__fixtures__/lamp.json",
            "integration-tests/lamp.py",
            "src/lamp_test.ts",
            "src/lamp.e2e-spec.ts",
            "test.js",
            "scripts/test_lamp.sh",
            // Another repository that is mounted as the folder of tests, or a link to them.
            "tests",
            "web/e2e",
        ] {
            assert_eq!(of(path), Some(Kind::Test), "{path}");
            assert!(is_test(path), "{path}");
        }
    }

    #[test]
    fn ordinary_source_and_papers_are_not_frozen() {
        for path in [
            "src/lib.rs",
            "src/attestation.rs",
            "src/contest.py",
            "src/latest/lamp.go",
            "src/protests.rs",
            "lib/spectrum.rb",
            "spec/openapi.yaml",
            "specs/lamp.md",
            "src/spec/parser.rs",
            "src/specs/openapi.py",
            // What people call a part of what they build.
            "src/features/support/chat.tsx",
            "src/features/steps/counter.tsx",
            "src/spec/support/grammar.rs",
            "src/commands/test.ts",
            "src/cmd/test.rs",
            "src/cmd/test.c",
            "src/Contest/Entry.cs",
            "src/latest.hpp",
            "src/contests.cpp",
            "src/backtest.js",
            "src/Inspections/Spec.cs",
            "src/integration/lamp.py",
            "docs/testing.md",
            "scaffolding/scope.md",
            "README.md",
            "Cargo.toml",
            "package.json",
            "src/contract.rs",
            "src/Greatest.java",
        ] {
            assert_eq!(of(path), None, "{path}");
        }
    }

    #[test]
    fn the_contract_what_gives_meaning_and_locks_are_told_apart() {
        for path in ["contract.json", "modules/lamp/contract.json"] {
            assert_eq!(of(path), Some(Kind::Contract), "{path}");
        }
        for path in [
            ".github/workflows/ci.yml",
            ".github/phasegate.yml",
            "CODEOWNERS",
            "docs/CODEOWNERS",
            "AGENTS.md",
            "pytest.ini",
            ".config/nextest.toml",
            "web/eslint.config.mjs",
        ] {
            assert_eq!(of(path), Some(Kind::Meaning), "{path}");
        }
        for path in ["Cargo.lock", "web/package-lock.json", "go.sum"] {
            assert_eq!(of(path), Some(Kind::Lock), "{path}");
        }
        assert_eq!(of("tests/conftest.py"), Some(Kind::Test), "what is both is held more strictly");
        let none = || policy::globs::<&str>([]).ok();
        let among = |path: &str| is_among_tests(&RepoPath::from(path), &Added { tests: none(), meaning: none() });
        assert!(among("tests/contract.json") && among("tests/a.py") && !among("contract.json") && !among("src/a.py"));
    }

    #[test]
    fn the_policy_adds_and_takes_nothing_away() {
        let added = Added { tests: policy::globs(["checks/**"]).ok(), meaning: policy::globs(["ci/*.sh"]).ok() };
        let of = |path: &str| kind(&RepoPath::from(path), &added);
        assert_eq!(of("checks/lamp.txt"), Some(Kind::Test));
        assert_eq!(of("ci/run.sh"), Some(Kind::Meaning));
        assert_eq!(of("tests/lamp.rs"), Some(Kind::Test));
        assert_eq!(of("src/lamp.rs"), None);
        assert_eq!(kind(&RepoPath::from("src/lamp.rs"), &Added::default()), Some(Kind::Test), "unknown is not fine");
    }
}
