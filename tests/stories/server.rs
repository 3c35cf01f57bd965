//! The server itself: its doors, its end, its beginning, and the loss of everything it keeps.

use std::process::Stdio;
use std::time::Duration;

use assert_cmd::cargo::{cargo_bin, cargo_bin_cmd};
use phasegate::gate::merge::CHECK_NAME;
use phasegate::inbox::Delivery;
use phasegate::rehearsal::{REPO, Rehearsal, Setup, papers};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};

use super::{assert_merge, green, merge_flow, proposes, proves};

/// What a change came to, without the numbers that depend on how deliveries were bundled.
#[derive(Debug, PartialEq, Eq)]
struct End {
    labels: Vec<String>,
    /// Name and conclusion of our runs on the head, each name once.
    runs: Vec<(String, Option<String>)>,
    headline: String,
    comments: usize,
    merged: bool,
}

fn end_of(on: &Rehearsal, number: u64) -> End {
    let runs = on.admin().check_runs(REPO, &on.head(number).unwrap()).unwrap();
    let mut runs: Vec<_> =
        runs.into_iter().filter(|run| run.app == on.app().id).map(|run| (run.name, run.conclusion)).collect();
    runs.sort();
    End {
        labels: on.admin().labels(REPO, number).unwrap(),
        runs,
        headline: on.status_comment(number).unwrap().body.lines().next().unwrap_or_default().to_owned(),
        comments: on.bot_comments(number).unwrap().len(),
        merged: on.pull(number).unwrap()["merged"] == true,
    }
}

/// The program itself, as a server on the twin.
pub(crate) struct Program {
    child: Child,
    pub(crate) address: String,
    log: tokio::task::JoinHandle<String>,
    /// What it said last, up to now.
    said: tokio::sync::watch::Receiver<String>,
}

impl Program {
    pub(crate) async fn starts(on: &Rehearsal) -> Self {
        Self::starts_with(on, &[]).await
    }

    /// With these settings too, or in the place of others; an empty one is not set.
    pub(crate) async fn starts_with(on: &Rehearsal, settings: &[(&str, &str)]) -> Self {
        let mut command = Command::new(cargo_bin!("phasegate"));
        command.arg("serve").arg("--unpaced").env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("APP_ID", on.app().id.to_string()).env("PRIVATE_KEY", &on.app().pem);
        command.env("WEBHOOK_SECRET", &on.app().webhook_secret).env("GITHUB_API_URL", on.api_url());
        command.env("DATABASE_URL", on.database()).env("LISTEN", "127.0.0.1:0");
        command.env("PHASEGATE_DATA", on.data().join("program")).envs(settings.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = String::new();
        let address = loop {
            let line =
                lines.next_line().await.unwrap().unwrap_or_else(|| panic!("it ended before it listened:\n{said}"));
            said.push_str(&line);
            said.push('\n');
            if let Some(rest) = line.split("address=").nth(1).filter(|_| line.contains("listening")) {
                break rest.split_whitespace().next().unwrap().to_owned();
            }
        };
        on.admin().set_webhook_url(on.app().id, Some(&format!("http://{address}/api/github/webhooks"))).unwrap();
        let (tell, told) = tokio::sync::watch::channel(said);
        let log = tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                tell.send_modify(|said| {
                    said.push_str(&line);
                    said.push('\n');
                });
            }
            tell.borrow().clone()
        });
        Self { child, address, log, said: told }
    }

    /// Waits until it has said something with these words.
    pub(crate) async fn says(&mut self, words: &str) {
        let heard = self.said.wait_for(|said| said.contains(words));
        assert!(heard.await.is_ok(), "it ended without saying {words:?}");
    }

    pub(crate) async fn sigterm(&self) {
        let id = self.child.id().expect("it still runs").to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().await.unwrap().success());
    }

    /// It is killed, and cleans nothing up.
    pub(crate) async fn killed(mut self) {
        self.child.kill().await.unwrap();
    }

    /// SIGTERM, as a service manager sends it. Answers the exit code and the log.
    pub(crate) async fn ends_by_sigterm(mut self) -> (Option<i32>, String) {
        self.sigterm().await;
        let status = tokio::time::timeout(Duration::from_secs(60), self.child.wait()).await.expect("it hangs").unwrap();
        (status.code(), self.log.await.unwrap())
    }
}

