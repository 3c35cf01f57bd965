//! What a script imports from beside it, as paths from its own folder.

/// More names than a script imports.
const MOST: usize = 200;

/// The files that may be meant; whether one is there is for the caller to see.
pub(super) fn imports(path: &str, text: &str) -> Vec<String> {
    let end = path.rsplit_once('.').map_or("", |(_, end)| end);
    let mut found = match end {
        "py" => python(text),
        "js" | "mjs" | "cjs" | "ts" | "mts" | "cts" => node(text),
        _ => Vec::new(),
    };
    found.truncate(MOST);
    found
}

fn python(text: &str) -> Vec<String> {
    let mut modules: Vec<String> = Vec::new();
    for line in text.lines().flat_map(|line| line.split(';')).map(str::trim) {
        if let Some(names) = line.strip_prefix("import ") {
            modules.extend(names.split(',').filter_map(|name| name.split_whitespace().next()).map(str::to_owned));
        } else if let Some((module, names)) = line.strip_prefix("from ").and_then(|rest| rest.split_once(" import ")) {
            let module = module.trim().trim_start_matches('.');
            let names = names.split(['(', ')', ',']).filter_map(|name| name.split_whitespace().next());
            modules
                .extend(names.map(|name| if module.is_empty() { name.to_owned() } else { format!("{module}.{name}") }));
            modules.push(module.to_owned());
        }
    }
    let files = modules.into_iter().filter(|module| !module.is_empty()).map(|module| module.replace('.', "/"));
    files.flat_map(|file| [format!("{file}.py"), format!("{file}/__init__.py")]).collect()
}

/// Whatever stands in quotes and begins with a dot: `import`, `require` and `export … from` all write it so.
fn node(text: &str) -> Vec<String> {
    let quoted = text.split(['\'', '"', '`']).filter(|name| name.starts_with("./") || name.starts_with("../"));
    let names = quoted.filter(|name| name.len() < 200 && !name.contains(char::is_whitespace));
    let ends = ["", ".js", ".mjs", ".cjs", ".ts", "/index.js", "/index.ts"];
    names.flat_map(|name| ends.map(|end| format!("{name}{end}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_found_in_their_spellings() {
        let text = "import checks, os.path as p\nfrom .more import (a, b)\n    from . import near; import last\n";
        let found = imports("ci/run.py", text);
        for file in ["checks.py", "os/path.py", "more.py", "more/a.py", "near.py", "last.py", "checks/__init__.py"] {
            assert!(found.iter().any(|name| name == file), "{file} {found:?}");
        }
        let text = "import { a } from './a.mjs'\nconst b = require(\"../b\"); await import(`./c`); import 'jest'\n";
        let found = imports("scripts/x.mjs", text);
        for file in ["./a.mjs", "../b.js", "./c/index.js"] {
            assert!(found.iter().any(|name| name == file), "{file} {found:?}");
        }
        assert!(!found.iter().any(|name| name.contains("jest")));
        assert_eq!(imports("a.sh", text), [""; 0]);
    }
}
