//! Links from a criterion to the design, to a test, to a proof at runtime.

use std::collections::{BTreeSet, HashSet};

use super::super::paper::{Paper, Piece};
use super::super::paper::{ids, later, names as sections, text};
use crate::guard::set;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Design,
    Test,
    Runtime,
}

impl Kind {
    pub(super) fn what(self) -> &'static str {
        match self {
            Self::Design => "the design",
            Self::Test => "a test",
            Self::Runtime => "a runtime proof",
        }
    }

    pub(super) fn plain(self) -> &'static str {
        match self {
            Self::Design => "design",
            Self::Test => "test",
            Self::Runtime => "runtime proof",
        }
    }

    fn is_word(self, word: &str) -> bool {
        match self {
            Self::Design => matches!(word, "design" | "designs" | "designed"),
            Self::Test => matches!(
                word,
                "test"
                    | "tests"
                    | "tested"
                    | "testing"
                    | "spec"
                    | "specs"
                    | "backtest"
                    | "doctest"
                    | "proptest"
                    | "pytest"
            ),
            Self::Runtime => {
                matches!(word, "runtime" | "run" | "runs" | "running" | "curl" | "demo" | "smoke" | "log" | "logs")
                    || word.starts_with("proof")
                    || word.starts_with("observ")
            }
        }
    }
}

/// What is a proof at runtime by itself, and what a column of such is called.
const SHOWN: &[&str] = &["recording", "report", "screencast", "screenshot", "screenshots", "transcript", "video"];
const COLUMNS: &[&str] = &["evidence", "proven", "shown"];

const KINDS: [Kind; 3] = [Kind::Design, Kind::Test, Kind::Runtime];

/// Words beside one of these that name nothing.
#[rustfmt::skip]
const NOTHING: &[&str] = &[
    "a", "an", "and", "any", "are", "be", "by", "can", "done", "exists", "follow", "for", "get", "has", "have",
    "in", "is", "it", "its", "link", "missing", "no", "none", "not", "nothing", "of", "ok", "or", "path", "plan",
    "planned", "possible", "someday", "the", "there", "this", "to", "too", "we", "will", "with", "written", "yes",
];

/// Words that are no link where nothing else stands.
const ONLY: &[&str] = &["automatable", "automated", "same", "testable", "x"];

/// Words that say why there is none.
#[rustfmt::skip]
const HOPELESS: &[&str] = &[
    "hard", "impossible", "needed", "necessary", "needless", "pointless", "unnecessary", "useless",
];

/// What the design names: files, functions, types. Naming one of them is a link to it.
#[derive(Debug, Default)]
pub(super) struct Named {
    names: HashSet<String>,
    /// Everything that it speaks of, in small letters.
    words: BTreeSet<String>,
}

impl Named {
    pub(super) fn in_design(paper: Option<&Paper>) -> Self {
        let all = paper.map(Paper::everything).unwrap_or_default();
        let names = all.split(|c: char| !is_of_name(c)).flat_map(parts).map(str::to_owned).collect();
        Self { names, words: text::names(&all) }
    }

    /// `AC-2 is carried by the queue, tested by …`: what stands before the first word of a test or a proof is what the design
    /// speaks of.
    fn is_told(&self, item: &str) -> bool {
        const VERBS: &[&str] =
            &["carried", "covered", "handled", "implemented", "met", "realised", "realized", "rests"];
        let other = |word: &str| {
            is_test_path(word)
                || text::words(word).iter().any(|word| Kind::Test.is_word(word) || Kind::Runtime.is_word(word))
        };
        let before: Vec<&str> = item.split_whitespace().take_while(|word| !other(word)).collect();
        let before = ids::without(&before.join(" "));
        let verb = text::words(&before).iter().position(|word| VERBS.contains(&word.as_str()));
        verb.is_some() && text::names(&before).iter().any(|name| self.words.contains(name))
    }

    /// Whether an item names something of the design that is no test: in code, or a word that can only be a name.
    fn is_in(&self, item: &Piece) -> bool {
        let all = item.all_text();
        let written = all.split_whitespace().filter(|word| is_technical(word));
        let coded = item.spans.iter().map(String::as_str).filter(|span| !is_command(span));
        self.is_told(&all)
            || coded.chain(written).any(|name| {
                // `next_number()`, `Ledger.tap`, `src/feed.js`
                let bare = name.split('(').next().unwrap_or(name).trim_matches(|c: char| !is_of_name(c) || c == '.');
                let known = |part: &str| self.names.contains(part);
                !bare.is_empty() && !is_test_path(name) && bare.chars().all(is_of_name) && parts(bare).any(known)
            })
    }
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | ':' | '-')
}

