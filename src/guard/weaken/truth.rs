//! What an expression holds that must be true, or two sides that must be equal: told from its tokens, alike in all
//! languages.

use super::constant::constant;
use super::model::{Check, Form, Tolerance, bag};
use super::tree::{Sort, digest, hash};
pub(super) use super::words::is_written;
pub(super) use super::words::{
    Tokens, arguments, bare, called, is_literal, is_trivial, keyword, links, made, number, parts, split, values,
    without_calls,
};
use super::words::{is_constant, opens, predicate, tops, wildcards};

/// Puts the two sides into a check: what is looked at, and what is expected of it.
pub(super) fn sides(check: &mut Check, subject: Tokens<'_, '_>, expected: Tokens<'_, '_>) {
    about(check, subject);
    let expected = bare(expected);
    check.expected = if expected.is_empty() { 0 } else { digest(expected) };
    check.literal = is_written(expected);
    check.parts = parts(expected);
    check.trivial = is_trivial(expected);
    check.expects_calls = called(expected);
    check.expects_made = made(expected);
    check.expects_names =
        expected.iter().filter(|token| token.sort == Sort::Word).map(|token| hash(token.text)).collect();
    let root = |at: usize| at.checked_sub(1).and_then(|at| expected.get(at)).is_none_or(|before| before.text != ".");
    let roots = expected.iter().enumerate().filter(|(at, token)| token.sort == Sort::Word && root(*at));
    check.expects_roots = roots.map(|(_, token)| hash(token.text)).collect();
    check.values = values(expected);
    check.listed = expected.len() > 2 && expected.first().is_some_and(|first| opens(first) || first.text == "vec");
    check.wild = wildcards(expected);
    check.fails = matches!(expected, [first, open, ..] if first.text == "Err" && open.text == "(");
    check.fraction = matches!(expected, [one] if one.sort == Sort::Number
        && one.text.split_once('.').is_some_and(|(_, rest)| rest.starts_with(|c: char| c.is_ascii_digit()) && rest.contains(|c: char| ('1'..='9').contains(&c))));
    check.same = !expected.is_empty() && check.subject == check.expected && !is_literal(expected);
}

/// What it looks at alone.
pub(super) fn about(check: &mut Check, subject: Tokens<'_, '_>) {
    let subject = bare(subject);
    check.subject = digest(subject);
    check.about = bag(subject);
    check.calls = called(subject);
    (check.links, check.roots) = links(subject);
    check.made = made(subject);
    check.part_of = measured(subject).map_or(0, |of| digest(bare(of)));
}

/// What has the length that is looked at: `len(x)`, `x.length`, `x.len()`.
fn measured<'a, 't>(subject: Tokens<'a, 't>) -> Option<Tokens<'a, 't>> {
    match subject {
        [name, open, inner @ .., close] if name.text == "len" && open.text == "(" && close.text == ")" => Some(inner),
        [on @ .., dot, name, open, close]
            if dot.text == "." && matches!(name.text, "len" | "count") && open.text == "(" && close.text == ")" =>
        {
            Some(on)
        }
        [on @ .., dot, name] if dot.text == "." && matches!(name.text, "length" | "size") => Some(on),
        _ => None,
    }
    .filter(|of| !of.is_empty())
}

