//! What became of the items that were frozen.

mod places;
mod voices;

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;

use self::places::{Places, Stand};
use self::voices::Voices;
use super::found::EVERY_TEST;
use super::{FrozenItem, Item, Sort};
use crate::guard::parse::Language;
use crate::ids::Digest;

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
    /// The same stands under another name, or in another file that is the same module. That trips nothing.
    Moved {
        path: Option<String>,
        to: String,
        line: u32,
    },
    /// The same stands in another module, class or suite, where a name that it uses may be another thing.
    Elsewhere {
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
    /// Something new beside it decides whether it is run.
    Decided {
        by: String,
        line: u32,
    },
    /// It is new, and takes a name that tests of other files speak through.
    Speaks {
        of: String,
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

    /// The same of an item that has come to another file: there is no line of it in the one that it was frozen in.
    fn seen_from(self, path: &str, other: &str) -> Self {
        match self {
            Self::Shadowed { by, .. } if other != path => {
                let by = if by.contains(" in ") { by } else { format!("{by} in {other}") };
                Self::Shadowed { by, line: 1 }
            }
            same => same,
        }
    }

    /// Where to look, in the file that it was frozen in.
    pub fn line(&self) -> Option<u32> {
        match self {
            Self::Changed { line } | Self::NewlySkipped { line } => Some(*line),
            Self::Shadowed { line, .. } | Self::Decided { line, .. } => Some(*line),
            Self::Elsewhere { path: None, line, .. } | Self::Speaks { line, .. } => Some(*line),
            Self::Elsewhere { .. } | Self::Moved { .. } | Self::Gone | Self::Aside { .. } | Self::Unread { .. } => None,
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
            Self::Elsewhere { path, to, .. } => {
                let place = path.as_ref().map_or_else(|| to.clone(), |path| format!("{to} in {path}"));
                format!(
                    "was frozen and stands elsewhere now, as {place}, where the names that it uses may mean something else"
                )
            }
            Self::Aside { path } => {
                format!(
                    "was frozen and is gone: the same stands in {path}, which no `mod` line makes part of the program where tests are run"
                )
            }
            Self::Shadowed { by, .. } => format!("was frozen, and {by}, which is new, takes a name that it uses"),
            Self::Decided { by, .. } => format!("was frozen, and {by}, which is new, decides whether it is run"),
            Self::Speaks { of, .. } => {
                format!("is new, and takes the name {of} that tests of other files speak through")
            }
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
    let frozen = BTreeMap::from([(String::new(), frozen.clone())]);
    let now = BTreeMap::from([(String::new(), Now { items: Ok(Some(now.to_vec())), new: false })]);
    compare_all(&frozen, &now, &|_| true).into_values().flatten().collect()
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
            spare.add(path, frozen.get(path), items);
        }
    }
    let macros = macros(now);
    let (places, voices) = (Places::new(frozen, now, is_there), Voices::new(frozen, now, &macros));
    let by_name: HashMap<&str, Names<'_>> = now.iter().map(|(path, file)| (path.as_str(), names(file))).collect();
    // First, which is which: only then is it known what is new.
    let mut all: BTreeMap<String, Vec<(String, Became)>> = BTreeMap::new();
    let mut fates: Vec<(&str, Vec<Told<'_, '_>>)> = Vec::new();
    let mut answered: HashMap<String, HashSet<String>> = HashMap::new();
    for (path, frozen) in frozen {
        match now.get(path).map(|file| &file.items) {
            Some(Err(why)) => {
                let unread = |name: &String| (name.clone(), Became::Unread { why: why.clone() });
                all.insert(path.clone(), frozen.keys().map(unread).collect());
            }
            // The same blob needs no look.
            None if is_there(path) => {}
            Some(Ok(_)) | None => {
                fates.push((path, which(path, frozen, by_name.get(path.as_str()), &mut spare, &places)));
            }
        }
    }
    // What is left goes to whom it does not fit: only after everybody has got what does.
    for (path, found) in &mut fates {
        for (_, was, fate) in found.iter_mut() {
            if matches!(fate, Fate::Other(_)) {
                let idle = |spare: &mut Spare| spare.idle(path, was).map(Fate::Idle);
                let other = spare.take_other(path, was).map(Fate::Moved).or_else(|| idle(&mut spare));
                if let Some(other) = other {
                    *fate = other;
                }
            }
            if let Some((file, item)) = fate.answer(path) {
                answered.entry(file.to_owned()).or_default().insert(item.to_owned());
            }
        }
    }
    let mut shades: HashMap<String, Shades<'_>> = HashMap::new();
    let mut over = |path: &str, item: &Item| {
        let shades = shades.entry(path.to_owned()).or_insert_with(|| {
            let known = answered.get(path);
            let is_new = |item: &&Item| known.is_none_or(|known| !known.contains(&item.name));
            let items = now.get(path).and_then(|file| file.items.as_ref().ok()).into_iter().flatten().flatten();
            Shades::of(items.filter(is_new), &macros)
        });
        shades.over(item).or_else(|| voices.over(path, item))
    };
    for (path, found) in fates {
        let became = found.into_iter().filter_map(|(name, was, fate)| {
            let became = match fate {
                Fate::Stands(item) if item.skipped && !was.skipped => Some(Became::NewlySkipped { line: item.line }),
                Fate::Stands(item) => over(path, item),
                Fate::Module(item) => module(path, name, was, item, &places),
                Fate::Moved(free) => {
                    let item = by_name.get(free.path.as_str()).and_then(|names| names.get(free.name.as_str()));
                    let shaded = item.and_then(|item| over(&free.path, item)).map(|by| by.seen_from(path, &free.path));
                    Some(shaded.unwrap_or_else(|| places.moved(path, (name, was.sort), free)))
                }
                Fate::Idle(line) => Some(Became::NewlySkipped { line }),
                Fate::Other(Some(item)) if item.skipped && !was.skipped => {
                    Some(Became::NewlySkipped { line: item.line })
                }
                Fate::Other(Some(item)) => Some(Became::Changed { line: item.line }),
                Fate::Other(None) => Some(Became::Gone),
            };
            Some((name.clone(), became?))
        });
        let became: Vec<(String, Became)> = became.collect();
        if !became.is_empty() {
            all.insert(path.to_owned(), became);
        }
    }
    for (path, name, became) in voices.loudest() {
        let own = format!("{name} in {path}");
        let told = |(of, found): (&String, &Vec<(String, Became)>)| {
            let is = |by: &String| *by == own || of == path && *by == name;
            found.iter().any(|(_, became)| matches!(became, Became::Shadowed { by, .. } if is(by)))
        };
        if all.iter().any(told) {
            continue;
        }
        all.entry(path.to_owned()).or_default().push((name, became));
    }
    all
}

/// One that is new, or not as it was: it may be what another has become.
#[derive(Debug, Clone)]
struct Free {
    path: String,
    name: String,
    scope: String,
    line: u32,
}

impl Free {
    fn stand(&self) -> Stand<'_> {
        Stand { path: &self.path, scope: &self.scope }
    }
}

