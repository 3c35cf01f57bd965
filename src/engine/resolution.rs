//! `/resolve ACTION` and its payload: a fenced block of YAML behind the command's line, read as strictly as a policy.
//!
//! Whoever gets it wrong is told what is wrong and shown a whole command, to be filled in with their own words; nothing else happens.

use std::collections::BTreeMap;

use super::command::{Fence, Given, Spec, Verb, says_nothing};
use super::decide::{Draft, Order};
use super::verbs::not_now;
use crate::finding::quoted;
use crate::flow::Refusal;
use crate::gate::expand;
use crate::gate::paper::ids;
use crate::gate::people::May;
use crate::ledger::By;
use crate::ledger::escalation::{Ending, Escalation};
use crate::ledger::resolution::{Module, NewTask, Remedy, Resolution, in_order, offered};
use crate::policy::{Commands, Decoder, Fields, Problem, Spot, strictly};

/// The longest text, in characters.
const LONGEST_TEXT: usize = 4_000;
/// The longest name, identifier or path.
const LONGEST_NAME: usize = 200;
const MOST_CRITERIA: usize = 50;
const MOST_TASKS: usize = 20;
const MOST_MODULES: usize = 50;
const MOST_FILES: usize = 20;
/// What is repeated to somebody whose own payload is not taken for another head.
const LONGEST_REPEATED: usize = 2_000;
/// More of what is wrong is not told at once.
const MOST_PROBLEMS: usize = 3;

/// What a payload looks like that is taken. Empty: it needs none.
fn sample(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::ApproveOverride => "rationale: \"Why it may go on.\"\n",
        Remedy::AmendSpec => {
            "amended_acceptance_criteria:\n  - \"AC-1: What must be true now.\"\namendment_rationale: \"Why the criteria changed.\"\n"
        }
        Remedy::SplitTask => {
            "new_tasks:\n  - name: \"The first part\"\n    description: \"What it does.\"\n    acceptance_criteria: [\"What must be true of it.\"]\n    \
             depends_on: []\n  - name: \"The second part\"\n    description: \"What it does.\"\n    acceptance_criteria: [\"What must be true of it.\"]\n    \
             depends_on: [\"The first part\"]\n"
        }
        Remedy::RevisePlan => {
            "revised_micro_plan:\n  - module_id: \"reader\"\n    description: \"What it does.\"\n    depends_on: []\n  - module_id: \"writer\"\n    \
             description: \"What it does.\"\n    depends_on: [\"reader\"]\n"
        }
        Remedy::ProvideFix => {
            "fix_description: \"What the fix does, and why.\"\nfix_artifacts:\n  \"src/example.py\": |\n    print(\"the whole file as it is to be\")\n"
        }
        Remedy::AbandonTask => "rationale: \"Why it is not needed any more.\"\n",
        Remedy::Continue => "",
    }
}

/// A fence that nothing in the text closes.
fn fence_for(text: &str) -> String {
    let longest = text.lines().map(|line| line.trim_start().chars().take_while(|c| *c == '`').count()).max();
    "`".repeat(longest.unwrap_or(0).max(2) + 1)
}

/// A whole command, ready to copy.
fn written(command: &str, head: Option<&str>, remedy: &str, payload: &str) -> String {
    let head = head.map(|head| format!("{head} ")).unwrap_or_default();
    if payload.is_empty() {
        return format!("{command} {head}{remedy}");
    }
    let fence = fence_for(payload);
    format!("{command} {head}{remedy}\n{fence}yaml\n{payload}{fence}")
}

/// A whole command of this kind. It is taken once the words that only whoever answers knows stand in it.
pub(crate) fn example(commands: &Commands, head: Option<&str>, remedy: Remedy) -> String {
    written(&commands.written("resolve"), head, remedy.as_str(), sample(remedy))
}

/// How what shows an example ends.
fn filled(remedy: Remedy) -> &'static str {
    if sample(remedy).is_empty() { ":" } else { ", with your own words in it:" }
}

/// The present head, as it is written behind a command.
fn head(draft: &Draft<'_>) -> Option<String> {
    draft.state.subject.as_ref().map(|about| about.head.short().to_owned())
}

