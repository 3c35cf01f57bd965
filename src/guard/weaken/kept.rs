//! What was there in the files of tests, and is not as it was.
//!
//! Whatever a test expects stands in it, in a function beside it, in a row or under a name. What that means nobody can tell by
//! reading; so each item of the old text has to be there still, word for word. Layout and comments are free, and so is what is
//! added where it can't reach what was there: other tests, functions and names, rows of a table, checks beside those of a test.
//!
//! What it promises: where it says nothing, the tests that were there say what they said, with the names that they said it with.

mod grown;
mod imports;
mod items;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use self::grown::Grown;
use self::imports::{Imports, imports};
use self::items::{Item, Sort, given, items, onto, prints};
use super::Changed;
use super::tree::{self, Tree};
use crate::finding::quoted;
use crate::guard::parse::Language;
use crate::ids::Digest;

/// Something that is not as it was: where, in the new text (none: it is gone), and what.
pub(super) type Edit = (Option<u32>, String);

/// So many are told of a file.
const MOST: usize = 50;

/// What is not as it was, file by file. All of them are files of tests.
pub(super) fn edits(changed: &[Changed<'_>]) -> Vec<Vec<Edit>> {
    let files: Vec<File<'_>> = changed.iter().map(File::of).collect();
    let matched: Vec<(Vec<&Item>, Vec<&Item>)> = files.iter().map(File::unmatched).collect();
    let mut spare = Spare::default();
    for (at, (_, added)) in matched.iter().enumerate() {
        for item in added {
            spare.0.entry(&item.digest).or_default().push(at);
        }
    }
    let mut all = Vec::new();
    for (at, (file, (gone, added))) in files.iter().zip(matched).enumerate() {
        let mut edits = match &file.unread {
            Some(why) => vec![(None, why.clone())],
            None => file.edits(at, &gone, added, &mut spare, &files),
        };
        edits.sort();
        edits.dedup();
        edits.truncate(MOST);
        all.push(edits);
    }
    all
}

/// New items that nothing of their own file was, and the files that have them.
#[derive(Default)]
struct Spare<'a>(HashMap<&'a Digest, Vec<usize>>);

/// A text, read.
struct Side<'t> {
    tree: Tree<'t>,
    items: Vec<Item>,
    imports: Imports,
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
        Ok(Self { tree, items, imports })
    }

    /// The names that are used in some nodes: such as stand alone, and such as are asked of the class around.
    fn uses(&self, nodes: &[usize]) -> Uses<'t> {
        let mut uses = Uses::default();
        for node in nodes {
            let tokens = self.tree.tokens_within(*node, usize::MAX);
            for (at, token) in tokens.iter().enumerate().filter(|(_, token)| token.sort == tree::Sort::Word) {
                let before = |back: usize| at.checked_sub(back).and_then(|at| tokens.get(at)).map(|token| token.text);
                match (before(2), before(1)) {
                    (Some("self" | "cls" | "this"), Some(".")) => drop(uses.members.insert(token.text)),
                    (_, Some("." | "?." | "::")) => {}
                    _ => drop(uses.free.insert(token.text)),
                }
            }
        }
        uses
    }

    /// The words that an item gives a meaning to.
    fn gives(&self, item: &Item) -> Vec<&'t str> {
        let nodes = item.nodes.iter().flat_map(|node| given(&self.tree, *node));
        let words = nodes.flat_map(|node| self.tree.tokens_within(node, 200));
        words.filter(|token| token.sort == tree::Sort::Word).map(|token| token.text).collect()
    }

    /// The items that give a name its meaning, to the whole file.
    fn givers(&self, name: &str) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(move |item| item.scope.is_empty() && self.gives(item).contains(&name))
    }
}

#[derive(Default)]
struct Uses<'t> {
    free: HashSet<&'t str>,
    members: HashSet<&'t str>,
}

struct File<'t> {
    path: &'t str,
    language: Option<Language>,
    old: Option<Side<'t>>,
    new: Option<Side<'t>>,
    /// Why what became of it can't be told.
    unread: Option<String>,
}

