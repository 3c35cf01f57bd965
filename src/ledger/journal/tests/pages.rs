//! The page beside the records.

use super::*;
use crate::ledger::{Pages, evidence_page};

/// Says which records it was given.
struct Numbers;

impl Pages for Numbers {
    fn page(&self, state: &State, records: &[Record]) -> String {
        let numbers: Vec<String> = records.iter().map(|record| record.seq.to_string()).collect();
        format!("{}: {}", state.seq, numbers.join(" "))
    }

    fn record(&self, state: &State) -> Option<String> {
        (state.seq > 3).then(|| format!("record of {}", state.change))
    }
}

impl House {
    fn with_pages() -> Self {
        let house = Self::new();
        let store = Arc::new(house.store());
        let ledger =
            Ledger::new(REPO, store, Arc::new(TestKey("a")), Arc::new(TestKey("a"))).with_pages(Arc::new(Numbers));
        Self { ledger: Arc::new(ledger), ..house }
    }

    async fn page(&self, change: u64) -> Option<String> {
        self.store().file(&evidence_page(ChangeNumber(change))).await.unwrap()
    }
}

fn up_to(last: u64) -> String {
    let numbers: Vec<String> = (1..=last).map(|number| number.to_string()).collect();
    format!("{last}: {}", numbers.join(" "))
}

#[tokio::test]
async fn a_page_is_written_in_the_records_commit_and_is_none_of_them() {
    let house = House::with_pages();
    let state = house.long(42, 3).await;
    assert_eq!(house.page(42).await, Some(up_to(3)));
    let record = crate::ledger::change_record(ChangeNumber(42));
    assert_eq!(house.store().file(&record).await.unwrap(), None, "it is not through yet");
    assert_eq!(house.commits(), 2, "the page has no commit of its own");
    let names: Vec<String> = house.files(42).await.into_keys().collect();
    assert_eq!(names, ["0001.json", "0002.json", "0003.json"], "who reads the records does not fetch it");
    assert_eq!(house.ledger.prove(ChangeNumber(42)).await.unwrap().state, Some(state));
    // Another's page is another file.
    house.begin(43).await;
    assert_eq!((house.page(42).await, house.page(43).await), (Some(up_to(3)), Some(up_to(1))));
}

#[tokio::test]
async fn that_something_was_shown_writes_no_page() {
    let house = House::with_pages();
    house.begin(42).await;
    let loaded = house.ledger.load(ChangeNumber(42)).await.unwrap();
    let shown = Body::Shown { comment: 9, since: AT, files: None, draft: false };
    let id = |c: &str| crate::ids::CommitId::new(c.repeat(40)).unwrap();
    let about = About { base_ref: "main".to_owned(), base: id("b"), head: id("a"), content: Digest::of("x") };
    house.ledger.append(loaded, AT, vec![Entry::new(By::Bot, Some(about), shown)]).await.unwrap();
    assert_eq!(house.page(42).await, Some(up_to(1)));
}

#[tokio::test]
async fn a_long_story_is_told_from_its_beginning_as_far_as_it_is_whole() {
    let house = House::with_pages();
    house.long(42, 205).await;
    let append = async |note: &str| {
        let loaded = house.ledger.load(ChangeNumber(42)).await.unwrap();
        house.ledger.append(loaded, AT, vec![tampered(note)]).await.unwrap().state.seq
    };
    assert_eq!(append("one more").await, 206);
    assert_eq!(house.page(42).await, Some(up_to(206)), "also what the checkpoint stands for");
    // What nobody signed is not told: of a record that was changed before the checkpoint, nothing before that is.
    let (path, text) = (format!("{}/0007.json", folder(ChangeNumber(42))), house.files(42).await["0007.json"].clone());
    let forged = NewFile { path, bytes: text.replace("note 6", "note 9").into_bytes() };
    let head = house.store().head().await.unwrap();
    house.store().commit(head.as_ref(), "forged", &[forged]).await.unwrap();
    assert_eq!(append("and one").await, 207);
    assert_eq!(house.page(42).await.unwrap(), "207: 201 202 203 204 205 206 207");
}