/// A path or a qualified name, and its last part.
fn parts(name: &str) -> impl Iterator<Item = &str> {
    let name = name.trim_matches(['.', ':', '-', '/']);
    let last = name.rsplit(['/', ':']).next().filter(|last| *last != name);
    // `score.Load` is the `Load` of `score`; `score.rs` is a file.
    let member = name.rsplit_once('.').map(|(_, member)| member).filter(|member| member.len() > 4);
    let long = |part: &&str| part.len() > 2 && part.contains(char::is_alphabetic);
    std::iter::once(name).chain(last).chain(member).filter(long)
}

/// `feed.js`, `next_number`, `Session::wpm`, `nextNumber`, `plan()`
fn is_technical(word: &str) -> bool {
    let called = word.contains("()");
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    let inner = |mark: &str| word.split(mark).filter(|part| part.contains(char::is_alphabetic)).count() > 1;
    let humps = word.chars().zip(word.chars().skip(1)).any(|(one, next)| one.is_lowercase() && next.is_uppercase());
    humps || called || ["_", ".", "::", "/"].iter().any(|mark| inner(mark))
}

/// Words that say that there is one, and not which.
#[rustfmt::skip]
const YES: &[&str] = &["above", "both", "covered", "key", "ok", "planned", "see", "x", "y", "yes"];
/// Those of them that lead to where it is named.
const THERE: &[&str] = &["above", "key", "table"];
const TICKS: [char; 9] = ['✓', '✔', '✅', '☑', '🗸', '🟢', '●', '⬤', '■'];
/// What a column of tests may be called.
const TESTS: &[&str] = &["automated", "e2e", "integration", "property", "unit"];

#[rustfmt::skip]
const DOUBT: &[&str] = &[
    "eventually", "later", "maybe", "no", "none", "not", "nothing", "partially", "partly", "someday", "soon", "somehow",
];

/// `yes`, `✔`, `planned`, `a test and a proof, as above`: that there is one. Key Links then has to name it.
pub(super) fn affirms(item: &Piece, kind: Kind) -> bool {
    let yes = |words: &[String]| words.iter().any(|word| YES.contains(&word.as_str()));
    let open = |words: &[String]| {
        let doubt = |word: &String| DOUBT.contains(&word.as_str()) || HOPELESS.contains(&word.as_str());
        let beside: Vec<String> = words.iter().filter(|word| *word != "above" && *word != "see").cloned().collect();
        words.iter().any(doubt)
            || text::holds_place::<&str>(&beside, &["test", "proof", "runtime"])
            || is_put_off(&without_kinds(words))
    };
    let ticked = |text: &str| text.contains(TICKS);
    if !item.cells.is_empty() {
        return item.cells.iter().any(|cell| {
            let header = text::words(&cell.header);
            let of_tests = |word: &String| kind == Kind::Test && TESTS.contains(&word.as_str());
            let column = header
                .iter()
                .any(|word| kind.is_word(word) || of_tests(word) || word.starts_with("cover") || word == "planned");
            let words = text::words(&cell.text);
            let says = yes(&words) || words.iter().any(|word| kind.is_word(word));
            column && ids::written(&cell.text).is_empty() && (ticked(&cell.text) || says && !open(&words))
        });
    }
    let all = ids::without(&item.all_text());
    let words = text::words(&all);
    let of_kind = text::clauses(&all).into_iter().any(|clause| {
        let words = text::words(clause);
        words.iter().any(|word| kind.is_word(word)) && !denies(&words, kind) && !open(&words)
    });
    let leads = words.iter().any(|word| THERE.contains(&word.as_str()));
    let of_all = !words.iter().any(|word| KINDS.iter().any(|kind| kind.is_word(word))) && leads && !open(&words);
    of_kind || of_all || item.ticked && words.is_empty() || ticked(&all) && words.is_empty()
}

