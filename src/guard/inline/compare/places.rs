//! Where an item stands, and whether it is still what it was in another place.
//!
//! The words of a test mean something in their module: `use super::*` is another thing one module further. So a move is free only
//! where the module is the same, or was moved as a whole:
//!
//! - to another name in the same module, class or suite, or with a module of which nothing stays behind;
//! - out of a module into the file that a `mod` line puts in its place, and back;
//! - with a file that was renamed within its package, with everything in it where it was.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{Became, Free, FrozenItems, Item, Now, Sort};
use crate::guard::inline::rust::places_of;
use crate::guard::parse::Language;
use crate::ids::Digest;

/// Files and modules around one are followed no farther than this.
const MOST_STEPS: usize = 64;

/// The same for what is looked at for each line.
const MOST_AROUND: usize = 6;

/// A docstring with more examples than this is not looked through.
const MOST_EXAMPLES: usize = 1_000;

/// A module, class or suite of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stand<'a> {
    pub(super) path: &'a str,
    pub(super) scope: &'a str,
}

/// A line that makes a file part of the program.
#[derive(PartialEq, Eq)]
struct Line {
    file: String,
    /// The module that it makes of it.
    module: String,
    /// It holds wherever tests are run.
    always: bool,
    digest: Digest,
}

type Lines = HashMap<String, Vec<Line>>;

/// Modules, classes and suites, with all that are around each.
type Scopes = HashMap<String, HashSet<String>>;

pub(super) struct Places<'a> {
    frozen: &'a BTreeMap<String, FrozenItems>,
    now: &'a BTreeMap<String, Now>,
    is_there: &'a dyn Fn(&str) -> bool,
    was_opened: Lines,
    opened: Lines,
    had: Scopes,
    has: Scopes,
    /// The examples of each docstring.
    told: HashMap<(&'a str, &'a str), Vec<&'a Item>>,
}

/// What joins the names of modules, classes or suites.
fn joint(path: &str) -> &'static str {
    match Language::of(path) {
        Some(Language::Python) => ".",
        Some(Language::JavaScript | Language::TypeScript | Language::Tsx) => " > ",
        _ => "::",
    }
}

fn joined(one: &str, by: &str, other: &str) -> String {
    if one.is_empty() || other.is_empty() { format!("{one}{other}") } else { format!("{one}{by}{other}") }
}

/// A name without the number that tells it from others.
fn plain(name: &str) -> &str {
    let numbered = name.rsplit_once('#').filter(|(head, number)| {
        !head.is_empty() && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    });
    numbered.map_or(name, |(head, _)| head)
}

/// The scope that a frozen item was in, told by its name and by that of what it is now.
fn scope_of<'n>(path: &str, (name, sort): (&'n str, Sort), to: Stand<'n>, now: &str) -> &'n str {
    let by = joint(path);
    // A long name ends in a digest, and nothing can be told from it alone.
    if plain(name) == plain(now) {
        return to.scope;
    }
    if sort == Sort::Doc {
        return if by == "." { plain(name) } else { "" };
    }
    let bare = |name: &'n str| plain(name).strip_prefix("mod ").unwrap_or(plain(name));
    let (name, now) = (bare(name), plain(now).strip_prefix("mod ").unwrap_or(plain(now)));
    let own = now.strip_prefix(to.scope).map_or(now, |own| own.strip_prefix(by).unwrap_or(own));
    if name == own {
        return "";
    }
    if let Some(scope) = name.strip_suffix(own).and_then(|head| head.strip_suffix(by)) {
        return scope;
    }
    name.rsplit_once(by).map_or("", |(scope, _)| scope)
}

/// A file of Rust under one name, whether it is `x.rs` or `x/mod.rs`.
fn one_name(path: &str) -> &str {
    let Some(stem) = path.strip_suffix(".rs") else { return path };
    stem.strip_suffix("/mod").unwrap_or(stem)
}

/// The package of a file, as far as its path tells.
pub(super) fn package(path: &str) -> &str {
    let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
    let mut start = 0;
    for folder in folders.split('/') {
        match folder {
            "src" => return path.get(..start).unwrap_or_default(),
            // Each of these is a program by itself.
            "tests" | "examples" | "benches" => return path.get(..start + folder.len()).unwrap_or_default(),
            _ => start += folder.len() + 1,
        }
    }
    ""
}

/// The end of a file's name that says how it is run.
fn ending(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    let start = name.find(".d.").or_else(|| name.rfind('.')).map_or(name.len(), |at| at + 1);
    name.get(start..).unwrap_or_default()
}

