//! Secrets in what a change adds, by the rules of gitleaks (`secrets/gitleaks.toml`).
//!
//! A rule is a pattern, words that must be near for it to be tried at all, for many an entropy that what it finds must have, and
//! what is known to be no secret. What is added to it here is against false alarms ([`Scan::is_harmless`]), and what gitleaks
//! has no rule for ([`own`]).

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::AhoCorasick;
use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;

use super::covered::is_of_tests;

mod own;

/// What was found: the line, and the rule that found it. Never the secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Leak {
    pub(super) line: u32,
    pub(super) rule: &'static str,
}

#[derive(Deserialize)]
struct File {
    allowlist: Allow,
    rules: Vec<Written>,
}

#[derive(Deserialize)]
struct Written {
    id: String,
    regex: Option<String>,
    path: Option<String>,
    #[serde(default)]
    entropy: f64,
    #[serde(default, rename = "secretGroup")]
    group: usize,
    #[serde(default)]
    keywords: Vec<String>,
    #[serde(default)]
    allowlists: Vec<Allow>,
}

#[derive(Deserialize, Default)]
struct Allow {
    #[serde(default)]
    paths: Vec<String>,
    #[serde(default)]
    regexes: Vec<String>,
    #[serde(default)]
    stopwords: Vec<String>,
    #[serde(default, rename = "regexTarget")]
    target: Target,
    #[serde(default)]
    condition: Condition,
}

/// What the patterns of an allow-list are held against.
#[derive(Deserialize, Default, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Target {
    #[default]
    Secret,
    Match,
    Line,
}

#[derive(Deserialize, Default, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "UPPERCASE")]
enum Condition {
    #[default]
    Or,
    And,
}

/// A pattern that is made when it is first needed: most never are.
struct Pattern {
    text: String,
    made: OnceLock<Option<Regex>>,
}

impl Pattern {
    fn new(text: String) -> Self {
        Self { text, made: OnceLock::new() }
    }

    /// As Go reads it, for which it was written: ASCII, without Unicode's classes.
    fn get(&self) -> Option<&Regex> {
        let made = self
            .made
            .get_or_init(|| RegexBuilder::new(&go(&self.text)).unicode(false).size_limit(64 << 20).build().ok());
        made.as_ref()
    }

    fn is_in(&self, bytes: &[u8]) -> bool {
        self.get().is_some_and(|pattern| pattern.is_match(bytes))
    }
}

/// A brace that counts nothing is itself in Go, and a mistake here.
fn go(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        let counts = || {
            let rest = &bytes[at + 1..];
            let digits = rest.iter().take_while(|b| b.is_ascii_digit() || **b == b',').count();
            digits > 0 && rest.get(digits) == Some(&b'}')
        };
        // `\x{…}` and `\p{…}` begin with an escape, and are not in there.
        if c == '{' && !escaped && !counts() {
            out.push('\\');
        }
        escaped = c == '\\' && !escaped;
        out.push(c);
    }
    out
}

struct Allowed {
    paths: Vec<Pattern>,
    regexes: Vec<Pattern>,
    stopwords: Vec<String>,
    target: Target,
    condition: Condition,
}

impl Allowed {
    fn new(allow: Allow) -> Self {
        let Allow { paths, regexes, stopwords, target, condition } = allow;
        Self {
            paths: paths.into_iter().map(Pattern::new).collect(),
            regexes: regexes.into_iter().map(Pattern::new).collect(),
            stopwords: stopwords.into_iter().map(|word| word.to_lowercase()).collect(),
            target,
            condition,
        }
    }

    fn has_path(&self, path: &str) -> bool {
        self.paths.iter().any(|pattern| pattern.is_in(path.as_bytes()))
    }

