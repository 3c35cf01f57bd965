use super::*;
use crate::ids::Person;

fn commit(letter: &str) -> CommitId {
    CommitId::new(letter.repeat(40)).unwrap()
}

fn pull(head: &str, state: &str) -> Fetched {
    let side = |sha: CommitId| json!({ "ref": "work", "sha": sha.as_str(), "repo": null });
    let body = json!({ "number": 1, "state": state, "head": side(commit(head)), "base": side(commit("0")) });
    serde_json::from_value(body).unwrap()
}

fn told(what: PullEvent, before: Option<&str>, head: &str) -> (String, Event) {
    let sender = Person { id: 1, login: "rover".to_owned(), bot: false };
    let before = before.map(commit);
    let fact = Fact::Pull { number: 1, what, head: commit(head), sender, label: None, before };
    ("guid".to_owned(), Event { repo: None, fact })
}

#[test]
fn a_limit_that_is_met_at_the_ledger_is_waited_for_too() {
    let until = Timestamp::UNIX_EPOCH;
    let limited = || StoreError::Later { until };
    let github = Error::RateLimited { until, secondary: false };
    for error in [limited().into(), LedgerError::Store(limited()).into(), anyhow::Error::from(github)] {
        assert!(matches!(Halt::from(error), Halt::Later(then, _) if then == until));
    }
    assert!(matches!(Halt::from(LedgerError::Moved), Halt::Again(_)));
}

#[test]
fn an_answer_that_is_older_than_what_was_told_is_known_by_it() {
    let pushed = told(PullEvent::Synchronize, Some("a"), "b");
    let back = told(PullEvent::Synchronize, Some("b"), "a");
    assert!(is_behind(&pull("a", "open"), std::slice::from_ref(&pushed)));
    assert!(!is_behind(&pull("b", "open"), std::slice::from_ref(&pushed)));
    assert!(!is_behind(&pull("c", "open"), std::slice::from_ref(&pushed)), "it has moved on since");
    assert!(!is_behind(&pull("a", "open"), &[pushed, back]), "it was moved back");
    let (closed, reopened) = (told(PullEvent::Closed, None, "a"), told(PullEvent::Reopened, None, "a"));
    assert!(is_behind(&pull("a", "open"), std::slice::from_ref(&closed)));
    assert!(!is_behind(&pull("a", "closed"), std::slice::from_ref(&closed)));
    assert!(is_behind(&pull("a", "closed"), std::slice::from_ref(&reopened)));
    assert!(!is_behind(&pull("a", "open"), &[closed, reopened]));
}

#[test]
fn a_label_that_was_told_of_and_is_not_there_is_looked_for_again() {
    let labelled = |what, by_bot| {
        let (guid, mut event) = told(what, None, "a");
        if let Fact::Pull { label, sender, .. } = &mut event.fact {
            *label = Some("phase:verified".to_owned());
            sender.bot = by_bot;
        }
        (guid, event)
    };
    let bare = pull("a", "open");
    let mut with = pull("a", "open");
    with.labels = serde_json::from_value(json!([{ "name": "phase:verified" }])).unwrap();
    let (put, taken) = (labelled(PullEvent::Labeled, false), labelled(PullEvent::Unlabeled, false));
    assert!(is_behind(&bare, std::slice::from_ref(&put)) && !is_behind(&with, std::slice::from_ref(&put)));
    assert!(is_behind(&with, std::slice::from_ref(&taken)) && !is_behind(&bare, std::slice::from_ref(&taken)));
    let mut renamed = pull("a", "open");
    renamed.labels = serde_json::from_value(json!([{ "name": "Phase:Verified" }])).unwrap();
    assert!(!is_behind(&renamed, std::slice::from_ref(&put)), "case is nothing to GitHub");
    assert!(!is_behind(&bare, &[put, taken]), "it was put on and taken off");
    assert!(!is_behind(&bare, &[labelled(PullEvent::Labeled, true)]), "ours come and go");
}
