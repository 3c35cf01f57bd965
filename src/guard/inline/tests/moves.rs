//! What moves within a file and between files.

use super::*;

#[test]
fn what_moves_is_found_again() {
    let path = "src/lib.rs";
    let before = "/// ```\n/// assert!(a());\n/// ```\npub fn a() -> bool { true }\n#[cfg(test)]\nmod tests {\n    fn one() {}\n    #[test]\n    fn two() { one() }\n}\n";
    assert_eq!(
        became(path, before, &before.replace("fn a(", "fn b(")),
        ["doc of a: moved to doc of b"],
        "the example stands under the new name"
    );
    assert_eq!(
        became(path, before, &before.replace("mod tests", "mod checks")),
        ["tests::one: moved to checks::one", "tests::two: moved to checks::two"]
    );
    // To a file of its own.
    let frozen = BTreeMap::from([(path.to_owned(), frozen(path, before))]);
    let lib = "/// ```\n/// assert!(a());\n/// ```\npub fn a() -> bool { true }\n#[cfg(test)]\nmod checks;\n";
    let checks = "fn one() {}\n#[test]\nfn two() { one() }\n";
    let told = |lib: &str, file: &str, text: &str, new: bool| {
        let now = BTreeMap::from([
            (path.to_owned(), Now { items: items(path, lib.as_bytes()), new: false }),
            (file.to_owned(), Now { items: items_of_test(file, text.as_bytes()), new }),
        ]);
        let all = compare_all(&frozen, &now, &|_| true);
        let all = all.values().flatten().map(|(name, became)| (format!("{name}: {}", said(became)), became.trips()));
        all.collect::<Vec<_>>()
    };
    assert_eq!(
        told(lib, "src/checks.rs", checks, true),
        [
            ("tests::one: moved to src/checks.rs, one".to_owned(), false),
            ("tests::two: moved to src/checks.rs, two".to_owned(), false)
        ]
    );
    let aside = |name: &str| (format!("tests::{name}: aside in src/checks.rs"), true);
    assert_eq!(
        told(&lib.replace("#[cfg(test)]\nmod checks;\n", ""), "src/checks.rs", checks, true),
        [aside("one"), aside("two")]
    );
    let weaker = told(lib, "src/checks.rs", "fn one() {}\n#[test]\nfn two() {}\n", true);
    assert_eq!(weaker.last(), Some(&("tests::two: gone".to_owned(), true)));
    // Two that are the same need two.
    let twins = "#[cfg(test)]\nmod a {\n    #[test]\n    fn t() { x() }\n}\n#[cfg(test)]\nmod b {\n    #[test]\n    fn t() { x() }\n}\n";
    let one = "#[cfg(test)]\nmod a {\n    #[test]\n    fn t() { x() }\n}\n";
    assert_eq!(became(path, twins, one), ["b::t: gone"]);
}

#[test]
fn a_module_that_is_gone_with_its_file_is_no_fault() {
    let frozen = BTreeMap::from([("src/lib.rs".to_owned(), frozen("src/lib.rs", "mod a;\nmod b;\n"))]);
    let now = |text: &str| {
        BTreeMap::from([("src/lib.rs".to_owned(), Now { items: items("src/lib.rs", text.as_bytes()), new: false })])
    };
    let there = |path: &str| path == "src/b.rs" || path == "src/lib.rs";
    assert!(compare_all(&frozen, &now("mod b;\n"), &there).is_empty());
    let told = compare_all(&frozen, &now("mod c;\n"), &there);
    assert_eq!(told["src/lib.rs"], [("mod b".to_owned(), Became::Gone)]);
    assert!(compare_all(&frozen, &now("#[path = \"b.rs\"]\nmod c;\n"), &there).is_empty(), "another line has it");
    // A file that is gone with all its tests.
    assert!(compare_all(&frozen, &BTreeMap::new(), &|_| false).is_empty(), "nothing is left to be switched off");
}

