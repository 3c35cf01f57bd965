//! What words tell: a proposal, a path, a proof.

/// The text without what stands in code or quotation marks: that is somebody else's words.
fn own_words(text: &str) -> String {
    let mut out = String::new();
    let mut inside: Option<char> = None;
    for c in text.chars() {
        let closes = match inside {
            Some('“') => c == '”',
            Some(open) => c == open,
            None => false,
        };
        match inside {
            Some(_) if closes => inside = None,
            Some(_) => {}
            None if matches!(c, '`' | '"' | '“') => {
                inside = Some(c);
                out.push(' ');
            }
            None => out.push(c),
        }
    }
    out
}

/// Words that propose, wherever they stand.
const PROPOSALS: [&str; 37] = [
    "should use",
    "should add",
    "should change",
    "we should",
    "you should",
    "we could",
    "we must",
    "we need to",
    " one could",
    "needs to be changed",
    "needs to be rewritten",
    "needs refactoring",
    "needs a rewrite",
    "i recommend",
    "i suggest",
    "i propose",
    " i would ",
    " i'd ",
    "recommend to",
    "recommendation:",
    "suggestion:",
    "proposal:",
    "let's ",
    "the fix is to",
    "the fix would be",
    "the solution is to",
    "the remedy is to",
    "a fix is to",
    "it would be better",
    "would be better to",
    "it is better to",
    "better to use",
    "might want to",
    "may want to",
    "can be fixed by",
    "could be fixed by",
    "why not use",
];
/// A duty proposes where nothing is told beside it: `the status should be 200 and is 500` is what is unmet.
const OUGHT: [&str; 4] = ["should have been", "should be", "should not", "shouldn't"];
/// What is, held against what ought to be.
const UNMET: [&str; 26] = [
    " and is ",
    " but is ",
    ", is ",
    " and was ",
    " but was ",
    ", was ",
    " and are ",
    " but are ",
    " but were ",
    " and returns ",
    " but returns ",
    " and has ",
    " but has ",
    " but there ",
    " and does ",
    " but does ",
    " but it ",
    " and it ",
    " got ",
    " instead it ",
    " actual",
    "expected",
    "according to",
    " says ",
    " asks ",
    " requires ",
];

/// The words of a proposal, if there are any.
pub(super) fn proposes(text: &str) -> Option<&'static str> {
    let lower = format!(" {}", own_words(text).to_lowercase().replace('’', "'"));
    if let Some(words) = PROPOSALS.into_iter().find(|words| lower.contains(words)) {
        return Some(words.trim());
    }
    // A full stop within a number or a name ends no sentence.
    let sentences = lower.split(". ").flat_map(|part| part.split(';'));
    sentences.flat_map(|sentence| OUGHT.into_iter().map(move |words| (sentence, words))).find_map(
        |(sentence, words)| {
            let at = sentence.find(words)?;
            let next = sentence[at + words.len()..].split_whitespace().next().unwrap_or_default();
            let told = UNMET.iter().any(|unmet| sentence.contains(unmet)) && !is_done(next);
            (!told).then_some(words)
        },
    )
}

/// What a verifier prescribes: a change of code, in the imperative.
const ORDERS: [&str; 33] = [
    "replace",
    "rewrite",
    "refactor",
    "rename",
    "remove",
    "delete",
    "implement",
    "fix",
    "move",
    "change",
    "add",
    "use",
    "revert",
    "swap",
    "extract",
    "introduce",
    "inline",
    "wrap",
    "split",
    "convert",
    "switch",
    "patch",
    "rework",
    "restructure",
    "simplify",
    "migrate",
    "upgrade",
    "downgrade",
    "drop",
    "modify",
    "edit",
    "cache",
    "correct",
];
/// What an order is about begins with one of these, or with code. `Use of a stale cache` is no order.
const ABOUT: [&str; 14] =
    ["the", "a", "an", "this", "that", "it", "all", "each", "every", "its", "their", "some", "to", "both"];
