//! Whether the documents say what a person has decided.

use super::Finding;
use crate::finding::quoted;
use crate::flow::Phase;
use crate::gate::papers;
use crate::gate::world::World;
use crate::ledger::State;
use crate::ledger::memory::{Source, said};
use crate::ledger::resolution::Remedy;

/// `EXP-14` and `DSN-11`: what a person decided about the criteria or the plan, and the document does not say.
pub fn unheeded(phase: Phase, state: &State, world: &World) -> Vec<Finding> {
    let (Some(memory), Some(subject)) = (&state.memory, &world.subject) else { return Vec::new() };
    let decided = |of: Remedy| {
        let facts = memory.latest.context.iter().filter_map(|fact| Some((fact, memory.given.get(&fact.id)?)));
        facts.filter_map(move |(fact, given)| match &given.source {
            Source::Decided { remedy, by } if *remedy == of => Some((said(&fact.text), by.as_str())),
            _ => None,
        })
    };
    let files = &subject.context;
    match phase {
        Phase::Expand => {
            let there: Vec<String> = files.criteria.iter().map(|text| in_words(text)).collect();
            let bare = |text: &str| text.split_once(':').map(|(_, rest)| in_words(rest)).unwrap_or_default();
            let without: Vec<String> = files.criteria.iter().map(|text| bare(text)).collect();
            let lacks = |text: &str| {
                let given = in_words(text);
                // What was cut is held against as far as it is known.
                let is_it = |one: &String| {
                    if text.ends_with('…') { one.starts_with(given.trim_end()) } else { *one == given }
                };
                !there.iter().chain(&without).any(is_it)
            };
            let lost = decided(Remedy::AmendSpec).filter(|(text, _)| lacks(text));
            let find = |(text, by): (&str, &str)| {
                let says =
                    format!("{} amended the criteria, and this one is not among them: {}", quoted(by), quoted(text));
                let whole = if text.ends_with('…') { " The answer has it in full." } else { "" };
                let next = format!("Write it under Acceptance Criteria as it was given, and push.{whole}");
                Finding::error("EXP-14", says, next).at(papers::SCOPE, None)
            };
            lost.map(find).collect()
        }
        Phase::Design => {
            let there = files.design.as_deref().map(in_words).unwrap_or_default();
            let module = |text: &'_ str| text.split(": ").next().unwrap_or_default().to_owned();
            let lost = decided(Remedy::RevisePlan).map(|(text, by)| (module(text), by));
            let find = |(id, by): (String, &str)| {
                let says = format!(
                    "{} gave another plan, and the design does not name its module {}.",
                    quoted(by),
                    quoted(&id)
                );
                Finding::error(
                    "DSN-11",
                    says,
                    "Write the design by that plan, with each of its modules by name, and push.",
                )
                .at(papers::DESIGN, None)
            };
            lost.filter(|(id, _)| !there.contains(&in_words(id))).map(find).collect()
        }
        _ => Vec::new(),
    }
}

/// A text by its words alone, each between blanks.
fn in_words(text: &str) -> String {
    // A sign or a bound is as good as a word; a hyphen within one is none.
    let sign = |c: char| matches!(c, '-' | '+' | '<' | '>' | '=' | '%' | '≤' | '≥' | '±');
    let mut apart = String::with_capacity(text.len());
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if sign(c) && !(c == '-' && before.is_alphanumeric()) {
            apart.extend([' ', c, ' ']);
        } else if c == '.' && before.is_ascii_digit() && chars.peek().is_some_and(char::is_ascii_digit) {
            apart.push(c);
        } else {
            apart.push(if c.is_alphanumeric() { c } else { ' ' });
        }
        before = c;
    }
    let words: Vec<String> = apart.split_whitespace().map(str::to_lowercase).collect();
    format!(" {} ", words.join(" "))
}
