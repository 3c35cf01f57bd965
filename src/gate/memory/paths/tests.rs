use super::*;

#[test]
fn paths_are_read_out_of_code() {
    assert_eq!(
        paths("`src/a.rs:12` calls `b::c` in `docs/x y` and `src/gen/`, see `http://x/y`"),
        ["src/a.rs", "src/gen"]
    );
}

#[test]
fn a_path_is_found_however_it_is_written() {
    for (text, path) in [
        ("The file lib/auth/login.rs has it.", "lib/auth/login.rs"),
        ("It is in lib/auth/login.rs.", "lib/auth/login.rs"),
        ("See [the code](lib/auth/x.rs#L3).", "lib/auth/x.rs"),
        ("See [the readme](README.md).", "README.md"),
        ("\"lib/secret/key.rs\" holds the key", "lib/secret/key.rs"),
        ("“lib/secret/key.pem”", "lib/secret/key.pem"),
        ("`fn a in lib/b/c.rs`", "lib/b/c.rs"),
        ("`README.md` lists it", "README.md"),
        ("`setup.py` has it", "setup.py"),
        ("**lib/x.rs**: it", "lib/x.rs"),
        ("(lib/x.rs:12)", "lib/x.rs"),
        ("`cat lib/x.conf`", "lib/x.conf"),
        ("lib\\x.rs", "lib/x.rs"),
        ("`../other/x.rs`", "../other/x.rs"),
        (".github/workflows/ci.yml runs it", ".github/workflows/ci.yml"),
        ("`Makefile` has it", "Makefile"),
    ] {
        assert_eq!(paths(text), [path], "{text}");
    }
    for text in [
        "and/or, either/or, w/o, n/a, TCP/IP, I/O",
        "It reads and/or writes; input/output alike.",
        "https://example.org/lib/x.rs and http://x/y.md",
        "See example.org/lib/x.rs or www.example.org/x.md.",
        "[docs](https://example.org/a.md)",
        "Version 1.2/3 and v1.2/v1.3, 10/12 tests.",
        "`console.log` and `process.env` and `self.items` and `os.path`",
        "`response.json()` is called, e.g./i.e. by `b::c`",
        "`text/html` and application/json",
        "Node.js/Express.js is used.",
        "README.md is prose here",
        "GET /users/1.json answers",
    ] {
        assert_eq!(paths(text), [""; 0], "{text}");
    }
    assert_eq!(paths("`src/auth/login.rs` is there; `login.rs` has it."), ["src/auth/login.rs"], "short for it");
}

#[test]
fn a_path_is_the_same_in_whatever_disguise() {
    for (text, path) in [
        ("/lib/auth/login.rs holds the login.", "lib/auth/login.rs"),
        ("`/lib/auth/login.rs`", "lib/auth/login.rs"),
        ("[code](/lib/auth/login.rs#L3)", "lib/auth/login.rs"),
        ("lib//auth/login.rs", "lib/auth/login.rs"),
        ("`src/../lib/auth.rs`", "lib/auth.rs"),
        ("./lib/./a.rs", "lib/a.rs"),
        ("lib%2Fauth%2Flogin.rs", "lib/auth/login.rs"),
        ("See https://github.com/mia/sandbox/blob/main/lib/auth/x.rs.", "lib/auth/x.rs"),
        ("[it](https://ghe.example/o/r/blob/0a1b/lib/x.rs#L3-L9)", "lib/x.rs"),
        ("https://github.com/o/r/tree/main/lib/auth", "lib/auth"),
        ("https://raw.githubusercontent.com/mia/sandbox/main/lib/auth/x.rs", "lib/auth/x.rs"),
        ("https://raw.githubusercontent.com/mia/sandbox/refs/heads/main/lib/x.rs", "lib/x.rs"),
        ("`lib/**/login.rs`", "lib/**/login.rs"),
        ("All of lib/** is old.", "lib/**"),
        ("`lib/*.rs`", "lib/*.rs"),
        ("`lib/my file.rs`", "lib/my file.rs"),
    ] {
        assert_eq!(paths(text), [path], "{text}");
    }
    assert_eq!(paths("`lib/{a,b}.rs`"), ["lib/a.rs", "lib/b.rs"]);
    assert_eq!(paths("`{src,lib}/{a,b}.rs`").len(), 4);
    assert_eq!(paths("`}/{a{b`"), [""; 0]);
    for text in [
        "`GET /users/1.json` answers",
        "`/api/users` answers 500",
        "/usr/lib/libc.so and `/etc/hosts`",
        "https://github.com/o/r/blob/phasegate/ledger/changes/0/7/context/iter-0001.md",
        "**bold/strong** and a/b*c",
        "`Node.js` and `Vue.js`",
    ] {
        assert_eq!(paths(text), [""; 0], "{text}");
    }
    let long = format!("`lib/{}.rs`", "{a,b}".repeat(200));
    assert!(!paths(&long).is_empty());
}

#[test]
fn a_glob_is_outside_where_nothing_of_it_can_be_within() {
    let cap = Cap::declared("The parser. in: src/parser/**, tests/*.rs out: src/parser/gen/**").unwrap();
    for within in ["src/parser/**", "src/**/date.rs", "**/date.rs", "src/*/date.rs", "tests/*.rs", "tests/**/a.rs"] {
        assert!(is_within(&cap, within), "{within}");
    }
    for outside in ["lib/**/login.rs", "lib/*.rs", "src/parser/gen/*.rs", "src/lexer/**", "tests/a/*.rs", "lib/a.rs"] {
        assert!(!is_within(&cap, outside), "{outside}");
    }
}
