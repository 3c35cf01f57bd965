//! Where runners look for tests: one that moves to where none does is run no more, whatever it holds.

use std::collections::{HashMap, HashSet};

use super::tree::hash;
use crate::guard::parse::Language;

/// Words of the new texts of a change, for what opens or names a file.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// Each word, with the text that it stands in; none where it stands in several.
    named: HashMap<u64, Option<usize>>,
    /// What stands behind `mod`, and before `.rs`.
    opened: HashSet<u64>,
    /// Something opens whatever is in a folder.
    all: bool,
}

impl Words {
    pub(super) fn of<'a>(texts: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut words = Self::default();
        for (index, bytes) in texts.enumerate() {
            let text = String::from_utf8_lossy(bytes);
            let mut before = "";
            for word in text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()) {
                let name = hash(word);
                words.named.entry(name).and_modify(|at| *at = at.filter(|at| *at == index)).or_insert(Some(index));
                if before == "mod" {
                    words.opened.insert(name);
                }
                if word == "rs" {
                    words.opened.insert(hash(before));
                }
                words.all |= word == "automod";
                before = word;
            }
        }
        words
    }

    /// Whether another text of the change than this one has the word.
    pub(super) fn names(&self, word: &str, but: usize) -> bool {
        self.named.get(&hash(word)).is_some_and(|at| *at != Some(but))
    }
}

/// Systems and processors for which a file of Go is compiled by its name. Those that CI runs on are left out.
const ELSEWHERE: [&str; 30] = [
    "aix",
    "android",
    "darwin",
    "dragonfly",
    "freebsd",
    "hurd",
    "illumos",
    "ios",
    "js",
    "nacl",
    "netbsd",
    "openbsd",
    "plan9",
    "solaris",
    "wasip1",
    "windows",
    "zos",
    "386",
    "arm",
    "arm64",
    "loong64",
    "mips",
    "mips64",
    "mips64le",
    "mipsle",
    "ppc64",
    "ppc64le",
    "riscv64",
    "s390x",
    "wasm",
];

/// Whether a runner looks for tests in a file of this name, as far as its path tells; else why not.
pub(super) fn unlooked(path: &str) -> Option<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    match Language::of(path)? {
        Language::Python => {
            let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
            let known = stem.starts_with("test") || ["_test", "_tests", "_spec"].iter().any(|end| stem.ends_with(end));
            (!known).then(|| "its name is neither `test_….py` nor `…_test.py`".to_owned())
        }
        Language::Go => {
            let Some(stem) = name.strip_suffix("_test.go") else {
                return Some("its name does not end in `_test.go`".to_owned());
            };
            let off = |part: &&str| *part == "testdata" || part.starts_with(['_', '.']);
            if let Some(part) = path.split('/').find(off) {
                return Some(format!("Go leaves `{part}` out"));
            }
            let end = stem.rsplit_once('_').map_or("", |(_, end)| end);
            let system = ELSEWHERE.contains(&end).then(|| format!("by its name it is compiled for `{end}` alone"));
            system.or_else(|| {
                // `lamp_windows_amd64_test.go`.
                let before =
                    stem.rsplit_once('_').and_then(|(rest, _)| rest.rsplit_once('_')).map_or("", |(_, end)| end);
                (end == "amd64" && ELSEWHERE.contains(&before))
                    .then(|| format!("by its name it is compiled for `{before}` alone"))
            })
        }
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            let known = ["test", "spec", "tests", "e2e", "cy", "e2e-spec"];
            let marked = name.split('.').rev().skip(1).any(|part| known.contains(&part))
                || name.split('.').next().is_some_and(|stem| {
                    ["_test", "-test", "-spec", "_spec"].iter().any(|end| stem.ends_with(end))
                        || stem.starts_with("test-")
                })
                || path.split('/').any(|part| part == "__tests__");
            (!marked).then(|| "its name has no `.test.` or `.spec.` as it had before".to_owned())
        }
        Language::Rust => None,
    }
}

/// Whether a new file of Rust is a program of its own, or a line of the change opens it.
pub(super) fn is_opened(path: &str, words: &Words) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let (stem, folder, above) = match parts.as_slice() {
        [.., above, folder, name] => (*name, *folder, *above),
        [folder, name] => (*name, *folder, ""),
        [name] => (*name, "", ""),
        [] => return true,
    };
    let stem = stem.strip_suffix(".rs").unwrap_or(stem);
    let inside = parts.iter().rev().skip(2).any(|part| *part == "src");
    let own = ["tests", "benches", "examples", "bin"];
    // `tests/a.rs`, `tests/a/main.rs`, `src/bin/a.rs`.
    let is_own = matches!(stem, "lib" | "main" | "build")
        || own.contains(&folder) && (!inside || folder == "bin")
        || stem == "main" && own.contains(&above);
    let module = if stem == "mod" { folder } else { stem };
    is_own || words.all || words.opened.contains(&hash(module))
}

/// Whether a test of JavaScript is found by the name of its file: what node, tap and ava look for stands in a folder too, and
/// mocha's own.
pub(super) fn is_found_by_name(path: &str, text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let in_folder = path.split('/').rev().skip(1).any(|part| matches!(part, "test" | "tests" | "spec" | "specs"));
    let by_folder = ["node:test", "\"tap\"", "'tap'", "\"ava\"", "'ava'", "tape", "mocha", "chai", "should", "assert"];
    !in_folder
        || text.contains("vitest")
        || text.contains("jest")
        || text.contains("expect(") && !by_folder.iter().any(|word| text.contains(word))
}