/// Two sides that must be equal. Where one is written out, the other is looked at; else the first one is.
pub(super) fn equal<'t>(line: u32, all: Tokens<'_, 't>, left: Tokens<'_, 't>, right: Tokens<'_, 't>) -> Check {
    // Of two lengths, that of what is wanted is not the one that is looked at.
    let wanted = |side: Tokens<'_, '_>| {
        let of = measured(bare(side)).unwrap_or_default();
        of.iter().any(|token| matches!(token.text, "want" | "wanted" | "expected" | "exp"))
    };
    let turned = is_written(bare(left)) && !is_written(bare(right)) || wanted(left) && !wanted(right);
    let (subject, expected) = if turned { (right, left) } else { (left, right) };
    let mut check = Check::new(line, Form::Exact, all);
    sides(&mut check, subject, expected);
    if bare(left) == bare(right) && is_literal(bare(left)) {
        check.form = Form::Nothing;
    }
    // `type(x) == T` asks for the type, and `!f(x)` for a bool.
    if let [word, open, inner @ .., _] = bare(subject)
        && word.text == "type"
        && open.text == "("
    {
        sides(&mut check, inner, expected);
        check.form = Form::Type;
    } else if bare(expected).first().is_some_and(|token| matches!(token.text, "!" | "not")) {
        check.trivial = true;
    }
    // `typeof x === 'number'` asks for the type.
    if let [word, inner @ ..] = bare(subject)
        && word.text == "typeof"
        && !inner.is_empty()
    {
        sides(&mut check, inner, expected);
        check.form = Form::Type;
    }
    if let Some((tolerance, usual)) = approximate(bare(expected)).or_else(|| approximate(bare(subject))) {
        check.form = Form::Near;
        (check.tolerance, check.usual) = (tolerance, usual);
    } else if let Some((inner, digits)) = rounded(bare(subject)) {
        sides(&mut check, inner, expected);
        check.form = Form::Near;
        check.tolerance = Some(Tolerance(0.5 * 0.1_f64.powf(digits)));
    } else if let Some(inner) = cut(bare(subject)) {
        sides(&mut check, inner, expected);
        check.cut = true;
    } else if check.wild > 0 && bare(expected).len() <= 3 && !expected.is_empty() {
        check.form = Form::Truth;
    }
    check
}

/// The tolerance of `approx(x, abs=…)`, where it is one; where none is said, how much the usual one is.
fn approximate(tokens: Tokens<'_, '_>) -> Option<(Option<Tolerance>, Option<f64>)> {
    const USUAL: f64 = 1e-6;
    let at = tokens.iter().position(|token| token.text == "approx" && token.sort == Sort::Word)?;
    let arguments = arguments(tokens, at);
    let said = ["rel", "abs"].iter().filter_map(|name| keyword(&arguments, name).and_then(number));
    let placed = arguments.iter().skip(1).take(2).filter_map(|one| number(one));
    let said = said.chain(placed).reduce(f64::max);
    let value = arguments.first().and_then(|first| number(first));
    Some((said.map(Tolerance), value.filter(|_| said.is_none()).map(|value| value.abs().max(1.0) * USUAL)))
}

/// What is cut to a whole number before it is compared: `int(x)`, `x as i32`.
fn cut<'a, 't>(subject: Tokens<'a, 't>) -> Option<Tokens<'a, 't>> {
    let whole = |name: &str| {
        let bits = name.strip_prefix(['i', 'u']).unwrap_or("");
        matches!(bits, "8" | "16" | "32" | "64" | "128" | "size")
            || matches!(name, "int" | "int32" | "int64" | "uint" | "uint32" | "uint64" | "parseInt")
    };
    match subject {
        [on @ .., sign, kind] if sign.text == "as" && whole(kind.text) && !on.is_empty() => Some(on),
        [name, open, .., close] if whole(name.text) && open.text == "(" && close.text == ")" => {
            match arguments(subject, 0).as_slice() {
                [value] if value.len() + 3 == subject.len() => Some(value),
                _ => None,
            }
        }
        _ => None,
    }
}

