//! Rust.

use super::*;

pub(super) const RUST: &str = r#####"//! Dates.
//!
//! ```
//! assert_eq!(dates::parse("2026"), Some(2026));
//! ```
#![allow(dead_code)]

mod zone;
pub mod calendar;

use std::fmt;

/// A year.
///
/// ```
/// # use dates::parse;
/// // The plain way.
/// assert_eq!(parse("2026"), Some(2026));
/// ```
///
/// ```should_panic
/// dates::parse("x").unwrap();
/// ```
///
/// ```text
/// 2026
/// ```
#[inline]
pub fn parse(text: &str) -> Option<u32> {
    text.parse().ok()
}

pub struct Year(pub u32);

impl Year {
    /// The next one.
    ///
    ///     assert_eq!(dates::Year(1).next().0, 2);
    pub fn next(&self) -> Year {
        Year(self.0 + 1)
    }

    #[cfg(test)]
    fn first() -> Year {
        Year(1)
    }
}

#[cfg(test)]
const ERA: u32 = 2000;

#[test]
fn stands_alone() {
    assert_eq!(parse("1"), Some(1));
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPECTED: u32 = 2026;

    fn check(text: &str, year: u32) {
        assert_eq!(parse(text), Some(year), "{text}");
    }

    macro_rules! parses {
        ($name:ident, $text:literal, $year:literal) => {
            #[test]
            fn $name() {
                check($text, $year);
            }
        };
    }

    parses!(one, "1", 1);
    parses!(two, "2", 2);

    // A plain comment.
    #[test]
    fn parses_dates() {
        check("2026", EXPECTED);
        let years = vec![parse("1"), parse("2")];
        assert_eq!(years.len(), 2);
    }

    #[test]
    #[ignore]
    fn is_slow() {
        check("9", 9);
    }

    mod nested {
        #[test]
        fn deep() {
            assert!(super::parse("x").is_none());
        }
    }
}

#[cfg(test)]
mod more;
"#####;

#[test]
fn every_item_has_its_name() {
    assert_eq!(
        names("src/lib.rs", RUST),
        [
            "mod zone",
            "mod calendar",
            "doc of parse",
            "doc of parse#2",
            "doc of parse#3",
            "doc of Year::next",
            "Year::first",
            "ERA",
            "stands_alone",
            "tests::use super::*",
            "tests::EXPECTED",
            "tests::check",
            "tests::parses!",
            "tests::parses!(one)",
            "tests::parses!(two)",
            "tests::parses_dates",
            "tests::is_slow",
            "tests::nested::deep",
            "mod more",
            "doc of this module",
        ]
    );
    let all = items("src/lib.rs", RUST.as_bytes()).unwrap().unwrap();
    let line = |name: &str| all.iter().find(|item| item.name == name).unwrap().line;
    let at = |text: &str| 1 + u32::try_from(RUST.lines().position(|row| row == text).unwrap()).unwrap();
    assert_eq!(line("tests::parses_dates"), at("    fn parses_dates() {"));
    assert_eq!(line("doc of parse#2"), at("/// ```should_panic"));
    let more = all.iter().find(|item| item.name == "mod more").unwrap();
    assert_eq!(more.opens, ["src/more.rs", "src/more/mod.rs"]);
    assert!(!freeze(&all).contains_key("doc of parse#3"), "what is no test is not frozen");
}

