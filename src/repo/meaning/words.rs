//! The words of a text that a shell would run, as far as they can be told without running it.
//!
//! This is no shell. Quotes are dropped, so what is quoted is looked into (`bash -c "ci/test.sh"`), and everything that
//! is only known at run time becomes a [`HOLE`]. What is in quotes is known only so far that no comment begins there. What is read wrongly costs a comparison too many.

/// Stands for what is only known when it runs: a variable, an expression.
pub(super) const HOLE: char = '\u{1}';

/// More words than a text has that anybody wrote.
const MOST_WORDS: usize = 50_000;

/// A simple command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) words: Vec<String>,
    /// Those that are piped into each other, or stand inside each other, are of one group.
    pub(super) group: usize,
    /// What it prints stands in the place of a command.
    pub(super) is_run: bool,
}

/// The simple commands of a text. Where a variable has a default (`${X:-ci/test.sh}`), it is read twice: with a hole in
/// its place, and with the default.
pub(super) fn commands(text: &str) -> Vec<Command> {
    let chars: Vec<char> = text.chars().collect();
    let mut first = Reader { chars: &chars, ..Reader::default() };
    first.read();
    let mut found = first.commands;
    let mut group = first.group + 1;
    let mut more = |found: &mut Vec<Command>, chars: &[char]| {
        let mut reader = Reader { chars, group, takes_defaults: true, ..Reader::default() };
        reader.read();
        group = reader.group + 1;
        found.extend(reader.commands);
    };
    if first.has_defaults {
        more(&mut found, &chars);
    }
    if !first.literals.is_empty() {
        more(&mut found, &first.literals);
    }
    found
}

fn named(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '_' | '-')
}

/// `NAME=`, or `NAME=value`.
pub(super) fn assigns(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Variables that hold the repository's folder or the one that one is in, by their names without what joins them.
const HERE: &[&str] = &[
    "githubworkspace",
    "githubactionpath",
    "workspace",
    "pwd",
    "curdir",
    "root",
    "rootdir",
    "reporoot",
    "repodir",
    "gitroot",
    "projectroot",
    "projectdir",
    "basedir",
    "topdir",
    "toplevel",
    "here",
    "scriptdir",
];

/// Variables that hold a folder outside the repository.
const OUTSIDE: &[&str] = &["home", "runnertemp", "tmpdir", "runnertoolcache"];

/// What a path that starts with a variable starts with, where its name says so.
fn begins(variable: &[char]) -> Option<char> {
    let name = variable.iter().filter(|c| c.is_alphanumeric()).flat_map(|c| c.to_lowercase());
    let name: String = name.take(20).collect();
    let is_in = |names: &[&str]| names.contains(&name.as_str());
    if is_in(OUTSIDE) { Some('~') } else { is_in(HERE).then_some('.') }
}

#[derive(Default)]
struct Reader<'a> {
    chars: &'a [char],
    takes_defaults: bool,
    has_defaults: bool,
    /// Defaults that are open.
    defaults: usize,
    commands: Vec<Command>,
    command: Vec<String>,
    word: String,
    words: usize,
    group: usize,
    parens: usize,
    is_run: bool,
    /// The open quote: as it runs on, and as this line alone would have it.
    quote: Option<char>,
    quote_of_line: Option<char>,
    /// How many words stood before the value that is in quotes.
    assigning: Option<usize>,
    /// Texts that an expression may come to.
    literals: Vec<char>,
    /// Where the next end of an expression and of a variable stands, once looked for.
    ends: [Option<usize>; 2],
}

