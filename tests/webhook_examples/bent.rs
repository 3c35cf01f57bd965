//! A payload in which one thing is wrong: a field is gone, stands there twice, or holds something else.
//!
//! A case is a number: its example, what is bent and how follow from it and the seed alone. What failed says its seed and
//! its number, and `PHASEGATE_WEBHOOK_SEED` and `PHASEGATE_WEBHOOK_CASE` play it again. The first cases are a round in
//! which every example is bent in every way; `Round` counts that none of it is left out.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use phasegate::fact::Fact;
use phasegate::github::webhook::{UNDERSTOOD, parse};
use serde_json::{Value, json};

use super::examples::{self, Example};

/// So many cases go through the parser: the round, and then examples in turn.
pub(crate) const CASES: u64 = 6_000;
const SEED: u64 = 20_260_801;

/// What the parser looks at. Three of four cases bend one of these: a payload has hundreds of fields that nobody reads.
const READ: &[&str] = &[
    "action",
    "after",
    "app",
    "base",
    "base_ref",
    "base_sha",
    "before",
    "body",
    "check_run",
    "check_suite",
    "comment",
    "created_at",
    "default_branch",
    "deployment",
    "deployment_status",
    "environment",
    "environment_url",
    "forced",
    "full_name",
    "head",
    "head_branch",
    "head_ref",
    "head_sha",
    "id",
    "identifier",
    "installation",
    "issue",
    "label",
    "login",
    "merge_group",
    "name",
    "number",
    "pull_request",
    "pull_requests",
    "ref",
    "repo",
    "repositories",
    "repositories_added",
    "repositories_removed",
    "repository",
    "requested_action",
    "review",
    "sender",
    "sha",
    "state",
    "target_url",
    "type",
    "user",
    "workflow_run",
];

/// SplitMix64: small, and the same everywhere.
struct Dice(u64);

impl Dice {
    fn throw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.throw() % u64::try_from(most).unwrap()).unwrap()
    }
}

/// A way to bend a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    Removed,
    Doubled,
    Retyped,
}

impl Way {
    const ALL: [Self; 3] = [Self::Removed, Self::Doubled, Self::Retyped];
}

#[derive(Debug, Clone)]
enum Bend {
    Removed,
    /// It stands there twice, the second time with this.
    Doubled(String),
    /// This stands in its place.
    Retyped(String),
}

/// What is written in another's place: JSON as text, so that it may be what no value is.
fn other(dice: &mut Dice, old: &Value) -> String {
    let all = [
        "null",
        "true",
        "0",
        "-1",
        "1.5",
        "1e400",
        "18446744073709551616",
        "\"\"",
        "\"0\"",
        "\"0000000000000000000000000000000000000000\"",
        "\"refs/heads/\"",
        "\"../..\"",
        "\"a/b/c\"",
        "\"\\u0000\\ud83d\\ude00\\u202e\"",
        // Half a character.
        "\"\\ud83d\"",
        "\"9999-99-99T99:99:99Z\"",
        "\"-262144-01-01T00:00:00Z\"",
        "[]",
        "[null]",
        "{}",
        "{\"id\":-1}",
        "{\"\":{\"\":[[]]}}",
    ];
    match dice.below(all.len() + 4) {
        at if at < all.len() => all[at].to_owned(),
        // The same, wrapped; the same as a text; a very long one; one that is nested as deep as anybody would dare.
        at if at == all.len() => format!("[{old}]"),
        at if at == all.len() + 1 => Value::from(old.to_string()).to_string(),
        at if at == all.len() + 2 => Value::from("é".repeat(70_000)).to_string(),
        _ => format!("{}{}", "[".repeat(10_000), "]".repeat(10_000)),
    }
}

/// Where something stands: keys, and places in lists.
type Place = Vec<String>;

/// What stands there.
fn at<'a>(body: &'a Value, place: &[String]) -> &'a Value {
    place.iter().fold(body, |body, key| match key.parse::<usize>() {
        Ok(at) if body.is_array() => &body[at],
        _ => &body[key.as_str()],
    })
}

