//! Whether what a project depends on is pinned: a lock file beside each manifest, and every direct dependency in it.
//!
//! Only what a machine can see without a network: that a name stands in the lock, not that the lock is what the tool would write.

use std::collections::{BTreeMap, BTreeSet};

use super::code::line_at;

mod more;
mod python;

/// What is wrong with a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Loose {
    /// `None`: the whole manifest.
    pub(super) line: Option<u32>,
    pub(super) says: String,
    pub(super) next: String,
}

/// The manifests that are understood, and the locks that each may have.
const KINDS: &[(&str, &[&str])] = &[
    ("Cargo.toml", &["Cargo.lock"]),
    (
        "package.json",
        &["package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb"],
    ),
    ("pyproject.toml", &["uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "requirements.txt", "requirements.lock"]),
    ("Pipfile", &["Pipfile.lock"]),
    ("requirements.in", &["requirements.txt"]),
    ("requirements.txt", &[]),
    ("go.mod", &["go.sum"]),
    ("Gemfile", &["Gemfile.lock", "gems.locked"]),
    ("composer.json", &["composer.lock"]),
    // Those whose tools write no lock, or none that is usually committed.
    ("setup.py", &[]),
    ("setup.cfg", &[]),
    ("build.gradle", &[]),
    ("build.gradle.kts", &[]),
    ("pom.xml", &[]),
    ("pubspec.yaml", &[]),
    ("deno.json", &[]),
    ("deno.jsonc", &[]),
];

/// Whether a file is a list of requirements of Python: `requirements.txt`, `requirements-dev.txt`, `requirements/prod.txt`.
fn is_requirements(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let Some(stem) = name.strip_suffix(".txt") else { return false };
    let in_folder = folder.rsplit('/').next() == Some("requirements");
    stem == "requirements"
        || stem.starts_with("requirements-")
        || stem.starts_with("requirements_")
        || stem.ends_with("-requirements")
        || in_folder
}

/// Whether one is for those who work on the project only, by its name.
fn is_for_work(path: &str) -> bool {
    const WORK: &[&str] = &[
        "dev",
        "develop",
        "development",
        "test",
        "tests",
        "testing",
        "lint",
        "docs",
        "doc",
        "ci",
        "tools",
        "local",
        "build",
    ];
    let name = path.rsplit('/').next().unwrap_or(path);
    name.trim_end_matches(".txt").split(['-', '_', '.']).any(|word| WORK.contains(&word))
}

/// The locks that a manifest of this name may have; `None` where it is no manifest that is understood.
pub(super) fn locks_of(path: &str) -> Option<&'static [&'static str]> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let known = KINDS.iter().find(|(own, _)| *own == name).map(|(_, locks)| *locks);
    known.or((is_requirements(path) || name.ends_with(".csproj")).then_some(&[]))
}

/// The manifest that a lock belongs to, by its name.
pub(super) fn manifests_of(path: &str) -> impl Iterator<Item = String> {
    let (folder, name) = path.rsplit_once('/').map_or(("", path), |(folder, name)| (folder, name));
    let own = KINDS.iter().filter(move |(_, locks)| locks.contains(&name));
    own.map(
        move |(manifest, _)| if folder.is_empty() { (*manifest).to_owned() } else { format!("{folder}/{manifest}") },
    )
}

/// Where the lock of a manifest may be: beside it, or in a folder above, which is then a workspace.
pub(super) fn candidates(manifest: &str) -> Vec<String> {
    let Some(locks) = locks_of(manifest) else { return Vec::new() };
    let mut folder = manifest.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut all = Vec::new();
    loop {
        for lock in locks {
            all.push(if folder.is_empty() { (*lock).to_owned() } else { format!("{folder}/{lock}") });
        }
        if folder.is_empty() {
            return all;
        }
        folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
    }
}

/// A file that is there: its text, or none where it is no text or too large.
pub(super) type There<'t> = BTreeMap<&'t str, Option<&'t str>>;

