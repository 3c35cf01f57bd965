//! Commands: what people write, one a line, in a comment.
//!
//! A command stands at the beginning of a line of ordinary text. In a quote, a list, a code block, a code span or an
//! HTML comment it is talk about a command, not one. The table below is the only list: parsing, rights and `/help`
//! all come from it.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use crate::flow::{FlowName, Phase};
use crate::gate::asked::SAID;
use crate::gate::people::May;
use crate::ledger::memory::is_nothing;
use crate::policy::{Policy, Source};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Help,
    Status,
    Explain,
    Approve,
    Reject,
    Stop,
    Unblock,
    Resolve,
    Refreeze,
    Agree,
    Link,
    Claim(Phase),
    Continue,
    Drop,
    Recover,
    BrakeResolved,
    Distill,
    AuditStack,
    Iterate,
    Pmf,
    Slice,
    Scope,
    Ladder,
    Audit,
    Heal,
    RiskAccept,
    Task,
}

/// What a command takes after its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Args {
    None,
    /// Free text that may be left out.
    Optional(&'static str),
    /// Free text that must be there.
    Required(&'static str),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// `#12`
    Number,
    /// One of a stop's options, with what it needs: free text, or a fenced block behind the line.
    Choice(&'static str),
    /// One of these rules, and free text that must be there.
    Rule(&'static [&'static str], &'static str),
    /// Something of a form of its own, which the command itself reads.
    Form(&'static str),
}

#[derive(Debug, Clone, Copy)]
pub struct Spec {
    pub name: &'static str,
    pub verb: Verb,
    pub args: Args,
    pub may: May,
    /// Whether it is about the content its author saw. Such a command counts only for that head.
    pub binds: bool,
    /// An operator of the change may not give it (unless policy says `solo`).
    pub independent: bool,
    /// The flow that knows it; `None`: every flow.
    pub flow: Option<FlowName>,
    pub about: &'static str,
}

const fn spec(name: &'static str, verb: Verb, may: May, about: &'static str) -> Spec {
    Spec { name, verb, args: Args::None, may, binds: true, independent: false, flow: None, about }
}

const fn asks(name: &'static str, verb: Verb, about: &'static str) -> Spec {
    Spec { binds: false, ..spec(name, verb, May::Ask, about) }
}

const fn moves(name: &'static str, verb: Verb, about: &'static str) -> Spec {
    Spec { flow: Some(FlowName::Pipeline), ..spec(name, verb, May::Move, about) }
}

const fn decides(name: &'static str, verb: Verb, args: Args, about: &'static str) -> Spec {
    Spec { args, independent: true, ..spec(name, verb, May::Approve, about) }
}

/// Every command, in the order that `/help` shows them.
pub const COMMANDS: &[Spec] = &[
    asks("help", Verb::Help, "Lists the commands."),
    asks("status", Verb::Status, "Says where this change stands."),
    asks("explain", Verb::Explain, "Says why it is not merging, rule by rule, what to do first at the top."),
    Spec {
        args: Args::Optional("what to build"),
        ..moves("expand", Verb::Claim(Phase::Expand), "Starts the change, or claims that its scope is done.")
    },
    moves("design", Verb::Claim(Phase::Design), "Claims that the design is done."),
    moves("analyze", Verb::Claim(Phase::Analyze), "Claims that the readiness is done."),
    moves("build", Verb::Claim(Phase::Build), "Claims that the build is done."),
    moves("review", Verb::Claim(Phase::Review), "Asks for the review gate to be judged."),
    moves("reconcile", Verb::Claim(Phase::Reconcile), "Runs reconcile now and comes back to the phase it was said in."),
    moves("verify", Verb::Claim(Phase::Verify), "Claims that the change is verified."),
    moves("deploy", Verb::Claim(Phase::Deploy), "Claims that the change is deployed."),
    moves("continue", Verb::Continue, "Goes on after a pause (stepped mode)."),
    moves(
        "drop",
        Verb::Drop,
        "Says that the agent is gone. What was reached is kept. Calls off a detour, or a round that is not proposed yet.",
    ),
    moves("recover", Verb::Recover, "Takes a dropped change up again."),
    moves("distill", Verb::Distill, "Begins or ends the structuring of input documents."),
    moves("audit-stack", Verb::AuditStack, "Begins or ends an audit of the stack."),
    Spec {
        args: Args::Optional("design"),
        ..moves("iterate", Verb::Iterate, "Goes one step on in a new iteration after delivery.")
    },
    Spec {
        args: Args::OneOf(&["start", "validated", "iterate"]),
        ..moves("pmf", Verb::Pmf, "Begins or ends the validation with real users.")
    },
    Spec {
        args: Args::OneOf(&["run", "loop", "pause"]),
        binds: false,
        flow: Some(FlowName::Task),
        ..spec(
            "task",
            Verb::Task,
            May::Move,
            "Asks the agent for a pass at the task, for one after the other, or for no more.",
        )
    },
    Spec {
        args: Args::Form("\"WHAT\" --scope \"WHY in: GLOBS out: GLOBS\""),
        binds: false,
        ..spec("slice", Verb::Slice, May::Move, "Begins a slice of the work, with what is in its scope.")
    },
    Spec {
        args: Args::Form("WHY in: GLOBS out: GLOBS"),
        binds: false,
        ..spec("scope", Verb::Scope, May::Move, "Revises what is in the slice's scope.")
    },
    Spec {
        args: Args::Form("fix-forward|re-scout|re-plan REASON"),
        binds: false,
        ..spec("ladder", Verb::Ladder, May::Move, "Says how it goes on after a FAIL.")
    },
    Spec {
        args: Args::Optional("promote F-0001 …"),
        ..asks(
            "audit",
            Verb::Audit,
            "Asks for an audit's subject, hands in its report (below it), or lets plans rest on facts.",
        )
    },
    Spec {
        args: Args::Required("reason"),
        ..spec("stop", Verb::Stop, May::Move, "Stops the change for a person to look at.")
    },
    Spec {
        args: Args::Required("reason"),
        ..spec("heal", Verb::Heal, May::Move, "Reports that the content that is shown passes without having earned it.")
    },
    Spec {
        args: Args::Number,
        binds: false,
        ..spec("link", Verb::Link, May::Move, "Says that an issue belongs to this change.")
    },
    decides("approve", Verb::Approve, Args::Optional("remark"), "Approves the content that is shown."),
    decides("reject", Verb::Reject, Args::Required("reason"), "Sends the content back, with the reason."),
    decides(
        "unblock",
        Verb::Unblock,
        Args::Required("reason"),
        "Lets a blocked or stopped change go on. Sets aside what was asked for under an earlier number.",
    ),
    decides(
        "resolve",
        Verb::Resolve,
        Args::Choice("reason"),
        "Answers a stop by one of the options that its issue lists, with what that option needs.",
    ),
    Spec {
        flow: Some(FlowName::Pipeline),
        ..decides("brake-resolved", Verb::BrakeResolved, Args::Required("reason"), "Releases the complexity brake.")
    },
    decides(
        "refreeze",
        Verb::Refreeze,
        Args::Required("reason"),
        "Accepts the changed files that are shown: those that give a check its meaning, and frozen ones.",
    ),
    decides(
        "risk-accept",
        Verb::RiskAccept,
        Args::Form("RULE --owner NAME --ticket TICKET --until YYYY-MM-DD REASON"),
        "Answers for what a rule finds in the content that is shown, until a day. Never for security, never for a cheat.",
    ),
    decides(
        "agree",
        Verb::Agree,
        Args::Rule(&SAID, "reason"),
        "Agrees to what a run of the commands found of its tests, or could not show, for the content that is shown.",
    ),
];

impl Spec {
    /// Whether it can be of use in this flow under this policy.
    pub fn is_known_in(&self, flow: FlowName, policy: Option<&Policy>) -> bool {
        let asks = policy.is_some_and(|policy| policy.gates.verify.asks_for_runs());
        match self.verb {
            Verb::Agree => asks || policy.is_some_and(|policy| policy.gates.verify.has(Source::People)),
            // Without phases it asks for a run.
            Verb::Claim(Phase::Verify) if flow == FlowName::Merge => asks,
            _ => self.flow.is_none_or(|known| known == flow),
        }
    }

    /// How it is written, with its arguments.
    pub fn usage(&self, written: &str) -> String {
        match self.args {
            Args::None => written.to_owned(),
            Args::Optional(what) => format!("{written} [{what}]"),
            Args::Required(what) => format!("{written} {}", what.to_uppercase()),
            Args::OneOf(words) => format!("{written} {}", words.join("|")),
            Args::Number => format!("{written} #NUMBER"),
            Args::Choice(what) => format!("{written} ACTION {}", what.to_uppercase()),
            Args::Rule(_, what) => format!("{written} RULE {}", what.to_uppercase()),
            Args::Form(form) => format!("{written} {form}"),
        }
    }
}

/// One line of a comment that was meant for the bot.
#[derive(Debug, Clone)]
pub struct Given {
    /// Its place among the comment's commands, from 0.
    pub index: u32,
    /// As it was written, in small letters.
    pub name: String,
    pub args: String,
    /// The head that the author named, in hexadecimal.
    pub head: Option<String>,
    /// The first word, when it looks like a head and is too short to name one. It is still part of `args`.
    pub short_head: Option<String>,
    /// The slash, when it is another keyboard's.
    pub slash: Option<char>,
    pub spec: Option<&'static Spec>,
    /// The command that an unknown name is within two letters of.
    pub close_to: Option<&'static str>,
    /// How many commands of the comment are too many, this one included. Then it stands for all of them.
    pub too_many: usize,
    /// The fenced block right behind its line.
    pub payload: Option<Fence>,
}

/// A fenced block of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    /// What stands behind the fence.
    pub info: String,
    pub text: String,
    /// Another one follows it at once.
    pub more: bool,
    /// It ends with a fence, and not with the comment.
    pub closed: bool,
}

impl Given {
    /// The number that a `/link` names.
    pub fn links_to(&self) -> Option<u64> {
        self.spec.filter(|spec| spec.verb == Verb::Link)?;
        linked_number(&self.args)
    }
}

/// Whether nothing is said that anybody sees: nothing at all, what stands in an HTML comment, or the word of an example.
fn is_unsaid(text: &str) -> bool {
    let mut seen = String::new();
    let mut rest = text;
    while let Some((before, hidden)) = rest.split_once("<!--") {
        seen.push_str(before);
        rest = hidden.split_once("-->").map_or("", |(_, after)| after);
    }
    seen.push_str(rest);
    matches!(seen.trim(), "" | "REASON" | "WHY")
}

/// Dots and dashes in place of a text, `TBD`, or headings with nothing below.
pub(super) fn says_nothing(text: &str) -> bool {
    let nothing = |c: char| c.is_whitespace() || matches!(c, '.' | '…' | '-' | '–' | '—' | '?' | '!' | '_' | '*' | '~');
    let titled = |line: &str| line.trim_start_matches('#').starts_with(' ') && line.starts_with('#');
    is_unsaid(text)
        || text.chars().all(nothing)
        || text.contains(char::is_alphanumeric) && is_nothing(text)
        || text.lines().all(|line| line.trim().is_empty() || titled(line.trim()))
}

/// The rule that is named first, as it is spelt, and what is said of it.
pub(super) fn rule_and_reason<'a>(args: &'a str, rules: &[&'static str]) -> Option<(&'static str, &'a str)> {
    let (first, rest) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
    let rule = rules.iter().find(|rule| rule.eq_ignore_ascii_case(first))?;
    Some((rule, rest.trim_start()))
}

/// `#7` or `7`.
pub(super) fn linked_number(args: &str) -> Option<u64> {
    let digits = args.strip_prefix('#').unwrap_or(args);
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|number| plain && *number > 0)
}

/// The longest argument that is kept.
const LONGEST_ARGS: usize = 1000;
/// How many commands of one comment are carried out.
pub const COMMANDS_A_COMMENT: usize = 20;

/// Commands of the whole design whose work is not in this version. Whoever gives one is told.
pub const LATER: &[&str] = &["flow"];

/// The commands of a comment, in order. `strip` takes the policy's prefix off a line. What is more than
/// [`COMMANDS_A_COMMENT`] comes as one, which says how many there are.
pub fn parse(body: &str, strip: impl for<'a> Fn(&'a str) -> Option<&'a str>) -> Vec<Given> {
    let mut found: Vec<Given> = Vec::new();
    for (line, payload) in plain_lines(body) {
        let Some(mut given) = given(line, &strip) else { continue };
        given.payload = payload;
        match found.get_mut(COMMANDS_A_COMMENT) {
            None => {
                given.index = u32::try_from(found.len()).unwrap_or(u32::MAX);
                given.too_many = usize::from(found.len() == COMMANDS_A_COMMENT);
                found.push(given);
            }
            // A near miss is told to few; a command speaks for the rest to everyone who may give one.
            Some(rest) => {
                let too_many = rest.too_many + 1;
                if rest.spec.is_none() && given.spec.is_some() {
                    *rest = Given { index: rest.index, ..given };
                }
                rest.too_many = too_many;
            }
        }
    }
    found
}

