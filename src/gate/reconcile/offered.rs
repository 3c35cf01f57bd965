//! What a file offers to those who use it: functions with what they take and give, classes, routes. A fix that changes any of it
//! may have left the documents behind.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::gate::build;
use crate::gate::build::code::{Language, Masked, blocks};
use crate::gate::build::covered::{is_of_tests, is_rust_test};
use crate::gate::papers::LOG;
use crate::ids::CommitId;
use crate::ledger::snapshot::FOLDER;
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
        let path = String::from_utf8_lossy(delta.path.as_bytes());
        if path.starts_with(FOLDER) || path == LOG {
            return false;
        }
        delta.old.is_none() || build::is_manifest(&delta.path) || is_reshaped(reader, (from, to), &delta.path)
    };
    since.iter().any(more)
}

fn is_reshaped(reader: &dyn Reader, (from, to): (&CommitId, &CommitId), path: &RepoPath) -> bool {
    let name = String::from_utf8_lossy(path.as_bytes()).into_owned();
    if (Language::of(&name).is_none() && !is_contract(&name)) || is_of_tests(&name) {
        return false;
    }
    let text = |at: &CommitId| reader.blob(at, path).map(|blob| blob.map(|blob| blob.bytes).unwrap_or_default());
    match (text(from), text(to)) {
        (Ok(old), Ok(new)) => {
            offered(&name, &String::from_utf8_lossy(&old)) != offered(&name, &String::from_utf8_lossy(&new))
        }
        _ => true,
    }
}

/// Whether a file is nothing but what is offered: a schema, a description of an API, a header.
fn is_contract(path: &str) -> bool {
    const ENDS: [&str; 12] =
        ["proto", "graphql", "graphqls", "gql", "thrift", "avsc", "wsdl", "xsd", "sql", "h", "hh", "hpp"];
    const BEGINS: [&str; 3] = ["openapi", "swagger", "asyncapi"];
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let Some((before, end)) = name.rsplit_once('.') else { return false };
    let described = ["yaml", "yml", "json"].contains(&end) && BEGINS.iter().any(|begin| before.starts_with(begin));
    described || ENDS.contains(&end)
}

