//! Numbers in a text: thresholds, and amounts of money.

#[derive(Debug, Clone, PartialEq)]
enum Token {
    /// In small letters; a word of letters and digits (`v2`, `p95`) is one too.
    Word(String),
    Number(String),
    Sign(char),
}

/// A token, and whether it stands right after the one before.
type Spaced = (Token, bool);

fn tokens(text: &str) -> Vec<Spaced> {
    let mut found: Vec<Spaced> = Vec::new();
    let mut chars = text.char_indices().peekable();
    let mut glued = false;
    while let Some((at, c)) = chars.next() {
        if c.is_whitespace() {
            glued = false;
            continue;
        }
        let token = if c.is_ascii_digit() {
            let mut end = at + 1;
            while let Some((next, c)) = chars.peek().copied() {
                let joins = matches!(c, '.' | ',') && text[next + 1..].starts_with(|c: char| c.is_ascii_digit());
                if !c.is_ascii_digit() && !joins {
                    break;
                }
                end = next + 1;
                chars.next();
            }
            Token::Number(text[at..end].to_owned())
        } else if c.is_alphabetic() {
            let mut end = at + c.len_utf8();
            while let Some((next, c)) = chars.peek().copied().filter(|(_, c)| c.is_alphanumeric()) {
                end = next + c.len_utf8();
                chars.next();
            }
            Token::Word(text[at..end].to_lowercase())
        } else {
            Token::Sign(c)
        };
        found.push((token, glued));
        glued = true;
    }
    found
}

#[rustfmt::skip]
const SPELLED: &[&str] = &[
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "hundred", "thousand", "million",
];

/// What a number is counted or measured in, without the plural's `s`.
#[rustfmt::skip]
const UNITS: &[&str] = &[
    "%", "b", "bit", "bp", "byte", "c", "call", "cent", "char", "character", "click", "column", "connection",
    "core", "cpu", "d", "day", "db", "degree", "device", "dollar", "entry", "entries", "error", "euro",
    "event", "failure", "file", "fps", "g", "gb", "ghz", "gib", "h", "hour", "hr", "hz", "image", "item", "k",
    "kb", "kg", "khz", "kib", "kilobyte", "km", "letter", "line", "m", "mb", "meg", "megabyte", "message",
    "meter", "metre", "mhz", "mib", "microsecond", "millisecond", "min", "minute", "mm", "mo", "month", "ms",
    "nanosecond", "ns", "op", "page", "percent", "percentage", "person", "people", "pixel", "point", "px",
    "qps", "query", "queries", "record", "repetition", "req", "request", "result", "retry", "retries", "round",
    "row", "rps", "s", "sec", "second", "session", "step", "tb", "time", "token", "tps", "try", "tries", "us",
    "user", "week", "word", "x", "year", "yr", "×", "µs", "μs", "°",
];

/// Verbs and the like that end as a plural does.
#[rustfmt::skip]
const NO_PLURALS: &[&str] = &[
    "always", "appears", "as", "becomes", "does", "exists", "exits", "fails", "gets", "gives", "goes", "has",
    "is", "its", "keeps", "lists", "loads", "makes", "means", "opens", "passes", "prints", "returns", "runs",
    "says", "sees", "sends", "shows", "stays", "succeeds", "takes", "this", "thus", "was", "works", "yes",
];

/// What stands before a number that is a name: `level 3`.
#[rustfmt::skip]
const LABELS: &[&str] = &[
    "android", "api", "case", "chapter", "chrome", "css", "debian", "django", "fedora", "figure", "firefox",
    "html", "http", "ios", "iso", "issue", "java", "key", "kubernetes", "layer", "level", "linux", "macos",
    "mode", "mysql", "node", "option", "part", "phase", "php", "port", "postgres", "postgresql", "python",
    "rails", "release", "rfc", "ruby", "rule", "safari", "section", "sqlite", "stage", "table", "tier", "type",
    "ubuntu", "utf", "v", "version", "windows",
];

#[rustfmt::skip]
const MONTHS: &[&str] = &[
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
    "november", "december", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov",
    "dec",
];

/// Words that compare, each the last before the number.
#[rustfmt::skip]
const COMPARES: &[&str] = &[
    "above", "below", "between", "exactly", "exceed", "exceeding", "exceeds", "max", "maximum", "min",
    "minimum", "over", "under", "within",
];

