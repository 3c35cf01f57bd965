//! Tokens of an expression: its brackets, its parts, what is written out in it and what it calls.

use super::tree::{Sort, Token, hash};

pub(super) type Tokens<'a, 't> = &'a [Token<'t>];

/// Without what only wraps it: parentheses, `await`, references.
pub(super) fn bare<'a, 't>(mut tokens: Tokens<'a, 't>) -> Tokens<'a, 't> {
    loop {
        match tokens {
            [first, rest @ ..] if matches!(first.text, "await" | "&" | "mut") && !rest.is_empty() => tokens = rest,
            [first, inner @ .., last]
                if first.text == "(" && last.text == ")" && wraps(tokens) && !inner.is_empty() =>
            {
                tokens = inner;
            }
            [inner @ .., first, second] if first.text == "." && second.text == "await" => tokens = inner,
            [inner @ .., last] if last.text == "?" && !inner.is_empty() => tokens = inner,
            _ => return tokens,
        }
    }
}

pub(super) fn opens(token: &Token<'_>) -> bool {
    token.sort == Sort::Mark && matches!(token.text, "(" | "[" | "{" | "#{")
}

pub(super) fn closes(token: &Token<'_>) -> bool {
    token.sort == Sort::Mark && matches!(token.text, ")" | "]" | "}")
}

/// Whether the first bracket is closed by the last one, and nothing at the top of it makes it a list.
fn wraps(tokens: Tokens<'_, '_>) -> bool {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        if opens(token) {
            depth += 1;
        } else if closes(token) {
            depth = depth.saturating_sub(1);
            if depth == 0 && at + 1 < tokens.len() {
                return false;
            }
        } else if depth == 1 && token.text == "," && token.sort == Sort::Mark {
            return false;
        }
    }
    depth == 0
}

/// Whether the first bracket is closed by the last token.
fn encloses(tokens: Tokens<'_, '_>) -> bool {
    let mut depth = 0_usize;
    let ends = tokens.iter().position(|token| {
        depth = if opens(token) { depth + 1 } else { depth.saturating_sub(usize::from(closes(token))) };
        depth == 0
    });
    ends.is_some_and(|at| at + 1 == tokens.len())
}

/// The places of tokens that are in no bracket and are one of these words.
pub(super) fn tops(tokens: Tokens<'_, '_>, wanted: &[&str]) -> Vec<usize> {
    let mut depth = 0_usize;
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if opens(token) {
            depth += 1;
        } else if closes(token) {
            depth = depth.saturating_sub(1);
        } else if depth == 0 && matches!(token.sort, Sort::Mark | Sort::Word) && wanted.contains(&token.text) {
            found.push(at);
        }
    }
    found
}

/// The parts between these words, in no bracket.
pub(super) fn split<'a, 't>(tokens: Tokens<'a, 't>, wanted: &[&str]) -> Vec<Tokens<'a, 't>> {
    let mut parts = Vec::new();
    let mut from = 0;
    for at in tops(tokens, wanted) {
        parts.push(tokens.get(from..at).unwrap_or_default());
        from = at + 1;
    }
    parts.push(tokens.get(from..).unwrap_or_default());
    parts
}

const CONSTANTS: [&str; 9] = ["True", "true", "False", "false", "None", "null", "nil", "undefined", "NaN"];

/// Words that only dress a literal.
const DRESS: [&str; 19] = [
    "vec",
    "String",
    "from",
    "to_string",
    "to_owned",
    "into",
    "Some",
    "Ok",
    "Err",
    "dict",
    "set",
    "list",
    "tuple",
    "frozenset",
    "string",
    "int",
    "byte",
    "map",
    "b",
];

/// What tells one value from another: its numbers, texts and constants.
pub(super) fn values(tokens: Tokens<'_, '_>) -> Vec<u64> {
    let tells = |token: &&Token<'_>| match token.sort {
        Sort::Number | Sort::Text => true,
        Sort::Word => CONSTANTS.contains(&token.text),
        Sort::Mark => matches!(token.text, "-" | "True" | "true" | "False" | "false" | "None" | "null" | "nil"),
    };
    tokens.iter().filter(tells).map(|token| hash(token.text)).collect()
}

