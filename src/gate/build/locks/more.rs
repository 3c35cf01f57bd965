//! Manifests of which only the names of what they need are read.

use std::sync::LazyLock;

use regex::Regex;

type Pattern = LazyLock<Option<Regex>>;

/// So many names of a manifest are read.
const MOST: usize = 500;

/// What a manifest of npm needs to run, by its real name and as it is written. What lies in the repository itself is no one else's.
pub(super) fn npm(manifest: &serde_json::Value) -> Vec<(String, String)> {
    let tables = ["dependencies", "optionalDependencies"].iter().filter_map(|name| manifest.get(*name)?.as_object());
    let is_own = |spec: &str| ["workspace:", "file:", "link:", "portal:"].iter().any(|own| spec.starts_with(own));
    let all = tables.flatten().filter(|(_, spec)| !spec.as_str().is_some_and(is_own));
    all.map(|(written, spec)| {
        let alias = spec.as_str().and_then(|spec| spec.strip_prefix("npm:"));
        (alias.map_or(written.as_str(), without_version).to_owned(), written.clone())
    })
    .collect()
}

/// `left-pad@^1`, `@scope/name@1` without their versions.
fn without_version(spec: &str) -> &str {
    spec.char_indices().find(|(at, c)| *at > 0 && *c == '@').map_or(spec, |(at, _)| &spec[..at])
}

/// What a manifest of this name needs to run.
pub(super) fn names(name: &str, text: &str) -> Vec<String> {
    let mut all = match name {
        "setup.py" => setup_py(text),
        "setup.cfg" => setup_cfg(text),
        "build.gradle" | "build.gradle.kts" => gradle(text),
        "pom.xml" => maven(text),
        "pubspec.yaml" => pubspec(text),
        "deno.json" | "deno.jsonc" => deno(text),
        _ if name.ends_with(".csproj") => each(&CSPROJ, text),
        _ => Vec::new(),
    };
    all.truncate(MOST);
    all
}

