//! Source text without its comments and without what stands in its strings, and the blocks that it is made of.
//!
//! This is no parser: it knows of each language how a comment and a string begin and end, and counts braces. What it does not
//! understand it takes for code up to the end of the line.

/// The languages whose code is looked into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::gate) enum Language {
    Rust,
    Python,
    JavaScript,
    Go,
    Java,
    Kotlin,
    CSharp,
    Ruby,
    Php,
    Swift,
}

impl Language {
    /// By the end of the file's name.
    pub(in crate::gate) fn of(path: &str) -> Option<Self> {
        let (_, end) = path.rsplit_once('.')?;
        Some(match end {
            "rs" => Self::Rust,
            "py" => Self::Python,
            "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" => Self::JavaScript,
            "go" => Self::Go,
            "java" => Self::Java,
            "kt" | "kts" => Self::Kotlin,
            "cs" => Self::CSharp,
            "rb" => Self::Ruby,
            "php" => Self::Php,
            "swift" => Self::Swift,
            _ => return None,
        })
    }

    /// Whether a carriage return alone ends a line, and a comment with it.
    pub(in crate::gate) fn ends_lines_with_cr(self) -> bool {
        !matches!(self, Self::Rust | Self::Go | Self::Ruby)
    }

    fn line_comment(self, rest: &[u8]) -> bool {
        match self {
            Self::Python | Self::Ruby => rest.starts_with(b"#"),
            Self::Php => rest.starts_with(b"//") || rest.starts_with(b"#") && !rest.starts_with(b"#["),
            _ => rest.starts_with(b"//"),
        }
    }

    fn block_comment(self, rest: &[u8], at_line_start: bool) -> Option<(&'static [u8], bool)> {
        match self {
            Self::Python => None,
            Self::Ruby => (at_line_start && rest.starts_with(b"=begin")).then_some((b"\n=end".as_slice(), false)),
            _ => rest
                .starts_with(b"/*")
                .then_some((b"*/".as_slice(), matches!(self, Self::Rust | Self::Swift | Self::Kotlin))),
        }
    }

    fn triple(self, rest: &[u8]) -> Option<&'static [u8]> {
        match self {
            Self::Python if rest.starts_with(b"'''") => Some(b"'''"),
            Self::Python | Self::Kotlin | Self::Swift | Self::Java | Self::CSharp if rest.starts_with(b"\"\"\"") => {
                Some(b"\"\"\"")
            }
            _ => None,
        }
    }
}

/// A text whose comments and strings are blanks; every byte stands where it stood.
pub(in crate::gate) struct Masked {
    pub(in crate::gate) code: String,
}

impl Masked {
    pub(in crate::gate) fn new(text: &str, language: Language) -> Self {
        Self::of(text, language, true)
    }

    /// With what stands in strings, but for those of several lines, which are comments in all but name.
    pub(in crate::gate) fn with_strings(text: &str, language: Language) -> Self {
        Self::of(text, language, false)
    }

    fn of(text: &str, language: Language, strings: bool) -> Self {
        let mut code = text.as_bytes().to_vec();
        let bytes = text.as_bytes();
        let mut at = 0;
        // The last code that was not blank: what a `/` in JavaScript means depends on it.
        let mut before = b'\n';
        while at < bytes.len() {
            let rest = &bytes[at..];
            let end = if language.line_comment(rest) {
                at + rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len())
            } else if let Some((close, nests)) = language.block_comment(rest, at == 0 || bytes[at - 1] == b'\n') {
                at + block(rest, close, nests)
            } else if let Some(end) = string(bytes, at, language, before) {
                // The quotes stay, so that an argument is seen to be there.
                let closed = bytes.get(end.saturating_sub(1)).is_some_and(|b| b"\"'`/#".contains(b));
                if strings || language.triple(rest).is_some() {
                    blank(&mut code, at + 1, if closed { end - 1 } else { end });
                }
                before = b'"';
                at = end;
                continue;
            } else {
                if !rest[0].is_ascii_whitespace() {
                    before = rest[0];
                }
                at += 1;
                continue;
            };
            blank(&mut code, at, end);
            at = end;
        }
        Self { code: String::from_utf8_lossy(&code).into_owned() }
    }
}

