//! What hinders a look until somebody gives something, and what to give: an App is given its permissions on its page and where it
//! is installed, a workflow's token by the workflow.

use super::closed::{self, RULES};
use crate::github::Speaker;

/// What hinders a look, and stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hindrance {
    /// A permission is missing: which one (`Issues: write`), where GitHub names it.
    Permission(Option<String>),
    /// A rule of the repository keeps the records off the ledger's branch.
    KeptOff,
}

/// What a job has to be given where its own token is used, as the advisory template has it.
pub const PERMISSIONS: [(&str, &str); 6] = [
    ("actions", "read"),
    ("checks", "write"),
    ("contents", "write"),
    ("deployments", "read"),
    ("issues", "write"),
    ("pull-requests", "write"),
];

impl Hindrance {
    /// How it is looked at again when that was done. A job that is run again has the workflow's file of before.
    pub fn again(&self, speaker: Speaker) -> &'static str {
        match (self, speaker) {
            (Self::Permission(_), Speaker::Token) => "Then say `/status` here, or wait for the schedule",
            _ => "Then run the job again",
        }
    }

    /// What to do about it.
    pub fn next(&self, speaker: Speaker) -> String {
        match (self, speaker) {
            (Self::KeptOff, Speaker::App) => format!(
                "A rule of the repository keeps the App off the ledger's branch. Under Settings, Rules, Rulesets put the App on that \
                 rule's bypass list, or leave the branch out of it; {RULES} has the ruleset that is meant"
            ),
            (Self::KeptOff, Speaker::Token) => "A rule of the repository keeps the workflow's token off the ledger's branch, \
                                                   and such a token can't be on a bypass list. Under Settings, Rules, Rulesets \
                                                   leave that branch out of the rule"
                .to_owned(),
            (Self::Permission(lacks), Speaker::App) => match lacks {
                Some(lacks) => format!(
                    "Give the App the permission `{lacks}` on its settings page, under Permissions & events, and accept it where \
                     the App is installed"
                ),
                None => format!(
                    "GitHub does not say which permission is missing: give the App all that {} lists, and accept them where \
                     it is installed",
                    closed::PERMISSIONS
                ),
            },
            (Self::Permission(lacks), Speaker::Token) => to_the_job(lacks.as_deref()),
        }
    }
}

fn to_the_job(lacks: Option<&str>) -> String {
    let Some((lacks, lines)) = lacks.and_then(|lacks| Some((lacks, lines(lacks)?))) else {
        return "GitHub does not say which permission is missing: give the job's `permissions:` all lines that the template has"
            .to_owned();
    };
    if lacks.starts_with("Members") {
        return "No workflow's token may read a team: name people instead of teams in the policy's `people.approve`, or use an App"
            .to_owned();
    }
    if !lines.split(", ").all(is_workflows) {
        return format!("No workflow's token may have `{lacks}`: use an App, and give it that permission");
    }
    format!("Add to the job's `permissions:` in the workflow: `{lines}`")
}

/// A permission as the lines that a workflow's `permissions:` needs.
fn lines(lacks: &str) -> Option<String> {
    // GitHub names the ways that there are; one of them is enough.
    let way = lacks.split(", or ").next()?;
    let lines = way.split(" and ").map(|one| {
        let (what, level) = one.split_once(": ")?;
        let what = what.to_lowercase().replace(' ', "-");
        // What can't even be read would have to be written next.
        let needed = PERMISSIONS.iter().find(|(name, _)| *name == what).map_or(level, |(_, level)| level);
        Some(format!("{what}: {needed}"))
    });
    Some(lines.collect::<Option<Vec<_>>>()?.join(", ")).filter(|lines| !lines.is_empty())
}

/// All that a workflow's `permissions:` may name. With another line the workflow's file is no workflow any more.
const WORKFLOWS: [&str; 14] = [
    "actions",
    "attestations",
    "checks",
    "contents",
    "deployments",
    "discussions",
    "id-token",
    "issues",
    "models",
    "packages",
    "pages",
    "pull-requests",
    "security-events",
    "statuses",
];

fn is_workflows(line: &str) -> bool {
    line.split(':').next().is_some_and(|name| WORKFLOWS.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_named_only_where_a_workflow_may_have_it() {
        let next = |lacks: &str| Hindrance::Permission(Some(lacks.to_owned())).next(Speaker::Token);
        assert!(next("Issues: write").ends_with("`issues: write`"));
        assert!(next("Pull requests: read, or Contents: read").ends_with("`pull-requests: write`"));
        assert!(next("Members: read").contains("name people instead of teams"));
        let queues = next("Merge queues: read");
        assert!(queues.contains("No workflow's token may have `Merge queues: read`") && !queues.contains("Add to"));
        for unknown in [Hindrance::Permission(None), Hindrance::Permission(Some(String::new()))] {
            assert!(unknown.next(Speaker::Token).contains("does not say which"));
        }
    }
}
