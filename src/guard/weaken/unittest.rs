//! Python's assertions that are calls: expected failures, methods of unittest and of mocks, and what is patched.

use super::model::{Check, Form, Mark, Tolerance, bag};
use super::tree::{Token, Tree, hash};
use super::truth::{self, Tokens, arguments, keyword, number};
use super::walk::Walk;

/// A failure that is expected: its type, its message, and what is to fail.
pub(super) fn failure(walk: &mut Walk<'_>, at: usize, name: &str) {
    let tree = walk.tree;
    let tokens = walk.tokens(at);
    let from = tokens.iter().position(|token| token.text == "(").unwrap_or(0).saturating_sub(1);
    let arguments = arguments(&tokens, from);
    let kind = arguments.first().copied().unwrap_or_default();
    let mut block = at;
    for _ in 0..4 {
        block = tree.up(block).unwrap_or(0);
        if tree.kind(block) == "with_statement" {
            break;
        }
    }
    let body = if tree.kind(block) == "with_statement" { tree.field(block, "body") } else { None };
    let body = body.map(|body| walk.tokens(body)).unwrap_or_default();
    let rest: Vec<Token<'_>> = arguments.iter().skip(1).flat_map(|part| part.iter().copied()).collect();
    let subject = if body.is_empty() { &rest } else { &body };
    let mut check = Check::new(tree.line(at), Form::Raises, &[tokens.as_slice(), body.as_slice()].concat());
    truth::sides(&mut check, subject, kind);
    check.bag = bag(&tokens);
    check.shown = super::model::shown(&tokens);
    let types = super::errors::types(kind);
    check.broad = super::errors::is_any(&types);
    check.types = types.iter().map(|name| hash(name)).collect();
    check.message = keyword(&arguments, "match").is_some_and(|pattern| !truth::matches_all(pattern))
        || keyword(&arguments, "check").is_some()
        || name.ends_with("Regex")
        || name.ends_with("Regexp")
        || name.ends_with("Message");
    // What the test raises itself says nothing of the code.
    let own = tree.kind(block) == "with_statement"
        && tree
            .field(block, "body")
            .is_some_and(|body| tree.parts(body).any(|line| tree.kind(line) == "raise_statement"));
    walk.add(at, vec![if own { truth::told(check) } else { check }]);
}

/// `self.assertX(…)`, `mock.assert_called_with(…)`, `assert_x(…)`.
pub(super) fn asserted(walk: &mut Walk<'_>, at: usize, name: &str, on: &str) {
    let tree = walk.tree;
    let tokens = walk.tokens(at);
    let line = tree.line(at);
    let from = tree.field(at, "arguments").and_then(|list| {
        // The brackets of this call, not those of what it is called on.
        let inner = tree.tokens(list).len();
        tokens.len().checked_sub(inner)
    });
    let Some(from) = from else { return };
    let list = arguments(&tokens, from.saturating_sub(1));
    let one = list.first().copied().unwrap_or_default();
    let two = list.get(1).copied().unwrap_or_default();
    let form = |form: Form, subject: Tokens<'_, '_>, expected: Tokens<'_, '_>| {
        let mut check = Check::new(line, form, &tokens);
        truth::sides(&mut check, subject, expected);
        check
    };
    let check = match name {
        "assertEqual"
        | "assertEquals"
        | "assertIs"
        | "assertListEqual"
        | "assertDictEqual"
        | "assertSequenceEqual"
        | "assertTupleEqual"
        | "assertSetEqual"
        | "assertMultiLineEqual"
        | "assertCountEqual"
        | "assert_equal"
        | "assert_array_equal" => truth::equal(line, &tokens, one, two),
        "assertNotEqual" | "assertIsNot" => form(Form::Differs, one, two),
        "assertTrue" | "assert_" | "assertFalse" => {
            let mut checks = truth::truth(line, one);
            for check in &mut checks {
                check.negative ^= name == "assertFalse";
                if name == "assertFalse" && check.form == Form::Nothing {
                    check.form = Form::Other;
                }
            }
            return walk.add(at, checks);
        }
        "assertIsNone" => Check { trivial: true, ..form(Form::Exact, one, &[]) },
        "assertIsNotNone" => form(Form::Truth, one, &[]),
        "assertIn" | "assertRegex" | "assertRegexpMatches" | "assertContains" | "assertNotIn" | "assertNotRegex" => {
            let (subject, expected) = if name.contains("In") { truth::contained(one, two) } else { (one, two) };
            Check { negative: name.contains("Not"), ..form(Form::Part, subject, expected) }
        }
        "assertDictContainsSubset" => form(Form::Part, two, one),
        "assertIsInstance" => form(Form::Type, one, two),
        "assertLess" | "assertLessEqual" if truth::distance(truth::bare(one)).is_some() => {
            let (subject, expected) = truth::distance(truth::bare(one)).unwrap_or_default();
            Check { tolerance: number(truth::bare(two)).map(Tolerance), ..form(Form::Near, subject, expected) }
        }
        "assertGreater" | "assertGreaterEqual" | "assertLess" | "assertLessEqual" => form(Form::Order, one, two),
        "assertAlmostEqual" | "assert_allclose" | "assert_almost_equal" | "assertAlmostEquals" => {
            let mut check = form(Form::Near, one, two);
            let places = keyword(&list, "places").or_else(|| keyword(&list, "decimal"));
            let places = places.or_else(|| list.get(2).copied().filter(|_| name.contains("lmost"))).and_then(number);
            let delta = ["delta", "rtol", "atol"].iter().filter_map(|name| keyword(&list, name).and_then(number));
            let said = delta.reduce(f64::max).or_else(|| places.map(|places| 0.1_f64.powf(places)));
            // The usual tolerance is seven places.
            check.tolerance = Some(super::model::Tolerance(said.unwrap_or(1e-7)));
            check
        }
        "assert_called" | "assert_called_once" | "assert_awaited" | "assert_awaited_once" => {
            let subject: Vec<Token<'_>> = tokens.iter().take(from.saturating_sub(2)).copied().collect();
            form(Form::Truth, &subject, &[])
        }
        "assert_called_with"
        | "assert_called_once_with"
        | "assert_any_call"
        | "assert_has_calls"
        | "assert_awaited_with"
        | "assert_awaited_once_with" => {
            let subject: Vec<Token<'_>> = tokens.iter().take(from.saturating_sub(2)).copied().collect();
            form(Form::Exact, &subject, tokens.get(from..).unwrap_or_default())
        }
        _ => {
            let own = walk.own.contains(&hash(name)) && (on.is_empty() || matches!(on, "self" | "cls"));
            if own {
                return walk.call(at, name);
            }
            form(Form::Other, tokens.get(..from).unwrap_or_default(), tokens.get(from..).unwrap_or_default())
        }
    };
    walk.add(at, vec![check]);
}

