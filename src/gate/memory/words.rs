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

const PROPOSALS: [&str; 22] = [
    "should be",
    "should use",
    "should add",
    "should change",
    "should not",
    "we should",
    "you should",
    "we could",
    "we must",
    "we need to",
    "needs to be changed",
    "needs to be rewritten",
    "needs refactoring",
    "i recommend",
    "i suggest",
    "i propose",
    "recommend to",
    "recommendation:",
    "suggestion:",
    "proposal:",
    "let's ",
    "the fix is to",
];

/// The words of a proposal, if there are any.
pub(super) fn proposes(text: &str) -> Option<&'static str> {
    let lower = own_words(text).to_lowercase().replace('’', "'");
    PROPOSALS.into_iter().find(|words| lower.contains(words)).map(str::trim_end)
}

/// What a verifier prescribes: a change of code, in the imperative.
const ORDERS: [&str; 13] = [
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
];
/// What an order is about begins with one of these, or with code. `Use of a stale cache` is no order.
const ABOUT: [&str; 12] = ["the", "a", "an", "this", "that", "it", "all", "each", "every", "its", "their", "some"];
/// Advice that comes as a fact.
const DUTIES: [&str; 6] = ["needs to be", "need to be", "has to be", "have to be", "must be", "ought to be"];
const DONE: [&str; 8] = ["replaced", "rewritten", "removed", "deleted", "renamed", "added", "changed", "refactored"];

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
            if DONE.iter().any(|done| next.starts_with(done)) {
                return Some(format!("{duty} {next}"));
            }
        }
    }
    // An order begins its sentence, or goes on behind an `and`.
    let parts = lower.split(['.', ';', ':', ',']).flat_map(|part| part.split(" and "));
    parts.map(str::trim_start).find_map(|part| {
        let (word, rest) = part.split_once(' ')?;
        let code = rest.starts_with(' ');
        let next = rest.split_whitespace().next().unwrap_or_default();
        let path = next.contains('/');
        (ORDERS.contains(&word) && (code || path || ABOUT.contains(&next))).then(|| word.to_owned())
    })
}

/// Whether a fact says what shows it.
pub(super) fn is_shown(text: &str) -> bool {
    let lower = text.to_lowercase();
    ["shown by:", "given:", "checked by:", "seen in:"].iter().any(|mark| {
        let after = lower.find(mark).map(|at| lower[at + mark.len()..].trim_matches([' ', ')', '.']));
        after.is_some_and(|after| !after.is_empty())
    })
}

/// The paths that a text names in code: with a slash, or with an extension.
pub(super) fn paths(text: &str) -> Vec<String> {
    let spans = text.split('`').skip(1).step_by(2);
    let path = |span: &str| {
        let span = span.trim().trim_start_matches("./");
        // `src/lib.rs:12` is a place in it.
        let bare = span.split(':').next().unwrap_or(span).trim_end_matches('/');
        let shaped = !bare.is_empty() && bare.chars().all(|c| c.is_alphanumeric() || "._-/@+".contains(c));
        let inside = bare.split_once('/').is_some_and(|(start, rest)| !start.is_empty() && !rest.is_empty());
        (shaped && inside && !bare.starts_with('/')).then(|| bare.to_owned())
    };
    spans.filter_map(path).collect()
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
}
