//! JavaScript and TypeScript: `test`, `it` and `describe` of jest, vitest, mocha, node:test, ava, tap and tape.
//!
//! A check is a chain of `expect`, `assert` or `should`, a method of a test's `t`, or a function of the file that checks.
//! A promise that is returned and a callback that is handed on (`done`) are weak checks.

use super::asks::asks;
use super::chains::{asserted, expected, mocked, should, spied};
use super::matchers;
use super::model::{AGAIN, Form, Mark, ONLY, bag};
use super::tree::{Token, Tree, hash};
use super::truth;
use super::walk::{Walk, says_check};

/// Names of the functions of the file.
pub(super) fn own(tree: &Tree<'_>) -> impl Iterator<Item = u64> {
    (0..tree.len()).filter_map(|at| function_name(tree, at)).map(hash)
}

/// The name of a function that is declared here, in whatever way.
fn function_name<'t>(tree: &Tree<'t>, at: usize) -> Option<&'t str> {
    match tree.kind(at) {
        "function_declaration" | "generator_function_declaration" | "method_definition" => {
            tree.field(at, "name").map(|name| tree.words(name))
        }
        "variable_declarator" => {
            let value = tree.field(at, "value")?;
            is_function(tree, value).then(|| tree.field(at, "name").map(|name| tree.words(name)))?
        }
        _ => None,
    }
}

fn is_function(tree: &Tree<'_>, at: usize) -> bool {
    matches!(tree.kind(at), "arrow_function" | "function_expression" | "function" | "generator_function")
}

pub(super) fn enter(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    match tree.kind(at) {
        "import_statement" => {
            imports(walk, at);
            taken(walk, at);
        }
        "function_declaration" | "variable_declarator" | "method_definition" if !walk.inside() => {
            if let Some(name) = function_name(tree, at) {
                walk.begin(at, name, false);
            } else if let (Some(name), Some(value)) = (tree.field(at, "name"), tree.field(at, "value")) {
                walk.keeps(name, value);
            }
            required(walk, at);
        }
        "variable_declarator" => {
            required(walk, at);
            nested(walk, at);
            given(walk, at);
        }
        "assignment_expression" => replaced(walk, at),
        "call_expression" => call(walk, at),
        "member_expression" => should(walk, at),
        "if_statement" => condition(walk, at),
        "try_statement" => {
            let swallows = tree.field(at, "handler").is_some_and(|handler| swallows(tree, handler))
                || tree.field(at, "finalizer").is_some_and(|last| gives_back(tree, last));
            if let Some(body) = tree.field(at, "body").filter(|_| swallows) {
                walk.caught(body);
                let handler = tree.field(at, "handler").and_then(|handler| tree.field(handler, "body"));
                if handler.is_some_and(|body| tree.parts(body).any(|line| tree.kind(line) == "return_statement")) {
                    walk.evades(body);
                }
            }
        }
        "function_declaration" | "generator_function_declaration" => nested(walk, at),
        "while_statement" => walk.repeats(None, tree.field(at, "condition"), tree.field(at, "body")),
        "for_in_statement" => {
            walk.repeats(tree.field(at, "right"), None, tree.field(at, "body"));
            if let (Some(names), Some(over)) = (tree.field(at, "left"), tree.field(at, "right")) {
                walk.each(names, over);
            }
        }
        "binary_expression" => short(walk, at),
        "throw_statement" => {
            walk.soft(0);
            walk.dead_after(at);
        }
        "continue_statement" | "break_statement" => walk.dead_after(at),
        "return_statement" => returned(walk, at),
        _ => {}
    }
}

/// Helpers of tests come from files beside them.
fn imports(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    let from = tree.field(at, "source").and_then(|source| tree.string(source)).unwrap_or("");
    let near = ["test", "util", "helper", "common", "support", "fixture"].iter().any(|word| from.contains(word));
    if from.starts_with('.') && near {
        walk.foreign.extend(bag(&tree.tokens_within(at, 200)));
    }
}

