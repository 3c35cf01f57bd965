//! The artefact of an escalation: everything that whoever decides may want to read, as data. It is made when the stop opens,
//! of the records, and stands on the ledger beside them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::escalation::{PostMortem, decision, judged, post_mortem, recommended, tries, what_it_does, wrong};
use super::page::Painter;
use crate::flow::Phase;
use crate::gate::Verdict;
use crate::ids::RepoId;
use crate::ledger::chain;
use crate::ledger::escalation::{Cause, Escalation};
use crate::ledger::record::{Body, By, Record};
use crate::ledger::resolution::{Remedy, offered};
use crate::ledger::state::State;

/// The name of this form.
pub const SCHEMA: &str = "phasegate/escalation@1";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "An escalation")]
pub struct EscalationArtifact {
    /// `phasegate/escalation@1`.
    pub schema: String,
    /// `ESC-` and eight hexadecimal digits, made of the repository's id, the change and the record.
    #[schemars(extend("pattern" = "^ESC-[0-9a-f]{8}$"))]
    pub escalation_id: String,
    /// The change: `owner/name#7`.
    pub task_id: String,
    /// Where it is.
    pub task_ref: String,
    #[schemars(extend("format" = "date-time"))]
    pub created_at: String,
    pub debate_trail: Trail,
    pub failed_invariants: Vec<FailedInvariant>,
    /// The flow's state at that moment.
    pub state_machine_snapshot: Value,
    /// In plain words.
    pub minimal_decision_required: String,
    pub recommended_resolution: Remedy,
    /// What helps to decide.
    pub resolution_context: String,
    /// `gate`, `reconcile`, `stop`, `brake`, `reds` or `pause`.
    pub cause: String,
    /// The phase in which it stopped, or that it waits to begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The record that opened it.
    pub record: u64,
    /// What is wrong.
    pub blocked: String,
    pub options: Vec<Choice>,
    /// Which of them, and why.
    pub recommendation: String,
    /// A wait has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post_mortem: Option<PostMortem>,
}

/// Who claimed what, what stood against it, what people decided; the newest of each, the oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trail {
    /// Claims that a phase is done.
    pub proposals: Vec<Entry>,
    /// Verdicts of gates.
    pub challenges: Vec<Entry>,
    /// What people decided.
    pub adjudications: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    pub record: u64,
    #[schemars(extend("format" = "date-time"))]
    pub at: String,
    pub by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    pub what: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub says: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FailedInvariant {
    pub invariant: String,
    pub evidence: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    pub letter: char,
    pub action: Remedy,
    pub effect: String,
}

/// So many entries of each kind.
const MOST_ENTRIES: usize = 40;
const MOST_FAILED: usize = 50;
/// The longest text of one.
const LONGEST: usize = 600;

impl EscalationArtifact {
    /// The JSON Schema of the file.
    pub fn schema_of() -> Value {
        schemars::schema_for!(EscalationArtifact).to_value()
    }
}

fn short(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}

fn caller(stop: &crate::ledger::state::Stop) -> String {
    let by = match &stop.raised {
        Some(head) => format!("commit {}", head.short()),
        None => who(&stop.by),
    };
    match stop.of {
        Some(of) => format!("{by} on {of}"),
        None => by,
    }
}

fn who(by: &By) -> String {
    match by {
        By::Person { person, .. } => person.login.clone(),
        By::Bot => "phasegate".to_owned(),
        By::Workflow(job) | By::Runner(job) => job.workflow.clone(),
    }
}

/// The artefact of the escalation that is open.
pub(super) fn artefact(at: &Painter, repo: RepoId, state: &State, records: &[Record]) -> Option<EscalationArtifact> {
    let open = state.escalation.as_ref()?;
    let tried = tries(state, open);
    let (remedy, why) = recommended(state, open, &tried);
    let mortem = post_mortem(state, open, &tried);
    let choice = |action: Remedy| Choice { letter: action.letter(), action, effect: what_it_does(state, open, action) };
    let context = match &mortem {
        Some(mortem) => format!("{} {}", mortem.what_went_wrong, mortem.what_to_avoid),
        None => "Nothing is wrong: it waits for somebody to look.".to_owned(),
    };
    Some(EscalationArtifact {
        schema: SCHEMA.to_owned(),
        escalation_id: Escalation::artefact(repo, state.change, open.id),
        task_id: format!("{}{}", at.slug, state.change),
        task_ref: format!("{}/{}/pull/{}", at.server, at.slug, state.change.0),
        created_at: open.since.to_string(),
        debate_trail: trail(records),
        failed_invariants: failed(state, open),
        state_machine_snapshot: snapshot(state),
        minimal_decision_required: decision(state, open),
        recommended_resolution: remedy,
        resolution_context: context,
        cause: cause(open.cause).to_owned(),
        phase: open.phase.map(|phase: Phase| phase.as_str().to_owned()),
        record: open.id,
        blocked: wrong(state, open),
        options: offered(state, open, !at.advisory).into_iter().map(choice).collect(),
        recommendation: format!("({}) {remedy}: {why}", remedy.letter()),
        post_mortem: mortem,
    })
}