/// What is wrong with a manifest and its lock.
pub(super) fn loose(path: &str, text: &str, there: &There<'_>) -> Vec<Loose> {
    let name = path.rsplit('/').next().unwrap_or(path);
    if is_requirements(path) {
        return if is_for_work(path) { Vec::new() } else { python::unpinned(path, text, there) };
    }
    let Some(wanted) = dependencies(path, name, text, there) else { return Vec::new() };
    if wanted.is_empty() {
        return Vec::new();
    }
    let Some(lock) = candidates(path).into_iter().find(|lock| there.contains_key(lock.as_str())) else {
        let locks = locks_of(path).unwrap_or_default();
        let says = format!("It has dependencies ({}), and no lock file.", few(&wanted));
        return vec![Loose {
            line: None,
            says,
            next: format!("Commit the lock file that its tool writes (`{}`).", locks.first().unwrap_or(&"lock")),
        }];
    };
    // What is no text says nothing of what is in it.
    let Some(Some(locked)) = there.get(lock.as_str()) else { return Vec::new() };
    let Some(known) = Locked::read(&lock, locked) else {
        let says = format!("Its lock file `{}` can't be read.", shown(&lock));
        return vec![Loose { line: None, says, next: "Let its tool write it again, and commit it.".to_owned() }];
    };
    let missing = wanted.into_iter().take(MOST).filter(|one| !known.has(one));
    missing
        .map(|one| Loose {
            line: line_of(text, &one.written),
            says: format!("`{}` is a dependency here and does not stand in `{}`.", shown(&one.written), shown(&lock)),
            next: "Let its tool bring the lock file up to date, and commit it.".to_owned(),
        })
        .collect()
}

/// A name that somebody wrote, in a sentence: one line, not too long, and nothing that ends the quote.
pub(super) fn shown(name: &str) -> String {
    let name = name.chars().map(|c| if c == '`' || c.is_control() { '\'' } else { c });
    name.take(100).collect()
}

/// So many dependencies of a manifest are looked for.
const MOST: usize = 500;

fn few(wanted: &[Wanted]) -> String {
    let names: Vec<String> = wanted.iter().take(3).map(|one| format!("`{}`", shown(&one.written))).collect();
    let more = if wanted.len() > 3 { ", …" } else { "" };
    format!("{}{more}", names.join(", "))
}

/// A direct dependency: as it is written, by which name it is locked, and in which version, where the lock has to say that.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Wanted {
    written: String,
    locked: String,
    version: Option<String>,
}

impl Wanted {
    fn named(name: &str) -> Self {
        Self { written: name.to_owned(), locked: name.to_owned(), version: None }
    }
}

/// The direct dependencies of a manifest. `None`: it can't be read, which its tool will say better.
fn dependencies(path: &str, name: &str, text: &str, there: &There<'_>) -> Option<Vec<Wanted>> {
    let mut all = match name {
        "Cargo.toml" => cargo(path, &text.parse().ok()?, there),
        "package.json" => npm(&serde_json::from_str(text).ok()?),
        "pyproject.toml" => python::project(&text.parse().ok()?),
        "Pipfile" => python::pipfile(&text.parse().ok()?),
        "requirements.in" => python::required(text).into_iter().map(|(_, name, _)| name).collect(),
        "go.mod" => go(text),
        "Gemfile" => gems(text),
        "composer.json" => composer(&serde_json::from_str(text).ok()?),
        _ => return None,
    };
    all.sort_by(|a, b| a.written.cmp(&b.written));
    all.dedup();
    Some(all)
}

/// A dependency without which what is built does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Needed {
    /// What it is: `openssl-sys` of `tls = { package = "openssl-sys" }`, `left-pad` of `"pad": "npm:left-pad@1"`.
    pub(super) name: String,
    /// What it is called in the manifest.
    pub(super) written: String,
    pub(super) line: Option<u32>,
    /// By Go: what is needed by what is needed.
    pub(super) indirect: bool,
}

