//! What is said between the twin and others, kept so that it can be held against GitHub's published description.
//!
//! Where `PHASEGATE_EXCHANGES` names a folder, every exchange of a shape that this process has not seen yet is written
//! into a file of its own there: requests with their answers (people's calls from inside too), and webhooks.
//! `tests/oracles/description.cjs` reads them. A shape is the method, the route, the status, and the fields and types of
//! the bodies; of texts only words count, as `state` or `conclusion` have them. The file is named after it, so several
//! processes write the same one once.
//!
//! Headers are not written, nor is what stands in a body as a secret. Without the variable all of this costs one look.

use std::collections::{BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use serde::Serialize;
use serde_json::Value;

use super::route::{parse_query, template};

const VARIABLE: &str = "PHASEGATE_EXCHANGES";

struct Kept {
    folder: PathBuf,
    seen: Mutex<HashSet<u64>>,
}

static KEPT: LazyLock<Option<Kept>> = LazyLock::new(|| {
    let folder = PathBuf::from(std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty())?);
    Some(Kept { folder, seen: Mutex::default() })
});

/// Whether anybody wants to know.
pub(crate) fn wanted() -> bool {
    KEPT.is_some()
}

/// Which story this is: a test runner says so in the environment, or names its thread after the test.
pub(crate) fn story() -> String {
    let told = std::env::var("NEXTEST_TEST_NAME").ok();
    told.or_else(|| std::thread::current().name().map(str::to_owned)).unwrap_or_else(|| "unknown".to_owned())
}

/// One thing that was said.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(crate) enum Exchange<'a> {
    Rest {
        method: &'a str,
        path: &'a str,
        query: &'a str,
        status: u16,
        /// The bot asked, and not somebody with another client.
        bot: bool,
        /// A failure was played: the answer is not what GitHub would say to this.
        played: bool,
        /// The answer is no JSON.
        raw: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        request: Option<Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        response: Option<Value>,
    },
    GraphQl {
        bot: bool,
        played: bool,
        request: Value,
        response: Value,
    },
    Webhook {
        event: &'a str,
        action: Option<&'a str>,
        /// Only their names.
        headers: Vec<&'a str>,
        payload: Value,
    },
}

#[derive(Serialize)]
struct Told<'a> {
    story: &'a str,
    /// Where the twin has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<&'a str>,
    #[serde(flatten)]
    exchange: Exchange<'a>,
}

impl Exchange<'_> {
    fn shape(&self, route: &str) -> u64 {
        let mut shape = DefaultHasher::new();
        match self {
            Self::Rest { method, query, status, bot, played, raw, request, response, .. } => {
                (method, route, status, bot, played, raw).hash(&mut shape);
                for (name, value) in parse_query(query) {
                    text(&name, &value, &mut shape);
                    name.hash(&mut shape);
                }
                for body in [request, response] {
                    body.as_ref().map(|body| hash("", body)).hash(&mut shape);
                }
            }
            Self::GraphQl { bot, played, request, response } => {
                (bot, played, request["query"].as_str()).hash(&mut shape);
                (hash("", &request["variables"]), hash("", response)).hash(&mut shape);
            }
            Self::Webhook { event, action, headers, payload } => {
                (event, action, headers, hash("", payload)).hash(&mut shape);
            }
        }
        shape.finish()
    }

    fn bodies(&mut self) -> impl Iterator<Item = &mut Value> {
        let (one, two) = match self {
            Self::Rest { request, response, .. } => (request.as_mut(), response.as_mut()),
            Self::GraphQl { request, response, .. } => (Some(request), Some(response)),
            Self::Webhook { payload, .. } => (Some(payload), None),
        };
        one.into_iter().chain(two)
    }
}

/// Texts that people chose, or that name a thing: they say nothing about the shape.
const NAMES: &[&str] =
    &["body", "context", "label", "login", "message", "name", "query", "ref", "slug", "summary", "text", "title"];

