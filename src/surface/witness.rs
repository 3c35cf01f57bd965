//! The anchors on the merge check: what witnesses how long the chains of records were. Nobody but the App can write there.
//!
//! One commit may be the head of several pull requests, and has one check. Each of them keeps its anchor there and leaves the
//! others' as they are: in the run's `external_id`, and where that has no room for all of them, in its text, unseen. What
//! the run says is what the worst of them has to say.

use super::project::{is_verdict, speaker, titled_for};
use super::{Check, Conclusion};
use crate::gate::merge::CHECK_NAME;
use crate::github::calls::checks::{CheckRun, Conclusion as Concluded, Status};
use crate::github::{Repo, Result};
use crate::ids::ChangeNumber;
use crate::ledger::Anchors;

/// The anchors on our merge checks among these runs, of each change the newest.
pub fn anchors(runs: &[CheckRun], app: u64) -> Anchors {
    let ours = |run: &&CheckRun| run.name == CHECK_NAME && run.app.as_ref().is_some_and(|made_by| made_by.id == app);
    runs.iter().filter(ours).map(carried).fold(Anchors::default(), Anchors::newest)
}

/// What a run of ours carries.
pub(super) fn carried(run: &CheckRun) -> Anchors {
    Anchors::read(&run.external_id).newest(Anchors::read(&run.output.text))
}

/// A run's text, which is to stay when the rest is written anew.
pub(super) fn text(run: &CheckRun) -> Option<String> {
    Some(run.output.text.clone()).filter(|text| !text.is_empty())
}

/// How a run carries anchors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Witness {
    anchors: Anchors,
    pub(super) external_id: String,
    pub(super) text: Option<String>,
}

impl Witness {
    /// These, written for one of the changes: its own are in the `external_id` in any case, so that each record makes another.
    pub(super) fn of(anchors: Anchors, change: ChangeNumber) -> Self {
        let external_id = anchors.in_short(change);
        let all = Anchors::read(&external_id) == anchors;
        let text = (!all).then(|| format!("<!-- phasegate:anchors {} -->", anchors.in_full()));
        Self { anchors, external_id, text }
    }

    pub(super) fn shared(&self) -> bool {
        self.anchors.shared()
    }

    pub(super) fn is_on(&self, run: &CheckRun) -> bool {
        carried(run) == self.anchors
    }

    /// Puts it on a run, and nothing else.
    pub(super) async fn put_on(&self, run: &CheckRun, title: &str, repo: &Repo) -> Result<()> {
        let (id, output) = (&self.external_id, &run.output);
        let text = self.text.as_deref().or_else(|| (title != output.title).then_some(output.text.as_str()));
        let output = text.map(|text| (title, output.summary.as_str(), text));
        repo.rename_check_run(run.id, id, output).await.map(drop)
    }
}

/// How bad it is. One that is red for another's sake has nothing of its own to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Badness {
    Fine,
    ForAnother,
    Waits,
    Red,
}

fn badness_of(check: &Check) -> Badness {
    match check.conclusion {
        Conclusion::Success | Conclusion::Neutral => Badness::Fine,
        _ if check.for_another => Badness::ForAnother,
        Conclusion::ActionRequired => Badness::Waits,
        Conclusion::Failure => Badness::Red,
    }
}

fn badness_shown(run: &CheckRun) -> Badness {
    let mut rules = run.output.summary.lines().filter_map(|line| line.split_once("`MRG-").map(|(_, rule)| rule));
    match run.conclusion {
        Some(Concluded::Success | Concluded::Neutral | Concluded::Skipped) => Badness::Fine,
        _ if rules.next().is_some_and(|rule| rule.starts_with("10`")) && rules.all(|rule| rule.starts_with("10`")) => {
            Badness::ForAnother
        }
        Some(Concluded::ActionRequired) => Badness::Waits,
        _ => Badness::Red,
    }
}

/// Whether a merge check that several changes share is to keep what it says: another one's words stand on it, and they are
/// worse; or they are as bad, and what this one had to say when it was last recorded has been written. One whose words stand
/// there takes them off when it is closed, merged or moves on. Whoever is green has asked all others.
pub(super) fn keeps_its_words(check: &Check, run: &CheckRun, witness: &Witness, pull: u64) -> bool {
    let another = speaker(&run.output.title).is_some_and(|number| number != pull);
    let (mine, shown) = (badness_of(check), badness_shown(run));
    check.name == CHECK_NAME
        && witness.shared()
        && another
        && run.status == Status::Completed
        && is_verdict(&run.output.title)
        && ((mine < shown && mine != Badness::Fine) || (mine == shown && witness.is_on(run)))
}

/// Whether a run that several changes share shows what this one had to say.
pub(super) fn speaks_for(run: &CheckRun, pull: u64) -> bool {
    speaker(&run.output.title) == Some(pull) && is_verdict(&run.output.title)
}

/// The title of a run that spoke for a change which was merged.
pub(super) fn merged(pull: u64) -> String {
    titled_for(pull, "Merged")
}