/// What an import takes from where, and under which name: all of the module is `*`.
fn taken(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    let Some(from) = tree.field(at, "source").and_then(|source| tree.string(source)) else { return };
    let Some(clause) = tree.child_of_kind(at, "import_clause") else { return };
    for part in tree.parts(clause) {
        match tree.kind(part) {
            "identifier" => walk.takes(tree.words(part), from, "default"),
            "namespace_import" => {
                tree.parts(part).for_each(|name| walk.takes(tree.words(name), from, "*"));
            }
            "named_imports" => {
                for one in tree.parts(part) {
                    let Some(name) = tree.field(one, "name") else { continue };
                    let here = tree.field(one, "alias").unwrap_or(name);
                    walk.takes(tree.words(here), from, tree.words(name));
                }
            }
            _ => {}
        }
    }
}

/// `const { dim } = require('./lamp')`, `const lamp = await import('./lamp')`.
fn required(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    let (Some(name), Some(value)) = (tree.field(at, "name"), tree.field(at, "value")) else { return };
    let tokens = tree.tokens_within(value, 6);
    let from = match truth::bare(&tokens) {
        [call, open, from, close, ..]
            if matches!(call.text, "require" | "import") && open.text == "(" && close.text == ")" =>
        {
            from.text
        }
        _ => return,
    };
    if tree.kind(name) == "identifier" {
        return walk.takes(tree.words(name), from, "*");
    }
    for one in tree.parts(name).take(100) {
        let here = tree.field(one, "value").unwrap_or(one);
        let there = tree.field(one, "key").unwrap_or(one);
        walk.takes(tree.words(here), from, tree.words(there));
    }
}

/// `lamp.dim = jest.fn(() => 3)`.
fn replaced(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    let (Some(left), Some(right)) = (tree.field(at, "left"), tree.field(at, "right")) else { return };
    let mock = ["jest.fn", "vi.fn", "sinon.stub", "sinon.fake", "mock.fn"]
        .iter()
        .any(|name| tree.words(right).starts_with(name));
    if mock && tree.kind(left) == "member_expression" {
        let words = tree.words(left);
        let last_two = words.rmatch_indices('.').nth(1).map_or(words, |(dot, _)| words.get(dot + 1..).unwrap_or(words));
        walk.replaces(at, last_two.to_owned());
    }
}

fn given(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    let (Some(name), Some(value)) = (tree.field(at, "name"), tree.field(at, "value")) else { return };
    let mock = ["jest.fn(", "vi.fn(", "sinon.stub(", "sinon.fake", "mock.fn("];
    if walk.inside() && mock.iter().any(|mock| tree.words(value).starts_with(mock)) {
        let answer = tree.field(value, "arguments").and_then(|list| tree.parts(list).next());
        walk.stands_in(at, tree.words(name), answer.unwrap_or(name));
    }
    if tree.kind(name) == "identifier" && !is_function(tree, value) {
        walk.give(name, value);
        if tree.kind(value) == "array" && super::names_cases(tree.words(name)) {
            let table = super::python::table(tree, value);
            if let Some(unit) = walk.unit() {
                unit.tables.push(table);
            }
        }
    }
}

/// The words of a name with dots, from the first: `it.skip.each`. What is called on the way is left out.
fn path_of<'t>(tree: &Tree<'t>, mut at: usize) -> Vec<&'t str> {
    const LONGEST: usize = 12;
    let mut words = Vec::new();
    for _ in 0..LONGEST {
        match tree.kind(at) {
            "member_expression" => {
                words.push(tree.field(at, "property").map_or("", |name| tree.words(name)));
                at = tree.field(at, "object").unwrap_or(0);
            }
            // `t['throws']` is `t.throws`.
            "subscript_expression" => {
                words.push(tree.field(at, "index").and_then(|name| tree.string(name)).unwrap_or(""));
                at = tree.field(at, "object").unwrap_or(0);
            }
            "call_expression" => at = tree.field(at, "function").unwrap_or(0),
            "identifier" => {
                words.push(tree.words(at));
                break;
            }
            "this" => {
                words.push("this");
                break;
            }
            _ => {
                words.push("");
                break;
            }
        }
    }
    words.reverse();
    words
}

