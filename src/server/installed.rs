//! Where the App is installed: what is looked at when it is let in, and under which installation a repository is.
//!
//! An installation comes and goes under deliveries that wait: it is taken off and made anew under another id, it is
//! suspended and let in again, a repository moves to another account. So the one that a delivery names is where the
//! search begins, and nothing is let go before GitHub has said that the App is not there any more.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde_json::json;

use super::group;
use super::intake::key;
use super::pass::LAG_TRIES;
use super::route::{Derived, FAULT_SHOWN, Follows, Halt, OWN_EVENT, Own, Passes, derived, derived_group};
use crate::fact::{Event, Fact};
use crate::gate::queue;
use crate::github::Error;
use crate::github::calls::pulls::Pull as Fetched;
use crate::ids::{InstallationId, RepoId, RepoRef, Slug};
use crate::inbox::Delivery;

/// What waits for a suspended installation is tried again after so long, unless it is let in before.
pub(super) const SUSPENDED: SignedDuration = SignedDuration::from_mins(15);

/// So many repositories of an installation are looked at before whatever else waits has its turn.
const AT_ONCE: usize = 50;

/// What is left of an installation is kept as if these repositories had been added.
const REST: &str = "added";

/// Deliveries that come from nowhere in particular have no installation; then nothing can be asked or written.
fn installed(repo: &RepoRef) -> bool {
    repo.installation != InstallationId(0)
}

/// The repository as it was told of last, by whoever named an installation. One that was looked for when the App was
/// installed comes without its default branch; another delivery may know it.
pub(super) fn newest(events: &[(String, Event)]) -> Option<RepoRef> {
    let told = || events.iter().rev().filter_map(|(_, event)| event.repo.as_ref()).filter(|repo| installed(repo));
    let mut newest = told().next()?.clone();
    if let Some(named) = told().find(|repo| !repo.default_branch.is_empty()) {
        newest.default_branch.clone_from(&named.default_branch);
    }
    Some(newest)
}

/// Whose a repository is, after work on it failed.
pub(super) enum Whose {
    /// It is under another installation than the one that was told, or has another name.
    Another(RepoRef),
    /// The App is not installed there any more.
    Nobodys(anyhow::Error),
    /// It stays as it is.
    Same(Halt),
}

/// Whether nothing is lost with them: who installs the App again is looked at as a whole.
fn are_looks(events: &[(String, Event)]) -> bool {
    events.iter().all(|(_, event)| matches!(event.fact, Fact::Look { .. } | Fact::LookAround))
}

/// A failure that says nothing about the installation.
fn is_weather(error: &anyhow::Error) -> bool {
    error.chain().filter_map(|cause| cause.downcast_ref::<Error>()).any(Error::is_transient)
}

impl Passes {
    /// Asks GitHub whose a repository is now, when there is no token for the installation that was told, or work under it
    /// fails again and again. What was said under one that is gone was said in the repository, and is heard under the one
    /// that is there.
    pub(super) async fn whose(&self, told: &RepoRef, halt: Halt, events: &[(String, Event)], attempt: u32) -> Whose {
        match halt {
            Halt::Gone(error) => {
                let looks = are_looks(events);
                let found = if looks { Ok(None) } else { self.found(told).await };
                match found {
                    Ok(Some(Found::Under(home))) => Whose::Another(home),
                    Ok(Some(Found::Suspended)) => Whose::Same(Halt::suspended()),
                    // One that was just made may not be known everywhere.
                    Ok(Some(Found::AsTold)) => Whose::Same(Halt::Behind(error.to_string())),
                    Ok(None) if attempt < LAG_TRIES => Whose::Same(Halt::Behind(error.to_string())),
                    Ok(None) => Whose::Nobodys(error),
                    Err(error) => Whose::Same(error.into()),
                }
            }
            // Nothing of it may be done there. Where it is not found it becomes a dead letter, which somebody sees.
            Halt::Namesake(says) => match self.found(told).await {
                Ok(Some(Found::Under(home))) => Whose::Another(home),
                Ok(Some(Found::Suspended)) => Whose::Same(Halt::suspended()),
                Ok(_) => Whose::Same(Halt::Namesake(says)),
                Err(error) => Whose::Same(error.into()),
            },
            // Its git and its ledger refuse without a reason that could be told apart.
            Halt::Again(error) if attempt >= FAULT_SHOWN && !is_weather(&error) => match self.found(told).await {
                Ok(Some(Found::Under(home))) => Whose::Another(home),
                Ok(Some(Found::Suspended)) => Whose::Same(Halt::suspended()),
                _ => Whose::Same(Halt::Again(error)),
            },
            halt => Whose::Same(halt),
        }
    }

