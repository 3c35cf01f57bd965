//! Evidence from the trusted workflow and from the server's own runner: runs of the policy's commands that were asked for, and
//! what they came to.
//!
//! A run counts for the content that it was asked for, on the base that it stood on, and the newest that has answered decides. An older red one stays on
//! record, and is told. What a run shows besides failures (fewer tests, tests that prove nothing, an earlier red) a person can
//! agree to, for this content; that a command or a test failed nobody can.

use std::collections::BTreeSet;

use super::Finding;
use super::evidence::{self, Heard};
use crate::finding::{Severity, Verdict, quoted, verdict};
use crate::gate::world::{AskedRun, Asks, World};
use crate::ledger::record::Evidence;
use crate::ledger::state::{Agreed, Answering, Asked, Red, State};
use crate::ledger::{About, By};
use crate::policy::{Policy, Source, Start};

/// The rules of a run that a person can agree to.
pub const AGREEABLE: [&str; 9] =
    ["VER-03", "VER-04", "VER-07", "VER-10", "VER-11", "VER-12", "VER-14", "VER-15", "coverage_decreased"];

/// What a person can say `/agree` to: the same, and where the policy takes people's word, that it works.
pub const SAID: [&str; 10] =
    ["VER-01", "VER-03", "VER-04", "VER-07", "VER-10", "VER-11", "VER-12", "VER-14", "VER-15", "coverage_decreased"];

/// The rules of a run that only VERIFY asks for: what shows the criteria at runtime.
const OF_VERIFY: [&str; 5] = ["VER-02", "VER-03", "VER-04", "VER-07", "VER-14"];

/// The runs that were asked for on the present content where it stands now, oldest first. The same patch on another base is a tree
/// that nobody has run.
pub fn of_this(state: &State, source: Source) -> impl DoubleEndedIterator<Item = &Asked> {
    of_all(state).filter(move |asked| asked.source() == source)
}

fn of_all(state: &State) -> impl DoubleEndedIterator<Item = &Asked> {
    let same = |about: &About, now: &About| (&about.content, &about.base) == (&now.content, &now.base);
    state.asked.iter().filter(move |asked| state.subject.as_ref().is_some_and(|now| same(&asked.about, now)))
}

/// The run that is waited for.
pub fn open(state: &State, source: Source) -> Option<&Asked> {
    of_this(state, source).next_back().filter(|asked| asked.answer.is_none())
}

/// Whether the newest run has come to nothing, or to a red: then another may be asked for.
pub fn is_spent(state: &State, world: &World, source: Source) -> bool {
    match of_this(state, source).next_back() {
        None => true,
        Some(Asked { answer: Some(answer), .. }) => judged(answer, state).1 == Verdict::Fail,
        Some(Asked { answer: None, .. }) => world.offers(source).1.has_ended(),
    }
}

/// Whether a rule of a newest run holds the present content back.
pub fn is_held_back_by(state: &State, rule: &str) -> bool {
    let blocks = |answer: &Answering| judged(answer, state).0.iter().any(|one| one.blocks() && one.rule == rule);
    let newest = |source| of_this(state, source).next_back().and_then(|asked| asked.answer.as_ref());
    Source::ASKED.into_iter().filter_map(newest).any(blocks)
}

/// What the runs show, under this rule of a gate. VERIFY names the runner's own rules.
pub(super) fn heard(source: Source, rule: &str, policy: &Policy, state: &State, world: &World) -> Heard {
    let runs: Vec<&Asked> = of_this(state, source).collect();
    let answered: Vec<(&Asked, &Answering)> =
        runs.iter().filter_map(|asked| Some((*asked, asked.answer.as_ref()?))).collect();
    let mut heard = Heard::default();
    // What the commands run is the head's, so it has to be what the default branch's would be.
    let bent = evidence::bent(named(policy, source), policy, state, world);
    for (at, (asked, answer)) in answered.iter().enumerate() {
        heard.evidence.push(Evidence::Run {
            workflow: asked.workflow.clone(),
            run: answer.by.run,
            attempt: answer.by.attempt,
            log: answer.ran.log.clone(),
            verdict: judged(answer, state).1,
            tests: answer.ran.tests,
            head: asked.about.head.clone(),
            discounted: match &bent {
                _ if at + 1 < answered.len() => Some("a newer run decides".to_owned()),
                Some((why, _)) => Some(why.clone()),
                None => None,
            },
        });
    }
    match runs.last() {
        None => heard.findings.push(unasked(source, rule, policy, world)),
        Some(asked) if asked.answer.is_none() => heard.findings.push(waits(rule, policy, world, asked)),
        Some(_) => {
            let Some((_, newest)) = answered.last() else { return heard };
            let (found, _) = judged(newest, state);
            heard.findings.extend(found.into_iter().map(|finding| told(rule, policy, finding)));
            heard.findings.extend(before(source, rule, state, newest));
            if let Some((why, next)) = bent {
                let says = format!("Run {} on {} does not count: {why}.", newest.by.run, world.pull.head.short());
                heard.findings.push(Finding::error(rule, says, next));
            }
        }
    }
    heard
}