/// Characters that take no room, those that turn the reading direction among them: pasted along with a command, they
/// are not seen by whoever pastes it.
fn takes_no_room(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{feff}')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{fe00}'..='\u{fe0f}')
}

fn seen(text: &str) -> String {
    text.chars().filter(|c| !takes_no_room(*c)).collect()
}

/// The slashes of other keyboards.
fn other_slash(c: char) -> bool {
    matches!(c, '\u{2044}' | '\u{2215}' | '\u{29f8}' | '\u{ff0f}')
}

/// What stands behind an override reads backwards on the page: nobody sees a command there.
fn without_margin(line: &str) -> &str {
    let overrides = |c: char| matches!(c, '\u{202d}' | '\u{202e}');
    line.trim_start_matches(|c: char| (takes_no_room(c) && !overrides(c)) || c.is_whitespace())
}

/// Whether a comment may hold a command, without reading it closely.
pub fn may_hold_one(body: &str) -> bool {
    body.lines().any(|line| without_margin(line).starts_with(|c: char| c == '/' || other_slash(c)))
}

/// The command of a line, or what comes close to one.
fn given(line: &str, strip: &impl for<'a> Fn(&'a str) -> Option<&'a str>) -> Option<Given> {
    let line = without_margin(line);
    let slash = line.chars().next().filter(|c| other_slash(*c));
    let mended = slash.map(|slash| format!("/{}", &line[slash.len_utf8()..]));
    let rest = strip(mended.as_deref().unwrap_or(line))?;
    let (word, args) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let word = seen(word);
    let letters = word.find(|c: char| !c.is_ascii_alphabetic() && c != '-').unwrap_or(word.len());
    let (name, tail) = word.split_at(letters);
    // A full stop or a smile behind the name is a near miss. A path or somebody's address is none.
    let foreign = |c: char| c.is_alphanumeric() || matches!(c, '/' | '\\' | '_' | '@' | '#');
    if name.len() > 32 || !name.starts_with(|c: char| c.is_ascii_alphabetic()) || tail.contains(foreign) {
        return None;
    }
    let name = name.to_ascii_lowercase();
    let clean = slash.is_none() && tail.is_empty();
    let known = COMMANDS.iter().find(|spec| spec.name == name);
    let spec = known.filter(|_| clean);
    let close_to = if spec.is_some() { None } else { known.map(|spec| spec.name).or_else(|| did_you_mean(&name)) };
    if spec.is_none() && close_to.is_none() && !(clean && LATER.contains(&name.as_str())) {
        return None;
    }
    let args = args.trim_matches(|c: char| takes_no_room(c) || c.is_whitespace());
    let (head, args) = split_head(args);
    let tail = tail.chars().filter(|c| !c.is_control() && *c != '`').take(8);
    Some(Given {
        index: 0,
        name: name.chars().chain(tail).collect(),
        args: args.chars().filter(|c| !c.is_control()).take(LONGEST_ARGS).collect(),
        short_head: if head.is_none() { short_head(args) } else { None },
        head,
        slash,
        spec,
        close_to,
        too_many: 0,
        payload: None,
    })
}

