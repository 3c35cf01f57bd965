//! The shape of a text without its layout: what a formatter may turn is not in it, and what changes its meaning is.
//!
//! Parentheses, commas and ends of statements are in the parser's tree by how it nests; where they say more than that, as with
//! `(a?.b).c`, `(a.b)(c)` of Rust and `[,]`, they stay.

mod commas;
mod pages;

use super::super::tree::{Tree, is_comment, is_text};
use super::items::is_remark;
use super::words::{leaf, python, title};
use crate::guard::parse::Language;

/// So far is looked for a question in `a?.b.c.d`.
const LONGEST_CHAIN: usize = 200;

/// What a node says.
pub(super) enum Form {
    Said(String),
    Of(&'static str, Vec<Part>),
}

/// What a node is made of.
pub(super) enum Part {
    Node(usize),
    Said(String),
}

/// A text that is read for what it says.
#[derive(Clone, Copy)]
pub(super) struct Reading<'a, 't> {
    pub(super) language: Language,
    pub(super) tree: &'a Tree<'t>,
    /// Comments count.
    pub(super) remarks: bool,
}

impl Reading<'_, '_> {
    fn is_script(&self) -> bool {
        matches!(self.language, Language::JavaScript | Language::TypeScript | Language::Tsx)
    }

    /// What a node says; of one that [`Reading::says`] nothing, that is not asked.
    pub(super) fn form(&self, at: usize) -> Form {
        let at = self.inner(at);
        let (tree, kind) = (self.tree, self.tree.kind(at));
        if let Some(key) = self.key(at) {
            return Form::Said(key);
        }
        let filled = kind == "template_string" && tree.child_of_kind(at, "template_substitution").is_some();
        if filled && self.is_script() {
            return Form::Of(kind, pages::template(tree, at));
        }
        match (self.language, kind) {
            (Language::Python, "string" | "concatenated_string") => return Form::Of("string", python(tree, at)),
            // How a value is shown is no layout, to the last space.
            (Language::Python, "format_specifier") => return Form::Said(format!("={}", tree.words(at))),
            _ => {}
        }
        if is_text(kind) || tree.node(at).last <= at + 1 {
            return Form::Said(leaf(self.language, tree, at));
        }
        let kind = match kind {
            "expression_list" if self.language == Language::Python => "tuple",
            "pattern_list" => "tuple_pattern",
            kind => kind,
        };
        Form::Of(kind, self.parts(at))
    }

    /// The node that one stands for: what is in parentheses that only group.
    pub(super) fn inner(&self, at: usize) -> usize {
        let mut at = at;
        while let Some(inner) = self.wrapped(at) {
            at = inner;
        }
        at
    }

