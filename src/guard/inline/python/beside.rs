//! What stands beside tests and decides over them: hooks and fixtures, rows that a decorator names, and where `unittest` and `pytest`
//! come from.

use std::collections::{BTreeMap, BTreeSet};

use super::{Walk, word};
use crate::guard::inline::Sort;
use crate::guard::inline::found::{Beyond, Draft, EVERY_TEST, Uses};
use crate::guard::inline::nodes::At;
use crate::guard::inline::print::Print;
use crate::ids::Digest;

/// Names that tests are made of and fail by.
const VOICES: &[&str] = &[
    "unittest",
    "pytest",
    "doctest",
    "TestCase",
    "IsolatedAsyncioTestCase",
    "raises",
    "approx",
    "fixture",
    "mark",
    "given",
];

/// Modules that they come from.
const MODULES: &[&str] = &["unittest", "pytest", "doctest", "hypothesis"];

/// What is run before or after tests, in a module or a class.
const HOOKS: &[&str] = &[
    "setUp",
    "setUpClass",
    "setUpModule",
    "asyncSetUp",
    "tearDown",
    "tearDownClass",
    "tearDownModule",
    "asyncTearDown",
    "setup",
    "setup_module",
    "setup_function",
    "setup_class",
    "setup_method",
    "teardown",
    "teardown_module",
    "teardown_function",
    "teardown_class",
    "teardown_method",
    "pytest_generate_tests",
];

/// Words that leave tests out, or end the program that runs them.
const LEAVES_OUT: &[&str] = &["skip", "skipTest", "SkipTest", "importorskip", "xfail", "exit", "_exit"];

/// Names of a class by which its tests are not found, or not run.
const DECIDES: &[&str] = &["__init__", "__new__", "__test__", "__getattribute__", "__unittest_skip__", "pytestmark"];

/// The same in a class of `unittest`.
const DECIDES_OF_UNITTEST: &[&str] =
    &["run", "debug", "__call__", "_callTestMethod", "failureException", "defaultTestResult", "countTestCases"];

/// Something of the module that may belong to its tests: that is known once all of it is read.
pub(super) struct Beside {
    pub(super) whole: At,
    pub(super) at: At,
    pub(super) name: String,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Hook,
    Value,
}

