//! Programs that run what a file beside them says, and what such a file takes from others.

use super::budget::{Cost, Look};
use super::folders::pattern;
use super::follow::{From, Kind, base_name, program};
use super::set::{NODE, PARTS, RUNNERS};
use super::words::{Command, HOLE};
use super::{Gather, Place, SCRIPT, SIDES, join};
use crate::policy;
use crate::repo::{Filter, RepoPath};

/// Options that name the task file.
const FILE_OPTIONS: &[&str] = &[
    "-f",
    "--file",
    "-file",
    "-buildfile",
    "--makefile",
    "--justfile",
    "--taskfile",
    "-t",
    "--gulpfile",
    "--gruntfile",
    "--jakefile",
    "--rakefile",
    "-b",
    "--build-file",
    "-s",
    "--snakefile",
    "--sconstruct",
    "-c",
];

/// Programs whose arguments name the folder that the task file is in.
const WITH_FOLDER: &[&str] =
    &["docker", "podman", "buildah", "cmake", "meson", "earthly", "nix", "nix-build", "nix-shell", "invoke", "gradle"];

/// Programs that start one of an installed package.
const STARTERS: &[&str] = &["bundle", "pipx", "uvx", "npx", "bunx", "rye", "nix", "direnv", "mise", "dotenv"];