/// The dependencies of a manifest without which what it builds does not run.
pub(super) fn runtime(path: &str, text: &str, there: &There<'_>) -> Vec<Needed> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let parsed = || text.parse::<toml::Table>().unwrap_or_default();
    let json = || serde_json::from_str::<serde_json::Value>(text).unwrap_or_default();
    let needed = |(name, written): (String, String)| {
        let line = line_of(text, &written);
        Needed { name, written, line, indirect: false }
    };
    let same = |name: String| needed((name.clone(), name));
    match name {
        "Cargo.toml" => crates(path, &parsed(), there).into_iter().map(needed).collect(),
        "package.json" => more::npm(&json()).into_iter().map(needed).collect(),
        "composer.json" => {
            let all = json().get("require").and_then(serde_json::Value::as_object).cloned().unwrap_or_default();
            all.into_iter().map(|(name, _)| name).filter(|name| name.contains('/')).map(same).collect()
        }
        "pyproject.toml" => python::needed(&parsed()).into_iter().map(same).collect(),
        "Pipfile" => {
            let all = parsed().get("packages").and_then(toml::Value::as_table).cloned().unwrap_or_default();
            all.into_iter().map(|(name, _)| same(name)).collect()
        }
        "requirements.in" => python::required(text).into_iter().map(|(_, one, _)| same(one.written)).collect(),
        "go.mod" => {
            let of = |text: &str| go(text).into_iter().map(|one| one.written);
            let marked = |indirect: bool| -> String {
                // What opens and closes a list belongs to both, and so does what is replaced.
                let shared = |line: &str| line.trim().ends_with(['(', ')']) || line.contains("=>");
                let own = |line: &&str| line.contains("// indirect") == indirect || shared(line);
                text.lines().filter(own).map(|line| format!("{line}\n")).collect()
            };
            let indirect = of(&marked(true)).map(|one| Needed { indirect: true, ..same(one) });
            of(&marked(false)).map(same).chain(indirect).collect()
        }
        "Gemfile" => gems(text).into_iter().map(|one| same(one.written)).collect(),
        _ if is_requirements(path) => match is_for_work(path) {
            true => Vec::new(),
            false => python::required(text).into_iter().map(|(_, one, _)| same(one.written)).collect(),
        },
        _ => more::names(name, text).into_iter().map(same).collect(),
    }
}

