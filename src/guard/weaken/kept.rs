//! What was there in the files of tests, and is not as it was.
//!
//! Whatever a test expects stands in it, in a function beside it, in a row or under a name. What that means nobody can tell by
//! reading; so each item of the old text has to be there still, word for word, in its group and its file. Layout and comments are
//! free, and so is what is added where it can't reach what was there: other tests, functions, names and groups, and rows of a table.
//!
//! What it promises: where it says nothing, the tests that were there say what they said, with the names that they said it with.
//! What new code does once it is run is not seen.

mod form;
mod grown;
mod imports;
mod items;
#[cfg(test)]
mod tests;
mod words;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use self::grown::Grown;
use self::imports::{Imports, imports};
use self::items::{Item, Sort, given, items, onto, prints};
use super::Changed;
use super::tree::{self, Tree, is_comment};
use crate::finding::quoted;
use crate::guard::parse::Language;
use crate::ids::Digest;

/// Something that is not as it was: where, in the new text (none: it is gone), and what.
pub(super) type Edit = (Option<u32>, String);

/// So many are told of a file.
const MOST: usize = 50;

/// Folders whose files are what tests read: each word of them may be what is expected.
const DATA: [&str; 12] = [
    "testdata",
    "test_data",
    "test-data",
    "data",
    "fixtures",
    "__fixtures__",
    "golden",
    "expected",
    "snapshots",
    "__snapshots__",
    "target",
    "ui",
];

/// Comments that say how a file is read, built or checked.
const MARKS: [&str; 13] = [
    "//go:",
    "// +build",
    "//+build",
    "$expect",
    "@ts-",
    "@vitest",
    "@jest",
    "//~",
    "# n:",
    "# e:",
    "coding:",
    "coding=",
    "// want",
];

/// What is not as it was, file by file. All of them are files of tests.
pub(super) fn edits(changed: &[Changed<'_>]) -> Vec<Vec<Edit>> {
    let mut files: Vec<File<'_>> = changed.iter().map(File::of).collect();
    renamed(&mut files);
    files
        .iter()
        .map(|file| {
            let mut edits = match &file.unread {
                Some(why) => vec![(None, why.clone())],
                None => file.edits(),
            };
            edits.sort();
            edits.dedup();
            if let Some(more) = edits.len().checked_sub(MOST).filter(|more| *more > 0) {
                edits.truncate(MOST);
                edits.push((None, format!("And {more} more are not as they were.")));
            }
            edits
        })
        .collect()
}

/// A file that is gone, and one of the same folder that has come with what it had: it is held against that one.
fn renamed(files: &mut [File<'_>]) {
    let folder = |path: &str| path.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned());
    let digests = |side: &Option<Side<'_>>| -> HashSet<Digest> {
        side.iter().flat_map(|side| &side.items).map(|item| item.digest.clone()).collect()
    };
    let came: Vec<(usize, String, HashSet<Digest>)> = files
        .iter()
        .enumerate()
        .filter(|(_, file)| file.old.is_none() && file.new.is_some())
        .map(|(at, file)| (at, folder(file.path), digests(&file.new)))
        .collect();
    let mut taken = BTreeSet::new();
    for at in 0..files.len() {
        let Some(file) = files.get(at).filter(|file| file.old.is_some() && file.new.is_none() && file.unread.is_none())
        else {
            continue;
        };
        let (own, place, language) = (digests(&file.old), folder(file.path), file.language);
        let alike = |other: &&(usize, String, HashSet<Digest>)| {
            other.1 == place
                && !taken.contains(&other.0)
                && files.get(other.0).is_some_and(|file| file.language == language)
        };
        let best = came.iter().filter(alike).max_by_key(|(_, _, there)| own.intersection(there).count());
        let Some((from, ..)) = best.filter(|(_, _, there)| !own.is_disjoint(there)) else { continue };
        taken.insert(*from);
        let new = files.get_mut(*from).and_then(|file| file.new.take());
        if let Some(file) = files.get_mut(at) {
            file.new = new;
        }
    }
}

