//! Whether a command only reads what was written before. It knows of the shell's language what is usual: words and quotes, lists,
//! pipes, substitutions.

use std::collections::BTreeMap;

#[rustfmt::skip]
const READS: &[&str] = &[
    "[", "[[", ":", "awk", "base64", "basename", "break", "cat", "cd", "cksum", "cmp", "column", "comm", "continue", "cp", "cut", "date", "dd",
    "declare", "diff", "dirname", "echo", "egrep", "exit", "export", "false", "fgrep", "file", "fold", "for", "git", "grep", "head",
    "hexdump", "hostname", "id", "join", "jq", "less", "let", "ln", "local", "ls", "md5sum", "mkdir", "more", "mv", "nl", "od",
    "paste", "printf", "pwd", "read", "return", "rev", "rg", "rm", "sed", "seq", "set", "sha1sum", "sha256sum", "sha512sum",
    "shift", "sleep", "sort", "stat", "strings", "tac", "tail", "tee", "test", "touch", "tr", "tree", "true", "uname", "uniq",
    "unset", "wait", "wc", "whoami", "xxd", "yes",
];
/// What comes after these is what is run.
#[rustfmt::skip]
const BEFORE: &[&str] = &[
    "!", "{", "}", "builtin", "command", "do", "done", "elif", "else", "env", "esac", "exec", "fi", "if", "nice", "nohup", "stdbuf",
    "sudo", "then", "time", "timeout", "until", "while", "xargs",
];
const SHELLS: &[&str] = &["bash", "dash", "ksh", "sh", "zsh"];
/// These say something of their own, or end it: what stands behind `||` and is one of them is no proof in place of another.
const ENDS: &[&str] = &[":", "echo", "exit", "false", "printf", "return", "sleep", "true"];
/// Commands in commands, at most so deep.
const DEEPEST: usize = 5;

/// Whether a command starts nothing that could be the software: each of its programs only reads files, or says what it is told. What
/// a change has written down beforehand would be shown by that.
pub fn only_reads(command: &str) -> bool {
    reads(command, DEEPEST)
}

fn reads(command: &str, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let (tokens, inner) = tokens(command);
    if !inner.iter().all(|inner| reads(inner, depth)) {
        return false;
    }
    let mut given = BTreeMap::new();
    lists(tokens).iter().all(|list| {
        let mut all = true;
        let mut instead = false;
        for (is_or, pipe) in list {
            let own = pipe.iter().all(|words| reads_by(words, &mut given, depth));
            let programs = pipe.iter().filter_map(|words| program(words).map(|(name, _)| name));
            // `./lamp 1 || cat out.txt` shows what was written whatever becomes of the lamp.
            instead |= *is_or && own && programs.into_iter().any(|name| !ENDS.contains(&name.as_str()));
            all &= own;
        }
        let ends = list.iter().flat_map(|(_, pipe)| pipe).filter_map(|words| program(words));
        all || instead && !ends.into_iter().any(|(name, _)| matches!(name.as_str(), "exit" | "false" | "return"))
    })
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Sign(char),
    And,
    Or,
}

/// The words of a command, without their quotes, and the commands that stand in it.
fn tokens(command: &str) -> (Vec<Token>, Vec<String>) {
    let chars: Vec<char> = command.chars().collect();
    let (mut all, mut inner) = (Vec::new(), Vec::new());
    let mut word: Option<String> = None;
    // Where it reads from and writes to is no word of its own.
    let mut redirected = false;
    let mut at = 0;
    let end = |word: &mut Option<String>, redirected: &mut bool, all: &mut Vec<Token>| {
        if let Some(word) = word.take()
            && !std::mem::take(redirected)
        {
            all.push(Token::Word(word));
        }
    };
    while let Some(&c) = chars.get(at) {
        let next = chars.get(at + 1).copied();
        match c {
            '\'' | '"' => {
                let own = word.get_or_insert_default();
                let close = quoted(&chars, at, own, &mut inner);
                at = close;
            }
            '\\' => {
                if let Some(next) = next.filter(|next| *next != '\n') {
                    word.get_or_insert_default().push(next);
                }
                at += 1;
            }
            '$' | '<' | '>' if next == Some('(') => {
                let close = closing(&chars, at + 1);
                let text: String = chars[(at + 2).min(close)..close].iter().collect();
                // `$((1 + 2))` is a number.
                if !text.starts_with('(') {
                    inner.push(text);
                }
                word.get_or_insert_default().push('_');
                at = close;
            }
            '`' => {
                let close = (at + 1..chars.len()).find(|at| chars[*at] == '`').unwrap_or(chars.len());
                inner.push(chars[at + 1..close].iter().collect());
                word.get_or_insert_default().push('_');
                at = close;
            }
            '<' | '>' => {
                // `2>&1`
                if word.as_ref().is_some_and(|word| word.chars().all(|c| c.is_ascii_digit())) {
                    word = None;
                }
                end(&mut word, &mut redirected, &mut all);
                while chars.get(at + 1).is_some_and(|next| matches!(next, '<' | '>' | '&')) {
                    at += 1;
                }
                redirected = true;
            }
            '#' if word.is_none() => {
                at = (at..chars.len()).find(|at| chars[*at] == '\n').unwrap_or(chars.len()) - 1;
            }
            '|' | '&' if next == Some(c) => {
                end(&mut word, &mut redirected, &mut all);
                all.push(if c == '|' { Token::Or } else { Token::And });
                at += 1;
            }
            '|' | '&' | ';' | '\n' | '(' | ')' => {
                end(&mut word, &mut redirected, &mut all);
                redirected = false;
                all.push(Token::Sign(c));
            }
            c if c.is_whitespace() => end(&mut word, &mut redirected, &mut all),
            c => word.get_or_insert_default().push(c),
        }
        at += 1;
    }
    end(&mut word, &mut redirected, &mut all);
    (all, inner)
}

