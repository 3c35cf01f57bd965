//! The block of a review: where it stands, and how it is read.
//!
//! It is a fenced code block of its own (```` ```phasegate-review ````) in the review's text, with YAML in it, which is read as
//! strictly as a policy. In a quote it is somebody else's. What can't be read is told with its line; nothing of it counts
//! then, because nobody knows what it was to say.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use crate::ledger::findings::{Block, Concern, Flaw, Found, Named};
use crate::policy::{Decoder, Fields, Spot, strictly};

/// What stands behind the fence.
pub const INFO: &str = "phasegate-review";

/// The longest block, in bytes.
const MOST_BYTES: usize = 16 * 1024;
/// The most findings, and the most that are settled at once.
const MOST_FINDINGS: usize = 50;
/// The most gaps of a critic.
const MOST_GAPS: usize = 50;
/// The longest text of a finding, in characters.
const LONGEST_TEXT: usize = 500;
const LONGEST_PATH: usize = 500;
const LONGEST_ID: usize = 32;
const LAST_LINE: u64 = 10_000_000;
/// More flaws of a block are not told.
const MOST_FLAWS: usize = 10;

/// Whether a text may have a block, without reading it closely.
pub fn may_hold_one(body: &str) -> bool {
    let body = body.as_bytes();
    body.windows(9).any(|nine| nine.eq_ignore_ascii_case(b"phasegate"))
        && body.windows(3).any(|three| three == b"```" || three == b"~~~")
}

/// The block of a review's text. None: there is none.
pub fn parse(body: &str) -> Option<Result<Block, Vec<Flaw>>> {
    let mut fences = fences(body);
    let first = fences.next()?;
    if let Some(second) = fences.next() {
        let says = format!("A second `{INFO}` block begins here; the first is on line {}.", first.line);
        return Some(Err(vec![Flaw { line: second.line, says, next: "Put everything into one block.".to_owned() }]));
    }
    Some(first.read())
}

/// So much of a review's text is repeated where it asks for changes.
const MOST_REPEATED: usize = 200;

/// How the text of a review begins, in a line: what stands before a block, and is not quoted from somebody else.
pub fn begins(body: &str) -> String {
    let own = body.lines().map(str::trim).take_while(|line| !line.starts_with("```") && !line.starts_with("~~~"));
    let words: Vec<&str> = own.filter(|line| !line.starts_with('>')).flat_map(str::split_whitespace).collect();
    let line = words.join(" ");
    match line.char_indices().nth(MOST_REPEATED) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// A fenced block that is one of ours, or was meant to be.
struct Fence {
    /// The line that it begins on.
    line: u32,
    text: String,
    /// What is wrong with the fence itself.
    flaw: Option<(String, String)>,
}

fn fences(body: &str) -> impl Iterator<Item = Fence> {
    let mut found: Vec<Fence> = Vec::new();
    let (mut quotes, mut inside, mut open) = (0_usize, 0_usize, false);
    for (event, range) in Parser::new_ext(body, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(Tag::BlockQuote(_)) => quotes += 1,
            Event::End(TagEnd::BlockQuote(_)) => quotes = quotes.saturating_sub(1),
            Event::Start(Tag::Item) => inside += 1,
            Event::End(TagEnd::Item) => inside = inside.saturating_sub(1),
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) if quotes == 0 => {
                let Some(flaw) = is_ours(&info) else { continue };
                let line = body[..range.start].matches('\n').count() + 1;
                let flaw = flaw.or_else(|| of_place(&body[range], inside));
                found.push(Fence { line: u32::try_from(line).unwrap_or(u32::MAX), text: String::new(), flaw });
                open = true;
            }
            Event::Text(text) if open => {
                if let Some(fence) = found.last_mut() {
                    fence.text.push_str(&text);
                }
            }
            Event::End(TagEnd::CodeBlock) => open = false,
            _ => {}
        }
    }
    found.into_iter()
}