    async fn found(&self, told: &RepoRef) -> Result<Option<Found>, Error> {
        // It may be called otherwise by now, and its old name may be another's.
        match self.app.hub.repository(told.installation, told.id).await {
            Ok(Some(there)) if there.full_name != told.slug.to_string() => {
                let slug = there.full_name.parse::<Slug>().unwrap_or_else(|_| told.slug.clone());
                return Ok(Some(Found::Under(RepoRef { slug, default_branch: there.default_branch, ..told.clone() })));
            }
            Ok(Some(_)) => return Ok(Some(Found::AsTold)),
            Ok(None) | Err(Error::NotInstalled | Error::Suspended) => {}
            Err(error) => return Err(error),
        }
        let Some(now) = self.app.hub.installation_of(&told.slug).await? else { return Ok(None) };
        if now.suspended_at.is_some() {
            return Ok(Some(Found::Suspended));
        }
        let installation = InstallationId(now.id);
        if installation == told.installation {
            return Ok(Some(Found::AsTold));
        }
        // Another repository may have its name by now.
        let there = self.app.hub.repo(installation, told.slug.clone()).get_repo().await?;
        let slug = there.full_name.parse::<Slug>().unwrap_or_else(|_| told.slug.clone());
        let home = RepoRef { id: told.id, slug, installation, default_branch: there.default_branch };
        Ok((there.id == told.id.0).then_some(Found::Under(home)))
    }

    /// Looks at every repository where the App was just installed or let in again: what happened there before, nobody has
    /// told. It is done in parts, and what is left waits behind all that has come meanwhile. So an hour without calls left
    /// undoes nothing, people don't wait for a long list, and one that can't be looked at is tried by itself.
    pub(super) async fn installations(&self, events: &[(String, Event)]) -> Derived {
        let mut todo: BTreeMap<InstallationId, (&str, BTreeMap<u64, String>)> = BTreeMap::new();
        for (guid, event) in events {
            let Fact::Installation { id, action, repos } = &event.fact else { continue };
            if action == "unsuspend" {
                self.app.hub.let_in(*id).await;
                self.app.inbox.hurry(*id).await?;
            }
            let asked = match repos.is_empty() && action != REST {
                true => self.app.hub.repositories(*id).await?,
                false => Vec::new(),
            };
            let (_, all) = todo.entry(*id).or_insert_with(|| (guid.as_str(), BTreeMap::new()));
            all.extend(repos.iter().chain(&asked).cloned());
        }
        // Once all of them had one key.
        if todo.len() > 1 {
            return Ok(todo.into_iter().filter_map(|(id, (guid, repos))| the_rest(guid, id, repos)).collect());
        }
        let Some((id, (guid, mut repos))) = todo.pop_first() else { return Ok(Follows::default()) };
        let (mut out, mut looked) = (Vec::new(), 0);
        while looked < AT_ONCE
            && let Some((repo, name)) = repos.pop_first()
        {
            let Ok(slug) = name.parse::<Slug>() else { continue };
            let home = RepoRef { id: RepoId(repo), slug, installation: id, default_branch: String::new() };
            let done = match self.app.hub.is_short_until(id) {
                Some(until) => Err(Halt::Later(until, "the rest of the hour's calls is for changes".to_owned())),
                None => self.look_around(&format!("{guid}/{repo}"), &home).await,
            };
            match done {
                Ok(looks) => out.extend(looks),
                Err(Halt::Again(error)) if !is_weather(&error) => out.extend(to_look_around(guid, &home)),
                Err(halt) if looked == 0 => return Err(halt),
                // It is the first of the rest, and meets this again.
                Err(_) => {
                    repos.insert(repo, name);
                    break;
                }
            }
            looked += 1;
        }
        out.extend(the_rest(guid, id, repos));
        Ok(out.into())
    }