/// A text, read.
struct Side<'t> {
    tree: Tree<'t>,
    items: Vec<Item>,
    imports: Imports,
    /// Comments that say how it is read, built or checked.
    marks: Vec<String>,
}

impl<'t> Side<'t> {
    fn of(language: Language, bytes: &'t [u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "it is no text in UTF-8".to_owned())?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let tree = Tree::read(language, text).ok_or("the parser gave up on it")?;
        if let Some(line) = tree.broken {
            return Err(format!("line {line} can't be made out"));
        }
        let items = items(language, &tree);
        let imports = imports(language, &tree, &items);
        let comments = (0..tree.len()).filter(|at| is_comment(tree.kind(*at))).map(|at| tree.words(at).trim());
        let is_mark = |comment: &&str| {
            let comment = comment.to_lowercase();
            MARKS.iter().any(|mark| comment.contains(mark))
        };
        let marks = comments.filter(is_mark).map(|comment| laid_out(language, comment)).collect();
        Ok(Self { tree, items, imports, marks })
    }

    /// The names that are used in it: such as stand alone, and such as are asked of the class around.
    fn uses(&self) -> Uses<'t> {
        let mut uses = Uses::default();
        let tokens = self.tree.tokens_within(0, usize::MAX);
        for (at, token) in tokens.iter().enumerate().filter(|(_, token)| token.sort == tree::Sort::Word) {
            let before = |back: usize| at.checked_sub(back).and_then(|at| tokens.get(at)).map(|token| token.text);
            match (before(2), before(1)) {
                (Some("self" | "cls" | "this"), Some(".")) => drop(uses.members.insert(token.text)),
                (_, Some("." | "?." | "::")) => {}
                _ => drop(uses.free.insert(token.text)),
            }
        }
        for item in self.items.iter().filter(|item| item.sort == Sort::Named) {
            uses.given.extend(self.gives(item));
        }
        uses
    }

    /// The words that an item gives a meaning to.
    fn gives(&self, item: &Item) -> Vec<&'t str> {
        let nodes = item.nodes.iter().flat_map(|node| given(&self.tree, *node));
        let words = nodes.flat_map(|node| self.tree.tokens_within(node, 200));
        words.filter(|token| token.sort == tree::Sort::Word).map(|token| token.text).collect()
    }

    fn kind(&self, item: &Item) -> &'static str {
        item.nodes.last().map_or("", |node| self.tree.kind(*node))
    }

    /// Whether it says something where it stands, and not only once it is asked for.
    fn is_in_order(&self, item: &Item) -> bool {
        match item.sort {
            Sort::Test | Sort::Onto => false,
            Sort::Other => true,
            Sort::Import => self.imports.contains_key(&format!("{}*", item.scope)),
            Sort::Named => !matches!(
                self.kind(item),
                "function_definition"
                    | "class_definition"
                    | "decorated_definition"
                    | "function_declaration"
                    | "generator_function_declaration"
                    | "class_declaration"
                    | "method_definition"
                    | "function_item"
                    | "mod_item"
                    | "struct_item"
                    | "enum_item"
                    | "trait_item"
                    | "type_item"
                    | "type_spec"
                    | "interface_declaration"
                    | "type_alias_declaration"
            ),
        }
    }
}

/// A comment, however it is indented.
fn laid_out(language: Language, comment: &str) -> String {
    let words = comment.strip_prefix('#').filter(|_| language == Language::Python).map(str::trim_start);
    let lines: Vec<&str> = words.unwrap_or(comment).lines().map(str::trim).collect();
    lines.join("\n")
}

#[derive(Default)]
struct Uses<'t> {
    free: HashSet<&'t str>,
    members: HashSet<&'t str>,
    /// Those that the file itself gives a meaning to.
    given: HashSet<&'t str>,
}

struct File<'t> {
    path: &'t str,
    language: Option<Language>,
    old: Option<Side<'t>>,
    new: Option<Side<'t>>,
    /// Why what became of it can't be told by its items.
    unread: Option<String>,
}

