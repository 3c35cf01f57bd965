//! Whether a file that an agent has pushed follows from the latest snapshot.

use std::collections::{BTreeMap, BTreeSet};

use super::paths::{is_within, paths};
use super::{ENDS_A_ROW, Field, Finding, OWN, may_begin, report, undiagnosed, words};
use crate::finding::{Verdict, quoted};
use crate::flow::FlowName;
use crate::ids::BlobId;
use crate::ledger::State;
use crate::ledger::memory::{Memory, Source, Taken, concludes, gates_of};
use crate::ledger::snapshot::{self, Cap, Fact, FactId, Fails, IssueId, Item, Read, Snapshot, name};

/// So far may the number of a new entry be from the last.
const MOST_JUMP: u32 = 300;

/// Whether two texts say the same: letter case and bold have no meaning.
fn is_same(one: &str, other: &str) -> bool {
    let plain = |text: &str| text.replace("**", "").replace("__", "").to_lowercase();
    one == other || plain(one) == plain(other)
}

/// Whether a file that an agent has pushed follows from the latest snapshot; what of it is taken in, or everything that is
/// wrong with it.
pub fn claim(state: &State, path: &str, text: &str, blob: &BlobId) -> Result<Taken, Vec<Finding>> {
    let Some(memory) = &state.memory else { return Err(Vec::new()) };
    let flow = state.flow;
    let read = snapshot::read(path, text);
    let mut judge = Judge { memory, path, read: &read, found: read.findings.clone() };
    judge.number();
    judge.parent();
    judge.slice();
    judge.held();
    judge.counters();
    judge.gates(flow);
    judge.issues();
    judge.closed(state);
    judge.facts();
    let report = judge.report();
    judge.scouts(&report);
    let found = judge.found;
    match read.whole(memory.last_fact, memory.last_issue) {
        Some(whole) if !found.iter().any(Finding::blocks) => {
            let Snapshot { slice_id, slice, cap, evidence, context, open, resolved, .. } = whole;
            let reported = report.iter().filter_map(|at| evidence.get(*at)).filter(|fact| concludes(&fact.text));
            let report = reported.map(|fact| fact.id).collect();
            Ok(Taken {
                blob: blob.clone(),
                slice_id,
                slice,
                cap,
                evidence,
                context,
                open,
                resolved,
                report,
                begun: None,
            })
        }
        _ => Err(found),
    }
}

struct Judge<'j> {
    memory: &'j Memory,
    path: &'j str,
    read: &'j Read,
    found: Vec<Finding>,
}

