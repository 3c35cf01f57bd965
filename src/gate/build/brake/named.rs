//! Whether the papers name a dependency: by its name, and where that is an ordinary word, as the name of something that is used.

use std::collections::BTreeSet;

use super::super::super::paper::text::{clauses, is_denied, words};
use super::super::super::paper::{Paper, Part};

/// Names of packages that are words which stand in papers anyway.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "access", "account", "action", "active", "address", "agent", "alert", "always", "any", "app", "apps", "archive", "arrow", "art",
    "attempt", "audit", "auth", "await", "base", "batch", "bean", "before", "black", "block", "board", "body", "book", "boost", "bottle",
    "box", "bridge", "browser", "bucket", "buffer", "build", "button", "byte", "bytes", "cache", "call", "card", "case", "chain", "chalk",
    "change", "channel", "chat", "check", "circle", "clean", "clear", "click", "client", "clock", "cloud", "code", "color", "colors",
    "command", "commander", "common", "config", "connect", "console", "content", "context", "control", "cookie", "cookies", "core", "count",
    "counter", "cover", "crypto", "custom", "dash", "data", "database", "date", "dates", "debug", "default", "deep", "delay", "demo",
    "design", "device", "dialog", "display", "document", "dot", "draft", "drive", "each", "edge", "editor", "either", "email", "emit",
    "engine", "env", "error", "errors", "event", "events", "every", "example", "express", "extra", "fast", "feed", "fetch", "field", "file",
    "files", "filter", "find", "fire", "first", "flag", "flags", "flat", "flow", "form", "format", "forms", "forward", "frame", "free",
    "fresh", "full", "function", "futures", "game", "gate", "gateway", "glob", "global", "good", "graph", "grid", "group", "guard", "half",
    "hash", "header", "health", "help", "helper", "helpers", "home", "hook", "hooks", "host", "house", "http", "human", "ice", "icon",
    "image", "images", "index", "ink", "input", "inside", "item", "job", "jobs", "join", "just", "key", "keys", "label", "lamp", "later",
    "layer", "leaf", "less", "level", "levels", "library", "light", "limit", "line", "lines", "link", "linked", "list", "load", "local",
    "lock", "log", "logger", "logic", "logs", "loop", "mail", "main", "manager", "map", "maps", "mark", "mask", "match", "memory", "menu",
    "merge", "message", "meter", "method", "metrics", "mixer", "mode", "model", "module", "moment", "money", "monitor", "more", "motion",
    "mount", "move", "name", "names", "net", "network", "next", "night", "node", "nose", "note", "notes", "notify", "now", "null", "number",
    "numbers", "object", "observe", "once", "one", "only", "open", "option", "options", "order", "other", "out", "output", "owner",
    "package", "page", "pages", "pair", "panel", "parse", "parser", "part", "pass", "password", "patch", "path", "paths", "phone", "pick",
    "picture", "pillow", "pipe", "pixel", "plan", "player", "plot", "plugin", "point", "policy", "poll", "pool", "port", "post", "power",
    "press", "print", "printer", "process", "product", "profile", "progress", "project", "promise", "prompt", "proof", "proxy", "pub",
    "public", "push", "query", "queue", "quick", "quote", "random", "range", "rate", "raw", "react", "read", "reader", "ready", "record",
    "records", "red", "refresh", "region", "release", "remote", "render", "repeat", "report", "request", "requests", "reset", "resolve",
    "response", "rest", "result", "results", "retry", "review", "rich", "ring", "role", "room", "root", "route", "router", "rule", "rules",
    "run", "runner", "safe", "sample", "save", "scale", "schedule", "schema", "scope", "score", "screen", "script", "search", "second",
    "secret", "section", "secure", "select", "send", "serial", "serve", "server", "service", "session", "set", "settings", "shape", "share",
    "sharp", "shell", "shop", "show", "signal", "simple", "single", "site", "size", "skip", "sleep", "slice", "slim", "small", "smart",
    "smooth", "snap", "socket", "sort", "sound", "source", "space", "spark", "spec", "speed", "spin", "split", "stage", "start", "state",
    "static", "station", "status", "step", "steps", "stop", "storage", "store", "story", "stream", "streams", "string", "style", "success",
    "support", "switch", "sync", "system", "table", "tables", "tag", "tags", "target", "task", "tasks", "team", "temp", "template", "term",
    "terminal", "test", "tests", "text", "theme", "thing", "this", "thread", "tick", "time", "timeout", "timer", "times", "title", "today",
    "toggle", "token", "tokens", "tool", "tools", "topic", "total", "touch", "trace", "tracing", "track", "transfer", "transport", "tree",
    "trigger", "trust", "turn", "type", "types", "unit", "units", "update", "upload", "url", "user", "users", "util", "utils", "value",
    "values", "version", "video", "view", "views", "visit", "visitor", "voice", "wait", "walk", "watch", "watcher", "wave", "web", "wheel",
    "when", "white", "window", "wire", "with", "word", "words", "work", "worker", "workers", "world", "wrap", "write", "yard", "year", "zone",
];

