//! The parts of a file that count, where the whole does not.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_yaml::granit_parser::{self, Event, Parser};

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
    let moves: Option<fn(&str) -> bool> = match file {
        "mix.exs" => Some(is_version),
        "pom.xml" => Some(is_maven_version),
        "build.gradle" | "build.gradle.kts" => Some(is_gradle_version),
        "Package.swift" => Some(is_swift_version),
        "Directory.Build.props" | "Directory.Build.targets" | "Directory.Packages.props" => Some(is_msbuild_version),
        _ => None,
    };
    if let Some(moves) = moves {
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty() && !moves(line)).collect();
        return Some(BTreeMap::from([(String::new(), lines.join("\n"))]));
    }
    if file.ends_with(".yaml") {
        return settings(text, members);
    }
    if file.ends_with(".toml") || file == "Pipfile" {
        let whole: toml::Table = text.parse().ok()?;
        return tables(&serde_json::to_value(whole).ok()?, members);
    }
    Some(sections(text, members))
}

/// The members of a TOML file by their dotted names. It is parsed and not read by its lines: a section's name may stand
/// in a text of many lines, and say nothing there.
fn tables(whole: &Value, members: &[&str]) -> Option<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for member in members {
        let (above, last) = member.rsplit_once('.').map_or((None, *member), |(above, last)| (Some(above), last));
        let within = above.into_iter().flat_map(|above| above.split('.')).try_fold(whole, |at, name| at.get(name));
        for (name, value) in within.and_then(Value::as_object).into_iter().flatten() {
            if name.strip_prefix(last).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', ':'])) {
                let says = String::from_utf8(serde_json_canonicalizer::to_vec(value).ok()?).ok()?;
                found.insert(format!("{}{name}", above.map(|above| format!("{above}.")).unwrap_or_default()), says);
            }
        }
    }
    Some(found)
}

