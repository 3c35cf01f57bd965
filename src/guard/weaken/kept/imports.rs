//! Where the names of a file come from.

use std::collections::{BTreeMap, BTreeSet};

use super::super::tree::{Sort, Tree};
use super::items::{self, Item};
use crate::guard::parse::Language;

/// Names, with the groups around them, and from where each is taken. `*` stands for whatever is there.
pub(super) type Imports = BTreeMap<String, BTreeSet<String>>;

/// What the imports of a file take.
pub(super) fn imports(language: Language, tree: &Tree<'_>, all: &[Item]) -> Imports {
    let mut found = Imports::new();
    let own = all.iter().filter(|item| item.sort == items::Sort::Import);
    for (item, node) in own.filter_map(|item| Some((item, item.nodes.last()?))) {
        let taken = match language {
            Language::Python => python(tree, *node),
            Language::Go => go(tree, *node),
            Language::Rust => rust(tree, *node),
            Language::JavaScript | Language::TypeScript | Language::Tsx => script(tree, *node),
        };
        for (name, from) in taken {
            found.entry(format!("{}{name}", item.scope)).or_default().insert(from);
        }
    }
    found
}

fn python(tree: &Tree<'_>, at: usize) -> Vec<(String, String)> {
    let module = tree.field(at, "module_name");
    let from = module.map(|module| format!("{}.", tree.words(module))).unwrap_or_default();
    let names = tree.parts(at).filter(|part| Some(*part) != module);
    names
        .map(|part| match tree.kind(part) {
            "wildcard_import" => ("*".to_owned(), format!("{from}*")),
            "aliased_import" => {
                let of = |field: &str| tree.field(part, field).map(|node| tree.words(node)).unwrap_or_default();
                (of("alias").to_owned(), format!("{from}{}", of("name")))
            }
            // `import os.path` gives the name `os`.
            _ if module.is_none() => {
                let root = tree.words(part).split('.').next().unwrap_or_default();
                (root.to_owned(), root.to_owned())
            }
            _ => (tree.words(part).to_owned(), format!("{from}{}", tree.words(part))),
        })
        .collect()
}

fn go(tree: &Tree<'_>, at: usize) -> Vec<(String, String)> {
    let path = tree.field(at, "path").and_then(|path| tree.string(path)).unwrap_or_default();
    let name = match tree.field(at, "name").map(|name| tree.words(name)) {
        Some(".") => "*",
        Some(name) => name,
        None => {
            let is_version = |part: &&str| part.strip_prefix('v').is_some_and(|rest| rest.parse::<u32>().is_ok());
            let last = path.rsplit('/').find(|part| !is_version(part)).unwrap_or(path);
            last.split_once(".v").map_or(last, |(name, _)| name)
        }
    };
    vec![(name.to_owned(), path.to_owned())]
}

fn script(tree: &Tree<'_>, at: usize) -> Vec<(String, String)> {
    if let Some(clause) = tree.child_of_kind(at, "import_require_clause") {
        let name = tree.parts(clause).next().map(|name| tree.words(name)).unwrap_or_default();
        return vec![(name.to_owned(), tree.words(clause).to_owned())];
    }
    let from = tree.field(at, "source").and_then(|source| tree.string(source)).unwrap_or_default();
    let Some(clause) = tree.child_of_kind(at, "import_clause") else {
        // It is run, and takes nothing.
        return vec![(format!("{from:?}"), from.to_owned())];
    };
    let mut found = Vec::new();
    for part in tree.parts(clause) {
        match tree.kind(part) {
            "named_imports" => found.extend(tree.parts(part).filter_map(|one| {
                let name = tree.words(tree.field(one, "name")?);
                let alias = tree.field(one, "alias").map_or(name, |alias| tree.words(alias));
                Some((alias.to_owned(), format!("{from}.{name}")))
            })),
            "namespace_import" => {
                let name = tree.parts(part).next().map(|name| tree.words(name)).unwrap_or_default();
                found.push((name.to_owned(), format!("{from}.*")));
            }
            _ => found.push((tree.words(part).to_owned(), format!("{from}.default"))),
        }
    }
    found
}

/// `use a::{b, c as d, e::*};`, read by its words.
fn rust(tree: &Tree<'_>, at: usize) -> Vec<(String, String)> {
    let Some(argument) = tree.field(at, "argument") else { return Vec::new() };
    let tokens = tree.tokens_within(argument, 20_000);
    let (mut found, mut open, mut path) = (Vec::new(), Vec::new(), String::new());
    let (mut name, mut renamed): (Option<&str>, bool) = (None, false);
    let mut put = |name: &mut Option<&str>, path: &str| {
        if let Some(name) = name.take() {
            let own = path.rsplit("::").nth(1).filter(|_| name == "self");
            found.push((own.unwrap_or(name).to_owned(), path.to_owned()));
        }
    };
    for token in &tokens {
        match token.text {
            "{" => {
                open.push(path.clone());
                name = None;
            }
            "," | "}" => {
                put(&mut name, &path);
                if token.text == "}" {
                    open.pop();
                }
                path = open.last().cloned().unwrap_or_default();
                renamed = false;
            }
            "::" => {
                path.push_str("::");
                name = None;
            }
            "as" => renamed = true,
            word if token.sort == Sort::Word || word == "*" => {
                if !renamed {
                    path.push_str(word);
                }
                name = Some(word);
            }
            _ => {}
        }
    }
    put(&mut name, &path);
    found
}
