//! Git through the API: refs, objects, GraphQL, and the commit that is a compare-and-swap.

use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine as _;
use http::Method;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::text;
use crate::github::answer::is_json;
use crate::github::error::{clip, maybe};
use crate::github::request::{Repeat, Request};
use crate::github::{Error, Part, Repo, Result};
use crate::ids::{BlobId, CommitId};

const GRAPHQL: &str = "/graphql";

/// A git tree's id.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TreeId(pub String);

/// A file to put into a new tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TreeEntry {
    pub path: String,
    /// `100644` for a file.
    pub mode: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub content: String,
}

impl TreeEntry {
    pub fn file(path: impl Into<String>, content: impl Into<String>) -> Self {
        Self { path: path.into(), mode: "100644".into(), kind: "blob".into(), content: content.into() }
    }
}

/// A file to write in a commit, whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addition {
    pub path: String,
    pub contents: Vec<u8>,
}

/// A commit's place in history, and its message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitInfo {
    pub id: CommitId,
    pub message: String,
    pub parents: Vec<CommitId>,
}

#[derive(Deserialize)]
struct RefBody {
    object: HasSha,
}

#[derive(Deserialize)]
struct HasSha<T = CommitId> {
    sha: T,
}

#[derive(Deserialize)]
struct BlobBody {
    /// Base64, in lines.
    content: String,
}

#[derive(Deserialize)]
struct CommitBody {
    sha: CommitId,
    commit: CommitText,
    #[serde(default)]
    parents: Vec<HasSha>,
}

#[derive(Deserialize)]
struct CommitText {
    #[serde(default, deserialize_with = "text")]
    message: String,
}

#[derive(Deserialize)]
struct GraphqlAnswer {
    data: Option<Value>,
    #[serde(default)]
    errors: Vec<GraphqlError>,
}

#[derive(Deserialize)]
struct GraphqlError {
    #[serde(default, deserialize_with = "text", rename = "type")]
    kind: String,
    #[serde(default, deserialize_with = "text")]
    message: String,
}

/// A message with the name of the write in its last paragraph.
fn named(message: &str, name: &str) -> String {
    let (headline, rest) = message.split_once('\n').unwrap_or((message, ""));
    match rest.trim() {
        "" => format!("{headline}\n\n{name}"),
        rest => format!("{headline}\n\n{rest}\n\n{name}"),
    }
}

impl Repo {
    /// Where a ref (`heads/main`) points; none when there is no such ref.
    pub async fn get_ref(&self, name: &str) -> Result<Option<CommitId>> {
        let request = self.get("/repos/{owner}/{repo}/git/ref/{ref*}", &[name])?;
        let found: Option<RefBody> = maybe(self.fetch(request).await)?;
        Ok(found.map(|found| found.object.sha))
    }

