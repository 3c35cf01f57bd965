//! The calls the bot makes, by subject, with small structs of our own.
//!
//! The structs are lenient: what the bot needs must be there, the rest may be anything. Accounts that are gone become
//! the ghost.

pub mod actions;
pub mod activity;
pub mod app;
pub mod checks;
pub mod comments;
pub mod git;
pub mod issues;
pub mod objects;
pub mod people;
pub mod pulls;
pub mod queue;
pub mod rules;

#[cfg(test)]
mod call_tests;

use serde::{Deserialize, Deserializer};

use super::webhook::{Account, person};
use crate::ids::Person;

/// A person, or the ghost where GitHub says null.
fn someone<'de, D: Deserializer<'de>>(from: D) -> Result<Person, D::Error> {
    Option::<Account>::deserialize(from).map(person)
}

/// A person, or nobody where GitHub says null.
fn somebody<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Person>, D::Error> {
    Ok(Option::<Account>::deserialize(from)?.map(|account| person(Some(account))))
}

fn ghost() -> Person {
    person(None)
}

/// Text, where GitHub says null for none.
fn text<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Option::<String>::deserialize(from).map(Option::unwrap_or_default)
}

/// The most characters that GitHub takes for a body, a summary or a text.
pub const LONGEST_TEXT: usize = 65_535;

/// Text that fits, with a notice at its end where it had to be cut. Cuts between characters, never inside one.
pub fn fit(text: &str, longest: usize) -> String {
    const NOTICE: &str = "\n\n… cut here: this text is longer than GitHub shows.";
    if text.chars().nth(longest).is_none() {
        return text.to_owned();
    }
    let keep = longest.saturating_sub(NOTICE.chars().count());
    text.chars().take(keep).chain(NOTICE.chars()).take(longest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn text_that_is_too_long_is_cut_between_characters_and_says_so(text in "(é|x|🦀|\n){0,300}", longest in 60usize..200) {
            let fitted = fit(&text, longest);
            proptest::prop_assert!(fitted.chars().count() <= longest);
            let whole = text.chars().count() <= longest;
            proptest::prop_assert_eq!(whole, fitted == text);
            proptest::prop_assert_eq!(!whole, fitted.contains("cut here"));
        }
    }
}