/// Two words that compare.
#[rustfmt::skip]
const COMPARE_PAIRS: &[(&str, &str)] = &[
    ("at", "least"), ("at", "most"), ("up", "to"), ("equal", "to"), ("equals", "to"), ("more", "than"),
    ("less", "than"), ("fewer", "than"), ("greater", "than"), ("higher", "than"), ("lower", "than"),
    ("faster", "than"), ("slower", "than"), ("longer", "than"), ("shorter", "than"), ("larger", "than"),
    ("smaller", "than"), ("maximum", "of"), ("minimum", "of"), ("limit", "of"),
];

/// Words between a comparison and its number.
const BETWEEN: &[&str] = &["a", "about", "approximately", "around", "of", "roughly", "the", "total"];

/// Whether a text has a number with something to measure it by.
pub fn has_threshold(text: &str) -> bool {
    let tokens = tokens(text);
    (0..tokens.len()).any(|at| is_number(&tokens, at) && !is_name(&tokens, at) && is_measured(&tokens, at))
}

fn word(tokens: &[Spaced], at: usize) -> Option<&str> {
    match tokens.get(at) {
        Some((Token::Word(word), _)) => Some(word),
        _ => None,
    }
}

fn sign(tokens: &[Spaced], at: usize) -> Option<char> {
    match tokens.get(at) {
        Some((Token::Sign(c), _)) => Some(*c),
        _ => None,
    }
}

fn is_number(tokens: &[Spaced], at: usize) -> bool {
    match &tokens[at].0 {
        Token::Number(_) => true,
        Token::Word(word) => SPELLED.contains(&word.as_str()),
        Token::Sign(_) => false,
    }
}

fn before(at: usize, by: usize) -> usize {
    at.checked_sub(by).unwrap_or(usize::MAX)
}

fn is_unit(tokens: &[Spaced], at: usize) -> bool {
    if sign(tokens, at).is_some_and(|c| matches!(c, '%' | '‰' | '$' | '€' | '£' | '¥' | '×' | '°')) {
        return true;
    }
    let Some(word) = word(tokens, at) else { return false };
    let stem = if word.len() > 2 { word.strip_suffix('s').unwrap_or(word) } else { word };
    UNITS.contains(&word) || UNITS.contains(&stem)
}

fn is_plural(tokens: &[Spaced], at: usize) -> bool {
    word(tokens, at).is_some_and(|word| {
        word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") && !NO_PLURALS.contains(&word)
    })
}

/// Versions, dates, ports, status codes and references are names, not amounts.
fn is_name(tokens: &[Spaced], at: usize) -> bool {
    let (left, right) = (before(at, 1), at + 1);
    let after = |words: &[&str]| word(tokens, left).is_some_and(|word| words.contains(&word));
    let Token::Number(digits) = &tokens[at].0 else {
        // `no one` is nobody.
        return word(tokens, at) == Some("one")
            && after(&["no", "any", "every", "each", "some", "which", "this", "that"]);
    };
    if digits.matches('.').count() > 1 {
        return true;
    }
    let glued = tokens[at].1;
    // `v2.0`
    if glued && sign(tokens, left) == Some('.') && tokens[left].1 {
        return true;
    }
    let counted = word(tokens, right).is_some_and(|word| matches!(word, "user" | "users" | "people" | "person"));
    let year = digits.len() == 4 && (digits.starts_with("19") || digits.starts_with("20"));
    if year && after(&["from", "in", "since", "until", "during", "year"]) && (counted || !is_unit(tokens, right)) {
        return true;
    }
    if glued && sign(tokens, left).is_some_and(|c| matches!(c, '#' | ':' | '_')) {
        return true;
    }
    let number = |at: usize| matches!(tokens.get(at), Some((Token::Number(_), _)));
    let joins = |at: usize| sign(tokens, at).is_some_and(|c| matches!(c, '-' | '/')) && tokens[at].1;
    let dated =
        |a: usize, b: usize| joins(before(at, a)) && number(before(at, a + 1)) || joins(at + b) && number(at + b + 1);
    let three = joins(left) && number(before(at, 2)) && (joins(before(at, 3)) || joins(right))
        || joins(right) && number(at + 2) && joins(at + 3) && number(at + 4);
    if three && dated(1, 1) {
        return true;
    }
    let month = |at: usize| word(tokens, at).is_some_and(|word| MONTHS.contains(&word));
    if month(left) && digits.len() <= 4 && !is_unit(tokens, right) || month(right) && word(tokens, right) != Some("may")
    {
        return true;
    }
    let measured = is_unit(tokens, right) || is_plural(tokens, right);
    let status = digits.len() == 3 && digits.starts_with(|c: char| ('1'..='5').contains(&c));
    let told = |at: usize| {
        let words = [
            "http", "status", "code", "codes", "return", "returns", "returned", "respond", "responds", "response",
            "answers", "with", "a",
        ];
        word(tokens, at).is_some_and(|word| words.contains(&word))
    };
    if status && told(left) && !measured {
        return true;
    }
    word(tokens, left).is_some_and(|word| LABELS.contains(&word))
}

