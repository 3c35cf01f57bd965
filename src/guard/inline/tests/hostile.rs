//! What somebody writes who does not want to be read, and what a parser stumbles over.

use super::*;

#[test]
fn odd_forms_are_found() {
    for (text, expected) in [
        ("#[tokio::test]\nasync fn a() {}", "a"),
        ("#[tokio::test(flavor = \"multi_thread\")]\nasync fn a() {}", "a"),
        ("#[::core::prelude::v1::test]\nfn a() {}", "a"),
        ("#[r#test]\nfn a() {}", "a"),
        ("#[rstest]\n#[case(1)]\nfn a(#[case] x: u32) {}", "a"),
        ("#[test_case(1, 2; \"one ] two\")]\nfn a(x: u32, y: u32) {}", "a"),
        ("#[wasm_bindgen_test]\nfn a() {}", "a"),
        ("#[cfg_attr(not(miri), test)]\nfn a() {}", "a"),
        ("#[cfg_attr(test, test)]\nfn a() {}", "a"),
        ("#[cfg_attr(test, derive(Debug))]\nstruct A;", ""),
        ("#[cfg_attr(not(test), derive(Debug))]\nstruct A;", ""),
        ("#[cfg(not(test))]\nfn a() {}", ""),
        ("#[cfg(not(not(test)))]\nfn a() {}", "a"),
        ("#[cfg(any(test, feature = \"std\"))]\nfn a() {}", ""),
        ("#[cfg(any(test, feature = \"test-util\"))]\nfn a() {}", "a"),
        ("#[cfg(any(test, fuzzing))]\nfn a() {}", "a"),
        ("#[cfg(all(test, not(windows)))]\nfn a() {}", "a"),
        ("#[cfg(feature = \"test\")]\nfn a() {}", ""),
        ("#[cfg(any(test, feature = \"std\"))]\nmod a {\n    fn b() {}\n    #[test]\n    fn c() {}\n}", "a::c"),
        ("#![cfg(test)]\nfn a() {}", "a"),
        ("#!/usr/bin/env run\n#[test]\nfn a() {}", "a"),
        ("#[test]\nfn r#type() {}", "r#type"),
        ("#[test]\nfn größe_日本() {}", "größe_日本"),
        ("/* /* */ #[test] fn no() {} */\n#[test]\nfn a() {}", "a"),
        ("const A: &str = \"#[test] fn no() {}\";\n#[test]\nfn a() {}", "a"),
        ("const A: &str = r##\"\"# #[test] fn no() {}\"##;\n#[test]\nfn a() {}", "a"),
        ("const A: [char; 3] = ['\"', '\\'', '{'];\n#[test]\nfn a() {}", "a"),
        ("const A: u8 = b'\"';\nfn f<'a>(x: &'a str) -> &'a str { x }\n#[test]\nfn a() {}", "a"),
        ("const _: () = {\n    #[test]\n    fn a() {}\n};", "_::a"),
        ("fn f() {\n    mod m {\n        #[test]\n        fn a() {}\n    }\n}", "f::m::a"),
        ("impl A {\n    #[cfg(test)]\n    fn a() {}\n}", "A::a"),
        ("impl<T> Display for A<T> {\n    #[cfg(test)]\n    fn a() {}\n}", "<A as Display>::a"),
        ("include!(\"tests_of_a.rs\");", "include!"),
        ("include!(concat!(env!(\"OUT_DIR\"), \"/a.rs\"));", ""),
        ("#[cfg(test)]\ninclude!(\"a.rs\");", "include!"),
        ("#[cfg(test)]\nmod t {\n    include!(\"a.rs\");\n}", "t::include!"),
        ("#[cfg(test)]\n#[path = \"x/y.rs\"]\nmod t;", "mod t"),
        ("#[cfg(test)]\nextern crate a;", "extern crate a"),
        (
            "proptest! {\n    #![config(1)]\n    #[test]\n    fn a(x in 0..9) { f(x) }\n    /// Text.\n    #[test]\n    fn b(x in 0..9) {}\n}",
            "a b",
        ),
        ("quickcheck! {\n    fn a(x: u8) -> bool { f(x) }\n}", "a"),
        ("mod m {\n    proptest::proptest! { #[test] fn a(x in 0..9) {} }\n}", "m::a"),
        ("macro_rules! t { ($n:ident) => { #[test] fn $n() {} } }\nt!(a);\nt! { b }\nother!(c);", "t! t!(a) t!(b)"),
        ("cfg_io! {\n    pub fn x() {}\n    #[cfg(test)]\n    mod tests { #[test] fn a() {} }\n}", "tests::a"),
        ("cfg_if! { if #[cfg(unix)] { #[test] fn a() {} } }", "cfg_if!"),
        (
            "#[cfg(test)]\nmod t {\n    fn a() {}\n    fn a() {}\n    use x::{y, z as w};\n}",
            "t::a t::a#2 t::use x::y t::use x::z as w",
        ),
        ("fn f() {\n    #[cfg(test)]\n    bend();\n}", "f::a statement for tests"),
        ("fn f() {\n    #[cfg(test)]\n    { bend() }\n}", "f::a statement for tests"),
        ("#[cfg(test)] use a::b;\n#[cfg(test)] static A: u8 = 1;", "use a::b A"),
        ("pub fn test() {}\nmod test_support {\n    fn a() {}\n}", ""),
        ("/** A.\n * ```\n * f();\n * ```\n */\nfn a() {}", "doc of a"),
        ("#[doc = \"```\\nf();\\n```\"]\nfn a() {}", "doc of a"),
        ("#[doc = \"```\"]\n#[doc = \"f();\"]\n#[doc = \"```\"]\nfn a() {}", "doc of a"),
        ("#[cfg_attr(feature = \"a\", doc = r#\"```\nf();\n```\"#)]\nfn a() {}", "doc of a"),
        ("#[cfg(doctest)]\ndoc_comment::doctest!(\"../README.md\");", "doc_comment::doctest!"),
        ("#[cfg(doctest)]\nshow!(\"../README.md\");", "show!"),
        ("#[cfg_attr(doctest, doc = include_str!(\"../README.md\"))]\nstruct A;", "doc of A, from elsewhere"),
        ("#[doc = include_str!(\"../README.md\")]\nstruct A;", "doc of A, from elsewhere"),
        (
            "struct A {\n    /// ```\n    /// f();\n    /// ```\n    b: u8,\n}\nenum B {\n    /// ```\n    /// f();\n    /// ```\n    C,\n}",
            "doc of A::b doc of B::C",
        ),
        ("/// ~~~rust\n/// f();\n/// ~~~\nfn a() {}", "doc of a"),
        ("//// ```\n//// f();\n//// ```\nfn a() {}", ""),
        ("flags! {\n    /// ```\n    /// f();\n    /// ```\n    pub struct A;\n}", "doc of A"),
        ("pin! {\n    /// ```\n    /// f();\n    /// ```\n    a => b ? c\n}", "doc of what a macro makes"),
    ] {
        let expected: Vec<&str> = if expected.is_empty() { Vec::new() } else { vec![expected] };
        let found = names("src/a.rs", text);
        assert_eq!(found.join(" "), expected.join(" "), "{text}");
    }
}

