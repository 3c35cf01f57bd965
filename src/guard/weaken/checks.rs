//! The checks of an old test beside those of the new one: which is which, and which holds less.

use std::collections::{HashMap, HashSet, VecDeque};

use super::compare::{Around, say};
use super::model::{Check, Form, Unit};
use super::pair::{counted, shared};
use super::{Weaker, What};

const PUT_BACK: &str = "Put it back, or say in the commit why it need not hold any more.";

/// So many pairs of checks of two tests are looked at.
const MOST_PAIRED: usize = 1_000_000;

/// What the checks of the new test hold no more. None: there are more than can be compared.
pub(super) fn checks(old: &Unit, new: &Unit, around: &Around, late: bool) -> Option<Vec<Weaker>> {
    let mut found = Vec::new();
    let mut room = 0_usize;
    let (mut old_left, mut new_left) = unchanged(old, new, &mut found);
    if old_left.len().saturating_mul(new.checks.len()) > MOST_PAIRED {
        return None;
    }
    // What is one of several now.
    either(&mut old_left, &mut new_left, |a, b| {
        room += gained_room(a, b);
        found.extend(judged(old, new, a, b, false));
    });
    // The same thing looked at: first where it is done in the same way, then in whatever way.
    for same_form in [true, false] {
        pair_up(
            &mut old_left,
            &mut new_left,
            |check| if check.subject == 0 { None } else { Some(key(check, same_form)) },
            |a, b| {
                room += gained_room(a, b);
                found.extend(judged(old, new, a, b, false));
            },
        );
    }
    // The length of what was looked at.
    if old_left.iter().all(|check| check.part_of == 0) {
        pair_up(
            &mut old_left,
            &mut new_left,
            |check| match (check.form, check.part_of) {
                (Form::Exact, 0) if is_told_whole(check, old, new) => Some(check.subject),
                (_, of) if of != 0 => Some(of),
                _ => None,
            },
            |a, b| {
                room += room_of(b).saturating_sub(1);
                found.extend(judged(old, new, a, b, false));
            },
        );
    }
    // The same expectation of something else is the same check, written otherwise; a length first as one.
    for of_lengths in [true, false] {
        let length = |check: &Check| of_lengths && check.part_of != 0;
        pair_up(
            &mut old_left,
            &mut new_left,
            |check| {
                let told = check.expected != 0 && !check.trivial;
                told.then_some((check.expected, check.form as u8, length(check)))
            },
            |_, _| {},
        );
    }
    found.extend(in_part(old, new, &mut old_left, &mut new_left));
    alike(&mut old_left, &mut new_left, |a, b| found.extend(judged(old, new, a, b, true)));
    room += new_left.iter().filter(|check| !is_itself(new, check)).map(|check| room_of(check)).sum::<usize>();
    if !late {
        found.extend(removed(old, new, &old_left, room, around));
    }
    Some(found)
}

/// Something is compared with itself, by whatever name.
fn is_itself(new: &Unit, check: &Check) -> bool {
    let named = || match check.expects_names.as_slice() {
        [name] => new.given.get(name).is_some_and(|given| given.names == check.about && check.about.len() == 1),
        _ => false,
    };
    check.form == Form::Exact && !check.literal && (check.same || named())
}

fn key(check: &Check, with_form: bool) -> (u64, u8) {
    (check.subject, if with_form { check.form as u8 } else { u8::MAX })
}