/// Each thing that a file offers, in a form that differs where it does.
fn offered(path: &str, text: &str) -> BTreeSet<String> {
    let Some(language) = Language::of(path) else {
        return is_contract(path).then(|| told(&[text])).into_iter().collect();
    };
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
    let by_name = match language {
        Language::Python => Some(&LAMBDA),
        Language::JavaScript => Some(&EXPORT),
        _ => None,
    };
    for found in by_name.into_iter().flat_map(|pattern| all_of(pattern, &code)) {
        let parts: Vec<&str> = found.iter().skip(1).flatten().map(|part| part.as_str()).collect();
        all.insert(told(&[&["named"], &parts[..]].concat()));
    }
    for block in blocks.iter().filter(|block| counts(block.begins)) {
        let Some(shape) = all_of(&SHAPE, &block.header).next() else { continue };
        let members = members(&code[block.from..block.to]);
        // What nobody else can name is nobody else's.
        let seen = |member: &&str| match (language, &shape[1]) {
            (Language::Rust, "struct" | "union") => member.starts_with("pub"),
            (Language::Go, _) if block.header.trim_end().ends_with("struct") => member.starts_with(char::is_uppercase),
            _ => !member.is_empty(),
        };
        all.extend(members.lines().map(str::trim).filter(seen).map(|member| told(&["member", &shape[2], member])));
    }
    let wordless = matches!(language, Language::Java | Language::CSharp | Language::JavaScript);
    for block in blocks.iter().filter(|_| wordless) {
        let method = all_of(&METHOD, &block.header).next().filter(|found| !KEYWORDS.contains(&&found[2]));
        if let Some(found) = method.filter(|found| found.get(1).is_none_or(|before| before.as_str() != "new")) {
            all.insert(told(&["function", &found[2], &found[3]]));
        }
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

/// A function of Python that is given a name: `dim = lambda level: …`.
static LAMBDA: Pattern =
    LazyLock::new(|| Regex::new(r"(?m)^([A-Za-z_]\w*)[ \t]*(?::[^=\n]+)?=[ \t]*lambda\b([^:\n]*):").ok());

/// What a module of JavaScript hands out by its names.
static EXPORT: Pattern = LazyLock::new(|| {
    let assigned = r"\bexports\.([A-Za-z_$][\w$]*)\s*=\s*(?:async\s+)?(?:function\b[^(]*)?(\([^()]*\))?";
    let listed = r"(?:\bmodule\.exports\s*=|\bexport)\s*\{([^{}]*)\}";
    let declared = r"\bexport\s+(?:default\s+)?(?:const|let|var)\s+([A-Za-z_$][\w$]*)";
    Regex::new(&format!("{assigned}|{listed}|{declared}")).ok()
});

/// What stands before a block whose members are what is offered.
static SHAPE: Pattern =
    LazyLock::new(|| Regex::new(r"\b(struct|interface|enum|union|protocol|record|type)\s+([A-Za-z_]\w*)").ok());

/// The members of such a block, a line each, without what stands in blocks of their own.
fn members(body: &str) -> String {
    let mut depth = 0_usize;
    let mut out = String::with_capacity(body.len());
    for c in body.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' | ';' if depth == 0 => out.push('\n'),
            c if depth == 0 => out.push(c),
            _ => {}
        }
    }
    out
}

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
            ("a.py", "x = 1\n", "x = 1\nglow = lambda level, times=1: level * times\n"),
            ("a.py", "glow = lambda a: a\n", "glow = lambda a, b: a\n"),
            ("a.js", "exports.dim = (a) => a;\n", "exports.dim = (a, b) => a;\n"),
            ("a.js", "module.exports = { dim };\n", "module.exports = { dim, glow };\n"),
            ("a.js", "export { dim };\n", "export { dim, glow };\n"),
            ("a.js", "export const a = 1;\n", "export const a = 1;\nexport const b = 2;\n"),
            ("a.rs", "pub struct Lamp {\n    pub level: u8,\n}\n", "pub struct Lamp {\n    pub level: u16,\n}\n"),
            ("a.rs", "pub enum Mode { On }\n", "pub enum Mode { On, Off }\n"),
            (
                "a.ts",
                "interface Lamp {\n  level: number;\n}\n",
                "interface Lamp {\n  level: number;\n  on: boolean;\n}\n",
            ),
            ("a.ts", "type Lamp = {\n  level: number;\n}\n", "type Lamp = {\n  level: string;\n}\n"),
            ("a.go", "type Lamp struct {\n\tLevel int\n}\n", "type Lamp struct {\n\tLevel int\n\tOn bool\n}\n"),
            ("A.java", "interface A {\n  int dim(int a);\n}\n", "interface A {\n  int dim(long a);\n}\n"),
            ("api/openapi.yaml", "paths:\n  /on: {}\n", "paths:\n  /on: {}\n  /off: {}\n"),
            ("lamp.proto", "message A { int32 a = 1; }\n", "message A { int64 a = 1; }\n"),
            ("db/schema.sql", "create table a (b int);\n", "create table a (b text);\n"),
            ("lamp.h", "int dim(int);\n", "int dim(long);\n"),
            ("a.rb", "def dim(level)\n  1\nend\n", "def dim(level, step)\n  1\nend\n"),
            ("a.rb", "def dim\n  1\nend\n", "def dim2\n  1\nend\n"),
            ("a.kt", "fun dim(a: Int): Int = a\n", "fun dim(a: Int): Long = 1\n"),
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
            ("a.py", "def a():\n    return 1\n", "def a():\n    by = lambda b: b\n    return by(1)\n"),
            ("a.rs", "struct Lamp {\n    level: u8,\n}\n", "struct Lamp {\n    level: u8,\n    seen: bool,\n}\n"),
            ("a.go", "type Lamp struct {\n\tLevel int\n}\n", "type Lamp struct {\n\tLevel int\n\tseen bool\n}\n"),
            ("a.ts", "interface A {\n  a: number;\n}\n", "interface A { a: number }\n"),
            ("data/lamps.json", "{}", "{\"a\": 1}"),
            ("lamp.proto", "message A { int32 a = 1; }\n", "message A {\n  int32 a = 1;\n}\n"),
        ] {
            assert!(!differs(path, old, new), "{path}: {:?} {:?}", offered(path, old), offered(path, new));
        }
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
