//! Conditions of compilation: whether what stands under them is there where tests are run as usual.

/// When what stands under a condition is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    Always,
    Never,
    /// Only where somebody asks for it: a feature.
    Asked,
    /// Only where nobody asks for it.
    Unasked,
    /// On some systems, or in some builds.
    Somewhere,
}

/// Words that nobody sets by chance.
const NEVER_SET: [&str; 10] =
    ["slow", "never", "disabled", "skip", "ignore", "ignored", "none", "off", "manual", "flaky"];

/// When a condition of Rust holds, of which the spaces and quotes are taken away: `all(test,feature=slow)`.
pub(super) fn when(text: &str) -> When {
    const DEEPEST: usize = 16;
    read(text, DEEPEST)
}

fn read(text: &str, deep: usize) -> When {
    let Some(deep) = deep.checked_sub(1) else { return When::Somewhere };
    let inner = |name: &str| text.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
    let parts = |inner: &str| {
        let parts = split(inner);
        parts.into_iter().map(|part| read(part, deep)).collect::<Vec<_>>()
    };
    if let Some(inner) = inner("all") {
        let parts = parts(inner);
        let first = |wanted: When| parts.contains(&wanted).then_some(wanted);
        let some = first(When::Never).or_else(|| first(When::Asked)).or_else(|| first(When::Somewhere));
        return some.or_else(|| first(When::Unasked)).unwrap_or(When::Always);
    }
    if let Some(inner) = inner("any") {
        let parts = parts(inner);
        let first = |wanted: When| parts.contains(&wanted).then_some(wanted);
        let some = first(When::Always).or_else(|| first(When::Unasked)).or_else(|| first(When::Somewhere));
        return some.or_else(|| first(When::Asked)).unwrap_or(When::Never);
    }
    if let Some(inner) = inner("not") {
        return match read(inner, deep) {
            When::Always => When::Never,
            When::Never => When::Always,
            When::Asked => When::Unasked,
            When::Unasked => When::Asked,
            When::Somewhere => When::Somewhere,
        };
    }
    match text {
        "test" | "true" => When::Always,
        "false" | "FALSE" => When::Never,
        // Where there is such a feature it is on, if nobody asks for less.
        "feature=std" | "feature=default" => When::Somewhere,
        _ if text.starts_with("feature=") || NEVER_SET.contains(&text) => When::Asked,
        _ => When::Somewhere,
    }
}

/// The parts between commas that stand in no bracket.
pub(super) fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0_usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(text.get(from..at).unwrap_or(""));
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text.get(from..).unwrap_or(""));
    parts.retain(|part| !part.is_empty());
    parts
}
