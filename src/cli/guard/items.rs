//! `phasegate guard items`: the tests that stand inside of source files, as the guard names them.

use std::fmt::Write as _;

use anyhow::{Context as _, bail};
use owo_colors::OwoColorize as _;
use serde::Serialize;

use super::super::{Exit, out};
use crate::guard::inline::{self, Item, Sort};
use crate::ids::{CommitId, Digest};
use crate::repo::{LocalRepo, Reader as _, RepoPath};

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    commit: CommitId,
    /// Digests of another reading can't be compared with these.
    reading: u32,
    files: Vec<File>,
}

#[derive(Serialize)]
struct File {
    path: String,
    items: Vec<Told>,
    /// Why it could not be read.
    unread: Option<String>,
}

#[derive(Serialize)]
struct Told {
    name: String,
    line: u32,
    digest: Digest,
    sort: Sort,
    skipped: bool,
}

impl From<Item> for Told {
    fn from(item: Item) -> Self {
        let Item { name, line, digest, sort, skipped, .. } = item;
        Self { name, line, digest, sort, skipped }
    }
}

pub(super) fn run(repo: &LocalRepo, paths: &[String], at: CommitId, json: bool) -> anyhow::Result<Exit> {
    let files = paths.iter().map(|path| file(repo, &at, path)).collect::<anyhow::Result<Vec<File>>>()?;
    let unread = files.iter().any(|file| file.unread.is_some());
    if json {
        out::json(&Report { schema: "phasegate/items@1", commit: at, reading: inline::READING, files })?;
    } else {
        out::text(&shown(&files))?;
    }
    Ok(if unread { Exit::Usage } else { Exit::Fine })
}

fn file(repo: &LocalRepo, at: &CommitId, path: &str) -> anyhow::Result<File> {
    let name = out::plain(path);
    let blob = repo.blob(at, &RepoPath::from(path))?;
    let blob = blob.with_context(|| format!("there is no file {name} at {} (from the top)", at.short()))?;
    if !blob.mode.is_file() {
        bail!("{name} is no plain file");
    }
    let (items, unread) = match inline::items(path, &blob.bytes) {
        Ok(Some(items)) => (items.into_iter().map(Told::from).collect(), None),
        Ok(None) => (Vec::new(), Some("no tests are looked for inside of files of its language".to_owned())),
        Err(why) => (Vec::new(), Some(why)),
    };
    Ok(File { path: path.to_owned(), items, unread })
}

fn shown(files: &[File]) -> String {
    let mut text = String::new();
    for File { path, items, unread } in files {
        let path = out::plain(path);
        match unread {
            Some(why) => {
                let _ = writeln!(text, "{} {}: {}", path.bold(), "unread".yellow(), out::plain(why));
            }
            None => {
                let _ = writeln!(text, "{} {}", path.bold(), items.len());
            }
        }
        for Told { name, line, digest, skipped, .. } in items {
            let skipped = if *skipped { " (not run)" } else { "" };
            let _ = writeln!(text, "  {path}:{line}: {} {}{skipped}", out::plain(name), digest.short().dimmed());
        }
    }
    text
}
