//! The records of a change, one after the other, in words.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::Home;
use super::html::{code, finding, folded, link, linked, moment, prose, safe, word};
use crate::finding::{Finding, Verdict, only_waiting, quoted};
use crate::flow::task;
use crate::gate::merge::CHECK_NAME;
use crate::ids::Person;
use crate::ledger::incident::Breach;
use crate::ledger::record::{Claim, Evidence, Froze, Outcome, Why};
use crate::ledger::{About, Body, By, Record};
use crate::policy::Source;

/// So many findings of a run that a later one has replaced are told.
const MOST_OLD_FINDINGS: usize = 10;

/// A verdict, in a word. What only waits has not failed.
pub(super) fn came_to(verdict: Verdict, findings: &[Finding]) -> &'static str {
    if verdict == Verdict::Fail && only_waiting(findings) { "<b class=\"wait\">waits</b>" } else { word(verdict) }
}

/// A record as one entry. `newest`: no later run of the same gate is known.
pub(super) fn entry(record: &Record, newest: bool, home: &Home<'_>) -> String {
    let head = format!("<span class=\"sub\">{}</span> {}", record.seq, moment(record.at));
    match &record.body {
        Body::Judged { gate, verdict, claimed, findings, evidence, .. } => {
            let how = match claimed {
                Some(how) => format!("claimed {}", how_claimed(*how)),
                None => "a look, nobody claimed it".to_owned(),
            };
            let word = came_to(*verdict, findings);
            let summary =
                format!("{head} <b>{}</b> {word} <span class=\"sub\">{how}</span>", gate.as_str().to_uppercase());
            let most = if newest { usize::MAX } else { MOST_OLD_FINDINGS };
            folded(false, &summary, &judged(record.about.as_ref(), findings, evidence, most, home))
        }
        Body::Grouped(group) => {
            let members: Vec<String> =
                group.members.iter().map(|one| link(&home.pull(one.change.0), &one.change.to_string())).collect();
            let at = linked(Some(home.commit(&group.head)), &code(group.head.short()));
            let summary = format!("{head} merge queue, group {at}: {}", word(group.verdict));
            let about = About {
                base_ref: group.base_ref.clone(),
                base: group.base.clone(),
                head: group.head.clone(),
                content: group.meaning(),
            };
            let inside = judged(None, &group.findings, &group.evidence, MOST_OLD_FINDINGS, home);
            let of = format!(
                "<p>Onto {} at {}, with {}.</p>",
                code(&about.base_ref),
                code(about.base.short()),
                members.join(", ")
            );
            folded(false, &summary, &format!("{of}{inside}"))
        }
        body => format!("<div class=\"row\">{head} {}</div>", said(body, record, home)),
    }
}

/// What a gate was judged on, by and for.
fn judged(about: Option<&About>, findings: &[Finding], evidence: &[Evidence], most: usize, home: &Home<'_>) -> String {
    let mut out = about.map(|about| subject(about, home)).unwrap_or_default();
    if findings.is_empty() {
        out.push_str("<p>Nothing was found.</p>");
    } else {
        let head = about.map(|about| about.head.as_str());
        let each = findings.iter().take(most).map(|one| finding(one, head.and_then(|head| home.line(head, one))));
        let _ = write!(out, "<ul>{}</ul>", each.collect::<String>());
        if let Some(more) = findings.len().checked_sub(most).filter(|more| *more > 0) {
            let _ = write!(out, "<p>And {more} more; the record has them.</p>");
        }
    }
    out.push_str(&self::evidence(evidence, home));
    out
}

/// Base, head and content.
pub(super) fn subject(about: &About, home: &Home<'_>) -> String {
    let commit = |id: &crate::ids::CommitId| link(&home.commit(id), &code(id.as_str()));
    format!(
        "<dl><dt>head</dt><dd>{}</dd><dt>base</dt><dd>{} of {}</dd><dt>content</dt><dd>{}</dd></dl>",
        commit(&about.head),
        commit(&about.base),
        code(&about.base_ref),
        code(about.content.as_str())
    )
}

