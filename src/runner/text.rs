//! Text that a command or a report wrote, made fit to be kept: within bounds, and without orders to a terminal.

use anstream::adapter::strip_str;

/// Marks that turn the reading direction can make a text say the opposite of what it is, and others are not seen at all.
fn is_unseen(c: char) -> bool {
    matches!(c, '\u{061c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2060}' | '\u{feff}')
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// One line of at most so many characters.
pub(crate) fn line(text: &str, most: usize) -> String {
    let mut kept = String::new();
    let mut left = most;
    for c in strip_str(text).flat_map(str::chars).filter(|c| !is_unseen(*c)) {
        let c = if c.is_control() { ' ' } else { c };
        if kept.is_empty() && c == ' ' {
            continue;
        }
        if left == 0 {
            kept.pop();
            kept.push('…');
            break;
        }
        left -= 1;
        kept.push(c);
    }
    kept.truncate(kept.trim_end().len());
    kept
}

/// Several lines: colours and other orders to a terminal are taken out, a line that was written over stays, and what
/// would not be seen is made visible.
pub(crate) fn block(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut after_return = false;
    for c in strip_str(text).flat_map(str::chars) {
        match c {
            '\n' if after_return => {}
            '\r' | '\n' => kept.push('\n'),
            '\t' => kept.push('\t'),
            c if c.is_control() || is_unseen(c) => kept.push('\u{fffd}'),
            c => kept.push(c),
        }
        after_return = c == '\r';
    }
    kept
}

/// The beginning, of at most so many characters.
pub(crate) fn head(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// The end, of at most so many bytes, from the beginning of a line where there is one.
pub(crate) fn tail(text: &str, most: usize) -> &str {
    let Some(cut) = text.len().checked_sub(most).filter(|cut| *cut > 0) else { return text };
    let start = (cut..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let kept = &text[start..];
    match kept.split_once('\n') {
        Some((_, rest)) if !rest.is_empty() && !text[..start].ends_with('\n') => rest,
        _ => kept,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_is_one_and_bounded() {
        assert_eq!(line("\x1b[31m a\nb\u{202e}c\t", 10), "a bc");
        assert_eq!(line("abcdef", 6), "abcdef");
        assert_eq!(line("abcdefg", 6), "abcde…");
        assert_eq!(line("é".repeat(9).as_str(), 3), "éé…");
    }

    #[test]
    fn a_block_keeps_its_lines_and_nothing_else() {
        assert_eq!(block("a\r\nb\rc\n\n\x1b[1;31mred\x1b[0m\t\u{7}x\0"), "a\nb\nc\n\nred\tx");
        assert_eq!(block("a\u{85}b\u{202e}c"), "a\u{fffd}b\u{fffd}c");
        assert_eq!(block("\x1b]0;title\x07seen"), "seen");
    }

    #[test]
    fn a_tail_begins_with_a_line() {
        assert_eq!(tail("one\ntwo\nthree", 9), "two\nthree");
        assert_eq!(tail("one\ntwo\nthree", 8), "three");
        assert_eq!(tail("éé", 3), "é");
        assert_eq!(tail("one\n", 2), "e\n");
        assert_eq!(tail("short", 9), "short");
    }

    proptest! {
        #[test]
        fn nothing_orders_a_terminal(text in any::<String>(), most in 0_usize..20) {
            prop_assert!(!block(&text).contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')));
            prop_assert!(!line(&text, most).contains(char::is_control) && line(&text, most).chars().count() <= most.max(1));
            prop_assert!(tail(&text, most).len() <= most && head(&text, most).chars().count() <= most.max(1));
        }
    }
}
