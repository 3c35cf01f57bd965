//! Where webhooks come in.
//!
//! The signature is checked on the raw bytes before anything is parsed. Then the delivery is committed to the inbox,
//! and only then acknowledged: GitHub never sends one again by itself. What is of no use is dropped here, on purpose,
//! among it the echo of our own writes.

use std::sync::Arc;

use axum::Json;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use serde_json::{Value, json};

use super::App;
use crate::fact::{Event, Fact};
use crate::github::webhook;
use crate::inbox::{Delivery, Put};

pub(super) const PATH: &str = "/api/github/webhooks";

/// GitHub sends nothing larger.
const LARGEST: usize = 25 * 1024 * 1024;

pub(super) fn router(app: Arc<App>) -> Router {
    Router::new()
        .route(PATH, post(receive).layer(DefaultBodyLimit::max(LARGEST)))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .layer(tower_http::catch_panic::CatchPanicLayer::new())
        .with_state(app)
}

type Answer = (StatusCode, Json<Value>);

fn answer(status: StatusCode, says: &str) -> Answer {
    metrics::counter!("phasegate_webhooks_total", "status" => status.as_u16().to_string()).increment(1);
    (status, Json(json!({ "says": says })))
}

async fn receive(State(app): State<Arc<App>>, headers: HeaderMap, body: Bytes) -> Answer {
    if let Err(error) = webhook::verify(&app.secrets, &headers, &body) {
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
        Ok(Some(understood)) if !matters(&app, &understood) => {
            return answer(StatusCode::OK, "Ignored: nothing here depends on it.");
        }
        Ok(Some(understood)) => Delivery {
            guid,
            event,
            installation: understood.repo.as_ref().map(|repo| repo.installation),
            repo: understood.repo.as_ref().map(|repo| repo.id),
            key: key(&understood),
            barrier: barrier(&understood.fact),
            payload: body.to_vec(),
            meta: Value::Null,
        },
        // It is kept, and shows in the list of dead letters: a payload that can't be read is a bug to be seen.
        Err(error) => {
            tracing::error!(%error, guid, "a delivery can't be understood");
            let key = format!("broken/{guid}");
            let meta = json!({ "error": error.to_string() });
            Delivery { guid, event, installation: None, repo: None, key, barrier: false, payload: body.to_vec(), meta }
        }
    };
    match app.inbox.put(&delivery).await {
        Ok(Put::New(_)) => answer(StatusCode::ACCEPTED, "Kept."),
        Ok(Put::Duplicate) => answer(StatusCode::OK, "Already known."),
        Err(error) => {
            tracing::error!(%error, "a delivery could not be kept");
            answer(StatusCode::SERVICE_UNAVAILABLE, "It could not be kept; send it again.")
        }
    }
}

/// Whether anything can follow from it. The echo of our own writes can't.
fn matters(app: &App, event: &Event) -> bool {
    let ours = |login: &str| login == app.login;
    match &event.fact {
        Fact::Checks { app: made_by, .. } => *made_by != Some(app.id),
        Fact::Comment(comment) => !ours(&comment.author.login),
        Fact::CommentChanged { sender, .. } | Fact::Pull { sender, .. } | Fact::Push { sender, .. } => {
            !ours(&sender.login)
        }
        Fact::Issue { .. } | Fact::MergeGroup { .. } | Fact::Repository { .. } | Fact::Installation { .. } => false,
        _ => event.repo.is_some(),
    }
}

/// One key a change: whatever has the same key is worked off one after the other.
pub(super) fn key(event: &Event) -> String {
    let repo = event.repo.as_ref().map_or(0, |repo| repo.id.0);
    let number = match &event.fact {
        Fact::Pull { number, .. } | Fact::CommentChanged { number, .. } | Fact::Look { number } => Some(*number),
        Fact::Review { pull, .. } => Some(*pull),
        Fact::Comment(comment) => Some(comment.number),
        _ => None,
    };
    match number {
        Some(number) => format!("{repo}/{number}"),
        None => format!("{repo}/*"),
    }
}

/// A comment that may hold a command is never merged with another delivery.
fn barrier(fact: &Fact) -> bool {
    match fact {
        Fact::Comment(comment) => comment.body.lines().any(|line| line.trim_start().starts_with('/')),
        Fact::Button { .. } => true,
        _ => false,
    }
}

async fn ready(State(app): State<Arc<App>>) -> Answer {
    match app.inbox.stats().await {
        Ok(stats) => (
            StatusCode::OK,
            Json(json!({ "ready": stats.ready, "running": stats.running, "parked": stats.parked, "dead": stats.dead })),
        ),
        Err(_) => answer(StatusCode::SERVICE_UNAVAILABLE, "The inbox can't be reached."),
    }
}

async fn metrics(State(app): State<Arc<App>>) -> String {
    if let Ok(stats) = app.inbox.stats().await {
        for (state, count) in
            [("ready", stats.ready), ("running", stats.running), ("parked", stats.parked), ("dead", stats.dead)]
        {
            #[expect(clippy::cast_precision_loss, reason = "a gauge is a float, and the counts are small")]
            metrics::gauge!("phasegate_inbox", "state" => state).set(count as f64);
        }
        metrics::gauge!("phasegate_inbox_oldest_seconds").set(stats.oldest.as_secs_f64());
    }
    app.metrics.render()
}