#[test]
fn what_info_strings_say_is_what_rustdoc_takes_them_for() {
    for (info, skipped) in [
        ("", false),
        ("rust", false),
        ("should_panic", false),
        ("no_run", false),
        ("compile_fail,E0382", false),
        ("edition2021", false),
        ("rust,edition2018", false),
        ("ignore", true),
        ("rust,ignore", true),
        ("text", true),
        ("console", true),
        ("toml", true),
        ("rust toml", false),
        ("should_panic,text", false),
        ("text,should_panic", true),
    ] {
        let text = format!("/// ```{info}\n/// f();\n/// ```\nfn a() {{}}\n");
        let found = items("a.rs", text.as_bytes()).unwrap().unwrap();
        assert_eq!(found.iter().map(|item| item.skipped).collect::<Vec<_>>(), [skipped], "{info}");
    }
}

#[test]
fn what_cannot_be_read_has_changed() {
    let before = "#[test]\nfn a() { f() }\n";
    let frozen = BTreeMap::from([("a.rs".to_owned(), frozen("a.rs", before))]);
    let long = vec![b' '; crate::guard::parse::MOST_BYTES + 1];
    for (bytes, why) in [
        (b"#[test]\nfn a() { f() }\n// \xff\n".as_slice(), "byte 26 is no UTF-8"),
        (&long, "2097153 bytes"),
        (b"fn b() {\n#[test]\nfn a() { f() }\n", "a mistake in line"),
        (b"}\n#[test]\nfn a() { f() }\n", "a mistake in line"),
        (b"skip! { \"\n#[test]\nfn a() { f() }\n", "a mistake in line"),
        (b"/* \n#[test]\nfn a() { f() }\n", "a mistake in line"),
    ] {
        let now = BTreeMap::from([("a.rs".to_owned(), Now { items: items("a.rs", bytes), new: false })]);
        let told = compare_all(&frozen, &now, &|_| true);
        let (name, became) = told["a.rs"].first().unwrap();
        assert!(matches!(became, Became::Unread { .. } | Became::Gone), "{became:?}");
        assert!(became.trips() && name == "a");
        if let Became::Unread { .. } = became {
            assert!(became.says().contains(why), "{}", became.says());
        }
    }
    // A mistake that is closed in itself hides nothing else.
    assert_eq!(became("a.rs", before, &format!("fn b() {{ let x = ; }}\n{before}")), [""; 0]);
    assert!(has_marks("a.rs", b"\xff#[test]") && !has_marks("a.rs", b"\xff") && !has_marks("a.md", b"#[test]"));
    assert!(items("a.go", b"\xff").unwrap().is_none());
}