/// Words beside which a name is one of something that is used.
#[rustfmt::skip]
const BESIDE: &[&str] = &[
    "use", "uses", "using", "used", "library", "libraries", "package", "packages", "dependency", "dependencies", "crate", "crates",
    "module", "framework", "sdk", "import", "imports", "imported", "depends", "npm", "pip", "gem", "middleware", "plugin",
];
/// So near: `uses the click library`.
const NEAR: usize = 4;

/// What scope and design say, made ready for looking names up.
pub(super) struct Said {
    /// Small, with one blank between words, and one at each end.
    all: String,
    clauses: Vec<Clause>,
    spans: Vec<Span>,
}

struct Clause {
    words: Vec<String>,
    /// As they are written.
    written: Vec<String>,
    /// It stands where the stack, the dependencies or the integrations are listed.
    listed: bool,
}

/// Code in the text, with whether what is said around it denies it.
struct Span {
    text: String,
    around: String,
}

impl Said {
    /// None where there is no paper to look into.
    pub(super) fn of<'p>(papers: impl Iterator<Item = &'p Paper>) -> Option<Self> {
        let mut said = Self { all: String::new(), clauses: Vec::new(), spans: Vec::new() };
        for paper in papers {
            said.all.push_str(&plain(&paper.everything()));
            let put_off: BTreeSet<u32> =
                paper.section("Deferred").iter().flat_map(Part::lines).map(|line| line.at).collect();
            let listed: BTreeSet<u32> = lists(paper);
            for line in paper.lines().into_iter().filter(|line| !put_off.contains(&line.at)) {
                said.clauses.extend(clauses(&line.text).into_iter().map(|clause| Clause {
                    words: words(clause),
                    written: clause.split_whitespace().map(str::to_owned).collect(),
                    listed: listed.contains(&line.at),
                }));
            }
            for piece in paper.pieces().filter(|piece| !put_off.contains(&piece.line)) {
                let span = |text: &String| Span { text: text.clone(), around: piece.text.clone() };
                said.spans.extend(piece.spans.iter().map(span));
            }
        }
        (!said.all.trim().is_empty()).then_some(said)
    }

    /// Whether a dependency is named: as a whole, or for `@scope/name`, `host/owner/name` and `group:name` by its last part.
    pub(super) fn names(&self, name: &str) -> bool {
        let is_version = |part: &str| part.starts_with('v') && part.len() <= 3;
        let last = name.rsplit(['/', ':']).find(|part| !is_version(part)).unwrap_or(name);
        self.has(name) || last != name && self.has(last)
    }

    fn has(&self, name: &str) -> bool {
        let asked = plain(name);
        if asked.trim().is_empty() || !self.all.contains(&asked) {
            return false;
        }
        let ordinary = self.is_ordinary(&asked);
        let parts: Vec<&str> = asked.split_whitespace().collect();
        self.is_in_code(name) || self.clauses.iter().any(|clause| clause.names(&parts, ordinary))
    }

    /// Whether it is made of words that stand in papers anyway: known ones, or ones that the papers inflect.
    fn is_ordinary(&self, name: &str) -> bool {
        let stands = |word: String| self.all.contains(&format!(" {word} "));
        name.split_whitespace().all(|word| {
            let stem =
                ["s", "es", "ed", "ing"].iter().filter_map(|end| word.strip_suffix(end)).filter(|stem| stem.len() > 2);
            WORDS.contains(&word)
                || ["s", "es", "ed", "ing"].iter().any(|end| stands(format!("{word}{end}")))
                || stem.into_iter().any(|stem| stands(stem.to_owned()))
        })
    }

    /// Whether it stands as code: `click`, `click>=8`, `import click`, `pip install click`. What is called or has a path is
    /// something else.
    fn is_in_code(&self, name: &str) -> bool {
        self.spans.iter().any(|span| {
            let text = span.text.trim();
            let bare =
                ["import ", "from ", "use ", "pip install ", "npm install ", "npm i ", "cargo add ", "go get ", "gem "]
                    .iter()
                    .find_map(|before| text.strip_prefix(before))
                    .unwrap_or(text);
            let Some(rest) =
                bare.get(..name.len()).filter(|own| own.eq_ignore_ascii_case(name)).map(|own| &bare[own.len()..])
            else {
                return false;
            };
            let is_name = rest.is_empty() || rest.starts_with([' ', '=', '<', '>', '~', '^', '@', '[', '!']);
            let parts = plain(name);
            let parts: Vec<&str> = parts.split_whitespace().collect();
            // Denied where all that is said of it there denies it.
            let all = clauses(&span.around).into_iter().map(words).collect::<Vec<_>>();
            let mut own = all.iter().filter_map(|said| Some((said, place(said, &parts)?))).peekable();
            is_name && (own.peek().is_none() || own.any(|(said, at)| !denies(said, at, parts.len())))
        })
    }
}

