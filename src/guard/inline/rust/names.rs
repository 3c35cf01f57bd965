//! What things in Rust code are called, which names they give a meaning to, and where the files of modules are.

use super::{COMMON, Walk, bare};
use crate::guard::inline::attr::word;
use crate::guard::inline::nodes::At;

/// An import of more names is taken as a whole.
const MOST_IMPORTED: usize = 200;

/// One name of an import.
pub(super) struct Leaf<'t> {
    /// Its whole path, and behind `as` what it is called here.
    pub(super) words: Vec<&'t str>,
    /// The names that it gives a meaning to.
    pub(super) defines: Vec<String>,
}

impl Leaf<'_> {
    fn is_standard(&self) -> bool {
        let first = self.words.iter().find(|word| **word != "::");
        matches!(first, Some(&("std" | "core" | "alloc")))
    }

    fn is_renamed(&self) -> bool {
        matches!(self.words.as_slice(), [.., from, "as", to] if from != to)
    }

    /// Whether nobody can tell from the name that it is a macro.
    pub(super) fn is_unsure(&self) -> bool {
        !self.is_renamed() && self.words.last().is_some_and(|name| COMMON.contains(name))
    }

    pub(super) fn name(&self) -> String {
        match self.words.as_slice() {
            [path @ .., "as", name] => format!("use {} as {name}", path.concat()),
            path => format!("use {}", path.concat()),
        }
    }
}

impl<'t> Walk<'_, '_, 't> {
    /// What something that is declared is called in its scope.
    pub(super) fn name(&self, at: At) -> String {
        let nodes = self.nodes;
        let own = || nodes.named(at, "name").unwrap_or_default().to_owned();
        match nodes.kind(at) {
            "function_item"
            | "function_signature_item"
            | "mod_item"
            | "const_item"
            | "static_item"
            | "struct_item"
            | "enum_item"
            | "union_item"
            | "type_item"
            | "associated_type"
            | "trait_item"
            | "field_declaration"
            | "enum_variant" => own(),
            "macro_definition" => format!("{}!", own()),
            "macro_invocation" => {
                let name = nodes.named(at, "macro").unwrap_or_default();
                let tree = nodes.child(at, "token_tree");
                let first = tree.and_then(|tree| nodes.children(tree).find(|child| nodes.kind(*child) == "identifier"));
                first.map_or_else(|| format!("{name}!"), |first| format!("{name}!({})", nodes.text(first)))
            }
            "impl_item" => {
                let of = nodes.field(at, "type").map(|of| self.base_name(of)).unwrap_or_default();
                match nodes.field(at, "trait") {
                    Some(what) => format!("<{of} as {}>", self.base_name(what)),
                    None => of,
                }
            }
            "use_declaration" | "extern_crate_declaration" => {
                let words = nodes.tokens(at).into_iter().filter_map(word).filter(|word| *word != ";");
                let mut name = String::new();
                for word in words {
                    let glued = word.starts_with([':', ',', '}']) || name.ends_with(['{', ':']);
                    if !name.is_empty() && !glued {
                        name.push(' ');
                    }
                    name.push_str(word);
                }
                name
            }
            "foreign_mod_item" => "extern".to_owned(),
            _ => "a statement for tests".to_owned(),
        }
    }

    /// A type's name without its parameters.
    fn base_name(&self, at: At) -> String {
        let inner = match self.nodes.kind(at) {
            "generic_type" => self.nodes.field(at, "type").unwrap_or(at),
            _ => at,
        };
        let words: Vec<&str> = self.nodes.tokens(inner).into_iter().filter_map(word).collect();
        words.concat()
    }

