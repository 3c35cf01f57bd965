//! The scope cap: a sentence for people, and globs for us.

use std::fmt;

use globset::GlobSet;
use serde::{Deserialize, Serialize};

use super::{LONGEST, line};
use crate::policy::globs;

/// What may be looked at and changed for a slice: `The parser. in: src/parser/**, tests/** out: src/parser/generated/**`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cap {
    pub says: String,
    pub within: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
}

/// Why a text is no scope cap.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoCap {
    #[error("the sentence before `in:` is missing")]
    NoSentence,
    #[error("it names no paths: `in:` with at least one glob is missing")]
    NoPaths,
    #[error("`{0}` stands in it twice")]
    Twice(&'static str),
    #[error("`{0}` is no glob of paths in the repository")]
    Glob(String),
    #[error("`{0}` has everything in it, which is no cap")]
    Everything(String),
    #[error("`{0}` is several words: put a comma between globs, and quotation marks around one that has a blank in it")]
    Blank(String),
    #[error("a quotation mark in `{0}` does not stand around a whole glob")]
    Marks(String),
    #[error("it has more than {MOST_GLOBS} globs")]
    TooMany,
    #[error("it is longer than {LONGEST} characters")]
    TooLong,
}

const MOST_GLOBS: usize = 50;
/// Paths that nobody has: what matches one of them matches everything.
const NOWHERE: [&str; 2] = ["q7~x/k9~y/z3~w.v1~u", "z3~w.v1~u"];
/// Paths of all shapes that mean nothing. A cap that has a third of them has what is left out of it for show.
const SHAPES: [&str; 48] = [
    "kvo.tqz",
    "Bxuf",
    ".wqrc",
    "_zeg.nn",
    "mip-qo.pdw",
    "9hd.aae",
    "xyu",
    "GJW.vmo",
    "ofe/rik.sbt",
    "lun/Dwe.x7",
    "zzi/.hum",
    "q4/ybo.fek",
    "tov_a/ist.uu",
    "Hap/mno",
    "cyr/eew.lok",
    "vee/0k.jgi",
    "nud/phs.wo",
    "iba/xer.Zt",
    "djo/kit/uza.rmp",
    "eru/osf/lagh.yd",
    "wab/c3/nyv",
    "yim/ulk/Teg.cbx",
    "pfo/jaz/-sh.eo",
    "ske/ova/vib.qq",
    "rau/wen/fjo.kh",
    "uth/gil/azt.ovp",
    "aip/zov/dre.il",
    "hoz/.bne/kfy.ws",
    "jyd/mup/ixa.gr",
    "fen/tsa/hcu.za",
    "gwo/ire/pjy.n4",
    "baz/yok/_ul.mf",
    "oxi/eda/sfrw.ja",
    "xum/kla/wov/ehd.ty",
    "mev/quo/ria/zbs.pu",
    "Tih/nwa/cyo/gle.xa",
    "luz/ofa/Hjek/sim.bw",
    "ekk/vry/uso/7dn.co",
    "zaf/bol/tuy/ixh.rn",
    "ivw/hag/emo/peq.kd",
    "sod/jux/nai/lyf.vz",
    "wyr/gek/ota/buz.hi",
    "cau/fim/xop/dve.sl",
    "nok/yub/lez/war/qih.oj",
    "ryg/asi/vod/kem/ufa.tb",
    "puw/ize/hoc/jar/myl.ex",
    "dax/tou/ben/fiq/ogs",
    "a/b/c/d/e/f/g.h",
];

impl Cap {
    /// A cap that nobody has declared: nothing is in it, and nothing is held against it.
    pub fn undeclared() -> Self {
        Self { says: "Nobody has declared one.".to_owned(), ..Self::default() }
    }

    pub fn is_declared(&self) -> bool {
        !self.within.is_empty()
    }

    /// Reads a cap, and says why it is none.
    pub fn declared(text: &str) -> Result<Self, NoCap> {
        let cap = Self::read(text)?;
        if cap.within.is_empty() {
            return Err(NoCap::NoPaths);
        }
        Ok(cap)
    }