type Files<'a> = &'a [(&'a str, &'a str)];

/// What trips of the files that were there, in those that are there now.
#[track_caller]
fn trips(before: Files<'_>, after: Files<'_>) -> Vec<String> {
    let read = |path: &str, text: &str| {
        let whole = path.ends_with("/tests.rs");
        if whole { items_of_test(path, text.as_bytes()) } else { items(path, text.as_bytes()) }
    };
    let frozen = before.iter().map(|(path, text)| ((*path).to_owned(), freeze(&read(path, text).unwrap().unwrap())));
    let now = after.iter().map(|(path, text)| {
        let new = !before.iter().any(|(known, _)| known == path);
        ((*path).to_owned(), Now { items: read(path, text), new })
    });
    let is_there = |path: &str| path.ends_with("Cargo.toml") || after.iter().any(|(known, _)| *known == path);
    let all = compare_all(&frozen.collect(), &now.collect(), &is_there);
    let trips = all.into_values().flatten().filter(|(_, became)| became.trips());
    trips.map(|(name, became)| format!("{name}: {}", said(&became))).collect()
}

const LAMP: &str = "pub fn lamp() -> u8 { 1 }\n#[cfg(test)]\nmod tests {\n    use super::*;\n    #[test]\n    fn shines() { assert_eq!(lamp(), 1) }\n}\n";
const CODE: &str = "pub fn lamp() -> u8 { 1 }\n";
const BODY: &str = "use super::*;\n#[test]\nfn shines() { assert_eq!(lamp(), 1) }\n";

#[test]
fn only_a_line_that_holds_where_tests_are_run_opens_a_file() {
    let moved = |line: &str| {
        let lamp = format!("{CODE}{line}\n");
        trips(&[("src/lamp.rs", LAMP)], &[("src/lamp.rs", &lamp), ("src/lamp/tests.rs", BODY)])
    };
    for line in [
        "#[cfg(test)]\nmod tests;",
        "mod tests;",
        "#[cfg(test)]\n#[allow(clippy::all)]\nmod tests;",
        "#[cfg(test)]\n#[path = \"lamp/tests.rs\"]\nmod tests;",
    ] {
        assert_eq!(moved(line), [""; 0], "{line}");
    }
    for line in [
        "#[cfg(any())]\nmod tests;",
        "#[cfg(feature = \"never\")]\nmod tests;",
        "#[cfg(all(test, windows))]\nmod tests;",
        "#[cfg_attr(test, path = \"quiet.rs\")]\nmod tests;",
        "#[skip::all]\nmod tests;",
        "fn f() {\n    mod tests;\n}",
        "const _: () = {\n    mod tests;\n};",
        "skip! {\n    #[cfg(test)]\n    mod tests;\n}",
        "impl A {\n    fn f() {\n        #[path = \"tests.rs\"]\n        mod tests;\n    }\n}",
        "#[cfg(any())]\nmod off {\n    #[path = \"../lamp/tests.rs\"]\n    mod tests;\n}",
        "mod off {\n    #![cfg(any())]\n    #[path = \"../lamp/tests.rs\"]\n    mod tests;\n}",
        "",
    ] {
        let told = moved(line);
        assert!(told.iter().all(|said| said.contains(": aside in")) && told.len() == 2, "{line}: {told:?}");
    }
    // A line in a file that is no part of the program itself.
    let after = [
        ("src/lamp.rs", CODE),
        ("src/dark.rs", "#[path = \"lamp/tests.rs\"]\nmod tests;\n"),
        ("src/lamp/tests.rs", BODY),
    ];
    assert_eq!(trips(&[("src/lamp.rs", LAMP)], &after).len(), 2);
    // The condition that was there before is the one that a file was read under.
    let unix = "#[cfg(unix)]\nmod unix;\n";
    let sys = [("src/lib.rs", "mod sys;\n"), ("src/sys.rs", unix), ("src/sys/unix.rs", LAMP)];
    assert_eq!(trips(&[("src/lib.rs", unix), ("src/unix.rs", LAMP)], &sys), [""; 0]);
    let never = [sys[0], ("src/sys.rs", "#[cfg(windows)]\nmod unix;\n"), sys[2]];
    assert_eq!(trips(&[("src/lib.rs", unix), ("src/unix.rs", LAMP)], &never).len(), 2);
    // A line of tests that is put where nobody runs it.
    let before = "#[cfg(test)]\nmod more;\n";
    let after = "fn f() {\n    #[cfg(test)]\n    mod more;\n}\n";
    assert_eq!(became("src/lib.rs", before, after), ["mod more: gone"]);
}

