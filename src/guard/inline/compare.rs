//! What became of the items that were frozen.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;

use super::{FrozenItem, Item, Sort};
use crate::guard::parse::Language;

/// What became of a frozen item that does not stand where it stood, or not as it stood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "became", rename_all = "snake_case")]
pub enum Became {
    Changed {
        line: u32,
    },
    Gone,
    /// It stands there, and is not run any more.
    NewlySkipped {
        line: u32,
    },
    /// The same stands under another name or in another file. That trips nothing.
    Moved {
        path: Option<String>,
        to: String,
        line: u32,
    },
    /// The same stands in a file that nothing makes part of the program.
    Aside {
        path: String,
    },
    /// Something new in the file takes a name that it uses.
    Shadowed {
        by: String,
        line: u32,
    },
    /// Its file can't be read any more.
    Unread {
        why: String,
    },
}

impl Became {
    /// Whether this is a change of what was frozen.
    pub fn trips(&self) -> bool {
        !matches!(self, Self::Moved { .. })
    }

    /// Where to look, in the file that it was frozen in.
    pub fn line(&self) -> Option<u32> {
        match self {
            Self::Changed { line } | Self::NewlySkipped { line } | Self::Shadowed { line, .. } => Some(*line),
            Self::Moved { .. } | Self::Gone | Self::Aside { .. } | Self::Unread { .. } => None,
        }
    }

    /// The end of a sentence that begins with the item.
    pub fn says(&self) -> String {
        match self {
            Self::Changed { .. } => "is not as it was frozen: it, or a condition on it, was changed".to_owned(),
            Self::Gone => "was frozen and is gone".to_owned(),
            Self::NewlySkipped { .. } => "was frozen and is not run any more".to_owned(),
            Self::Moved { path: None, to, .. } => format!("is called {to} now"),
            Self::Moved { path: Some(path), to, .. } => format!("stands in {path} now, as {to}"),
            Self::Aside { path } => {
                format!(
                    "was frozen and is gone: the same stands in {path}, which no `mod` line makes part of the program"
                )
            }
            Self::Shadowed { by, .. } => format!("was frozen, and {by}, which is new, takes a name that it uses"),
            Self::Unread { why } => format!("was frozen and can't be found, because its file can't be read: {why}"),
        }
    }
}

/// A file as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Now {
    /// Its items. None: it has a language without any.
    pub items: Result<Option<Vec<Item>>, String>,
    /// It was not there when the others were frozen.
    pub new: bool,
}

/// The items that were frozen of one file.
pub type FrozenItems = BTreeMap<String, FrozenItem>;

/// What became of the frozen items of a file that is looked at alone: only those which are not where they were as they were.
pub fn compare(frozen: &FrozenItems, now: &[Item]) -> Vec<(String, Became)> {
    let mut found = Vec::new();
    let mut spare = Spare::default();
    spare.add("", Some(frozen), now, false);
    one("", frozen, now, &mut spare, &|_| true, &mut |name, became| found.push((name, became)));
    found
}

/// What became of all that was frozen, file by file: what is gone from one file may stand in another.
///
/// `now` has each file of `frozen` that is still there and is not the same blob, and each that the change touches. `is_there`
/// says whether a path is a file now.
pub fn compare_all(
    frozen: &BTreeMap<String, FrozenItems>,
    now: &BTreeMap<String, Now>,
    is_there: &dyn Fn(&str) -> bool,
) -> BTreeMap<String, Vec<(String, Became)>> {
    let mut spare = Spare::default();
    for (path, file) in now {
        if let Ok(Some(items)) = &file.items {
            spare.add(path, frozen.get(path), items, file.new);
        }
        if is_target(path, is_there) {
            spare.opened.insert(path.clone());
        }
    }
    let mut all = BTreeMap::new();
    for (path, frozen) in frozen {
        let mut found = Vec::new();
        let mut put = |name: String, became: Became| found.push((name, became));
        match now.get(path).map(|file| &file.items) {
            Some(Err(why)) => {
                frozen.keys().for_each(|name| put(name.clone(), Became::Unread { why: why.clone() }));
            }
            Some(Ok(Some(items))) => one(path, frozen, items, &mut spare, is_there, &mut put),
            // The same blob needs no look.
            None if is_there(path) => {}
            Some(Ok(None)) | None => one(path, frozen, &[], &mut spare, &|_| false, &mut put),
        }
        if !found.is_empty() {
            all.insert(path.clone(), found);
        }
    }
    all
}

