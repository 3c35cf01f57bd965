//! Reading `gates.verify.security`.

use crate::policy::decode::{Decoder, Spot};
use crate::policy::problem::excerpt;
use crate::policy::types::security::{Assured, Security, Subject};
use crate::policy::types::{Source, Verify};
use crate::policy::yaml::Kind;

const LONGEST: usize = 200;

/// Reads who says so of each subject. The checks and the sources are read before.
pub(super) fn read(d: &mut Decoder, spot: &Spot<'_>, verify: &Verify, has_audit: bool) -> Security {
    let mut security = Security::default();
    let keys = Subject::EACH.map(Subject::as_str);
    let Some(f) = d.map(spot, &keys, &[]) else { return security };
    for subject in Subject::EACH {
        let Some(spot) = f.get(subject.as_str()) else { continue };
        let Some(by) = assured(d, spot, subject) else { continue };
        if let Some((says, next)) = in_vain(&by, subject, verify, has_audit) {
            d.problem(spot.at(), &spot.path, says, next);
            continue;
        }
        if by == Assured::Audit && !verify.asks_for_runs() {
            d.warning(
                spot.at(),
                &spot.path,
                "no source of `gates.verify.from` runs `gates.build.audit`, so it stays unknown (`VER-05`)",
                "Name a check whose job runs it: `{ check: NAME }`; or take `actions` or `runner` into `gates.verify.from`",
            );
        }
        security.set(subject, by);
    }
    security
}

/// What may be written for a subject.
fn choices(subject: Subject) -> &'static str {
    match subject {
        Subject::Secrets => "`phasegate`, `review`, `{ check: NAME }` or `{ none: REASON }`",
        Subject::Dependencies => "`audit`, `review`, `{ check: NAME }` or `{ none: REASON }`",
        Subject::Injection | Subject::Authentication => "`review`, `{ check: NAME }` or `{ none: REASON }`",
    }
}

fn assured(d: &mut Decoder, spot: &Spot<'_>, subject: Subject) -> Option<Assured> {
    if matches!(spot.node.kind, Kind::Map(_)) {
        let f = d.map(spot, &["check", "none"], &[])?;
        let both = (f.get("check"), f.get("none"));
        let ((Some(one), None) | (None, Some(one))) = both else {
            let next = format!("Write {}", choices(subject));
            d.problem(spot.at(), &spot.path, "exactly one of `check` and `none` is to be given", next);
            return None;
        };
        let text = d.text(one)?.trim().to_owned();
        if text.is_empty() || text.chars().count() > LONGEST {
            let says = format!("this is to have from one to {LONGEST} characters");
            d.problem(one.at(), &one.path, says, "Write the check's name, or why it does not apply");
            return None;
        }
        return Some(if both.0.is_some() { Assured::Check(text) } else { Assured::None(text) });
    }
    let text = d.text(spot)?;
    let by = match (text, subject) {
        ("review", _) => Assured::Review,
        ("phasegate", Subject::Secrets) => Assured::Phasegate,
        ("audit", Subject::Dependencies) => Assured::Audit,
        _ => {
            let says = format!("`{}` does not tell of {}", excerpt(text), subject.what());
            d.problem(spot.at(), &spot.path, says, format!("Write {}", choices(subject)));
            return None;
        }
    };
    Some(by)
}

/// Why nobody would ever say so.
fn in_vain(by: &Assured, subject: Subject, verify: &Verify, has_audit: bool) -> Option<(String, String)> {
    match by {
        Assured::Check(name)
            if !verify.has(Source::Checks) || verify.checks.iter().all(|check| check.name != *name) =>
        {
            Some((
                format!("`{}` is none of `gates.verify.checks`, so it is not looked at", excerpt(name)),
                "Name it there too, with the workflow or App that makes it".to_owned(),
            ))
        }
        Assured::Audit if !has_audit => Some((
            format!("there is no `gates.build.audit` that could tell of {}", subject.what()),
            "Name its commands there (`cargo audit`, `npm audit`, `pip-audit`, …)".to_owned(),
        )),
        _ => None,
    }
}
