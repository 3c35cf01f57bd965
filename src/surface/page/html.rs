//! The small parts of a page: text made safe, links, the shell around it.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use sha2::{Digest as _, Sha256};

use crate::finding::{Finding, Verdict};
use crate::runner::text;

const STYLE: &str = include_str!("style.css");

/// What a browser may do with the page: show it, in the one style that it came with.
pub fn content_security_policy() -> &'static str {
    static POLICY: LazyLock<String> = LazyLock::new(|| {
        let style = BASE64.encode(Sha256::digest(STYLE.as_bytes()));
        format!("default-src 'none'; style-src 'sha256-{style}'; img-src data:; base-uri 'none'; form-action 'none'")
    });
    &POLICY
}

/// Characters that mean something in HTML, in content and in attributes.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// Somebody else's text in one line: bounded, and nothing in it but text.
pub(super) fn safe(text: &str) -> String {
    escaped(&text::line(text, 2_000))
}

/// The same as code.
pub(super) fn code(text: &str) -> String {
    format!("<code>{}</code>", safe(text))
}

/// Several lines as they were printed, the end of them.
pub(super) fn block(text: &str, most: usize) -> String {
    let text = text::block(text);
    format!("<pre tabindex=\"0\">{}</pre>", escaped(text::tail(&text, most).trim_end()))
}

/// A sentence of ours: what it quotes is shown as code.
pub(super) fn prose(sentence: &str) -> String {
    let line = text::line(sentence, 2_000);
    let parts: Vec<&str> = line.split('`').collect();
    let quotes = parts.len() % 2 == 1;
    let mut out = String::new();
    for (at, part) in parts.iter().enumerate() {
        match (quotes, at % 2) {
            (true, 1) => out.push_str(&format!("<code>{}</code>", escaped(part))),
            (false, 1) => out.push_str(&format!("`{}", escaped(part))),
            _ => out.push_str(&escaped(part)),
        }
    }
    out
}

/// A link; what is inside is HTML already.
pub(super) fn link(to: &str, inside: &str) -> String {
    format!("<a href=\"{}\" rel=\"noreferrer\">{inside}</a>", escaped(to))
}

/// A link where there is somewhere to lead to.
pub(super) fn linked(to: Option<String>, inside: &str) -> String {
    to.map_or_else(|| inside.to_owned(), |to| link(&to, inside))
}

pub(super) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "<b class=\"ok\">PASS</b>",
        Verdict::Fail => "<b class=\"bad\">FAIL</b>",
    }
}

/// A finding: its rule, its place, what was found, what to do.
pub(super) fn finding(finding: &Finding, place: Option<String>) -> String {
    let (class, kind) = match (finding.blocks(), finding.waiting) {
        (false, _) => ("wait", "warning"),
        (true, true) => ("wait", "waiting"),
        (true, false) => ("bad", "error"),
    };
    let at = match (&finding.path, finding.line) {
        (Some(path), Some(line)) => Some(code(&format!("{path}:{line}"))),
        (Some(path), None) => Some(code(path)),
        _ => None,
    };
    let at = at.map(|at| format!(" {}", linked(place, &at))).unwrap_or_default();
    format!(
        "<li><b class=\"{class}\">{}</b> <span class=\"sub\">{kind}</span>{at} {}<span class=\"next\">→ {}</span></li>",
        safe(&finding.rule),
        prose(&finding.says),
        prose(&finding.next)
    )
}

/// A table, each row of cells that are HTML already. It scrolls by itself where it is too wide.
pub(super) fn table(heads: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut out = String::from("<div class=\"wide\" tabindex=\"0\"><table><thead><tr>");
    out.extend(heads.iter().map(|head| format!("<th scope=\"col\">{head}</th>")));
    out.push_str("</tr></thead><tbody>");
    for row in rows {
        out.push_str("<tr>");
        out.extend(row.into_iter().map(|cell| format!("<td>{cell}</td>")));
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
    out
}

/// Names, each in its line, no more than this many.
pub(super) fn names(names: &[String], most: usize) -> String {
    let mut out = String::from("<ul>");
    out.extend(names.iter().take(most).map(|name| format!("<li>{}</li>", code(name))));
    if let Some(more) = names.len().checked_sub(most).filter(|more| *more > 0) {
        out.push_str(&format!("<li>and {more} more</li>"));
    }
    out.push_str("</ul>");
    out
}

/// Something that opens when it is asked for.
pub(super) fn folded(open: bool, summary: &str, inside: &str) -> String {
    let open = if open { " open" } else { "" };
    format!("<details{open}><summary>{summary}</summary><div class=\"in\">{inside}</div></details>")
}

/// A moment, to the second.
pub(super) fn moment(at: jiff::Timestamp) -> String {
    let shown = jiff::Timestamp::from_second(at.as_second()).unwrap_or(at);
    format!("<time datetime=\"{shown}\">{}</time>", shown.strftime("%Y-%m-%d %H:%M:%S UTC"))
}

/// A whole page.
pub(super) fn shell(title: &str, body: &str, footer: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\"><meta name=\"robots\" content=\"noindex\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{}</title><style>{STYLE}</style></head>\n<body><main>\n{body}\n</main><footer>{footer}</footer></body></html>\n",
        escaped(content_security_policy()),
        safe(title)
    )
}