/// The first word is the head that the command is for, when it is 12 to 64 hexadecimal digits. Anywhere else such a
/// word is part of the text: reasons name commits.
fn split_head(args: &str) -> (Option<String>, &str) {
    let (first, rest) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
    let first = seen(first);
    let is_head = (12..=64).contains(&first.len()) && first.bytes().all(|b| b.is_ascii_hexdigit());
    if is_head { (Some(first.to_ascii_lowercase()), rest.trim_start()) } else { (None, args) }
}

/// A first word of 7 to 11 hexadecimal digits was meant for a head, as GitHub's pages shorten them: taking it for text
/// would approve something else than what was named. `facade` and `added` are words, so a decimal digit must be there.
fn short_head(args: &str) -> Option<String> {
    let first = seen(args.split(char::is_whitespace).next().unwrap_or_default());
    let short = (7..=11).contains(&first.len())
        && first.bytes().all(|b| b.is_ascii_hexdigit())
        && first.bytes().any(|b| b.is_ascii_digit());
    short.then(|| first.to_ascii_lowercase())
}

/// Within two letters, and the shorter the name the closer: `/fix` is not `/pmf`, `/retest` not `/reject`.
fn did_you_mean(name: &str) -> Option<&'static str> {
    COMMANDS
        .iter()
        .map(|spec| (strsim::damerau_levenshtein(spec.name, name), spec.name))
        .filter(|(distance, known)| *distance <= 2 && *distance * 3 < known.len())
        .min()
        .map(|(_, known)| known)
}