/// Adds to a refusal for another head what its author gave, with the head that is there.
pub(super) fn for_this_head(refusal: Refusal, draft: &Draft<'_>, given: &Given, commands: &Commands) -> Refusal {
    // A head that is too short to be one stands among the words.
    let args = given.args.get(given.short_head.as_ref().map_or(0, String::len)..).unwrap_or_default();
    let mut words = args.split_whitespace();
    let word = words.next().unwrap_or_default();
    // Where the words are all of it, they stand in the refusal already.
    let Some(payload) = given.payload.as_ref().filter(|_| words.next().is_none()) else { return refusal };
    let head = head(draft);
    let own = payload.text.len() <= LONGEST_REPEATED;
    let (example, how) = match named(word) {
        _ if own => (written(&commands.written("resolve"), head.as_deref(), word, &payload.text), ":"),
        Some(remedy) => (example(commands, head.as_deref(), remedy), filled(remedy)),
        None => return refusal,
    };
    let next = format!(
        "Look at the new content, and if it still stands, say it again with the head behind the command's name{how}"
    );
    Refusal { next, ..refusal }.with_example(example)
}

/// Adds to a refusal for who said it a command that somebody else may give. What a person gave who may not decide is not put
/// into the bot's mouth, ready to be copied by those who may.
pub(super) fn for_another(
    refusal: Refusal,
    draft: &Draft<'_>,
    spec: &Spec,
    given: &Given,
    commands: &Commands,
) -> Refusal {
    let Some(open) = draft.state.escalation.as_ref().filter(|_| spec.verb == Verb::Resolve) else { return refusal };
    let can = offered(&draft.state, open, draft.world.bot_may_commit());
    let word = given.args.split_whitespace().next().unwrap_or_default();
    let meant = named(word).map(|named| same_letter(named, word, &can)).filter(|named| can.contains(named));
    let Some(remedy) = meant.or(can.first().copied()) else { return refusal };
    let theirs = match remedy {
        Remedy::Continue => format!(" `{}` is for everybody with write access.", commands.written("continue")),
        _ => String::new(),
    };
    let next = format!("{}{theirs} It is written like this{}", refusal.next, filled(remedy));
    Refusal { next, ..refusal }.with_example(example(commands, head(draft).as_deref(), remedy))
}

/// The kind that a word names: its name, or its letter.
fn named(word: &str) -> Option<Remedy> {
    let word = word.trim_matches(|c: char| matches!(c, '(' | ')' | ':' | '.' | ','));
    let is_it = |remedy: &Remedy| {
        let mut letter = [0; 4];
        remedy.as_str().eq_ignore_ascii_case(&word.replace('-', "_"))
            || remedy.letter().encode_utf8(&mut letter).eq_ignore_ascii_case(word)
    };
    Remedy::ALL.into_iter().find(is_it)
}

/// The option that the reason begins with, where it does. `A` is a word as well.
fn second(text: &str) -> Option<Remedy> {
    let word = text.split_whitespace().next()?;
    let letter = word.len() == 1;
    named(word).filter(|_| !letter || word != "A" && word.chars().all(char::is_uppercase))
}

/// What is offered, as people are told.
fn listed(offered: &[Remedy]) -> String {
    offered.iter().map(|one| format!("{} `{one}`", one.letter())).collect::<Vec<_>>().join(", ")
}