/// None: it is some other block. Otherwise what is wrong with its name.
fn is_ours(info: &str) -> Option<Option<(String, String)>> {
    let info = info.trim();
    if info == INFO {
        return Some(None);
    }
    let mut words = info.split_whitespace().take(4).map(|word| word.to_ascii_lowercase().replace('_', "-"));
    let is_near =
        |word: String| word == "phasegate" || (word.len() <= 40 && strsim::damerau_levenshtein(&word, INFO) <= 2);
    words.any(is_near).then(|| {
        let shown: String = info.chars().take(40).map(|c| if c == '`' || c.is_control() { '\'' } else { c }).collect();
        Some((
            format!("The block is called `{shown}`; did you mean `{INFO}`?"),
            format!("Begin it with a line that is ```` ```{INFO} ```` and nothing else."),
        ))
    })
}

fn of_place(source: &str, inside: usize) -> Option<(String, String)> {
    let flaw = |says: &str, next: &str| Some((says.to_owned(), next.to_owned()));
    if inside > 0 {
        return flaw("The block stands in a list.", "Let it begin at the edge, outside of lists.");
    }
    let closed = source.trim_end().lines().skip(1).last().is_some_and(|last| {
        let last = last.trim();
        last.len() >= 3 && (last.chars().all(|c| c == '`') || last.chars().all(|c| c == '~'))
    });
    if closed { None } else { flaw("The block is not closed.", "End it with a line of ```` ``` ````.") }
}

impl Fence {
    fn read(self) -> Result<Block, Vec<Flaw>> {
        let line = self.line;
        let flaw = |says, next| vec![Flaw { line, says, next }];
        if let Some((says, next)) = self.flaw {
            return Err(flaw(says, next));
        }
        if self.text.len() > MOST_BYTES {
            let says = format!("The block has more than {MOST_BYTES} bytes.");
            return Err(flaw(says, "Say it shorter, or in several reviews.".to_owned()));
        }
        let block = strictly(&self.text, block).map_err(|problems| {
            let flaws = problems.into_iter().take(MOST_FLAWS).map(|problem| {
                let place = if problem.path.is_empty() { String::new() } else { format!("`{}`: ", problem.path) };
                let says = format!("{place}{}{}", problem.says, if problem.says.ends_with('?') { "" } else { "." });
                Flaw { line: line.saturating_add(problem.line), says, next: format!("{}.", problem.next) }
            });
            flaws.collect::<Vec<Flaw>>()
        })?;
        if block == Block::default() {
            let next =
                "Name the `axes` that were looked at, the `findings`, the `gaps`, or what to `close`.".to_owned();
            return Err(flaw("The block says nothing.".to_owned(), next));
        }
        Ok(block)
    }
}

const KEYS: &[&str] = &["axes", "looked_for", "findings", "gaps", "close", "accept"];
const OF_A_FINDING: &[&str] = &["id", "axis", "severity", "concern", "path", "line", "what", "do"];

fn block(d: &mut Decoder, root: &Spot<'_>) -> Block {
    let mut block = Block::default();
    let Some(f) = d.map(root, KEYS, &[]) else { return block };
    block.axes = f.get("axes").and_then(|s| d.words(s, "axes")).unwrap_or_default().into_iter().collect();
    block.looked_for = f.get("looked_for").and_then(|s| d.words(s, "words")).unwrap_or_default().into_iter().collect();
    block.findings = f.get("findings").map(|s| findings(d, s)).unwrap_or_default();
    block.gaps = f.get("gaps").map(|s| gaps(d, s));
    let mut named = Vec::new();
    block.close = f.get("close").map(|s| settled(d, s, &mut named)).unwrap_or_default();
    block.accept = f.get("accept").map(|s| settled(d, s, &mut named)).unwrap_or_default();
    block
}