/// What GitHub reads in a comment beyond plain Markdown.
const DIALECT: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_FOOTNOTES)
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_MATH);

/// What stands at the top level of a document, one behind the other.
enum Part {
    Paragraph(Range<usize>),
    Fence(usize, Fence),
    Other,
}

/// The lines of ordinary paragraphs at the top level of the document, outside every HTML element; and with the last line of
/// one the fenced block that follows it, with nothing but blank lines between.
fn plain_lines(body: &str) -> Vec<(&str, Option<Fence>)> {
    let mut parts: Vec<Part> = Vec::new();
    let mut holes: Vec<Range<usize>> = Vec::new();
    let mut elements = Elements::default();
    let (mut depth, mut inside, mut fenced) = (0usize, false, false);
    for (event, range) in Parser::new_ext(body, DIALECT).into_offset_iter() {
        match event {
            Event::Start(Tag::Paragraph) if depth == 0 => {
                inside = true;
                parts.push(Part::Paragraph(range));
            }
            Event::End(TagEnd::Paragraph) if depth == 0 => inside = false,
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) if depth == 0 && !inside => {
                (depth, fenced) = (1, true);
                let closed = is_closed(&body[range.clone()]);
                let fence = Fence { info: info.trim().to_owned(), text: String::new(), more: false, closed };
                parts.push(Part::Fence(range.start, fence));
            }
            Event::Text(text) if fenced => {
                if let Some(Part::Fence(_, fence)) = parts.last_mut() {
                    fence.text.push_str(&text);
                }
            }
            Event::End(TagEnd::CodeBlock) if fenced => (depth, fenced) = (0, false),
            // A link's title and an image's text are not shown where they stand; what is struck out is taken back.
            Event::Start(Tag::Link { .. } | Tag::Image { .. } | Tag::Strikethrough) if inside => holes.push(range),
            // Emphasis nests too, but does not hide a line's beginning.
            Event::Start(_) if !inside => {
                if depth == 0 {
                    parts.push(Part::Other);
                }
                depth += 1;
            }
            Event::End(_) if !inside => depth = depth.saturating_sub(1),
            Event::Rule if depth == 0 => parts.push(Part::Other),
            Event::Html(html) | Event::InlineHtml(html) => {
                holes.extend(elements.read(&html, &range));
                holes.push(range);
            }
            Event::Code(_) | Event::InlineMath(_) | Event::DisplayMath(_) => holes.push(range),
            _ => {}
        }
    }
    // An element that is never closed reaches to the end.
    holes.extend(elements.since.map(|start| start..body.len()));
    let holes = joined(holes);
    let hidden = |at: usize| {
        let before = holes.partition_point(|hole| hole.start <= at);
        before > 0 && holes[before - 1].end > at
    };
    let fence = |at: usize| match parts.get(at) {
        Some(Part::Fence(start, fence)) if !hidden(*start) => Some(fence),
        _ => None,
    };
    let mut lines = Vec::new();
    for (place, part) in parts.iter().enumerate() {
        let Part::Paragraph(paragraph) = part else { continue };
        let mut at = paragraph.start;
        let before = lines.len();
        for line in body[paragraph.clone()].split('\n') {
            let shown = !hidden(at + (line.len() - line.trim_start().len()));
            at += line.len() + 1;
            // What is hidden is a line all the same: what stands behind it is not the payload of the one before it.
            if !line.trim().is_empty() {
                lines.push((if shown { line.trim() } else { "" }, None));
            }
        }
        if let (Some((_, payload)), Some(found)) = (lines[before..].last_mut(), fence(place + 1)) {
            *payload = Some(Fence { more: fence(place + 2).is_some(), ..found.clone() });
        }
    }
    lines
}