static CSPROJ: Pattern = LazyLock::new(|| Regex::new(r#"<PackageReference\s[^>]*\bInclude\s*=\s*"([^"]+)""#).ok());

fn each(pattern: &Pattern, text: &str) -> Vec<String> {
    let all = pattern.iter().flat_map(|pattern| pattern.captures_iter(text));
    all.filter_map(|one| one.get(1)).map(|name| name.as_str().to_owned()).collect()
}

/// The name at the beginning of a requirement.
fn required(requirement: &str) -> Option<String> {
    super::python::required(requirement).into_iter().next().map(|(_, one, _)| one.written)
}

fn setup_py(text: &str) -> Vec<String> {
    static LIST: Pattern = LazyLock::new(|| Regex::new(r"install_requires\s*=\s*\[([^\]]*)\]").ok());
    static QUOTED: Pattern = LazyLock::new(|| Regex::new(r#"["']([^"'\n]+)["']"#).ok());
    let lists = each(&LIST, text);
    lists.iter().flat_map(|list| each(&QUOTED, list)).filter_map(|one| required(&one)).collect()
}

fn setup_cfg(text: &str) -> Vec<String> {
    let mut inside = false;
    let mut all = Vec::new();
    for line in text.lines() {
        let indented = line.starts_with([' ', '\t']);
        match line.trim().strip_prefix("install_requires").map(|rest| rest.trim_start().trim_start_matches(['=', ':']))
        {
            Some(first) if !indented => {
                inside = true;
                all.extend(required(first.trim()));
            }
            _ if indented && inside => all.extend(required(line.trim())),
            _ if !line.trim().is_empty() => inside = false,
            _ => {}
        }
    }
    all
}

fn gradle(text: &str) -> Vec<String> {
    static LINE: Pattern = LazyLock::new(|| {
        Regex::new(
            r#"(?m)(?:^|[\s{;])(?:implementation|api|compileOnly|runtimeOnly|kapt|ksp|compile)\s*\(?\s*["']([\w.-]+:[\w.-]+)"#,
        )
        .ok()
    });
    each(&LINE, text)
}

fn maven(text: &str) -> Vec<String> {
    static BLOCK: Pattern = LazyLock::new(|| Regex::new(r"(?s)<dependency>(.*?)</dependency>").ok());
    static GROUP: Pattern = LazyLock::new(|| Regex::new(r"<groupId>\s*([^<\s]+)\s*</groupId>").ok());
    static NAME: Pattern = LazyLock::new(|| Regex::new(r"<artifactId>\s*([^<\s]+)\s*</artifactId>").ok());
    static TEST: Pattern = LazyLock::new(|| Regex::new(r"<scope>\s*(?:test|import)\s*</scope>").ok());
    let blocks = each(&BLOCK, text).into_iter();
    let own = blocks.filter(|block| !TEST.as_ref().is_some_and(|test| test.is_match(block)));
    own.filter_map(|block| {
        let name = each(&NAME, &block).into_iter().next()?;
        Some(each(&GROUP, &block).into_iter().next().map_or(name.clone(), |group| format!("{group}:{name}")))
    })
    .collect()
}

/// The keys right below `dependencies:`, without what lies beside it or comes with the language.
fn pubspec(text: &str) -> Vec<String> {
    static KEY: Pattern = LazyLock::new(|| Regex::new(r"^( +)([A-Za-z_]\w*):(.*)$").ok());
    let mut all: Vec<String> = Vec::new();
    let (mut inside, mut depth) = (false, 0);
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#')) {
        if !line.starts_with(' ') {
            inside = line.starts_with("dependencies:");
            depth = 0;
            continue;
        }
        let Some(found) = KEY.as_ref().and_then(|key| key.captures(line)).filter(|_| inside) else { continue };
        depth = if depth == 0 { found[1].len() } else { depth };
        if found[1].len() == depth {
            all.push(found[2].to_owned());
        } else if matches!(&found[2], "sdk" | "path") {
            all.pop();
        }
    }
    all
}

/// What comes from a registry among the imports.
fn deno(text: &str) -> Vec<String> {
    static IMPORT: Pattern = LazyLock::new(|| Regex::new(r#":\s*"(?:npm|jsr):/?(@?[^"@]+)"#).ok());
    each(&IMPORT, text).into_iter().map(|name| name.trim_end_matches('/').to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_to_run_is_read_out_of_each_manifest() {
        for (name, text, expected) in [
            (
                "setup.py",
                "setup(\n    install_requires=[\n        'click>=8', \"rich\",\n    ],\n    extras_require={'dev': ['pytest']},\n)\n",
                &["click", "rich"][..],
            ),
            (
                "setup.cfg",
                "[options]\ninstall_requires =\n    click>=8\n    rich\npython_requires = >=3.8\n\n[options.extras_require]\ndev =\n    pytest\n",
                &["click", "rich"],
            ),
            (
                "build.gradle",
                "dependencies {\n    implementation 'com.squareup.okhttp3:okhttp:4.0'\n    testImplementation 'junit:junit:4'\n}\n",
                &["com.squareup.okhttp3:okhttp"],
            ),
            (
                "build.gradle.kts",
                "dependencies { api(\"io.ktor:ktor-core:2\")\n    implementation(libs.other)\n}\n",
                &["io.ktor:ktor-core"],
            ),
            (
                "pom.xml",
                "<dependencies><dependency><groupId>org.x</groupId><artifactId>lamp</artifactId></dependency>\n<dependency><groupId>junit</groupId>\
                 <artifactId>junit</artifactId><scope>test</scope></dependency></dependencies>",
                &["org.x:lamp"],
            ),
            (
                "a.csproj",
                "<ItemGroup><PackageReference Include=\"Newtonsoft.Json\" Version=\"13\" /></ItemGroup>",
                &["Newtonsoft.Json"],
            ),
            (
                "pubspec.yaml",
                "name: a\ndependencies:\n  flutter:\n    sdk: flutter\n  http: ^1.0.0\n  own:\n    path: ../own\ndev_dependencies:\n  test: any\n",
                &["http"],
            ),
            (
                "deno.json",
                "{\"imports\": {\"@std/fs\": \"jsr:@std/fs@1\", \"pad\": \"npm:left-pad@1\", \"own\": \"./own.ts\"}}",
                &["@std/fs", "left-pad"],
            ),
        ] {
            assert_eq!(names(name, text), expected, "{name}");
        }
    }

    #[test]
    fn an_alias_of_npm_is_what_it_stands_for() {
        let manifest = serde_json::json!({
            "dependencies": {"lamp": "npm:evil-thing@^1", "own": "workspace:*", "a": "^1"},
            "optionalDependencies": {"b": "npm:@x/y@2"},
            "devDependencies": {"c": "1"},
        });
        let mut all = npm(&manifest);
        all.sort();
        let expected = [("@x/y", "b"), ("a", "a"), ("evil-thing", "lamp")]
            .map(|(name, written)| (name.to_owned(), written.to_owned()));
        assert_eq!(all, expected);
    }
}