/// What a manifest of Cargo needs to run, on whatever system, by its real name and as it is written.
fn crates(path: &str, manifest: &toml::Table, there: &There<'_>) -> Vec<(String, String)> {
    let of = |table: &toml::Table| -> Vec<(String, toml::Value)> {
        let own = table.get("dependencies").and_then(toml::Value::as_table);
        own.into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let mut all = of(manifest);
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    all.extend(targets.into_iter().flatten().filter_map(|(_, table)| table.as_table()).flat_map(of));
    let real = all.into_iter().filter_map(|(written, value)| {
        let inherits = value.get("workspace").and_then(toml::Value::as_bool) == Some(true);
        let value = if inherits { shared(path, &written, there).unwrap_or(value) } else { value };
        // What lies in the repository itself is no one else's.
        if value.get("path").is_some() {
            return None;
        }
        let name = value.get("package").and_then(toml::Value::as_str).unwrap_or(&written).to_owned();
        Some((name, written))
    });
    real.collect()
}

/// What `x.workspace = true` is, by the workspace above.
fn shared(path: &str, name: &str, there: &There<'_>) -> Option<toml::Value> {
    let mut folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    loop {
        let own = if folder.is_empty() { "Cargo.toml".to_owned() } else { format!("{folder}/Cargo.toml") };
        let root = there.get(own.as_str()).copied().flatten().and_then(|text| text.parse::<toml::Table>().ok());
        if let Some(one) = root.as_ref().and_then(|root| root.get("workspace")?.get("dependencies")?.get(name)) {
            return Some(one.clone());
        }
        if folder.is_empty() {
            return None;
        }
        folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
    }
}

fn cargo(path: &str, manifest: &toml::Table, there: &There<'_>) -> Vec<Wanted> {
    let of = |table: &toml::Table| -> Vec<(String, toml::Value)> {
        let tables = ["dependencies", "dev-dependencies", "build-dependencies"];
        let tables = tables.iter().filter_map(|name| table.get(*name)?.as_table());
        tables.flatten().map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let mut all = of(manifest);
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    all.extend(targets.into_iter().flatten().filter_map(|(_, table)| table.as_table()).flat_map(of));
    let wanted = all.into_iter().map(|(name, value)| {
        let package = value.get("package").and_then(toml::Value::as_str).map(str::to_owned);
        let inherits = value.get("workspace").and_then(toml::Value::as_bool) == Some(true);
        // `x.workspace = true` may be another package there.
        let there = || shared(path, &name, there)?.get("package")?.as_str().map(str::to_owned);
        let locked = package.or_else(|| inherits.then(there).flatten()).unwrap_or_else(|| name.clone());
        Wanted { written: name, locked, version: None }
    });
    wanted.collect()
}

fn npm(manifest: &serde_json::Value) -> Vec<Wanted> {
    let tables = ["dependencies", "devDependencies", "optionalDependencies"];
    let tables = tables.iter().filter_map(|name| manifest.get(*name)?.as_object());
    // What lies in the repository itself is in no lock of some tools.
    let is_own =
        |spec: &str| ["workspace:", "file:", "link:", "portal:", "catalog:"].iter().any(|own| spec.starts_with(own));
    let wanted = tables.flatten().filter(|(_, spec)| !spec.as_str().is_some_and(is_own));
    wanted.map(|(name, spec)| Wanted { version: spec.as_str().map(str::to_owned), ..Wanted::named(name) }).collect()
}

fn go(text: &str) -> Vec<Wanted> {
    let mut all = Vec::new();
    let mut replaced = BTreeSet::new();
    let mut block = "";
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        let (verb, rest) = match (block, line) {
            (_, ")") => {
                block = "";
                continue;
            }
            ("", line) => line.split_once(char::is_whitespace).unwrap_or((line, "")),
            (verb, line) => (verb, line),
        };
        if rest.trim() == "(" {
            block = if verb == "require" {
                "require"
            } else if verb == "replace" {
                "replace"
            } else {
                "other"
            };
            continue;
        }
        let words: Vec<&str> = rest.split_whitespace().collect();
        match (verb, &words[..]) {
            ("require", [module, version, ..]) => {
                all.push(Wanted { version: Some((*version).to_owned()), ..Wanted::named(module) });
            }
            ("replace", [module, ..]) => {
                replaced.insert((*module).to_owned());
            }
            _ => {}
        }
    }
    all.retain(|one| !replaced.contains(&one.written));
    all
}

fn gems(text: &str) -> Vec<Wanted> {
    let gem = |line: &str| {
        let rest = line.trim_start().strip_prefix("gem")?;
        let rest = rest.trim_start_matches([' ', '(']);
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let name = rest[1..].split(quote).next()?;
        (line.trim_start().starts_with("gem ") || line.trim_start().starts_with("gem(")).then(|| Wanted::named(name))
    };
    text.lines().filter_map(gem).collect()
}

fn composer(manifest: &serde_json::Value) -> Vec<Wanted> {
    let tables = ["require", "require-dev"].iter().filter_map(|name| manifest.get(*name)?.as_object());
    // The platform's own have no slash: `php`, `ext-json`.
    tables
        .flatten()
        .filter(|(name, _)| name.contains('/'))
        .map(|(name, _)| Wanted::named(&name.to_lowercase()))
        .collect()
}

/// What stands in a lock.
enum Locked {
    /// Names, and the versions of those that have one.
    Names(BTreeSet<String>),
    /// By npm: what the manifests asked for when it was written.
    Asked(BTreeMap<String, BTreeSet<String>>),
    /// A text in which a name has to stand by itself.
    Text(String),
    /// `module version` of each line.
    Sums(BTreeSet<(String, String)>),
}

impl Locked {
    fn read(path: &str, text: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        Some(match name {
            "Cargo.lock" => Self::Names(python::packages(text, "package", |name| name.to_owned())?),
            "uv.lock" | "poetry.lock" | "pdm.lock" => Self::Names(python::packages(text, "package", python::plain)?),
            "pylock.toml" => Self::Names(python::packages(text, "packages", python::plain)?),
            "requirements.txt" | "requirements.lock" => {
                Self::Names(python::required(text).into_iter().map(|(_, one, _)| one.locked).collect())
            }
            "Pipfile.lock" => {
                let lock: serde_json::Value = serde_json::from_str(text).ok()?;
                let tables = lock.as_object()?.iter().filter(|(name, _)| *name != "_meta");
                Self::Names(
                    tables
                        .filter_map(|(_, table)| table.as_object())
                        .flatten()
                        .map(|(name, _)| python::plain(name))
                        .collect(),
                )
            }
            "package-lock.json" | "npm-shrinkwrap.json" => npm_locked(&serde_json::from_str(text).ok()?),
            "composer.lock" => {
                let lock: serde_json::Value = serde_json::from_str(text).ok()?;
                let lists = ["packages", "packages-dev"].iter().filter_map(|name| lock.get(*name)?.as_array());
                let names = lists.flatten().filter_map(|one| one.get("name")?.as_str().map(str::to_lowercase));
                Self::Names(names.collect())
            }
            "go.sum" => {
                let sums = text.lines().filter_map(|line| {
                    let mut words = line.split_whitespace();
                    let (module, version) = (words.next()?, words.next()?);
                    Some((module.to_owned(), version.trim_end_matches("/go.mod").to_owned()))
                });
                Self::Sums(sums.collect())
            }
            "Gemfile.lock" | "gems.locked" => {
                let listed = text.lines().skip_while(|line| !line.starts_with("DEPENDENCIES")).skip(1);
                let listed = listed.take_while(|line| line.starts_with(' '));
                Self::Names(
                    listed
                        .filter_map(|line| line.split_whitespace().next())
                        .map(|name| name.trim_end_matches('!').to_owned())
                        .collect(),
                )
            }
            "bun.lock" => Self::Text(without_comments(text, "//")),
            _ => Self::Text(without_comments(text, "#")),
        })
    }

    fn has(&self, wanted: &Wanted) -> bool {
        match self {
            Self::Names(names) => names.contains(&wanted.locked),
            Self::Asked(asked) => asked.get(&wanted.locked).is_some_and(|specs| {
                specs.is_empty() || wanted.version.as_ref().is_none_or(|spec| specs.contains(spec))
            }),
            Self::Text(text) => stands_in(text, &wanted.locked),
            Self::Sums(sums) => {
                let version = wanted.version.clone().unwrap_or_default();
                sums.contains(&(wanted.locked.clone(), version))
            }
        }
    }
}

/// A comment locks nothing.
fn without_comments(text: &str, mark: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with(mark));
    lines.map(|line| line.split(&format!(" {mark}")).next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

fn npm_locked(lock: &serde_json::Value) -> Locked {
    let Some(packages) = lock.get("packages").and_then(serde_json::Value::as_object) else {
        // The first version of it has the tree only.
        let names = lock.get("dependencies").and_then(serde_json::Value::as_object);
        return Locked::Names(names.into_iter().flatten().map(|(name, _)| name.clone()).collect());
    };
    let mut asked: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let own = packages.iter().filter(|(path, _)| !path.contains("node_modules/"));
    for (_, package) in own {
        for table in ["dependencies", "devDependencies", "optionalDependencies"] {
            for (name, spec) in package.get(table).and_then(serde_json::Value::as_object).into_iter().flatten() {
                asked.entry(name.clone()).or_default().extend(spec.as_str().map(str::to_owned));
            }
        }
    }
    Locked::Asked(asked)
}

/// Whether a name stands in a text as a whole: `"a"`, `a@^1`, `/a@1.0.0:`, `a:`.
fn stands_in(text: &str, name: &str) -> bool {
    let part_of_a_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back().is_none_or(|c| {
            !part_of_a_name(c) && (c != '/' || !name.starts_with('@') && !text[..at].ends_with("@types/")) && c != '@'
        });
        let after = text[at + name.len()..].chars().next().is_none_or(|c| !part_of_a_name(c) && c != '/');
        before && after
    })
}

/// The first line on which a name stands.
fn line_of(text: &str, name: &str) -> Option<u32> {
    let whole = |at: &usize| {
        let fits = |c: Option<char>| c.is_none_or(|c| !(c.is_alphanumeric() || matches!(c, '-' | '_')));
        fits(text[..*at].chars().next_back()) && fits(text[at + name.len()..].chars().next())
    };
    text.match_indices(name).map(|(at, _)| at).find(whole).map(|at| line_at(text, at))
}

#[cfg(test)]
mod tests;
