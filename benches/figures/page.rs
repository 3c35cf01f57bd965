//! The page: its tables are replaced, what people wrote around them stays.

use std::path::Path;

use anyhow::Context as _;

/// Replaces each figure between its marks. All of them are there, or nothing is written.
pub(crate) fn write(page: &Path, figures: &[(&str, String)]) -> anyhow::Result<()> {
    let mut text = std::fs::read_to_string(page).with_context(|| format!("{} can't be read", page.display()))?;
    for (name, table) in figures {
        text = replaced(&text, name, table)?;
    }
    std::fs::write(page, text).with_context(|| format!("{} can't be written", page.display()))
}

fn replaced(text: &str, name: &str, table: &str) -> anyhow::Result<String> {
    let (begin, end) = (format!("<!-- measured: {name} -->\n"), "<!-- end -->".to_owned());
    let wrong = || format!("the page has no place for {name}: it is between {begin:?} and {end:?}");
    let (before, rest) = text.split_once(&begin).with_context(wrong)?;
    let (_, after) = rest.split_once(&end).with_context(wrong)?;
    Ok(format!("{before}{begin}\n{}\n\n{end}{after}", table.trim()))
}
