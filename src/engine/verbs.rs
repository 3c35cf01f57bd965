//! What each command does. Whoever may not give it, or not now, gets a refusal with the rule.

use std::collections::{BTreeMap, BTreeSet};

use super::answer::Answerer;
use super::command::{Args, Given, Spec, Verb, linked_number, rule_and_reason, says_nothing};
use super::decide::{Draft, Order, Shown, Target};
use super::{ask, freeze, heal, late, lease::leave_off, memory, resolution, risk, stop, task};
use crate::finding::{Finding, quoted};
use crate::flow::pipeline::{Beside, rests, waits_for_human, words};
use crate::flow::{Action, Actor, FlowName, Phase, Refusal, Stage};
use crate::gate::aside::{self, Aside};
use crate::gate::asked::{self, AGREEABLE, SAID};
use crate::gate::evidence::{self, strange};
use crate::gate::frozen::tripwire;
use crate::gate::people::{May, who_decides};
use crate::gate::verify;
use crate::gate::weakened;
use crate::gate::world::UNREADABLE;
use crate::ids::{CommitId, Person};
use crate::ledger::record::{Claim, Condition, Froze, Impact, Noted, Outcome, Round};
use crate::ledger::{Body, By, State};
use crate::policy::{Commands, Source};

/// Runs one command on the draft.
pub(super) fn run(draft: &mut Draft<'_>, order: &Order, by: &By, shown: Option<&Shown>) -> Result<Outcome, Refusal> {
    let given = &order.given;
    let commands = draft.world.policy().map(|policy| policy.commands.clone()).unwrap_or_default();
    let Some(spec) = given.spec else {
        let (name, help) = (commands.written(&given.name), commands.written("help"));
        return Err(match given.close_to {
            Some(meant) if given.slash.is_some() && given.name == meant => {
                let slash = given.slash.unwrap_or_default();
                Refusal::new(
                    "CMD-01",
                    format!("its slash is another character, `{slash}` (U+{:04X}).", u32::from(slash)),
                    format!("Write `{name}`, with the slash of the keyboard."),
                )
            }
            // A mark behind the name.
            Some(meant) if given.slash.is_none() && given.name.strip_prefix(meant).is_some() => {
                let mark = given.name[meant.len()..].chars().next().unwrap_or_default();
                Refusal::new(
                    "CMD-01",
                    format!(
                        "behind `{}` stands another character, `{mark}` (U+{:04X}).",
                        commands.written(meant),
                        u32::from(mark)
                    ),
                    format!("Write `{}`, and a blank before anything else.", commands.written(meant)),
                )
            }
            Some(meant) => Refusal::new(
                "CMD-01",
                format!("there is no command `{name}`."),
                format!("Did you mean `{}`? `{help}` lists them all.", commands.written(meant)),
            ),
            None => Refusal::new(
                "CMD-01",
                format!("`{name}` is not part of this version."),
                format!("`{help}` lists what is."),
            ),
        });
    };
    entitled(spec, draft, order).map_err(|refusal| resolution::for_another(refusal, draft, spec, given, &commands))?;
    known_in(spec, draft, &commands)?;
    arguments(spec, given, &commands)?;
    memory::held(draft, spec, order, &commands)?;
    let resolution = match spec.verb {
        Verb::Resolve => Some(resolution::given(draft, order, &commands)?),
        _ => None,
    };
    // What holds it back is taken while it is closed, too: closing it and opening it again must not outrun that.
    let holds_back = matches!(spec.verb, Verb::Stop | Verb::Reject);
    if spec.binds && !holds_back && !draft.state.open && draft.state.merged.is_none() {
        return Err(Refusal::new(
            "CMD-03",
            "the pull request is closed.",
            "Reopen it first; what was reached is kept.",
        ));
    }
    // A stop is no judgement of the content: it holds whatever is pushed, and so does one that a push has overtaken.
    if spec.binds && spec.verb != Verb::Stop {
        let seen = seen_head(spec, draft, order, shown, &commands);
        if let (Err(refusal), Verb::Reject) = (&seen, spec.verb) {
            independent(spec, draft, order)?;
            late::overtaken(spec, draft, order, &commands)?;
            return late::outrun(draft, order, by, shown, refusal.clone());
        }
        seen.map_err(|refusal| resolution::for_this_head(refusal, draft, given, &commands))?;
    }
    if spec.verb == Verb::Refreeze {
        seen_files(draft, order, shown, &commands)?;
    }
    independent(spec, draft, order)
        .map_err(|refusal| resolution::for_another(refusal, draft, spec, given, &commands))?;
    late::overtaken(spec, draft, order, &commands)?;
    if let Some(resolution) = resolution {
        let actor = actor(order);
        return Answerer { actor, by, said: order.said(), commands: &commands }.resolve(draft, resolution);
    }
    act(draft, spec, order, by, &commands)
}