/// The resolution that a command gives, or why there is none.
pub(super) fn given(draft: &Draft<'_>, order: &Order, commands: &Commands) -> Result<Resolution, Refusal> {
    let given = &order.given;
    answerable(draft, order, commands)?;
    let Some(open) = &draft.state.escalation else { return Err(not_now(draft, commands)) };
    let can = offered(&draft.state, open, draft.world.bot_may_commit());
    // A head that is too short to be one is refused as such.
    let args = match &given.short_head {
        Some(short) => given.args.get(short.len()..).unwrap_or_default().trim_start(),
        None => &given.args,
    };
    let (word, text) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
    let text = text.trim();
    let recommended = can.first().copied().unwrap_or(Remedy::AbandonTask);
    let show = |remedy: Remedy| example(commands, head(draft).as_deref(), remedy);
    let takes =
        |says: String, next: String, remedy: Remedy| Refusal::new("CMD-05", says, next).with_example(show(remedy));
    if word.is_empty() {
        let says = format!("it takes one of the options of this stop: {}.", listed(&can));
        return Err(takes(says, format!("Write it like this{}", filled(recommended)), recommended));
    }
    let Some(remedy) = named(word).map(|named| same_letter(named, word, &can)) else {
        let near = near(word, &can);
        let meant = near.map(|near| format!(" Did you mean `{near}`?")).unwrap_or_default();
        let short: String = word.chars().take(60).collect();
        let says = format!("there is no option {}.{meant} This stop offers {}.", quoted(&short), listed(&can));
        let shown = near.unwrap_or(recommended);
        return Err(takes(says, format!("Write it like this{}", filled(shown)), shown));
    };
    if !can.contains(&remedy) {
        let says = format!(
            "`{remedy}` is not offered here: {}. This stop offers {}.",
            why_not(draft, open, remedy),
            listed(&can)
        );
        let next = format!("Answer by one of these, for example{}", filled(recommended));
        return Err(Refusal::new("CMD-03", says, next).with_example(show(recommended)));
    }
    if remedy == Remedy::ProvideFix && !May::Move.allows(order.standing) {
        let says = "`PROVIDE_FIX` writes to the branch, so it is for those with write access.";
        let next = format!(
            "Ask one of them, or push it as a pull request of your own; or answer by another option, for example{}",
            filled(recommended)
        );
        return Err(Refusal::new("CMD-02", says, next).with_example(show(recommended)));
    }
    let wrong = |says: String| takes(says, format!("`{remedy}` is written like this{}", filled(remedy)), remedy);
    if let Some(other) = second(text).filter(|other| *other != remedy) {
        return Err(wrong(format!("it names two options, `{remedy}` and `{other}`, and one is taken.")));
    }
    let resolution = match (&given.payload, text.is_empty()) {
        // What somebody shows behind their words is no payload.
        (Some(fence), false) if remedy.takes_one_text() && !is_yaml(fence) => {
            of_one_text(remedy, text).map_err(wrong)?
        }
        (Some(_), false) => {
            return Err(wrong(
                "words stand on its line and a block behind it, and it takes one of the two.".to_owned(),
            ));
        }
        (Some(fence), true) => payload(remedy, fence).map_err(wrong)?,
        (None, false) if remedy.takes_one_text() => of_one_text(remedy, text).map_err(wrong)?,
        (None, true) if remedy == Remedy::Continue => Resolution::Continue { rationale: None },
        (None, _) => {
            let needs = fields(remedy).iter().map(|field| format!("`{field}`")).collect::<Vec<_>>().join(" and ");
            return Err(wrong(format!(
                "{needs} {} missing. It takes a fenced block of YAML right behind the command's line; one in a quote, in a \
                 list or below other words is not read.",
                if fields(remedy).len() == 1 { "is" } else { "are" }
            )));
        }
    };
    if let Some(words) = unfilled(&resolution) {
        return Err(wrong(format!("{} are the words of the example. Put your own in their place.", quoted(words))));
    }
    if let (Resolution::ProvideFix { .. }, Some(why)) = (&resolution, &order.no_fix) {
        return Err(wrong(format!("these files change nothing that can be committed: {why}.")));
    }
    Ok(resolution)
}

/// What stands in the examples for words that only whoever answers knows.
pub(crate) const PLACEHOLDERS: &[&str] = &[
    "Why it may go on.",
    "Why it is not needed any more.",
    "AC-1: What must be true now.",
    "Why the criteria changed.",
    "What must be true of it.",
    "What it does.",
    "What the fix does, and why.",
    "print(\"the whole file as it is to be\")",
];