/// What was counted, and what was not, each with the reason and a link.
pub(super) fn evidence(all: &[Evidence], home: &Home<'_>) -> String {
    if all.is_empty() {
        return String::new();
    }
    let each = all.iter().map(|one| {
        let (mark, said, discounted) = match one {
            Evidence::Check { name, run, workflow_run, conclusion, head, discounted, .. } => {
                let of = workflow_run
                    .map(|id| format!(" of {}", link(&home.workflow_run(id), &format!("workflow run {id}"))));
                let said = format!(
                    "check {}: {} on {}{}",
                    link(&home.check_run(*run), &code(name)),
                    safe(conclusion),
                    code(head.short()),
                    of.unwrap_or_default()
                );
                (conclusion == "success", said, discounted.as_ref())
            }
            Evidence::Review { by, role, review, commit, state, self_approved, discounted, .. } => {
                let shown = safe(&state.to_lowercase().replace('_', " "));
                let shown = linked(review.map(|id| home.review(id)), &shown);
                let own = if *self_approved { " <b class=\"wait\">self-approved</b>" } else { "" };
                let said =
                    format!("review by {} ({}): {shown} on {}{own}", person(by), safe(role), code(commit.short()));
                (state.eq_ignore_ascii_case("approved"), said, discounted.as_ref())
            }
            Evidence::Deployment { environment, state, commit, by, discounted } => {
                let by = by.as_ref().map(|by| format!(", by {}", person(by))).unwrap_or_default();
                let (to, of) = (code(environment), code(commit.short()));
                let said = format!("deployment to {to}: {} of {of}{by}", safe(state));
                (state == "success", said, discounted.as_ref())
            }
            Evidence::Word { by, role, says, head } => {
                let said = format!("{} ({}) on {}: {}", person(by), safe(role), code(head.short()), safe(says));
                (true, said, None)
            }
            Evidence::Auto { runs } => {
                let runs: Vec<String> = runs.iter().map(|run| code(run)).collect();
                (true, format!("passed by itself: nobody approved it; shown by {}", runs.join(", ")), None)
            }
            Evidence::Security { subject, by } => (true, format!("security, {}: by {}", safe(subject), safe(by)), None),
            Evidence::Findings { by, role, review, axes, open, discounted } => {
                let looked: Vec<&str> = axes.iter().map(|axis| axis.as_str()).collect();
                let open: Vec<String> = open.iter().map(|id| code(id)).collect();
                let said = format!(
                    "{} of {} ({}): looked at {}; open: {}",
                    link(&home.review(*review), "review block"),
                    person(by),
                    safe(role),
                    if looked.is_empty() { "nothing".to_owned() } else { safe(&looked.join(", ")) },
                    if open.is_empty() { "none".to_owned() } else { open.join(", ") }
                );
                (open.is_empty(), said, discounted.as_ref())
            }
            Evidence::Run { workflow, run, attempt, log, verdict, tests, head, discounted } => {
                // GitHub has no page of what the server itself ran.
                let own = workflow == Source::Runner.as_str();
                let said = format!(
                    "run of {}: {} with {tests} tests on {} in {}; {}",
                    if own { format!("the server's own {}", code(workflow)) } else { code(workflow) },
                    if *verdict == Verdict::Pass { "PASS" } else { "FAIL" },
                    code(head.short()),
                    match own {
                        true => format!("run {run}"),
                        false => {
                            let run = link(&home.workflow_run(*run), &format!("workflow run {run}"));
                            format!("{run}, attempt {attempt}")
                        }
                    },
                    link(&home.log(log), "execution log")
                );
                (*verdict == Verdict::Pass, said, discounted.as_ref())
            }
        };
        let (class, mark) = match (mark, discounted) {
            (_, Some(_)) => ("sub", "–"),
            (true, None) => ("ok", "✓"),
            (false, None) => ("wait", "·"),
        };
        let why = discounted.map(|why| format!("<span class=\"next\">does not count: {}</span>", prose(why)));
        format!("<li><span class=\"mark {class}\">{mark}</span> {said}{}</li>", why.unwrap_or_default())
    });
    format!("<ul class=\"plain\">{}</ul>", each.collect::<String>())
}

pub(super) fn person(person: &Person) -> String {
    format!("<b>{}</b>", safe(&person.login))
}

fn by(by: &By) -> String {
    match by {
        By::Bot => "Phasegate".to_owned(),
        By::Workflow(job) => format!("{} (run {}, attempt {})", code(&job.workflow), job.run, job.attempt),
        By::Runner(job) => format!("The server's own {} (run {})", code(&job.workflow), job.run),
        By::Person { person: who, role } => format!("{} ({})", person(who), safe(role)),
    }
}