const TESTS: [&str; 8] = ["it", "test", "specify", "xit", "xtest", "fit", "xspecify", "tape"];
const GROUPS: [&str; 6] = ["describe", "context", "suite", "xdescribe", "fdescribe", "xcontext"];

/// What a call makes: a test or a group of them.
fn makes(tree: &Tree<'_>, path: &[&str], at: usize) -> Option<bool> {
    let [first, rest @ ..] = path else { return None };
    let known = |word: &&str| {
        matches!(
            *word,
            "skip"
                | "only"
                | "each"
                | "concurrent"
                | "sequential"
                | "failing"
                | "fails"
                | "todo"
                | "serial"
                | "cb"
                | "skipIf"
                | "runIf"
                | "parallel"
                | "describe"
                | "extend"
                | "for"
        )
    };
    let nested = matches!(rest, ["test", ..]) && (first.len() <= 3 || *first == "tap" || *first == "Deno");
    if nested && rest.iter().skip(1).all(known) {
        return title(tree, at).map(|_| true);
    }
    if !rest.iter().all(known) {
        return None;
    }
    if GROUPS.contains(first) || rest.contains(&"describe") {
        return title(tree, at).map(|_| false);
    }
    (TESTS.contains(first) && title(tree, at).is_some()).then_some(true)
}

/// The first argument, where it is a name for a test.
fn title(tree: &Tree<'_>, at: usize) -> Option<usize> {
    let list = tree.field(at, "arguments")?;
    let first = tree.parts(list).next()?;
    let text = matches!(
        tree.kind(first),
        "string" | "template_string" | "binary_expression" | "identifier" | "call_expression" | "member_expression"
    );
    let named = tree.string(first).is_some() || tree.parts(list).skip(1).any(|part| is_function(tree, part));
    (text && named && !is_table(tree, at)).then_some(first)
}

/// `test.each(table)` itself, which is called again with the test.
fn is_table(tree: &Tree<'_>, at: usize) -> bool {
    let function = tree.field(at, "function");
    function.is_some_and(|function| {
        tree.kind(function) == "member_expression"
            && matches!(
                tree.field(function, "property").map(|name| tree.words(name)),
                Some("each" | "skipIf" | "runIf" | "for" | "extend")
            )
    })
}

