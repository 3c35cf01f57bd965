//! What someone may do here.

use serde::Deserialize;

use crate::github::error::maybe;
use crate::github::request::Request;
use crate::github::{Repo, Result};
use crate::ids::Person;
use crate::ids::Role;

/// A role by the name that GitHub gives it.
fn named(name: &str) -> Option<Role> {
    Some(match name {
        "none" => Role::None,
        "read" => Role::Read,
        "triage" => Role::Triage,
        "write" => Role::Write,
        "maintain" => Role::Maintain,
        "admin" => Role::Admin,
        _ => return None,
    })
}

/// The four old words, of which `permission` still gives one: triage reads as read, maintain as write.
fn coarse(role: Role) -> Role {
    match role {
        Role::Triage => Role::Read,
        Role::Maintain => Role::Write,
        same => same,
    }
}

#[derive(Deserialize)]
struct Permission {
    #[serde(default)]
    permission: String,
    role_name: Option<String>,
    user: Option<HasId>,
}

#[derive(Deserialize)]
struct HasId {
    id: u64,
}

impl Permission {
    /// `role_name` where it is one that GitHub defines; for an organisation's own roles the permission they build on.
    /// Where the two contradict each other the weaker counts.
    fn role(&self) -> Role {
        let permission = named(&self.permission).unwrap_or(Role::None);
        match self.role_name.as_deref().and_then(named) {
            Some(role) if coarse(role) == permission => role,
            Some(role) => role.min(permission),
            None => permission,
        }
    }
}

#[derive(Deserialize)]
struct Membership {
    state: String,
}

impl Repo {
    /// The role of the account that has this login now. Never `author_association`, which is not reliable.
    pub async fn permission(&self, login: &str) -> Result<Role> {
        Ok(self.ask_permission(login).await?.map_or(Role::None, |permission| permission.role()))
    }

    /// The role of this very person. A login can be given up and taken by someone else between a comment and its
    /// reading, so the answer counts only for the same id; bots have no role at all.
    pub async fn permission_of(&self, person: &Person) -> Result<Role> {
        if person.bot {
            return Ok(Role::None);
        }
        let permission = self.ask_permission(&person.login).await?;
        let same = |permission: &Permission| permission.user.as_ref().is_some_and(|user| user.id == person.id);
        Ok(permission.filter(same).map_or(Role::None, |permission| permission.role()))
    }

    async fn ask_permission(&self, login: &str) -> Result<Option<Permission>> {
        let request = self.get("/repos/{owner}/{repo}/collaborators/{login}/permission", &[login])?;
        maybe(self.fetch(request).await)
    }

    /// Whether this account is a member of the team, invitation accepted. Needs the App's `members` permission.
    pub async fn team_membership(&self, org: &str, team: &str, login: &str) -> Result<bool> {
        let route = "/orgs/{org}/teams/{team}/memberships/{login}";
        let request = Request::new(http::Method::GET, route, &[org, team, login])?;
        let membership: Option<Membership> = maybe(self.fetch(request).await)?;
        Ok(membership.is_some_and(|membership| membership.state == "active"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_what_github_defines_and_contradictions_weaken_it() {
        let role = |permission: &str, name: Option<&str>| {
            Permission { permission: permission.into(), role_name: name.map(Into::into), user: None }.role()
        };
        assert_eq!(role("write", Some("maintain")), Role::Maintain);
        assert_eq!(role("read", Some("triage")), Role::Triage);
        assert_eq!(role("admin", Some("admin")), Role::Admin);
        assert_eq!(role("write", None), Role::Write, "an older Enterprise Server");
        assert_eq!(role("write", Some("release captain")), Role::Write, "an organisation's own role");
        assert_eq!(role("read", Some("admin")), Role::Read);
        assert_eq!(role("something", Some("admin")), Role::None);
        assert!(Role::Maintain > Role::Write && Role::Triage < Role::Write);
    }
}
