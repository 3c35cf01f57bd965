//! What a change remembers: slices, their scope, the steps after a FAIL, audits, and snapshots that agents push.
//!
//! None of it moves the change. It says what the work is and what is known of it; the gates hold the work against it. While an
//! audit is asked for, nothing else is carried out but what people decide: whoever is stuck does not get out by trying once
//! more.

use std::collections::BTreeSet;

use super::command::{self, Spec, Verb};
use super::decide::{Draft, Happened, Order};
use crate::finding::{Finding, quoted};
use crate::flow::Refusal;
use crate::gate::memory::{self, ENDS_A_ROW};
use crate::gate::people::May;
use crate::ledger::memory::{Audit, Memory, concludes, is_nothing};
use crate::ledger::record::Outcome;
use crate::ledger::snapshot::{self, Action, Cap, FactId, SliceId};
use crate::ledger::{Body, By};
use crate::policy::Commands;

/// Whether this person may decide about the change, and has no hand in it.
fn decides(draft: &Draft<'_>, order: &Order) -> bool {
    let operator = draft.state.operators.iter().any(|person| person.id == order.comment.author.id);
    let solo = draft.world.policy().is_some_and(|policy| policy.people.solo);
    May::Approve.allows(order.standing) && (!operator || solo)
}

/// Whether what was pushed just now may hand in a verifier's report: to push to a branch of the repository takes write access, as
/// the command does, and the word of a bot is none.
fn may_report(draft: &Draft<'_>, happened: &[Happened]) -> bool {
    let mut pushers = happened.iter().filter_map(|one| match one {
        Happened::Pushed(person) => Some(person),
        _ => None,
    });
    let first = pushers.next().is_some_and(|person| !person.bot);
    first && pushers.all(|person| !person.bot) && !draft.world.pull.fork
}

/// Takes in the snapshot that an agent has pushed, where it follows from the latest one.
pub(super) fn take_in(draft: &mut Draft<'_>, happened: &[Happened]) -> Result<(), Refusal> {
    let Some(memory) = draft.state.memory.as_ref().filter(|_| draft.state.open) else { return Ok(()) };
    let Some(subject) = &draft.world.subject else { return Ok(()) };
    let next = memory.latest.iteration + 1;
    if memory::twice(&subject.context, next).is_some() {
        return Ok(());
    }
    let files = subject.context.there.iter().filter(|(_, file)| file.number == next);
    let taken = files.filter_map(|(path, file)| match (&file.text, &file.blob) {
        (Some(Ok(text)), Some(blob)) => memory::claim(&draft.state, path, text, blob).ok(),
        _ => None,
    });
    // The gates show what is wrong with the others.
    match taken.into_iter().next() {
        Some(mut taken) => {
            if !may_report(draft, happened) {
                taken.report.clear();
            }
            if taken.slice_id != memory.latest.slice_id || !memory.is_declared() && taken.cap.is_declared() {
                taken.begun = Some(memory::begun(subject));
            }
            draft.bot(Body::Remembered(Box::new(taken)))
        }
        None => Ok(()),
    }
}

/// Whether nothing may go on, because an audit is owed.
pub(super) fn is_held(draft: &Draft<'_>) -> bool {
    draft.state.audit_owed().is_some()
}

/// `SNP-10`: what is carried out while an audit is owed.
pub(super) fn held(draft: &Draft<'_>, spec: &Spec, order: &Order, commands: &Commands) -> Result<(), Refusal> {
    let Spec { verb, may, .. } = *spec;
    let passes = verb == Verb::Slice && decides(draft, order)
        || matches!(
            verb,
            Verb::Help | Verb::Status | Verb::Explain | Verb::Audit | Verb::Drop | Verb::Stop | Verb::Link
        )
        || may == May::Approve;
    let Some(audit) = draft.state.audit_owed().filter(|_| !passes) else { return Ok(()) };
    let next = match audit.facts.is_empty() {
        true => format!(
            "A verifier looks at it and hands the report in: `{}`, with the report below it.",
            commands.written("audit")
        ),
        false => format!(
            "Say what of the report plans may rest on: `{} promote {}`, or push a snapshot that has it.",
            commands.written("audit"),
            audit.facts.iter().next().map(ToString::to_string).unwrap_or_default()
        ),
    };
    Err(Refusal::new(
        "SNP-10",
        format!(
            "{} has failed its gate {} times in a row, and a verifier's audit is owed before anything else.",
            audit.slice_id,
            audit.asked.map_or(0, |kind| audit.fails.of(kind))
        ),
        next,
    ))
}

