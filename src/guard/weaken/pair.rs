//! Which new test is which old one: by name, by body, or by most of its body, over all files of a change.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use super::compare::{self, Around};
use super::model::{Suite, Unit, last_name};
use super::place::{self, Words};
use super::{Weaker, What};
use crate::guard::parse::Language;

/// A file of a change, read.
pub(super) struct File<'a> {
    pub(super) index: usize,
    pub(super) path: &'a str,
    pub(super) old: Option<Suite>,
    pub(super) new: Option<Suite>,
}

/// A test and the file that it stands in.
type Placed<'a> = (usize, &'a Unit);

/// How alike two bodies must be for a test under another name to be the same test, in hundredths.
const SAME: usize = 60;

/// How much of a test must be found in what other tests gained for it to have been merged into them, in hundredths.
const MERGED: usize = 70;

/// So many tokens are compared to find out, in all: a change with thousands of renamed tests ends there.
const MOST_COMPARED: usize = 4_000_000;

/// What got weaker in a file.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) weaker: Vec<Weaker>,
    /// How many of its tests are new, gone or not as they were.
    pub(super) changed: usize,
    /// A test of it has more checks than can be compared.
    pub(super) too_many: bool,
}

/// The texts of a change: of the files of tests, and others of it.
pub(super) struct Texts<'a> {
    pub(super) changed: &'a [super::Changed<'a>],
    pub(super) beside: &'a [Vec<u8>],
}

impl Texts<'_> {
    fn words(&self) -> Words {
        let new = self.changed.iter().map(|(_, _, new)| new.unwrap_or_default());
        Words::of(new.chain(self.beside.iter().map(Vec::as_slice)))
    }
}

/// What got weaker, by file.
pub(super) fn weaker(files: &[File<'_>], texts: &Texts<'_>) -> BTreeMap<usize, Found> {
    let mut found: BTreeMap<usize, Found> = BTreeMap::new();
    let mut pairs: Vec<(Placed<'_>, Placed<'_>)> = Vec::new();
    let (mut old_left, mut new_left): (Vec<Placed<'_>>, Vec<Placed<'_>>) = (Vec::new(), Vec::new());
    let mut helpers = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let all = &mut found.entry(file.index).or_default().weaker;
        by_name(at, file, &mut pairs, &mut old_left, &mut new_left, (&mut helpers, all));
        whole_file(file, all);
        if let (Some(old), Some(new)) = (&file.old, &file.new) {
            all.extend(super::values::constants(file.path, old, new));
        }
    }
    let mut budget = MOST_COMPARED;
    by_key(&mut pairs, &mut old_left, &mut new_left, |unit| unit.body);
    by_key(&mut pairs, &mut old_left, &mut new_left, |unit| super::tree::hash(last_name(&unit.name)));
    by_likeness(&mut pairs, &mut old_left, &mut new_left, &mut budget);
    let beside = |suite: for<'f> fn(&'f File<'_>) -> Option<&'f Suite>| {
        files.iter().filter_map(suite).flat_map(|suite| suite.beside.iter().copied()).collect::<Vec<u64>>()
    };
    let (before, after) = (beside(|file| file.old.as_ref()), beside(|file| file.new.as_ref()));
    let around = Around::of(&pairs, &helpers, &new_left, [&before, &after]);
    let copies = Copies::of(&old_left, &pairs, &new_left);
    let none = super::mocks::Taken::new();
    let taken = |at: usize| files.get(at).and_then(|file| file.new.as_ref()).map_or(&none, |suite| &suite.taken);
    let mut put = |at: usize, weaker: Option<Vec<Weaker>>, changed: bool| {
        if let Some(file) = files.get(at) {
            let one = found.entry(file.index).or_default();
            one.changed += usize::from(changed);
            match weaker {
                Some(weaker) => one.weaker.extend(weaker),
                None => one.too_many = true,
            }
        }
    };
    for ((from, old), (at, new)) in pairs.iter().chain(&helpers) {
        let mut weaker = compare::units(old, new, &around, taken(*at));
        if let Some(weaker) = weaker.as_mut().filter(|weaker| new.test && weaker.is_empty()) {
            let before = files.get(*from).and_then(|file| file.old.as_ref());
            let after = files.get(*at).and_then(|file| file.new.as_ref());
            let both = before.zip(after);
            weaker.extend(both.and_then(|(before, after)| super::mocks::stood_in(old, new, [before, after])));
            // A class of another file may be gathered there.
            weaker.extend(compare::uncollected(old, new).filter(|_| from == at));
        }
        put(*at, weaker, new.test && old.body != new.body);
    }
    for (at, weaker) in unlooked(files, &pairs, texts) {
        put(at, Some(vec![weaker]), false);
    }
    for (at, old) in &old_left {
        let lost = is_loss(old)
            && !is_split(*at, old, &new_left)
            && !around.has_most_of(&old.tokens, MERGED)
            && !around.repeats(old)
            && !copies.has(files, *at, old);
        put(*at, Some(if lost { vec![removed(old)] } else { Vec::new() }), true);
    }
    for (at, new) in &new_left {
        put(*at, Some(compare::fresh(new, taken(*at))), true);
    }
    found
}

