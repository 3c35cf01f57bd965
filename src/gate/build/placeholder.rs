//! Behaviour that only holds a place: `todo!`, `NotImplementedError`, a body with nothing in it.
//!
//! What is meant to be without behaviour is none: a method that is abstract, of an interface, a trait or a protocol, or that a
//! class of the same change overrides; a body whose comment says why it is empty; tests.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::code::{Block, Language, Masked, blocks, line_at};
use super::covered::{is_rust_test, is_test};

mod python;
mod script;

/// A place that is only held: its line, and what stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) line: u32,
    pub(super) what: &'static str,
}

/// The classes that others are made from, in whatever was read.
pub(super) fn bases<'t>(files: impl Iterator<Item = (&'t str, &'t str)>) -> BTreeSet<String> {
    static CLASS: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?m)^\s*class\s+\w+\s*(?:\(([^)]*)\)|<\s*([\w:]+))").ok());
    let mut all = BTreeSet::new();
    for (path, text) in files {
        if !matches!(Language::of(path), Some(Language::Python | Language::Ruby)) {
            continue;
        }
        for found in CLASS.iter().flat_map(|class| class.captures_iter(text)) {
            let named = found.get(1).or(found.get(2)).map_or("", |named| named.as_str());
            let names = named.split(',').map(|name| name.split('[').next().unwrap_or(name));
            all.extend(names.filter_map(|name| name.rsplit(['.', ':']).next()).map(|name| name.trim().to_owned()));
        }
    }
    all
}

/// The places that are held in the added lines of a file.
pub(super) fn held(path: &str, text: &str, added: &[bool], bases: &BTreeSet<String>) -> Vec<Held> {
    let Some(language) = Language::of(path).filter(|_| !is_test(path)) else { return Vec::new() };
    let code = Masked::new(text, language).code;
    let file = File { language, text, code: &code, bases };
    let mut found: Vec<(usize, &'static str)> = match language {
        Language::Python => [file.said(), file.python_bodies()].concat(),
        Language::Ruby => [file.said(), file.ruby_bodies()].concat(),
        _ => {
            let blocks = blocks(&code);
            let mut said = file.said();
            said.retain(|(at, _)| !file.is_meant(&blocks, *at));
            [said, file.bodies(&blocks)].concat()
        }
    };
    found.sort_unstable();
    let lines = found.into_iter().map(|(at, what)| Held { line: line_at(text, at), what });
    let is_added = |held: &Held| added.get(held.line as usize - 1).is_some_and(|added| *added);
    let mut held: Vec<Held> = lines.filter(is_added).collect();
    held.dedup_by_key(|held| held.line);
    held
}

/// More places of a file than these are not looked at, or a file could be made to be dear to read.
const MOST: usize = 300;
const MOST_QUIET: usize = 3_000;

/// Whether words say that something is still to be done.
fn puts_off(words: &str) -> bool {
    static WORDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"\b(?i:not[ _-]?(?:yet[ _-]?)?(?:been[ _-]?)?implemented|unimplemented|not[ _-]supported[ _-]yet|implement[ _-](?:me|this|later)|to[ _-]be[ _-]implemented|placeholder|stub(?:bed)?|fixme|coming[ _-]soon)\b|\bTODO\b|\b(?i:todo):")
            .ok()
    });
    WORDS.as_ref().is_some_and(|pattern| pattern.is_match(words))
}

/// Whether words say that others are to do it.
fn leaves_to_others(words: &str) -> bool {
    static WORDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i)\b(?:sub-?class(?:es)?|overrid(?:e|es|den)|overwrite|abstract|must (?:be )?implement(?:ed)?(?: by)?|should (?:be )?implement(?:ed)?(?: by)?|must define|interface|self\.class)\b")
            .ok()
    });
    WORDS.as_ref().is_some_and(|pattern| pattern.is_match(words))
}

struct File<'t> {
    language: Language,
    text: &'t str,
    code: &'t str,
    bases: &'t BTreeSet<String>,
}

/// What says so itself, and what has to say it in words.
const LOUD: &[(Language, &str, &str)] = &[
    (Language::Rust, r"\btodo\s*!", "todo!"),
    (Language::Rust, r"\bunimplemented\s*!", "unimplemented!"),
    (Language::Kotlin, r"(?m)\bTODO\s*\(", "TODO()"),
    (Language::CSharp, r"\bthrow\s+new\s+(?:System\.)?NotImplementedException\b", "NotImplementedException"),
    (Language::Python, r"\braise\s+NotImplementedError\b", "NotImplementedError"),
    (Language::Ruby, r"\braise\s*\(?\s*(?:::)?NotImplementedError\b", "NotImplementedError"),
];
const QUIET: &str = r"\b(?:throw|raise|panic!?|fatalError|preconditionFailure|assertionFailure|unreachable!|return\s+(?:nil\s*,\s*)?(?:errors\.New|fmt\.Errorf)|Promise\.reject)\b";

