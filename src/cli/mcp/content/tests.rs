use super::*;

fn refused(text: &str) -> String {
    serde_json::to_value(path_of(text).unwrap_err()).unwrap()["says"].as_str().unwrap().to_owned()
}

#[test]
fn a_path_leads_down_from_the_root_and_nowhere_else() {
    for (text, bytes) in [
        ("", &b""[..]),
        (".", b""),
        ("src/", b"src"),
        ("src/a b.rs", b"src/a b.rs"),
        (r#""caf\303\251""#, b"caf\xc3\xa9"),
    ] {
        assert_eq!(path_of(text).unwrap().as_bytes(), bytes, "{text}");
    }
    for (text, says) in [
        ("../x", "leads out"),
        ("src/../../x", "leads out"),
        ("..", "leads out"),
        (r#""\056\056/x""#, "leads out"),
        ("/etc/passwd", "outside"),
        ("/", "outside"),
        ("src//a", "says nothing"),
        ("./src", "says nothing"),
        ("a\0b", "NUL"),
        ("\"half", "quoted"),
    ] {
        assert!(refused(text).contains(says), "{text}: {}", refused(text));
    }
    assert!(refused(&"a/".repeat(5_000)).contains("4096"));
}
