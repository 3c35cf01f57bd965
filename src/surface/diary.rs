//! The diary in words: what was tried before at a gate, and what belongs into `scaffolding/log.md`.

use super::Seen;
use super::text::plain_to;
use crate::flow::Stage;
use crate::gate::papers::LOG;
use crate::gate::phase::Outcome;
use crate::ledger::State;
use crate::policy::LogWrite;

/// What was learned when this gate blocked before, while it fails again.
pub(super) fn tried_before(state: &State, seen: &Seen<'_>) -> Option<String> {
    let (phase, judged) = seen.phase?;
    let pipeline = state.pipeline.as_ref().filter(|pipeline| pipeline.stage != Stage::BlockedOnGate)?;
    let fails = judged.outcome == Outcome::Fail || pipeline.fails(*phase) > 0;
    let learned = state.diary.learned.get(phase).filter(|_| fails && state.open)?;
    let [wrong, differently, avoid] = learned.parts();
    Some(format!(
        "**Tried before:** {} was blocked (record {}). {} {} {}\n",
        phase.as_str().to_uppercase(),
        learned.record,
        plain_to(300, &wrong),
        plain_to(400, &differently),
        plain_to(300, &avoid)
    ))
}

/// What belongs into the log and is not there: a line for each run that counted, and what was learned of a block.
pub(super) fn to_append(state: &State, seen: &Seen<'_>) -> Option<String> {
    let write = seen.world.policy().map(|policy| policy.log.write)?;
    // Where the bot can't write it itself, somebody has to.
    let wanted = write == LogWrite::Propose || write == LogWrite::Commit && !seen.world.bot_may_commit();
    let subject = seen.world.subject.as_ref().filter(|_| wanted && state.open && state.pipeline.is_some())?;
    let all = state.diary.untold(state.change, &subject.logged);
    let newest = all.len().saturating_sub(MOST);
    let text: String = all.into_iter().skip(newest).collect();
    (!text.is_empty()).then(|| {
        format!(
            "<details><summary>What belongs into <code>{LOG}</code></summary>\n\nAppend it with the next push:\n\n```markdown\n{text}```\n\n\
             </details>\n"
        )
    })
}

/// So many entries are shown at once.
const MOST: usize = 12;
