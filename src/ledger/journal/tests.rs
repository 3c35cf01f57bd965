use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;

use std::collections::BTreeMap;

use super::*;
use crate::flow::{Action, Actor, FlowName, Mode, Stage};
use crate::ids::{Digest, Person};
use crate::ledger::chain::{Anchors, BreakKind, From, hold_against, prove};
use crate::ledger::local::LocalStore;
use crate::ledger::origin::Same;
use crate::ledger::store::Folder;
use crate::policy::Autonomy;

/// A key that needs no key: enough to tell a signed text from another.
struct TestKey(&'static str);

impl Signer for TestKey {
    fn key(&self) -> Digest {
        Digest::of(self.0)
    }

    fn sign(&self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        Ok(Digest::of_parts([self.0.as_bytes(), bytes]).as_str().as_bytes().to_vec())
    }
}

impl KeyRing for TestKey {
    fn verify(&self, key: &Digest, bytes: &[u8], signature: &[u8]) -> Option<bool> {
        (*key == self.key()).then(|| self.sign(bytes).is_ok_and(|made| made == signature))
    }
}

const REPO: RepoId = RepoId(7);
const AT: jiff::Timestamp = jiff::Timestamp::UNIX_EPOCH;

mod pages;

struct House {
    dir: TempDir,
    ledger: Arc<Ledger>,
}

impl House {
    fn new() -> Self {
        Self::with(|store| store)
    }

    fn with(wrap: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Store>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        git2::Repository::init_bare(dir.path()).unwrap();
        let store = wrap(Arc::new(LocalStore::new(dir.path(), "phasegate/ledger")));
        let ledger = Arc::new(Ledger::new(REPO, store, Arc::new(TestKey("a")), Arc::new(TestKey("a"))));
        Self { dir, ledger }
    }

    async fn files(&self, change: u64) -> BTreeMap<String, String> {
        self.store().folder(&folder(ChangeNumber(change))).await.unwrap().files
    }

    fn store(&self) -> LocalStore {
        LocalStore::new(self.dir.path(), "phasegate/ledger")
    }

    fn commits(&self) -> usize {
        let repo = git2::Repository::open(self.dir.path()).unwrap();
        let mut walk = repo.revwalk().unwrap();
        walk.push_ref("refs/heads/phasegate/ledger").unwrap();
        walk.count()
    }

    async fn begin(&self, change: u64) -> State {
        let loaded = self.ledger.load(ChangeNumber(change)).await.unwrap();
        self.ledger.append(loaded, AT, vec![opened()]).await.unwrap().state
    }

    /// A change with this many records.
    async fn long(&self, change: u64, records: u64) -> State {
        let mut state = self.begin(change).await;
        let loaded = self.ledger.load(ChangeNumber(change)).await.unwrap();
        let entries: Vec<Entry> = (1..records).map(|n| tampered(&format!("note {n}"))).collect();
        if !entries.is_empty() {
            state = self.ledger.append(loaded, AT, entries).await.unwrap().state;
        }
        state
    }
}

fn entry(body: Body) -> Entry {
    Entry::new(By::Bot, None, body)
}

fn opened() -> Entry {
    let author = Person { id: 1, login: "ada".to_owned(), bot: false };
    entry(Body::Opened { author })
}

fn tampered(what: &str) -> Entry {
    entry(Body::Tampered { what: what.to_owned(), told: None })
}

#[tokio::test]
async fn what_is_appended_is_read_back_and_the_branch_begins_as_an_orphan() {
    let house = House::new();
    assert!(house.ledger.load(ChangeNumber(42)).await.unwrap().state.is_none());
    let state = house.long(42, 3).await;
    assert_eq!(state.seq, 3);
    assert_eq!(house.ledger.load(ChangeNumber(42)).await.unwrap().state, Some(state));
    let names: Vec<String> = house.files(42).await.into_keys().collect();
    assert_eq!(names, ["0001.json", "0002.json", "0003.json"]);
    assert_eq!(house.commits(), 2, "the records of one decision go into one commit");
}

#[tokio::test]
async fn an_unlawful_decision_is_never_written() {
    let house = House::new();
    house.begin(1).await;
    let loaded = house.ledger.load(ChangeNumber(1)).await.unwrap();
    let step = entry(Body::Step { action: Action::PassDeployGate, actor: Actor::Bot, why: None });
    let error = house.ledger.append(loaded, AT, vec![tampered("x"), step]).await.unwrap_err();
    assert!(matches!(error, LedgerError::Unlawful(FoldError::NoPipeline { .. })), "{error}");
    assert_eq!(house.files(1).await.len(), 1, "nothing half written");
}

#[tokio::test]
async fn a_tampered_chain_is_located() {
    let house = House::new();
    let state = house.long(5, 6).await;
    house.long(6, 6).await;
    let files = house.files(5).await;
    let key = TestKey("a");
    let check = |files: &BTreeMap<String, String>| prove(REPO, ChangeNumber(5), files, &key, From::Beginning);
    let anchor = Anchor { change: ChangeNumber(5), seq: state.seq, tip: state.tip.clone() };
    assert_eq!(hold_against(&check(&files).unwrap(), &anchor), Ok(()));

    let mut altered = files.clone();
    let text = altered["0003.json"].replace("note 2", "note 9");
    altered.insert("0003.json".to_owned(), text);
    let broken = check(&altered).unwrap_err();
    assert_eq!((broken.seq, broken.kind), (3, BreakKind::Altered), "{broken}");

    let mut spaced = files.clone();
    spaced.insert("0003.json".to_owned(), files["0003.json"].replacen(':', ": ", 1));
    assert_eq!(check(&spaced).unwrap_err().seq, 3, "the same meaning in another spelling is still another text");

    let mut dropped = files.clone();
    dropped.remove("0004.json");
    let broken = check(&dropped).unwrap_err();
    assert_eq!((broken.seq, broken.kind), (4, BreakKind::Dropped), "{broken}");

    let mut closed_up = dropped.clone();
    for n in 5..=6u64 {
        let text = closed_up.remove(&file_name(n)).unwrap();
        closed_up.insert(file_name(n - 1), text);
    }
    let broken = check(&closed_up).unwrap_err();
    assert_eq!((broken.seq, broken.kind), (4, BreakKind::Reordered), "{broken}");

    let mut swapped = files.clone();
    swapped.insert("0002.json".to_owned(), files["0003.json"].clone());
    swapped.insert("0003.json".to_owned(), files["0002.json"].clone());
    let broken = check(&swapped).unwrap_err();
    assert_eq!((broken.seq, broken.kind), (2, BreakKind::Reordered), "{broken}");

    let mut foreign = files.clone();
    foreign.insert("0002.json".to_owned(), house.files(6).await["0002.json"].clone());
    let broken = check(&foreign).unwrap_err();
    assert_eq!((broken.seq, broken.kind), (2, BreakKind::Foreign), "{broken}");

    let mut cut = files.clone();
    cut.remove("0006.json");
    cut.remove("0005.json");
    let proven = check(&cut).expect("a shorter chain is a chain");
    let broken = hold_against(&proven, &anchor).unwrap_err();
    assert_eq!((broken.seq, broken.kind), (5, BreakKind::CutOff), "{broken}");

    let other = TestKey("another");
    let broken = prove(REPO, ChangeNumber(5), &files, &other, From::Beginning).unwrap_err();
    assert_eq!((broken.seq, broken.kind), (1, BreakKind::UnknownKey), "{broken}");
}

#[tokio::test]
async fn a_chain_that_was_written_again_after_the_anchor_shows() {
    let house = House::new();
    let state = house.long(5, 3).await;
    let anchor = Anchor { change: ChangeNumber(5), seq: state.seq, tip: state.tip };
    let other = House::new();
    other.begin(5).await;
    for what in ["p", "q", "r"] {
        let loaded = other.ledger.load(ChangeNumber(5)).await.unwrap();
        other.ledger.append(loaded, AT, vec![tampered(what)]).await.unwrap();
    }
    let proven = prove(REPO, ChangeNumber(5), &other.files(5).await, &TestKey("a"), From::Beginning).unwrap();
    let broken = hold_against(&proven, &anchor).unwrap_err();
    assert_eq!((broken.seq, broken.kind), (3, BreakKind::Altered));
}

#[tokio::test]
async fn a_checkpoint_shortens_the_read_and_changes_nothing() {
    let house = House::new();
    let state = house.long(1042, CHECKPOINT_EVERY + 20).await;
    let files = house.store().folder("changes/1/1042").await.unwrap().files;
    assert!(files.contains_key(CHECKPOINT_FILE));
    let key = TestKey("a");
    let short = prove(REPO, ChangeNumber(1042), &files, &key, From::Checkpoint).unwrap();
    let whole = prove(REPO, ChangeNumber(1042), &files, &key, From::Beginning).unwrap();
    assert_eq!(short.records.len(), 20);
    assert_eq!(whole.records.len() as u64, CHECKPOINT_EVERY + 20);
    assert_eq!(short.state, whole.state);
    assert_eq!(short.state, Some(state));

    let mut forged = files.clone();
    let text = forged[CHECKPOINT_FILE].replace("\"ada\"", "\"eve\"");
    assert_ne!(text, files[CHECKPOINT_FILE]);
    forged.insert(CHECKPOINT_FILE.to_owned(), text);
    assert!(prove(REPO, ChangeNumber(1042), &forged, &key, From::Checkpoint).is_err());
}

/// What stands before a checkpoint can't matter to the state: the checkpoint is signed, names its repository and change,
/// and the record after it follows the digest that stands in it.
#[tokio::test]
async fn what_is_done_before_a_checkpoint_changes_no_state() {
    let house = House::new();
    let state = house.long(7, CHECKPOINT_EVERY + 5).await;
    house.long(8, CHECKPOINT_EVERY + 5).await;
    let (files, other) = (house.files(7).await, house.files(8).await);
    let key = TestKey("a");
    let cold = |files: &BTreeMap<String, String>| prove(REPO, ChangeNumber(7), files, &key, From::Checkpoint);
    let whole = |files: &BTreeMap<String, String>| prove(REPO, ChangeNumber(7), files, &key, From::Beginning);
    let with = |name: &str, text: &str| {
        let mut files = files.clone();
        files.insert(name.to_owned(), text.to_owned());
        files
    };
    // Before it: the server's read is the same, and `replay` locates it.
    let altered = with(&file_name(50), &files[&file_name(50)].replace("note", "Note"));
    let mut dropped = files.clone();
    dropped.remove(&file_name(30));
    for (changed, at) in [(altered, 50), (dropped, 30)] {
        assert_eq!(cold(&changed).unwrap().state.as_ref(), Some(&state));
        assert_eq!(whole(&changed).unwrap_err().seq, at);
    }
    // The checkpoint itself: another text, another signer, another change, and a right one that does not fit.
    let checkpoint = &files[CHECKPOINT_FILE];
    let forged = chain::seal_checkpoint(REPO, &state, &TestKey("mallory")).unwrap();
    let forged = String::from_utf8(forged).unwrap();
    for (text, kind) in [
        (checkpoint.replace("\"ada\"", "\"eve\""), BreakKind::Altered),
        (forged, BreakKind::UnknownKey),
        (other[CHECKPOINT_FILE].clone(), BreakKind::Foreign),
    ] {
        assert_eq!(cold(&with(CHECKPOINT_FILE, &text)).unwrap_err().kind, kind);
    }
    let mut another = state.clone();
    (another.seq, another.tip) = (CHECKPOINT_EVERY, Digest::of("another history"));
    let unfit = String::from_utf8(chain::seal_checkpoint(REPO, &another, &key).unwrap()).unwrap();
    let broken = cold(&with(CHECKPOINT_FILE, &unfit)).unwrap_err();
    assert_eq!((broken.seq, broken.kind), (CHECKPOINT_EVERY + 1, BreakKind::Altered));
}

#[tokio::test]
async fn many_changes_at_once_share_commits_and_lose_nothing() {
    let house = House::new();
    house.begin(1000).await;
    let before = house.commits();
    let mut tasks = tokio::task::JoinSet::new();
    for change in 1..=24u64 {
        let ledger = Arc::clone(&house.ledger);
        tasks.spawn(async move {
            let loaded = ledger.load(ChangeNumber(change)).await.unwrap();
            let loaded = ledger.append(loaded, AT, vec![opened()]).await.unwrap().loaded();
            ledger.append(loaded, AT, vec![tampered("again")]).await.unwrap();
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    for change in 1..=24u64 {
        assert_eq!(house.ledger.load(ChangeNumber(change)).await.unwrap().state.unwrap().seq, 2);
    }
    let commits = house.commits() - before;
    assert!(commits < 48, "48 appends took {commits} commits");
}

#[tokio::test]
async fn of_two_decisions_on_one_state_one_is_told_to_decide_again() {
    let house = House::new();
    house.begin(3).await;
    let seen = house.ledger.load(ChangeNumber(3)).await.unwrap();
    // Two replicas, each with a ledger of its own.
    let other = Ledger::new(REPO, Arc::new(house.store()), Arc::new(TestKey("a")), Arc::new(TestKey("a")));
    house.ledger.append(seen.clone(), AT, vec![tampered("first")]).await.unwrap();
    let error = other.append(seen, AT, vec![tampered("second")]).await.unwrap_err();
    assert!(matches!(error, LedgerError::Moved), "{error}");
    // On another change the branch's having moved is no obstacle.
    let loaded = other.load(ChangeNumber(4)).await.unwrap();
    other.append(loaded, AT, vec![opened()]).await.unwrap();
    assert_eq!(house.ledger.load(ChangeNumber(3)).await.unwrap().state.unwrap().tampered, ["first"]);
}

/// Writes, and then says that it does not know whether it did; or does not write, and says the same.
struct Unsure {
    inner: Arc<dyn Store>,
    calls: AtomicUsize,
}

#[async_trait::async_trait]
impl Store for Unsure {
    async fn head(&self) -> Result<Option<CommitId>, StoreError> {
        self.inner.head().await
    }

    async fn folder(&self, path: &str) -> Result<Folder, StoreError> {
        self.inner.folder(path).await
    }

    async fn file(&self, path: &str) -> Result<Option<String>, StoreError> {
        self.inner.file(path).await
    }

    async fn names(&self, folders: &[String]) -> Result<Vec<Vec<String>>, StoreError> {
        self.inner.names(folders).await
    }

    async fn commit(&self, at: Option<&CommitId>, text: &str, files: &[NewFile]) -> Result<CommitId, StoreError> {
        match self.calls.fetch_add(1, Ordering::SeqCst) % 3 {
            0 => Err(StoreError::Unclear("time-out before the write".to_owned())),
            1 => {
                self.inner.commit(at, text, files).await?;
                Err(StoreError::Unclear("time-out after the write".to_owned()))
            }
            _ => self.inner.commit(at, text, files).await,
        }
    }
}

#[tokio::test]
async fn an_unclear_answer_is_looked_up_and_never_written_twice() {
    let house = House::with(|inner| Arc::new(Unsure { inner, calls: AtomicUsize::new(0) }));
    for n in 1..=9u64 {
        let loaded = house.ledger.load(ChangeNumber(1)).await.unwrap();
        let entry = if n == 1 { opened() } else { tampered("n") };
        assert_eq!(house.ledger.append(loaded, AT, vec![entry]).await.unwrap().state.seq, n);
    }
    assert_eq!(house.files(1).await.len(), 9);
    assert_eq!(house.commits(), 9);
}

#[tokio::test]
async fn a_link_is_an_alias() {
    let house = House::new();
    house.begin(12).await;
    let loaded = house.ledger.load(ChangeNumber(12)).await.unwrap();
    house.ledger.append(loaded, AT, vec![entry(Body::Linked { number: 7 })]).await.unwrap();
    assert_eq!(house.ledger.alias(7).await.unwrap(), Some(ChangeNumber(12)));
    assert_eq!(house.ledger.alias(8).await.unwrap(), None);
}

#[tokio::test]
async fn steps_and_facts_beside_the_table_fold_into_the_stage() {
    let house = House::new();
    house.begin(2).await;
    let loaded = house.ledger.load(ChangeNumber(2)).await.unwrap();
    let entries = vec![
        entry(Body::Law {
            policy: Digest::of("policy"),
            flow: FlowName::Pipeline,
            mode: Mode::Auto,
            autonomy: Autonomy::Auto,
        }),
        entry(Body::Step { action: Action::RequestBuild, actor: Actor::Human, why: None }),
    ];
    let state = house.ledger.append(loaded, AT, entries).await.unwrap().state;
    assert_eq!(state.pipeline.unwrap().stage, Stage::Expanding);
}

#[test]
fn a_number_that_canonical_json_can_not_keep_is_refused() {
    assert!(chain::canonical(&serde_json::json!({ "id": (1u64 << 53) + 1 })).is_err());
    assert!(chain::canonical(&serde_json::json!({ "id": 0.5 })).is_err());
    assert_eq!(
        chain::canonical(&serde_json::json!({ "b": 1, "a": [true, null] })).unwrap(),
        br#"{"a":[true,null],"b":1}"#
    );
}

#[test]
fn an_anchor_reads_what_it_writes() {
    let anchor = Anchor { change: ChangeNumber(9), seq: 12, tip: Digest::of("x") };
    assert_eq!(anchor.to_string().parse::<Anchor>(), Ok(anchor));
    assert!("pg1:9:12".parse::<Anchor>().is_err());
    assert!("pg1:9:x:00".parse::<Anchor>().is_err());
}

fn content(head: &str, branch: &str, patch: &str) -> Entry {
    let commit = |text: &str| CommitId::new(&Digest::of(text).as_str()[..40]).unwrap();
    let about =
        About { base_ref: "main".to_owned(), base: commit("base"), head: commit(head), content: Digest::of(head) };
    let branch = origin::Branch { repo: REPO, name: branch.to_owned() };
    let body = Body::Subject {
        why: crate::ledger::record::Why::Opened,
        pushed_by: None,
        present: BTreeMap::new(),
        origin: Some(origin::Origin { branch: Some(branch), patch: Some(Digest::of(patch)) }),
        based_since: None,
        older_reviews: BTreeSet::new(),
        older_runs: BTreeSet::new(),
    };
    Entry::new(By::Bot, Some(about), body)
}

fn keys(entry: &Entry) -> Vec<(Same, Digest)> {
    let (Body::Subject { origin: Some(origin), .. }, Some(about)) = (&entry.body, &entry.about) else { panic!() };
    origin.keys(&about.head)
}

/// The other changes that hand down to one with these keys.
async fn earlier(ledger: &Ledger, change: u64, keys: &[(Same, Digest)]) -> Vec<u64> {
    let only: Vec<Digest> = keys.iter().map(|(_, key)| key.clone()).collect();
    let found = ledger.related(ChangeNumber(change), &only, BTreeSet::new()).await.unwrap().read;
    let states = found.into_iter().filter_map(|(_, read)| read.unwrap());
    states.filter(|state| origin::hands_down(state, keys, "main", false)).map(|state| state.change.0).collect()
}

#[tokio::test]
async fn a_change_is_found_by_its_head_its_branch_and_its_patch() {
    let house = House::new();
    assert!(earlier(&house.ledger, 9, &keys(&content("h", "b", "p"))).await.is_empty());
    house.begin(3).await;
    let loaded = house.ledger.load(ChangeNumber(3)).await.unwrap();
    house.ledger.append(loaded, AT, vec![content("h", "b", "p")]).await.unwrap();
    let found = |head: &'static str, branch: &'static str, patch: &'static str| {
        let keys = keys(&content(head, branch, patch));
        let ledger = house.ledger.clone();
        async move { earlier(&ledger, 9, &keys).await }
    };
    assert_eq!(found("h", "other", "other").await, [3]);
    assert_eq!(found("other", "b", "other").await, [3]);
    assert_eq!(found("other", "other", "p").await, [3]);
    assert!(found("other", "other", "other").await.is_empty());
    // Not by itself, and a second one beside it does not take its place.
    assert!(earlier(&house.ledger, 3, &keys(&content("h", "b", "p"))).await.is_empty());
    house.begin(5).await;
    let loaded = house.ledger.load(ChangeNumber(5)).await.unwrap();
    house.ledger.append(loaded, AT, vec![content("h", "elsewhere", "x")]).await.unwrap();
    assert_eq!(found("h", "other", "other").await, [5, 3]);
    assert_eq!(found("other", "b", "other").await, [3]);
}

#[tokio::test]
async fn of_very_many_changes_of_the_same_work_all_are_read_or_said_not_to_be() {
    let house = House::new();
    for number in 1..=40 {
        house.begin(number).await;
        let loaded = house.ledger.load(ChangeNumber(number)).await.unwrap();
        house.ledger.append(loaded, AT, vec![content(&format!("h{number}"), "b", "p")]).await.unwrap();
    }
    let keys = keys(&content("other", "other", "p"));
    let only: Vec<Digest> = keys.iter().map(|(_, key)| key.clone()).collect();
    assert_eq!(earlier(&house.ledger, 99, &keys).await, (1..=40).rev().collect::<Vec<_>>());
    let related = |known| house.ledger.related(ChangeNumber(99), &only, known);
    assert_eq!(related(BTreeSet::new()).await.unwrap().unread, 0);
    // The newest are read, and it is told that there are more.
    let related = related((101..=1_600).map(ChangeNumber).collect()).await.unwrap();
    assert_eq!((related.read.len(), related.unread), (1_500, 40));
    assert!(related.read.iter().all(|(number, _)| number.0 > 100));
}

#[tokio::test]
async fn an_index_that_lies_finds_nobody() {
    let house = House::new();
    house.begin(3).await;
    let keys = keys(&content("h", "b", "p"));
    let files: Vec<NewFile> = ["3", "4", "x"]
        .iter()
        .map(|name| NewFile { path: format!("{}/{name}", origin::folder(&keys[0].1)), bytes: b"3".to_vec() })
        .collect();
    let store = house.store();
    let head = store.head().await.unwrap();
    store.commit(head.as_ref(), "forged", &files).await.unwrap();
    assert!(earlier(&house.ledger, 9, &keys).await.is_empty());
    // That it names a change without records is told: there may have been some.
    let found = house.ledger.related(ChangeNumber(9), &[keys[0].1.clone()], BTreeSet::new()).await.unwrap().read;
    let empty = found.iter().filter(|(_, read)| read.as_ref().is_ok_and(|state| state.is_none()));
    assert_eq!(empty.map(|(number, _)| number.0).collect::<Vec<_>>(), [4]);
}

#[test]
fn a_merge_check_carries_the_anchors_of_several_changes() {
    let anchor = |change, seq: u64| Anchor { change: ChangeNumber(change), seq, tip: Digest::of(seq.to_string()) };
    let one = Anchors::read(&anchor(9, 12).to_string());
    let both = Anchors::read("pg1-broken").with(one.clone()).with(Anchors::read(&anchor(4, 2).to_string()));
    assert!(both.shared() && !one.shared());
    assert_eq!(both.in_full(), format!("{} {}", anchor(4, 2), anchor(9, 12)));
    assert_eq!(both.in_short(ChangeNumber(4)), both.in_full());
    assert_eq!(both.in_full().parse::<Anchors>(), Ok(both.clone()));
    let newer = both.with(Anchors::read(&anchor(9, 13).to_string()));
    assert_eq!((newer.of(ChangeNumber(9)), newer.of(ChangeNumber(4))), (Some(&anchor(9, 13)), Some(&anchor(4, 2))));
    let many = (1..=900).map(|change| Anchors::read(&anchor(change, 1).to_string())).fold(newer, Anchors::with);
    let short = many.in_short(ChangeNumber(2));
    assert!(short.len() <= 255, "GitHub may not keep more");
    let kept = Anchors::read(&short);
    assert_eq!(kept.changes().map(|change| change.0).collect::<Vec<_>>(), [2, 899, 900], "its own, and the newest");
    let full = Anchors::read(&many.in_full());
    assert!(many.in_full().len() <= 65_000 && full.of(ChangeNumber(900)).is_some() && full.changes().count() > 800);
    assert!("pg1:9:12".parse::<Anchors>().is_err() && "".parse::<Anchors>().is_err());
}