/// More places than this are not looked at for one item. What stands in none of the first is taken to be elsewhere.
const MOST_PLACES: usize = 200;

/// What is there now and answers for no frozen item yet, by its digest and whether it is skipped, then by where it stands.
#[derive(Default)]
struct Spare(HashMap<(Digest, bool), BTreeMap<Place, Vec<Free>>>);

/// A file, and the scope in it.
type Place = (String, String);

impl Spare {
    fn add(&mut self, path: &str, frozen: Option<&FrozenItems>, now: &[Item]) {
        // The last first, so that the first is taken first.
        for item in now.iter().rev() {
            let stays = frozen.and_then(|frozen| frozen.get(&item.name)).is_some_and(|was| was.digest == item.digest);
            if !stays && item.opens.is_empty() {
                let Item { name, scope, line, .. } = item;
                let free = Free { path: path.to_owned(), name: name.clone(), scope: scope.clone(), line: *line };
                let places = self.0.entry((item.digest.clone(), item.skipped)).or_default();
                places.entry((path.to_owned(), scope.clone())).or_default().push(free);
            }
        }
    }

    /// The places of what is the same. What was not run may run now; what was run must.
    fn same(&self, was: &FrozenItem) -> impl Iterator<Item = (bool, &BTreeMap<Place, Vec<Free>>)> {
        let keys = [Some(false), was.skipped.then_some(true)].into_iter().flatten();
        keys.filter_map(|skipped| Some((skipped, self.0.get(&(was.digest.clone(), skipped))?)))
    }

    /// Takes one that is the same from a place where it is still what it was.
    fn take(&mut self, path: &str, was: &FrozenItem, fits: &dyn Fn(&Free) -> bool) -> Option<Free> {
        let (skipped, place) = self.same(was).find_map(|(skipped, places)| {
            let is_fit = |(_, free): &(&Place, &Vec<Free>)| free.last().is_some_and(fits);
            let mut own = within(places, path).take(MOST_PLACES);
            let fit = own.find(is_fit).or_else(|| places.iter().take(MOST_PLACES).find(is_fit));
            Some((skipped, fit?.0.clone()))
        })?;
        self.out(was, skipped, &place)
    }

    /// Takes one that is the same from anywhere: from this file, else from another of the same language.
    fn take_other(&mut self, path: &str, was: &FrozenItem) -> Option<Free> {
        let (skipped, place) = self.same(was).find_map(|(skipped, places)| {
            let same = |(other, _): &&Place| Language::of(other) == Language::of(path);
            let here = within(places, path).next().map(|(place, _)| place);
            Some((skipped, here.or_else(|| places.keys().find(same))?.clone()))
        })?;
        self.out(was, skipped, &place)
    }

    fn out(&mut self, was: &FrozenItem, skipped: bool, place: &Place) -> Option<Free> {
        let places = self.0.get_mut(&(was.digest.clone(), skipped))?;
        let taken = places.get_mut(place).and_then(Vec::pop);
        if places.get(place).is_none_or(Vec::is_empty) {
            places.remove(place);
        }
        taken
    }