fn call(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    let Some(function) = tree.field(at, "function") else { return };
    let path = path_of(tree, function);
    if let Some(test) = makes(tree, &path, at) {
        return begin(walk, at, &path, test);
    }
    let (first, last) = (path.first().copied().unwrap_or(""), path.last().copied().unwrap_or(""));
    if path == ["expect"] || path == ["chai", "expect"] {
        return expected(walk, at, function);
    }
    let module = matches!(last, "mock" | "doMock" | "unstable_mockModule") && matches!(first, "jest" | "vi" | "vitest");
    if module || last == "module" && first == "mock" {
        return mocked(walk, at);
    }
    if !walk.inside() {
        if matches!(path.as_slice(), ["beforeEach" | "before" | "beforeAll" | "setup" | "suiteSetup"])
            && tree.field(at, "arguments").is_some_and(|list| tree.parts(list).any(|part| is_function(tree, part)))
        {
            walk.begin(at, "(before each)", false);
            if let Some(unit) = walk.unit() {
                // What it checks is none of the tests'.
                (unit.before_each, unit.apart) = (true, true);
            }
        }
        return;
    }
    if let ("catch" | "then", Some(on)) = (last, tree.field(function, "object"))
        && catches_idly(tree, at, usize::from(last == "then"))
    {
        walk.caught(on);
    }
    // Links of a chain that was read from its beginning, or will be.
    let direct = matches!(tree.kind(function), "identifier" | "member_expression" | "subscript_expression");
    if !direct || (path.first() == Some(&"expect") && path.len() > 1 && !matches!(last, "fail" | "soft" | "poll")) {
        return;
    }
    let receiver = path.len().checked_sub(2).and_then(|at| path.get(at)).copied().unwrap_or("");
    let asserting =
        matches!(receiver, "assert" | "t" | "st" | "tt" | "sst" | "s2t" | "tap" | "Assert") || path == ["assert"];
    match last {
        _ if skips(tree, at, &path) => {
            let statement =
                tree.up(at).filter(|up| matches!(tree.kind(*up), "expression_statement" | "return_statement"));
            // `(ctx) => ctx.skip()`.
            let statement = statement.or((tree.node(at).field == "body").then_some(at));
            if let Some(statement) = statement {
                walk.skips(statement, &format!("`{}()`", path.join(".")));
            }
        }
        "spyOn" | "stub" => spied(walk, at),
        // `t.mock.method(lamp, 'dim', () => 3)` of node:test.
        "method" if receiver == "mock" => spied(walk, at),
        "forEach" | "map" if path.len() > 1 => {
            let nothing = tree.field(function, "object").map(|on| tree.tokens_within(on, 10));
            if nothing.is_some_and(|on| super::constant::is_nothing(&on)) {
                walk.dead(at);
            }
            if let Some(unit) = walk.unit() {
                unit.loops += 1;
            }
        }
        _ if asserting && matchers::method(last).is_some() || path == ["assert"] => asserted(walk, at, last),
        _ if receiver == "assert" && !matches!(last, "async" | "end" | "plan") => {
            let tokens = walk.tokens(at);
            walk.add_form(at, Form::Other, &tokens, &tokens, &[]);
        }
        "should" | "expect" if path.len() > 1 => {
            let tokens = walk.tokens(at);
            walk.add_form(at, Form::Other, &tokens, &tokens, &[]);
        }
        "fail" if matches!(first, "expect" | "t" | "assert" | "fail") => {
            let tokens = walk.tokens(at);
            walk.add_form(at, Form::Other, &tokens, &tokens, &[]);
        }
        // A method of the test's handle that is not known may be one that checks.
        name if matches!(first, "t" | "st" | "tt" | "sst" | "s2t" | "tap")
            && !matches!(
                name,
                "end"
                    | "plan"
                    | "comment"
                    | "teardown"
                    | "test"
                    | "diagnostic"
                    | "log"
                    | "timeout"
                    | "timeoutAfter"
                    | "skip"
                    | "pass"
            ) =>
        {
            walk.maybe();
        }
        "done" => walk.soft(0),
        name if name.starts_with("getBy") || name.starts_with("findBy") || name.starts_with("getAllBy") => walk.soft(0),
        name => {
            let own = walk.own.contains(&hash(name));
            walk.call(at, name);
            if !own && (says_check(name) || hands_on(tree, at)) {
                walk.maybe();
            }
        }
    }
}

/// Whether a call is given the test's own handle, or its callback: what it does with it is out of sight.
fn hands_on(tree: &Tree<'_>, at: usize) -> bool {
    let Some(list) = tree.field(at, "arguments") else { return false };
    tree.parts(list).any(|part| {
        tree.kind(part) == "identifier" && matches!(tree.words(part), "t" | "st" | "tt" | "done" | "assert" | "expect")
    })
}