#[test]
fn what_is_honest_trips_nothing() {
    edits(
        "src/lib.rs",
        RUST,
        &[
            ("the code around", "text.parse().ok()", "text.trim().parse().ok()", &[]),
            ("a new function", "pub struct Year", "pub fn now() -> u32 { 1 }\n\npub struct Year", &[]),
            ("prose in documentation", "/// A year.", "/// A year of the calendar, and so on.", &[]),
            ("text in documentation", "/// 2026\n", "/// 2027\n", &[]),
            ("a hidden row that is shown", "/// # use dates::parse;", "/// use dates::parse;", &[]),
            ("a new example", "#[inline]", "/// ```\n/// assert!(true);\n/// ```\n#[inline]", &[]),
            ("a comment in an example", "/// // The plain way.\n", "/// // Plainly.\n", &[]),
            ("an attribute that is nothing to tests", "#[inline]\npub fn parse", "#[must_use]\npub fn parse", &[]),
            ("a lint of the file", "#![allow(dead_code)]", "#![deny(missing_docs)]", &[]),
            (
                "a new test",
                "    mod nested {",
                "    #[test]\n    fn new() { check(\"3\", 3); }\n\n    mod nested {",
                &[],
            ),
            ("a new helper", "    mod nested {", "    fn other() -> u32 { 3 }\n\n    mod nested {", &[]),
            ("a new invocation", "    parses!(two", "    parses!(three, \"3\", 3);\n    parses!(two", &[]),
            ("a comment in a test", "let years", "// Two of them.\n        let years", &[]),
            ("a comment before a test", "// A plain comment.", "/* Another. */", &[]),
            ("documentation of a test", "// A plain comment.", "/// It parses.", &[]),
            ("spaces", "check(\"2026\", EXPECTED);", "check(\n            \"2026\",   EXPECTED\n        );", &[]),
            ("a comma at the end", "check(\"2026\", EXPECTED);", "check(\n\"2026\",\nEXPECTED,\n);", &[]),
            (
                "a comma at the end in a macro",
                "vec![parse(\"1\"), parse(\"2\")]",
                "vec![parse(\"1\",), parse(\"2\"),]",
                &[],
            ),
            ("one that runs again", "    #[ignore]\n", "", &[]),
            ("a module more", "mod zone;", "mod zone;\nmod era;", &[]),
            ("how far a module is seen", "pub mod calendar;", "pub(crate) mod calendar;", &[]),
            (
                "a method more",
                "    #[cfg(test)]\n    fn first",
                "    pub fn last() -> u32 { 9 }\n\n    #[cfg(test)]\n    fn first",
                &[],
            ),
            (
                "a derive on a type",
                "pub struct Year",
                "#[cfg_attr(feature = \"serde\", derive(Debug))]\npub struct Year",
                &[],
            ),
            (
                "a helper that only other modules use",
                "#[cfg(test)]\nconst ERA",
                "#[cfg(test)]\npub fn fixture() {}\n\n#[cfg(test)]\nconst ERA",
                &[],
            ),
            (
                "a new module of tests",
                "#[cfg(test)]\nmod more;",
                "#[cfg(test)]\nmod more;\n\n#[cfg(test)]\nmod again {\n    fn check() {}\n    #[test]\n    fn a() { check() }\n}",
                &[],
            ),
            ("the order", "    const EXPECTED: u32 = 2026;\n", "", &["tests::EXPECTED: gone"]),
        ],
    );
    // The same text in another order, with other ends of lines, and a mark at its beginning.
    let moved = RUST.replacen("    const EXPECTED: u32 = 2026;\n", "", 1);
    let moved = moved.replacen("    mod nested {", "    const EXPECTED: u32 = 2026;\n\n    mod nested {", 1);
    assert_eq!(became("src/lib.rs", RUST, &moved), [""; 0]);
    assert_eq!(became("src/lib.rs", RUST, &RUST.replace('\n', "\r\n")), [""; 0]);
    assert_eq!(became("src/lib.rs", RUST, &format!("\u{feff}{RUST}")), [""; 0]);
    assert_eq!(became("src/lib.rs", RUST, RUST), [""; 0]);
}

