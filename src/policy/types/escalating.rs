//! How people are asked about a stop.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How people are asked about a stop.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Escalating {
    /// After this time, and each such time more, a stop that nobody has answered is brought to mind, three times at most.
    pub remind: Remind,
    /// Whether the code owners of what the change touches are asked, too.
    pub code_owners: bool,
}

impl Escalating {
    /// A policy written before the key was there keeps its digest.
    pub(super) fn says_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// From `1m` to `720h` or `30d`, or `never`.
const MONTH: &str = "^(never|[1-9][0-9]{0,3}m|([1-9][0-9]?|[1-6][0-9]{2}|7[01][0-9]|720)h|([1-9]|[12][0-9]|30)d)$";

/// A time such as `90m`, `24h` or `3d`, up to 30 days, or `never`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("pattern" = MONTH))]
pub struct Remind(Option<u32>);

impl Remind {
    /// None when the text is not of that form, or too much.
    pub fn new(text: &str) -> Option<Self> {
        if text == "never" {
            return Some(Self(None));
        }
        let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let (unit, most) = match unit {
            "m" => (1, 9_999),
            "h" => (60, 720),
            "d" => (24 * 60, 30),
            _ => return None,
        };
        let plain = (1..=4).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit());
        let number: u32 = number.parse().ok().filter(|_| plain && !number.starts_with('0'))?;
        (number <= most).then_some(Self(Some(number * unit)))
    }

    /// How long; none: nobody is reminded.
    pub fn after(self) -> Option<jiff::SignedDuration> {
        self.0.map(|minutes| jiff::SignedDuration::from_mins(i64::from(minutes)))
    }
}

impl Default for Remind {
    fn default() -> Self {
        Self(Some(24 * 60))
    }
}

/// In hours where it is whole in them, so that `1d` and `24h` are one.
impl std::fmt::Display for Remind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            None => f.write_str("never"),
            Some(minutes) if minutes % 60 == 0 => write!(f, "{}h", minutes / 60),
            Some(minutes) => write!(f, "{minutes}m"),
        }
    }
}

impl TryFrom<String> for Remind {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Self::new(&text).ok_or_else(|| format!("{text:?} is neither a time such as 90m, 24h or 3d nor `never`"))
    }
}

impl From<Remind> for String {
    fn from(remind: Remind) -> String {
        remind.to_string()
    }
}