/// Whom the policy names to decide is a person, with or without write access.
fn actor(order: &Order) -> Actor {
    if May::Object.allows(order.standing) { Actor::Human } else { Actor::Agent }
}

/// `CMD-02`: who may.
fn entitled(spec: &Spec, draft: &Draft<'_>, order: &Order) -> Result<(), Refusal> {
    if spec.may.allows(order.standing) {
        return Ok(());
    }
    let next = match draft.world.policy().filter(|_| spec.may == May::Approve) {
        Some(policy) => format!("Ask {} to give it.", who_decides(policy, &draft.state.operators)),
        None => "Ask one of them to give it.".to_owned(),
    };
    Err(Refusal::new(
        "CMD-02",
        format!("it is for {}; your role is {}.", spec.may.who(), order.standing.role.as_str()),
        next,
    ))
}

/// `CMD-03`: a phase's command in a flow without phases.
fn known_in(spec: &Spec, draft: &Draft<'_>, commands: &Commands) -> Result<(), Refusal> {
    let flow = draft.state.flow;
    match spec.flow {
        Some(wanted) if !spec.is_known_in(flow, draft.world.policy()) => Err(Refusal::new(
            "CMD-03",
            format!("it belongs to the {wanted} flow, and this repository's flow is {flow}."),
            format!("`{}` lists what can be done here.", commands.written("help")),
        )),
        _ => Ok(()),
    }
}

/// `CMD-05`: what the command takes.
fn arguments(spec: &Spec, given: &Given, commands: &Commands) -> Result<(), Refusal> {
    let usage = spec.usage(&commands.written(spec.name));
    let got: String = given.args.chars().take(60).collect();
    let said = quoted(&got);
    let says = match spec.args {
        Args::None if !given.args.is_empty() => format!("it takes nothing after its name, but got {said}."),
        Args::Required(what) if says_nothing(&given.args) => format!("the {what} is missing."),
        Args::Form(_) if given.args.is_empty() => "it says nothing.".to_owned(),
        Args::OneOf(words) if !words.iter().any(|word| word.eq_ignore_ascii_case(&given.args)) => {
            let words = words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
            if got.is_empty() {
                format!("it takes one of {words}.")
            } else {
                format!("it takes one of {words}, not {said}.")
            }
        }
        // What it takes depends on the stop.
        Args::Choice(_) => return Ok(()),
        Args::Rule(rules, what) => match rule_and_reason(&given.args, rules) {
            Some((_, text)) if says_nothing(text) => format!("the {what} is missing."),
            Some(_) => return Ok(()),
            None if got.is_empty() => format!("it takes one of the rules {}.", rules.join(", ")),
            None => format!("it takes one of the rules {}, not {said}.", rules.join(", ")),
        },
        Args::Number if given.args.is_empty() => "the issue's number is missing.".to_owned(),
        Args::Number if linked_number(&given.args).is_none() => format!("{said} is no issue's number."),
        _ => return Ok(()),
    };
    let own = match spec.args {
        Args::Required(_) | Args::Rule(..) if !given.args.is_empty() => ", with your own words in it",
        _ => "",
    };
    Err(Refusal::new("CMD-05", says, format!("Write it as `{usage}`{own}.")))
}

/// `CMD-05`: an issue that is there, and nobody else's. What was linked first stays where it is.
fn linkable(draft: &Draft<'_>, order: &Order) -> Result<u64, Refusal> {
    let number = order.given.links_to().unwrap_or_default();
    let own = draft.state.change;
    let (says, next) = match order.target {
        Some(Target::Issue { of }) if of.is_none_or(|of| of == own) => return Ok(number),
        Some(Target::Issue { of }) => {
            let of = of.unwrap_or(own);
            (format!("#{number} belongs to {of}."), format!("What is said on it is said on {of}. Link another issue."))
        }
        Some(Target::Pull) => {
            (format!("#{number} is a pull request, and a change of its own."), "Link an issue.".to_owned())
        }
        Some(Target::Nothing) | None => (format!("there is no issue #{number}."), "Check the number.".to_owned()),
    };
    Err(Refusal::new("CMD-05", says, next))
}

/// A text of this length is not repeated in what is ready to copy.
const LONG_ARGS: usize = 200;

