//! Bad days with a name, for those who want one without setting fourteen switches.

use super::bad_day::{BadDay, Switch};

/// A day with a name.
pub struct Preset {
    pub name: &'static str,
    pub about: &'static str,
    one_in: &'static [(Switch, u32)],
}

/// Bad enough that a short story meets it.
pub const PRESETS: &[Preset] = &[
    Preset { name: "loses-webhooks", about: "GitHub loses every third webhook", one_in: &[(Switch::Lost, 3)] },
    Preset {
        name: "late-and-twice",
        about: "Webhooks come late, twice and in any order",
        one_in: &[(Switch::Doubled, 3), (Switch::Reordered, 3), (Switch::Delayed, 5), (Switch::Lag, 8)],
    },
    Preset {
        name: "shaky-api",
        about: "The API fails, limits and forgets",
        one_in: &[
            (Switch::Refused, 12),
            (Switch::Broken, 16),
            (Switch::AnswerLost, 12),
            (Switch::SecondaryLimit, 20),
            (Switch::ExpiredToken, 24),
            (Switch::Conflict, 6),
        ],
    },
    Preset {
        name: "everything",
        about: "Everything at once",
        one_in: &[
            (Switch::Lost, 6),
            (Switch::Doubled, 6),
            (Switch::Reordered, 6),
            (Switch::Delayed, 9),
            (Switch::Refused, 30),
            (Switch::Broken, 40),
            (Switch::AnswerLost, 30),
            (Switch::AnswerBroken, 40),
            (Switch::PrimaryLimit, 60),
            (Switch::SecondaryLimit, 50),
            (Switch::SecondaryBare, 60),
            (Switch::ExpiredToken, 50),
            (Switch::Lag, 20),
            (Switch::Conflict, 8),
        ],
    },
];

impl BadDay {
    /// One of the [`PRESETS`], by its name.
    pub fn preset(name: &str, seed: u64) -> Option<Self> {
        let found = PRESETS.iter().find(|preset| preset.name == name)?;
        Some(Self { seed, one_in: found.one_in.iter().copied().collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preset_is_a_day_and_everything_is_everything() {
        for preset in PRESETS {
            let day = BadDay::preset(preset.name, 3).unwrap();
            assert!(day.seed == 3 && !day.one_in.is_empty(), "{}", preset.name);
        }
        assert_eq!(BadDay::preset("everything", 0).unwrap().one_in.len(), Switch::ALL.len());
        assert_eq!(BadDay::preset("fine", 0), None);
    }
}