/// What is rounded before it is compared, and to how many digits.
pub(super) fn rounded<'a, 't>(subject: Tokens<'a, 't>) -> Option<(Tokens<'a, 't>, f64)> {
    // `Math.round(x)`, `math.Round(x)`, `x.round()`, `x.toFixed(2)`.
    match subject {
        [math, dot, name, rest @ ..]
            if matches!(math.text, "Math" | "math")
                && dot.text == "."
                && matches!(name.text, "round" | "floor" | "ceil" | "trunc" | "Round" | "Floor" | "Ceil" | "Trunc")
                && rest.first().is_some_and(|open| open.text == "(") =>
        {
            let list = arguments(subject, 2);
            return match list.as_slice() {
                [value] if rest.len() == value.len() + 2 => Some((value, 0.0)),
                _ => None,
            };
        }
        [on @ .., dot, name, open, close]
            if dot.text == "." && name.text == "round" && open.text == "(" && close.text == ")" && !on.is_empty() =>
        {
            return Some((on, 0.0));
        }
        [on @ .., dot, name, open, digits, close]
            if dot.text == "." && name.text == "toFixed" && open.text == "(" && close.text == ")" =>
        {
            return Some((on, number(std::slice::from_ref(digits))?));
        }
        _ => {}
    }
    let [name, open, .., close] = subject else { return None };
    if name.text != "round" || open.text != "(" || close.text != ")" {
        return None;
    }
    match arguments(subject, 0).as_slice() {
        [value] => Some((value, 0.0)),
        [value, digits] => Some((value, number(digits)?)),
        _ => None,
    }
}

/// A condition of which something is only said: it holds nothing, whatever the code does. It is beside the check that it was.
pub(super) fn only_told<'t>(line: u32, condition: Tokens<'_, 't>, shown: Tokens<'_, 't>) -> Check {
    let mut check = alone(line, condition);
    check.shown = super::model::shown(shown);
    told(check)
}

/// Whether it is a question of its own, with a sign in it that compares, joins or negates.
pub(super) fn is_asked(tokens: Tokens<'_, '_>) -> bool {
    let tokens = bare(tokens);
    !tops(tokens, &["==", "===", "!=", "!==", "<", "<=", ">", ">=", "||", "&&", "instanceof"]).is_empty()
        || matches!(tokens, [one, two, ..] if one.text == "!" && two.text == "!")
        || matches!(tokens, [one, open, ..] if one.text == "Boolean" && open.text == "(")
        || is_constant(tokens)
}

/// A pattern that fits whatever comes.
pub(super) fn matches_all(pattern: Tokens<'_, '_>) -> bool {
    let [one] = pattern else { return false };
    one.sort == Sort::Text
        && matches!(
            one.text.trim_matches('/').trim_start_matches('^').trim_end_matches('$'),
            "" | ".*" | "." | ".+" | "[\\s\\S]*"
        )
}

/// A check that fails nothing any more: it is none, and stands for none but the one that it was.
pub(super) fn told(check: Check) -> Check {
    let text = !check.text;
    Check { form: Form::Nothing, told: true, negative: false, text, about: Vec::new(), either: Vec::new(), ..check }
}

/// What must be true, each part of it.
pub(super) fn truth<'t>(line: u32, tokens: Tokens<'_, 't>) -> Vec<Check> {
    const MOST_PARTS: usize = 50;
    let tokens = bare(tokens);
    let parts = split(tokens, &["and", "&&"]);
    if parts.len() > 1 && parts.len() <= MOST_PARTS && tops(tokens, &["or", "||", "if", "lambda", "=>"]).is_empty() {
        return parts.into_iter().map(|part| single(line, part, tokens)).collect();
    }
    vec![single(line, tokens, tokens)]
}

