//! What a phase has to leave behind in `STATE.md` before the next one begins (`TSK-03`).

use super::sheet::{Checked, Field, STATE, Sheet};
use crate::finding::Finding;
use crate::flow::task::Stage;
use crate::gate::paper::text;

/// The rule of a phase's exit condition.
pub const EXIT: &str = "TSK-03";
/// The rule of the checklist that people's features want.
pub const FEATURES: &str = "TSK-06";
/// The rule of the link to the evidence.
pub const LINK: &str = "TSK-07";
/// The rule of what was repaired and not looked at again.
pub const REPAIRED: &str = "TSK-08";

/// What is to be said before the task is locked into execution.
const FRAME: [(Field, &str); 4] = [
    (Field::Objective, "what is true when it is done"),
    (Field::DoneGate, "what has to be shown for that"),
    (Field::NotDoing, "what it leaves out, or `none`"),
    (Field::Constraints, "what can't be changed, or `none`"),
];

/// What the claim lacks to go on from a phase in the way that is meant: not to `repair`, not to `blocked`, and not to a person.
pub fn lacks(path: &str, sheet: &Sheet, phase: Stage) -> Vec<Finding> {
    let mut lacks = Lacks { path, sheet, phase, found: Vec::new() };
    match phase {
        Stage::Intake => lacks.frame(),
        Stage::Shape => {
            lacks.frame();
            lacks.said(Field::ValidationPlan, "the commands and scenarios that will show it");
            lacks.checklist();
        }
        Stage::Implement => {
            lacks.is(sheet.candidate_done, Field::CandidateDone, "yes", "There is no candidate yet.");
            lacks.said(Field::EvidenceLocation, "where the proof is to be found");
        }
        Stage::Verify => lacks.verified(),
        Stage::Repair => {
            lacks.is(sheet.repair_applied, Field::RepairApplied, "yes", "Nothing is repaired yet.");
            let open = sheet.revalidation == Checked::Pending;
            lacks.is(open, Field::RevalidationStatus, "pending", "What was repaired is to be verified anew.");
        }
        Stage::Review => {
            lacks.verified();
            lacks.checklist();
            lacks.link();
        }
        Stage::Done | Stage::Blocked | Stage::NeedsUserDecision => {}
    }
    lacks.found
}

struct Lacks<'s> {
    path: &'s str,
    sheet: &'s Sheet,
    phase: Stage,
    found: Vec<Finding>,
}

impl Lacks<'_> {
    fn find(&mut self, rule: &str, field: Field, says: String, next: String) {
        let finding = Finding::error(rule, says, next).at(self.path, self.sheet.line(field));
        self.found.push(finding);
    }

    fn frame(&mut self) {
        for (field, what) in FRAME {
            self.said(field, what);
        }
    }

    fn said(&mut self, field: Field, what: &str) {
        let none = matches!(field, Field::NotDoing | Field::Constraints) && text::is_none(self.sheet.value(field));
        if !none && !self.sheet.says(field) {
            let phase = self.phase;
            self.find(
                EXIT,
                field,
                format!("`{field}:` says nothing, and `{phase}` asks for it."),
                format!("Say {what}."),
            );
        }
    }

    fn is(&mut self, so: bool, field: Field, word: &str, says: &str) {
        if !so {
            let next = format!("When that is done, write `{field}: {word}`.");
            self.find(EXIT, field, says.to_owned(), next);
        }
    }

    fn verified(&mut self) {
        let sheet = self.sheet;
        let passed = sheet.validator == Checked::Pass;
        self.is(passed, Field::ValidatorStatus, "pass", "Not every check of the validation plan has passed.");
        if sheet.repair_applied && sheet.revalidation != Checked::Pass {
            let says = "Something was repaired, and it was not verified again.".to_owned();
            let next = "Verify again what the plan asks for; then write `Revalidation status: pass`.".to_owned();
            self.find(REPAIRED, Field::RevalidationStatus, says, next);
        }
        self.said(Field::EvidenceLocation, "where the proof is to be found");
    }

    fn checklist(&mut self) {
        if self.sheet.user_facing == Some(true) && self.sheet.features.is_empty() {
            let says = "People see something of it, and no feature is listed.".to_owned();
            let next = format!("List each below `## Visible features` of {STATE}: `- NAME: real_working`.");
            self.find(FEATURES, Field::UserFacing, says, next);
        }
    }

    /// An address that opens wherever it is read.
    fn link(&mut self) {
        let link = self.sheet.value(Field::EvidenceLink).trim();
        if !is_full(link) {
            let says = match link.is_empty() {
                true => "`Evidence link:` has none.".to_owned(),
                false => "`Evidence link:` is no full address.".to_owned(),
            };
            let next = "Write the address under which the evidence opens in a browser, with `https://`.".to_owned();
            self.find(LINK, Field::EvidenceLink, says, next);
        }
    }
}