/// `CMD-04`: a command counts for the head that its author saw.
fn seen_head(
    spec: &Spec,
    draft: &Draft<'_>,
    order: &Order,
    shown: Option<&Shown>,
    commands: &Commands,
) -> Result<(), Refusal> {
    let Some(head) = draft.state.subject.as_ref().map(|about| about.head.clone()) else { return Ok(()) };
    let given = &order.given;
    let args = match (spec.args, given.args.chars().count()) {
        (_, 0) => String::new(),
        (Args::Optional(what) | Args::Required(what), LONG_ARGS..) => format!(" {}", what.to_uppercase()),
        (Args::Choice(what) | Args::Rule(_, what), LONG_ARGS..) => {
            let option: String = given.args.chars().take_while(|c| !c.is_whitespace()).collect();
            format!(" {option} {}", what.to_uppercase())
        }
        _ => format!(" {}", given.args),
    };
    let again = format!("`{} {}{args}`", commands.written(&given.name), head.short());
    if let Some(short) = &given.short_head {
        let text = given.args.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim_start());
        let text = match (spec.args, text.chars().count()) {
            (Args::Required(what), 0) | (Args::Optional(what) | Args::Required(what), LONG_ARGS..) => {
                format!(" {}", what.to_uppercase())
            }
            (_, 0) => String::new(),
            _ => format!(" {text}"),
        };
        return Err(Refusal::new(
            "CMD-04",
            format!("`{short}` is too short to name a head; 12 digits or more do."),
            format!(
                "Look at the head, and if you mean it, say `{} {}{text}`. If it is text, begin it with another word.",
                commands.written(&given.name),
                head.short()
            ),
        ));
    }
    // What the bot itself has put on top is none of the content.
    let beneath = draft.world.subject.as_ref().map(|subject| subject.beneath.as_slice()).unwrap_or_default();
    let is_head = |seen: &CommitId| *seen == head || beneath.contains(seen);
    // The same commit on another base, or under another policy, is other content: naming the head does not name it.
    let present = draft.state.subject.as_ref().map(|about| &about.content);
    let moved_under =
        shown.is_some_and(|shown| shown.head == head && shown.content.is_some() && shown.content.as_ref() != present);
    if spec.independent && moved_under {
        return Err(Refusal::new(
            "CMD-04",
            "the base, the target or the policy moved under this head before or while this was written.",
            format!("Look at what it is now, and if it still stands, say {again}."),
        ));
    }
    if let Some(named) = &given.head {
        return if [&head].into_iter().chain(beneath).any(|head| head.as_str().starts_with(named.as_str())) {
            Ok(())
        } else {
            Err(Refusal::new(
                "CMD-04",
                format!("it is for {}, and the head is {} now.", &named[..12], head.short()),
                format!("Look at the new content, and if it still stands, say {again}."),
            ))
        };
    }
    // On a linked issue the content is not before one's eyes. The issue of an escalation shows which it is about.
    if spec.independent && order.comment.number != draft.state.change.0 && !on_escalation(draft, order) {
        return Err(Refusal::new(
            "CMD-04",
            format!("here it does not say which content it is for; #{} is at {}.", draft.state.change.0, head.short()),
            format!("Look at #{}, and if it stands, say {again}.", draft.state.change.0),
        ));
    }
    // While there has been only one head, there is nothing to confuse it with; but a decision rests on having seen it:
    // what was pushed between the comment and our first look leaves no trace here.
    if draft.state.heads.len() <= 1 {
        let seen = shown.is_some_and(|shown| is_head(&shown.head) && shown.since <= order.comment.created_at);
        if seen || !spec.independent {
            return Ok(());
        }
    }
    let saw_it = shown.is_some_and(|shown| {
        // GitHub's clock has seconds. Which came first within one is not known, and a decision does not rest on it.
        // An issue that was opened for what is there has shown nothing else.
        let only = on_escalation(draft, order)
            && !draft.state.returned
            && draft.state.escalation.as_ref().is_some_and(|open| open.about == draft.state.subject);
        let after = if spec.independent && !only {
            shown.since < order.comment.created_at
        } else {
            shown.since <= order.comment.created_at
        };
        is_head(&shown.head) && after
    });
    if saw_it {
        return Ok(());
    }
    Err(Refusal::new(
        "CMD-04",
        format!("the head moved to {} before or while this was written.", head.short()),
        format!("Look at the new content, and if it still stands, say {again}."),
    ))
}

/// `CMD-04` for files: what is accepted are those that its author was shown. What moved on the default branch since then
/// may have made others strange, under the same head.
fn seen_files(draft: &Draft<'_>, order: &Order, shown: Option<&Shown>, commands: &Commands) -> Result<(), Refusal> {
    let Some(now) = evidence::print(&draft.state, draft.world) else { return Ok(()) };
    let written = order.comment.created_at;
    let saw = |shown: &Shown| {
        let (files, since) = shown.files.as_ref()?;
        // The list that came with the head was seen with it. Of one that came later it is not known, within a second,
        // which was first.
        (*files == now && (*since < written || (*since == written && *since == shown.since))).then_some(())
    };
    if shown.and_then(saw).is_some() {
        return Ok(());
    }
    let head = draft.state.subject.as_ref().map(|about| format!(" {}", about.head.short())).unwrap_or_default();
    Err(Refusal::new(
        "CMD-04",
        "the files that are to be accepted are not those that were listed when this was written.",
        format!(
            "Look at the list on the pull request as it is now, and if it stands, say there `{}{head} {}`.",
            commands.written("refreeze"),
            order.given.args
        ),
    ))
}

