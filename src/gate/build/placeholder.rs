//! Behaviour that only holds a place: `todo!`, `NotImplementedError`, a body with nothing in it.
//!
//! What is meant to be without behaviour is none: a method that is abstract, of an interface, a trait or a protocol, or that a
//! class of the same change overrides; a body whose comment says why it is empty; tests.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::code::{Block, Language, Masked, blocks, line_at};
use super::covered::{is_rust_test, is_test};

mod named;
mod python;
mod script;

use named::{is_noop, is_stand_in};

/// A place that is only held: its line, and what stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) line: u32,
    pub(super) what: &'static str,
}

/// The classes that others are made from, and Swift's protocols, in whatever was read.
pub(super) fn bases<'t>(files: impl Iterator<Item = (&'t str, &'t str)>) -> BTreeSet<String> {
    static CLASS: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?m)^\s*class\s+\w+\s*(?:\(([^)]*)\)|<\s*([\w:]+))").ok());
    static PROTOCOL: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\bprotocol\s+(\w+)").ok());
    let mut all = BTreeSet::new();
    for (path, text) in files {
        if Language::of(path) == Some(Language::Swift) {
            let found = PROTOCOL.iter().flat_map(|protocol| protocol.captures_iter(text));
            all.extend(found.filter_map(|one| Some(one.get(1)?.as_str().to_owned())));
        }
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
            said.retain(|(at, _)| !file.is_meant(&blocks, *at, false));
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
        Regex::new(r"\b(?i:not[ _-]?(?:yet[ _-]?)?(?:been[ _-]?)?implemented|unimplemented|not[ _-]supported[ _-]yet|implement[ _-](?:me|this|later)|to[ _-]be[ _-]implemented|placeholder|stub(?:bed)?|fixme|coming[ _-]soon)\b|\b(?i:todo):")
            .ok()
    });
    static COMMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"\bTODO\b|\b(?i:will (?:come|follow|be (?:added|done|written|implemented|filled))|in (?:the|a) (?:next|later|follow-?up) (?:change|pr|commit|release|version|step)|for later)\b")
            .ok()
    });
    let says = |pattern: &LazyLock<Option<Regex>>| pattern.as_ref().is_some_and(|pattern| pattern.is_match(words));
    says(&WORDS) || says(&COMMENT)
}

/// The same of a message that is thrown or returned: there a TODO may be what an application keeps (`TODO 7 not found`).
fn message_puts_off(words: &str) -> bool {
    static TODO: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r#"["'`(]\s*TODO\s*(?:["'`:!…)(-]|[.]|\s(?i:add|build|complete|do|fill|finish|fix|handle|implement|later|make|support|write)\b)"#)
            .ok()
    });
    let said = words.replace("TODO", "");
    puts_off(&said) || TODO.as_ref().is_some_and(|pattern| pattern.is_match(words))
}

/// Whether words say that something is not done here, and never will be: a system, a format.
fn refuses(words: &str) -> bool {
    static WORDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i)\b(?:not (?:supported|available|possible)|unsupported|only (?:supported|available|works?|runs?)|requires?)\b").ok()
    });
    WORDS.as_ref().is_some_and(|pattern| pattern.is_match(words)) && !puts_off(words) && !words.contains("yet")
}