fn begin(walk: &mut Walk<'_>, at: usize, path: &[&str], test: bool) {
    let tree = walk.tree;
    let Some(title) = title(tree, at) else { return };
    let name = tree.string(title).unwrap_or_else(|| tree.words(title)).to_owned();
    let line = tree.line(at);
    let first = path.first().copied().unwrap_or("");
    let off = path.iter().find(|word| matches!(**word, "skip" | "todo" | "failing" | "fails"));
    let off = off.copied().or_else(|| first.starts_with('x').then_some(first));
    let list = tree.field(at, "arguments").unwrap_or(at);
    let option = tree
        .parts(list)
        .filter(|part| tree.kind(*part) == "object")
        .flat_map(|object| tree.children(object).collect::<Vec<_>>());
    let option = option.filter_map(|pair| {
        let key = tree.field(pair, "key").map(|key| tree.words(key))?;
        let value = tree.field(pair, "value")?;
        let on = tree.words(value) == "true" || tree.string(value).is_some_and(|text| !text.is_empty());
        (matches!(key, "skip" | "todo" | "fails") && on).then_some(key)
    });
    let again = retried(tree, list).filter(|_| test).map(|line| Mark { line, what: format!("{AGAIN}`retry`") });
    let empty = test && tree.parts(list).count() == 1;
    let off = off.or_else(|| option.collect::<Vec<_>>().first().copied()).or(empty.then_some("pending"));
    let off = off.or_else(|| unless(tree, at));
    let skip = off.map(|word| Mark { line, what: format!("`{word}`") });
    let skip = skip.or_else(|| asked(tree, at).map(|what| Mark { line, what }));
    let skip = skip.or_else(|| asks_code(walk, at)).or_else(|| walk.stands_under(at).filter(|_| !walk.inside()));
    if path.contains(&"only") || matches!(first, "fit" | "fdescribe") {
        walk.suite.only = Some(Mark { line, what: name.clone() });
    }
    let repeated = path.iter().any(|word| matches!(*word, "each" | "for"));
    if !test {
        if repeated {
            walk.cases_until = walk.cases_until.max(tree.node(at).last);
        }
        return walk.scope(at, name, skip);
    }
    let repeated = repeated || at < walk.cases_until;
    // A test in a test, made by what is tested, is what the outer one looks at.
    let made = walk.inside() && matches!(path, [_]);
    walk.begin(at, &name, true);
    let table = tree.field(at, "function").and_then(|inner| tree.field(inner, "arguments"));
    let table = table.filter(|table| repeated && tree.kind(*table) == "template_string");
    if let Some(unit) = walk.unit().filter(|_| repeated) {
        unit.loops += 1;
        // A table in a template is one text to the parser.
        let words = table.map_or("", |table| tree.words(table)).split(|c: char| !c.is_alphanumeric());
        unit.tokens.extend(words.filter(|word| !word.is_empty()).take(2_000).map(hash));
    }
    let cases = each(tree, at);
    let rows = cases_of(tree, at).map(|cases| super::values::rows(tree, cases)).unwrap_or_default();
    // A function that stands elsewhere is the test.
    let away = tree.parts(list).skip(1).all(|part| !is_function(tree, part));
    let empty = cases.as_ref().is_some_and(|cases| cases.items.is_empty());
    if let Some(unit) = walk.unit() {
        unit.skipped_by(skip);
        unit.skipped_by(empty.then(|| Mark { line, what: "`each` without a case".to_owned() }));
        unit.limited = unit.limited.take().or(again);
        unit.tables.extend(cases);
        unit.rows.extend(rows);
        unit.maybe += usize::from((away || made) && unit.skip.is_none());
    }
}

/// `it('dims', { retry: 9 }, () => …)`: once in so many times is enough.
fn retried(tree: &Tree<'_>, list: usize) -> Option<u32> {
    let options = tree.parts(list).filter(|part| tree.kind(*part) == "object");
    let pairs = options.flat_map(|object| tree.children(object).collect::<Vec<_>>());
    let mut retries = pairs.into_iter().filter(|pair| {
        let word = |field: &str| tree.field(*pair, field).map_or("", |part| tree.words(part));
        matches!(word("key"), "retry" | "retries") && word("value") != "0"
    });
    retries.next().map(|pair| tree.line(pair))
}