#[test]
fn what_is_changed_is_told_by_its_name() {
    edits(
        "src/lib.rs",
        RUST,
        &[
            ("a word in a test", "years.len(), 2", "years.len(), years.len()", &["tests::parses_dates: changed"]),
            ("text in a test", "\"{text}\"", "\"{year}\"", &["tests::check: changed"]),
            ("an expectation", "EXPECTED: u32 = 2026", "EXPECTED: u32 = 2027", &["tests::EXPECTED: changed"]),
            (
                "a helper",
                "assert_eq!(parse(text), Some(year)",
                "let _ = (parse(text), Some(year)",
                &["tests::check: changed"],
            ),
            ("a macro that makes tests", "check($text, $year);", "", &["tests::parses!: changed"]),
            (
                "a test that a macro makes",
                "parses!(two, \"2\", 2)",
                "parses!(two, \"2\", 3)",
                &["tests::parses!(two): changed"],
            ),
            ("one that is gone", "    parses!(two, \"2\", 2);\n", "", &["tests::parses!(two): gone"]),
            ("an import", "use super::*;", "use super::fake::*;", &["tests::use super::*: gone"]),
            (
                "a test that is not run any more",
                "    #[test]\n    fn parses_dates",
                "    #[test]\n    #[ignore = \"slow\"]\n    fn parses_dates",
                &["tests::parses_dates: skipped"],
            ),
            (
                "a test that is no test any more",
                "    #[test]\n    fn parses_dates",
                "    fn parses_dates",
                &["tests::parses_dates: changed"],
            ),
            (
                "a condition on a test",
                "    #[test]\n    fn parses_dates",
                "    #[cfg(windows)]\n    #[test]\n    fn parses_dates",
                &["tests::parses_dates: changed"],
            ),
            (
                "left out on a condition",
                "    #[test]\n    fn parses_dates",
                "    #[test]\n    #[cfg_attr(all(), ignore)]\n    fn parses_dates",
                &["tests::parses_dates: changed"],
            ),
            (
                "expected to fail",
                "    #[test]\n    fn parses_dates",
                "    #[test]\n    #[should_panic]\n    fn parses_dates",
                &["tests::parses_dates: changed"],
            ),
            ("a nested test", "is_none()", "is_some()", &["tests::nested::deep: changed"]),
            (
                "a condition on a nested module",
                "    mod nested",
                "    #[cfg(any())]\n    mod nested",
                &["tests::nested::deep: changed"],
            ),
            ("a test outside", "assert_eq!(parse(\"1\"), Some(1));", "", &["stands_alone: changed"]),
            (
                "a test outside that is gone",
                "#[test]\nfn stands_alone() {\n    assert_eq!(parse(\"1\"), Some(1));\n}\n",
                "",
                &["stands_alone: gone"],
            ),
            ("a constant for tests", "ERA: u32 = 2000", "ERA: u32 = 1", &["ERA: changed"]),
            ("a method for tests", "Year(1)\n", "Year(0)\n", &["Year::first: changed"]),
            ("a file of tests that is out", "#[cfg(test)]\nmod more;\n", "", &["mod more: gone"]),
            (
                "a file of tests that is elsewhere",
                "#[cfg(test)]\nmod more;",
                "#[cfg(test)]\n#[path = \"x.rs\"]\nmod more;",
                &["mod more: changed"],
            ),
            (
                "a file of tests under another condition",
                "#[cfg(test)]\nmod more;",
                "#[cfg(all(test, windows))]\nmod more;",
                &["mod more: changed"],
            ),
            ("a module that is out", "mod zone;\n", "", &["mod zone: gone"]),
            ("a module that is out in tests", "mod zone;", "#[cfg(not(test))]\nmod zone;", &["mod zone: changed"]),
            (
                "an example",
                "/// assert_eq!(parse(\"2026\"), Some(2026));",
                "/// parse(\"2026\");",
                &["doc of parse: changed"],
            ),
            ("a hidden row of an example", "# use dates::parse;", "# use fake::parse;", &["doc of parse: changed"]),
            (
                "an example that is ignored",
                "///\n/// ```should_panic",
                "///\n/// ```ignore",
                &["doc of parse#2: skipped"],
            ),
            ("an example that is text", "/// ```should_panic", "/// ```text", &["doc of parse#2: skipped"]),
            (
                "an example that is only compiled",
                "/// ```should_panic",
                "/// ```no_run,should_panic",
                &["doc of parse#2: changed"],
            ),
            ("an example that need not fail", "/// ```should_panic", "/// ```", &["doc of parse#2: changed"]),
            (
                "an example without a fence",
                "Year(1).next().0, 2",
                "Year(1).next().0, 3",
                &["doc of Year::next: changed"],
            ),
            (
                "an example of the file",
                "//! assert_eq!(dates::parse(\"2026\"), Some(2026));",
                "//! ()",
                &["doc of this module: changed"],
            ),
            (
                "an example that is a comment",
                "/// The next one.\n    ///\n    ///     assert",
                "// The next one.\n    //\n    //     assert",
                &["doc of Year::next: gone"],
            ),
            (
                "a condition on what is documented",
                "#[inline]\npub fn parse",
                "#[cfg(windows)]\npub fn parse",
                &["doc of parse: changed", "doc of parse#2: changed"],
            ),
        ],
    );
}

