//! Where webhooks come in.
//!
//! The signature is checked on the raw bytes before anything is parsed. Then the delivery is committed to the inbox,
//! and only then acknowledged: GitHub never sends one again by itself. What is of no use is dropped here, on purpose,
//! among it the echo of our own writes.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use axum::Json;
use axum::Router;
use axum::body::{Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::CONTENT_LENGTH;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use http_body_util::LengthLimitError;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::{App, Door, evidence, posted, route};
use crate::engine::command;
use crate::fact::{Event, Fact, PullEvent};
use crate::fault::point;
use crate::github::webhook;
use crate::ids::{CommitId, RepoId};
use crate::inbox::{Delivery, InboxError, Put, Stats};

pub(super) const PATH: &str = "/api/github/webhooks";

/// GitHub sends nothing larger.
const LARGEST: usize = 25 * 1024 * 1024;

/// GitHub gives up on a webhook after ten seconds. A body that has not come by then is nobody's.
const READ_WITHIN: Duration = Duration::from_secs(10);

/// GitHub gives up on a webhook after ten seconds; it is answered before that, whatever the database does.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn router(door: Arc<Door>) -> Router {
    Router::new()
        .route(PATH, post(receive))
        .route(posted::PATH, post(posted::take))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .route(evidence::PATH, get(evidence::show))
        .layer(tower_http::catch_panic::CatchPanicLayer::new())
        .with_state(door)
}

type Answer = (StatusCode, Json<Value>);

fn answer(status: StatusCode, says: &str) -> Answer {
    metrics::counter!("phasegate_webhooks_total", "status" => status.as_u16().to_string()).increment(1);
    (status, Json(json!({ "says": says })))
}

/// A body of this size is read at once. Larger ones are rare, and wait for a place among [`LARGE_AT_ONCE`].
const SMALL: u64 = 256 * 1024;
const LARGE_AT_ONCE: usize = 8;
/// So many small ones at once; whoever could open more connections than this could fill the memory with them.
const SMALL_AT_ONCE: usize = 256;

/// Places for bodies that are being read. Whoever they are from is only known when all of it is there, so strangers
/// must not be able to fill the memory with them.
pub(super) struct Places {
    small: Semaphore,
    large: Semaphore,
}

impl Default for Places {
    fn default() -> Self {
        Self { small: Semaphore::new(SMALL_AT_ONCE), large: Semaphore::new(LARGE_AT_ONCE) }
    }
}

/// The body, or the answer to one that can't be had.
pub(super) async fn body(door: &Door, request: Request) -> Result<Bytes, Answer> {
    let length = request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let small = length.is_some_and(|length| length <= SMALL);
    let (places, most) = if small { (&door.places.small, SMALL as usize) } else { (&door.places.large, LARGEST) };
    let read = async {
        let Ok(_place) = places.acquire().await else { return Err(busy()) };
        to_bytes(request.into_body(), most).await.map_err(|error| {
            let over = std::error::Error::source(&error).is_some_and(|error| error.is::<LengthLimitError>());
            if over { too_large() } else { answer(StatusCode::BAD_REQUEST, "The body could not be read.") }
        })
    };
    tokio::time::timeout(READ_WITHIN, read).await.unwrap_or_else(|_| Err(busy()))
}

fn too_large() -> Answer {
    answer(StatusCode::PAYLOAD_TOO_LARGE, &format!("Too large: a webhook has at most {LARGEST} bytes."))
}

fn busy() -> Answer {
    answer(StatusCode::SERVICE_UNAVAILABLE, "The body did not come in time; send it again.")
}

