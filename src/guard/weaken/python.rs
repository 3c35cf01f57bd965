//! Python: functions and classes of pytest, methods of unittest.
//!
//! A check is an `assert`, a method `assertX`, an expected failure (`raises`, `warns`), a call of a function named
//! `assert_…`, or of one in the same file that checks. What a fixture or an inherited method does is out of sight: a test
//! that calls one is never said to assert nothing.

use std::collections::HashMap;

use super::asks::{ASKS, asks};
use super::model::{AGAIN, Form, Mark, ONLY, Table, bag};
use super::tree::{Token, Tree, digest, hash};
use super::truth::{self, Tokens, arguments, keyword};
use super::unittest::{answers, asserted, failure, patch_in_body, patched};
use super::walk::{Walk, says_check};

/// Names of all functions of the file that are no tests.
pub(super) fn own(tree: &Tree<'_>) -> impl Iterator<Item = u64> {
    let names = (0..tree.len()).filter(|at| tree.kind(*at) == "function_definition");
    names.filter_map(|at| tree.field(at, "name")).map(|name| hash(tree.words(name)))
}

pub(super) fn enter(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    match tree.kind(at) {
        "module" => redefined(walk, at),
        "import_from_statement" if !walk.inside() => {
            taken(walk, at);
            imports(walk, at);
        }
        "import_statement" if !walk.inside() => taken(walk, at),
        "class_definition" if !walk.inside() => {
            let name = tree.field(at, "name").map_or("", |name| tree.words(name));
            let skip = decorators(tree, at).iter().find_map(|one| skips(tree, *one)).or_else(|| untested(tree, at));
            let skip = skip.or_else(|| again(walk, at)).or_else(|| asks_code(walk, at));
            walk.scope(at, name.to_owned(), skip);
            walk.loner = uncollected(tree, at, name).or_else(|| walk.loner.take());
            walk.mocked(patched(tree, &decorators(tree, at)));
        }
        "function_definition" if !walk.inside() => function(walk, at),
        "assert_statement" => {
            if let Some(what) = tree.parts(at).next() {
                // `assert pytest.raises(…)` holds what is called there.
                let called = tree.field(what, "function").map_or("", |function| tree.words(function));
                if matches!(called, "pytest.raises" | "pytest.warns") {
                    return;
                }
                let tokens = walk.tokens(what);
                // Neither is ever false, whatever it would give.
                if matches!(tree.kind(what), "lambda" | "generator_expression") {
                    let body = tree.field(what, "body").or_else(|| tree.parts(what).next());
                    let body = body.map(|body| walk.tokens(body)).unwrap_or_default();
                    return walk.add_only_told(at, &body, &tokens);
                }
                if tree.kind(what) == "tuple" {
                    // It is true because there is something in it.
                    let first = tree.parts(what).next().map(|first| walk.tokens(first)).unwrap_or_default();
                    return walk.add_only_told(at, &first, &tokens);
                }
                walk.add_truth(at, &tokens);
            }
        }
        "if_statement" => condition(walk, at),
        "while_statement" => walk.repeats(None, tree.field(at, "condition"), tree.field(at, "body")),
        "for_statement" => {
            walk.repeats(tree.field(at, "right"), None, tree.field(at, "body"));
            if let (Some(names), Some(over)) = (tree.field(at, "left"), tree.field(at, "right")) {
                walk.each(names, over);
            }
        }
        "function_definition" => nested(walk, at),
        "try_statement" => {
            let swallows = tree.children(at).any(|child| match tree.kind(child) {
                "except_clause" | "except_group_clause" => swallows(walk, child),
                // What is given back there takes the place of the failure.
                "finally_clause" => tree
                    .child_of_kind(child, "block")
                    .is_some_and(|block| tree.parts(block).any(|line| tree.kind(line) == "return_statement")),
                _ => false,
            });
            if let Some(body) = tree.field(at, "body").filter(|_| swallows) {
                walk.caught(body);
                let ends = |clause: usize| {
                    let block = tree.child_of_kind(clause, "block").filter(|_| tree.kind(clause) != "finally_clause");
                    block.is_some_and(|block| tree.parts(block).any(|line| is_end(tree, line)))
                };
                if tree.children(at).any(ends) {
                    walk.evades(body);
                }
            }
        }
        "with_statement" => with(walk, at),
        "call" => call(walk, at),
        "return_statement" => {
            // What a test gives back is compared by whoever asked for it: a picture, a document.
            if at_the_top(tree, at) && tree.parts(at).next().is_some() {
                walk.soft(0);
            }
            walk.returns(at);
        }
        "raise_statement" => raise(walk, at),
        // A function and what to call it with: whoever collects the tests calls it.
        "yield" if tree.parts(at).any(|part| matches!(tree.kind(part), "expression_list" | "tuple")) => walk.maybe(),
        "continue_statement" | "break_statement" => walk.dead_after(at),
        "assignment" => assignment(walk, at),
        _ => {}
    }
}