#[test]
fn what_is_around_does_not_switch_items_off() {
    let tests = [
        "EXPECTED",
        "check",
        "is_slow",
        "nested::deep",
        "parses!",
        "parses!(one)",
        "parses!(two)",
        "parses_dates",
        "use super::*",
    ];
    let all = |what: &str| tests.iter().map(|name| format!("tests::{name}: {what}")).collect::<Vec<_>>();
    for (from, to) in [
        ("#[cfg(test)]\nmod tests {", "#[cfg(all(test, feature = \"slow\"))]\nmod tests {"),
        ("#[cfg(test)]\nmod tests {", "#[cfg(test)]\n#[cfg(any())]\nmod tests {"),
        ("#[cfg(test)]\nmod tests {", "#[cfg(test)]\n#[cfg_attr(test, skip::all)]\nmod tests {"),
        ("#[cfg(test)]\nmod tests {", "#[cfg(test)]\n#[skip]\nmod tests {"),
        ("    use super::*;", "    #![cfg(not(test))]\n    use super::*;"),
    ] {
        assert_eq!(became("src/lib.rs", RUST, &RUST.replacen(from, to, 1)), all("changed"), "{to}");
    }
    // Over the whole file.
    let count = frozen("src/lib.rs", RUST).len();
    for (from, to) in [
        ("mod zone;", "#![cfg(not(test))]\nmod zone;"),
        ("#![allow(dead_code)]", "#![cfg(any())]"),
        ("mod zone;", "#![doc(test(no_crate_inject))]\nmod zone;"),
    ] {
        let all = became("src/lib.rs", RUST, &RUST.replacen(from, to, 1));
        assert_eq!((all.len(), all.iter().all(|said| said.ends_with(": changed"))), (count, true), "{to}: {all:?}");
    }
    // Made words, text or a comment of.
    let (head, body) = RUST.split_once("#[cfg(test)]\nmod tests {").unwrap();
    let (body, tail) = body.split_once("\n}\n").unwrap();
    for (open, close) in [
        ("skip! {\n", "\n}"),
        ("/*\n", "\n*/"),
        ("const X: &str = r##\"\n", "\n\"##;"),
        ("#[cfg(any())]\nskip!(", ");"),
        ("#[cfg(any())] const _: () = {", "};"),
    ] {
        let after = format!("{head}{open}#[cfg(test)]\nmod tests {{{body}\n}}{close}\n{tail}");
        let told = became("src/lib.rs", RUST, &after);
        let tripped = told.iter().filter(|said| said.starts_with("tests::")).count();
        assert_eq!(tripped, tests.len(), "{open}: {told:?}");
    }
}

