//! What the blocks of reviews add up to for the content that is there: which findings are open, what was looked at, and what
//! could not be read.
//!
//! A finding stands until it is settled, whatever is pushed: like a review that asks for changes. That something was looked
//! at is bound to the content, like an approval.

use std::collections::{BTreeMap, BTreeSet};

use super::block;
use crate::finding::{Finding, quoted};
use crate::gate::people::{May, Standing};
use crate::gate::world::{ACTIONS_SLUG, Review, World};
use crate::ids::{Digest, Person};
use crate::ledger::findings::{Axis, Held, Reviewed, Seen, Settled, Sought, plain_login};
use crate::ledger::record::Evidence;
use crate::ledger::state::State;
use crate::policy::{Axes, Policy};

/// More blocks of one change are not read.
pub const MOST_BLOCKS: usize = 100;

/// What the blocks say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heard {
    /// `REV-03`: what nothing goes on with.
    pub open: Vec<Finding>,
    /// `REV-10`: what could not be read.
    pub unread: Vec<Finding>,
    /// `REV-02`, `REV-06` to `REV-09`: what the policy may ask for.
    pub asked: Vec<Finding>,
    pub evidence: Vec<Evidence>,
    /// Who has looked at the security of the content that is there.
    pub security: Option<Person>,
    pub critic: Critic,
}

/// What completeness critics miss in the content that is there: of each, what they said last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Critic {
    /// Nobody has looked.
    #[default]
    Silent,
    Clean,
    /// Whose gaps these are, and what they are.
    Open(Vec<(String, Vec<String>)>),
}

/// The blocks that are read for the first time, oldest first, to be written down.
pub fn fresh(policy: &Policy, state: &State, world: &World) -> Vec<Reviewed> {
    let new = |review: &&Review| !state.findings.blocks.contains_key(&review.id) && review.state != "PENDING";
    let mut reviews: Vec<&Review> = world.reviews.iter().filter(new).filter(|one| one.body.is_some()).collect();
    reviews.retain(|review| discounted(policy, state, review).is_none());
    reviews.sort_by_key(|review| review.id);
    let room = MOST_BLOCKS.saturating_sub(state.findings.blocks.len());
    let read = reviews.into_iter().filter_map(|review| {
        let body = review.body.as_deref()?;
        let (block, flaws) = match block::parse(body)? {
            Ok(block) => (Some(block), Vec::new()),
            Err(flaws) => (None, flaws),
        };
        Some(Reviewed {
            review: review.id,
            by: review.by.clone(),
            role: review.standing.role.as_str().to_owned(),
            approves: !review.by.bot && May::Approve.allows(review.standing),
            commit: review.commit.clone(),
            text: Digest::of(body),
            block,
            flaws,
        })
    });
    read.take(room).collect()
}

/// Why nobody listens to a block. A bot can give a review only where somebody has installed it.
fn discounted(policy: &Policy, state: &State, review: &Review) -> Option<&'static str> {
    if is_operator(state, &review.by) && (review.by.bot || !policy.people.solo) {
        return Some("they wrote or pushed to this change");
    }
    (!review.by.bot && !May::Object.allows(review.standing)).then_some("they have no write access")
}

fn is_operator(state: &State, person: &Person) -> bool {
    state.operators.iter().any(|operator| operator.id == person.id)
}