/// Takes out the checks that stand on both sides, and finds those that stand under a condition now.
fn unchanged<'a>(old: &'a Unit, new: &'a Unit, found: &mut Vec<Weaker>) -> (Vec<&'a Check>, Vec<&'a Check>) {
    let mut by_text: HashMap<u64, VecDeque<&Check>> = HashMap::new();
    // Those under no condition first, so that a copy under one is not taken for the old check.
    for check in new.checks.iter().filter(|check| !check.guarded).chain(new.checks.iter().filter(|check| check.guarded))
    {
        by_text.entry(check.text).or_default().push_back(check);
    }
    let mut old_left = Vec::new();
    // In the same order on both sides.
    for check in old.holds().filter(|check| !check.guarded).chain(old.holds().filter(|check| check.guarded)) {
        let Some(same) = by_text.get_mut(&check.text).and_then(VecDeque::pop_front) else {
            old_left.push(check);
            continue;
        };
        if !check.literal && from_code(old, new, check, same) {
            let says = format!("`{}` expects what the code gives; what it expects was written out before.", same.shown);
            found.push(say(new, What::ExpectationFromCode, same.line, false, says, "Write the expected value out."));
            continue;
        }
        if same.guarded && !check.guarded && !matches!(check.form, Form::Helper | Form::Other) {
            let says = format!("`{}` is only checked under a condition now.", same.shown);
            let next = "Check it in every case, or make the condition a check.";
            found.push(say(new, What::AssertionLoosened, same.line, false, says, next));
        }
    }
    let mut new_left: Vec<&Check> = by_text.into_values().flatten().collect();
    new_left.sort_by_key(|check| check.line);
    old_left.sort_by_key(|check| check.line);
    (old_left, new_left)
}

/// Pairs a check with one that it suffices for, among others.
fn either<'a>(old: &mut Vec<&'a Check>, new: &mut Vec<&'a Check>, mut with: impl FnMut(&'a Check, &'a Check)) {
    let mut parts: HashMap<u64, usize> = HashMap::new();
    for (index, check) in new.iter().enumerate() {
        parts.extend(check.either.iter().map(|one| (*one, index)));
    }
    let mut taken: HashSet<usize> = HashSet::new();
    old.retain(|check| {
        let Some(index) = parts.get(&check.text).copied().filter(|index| taken.insert(*index)) else { return true };
        if let Some(other) = new.get(index) {
            with(check, other);
        }
        false
    });
    let mut index = 0;
    new.retain(|_| {
        index += 1;
        !taken.contains(&(index - 1))
    });
}

/// Pairs the checks of both sides that have the same key, in order.
fn pair_up<'a, K: std::hash::Hash + Eq>(
    old: &mut Vec<&'a Check>,
    new: &mut Vec<&'a Check>,
    key: impl Fn(&Check) -> Option<K>,
    mut with: impl FnMut(&'a Check, &'a Check),
) {
    let mut keyed: HashMap<K, VecDeque<usize>> = HashMap::new();
    for (index, check) in new.iter().enumerate() {
        if let Some(key) = key(check) {
            keyed.entry(key).or_default().push_back(index);
        }
    }
    let mut taken: HashSet<usize> = HashSet::new();
    old.retain(|check| {
        let Some(index) = key(check).and_then(|key| keyed.get_mut(&key)).and_then(VecDeque::pop_front) else {
            return true;
        };
        if let Some(other) = new.get(index) {
            with(check, other);
        }
        taken.insert(index);
        false
    });
    let mut index = 0;
    new.retain(|_| {
        index += 1;
        !taken.contains(&(index - 1))
    });
}

/// Pairs checks whose subjects have most words in common.
fn alike<'a>(old: &mut Vec<&'a Check>, new: &mut Vec<&'a Check>, mut with: impl FnMut(&'a Check, &'a Check)) {
    /// Beyond this the rest is counted, not compared.
    const MOST: usize = 60;
    const ALIKE: usize = 75;
    let mut taken = vec![false; new.len().min(MOST)];
    let mut seen = 0;
    old.retain(|check| {
        seen += 1;
        if seen > MOST || check.about.is_empty() {
            return true;
        }
        let bag = counted(&check.about);
        let likeness =
            |other: &Check| shared(&other.about, &bag) * 200 / (check.about.len() + other.about.len()).max(1);
        let open = new.iter().take(MOST).enumerate().filter(|(index, _)| taken.get(*index) == Some(&false));
        let best = open
            .map(|(index, other)| (likeness(other), index))
            .filter(|(alike, _)| *alike >= ALIKE)
            .max_by_key(|(alike, _)| *alike);
        let Some((_, index)) = best else { return true };
        if let (Some(taken), Some(other)) = (taken.get_mut(index), new.get(index)) {
            *taken = true;
            with(check, other);
        }
        false
    });
    let mut index = 0;
    new.retain(|_| {
        index += 1;
        taken.get(index - 1) != Some(&true)
    });
}