    /// Looks at everything that is open in a repository.
    pub(super) async fn look_around(&self, guid: &str, home: &RepoRef) -> Result<Vec<Delivery>, Halt> {
        let open = match self.app.repo(home).list_open_pulls(None).await {
            // It is not there any more, or not for us to see.
            Err(Error::NotFound { .. }) => return Ok(Vec::new()),
            open => open?,
        };
        let named = |pull: &Fetched| pull.base.repo.as_ref().and_then(|base| base.default_branch.clone());
        let default_branch = open.iter().find_map(named).unwrap_or_else(|| home.default_branch.clone());
        let home = RepoRef { default_branch, ..home.clone() };
        let look = |pull: &Fetched| derived(guid, &home, pull.number, Fact::Look { number: pull.number });
        let mut all: Vec<Delivery> = open.iter().filter_map(look).collect();
        if !self.app.remembers() {
            // A run may have no time for all of them. Each begins elsewhere, so it is not always the same that wait.
            let minutes = self.app.inbox.now().as_second().unsigned_abs() / 60;
            let from = minutes.checked_rem(all.len() as u64).unwrap_or(0);
            all.rotate_left(usize::try_from(from).unwrap_or(0));
            // Of a group that no check ran on nobody tells a run.
            for (branch, head) in self.app.repo(&home).branches_below(queue::BRANCHES).await? {
                let group = group::of(&head, &branch);
                all.extend(group.and_then(|group| derived_group(guid, &home, &group)));
            }
        }
        Ok(all)
    }
}

/// Where the App is installed on a repository.
enum Found {
    Under(RepoRef),
    /// As it was told, though there is no token for it.
    AsTold,
    Suspended,
}

fn to_look_around(guid: &str, home: &RepoRef) -> Option<Delivery> {
    let payload = serde_json::to_vec(&Own { repo: Some(home.clone()), fact: Fact::LookAround }).ok()?;
    Some(Delivery {
        guid: format!("{guid}/{}", home.id.0),
        event: OWN_EVENT.to_owned(),
        installation: Some(home.installation),
        repo: Some(home.id),
        key: format!("{}/*", home.id.0),
        barrier: false,
        payload,
        meta: json!({ "about": home.slug.to_string() }),
    })
}

/// The repositories of an installation that are still to be looked at. Nothing tells one rest from another (a list may grow
/// while it is worked off), so the GUID is made up: one that was there before would not be kept.
fn the_rest(guid: &str, id: InstallationId, repos: BTreeMap<u64, String>) -> Option<Delivery> {
    let first = guid.split_once("/rest-").map_or(guid, |(first, _)| first);
    let count = (!repos.is_empty()).then_some(repos.len())?;
    let fact = Fact::Installation { id, action: REST.to_owned(), repos: repos.into_iter().collect() };
    let payload = serde_json::to_vec(&Own { repo: None, fact: fact.clone() }).ok()?;
    Some(Delivery {
        guid: format!("{first}/rest-{}", uuid::Uuid::new_v4()),
        event: OWN_EVENT.to_owned(),
        installation: Some(id),
        repo: None,
        key: key(&Event { repo: None, fact }),
        barrier: false,
        payload,
        meta: json!({ "about": format!("installation {}, {count} repositories", id.0) }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(installation: u64, default_branch: &str) -> (String, Event) {
        let repo = RepoRef {
            id: RepoId(1),
            slug: Slug::new("o", "r").unwrap(),
            installation: InstallationId(installation),
            default_branch: default_branch.to_owned(),
        };
        ("guid".to_owned(), Event { repo: Some(repo), fact: Fact::LookAround })
    }

    fn chosen(events: &[(String, Event)]) -> Option<(u64, String)> {
        newest(events).map(|repo| (repo.installation.0, repo.default_branch))
    }

    #[test]
    fn what_is_left_of_an_installation_is_never_taken_for_what_was_left_before() {
        let rest = |guid: &str| the_rest(guid, InstallationId(7), BTreeMap::from([(1, "o/r".to_owned())])).unwrap();
        let (one, two) = (rest("guid"), rest("guid"));
        assert_ne!(one.guid, two.guid);
        assert_eq!(rest(&one.guid).guid.len(), one.guid.len(), "it does not grow");
        assert_eq!(one.key, "0/installation-7");
        assert_eq!(the_rest("guid", InstallationId(7), BTreeMap::new()), None);
    }

    #[test]
    fn the_installation_that_was_told_of_last_is_asked_for_a_token() {
        assert_eq!(chosen(&[told(1, "main"), told(2, "trunk")]), Some((2, "trunk".to_owned())));
        assert_eq!(chosen(&[told(0, "main"), told(1, "main"), told(0, "main")]), Some((1, "main".to_owned())));
        assert_eq!(chosen(&[told(1, "main"), told(2, "")]), Some((2, "main".to_owned())), "nobody told it its branch");
        assert_eq!(chosen(&[told(0, "main")]), None);
        assert_eq!(chosen(&[]), None);
    }
}