/// What the file takes from elsewhere, and under which name.
fn taken(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    let from = tree.field(at, "module_name").map_or("", |name| tree.words(name));
    for name in tree.children(at).filter(|child| tree.node(*child).field == "name") {
        let part = |field: &str| tree.field(name, field).map(|part| tree.words(part));
        let (there, here) = match tree.kind(name) {
            "aliased_import" => (part("name").unwrap_or(""), part("alias").unwrap_or("")),
            _ => (tree.words(name), tree.words(name)),
        };
        let there = there.rsplit('.').next().unwrap_or(there);
        walk.takes(here, from, there);
    }
}

/// Helpers of tests come from modules beside them.
fn imports(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    let from = tree.field(at, "module_name").map_or("", |name| tree.words(name));
    if from == "pytest" {
        walk.skippers.extend(bag(&tree.tokens_within(at, 100)));
    }
    let near = from.starts_with('.')
        || from.split(['.', '_']).any(|part| {
            matches!(
                part,
                "test"
                    | "tests"
                    | "testing"
                    | "conftest"
                    | "util"
                    | "utils"
                    | "helpers"
                    | "helper"
                    | "common"
                    | "support"
            )
        });
    if !near {
        return;
    }
    for name in tree.children(at).filter(|child| tree.node(*child).field == "name") {
        let last = if tree.kind(name) == "aliased_import" { tree.field(name, "alias").unwrap_or(name) } else { name };
        walk.foreign.insert(hash(tree.words(last)));
    }
}

fn decorators(tree: &Tree<'_>, at: usize) -> Vec<usize> {
    match tree.up(at) {
        Some(up) if tree.kind(up) == "decorated_definition" => {
            tree.children(up).filter(|child| tree.kind(*child) == "decorator").collect()
        }
        _ => Vec::new(),
    }
}

/// `@pytest.mark.flaky(reruns=5)`: once in so many times is enough.
fn is_repeated(tree: &Tree<'_>, decorator: usize) -> bool {
    let tokens = tree.tokens_within(decorator, 50);
    let end = tokens.iter().position(|token| token.text == "(").unwrap_or(tokens.len());
    tokens.get(..end).unwrap_or_default().last().is_some_and(|name| name.text == "flaky")
}

/// What is defined in a module or a class and defined there once more: the first is gone as if it were deleted. What the second
/// takes up again, by its class or its decorator, is not, and neither is what was only written twice.
fn redefined(walk: &mut Walk<'_>, module: usize) {
    let tree = walk.tree;
    let class = |at: &usize| tree.kind(*at) == "class_definition";
    let scopes = std::iter::once(module).chain((0..tree.len()).filter(class).filter_map(|at| tree.field(at, "body")));
    for scope in scopes {
        let mut last: HashMap<&str, usize> = HashMap::new();
        for child in tree.children(scope) {
            let Some(at) = tree.field(child, "definition").or(Some(child)) else { continue };
            let Some(name) = tree.field(at, "name").map(|name| tree.words(name)).filter(|_| is_defined(tree, at))
            else {
                continue;
            };
            let Some(before) = last.insert(name, at) else { continue };
            let head = decorators(tree, at).into_iter().chain(tree.field(at, "superclasses"));
            let takes_up =
                head.into_iter().any(|part| tree.tokens_within(part, 200).iter().any(|token| token.text == name));
            if !takes_up && tree.words(before) != tree.words(at) {
                walk.again.insert(before, tree.line(at));
            }
        }
    }
}

