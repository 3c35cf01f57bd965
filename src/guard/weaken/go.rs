//! Go: `func TestX(t *testing.T)`, methods of suites, and `t.Run` with a name that is written out.
//!
//! A check is a condition under which the test is failed (`if got != want { t.Errorf(…) }`), a call of testify, gomega or
//! gocheck, or of a function of the file that checks. What a function of elsewhere does with `t` is out of sight.

use super::matchers;
use super::model::{Check, Form, Mark, ONLY, bag};
use super::tree::{Token, Tree, digest, hash};
use super::truth::{self, Tokens, bare, split};
use super::walk::{Walk, says_check};

/// Names of the functions of the file.
pub(super) fn own(tree: &Tree<'_>) -> impl Iterator<Item = u64> {
    let names = (0..tree.len()).filter(|at| matches!(tree.kind(*at), "function_declaration" | "method_declaration"));
    names.filter_map(|at| tree.field(at, "name")).map(|name| hash(tree.words(name)))
}

pub(super) fn enter(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    match tree.kind(at) {
        "comment" if walk.suite.units.is_empty() && !walk.inside() => built(walk, at),
        "function_declaration" | "method_declaration" if !walk.inside() => function(walk, at),
        "call_expression" if walk.inside() => call(walk, at),
        "if_statement" if walk.inside() => condition(walk, at),
        "return_statement" => walk.returns(at),
        "continue_statement" | "break_statement" | "goto_statement" => walk.dead_after(at),
        "for_statement" if walk.inside() => {
            let range = tree.child_of_kind(at, "range_clause").and_then(|range| tree.field(range, "right"));
            // `for false { … }` has its condition without a clause.
            let plain = tree.parts(at).next().filter(|first| tree.kind(*first) == "false");
            walk.repeats(range, plain, tree.field(at, "body"));
            ranged(walk, at, range);
            let clause = tree.child_of_kind(at, "range_clause");
            if let (Some(names), Some(over)) = (clause.and_then(|clause| tree.field(clause, "left")), range) {
                walk.each(names, over);
            }
        }
        "assignment_statement" if walk.inside() => unnamed(walk, at),
        "defer_statement" if walk.inside() => deferred(walk, at),
        "short_var_declaration" | "var_spec" | "const_spec" if walk.inside() => given(walk, at),
        "var_spec" | "const_spec" => {
            if let (Some(name), Some(value)) = (tree.field(at, "name"), tree.field(at, "value")) {
                walk.keeps(name, value);
            }
        }
        _ => {}
    }
}

fn function(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    let Some(name) = tree.field(at, "name").map(|name| tree.words(name)) else { return };
    let parameters = tree.field(at, "parameters").map_or("", |list| tree.words(list));
    let called_test = called(name, "Test");
    let test = if tree.kind(at) == "method_declaration" {
        called_test && matches!(parameters, "()" | "(c *C)" | "(c *check.C)")
    } else {
        called_test && parameters.contains("testing.T") && !parameters.contains("testing.TB")
    };
    if name == "TestMain" {
        main(walk, at);
    }
    let fuzz = called(name, "Fuzz") && parameters.contains("testing.F");
    let example = called(name, "Example") && parameters == "()";
    let printed = if example { output(tree, at) } else { None };
    walk.begin(at, name, test && name != "TestMain" || fuzz || printed.is_some());
    if fuzz && calls_what_is_fuzzed(tree, at) {
        walk.soft(0);
    }
    if let Some(printed) = printed {
        let mut check = Check::new(tree.line(at), Form::Other, &[]);
        check.text = hash(printed);
        check.shown = printed.lines().next().unwrap_or_default().chars().take(80).collect();
        walk.add(at, vec![check]);
    }
}

/// Whether a function that is fuzzed calls something but its own handle: that nothing panics is what is asked.
fn calls_what_is_fuzzed(tree: &Tree<'_>, at: usize) -> bool {
    const MOST: usize = 5_000;
    let inside = (at..tree.node(at).last).take(MOST).filter(|node| tree.kind(*node) == "call_expression");
    let fuzzed =
        inside.filter(|call| tree.field(*call, "function").is_some_and(|name| tree.words(name).ends_with(".Fuzz")));
    let mut functions =
        fuzzed.filter_map(|call| tree.field(call, "arguments").and_then(|list| tree.parts(list).next()));
    functions.any(|function| {
        // A function that stands elsewhere is the test.
        tree.kind(function) != "func_literal"
            || (function..tree.node(function).last).take(MOST).any(|node| {
                let called = tree.field(node, "function").filter(|_| tree.kind(node) == "call_expression");
                let name = called.map_or("", |name| tree.words(name));
                let on = name.rsplit_once('.').map_or("", |(on, _)| on);
                !name.is_empty() && !is_handle(on) && name != "len"
            })
    })
}

