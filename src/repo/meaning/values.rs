//! Texts with the values written in that stand beside them.
//!
//! What a matrix or a loop goes through is only known when it runs. But where all that it may be stands in the same file,
//! the text is read once with each value, and nothing is left open: `cd ${{ matrix.dir }}` leads into those folders, and
//! `docker build -f $d/Dockerfile` names those files. The usual ways of a script to name its own folder or the
//! repository's are written as `.`, and a folder that is made for the time being as `~`, which is not in the repository.

use std::collections::{BTreeMap, BTreeSet};

use crate::repo::actions::Matrix;

/// More readings of one text than a matrix or a loop asks for. Past these, the value stays unknown, and what is looked
/// for there counts by its name.
const MOST_READINGS: usize = 48;
const MOST_BYTES: usize = 200_000;
/// A longer text than a script that anybody wrote, and more names and commands in one than are written out. What is read
/// here may have been made to be dear: each of these is gone through as often as there are others.
const LONGEST: usize = 64 * 1024;
const MOST_NAMES: usize = 10;
const MOST_COMMANDS: usize = 200;
const LONGEST_LINE: usize = 2000;
/// A script names its folders from each other: `SCRIPTS=$(dirname "$0")`, `ROOT=$(cd "$SCRIPTS/.." && pwd)`.
const ROUNDS: usize = 3;

/// A workflow's text with each value of its matrices.
pub(super) fn of_matrix(text: &str, matrix: &Matrix) -> Vec<String> {
    let mut found = vec![text.to_owned()];
    let mut seen = BTreeSet::new();
    for (begin, _) in text.match_indices("${{") {
        let Some(length) = head(&text[begin..], 200).find("}}") else { continue };
        let expression = &text[begin..begin + length + 2];
        let name = text[begin + 3..begin + length].trim().to_ascii_lowercase();
        let values = name.strip_prefix("matrix.").and_then(|name| matrix.values(name));
        if let Some(values) = values.filter(|_| seen.len() < MOST_NAMES && seen.insert(expression)) {
            found = written(found, values.iter().map(|value| &**value), |text, value| text.replace(expression, value));
        }
    }
    found
}

/// A text of a shell with the values of its loops, and of the variables that it sets to a path.
pub(super) fn of_shell(text: &str) -> Vec<String> {
    if !text.contains('$') || text.len() > LONGEST {
        return vec![text.to_owned()];
    }
    let mut found = vec![text.to_owned()];
    for _ in 0..ROUNDS {
        let before = found.clone();
        found = found.iter().flat_map(|text| once(&own_folders(text))).collect();
        if found == before || found.len() > MOST_READINGS {
            return if found.len() > MOST_READINGS { before } else { found };
        }
    }
    found
}

fn once(text: &str) -> Vec<String> {
    let mut found = vec![text.to_owned()];
    let used = used_in(text);
    let set = set_in(text).into_iter().filter(|(name, _)| used.contains(name));
    for (name, values) in set.filter_map(|(name, values)| Some((name, values?))).take(MOST_NAMES) {
        found = written(found, values.iter().map(String::as_str), |text, value| bound(text, name, value));
    }
    found
}

/// Each text with each value, unless that is more than may be read.
fn written<'a>(
    texts: Vec<String>,
    values: impl ExactSizeIterator<Item = &'a str> + Clone,
    with: impl Fn(&str, &str) -> String,
) -> Vec<String> {
    let many = texts.len() * values.len();
    let bytes: usize = texts.iter().map(String::len).sum();
    if many == 0 || many > MOST_READINGS || bytes.saturating_mul(values.len()) > MOST_BYTES {
        return texts;
    }
    texts.iter().flat_map(|text| values.clone().map(|value| with(text, value)).collect::<Vec<_>>()).collect()
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// A path without anything in it that a shell would make something else of.
fn is_path(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| is_name(c) || matches!(c, '.' | '/' | '-' | '~'))
}

