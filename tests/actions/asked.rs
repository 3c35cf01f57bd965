//! The trusted workflow, asked for, run and fetched without a server.

use std::io::{Cursor, Write as _};

use phasegate::rehearsal::{Bot, REPO, Rehearsal, Setup};
use serde_json::{Value, json};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::act::{Act, Place, REFEREE, Run, said, template};

const EVIDENCE: &str = ".github/workflows/phasegate-evidence.yml";
const FILE: &str = include_str!("../../templates/evidence/.github/workflows/phasegate-evidence.yml");

const POLICY: &str = "\
version: 1
flow: merge
gates:
  verify:
    from: [actions]
    run: [sh test.sh]
    reports: [out.xml]
";

/// One test, which passes.
const TEST: &str = "echo \"<testsuite name='lamp'><testcase name='shines'/></testsuite>\" > out.xml\n";

/// What a run left, as the upload packs it.
fn packed(act: &Act, run: u64) -> Vec<u8> {
    let folder = act.artifacts().join(run.to_string()).join("phasegate-verify");
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for file in std::fs::read_dir(folder).unwrap() {
        let file = file.unwrap();
        writer.start_file(file.file_name().to_str().unwrap(), SimpleFileOptions::default()).unwrap();
        writer.write_all(&std::fs::read(file.path()).unwrap()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn bodies(on: &Rehearsal, number: u64, kind: &str) -> Vec<Value> {
    let records = on.records(number).unwrap().into_iter().map(|sealed| sealed["record"].clone());
    records.filter(|record| record["body"]["kind"] == kind).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_trusted_workflow_runs_and_the_referee_fetches_what_it_left() {
    let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    let referee = template("action").into_iter().find(|(path, _)| path == REFEREE).unwrap();
    let files = vec![file(EVIDENCE, FILE), referee, file("test.sh", TEST)];
    let on = Rehearsal::start(Setup { bot: Bot::Action, files, ..Setup::with_policy(POLICY) }).await.unwrap();
    let act = Act::new();
    on.pushes("rover", "lamp", "a lamp", &[("lamp", "on\n"), ("docs/lamp.md", "It shines.\n")]).await.unwrap();
    let number = on.opens("rover", "A lamp", "lamp").await.unwrap();
    let (run, inputs) = on.admin().dispatched(REPO, EVIDENCE).unwrap().pop().expect("a run that was asked for");

    let repository = json!({ "full_name": REPO, "default_branch": "main" });
    let payload = json!({ "inputs": inputs, "repository": repository, "ref": "refs/heads/main" });
    let started = Run { event: "workflow_dispatch", workflow: EVIDENCE, payload, at: "main", id: run };
    let ended = act.run(&Place::of(&on).unwrap(), &started).await.unwrap();
    let text = said(&ended);
    assert!(ended.status.success(), "{text}");
    assert!(!text.contains("phasegate-evidence/post"), "without a server nothing is posted: {text}");
    on.admin().artifact(REPO, run, "phasegate-verify", &packed(&act, run)).unwrap();
    on.admin().quiet().end_run(REPO, run, "success").unwrap();

    let path = format!("/repos/{REPO}/actions/runs/{run}");
    let told = on.admin().call_as("ada", "GET", &path, Value::Null).unwrap();
    let repository = on.admin().call_as("ada", "GET", &format!("/repos/{REPO}"), Value::Null).unwrap();
    let sender = told["actor"].clone();
    let payload = json!({ "action": "completed", "workflow_run": told, "repository": repository, "sender": sender });
    let id = on.admin().new_run();
    act.referees(&Place::of(&on).unwrap(), "workflow_run", payload, id).await.unwrap();
    let ran = bodies(&on, number, "ran");
    assert_eq!(ran.len(), 1, "{}", act.summary(id));
    assert_eq!(ran[0]["by"]["workflow"]["run"], run);
    assert_eq!(bodies(&on, number, "tampered"), Vec::<Value>::new());
    assert!(!act.summary(id).contains("left nothing to show"), "{}", act.summary(id));
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_eq!(on.merge_check(number).unwrap().as_deref(), Some("success"), "{:#?}", on.bot_comments(number));
    on.end().await;
}