    /// The same, where it may name no paths.
    pub(super) fn read(text: &str) -> Result<Self, NoCap> {
        let text = line(text);
        if text.chars().count() > LONGEST {
            return Err(NoCap::TooLong);
        }
        let places = |word: &'static str| -> Result<Option<usize>, NoCap> {
            let mut found = starts(&text, word);
            match (found.next(), found.next()) {
                (_, Some(_)) => Err(NoCap::Twice(word)),
                (at, None) => Ok(at),
            }
        };
        let (within, without) = (places("in:")?, places("out:")?);
        let first = within.into_iter().chain(without).min().unwrap_or(text.len());
        let part = |at: Option<usize>, word: &str, other: Option<usize>| -> Result<Vec<String>, NoCap> {
            let Some(at) = at else { return Ok(Vec::new()) };
            let end = other.filter(|other| *other > at).unwrap_or(text.len());
            listed(&text[at + word.len()..end])
        };
        let cap = Self {
            says: text[..first].trim_end_matches([';', ',', '(', ' ']).trim_start().to_owned(),
            within: part(within, "in:", without)?,
            without: part(without, "out:", within)?,
        };
        if cap.says.is_empty() {
            return Err(NoCap::NoSentence);
        }
        cap.check()?;
        Ok(cap)
    }

    fn check(&self) -> Result<(), NoCap> {
        if self.within.len() + self.without.len() > MOST_GLOBS {
            return Err(NoCap::TooMany);
        }
        for glob in self.within.iter().chain(&self.without) {
            let outside = glob.starts_with('/') || glob.split('/').any(|part| part == "..") || glob.contains('\\');
            let outside = outside || glob.contains(['"', '`', '“', '”']);
            // Written down, it would begin a list.
            let marked = ["in:", "out:"].iter().any(|mark| starts(glob, mark).next() == Some(0));
            if outside || marked || globs([glob]).is_err() {
                return Err(NoCap::Glob(glob.clone()));
            }
        }
        let everything = |glob: &&String| {
            let globs = Globs::of(std::slice::from_ref(*glob));
            NOWHERE.iter().any(|path| globs.has(path))
        };
        if let Some(glob) = self.within.iter().find(everything) {
            return Err(NoCap::Everything(glob.clone()));
        }
        let (within, without) = (Globs::of(&self.within), Globs::of(&self.without));
        let has = SHAPES.iter().filter(|path| within.has(path) && !without.has(path)).count();
        if has * 3 > SHAPES.len() {
            return Err(NoCap::Everything(self.within.join(", ")));
        }
        Ok(())
    }

    /// Whether a path is in it.
    pub fn allows(&self, path: &str) -> bool {
        Globs::of(&self.within).has(path) && !Globs::of(&self.without).has(path)
    }
}

/// Globs that are asked about many paths.
struct Globs<'g> {
    patterns: &'g [String],
    set: GlobSet,
}

impl<'g> Globs<'g> {
    fn of(patterns: &'g [String]) -> Self {
        // What does not compile was refused before.
        Self { patterns, set: globs(patterns).unwrap_or_default() }
    }

    /// A glob without a star stands for a file, or for a folder with all that is in it.
    fn has(&self, path: &str) -> bool {
        let below = |pattern: &String| {
            let folder = pattern.trim_end_matches('/');
            path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.set.is_match(path) || self.patterns.iter().any(below)
    }
}

/// Where a word stands as one.
fn starts<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = usize> + 't {
    let apart = |at: usize| at == 0 || text[..at].ends_with([' ', ',', ';', '(']);
    // Letter case has no meaning, and these are ASCII, so the places are the same.
    let lower = text.to_ascii_lowercase();
    let found: Vec<usize> = lower.match_indices(word).map(|(at, _)| at).filter(|at| apart(*at)).collect();
    found.into_iter()
}

/// Globs with commas, or `and`, between them. Quotation marks keep blanks and commas together, braces keep commas together; a blank
/// elsewhere may mean either, and is refused.
fn listed(text: &str) -> Result<Vec<String>, NoCap> {
    let mut all: Vec<String> = Vec::new();
    for part in parts(text)? {
        let mut apart = true;
        for word in words(&part)? {
            let glob = bare(&word);
            if glob.eq_ignore_ascii_case("and") {
                apart = true;
                continue;
            }
            if glob.is_empty() || glob.eq_ignore_ascii_case("none") {
                continue;
            }
            if !std::mem::replace(&mut apart, false) {
                return Err(NoCap::Blank(part.trim().to_owned()));
            }
            if !all.iter().any(|known| known == glob) {
                all.push(glob.to_owned());
            }
        }
    }
    Ok(all)
}

/// The mark that closes what this one opens.
fn closing(open: char) -> Option<char> {
    match open {
        '"' | '`' | '\'' => Some(open),
        '“' => Some('”'),
        _ => None,
    }
}