/// `it.skipIf(true)(…)`, `it.runIf(false)(…)`.
fn unless<'t>(tree: &Tree<'t>, at: usize) -> Option<&'t str> {
    let inner = tree.field(at, "function").filter(|inner| tree.kind(*inner) == "call_expression")?;
    let name = tree.field(inner, "function").and_then(|function| tree.field(function, "property"))?;
    let first = tree.field(inner, "arguments").and_then(|list| tree.parts(list).next())?;
    let holds = super::constant::constant(&tree.tokens_within(first, 50))?;
    let name = tree.words(name);
    (name == "skipIf" && holds || name == "runIf" && !holds).then_some(name)
}

/// `it.runIf(process.env.SLOW)(…)`: somebody has to ask for it.
fn asked(tree: &Tree<'_>, at: usize) -> Option<String> {
    let inner = tree.field(at, "function").filter(|inner| tree.kind(*inner) == "call_expression")?;
    let name = tree.field(inner, "function").and_then(|function| tree.field(function, "property"))?;
    let list = tree.field(inner, "arguments")?;
    let name = tree.words(name);
    let env = tree.tokens_within(list, 50).iter().any(|token| token.text == "env");
    (matches!(name, "skipIf" | "runIf") && env).then(|| format!("{ONLY}a word of the environment (`{name}`)"))
}

/// `it.skipIf(dim(2) !== 3)(…)`: it is left out where the code is wrong.
fn asks_code(walk: &Walk<'_>, at: usize) -> Option<Mark> {
    let tree = walk.tree;
    let inner = tree.field(at, "function").filter(|inner| tree.kind(*inner) == "call_expression")?;
    let name = tree.field(inner, "function").and_then(|function| tree.field(function, "property"))?;
    let first = tree.field(inner, "arguments").and_then(|list| tree.parts(list).next())?;
    let name = tree.words(name);
    let asked = matches!(name, "skipIf" | "runIf") && walk.asks_code(at, &tree.tokens_within(first, 100));
    asked.then(|| asks(tree, at, &format!("`{name}`")))
}

/// The cases of `test.each([…])`.
fn each(tree: &Tree<'_>, at: usize) -> Option<super::model::Table> {
    Some(super::python::table(tree, cases_of(tree, at)?))
}

fn cases_of(tree: &Tree<'_>, at: usize) -> Option<usize> {
    let inner = tree.field(at, "function").filter(|inner| tree.kind(*inner) == "call_expression")?;
    let list = tree.field(inner, "arguments")?;
    tree.parts(list).next().filter(|cases| tree.kind(*cases) == "array")
}

fn condition(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    let Some(body) = tree.field(at, "consequence").filter(|_| walk.inside()) else { return };
    let tokens: Vec<Token<'_>> =
        tree.field(at, "condition").map(|condition| tree.tokens_within(condition, 100)).unwrap_or_default();
    let lines =
        |body: usize| if tree.kind(body) == "statement_block" { tree.parts(body).collect() } else { vec![body] };
    if tree.field(at, "alternative").is_none()
        && lines(body).into_iter().all(|line| tree.words(line).starts_with("console."))
    {
        walk.add_only_told(at, &tokens, &tokens);
    }
    let call = |line: usize| tree.child_of_kind(line, "call_expression");
    let skipping =
        |call: usize| tree.field(call, "function").is_some_and(|name| skips(tree, call, &path_of(tree, name)));
    if lines(body).into_iter().filter_map(call).any(skipping) {
        walk.skips_where(at, &tokens, &[], "the `if` before it");
    }
    if lines(body).first().is_some_and(|line| tree.kind(*line) == "return_statement") {
        walk.leaves(at, &tokens);
    }
    if walk.chooses(at)
        && tree.field(at, "alternative").is_none()
        && !super::python::is_platform(&tokens)
        && !always_leaves(tree, body)
    {
        walk.guard(body);
    }
}

