//! The parts of a file that count, where the whole does not.

use std::collections::BTreeMap;

use serde_json::Value;

/// What the members say, in a form that can be compared. `None`: the file can't be read, so nothing is known of them.
pub(super) fn parts(file: &str, members: &[&str], bytes: &[u8]) -> Option<BTreeMap<String, String>> {
    let text = std::str::from_utf8(bytes).ok()?;
    if file.ends_with(".json") || file.ends_with(".jsonc") {
        // One with comments can't be read, and then any change to it counts.
        let Value::Object(whole) = serde_json::from_str(text).ok()? else { return None };
        let mut found = BTreeMap::new();
        for (name, value) in whole.iter().filter(|(name, _)| members.contains(&name.as_str())) {
            // Canonical, so that neither spelling nor order counts.
            found.insert(name.clone(), String::from_utf8(serde_json_canonicalizer::to_vec(value).ok()?).ok()?);
        }
        return Some(found);
    }
    if file.ends_with(".exs") {
        let lines: Vec<&str> =
            text.lines().map(str::trim).filter(|line| !line.is_empty() && !is_version(line)).collect();
        return Some(BTreeMap::from([(String::new(), lines.join("\n"))]));
    }
    Some(sections(text, members))
}

/// `{:phoenix, "~> 1.7"},` and nothing else on the line. An alias may be written as a pair too, but runs no number.
fn is_version(line: &str) -> bool {
    let pair = line.trim_end_matches(',').strip_prefix("{:").and_then(|rest| rest.strip_suffix("\"}"));
    let Some((name, version)) = pair.and_then(|pair| pair.split_once(", \"")) else { return false };
    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && version.starts_with(['~', '>', '=', '<', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
        && version.chars().all(|c| c.is_ascii_alphanumeric() || " .-~><=".contains(c))
}

/// The sections of a TOML or INI file with one of these names or below one of them, and what stands before the first
/// section or in `[tool]` itself: there the same can be said with dots.
fn sections(text: &str, members: &[&str]) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut section = String::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';'])) {
        if let Some(name) = header(line) {
            section = name;
            // An empty section says something too.
            if counts(&section, members) {
                found.entry(section.clone()).or_default();
            }
        } else if counts(&section, members) {
            let lines = found.entry(section.clone()).or_default();
            lines.push_str(line);
            lines.push('\n');
        }
    }
    found
}

fn counts(section: &str, members: &[&str]) -> bool {
    let below = |member: &&str| {
        section.strip_prefix(*member).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ':', '-']))
    };
    section.is_empty() || section == "tool" || members.iter().any(below)
}

/// `[tool.pytest.ini_options]`, `[[tool.mypy.overrides]]`, `[tool:pytest]`. What does not look like one is a value.
fn header(line: &str) -> Option<String> {
    let line = line.split(" #").next().unwrap_or_default().trim();
    let inner = line.strip_prefix('[')?.strip_suffix(']')?;
    let inner = inner.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(inner);
    let name = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | ':' | '"' | '\'' | ' ' | '*' | '/');
    let fine = !inner.is_empty() && inner.chars().all(name);
    fine.then(|| inner.chars().filter(|c| !matches!(c, '"' | '\'' | ' ')).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(file: &str, members: &[&str], a: &str, b: &str) -> bool {
        parts(file, members, a.as_bytes()).unwrap() == parts(file, members, b.as_bytes()).unwrap()
    }

    #[test]
    fn of_a_manifest_only_the_named_members_count() {
        let own = r#"{"scripts": {"test": "jest", "dev": "vite"}, "dependencies": {"a": "1"}}"#;
        let bumped = r#"{ "dependencies": {"a": "2"}, "scripts": {"dev": "vite", "test": "jest"} }"#;
        let emptied = r#"{"scripts": {"test": "true", "dev": "vite"}, "dependencies": {"a": "1"}}"#;
        assert!(same("package.json", &["scripts"], own, bumped));
        assert!(!same("package.json", &["scripts"], own, emptied));
        assert!(!same("package.json", &["scripts"], own, "{}"));
        assert_eq!(parts("package.json", &["scripts"], b"{"), None);
        assert_eq!(parts("package.json", &["scripts"], b"[]"), None);
    }

    #[test]
    fn of_an_elixir_project_everything_but_versions_counts() {
        let own = "def project, do: [aliases: []]\ndefp deps do\n [\n  {:phoenix, \"~> 1.7\"},\n ]\nend\n";
        assert!(same("mix.exs", &[], own, &own.replace("1.7", "1.8")));
        assert!(!same("mix.exs", &[], own, &own.replace("aliases: []", "aliases: [test: \"run -e :ok\"]")));
        assert!(!same("mix.exs", &[], own, &own.replace("{:phoenix, \"~> 1.7\"}", "{:test, \"run -e :ok\"}")));
    }

    #[test]
    fn of_a_project_file_only_the_named_sections_count() {
        let own =
            "[project]\nname = 'x'\ndependencies = [\n  'a==1',\n]\n\n[tool.pytest.ini_options]\naddopts = '-q'\n";
        let members = &["tool.pytest"];
        assert!(same("pyproject.toml", members, own, &own.replace("a==1", "a==2")));
        assert!(same("pyproject.toml", members, own, &format!("# about\n{own}")));
        for other in [
            own.replace("-q", "--co"),
            own.replace("[tool.pytest.ini_options]", "[tool . 'pytest' . ini_options]\nx = 1"),
            format!("tool.pytest.ini_options.addopts = '--co'\n{own}"),
            format!("{own}[tool]\npytest = {{}}\n"),
            format!("{own}[tool.pytest]\n"),
            own.replace("[tool.pytest.ini_options]\naddopts = '-q'\n", ""),
        ] {
            assert!(!same("pyproject.toml", members, own, &other), "{other}");
        }
        let own = "[metadata]\nname = x\n[options]\ninstall_requires =\n  a==1\n[tool:pytest]\naddopts = -q\n";
        assert!(same("setup.cfg", &["tool:pytest"], own, &own.replace("a==1", "a==2")));
        assert!(!same("setup.cfg", &["tool:pytest"], own, &own.replace("-q", "--co")));
    }
}