/// Whether a value as a whole is expected: one that is written out, or has a name; where nothing repeats now what may look at its
/// parts.
fn is_told_whole(check: &Check, old: &Unit, new: &Unit) -> bool {
    let repeats = new.loops > old.loops || new.tables.len() > old.tables.len() || new.maybe > old.maybe;
    let named = check.expected != 0 && !check.expects_names.is_empty() && !repeats;
    !check.trivial && !check.fails && (check.literal || named)
}

/// How many parts a check's whole has: as it is written, or under the name that it is expected by.
fn parts_of(check: &Check, unit: &Unit) -> usize {
    let named = match check.expects_names.as_slice() {
        [name] => unit.given.get(name).filter(|given| given.literal && !given.again).map_or(0, |given| given.parts),
        _ => 0,
    };
    check.parts.max(named)
}

/// Wholes of which only some parts are looked at now: one after the other, and not all of them.
fn in_part(old: &Unit, new: &Unit, old_left: &mut Vec<&Check>, new_left: &mut Vec<&Check>) -> Vec<Weaker> {
    let mut found = Vec::new();
    if new.loops > old.loops || new.tables.len() > old.tables.len() || new.maybe > old.maybe {
        return found;
    }
    old_left.retain(|before| {
        let count = parts_of(before, old);
        let whole = before.form == Form::Exact && count > 1 && !before.negative && !before.about.is_empty();
        let is_of = |check: &Check| {
            let (long, short) = (&check.about, &before.about);
            long.len() > short.len() && long.starts_with(short) && !matches!(check.form, Form::Nothing | Form::Helper)
        };
        let parts: Vec<&Check> = new_left.iter().copied().filter(|check| whole && is_of(check)).collect();
        let Some(first) = parts.first() else { return true };
        // A length, and the rest of them one by one.
        let seen: usize = parts.iter().map(|check| check.parts.max(1)).sum();
        if seen < count {
            let says = format!("`{}` was `{}`: only a part of it is looked at.", first.shown, before.shown);
            let next = "Check as much as before, or say in the commit why less is right.";
            found.push(say(new, What::AssertionLoosened, first.line, false, says, next));
        }
        new_left.retain(|check| !is_of(check));
        false
    });
    found
}

/// What an old check and the new one on the same thing have to do with each other.
fn judged(old: &Unit, new: &Unit, before: &Check, after: &Check, guessed: bool) -> Option<Weaker> {
    let at = |what: What, says: String, next: &str| Some(say(new, what, after.line, false, says, next));
    if after.recorded && !before.recorded && before.form == Form::Exact && before.literal {
        let says = format!(
            "`{}` expects what is recorded of the code; it was written out before: `{}`.",
            after.shown, before.shown
        );
        return at(What::ExpectationFromCode, says, "Write the expected value out.");
    }
    if from_code(old, new, before, after) {
        let says =
            format!("`{}` expects what the code gives; it was written out before: `{}`.", after.shown, before.shown);
        return at(What::ExpectationFromCode, says, "Write the expected value out.");
    }
    if after.cut && !before.cut && before.fraction && !after.fraction {
        let says = format!("`{}` is cut to a whole number; it was `{}`.", after.shown, before.shown);
        return at(What::ToleranceWidened, says, "Compare the value itself, by a tolerance that is due to rounding.");
    }
    if let (Some(was), Some(is)) = (before.tolerance, after.tolerance)
        && is.0 > was.0 * 1.000_001
        && before.form == after.form
    {
        let says = format!("The tolerance was {} and is {}.", was.shown(), is.shown());
        return at(What::ToleranceWidened, says, "Narrow it again, or say in the commit why the result is less exact.");
    }
    if (before.form == Form::Exact || before.form == Form::Near && before.usual.is_some_and(|usual| usual < 0.01))
        && before.tolerance.is_none()
        && after.form == Form::Near
        && let Some(is) = after.tolerance.filter(|is| is.0 > 0.010_001)
    {
        let exact = if before.form == Form::Exact { "exact" } else { "as exact as floats are" };
        let says = format!("The value had to be {exact}, and may be off by {} now.", is.shown());
        return at(What::ToleranceWidened, says, "Compare it exactly, or by a tolerance that is due to rounding.");
    }
    let why = loosened(before, after)?;
    // What the failure says is asked of it by its name.
    if before.form == Form::Raises && before.types == after.types && before.message && is_asked_by_name(old, new) {
        return None;
    }
    // Two checks that are only alike are the same one only if nothing is left of it.
    if guessed && !matches!(after.form, Form::Nothing | Form::Truth) || is_held_elsewhere(old, new, before, after) {
        return None;
    }
    let says = format!("`{}` was `{}`: {why}.", after.shown, before.shown);
    at(What::AssertionLoosened, says, "Check as much as before, or say in the commit why less is right.")
}

