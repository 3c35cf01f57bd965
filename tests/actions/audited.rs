//! The audit's workflow of `templates/`, by the real runner.

use phasegate::rehearsal::workflow::TOKEN;
use phasegate::rehearsal::{Bot, MERGE_POLICY, REPO, Rehearsal, Setup};
use serde_json::json;

use crate::act::{Act, Identity, Place, Run, said};

const AUDIT: &str = ".github/workflows/phasegate-audit.yml";
const FILE: &str = include_str!("../../templates/audit/.github/workflows/phasegate-audit.yml");

/// It reads the ledger with the workflow's own token, without a secret, and writes nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_audits_workflow_is_red_where_something_went_around_the_gate() {
    let files = vec![(AUDIT.to_owned(), FILE.to_owned())];
    let on = Rehearsal::start(Setup { bot: Bot::Action, files, ..Setup::with_policy(MERGE_POLICY) }).await.unwrap();
    let act = Act::new();
    let audits = async || {
        let token = on.admin().actions_token(REPO, TOKEN).unwrap();
        let place = Place { identity: Identity::Token(token), ..Place::of(&on).unwrap() };
        let repository = json!({ "full_name": REPO, "default_branch": "main" });
        let payload = json!({ "inputs": {}, "repository": repository, "ref": "refs/heads/main" });
        let id = on.admin().new_run();
        let run = Run { event: "workflow_dispatch", workflow: AUDIT, payload, at: "main", id };
        let ended = act.run(&place, &run).await.unwrap();
        (ended.status.success(), said(&ended))
    };
    on.pushes("rover", "lamp", "a lamp", &[("src/lamp.py", "pass\n")]).await.unwrap();
    let fine = on.opens("rover", "A lamp", "lamp").await.unwrap();
    on.ci(&on.head(fine).unwrap(), "success").await.unwrap();
    on.reviews("mia", fine, "APPROVE").await.unwrap();
    on.merges("ada", fine).await.unwrap().unwrap();
    let (green, text) = audits().await;
    assert!(green && text.contains("1 change audited on phasegate/ledger, 0 not finished"), "{text}");

    on.pushes("rover", "fog", "fog", &[("src/fog.py", "pass\n")]).await.unwrap();
    let past = on.opens("rover", "Fog", "fog").await.unwrap();
    on.lifts_the_rules().unwrap();
    on.merges("root", past).await.unwrap().unwrap();
    let before = on.ledger_head().unwrap();
    let (green, text) = audits().await;
    assert!(!green && text.contains("bypassed_gate") && text.contains(&format!("#{past}")), "{text}");
    assert_eq!(on.ledger_head().unwrap(), before);
    on.end().await;
}
