//! The documents, read out of a repository.

use super::{DESIGN, Document, Followed, INPUT, LOG, PREFERENCES, Papers, READINESS, SCOPE, Sheet};
use crate::ids::CommitId;
use crate::ledger::diary::Diary;
use crate::repo::{Error, Filter, Reader, RepoPath, Result};

impl Papers {
    /// What the gates read: at the head, at the default branch's tip, and where the change began.
    pub fn read(reader: &dyn Reader, tip: &CommitId, base: &CommitId, head: &CommitId) -> Result<Self> {
        let under = RepoPath::from(INPUT);
        let inputs = reader.tree(head, Filter::Under(&under))?;
        Ok(Self {
            scope: read_sheet(reader, head, SCOPE)?,
            design: read_sheet(reader, head, DESIGN)?,
            readiness: read_sheet(reader, head, READINESS)?,
            log: read_sheet(reader, head, LOG)?,
            preferences: read_sheet(reader, tip, PREFERENCES)?,
            // On the base itself nothing is left by an earlier change.
            base_scope: if base == head { None } else { read_sheet(reader, base, SCOPE)? },
            round: None,
            kept: None,
            inputs: inputs.iter().map(|entry| String::from_utf8_lossy(entry.path.as_bytes()).into_owned()).collect(),
        })
    }
}

impl Papers {
    /// The same with the log as people wrote it. One that has nothing but the bot's lines in it is there all the same.
    #[must_use]
    pub fn without_own(mut self, diary: &Diary) -> Self {
        if let Some(Sheet { document: Document::Text(text), .. }) = &mut self.log {
            *text = Some(diary.without_own(text)).filter(|own| !own.is_empty()).unwrap_or_else(|| std::mem::take(text));
        }
        self
    }

    /// The same for the work of a round.
    pub fn following(self, reader: &dyn Reader, head: &CommitId, round: Option<Followed>) -> Result<Self> {
        let kept = match round.as_ref().and_then(Followed::keeps) {
            Some(path) => read_sheet(reader, head, &path)?,
            None => None,
        };
        Ok(Self { round, kept, ..self })
    }
}

/// A document at a commit, if there is one.
pub fn read_sheet(reader: &dyn Reader, at: &CommitId, path: &str) -> Result<Option<Sheet>> {
    let unread = |document| Ok(Some(Sheet { blob: None, document }));
    let path = RepoPath::from(path);
    match reader.blob(at, &path) {
        Ok(Some(blob)) if blob.mode.is_symlink() => unread(Document::NotAFile),
        Ok(Some(blob)) => Ok(Some(Sheet { blob: Some(blob.id), document: Document::of(blob.bytes) })),
        Ok(None) if reader.mode(at, &path)?.is_some() => unread(Document::NotAFile),
        Ok(None) => Ok(None),
        Err(Error::TooLarge { .. }) => unread(Document::TooLarge),
        Err(Error::NotAFile(_)) => unread(Document::NotAFile),
        Err(error) => Err(error),
    }
}