#[test]
fn what_stands_in_a_function_is_not_run() {
    let (code, tests) = LAMP.split_once("#[cfg(test)]").unwrap();
    for (open, close) in [
        ("fn f() {", "}"),
        ("const _: () = {", "};"),
        ("static A: () = {", "};"),
        ("impl A {\n    fn f() {", "} }"),
        ("trait A {\n    fn f() {", "} }"),
        ("mod off {\n    fn f() {", "} }"),
    ] {
        let after = format!("{code}{open}\n#[cfg(test)]{tests}{close}\n");
        let told = became("src/lamp.rs", LAMP, &after);
        assert!(told.contains(&"tests::shines: skipped".to_owned()), "{open}: {told:?}");
    }
    let row = "proptest! {\n    #[test]\n    fn a(x in 0..9) { f(x) }\n}\n";
    assert_eq!(became("src/lamp.rs", row, &format!("fn f() {{\n{row}}}\n")), ["a: skipped"]);
    // What belongs to an implementation is at home there.
    let method = "impl A {\n    #[cfg(test)]\n    fn a() {}\n}\n";
    assert!(!items("src/a.rs", method.as_bytes()).unwrap().unwrap()[0].skipped);
}

#[test]
fn a_move_is_free_where_names_mean_the_same() {
    let checks = LAMP.replace("mod tests", "mod checks");
    let nested = format!("mod inner {{\n{LAMP}}}\n");
    let line = format!("{CODE}#[cfg(test)]\nmod tests;\n");
    let out = [("src/lamp.rs", line.as_str()), ("src/lamp/tests.rs", BODY)];
    let lib = ("src/lib.rs", "mod lamp;\n");
    for (about, before, after) in [
        ("a module of another name", &[("src/lamp.rs", LAMP)][..], &[("src/lamp.rs", checks.as_str())][..]),
        ("to a file of its own", &[("src/lamp.rs", LAMP)], &out),
        ("and back", &out, &[("src/lamp.rs", LAMP)]),
        (
            "to a file under another name",
            &[("src/lamp.rs", LAMP)],
            &[
                ("src/lamp.rs", &line.replace("mod tests", "mod checks")),
                ("src/lamp/tests.rs", ""),
                ("src/lamp/checks/tests.rs", ""),
                ("src/lamp/checks.rs", &format!("#![cfg(test)]\n{BODY}")),
            ],
        ),
        ("a nested one", &[("src/a.rs", nested.as_str())], &[("src/a.rs", "mod inner;\n"), ("src/a/inner.rs", LAMP)]),
        (
            "a nested one by two files",
            &[("src/a.rs", nested.as_str())],
            &[("src/a.rs", "mod inner;\n"), ("src/a/inner.rs", line.as_str()), ("src/a/inner/tests.rs", BODY)],
        ),
        (
            "a file of another name",
            &[lib, ("src/lamp.rs", LAMP)],
            &[("src/lib.rs", "mod light;\n"), ("src/light.rs", LAMP)],
        ),
        (
            "a file in a folder",
            &[lib, ("src/lamp.rs", LAMP)],
            &[("src/lib.rs", "mod sources;\n"), ("src/sources.rs", "pub mod lamp;\n"), ("src/sources/lamp.rs", LAMP)],
        ),
        ("a file that is a folder now", &[("src/lamp.rs", LAMP)], &[("src/lamp/mod.rs", LAMP)]),
        ("and its tests too", &[("src/lamp.rs", LAMP)], &[("src/lamp/mod.rs", &line), ("src/lamp/tests.rs", BODY)]),
        (
            "a program that is a library now",
            &[("src/main.rs", LAMP)],
            &[("src/lib.rs", LAMP), ("src/main.rs", "fn main() {}\n")],
        ),
        (
            "a script of another name",
            &[("a.ts", "it(\"a\", () => { f(); });\n")],
            &[("b.ts", "it(\"a\", () => { f(); });\n")],
        ),
        (
            "a suite of another name",
            &[("a.ts", "describe(\"a\", () => { it(\"b\", () => { f(); }); });\n")],
            &[("a.ts", "describe(\"c\", () => { it(\"b\", () => { f(); }); });\n")],
        ),
        (
            "a function of another name",
            &[("a.py", "def f():\n    \"\"\"A.\n\n    >>> x = 1\n    >>> x\n    1\n    \"\"\"\n")],
            &[("a.py", "def g():\n    \"\"\"A.\n\n    >>> x = 1\n    >>> x\n    1\n    \"\"\"\n")],
        ),
        (
            "an example with its function",
            &[("src/a.rs", "mod b;\n/// ```\n/// x::f();\n/// ```\npub fn f() {}\n"), ("src/a/b.rs", "")],
            &[
                ("src/a.rs", "mod b;\npub use b::f;\n"),
                ("src/a/b.rs", "/// ```\n/// x::f();\n/// ```\npub fn f() {}\n"),
            ],
        ),
    ] {
        // The program that was a library keeps a file of its old name; all else must be free.
        let told = trips(before, after);
        if about == "a program that is a library now" {
            assert!(told.iter().all(|said| said.contains("elsewhere in src/lib.rs")), "{about}: {told:?}");
        } else {
            assert_eq!(told, [""; 0], "{about}");
        }
    }
}