fn no_memory() -> Refusal {
    Refusal::new("CMD-03", "nothing is remembered of this change yet.", "Push its content first.")
}

fn remembered<'d>(draft: &'d Draft<'_>) -> Result<&'d Memory, Refusal> {
    draft.state.memory.as_ref().ok_or_else(no_memory)
}

fn usage(says: impl Into<String>, example: String) -> Refusal {
    Refusal::new("CMD-05", says, format!("Write it as `{example}`."))
}

/// `"WHAT"`, with the marks of any keyboard; or all of it up to the next option.
fn quoted_text(text: &str) -> (String, &str) {
    let text = text.trim_start();
    let marks = [('"', '"'), ('“', '”'), ('„', '“'), ('«', '»'), ('\'', '\'')];
    for (open, close) in marks {
        if let Some(rest) = text.strip_prefix(open) {
            // A mark of another kind at the end is a keyboard's.
            let end = rest.find(|c| c == close || (open != '\'' && c == '"'));
            if let Some(end) = end {
                let after = rest[end..].chars().next().map_or("", |c| &rest[end + c.len_utf8()..]);
                return (snapshot::line(&rest[..end]), after);
            }
        }
    }
    match text.find("--scope") {
        Some(at) => (snapshot::line(&text[..at]), &text[at..]),
        None => (snapshot::line(text), ""),
    }
}

fn slice_number(word: &str) -> Option<SliceId> {
    let digits = word.strip_prefix(['S', 's'])?.strip_prefix('-')?;
    digits.parse().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit())).map(SliceId)
}

fn read_cap(text: &str, example: String) -> Result<Cap, Refusal> {
    let cap = Cap::declared(text)
        .map_err(|why| Refusal::new("SNP-07", format!("that is no scope cap: {why}."), example.clone()))?;
    let of_the_usage = cap.within.iter().chain(&cap.without).any(|glob| glob == "GLOBS");
    match cap.says.trim_end_matches('.') {
        "WHY" | "WHAT" => Err(Refusal::new("SNP-07", "that is no scope cap: its sentence is missing.", example)),
        _ if of_the_usage => {
            Err(Refusal::new("SNP-07", "that is no scope cap: `GLOBS` is to be replaced by globs.", example))
        }
        says if is_nothing(says) => {
            Err(Refusal::new("SNP-07", "that is no scope cap: its sentence says nothing.", example))
        }
        _ => Ok(cap),
    }
}

/// `/slice "WHAT" --scope "CAP"` begins one; `/slice S-0001 "WHAT"` says what a known one is in other words.
pub(super) fn slice(draft: &mut Draft<'_>, order: &Order, by: &By, commands: &Commands) -> Result<Outcome, Refusal> {
    let memory = remembered(draft)?;
    let written = commands.written("slice");
    let example =
        format!("{written} \"Parse dates with a zone\" --scope \"The parser. in: src/parser/**, tests/** out: none\"");
    let args = order.given.args.trim();
    let first = args.split_whitespace().next().unwrap_or_default();
    let (named, rest) = match slice_number(first) {
        Some(id) => (Some(id), args[first.len()..].trim_start()),
        None => (None, args),
    };
    let (what, rest) = quoted_text(rest);
    let rest = rest.trim();
    let cap = match rest.strip_prefix("--scope") {
        Some(cap) => {
            let (text, more) = quoted_text(cap.trim_start_matches('='));
            if !more.trim().is_empty() {
                return Err(usage(format!("what {} is for is not known.", quoted(more.trim())), example));
            }
            Some(read_cap(&text, format!("Write it as `{example}`."))?)
        }
        None if rest.is_empty() => None,
        None => return Err(usage(format!("what {} is for is not known.", quoted(rest)), example)),
    };
    if snapshot::sentence(&what).is_none() || what == "WHAT" {
        return Err(usage("what the slice is, in one sentence, is missing.", example));
    }
    rests(memory, &what, commands)?;
    if what.chars().count() > 300 {
        return Err(usage("a slice is one sentence of at most 300 characters.", example));
    }
    let latest = &memory.latest;
    let id = match named {
        Some(id) if id == latest.slice_id => id,
        Some(id) => {
            return Err(Refusal::new(
                "SNP-05",
                format!("the slice is {}, not {id}.", latest.slice_id),
                format!("Say it of {}, or leave the number out to begin another.", latest.slice_id),
            ));
        }
        // The first one has its number, and waits for its words.
        None if !memory.is_declared() && memory.last_slice == 1 => latest.slice_id,
        None => SliceId(memory.last_slice + 1),
    };
    if named.is_none() && cap.is_none() {
        return Err(usage("a slice begins with its scope cap: `--scope` is missing.", example));
    }
    if id != latest.slice_id
        && !decides(draft, order)
        && let Err(why) = memory::may_begin(memory)
    {
        return Err(Refusal::new(
            "SNP-06",
            why,
            format!("{ENDS_A_ROW} Other words for this one: `{written} {} \"WHAT\"`.", latest.slice_id),
        ));
    }
    let begins = id != latest.slice_id || !memory.is_declared() && cap.is_some();
    let subject = draft.world.subject.as_ref().filter(|_| begins);
    let begun = subject.map(|subject| Box::new(memory::begun(subject)));
    draft.by(by.clone(), Body::Sliced { id, slice: what, cap, begun })?;
    Ok(Outcome::Done)
}

