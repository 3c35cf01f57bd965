//! The words of `gates.verify.security`: who says that nothing is wrong, subject by subject.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    Secrets,
    Dependencies,
    Injection,
    Authentication,
}

impl Subject {
    pub const EACH: [Self; 4] = [Self::Secrets, Self::Dependencies, Self::Injection, Self::Authentication];

    /// As it is written in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Secrets => "secrets",
            Self::Dependencies => "dependencies",
            Self::Injection => "injection",
            Self::Authentication => "authentication",
        }
    }

    /// As the subject of a sentence.
    pub fn what(self) -> &'static str {
        match self {
            Self::Secrets => "secrets in the source",
            Self::Dependencies => "the dependencies",
            Self::Injection => "injection (XSS, SQL, CSRF)",
            Self::Authentication => "authentication",
        }
    }
}

/// Who says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Assured {
    /// Phasegate looks itself: for `secrets`, in what the change adds.
    Phasegate,
    /// The commands of `gates.build.audit`: for `dependencies`.
    Audit,
    /// A review of this content that names `security` among its axes.
    Review,
    /// A check of `gates.verify.checks`, by its name.
    #[schemars(transform = named)]
    Check(String),
    /// It does not apply here, for this reason.
    #[schemars(transform = named)]
    None(String),
}

/// It says something, and not too much.
fn named(schema: &mut schemars::Schema) {
    for object in
        schema.get_mut("properties").and_then(|all| all.as_object_mut()).into_iter().flat_map(|all| all.values_mut())
    {
        if let Some(object) = object.as_object_mut() {
            object.insert("minLength".to_owned(), 1.into());
            object.insert("maxLength".to_owned(), 200.into());
        }
    }
}

/// Who says of each subject that nothing is wrong. Of what is left out, who usually does: Phasegate of secrets, the audit of
/// dependencies where there is one, reviewers of the rest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Security {
    /// Keys and passwords in what the change adds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secrets: Option<Assured>,
    /// Known holes in what it depends on, and where that comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<Assured>,
    /// What somebody can slip in: XSS, SQL, CSRF.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub injection: Option<Assured>,
    /// Who is let in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authentication: Option<Assured>,
}

impl Security {
    pub fn of(&self, subject: Subject) -> Option<&Assured> {
        match subject {
            Subject::Secrets => self.secrets.as_ref(),
            Subject::Dependencies => self.dependencies.as_ref(),
            Subject::Injection => self.injection.as_ref(),
            Subject::Authentication => self.authentication.as_ref(),
        }
    }

    pub(in crate::policy) fn set(&mut self, subject: Subject, by: Assured) {
        let to = match subject {
            Subject::Secrets => &mut self.secrets,
            Subject::Dependencies => &mut self.dependencies,
            Subject::Injection => &mut self.injection,
            Subject::Authentication => &mut self.authentication,
        };
        *to = Some(by);
    }
}