/// Tests that moved to where no runner looks, one for each file that they came to.
fn unlooked(files: &[File<'_>], pairs: &[(Placed<'_>, Placed<'_>)], texts: &Texts<'_>) -> Vec<(usize, Weaker)> {
    let mut words: Option<Words> = None;
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    for ((from, old), (to, new)) in pairs {
        let (Some(was), Some(is)) = (files.get(*from), files.get(*to)) else { continue };
        let moved = from != to && new.test && old.skip.is_none() && new.skip.is_none();
        if !moved || place::unlooked(was.path).is_some() || !seen.insert(*to) {
            continue;
        }
        let why = if Language::of(is.path) == Some(Language::Rust) {
            let words = words.get_or_insert_with(|| texts.words());
            let lost = is.old.is_none() && !place::is_opened(is.path, words);
            lost.then(|| "no `mod` line of the change opens it".to_owned())
        } else {
            place::unlooked(is.path)
        };
        let Some(why) = why else { continue };
        let stem = is.path.rsplit('/').next().and_then(|name| name.split('.').next()).unwrap_or("");
        let excused = match Language::of(is.path) {
            // A file that gathers its tests from others.
            Some(Language::Python) => words.get_or_insert_with(|| texts.words()).names(stem, is.index),
            Some(Language::JavaScript | Language::TypeScript | Language::Tsx) => {
                let text = texts.changed.get(is.index).and_then(|(_, _, new)| *new).unwrap_or_default();
                !place::is_found_by_name(is.path, text)
            }
            _ => false,
        };
        if excused {
            continue;
        }
        let says = format!("Tests moved here from `{}`, where no runner looks for them: {why}.", was.path);
        let next = "Put them where tests are found, or say in the commit what runs them here.".to_owned();
        let (what, test) = (What::Skipped, is.path.to_owned());
        found.push((*to, Weaker { what, test, line: new.line, gone: false, says, next }));
    }
    found
}

/// Tests as they are now, by their last names: several copies of one may have become one.
struct Copies<'a>(HashMap<&'a str, Vec<Copied<'a>>>);

/// A test and its words.
type Copied<'a> = (&'a Unit, HashMap<u64, usize>);

/// How much of a copy must be found in the test that is left, in hundredths.
const COPY: usize = 85;

impl<'a> Copies<'a> {
    /// Those whose names these have, which have no pair.
    fn of(left: &[Placed<'a>], pairs: &[(Placed<'a>, Placed<'a>)], fresh: &[Placed<'a>]) -> Self {
        /// Among more than these nobody looks.
        const MOST: usize = 20;
        let mut named: HashMap<&'a str, Vec<Copied<'a>>> =
            left.iter().map(|(_, old)| (last_name(&old.name), Vec::new())).collect();
        for (_, new) in pairs.iter().map(|(_, new)| new).chain(fresh) {
            let Some(all) = named.get_mut(last_name(&new.name)) else { continue };
            if all.len() < MOST && new.skip.is_none() {
                all.push((new, counted(&new.tokens)));
            }
        }
        Self(named)
    }