/// `/scope CAP` revises what the slice may touch.
pub(super) fn scope(draft: &mut Draft<'_>, order: &Order, by: &By, commands: &Commands) -> Result<Outcome, Refusal> {
    let memory = remembered(draft)?;
    let example = format!(
        "Write it as `{} The parser and its tests. in: src/parser/**, tests/** out: src/parser/generated/**`.",
        commands.written("scope")
    );
    let args = order.given.args.trim();
    let (text, rest) = quoted_text(args);
    let whole = if rest.trim().is_empty() { text } else { format!("{text} {rest}") };
    let cap = read_cap(&whole, example)?;
    if !memory.is_declared() {
        return Err(Refusal::new(
            "SNP-05",
            "there is no declared slice whose scope could be revised.",
            format!("Begin one: `{} \"WHAT\" --scope \"{cap}\"`.", commands.written("slice")),
        ));
    }
    if memory.latest.cap == cap {
        return Err(Refusal::new("CMD-03", "that is the scope cap already.", "Nothing: it is recorded."));
    }
    draft.by(by.clone(), Body::Scoped { cap })?;
    Ok(Outcome::Done)
}

/// `/ladder fix-forward|re-scout|re-plan REASON` says how it goes on after a FAIL.
pub(super) fn ladder(draft: &mut Draft<'_>, order: &Order, by: &By, commands: &Commands) -> Result<Outcome, Refusal> {
    let memory = remembered(draft)?;
    let example = format!("{} re-scout the zone table is not where the plan has it", commands.written("ladder"));
    let (word, reason) = order.given.args.split_once(char::is_whitespace).unwrap_or((&order.given.args, ""));
    let Some(action) = Action::parse(word) else {
        return Err(usage(format!("the ladder has fix-forward, re-scout and re-plan, not {}.", quoted(word)), example));
    };
    let reason = snapshot::line(reason);
    if reason.is_empty() {
        return Err(usage("the reason is missing.", example));
    }
    if !memory.latest.fails.any() {
        return Err(Refusal::new(
            "CMD-03",
            format!("no gate of {} has failed since it last passed.", memory.latest.slice_id),
            "The ladder is for after a FAIL.",
        ));
    }
    let cited = snapshot::cited(&reason);
    rests(memory, &reason, commands)?;
    let audited = memory.audited.any();
    let grounded = cited.iter().any(|id| memory.concluded.contains(id));
    if audited && cited.is_empty() {
        return Err(Refusal::new(
            "SNP-08",
            "after an audit the next step rests on what is in the Consolidated Context, and this cites nothing of it.",
            format!("Name the fact it rests on: `{} {} F-0001 WHY`.", commands.written("ladder"), action.step()),
        ));
    }
    draft.by(by.clone(), Body::Laddered { action, reason, grounded, told: true })?;
    Ok(Outcome::Done)
}

