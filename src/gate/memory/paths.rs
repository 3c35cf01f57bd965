//! The paths that a text names, in whatever writing.

use crate::ledger::snapshot::Cap;

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

/// Whom a request asks for what looks like a path.
const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
/// Folders of a machine, not of a repository.
const MACHINE: [&str; 11] = ["usr", "etc", "tmp", "var", "home", "dev", "proc", "opt", "bin", "root", "sys"];
/// Where an address has a file of a repository behind it.
const HOSTED: [&str; 5] = ["/blob/", "/tree/", "/raw/", "/blame/", "/edit/"];

/// The paths that a text names: with a slash and an ending anywhere, also without either in code and links.
pub(super) fn paths(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for (at, span) in text.split('`').enumerate() {
        let code = at % 2 == 1;
        if let Some(path) = with_blanks(span).filter(|_| code) {
            found.push(path);
            continue;
        }
        let (globs, span) = globs_of(span, code);
        found.extend(globs);
        let span = span.as_str();
        let whole = code && !span.trim().contains(char::is_whitespace);
        let links: Vec<&str> =
            span.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(to, _)| to).collect();
        let mut before = "";
        for word in span.split(|c: char| !(c.is_alphanumeric() || "._-/@+:#\\~%?=&".contains(c))) {
            let asked = METHODS.contains(&before);
            before = if word.is_empty() { before } else { word };
            if word.contains("://") {
                found.extend(hosted(word));
                continue;
            }
            let link = links.iter().any(|link| link.split_whitespace().next() == Some(word));
            let called = code && span.contains(&format!("{word}("));
            // From the root of the repository, or of something else.
            let rooted = word.starts_with('/');
            match path(word).filter(|path| !rooted || !asked && !is_elsewhere(path)) {
                Some(path) if path.contains('/') => {
                    let folder = whole && !rooted && !MEDIA.contains(&path.split('/').next().unwrap_or_default());
                    if folder || link || is_file(&path) {
                        found.push(path);
                    }
                }
                Some(name) if (code && !rooted || link) && !called && is_name(&name) && !is_product(&name) => {
                    names.push(name);
                }
                _ => {}
            }
        }
    }
    // A name is short for the path that stands beside it.
    names.retain(|name| !found.iter().any(|path| path.rsplit('/').next() == Some(name)));
    found.extend(names);
    found
}

/// `Node.js`, `Vue.js`: what something is called.
fn is_product(name: &str) -> bool {
    name.ends_with(".js") && name.starts_with(char::is_uppercase)
}

/// `/usr/lib/x.so`: a file of the machine.
fn is_elsewhere(path: &str) -> bool {
    path.split('/').next().is_some_and(|first| MACHINE.contains(&first))
}

/// All of a code span as one path: `lib/my file.rs`.
fn with_blanks(span: &str) -> Option<String> {
    let words: Vec<&str> = span.split_whitespace().collect();
    let [first, .., last] = words.as_slice() else { return None };
    let shaped = span.chars().all(|c| c.is_alphanumeric() || "._-/@+~ ".contains(c));
    let one = first.contains('/') && !is_file(first) && !words[1..].iter().any(|word| word.contains('/'));
    (shaped && one && is_name(last)).then(|| normal(&words.join(" ")))
}

/// The globs in a text, with what is in braces one by one, and the text without them.
fn globs_of(span: &str, code: bool) -> (Vec<String>, String) {
    let (mut globs, mut rest) = (Vec::new(), String::new());
    for word in span.split_inclusive(char::is_whitespace) {
        let bare = word.trim().trim_matches(['(', ')', ',', ';', ':', '.', '"', '\'', '“', '”']);
        let bold = bare.strip_prefix("**").and_then(|bare| bare.strip_suffix("**"));
        let bare = bold.filter(|bare| !bare.ends_with('/')).unwrap_or(bare);
        let glob = ["**", "*.", "{"].iter().any(|mark| bare.contains(mark)) || code && bare.contains('*');
        let shaped = bare.chars().all(|c| c.is_alphanumeric() || "._-/@+~*?{},[]!".contains(c));
        if bare.contains('/') && glob && shaped && bare.contains(char::is_alphabetic) {
            let each = one_by_one(bare);
            globs.extend(each.iter().map(|path| normal(path)).filter(|path| path.contains('/') || is_name(path)));
            rest.push(' ');
        } else {
            rest.push_str(word);
        }
    }
    (globs, rest)
}