    fn allows(&self, path: &str, hit: &Hit<'_>) -> bool {
        let text = match self.target {
            Target::Secret => hit.secret,
            Target::Match => hit.all,
            Target::Line => hit.line,
        };
        let by_path = || self.has_path(path);
        let by_text = || self.regexes.iter().any(|pattern| pattern.is_in(text));
        let small = hit.secret.to_ascii_lowercase();
        let by_word = || self.stopwords.iter().any(|word| contains(&small, word.as_bytes()));
        match self.condition {
            Condition::And => by_path() && by_text(),
            Condition::Or => by_path() || by_text() || by_word(),
        }
    }
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    !word.is_empty() && text.windows(word.len()).any(|window| window == word)
}

struct Rule {
    id: String,
    pattern: Option<Pattern>,
    path: Option<Pattern>,
    entropy: f64,
    group: usize,
    allowed: Vec<Allowed>,
}

struct Rules {
    all: Vec<Rule>,
    everywhere: Allowed,
    words: AhoCorasick,
    /// The rules that each of the words is for.
    by_word: Vec<Vec<usize>>,
}

static RULES: LazyLock<Option<Rules>> = LazyLock::new(read);

fn read() -> Option<Rules> {
    let file: File = toml::from_str(include_str!("secrets/gitleaks.toml")).ok()?;
    let mut words: HashMap<String, Vec<usize>> = HashMap::new();
    let mut all = Vec::new();
    for (at, rule) in file.rules.into_iter().enumerate() {
        for word in rule.keywords {
            words.entry(word.to_lowercase()).or_default().push(at);
        }
        all.push(Rule {
            id: rule.id,
            pattern: rule.regex.map(Pattern::new),
            path: rule.path.map(Pattern::new),
            entropy: rule.entropy,
            group: rule.group,
            allowed: rule.allowlists.into_iter().map(Allowed::new).collect(),
        });
    }
    let (words, by_word): (Vec<String>, Vec<Vec<usize>>) = words.into_iter().unzip();
    let words = AhoCorasick::builder().ascii_case_insensitive(true).build(&words).ok()?;
    Some(Rules { all, everywhere: Allowed::new(file.allowlist), words, by_word })
}

/// Something that a pattern fits.
struct Hit<'t> {
    secret: &'t [u8],
    all: &'t [u8],
    line: &'t [u8],
}

/// The rule that knows no service: a name such as `key` or `token` with something random behind it.
const GENERIC: &str = "generic-api-key";
/// A longer line is data. What has a form of its own is looked for there, but not what is only random.
const LONGEST_LINE: usize = 1_000;
/// So many letters of base64 in a row are a picture, a font or a certificate, in which any short form turns up some day.
const LONGEST_RUN: usize = 300;
/// A line of a key has at least so many.
const SHORTEST_KEY: usize = 40;
/// More than these nobody reads.
const MOST: usize = 50;

/// Whether a file of this name is itself a store of keys.
pub(super) fn is_key_store(path: &str) -> Option<&'static str> {
    let rules = RULES.as_ref()?;
    let by_path =
        |rule: &&Rule| rule.pattern.is_none() && rule.path.as_ref().is_some_and(|own| own.is_in(path.as_bytes()));
    rules.all.iter().find(by_path).map(|rule| rule.id.as_str())
}

/// The secrets in the lines of a text that were added (`true` for each line).
pub(super) fn leaks(path: &str, text: &str, added: &[bool]) -> Vec<Leak> {
    let Some(rules) = RULES.as_ref() else { return Vec::new() };
    if is_passed_over(path) {
        return Vec::new();
    }
    let starts: Vec<usize> = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let scan = Scan {
        rules,
        path,
        text: text.as_bytes(),
        starts: &starts,
        of_tests: is_of_tests(path),
        is_lock: is_lock(path),
    };
    let mut leaks: Vec<Leak> = Vec::new();
    let mut line = 0;
    while line < starts.len() && leaks.len() < MOST {
        if !added.get(line).is_some_and(|added| *added) {
            line += 1;
            continue;
        }
        let first = line;
        while added.get(line).is_some_and(|added| *added) {
            line += 1;
        }
        // What was added in the middle of something is read with what stands around it.
        let from = starts[first.saturating_sub(2)];
        let to = starts.get(line + 2).copied().unwrap_or(text.len());
        scan.part(from, to, added, &mut leaks);
    }
    leaks.extend(own::leaks(path, text, added));
    // One line, one finding: the rule that knows more goes first.
    leaks.sort_by_key(|leak| (leak.line, leak.rule == GENERIC, own::is_own(leak.rule)));
    leaks.dedup_by_key(|leak| leak.line);
    leaks.truncate(MOST);
    leaks
}