impl<'t> File<'t> {
    fn of((path, old, new): &Changed<'t>) -> Self {
        let mut file = Self { path, language: Language::of(path), old: None, new: None, unread: None };
        let Some(language) = file.language else { return file };
        if old.is_some() && path.split('/').any(|folder| DATA.contains(&folder)) {
            file.unread = Some("It lies among the data of tests, where each word may be what is expected.".to_owned());
            return file;
        }
        let read = |bytes: Option<&'t [u8]>| bytes.map(|bytes| Side::of(language, bytes)).transpose();
        match (read(*old), read(*new)) {
            (Ok(old), Ok(new)) => (file.old, file.new) = (old, new),
            (Err(why), _) | (_, Err(why)) if old.is_some() => {
                file.unread = Some(format!("Whether it is as it was can't be told: {why}."));
            }
            _ => {}
        }
        file
    }

    fn edits(&self) -> Vec<Edit> {
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => self.between(old, new),
            (Some(_), None) => vec![(None, "It is gone, and no file beside it has what it had.".to_owned())],
            (None, Some(new)) => self.brought(new),
            (None, None) => Vec::new(),
        }
    }

    fn between(&self, old: &Side<'_>, new: &Side<'_>) -> Vec<Edit> {
        let (pairs, gone, mut added) = pairs(old, new);
        let mut edits = turned(old, &pairs);
        for item in gone.iter().filter(|item| item.sort != Sort::Import) {
            let shown = quoted(&format!("{}{}", item.scope, item.name));
            let same = |new: &&Item| (&new.scope, &new.name, new.sort) == (&item.scope, &item.name, item.sort);
            let Some(place) = added.iter().position(same) else {
                edits.push((None, format!("{shown} is not there any more.")));
                continue;
            };
            let now = added.remove(place);
            if !self.is_grown((old, item), (new, now)) {
                edits.push((Some(now.line), format!("{shown} is not as it was.")));
            }
        }
        let uses = old.uses();
        let groups: HashSet<String> = old.items.iter().map(|item| format!("{}{}::", item.scope, item.name)).collect();
        let reached = added.iter().filter(|item| item.scope.is_empty() || groups.contains(&item.scope));
        edits.extend(reached.filter_map(|item| reaches(self.language, new, item, &uses)));
        edits.extend(taken(old, new, &uses, &groups));
        if old.marks != new.marks {
            edits.push((None, "Comments that say how it is read, built or checked are not as they were.".to_owned()));
        }
        edits
    }

    fn is_grown(&self, (old, before): (&Side<'_>, &Item), (new, now): (&Side<'_>, &Item)) -> bool {
        let alone = before.body.is_none() && now.body.is_none();
        let Some(language) = self.language.filter(|language| alone && !prints(*language, &before.name)) else {
            return false;
        };
        Grown::new(language, &old.tree, &new.tree).is(&before.nodes, &now.nodes)
    }

    /// What a new file brings that reaches the tests of others.
    fn brought(&self, new: &Side<'_>) -> Vec<Edit> {
        if self.path.split('/').any(|folder| folder == "__mocks__") {
            return vec![(Some(1), "It is new, and stands in for a module wherever tests ask for that.".to_owned())];
        }
        let shared = self.path.rsplit('/').next() == Some("conftest.py");
        let around = new.items.iter().filter(|item| shared && is_around(new, item));
        around.map(|item| (Some(item.line), run_around(item))).collect()
    }
}

/// Which item of the new text is which of the old one, by their places; what is gone; and what was added.
type Pairs<'a> = (Vec<(usize, usize)>, Vec<&'a Item>, Vec<&'a Item>);

/// Items that are as they were, in the group in which they were.
fn pairs<'a>(old: &'a Side<'_>, new: &'a Side<'_>) -> Pairs<'a> {
    let mut there: HashMap<(&Digest, &str), Vec<usize>> = HashMap::new();
    for (at, item) in new.items.iter().enumerate().rev() {
        there.entry((&item.digest, &item.scope)).or_default().push(at);
    }
    let (mut pairs, mut gone, mut left) = (Vec::new(), Vec::new(), HashSet::new());
    for (at, item) in old.items.iter().enumerate() {
        match there.get_mut(&(&item.digest, item.scope.as_str())).and_then(Vec::pop) {
            Some(now) => {
                pairs.push((at, now));
                left.insert(now);
            }
            None => gone.push(item),
        }
    }
    let added = new.items.iter().enumerate().filter(|(at, _)| !left.contains(at)).map(|(_, item)| item).collect();
    (pairs, gone, added)
}