/// The variables that a text sets, with all that they may be; none where that is not all known.
fn set_in(text: &str) -> BTreeMap<&str, Option<BTreeSet<String>>> {
    let mut found: BTreeMap<&str, Option<BTreeSet<String>>> = BTreeMap::new();
    let mut set = |name, values: Option<Vec<String>>| {
        let all = found.entry(name).or_insert_with(|| Some(BTreeSet::new()));
        match (all.as_mut(), values) {
            (Some(all), Some(values)) => all.extend(values),
            _ => *all = None,
        }
    };
    let mut before = ' ';
    let (mut at, mut line) = (0, 0);
    while let Some(c) = text[at..].chars().next() {
        let word = text[at..].find(|c| !is_name(c)).unwrap_or(text.len() - at);
        if word == 0 || before == '$' || before == '{' || before == '-' {
            before = c;
            at += if word == 0 { c.len_utf8() } else { word };
            if matches!(c, '\n' | ';') {
                line = at;
            }
            continue;
        }
        let (name, rest) = text[at..].split_at(word);
        match name {
            "for" | "select" => {
                let rest = rest.trim_start_matches([' ', '\t']);
                let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
                set(&rest[..end], if name == "for" { looped(&rest[end..]) } else { None });
            }
            // What these are given is set to what nobody knows here.
            "read" | "mapfile" | "readarray" | "getopts" | "printf" => {
                let line = head(rest, LONGEST_LINE).split(['\n', ';', '|']).next().unwrap_or_default();
                if name != "printf" || line.trim_start().starts_with("-v") {
                    line.split([' ', '\t', '\r', ')']).for_each(|name| set(name, None));
                }
            }
            _ if rest.starts_with("+=") => set(name, None),
            _ if rest.starts_with('=') && !rest.starts_with("==") => set(name, assigned(&text[line..at], &rest[1..])),
            _ => {}
        }
        before = 'a';
        at += word;
    }
    found
}

/// What stands behind `for NAME`, where it is plain words.
fn looped(rest: &str) -> Option<Vec<String>> {
    let rest = head(rest, LONGEST_LINE).trim_start_matches([' ', '\t']).strip_prefix("in")?.replace("\\\n", " ");
    let list = rest.split_once([';', '\n'])?.0.replace(['"', '\''], "");
    let values: Vec<String> = list.split_whitespace().map(str::to_owned).collect();
    (!values.is_empty() && rest.starts_with([' ', '\t']) && values.iter().all(|value| is_path(value))).then_some(values)
}

/// The path that a variable is set to by a line that does nothing else.
fn assigned(begin: &str, value: &str) -> Option<Vec<String>> {
    if begin.len() > LONGEST_LINE {
        return None;
    }
    let value = head(value, LONGEST_LINE);
    let alone = begin.split_whitespace().all(|word| ["export", "readonly", "local", "declare", "-r"].contains(&word));
    let value = value.split(['\n', ';', '#']).next()?.split("&&").next()?.trim();
    let path = value.trim_matches(['"', '\'']);
    // One that is set under a condition may also be what it was before, unless it is the script's own folder.
    let always = !begin.starts_with([' ', '\t']) || path.starts_with(['.', '~']);
    (alone && always && is_path(path)).then(|| vec![path.to_owned()])
}

/// The names behind a `$`.
fn used_in(text: &str) -> BTreeSet<&str> {
    let behind = text.split('$').skip(1).map(|behind| behind.strip_prefix('{').unwrap_or(behind));
    behind
        .map(|behind| &behind[..behind.find(|c| !is_name(c)).unwrap_or(behind.len())])
        .filter(|name| !name.is_empty())
        .collect()
}

/// As much of a text as these characters.
fn head(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).map_or(text, |(end, _)| &text[..end])
}

/// `$NAME`, `${NAME}` and `${NAME%/}`, and what a makefile writes so that the shell sees these.
fn bound(text: &str, name: &str, value: &str) -> String {
    let mut found = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        found.push_str(&rest[..at]);
        let behind = rest[at..].trim_start_matches('$');
        let dollars = rest.len() - at - behind.len();
        let end = match behind.strip_prefix(name) {
            Some(end) => (!end.starts_with(is_name)).then_some(end),
            None => {
                let end = behind.strip_prefix('{').and_then(|inner| inner.strip_prefix(name));
                end.and_then(|end| end.strip_prefix('}').or_else(|| end.strip_prefix("%/}")))
            }
        };
        match end {
            Some(end) if dollars <= 2 => {
                found.push_str(value);
                rest = end;
            }
            _ => {
                found.push_str(&rest[at..at + dollars]);
                rest = behind;
            }
        }
    }
    found.push_str(rest);
    found
}

/// `$(dirname "$0")` and the like as a path.
fn own_folders(text: &str) -> String {
    let mut text = text.to_owned();
    let mut end = text.len();
    // From the last to the first: so what stands inside another is a path already.
    for _ in 0..MOST_COMMANDS {
        let Some(begin) = text[..end].rfind("$(") else { break };
        end = begin;
        let Some(length) = head(&text[begin..], 300).find(')') else { continue };
        if let Some(path) = prints(&text[begin + 2..begin + length]) {
            text.replace_range(begin..=begin + length, &path);
        }
    }
    text
}