#[test]
fn a_move_to_where_names_mean_something_else_trips() {
    let fake = "pub fn lamp() -> u8 { 1 }\n";
    let tests = LAMP.split_once("#[cfg(test)]").map(|(_, tests)| format!("#[cfg(test)]{tests}")).unwrap();
    let in_fake = format!("{CODE}mod fake {{\n{fake}{tests}}}\n");
    let broken = format!("pub fn lamp() -> u8 {{ 2 }}\nmod fake {{\n{fake}{tests}}}\n");
    for (about, before, after) in [
        ("one module further in", &[("src/lamp.rs", LAMP)][..], &[("src/lamp.rs", in_fake.as_str())][..]),
        ("beside something else", &[("src/lamp.rs", LAMP)], &[("src/lamp.rs", &broken)]),
        (
            "to another file",
            &[("src/lamp.rs", LAMP), ("src/old.rs", fake)],
            &[("src/lamp.rs", CODE), ("src/old.rs", &format!("{fake}{tests}"))],
        ),
        (
            "to a new file",
            &[("src/lib.rs", "mod lamp;\n"), ("src/lamp.rs", LAMP)],
            &[("src/lib.rs", "mod lamp;\nmod fake;\n"), ("src/lamp.rs", CODE), ("src/fake.rs", LAMP)],
        ),
        (
            "out of a file into a module of something else",
            &[("src/lamp.rs", LAMP)],
            &[
                ("src/lamp.rs", &format!("{CODE}mod fake {{\n    {fake}\n    #[cfg(test)]\n    mod tests;\n}}\n")),
                ("src/lamp/fake/tests.rs", BODY),
            ],
        ),
        (
            "to another package",
            &[("a/src/lib.rs", "mod lamp;\n"), ("a/src/lamp.rs", LAMP)],
            &[("a/src/lib.rs", ""), ("b/src/lib.rs", "mod lamp;\n"), ("b/src/lamp.rs", LAMP)],
        ),
        (
            "named by a line that is off",
            &[("src/lamp.rs", LAMP)],
            &[
                ("src/lamp.rs", &format!("{CODE}#[cfg(any())]\nmod tests;\n#[path = \"fake.rs\"]\nmod fake;\n")),
                ("src/fake.rs", "#[path = \"lamp/tests.rs\"]\nmod tests;\n"),
                ("src/lamp/tests.rs", BODY),
            ],
        ),
    ] {
        let told = trips(before, after);
        assert!(told.len() == 2 && told.iter().all(|said| said.contains(": elsewhere")), "{about}: {told:?}");
    }
    let class = |body: &str, other: &str| {
        format!(
            "class TestA(unittest.TestCase):\n{body}    x = 1\n\nclass TestB(unittest.TestCase):\n{other}    x = 2\n"
        )
    };
    let test = "    def test_a(self):\n        self.fail(x)\n";
    assert_eq!(became("a.py", &class(test, ""), &class("", test)), ["TestA.test_a: elsewhere as TestB.test_a"]);
    let suite = |one: &str, two: &str| {
        format!(
            "describe(\"a\", () => {{ {one} it(\"x\", () => {{}}); }});\ndescribe(\"b\", () => {{ {two} it(\"y\", () => {{}}); }});\n"
        )
    };
    let test = "it(\"t\", () => { f(); });";
    assert_eq!(became("a.ts", &suite(test, ""), &suite("", test)), ["a > t: elsewhere as b > t"]);
    assert_eq!(
        trips(&[("a.py", "def test_a():\n    f()\n")], &[("a.py", ""), ("b.py", "def test_a():\n    f()\n")]),
        ["test_a: elsewhere in b.py as test_a"]
    );
    assert_eq!(trips(&[("a.py", "def test_a():\n    f()\n")], &[("a.pyi", "def test_a():\n    f()\n")]).len(), 1);
    // An example that comes where an older one gives its name another meaning.
    let doc = |one: &str, two: &str| {
        format!(
            "def f():\n    \"\"\"A.\n{one}    \"\"\"\n\ndef g():\n    \"\"\"B.\n\n    >>> h = int\n{two}    \"\"\"\n"
        )
    };
    let example = "\n    >>> h(1)\n    1\n";
    assert_eq!(became("a.py", &doc(example, ""), &doc("", example)), ["doc of f: elsewhere as doc of g#2"]);
    let example = "\n    >>> k(1)\n    1\n";
    assert_eq!(became("a.py", &doc(example, ""), &doc("", example)), ["doc of f: moved to doc of g#2"]);
}