fn how_claimed(how: Claim) -> &'static str {
    match how {
        Claim::Command => "by a command",
        Claim::Trailer => "by a trailer of the commit",
        Claim::ReadyForReview => "by marking it ready for review",
        Claim::Preview => "by a look that passed",
        Claim::Reviewer => "by a reviewer's verdict",
        Claim::Sheet => "by its STATE.md",
    }
}

/// What a record says, but for gate runs.
fn said(body: &Body, record: &Record, home: &Home<'_>) -> String {
    let who = by(&record.by);
    match body {
        Body::Opened { author } => format!("The change begins, by {}.", person(author)),
        Body::Law { policy, flow, mode, autonomy } => {
            let (mode, autonomy) = (kind(mode), kind(autonomy));
            format!("The law: policy {}, flow {flow}, mode {mode}, autonomy {autonomy}.", code(policy.short()))
        }
        Body::Declared(declared) => {
            let rung = declared.autonomy.map(|rung| format!("autonomy {}", code(rung.as_str())));
            let risk = declared.high_risk.then(|| "high risk".to_owned());
            let what: Vec<String> = rung.into_iter().chain(risk).collect();
            format!("The description declares {}.", what.join(" and "))
        }
        Body::Subject { why, pushed_by, .. } => {
            let why = match why {
                Why::Opened => "Its content",
                Why::Pushed => "New content was pushed",
                Why::Retargeted => "It goes into another branch",
                Why::BaseMoved => "The base or the policy moved",
            };
            let pusher = pushed_by.as_ref().map(|who| format!(" by {}", person(who))).unwrap_or_default();
            let about = record.about.as_ref().map(|about| {
                let at = link(&home.commit(&about.head), &code(about.head.short()));
                format!(": head {at}, content {}", code(about.content.short()))
            });
            format!("{why}{pusher}{}.", about.unwrap_or_default())
        }
        Body::Inherited(taken) => {
            let from = link(&home.pull(taken.from.0), &taken.from.to_string());
            format!("It carries on from {from}: {}.", prose(&taken.says().join("; ")))
        }
        Body::Merged { commit, bypassed } => {
            let around = match bypassed.is_empty() {
                true => String::new(),
                false => {
                    let rules: Vec<&str> = bypassed.iter().map(String::as_str).collect();
                    format!(" <b class=\"bad\">around the gate</b>, while {} stood against it", code(&rules.join(", ")))
                }
            };
            format!("Merged as {}{around}.", link(&home.commit(commit), &code(commit.short())))
        }
        Body::Step { action, why, .. } => {
            let why = why.as_ref().map(|why| format!(" {}.", prose(why))).unwrap_or_default();
            format!("Step {}.{why}", code(&kind(action)))
        }
        Body::Claimed { phase, how } => {
            format!("{who} claims {}, {}.", phase.as_str().to_uppercase(), how_claimed(*how))
        }
        Body::Command { comment, on, name, args, outcome, .. } => {
            let came = match outcome {
                Outcome::Done => "done".to_owned(),
                Outcome::Answered => "answered".to_owned(),
                Outcome::Refused(refusal) => format!("refused by {}", code(&refusal.rule)),
            };
            let given = code(format!("/{name} {args}").trim_end());
            let given = if *comment == 0 { given } else { link(&home.comment(*on, *comment), &given) };
            format!("{who} says {given}: {came}.")
        }
        Body::Approved { comment, self_approved, .. } => {
            let own = if *self_approved { " <b class=\"wait\">self-approved</b>" } else { "" };
            let said = link(&home.comment(record.change.0, *comment), "approves");
            format!("{who} {said} this content{own}.")
        }
        Body::Rejected { comment, reason, .. } => {
            let said = link(&home.comment(record.change.0, *comment), "sends it back");
            format!("{who} {said}: {}.", prose(&quoted(reason)))
        }
        Body::Stopped { reason, raised: Some(raised), .. } => {
            format!("Commit {} asks for a person: {}.", code(raised.commit.short()), prose(&quoted(reason)))
        }
        Body::Stopped { reason, .. } => format!("{who} stops it: {}.", prose(&quoted(reason))),
        Body::Resumed { reason, .. } => format!("{who} lets it go on: {}.", prose(&quoted(reason))),
        Body::Cheated { codes, reason: None, .. } => {
            let codes: Vec<String> = codes.iter().take(20).map(|one| code(one)).collect();
            format!("A confirmed cheat: {}.", codes.join(", "))
        }
        Body::Cheated { reason: Some(reason), raised: Some(raised), .. } => {
            let commit = code(raised.commit.short());
            format!("Commit {commit} reports that the green of this content is not earned: {}.", prose(&quoted(reason)))
        }
        Body::Cheated { reason: Some(reason), .. } => {
            format!("{who} reports that the green of this content is not earned: {}.", prose(&quoted(reason)))
        }
        Body::RiskAccepted { waiver, .. } => {
            format!("{who} accepts the risk of {}: {}.", prose(&waiver.told()), prose(&quoted(&waiver.reason)))
        }
        Body::RiskOver { of } => format!("The day is over until which the risk in record {of} was accepted."),
        Body::RedPushes { at: Some(phase), reds } => format!("{reds} pushes were red at {phase}: a person is asked."),
        Body::RedPushes { at: None, .. } => "The red pushes are no more than may be.".to_owned(),
        Body::Unfixed { of } => format!("The fix of record {of} is not on the branch."),
        Body::Refrozen { paths, reason } => {
            let paths: Vec<String> = paths.keys().take(20).map(|path| code(path)).collect();
            format!("{who} accepts {}: {}.", paths.join(", "), prose(&quoted(reason)))
        }
        Body::Frozen { manifest, files, why } => {
            let why = match why {
                Froze::Claimed => "the proof was claimed",
                Froze::Built => "BUILD passed",
                Froze::Refrozen => "a person accepted what is there",
            };
            let to = link(&home.manifest(manifest), &code(manifest.short()));
            format!("Frozen, because {why}: {files} files, manifest {to}.")
        }
        Body::Asked { gate, nonce, workflow } => {
            format!(
                "{who} asks {} to run the commands of {gate}, under the nonce {}.",
                code(workflow),
                code(nonce.short())
            )
        }
        Body::Ran(ran) => {
            let bad = ran.findings.iter().filter(|finding| finding.blocks()).count();
            let found = match bad {
                0 => "nothing stands against it".to_owned(),
                1 => "one finding stands against it".to_owned(),
                many => format!("{many} findings stand against it"),
            };
            let log = link(&home.log(&ran.log), "execution log");
            format!("{who} answers the nonce {}: {} tests ran, {found}; {log}.", code(ran.nonce.short()), ran.tests)
        }
        Body::Repaired { files } => {
            let paths: Vec<String> = files.iter().map(|file| code(&file.path)).collect();
            format!("{who} puts {} in step with the code.", paths.join(" and "))
        }
        Body::TaskBegun { folder } => format!("It is the task in {}.", code(folder)),
        Body::TaskMoved { to, why, .. } => {
            let why = why.as_ref().map(|why| format!(": {}", prose(&quoted(why)))).unwrap_or_default();
            format!("{who} takes the task to {}{why}.", code(to.as_str()))
        }
        Body::TaskReturned {} => {
            "What the task was done with is not what is there any more: it is verified again.".to_owned()
        }
        Body::TaskDriven { drive: Some(task::Drive::Once), .. } => {
            format!("{who} asks an agent for a pass at the task.")
        }
        Body::TaskDriven { drive: Some(task::Drive::Loop), .. } => {
            format!("{who} asks an agent for passes at the task, until it ends, waits or gains nothing.")
        }
        Body::TaskDriven { drive: None, why } => {
            let why = why.as_ref().map(|why| format!(": {}", prose(&quoted(why)))).unwrap_or_default();
            format!("No more passes are asked for{why}.")
        }
        Body::PassBegun(begun) => format!("Pass {} begins.", begun.pass),
        Body::PassEnded(ended) => {
            let gained: Vec<&str> = ended.gained.iter().map(|one| one.as_str()).collect();
            let gained = if gained.is_empty() { "nothing".to_owned() } else { gained.join(", ") };
            let rules: BTreeSet<&str> = ended.findings.iter().map(|one| one.rule.as_str()).collect();
            let against = match rules.is_empty() {
                true => String::new(),
                false => format!("; against it: {}", code(&rules.into_iter().collect::<Vec<_>>().join(", "))),
            };
            format!("Pass {} is over; it gained {gained}{against}.", ended.pass)
        }
        Body::Agreed { rule, reason } => format!("{who} agrees to {}: {}.", code(rule), prose(&quoted(reason))),
        Body::Tampered { what, .. } => format!("<b class=\"bad\">Tampered</b>: {}", safe(what)),
        Body::Linked { number } => format!("{} belongs to it.", link(&home.issue(*number), &format!("#{number}"))),
        Body::Escalated { issue, .. } => {
            format!("A person is asked in {}.", link(&home.issue(*issue), &format!("#{issue}")))
        }
        Body::Incident(breach) => {
            let what = match breach.as_ref() {
                Breach::Bypassed { by, .. } => {
                    let by = by.as_ref().map(|by| format!(" by {}", person(by))).unwrap_or_default();
                    format!("it was merged around the gate{by}")
                }
                Breach::Unguarded { branch, .. } => {
                    format!("{} is not required on {} any more", code(CHECK_NAME), code(branch))
                }
            };
            format!("<b class=\"bad\">Incident</b>: {what}. A person is told.")
        }
        Body::IncidentShown { issue, .. } => {
            format!("The incident is {}.", link(&home.issue(*issue), &format!("#{issue}")))
        }
        Body::IncidentNoted { .. } => format!("{who} closes the incident's issue: it is taken note of."),
        Body::Sliced { id, slice, cap, .. } => {
            let cap = cap.as_ref().map(|cap| format!(" Scope cap: {}.", code(&cap.to_string()))).unwrap_or_default();
            format!("{who} says what the slice {id} is: {}.{cap}", prose(&quoted(slice)))
        }
        Body::Scoped { cap } => format!("{who} sets the scope cap to {}.", code(&cap.to_string())),
        Body::Laddered { action, reason, .. } => {
            format!("{who} goes on by {}: {}.", code(action.step()), prose(&quoted(reason)))
        }
        Body::Remembered(taken) => {
            format!(
                "A snapshot of the agent's is taken in, as slice {}: {}.",
                taken.slice_id,
                prose(&quoted(&taken.slice))
            )
        }
        Body::Audited { lines } => format!("{who} hands in a verifier's report: {} entries of evidence.", lines.len()),
        Body::Promoted { facts } => {
            let facts: Vec<String> = facts.iter().map(ToString::to_string).collect();
            format!("{who} lets plans rest on {}.", facts.join(", "))
        }
        Body::Resolved(resolved) => {
            let (remedy, digest) = (resolved.resolution.remedy(), code(resolved.digest.short()));
            let why = resolved.resolution.reason().map(|reason| format!(": {}", prose(&quoted(&reason))));
            format!("{who} answers with {}{} (digest {digest}).", code(remedy.as_str()), why.unwrap_or_default())
        }
        Body::Noted { comment, says, .. } => {
            format!("{who} notes in comment {comment}: {}", prose(&quoted(says)))
        }
        Body::Reminded { number, .. } => format!("Whoever may answer was reminded (reminder {number})."),
        Body::Split { issues, .. } => {
            let issues: Vec<String> =
                issues.iter().map(|issue| link(&home.issue(*issue), &format!("#{issue}"))).collect();
            format!("Its parts are {}.", issues.join(", "))
        }
        Body::Continues { of, .. } => {
            format!("It is the work of the round that was confirmed on {}.", link(&home.pull(of.0), &of.to_string()))
        }
        Body::Proposed(round) => {
            let (changes, impact) = (&round.changes, round.impact);
            let ids: Vec<&str> = changes.iter().map(|one| one.id.as_str()).collect();
            format!(
                "Another round is proposed: {}; impact on the architecture: {}.",
                code(&ids.join(", ")),
                impact.as_str()
            )
        }
        Body::Accepted { changes } => {
            let ids: Vec<&str> = changes.iter().map(String::as_str).collect();
            format!("{who} wants {}.", code(&ids.join(", ")))
        }
        Body::Declined { reason } => format!("{who} wants nothing of it: {}.", prose(&quoted(reason))),
        Body::Detoured(_) => "What is there as the detour begins is noted.".to_owned(),
        Body::Active { person: who } => format!("{} was heard of.", person(who)),
        Body::Lapsed { since, lease } => {
            format!(
                "Nobody who works on it was heard of for {} (since {}): dropped.",
                code(lease),
                code(&since.to_string())
            )
        }
        Body::GivenUp { reason } => format!("{who} gives it up: {}.", prose(&quoted(reason))),
        // Those with nothing to say but their name.
        other => format!("{}.", safe(&kind(other).replace('_', " "))),
    }
}

/// The name that something has on the ledger.
fn kind(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    let named = value.get("kind").unwrap_or(&value);
    named.as_str().map_or_else(|| "another record".to_owned(), str::to_owned)
}
