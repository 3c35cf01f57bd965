//! Secrets that stand inside of something else, which gitleaks has no rule for: the password of an address, and what an
//! `Authorization` header says.
//!
//! Connection strings of development are everywhere, and are no secrets. So an address is only told where its host is somebody's,
//! and its password is nothing that one writes in place of one.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use regex::Regex;

use super::super::covered::is_of_tests;
use super::{Leak, entropy};

const ADDRESS: &str = "password-in-address";
const HEADER: &str = "authorization-header";

/// A shorter password is a word, and a shorter token is none.
const SHORTEST: usize = 8;
const SHORTEST_TOKEN: usize = 16;
/// What is random has more.
const ENTROPY: f64 = 2.9;
const ENTROPY_OF_TOKENS: f64 = 3.5;
/// A longer line is data.
const LONGEST_LINE: usize = 2_000;
/// So many of a line are looked at.
const MOST: usize = 20;

/// What is written where a password would be, anywhere in it.
const WORDS: &[&str] = &[
    "passw",
    "pwd",
    "secret",
    "example",
    "changeme",
    "change-me",
    "placeholder",
    "your",
    "dummy",
    "redacted",
    "fake",
    "sample",
    "xxxx",
    "1234",
    "test",
    "token",
    "abcd",
    "hunter2",
    "letmein",
    "guest",
    "postgres",
    "mysql",
    "rabbitmq",
    "minioadmin",
    "oauth",
];

/// Whether one of these rules found it.
pub(super) fn is_own(rule: &str) -> bool {
    rule == ADDRESS || rule == HEADER
}

/// What is found in the lines that were added.
pub(super) fn leaks(path: &str, text: &str, added: &[bool]) -> Vec<Leak> {
    if is_of_tests(path) || super::is_lock(path) || is_told_as_an_example(path) {
        return Vec::new();
    }
    let lines =
        (1..).zip(text.split('\n').zip(added)).filter(|(_, (line, added))| **added && line.len() < LONGEST_LINE);
    let found = lines.filter_map(|(number, (line, _))| Some(Leak { line: number, rule: of(line)? }));
    found.take(super::MOST).collect()
}

/// Documents, and what is there to be copied and filled in.
fn is_told_as_an_example(path: &str) -> bool {
    const ENDS: &[&str] = &["md", "mdx", "rst", "adoc", "example", "sample", "template", "dist"];
    path.starts_with("docs/")
        || path.contains("/docs/")
        || path.rsplit_once('.').is_some_and(|(_, end)| ENDS.contains(&end.to_ascii_lowercase().as_str()))
}

fn of(line: &str) -> Option<&'static str> {
    static IN_ADDRESS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r#"\b[A-Za-z][A-Za-z0-9+.-]{1,30}://([^\s:/@'"`]*):([^\s/@'"`]{8,200})@([^\s/'"`?#,;)]+)"#).ok()
    });
    static IN_HEADER: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r#"(?i)\bauthorization\b['"`\])]*\s*(?:=>|[:=,])\s*[a-z]{0,2}['"`]?\s*(basic|bearer|token)\s+([a-z0-9+/_=.~-]{8,1000})(.?)"#,
        )
        .ok()
    });
    let small = line.to_ascii_lowercase();
    if small.contains("://") && line.contains('@') {
        let mut all = IN_ADDRESS.iter().flat_map(|pattern| pattern.captures_iter(line)).take(MOST);
        if all.any(|one| !is_nobodys(&one[3]) && is_password(&one[1], &one[2])) {
            return Some(ADDRESS);
        }
    }
    if small.contains("authorization") {
        let mut all = IN_HEADER.iter().flat_map(|pattern| pattern.captures_iter(line)).take(MOST);
        let is_one = |one: regex::Captures<'_>| match &one[1] {
            // `Bearer abc${…}` is put together elsewhere.
            _ if matches!(&one[3], "$" | "{" | "<" | "%" | "*") => false,
            scheme if scheme.eq_ignore_ascii_case("basic") => {
                let said = decoded(&one[2]);
                said.and_then(|said| said.split_once(':').map(|(user, own)| is_password(user, own))).unwrap_or(false)
            }
            _ => is_token(&one[2]),
        };
        if all.any(is_one) {
            return Some(HEADER);
        }
    }
    None
}

/// A host that is the own machine, or nobody's.
fn is_nobodys(host: &str) -> bool {
    let host = host.rsplit('@').next().unwrap_or(host).to_ascii_lowercase();
    let name = host.split(':').next().unwrap_or(&host);
    let last = name.rsplit('.').next().unwrap_or(name);
    host.starts_with('[')
        || host.contains(['$', '{', '}', '<', '>', '%', '*'])
        || name.starts_with("127.")
        || name == "0.0.0.0"
        || name == "host.docker.internal"
        || matches!(last, "localhost" | "example" | "test" | "invalid" | "local")
        || name.split('.').any(|part| part == "example")
}

/// Whether something is a password, and not what stands in place of one.
fn is_password(user: &str, own: &str) -> bool {
    let kinds: [fn(&u8) -> bool; 4] =
        [u8::is_ascii_lowercase, u8::is_ascii_uppercase, u8::is_ascii_digit, u8::is_ascii_punctuation];
    let kinds = kinds.iter().filter(|kind| own.bytes().any(|byte| kind(&byte))).count();
    let is_name = own.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    own.len() >= SHORTEST
        && kinds >= 2
        && !(is_name && own.contains('_'))
        && !own.eq_ignore_ascii_case(user)
        && !own.contains(['$', '{', '}', '<', '>', '*', '(', '[', ' '])
        && !(own.starts_with('%') && own.ends_with('%') || own.contains("%s") || own.contains("..."))
        && !has_a_word(own)
        && entropy(own.as_bytes()) >= ENTROPY
}

fn is_token(own: &str) -> bool {
    own.len() >= SHORTEST_TOKEN
        && own.bytes().any(|byte| byte.is_ascii_digit())
        && own.bytes().any(|byte| byte.is_ascii_alphabetic())
        && !own.contains("...")
        && !has_a_word(own)
        && entropy(own.as_bytes()) > ENTROPY_OF_TOKENS
}

fn has_a_word(own: &str) -> bool {
    let small = own.to_ascii_lowercase();
    WORDS.iter().any(|word| small.contains(word))
}

/// What base64 stands for, where that is a text.
fn decoded(text: &str) -> Option<String> {
    let bytes = STANDARD_NO_PAD.decode(text.trim_end_matches('=')).ok()?;
    String::from_utf8(bytes).ok().filter(|text| !text.chars().any(char::is_control))
}