/// A value without calls behind it that give it back bit by bit: `&CASES`, `CASES.iter()`.
pub(super) fn without_calls<'a, 't>(tokens: Tokens<'a, 't>) -> Tokens<'a, 't> {
    match tokens {
        [borrow, rest @ ..] if borrow.text == "&" => without_calls(rest),
        [on @ .., dot, name, open, close]
            if dot.text == "."
                && matches!(name.text, "iter" | "into_iter" | "items" | "entries" | "copied" | "cloned")
                && open.text == "("
                && close.text == ")" =>
        {
            without_calls(on)
        }
        all => all,
    }
}

/// Whether it is written out, with nothing that is computed.
pub(super) fn is_literal(tokens: Tokens<'_, '_>) -> bool {
    !tokens.is_empty()
        && tokens.iter().any(|token| token.sort != Sort::Mark || matches!(token.text, "[" | "{" | "("))
        && tokens.iter().enumerate().all(|(at, token)| match token.sort {
            Sort::Word => {
                let key = || tokens.get(at + 1).is_some_and(|next| next.text == ":");
                CONSTANTS.contains(&token.text) || DRESS.contains(&token.text) || key()
            }
            // A template is filled in by what the code says.
            Sort::Text => !token.text.contains("${"),
            Sort::Number | Sort::Mark => true,
        })
}

/// A literal, or something that is built of literals alone: `Lamp(level=2)`, `Lamp { level: 2 }`, `&lamp.Lamp{2, "red"}`.
pub(super) fn is_written(tokens: Tokens<'_, '_>) -> bool {
    is_literal(tokens) || built(tokens).is_some_and(|parts| parts.into_iter().all(|part| is_literal(bare(part))))
}

/// The parts of a value that is built where it stands, each without its name: of nothing but a type's name and brackets. In
/// round ones a function of Go would look alike, so each has a name there, or `new` comes first.
fn built<'a, 't>(tokens: Tokens<'a, 't>) -> Option<Vec<Tokens<'a, 't>>> {
    let (tokens, made) = match bare(tokens) {
        [new, rest @ ..] if new.text == "new" => (rest, true),
        [dress, open, inner @ .., _] if matches!(dress.text, "Some" | "Ok" | "Err") && open.text == "(" => {
            (bare(inner), false)
        }
        all => (all, false),
    };
    let at = tokens.iter().position(opens)?;
    let (path, whole) = (tokens.get(..at)?, tokens.get(at..)?);
    let [open, inner @ .., _] = whole else { return None };
    let name = path.last()?;
    let plain = path.iter().all(|token| token.sort == Sort::Word || matches!(token.text, "." | "::"));
    let is_type = name.text.starts_with(char::is_uppercase) && name.text.chars().any(char::is_lowercase);
    let parts: Vec<Tokens<'a, 't>> = split(inner, &[","]).into_iter().filter(|part| !part.is_empty()).collect();
    let named = |part: &Tokens<'a, 't>| matches!(part, [_, sign, _, ..] if matches!(sign.text, "=" | ":"));
    let told = open.text != "(" || made || !parts.is_empty() && parts.iter().all(named);
    if !plain || !is_type || !encloses(whole) || !told {
        return None;
    }
    let value = |part: Tokens<'a, 't>| if named(&part) { part.get(2..).unwrap_or_default() } else { part };
    Some(parts.into_iter().map(value).collect())
}

/// How many parts a whole has that is written out: those of a list, a map or something that is built; else none.
pub(super) fn parts(tokens: Tokens<'_, '_>) -> usize {
    let tokens = match tokens {
        [vec, sign, rest @ ..] if vec.text == "vec" && sign.text == "!" => rest,
        all => all,
    };
    match tokens {
        [open, inner @ .., _] if opens(open) && encloses(tokens) => {
            split(inner, &[","]).iter().filter(|part| !part.is_empty()).count()
        }
        // `[]string{"red", "green"}`.
        [open, close, rest @ ..] if open.text == "[" && close.text == "]" => {
            let at = rest.iter().position(|token| token.text == "{").unwrap_or(rest.len());
            parts(rest.get(at..).unwrap_or_default())
        }
        _ => built(tokens).map_or(0, |parts| parts.len()),
    }
}