/// Written out before, computed by the function that is tested now.
fn from_code(old: &Unit, new: &Unit, before: &Check, after: &Check) -> bool {
    if before.form != Form::Exact || after.form != Form::Exact || after.literal {
        return false;
    }
    if after.same && !after.negative && !before.same {
        return true;
    }
    // What is called on it both times (`expected.strip()`) makes nothing else of it.
    let is_given = |name: &u64| new.given.get(name).is_some_and(|given| given.literal && !given.again);
    if !after.expects_roots.is_empty()
        && after.expects_roots.iter().all(is_given)
        && after.expects_calls == before.expects_calls
    {
        return false;
    }
    // Words of what is written out are no names.
    let is_written = |name: &u64| new.given.get(name).is_some_and(|given| given.literal);
    if !after.expects_names.is_empty() && after.expects_names.iter().all(is_written) && !after.same {
        return false;
    }
    // Of a name that is given several values it is not known which one is meant.
    let once = |unit: &Unit, name: &u64| unit.given.get(name).is_some_and(|given| !given.again);
    let is_literal =
        |name: &u64| old.given.get(name).is_some_and(|given| given.literal) && once(old, name) && once(new, name);
    let named = !before.expects_roots.is_empty() && before.expects_roots.iter().all(is_literal);
    if !before.literal && !named {
        return false;
    }
    if new.exported && is_made(new, after) {
        return true;
    }
    let given = |names: &[u64]| {
        names.iter().filter_map(|name| new.given.get(name)).flat_map(|given| given.calls.clone()).collect::<Vec<_>>()
    };
    let mut looked: HashSet<u64> = after.calls.iter().copied().collect();
    if after.about.len() == 1 {
        looked.extend(given(&after.about));
    }
    // `expected = result` and the like.
    let named = after.expects_names.iter().filter_map(|name| new.given.get(name));
    if let [about] = after.about.as_slice()
        && (named.flat_map(|given| &given.names).any(|name| name == about)
            || new
                .given
                .get(about)
                .is_some_and(|given| matches!(given.names.as_slice(), [one] if after.expects_names.contains(one))))
    {
        return true;
    }
    let mut expects = after.expects_calls.clone();
    expects.extend(given(&after.expects_names));
    expects.iter().any(|name| looked.contains(name))
}

/// Whether a function with a capital is called on both sides, as Go has them.
fn is_made(new: &Unit, after: &Check) -> bool {
    let given = |names: &[u64]| {
        names.iter().filter_map(|name| new.given.get(name)).flat_map(|given| given.made.clone()).collect::<Vec<_>>()
    };
    let mut looked: HashSet<u64> = after.made.iter().copied().collect();
    if after.about.len() == 1 {
        looked.extend(given(&after.about));
    }
    after.expects_made.iter().copied().chain(given(&after.expects_names)).any(|name| looked.contains(&name))
}

