//! A GitHub that nobody here wrote, and that has neither GraphQL nor git over HTTP: the npm package `emulate`.
//!
//! Its ids are true: libgit2 gets the same ones for the same contents. One thing it can't be asked: it reads where a branch
//! is, waits for the rest of the request, and moves the branch by what it read. So writers take turns here, and two at the
//! very same moment meet on the twin.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use phasegate::gate::papers::{Papers, judge_all};
use phasegate::github::calls::comments::Reaction;
use phasegate::github::store::GitHubStore;
use phasegate::github::{Credentials, Endpoint, Hub, Part, Repo};
use phasegate::ids::{ChangeNumber, CommitId, Digest, InstallationId, Person, RepoId, Slug};
use phasegate::ledger::store::{NewFile, Store as _, StoreError};
use phasegate::ledger::{Body, By, Entry, KeyRing, Ledger, LedgerError, Signer};
use phasegate::policy::{self, Policy};
use phasegate::rehearsal::{CI, PIPELINE_POLICY, WORKFLOW, papers};
use phasegate::repo::{LocalRepo, Mirror, Reader as _, RepoPath, Want, content_digest};
use phasegate::surface::sync::{self, Memory};
use serde_json::{Value, json};

use super::emulator::Emulator;

const SEED: &str = "\
tokens:
  mias-token: { login: mia, scopes: [repo] }
github:
  users:
    - { login: mia, name: Mia, email: mia@example.org }
  repos:
    - { owner: mia, name: lantern, auto_init: true }
";
const MIA: &str = "mias-token";
const REPO: &str = "mia/lantern";
const LEDGER: &str = "phasegate/ledger";

fn emulator() -> Emulator {
    Emulator::start(SEED)
}

impl Emulator {
    fn hub(&self) -> Hub {
        let credentials = Credentials::Token { token: MIA.to_owned().into(), login: "mia".to_owned() };
        Hub::new(Endpoint::new(&self.url).unwrap(), credentials).unwrap()
    }

    /// A client of its own, which has to find out for itself what is missing.
    fn repo(&self) -> Repo {
        self.hub().repo(InstallationId(0), REPO.parse::<Slug>().unwrap())
    }

    /// A file written on a branch. Answers the commit.
    async fn writes(&self, branch: &str, path: &str, text: &str) -> CommitId {
        let content = base64::engine::general_purpose::STANDARD.encode(text);
        let body = json!({"message": format!("write {path}"), "content": content, "branch": branch});
        let made = self.ask(MIA, "PUT", &format!("/repos/{REPO}/contents/{path}"), body).await;
        CommitId::new(made["commit"]["sha"].as_str().unwrap()).unwrap()
    }
}

/// A key that needs no key: enough to tell a signed text from another.
struct Key;

impl Signer for Key {
    fn key(&self) -> Digest {
        Digest::of("key")
    }

    fn sign(&self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        Ok(Digest::of_parts([b"key".as_slice(), bytes]).as_str().as_bytes().to_vec())
    }
}

impl KeyRing for Key {
    fn verify(&self, key: &Digest, bytes: &[u8], signature: &[u8]) -> Option<bool> {
        (*key == self.key()).then(|| self.sign(bytes).is_ok_and(|made| made == signature))
    }
}

fn ledger(repo: Repo) -> Ledger {
    Ledger::new(RepoId(1), Arc::new(GitHubStore::new(repo, LEDGER)), Arc::new(Key), Arc::new(Key))
}

fn entry(body: Body) -> Entry {
    Entry::new(By::Bot, None, body)
}

fn opened() -> Entry {
    entry(Body::Opened { author: Person { id: 3, login: "mia".to_owned(), bot: false } })
}

fn noted(what: &str) -> Entry {
    entry(Body::Tampered { what: what.to_owned(), told: None })
}

const AT: jiff::Timestamp = jiff::Timestamp::UNIX_EPOCH;