#[test]
fn another_file_does_not_take_the_macros_that_tests_speak_through() {
    let lib = ("src/lib.rs", "mod lamp;\n");
    let before = [lib, ("src/lamp.rs", LAMP)];
    let shadowed = |by: &str| vec![format!("tests::shines: shadowed by {by}")];
    for (about, path, text, expected) in [
        (
            "a macro in front of the module",
            "src/lib.rs",
            "macro_rules! assert_eq { ($($t:tt)*) => {} }\nmod lamp;\n",
            shadowed("assert_eq! in src/lib.rs"),
        ),
        (
            "one of a module with its macros",
            "src/lib.rs",
            "#[macro_use]\nmod quiet {\n    macro_rules! assert_eq { ($($t:tt)*) => {} }\n}\nmod lamp;\n",
            shadowed("quiet::assert_eq! in src/lib.rs"),
        ),
        (
            "in a file of its own",
            "src/quiet.rs",
            "#![macro_use]\nmacro_rules! assert_eq { ($($t:tt)*) => {} }\n",
            shadowed("assert_eq! in src/quiet.rs"),
        ),
        (
            "for all",
            "src/quiet.rs",
            "fn f() {\n    #[macro_export]\n    macro_rules! assert_eq { ($($t:tt)*) => {} }\n}\n",
            shadowed("f::assert_eq! in src/quiet.rs"),
        ),
        (
            "of a crate",
            "src/lib.rs",
            "#[macro_use]\nextern crate quiet;\nmod lamp;\n",
            shadowed("extern crate quiet in src/lib.rs"),
        ),
        (
            "an import that others see",
            "src/quiet.rs",
            "pub(crate) use evil::{a, assert_eq};\n",
            shadowed("use evil::assert_eq in src/quiet.rs"),
        ),
        (
            "an import of the attribute",
            "src/quiet.rs",
            "pub use evil::test;\n",
            shadowed("use evil::test in src/quiet.rs"),
        ),
        (
            "an import of the module around",
            "src/lib.rs",
            "use evil::assert_eq;\nmod lamp;\n",
            shadowed("use evil::assert_eq in src/lib.rs"),
        ),
        ("an import of a file's own", "src/other.rs", "use pretty_assertions::assert_eq;\n", vec![]),
        (
            "an import of a module of tests",
            "src/lib.rs",
            "mod lamp;\n#[cfg(test)]\nmod tests {\n    use pretty_assertions::assert_eq;\n    #[test]\n    fn t() { assert_eq!(1, 1) }\n}\n",
            vec![],
        ),
        (
            "a macro of another name",
            "src/lib.rs",
            "macro_rules! assert_near { ($($t:tt)*) => {} }\nmod lamp;\n",
            vec![],
        ),
        (
            "one that they do not use",
            "src/lib.rs",
            "macro_rules! assert_matches { ($($t:tt)*) => {} }\nmod lamp;\n",
            vec![],
        ),
        (
            "a macro of a module of its own",
            "src/lib.rs",
            "mod own {\n    macro_rules! assert_eq { ($($t:tt)*) => {} }\n}\nmod lamp;\n",
            vec![],
        ),
        ("another program", "tests/it/main.rs", "macro_rules! assert_eq { ($($t:tt)*) => {} }\n", vec![]),
        (
            "for tests that nobody looked at",
            "src/lib.rs",
            "#[macro_export]\nmacro_rules! assert { ($($t:tt)*) => {} }\nmod lamp;\n",
            vec!["assert!: speaks as assert!".to_owned()],
        ),
        (
            "what only makes text",
            "src/lib.rs",
            "#[macro_export]\nmacro_rules! format { ($($t:tt)*) => {} }\nmod lamp;\n",
            vec![],
        ),
    ] {
        let mut after = before.to_vec();
        after.retain(|(known, _)| *known != path);
        after.push((path, text));
        assert_eq!(trips(&before, &after), expected, "{about}");
        assert_eq!(trips(&after, &after), [""; 0], "{about}: it was there before");
    }
}