/// Whether words say that others are to do it.
fn leaves_to_others(words: &str) -> bool {
    static WORDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i)\b(?:sub-?class(?:es)?|overrid(?:e|es|den)|overwrite|abstract[ -](?:base|class|function|method|property)\w*|must (?:be )?implement(?:ed)?(?: by)?|should (?:be )?implement(?:ed)?(?: by)?|must define|self\.class)\b")
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
const QUIET: &str = r"\b(?:throw|raise|panic|fatalError|preconditionFailure|assertionFailure|unreachable|return\s+(?:nil\s*,\s*)?(?:errors\.New|fmt\.Errorf)|Promise\.reject)\b";
/// What may say it only in a string: `Err("not implemented")`, `assert False, "TODO"`. `StatusCode::NOT_IMPLEMENTED` is an answer.
const IN_STRING: &str = r"\b(?:Err\s*\(|bail\s*!|assert\s*!?[ \t]*\(?[ \t]*(?:false|False)\b)";

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
                if !self.is_for_others(one.start(), false) && !self.is_refusal(one.start(), one.end()) {
                    found.push((one.start(), *what));
                }
            }
        }
        for one in QUIET_ONE.iter().flat_map(|pattern| pattern.find_iter(self.code)).take(MOST_QUIET) {
            let end = self.statement_end(one.end());
            let words = self.text.get(one.end()..end).unwrap_or_default();
            let known = found.iter().any(|(at, _)| *at >= one.start() && *at < end);
            if !known && message_puts_off(words) && !leaves_to_others(words) && !self.is_for_others(one.start(), false)
            {
                found.push((one.start(), "a “not implemented”"));
            }
        }
        static STRING_ONE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(IN_STRING).ok());
        for one in STRING_ONE.iter().flat_map(|pattern| pattern.find_iter(self.code)).take(MOST_QUIET) {
            let end = self.statement_end(one.start());
            let known = found.iter().any(|(at, _)| *at >= one.start() && *at < end);
            if !known && self.strings(one.end(), end).iter().any(|words| message_puts_off(words)) {
                found.push((one.start(), "a “not implemented”"));
            }
        }
        found
    }

    /// The strings in a part of the code, with their quotes.
    fn strings(&self, from: usize, to: usize) -> Vec<String> {
        let mut all = Vec::new();
        let mut open: Option<(usize, u8)> = None;
        for (at, byte) in self.code.bytes().enumerate().take(to).skip(from) {
            match open {
                Some((begins, quote)) if byte == quote => {
                    all.extend(self.text.get(begins..=at).map(str::to_owned));
                    open = None;
                }
                None if matches!(byte, b'"' | b'\'') => open = Some((at, byte)),
                _ => {}
            }
        }
        all
    }

    /// In Python and Ruby: whether what is raised under a condition says that something is not supported, which is an answer.
    fn is_refusal(&self, at: usize, end: usize) -> bool {
        if !matches!(self.language, Language::Python | Language::Ruby) {
            return false;
        }
        let line = self.code[..at].rfind('\n').map_or(0, |end| end + 1);
        let own = self.code[line..at].trim_start();
        let is_guard = |line: &str| {
            ["if ", "elif ", "elsif ", "else", "unless ", "case ", "when "].iter().any(|word| line.starts_with(word))
        };
        let behind = self.code[end..].lines().next().unwrap_or_default();
        let guarded =
            is_guard(own) || behind.contains(" if ") || self.outer(at).first().is_some_and(|line| is_guard(line));
        guarded && refuses(self.text.get(end..self.statement_end(end)).unwrap_or_default())
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

    /// In Python and Ruby: whether the method is one that others are to write, or of a class that does nothing by its name.
    fn is_for_others(&self, at: usize, empty: bool) -> bool {
        if !matches!(self.language, Language::Python | Language::Ruby) {
            return false;
        }
        let above = self.outer(at);
        // The innermost decides: a namespace around a class makes nothing of it.
        let kind = |line: &&&str| {
            line.starts_with("class ") && !line.starts_with("class <<")
                || self.language == Language::Ruby && line.starts_with("module ")
        };
        let by_class = above.iter().find(kind).is_some_and(|line| match line.strip_prefix("class ") {
            Some(class) => {
                let name = class.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | ':'))).next();
                let name = name.unwrap_or_default().trim_end_matches(':').rsplit(':').next().unwrap_or_default();
                let is_kind = match self.language {
                    Language::Python => {
                        named::is_abstract(name) || python::is_abstract(class) || empty && python::fills(class)
                    }
                    _ => is_called_base(name),
                };
                is_kind || is_stand_in(name) || self.bases.contains(name)
            }
            // What a module has is for who takes it in, unless it is its own.
            None => !above.iter().any(|line| line.starts_with("def self.") || line.starts_with("class <<")),
        });
        let is_mark = |line: &&str| {
            let called = line.strip_prefix('@').and_then(|line| line.split(['(', ' ']).next());
            let name = called.and_then(|called| called.rsplit('.').next());
            name.is_some_and(|name| name.starts_with("abstract") || name == "overload")
        };
        let end = self.statement_end(at);
        let line = self.text[at..].find('\n').map_or(self.text.len(), |end| at + end);
        let said = self.text.get(at..end.max(line)).unwrap_or_default();
        by_class || above.iter().any(is_mark) || leaves_to_others(said)
    }

    /// The lines that a place is under, by how far they are indented, with their decorators: innermost first. A signature of
    /// several lines is one.
    fn outer(&self, at: usize) -> Vec<&str> {
        let indent = |line: &str| line.len() - line.trim_start().len();
        let begins = self.code[..at].rfind('\n').map_or(0, |end| end + 1);
        let mut own = indent(&self.code[begins..]).min(at - begins);
        let mut outer = Vec::new();
        let mut just_taken = false;
        let mut closes: Option<usize> = None;
        let mut end = begins;
        for line in self.code[..begins].split_inclusive('\n').rev() {
            let from = end - line.len();
            let (whole, here) = (line.trim_end(), indent(line));
            let line_end = end;
            end = from;
            if whole.trim().is_empty() {
                continue;
            }
            if let Some(to) = closes {
                if here <= own {
                    own = here;
                    outer.push(self.code[from..to].trim());
                    closes = None;
                    just_taken = true;
                }
                continue;
            }
            if here < own {
                own = here;
                if whole.trim_start().starts_with(')') {
                    closes = Some(line_end);
                    continue;
                }
                outer.push(whole.trim());
                just_taken = true;
            } else if just_taken && here == own && whole.trim_start().starts_with('@') {
                outer.push(whole.trim());
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
            let rest = r"(?:[ \t]*\([^)]*\)[ \t;]*|[ \t]*;[ \t;]*|[ \t]*(?:\([^)]*\)[ \t]*)?;?[ \t]*\n[ \t\n]*)(?:return[ \t]*[;\n][ \t\n]*)?end\b";
            Regex::new(&format!(r"(?m)^[ \t]*def[ \t]+([\w.?!=]+){rest}")).ok()
        });
        let mut found = Vec::new();
        for one in BODY.iter().flat_map(|body| body.captures_iter(self.code)).take(MOST) {
            let (Some(all), Some(name)) = (one.get(0), one.get(1)) else { continue };
            let comment = self.text[all.range()].split_once('#').map_or("", |(_, comment)| comment);
            let excused = !comment.trim().is_empty() && !puts_off(comment);
            if !excused
                && name.as_str() != "initialize"
                && !is_noop(name.as_str())
                && !self.is_for_others(name.start(), true)
            {
                found.push((name.start(), "an empty body"));
            }
        }
        found
    }

    /// Whether a place in braces is where nothing else is asked for: a test, or the default of a trait. What is `empty` on one
    /// system is written for another, and what says that it is not written is not.
    fn is_meant(&self, blocks: &[Block], at: usize, empty: bool) -> bool {
        let around = |block: &&Block| block.from <= at && at <= block.to;
        blocks.iter().filter(around).any(|block| {
            let header = block.header.as_str();
            match self.language {
                Language::Rust => {
                    is_rust_test(header)
                        || empty && (is_of_a_system(header) || header.starts_with("cfg_"))
                        || has_word(header, "trait") && !has_word(header, "fn")
                        || header.contains("macro_rules!")
                }
                Language::Swift => {
                    // Of another's protocol it is what that asks for, and of one's own the default.
                    let extended = header.rsplit_once("extension ").map(|(_, rest)| rest.trim());
                    // What is never made from a file: `required init?(coder:)`, as Xcode writes it.
                    let unmade = !empty && has_word(header, "required") && has_word(header, "init");
                    unmade
                        || has_word(header, "protocol")
                        || extended.is_some_and(|rest| {
                            let name = rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next();
                            empty && rest.contains(':') || name.is_some_and(|name| self.bases.contains(name))
                        })
                }
                _ => has_word(header, "interface") && !has_word(header, "class"),
            }
        })
    }

    /// Functions in braces with nothing in them.
    fn bodies(&self, blocks: &[Block]) -> Vec<(usize, &'static str)> {
        let mut found = Vec::new();
        let is_empty = |block: &&Block| {
            let code = self.code[block.from..block.to].trim_matches(|c: char| c.is_whitespace() || c == ';');
            // What only returns does nothing else.
            matches!(code, "" | "return") || self.language == Language::Rust && matches!(code, "()" | "return ()")
        };
        for block in blocks.iter().filter(is_empty).take(MOST_QUIET) {
            let comment = self.comments(block.from, block.to);
            // One letter says nothing.
            let says = comment.chars().filter(|c| c.is_alphanumeric()).count() > 1;
            if says && !puts_off(&comment) {
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
            if is_function && !self.is_meant(blocks, block.from, true) {
                found.push((block.from - 1, "an empty body"));
            }
        }
        found
    }

    /// What stands in the text where the code is blank.
    fn comments(&self, from: usize, to: usize) -> String {
        let (code, text) = (self.code.as_bytes(), self.text.as_bytes());
        let said: Vec<u8> = (from..to.min(text.len()))
            .filter(|at| code.get(*at).is_some_and(u8::is_ascii_whitespace))
            .map(|at| text[at])
            .collect();
        String::from_utf8_lossy(&said).into_owned()
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
        if self.language == Language::Rust && header.contains('<') && header.contains(">()") && header.contains(':') {
            return false;
        }
        if self.language == Language::Go && is_marker(header) {
            return false;
        }
        let Some(name) = function_name(self.language, header, parent) else { return false };
        let lowered = header.to_ascii_lowercase();
        let asked_for = ["override", "abstract", "virtual", "extern", "partial"];
        let owner = if self.language == Language::Go { receiver(header) } else { owner(parent) };
        !is_noop(&name) && !asked_for.iter().any(|word| has_word(&lowered, word)) && !owner.is_some_and(is_stand_in)
    }
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|own| own == word)
}

