//! Rust: functions with `#[test]`, `#[tokio::test]`, `#[rstest]` and the like.
//!
//! A check is a macro `assert…!`, a method `assert…`, or a function or macro of the file that checks. `unwrap`, `expect`
//! and `?` are weak checks: they keep a test from asserting nothing, and only their result thrown away instead
//! (`let _ =`, `.ok()`) is called weaker. Doc tests and tests that a macro makes are not read.

use super::cfg::{self, When};
use super::model::{Check, Form, Mark, ONLY, Table, bag};
use super::tree::{Sort, Token, Tree, digest, hash};
use super::truth::{self, Tokens, bare, split};
use super::walk::{Walk, says_check};

/// Names of the functions and macros of the file.
pub(super) fn own(tree: &Tree<'_>) -> impl Iterator<Item = u64> {
    let names = (0..tree.len()).filter(|at| matches!(tree.kind(*at), "function_item" | "macro_definition"));
    names.filter_map(|at| tree.field(at, "name")).map(|name| hash(tree.words(name)))
}

pub(super) fn enter(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    match tree.kind(at) {
        "inner_attribute_item" if !walk.inside() => whole(walk, at),
        "attribute_item" => {
            walk.attributes.push(at);
            // Before a statement.
            if walk.inside() && never(tree, at).is_some_and(|mark| !mark.is_limit()) {
                walk.never(tree.node(at).last);
            }
        }
        "mod_item" if !walk.inside() => {
            let attributes = std::mem::take(&mut walk.attributes);
            let skip = attributes.iter().find_map(|one| never(tree, *one));
            let name = tree.field(at, "name").map_or("", |name| tree.words(name));
            let tests =
                matches!(name, "tests" | "test") || attributes.iter().any(|one| tree.words(*one).contains("(test"));
            walk.scope(at, name.to_owned(), skip);
            if tests {
                walk.tests_until = walk.tests_until.max(tree.node(at).last);
            }
        }
        "function_item" => {
            let attributes = std::mem::take(&mut walk.attributes);
            if !walk.inside() {
                function(walk, at, &attributes);
            } else if let (Some(name), Some(body), true) =
                (tree.field(at, "name"), tree.field(at, "body"), attributes.is_empty())
            {
                walk.stands_in(at, tree.words(name), body);
                walk.nested(at, body, tree.words(name), 0);
            }
        }
        "macro_definition" if !walk.inside() => definition(walk, at),
        // In a test it holds from there on.
        "macro_definition" => {
            let tokens = walk.tokens(at);
            shadows(walk, at, &tokens);
        }
        "use_declaration" => imports(walk, at),
        "macro_invocation" => macro_call(walk, at),
        "call_expression" => call(walk, at),
        "try_expression" => walk.soft(0),
        "let_declaration" => binding(walk, at),
        "expression_statement" => dropped(walk, at),
        "if_expression" => condition(walk, at),
        "match_expression" => matched(walk, at),
        "for_expression" => {
            looped(walk, at);
            if let (Some(names), Some(over)) = (tree.field(at, "pattern"), tree.field(at, "value")) {
                walk.each(names, over);
            }
        }
        "while_expression" => walk.repeats(None, tree.field(at, "condition"), tree.field(at, "body")),
        "return_expression" => walk.returns(statement(tree, at)),
        "continue_expression" | "break_expression" => walk.dead_after(statement(tree, at)),
        "const_item" | "static_item" => {
            walk.attributes.clear();
            if let (Some(name), Some(value)) = (tree.field(at, "name"), tree.field(at, "value")) {
                if walk.inside() { walk.give(name, value) } else { walk.keeps(name, value) }
            }
        }
        "struct_item" | "enum_item" | "impl_item" | "trait_item" | "type_item" => {
            walk.attributes.clear();
        }
        _ => {}
    }
}

fn words_of<'t>(tree: &Tree<'t>, attribute: usize) -> Vec<Token<'t>> {
    let tokens = tree.tokens_within(attribute, 400);
    // Without `#[` and `]`.
    let inner = tokens.iter().position(|token| token.text == "[").map_or(0, |open| open + 1);
    let end = tokens.len().saturating_sub(1);
    tokens.get(inner..end).unwrap_or_default().to_vec()
}