impl File<'_> {
    /// Where it says that nothing is there.
    fn said(&self) -> Vec<(usize, &'static str)> {
        static LOUD_ONES: LazyLock<Vec<Option<Regex>>> =
            LazyLock::new(|| LOUD.iter().map(|(_, pattern, _)| Regex::new(pattern).ok()).collect());
        static QUIET_ONE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(QUIET).ok());
        let mut found = Vec::new();
        for ((language, _, what), pattern) in LOUD.iter().zip(LOUD_ONES.iter()) {
            if *language != self.language {
                continue;
            }
            for one in pattern.iter().flat_map(|pattern| pattern.find_iter(self.code)).take(MOST) {
                if !self.is_for_others(one.start()) {
                    found.push((one.start(), *what));
                }
            }
        }
        for one in QUIET_ONE.iter().flat_map(|pattern| pattern.find_iter(self.code)).take(MOST_QUIET) {
            let end = self.statement_end(one.end());
            let words = self.text.get(one.end()..end).unwrap_or_default();
            let known = found.iter().any(|(at, _)| *at >= one.start() && *at < end);
            if !known && puts_off(words) && !leaves_to_others(words) && !self.is_for_others(one.start()) {
                found.push((one.start(), "a “not implemented”"));
            }
        }
        found
    }

    /// The end of a statement: its line, or where its parenthesis closes, within a few lines.
    fn statement_end(&self, from: usize) -> usize {
        let mut depth = 0_i32;
        for (at, byte) in self.code.bytes().enumerate().skip(from).take(400) {
            match byte {
                b'(' => depth += 1,
                b')' => depth -= 1,
                b';' | b'}' | b'\n' if depth <= 0 => return at,
                _ => {}
            }
        }
        (from + 400).min(self.text.len())
    }

    /// In Python and Ruby: whether the method is one that others are to write.
    fn is_for_others(&self, at: usize) -> bool {
        if !matches!(self.language, Language::Python | Language::Ruby) {
            return false;
        }
        let end = self.text[at..].find('\n').map_or(self.text.len(), |end| at + end);
        let above = self.outer(at);
        let class = above.iter().find_map(|line| line.strip_prefix("class "));
        let by_class = class.is_some_and(|class| {
            let name = class.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
            let kinds = ["Protocol", "ABC", "ABCMeta", "Abstract", "Interface"];
            kinds.iter().any(|kind| class.contains(kind))
                || ["Base", "Abstract", "Interface"].iter().any(|word| name.starts_with(word) || name.ends_with(word))
                || name.ends_with("Mixin")
                || self.bases.contains(name)
        });
        let marked = above
            .iter()
            .any(|line| line.starts_with("@abstract") || line.starts_with("@abc.") || line.contains("@overload"));
        by_class
            || marked
            || leaves_to_others(&self.text[at..end])
            || above.iter().any(|line| line.starts_with("module "))
    }

    /// The lines that a place is under, by how far they are indented, with their decorators: innermost first.
    fn outer(&self, at: usize) -> Vec<&str> {
        let indent = |line: &str| line.len() - line.trim_start().len();
        let mut own = {
            let begins = self.code[..at].rfind('\n').map_or(0, |end| end + 1);
            indent(&self.code[begins..]).min(at - begins)
        };
        let mut outer = Vec::new();
        let mut just_taken = false;
        for line in self.code[..at].lines().rev().skip(1) {
            if line.trim().is_empty() {
                continue;
            }
            let here = indent(line);
            if here < own {
                own = here;
                outer.push(line.trim());
                just_taken = true;
            } else if just_taken && here == own && line.trim_start().starts_with('@') {
                outer.push(line.trim());
            } else {
                just_taken = false;
            }
            if own == 0 && !just_taken {
                break;
            }
        }
        outer
    }

    /// Methods of Ruby with nothing in them.
    fn ruby_bodies(&self) -> Vec<(usize, &'static str)> {
        static BODY: LazyLock<Option<Regex>> = LazyLock::new(|| {
            Regex::new(r"(?m)^[ \t]*def[ \t]+([\w.?!=]+)(?:[ \t]*\([^)]*\))?[ \t]*(?:;[ \t]*|\n[ \t\n]*)end\b").ok()
        });
        let mut found = Vec::new();
        for one in BODY.iter().flat_map(|body| body.captures_iter(self.code)).take(MOST) {
            let (Some(all), Some(name)) = (one.get(0), one.get(1)) else { continue };
            let comment = self.text[all.range()].split_once('#').map_or("", |(_, comment)| comment);
            let excused = !comment.trim().is_empty() && !puts_off(comment);
            if !excused && name.as_str() != "initialize" && !is_noop(name.as_str()) && !self.is_for_others(name.start())
            {
                found.push((name.start(), "an empty body"));
            }
        }
        found
    }

    /// Whether a place in braces is where nothing else is asked for: a test, or the default of a trait.
    fn is_meant(&self, blocks: &[Block], at: usize) -> bool {
        let around = |block: &&Block| block.from <= at && at <= block.to;
        blocks.iter().filter(around).any(|block| {
            let header = block.header.as_str();
            match self.language {
                Language::Rust => {
                    // What is empty on one system is written for another.
                    is_rust_test(header)
                        || header.contains("#[cfg")
                        || header.starts_with("cfg_")
                        || has_word(header, "trait") && !has_word(header, "fn")
                        || header.contains("macro_rules!")
                }
                Language::Swift => has_word(header, "protocol"),
                _ => has_word(header, "interface") && !has_word(header, "class"),
            }
        })
    }

    /// Functions in braces with nothing in them.
    fn bodies(&self, blocks: &[Block]) -> Vec<(usize, &'static str)> {
        let mut found = Vec::new();
        let is_empty = |block: &&Block| self.code[block.from..block.to].trim().is_empty();
        for block in blocks.iter().filter(is_empty).take(MOST_QUIET) {
            let comment = self.text.get(block.from..block.to).unwrap_or_default();
            if !comment.trim().is_empty() && !puts_off(comment) {
                continue;
            }
            if found.len() >= MOST {
                break;
            }
            let parent = block.parent.map_or("", |parent| blocks[parent].header.as_str());
            let is_function = match self.language {
                Language::JavaScript => script::is_named(self.code, block, parent),
                _ => self.is_function(&block.header, parent),
            };
            if is_function && !self.is_meant(blocks, block.from) {
                found.push((block.from - 1, "an empty body"));
            }
        }
        found
    }

    /// Whether what stands before a block makes it a function that has something to do: one with a name, that is no constructor,
    /// no hook that something else asks for, and not called a no-op.
    fn is_function(&self, header: &str, parent: &str) -> bool {
        // What stands on the lines above belongs to something else, but for attributes.
        // A brace in the parameters is a default of one of them.
        if header.matches('(').count() != header.matches(')').count() {
            return false;
        }
        // `fn assert_send<T: Send>() {}` asks the compiler.
        if self.language == Language::Rust && header.contains('<') && header.contains(">()") {
            return false;
        }
        let Some(name) = function_name(self.language, header, parent) else { return false };
        let lowered = header.to_ascii_lowercase();
        let asked_for = ["override", "@override", "#[override", "abstract", "virtual", "extern", "partial "];
        !is_noop(&name) && !asked_for.iter().any(|word| lowered.contains(word))
    }
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|own| own == word)
}

