//! JavaScript's assertions: chains of `expect` and `should`, methods of `assert` and of a test's `t`, and what is mocked.

use super::matchers;
use super::model::{Check, Form, Mark};
use super::tree::Tree;
use super::truth::{self, Tokens};
use super::walk::Walk;

/// A chain that begins with `expect(…)`.
pub(super) fn expected(walk: &mut Walk<'_>, at: usize, _function: usize) {
    let tree = walk.tree;
    let (top, words, last) = chain(tree, at);
    let subject = tree.field(at, "arguments").map(|list| walk.tokens(list)).unwrap_or_default();
    chained(walk, top, &words, truth::bare(&subject), last);
}

/// `x.should.equal(y)`.
pub(super) fn should(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    let is_should = tree.field(at, "property").is_some_and(|name| tree.words(name) == "should");
    if !is_should || !walk.inside() || tree.kind_above(at) == "call_expression" {
        return;
    }
    let (top, words, last) = chain(tree, at);
    if words.is_empty() {
        return;
    }
    let subject = tree.field(at, "object").map(|on| walk.tokens(on)).unwrap_or_default();
    chained(walk, top, &words, &subject, last);
}

/// The whole chain from its first link: its top, its words, and the brackets of its last call.
fn chain<'t>(tree: &Tree<'t>, from: usize) -> (usize, Vec<&'t str>, Option<usize>) {
    const LONGEST: usize = 24;
    let (mut top, mut words, mut last) = (from, Vec::new(), None);
    for _ in 0..LONGEST {
        let Some(up) = tree.up(top) else { break };
        let field = tree.node(top).field;
        match tree.kind(up) {
            "member_expression" if field == "object" => {
                // What is done with the promise is no word of the chain.
                let name = tree.field(up, "property").map_or("", |name| tree.words(name));
                if last.is_some() && matches!(name, "then" | "catch" | "finally") {
                    break;
                }
                words.push(tree.field(up, "property").map_or("", |name| tree.words(name)));
            }
            "call_expression" if field == "function" => last = tree.field(up, "arguments"),
            _ => break,
        }
        top = up;
    }
    (top, words, last)
}

fn chained(walk: &mut Walk<'_>, top: usize, words: &[&str], subject: Tokens<'_, '_>, last: Option<usize>) {
    let tree = walk.tree;
    let line = tree.line(top);
    let all = walk.tokens(top);
    let list = last.map(|list| walk.tokens(list)).unwrap_or_default();
    let inner = list.get(1..list.len().saturating_sub(1)).unwrap_or_default();
    let arguments = if inner.is_empty() { Vec::new() } else { truth::split(inner, &[","]) };
    if words.is_empty() {
        return walk.add(top, vec![Check::new(line, Form::Nothing, &all)]);
    }
    let mut check = matchers::chain(line, &all, words, subject, &arguments);
    // `expect(x).toBe` asks nothing: nobody calls it.
    let matcher = |word: &str| word.strip_prefix("to").is_some_and(|rest| rest.starts_with(char::is_uppercase));
    if tree.kind(top) == "member_expression" && words.last().is_some_and(|word| matcher(word)) {
        check.form = Form::Nothing;
    }
    // A promise that nobody waits for fails when the test is over.
    let promise = words.iter().any(|word| matches!(*word, "resolves" | "rejects"));
    let void = tree.up(top).is_some_and(|up| tree.kind(up) == "unary_expression" && tree.words(up).starts_with("void"));
    if promise && (void || tree.kind_above(top) == "expression_statement") {
        check = truth::told(check);
    }
    walk.add(top, vec![check]);
}

/// `assert.equal(a, b)`, `t.is(a, b)`.
pub(super) fn asserted(walk: &mut Walk<'_>, at: usize, name: &str) {
    let tree = walk.tree;
    let line = tree.line(at);
    let all = walk.tokens(at);
    let list = tree.field(at, "arguments").map(|list| walk.tokens(list)).unwrap_or_default();
    let inner = list.get(1..list.len().saturating_sub(1)).unwrap_or_default();
    let arguments = if inner.is_empty() { Vec::new() } else { truth::split(inner, &[","]) };
    let one = arguments.first().copied().unwrap_or_default();
    let two = arguments.get(1).copied().unwrap_or_default();
    match matchers::method(name) {
        Some((Form::Truth, negative)) if !negative => walk.add_truth(at, one),
        Some((Form::Exact, _)) if !two.is_empty() => {
            // The message is no part of what is checked.
            let said = [one, two].concat();
            let mut check = truth::equal(line, &said, one, two);
            check.shown = super::model::shown(&all);
            walk.add(at, vec![check]);
        }
        Some((Form::Raises, _)) => {
            let mut check = Check::new(line, Form::Raises, &all);
            truth::sides(&mut check, one, two);
            // A text there is what is said of the failure, and a pattern what it must say.
            let text = |one: &super::tree::Token<'_>| one.sort == super::tree::Sort::Text && !one.text.starts_with('/');
            let said = !two.is_empty() && !matches!(two, [one] if text(one) && arguments.len() == 2);
            let said = said && !matchers::is_any_error(two) && !truth::matches_all(two);
            (check.broad, check.message) = (!said, said);
            // Nobody waits for it.
            let promise = matches!(name, "rejects" | "throwsAsync") && tree.words(at).starts_with("assert.");
            if promise && tree.kind_above(at) == "expression_statement" {
                check = truth::told(check);
            }
            walk.add(at, vec![check]);
        }
        Some((form, negative)) => {
            let mut check = Check::new(line, form, &all);
            truth::sides(&mut check, one, two);
            check.negative = negative;
            walk.add(at, vec![check]);
        }
        None => walk.add_truth(at, one),
    }
}