pub fn heard(policy: &Policy, state: &State, world: &World) -> Heard {
    let mut heard = Heard::default();
    let standing = |of: &Person| {
        let reviewer = || world.reviews.iter().find(|review| review.by.id == of.id).map(|review| review.standing);
        world.standings.get(&of.id).copied().or_else(reviewer)
    };
    let closed = |held: &Held| held.settled.iter().any(|word| settles(policy, state, standing(&word.by), held, word));
    let open: Vec<&Held> = state.findings.held.values().filter(|held| !closed(held)).collect();
    heard.open.extend(open.iter().filter(|held| held.found.severity.blocks()).map(|held| told(policy, state, held)));
    let about = state.subject.as_ref().map(|about| &about.content);
    let (mut axes, mut sought) = (BTreeSet::new(), BTreeSet::new());
    let mut critics: BTreeMap<u64, (&str, &Vec<String>)> = BTreeMap::new();
    for (review, seen) in &state.findings.blocks {
        let here = about.is_some() && seen.content.as_ref() == about && !state.spent_reviews.contains(review);
        let why = unseen(policy, state, world, *review, seen, standing(&seen.by), here);
        if why.is_none() {
            axes.extend(seen.axes.iter().copied());
            sought.extend(seen.looked_for.iter().copied());
            let looked = seen.axes.contains(&Axis::Security).then(|| seen.by.clone());
            heard.security = heard.security.take().or(looked);
            critics.extend(seen.gaps.iter().map(|gaps| (seen.by.id, (seen.by.login.as_str(), gaps))));
        }
        if here {
            heard.unread.extend(unread(world, *review, seen));
            heard.unread.extend(seen.unmatched.iter().map(|name| unmatched(*review, seen, name)));
        }
        let of_it = open.iter().filter(|held| held.review == *review && held.found.severity.blocks());
        let open: BTreeSet<String> = of_it.map(|held| held.key()).collect();
        heard.evidence.push(Evidence::Findings {
            by: seen.by.clone(),
            role: seen.role.clone(),
            review: *review,
            axes: seen.axes.clone(),
            // What it found counts, whatever it is worth for the rest.
            discounted: why.filter(|_| open.is_empty()),
            open,
        });
    }
    heard.critic = said_by(critics);
    heard.evidence.extend(inherited(state, &open));
    heard.unread.extend(not_heard(policy, state, world));
    asked(policy, state, &open, (&axes, &sought), &mut heard.asked);
    heard
}

fn said_by(critics: BTreeMap<u64, (&str, &Vec<String>)>) -> Critic {
    let any = !critics.is_empty();
    let open = critics.into_values().filter(|(_, gaps)| !gaps.is_empty());
    let open: Vec<_> = open.map(|(login, gaps)| (login.to_owned(), gaps.clone())).collect();
    match (any, open.is_empty()) {
        (false, _) => Critic::Silent,
        (true, true) => Critic::Clean,
        (true, false) => Critic::Open(open),
    }
}

/// Findings of earlier numbers, whose blocks are not here.
fn inherited(state: &State, open: &[&Held]) -> Vec<Evidence> {
    let away = open.iter().filter(|held| !state.findings.blocks.contains_key(&held.review));
    let away = away.filter(|held| held.found.severity.blocks());
    away.map(|held| Evidence::Findings {
        by: held.by.clone(),
        role: held.role.clone(),
        review: held.review,
        axes: BTreeSet::new(),
        open: BTreeSet::from([held.key()]),
        discounted: None,
    })
    .collect()
}

/// Whether somebody's word settles a finding. Who has a hand in the change settles nothing; a bot nothing of a person's;
/// everybody what they found themselves; who may approve, everything.
fn settles(policy: &Policy, state: &State, now: Option<Standing>, held: &Held, word: &Settled) -> bool {
    let own = word.by.id == held.by.id;
    if word.by.bot {
        // Anybody who can push a workflow speaks as that one.
        let anybody = plain_login(&word.by.login).eq_ignore_ascii_case(ACTIONS_SLUG);
        return own && !is_operator(state, &word.by) && !(anybody && held.found.severity.blocks());
    }
    if is_operator(state, &word.by) && !policy.people.solo {
        return false;
    }
    match now {
        Some(now) => May::Approve.allows(now) || (own && May::Object.allows(now)),
        None => own || word.approves,
    }
}