/// Whether a class of Ruby, which has no word for it, is one that others are made from by its name.
fn is_called_base(name: &str) -> bool {
    let begins = |word: &str| {
        name.strip_prefix(word).is_some_and(|rest| rest.chars().next().is_none_or(|c| c.is_uppercase() || c == '_'))
    };
    begins("Base") || begins("Abstract") || name.ends_with("Mixin")
}

/// Whether something of Rust is there on some systems or with some features only. `cfg(all())` is there always.
fn is_of_a_system(header: &str) -> bool {
    static CFG: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"#\s*!?\[\s*cfg\s*\(([^\]]*)\]").ok());
    let mut all = CFG.iter().flat_map(|cfg| cfg.captures_iter(header));
    all.any(|one| {
        let words = one[1].split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
        words.into_iter().any(|word| !matches!(word, "all" | "any" | "not" | "true" | "false"))
    })
}

/// The type that a block in braces belongs to.
fn owner(parent: &str) -> Option<&str> {
    let after = |word: &str| {
        let at = parent.rfind(&format!("{word} "))?;
        let rest = parent[at + word.len()..].trim_start();
        rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().filter(|name| !name.is_empty())
    };
    ["class", "struct", "object", "impl", "record", "extension"].into_iter().find_map(after)
}

/// The type of a method of Go, without its star.
fn receiver(header: &str) -> Option<&str> {
    let inside = header.rsplit_once("func")?.1.trim_start().strip_prefix('(')?.split_once(')')?.0;
    let named = inside.split('[').next().unwrap_or(inside);
    named.split_whitespace().next_back().map(|name| name.trim_start_matches('*'))
}