/// Takes what stands in quotes; gives where they close.
fn quoted(chars: &[char], open: usize, word: &mut String, inner: &mut Vec<String>) -> usize {
    let quote = chars[open];
    let mut at = open + 1;
    while let Some(&c) = chars.get(at) {
        match c {
            c if c == quote => return at,
            '\\' if quote == '"' => {
                word.extend(chars.get(at + 1));
                at += 1;
            }
            '$' if quote == '"' && chars.get(at + 1) == Some(&'(') => {
                let close = closing(chars, at + 1);
                inner.push(chars[(at + 2).min(close)..close].iter().collect());
                word.push('_');
                at = close;
            }
            '`' if quote == '"' => {
                let close = (at + 1..chars.len()).find(|at| chars[*at] == '`').unwrap_or(chars.len());
                inner.push(chars[at + 1..close].iter().collect());
                word.push('_');
                at = close;
            }
            c => word.push(c),
        }
        at += 1;
    }
    chars.len()
}

/// Where the parenthesis closes that is opened here.
fn closing(chars: &[char], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, c) in chars.iter().enumerate().skip(open) {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    chars.len()
}

/// Each list of commands, between semicolons and lines: its pipes, with whether each is run where the one before has failed.
type List = Vec<(bool, Vec<Vec<String>>)>;

fn lists(tokens: Vec<Token>) -> Vec<List> {
    let mut all: Vec<List> = Vec::new();
    let mut list: List = vec![(false, vec![Vec::new()])];
    let (mut open, mut braces) = (0_usize, 0_usize);
    for token in tokens {
        match token {
            Token::Word(word) => {
                braces = braces.saturating_add_signed(isize::from(word == "{") - isize::from(word == "}"));
                if let Some(words) = list.last_mut().and_then(|(_, pipe)| pipe.last_mut()) {
                    words.push(word);
                }
            }
            Token::And | Token::Or => list.push((token == Token::Or, vec![Vec::new()])),
            Token::Sign('|') => {
                if let Some((_, pipe)) = list.last_mut() {
                    pipe.push(Vec::new());
                }
            }
            Token::Sign('(') => open += 1,
            Token::Sign(')') if open > 0 => open -= 1,
            // What stands before it is a pattern: `case x in x) …`.
            Token::Sign(')') => list = vec![(false, vec![Vec::new()])],
            // What stands in parentheses or braces is one with what it is a part of.
            Token::Sign(_) if open + braces > 0 => list.push((false, vec![Vec::new()])),
            Token::Sign(_) => all.push(std::mem::replace(&mut list, vec![(false, vec![Vec::new()])])),
        }
    }
    all.push(list);
    all
}

/// The program that is started, without its folder, and what it is given.
fn program(words: &[String]) -> Option<(String, &[String])> {
    let mut wrapped = false;
    let at = words.iter().position(|word| {
        let sets = word.contains('=') && !word.starts_with('-');
        // An option or a number of what stands before it: `timeout -k 1 5s`.
        let of_it = wrapped && (word.starts_with('-') || word.starts_with(|c: char| c.is_ascii_digit()));
        let before = BEFORE.contains(&word.as_str());
        wrapped |= before;
        !sets && !of_it && !before
    })?;
    let name = words[at].rsplit('/').next().unwrap_or_default().to_owned();
    Some((name, &words[at + 1..]))
}

fn reads_by(words: &[String], given: &mut BTreeMap<String, String>, depth: usize) -> bool {
    let Some((name, rest)) = program(words) else {
        given.extend(
            words
                .iter()
                .filter_map(|word| word.split_once('='))
                .map(|(name, value)| (name.to_owned(), value.to_owned())),
        );
        return true;
    };
    let name = match name.strip_prefix('$').map(|name| name.trim_matches(['{', '}'])) {
        Some(name) => given.get(name).map(|value| value.rsplit('/').next().unwrap_or(value).to_owned()),
        None => Some(name),
    };
    match name.as_deref() {
        Some("eval") => reads(&rest.join(" "), depth),
        Some(shell) if SHELLS.contains(&shell) => {
            let asks = |word: &String| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
            let command = rest.iter().position(asks).and_then(|at| rest.get(at + 1));
            command.is_some_and(|command| reads(command, depth))
        }
        Some("find") => {
            let runs = rest.windows(2).filter(|two| matches!(two[0].as_str(), "-exec" | "-execdir" | "-ok"));
            runs.map(|two| two[1].rsplit('/').next().unwrap_or_default()).all(|name| READS.contains(&name))
        }
        Some(name) => READS.contains(&name),
        None => false,
    }
}
