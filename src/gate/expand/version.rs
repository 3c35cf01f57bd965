//! The scope of another round: the next version, with the changes that were confirmed, and the one before kept as it was.

use super::super::aside::named;
use super::super::paper::{Paper, text};
use super::super::papers::{Desk, Followed, Found, SCOPE};

/// The version that a scope says it is: `Version: 2`.
pub(in crate::gate) fn version(paper: &Paper) -> Option<u32> {
    paper.lines().iter().find_map(|line| {
        let words = text::words(&line.text);
        words.windows(2).find(|two| two[0] == "version").and_then(|two| two[1].parse().ok())
    })
}

/// `EXP-13`
pub(super) fn unversioned(desk: &Desk<'_>) -> Vec<Found> {
    let (Some(paper), Some(followed)) = (&desk.scope, &desk.papers.round) else { return Vec::new() };
    let round = match followed {
        Followed::Round(round) => round,
        Followed::Nothing(of) => {
            let says = format!("`Phasegate-Change: {of}` names a change that has no confirmed round.");
            return vec![
                Found::in_file(SCOPE, says).next("Take the line out, or name the change whose round this is."),
            ];
        }
    };
    let mut found = Vec::new();
    let next = round.version + 1;
    if version(paper) != Some(next) {
        let says = format!("This is not version {next} of the scope.");
        found.push(Found::in_file(SCOPE, says).next(format!("Write `Version: {next}` into it.")));
    }
    let told = named(&paper.everything());
    for id in round.accepted.iter().flatten().filter(|id| !told.contains(*id)) {
        let says = format!("`{id}` was confirmed for this round, and scope does not name it.");
        found.push(Found::in_file(SCOPE, says).next("Name it at the criterion that it became."));
    }
    let criteria: Vec<String> = super::criteria(paper).into_iter().map(|(_, item)| item.from_start()).collect();
    let brought = named(&criteria.join("\n"));
    let out = |id: &&String| round.accepted.as_ref().is_some_and(|accepted| !accepted.contains(*id));
    for id in round.changes.iter().map(|change| &change.id).filter(out).filter(|id| brought.contains(*id)) {
        let says = format!("`{id}` was proposed and not confirmed for this round, and a criterion brings it.");
        found.push(
            Found::in_file(SCOPE, says).next(
                "Take the criterion out, or put it under Deferred; whoever decides confirms it in another round.",
            ),
        );
    }
    let kept = desk.papers.kept.as_ref().and_then(|sheet| sheet.blob.as_ref());
    if let (Some(path), Some(scope)) = (followed.keeps(), &round.scope)
        && kept != Some(scope)
    {
        let says = format!("`{path}` is not the scope that was delivered.");
        found.push(Found::in_file(SCOPE, says).next(format!("Copy the delivered scope to `{path}`, as it was.")));
    }
    found
}
