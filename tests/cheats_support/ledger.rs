//! The ledger's branch: what stands there, and what someone with a bypass can do to it.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};
use base64::Engine as _;
use phasegate::ids::{ChangeNumber, Digest};
use phasegate::ledger::{alias_path, file_name, folder};
use phasegate::rehearsal::REPO;
use serde::Deserialize;
use serde_json::{Value, json};

use super::stage::Stage;

const BRANCH: &str = "phasegate/ledger";

/// One thing done to the records of a pull request: the first, or the one that is named.
pub(crate) struct Tampers {
    on: Option<String>,
    does: Tamper,
}

impl<'de> Deserialize<'de> for Tampers {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut told = Value::deserialize(from)?;
        let on = told.as_object_mut().and_then(|told| told.remove("on"));
        let on = on.map(serde_json::from_value).transpose().map_err(serde::de::Error::custom)?;
        let does = serde_json::from_value(told).map_err(serde::de::Error::custom)?;
        Ok(Self { on, does })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Tamper {
    /// Replaces a text in one record.
    Change { record: u64, from: String, to: String },
    /// Takes one record out.
    Drop(u64),
    /// Puts two records into each other's place.
    Swap(u64, u64),
    /// Takes the newest records off.
    Cut(u64),
    /// Takes the change's whole folder away.
    Forget,
    /// Takes away what the index has of the change.
    Unlist,
    /// Deletes the branch.
    DeleteBranch,
    /// Moves the branch back by so many commits.
    Rewind(u64),
    /// Brings the change's records and the index back from where the branch was before it was deleted or moved back last.
    Restore,
    /// Adds a file that is no record, in so many commits.
    Litter(u64),
    /// Makes an issue belong to the change.
    Alias(String),
    /// Adds a record of the right shape that follows the newest: the newest one, or the one named, with a text replaced.
    /// Only its signature is not the App's.
    Append { record: Option<u64>, from: String, to: String },
    /// Puts a copy of a record of another change under the next number.
    Copy { of: String, record: u64 },
    /// Writes a file into the change's folder.
    Write { file: String, text: String },
}

/// The records of a change, oldest first.
pub(crate) fn records(stage: &Stage, change: u64) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    for seq in 1.. {
        let path = format!("{}/{}", folder(ChangeNumber(change)), file_name(seq));
        match stage.on.admin().file(REPO, BRANCH, &path)? {
            Some(text) => found.push(text),
            None => break,
        }
    }
    Ok(found)
}

