//! The words of a text that a shell would run, as far as they can be told without running it.
//!
//! This is no shell. Quotes are dropped, so what is quoted is looked into (`bash -c "ci/test.sh"`), and everything that
//! is only known at run time becomes a [`HOLE`]. What is read wrongly costs a comparison too many.

/// Stands for what is only known when it runs: a variable, an expression.
pub(super) const HOLE: char = '\u{1}';

/// More words than any workflow has.
const MOST_WORDS: usize = 50_000;

/// The simple commands of a text, each as its words.
pub(super) fn commands(text: &str) -> Vec<Vec<String>> {
    let mut out = Reader { commands: Vec::new(), command: Vec::new(), word: String::new(), words: 0 };
    let chars: Vec<char> = text.chars().collect();
    let mut at = 0;
    while at < chars.len() && out.words < MOST_WORDS {
        let (c, next) = (chars[at], chars.get(at + 1).copied());
        at += 1;
        match c {
            '\\' if next == Some('\n') => at += 1,
            '\\' if next == Some('\r') => at += 2,
            // A path of Windows; elsewhere the backslash only protects what follows.
            '\\' if next.is_some_and(named) && out.word.chars().last().is_some_and(named) => out.word.push('/'),
            '\\' => {}
            '\'' | '"' => {}
            '$' => at = out.variable(&chars, at),
            '#' if out.word.is_empty() => {
                while at < chars.len() && chars[at] != '\n' {
                    at += 1;
                }
            }
            ' ' | '\t' | '\r' | ',' | '[' | ']' | '<' | '>' => out.end_word(),
            '\n' | ';' | '&' | '|' | '(' | ')' | '{' | '}' | '`' => out.end_command(),
            c => out.word.push(c),
        }
    }
    out.end_command();
    out.commands
}

fn named(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '_' | '-')
}

struct Reader {
    commands: Vec<Vec<String>>,
    command: Vec<String>,
    word: String,
    words: usize,
}

impl Reader {
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
        let command = std::mem::take(&mut self.command);
        if !command.is_empty() {
            self.commands.push(command);
        }
    }

    /// What stands behind a `$`; gives back where to go on.
    fn variable(&mut self, chars: &[char], at: usize) -> usize {
        let until = |open: usize, close: &str| {
            let rest: String = chars[open..].iter().take(400).collect();
            rest.find(close).map(|end| (rest[..end].to_owned(), open + rest[..end].chars().count() + close.len()))
        };
        let inside = match (chars.get(at), chars.get(at + 1)) {
            (Some('{'), Some('{')) => until(at + 2, "}}"),
            (Some('{'), _) => until(at + 1, "}"),
            (Some('('), _) => until(at + 1, ")").filter(|(name, _)| name.chars().all(|c| named(c) || c == '_')),
            _ => {
                let name: String = chars[at..].iter().take_while(|c| c.is_alphanumeric() || **c == '_').collect();
                (!name.is_empty()).then(|| (name.clone(), at + name.chars().count()))
            }
        };
        match inside {
            Some((name, next)) if name == "MAKE" => {
                self.word.push_str("make");
                next
            }
            Some((_, next)) => {
                self.word.push(HOLE);
                next
            }
            None => at,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Vec<String> {
        commands(text).into_iter().map(|words| words.join(" ").replace(HOLE, "*")).collect()
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
        ];
        for (text, expected) in cases {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in "((\\$|\\{|\\}|\\(|\\)|\\\\|\n|#|'|\"|a|/|é| |MAKE|\\*){1,3}){0,40}") {
            for word in commands(&text).into_iter().flatten() {
                prop_assert!(!word.is_empty() && !word.contains([' ', '\n']));
            }
        }
    }
}