/// Every place in a payload, or those that the parser reads.
fn places(body: &Value, read: bool, at: &mut Place, found: &mut Vec<Place>) {
    let mut visit = |key: String, value: &Value, seen: bool| {
        at.push(key);
        if seen {
            found.push(at.clone());
        }
        places(value, read, at, found);
        at.pop();
    };
    match body {
        Value::Object(fields) => {
            for (key, value) in fields {
                visit(key.clone(), value, !read || READ.contains(&key.as_str()));
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate().take(3) {
                visit(index.to_string(), value, !read);
            }
        }
        _ => {}
    }
}

/// Writes a payload with one place bent.
fn write(out: &mut String, body: &Value, place: &[String], bend: &Bend) {
    // On the way to the place.
    let Some((next, rest)) = place.split_first() else {
        write!(out, "{body}").unwrap();
        return;
    };
    let list = body.is_array();
    let entries: Vec<(String, &Value)> = match body {
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect(),
        other => panic!("no way to {place:?} in {other}"),
    };
    out.push(if list { '[' } else { '{' });
    let mut first = true;
    let mut entry = |out: &mut String, key: &str, value: &dyn Fn(&mut String)| {
        if !std::mem::take(&mut first) {
            out.push(',');
        }
        if !list {
            write!(out, "{}:", Value::from(key)).unwrap();
        }
        value(out);
    };
    for (key, value) in entries {
        let old = |out: &mut String| write!(out, "{value}").unwrap();
        match (key == *next, rest.is_empty(), bend) {
            (false, ..) => entry(out, &key, &old),
            (true, false, _) => entry(out, &key, &|out| write(out, value, rest, bend)),
            (true, true, Bend::Removed) => {}
            (true, true, Bend::Doubled(second)) => {
                entry(out, &key, &old);
                entry(out, &key, &|out| out.push_str(second));
            }
            (true, true, Bend::Retyped(new)) => entry(out, &key, &|out| out.push_str(new)),
        }
    }
    out.push(if list { ']' } else { '}' });
}

/// One payload in which something is wrong.
pub(crate) struct Case<'a> {
    seed: u64,
    number: u64,
    pub(crate) of: &'a Example,
    bend: Bend,
    place: Place,
}

impl<'a> Case<'a> {
    fn new(seed: u64, number: u64, of: &'a Example, way: Way) -> Self {
        let mut dice = Dice(seed ^ number.wrapping_mul(0xA076_1D64_78BD_642F));
        let mut found = Vec::new();
        places(&of.body, dice.below(4) > 0, &mut Vec::new(), &mut found);
        if found.is_empty() {
            places(&of.body, false, &mut Vec::new(), &mut found);
        }
        // What stands on top decides most.
        if dice.below(2) == 0 && found.iter().any(|place| place.len() <= 2) {
            found.retain(|place| place.len() <= 2);
        }
        // Only a field can stand there twice; an entry of a list makes the list longer.
        if way == Way::Doubled {
            found.retain(|place| place.split_last().is_some_and(|(_, to)| at(&of.body, to).is_object()));
        }
        let place = found.swap_remove(dice.below(found.len()));
        let old = at(&of.body, &place);
        let bend = match way {
            Way::Removed => Bend::Removed,
            Way::Doubled if dice.below(2) == 0 => Bend::Doubled(old.to_string()),
            Way::Doubled => Bend::Doubled(other(&mut dice, old)),
            Way::Retyped => loop {
                let new = other(&mut dice, old);
                if serde_json::from_str::<Value>(&new).ok().as_ref() != Some(old) {
                    break Bend::Retyped(new);
                }
            },
        };
        Self { seed, number, of, bend, place }
    }

    fn way(&self) -> Way {
        match &self.bend {
            Bend::Removed => Way::Removed,
            Bend::Doubled(_) => Way::Doubled,
            Bend::Retyped(_) => Way::Retyped,
        }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = String::new();
        write(&mut out, &self.of.body, &self.place, &self.bend);
        out.into_bytes()
    }

    /// What it is and how it is played again.
    pub(crate) fn told(&self) -> String {
        let bend: String = format!("{:?}", self.bend).chars().take(120).collect();
        format!(
            "{} with /{} {bend}\nagain: PHASEGATE_WEBHOOK_SEED={} PHASEGATE_WEBHOOK_CASE={} cargo test --test webhook_examples",
            self.of,
            self.place.join("/"),
            self.seed,
            self.number
        )
    }
}