impl<'t> Walk<'_, 't> {
    fn words(&self, at: At) -> Vec<&'t str> {
        self.nodes.tokens(at).into_iter().filter_map(word).collect()
    }

    fn decorators(&self, whole: At) -> Vec<&'t str> {
        let decorators = self.nodes.children(whole).filter(|child| self.nodes.kind(*child) == "decorator");
        decorators.flat_map(|at| self.words(at)).collect()
    }

    fn is_fixture(&self, whole: At) -> bool {
        self.decorators(whole).contains(&"fixture")
    }

    /// A function of the module that belongs to tests, if there are some.
    pub(super) fn is_hook(&self, whole: At, name: &str) -> bool {
        HOOKS.contains(&name) || self.is_fixture(whole)
    }

    /// Whether what has this name leaves out the tests that it stands beside.
    fn leaves_out(&self, whole: At, name: &str) -> bool {
        let runs = HOOKS.contains(&name) || self.is_fixture(whole) && self.decorators(whole).contains(&"autouse");
        let says = || self.words(whole).iter().any(|word| LEAVES_OUT.contains(word));
        name == "pytest_generate_tests" || runs && says()
    }

    /// What a statement of a class of tests gives a meaning to.
    pub(super) fn meanings(&self, whole: At, name: &str, unittest: bool) -> Vec<String> {
        let mut defines = vec![name.to_owned(), format!("self.{name}")];
        let decides = DECIDES.contains(&name) || unittest && DECIDES_OF_UNITTEST.contains(&name);
        if decides || self.leaves_out(whole, name) {
            defines.push(EVERY_TEST.to_owned());
        }
        defines
    }

    /// What a decorator of a test names.
    pub(super) fn named_by_decorators(&mut self, whole: At) {
        let words = self.decorators(whole);
        self.rows.extend(words);
    }

    /// Writes down what belongs to the tests of the module, where it has some.
    pub(super) fn beside(&mut self) {
        if !self.found.0.iter().any(|draft| draft.sort == Sort::Test) {
            return;
        }
        for Beside { whole, at, name, kind } in std::mem::take(&mut self.besides) {
            if kind == Kind::Value && !self.rows.contains(name.as_str()) {
                continue;
            }
            let every = kind == Kind::Hook && self.leaves_out(whole, &name);
            let defines = std::iter::once(name.clone()).chain(every.then(|| EVERY_TEST.to_owned())).collect();
            self.item(whole, at, Sort::Helper, name, defines);
        }
        self.voices();
    }

    /// Where the names come from that the tests are made of.
    fn voices(&mut self) {
        let mut sources: BTreeMap<&'t str, (BTreeSet<String>, bool)> = BTreeMap::new();
        for at in std::mem::take(&mut self.imports) {
            let words = self.words(at);
            let (from, names) = match words.as_slice() {
                ["from", rest @ ..] => {
                    let import = rest.iter().position(|word| *word == "import").unwrap_or(rest.len());
                    (rest.get(..import).unwrap_or_default().concat(), rest.get(import + 1..).unwrap_or_default())
                }
                ["import", rest @ ..] => (String::new(), rest),
                [name, "=", ..] if VOICES.contains(name) => {
                    let (said, known) = sources.entry(name).or_insert((BTreeSet::new(), true));
                    said.insert(words.join(" "));
                    *known = false;
                    continue;
                }
                _ => continue,
            };
            for part in names.split(|word| *word == ",") {
                let part: Vec<&str> = part.iter().copied().filter(|word| !matches!(*word, "(" | ")")).collect();
                let (name, what) = match part.as_slice() {
                    [what @ .., "as", name] => (*name, what.concat()),
                    // `import a.b` gives a meaning to `a`.
                    [first, ..] => (*first, (*first).to_owned()),
                    [] => continue,
                };
                let module = if from.is_empty() { &what } else { &from };
                let known = MODULES.contains(&module.split('.').next().unwrap_or_default());
                let (said, all_known) = sources.entry(name).or_insert((BTreeSet::new(), true));
                said.insert(format!("{what} of {from}"));
                *all_known &= known;
            }
        }
        let drafts = &self.found.0;
        let used = |name: &str| {
            self.heads.contains(name) || drafts.iter().any(|draft| !draft.defines.is_empty() && draft.uses.has(name))
        };
        sources.retain(|name, _| VOICES.contains(name) && used(name));
        let under = self.top().under;
        for (name, (said, known)) in sources {
            let mut print = Print::default();
            print.word(under.as_ref().map_or("", Digest::as_str));
            said.iter().for_each(|said| print.word(said));
            self.found.0.push(Draft {
                name: format!("what {name} means"),
                scope: String::new(),
                digest: print.digest(),
                line: 1,
                bytes: 0..0,
                skipped: false,
                sort: Sort::Helper,
                defines: if known { Vec::new() } else { vec![name.to_owned()] },
                beyond: Beyond::default(),
                uses: Uses::default(),
            });
        }
    }

    /// What a statement of the module does to a class of tests.
    pub(super) fn class_is_set(&mut self, at: At, class: String) {
        let words = self.words(at);
        let decides = |name: &str| {
            DECIDES.contains(&name)
                || DECIDES_OF_UNITTEST.contains(&name)
                || HOOKS.contains(&name)
                || name.starts_with("test")
        };
        let defines = match words.as_slice() {
            [name, ".", attribute, "=", ..] if *name == class && !decides(attribute) => format!("self.{attribute}"),
            _ => EVERY_TEST.to_owned(),
        };
        let mut print = Print::default();
        print.tokens(&self.nodes.tokens(at));
        self.found.0.push(Draft {
            name: format!("what {class} means"),
            scope: class,
            digest: print.digest(),
            line: self.nodes.line(at),
            bytes: self.nodes.start(at)..self.nodes.end(at),
            skipped: false,
            sort: Sort::Helper,
            defines: vec![defines],
            beyond: Beyond::default(),
            uses: Uses::default(),
        });
    }
}