impl Clause {
    fn names(&self, parts: &[&str], ordinary: bool) -> bool {
        let Some(at) = place(&self.words, parts) else { return false };
        if denies(&self.words, at, parts.len()) {
            return false;
        }
        let near = self.words.iter().take(at + parts.len() + NEAR).skip(at.saturating_sub(NEAR));
        !ordinary
            || self.listed
            || near.into_iter().any(|word| BESIDE.contains(&word.as_str()))
            || self.is_a_proper_name(parts)
    }

    /// Whether it is written with a capital where none begins a sentence: `with React and Vite`.
    fn is_a_proper_name(&self, parts: &[&str]) -> bool {
        let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
        let written: Vec<String> = self.written.iter().map(|word| bare(word)).collect();
        written.windows(parts.len()).skip(1).any(|some| {
            some.iter().zip(parts).all(|(one, part)| one.eq_ignore_ascii_case(part))
                && some.iter().all(|one| one.starts_with(char::is_uppercase))
        })
    }
}

/// The lines on which the stack, the dependencies and the integrations are listed.
fn lists(paper: &Paper) -> BTreeSet<u32> {
    let is_list = |words: &[String]| {
        words.iter().any(|word| {
            let word = word.as_str();
            word.starts_with("dependenc")
                || word.starts_with("librar")
                || matches!(word, "packages" | "stack" | "technology")
        })
    };
    let mut all: BTreeSet<u32> = BTreeSet::new();
    for part in paper.section("Stack").into_iter().chain(paper.below(is_list, "")).chain(paper.below_label(is_list)) {
        all.extend(part.lines().into_iter().map(|line| line.at));
    }
    for item in paper.section("External Integrations").iter().flat_map(Part::listed) {
        all.extend(item.lines.into_iter().map(|line| line.at));
    }
    all
}

fn place(said: &[String], parts: &[&str]) -> Option<usize> {
    said.windows(parts.len().max(1)).position(|some| some.iter().zip(parts).all(|(one, part)| one == part))
}

