//! A change from its first comment to its merge, without a server.

use std::sync::Arc;

use phasegate::gate::merge::CHECK_NAME;
use phasegate::rehearsal::{Bot, Rehearsal, Setup};

use crate::act::{Act, template};

/// A stage whose repository was made from a template.
async fn made_from(name: &str, bot: Bot) -> Rehearsal {
    let mut files = template(name);
    let (_, policy) = files.remove(0);
    let policy = policy.replace("enforce: observe\n", "").replace("make test", "sh test.sh");
    files.push(("test.sh".to_owned(), "test -f src/lamp.py && ! grep -q broken src/lamp.py\n".to_owned()));
    let setup = Setup { bot, files, runner: Some(Arc::new(Act::new())), ..Setup::with_policy(&policy) };
    Rehearsal::start(setup).await.unwrap()
}

/// A pull request that fails, is mended, approved and green.
async fn walks(on: &Rehearsal) -> u64 {
    on.pushes("rover", "work", "work", &[("src/lamp.py", "broken\n")]).await.unwrap();
    let number = on.opens("rover", "Shine", "work").await.unwrap();
    assert_eq!(on.merge_check(number).unwrap().as_deref(), Some("failure"), "{:#?}", on.bot_comments(number));
    on.pushes("rover", "work", "mended", &[("src/lamp.py", "def shine(): pass\n")]).await.unwrap();
    assert_eq!(on.merge_check(number).unwrap().as_deref(), Some("action_required"), "{:#?}", on.bot_comments(number));
    on.says("ada", number, "/status").await.unwrap();
    assert_eq!(on.bot_comments(number).unwrap().len(), 2, "the answer stands under the comment");
    on.reviews("mia", number, "APPROVE").await.unwrap();
    number
}

#[tokio::test]
async fn with_an_apps_key_it_is_a_gate() {
    let on = made_from("action", Bot::Action).await;
    let number = walks(&on).await;
    let run = on.run(&on.head(number).unwrap(), CHECK_NAME).unwrap().unwrap();
    assert_eq!((run.conclusion.as_deref(), run.title.as_deref()), (Some("success"), Some("May merge")));
    on.merges("ada", number).await.unwrap().unwrap();
    on.end().await;
}

#[tokio::test]
async fn with_the_workflows_token_it_is_advice_and_says_so() {
    let on = made_from("advisory", Bot::Advisory).await;
    let number = walks(&on).await;
    let run = on.run(&on.head(number).unwrap(), CHECK_NAME).unwrap().unwrap();
    assert_eq!((run.conclusion.as_deref(), run.title.as_deref()), (Some("success"), Some("Advisory: May merge")));
    let comment = on.bot_comments(number).unwrap().remove(0);
    // The names of the table's steps are in the diagram below it.
    let small = comment.split("<details>").next().unwrap_or_default().to_lowercase().replace("phasegate", "");
    assert!(comment.contains("Advisory:") && !small.contains("gate"), "it is called what it is not: {comment}");
    on.end().await;
}