/// A block that only returns guards nothing.
fn always_leaves(tree: &Tree<'_>, body: usize) -> bool {
    tree.parts(body).next().is_some_and(|first| tree.kind(first) == "return_statement")
}

/// A handler that does nothing about the failure.
fn swallows(tree: &Tree<'_>, handler: usize) -> bool {
    tree.field(handler, "body").is_some_and(|body| tree.parts(body).all(|line| is_idle(tree, line)))
}

fn is_idle(tree: &Tree<'_>, line: usize) -> bool {
    match tree.kind(line) {
        "empty_statement" | "continue_statement" | "break_statement" => true,
        // Nothing, or something that says nothing of the failure.
        "return_statement" => tree.parts(line).all(|value| truth::is_literal(&tree.tokens_within(value, 50))),
        "expression_statement" => {
            let words = tree.words(line);
            ["console.", "logger.", "log.", "log(", "this.skip(", "ctx.skip(", "pending("]
                .iter()
                .any(|idle| words.starts_with(idle))
        }
        _ => false,
    }
}

/// What is given back in a `finally` takes the place of the failure.
fn gives_back(tree: &Tree<'_>, last: usize) -> bool {
    let body = tree.field(last, "body").or_else(|| tree.child_of_kind(last, "statement_block"));
    body.is_some_and(|body| tree.parts(body).any(|line| tree.kind(line) == "return_statement"))
}

/// `.catch(() => {})`, and `.then(check, () => {})`.
fn catches_idly(tree: &Tree<'_>, at: usize, place: usize) -> bool {
    let Some(handler) = tree.field(at, "arguments").and_then(|list| tree.parts(list).nth(place)) else { return false };
    if tree.kind(handler) == "identifier" {
        return matches!(tree.words(handler), "noop" | "Boolean");
    }
    let Some(body) = tree.field(handler, "body").filter(|_| is_function(tree, handler)) else { return false };
    if tree.kind(body) == "statement_block" {
        return tree.parts(body).all(|line| is_idle(tree, line));
    }
    let tokens = tree.tokens_within(body, 50);
    let words = tree.words(body);
    truth::is_literal(truth::bare(&tokens)) || words.starts_with("console.") || words == "void 0"
}

/// A call by which a test skips itself when it is run: mocha's, vitest's, jasmine's and Playwright's.
fn skips(tree: &Tree<'_>, at: usize, path: &[&str]) -> bool {
    let plain = |list: &usize| match tree.parts(*list).next() {
        Some(first) => matches!(tree.words(first), "true" | "1" | "!0"),
        None => true,
    };
    match path {
        ["this" | "ctx" | "context" | "testContext", "skip"] | ["pending"] => true,
        ["test" | "it", "skip" | "fixme"] => tree.field(at, "arguments").as_ref().is_some_and(plain),
        _ => false,
    }
}

/// A function in a test that no word of it names is never called.
fn nested(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    let Some(name) = function_name(tree, at).filter(|_| walk.inside()) else { return };
    let function = tree.field(at, "value").unwrap_or(at);
    if let Some(body) = tree.field(function, "body") {
        walk.stands_in(at, name, body);
        walk.nested(at, body, name, 0);
    }
}

/// `false && check()`, `true || check()`.
fn short(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    let Some(left) = tree.field(at, "left").filter(|_| walk.inside()) else { return };
    let Some(right) = tree.field(at, "right") else { return };
    let stops = match tree.field(at, "operator").map(|sign| tree.words(sign)) {
        Some("&&") => false,
        Some("||") => true,
        _ => return,
    };
    if super::constant::constant(&tree.tokens_within(left, 50)) == Some(stops) {
        walk.never(right);
    }
}

fn returned(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    if tree.parts(at).next().is_some() {
        // A promise that fails makes the test fail.
        walk.soft(0);
    }
    walk.returns(at);
}
