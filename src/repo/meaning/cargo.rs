//! Task runners that cargo builds and runs: an alias, or a package of tools.

use std::collections::{BTreeMap, BTreeSet};

use super::budget::{Cost, Look};
use super::follow::product;
use super::{Gather, SIDES, Side, join};
use crate::policy;
use crate::repo::{Filter, RepoPath};

/// What the table of runners calls `xtask`.
const BUILT: &str = "the task runner that it builds and runs";
/// More manifests than are read to find a package.
const MOST_MANIFESTS: usize = 400;
/// An alias may lead to another.
const MOST_ALIASES: usize = 4;

impl Gather<'_> {
    /// What `cargo` with these words builds and runs that is no part of the product.
    pub(super) fn cargo(&mut self, words: &[String], bases: &[String], depth: usize) -> Look<()> {
        let words = words.iter().skip_while(|word| word.starts_with(['+', '-'])).cloned().collect::<Vec<_>>();
        let Some(first) = words.first() else { return Ok(()) };
        if ["run", "r"].contains(&first.as_str()) {
            return self.cargo_runs(&words[1..], bases, depth > 0);
        }
        if depth >= MOST_ALIASES {
            return Ok(());
        }
        for alias in self.aliases(first, bases)? {
            self.cargo(&alias, bases, depth + 1)?;
        }
        Ok(())
    }

    /// `cargo run -p NAME`: by an alias it is a task, else only where no product is.
    fn cargo_runs(&mut self, words: &[String], bases: &[String], by_alias: bool) -> Look<()> {
        let mut folders = BTreeSet::new();
        for (at, word) in words.iter().take_while(|word| *word != "--").enumerate() {
            let (option, value) = word.split_once('=').unwrap_or((word, ""));
            let value = if value.is_empty() { words.get(at + 1).map_or("", String::as_str) } else { value };
            match option {
                "-p" | "--package" | "--bin" => {
                    folders.extend(self.packages()?.get(value).cloned().unwrap_or_default());
                    // A new one of this name may come with the change.
                    folders.extend(
                        bases.iter().filter(|_| by_alias).map(|base| join(base, &format!("src/bin/{value}.rs"))),
                    );
                }
                "--manifest-path" => {
                    let folder = value.trim_start_matches("./").rsplit_once('/').map_or("", |(folder, _)| folder);
                    folders.extend(bases.iter().map(|base| join(base, folder)));
                }
                _ => {}
            }
        }
        for folder in folders.iter().filter(|folder| !folder.is_empty() && (by_alias || !product(folder))) {
            self.add(folder, BUILT)?;
        }
        Ok(())
    }

    /// The words that an alias stands for, on either side.
    fn aliases(&mut self, name: &str, bases: &[String]) -> Look<BTreeSet<Vec<String>>> {
        let mut found = BTreeSet::new();
        for base in bases {
            for file in [".cargo/config.toml", ".cargo/config"].map(|file| join(base, file)) {
                for side in SIDES {
                    if let Some(table) = self.toml(side, &file)? {
                        let words = match table.get("alias").and_then(|alias| alias.get(name)) {
                            Some(toml::Value::String(words)) => words.split_whitespace().map(str::to_owned).collect(),
                            Some(toml::Value::Array(words)) => {
                                words.iter().filter_map(|word| word.as_str()).map(str::to_owned).collect()
                            }
                            _ => Vec::new(),
                        };
                        found.insert(words);
                    }
                }
            }
        }
        Ok(found)
    }

    pub(super) fn toml(&mut self, side: Side, path: &str) -> Look<Option<toml::Table>> {
        if self.mode(side, path)?.is_none() {
            return Ok(None);
        }
        let bytes = self.blob(self.at(side), &RepoPath::from(path))?;
        let text = bytes.and_then(|(_, bytes)| String::from_utf8(bytes).ok());
        Ok(text.and_then(|text| text.parse().ok()))
    }

    /// The folders of packages, by the names of the packages and of their programs.
    fn packages(&mut self) -> Look<&BTreeMap<String, BTreeSet<String>>> {
        if self.packages.is_none() {
            let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
            let manifests = policy::globs(["**/Cargo.toml"]).unwrap_or_default();
            for side in SIDES {
                let entries = self.reader.tree(self.at(side), Filter::Globs(&manifests))?;
                self.budget.spend(Cost::Entries, entries.len())?;
                for entry in entries.into_iter().take(MOST_MANIFESTS) {
                    let Some(path) = entry.path.as_str().map(str::to_owned) else { continue };
                    let Some(table) = self.toml(side, &path)? else { continue };
                    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
                    let name = |table: Option<&toml::Value>| {
                        table.and_then(|table| table.get("name")).and_then(|name| name.as_str()).map(str::to_owned)
                    };
                    let programs = table.get("bin").and_then(|bin| bin.as_array()).into_iter().flatten();
                    for name in programs.map(|bin| name(Some(bin))).chain([name(table.get("package"))]).flatten() {
                        found.entry(name).or_default().insert(folder.to_owned());
                    }
                }
            }
            self.packages = Some(found);
        }
        Ok(self.packages.get_or_insert_default())
    }
}
