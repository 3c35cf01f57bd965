//! Webhooks: who hears of what, and the couriers that carry it.
//!
//! A delivery goes to every App that is installed on the repository, subscribes to the event and has the permission
//! for it. Each App has one courier, so its deliveries leave in order. Nothing is retried: whoever misses one has to
//! ask for it again, under the same guid, as on GitHub.

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::{Duration, Instant};

use aws_lc_rs::hmac;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use uuid::Uuid;

use super::exchange::Exchange;
use super::model::*;
use super::state::State;
use super::view::{merge, node};
use super::{Shared, exchange, lock};

/// GitHub gives up on a receiver after ten seconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// Any one of these permissions lets an App hear of the event. Empty: every App hears of it.
fn permissions_for(event: &str) -> &'static [&'static str] {
    match event {
        "pull_request" | "pull_request_review" => &["pull_requests"],
        "issues" => &["issues"],
        "issue_comment" => &["issues", "pull_requests"],
        "check_run" | "check_suite" => &["checks"],
        "workflow_run" => &["actions"],
        "push" => &["contents"],
        "merge_group" => &["merge_queues"],
        "status" => &["statuses"],
        "deployment" | "deployment_status" => &["deployments"],
        _ => &[],
    }
}

/// The letter box: deliveries waiting for their courier.
pub(crate) struct Post {
    queue: mpsc::UnboundedSender<(u64, u64)>,
    pending: watch::Sender<usize>,
}

impl Post {
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<(u64, u64)>) {
        let (queue, inbox) = mpsc::unbounded_channel();
        (Self { queue, pending: watch::Sender::new(0) }, inbox)
    }

    /// How many deliveries have not been attempted yet.
    pub(crate) fn pending(&self) -> watch::Receiver<usize> {
        self.pending.subscribe()
    }

    pub(crate) fn send(&self, app: u64, delivery: u64) {
        self.pending.send_modify(|count| *count += 1);
        if self.queue.send((app, delivery)).is_err() {
            // The twin is shutting down; nobody will carry this one.
            self.done();
        }
    }

    fn done(&self) {
        self.pending.send_modify(|count| *count = count.saturating_sub(1));
    }
}

impl State {
    /// Tells every App concerned that something happened in a repository.
    pub(crate) fn emit(&mut self, repo: u64, event: &str, action: Option<&str>, sender: &Account, fields: Value) {
        self.emit_to(repo, event, action, sender, fields, None);
    }

    /// As [`State::emit`], but to one App only where told: buttons and re-requests are its owner's business.
    pub(crate) fn emit_to(
        &mut self,
        repo: u64,
        event: &str,
        action: Option<&str>,
        sender: &Account,
        fields: Value,
        only: Option<u64>,
    ) {
        if self.quiet {
            return;
        }
        let Some(about) = self.repos.get(&repo) else { return };
        let mut payload = json!({});
        if let Some(action) = action {
            payload["action"] = action.into();
        }
        merge(&mut payload, fields);
        payload["repository"] = self.repo_json(about);
        payload["sender"] = self.user_json(sender);
        if about.owner.kind == AccountKind::Organization {
            payload["organization"] = self.organization_json(&about.owner);
        }
        let name = about.full_name();
        if let (Some(bus), None) = (&mut self.bus, only) {
            bus.push(Happened { repo: name, event: event.to_owned(), payload: payload.clone() });
        }
        let heard_by: Vec<(u64, u64)> = self
            .installations
            .values()
            .filter(|one| {
                one.repos.contains(&repo) && one.suspended_at.is_none() && only.is_none_or(|app| app == one.app)
            })
            .filter(|one| {
                let needs = permissions_for(event);
                needs.is_empty() || needs.iter().any(|name| one.permissions.contains_key(*name))
            })
            .filter(|one| self.apps.get(&one.app).is_some_and(|app| app.events.contains(event)))
            .map(|one| (one.app, one.id))
            .collect();
        for (app, installation) in heard_by {
            let mut payload = payload.clone();
            payload["installation"] = json!({"id": installation, "node_id": node("IN", installation)});
            self.deliver(app, event, action, Some(installation), Some(repo), payload);
        }
    }

    /// Queues a first delivery to one App, if it has somewhere to deliver to.
    pub(crate) fn deliver(
        &mut self,
        app: u64,
        event: &str,
        action: Option<&str>,
        installation: Option<u64>,
        repo: Option<u64>,
        payload: Value,
    ) {
        if self.quiet || self.apps.get(&app).is_none_or(|app| app.webhook_url.is_none()) {
            return;
        }
        let id = self.new_id();
        let delivery = Delivery {
            id,
            guid: Uuid::new_v4().to_string(),
            app,
            event: event.to_owned(),
            action: action.map(str::to_owned),
            installation,
            repo,
            redelivery: false,
            payload,
            delivered_at: self.now(),
            outcome: None,
        };
        self.hand_over(delivery);
    }

    /// Queues another attempt of an old delivery, under the same guid.
    pub(crate) fn redeliver(&mut self, old: u64) -> Option<u64> {
        let old = self.deliveries.get(&old)?.clone();
        let id = self.new_id();
        self.hand_over(Delivery { id, redelivery: true, delivered_at: self.now(), outcome: None, ..old });
        Some(id)
    }
}