/// What `make it …` makes of it. `Make a request and compare` is a look.
const MADE: [&str; 20] = [
    "return",
    "use",
    "accept",
    "take",
    "be",
    "throw",
    "raise",
    "call",
    "read",
    "write",
    "keep",
    "async",
    "private",
    "public",
    "optional",
    "static",
    "lazy",
    "atomic",
    "const",
    "immutable",
];
/// Words before an order that leave it one.
const SOFT: [&str; 12] =
    ["please", "then", "first", "next", "now", "just", "simply", "instead", "also", "so", "therefore", "or"];
/// Advice to do something, which follows as `replacing`.
const ADVICE: [&str; 6] = ["consider", "try", "suggest", "recommend", "propose", "worth"];
/// Advice that comes as a fact.
const DUTIES: [&str; 8] =
    ["needs to be", "need to be", "has to be", "have to be", "must be", "ought to be", "could be", "can be"];
const DONE: [&str; 14] = [
    "replaced",
    "rewritten",
    "removed",
    "deleted",
    "renamed",
    "added",
    "changed",
    "refactored",
    "swapped",
    "extracted",
    "moved",
    "split",
    "wrapped",
    "reworked",
];

fn is_done(word: &str) -> bool {
    DONE.iter().any(|done| word.starts_with(done))
}

/// `replacing`, of one of the orders.
fn is_doing(word: &str) -> bool {
    let bare = word.trim_matches(|c: char| !c.is_alphabetic());
    let Some(stem) = bare.strip_suffix("ing") else { return false };
    let doubled = stem.len() > 2 && stem.as_bytes()[stem.len() - 1] == stem.as_bytes()[stem.len() - 2];
    let single = if doubled { stem.get(..stem.len() - 1).unwrap_or(stem) } else { stem };
    ORDERS
        .iter()
        .chain(&["make"])
        .any(|order| *order == stem || order.strip_suffix('e') == Some(stem) || *order == single)
}

/// The words that prescribe how to change the code, if there are any.
pub(super) fn prescribes(text: &str) -> Option<String> {
    if let Some(words) = proposes(text) {
        return Some(words.to_owned());
    }
    let own = own_words(text);
    let lower = own.to_lowercase();
    for duty in DUTIES {
        for (at, _) in lower.match_indices(duty) {
            let next = lower[at + duty.len()..].split_whitespace().next().unwrap_or_default();
            if is_done(next) {
                return Some(format!("{duty} {next}"));
            }
        }
    }
    let words: Vec<&str> = lower.split_whitespace().collect();
    let advised = words.windows(2).find(|two| ADVICE.iter().any(|one| two[0].starts_with(one)) && is_doing(two[1]));
    if let Some(two) = advised {
        return Some(two.join(" "));
    }
    // An order begins its sentence, or goes on behind an `and`.
    let parts = lower.split(['.', ';', ':', ',', '(', '–', '—']).flat_map(|part| part.split(" and "));
    parts.map(str::trim_start).find_map(|part| ordered(part).map(str::to_owned))
}

/// The order that a part of a sentence begins with.
fn ordered(part: &str) -> Option<&str> {
    let mut part = part;
    let (word, rest) = loop {
        let (word, rest) = part.split_once(' ')?;
        if !SOFT.contains(&word) {
            break (word, rest);
        }
        part = rest.trim_start();
    };
    let code = rest.starts_with(' ');
    let mut after = rest.split_whitespace();
    if word == "make" {
        return after.take(5).any(|one| MADE.contains(&one)).then_some(word);
    }
    let next = after.next().unwrap_or_default();
    let path = next.contains('/');
    (ORDERS.contains(&word) && (code || path || ABOUT.contains(&next))).then_some(word)
}

/// Whether a fact says what shows it.
pub(super) fn is_shown(text: &str) -> bool {
    let lower = text.to_lowercase();
    ["shown by:", "given:", "checked by:", "seen in:"].iter().any(|mark| {
        let after = lower.find(mark).map(|at| lower[at + mark.len()..].trim_matches([' ', ')', '.']));
        after.is_some_and(|after| !after.is_empty())
    })
}