#[tokio::test]
async fn a_ledger_is_made_appended_to_read_back_and_proved_and_of_two_writers_one_wins() {
    let emulator = emulator();
    let (mine, theirs) = (ledger(emulator.repo()), ledger(emulator.repo()));
    let change = ChangeNumber(7);
    let loaded = mine.load(change).await.unwrap();
    assert!(loaded.state.is_none() && loaded.head.is_none(), "there is no branch yet");
    let begun = mine.append(loaded, AT, vec![opened()]).await.unwrap();

    // Both have read the same, and both write.
    let (one, other) = (mine.load(change).await.unwrap(), theirs.load(change).await.unwrap());
    assert_eq!(other.state.as_ref(), Some(&begun.state));
    let won = mine.append(one, AT, vec![noted("mine"), entry(Body::Linked { number: 9 })]).await.unwrap();
    let lost = theirs.append(other, AT, vec![noted("theirs")]).await;
    assert!(matches!(lost, Err(LedgerError::Moved)), "{lost:?}");
    // One that is about another change is put on top.
    let elsewhere = theirs.load(ChangeNumber(8)).await.unwrap();
    let more = mine.load(change).await.unwrap();
    mine.append(more, AT, vec![noted("more")]).await.unwrap();
    theirs.append(elsewhere, AT, vec![opened()]).await.unwrap();

    let fresh = ledger(emulator.repo());
    let proved = fresh.prove(change).await.unwrap();
    assert_eq!(proved.records.len(), 4);
    assert_eq!(won.state.seq, 3);
    assert_eq!(fresh.alias(9).await.unwrap(), Some(change));
    assert_eq!(fresh.load(ChangeNumber(8)).await.unwrap().state.unwrap().seq, 1);

    // The same at the store's own door: the branch is where it was expected, or nothing is written.
    let (store, late) = (GitHubStore::new(emulator.repo(), LEDGER), GitHubStore::new(emulator.repo(), LEDGER));
    let head = store.head().await.unwrap();
    let file = |path: &str| [NewFile { path: path.to_owned(), bytes: b"x\n".to_vec() }];
    store.commit(head.as_ref(), "first", &file("notes/first")).await.unwrap();
    let second = late.commit(head.as_ref(), "second", &file("notes/second")).await;
    assert!(matches!(second, Err(StoreError::Conflict)), "{second:?}");
    assert_eq!(late.names(&["notes".to_owned()]).await.unwrap(), [["first"]]);
    let again = late.commit(None, "a second beginning", &file("x")).await;
    assert!(matches!(again, Err(StoreError::Conflict)), "{again:?}");

    // An orphan, and each append one commit on the one before.
    let commits =
        emulator.ask(MIA, "GET", &format!("/repos/{REPO}/commits?sha={LEDGER}&per_page=100"), Value::Null).await;
    let parents: Vec<usize> =
        commits.as_array().unwrap().iter().map(|one| one["parents"].as_array().unwrap().len()).collect();
    assert_eq!(parents, [1, 1, 1, 1, 0]);
}

