//! The pages as visitors use them, with the real bot behind them.

use phasegate::rehearsal::{MERGE_POLICY, REPO, Rehearsal, Setup, sandbox_stage};
use phasegate::twin::Switch;

use super::{assert_merge, kinds};

/// A visitor's browser.
struct Visitor<'a> {
    on: &'a Rehearsal,
    client: reqwest::Client,
}

impl<'a> Visitor<'a> {
    fn new(on: &'a Rehearsal) -> Self {
        on.admin().open_stage(REPO, sandbox_stage(&["ada", "mia", "rover"])).unwrap();
        let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        Self { on, client }
    }

    /// Sends a form; it is done, and the page that it leads to has nothing more to wait for.
    async fn does(&self, below: &str, form: &str) {
        let url = format!("{}/{REPO}{below}/act", self.on.url());
        let answer = self.client.post(url).body(form.to_owned()).send().await.unwrap();
        let (status, to) = (answer.status().as_u16(), answer.headers().get("location").cloned());
        let told = answer.text().await.unwrap();
        assert_eq!(status, 303, "{form}: {told}");
        let to = to.unwrap().to_str().unwrap().to_owned();
        assert!(!to.contains("fresh"), "{form}: the bot was not waited for: {to}");
    }

    /// Sends a form that changes nothing; what the visitor is told.
    async fn is_refused(&self, form: &str) -> String {
        let url = format!("{}/{REPO}/act", self.on.url());
        let answer = self.client.post(url).body(form.to_owned()).send().await.unwrap();
        assert_eq!(answer.status().as_u16(), 422, "{form}");
        answer.text().await.unwrap()
    }

    async fn sees(&self, below: &str) -> String {
        self.client.get(format!("{}/{REPO}{below}", self.on.url())).send().await.unwrap().text().await.unwrap()
    }
}

/// What is there in the end. (How often something was looked at depends on the day.)
fn end(on: &Rehearsal) -> (Vec<String>, Vec<String>, usize) {
    let mut recorded = kinds(on, 1);
    recorded.sort();
    recorded.dedup();
    (recorded, on.admin().labels(REPO, 1).unwrap(), on.bot_comments(1).unwrap().len())
}

/// One change, driven by forms alone; the middle of it on a day that a form makes bad, until another calms it.
async fn driven(day: Option<&str>) -> ((Vec<String>, Vec<String>, usize), u64) {
    let on = Rehearsal::start(Setup::with_policy(MERGE_POLICY)).await.unwrap();
    let visitor = Visitor::new(&on);
    visitor.does("", "do=begin&as=rover&change=hello").await;
    if let Some(day) = day {
        assert!(visitor.is_refused("do=bad-day&day=seeded&seed=abc").await.contains("A seed is a whole number"));
        visitor.does("", &format!("do=bad-day&{day}")).await;
        assert!(visitor.sees("/pull/1").await.contains("<b>GitHub has a bad day.</b>"));
    }
    visitor.does("/pull/1", "do=ci-red").await;
    visitor.does("/pull/1", "do=push&as=rover&commit=harmless").await;
    visitor.does("/pull/1", "do=ci-green").await;
    visitor.does("/pull/1", "do=approve&as=mia&body=").await;
    let struck: u64 = on.admin().struck().values().sum();
    if day.is_some() {
        visitor.does("/pull/1", "do=calm").await;
        assert!(visitor.sees("/pull/1").await.contains("<b>The bad day is over.</b>"));
        assert_eq!(on.admin().struck().get(&Switch::Lost), None, "it is calm");
    }
    // What the visitor sees, without anybody waiting for anything else.
    assert!(visitor.sees("/pull/1").await.contains("<b>It may be merged</b>"), "{}", visitor.sees("/pull/1").await);
    assert_merge(&on, 1, "success");
    visitor.does("/pull/1", "do=merge&as=ada").await;
    assert!(visitor.sees("/pull/1").await.contains("<b>Merged</b>"));
    assert!(visitor.sees("").await.contains("<em>Hello</em> is merged."), "{}", visitor.sees("").await);
    assert!(visitor.is_refused("do=begin&as=rover&change=hello").await.contains("It was merged"));
    let end = end(&on);
    on.end().await;
    (end, struck)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_day_by_the_form_leads_to_the_same_end() {
    let (calm, _) = driven(None).await;
    for day in ["day=loses-webhooks&seed=7", "day=late-and-twice&seed=7", "day=everything&seed=7"] {
        let (bad, struck) = driven(Some(day)).await;
        assert!(struck > 0, "{day} struck nothing");
        assert_eq!(bad, calm, "{day}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_button_of_the_check_is_answered_on_the_page() {
    let on = Rehearsal::start(Setup::with_policy(MERGE_POLICY)).await.unwrap();
    let visitor = Visitor::new(&on);
    visitor.does("", "do=begin&as=rover&change=hello").await;
    let run = on.merge_run(1).unwrap().id;
    for login in ["ada", "mia", "rover"] {
        let before = on.bot_comments(1).unwrap().len();
        visitor.does(&format!("/runs/{run}"), &format!("as={login}&press=explain")).await;
        assert_eq!(on.bot_comments(1).unwrap().len(), before + 1, "{login}");
    }
    let html = visitor.sees("/pull/1").await;
    assert!(html.contains("What stands between this change and its merge"), "{html}");
    // A workflow that the change itself wrote proves nothing, and the page says which file.
    visitor.does("/pull/1", "do=push&as=rover&commit=lax-ci").await;
    visitor.does("/pull/1", "do=ci-green").await;
    visitor.does("/pull/1", "do=approve&as=mia&body=").await;
    assert_ne!(on.merge_check(1).unwrap().as_deref(), Some("success"));
    assert!(visitor.sees("/pull/1").await.contains(".github/workflows/ci.yml"));
    on.end().await;
}
