//! What is bound to which content, and what the same work brings along under another number.

use std::collections::BTreeSet;

use super::decide::Draft;
use crate::flow::{FlowName, Mode, Refusal};
use crate::gate::review::{self, findings};
use crate::ids::Digest;
use crate::ledger::objection::objectors;
use crate::ledger::origin::{Inherited, Now};
use crate::ledger::{About, Body, By};
use crate::policy::Autonomy;

/// What was tightened for an earlier change of the same work is not loosened by a new number.
pub(super) fn tightened(
    draft: &Draft<'_>,
    policy: &Digest,
    (mut flow, mut mode, mut autonomy): (FlowName, Mode, Autonomy),
) -> (FlowName, Mode, Autonomy) {
    for earlier in draft.world.earlier.iter().filter(|earlier| earlier.policy.as_ref() == Some(policy)) {
        flow = flow.max(earlier.flow);
        autonomy = autonomy.min(earlier.autonomy);
        if earlier.mode == Mode::Stepped {
            mode = Mode::Stepped;
        }
    }
    (flow, mode, autonomy)
}

/// Takes over what stands against other changes of the same work, as far as it is news.
pub(super) fn inherit(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let world = draft.world;
    let runs: BTreeSet<u64> = world.checks.iter().map(|run| run.id).collect();
    let subject = world.subject.as_ref();
    let now = Now {
        base_ref: &world.pull.base_ref,
        head: &world.pull.head,
        patch: subject.and_then(|subject| subject.patch.as_ref()),
        commits: subject.map(|subject| subject.commits.as_slice()).unwrap_or_default(),
        runs: &runs,
    };
    for earlier in &world.earlier {
        if let Some(taken) = Inherited::of(earlier, &draft.state, &world.earlier, &now) {
            draft.bot(Body::Inherited(Box::new(taken)))?;
        }
    }
    Ok(())
}

/// Lets go of those who worked on another change whose commits were in this one, and are in its base now. If it was green
/// when it was merged, whoever was against it was so no more.
pub(super) fn release(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    for (from, green) in draft.world.landed.clone() {
        if !draft.state.released.contains(&from) {
            draft.bot(Body::Released { from, green })?;
        }
    }
    Ok(())
}

/// Notes who asks for changes on a pull request that is closed: the same work may come again under another number.
pub(super) fn objections(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let Some(policy) = draft.world.policy().filter(|_| draft.state.subject.is_some()) else { return Ok(()) };
    let evidence = review::approvals(policy, &draft.state, draft.world).evidence;
    if objectors(&evidence) == draft.state.objectors {
        return Ok(());
    }
    draft.bot(Body::Objected { evidence })
}

/// Writes down what the blocks of reviews say, when they are first read: a review can be edited.
pub(super) fn reviewed(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let Some(policy) = draft.world.policy().filter(|_| draft.state.subject.is_some()) else { return Ok(()) };
    for given in findings::fresh(policy, &draft.state, draft.world) {
        let person = By::Person { person: given.by.clone(), role: given.role.clone() };
        draft.by(person, Body::Reviewed(Box::new(given)))?;
    }
    Ok(())
}

/// Whether the content is another one while the head is not: the base, the target or the policy moved under it.
fn moved_under(draft: &Draft<'_>, now: &About) -> bool {
    draft.state.subject.as_ref().is_some_and(|old| old.head == now.head && old.content != now.content)
}

/// Whether something was there before the base and the law were as they are now. In doubt it was.
fn older(draft: &Draft<'_>, at: Option<jiff::Timestamp>) -> bool {
    !matches!((at, draft.world.settled), (Some(at), Some(settled)) if at > settled)
}

/// Reviews of this head that nobody saw before its content became another one under it.
pub(super) fn older_reviews(draft: &Draft<'_>, now: &About) -> BTreeSet<u64> {
    if !moved_under(draft, now) {
        return BTreeSet::new();
    }
    let reviews = draft.world.reviews.iter().filter(|review| review.commit.as_ref() == Some(&now.head));
    let unseen = reviews.filter(|review| !draft.state.reviewed.contains_key(&review.id));
    unseen.filter(|review| older(draft, review.submitted_at)).map(|review| review.id).collect()
}

/// The same for runs of the checks that policy names.
pub(super) fn older_runs(draft: &Draft<'_>, now: &About) -> BTreeSet<u64> {
    if !moved_under(draft, now) {
        return BTreeSet::new();
    }
    let named = |name: &str| {
        draft.world.policy().is_none_or(|policy| policy.gates.verify.checks.iter().any(|check| check.name == name))
    };
    let runs = draft.world.checks.iter().filter(|run| !draft.world.is_ours(run) && named(&run.name));
    let unseen = runs.filter(|run| !draft.state.ran_for.contains_key(&run.id));
    unseen.filter(|run| older(draft, run.started_at)).map(|run| run.id).collect()
}
