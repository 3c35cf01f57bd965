//! EXPAND reads `scaffolding/scope.md`: what is to be built, small enough and measurable.

mod conflict;
pub(super) mod inputs;
mod version;

pub(super) use version::version;

use std::collections::{HashMap, HashSet};

use super::Severity;
use super::paper::{Cell, Paper, Part, Piece, ids, names, numbers, text};
use super::papers::{self, Desk, Found, LOG, Rule, SCOPE, excerpt};
use crate::ledger::snapshot;
use crate::policy::Tier;

pub const RULES: &[Rule] = &[
    Rule {
        id: "EXP-01",
        about: "The scope exists and can be read.",
        severity: Severity::Error,
        check: papers::document_is_read,
        next: "Write it and push.",
    },
    Rule {
        id: "EXP-02",
        about: "Each required section is there and says something.",
        severity: Severity::Error,
        check: papers::sections_have_content,
        next: "Write what belongs there.",
    },
    Rule {
        id: "EXP-03",
        about: "Criteria carry `AC-*` identifiers, each its own.",
        severity: Severity::Error,
        check: identifiers,
        next: "Begin each criterion with an identifier of its own, such as `AC-1`.",
    },
    Rule {
        id: "EXP-04",
        about: "At least one criterion has a quantitative threshold.",
        severity: Severity::Error,
        check: no_threshold,
        next: "Say how much, how fast or how many in at least one of them: `within 200 ms`, `at least 3`.",
    },
    Rule {
        id: "EXP-04",
        about: "A criterion without a quantitative threshold is pointed out.",
        severity: Severity::Warning,
        check: without_threshold,
        next: "Say how much, how fast or how many, where it can be said.",
    },
    Rule {
        id: "EXP-05",
        about: "The smallest useful version keeps to the tier's size.",
        severity: Severity::Error,
        check: too_large,
        next: "Move some to Deferred, or ask for a larger tier.",
    },
    Rule {
        id: "EXP-06",
        about: "The tier is shed, house or skyscraper, and not below the policy's.",
        severity: Severity::Error,
        check: tier_is_named,
        next: "Write one of `shed`, `house` and `skyscraper`.",
    },
    Rule {
        id: "EXP-07",
        about: "The cost is a monthly figure.",
        severity: Severity::Error,
        check: cost_is_monthly,
        next: "Write an amount of money a month, such as `$5 a month`; `$0` is one.",
    },
    Rule {
        id: "EXP-08",
        about: "Each conflict with the preferences is named.",
        severity: Severity::Error,
        check: conflict::unnamed,
        next: "Keep to the preferences, or write in scope what is used instead of what, and why.",
    },
    Rule {
        id: "EXP-09",
        about: "Each input file is used or set aside by name.",
        severity: Severity::Error,
        check: inputs::unnamed,
        next: "Say in scope what it is used for, or that it is set aside.",
    },
    Rule {
        id: "EXP-10",
        about: "The stack and the target in use are logged.",
        severity: Severity::Error,
        check: logged,
        next: "Write into the log which stack and which target are in use.",
    },
    Rule {
        id: "EXP-11",
        about: "An identifier of an earlier scope keeps its meaning.",
        severity: Severity::Error,
        check: reused,
        next: "Give the new criterion an identifier that was never used.",
    },
    Rule {
        id: "EXP-12",
        about: "The scope is this change's own.",
        severity: Severity::Error,
        check: left_over,
        next: "Write what this change is to do in place of it.",
    },
    Rule {
        id: "EXP-13",
        about: "The scope of a round has the next version and its changes, and the one before is kept.",
        severity: Severity::Error,
        check: version::unversioned,
        next: "Write it into scope.",
    },
];

/// A section of scope that says something. Of others the second rule tells.
pub(super) fn said<'p>(paper: &'p Paper, name: &str) -> Option<Part<'p>> {
    paper.section(name).filter(|part| part.has_content(false))
}

