//! What visitors do from the pages.

use super::super::super::{QueueMethod, Switch};
use super::*;

const IDEA: &str = "/ada/site/pull/1/act";

async fn with_an_idea() -> House {
    let house = house().await;
    house.admin.commit("ada/site", "ada", "idea", "an idea", &[("a.md", Some("a"))]).unwrap();
    house.admin.open_pull("ada/site", "ada", "An idea", "idea", "main").unwrap();
    house.open_stage();
    house
}

#[tokio::test]
async fn a_commit_that_is_made_ready_is_pushed_with_its_authors_rights() {
    let house = with_an_idea().await;
    let admin = &house.admin;
    let html = house.page("/ada/site/pull/1");
    assert!(html.contains("<option value=\"more\">what more is for</option>"), "{html}");
    let before = admin.branch("ada/site", "idea").unwrap();
    let (status, told) = house.posts(IDEA, None, "do=push&as=eve&commit=more").await;
    assert_eq!((status, told.as_str()), (403, "refused: Permission to ada/site.git denied to eve.\n"));
    let (status, told) = house.posts(IDEA, None, "do=push&as=mia&commit=other").await;
    assert_eq!((status, told.as_str()), (422, "refused: Nothing of that name is made ready; there is: more, less.\n"));
    // The rules of a branch hold here as for any push.
    let rule = admin.reserve_branch("ada/site", "idea", 7).unwrap();
    let (status, told) = house.posts(IDEA, None, "do=push&as=ada&commit=more").await;
    assert!(status == 422 && told.contains("Cannot update this protected ref."), "{told}");
    admin.remove_ruleset("ada/site", rule).unwrap();
    assert_eq!(admin.branch("ada/site", "idea").unwrap(), before);

    assert_eq!(house.posts(IDEA, None, "do=push&as=mia&commit=more").await.0, 303);
    assert_eq!(admin.file("ada/site", "idea", "more.md").unwrap().as_deref(), Some("more\n"));
    let pull = admin.issue("ada/site", 1).unwrap().pull.unwrap();
    assert_eq!(Some(pull.head_sha), admin.branch("ada/site", "idea").unwrap(), "the pull request follows");
    let by = admin.repo("ada/site").unwrap().activities.pop().unwrap();
    assert_eq!((by.actor.login.as_str(), by.kind), ("mia", "push"));
    let (status, told) = house.posts(IDEA, None, "do=push&as=mia&commit=more").await;
    assert!(status == 422 && told.contains("nothing to push"), "{told}");
    assert_eq!(house.posts(IDEA, None, "do=push&as=mia&commit=less").await.0, 303);
    assert_eq!(admin.file("ada/site", "idea", "a.md").unwrap(), None);

    assert_eq!(house.posts(IDEA, None, "do=close&as=ada").await.0, 303);
    let (status, told) = house.posts(IDEA, None, "do=push&as=mia&commit=more").await;
    assert!(status == 422 && told.contains("It is closed"), "{told}");
}

#[tokio::test]
async fn a_change_that_is_made_ready_gets_a_branch_and_a_pull_request() {
    let house = house().await;
    assert_eq!(house.posts("/ada/site/act", None, "do=begin&as=ada&change=fresh").await.0, 404, "closed");
    house.open_stage();
    assert_eq!(house.posts("/ada/site/act", None, "do=begin&as=eve&change=fresh").await.0, 403);
    let begin = "do=begin&as=mia&change=fresh";
    assert_eq!(house.posts("/ada/site/act", None, begin).await, (303, "done: /ada/site/pull/1\n".to_owned()));
    assert_eq!(house.posts("/ada/site/act", None, begin).await, (303, "done: /ada/site/pull/2\n".to_owned()));
    let (one, two) = (house.admin.issue("ada/site", 1).unwrap(), house.admin.issue("ada/site", 2).unwrap());
    assert_eq!((one.title.as_str(), one.user.login.as_str()), ("the fresh commit", "mia"));
    assert_eq!((one.pull.unwrap().head_ref, two.pull.unwrap().head_ref), ("mia/fresh".into(), "mia/fresh-2".into()));
}