    /// The branches whose names begin so, each with its head.
    pub async fn branches_below(&self, prefix: &str) -> Result<Vec<(String, CommitId)>> {
        #[derive(Deserialize)]
        struct Named {
            r#ref: String,
            object: HasSha,
        }
        let below = format!("heads/{}", prefix.trim_end_matches('/'));
        let request = self.get("/repos/{owner}/{repo}/git/matching-refs/{ref*}", &[&below])?;
        // GitHub tells all of them at once.
        let refs: Vec<Named> = match self.fetch(request).await {
            Err(Error::NotFound { .. } | Error::NoEndpoint { .. }) => Vec::new(),
            refs => refs?,
        };
        let branch = |one: Named| Some((one.r#ref.strip_prefix("refs/heads/")?.to_owned(), one.object.sha));
        Ok(refs.into_iter().filter_map(branch).filter(|(name, _)| name.starts_with(prefix)).collect())
    }

    pub async fn branch_head(&self, branch: &str) -> Result<Option<CommitId>> {
        self.get_ref(&format!("heads/{branch}")).await
    }

    /// Creates a ref (`heads/main`) if there is none of that name: `false` when it is taken.
    pub async fn create_ref(&self, name: &str, commit: &CommitId) -> Result<bool> {
        let request = self
            .request(Method::POST, "/repos/{owner}/{repo}/git/refs", &[])?
            .body(json!({ "ref": format!("refs/{name}"), "sha": commit.as_str() }));
        let unclear = AtomicBool::new(false);
        let write = || async { self.call(&request).await.map(|_| true) };
        let find = || async {
            unclear.store(true, Ordering::Relaxed);
            Ok(self.get_ref(name).await?.map(|found| found == *commit))
        };
        match self.wire().keyed_by(write, find).await {
            Err(Error::Unprocessable { message, .. }) if message.contains("already exists") => {
                // Taken, unless it is our own first write that landed late.
                Ok(unclear.load(Ordering::Relaxed) && self.get_ref(name).await?.as_ref() == Some(commit))
            }
            result => result,
        }
    }

    /// A file's bytes, up to GitHub's 100 MB.
    pub async fn blob(&self, id: &BlobId) -> Result<Vec<u8>> {
        let route = "/repos/{owner}/{repo}/git/blobs/{blob}";
        let body: BlobBody = self.fetch(self.get(route, &[id.as_str()])?).await?;
        let text: String = body.content.split_ascii_whitespace().collect();
        base64::engine::general_purpose::STANDARD.decode(text).map_err(|error| Error::malformed(route, error))
    }

    /// Objects are named by their content, so making one twice is making it once.
    pub async fn create_tree(&self, base: Option<&TreeId>, entries: &[TreeEntry]) -> Result<TreeId> {
        let mut body = json!({ "tree": entries });
        if let Some(base) = base {
            body["base_tree"] = base.0.as_str().into();
        }
        let request = self.request(Method::POST, "/repos/{owner}/{repo}/git/trees", &[])?.body(body).idempotent();
        Ok(self.fetch::<HasSha<TreeId>>(request).await?.sha)
    }

    /// A commit that no ref points to yet.
    pub async fn create_commit(&self, message: &str, tree: &TreeId, parents: &[CommitId]) -> Result<CommitId> {
        let request = self
            .request(Method::POST, "/repos/{owner}/{repo}/git/commits", &[])?
            .body(json!({ "message": message, "tree": tree, "parents": parents }))
            .idempotent();
        Ok(self.fetch::<HasSha>(request).await?.sha)
    }

    /// The newest commits of a branch or before a commit, newest first, at most 100.
    pub async fn recent_commits(&self, from: &str) -> Result<Vec<CommitInfo>> {
        let request = self.get("/repos/{owner}/{repo}/commits", &[])?.query("sha", from).query("per_page", "100");
        let commits: Vec<CommitBody> = self.fetch(request).await?;
        let info = |body: CommitBody| CommitInfo {
            id: body.sha,
            message: body.commit.message,
            parents: body.parents.into_iter().map(|parent| parent.sha).collect(),
        };
        Ok(commits.into_iter().map(info).collect())
    }

    /// Commits whole files on top of `expected_head`, in one call, signed by GitHub: either the branch was there and
    /// moves by this one commit, or [`Error::StaleHead`] and nothing happened.
    ///
    /// After an unclear answer the branch is searched for this very write, which carries a name of its own in its
    /// message: another writer's commit with the same message and parent must not be taken for ours, nor ours, landed
    /// late, for another's.
    pub async fn create_commit_on_branch(
        &self,
        branch: &str,
        expected_head: &CommitId,
        message: &str,
        additions: &[Addition],
    ) -> Result<CommitId> {
        let id = uuid::Uuid::new_v4();
        let name = format!("Write-Id: {id}");
        let whole = named(message, &name);
        let (headline, body) = whole.split_once("\n\n").unwrap_or((&whole, ""));
        let file = |addition: &Addition| {
            let contents = base64::engine::general_purpose::STANDARD.encode(&addition.contents);
            json!({ "path": addition.path, "contents": contents })
        };
        let input = json!({
            "branch": { "repositoryNameWithOwner": self.slug().to_string(), "branchName": branch },
            "expectedHeadOid": expected_head.as_str(),
            "message": { "headline": headline, "body": body },
            "fileChanges": { "additions": additions.iter().map(file).collect::<Vec<_>>() },
            "clientMutationId": id.to_string(),
        });
        let mutation = "mutation($input: CreateCommitOnBranchInput!) { \
                        createCommitOnBranch(input: $input) { commit { oid } } }";
        let unclear = AtomicBool::new(false);
        let write = || async {
            let made: Value = self.mutate(mutation, json!({ "input": input })).await?;
            let oid = made.pointer("/createCommitOnBranch/commit/oid").and_then(Value::as_str).unwrap_or_default();
            CommitId::new(oid).map_err(|error| Error::malformed(GRAPHQL, error))
        };
        let find = || async {
            unclear.store(true, Ordering::Relaxed);
            let recent = self.recent_commits(branch).await?;
            let ours = |commit: &CommitInfo| commit.message.lines().any(|line| line.trim() == name);
            Ok(recent.into_iter().find(ours).map(|commit| commit.id))
        };
        match self.wire().keyed_by(write, find).await {
            // The branch moved between an unclear write and its repetition: perhaps because the first one landed.
            Err(Error::StaleHead) if unclear.load(Ordering::Relaxed) => find().await?.ok_or(Error::StaleHead),
            result => result,
        }
    }

    /// The same by git's own data, where there is no GraphQL: a tree, a commit on it, and the branch moved forward to
    /// that. As long as no branch leads to it, what was made is nobody's, so only the last step can go wrong in the dark;
    /// and that one leaves the same behind however often it is made.
    ///
    /// A branch that somebody set back meanwhile is moved too, to where it was and one further: nothing of it is lost.
    pub async fn append_commit(
        &self,
        branch: &str,
        expected_head: &CommitId,
        message: &str,
        files: &[TreeEntry],
    ) -> Result<CommitId> {
        let commit = self.build_upon(expected_head, message, files).await.map_err(Error::clear);
        match commit {
            Ok(commit) => self.move_forward(branch, expected_head, &commit).await.map(|()| commit),
            Err(error) => Err(self.refused_or_stale(branch, expected_head, error).await?),
        }
    }

    async fn build_upon(&self, parent: &CommitId, message: &str, files: &[TreeEntry]) -> Result<CommitId> {
        let below = self.tree_of(parent).await?;
        let tree = self.create_tree(Some(&below), files).await?;
        // By its name it is this write's alone: of one second, one parent and one content git makes one commit, and two
        // writers would both take it for theirs.
        let name = format!("Write-Id: {}", uuid::Uuid::new_v4());
        self.create_commit(&named(message, &name), &tree, std::slice::from_ref(parent)).await
    }

    async fn move_forward(&self, branch: &str, expected: &CommitId, to: &CommitId) -> Result<()> {
        let request = self
            .request(Method::PATCH, "/repos/{owner}/{repo}/git/refs/{ref*}", &[&format!("heads/{branch}")])?
            .body(json!({ "sha": to.as_str(), "force": false }));
        let find = || async { Ok(self.has_landed(branch, to).await?.then_some(())) };
        match self.wire().keyed_by(|| async { self.call(&request).await.map(drop) }, find).await {
            Ok(()) => Ok(()),
            // Ours may have landed in a try of which nothing was heard, and others have gone on from it.
            Err(error) if error.refuses() && self.has_landed(branch, to).await? => {
                tracing::debug!(branch, %error, "an earlier try had landed");
                Ok(())
            }
            Err(error) => Err(self.refused_or_stale(branch, expected, error).await?),
        }
    }

    /// Whether a commit is among the newest of a branch.
    async fn has_landed(&self, branch: &str, commit: &CommitId) -> Result<bool> {
        let recent = maybe(self.recent_commits(branch).await)?.unwrap_or_default();
        Ok(recent.iter().any(|one| one.id == *commit))
    }

    /// A refusal because the branch is elsewhere, whatever words it comes in; or the refusal itself.
    async fn refused_or_stale(&self, branch: &str, expected: &CommitId, error: Error) -> Result<Error> {
        let says_so = |error: &Error| match error {
            // By what a replica says that has not heard of it yet, it would still be where it was.
            Error::Unprocessable { message, .. } => {
                ["not a fast forward", "not a fast-forward", "does not exist"].iter().any(|one| message.contains(one))
            }
            _ => false,
        };
        let stale = error.refuses() && (says_so(&error) || self.branch_head(branch).await?.as_ref() != Some(expected));
        Ok(if stale { Error::StaleHead } else { error })
    }

    /// Asks GraphQL. Reading only, so it may be repeated.
    pub async fn graphql<T: DeserializeOwned>(&self, query: &str, variables: Value) -> Result<T> {
        if query.trim_start().starts_with("mutation") {
            return Err(Error::malformed(GRAPHQL, "a mutation is not for asking"));
        }
        self.send_graphql(query, variables, Repeat::Safe).await
    }

    /// Writes through GraphQL. Never repeated: the caller has a key, or does without.
    pub async fn mutate<T: DeserializeOwned>(&self, mutation: &str, variables: Value) -> Result<T> {
        self.send_graphql(mutation, variables, Repeat::Never).await
    }

    /// What stands at GraphQL's address is no GraphQL. It is missing if REST is there at the same moment: otherwise a
    /// proxy, or a portal in between, has answered, and nothing is known.
    async fn without_graphql(&self) -> Result<Error> {
        self.get_repo().await?;
        self.hub().found_lacking(Part::Graphql);
        Ok(Error::NoEndpoint { route: GRAPHQL })
    }

    async fn send_graphql<T: DeserializeOwned>(&self, query: &str, variables: Value, repeat: Repeat) -> Result<T> {
        if self.hub().lacks(Part::Graphql) {
            return Err(Error::NoEndpoint { route: GRAPHQL });
        }
        let request = Request::graphql(json!({ "query": query, "variables": variables }), repeat);
        let answer = match self.call(&request).await {
            Ok(answer) if is_json(&answer.body) => answer,
            Ok(_) | Err(Error::NoEndpoint { .. }) => return Err(self.without_graphql().await?),
            Err(error) => return Err(error),
        };
        let parsed: GraphqlAnswer = answer.json()?;
        if let Some(first) = parsed.errors.first() {
            // Part of an answer is not taken for the whole: what is missing could be what matters.
            let said = |kinds: &[&str]| parsed.errors.iter().any(|error| kinds.contains(&error.kind.as_str()));
            let message = first.message.to_ascii_lowercase();
            return Err(if said(&["RATE_LIMITED", "RATE_LIMIT"]) || message.contains("rate limit") {
                self.budget().limited_in_body(self.wire().clock.now(), request.cost(), &answer.headers)
            } else if said(&["STALE_DATA"]) || message.starts_with("expected branch to point to") {
                Error::StaleHead
            } else if said(&["NOT_FOUND"]) {
                let by = self.wire().credentials.speaker();
                Error::NotFound { route: GRAPHQL, by, write: !request.reads() }
            } else if said(&["FORBIDDEN", "INSUFFICIENT_SCOPES"]) {
                Error::Forbidden { route: GRAPHQL, message: clip(&first.message), needs: None }
            } else if said(&["SERVICE_UNAVAILABLE"]) || message.starts_with("something went wrong while executing") {
                // GraphQL's own time-out, inside an answer of status 200.
                Error::Server { route: GRAPHQL, status: 504, unclear: repeat == Repeat::Never }
            } else {
                let errors = parsed.errors.iter().skip(1).take(9).map(|error| clip(&error.message)).collect();
                Error::Unprocessable { route: GRAPHQL, message: clip(&first.message), errors }
            });
        }
        let data = parsed.data.ok_or_else(|| Error::malformed(GRAPHQL, "neither data nor errors"))?;
        serde_json::from_value(data).map_err(|error| Error::malformed(GRAPHQL, error))
    }
}