/// What a file's name ends with, as far as it is nothing else: `console.log` and `process.env` are none.
const ENDINGS: [&str; 85] = [
    "adoc",
    "asm",
    "astro",
    "bash",
    "bat",
    "bzl",
    "c",
    "cc",
    "cfg",
    "cjs",
    "clj",
    "cmake",
    "conf",
    "cpp",
    "cs",
    "csproj",
    "css",
    "csv",
    "cts",
    "cxx",
    "dart",
    "diff",
    "elm",
    "erl",
    "ex",
    "exs",
    "fish",
    "fs",
    "go",
    "gradle",
    "graphql",
    "groovy",
    "h",
    "hbs",
    "hcl",
    "hpp",
    "hs",
    "htm",
    "html",
    "ini",
    "ipynb",
    "java",
    "jl",
    "js",
    "json",
    "jsonc",
    "jsx",
    "kt",
    "kts",
    "less",
    "lua",
    "m",
    "md",
    "mdx",
    "mjs",
    "ml",
    "mts",
    "nix",
    "patch",
    "php",
    "pl",
    "properties",
    "proto",
    "ps1",
    "py",
    "pyi",
    "rb",
    "rs",
    "rst",
    "sass",
    "scala",
    "scss",
    "sh",
    "sql",
    "svelte",
    "swift",
    "tf",
    "toml",
    "ts",
    "tsx",
    "txt",
    "vue",
    "xml",
    "yaml",
    "yml",
];
/// Files that are known by their whole name.
const NAMES: [&str; 8] =
    ["Makefile", "Dockerfile", "Cargo.lock", "poetry.lock", "yarn.lock", "Gemfile", "Jenkinsfile", "CODEOWNERS"];
/// What the name of a host ends with, or of a framework.
const HOSTS: [&str; 8] = ["com", "org", "net", "io", "dev", "edu", "gov", "js"];
/// What a media type begins with.
const MEDIA: [&str; 7] = ["text", "application", "image", "audio", "video", "multipart", "font"];

/// The paths that a text names: with a slash and an ending anywhere, also without either in code and links.
pub(super) fn paths(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for (at, span) in text.split('`').enumerate() {
        let code = at % 2 == 1;
        let whole = code && !span.trim().contains(char::is_whitespace);
        let links: Vec<&str> =
            span.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(to, _)| to).collect();
        for word in span.split(|c: char| !(c.is_alphanumeric() || "._-/@+:#\\~%?=&".contains(c))) {
            let link = links.iter().any(|link| link.split_whitespace().next() == Some(word));
            let called = code && span.contains(&format!("{word}("));
            match path(word) {
                Some(path) if path.contains('/') => {
                    let folder = whole && !MEDIA.contains(&path.split('/').next().unwrap_or_default());
                    if folder || link || is_file(&path) {
                        found.push(path);
                    }
                }
                Some(name) if (code || link) && !called && is_name(&name) => names.push(name),
                _ => {}
            }
        }
    }
    // A name is short for the path that stands beside it.
    names.retain(|name| !found.iter().any(|path| path.rsplit('/').next() == Some(name)));
    found.extend(names);
    found
}

/// A word as a path of the repository, if it has the shape of one: without the place in it, and no address.
fn path(word: &str) -> Option<String> {
    if word.contains("://") || word.starts_with("www.") || word.contains("::") {
        return None;
    }
    let bare = word.split(['#', '?', ':']).next().unwrap_or_default().replace('\\', "/");
    let bare = bare.trim_start_matches("./").trim_end_matches(['.', '/', '-', '_']);
    let shaped = !bare.is_empty() && bare.chars().all(|c| c.is_alphanumeric() || "._-/@+~".contains(c));
    let parts: Vec<&str> = bare.split('/').collect();
    let said = parts.iter().all(|part| !part.is_empty()) && bare.contains(char::is_alphabetic);
    let first = parts.first().copied().unwrap_or_default();
    // `example.org/x`, `Node.js/Deno`, `1.2/3`, `and/or`, `w/o`.
    let host =
        parts.len() > 1 && first.rsplit_once('.').is_some_and(|(start, end)| !start.is_empty() && HOSTS.contains(&end));
    let version = parts.len() > 1
        && parts.iter().all(|part| part.trim_start_matches('v').chars().all(|c| c.is_ascii_digit() || c == '.'));
    let words = ["and/or", "n/a", "w/o", "i/o", "tcp/ip", "either/or", "yes/no", "true/false"];
    let spoken = words.contains(&bare.to_lowercase().as_str());
    (shaped && said && !host && !version && !spoken).then(|| bare.to_owned())
}