/// Whether a clause says that what stands at this place is not used.
fn denies(said: &[String], at: usize, long: usize) -> bool {
    const AWAY: &[&str] = &[
        "avoid",
        "avoids",
        "avoiding",
        "drop",
        "drops",
        "remove",
        "removes",
        "replace",
        "replaces",
        "replacing",
        "unlike",
    ];
    const USED: &[&str] = &[
        "used",
        "use",
        "needed",
        "required",
        "allowed",
        "wanted",
        "included",
        "added",
        "chosen",
        "taken",
        "necessary",
        "option",
    ];
    const OUT: &[&str] = &["rejected", "dropped", "removed", "forbidden", "unused", "excluded", "avoided"];
    const NOT: &[&str] = &["not", "never", "isnt", "arent", "wasnt", "wont", "longer"];
    let has = |words: &[String], any: &[&str]| words.iter().any(|word| any.contains(&word.as_str()));
    // `nothing but click`, `no library other than click`
    if has(&said[..at], &["except", "besides", "beyond", "only"])
        || said[..at]
            .windows(2)
            .any(|two| two[0] == "other" && two[1] == "than" || two[0] == "nothing" && two[1] == "but")
    {
        return false;
    }
    let before = &said[at.saturating_sub(2)..at];
    let behind = &said[(at + long).min(said.len())..];
    let next = &behind[..behind.len().min(5)];
    let instead = before.ends_with(&["instead".to_owned(), "of".to_owned()])
        || before.ends_with(&["rather".to_owned(), "than".to_owned()]);
    is_denied(said, at)
        || instead
        || has(before, AWAY)
        || has(&next[..next.len().min(3)], OUT)
        || has(next, NOT) && has(next, USED)
}

/// Small, with one sign for all that stands between words.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    for c in std::iter::once(' ').chain(text.chars()).chain([' ']) {
        match c {
            c if c.is_alphanumeric() => out.extend(c.to_lowercase()),
            _ if out.ends_with(' ') => {}
            _ => out.push(' '),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::paper::names;

    fn named(design: &str, name: &str) -> bool {
        let paper = Paper::read(design, names::DESIGN).unwrap();
        Said::of(std::iter::once(&paper)).is_some_and(|said| said.names(name))
    }

    #[test]
    fn a_dependency_is_named_by_its_name() {
        for (text, name) in [
            ("The API is FastAPI and pydantic.", "fastapi"),
            ("The API is FastAPI and pydantic.", "pydantic"),
            ("Lines go to left-pad first.", "left-pad"),
            ("State is kept in Redis, and Redis must not hold it for long.", "redis"),
            ("Sums come from golang.org/x/text.", "golang.org/x/text"),
            ("Queries go through `sqlx`.", "github.com/jmoiron/sqlx"),
            ("The view is built with React and Vite.", "react"),
            ("It uses click for its commands.", "click"),
            ("HTTP is left to the requests library.", "requests"),
            ("HTTP is left to `requests`, and each request is retried.", "requests"),
            ("HTTP is left to `requests>=2`.", "requests"),
            ("## Dependencies\n\n- click\n- rich: colours\n", "rich"),
            ("## Dependencies\n\n| name | why |\n|---|---|\n| click | commands |\n", "click"),
            ("No library other than click is needed.", "click"),
        ] {
            let text = if text.contains("##") { text.to_owned() } else { format!("## Architecture\n\n{text}\n") };
            assert!(named(&text, name), "{text} {name}");
        }
    }

    #[test]
    fn a_word_that_stands_there_anyway_names_none() {
        for (text, name) in [
            ("Each press is one step; it takes half a second.", "press"),
            ("Each press is one step; it takes half a second.", "half"),
            ("A dimmer gives one level of ten levels. Dimmers are slow.", "dimmer"),
            ("It calls `press(level)` of `src/press.py`.", "press"),
            ("The lantern sends requests.", "requests"),
            ("Pydantic is not used.", "pydantic"),
            ("`requests` is not used.", "requests"),
            ("We do not use requests.", "requests"),
            ("It works without pydantic, and instead of sqlx there is a file.", "pydantic"),
            ("It works without pydantic, and instead of sqlx there is a file.", "sqlx"),
            ("The next level is shown.", "next-level"),
            ("Something else.", "left-pad"),
        ] {
            assert!(!named(&format!("## Architecture\n\n{text}\n"), name), "{text} {name}");
        }
    }
}
