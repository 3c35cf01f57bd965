//! Whether an interface has a typed shape.

use super::super::paper::{Code, Piece};
use super::super::paper::{later, text};
use super::super::papers::{DESIGN, Desk, Found, excerpt};
use super::said;

pub(super) fn untyped(desk: &Desk<'_>) -> Vec<Found> {
    let Some(part) = desk.design.as_ref().and_then(|paper| said(paper, "Interfaces")) else { return Vec::new() };
    let (typed, bare): (Vec<Piece>, Vec<Piece>) = part.described().into_iter().partition(is_typed);
    // Beside interfaces there may be what is said about all of them: some words of its own, or a paragraph.
    let shown = !typed.is_empty() || part.all_code().iter().any(says_something);
    let bare = bare.into_iter().filter(|item| !shown || !part.is_prose() && !is_about_all(item));
    bare.map(|item| {
        Found::at(DESIGN, item.line, format!("The interface “{}” has no typed shape.", excerpt(&item.text)))
    })
    .collect()
}

/// `Error handling`, `Module boundaries`, `Exit codes: 0 ok, 1 error`
fn is_about_all(item: &Piece) -> bool {
    #[rustfmt::skip]
    const ABOUT: &[&str] = &[
        "authentication", "boundaries", "conventions", "error", "errors", "exit", "module", "naming", "notes", "overview",
        "versioning",
    ];
    let first = item.text.lines().next().unwrap_or_default();
    let name = first.split([':', '.', '—', '–']).next().unwrap_or(first);
    let words = text::words(name);
    (1..=3).contains(&words.len()) && words.iter().any(|word| ABOUT.contains(&word.as_str()))
}

fn says_something(code: &Code) -> bool {
    code.lines.iter().any(|line| text::says_something(&line.text, &[]))
}

/// Columns in which a type stands.
#[rustfmt::skip]
const SIDES: &[&str] = &[
    "accepts", "answer", "answers", "args", "argument", "arguments", "body", "fields", "gives", "in", "input", "inputs", "out",
    "output", "outputs", "parameter", "parameters", "params", "payload", "receives", "reply", "request", "response", "result",
    "return", "returns", "schema", "sends", "shape", "signature", "takes", "yields",
];

/// `Url, Limits`, `Result<Vec<Link>, Error>`, `Exhibit[]`, `string`: no sentence, and at least one type in it.
fn is_type(text: &str) -> bool {
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect();
    let typed = |word: &&str| {
        TYPES.contains(&word.to_lowercase().as_str())
            || word.starts_with(char::is_uppercase) && word.chars().skip(1).any(char::is_lowercase)
    };
    let prose = words.len() > 4 && !text.contains([',', '<', '[', '{', '|']);
    !prose && words.iter().any(typed) && !is_placeholder(text) && !text::is_none(text)
}

fn is_typed(item: &Piece) -> bool {
    let column = item.headers.iter().any(|header| text::words(header).iter().any(|word| word == "type"));
    let cell = item.cells.iter().any(|cell| {
        let header = text::words(&cell.header);
        header.iter().any(|word| matches!(word.as_str(), "type" | "types")) && text::says_something(&cell.text, &[])
            || header.iter().any(|word| SIDES.contains(&word.as_str())) && is_type(&cell.text)
    });
    let written = item.code.iter().any(says_something);
    written
        || column
        || cell
        || item.spans.iter().any(|span| is_shape(span, true) || declares(span) || is_usage(span))
        || item.text.lines().any(|line| is_shape(line, false))
        || request(&item.text)
}

#[rustfmt::skip]
const TYPES: &[&str] = &[
    "any", "array", "blob", "bool", "boolean", "byte", "bytes", "char", "date", "datetime", "decimal", "dict",
    "double", "email", "enum", "f32", "f64", "float", "hex", "i16", "i32", "i64", "i8", "int", "integer",
    "iso8601", "json", "list", "long", "map", "null", "number", "object", "option", "optional", "path",
    "record", "result", "set", "str", "string", "struct", "text", "timestamp", "tuple", "u16", "u32", "u64",
    "u8", "uint", "unit", "url", "usize", "uuid", "vec", "void",
];