/// Of what says something by where it stands, the order is what it was.
fn turned(old: &Side<'_>, pairs: &[(usize, usize)]) -> Vec<Edit> {
    let mut last: BTreeMap<&str, usize> = BTreeMap::new();
    let mut edits = Vec::new();
    for (before, now) in pairs {
        let Some(item) = old.items.get(*before).filter(|item| old.is_in_order(item)) else { continue };
        let last = last.entry(item.scope.as_str()).or_default();
        if now < last {
            let shown = quoted(&format!("{}{}", item.scope, item.name));
            edits.push((None, format!("{shown} stands in another place among what is beside it.")));
        }
        *last = (*last).max(*now);
    }
    edits
}

/// What a new item does to what was there.
fn reaches(language: Option<Language>, new: &Side<'_>, item: &Item, uses: &Uses<'_>) -> Option<Edit> {
    let told = |says: String| Some((Some(item.line), says));
    if is_around(new, item) {
        return told(run_around(item));
    }
    let shown = quoted(&format!("{}{}", item.scope, item.name));
    if matches!(item.within, "class_definition" | "class_declaration" | "impl_item") {
        let test = language == Some(Language::Python)
            && matches!(new.kind(item), "function_definition" | "decorated_definition")
            && new.gives(item).iter().all(|name| name.starts_with("test") && !uses.members.contains(name))
            && stands_alone(new, item);
        return if test { None } else { told(format!("{shown} is new in a class that was there.")) };
    }
    match item.sort {
        Sort::Import | Sort::Test => None,
        Sort::Other => told(format!("{shown} is new, and is run beside what was there.")),
        Sort::Onto => {
            let words = item.nodes.last().and_then(|node| onto(&new.tree, *node));
            let words = words.map(|node| new.tree.tokens_within(node, 50)).unwrap_or_default();
            let own: HashSet<&str> = new
                .items
                .iter()
                .filter(|item| item.scope.is_empty() && item.sort == Sort::Named)
                .flat_map(|item| new.gives(item))
                .collect();
            let names = words.iter().filter(|token| token.sort == tree::Sort::Word).map(|token| token.text);
            let reached = names.into_iter().find(|name| uses.free.contains(name) || !own.contains(name))?;
            told(format!("{shown} is new, and adds to {}, which is not new.", quoted(reached)))
        }
        Sort::Named => {
            let names = new.gives(item);
            if let Some(name) = names.iter().find(|name| uses.free.contains(*name) || name.starts_with("__")) {
                return told(format!("{shown} is new, and what was there uses the name {}.", quoted(name)));
            }
            let acts = new.is_in_order(item) && !is_function(new, item) && acts(new, item, uses);
            if acts { told(format!("{shown} is new, and calls what was there, or skips.")) } else { None }
        }
    }
}

/// Whether the class of a new test has nothing of others, whose tests it might take the place of.
fn stands_alone(new: &Side<'_>, item: &Item) -> bool {
    const PLAIN: [&str; 6] =
        ["object", "unittest", "TestCase", "IsolatedAsyncioTestCase", "SimpleTestCase", "TransactionTestCase"];
    let holder = new.items.iter().find(|other| format!("{}{}::", other.scope, other.name) == item.scope);
    let Some(node) = holder.and_then(|holder| holder.nodes.last()) else { return false };
    let class = match new.tree.kind(*node) {
        "decorated_definition" => new.tree.field(*node, "definition"),
        _ => Some(*node),
    };
    let bases = class.and_then(|class| new.tree.field(class, "superclasses"));
    let words = bases.map(|bases| new.tree.tokens_within(bases, 200)).unwrap_or_default();
    words.iter().all(|token| token.sort != tree::Sort::Word || PLAIN.contains(&token.text))
}