/// The words of an example that nobody has put others in place of. Carried out, they would be committed, opened as tasks and asked
/// for as criteria.
fn unfilled(resolution: &Resolution) -> Option<&str> {
    let texts: Vec<&str> = match resolution {
        Resolution::ApproveOverride { rationale } | Resolution::AbandonTask { rationale } => vec![rationale],
        Resolution::Continue { rationale } => rationale.iter().map(String::as_str).collect(),
        Resolution::AmendSpec { amended_acceptance_criteria: criteria, amendment_rationale } => {
            criteria.iter().chain([amendment_rationale]).map(String::as_str).collect()
        }
        Resolution::SplitTask { new_tasks } => {
            let each = new_tasks.iter();
            each.flat_map(|task| [&task.description].into_iter().chain(&task.acceptance_criteria))
                .map(String::as_str)
                .collect()
        }
        Resolution::RevisePlan { revised_micro_plan } => {
            revised_micro_plan.iter().map(|module| module.description.as_str()).collect()
        }
        Resolution::ProvideFix { fix_description, fix_artifacts } => {
            [fix_description].into_iter().chain(fix_artifacts.values()).map(String::as_str).collect()
        }
    };
    texts.into_iter().map(str::trim).find(|text| PLACEHOLDERS.iter().any(|words| bare(words) == bare(text)))
}

