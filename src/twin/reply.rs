//! What a call can answer: a value, a list to be paged, raw text, or a problem told in GitHub's words.

use serde_json::{Value, json};

use super::model::Level;

/// A successful answer.
#[derive(Debug)]
pub(crate) enum Reply {
    Ok(Value),
    Created(Value),
    Accepted(Value),
    NoContent,
    /// A bare JSON array, paged.
    List(Vec<Value>),
    /// `{"total_count": n, key: […]}`, paged.
    Counted(&'static str, Vec<Value>),
    /// A page that the call cut itself, with the query of the next one.
    Cursor(Vec<Value>, Option<String>),
    Raw(Vec<u8>),
    /// It lies at another address, for whoever has that.
    Elsewhere(String),
}

pub(crate) type Answer = Result<Reply, Problem>;

/// An error as GitHub tells it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Problem {
    pub(crate) status: u16,
    pub(crate) message: String,
    pub(crate) errors: Option<Value>,
    /// `x-accepted-github-permissions`.
    pub(crate) accepted: Option<String>,
}

impl Problem {
    pub(crate) fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), errors: None, accepted: None }
    }

    pub(crate) fn not_found() -> Self {
        Self::new(404, "Not Found")
    }

    pub(crate) fn bad_credentials() -> Self {
        Self::new(401, "Bad credentials")
    }

    pub(crate) fn not_for_integration() -> Self {
        Self::new(403, "Resource not accessible by integration")
    }

    /// The same to an App that lacks every one of these permissions.
    pub(crate) fn lacks(any_of: &[(&str, Level)]) -> Self {
        let one = |(name, level): &(&str, Level)| format!("{name}={}", level.name());
        let accepted = any_of.iter().map(one).collect::<Vec<_>>().join("; ");
        Self { accepted: Some(accepted), ..Self::not_for_integration() }
    }

    pub(crate) fn suspended() -> Self {
        Self::new(403, "This installation has been suspended")
    }

    /// 422 with a plain message.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(422, message)
    }

    /// 422 `Validation Failed` with one structured error.
    pub(crate) fn field(resource: &str, field: &str, code: &str, message: Option<&str>) -> Self {
        let mut error = json!({"resource": resource, "field": field, "code": code});
        if let Some(message) = message {
            error["message"] = message.into();
        }
        Self { errors: Some(json!([error])), ..Self::new(422, "Validation Failed") }
    }

    pub(crate) fn json(&self) -> Value {
        let mut body = json!({
            "message": self.message,
            "documentation_url": "https://docs.github.com/rest",
            "status": self.status.to_string(),
        });
        if let Some(errors) = &self.errors {
            body["errors"] = errors.clone();
        }
        body
    }
}

/// Git trouble that no rule foresaw. What a caller may cause (an unknown ref, a bad id) is answered before it gets
/// here.
impl From<git2::Error> for Problem {
    fn from(error: git2::Error) -> Self {
        match error.code() {
            git2::ErrorCode::NotFound => Self::not_found(),
            _ => Self::new(500, format!("git: {}", error.message())),
        }
    }
}