/// `const f = () => …`
fn is_function(side: &Side<'_>, item: &Item) -> bool {
    let node = item.nodes.last().copied().unwrap_or_default();
    let values =
        side.tree.parts(node).filter_map(|one| side.tree.field(one, "value").or_else(|| side.tree.field(one, "right")));
    let mut values = values.peekable();
    values.peek().is_some()
        && values.all(|value| matches!(side.tree.kind(value), "arrow_function" | "function_expression" | "lambda"))
}

/// Whether a value calls something with a name that was there, or skips.
fn acts(side: &Side<'_>, item: &Item, uses: &Uses<'_>) -> bool {
    let tokens: Vec<_> = item.nodes.iter().flat_map(|node| side.tree.tokens_within(*node, 2_000)).collect();
    let calls = tokens.iter().any(|token| token.text == "(");
    let words = || tokens.iter().filter(|token| token.sort == tree::Sort::Word).map(|token| token.text);
    calls && words().any(|word| uses.given.contains(word) || word.contains("skip") || word.contains("xfail"))
}

/// Whether it is run around tests that do not name it.
fn is_around(side: &Side<'_>, item: &Item) -> bool {
    let auto = |node: &usize| side.tree.tokens_within(*node, 200).iter().any(|token| token.text == "autouse");
    let named = || side.gives(item).into_iter().any(names_around);
    item.sort != Sort::Import && (named() || item.nodes.iter().any(auto))
}

fn names_around(name: &str) -> bool {
    const STARTS: [&str; 3] = ["setUp", "tearDown", "pytest"];
    const NAMES: [&str; 16] = [
        "setup",
        "setup_module",
        "setup_class",
        "setup_method",
        "setup_function",
        "teardown",
        "teardown_module",
        "teardown_class",
        "teardown_method",
        "teardown_function",
        "load_tests",
        "collect_ignore",
        "collect_ignore_glob",
        "__test__",
        "TestMain",
        "init",
    ];
    NAMES.contains(&name) || STARTS.iter().any(|start| name.starts_with(start))
}

fn run_around(item: &Item) -> String {
    format!("{} is new, and is run around tests that do not name it.", quoted(&item.name))
}

/// Names that come from elsewhere than they came.
fn taken(old: &Side<'_>, new: &Side<'_>, uses: &Uses<'_>, groups: &HashSet<String>) -> Vec<Edit> {
    let now = new.uses();
    let last = |name: &str| name.rsplit_once("::").map_or(name.to_owned(), |(_, last)| last.to_owned());
    let is_whole = |name: &str| matches!(name, "*" | "_") || name.starts_with('"');
    // What is only taken to be there: tests of others, and what they are run with.
    let is_run = |name: &str| name.to_lowercase().starts_with("test") || names_around(name);
    let listed = |from: &BTreeSet<String>| from.iter().map(|one| quoted(one)).collect::<Vec<_>>().join(", ");
    let mut edits = Vec::new();
    for (name, from) in &old.imports {
        let bare = last(name);
        let says = match new.imports.get(name) {
            Some(is) if is == from => continue,
            Some(is) => format!("{} comes from {} now, and came from {}.", quoted(&bare), listed(is), listed(from)),
            None if is_whole(&bare) || is_run(&bare) || now.free.contains(bare.as_str()) => {
                format!("{} came from {}, and does no more.", quoted(&bare), listed(from))
            }
            None => continue,
        };
        edits.push((None, says));
    }
    for (name, from) in new.imports.iter().filter(|(name, _)| !old.imports.contains_key(*name)) {
        let bare = last(name);
        let group = name.strip_suffix(bare.as_str()).unwrap_or_default();
        let there = group.is_empty() || groups.contains(group);
        if there && (is_whole(&bare) || names_around(&bare) || uses.free.contains(bare.as_str())) {
            let says = format!("{} comes from {} now, and did not.", quoted(&bare), listed(from));
            edits.push((None, says));
        }
    }
    edits
}
