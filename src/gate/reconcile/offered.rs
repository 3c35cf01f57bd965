//! What a file offers to those who use it: functions with what they take and give, classes, routes. A fix that changes any of it
//! may have left the documents behind.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::gate::build;
use crate::gate::build::code::{Language, Masked, blocks};
use crate::gate::build::covered::{is_of_tests, is_rust_test};
use crate::ids::CommitId;
use crate::repo::{Delta, Reader, RepoPath};

type Pattern = LazyLock<Option<Regex>>;

/// Whether what was pushed between two commits is more than a fix in place: a file is new, a dependency's manifest was touched, or
/// something is offered otherwise than before. What can't be read is not taken for small.
pub fn is_structural(reader: &dyn Reader, from: &CommitId, to: &CommitId) -> bool {
    let Ok(since) = reader.diff(from, to) else {
        // The old head is gone (a force-push).
        return true;
    };
    let more = |delta: &Delta| {
        delta.old.is_none() || build::is_manifest(&delta.path) || is_reshaped(reader, (from, to), &delta.path)
    };
    since.iter().any(more)
}

fn is_reshaped(reader: &dyn Reader, (from, to): (&CommitId, &CommitId), path: &RepoPath) -> bool {
    let name = String::from_utf8_lossy(path.as_bytes()).into_owned();
    if is_of_tests(&name) || Language::of(&name).is_none() && !is_contract(&name) {
        return false;
    }
    let text = |at: &CommitId| reader.blob(at, path).map(|blob| blob.map(|blob| blob.bytes).unwrap_or_default());
    match (text(from), text(to)) {
        // Nobody here reads them, so that they are not taken for small.
        (Ok(old), Ok(new)) if is_contract(&name) => old != new,
        (Ok(old), Ok(new)) => {
            offered(&name, &String::from_utf8_lossy(&old)) != offered(&name, &String::from_utf8_lossy(&new))
        }
        _ => true,
    }
}

/// Whether a file is made to say what is offered.
fn is_contract(path: &str) -> bool {
    const ENDS: &[&str] =
        &["proto", "graphql", "graphqls", "gql", "thrift", "avsc", "wsdl", "xsd", "sql", "h", "hpp", "hh"];
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    name.rsplit_once('.').is_some_and(|(_, end)| ENDS.contains(&end))
        || name.starts_with("openapi")
        || name.starts_with("swagger")
}

/// Each thing that a file offers, in a form that differs where it does.
fn offered(path: &str, text: &str) -> BTreeSet<String> {
    let Some(language) = Language::of(path) else { return BTreeSet::new() };
    let code = Masked::new(text, language).code;
    let blocks = blocks(&code);
    let tests: Vec<Range<usize>> = match language {
        Language::Rust => blocks.iter().filter(|block| is_rust_test(&block.header)).map(|b| b.begins..b.to).collect(),
        _ => Vec::new(),
    };
    let counts = |at: usize| !tests.iter().any(|test| test.contains(&at));
    let mut all = BTreeSet::new();
    for found in all_of(&FUNCTION, &code).chain(all_of(&ARROW, &code)) {
        let Some(whole) = found.get(0).filter(|whole| counts(whole.start())) else { continue };
        let (taken, end) = bracketed(&code, whole.end());
        let bare = found.get(2).map_or("", |bare| bare.as_str());
        all.insert(told(&["function", &found[1], bare, taken, gives(&code[end..], language)]));
    }
    let wordless = matches!(language, Language::Java | Language::CSharp | Language::JavaScript);
    for block in blocks.iter().filter(|_| wordless) {
        let method = all_of(&METHOD, &block.header).next().filter(|found| !KEYWORDS.contains(&&found[2]));
        if let Some(found) = method.filter(|found| found.get(1).is_none_or(|before| before.as_str() != "new")) {
            all.insert(told(&["function", &found[2], &found[3]]));
        }
    }
    for found in all_of(&LAMBDA, &code).chain(all_of(&EXPORT, &code)) {
        all.insert(told(&["function", &found[1], &found[2]]));
    }
    // What others see of a shape: its public fields, in an interface all of them.
    for block in blocks.iter().filter(|block| counts(block.begins)) {
        let Some(shape) = all_of(&SHAPE, &block.header).next() else { continue };
        let seen = |line: &&str| match language {
            Language::Rust => line.trim_start().starts_with("pub"),
            Language::Go => line.trim_start().starts_with(char::is_uppercase),
            _ => true,
        };
        let fields: Vec<&str> = code[block.from..block.to].lines().filter(seen).collect();
        let name = shape.iter().skip(1).flatten().next().map_or("", |name| name.as_str());
        all.insert(told(&["shape", name, &fields.join(" ")]));
    }
    for found in all_of(&CLASS, &code).filter(|found| found.get(0).is_some_and(|whole| counts(whole.start()))) {
        all.insert(told(&[&found[1], &found[2], &found[3]]));
    }
    // An address stands in a string, so it is looked for in the text, where that is code.
    let in_code = |found: &Captures<'_>| {
        let begins = found.get(0).map(|whole| whole.start());
        begins.is_some_and(|at| counts(at) && code.as_bytes().get(at) == text.as_bytes().get(at))
    };
    let django = path.rsplit('/').next() == Some("urls.py");
    let pages = all_of(&PAGE, text).filter(|_| django);
    for found in all_of(&ROUTE, text).chain(pages).filter(in_code) {
        let how = found.get(3).map_or("", |methods| methods.as_str());
        all.insert(told(&["route", &found[1].to_lowercase(), &found[2], how]));
    }
    all
}