/// Why the new check on the same thing holds less; none where it does not.
fn loosened(before: &Check, after: &Check) -> Option<&'static str> {
    if after.told {
        return Some("nothing fails where it is not so");
    }
    if after.form == Form::Nothing {
        return Some("it holds whatever the code does");
    }
    if !after.either.is_empty() && before.either.is_empty() && after.either.contains(&before.text) {
        return Some("something else suffices too");
    }
    if super::errors::fits_more(&before.pattern, &after.pattern) && !after.pattern.is_empty() {
        return Some("more will do");
    }
    if before.form == Form::Raises && after.form == Form::Raises {
        return if !before.broad && after.broad {
            Some("any failure will do")
        } else if super::errors::wider(&before.types, &after.types) {
            Some("another failure will do too")
        } else if before.message && !after.message && before.expected == after.expected {
            Some("the message is not looked at")
        } else {
            None
        };
    }
    if before.form == Form::Exact && before.part_of == 0 && after.part_of == before.subject && after.part_of != 0 {
        return Some("only its length is looked at");
    }
    // Of an error that was named, only that there is one.
    if before.fails && after.form == Form::Truth {
        return after.negative.then_some("any failure will do");
    }
    if before.form == Form::Exact && after.form == Form::Exact && after.wild > before.wild && before.literal {
        return Some("a part of it may be anything");
    }
    // What must be and what must not be are different questions: the behaviour changed.
    if before.negative != after.negative {
        return None;
    }
    match (before.form, after.form) {
        (Form::Exact | Form::Near, Form::Truth) if !before.trivial => Some("any value will do"),
        (Form::Exact | Form::Near, Form::Type) if !before.trivial => Some("any value of the type will do"),
        (Form::Exact, Form::Part) if !before.trivial => Some("only a part of it is looked at"),
        (Form::Exact | Form::Near, Form::Order) if !before.trivial => Some("any value on that side will do"),
        (Form::Exact, Form::Differs) if before.literal && !before.trivial => Some("any other value will do"),
        (Form::Part | Form::Type, Form::Truth) => Some("any value will do"),
        (Form::Order, Form::Truth) if !before.trivial => Some("any value will do"),
        _ => None,
    }
}

/// Whether a check that is new in the test holds as much of the same thing, said in another way.
fn is_held_elsewhere(old: &Unit, new: &Unit, before: &Check, after: &Check) -> bool {
    if before.about.is_empty() || before.form == Form::Raises {
        return false;
    }
    let texts: HashSet<u64> = old.checks.iter().map(|check| check.text).collect();
    new.checks.iter().any(|check| {
        let bag = || counted(&check.bag);
        check.text != after.text
            && !texts.contains(&check.text)
            && (check.form >= before.form || before.form == Form::Exact && check.form == Form::Near)
            && check.form != Form::Raises
            && shared(&before.about, &bag()) == before.about.len()
    })
}

/// How many old checks a new one may stand for: two, if it says all of something, because one value often takes the place
/// of several questions about it.
fn room_of(check: &Check) -> usize {
    match check.form {
        Form::Nothing => 0,
        Form::Truth | Form::Type | Form::Differs => 1,
        _ => check.weight.saturating_mul(2),
    }
}

/// A failure whose message is looked at now needs no check of the message beside it, and one that holds two things no second.
fn gained_room(before: &Check, after: &Check) -> usize {
    match (before.form, after.form) {
        (Form::Raises, Form::Raises) if after.message && !before.message => 2,
        (Form::Exact, Form::Exact) => after.weight.saturating_sub(before.weight).saturating_mul(2),
        _ => 0,
    }
}

/// Checks that nothing took the place of.
fn removed(old: &Unit, new: &Unit, old_left: &[&Check], room: usize, around: &Around) -> Vec<Weaker> {
    // Something out of sight, or a table, may have taken them over.
    let left: Vec<&Check> = old_left.iter().copied().filter(|check| !is_of_a_whole(check, old, new)).collect();
    let old_left = left.as_slice();
    let elsewhere = new.maybe > old.maybe
        || new.tables.len() > old.tables.len()
        || new.loops > old.loops
        || new.holds_tests && !old.holds_tests
        || is_rewritten(old, new);
    if old_left.len() <= room || elsewhere {
        return Vec::new();
    }
    let words = counted(&new.tokens);
    let had = counted(&old.tokens);
    // Where nothing is asked that was not asked before, what is left of a check's words asks nothing.
    let idle = room == 0 && new.soft.len() <= old.soft.len();
    let is_renamed = |check: &Check| check.form == Form::Helper && !around.helpers.contains(&check.subject);
    let mut moved = around.texts.clone();
    let mut gone: Vec<&Check> = Vec::new();
    for check in old_left {
        if let Some(count) = moved.get_mut(&check.text).filter(|count| **count > 0) {
            *count -= 1;
            continue;
        }
        let is_less = |token: &&u64| words.get(token).copied().unwrap_or(0) < had.get(token).copied().unwrap_or(0);
        let less = check.bag.iter().filter(is_less).count();
        let rearranged = !idle && less * 2 < check.bag.len();
        if !rearranged
            && !is_said_twice(check, old, new)
            && !is_renamed(check)
            && !around.has_most_of(&check.bag, 80)
            && !is_implied(check, new)
        {
            gone.push(check);
        }
    }
    let missing = old_left.len() - room;
    let gone = gone.into_iter().take(missing);
    gone.map(|check| {
        let says = format!("`{}` is gone, and nothing took its place.", check.shown);
        say(new, What::AssertionRemoved, check.line, true, says, PUT_BACK)
    })
    .collect()
}