/// What a command prints, where that is the script's name, a folder seen from the script's, or one outside.
fn prints(command: &str) -> Option<String> {
    const SELF: &[&str] = &[
        "$0",
        "${0}",
        "$BASH_SOURCE",
        "${BASH_SOURCE}",
        "${BASH_SOURCE[0]}",
        "${BASH_SOURCE:-$0}",
        "${BASH_SOURCE[0]:-$0}",
    ];
    let command = command.replace(['"', '\''], "").replace("&&", " && ").replace(';', " && ");
    let quiet = |word: &&str| !["--", "-P", "-L", "/dev/null", "2>&1"].contains(word) && !word.contains(">");
    let words: Vec<&str> = command.split_whitespace().filter(quiet).collect();
    let is_folder = |word: &str| word.starts_with(['.', '~']) && is_path(word);
    match words[..] {
        ["pwd"] | ["git", "rev-parse", "--show-toplevel"] => Some(".".to_owned()),
        ["mktemp", ..] => Some("~".to_owned()),
        ["dirname", own] if SELF.contains(&own) => Some(".".to_owned()),
        ["dirname", folder] if is_folder(folder) => Some(format!("{folder}/..")),
        ["readlink", "-f" | "-e", own] | ["realpath", own] if SELF.contains(&own) => Some("$0".to_owned()),
        ["readlink", "-f" | "-e", folder] | ["realpath", folder] if is_folder(folder) => Some(folder.to_owned()),
        ["cd", folder, "&&", "pwd"] if is_folder(folder) => Some(folder.to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_loop_is_read_with_each_of_its_words() {
        for (text, expected) in [
            ("for d in web api; do make -C $d; done", &["make -C web", "make -C api"][..]),
            ("for d in web \\\n 'api'\ndo\n make -C \"${d%/}\"\ndone", &["make -C \"web\"", "make -C \"api\""]),
            ("\tfor d in a; do $(MAKE) -C $$d; done", &["-C a;"]),
            ("for d in a b; do for e in x y; do make -C $d/$e; done; done", &["a/x", "a/y", "b/x", "b/y"]),
            ("DIR=web\ncd $DIR", &["cd web"]),
            ("export DIR=\"web\"\ncd $DIR", &["cd web"]),
        ] {
            let found = of_shell(text);
            assert_eq!(found.len(), expected.len(), "{text}: {found:?}");
            assert!(expected.iter().all(|part| found.iter().any(|text| text.contains(part))), "{text}: {found:?}");
        }
    }

    #[test]
    fn what_may_be_something_else_stays_unknown() {
        for text in [
            "for d in packages/*; do make -C $d; done",
            "for d in web $(ls); do make -C $d; done",
            "for d in web {a,b}; do make -C $d; done",
            "for d in web `ls`; do make -C $d; done",
            "for d in $DIRS; do make -C $d; done",
            "for d; do make -C $d; done",
            "for d in web; do :; done\nd=$1\nmake -C $d",
            "for d in web; do :; done\nread -r d\nmake -C $d",
            "for d in web; do :; done\nd+=x; make -C $d",
            "if [ -z \"$d\" ]; then\n d=web\nfi\nmake -C $d",
            "d=web make -C $d",
            "D=$(dirname \"$1\")\ncd $D",
            "D=$(cd \"$1\" && pwd)\ncd $D",
        ] {
            assert_eq!(of_shell(text), [text]);
        }
    }

    #[test]
    fn a_script_names_its_own_folder_in_many_ways() {
        for (text, expected) in [
            (
                "D=\"$( cd \"$( dirname \"${BASH_SOURCE[0]}\" )\" >/dev/null 2>&1 && pwd )\"\ncd \"$D/..\"",
                "cd \"./..\"",
            ),
            ("D=$(dirname $(readlink -f $0))\ncd $D/..", "cd ./.."),
            ("D=$(dirname $0)\nR=\"$(cd \"$D/../web\"; pwd -P)\"\ncd $R", "cd ./../web"),
            ("R=$(git rev-parse --show-toplevel)\ncd \"$R\"", "cd \".\""),
            ("cd \"$(dirname -- \"$(dirname -- \"$0\")\")/x\"", "cd \"./../x\""),
            ("T=$(mktemp -d)\ncd $T/x", "cd ~/x"),
        ] {
            let found = of_shell(text);
            assert!(found.len() == 1 && found[0].ends_with(expected), "{text}: {found:?}");
        }
    }

    #[test]
    fn more_readings_than_may_be_are_not_made() {
        let words = |many: usize| (0..many).map(|at| format!(" d{at}")).collect::<String>();
        assert_eq!(of_shell(&format!("for d in{}; do cd $d; done", words(MOST_READINGS))).len(), MOST_READINGS);
        assert_eq!(of_shell(&format!("for d in{}; do cd $d; done", words(MOST_READINGS + 1))).len(), 1);
        let nested = format!("for d in{0}; do for e in{0}; do cd $d/$e; done; done", words(10));
        assert_eq!(of_shell(&nested).len(), 10);
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in "((\\$|\\{|\\}|\\(|\\)|for |in |\n|#|=|\"|a|/|é| |dirname |\\$0|%/|;|read ){1,3}){0,40}") {
            prop_assert!(of_shell(&text).len() <= MOST_READINGS);
        }
    }
}