impl Reader<'_> {
    fn read(&mut self) {
        let mut at = 0;
        while at < self.chars.len() && self.words < MOST_WORDS {
            let (c, next) = (self.chars[at], self.chars.get(at + 1).copied());
            let before = at.checked_sub(1).map(|before| self.chars[before]);
            at += 1;
            match c {
                '\\' if next == Some('\n') => at += 1,
                '\\' if next == Some('\r') => at += 2,
                '\\' if matches!(next, Some('"' | '\'')) && self.quote != Some('\'') => at += 1,
                // A path of Windows; elsewhere the backslash only protects what follows.
                '\\' if next.is_some_and(named) && self.word.chars().last().is_some_and(named) => self.word.push('/'),
                '\\' => {}
                '\'' | '"' => self.quoted(c),
                '$' => at = self.variable(at),
                // In quotes it begins no comment. Whether one is in quotes can't be told for sure in a text that may
                // be of any language: where either way to tell says so, the rest of the line is looked at.
                '#' if self.word.is_empty() && self.quote.is_none() && self.quote_of_line.is_none() => {
                    while at < self.chars.len() && self.chars[at] != '\n' {
                        at += 1;
                    }
                }
                '}' if self.defaults > 0 => self.defaults -= 1,
                ' ' | '\t' | '\r' | ',' | '[' | ']' | '<' | '>' => self.end_word(),
                // `2>&1`, `&>log`.
                '&' if matches!(before, Some('>' | '<')) || next == Some('>') => self.end_word(),
                '|' if next != Some('|') && before != Some('|') => {
                    at += usize::from(next == Some('&'));
                    self.end_command();
                }
                '(' | '`' => {
                    let is_run = self.command.is_empty() && self.word.is_empty() && (c == '`' || before == Some('$'));
                    self.end_command();
                    self.is_run = is_run;
                    self.parens += usize::from(c == '(');
                }
                ')' => {
                    self.end_command();
                    self.parens = self.parens.saturating_sub(1);
                }
                '{' | '}' => self.end_command(),
                '\n' | ';' | '&' | '|' => {
                    self.end_command();
                    if self.parens == 0 {
                        self.group += 1;
                    }
                    if c == '\n' {
                        self.quote_of_line = None;
                    }
                }
                c => self.word.push(c),
            }
        }
        self.end_command();
    }

    fn quoted(&mut self, c: char) {
        let turn = |quote: &mut Option<char>| match quote {
            None => *quote = Some(c),
            Some(open) if *open == c => *quote = None,
            Some(_) => {}
        };
        turn(&mut self.quote_of_line);
        turn(&mut self.quote);
        if self.quote == Some(c) {
            let value =
                self.word.ends_with('=') && assigns(&self.word) && self.command.iter().all(|word| assigns(word));
            self.assigning = value.then_some(self.command.len());
        } else if self.quote.is_none()
            && let Some(before) = self.assigning.take()
            && self.command.len() > before
        {
            // `A="x y" npm test`: what the variable is given is no part of the command.
            self.end_command();
        }
    }

    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        // In front of a recipe's line these two only say how make prints and fails.
        let word = if self.command.is_empty() { word.trim_start_matches(['@', '-']) } else { &word };
        if !word.is_empty() {
            self.words += 1;
            self.command.push(word.to_owned());
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.assigning = None;
        let is_run = std::mem::take(&mut self.is_run);
        let words = std::mem::take(&mut self.command);
        if !words.is_empty() {
            self.commands.push(Command { words, group: self.group, is_run });
        }
    }

    /// Where an end stands, from here on. Looked for once, so that many beginnings without an end cost no more.
    fn end(&mut self, which: usize, from: usize) -> Option<usize> {
        let is_end = |at: usize| self.chars[at] == '}' && (which == 1 || self.chars.get(at + 1) == Some(&'}'));
        let at = match self.ends[which] {
            Some(at) if at >= from => at,
            _ => (from..self.chars.len()).find(|at| is_end(*at)).unwrap_or(usize::MAX),
        };
        self.ends[which] = Some(at);
        (at != usize::MAX).then_some(at)
    }

    /// What stands behind a `$`; gives back where to go on.
    fn variable(&mut self, at: usize) -> usize {
        let chars = self.chars;
        let name = |from: usize| {
            let is_name = |c: &&char| c.is_alphanumeric() || **c == '_';
            from + chars[from.min(chars.len())..].iter().take_while(is_name).count()
        };
        let next = match (chars.get(at), chars.get(at + 1)) {
            (Some('{'), Some('{')) => self.end(0, at + 2).map(|end| {
                self.literals_of(at + 2, end);
                end + 2
            }),
            (Some('{'), _) => {
                let end = name(at + 1);
                let colon = usize::from(chars.get(end) == Some(&':'));
                if end > at + 1 && matches!(chars.get(end + colon), Some('-' | '=' | '+')) {
                    self.has_defaults = true;
                    if self.takes_defaults {
                        self.defaults += 1;
                        return end + colon + 1;
                    }
                }
                self.end(1, at + 1).map(|end| end + 1)
            }
            (Some('('), _) => {
                let end = at + 1 + chars[at + 1..].iter().take_while(|c| named(**c)).count();
                (chars.get(end) == Some(&')')).then_some(end + 1)
            }
            // In a makefile, one that the shell is to see.
            (Some('$'), Some(c)) if c.is_alphabetic() || matches!(c, '_' | '{' | '(') => return self.variable(at + 1),
            (Some('#' | '?' | '@' | '*' | '$' | '!'), _) => Some(at + 1),
            _ => Some(name(at)).filter(|end| *end > at),
        };
        match next {
            Some(next) if chars[at..next].iter().filter(|c| c.is_alphanumeric()).eq(&['M', 'A', 'K', 'E']) => {
                self.word.push_str("make");
                next
            }
            Some(next) => {
                let begin = self.word.is_empty() || self.word.ends_with('=');
                self.word.push(begins(&chars[at..next]).filter(|_| begin).unwrap_or(HOLE));
                next
            }
            None => at,
        }
    }

    /// `${{ inputs.script || './ci/test.sh' }}` may come to what it names.
    fn literals_of(&mut self, from: usize, to: usize) {
        let mut open: Option<(usize, bool)> = None;
        let mut last = [' ', ' '];
        for at in from..to {
            match (self.chars[at], open) {
                ('\'', None) => open = Some((at + 1, matches!(last, ['|', '|'] | ['&', '&']))),
                ('\'', Some((begin, counts))) => {
                    if counts {
                        self.literals.extend(&self.chars[begin..at]);
                        self.literals.push('\n');
                    }
                    open = None;
                    last = [' ', ' '];
                }
                (c, None) if !c.is_whitespace() => last = [last[1], c],
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Vec<String> {
        commands(text).into_iter().map(|command| command.words.join(" ").replace(HOLE, "*")).collect()
    }

    #[test]
    fn a_text_falls_into_simple_commands() {
        let cases = [
            ("set -e\ncd web && npm test", vec!["set -e", "cd web", "npm test"]),
            ("bash -c \"cd x; ./y.sh 'a b'\"", vec!["bash -c cd x", "./y.sh a b"]),
            ("./a.sh \\\n  --flag # and so on\n# ./no.sh\nb", vec!["./a.sh --flag", "b"]),
            ("./t-${{ matrix.os }}.sh $X ${Y}/z.sh", vec!["./t-*.sh * */z.sh"]),
            ("\t@$(MAKE) -C sub && echo $(ls ci)", vec!["make -C sub", "echo", "ls ci"]),
            ("run([\"bash\", \"ci/x.sh\"])", vec!["run", "bash ci/x.sh"]),
            (".\\ci\\test.ps1 -All", vec!["./ci/test.ps1 -All"]),
            ("A=1 B=\"2\" ./x", vec!["A=1 B=2 ./x"]),
            ("A=1 B=\"2 3\" ./x", vec!["A=1 B=2 3", "./x"]),
            ("echo \"# Tests\" && ./x # ./no", vec!["echo # Tests", "./x"]),
            ("echo \"one\n# two\" && ./x", vec!["echo one", "# two", "./x"]),
            ("don't\necho 'a # b' && ./x", vec!["dont", "echo a # b", "./x"]),
            ("echo \\\"; # ./no", vec!["echo"]),
            ("[ $# -eq 0 ] && ./x $@", vec!["* -eq 0", "./x *"]),
            ("bash ${D:-ci}/x ${Y#a}", vec!["bash */x *", "bash ci/x *"]),
            ("${X:=${Y:+./y.sh}} -a", vec!["*", "a", "./y.sh -a"]),
            ("${{ inputs.x || './x.sh' }} ${{ a == './y.sh' }}", vec!["* *", "./x.sh"]),
            ("$(MAKE) ${MAKE} a", vec!["make make a"]),
            ("\tfor d in a b; do $(MAKE) -C $$d; done", vec!["for d in a b", "do make -C *", "done"]),
            ("cd $GITHUB_WORKSPACE/a -C${{ github.workspace }}/b $(CURDIR) --x=$PWD", vec!["cd ./a -C*/b . --x=."]),
            ("cd ${{ runner.temp }} && cd $HOME/x && cd a$HOME", vec!["cd ~", "cd ~/x", "cd a*"]),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_piped_is_of_one_group() {
        let groups = |text: &str| commands(text).iter().map(|command| command.group).collect::<Vec<_>>();
        assert_eq!(groups("cat a 2>&1 | tee b |& bash; c || d && e &\nf"), [0, 0, 0, 1, 3, 5, 7]);
        assert_eq!(groups("bash <(cat a; cat b)\nc"), [0, 0, 0, 1]);
        let run = |text: &str| commands(text).iter().any(|command| command.is_run);
        assert!(run("$(cat a)") && run("`cat a`") && run("\"$(cat a)\""));
        assert!(!run("x $(cat a)") && !run("X=$(cat a)") && !run("(cat a)\n"));
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in "((\\$|\\{|\\}|\\(|\\)|\\\\|\n|#|'|\"|a|/|é| |MAKE|\\*){1,3}){0,40}") {
            for word in commands(&text).into_iter().flat_map(|command| command.words) {
                prop_assert!(!word.is_empty() && !word.contains([' ', '\n']));
            }
        }
    }
}
