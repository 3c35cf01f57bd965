//! What is said between the twin and others, kept so that it can be held against GitHub's published description.
//!
//! Where `PHASEGATE_EXCHANGES` names a folder, every exchange of a shape that this process has not seen yet is written
//! into a file of its own there: requests with their answers (people's calls from inside too), and webhooks.
//! `tests/oracles/description.cjs` reads them. A shape is the method, the route, the status, and the fields and types of
//! the bodies; of texts only words count, as `state` or `conclusion` have them. The file is named after it, so several
//! processes write the same one once.
//!
//! Headers are not written, nor is what stands in a body as a secret. Without the variable all of this costs one look.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Serialize, Serializer};
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

/// A body of one. Most have a shape that is known, so it is read to the end only where it is kept.
pub(crate) enum Body<'a> {
    Text(&'a [u8]),
    Value(Cow<'a, Value>),
}

impl Body<'_> {
    /// None where it is no JSON.
    fn shape(&self) -> Option<u64> {
        let seed = Shape { key: "" };
        match self {
            Self::Text(text) => seed.deserialize(&mut serde_json::Deserializer::from_slice(text)).ok(),
            Self::Value(value) => seed.deserialize(value.as_ref()).ok(),
        }
    }

    fn value(&self) -> Option<Value> {
        match self {
            Self::Text(text) => serde_json::from_slice(text).ok(),
            Self::Value(value) => Some(value.as_ref().clone()),
        }
    }
}

/// Nothing was said, or no JSON.
fn is_nothing(body: &Option<Body<'_>>) -> bool {
    body.as_ref().is_none_or(|body| body.shape().is_none())
}

/// As it is kept: without secrets.
impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut value = self.value();
        value.iter_mut().for_each(without_secrets);
        value.serialize(serializer)
    }
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
        #[serde(skip_serializing_if = "is_nothing")]
        request: Option<Body<'a>>,
        #[serde(skip_serializing_if = "is_nothing")]
        response: Option<Body<'a>>,
    },
    GraphQl {
        bot: bool,
        played: bool,
        request: Body<'a>,
        response: Body<'a>,
    },
    Webhook {
        event: &'a str,
        action: Option<&'a str>,
        /// Only their names.
        headers: Vec<&'a str>,
        payload: Body<'a>,
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
        let of = |body: &Option<Body<'_>>| body.as_ref().and_then(Body::shape);
        match self {
            Self::Rest { method, query, status, bot, played, raw, request, response, .. } => {
                let line = format!("{method} {route} {status} {bot} {played} {raw}");
                let asked = parse_query(query);
                let asked = asked.iter().fold(mixed(1, line.as_bytes()), |shape, (name, value)| {
                    mixed(joined(shape, text(name, value)), name.as_bytes())
                });
                [of(request), of(response)].into_iter().fold(asked, |shape, body| joined(shape, body.unwrap_or(0)))
            }
            Self::GraphQl { bot, played, request, response } => {
                let asked = request.value().unwrap_or_default();
                let line = format!("{bot} {played} {}", asked["query"]);
                let variables = Body::Value(Cow::Borrowed(&asked["variables"])).shape();
                let bodies = [variables, response.shape()];
                bodies.into_iter().fold(mixed(2, line.as_bytes()), |shape, body| joined(shape, body.unwrap_or(0)))
            }
            Self::Webhook { event, action, headers, payload } => {
                let line = format!("{event} {action:?} {headers:?}");
                joined(mixed(3, line.as_bytes()), payload.shape().unwrap_or(0))
            }
        }
    }
}

/// Texts that people chose, or that name a thing: they say nothing about the shape.
const NAMES: &[&str] =
    &["body", "context", "label", "login", "message", "name", "query", "ref", "slug", "summary", "text", "title"];

/// What of a text belongs to the shape: a word that may be one of a few, or else only its kind.
fn text(key: &str, value: &str) -> u64 {
    let is_word = || value.len() <= 32 && value.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_');
    let ends_in = |name: &&str| key.strip_suffix(*name).is_some_and(|rest| rest.is_empty() || rest.ends_with('_'));
    match value {
        "" => 11,
        word if is_word() && !NAMES.iter().any(ends_in) => mixed(12, word.as_bytes()),
        link if link.starts_with("http") => 13,
        time if time.ends_with('Z') && time.len() == 20 => 14,
        _ => 15,
    }
}