async fn receive(State(door): State<Arc<Door>>, headers: HeaderMap, request: Request) -> Answer {
    // What nobody has signed is not even read.
    if let Err(error) = webhook::claimed(&headers) {
        tracing::warn!(%error, "a delivery without a signature was refused");
        return answer(StatusCode::UNAUTHORIZED, &error.to_string());
    }
    let body = match body(&door, request).await {
        Ok(body) => body,
        Err(answer) => return answer,
    };
    if let Err(error) = webhook::verify(&door.secrets, &headers, &body) {
        tracing::warn!(%error, "a delivery without a good signature was refused");
        return answer(StatusCode::UNAUTHORIZED, &error.to_string());
    }
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let (Some(event), Some(guid)) = (header("x-github-event"), header("x-github-delivery")) else {
        return answer(StatusCode::BAD_REQUEST, "X-GitHub-Event and X-GitHub-Delivery are needed.");
    };
    if guid.len() > 100 || event.len() > 100 {
        return answer(StatusCode::BAD_REQUEST, "X-GitHub-Event or X-GitHub-Delivery is too long.");
    }
    let delivery = match webhook::parse(&event, &body) {
        Ok(None) => return answer(StatusCode::OK, "Ignored: nothing here depends on it."),
        Ok(Some(understood)) if !matters(door.app.get().map(Arc::as_ref), &understood) => {
            return answer(StatusCode::OK, "Ignored: nothing here depends on it.");
        }
        Ok(Some(understood)) => self::delivery(guid, event, &understood),
        // It is kept, and shows in the list of dead letters: a payload that can't be read is a bug to be seen.
        Err(error) => {
            tracing::error!(%error, guid, "a delivery can't be understood");
            let key = format!("{BROKEN}{guid}");
            let meta = json!({ "error": error.to_string() });
            Delivery { guid, event, installation: None, repo: None, key, barrier: false, payload: body.to_vec(), meta }
        }
    };
    point!("webhook.received");
    let kept = async {
        let put = door.inbox.put(&delivery).await?;
        // Somebody pressed *Redeliver* for what could not be worked off.
        let revived = put == Put::Duplicate && door.inbox.revive(&delivery).await?;
        Ok((put, revived))
    };
    let kept = in_time(PATIENCE, kept).await;
    point!("webhook.answer");
    match kept {
        Ok((Put::New(_), _)) => answer(StatusCode::ACCEPTED, "Kept."),
        Ok((Put::Duplicate, true)) => answer(StatusCode::ACCEPTED, "Kept: it was a dead letter, and is tried again."),
        Ok((Put::Duplicate, false)) => answer(StatusCode::OK, "Already known."),
        Err(error) => {
            let (guid, event) = (&delivery.guid, &delivery.event);
            tracing::error!(
                error = format!("{error:#}"),
                guid,
                event,
                "a delivery could not be kept; it is asked for again when the database is back"
            );
            answer(StatusCode::SERVICE_UNAVAILABLE, "It could not be kept; send it again.")
        }
    }
}

/// The key of what can't be understood begins so.
pub(super) const BROKEN: &str = "broken/";

/// What is kept of an event that is understood: what it says, and not what came. That is a hundredth of it, so the disk is
/// not what a burst waits for, a long outage of GitHub's does not fill it, and of what private repositories sent only
/// what is needed stays.
pub(super) fn delivery(guid: String, event: String, understood: &Event) -> Delivery {
    Delivery {
        guid,
        event,
        installation: match &understood.fact {
            Fact::Installation { id, .. } => Some(*id),
            _ => understood.repo.as_ref().map(|repo| repo.installation),
        },
        repo: understood.repo.as_ref().map(|repo| repo.id),
        key: key(understood),
        barrier: barrier(&understood.fact),
        payload: route::written(understood),
        meta: about(understood),
    }
}

/// The inbox's answer, or an error when it takes too long. What was given up may still have been kept; then it is a
/// duplicate when it comes again.
async fn in_time<T>(limit: Duration, asked: impl Future<Output = Result<T, InboxError>>) -> anyhow::Result<T> {
    let answered = tokio::time::timeout(limit, asked).await;
    Ok(answered.map_err(|_| anyhow::anyhow!("the inbox's database did not answer within {limit:?}"))??)
}

/// Whether anything can follow from it. The echo of our own writes can't. (As long as it is not known who we are, an
/// echo is taken too. It is dropped when it is worked off.)
pub(super) fn matters(app: Option<&App>, event: &Event) -> bool {
    let ours = |login: &str| app.is_some_and(|app| login == app.login);
    match &event.fact {
        Fact::Checks { app: made_by, .. } => made_by.is_none() || *made_by != app.map(|app| app.id),
        Fact::Comment(comment) => !ours(&comment.author.login),
        // We close what somebody gave up, and that it is closed is to be recorded. We put documents right, and what that comes to
        // is to be looked at, also where no check runs for it.
        Fact::Pull { what: PullEvent::Closed | PullEvent::Synchronize, .. } => true,
        Fact::CommentChanged { sender, .. } | Fact::Pull { sender, .. } | Fact::Push { sender, .. } => {
            !ours(&sender.login)
        }
        // What was taken away needs nothing: there is no token for it any more.
        Fact::Installation { action, .. } => {
            ["created", "added", "unsuspend", "new_permissions_accepted"].contains(&action.as_str())
        }
        Fact::Repository { action, .. } => {
            ["edited", "renamed", "transferred", "unarchived"].contains(&action.as_str())
        }
        // What somebody does to an escalation's issue is put right.
        Fact::Issue { action, sender, .. } => {
            !ours(&sender.login)
                && ["edited", "closed", "deleted", "transferred", "unlabeled"].contains(&action.as_str())
        }
        _ => event.repo.is_some(),
    }
}