/// A text by its letters and digits.
fn bare(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// The files that a command gives for the branch, where it can be read.
pub fn fix_of(given: &Given) -> Option<BTreeMap<String, String>> {
    let fence = given.payload.as_ref().filter(|_| given.spec.is_some_and(|spec| spec.verb == Verb::Resolve))?;
    let remedy = given.args.split_whitespace().next().and_then(named)?;
    match payload(remedy, fence) {
        Ok(Resolution::ProvideFix { fix_artifacts, .. }) => Some(fix_artifacts),
        _ => None,
    }
}

/// Two kinds share the letter A, and a stop offers one of them.
fn same_letter(named: Remedy, word: &str, can: &[Remedy]) -> Remedy {
    let by_letter = word.trim_matches(|c: char| !c.is_ascii_alphanumeric()).len() == 1;
    let other = can.iter().find(|one| one.letter() == named.letter());
    other.copied().filter(|_| by_letter).unwrap_or(named)
}

fn why_not(draft: &Draft<'_>, open: &Escalation, remedy: Remedy) -> &'static str {
    let merged = draft.state.merged.is_some();
    match remedy {
        _ if merged => "it is merged, so what is to change now needs a pull request of its own",
        Remedy::Continue => "it ends a stepped wait, and this is none",
        Remedy::ApproveOverride => "nothing is wrong, it only waits",
        Remedy::RevisePlan if draft.state.pipeline.is_none() => "the merge flow has no design to go back to",
        Remedy::RevisePlan => "there is no design yet",
        Remedy::ProvideFix if draft.world.pull.fork => "the branch is a fork's, and the bot writes to none",
        Remedy::ProvideFix if !draft.world.bot_may_commit() => "the bot may not write to the branch here",
        Remedy::ProvideFix if open.cause == crate::ledger::escalation::Cause::Brake => {
            "a design that was outgrown is not mended by more files"
        }
        Remedy::ProvideFix | Remedy::SplitTask => "nothing is wrong, it only waits",
        Remedy::AmendSpec | Remedy::AbandonTask => "it can't be done now",
    }
}

fn near(word: &str, can: &[Remedy]) -> Option<Remedy> {
    if word.len() < 4 || word.len() > 40 {
        return None;
    }
    let word = word.to_ascii_uppercase().replace('-', "_");
    let close = can.iter().map(|one| (strsim::damerau_levenshtein(one.as_str(), &word), *one));
    close.filter(|(distance, one)| *distance <= 4 && distance * 3 < one.as_str().len()).min().map(|(_, one)| one)
}

/// `CMD-03`: what was answered before is not answered again. Who it was, when and how is said.
fn answerable(draft: &Draft<'_>, order: &Order, commands: &Commands) -> Result<(), Refusal> {
    let (state, on) = (&draft.state, order.comment.number);
    let asked_here = state.escalation.as_ref().is_some_and(|open| open.issue == Some(on));
    let over_here = state.escalated.iter().rfind(|one| one.issue == Some(on)).filter(|_| !asked_here);
    let last = state.escalated.last().filter(|_| state.escalation.is_none());
    let Some(over) = over_here.or(last) else { return Ok(()) };
    let Some(end) = &over.ended else { return Ok(()) };
    let by_whom = match &end.by {
        By::Person { person, .. } => quoted(&person.login),
        By::Bot | By::Workflow(_) | By::Runner(_) => "the bot".to_owned(),
    };
    let how = match (&over.settled, end.how) {
        (Some(settled), _) => format!("{by_whom} answered it with `{}`", settled.resolution.remedy()),
        (None, Ending::Lifted) => format!("{by_whom} let it go on"),
        (None, Ending::Rescoped) => format!("{by_whom} sent it back to its scope"),
        (None, Ending::Replanned) => format!("{by_whom} sent it back to its design"),
        (None, Ending::GivenUp) => format!("{by_whom} gave the change up"),
        // Nobody has answered it: what it asked is over. On the pull request the usual word is better.
        (None, _) if over_here.is_some() => "it is not asked any more".to_owned(),
        (None, _) => return Ok(()),
    };
    // What was said a line above in the same comment has no time yet.
    let when = end.at.filter(|at| *at > jiff::Timestamp::UNIX_EPOCH);
    let since = if how.ends_with("any more") { ", since" } else { " on" };
    let when = when.map(|at| format!("{since} {}", at.strftime("%Y-%m-%d at %H:%M UTC"))).unwrap_or_default();
    let why = end.reason.as_deref().map(|reason| {
        let short: String = reason.chars().take(100).collect();
        format!(": {}", quoted(&short))
    });
    let says = format!("this stop is over: {how}{when} (record {}){}.", end.seq, why.unwrap_or_default());
    let example = |on: String, open: &Escalation| {
        let can = offered(state, open, draft.world.bot_may_commit());
        let first = can.first().copied().unwrap_or(Remedy::AbandonTask);
        let next = format!("Another stop is open. Answer it {on}, for example{}", filled(first));
        Refusal::new("CMD-03", says.clone(), next).with_example(self::example(commands, head(draft).as_deref(), first))
    };
    Err(match &state.escalation {
        Some(open) => match open.issue {
            Some(issue) => example(format!("in #{issue}"), open),
            None => example(format!("on {}", state.change), open),
        },
        None if end.how == Ending::GivenUp && state.merged.is_none() => {
            Refusal::new("CMD-03", says, "Reopening the pull request takes it up again.")
        }
        None => Refusal::new("CMD-03", says, not_now(draft, commands).next),
    })
}

fn fields(remedy: Remedy) -> &'static [&'static str] {
    match remedy {
        Remedy::ApproveOverride | Remedy::AbandonTask | Remedy::Continue => &["rationale"],
        Remedy::AmendSpec => &["amended_acceptance_criteria", "amendment_rationale"],
        Remedy::SplitTask => &["new_tasks"],
        Remedy::RevisePlan => &["revised_micro_plan"],
        Remedy::ProvideFix => &["fix_description", "fix_artifacts"],
    }
}

fn of_one_text(remedy: Remedy, text: &str) -> Result<Resolution, String> {
    if says_nothing(text) {
        return Err("its reason says nothing.".to_owned());
    }
    let rationale = text.to_owned();
    match remedy {
        Remedy::ApproveOverride => Ok(Resolution::ApproveOverride { rationale }),
        Remedy::AbandonTask => Ok(Resolution::AbandonTask { rationale }),
        Remedy::Continue => Ok(Resolution::Continue { rationale: Some(rationale) }),
        _ => Err("it takes more than one text.".to_owned()),
    }
}

/// Whether a block says of itself that it is YAML.
fn is_yaml(fence: &Fence) -> bool {
    matches!(fence.info.to_ascii_lowercase().as_str(), "yaml" | "yml")
}

/// Reads the block, or says what is wrong with it.
fn payload(remedy: Remedy, fence: &Fence) -> Result<Resolution, String> {
    if fence.more {
        return Err("two blocks stand behind it, and it takes one.".to_owned());
    }
    if !fence.closed {
        return Err("its block is not closed, so something may be missing from it.".to_owned());
    }
    if !fence.info.is_empty() && !is_yaml(fence) {
        let info: String = fence.info.chars().take(40).collect();
        return Err(format!("its block is marked as {}, and it is read as YAML.", quoted(&info)));
    }
    if fence.text.trim().is_empty() && remedy != Remedy::Continue {
        return Err("its block is empty.".to_owned());
    }
    match strictly(&fence.text, |d, root| read(d, root, remedy)) {
        Ok(Some(resolution)) => Ok(resolution),
        Ok(None) => Err("its block can't be read.".to_owned()),
        Err(problems) => Err(told(&problems)),
    }
}

/// What is wrong, the first of it, each with its line in the block.
fn told(problems: &[Problem]) -> String {
    let one = |problem: &Problem| {
        let place = if problem.path.is_empty() { String::new() } else { format!("`{}`: ", problem.path) };
        format!("line {}: {place}{}{}", problem.line, problem.says, if problem.says.ends_with('?') { "" } else { "." })
    };
    let mut said: Vec<String> = problems.iter().take(MOST_PROBLEMS).map(one).collect();
    if problems.len() > MOST_PROBLEMS {
        said.push(format!("And {} more.", problems.len() - MOST_PROBLEMS));
    }
    format!("its block is not what it takes: {}", said.join(" "))
}

fn read(d: &mut Decoder, root: &Spot<'_>, remedy: Remedy) -> Option<Resolution> {
    let keys = fields(remedy);
    let f = d.map(root, keys, &[])?;
    if remedy == Remedy::Continue {
        let rationale = match f.get("rationale") {
            Some(spot) => Some(words(d, spot, LONGEST_TEXT)?),
            None => None,
        };
        return Some(Resolution::Continue { rationale });
    }
    for key in keys {
        need(d, root, &f, key);
    }
    let before = d.problems.len();
    let read = match remedy {
        Remedy::ApproveOverride => Resolution::ApproveOverride { rationale: text(d, &f, "rationale")? },
        Remedy::AbandonTask => Resolution::AbandonTask { rationale: text(d, &f, "rationale")? },
        Remedy::AmendSpec => {
            let criteria =
                f.get("amended_acceptance_criteria").and_then(|s| texts(d, s, "criteria", 1..=MOST_CRITERIA));
            let rationale = text(d, &f, "amendment_rationale");
            Resolution::AmendSpec { amended_acceptance_criteria: criteria?, amendment_rationale: rationale? }
        }
        Remedy::SplitTask => Resolution::SplitTask { new_tasks: tasks(d, f.get("new_tasks")?)? },
        Remedy::RevisePlan => Resolution::RevisePlan { revised_micro_plan: modules(d, f.get("revised_micro_plan")?)? },
        Remedy::ProvideFix => {
            let description = text(d, &f, "fix_description");
            let files = f.get("fix_artifacts").and_then(|s| files(d, s));
            Resolution::ProvideFix { fix_description: description?, fix_artifacts: files? }
        }
        Remedy::Continue => return None,
    };
    (d.problems.len() == before).then_some(read)
}

/// A field that must be there.
fn need(d: &mut Decoder, of: &Spot<'_>, f: &Fields<'_>, key: &str) {
    if f.get(key).is_none() {
        let path = if of.path.is_empty() { key.to_owned() } else { format!("{}.{key}", of.path) };
        d.problem(of.at(), &path, "it is missing", format!("Add `{key}:`"));
    }
}

fn text(d: &mut Decoder, f: &Fields<'_>, key: &str) -> Option<String> {
    words(d, f.get(key)?, LONGEST_TEXT)
}

/// A text that says something.
fn words(d: &mut Decoder, spot: &Spot<'_>, most: usize) -> Option<String> {
    let text = d.text(spot)?.trim();
    if says_nothing(text) {
        let says = if text.is_empty() { "it is empty" } else { "it says nothing" };
        d.problem(spot.at(), &spot.path, says, "Write what it is to say");
        return None;
    }
    if text.chars().count() > most {
        d.problem(spot.at(), &spot.path, format!("it has more than {most} characters"), "Say it shorter");
        return None;
    }
    Some(text.to_owned())
}

/// The same in one line.
fn name(d: &mut Decoder, spot: &Spot<'_>) -> Option<String> {
    let text = words(d, spot, LONGEST_NAME)?;
    if text.chars().any(char::is_control) {
        d.problem(spot.at(), &spot.path, "it has more than one line", "Write it in one line");
        return None;
    }
    if !text.contains(char::is_alphanumeric) {
        d.problem(spot.at(), &spot.path, "it has neither a letter nor a digit", "Call it by a word");
        return None;
    }
    Some(text)
}

fn enough(d: &mut Decoder, spot: &Spot<'_>, count: usize, least: usize) -> bool {
    if count < least {
        d.problem(spot.at(), &spot.path, "the list is empty", "Give at least one");
    }
    count >= least
}

/// Texts, none of them twice.
fn texts(d: &mut Decoder, spot: &Spot<'_>, of: &str, many: std::ops::RangeInclusive<usize>) -> Option<Vec<String>> {
    let items = d.items(spot, of, *many.end())?;
    if !enough(d, spot, items.len(), *many.start()) {
        return None;
    }
    let mut list: Vec<String> = Vec::new();
    for item in &items {
        let Some(text) = words(d, item, 1_000) else { continue };
        if !text.contains(char::is_alphanumeric) {
            d.problem(item.at(), &item.path, "it has neither a letter nor a digit", "Say it in words");
        } else if !expand::criterion_says(&text) || says_nothing(after_identifier(&text)) {
            d.problem(item.at(), &item.path, "it says nothing", "Write what is to be so");
        }
        if list.contains(&text) {
            d.problem(item.at(), &item.path, "this stands in the list twice", "Remove one of the two");
        }
        list.push(text);
    }
    Some(list)
}

/// A criterion without its identifier.
fn after_identifier(text: &str) -> &str {
    ids::after_leading(text).trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ':' | '-' | '–' | '—'))
}

