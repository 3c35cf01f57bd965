//! Where in the repository a failing test is to be looked for.

use std::path::{Component, Path, PathBuf};

/// The first place in a text (`src/lib.rs:9:5`, `(/repo/t/lamp.test.js:3:42)`) whose file is in this folder. Most reports
/// have it in what the failure says, and nowhere else.
pub(crate) fn named(text: &str, folder: &Path) -> Option<(String, u32)> {
    let ends = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | '"' | '\'' | '`' | '<' | '>' | ',' | '[' | ']');
    // A stack may be long, and each word costs a look at the disk.
    let words = text.split(ends).filter(|word| word.contains(':') && word.contains('.')).take(40);
    words.into_iter().find_map(|word| {
        let mut parts = word.trim_end_matches(':').split(':');
        let path = parts.next()?;
        let line: u32 = parts.next()?.parse().ok().filter(|line| *line > 0)?;
        Some((inside(path, folder)?, line))
    })
}

/// The path of a file in this folder, as seen from there; none where there is no such file.
pub(crate) fn inside(path: &str, folder: &Path) -> Option<String> {
    let path = Path::new(path.strip_prefix("file://").unwrap_or(path));
    let path = if path.is_absolute() { path.strip_prefix(folder).ok()? } else { path };
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => clean.push(part),
            Component::CurDir => {}
            _ => return None,
        }
    }
    folder.join(&clean).is_file().then(|| clean.to_str().map(str::to_owned)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_found_where_its_file_is_there() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("src")).unwrap();
        std::fs::write(dir.path().join("src/lib.rs"), "").unwrap();
        let at = |text: &str| named(text, dir.path()).map(|(path, line)| format!("{path}:{line}"));
        let found = Some("src/lib.rs:9".to_owned());
        assert_eq!(at("thread 'a::b' panicked at src/lib.rs:9:5:\nno"), found);
        assert_eq!(at(&format!("at toBe ({}/src/lib.rs:9:42)", dir.path().display())), found);
        assert_eq!(at("gone.rs:3: x\nE   x\n./src/lib.rs:9: AssertionError"), found);
        for none in ["src/lib.rs", "src/lib.rs:x", "src/lib.rs:0", "../src/lib.rs:9", "/etc/passwd:1", "12:30:11.5", ""]
        {
            assert_eq!(at(none), None, "{none}");
        }
        assert_eq!(inside("src/../src/lib.rs", dir.path()), None);
    }
}
