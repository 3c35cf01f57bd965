//! Commas behind which a list ends: where they say nothing, and where one makes a tuple, a hole or another call of a macro.

use super::super::super::tree::{Tree, is_comment};
use crate::guard::parse::Language;

/// Macros of Rust for which a last comma is none.
const PLAIN: [&str; 24] = [
    "assert",
    "assert_eq",
    "assert_ne",
    "concat",
    "dbg",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "eprint",
    "eprintln",
    "format",
    "format_args",
    "join",
    "matches",
    "panic",
    "print",
    "println",
    "todo",
    "try_join",
    "unimplemented",
    "unreachable",
    "vec",
    "write",
    "writeln",
];

/// So deep is looked for the macro around a list.
const DEEPEST: usize = 100;

/// Whether a comma is layout.
pub(super) fn is_layout(language: Language, tree: &Tree<'_>, at: usize) -> bool {
    let Some(up) = tree.up(at) else { return false };
    let above = tree.kind(up);
    let is_script = matches!(language, Language::JavaScript | Language::TypeScript | Language::Tsx);
    if matches!(above, "object_type" | "interface_body") {
        return true;
    }
    let mut next = at + 1;
    while next < tree.node(up).last && is_comment(tree.kind(next)) {
        next = tree.node(next).last.max(next + 1);
    }
    let ends = if next < tree.node(up).last {
        match tree.kind(next) {
            ")" | "]" | "}" => true,
            ">" => matches!(above, "type_parameters" | "type_arguments"),
            "|" => above == "closure_parameters",
            _ => false,
        }
    } else {
        // Nothing closes it, and so nothing follows.
        matches!(above, "expression_list" | "pattern_list" | "where_clause" | "match_arm" | "last_match_arm")
    };
    if !ends {
        return false;
    }
    match above {
        "token_tree" => is_plain(tree, up),
        // `[,]` has a hole.
        _ if is_script => before(tree, at).is_some_and(|before| tree.node(before).named),
        // `(1,)` is a tuple, and `(1)` is not.
        "tuple" | "tuple_pattern" | "tuple_expression" | "tuple_type" | "expression_list" | "pattern_list" => {
            tree.parts(up).count() > 1
        }
        // The first is what is asked.
        "subscript" => tree.parts(up).count() > 2,
        _ => true,
    }
}

/// The node before one beside it that is no comment.
fn before(tree: &Tree<'_>, at: usize) -> Option<usize> {
    let up = tree.up(at)?;
    let mut next = at;
    loop {
        next = next.checked_sub(1).filter(|next| *next > up)?;
        while tree.node(next).up != up {
            next = tree.node(next).up;
        }
        if !is_comment(tree.kind(next)) {
            return Some(next);
        }
    }
}

/// Whether a list among the words of a macro is one that a last comma makes no other: of a macro that is known, and there no tuple of one.
fn is_plain(tree: &Tree<'_>, list: usize) -> bool {
    let mut list = list;
    let mut first = true;
    for _ in 0..DEEPEST {
        let Some(up) = tree.up(list) else { return false };
        if tree.kind(up) == "macro_invocation" {
            return tree.field(up, "macro").is_some_and(|name| is_known(tree.words(name)));
        }
        if tree.kind(up) != "token_tree" {
            return false;
        }
        let ahead = before(tree, list);
        match ahead.map(|ahead| (ahead, tree.kind(ahead))) {
            Some((sign, "!")) => {
                return before(tree, sign).is_some_and(|name| is_known(tree.words(name)));
            }
            Some((_, "#")) => return false,
            Some((_, "identifier" | ">")) => {}
            _ if first && tree.words(list).starts_with('(') => {
                let commas = tree.children(list).filter(|child| tree.words(*child) == ",");
                if commas.count() < 2 {
                    return false;
                }
            }
            _ => {}
        }
        (list, first) = (up, false);
    }
    false
}

fn is_known(name: &str) -> bool {
    PLAIN.contains(&name.rsplit("::").next().unwrap_or(name))
}