impl<'t> File<'t> {
    fn of((path, old, new): &Changed<'t>) -> Self {
        let mut file = Self { path, language: Language::of(path), old: None, new: None, unread: None };
        let Some(language) = file.language else { return file };
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

    /// The items of the old text that are not in the new one, and those of the new text that were not in the old one.
    fn unmatched(&self) -> (Vec<&Item>, Vec<&Item>) {
        let mut old: Vec<&Item> = self.old.iter().flat_map(|side| &side.items).collect();
        let mut new: Vec<&Item> = self.new.iter().flat_map(|side| &side.items).collect();
        // In the same group first, so that one of another group is taken only for what has left.
        pair(&mut old, &mut new, |item| (&item.digest, item.scope.as_str()));
        pair(&mut old, &mut new, |item| (&item.digest, ""));
        (old, new)
    }

    fn edits<'a>(
        &'a self,
        at: usize,
        gone: &[&'a Item],
        mut added: Vec<&'a Item>,
        spare: &mut Spare<'_>,
        files: &[File<'_>],
    ) -> Vec<Edit> {
        let Some(old) = &self.old else { return self.brought() };
        let mut edits = Vec::new();
        for item in gone.iter().filter(|item| item.sort != Sort::Import) {
            let shown = quoted(&format!("{}{}", item.scope, item.name));
            let same = |new: &&Item| (&new.scope, &new.name, new.sort) == (&item.scope, &item.name, item.sort);
            if let (Some(place), Some(new)) = (added.iter().position(same), &self.new) {
                let now = added.remove(place);
                if !self.is_grown((old, item), (new, now)) {
                    edits.push((Some(now.line), format!("{shown} is not as it was.")));
                }
            } else if !moved(at, (old, item), spare, files) {
                edits.push((None, format!("{shown} is gone, or not as it was.")));
            }
        }
        if let Some(new) = &self.new {
            let uses = old.uses(&[0]);
            edits.extend(added.iter().filter_map(|item| reaches(self.language, new, item, &uses)));
            edits.extend(taken(old, new, &uses));
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
    fn brought(&self) -> Vec<Edit> {
        let Some(new) = &self.new else { return Vec::new() };
        if self.path.split('/').any(|folder| folder == "__mocks__") {
            return vec![(Some(1), "It is new, and stands in for a module wherever tests ask for that.".to_owned())];
        }
        let shared = self.path.rsplit('/').next() == Some("conftest.py");
        let around = new.items.iter().filter(|item| shared && is_around(new, item));
        around.map(|item| (Some(item.line), run_around(item))).collect()
    }
}

fn pair<'a, K: std::hash::Hash + Eq>(old: &mut Vec<&'a Item>, new: &mut Vec<&'a Item>, key: impl Fn(&'a Item) -> K) {
    let mut by_key: HashMap<K, Vec<&Item>> = HashMap::new();
    for item in new.iter().rev() {
        by_key.entry(key(item)).or_default().push(item);
    }
    let mut taken: HashSet<*const Item> = HashSet::new();
    old.retain(|item| {
        let Some(same) = by_key.get_mut(&key(item)).and_then(Vec::pop) else { return true };
        taken.insert(std::ptr::from_ref(same));
        false
    });
    new.retain(|item| !taken.contains(&std::ptr::from_ref(*item)));
}

/// Whether an item stands in another file now, where all its names mean what they meant.
fn moved(at: usize, (old, item): (&Side<'_>, &Item), spare: &mut Spare<'_>, files: &[File<'_>]) -> bool {
    let Some(places) = spare.0.get_mut(&item.digest) else { return false };
    let uses = old.uses(&item.nodes);
    let own = old.gives(item);
    let means_the_same = |new: &Side<'_>| {
        let same = |name: &&str| {
            let given = |side: &Side<'_>| {
                let mut all: Vec<Digest> = side.givers(name).map(|giver| giver.digest.clone()).collect();
                all.sort();
                (all, side.imports.get(*name).cloned())
            };
            own.contains(name) || given(old) == given(new)
        };
        old.imports.get("*") == new.imports.get("*") && uses.free.iter().all(same)
    };
    let found = places.iter().position(|place| {
        let new = files.get(*place).filter(|_| *place != at).and_then(|file| file.new.as_ref());
        new.is_some_and(means_the_same)
    });
    found.is_some_and(|place| {
        places.remove(place);
        true
    })
}

/// What a new item does to what was there.
fn reaches(language: Option<Language>, new: &Side<'_>, item: &Item, uses: &Uses<'_>) -> Option<Edit> {
    let told = |says: String| Some((Some(item.line), says));
    if is_around(new, item) {
        return told(run_around(item));
    }
    let shown = quoted(&item.name);
    match item.sort {
        Sort::Import | Sort::Test => None,
        Sort::Other => told(format!("{shown} is new, and is run beside what was there.")),
        Sort::Onto => {
            let words =
                item.nodes.last().and_then(|node| onto(&new.tree, *node)).map(|node| new.tree.tokens_within(node, 50));
            let own = |name: &str| !uses.free.contains(name) && new.givers(name).next().is_some();
            let names = words.iter().flatten().filter(|token| token.sort == tree::Sort::Word);
            let reached = names.map(|token| token.text).find(|name| !own(name))?;
            told(format!("{shown} is new, and adds to {}, which is not new.", quoted(reached)))
        }
        Sort::Named => {
            let kind = item.nodes.last().map_or("", |node| new.tree.kind(*node));
            let member = kind == "method_definition" || language == Some(Language::Python) && !item.scope.is_empty();
            let names = if member { &uses.members } else { &uses.free };
            // What the runner itself asks of a class, or the language of anything.
            let asked = |name: &str| name.starts_with("__") || member && matches!(name, "run" | "debug");
            let name = new.gives(item).into_iter().find(|name| names.contains(name) || asked(name))?;
            if !names.contains(name) {
                return told(format!("{shown} is new, and is asked without being named."));
            }
            told(format!("{shown} is new, and what was there uses the name {}.", quoted(name)))
        }
    }
}

/// Whether it is run around tests that do not name it.
fn is_around(side: &Side<'_>, item: &Item) -> bool {
    const STARTS: [&str; 5] = ["setUp", "setup_", "tearDown", "teardown_", "pytest"];
    const NAMES: [&str; 10] = [
        "setup",
        "teardown",
        "asyncSetUp",
        "asyncTearDown",
        "load_tests",
        "collect_ignore",
        "collect_ignore_glob",
        "__test__",
        "TestMain",
        "init",
    ];
    let by_name = |name: &str| NAMES.contains(&name) || STARTS.iter().any(|start| name.starts_with(start));
    let auto = |node: &usize| side.tree.tokens_within(*node, 200).iter().any(|token| token.text == "autouse");
    item.sort != Sort::Import && (side.gives(item).into_iter().any(by_name) || item.nodes.iter().any(auto))
}

fn run_around(item: &Item) -> String {
    format!("{} is new, and is run around tests that do not name it.", quoted(&item.name))
}

/// Names that come from elsewhere than they came.
fn taken(old: &Side<'_>, new: &Side<'_>, uses: &Uses<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    let now = new.uses(&[0]);
    let is_whole = |name: &str| name == "*" || name.starts_with('"');
    let listed =
        |from: &std::collections::BTreeSet<String>| from.iter().map(|one| quoted(one)).collect::<Vec<_>>().join(", ");
    for (name, from) in &old.imports {
        let says = match new.imports.get(name) {
            Some(is) if is.is_subset(from) => continue,
            Some(is) => format!("{} comes from {} now, and came from {}.", quoted(name), listed(is), listed(from)),
            None if is_whole(name) || now.free.contains(name.as_str()) => {
                format!("{} came from {}, and does no more.", quoted(name), listed(from))
            }
            None => continue,
        };
        edits.push((None, says));
    }
    for (name, from) in new.imports.iter().filter(|(name, _)| !old.imports.contains_key(*name)) {
        if is_whole(name) || uses.free.contains(name.as_str()) {
            let says = format!("{} comes from {} now, and what was there uses it.", quoted(name), listed(from));
            edits.push((None, says));
        }
    }
    edits
}