/// `#[cfg(any())]` is never there, and `#[cfg(feature = "slow")]` where somebody asks for it.
fn never(tree: &Tree<'_>, attribute: usize) -> Option<Mark> {
    let text: String = words_of(tree, attribute).iter().map(|token| token.text).collect();
    let what = match cfg::when(text.strip_prefix("cfg(")?.strip_suffix(')')?) {
        When::Never => format!("`#[{text}]`"),
        When::Asked => format!("{ONLY}`#[{text}]`"),
        _ => return None,
    };
    Some(Mark { line: tree.line(attribute), what })
}

/// `#![cfg(any())]` at the top of a file.
fn whole(walk: &mut Walk<'_>, at: usize) {
    if walk.tree.kind_above(at) != "source_file" {
        return;
    }
    match never(walk.tree, at) {
        Some(mark) if mark.is_limit() => walk.suite.limited = Some(mark),
        Some(mark) => walk.suite.skip = Some(mark),
        None => {}
    }
}

/// `#[cfg_attr(all(), ignore)]` is `#[ignore]`, and `#[cfg_attr(not(feature = "slow"), ignore)]` runs where somebody asks for it.
fn ignored_where(tree: &Tree<'_>, attribute: usize) -> Option<Mark> {
    let text: String = words_of(tree, attribute).iter().map(|token| token.text).collect();
    let parts = cfg::split(text.strip_prefix("cfg_attr(")?.strip_suffix(')')?);
    let (condition, attributes) = parts.split_first()?;
    attributes.iter().find(|one| **one == "ignore" || one.starts_with("ignore="))?;
    let what = match cfg::when(condition) {
        When::Always => format!("`#[{text}]`"),
        When::Unasked => format!("{ONLY}`#[{text}]`"),
        _ => return None,
    };
    Some(Mark { line: tree.line(attribute), what })
}

fn function(walk: &mut Walk<'_>, at: usize, attributes: &[usize]) {
    let tree = walk.tree;
    let Some(name) = tree.field(at, "name").map(|name| tree.words(name)) else { return };
    let mut test = false;
    let mut skip = None;
    let mut panics = None;
    let mut cases: Option<Table> = None;
    let mut all: Vec<Token<'_>> = Vec::new();
    for one in attributes {
        let tokens = words_of(tree, *one);
        let end = tokens.iter().position(|token| matches!(token.text, "(" | "=")).unwrap_or(tokens.len());
        let last = end.checked_sub(1).and_then(|last| tokens.get(last)).map_or("", |token| token.text);
        match last {
            "test" | "rstest" | "quickcheck" | "wasm_bindgen_test" | "test_log" | "proptest" | "theory" => test = true,
            "ignore" => skip = Some(Mark { line: tree.line(*one), what: "`#[ignore]`".to_owned() }),
            "should_panic" => {
                panics = Some((tree.line(*one), tokens.iter().any(|token| token.text == "expected")));
            }
            "case" | "test_case" => {
                test |= last == "test_case";
                let table =
                    cases.get_or_insert_with(|| Table { line: tree.line(*one), items: Vec::new(), bags: Vec::new() });
                table.items.push(digest(&tokens));
                table.bags.push(bag(&tokens));
            }
            "cfg_attr" => skip = skip.or_else(|| ignored_where(tree, *one)),
            _ => skip = skip.or_else(|| never(tree, *one)),
        }
        all.extend(tokens);
    }
    walk.begin(at, name, test);
    all.extend(walk.tokens(at));
    let of_tests = test || at < walk.tests_until || is_tests(walk.path);
    let Some(unit) = walk.unit() else { return };
    unit.apart = !of_tests;
    unit.skipped_by(skip);
    unit.panics = panics;
    unit.tables.extend(cases);
    unit.body = digest(&all);
    unit.tokens = bag(&all);
    unit.strings = super::model::strings(&all);
}

/// A file that has nothing but tests and their helpers.
fn is_tests(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    path.split('/').any(|part| matches!(part, "tests" | "test"))
        || matches!(name, "tests.rs" | "test.rs")
        || name.ends_with("_test.rs")
        || name.ends_with("_tests.rs")
}

