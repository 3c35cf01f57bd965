//! Which files a text runs, and which those run in turn.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::budget::{Cost, Look, Stop};
use super::folders::Folders;
use super::programs::{FROM_FILE, INTERPRETERS, LOADS, PRODUCT, READERS, SHELL, SOURCE, TOOLS, VALUED, WRAPPERS};
use super::set::{self, ENTRIES};
use super::words::{Command, HOLE, assigns};
use super::{DEPTH, Gather, LONGEST_PATH, LONGEST_SCRIPT, Place, SCRIPT, SIDES, Side};
use super::{imports, inside, join, parts, values, words};
use crate::repo::actions::Workflow;
use crate::repo::{Mode, RepoPath};

impl Gather<'_> {
    pub(super) fn texts(&mut self, workflow: &Workflow, own: &str) -> Look<()> {
        let Workflow { texts, folders, matrix, .. } = workflow;
        let folders = folders.iter().flat_map(|folder| values::of_matrix(folder, matrix)).collect();
        let folders = self.folders_of(&folders, texts, own)?;
        for text in texts {
            let from = From { is_command: text.is_command, ..From::default() };
            for text in values::of_matrix(&text.text, matrix) {
                self.scan(&text, &folders, &from)?;
            }
        }
        Ok(())
    }

    /// Looks for what a text runs, in each of these folders.
    fn scan(&mut self, text: &str, folders: &Folders, from: &From) -> Look<()> {
        for text in values::of_shell(text) {
            self.scan_one(&text, folders, from)?;
        }
        Ok(())
    }

    fn scan_one(&mut self, text: &str, folders: &Folders, from: &From) -> Look<()> {
        let commands = words::commands(text);
        self.budget.spend(Cost::Words, commands.iter().map(|command| command.words.len()).sum())?;
        let (Folders { known, open }, gone) = self.entered(&commands, folders)?;
        let (bases, open) = (Vec::from_iter(known), Vec::from_iter(open));
        let scopes = self.scopes.len();
        let scope = (bases.clone(), gone.clone(), open.clone(), from.beside.clone());
        let scope = *self.scopes.entry(scope).or_insert(scopes);
        let from = &From { scope: Some(scope), gone, open, ..from.clone() };
        let is_fed = |command: &Command| {
            takes_a_script(unwrapped(&command.words)) || (command.is_run && from.level == 0 && from.is_command)
        };
        let fed: BTreeSet<usize> = commands.iter().filter(|command| is_fed(command)).map(|fed| fed.group).collect();
        for command in &commands {
            self.command(&command.words, fed.contains(&command.group), &bases, from)?;
        }
        self.includes(text, &commands, &bases, from)
    }

    fn command(&mut self, words: &[String], fed: bool, bases: &[String], from: &From) -> Look<()> {
        let (all, words) = (words, unwrapped(words));
        let Some(first) = words.first() else { return Ok(()) };
        let program = program(first);
        if all[..all.len() - words.len()].iter().any(|word| ["npx", "bunx"].contains(&word.as_str())) {
            self.package_of(first, bases)?;
        }
        if all[..all.len() - words.len()].iter().any(|word| ENTRIES.contains(&word.as_str())) {
            self.entry(first, bases, from)?;
        }
        self.runners(words, program, bases, from)?;
        for (at, word) in words.iter().enumerate().filter(|(_, word)| word.starts_with("--")) {
            let (option, value) = word.split_once('=').unwrap_or((word, ""));
            if ["--config", "--config-file", "--configuration", "--rcfile"].contains(&option) {
                let file = if value.is_empty() { words.get(at + 1).map_or("", String::as_str) } else { value };
                self.configured(file, bases)?;
            }
        }
        self.loaded(words, program, bases, from)?;
        // A program of the repository, whatever it is called.
        if first.contains('/') || ends_in(first, SHELL) {
            self.script(first, bases, from, Kind::Command)?;
        }
        if fed && !is_interpreter(program) {
            for word in &words[1..] {
                self.script(word, bases, from, Kind::Fed)?;
            }
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
        if ends_in(first, SOURCE) {
            self.script(first, bases, from, Kind::Interpreted)?;
        }
        for (at, word) in words.iter().enumerate().filter(|_| FROM_FILE.contains(&program)) {
            match word.strip_prefix("-f") {
                Some("") => self.script(words.get(at + 1).map_or("", String::as_str), bases, from, Kind::Fed)?,
                Some(file) => self.script(file, bases, from, Kind::Fed)?,
                None => continue,
            };
        }
        if program == "run-parts" {
            self.folder(words.last().map_or("", String::as_str), bases)?;
        }
        self.interpreted(words, program, bases, from)
    }

    /// `run-parts` runs whatever is in a folder.
    fn folder(&mut self, word: &str, bases: &[String]) -> Look<()> {
        for path in bases.iter().map(|base| join(base, word)) {
            for side in SIDES {
                if let Place::Folder(folder) = self.place(side, &path)?
                    && !folder.is_empty()
                {
                    self.add(&folder, SCRIPT)?;
                }
            }
        }
        Ok(())
    }

    /// Files that an option has loaded before everything else: `node -r ./a.js`, `NODE_OPTIONS: --require ./a.js`.
    fn loaded(&mut self, words: &[String], program: &str, bases: &[String], from: &From) -> Look<()> {
        let short =
            is_interpreter(program) || ["mocha", "rspec", "jasmine", "ava", "tap", "nyc", "c8"].contains(&program);
        let ends = ["", ".js", ".cjs", ".mjs", ".ts", ".rb", ".lua", ".pm", "/index.js"];
        for (at, word) in words.iter().enumerate().filter(|(at, word)| *at == 0 || word.starts_with('-')) {
            let (option, value) = word.split_once('=').unwrap_or((word, ""));
            // In front of a text the dashes are gone.
            let bare = |load: &&str| load.strip_prefix("--").is_some_and(|load| load == option);
            let long = option.len() > 2 && (LOADS.contains(&option) || (at == 0 && LOADS.iter().any(bare)));
            let name = if long || (short && option == "-r") {
                if value.is_empty() { words.get(at + 1).map_or("", String::as_str) } else { value }
            } else if short && word.starts_with("-r") && !word.starts_with("--") {
                &word[2..]
            } else {
                continue;
            };
            for end in ends.iter().filter(|_| !name.is_empty()) {
                self.script(&format!("{name}{end}"), bases, from, Kind::Interpreted)?;
            }
        }
        Ok(())
    }

    /// The file that an interpreter is given.
    pub(super) fn interpreted(&mut self, words: &[String], program: &str, bases: &[String], from: &From) -> Look<()> {
        let arguments = match program {
            "go" | "deno" | "bun" if words.get(1).is_some_and(|word| word == "run") => &words[2..],
            _ if is_interpreter(program) => &words[1..],
            _ => return Ok(()),
        };
        let mut after_option = false;
        let mut is_value = false;
        for (at, word) in arguments.iter().enumerate() {
            let value = std::mem::take(&mut is_value);
            match word.as_str() {
                // Behind these nothing is run that a name here leads to.
                "--test" => return Ok(()),
                "-m" => return self.module(arguments.get(at + 1..).unwrap_or_default(), bases, from),
                option if option.starts_with('-') => {
                    is_value = VALUED.contains(&option) || LOADS.contains(&option);
                    after_option = true;
                    continue;
                }
                _ => {}
            }
            let folder = ["__main__.py", "index.js"].map(|name| format!("{}/{name}", word.trim_end_matches('/')));
            let kind = if [".", "source"].contains(&program) { Kind::Sourced } else { Kind::Interpreted };
            let mut found = self.script(word, bases, from, kind)?;
            if let Some((_, set_to)) = word.split_once('=') {
                self.script(set_to, bases, from, Kind::Interpreted)?;
            }
            if program == "go" {
                found |= self.package(word, bases, from)?;
            }
            for file in folder.iter().filter(|_| word.contains('/')) {
                found |= self.script(file, bases, from, Kind::Interpreted)?;
            }
            if !value && (found || !after_option) {
                break;
            }
        }
        Ok(())
    }

    /// `python -m`.
    fn module(&mut self, words: &[String], bases: &[String], from: &From) -> Look<()> {
        let module = words.first().map(|module| module.replace('.', "/")).unwrap_or_default();
        self.runners(words, &module, bases, from)?;
        self.shadows(&module, bases)?;
        for file in [format!("{module}.py"), format!("{module}/__main__.py")] {
            self.script(&file, bases, from, Kind::Interpreted)?;
        }
        Ok(())
    }

    /// A module that comes with the change is taken before the installed one of its name.
    fn shadows(&mut self, module: &str, bases: &[String]) -> Look<()> {
        let name = module.split('/').next().unwrap_or_default();
        if name.is_empty() || name.contains(HOLE) || name.len() > LONGEST_PATH {
            return Ok(());
        }
        for base in bases {
            for path in [format!("{name}.py"), name.to_owned()].map(|name| join(base, &name)) {
                if self.mode(Side::Tip, &path)?.is_none() {
                    self.add(&path, SCRIPT)?;
                }
            }
        }
        Ok(())
    }

    /// A Go program is a folder.
    fn package(&mut self, word: &str, bases: &[String], from: &From) -> Look<bool> {
        let mut any = false;
        for path in bases.iter().map(|base| join(base, word)) {
            for side in SIDES {
                if let Place::Folder(folder) = self.place(side, &path)?
                    && !folder.is_empty()
                    && !product(&folder)
                    && from.reaches(&join(&folder, "main.go"))
                {
                    any = true;
                    self.add(&folder, SCRIPT)?;
                }
            }
        }
        Ok(any)
    }

    fn configured(&mut self, file: &str, bases: &[String]) -> Look<()> {
        for base in bases.iter().filter(|_| !file.is_empty() && !file.contains(HOLE)) {
            for side in SIDES {
                if let Place::File(path) = self.place(side, &join(base, file))? {
                    self.configured.insert(RepoPath::from(path.as_str()));
                }
            }
        }
        Ok(())
    }

    /// The files that a path leads to, on either side.
    pub(super) fn found(&mut self, path: &str) -> Look<BTreeSet<String>> {
        let mut found = BTreeSet::new();
        for side in SIDES {
            match self.place(side, path)? {
                Place::File(path) => drop(found.insert(path)),
                Place::Unknown(why) => return Err(Stop::Unknown(why)),
                Place::Nothing | Place::Folder(_) => {}
            }
        }
        Ok(found)
    }

    /// Takes a word for a script, if there is one of this name. Says whether there is.
    pub(super) fn script(&mut self, word: &str, bases: &[String], from: &From, kind: Kind) -> Look<bool> {
        let word = word.trim_start_matches("./");
        // What a path starts with at run time is most often the folder that one is in anyway.
        let (anywhere, word) = match word.split_once('/') {
            Some((first, rest)) if first.contains(HOLE) => (true, rest),
            _ => (false, word),
        };
        if word.is_empty() || word.starts_with(['/', '~', '-']) || word.contains("://") || word.len() > LONGEST_PATH {
            return Ok(false);
        }
        if !anywhere {
            self.script_in_open(word, from, kind)?;
        }
        let open = word.contains([HOLE, '*', '?']);
        if from.is_command && (open || anywhere) {
            let pattern = word.replace(HOLE, "*");
            if pattern.chars().filter(|c| c.is_alphanumeric()).count() >= 2 {
                if anywhere {
                    self.add_pattern(join("**", &pattern))?;
                }
                for base in bases.iter().filter(|_| !anywhere) {
                    self.add_pattern(join(base, &pattern))?;
                }
            }
        }
        if open {
            return Ok(false);
        }
        let known = from.scope.map(|scope| (scope, from.level, from.is_command, kind, word.to_owned()));
        if let Some(any) = known.as_ref().and_then(|known| self.named.get(known)) {
            return Ok(*any);
        }
        let mut any = false;
        let near = self.bases_with(word, bases, from)?;
        let mut paths: BTreeSet<String> = near.iter().map(|base| join(base, word)).collect();
        if word.starts_with("..") {
            paths.extend(from.gone.iter().filter_map(|base| inside(&join(base, word))));
        }
        for path in paths {
            for side in SIDES {
                let Some((found, mode)) = self.at_end(side, &path)? else { continue };
                if self.counts(side, &found, mode, from, kind)? {
                    any = true;
                    self.add(&found, SCRIPT)?;
                    if let Some(package) = installed(&found) {
                        self.add(package, SCRIPT)?;
                    }
                    self.follow(&found, None, from);
                }
            }
        }
        if let Some(known) = known {
            self.named.insert(known, any);
        }
        Ok(any)
    }

    /// The folders in which a name's first part stands for something. Many names begin alike.
    fn bases_with(&mut self, word: &str, bases: &[String], from: &From) -> Look<Rc<[String]>> {
        let first = word.split('/').next().unwrap_or_default();
        let (Some(scope), false) = (from.scope, first == "..") else { return Ok(bases.into()) };
        let key = (scope, first.to_owned());
        if let Some(near) = self.near.get(&key) {
            return Ok(Rc::clone(near));
        }
        let mut near = Vec::new();
        for base in bases {
            let path = join(base, first);
            let mut there = false;
            for side in SIDES {
                there |= !matches!(self.place(side, &path)?, Place::Nothing);
            }
            if there {
                near.push(base.clone());
            }
        }
        let near: Rc<[String]> = near.into();
        self.near.insert(key, Rc::clone(&near));
        Ok(near)
    }

    /// Whether a file that is named so is run.
    fn counts(&mut self, side: Side, found: &str, mode: Mode, from: &From, kind: Kind) -> Look<bool> {
        let plain = !base_name(found).contains('.');
        // What a step itself names is a script wherever it lies.
        let near = from.level == 0 || !product(found);
        Ok(match kind {
            Kind::Included => true,
            Kind::Command if from.level == 0 && from.is_command && plain => true,
            Kind::Command => near && from.reaches(found) && self.runs_by_itself(side, found, mode)?,
            Kind::ByItself => !product(found) && from.reaches(found) && self.runs_by_itself(side, found, mode)?,
            Kind::Interpreted => {
                near && from.reaches(found) && (plain || ends_in(found, SHELL) || ends_in(found, SOURCE))
            }
            Kind::Fed => near && from.reaches(found),
            // One that the default branch does not have comes into its script without a word of that being changed.
            Kind::Sourced => {
                self.counts(side, found, mode, from, Kind::Interpreted)? || self.mode(Side::Tip, found)?.is_none()
            }
        })
    }

    /// The file at the end of a path, with its mode.
    fn at_end(&mut self, side: Side, path: &str) -> Look<Option<(String, Mode)>> {
        match self.place(side, path)? {
            Place::File(found) => {
                let mode = self.mode(side, &found)?;
                Ok(mode.map(|mode| (found, mode)))
            }
            Place::Unknown(why) => Err(Stop::Unknown(why)),
            Place::Nothing | Place::Folder(_) => Ok(None),
        }
    }

    /// Has what a script, or a part of a manifest, runs in turn looked for, once all that is nearer was read.
    pub(super) fn follow(&mut self, path: &str, part: Option<&'static set::Part>, from: &From) {
        let key = (path.to_owned(), part.map(|part| part.what));
        if from.level + 1 < DEPTH && self.followed.insert(key) {
            self.open.push_back(Open { path: path.to_owned(), part, level: from.level + 1 });
        }
    }

    /// Reads what was found, the nearest to the workflow first: so each is read once, and followed as far as it may be.
    pub(super) fn followed(&mut self) -> Look<()> {
        while let Some(open) = self.open.pop_front() {
            self.read(&open)?;
        }
        Ok(())
    }

    fn read(&mut self, open: &Open) -> Look<()> {
        let Open { path, part, level } = open;
        let (part, level) = (*part, *level);
        let own = path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        let folders = Folders { known: BTreeSet::from([String::new(), own.clone()]), ..Folders::default() };
        let beside = (!own.is_empty()).then_some(own.clone());
        for side in SIDES {
            let Place::File(path) = self.place(side, path)? else { continue };
            let Some((blob, bytes)) = self.blob(self.at(side), &RepoPath::from(path.as_str()))? else { continue };
            if bytes.len() > LONGEST_SCRIPT {
                continue;
            }
            let key = (blob, join(&own, end_of(&path)), part.map(|part| part.what));
            if !self.scanned.insert(key) {
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
            let from = From { level, beside: beside.clone(), file: base_name(&path).to_owned(), ..From::default() };
            if part.is_none() && !product(&path) {
                for name in imports::imports(&path, &text) {
                    self.script(&name, std::slice::from_ref(&own), &from, Kind::Interpreted)?;
                }
            }
            self.scan(&text, &folders, &from)?;
        }
        Ok(())
    }
}

/// A script that waits to be read.
pub(super) struct Open {
    path: String,
    part: Option<&'static set::Part>,
    level: usize,
}

/// Where a word stands.
#[derive(Clone, Default)]
pub(super) struct From {
    /// How far from the workflow.
    pub(super) level: usize,
    /// The folder of the script that it stands in.
    pub(super) beside: Option<String>,
    /// A step runs it. Then names that are only partly known are taken for scripts too.
    pub(super) is_command: bool,
    /// The name of the file that it stands in, when that is no workflow.
    pub(super) file: String,
    /// Which folders it is seen from, as a number.
    pub(super) scope: Option<usize>,
    /// Folders among them that are not there.
    pub(super) gone: Vec<String>,
    /// Patterns of folders that are only known when it runs.
    pub(super) open: Vec<String>,
}

impl From {
    /// The workflow may run anything; what a script names is followed where tools are, and beside the script. A
    /// makefile names the product's own sources too.
    pub(super) fn reaches(&self, path: &str) -> bool {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        self.level == 0
            || folder.split('/').any(|part| TOOLS.contains(&part))
            || self.beside.as_deref().is_some_and(|beside| folder == beside)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// Named as the command itself.
    Command,
    /// Named as an argument of anything: then it must be there to be run.
    ByItself,
    /// Given to an interpreter.
    Interpreted,
    /// Read into the script itself.
    Sourced,
    /// Read by something whose output an interpreter runs.
    Fed,
    /// Read by a task file.
    Included,
}

/// The command behind assignments, keys of YAML and programs that only start another.
pub(super) fn unwrapped(words: &[String]) -> &[String] {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        // `timeout 10m`, `nice -n 5`.
        let option = at > 0 && word.starts_with(|c: char| c == '-' || c.is_ascii_digit());
        let key = word.len() > 1 && word.ends_with(':') && at + 1 < words.len();
        if !assigns(word) && !option && !key && !WRAPPERS.contains(&word.as_str()) {
            break;
        }
        at += 1;
    }
    &words[at..]
}

/// A program that runs what it reads: `bash`, `sh -s`, `python -`, `eval` before what another prints.
fn takes_a_script(words: &[String]) -> bool {
    let bare = |words: &[String]| {
        let Some(program) = words.first().map(|word| program(word)) else { return false };
        let behind = words[1..].iter().take_while(|word| !["-s", "--"].contains(&word.as_str()));
        (program == "eval" || is_interpreter(program))
            && behind.into_iter().all(|word| word.starts_with('-') || word == "/dev/stdin")
    };
    let inside = words.first().is_some_and(|word| ["docker", "podman", "ssh", "kubectl"].contains(&program(word)));
    bare(words) || (inside && (1..words.len()).any(|at| bare(&words[at..])))
}

fn is_interpreter(program: &str) -> bool {
    let version = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.contains(&program) || (!version.is_empty() && INTERPRETERS.contains(&version))
}

/// What a word runs: the name without its folder and without what only Windows writes.
pub(super) fn program(word: &str) -> &str {
    let name = base_name(word);
    [".exe", ".bat", ".cmd"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

/// The folder of the installed package that a path is in.
fn installed(path: &str) -> Option<&str> {
    let begin = path.rfind("node_modules/").map(|at| at + "node_modules/".len())?;
    let parts = 1 + usize::from(path[begin..].starts_with('@'));
    let name: usize = path[begin..].split('/').take(parts).map(|part| part.len() + 1).sum::<usize>() - 1;
    (begin + name < path.len()).then(|| &path[..begin + name])
}

pub(super) fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

fn end_of(path: &str) -> &str {
    base_name(path).rsplit_once('.').map_or(base_name(path), |(_, end)| end)
}

pub(super) fn ends_in(path: &str, ends: &[&str]) -> bool {
    let name = base_name(path);
    name.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && ends.contains(&end))
}

/// Ordinary source: below a folder of the product, not in one of tools, and no shell script.
pub(super) fn product(path: &str) -> bool {
    let mut parts = path.split('/');
    let first = parts.next().unwrap_or_default();
    PRODUCT.contains(&first) && !parts.any(|part| TOOLS.contains(&part)) && !ends_in(path, SHELL)
}