    /// Whether a test of this name has the very same words still; or most of them, where the file of the other is gone.
    fn has(&self, files: &[File<'_>], at: usize, old: &Unit) -> bool {
        let gone = files.get(at).is_some_and(|file| file.new.is_none());
        let same = |(new, bag): &Copied<'_>| {
            let alike = || shared(&old.tokens, bag) * 100 >= old.tokens.len() * COPY;
            new.body == old.body || gone && alike()
        };
        self.0.get(last_name(&old.name)).is_some_and(|all| all.iter().any(same))
    }
}

/// A test that was skipped, or held nothing, is no loss.
fn is_loss(old: &Unit) -> bool {
    old.skip.is_none() && old.holds().next().is_some()
}

/// A test that became several, which bear its name and more.
fn is_split(at: usize, old: &Unit, fresh: &[Placed<'_>]) -> bool {
    let name = last_name(&old.name);
    let longer = |new: &Unit| last_name(&new.name).strip_prefix(name).is_some_and(|rest| rest.starts_with(['_', ' ']));
    fresh.iter().any(|(place, new)| *place == at && longer(new) && new.holds().next().is_some())
}

fn removed(old: &Unit) -> Weaker {
    Weaker {
        what: What::TestRemoved,
        test: old.name.clone(),
        line: old.line,
        gone: true,
        says: "The test is gone, and no other test of this change has most of it.".to_owned(),
        next: "Put it back, or say in the commit why what it held need not hold any more.".to_owned(),
    }
}

/// What concerns every test of a file: it is skipped, all but one are, or its subject is mocked.
fn whole_file(file: &File<'_>, found: &mut Vec<Weaker>) {
    let Some(new) = &file.new else { return };
    let old = file.old.as_ref();
    let mut say = |what: What, line: u32, says: String, next: &str| {
        let test = file.path.to_owned();
        found.push(Weaker { what, test, line, gone: false, says, next: next.to_owned() });
    };
    if let Some(mark) = new.skip.as_ref().filter(|_| old.is_none_or(|old| old.skip.is_none())) {
        let says = format!("The whole file is skipped by {}.", mark.what);
        say(What::Skipped, mark.line, says, "Take the mark away, or skip only what can't be run, and say why.");
    }
    if let Some(mark) =
        new.limited.as_ref().filter(|_| old.is_some_and(|old| old.limited.is_none() && old.skip.is_none()))
    {
        let says = format!("The whole file is not run as usual: {}.", mark.what);
        say(What::Skipped, mark.line, says, "Run it always, or say in the commit why not.");
    }
    if let Some(mark) = new.shadowed.as_ref().filter(|_| old.is_none_or(|old| old.shadowed.is_none())) {
        let says = format!("`{}!` is a macro of this file that asserts nothing.", mark.what);
        say(What::AssertsNothing, mark.line, says, "Take the macro away.");
    }
    let several = new.units.iter().filter(|unit| unit.test).count() > 1;
    if let Some(mark) = new.only.as_ref().filter(|_| several && old.is_none_or(|old| old.only.is_none())) {
        let says = format!("Only `{}` is run: the other tests of the file are not.", mark.what);
        say(What::Skipped, mark.line, says, "Take `only` away.");
    }
    if let Some(mark) = new.mocks.as_ref().filter(|_| old.is_none_or(|old| old.mocks.is_none())) {
        let says = format!("The module that this file tests, `{}`, is replaced by a mock.", mark.what);
        say(What::MocksSubject, mark.line, says, "Mock what the module uses, not the module.");
    } else {
        found.extend(super::mocks::of_modules(file.path, old, new));
    }
}

/// Tests and functions of a file that have the same name, the first with the first where several do.
fn by_name<'a>(
    at: usize,
    file: &'a File<'_>,
    pairs: &mut Vec<(Placed<'a>, Placed<'a>)>,
    old_left: &mut Vec<Placed<'a>>,
    new_left: &mut Vec<Placed<'a>>,
    (helpers, found): (&mut Vec<(Placed<'a>, Placed<'a>)>, &mut Vec<Weaker>),
) {
    // A file without tests is no file of tests: what its functions assert is their own affair.
    let tested = file.new.iter().flat_map(|suite| &suite.units).any(|unit| unit.test);
    let mut named: HashMap<(&str, bool), VecDeque<&Unit>> = HashMap::new();
    for unit in file.new.iter().flat_map(|suite| &suite.units) {
        named.entry((unit.name.as_str(), unit.test)).or_default().push_back(unit);
    }
    for unit in file.old.iter().flat_map(|suite| &suite.units) {
        let same = named.get_mut(&(unit.name.as_str(), unit.test)).and_then(VecDeque::pop_front);
        match (same, unit.test) {
            (Some(new), false) if !tested => found.extend(compare::emptied(unit, new)),
            (Some(new), true) => pairs.push(((at, unit), (at, new))),
            (Some(new), false) if !unit.apart && !new.apart => helpers.push(((at, unit), (at, new))),
            (None, true) => old_left.push((at, unit)),
            _ => {}
        }
    }
    let mut rest: Vec<&Unit> = named.into_values().flatten().filter(|unit| unit.test).collect();
    rest.sort_by_key(|unit| unit.line);
    new_left.extend(rest.into_iter().map(|unit| (at, unit)));
}