/// Why that a block looked at something does not count.
fn unseen(
    policy: &Policy,
    state: &State,
    world: &World,
    review: u64,
    seen: &Seen,
    now: Option<Standing>,
    here: bool,
) -> Option<String> {
    let dismissed = world.reviews.iter().any(|one| one.id == review && one.state == "DISMISSED");
    let why = if !seen.flaws.is_empty() {
        "it can't be read"
    } else if !here {
        "it is for other content than this"
    } else if dismissed {
        "it was dismissed"
    } else if is_operator(state, &seen.by) && (seen.by.bot || !policy.people.solo) {
        "they wrote or pushed to this change"
    } else if seen.by.bot && plain_login(&seen.by.login).eq_ignore_ascii_case(ACTIONS_SLUG) {
        "whoever can push a workflow speaks as it"
    } else if !seen.by.bot && now.is_some_and(|now| !May::Object.allows(now)) {
        "they have no write access any more"
    } else {
        return None;
    };
    Some(why.to_owned())
}

/// `REV-03`: an open finding that nothing goes on with.
fn told(policy: &Policy, state: &State, held: &Held) -> Finding {
    let found = &held.found;
    let name = state.findings.name_of(held);
    let on = held.on.map(|on| format!(" on {on}")).unwrap_or_default();
    let vain: String = held
        .settled
        .iter()
        .map(|word| {
            let why = if word.by.bot {
                "a bot settles nothing but its own"
            } else if is_operator(state, &word.by) && !policy.people.solo {
                "they wrote or pushed to this change"
            } else {
                "settling is for whoever found it, and for those who may approve"
            };
            format!(" That `{}` settled it does not count: {why}.", word.by.login)
        })
        .collect();
    let says = format!(
        "`{}` found{on} ({}, {}), as `{name}`: {}{vain}",
        held.by.login,
        found.severity,
        found.axis,
        sentence(&found.what)
    );
    let who = if held.by.bot {
        "somebody who may approve".to_owned()
    } else {
        format!("`{}`, or somebody who may approve", held.by.login)
    };
    let next = format!(
        "They ask: {} Then {who}, and neither wrote nor pushed it, gives a review whose block closes it: `close: [{{ finding: {name}, reason: … }}]`.",
        sentence(&found.remedy)
    );
    let finding = Finding::error("REV-03", says, next);
    match &found.path {
        Some(path) => finding.at(path.clone(), found.line),
        None => finding,
    }
}

/// Somebody's own words, as a sentence.
fn sentence(text: &str) -> String {
    format!("{}.", quoted(text.trim_end_matches('.')))
}

const AGAIN: &str = "Give a new review with the block put right; one that was edited is not read again.";

/// `REV-10`: a block that can't be read. It holds until its giver has said something newer: it may have been a finding that
/// nothing goes on with. Nobody waits for a bot.
fn unread(world: &World, review: u64, seen: &Seen) -> Vec<Finding> {
    let newer = |one: &&Review| one.by.id == seen.by.id && one.id > review && one.state != "PENDING";
    let decided = |one: &Review| one.state != "COMMENTED" || one.body.is_some();
    if world.reviews.iter().filter(newer).any(decided) {
        return Vec::new();
    }
    let all = seen.flaws.iter().map(|flaw| {
        let says = format!(
            "The block in `{}`'s review {review} can't be read, at line {} of the review: {}",
            seen.by.login, flaw.line, flaw.says
        );
        let next = format!("{} {AGAIN}", flaw.next);
        match seen.by.bot {
            true => Finding::warning("REV-10", says, next),
            false => Finding::waiting("REV-10", says, next),
        }
    });
    all.collect()
}

fn unmatched(review: u64, seen: &Seen, name: &str) -> Finding {
    let says = format!(
        "`{}`'s review {review} settles {}, and there is no finding of that name, or more than one.",
        seen.by.login,
        quoted(name)
    );
    Finding::warning("REV-10", says, "Write the name as the finding shows it, in a new review.")
}