#[test]
fn what_is_new_does_not_take_a_name_that_is_used() {
    edits(
        "src/lib.rs",
        RUST,
        &[
            (
                "a function that stands in for what is tested",
                "    const EXPECTED",
                "    fn parse(_: &str) -> Option<u32> { Some(2026) }\n    const EXPECTED",
                &["tests::check: shadowed by tests::parse", "tests::parses_dates: shadowed by tests::parse"],
            ),
            (
                "an import that does",
                "    const EXPECTED",
                "    use crate::fake::parse;\n    const EXPECTED",
                &[
                    "tests::check: shadowed by tests::use crate::fake::parse",
                    "tests::parses_dates: shadowed by tests::use crate::fake::parse",
                ],
            ),
            (
                "a function that is another in tests",
                "#[inline]\npub fn parse",
                "#[cfg(test)]\npub fn parse(_: &str) -> Option<u32> { None }\n#[cfg(not(test))]\npub fn parse",
                &[
                    "doc of parse: gone",
                    "doc of parse#2: gone",
                    "stands_alone: shadowed by parse",
                    "tests::check: shadowed by parse",
                    "tests::parses_dates: shadowed by parse",
                ],
            ),
            (
                "a macro that says nothing",
                "use std::fmt;",
                "use std::fmt;\nmacro_rules! assert_eq { ($($t:tt)*) => {} }",
                &[
                    "stands_alone: shadowed by assert_eq!",
                    "tests::check: shadowed by assert_eq!",
                    "tests::parses_dates: shadowed by assert_eq!",
                ],
            ),
            (
                "an import of such a macro",
                "use std::fmt;",
                "use std::fmt;\nuse crate::quiet::assert;",
                &["tests::nested::deep: shadowed by use crate::quiet::assert"],
            ),
            ("a name that nobody uses", "    const EXPECTED", "    fn parse_all() {}\n    const EXPECTED", &[]),
        ],
    );
}

#[test]
fn imports_are_held_name_by_name() {
    let text = "#[cfg(test)]\nmod tests {\n    use super::{a, inner::{self, b as c}};\n    use x::*;\n    #[test]\n    fn t() { a(); c(); inner::d() }\n}\n";
    edits(
        "src/a.rs",
        text,
        &[
            ("another name", "{a, inner", "{a, more, inner", &[]),
            ("another name in the middle", "{self, b", "{self, more, b", &[]),
            ("another order", "{a, inner::{self, b as c}}", "{inner::{b as c, self}, a}", &[]),
            (
                "one by one",
                "use super::{a, inner::{self, b as c}};",
                "use super::a;\n    use super::inner;\n    use super::inner::b as c;",
                &[],
            ),
            ("in one", "    use x::*;\n", "    use {x::{*}};\n", &[]),
            ("seen from outside", "use super::{a", "pub(super) use super::{a", &[]),
            (
                "from elsewhere",
                "use super::{a, inner",
                "use super::{fake::a, inner",
                &["tests::t: shadowed by tests::use super::fake::a", "tests::use super::a: gone"],
            ),
            (
                "another thing under the name",
                "b as c",
                "e as c",
                &["tests::t: shadowed by tests::use super::inner::e as c", "tests::use super::inner::b as c: gone"],
            ),
            ("under another name", "b as c", "b", &["tests::use super::inner::b as c: gone"]),
            ("another module", "inner::{self,", "inner::{self as other,", &["tests::use super::inner: gone"]),
            ("a condition", "    use x::*;", "    #[cfg(windows)]\n    use x::*;", &["tests::use x::*: changed"]),
            ("a star less", "    use x::*;\n", "", &["tests::use x::*: gone"]),
            ("a name that is used of a module", "    use x::*;", "    use x::*;\n    use crate::fake::d;", &[]),
        ],
    );
    // A name that a test had through a star.
    let text =
        "#[cfg(test)]\nmod tests {\n    use super::{z};\n    use super::*;\n    #[test]\n    fn t() { a() }\n}\n";
    assert_eq!(
        became("src/a.rs", text, &text.replace("{z}", "{z, fake::a}")),
        ["tests::t: shadowed by tests::use super::fake::a"]
    );
    // So many names are taken as a whole.
    let many: String = (0..300).map(|n| format!("a{n}, ")).collect();
    assert_eq!(names("src/a.rs", &format!("#[cfg(test)]\nuse x::{{{many}}};\n")).len(), 1);
    let deep = format!("#[cfg(test)]\nuse {}a{};\n", "x::{".repeat(5_000), "}".repeat(5_000));
    assert_eq!(names("src/a.rs", &deep).len(), 1);
}