fn single<'t>(line: u32, part: Tokens<'_, 't>, _all: Tokens<'_, 't>) -> Check {
    let part = bare(part);
    // `a if on else b`: one or the other suffices.
    if let ([on], [other]) = (tops(part, &["if"]).as_slice(), tops(part, &["else"]).as_slice())
        && on < other
    {
        let parts = [part.get(..*on), part.get(other + 1..)].map(Option::unwrap_or_default);
        let mut check = Check::new(line, Form::Other, part);
        check.either = parts.iter().map(|one| digest(bare(one))).collect();
        let first = alone(line, parts[0]);
        (check.subject, check.about) = (first.subject, first.about);
        return check;
    }
    let either = split(part, &["or", "||"]);
    if either.len() > 1 {
        let mut check = Check::new(line, Form::Other, part);
        check.either = either.iter().map(|one| digest(bare(one))).collect();
        // As `assert_eq!` and its like have it: the two sides alone.
        let sides = either.iter().map(|one| split(bare(one), &["==", "==="])).filter(|sides| sides.len() == 2);
        check.either.extend(sides.map(|sides| digest(&sides.concat())));
        if either.iter().any(|one| constant(one) == Some(true)) {
            check.form = Form::Nothing;
        }
        if let Some(first) = either.first() {
            let first = alone(line, first);
            (check.subject, check.about) = (first.subject, first.about);
        }
        return check;
    }
    alone(line, part)
}

pub(super) fn alone<'t>(line: u32, part: Tokens<'_, 't>) -> Check {
    let whole = bare(part);
    let mut negative = false;
    let mut part = whole;
    while let [first, rest @ ..] = part
        && matches!(first.text, "not" | "!")
        && !rest.is_empty()
    {
        negative = !negative;
        part = bare(rest);
    }
    let mut check = compared(line, part, whole);
    check.negative ^= negative;
    if negative {
        match check.form {
            Form::Nothing => check.form = Form::Other,
            // `!(a == b)`, and the other way round.
            Form::Exact => (check.form, check.negative) = (Form::Differs, false),
            Form::Differs => (check.form, check.negative) = (Form::Exact, false),
            _ => {}
        }
    }
    check
}

const COMPARES: [&str; 13] =
    ["==", "===", "!=", "!==", "<", "<=", ">", ">=", "in", "is", "instanceof", "is not", "not in"];

fn compared<'t>(line: u32, part: Tokens<'_, 't>, whole: Tokens<'_, 't>) -> Check {
    let ops = tops(part, &COMPARES);
    // Generic arguments and closures have such signs too.
    let odd = part.iter().any(|token| matches!(token.text, "::" | "=>" | "lambda" | "|")) && ops.len() > 1;
    let [first, rest @ ..] = ops.as_slice() else { return bool_of(line, part, whole) };
    let Some(op) = part.get(*first).map(|token| token.text) else { return bool_of(line, part, whole) };
    let left = part.get(..*first).unwrap_or_default();
    let right = part.get(first + 1..).unwrap_or_default();
    // `0 <= x <= 100`.
    let bound = |at: &usize| part.get(*at).is_some_and(|sign| matches!(sign.text, "<" | "<=" | ">" | ">="));
    if let ([second], false, true) = (rest, odd, ops.iter().all(bound))
        && let (Some(middle), Some(last)) = (part.get(first + 1..*second), part.get(second + 1..))
        && is_literal(bare(left))
        && is_literal(bare(last))
        && !middle.is_empty()
    {
        return with(line, Form::Order, whole, middle, left);
    }
    if !rest.is_empty() || odd || left.is_empty() || right.is_empty() {
        let mut check = Check::new(line, Form::Other, whole);
        sides(&mut check, part, &[]);
        return check;
    }
    let nots = right.first().is_some_and(|token| token.text == "not");
    match op {
        "is" if nots => not_equal(line, whole, left, right.get(1..).unwrap_or_default()),
        "is not" => not_equal(line, whole, left, right),
        "==" | "===" => equal(line, whole, left, right),
        // Identity is asked of what there is one of.
        "is" => {
            let mut check = equal(line, whole, left, right);
            check.trivial = true;
            check
        }
        "!=" | "!==" => not_equal(line, whole, left, right),
        "instanceof" => with(line, Form::Type, whole, left, right),
        "in" | "not in" => {
            // `x not in y`: the word before belongs to the sign.
            let (left, absent) = match left {
                [inner @ .., last] if last.text == "not" => (inner, true),
                _ => (left, op == "not in"),
            };
            let between = matches!(right, [name, open, ..] if name.text == "range" && open.text == "(");
            if between && !absent {
                return with(line, Form::Order, whole, left, right);
            }
            let (subject, expected) = contained(left, right);
            let mut check = with(line, Form::Part, whole, subject, expected);
            check.negative = absent;
            check
        }
        _ => ordered(line, whole, left, right, op),
    }
}