/// What something depends on: names, and never itself.
fn depends_on(d: &mut Decoder, f: &Fields<'_>, own: Option<&str>) -> Option<Vec<String>> {
    let spot = f.get("depends_on")?;
    let mut list: Vec<String> = Vec::new();
    for item in d.items(spot, "names", MOST_MODULES)? {
        let Some(text) = name(d, &item) else { continue };
        if Some(text.as_str()) == own {
            d.problem(item.at(), &item.path, "it depends on itself", "Remove it");
        }
        list.push(text);
    }
    Some(list)
}

fn unknown(d: &mut Decoder, item: &Spot<'_>, name: Option<&String>, what: &str) {
    let Some(name) = name else { return };
    let says = format!("it depends on {}, which is no {what}", quoted(name));
    d.problem(item.at(), &format!("{}.depends_on", item.path), says, "Name one that is, or add it");
}

const OF_A_TASK: &[&str] = &["name", "description", "acceptance_criteria", "depends_on"];

fn tasks(d: &mut Decoder, spot: &Spot<'_>) -> Option<Vec<NewTask>> {
    let items = d.items_like(spot, "tasks", MOST_TASKS, |text| format!("`- name: {text}`"))?;
    if !enough(d, spot, items.len(), 1) {
        return None;
    }
    let mut list: Vec<NewTask> = Vec::new();
    for item in &items {
        let Some(f) = d.map(item, OF_A_TASK, &[]) else { continue };
        for key in OF_A_TASK {
            need(d, item, &f, key);
        }
        let own = f.get("name").and_then(|s| name(d, s));
        if let Some(own) = &own
            && list.iter().any(|one| one.name.eq_ignore_ascii_case(own))
        {
            d.problem(item.at(), &item.path, "two tasks have this name", "Give each its own");
        }
        let description = text(d, &f, "description");
        let criteria = f.get("acceptance_criteria").and_then(|s| texts(d, s, "criteria", 1..=MOST_CRITERIA));
        let depends_on = depends_on(d, &f, own.as_deref());
        if let (Some(name), Some(description), Some(acceptance_criteria), Some(depends_on)) =
            (own, description, criteria, depends_on)
        {
            list.push(NewTask { name, description, acceptance_criteria, depends_on });
        }
    }
    let names: Vec<&str> = list.iter().map(|one| one.name.as_str()).collect();
    let whole = d.problems.is_empty();
    for (item, task) in items.iter().zip(&list).filter(|_| whole) {
        let is_issue = |name: &str| name.strip_prefix('#').is_some_and(|number| number.parse::<u64>().is_ok());
        let strange = task.depends_on.iter().find(|name| !is_issue(name) && !names.contains(&name.as_str()));
        unknown(d, item, strange, "task of this list, nor an issue (`#12`)");
    }
    if d.problems.is_empty() && in_order(&list, |one| &one.name, |one| &one.depends_on).is_none() {
        d.problem(
            spot.at(),
            &spot.path,
            "the tasks wait for each other",
            "Let one of them depend on none of the others",
        );
    }
    Some(list)
}