/// What a macro of the file checks, seen from its words alone.
fn definition(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    let Some(name) = tree.field(at, "name").map(|name| tree.words(name)) else { return };
    walk.begin(at, name, false);
    let tokens = walk.tokens(at);
    add_hidden(walk, at, &tokens);
    shadows(walk, at, &tokens);
}

/// Whether it takes the place of an assertion, and asserts nothing.
fn shadows(walk: &mut Walk<'_>, at: usize, tokens: Tokens<'_, '_>) {
    let tree = walk.tree;
    let name = tree.field(at, "name").map_or("", |name| tree.words(name));
    // One that hands on to the assertion that it shows better is as good.
    let held =
        tokens.iter().skip(3).any(|token| is_assert(token.text) || matches!(token.text, "panic" | "unreachable"));
    if matches!(name, "assert" | "assert_eq" | "assert_ne" | "panic") && !held {
        walk.suite.shadowed = Some(Mark { line: tree.line(at), what: name.to_owned() });
    }
}

/// Checks in what the parser leaves as words: the inside of macros.
fn add_hidden(walk: &mut Walk<'_>, at: usize, tokens: &[Token<'_>]) {
    const NEAR: usize = 16;
    let line = walk.tree.line(at);
    let mut found = Vec::new();
    for (place, token) in tokens.iter().enumerate() {
        let sign = tokens.get(place + 1).is_some_and(|next| next.text == "!");
        if token.sort == Sort::Word && sign && is_assert(token.text) {
            let near = tokens.get(place..tokens.len().min(place + NEAR)).unwrap_or_default();
            found.push(Check::new(line, Form::Other, near));
        }
    }
    let weak = tokens.iter().any(|token| matches!(token.text, "unwrap" | "panic" | "unreachable" | "expect"));
    walk.add(at, found);
    if weak {
        walk.soft(0);
    }
}

fn is_assert(name: &str) -> bool {
    name.starts_with("assert")
        || name.starts_with("prop_assert")
        || name.starts_with("debug_assert")
        || matches!(name, "ensure" | "expect_that" | "verify_that")
}

/// What runs a property over values of its own.
fn is_random(name: &str) -> bool {
    matches!(name, "quickcheck" | "proptest" | "run" | "bolero" | "model")
}

/// Helpers of tests come from modules beside them.
fn imports(walk: &mut Walk<'_>, at: usize) {
    let tokens = walk.tree.tokens_within(at, 200);
    let near = tokens.iter().any(|token| {
        matches!(
            token.text,
            "common" | "util" | "utils" | "test_utils" | "testing" | "support" | "helpers" | "tests" | "test"
        ) || token.text.starts_with("test_")
            || token.text.ends_with("_test")
    });
    if near {
        walk.foreign.extend(bag(&tokens));
        walk.foreign_all |= tokens.iter().any(|token| token.text == "*");
    }
}

/// Macros that say and make, and check nothing.
const QUIET: [&str; 30] = [
    "println",
    "print",
    "eprintln",
    "eprint",
    "format",
    "vec",
    "write",
    "writeln",
    "dbg",
    "concat",
    "stringify",
    "include_str",
    "include_bytes",
    "env",
    "option_env",
    "file",
    "line",
    "matches",
    "format_args",
    "json",
    "cfg",
    "info",
    "debug",
    "warn",
    "trace",
    "error",
    "smallvec",
    "hashmap",
    "pin",
    "thread_local",
];