#[test]
fn what_moves_takes_nothing_along_that_stands_in_for_what_it_uses() {
    let line = format!("{CODE}#[cfg(test)]\nmod tests;\n");
    let moved = |body: &str| trips(&[("src/lamp.rs", LAMP)], &[("src/lamp.rs", &line), ("src/lamp/tests.rs", body)]);
    assert_eq!(moved(&format!("{BODY}fn other() {{}}\n")), [""; 0]);
    assert_eq!(
        moved(&format!("{BODY}fn lamp() -> u8 {{ 1 }}\n")),
        ["tests::shines: shadowed by lamp in src/lamp/tests.rs"]
    );
    assert_eq!(
        moved(&format!("{BODY}use crate::fake::lamp;\n")),
        ["tests::shines: shadowed by use crate::fake::lamp in src/lamp/tests.rs"]
    );
    assert_eq!(
        moved(&format!("{BODY}macro_rules! assert_eq {{ ($($t:tt)*) => {{}} }}\n")),
        ["tests::shines: shadowed by assert_eq! in src/lamp/tests.rs"]
    );
    let test = "def test_a():\n    f()\n";
    assert_eq!(trips(&[("a.py", test)], &[("b.py", test)]), [""; 0]);
    assert_eq!(
        trips(&[("a.py", test)], &[("b.py", &format!("{test}del test_a\n"))]),
        ["test_a: shadowed by what test_a means in b.py"]
    );
}