/// `{:phoenix, "~> 1.7"},` and nothing else on the line. An alias may be written as a pair too, but runs no number.
fn is_version(line: &str) -> bool {
    let pair = line.trim_end_matches(',').strip_prefix("{:").and_then(|rest| rest.strip_suffix("\"}"));
    let Some((name, version)) = pair.and_then(|pair| pair.split_once(", \"")) else { return false };
    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && version.starts_with(['~', '>', '=', '<', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
        && version.chars().all(|c| c.is_ascii_alphanumeric() || " .-~><=".contains(c))
}

/// A number, as versions are written: nothing that could be a word, a path or a property.
fn is_number(version: &str) -> bool {
    version.starts_with(|c: char| c.is_ascii_digit())
        && version.chars().all(|c| c.is_ascii_alphanumeric() || ".-+_".contains(c))
}

/// `<version>1.2.3</version>`, or a property whose name ends so, and nothing else on the line.
fn is_maven_version(line: &str) -> bool {
    let Some((name, rest)) = line.strip_prefix('<').and_then(|rest| rest.split_once('>')) else { return false };
    let named = name == "version" || name.ends_with(".version") || name.ends_with("-version");
    let value =
        rest.strip_suffix('>').and_then(|rest| rest.strip_suffix(name)).and_then(|rest| rest.strip_suffix("</"));
    named && name.chars().all(|c| c.is_ascii_alphanumeric() || ".-_".contains(c)) && value.is_some_and(is_number)
}

/// `implementation("group:name:1.2.3")`, in either language, and nothing else on the line.
fn is_gradle_version(line: &str) -> bool {
    const CONFIGURATIONS: &[&str] = &[
        "api",
        "implementation",
        "compileOnly",
        "runtimeOnly",
        "testImplementation",
        "testCompileOnly",
        "testRuntimeOnly",
        "androidTestImplementation",
        "annotationProcessor",
        "kapt",
        "ksp",
    ];
    let Some((configuration, rest)) = line.split_once([' ', '(']) else { return false };
    let rest = rest.trim().trim_start_matches('(').trim_end_matches(')').trim();
    let quoted =
        ['"', '\''].iter().find_map(|quote| rest.strip_prefix(*quote).and_then(|rest| rest.strip_suffix(*quote)));
    let Some((package, version)) = quoted.and_then(|quoted| quoted.rsplit_once(':')) else { return false };
    CONFIGURATIONS.contains(&configuration)
        && package.matches(':').count() == 1
        && package.chars().all(|c| c.is_ascii_alphanumeric() || ".-_:".contains(c))
        && is_number(version)
}

/// `.package(url: "https://…", from: "1.2.3"),` and nothing else on the line.
fn is_swift_version(line: &str) -> bool {
    let inner = line.trim_end_matches(',').strip_prefix(".package(url: \"").and_then(|rest| rest.strip_suffix("\")"));
    let Some((url, version)) = inner.and_then(|inner| inner.split_once("\", ")) else { return false };
    let version = ["from: \"", "exact: \""].iter().find_map(|how| version.strip_prefix(*how));
    !url.contains(['"', '\\', '(']) && version.is_some_and(is_number)
}

/// `<PackageVersion Include="A.B" Version="1.2.3" />`, or a `<Version>` of its own, and nothing else on the line.
fn is_msbuild_version(line: &str) -> bool {
    let own = line.strip_prefix("<Version>").and_then(|rest| rest.strip_suffix("</Version>"));
    let of_package = ["<PackageVersion Include=\"", "<PackageReference Include=\""]
        .iter()
        .find_map(|begin| line.strip_prefix(*begin))
        .and_then(|rest| rest.strip_suffix("/>").map(str::trim_end).and_then(|rest| rest.strip_suffix('"')))
        .and_then(|rest| rest.split_once("\" Version=\""))
        .filter(|(name, _)| name.chars().all(|c| c.is_ascii_alphanumeric() || ".-_".contains(c)))
        .map(|(_, version)| version);
    own.or(of_package).is_some_and(is_number)
}

/// The members of a YAML file's mapping, however their names are spelled. One with anchors can't be read: what an alias
/// means may stand anywhere.
fn settings(text: &str, members: &[&str]) -> Option<BTreeMap<String, String>> {
    let plain = |name: &str| name.replace(['-', '_'], "").to_ascii_lowercase();
    let options = granit_parser::options! { emit_comments: false, flow_nesting_limit: 50, block_nesting_limit: 50 };
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let (mut depth, mut key, mut documents) = (0_usize, None::<String>, 0);
    for step in Parser::new_from_str_with_options(text, options) {
        let (event, _) = step.ok()?;
        let (says, opens, closes) = match &event {
            Event::Alias(_) => return None,
            Event::Scalar(text, ..) => (format!("{text:?} "), 0, 0),
            Event::SequenceStart(..) => ("[ ".to_owned(), 1, 0),
            Event::MappingStart(..) => ("{ ".to_owned(), 1, 0),
            Event::SequenceEnd => ("] ".to_owned(), 0, 1),
            Event::MappingEnd => ("} ".to_owned(), 0, 1),
            Event::DocumentStart(..) => {
                documents += 1;
                continue;
            }
            _ => continue,
        };
        depth = depth.saturating_sub(closes);
        match (&event, depth, &key) {
            (Event::MappingStart(..), 0, None) => {}
            (Event::MappingEnd, 0, None) => {}
            // A list or a text in the place of the mapping.
            (_, 0, _) => return None,
            (Event::Scalar(text, ..), 1, None) => key = Some(plain(text)),
            (_, 1, None) => return None,
            (_, _, Some(name)) => {
                if members.iter().any(|member| plain(member) == *name) {
                    found.entry(name.clone()).or_default().push_str(&says);
                }
                if depth == 1 && opens == 0 {
                    key = None;
                }
            }
            _ => {}
        }
        depth += opens;
    }
    (documents <= 1).then_some(found)
}

/// The sections of an INI file with one of these names or below one of them, and what stands before the first.
fn sections(text: &str, members: &[&str]) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut section = String::new();
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.trim().starts_with(['#', ';'])) {
        if let Some(name) = header(line) {
            section = name;
            // An empty section says something too.
            if counts(&section, members) {
                found.entry(section.clone()).or_default();
            }
        } else if counts(&section, members) {
            let lines = found.entry(section.clone()).or_default();
            lines.push_str(line.trim());
            lines.push('\n');
        }
    }
    found
}

fn counts(section: &str, members: &[&str]) -> bool {
    let below = |member: &&str| {
        section.strip_prefix(*member).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ':', '-']))
    };
    section.is_empty() || members.iter().any(below)
}