/// What of a text belongs to the shape: a word that may be one of a few, or else only its kind.
fn text(key: &str, value: &str, shape: &mut impl Hasher) {
    let is_word = || value.len() <= 32 && value.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_');
    let ends_in = |name: &&str| key.strip_suffix(*name).is_some_and(|rest| rest.is_empty() || rest.ends_with('_'));
    match value {
        "" => "empty".hash(shape),
        word if is_word() && !NAMES.iter().any(ends_in) => word.hash(shape),
        link if link.starts_with("http") => "link".hash(shape),
        time if time.ends_with('Z') && time.len() == 20 => "time".hash(shape),
        _ => "text".hash(shape),
    }
}

/// The shape of a body. Of a list's items each shape counts once.
fn hash(key: &str, body: &Value) -> u64 {
    let mut shape = DefaultHasher::new();
    match body {
        Value::Null => "null".hash(&mut shape),
        Value::Bool(_) => "bool".hash(&mut shape),
        Value::Number(number) => (number.is_u64(), number.is_i64()).hash(&mut shape),
        Value::String(value) => text(key, value, &mut shape),
        Value::Array(items) => items.iter().map(|item| hash(key, item)).collect::<BTreeSet<_>>().hash(&mut shape),
        Value::Object(fields) => {
            for (key, value) in fields {
                (key, hash(key, value)).hash(&mut shape);
            }
        }
    }
    shape.finish()
}

/// Takes the twin's secrets out: nobody needs them to compare.
fn without_secrets(body: &mut Value) {
    match body {
        Value::Object(fields) => {
            for (key, value) in fields {
                match key.as_str() {
                    "token" | "pem" | "client_secret" | "webhook_secret" if value.is_string() => *value = "***".into(),
                    _ => without_secrets(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(without_secrets),
        _ => {}
    }
}

/// Keeps it, if nothing of its shape was kept before.
pub(crate) fn keep(story: &str, mut exchange: Exchange<'_>) {
    let Some(kept) = &*KEPT else { return };
    let route = match &exchange {
        Exchange::Rest { method, path, .. } => Some(template(method, path).unwrap_or(path)),
        _ => None,
    };
    let shape = exchange.shape(route.unwrap_or_default());
    if !kept.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(shape) {
        return;
    }
    exchange.bodies().for_each(without_secrets);
    let file = kept.folder.join(format!("{shape:016x}.json"));
    if let Err(error) = write(&kept.folder, &file, &Told { story, route, exchange }) {
        tracing::error!(%error, file = %file.display(), "an exchange could not be kept");
    }
}

/// Whole or not at all: another process may have the same to tell.
fn write(folder: &Path, file: &Path, told: &Told<'_>) -> std::io::Result<()> {
    if file.exists() {
        return Ok(());
    }
    let mut draft = tempfile::NamedTempFile::new_in(folder)?;
    draft.write_all(&serde_json::to_vec(told)?)?;
    draft.persist(file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_shape_is_made_of_fields_types_and_words() {
        let of = |body: Value| hash("", &body);
        assert_eq!(of(json!({"id": 1, "title": "one"})), of(json!({"id": 22, "title": "two"})));
        assert_eq!(of(json!([{"id": 1}, {"id": 2}])), of(json!([{"id": 3}])));
        assert_ne!(of(json!({"id": 1})), of(json!({"id": "1"})));
        assert_ne!(of(json!({"id": 1})), of(json!({"id": 1, "more": 1})));
        assert_ne!(of(json!({"state": "open"})), of(json!({"state": "closed"})));
        assert_ne!(of(json!({"at": "2026-01-01T00:00:00Z"})), of(json!({"at": "yesterday, 12"})));
        assert_ne!(of(json!([{"id": 1}])), of(json!([{"id": 1}, {"id": null}])));
    }

    #[test]
    fn what_is_secret_is_not_kept() {
        let mut body = json!({"token": "ghs_1", "list": [{"pem": "-----", "token": null}], "name": "n"});
        without_secrets(&mut body);
        assert_eq!(body, json!({"token": "***", "list": [{"pem": "***", "token": null}], "name": "n"}));
    }
}