/// What somebody who may approve says of the content that is there, having tried it.
pub fn word(state: &State) -> Option<&Agreed> {
    let content = state.subject.as_ref().map(|about| &about.content);
    state.agreed.iter().rev().find(|one| one.rule == "VER-01" && Some(&one.content) == content)
}

/// The same as evidence, under this rule of a gate.
pub(super) fn tried(rule: &str, policy: &Policy, state: &State, world: &World) -> Heard {
    let head = world.pull.head.clone();
    let said = word(state).and_then(|agreed| match &agreed.by {
        By::Person { person, role } => {
            let (by, role, says) = (person.clone(), role.clone(), agreed.reason.clone());
            Some(Evidence::Word { by, role, says, head: head.clone() })
        }
        By::Bot | By::Workflow(_) | By::Runner(_) => None,
    });
    match said {
        Some(word) => Heard { evidence: vec![word], findings: Vec::new() },
        None => {
            let says = format!("Nobody who may approve has said yet that {} works.", head.short());
            let next = format!(
                "Somebody who may approve and neither wrote nor pushed it tries it, and says `{} VER-01 WHAT THEY DID AND SAW`.",
                policy.commands.written("agree")
            );
            Heard { evidence: Vec::new(), findings: vec![Finding::waiting(rule, says, next)] }
        }
    }
}

/// What was found of a run, less what a person has agreed to, and what that comes to.
fn judged(answer: &Answering, state: &State) -> (Vec<Finding>, Verdict) {
    let content = state.subject.as_ref().map(|about| &about.content);
    let agreed = |rule: &str| {
        state.agreed.iter().find(|one| one.rule == rule && Some(&one.content) == content && AGREEABLE.contains(&rule))
    };
    let findings: Vec<Finding> = answer
        .ran
        .findings
        .iter()
        .map(|finding| match agreed(&finding.rule).filter(|_| finding.blocks()) {
            Some(by) => accepted(finding, by),
            None => finding.clone(),
        })
        .collect();
    let verdict = verdict(&findings);
    (findings, verdict)
}

pub(super) fn accepted(finding: &Finding, agreed: &Agreed) -> Finding {
    let who = match &agreed.by {
        By::Person { person, .. } => quoted(&person.login),
        By::Bot | By::Workflow(_) | By::Runner(_) => "the bot".to_owned(),
    };
    Finding {
        severity: Severity::Warning,
        says: format!("{} {who} has agreed to it: {}", finding.says, quoted(&agreed.reason)),
        next: "Nothing: that is for this content alone.".to_owned(),
        ..finding.clone()
    }
}

/// A finding of the run, as this gate tells it.
fn told(rule: &str, policy: &Policy, mut finding: Finding) -> Finding {
    if !rule.starts_with("VER-") && OF_VERIFY.contains(&finding.rule.as_str()) {
        finding.severity = Severity::Warning;
    }
    let mut next = finding.next.clone();
    if finding.blocks() && AGREEABLE.contains(&finding.rule.as_str()) {
        let command = policy.commands.written("agree");
        next.push_str(&format!(
            " Where it is meant so, somebody who may approve and neither wrote nor pushed it says `{command} {} REASON`.",
            finding.rule
        ));
    }
    match rule.starts_with("VER-") {
        true => Finding { next, ..finding },
        false => {
            Finding { says: format!("{}: {}", finding.rule, finding.says), rule: rule.to_owned(), next, ..finding }
        }
    }
}

/// `VER-13`: a newer run does not take a red one back, and a red one that was kept from answering is not forgotten either: whoever
/// can write can cancel a run, start it again, or open another pull request.
fn before(source: Source, rule: &str, state: &State, newest: &Answering) -> Vec<Finding> {
    let rule = if rule.starts_with("VER-") { "VER-13" } else { rule };
    let mut found = Vec::new();
    let content = state.subject.as_ref().map(|about| &about.content);
    let same = |red: &&Red| red.content.as_ref() == content && red.workflow_run != newest.by.run;
    let mut red: BTreeSet<u64> = state.reds.iter().filter(same).map(|red| red.workflow_run).collect();
    // One that the App did not start can be run again, and answer under another nonce.
    let attempts = of_this(state, source).filter_map(|asked| asked.answer.as_ref());
    let earlier = attempts.filter(|one| one.by.run == newest.by.run && one.by.attempt < newest.by.attempt);
    let earlier: Vec<&Answering> = earlier.collect();
    if earlier.iter().any(|one| verdict(&one.ran.findings) == Verdict::Fail) {
        red.insert(newest.by.run);
    }
    if content.is_some() && !red.is_empty() {
        let runs: Vec<String> = red.iter().map(u64::to_string).collect();
        found.push(Finding::warning(
            rule,
            format!("The same content was red before, in run {}.", runs.join(", ")),
            "Find out why. A later green does not take that back.",
        ));
    }
    let says = match of_this(state, source).filter(|asked| asked.answer.is_none()).count() {
        0 => None,
        1 => Some("A run of the same content was asked for before, and has not answered.".to_owned()),
        many => Some(format!("{many} runs of the same content were asked for before, and have not answered.")),
    };
    let again = (newest.by.attempt as usize > 1 + earlier.len()).then(|| {
        let (run, attempt) = (newest.by.run, newest.by.attempt);
        format!("Run {run} has answered at attempt {attempt}. What came of it before was not told.")
    });
    let look = match source {
        Source::Runner => {
            "Whoever hosts the server looks into its log why: a run can be ended before it tells of a red."
        }
        _ => "Look into Actions why: who can write can cancel a run before it tells of a red.",
    };
    found.extend(says.into_iter().chain(again).map(|says| Finding::warning(rule, says, look)));
    found
}

