use super::*;

fn said(path: &str, text: &str, others: &[(&str, &str)]) -> Vec<String> {
    let there: There<'_> = others.iter().map(|(path, text)| (*path, Some(*text))).collect();
    let told = |one: Loose| match one.line {
        Some(line) => format!("{line}: {}", one.says),
        None => one.says,
    };
    loose(path, text, &there).into_iter().map(told).collect()
}

#[test]
fn without_dependencies_there_is_nothing_to_lock() {
    for (path, text) in [
        ("Cargo.toml", "[package]\nname = \"a\"\n"),
        ("package.json", "{\"name\": \"a\", \"peerDependencies\": {\"react\": \"*\"}}"),
        ("pyproject.toml", "[project]\nname = \"a\"\ndependencies = []\n"),
        ("go.mod", "module a\n\ngo 1.22\n"),
        ("Gemfile", "source 'https://rubygems.org'\n"),
        ("composer.json", "{\"require\": {\"php\": \">=8\", \"ext-json\": \"*\"}}"),
        ("requirements.txt", "# nothing\n"),
        ("src/main.rs", "fn main() {}\n"),
        // Its tool will say so.
        ("package.json", "{"),
    ] {
        assert_eq!(said(path, text, &[]), [] as [&str; 0], "{path}");
    }
}

#[test]
fn dependencies_have_a_lock_and_stand_in_it() {
    let sum = "golang.org/x/text v0.3.0 h1:abc=\ngolang.org/x/text v0.3.0/go.mod h1:abc=\n";
    for (manifest, text, lock, good, name, line) in [
        (
            "Cargo.toml",
            "[dependencies]\nserde = \"1\"\n",
            "Cargo.lock",
            "[[package]]\nname = \"serde\"\nversion = \"1.0.0\"\n",
            "serde",
            2,
        ),
        (
            "Cargo.toml",
            "[target.'cfg(unix)'.dependencies]\nnix = { package = \"nix-next\", version = \"1\" }\n",
            "Cargo.lock",
            "[[package]]\nname = \"nix-next\"\nversion = \"1.0.0\"\n",
            "nix",
            2,
        ),
        (
            "package.json",
            "{\n  \"dependencies\": {\n    \"left-pad\": \"^1.0.0\"\n  }\n}",
            "package-lock.json",
            "{\"packages\": {\"\": {\"dependencies\": {\"left-pad\": \"^1.0.0\"}}}}",
            "left-pad",
            3,
        ),
        (
            "package.json",
            "{\"devDependencies\": {\"@types/node\": \"20\"}}",
            "pnpm-lock.yaml",
            "importers:\n  .:\n    devDependencies:\n      '@types/node':\n        specifier: '20'\n",
            "@types/node",
            1,
        ),
        (
            "package.json",
            "{\"dependencies\": {\"node\": \"20\"}}",
            "yarn.lock",
            "node@20:\n  version \"20.0.0\"\n",
            "node",
            1,
        ),
        (
            "pyproject.toml",
            "[project]\nname = \"a\"\ndependencies = [\n  \"Flask[async]>=2\",\n]\n",
            "uv.lock",
            "[[package]]\nname = \"flask\"\nversion = \"3.0\"\n",
            "Flask",
            4,
        ),
        (
            "pyproject.toml",
            "[tool.poetry.dependencies]\npython = \"^3.11\"\nmy_lib = \"*\"\n",
            "poetry.lock",
            "[[package]]\nname = \"my-lib\"\nversion = \"3.0\"\n",
            "my_lib",
            3,
        ),
        (
            "Pipfile",
            "[packages]\nrequests = \"*\"\n",
            "Pipfile.lock",
            "{\"_meta\": {}, \"default\": {\"requests\": {}}}",
            "requests",
            2,
        ),
        ("requirements.in", "django\n", "requirements.txt", "django==5.0 \\\n    --hash=sha256:abc\n", "django", 1),
        (
            "go.mod",
            "module a\n\nrequire (\n\tgolang.org/x/text v0.3.0 // indirect\n)\n",
            "go.sum",
            sum,
            "golang.org/x/text",
            4,
        ),
        (
            "Gemfile",
            "gem 'rails', '~> 7'\n",
            "Gemfile.lock",
            "GEM\n  specs:\n    rails (7.0)\n\nDEPENDENCIES\n  rails (~> 7)\n",
            "rails",
            1,
        ),
        (
            "composer.json",
            "{\"require\": {\"Monolog/monolog\": \"^3\"}}",
            "composer.lock",
            "{\"packages\": [{\"name\": \"monolog/monolog\"}]}",
            "monolog/monolog",
            0,
        ),
    ] {
        assert_eq!(said(manifest, text, &[(lock, good)]), [] as [&str; 0], "{manifest} {lock}");
        let none = said(manifest, text, &[]);
        assert!(none.len() == 1 && none[0].ends_with("and no lock file."), "{manifest}: {none:?}");
        let empty = match lock {
            "Pipfile.lock" | "composer.lock" => "{}",
            "package-lock.json" => "{\"packages\": {}}",
            _ => "\n",
        };
        let place = if line > 0 { format!("{line}: ") } else { String::new() };
        let expected = format!("{place}`{name}` is a dependency here and does not stand in `{lock}`.");
        assert_eq!(said(manifest, text, &[(lock, empty)]), [expected], "{manifest} {lock}");
    }
    assert!(said("go.mod", "module a\nrequire golang.org/x/text v0.4.0\n", &[("go.sum", sum)])[0].starts_with("2: "));
    // The range is another than the one that was locked.
    let lock = "{\"packages\": {\"\": {\"dependencies\": {\"a\": \"^1\"}}}}";
    assert_eq!(said("package.json", "{\"dependencies\": {\"a\": \"^2\"}}", &[("package-lock.json", lock)]).len(), 1);
    assert_eq!(
        said("Cargo.toml", "[dependencies]\na = \"1\"\n", &[("Cargo.lock", "<<<<<<< HEAD\n")]),
        ["Its lock file `Cargo.lock` can't be read."]
    );
}