/// The same as the text of its file.
pub(super) fn text(at: &Painter, repo: RepoId, state: &State, records: &[Record]) -> Option<String> {
    let made = artefact(at, repo, state, records)?;
    chain::canonical(&made).ok().and_then(|bytes| String::from_utf8(bytes).ok())
}

fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Gate => "gate",
        Cause::Reconcile => "reconcile",
        Cause::Stop => "stop",
        Cause::Brake => "brake",
        Cause::Reds => "reds",
        Cause::Pause => "pause",
    }
}

fn snapshot(state: &State) -> Value {
    json!({
        "flow": state.flow,
        "mode": state.mode,
        "pipeline": state.pipeline,
        "merge": state.merge,
        "open": state.open,
        "merged": state.merged,
        "about": state.subject,
        "stopped": state.stopped,
        "records": state.seq,
    })
}

fn failed(state: &State, open: &Escalation) -> Vec<FailedInvariant> {
    if let Some(judged) = judged(state, open) {
        let against = judged.findings.iter().filter(|finding| finding.blocks()).take(MOST_FAILED);
        let one = |finding: &crate::gate::Finding| FailedInvariant {
            invariant: finding.rule.clone(),
            evidence: match &finding.path {
                Some(path) => short(&format!("{} ({path})", finding.says)),
                None => short(&finding.says),
            },
        };
        return against.map(one).chain(state.also_stopped().into_iter().map(called)).collect();
    }
    let stopped = state.stopped.as_ref().filter(|_| matches!(open.cause, Cause::Stop | Cause::Brake));
    let one = |stop: &crate::ledger::state::Stop| FailedInvariant {
        invariant: if open.cause == Cause::Brake { "the design holds" } else { "nobody has stopped it" }.to_owned(),
        evidence: short(&format!("{}: {}", caller(stop), stop.reason)),
    };
    stopped.map(one).into_iter().chain(state.also_stopped().into_iter().map(called)).collect()
}

/// A stop that was called on top of it.
fn called(stop: &crate::ledger::state::Stop) -> FailedInvariant {
    FailedInvariant {
        invariant: "nobody has stopped it".to_owned(),
        evidence: short(&format!("{}: {}", caller(stop), stop.reason)),
    }
}

fn trail(records: &[Record]) -> Trail {
    let mut trail = Trail::default();
    for record in records {
        let entry = |what: String, rules: Vec<String>, says: &str| Entry {
            record: record.seq,
            at: record.at.to_string(),
            by: who(&record.by),
            head: record.about.as_ref().map(|about| about.head.to_string()),
            what,
            rules,
            says: short(says),
        };
        let decided = |what: &str, says: &str| Some(entry(what.to_owned(), Vec::new(), says));
        let (list, one) = match &record.body {
            Body::Claimed { phase, how } => {
                let how = serde_json::to_value(how).ok().and_then(|how| Some(how.as_str()?.to_owned()));
                let what = format!("claims {phase} ({})", how.unwrap_or_default());
                (&mut trail.proposals, Some(entry(what, Vec::new(), "")))
            }
            Body::Judged { gate, verdict, claimed, findings, .. } if claimed.is_some() || *verdict == Verdict::Fail => {
                let against: Vec<_> = findings.iter().filter(|finding| finding.blocks()).collect();
                let mut rules: Vec<String> = against.iter().map(|finding| finding.rule.clone()).collect();
                rules.dedup();
                let said = if *verdict == Verdict::Pass { "PASS" } else { "FAIL" };
                let says = against.first().map(|finding| finding.says.as_str()).unwrap_or_default();
                (&mut trail.challenges, Some(entry(format!("{} {said}", gate.as_str()), rules, says)))
            }
            Body::Cheated { codes, reason, .. } => {
                let says = reason.as_deref().unwrap_or_default();
                (
                    &mut trail.challenges,
                    Some(entry("cheat confirmed".to_owned(), codes.iter().cloned().collect(), says)),
                )
            }
            Body::Approved { .. } => (&mut trail.adjudications, decided("approves", "")),
            Body::Rejected { reason, .. } => (&mut trail.adjudications, decided("rejects", reason)),
            Body::Stopped { reason, .. } => (&mut trail.adjudications, decided("stops", reason)),
            Body::Resumed { reason, .. } => (&mut trail.adjudications, decided("lets it go on", reason)),
            Body::Rescoped {} => (&mut trail.adjudications, decided("sends it back to its scope", "")),
            Body::Replanned {} => (&mut trail.adjudications, decided("sends it back to its design", "")),
            Body::RiskAccepted { waiver, .. } => {
                (&mut trail.adjudications, decided(&format!("accepts the risk of {}", waiver.told()), &waiver.reason))
            }
            Body::Refrozen { reason, .. } => (&mut trail.adjudications, decided("accepts changed files", reason)),
            Body::Agreed { rule, reason } => (&mut trail.adjudications, decided(&format!("agrees to {rule}"), reason)),
            Body::Resolved(resolved) => {
                let says = resolved.resolution.reason().unwrap_or_default();
                (&mut trail.adjudications, decided(resolved.resolution.remedy().as_str(), &says))
            }
            _ => continue,
        };
        list.extend(one);
        if list.len() > MOST_ENTRIES {
            list.remove(0);
        }
    }
    trail
}
