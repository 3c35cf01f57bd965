//! What agents have pushed of snapshots, and which facts the documents cite, read at the head of a change.

use crate::gate::memory::{Cited, File, Files};
use crate::gate::papers::{DESIGN, READINESS, SCOPE};
use crate::ids::{ChangeNumber, CommitId};
use crate::ledger::snapshot::{self, LARGEST, Snapshot};
use crate::repo::{Error, LocalRepo, Reader as _, RepoPath};

/// The snapshots that a change touches. Only of the one that could be next the text is read.
pub(super) fn files(
    reader: &LocalRepo,
    head: &CommitId,
    changed: &[String],
    (change, latest): (ChangeNumber, Option<&Snapshot>),
) -> crate::repo::Result<Files> {
    let mut files = Files::default();
    let next = latest.map_or(1, |latest| latest.iteration) + 1;
    for (path, number) in changed.iter().filter_map(|path| Some((path, snapshot::number_of(path, change)?))) {
        let file = match reader.blob(head, &RepoPath::from(path.as_str())) {
            Ok(Some(blob)) => {
                let text = (number == next).then(|| match (blob.mode.is_file(), String::from_utf8(blob.bytes)) {
                    (false, _) => Err("It is no plain file.".to_owned()),
                    (true, Err(_)) => Err("It is not UTF-8.".to_owned()),
                    (true, Ok(text)) => Ok(text),
                });
                File { number, blob: Some(blob.id), text }
            }
            Ok(None) => continue,
            Err(Error::TooLarge { .. } | Error::NotAFile(_)) => {
                let why = format!("It is no plain file of at most {LARGEST} bytes.");
                File { number, blob: None, text: Some(Err(why)) }
            }
            Err(error) => return Err(error),
        };
        files.there.insert(path.clone(), file);
    }
    if latest.is_some_and(|latest| !latest.evidence.is_empty()) {
        for path in [SCOPE, DESIGN, READINESS] {
            files.cited.extend(cited(reader, head, path)?);
        }
    }
    Ok(files)
}

fn cited(reader: &LocalRepo, head: &CommitId, path: &str) -> crate::repo::Result<Vec<Cited>> {
    let text = match reader.blob(head, &RepoPath::from(path)) {
        Ok(Some(blob)) => String::from_utf8_lossy(&blob.bytes).into_owned(),
        // The gates say of a document that it can't be read.
        Ok(None) | Err(Error::TooLarge { .. } | Error::NotAFile(_)) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let lines = (1..).zip(text.lines());
    let facts = lines.flat_map(|(line, text)| snapshot::cited(text).into_iter().map(move |fact| (line, fact)));
    Ok(facts.map(|(line, fact)| Cited { path: path.to_owned(), line, fact }).collect())
}