/// `[tool:pytest]`, at the beginning of its line: indented, it goes on with the value before it.
fn header(line: &str) -> Option<String> {
    let inner = line.strip_prefix('[')?;
    let (name, _) = inner.split_once(']')?;
    Some(name.trim().to_owned())
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
    fn of_a_build_file_everything_but_plain_versions_counts() {
        let own = "<properties>\n <skipTests>false</skipTests>\n <junit.version>5.1</junit.version>\n</properties>\n<version>1.0-a</version>\n";
        assert!(same("pom.xml", &[], own, &own.replace("5.1", "5.2").replace("1.0-a", "1.1")));
        for (from, to) in [("false", "true"), ("5.1", "${evil}"), ("<version>1.0-a", "<version>1.0-a</version><x>")] {
            assert!(!same("pom.xml", &[], own, &own.replace(from, to)), "{to}");
        }
        let own =
            "dependencies {\n  implementation(\"a:b:1.2\")\n  testImplementation 'c:d:2'\n}\ntest { useJUnit() }\n";
        assert!(same("build.gradle.kts", &[], own, &own.replace("1.2", "1.3").replace("d:2", "d:3.0")));
        for (from, to) in [("useJUnit()", "enabled = false"), ("a:b:1.2\")", "a:b:1.2\"); test.enabled(false)")] {
            assert!(!same("build.gradle", &[], own, &own.replace(from, to)), "{to}");
        }
    }

    #[test]
    fn of_build_files_of_swift_and_dotnet_everything_but_plain_versions_counts() {
        let own = "dependencies: [\n  .package(url: \"https://a.b/c\", from: \"1.2\"),\n],\ntargets: [.testTarget(name: \"T\")]\n";
        assert!(same("Package.swift", &[], own, &own.replace("1.2", "1.3.0")));
        for (from, to) in
            [(".testTarget(name: \"T\")", ""), ("from: \"1.2\")", "from: \"1.2\")].filter({ _ in false })")]
        {
            assert!(!same("Package.swift", &[], own, &own.replace(from, to)), "{to}");
        }
        let own =
            "<Project>\n <Version>1.0</Version>\n <PackageVersion Include=\"A.B\" Version=\"2.0\" />\n</Project>\n";
        assert!(same("Directory.Build.props", &[], own, &own.replace("1.0", "1.1").replace("2.0", "2.1-rc.1")));
        for (from, to) in [
            ("</Project>", "<Target Name=\"VSTest\" />\n</Project>"),
            ("2.0\" />", "2.0\" /><Target Name=\"VSTest\" />"),
            ("1.0<", "$(Evil)<"),
        ] {
            assert!(!same("Directory.Packages.props", &[], own, &own.replace(from, to)), "{to}");
        }
    }

    #[test]
    fn of_a_workspace_only_the_named_settings_count() {
        let own = "packages:\n  - a\ncatalog: {x: 1}\nnodeOptions: --a\n";
        let members = &["scriptShell", "nodeOptions"];
        assert!(same("pnpm-workspace.yaml", members, own, &own.replace("x: 1", "x: 2").replace("- a", "- b")));
        for other in [
            own.replace("--a", "--b"),
            own.replace("nodeOptions: --a\n", ""),
            format!("{own}scriptShell: ./true\n"),
            format!("{own}\"script-shell\": ./true\n"),
            format!("{own}\"script\\x53hell\": ./true\n"),
        ] {
            assert!(!same("pnpm-workspace.yaml", members, own, &other), "{other}");
        }
        for unread in ["a: &a x\nscriptShell: *a\n", "- a\n", "a: b\n---\nscriptShell: x\n", "a: [", "? [a]\n: b\n"] {
            assert_eq!(parts("pnpm-workspace.yaml", members, unread.as_bytes()), None, "{unread}");
        }
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
            own.replace("[tool.pytest.ini_options]\naddopts = '-q'\n", "[tool]\npytest.ini_options.addopts = '--co'\n"),
            own.replace("[tool.pytest.ini_options]\naddopts = '-q'", "[tool]\npytest = {}"),
            own.replace(
                "[tool.pytest.ini_options]",
                "[tool.pytest.ini_options]\nnote = \"\"\"\n[project]\n\"\"\"\naddopts2 = '--co'",
            ),
            own.replace("addopts = '-q'", "testpaths = [\n  'a',\n  [\"project\"]\n]\naddopts = '--co'"),
            own.replace("[tool.pytest.ini_options]\naddopts = '-q'\n", ""),
        ] {
            assert!(!same("pyproject.toml", members, own, &other), "{other}");
        }
        assert_eq!(parts("pyproject.toml", members, b"[tool\n"), None, "what can't be read is not known");
        let own = "[packages]\na = '==1'\n[scripts]\ntest = 'pytest'\n";
        assert!(same("Pipfile", &["scripts"], own, &own.replace("==1", "==2")));
        assert!(!same(
            "Pipfile",
            &["scripts"],
            own,
            &own.replace("[scripts]\ntest = 'pytest'", "scripts.test = 'true'")
        ));
        let own = "[metadata]\nname = x\n[options]\ninstall_requires =\n  a==1\n[tool:pytest]\naddopts = -q\n";
        assert!(same("setup.cfg", &["tool:pytest"], own, &own.replace("a==1", "a==2")));
        assert!(!same("setup.cfg", &["tool:pytest"], own, &own.replace("-q", "--co")));
        let hidden = own.replace("addopts = -q", "markers =\n  [options]\naddopts = --co");
        assert!(!same(
            "setup.cfg",
            &["tool:pytest"],
            &own.replace("addopts = -q", "markers =\n  [options]\naddopts = -q"),
            &hidden
        ));
    }
}
