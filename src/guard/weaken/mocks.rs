//! Mocks of the very thing that a test looks at: then it looks at what the test itself said.

use std::collections::{HashMap, HashSet};

use super::compare::say;
use super::model::{Check, Form, Mark, Suite, Unit};
use super::tree::hash;
use super::words::{given_by, link};
use super::{Weaker, What};

/// What a file takes from elsewhere: by the name that it has here, where from, and its name there.
pub(super) type Taken = HashMap<u64, (String, String)>;

const NEXT: &str = "Mock what it uses, not what is tested.";

/// A mock of what a check looks at: `a.f` is told what to answer, and the check looks at `a.f()`.
pub(super) fn mocked(new: &Unit, before: &[Mark], taken: &Taken) -> Option<Weaker> {
    // Where the mock is taken away again, nobody knows here which of them is checked.
    let ends = ["stopall", "stop", "undo", "mockRestore", "restore", "resetAllMocks", "restoreAllMocks"];
    if ends.iter().any(|word| new.tokens.contains(&hash(word))) {
        return None;
    }
    for mark in &new.mocks {
        if before.iter().any(|old| old.what == mark.what) {
            continue;
        }
        let wanted = paths_of(&mark.what, taken, new);
        if let Some(check) = new.checks.iter().find(|check| looks_at(check, new, &wanted)) {
            let says = format!("`{}` is replaced by a mock, and `{}` checks the mock.", mark.what, check.shown);
            return Some(say(new, What::MocksSubject, mark.line, false, says, NEXT));
        }
    }
    None
}

/// A function of the test itself, or beside it, that took the place of what the test looked at.
pub(super) fn stood_in(old: &Unit, new: &Unit, [before, after]: [&Suite; 2]) -> Option<Weaker> {
    let name_of = |unit: &Unit| super::model::last_name(&unit.name).to_owned();
    let helpers: HashSet<String> = before.units.iter().filter(|unit| !unit.test && !unit.apart).map(name_of).collect();
    let own = |name: &str| helpers.contains(name) || old.locals.iter().any(|mark| mark.what == name);
    let beside = after.units.iter().filter(|unit| unit.plain && !unit.apart);
    let beside = beside.map(|unit| Mark { line: unit.line, what: name_of(unit) });
    let marks: Vec<Mark> = new.locals.iter().cloned().chain(beside).collect();
    marks.iter().filter(|mark| !own(&mark.what)).find_map(|mark| {
        let wanted = HashSet::from([link(hash(""), &mark.what)]);
        old.checks.iter().find(|check| looks_at(check, old, &wanted))?;
        let check = new.checks.iter().find(|check| looks_at(check, new, &wanted))?;
        let says = format!("`{}` is replaced by a mock, and `{}` checks the mock.", mark.what, check.shown);
        Some(say(new, What::MocksSubject, mark.line, false, says, NEXT))
    })
}

/// A mock that a method is, of a module that has another name here, or of an object of its class.
fn paths_of(what: &str, taken: &Taken, new: &Unit) -> HashSet<u64> {
    let (module, name) = what.rsplit_once('.').unwrap_or(("", what));
    let mut wanted = HashSet::from([link(hash(module), name), link(hash(""), name)]);
    if module.starts_with(char::is_uppercase) {
        // `Lamp().dim()`, and `lamp.dim()` where `lamp = Lamp()`.
        let made = link(hash(""), module);
        let objects = new.given.iter().filter(|(_, given)| given.links.first() == Some(&made)).map(|(name, _)| *name);
        wanted.extend(objects.map(|object| link(object, name)));
        wanted.insert(link(given_by(module), name));
    }
    // A module that goes by another name here.
    let shown = taken.iter().filter(|(_, (_, there))| there == module).map(|(here, _)| *here);
    wanted.extend(shown.map(|here| link(here, name)));
    // The name itself that goes by another one.
    let plain = taken.iter().filter(|(_, (from, there))| there == name && from.rsplit('.').next() == Some(module));
    wanted.extend(plain.map(|(here, _)| linked(*here)));
    wanted
}