/// The change that a fact names.
fn number(fact: &Fact) -> Option<u64> {
    match fact {
        Fact::Pull { number, .. }
        | Fact::Issue { number, .. }
        | Fact::CommentChanged { number, .. }
        | Fact::Look { number }
        | Fact::Unguarded { number, .. }
        | Fact::Ran { number, .. }
        | Fact::Refused { number, .. } => Some(*number),
        Fact::Review { pull, .. } => Some(*pull),
        Fact::Comment(comment) => Some(comment.number),
        _ => None,
    }
}

/// One key a change: whatever has the same key is worked off one after the other.
pub(super) fn key(event: &Event) -> String {
    let repo = event.repo.as_ref().map_or(0, |repo| repo.id.0);
    match (number(&event.fact), &event.fact) {
        (Some(number), _) => format!("{repo}/{number}"),
        // What becomes of one account is nothing to another.
        (None, Fact::Installation { id, .. }) => format!("0/installation-{}", id.0),
        (None, Fact::MergeGroup { head, .. }) => group_key(RepoId(repo), head),
        (None, _) => format!("{repo}/*"),
    }
}

/// The key of a merge group. (Behind the slash is no number.)
pub(super) fn group_key(repo: RepoId, head: &CommitId) -> String {
    format!("{}/group-{head}", repo.0)
}

/// What it is about, for people (the key has ids), and that it is kept as a fact.
fn about(event: &Event) -> Value {
    let about = event.repo.as_ref().map(|repo| match number(&event.fact) {
        Some(number) => format!("{}#{number}", repo.slug),
        None => repo.slug.to_string(),
    });
    json!({ "about": about, route::KEPT: route::AS_FACT })
}

/// A comment that may hold a command is never merged with another delivery.
fn barrier(fact: &Fact) -> bool {
    match fact {
        Fact::Comment(comment) => command::may_hold_one(&comment.body),
        Fact::Button { .. } => true,
        _ => false,
    }
}

async fn ready(State(door): State<Arc<Door>>) -> Answer {
    match in_time(PATIENCE, door.inbox.stats()).await {
        Ok(stats) => {
            let github = match (door.app.get(), &*door.waits.lock().unwrap_or_else(PoisonError::into_inner)) {
                (Some(_), _) => "known".to_owned(),
                (None, Some(why)) => format!("not reached yet: {why}"),
                (None, None) => "not reached yet".to_owned(),
            };
            let Stats { ready, running, parked, dead, .. } = stats;
            let says = json!({ "ready": ready, "running": running, "parked": parked, "dead": dead, "github": github });
            (StatusCode::OK, Json(says))
        }
        Err(_) => answer(StatusCode::SERVICE_UNAVAILABLE, "The inbox can't be reached."),
    }
}

async fn metrics(State(door): State<Arc<Door>>) -> String {
    if let Ok(stats) = in_time(PATIENCE, door.inbox.stats()).await {
        for (state, count) in
            [("ready", stats.ready), ("running", stats.running), ("parked", stats.parked), ("dead", stats.dead)]
        {
            #[expect(clippy::cast_precision_loss, reason = "a gauge is a float, and the counts are small")]
            metrics::gauge!("phasegate_inbox", "state" => state).set(count as f64);
        }
        metrics::gauge!("phasegate_inbox_oldest_seconds").set(stats.oldest.as_secs_f64());
    }
    door.metrics.render()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_database_that_does_not_answer_is_not_waited_for() {
        assert!(PATIENCE < Duration::from_secs(10), "GitHub waits no longer");
        let error = in_time(Duration::ZERO, std::future::pending::<Result<(), InboxError>>()).await.unwrap_err();
        assert!(error.to_string().contains("did not answer"), "{error}");
        assert_eq!(in_time(PATIENCE, async { Ok(1) }).await.unwrap(), 1);
    }
}
