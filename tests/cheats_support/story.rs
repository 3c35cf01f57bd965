//! A story as it stands in its file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use phasegate::rehearsal::Bot;
use serde::Deserialize;
use serde_json::Value;

use super::asked;

/// What kind of cheat it is. The names are those of the list of threats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(crate) enum Class {
    #[serde(rename = "weaken frozen proof")]
    WeakenFrozenProof,
    #[serde(rename = "weaken the meaning of a run")]
    WeakenMeaning,
    #[serde(rename = "green without proof")]
    GreenWithoutProof,
    #[serde(rename = "wrong person")]
    WrongPerson,
    #[serde(rename = "talk")]
    Talk,
    #[serde(rename = "stale proof")]
    StaleProof,
    #[serde(rename = "the wrong law")]
    WrongLaw,
    #[serde(rename = "forged evidence")]
    ForgedEvidence,
    #[serde(rename = "tampered memory")]
    TamperedMemory,
    #[serde(rename = "skipped law")]
    SkippedLaw,
    #[serde(rename = "hostile input")]
    HostileInput,
    #[serde(rename = "GitHub itself")]
    GitHubItself,
    #[serde(rename = "around the gate")]
    AroundTheGate,
}

impl Class {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Class::WeakenFrozenProof => "weaken frozen proof",
            Class::WeakenMeaning => "weaken the meaning of a run",
            Class::GreenWithoutProof => "green without proof",
            Class::WrongPerson => "wrong person",
            Class::Talk => "talk",
            Class::StaleProof => "stale proof",
            Class::WrongLaw => "the wrong law",
            Class::ForgedEvidence => "forged evidence",
            Class::TamperedMemory => "tampered memory",
            Class::SkippedLaw => "skipped law",
            Class::HostileInput => "hostile input",
            Class::GitHubItself => "GitHub itself",
            Class::AroundTheGate => "around the gate",
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Story {
    /// The cheat in a few words. The file is called the same.
    pub(crate) name: String,
    pub(crate) class: Class,
    /// `merge`, `pipeline`, `trusted`, `none`, or the policy's text.
    #[serde(default = "merge")]
    pub(crate) policy: String,
    /// How the bot runs: `server` (which is the default), `action` or `advisory`; or a list of these, and it is played with
    /// each.
    #[serde(default, deserialize_with = "bots")]
    pub(crate) bot: Vec<Bot>,
    /// More files on the default branch.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) cheat: Vec<Step>,
    pub(crate) honest: Vec<Step>,
}

fn bots<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<Bot>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Named {
        One(String),
        Each(Vec<String>),
    }
    let names = match Named::deserialize(from)? {
        Named::One(name) => vec![name],
        Named::Each(names) => names,
    };
    let bot = |name: String| match name.as_str() {
        "server" => Ok(Bot::Server),
        "action" => Ok(Bot::Action),
        "advisory" => Ok(Bot::Advisory),
        other => Err(serde::de::Error::custom(format!("{other:?} is no way for the bot to run"))),
    };
    names.into_iter().map(bot).collect()
}

fn merge() -> String {
    "merge".to_owned()
}

/// `who does: what`, or `does: what` where nobody in particular does it.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "BTreeMap<String, Value>")]
pub(crate) struct Step {
    pub(crate) who: Option<String>,
    pub(crate) does: String,
    pub(crate) what: Value,
}

impl TryFrom<BTreeMap<String, Value>> for Step {
    type Error = String;

    fn try_from(map: BTreeMap<String, Value>) -> Result<Self, String> {
        let count = map.len();
        let Some((key, what)) = map.into_iter().next().filter(|_| count == 1) else {
            return Err(format!("a step is one line `who does: what`, but this has {count}"));
        };
        let (who, does) = match key.split_once(' ') {
            Some((who, does)) => (Some(who.to_owned()), does.to_owned()),
            None => (None, key),
        };
        Ok(Self { who, does, what })
    }
}

impl Story {
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path)?;
        let story: Story = serde_yaml::from_str(&text).with_context(|| format!("{} is no story", path.display()))?;
        for (half, steps) in [("cheat", &story.cheat), ("honest", &story.honest)] {
            let looks = steps.iter().any(|step| step.does == "expect" || step.does == "merges");
            ensure!(looks, "the {half} half of {} expects nothing, so it shows nothing", path.display());
            let last = |names: &[&str]| steps.iter().rposition(|step| names.contains(&step.does.as_str()));
            let over = last(&["strikes", "bad-day"]) <= last(&["calm"]);
            ensure!(over, "the {half} half of {} has a bad day without a `calm` after it", path.display());
        }
        Ok(story)
    }

    /// With which bots it is played.
    pub(crate) fn bots(&self) -> Vec<Bot> {
        // `PHASEGATE_BOT=action` plays without a server whatever does not say.
        let otherwise = match std::env::var("PHASEGATE_BOT").as_deref() {
            Ok("action") => Bot::Action,
            Ok("advisory") => Bot::Advisory,
            _ => Bot::Server,
        };
        if self.bot.is_empty() { vec![otherwise] } else { self.bot.clone() }
    }

    pub(crate) fn policy(&self) -> Option<String> {
        match self.policy.as_str() {
            "none" => None,
            "merge" => Some(phasegate::rehearsal::MERGE_POLICY.to_owned()),
            "pipeline" => Some(phasegate::rehearsal::PIPELINE_POLICY.to_owned()),
            "trusted" => Some(asked::POLICY.to_owned()),
            "runner" => Some(asked::OWN.to_owned()),
            text => Some(text.to_owned()),
        }
    }
}

impl Story {
    /// What is on the default branch besides the policy. Where that asks the trusted workflow, its file and a small project are.
    pub(crate) fn on_main(&self) -> Vec<(String, String)> {
        let asks = self.policy().is_some_and(|policy| policy.contains("from: [actions") || policy == asked::OWN);
        let project = asked::FILES.iter().filter(|(path, _)| asks && !self.files.contains_key(*path));
        let project = project.map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        project.chain(self.files.iter().map(|(path, text)| (path.clone(), text.clone()))).collect()
    }
}

/// What a step says, in its own type. Unknown keys are errors.
pub(crate) fn read<T: for<'de> Deserialize<'de>>(what: &Value) -> anyhow::Result<T> {
    match serde_json::from_value(what.clone()) {
        Ok(read) => Ok(read),
        Err(error) => bail!("{what} is not what this step takes: {error}"),
    }
}

/// Every story in the folder and those below it, in order.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "yml") {
            found.push(path);
        }
    }
    found.sort();
    found
}