fn findings(d: &mut Decoder, spot: &Spot<'_>) -> Vec<Found> {
    let mut all: Vec<Found> = Vec::new();
    let like = |text: &str| format!("a line `- id: F1` for each, with its keys below it, and `what: {text}`");
    for item in d.items_like(spot, "findings", MOST_FINDINGS, like).unwrap_or_default() {
        let Some(f) = d.map(&item, OF_A_FINDING, &[]) else { continue };
        let before = d.problems.len();
        let id = required(d, &item, &f, "id").and_then(|s| id(d, s));
        let axis = required(d, &item, &f, "axis").and_then(|s| d.word(s));
        let severity = required(d, &item, &f, "severity").and_then(|s| d.word(s));
        let concern: Option<Concern> = f.get("concern").and_then(|s| d.word(s));
        let path = f.get("path").and_then(|s| path(d, s));
        let line = f.get("line").and_then(|s| d.number(s, 1..=LAST_LINE)).and_then(|line| u32::try_from(line).ok());
        if let (Some(line), None) = (f.get("line"), f.get("path")) {
            d.problem(line.key, &line.path, "a line of no file", "Add its `path`, or remove it");
        }
        let what = required(d, &item, &f, "what").and_then(|s| sentence(d, s));
        let remedy = required(d, &item, &f, "do").and_then(|s| sentence(d, s));
        if let (Some(id), Some(axis), Some(severity), Some(what), Some(remedy)) = (id, axis, severity, what, remedy) {
            let twice = all.iter().any(|other| other.id.eq_ignore_ascii_case(&id));
            if twice && let Some(spot) = f.get("id") {
                d.problem(
                    spot.at(),
                    &spot.path,
                    format!("two findings are called `{id}`"),
                    "Give one of them another id",
                );
            }
            if d.problems.len() == before {
                all.push(Found { id, axis, severity, concern, path, line, what, remedy });
            }
        }
    }
    all
}

/// What a completeness critic misses, a sentence each. `[]` says that nothing is missing.
fn gaps(d: &mut Decoder, spot: &Spot<'_>) -> Vec<String> {
    let like = |text: &str| format!("`[{text}]`, or `[]` where nothing is missing");
    let items = d.items_like(spot, "gaps", MOST_GAPS, like).unwrap_or_default();
    items.iter().filter_map(|item| sentence(d, item)).collect()
}

/// `close` and `accept`. What is in one of them is in neither again.
fn settled(d: &mut Decoder, spot: &Spot<'_>, known: &mut Vec<String>) -> Vec<Named> {
    let mut all = Vec::new();
    let like = |text: &str| format!("`[{{ finding: {text}, reason: \"…\" }}]`");
    for item in d.items_like(spot, "findings with reasons", MOST_FINDINGS, like).unwrap_or_default() {
        let Some(f) = d.map(&item, &["finding", "reason"], &[]) else { continue };
        let finding = required(d, &item, &f, "finding").and_then(|s| reference(d, s));
        let reason = required(d, &item, &f, "reason").and_then(|s| sentence(d, s));
        let (Some(finding), Some(reason)) = (finding, reason) else { continue };
        if known.contains(&finding.to_ascii_lowercase()) {
            d.problem(item.at(), &item.path, "this finding is settled twice", "Remove one of the two");
            continue;
        }
        known.push(finding.to_ascii_lowercase());
        all.push(Named { finding, reason });
    }
    all
}

fn required<'f, 'n>(d: &mut Decoder, item: &Spot<'n>, f: &'f Fields<'n>, key: &str) -> Option<&'f Spot<'n>> {
    let spot = f.get(key);
    if spot.is_none() {
        d.problem(item.at(), &item.path, format!("`{key}` is missing"), format!("Add `{key}: …`"));
    }
    spot
}

fn is_id(text: &str) -> bool {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    (1..=LONGEST_ID).contains(&text.len())
        && text.chars().all(fine)
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
}

fn id(d: &mut Decoder, spot: &Spot<'_>) -> Option<String> {
    let text = d.text(spot)?;
    if !is_id(text) {
        let says = format!("an id begins with a letter and has up to {LONGEST_ID} letters, digits, dots and dashes");
        d.problem(spot.at(), &spot.path, says, "Write one such as `F1`");
        return None;
    }
    Some(text.to_owned())
}

/// `F1`, `mia/F1` or `123/F1`.
fn reference(d: &mut Decoder, spot: &Spot<'_>) -> Option<String> {
    let text = d.text(spot)?;
    let (whose, id) = text.rsplit_once('/').map_or((None, text), |(whose, id)| (Some(whose), id));
    let login = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '[' | ']');
    let fine = whose.is_none_or(|whose| (1..=60).contains(&whose.len()) && whose.chars().all(login));
    if !fine || !is_id(id) {
        d.problem(spot.at(), &spot.path, "this is no finding's name", "Write it as it is shown, such as `mia/F1`");
        return None;
    }
    Some(text.to_owned())
}

