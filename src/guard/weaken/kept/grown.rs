//! Whether an item is what it was, with more in it that can't change what it says: rows of a table, and checks.

use super::super::names_cases;
use super::super::tree::Tree;
use super::items::{is_leaf, leaf, says};
use crate::guard::parse::Language;

/// So many nodes are held against each other for an item. Beyond that it was edited.
const MOST_STEPS: usize = 500_000;
/// No item is read more deeply than this.
const DEEPEST: usize = 150;
/// So many nodes above a list say what it is a list of.
const HIGHEST: usize = 6;

pub(super) struct Grown<'a, 't> {
    language: Language,
    old: &'a Tree<'t>,
    new: &'a Tree<'t>,
    steps: usize,
}

impl<'a, 't> Grown<'a, 't> {
    pub(super) fn new(language: Language, old: &'a Tree<'t>, new: &'a Tree<'t>) -> Self {
        Self { language, old, new, steps: 0 }
    }

    /// Whether these nodes are those, with nothing but additions.
    pub(super) fn is(mut self, before: &[usize], now: &[usize]) -> bool {
        before.len() == now.len() && before.iter().zip(now).all(|(before, now)| self.holds(*before, *now, 0))
    }

    fn holds(&mut self, before: usize, now: usize, depth: usize) -> bool {
        self.steps += 1;
        let (old, new) = (self.old, self.new);
        if old.kind(before) != new.kind(now) || self.steps > MOST_STEPS || depth > DEEPEST {
            return false;
        }
        if is_leaf(old, before) || is_leaf(new, now) {
            return is_leaf(old, before) && is_leaf(new, now) && leaf(old, before) == leaf(new, now);
        }
        let language = self.language;
        let mut rest = new.children(now).filter(|child| says(language, new, *child, false));
        let was: Vec<usize> = old.children(before).filter(|child| says(language, old, *child, false)).collect();
        for child in was {
            loop {
                let Some(next) = rest.next() else { return false };
                if self.holds(child, next, depth + 1) {
                    break;
                }
                if !self.is_free(now, next) {
                    return false;
                }
            }
        }
        rest.all(|next| self.is_free(now, next))
    }

    /// Whether this may be new where it stands.
    fn is_free(&self, holder: usize, child: usize) -> bool {
        self.is_row(holder, child) || self.is_check(holder, child)
    }

    /// A row of a list of cases: one of several parts, in a list that is gone through and not compared.
    fn is_row(&self, list: usize, row: usize) -> bool {
        let tree = self.new;
        let lists = ["list", "tuple", "array", "array_expression", "literal_value"];
        let row = match tree.kind(row) {
            "literal_element" | "keyed_element" => tree.parts(row).last().unwrap_or(row),
            _ => row,
        };
        let row = if tree.kind(row) == "literal_element" { tree.parts(row).next().unwrap_or(row) } else { row };
        let several = match tree.kind(row) {
            "tuple" | "list" | "dictionary" | "array" | "object" | "tuple_expression" | "array_expression"
            | "literal_value" | "composite_literal" | "struct_expression" => tree.parts(row).count() > 1,
            "call" => tree.words(row).starts_with("pytest.param") || tree.words(row).starts_with("param("),
            _ => false,
        };
        several && lists.contains(&tree.kind(list)) && self.is_gone_through(list)
    }

    fn is_gone_through(&self, list: usize) -> bool {
        let tree = self.new;
        let mut at = list;
        for _ in 0..HIGHEST {
            let Some(up) = tree.up(at) else { return false };
            let words = |field: &str| tree.field(up, field).map(|node| tree.words(node)).unwrap_or_default();
            match tree.kind(up) {
                "decorator" => return true,
                "for_statement" | "for_in_statement" => return tree.field(up, "right") == Some(at),
                "for_expression" => return tree.field(up, "value") == Some(at),
                "range_clause" => return true,
                "call_expression" | "call" => {
                    let callee = words("function");
                    if callee.ends_with(".each") {
                        return true;
                    }
                    if !callee.ends_with("parametrize") {
                        return false;
                    }
                }
                "assignment" | "short_var_declaration" => return names_cases(words("left")),
                "variable_declarator" | "var_spec" | "const_item" | "static_item" => return names_cases(words("name")),
                "let_declaration" => return names_cases(words("pattern")),
                "argument_list"
                | "arguments"
                | "expression_list"
                | "composite_literal"
                | "reference_expression"
                | "parenthesized_expression"
                | "as_expression"
                | "satisfies_expression" => {}
                _ => return false,
            }
            at = up;
        }
        false
    }

    /// A check in the body of a test, where what fails before is no answer to anything.
    fn is_check(&self, block: usize, child: usize) -> bool {
        let tree = self.new;
        let words = || tree.tokens_within(child, 12);
        let starts = |name: &str| words().first().is_some_and(|token| token.text.starts_with(name));
        let up = |at: usize| tree.up(at).map(|up| (up, tree.kind(up)));
        let check = match self.language {
            Language::Python => {
                let asserts = || {
                    let all = words();
                    let name = all.iter().take_while(|token| token.text != "(").last().map(|token| token.text);
                    tree.kind(child) == "expression_statement" && name.is_some_and(|name| name.starts_with("assert"))
                };
                tree.kind(child) == "assert_statement" || asserts()
            }
            Language::Rust => {
                let invoked = tree.kind(child) == "macro_invocation"
                    || tree.parts(child).next().is_some_and(|inner| tree.kind(inner) == "macro_invocation");
                invoked && starts("assert")
            }
            Language::Go => self.fails(child) || starts("require") || starts("assert"),
            Language::JavaScript | Language::TypeScript | Language::Tsx => {
                let first = words().into_iter().find(|token| token.text != "await").map(|token| token.text);
                tree.kind(child) == "expression_statement"
                    && first.is_some_and(|name| name == "expect" || name.starts_with("assert"))
            }
        };
        let of_a_test = match (self.language, up(block)) {
            (Language::Python, Some((_, kind))) => kind == "function_definition",
            (Language::Rust, Some((_, kind))) => kind == "function_item",
            (Language::Go, Some((up, kind))) => match kind {
                // The statements of a block are a list of their own there.
                "block" => matches!(tree.kind_above(up), "function_declaration" | "func_literal"),
                kind => matches!(kind, "function_declaration" | "func_literal"),
            },
            (_, Some((function, _))) => {
                let call = tree.up(function).and_then(|arguments| tree.up(arguments));
                let callee = call.and_then(|call| tree.field(call, "function")).map(|callee| tree.words(callee));
                callee.is_some_and(|name| ["it", "test", "specify"].iter().any(|test| name.starts_with(test)))
            }
            (_, None) => false,
        };
        check && of_a_test
    }

    /// `if got != want { t.Errorf(…) }`
    fn fails(&self, at: usize) -> bool {
        let tree = self.new;
        let Some(body) = tree.field(at, "consequence").filter(|_| tree.kind(at) == "if_statement") else {
            return false;
        };
        let words: Vec<&str> = tree.tokens_within(body, 8).iter().map(|token| token.text).collect();
        let one = tree
            .parts(body)
            .flat_map(|list| if tree.kind(list) == "statement_list" { tree.parts(list).collect() } else { vec![list] });
        one.count() == 1
            && tree.field(at, "alternative").is_none()
            && matches!(words.as_slice(), ["{", _, ".", "Error" | "Errorf" | "Fatal" | "Fatalf", ..])
    }
}