/// The same by the rules with a form of their own, in what is no text: there anything is random.
pub(super) fn forms(path: &str, text: &str, added: &[bool]) -> Vec<Leak> {
    let mut leaks = leaks(path, text, added);
    leaks.retain(|leak| leak.rule != GENERIC);
    leaks
}

/// Whether nothing is looked for in a file of this name: pictures, fonts, archives, what others have written.
pub(super) fn is_passed_over(path: &str) -> bool {
    RULES.as_ref().is_some_and(|rules| rules.everywhere.has_path(path))
}

/// Pictures, sounds and films that gitleaks does not know.
pub(super) fn is_media(path: &str) -> bool {
    const ENDS: &[&str] = &[
        "webp", "avif", "heic", "ico", "icns", "mp3", "mp4", "m4a", "m4v", "mov", "webm", "ogg", "opus", "wav", "flac",
    ];
    path.rsplit_once('.').is_some_and(|(_, end)| ENDS.contains(&end.to_ascii_lowercase().as_str()))
}

/// Whether a value has a secret in it that has a form of its own. What is only random is none here: nothing says what it is for.
/// What stands inside of an address is told by who asks, who knows where it ends.
pub(crate) fn is_one(value: &str) -> bool {
    let text = format!("\"{value}\"");
    let lines = vec![true; text.matches('\n').count() + 1];
    leaks("", &text, &lines).iter().any(|leak| leak.rule != GENERIC && !own::is_own(leak.rule))
}

struct Scan<'t> {
    rules: &'static Rules,
    path: &'t str,
    text: &'t [u8],
    starts: &'t [usize],
    of_tests: bool,
    is_lock: bool,
}

impl Scan<'_> {
    fn part(&self, from: usize, to: usize, added: &[bool], leaks: &mut Vec<Leak>) {
        let part = &self.text[from..to];
        let mut wanted = vec![false; self.rules.all.len()];
        for word in self.rules.words.find_overlapping_iter(part) {
            for rule in &self.rules.by_word[word.pattern().as_usize()] {
                wanted[*rule] = true;
            }
        }
        for (rule, _) in self.rules.all.iter().zip(wanted).filter(|(_, wanted)| *wanted) {
            if rule.path.as_ref().is_some_and(|own| !own.is_in(self.path.as_bytes())) {
                continue;
            }
            let Some(pattern) = rule.pattern.as_ref().and_then(Pattern::get) else { continue };
            for found in pattern.captures_iter(part).take(MOST) {
                let Some(all) = found.get(0) else { continue };
                let secret = match rule.group {
                    0 => found.iter().skip(1).flatten().find(|group| !group.is_empty()).unwrap_or(all),
                    group => found.get(group).unwrap_or(all),
                };
                let first = self.line_of(from + secret.start());
                let last = self.line_of(from + secret.end().saturating_sub(1).max(secret.start()));
                let Some(line) = (first..=last).find(|line| added.get(*line).is_some_and(|added| *added)) else {
                    continue;
                };
                let end = self.starts.get(first + 1).copied().unwrap_or(self.text.len());
                let hit =
                    Hit { secret: secret.as_bytes(), all: all.as_bytes(), line: &self.text[self.starts[first]..end] };
                if !self.is_harmless(rule, &hit, from + secret.start()) {
                    leaks.push(Leak { line: u32::try_from(line + 1).unwrap_or(u32::MAX), rule: &rule.id });
                }
            }
        }
    }

    fn line_of(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at).saturating_sub(1)
    }

    fn is_harmless(&self, rule: &Rule, hit: &Hit<'_>, at: usize) -> bool {
        if rule.entropy > 0.0 && entropy(hit.secret) <= rule.entropy {
            return true;
        }
        if self.rules.everywhere.allows(self.path, hit) || rule.allowed.iter().any(|one| one.allows(self.path, hit)) {
            return true;
        }
        // Ours. Code that puts a key together has none in it.
        if rule.id == "private-key" && !has_run(hit.all, SHORTEST_KEY) {
            return true;
        }
        // A form that is short, in the middle of a picture.
        if rule.id != "private-key" && hit.secret.len() < 100 && self.run_around(at) > LONGEST_RUN {
            return true;
        }
        rule.id == GENERIC && (self.of_tests || self.is_lock || hit.line.len() > LONGEST_LINE || is_named(hit))
    }

    /// How many letters of base64 stand around a place without a break.
    fn run_around(&self, at: usize) -> usize {
        let is_base64 = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
        let before = self.text[..at].iter().rev().take(LONGEST_RUN + 1).take_while(is_base64).count();
        let after = self.text[at..].iter().take(LONGEST_RUN + 1).take_while(is_base64).count();
        before + after
    }
}

