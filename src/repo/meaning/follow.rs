//! Which files a text runs, and which those run in turn.

use std::collections::BTreeSet;

use super::set::{self, INTERPRETERS, PARTS, PRODUCT, READERS, RUNNERS, SHELL, SOURCE, TOOLS, WRAPPERS};
use super::words::HOLE;
use super::{DEPTH, Gather, LONGEST_SCRIPT, Place, SCRIPT, clean, imports, inside, join, parts, words};
use crate::ids::CommitId;
use crate::policy;
use crate::repo::actions::Text;
use crate::repo::{Mode, RepoPath, Result};

/// More folders than a step works in.
const MOST_FOLDERS: usize = 40;

impl Gather<'_> {
    pub(super) fn texts(&mut self, texts: &[Text], folders: &BTreeSet<String>, own: &str) -> Result<()> {
        let mut bases: BTreeSet<String> = folders.iter().map(|folder| clean(folder)).collect();
        bases.extend([String::new(), own.to_owned()]);
        for text in texts {
            self.scan(&text.text, &bases, &From { level: 0, beside: None, patterns: text.is_command })?;
        }
        Ok(())
    }

    /// Looks for what a text runs, in each of these folders.
    fn scan(&mut self, text: &str, bases: &BTreeSet<String>, from: &From) -> Result<()> {
        let commands = words::commands(text);
        let mut bases = bases.clone();
        for words in &commands {
            for (at, word) in words.iter().enumerate() {
                let into = ["cd", "pushd", "-C", "--directory", "--prefix", "--cwd", "--dir"];
                let (option, value) = word.split_once('=').unwrap_or((word, ""));
                let folder = if into.contains(&word.as_str()) {
                    words.get(at + 1).map_or("", String::as_str)
                } else if into.contains(&option) {
                    value
                } else {
                    ""
                };
                // What a path starts with at run time is most often the folder that one is in anyway.
                let folder = match folder.split_once('/') {
                    Some((first, rest)) if first.contains(HOLE) => clean(rest),
                    _ => clean(folder),
                };
                if !folder.is_empty() && !folder.contains(HOLE) && bases.len() < MOST_FOLDERS {
                    // Seen from wherever the step may be by then.
                    let below: Vec<String> = bases.iter().filter_map(|base| inside(&join(base, &folder))).collect();
                    bases.extend(below);
                }
            }
        }
        let bases: Vec<String> = bases.into_iter().collect();
        for words in &commands {
            self.command(words, &bases, from)?;
        }
        Ok(())
    }

    fn command(&mut self, words: &[String], bases: &[String], from: &From) -> Result<()> {
        let words = unwrapped(words);
        let Some(program) = words.first().map(|word| base_name(word)) else { return Ok(()) };
        self.runners(words, program, bases, from)?;
        for (at, word) in words.iter().enumerate() {
            let (option, value) = word.split_once('=').unwrap_or((word, ""));
            if ["--config", "--config-file", "--configuration", "--rcfile"].contains(&option) {
                let file = if value.is_empty() { words.get(at + 1).map_or("", String::as_str) } else { value };
                self.configured(file, bases)?;
            }
        }
        if from.level > 0 && ["include", "sinclude"].contains(&program) {
            for word in &words[1..] {
                self.script(word, bases, from, Kind::Included)?;
            }
            return Ok(());
        }
        if READERS.contains(&program) {
            return Ok(());
        }
        for word in words {
            let word = word.split_once('=').map_or(word.as_str(), |(_, value)| value);
            if word.contains('/') || ends_in(word, SHELL) {
                self.script(word, bases, from, Kind::ByItself)?;
            }
        }
        // Behind `uv run` and the like stands the file itself.
        if ends_in(program, SOURCE) {
            self.script(&words[0], bases, from, Kind::Interpreted)?;
        }
        self.interpreted(words, program, bases, from)
    }

    /// The file that an interpreter is given.
    fn interpreted(&mut self, words: &[String], program: &str, bases: &[String], from: &From) -> Result<()> {
        let version = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let known = |name: &str| INTERPRETERS.contains(&name);
        let arguments = match program {
            "go" | "deno" | "bun" if words.get(1).is_some_and(|word| word == "run") => &words[2..],
            _ if known(program) || known(version) => &words[1..],
            _ => return Ok(()),
        };
        if arguments.iter().any(|word| word == "--test") {
            return Ok(());
        }
        if let Some(at) = arguments.iter().position(|word| word == "-m") {
            let module = arguments.get(at + 1).map(|module| module.replace('.', "/")).unwrap_or_default();
            self.runners(arguments.get(at + 1..).unwrap_or_default(), &module, bases, from)?;
            self.shadows(&module, bases)?;
            for file in [format!("{module}.py"), format!("{module}/__main__.py")] {
                self.script(&file, bases, from, Kind::Interpreted)?;
            }
            return Ok(());
        }
        let mut after_option = false;
        for word in arguments.iter().take(20) {
            if word.starts_with('-') {
                after_option = true;
                continue;
            }
            let folder = ["__main__.py", "index.js"].map(|name| format!("{}/{name}", word.trim_end_matches('/')));
            let mut found = self.script(word, bases, from, Kind::Interpreted)?;
            if program == "go" {
                found |= self.package(word, bases, from)?;
            }
            for file in folder.iter().filter(|_| word.contains('/')) {
                found |= self.script(file, bases, from, Kind::Interpreted)?;
            }
            if found || !after_option {
                break;
            }
        }
        Ok(())
    }

    /// A module that comes with the change is taken before the installed one of its name.
    fn shadows(&mut self, module: &str, bases: &[String]) -> Result<()> {
        let name = module.split('/').next().unwrap_or_default();
        if name.is_empty() || name.contains(HOLE) {
            return Ok(());
        }
        for base in bases {
            for path in [format!("{name}.py"), name.to_owned()].map(|name| join(base, &name)) {
                if self.reader.mode(self.sides[0], &RepoPath::from(path.as_str()))?.is_none() {
                    self.add(&path, SCRIPT);
                }
            }
        }
        Ok(())
    }

    /// A Go program is a folder.
    fn package(&mut self, word: &str, bases: &[String], from: &From) -> Result<bool> {
        let mut any = false;
        for path in bases.iter().map(|base| join(base, word)) {
            for at in self.sides {
                if let Place::Folder(folder) = self.place(at, &path)?
                    && !folder.is_empty()
                    && !product(&folder)
                    && from.reaches(&join(&folder, "main.go"))
                {
                    any = true;
                    self.add(&folder, SCRIPT);
                }
            }
        }
        Ok(any)
    }

    fn configured(&mut self, file: &str, bases: &[String]) -> Result<()> {
        for base in bases.iter().filter(|_| !file.is_empty() && !file.contains(HOLE)) {
            for at in self.sides {
                if let Place::File(path) = self.place(at, &join(base, file))? {
                    self.configured.insert(RepoPath::from(path.as_str()));
                }
            }
        }
        Ok(())
    }

    /// Programs that run what a file beside them says.
    fn runners(&mut self, words: &[String], program: &str, bases: &[String], from: &From) -> Result<()> {
        let rest = words.get(1..).unwrap_or_default();
        let xtask = |word: &String| matches!(word.as_str(), "xtask" | "--package=xtask" | "-pxtask");
        let line = match program {
            // However its options stand.
            "cargo" if rest.iter().any(|word| word == "run") && rest.iter().any(xtask) => {
                "cargo run -p xtask ".to_owned()
            }
            _ => format!("{program} {} ", rest.join(" ")),
        };
        for part in PARTS {
            let Some(asked) = part.after.iter().find(|name| **name == program) else { continue };
            self.programs.insert(asked);
            for base in bases {
                self.follow(&join(base, part.file), Some(part), from)?;
            }
        }
        for runner in
            RUNNERS.iter().filter(|runner| runner.commands.iter().any(|name| line.starts_with(&format!("{name} "))))
        {
            for base in bases {
                for file in runner.files {
                    let path = join(base, file);
                    if file.contains('*') {
                        self.globs.extend(policy::glob(&path).ok().map(|glob| (glob, runner.what)));
                        continue;
                    }
                    let found = self.found(&path)?;
                    // One that comes with the change may be taken before the one that is there.
                    self.add(&path, runner.what);
                    for path in found {
                        self.add(&path, runner.what);
                        self.follow(&path, None, from)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The files that a path leads to, on either side.
    fn found(&mut self, path: &str) -> Result<BTreeSet<String>> {
        let mut found = BTreeSet::new();
        for at in self.sides {
            match self.place(at, path)? {
                Place::File(path) => drop(found.insert(path)),
                Place::Unknown(why) => self.not_known(why),
                Place::Nothing | Place::Folder(_) => {}
            }
        }
        Ok(found)
    }

    /// Takes a word for a script, if there is one of this name. Says whether there is.
    fn script(&mut self, word: &str, bases: &[String], from: &From, kind: Kind) -> Result<bool> {
        let word = word.trim_start_matches("./");
        // What a path starts with at run time is most often the folder that one is in anyway.
        let (anywhere, word) = match word.split_once('/') {
            Some((first, rest)) if first.contains(HOLE) => (true, rest),
            _ => (false, word),
        };
        if word.is_empty() || word.starts_with(['/', '~', '-']) || word.contains("://") {
            return Ok(false);
        }
        let open = word.contains([HOLE, '*', '?']);
        if from.patterns && (open || anywhere) {
            let pattern = word.replace(HOLE, "*");
            if pattern.chars().filter(|c| c.is_alphanumeric()).count() >= 2 {
                let bases = if anywhere { vec!["**".to_owned()] } else { bases.to_vec() };
                self.patterns.extend(bases.iter().filter_map(|base| policy::glob(&join(base, &pattern)).ok()));
            }
        }
        if open {
            return Ok(false);
        }
        let mut any = false;
        for base in bases {
            let path = join(base, word);
            for at in self.sides {
                let Some((found, mode)) = self.at_end(at, &path)? else { continue };
                let fits = match kind {
                    Kind::ByItself => self.runs_by_itself(at, &found, mode)? && !product(&found),
                    Kind::Interpreted => {
                        let runs =
                            !base_name(&found).contains('.') || ends_in(&found, SHELL) || ends_in(&found, SOURCE);
                        // What a step itself names is a script wherever it lies.
                        runs && (from.level == 0 || !product(&found))
                    }
                    Kind::Included => true,
                };
                if fits && (kind == Kind::Included || from.reaches(&found)) {
                    any = true;
                    self.add(&found, SCRIPT);
                    self.follow(&found, None, from)?;
                }
            }
        }
        Ok(any)
    }

    /// The file at the end of a path, with its mode.
    fn at_end(&mut self, at: &CommitId, path: &str) -> Result<Option<(String, Mode)>> {
        match self.place(at, path)? {
            Place::File(found) => {
                let mode = self.reader.mode(at, &RepoPath::from(found.as_str()))?;
                Ok(mode.map(|mode| (found, mode)))
            }
            Place::Unknown(why) => {
                self.not_known(why);
                Ok(None)
            }
            Place::Nothing | Place::Folder(_) => Ok(None),
        }
    }

    /// Reads what a script, or a part of a manifest, runs in turn.
    fn follow(&mut self, path: &str, part: Option<&set::Part>, from: &From) -> Result<()> {
        let level = from.level + 1;
        if level >= DEPTH || !self.read.insert((path.to_owned(), level)) {
            return Ok(());
        }
        let own = path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        let bases = BTreeSet::from([String::new(), own.clone()]);
        let beside = (!own.is_empty()).then_some(own);
        for at in self.sides {
            let Some(bytes) = self.bytes(at, &RepoPath::from(path))? else { continue };
            if bytes.len() > LONGEST_SCRIPT {
                continue;
            }
            let text = match part {
                Some(part) => {
                    let parts = parts::parts(part.file, part.members, &bytes).unwrap_or_default();
                    // A script's text is a string of JSON: its braces and colons end words, which is what is wanted.
                    parts.into_values().collect::<Vec<_>>().join("\n").replace(':', "\n")
                }
                None => String::from_utf8_lossy(&bytes).into_owned(),
            };
            let from = From { level, beside: beside.clone(), patterns: false };
            if part.is_none() && !product(path) {
                for name in imports::imports(path, &text) {
                    self.script(&name, &[from.beside.clone().unwrap_or_default()], &from, Kind::Interpreted)?;
                }
            }
            self.scan(&text, &bases, &from)?;
        }
        Ok(())
    }
}

/// Where a word stands.
struct From {
    /// How far from the workflow.
    level: usize,
    /// The folder of the script that it stands in.
    beside: Option<String>,
    /// Whether names that are only partly known are taken for scripts.
    patterns: bool,
}

impl From {
    /// The workflow may run anything; what a script names is followed where tools are, and beside the script. A
    /// makefile names the product's own sources too.
    fn reaches(&self, path: &str) -> bool {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        self.level == 0
            || folder.split('/').any(|part| TOOLS.contains(&part))
            || self.beside.as_deref().is_some_and(|beside| folder == beside)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Named as a command, or as an argument of anything: then it must be there to be run.
    ByItself,
    /// Given to an interpreter.
    Interpreted,
    /// Read by a makefile.
    Included,
}

/// The command behind assignments and programs that only start another.
fn unwrapped(words: &[String]) -> &[String] {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let assigns = word
            .split_once('=')
            .is_some_and(|(name, _)| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
        // `timeout 10m`, `nice -n 5`.
        let option = at > 0 && word.starts_with(|c: char| c == '-' || c.is_ascii_digit());
        if !assigns && !option && !WRAPPERS.contains(&word.as_str()) {
            break;
        }
        at += 1;
    }
    &words[at..]
}

fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

pub(super) fn ends_in(path: &str, ends: &[&str]) -> bool {
    let name = base_name(path);
    name.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && ends.contains(&end))
}

/// Ordinary source: below a folder of the product, not in one of tools, and no shell script.
fn product(path: &str) -> bool {
    let mut parts = path.split('/');
    let first = parts.next().unwrap_or_default();
    PRODUCT.contains(&first) && !parts.any(|part| TOOLS.contains(&part)) && !ends_in(path, SHELL)
}
