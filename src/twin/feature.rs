//! Parts that a GitHub may be without: a stand-in, an old Enterprise Server. What is switched off answers as if nobody had
//! ever built it.

/// Something that can be switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Feature {
    Graphql,
    GitOverHttp,
    Reactions,
    Activity,
    /// `GET commits/{sha}/pulls`.
    PullsOfCommit,
    WorkflowRuns,
    Deployments,
    /// `GET issues/{number}/events`.
    PullEvents,
}

/// What each answers to: the words that are in its path, in this order, the last at its end or before a slash.
const PATHS: [(Feature, &[&str]); 7] = [
    (Feature::Graphql, &["/graphql"]),
    (Feature::Reactions, &["/repos/", "/comments/", "/reactions"]),
    (Feature::Activity, &["/repos/", "/activity"]),
    (Feature::PullsOfCommit, &["/repos/", "/commits/", "/pulls"]),
    (Feature::WorkflowRuns, &["/repos/", "/actions/runs"]),
    (Feature::Deployments, &["/repos/", "/deployments"]),
    (Feature::PullEvents, &["/repos/", "/issues/", "/events"]),
];

impl Feature {
    pub const ALL: [Self; 8] = [
        Self::Graphql,
        Self::GitOverHttp,
        Self::Reactions,
        Self::Activity,
        Self::PullsOfCommit,
        Self::WorkflowRuns,
        Self::Deployments,
        Self::PullEvents,
    ];

    /// The one that an API path belongs to, if it can be switched off.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let fits = |words: &[&str]| {
            let rest = words.iter().try_fold(path, |rest, word| Some(&rest[rest.find(word)? + word.len()..]));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        PATHS.into_iter().find(|(_, words)| fits(words)).map(|(feature, _)| feature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_belongs_to_at_most_one() {
        for (path, feature) in [
            ("/graphql", Some(Feature::Graphql)),
            ("/repos/o/r/issues/comments/7/reactions", Some(Feature::Reactions)),
            ("/repos/o/r/activity", Some(Feature::Activity)),
            ("/repos/o/r/commits/abc/pulls", Some(Feature::PullsOfCommit)),
            ("/repos/o/r/actions/runs", Some(Feature::WorkflowRuns)),
            ("/repos/o/r/actions/runs/3/jobs", Some(Feature::WorkflowRuns)),
            ("/repos/o/r/deployments", Some(Feature::Deployments)),
            ("/repos/o/r/issues/7/events", Some(Feature::PullEvents)),
            ("/repos/o/r/pulls", None),
            ("/repos/o/r/commits/abc/check-runs", None),
            ("/repos/o/activity-log", None),
        ] {
            assert_eq!(Feature::of(path), feature, "{path}");
        }
    }
}
