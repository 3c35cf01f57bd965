//! `artifacts/evidence.html` of a task: all its pieces of evidence on one page, for whoever opens them in a browser.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::html::{code, link, prose, safe, shell, table};
use crate::gate::task::{Field, STATE, Sheet};

/// How a page of ours begins its last line. One without it is somebody else's, and stays.
const OURS: &str = "Made by Phasegate from the files beside it";

/// So many pieces are listed.
const MOST: usize = 500;

/// What an address takes as it is, between its slashes.
const PLAIN: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'`')
    .add(b'{')
    .add(b'}')
    .add(b':')
    .add(b'\\');

/// The page of a task. Paths are those in its folder, with how large each file is.
pub fn bundle(folder: &str, sheet: &Sheet, files: &[(String, u64)]) -> String {
    let title = format!("Evidence of {folder}");
    let mut body = format!("<h1>{}</h1>", safe(&title));
    body.push_str("<dl>");
    for field in [Field::Objective, Field::DoneGate, Field::ValidationPlan] {
        let value = sheet.value(field);
        if !value.trim().is_empty() {
            let lines: Vec<String> = value.lines().map(prose).collect();
            body.push_str(&format!("<dt>{}</dt><dd>{}</dd>", field.as_str(), lines.join("<br>")));
        }
    }
    body.push_str("</dl>");
    if !sheet.features.is_empty() {
        body.push_str("<h2>What people see</h2>");
        let rows = sheet.features.iter().map(|one| vec![prose(&one.name), code(one.truth.as_str())]);
        body.push_str(&table(&["feature", "as it truly is"], rows));
    }
    body.push_str("<h2>Pieces</h2>");
    let rows = files.iter().take(MOST).map(|(path, size)| vec![link(&address(path), &code(path)), bytes(*size)]);
    body.push_str(&table(&["file", "size"], rows));
    if let Some(more) = files.len().checked_sub(MOST).filter(|more| *more > 0) {
        body.push_str(&format!("<p>and {more} more</p>"));
    }
    let written = ["EVIDENCE.md", STATE, "README.md"].map(|name| link(&format!("../{name}"), &code(name)));
    body.push_str(&format!(
        "<p>What was seen is written in {}; where the task stands, in {} and {}.</p>",
        written[0], written[1], written[2]
    ));
    shell(&title, &body, &format!("{OURS}; it is made anew when they change."))
}

/// Whether a page was made here.
pub fn is_ours(page: &[u8]) -> bool {
    String::from_utf8_lossy(page).contains(OURS)
}

/// From the page to a file of the task's folder.
fn address(path: &str) -> String {
    let (up, path) = path.strip_prefix("artifacts/").map_or(("../", path), |rest| ("./", rest));
    let parts: Vec<String> = path.split('/').map(|part| utf8_percent_encode(part, PLAIN).to_string()).collect();
    format!("{up}{}", parts.join("/"))
}

fn bytes(size: u64) -> String {
    match size {
        1 => "1 byte".to_owned(),
        0..1024 => format!("{size} bytes"),
        1024..1_048_576 => format!("{} KiB", size / 1024),
        _ => format!("{} MiB", size / 1_048_576),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::task::read;

    fn page(files: &[(&str, u64)]) -> String {
        let text = include_str!("../../../templates/task/STATE.md")
            .replace("{{today}}", "2026-01-31")
            .replace("Objective:\n", "Objective: <b>Dim</b> the `lamp`.\n");
        let sheet = read(STATE, text.as_bytes()).expect("the template is in its form");
        let files: Vec<(String, u64)> = files.iter().map(|(path, size)| ((*path).to_owned(), *size)).collect();
        bundle("tasks/T-1", &sheet, &files)
    }

    #[test]
    fn each_piece_is_a_link_that_leads_to_it_and_nothing_is_markup() {
        let page = page(&[("artifacts/a b.txt", 1), ("artifacts/x/<i>.png", 2_048), ("EVIDENCE.md", 3_000_000)]);
        assert!(
            page.contains("<a href=\"./a%20b.txt\" rel=\"noreferrer\"><code>artifacts/a b.txt</code></a>"),
            "{page}"
        );
        assert!(
            page.contains("href=\"./x/%3Ci%3E.png\"") && page.contains("<code>artifacts/x/&lt;i&gt;.png</code>"),
            "{page}"
        );
        assert!(page.contains("href=\"../EVIDENCE.md\"") && page.contains("2 KiB") && page.contains("2 MiB"), "{page}");
        assert!(page.contains("&lt;b&gt;Dim&lt;/b&gt; the <code>lamp</code>.") && !page.contains("<b>Dim"), "{page}");
        assert!(is_ours(page.as_bytes()) && !is_ours(b"<h1>mine</h1>"));
    }

    #[test]
    fn no_address_leads_elsewhere() {
        for (path, to) in
            [("artifacts/javascript:x", "./javascript%3Ax"), ("artifacts/a?b#c", "./a%3Fb%23c"), ("a\"b", "../a%22b")]
        {
            assert_eq!(address(path), to);
        }
    }
}
