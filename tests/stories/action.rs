//! The bot as an Action: the same engine, without a server.

use phasegate::rehearsal::{Bot, MERGE_POLICY, Rehearsal, Setup};

async fn plays(bot: Bot) -> Rehearsal {
    Rehearsal::start(Setup { bot, ..Setup::with_policy(MERGE_POLICY) }).await.unwrap()
}

#[tokio::test]
async fn a_change_is_merged_by_runs_alone() {
    let on = plays(Bot::Action).await;
    on.pushes("rover", "work", "work", &[("src/lamp.rs", "fn lamp() {}\n")]).await.unwrap();
    let number = on.opens("rover", "A lamp", "work").await.unwrap();
    assert_eq!(on.merge_check(number).unwrap().as_deref(), Some("action_required"));
    on.says("mia", number, "/status").await.unwrap();
    assert_eq!(on.bot_comments(number).unwrap().len(), 2, "{:#?}", on.bot_comments(number));
    on.ci(&on.head(number).unwrap(), "success").await.unwrap();
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_eq!(on.merge_check(number).unwrap().as_deref(), Some("success"));
    on.merges("ada", number).await.unwrap().unwrap();
    on.end().await;
}