/// `SNP-08`: what is said rests on facts of the Consolidated Context alone.
fn rests(memory: &Memory, text: &str, commands: &Commands) -> Result<(), Refusal> {
    let loose = snapshot::cited(text).into_iter().find_map(|id| Some((id, memory::loose(memory, id, commands)?)));
    match loose {
        Some((id, (why, next))) => Err(Refusal::new("SNP-08", format!("it rests on {id}, {why}."), next)),
        None => Ok(()),
    }
}

/// `/audit` alone says what is asked for; with a report below it, hands that in; `/audit promote F-0001 …` lets plans rest on facts.
pub(super) fn audit(draft: &mut Draft<'_>, order: &Order, by: &By, commands: &Commands) -> Result<Outcome, Refusal> {
    let memory = remembered(draft)?;
    let written = commands.written("audit");
    let args = order.given.args.trim();
    let (first, rest) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
    if first.eq_ignore_ascii_case("promote") {
        return promote(draft, rest, by, &written);
    }
    if !args.is_empty() {
        return Err(usage(
            format!("it takes `promote` and facts, or nothing and the report below it, not {}.", quoted(first)),
            format!("{written} promote F-0001"),
        ));
    }
    let text = below(&order.comment.body, &order.given.name, commands);
    if text.trim().is_empty() {
        return Ok(Outcome::Answered);
    }
    if !May::Move.allows(order.standing) {
        return Err(Refusal::new(
            "CMD-02",
            format!("a report is taken from {}; your role is {}.", May::Move.who(), order.standing.role.as_str()),
            "Ask one of them to hand it in.",
        ));
    }
    let there = |audit: &Audit| audit.facts.iter().any(|id| memory.latest.is_evidence(*id));
    if let Some(audit) = memory.audit.as_ref().filter(|audit| audit.asked.is_some() && there(audit)) {
        let facts: Vec<String> = audit.facts.iter().map(ToString::to_string).collect();
        return Err(Refusal::new(
            "CMD-03",
            "a report was handed in, and nothing of it is in the Consolidated Context yet.",
            format!("Say what plans may rest on: `{written} promote {}`, or some of them.", facts.join(" ")),
        ));
    }
    let mut report = memory::report(&text).map_err(|found| refused(&found))?;
    // A report may quote what a person gave. The mark of that is the bot's, and does not come along.
    for line in report.lines.iter_mut().filter(|line| snapshot::is_marked_as_given(line)) {
        *line = snapshot::without_mark(line);
    }
    if let Some(found) = memory::undiagnosed(&report).filter(|_| draft.state.audit_owed().is_some()) {
        return Err(refused(&[found]));
    }
    if !memory.has_room_for(&report.lines) {
        return Err(Refusal::new(
            "SNP-14",
            format!(
                "a snapshot has at most {} bytes, and the Consolidated Context leaves no room for this report.",
                snapshot::LARGEST
            ),
            format!(
                "Say it shorter, or push `{}` first with a Consolidated Context that is distilled to what plans rest on.",
                snapshot::path_of(draft.state.change, memory.latest.iteration + 1)
            ),
        ));
    }
    draft.by(by.clone(), Body::Audited { lines: report.lines })?;
    Ok(Outcome::Done)
}

/// All that is wrong with a report, as one answer.
fn refused(found: &[Finding]) -> Refusal {
    const TOLD: usize = 6;
    let mut says: Vec<String> = found.iter().take(TOLD).map(|finding| finding.says.clone()).collect();
    says.extend(found.len().checked_sub(TOLD).filter(|more| *more > 0).map(|more| format!("And {more} more.")));
    let first = found.first();
    let rule = first.map_or("SNP-14", |finding| finding.rule.as_str());
    Refusal::new(rule, says.join(" "), first.map(|finding| finding.next.clone()).unwrap_or_default())
}