/// A function by its word, up to the parenthesis of what it takes.
static FUNCTION: Pattern = LazyLock::new(|| {
    let generic = r"(?:<[^<>()]*(?:<[^<>()]*>[^<>()]*)*>|\[[^\[\]]*\])?";
    Regex::new(&format!(
        r"\b(?:def|fn|func|fun|function)\b\s*\*?\s*(?:\([^()]*\)\s*)?(?:self\.)?([A-Za-z_$][\w$]*[?!]?)\s*{generic}"
    ))
    .ok()
});

/// A function that is given a name: `const dim = async (level) =>`.
static ARROW: Pattern = LazyLock::new(|| {
    let begins = r"\b(?:const|let|var)\s+([A-Za-z_$][\w$]*)\s*(?::[^=\n]+)?=\s*(?:async\b\s*)?";
    Regex::new(&format!(r"{begins}(?:function\b\s*\*?\s*|(?:<[^<>]*>)?)(?:\(|([A-Za-z_$][\w$]*)\s*=>)")).ok()
});

/// A function of Python without a word for it: `glow = lambda level: level`.
static LAMBDA: Pattern =
    LazyLock::new(|| Regex::new(r"(?m)^([A-Za-z_]\w*)[ \t]*(?::[^=\n]+)?=[ \t]*lambda\b([^:\n]*):").ok());

/// What a module of Node gives away: `exports.glow = (level) => level`.
static EXPORT: Pattern = LazyLock::new(|| {
    Regex::new(r"\bexports\.([A-Za-z_$][\w$]*)\s*=\s*((?:async\b\s*)?(?:function\b[^({]*)?(?:\([^()]*\))?)").ok()
});

/// What stands before the fields of something that has a shape.
static SHAPE: Pattern = LazyLock::new(|| {
    Regex::new(r"(?:^|\s)(?:struct\s+(\w+)[^()]*|interface\s+(\w+)[^()]*|type\s+(\w+)\s+struct|type\s+(\w+)[^()=]*=)$")
        .ok()
});

/// What stands before the block of a method in languages that have no word for it.
static METHOD: Pattern = LazyLock::new(|| {
    let ends = r"(?:throws\s+[\w.,\s]+|:\s*[^(){};]+|where\s+[^(){};]+)?";
    Regex::new(&format!(r"(?:^|(\w*)[\s*#>\]])([A-Za-z_$][\w$]*)\s*(?:<[^<>]*>)?\(([^()]*)\)\s*{ends}$")).ok()
});

/// Words that have parentheses before a block, and offer nothing.
const KEYWORDS: [&str; 11] =
    ["if", "for", "foreach", "while", "switch", "catch", "with", "using", "lock", "synchronized", "function"];

static CLASS: Pattern = LazyLock::new(|| {
    let before = r"(?:pub(?:\([^()]*\))?|export|default|declare|public|private|protected|internal|abstract|final|static|sealed|data|open|partial)";
    let kinds = "class|struct|interface|trait|enum|protocol|record|object|module|type|union";
    Regex::new(&format!(r"(?m)^[ \t]*(?:{before}\s+)*({kinds})\s+([A-Za-z_]\w*)([^\n{{;]*)")).ok()
});