const METHODS: &[&str] = &["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

fn is_shape(text: &str, code: bool) -> bool {
    called(text) || returns(text) || field(text, code) || request(text)
}

/// `type Change struct { Path string }`, `enum Side { Left, Right }`, `message Tick { … }`
fn declares(span: &str) -> bool {
    const KEYWORDS: &[&str] = &["class", "enum", "interface", "message", "record", "struct", "trait", "type", "union"];
    let words: Vec<&str> =
        span.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect();
    words.len() > 2
        && words.iter().take(3).any(|word| KEYWORDS.contains(word))
        && span.contains(['{', '=', '(', '<'])
        && !is_placeholder(span)
}

/// How a program is called: `todo-scan [PATH] --max-age <days>`
fn is_usage(span: &str) -> bool {
    let mut words = span.split_whitespace();
    let program = words.next().is_some_and(|word| word.starts_with(|c: char| c.is_alphanumeric() || c == '.'));
    let slot = |word: &str| {
        let inner = word.trim_matches(['[', ']', '<', '>', '-', '.', '|', '=']);
        let marked = word.starts_with(['[', '<']) || word.starts_with("--");
        marked && inner.contains(char::is_alphanumeric) && !is_placeholder(inner)
    };
    program && words.any(slot)
}

/// A placeholder in parentheses is no longer than so many characters.
const LONGEST: usize = 40;

/// `name(args)`; `item(s)` is a plural.
fn called(text: &str) -> bool {
    let Some(last) = text.rfind(')') else { return false };
    text[..last].match_indices('(').any(|(at, _)| {
        let named = text[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '>');
        let inside = &text[at + 1..];
        let begin: String = inside.chars().take(LONGEST).collect();
        let bare = begin.split_once(')').is_some_and(|(inside, _)| is_placeholder(inside));
        let mark = text[..at].rsplit(|c: char| !c.is_alphanumeric()).next().is_some_and(later::is_marked);
        named && !mark && !bare && !inside.starts_with("s)") && !inside.starts_with("es)")
    })
}

/// `-> type`, and of a request also `→ type`
fn returns(text: &str) -> bool {
    let asked = METHODS.iter().any(|method| text.split(|c: char| !c.is_alphanumeric()).any(|word| word == *method));
    let text = if asked { text.replace('→', "->") } else { text.to_owned() };
    text.split("->").skip(1).any(|rest| {
        let typed = rest.trim_start().starts_with(|c: char| c.is_alphanumeric() || matches!(c, '(' | '[' | '{'));
        typed && !is_placeholder(rest)
    })
}

/// `TBD`, where a type should stand.
fn is_placeholder(text: &str) -> bool {
    text::holds_place::<String>(&text::words(text), &[])
}

/// `name: type`; in code any word is a type, elsewhere one that is known or has a capital, and stands alone.
fn field(text: &str, code: bool) -> bool {
    text.match_indices(':').any(|(at, _)| {
        let of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '?') || code && c == '"';
        let named = text[..at].chars().next_back().is_some_and(of_name);
        let rest = text[at + 1..].trim_start();
        // `&Path`, `*const u8`, `[]string`, `(int, int)`
        let rest =
            if code { rest.trim_start_matches(['&', '*', '[', ']', '(', '{', '<', '?', '"', '\'']) } else { rest };
        let word: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let after = rest[word.len()..].trim_start();
        let alone = after.is_empty() || after.starts_with([',', ';', ')', '}', ']', '?', '|', '=']);
        let generic = !word.is_empty() && rest[word.len()..].starts_with(['<', '[']);
        let known = TYPES.contains(&word.to_lowercase().as_str()) || word.starts_with(char::is_uppercase);
        // `None` is a type in code only.
        let nothing = is_placeholder(&word) || !code && text::is_none(&word);
        named
            && !nothing
            && !rest.starts_with('/')
            && (generic || known && alone || code && word.chars().any(char::is_alphabetic))
    })
}

/// An HTTP method with a path, and a body or a status.
fn request(text: &str) -> bool {
    let mut words = text.split(|c: char| c.is_whitespace() || c == '`').filter(|word| !word.is_empty());
    let Some(_) = words.find(|word| METHODS.contains(word)) else { return false };
    if !words.next().is_some_and(|path| path.starts_with('/')) {
        return false;
    }
    words.any(|word| {
        let bare: String = word.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase();
        let status = bare.len() == 3
            && bare.starts_with(|c: char| ('1'..='5').contains(&c))
            && bare.bytes().all(|b| b.is_ascii_digit());
        status || matches!(bare.as_str(), "body" | "status" | "json") || word.starts_with('{')
    })
}

#[cfg(test)]
mod tests {
    use super::{declares, is_shape, is_usage};

    #[test]
    fn shapes() {
        for text in [
            "dim(level)",
            "dim(level: int) -> int",
            "level: integer",
            "items: Vec<u8>",
            "returns -> Level",
            "GET /levels answers 200",
            "GET /levels → Levels",
            "`POST /levels` with a body",
            "tags: string[]",
        ] {
            assert!(is_shape(text, false), "{text}");
        }
        for text in [
            "login: returns a token",
            "the item(s) are listed",
            "GET /levels",
            "see https://x.y",
            "a plain sentence",
            "Levels (all of them)",
            "Tide API: TBD",
            "Tide API: TODO",
            "Tide API: None",
            "Tide API: Later",
            "tides -> TBD",
            "tides(TBD)",
        ] {
            assert!(!is_shape(text, false), "{text}");
        }
        for text in
            ["level: Level", "path: &Path", "--font-text: <family-name>#", "names: []string", r#"{ "t": int64 }"#]
        {
            assert!(is_shape(text, true), "{text}");
        }
        for text in ["type Change struct { Path string; Kind Kind }", "enum Side { Left, Right }"] {
            assert!(declares(text), "{text}");
        }
        for text in ["todo-scan [PATH] [--max-age <u32 days>]", "subset.sh <in.ttf> <out.woff2>"] {
            assert!(is_usage(text), "{text}");
        }
        for text in ["the type of it", "enum TBD", "type", "make all", "tool <TBD>", "a - b"] {
            assert!(!declares(text) && !is_usage(text), "{text}");
        }
        assert!(is_shape("dim(level) -> None", true));
        assert!(!is_shape("auth: TBD", true));
    }
}