#[test]
fn lints_are_nothing_to_a_test() {
    let plain = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn t() { let x = 1.0; assert_eq!(x, 1.0) }\n    fn help() {}\n}\nproptest! {\n    #[test]\n    fn p(x in 0..9) { f(x) }\n}\n";
    for (from, to) in [
        ("    #[test]\n    fn t", "    #[test]\n    #[allow(clippy::float_cmp)]\n    fn t"),
        ("    #[test]\n    fn t", "    #[expect(unused, reason = \"later\")]\n    #[test]\n    fn t"),
        ("    #[test]\n    fn t", "    #[rustfmt::skip]\n    #[test]\n    fn t"),
        ("    #[test]\n    fn t", "    #[cfg_attr(windows, allow(unused))]\n    #[test]\n    fn t"),
        ("let x", "#[allow(unused)]\n        let x"),
        ("let x", "#![warn(clippy::all)]\n        let x"),
        ("    fn help", "    #[allow(dead_code)]\n    fn help"),
        ("    #[test]\n    fn p", "    #[allow(unused)]\n    #[test]\n    fn p"),
        ("mod tests", "#[allow(clippy::unwrap_used)]\nmod tests"),
    ] {
        let linted = plain.replacen(from, to, 1);
        assert_eq!((became("src/a.rs", plain, &linted), became("src/a.rs", &linted, plain)), (vec![], vec![]), "{to}");
    }
    for (from, to) in [
        ("    #[test]\n    fn t", "    #[should_panic]\n    #[test]\n    fn t"),
        ("    #[test]\n    fn t", "    #[cfg_attr(all(), allow(unused), ignore)]\n    #[test]\n    fn t"),
        ("assert_eq!(x", "#[cfg(windows)]\n        assert_eq!(x"),
    ] {
        assert_eq!(became("src/a.rs", plain, &plain.replacen(from, to, 1)), ["tests::t: changed"], "{to}");
    }
}

#[test]
fn whoever_takes_the_attribute_of_a_test_takes_the_test() {
    let text = "use std::fmt;\n#[test]\nfn a() {}\n#[tokio::test]\nasync fn b() {}\n#[cfg(test)]\nmod tests {\n    use super::*;\n    #[test]\n    fn c() {}\n}\n";
    edits(
        "src/a.rs",
        text,
        &[
            (
                "the attribute",
                "use std::fmt;",
                "use std::fmt;\nuse evil::test;",
                &["a: shadowed by use evil::test", "tests::c: shadowed by use evil::test"],
            ),
            (
                "under its name",
                "use std::fmt;",
                "use evil::{quiet as test};",
                &["a: shadowed by use evil::quiet as test", "tests::c: shadowed by use evil::quiet as test"],
            ),
            ("the standard one", "use std::fmt;", "use core::prelude::v1::test;", &[]),
            ("something in a module of this name", "use std::fmt;", "use crate::test::helper;", &[]),
            ("its crate", "    use super::*;", "    use super::*;\n    use evil as tokio;", &[]),
            (
                "all macros of a crate",
                "use std::fmt;",
                "#[macro_use]\nextern crate evil;",
                &["a: shadowed by extern crate evil", "tests::c: shadowed by extern crate evil"],
            ),
            ("one macro of a crate", "use std::fmt;", "#[macro_use(lazy_static)]\nextern crate lazy_static;", &[]),
        ],
    );
}

#[test]
fn what_is_written_about_an_import_is_an_example_too() {
    let text = "/// ```\n/// x::f();\n/// ```\npub use inner::f;\n#[macro_use]\nextern crate log;\n";
    assert_eq!(names("src/a.rs", text), ["doc of pub use inner::f", "extern crate log"]);
}

