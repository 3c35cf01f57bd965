//! Reading typed values out of the tree, going on after each mistake.

use std::ops::RangeInclusive;

use super::problem::{MAX_PROBLEMS, Problem, excerpt, join};
use super::types::Word;
use super::yaml::{At, Key, Kind, Node, Scalar, scalar};

/// A node and where it stands.
#[derive(Clone)]
pub(crate) struct Spot<'n> {
    pub(crate) node: &'n Node,
    pub(crate) path: String,
    /// The key's position; for an item of a list, its own.
    pub(crate) key: At,
}

impl Spot<'_> {
    /// Where to point: at the value, or at the key when there is no value to point at.
    pub(crate) fn at(&self) -> At {
        if self.node.is_nothing() { self.key } else { self.node.at }
    }
}

pub(crate) struct Fields<'n>(Vec<(&'n str, Spot<'n>)>);

impl<'n> Fields<'n> {
    pub(crate) fn get(&self, key: &str) -> Option<&Spot<'n>> {
        self.0.iter().find(|(name, _)| *name == key).map(|(_, spot)| spot)
    }
}

#[derive(Default)]
pub(crate) struct Decoder {
    pub(crate) problems: Vec<Problem>,
}

impl Decoder {
    pub(crate) fn problem(&mut self, at: At, path: &str, says: impl Into<String>, next: impl Into<String>) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Problem::at(at, path, says, next));
        }
    }

    pub(crate) fn warning(&mut self, at: At, path: &str, says: &str, next: &str) {
        let before = self.problems.len();
        self.problem(at, path, says, next);
        for problem in &mut self.problems[before..] {
            problem.severity = "warning";
        }
    }

    fn expected(&mut self, spot: &Spot<'_>, what: &str, next: impl Into<String>) {
        let found = describe(spot.node);
        self.problem(spot.at(), &spot.path, format!("expected {what}, found {found}"), next);
    }

    /// The fields of a mapping. Keys that do not exist, and keys that do not exist yet, are problems.
    pub(crate) fn map<'n>(
        &mut self,
        spot: &Spot<'n>,
        keys: &[&'static str],
        later: &[&'static str],
    ) -> Option<Fields<'n>> {
        let Kind::Map(entries) = &spot.node.kind else {
            self.expected(spot, "a mapping", format!("Write it as `key: value`, with the keys {}", list(keys)));
            return None;
        };
        let mut fields = Vec::new();
        for (key, node) in entries {
            let path = join(&spot.path, &key.name);
            if keys.contains(&key.name.as_str()) {
                fields.push((key.name.as_str(), Spot { node, path, key: key.at }));
            } else if later.contains(&key.name.as_str()) {
                self.not_yet(key.at, &path, &path);
            } else {
                let (says, next) = unknown("key", &key.name, keys);
                self.problem(key.at, &path, says, next);
            }
        }
        Some(Fields(fields))
    }

    /// The entries of a mapping whose keys are anybody's.
    pub(crate) fn entries<'n>(&mut self, spot: &Spot<'n>, of: &str, max: usize) -> Option<Vec<(&'n str, Spot<'n>)>> {
        let Kind::Map(entries) = &spot.node.kind else {
            self.expected(spot, &format!("a mapping of {of}"), "Write it as `key: value`");
            return None;
        };
        if entries.len() > max {
            let says = format!("the mapping has {} entries; at most {max} are allowed", entries.len());
            self.problem(spot.node.at, &spot.path, says, "Shorten it");
            return None;
        }
        let entry = |(key, node): &'n (Key, Node)| {
            (key.name.as_str(), Spot { node, path: join(&spot.path, &key.name), key: key.at })
        };
        Some(entries.iter().map(entry).collect())
    }

    /// Something of the vocabulary that this version does not act on. Never silently accepted: a limit that is
    /// written down and not kept is worse than none.
    pub(crate) fn not_yet(&mut self, at: At, path: &str, what: &str) {
        self.problem(
            at,
            path,
            format!("`{what}` is not available in this version of Phasegate; remove it"),
            format!("Remove `{what}`"),
        );
    }

    pub(crate) fn items<'n>(&mut self, spot: &Spot<'n>, of: &str, max: usize) -> Option<Vec<Spot<'n>>> {
        self.items_like(spot, of, max, |text| format!("`[{text}]`"))
    }

    /// The same; `like` shows how a list with what stands there instead of one is written.
    pub(crate) fn items_like<'n>(
        &mut self,
        spot: &Spot<'n>,
        of: &str,
        max: usize,
        like: impl Fn(&str) -> String,
    ) -> Option<Vec<Spot<'n>>> {
        let Kind::List(items) = &spot.node.kind else {
            let next = match &spot.node.kind {
                Kind::Scalar { text, .. } if !spot.node.is_nothing() => {
                    format!("Write it as a list: {}", like(&excerpt(text)))
                }
                _ => "Write it as a list: `[…]`, or leave the key out".to_owned(),
            };
            self.expected(spot, &format!("a list of {of}"), next);
            return None;
        };
        if items.len() > max {
            let says = format!("the list has {} items; at most {max} are allowed", items.len());
            self.problem(spot.node.at, &spot.path, says, "Shorten the list");
            return None;
        }
        let spot = |(i, node): (usize, &'n Node)| Spot { node, path: format!("{}[{i}]", spot.path), key: node.at };
        Some(items.iter().enumerate().map(spot).collect())
    }

    pub(crate) fn text<'n>(&mut self, spot: &Spot<'n>) -> Option<&'n str> {
        if let Kind::Scalar { text, plain } = &spot.node.kind
            && scalar(text, *plain) == Scalar::Text
        {
            return Some(text);
        }
        let next = match &spot.node.kind {
            Kind::Scalar { text, .. } if !spot.node.is_nothing() => format!("Put it in quotes: \"{}\"", excerpt(text)),
            _ => "Give a text, or leave the key out".to_owned(),
        };
        self.expected(spot, "text", next);
        None
    }

    pub(crate) fn boolean(&mut self, spot: &Spot<'_>) -> Option<bool> {
        if let Kind::Scalar { text, plain } = &spot.node.kind
            && let Scalar::Bool(value) = scalar(text, *plain)
        {
            return Some(value);
        }
        self.expected(spot, "true or false", "Write `true` or `false`, without quotes");
        None
    }

    pub(crate) fn number(&mut self, spot: &Spot<'_>, range: RangeInclusive<u64>) -> Option<u64> {
        let what = format!("a whole number from {} to {}", range.start(), range.end());
        let next = format!("Write {what}, in plain digits");
        if let Kind::Scalar { text, plain: true } = &spot.node.kind
            && scalar(text, true) == Scalar::Number
        {
            // `012` is ten to some readers and twelve to others, so it is neither here.
            let canonical = text == "0" || !text.starts_with('0');
            if canonical
                && text.bytes().all(|b| b.is_ascii_digit())
                && let Ok(value) = text.parse::<u64>()
                && range.contains(&value)
            {
                return Some(value);
            }
        }
        self.expected(spot, &what, next);
        None
    }

    pub(crate) fn word<T: Word>(&mut self, spot: &Spot<'_>) -> Option<T> {
        let words: Vec<&'static str> = T::ALL.iter().map(|(word, _)| *word).collect();
        let Kind::Scalar { text, .. } = &spot.node.kind else {
            self.expected(spot, &list_or(&words), format!("Write {}", list_or(&words)));
            return None;
        };
        if let Some((_, value)) = T::ALL.iter().find(|(word, _)| word == text) {
            return Some(*value);
        }
        if T::LATER.contains(&text.as_str()) {
            let what = format!("{}: {text}", spot.path);
            let says = format!("`{what}` is not available in this version of Phasegate; remove it");
            self.problem(spot.at(), &spot.path, says, format!("Use {}, or remove it", list_or(&words)));
        } else if spot.node.is_nothing() || text.is_empty() {
            self.expected(spot, &list_or(&words), format!("Write {}, or leave the key out", list_or(&words)));
        } else {
            let (says, next) = unknown("value", text, &words);
            self.problem(spot.at(), &spot.path, says, next);
        }
        None
    }

    /// A list of words without doubles.
    pub(crate) fn words<T: Word + PartialEq>(&mut self, spot: &Spot<'_>, of: &str) -> Option<Vec<T>> {
        let mut values = Vec::new();
        for item in self.items(spot, of, 50)? {
            let Some(value) = self.word::<T>(&item) else { continue };
            if values.contains(&value) {
                self.problem(item.at(), &item.path, "this stands in the list twice", "Remove one of the two");
            } else {
                values.push(value);
            }
        }
        Some(values)
    }
}