/// Hands each delivery to its App's courier, which is hired at its first one.
pub(crate) async fn dispatch(shared: Shared, mut inbox: mpsc::UnboundedReceiver<(u64, u64)>) {
    let mut couriers: HashMap<u64, mpsc::UnboundedSender<u64>> = HashMap::new();
    // Owned here, so that all couriers end with the dispatcher.
    let mut tasks = tokio::task::JoinSet::new();
    let client = reqwest::Client::builder()
        .no_proxy()
        // Webhooks of the twin stay on the machine, and reading the system's certificates takes a while.
        .tls_certs_only([])
        .timeout(PATIENCE)
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .unwrap_or_default();
    while let Some((app, delivery)) = inbox.recv().await {
        let courier = couriers.entry(app).or_insert_with(|| {
            let (send, mut receive) = mpsc::unbounded_channel();
            let (shared, client) = (shared.clone(), client.clone());
            tasks.spawn(async move {
                while let Some(delivery) = receive.recv().await {
                    carry(&shared, &client, delivery).await;
                    lock(&shared).post.done();
                }
            });
            send
        });
        if courier.send(delivery).is_err() {
            lock(&shared).post.done();
        }
    }
}

fn sign(algorithm: hmac::Algorithm, secret: &str, body: &[u8]) -> String {
    hex::encode(hmac::sign(&hmac::Key::new(algorithm, secret.as_bytes()), body))
}

/// The headers of a delivery, signed as GitHub signs.
fn headers(delivery: &Delivery, app: &App, body: &[u8]) -> Vec<(&'static str, String)> {
    let mut headers = vec![
        ("Accept", "*/*".to_owned()),
        ("Content-Type", "application/json".to_owned()),
        ("User-Agent", "GitHub-Hookshot/7e1a1f3".to_owned()),
        ("X-GitHub-Delivery", delivery.guid.clone()),
        ("X-GitHub-Event", delivery.event.clone()),
        ("X-GitHub-Hook-ID", app.hook_id.to_string()),
        ("X-GitHub-Hook-Installation-Target-ID", app.id.to_string()),
        ("X-GitHub-Hook-Installation-Target-Type", "integration".to_owned()),
    ];
    if !app.webhook_secret.is_empty() {
        let sha1 = sign(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &app.webhook_secret, body);
        let sha256 = sign(hmac::HMAC_SHA256, &app.webhook_secret, body);
        headers.push(("X-Hub-Signature", format!("sha1={sha1}")));
        headers.push(("X-Hub-Signature-256", format!("sha256={sha256}")));
    }
    headers
}

async fn carry(shared: &Shared, client: &reqwest::Client, id: u64) {
    let (delivery, app, story) = {
        let state = lock(shared);
        let Some(delivery) = state.deliveries.get(&id) else { return };
        let Some(app) = state.apps.get(&delivery.app) else { return };
        (delivery.clone(), app.clone(), exchange::wanted().then(|| state.story.clone()))
    };
    let body = delivery.payload.to_string().into_bytes();
    let headers = headers(&delivery, &app, &body);
    if let Some(story) = story {
        let told = Exchange::Webhook {
            event: &delivery.event,
            action: delivery.action.as_deref(),
            headers: headers.iter().map(|(name, _)| *name).collect(),
            payload: exchange::Body::Value(Cow::Borrowed(&delivery.payload)),
        };
        exchange::keep(&story, told);
    }
    let told: Value = headers.iter().map(|(name, value)| ((*name).to_owned(), Value::from(value.as_str()))).collect();
    let started = Instant::now();
    let mut outcome = Outcome {
        status_code: 0,
        status: "failed to connect to host".into(),
        duration: 0.0,
        request_headers: told,
        response_headers: json!({}),
        response_body: String::new(),
    };
    if let Some(url) = &app.webhook_url {
        let mut request = client.post(url).body(body);
        for (name, value) in &headers {
            request = request.header(*name, value);
        }
        match request.send().await {
            Ok(response) => {
                let status = response.status();
                outcome.status_code = status.as_u16();
                outcome.status = status.canonical_reason().unwrap_or("unknown").to_owned();
                outcome.response_headers = response
                    .headers()
                    .iter()
                    .map(|(name, value)| (name.to_string(), Value::from(String::from_utf8_lossy(value.as_bytes()))))
                    .collect();
                outcome.response_body = response.text().await.unwrap_or_default();
            }
            Err(error) if error.is_timeout() => outcome.status = "timed out".into(),
            Err(_) => {}
        }
    }
    outcome.duration = (started.elapsed().as_secs_f64() * 100.0).round() / 100.0;
    if let Some(delivery) = lock(shared).deliveries.get_mut(&id) {
        delivery.outcome = Some(outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_the_one_in_githubs_documentation() {
        // "Validating webhook deliveries": secret and payload with the signature they must give.
        let signature = sign(hmac::HMAC_SHA256, "It's a Secret to Everybody", b"Hello, World!");
        assert_eq!(signature, "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17");
    }
}