fn is_measured(tokens: &[Spaced], at: usize) -> bool {
    let (left, right) = (before(at, 1), at + 1);
    if sign(tokens, left).is_some_and(|c| matches!(c, '$' | '€' | '£' | '¥' | '≤' | '≥' | '<' | '>' | '±' | '≈' | '~'))
    {
        return true;
    }
    // `<= 5`
    if sign(tokens, left) == Some('=') && sign(tokens, before(at, 2)).is_some_and(|c| matches!(c, '<' | '>' | '=')) {
        return true;
    }
    let mut to = left;
    while word(tokens, to).is_some_and(|word| BETWEEN.contains(&word)) && !compares(tokens, to) {
        to = before(to, 1);
    }
    if compares(tokens, to) {
        return true;
    }
    // `5 users`, `5 concurrent users`, `3-second`
    let next = if sign(tokens, right) == Some('-') && tokens[right].1 { right + 1 } else { right };
    if is_unit(tokens, next) || is_plural(tokens, next) {
        return true;
    }
    let adjective = word(tokens, next).is_some_and(|word| !NO_PLURALS.contains(&word) && !JOINING.contains(&word));
    if adjective
        && (is_plural(tokens, next + 1)
            || is_unit(tokens, next + 1) && word(tokens, next + 1).is_some_and(|w| w.len() > 2))
    {
        return true;
    }
    // `100 of 100`, `3 out of 4`
    let of = if word(tokens, right) == Some("out") { right + 1 } else { right };
    word(tokens, of) == Some("of") && tokens.get(of + 1).is_some() && is_number(tokens, of + 1)
}

/// Words after a number that say nothing about how it is measured.
#[rustfmt::skip]
const JOINING: &[&str] = &[
    "a", "after", "and", "are", "at", "before", "by", "for", "from", "if", "in", "into", "it", "of", "on",
    "or", "that", "the", "then", "to", "when", "where", "which", "while", "with",
];

fn compares(tokens: &[Spaced], at: usize) -> bool {
    let Some(last) = word(tokens, at) else { return false };
    COMPARES.contains(&last) || word(tokens, before(at, 1)).is_some_and(|first| COMPARE_PAIRS.contains(&(first, last)))
}

#[rustfmt::skip]
const CURRENCIES: &[&str] = &[
    "usd", "eur", "gbp", "chf", "jpy", "cad", "aud", "dollar", "dollars", "euro", "euros", "pound", "pounds",
    "francs", "yen",
];
#[rustfmt::skip]
const OTHER_TERMS: &[&str] = &[
    "year", "years", "yr", "annum", "annually", "yearly", "day", "days", "daily", "hour", "hours", "hourly",
    "week", "weekly", "request", "requests", "call", "calls", "invocation", "invocations", "once", "quarter",
    "seat",
];