/// Whether it was said on the issue of the escalation that is open.
pub(super) fn on_escalation(draft: &Draft<'_>, order: &Order) -> bool {
    draft.state.escalation.as_ref().is_some_and(|open| open.issue == Some(order.comment.number))
}

/// `CMD-07`: what only someone else may decide.
fn independent(spec: &Spec, draft: &Draft<'_>, order: &Order) -> Result<(), Refusal> {
    let operator = draft.state.operators.iter().any(|person| person.id == order.comment.author.id);
    let solo = draft.world.policy().is_some_and(|policy| policy.people.solo);
    if spec.independent && operator && !solo {
        return Err(Refusal::new(
            "CMD-07",
            "you wrote or pushed to this change, so this is not yours to decide.",
            "Somebody else who may decide gives it. (A single maintainer sets `people.solo: true` in the policy.)",
        ));
    }
    // An approval is counted with one more beside it, and to be against it is everybody's right.
    let counted = matches!(spec.verb, Verb::Approve | Verb::Reject);
    if spec.independent && !counted && !solo && draft.state.operators.iter().any(Person::is_unknown) {
        return Err(Refusal::new(
            "CMD-07",
            "somebody pushed to this change, and GitHub does not tell who: it may have been you, so this is not yours to decide.",
            "Open the same work as another pull request: whoever opens it answers for what is there, and somebody else decides \
             there.",
        ));
    }
    Ok(())
}

pub(super) fn not_now(draft: &Draft<'_>, commands: &Commands) -> Refusal {
    match &draft.state.pipeline {
        Some(pipeline) => {
            // A stop may stand beside a wait.
            let beside = draft.state.stopped.as_ref().filter(|_| pipeline.stage == Stage::SteppedModePaused);
            let stopped = beside.map(|stop| format!(", and is stopped: {}", quoted(&stop.reason)));
            Refusal::new(
                "CMD-03",
                format!("the change stands at “{}”{}.", words(pipeline.stage), stopped.unwrap_or_default()),
                what_can(draft, commands),
            )
        }
        None if draft.state.merged.is_some() => after_the_merge(draft, commands),
        None => Refusal::new(
            "CMD-03",
            "it is neither stopped nor blocked.",
            format!("`{}` says what stands between it and its merge.", commands.written("explain")),
        ),
    }
}

/// `CMD-03`: what is decided about content that is merged.
pub(super) fn after_the_merge(draft: &Draft<'_>, commands: &Commands) -> Refusal {
    Refusal::new("CMD-03", "it is merged.", what_can(draft, commands))
}

fn what_can(draft: &Draft<'_>, commands: &Commands) -> String {
    let stage = draft.state.pipeline.as_ref().map(|pipeline| pipeline.stage);
    // People decide as ever.
    let decides = draft.state.stopped.is_some() || stage.is_some_and(waits_for_human);
    let audit = draft.state.audit_owed().filter(|_| !decides);
    match (possible(&draft.state, commands), audit) {
        (Some(_), Some(audit)) => {
            let written = commands.written("audit");
            match audit.facts.iter().next() {
                None => format!("An audit is owed, and comes first: `{written}` says what it is about."),
                Some(fact) => {
                    format!("An audit is handed in, and comes first: `{written} promote {fact}` lets plans rest on it.")
                }
            }
        }
        (Some(possible), None) => format!("What can: {possible}."),
        (None, _) => "What is to change now needs a pull request of its own.".to_owned(),
    }
}

/// The commands that lead on from where a change stands.
pub(crate) fn possible(state: &State, commands: &Commands) -> Option<String> {
    let names = possible_names(state)?;
    Some(names.iter().map(|name| format!("`{}`", commands.written(name))).collect::<Vec<_>>().join(", "))
}

