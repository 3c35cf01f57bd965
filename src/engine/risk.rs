//! `/risk-accept`: a person answers for what a gate finds, for the content that is shown, until a day. Never for security, never
//! for a cheat, and nothing passes by it that is of high risk and runs by itself.

use std::collections::BTreeSet;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

use super::decide::{Draft, Happened, Order};
use crate::finding::quoted;
use crate::flow::{FlowName, Phase, Refusal};
use crate::gate::risk::{ACCEPTABLE, Never, acceptable};
use crate::gate::{merge, phase};
use crate::ledger::record::Outcome;
use crate::ledger::risk::Waiver;
use crate::ledger::{Body, By};
use crate::policy::Commands;

/// So long a risk may be accepted, in days.
const LONGEST: i64 = 366;
/// So many rules in one command.
const MOST_RULES: usize = 20;
/// So many characters of a ticket.
const LONGEST_TICKET: usize = 100;

pub(super) fn said(draft: &mut Draft<'_>, order: &Order, by: &By, commands: &Commands) -> Result<Outcome, Refusal> {
    if draft.state.merged.is_some() || !draft.state.open || draft.state.subject.is_none() {
        return Err(Refusal::new("CMD-03", "there is no open content to answer for.", "Say it where there is."));
    }
    let waiver = read(&order.given.args, order.comment.created_at, commands)?;
    if let Some(finding) = draft.world.policy().and_then(|policy| merge::high_risk(&draft.state, policy, draft.world)) {
        return Err(Refusal::new("unguarded_high_risk_auto", lower_first(&finding.says), finding.next));
    }
    let found = found(draft);
    if let Some(rule) = waiver.rules.iter().find(|rule| !found.contains(*rule)) {
        return Err(Refusal::new(
            "CMD-03",
            format!("{rule} finds nothing in this content that could be accepted."),
            match found.is_empty() {
                true => "There is nothing to accept.".to_owned(),
                false => format!("What can be: {}.", found.into_iter().collect::<Vec<_>>().join(", ")),
            },
        ));
    }
    draft.by(by.clone(), Body::RiskAccepted { waiver, said: order.said() })?;
    Ok(Outcome::Done)
}