impl Gather<'_> {
    pub(super) fn runners(&mut self, words: &[String], program: &str, bases: &[String], from: &From) -> Look<()> {
        let rest = words.get(1..).unwrap_or_default();
        if program == "cargo" {
            self.cargo(rest, bases, 0)?;
        }
        let xtask = |word: &String| matches!(word.as_str(), "xtask" | "--package=xtask" | "-pxtask");
        let line = match program {
            // However its options stand.
            "cargo" if rest.iter().any(|word| word == "run") && rest.iter().any(xtask) => {
                "cargo run -p xtask ".to_owned()
            }
            _ => rest.iter().take(3).fold(format!("{program} "), |line, word| format!("{line}{word} ")),
        };
        for part in PARTS {
            let Some(asked) = part.after.iter().find(|name| **name == program) else { continue };
            self.programs.insert(asked);
            if from.scope.is_some_and(|scope| !self.asked.insert((scope, from.level, part.file, part.members))) {
                continue;
            }
            for base in bases {
                self.follow(&join(base, part.file), Some(part), from);
            }
        }
        let asked = |name: &&str| line.strip_prefix(*name).is_some_and(|rest| rest.starts_with(' '));
        let mut any = false;
        let (mut named, mut named_open) = (Vec::new(), Vec::new());
        for runner in RUNNERS.iter().filter(|runner| runner.commands.iter().any(asked)) {
            if !any && WITH_FOLDER.contains(&program) {
                named = self.folders(rest, bases)?;
                named_open = open_arguments(&line, rest);
            }
            any = true;
            let seen =
                from.scope.is_some_and(|scope| !self.asked.insert((scope, from.level, runner.what, runner.files)));
            let folders: Vec<&String> = bases.iter().filter(|_| !seen).chain(&named).collect();
            let open: Vec<&String> = from.open.iter().filter(|_| !seen).chain(&named_open).collect();
            for file in runner.files {
                // Whole folders are meant by name only where one is: others have a `tasks` or a `project` too.
                let is_open = !file.starts_with("**/") && !["tasks/**", "project/**", "dagger/**"].contains(file);
                for folder in open.iter().filter(|_| is_open) {
                    self.add_glob(join(folder, file), runner.what)?;
                }
                for base in &folders {
                    let path = join(base, file);
                    if file.contains('*') {
                        // One that is meant wherever it stands is met from the root.
                        if !file.starts_with("**/") || base.is_empty() {
                            self.add_glob(path, runner.what)?;
                        }
                        continue;
                    }
                    let found = self.found(&path)?;
                    // One that comes with the change may be taken before the one that is there.
                    self.add(&path, runner.what)?;
                    for path in found {
                        self.add(&path, runner.what)?;
                        self.follow(&path, None, from);
                    }
                }
            }
        }
        if any {
            self.task_files(rest, bases, from)?;
        }
        self.started(words, program, bases, from)
    }

    /// A program of an installed package: `yarn gulp`, `bundle exec rake`.
    fn started(&mut self, words: &[String], program: &str, bases: &[String], from: &From) -> Look<()> {
        if !NODE.contains(&program) && !STARTERS.contains(&program) {
            return Ok(());
        }
        let starts = |word: &&String| {
            word.starts_with('-') || ["exec", "x", "dlx", "run", "develop", "tool"].contains(&word.as_str())
        };
        let behind = words.iter().skip(1).take_while(starts).count() + 1;
        let Some(rest) = words.get(behind..).filter(|rest| !rest.is_empty()) else { return Ok(()) };
        let name = program_of(rest);
        // Each starts at most one that starts others.
        let of_tasks = |name: &str| ["nx", "turbo", "lerna"].contains(&name);
        if (!NODE.contains(&name) || (of_tasks(name) && !of_tasks(program))) && !STARTERS.contains(&name) {
            self.runners(rest, name, bases, from)?;
        }
        self.interpreted(rest, name, bases, from)?;
        self.package_of(&rest[0], bases)
    }

    /// The installed package of a program, where it is in the repository or comes with the change.
    pub(super) fn package_of(&mut self, word: &str, bases: &[String]) -> Look<()> {
        let name = word.rsplit_once('@').map_or(word, |(name, _)| if name.is_empty() { word } else { name });
        if name.len() < 200 && !name.contains([HOLE, '*']) && !name.contains("..") && !name.starts_with(['/', '-', '.'])
        {
            for base in bases {
                self.add(&join(base, &join("node_modules", name)), SCRIPT)?;
            }
        }
        Ok(())
    }

    /// Folders among the arguments: `docker build ./docker/test`, `earthly ./web+test`, `nix build ./web#test`.
    fn folders(&mut self, words: &[String], bases: &[String]) -> Look<Vec<String>> {
        let mut folders = Vec::new();
        for word in words {
            let word = word.split_once('=').map_or(word.as_str(), |(_, value)| value);
            let word = word.split(['+', '#']).next().unwrap_or_default();
            if word.is_empty() || word.starts_with(['-', '/', '~']) || word.contains(HOLE) || word.contains("://") {
                continue;
            }
            for path in bases.iter().map(|base| join(base, word)) {
                for side in SIDES {
                    if let Place::Folder(folder) = self.place(side, &path)?
                        && !bases.contains(&folder)
                        && !folders.contains(&folder)
                    {
                        folders.push(folder);
                    }
                }
            }
        }
        Ok(folders)
    }

    /// The task file that an option names.
    fn task_files(&mut self, words: &[String], bases: &[String], from: &From) -> Look<()> {
        for (at, word) in words.iter().enumerate() {
            let (option, value) = word.split_once('=').unwrap_or((word, ""));
            if FILE_OPTIONS.contains(&option) {
                let file = if value.is_empty() { words.get(at + 1).map_or("", String::as_str) } else { value };
                // What else stands behind the short ones is most often no file.
                if file.contains(HOLE) && ["-f", "--file", "--makefile", "--justfile", "--taskfile"].contains(&option) {
                    self.included(file, bases, from)?;
                    if let Some((_, name)) = file.split_once('/').filter(|(first, _)| first.contains(HOLE))
                        && name.chars().filter(|c| c.is_alphanumeric()).count() >= 2
                        && !name.contains("..")
                    {
                        self.add_glob(join("**", &name.replace(HOLE, "*")), SCRIPT)?;
                    }
                }
                self.script(file, bases, from, Kind::Included)?;
            } else if let Some(file) = word.strip_prefix("-f") {
                self.script(file, bases, from, Kind::Included)?;
            }
        }
        Ok(())
    }

    /// A file that is included, or as many as its stars mean.
    fn included(&mut self, word: &str, bases: &[String], from: &From) -> Look<()> {
        self.script(word, bases, from, Kind::Included)?;
        let word = word.trim_start_matches("./");
        let (anywhere, word) = match word.split_once('/') {
            Some((first, rest)) if first.contains(HOLE) => (true, rest),
            _ => (false, word),
        };
        let is_named = word.chars().filter(|c| c.is_alphanumeric()).count() >= 2;
        if !word.contains([HOLE, '*', '?']) || !is_named || word.starts_with(['/', '~']) || word.contains("..") {
            return Ok(());
        }
        let pattern = word.replace(HOLE, "*");
        for base in bases {
            let glob = join(base, &pattern);
            self.add_glob(glob.clone(), SCRIPT)?;
            self.follow_all(&glob, from)?;
        }
        if anywhere {
            self.add_glob(join("**", &pattern), SCRIPT)?;
        }
        Ok(())
    }

    /// Has what a name with stars means followed, as far as it begins with a folder.
    fn follow_all(&mut self, glob: &str, from: &From) -> Look<()> {
        let begin = glob.split(['*', '?']).next().and_then(|begin| begin.rsplit_once('/'));
        let (Some((folder, _)), Ok(globs)) = (begin, policy::globs([glob])) else { return Ok(()) };
        for side in SIDES {
            let Place::Folder(folder) = self.place(side, folder)? else { continue };
            let below = self.reader.tree(self.at(side), Filter::Under(&RepoPath::from(folder.as_str())))?;
            self.budget.spend(Cost::Entries, below.len())?;
            for path in below.iter().filter(|entry| entry.path.matches(&globs)).filter_map(|entry| entry.path.as_str())
            {
                self.follow(path, None, from);
            }
        }
        Ok(())
    }

    /// What a task file takes from others: make's `include`, just's `import` and `mod`, Task's `includes`.
    pub(super) fn includes(&mut self, text: &str, commands: &[Command], bases: &[String], from: &From) -> Look<()> {
        if from.level == 0 {
            return Ok(());
        }
        let name = from.file.to_ascii_lowercase();
        let just = name.ends_with("justfile") || name.ends_with(".just");
        let make = name.starts_with("makefile") || name.starts_with("gnumakefile") || name.ends_with(".mk");
        let mut including = None;
        for command in commands {
            let words = &command.words;
            match words[0].as_str() {
                "include" | "sinclude" => {
                    including = Some(command.group);
                    for word in &words[1..] {
                        self.included(word, bases, from)?;
                    }
                }
                // `include $(sort $(wildcard rules/*.mk))`.
                _ if make && including == Some(command.group) => {
                    for word in words {
                        self.included(word, bases, from)?;
                    }
                }
                // What is put into a variable may be included by it.
                "wildcard" if make => {
                    for word in words.iter().filter(|word| word.ends_with(".mk")) {
                        self.included(word, bases, from)?;
                    }
                }
                "import" | "import?" if just => {
                    for word in &words[1..] {
                        self.script(word, bases, from, Kind::Included)?;
                    }
                }
                "mod" | "mod?" if just => {
                    for word in &words[1..] {
                        let places = ["", ".just", "/mod.just", "/justfile", "/Justfile", "/.justfile"];
                        for place in places.map(|end| format!("{word}{end}")) {
                            self.script(&place, bases, from, Kind::Included)?;
                        }
                    }
                }
                _ => {}
            }
        }
        if name.starts_with("taskfile") || name.ends_with(".yml") || name.ends_with(".yaml") {
            for word in included_tasks(text) {
                for end in ["", "/Taskfile.yml", "/Taskfile.yaml", "/Taskfile.dist.yml", "/taskfile.yml"] {
                    self.script(&format!("{}{end}", word.trim_end_matches('/')), bases, from, Kind::Included)?;
                }
            }
        }
        Ok(())
    }
}

