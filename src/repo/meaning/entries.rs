//! Programs that a Python project declares in its manifest: `poetry run NAME`.

use std::collections::{BTreeMap, BTreeSet};

use super::budget::Look;
use super::follow::{From, Kind};
use super::set::ENTRIES;
use super::{Gather, SIDES, join};

const MANIFEST: &str = "pyproject.toml";

impl Gather<'_> {
    /// What a program of this name is, where the project declares it: then the manifest's table counts, and the module
    /// that it names, where it is no product.
    pub(super) fn entry(&mut self, name: &str, bases: &[String], from: &From) -> Look<()> {
        for base in bases {
            let Some(targets) = self.entries(&join(base, MANIFEST))?.get(name).cloned() else { continue };
            self.programs.extend(ENTRIES);
            let near = From { level: 1, beside: Some(base.clone()), scope: None, ..from.clone() };
            for target in targets {
                let module = target.split(':').next().unwrap_or_default().trim();
                let path = module.replace('.', "/");
                // Poetry's may be a file, too.
                for file in [format!("{path}.py"), format!("{path}/__init__.py"), module.to_owned()] {
                    self.script(&file, std::slice::from_ref(base), &near, Kind::Interpreted)?;
                }
            }
        }
        Ok(())
    }

    /// What the programs of a manifest are, on either side, by their names.
    fn entries(&mut self, manifest: &str) -> Look<&BTreeMap<String, BTreeSet<String>>> {
        if !self.entries.contains_key(manifest) {
            let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
            for side in SIDES {
                let Some(table) = self.toml(side, manifest)? else { continue };
                let poetry =
                    table.get("tool").and_then(|tool| tool.get("poetry")).and_then(|poetry| poetry.get("scripts"));
                let project = table.get("project").and_then(|project| project.get("scripts"));
                for (name, target) in poetry.into_iter().chain(project).filter_map(|table| table.as_table()).flatten() {
                    let target = target.as_str().or_else(|| target.get("reference").and_then(|target| target.as_str()));
                    found.entry(name.clone()).or_default().extend(target.map(str::to_owned));
                }
            }
            self.entries.insert(manifest.to_owned(), found);
        }
        Ok(self.entries.entry(manifest.to_owned()).or_default())
    }
}