#[test]
fn only_what_may_have_items_is_parsed() {
    assert!(may_have_items("a.rs", b"#[test] fn a() {}") && !may_have_items("a.rs", b"fn a() {}"));
    assert!(may_have_items("a.py", b">>> 1") && !may_have_items("a.py", b"def a(): pass"));
    assert!(may_have_items("a.ts", b"import.meta.vitest") && !may_have_items("a.ts", b"export {}"));
    assert!(!may_have_items("a.txt", b"#[test]"));
}

/// Reads a text and compares it with itself and with nothing.
#[track_caller]
fn read_through(path: &str, text: &str) -> usize {
    let found = items(path, text.as_bytes());
    let count = found.as_ref().map_or(0, |found| found.as_ref().map_or(0, Vec::len));
    if let Ok(Some(found)) = &found {
        let frozen = freeze(found);
        let told: Vec<_> = compare(&frozen, found).into_iter().filter(|(_, became)| became.trips()).collect();
        assert_eq!(told, [], "{path}");
        assert_eq!(frozen.len(), found.iter().filter(|item| item.sort != Sort::Doc || !item.skipped).count());
        let all = compare_all(
            &BTreeMap::from([(path.to_owned(), frozen)]),
            &BTreeMap::from([
                (format!("x/{path}"), Now { items: Ok(Some(found.clone())), new: true }),
                ("x/mod.rs".to_owned(), Now { items: items("x/mod.rs", b"mod a;"), new: false }),
            ]),
            &|_| false,
        );
        assert!(all.values().flatten().all(|(_, became)| !became.trips()), "moved with its file");
    }
    count
}