/// Whether the tool that runs tests takes a function of this name.
fn called(name: &str, kind: &str) -> bool {
    name.strip_prefix(kind).is_some_and(|rest| !rest.starts_with(char::is_lowercase))
}

/// What an example must print: without it, it is compiled and not run.
fn output<'t>(tree: &'t Tree<'t>, at: usize) -> Option<&'t str> {
    let words = tree.words(at);
    let from = ["// Output:", "// Unordered output:"].iter().find_map(|begin| words.rfind(begin))?;
    words.get(from..)
}

/// `//go:build ignore` takes the file out, and a word that somebody must give leaves it to them.
fn built(walk: &mut Walk<'_>, at: usize) {
    const SYSTEMS: [&str; 12] =
        ["linux", "darwin", "windows", "unix", "freebsd", "amd64", "arm64", "cgo", "race", "goexperiment", "gc", "js"];
    let words = walk.tree.words(at);
    let Some(rest) = words.strip_prefix("//go:build ").or_else(|| words.strip_prefix("// +build ")) else { return };
    let word = rest.trim();
    let mark = |what: String| Some(Mark { line: walk.tree.line(at), what });
    let plain = !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || c == '_');
    if matches!(word, "ignore" | "never" | "none" | "disabled") {
        walk.suite.skip = mark(format!("`//go:build {word}`"));
    } else if plain && !SYSTEMS.contains(&word) && super::place::unlooked(&format!("a_{word}_test.go")).is_none() {
        walk.suite.limited = mark(format!("{ONLY}`-tags {word}`"));
    }
}

/// `func TestMain(m *testing.M) { os.Exit(0) }`: no test of the package is run, or none can fail.
fn main(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    let (Some(list), Some(body)) = (tree.field(at, "parameters"), tree.field(at, "body")) else { return };
    let named = tree.parts(list).next().and_then(|one| tree.field(one, "name")).map_or("", |name| tree.words(name));
    let used = tree.tokens_within(body, 2_000).iter().any(|token| token.text == named);
    let quits = lines(tree, body).into_iter().any(|line| tree.words(line) == "os.Exit(0)");
    if !used || quits {
        let what = if used { "`os.Exit(0)` in `TestMain`" } else { "a `TestMain` that runs nothing" };
        walk.suite.skip = Some(Mark { line: tree.line(at), what: what.to_owned() });
    }
}

/// Names by which a test's handle goes.
fn is_handle(text: &str) -> bool {
    matches!(text, "t" | "tt" | "tb" | "b" | "c" | "f" | "T" | "TB" | "subT" | "s.T()" | "suite.T()" | "ts.T()")
}

const FAILS: [&str; 6] = ["Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"];

/// `t.Fatalf(…)`.
fn is_failure(tree: &Tree<'_>, call: usize) -> bool {
    let Some(function) = tree.field(call, "function").filter(|function| tree.kind(*function) == "selector_expression")
    else {
        return false;
    };
    let on = tree.field(function, "operand").map_or("", |on| tree.words(on));
    let name = tree.field(function, "field").map_or("", |name| tree.words(name));
    is_handle(on) && FAILS.contains(&name)
}

/// The statements of a block.
fn lines(tree: &Tree<'_>, block: usize) -> Vec<usize> {
    const MOST: usize = 500;
    let list = tree.child_of_kind(block, "statement_list").unwrap_or(block);
    tree.parts(list).take(MOST).collect()
}

/// Whether a statement fails the test.
fn fails(tree: &Tree<'_>, line: usize) -> bool {
    let call =
        if tree.kind(line) == "expression_statement" { tree.child_of_kind(line, "call_expression") } else { None };
    call.is_some_and(|call| is_failure(tree, call))
        || call.is_some_and(|call| tree.field(call, "function").is_some_and(|name| tree.words(name) == "panic"))
}

/// Whether a statement skips the test.
fn skips(tree: &Tree<'_>, line: usize) -> bool {
    let call =
        if tree.kind(line) == "expression_statement" { tree.child_of_kind(line, "call_expression") } else { None };
    let name = call.and_then(|call| tree.field(call, "function")).map_or("", |name| tree.words(name));
    name.rsplit_once('.').is_some_and(|(on, name)| is_handle(on) && matches!(name, "Skip" | "Skipf" | "SkipNow"))
}