/// `https://…`, also as `[text](https://…)` or in angle brackets.
pub(super) fn is_full(link: &str) -> bool {
    let inner = link.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    let inner = inner.or_else(|| link.strip_suffix(')').and_then(|rest| rest.rsplit_once("](")).map(|(_, at)| at));
    let address = inner.unwrap_or(link);
    let rest = ["https://", "http://"].into_iter().find_map(|scheme| address.strip_prefix(scheme));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/') && !rest.contains(char::is_whitespace))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::task::Stage;
    use crate::gate::task::sheet::{read, tests::template};

    fn rules(text: &str) -> Vec<(String, Option<u32>)> {
        let sheet = read(STATE, text.as_bytes()).unwrap_or_else(|found| panic!("{found:#?}"));
        lacks(STATE, &sheet, sheet.phase).into_iter().map(|finding| (finding.rule, finding.line)).collect()
    }

    fn with(text: &str, changes: &[(Field, &str)]) -> String {
        let write =
            |text: String, (field, value): &(Field, &str)| read(STATE, text.as_bytes()).unwrap().with(*field, value);
        changes.iter().fold(text.to_owned(), write)
    }

    const FRAMED: [(Field, &str); 4] = [
        (Field::Objective, "The lamp can be dimmed in steps of ten."),
        (Field::DoneGate, "Each step is seen on the meter."),
        (Field::NotDoing, "none"),
        (Field::Constraints, "The old dimmer stays."),
    ];

    #[test]
    fn each_phase_asks_for_what_it_leaves_behind() {
        let new = template();
        assert_eq!(rules(&new).len(), 4, "the frame");
        let framed = with(&new, &FRAMED);
        assert!(rules(&framed).is_empty());
        let shape = with(&framed, &[(Field::Phase, "shape")]);
        assert_eq!(rules(&shape).len(), 1, "a plan");
        let planned = with(&shape, &[(Field::ValidationPlan, "- cargo test dim\n- turn the knob, look at the meter")]);
        assert!(rules(&planned).is_empty());
        let seen = with(&planned, &[(Field::UserFacing, "yes")]);
        assert_eq!(rules(&seen)[0].0, "TSK-06");
        assert!(rules(&format!("{seen}\n- the knob: real_working\n")).is_empty());
        let building = with(&planned, &[(Field::Phase, "implement")]);
        assert_eq!(rules(&building).iter().map(|(rule, _)| rule.as_str()).collect::<Vec<_>>(), ["TSK-03", "TSK-03"]);
        let handed_in = with(&building, &[(Field::CandidateDone, "yes"), (Field::EvidenceLocation, "EVIDENCE.md")]);
        assert!(rules(&handed_in).is_empty());
        let verify = with(&handed_in, &[(Field::Phase, "verify")]);
        assert_eq!(rules(&verify).len(), 1);
        let green = with(&verify, &[(Field::ValidatorStatus, "pass")]);
        assert!(rules(&green).is_empty());
        let repaired = with(&green, &[(Field::RepairApplied, "yes")]);
        assert_eq!(rules(&repaired)[0].0, "TSK-08");
        let again = with(&repaired, &[(Field::RevalidationStatus, "pass")]);
        assert!(rules(&again).is_empty());
        let review = with(&again, &[(Field::Phase, "review")]);
        assert_eq!(rules(&review)[0].0, "TSK-07");
        assert!(
            rules(&with(&review, &[(Field::EvidenceLink, "https://files.example.org/lamp/evidence.html")])).is_empty()
        );
        let repair = with(&again, &[(Field::Phase, "repair"), (Field::RevalidationStatus, "fail")]);
        assert_eq!(rules(&repair).len(), 1);
        assert!(rules(&with(&repair, &[(Field::RevalidationStatus, "pending")])).is_empty());
        for ended in Stage::ALL.into_iter().filter(|stage| stage.is_terminal()) {
            assert!(rules(&with(&new, &[(Field::Phase, ended.as_str())])).is_empty(), "{ended}");
        }
    }

    #[test]
    fn a_claim_follows_on_the_one_before_it() {
        use crate::gate::task::follows;
        let sheet = |text: &str| read(STATE, text.as_bytes()).unwrap();
        let new = template();
        let told = |before: Option<&str>, now: &str| -> Vec<String> {
            let before = before.map(sheet);
            follows(STATE, before.as_ref(), &sheet(now)).into_iter().map(|finding| finding.rule).collect()
        };
        assert!(told(None, &new).is_empty());
        let done = with(&new, &[(Field::Phase, "done")]);
        assert_eq!(told(None, &done), ["TSK-01"], "a task begins with its intake");
        assert_eq!(told(Some(&new), &done), ["TSK-01"]);
        let shape = with(&new, &[(Field::Phase, "shape")]);
        assert_eq!(told(Some(&new), &shape).len(), 4, "the frame is not there");
        let framed = with(&shape, &FRAMED);
        assert!(told(Some(&new), &framed).is_empty());
        assert!(told(Some(&framed), &with(&framed, &[(Field::Phase, "blocked")])).is_empty(), "it may always be said");
        let repair = with(&framed, &[(Field::Phase, "repair")]);
        assert!(told(Some(&with(&framed, &[(Field::Phase, "verify")])), &repair).is_empty());
        assert_eq!(told(Some(&repair), &with(&framed, &[(Field::Phase, "review")])), ["TSK-08"]);
        let blocked = with(&framed, &[(Field::Phase, "blocked")]);
        assert_eq!(told(Some(&blocked), &framed), ["TSK-01"], "a person takes it up");
    }

    #[test]
    fn placeholders_say_nothing() {
        for nothing in ["TBD", "to be decided", "…", "[your objective]", "<!-- later -->", "-"] {
            let text = with(&template(), &FRAMED);
            let text = with(&text, &[(Field::Objective, nothing)]);
            assert_eq!(rules(&text).len(), 1, "{nothing}");
        }
    }

    #[test]
    fn a_link_opens_wherever_it_is_read() {
        for full in ["https://a.example/x", "[the page](https://a.example/x)", "<https://a.example/x>", "http://a/b"] {
            assert!(is_full(full), "{full}");
        }
        for bare in [
            "artifacts/evidence.html",
            "/home/ada/x.html",
            "file:///x",
            "https://",
            "https:///x",
            "none",
            "https://a b",
        ] {
            assert!(!is_full(bare), "{bare}");
        }
    }
}
