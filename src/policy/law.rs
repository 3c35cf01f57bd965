//! What a policy means for one change.

use globset::{GlobBuilder, GlobMatcher, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};

use super::types::{Autonomy, Flow, Mode, Policy, Proofs};
use crate::ids::Digest;

/// What holds for one change, after the match rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effective {
    pub flow: Flow,
    pub mode: Mode,
    pub autonomy: Autonomy,
}

/// What a change declares of itself. It is only ever tightened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declared {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autonomy: Option<Autonomy>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub high_risk: bool,
}

impl Declared {
    /// Both, the tighter of each.
    pub fn and(self, other: Self) -> Self {
        let autonomy = self.autonomy.into_iter().chain(other.autonomy).min();
        Self { autonomy, high_risk: self.high_risk || other.high_risk }
    }

    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// The one reading of globs everywhere: `*` stays within a directory, `**` crosses them, letters keep their case.
pub fn glob(pattern: &str) -> Result<GlobMatcher, globset::Error> {
    Ok(GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build()?.compile_matcher())
}

/// Whether [`glob`] can read it, without making a matcher of it.
pub fn is_glob(pattern: &str) -> bool {
    GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build().is_ok()
}

/// A set of globs, read as [`glob`] reads one. Patterns of a parsed policy always compile.
pub fn globs<S: AsRef<str>>(patterns: impl IntoIterator<Item = S>) -> Result<GlobSet, globset::Error> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(GlobBuilder::new(pattern.as_ref()).literal_separator(true).backslash_escape(true).build()?);
    }
    set.build()
}

impl Policy {
    /// What holds for a change with this head branch and these labels. A rule that would loosen anything has no
    /// effect: the worst that a label or a branch name can do is to ask for more.
    pub fn effective(&self, branch: &str, labels: &[String]) -> Effective {
        let mut law = Effective { flow: self.flow, mode: self.mode, autonomy: self.autonomy };
        for rule in &self.rules {
            // A glob that does not compile can't come from a file; should one come from elsewhere, it tightens.
            let on_branch = rule.branch.as_deref().is_none_or(|g| glob(g).map_or(true, |g| g.is_match(branch)));
            let labelled = rule
                .label
                .as_deref()
                .is_none_or(|wanted| labels.iter().any(|l| l.to_lowercase() == wanted.to_lowercase()));
            if !on_branch || !labelled {
                continue;
            }
            law.autonomy = rule.autonomy.map_or(law.autonomy, |a| a.min(law.autonomy));
            law.flow = rule.flow.map_or(law.flow, |f| f.max(law.flow));
            law.mode = rule.mode.map_or(law.mode, |_| Mode::Stepped);
        }
        law
    }

    /// Whether a change may be in this flow: all are, or those that a rule is about.
    pub fn may_be_in(&self, flow: Flow) -> bool {
        self.flow == flow || self.rules.iter().any(|rule| rule.flow == Some(flow))
    }

    /// What becomes of a criterion that is not shown at runtime. Without the pipeline there are no documents that could say how.
    pub fn proofs(&self) -> Proofs {
        if !self.may_be_in(Flow::Pipeline) {
            return Proofs::Off;
        }
        let verify = &self.gates.verify;
        let otherwise = if verify.asks_for_runs() { Proofs::Demand } else { Proofs::Show };
        verify.proofs.unwrap_or(otherwise)
    }

    /// Whether a pull request into this base may get a green gate at all.
    pub fn may_merge_into(&self, base: &str, default_branch: &str) -> bool {
        base == default_branch || self.branches.iter().any(|g| glob(g).is_ok_and(|g| g.is_match(base)))
    }

    /// The identity of what the policy says: comments, spelling and order do not count.
    pub fn digest(&self) -> Digest {
        fn sorted<T: Ord>(list: &mut Vec<T>) {
            list.sort();
            list.dedup();
        }
        let mut canon = self.clone();
        sorted(&mut canon.branches);
        sorted(&mut canon.rules);
        sorted(&mut canon.people.approve);
        sorted(&mut canon.risk.high);
        sorted(&mut canon.merge.require);
        sorted(&mut canon.gates.verify.from);
        sorted(&mut canon.gates.verify.checks);
        // The order of commands is what they do; that of reports is nothing.
        sorted(&mut canon.gates.verify.reports);
        sorted(&mut canon.gates.verify.coverage);
        sorted(&mut canon.gates.verify.screenshots);
        sorted(&mut canon.gates.build.reports);
        sorted(&mut canon.gates.deploy.environments);
        sorted(&mut canon.gates.deploy.by);
        sorted(&mut canon.freeze.tests);
        sorted(&mut canon.freeze.meaning);
        sorted(&mut canon.secrets.allow);
        for agent in [&mut canon.agents.main, &mut canon.agents.reader].into_iter().flatten() {
            sorted(&mut agent.pack.only);
            sorted(&mut agent.pack.hide);
        }
        // There is no float and no map with other keys than strings in a policy, so this can't fail; should it ever,
        // the plain form is as good an identity.
        let json = serde_json_canonicalizer::to_vec(&canon).unwrap_or_else(|_| format!("{canon:?}").into_bytes());
        Digest::of_parts([b"phasegate/policy@1".as_slice(), &json])
    }

    /// The JSON Schema of the file, for editors.
    pub fn schema() -> serde_json::Value {
        schemars::schema_for!(Policy).to_value()
    }
}