/// Four changes at once, each with a command or two.
async fn a_busy_morning(on: &Rehearsal) -> Vec<u64> {
    let mut numbers = Vec::new();
    for branch in ["a", "b", "c", "d"] {
        let path = format!("src/{branch}.py");
        let head = on.admin().commit(REPO, "rover", branch, "work", &[(&path, Some("pass\n"))]).unwrap();
        let number = on.admin().open_pull(REPO, "rover", "Work", branch, "main").unwrap();
        on.admin().comment(REPO, "mia", number, &format!("/approve {}", &head[..12])).unwrap();
        on.admin().comment(REPO, "ada", number, "/status").unwrap();
        let jobs = [(phasegate::rehearsal::CHECK, Some("success"))];
        on.admin().workflow_run(REPO, &head, phasegate::rehearsal::WORKFLOW, "pull_request", &jobs).unwrap();
        numbers.push(number);
    }
    // Every delivery was attempted: what was answered is on disk.
    on.admin().wait_idle().await;
    numbers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_in_the_middle_of_work_loses_nothing() {
    let calm = merge_flow().await;
    let numbers = a_busy_morning(&calm).await;
    calm.settle().await.unwrap();
    let expected: Vec<End> = numbers.iter().map(|number| end_of(&calm, *number)).collect();
    assert!(expected.iter().all(|end| end.headline.contains("may merge") && end.comments == 2), "{expected:?}");
    calm.end().await;

    let mut on = merge_flow().await;
    on.stop_server().await;
    let program = Program::starts(&on).await;
    let numbers = a_busy_morning(&on).await;
    // Somebody who never comes to the end of their request holds nothing up.
    let mut half = tokio::net::TcpStream::connect(&program.address).await.unwrap();
    half.write_all(b"GET /heal").await.unwrap();
    let (code, log) = program.ends_by_sigterm().await;
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("stopping"), "{log}");
    assert!(!log.contains('\x1b'), "no colours where nobody sees them");
    for secret in ["PRIVATE KEY", on.app().webhook_secret.as_str()] {
        assert!(!log.contains(secret), "a secret is in the log");
    }
    on.start_server().await.unwrap();
    on.settle().await.unwrap();
    let ended: Vec<End> = numbers.iter().map(|number| end_of(&on, *number)).collect();
    assert_eq!(ended, expected);
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_sent_while_the_server_was_down_is_worked_off_when_it_is_sent_again() {
    let mut on = merge_flow().await;
    let number = proposes(&on, "work").await;
    on.stop_server().await;
    on.admin().comment(REPO, "mia", number, "/approve").unwrap();
    let head = on.head(number).unwrap();
    let jobs = [(phasegate::rehearsal::CHECK, Some("success"))];
    on.admin().workflow_run(REPO, &head, phasegate::rehearsal::WORKFLOW, "pull_request", &jobs).unwrap();
    on.admin().wait_idle().await;
    on.start_server().await.unwrap();
    on.settle().await.unwrap();
    assert_merge(&on, number, "action_required");

    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let missed = on.deliveries().into_iter().filter(|one| one.outcome.as_ref().is_some_and(|o| o.status_code == 0));
    let missed: Vec<_> = missed.collect();
    assert!(missed.len() >= 2, "{}", missed.len());
    for delivery in missed {
        let url = format!("{}/app/hook/deliveries/{}/attempts", on.api_url(), delivery.id);
        let answer = client.post(url).bearer_auth(on.app().jwt().unwrap()).header("User-Agent", "test").send().await;
        assert_eq!(answer.unwrap().status().as_u16(), 202);
    }
    on.settle().await.unwrap();
    assert_merge(&on, number, "success");
    on.end().await;
}

/// How often GitHub was asked to deliver again.
fn asked_again(on: &Rehearsal) -> usize {
    on.admin().deliveries(on.app().id).iter().filter(|one| one.redelivery).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_sent_while_the_server_was_down_is_asked_for_at_its_start_and_answered_once() {
    let mut on = merge_flow().await;
    let number = proposes(&on, "work").await;
    let before = on.bot_comments(number).unwrap().len();
    on.stop_server().await;
    on.admin().comment(REPO, "tim", number, "/status").unwrap();
    on.admin().wait_idle().await;
    let missed = on.deliveries().into_iter().filter(|one| one.outcome.as_ref().is_some_and(|o| o.status_code == 0));
    let missed = missed.count();
    assert!(missed > 0);

    // Too young: GitHub may still be at it.
    on.start_server().await.unwrap();
    on.settle().await.unwrap();
    assert_eq!((asked_again(&on), on.bot_comments(number).unwrap().len()), (0, before));
    on.stop_server().await;

    on.time_passes(Duration::from_mins(2)).await.unwrap();
    on.start_server().await.unwrap();
    on.settle().await.unwrap();
    assert_eq!((asked_again(&on), on.bot_comments(number).unwrap().len()), (missed, before + 1));

    // It arrived, so nobody asks a third time.
    on.stop_server().await;
    on.time_passes(Duration::from_mins(30)).await.unwrap();
    on.start_server().await.unwrap();
    on.settle().await.unwrap();
    assert_eq!((asked_again(&on), on.bot_comments(number).unwrap().len()), (missed, before + 1));
    on.end().await;
}

/// GitHub heard no answer, or a late one; the inbox has it all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_inbox_has_is_not_asked_for_again() {
    let mut on = merge_flow().await;
    let number = proposes(&on, "work").await;
    on.stop_server().await;
    on.admin().comment(REPO, "tim", number, "/status").unwrap();
    on.admin().wait_idle().await;
    let missed = on.deliveries().into_iter().filter(|one| one.outcome.as_ref().is_some_and(|o| o.status_code == 0));
    let missed: Vec<_> = missed.collect();
    assert!(!missed.is_empty());
    on.start_server().await.unwrap();
    for one in &missed {
        let body = one.payload.to_string().into_bytes();
        let status = on.posts(&one.event, &one.guid, body).await.unwrap();
        assert_eq!((status, asked_again(&on)), (202, 0));
    }
    on.settle().await.unwrap();
    let comments = on.bot_comments(number).unwrap().len();
    on.stop_server().await;
    on.time_passes(Duration::from_mins(2)).await.unwrap();
    on.start_server().await.unwrap();
    on.settle().await.unwrap();
    assert_eq!((asked_again(&on), on.bot_comments(number).unwrap().len()), (0, comments));
    on.end().await;
}

/// The pipeline's story, with or without the loss of the database after each part.
async fn in_parts(lossy: bool) -> (End, usize) {
    let mut on = Rehearsal::start(Setup::default()).await.unwrap();
    let number = proposes(&on, "work").await;
    on.says("ada", number, "/expand").await.unwrap();
    on.says("tim", number, "/status").await.unwrap();
    for name in ["scope", "design", "readiness"] {
        if lossy {
            on.loses_its_database().await.unwrap();
        }
        let path = format!("scaffolding/{name}.md");
        let mut files = papers::of(&path);
        files.extend(papers::CODE.into_iter().filter(|_| name == "readiness"));
        let head = on.pushes("rover", "work", name, &files).await.unwrap();
        if lossy {
            on.loses_its_database().await.unwrap();
        }
        on.ci(&head, "success").await.unwrap();
    }
    on.reviews("mia", number, "APPROVE").await.unwrap();
    if lossy {
        on.loses_its_database().await.unwrap();
        on.says("tim", number, "/status").await.unwrap();
    } else {
        on.says("tim", number, "/status").await.unwrap();
    }
    let head = on.head(number).unwrap();
    let runs = on.admin().check_runs(REPO, &head).unwrap();
    let merge = runs.iter().filter(|run| run.name == CHECK_NAME).count();
    assert_eq!(merge, 1, "the merge check is there {merge} times");
    let end = end_of(&on, number);
    let comments = on.bot_comments(number).unwrap().len();
    on.end().await;
    (end, comments)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn losing_the_database_again_and_again_comes_to_the_same_end() {
    let calm = in_parts(false).await;
    assert_eq!(calm.0.labels, ["phase:verified"]);
    assert_eq!(in_parts(true).await, calm);
}

async fn get(on: &Rehearsal, path: &str) -> (u16, String) {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("http://{}{path}", on.server().unwrap().address());
    let answer = client.get(url).send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_readiness_and_metrics_are_told() {
    let on = merge_flow().await;
    let number = proposes(&on, "work").await;
    proves(&on, number).await;
    assert_eq!(get(&on, "/healthz").await, (200, "ok\n".to_owned()));
    let (status, ready) = get(&on, "/readyz").await;
    let ready: Value = serde_json::from_str(&ready).unwrap();
    assert_eq!((status, &ready["ready"], &ready["dead"]), (200, &0.into(), &0.into()));
    let (status, metrics) = get(&on, "/metrics").await;
    assert_eq!(status, 200);
    for wanted in [
        "# HELP phasegate_inbox Deliveries in the inbox",
        "# TYPE phasegate_webhooks_total counter",
        "phasegate_inbox{state=\"ready\"} 0",
        "phasegate_inbox{state=\"dead\"} 0",
        "phasegate_inbox_oldest_seconds",
        "phasegate_webhooks_total{status=\"202\"}",
        "phasegate_github_rate_remaining{",
        "phasegate_github_rate_limit{",
        "phasegate_github_requests_total{",
    ] {
        assert!(metrics.contains(wanted), "{wanted} is missing in:\n{metrics}");
    }
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_what_is_signed_and_not_too_large_comes_in() {
    let on = merge_flow().await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = on.server().unwrap().webhook_url();
    let body = br#"{"zen":"hello"}"#.to_vec();
    let send = |headers: Vec<(&'static str, String)>, body: Vec<u8>| {
        let mut request = client.post(&url).header("X-GitHub-Event", "ping").header("X-GitHub-Delivery", "one");
        for (name, value) in headers {
            request = request.header(name, value);
        }
        async move { request.body(body).send().await.unwrap() }
    };
    let good = on.signature(&body);
    assert_eq!(send(vec![("X-Hub-Signature-256", good.clone())], body.clone()).await.status(), 200);
    assert_eq!(send(vec![], body.clone()).await.status(), 401);
    assert_eq!(send(vec![("X-Hub-Signature-256", good.clone())], b"{}".to_vec()).await.status(), 401);
    assert_eq!(send(vec![("X-Hub-Signature-256", "sha256=".to_owned())], body.clone()).await.status(), 401);
    // The old kind of signature alone is not enough, even a right one.
    let key =
        aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, on.app().webhook_secret.as_bytes());
    let sha1 = format!("sha1={}", hex::encode(aws_lc_rs::hmac::sign(&key, &body)));
    assert_eq!(send(vec![("X-Hub-Signature", sha1)], body.clone()).await.status(), 401);
    let large = vec![b' '; 25 * 1024 * 1024 + 1];
    let signed = on.signature(&large);
    let refused = send(vec![("X-Hub-Signature-256", signed)], large).await;
    assert_eq!(refused.status(), 413);
    let says: Value = refused.json().await.unwrap();
    assert_eq!(says["says"], "Too large: a webhook has at most 26214400 bytes.");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deliveries_are_listed_by_the_names_of_what_they_are_about() {
    let on = merge_flow().await;
    let number = proposes(&on, "work").await;
    let (_, listed) = inbox(&on, &["list"]);
    let about: Vec<_> = listed["deliveries"].as_array().unwrap().iter().map(|one| one["about"].as_str()).collect();
    assert!(about.contains(&Some(format!("{REPO}#{number}").as_str())) && about.contains(&Some(REPO)), "{about:?}");
    on.end().await;
}

fn inbox(on: &Rehearsal, args: &[&str]) -> (i32, Value) {
    let mut command = cargo_bin_cmd!("phasegate");
    command.env_clear().env("DATABASE_URL", on.database()).arg("inbox").args(args).arg("--json");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code().unwrap(), serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {said}")))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_could_not_be_understood_is_carried_out_once_it_can_be() {
    let on = merge_flow().await;
    let number = green(&on, "work").await;
    on.says("ada", number, "hello").await.unwrap();
    // As a version that could not read it has left it.
    let mut told = on.deliveries().into_iter().rfind(|one| one.event == "issue_comment").unwrap().payload;
    told["comment"]["body"] = "/stop it deletes the backups".into();
    let left = Delivery {
        guid: "left".to_owned(),
        event: "issue_comment".to_owned(),
        installation: None,
        repo: None,
        key: "broken/left".to_owned(),
        barrier: false,
        payload: told.to_string().into_bytes(),
        meta: json!({ "error": "what is this?" }),
    };
    on.server().unwrap().inbox().put(&left).await.unwrap();
    on.settle().await.unwrap();
    assert_merge(&on, number, "failure");
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payload_that_nobody_understands_is_kept_as_a_dead_letter() {
    let on = merge_flow().await;
    on.admin().clear_log();
    let body = br#"{"action":"opened","pull_request":"what is this?"}"#.to_vec();
    assert_eq!(on.posts("pull_request", "broken-one", body).await.unwrap(), 202);
    on.settle().await.unwrap();
    let (code, listed) = inbox(&on, &["list", "--dead"]);
    assert_eq!(code, 0);
    let dead = &listed["deliveries"][0];
    assert_eq!((dead["guid"].as_str(), dead["event"].as_str()), (Some("broken-one"), Some("pull_request")));
    assert!(dead["error"].as_str().unwrap().contains("pull_request"), "{dead}");
    assert!(!listed.to_string().contains("what is this"), "payloads are never printed");

    let (code, retried) = inbox(&on, &["retry", &dead["id"].to_string()]);
    assert_eq!((code, &retried["retried"]), (0, &1.into()));
    // Nobody mended its cause, so it dies again.
    on.time_passes(Duration::from_secs(1)).await.unwrap();
    assert_eq!(inbox(&on, &["list", "--dead"]).1["waiting"]["dead"], 1);
    assert!(on.requests().is_empty(), "{:?}", on.requests());
    on.end().await;
}

/// What is wrong, the settings, and a part of the message.
type Case<'a> = (&'a str, Vec<(&'a str, &'a str)>, &'a str);

/// `serve` with these settings: exit code and what it said.
fn serve(settings: &[(&str, &str)]) -> (i32, String) {
    let dir = tempfile::tempdir().unwrap();
    let mut command = cargo_bin_cmd!("phasegate");
    command.current_dir(dir.path()).env_clear().env("LISTEN", "127.0.0.1:0").arg("serve");
    for (name, value) in settings {
        command.env(name, value);
    }
    let output = command.timeout(Duration::from_secs(120)).output().unwrap();
    assert!(output.stdout.is_empty());
    (output.status.code().expect("it was killed"), String::from_utf8(output.stderr).unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_settings_are_told_in_one_message_without_any_secret() {
    let on = merge_flow().await;
    let (id, pem, api) = (on.app().id.to_string(), on.app().pem.clone(), on.api_url());
    let secret = "a webhook secret that nobody may see";
    let inner = pem.lines().nth(3).unwrap().to_owned();
    let broken = pem.replace(&inner, &inner.chars().rev().collect::<String>());
    let not_a_key = "-----BEGIN SOMETHING-----\nhunter2hunter2\n-----END SOMETHING-----";
    let other =
        on.admin().register_app("octo-org", phasegate::twin::NewApp { name: "Other".into(), ..Default::default() });
    let other = other.unwrap().id.to_string();
    let cases: [Case<'_>; 14] = [
        ("no id", vec![("PRIVATE_KEY", &pem), ("WEBHOOK_SECRET", secret)], "APP_ID is not set"),
        ("no key", vec![("APP_ID", &id), ("WEBHOOK_SECRET", secret)], "neither PRIVATE_KEY nor PRIVATE_KEY_PATH"),
        ("no secret", vec![("APP_ID", &id), ("PRIVATE_KEY", &pem)], "WEBHOOK_SECRET is not set"),
        (
            "not a key",
            vec![("APP_ID", &id), ("PRIVATE_KEY", not_a_key), ("WEBHOOK_SECRET", secret)],
            "the private key is not one that can be used",
        ),
        (
            "a spoilt key",
            vec![("APP_ID", &id), ("PRIVATE_KEY", &broken), ("WEBHOOK_SECRET", secret), ("GITHUB_API_URL", &api)],
            "key",
        ),
        (
            "somebody else's id",
            vec![("APP_ID", &other), ("PRIVATE_KEY", &pem), ("WEBHOOK_SECRET", secret), ("GITHUB_API_URL", &api)],
            "GitHub does not know this App",
        ),
        (
            "no such log level",
            vec![("APP_ID", &id), ("PRIVATE_KEY", &pem), ("WEBHOOK_SECRET", secret), ("LOG_LEVEL", "verbose")],
            "LOG_LEVEL \"verbose\" is neither",
        ),
        (
            "no earlier key",
            vec![("APP_ID", &id), ("PRIVATE_KEY", &pem), ("WEBHOOK_SECRET", secret), ("PREVIOUS_KEYS_PATH", "nowhere")],
            "PREVIOUS_KEYS_PATH nowhere can't be read",
        ),
        (
            "no git",
            vec![("APP_ID", &id), ("PRIVATE_KEY", &pem), ("WEBHOOK_SECRET", secret), ("PATH", "/nowhere")],
            "because: can't run git: No such file",
        ),
        (
            "no folder for the mirrors",
            vec![("APP_ID", &id), ("PRIVATE_KEY", &pem), ("WEBHOOK_SECRET", secret), ("PHASEGATE_DATA", "/dev/null")],
            "PHASEGATE_DATA /dev/null can't be used: name a folder",
        ),
        (
            "no database",
            vec![
                ("APP_ID", &id),
                ("PRIVATE_KEY", &pem),
                ("WEBHOOK_SECRET", secret),
                ("DATABASE_URL", "postgres://bot:hunter2@127.0.0.1:1/inbox"),
            ],
            "can't open the database inbox of PostgreSQL at 127.0.0.1:1: ",
        ),
        (
            "too many workers",
            vec![("APP_ID", &id), ("PRIVATE_KEY", &pem), ("WEBHOOK_SECRET", secret), ("PHASEGATE_WORKERS", "65")],
            "a number from 1 to 64 is needed",
        ),
        (
            // It comes as far as to ask GitHub, which knows nobody of this id.
            "everything empty that may be",
            vec![
                ("APP_ID", &other),
                ("PRIVATE_KEY", &pem),
                ("PRIVATE_KEY_PATH", ""),
                ("PREVIOUS_KEYS_PATH", ""),
                ("WEBHOOK_SECRET", secret),
                ("WEBHOOK_SECRET_OLD", ""),
                ("DATABASE_URL", ""),
                ("GITHUB_API_URL", &api),
                ("LISTEN", ""),
                ("PORT", "0"),
                ("PHASEGATE_DATA", ""),
                ("PHASEGATE_WORKERS", ""),
                ("PHASEGATE_UNPACED", ""),
                ("LOG_LEVEL", ""),
            ],
            "GitHub does not know this App",
        ),
        (
            "no URL",
            vec![("APP_ID", &id), ("PRIVATE_KEY", &pem), ("WEBHOOK_SECRET", secret), ("GITHUB_API_URL", "not a url")],
            "GITHUB_API_URL",
        ),
    ];
    for (case, settings, message) in cases {
        let (code, said) = tokio::task::block_in_place(|| serve(&settings));
        assert_eq!(code, 2, "{case}: {said}");
        assert_eq!(said.matches("error:").count(), 1, "{case}: {said}");
        assert!(said.contains(message), "{case}: {said}");
        for hidden in [secret, inner.as_str(), "hunter2"] {
            assert!(!said.contains(hidden), "{case} tells a secret");
        }
    }
    on.end().await;
}

/// A stranger can't make the server hold what nobody has signed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_nobody_signed_is_not_waited_for() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let on = merge_flow().await;
    let mut line = tokio::net::TcpStream::connect(on.server().unwrap().address()).await.unwrap();
    let head = "POST /api/github/webhooks HTTP/1.1\r\nhost: x\r\ncontent-length: 24000000\r\n\r\n{";
    line.write_all(head.as_bytes()).await.unwrap();
    let mut told = [0; 12];
    line.read_exact(&mut told).await.unwrap();
    assert_eq!(&told, b"HTTP/1.1 401", "it answers, though the body never came");
    on.end().await;
}
