//! Evidence from the server's own runner: asked for, run by the server, judged.

use std::time::Duration;

use phasegate::rehearsal::{Bot, REPO, Rehearsal, Setup};
use phasegate::server::{PASSED_ON, Runs};
use serde_json::json;

use super::evidence::{DIM, bodies, proposes};
use super::server::Program;
use super::{assert_merge, merge_says};

fn policy(from: &str) -> String {
    format!(
        "version: 1\nflow: merge\ngates:\n  verify:\n    from: [{from}]\n    run: [sh test.sh]\n    reports: [out.xml]\n"
    )
}

/// What a host says who lets the server run the commands of these.
pub(crate) fn runs(repositories: &str) -> Runs {
    let passed = |name: &str| Some((name.into(), std::env::var_os(name)?));
    Runs {
        program: env!("CARGO_BIN_EXE_phasegate").into(),
        repositories: repositories.parse().unwrap(),
        at_once: 1,
        limit: Duration::from_mins(5),
        reads: Vec::new(),
        network: false,
        hides: Vec::new(),
        environment: PASSED_ON.into_iter().filter_map(passed).collect(),
    }
}

fn setup() -> Setup {
    let files = super::evidence::setup().files[1..].to_vec();
    Setup { files, runs: Some(runs("octo-org/*")), ..Setup::with_policy(&policy("runner")) }
}