/// The criteria with their identifiers, also those that say nothing.
fn listed(paper: &Paper) -> Vec<(Option<String>, Piece)> {
    let part = said(paper, "Acceptance Criteria");
    let items = part.map(|part| part.items()).unwrap_or_default();
    items.into_iter().flat_map(Piece::criteria).map(|item| (ids::leading(item.start()), item)).collect()
}

/// The criteria with their identifiers.
pub(super) fn criteria(paper: &Paper) -> Vec<(Option<String>, Piece)> {
    let mut criteria = listed(paper);
    criteria.retain(|(id, item)| id.is_none() || says_more(item));
    criteria
}

/// Whether a criterion says anything, as it would in a scope.
pub fn criterion_says(text: &str) -> bool {
    let scope = format!("## Acceptance Criteria\n\n- {text}\n");
    let paper = Paper::read(&scope, names::SCOPE).ok();
    paper.iter().flat_map(listed).any(|(_, item)| says_more(&item))
}

/// The criteria of a scope that have an identifier, each in a line.
pub fn asked(scope: &str) -> Vec<String> {
    let paper = Paper::read(scope, names::SCOPE).ok();
    let named = paper.iter().flat_map(criteria).filter(|(id, _)| id.is_some());
    named.map(|(_, item)| snapshot::line(&item.from_start())).collect()
}

/// Whether a criterion says anything but its identifier.
fn says_more(item: &Piece) -> bool {
    !item.code.is_empty() || meaning(item).lines().any(|line| text::says_something(line, &[]))
}

/// What a criterion says after its identifier.
fn meaning(item: &Piece) -> String {
    ids::without(&item.from_start())
}

fn tiers(paper: &Paper) -> Vec<Tier> {
    let Some(part) = said(paper, "Quality Tier") else { return Vec::new() };
    // Of boxes, those that are ticked are meant.
    let ticked: Vec<String> = part.pieces().into_iter().filter(|piece| piece.ticked).map(|piece| piece.text).collect();
    let all = if ticked.is_empty() { part.text() } else { ticked.join("\n") };
    let words: Vec<String> =
        text::sentences(&all).into_iter().filter(|sentence| !sentence.ends_with('?')).flat_map(text::words).collect();
    let named =
        |tier: &Tier| words.iter().enumerate().any(|(at, word)| word == tier.as_str() && !text::is_denied(&words, at));
    [Tier::Shed, Tier::House, Tier::Skyscraper].into_iter().filter(named).collect()
}

/// The tier that a scope names.
pub(super) fn tier(paper: &Paper) -> Option<Tier> {
    match tiers(paper)[..] {
        [tier] => Some(tier),
        _ => None,
    }
}

fn identifiers(desk: &Desk<'_>) -> Vec<Found> {
    let Some(paper) = &desk.scope else { return Vec::new() };
    let Some(part) = said(paper, "Acceptance Criteria") else { return Vec::new() };
    let criteria = listed(paper);
    if criteria.iter().all(|(id, _)| id.is_none()) {
        return vec![Found::at(SCOPE, part.line, "No acceptance criterion has an `AC-*` identifier.")];
    }
    let mut seen: HashMap<&str, u32> = HashMap::new();
    let mut found = Vec::new();
    for (id, item) in &criteria {
        let Some(id) = id else {
            let says = format!("The criterion “{}” has no `AC-*` identifier.", excerpt(&item.text));
            found.push(Found::at(SCOPE, item.line, says));
            continue;
        };
        if !says_more(item) {
            let found_one = Found::at(SCOPE, item.line, format!("`{id}` says nothing."));
            found.push(found_one.next("Write what is to be so, or take it out."));
        } else if let Some(first) = seen.get(id.as_str()) {
            found.push(Found::at(SCOPE, item.line, format!("`{id}` is the criterion of line {first} already.")));
        } else {
            seen.insert(id, item.line);
        }
    }
    found
}