/// Whether cargo builds a file as a program of tests by itself, without a line that names it.
fn is_target(path: &str, is_there: &dyn Fn(&str) -> bool) -> bool {
    let Some((package, rest)) = path.rsplit_once("tests/") else { return false };
    let at_top =
        rest.ends_with(".rs") && !rest.contains('/') || rest.ends_with("/main.rs") && rest.matches('/').count() == 1;
    at_top && (package.is_empty() || package.ends_with('/')) && is_there(&format!("{package}Cargo.toml"))
}

/// One that is new, or not as it was: it may be what another has become.
struct Free {
    path: String,
    name: String,
    line: u32,
    new_file: bool,
}

/// What is there now and answers for no frozen item yet, by its digest; and the files that a line makes part of the program.
#[derive(Default)]
struct Spare {
    free: HashMap<(crate::ids::Digest, bool), BTreeMap<String, Vec<Free>>>,
    opened: HashSet<String>,
}

impl Spare {
    fn add(&mut self, path: &str, frozen: Option<&FrozenItems>, now: &[Item], new_file: bool) {
        // The last first, so that the first is taken first.
        for item in now.iter().rev() {
            self.opened.extend(item.opens.iter().cloned());
            let stays = frozen.and_then(|frozen| frozen.get(&item.name)).is_some_and(|was| was.digest == item.digest);
            if !stays && item.sort != Sort::Module {
                let free = Free { path: path.to_owned(), name: item.name.clone(), line: item.line, new_file };
                let files = self.free.entry((item.digest.clone(), item.skipped)).or_default();
                files.entry(path.to_owned()).or_default().push(free);
            }
        }
    }

    /// What became of one that moved. A file of Rust is compiled only if a line says so.
    fn moved(&self, path: &str, free: Free) -> Became {
        let Free { path: to_path, name: to, line, new_file } = free;
        if to_path == path {
            return Became::Moved { path: None, to, line };
        }
        if new_file && Language::of(&to_path) == Some(Language::Rust) && !self.opened.contains(&to_path) {
            return Became::Aside { path: to_path };
        }
        Became::Moved { path: Some(to_path), to, line }
    }

    /// Takes one that is the same: in this file if there is one, else in another of the same language.
    fn take(&mut self, path: &str, was: &FrozenItem) -> Option<Free> {
        // What was not run may run now. What was run must.
        let keys = [Some(false), was.skipped.then_some(true)];
        for skipped in keys.into_iter().flatten() {
            let Some(files) = self.free.get_mut(&(was.digest.clone(), skipped)) else { continue };
            let same = |other: &&String| Language::of(other) == Language::of(path);
            let place = if files.contains_key(path) { Some(path.to_owned()) } else { files.keys().find(same).cloned() };
            let Some(place) = place else { continue };
            let taken = files.get_mut(&place).and_then(Vec::pop);
            if files.get(&place).is_none_or(Vec::is_empty) {
                files.remove(&place);
            }
            if taken.is_some() {
                return taken;
            }
        }
        None
    }
}