/// Folders of what is made or fetched: nobody looks for tests there.
const ASIDE: &[&str] = &[
    "node_modules",
    "bower_components",
    "dist",
    "build",
    "vendor",
    "venv",
    "site-packages",
    "__pycache__",
    "coverage",
    "CVS",
    "_darcs",
    "{arch}",
];

/// Whether a file stands in such a folder, or a hidden one.
fn is_aside(path: &str) -> bool {
    let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
    folders.split('/').any(|folder| ASIDE.contains(&folder) || folder.starts_with('.') || folder.ends_with(".egg"))
}

/// Whether a file of Rust is the root of a program, or of what builds one: examples in its documentation are not run.
fn is_program(path: &str) -> bool {
    let named = |end: &str| path.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
    let (folder, _) = path.rsplit_once('/').unwrap_or(("", path));
    named("src/main.rs")
        || named("build.rs")
        || folder == "src/bin"
        || folder.ends_with("/src/bin")
        || path.contains("src/bin/") && named("main.rs")
}

/// Whether cargo builds a file as a program by itself, without a line that names it.
fn is_target(path: &str, is_there: &dyn Fn(&str) -> bool) -> bool {
    let built = |folder: &str, alone: bool| {
        let (package, rest) = path.rsplit_once(folder)?;
        let at_top = alone && rest.ends_with(".rs") && !rest.contains('/');
        let own = rest.ends_with("/main.rs") && rest.matches('/').count() == 1;
        let fits = at_top || own || folder == "src/" && matches!(rest, "lib.rs" | "main.rs");
        (fits && (package.is_empty() || package.ends_with('/'))).then(|| format!("{package}Cargo.toml"))
    };
    let manifest = built("tests/", true).or_else(|| built("src/bin/", true)).or_else(|| {
        let (_, rest) = path.rsplit_once("src/")?;
        matches!(rest, "lib.rs" | "main.rs").then(|| built("src/", false)).flatten()
    });
    manifest.is_some_and(|manifest| is_there(&manifest))
}

/// Writes a line down once, and no more of them than are followed.
fn note(lines: &mut Vec<Line>, line: Line) {
    if lines.len() < MOST_STEPS && !lines.contains(&line) {
        lines.push(line);
    }
}

/// Adds a scope and all that are around it.
fn add(scopes: &mut HashSet<String>, scope: &str, by: &str) {
    let edges = scope.match_indices(by).map(|(at, _)| at).chain([scope.len()]);
    // From the inside, because what is around one that is known is known too.
    let edges: Vec<usize> = edges.collect();
    for end in edges.into_iter().rev() {
        let around = scope.get(..end).unwrap_or_default();
        if around.is_empty() || !scopes.insert(around.to_owned()) {
            return;
        }
    }
}

impl<'a> Places<'a> {
    pub(super) fn new(
        frozen: &'a BTreeMap<String, FrozenItems>,
        now: &'a BTreeMap<String, Now>,
        is_there: &'a dyn Fn(&str) -> bool,
    ) -> Self {
        let (mut was_opened, mut opened) = (Lines::new(), Lines::new());
        let (mut had, mut has) = (Scopes::new(), Scopes::new());
        let mut told: HashMap<(&str, &str), Vec<&Item>> = HashMap::new();
        for (file, items) in frozen {
            let (by, scopes) = (joint(file), had.entry(file.clone()).or_default());
            for (name, item) in items {
                if let Some(module) = plain(name).strip_prefix("mod ") {
                    add(scopes, module, by);
                    for place in places_of(file, plain(name)) {
                        let (file, module, digest) = (file.clone(), module.to_owned(), item.digest.clone());
                        let lines = was_opened.entry(one_name(&place).to_owned()).or_default();
                        note(lines, Line { file, module, always: true, digest });
                    }
                    continue;
                }
                if item.sort == Sort::Doc && by != "." {
                    continue;
                }
                let here = Stand { path: file, scope: "" };
                let scope = match plain(name).split_once("use ") {
                    Some((scope, _)) if scope.is_empty() || scope.ends_with("::") => scope.trim_end_matches("::"),
                    _ => scope_of(file, (name, item.sort), here, " "),
                };
                add(scopes, scope, by);
            }
        }
        for (file, read) in now {
            let (by, scopes) = (joint(file), has.entry(file.clone()).or_default());
            for item in read.items.iter().flatten().flatten() {
                add(scopes, &item.scope, by);
                if item.sort == Sort::Doc && by == "." {
                    told.entry((file.as_str(), item.scope.as_str())).or_default().push(item);
                }
                let Some(module) = plain(&item.name).strip_prefix("mod ").filter(|_| !item.opens.is_empty()) else {
                    continue;
                };
                add(scopes, module, by);
                if item.skipped {
                    continue;
                }
                // Two files at places that a line may mean: nobody knows which one it opens.
                let mut there = item.opens.iter().filter(|place| is_there(place)).map(|place| one_name(place));
                let first = there.next();
                let always = item.always && there.all(|other| Some(other) == first);
                for place in &item.opens {
                    let (file, module, digest) = (file.clone(), module.to_owned(), item.digest.clone());
                    let lines = opened.entry(place.clone()).or_default();
                    note(lines, Line { file, module, always, digest });
                }
            }
        }
        Self { frozen, now, is_there, was_opened, opened, had, has, told }
    }