fn measured(item: &Piece) -> bool {
    numbers::has_threshold(&meaning(item))
}

fn no_threshold(desk: &Desk<'_>) -> Vec<Found> {
    let Some(paper) = &desk.scope else { return Vec::new() };
    let Some(part) = said(paper, "Acceptance Criteria") else { return Vec::new() };
    if criteria(paper).iter().any(|(_, item)| measured(item)) {
        return Vec::new();
    }
    vec![Found::at(SCOPE, part.line, "No acceptance criterion has a quantitative threshold.")]
}

fn without_threshold(desk: &Desk<'_>) -> Vec<Found> {
    let Some(paper) = &desk.scope else { return Vec::new() };
    let bare = criteria(paper).into_iter().filter(|(_, item)| !measured(item));
    bare.map(|(id, item)| {
        let what = id.map_or_else(|| format!("“{}”", excerpt(&item.text)), |id| format!("`{id}`"));
        Found::at(SCOPE, item.line, format!("The criterion {what} has no quantitative threshold."))
    })
    .collect()
}

fn too_large(desk: &Desk<'_>) -> Vec<Found> {
    let Some(paper) = &desk.scope else { return Vec::new() };
    let (tier, limits) = (desk.tier, &desk.policy.limits);
    let mut found = Vec::new();
    let mut count = |part: &Part<'_>, what: &str, count: usize, most: u32| {
        if count > most as usize {
            let says = format!("“{}” has {count} {what}; a {tier} has at most {most}.", excerpt(&part.heading));
            found.push(Found::at(SCOPE, part.line, says));
        }
    };
    if let Some(part) = said(paper, "Acceptance Criteria") {
        count(&part, "criteria", criteria(paper).len(), limits.criteria.of(tier));
    }
    if let Some(part) = said(paper, "Smallest Useful Version") {
        let components = part.sub("components").map(|sub| sub.items()).unwrap_or_default();
        let named = part.included().iter().filter(|item| is_component(item)).count();
        let named = named.max(told_components(&part.text()));
        count(&part, "components", named + components.len(), limits.components.of(tier));
    }
    found
}

/// `Components: the bot, a queue and a dashboard.`
fn told_components(text: &str) -> usize {
    let told = |sentence: &&str| {
        let (label, rest) = sentence.split_once(':')?;
        let label = text::words(label);
        let names = |part: &&str| part.contains(char::is_alphanumeric);
        matches!(&label[..], [one] if one == "components")
            .then(|| rest.replace(" and ", ",").split(',').filter(names).count())
    };
    text::sentences(text).iter().filter_map(told).max().unwrap_or_default()
}

/// An entry that names something. What it does not do, and that there is nothing else, names nothing.
fn is_component(item: &Piece) -> bool {
    !text::is_none(&item.text)
        && !text::words(&item.text).first().is_some_and(|first| matches!(first.as_str(), "no" | "not"))
}

fn tier_is_named(desk: &Desk<'_>) -> Vec<Found> {
    let Some(paper) = &desk.scope else { return Vec::new() };
    let Some(part) = said(paper, "Quality Tier") else { return Vec::new() };
    let says = match tiers(paper)[..] {
        [] => "The quality tier is none of `shed`, `house` and `skyscraper`.".to_owned(),
        [tier] if tier < desk.policy.tier => {
            let least = desk.policy.tier;
            let says = format!("The quality tier is `{tier}`; the policy asks for `{least}` at least.");
            return vec![Found::at(SCOPE, part.line, says).next(format!("Write `{least}` and what it asks for."))];
        }
        [_] => return Vec::new(),
        _ => "More than one quality tier is named.".to_owned(),
    };
    vec![Found::at(SCOPE, part.line, says)]
}