    /// The names that it gives a meaning to.
    pub(super) fn defines(&self, at: At) -> Vec<String> {
        let nodes = self.nodes;
        let own = || nodes.named(at, "name").map(|name| bare(name).to_owned());
        match nodes.kind(at) {
            "function_item" | "function_signature_item" => {
                let method = self.scopes.last().is_some_and(|scope| !scope.items);
                own().into_iter().flat_map(|name| [method.then(|| format!(".{name}")), Some(name)]).flatten().collect()
            }
            "const_item" | "static_item" | "struct_item" | "enum_item" | "union_item" | "type_item" | "trait_item"
            | "mod_item" => own().into_iter().filter(|name| name != "_").collect(),
            "macro_definition" => own().map(|name| format!("{name}!")).into_iter().collect(),
            // Methods that a type has only in tests.
            "impl_item" if nodes.field(at, "trait").is_none() => {
                let body = nodes.field(at, "body").map(|body| nodes.children(body)).into_iter().flatten();
                body.filter_map(|child| nodes.named(child, "name")).map(|name| format!(".{}", bare(name))).collect()
            }
            "extern_crate_declaration" => {
                let words: Vec<&str> = nodes.tokens(at).into_iter().filter_map(word).collect();
                words.iter().rev().find(|word| **word != ";").map(|word| bare(word).to_owned()).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// The names of an import, each with its path. None where there are too many.
    pub(super) fn leaves(&self, at: At) -> Option<Vec<Leaf<'t>>> {
        let words = self.nodes.tokens(at).into_iter().filter_map(word).skip_while(|word| *word != "use").skip(1);
        let mut leaves = Vec::new();
        // The path so far, and how much of it stands before each open brace.
        let (mut path, mut open): (Vec<&'t str>, Vec<usize>) = (Vec::new(), Vec::new());
        let mut done = false;
        for word in words {
            match word {
                "{" => open.push(path.len()),
                "," | "}" | ";" => {
                    let before = open.last().copied().unwrap_or(0);
                    if !done && path.len() > before {
                        leaves.push(Leaf { words: path.clone(), defines: Vec::new() });
                    }
                    path.truncate(before);
                    done = word == "}";
                    if done {
                        open.pop();
                    }
                }
                word => path.push(bare(word)),
            }
            if leaves.len() > MOST_IMPORTED || path.len() > MOST_IMPORTED || open.len() > MOST_IMPORTED {
                return None;
            }
        }
        for leaf in &mut leaves {
            // `a::{self}` is `a`.
            if leaf.words.len() > 2 && leaf.words.ends_with(&["::", "self"]) {
                leaf.words.truncate(leaf.words.len() - 2);
            } else if let [.., "::", "self", "as", _] = leaf.words.as_slice() {
                let from = leaf.words.len() - 4;
                leaf.words.drain(from..from + 2);
            }
            let last = leaf.words.last().filter(|last| !matches!(**last, "*" | "_" | "self")).copied();
            // One of the standard library under its own name is what it was without an import.
            let known = leaf.is_standard() && !leaf.is_renamed();
            let names = |name: &str| [Some(name.to_owned()), (!known).then(|| format!("{name}!"))];
            leaf.defines = last.into_iter().flat_map(names).flatten().collect();
        }
        Some(leaves)
    }
}

/// Where the file may be that an item with this name makes part of the program.
pub(in crate::guard::inline) fn places_of(file: &str, item: &str) -> Vec<String> {
    let Some(path) = item.strip_prefix("mod ") else { return Vec::new() };
    let (folders, name) = path.rsplit_once("::").unwrap_or(("", path));
    places(file, &folders.replace("::", "/"), name, None)
}

/// Where the file of `mod name;` may be, as paths in the repository.
pub(super) fn places(file: &str, folders: &str, name: &str, place: Option<&str>) -> Vec<String> {
    let (folder, own) = file.rsplit_once('/').unwrap_or(("", file));
    let stem = own.strip_suffix(".rs").unwrap_or(own);
    let name = name.trim_start_matches("r#");
    let root = matches!(stem, "mod" | "lib" | "main" | "build");
    let below = if root { folder.to_owned() } else { path_of(&[folder, stem]) };
    if let Some(place) = place {
        let from = if folders.is_empty() { folder.to_owned() } else { path_of(&[&below, folders]) };
        return resolved(&format!("{from}/{place}")).into_iter().collect();
    }
    let mut bases = vec![path_of(&[&below, folders])];
    // A program of its own has its modules beside it.
    let last = folder.rsplit('/').next().unwrap_or_default();
    if !root && matches!(last, "bin" | "examples" | "benches" | "tests" | "fuzz_targets" | "") {
        bases.push(path_of(&[folder, folders]));
    }
    bases.iter().flat_map(|base| [path_of(&[base, &format!("{name}.rs")]), path_of(&[base, name, "mod.rs"])]).collect()
}

fn path_of(parts: &[&str]) -> String {
    let full: Vec<&str> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
    full.join("/")
}

/// A path without `.` and `..`; none where it leaves the repository.
fn resolved(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}