fn macro_call(walk: &mut Walk<'_>, at: usize) {
    if !walk.inside() {
        return;
    }
    let tree = walk.tree;
    let name = tree.field(at, "macro").map_or("", |name| tree.words(name));
    let name = name.rsplit("::").next().unwrap_or(name);
    let tokens = walk.tokens(at);
    let Some(open) = tokens.iter().position(|token| token.text == "!") else { return };
    let inner = tokens.get(open + 2..tokens.len().saturating_sub(1)).unwrap_or_default();
    let list = split(inner, &[","]);
    let one = list.first().copied().unwrap_or_default();
    let two = list.get(1).copied().unwrap_or_default();
    let line = tree.line(at);
    let plain = name.strip_prefix("debug_").or_else(|| name.strip_prefix("prop_")).unwrap_or(name);
    match plain {
        "assert" | "ensure" => walk.add_truth(at, one),
        "assert_eq" => {
            let check = truth::equal(line, &[one, two].concat(), one, two);
            walk.add(at, vec![shown_as(check, &tokens)]);
        }
        "assert_ne" => {
            let mut check = truth::equal(line, &[one, two].concat(), one, two);
            // The same words as those of its opposite.
            (check.form, check.text) = (Form::Differs, !check.text);
            walk.add(at, vec![shown_as(check, &tokens)]);
        }
        "assert_matches" => {
            let wild = two.iter().any(|token| matches!(token.text, "_" | ".."));
            let form = match two {
                [one] if one.text == "_" => Form::Nothing,
                _ if wild => Form::Part,
                _ => Form::Other,
            };
            let mut check = Check::new(line, form, &tokens);
            truth::sides(&mut check, one, two);
            check.pattern = super::errors::pattern(two);
            walk.add(at, vec![check]);
        }
        "panic" | "unreachable" | "unimplemented" | "todo" | "bail" => walk.soft(0),
        "assert_relative_eq" | "assert_abs_diff_eq" | "assert_ulps_eq" | "assert_approx_eq" => {
            let mut check = Check::new(line, Form::Near, &tokens);
            truth::sides(&mut check, one, two);
            let said = ["epsilon", "max_relative", "abs"]
                .iter()
                .filter_map(|name| truth::keyword(&list, name).and_then(truth::number));
            let said = said.reduce(f64::max).or_else(|| list.get(2).and_then(|third| truth::number(third)));
            check.tolerance = said.map(super::model::Tolerance);
            walk.add(at, vec![check]);
        }
        _ if walk.own.contains(&hash(name)) => walk.call(at, name),
        _ if is_assert(name) || name.contains("snapshot") => walk.add_form(at, Form::Other, &tokens, one, two),
        _ if QUIET.contains(&name) => {}
        _ => {
            let before = walk.unit().map_or(0, |unit| unit.checks.len());
            add_hidden(walk, at, inner);
            if walk.unit().is_some_and(|unit| unit.checks.len() == before) {
                walk.maybe();
            }
        }
    }
}

fn shown_as(mut check: Check, tokens: Tokens<'_, '_>) -> Check {
    check.shown = super::model::shown(tokens);
    check
}

fn call(walk: &mut Walk<'_>, at: usize) {
    if !walk.inside() {
        return;
    }
    let tree = walk.tree;
    let Some(function) = tree.field(at, "function") else { return };
    let (name, on) = match tree.kind(function) {
        "identifier" => (tree.words(function), None),
        "field_expression" => {
            (tree.field(function, "field").map_or("", |name| tree.words(name)), tree.field(function, "value"))
        }
        "scoped_identifier" => (tree.field(function, "name").map_or("", |name| tree.words(name)), None),
        // `is_send::<Lamp>()` checks when it is compiled.
        "generic_function" => return walk.maybe(),
        _ => return,
    };
    match (name, on) {
        ("unwrap" | "unwrap_err" | "expect" | "expect_err", Some(on)) => {
            let subject = digest(bare(&walk.tokens(on)));
            walk.soft(subject);
        }
        ("unwrap_or" | "unwrap_or_default" | "unwrap_or_else", Some(on)) => {
            let panics = ["panic", "unreachable", "bail", "exit"];
            let loud = tree.tokens_within(at, 500).iter().any(|token| panics.contains(&token.text));
            let subject = digest(bare(&walk.tokens(on)));
            if loud {
                walk.soft(subject);
            } else {
                discards(walk, at, subject);
            }
        }
        (name, Some(on)) if name.starts_with("assert") || matches!(name, "success" | "failure" | "times") => {
            let tokens = walk.tokens(at);
            let subject = walk.tokens(on);
            walk.add_form(at, Form::Other, &tokens, &subject, &[]);
        }
        (name, Some(on)) if name.starts_with("expect_") => {
            // A method that a mock is told to answer.
            let tokens = tree.tokens_within(on, 20);
            let line = tree.line(at);
            let what = name.trim_start_matches("expect_");
            if let ([one], Some(unit)) = (tokens.as_slice(), walk.unit()) {
                unit.mocks.push(Mark { line, what: format!("{}.{what}", one.text) });
            }
            walk.maybe();
        }
        ("exit", None) if tree.words(function).contains("process::") => walk.returns(statement(tree, at)),
        (name, on) => {
            let own = walk.own.contains(&hash(name));
            if own {
                walk.call(at, name);
            }
            if says_check(name)
                || is_random(name)
                || !own && on.is_none() && walk.foreign_all
                || walk.foreign.contains(&hash(name))
            {
                walk.maybe();
            }
        }
    }
}