fn cost_is_monthly(desk: &Desk<'_>) -> Vec<Found> {
    let Some(paper) = &desk.scope else { return Vec::new() };
    let Some(part) = said(paper, "Estimated Cost") else { return Vec::new() };
    let heading = format!("{} {}", part.heading, part.headers());
    // `| Item | USD / month |`: a bare number there is what its column says.
    let in_column = |cell: Cell| numbers::is_monthly_cell(&cell.header, &cell.text);
    let rows = || part.listed().into_iter().flat_map(|row| row.cells);
    if numbers::has_monthly_figure(&heading, &part.text()) || rows().any(in_column) {
        return Vec::new();
    }
    vec![Found::at(SCOPE, part.line, "The estimated cost has no monthly figure.")]
}

fn logged(desk: &Desk<'_>) -> Vec<Found> {
    let Some(paper) = &desk.scope else { return Vec::new() };
    if desk.papers.log.is_none() {
        let found = Found::nowhere(format!("`{LOG}` does not exist."));
        return vec![found.next("Write it: which stack and which target are in use.")];
    }
    let Some(log) = &desk.log else {
        return vec![Found::in_file(LOG, format!("`{LOG}` can't be read.")).next("Write it as plain Markdown.")];
    };
    let everything = log.everything();
    let mut written = text::names(&everything);
    written.extend(initials(&everything));
    let mut found = Vec::new();
    for (section, what) in [("Stack", "stack"), ("Deployment Target", "deployment target")] {
        let told = said(paper, section).map(|part| part.text()).unwrap_or_default();
        let mut names = text::names(&told);
        // A log may call it by its initials.
        if !names.is_empty() {
            names.extend(initials(&told));
        }
        // Words about the choice, which are none of its names.
        names.retain(|name| {
            !matches!(name.as_str(), "conflict" | "conflicts" | "md" | "preference" | "preferences" | "read" | "says")
        });
        if !names.is_empty() && written.is_disjoint(&names) {
            let named: Vec<String> = text::names(&told).into_iter().take(5).collect();
            let says = format!("The log does not name the {what} that scope has: {}.", excerpt(&named.join(", ")));
            found.push(Found::in_file(LOG, says).next(format!("Write into the log which {what} is in use.")));
        }
    }
    found
}

/// `Google Kubernetes Engine`: gke.
fn initials(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let initial = |word: &&str| word.chars().next().filter(|c| c.is_uppercase());
    let of = |length: usize| {
        words.windows(length).filter_map(move |window| window.iter().map(initial).collect::<Option<String>>())
    };
    of(3).chain(of(4)).map(|initials| initials.to_lowercase()).collect()
}

fn reused(desk: &Desk<'_>) -> Vec<Found> {
    let (Some(paper), Some(base)) = (&desk.scope, &desk.base_scope) else { return Vec::new() };
    let mut earlier: HashMap<String, Piece> = HashMap::new();
    for (id, item) in criteria(base) {
        if let Some(id) = id {
            earlier.entry(id).or_insert(item);
        }
    }
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for (id, item) in criteria(paper) {
        let Some(id) = id.filter(|id| seen.insert(id.clone())) else { continue };
        let Some(was) = earlier.get(&id) else { continue };
        let (old, new) = (text::names(&meaning(was)), text::names(&meaning(&item)));
        let (both, all) = (old.intersection(&new).count(), old.union(&new).count());
        if both * 3 < all {
            let says = format!(
                "`{id}` meant something else before: “{}”.",
                excerpt(ids::after_leading(&was.text).trim_start_matches(|c: char| !c.is_alphanumeric()))
            );
            found.push(Found::at(SCOPE, item.line, says));
        }
    }
    found
}

fn left_over(desk: &Desk<'_>) -> Vec<Found> {
    let (Some(paper), Some(base)) = (&desk.scope, &desk.base_scope) else { return Vec::new() };
    if paper.words() != base.words() {
        return Vec::new();
    }
    vec![Found::in_file(SCOPE, "This scope was left by an earlier change: the base has the same.")]
}

#[cfg(test)]
mod tests;