/// Their names.
pub(crate) fn possible_names(state: &State) -> Option<&'static [&'static str]> {
    use Stage as S;
    let pipeline = state.pipeline.as_ref()?;
    let merged = state.merged.is_some();
    // What was merged before it was through is not judged any more.
    if merged && !rests(pipeline.stage) && pipeline.phase().is_some_and(|phase| phase < Phase::Deploy) {
        return None;
    }
    Some(match pipeline.stage {
        S::PreferencesConfigured => &["expand", "distill", "audit-stack"],
        S::Expanding | S::ExpandRetrying => &["expand", "drop", "stop"],
        S::Designing => &["design", "reconcile", "drop", "stop"],
        S::DesignRetrying => &["design", "drop", "stop"],
        S::Analyzing => &["analyze", "reconcile", "drop", "stop"],
        S::AnalyzeRetrying => &["analyze", "drop", "stop"],
        S::Building => &["build", "reconcile", "drop", "stop"],
        S::BuildRetrying => &["build", "drop", "stop"],
        S::Reviewing | S::ReviewFixing | S::ReviewRetrying => &["review", "approve", "reject", "drop", "stop"],
        S::Reconciling => &["reconcile", "drop", "stop"],
        S::Verifying | S::VerifyFixing | S::VerifyRetrying => &["verify", "drop", "stop"],
        S::Deploying if merged => &["deploy", "drop"],
        S::DeployRetrying if merged => &["deploy", "drop"],
        S::Deploying | S::DeployRetrying => &["deploy", "stop"],
        S::SteppedModePaused if state.stopped.is_some() => &["unblock", "resolve"],
        S::SteppedModePaused => &["continue", "resolve"],
        S::BlockedOnGate => &["unblock", "resolve"],
        S::ComplexityBrakeTriggered => &["brake-resolved", "resolve"],
        S::ReconcileBlocked => &["unblock", "resolve"],
        S::SessionDropped => &["recover"],
        S::Distilling => &["distill", "drop"],
        S::AuditingStack => &["audit-stack", "drop"],
        S::PipelineComplete => &["iterate", "pmf", "distill"],
        S::IterationConfirmed if merged => return None,
        S::Iterating => &["iterate", "drop"],
        S::IterationConfirmed => &["iterate"],
        S::IterationProposed => &["approve", "reject"],
        S::ValidatingPMF => &["pmf"],
        S::Ideating => &["iterate", "distill"],
        _ => &["status"],
    })
}

