use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use super::*;
use crate::policy::{Pack, Sight};

fn put(dir: &Path, path: &str, bytes: impl AsRef<[u8]>) {
    let file = dir.join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, bytes).unwrap();
}

fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    put(dir.path(), "lamp.py", "def on():\n    return True\n");
    put(dir.path(), "src/deep/a.rs", "fn a() {}\r\nfn b() {}\r\n");
    put(dir.path(), "src/logo.png", b"\x89PNG\0\x01");
    put(dir.path(), "odd@", "x");
    put(dir.path(), "latin.txt", b"caf\xe9\n");
    put(dir.path(), "secret/key", "hush");
    put(dir.path(), ".git/config", "[core]");
    std::os::unix::fs::symlink("/etc/passwd", dir.path().join("way")).unwrap();
    dir
}

fn seen(dir: &Path, hide: &[&str]) -> Content {
    let hide = hide.iter().map(|&glob| glob.to_owned()).collect();
    let sight = Sight::of(&Pack { only: Vec::new(), hide }).unwrap();
    Content::of_folder(dir, "here".to_owned(), sight).unwrap_or_else(|_| panic!("it can be read"))
}

fn asked<G: for<'de> Deserialize<'de>, A: serde::Serialize>(
    content: &Content,
    look: fn(&Content, &G) -> Result<A, Refused>,
    given: Value,
) -> Result<Value, String> {
    match look(content, &serde_json::from_value(given).unwrap()) {
        Ok(answer) => Ok(serde_json::to_value(answer).unwrap()),
        Err(refused) => Err(serde_json::to_value(refused).unwrap()["says"].as_str().unwrap().to_owned()),
    }
}

#[test]
fn a_folder_is_listed_with_what_each_name_is() {
    let dir = folder();
    let content = seen(dir.path(), &["secret/**"]);
    let entries = |given: Value| asked(&content, ls::list, given).unwrap()["entries"].clone();
    assert_eq!(entries(json!({})), json!(["lamp.py", "latin.txt", "\"odd@\"", "src/", "way@"]));
    assert_eq!(entries(json!({ "path": "src/" })), json!(["deep/", "logo.png"]));
    let wrong = |path: &str| asked(&content, ls::list, json!({ "path": path })).unwrap_err();
    for path in ["secret", ".git", "nowhere", "way/x"] {
        assert!(wrong(path).starts_with("There is no"), "{path}: {}", wrong(path));
    }
    assert!(wrong("lamp.py").contains("is no folder") && wrong("../..").contains("leads out"));
}

#[test]
fn many_names_come_in_parts_that_are_the_whole() {
    let dir = tempfile::tempdir().unwrap();
    let all: Vec<String> = (0..1_203).map(|number| format!("f{number:04}")).collect();
    all.iter().for_each(|name| put(dir.path(), &format!("many/{name}"), ""));
    let content = seen(dir.path(), &[]);
    for (tool, key) in [("ls", "entries"), ("glob", "paths")] {
        let (mut found, mut after): (Vec<String>, Value) = (Vec::new(), Value::Null);
        for _ in 0..5 {
            let answer = match tool {
                "ls" => asked(&content, ls::list, json!({ "path": "many", "after": after })),
                _ => asked(&content, glob::find, json!({ "pattern": "many/*", "after": after })),
            };
            let answer = answer.unwrap();
            let part = answer[key].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned());
            let part: Vec<String> = part.map(|name| name.trim_start_matches("many/").to_owned()).collect();
            assert!(!part.is_empty() && part.len() <= MOST_ENTRIES, "{tool}: {}", part.len());
            found.extend(part);
            after = answer["next"].clone();
            if after.is_null() {
                break;
            }
        }
        assert_eq!(found, all, "{tool}");
    }
}

