//! Text that came from elsewhere, made harmless; and the small words that every page uses.

use crate::finding::quoted;
use crate::flow::pipeline::{State, limit, waits_for_human};
use crate::flow::{Phase, Stage};
use crate::gate::world::World;
use crate::gate::{Finding, evidence, frozen, weakened};
use crate::ids::{CommitId, Slug};
use crate::ledger;

/// Text from a person or a file, fit to stand in a comment: one line, no tag, link or picture, nobody notified.
pub fn plain(text: &str) -> String {
    plain_to(2000, text)
}

/// The same, and not longer than this in what it becomes.
pub(super) fn plain_to(most: usize, text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(most));
    let (mut length, mut before) = (0, ' ');
    for c in text.chars() {
        let so_far = out.len();
        match c {
            // No tag begins so, and it reads the same inside code, where an entity would not.
            '<' => out.push_str("<\u{200b}"),
            // A mention would notify people each time the comment is made anew.
            '@' => out.push_str("@\u{200b}"),
            // An entity could spell what must not stand here.
            '&' => out.push_str("&\u{200b}"),
            // What would be a link or a picture stays text.
            '(' if before == ']' => out.push_str("\u{200b}("),
            c if c.is_control() => out.push(' '),
            // Marks that turn the reading direction can make a text say the opposite of what it is.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => continue,
            c => out.push(c),
        }
        length += out[so_far..].chars().count();
        before = c;
        if length > most {
            out.truncate(so_far);
            out.push('…');
            break;
        }
    }
    out
}

/// Text to be copied as it is: a block of code that nothing in it ends.
pub(super) fn copied(text: &str) -> String {
    let longest = text.lines().map(|line| line.trim_start().chars().take_while(|c| *c == '`').count()).max();
    let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    let turns = |c: &char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let text: String = text.chars().filter(|c| !turns(c) && (!c.is_control() || matches!(c, '\n' | '\t'))).collect();
    format!("{fence}text\n{}\n{fence}", text.trim_end())
}