/// An address that is served: `@app.route("/x")`, `router.get('/x', …)`, `#[get("/x")]`.
static ROUTE: Pattern = LazyLock::new(|| {
    let words = "route|get|post|put|patch|delete|head|options|all|any|websocket|handle|handlefunc|map(?:get|post|put|patch|delete)|\
                 (?:get|post|put|patch|delete|request)mapping";
    let methods = r#"(?:[^\n]*?(methods?\s*=\s*[\[({][^\])}\n]*))?"#;
    Regex::new(&format!(r#"(?i)(?:\.|@|#\[\s*)({words})\s*\(\s*["'`](/[^"'`\n]*)["'`]{methods}"#)).ok()
});

/// The same in Django's lists of addresses.
static PAGE: Pattern = LazyLock::new(|| Regex::new(r#"\b(path|re_path|url)\(\s*r?["']([^"'\n]*)["'](\z)?"#).ok());

fn all_of<'t>(pattern: &'static Pattern, text: &'t str) -> impl Iterator<Item = Captures<'t>> {
    pattern.as_ref().into_iter().flat_map(move |pattern| pattern.captures_iter(text))
}

/// What stands in the parentheses that begin at or just before this place, and where they end.
fn bracketed(code: &str, at: usize) -> (&str, usize) {
    let opens = if code[..at].ends_with('(') { at } else { at + usize::from(code[at..].starts_with('(')) };
    if !code[..opens].ends_with('(') {
        return ("", at);
    }
    let mut depth = 1_usize;
    for (offset, byte) in code[opens..].bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (&code[opens..opens + offset], opens + offset + 1);
        }
    }
    (&code[opens..], code.len())
}

/// What a function gives, where that stands behind what it takes.
fn gives(rest: &str, language: Language) -> &str {
    let rest = rest.split('\n').next().unwrap_or_default().trim_start();
    let until = |ends: &[char]| rest.split(ends).next().unwrap_or_default();
    match language {
        Language::Python if rest.starts_with("->") => until(&[':']),
        Language::Rust | Language::Swift if rest.starts_with("->") => until(&['{', ';']),
        Language::JavaScript | Language::Kotlin | Language::Php if rest.starts_with(':') => until(&['{', ';', '=']),
        Language::Go => until(&['{']),
        _ => "",
    }
}

/// In one line, whatever the blanks.
fn told(parts: &[&str]) -> String {
    let words = parts.iter().flat_map(|part| part.split_whitespace());
    words.collect::<Vec<_>>().join(" ").replace([',', ':'], " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a file offers something else with another text.
    fn differs(path: &str, old: &str, new: &str) -> bool {
        offered(path, old) != offered(path, new)
    }

    #[test]
    fn another_signature_is_another_interface_and_another_body_is_none() {
        for (path, old, new) in [
            ("a.py", "def glow():\n    return 1\n", "def glow(times=1):\n    return times\n"),
            ("a.py", "def glow(a) -> int:\n    return 1\n", "def glow(a) -> str:\n    return ''\n"),
            ("a.py", "x = 1\n", "x = 1\n\n\ndef go():\n    return 1\n"),
            ("a.py", "class Lamp:\n    pass\n", "class Lamp(Base):\n    pass\n"),
            ("a.py", "@app.route('/on')\ndef on():\n    pass\n", "@app.route('/off')\ndef on():\n    pass\n"),
            ("a.py", "@app.route('/on')\n", "@app.route('/on', methods=['POST'])\n"),
            ("site/urls.py", "urlpatterns = [path('on/', on)]\n", "urlpatterns = [path('off/', on)]\n"),
            ("a.rs", "pub fn dim(a: u8) -> u8 { a }\n", "pub fn dim(a: u8) -> u16 { a.into() }\n"),
            ("a.rs", "fn dim<T>(a: T) {}\n", "fn dim<T>(a: T, b: (u8, u8)) {}\n"),
            ("a.rs", "struct Lamp;\n", "struct Lamp;\npub enum Mode { On }\n"),
            ("a.rs", "r.route(\"/on\", get(on));\n", "r.route(\"/on\", get(on)).route(\"/off\", get(off));\n"),
            ("a.js", "const dim = (level) => level;\n", "const dim = (level, step) => level - step;\n"),
            ("a.js", "const dim = level => 1;\n", "const dim = other => 1;\n"),
            ("a.js", "class A {\n  dim(a) { return a; }\n}\n", "class A {\n  dim(a, b) { return a; }\n}\n"),
            ("a.js", "app.get('/on', on);\n", "app.get('/on', on);\napp.post('/on', set);\n"),
            (
                "a.ts",
                "export function dim(a: number): number { return a }\n",
                "export function dim(a: number): string { return '' }\n",
            ),
            (
                "a.go",
                "func (l *Lamp) Dim(a int) int { return a }\n",
                "func (l *Lamp) Dim(a int) (int, error) { return a, nil }\n",
            ),
            (
                "A.java",
                "class A { public int dim(int a) { return a; } }\n",
                "class A { public int dim(long a) { return 1; } }\n",
            ),
            (
                "A.java",
                "class A { @GetMapping(\"/on\") int on() { return 1; } }\n",
                "class A { @GetMapping(\"/off\") int on() { return 1; } }\n",
            ),
            ("a.rb", "def dim(level)\n  1\nend\n", "def dim(level, step)\n  1\nend\n"),
            ("a.rb", "def dim\n  1\nend\n", "def dim2\n  1\nend\n"),
            ("a.kt", "fun dim(a: Int): Int = a\n", "fun dim(a: Int): Long = 1\n"),
            ("a.py", "x = 1\n", "x = 1\nglow = lambda level, times=1: level * times\n"),
            ("a.js", "exports.dim = (a) => a;\n", "exports.dim = (a) => a;\nexports.glow = (a) => a;\n"),
            ("a.js", "exports.dim = (a) => a;\n", "exports.dim = (a, b) => a;\n"),
            (
                "a.rs",
                "pub struct Lamp {\n    pub a: u8,\n}\n",
                "pub struct Lamp {\n    pub a: u8,\n    pub b: u8,\n}\n",
            ),
            (
                "a.ts",
                "export interface Lamp {\n  a: number;\n}\n",
                "export interface Lamp {\n  a: number;\n  b: number;\n}\n",
            ),
            ("a.go", "type Lamp struct {\n\tA int\n}\n", "type Lamp struct {\n\tA int\n\tB int\n}\n"),
        ] {
            assert!(differs(path, old, new), "{path}: {old} {new} {:?}", offered(path, new));
        }
        for (path, old, new) in [
            ("a.py", "def glow(a):\n    return 1\n", "def glow(a):\n    # def other():\n    return glow(a - 1)\n"),
            ("a.py", "def glow(a, b):\n    return 1\n", "def glow(\n    a,\n    b,\n):\n    return 2\n"),
            ("a.py", "x = d.get('/a')\n", "x = d.get('/a') or 1\n"),
            (
                "a.rs",
                "fn dim(a: u8) -> u8 { a }\n",
                "fn dim(a: u8) -> u8 {\n    if a > 1 { dim(a - 1) } else { a }\n}\n",
            ),
            (
                "a.rs",
                "fn a() {}\n",
                "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn a_works() { a() }\n}\n",
            ),
            (
                "a.js",
                "const dim = (a) => { return a; };\n",
                "const dim = (a) => { for (const b of a) { b(); } return 1; };\n",
            ),
            ("a.js", "function dim(a) { return a; }\n", "function dim(a) { if (a) { return 1; } return call(a); }\n"),
            (
                "A.java",
                "class A { int dim(int a) { return a; } }\n",
                "class A { int dim(int a) { while (a > 1) { a--; } return a; } }\n",
            ),
            ("notes.md", "one", "def two():"),
            ("a.rs", "pub struct Lamp {\n    a: u8,\n}\n", "pub struct Lamp {\n    a: u8,\n    b: u8,\n}\n"),
            (
                "a.py",
                "def dim(a):\n    f = lambda x: x\n    return f(a)\n",
                "def dim(a):\n    f = lambda x, y=1: x\n    return f(a)\n",
            ),
        ] {
            assert!(!differs(path, old, new), "{path}: {:?} {:?}", offered(path, old), offered(path, new));
        }
    }

    #[test]
    fn a_file_that_says_what_is_offered_is_never_small() {
        for path in ["api/lamp.proto", "openapi.yaml", "db/schema.sql", "include/lamp.h", "a/schema.graphql"] {
            assert!(is_contract(path), "{path}");
        }
        assert!(!is_contract("config.yaml") && !is_contract("README.md"));
    }

    #[test]
    fn what_has_no_end_is_read_all_the_same() {
        for text in
            ["def dim(", "fn a<", "const é = (", "function", "@app.route('/é", "func (a) ", "é=>", "let a = b =>"]
        {
            for path in ["a.py", "a.rs", "a.js", "a.go"] {
                drop(offered(path, text));
            }
        }
    }
}