/// Pairs what has the same key, where only one on each side has it.
fn by_key<'a>(
    pairs: &mut Vec<(Placed<'a>, Placed<'a>)>,
    old_left: &mut Vec<Placed<'a>>,
    new_left: &mut Vec<Placed<'a>>,
    key: impl Fn(&Unit) -> u64,
) {
    let mut keyed: HashMap<u64, VecDeque<Placed<'a>>> = HashMap::new();
    for new in new_left.iter() {
        keyed.entry(key(new.1)).or_default().push_back(*new);
    }
    let mut taken: Vec<*const Unit> = Vec::new();
    old_left.retain(|old| {
        let Some(new) = keyed.get_mut(&key(old.1)).and_then(VecDeque::pop_front) else { return true };
        pairs.push((*old, new));
        taken.push(std::ptr::from_ref(new.1));
        false
    });
    let taken: HashSet<*const Unit> = taken.into_iter().collect();
    new_left.retain(|new| !taken.contains(&std::ptr::from_ref(new.1)));
}

/// Pairs what is left by the most alike body, where it is alike enough.
fn by_likeness<'a>(
    pairs: &mut Vec<(Placed<'a>, Placed<'a>)>,
    old_left: &mut Vec<Placed<'a>>,
    new_left: &mut Vec<Placed<'a>>,
    budget: &mut usize,
) {
    let bags: Vec<HashMap<u64, usize>> = new_left.iter().map(|new| counted(&new.1.tokens)).collect();
    let mut taken = vec![false; new_left.len()];
    old_left.retain(|old| {
        let mut best: Option<(usize, usize)> = None;
        for (index, new) in new_left.iter().enumerate() {
            let (long, short) =
                (old.1.tokens.len().max(new.1.tokens.len()), old.1.tokens.len().min(new.1.tokens.len()));
            // Bodies of very different lengths can't be alike.
            if taken.get(index) != Some(&false) || short * 100 < long * SAME / 2 || *budget < old.1.tokens.len() {
                continue;
            }
            *budget -= old.1.tokens.len();
            let Some(bag) = bags.get(index) else { continue };
            let alike = shared(&old.1.tokens, bag) * 200 / (old.1.tokens.len() + new.1.tokens.len()).max(1);
            if alike >= SAME && best.is_none_or(|(so_far, _)| alike > so_far) {
                best = Some((alike, index));
            }
        }
        let Some((_, index)) = best else { return true };
        if let (Some(taken), Some(new)) = (taken.get_mut(index), new_left.get(index)) {
            *taken = true;
            pairs.push((*old, *new));
        }
        false
    });
    let mut index = 0;
    new_left.retain(|_| {
        index += 1;
        taken.get(index - 1) == Some(&false)
    });
}

pub(super) fn counted(tokens: &[u64]) -> HashMap<u64, usize> {
    let mut bag = HashMap::new();
    for token in tokens {
        *bag.entry(*token).or_insert(0) += 1;
    }
    bag
}

/// How many of these tokens the bag has too, each as often as it has it.
pub(super) fn shared(tokens: &[u64], bag: &HashMap<u64, usize>) -> usize {
    let mut used: HashMap<u64, usize> = HashMap::new();
    let mut count = 0;
    for token in tokens {
        let so_far = used.entry(*token).or_insert(0);
        if *so_far < bag.get(token).copied().unwrap_or(0) {
            *so_far += 1;
            count += 1;
        }
    }
    count
}