    /// One that is the same in this file, and is not run there.
    fn idle(&self, path: &str, was: &FrozenItem) -> Option<u32> {
        let places = self.0.get(&(was.digest.clone(), true)).filter(|_| !was.skipped)?;
        let (_, free) = places.iter().find(|((other, _), _)| other == path)?;
        free.last().map(|free| free.line)
    }
}

/// The macros that some file of the change gives a name to.
fn macros(now: &BTreeMap<String, Now>) -> HashSet<&str> {
    let items = now.values().flat_map(|file| file.items.iter().flatten().flatten());
    let names = items.filter(|item| !item.unsure).flat_map(|item| &item.defines);
    names.map(String::as_str).filter(|name| name.ends_with('!')).collect()
}

/// Whether an item gives a name a meaning that it is said to, as far as it is known.
fn takes(item: &Item, name: &str, macros: &HashSet<&str>) -> bool {
    !item.unsure || !name.ends_with('!') || macros.contains(name)
}

/// The items of a file by their names.
type Names<'i> = HashMap<&'i str, &'i Item>;

/// The places in a file.
fn within<'p>(places: &'p BTreeMap<Place, Vec<Free>>, path: &str) -> impl Iterator<Item = (&'p Place, &'p Vec<Free>)> {
    places.range((path.to_owned(), String::new())..).take_while(move |((other, _), _)| other == path)
}

fn names(file: &Now) -> Names<'_> {
    file.items.iter().flatten().flatten().map(|item| (item.name.as_str(), item)).collect()
}

/// A frozen item, and which it is now.
type Told<'f, 'i> = (&'f String, &'f FrozenItem, Fate<'i>);

/// Which of the items that are there now each frozen one of a file is.
fn which<'f, 'i>(
    path: &str,
    frozen: &'f FrozenItems,
    now: Option<&Names<'i>>,
    spare: &mut Spare,
    places: &Places<'_>,
) -> Vec<Told<'f, 'i>> {
    let fate = |(name, was): (&'f String, &'f FrozenItem)| {
        let item = now.and_then(|now| now.get(name.as_str())).copied();
        let fits = |free: &Free| places.fits(path, (name, was.sort), free.stand(), &free.name);
        let fate = match item.filter(|item| item.digest == was.digest) {
            Some(item) => Fate::Stands(item),
            None if is_line(path, name, was.sort) => Fate::Module(item),
            None => spare.take(path, was, &fits).map_or(Fate::Other(item), Fate::Moved),
        };
        (name, was, fate)
    };
    frozen.iter().map(fate).collect()
}

/// Which of the items that are there now a frozen one is.
enum Fate<'i> {
    Stands(&'i Item),
    Module(Option<&'i Item>),
    Moved(Free),
    /// The same in a place where it is not run.
    Idle(u32),
    Other(Option<&'i Item>),
}

impl Fate<'_> {
    /// The item that it is now, by its file and its name.
    fn answer<'a>(&'a self, path: &'a str) -> Option<(&'a str, &'a str)> {
        match self {
            Self::Stands(item) | Self::Module(Some(item)) | Self::Other(Some(item)) => Some((path, &item.name)),
            Self::Moved(free) => Some((&free.path, &free.name)),
            Self::Module(None) | Self::Idle(_) | Self::Other(None) => None,
        }
    }
}

/// Whether a frozen item is a line that makes a file part of the program, or of its tests.
fn is_line(path: &str, name: &str, sort: Sort) -> bool {
    let rust = Language::of(path).is_none_or(|language| language == Language::Rust);
    sort == Sort::Module || sort == Sort::Helper && rust && name.starts_with("mod ")
}

/// A line that made a file part of the program. That it is gone is no fault where the file is gone too, or another line has it:
/// what was in the file is looked for by itself.
fn module(path: &str, name: &str, was: &FrozenItem, item: Option<&Item>, places: &Places<'_>) -> Option<Became> {
    if let Some(item) = item {
        return Some(Became::Changed { line: item.line });
    }
    let left_out = |place: &String| places.is_left_out(place, &was.digest);
    super::rust::places_of(path, name).iter().any(left_out).then_some(Became::Gone)
}

/// New items that give a meaning to names.
struct Shades<'i>(HashMap<&'i str, BTreeMap<&'i str, &'i Item>>);

impl<'i> Shades<'i> {
    fn of(new: impl Iterator<Item = &'i Item>, macros: &HashSet<&str>) -> Self {
        let mut shades: HashMap<&str, BTreeMap<&str, &Item>> = HashMap::new();
        for item in new {
            for name in item.defines.iter().filter(|name| takes(item, name, macros)) {
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
            let before = !in_order || by.line < item.line || name.starts_with("doc ");
            let reaches = by.name != item.name && before;
            reaches.then(|| {
                let (by, line) = (by.name.clone(), by.line);
                if name == EVERY_TEST { Became::Decided { by, line } } else { Became::Shadowed { by, line } }
            })
        })
    }
}
