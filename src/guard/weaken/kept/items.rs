//! What a file of tests is made of: its imports, its functions and tests, the names that it gives, each by itself.

use super::super::model::shown;
use super::super::tree::{Tree, is_text};
use super::form::{Form, Part, Reading};
use super::words;
use crate::guard::parse::Language;
use crate::ids::Digest;

/// What an item is to those beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Sort {
    Import,
    /// It gives a meaning to names.
    Named,
    /// It is run by whoever runs the tests, and gives no name a meaning.
    Test,
    /// It adds to a type.
    Onto,
    /// It is run wherever the file is.
    Other,
}

/// An item of a file; of one that holds others, what is not in those.
#[derive(Debug, Clone)]
pub(in super::super) struct Item {
    /// Its nodes: first what marks it, then itself.
    pub(in super::super) nodes: Vec<usize>,
    /// What it holds, each by itself.
    pub(in super::super) body: Option<usize>,
    /// The groups around it, and what the nearest is; nothing where there is none.
    pub(in super::super) scope: String,
    pub(in super::super) within: &'static str,
    pub(in super::super) name: String,
    pub(in super::super) line: u32,
    pub(in super::super) sort: Sort,
    pub(in super::super) digest: Digest,
}

/// The items of a file, by their lines.
pub(in super::super) fn items(language: Language, tree: &Tree<'_>) -> Vec<Item> {
    let mut items = Vec::new();
    let plain = Reading { language, tree, remarks: false };
    let mut open: Vec<(usize, String, &'static str)> = vec![(0, String::new(), "")];
    while let Some((holder, scope, within)) = open.pop() {
        let mut marks = Vec::new();
        for part in tree.parts(holder).filter(|part| plain.says(*part)) {
            if matches!(tree.kind(part), "attribute_item" | "decorator") {
                marks.push(part);
                continue;
            }
            if is_list(tree, part) {
                open.push((part, scope.clone(), within));
                continue;
            }
            let mut nodes = std::mem::take(&mut marks);
            nodes.push(part);
            let body = body(tree, part);
            let name = name(language, tree, part);
            if let Some(body) = body {
                open.push((body, format!("{scope}{name}::"), holder_kind(tree, part)));
            }
            let line = tree.line(nodes.first().copied().unwrap_or(part));
            let reading = Reading { remarks: prints(language, &name), ..plain };
            let digest = Digest::of_parts(printed(&reading, &nodes, body));
            items.push(Item { nodes, body, within, scope: scope.clone(), sort: sort(tree, part), name, line, digest });
        }
    }
    items.sort_by_key(|item| item.line);
    items
}

/// What an example of Go prints is said in its comments.
pub(in super::super) fn prints(language: Language, name: &str) -> bool {
    language == Language::Go && name.starts_with("Example")
}

/// A string that stands alone is a comment, unless it has examples that are run, or parts that are.
pub(in super::super) fn is_remark(tree: &Tree<'_>, at: usize) -> bool {
    if tree.kind(at) != "expression_statement" {
        return false;
    }
    let mut parts = tree.parts(at);
    let runs = |at: usize| matches!(tree.kind(at), "interpolation" | "template_substitution");
    matches!((parts.next(), parts.next()), (Some(one), None) if is_text(tree.kind(one)))
        && !(at..tree.node(at).last).any(runs)
        && !tree.words(at).contains(">>>")
        && !tree.words(at).contains("use strict")
}

/// What kind of group an item is.
fn holder_kind(tree: &Tree<'_>, at: usize) -> &'static str {
    match tree.kind(at) {
        "decorated_definition" => "class_definition",
        kind => kind,
    }
}

/// What only holds other items, and says nothing of them.
fn is_list(tree: &Tree<'_>, at: usize) -> bool {
    match tree.kind(at) {
        "var_declaration" | "var_spec_list" | "type_declaration" | "import_declaration" | "import_spec_list" => true,
        // One without a value of its own has that of the one before it.
        "const_declaration" => {
            let is_plain = |spec: usize| tree.kind(spec) != "const_spec" || tree.field(spec, "value").is_some();
            tree.parts(at).all(is_plain) && !tree.tokens(at).iter().any(|token| token.text == "iota")
        }
        _ => false,
    }
}

/// What stands in it by itself: in a class, a module or a group of tests.
fn body(tree: &Tree<'_>, at: usize) -> Option<usize> {
    match tree.kind(at) {
        "decorated_definition" => tree.field(at, "definition").and_then(|inner| body(tree, inner)),
        "class_definition" | "class_declaration" | "mod_item" | "impl_item" => tree.field(at, "body"),
        "expression_statement" => {
            let call = called(tree, at)?;
            let callee = tree.field(call, "function")?;
            let words = tree.tokens_within(callee, 3);
            let is_group = |word: &str| GROUPS.contains(&word) || word == "describe";
            if !words.iter().any(|token| is_group(token.text)) || !makes_tests(tree, callee) {
                return None;
            }
            let last = tree.parts(tree.field(call, "arguments")?).last()?;
            tree.field(last, "body").filter(|body| tree.kind(*body) == "statement_block")
        }
        _ => None,
    }
}

const IMPORTS: [&str; 5] =
    ["import_statement", "import_from_statement", "future_import_statement", "use_declaration", "import_spec"];
const GROUPS: [&str; 5] = ["describe", "fdescribe", "xdescribe", "context", "suite"];
/// In which ways a test is one.
const WAYS: [&str; 15] = [
    "each",
    "for",
    "only",
    "skip",
    "todo",
    "fails",
    "failing",
    "concurrent",
    "sequential",
    "shuffle",
    "skipIf",
    "runIf",
    "describe",
    "step",
    "fixme",
];
const TESTS: [&str; 9] = ["it", "fit", "xit", "test", "xtest", "specify", "bench", "define", "scenario"];

/// The call that a statement is.
fn called(tree: &Tree<'_>, at: usize) -> Option<usize> {
    let inner = tree.parts(at).next()?;
    let inner = if tree.kind(inner) == "await_expression" { tree.parts(inner).next()? } else { inner };
    matches!(tree.kind(inner), "call_expression" | "call").then_some(inner)
}

/// The nodes that say to which names a meaning is given.
pub(in super::super) fn given(tree: &Tree<'_>, at: usize) -> Vec<usize> {
    match tree.kind(at) {
        "decorated_definition" => tree.field(at, "definition").map(|inner| given(tree, inner)).unwrap_or_default(),
        "export_statement" => tree.field(at, "declaration").map(|inner| given(tree, inner)).unwrap_or_default(),
        "lexical_declaration" | "variable_declaration" => {
            tree.parts(at).filter_map(|one| tree.field(one, "name")).collect()
        }
        "expression_statement" => {
            let assigned = tree.parts(at).next().filter(|inner| tree.kind(*inner) == "assignment");
            let left = assigned.and_then(|inner| tree.field(inner, "left"));
            let plain = |left: &usize| {
                tree.tokens(*left).iter().all(|token| !matches!(token.text, "." | "["))
                    && assigned
                        .and_then(|inner| tree.field(inner, "right"))
                        .is_none_or(|right| tree.kind(right) != "assignment")
            };
            left.filter(plain).into_iter().collect()
        }
        kind if IMPORTS.contains(&kind) => Vec::new(),
        "impl_item" | "method_declaration" | "macro_invocation" => Vec::new(),
        _ => tree.field(at, "name").into_iter().collect(),
    }
}

fn sort(tree: &Tree<'_>, at: usize) -> Sort {
    match tree.kind(at) {
        kind if IMPORTS.contains(&kind) => Sort::Import,
        "impl_item" | "method_declaration" => Sort::Onto,
        "macro_invocation" | "package_clause" => Sort::Test,
        "expression_statement" => {
            let callee = called(tree, at).and_then(|call| tree.field(call, "function"));
            if callee.is_some_and(|callee| makes_tests(tree, callee)) && hands_over(tree, at) {
                Sort::Test
            } else if !given(tree, at).is_empty() {
                Sort::Named
            } else if tree.parts(at).next().is_some_and(|inner| tree.kind(inner) == "macro_invocation") {
                // A macro of Rust that makes tests.
                Sort::Test
            } else {
                Sort::Other
            }
        }
        _ if !given(tree, at).is_empty() => Sort::Named,
        _ => Sort::Other,
    }
}

/// Whether a call is handed a function: `test.skip(true, "later")` is none that makes a test.
fn hands_over(tree: &Tree<'_>, at: usize) -> bool {
    let arguments = called(tree, at).and_then(|call| tree.field(call, "arguments"));
    let mut parts = arguments.into_iter().flat_map(|all| tree.parts(all));
    parts.any(|part| {
        matches!(tree.kind(part), "arrow_function" | "function_expression" | "identifier" | "call_expression")
    })
}

/// The type that something is added to.
pub(in super::super) fn onto(tree: &Tree<'_>, at: usize) -> Option<usize> {
    match tree.kind(at) {
        "impl_item" => tree.field(at, "type"),
        "method_declaration" => tree.field(at, "receiver").and_then(|receiver| {
            let one = tree.parts(receiver).next()?;
            tree.field(one, "type")
        }),
        _ => None,
    }
}

/// `it`, `test.each([…])`, `describe.only`; but not `test.beforeEach` and `test.use`, which are run around others.
fn makes_tests(tree: &Tree<'_>, callee: usize) -> bool {
    let words: Vec<&str> = tree.tokens_within(callee, 20).iter().map(|token| token.text).collect();
    let [first, rest @ ..] = words.as_slice() else { return false };
    let mut ways = rest.iter().take_while(|word| **word != "(" && !word.contains('\n')).filter(|word| **word != ".");
    (GROUPS.contains(first) || TESTS.contains(first)) && ways.all(|way| WAYS.contains(way))
}

/// What it is called; where it has no name, its first words.
fn name(language: Language, tree: &Tree<'_>, at: usize) -> String {
    if let Some(call) = called(tree, at).filter(|_| tree.kind(at) == "expression_statement") {
        let title = tree.field(call, "arguments").and_then(|all| tree.parts(all).next());
        let title = title.and_then(|title| words::title(language, tree, title));
        if let Some(title) = title.filter(|_| sort(tree, at) == Sort::Test) {
            return title;
        }
    }
    let of = |node: usize| shown(&tree.tokens_within(node, 20));
    if tree.kind(at) == "method_declaration" {
        let receiver = tree.field(at, "receiver").map(of).unwrap_or_default();
        return format!("{receiver} {}", tree.field(at, "name").map(of).unwrap_or_default());
    }
    match given(tree, at)[..] {
        [] => of(at),
        ref names => names.iter().map(|name| of(*name)).collect::<Vec<_>>().join(", "),
    }
}

/// What nodes say, whatever their layout is: kinds and words in their order. One that stands by itself is left out.
fn printed(reading: &Reading<'_, '_>, nodes: &[usize], without: Option<usize>) -> Vec<String> {
    enum Step {
        Part(Part),
        End,
    }
    let mut out = Vec::new();
    // As deep as the text nests, without recursion.
    let mut open: Vec<Step> = nodes.iter().rev().map(|node| Step::Part(Part::Node(*node))).collect();
    while let Some(step) = open.pop() {
        match step {
            Step::End => out.push(")".to_owned()),
            Step::Part(Part::Said(words)) => out.push(words),
            Step::Part(Part::Node(at)) if Some(at) == without => {}
            Step::Part(Part::Node(at)) => match reading.form(at) {
                Form::Said(words) => out.push(words),
                Form::Of(kind, parts) => {
                    out.push(format!("({kind}"));
                    open.push(Step::End);
                    open.extend(parts.into_iter().rev().map(Step::Part));
                }
            },
        }
    }
    out
}
