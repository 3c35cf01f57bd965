//! What HTML says to a reader: its text, without tags and comments.

/// Elements whose text nobody sees.
const UNSEEN: [&str; 2] = ["script", "style"];

/// The text of a piece of HTML, by its lines.
pub(super) fn text(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(open) = rest.find('<') {
        out.push_str(&rest[..open]);
        let tag = &rest[open..];
        let (len, unseen) = if tag.starts_with("<!--") {
            (tag.find("-->").map_or(tag.len(), |end| end + 3), None)
        } else if tag[1..].starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?')) {
            let len = tag.find('>').map_or(tag.len(), |end| end + 1);
            (len, UNSEEN.iter().find(|name| is_tag(&tag[1..], name)))
        } else {
            out.push('<');
            rest = &tag[1..];
            continue;
        };
        // The lines stay where they are.
        out.extend(tag[..len].chars().filter(|c| *c == '\n'));
        rest = &tag[len..];
        if let Some(name) = unseen {
            let end = find_close(rest, name).unwrap_or(rest.len());
            out.extend(rest[..end].chars().filter(|c| *c == '\n'));
            rest = &rest[end..];
        }
    }
    out.push_str(rest);
    if out.contains('&') { decoded(&out) } else { out }
}

/// The longest name or number of a character that is looked for.
const LONGEST: usize = 32;

/// A text with characters for their names and numbers. One whose name is not known here is a sign, and no word.
fn decoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let end = after.bytes().take(LONGEST).position(|b| !b.is_ascii_alphanumeric() && b != b'#').unwrap_or(0);
        if end == 0 || after.as_bytes()[end] != b';' {
            out.push('&');
            rest = after;
            continue;
        }
        out.push(named(&after[..end]));
        rest = &after[end + 1..];
    }
    out + rest
}

fn named(name: &str) -> char {
    let number = |digits: &str, radix| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
    let found = match name.strip_prefix('#') {
        Some(digits) => match digits.strip_prefix(['x', 'X']) {
            Some(digits) => number(digits, 16),
            None => number(digits, 10),
        },
        None => match name {
            "nbsp" | "ensp" | "emsp" | "thinsp" => Some(' '),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            "amp" => Some('&'),
            _ => None,
        },
    };
    found.filter(|c| *c != '\n' && *c != '\r').unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn is_tag(after: &str, name: &str) -> bool {
    after.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
        && !after[name.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '-')
}

fn find_close(text: &str, name: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = text[from..].find("</") {
        let at = from + at;
        if is_tag(&text[at + 2..], name) {
            return Some(at);
        }
        from = at + 2;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn tags_and_comments_are_left_out_and_lines_stay() {
        assert_eq!(text("<p>a <b>b</b>\n<!-- x\ny -->\nc</p>"), "a b\n\n\nc");
        assert_eq!(text("<script>\nlet x = '<p>';\n</script>z"), "\n\nz");
        assert_eq!(text("1 < 2 &amp; 3 &gt; 2"), "1 < 2 & 3 > 2");
        assert_eq!(text("<p>&#84;B&#x44; &nbsp; &zwj;&nosuch; &# &;"), "TBD   \u{fffd}\u{fffd} &# &;");
        assert_eq!(text("a&#10;b &#x110000; é&"), "a\u{fffd}b \u{fffd} é&");
        assert_eq!(text("<!-- never closed"), "");
        assert_eq!(text("<details open"), "");
    }
}