/// `jest.mock("./lamp")` in `lamp.test.js`.
pub(super) fn mocked(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    let Some(list) = tree.field(at, "arguments") else { return };
    let Some(first) = tree.parts(list).next() else { return };
    // `vi.mock(import("./lamp"))`
    let inner = tree.field(first, "arguments").and_then(|list| tree.parts(list).next());
    let Some(target) = tree.string(first).or_else(|| inner.and_then(|inner| tree.string(inner))) else { return };
    let stem = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or(path).to_owned();
        name.split('.').next().unwrap_or("").to_owned()
    };
    let names = replaced_names(tree, list);
    let partly = names.is_some();
    let (target_stem, own) = (stem(target), stem(walk.path));
    let near = ["./", "../", "@/", "~/", "#"].iter().any(|near| target.starts_with(near));
    if near && !partly && target_stem == own && !matches!(own.as_str(), "" | "index" | "test" | "spec") {
        walk.suite.mocks = Some(Mark { line: tree.line(at), what: target.to_owned() });
    } else if near {
        // A library is often replaced by one that does the same in memory.
        walk.replaces_module(at, target, names);
    }
}

/// The names that a mock puts in the place of those of the module, where the rest of it is left; none where it is replaced as a
/// whole. What asks the module itself is not replaced.
fn replaced_names(tree: &Tree<'_>, list: usize) -> Option<Vec<String>> {
    const MOST: usize = 200;
    let factory = tree.parts(list).nth(1);
    // What the factory is handed asks for the module: `async (original) => ({ ...(await original()), … })`.
    let handed = factory.and_then(|factory| {
        let one = tree.field(factory, "parameter");
        one.or_else(|| tree.field(factory, "parameters").and_then(|list| tree.parts(list).next()))
    });
    let handed = handed.map(|one| tree.tokens_within(one, 1)).and_then(|tokens| tokens.first().map(|one| one.text));
    let is_asked = |at: usize| {
        let tokens = tree.tokens_within(at, 2_000);
        let asks = |word: &str| {
            ["requireActual", "importActual", "importOriginal"].contains(&word)
                || word.to_ascii_lowercase().contains("actual")
                || Some(word) == handed
        };
        tokens.iter().any(|token| token.sort == super::tree::Sort::Word && asks(token.text))
    };
    let body = factory.and_then(|factory| tree.field(factory, "body"));
    if tree.words(list).contains("spy: true") {
        return Some(Vec::new());
    }
    let body = body.filter(|body| is_asked(*body))?;
    // The object that spreads the module into itself.
    let spread = (body..tree.node(body).last).find(|at| tree.kind(*at) == "spread_element");
    let Some(object) = spread.and_then(|spread| tree.up(spread)).filter(|at| tree.kind(*at) == "object") else {
        return Some(Vec::new());
    };
    let mut names = Vec::new();
    for pair in tree.parts(object).take(MOST) {
        let key = tree.field(pair, "key").or_else(|| tree.field(pair, "name"));
        let short = (tree.kind(pair) == "shorthand_property_identifier").then_some(pair);
        let key = key.or(short).map(|key| tree.string(key).unwrap_or_else(|| tree.words(key)));
        if let Some(key) = key.filter(|_| tree.kind(pair) != "spread_element" && !is_asked(pair)) {
            names.push(key.to_owned());
        }
    }
    Some(names)
}

/// `jest.spyOn(lamp, "dim").mockReturnValue(3)`, `sinon.stub(lamp, "dim").returns(3)`, `mock.method(lamp, "dim", () => 3)`.
pub(super) fn spied(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    let (_, words, _) = chain(tree, at);
    let replaced =
        words.iter().any(|word| word.starts_with("mock") || word.starts_with("returns") || *word == "resolves");
    let Some(list) = tree.field(at, "arguments") else { return };
    let told = words.is_empty() && tree.parts(list).count() > 2;
    if !(replaced || told) {
        return;
    }
    let mut parts = tree.parts(list);
    let (Some(on), Some(name)) = (parts.next(), parts.next().and_then(|name| tree.string(name))) else { return };
    let line = tree.line(at);
    let on = tree.words(on).rsplit('.').next().unwrap_or("");
    if let Some(unit) = walk.unit() {
        unit.mocks.push(Mark { line, what: format!("{on}.{name}") });
    }
}