pub(crate) fn tamper(stage: &mut Stage, who: &str, tampers: &Tampers) -> anyhow::Result<()> {
    let change = stage.number(tampers.on.as_deref())?;
    let all = records(stage, change)?;
    let path = |seq: u64| format!("{}/{}", folder(ChangeNumber(change)), file_name(seq));
    let record = |seq: u64| {
        let at = usize::try_from(seq).ok().and_then(|seq| seq.checked_sub(1));
        at.and_then(|at| all.get(at)).cloned().with_context(|| format!("there is no record {seq}"))
    };
    let count = all.len() as u64;
    let mut files: BTreeMap<String, Option<String>> = BTreeMap::new();
    let rules = stage.lift()?;
    match &tampers.does {
        Tamper::Change { record: seq, from, to } => {
            let old = record(*seq)?;
            let new = old.replace(from.as_str(), to);
            if new == old {
                bail!("record {seq} has no {from:?}: {old}");
            }
            files.insert(path(*seq), Some(new));
        }
        Tamper::Drop(seq) => {
            record(*seq)?;
            files.insert(path(*seq), None);
        }
        Tamper::Swap(one, other) => {
            files.insert(path(*one), Some(record(*other)?));
            files.insert(path(*other), Some(record(*one)?));
        }
        Tamper::Cut(newest) => files.extend((count - newest + 1..=count).map(|seq| (path(seq), None))),
        Tamper::Forget => files.extend((1..=count).map(|seq| (path(seq), None))),
        Tamper::Unlist => {
            let tree = format!("/repos/{REPO}/git/trees/{BRANCH}?recursive=1");
            let listed = stage.call(who, "GET", &tree, Value::Null)?;
            let paths = listed["tree"].as_array().into_iter().flatten().filter_map(|entry| entry["path"].as_str());
            let ours = |path: &&str| path.starts_with("origins/") && path.ends_with(&format!("/{change}"));
            files.extend(paths.filter(ours).map(|path| (path.to_owned(), None)));
            if files.is_empty() {
                bail!("the index does not have {change}");
            }
        }
        Tamper::DeleteBranch => {
            let path = format!("/repos/{REPO}/git/refs/heads/{BRANCH}");
            stage.call(who, "DELETE", &path, Value::Null)?;
        }
        Tamper::Rewind(commits) => {
            let mut at = stage.on.admin().branch(REPO, BRANCH)?.context("there is no ledger")?;
            for _ in 0..*commits {
                let commit = stage.call(who, "GET", &format!("/repos/{REPO}/git/commits/{at}"), Value::Null)?;
                at = commit["parents"][0]["sha"].as_str().context("the ledger has no more commits")?.to_owned();
            }
            let path = format!("/repos/{REPO}/git/refs/heads/{BRANCH}");
            stage.call(who, "PATCH", &path, json!({ "sha": at, "force": true }))?;
        }
        Tamper::Restore => {
            let moves = format!("/repos/{REPO}/activity?ref=refs/heads/{BRANCH}&per_page=100");
            let moves = stage.call(who, "GET", &moves, Value::Null)?;
            let taken = |one: &&Value| matches!(one["activity_type"].as_str(), Some("branch_deletion" | "force_push"));
            let lost = moves.as_array().into_iter().flatten().find(taken).context("nothing was taken away")?;
            let lost = lost["before"].as_str().unwrap_or_default().to_owned();
            let tree = stage.call(who, "GET", &format!("/repos/{REPO}/git/trees/{lost}?recursive=1"), Value::Null)?;
            let wanted = [format!("{}/", folder(ChangeNumber(change))), "origins/".to_owned(), "aliases/".to_owned()];
            for entry in tree["tree"].as_array().into_iter().flatten().filter(|entry| entry["type"] == "blob") {
                let (path, blob) =
                    (entry["path"].as_str().unwrap_or_default(), entry["sha"].as_str().unwrap_or_default());
                if wanted.iter().any(|start| path.starts_with(start)) {
                    let blob = stage.call(who, "GET", &format!("/repos/{REPO}/git/blobs/{blob}"), Value::Null)?;
                    let text = blob["content"].as_str().unwrap_or_default().replace('\n', "");
                    let text = base64::engine::general_purpose::STANDARD.decode(text)?;
                    files.insert(path.to_owned(), Some(String::from_utf8(text)?));
                }
            }
        }
        Tamper::Litter(commits) => {
            for at in 0..*commits {
                let text = format!("{count} {at}\n");
                stage.on.admin().commit(REPO, who, BRANCH, "tidy up", &[("junk", Some(&text))])?;
            }
        }
        Tamper::Append { record: seq, from, to } => {
            let newest: Value = serde_json::from_str(&record(count)?)?;
            let old = record(seq.unwrap_or(count))?;
            let new = old.replace(from.as_str(), to);
            if new == old {
                bail!("the record has no {from:?}: {old}");
            }
            let mut forged: Value = serde_json::from_str(&new)?;
            forged["record"]["seq"] = (count + 1).into();
            forged["record"]["prev"] = json!({ "follows": Digest::of(newest["record"].to_string()).as_str() });
            files.insert(path(count + 1), Some(forged.to_string()));
        }
        Tamper::Copy { of, record: seq } => {
            let other = records(stage, stage.number(Some(of))?)?;
            let at = usize::try_from(*seq)?.checked_sub(1).and_then(|at| other.get(at));
            files.insert(path(count + 1), Some(at.with_context(|| format!("{of} has no record {seq}"))?.clone()));
        }
        Tamper::Write { file, text } => {
            let newest: Value = serde_json::from_str(&record(count)?)?;
            let text = text.replace("{count}", &count.to_string());
            let text = text.replace("{key}", newest["key"].as_str().unwrap_or_default());
            files.insert(format!("{}/{file}", folder(ChangeNumber(change))), Some(text));
        }
        Tamper::Alias(issue) => {
            let number = stage.number(Some(issue))?;
            files.insert(alias_path(number), Some(format!("{change}\n")));
        }
    }
    if !files.is_empty() {
        let files: Vec<(&str, Option<&str>)> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_deref())).collect();
        stage.on.admin().commit(REPO, who, BRANCH, "tidy up", &files)?;
    }
    stage.restore(&rules)
}