#[test]
fn a_line_that_may_mean_two_files_opens_neither() {
    let line = format!("{CODE}#[cfg(test)]\nmod tests;\n");
    let before = [("src/bin/lamp.rs", LAMP)];
    assert_eq!(trips(&before, &[("src/bin/lamp.rs", &line), ("src/bin/tests.rs", BODY)]), [""; 0]);
    let after = [("src/bin/lamp.rs", line.as_str()), ("src/bin/lamp/tests.rs", BODY), ("src/bin/tests.rs", "")];
    assert_eq!(trips(&before, &after).len(), 2);
}

#[test]
fn whoever_is_gone_takes_nothing_from_whoever_moved() {
    let before = [("src/a.rs", LAMP), ("src/lamp.rs", LAMP)];
    let line = format!("{CODE}#[cfg(test)]\nmod tests;\n");
    let after = [("src/a.rs", CODE), ("src/lamp.rs", line.as_str()), ("src/lamp/tests.rs", BODY)];
    assert_eq!(trips(&before, &after), ["tests::shines: gone", "tests::use super::*: gone"]);
}

#[test]
fn an_example_of_a_library_stays_in_a_library() {
    let doc = "/// ```\n/// assert!(x::f());\n/// ```\npub fn f() {}\n";
    let before = [("src/lib.rs", doc)];
    let to = |files: Files<'_>| trips(&before, files);
    for (path, more) in [
        ("src/main.rs", ""),
        ("src/bin/x.rs", ""),
        ("src/bin/x/main.rs", ""),
        ("build.rs", ""),
        ("src/inner.rs", "mod inner;\nfn main() {}\n"),
    ] {
        let mut files = vec![("src/lib.rs", "pub fn f() {}\n"), (path, doc)];
        files.extend((!more.is_empty()).then_some(("src/main.rs", more)));
        assert_eq!(to(&files).len(), 1, "{path}");
    }
    assert_eq!(to(&[("src/lib.rs", "mod inner;\n"), ("src/inner.rs", doc)]), [""; 0]);
    let both = [("src/lib.rs", "mod inner;\n"), ("src/inner.rs", doc), ("src/main.rs", "mod inner;\nfn main() {}\n")];
    assert_eq!(to(&both), [""; 0]);
    // What nobody has run yet may go from one program to another.
    assert_eq!(trips(&[("src/main.rs", doc)], &[("src/main.rs", ""), ("src/bin/x.rs", doc)]), [""; 0]);
    // In a macro nobody knows whether it is run.
    for (open, close) in [("macro_rules! z { () => {\n", "}\n}\n"), ("no! { @\n", "}\n")] {
        let told = to(&[("src/lib.rs", &format!("pub fn f() {{}}\n{open}{doc}{close}"))]);
        assert_eq!(told.len(), 1, "{open}: {told:?}");
    }
    assert!(may_have_items("src/lib.rs", b"#![doc = include_str!(\"../README.md\")]\npub fn f() {}\n"));
}

#[test]
fn a_script_stays_where_tests_are_looked_for() {
    let text = "it('a', () => { f(); });\n";
    let to = |path: &str| trips(&[("src/m.ts", text)], &[(path, text)]).len();
    for path in ["src/n.d.ts", "dist/m.ts", "node_modules/m.ts", "a/node_modules/b/m.ts", ".cache/m.ts"] {
        assert_eq!(to(path), 1, "{path}");
    }
    for path in ["src/n.ts", "lib/dist.ts", "src/d/m.ts"] {
        assert_eq!(to(path), 0, "{path}");
    }
}