    /// Whether a file is there and no line makes it part of the program where the one did that is gone.
    pub(super) fn is_left_out(&self, place: &str, gone: &Digest) -> bool {
        (self.is_there)(place) && !self.is_open_by(place, &HashSet::from([gone]))
    }

    /// Whether a line makes a file part of the program: one that always holds, or one that is the same as what was there.
    fn is_open_by(&self, place: &str, same: &HashSet<&Digest>) -> bool {
        is_target(place, self.is_there) || self.lines(place, same).next().is_some()
    }

    /// The lines that count for a file, each in a file that is part of the program itself.
    fn lines<'s>(&'s self, place: &str, same: &'s HashSet<&Digest>) -> impl Iterator<Item = &'s Line> {
        let lines = self.opened.get(place).into_iter().flatten();
        lines.filter(|line| (line.always || same.contains(&line.digest)) && self.is_part(&line.file, same))
    }

    /// Whether a file is part of the program, as far as it is known.
    fn is_part(&self, file: &str, same: &HashSet<&Digest>) -> bool {
        let mut seen: HashSet<&str> = HashSet::new();
        let mut open = vec![file];
        while let Some(file) = open.pop().filter(|_| seen.len() < MOST_STEPS) {
            if !self.now.get(file).is_some_and(|now| now.new) || self.replaces(file) || is_target(file, self.is_there) {
                return true;
            }
            let lines = self.opened.get(file).into_iter().flatten();
            let lines = lines.filter(|line| line.always || same.contains(&line.digest));
            let around: Vec<&str> = lines.map(|line| line.file.as_str()).collect();
            open.extend(around.into_iter().filter(|around| seen.insert(around)));
        }
        false
    }

    /// Whether a file is where another was that had the same module: `x.rs` and `x/mod.rs`.
    fn replaces(&self, file: &str) -> bool {
        let name = one_name(file);
        let mut twins = [format!("{name}.rs"), format!("{name}/mod.rs")].into_iter();
        twins.any(|twin| {
            twin != file && self.frozen.get(&twin).is_some_and(|items| !items.is_empty()) && !(self.is_there)(&twin)
        })
    }

    /// All names of a module: by its own file, and by those that it is a module of.
    fn names(&self, from: Stand<'_>, lines: &dyn Fn(&str) -> Vec<(String, String)>) -> Vec<(String, String)> {
        let mut found = vec![(from.path.to_owned(), from.scope.to_owned())];
        let mut at = 0;
        while let Some((path, scope)) = found.get(at).cloned().filter(|_| found.len() < MOST_STEPS) {
            at += 1;
            for (file, module) in lines(&path) {
                let next = (file, joined(&module, "::", &scope));
                if !found.contains(&next) {
                    found.push(next);
                }
            }
        }
        found
    }

    /// Whether one that moved is what it was.
    pub(super) fn fits(&self, path: &str, was: (&str, Sort), to: Stand<'_>, now: &str) -> bool {
        let from = Stand { path, scope: scope_of(path, was, to, now) };
        if to.path == path {
            let same = self.is_same_scope(path, from.scope, to.scope);
            return same || was.1 == Sort::Doc && self.is_free_of(to, now);
        }
        if Language::of(path) != Language::of(to.path) || ending(path) != ending(to.path) {
            return false;
        }
        let renamed = self.is_new(to.path) && !(self.is_there)(path) && package(path) == package(to.path);
        if Language::of(path) != Some(Language::Rust) {
            return renamed && from.scope == to.scope && (is_aside(path) || !is_aside(to.path));
        }
        let same = self.conditions(path);
        if !self.is_part(to.path, &same) {
            return false;
        }
        // What is written about code is run outside of it.
        let is_doc = was.1 == Sort::Doc;
        if is_doc && self.is_of_program(to.path, MOST_AROUND) && !self.is_of_program(path, MOST_AROUND) {
            return false;
        }
        let doc = is_doc && package(path) == package(to.path);
        doc || renamed && from.scope == to.scope || self.is_same_module(from, to, &same)
    }

