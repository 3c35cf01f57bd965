//! Whose approvals count, and who is against a change. What reviewers found is read by [`block`] and judged by [`findings`].

pub mod block;
pub mod findings;

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::quoted;
use crate::gate::people::{May, Standing};
use crate::gate::world::{Review, World};
use crate::ids::Person;
use crate::ledger::objection::Rejection;
use crate::ledger::record::{By, Evidence};
use crate::ledger::state::State;
use crate::policy::{Commands, Policy};

/// Approvals of this content by entitled people who are not operators, and who asks for changes.
pub fn approvals(policy: &Policy, state: &State, world: &World) -> Approvals {
    let unknown = !policy.people.solo && state.operators.iter().any(Person::is_unknown);
    let mut approvals = Approvals { unknown, ..Approvals::default() };
    let Some(about) = &state.subject else { return approvals };
    let operator = |id: u64| state.operators.iter().any(|person| person.id == id);

    // A person's newest review is the one that holds. Remarks without a verdict leave the earlier one standing.
    let mut latest: BTreeMap<u64, &Review> = BTreeMap::new();
    for review in world.reviews.iter().filter(|review| review.state != "COMMENTED" && review.state != "PENDING") {
        latest.insert(review.by.id, review);
    }
    let of = |review: &Review| {
        let commit = review.commit.as_ref().filter(|commit| state.heads.contains_key(*commit))?;
        state.reviewed.get(&review.id).or_else(|| state.heads.get(commit))
    };
    // Whoever asked for changes, or rejected it, and has approved it in a review since, has taken that back; who asks for
    // changes here says it here.
    let spoken = |rejection: &Rejection, by: u64| {
        latest.get(&by).is_some_and(|review| match review.state.as_str() {
            "APPROVED" => rejection.is_lifted_by(review.id, review.submitted_at, of(review), &about.content),
            state => rejection.standing && state == "CHANGES_REQUESTED",
        })
    };
    for review in latest.values().copied() {
        let for_this = of(review) == Some(&about.content);
        let self_approved = operator(review.by.id);
        let objects = review.state == "CHANGES_REQUESTED";
        // It is theirs to take back, by a newer review. Otherwise whoever stands to gain could dismiss it.
        let dismissed = review.state == "DISMISSED" && state.objections.get(&review.id) == Some(&about.content);
        let discounted = if objects || dismissed {
            (!May::Object.allows(review.standing)).then(|| "they have no write access".to_owned())
        } else if review.state != "APPROVED" {
            Some("it was dismissed".to_owned())
        } else if review.by.bot {
            Some("bots never approve".to_owned())
        } else if !May::Approve.allows(review.standing) {
            Some(not_entitled(review.standing))
        } else if self_approved && !policy.people.solo {
            Some("they wrote or pushed to this change".to_owned())
        } else if !for_this {
            Some("it is for other content than this".to_owned())
        } else if state.spent_reviews.contains(&review.id) {
            Some("it was given for another base branch".to_owned())
        } else {
            None
        };
        match (&discounted, review.state.as_str()) {
            (None, "CHANGES_REQUESTED") => {
                let says = match review.says.as_str() {
                    "" => "asks for changes".to_owned(),
                    text => format!("asks for changes: {}", quoted(text)),
                };
                approvals.against.push(Objection::new(&review.by, &says, Lifted::Review));
            }
            (None, "DISMISSED") => {
                let says = "asks for changes (that it was dismissed takes nothing back for this content)";
                approvals.against.push(Objection::new(&review.by, says, Lifted::Review));
            }
            (None, _) => approvals.count(&review.by),
            (Some(why), "APPROVED") => {
                approvals.discounted.push((review.by.login.clone(), why.clone()));
            }
            _ => {}
        }
        approvals.evidence.push(Evidence::Review {
            by: review.by.clone(),
            role: review.standing.role.as_str().to_owned(),
            review: Some(review.id),
            commit: review.commit.clone().unwrap_or_else(|| about.head.clone()),
            state: review.state.clone(),
            at: review.submitted_at,
            self_approved: self_approved && discounted.is_none(),
            discounted,
        });
    }
    for rejection in state.rejections.iter().filter(|rejection| rejection.is_for(&about.content)) {
        if let By::Person { person, .. } = &rejection.by {
            if spoken(rejection, person.id) {
                continue;
            }
            // Who could not say it any more does not say it.
            if world.standings.get(&person.id).is_some_and(|now| !May::Object.allows(*now)) {
                continue;
            }
            let says = format!("rejects it: {}", quoted(&rejection.reason));
            let lifted = if rejection.standing { Lifted::Anybody } else { Lifted::Approval };
            approvals.against.push(Objection::new(person, &says, lifted));
        }
    }
    for approval in state.approvals.iter().filter(|approval| approval.content == about.content) {
        let By::Person { person, role } = &approval.by else { continue };
        // They may have pushed since, they may not have the role any more (whoever gave it in this look has just been
        // asked), and the policy may have changed its mind about a single maintainer.
        let self_approved = operator(person.id);
        let now = world.standings.get(&person.id);
        let discounted = match now {
            Some(now) if !May::Approve.allows(*now) => Some(not_entitled(*now)),
            _ => (self_approved && !policy.people.solo).then(|| "they wrote or pushed to this change".to_owned()),
        };
        approvals.evidence.push(Evidence::Review {
            by: person.clone(),
            role: now.map_or_else(|| role.clone(), |now| now.role.as_str().to_owned()),
            review: None,
            commit: approval.head.clone(),
            state: "APPROVED".to_owned(),
            at: None,
            self_approved: self_approved && discounted.is_none(),
            discounted: discounted.clone(),
        });
        match discounted {
            Some(why) => approvals.discounted.push((person.login.clone(), why)),
            None => approvals.count(person),
        }
    }
    approvals
}