/// What stands against the content by rules that may be accepted.
fn found(draft: &Draft<'_>) -> BTreeSet<String> {
    let merge = merge::judge(&draft.state, draft.world).findings;
    let of = |phase| phase::judge(phase, &draft.state, draft.world).findings;
    let phases: Vec<_> = match draft.state.flow {
        FlowName::Pipeline => [Phase::Build, Phase::Reconcile, Phase::Verify].into_iter().flat_map(of).collect(),
        FlowName::Merge | FlowName::Task => Vec::new(),
    };
    let all = merge.into_iter().chain(phases).filter(|finding| finding.blocks() && !finding.waiting);
    all.filter_map(|finding| acceptable(&finding.rule).ok()).map(str::to_owned).collect()
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

/// Notes what is over by now.
pub(super) fn end(draft: &mut Draft<'_>, happened: &[Happened]) -> Result<(), Refusal> {
    let now = happened.iter().find_map(|one| match one {
        Happened::Now { at } => Some(*at),
        _ => None,
    });
    let Some(now) = now.filter(|_| draft.state.open) else { return Ok(()) };
    let over: Vec<u64> =
        draft.state.risks().filter(|one| !one.over && one.waiver.ends() <= now).map(|one| one.seq).collect();
    for of in over {
        draft.bot(Body::RiskOver { of })?;
    }
    Ok(())
}

/// `RULE … --owner NAME --ticket TICKET --until YYYY-MM-DD REASON`.
fn read(args: &str, at: Timestamp, commands: &Commands) -> Result<Waiver, Refusal> {
    let today = at.to_zoned(TimeZone::UTC).date();
    let example_day = today.checked_add(30.days()).unwrap_or(today);
    let example = format!(
        "Write it as `{} BLD-07 --owner NAME --ticket OPS-12 --until {example_day} REASON`.",
        commands.written("risk-accept")
    );
    let wrong = |says: String| Refusal::new("CMD-05", says, example.clone());
    let incomplete =
        |what: &str| Refusal::new("waiver_incomplete", format!("a risk is accepted with {what}."), example.clone());
    let mut rules = BTreeSet::new();
    let (mut owner, mut ticket, mut until) = (None, None, None);
    let mut words = args.split_whitespace().peekable();
    while let Some(word) = words.next_if(|word| !word.starts_with("--")) {
        for rule in word.split(',').filter(|rule| !rule.is_empty()) {
            rules.insert(known(rule, &example, commands)?);
        }
    }
    if rules.is_empty() || rules.len() > MOST_RULES {
        return Err(wrong(format!("it begins with one to {MOST_RULES} rules.")));
    }
    while let Some(option) = words.next_if(|word| word.starts_with("--")) {
        let (name, given) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, words.next_if(|word| !word.starts_with("--"))),
        };
        let slot = match name {
            "--owner" => &mut owner,
            "--ticket" => &mut ticket,
            "--until" => &mut until,
            _ => return Err(wrong(format!("what {} is for is not known.", quoted(name)))),
        };
        let value = given.filter(|value| !value.is_empty()).ok_or_else(|| wrong(format!("`{name}` has no value.")))?;
        if slot.replace(value).is_some() {
            return Err(wrong(format!("`{name}` is there twice.")));
        }
    }
    let reason = words.collect::<Vec<_>>().join(" ");
    let owner = owner.ok_or_else(|| incomplete("an owner (`--owner`), who answers for it"))?;
    if !is_account(owner) {
        return Err(wrong(format!("{} is nobody's name.", quoted(owner))));
    }
    let ticket = ticket.ok_or_else(|| incomplete("a ticket (`--ticket`), where it is followed"))?;
    let follows = ticket.chars().any(char::is_alphanumeric) && ticket.chars().count() <= LONGEST_TICKET;
    if !follows || ["tbd", "todo", "none", "n/a"].contains(&ticket.to_lowercase().as_str()) {
        return Err(incomplete("a ticket that can be looked up"));
    }
    let until = until.ok_or_else(|| incomplete("a day on which it ends (`--until`)"))?;
    let until: Date = until.parse().map_err(|_| wrong(format!("{} is no day.", quoted(until))))?;
    if until < today {
        let says = format!("{until} is in the past: that risk would have been accepted for no day.");
        return Err(Refusal::new("waiver_expired", says, example));
    }
    if today.checked_add(LONGEST.days()).is_ok_and(|last| until > last) {
        return Err(wrong(format!("{until} is more than {LONGEST} days from now.")));
    }
    if !reason.chars().any(char::is_alphanumeric) {
        return Err(incomplete("a reason"));
    }
    Ok(Waiver { rules, owner: owner.trim_start_matches('@').to_owned(), ticket: ticket.to_owned(), until, reason })
}

fn known(rule: &str, example: &str, commands: &Commands) -> Result<String, Refusal> {
    let refusal = |code: &str, says: String, next: &str| Err(Refusal::new(code, says, next));
    match acceptable(rule) {
        Ok(rule) => Ok(rule.to_owned()),
        Err(Never::Security) => refusal(
            "risk_accepted_security",
            format!("{} is about security, and nobody accepts that.", quoted(rule)),
            "Mend it and push. A finding that is none is answered where it was found.",
        ),
        Err(Never::Cheat) => refusal(
            "MRG-04",
            format!("{} is a cheat or may hide one, and nobody accepts that.", quoted(rule)),
            &format!(
                "Put back what was changed; a test that has to be another is accepted by `{}`.",
                commands.written("refreeze")
            ),
        ),
        Err(Never::Other) => refusal(
            "CMD-05",
            format!("{} is no rule whose risk can be accepted.", quoted(rule)),
            &format!("These can be: {}. {example}", ACCEPTABLE.join(", ")),
        ),
    }
}

/// Somebody's login, or a team's name.
fn is_account(name: &str) -> bool {
    let name = name.strip_prefix('@').unwrap_or(name);
    let part = |part: &str| {
        (1..=100).contains(&part.len())
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
    };
    name.split('/').count() <= 2 && name.split('/').all(part)
}