fn blank(code: &mut [u8], from: usize, to: usize) {
    let to = to.min(code.len());
    for byte in code.get_mut(from..to).unwrap_or_default() {
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
}

fn find(rest: &[u8], what: &[u8]) -> Option<usize> {
    rest.windows(what.len()).position(|window| window == what)
}

/// How long a block comment is.
fn block(rest: &[u8], close: &[u8], nests: bool) -> usize {
    let mut depth = 1;
    let mut at = 2;
    while at < rest.len() {
        if rest[at..].starts_with(close) {
            depth -= 1;
            at += close.len();
            if depth == 0 {
                return at;
            }
        } else if nests && rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// Where a string that begins here ends.
fn string(bytes: &[u8], at: usize, language: Language, before: u8) -> Option<usize> {
    let rest = &bytes[at..];
    if let Some(quote) = language.triple(rest) {
        return Some(find(&rest[3..], quote).map_or(bytes.len(), |end| at + end + 6));
    }
    match (language, rest[0]) {
        (Language::Rust, b'r') => raw(bytes, at),
        // A lifetime is no character.
        (Language::Rust, b'\'') => match rest.get(1)? {
            b'\\' => Some(plain(bytes, at, b'\'')),
            _ => {
                let end = rest.iter().take(6).skip(2).position(|b| *b == b'\'')?;
                let one = std::str::from_utf8(&rest[1..end + 2]).is_ok_and(|inside| inside.chars().count() == 1);
                one.then_some(at + end + 3)
            }
        },
        (Language::Rust, b'"') => Some(through(bytes, at, b'"')),
        (Language::Go | Language::JavaScript, b'`') => Some(through(bytes, at, b'`')),
        (Language::CSharp, b'@') if rest.get(1) == Some(&b'"') => {
            Some(find(&rest[2..], b"\"").map_or(bytes.len(), |end| at + end + 3))
        }
        (Language::JavaScript, b'/') if b"(,=:[!&|?{};\n".contains(&before) => expression(bytes, at),
        (_, quote @ (b'"' | b'\'')) => Some(plain(bytes, at, quote)),
        _ => None,
    }
}

/// A string of one line.
fn plain(bytes: &[u8], at: usize, quote: u8) -> usize {
    let mut end = at + 1;
    while end < bytes.len() {
        match bytes[end] {
            b'\\' => end += 1,
            b'\n' => return end,
            byte if byte == quote => return end + 1,
            _ => {}
        }
        end += 1;
    }
    bytes.len()
}

/// A string of any number of lines.
fn through(bytes: &[u8], at: usize, quote: u8) -> usize {
    let mut end = at + 1;
    while end < bytes.len() {
        match bytes[end] {
            b'\\' => end += 1,
            byte if byte == quote => return end + 1,
            _ => {}
        }
        end += 1;
    }
    bytes.len()
}

/// Rust's `r#"…"#`.
fn raw(bytes: &[u8], at: usize) -> Option<usize> {
    if at > 0 && (bytes[at - 1].is_ascii_alphanumeric() && bytes[at - 1] != b'b' || bytes[at - 1] == b'_') {
        return None;
    }
    let hashes = bytes[at + 1..].iter().take_while(|b| **b == b'#').count();
    let begins = at + 1 + hashes;
    if bytes.get(begins) != Some(&b'"') {
        return None;
    }
    let mut close = vec![b'"'];
    close.extend(std::iter::repeat_n(b'#', hashes));
    Some(find(&bytes[begins + 1..], &close).map_or(bytes.len(), |end| begins + 1 + end + close.len()))
}

/// A regular expression of JavaScript, on its line.
fn expression(bytes: &[u8], at: usize) -> Option<usize> {
    let mut class = false;
    let mut end = at + 1;
    // A longer one nobody writes.
    while let Some(byte) = bytes.get(end).filter(|_| end - at < 1_000) {
        match byte {
            b'\\' => end += 1,
            b'\n' => return None,
            b'[' => class = true,
            b']' => class = false,
            b'/' if !class => return Some(end + 1),
            _ => {}
        }
        end += 1;
    }
    None
}

/// A block in braces: what stands before it, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::gate) struct Block {
    /// From the end of what came before to the brace.
    pub(in crate::gate) header: String,
    /// Where the header begins to say something.
    pub(in crate::gate) begins: usize,
    /// Behind the opening brace.
    pub(in crate::gate) from: usize,
    /// At the closing one.
    pub(in crate::gate) to: usize,
    pub(in crate::gate) parent: Option<usize>,
}

/// The blocks of masked code in braces, in their order. Deeper than this nobody writes.
const DEEPEST: usize = 200;

pub(in crate::gate) fn blocks(code: &str) -> Vec<Block> {
    let mut all: Vec<Block> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut since = 0;
    // `(a, { b }) => …` and `[…]` do not end what stands before a brace.
    let mut inside = 0_usize;
    let mut depths: Vec<usize> = Vec::new();
    for (at, byte) in code.bytes().enumerate() {
        match byte {
            b'(' => inside += 1,
            b')' => inside = inside.saturating_sub(1),
            b'{' => {
                let header = code.get(since..at).unwrap_or_default();
                let lead = header.len() - header.trim_start().len();
                let block = Block {
                    header: header.trim().to_owned(),
                    begins: since + lead,
                    from: at + 1,
                    to: code.len(),
                    parent: open.last().copied(),
                };
                if open.len() < DEEPEST {
                    all.push(block);
                    open.push(all.len() - 1);
                    depths.push(inside);
                }
                inside = 0;
                since = at + 1;
            }
            b'}' => {
                if let Some(block) = open.pop() {
                    all[block].to = at;
                    inside = depths.pop().unwrap_or_default();
                }
                since = at + 1;
            }
            b';' if inside == 0 => since = at + 1,
            _ => {}
        }
    }
    all
}

/// The number of the line that a byte is on.
pub(in crate::gate) fn line_at(text: &str, at: usize) -> u32 {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    u32::try_from(before.iter().filter(|b| **b == b'\n').count()).unwrap_or(u32::MAX - 1) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(text: &str, language: Language) -> String {
        Masked::new(text, language).code
    }

    #[test]
    fn comments_and_strings_are_blank_and_all_else_stands_where_it_stood() {
        for (language, text, code) in [
            (Language::Rust, "a // b\n/* c /* d */ e */ f", "a f"),
            (Language::Rust, "x('a', '\\'', \"b\\\"c\") y<'a>", "x(' ', ' ', \" \") y<'a>"),
            (Language::Python, "a = 'b' # c\n\"\"\"d\n'e\"\"\" f", "a = ' ' \" \" f"),
            (Language::JavaScript, "x = /[/'\"]/g; `a\nb` c", "x = / /g; ` ` c"),
            (Language::JavaScript, "a / b / c", "a / b / c"),
            (Language::Go, "`a // b` c // d", "` ` c"),
            (Language::Php, "a # b\n#[C] d", "a #[C] d"),
            (Language::Ruby, "=begin\nx\n=end\na # b", "a"),
            (Language::Python, "a = 'unfinished\nb", "a = ' b"),
        ] {
            let now = masked(text, language);
            assert_eq!(now.len(), text.len(), "{text}");
            assert_eq!(now.lines().count(), text.lines().count(), "{text}");
            assert_eq!(now.split_whitespace().collect::<Vec<_>>().join(" "), code, "{text}");
        }
        assert!(!masked("r#\"todo!()\"# c", Language::Rust).contains("todo"));
        let kept = Masked::with_strings("'''no'''\na = 'yes' # no\n", Language::Python).code;
        assert!(kept.contains("yes") && !kept.contains("no"), "{kept}");
    }

    #[test]
    fn a_block_knows_what_stands_before_it_and_around_it() {
        let code = "trait A {\n  fn b(&self) -> X { c() }\n}\n#[cfg(test)]\nmod tests { fn d() {} }\n";
        let all = blocks(code);
        let told: Vec<(&str, Option<usize>)> = all.iter().map(|block| (block.header.as_str(), block.parent)).collect();
        let expected =
            [("trait A", None), ("fn b(&self) -> X", Some(0)), ("#[cfg(test)]\nmod tests", None), ("fn d()", Some(2))];
        assert_eq!(told, expected);
        assert_eq!(code[all[1].from..all[1].to].trim(), "c()");
        assert!(blocks(&"{".repeat(10_000)).len() <= DEEPEST);
    }
}
