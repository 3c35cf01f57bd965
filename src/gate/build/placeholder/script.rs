//! Functions of JavaScript and TypeScript that have a name of their own: declared, assigned, a member of a class, exported.
//!
//! What is handed to somebody else (`catch(() => {})`, `onClick={() => {}}`, the default of a parameter) may well do nothing, and
//! so may what is only there until it is set: `let done = () => {}`.

use std::sync::LazyLock;

use regex::Regex;

use super::super::code::Block;
use super::has_word;
use super::named::{is_noop, is_stand_in, is_until_set};

/// Longer lists of parameters are not looked through.
const LONGEST_LIST: usize = 2_000;

/// Whether a block with nothing in it is the body of a function that has something to do.
pub(super) fn is_named(code: &str, block: &Block, parent: &str) -> bool {
    // More of them opened than closed: an argument, or the default of a parameter.
    if block.header.matches('(').count() > block.header.matches(')').count() {
        return false;
    }
    let Some(before) = code.get(..block.from - 1).map(str::trim_end) else { return false };
    let is_ours = |name: &str, is_value: bool| !(is_noop(name) || is_value && is_hook(name));
    let head = match before.strip_suffix("=>") {
        Some(arrow) => Head::Value(past_list(arrow.trim_end()).unwrap_or_else(|| past_word(arrow.trim_end()))),
        None => match past_list(before) {
            Some(list) => named_or_value(past_generics(list)),
            None => return false,
        },
    };
    match head {
        Head::Function(name) => is_ours(name, false),
        Head::Method(line, name) => {
            let is_member = has_word(parent, "class") && !super::owner(parent).is_some_and(is_stand_in);
            let of_object = is_export(parent) || is_exported_object(parent);
            let is_setter = line.split_whitespace().last() == Some("set");
            let is_asked_for = ["override", "abstract"].iter().any(|word| has_word(line, word));
            (is_member || of_object) && !is_setter && !is_asked_for && is_ours(name, !is_export(parent))
        }
        Head::Value(rest) => match assigned(past_generics(without_async(rest)), parent) {
            Some(Assigned::Default) => true,
            Some(Assigned::Constant(name)) => is_ours(name, false),
            Some(Assigned::Variable(name)) => is_ours(name, false) && !is_set_again(code, name, block),
            Some(Assigned::Member(_)) if super::owner(parent).is_some_and(is_stand_in) => false,
            Some(Assigned::Member(name)) => is_ours(name, true) && !is_set_again(code, &format!("this.{name}"), block),
            Some(Assigned::Path(path)) => {
                let name = path.rsplit('.').next().unwrap_or(path);
                is_ours(name, true) && is_own(code, path) && !is_set_again(code, path, block)
            }
            None => false,
        },
    }
}

/// A name that something calls when it happens, if anybody cares: `onChange`, `onerror`.
fn is_hook(name: &str) -> bool {
    const EVENTS: &[&str] =
        &["abort", "change", "click", "close", "end", "error", "load", "message", "open", "progress"];
    name.strip_prefix("on")
        .is_some_and(|what| what.starts_with(|c: char| c.is_ascii_uppercase()) || EVENTS.contains(&what))
}

/// What stands before a body.
enum Head<'t> {
    /// `function dim(…)`
    Function(&'t str),
    /// `dim(…)`, with what stands before it.
    Method(&'t str, &'t str),
    /// A function without a name, with all that stands before it.
    Value(&'t str),
}

/// By what a function without a name can be called.
enum Assigned<'t> {
    /// `export default`
    Default,
    Constant(&'t str),
    Variable(&'t str),
    Member(&'t str),
    /// `exports.dim`
    Path(&'t str),
}

fn named_or_value(rest: &str) -> Head<'_> {
    let begin = past_word(rest);
    let name = &rest[begin.len()..];
    let line = begin.rsplit(['\n', ';', '{', '}']).next().unwrap_or_default();
    let before = begin.trim_end().trim_end_matches('*').trim_end();
    if name == "function" || name.is_empty() && before.ends_with("function") {
        let word = if name.is_empty() { before.strip_suffix("function").unwrap_or(before) } else { begin };
        return Head::Value(word.trim_end());
    }
    if has_last_word(before, "function") {
        return Head::Function(name);
    }
    let none = ["constructor", "if", "for", "while", "switch", "catch", "with", ""];
    if none.contains(&name) { Head::Value("") } else { Head::Method(line, name) }
}

/// Before a list in parentheses, with the type that may stand behind it.
fn past_list(text: &str) -> Option<&str> {
    static TYPE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"^\s*:\s*[\w$.<>\[\]|&,'"\s]*[\w$>\]'"]$"#).ok());
    let from = (0..=300.min(text.len())).rev().map(|back| text.len() - back).find(|at| text.is_char_boundary(*at))?;
    let close = from + text[from..].rfind(')')?;
    let behind = &text[close + 1..];
    if !behind.is_empty() && !TYPE.as_ref().is_some_and(|pattern| pattern.is_match(behind)) {
        return None;
    }
    back_to(&text[..=close], b'(', b')')
}

/// Before the parenthesis that belongs to the last one.
fn back_to(text: &str, open: u8, close: u8) -> Option<&str> {
    let mut depth = 0_usize;
    for (back, byte) in text.bytes().rev().take(LONGEST_LIST).enumerate() {
        if byte == close {
            depth += 1;
        } else if byte == open {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return Some(text[..text.len() - back - 1].trim_end());
            }
        }
    }
    None
}

fn past_generics(text: &str) -> &str {
    if text.ends_with('>') && !text.ends_with("=>") { back_to(text, b'<', b'>').unwrap_or(text) } else { text }
}

/// Before the word at the end.
fn past_word(text: &str) -> &str {
    text.trim_end_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '#'))
}