/// Whether a statement only says something.
fn is_told(tree: &Tree<'_>, line: usize) -> bool {
    let call =
        if tree.kind(line) == "expression_statement" { tree.child_of_kind(line, "call_expression") } else { None };
    let name = call.and_then(|call| tree.field(call, "function")).map_or("", |name| tree.words(name));
    let Some((on, name)) = name.rsplit_once('.') else { return matches!(name, "println" | "print") };
    is_handle(on) && matches!(name, "Log" | "Logf")
        || matches!(on, "fmt" | "log" | "slog")
            && ["Print", "Log", "Info", "Warn", "Debug"].iter().any(|word| name.starts_with(word))
}

fn condition(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    let (Some(body), Some(condition)) = (tree.field(at, "consequence"), tree.field(at, "condition")) else { return };
    let depends = walk.chooses(at);
    if lines(tree, body).into_iter().any(|line| fails(tree, line)) {
        let tokens = walk.tokens(condition);
        let before = tree.field(at, "initializer").and_then(|first| tree.field(first, "right"));
        let before = before.map(|right| walk.tokens(right));
        let checks = must_not(tree.line(at), &tokens, before.as_deref());
        return walk.add(at, checks);
    }
    if !depends {
        return;
    }
    if lines(tree, body).into_iter().any(|line| skips(tree, line)) {
        let tokens = walk.tokens(condition);
        let before = tree.field(at, "initializer").and_then(|first| tree.field(first, "right"));
        let before = before.map(|right| walk.tokens(right)).unwrap_or_default();
        walk.skips_where(at, &tokens, &before, "the `if` before it");
    }
    if lines(tree, body).first().is_some_and(|line| tree.kind(*line) == "return_statement") {
        let tokens = walk.tokens(condition);
        walk.leaves(at, &tokens);
    }
    if tree.field(at, "alternative").is_none() && lines(tree, body).into_iter().all(|line| is_told(tree, line)) {
        let tokens = walk.tokens(condition);
        let before = tree.field(at, "initializer").and_then(|first| tree.field(first, "right"));
        let before = before.map(|right| walk.tokens(right));
        let checks = must_not(tree.line(at), &tokens, before.as_deref());
        walk.add(at, checks.into_iter().map(truth::told).collect());
    }
    let tokens = tree.tokens_within(condition, 100);
    if tree.field(at, "alternative").is_none() && !super::python::is_platform(&tokens) {
        walk.guard(body);
    }
}