fn is_defined(tree: &Tree<'_>, at: usize) -> bool {
    matches!(tree.kind(at), "function_definition" | "class_definition")
}

/// The mark of what is defined once more further down.
fn again(walk: &Walk<'_>, at: usize) -> Option<Mark> {
    let line = walk.again.get(&at)?;
    Some(Mark {
        line: walk.tree.line(at),
        what: format!("it is defined once more in line {line}, and only that one is run"),
    })
}

/// The mark of a decorator, or of an `if` around it, that leaves it out where the code is wrong.
fn asks_code(walk: &Walk<'_>, at: usize) -> Option<Mark> {
    let tree = walk.tree;
    let decorators = decorators(tree, at);
    let whole = if decorators.is_empty() { at } else { tree.up(at).unwrap_or(at) };
    let hit = decorators.iter().find_map(|one| {
        let tokens = tree.tokens_within(*one, 200);
        let name = asked_by(&tokens, |condition| walk.asks_code(whole, condition))?;
        Some(asks(tree, *one, &format!("`{name}`")))
    });
    hit.or_else(|| walk.stands_under(at))
}

/// The mark that skips by a condition of which this holds.
fn asked_by<'t>(tokens: Tokens<'_, 't>, of: impl Fn(Tokens<'_, 't>) -> bool) -> Option<&'t str> {
    let at = tokens.iter().position(|token| matches!(token.text, "skipif" | "skipIf" | "skipUnless" | "xfail"))?;
    let arguments = arguments(tokens, at);
    let condition = keyword(&arguments, "condition").or(arguments.first().copied())?;
    of(condition).then(|| tokens.get(at).map(|token| token.text))?
}

/// `__test__ = False` in a class.
fn untested(tree: &Tree<'_>, class: usize) -> Option<Mark> {
    let body = tree.field(class, "body")?;
    let off =
        |at: &usize| tree.kind(*at) == "expression_statement" && tree.words(*at).replace(' ', "") == "__test__=False";
    let at = tree.children(body).find(off)?;
    Some(Mark { line: tree.line(at), what: "`__test__ = False`".to_owned() })
}

/// A class of no other one, of no such name, and that no word of the file names: no runner takes it for one of tests. Nor one
/// that is made with something, whatever its name is.
fn uncollected(tree: &Tree<'_>, class: usize, name: &str) -> Option<(usize, Mark)> {
    let bases = tree.field(class, "superclasses").map_or("", |list| tree.words(list));
    let bare = matches!(bases, "" | "()" | "(object)");
    let named = || tree.text.match_indices(name).take(2).count() > 1;
    let body = tree.field(class, "body");
    let maker = |at: usize| {
        let name = tree.field(at, "name").map(|name| tree.words(name));
        tree.kind(at) == "function_definition" && matches!(name, Some("__init__" | "__new__"))
    };
    let made = body.is_some_and(|body| tree.children(body).any(maker));
    let hit = bare && (made && name.starts_with("Test") || !name.starts_with("Test") && !named());
    hit.then(|| (tree.node(class).last, Mark { line: tree.line(class), what: name.to_owned() }))
}

/// The mark of a decorator that skips, or expects the test to fail, whatever happens.
fn skips(tree: &Tree<'_>, decorator: usize) -> Option<Mark> {
    let tokens = tree.tokens_within(decorator, 200);
    skip_mark(&tokens).map(|what| Mark { line: tree.line(decorator), what })
}

