//! The witness of a change's end. What happens after a merge or a closing is recorded too, and nothing else is written
//! to the merge check then: without an anchor of its own, the end of the chain could be cut off unseen, and with it the
//! record that somebody went around the gate.

use super::sync::{Present, ours};
use super::witness::{self, Witness};
use crate::gate::merge::CHECK_NAME;
use crate::github::Result;
use crate::github::calls::checks::{Buttons, Report, Standing, Verdict};
use crate::ledger::{Anchor, Anchors, State};

/// Puts the newest record's anchor on the merge check of a change that is merged or closed.
pub(super) async fn anchor(state: &State, present: &Present<'_>) -> Result<()> {
    if state.open {
        return Ok(());
    }
    let newest = Anchor::newest(state);
    match (ours(present.runs, present.app, CHECK_NAME), &state.merged) {
        (Some(run), _) => {
            let anchors = witness::carried(run).with(Anchors::read(&newest.to_string()));
            let witness = Witness::of(anchors, state.change);
            if !witness.is_on(run) {
                // Whoever shares the check is not to be held up by what was said of this one.
                let over = state.merged.is_some() && witness::speaks_for(run, present.pull);
                let title = if over { witness::merged(present.pull) } else { run.output.title.clone() };
                witness.put_on(run, &title, present.repo).await?;
            }
        }
        // It was merged before anybody could look. That has to be witnessed all the more.
        (None, Some(merged)) => {
            let around = !merged.bypassed.is_empty();
            let rules: Vec<String> = merged.bypassed.iter().map(|rule| format!("`{rule}`")).collect();
            let report = Report {
                standing: Standing::Completed(if around { Verdict::Failure } else { Verdict::Neutral }),
                title: if around { "Merged around the gate" } else { "Merged" }.to_owned(),
                summary: if around {
                    format!("It was merged although these were red or had not been looked at: {}.", rules.join(", "))
                } else {
                    "It was merged before it was looked at.".to_owned()
                },
                text: None,
                details_url: None,
                annotations: Vec::new(),
                buttons: Buttons::default(),
            };
            present.repo.create_check_run(CHECK_NAME, present.head, &newest.to_string(), &report).await?;
        }
        (None, None) => {}
    }
    Ok(())
}
