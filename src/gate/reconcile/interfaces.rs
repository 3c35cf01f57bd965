//! `REC-02`: the interfaces that the design names, and what the code has of them.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::{Bench, Table};
use crate::finding::quoted;
use crate::gate::build::code::{Language, Masked, line_at};
use crate::gate::build::covered::is_of_tests;
use crate::gate::paper::Paper;
use crate::gate::paper::text::words;
use crate::gate::papers::{DESIGN, Found, excerpt};

/// More interfaces than these are not looked for.
const MOST: usize = 100;

/// Something that the design says can be called.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Interface {
    name: String,
    /// How many things it takes, where the design says that.
    takes: Option<usize>,
    line: u32,
    written: String,
}

type Pattern = LazyLock<Option<Regex>>;

/// The names of the design's interfaces, and the addresses that it serves.
pub(super) fn names(design: Option<&Paper>) -> BTreeSet<String> {
    of(design).into_iter().map(|one| one.name).collect()
}

/// A type that is declared: `class Lamp`, `pub struct Lamp`.
static TYPE: Pattern = LazyLock::new(|| {
    let before = r"(?:pub|export|default|declare|public|abstract|final|sealed|data|frozen|const)\s+";
    let kinds = "class|interface|struct|enum|trait|record|protocol|type";
    Regex::new(&format!(r"^\s*(?:{before})*(?:{kinds})\s+([A-Z]\w{{2,}})\b")).ok()
});

/// An address that is served: `POST /lamps/{id}/dim`.
static ROUTE: Pattern =
    LazyLock::new(|| Regex::new(r"^\s*((?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)\s+/[^\s?#]*)").ok());

/// What there is by the design: code in the text that begins with a name and parentheses, is an address or declares a type, and
/// declarations in code blocks.
fn of(design: Option<&Paper>) -> Vec<Interface> {
    static SPAN: Pattern = LazyLock::new(|| {
        let before = r"(?:pub|async|export|static|public|def|fn|func|function)\s+";
        Regex::new(&format!(r"^(?:{before})*(?:[A-Za-z_]\w*(?:\.|::))*([A-Za-z_]\w{{2,}})\s*(?:<[^<>]*>)?\(([^()]*)\)"))
            .ok()
    });
    let Some(part) = design.and_then(|paper| paper.section("Interfaces")) else { return Vec::new() };
    let mut all: Vec<Interface> = Vec::new();
    let mut add = |pattern: &Pattern, line: u32, text: &str| {
        let Some(found) = pattern.as_ref().and_then(|pattern| pattern.captures(text)) else { return };
        let name = found[1].split_whitespace().collect::<Vec<_>>().join(" ");
        let takes = found.get(2).and_then(|inside| counted(inside.as_str()));
        if all.len() < MOST && !all.iter().any(|one| one.name == name) {
            all.push(Interface { name, takes, line, written: found[0].trim().to_owned() });
        }
    };
    for item in part.described() {
        // What comes later is not there yet.
        let later = ["later", "deferred", "planned", "future", "existing", "external"];
        if words(&item.text).iter().any(|word| later.contains(&word.as_str())) {
            continue;
        }
        for span in &item.spans {
            for pattern in [&SPAN, &TYPE, &ROUTE] {
                add(pattern, item.line, span.trim());
            }
        }
    }
    for code in part.all_code() {
        // A drawing declares nothing.
        let drawn = matches!(code.language.as_str(), "mermaid" | "plantuml" | "dot");
        for line in code.lines.iter().filter(|_| !drawn) {
            for pattern in [&DECLARED, &TYPE, &ROUTE] {
                add(pattern, line.at, &line.text);
            }
        }
    }
    all
}

static DECLARED: Pattern = LazyLock::new(|| {
    let generic = r"(?:<[^<>]*>|\[[^\[\]]*\])?";
    Regex::new(&format!(r"\b(?:def|fn|func|function)\s+(?:\([^()]*\)\s*)?([A-Za-z_]\w{{2,}})\s*{generic}\(([^()]*)\)"))
        .ok()
});