fn skip_mark(tokens: Tokens<'_, '_>) -> Option<String> {
    let at = tokens.iter().position(|token| {
        matches!(token.text, "skip" | "skipif" | "skipIf" | "skipUnless" | "xfail" | "expectedFailure")
    })?;
    // A name like these that is not the end of the decorator's own name.
    let end = tokens.iter().position(|token| token.text == "(").unwrap_or(tokens.len());
    if at + 1 != end {
        return None;
    }
    let name = tokens.get(at)?.text;
    let arguments = arguments(tokens, at);
    let first = arguments.first().copied().unwrap_or_default();
    let plain = !first.iter().any(|token| token.text == "=");
    let always = |tokens: Tokens<'_, '_>| matches!(tokens, [one] if matches!(one.text, "True" | "1"));
    let hits = match name {
        "skip" | "expectedFailure" => true,
        "skipif" | "skipIf" => always(first) || keyword(&arguments, "condition").is_some_and(always),
        "skipUnless" => matches!(first, [one] if matches!(one.text, "False" | "0" | "None")),
        // Without a condition.
        "xfail" => match keyword(&arguments, "condition") {
            Some(condition) => always(condition),
            None => first.is_empty() || !plain || always(first),
        },
        _ => false,
    };
    let asks = |token: &Token<'_>| matches!(token.text, "environ" | "getenv");
    if !hits && matches!(name, "skipif" | "skipIf" | "skipUnless") && tokens.iter().any(asks) {
        return Some(format!("{ONLY}a word of the environment (`{name}`)"));
    }
    hits.then(|| format!("`{name}`"))
}

fn is_test(name: &str) -> bool {
    name.starts_with("test")
}

/// `@pytest.fixture` and the like; `usefixtures` marks a test.
fn makes_fixture(decorator: &str) -> bool {
    decorator.split('(').next().unwrap_or(decorator).trim_end().ends_with("fixture")
}

