//! What agents have pushed of snapshots, and which facts the documents cite, read at the head of a change.

use std::collections::HashSet;

use crate::gate::brief::Brief;
use crate::gate::expand;
use crate::gate::memory::{Cited, File, Files, Unread};
use crate::gate::papers::{DESIGN, READINESS, SCOPE};
use crate::ids::{ChangeNumber, CommitId};
use crate::ledger::memory::Memory;
use crate::ledger::snapshot;
use crate::repo::{Error, Filter, LocalRepo, Reader as _, RepoPath};

/// The snapshots that a change touches. Only of the one that could be next the text is read.
pub(super) fn files(
    reader: &LocalRepo,
    (base, head): (&CommitId, &CommitId),
    changed: &[String],
    (change, memory): (ChangeNumber, Option<&Memory>),
) -> crate::repo::Result<Files> {
    let mut files = Files::default();
    let next = memory.map_or(1, |memory| memory.latest.iteration) + 1;
    for (path, number) in changed.iter().filter_map(|path| Some((path, snapshot::number_of(path, change)?))) {
        let file = match reader.blob(head, &RepoPath::from(path.as_str())) {
            Ok(Some(blob)) => {
                let text = (number == next).then(|| match (blob.mode.is_file(), String::from_utf8(blob.bytes)) {
                    (false, _) => Err(Unread::NoFile),
                    (true, Err(_)) => Err(Unread::NoText),
                    (true, Ok(text)) => Ok(text),
                });
                File { number, blob: Some(blob.id), text }
            }
            Ok(None) => continue,
            Err(Error::TooLarge { .. }) => File { number, blob: None, text: Some(Err(Unread::TooLarge)) },
            Err(Error::NotAFile(_)) => File { number, blob: None, text: Some(Err(Unread::NoFile)) },
            Err(error) => return Err(error),
        };
        files.there.insert(path.clone(), file);
    }
    for path in changed.iter().filter(|path| is_astray(path, change)) {
        if reader.mode(head, &RepoPath::from(path.as_str()))?.is_some() {
            files.astray.push(path.clone());
        }
    }
    if let Some(memory) = memory {
        files.there.extend(kept(reader, head, change, memory)?);
    }
    if memory.is_some() {
        for path in [SCOPE, DESIGN, READINESS].into_iter().filter(|path| changed.iter().any(|one| one == path)) {
            files.cited.extend(cited(reader, (base, head), path)?);
        }
        if changed.iter().any(|path| path == SCOPE) {
            files.criteria = expand::asked(&text(reader, head, SCOPE)?);
        }
        if [SCOPE, DESIGN, READINESS].iter().any(|paper| changed.iter().any(|path| path == paper)) {
            let [scope, design, readiness] = [SCOPE, DESIGN, READINESS].map(|paper| text(reader, head, paper));
            files.brief = Brief::of(&scope?, &design?, &readiness?);
        }
        // A plan that a person gave may be in the design that is there already.
        files.design = Some(text(reader, head, DESIGN)?).filter(|design| !design.is_empty());
    }
    Ok(files)
}

/// Whether a path is almost that of a snapshot of this change. Those of other changes may come along with their branches.
fn is_astray(path: &str, change: ChangeNumber) -> bool {
    let Some(inside) = path.strip_prefix(snapshot::FOLDER) else { return false };
    let own = snapshot::folder_of(change);
    let others = inside.starts_with("pr-") && !path.starts_with(&own);
    let name = inside.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    !others && name.starts_with("iter-") && snapshot::number_of(path, change).is_none()
}

/// The files that were taken in and are at the head as they were then, also where the change does not touch them: one that says
/// what the bot writes is no part of its content, and one may be in the base by now.
fn kept(
    reader: &LocalRepo,
    head: &CommitId,
    change: ChangeNumber,
    memory: &Memory,
) -> crate::repo::Result<Vec<(String, File)>> {
    if memory.taken.is_empty() {
        return Ok(Vec::new());
    }
    let under = RepoPath::from(snapshot::FOLDER.trim_end_matches('/'));
    let entries = reader.tree(head, Filter::Under(&under))?.into_iter();
    let kept = entries.filter_map(|entry| {
        let path = String::from_utf8_lossy(entry.path.as_bytes()).into_owned();
        let number = snapshot::number_of(&path, change)?;
        let as_it_was = memory.taken.get(&number) == Some(&entry.blob);
        as_it_was.then_some((path, File { number, blob: Some(entry.blob), text: None }))
    });
    Ok(kept.collect())
}

/// A document; nothing where there is none that could be read, which is the gates' to say.
fn text(reader: &LocalRepo, at: &CommitId, path: &str) -> crate::repo::Result<String> {
    match reader.blob(at, &RepoPath::from(path)) {
        Ok(Some(blob)) => Ok(String::from_utf8_lossy(&blob.bytes).into_owned()),
        Ok(None) | Err(Error::TooLarge { .. } | Error::NotAFile(_)) => Ok(String::new()),
        Err(error) => Err(error),
    }
}