/// Whether so many letters of base64 stand in a row.
fn has_run(bytes: &[u8], length: usize) -> bool {
    bytes.split(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='))).any(|run| run.len() >= length)
}

/// Whether what looks random is a UUID, a digest, a version or a name in capitals, and not said to be a secret.
fn is_named(hit: &Hit<'_>) -> bool {
    let secret = hit.secret;
    let name = &hit.all[..hit.all.len().saturating_sub(secret.len())].to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| contains(name, word.as_bytes()));
    let is_uuid = secret.len() == 36
        && secret.iter().enumerate().all(|(at, b)| match at {
            8 | 13 | 18 | 23 => *b == b'-',
            _ => b.is_ascii_hexdigit(),
        });
    let is_digest = matches!(secret.len(), 32 | 40 | 56 | 64 | 96 | 128) && secret.iter().all(u8::is_ascii_hexdigit);
    let is_sum = secret.starts_with(b"sha256-") || secret.starts_with(b"sha512-") || secret.starts_with(b"sha1-");
    let of_a_sum = says(&[
        "hash",
        "sha1",
        "sha2",
        "sha5",
        "digest",
        "checksum",
        "commit",
        "revision",
        "integrity",
        "etag",
        "fingerprint",
        "blob",
    ]);
    let said = says(&["secret", "passw", "token", "api"]);
    let of_code =
        secret.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || matches!(b, b'_' | b'.' | b'-'))
            && secret.contains(&b'_');
    is_sum || of_code || is_uuid && !says(&["secret", "passw"]) || is_digest && (of_a_sum || !said)
}

/// What a tool wrote down of what it took from others: full of digests.
pub(crate) fn is_lock(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.ends_with(".lock")
        || name.ends_with(".lockb")
        || name.ends_with(".lock.json")
        || matches!(
            name,
            "package-lock.json"
                | "npm-shrinkwrap.json"
                | "pnpm-lock.yaml"
                | "go.sum"
                | "go.work.sum"
                | "Package.resolved"
                | "gradle.lockfile"
                | "pylock.toml"
                | ".terraform.lock.hcl"
                | "requirements.lock"
        )
}

/// Shannon's, by the bytes, as gitleaks counts it.
fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in bytes {
        counts[usize::from(*byte)] += 1;
    }
    let all = bytes.len() as f64;
    let part = |count: &u32| f64::from(*count) / all;
    counts.iter().filter(|count| **count > 0).map(part).map(|part| -part * part.log2()).sum()
}

#[cfg(test)]
mod tests;