/// A name that says itself that nothing happens.
fn is_noop(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('_', "");
    ["noop", "nop", "nothing", "ignore", "dummy", "null", "empty", "fake"].iter().any(|word| name.contains(word))
}

/// The name of the function whose body follows, if that is what follows.
fn function_name(language: Language, header: &str, parent: &str) -> Option<String> {
    let after = |word: &str| -> Option<String> {
        let at = header
            .rfind(&format!("{word} "))
            .filter(|at| header[..*at].chars().next_back().is_none_or(|c| !(c.is_alphanumeric() || c == '_')))?;
        let rest = header[at + word.len()..].trim_start();
        let rest = rest
            .strip_prefix('(')
            .filter(|_| language == Language::Go)
            .map_or(rest, |receiver| receiver.split_once(')').map_or("", |(_, rest)| rest.trim_start()));
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        (!name.is_empty() && rest.contains('(')).then_some(name)
    };
    match language {
        // What a trait asks for may well be nothing.
        Language::Rust => {
            after("fn").filter(|_| !(header.contains("const _") || has_word(parent, "impl") && has_word(parent, "for")))
        }
        Language::Go => after("func").filter(|name| name != "main" && name != "init"),
        // Interfaces are met without a word there, so that a method with a receiver may be asked for.
        Language::Kotlin => after("fun"),
        Language::Swift => after("func"),
        Language::Php => after("function").filter(|name| !name.starts_with("__")),
        Language::Java | Language::CSharp => {
            // `Type name(…)` in a class; a constructor has no type.
            let flat = header.rsplit(['\n', '}']).next().unwrap_or(header);
            let before = flat.split('(').next()?.trim();
            let mut words: Vec<&str> = before.split_whitespace().collect();
            let name = words.pop()?;
            let modifiers = [
                "public",
                "private",
                "protected",
                "internal",
                "static",
                "final",
                "async",
                "sealed",
                "synchronized",
                "default",
            ];
            words.retain(|word| !modifiers.contains(word) && !word.starts_with('@'));
            let in_class = ["class", "record", "enum", "struct"].iter().any(|word| has_word(parent, word));
            let plain = name.chars().all(|c| c.is_alphanumeric() || c == '_') && !name.is_empty();
            (in_class
                && flat.contains('(')
                && plain
                && words.len() == 1
                && !matches!(words[0], "new" | "return" | "else"))
            .then(|| name.to_owned())
        }
        Language::JavaScript | Language::Python | Language::Ruby => None,
    }
}

#[cfg(test)]
mod tests;
