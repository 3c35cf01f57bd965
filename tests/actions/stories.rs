//! A change from `/expand` to its merge, without a server.

use std::sync::Arc;

use phasegate::gate::merge::CHECK_NAME;
use phasegate::rehearsal::{Bot, Rehearsal, Setup, papers};

use crate::act::{Act, template};

/// What proves a change here.
pub(crate) const TEST: &str = "! grep -qr broken src\n";

/// A template's files, the policy first, set up as a gate with phases.
pub(crate) fn phased(name: &str) -> Vec<(String, String)> {
    let mut files = template(name);
    let policy = &mut files[0].1;
    for (from, to) in [("enforce: observe\n", ""), ("flow: merge", "flow: pipeline"), ("make test", "sh test.sh")] {
        assert!(policy.contains(from), "the template has no `{from}` any more");
        *policy = policy.replace(from, to);
    }
    files
}

/// A stage whose repository was made from a template.
async fn made_from(name: &str, bot: Bot) -> Rehearsal {
    let mut files = phased(name);
    let (_, policy) = files.remove(0);
    files.push(("test.sh".to_owned(), TEST.to_owned()));
    files.push(("src/lamp.py".to_owned(), "def shine(): pass\n".to_owned()));
    let setup = Setup { bot, files, runner: Some(Arc::new(Act::new())), ..Setup::with_policy(&policy) };
    Rehearsal::start(setup).await.unwrap()
}

const BRANCH: &str = "agent/dimmer";

/// The agent writes something, its gates run, and the change is where it is to be.
async fn writes(on: &Rehearsal, number: u64, files: &[(&str, &str)], label: &str) {
    on.pushes("rover", BRANCH, "work", files).await.unwrap();
    stands(on, number, label);
}

fn stands(on: &Rehearsal, number: u64, label: &str) {
    assert_eq!(on.label(number).unwrap().as_deref(), Some(label), "{:#?}", on.bot_comments(number));
}

/// How the agent hands in the documents of the first three phases.
enum Documents {
    OneByOne,
    Together,
}

/// A pull request from `/expand` to its green: the documents of the phases, code that fails and is mended, a review.
async fn walks(on: &Rehearsal, documents: Documents) -> u64 {
    on.pushes("rover", BRANCH, "an idea", &[("docs/input/idea.md", "A dimmer would be nice.\n")]).await.unwrap();
    let number = on.opens("rover", "Add a dimmer", BRANCH).await.unwrap();
    stands(on, number, "phase:start");
    on.says("ada", number, "/expand a dimmer for the lantern").await.unwrap();
    stands(on, number, "phase:expand");
    assert_eq!(on.merge_check(number).unwrap().as_deref(), Some("action_required"));
    match documents {
        Documents::OneByOne => {
            writes(on, number, &papers::of("scaffolding/scope.md"), "phase:design").await;
            writes(on, number, &papers::of("scaffolding/design.md"), "phase:analyze").await;
            writes(on, number, &papers::of("scaffolding/readiness.md"), "phase:build").await;
        }
        Documents::Together => writes(on, number, &papers::ALL, "phase:build").await,
    }
    writes(on, number, &[("src/dimmer.py", "broken\n")], "phase:build").await;
    assert_eq!(on.merge_check(number).unwrap().as_deref(), Some("failure"), "{:#?}", on.bot_comments(number));
    writes(on, number, &[("src/dimmer.py", "def dim(level): pass\n")], "phase:review").await;
    assert_eq!(on.merge_check(number).unwrap().as_deref(), Some("action_required"), "{:#?}", on.bot_comments(number));
    on.says("ada", number, "/status").await.unwrap();
    assert_eq!(on.bot_comments(number).unwrap().len(), 2, "the answer stands under the comment");
    on.reviews("mia", number, "APPROVE").await.unwrap();
    stands(on, number, "phase:verified");
    number
}

#[tokio::test]
async fn with_an_apps_key_it_is_a_gate() {
    let on = made_from("action", Bot::Action).await;
    let number = walks(&on, Documents::OneByOne).await;
    let run = on.run(&on.head(number).unwrap(), CHECK_NAME).unwrap().unwrap();
    assert_eq!((run.conclusion.as_deref(), run.title.as_deref()), (Some("success"), Some("May merge")));
    on.merges("ada", number).await.unwrap().unwrap();
    on.end().await;
}

#[tokio::test]
async fn with_the_workflows_token_it_is_advice_and_says_so() {
    let on = made_from("advisory", Bot::Advisory).await;
    let number = walks(&on, Documents::Together).await;
    let run = on.run(&on.head(number).unwrap(), CHECK_NAME).unwrap().unwrap();
    assert_eq!((run.conclusion.as_deref(), run.title.as_deref()), (Some("success"), Some("Advisory: May merge")));
    let comment = on.bot_comments(number).unwrap().remove(0);
    // The names of the table's steps are in the diagram below it.
    let small = comment.split("<details>").next().unwrap_or_default().to_lowercase().replace("phasegate", "");
    assert!(comment.contains("Advisory:") && !small.contains("gate"), "it is called what it is not: {comment}");
    on.end().await;
}
