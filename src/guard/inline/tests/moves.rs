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