fn sentence(d: &mut Decoder, spot: &Spot<'_>) -> Option<String> {
    let text = d.text(spot)?.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.is_empty() {
        d.problem(spot.at(), &spot.path, "an empty text", "Say it in a sentence");
        return None;
    }
    if text.chars().count() > LONGEST_TEXT {
        let says = format!("a text of more than {LONGEST_TEXT} characters");
        d.problem(spot.at(), &spot.path, says, "Say it shorter here, and the rest outside of the block");
        return None;
    }
    Some(text)
}

fn path(d: &mut Decoder, spot: &Spot<'_>) -> Option<String> {
    let text = d.text(spot)?;
    let strange = text.is_empty()
        || text.len() > LONGEST_PATH
        || text.starts_with('/')
        || text.contains('\\')
        || text.split('/').any(|part| matches!(part, "" | "." | ".."));
    if strange {
        d.problem(
            spot.at(),
            &spot.path,
            "this is no path in the repository",
            "Write it from the root, such as `src/main.rs`",
        );
        return None;
    }
    Some(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::findings::{Axis, Sought, Weight};

    fn fenced(yaml: &str) -> String {
        format!("Thank you.\n\n```phasegate-review\n{yaml}\n```\n\nMore words.\n")
    }

    fn good(body: &str) -> Block {
        parse(body).unwrap_or_else(|| panic!("no block in {body:?}")).unwrap_or_else(|flaws| panic!("{flaws:?}"))
    }

    fn flaws(body: &str) -> Vec<String> {
        let flaws = parse(body).unwrap_or_else(|| panic!("no block in {body:?}")).expect_err("it is fine");
        flaws.iter().map(|flaw| format!("{} {} {}", flaw.line, flaw.says, flaw.next)).collect()
    }

    const ONE: &str = "findings:\n  - { id: F1, axis: security, severity: critical, path: src/a.py, line: 4, what: It leaks., do: Stop it. }";

    #[test]
    fn the_example_in_the_docs_is_read() {
        let docs = include_str!("../../../docs/gates.md");
        let sources: Vec<&str> =
            docs.split("\n````md\n").skip(1).filter_map(|rest| rest.split("\n````\n").next()).collect();
        let ours: Vec<&&str> = sources.iter().filter(|source| source.contains(INFO)).collect();
        assert_eq!(ours.len(), 2, "the review and the one that closes its findings");
        let first = good(ours[0]);
        assert_eq!(first.axes.len(), 5);
        assert_eq!(first.looked_for, Sought::EACH.into());
        assert!(first.findings.iter().any(|found| found.severity == Weight::Critical && found.line.is_some()));
        let second = good(ours[1]);
        let settled: Vec<&str> =
            second.close.iter().chain(&second.accept).map(|named| named.finding.as_str()).collect();
        for named in settled {
            assert!(first.findings.iter().any(|found| named.ends_with(&found.id)), "{named} is not in the example");
        }
    }

    #[test]
    fn a_block_is_read_wherever_it_stands_alone() {
        let block = good(&fenced(&format!("axes: [security, correctness]\nlooked_for: [placeholders]\n{ONE}")));
        assert_eq!(block.axes, [Axis::Correctness, Axis::Security].into());
        let found = &block.findings[0];
        assert_eq!((found.id.as_str(), found.path.as_deref(), found.line), ("F1", Some("src/a.py"), Some(4)));
        assert_eq!((found.what.as_str(), found.remedy.as_str()), ("It leaks.", "Stop it."));
        assert_eq!(good("~~~phasegate-review\r\naxes: [security]\r\n~~~\r\n").axes.len(), 1);
        let long = "findings:\n  - id: F1\n    axis: readability\n    severity: nit\n    what: >\n      Two\n      lines.\n    do: Join.";
        assert_eq!(good(&fenced(long)).findings[0].what, "Two lines.");
    }

    #[test]
    fn talk_about_a_block_is_none() {
        assert!(parse("Looks good to me.").is_none());
        assert!(
            parse("> ```phasegate-review\n> axes: [security]\n> ```\n\nI agree.").is_none(),
            "a quote is another's"
        );
        assert!(parse("Use `phasegate-review` blocks.\n\n```rust\nfn main() {}\n```").is_none());
        assert!(parse("    ```phasegate-review\n    axes: [security]\n    ```").is_none(), "it is shown, not given");
        assert!(!may_hold_one("Looks good to me, Phasegate.") && may_hold_one(&fenced(ONE)));
    }

    #[test]
    fn what_is_wrong_is_told_with_the_line_of_the_review() {
        assert_eq!(
            flaws(&fenced("axs: [security]")),
            ["4 `axs`: unknown key `axs`; did you mean `axes`? Write `axes`."]
        );
        assert!(flaws(&fenced("axes: [securty]"))[0].contains("did you mean `security`"));
        assert!(flaws(&fenced(&ONE.replace("critical", "blocker")))[0].contains("unknown value `blocker`"));
        // Whoever means a high one is not told to write the lowest.
        let short = flaws(&fenced(&ONE.replace("critical", "hi"))).remove(0);
        assert!(
            short.contains("Use `critical`, `required`, `optional` or `nit`") && !short.contains("mean"),
            "{short}"
        );
        assert!(flaws(&fenced(&ONE.replace("critical", "nti")))[0].contains("did you mean `nit`"));
        assert!(flaws(&fenced(&ONE.replace(", do: Stop it.", "")))[0].starts_with("5 `findings[0]`: `do` is missing"));
        assert!(flaws(&fenced(&ONE.replace("path: src/a.py, ", "")))[0].contains("a line of no file"));
        assert!(flaws(&fenced(&ONE.replace("src/a.py", "../a.py")))[0].contains("no path in the repository"));
        assert!(flaws(&fenced(&ONE.replace("line: 4", "line: 0")))[0].contains("a whole number from 1"));
        assert!(flaws(&fenced(&ONE.replace("It leaks.", &"x".repeat(501))))[0].contains("more than 500"));
        assert!(flaws(&fenced(&ONE.replace("F1", "1")))[0].contains("`findings[0].id`"));
        assert!(flaws(&fenced("findings: none"))[0].contains("expected a list"));
        assert!(flaws(&fenced("close:\n  - finding: F1"))[0].contains("`reason` is missing"));
        assert!(flaws(&fenced("axes: &a [security]"))[0].contains("anchors"));
        assert!(flaws(&fenced("axes: [security"))[0].contains("not valid YAML"));
        assert!(flaws(&fenced(""))[0].contains("says nothing"));
        assert!(flaws(&fenced(&format!("# {}\naxes: [security]", "x".repeat(MOST_BYTES))))[0].contains("bytes"));
    }

    #[test]
    fn doubles_are_refused() {
        let twice = "findings:\n  - { id: F1, axis: security, severity: nit, what: A., do: B. }\n  - { id: f1, axis: security, severity: nit, what: A., do: B. }";
        assert_eq!(
            flaws(&fenced(twice)),
            ["6 `findings[1].id`: two findings are called `f1`. Give one of them another id."]
        );
        let both = "close: [{ finding: F1, reason: gone }]\naccept: [{ finding: f1, reason: fine }]";
        assert!(flaws(&fenced(both))[0].contains("settled twice"));
        let two = format!("{}{}", fenced(ONE), fenced(ONE));
        assert!(flaws(&two)[0].contains("A second"), "{:?}", flaws(&two));
    }

    #[test]
    fn a_fence_that_was_meant_to_be_one_is_told() {
        for name in [
            "phasegate_review",
            "Phasegate-Review",
            "yaml phasegate-review",
            "phasegate-reveiw",
            "phasegate-review {x}",
        ] {
            let told = flaws(&format!("```{name}\naxes: [security]\n```")).remove(0);
            assert!(told.contains("did you mean `phasegate-review`"), "{name}: {told}");
        }
        assert!(flaws("```Phasegate-Reviews\naxes: [security]\n```")[0].starts_with("1 "));
        assert!(flaws("```phasegate-review\naxes: [security]\n")[0].contains("not closed"));
        assert!(flaws("- like this:\n  ```phasegate-review\n  axes: [security]\n  ```\n")[0].contains("in a list"));
        assert!(parse("```phase\nx\n```").is_none());
    }
}