/// Empty, none, true, false or zero: to say that something is or is not such a thing is as good as naming it.
pub(super) fn is_trivial(tokens: Tokens<'_, '_>) -> bool {
    match tokens {
        [] => true,
        [one] => CONSTANTS.contains(&one.text) || one.text.is_empty() || one.text == "0",
        [open, close] => opens(open) && closes(close),
        [name, open, close] => DRESS.contains(&name.text) && opens(open) && closes(close),
        _ => false,
    }
}

/// Whether it is true whatever happens.
pub(super) fn is_constant(tokens: Tokens<'_, '_>) -> bool {
    match bare(tokens) {
        [one] => {
            matches!(one.text, "True" | "true")
                || (one.sort == Sort::Number && one.text.bytes().any(|byte| byte.is_ascii_digit() && byte != b'0'))
                || (one.sort == Sort::Text && !one.text.is_empty())
        }
        _ => false,
    }
}

/// Names of functions that are called.
pub(super) fn called(tokens: Tokens<'_, '_>) -> Vec<u64> {
    /// Conversions and containers: that both sides use them says nothing.
    const COMMON: [&str; 40] = [
        "str",
        "len",
        "list",
        "dict",
        "int",
        "float",
        "sorted",
        "repr",
        "tuple",
        "set",
        "frozenset",
        "range",
        "bytes",
        "String",
        "Number",
        "Object",
        "Array",
        "keys",
        "values",
        "items",
        "into",
        "from",
        "new",
        "to_string",
        "clone",
        "to_owned",
        "unwrap",
        "iter",
        "collect",
        "join",
        "map",
        "format",
        "encode",
        "decode",
        "append",
        "Sprintf",
        "string",
        "approx",
        "Error",
        "expect",
    ];
    let mut found = Vec::new();
    for pair in tokens.windows(2) {
        if let [name, open] = pair
            && open.text == "("
            && open.sort == Sort::Mark
            && name.sort == Sort::Word
            && !COMMON.contains(&name.text)
            && !name.text.starts_with(char::is_uppercase)
        {
            found.push(hash(name.text));
        }
    }
    found
}

/// Names with a capital that are called, and are no usual conversions.
pub(super) fn made(tokens: Tokens<'_, '_>) -> Vec<u64> {
    const COMMON: [&str; 8] = ["Sprintf", "Sprint", "Error", "Errorf", "New", "String", "Len", "Join"];
    let pairs = tokens.windows(2).filter_map(|pair| match pair {
        [name, open] if open.text == "(" && name.sort == Sort::Word => Some(name.text),
        _ => None,
    });
    pairs.filter(|name| name.starts_with(char::is_uppercase) && !COMMON.contains(name)).map(hash).collect()
}

/// A name that is called, with what stands before its dot: nothing, a word, or what a call gave (`Lamp().dim()`).
pub(super) fn link(before: u64, name: &str) -> u64 {
    before.rotate_left(1) ^ hash(name)
}

/// What a call of this name gave.
pub(super) fn given_by(name: &str) -> u64 {
    hash(&format!(".{name}"))
}

/// What is called, each as a [`link`], and the first words of what stands before the dots.
pub(super) fn links(tokens: Tokens<'_, '_>) -> (Vec<u64>, Vec<u64>) {
    let (mut found, mut roots) = (Vec::new(), Vec::new());
    // For each bracket that is closed, the word before it was opened.
    let (mut open, mut calls): (Vec<&str>, Vec<(usize, &str)>) = (Vec::new(), Vec::new());
    for (at, token) in tokens.iter().enumerate() {
        let back = |by: usize| at.checked_sub(by).and_then(|at| tokens.get(at));
        if opens(token) {
            open.push(back(1).filter(|word| word.sort == Sort::Word).map_or("", |word| word.text));
        } else if closes(token) {
            calls.push((at, open.pop().unwrap_or("")));
        }
        let opened = tokens.get(at + 1).is_some_and(|next| next.text == "(" && next.sort == Sort::Mark);
        if token.sort != Sort::Word || !opened {
            continue;
        }
        let dotted = back(1).is_some_and(|dot| matches!(dot.text, "." | "::" | "?."));
        let before = match back(2).filter(|_| dotted) {
            None => hash(""),
            Some(word) if word.sort == Sort::Word => {
                if !back(3).is_some_and(|dot| matches!(dot.text, "." | "::" | "?.")) {
                    roots.push(hash(word.text));
                }
                hash(word.text)
            }
            Some(_) => {
                calls.last().filter(|(end, _)| at.checked_sub(2) == Some(*end)).map_or(0, |(_, name)| given_by(name))
            }
        };
        found.push(link(before, token.text));
    }
    (found, roots)
}