fn act(draft: &mut Draft<'_>, spec: &Spec, order: &Order, by: &By, commands: &Commands) -> Result<Outcome, Refusal> {
    let given = &order.given;
    let stage = draft.stage();
    let actor = actor(order);
    let refuse = |draft: &Draft<'_>| Err(not_now(draft, commands));
    let needs_content = matches!(spec.verb, Verb::Approve | Verb::Reject | Verb::Stop);
    if needs_content && draft.state.merged.is_some() && stage != Some(Stage::IterationProposed) {
        return Err(after_the_merge(draft, commands));
    }
    let said = order.said();
    let answer = Answerer { actor, by, said, commands };
    let go = |draft: &mut Draft<'_>, action: Action| -> Result<Outcome, Refusal> {
        draft.step(action, actor, by.clone())?;
        draft.settle()?;
        Ok(Outcome::Done)
    };
    match spec.verb {
        Verb::Help | Verb::Status | Verb::Explain => return Ok(Outcome::Answered),
        Verb::Link => {
            let number = linkable(draft, order)?;
            draft.by(by.clone(), Body::Linked { number })?;
        }
        Verb::Approve if stage == Some(Stage::IterationProposed) => {
            if let Some(changes) = wanted(draft, &given.args)? {
                draft.by(by.clone(), Body::Accepted { changes })?;
            }
            return go(draft, Action::ConfirmIteration);
        }
        Verb::Reject if stage == Some(Stage::IterationProposed) => {
            draft.by(by.clone(), Body::Declined { reason: given.args.clone() })?;
            return go(draft, Action::RejectIteration);
        }
        Verb::Approve => {
            if !draft.state.open || draft.state.subject.is_none() {
                return refuse(draft);
            }
            let me = order.comment.author.id;
            let self_approved = draft.state.operators.iter().any(|person| person.id == me);
            let body = Body::Approved { comment: order.comment.id, self_approved, said: Some(said) };
            draft.by(by.clone(), body)?;
        }
        Verb::Reject => {
            if draft.state.merged.is_some() || draft.state.subject.is_none() {
                return refuse(draft);
            }
            late::reject(draft, order, by, BTreeSet::new())?;
        }
        Verb::Stop => {
            if draft.state.merged.is_some() {
                return refuse(draft);
            }
            let condition = Condition::of(&given.args);
            stop::call(
                draft,
                by.clone(),
                stop::Call { said: Some(said), condition, ..stop::Call::new(given.args.clone()) },
            )?;
        }
        Verb::Slice => return memory::slice(draft, order, by, commands),
        Verb::Scope => return memory::scope(draft, order, by, commands),
        Verb::Ladder => return memory::ladder(draft, order, by, commands),
        Verb::Audit => return memory::audit(draft, order, by, commands),
        Verb::Heal => return heal::report(draft, order, by),
        Verb::Task => return task::said(draft, given, by, commands),
        Verb::RiskAccept => return risk::said(draft, order, by, commands),
        Verb::Unblock => return answer.unblock(draft, &given.args),
        Verb::BrakeResolved => return answer.release_brake(draft, &given.args),
        // It has its own way, with what it was given.
        Verb::Resolve => return refuse(draft),
        Verb::Refreeze => {
            if draft.world.subject.is_none() {
                return Err(Refusal::new(
                    "CMD-03",
                    "the content of this change could not be read, so nothing in it can be accepted.",
                    UNREADABLE,
                ));
            }
            // No more than the person was shown.
            let (shown, _) = strange(&draft.state, draft.world);
            let mut paths: BTreeMap<_, _> =
                shown.into_iter().map(|(path, now)| (path.to_owned(), now.blob.clone())).collect();
            let weaker = weakened::open(&draft.state, draft.world);
            paths.extend(weaker.into_iter().map(|(path, now)| (path.to_owned(), now.clone())));
            let tripped = !tripwire(&draft.state, draft.world).is_empty();
            if paths.is_empty() && !tripped {
                return Err(Refusal::new(
                    "CMD-03",
                    "every file that gives the required checks their meaning is as on the default branch, or was accepted, and \
                     what is frozen is as it was, and no test got weaker that has to be accepted.",
                    "There is nothing to accept.",
                ));
            }
            let anew = if tripped { Some(freeze::anew(draft)?) } else { None };
            draft.by(by.clone(), Body::Refrozen { paths, reason: given.args.clone() })?;
            if let Some(sealed) = anew {
                freeze::enter(draft, by.clone(), Froze::Refrozen, &sealed)?;
            }
        }
        Verb::Agree => {
            let Some((rule, reason)) = rule_and_reason(&given.args, &SAID) else { return refuse(draft) };
            let people = draft.world.policy().is_some_and(|policy| policy.gates.verify.has(Source::People));
            if rule == "VER-01" {
                if !people {
                    return Err(Refusal::new(
                        "CMD-03",
                        "the policy takes nobody's word for VER-01.",
                        format!(
                            "Add `people` to `gates.verify.from` on the default branch; of a run, {} can be agreed to.",
                            AGREEABLE.join(", ")
                        ),
                    ));
                }
                if asked::word(&draft.state).is_some() {
                    let says = "somebody has said so of this content before.";
                    return Err(Refusal::new("CMD-03", says, "Nothing: it is recorded."));
                }
            } else if !(asked::is_held_back_by(&draft.state, rule) || rule == "VER-03" && waits_for_a_word(draft)) {
                return Err(Refusal::new(
                    "CMD-03",
                    format!("no run of this content was held back by {rule}."),
                    "There is nothing to agree to.",
                ));
            }
            draft.by(by.clone(), Body::Agreed { rule: rule.to_owned(), reason: reason.to_owned() })?;
        }
        Verb::Claim(Phase::Verify) if draft.state.flow == FlowName::Merge => ask::said(draft, by, commands)?,
        Verb::Claim(phase) => return claim(draft, phase, actor, by, commands),
        Verb::Continue => return answer.go_on(draft),
        Verb::Drop if stage.is_some_and(nobody_works) => return refuse(draft),
        Verb::Drop if !called_off(&draft.state).is_empty() => {
            if stage == Some(Stage::AuditingStack) {
                left_behind(draft, aside::untouched)?;
            }
            for action in called_off(&draft.state) {
                draft.step(action, actor, by.clone())?;
            }
            draft.settle()?;
        }
        Verb::Drop => {
            leave_off(draft)?;
            // In a stage that has no such edge it is recorded, and the stage stays.
            draft.by(by.clone(), Body::Beside { fact: Beside::Dropped })?;
        }
        Verb::Recover if stage == Some(Stage::SessionDropped) => return go(draft, Action::StartContextRecovery),
        Verb::Recover => return refuse(draft),
        Verb::Distill => {
            if stage == Some(Stage::Distilling) {
                left_behind(draft, aside::distilled)?;
            }
            let action = match (stage, draft.state.pipeline.as_ref().and_then(|pipeline| pipeline.return_to)) {
                (Some(Stage::PreferencesConfigured), _) => Action::DistillFromConfigured,
                (Some(Stage::PipelineComplete), _) => Action::DistillFromComplete,
                (Some(Stage::Ideating), _) => Action::DistillFromIdeating,
                (Some(Stage::Distilling), Some(Stage::PipelineComplete)) => Action::DistillCompleteToIterate,
                (Some(Stage::Distilling), Some(Stage::Ideating)) => Action::DistillCompleteToIdeating,
                (Some(Stage::Distilling), _) => Action::DistillCompleteToExpand,
                _ => return refuse(draft),
            };
            go(draft, action)?;
            if stage != Some(Stage::Distilling) {
                note(draft)?;
            }
        }
        Verb::AuditStack => match stage {
            Some(Stage::PreferencesConfigured) => {
                go(draft, Action::AuditStackFromConfigured)?;
                note(draft)?;
            }
            Some(Stage::AuditingStack) => {
                left_behind(draft, aside::audited)?;
                return go(draft, Action::StackAuditComplete);
            }
            _ => return refuse(draft),
        },
        Verb::Iterate => {
            return match stage {
                Some(Stage::PipelineComplete) => go(draft, Action::StartIteration),
                Some(Stage::Ideating) => go(draft, Action::ReenterFromIdeation),
                Some(Stage::Iterating) => {
                    propose(draft, by)?;
                    go(draft, Action::ProposeIteration)
                }
                Some(Stage::IterationConfirmed) if draft.state.merged.is_some() => Err(Refusal::new(
                    "CMD-03",
                    "the round is confirmed, and this pull request is merged.",
                    format!(
                        "Open a pull request for the round's work and say `{}` there.",
                        commands.written(Phase::Expand.as_str())
                    ),
                )),
                Some(Stage::IterationConfirmed) if given.args.eq_ignore_ascii_case("design") || redesigns(draft) => {
                    go(draft, Action::IterateToDesign)
                }
                Some(Stage::IterationConfirmed) => go(draft, Action::IterateDirectToAnalyze),
                _ => refuse(draft),
            };
        }
        Verb::Pmf => {
            return match (stage, given.args.to_ascii_lowercase().as_str()) {
                (Some(Stage::PipelineComplete), "start") => go(draft, Action::StartPMFValidation),
                (Some(Stage::ValidatingPMF), "validated") => go(draft, Action::PMFValidated),
                (Some(Stage::ValidatingPMF), "iterate") => go(draft, Action::PMFNeedsIteration),
                _ => refuse(draft),
            };
        }
    }
    Ok(Outcome::Done)
}