#[test]
fn ten_thousand_tests_are_read() {
    let rows: String = (0..10_000).map(|n| format!("    #[test]\n    fn t{n}() {{ check({n}) }}\n")).collect();
    assert_eq!(
        read_through("a.rs", &format!("#[cfg(test)]\nmod tests {{\n    fn check(_: u32) {{}}\n{rows}}}\n")),
        10_001
    );
    let rows: String = (0..10_000).map(|n| format!("def test_{n}():\n    assert f({n})\n")).collect();
    assert_eq!(read_through("a.py", &rows), 10_000);
    let rows: String = (0..10_000).map(|n| format!("it(\"t{n}\", () => {{ f({n}) }});\n")).collect();
    assert_eq!(read_through("a.ts", &rows), 10_000);
    assert_eq!(read_through("a.rs", &"#[test]\nfn a() {}\n".repeat(10_000)), 10_000);
}

#[test]
fn ten_thousand_levels_are_no_trouble() {
    let deep = |open: &str, inner: &str, close: &str| format!("{}{inner}{}", open.repeat(10_000), close.repeat(10_000));
    read_through("a.rs", &deep("mod a {", "#[test] fn b() {}", "}"));
    read_through("a.rs", &deep("#[cfg(all(test, x))] mod a { fn f() {}", "", "}"));
    read_through("a.rs", &format!("#[test]\nfn a() {{ {} }}", deep("(", "1", ")")));
    read_through("a.rs", &format!("#[test]\nfn a() {{ {} }}", deep("{", "", "}")));
    read_through("a.rs", &format!("#[test]\nfn a() {{ m!{} }}", deep("(", "", ")")));
    read_through("a.rs", &deep("m! {", "#[test] fn b() {}", "}"));
    read_through("a.rs", &deep("/*", "", "*/"));
    read_through("a.rs", &format!("#[cfg({})]\nfn a() {{}}", deep("not(", "test", ")")));
    read_through("a.py", &format!("def test_a():\n    {}\n", deep("(", "1", ")")));
    read_through("a.ts", &deep("describe('a', () => {", "it('b', () => {})", "})"));
    read_through("a.ts", &deep("if (import.meta.vitest) {", "it('b', () => {})", "}"));
    read_through("a.ts", &format!("it('a', () => {})", deep("[", "", "]")));
}

#[test]
fn what_turns_examples_off_is_looked_for_once() {
    let rows = ">>> 1\n1\n".repeat(2_000);
    let doc = format!("def f():\n    \"\"\"\n{rows}    \"\"\"\n");
    let text = format!("{doc}{}{}", "def f(): 0\n".repeat(4_000), "f = 1\n".repeat(4_000));
    read_through("a.py", &text);
    assert!(items("a.py", text.as_bytes()).unwrap().unwrap().iter().all(|item| item.skipped || item.sort != Sort::Doc));
    let macros = "#[macro_export]\nmacro_rules! assert { () => {} }\n".repeat(2_000);
    let tests = "#[test]\nfn a() { assert!(b()) }\n".repeat(2_000);
    let now = |text: &str, new: bool| Now { items: items("a.rs", text.as_bytes()), new };
    let told = compare_all(
        &BTreeMap::from([("a.rs".to_owned(), frozen("a.rs", &tests))]),
        &BTreeMap::from([("a.rs".to_owned(), now(&tests, false)), ("b.rs".to_owned(), now(&macros, true))]),
        &|_| true,
    );
    assert_eq!(told["a.rs"].len(), 2_000);
    let lines = "#[path = \"b.rs\"]\nmod b;\n".repeat(2_000);
    let told = compare_all(
        &BTreeMap::from([("a.rs".to_owned(), frozen("a.rs", &tests))]),
        &BTreeMap::from([("a.rs".to_owned(), now(&lines, false)), ("b.rs".to_owned(), now(&tests, true))]),
        &|_| true,
    );
    assert_eq!(told["a.rs"].len(), 2_000);
}
