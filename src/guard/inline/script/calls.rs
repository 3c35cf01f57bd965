//! Calls that make tests and suites, in the words of jest, vitest, mocha, node and Deno.

use crate::guard::inline::attr::word;
use crate::guard::inline::nodes::{At, Nodes, Token};
use crate::guard::inline::print::Print;

const SUITES: &[&str] = &["describe", "suite", "context", "xdescribe", "fdescribe", "xcontext"];
const TESTS: &[&str] = &["it", "test", "specify", "bench", "xit", "xtest", "fit", "ftest", "Deno.test"];
const HOOKS: &[&str] = &["beforeEach", "afterEach", "beforeAll", "afterAll"];
/// The same among tests. Elsewhere other things are called so.
const HOOKS_AMONG_TESTS: &[&str] = &["before", "after"];

/// Words of a chain that leave a test out, or choose it.
const SKIPS: &[&str] = &["skip", "todo"];
const CHOICES: &[&str] = &["only"];

/// A call of something by its name.
pub(super) struct Call<'t> {
    pub(super) at: At,
    pub(super) name: &'t str,
    /// What is in the chain behind the name, calls in it and all.
    chain: Vec<&'t str>,
    pub(super) title: String,
    titled: bool,
    /// The block of the function that it is given.
    pub(super) body: Option<At>,
    function: Option<At>,
    pub(super) skips: bool,
    pub(super) alone: bool,
}

impl<'t> Call<'t> {
    /// The call that a statement is.
    pub(super) fn in_statement(nodes: &Nodes<'t>, at: At) -> Option<Self> {
        let mut inner = nodes.children(at).next().filter(|_| nodes.kind(at) == "expression_statement")?;
        for _ in 0..2 {
            if matches!(nodes.kind(inner), "await_expression" | "unary_expression") {
                inner = nodes.children(inner).nth(1)?;
            }
        }
        Self::of(nodes, inner)
    }

    pub(super) fn of(nodes: &Nodes<'t>, at: At) -> Option<Self> {
        if nodes.kind(at) != "call_expression" {
            return None;
        }
        let function = nodes.field(at, "function")?;
        let words: Vec<&'t str> = nodes.tokens(function).into_iter().filter_map(word).collect();
        let (name, chain) = match words.as_slice() {
            ["Deno", ".", "test", chain @ ..] => ("Deno.test", chain),
            ["import", ".", "meta", ".", "vitest", "." | "?.", name, chain @ ..] => (*name, chain),
            [name, chain @ ..] => (*name, chain),
            [] => return None,
        };
        let arguments = nodes.field(at, "arguments")?;
        let given: Vec<At> =
            nodes.children(arguments).filter(|child| !matches!(nodes.text(*child), "(" | ")" | ",")).collect();
        let given: Vec<At> = given.into_iter().filter(|child| !nodes.is_comment(*child)).collect();
        let is_function = |at: &At| {
            matches!(nodes.kind(*at), "arrow_function" | "function_expression" | "function" | "generator_function")
        };
        let first = given.first().copied();
        let titled = first.is_some_and(|first| matches!(nodes.kind(first), "string" | "template_string"));
        let function = given.iter().copied().find(is_function);
        let title = match first {
            Some(first) if titled => nodes.text(first).trim_matches(['"', '\'', '`']).to_owned(),
            Some(first) => nodes.named(first, "name").unwrap_or(nodes.text(first)).to_owned(),
            None => String::new(),
        };
        // Names in the chain itself, not in what is handed to it.
        let mut depth = 0_i32;
        let mut links = Vec::new();
        for word in chain {
            match *word {
                "(" => depth += 1,
                ")" => depth -= 1,
                word if depth == 0 => links.push(word),
                _ => {}
            }
        }
        Some(Self {
            at,
            name,
            chain: chain.to_vec(),
            title,
            titled,
            body: function
                .and_then(|function| nodes.field(function, "body"))
                .filter(|body| nodes.kind(*body) == "statement_block"),
            function,
            skips: name.starts_with('x') || links.iter().any(|link| SKIPS.contains(link)),
            alone: known(name) && (name.starts_with('f') || links.iter().any(|link| CHOICES.contains(link))),
        })
    }

    /// A suite or a test, and not something else that is called so.
    pub(super) fn is_test(&self) -> bool {
        known(self.name) && (self.titled || self.function.is_some() || self.name == "Deno.test")
    }

    pub(super) fn is_suite(&self) -> bool {
        SUITES.contains(&self.name) && self.is_test()
    }

    pub(super) fn is_hook(&self) -> bool {
        HOOKS.contains(&self.name) && self.function.is_some()
    }

    /// Whether it is a hook that leaves tests out, or ends the program that runs them.
    pub(super) fn ends_tests(&self, tokens: &[Token<'t>]) -> bool {
        let known = |word: &&str| HOOKS.contains(word) || HOOKS_AMONG_TESTS.contains(word);
        let is_hook = known(&self.name) || self.chain.iter().any(known);
        let says = |words: &[&str]| tokens.iter().filter_map(|token| word(*token)).any(|word| words.contains(&word));
        is_hook && says(&["skip", "exit", "abort"]) || matches!(self.name, "process" | "Deno") && says(&["exit"])
    }

    /// Nothing but its name, and a function.
    pub(super) fn is_plain(&self, nodes: &Nodes<'t>) -> bool {
        bare(self.name) == "describe" && self.kept().is_empty() && self.others(nodes).is_empty()
    }

    /// What it is given besides its title and the function.
    pub(super) fn others(&self, nodes: &Nodes<'t>) -> Vec<At> {
        let arguments =
            nodes.field(self.at, "arguments").map(|arguments| nodes.children(arguments)).into_iter().flatten();
        let given = arguments.filter(|at| !nodes.is_comment(*at) && !matches!(nodes.text(*at), "(" | ")" | ","));
        given.skip(usize::from(self.titled)).filter(|at| Some(*at) != self.function).collect()
    }

    /// Whether it is run is told apart; so these words are not part of what it is.
    fn kept(&self) -> Vec<&'t str> {
        let mut kept: Vec<&'t str> = Vec::new();
        for word in &self.chain {
            if (SKIPS.contains(word) || CHOICES.contains(word)) && kept.last() == Some(&".") {
                kept.pop();
            } else {
                kept.push(word);
            }
        }
        kept
    }

    pub(super) fn print_head(&self, print: &mut Print) {
        print.word(bare(self.name));
        self.kept().iter().for_each(|word| print.word(word));
        print.part();
    }
}

fn known(name: &str) -> bool {
    SUITES.contains(&name) || TESTS.contains(&name)
}

/// The name without the letter that leaves it out or chooses it.
fn bare(name: &str) -> &str {
    match name {
        "xit" | "fit" => "it",
        "xtest" | "ftest" => "test",
        "xdescribe" | "fdescribe" => "describe",
        "xcontext" => "context",
        name => name,
    }
}
