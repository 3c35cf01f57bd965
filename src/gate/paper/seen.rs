//! A text as people see it. What is judged is what they read, not what only a machine finds in the bytes.

use std::borrow::Cow;

/// Characters that turn the direction of writing. What stands behind them is seen in another order than it is read.
pub fn turns(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Characters that nobody sees, by Unicode's `Default_Ignorable_Code_Point`. Some of them count as letters.
#[rustfmt::skip]
fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// The letter or digit of the keyboard that a styled one is: `Ｔ`, `𝐓`, `𝟙`.
fn plain(c: char) -> char {
    let code = u32::from(c);
    let found = match code {
        0xff10..=0xff19 | 0xff21..=0xff3a | 0xff41..=0xff5a => char::from_u32(code - 0xfee0),
        // Thirteen alphabets, each of capitals and small letters; then five rows of digits.
        0x1d400..=0x1d6a3 => {
            let at = (code - 0x1d400) % 52;
            char::from_u32(if at < 26 { u32::from('A') + at } else { u32::from('a') + at - 26 })
        }
        0x1d7ce..=0x1d7ff => char::from_digit((code - 0x1d7ce) % 10, 10),
        _ => None,
    };
    found.unwrap_or(c)
}

/// A text without what nobody sees, and with plain letters for styled ones.
pub fn seen(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || !text.chars().any(|c| is_unseen(c) || plain(c) != c) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter(|c| !is_unseen(*c)).map(plain).collect())
}

/// The Latin letter that a Cyrillic or Greek one can't be told from.
#[rustfmt::skip]
fn latin(c: char) -> Option<char> {
    Some(match c {
        'А' | 'Α' => 'a', 'а' | 'α' => 'a', 'В' | 'Β' => 'b', 'С' | 'с' | 'Ϲ' | 'ϲ' => 'c', 'ԁ' => 'd',
        'Е' | 'е' | 'Ε' => 'e', 'Н' | 'һ' | 'Η' => 'h', 'І' | 'і' | 'Ι' | 'ι' => 'i', 'Ј' | 'ј' | 'ϳ' => 'j',
        'К' | 'к' | 'Κ' | 'κ' => 'k', 'ӏ' | 'Ӏ' => 'l', 'М' | 'Μ' => 'm', 'Ν' => 'n', 'О' | 'о' | 'Ο' | 'ο' => 'o',
        'Р' | 'р' | 'Ρ' | 'ρ' => 'p', 'ԛ' => 'q', 'Ѕ' | 'ѕ' => 's', 'Т' | 'Τ' | 'т' | 'τ' => 't', 'ν' => 'v',
        'ԝ' => 'w', 'Х' | 'х' | 'Χ' | 'χ' => 'x', 'У' | 'у' | 'Υ' => 'y', 'Ζ' => 'z',
        _ => return None,
    })
}

/// A word in small letters. Where letters of two alphabets make up one, it is the word that it looks like.
pub fn word(text: &str) -> String {
    let mixed = !text.is_ascii() && text.contains(|c: char| c.is_ascii_alphabetic());
    match mixed && text.contains(|c| latin(c).is_some()) {
        true => text.chars().map(|c| latin(c).unwrap_or(c)).collect::<String>().to_lowercase(),
        false => text.to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_sees_is_not_there() {
        assert_eq!(seen("T\u{200b}B\u{2060}D\u{ad}\u{feff}"), "TBD");
        assert_eq!(seen("\u{3164}\u{115f}\u{e0041}"), "", "letters that nobody sees");
        assert_eq!(seen("ＴＢＤ 𝐓𝐁𝐃 𝘁𝗯𝗱 𝟙０"), "TBD TBD tbd 10");
        assert!(matches!(seen("Grüße, 日本, 5 µs"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_word_of_two_alphabets_is_what_it_looks_like() {
        assert_eq!((word("ТВD"), word("Nоt"), word("τodo")), ("tbd".into(), "not".into(), "todo".into()));
        // A word of one alphabet is that word, and signs of measure are none of these letters.
        assert_eq!(
            (word("Тот"), word("μs"), word("kΩ"), word("Café")),
            ("тот".into(), "μs".into(), "kω".into(), "café".into())
        );
    }
}