#[test]
fn a_glob_fits_paths_within_the_pack() {
    let dir = folder();
    let content = seen(dir.path(), &["secret/**"]);
    let paths = |pattern: &str| asked(&content, glob::find, json!({ "pattern": pattern })).unwrap()["paths"].clone();
    assert_eq!(paths("**/*.rs"), json!(["src/deep/a.rs"]));
    assert_eq!(paths("*.py"), json!(["lamp.py"]));
    assert_eq!(paths("secret/*"), json!([]));
    let wrong = |pattern: &str| asked(&content, glob::find, json!({ "pattern": pattern })).unwrap_err();
    assert!(wrong("[").contains("is no glob") && wrong("").contains("0") && wrong(&"x".repeat(301)).contains("301"));
    // One that could mean very much is looked for in a time that has an end.
    let many = "{a,b}".repeat(60);
    let begun = std::time::Instant::now();
    assert_eq!(paths(&many), json!([]));
    assert_eq!(paths(&"*a".repeat(150)), json!([]));
    assert!(begun.elapsed() < LONGEST * 2);
}

#[test]
fn a_file_is_read_in_parts_that_are_the_whole() {
    let dir = folder();
    let text: String = (1..=1_500).map(|line| format!("line {line} é\n")).collect();
    put(dir.path(), "long.txt", &text);
    let wide = "é".repeat(MOST_TEXT);
    put(dir.path(), "wide.txt", &wide);
    put(dir.path(), "empty.txt", "");
    let content = seen(dir.path(), &["secret/**"]);
    let read = |given: Value| asked(&content, read::read, given);
    for (path, whole) in [("long.txt", &text), ("wide.txt", &wide)] {
        let (mut found, mut next) = (String::new(), json!(0));
        for _ in 0..9 {
            if next.is_null() {
                break;
            }
            let part = read(json!({ "path": path, "byte": next })).unwrap();
            let got = part["text"].as_str().unwrap();
            assert!(!got.is_empty() && got.len() <= MOST_TEXT && part.get("lossy").is_none(), "{path}");
            found.push_str(got);
            next = part.get("next").cloned().unwrap_or_default();
        }
        assert!(found == *whole, "{path}");
    }
    let part = read(json!({ "path": "long.txt", "line": 700, "lines": 2 })).unwrap();
    assert_eq!((&part["text"], &part["line"]), (&json!("line 700 é\nline 701 é\n"), &json!(700)));
    assert_eq!((&part["lines"], &part["bytes"], &part["at"]), (&json!(1500), &json!(text.len()), &json!("here")));
    assert_eq!(read(json!({ "path": "empty.txt" })).unwrap()["text"], "");
    // A byte within a character is the character's.
    assert_eq!(
        read(json!({ "path": "wide.txt", "byte": 3, "lines": 1 })).unwrap()["text"].as_str().unwrap().chars().next(),
        Some('é')
    );

    let lossy = read(json!({ "path": "latin.txt" })).unwrap();
    assert_eq!((&lossy["lossy"], &lossy["text"]), (&json!(true), &json!("caf\u{fffd}\n")));
    for (given, says) in [
        (json!({ "path": "src/logo.png" }), "is binary (6 bytes)"),
        (json!({ "path": "way" }), "is a link that leads to `/etc/passwd`"),
        (json!({ "path": "src" }), "is a folder"),
        (json!({ "path": "secret/key" }), "There is no `secret/key`"),
        (json!({ "path": ".git/config" }), "There is no"),
        (json!({ "path": "LAMP.py" }), "There is `lamp.py`: letter case"),
        (json!({ "path": "long.txt", "line": 9999 }), "ends before that"),
        (json!({ "path": "long.txt", "line": 1, "byte": 1 }), "both given"),
    ] {
        let says_it = read(given.clone()).unwrap_err();
        assert!(says_it.contains(says), "{given}: {says_it}");
    }
    let huge = std::fs::File::create(dir.path().join("huge")).unwrap();
    huge.set_len(20 << 30).unwrap();
    assert!(read(json!({ "path": "huge" })).unwrap_err().contains("at most 8388608 are read"));
}

