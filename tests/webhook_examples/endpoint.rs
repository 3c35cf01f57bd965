//! Every example, and each of them bent in every way, through the endpoint of a real server: signed, over HTTP, into a real
//! inbox. GitHub is away at first, so that what was taken can be counted; then it comes back, and all of it is worked off.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

use futures::{StreamExt as _, TryStreamExt as _};
use phasegate::fact::{Event, Fact};
use phasegate::github::webhook::{parse, sign};
use phasegate::github::{AppKey, Endpoint};
use phasegate::inbox::{Entry, Filter, Inbox, State};
use phasegate::rehearsal::{Rehearsal, Setup};
use phasegate::server::{Config, Server};
use secrecy::SecretString;

use super::{bent, examples};

/// Events of which something follows only by these actions; the rest of them are dropped on purpose.
const FOLLOWED: &[(&str, &[&str])] = &[
    ("installation", &["created", "unsuspend", "new_permissions_accepted"]),
    ("installation_repositories", &["added"]),
    ("issues", &["edited", "closed", "deleted", "transferred", "unlabeled"]),
    ("repository", &["edited", "renamed", "transferred", "unarchived"]),
];

/// Whether something follows from what was understood.
fn is_followed(event: &str, understood: &Event) -> bool {
    let action = match &understood.fact {
        Fact::Installation { action, .. } | Fact::Issue { action, .. } | Fact::Repository { action, .. } => action,
        _ => return true,
    };
    FOLLOWED.iter().any(|(name, actions)| *name == event && actions.contains(&action.as_str()))
}

struct Letter {
    guid: String,
    event: String,
    body: Vec<u8>,
    told: String,
}

fn letters() -> Vec<Letter> {
    let examples = examples::all();
    let mut letters: Vec<Letter> = examples
        .iter()
        .map(|one| Letter { guid: one.to_string(), event: one.event.clone(), body: one.bytes(), told: one.to_string() })
        .collect();
    let mut round = bent::Round::default();
    for (at, case) in bent::round(&examples).enumerate() {
        round.add(&case);
        let (event, body, told) = (case.of.event.clone(), case.bytes(), case.told());
        assert_ne!(body, case.of.bytes(), "nothing is bent: {told}");
        letters.push(Letter { guid: format!("bent-{at}"), event, body, told });
    }
    round.is_whole(&examples);
    letters
}

/// A server that can't reach GitHub: what comes is kept, and nothing is worked off.
async fn alone(on: &Rehearsal) -> Server {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let config = Config {
        app: on.app().id.to_string(),
        key: Arc::new(AppKey::from_pem(&SecretString::from(on.app().pem.clone())).unwrap()),
        earlier_keys: Vec::new(),
        secrets: vec![SecretString::from(on.app().webhook_secret.clone())],
        database: on.database().to_owned(),
        endpoint: Endpoint::new(&format!("http://{nobody}/api/v3")).unwrap(),
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        data: on.data().join("alone"),
        workers: 1,
        paced: false,
        public_url: None,
        answers: phasegate::server::Answers::AtPublicUrl,
        runs: None,
    };
    Server::start(config).await.unwrap()
}

async fn post(client: &reqwest::Client, url: &str, secret: &SecretString, letter: &Letter) -> reqwest::Result<u16> {
    let request = client
        .post(url)
        .header("content-type", "application/json")
        .header("x-github-event", &letter.event)
        .header("x-github-delivery", &letter.guid)
        .header("x-hub-signature-256", sign(secret, &letter.body))
        .body(letter.body.clone());
    Ok(request.send().await?.status().as_u16())
}

/// All that ever came, by its guid.
async fn kept(inbox: &Inbox) -> BTreeMap<String, Entry> {
    let all = inbox.list(&Filter { limit: 100_000, ..Filter::default() }).await.unwrap();
    all.into_iter().map(|entry| (entry.guid.clone(), entry)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_endpoint_takes_every_payload_as_the_parser_does_and_loses_none() {
    let mut on = Rehearsal::start(Setup::default()).await.unwrap();
    on.stop_server().await;
    let server = alone(&on).await;
    let before: BTreeSet<String> = kept(server.inbox()).await.into_keys().collect();
    let letters = letters();
    let (client, url) = (reqwest::Client::builder().no_proxy().build().unwrap(), server.webhook_url());
    let secret = SecretString::from(on.app().webhook_secret.clone());
    let statuses: Vec<u16> = futures::stream::iter(&letters)
        .map(|letter| post(&client, &url, &secret, letter))
        .buffered(8)
        .try_collect()
        .await
        .unwrap();

    let inbox = kept(server.inbox()).await;
    let (mut broken, mut good, mut dropped) = (BTreeSet::new(), BTreeSet::new(), 0);
    for (letter, status) in letters.iter().zip(statuses) {
        let told = &letter.told;
        let parsed = parse(&letter.event, &letter.body);
        let wanted = match &parsed {
            Ok(None) => 200,
            Ok(Some(event)) if !is_followed(&letter.event, event) => 200,
            _ => 202,
        };
        assert_eq!(status, wanted, "{parsed:?}: {told}");
        let entry = inbox.get(&letter.guid);
        match &parsed {
            _ if status == 200 => {
                dropped += 1;
                assert!(entry.is_none(), "it was dropped and is there: {told}");
            }
            Ok(_) => {
                let entry = entry.unwrap_or_else(|| panic!("it was taken and is lost: {told}"));
                assert!(entry.event == letter.event && !entry.key.starts_with("broken/"), "{entry:?}: {told}");
                good.insert(letter.guid.clone());
            }
            Err(error) => {
                let entry = entry.unwrap_or_else(|| panic!("what can't be understood is lost: {told}"));
                assert_eq!(entry.key, format!("broken/{}", letter.guid), "{told}");
                assert_eq!(entry.meta["error"], error.to_string(), "{told}");
                broken.insert(letter.guid.clone());
            }
        }
    }
    assert_eq!(inbox.len() - before.len(), good.len() + broken.len(), "something is there that nobody sent");
    server.drain().await;

    // GitHub is back. It knows none of these repositories, so each is let go; what can't be understood becomes a dead
    // letter that somebody will see.
    on.start_server().await.unwrap();
    on.everybody_is_patient(true);
    on.settle().await.unwrap();
    let inbox = kept(on.server().unwrap().inbox()).await;
    let dead: BTreeSet<String> =
        inbox.values().filter(|entry| entry.state == State::Dead).map(|entry| entry.guid.clone()).collect();
    let why: Vec<_> = dead.difference(&broken).map(|guid| (guid, &inbox[guid].error)).collect();
    assert_eq!(dead, broken, "dead letters are those that can't be understood; others: {why:?}");
    for guid in &good {
        assert_eq!(inbox[guid].state, State::Done, "{:?}", inbox[guid]);
    }
    println!(
        "{} payloads through the endpoint: {} kept and worked off, {} kept as dead letters, {dropped} dropped on purpose",
        letters.len(),
        good.len(),
        broken.len(),
    );
    assert!(bent::is_replayed() || broken.len() > 30, "only {} could not be understood", broken.len());
    on.end().await;
}