fn function(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    let Some(name) = tree.field(at, "name").map(|name| tree.words(name)) else { return };
    let decorators = decorators(tree, at);
    let is_fixture = decorators.iter().any(|one| makes_fixture(tree.words(*one)));
    let whole = if decorators.is_empty() { at } else { tree.up(at).unwrap_or(at) };
    walk.begin(at, name, is_test(name) && !is_fixture);
    let alias = |one: &usize| {
        let what = walk.off.get(&hash(tree.words(*one).trim_start_matches('@')))?.clone()?;
        Some(Mark { line: tree.line(*one), what })
    };
    let skip = decorators.iter().find_map(|one| skips(tree, *one).or_else(|| alias(one)));
    let skip = skip.or_else(|| again(walk, at)).or_else(|| asks_code(walk, at).filter(|_| is_test(name)));
    let repeated = decorators.iter().find(|one| is_repeated(tree, **one));
    let repeated = repeated.map(|one| Mark { line: tree.line(*one), what: format!("{AGAIN}`flaky`") });
    let (mut tables, mut spared, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for one in &decorators {
        let Some(cases) = parametrized(tree, *one) else { continue };
        tables.push(table(tree, cases));
        rows.extend(super::values::rows(tree, cases));
        spared.extend(tree.parts(cases).filter_map(|row| is_spared(tree, row)).take(MOST_SPARED));
    }
    let tokens = tree.tokens_within(whole, 20_000);
    let mocks = patched(tree, &decorators);
    let strict = decorators.iter().any(|one| tree.words(*one).contains("filterwarnings"));
    // What a fixture gives may be a function that checks.
    let parameters = tree.field(at, "parameters");
    let parameters = parameters.map(|list| bag(&tree.tokens_within(list, 200))).unwrap_or_default();
    let measures = walk.path.contains("bench");
    let empty = tables.iter().find(|table: &&Table| table.items.is_empty());
    let empty = empty.map(|table| Mark { line: table.line, what: "`parametrize` without a case".to_owned() });
    let before = matches!(
        name,
        "setup_module"
            | "setUpModule"
            | "setup_class"
            | "setUpClass"
            | "setup_method"
            | "setUp"
            | "asyncSetUp"
            | "setup_function"
    ) || is_fixture
        && decorators.iter().any(|one| tree.words(*one).replace(' ', "").contains("autouse=True"));
    let loner = walk.loner.as_ref().filter(|(until, _)| at < *until).map(|(_, mark)| mark.clone());
    let Some(unit) = walk.unit() else { return };
    unit.skipped_by(skip);
    unit.skipped_by(empty);
    unit.limited = unit.limited.take().or(repeated);
    unit.before_each = before;
    unit.uncollected = loner;
    unit.tables = tables;
    unit.rows = rows;
    unit.spared = spared;
    unit.body = digest(&tokens);
    unit.tokens = bag(&tokens);
    unit.mocks.extend(mocks);
    unit.parameters = parameters;
    // Something that is measured, or that must not warn, is not asserted.
    if strict || unit.parameters.contains(&hash("benchmark")) || measures {
        unit.soft.push(0);
    }
}

/// The cases of `@pytest.mark.parametrize(names, [cases])`.
fn parametrized(tree: &Tree<'_>, decorator: usize) -> Option<usize> {
    let call = tree.children(decorator).find(|child| tree.kind(*child) == "call")?;
    let function = tree.field(call, "function")?;
    if !tree.words(function).ends_with("parametrize") {
        return None;
    }
    let list = tree.field(call, "arguments")?;
    tree.parts(list).nth(1).filter(|cases| matches!(tree.kind(*cases), "list" | "tuple"))
}

/// So many cases that are not run are told apart.
const MOST_SPARED: usize = 100;

/// `pytest.param(2, marks=pytest.mark.skip)`.
fn is_spared(tree: &Tree<'_>, row: usize) -> Option<Mark> {
    let tokens = tree.tokens_within(row, 100);
    let param = tree.kind(row) == "call" && tokens.iter().any(|token| token.text == "param");
    let marks =
        keyword(&arguments(&tokens, tokens.iter().position(|token| token.text == "(")?.checked_sub(1)?), "marks")?;
    let mark = marks.iter().find(|token| matches!(token.text, "skip" | "xfail")).filter(|_| param)?;
    Some(Mark { line: tree.line(row), what: format!("`{}`", mark.text) })
}

pub(super) fn table(tree: &Tree<'_>, list: usize) -> Table {
    let rows: Vec<Vec<Token<'_>>> = tree.parts(list).map(|row| tree.tokens_within(row, 500)).collect();
    Table {
        line: tree.line(list),
        items: rows.iter().map(|row| digest(truth::bare(row))).collect(),
        bags: rows.iter().map(|row| bag(row)).collect(),
    }
}

/// A condition that never holds makes what is under it dead; any other one guards it, where nothing stands for else.
fn condition(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    let Some(body) = tree.field(at, "consequence") else { return };
    let Some(condition) = tree.field(at, "condition") else { return };
    let depends = walk.chooses(at);
    if tree.field(at, "alternative").is_none() && tree.parts(body).all(|line| is_told(tree, line)) {
        let tokens = walk.tokens(condition);
        walk.add_only_told(at, &tokens, &tokens);
    }
    if depends && tree.parts(body).next().is_some_and(|line| is_end(tree, line)) {
        let tokens = walk.tokens(condition);
        walk.leaves(at, &tokens);
    }
    let skips = ["pytest.skip(", "pytest.xfail(", "self.skipTest(", "raise unittest.SkipTest", "raise SkipTest"];
    if depends && tree.parts(body).any(|line| skips.iter().any(|skip| tree.words(line).starts_with(skip))) {
        let tokens = walk.tokens(condition);
        walk.skips_where(at, &tokens, &[], "the `if` before it");
    }
    if depends && tree.field(at, "alternative").is_none() && !is_platform(&tree.tokens_within(condition, 100)) {
        walk.guard(body);
    }
}

/// Conditions that ask where the test runs, not what the code does.
pub(super) fn is_platform(tokens: Tokens<'_, '_>) -> bool {
    const WORDS: [&str; 15] = [
        "version_info",
        "platform",
        "PY2",
        "PY3",
        "implementation",
        "win32",
        "WIN",
        "WINDOWS",
        "IS_WINDOWS",
        "PYPY",
        "is_pypy",
        "GOOS",
        "GOARCH",
        "cfg",
        "version",
    ];
    let name = |token: &Token<'_>| {
        WORDS.contains(&token.text) || token.text.starts_with("HAS_") || token.text.starts_with("has_")
    };
    tokens.iter().any(name) || tokens.iter().any(|token| token.text.starts_with("PY") || token.text.contains("pypy"))
}