fn binding(walk: &mut Walk<'_>, at: usize) {
    if !walk.inside() {
        return;
    }
    let tree = walk.tree;
    let (Some(pattern), Some(value)) = (tree.field(at, "pattern"), tree.field(at, "value")) else { return };
    // A type that is written out is checked when the test is compiled.
    if tree.field(at, "type").is_some() && tree.words(pattern).starts_with('_') {
        walk.soft(0);
    }
    // `let Ok(lamp) = f() else { return };`.
    if tree.field(at, "alternative").is_some_and(|other| leaves_first(tree, other)) {
        let subject = digest(bare(&walk.tokens(value)));
        discards(walk, at, subject);
    }
    match tree.kind(pattern) {
        "identifier" => {
            unnamed(walk, tree.words(pattern), value);
            walk.give(pattern, value);
            table(walk, tree.words(pattern), value);
        }
        "slice_pattern" if tree.parts(pattern).all(|part| tree.kind(part) != "remaining_field_pattern") => {
            walk.unpacks(value);
        }
        "_" => {
            if matches!(tree.kind(value), "closure_expression" | "async_block") {
                walk.never(value);
            }
            let tokens = walk.tokens(value);
            if catches(&tokens) {
                walk.caught(value);
            }
            discards(walk, at, digest(bare(&tokens)));
        }
        _ => {}
    }
}

/// A result is thrown away, or what is wrong with it.
fn discards(walk: &mut Walk<'_>, at: usize, subject: u64) {
    let line = walk.tree.line(at);
    if let Some(unit) = walk.unit() {
        unit.discarded.push((subject, line));
    }
}

/// `match f() { Ok(lamp) => lamp, Err(_) => return }`.
fn matched(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    let (Some(value), Some(body)) = (tree.field(at, "value"), tree.field(at, "body")) else { return };
    let leaves = |arm: usize| {
        let value = tree.field(arm, "value");
        let bad = tree.field(arm, "pattern").map_or("", |pattern| tree.words(pattern));
        (bad.starts_with("Err") || matches!(bad, "None" | "_"))
            && value.is_some_and(|value| tree.kind(value) == "return_expression" || leaves_first(tree, value))
    };
    if walk.inside() && tree.parts(body).take(50).any(leaves) {
        let subject = digest(bare(&walk.tokens(value)));
        discards(walk, at, subject);
    }
}

/// A closure or a future that no word of the test names: it is never run.
fn unnamed(walk: &mut Walk<'_>, name: &str, value: usize) {
    let nobody = |walk: &mut Walk<'_>| walk.mentions(name).is_some_and(|times| times <= 1);
    if walk.tree.kind(value) == "call_expression" && catches(&walk.tree.tokens_within(value, 400)) && nobody(walk) {
        walk.caught(value);
    }
    if let Some(body) = walk.tree.field(value, "body").filter(|_| walk.tree.kind(value) == "closure_expression") {
        walk.stands_in(value, name, body);
    }
    if matches!(walk.tree.kind(value), "closure_expression" | "async_block") && nobody(walk) {
        walk.never(value);
    }
}

/// Whether a call gives a panic back as a value: the end of a thread does too.
fn catches(tokens: Tokens<'_, '_>) -> bool {
    let has = |name: &str| tokens.iter().any(|token| token.text == name && token.sort == Sort::Word);
    has("catch_unwind") || has("spawn") && has("thread") && has("join")
}

/// A list of cases.
fn table(walk: &mut Walk<'_>, name: &str, value: usize) {
    let tree = walk.tree;
    let value =
        if tree.kind(value) == "reference_expression" { tree.field(value, "value").unwrap_or(value) } else { value };
    if tree.kind(value) == "array_expression" && super::names_cases(name) {
        let table = super::python::table(tree, value);
        if let Some(unit) = walk.unit() {
            unit.tables.push(table);
        }
    }
}