/// Whether a method of Go only says what its type is: `func (Circle) isShape() {}`.
fn is_marker(header: &str) -> bool {
    static MARKER: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"\bfunc\s*\((?:\*?\w+\)\s*[a-z]\w*|(?:\w+\s+)?\*?\w+\)\s*(?:[iI]s[A-Z]\w*|ProtoMessage))\s*\(\s*\)$",
        )
        .ok()
    });
    MARKER.as_ref().is_some_and(|marker| marker.is_match(header))
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
            let own = after("fn").filter(|name| name != "main");
            own.filter(|_| !(header.contains("const _") || has_word(parent, "impl") && has_word(parent, "for")))
        }
        Language::Go => after("func").filter(|name| name != "main" && name != "init"),
        // Interfaces are met without a word there, so that a method with a receiver may be asked for.
        Language::Kotlin => after("fun"),
        Language::Swift => after("func"),
        Language::Php => after("function").filter(|name| !name.starts_with("__")),
        Language::Java | Language::CSharp => {
            // `Type name(…)` in a class; a constructor has no type.
            let flat = header.rsplit(['\n', '}']).next().unwrap_or(header);
            let before = without_generics(flat.split('(').next()?);
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

/// `<T> Map<K, V> name` without what stands in angles.
fn without_generics(text: &str) -> String {
    let mut depth = 0_usize;
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            c if depth == 0 => out.push(c),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests;