/// `lib/{a,b}.rs` as `lib/a.rs` and `lib/b.rs`; some of them, where there are very many.
fn one_by_one(glob: &str) -> Vec<String> {
    const MOST: usize = 16;
    let mut all = vec![glob.to_owned()];
    for _ in 0..16 * MOST {
        let Some(at) = all.iter().position(|one| one.contains('{') && one.contains('}')) else { break };
        let one = all.remove(at);
        // The innermost, so that its end is its own.
        let end = one.find('}').unwrap_or_default();
        let Some(start) = one[..end].rfind('{') else {
            all.push(one.replace(['{', '}'], ""));
            continue;
        };
        let parts = one[start + 1..end].split(',');
        all.extend(parts.map(|part| format!("{}{part}{}", &one[..start], &one[end + 1..])));
        all.truncate(MOST);
    }
    all
}

/// The file of a repository behind an address.
fn hosted(address: &str) -> Option<String> {
    let raw = address.split_once("raw.githubusercontent.com/").and_then(|(_, rest)| rest.splitn(3, '/').nth(2));
    let behind = raw.or_else(|| HOSTED.iter().find_map(|mark| Some(address.split_once(mark)?.1)))?;
    let behind = behind.strip_prefix("refs/heads/").unwrap_or(behind);
    let (at, path) = behind.split_once('/')?;
    let path = normal(path.split(['#', '?']).next()?.trim_end_matches(['.', ':', '/']));
    // The ledger is no work.
    let ledger = at == "phasegate" && path.starts_with("ledger/");
    (!path.is_empty() && !ledger).then_some(path)
}

/// A path without what leads nowhere: `/lib//x`, `src/../lib/x`.
fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Whether a path, or something that a glob could mean, is within a cap.
pub(super) fn is_within(cap: &Cap, path: &str) -> bool {
    const WILD: [char; 3] = ['*', '?', '['];
    let start = |glob: &str| -> String {
        let plain = glob.split(WILD).next().unwrap_or_default();
        plain.rfind('/').map_or(String::new(), |at| plain[..=at].to_owned())
    };
    if !path.contains(WILD) {
        return cap.allows(path);
    }
    let known = start(path);
    let samples = ["", "x/"].map(|between| path.replace("**/", between).replace("**", "x").replace(WILD, "x"));
    // What is only known to begin above a glob of the cap may be in that one.
    let may =
        cap.within.iter().map(|glob| start(glob)).any(|glob| glob.len() > known.len() && glob.starts_with(&known));
    known.is_empty() || may || samples.iter().any(|sample| cap.allows(sample))
}

/// A word as a path of the repository, if it has the shape of one: without the place in it, and no address.
fn path(word: &str) -> Option<String> {
    if word.starts_with("www.") || word.contains("::") {
        return None;
    }
    let bare = word.split(['#', '?', ':']).next().unwrap_or_default().replace('\\', "/");
    let bare = bare.replace("%2F", "/").replace("%2f", "/");
    let bare = normal(bare.trim_end_matches(['.', '/', '-', '_']));
    let shaped = !bare.is_empty() && bare.chars().all(|c| c.is_alphanumeric() || "._-/@+~".contains(c));
    let parts: Vec<&str> = bare.split('/').collect();
    let said = bare.contains(char::is_alphabetic);
    let first = parts.first().copied().unwrap_or_default();
    // `example.org/x`, `Node.js/Deno`, `1.2/3`, `and/or`, `w/o`.
    let host =
        parts.len() > 1 && first.rsplit_once('.').is_some_and(|(start, end)| !start.is_empty() && HOSTS.contains(&end));
    let version = parts.len() > 1
        && parts.iter().all(|part| part.trim_start_matches('v').chars().all(|c| c.is_ascii_digit() || c == '.'));
    let words = ["and/or", "n/a", "w/o", "i/o", "tcp/ip", "either/or", "yes/no", "true/false"];
    let spoken = words.contains(&bare.to_lowercase().as_str());
    (shaped && said && !host && !version && !spoken).then_some(bare)
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
mod tests;