    fn wrapped(&self, at: usize) -> Option<usize> {
        let tree = self.tree;
        let kind = tree.kind(at);
        let only = || {
            let mut parts = tree.parts(at);
            parts.next().filter(|_| parts.next().is_none())
        };
        match (self.language, kind) {
            // `(a.b)(c)` calls what a field has, `a.b(c)` a method.
            (Language::Rust, "parenthesized_expression") => only().filter(|inner| tree.kind(*inner) == kind),
            (_, "parenthesized_expression") => {
                only().filter(|inner| !self.is_script() || !self.holds_together(at, *inner))
            }
            (Language::TypeScript | Language::Tsx, "parenthesized_type" | "union_type" | "intersection_type") => only(),
            (Language::Rust, "or_pattern") => only(),
            // What leaves a block ends a statement either way; what is a block itself needs no end.
            (Language::Rust, "expression_statement") => {
                let leaves = ["return_expression", "break_expression", "continue_expression"];
                let open = tree.child_of_kind(at, ";").is_none();
                only().filter(|inner| open || leaves.contains(&tree.kind(*inner)))
            }
            // `x => { f(x) }`
            (Language::Rust, "block") => {
                let body = matches!(tree.kind_above(at), "match_arm" | "last_match_arm" | "closure_expression");
                let ends = ["expression", "literal", "identifier", "invocation", "self"];
                let gives = |inner: &usize| match tree.kind(*inner) {
                    "expression_statement" => tree.child_of_kind(*inner, ";").is_none(),
                    kind => ends.iter().any(|end| kind.ends_with(end)),
                };
                only().filter(|inner| body && gives(inner))
            }
            // `for (x) in y`
            (Language::Python, "tuple_pattern") => only().filter(|_| tree.child_of_kind(at, ",").is_none()),
            // `x => x` and `(x) => x`.
            (_, "formal_parameters") if self.is_script() && tree.kind_above(at) == "arrow_function" => {
                let one = only()?;
                match tree.kind(one) {
                    "identifier" => Some(one),
                    "required_parameter" if tree.node(one).last == one + 2 && tree.kind(one + 1) == "identifier" => {
                        Some(one + 1)
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Whether parentheses of JavaScript say more than what belongs to what: they end a chain that may end early, or keep a text
    /// from being a directive.
    fn holds_together(&self, at: usize, inner: usize) -> bool {
        const CHAINS: [&str; 4] =
            ["member_expression", "subscript_expression", "call_expression", "non_null_expression"];
        let tree = self.tree;
        let above = tree.kind_above(at);
        if is_text(tree.kind(inner)) {
            return above == "expression_statement";
        }
        let goes_on = matches!(tree.node(at).field, "object" | "function") || above == "non_null_expression";
        if !goes_on || !CHAINS.contains(&above) {
            return false;
        }
        let mut link = inner;
        for _ in 0..LONGEST_CHAIN {
            if !CHAINS.contains(&tree.kind(link)) && tree.kind(link) != "parenthesized_expression" {
                return false;
            }
            if tree.children(link).any(|child| matches!(tree.kind(child), "optional_chain" | "?.")) {
                return true;
            }
            let Some(next) = tree.parts(link).next() else { return false };
            link = next;
        }
        true
    }

    /// A name of a field: in quotes or without them it is the same one.
    fn key(&self, at: usize) -> Option<String> {
        const HOLDERS: [&str; 10] = [
            "pair",
            "pair_pattern",
            "method_definition",
            "field_definition",
            "public_field_definition",
            "property_signature",
            "method_signature",
            "abstract_method_signature",
            "enum_assignment",
            "enum_body",
        ];
        let tree = self.tree;
        let is_key = self.is_script()
            && matches!(tree.node(at).field, "key" | "name" | "property")
            && HOLDERS.contains(&tree.kind_above(at));
        match tree.kind(at) {
            "string" if is_key => title(self.language, tree, at).map(|text| format!("key={text}")),
            "property_identifier" if is_key => Some(format!("key={}", tree.words(at))),
            "number" if is_key => {
                let words = tree.words(at);
                let plain = words.len() < 16 && words.bytes().all(|byte| byte.is_ascii_digit());
                (plain && (words == "0" || !words.starts_with('0'))).then(|| format!("key={words}"))
            }
            _ => None,
        }
    }

    /// What says something of what a node is made of.
    pub(super) fn parts(&self, at: usize) -> Vec<Part> {
        let tree = self.tree;
        if self.is_script() {
            match tree.kind(at) {
                "jsx_element" => return pages::element(self, at),
                "binary_expression" => {
                    if let Some(sign) = self.joins(at) {
                        return self.joined(at, sign);
                    }
                }
                _ => {}
            }
        }
        let (mut parts, mut from) = (Vec::new(), tree.node(at).start);
        for child in tree.children(at) {
            // Words that are no node are words all the same.
            let between = tree.text.get(from..tree.node(child).start).unwrap_or("").trim();
            if !between.is_empty() {
                parts.push(Part::Said(format!("~{between}")));
            }
            from = tree.node(child).end.max(from);
            if self.says(child) {
                parts.push(Part::Node(child));
            }
        }
        let behind = tree.text.get(from..tree.node(at).end).unwrap_or("").trim();
        parts.extend((!behind.is_empty()).then(|| Part::Said(format!("~{behind}"))));
        parts
    }

    /// The sign between two that it does not matter how they are grouped by, as long as it is one sign: `a && (b && c)`.
    fn joins(&self, at: usize) -> Option<&'static str> {
        let sign = self.tree.field(at, "operator").map(|sign| self.tree.kind(sign))?;
        matches!(sign, "&&" | "||" | "??").then_some(sign)
    }

    fn joined(&self, at: usize, sign: &'static str) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut open = vec![at];
        while let Some(next) = open.pop() {
            let next = self.inner(next);
            if self.tree.kind(next) == "binary_expression" && self.joins(next) == Some(sign) {
                let before = open.len();
                open.extend(self.tree.parts(next));
                if let Some(operands) = open.get_mut(before..) {
                    operands.reverse();
                }
            } else {
                parts.push(Part::Node(next));
            }
        }
        parts.push(Part::Said(sign.to_owned()));
        parts
    }

    /// Whether a node is more than layout.
    pub(super) fn says(&self, at: usize) -> bool {
        let tree = self.tree;
        let (kind, above) = (tree.kind(at), tree.kind_above(at));
        match kind {
            kind if is_comment(kind) => self.remarks,
            "expression_statement" => !is_remark(tree, at),
            "," => !commas::is_layout(self.language, tree, at),
            ";" if above == "macro_definition" => false,
            ";" | "\n" | "\0" => self.parts_by_it(kind, above),
            "empty_statement" => !matches!(
                above,
                "program"
                    | "statement_block"
                    | "switch_case"
                    | "switch_default"
                    | "block"
                    | "source_file"
                    | "declaration_list"
            ),
            "|" | "&" if matches!(above, "union_type" | "intersection_type" | "or_pattern") => {
                tree.up(at).is_none_or(|up| up + 1 != at)
            }
            "(" | ")" if self.language == Language::Python => {
                !matches!(above, "tuple" | "tuple_pattern" | "with_clause" | "import_from_statement")
            }
            // What a macro of Rust makes stands in brackets of any kind, and its rules are told apart by them.
            "(" | ")" | "[" | "]" | "{" | "}" if above == "token_tree" => {
                tree.up(at).is_none_or(|up| tree.kind_above(up) != "macro_rule")
            }
            // `class Lamp():`, `new Lamp`
            "argument_list" | "arguments" if matches!(above, "class_definition" | "new_expression") => {
                tree.parts(at).next().is_some()
            }
            _ => true,
        }
    }

    /// Whether what ends a statement stands where a line's end would not do.
    fn parts_by_it(&self, kind: &str, above: &str) -> bool {
        match self.language {
            Language::Python => false,
            Language::Rust => true,
            Language::Go => {
                kind == ";"
                    && matches!(
                        above,
                        "for_clause" | "if_statement" | "expression_switch_statement" | "type_switch_statement"
                    )
            }
            _ => above == "for_statement",
        }
    }
}
