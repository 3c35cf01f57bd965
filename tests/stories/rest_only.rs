//! A GitHub without GraphQL and git over HTTP, and one that can't tell all that a verdict rests on.

use std::sync::Arc;

use git2::{ObjectType, Oid, Repository};
use phasegate::github::store::GitHubStore;
use phasegate::github::{AppKey, Credentials, Endpoint, Hub, Options, Part, Repo};
use phasegate::ids::{CommitId, Digest, RepoId, Slug};
use phasegate::ledger::store::{NewFile, Store as _, StoreError};
use phasegate::rehearsal::{MERGE_POLICY, REPO, Rehearsal, Setup, play};
use phasegate::repo::{
    CommitInfo, Delta, Entry, Error, Fetched, Filter, LocalRepo, Mirror, Reader as _, Result, Want, content_digest,
};
use phasegate::twin::{Effect, Fault, Feature};

use super::{assert_merge, proposes, proves};

/// What can be missing without anybody's noticing.
const BARE: &[Feature] =
    &[Feature::Graphql, Feature::GitOverHttp, Feature::Reactions, Feature::Activity, Feature::PullsOfCommit];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_goes_from_expand_to_its_merge_by_rest_alone() {
    let on = Rehearsal::start(Setup { without: BARE, ..Setup::default() }).await.unwrap();
    // Every beat of it is checked.
    let timeline = play(&on, &mut |_| {}).await.unwrap();
    assert!(timeline.merged);
    let stats = on.server().unwrap().inbox().stats().await.unwrap();
    assert_eq!((stats.dead, stats.parked), (0, 0));
    let requests = on.requests();
    let of = |feature: &str| requests.iter().filter(|one| one.path.contains(feature)).count();
    assert!(of("/graphql") > 0 && requests.iter().all(|one| one.path != "/graphql" || one.status == 404));
    assert!(of("/graphql") < 5, "it was found out once, by however many asked at that moment");
    assert!(of("/git/refs/heads/phasegate/ledger") > 10, "the ledger was moved forward");
    assert!(on.data().join("mirrors").read_dir().unwrap().count() > 0);
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_green_of_which_github_does_not_tell_what_it_ran_does_not_count() {
    let parts: [(&[Feature], &str); 2] =
        [(&[Feature::WorkflowRuns], "actions/runs"), (&[Feature::PullEvents], "issues/{number}/events")];
    for (without, missing) in parts {
        let on = Rehearsal::start(Setup { without, ..Setup::with_policy(MERGE_POLICY) }).await.unwrap();
        let number = proposes(&on, "shine").await;
        proves(&on, number).await;
        assert_merge(&on, number, "failure");
        let said = on.status_comment(number).unwrap().body;
        assert!(said.contains(missing), "it says what is missing:\n{said}");
        on.end().await;
    }
}

/// A client of its own, which has to find out for itself what is missing.
async fn client(on: &Rehearsal) -> Repo {
    let key = Arc::new(AppKey::from_pem(&on.app().pem.clone().into()).unwrap());
    let credentials = Credentials::App { issuer: on.app().id.to_string(), key };
    let options = Options { paced: false, ..Options::default() };
    let hub = Hub::with_options(Endpoint::new(&on.api_url()).unwrap(), credentials, options).unwrap();
    let slug: Slug = REPO.parse().unwrap();
    let installation = hub.installation_for(&slug).await.unwrap().unwrap();
    hub.repo(installation, slug)
}

/// The repository behind the twin.
struct Objects {
    repo: Repository,
    clock: i64,
}

impl Objects {
    fn of(on: &Rehearsal) -> Self {
        let id = on.admin().repo(REPO).unwrap().id;
        let repo = Repository::open_bare(on.data().join("twin").join(format!("{id}.git"))).unwrap();
        Self { repo, clock: 1_700_000_000 }
    }

    fn main(&self) -> CommitId {
        CommitId::new(self.repo.refname_to_id("refs/heads/main").unwrap().to_string()).unwrap()
    }

    fn tree(&self, on: &CommitId, files: &[(&str, &str)]) -> Oid {
        let base = self.repo.find_commit(Oid::from_str(on.as_str()).unwrap()).unwrap().tree().unwrap();
        let mut update = git2::build::TreeUpdateBuilder::new();
        for (path, text) in files {
            update.upsert(*path, self.repo.blob(text.as_bytes()).unwrap(), git2::FileMode::Blob);
        }
        update.create_updated(&self.repo, &base).unwrap()
    }

    /// The headers of a commit.
    fn headers(&mut self, tree: Oid, parents: &[&CommitId], zones: (&str, &str)) -> String {
        self.clock += 60;
        let parents: String = parents.iter().map(|parent| format!("parent {parent}\n")).collect();
        let (at, (by, put)) = (self.clock, zones);
        format!("tree {tree}\n{parents}author Ada <a@example.com> {at} {by}\ncommitter Bo <b@example.com> {at} {put}\n")
    }

    fn commit(&self, bytes: &[u8]) -> CommitId {
        let id = self.repo.odb().unwrap().write(ObjectType::Commit, bytes).unwrap();
        CommitId::new(id.to_string()).unwrap()
    }

    fn signed(&mut self, tree: Oid, parent: &CommitId, message: &str) -> CommitId {
        let payload = format!("{}\n{message}", self.headers(tree, &[parent], ("+0200", "+0200")));
        let signature = "-----BEGIN PGP SIGNATURE-----\n\niQEzBAABCAAd\n=abcd\n-----END PGP SIGNATURE-----\n";
        let id = self.repo.commit_signed(&payload, signature, None).unwrap();
        CommitId::new(id.to_string()).unwrap()
    }
}

/// What the readers above make of a change.
#[derive(Debug, PartialEq)]
struct Seen {
    files: Vec<Delta>,
    content: Digest,
    patch: Option<Digest>,
    brings: Option<Vec<Delta>>,
    commits: Vec<(CommitId, CommitInfo)>,
    tree: Vec<Entry>,
    texts: Vec<Option<Vec<u8>>>,
}

fn seen(reader: &LocalRepo, of: &Fetched) -> Result<Seen> {
    let from = of.merge_base.clone().unwrap();
    let files = reader.diff(&from, &of.head)?;
    let tree = reader.tree(&of.head, Filter::All)?;
    let commits = reader.commits_between(&from, &of.head, 100)?;
    let commits = commits.into_iter().map(|id| reader.commit(&id).map(|told| (id, told))).collect::<Result<_>>()?;
    let text = |entry: &Entry| Ok(reader.blob(&of.head, &entry.path)?.map(|blob| blob.bytes));
    Ok(Seen {
        content: content_digest(&files, &Digest::of("policy"), &Default::default()),
        patch: reader.patch_id(&from, &of.head)?,
        brings: reader.brings(&of.base, &of.head)?,
        texts: tree.iter().map(text).collect::<Result<_>>()?,
        files,
        commits,
        tree,
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_of_every_make_are_read_the_same_by_git_and_by_the_api() {
    let on = Rehearsal::start(Setup::with_policy(MERGE_POLICY)).await.unwrap();
    let mut objects = Objects::of(&on);
    let main = objects.main();
    let both = |first: &str, last: &str| format!("{first}\n2\n3\n4\n5\n6\n7\n{last}\n");
    let tree = objects.tree(&main, &[("both.txt", &both("1", "8"))]);
    let start = format!("{}\nstart\n", objects.headers(tree, &[&main], ("+0000", "+0000")));
    let fork = objects.commit(start.as_bytes());
    let tree = objects.tree(&fork, &[("src/a.py", "one\n")]);
    let mut tip = fork.clone();
    for (zones, message) in [
        (("+0530", "-0345"), "two zones\n"),
        (("-0000", "+1400"), "no zone, and no line break"),
        (("+0053", "+0053"), "an odd one\n\nwith more\n\n"),
    ] {
        let bytes = format!("{}\n{message}", objects.headers(tree, &[&tip], zones));
        tip = objects.commit(bytes.as_bytes());
    }
    let tree = objects.tree(&tip, &[("src/b.py", "two\n"), ("both.txt", &both("one", "8"))]);
    let side = objects.signed(tree, &fork, "signed\n");
    let side = objects.signed(tree, &side, "signed, and it just ends");
    let merge = format!("{}\nmerge\n", objects.headers(tree, &[&tip, &side], ("+0100", "+0100")));
    let head = objects.commit(merge.as_bytes());
    let latin = [objects.headers(tree, &[&head], ("+0000", "+0000")).as_bytes(), b"\nf\xfcr alle\n"].concat();
    let latin = objects.commit(&latin);
    let tree = objects.tree(&fork, &[("both.txt", &both("1", "eight"))]);
    let meanwhile = format!("{}\nmeanwhile\n", objects.headers(tree, &[&fork], ("-0800", "-0700")));
    let base = objects.commit(meanwhile.as_bytes());

    let wants = (Want::Commit(base.clone()), Want::Commit(head.clone()));
    let read = async |folder: &str| {
        let repo = client(&on).await;
        let mirror = Mirror::open(on.data().join(folder), RepoId(1), Arc::new(repo.clone())).unwrap();
        let fetched = mirror.fetch_change(&wants.0, &wants.1).await.unwrap();
        assert_eq!(fetched.merge_base.as_ref(), Some(&fork));
        let what = mirror.read(move |reader| seen(reader, &fetched)).await.unwrap();
        (what, mirror, repo)
    };
    let (by_git, mirror, repo) = read("by-git").await;
    assert!(!repo.hub().lacks(Part::GitOverHttp));
    assert!(mirror.fetch_change(&wants.0, &Want::Commit(latin.clone())).await.is_ok(), "git takes any bytes");
    assert!(by_git.patch.is_some() && by_git.brings.is_some() && by_git.commits.len() == 6, "{by_git:?}");

    on.admin().without(Feature::Graphql);
    on.admin().without(Feature::GitOverHttp);
    let (by_api, mirror, repo) = read("by-api").await;
    assert!(repo.hub().lacks(Part::GitOverHttp));
    assert_eq!(by_api, by_git);
    let error = mirror.fetch_change(&wants.0, &Want::Commit(latin.clone())).await.unwrap_err();
    assert!(matches!(error, Error::Unproved(_)) && error.to_string().contains(latin.as_str()), "{error}");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_writers_at_the_same_moment_one_wins_and_an_answer_that_is_lost_is_looked_for() {
    let on =
        Rehearsal::start(Setup { without: &[Feature::Graphql], ..Setup::with_policy(MERGE_POLICY) }).await.unwrap();
    let file = |path: &str| vec![NewFile { path: path.to_owned(), bytes: b"x\n".to_vec() }];
    let mut stores = Vec::new();
    for _ in 0..4 {
        stores.push(GitHubStore::new(client(&on).await, "notes"));
    }
    let begun = stores[0].commit(None, "begin", &file("begun")).await.unwrap();
    let writes = stores.iter().enumerate().map(|(at, store)| {
        let begun = begun.clone();
        async move { store.commit(Some(&begun), "write", &file(&format!("by/{at}"))).await }
    });
    let ends = futures::future::join_all(writes).await;
    let won: Vec<&CommitId> = ends.iter().flatten().collect();
    assert_eq!(won.len(), 1, "{ends:?}");
    assert!(ends.iter().all(|end| matches!(end, Ok(_) | Err(StoreError::Conflict))), "{ends:?}");
    assert_eq!(stores[0].names(&["by".to_owned()]).await.unwrap()[0].len(), 1);

    // It was done, and nobody heard of it; then it was not done.
    for (at, effect) in [Effect::Hang, Effect::Break].into_iter().enumerate() {
        let head = stores[0].head().await.unwrap();
        let path_contains = "/git/refs/heads/notes".to_owned();
        on.admin().inject(Fault { method: Some("PATCH".to_owned()), path_contains, times: 1, effect });
        let made = stores[0].commit(head.as_ref(), "again", &file(&format!("again/{at}"))).await.unwrap();
        assert_eq!(stores[1].head().await.unwrap(), Some(made));
        assert_eq!(stores[1].names(&["again".to_owned()]).await.unwrap()[0].len(), at + 1);
    }
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_that_is_not_there_is_not_taken_for_a_server_without_git() {
    let on = Rehearsal::start(Setup::with_policy(MERGE_POLICY)).await.unwrap();
    let repo = client(&on).await;
    let gone = repo
        .hub()
        .repo(repo.hub().installation_for(repo.slug()).await.unwrap().unwrap(), "octo-org/gone".parse().unwrap());
    let mirror = Mirror::open(on.data().join("gone"), RepoId(1), Arc::new(gone.clone())).unwrap();
    let error = mirror.fetch(&[Want::Ref("refs/heads/main".into())]).await.unwrap_err();
    assert!(matches!(&error, Error::Fetch(said) if said.contains("Repository not found")), "{error}");
    assert!(!gone.hub().lacks(Part::GitOverHttp));
    on.end().await;
}