/// FNV-1a: the same in every process, and short texts are all there is.
fn mixed(shape: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(shape ^ 0xcbf2_9ce4_8422_2325, |shape, byte| {
        (shape ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn joined(shape: u64, part: u64) -> u64 {
    mixed(shape, &part.to_le_bytes())
}

/// Makes the shape of a body while it is read.
struct Shape<'a> {
    /// What it is called where it stands.
    key: &'a str,
}

impl<'de> DeserializeSeed<'de> for Shape<'_> {
    type Value = u64;

    fn deserialize<D: Deserializer<'de>>(self, body: D) -> Result<u64, D::Error> {
        body.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Shape<'_> {
    type Value = u64;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("any JSON")
    }

    fn visit_unit<E>(self) -> Result<u64, E> {
        Ok(21)
    }

    fn visit_bool<E>(self, _: bool) -> Result<u64, E> {
        Ok(22)
    }

    fn visit_u64<E>(self, _: u64) -> Result<u64, E> {
        Ok(23)
    }

    fn visit_i64<E>(self, _: i64) -> Result<u64, E> {
        Ok(24)
    }

    fn visit_f64<E>(self, _: f64) -> Result<u64, E> {
        Ok(25)
    }

    fn visit_str<E>(self, value: &str) -> Result<u64, E> {
        Ok(text(self.key, value))
    }

    /// Of a list's items each shape counts once.
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<u64, A::Error> {
        let mut shapes = BTreeSet::new();
        while let Some(item) = items.next_element_seed(Shape { key: self.key })? {
            shapes.insert(item);
        }
        Ok(shapes.into_iter().fold(26, joined))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<u64, A::Error> {
        let mut shape: u64 = 27;
        while let Some(key) = fields.next_key::<Cow<'_, str>>()? {
            let field = fields.next_value_seed(Shape { key: &key })?;
            // In whatever order they stand.
            shape = shape.wrapping_add(mixed(field, key.as_bytes()));
        }
        Ok(shape)
    }
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
pub(crate) fn keep(story: &str, exchange: Exchange<'_>) {
    let Some(kept) = &*KEPT else { return };
    let route = match &exchange {
        Exchange::Rest { method, path, .. } => Some(template(method, path).unwrap_or(path)),
        _ => None,
    };
    let shape = exchange.shape(route.unwrap_or_default());
    if !kept.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(shape) {
        return;
    }
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
        let of = |body: Value| {
            let text = body.to_string();
            let shape = Body::Text(text.as_bytes()).shape().unwrap();
            assert_eq!(Body::Value(Cow::Owned(body)).shape(), Some(shape), "as text and as a value it is the same");
            shape
        };
        assert_eq!(of(json!({"id": 1, "title": "one"})), of(json!({"id": 22, "title": "two"})));
        assert_eq!(of(json!([{"id": 1}, {"id": 2}])), of(json!([{"id": 3}])));
        assert_ne!(of(json!({"id": 1})), of(json!({"id": "1"})));
        assert_ne!(of(json!({"id": 1})), of(json!({"id": 1, "more": 1})));
        assert_ne!(of(json!({"state": "open"})), of(json!({"state": "closed"})));
        assert_ne!(of(json!({"at": "2026-01-01T00:00:00Z"})), of(json!({"at": "yesterday, 12"})));
        assert_ne!(of(json!([{"id": 1}])), of(json!([{"id": 1}, {"id": null}])));
        let turned = Body::Text(br#"{"title": "one", "id": 1}"#).shape();
        assert_eq!(Body::Text(br#"{"id": 1, "title": "one"}"#).shape(), turned, "in whatever order they stand");
        assert_eq!(Body::Text(b"no json").shape(), None);
    }

    #[test]
    fn what_is_secret_is_not_kept() {
        let body = json!({"token": "ghs_1", "list": [{"pem": "-----", "token": null}], "name": "n"});
        let kept = serde_json::to_value(Body::Value(Cow::Borrowed(&body))).unwrap();
        assert_eq!(kept, json!({"token": "***", "list": [{"pem": "***", "token": null}], "name": "n"}));
    }
}