    /// Whether an example uses no name that an older one gives a meaning to in the docstring that it has come to.
    fn is_free_of(&self, to: Stand<'_>, name: &str) -> bool {
        let examples = self.told.get(&(to.path, to.scope)).map(Vec::as_slice).unwrap_or_default();
        if examples.len() > MOST_EXAMPLES {
            return false;
        }
        let Some(here) = examples.iter().find(|item| item.name == name) else { return true };
        let frozen = self.frozen.get(to.path);
        let mut before = examples.iter().filter(|other| {
            let was = frozen.and_then(|frozen| frozen.get(&other.name));
            other.line < here.line && was.is_some_and(|was| was.digest == other.digest)
        });
        !before.any(|other| other.defines.iter().any(|name| here.mentions.contains(name)))
    }

    /// Whether a file is part of programs alone, as far as the lines of the change tell: rustdoc runs the examples of libraries.
    fn is_of_program(&self, path: &str, steps: usize) -> bool {
        let lines = self.opened.get(path).map(Vec::as_slice).unwrap_or_default();
        let inside = |line: &Line| line.file != path && self.is_of_program(&line.file, steps - 1);
        is_program(path) || steps > 0 && !lines.is_empty() && lines.iter().all(inside)
    }

    fn is_new(&self, path: &str) -> bool {
        self.now.get(path).is_some_and(|now| now.new)
    }

    /// The digests of the lines that had made a file part of the program.
    fn conditions(&self, path: &str) -> HashSet<&Digest> {
        self.was_opened.get(one_name(path)).into_iter().flatten().map(|line| &line.digest).collect()
    }

    /// The same scope of a file, or one that has another name now in the place of it: nothing has the old name any more, and
    /// nothing had the new one.
    fn is_same_scope(&self, path: &str, from: &str, to: &str) -> bool {
        if from == to {
            return true;
        }
        let by = joint(path);
        let (mut old, mut new) = (String::new(), String::new());
        let (one, other): (Vec<&str>, Vec<&str>) = (from.split(by).collect(), to.split(by).collect());
        if one.len() != other.len() || from.is_empty() || to.is_empty() {
            return false;
        }
        let mut differs = 0;
        for (one, other) in one.iter().zip(&other) {
            if differs == 0 {
                (old, new) = (joined(&old, by, one), joined(&new, by, other));
            }
            differs += usize::from(one != other);
        }
        let knows = |scopes: &Scopes, scope: &str| scopes.get(path).is_some_and(|scopes| scopes.contains(scope));
        differs == 1 && !knows(&self.has, &old) && !knows(&self.had, &new)
    }

    fn is_same_module(&self, from: Stand<'_>, to: Stand<'_>, same: &HashSet<&Digest>) -> bool {
        let told = |line: &Line| (line.file.clone(), line.module.clone());
        let old =
            self.names(from, &|path| self.was_opened.get(one_name(path)).into_iter().flatten().map(told).collect());
        let new = self.names(to, &|path| self.lines(path, same).map(told).collect());
        let fits = |(one, scope): &(String, String), (other, now): &(String, String)| {
            one_name(one) == one_name(other) && (scope == now || one == other && self.is_same_scope(one, scope, now))
        };
        old.iter().any(|old| new.iter().any(|new| fits(old, new)))
    }

    /// What became of one that moved.
    pub(super) fn moved(&self, path: &str, was: (&str, Sort), free: Free) -> Became {
        let fits = self.fits(path, was, free.stand(), &free.name);
        let Free { path: to_path, name: to, line, .. } = free;
        let other = (to_path != path).then(|| to_path.clone());
        if fits {
            return Became::Moved { path: other, to, line };
        }
        let rust = Language::of(&to_path) == Some(Language::Rust);
        if rust && other.is_some() && !self.is_part(&to_path, &self.conditions(path)) {
            return Became::Aside { path: to_path };
        }
        Became::Elsewhere { path: other, to, line }
    }
}