/// What runs have left on the disk.
fn left(on: &Rehearsal) -> Vec<String> {
    let folders = std::fs::read_dir(on.data().join("mirrors/runs")).unwrap();
    let within = folders.flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap());
    within.map(|one| one.unwrap().file_name().to_string_lossy().into_owned()).filter(|name| name != "alive").collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_merges_on_what_the_server_itself_ran() {
    let on = Rehearsal::start(setup()).await.unwrap();
    let number = proposes(&on, "dim", DIM).await;
    let (asked, ran) = (bodies(&on, number, "asked"), bodies(&on, number, "ran"));
    assert_eq!((asked.len(), ran.len()), (1, 1), "{asked:#?}\n{ran:#?}\n{}", merge_says(&on, number));
    assert_eq!(asked[0]["body"]["workflow"], "runner");
    assert_eq!((&ran[0]["body"]["tests"], &ran[0]["body"]["findings"]), (&json!(2), &json!([])), "{:#}", ran[0]);
    let main = on.admin().branch(REPO, "main").unwrap().unwrap();
    let by = &ran[0]["by"]["runner"];
    assert_eq!((&by["workflow"], &by["sha"], &by["attempt"]), (&json!("runner"), &json!(main), &json!(1)), "{by}");
    // The log stands beside the records, under its digest, and says that all walls stood.
    let log = ran[0]["body"]["log"].as_str().unwrap();
    let path = format!("changes/0/{number}/evidence/{log}.json");
    let kept = on.admin().file(REPO, phasegate::rehearsal::LEDGER, &path).unwrap().expect("the log is on the ledger");
    let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
    assert_eq!((&kept["run"]["id"], &kept["policy"]["commit"]), (&by["run"], &json!(main)));
    assert_eq!(kept["subject"]["checkout"], on.head(number).unwrap());

    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "success");
    on.says("ada", number, "/status").await.unwrap();
    assert_eq!(bodies(&on, number, "asked").len(), 1, "one run for one content, however often it is looked at");
    on.says("ada", number, "/verify").await.unwrap();
    assert!(on.bot_comments(number).unwrap().pop().unwrap().contains("There is nothing to run again."));
    assert_eq!(left(&on), Vec::<String>::new());
    let page = format!("changes/0/{number}/page/evidence.html");
    let page = on.admin().file(REPO, phasegate::rehearsal::LEDGER, &page).unwrap().expect("the page is on the ledger");
    assert!(page.contains("run of the server's own <code>runner</code>: PASS with 2 tests"), "{page}");
    on.merges("mia", number).await.unwrap().unwrap();
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_red_run_holds_it_back_and_another_is_run_when_somebody_says_so() {
    // It passes from the second try on, in whatever place it is run.
    let flag = tempfile::tempdir().unwrap();
    let place = flag.path().canonicalize().unwrap();
    let flaky = format!(". ./lamp.sh\n[ \"$dim\" = 1 ] && [ -e {}/on ]\n", place.display());
    let law = policy("runner") + &format!("    earned: show\n    confine: {{ read: [\"{}\"] }}\n", place.display());
    let lends = Runs { reads: vec![place.clone()], ..runs("octo-org/lantern, octo-org/*") };
    let on = Rehearsal::start(Setup { policy: Some(law), runs: Some(lends), ..setup() }).await.unwrap();
    let number = proposes(&on, "dim", &[DIM[0], ("tests/dim.sh", &flaky)]).await;
    assert_merge(&on, number, "failure");
    let says = merge_says(&on, number);
    assert!(says.contains("VER-01") && says.contains("tests/dim.sh"), "{says}");
    assert_eq!(bodies(&on, number, "ran").len(), 1, "nobody has asked again");

    std::fs::write(place.join("on"), "").unwrap();
    on.says("ada", number, "/verify").await.unwrap();
    assert_eq!(bodies(&on, number, "asked")[1]["by"]["person"]["person"]["login"], "ada");
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "success");
    assert!(merge_says(&on, number).contains("The same content was red before"), "{}", merge_says(&on, number));
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_that_the_change_bends_is_run_and_proves_nothing() {
    let on = Rehearsal::start(setup()).await.unwrap();
    let says_so = "echo '<testsuite><testcase name=\"tests/level.sh\"/></testsuite>' > out.xml\n";
    let number = proposes(&on, "bent", &[("lamp.sh", "level=0\n"), ("test.sh", says_so)]).await;
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "failure");
    assert!(merge_says(&on, number).contains("(`test.sh`"), "{}", merge_says(&on, number));
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_takes_too_long_is_ended_told_and_can_be_asked_for_again() {
    let brief = Runs { limit: Duration::from_secs(3), ..runs("*") };
    let mut on = Rehearsal::start(Setup { runs: Some(brief), ..setup() }).await.unwrap();
    let number = proposes(&on, "slow", &[DIM[0], ("tests/dim.sh", "sleep 600\n")]).await;
    assert_merge(&on, number, "action_required");
    let says = merge_says(&on, number);
    assert!(says.contains("longer than the 3 seconds") && says.contains("`/verify`"), "{says}");
    assert!(bodies(&on, number, "ran").is_empty());
    assert_eq!(left(&on), Vec::<String>::new());
    on.says("ada", number, "/status").await.unwrap();
    assert_eq!(bodies(&on, number, "asked").len(), 1, "nobody has asked again");
    // Other content has a run of its own; going back to it waits for somebody.
    on.pushes("rover", "slow", "quicker", &[DIM[1]]).await.unwrap();
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_eq!(bodies(&on, number, "ran").len(), 1, "{}", merge_says(&on, number));
    assert_merge(&on, number, "success");
    on.stop_server().await;
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_closed_before_its_turn_is_run_when_it_is_back() {
    let flag = tempfile::tempdir().unwrap();
    let place = flag.path().canonicalize().unwrap();
    let slow = format!(". ./lamp.sh\nwhile [ ! -e {}/on ]; do sleep 0.1; done\n[ \"$dim\" = 1 ]\n", place.display());
    let law = policy("runner") + &format!("    confine: {{ read: [\"{}\"] }}\n", place.display());
    let lends = Runs { reads: vec![place.clone()], ..runs("octo-org/*") };
    let on = Rehearsal::start(Setup { policy: Some(law), runs: Some(lends), ..setup() }).await.unwrap();
    let proposes = |branch: &str, test: &str| {
        let files = [(DIM[0].0, Some(DIM[0].1)), ("tests/dim.sh", Some(test))];
        on.admin().commit(REPO, "rover", branch, branch, &files).unwrap();
        on.admin().open_pull(REPO, "rover", "Dim", branch, "main").unwrap()
    };
    let first = proposes("first", &slow);
    until(&on, first, "asked").await;
    until_something_is_left(&on).await;
    // While that one runs the other waits for its turn, and its change does not.
    let second = proposes("second", DIM[1].1);
    until(&on, second, "asked").await;
    let turns = |state: &str| {
        on.admin()
            .call_as("rover", "PATCH", &format!("/repos/{REPO}/pulls/{second}"), json!({ "state": state }))
            .unwrap();
    };
    turns("closed");
    until(&on, second, "closed").await;
    std::fs::write(place.join("on"), "").unwrap();
    on.settle().await.unwrap();
    assert_eq!(bodies(&on, first, "ran").len(), 1);
    on.time_passes(Duration::from_secs(10)).await.unwrap();
    assert!(bodies(&on, second, "ran").is_empty());
    turns("open");
    on.settle().await.unwrap();
    let (asked, ran) = (bodies(&on, second, "asked"), bodies(&on, second, "ran"));
    assert_eq!((asked.len(), ran.len()), (1, 1), "{}", merge_says(&on, second));
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_it_is_not_offered_the_verdict_says_so() {
    let online = policy("runner") + "    network: allow\n";
    let elsewhere = Some(runs("eve/lantern, octo-org/other"));
    let cases = [
        (Setup { runs: None, ..setup() }, "PHASEGATE_RUNNER"),
        (Setup { runs: elsewhere, ..setup() }, "PHASEGATE_RUNNER"),
        (Setup { policy: Some(online), ..setup() }, "gives the commands the network"),
        (Setup { bot: Bot::Action, runs: None, ..setup() }, "as an Action there is no server"),
    ];
    for (setup, words) in cases {
        let on = Rehearsal::start(setup).await.unwrap();
        let number = proposes(&on, "dim", DIM).await;
        on.reviews("mia", number, "APPROVE").await.unwrap();
        assert_merge(&on, number, "failure");
        let says = merge_says(&on, number);
        assert!(says.contains(words) && says.contains("`from: [actions]`"), "{words}: {says}");
        assert!(bodies(&on, number, "asked").is_empty());
        on.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_test_that_looks_for_the_servers_secrets_finds_none() {
    let shelf = tempfile::tempdir().unwrap();
    let shelf = shelf.path().canonicalize().unwrap();
    // The policy may let its commands read this folder. The key lies in it, for anybody to read, and so do the mirrors.
    let law = policy("runner") + &format!("    confine: {{ read: [\"{}\"], required: true }}\n", shelf.display());
    let mut files = setup().files;
    // What the tests say is kept.
    files.iter_mut().for_each(|(_, text)| *text = text.replace("> /dev/null 2>&1", ">&2"));
    let mut on = Rehearsal::start(Setup { policy: Some(law), runs: None, files, ..setup() }).await.unwrap();
    on.stop_server().await;
    let key = shelf.join("key.pem");
    std::fs::write(&key, &on.app().pem).unwrap();
    std::fs::write(shelf.join("fixture"), "fine\n").unwrap();
    std::fs::create_dir_all(shelf.join("data/2.git")).unwrap();
    std::fs::write(shelf.join("data/2.git/HEAD"), "of another repository\n").unwrap();
    let mirrors = shelf.join("data").to_str().unwrap().to_owned();
    let secret = on.app().webhook_secret.clone();
    let (key, lent) = (key.to_str().unwrap().to_owned(), shelf.to_str().unwrap().to_owned());
    let mut program = Program::starts_with(
        &on,
        &[
            ("PRIVATE_KEY", ""),
            ("PRIVATE_KEY_PATH", &key),
            ("PHASEGATE_DATA", &mirrors),
            ("PHASEGATE_RUNNER", "octo-org/*"),
            ("PHASEGATE_RUNNER_READ", &lent),
            ("PHASEGATE_RUNNER_TIMEOUT", "5m"),
        ],
    )
    .await;
    let thief = format!(
        ". ./lamp.sh
set -x
[ \"$dim\" = 1 ] || exit 1
grep -q fine {lent}/fixture && [ -d {lent}/data ] || exit 2
grep -q PRIVATE {key} && exit 3
env | grep -i -e secret -e private -e database -e app_id && exit 4
cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep -F -e \"{secret}\" -e PRIVATE && exit 5
cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -x 'ser[v]e' && exit 6
[ -e {data}/inbox.db ] && exit 7
[ -e {lent}/data/2.git ] && exit 8
bash -c 'exec 3<> /dev/tcp/127.0.0.1/{port}' && exit 9
exit 0
",
        data = on.data().display(),
        port = program.address.rsplit(':').next().unwrap(),
    );
    on.admin()
        .commit(
            REPO,
            "rover",
            "dim",
            "a lamp and a thief",
            &[(DIM[0].0, Some(DIM[0].1)), ("tests/thief.sh", Some(&thief))],
        )
        .unwrap();
    let number = on.admin().open_pull(REPO, "rover", "Dim", "dim", "main").unwrap();
    program.says("the commands run").await;
    let ran = until(&on, number, "ran").await;
    let (code, log) = program.ends_by_sigterm().await;
    assert_eq!(code, Some(0), "{log}");
    let path = format!("changes/0/{number}/evidence/{}.json", ran[0]["body"]["log"].as_str().unwrap());
    let kept = on.admin().file(REPO, phasegate::rehearsal::LEDGER, &path).unwrap().expect("the log is on the ledger");
    let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
    let said = kept["commands"][0]["output"]["tail"].as_str().unwrap();
    assert_eq!(ran[0]["body"]["findings"], json!([]), "{said}\n{log}");
    assert!(said.contains("+ exit 0") && !said.contains(&secret.replace('\'', "")), "{said}");
    assert_eq!((&ran[0]["body"]["tests"], &kept["confinement"]["confined"]), (&json!(2), &json!(true)));
    on.end().await;
}

/// Returns when the runner has made a place for a run.
async fn until_something_is_left(on: &Rehearsal) {
    for _ in 0..12_000 {
        if !left(on).is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("no run has begun")
}

/// The records of a kind, when there is one.
async fn until(on: &Rehearsal, number: u64, kind: &str) -> Vec<serde_json::Value> {
    for _ in 0..1200 {
        // Before the first record there is no ledger.
        if let Ok(records) = on.records(number)
            && records.iter().any(|sealed| sealed["record"]["body"]["kind"] == kind)
        {
            return bodies(on, number, kind);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("there is no {kind:?}: {:#?}", on.records(number))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_killed_in_the_middle_runs_it_again_after_its_start() {
    let flag = tempfile::tempdir().unwrap();
    let place = flag.path().canonicalize().unwrap();
    let slow =
        format!(". ./lamp.sh\n[ \"$dim\" = 1 ] || exit 1\nwhile [ ! -e {}/on ]; do sleep 0.1; done\n", place.display());
    let law = policy("runner") + &format!("    confine: {{ read: [\"{}\"] }}\n", place.display());
    let lends = Runs { reads: vec![place.clone()], ..runs("octo-org/*") };
    let mut on = Rehearsal::start(Setup { policy: Some(law), runs: Some(lends), ..setup() }).await.unwrap();
    on.stop_server().await;
    let (lent, data) = (place.to_str().unwrap().to_owned(), on.data().join("mirrors"));
    let settings = [
        ("PHASEGATE_RUNNER", "octo-org/*"),
        ("PHASEGATE_RUNNER_READ", lent.as_str()),
        ("PHASEGATE_DATA", data.to_str().unwrap()),
    ];
    let mut program = Program::starts_with(&on, &settings).await;
    let files = [(DIM[0].0, Some(DIM[0].1)), ("tests/dim.sh", Some(slow.as_str()))];
    on.admin().commit(REPO, "rover", "dim", "work", &files).unwrap();
    let number = on.admin().open_pull(REPO, "rover", "Dim", "dim", "main").unwrap();
    program.says("the commands run").await;
    let asked = until(&on, number, "asked").await;
    until_something_is_left(&on).await;
    program.killed().await;
    on.admin().wait_idle().await;
    assert!(bodies(&on, number, "ran").is_empty());
    assert_eq!(left(&on).len(), 1, "what was killed has left it: {:?}", left(&on));

    std::fs::write(place.join("on"), "").unwrap();
    on.time_passes(Duration::from_mins(2)).await.unwrap();
    on.start_server().await.unwrap();
    on.settle().await.unwrap();
    let ran = bodies(&on, number, "ran");
    assert_eq!((ran.len(), bodies(&on, number, "asked")), (1, asked), "{}", merge_says(&on, number));
    assert_eq!((&ran[0]["body"]["tests"], &ran[0]["body"]["findings"]), (&json!(2), &json!([])), "{:#}", ran[0]);
    assert_eq!(left(&on), Vec::<String>::new());
    on.reviews("mia", number, "APPROVE").await.unwrap();
    assert_merge(&on, number, "success");
    on.end().await;
}