fn promote(draft: &mut Draft<'_>, facts: &str, by: &By, written: &str) -> Result<Outcome, Refusal> {
    let memory = remembered(draft)?;
    let example = format!("{written} promote F-0001");
    let cited: BTreeSet<FactId> = snapshot::cited(facts).into_iter().collect();
    if cited.is_empty() {
        return Err(usage("the facts are missing.", example));
    }
    for id in &cited {
        if memory.latest.is_consolidated(*id) {
            return Err(Refusal::new(
                "CMD-03",
                format!("{id} is in the Consolidated Context already."),
                "Leave it out.",
            ));
        }
        if !memory.latest.is_evidence(*id) {
            let there: Vec<String> =
                memory.latest.evidence.iter().rev().take(8).map(|fact| fact.id.to_string()).collect();
            let there = if there.is_empty() {
                "The evidence is empty.".to_owned()
            } else {
                format!("There are {}.", there.join(", "))
            };
            return Err(Refusal::new("SNP-08", format!("there is no fact {id} in the evidence."), there));
        }
        let said = memory.latest.evidence.iter().find(|fact| fact.id == *id).map(|fact| fact.text.as_str());
        if said.is_some_and(|said| said.starts_with("Audit, ") && !concludes(said)) {
            return Err(Refusal::new(
                "SNP-08",
                format!("{id} is a report's verdict, or says that there is nothing to say: no plan can rest on it."),
                "Promote what the report found: its diagnosis, a mismatch, a gap.",
            ));
        }
    }
    if memory.latest.context.len() + cited.len() > snapshot::MOST_FACTS {
        return Err(Refusal::new("CMD-03", "the Consolidated Context is full.", "Push a snapshot that distils it."));
    }
    draft.by(by.clone(), Body::Promoted { facts: cited })?;
    Ok(Outcome::Done)
}

/// What a comment says below the line with this command. Other commands there are carried out, and are no part of it.
fn below(body: &str, name: &str, commands: &Commands) -> String {
    let is_it = |line: &&str| line.to_ascii_lowercase().contains(name) && line.trim_start().starts_with('/');
    let is_said = |line: &&str| command::parse(line, |line| commands.strip(line)).iter().all(|one| one.spec.is_none());
    let mut lines = body.lines().skip_while(|line| !is_it(line));
    lines.next();
    lines.filter(is_said).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_in_any_marks_is_one() {
        for text in [
            "\"a b\" --scope x",
            "“a b” --scope x",
            "'a b' --scope x",
            "a b --scope x",
            "«a b» --scope x",
            "„a b“ --scope x",
        ] {
            let (what, rest) = quoted_text(text);
            assert_eq!((what.as_str(), rest.trim()), ("a b", "--scope x"), "{text}");
        }
    }

    #[test]
    fn the_words_of_the_usage_are_no_slice_and_no_reason() {
        use crate::engine::kit::Game;
        use crate::ids::Role;
        for (said, rule) in [
            ("/slice \"WHAT\" --scope \"The parser. in: src/**\"", "CMD-05"),
            ("/slice \"Dates\" --scope \"WHY in: src/**\"", "SNP-07"),
            ("/slice \"Dates\" --scope \"The parser. in: GLOBS out: GLOBS\"", "SNP-07"),
            ("/slice \"Dates\" --scope \"TBD in: src/**\"", "SNP-07"),
            ("/stop REASON", "CMD-05"),
            ("/stop TBD", "CMD-05"),
            ("/stop None.", "CMD-05"),
        ] {
            let mut game = Game::pipeline();
            let refusal = game.says("ada", Role::Write, said).refused_with(rule).clone();
            let own = rule == "SNP-07"
                || said.starts_with("/slice")
                || refusal.next.ends_with(", with your own words in it.");
            assert!(own, "{said}: {refusal}");
        }
        let mut game = Game::pipeline();
        game.says("ada", Role::Write, "/slice \"Dates\" --scope \"The parser. in: src/**\"").done();
    }

    #[test]
    fn what_stands_below_a_command_is_its_report() {
        let plain = Commands::default();
        assert_eq!(below("Hello\n/audit\n\nVerdict: PASS", "audit", &plain), "\nVerdict: PASS");
        let prefixed = Commands { prefix: "/pg".to_owned() };
        assert_eq!(below("/pg audit\nx\n/status", "audit", &prefixed), "x\n/status", "that is no command here");
        assert_eq!(below("/audit", "audit", &plain), "");
        assert_eq!(below("/audit\n/status\n/explain", "audit", &plain), "", "commands are no report");
        assert_eq!(
            below("/audit\nVerdict: PASS\n/status\n/usr/bin is there", "audit", &plain),
            "Verdict: PASS\n/usr/bin is there"
        );
    }
}
