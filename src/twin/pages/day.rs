//! The bad day on the pages: what it is, what it struck so far, and the forms that switch it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::super::bad_day::{BadDay, Switch};
use super::super::model::*;
use super::super::presets::PRESETS;
use super::super::reply::Problem;
use super::super::state::State;
use super::safe;

/// The day that a form asks for: one with a name, one that a seed makes, or switches of one's own.
pub(super) fn asked(field: &dyn Fn(&str) -> String) -> Result<BadDay, Problem> {
    let seed = match field("seed").trim() {
        "" => 0,
        text => text.parse().map_err(|_| Problem::invalid("A seed is a whole number that is not below zero."))?,
    };
    match field("day").as_str() {
        "" => {
            let number = |name: &str| field(name).parse::<u32>().ok();
            let one_in = Switch::ALL.into_iter().filter_map(|switch| Some((switch, number(&switch.name())?.max(1))));
            let day = BadDay { seed, one_in: one_in.collect() };
            if day.one_in.is_empty() {
                let names = Switch::ALL.map(Switch::name).join(", ");
                return Err(Problem::invalid(format!("Switch something on, once in so many: {names}.")));
            }
            Ok(day)
        }
        "seeded" => Ok(BadDay::mixed(seed)),
        name => BadDay::preset(name, seed).ok_or_else(|| {
            let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
            Problem::invalid(format!("There is no such day; there is {} and seeded.", names.join(", ")))
        }),
    }
}

/// What struck, in words.
fn told(struck: &BTreeMap<Switch, u64>) -> String {
    if struck.is_empty() {
        return "nothing".to_owned();
    }
    let parts: Vec<String> = struck.iter().map(|(switch, times)| format!("{times} × {}", switch.says())).collect();
    parts.join(", ")
}

/// Says on every page of an open stage that it is a bad day, or was one.
pub(super) fn banner(state: &State, repo: &Repo) -> String {
    if !state.stages.contains_key(&repo.id) {
        return String::new();
    }
    if let Some(weather) = &state.weather {
        return format!(
            "<div class=\"banner bad-day\" role=\"status\"><form method=\"post\" action=\"/{}/act\"><b>GitHub has a bad \
             day.</b> Struck so far: {}. The bot is to come to the same end. <button name=\"do\" value=\"calm\">Calm \
             again</button></form></div>",
            safe(&repo.full_name()),
            told(&weather.struck())
        );
    }
    match &state.past_day {
        Some(struck) if struck.is_empty() => {
            "<p class=\"banner\" role=\"status\"><b>The bad day is over.</b> Nothing happened on it.</p>".to_owned()
        }
        Some(struck) => format!(
            "<p class=\"banner\" role=\"status\"><b>The bad day is over.</b> It struck: {}. What was lost was asked for \
             again.</p>",
            told(struck)
        ),
        None => String::new(),
    }
}

/// The form that makes it a bad day. `action` is where it goes.
pub(super) fn form(state: &State, repo: &Repo, action: &str) -> String {
    if !state.stages.contains_key(&repo.id) || state.weather.is_some() {
        return String::new();
    }
    let mut days = String::new();
    for preset in PRESETS {
        let _ = write!(days, "<option value=\"{}\">{}</option>", preset.name, preset.about);
    }
    format!(
        "<section class=\"box\" id=\"day\"><h2>A bad day</h2><form class=\"pad\" method=\"post\" action=\"{action}\">\
         <p class=\"sub\">What GitHub does to an App when it is not well. People are spared.</p>\
         <label>Day <select name=\"day\">{days}<option value=\"seeded\">Whatever the seed brings</option></select></label> \
         <label>Seed <input name=\"seed\" value=\"7\" size=\"6\" inputmode=\"numeric\"></label> \
         <button name=\"do\" value=\"bad-day\">Switch it on</button></form></section>"
    )
}