/// Whether a path with a slash ends as a file does.
fn is_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    if is_name(name) {
        return true;
    }
    let Some((stem, ending)) = name.rsplit_once('.') else { return false };
    let starts = ending.starts_with(|c: char| c.is_ascii_alphabetic());
    starts && ending.chars().all(|c| c.is_ascii_alphanumeric()) && (2..=8).contains(&ending.len()) && stem.len() != 1
}

/// Whether a word is the name of a file, by itself.
fn is_name(name: &str) -> bool {
    let ends = name
        .rsplit_once('.')
        .is_some_and(|(stem, ending)| !stem.is_empty() && ENDINGS.contains(&ending.to_ascii_lowercase().as_str()));
    ends || NAMES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proposal_is_told_from_a_finding() {
        for text in
            ["We should use a map here.", "I suggest to split it", "The fix is to lock first.", "let’s rewrite it"]
        {
            assert!(proposes(text).is_some(), "{text}");
        }
        for text in [
            "`parse` returns None for dates with a zone.",
            "The comment says \"we should use a map\".",
            "Callers expect that it should fail loudly: see `docs/api.md`.",
            "Unknown: which timezone database is installed.",
        ] {
            assert_eq!(proposes(text), None, "{text}");
        }
    }

    #[test]
    fn an_order_is_told_from_a_diagnosis() {
        for text in [
            "Replace the loop by a fold.",
            "It leaks. Add a lock around it.",
            "You should not cache here.",
            "Replace `loop` by a fold and delete tests/b.rs",
            "The loop needs to be replaced by a fold.",
        ] {
            assert!(prescribes(text).is_some(), "{text}");
        }
        for text in [
            "The cache is read before it is filled (high confidence: F-0003).",
            "AC-2 is unmet: no test names it.",
            "Run the load test at 50 connections and look whether p95 stays under 200 ms.",
            "Users rename files while it runs.",
            "Use of a stale cache.",
            "Change detection is off.",
            "Run it alone and compare the two logs.",
        ] {
            assert_eq!(prescribes(text), None, "{text}");
        }
    }

    #[test]
    fn paths_are_read_out_of_code() {
        assert_eq!(
            paths("`src/a.rs:12` calls `b::c` in `docs/x y` and `src/gen/`, see `http://x/y`"),
            ["src/a.rs", "src/gen"]
        );
    }

    #[test]
    fn a_path_is_found_however_it_is_written() {
        for (text, path) in [
            ("The file lib/auth/login.rs has it.", "lib/auth/login.rs"),
            ("It is in lib/auth/login.rs.", "lib/auth/login.rs"),
            ("See [the code](lib/auth/x.rs#L3).", "lib/auth/x.rs"),
            ("See [the readme](README.md).", "README.md"),
            ("\"lib/secret/key.rs\" holds the key", "lib/secret/key.rs"),
            ("“lib/secret/key.pem”", "lib/secret/key.pem"),
            ("`fn a in lib/b/c.rs`", "lib/b/c.rs"),
            ("`README.md` lists it", "README.md"),
            ("`setup.py` has it", "setup.py"),
            ("**lib/x.rs**: it", "lib/x.rs"),
            ("(lib/x.rs:12)", "lib/x.rs"),
            ("`cat lib/x.conf`", "lib/x.conf"),
            ("lib\\x.rs", "lib/x.rs"),
            ("`../other/x.rs`", "../other/x.rs"),
            (".github/workflows/ci.yml runs it", ".github/workflows/ci.yml"),
            ("`Makefile` has it", "Makefile"),
        ] {
            assert_eq!(paths(text), [path], "{text}");
        }
        for text in [
            "and/or, either/or, w/o, n/a, TCP/IP, I/O",
            "It reads and/or writes; input/output alike.",
            "https://example.org/lib/x.rs and http://x/y.md",
            "See example.org/lib/x.rs or www.example.org/x.md.",
            "[docs](https://example.org/a.md)",
            "Version 1.2/3 and v1.2/v1.3, 10/12 tests.",
            "`console.log` and `process.env` and `self.items` and `os.path`",
            "`response.json()` is called, e.g./i.e. by `b::c`",
            "`text/html` and application/json",
            "Node.js/Express.js is used.",
            "README.md is prose here",
            "GET /users/1.json answers",
        ] {
            assert_eq!(paths(text), [""; 0], "{text}");
        }
        assert_eq!(paths("`src/auth/login.rs` is there; `login.rs` has it."), ["src/auth/login.rs"], "short for it");
    }

    #[test]
    fn prescriptions_are_told_from_what_is_unmet() {
        let orders = [
            "Swap the loop for a fold",
            "Swap the loop for a fold in src/a.py",
            "make `parse` return an Option",
            "Make the parser return an Option.",
            "consider replacing b.rs",
            "Consider replacing the loop by a fold.",
            "It may be worth adding a lock.",
            "Try removing the cache.",
            "Please replace the loop.",
            "The cache is stale; then remove it.",
            "Just drop the cache.",
            "Extract a function for this.",
            "Introduce a lock around it.",
            "Wrap the call in a transaction.",
            "Split the module.",
            "Convert it to a map.",
            "Switch to a map.",
            "Upgrade the driver.",
            "Rework the loop.",
            "Inline the helper.",
            "Simplify the match.",
            "Migrate the table.",
            "The status should be replaced.",
            "The status should be changed and is not.",
            "`parse` should be pure.",
            "It should not cache here.",
            "The loop could be replaced by a fold.",
            "The loop must be rewritten.",
            "It would be better to use a map.",
            "We could use a map.",
            "I would use a map.",
            "The fix would be a lock.",
            "The solution is to lock first.",
            "You might want to lock first.",
            "It can be fixed by a lock.",
            "Why not use a map?",
        ];
        let told = [
            "AC-2: the status should be 200 and is 500",
            "AC-2: the status should be 200 but is 500",
            "AC-2: expected the status, which should be 200, got 500",
            "Expected: it should be 200; expected 200, got 500",
            "The answer should be empty and has three entries.",
            "The answer should be empty but has three entries.",
            "The list should be sorted, is not.",
            "By AC-3 the limit should be 10 but was 12.",
            "It should not fail and does so.",
            "It should not be empty, but it is.",
            "The total should be 3.5 and is 3.4.",
            "scope.md says that it should be read once.",
            "The cache is read before it is filled (confidence: high).",
            "AC-2 is unmet: no test names it.",
            "Run the load test at 50 connections and look whether p95 stays under 200 ms.",
            "Users rename files while it runs.",
            "Use of a stale cache.",
            "Change detection is off.",
            "Run it alone and compare the two logs.",
            "Make a request with an empty body and compare.",
            "Make sure that the clock is in step before the run.",
            "Compare the two logs.",
            "Set the log level to debug and look at the first error.",
            "Consider the case of an empty list: no test has it.",
            "Try it with an empty list.",
            "Try running it alone.",
            "The test swaps two files.",
            "A split of the module came before the failure.",
            "Fix confidence is low.",
            "The move of `a` happened in the same commit.",
            "Drop rates rise with the load.",
            "Count how often the cache is missed.",
            "Cache misses double under load.",
            "It must be 200 by AC-2.",
            "Edit distance is computed twice.",
            "The API would answer twice.",
            "Anyone could read the key.",
            "It is unknown why not all tests ran.",
            "The status should have been 200 but was 500.",
        ];
        assert!(orders.len() >= 30 && told.len() >= 30);
        let missed: Vec<&str> = orders.into_iter().filter(|text| prescribes(text).is_none()).collect();
        assert_eq!(missed, [""; 0], "prescriptions that are not seen");
        let wrong: Vec<(&str, String)> = told.into_iter().filter_map(|text| Some((text, prescribes(text)?))).collect();
        assert_eq!(wrong, [], "no prescriptions");
    }
}