/// The same commit, made by libgit2 out of what the emulator tells of it and the files that it has.
async fn made_again(emulator: &Emulator, repo: &git2::Repository, id: &CommitId) -> git2::Oid {
    let told = emulator.ask(MIA, "GET", &format!("/repos/{REPO}/git/commits/{id}"), Value::Null).await;
    let path = format!("/repos/{REPO}/git/trees/{}?recursive=1", told["tree"]["sha"].as_str().unwrap());
    let mut index = git2::Index::new().unwrap();
    for entry in emulator.ask(MIA, "GET", &path, Value::Null).await["tree"].as_array().unwrap() {
        if entry["type"] == "tree" {
            continue;
        }
        let path = format!("/repos/{REPO}/git/blobs/{}", entry["sha"].as_str().unwrap());
        let content = emulator.ask(MIA, "GET", &path, Value::Null).await["content"].as_str().unwrap().to_owned();
        let bytes = base64::engine::general_purpose::STANDARD.decode(content).unwrap();
        index
            .add(&git2::IndexEntry {
                ctime: git2::IndexTime::new(0, 0),
                mtime: git2::IndexTime::new(0, 0),
                dev: 0,
                ino: 0,
                mode: u32::from_str_radix(entry["mode"].as_str().unwrap(), 8).unwrap(),
                uid: 0,
                gid: 0,
                file_size: 0,
                id: repo.blob(&bytes).unwrap(),
                flags: 0,
                flags_extended: 0,
                path: entry["path"].as_str().unwrap().as_bytes().to_vec(),
            })
            .unwrap();
    }
    let tree = repo.find_tree(index.write_tree_to(repo).unwrap()).unwrap();
    let who = |who: &Value| {
        let at: jiff::Timestamp = who["date"].as_str().unwrap().parse().unwrap();
        let time = git2::Time::new(at.as_second(), 0);
        git2::Signature::new(who["name"].as_str().unwrap(), who["email"].as_str().unwrap(), &time).unwrap()
    };
    let mut parents = Vec::new();
    for parent in told["parents"].as_array().unwrap() {
        let parent = CommitId::new(parent["sha"].as_str().unwrap()).unwrap();
        parents.push(Box::pin(made_again(emulator, repo, &parent)).await);
    }
    let parents: Vec<_> = parents.into_iter().map(|id| repo.find_commit(id).unwrap()).collect();
    let message = format!("{}\n", told["message"].as_str().unwrap());
    let (author, committer) = (who(&told["author"]), who(&told["committer"]));
    repo.commit(None, &author, &committer, &message, &tree, &parents.iter().collect::<Vec<_>>()).unwrap()
}

#[derive(Debug, PartialEq)]
struct Seen {
    merge_base: Option<CommitId>,
    content: Digest,
    patch: Option<Digest>,
    merges: bool,
    policy: Policy,
    papers: String,
}

fn seen(reader: &LocalRepo, base: &CommitId, head: &CommitId) -> phasegate::repo::Result<Seen> {
    let merge_base = reader.merge_base(base, head)?;
    let from = merge_base.clone().unwrap();
    let law = reader.blob(base, &RepoPath::from(policy::PATH))?.unwrap();
    let policy = policy::parse(&law.bytes).unwrap();
    let papers = Papers::read(reader, base, &from, head)?;
    assert!(papers.scope.is_some() && papers.design.is_some());
    Ok(Seen {
        content: content_digest(&reader.diff(&from, head)?, &policy.digest(), &Default::default()),
        patch: reader.patch_id(&from, head)?,
        merges: reader.brings(base, head)?.is_some(),
        papers: format!("{:?}", judge_all(&papers, &policy)),
        merge_base,
        policy,
    })
}

#[tokio::test]
async fn a_repository_reads_as_libgit2_reads_the_same_objects() {
    let emulator = emulator();
    emulator.writes("main", policy::PATH, PIPELINE_POLICY).await;
    emulator.writes("main", WORKFLOW, CI).await;
    // In a tree it stands before the folder `src`, which by its name alone would come first.
    emulator.writes("main", "src.md", "What is in src.\n").await;
    let fork = emulator.writes("main", "src/lamp.py", "def shine():\n    pass\n").await;
    let branch = json!({"ref": "refs/heads/dimmer", "sha": fork.as_str()});
    emulator.ask(MIA, "POST", &format!("/repos/{REPO}/git/refs"), branch).await;
    for (path, text) in papers::ALL.into_iter().filter(|(path, _)| *path != "scaffolding/readiness.md") {
        emulator.writes("dimmer", path, text).await;
    }
    let head = emulator.writes("dimmer", "src/dimmer.py", "def dim(to):\n    return to\n").await;
    let base = emulator.writes("main", "docs/é/notes.md", "Nobody's change.\n").await;

    let dir = emulator.dir();
    let repo = git2::Repository::init_bare(dir.join("again.git")).unwrap();
    for commit in [&base, &head] {
        assert_eq!(made_again(&emulator, &repo, commit).await.to_string(), commit.as_str(), "its ids are git's");
    }

    let remote = emulator.repo();
    let mirror = Mirror::open(dir.join("mirrors"), RepoId(1), Arc::new(remote.clone())).unwrap();
    let wants = [Want::Ref("refs/heads/main".into()), Want::Ref("refs/heads/dimmer".into())];
    let fetched = mirror.fetch_change(&wants[0], &wants[1]).await.unwrap();
    assert!(remote.hub().lacks(Part::GitOverHttp));
    assert_eq!((&fetched.base, &fetched.head, fetched.merge_base.as_ref()), (&base, &head, Some(&fork)));
    let (one, other) = (base.clone(), head.clone());
    let mine = mirror.read(move |reader| seen(reader, &one, &other)).await.unwrap();
    assert_eq!(mine, seen(&LocalRepo::open(repo.path()).unwrap(), &base, &head).unwrap());
    assert!(mine.patch.is_some() && mine.merges && mine.papers.contains("ANL-01"), "{mine:?}");
    // A second look asks for the branches, and what is new is little.
    let next = emulator.writes("main", "docs/more.md", "More.\n").await;
    assert_eq!(mirror.fetch(&wants[..1]).await.unwrap().first(), Some(&next));
    let read = mirror.read(move |reader| reader.blob(&next, &"docs/more.md".into())).await.unwrap();
    assert_eq!(read.unwrap().bytes, b"More.\n");
}