/// Whether a text has a monthly figure: an amount of money with a month, or an amount of nothing.
pub fn has_monthly_figure(heading: &str, text: &str) -> bool {
    let tokens = tokens(text);
    let is_month = |(token, _): &Spaced| matches!(token, Token::Word(word) if matches!(word.as_str(), "month" | "months" | "monthly" | "mo" | "mth" | "mois" | "monat" | "monatlich"));
    let month = tokens.iter().any(is_month) || self::tokens(heading).iter().any(is_month);
    (0..tokens.len()).any(|at| {
        let Token::Number(digits) = &tokens[at].0 else { return false };
        let coin = |at: usize| {
            sign(&tokens, at).is_some_and(|c| matches!(c, '$' | '€' | '£' | '¥'))
                || word(&tokens, at).is_some_and(|word| CURRENCIES.contains(&word))
        };
        let after = coin(at + 1);
        let zero = digits.bytes().all(|b| matches!(b, b'0' | b'.' | b','));
        // `0/month` is nothing in any currency.
        let by_month = || tokens.get(at + 1..).is_some_and(|rest| rest.iter().take(2).any(is_month));
        if !after && !coin(before(at, 1)) {
            return zero && by_month();
        }
        zero || month && !is_other_term(&tokens, at + 1 + usize::from(after))
    })
}

/// The same of a cell: a bare number is in the currency, and by the month, that its column's header names.
pub fn is_monthly_cell(header: &str, text: &str) -> bool {
    let money = tokens(header).into_iter().find_map(|(token, _)| match token {
        Token::Sign(sign) if matches!(sign, '$' | '€' | '£' | '¥') => Some(sign.to_string()),
        Token::Word(word) if CURRENCIES.contains(&word.as_str()) => Some(word),
        _ => None,
    });
    money.is_some_and(|money| has_monthly_figure(header, &format!("{text} {money}")))
}

/// Whether an amount is by the year, the day or the request: `/year`, `a year`, `per 1,000 requests`.
fn is_other_term(tokens: &[Spaced], mut at: usize) -> bool {
    let by = sign(tokens, at) == Some('/')
        || word(tokens, at).is_some_and(|word| matches!(word, "a" | "an" | "per" | "each" | "every"));
    at += usize::from(by);
    at += usize::from(tokens.get(at).is_some_and(|(token, _)| matches!(token, Token::Number(_))));
    word(tokens, at).is_some_and(|word| OTHER_TERMS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_a_number_that_is_measured() {
        for text in [
            "answers within 200 ms",
            "99.9 % of requests",
            "99.9% up",
            "3 clicks",
            "at least 3",
            "≤ 5",
            "<= 5",
            "within 2",
            "fewer than ten",
            "up to 7",
            "exactly 4",
            "no more than one",
            "under 5",
            "zero errors",
            "100 of 100",
            "200ms",
            "p95 < 300 ms",
            "in one click",
            "20 invoices",
            "5 concurrent users",
            "costs $5",
            "a 3-second limit",
            "at most a hundred",
            "between 3 and 5",
            "10-20 seconds",
            "returns 200 rows",
            "2 out of 3",
            "12 characters",
            "returns 200 within 300 ms",
            "opens in 2000 ms",
            "no more than one page",
            "2000 users at once",
            "for 11 machines",
            "in .5 s",
        ] {
            assert!(has_threshold(text), "{text}");
        }
        for text in [
            "it is fast",
            "v2 works",
            "1.4.0 is used",
            "HTTP 404",
            "returns 200",
            "on 2026-01-02",
            "port 8080",
            "localhost:8080",
            "RFC 8785",
            "see #12",
            "section 3",
            "level 3 gives level 2",
            "from level 0 it stays at 0",
            "version 3 supports it",
            "returns a 404",
            "by 3 May",
            "one of the pages",
            "status code 201",
            "No one ever loses data.",
            "works on Windows 11 machines",
            "From 2026 users are happy",
            "In v2.0 users can log in",
            "",
        ] {
            assert!(!has_threshold(text), "{text}");
        }
    }

    #[test]
    fn a_monthly_figure_is_money_with_a_month() {
        for text in [
            "$5 a month",
            "5 USD per month",
            "€ 12.50 monthly",
            "12 euros/mo",
            "$0",
            "0 €",
            "$5–$10 per month",
            "USD 5 / month",
            "$60 a year, so $5 a month",
            "$12 per user per month",
            "0.00 USD a year",
        ] {
            assert!(has_monthly_figure("Cost", text), "{text}");
        }
        for text in [
            "$60 a year",
            "$5",
            "5 a month",
            "free",
            "$1/day, month by month",
            "$0.10 per 1,000 requests each month",
            "cheap every month",
        ] {
            assert!(!has_monthly_figure("Cost", text), "{text}");
        }
        assert!(has_monthly_figure("Estimated Cost (monthly)", "$5"));
    }
}