/// A bare name that is called.
fn linked(name: u64) -> u64 {
    hash("").rotate_left(1) ^ name
}

/// A check of a value, not of a call that was made.
fn of_value(check: &Check) -> bool {
    matches!(check.form, Form::Exact | Form::Near | Form::Part | Form::Order | Form::Truth | Form::Type)
}

/// Whether a check looks at what one of these gives, directly or by the name that it was given.
fn looks_at(check: &Check, new: &Unit, wanted: &HashSet<u64>) -> bool {
    if !of_value(check) {
        return false;
    }
    let given = || check.about.iter().take(1).filter_map(|name| new.given.get(name));
    check.links.iter().chain(given().flat_map(|given| &given.links)).any(|link| wanted.contains(link))
}

/// Whether two names lead to one module: `../src/lamp` and `@/lamp.js`, where the one stands for a folder.
fn is_same_module(one: &str, other: &str) -> bool {
    let path = |name: &str| -> Vec<String> {
        let name = name
            .rsplit_once('/')
            .map_or(name.to_owned(), |(folder, file)| format!("{folder}/{}", file.split('.').next().unwrap_or(file)));
        let parts =
            name.trim_start_matches('#').split('/').filter(|part| !matches!(*part, "." | ".." | "@" | "~" | ""));
        parts.map(str::to_owned).collect()
    };
    let aliased = |name: &str| ["@/", "~/", "#"].iter().any(|alias| name.starts_with(alias));
    let (first, second) = (path(one), path(other));
    one == other
        || aliased(one) != aliased(other)
            && !first.is_empty()
            && !second.is_empty()
            && (first.ends_with(&second) || second.ends_with(&first))
}

/// A module that a file replaces as a whole, and of which a test asks nothing but what it gives.
pub(super) fn of_modules(path: &str, old: Option<&Suite>, new: &Suite) -> Option<Weaker> {
    let before: HashSet<(&str, &Option<Vec<String>>)> =
        old.iter().flat_map(|old| &old.replaced).map(|(mark, names)| (mark.what.as_str(), names)).collect();
    for (mark, names) in new.replaced.iter().filter(|(mark, names)| !before.contains(&(mark.what.as_str(), names))) {
        let is_replaced = |name: &str| names.as_ref().is_none_or(|names| names.iter().any(|one| one == name));
        let (mut bare, mut whole): (HashSet<u64>, HashSet<u64>) = (HashSet::new(), HashSet::new());
        for (here, (_, there)) in new.taken.iter().filter(|(_, (from, _))| is_same_module(from, &mark.what)) {
            // All of the module under one name: whatever is called on it.
            match (there.as_str(), names) {
                ("*" | "default", None) => {
                    bare.insert(linked(*here));
                    whole.insert(*here);
                }
                ("*", Some(names)) => bare.extend(names.iter().map(|name| link(*here, name))),
                (name, _) => bare.extend(is_replaced(name).then(|| linked(*here))),
            }
        }
        let seen = |unit: &Unit, check: &Check| {
            let given = check.about.iter().take(1).filter_map(|name| unit.given.get(name));
            let mut roots = check.roots.iter().chain(given.flat_map(|given| &given.roots));
            looks_at(check, unit, &bare) || roots.any(|root| whole.contains(root))
        };
        for unit in new.units.iter().filter(|unit| unit.test) {
            // Where something else is looked at too, the module may stand in for what that uses.
            let mut values = unit.checks.iter().filter(|check| of_value(check)).peekable();
            let Some(check) = values.peek().copied() else { continue };
            if !values.all(|check| seen(unit, check)) {
                continue;
            }
            let says =
                format!("The module `{}` is replaced by a mock, and `{}` checks the mock.", mark.what, check.shown);
            let (what, test, next) = (What::MocksSubject, path.to_owned(), NEXT.to_owned());
            return Some(Weaker { what, test, line: mark.line, gone: false, says, next });
        }
    }
    None
}