fn one(
    path: &str,
    frozen: &FrozenItems,
    now: &[Item],
    spare: &mut Spare,
    is_there: &dyn Fn(&str) -> bool,
    put: &mut dyn FnMut(String, Became),
) {
    let by_name: HashMap<&str, &Item> = now.iter().map(|item| (item.name.as_str(), item)).collect();
    // First, which is which: only then is it known what is new.
    let mut found: Vec<(&String, &FrozenItem, Fate<'_>)> = Vec::new();
    let mut answered: HashSet<&str> = HashSet::new();
    for (name, was) in frozen {
        let item = by_name.get(name.as_str()).copied();
        let fate = match item.filter(|item| item.digest == was.digest) {
            Some(item) => Fate::Stands(item),
            None if was.sort == Sort::Module => Fate::Module(item),
            None => match spare.take(path, was) {
                Some(free) => Fate::Moved(free),
                None => Fate::Other(item),
            },
        };
        if let Fate::Stands(item) | Fate::Module(Some(item)) | Fate::Other(Some(item)) = &fate {
            answered.insert(&item.name);
        } else if let Fate::Moved(free) = &fate
            && free.path == path
            && let Some(item) = by_name.get(free.name.as_str())
        {
            answered.insert(&item.name);
        }
        found.push((name, was, fate));
    }
    let shades = Shades::of(now.iter().filter(|item| !answered.contains(item.name.as_str())));
    for (name, was, fate) in found {
        let became = match fate {
            Fate::Stands(item) if item.skipped && !was.skipped => Some(Became::NewlySkipped { line: item.line }),
            Fate::Stands(item) => shades.over(item),
            Fate::Module(item) => module(path, name, item, &spare.opened, is_there),
            Fate::Moved(free) => {
                let here = by_name.get(free.name.as_str()).filter(|_| free.path == path);
                Some(here.and_then(|item| shades.over(item)).unwrap_or_else(|| spare.moved(path, free)))
            }
            Fate::Other(Some(item)) if item.skipped && !was.skipped => Some(Became::NewlySkipped { line: item.line }),
            Fate::Other(Some(item)) => Some(Became::Changed { line: item.line }),
            Fate::Other(None) => Some(Became::Gone),
        };
        if let Some(became) = became {
            put(name.clone(), became);
        }
    }
}

/// Which of the items that are there now a frozen one is.
enum Fate<'i> {
    Stands(&'i Item),
    Module(Option<&'i Item>),
    Moved(Free),
    Other(Option<&'i Item>),
}

/// A line that made a file part of the program. That it is gone is no fault where the file is gone too, or another line has it:
/// what was in the file is looked for by itself.
fn module(
    path: &str,
    name: &str,
    item: Option<&Item>,
    opened: &HashSet<String>,
    is_there: &dyn Fn(&str) -> bool,
) -> Option<Became> {
    if let Some(item) = item {
        return Some(Became::Changed { line: item.line });
    }
    let left_out = |place: &String| is_there(place) && !opened.contains(place);
    super::rust::places_of(path, name).iter().any(left_out).then_some(Became::Gone)
}

/// New items that give a meaning to names.
struct Shades<'i>(HashMap<&'i str, BTreeMap<&'i str, &'i Item>>);

impl<'i> Shades<'i> {
    fn of(new: impl Iterator<Item = &'i Item>) -> Self {
        let mut shades: HashMap<&str, BTreeMap<&str, &Item>> = HashMap::new();
        for item in new {
            for name in &item.defines {
                shades.entry(name.as_str()).or_default().entry(item.scope.as_str()).or_insert(item);
            }
        }
        Self(shades)
    }

    /// The one that is in the same module, or around it.
    fn over(&self, item: &Item) -> Option<Became> {
        if self.0.is_empty() {
            return None;
        }
        // The examples of a docstring run one after the other: what comes later means nothing to one, and its own names are its own.
        let in_order = item.sort == Sort::Doc;
        let own = item.defines.iter().filter(|_| !in_order);
        item.mentions.iter().chain(own).find_map(|name| {
            let scopes = self.0.get(name.as_str())?;
            let edges = ["::", ".", " > "].iter().flat_map(|by| item.scope.match_indices(by)).map(|(at, _)| at);
            let mut around = edges.chain([0, item.scope.len()]).filter_map(|end| item.scope.get(..end));
            let by = around.find_map(|scope| scopes.get(scope))?;
            let reaches = by.name != item.name && (!in_order || by.line < item.line);
            reaches.then(|| Became::Shadowed { by: by.name.clone(), line: by.line })
        })
    }
}