/// What lies beside the phases, or why nothing can be said of it.
fn beside<'w>(draft: &Draft<'w>) -> Result<&'w Aside, Refusal> {
    let unread = || Refusal::new("CMD-12", "the repository could not be read.", UNREADABLE);
    draft.world.aside.as_ref().ok_or_else(unread)
}

/// The proposal of another round, or what is found of it.
fn propose(draft: &mut Draft<'_>, by: &By) -> Result<(), Refusal> {
    let aside = beside(draft)?;
    let document = aside.iteration.as_ref().and_then(|sheet| sheet.blob.clone());
    let proposed = aside::proposed(aside, &aside::red(draft.world)).map_err(|found| unproposed(&found))?;
    if let Some(again) = aside::again(aside, draft.state.declined.as_ref()) {
        return Err(unproposed(&[again]));
    }
    let Some(document) = document else {
        return Err(Refusal::new("ITR-01", "the proposal can't be read.", UNREADABLE));
    };
    let aside::Proposed { changes, impact, version } = proposed;
    let scope = aside.scope.as_ref().and_then(|sheet| sheet.blob.clone());
    let round = Round { changes, impact, document, version, scope, design: aside.design.clone(), accepted: None };
    draft.by(by.clone(), Body::Proposed(Box::new(round)))
}

/// A refusal by what was found, each with its next step, that of the first at the end.
fn unproposed(found: &[Finding]) -> Refusal {
    let Some(first) = found.first() else { return Refusal::new("ITR-01", "the proposal can't be read.", UNREADABLE) };
    let place = first.place().map(|place| format!("{place}: ")).unwrap_or_default();
    let more: Vec<String> =
        found.iter().skip(1).take(3).map(|one| format!("{} {} {}", one.rule, one.says, one.next)).collect();
    let rest = found.len().saturating_sub(1 + more.len());
    let and = if rest > 0 { format!(" And {rest} more.") } else { String::new() };
    let says = [format!("{place}{}", first.says)].into_iter().chain(more).collect::<Vec<_>>().join(" ");
    Refusal::new(&first.rule, format!("{says}{and}"), first.next.clone())
}

/// The changes of the proposed round that somebody wants: those that they name, or all. None where none is on record.
fn wanted(draft: &Draft<'_>, args: &str) -> Result<Option<BTreeSet<String>>, Refusal> {
    let Some(round) = &draft.state.round else { return Ok(None) };
    let all: BTreeSet<String> = round.changes.iter().map(|one| one.id.clone()).collect();
    let named = aside::named(args);
    let words = args.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '.'));
    let other = |word: &&str| {
        !word.is_empty()
            && !matches!(word.to_ascii_lowercase().as_str(), "and" | "&" | "+")
            && aside::named(word).is_empty()
    };
    if let Some(word) = words.into_iter().find(other) {
        let says =
            format!("it takes the identifiers of changes, or nothing to take them all, and not {}.", quoted(word));
        let example = all.iter().next().map(String::as_str).unwrap_or_default();
        let approve = draft.world.policy().map(|policy| policy.commands.written("approve")).unwrap_or_default();
        return Err(Refusal::new("CMD-05", says, format!("Write it as `{approve} {example}` or `{approve}`.")));
    }
    match named.iter().find(|id| !all.contains(*id)) {
        Some(unknown) => {
            let known: Vec<String> = all.iter().map(|id| format!("`{id}`")).collect();
            let says = format!("`{unknown}` is no change of the proposal.");
            Err(Refusal::new("CMD-05", says, format!("Name some of {}, or none to take them all.", known.join(", "))))
        }
        None if named.is_empty() => Ok(Some(all)),
        None => Ok(Some(named)),
    }
}