const OF_A_MODULE: &[&str] = &["module_id", "description", "depends_on"];

fn modules(d: &mut Decoder, spot: &Spot<'_>) -> Option<Vec<Module>> {
    let items = d.items_like(spot, "modules", MOST_MODULES, |text| format!("`- module_id: {text}`"))?;
    if !enough(d, spot, items.len(), 1) {
        return None;
    }
    let mut list: Vec<Module> = Vec::new();
    for item in &items {
        let Some(f) = d.map(item, OF_A_MODULE, &[]) else { continue };
        for key in OF_A_MODULE {
            need(d, item, &f, key);
        }
        let own = f.get("module_id").and_then(|s| name(d, s));
        if let Some(own) = &own
            && list.iter().any(|one| one.module_id == *own)
        {
            d.problem(item.at(), &item.path, "two modules have this id", "Give each its own");
        }
        let description = text(d, &f, "description");
        let depends_on = depends_on(d, &f, own.as_deref());
        if let (Some(module_id), Some(description), Some(depends_on)) = (own, description, depends_on) {
            list.push(Module { module_id, description, depends_on });
        }
    }
    let names: Vec<&str> = list.iter().map(|one| one.module_id.as_str()).collect();
    let whole = d.problems.is_empty();
    for (item, module) in items.iter().zip(&list).filter(|_| whole) {
        unknown(d, item, module.depends_on.iter().find(|name| !names.contains(&name.as_str())), "module of this plan");
    }
    if d.problems.is_empty() && in_order(&list, |one| &one.module_id, |one| &one.depends_on).is_none() {
        d.problem(
            spot.at(),
            &spot.path,
            "the modules wait for each other",
            "Let one of them depend on none of the others",
        );
    }
    Some(list)
}