/// Text for where no markup is read: one line that reads in the direction it is written in.
pub(super) fn one_line(text: &str) -> String {
    let turns = |c: &char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().filter(|c| !turns(c)).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Where links to GitHub's pages start.
#[derive(Debug, Clone)]
pub(super) struct Links {
    pub(super) server: String,
    pub(super) slug: Slug,
    pub(super) head: CommitId,
    pub(super) default_branch: String,
    /// The branch that it was merged into, once it was.
    pub(super) merged_into: Option<String>,
}

impl Links {
    /// Where a finding's file can be read: the policy on the default branch, which is the one that is the law; the papers of a
    /// delivery where they are read, on the branch that it went into; and everything else at the head.
    fn place(&self, finding: &Finding, path: &str) -> String {
        let at = match &self.merged_into {
            _ if finding.rule == "MRG-07" => &self.default_branch,
            Some(branch) if finding.rule.starts_with("DEP-") || finding.rule.starts_with("ITR-") => branch,
            _ => self.head.as_str(),
        };
        self.line(at, path, finding.line)
    }

    fn line(&self, at: &str, path: &str, line: Option<u32>) -> String {
        Self::read_at(&self.server, &self.slug, at, path, line)
    }

    /// Where a file of a repository can be read, at a commit or on a branch.
    pub(super) fn read_at(server: &str, slug: &Slug, at: &str, path: &str, line: Option<u32>) -> String {
        let (at, path) = (escaped(at), escaped(path));
        let anchor = line.map(|line| format!("#L{line}")).unwrap_or_default();
        format!("{server}/{slug}/blob/{at}/{path}{anchor}")
    }
}

fn escaped(path: &str) -> String {
    path.bytes()
        .map(|b| match b {
            b'/' | b'-' | b'_' | b'.' | b'~' => (b as char).to_string(),
            b if b.is_ascii_alphanumeric() => (b as char).to_string(),
            b => format!("%{b:02X}"),
        })
        .collect()
}

/// A finding as one list item.
pub(super) fn item(finding: &Finding, links: &Links) -> String {
    let mark = match (finding.blocks(), finding.waiting) {
        (false, _) => "⚠️",
        (true, true) => "⏳",
        (true, false) => "❌",
    };
    let place = match &finding.path {
        Some(path) => {
            let line = finding.line.map(|line| format!(":{line}")).unwrap_or_default();
            let shown = quoted(&format!("{}{line}", plain_to(200, path)));
            // A name that long is nobody's file; it would only fill the page.
            if path.len() > 300 {
                format!(" ({shown})")
            } else {
                format!(" ([{shown}]({}))", links.place(finding, path))
            }
        }
        None => String::new(),
    };
    let (says, next) = (plain_to(600, &finding.says), plain_to(400, &finding.next));
    // A guard's code has a path in it, which is somebody else's words.
    let rule = plain_to(300, &finding.rule);
    format!("{mark} {} {says}{place}<br>→ {next}\n", quoted(&rule))
}

/// The findings as a list: no more than this many, and no more than a page can hold.
pub(super) fn items(findings: &[Finding], most: usize, links: &Links) -> String {
    list(findings, most, links, |_| "- ".to_owned())
}

/// The same as steps, one after the other.
pub(super) fn steps(findings: &[Finding], links: &Links) -> String {
    list(findings, usize::MAX, links, |at| format!("{}. ", at + 1))
}

fn list(findings: &[Finding], most: usize, links: &Links, mark: impl Fn(usize) -> String) -> String {
    const MOST_CHARACTERS: usize = 22_000;
    let (mut out, mut length) = (String::new(), 0);
    for (at, finding) in findings.iter().enumerate() {
        let one = item(finding, links);
        length += one.chars().count();
        let mark = mark(at);
        if at == most || length > MOST_CHARACTERS {
            out.push_str(&format!("{mark}and {} more\n", findings.len() - at));
            break;
        }
        out.push_str(&mark);
        out.push_str(&one);
    }
    out
}

/// The files that a person accepts who accepts what is shown. Empty where there is none.
pub(super) fn strange_files(state: &ledger::State, world: &World, refreeze: &str, links: &Links) -> String {
    if !state.open {
        return String::new();
    }
    not_as_on_the_default_branch(state, world, refreeze, links)
        + &not_as_frozen(state, world, refreeze)
        + &weaker_tests(state, world, refreeze)
}

/// The files whose tests got weaker, where the policy lets that block. Empty where there are none.
fn weaker_tests(state: &ledger::State, world: &World, refreeze: &str) -> String {
    let weaker = weakened::open(state, world);
    if weaker.is_empty() {
        return String::new();
    }
    let mut out = format!("**Tests that got weaker** (`{refreeze} REASON` accepts all of them as they are now)\n\n");
    for path in weaker.keys().take(evidence::MOST_SHOWN) {
        out.push_str(&format!("- {}\n", quoted(&plain_to(200, path))));
    }
    if let Some(more) = weaker.len().checked_sub(evidence::MOST_SHOWN).filter(|more| *more > 0) {
        out.push_str(&format!("- and {more} more; `phasegate guard weaker` lists them\n"));
    }
    out
}

/// The frozen files that are not as they were. Empty where all are.
fn not_as_frozen(state: &ledger::State, world: &World, refreeze: &str) -> String {
    let trips = frozen::trips(state, world).and_then(Result::ok).unwrap_or_default();
    let Some(since) = state.frozen.as_ref().filter(|_| !trips.is_empty()) else { return String::new() };
    let mut out = format!(
        "**Not as frozen at `{}`** (`{refreeze} REASON` accepts all of it as it is now)\n\n",
        since.head.short()
    );
    for trip in trips.iter().take(evidence::MOST_SHOWN) {
        out.push_str(&format!("- {}\n", plain_to(400, &trip.says())));
    }
    if let Some(more) = trips.len().checked_sub(evidence::MOST_SHOWN).filter(|more| *more > 0) {
        out.push_str(&format!("- and {more} more; `phasegate guard check` lists them\n"));
    }
    out
}

fn not_as_on_the_default_branch(state: &ledger::State, world: &World, refreeze: &str, links: &Links) -> String {
    let (shown, more) = evidence::strange(state, world);
    if shown.is_empty() {
        return String::new();
    }
    let mut out = format!("**Not as on the default branch** (`{refreeze} REASON` accepts exactly these)\n\n");
    for (path, now) in shown {
        let at = if now.blob.is_some() { links.head.as_str() } else { &links.default_branch };
        let gone = if now.blob.is_some() { "" } else { ", which is gone" };
        let place = if path.len() > 300 { String::new() } else { format!(" ([read]({}))", links.line(at, path, None)) };
        out.push_str(&format!("- {}: {}{gone}{place}\n", quoted(&plain_to(200, path)), now.what));
    }
    if more > 0 {
        out.push_str(&format!("- and {more} more, which are shown when these are accepted\n"));
    }
    out
}

/// The marks of the phases' line, and what each means.
pub const MARKS: [(char, &str); 5] = [
    ('●', "passed for what is there now"),
    ('◐', "the present phase"),
    ('■', "blocked: a person decides"),
    ('◌', "passed, but for something older"),
    ('○', "yet to come"),
];

/// The phases as a line of marks, and how often the present gate has failed.
pub(super) fn phases(state: &State) -> String {
    let failed = state.phase().and_then(|phase| Some((phase, counted(state, phase)?)));
    match failed {
        Some((phase, said)) => format!("{}\n\n**{}: {said}.**", marks(state), phase.as_str().to_uppercase()),
        None => marks(state),
    }
}

/// How often a gate has failed, and which FAIL blocks. Where it has blocked, that is what is said.
pub(super) fn counted(state: &State, phase: Phase) -> Option<String> {
    let (fails, limit) = (state.fails(phase), limit(phase));
    let last = match limit {
        3 => "third".to_owned(),
        4 => "fourth".to_owned(),
        other => format!("{other}th"),
    };
    let blocked = state.stage == Stage::ReconcileBlocked;
    ((1..limit).contains(&fails) && !blocked).then(|| format!("FAIL {fails} of {limit}: the {last} blocks"))
}

pub(super) fn marks(state: &State) -> String {
    let current = state.phase();
    let mark = |phase: Phase| {
        let meaning = if state.holds(phase) {
            0
        } else if current == Some(phase) && waits_for_human(state.stage) {
            2
        } else if current == Some(phase) {
            1
        } else if state.passed.contains_key(&phase) {
            3
        } else {
            4
        };
        MARKS[meaning].0
    };
    Phase::ALL.into_iter().map(|phase| format!("{} {phase}", mark(phase))).collect::<Vec<_>>().join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_opens_a_tag_notifies_or_turns_the_text() {
        assert_eq!(plain("<!-- x --> @ada\n|"), "<\u{200b}!-- x --> @\u{200b}ada |");
        assert_eq!(plain("&#64;ada &lt;script"), "&\u{200b}#64;ada &\u{200b}lt;script");
        assert_eq!(plain("![x](http://evil) [y](z)"), "![x]\u{200b}(http://evil) [y]\u{200b}(z)");
        assert_eq!(plain_to(5, "<<<"), "<\u{200b}<\u{200b}…");
        assert_eq!(plain("a\u{202e}b\0c"), "ab c");
    }

    #[test]
    fn a_link_keeps_to_its_path() {
        let links = Links {
            server: "https://example.test".to_owned(),
            slug: "o/r".parse().unwrap(),
            head: CommitId::new("a".repeat(40)).unwrap(),
            default_branch: "trunk".to_owned(),
            merged_into: None,
        };
        let link = links.line(links.head.as_str(), "a b)/c#d.md", Some(3));
        assert!(link.ends_with("/a%20b%29/c%23d.md#L3"), "{link}");
        // The law is on the default branch; what stands at the head may be another file, or none.
        let mistake = Finding::error("MRG-07", "wrong", "mend").at(".github/phasegate.yml", Some(3));
        let shown = item(&mistake, &links);
        assert!(shown.contains("(https://example.test/o/r/blob/trunk/.github/phasegate.yml#L3)"), "{shown}");
        // So are the papers of what was delivered, on the branch that it went into.
        let paper = Finding::error("DEP-05", "missing", "write").at("README.md", None);
        assert!(item(&paper, &links).contains("/blob/aaaaaaaa"));
        let links = Links { merged_into: Some("next".to_owned()), ..links };
        assert!(item(&paper, &links).contains("/blob/next/README.md"), "{}", item(&paper, &links));
    }
}