/// Folders among the arguments of a build that are only known when it runs: `docker build services/$NAME`. Behind an option
/// most often stands no folder, unless it is the last word.
fn open_arguments(line: &str, words: &[String]) -> Vec<String> {
    if line.contains("compose") {
        return Vec::new();
    }
    let is_argument = |at: usize| {
        !words[at].starts_with('-') && (at + 1 == words.len() || at == 0 || !words[at - 1].starts_with('-'))
    };
    (0..words.len()).filter(|at| is_argument(*at)).filter_map(|at| pattern(&words[at])).collect()
}

fn program_of(words: &[String]) -> &str {
    words.first().map_or("", |word| program(base_name(word)))
}

/// The words below `includes:`.
fn included_tasks(text: &str) -> Vec<&str> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
        let line = match line.strip_prefix("includes:") {
            Some(rest) => {
                inside = true;
                rest
            }
            None => {
                inside &= line.is_empty() || line.starts_with([' ', '\t', '-', '}', '\r']);
                line
            }
        };
        if inside {
            let words = line.split([' ', '\t', ',', '{', '}', '[', ']', '"', '\'', '\r']);
            found.extend(words.filter(|word| word.len() > 1 && !word.ends_with(':')));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_includes_of_a_task_file_are_found_in_their_spellings() {
        let text = "version: '3'\nincludes:\n  docs: ./docs\n  # old: ./old\n  ci: {taskfile: \"ci/lint.yml\"}\n\n  web:\n    taskfile: web.yml\ntasks:\n  test: ./no.yml\n";
        assert_eq!(included_tasks(text), ["./docs", "ci/lint.yml", "web.yml"]);
        assert_eq!(included_tasks("includes: {a: ./a.yml}\ntasks: {}\n"), ["./a.yml"]);
    }
}