/// Where a document cites facts, in lines that the change brings: what an earlier one has left cites the facts of that one.
fn cited(reader: &LocalRepo, (base, head): (&CommitId, &CommitId), path: &str) -> crate::repo::Result<Vec<Cited>> {
    let (before, text) = (text(reader, base, path)?, text(reader, head, path)?);
    let before: HashSet<&str> = before.lines().map(str::trim).collect();
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !before.contains(line.trim()));
    let facts = lines.flat_map(|(line, text)| snapshot::cited(text).into_iter().map(move |fact| (line, fact)));
    Ok(facts.map(|(line, fact)| Cited { path: path.to_owned(), line, fact }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::kit::Game;
    use crate::repo::blob_of;
    use crate::repo::testing::Scratch;

    /// One that says what the bot writes is left out of what is changed, and one that the base has is not changed either.
    #[test]
    fn what_was_taken_in_is_there_also_where_nothing_of_it_is_changed() {
        let scratch = Scratch::new();
        let file = |path: &'static str, text: &'static str| (path.as_bytes(), 0o100_644, text.as_bytes());
        let two = file("agent/context/pr-7/iter-0002.md", "two");
        let base = scratch.commit(&[], &[file("agent/context/iter-0003.md", "three")]);
        let three = file("agent/context/iter-0003.md", "three");
        let four = file("agent/context/pr-7/iter-0004.md", "edited");
        let head = scratch.commit(&[&base], &[two, three, four, file("agent/context/pr-8/iter-0002.md", "two")]);
        let mut memory = Game::pipeline().now().memory.clone().unwrap();
        let taken = [(2, "two"), (3, "three"), (4, "four"), (5, "five")];
        memory.taken = taken.into_iter().map(|(number, text)| (number, blob_of(text.as_bytes()).unwrap())).collect();
        let there = |memory: &Memory| {
            let found = files(&scratch.reader(), (&base, &head), &[], (ChangeNumber(7), Some(memory))).unwrap();
            found.there.into_iter().map(|(path, file)| (path, file.number)).collect::<Vec<_>>()
        };
        let kept = [("agent/context/iter-0003.md", 3), ("agent/context/pr-7/iter-0002.md", 2)];
        assert_eq!(there(&memory), kept.map(|(path, number)| (path.to_owned(), number)));
        memory.taken.clear();
        assert_eq!(there(&memory), []);
    }

    #[test]
    fn what_is_almost_a_snapshot_is_told() {
        let astray = |path: &str| is_astray(path, ChangeNumber(7));
        for path in ["iter-3.md", "ITER-0003.md", "iter-0003.markdown", "pr-7/sub/iter-0003.md", "pr-7/iter-3.md"] {
            assert!(astray(&format!("agent/context/{path}")), "{path}");
        }
        for path in ["iter-0003.md", "pr-7/iter-0003.md", "pr-7/latest.md", "notes.md", "pr-99/iter-3.md"] {
            assert!(!astray(&format!("agent/context/{path}")), "{path}");
        }
        assert!(!astray("src/iter-3.md"));
        let scratch = Scratch::new();
        let base = scratch.commit(&[], &[(b"agent/context/iter-4.md", 0o100_644, b"x")]);
        let head = scratch.commit(&[&base], &[(b"agent/context/iter-3.md", 0o100_644, b"x")]);
        let changed = ["agent/context/iter-3.md", "agent/context/iter-4.md"].map(str::to_owned);
        let found = files(&scratch.reader(), (&base, &head), &changed, (ChangeNumber(7), None)).unwrap();
        assert_eq!(found.astray, ["agent/context/iter-3.md"], "what is taken away is not there");
    }

    /// Only what the change itself writes cites its facts.
    #[test]
    fn what_was_in_the_base_cites_nothing() {
        let scratch = Scratch::new();
        let file = |path: &'static str, text: &'static str| (path.as_bytes(), 0o100_644, text.as_bytes());
        let base = scratch.commit(&[], &[file(SCOPE, "Old.\nBy F-0001.\n"), file(DESIGN, "By F-0002.\n")]);
        let head = scratch.commit(
            &[&base],
            &[
                file(SCOPE, "New.\n  By F-0001.\nBy f-0007.\n"),
                file(DESIGN, "By F-0002.\n"),
                file(READINESS, "By F-0003.\n"),
            ],
        );
        let changed = [SCOPE, READINESS].map(str::to_owned);
        let memory = Game::pipeline().now().memory.clone();
        let found = files(&scratch.reader(), (&base, &head), &changed, (ChangeNumber(7), memory.as_ref())).unwrap();
        let cited: Vec<(String, u32, u32)> =
            found.cited.into_iter().map(|one| (one.path, one.line, one.fact.0)).collect();
        assert_eq!(cited, [(SCOPE.to_owned(), 3, 7), (READINESS.to_owned(), 1, 3)]);
    }
}