/// Whether a fenced block ends with a fence like the one that it began with.
fn is_closed(block: &str) -> bool {
    let mut lines = block.trim_end().lines().map(str::trim);
    let (Some(first), Some(last)) = (lines.next(), lines.next_back()) else { return false };
    let mark = first.chars().next().unwrap_or('`');
    let long = |line: &str| line.chars().take_while(|c| *c == mark).count();
    long(last) >= long(first) && last.chars().all(|c| c == mark)
}

/// The HTML elements that are open: what stands in a quote, a table or a fold made of tags is as little a command as
/// what stands in one made of Markdown.
#[derive(Default)]
struct Elements {
    open: usize,
    since: Option<usize>,
}

impl Elements {
    /// Reads a piece of HTML. Gives the range from the first opened element to the last closed one, when all are closed.
    fn read(&mut self, html: &str, at: &Range<usize>) -> Option<Range<usize>> {
        let mut closed = None;
        for piece in html.split('<').skip(1) {
            let name = piece.trim_start_matches('/');
            let word = name.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default().to_ascii_lowercase();
            let empty = matches!(word.as_str(), "br" | "hr" | "img" | "input" | "wbr") || piece.contains("/>");
            if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || (empty && !piece.starts_with('/')) {
                continue;
            }
            if piece.starts_with('/') {
                self.open = self.open.saturating_sub(1);
                if self.open == 0 {
                    closed = self.since.take().map(|start| start..at.end).or(closed);
                }
            } else {
                self.open += 1;
                self.since.get_or_insert(at.start);
            }
        }
        closed
    }
}

/// Ranges in order, those that touch made one.
fn joined(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    let mut out: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match out.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => out.push(range),
        }
    }
    out
}

#[cfg(test)]
mod tests;