fn looped(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    walk.repeats(tree.field(at, "value"), None, tree.field(at, "body"));
    if let Some(value) = tree.field(at, "value").filter(|_| walk.inside()) {
        table(walk, "cases", value);
    }
}

/// `f().ok();` throws the failure away.
fn dropped(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    let Some(call) = tree.child_of_kind(at, "call_expression").filter(|_| walk.inside()) else { return };
    let name = tree.field(call, "function").map_or("", |name| tree.words(name));
    // `drop(catch_unwind(…))`, and the call alone.
    if matches!(name, "drop" | "mem::drop" | "std::mem::drop") && catches(&tree.tokens_within(call, 400))
        || name.ends_with("catch_unwind")
    {
        walk.caught(call);
    }
    let Some(function) = tree.field(call, "function").filter(|function| tree.kind(*function) == "field_expression")
    else {
        return;
    };
    if tree.field(function, "field").map(|name| tree.words(name)) != Some("ok") {
        return;
    }
    if catches(&tree.tokens_within(call, 400)) {
        walk.caught(call);
    }
    let Some(on) = tree.field(function, "value") else { return };
    let subject = digest(bare(&walk.tokens(on)));
    discards(walk, at, subject);
}

fn condition(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    let Some(body) = tree.field(at, "consequence").filter(|_| walk.inside()) else { return };
    let Some(condition) = tree.field(at, "condition") else { return };
    let told = |line: usize| {
        let words = tree.words(line);
        ["println!", "eprintln!", "print!", "eprint!", "dbg!", "log::", "tracing::", "warn!", "info!", "debug!"]
            .iter()
            .any(|name| words.starts_with(name))
    };
    if tree.field(at, "alternative").is_none() && tree.parts(body).all(told) {
        let tokens = walk.tokens(condition);
        walk.add_only_told(at, &tokens, &tokens);
    }
    asked(walk, at, condition, body);
    // `if catch_unwind(…).is_err() {}`.
    if tree.parts(body).next().is_none()
        && tree.field(at, "alternative").is_none()
        && catches(&tree.tokens_within(condition, 400))
    {
        walk.caught(condition);
    }
    if leaves_first(tree, body) {
        let tokens = walk.tokens(condition);
        walk.leaves(at, &tokens);
    }
    if walk.chooses(at)
        && tree.field(at, "alternative").is_none()
        && !super::python::is_platform(&tree.tokens_within(condition, 100))
    {
        walk.guard(body);
    }
}

/// `if cfg!(feature = "slow") { … }` around assertions, and `if !cfg!(feature = "slow") { return; }` before them.
fn asked(walk: &mut Walk<'_>, at: usize, condition: usize, body: usize) {
    let tree = walk.tree;
    let text: String = tree.tokens_within(condition, 100).iter().map(|token| token.text).collect();
    let Some(inner) = text.trim_start_matches('!').strip_prefix("cfg!(").and_then(|rest| rest.strip_suffix(')')) else {
        return;
    };
    let condition = if text.starts_with('!') { format!("not({inner})") } else { inner.to_owned() };
    let asserts = tree.tokens_within(body, 2_000).iter().any(|token| is_assert(token.text));
    match cfg::when(&condition) {
        When::Never if tree.field(at, "alternative").is_none() => walk.never(body),
        When::Asked if asserts && tree.field(at, "alternative").is_none() => limited(walk, at, &text),
        When::Unasked if leaves_first(tree, body) => limited(walk, at, &text),
        _ => {}
    }
}

fn limited(walk: &mut Walk<'_>, at: usize, text: &str) {
    let mark = Mark { line: walk.tree.line(at), what: format!("{ONLY}`{text}`") };
    if let Some(unit) = walk.unit() {
        unit.limited = Some(mark);
    }
}

/// Whether the first thing that a block does is to return.
fn leaves_first(tree: &Tree<'_>, body: usize) -> bool {
    let first = tree.parts(body).next();
    let first = first.map(|line| if tree.kind(line) == "expression_statement" { line + 1 } else { line });
    first.is_some_and(|line| tree.kind(line) == "return_expression")
}

/// What an expression stands in as a statement.
fn statement(tree: &Tree<'_>, at: usize) -> usize {
    tree.up(at).filter(|up| tree.kind(*up) == "expression_statement").unwrap_or(at)
}