fn files(d: &mut Decoder, spot: &Spot<'_>) -> Option<BTreeMap<String, String>> {
    let entries = d.entries(spot, "files, each by its path", MOST_FILES)?;
    if entries.is_empty() {
        d.problem(spot.at(), &spot.path, "there is no file", "Give at least one, as `path: contents`");
        return None;
    }
    let mut files = BTreeMap::new();
    for (path, item) in entries {
        if let Some(flaw) = unsafe_path(path) {
            d.problem(
                item.key,
                &format!("{}[{path}]", spot.path),
                flaw,
                "Name a file by its path from the root of the repository",
            );
        }
        let Some(contents) = d.text(&item) else { continue };
        files.insert(path.to_owned(), contents.to_owned());
    }
    for path in files.keys().filter(|path| !path.is_empty()) {
        let below = format!("{path}/");
        if files.keys().any(|other| other.starts_with(&below)) {
            d.problem(spot.at(), &spot.path, format!("`{path}` is both a file and a folder"), "Rename one of them");
            break;
        }
    }
    Some(files)
}

/// What keeps a path from being a file of the repository that the bot may write.
fn unsafe_path(path: &str) -> Option<&'static str> {
    let mut parts = path.split('/');
    let odd = |part: &str| {
        let small = part.to_ascii_lowercase();
        part.is_empty()
            || part == "."
            || part == ".."
            || small == ".git"
            || small.starts_with("git~")
            || part.ends_with([' ', '.'])
            || part.len() > 255
    };
    if path.len() > LONGEST_NAME || path.chars().any(|c| c.is_control() || matches!(c, '\\' | ':' | '"')) {
        Some("it is no plain path")
    } else if parts.any(odd) {
        Some("it leaves the repository, or is none of its files")
    } else if path.to_ascii_lowercase().split('/').take(2).eq([".github", "workflows"]) {
        Some("the bot writes no workflows")
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