fn describe(node: &Node) -> String {
    match &node.kind {
        Kind::List(_) => "a list".to_owned(),
        Kind::Map(_) => "a mapping".to_owned(),
        Kind::Scalar { text, plain } => match scalar(text, *plain) {
            Scalar::Nothing => "nothing".to_owned(),
            Scalar::Bool(value) => format!("the boolean `{value}`"),
            Scalar::Number => format!("the number `{}`", excerpt(text)),
            Scalar::Text if text.is_empty() => "an empty text".to_owned(),
            Scalar::Text => format!("the text `{}`", excerpt(text)),
        },
    }
}

/// What to say about a key or value that does not exist: the near miss, or all there are.
fn unknown(what: &str, given: &str, known: &[&'static str]) -> (String, String) {
    let says = format!("unknown {what} `{}`", excerpt(given));
    let near = (given.len() <= 64)
        .then(|| known.iter().map(|k| (strsim::damerau_levenshtein(given, k), *k)).min())
        .flatten()
        // Of a short word half the letters are no near miss: `hi` is more likely to be `high` than `nit`.
        .filter(|(distance, word)| *distance <= 2 && *distance * 2 < word.len());
    match near {
        Some((_, word)) => (format!("{says}; did you mean `{word}`?"), format!("Write `{word}`")),
        None => (says, format!("Use {}", list_or(known))),
    }
}

fn list(words: &[&str]) -> String {
    words.iter().map(|w| format!("`{w}`")).collect::<Vec<_>>().join(", ")
}

fn list_or(words: &[&str]) -> String {
    match words {
        [] => "nothing".to_owned(),
        [one] => format!("`{one}`"),
        [first @ .., last] => format!("{} or `{last}`", list(first)),
    }
}
