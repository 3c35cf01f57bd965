//! How a story ended, to the last word: two runs of it end the same, or something was lost, done twice or done otherwise.

use std::collections::BTreeMap;

use anyhow::ensure;
use phasegate::inbox::{Entry, State};
use phasegate::rehearsal::{LEDGER, REPO, Rehearsal};
use serde_json::Value;

use super::picture::{self, plain};

/// Everything that people see, the records, and what became of the deliveries.
pub(crate) async fn of(on: &Rehearsal, changes: &[u64], inbox: &[Entry]) -> anyhow::Result<Vec<String>> {
    let mut lines = Vec::new();
    for number in changes {
        lines.extend(picture::take(on, true, *number).await?.into_iter().map(|line| format!("#{number}: {line}")));
        for record in on.records(*number)? {
            lines.push(format!(
                "#{number} record {}",
                timeless(&plain(&without(record, &["at", "prev", "signature", "told"]).to_string()))
            ));
        }
    }
    lines.extend(shown(on)?);
    lines.extend(ledger(on)?);
    lines.extend(worked_off(inbox)?);
    Ok(lines)
}

/// A line without what a run of the Action takes with it when it is killed. It keeps nothing, and no run after it can know: how
/// a command went whose record is written already (its 🚀; the one comment says it too), and who pushed, which the event of the
/// push alone tells.
pub(crate) fn without_the_unkept(line: &str) -> String {
    let mut line = line.replace(", \"phasegate[bot]:rocket\"]", "]").replace(", \"rocket\"]", "]");
    if let Some((front, back)) = line.split_once("\"pushed_by\":{")
        && let Some((_, back)) = back.split_once("},")
    {
        line = format!("{front}{back}");
    }
    line
}

/// Issues, comments, labels and check runs, each with its words.
fn shown(on: &Rehearsal) -> anyhow::Result<Vec<String>> {
    let repo = on.admin().repo(REPO)?;
    let mut lines = Vec::new();
    for label in repo.labels.values() {
        lines.push(format!("label {} {} {:?}", label.name, label.color, label.description));
    }
    for (number, issue) in &repo.issues {
        let labels = on.admin().labels(REPO, *number)?;
        let said = issue.body.as_deref().map(words);
        let ended = (issue.open, &issue.state_reason);
        lines.push(format!("issue {number} {:?} {ended:?} {labels:?} {said:?}", issue.title));
    }
    for comment in repo.comments.values() {
        let reactions: Vec<String> =
            comment.reactions.iter().map(|one| format!("{}:{}", one.user.login, one.content)).collect();
        lines.push(format!(
            "comment on {} by {} {:?} {reactions:?}",
            comment.issue,
            comment.user.login,
            words(&comment.body)
        ));
    }
    // A commit is another one in every run; its place in their order is not.
    let mut heads: BTreeMap<&str, usize> = BTreeMap::new();
    for run in repo.check_runs.values().filter(|run| run.app == on.app().id) {
        let next = heads.len();
        let head = *heads.entry(&run.head_sha).or_insert(next);
        let told = [&run.external_id, &run.title, &run.summary, &run.text].map(|text| text.as_deref().map(words));
        let notes: Vec<String> = run.annotations.iter().map(|note| words(&note.to_string())).collect();
        let stands = (&run.status, &run.conclusion);
        lines.push(format!("run {} on commit {head} {stands:?} {told:?} {notes:?}", run.name));
    }
    Ok(lines)
}

/// The commits of the ledger's branch.
fn ledger(on: &Rehearsal) -> anyhow::Result<Vec<String>> {
    let path = format!("/repos/{REPO}/commits?per_page=100&sha={LEDGER}");
    let commits = on.admin().call_as("eve", "GET", &path, Value::Null)?;
    let headline = |commit: &Value| {
        let message = commit["commit"]["message"].as_str().unwrap_or_default();
        format!("ledger commit {}", message.lines().next().unwrap_or_default())
    };
    Ok(commits.as_array().into_iter().flatten().map(headline).collect())
}

/// What is dead, by its name; everything else is done.
fn worked_off(inbox: &[Entry]) -> anyhow::Result<Vec<String>> {
    // The timer of a lease that runs is not due before that is over.
    let timer = |one: &&Entry| one.state == State::Parked && one.key.contains("/lease-");
    let left = inbox.iter().filter(|one| !matches!(one.state, State::Done | State::Dead) && !timer(one));
    let left: Vec<&Entry> = left.collect();
    ensure!(left.is_empty(), "deliveries are left in the inbox: {left:?}");
    let dead = inbox.iter().filter(|one| one.state == State::Dead);
    Ok(dead.map(|one| format!("dead {} {} {:?}", one.guid, one.event, one.error)).collect())
}

fn words(text: &str) -> String {
    timeless(&plain(text))
}

/// Without the fields of these names, wherever they stand.
fn without(value: Value, names: &[&str]) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(name, _)| !names.contains(&name.as_str()));
            kept.map(|(name, value)| (name, without(value, names))).collect()
        }
        Value::Array(items) => items.into_iter().map(|item| without(item, names)).collect(),
        other => other,
    }
}

/// A text without its times of day: `…-11-16T04:41:22Z` or `…-11-16 04:41 UTC`, where [`plain`] has taken the year.
fn timeless(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((front, back)) = rest.split_once("…-") {
        let ends = ["Z", " UTC"].into_iter().filter_map(|end| back.find(end).map(|at| (at, end.len())));
        let time = ends.min().filter(|(at, _)| *at <= 30 && back[..*at].contains(':'));
        out.push_str(front);
        out.push_str(if time.is_some() { "TIME" } else { "…-" });
        rest = time.map_or(back, |(at, len)| &back[at + len..]);
    }
    out + rest
}

/// What the one has and the other has not.
pub(crate) fn compare(calm: &[String], other: &[String]) -> anyhow::Result<()> {
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    calm.iter().for_each(|line| *counts.entry(line).or_default() += 1);
    other.iter().for_each(|line| *counts.entry(line).or_default() -= 1);
    let told = |sign: i64| {
        let lines = counts.iter().filter(|(_, count)| count.signum() == sign);
        lines.map(|(line, count)| format!("    {}x {line}\n", count.abs())).collect::<String>()
    };
    ensure!(
        counts.values().all(|count| *count == 0),
        "not the same end\n  only in the calm run:\n{}  only after the kill:\n{}",
        told(1),
        told(-1)
    );
    Ok(())
}