#[test]
fn lines_that_fit_are_found_and_what_was_not_looked_at_is_told() {
    let dir = folder();
    put(dir.path(), "many.txt", "hit\n".repeat(250));
    put(dir.path(), "wide.txt", format!("{}needle{}", "x".repeat(500), "y".repeat(500)));
    std::fs::File::create(dir.path().join("huge")).unwrap().set_len(LARGEST + 1).unwrap();
    let content = seen(dir.path(), &["secret/**"]);
    let find = |given: Value| asked(&content, grep::find, given);
    let found = find(json!({ "pattern": r"^fn \w\(\)", "glob": "src/**" })).unwrap();
    assert_eq!(found["matches"][1], json!({ "path": "src/deep/a.rs", "line": 2, "text": "fn b() {}" }));
    assert_eq!(found["unread"], "1 binary");
    assert_eq!(find(json!({ "pattern": "hush" })).unwrap()["matches"], json!([]));
    assert_eq!(
        find(json!({ "pattern": "TRUE", "ignore_case": true })).unwrap()["matches"].as_array().unwrap().len(),
        1
    );
    let wide = find(json!({ "pattern": "needle" })).unwrap()["matches"][0]["text"].as_str().unwrap().to_owned();
    assert!(wide.starts_with('…') && wide.contains("needle") && wide.ends_with('…') && wide.len() <= 310, "{wide}");
    // In parts, each line once.
    let (mut lines, mut after): (Vec<u64>, Value) = (Vec::new(), Value::Null);
    for _ in 0..5 {
        let part = find(json!({ "pattern": "^hit$", "after": after })).unwrap();
        lines.extend(part["matches"].as_array().unwrap().iter().map(|one| one["line"].as_u64().unwrap()));
        after = part.get("next").cloned().unwrap_or_default();
        if after.is_null() {
            break;
        }
    }
    assert_eq!(lines, (1..=250).collect::<Vec<u64>>());
    for (pattern, says) in [
        ("(", "is no regular expression"),
        (r"(?=a)", "is no regular expression"),
        (r"(\w{1000}){1000}", "becomes too large"),
        ("", "has 0"),
    ] {
        let said = find(json!({ "pattern": pattern })).unwrap_err();
        assert!(said.contains(says), "{pattern}: {said}");
    }
    assert!(find(json!({ "pattern": "x", "after": "nowhere" })).unwrap_err().contains("no place"));
}

#[test]
fn the_passage_that_says_most_of_it_comes_first() {
    let dir = tempfile::tempdir().unwrap();
    put(
        dir.path(),
        "docs/retry.md",
        "# Retries\n\nThe retry budget is spent by each retry.\n\nSomething else entirely.\n",
    );
    put(dir.path(), "src/net.rs", "fn spend(retryBudget: u32) {}\n");
    put(dir.path(), "notes.md", "The budget of the year. ".repeat(20));
    put(dir.path(), "secret/retry.md", "retry budget retry budget");
    let content = seen(dir.path(), &["secret/**"]);
    let find = |given: Value| asked(&content, search::find, given).unwrap();
    let found = find(json!({ "words": "Retry budget" }));
    let places: Vec<String> = found["hits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| format!("{}:{}", hit["path"].as_str().unwrap(), hit["line"]))
        .collect();
    assert_eq!(places, ["docs/retry.md:3", "src/net.rs:1", "notes.md:1"]);
    assert_eq!(found["hits"][0]["text"], "The retry budget is spent by each retry.");
    assert_eq!(found, find(json!({ "words": "Retry budget" })), "the same again");
    assert_eq!(find(json!({ "words": "retry", "glob": "src/**" }))["hits"].as_array().unwrap().len(), 1);
    let next = find(json!({ "words": "budget", "after": 2 }));
    assert_eq!((next["hits"].as_array().unwrap().len(), next.get("next")), (1, None));
    assert!(asked(&content, search::find, json!({ "words": "?! --" })).unwrap_err().contains("no word"));
}