fn has_last_word(text: &str, word: &str) -> bool {
    text.ends_with(word) && past_word(text).len() + word.len() == text.len()
}

fn without_async(text: &str) -> &str {
    let text = text.trim_end();
    if has_last_word(text, "async") { text[..text.len() - "async".len()].trim_end() } else { text }
}

fn is_export(header: &str) -> bool {
    header.ends_with("export default") || header.split_whitespace().collect::<String>().ends_with("module.exports=")
}

/// Whether a block is an object that is exported under a name of its own, and not only until somebody sets another.
fn is_exported_object(header: &str) -> bool {
    static OBJECT: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?:^|[;}\n])\s*export\s+const\s+([\w$]+)\s*(?::[^=;]*)?=$").ok());
    let found = OBJECT.as_ref().and_then(|object| object.captures(header));
    found.is_some_and(|found| !is_until_set(&found[1]))
}

/// What a function is assigned to.
fn assigned<'t>(before: &'t str, parent: &str) -> Option<Assigned<'t>> {
    static LEFT: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?:^|[;{}])\s*(?:export\s+)?((?:(?:public|private|protected|static|readonly|override|const|let|var)\s+)*)([\w$#.]+)\s*[?!]?\s*(?::[^;]*)?$")
            .ok()
    });
    if before.ends_with("export default") {
        return Some(Assigned::Default);
    }
    if let Some(key) = before.strip_suffix(':') {
        let name = &key[past_word(key.trim_end()).len()..];
        let of_object = is_export(parent) || is_exported_object(parent);
        return of_object.then_some(Assigned::Path(name.trim()));
    }
    let left = before.strip_suffix('=').filter(|left| !left.ends_with(['=', '!', '<', '>', '+', '|', '&', '?']))?;
    let line = left.rsplit('\n').next().unwrap_or_default();
    let found = LEFT.as_ref()?.captures(line)?;
    let (words, name) = (found.get(1)?.as_str(), found.get(2)?.as_str());
    if has_word(words, "override") {
        return None;
    }
    Some(match () {
        () if has_word(words, "const") => Assigned::Constant(name),
        () if has_word(words, "let") || has_word(words, "var") => Assigned::Variable(name),
        () if name.contains('.') => Assigned::Path(name),
        () if has_word(parent, "class") => Assigned::Member(name),
        () => return None,
    })
}

/// Whether what a path belongs to is this file's: `exports.dim`, `this.dim`, `Lamp.prototype.dim` below `class Lamp`.
fn is_own(code: &str, path: &str) -> bool {
    let Some((owner, _)) = path.split_once('.') else { return true };
    if matches!(owner, "exports" | "module" | "this") {
        return true;
    }
    let declared = |word: &str| {
        code.match_indices(&format!("{word} {owner}")).any(|(at, found)| {
            code[at + found.len()..].chars().next().is_none_or(|c| !(c.is_alphanumeric() || matches!(c, '_' | '$')))
        })
    };
    ["class", "function", "const", "let", "var"].iter().any(|word| declared(word))
}

/// Whether something is given to a name elsewhere in the file: what stood there before was only until then.
fn is_set_again(code: &str, name: &str, block: &Block) -> bool {
    code.match_indices(name).filter(|(at, _)| !(block.begins..block.from).contains(at)).any(|(at, found)| {
        let goes_on = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.');
        let rest = code[at + found.len()..].trim_start();
        let is_whole = !code[..at].chars().next_back().is_some_and(goes_on);
        is_whole && rest.starts_with('=') && !rest.starts_with("==") && !rest.starts_with("=>")
    })
}