/// A handler that takes every failure and does nothing about it.
fn swallows(walk: &mut Walk<'_>, clause: usize) -> bool {
    let tree = walk.tree;
    let body = tree.child_of_kind(clause, "block");
    let head: Vec<Token<'_>> =
        tree.parts(clause).filter(|part| Some(*part) != body).flat_map(|part| tree.tokens_within(part, 50)).collect();
    let all = head.is_empty()
        || head.iter().any(|token| matches!(token.text, "Exception" | "BaseException" | "AssertionError"));
    all && body.is_some_and(|body| tree.parts(body).all(|line| is_idle(tree, line) || is_kept_for_nobody(walk, line)))
}

/// What ends a test that has not failed.
fn is_end(tree: &Tree<'_>, line: usize) -> bool {
    tree.kind(line) == "return_statement"
        || ["pytest.skip(", "pytest.xfail(", "self.skipTest("].iter().any(|skip| tree.words(line).starts_with(skip))
}

/// Something is printed or logged, and nothing else done.
fn is_told(tree: &Tree<'_>, line: usize) -> bool {
    let tokens = tree.tokens_within(line, 4);
    let first = tokens.first().map_or("", |token| token.text);
    matches!(tree.kind(line), "expression_statement" | "pass_statement")
        && matches!(first, "print" | "pprint" | "log" | "logger" | "logging" | "LOG" | "warnings" | "pass")
}

/// `failed = error`, and nobody asks for it.
fn is_kept_for_nobody(walk: &mut Walk<'_>, line: usize) -> bool {
    let tree = walk.tree;
    let name = tree.child_of_kind(line, "assignment").and_then(|set| tree.field(set, "left"));
    let name = name.filter(|name| tree.kind(*name) == "identifier").map(|name| tree.words(name));
    name.is_some_and(|name| walk.mentions(name).is_some_and(|times| times <= 1))
}

fn is_idle(tree: &Tree<'_>, line: usize) -> bool {
    match tree.kind(line) {
        "pass_statement" | "continue_statement" | "break_statement" => true,
        // Nothing, or something that says nothing of the failure.
        "return_statement" => tree.parts(line).all(|value| truth::is_literal(&tree.tokens_within(value, 50))),
        "expression_statement" => {
            let tokens = tree.tokens_within(line, 50);
            let tokens = match tokens.as_slice() {
                [object, dot, rest @ ..] if matches!(object.text, "self" | "cls") && dot.text == "." => rest,
                all => all,
            };
            let [first, rest @ ..] = tokens else { return true };
            let skips = ["skip", "xfail", "skipTest"];
            let method = |from: &str, names: &[&str]| {
                first.text == from && rest.get(1).is_some_and(|name| names.contains(&name.text))
            };
            rest.is_empty() && (first.text == "..." || first.sort == super::tree::Sort::Text)
                || matches!(
                    first.text,
                    "print" | "pprint" | "log" | "logger" | "logging" | "_logger" | "LOG" | "warnings"
                )
                || matches!(first.text, "LOGGER" | "traceback" | "skipTest")
                || method("pytest", &skips)
                || method("sys", &["stderr", "stdout"])
        }
        _ => false,
    }
}