pub(super) fn has(item: &Piece, kind: Kind, named: &Named) -> bool {
    if kind == Kind::Design && named.is_in(item) {
        return true;
    }
    let in_cells = item.cells.iter().any(|cell| {
        let is_one = |word: &String| kind.is_word(word) || kind == Kind::Runtime && COLUMNS.contains(&word.as_str());
        let column = text::words(&cell.header).iter().any(is_one);
        // `no_gaps` is a test's name.
        let none = text::is_none(&cell.text) && text::words(&cell.text).len() <= 2 && !cell.text.contains('_');
        let words = text::words(&cell.text);
        let says = |word: &String| !NOTHING.contains(&word.as_str()) && !ONLY.contains(&word.as_str());
        let filled =
            text::says_something(&cell.text, &[]) && !none && words.iter().any(says) && !later::only_puts_off(&words);
        filled && (column && !denies(&text::words(&cell.text), kind) || links(&cell.text, kind))
    });
    let in_text = || {
        let all = item.all_text();
        text::clauses(&all).into_iter().any(|clause| links(clause, kind))
            || in_order(&all, kind)
            || in_pairs(&all, kind)
    };
    in_cells
        || item.cells.is_empty() && in_text()
        || item.targets.iter().any(|target| kind == Kind::Test && is_test_path(target))
        || kind == Kind::Runtime && item.spans.iter().any(|span| is_command(span))
}

/// `AC-1 → Architecture → tests/a.rs → a recording`: what stands in order needs no label.
fn in_order(item: &str, kind: Kind) -> bool {
    #[rustfmt::skip]
    let marks: [&[&str]; 8] = [
        &["→"], &["->"], &["=>"], &[" | "], &[" / "], &[" · "], &["⟶"],
        &["→", "⟶", "⇒", "➜", "->", "=>", " | ", " · ", " • ", ";"],
    ];
    marks.iter().any(|marks| {
        let one = marks.iter().fold(item.to_owned(), |item, mark| item.replace(mark, "\u{1}"));
        let parts: Vec<String> = one.split('\u{1}').map(ids::without).collect();
        let parts: Vec<&String> = parts.iter().filter(|part| part.contains(char::is_alphanumeric)).collect();
        let at = KINDS.iter().position(|one| *one == kind).and_then(|at| parts.get(at));
        let words = at.map(|part| text::words(part)).unwrap_or_default();
        parts.len() == KINDS.len()
            && at.is_some_and(|part| text::says_something(part, &[]) && !text::is_none(part))
            && words.iter().any(|word| !NOTHING.contains(&word.as_str()) && !ONLY.contains(&word.as_str()))
            && !later::only_puts_off(&words)
            && !is_put_off(&without_kinds(&words))
            && !denies(&words, kind)
    })
}

/// `to be decided after the build`, `not planned yet`
fn is_put_off(beside: &[String]) -> bool {
    text::holds_place::<&str>(beside, &["planned"]) || later::is_marked(&beside.join(" "))
}

fn without_kinds(words: &[String]) -> Vec<String> {
    words.iter().filter(|word| !KINDS.iter().any(|kind| kind.is_word(word))).cloned().collect()
}

/// `AC-1: test_edges + radio clock`: beside a test stands what shows it at runtime.
fn in_pairs(item: &str, kind: Kind) -> bool {
    let two = [" + ", " / "].iter().find_map(|mark| item.split_once(mark));
    let Some((test, proof)) = two.filter(|_| kind == Kind::Runtime) else { return false };
    let words = text::words(proof);
    links(test, Kind::Test)
        && text::says_something(proof, &[])
        && !text::is_none(proof)
        && words.iter().any(|word| names(word))
        && !later::only_puts_off(&words)
        && !denies(&words, kind)
}

/// `no test`, `without a proof`, `is impossible`
fn denies(words: &[String], kind: Kind) -> bool {
    let hopeless = |word: &&String| HOPELESS.contains(&word.as_str());
    words.iter().enumerate().any(|(at, word)| kind.is_word(word) && text::is_denied(words, at))
        || words.iter().any(|word| hopeless(&word)) && !words.iter().any(|word| !hopeless(&word) && names(word))
}

/// Whether a word beside those of the kinds names something.
fn names(word: &str) -> bool {
    !KINDS.iter().any(|kind| kind.is_word(word)) && !NOTHING.contains(&word)
}

