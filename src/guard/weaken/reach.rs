//! What is run whenever its function is, and what never is.

use super::constant::constant;
use super::tree::Tree;

/// What ends a function for good, and how far that reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// It gives back: nothing but what tidies up is run after it.
    Return,
    /// It is a failure of its own kind, which may be looked for around it.
    Skip,
}

/// The function in which a statement is run each time: in its body, or in blocks of it that are always run.
pub(super) fn certain(tree: &Tree<'_>, statement: usize, end: End) -> Option<usize> {
    const HIGHEST: usize = 64;
    let mut at = statement;
    for _ in 0..HIGHEST {
        let up = tree.up(at)?;
        let field = tree.node(at).field;
        match tree.kind(up) {
            "function_definition"
            | "function_declaration"
            | "method_declaration"
            | "method_definition"
            | "func_literal"
            | "function_item"
            | "arrow_function"
            | "function_expression"
            | "function"
            | "generator_function"
            | "generator_function_declaration"
            | "closure_expression" => {
                return (field == "body").then_some(up);
            }
            "block"
            | "statement_block"
            | "statement_list"
            | "expression_statement"
            | "else_clause"
            | "unsafe_block"
            | "finally_clause" => {}
            "if_statement" | "if_expression" => {
                let holds = tree.field(up, "condition").and_then(|what| constant(&tree.tokens_within(what, 100)));
                let run = match field {
                    "consequence" => holds == Some(true),
                    "alternative" => holds == Some(false),
                    _ => false,
                };
                // What stands before the condition in Go may decide nothing.
                run.then_some(())?;
            }
            "with_statement" => {
                let clause = tree.child_of_kind(up, "with_clause").map_or("", |clause| tree.words(clause));
                let looks = ["raises", "Raises", "suppress", "subTest", "warns"];
                (end == End::Return || !looks.iter().any(|word| clause.contains(word))).then_some(())?;
            }
            "try_statement" => {
                let caught = tree.field(up, "handler").is_some() || tree.child_of_kind(up, "except_clause").is_some();
                (field == "body" && (end == End::Return || !caught) || tree.kind(at) == "finally_clause")
                    .then_some(())?;
            }
            _ => return None,
        }
        at = up;
    }
    None
}