/// `with suppress(Exception):` around checks.
fn with(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    let Some(body) = tree.field(at, "body") else { return };
    let Some(clause) = tree.child_of_kind(at, "with_clause") else { return };
    let tokens = tree.tokens_within(clause, 100);
    let all = |token: &Token<'_>| matches!(token.text, "Exception" | "BaseException" | "AssertionError");
    if tokens.iter().any(|token| token.text == "suppress") && tokens.iter().any(all) {
        walk.caught(body);
    }
    // A check that must fail. What checks by a function, or by a mock's own word, may be what is tested.
    let raises = tokens.iter().any(|token| matches!(token.text, "raises" | "assertRaises"));
    let plain = |line: usize| tree.kind(line) == "assert_statement" || tree.words(line).starts_with("self.assert");
    if raises && tokens.iter().any(all) && tree.parts(body).any(plain) {
        walk.forgets(body);
    }
}

/// Directly in the body of the function, not in a block of it.
fn at_the_top(tree: &Tree<'_>, at: usize) -> bool {
    let Some(block) = tree.up(at) else { return false };
    tree.kind(block) == "block" && tree.kind_above(block) == "function_definition"
}

fn raise(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    let tokens = tree.tokens_within(at, 20);
    if tokens.iter().any(|token| token.text == "SkipTest") {
        return walk.skips(at, "`raise SkipTest`");
    }
    walk.dead_after(at);
    if tokens.iter().any(|token| token.text == "AssertionError") {
        let tokens = walk.tokens(at);
        walk.add_form(at, Form::Other, &tokens, &tokens, &[]);
    }
}

/// A function in a test that no word of it names is never called. One that is decorated, or a method, is somebody else's to call.
fn nested(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    let (Some(name), Some(body)) = (tree.field(at, "name"), tree.field(at, "body")) else { return };
    let method = tree.up(at).is_some_and(|block| tree.kind_above(block) == "class_definition");
    // A function of the test that takes the name of what was imported is tested in its place.
    if !method && walk.inside() && walk.suite.taken.contains_key(&hash(tree.words(name))) {
        walk.replaces(at, tree.words(name).to_owned());
    }
    if decorators(tree, at).is_empty() && !method {
        walk.nested(at, body, tree.words(name), 0);
    }
}

/// What names were given, for expectations that are computed; and the mark of a whole module.
fn assignment(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    let (Some(left), Some(right)) = (tree.field(at, "left"), tree.field(at, "right")) else { return };
    // `lamp.dim = Mock(return_value=3)`, and `dim = Mock(…)` of what was imported.
    let taken = tree.kind(left) == "identifier" && walk.suite.taken.contains_key(&hash(tree.words(left)));
    if walk.inside() && (taken || tree.kind(left) == "attribute") && answers(&tree.tokens_within(right, 50)) {
        let words = tree.words(left);
        let last_two = words.rmatch_indices('.').nth(1).map_or(words, |(dot, _)| words.get(dot + 1..).unwrap_or(words));
        walk.replaces(at, last_two.to_owned());
    }
    if matches!(tree.kind(left), "pattern_list" | "tuple_pattern" | "list_pattern")
        && !tree.parts(left).any(|part| tree.kind(part) == "list_splat_pattern")
    {
        walk.unpacks(right);
    }
    if tree.kind(left) != "identifier" {
        return;
    }
    if !walk.inside() {
        walk.keeps(left, right);
    }
    if walk.inside() {
        walk.give(left, right);
    } else if tree.words(right).starts_with("pytest.mark.") && tree.words(left) != "pytestmark" {
        // A name that is given twice depends on something.
        let what = skip_mark(&tree.tokens_within(right, 100));
        walk.off.entry(hash(tree.words(left))).and_modify(|what| *what = None).or_insert(what);
    } else if tree.words(left) == "pytestmark" && !walk.scoped() {
        let marks = if tree.kind(right) == "list" { tree.parts(right).collect() } else { vec![right] };
        let all: Vec<_> = marks.into_iter().map(|mark| tree.tokens_within(mark, 100)).collect();
        let asked = |tokens: &Vec<Token<'_>>| {
            let name = asked_by(tokens, |condition| walk.asks_code(0, condition))?;
            Some(format!("`{name}`{ASKS}"))
        };
        let mark = all.iter().find_map(|tokens| skip_mark(tokens)).or_else(|| all.iter().find_map(asked));
        if let Some(what) = mark {
            let mark = Mark { line: tree.line(at), what };
            if mark.is_limit() || mark.is_asked() {
                walk.suite.limited = Some(mark);
            } else {
                walk.suite.skip = Some(mark);
            }
        }
    }
}