/// What is there and nobody listens to: said to those who have a hand in it, and not to strangers.
fn not_heard(policy: &Policy, state: &State, world: &World) -> Vec<Finding> {
    let known = |review: &Review| state.findings.blocks.contains_key(&review.id);
    let full = state.findings.blocks.len() >= MOST_BLOCKS;
    let mut all = Vec::new();
    // What nobody is told of is not read.
    let new = world.reviews.iter().filter(|review| !known(review) && review.state != "PENDING");
    let told = new.filter(|review| is_operator(state, &review.by) || full);
    for review in told.filter(|one| one.body.as_deref().is_some_and(|body| block::parse(body).is_some())) {
        match discounted(policy, state, review) {
            Some(why) if is_operator(state, &review.by) => {
                let says = format!("The block in `{}`'s review {} does not count: {why}.", review.by.login, review.id);
                all.push(Finding::warning("REV-04", says, "Somebody else who has write access reviews it."));
            }
            Some(_) => {}
            None if full => {
                let says = format!(
                    "There are more than {MOST_BLOCKS} reviews with a block, so that of review {} is not read.",
                    review.id
                );
                let next = "Close this pull request and open another: what is open goes along.";
                all.push(Finding::waiting("REV-10", says, next));
            }
            None => {}
        }
    }
    // A text that reads otherwise now than when it was taken down.
    for (review, seen) in &state.findings.blocks {
        let now = world.reviews.iter().find(|one| one.id == *review);
        let edited = now.is_some_and(|now| now.body.as_deref().map(Digest::of).as_ref() != Some(&seen.text));
        if edited && state.subject.as_ref().map(|about| &about.content) == seen.content.as_ref() {
            let says = format!(
                "`{}`'s review {review} was edited since its block was read; what it said then holds.",
                seen.by.login
            );
            all.push(Finding::warning("REV-10", says, "Who wants to say something else gives a new review."));
        }
    }
    all
}

/// `REV-02`, and `REV-06` to `REV-09`, as the policy has it. Where it only shows them and nobody gives blocks, nothing is said.
fn asked(
    policy: &Policy,
    state: &State,
    open: &[&Held],
    (axes, sought): (&BTreeSet<Axis>, &BTreeSet<Sought>),
    found: &mut Vec<Finding>,
) {
    let demand = match policy.gates.review.axes {
        Axes::Demand => true,
        Axes::Show if !state.findings.is_empty() => false,
        Axes::Show | Axes::Off => return,
    };
    let finding = |rule: &str, says: String, next: &str| match demand {
        true => Finding::waiting(rule, says, next),
        false => Finding::warning(rule, says, next),
    };
    let missing: Vec<String> =
        Axis::EACH.iter().filter(|axis| !axes.contains(*axis)).map(|axis| format!("`{axis}`")).collect();
    if !missing.is_empty() {
        let says = format!("Nobody says that they looked at this content for: {}.", missing.join(", "));
        let next = "Somebody with write access who neither wrote nor pushed it, or a reviewing agent, names them under `axes` in the \
                    `phasegate-review` block of a review.";
        found.push(finding("REV-02", says, next));
    }
    for held in open.iter().filter(|held| held.found.concern.is_some() && !held.found.severity.blocks()) {
        let (name, concern) = (state.findings.name_of(held), held.found.concern.map_or("", |concern| concern.as_str()));
        let says = format!("`{}` is concerned ({concern}), as `{name}`: {}", held.by.login, sentence(&held.found.what));
        let next = format!(
            "They ask: {} Settle it, or write down why it stays: `accept: [{{ finding: {name}, reason: … }}]` in the block of a \
             review.",
            sentence(&held.found.remedy)
        );
        let finding = finding("REV-06", says, &next);
        found.push(match &held.found.path {
            Some(path) => finding.at(path.clone(), held.found.line),
            None => finding,
        });
    }
    for one in Sought::EACH.iter().filter(|one| !sought.contains(*one)) {
        let (rule, what) = match one {
            Sought::ScopeReduction => ("REV-07", "a reduced scope"),
            Sought::Placeholders => ("REV-08", "placeholder behaviour"),
            Sought::Traceability => ("REV-09", "broken `AC-*` traceability"),
        };
        let next =
            format!("Whoever reviews it looks for it, and names `{one}` under `looked_for` in the block of a review.");
        found.push(finding(rule, format!("Nobody says that they looked for {what} in this content."), &next));
    }
}
