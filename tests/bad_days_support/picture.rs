//! What is there in the end, in words that are the same for two runs of one story.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use phasegate::gate::merge::CHECK_NAME;
use phasegate::github::store::GitHubStore;
use phasegate::github::{AppKey, Credentials, Endpoint, Hub, Keys};
use phasegate::ids::{ChangeNumber, RepoId, Slug};
use phasegate::ledger::{Body, Ledger, State};
use phasegate::rehearsal::{LEDGER, REPO, Rehearsal};
use secrecy::SecretString;

/// A text without what is another one in every run: commits, digests and ids.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut run = String::new();
    for c in text.chars().chain(['\0']) {
        if c.is_ascii_hexdigit() && !c.is_ascii_uppercase() {
            run.push(c);
            continue;
        }
        let number = run.len() >= 4 && run.chars().all(|c| c.is_ascii_digit());
        let commit = run.len() >= 7 && run.chars().any(|c| c.is_ascii_digit());
        out.push_str(if number || commit { "…" } else { &run });
        run.clear();
        if c != '\0' {
            out.push(c);
        }
    }
    out
}

/// A text without how many records and red looks there were: that depends on when it was looked.
fn counted(text: &str) -> String {
    let mut out = text.to_owned();
    for (before, after) in [("record ", " ·"), (", after ", " red push")] {
        while let Some((front, rest)) = out.split_once(before)
            && let Some((number, back)) = rest.split_once(after)
            && number.chars().all(|c| c.is_ascii_digit())
        {
            out = format!("{front}{back}");
        }
    }
    out
}

/// Takes the picture, and makes sure that nothing is there twice. `stepped`: everybody waited for the bot at every step;
/// otherwise it is not told what depends on when it looked.
pub(crate) async fn take(on: &Rehearsal, stepped: bool, number: u64) -> anyhow::Result<Vec<String>> {
    let mut lines = Vec::new();
    let (repo, pull) = (on.admin().repo(REPO)?, on.pull(number)?);
    lines.push(format!("merged {} open {}", pull["merged"], pull["state"]));
    lines.push(format!("labels {:?}", on.admin().labels(REPO, number)?));
    lines.push(format!("issues {}", repo.issues.len()));

    let ours = |login: &str| login == format!("{}[bot]", on.app().slug);
    let mut markers = BTreeSet::new();
    let mut said = Vec::new();
    for comment in repo.comments.values() {
        if ours(&comment.user.login) {
            let marker = comment.body.lines().rev().find(|line| line.starts_with("<!-- ")).unwrap_or_default();
            ensure!(markers.insert(marker.to_owned()), "a comment is there twice: {}", comment.body);
            // What an answer says depends on when it was asked for; in a hurry that is any time.
            let whole = stepped || comment.body.contains("### Phasegate: ");
            let text = if whole { counted(&plain(&comment.body)) } else { "an answer".to_owned() };
            let kept = text.lines().filter(|line| stepped || !line.starts_with("Last command: "));
            let text: String = kept.collect::<Vec<_>>().join("\n");
            said.push(format!("#{} says {text}", comment.issue));
        } else {
            let mut reactions: Vec<&str> = comment.reactions.iter().map(|one| one.content.as_str()).collect();
            reactions.sort_unstable();
            said.push(format!("#{} {} {:?} {reactions:?}", comment.issue, comment.user.login, comment.body));
        }
    }
    said.sort_unstable();
    lines.extend(said);

    let mut newest = BTreeMap::new();
    let mut known = BTreeSet::new();
    for run in repo.check_runs.values().filter(|run| run.app == on.app().id) {
        let key = (run.head_sha.clone(), run.name.clone(), run.external_id.clone(), run.annotations.len());
        ensure!(known.insert(key), "a check run is there twice: {} {:?}", run.name, run.external_id);
        newest.insert((run.head_sha.clone(), run.name.clone()), run);
    }
    let head = pull["head"]["sha"].as_str().unwrap_or_default();
    for ((_, name), run) in newest.into_iter().filter(|((at, _), _)| at == head) {
        // A gate's own run is shown while it is the gate's turn. Whoever looks late may find that over, and all green.
        if name == CHECK_NAME || run.conclusion.as_deref() != Some("success") {
            let title = run.title.as_deref().map(plain);
            lines.push(format!("{name} on the head: {:?} {title:?}", run.conclusion));
        }
    }
    lines.extend(meaning(&proven(on, repo.id, number).await?));
    Ok(lines)
}

/// The change's records, proved from the first, and no command among them twice.
async fn proven(on: &Rehearsal, repo: u64, number: u64) -> anyhow::Result<State> {
    let key = Arc::new(AppKey::from_pem(&SecretString::from(on.app().pem.clone()))?);
    let credentials = Credentials::App { issuer: on.app().id.to_string(), key: Arc::clone(&key) };
    let hub = Hub::new(Endpoint::new(&on.api_url())?, credentials)?;
    let slug: Slug = REPO.parse()?;
    let installation = hub.installation_for(&slug).await?.context("it is not installed")?;
    let keys: Keys = [key.public().clone()].into_iter().collect();
    let store = Arc::new(GitHubStore::new(hub.repo(installation, slug), LEDGER));
    let ledger = Ledger::new(RepoId(repo), store, key, Arc::new(keys));
    let proven = ledger.prove(ChangeNumber(number)).await?;
    let mut done = BTreeSet::new();
    for record in &proven.records {
        if let Body::Command { comment, index, .. } = &record.body {
            ensure!(done.insert((*comment, *index)), "a command was done twice: {:?}", record.body);
        }
    }
    let state = proven.state.context("there are no records")?;
    ensure!(done == state.commands, "the fold knows other commands than the records");
    Ok(state)
}

/// What the records come to. How many there are may differ: a look may have come at another time.
fn meaning(state: &State) -> Vec<String> {
    let people = |people: Vec<&str>| people.join(" ");
    let gates = state.gates.iter().map(|(gate, judged)| format!("gate {gate:?} {:?}", judged.verdict));
    let mut lines: Vec<String> = gates.collect();
    lines.push(format!("stage {:?}", state.pipeline.as_ref().map(|pipeline| plain(&format!("{:?}", pipeline.stage)))));
    lines.push(format!("merge {:?} open {} merged {}", state.merge, state.open, state.merged.is_some()));
    lines.push(format!("operators {}", people(state.operators.iter().map(|one| one.login.as_str()).collect())));
    lines.push(format!("approvals {} rejections {}", state.approvals.len(), state.rejections.len()));
    lines.push(format!("commands {} stopped {:?}", state.commands.len(), state.stopped.is_some()));
    lines.push(format!("tampered {:?} linked {:?}", state.tampered, state.linked));
    lines
}