impl Judge<'_> {
    fn find(&mut self, rule: &str, at: Option<u32>, says: String, next: String) {
        self.found.push(Finding::error(rule, says, next).at(self.path, at));
    }

    fn at(&self, field: Field) -> Option<u32> {
        self.read.line(field)
    }

    fn number(&mut self) {
        let next = self.memory.latest.iteration + 1;
        let named = self.path.rsplit('/').next().and_then(snapshot::named);
        let Some(says) = self.read.iteration else { return };
        if named.is_some_and(|named| named != says) {
            let text = format!("The file is named otherwise than its `Iteration: {says:04}`.");
            self.find("SNP-02", self.at(Field::Iteration), text, format!("Call both {}.", name(next)));
        } else if says != next {
            let text = format!("It is {}, and the next one is {}.", name(says), name(next));
            self.find("SNP-02", self.at(Field::Iteration), text, format!("Number it {next:04}."));
        }
    }

    fn parent(&mut self) {
        let latest = self.memory.latest.iteration;
        let (Some(parent), iteration) = (self.read.parent, self.read.iteration) else { return };
        let says = match parent {
            // The reader tells of one that is not before its own number.
            Some(parent) if parent == latest || iteration.is_some_and(|own| parent >= own) => return,
            None => format!("It has no parent, and there is {}.", name(latest)),
            Some(parent) => format!("Its parent is {}, and the latest is {}.", name(parent), name(latest)),
        };
        let next = format!("Read {} and go on from there: `Parent snapshot: {}`.", name(latest), name(latest));
        self.find("SNP-03", self.at(Field::Parent), says, next);
    }

    /// `SNP-05` and `SNP-07`: the same slice, or the next, which begins with its cap and what is known of it.
    fn slice(&mut self) {
        let Some(id) = self.read.slice_id else { return };
        let own = self.memory.latest.slice_id;
        let next = self.memory.last_slice + 1;
        if id != own && id.0 != next {
            let says = format!("The slice is {own}, and this says {id}.");
            let next = format!("Keep {own}, whatever words it goes by, or begin S-{next:04}.");
            self.find("SNP-05", self.at(Field::SliceId), says, next);
        }
        // While an audit is owed nobody declares one, and the report may come all the same.
        let waits = self.memory.is_held() && !self.memory.is_declared();
        if self.read.cap.as_ref().is_some_and(|cap| !cap.is_declared()) && !waits {
            let says = "Its scope cap has no paths in it; a slice never has everything in its scope.".to_owned();
            self.find("SNP-07", self.at(Field::Cap), says, "Name globs behind `in:`.".to_owned());
        }
        if id != own && id.0 == next && self.read.context.is_empty() {
            let says = format!("{id} begins, and its Consolidated Context is empty.");
            let next = "Say there what it is to bring: constraints, acceptance criteria and gates.".to_owned();
            self.find("SNP-05", self.at(Field::SliceId), says, next);
        }
    }

    /// `SNP-10`: while an audit is owed, slice and scope stay as they are. The report may come, and what is drawn from it.
    fn held(&mut self) {
        let latest = &self.memory.latest;
        if !self.memory.is_held() || self.read.slice_id != Some(latest.slice_id) {
            return;
        }
        let moved = [
            (Field::Slice, self.read.slice.as_ref().is_some_and(|slice| *slice != latest.slice), &latest.slice),
            (Field::Cap, self.read.cap.as_ref().is_some_and(|cap| *cap != latest.cap), &latest.cap.to_string()),
        ];
        for (field, moved, stood) in moved.map(|(field, moved, stood)| (field, moved, stood.clone())) {
            if moved {
                let says = format!(
                    "It changes {}, and a verifier's audit is owed before anything else.",
                    quoted(&format!("{}:", field.name()))
                );
                let next = format!(
                    "Leave it as it was ({}), hand in the report first, and say what plans may rest on; then revise it.",
                    quoted(&stood)
                );
                self.find("SNP-10", self.at(field), says, next);
            }
        }
    }

    /// `SNP-06`: counters come from gate runs, and from nowhere else.
    fn counters(&mut self) {
        let (Some(id), Some(fails), Some(last)) = (self.read.slice_id, self.read.fails, self.read.last) else { return };
        let latest = &self.memory.latest;
        let begins = id != latest.slice_id;
        if begins && let Err(why) = may_begin(self.memory) {
            self.find("SNP-06", self.at(Field::SliceId), why, ENDS_A_ROW.to_owned());
        }
        let (due, due_last) = if begins { (Fails::default(), None) } else { (latest.fails, latest.last) };
        if fails != due {
            let says = format!(
                "It counts {} and {} FAILs in a row; the gate runs on the ledger come to {} and {}.",
                fails.iteration, fails.exit, due.iteration, due.exit
            );
            let next = format!("Write {} and {}: other words for a slice reset nothing.", due.iteration, due.exit);
            self.find("SNP-06", self.at(Field::IterationFails), says, next);
        }
        if last != due_last {
            let says = "The last gate run that it names is not the last one on the ledger.".to_owned();
            let next = match due_last {
                Some((kind, verdict)) => {
                    let verdict = if verdict == Verdict::Pass { "PASS" } else { "FAIL" };
                    format!("Write `{kind}` and `{verdict}`.")
                }
                None => "Write `none` and `none`.".to_owned(),
            };
            self.find("SNP-06", self.at(Field::LastRun), says, next);
        }
    }

    /// `SNP-12`
    fn gates(&mut self, flow: FlowName) {
        let due = gates_of(flow);
        let Some(gates) = &self.read.gates else { return };
        let list = |gates: &[String]| if gates.is_empty() { "none".to_owned() } else { gates.join(", ") };
        for (field, named, due) in
            [(Field::IterationGate, &gates.iteration, &due.iteration), (Field::ExitGate, &gates.exit, &due.exit)]
        {
            if named != due {
                let says =
                    format!("It names {} as a gate, and {} is what is run.", quoted(&list(named)), quoted(&list(due)));
                self.find("SNP-12", self.at(field), says, format!("Write `{}: {}`.", field.name(), list(due)));
            }
        }
    }

    /// `SNP-09`: every open issue is carried forward or resolved, and what a gate opened is closed by its next run.
    fn issues(&mut self) {
        let memory = self.memory;
        let open: BTreeSet<IssueId> = self.read.open.iter().filter_map(|(item, _)| item.id.map(IssueId)).collect();
        let resolved: BTreeMap<IssueId, u32> =
            self.read.resolved.iter().filter_map(|(item, _)| Some((IssueId(item.id?), item.line))).collect();
        for issue in &memory.latest.open {
            if open.contains(&issue.id) {
                let here = self.read.open.iter().find(|(item, _)| item.id == Some(issue.id.0));
                let Some((line, reworded, action)) =
                    here.map(|(item, action)| (item.line, !is_same(&item.text, &issue.text), *action))
                else {
                    continue;
                };
                let watched = memory.watched.get(&issue.id);
                if reworded {
                    let by = watched.map(|watched| format!("was opened by the {} gate, and ", watched.gate));
                    let says = format!("{} {}says something else here.", issue.id, by.unwrap_or_default());
                    let next = format!("Carry it forward as it is: {}", quoted(&issue.text));
                    self.find("SNP-09", Some(line), says, next);
                }
                if let Some(watched) = watched.filter(|_| action < issue.action) {
                    let says = format!(
                        "{} was opened by the {} gate, and its next action is {}, not {action}.",
                        issue.id, watched.gate, issue.action
                    );
                    let next = format!(
                        "Write `Next action: {}`; another step is said with its reason, by the command `ladder`.",
                        issue.action
                    );
                    self.find("SNP-09", Some(line), says, next);
                }
                continue;
            }
            let Some(line) = resolved.get(&issue.id) else {
                // What could not be read as an issue may be this one, and that was said.
                if self.read.findings.iter().any(|found| found.rule == "SNP-09") {
                    continue;
                }
                let says =
                    format!("{} was open in {} and is neither open nor resolved here.", issue.id, memory.latest.name());
                let next = format!("Carry it forward with its next action, or resolve it: {}", quoted(&issue.text));
                self.find("SNP-09", None, says, next);
                continue;
            };
            if let Some(watched) = memory.watched.get(&issue.id) {
                let says = format!("{} was opened by the {} gate, and its next run closes it.", issue.id, watched.gate);
                self.find("SNP-09", Some(*line), says, "Carry it forward until then.".to_owned());
            }
        }
        for (id, line) in resolved {
            if !memory.latest.open.iter().any(|issue| issue.id == id) {
                let says = format!("{id} is resolved here and was not open in {}.", memory.latest.name());
                self.find("SNP-09", Some(line), says, "Leave it out.".to_owned());
            }
        }
        for (item, _) in &self.read.open {
            let known = item.id.is_some_and(|id| memory.latest.open.iter().any(|issue| issue.id.0 == id));
            let says = match item.id.map(IssueId) {
                Some(id) if id.0 <= memory.last_issue && !known => {
                    format!("{id} was resolved before; a number is never used twice.")
                }
                Some(id) if id.0 > memory.last_issue + MOST_JUMP => {
                    format!("{id} skips far: the last number that was given is {}.", IssueId(memory.last_issue))
                }
                _ => continue,
            };
            self.find("SNP-09", Some(item.line), says, "Leave the number out: it gets the next.".to_owned());
        }
    }

    /// `SNP-09`: an issue is resolved in its own words, by a check or evidence that is there.
    fn closed(&mut self, state: &State) {
        let memory = self.memory;
        let facts = self.read.evidence.iter().chain(&self.read.context);
        let facts: BTreeSet<u32> = facts.filter_map(|item| item.id).collect();
        for (item, by) in &self.read.resolved {
            let issue = memory.latest.open.iter().find(|issue| Some(issue.id.0) == item.id);
            // What a gate opened its next run closes; that was said.
            let Some(issue) = issue.filter(|issue| !memory.watched.contains_key(&issue.id)) else { continue };
            if !is_same(&item.text, &issue.text) {
                let says = format!("{} is resolved in other words than it was opened with.", issue.id);
                let next = format!("Leave them as they are: {}", quoted(&issue.text));
                self.found.push(Finding::error("SNP-09", says, next).at(self.path, Some(item.line)));
            }
            let why = match words::check(by, state) {
                _ if snapshot::cited(by).iter().any(|id| !facts.contains(&id.0)) => {
                    "a fact that this snapshot does not have".to_owned()
                }
                Err(why) => why,
                Ok(()) => continue,
            };
            let says = format!("{} is closed by {}, which is {why}.", issue.id, quoted(by));
            let next = "Name what closed it: a fact of this snapshot (`F-0003`), a gate and how it went last (`build PASS`), a record of \
                        the ledger (`record 12`), or the test, file or command that shows it, in code marks. What a person said is \
                        evidence: write it there and name its number.";
            self.found.push(Finding::error("SNP-09", says, next).at(self.path, Some(item.line)));
        }
    }

    /// `SNP-08`: a fact keeps its words, and enters the context with what shows it.
    fn facts(&mut self) {
        let latest = &self.memory.latest;
        let known: BTreeMap<u32, &Fact> =
            latest.evidence.iter().chain(&latest.context).map(|fact| (fact.id.0, fact)).collect();
        let evidence: BTreeSet<u32> = latest.evidence.iter().map(|fact| fact.id.0).collect();
        let mut found = Vec::new();
        for item in self.read.evidence.iter().chain(&self.read.context) {
            let Some(id) = item.id else { continue };
            let says = match known.get(&id) {
                Some(fact) if fact.text != item.text => {
                    format!("{} says something else than in {}.", FactId(id), latest.name())
                }
                None if id <= self.memory.last_fact => {
                    format!("{} was another fact before; a number is never used twice.", FactId(id))
                }
                None if id > self.memory.last_fact + MOST_JUMP => {
                    format!(
                        "{} skips far: the last number that was given is {}.",
                        FactId(id),
                        FactId(self.memory.last_fact)
                    )
                }
                _ => continue,
            };
            found.push((item.line, says, "Write what is true now as a fact of its own, without a number.".to_owned()));
        }
        let told: BTreeMap<u32, &str> =
            self.read.evidence.iter().filter_map(|item| Some((item.id?, item.text.as_str()))).collect();
        for item in &self.read.context {
            let other = item.id.and_then(|id| told.get(&id)).is_some_and(|text| *text != item.text);
            if other {
                let says =
                    format!("{} says one thing as evidence and another here.", FactId(item.id.unwrap_or_default()));
                found.push((item.line, says, "Promote a fact in its own words, or write another.".to_owned()));
            }
        }
        let here: BTreeSet<u32> = self.read.evidence.iter().filter_map(|item| item.id).collect();
        for item in &self.read.context {
            let carried = item.id.is_some_and(|id| latest.is_consolidated(FactId(id)));
            let promoted = item.id.is_some_and(|id| evidence.contains(&id) || here.contains(&id));
            if !carried && !promoted && !words::is_shown(&item.text) {
                let says = "This enters the context without anything that shows it.".to_owned();
                let next = "Say what does, `(shown by: …)` or `(given: …)`, or promote a fact of the evidence under its number.";
                found.push((item.line, says, next.to_owned()));
            }
        }
        for (line, says, next) in found {
            self.find("SNP-08", Some(line), says, next);
        }
        self.given();
        self.shown();
        // What a verifier found is not lost before somebody has drawn something from it.
        let audit = self.memory.audit.iter().flat_map(|audit| audit.facts.clone());
        let begins = self.read.slice_id.is_some_and(|id| id != latest.slice_id);
        let kept = self.memory.kept.iter().copied().filter(|_| !begins);
        let report = audit.chain(kept).collect::<BTreeSet<_>>();
        let kept = |id: &FactId| {
            let lists = self.read.evidence.iter().chain(&self.read.context);
            lists.filter_map(|item| item.id).any(|there| there == id.0)
        };
        if let Some(lost) = report.iter().find(|id| !kept(id)) {
            let says = format!("{lost} is not in it any more, and it is of the verifier's report.");
            let next = "Carry the report forward: it stays until another one is handed in, or another slice begins."
                .to_owned();
            self.find("SNP-10", None, says, next);
        }
        let before = self.memory.before.filter(|id| !begins && latest.is_evidence(*id) && !kept(id));
        if let Some(lost) = before {
            let says =
                format!("{lost} is not in it any more, and it tells of the work that was there before the slice.");
            let next = "Carry it forward: it stays until another slice begins.".to_owned();
            self.find("SNP-08", None, says, next);
        }
        let step = self.memory.ladder.as_ref().and_then(|ladder| ladder.fact);
        if let Some(lost) = step.filter(|id| !begins && latest.is_evidence(*id) && !kept(id)) {
            let says = format!("{lost} is not in it any more, and it says how it goes on after the FAIL.");
            let next = "Carry it forward: it stays until the gate is run again.".to_owned();
            self.find("SNP-08", None, says, next);
        }
        let cites = self.read.slice.iter().flat_map(|slice| snapshot::cited(slice));
        let context: BTreeSet<u32> = self.read.context.iter().filter_map(|item| item.id).collect();
        let loose: Vec<FactId> = cites.filter(|id| !context.contains(&id.0)).collect();
        for id in loose {
            let says = format!("The slice rests on {id}, which is not in the Consolidated Context.");
            self.find("SNP-08", self.at(Field::Slice), says, format!("Promote {id} first, with what shows it."));
        }
    }

    /// `SNP-08`: what a person gave stays as it was given, and nothing else goes by a person's name.
    fn given(&mut self) {
        let memory = self.memory;
        let begins = self.read.slice_id.is_some_and(|id| id != memory.latest.slice_id);
        for fact in &memory.latest.context {
            let Some(given) = memory.given.get(&fact.id) else { continue };
            let there = self.read.context.iter().any(|item| item.id == Some(fact.id.0));
            // Those of a slice that begins the bot writes itself.
            if there || begins && given.source == Source::Gates {
                continue;
            }
            let says = format!("{} is not in its Consolidated Context any more, and {}.", fact.id, given.source.why());
            let next = format!("Carry it forward as it is: {}", quoted(&format!("{}: {}", fact.id, fact.text)));
            self.find("SNP-08", None, says, next);
        }
        let own = |item: &Item| item.id.is_some_and(|id| memory.given.contains_key(&FactId(id)));
        let lists = self.read.evidence.iter().chain(&self.read.context);
        let forged: Vec<u32> =
            lists.filter(|item| !own(item) && snapshot::is_marked_as_given(&item.text)).map(|item| item.line).collect();
        for line in forged {
            let says = "It says that a person gave it (`given: … by …`), and no record does.".to_owned();
            let next = "Say where it stands, `(given: scaffolding/scope.md)`, or what shows it, `(shown by: …)`: what people decide \
                        the bot writes down itself.";
            self.find("SNP-08", Some(line), says, next.to_owned());
        }
    }

    /// `SNP-08`: what a fact of the context, or an open issue, names as its evidence is there.
    fn shown(&mut self) {
        let latest = &self.memory.latest;
        let here: BTreeSet<u32> =
            self.read.evidence.iter().chain(&self.read.context).filter_map(|item| item.id).collect();
        let open = self.read.open.iter().map(|(item, _)| item);
        let mut found = Vec::new();
        for item in self.read.context.iter().chain(open) {
            // What was said before in these words rests on what was there then; that may be gone by now, but not by this file.
            let old = latest.context.iter().any(|fact| fact.text == item.text)
                || latest.open.iter().any(|issue| issue.text == item.text);
            let is_lost = |id: &FactId| {
                let was = latest.is_evidence(*id) || latest.is_consolidated(*id);
                !here.contains(&id.0) && (was || !old)
            };
            if let Some(lost) = snapshot::cited(&item.text).into_iter().find(is_lost) {
                found.push((item.line, lost));
            }
        }
        for (line, lost) in found {
            let says = format!("It names {lost}, which this snapshot does not have.");
            self.find("SNP-08", Some(line), says, format!("Carry {lost} forward, or say what else shows it."));
        }
    }

    /// The entries of the evidence that are new here, by their places.
    fn news(&self) -> Vec<(usize, Item)> {
        let old: BTreeSet<u32> = self.memory.latest.evidence.iter().map(|fact| fact.id.0).collect();
        let all = self.read.evidence.iter().enumerate();
        all.filter(|(_, item)| item.id.is_none_or(|id| !old.contains(&id))).map(|(at, one)| (at, one.clone())).collect()
    }

    /// `SNP-11` and `SNP-14`: the entries that are the report of the audit that is owed, if there are any. They are held to what a
    /// report is held to that comes by a comment.
    fn report(&mut self) -> BTreeSet<usize> {
        let is_due = self.memory.is_held() && self.memory.audit.as_ref().is_some_and(|audit| audit.facts.is_empty());
        let mut parts = report::Parts::default();
        let mut places = BTreeSet::new();
        for (at, item) in self.news().into_iter().filter(|_| is_due) {
            if let Some((part, said)) = report::labelled(&item.text) {
                parts[part].push((item.line, said.to_owned()));
                places.insert(at);
            }
        }
        if places.is_empty() {
            return places;
        }
        let found = match report::told(&parts) {
            Ok(report) => undiagnosed(&report).into_iter().collect(),
            Err(found) => found,
        };
        for Finding { rule, line, says, next, .. } in found {
            self.find(&rule, line, says, next);
        }
        places
    }

    /// `SNP-13` and `SNP-07`: scouts tell what is there, and stay within the scope. A verifier looks further.
    fn scouts(&mut self, report: &BTreeSet<usize>) {
        // What was looked at was looked at under the cap that stood then: a wider one counts for the next file.
        let stood = Some(&self.memory.latest.cap).filter(|cap| cap.is_declared());
        let cap = stood.or(self.read.cap.as_ref()).filter(|cap| cap.is_declared()).cloned();
        for (_, item) in self.news().into_iter().filter(|(at, _)| !report.contains(at)) {
            if let Some(word) = words::prescribes(&item.text, false) {
                let says = format!("{} proposes; a scout tells what is there.", quoted(&word));
                self.find(
                    "SNP-13",
                    Some(item.line),
                    says,
                    "Say what was found, and leave what to do to the plan.".to_owned(),
                );
            }
            if let Some(path) = cap.as_ref().and_then(|cap| beyond(cap, &item.text).into_iter().next()) {
                self.outside(item.line, &path);
            }
        }
        // What goes straight into the context was looked at, too: all but what is told already, by whoever could look further.
        let latest = &self.memory.latest;
        let known = latest.evidence.iter().chain(&latest.context).map(|fact| fact.text.as_str());
        let known = known.chain(latest.open.iter().map(|issue| issue.text.as_str()));
        let told = report.iter().filter_map(|at| self.read.evidence.get(*at)).map(|item| item.text.as_str());
        let known: BTreeSet<String> = known.chain(told).flat_map(paths).collect();
        let seen: BTreeSet<u32> = self.read.evidence.iter().filter_map(|item| item.id).collect();
        let new = |item: &&Item| item.id.is_none_or(|id| !latest.is_consolidated(FactId(id)) && !seen.contains(&id));
        let mut found = Vec::new();
        for item in self.read.context.iter().filter(new) {
            let beyond = cap.as_ref().map(|cap| beyond(cap, &item.text)).unwrap_or_default();
            found.extend(beyond.into_iter().find(|path| !known.contains(path)).map(|path| (item.line, path)));
        }
        for (line, path) in found {
            self.outside(line, &path);
        }
    }

    fn outside(&mut self, line: u32, path: &str) {
        let says = format!("It tells of {}, which is outside of the scope.", quoted(path));
        let next = "Revise the scope cap first, in a snapshot of its own or with the command, or leave it out; a file within the \
                    scope has its whole path.";
        self.find("SNP-07", Some(line), says, next.to_owned());
    }
}

/// The paths outside of a cap that a text tells of.
fn beyond(cap: &Cap, text: &str) -> Vec<String> {
    let own = |path: &String| OWN.iter().any(|own| path.starts_with(own));
    paths(text).into_iter().filter(|path| !own(path) && !is_within(cap, path)).collect()
}