/// What is looked at where one thing must be in another, and what is expected: in a list that is written out, the thing.
pub(super) fn contained<'a, 't>(thing: Tokens<'a, 't>, within: Tokens<'a, 't>) -> (Tokens<'a, 't>, Tokens<'a, 't>) {
    let listed = within.first().is_some_and(opens) && !is_literal(bare(thing));
    if listed { (thing, within) } else { (within, thing) }
}

fn with<'t>(line: u32, form: Form, whole: Tokens<'_, 't>, subject: Tokens<'_, 't>, expected: Tokens<'_, 't>) -> Check {
    let mut check = Check::new(line, form, whole);
    sides(&mut check, subject, expected);
    check
}

fn not_equal<'t>(line: u32, whole: Tokens<'_, 't>, left: Tokens<'_, 't>, right: Tokens<'_, 't>) -> Check {
    let mut check = equal(line, whole, left, right);
    let none = |tokens: Tokens<'_, '_>| matches!(bare(tokens), [one] if matches!(one.text, "None" | "null" | "nil" | "undefined"));
    check.form = if none(left) || none(right) { Form::Truth } else { Form::Differs };
    check.tolerance = None;
    check
}

/// `abs(a - b) < eps` is a tolerance; everything else that is ordered is an order.
fn ordered<'t>(line: u32, whole: Tokens<'_, 't>, left: Tokens<'_, 't>, right: Tokens<'_, 't>, op: &str) -> Check {
    let (small, large) = if op.starts_with('<') { (left, right) } else { (right, left) };
    if let Some((subject, expected)) = distance(bare(small)) {
        let mut check = with(line, Form::Near, whole, subject, expected);
        check.tolerance = number(bare(large)).map(Tolerance);
        return check;
    }
    let (subject, expected) = if is_literal(bare(left)) { (right, left) } else { (left, right) };
    with(line, Form::Order, whole, subject, expected)
}

/// The two of which it is asked how far they are from each other, `abs(a - b)` or `(a - b).abs()`: what is looked at, and what is
/// expected. Where that can't be told apart, all of it is looked at.
pub(super) fn distance<'a, 't>(tokens: Tokens<'a, 't>) -> Option<(Tokens<'a, 't>, Tokens<'a, 't>)> {
    let is_abs = |token: &super::tree::Token<'_>| matches!(token.text, "abs" | "Abs" | "fabs");
    let at = tokens.iter().position(is_abs)?;
    if !tokens.iter().any(|token| token.text == "-") {
        return None;
    }
    let inner = match tokens {
        [on @ .., dot, name, open, close]
            if dot.text == "." && is_abs(name) && open.text == "(" && close.text == ")" =>
        {
            on
        }
        _ => match arguments(tokens, at).as_slice() {
            [one] if tokens.last().is_some_and(|last| last.text == ")") => one,
            _ => return Some((tokens, &[])),
        },
    };
    let inner = bare(inner);
    Some(match split(inner, &["-"]).as_slice() {
        [left, right] if is_written(bare(left)) && !is_written(bare(right)) => (right, left),
        [left, right] if !left.is_empty() => (left, right),
        _ => (tokens, &[]),
    })
}

/// Calls that say that a part is as expected.
const PARTS: [&str; 21] = [
    "startswith",
    "endswith",
    "contains",
    "starts_with",
    "ends_with",
    "includes",
    "startsWith",
    "endsWith",
    "match",
    "search",
    "fullmatch",
    "matches",
    "test",
    "is_match",
    "Contains",
    "HasPrefix",
    "HasSuffix",
    "MatchString",
    "any",
    "issubset",
    "issuperset",
];