#[test]
fn a_workspace_has_one_lock_above() {
    let lock = "[[package]]\nname = \"real\"\nversion = \"1.0.0\"\n";
    let root =
        "[workspace]\nmembers = [\"a\"]\n[workspace.dependencies]\nshort = { package = \"real\", version = \"1\" }\n";
    let member = "[dependencies]\nshort.workspace = true\n";
    assert_eq!(said("crates/a/Cargo.toml", member, &[("Cargo.lock", lock), ("Cargo.toml", root)]), [] as [&str; 0]);
    assert_eq!(said("a/package.json", "{\"dependencies\": {\"b\": \"workspace:*\"}}", &[]), [] as [&str; 0]);
    assert_eq!(candidates("x/Gemfile"), ["x/Gemfile.lock", "x/gems.locked", "Gemfile.lock", "gems.locked"]);
    assert!(manifests_of("x/yarn.lock").eq(["x/package.json"]));
}

#[test]
fn a_list_of_requirements_is_its_own_lock() {
    let text = "# all\n-r base.txt\nflask==3.0\nrequests>=2 # any\npkg @ https://example.org/pkg.whl\n";
    assert_eq!(
        said("requirements.txt", text, &[]),
        ["4: `requests` has no one version, and no lock file gives it one."]
    );
    assert_eq!(said("requirements.txt", text, &[("uv.lock", "")]), [] as [&str; 0]);
}

/// However they are called; those for who works on the project need no versions.
#[test]
fn every_list_of_requirements_is_one() {
    for path in ["requirements/prod.txt", "requirements-web.txt", "app/requirements.txt", "web-requirements.txt"] {
        let found = ["1: `flask` has no one version, and no lock file gives it one."];
        assert_eq!(said(path, "flask\n", &[]), found, "{path}");
    }
    for path in ["requirements-dev.txt", "requirements/test.txt", "notes/prod.txt", "requirements/README.md"] {
        assert_eq!(said(path, "flask\n", &[]), [] as [&str; 0], "{path}");
    }
    for path in ["setup.py", "setup.cfg", "pom.xml", "a/b.csproj", "build.gradle", "pubspec.yaml", "deno.json"] {
        assert_eq!(locks_of(path), Some([].as_slice()), "{path}");
        assert_eq!(said(path, "", &[]), [] as [&str; 0], "{path}");
    }
}

/// By what it is, wherever it stands.
#[test]
fn what_is_needed_to_run_is_known_by_its_real_name() {
    let needed = |path: &str, text: &str, others: &[(&str, &str)]| -> Vec<String> {
        let there: There<'_> = others.iter().map(|(path, text)| (*path, Some(*text))).collect();
        let mark = |one: &Needed| if one.indirect { "?" } else { "" };
        runtime(path, text, &there).iter().map(|one| format!("{}{}@{:?}", one.name, mark(one), one.line)).collect()
    };
    let text = "[dependencies]\nlevel = { package = \"openssl-sys\", version = \"1\" }\nown = { path = \"../own\" }\n[target.\"cfg(all())\".dependencies]\nnix = \"1\"\n[dev-dependencies]\nx = \"1\"\n";
    assert_eq!(needed("Cargo.toml", text, &[]), ["openssl-sys@Some(2)", "nix@Some(5)"]);
    let root = "[workspace.dependencies]\nshort = { package = \"real\", version = \"1\" }\nown = { path = \"own\" }\n";
    let member = "[dependencies]\nown.workspace = true\nshort.workspace = true\n";
    assert_eq!(needed("a/Cargo.toml", member, &[("Cargo.toml", root)]), ["real@Some(3)"]);
    let go = "module a\n\nrequire (\n\tgolang.org/x/text v0.3.0 // indirect\n\tgithub.com/a/b v1.0.0\n\tx.org/y v1 // indirect\n)\n\nreplace x.org/y => ../y\n";
    assert_eq!(needed("go.mod", go, &[]), ["github.com/a/b@Some(5)", "golang.org/x/text?@Some(4)"]);
}

#[test]
fn a_name_can_not_leave_its_quotes() {
    let said = said("package.json", "{\"dependencies\": {\"a` <!-- \\n@all\": \"1\"}}", &[]);
    assert_eq!(said, ["It has dependencies (`a' <!-- '@all`), and no lock file."]);
}

#[test]
fn a_comment_in_a_lock_is_no_entry() {
    let manifest = "{\"dependencies\": {\"left-pad\": \"1\"}}";
    for (lock, text, is_there) in [
        ("yarn.lock", "# yarn lockfile v1\n\n\n# left-pad@1\n", false),
        ("yarn.lock", "# yarn lockfile v1\n\n\nleft-pad@1:\n  version \"1.0.0\"\n", true),
        ("pnpm-lock.yaml", "packages:\n  right-pad: 1.0.0 # left-pad@1\n", false),
        ("pnpm-lock.yaml", "packages:\n  /left-pad@1.0.0:\n    resolution: {integrity: x}\n", true),
        ("bun.lock", "{\n  // \"left-pad\"\n}\n", false),
        ("bun.lock", "{ \"packages\": {\n  \"left-pad\": [\"left-pad@1.0.0\"] } }\n", true),
    ] {
        assert_eq!(said("package.json", manifest, &[(lock, text)]).is_empty(), is_there, "{lock}: {text}");
    }
}