/// What decorators put in the place of other code.
pub(super) fn patched(tree: &Tree<'_>, decorators: &[usize]) -> Vec<Mark> {
    let mut found = Vec::new();
    for one in decorators {
        let Some(call) = tree.children(*one).find(|child| tree.kind(*child) == "call") else { continue };
        let Some(function) = tree.field(call, "function") else { continue };
        let tokens = tree.tokens_within(call, 200);
        let from = tree.tokens_within(function, 50).len();
        if let Some(what) = patch_target(&tokens, from, tree.words(function)) {
            found.push(Mark { line: tree.line(*one), what });
        }
    }
    found
}

/// `patch("pkg.mod.f")`, `patch.object(mod, "f")` and `monkeypatch.setattr(mod, "f", …)` all name `mod.f`.
fn patch_target(tokens: Tokens<'_, '_>, from: usize, function: &str) -> Option<String> {
    let list = arguments(tokens, from.checked_sub(1)?);
    let first = list.first().copied().unwrap_or_default();
    let one = function.ends_with("patch") || function.ends_with("monkeypatch.setattr");
    let two = function.ends_with("patch.object") || function.ends_with("monkeypatch.setattr");
    let text = |tokens: Tokens<'_, '_>| match tokens {
        [one] if one.sort == super::tree::Sort::Text => Some(one.text.to_owned()),
        _ => None,
    };
    if keyword(&list, "wraps").is_some() {
        return None;
    }
    // `__name__ + ".dim"`, `f"{__name__}.dim"`: a name of this file.
    let here = match first {
        [own, plus, name] if own.text == "__name__" && plus.text == "+" => name.text.strip_prefix('.'),
        [name] => name.text.strip_prefix("{__name__}."),
        _ => None,
    };
    if let Some(name) = here.filter(|_| function.ends_with("patch")) {
        return Some(name.to_owned());
    }
    if let Some(target) = text(first)
        .filter(|_| one && (function.ends_with("patch") || list.get(1).is_some_and(|second| answers(second))))
    {
        let mut parts = target.rsplit('.');
        let (name, module) = (parts.next()?, parts.next()?);
        return Some(format!("{module}.{name}"));
    }
    // A function that stands in may well call the one it stands for.
    let replaced = function.ends_with("patch.object") || list.get(2).is_some_and(|third| answers(third));
    let name = list.get(1).and_then(|second| text(second)).filter(|_| two && replaced)?;
    let module = first.iter().rev().find(|token| token.tells())?.text;
    Some(format!("{module}.{name}"))
}

/// A lambda or a mock: it gives what it was told to.
pub(super) fn answers(tokens: Tokens<'_, '_>) -> bool {
    let first = tokens.first().map_or("", |token| token.text);
    first == "lambda" || tokens.iter().any(|token| matches!(token.text, "Mock" | "MagicMock" | "AsyncMock"))
}

pub(super) fn patch_in_body(walk: &mut Walk<'_>, at: usize, name: &str, on: &str) {
    if !matches!(name, "patch" | "object" | "setattr") || walk.is_dead() {
        return;
    }
    let tree = walk.tree;
    let Some(function) = tree.field(at, "function") else { return };
    if name == "setattr" && on != "monkeypatch" || name == "object" && !on.ends_with("patch") {
        return;
    }
    let tokens = walk.tokens(at);
    let from = tree.tokens_within(function, 50).len();
    if let Some(what) = patch_target(&tokens, from, tree.words(function)) {
        let line = tree.line(at);
        if let Some(unit) = walk.unit() {
            unit.mocks.push(Mark { line, what });
        }
    }
}