const ONE_MORE: &str = "It takes one more than usual: the branch was pushed to, and GitHub did not tell by whom (no event came, \
                        and when this head was looked at, `GET /repos/{owner}/{repo}/activity` of its repository did not \
                        have that push), so it may have been somebody who approves. Where nobody else can, the same work is opened as another pull \
                        request: whoever opens it answers for what is there.";

fn not_entitled(standing: Standing) -> String {
    format!("their role is {}; approving is for {}", standing.role.as_str(), May::Approve.who())
}

/// Somebody who is against it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objection {
    pub login: String,
    pub says: String,
    pub lifted: Lifted,
}

/// By what an objection is lifted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifted {
    /// A new review of theirs.
    Review,
    /// Their approval.
    Approval,
    /// A review of theirs here, or a word of anybody who may approve: they asked for changes under an earlier number.
    Anybody,
}

impl Objection {
    fn new(by: &Person, says: &str, lifted: Lifted) -> Self {
        Self { login: by.login.clone(), says: says.to_owned(), lifted }
    }

    /// What to do about it.
    pub fn next(&self, commands: &Commands) -> String {
        let by = match self.lifted {
            Lifted::Review => "a new review of theirs lifts it".to_owned(),
            Lifted::Approval => {
                format!("their `{}`, or a review of theirs that approves it, lifts it", commands.written("approve"))
            }
            Lifted::Anybody => {
                let unblock = commands.written("unblock");
                format!(
                    "their review here lifts it; if they can't give one, `{unblock} REASON` by another maintainer does"
                )
            }
        };
        format!("Settle it with `{}`: {by}.", self.login)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Approvals {
    pub evidence: Vec<Evidence>,
    /// Those whose approval counts: their ids, because a login can change, and their logins.
    pub by: BTreeMap<u64, String>,
    pub against: Vec<Objection>,
    /// Approvals that do not count, and why.
    pub discounted: Vec<(String, String)>,
    /// Somebody pushed of whom nobody told who it is: they may be one of those who approve.
    pub unknown: bool,
}

impl Approvals {
    fn count(&mut self, person: &Person) {
        self.by.insert(person.id, person.login.clone());
    }

    /// How many it takes where so many are asked for. With one more, each piece of the work has as many approvals by people who
    /// did not push that piece, whoever did.
    pub fn wanted(&self, asked: usize) -> usize {
        if asked == 0 { 0 } else { asked + usize::from(self.unknown) }
    }

    /// Those whose approval counts and who stand on the commits as authors. An address proves nothing, so it holds nobody
    /// back; whoever merges should know.
    pub fn signed<'a>(&'a self, signers: &'a BTreeSet<String>) -> impl Iterator<Item = &'a str> {
        let signs = |id: u64, login: &str| {
            let login = login.to_ascii_lowercase();
            signers.iter().any(|who| match who.split_once('+') {
                Some((number, _)) => *number == *id.to_string(),
                None => *who == login,
            })
        };
        self.by.iter().filter(move |(id, login)| signs(**id, login)).map(|(_, login)| login.as_str())
    }

    /// Says who approved in vain, and why it takes one more, for a finding.
    pub fn in_vain(&self) -> String {
        let vain = self.discounted.iter().map(|(who, why)| format!(" `{who}`'s approval does not count: {why}."));
        let more = self.unknown.then(|| format!(" {ONE_MORE}"));
        vain.chain(more).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_known_by_the_number_or_by_the_login() {
        let by = BTreeMap::from([(7, "mia".to_owned()), (8, "Bo".to_owned())]);
        let approvals = Approvals { by, ..Approvals::default() };
        let signed = |who: &[&str]| {
            let signers = who.iter().map(|who| (*who).to_owned()).collect();
            approvals.signed(&signers).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(signed(&["7+old-name", "bo"]), ["mia", "Bo"]);
        assert!(signed(&["77+mia", "9+bo", "moa"]).is_empty());
    }
}