fn links(clause: &str, kind: Kind) -> bool {
    let clause = ids::without(&clause.replace("n/a", " ").replace("N/A", " "));
    let words = text::words(&clause);
    // `runtime proof: to be determined`, `test not planned yet`
    let labelled = clause.trim_start_matches(|c: char| !c.is_alphanumeric());
    let behind = labelled.split_once([':', '—', '–', '=']).map_or("", |(_, value)| value);
    let empty = behind.contains(char::is_alphanumeric) && !text::says_something(behind, &[]);
    let beside = without_kinds(&words);
    if denies(&words, kind) || empty || is_put_off(&beside) {
        return false;
    }
    let others: Vec<String> = words.iter().filter(|word| names(word)).cloned().collect();
    let named = text::says_something(&others.join(" "), &[]);
    match kind {
        Kind::Design if names_section(&words) => return true,
        Kind::Test if clause.split_whitespace().any(is_test_path) => return true,
        Kind::Runtime if words.iter().any(|word| SHOWN.contains(&word.as_str())) => return true,
        _ => {}
    }
    // In `Forecast.run_out` nothing is run.
    let plain = clause.split_whitespace().filter(|word| kind == Kind::Test || !is_technical(word));
    named && plain.flat_map(text::words).any(|word| kind.is_word(&word))
}

fn names_section(words: &[String]) -> bool {
    sections::DESIGN.iter().any(|name| {
        std::iter::once(&name.name).chain(name.others).any(|name| text::has_phrase(words, &name.to_lowercase()))
    })
}

/// `tests/login.rs`, `login_test.go`, `cypress/login.js`, and what documents call a test otherwise: `login::tests::ac_1`.
fn is_test_path(word: &str) -> bool {
    let path = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '/');
    if path.contains(['/', '.']) && !path.contains("://") && set::is_test(path.trim_end_matches('/')) {
        return true;
    }
    let word = path.to_lowercase();
    (word.contains("test") || word.contains("spec")) && word.contains(['/', '.', '_']) && !word.contains("://")
}

/// A command in code: a program and its arguments, which is no test and no signature.
fn is_command(span: &str) -> bool {
    let words: Vec<&str> = span.split_whitespace().collect();
    let [program, rest @ ..] = &words[..] else { return false };
    let runs = program.starts_with("./")
        || program
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_' | b'/' | b'.' | b'$'));
    let tests = text::words(span).iter().any(|word| Kind::Test.is_word(word));
    runs && !tests
        && !span.contains(['(', ';'])
        && !program.ends_with(':')
        && (!rest.is_empty() || program.starts_with("./"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        let paper = super::super::Paper::read(&format!("# Key Links\n- {text}\n"), sections::READINESS).unwrap();
        let item = &paper.section("Key Links").unwrap().items()[0];
        KINDS.into_iter().filter(|kind| has(item, *kind, &Named::default())).collect()
    }

    #[test]
    fn a_link_names_what_it_leads_to() {
        use Kind::{Design, Runtime, Test};
        assert_eq!(
            kinds("AC-1: design Interfaces, tests/test_dimmer.py, `python -m dimmer 3`"),
            [Design, Test, Runtime]
        );
        assert_eq!(
            kinds("AC-1: design: dimmer; test: dims by one; runtime: the lantern dims"),
            [Design, Test, Runtime]
        );
        assert_eq!(kinds("AC-1: Architecture, login.spec.ts, curl localhost/levels"), [Design, Test, Runtime]);
        assert_eq!(kinds("AC-1 is done"), []);
        assert_eq!(kinds("AC-1: test and run"), []);
        assert_eq!(kinds("AC-1: design: TBD, no test, proof: n/a"), []);
        assert_eq!(kinds("AC-1: `cargo test login`"), [Test]);
        assert_eq!(kinds("AC-1: no test needed, tests are hard; runtime proof is impossible to get"), []);
        assert_eq!(kinds("AC-1: a test will be written; demo someday, design: unknown"), []);
        assert_eq!(kinds("AC-1: a test of impossible dates"), [Test]);
        assert_eq!(kinds("AC-1: [the test](tests/a.rs)"), [Test]);
        assert_eq!(kinds("AC-1: Architecture, cypress/login.js, curl localhost/levels"), [Design, Test, Runtime]);
        assert_eq!(kinds("AC-1 → Architecture → test/open.test.ts → recording of a phone"), [Design, Test, Runtime]);
        assert_eq!(kinds("AC-1: runtime proof: to be determined"), []);
        assert_eq!(kinds("AC-1: runtime proof: not yet known; test not planned yet"), []);
        assert_eq!(kinds("AC-1: proof: will be added once staging exists"), []);
    }
}