/// What must be false, or the test fails.
fn must_not(line: u32, condition: Tokens<'_, '_>, before: Option<&[Token<'_>]>) -> Vec<Check> {
    let parts = split(bare(condition), &["||"]);
    let mut checks = Vec::new();
    for part in parts {
        let all = split(bare(part), &["&&"]);
        if all.len() > 1 {
            let mut check = unless(line, part, &all);
            if let Some(before) = before {
                check.either.iter_mut().for_each(|one| *one ^= digest(before));
            }
            checks.push(check);
            continue;
        }
        let mut check = truth::alone(line, part);
        if super::constant::constant(part) == Some(false) {
            checks.push(truth::told(check));
            continue;
        }
        check.negative = !check.negative;
        match check.form {
            Form::Exact => {
                check.form = if check.trivial && !is_bool(part) { Form::Truth } else { Form::Differs };
                check.negative = false;
            }
            Form::Differs => {
                (check.form, check.negative) = (Form::Exact, false);
                let sides = split(bare(part), &["!="]);
                if let Some((_, digits)) = sides.iter().find_map(|side| truth::rounded(bare(side))) {
                    check.form = Form::Near;
                    check.tolerance = Some(super::model::Tolerance(0.5 * 0.1_f64.powf(digits)));
                }
            }
            // `x != nil` must be false: it is nil.
            Form::Truth if part.iter().any(|token| token.text == "!=") => {
                (check.form, check.trivial, check.negative) = (Form::Exact, true, false);
            }
            Form::Nothing => check.form = Form::Other,
            Form::Order | Form::Near => check.negative = false,
            _ => {}
        }
        if let Some(before) = before {
            check = with_source(check, before);
        }
        checks.push(check);
    }
    checks
}

/// The test fails where all of it is so: each part by itself was enough before.
fn unless(line: u32, part: Tokens<'_, '_>, all: &[Tokens<'_, '_>]) -> Check {
    let mut check = Check::new(line, Form::Other, part);
    let known: Vec<Option<bool>> = all.iter().map(|one| super::constant::constant(one)).collect();
    if known.contains(&Some(false)) {
        check.form = Form::Nothing;
    }
    // A column of a table says of which cases it holds.
    let cased = |one: &Tokens<'_, '_>| {
        one.iter()
            .any(|token| matches!(token.text, "tt" | "tc" | "test" | "tst" | "c" | "want" | "testCase" | "wantErr"))
            && split(one, &["==", "!="]).len() == 1
    };
    if !all.iter().any(cased) {
        check.either = all.iter().map(|one| digest(bare(one))).collect();
    }
    check.negative = true;
    check
}

fn is_bool(part: Tokens<'_, '_>) -> bool {
    part.iter().any(|token| matches!(token.text, "true" | "false"))
}

/// `if diff := cmp.Diff(want, got); diff != ""` is about the two, and `if err := f(); err != nil` about the call.
fn with_source(mut check: Check, before: Tokens<'_, '_>) -> Check {
    if let Some(at) = before.iter().position(|token| matches!(token.text, "Diff" | "diff")) {
        let list = truth::arguments(before, at);
        if let [one, two, ..] = list.as_slice() {
            let equal = truth::equal(check.line, before, two, one);
            return Check { shown: check.shown, ..equal };
        }
    }
    // What is expected of it stands in the condition; and that only its length is looked at, or a part of it.
    let (measured, rest) = (check.part_of != 0, check.about.get(1..).unwrap_or_default().to_vec());
    truth::about(&mut check, before);
    if measured {
        check.part_of = check.subject;
    }
    if !rest.is_empty() {
        check.subject ^= rest.iter().fold(1_u64, |all, one| all.rotate_left(1) ^ one);
        check.about.extend(rest);
    }
    check.text ^= digest(before);
    check.bag.extend(bag(before));
    check
}

fn call(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    let Some(function) = tree.field(at, "function") else { return };
    let list = tree.field(at, "arguments");
    let (name, on) = match tree.kind(function) {
        "identifier" => (tree.words(function), ""),
        "selector_expression" => (
            tree.field(function, "field").map_or("", |name| tree.words(name)),
            tree.field(function, "operand").map_or("", |on| tree.words(on)),
        ),
        _ => return,
    };
    if is_handle(on) || on == "s" || on == "suite" {
        match name {
            // `suite.Run(t, new(LampSuite))` runs every method of it.
            "Run" if on == "suite" && !runs_a_function(tree, at) => {
                let tokens = walk.tokens(at);
                return walk.add_form(at, Form::Other, &tokens, &tokens, &[]);
            }
            "Run" => return subtest(walk, at),
            "Skip" | "Skipf" | "SkipNow" => {
                walk.skips(tree.up(at).unwrap_or(0), &format!("`{on}.{name}`"));
                return;
            }
            _ if FAILS.contains(&name) => {
                if !is_read(tree, at) {
                    let tokens = walk.tokens(at);
                    walk.add_form(at, Form::Other, &tokens, &tokens, &[]);
                }
                return;
            }
            _ => {}
        }
    }
    if matches!((on, name), ("runtime", "Goexit") | ("os", "Exit")) {
        walk.returns(tree.up(at).unwrap_or(0));
    }
    let tokens = walk.tokens(at);
    let inner = list.map(|list| walk.tokens(list)).unwrap_or_default();
    let inner = inner.get(1..inner.len().saturating_sub(1)).unwrap_or_default();
    let mut arguments = if inner.is_empty() { Vec::new() } else { split(inner, &[","]) };
    let line = tree.line(at);
    // gocheck: `c.Assert(x, Equals, y)`.
    if on == "c" && matches!(name, "Assert" | "Check") && arguments.len() > 1 {
        let get = |at: usize| arguments.get(at).copied().unwrap_or_default();
        let check = matchers::matched(line, &tokens, get(0), get(1), get(2));
        return walk.add(at, vec![check]);
    }
    // gomega: `Expect(x).To(Equal(y))`.
    if matches!(name, "To" | "ToNot" | "NotTo" | "Should" | "ShouldNot") && on.contains('(') {
        let subject = tokens.iter().position(|token| matches!(token.text, "Expect" | "Eventually" | "Ω"));
        let subject = subject.map(|at| truth::arguments(&tokens, at)).unwrap_or_default();
        let matcher = arguments.first().copied().unwrap_or_default();
        let from = matcher.iter().position(|token| token.text == "(").unwrap_or(matcher.len());
        let expected = truth::arguments(matcher, from.saturating_sub(1));
        let mut check = matchers::matched(
            line,
            &tokens,
            subject.first().copied().unwrap_or_default(),
            matcher,
            expected.first().copied().unwrap_or_default(),
        );
        if name.contains("Not") {
            check.form = match check.form {
                Form::Exact if check.trivial => Form::Truth,
                Form::Exact => Form::Differs,
                // `NotTo(HaveOccurred())` says that there is no error.
                Form::Truth => Form::Exact,
                other => other,
            };
            check.trivial |= check.form == Form::Exact;
            check.negative = matches!(check.form, Form::Part | Form::Order);
        }
        return walk.add(at, vec![check]);
    }
    let handed =
        arguments.first().is_some_and(|first| is_handle(&first.iter().map(|token| token.text).collect::<String>()));
    let suite = matches!(on, "s" | "suite" | "ts" | "is" | "assert" | "require" | "a" | "r" | "must")
        || on.ends_with("Require()")
        || on.ends_with("Assert()");
    if (handed && matches!(on, "assert" | "require" | "is" | "must" | "qt"))
        || (suite && !handed && !walk.own.contains(&hash(name)))
    {
        if handed {
            arguments.remove(0);
        }
        if let Some(check) = matchers::testify(line, &tokens, name, &arguments) {
            return walk.add(at, vec![check]);
        }
        if handed {
            return walk.add_form(at, Form::Other, &tokens, &tokens, &[]);
        }
    }
    if name == "On" || name == "EXPECT" {
        mock(walk, at, name, on);
    }
    let own = walk.own.contains(&hash(name));
    walk.call(at, name);
    let any_handle =
        arguments.iter().any(|argument| is_handle(&argument.iter().map(|token| token.text).collect::<String>()));
    if !own && (any_handle || says_check(name)) {
        walk.maybe();
    }
    if name == "panic" {
        walk.soft(0);
    }
}

/// A failure in the block of a condition was read with the condition.
fn is_read(tree: &Tree<'_>, call: usize) -> bool {
    let Some(statement) = tree.up(call) else { return false };
    let Some(mut block) = tree.up(statement) else { return false };
    if tree.kind(block) == "statement_list" {
        block = tree.up(block).unwrap_or(0);
    }
    tree.kind_above(block) == "if_statement" && tree.node(block).field == "consequence"
}

/// Whether the last of what a call is given is a function that is written out.
fn runs_a_function(tree: &Tree<'_>, call: usize) -> bool {
    let last = tree.field(call, "arguments").and_then(|list| tree.parts(list).last());
    last.is_some_and(|last| tree.kind(last) == "func_literal")
}

fn subtest(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    let Some(list) = tree.field(at, "arguments") else { return };
    let mut parts = tree.parts(list);
    let (Some(name), Some(body)) = (parts.next(), parts.next()) else { return };
    if tree.kind(body) != "func_literal" {
        let last = tree.words(body).rsplit('.').next().unwrap_or("");
        if walk.own.contains(&hash(last)) {
            return walk.call(at, last);
        }
        return walk.maybe();
    }
    if let Some(name) = tree.string(name) {
        walk.begin(at, name, true);
    }
}

/// `_ = func() { … }`, and a function that is given a name and called by none: `_ = check` calls nothing.
fn unnamed(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    // `t = &testing.T{}`: whoever fails is another one, whom nobody asks.
    let of = |field: &str| tree.field(at, field).map_or("", |part| tree.words(part));
    if is_handle(of("left")) && of("right").contains("testing.T{") {
        let line = tree.line(at);
        if let Some(unit) = walk.unit().filter(|unit| unit.test) {
            unit.caught.push(Mark { line, what: format!("{} = {}", of("left"), of("right")) });
        }
    }
    let Some(left) = tree.field(at, "left").filter(|left| tree.words(*left) == "_") else { return };
    let right = tree.field(at, "right").and_then(|right| tree.parts(right).next());
    if let Some(function) = right.filter(|right| tree.kind(*right) == "func_literal" && *right > left) {
        walk.never(function);
    }
}

/// A function in a test, under a name.
fn nested(walk: &mut Walk<'_>, name: usize, right: usize) {
    let tree = walk.tree;
    let Some(function) = tree.parts(right).next().filter(|first| tree.kind(*first) == "func_literal") else { return };
    let name = tree.words(name);
    if let Some(body) = tree.field(function, "body") {
        walk.stands_in(right, name, body);
    }
    // Where it is put into `_` so that the compiler is content.
    let Some(block) = tree.up(right).and_then(|statement| tree.up(statement)) else { return };
    let idle = tree.parts(block).take(500).filter(|line| tree.kind(*line) == "assignment_statement");
    let idle = idle.filter(|line| tree.words(*line).strip_prefix("_ = ") == Some(name)).count();
    if walk.mentions(name).is_some_and(|times| times <= 1 + idle) {
        walk.never(function);
    }
}

/// `defer func() { recover() }()` forgets a panic, and what it does not do about it.
fn deferred(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    let tokens = tree.tokens_within(at, 300);
    let recovers = tokens.iter().any(|token| token.text == "recover");
    let idle = |name: &str| {
        matches!(name, "recover" | "Log" | "Logf" | "Print" | "Printf" | "Println" | "Sprint" | "Sprintf" | "Skip")
            || matches!(name, "Skipf" | "SkipNow" | "Stack" | "string" | "func" | "Helper")
    };
    // Something is done about it: the test is failed, or the panic is handed on or kept.
    let calls = tokens.windows(2).filter_map(|pair| match pair {
        [name, open] if open.text == "(" && name.sort == super::tree::Sort::Word => Some(name.text),
        _ => None,
    });
    let keeps = tokens.windows(2).any(|pair| matches!(pair, [name, sign] if sign.text == "=" && name.text != "_"));
    let acts = keeps || calls.into_iter().any(|name| !idle(name)) || tokens.iter().any(|token| token.text == "<-");
    let line = tree.line(at);
    if recovers
        && !acts
        && let Some(unit) = walk.unit()
    {
        unit.caught.push(Mark { line, what: "recover()".to_owned() });
    }
}

fn given(walk: &mut Walk<'_>, at: usize) {
    let tree = walk.tree;
    let left = tree.field(at, "left").or_else(|| tree.field(at, "name"));
    let right = tree.field(at, "right").or_else(|| tree.field(at, "value"));
    let (Some(left), Some(right)) = (left, right) else { return };
    let name = tree.parts(left).next().unwrap_or(left);
    nested(walk, name, right);
    walk.give(name, right);
    let literal = tree.children(right).find(|child| tree.kind(*child) == "composite_literal");
    let Some(literal) = literal.filter(|_| super::names_cases(tree.words(name))) else { return };
    let listed = tree.field(literal, "type").is_some_and(|kind| {
        matches!(tree.kind(kind), "slice_type" | "map_type" | "array_type" | "implicit_length_array_type")
    });
    if let Some(body) = tree.field(literal, "body").filter(|_| listed) {
        let table = super::python::table(tree, body);
        if let Some(unit) = walk.unit() {
            unit.tables.push(table);
        }
    }
}

/// `for _, c := range []struct{ … }{ … }`: the cases stand in the loop itself.
fn ranged(walk: &mut Walk<'_>, at: usize, range: Option<usize>) {
    let tree = walk.tree;
    let (Some(range), Some(body)) = (range, tree.field(at, "body")) else { return };
    let literal = if tree.kind(range) == "composite_literal" {
        Some(range)
    } else {
        tree.child_of_kind(range, "composite_literal")
    };
    let Some(cases) = literal.and_then(|literal| tree.field(literal, "body")) else { return };
    if tree.parts(cases).next().is_none() {
        return walk.never(body);
    }
    let asks = |text: &str| is_handle(text) || matches!(text, "require" | "assert" | "Expect");
    if tree.tokens_within(body, 2_000).iter().any(|token| asks(token.text)) {
        let table = super::python::table(tree, cases);
        if let Some(unit) = walk.unit() {
            unit.tables.push(table);
        }
    }
}

/// A method that a mock is told to answer.
fn mock(walk: &mut Walk<'_>, at: usize, name: &str, on: &str) {
    let tree = walk.tree;
    let method = if name == "On" {
        let list = tree.field(at, "arguments").unwrap_or(at);
        tree.parts(list).next().and_then(|first| tree.string(first)).map(str::to_owned)
    } else {
        // `m.EXPECT().Get()`: the selector around it.
        let selector = tree.up(at).filter(|up| tree.kind(*up) == "selector_expression");
        selector.and_then(|selector| tree.field(selector, "field")).map(|name| tree.words(name).to_owned())
    };
    let line = tree.line(at);
    if let (Some(method), Some(unit)) = (method, walk.unit()) {
        unit.mocks.push(Mark { line, what: format!("{on}.{method}") });
    }
    walk.maybe();
}