/// Words that match whatever comes.
pub(super) fn wildcards(tokens: Tokens<'_, '_>) -> usize {
    let one = |at: usize, token: &Token<'_>| {
        token.sort == Sort::Word
            && (matches!(token.text, "ANY" | "anything" | "Anything" | "AnythingOfType")
                || token.text == "any" && at > 1 && tokens.get(at - 2).is_some_and(|before| before.text == "expect"))
    };
    tokens.iter().enumerate().filter(|(at, token)| one(*at, token)).count()
}

pub(super) fn number(tokens: Tokens<'_, '_>) -> Option<f64> {
    let text: String = tokens.iter().map(|token| token.text).collect::<String>().replace('_', "");
    let text = text.trim_end_matches("f64").trim_end_matches("f32");
    let value = match text.to_ascii_lowercase().replace("**", "^").split_once("^") {
        Some((base, power)) => {
            let power = power.trim_matches(['(', ')']).parse::<f64>().ok()?;
            base.parse::<f64>().ok()?.powf(power)
        }
        None => text.parse::<f64>().ok()?,
    };
    value.is_finite().then_some(value)
}

/// The arguments in the first brackets after this place.
pub(super) fn arguments<'a, 't>(tokens: Tokens<'a, 't>, name: usize) -> Vec<Tokens<'a, 't>> {
    let Some(inner) = tokens.get(name + 2..) else { return Vec::new() };
    let mut depth = 1_usize;
    for (at, token) in inner.iter().enumerate() {
        if opens(token) {
            depth += 1;
        } else if closes(token) {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                let inner = inner.get(..at).unwrap_or_default();
                return if inner.is_empty() { Vec::new() } else { split(inner, &[","]) };
            }
        }
    }
    split(inner, &[","])
}

/// What a keyword argument is given.
pub(super) fn keyword<'a, 't>(arguments: &[Tokens<'a, 't>], name: &str) -> Option<Tokens<'a, 't>> {
    arguments.iter().find_map(|argument| match argument {
        [key, sign, value @ ..] if key.text == name && matches!(sign.text, "=" | ":") => Some(value),
        _ => None,
    })
}

/// A call that gives a bool: the name's place and what it is called on.
pub(super) fn predicate<'a, 't>(tokens: Tokens<'a, 't>) -> Option<(&'t str, Tokens<'a, 't>, Vec<Tokens<'a, 't>>)> {
    if tokens.last().is_none_or(|last| last.text != ")") {
        return None;
    }
    let mut depth = 0_usize;
    let mut open = None;
    for (at, token) in tokens.iter().enumerate().rev() {
        if closes(token) {
            depth += 1;
        } else if opens(token) {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                open = Some(at);
                break;
            }
        }
    }
    let name = open?.checked_sub(1)?;
    let word = tokens.get(name).filter(|token| token.sort == Sort::Word || token.text == "!")?;
    // A macro's name stands before its sign.
    let (name, word) = if word.text == "!" { (name - 1, tokens.get(name.checked_sub(1)?)?) } else { (name, word) };
    let on = name.checked_sub(1).filter(|dot| tokens.get(*dot).is_some_and(|dot| dot.text == "." || dot.text == "?."));
    let on = on.and_then(|dot| tokens.get(..dot)).unwrap_or_default();
    let place = open?.checked_sub(1)?;
    Some((word.text, on, arguments(tokens, place)))
}