/// A list at its commas, but for those in quotation marks and in braces.
fn parts(text: &str) -> Result<Vec<String>, NoCap> {
    cut(text, |c| c == ',')
}

/// A part at its blanks, but for those in quotation marks.
fn words(text: &str) -> Result<Vec<String>, NoCap> {
    cut(text, |c| c == ' ')
}

fn cut(text: &str, at: impl Fn(char) -> bool) -> Result<Vec<String>, NoCap> {
    let (mut all, mut one) = (Vec::new(), String::new());
    let (mut inside, mut braces) = (None, 0_u32);
    let mut begins = true;
    for c in text.chars() {
        match inside {
            Some(close) if c == close => inside = None,
            Some(_) => {}
            // An apostrophe stands within a word.
            None if begins && closing(c).is_some() => inside = closing(c),
            None if matches!(c, '"' | '`' | '“') => return Err(NoCap::Marks(text.trim().to_owned())),
            None if c == '{' => braces += 1,
            None if c == '}' => braces = braces.saturating_sub(1),
            None if at(c) && braces == 0 => {
                all.push(std::mem::take(&mut one));
                begins = true;
                continue;
            }
            None => {}
        }
        begins = matches!(c, ' ' | ',' | '(') && inside.is_none();
        one.push(c);
    }
    if inside.is_some() {
        return Err(NoCap::Marks(text.trim().to_owned()));
    }
    all.push(one);
    Ok(all)
}

/// A glob without what stands around it in a sentence, as often as it does: what is left is read as it is.
fn bare(part: &str) -> &str {
    let mut glob = part;
    loop {
        let inner = glob.trim_matches(['`', '"', '\'', '“', '”', ')', ';']);
        let inner = inner.strip_prefix("./").unwrap_or(inner);
        // The full stop of a sentence.
        let stop = inner.strip_suffix('.').filter(|rest| !rest.is_empty() && !rest.ends_with(['.', '/']));
        let inner = stop.unwrap_or(inner);
        if inner == glob {
            return glob;
        }
        glob = inner;
    }
}

/// Whether a glob is read back as it is only with quotation marks around it.
fn needs_marks(glob: &str) -> bool {
    parts(glob).is_ok_and(|parts| parts.len() > 1) || glob.contains(' ')
}