/// Whether what it looks at is a part, or the length, of what must be as it is written out now; or the length of what is taken
/// apart, which fails where there are more parts or fewer.
fn is_of_a_whole(check: &Check, old: &Unit, new: &Unit) -> bool {
    if check.about.is_empty() {
        return false;
    }
    let is_of = |whole: &[u64]| {
        let given = |name: &u64| old.given.get(name).is_some_and(|given| given.names == whole);
        !whole.is_empty()
            && (check.about.windows(whole.len()).any(|part| part == whole) || check.about.iter().any(given))
    };
    new.checks.iter().any(|other| {
        other.form == Form::Exact && other.listed && other.wild == 0 && !other.guarded && is_of(&other.about)
    }) || check.part_of != 0 && new.unpacked.iter().any(|whole| is_of(whole))
}

/// Whether the same check stands there still, and looks at nothing that could have changed between the two: no variable of the
/// test, no object.
fn is_said_twice(check: &Check, old: &Unit, new: &Unit) -> bool {
    let own = ["self", "cls", "this", "t"].map(super::tree::hash);
    let changes = |name: &u64| old.given.contains_key(name) || old.parameters.contains(name) || own.contains(name);
    !check.calls.is_empty()
        && !check.about.iter().any(changes)
        && new.checks.iter().any(|other| other.text == check.text && !other.guarded)
}

/// Whether less than half of the old test is left, and the new one checks something: it is another test by then, and what
/// took the place of what can't be told.
fn is_rewritten(old: &Unit, new: &Unit) -> bool {
    shared(&old.tokens, &counted(&new.tokens)) * 2 < old.tokens.len() && new.holds().any(|check| room_of(check) > 1)
}

/// Whether something new is asked of a failure that was caught under a name.
fn is_asked_by_name(old: &Unit, new: &Unit) -> bool {
    let words = ["value", "exception", "args", "message", "match", "code", "errno"].map(super::tree::hash);
    let known: HashSet<u64> = old.checks.iter().map(|check| check.text).collect();
    new.holds().any(|check| {
        check.form != Form::Raises && !known.contains(&check.text) && words.iter().any(|word| check.bag.contains(word))
    })
}

/// A weak check on something of which the new test holds more.
fn is_implied(check: &Check, new: &Unit) -> bool {
    let (good, taken_out) = if check.negative {
        (["is_err", "is_none"], ["unwrap_err", "expect_err"])
    } else {
        (["is_ok", "is_some"], ["unwrap", "expect"])
    };
    let (good, taken_out) = (good.map(super::tree::hash), taken_out.map(super::tree::hash));
    let named = |name: &u64| new.tokens.contains(name);
    // What is unwrapped, by its name or where it is made, fails where there is none.
    if check.form == Form::Truth
        && good.iter().any(|word| check.bag.contains(word))
        && (!new.soft.is_empty() && !check.negative || taken_out.iter().any(|word| new.tokens.contains(word)))
        && (new.soft.contains(&check.subject) || !check.about.iter().all(named))
    {
        return true;
    }
    matches!(check.form, Form::Truth | Form::Type | Form::Differs | Form::Part)
        && new.checks.iter().any(|other| {
            other.form > check.form
                && !check.about.is_empty()
                && other.about.get(..check.about.len()).is_some_and(|first| first == check.about)
        })
}