#[tokio::test]
async fn an_issue_is_closed_and_opened_again() {
    let house = house().await;
    house.admin.call_as("eve", "POST", "/repos/ada/site/issues", json!({"title": "A question"})).unwrap();
    house.open_stage();
    let act = "/ada/site/issues/1/act";
    assert!(house.page("/ada/site/issues/1").contains("value=\"close\">Close</button>"));
    assert_eq!(house.posts(act, None, "do=close&as=mia").await, (303, "done: /ada/site/issues/1\n".to_owned()));
    let html = house.page("/ada/site/issues/1");
    assert!(html.contains("closed as completed") && html.contains("value=\"reopen\">Reopen</button>"), "{html}");
    assert_eq!(house.posts(act, None, "do=reopen&as=eve").await.0, 303, "their own");
    assert!(house.admin.issue("ada/site", 1).unwrap().open);
    assert_eq!(house.posts(act, None, "do=merge&as=ada").await.0, 404, "it is no pull request");
    assert_eq!(house.posts(act, None, "do=nothing&as=ada").await.0, 422);
}

#[tokio::test]
async fn where_a_queue_is_required_one_gets_in_line() {
    let house = with_an_idea().await;
    let admin = &house.admin;
    admin.require_checks("ada/site", &[("test", None)]).unwrap();
    admin.require_queue("ada/site", QueueMethod::Merge).unwrap();
    let html = house.page("/ada/site/pull/1");
    assert!(
        html.contains("value=\"enqueue\">Add to the queue</button>") && !html.contains("value=\"merge\""),
        "{html}"
    );
    assert_eq!(house.posts(IDEA, None, "do=enqueue&as=ada").await.0, 422, "its check is not there");
    assert_eq!(house.posts(IDEA, None, "do=ci-green").await.0, 303);
    assert_eq!(house.posts(IDEA, None, "do=enqueue&as=eve").await.0, 404, "a reader can't");
    assert_eq!(house.posts(IDEA, None, "do=enqueue&as=ada").await.0, 303);
    let html = house.page("/ada/site/pull/1");
    assert!(html.contains("In the merge queue at place 1, as "), "{html}");
    assert!(!house.page("/ada/site").contains("gh-readonly-queue"), "the queue's branches are nobody's change");
    // CI ends on the group now, and lets it in.
    assert_eq!(house.posts(IDEA, None, "do=ci-green").await.0, 303);
    assert!(admin.issue("ada/site", 1).unwrap().pull.unwrap().merged_at.is_some());
}

#[tokio::test]
async fn a_bad_day_is_switched_on_said_and_over() {
    let house = with_an_idea().await;
    let (act, admin) = ("/ada/site/act", &house.admin);
    assert!(house.page("/ada/site").contains("<option value=\"loses-webhooks\">"));
    assert!(!house.page("/ada/site").contains("bad day."), "it is calm");
    let (status, told) = house.posts(act, None, "do=bad-day&day=fine").await;
    assert!(
        status == 422 && told.contains("loses-webhooks, late-and-twice, shaky-api, everything and seeded"),
        "{told}"
    );
    assert_eq!(house.posts(act, None, "do=bad-day&seed=3").await.0, 422, "nothing is switched on");
    assert_eq!(house.posts(act, Some("http://evil.example"), "do=bad-day&day=everything").await.0, 403);
    assert_eq!(admin.day(), None);

    assert_eq!(house.posts(act, None, "do=bad-day&day=seeded&seed=12").await.0, 303);
    assert_eq!(admin.day(), Some(crate::twin::BadDay::mixed(12)));
    assert_eq!(house.posts(act, None, "do=bad-day&lost=5&seed=2").await.0, 303);
    assert_eq!(admin.day(), Some(crate::twin::BadDay::only(2, Switch::Lost, 5)));
    // From a pull request's page one comes back to it.
    let done = (303, "done: /ada/site/pull/1\n".to_owned());
    assert_eq!(house.posts(IDEA, None, "do=bad-day&day=loses-webhooks&seed=7").await, done);
    let html = house.page("/ada/site/pull/1");
    assert!(html.contains("<b>GitHub has a bad day.</b> Struck so far: nothing."), "{html}");
    assert!(html.contains("value=\"calm\">Calm again</button>") && !html.contains("value=\"bad-day\""), "{html}");
    assert_eq!(house.posts(IDEA, None, "do=calm").await, done);
    assert_eq!(admin.day(), None);
    let html = house.page("/ada/site");
    assert!(html.contains("<b>The bad day is over.</b> Nothing happened on it."), "{html}");
    assert!(html.contains("value=\"bad-day\">Switch it on</button>"), "{html}");
    assert!(!house.page("/").contains("bad day is over"));
}