/// The parts between commas, without what only says whose it is.
fn parts(inside: &str) -> Vec<String> {
    let (mut all, mut depth) = (vec![String::new()], 0_i32);
    for c in inside.chars() {
        match c {
            '<' | '[' | '{' => depth += 1,
            '>' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                all.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = all.last_mut() {
            last.push(c);
        }
    }
    let own = |part: &str| {
        let bare = part.trim_start_matches(['&', '\'']).trim_start_matches("mut ").trim();
        matches!(bare, "" | "self" | "cls" | "this" | "*" | "/") || bare.starts_with("self:") || bare.starts_with("ctx")
    };
    all.iter().map(|part| part.trim().to_owned()).filter(|part| !own(part)).collect()
}

/// How many things a design's interface takes. None where it gives an example, or leaves something out.
fn counted(inside: &str) -> Option<usize> {
    static NAMED: Pattern = LazyLock::new(|| Regex::new(r"^[&*]*[A-Za-z_]\w*\??(?:\s*[:=].*|\s+\S.*)?$").ok());
    let parts = parts(inside);
    let plain =
        |part: &String| NAMED.as_ref().is_some_and(|named| named.is_match(part)) && !part.contains(['…', '"', '|']);
    (parts.iter().all(plain) && !inside.contains("...")).then_some(parts.len())
}

/// Each that nothing in the code is called like.
pub(super) fn missing(table: &Table<'_>) -> Vec<Found> {
    let gone = of(table.bench.design.as_ref()).into_iter().filter(|one| table.unseen.contains(&one.name));
    gone.map(|one| {
        let nothing =
            if one.name.contains('/') { "nothing in the code serves it" } else { "nothing in the code is called so" };
        let says = format!("the design's Interfaces have {}, and {nothing}.", quoted(&one.written));
        let next = format!("Write into line {} of `{DESIGN}` what it is called now, or take it out.", one.line);
        Found::at(DESIGN, one.line, says).next(next)
    })
    .collect()
}

/// An interface that takes something else than the design says.
pub(super) struct Reshaped {
    /// Where the design has it.
    pub(super) line: u32,
    pub(super) name: String,
    /// As the code has it: `dim(level, step)`.
    pub(super) now: String,
    says: String,
}

/// A finding for each of these.
pub(super) fn reshaped(table: &Table<'_>) -> Vec<Found> {
    let told = |one: Reshaped| {
        let next = format!("Write {} into line {} of `{DESIGN}`.", quoted(&excerpt(&one.now)), one.line);
        Found::at(DESIGN, one.line, one.says).next(next)
    };
    reshapes(&table.bench).into_iter().map(told).collect()
}

/// Each that takes more or fewer things in what the change touches than the design says. What has a default may be left out; of
/// several with one name nobody knows which is meant.
pub(super) fn reshapes(bench: &Bench<'_>) -> Vec<Reshaped> {
    let wanted = of(bench.design.as_ref());
    if wanted.is_empty() {
        return Vec::new();
    }
    let mut declared: Vec<(String, String, String, u32)> = Vec::new();
    for file in bench.site.files.iter().filter(|file| !is_of_tests(&file.path)) {
        let Some(language) = Language::of(&file.path) else { continue };
        let code = Masked::new(&file.text, language).code;
        for found in DECLARED.iter().flat_map(|pattern| pattern.captures_iter(&code)) {
            let line = found.get(1).map_or(1, |name| line_at(&code, name.start()));
            declared.push((found[1].to_owned(), found[2].to_owned(), file.path.clone(), line));
        }
    }
    let mut all = Vec::new();
    for one in wanted {
        let mut same = declared.iter().filter(|(name, ..)| *name == one.name);
        let (Some(takes), Some((_, inside, path, line)), None) = (one.takes, same.next(), same.next()) else {
            continue;
        };
        let parts = parts(inside);
        let open = parts.iter().any(|part| part.starts_with(['*', '.']) || part.contains("..."));
        let optional = parts.iter().filter(|part| part.contains('=') || part.contains("?:")).count();
        if takes + optional < parts.len() || takes > parts.len() && !open {
            let now = format!("{}({})", one.name, parts.join(", "));
            let says = format!(
                "the design has {}, and line {line} of `{}` has {}.",
                quoted(&excerpt(&one.written)),
                excerpt(path),
                quoted(&excerpt(&now))
            );
            all.push(Reshaped { line: one.line, name: one.name, now, says });
        }
    }
    all
}