impl fmt::Display for Cap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |glob: &String| match needs_marks(glob) {
            true if glob.contains('\'') => format!("\"{glob}\""),
            true => format!("'{glob}'"),
            false => glob.clone(),
        };
        let list = |globs: &[String]| match globs {
            [] => "none".to_owned(),
            _ => globs.iter().map(shown).collect::<Vec<_>>().join(", "),
        };
        write!(f, "{} in: {} out: {}", self.says, list(&self.within), list(&self.without))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = "The parser and its tests. in: src/parser/**, tests/parser/** out: src/parser/generated/**";

    fn cap(text: &str) -> Cap {
        Cap::declared(text).unwrap()
    }

    #[test]
    fn a_cap_is_a_sentence_and_globs() {
        let read = cap(EXAMPLE);
        assert_eq!(read.says, "The parser and its tests.");
        assert_eq!(read.within, ["src/parser/**", "tests/parser/**"]);
        assert_eq!(read.without, ["src/parser/generated/**"]);
        assert!(read.allows("src/parser/mod.rs") && !read.allows("src/parser/generated/a.rs"));
        assert!(!read.allows("src/lexer.rs") && !read.allows("src/parser_old/mod.rs"));
        assert_eq!(cap(&read.to_string()), read, "what is written is read back");
    }

    #[test]
    fn a_folder_or_a_file_needs_no_star() {
        let read = cap("Docs OUT: docs/private In: `docs/`, ./README.md.");
        assert!(read.allows("docs/a/b.md") && read.allows("README.md"));
        assert_eq!(cap("Docs (in: \"docs/\".) out: none.").to_string(), "Docs in: docs/ out: none");
        assert!(!read.allows("docs/private/x.md") && !read.allows("README.md.bak") && !read.allows("docsx/a"));
    }

    #[test]
    fn what_is_no_cap_is_told() {
        let none = |text: &str| Cap::declared(text).unwrap_err();
        assert_eq!(none("Only the parser."), NoCap::NoPaths);
        assert_eq!(none("The parser. in: none"), NoCap::NoPaths);
        assert_eq!(none("in: src/**"), NoCap::NoSentence);
        assert_eq!(none("A. in: a in: b"), NoCap::Twice("in:"));
        assert_eq!(none("All. in: **"), NoCap::Everything("**".to_owned()));
        assert_eq!(none("All. in: **/*"), NoCap::Everything("**/*".to_owned()));
        assert_eq!(none("All. in: *"), NoCap::Everything("*".to_owned()));
        for all in [
            "**/*[!u]",
            "**/[!z]*, **/z[!3]*",
            "[a-z]*/**, *.*",
            "**/*.*",
            "**/*[a-m]*",
            "[!s]*/**",
            "*/*, */*/**",
            "**/?*[!~]",
        ] {
            assert!(matches!(none(&format!("All. in: {all}")), NoCap::Everything(_)), "{all}");
        }
        assert_eq!(none("Up. in: ../other/**"), NoCap::Glob("../other/**".to_owned()));
        assert_eq!(none("Root. in: /etc/**"), NoCap::Glob("/etc/**".to_owned()));
        assert_eq!(none("Run together. in:out: none"), NoCap::Glob("out:".to_owned()));
        assert_eq!(none("Bad. in: src/[a"), NoCap::Glob("src/[a".to_owned()));
        assert_eq!(none(&format!("Long. in: {}", "a".repeat(2_000))), NoCap::TooLong);
        let many: Vec<String> = (0..60).map(|n| format!("a{n}")).collect();
        assert_eq!(none(&format!("Many. in: {}", many.join(", "))), NoCap::TooMany);
    }

    #[test]
    fn a_wide_cap_that_says_what_it_is_is_one() {
        for wide in [
            "src/**, tests/**, docs/**, scripts/**, benches/**, README.md, Cargo.toml",
            "**/*.rs, **/*.md, **/*.toml, **/*.yml",
            "*/src/**, packages/*/package.json, **/test_*.py",
            "**/*[Dd]ate*, **/__tests__/**, src/[a-m]*/**",
            "*.md, .github/**, crates/*/Cargo.toml",
        ] {
            assert!(Cap::declared(&format!("Wide. in: {wide}")).is_ok(), "{wide}");
        }
    }

    #[test]
    fn quotation_marks_keep_blanks_together_and_braces_commas() {
        for text in
            ["src/**, \"my docs/**\"", "src/**, 'my docs/**'", "src/** and `my docs/**`", "src/**, “my docs/**”."]
        {
            let read = cap(&format!("It. in: {text}"));
            assert_eq!(read.within, ["src/**", "my docs/**"], "{text}");
            assert!(read.allows("my docs/a.md") && !read.allows("docs/a.md") && !read.allows("my"));
            assert_eq!(cap(&read.to_string()), read, "what is written is read back");
        }
        let read = cap("It. in: src/{a,b}/**, {lib,bin/{x, y}}/*.rs, \"a,b/**\" out: it's/**");
        assert_eq!(read.within, ["src/{a,b}/**", "{lib,bin/{x, y}}/*.rs", "a,b/**"]);
        assert!(read.allows("src/a/x.rs") && read.allows("src/b/x.rs") && !read.allows("src/c/x.rs"));
        assert_eq!(cap(&read.to_string()), read);
        let read = cap("It. in: \"it's a folder/**\"");
        assert_eq!(read.to_string(), "It. in: \"it's a folder/**\" out: none");
        assert_eq!(cap(&read.to_string()), read);
    }

    #[test]
    fn what_may_mean_two_things_is_refused() {
        let none = |text: &str| Cap::declared(&format!("It. in: {text}")).unwrap_err();
        assert_eq!(none("src/**, my docs/**"), NoCap::Blank("my docs/**".to_owned()));
        assert_eq!(none("src/** docs/**"), NoCap::Blank("src/** docs/**".to_owned()));
        assert!(matches!(none("src/**, \"my docs/**"), NoCap::Marks(_)));
        assert!(matches!(none("my\" docs/**\""), NoCap::Marks(_)));
        assert!(matches!(none("src/{a, b/**"), NoCap::Glob(_)), "a brace that nobody closes");
    }

    #[test]
    fn a_word_that_ends_alike_is_no_list() {
        assert_eq!(cap("Begin:x and margin: y. in: src/**").says, "Begin:x and margin: y.");
        assert_eq!(Cap::declared("Built in: src only. in: src/**"), Err(NoCap::Twice("in:")));
    }
}