/// What the environment says of a number.
fn told(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

/// Whether one case is played again, and nothing else.
pub(crate) fn is_replayed() -> bool {
    told("PHASEGATE_WEBHOOK_CASE").is_some()
}

/// So many cases, from the first, or the one that is asked for. The first are a round: every example, bent in every way. Of
/// five turns after it four are of events that are understood; of the others nothing is read.
fn cases(examples: &[Example], until: u64) -> impl Iterator<Item = Case<'_>> {
    let seed = told("PHASEGATE_WEBHOOK_SEED").unwrap_or(SEED);
    let (read, ignored): (Vec<&Example>, Vec<&Example>) =
        examples.iter().partition(|example| UNDERSTOOD.contains(&example.event.as_str()));
    let numbers = match told("PHASEGATE_WEBHOOK_CASE") {
        Some(number) => number..number + 1,
        None => 0..until,
    };
    numbers.map(move |number| {
        let (turn, way) = (usize::try_from(number).unwrap() / Way::ALL.len(), number % 3);
        let of = match turn.checked_sub(examples.len()) {
            None => &examples[turn],
            // Each list is counted by itself. One number for both would never come to some: the one has 130 of them, and
            // of 130 every fifth is that of the other.
            Some(after) if after % 5 == 0 => ignored[after / 5 % ignored.len()],
            Some(after) => read[(after - after / 5 - 1) % read.len()],
        };
        Case::new(seed, number, of, Way::ALL[usize::try_from(way).unwrap()])
    })
}

/// So many cases, and the round at least.
pub(crate) fn many(examples: &[Example]) -> impl Iterator<Item = Case<'_>> {
    let all = u64::try_from(examples.len() * Way::ALL.len()).unwrap();
    cases(examples, all.max(CASES))
}

/// Every example, bent in every way once.
pub(crate) fn round(examples: &[Example]) -> impl Iterator<Item = Case<'_>> {
    cases(examples, u64::try_from(examples.len() * Way::ALL.len()).unwrap())
}

/// Which examples were bent, and how.
#[derive(Default)]
pub(crate) struct Round(BTreeSet<(String, Way)>);

impl Round {
    pub(crate) fn add(&mut self, case: &Case<'_>) {
        self.0.insert((case.of.to_string(), case.way()));
    }

    /// Fails for an example that was left out, or a way in which it was not bent.
    pub(crate) fn is_whole(&self, examples: &[Example]) {
        let wanted = examples.iter().flat_map(|example| Way::ALL.map(|way| (example.to_string(), way)));
        let missing: Vec<_> = wanted.filter(|bent| !self.0.contains(bent)).collect();
        assert!(is_replayed() || missing.is_empty(), "never bent ({}): {missing:?}", missing.len());
    }
}

/// Whatever is wrong with a payload, the parser says so or gets along without; and nothing becomes a command that was
/// none.
#[test]
fn no_bent_payload_makes_the_parser_panic() {
    let examples = examples::all();
    let (mut understood, mut ignored, mut refused, mut round) = (0, 0, 0, Round::default());
    for case in many(&examples) {
        round.add(&case);
        let body = case.bytes();
        let parsed = catch_unwind(AssertUnwindSafe(|| parse(&case.of.event, &body)))
            .unwrap_or_else(|_| panic!("the parser panicked: {}", case.told()));
        match parsed {
            Ok(Some(event)) => {
                understood += 1;
                let said = case.of.event == "issue_comment" && case.of.body["action"] == "created";
                assert!(said || !matches!(event.fact, Fact::Comment(_)), "it became a comment: {}", case.told());
            }
            Ok(None) => ignored += 1,
            Err(error) => {
                refused += 1;
                assert!(error.reason.chars().count() <= 300, "{}", case.told());
            }
        }
    }
    println!(
        "{} bent payloads: {understood} understood, {ignored} ignored, {refused} refused",
        understood + ignored + refused
    );
    round.is_whole(&examples);
    // If one kind is missing, the dice are loaded.
    assert!(is_replayed() || [understood, ignored, refused].iter().all(|&count| count > CASES / 20));
}

/// The bends are what they are called.
#[test]
fn a_bend_changes_what_it_says() {
    let body = json!({ "a": { "b": [1, { "c": "é" }] }, "d": null });
    let bent = |place: &[&str], bend: Bend| {
        let mut out = String::new();
        let place: Vec<String> = place.iter().map(|&key| key.to_owned()).collect();
        write(&mut out, &body, &place, &bend);
        out
    };
    assert_eq!(bent(&["d"], Bend::Removed), r#"{"a":{"b":[1,{"c":"é"}]}}"#);
    assert_eq!(bent(&["a", "b", "0"], Bend::Removed), r#"{"a":{"b":[{"c":"é"}]},"d":null}"#);
    assert_eq!(bent(&["a", "b", "1", "c"], Bend::Doubled("2".into())), r#"{"a":{"b":[1,{"c":"é","c":2}]},"d":null}"#);
    assert_eq!(bent(&["a"], Bend::Retyped("1e400".into())), r#"{"a":1e400,"d":null}"#);
}