/// Who is asked, as the records have it.
pub fn named(policy: &Policy, source: Source) -> &str {
    match source {
        Source::Runner => Source::Runner.as_str(),
        _ => &policy.gates.verify.workflow,
    }
}

/// The same at the beginning of a sentence.
fn who(asked: &Asked) -> String {
    match asked.source() {
        Source::Runner => "The server's own runner".to_owned(),
        _ => quoted(&asked.workflow),
    }
}

fn unasked(source: Source, rule: &str, policy: &Policy, world: &World) -> Finding {
    let (again, head) = (policy.commands.written("verify"), world.pull.head.short());
    match world.offers(source).0 {
        Asks::Yes => {}
        Asks::NoRunner => {
            return Finding::error(
                rule,
                "The policy takes evidence from `runner`, and this server runs nothing of this repository.",
                "Whoever hosts it names the repository in PHASEGATE_RUNNER; or take it from the trusted workflow: \
                 `from: [actions]`.",
            );
        }
        Asks::NoServer => {
            return Finding::error(
                rule,
                "The policy takes evidence from `runner`, which is a server's own, and as an Action there is no server.",
                "Take it from the trusted workflow: `from: [actions]`.",
            );
        }
        Asks::Beyond(what) => {
            return Finding::error(
                rule,
                format!("The policy gives the commands {what}, and this server's own runner does not."),
                "Take that out of the policy, or whoever hosts the server allows it (PHASEGATE_RUNNER_READ, \
                 PHASEGATE_RUNNER_NETWORK); or take the evidence from the trusted workflow: `from: [actions]`.",
            );
        }
        Asks::NoAddress => {
            return Finding::error(
                rule,
                "The policy takes evidence from `actions`, and this server does not know where a run could answer it.",
                "Whoever runs it sets PHASEGATE_PUBLIC_URL to the address that GitHub's runners reach it at.",
            );
        }
    }
    let starts_by_itself = source == Source::Actions && policy.gates.verify.start == Start::WorkflowRun;
    if world.pull.fork && !starts_by_itself {
        return Finding::waiting(
            rule,
            format!("The commands have not run on {head}: it comes from a fork, so nothing of it is run unasked."),
            format!("Someone with write access looks at what it changes, and says `{again}`."),
        );
    }
    Finding::waiting(
        rule,
        format!("The commands have not run on {head} yet."),
        "Nothing to do: the run is asked for when its turn comes.",
    )
}

fn at(page: &str) -> String {
    if page.is_empty() { String::new() } else { format!(" at {page}") }
}

fn waits(rule: &str, policy: &Policy, world: &World, asked: &Asked) -> Finding {
    let (who, head) = (who(asked), world.pull.head.short());
    let again = policy.commands.written("verify");
    let run = world.offers(asked.source()).1;
    let starts_by_itself = asked.source() == Source::Actions && policy.gates.verify.start == Start::WorkflowRun;
    let another = match starts_by_itself {
        true => "run the workflow that it follows again in Actions".to_owned(),
        false => format!("say `{again}` for another run"),
    };
    let (says, next) = match run {
        AskedRun::Refused(why) => (
            format!("{who} could not be started: {}.", quoted(why)),
            format!(
                "See that it is on `{}` as the template has it, with `workflow_dispatch` and its inputs, and that the App may \
                 write Actions; then say `{again}`.",
                world.default_branch
            ),
        ),
        AskedRun::Seen { ended: Some(_), refused: Some(why), .. } => {
            (why.clone(), format!("When that is mended, {another}."))
        }
        AskedRun::Seen { run, page, ended: Some(ended), refused: None } => (
            format!("Run {run} of {who} ended as {} without an answer for {head}.", quoted(ended)),
            format!("Read its log{}, mend what it names, and {another}.", at(page)),
        ),
        // Whether it has begun is Actions' to show: a look that finds it there has nothing new to record.
        AskedRun::Seen { ended: None, .. } | AskedRun::Unseen if starts_by_itself => (
            format!("{who} has not answered for {head}."),
            "It starts when a workflow that it names under `workflow_run` has ended on that commit. Where that was before, \
             run that one again in Actions."
                .to_owned(),
        ),
        AskedRun::Seen { ended: None, .. } | AskedRun::Unseen => (
            format!("{who} is asked to run the commands on {head}."),
            "Nothing to do: it is judged when the run answers.".to_owned(),
        ),
    };
    Finding::waiting(rule, says, next)
}
