//! Python's manifests and locks.

use std::collections::BTreeSet;

use super::{Loose, There, Wanted};

/// A name as they are compared: small, with one dash for each run of `-`, `_` and `.`.
pub(super) fn plain(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '-' | '_' | '.' if out.ends_with('-') => {}
            '-' | '_' | '.' => out.push('-'),
            c => out.extend(c.to_lowercase()),
        }
    }
    out
}

/// The name at the beginning of a requirement (`Flask[async]>=2; python_version > "3"`).
fn name(requirement: &str) -> Option<Wanted> {
    let end = requirement
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')))
        .unwrap_or(requirement.len());
    let written = &requirement[..end];
    let begins = written.starts_with(|c: char| c.is_ascii_alphanumeric());
    begins.then(|| Wanted { locked: plain(written), ..Wanted::named(written) })
}

pub(super) fn project(manifest: &toml::Table) -> Vec<Wanted> {
    let listed = |value: &toml::Value| -> Vec<Wanted> {
        value.as_array().into_iter().flatten().filter_map(|one| name(one.as_str()?.trim())).collect()
    };
    let project = manifest.get("project");
    let own = project.and_then(|project| project.get("name")?.as_str()).map(plain);
    let mut all: Vec<Wanted> = project.and_then(|project| project.get("dependencies")).map(listed).unwrap_or_default();
    for groups in [project.and_then(|project| project.get("optional-dependencies")), manifest.get("dependency-groups")]
    {
        all.extend(groups.and_then(toml::Value::as_table).into_iter().flatten().flat_map(|(_, group)| listed(group)));
    }
    let poetry = manifest.get("tool").and_then(|tool| tool.get("poetry"));
    let mut tables: Vec<&toml::Value> = Vec::new();
    for table in ["dependencies", "dev-dependencies"] {
        tables.extend(poetry.and_then(|poetry| poetry.get(table)));
    }
    let groups = poetry.and_then(|poetry| poetry.get("group")?.as_table());
    tables.extend(groups.into_iter().flatten().filter_map(|(_, group)| group.get("dependencies")));
    all.extend(tables.into_iter().filter_map(toml::Value::as_table).flatten().filter_map(|(one, _)| name(one)));
    // `mypackage[dev]` among its own extras is no other's.
    all.retain(|one| one.locked != "python" && Some(&one.locked) != own.as_ref());
    all
}

/// What it needs to run, without its groups and extras.
pub(super) fn needed(manifest: &toml::Table) -> Vec<String> {
    let mut plain = manifest.clone();
    plain.remove("dependency-groups");
    for path in [["project"].as_slice(), &["tool", "poetry"]] {
        let mut at = Some(&mut plain);
        for key in path {
            at = at.and_then(|table| table.get_mut(*key)).and_then(toml::Value::as_table_mut);
        }
        if let Some(table) = at {
            for key in ["optional-dependencies", "dev-dependencies", "group"] {
                table.remove(key);
            }
        }
    }
    project(&plain).into_iter().map(|one| one.written).collect()
}

pub(super) fn pipfile(manifest: &toml::Table) -> Vec<Wanted> {
    let tables = ["packages", "dev-packages"].iter().filter_map(|table| manifest.get(*table)?.as_table());
    tables.flatten().filter_map(|(one, _)| name(one)).collect()
}

/// The names of a lock's packages.
pub(super) fn packages(text: &str, list: &str, plain: impl Fn(&str) -> String) -> Option<BTreeSet<String>> {
    let lock: toml::Table = text.parse().ok()?;
    let packages = lock.get(list).and_then(toml::Value::as_array);
    Some(packages.into_iter().flatten().filter_map(|one| one.get("name")?.as_str()).map(plain).collect())
}

/// The requirements of a list: line, name, and what is said of the version.
pub(super) fn required(text: &str) -> Vec<(u32, Wanted, String)> {
    let mut all = Vec::new();
    let mut going_on = false;
    for (at, line) in (1..).zip(text.lines()) {
        let continues = line.trim_end().ends_with('\\');
        let begins = !going_on;
        going_on = continues;
        let line = line.split(" #").next().unwrap_or_default().trim();
        if !begins
            || line.is_empty()
            || line.starts_with(['#', '-', '.', '/'])
            || line.contains("://") && !line.contains(" @ ")
        {
            continue;
        }
        if let Some(one) = name(line) {
            let rest = line[one.written.len()..].trim().trim_end_matches('\\').to_owned();
            all.push((at, one, rest));
        }
    }
    all
}

/// A list of requirements is its own lock, where nothing else locks them: each has to have one version.
pub(super) fn unpinned(path: &str, text: &str, there: &There<'_>) -> Vec<Loose> {
    let folder = path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
    let locks =
        ["uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "Pipfile.lock", "requirements.lock", "constraints.txt"];
    let is_there = |name: &&str| there.contains_key(format!("{folder}{name}").as_str());
    if locks.iter().any(is_there) {
        return Vec::new();
    }
    let loose = required(text)
        .into_iter()
        .filter(|(_, _, rest)| !(rest.contains("==") || rest.contains(" @ ") || rest.starts_with('@')));
    loose
        .map(|(line, one, _)| Loose {
            line: Some(line),
            says: format!("`{}` has no one version, and no lock file gives it one.", one.written),
            next: "Pin it (`==`), or commit a lock file.".to_owned(),
        })
        .collect()
}