/// Whether the confirmed round changes the architecture: then the design is to be shown again.
fn redesigns(draft: &Draft<'_>) -> bool {
    draft.state.round.as_ref().is_some_and(|round| round.impact > Impact::None)
}

/// Notes what is there as a detour begins.
fn note(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let noted = beside(draft)?.noted();
    draft.bot(Body::Detoured(noted))
}

/// `CMD-12`: a detour ends with what it is for.
fn left_behind(draft: &Draft<'_>, is_left: impl Fn(&Noted, &Aside) -> Result<(), Refusal>) -> Result<(), Refusal> {
    let now = beside(draft)?;
    let unnoted = || Noted { preferences: now.preferences.clone(), ..Noted::default() };
    let left = is_left(&draft.state.noted.clone().unwrap_or_else(unnoted), now);
    // After the merge it is read where the change went.
    let there = |refusal: Refusal| match &draft.state.merged {
        Some(_) => Refusal { next: refusal.next.replacen("push, and", &format!("{TO_THE_BRANCH}, and"), 1), ..refusal },
        None => refusal,
    };
    left.map_err(there)
}

/// How papers come to the branch that a merged change went into.
const TO_THE_BRANCH: &str =
    "bring it to the default branch (a pull request with nothing else goes through the merge gate alone)";

/// The way back from a detour, or from a round that nobody has proposed yet, without what it is for.
fn called_off(state: &State) -> Vec<Action> {
    let Some(pipeline) = &state.pipeline else { return Vec::new() };
    let no_round = [Action::ProposeIteration, Action::RejectIteration];
    match (pipeline.stage, pipeline.return_to) {
        (Stage::AuditingStack, _) => vec![Action::StackAuditComplete],
        (Stage::Distilling, Some(Stage::PipelineComplete)) => {
            [Action::DistillCompleteToIterate].into_iter().chain(no_round).collect()
        }
        (Stage::Distilling, Some(Stage::Ideating)) => vec![Action::DistillCompleteToIdeating],
        (Stage::Distilling, _) => vec![Action::DistillCompleteToExpand],
        (Stage::Iterating, _) => no_round.to_vec(),
        _ => Vec::new(),
    }
}

/// Stages in which no agent is at work, so that none can be gone.
fn nobody_works(stage: Stage) -> bool {
    use Stage as S;
    matches!(
        stage,
        S::PreferencesConfigured
            | S::SessionDropped
            | S::PipelineComplete
            | S::IterationProposed
            | S::IterationConfirmed
            | S::SteppedModePaused
            | S::ValidatingPMF
            | S::Ideating
    ) || waits_for_human(stage)
}

/// A phase's own command: starts it where it can be started, and otherwise claims that it is done.
fn claim(draft: &mut Draft<'_>, phase: Phase, actor: Actor, by: &By, commands: &Commands) -> Result<Outcome, Refusal> {
    let Some(pipeline) = draft.state.pipeline.clone() else { return Err(not_now(draft, commands)) };
    match (phase, pipeline.stage) {
        (Phase::Expand, Stage::PreferencesConfigured) => {
            draft.step(Action::RequestBuild, actor, by.clone())?;
            return Ok(Outcome::Done);
        }
        (Phase::Reconcile, stage) => {
            let manual = match stage {
                Stage::Designing => Some(Action::ManualReconcileFromDesigning),
                Stage::Analyzing => Some(Action::ManualReconcileFromAnalyzing),
                Stage::Building => Some(Action::ManualReconcileFromBuilding),
                Stage::Reviewing => Some(Action::ManualReconcileFromReviewing),
                Stage::Verifying => Some(Action::ManualReconcileFromVerifying),
                _ => None,
            };
            if let Some(action) = manual {
                draft.step(action, actor, by.clone())?;
            }
        }
        _ => {}
    }
    let at = draft.state.pipeline.as_ref().and_then(|pipeline| crate::flow::pipeline::phase_of(pipeline.stage));
    let stage = draft.stage();
    let takes_claims = at == Some(phase)
        && stage.is_some_and(|stage| stage == phase.stage() || crate::flow::pipeline::retry_action(stage).is_some());
    let alive = draft.state.open || phase == Phase::Deploy;
    if takes_claims && !alive {
        return Err(after_the_merge(draft, commands));
    }
    if !takes_claims {
        return Err(not_now(draft, commands));
    }
    draft.by(by.clone(), Body::Claimed { phase, how: Claim::Command })?;
    if matches!(phase, Phase::Build | Phase::Reconcile | Phase::Verify) {
        // The claim is judged by the new run, when it answers.
        ask::again(draft, by)?;
    }
    Ok(Outcome::Done)
}

/// Whether VERIFY waits for somebody to say what shows the criteria.
fn waits_for_a_word(draft: &Draft<'_>) -> bool {
    let in_pipeline = draft.state.flow == FlowName::Pipeline;
    in_pipeline && draft.world.policy().is_some_and(|policy| verify::waits_for_a_word(policy, &draft.state))
}
