//! Whether the gate is still required where it once was: a ruleset that is taken away is told to a person.
//!
//! GitHub tells an App of rulesets only where it may administer the repository, which this one may not. So the rules of the
//! branch are read when a change into it is looked at, now and then. Since when they have required the gate is kept in the
//! memory; who has lost it begins anew with what is there. What is found goes through the inbox under a name that is the same
//! for whoever finds it, so it is recorded once, with the change at which it was noticed. A run in a workflow has no memory,
//! and looks for nothing.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::pass::Pass;
use super::route::{Halt, derived};
use crate::fact::Fact;
use crate::gate::merge::CHECK_NAME;
use crate::gate::world::World;
use crate::github::calls::rules::Rule;
use crate::policy::Enforce;
use crate::surface::sync::Memory as _;

/// So long the rules are not read again.
const EVERY: SignedDuration = SignedDuration::from_mins(10);

/// What is known of a branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    looked: Timestamp,
    /// Since when the gate is known to be required. None: it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since: Option<Timestamp>,
}

impl Known {
    fn is_fresh(&self, now: Timestamp) -> bool {
        self.looked.checked_add(EVERY).is_ok_and(|until| until > now)
    }

    /// What is known after a look, and since when and until when the gate was seen to be required that is not required any more.
    fn after(self, guarded: bool, now: Timestamp) -> (Self, Option<(Timestamp, Timestamp)>) {
        let lost = self.since.filter(|_| !guarded).map(|since| (since, self.looked));
        let since = guarded.then(|| self.since.unwrap_or(now));
        (Self { looked: now, since }, lost)
    }
}

/// Whether one of the rules requires the gate from this App. From anybody, it is required of whoever can post a check.
fn guards(rules: &[Rule], app: u64) -> bool {
    rules.iter().flat_map(Rule::required_checks).any(|(name, pinned)| name == CHECK_NAME && pinned == Some(app))
}

impl Pass<'_> {
    /// Looks whether the gate is still required on the branch that the change goes into, where that is due.
    pub(super) async fn watch_rules(&self, number: u64, world: &World) -> Result<(), Halt> {
        let base = &world.pull.base_ref;
        let holds = self.policy().is_some_and(|policy| {
            policy.enforce == Enforce::Enforce && policy.may_merge_into(base, &world.default_branch)
        });
        if !holds || !self.app.remembers() {
            return Ok(());
        }
        let (now, key) = (self.app.inbox.now(), format!("rules:{base}"));
        let known = self.memory.recall(&key).await.and_then(|text| serde_json::from_str::<Known>(&text).ok());
        if known.as_ref().is_some_and(|known| known.is_fresh(now)) {
            return Ok(());
        }
        let known = known.unwrap_or(Known { looked: now, since: None });
        let rules = match self.repo.rules_for_branch(base).await {
            Ok(rules) => rules,
            Err(error) => {
                // Nothing waits for it, and the next look asks again.
                tracing::warn!(%error, base, "the rules of the branch can't be read");
                return Ok(());
            }
        };
        let (known, lost) = known.after(guards(&rules, self.app.id), now);
        if let Some((since, seen)) = lost {
            let guid = format!("unguarded/{}/{base}/{}", self.home.id.0, since.as_second());
            let fact = Fact::Unguarded { number, branch: base.clone(), since, seen };
            if let Some(told) = derived(&guid, self.home, number, fact) {
                self.app.inbox.put(&told).await?;
            }
        }
        self.memory.keep(&key, &serde_json::to_string(&known)?).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rule(checks: &serde_json::Value) -> Rule {
        let rule = json!({ "type": "required_status_checks", "parameters": { "required_status_checks": checks } });
        serde_json::from_value(rule).unwrap()
    }

    #[test]
    fn only_a_rule_that_names_the_app_guards() {
        let app = 7;
        let named = |name: &str, app: Option<u64>| json!([{ "context": name, "integration_id": app }]);
        assert!(guards(&[rule(&named("lint", None)), rule(&named(CHECK_NAME, Some(7)))], app));
        for checks in [named(CHECK_NAME, None), named(CHECK_NAME, Some(8)), named("lint", Some(7)), json!([])] {
            assert!(!guards(&[rule(&checks)], app), "{checks}");
        }
        assert!(!guards(&[], app));
        let mut other = rule(&named(CHECK_NAME, Some(7)));
        other.kind = "workflows".to_owned();
        assert!(!guards(&[other], app));
    }

    #[test]
    fn what_was_never_required_is_not_lost_and_what_was_is_lost_once() {
        let at = |minutes: i64| Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minutes);
        let begin = Known { looked: at(0), since: None };
        let (never, lost) = begin.clone().after(false, at(10));
        assert_eq!((never.since, lost), (None, None));
        let (guarded, lost) = never.after(true, at(20));
        assert_eq!((guarded.since, lost), (Some(at(20)), None));
        let (guarded, lost) = guarded.after(true, at(30));
        assert_eq!((guarded.since, lost), (Some(at(20)), None), "since it was seen first");
        assert!(guarded.is_fresh(at(39)) && !guarded.is_fresh(at(40)));
        let (gone, lost) = guarded.after(false, at(40));
        assert_eq!((gone.since, lost), (None, Some((at(20), at(30)))));
        let (gone, lost) = gone.after(false, at(50));
        assert_eq!((gone.since, lost), (None, None), "it is told once");
        let (back, _) = gone.after(true, at(60));
        assert_eq!(back.after(false, at(70)).1, Some((at(60), at(60))), "another removal is another one");
    }
}