#[derive(Default)]
struct Notes(Mutex<BTreeSet<String>>);

#[async_trait::async_trait]
impl Memory for Notes {
    async fn recall(&self, key: &str) -> Option<String> {
        self.0.lock().unwrap().get(key).cloned()
    }

    async fn keep(&self, key: &str, _: &str) {
        self.0.lock().unwrap().insert(key.to_owned());
    }
}

#[tokio::test]
async fn an_extra_that_is_missing_is_not_an_error_and_what_it_would_tell_is_not_known() {
    let emulator = emulator();
    let main = emulator.ask(MIA, "GET", &format!("/repos/{REPO}/git/ref/heads/main"), Value::Null).await;
    let branch = json!({"ref": "refs/heads/dimmer", "sha": main["object"]["sha"]});
    emulator.ask(MIA, "POST", &format!("/repos/{REPO}/git/refs"), branch).await;
    let head = emulator.writes("dimmer", "src/dimmer.py", "def dim(to):\n    return to\n").await;
    let pull = json!({"title": "A dimmer", "head": "dimmer", "base": "main"});
    let pull = emulator.ask(MIA, "POST", &format!("/repos/{REPO}/pulls"), pull).await["number"].as_u64().unwrap();
    let said = format!("/repos/{REPO}/issues/{pull}/comments");
    let comment = emulator.ask(MIA, "POST", &said, json!({"body": "/status"})).await["id"].as_u64().unwrap();

    let (repo, notes) = (emulator.repo(), Notes::default());
    sync::react(&repo, &notes, comment, Reaction::Eyes).await.unwrap();
    assert_eq!(repo.branch_activity("dimmer").await.unwrap(), None);
    assert_eq!(repo.last_activity("main").await.unwrap(), None);
    assert_eq!(repo.deployments(&head, None).await.unwrap(), None, "not told, rather than none");
    assert_eq!(repo.workflow_runs_on(&head).await.unwrap(), Some(Vec::new()), "told, and none");
    let pulls: Vec<u64> = repo.pulls_for_commit(&head).await.unwrap().iter().map(|pull| pull.number).collect();
    assert_eq!(pulls, [pull], "what is in another list is taken from there");
    let nobody = CommitId::new("1".repeat(40)).unwrap();
    assert!(repo.pulls_for_commit(&nobody).await.unwrap_err().is_not_found(), "a thing that is not there stays so");
    let elsewhere = emulator.hub().repo(InstallationId(0), Slug::new("mia", "nothing").unwrap());
    assert!(elsewhere.deployments(&head, None).await.unwrap_err().is_not_found());
    assert!(repo.merge_queue("main").await.is_err(), "who is in a queue only GraphQL tells");
    assert!(repo.hub().lacks(Part::Graphql));
}