const TOP: &str = "use std::fmt;\npub fn f() -> u8 { 1 }\n#[test]\nfn a() { assert_eq!(f(), 1) }\n#[cfg(test)]\nmod tests {\n    use super::*;\n    #[test]\n    fn b() { assert_eq!(format!(\"{}\", f()), \"1\") }\n}\n";

#[test]
fn a_name_is_the_same_however_it_is_written() {
    for line in [
        "macro_rules ! assert_eq { ($($t:tt)*) => {} }",
        "macro_rules/* a */ ! assert_eq { ($($t:tt)*) => {} }",
        "macro_rules // a\n! assert_eq { ($($t:tt)*) => {} }",
        "macro_rules! r#assert_eq { ($($t:tt)*) => {} }",
        "use std::stringify as assert_eq;",
        "use std::{mem, stringify as r#assert_eq};",
        "use ::core::stringify as assert_eq;",
        "use crate::quiet::r#assert_eq;",
    ] {
        let told = became("src/a.rs", TOP, &TOP.replacen("use std::fmt;", line, 1));
        let told: Vec<&str> = told.iter().filter_map(|said| said.split(" by ").next()).collect();
        assert_eq!(told, ["a: shadowed", "tests::b: shadowed"], "{line}");
    }
    for line in [
        "macro_rules ! assert_eq { ($($t:tt)*) => {} }",
        "macro_rules! r#assert_eq { ($($t:tt)*) => {} }",
        "fn r#f() -> u8 { 1 }",
        "const r#f: fn() -> u8 = g;",
        "use crate::z::f as r#f;",
        "use crate::z::r#f;",
        "use std::stringify as assert_eq;",
    ] {
        let told = became("src/a.rs", TOP, &TOP.replacen("use super::*;", &format!("use super::*;\n    {line}"), 1));
        let told: Vec<&str> = told.iter().filter_map(|said| said.split(" by ").next()).collect();
        assert_eq!(told, ["tests::b: shadowed"], "{line}");
    }
    for (from, to) in [
        ("fn f()", "fn r#f()"),
        ("use std::fmt;", "use std::{assert_eq, fmt};"),
        ("use std::fmt;", "use std::fmt;\nmacro_rules ! other { () => {} }"),
        ("use std::fmt;", "use std::fmt;\nconst A: &str = \"macro_rules ! assert_eq\";"),
    ] {
        assert_eq!(became("src/a.rs", TOP, &TOP.replacen(from, to, 1)), [""; 0], "{to}");
    }
    assert_eq!(became("src/a.rs", "mod a;\n", "pub mod r#a;\n"), [""; 0]);
}

#[test]
fn a_module_may_be_called_as_a_macro_is() {
    for line in [
        "use chrono::format;",
        "use crate::format;",
        "pub use inner::format;",
        "use crate::{todo, lists::vec};",
        "use std::{fmt, panic};",
        "use std::fmt::format;",
    ] {
        assert_eq!(became("src/a.rs", TOP, &TOP.replacen("use std::fmt;", line, 1)), [""; 0], "{line}");
        let inner = TOP.replacen("use super::*;", &format!("use super::*;\n    {line}"), 1);
        assert_eq!(became("src/a.rs", TOP, &inner), [""; 0], "{line}");
    }
    for line in [
        "use crate::quiet as format;",
        "mod m {\n    macro_rules! format { ($($t:tt)*) => {} }\n    pub(crate) use format;\n}\nuse m::format;",
        "mod m {\n    macro_rules! quiet { ($($t:tt)*) => {} }\n    pub(crate) use quiet as format;\n}\nuse m::format;",
    ] {
        let told = became("src/a.rs", TOP, &TOP.replacen("use std::fmt;", line, 1));
        assert!(told.iter().any(|said| said.starts_with("tests::b: shadowed")), "{line}: {told:?}");
    }
}
