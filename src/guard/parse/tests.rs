use super::*;

#[test]
fn the_end_of_a_path_says_the_language() {
    for (path, language) in [
        ("src/lib.rs", Some(Language::Rust)),
        ("a/b.PY", Some(Language::Python)),
        ("a.mjs", Some(Language::JavaScript)),
        ("a.d.ts", Some(Language::TypeScript)),
        ("a.tsx", Some(Language::Tsx)),
        ("rs", None),
        ("a.rs/b", None),
        ("main.go", Some(Language::Go)),
        ("main.c", None),
        ("", None),
    ] {
        assert_eq!(Language::of(path), language, "{path}");
    }
}

#[test]
fn every_grammar_loads_and_reads() {
    for (language, text) in [
        (Language::Rust, "fn a() {}"),
        (Language::Python, "def a():\n    pass\n"),
        (Language::JavaScript, "function a() {}"),
        (Language::TypeScript, "function a(b: number) {}"),
        (Language::Tsx, "const a = <b>{1 as number}</b>"),
        (Language::Go, "package a\n\nfunc b() {}\n"),
    ] {
        let tree = parse(language, text.as_bytes()).unwrap();
        assert!(!tree.root_node().has_error(), "{language:?}: {}", tree.root_node().to_sexp());
    }
}

#[test]
fn what_is_too_long_is_not_read_and_what_is_broken_is() {
    assert!(parse(Language::Rust, &vec![b' '; MOST_BYTES + 1]).is_none());
    assert!(parse(Language::Rust, &vec![b' '; MOST_BYTES]).is_some());
    assert!(parse(Language::Rust, b"fn (((\xff\0 }{").is_some_and(|tree| tree.root_node().has_error()));
}

#[test]
fn what_is_looked_at_over_and_over_is_given_up() {
    assert!(parse(Language::Rust, "r#\"".repeat(MOST_BYTES / 3).as_bytes()).is_none());
    // Pieces of it and the whole read the same.
    let text = "fn größe() { \"ä\"; }\n".repeat(2000);
    let tree = parse(Language::Rust, text.as_bytes()).unwrap();
    assert_eq!((tree.root_node().has_error(), tree.root_node().named_child_count()), (false, 2000));
}