fn bool_of<'t>(line: u32, part: Tokens<'_, 't>, whole: Tokens<'_, 't>) -> Check {
    if is_constant(part) {
        return Check::new(line, Form::Nothing, whole);
    }
    // `assert False` marks a place that must not be reached.
    if is_literal(part) {
        return with(line, Form::Other, whole, part, &[]);
    }
    // `mock.called` is true of any call.
    if let [on @ .., dot, called] = part
        && dot.text == "."
        && called.text == "called"
    {
        return with(line, Form::Truth, whole, on, &[]);
    }
    if let Some((name, on, arguments)) = predicate(part) {
        let one = arguments.first().copied().unwrap_or_default();
        let two = arguments.get(1).copied().unwrap_or_default();
        match name {
            "isinstance" | "issubclass" | "hasattr" | "callable" => return with(line, Form::Type, whole, one, two),
            "DeepEqual" | "Equal" | "array_equal" | "isDeepStrictEqual" if !two.is_empty() => {
                return equal(line, whole, one, two);
            }
            "Equal" | "equals" | "eq" if !on.is_empty() && arguments.len() == 1 => return equal(line, whole, on, one),
            "Is" | "As" if on.last().is_some_and(|on| on.text == "errors") && !two.is_empty() => {
                let mut check = with(line, Form::Exact, whole, one, two);
                (check.literal, check.trivial) = (false, false);
                return check;
            }
            "isclose" | "allclose" if !two.is_empty() => {
                let mut check = with(line, Form::Near, whole, one, two);
                let said = ["rel_tol", "abs_tol", "rtol", "atol"];
                let said = said.iter().filter_map(|name| keyword(&arguments, name).and_then(number));
                check.tolerance = said.reduce(f64::max).map(Tolerance);
                return check;
            }
            "all" => return Check { form: Form::Other, ..with(line, Form::Other, whole, part, &[]) },
            "is_some" | "is_ok" | "is_empty" if arguments.is_empty() && !on.is_empty() => {
                return with(line, Form::Truth, whole, on, &[]);
            }
            "is_err" | "is_none" if arguments.is_empty() && !on.is_empty() => {
                let mut check = with(line, Form::Truth, whole, on, &[]);
                check.negative = true;
                return check;
            }
            // A pattern of Rust names the value wholly or in part; which one is not told here.
            "matches" if on.is_empty() && matches!(two, [one] if one.text == "_") => {
                return Check { form: Form::Nothing, ..with(line, Form::Part, whole, one, two) };
            }
            "matches" if on.is_empty() && !two.is_empty() => {
                let all_of_it =
                    two.iter().any(|token| matches!(token.text, "_" | "..")) || !tops(two, &["|"]).is_empty();
                let check = with(line, if all_of_it { Form::Part } else { Form::Other }, whole, one, two);
                return Check { pattern: super::errors::pattern(two), ..check };
            }
            "match" | "search" | "fullmatch" | "MatchString" if !two.is_empty() => {
                return with(line, Form::Part, whole, two, one);
            }
            "Contains" | "HasPrefix" | "HasSuffix" if !two.is_empty() => {
                return with(line, Form::Part, whole, one, two);
            }
            // One of a list that is written out.
            "contains" | "includes" if on.first().is_some_and(opens) && !one.is_empty() => {
                let (subject, expected) = contained(one, on);
                return with(line, Form::Part, whole, subject, expected);
            }
            "Boolean" | "bool" if on.is_empty() && arguments.len() == 1 => return bool_of(line, one, whole),
            // A regular expression's own method looks at its argument.
            "test" | "is_match" if !on.is_empty() => return with(line, Form::Part, whole, one, on),
            name if PARTS.contains(&name) && !on.is_empty() => return with(line, Form::Part, whole, on, one),
            _ => {}
        }
    }
    with(line, Form::Truth, whole, part, &[])
}