/// A call that skips, where it is a statement.
fn skipped(walk: &mut Walk<'_>, at: usize, what: &str) {
    let statement = walk.tree.up(at).unwrap_or(0);
    if walk.tree.kind(statement) == "expression_statement" {
        walk.skips(statement, what);
    }
}

fn call(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    let Some(function) = tree.field(at, "function") else { return };
    let name = match tree.kind(function) {
        "identifier" => tree.words(function),
        "attribute" => tree.field(function, "attribute").map_or("", |name| tree.words(name)),
        // What a call gives is called.
        _ => return,
    };
    if !walk.inside() {
        if name == "skip"
            && tree.words(at).contains("allow_module_level")
            && tree.kind_above(tree.up(at).unwrap_or(0)) == "module"
        {
            walk.suite.skip = Some(Mark { line: tree.line(at), what: "`pytest.skip`".to_owned() });
        }
        return;
    }
    let on = tree.field(function, "object").map_or("", |on| tree.words(on));
    match name {
        "raises"
        | "assertRaises"
        | "assertRaisesRegex"
        | "assertRaisesRegexp"
        | "warns"
        | "assertWarns"
        | "assertWarnsRegex"
        | "deprecated_call"
        | "assert_raises"
        | "assertRaisesMessage" => failure(walk, at, name),
        "skip" | "skipTest" | "xfail" | "exit" if matches!(on, "pytest" | "self" | "unittest") => {
            skipped(walk, at, &format!("`{on}.{name}`"));
        }
        "skip" | "xfail" if on.is_empty() && walk.skippers.contains(&hash(name)) => {
            skipped(walk, at, &format!("`{name}`"))
        }
        // Hypothesis takes no example then.
        "assume"
            if matches!(
                tree.field(at, "arguments").map(|list| tree.words(list)),
                Some("(False)" | "(0)" | "(None)")
            ) =>
        {
            skipped(walk, at, "`assume(False)`");
        }
        // `e.match("dim")` of a failure that was caught under a name.
        "match"
            if !matches!(on, "re" | "")
                && !on.contains('(')
                && tree.up(at).is_some_and(|up| tree.kind(up) == "expression_statement") =>
        {
            let tokens = walk.tokens(at);
            walk.add_form(at, Form::Other, &tokens, &tokens, &[]);
        }
        "fail" | "RaisesGroup" | "RaisesExc" if matches!(on, "pytest" | "self" | "") => {
            let tokens = walk.tokens(at);
            walk.add_form(at, Form::Other, &tokens, &tokens, &[]);
        }
        "fnmatch_lines" | "re_match_lines" | "assert_outcomes" | "fnmatch_lines_random" | "no_fnmatch_line" => {
            let tokens = walk.tokens(at);
            let subject: Vec<Token<'_>> = tokens.iter().take_while(|token| token.text != "(").copied().collect();
            walk.add_form(at, Form::Other, &tokens, &subject, tokens.get(subject.len()..).unwrap_or_default());
        }
        // What takes too long fails.
        "fail_after" | "wait_for" | "timeout" => walk.soft(0),
        // A warning is a failure here.
        "simplefilter" | "filterwarnings" if tree.words(at).contains("error") => walk.soft(0),
        name if name.starts_with("assert") => asserted(walk, at, name, on),
        name => {
            let known = walk.own.contains(&hash(name));
            let first = on.split(['.', '(', '[']).next().unwrap_or(on);
            let given = walk.unit().is_some_and(|unit| unit.parameters.contains(&hash(name)));
            let inherited = matches!(first, "self" | "cls") && !known;
            walk.call(at, name);
            if given && on.is_empty() || inherited || says_check(name) && !known {
                walk.maybe();
            }
        }
    }
    patch_in_body(walk, at, name, on);
}
