//! Source text read by a real parser.
//!
//! What is read is somebody else's, so it is bounded: in bytes, in the parser's own steps, and in how often it looks at the same
//! bytes again (a quote that never ends is looked for to the end of the text, wherever one may begin). Steps and not seconds,
//! because the same text must read the same on every machine.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::LazyLock;

use tree_sitter::{ParseOptions, Parser, Tree};

/// Longer texts are not parsed.
pub const MOST_BYTES: usize = 2 * 1024 * 1024;

/// How often the parser may report that it goes on. It does so every hundred operations. An honest text takes one or two a byte;
/// one that is all mistakes takes more, and each of them takes longer.
const MOST_REPORTS: usize = 30_000;

/// The text is handed to the parser in pieces of so many bytes, so that what it looks at can be counted.
const PIECE: usize = 4096;

/// How often it may look at all of the text. An honest one is looked at fewer than three times.
const MOST_LOOKS: usize = 40;

/// A language that is read by a real parser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    Rust,
    Python,
    JavaScript,
    TypeScript,
    Tsx,
    Go,
}

impl Language {
    /// By the end of the path.
    pub fn of(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let (_, end) = name.rsplit_once('.')?;
        match end.to_ascii_lowercase().as_str() {
            "rs" => Some(Self::Rust),
            "py" | "pyi" => Some(Self::Python),
            "js" | "jsx" | "mjs" | "cjs" => Some(Self::JavaScript),
            "ts" | "mts" | "cts" => Some(Self::TypeScript),
            "tsx" => Some(Self::Tsx),
            "go" => Some(Self::Go),
            _ => None,
        }
    }

    /// The parser's tables.
    pub fn grammar(self) -> &'static tree_sitter::Language {
        static ALL: LazyLock<[tree_sitter::Language; 6]> = LazyLock::new(|| {
            [
                tree_sitter_rust::LANGUAGE.into(),
                tree_sitter_python::LANGUAGE.into(),
                tree_sitter_javascript::LANGUAGE.into(),
                tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
                tree_sitter_typescript::LANGUAGE_TSX.into(),
                tree_sitter_go::LANGUAGE.into(),
            ]
        });
        let [rust, python, javascript, typescript, tsx, go] = &*ALL;
        match self {
            Self::Rust => rust,
            Self::Python => python,
            Self::JavaScript => javascript,
            Self::TypeScript => typescript,
            Self::Tsx => tsx,
            Self::Go => go,
        }
    }
}

/// The tree of a text. None where it is longer than [`MOST_BYTES`], or the parser gave up within its bound.
///
/// A tree with errors is still a tree.
pub fn parse(language: Language, text: &[u8]) -> Option<Tree> {
    if text.len() > MOST_BYTES {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(language.grammar()).ok()?;
    let most = text.len().saturating_add(PIECE * 4).saturating_mul(MOST_LOOKS);
    let (mut reports, looked) = (0_usize, Cell::new(0_usize));
    let mut go_on = |_: &tree_sitter::ParseState| {
        reports += 1;
        if reports > MOST_REPORTS || looked.get() > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut go_on);
    let mut read = |at: usize, _| {
        let piece = text.get(at..text.len().min(at.saturating_add(PIECE))).unwrap_or_default();
        looked.set(looked.get() + piece.len());
        // Beyond the bound the text ends, so that what looks for an end finds one.
        if looked.get() > most { &[] } else { piece }
    };
    let tree = parser.parse_with_options(&mut read, None, Some(options));
    tree.filter(|_| looked.get() <= most)
}

#[cfg(test)]
mod tests;
