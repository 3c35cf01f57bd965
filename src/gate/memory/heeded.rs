//! Whether the documents say what a person has decided.

use super::Finding;
use crate::finding::quoted;
use crate::flow::Phase;
use crate::gate::paper::{Paper, ids, names};
use crate::gate::world::World;
use crate::gate::{expand, papers};
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
            // An identifier that meant something else before can't be had again (`EXP-11`), so what is asked for is what it says.
            let bare = |text: &str| in_words(ids::after_leading(text));
            let there: Vec<String> = files.criteria.iter().map(|text| bare(text)).collect();
            let lacks = |text: &str| {
                let given = bare(&as_read(text));
                // What was cut is held against as far as it is known.
                let is_it = |one: &String| {
                    if text.ends_with('…') && text.chars().count() > CUT {
                        one.starts_with(given.trim_end())
                    } else {
                        *one == given
                    }
                };
                !there.iter().any(is_it)
            };
            let lost = decided(Remedy::AmendSpec).filter(|(text, _)| lacks(text));
            let find = |(text, by): (&str, &str)| {
                let says =
                    format!("{} amended the criteria, and this one is not among them: {}", quoted(by), quoted(text));
                let long = text.chars().count() > LONG;
                let whole = if long { " The comment that gave it has it in full." } else { "" };
                let next = format!(
                    "Write it under Acceptance Criteria as it was given, and push. Where its identifier meant something else before \
                     (EXP-11), give it one that was never used.{whole}"
                );
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
            // A path may stand there as folders, each in a line of its own.
            let parts =
                |id: &str| id.split('/').map(in_words).filter(|part| !part.trim().is_empty()).collect::<Vec<_>>();
            lost.filter(|(id, _)| !parts(id).iter().all(|part| there.contains(part))).map(find).collect()
        }
        _ => Vec::new(),
    }
}

/// A criterion as it reads once it stands in the scope: a link is its words, and a tag is none.
fn as_read(text: &str) -> String {
    let scope = format!("## Acceptance Criteria\n\n- {text}\n");
    let paper = Paper::read(&scope, names::SCOPE).ok();
    let read: Vec<String> = paper.iter().flat_map(expand::criteria).map(|(_, item)| item.from_start()).collect();
    if read.is_empty() { text.to_owned() } else { read.join(" ") }
}

/// A text by its words alone, each between blanks. A sign, a bound or a unit is as good as a word; what only sets words apart, or
/// makes them bold, is none.
fn in_words(text: &str) -> String {
    let dash = |c: char| matches!(c, '-' | '\u{2010}'..='\u{2015}' | '\u{2212}');
    let apart = |c: char| c.is_whitespace() || "*_`\"'“”‘’„«»()[]{}.,;:?!…\\".contains(c);
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied().unwrap_or(' ');
        match c {
            '.' if next.is_ascii_digit() => out.push(c),
            ',' if before.is_ascii_digit() && next.is_ascii_digit() => out.push(c),
            '!' if next == '=' || next.is_alphanumeric() && !before.is_alphanumeric() => out.push_str(" ! "),
            // The ends of a range.
            '[' | '(' if next.is_ascii_digit() => out.extend([' ', c, ' ']),
            ']' | ')' if before.is_ascii_digit() => out.extend([' ', c, ' ']),
            c if dash(c) && !before.is_alphanumeric() && !next.is_whitespace() && !dash(next) => out.push_str(" - "),
            c if c.is_alphanumeric() => out.push(c),
            c if apart(c) || dash(c) => out.push(' '),
            c => out.extend([' ', c, ' ']),
        }
        before = c;
    }
    let words: Vec<String> = out.split_whitespace().map(str::to_lowercase).collect();
    format!(" {} ", words.join(" "))
}

/// From so many characters on, what ends in an ellipsis was cut.
const CUT: usize = 100;
/// A criterion that is longer may be cut where it is shown.
const LONG: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_known_by_its_words_and_signs() {
        for (one, other) in [
            ("It *stays* at `level` 3.", "it stays at level 3"),
            ("A row – and more", "a row - and more"),
            ("level −2", "level -2"),
            ("“Done” (at once)", "done, at once"),
            ("well-known", "well known"),
            ("Done! At once.", "done, at once"),
        ] {
            assert_eq!(in_words(one), in_words(other));
        }
        for (one, other) in [
            ("level −2", "level 2"),
            ("level –2", "level 2"),
            ("!= level 2", "= level 2"),
            ("$5", "5 €"),
            ("~10 ms", "10 ms"),
            ("10^3", "10 3"),
            ("10.5", "10 5"),
            ("1,5", "1 5"),
            ("< 3", "> 3"),
            ("≤ 3", "≥ 3"),
            ("5 %", "5"),
            ("within .5 s", "within 5 s"),
            ("shows -$5", "shows $5"),
            ("gives -x", "gives x"),
            ("in [0, 10)", "in [0, 10]"),
            ("when `!dark`", "when `dark`"),
        ] {
            assert_ne!(in_words(one), in_words(other));
        }
    }
}
