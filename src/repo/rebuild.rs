//! A commit put together again from what an API tells of it.
//!
//! What is told are the parts: times without their zone, a message that may have lost the line break at its end, a
//! signature apart from what it signs. But a commit's id is the hash of its bytes. So the ways in which these parts can
//! have been put together are tried until one has that hash. Which parts were told wrongly does not matter then; and
//! where none has it, there is no commit, rather than one that is nearly so.

use std::sync::LazyLock;

use git2::{ObjectType, Oid};

use super::remote::{Hand, Sealed, Told};

/// So many are tried with all the zones there are, in one fetch: two seconds of one core. Who writes commits that can't
/// be put together gets no more of it than that.
const MOST_TRIES: u32 = 200_000;

/// So many pairs of zones that fitted are tried first: a project has few.
const REMEMBERED: usize = 16;

/// What may have been taken off the end of a message. Most have one line break.
const ENDINGS: [&str; 3] = ["\n", "", "\n\n"];

/// Every zone that a clock was ever set to, in quarters of an hour, and the one of those who have none.
static ZONES: LazyLock<Vec<String>> =
    LazyLock::new(|| (-48..=56).map(|quarter| zone(quarter * 15)).chain(["-0000".to_owned()]).collect());

/// Those that a program can make up: by the minute.
static ODD_ZONES: LazyLock<Vec<String>> = LazyLock::new(|| (-14 * 60..=14 * 60).map(zone).collect());

/// What has been spent and learnt in one fetch.
#[derive(Debug)]
pub(super) struct Tries {
    left: u32,
    fitted: Vec<(String, String)>,
}

impl Default for Tries {
    fn default() -> Self {
        Self { left: MOST_TRIES, fitted: Vec::new() }
    }
}

impl Tries {
    fn fits(&mut self, zones: (&str, &str)) {
        let zones = (zones.0.to_owned(), zones.1.to_owned());
        self.fitted.retain(|known| *known != zones);
        self.fitted.insert(0, zones);
        self.fitted.truncate(REMEMBERED);
    }
}

fn zone(minutes: i32) -> String {
    let sign = if minutes < 0 { '-' } else { '+' };
    format!("{sign}{:02}{:02}", minutes.abs() / 60, minutes.abs() % 60)
}

/// The bytes of the commit with this id. None: what is told does not add up to it.
pub(super) fn rebuild(told: &Told, tries: &mut Tries) -> Option<Vec<u8>> {
    let id = Oid::from_str(told.id.as_str()).ok()?;
    let fits = |bytes: &[u8]| Oid::hash_object(ObjectType::Commit, bytes).is_ok_and(|hash| hash == id);
    if let Some(sealed) = &told.sealed
        && let Some(bytes) = signed(sealed, fits)
    {
        return Some(bytes);
    }
    unsigned(told, tries, fits)
}

/// What was signed with the signature in its place: the last header where git writes it, elsewhere an earlier one.
fn signed(sealed: &Sealed, fits: impl Fn(&[u8]) -> bool) -> Option<Vec<u8>> {
    let Sealed { payload, signature } = sealed;
    let signature = signature.trim_end_matches('\n').replace('\n', "\n ");
    for ending in ["", "\n"] {
        let payload = format!("{payload}{ending}");
        let end = payload.find("\n\n").map_or(payload.len(), |at| at + 1);
        let places: Vec<usize> = payload[..end].match_indices('\n').map(|(at, _)| at + 1).collect();
        // Some signatures end in an empty line, and that is in the commit.
        for blank in ["\n", "\n \n", "\n \n \n"] {
            for place in places.iter().rev() {
                let (before, after) = payload.split_at(*place);
                let bytes = format!("{before}gpgsig {signature}{blank}{after}").into_bytes();
                if fits(&bytes) {
                    return Some(bytes);
                }
            }
        }
    }
    None
}

fn unsigned(told: &Told, tries: &mut Tries, fits: impl Fn(&[u8]) -> bool) -> Option<Vec<u8>> {
    let mut head = format!("tree {}\n", told.tree);
    for parent in &told.parents {
        head.push_str(&format!("parent {parent}\n"));
    }
    let hand = |hand: &Hand| format!("{} <{}> {}", hand.name, hand.email, hand.at);
    let (author, committer) = (hand(&told.author), hand(&told.committer));
    let with = |zones: (&str, &str)| {
        ENDINGS.iter().find_map(|ending| {
            let (by, put) = zones;
            let text = format!("{head}author {author} {by}\ncommitter {committer} {put}\n\n{}{ending}", told.message);
            Some(text.into_bytes()).filter(|bytes| fits(bytes))
        })
    };
    let said = (told.author.zone.unwrap_or_default(), told.committer.zone.unwrap_or_default());
    let said = (zone(said.0), zone(said.1));
    let likely: Vec<(String, String)> = tries.fitted.iter().cloned().chain([said]).collect();
    let likely = likely.iter().map(|(by, put)| (by.as_str(), put.as_str()));
    // Who wrote it has put it there, in most cases; otherwise somebody elsewhere, or in another season.
    let same = ZONES.iter().map(|zone| (zone.as_str(), zone.as_str()));
    let pairs = ZONES.iter().flat_map(|by| ZONES.iter().map(move |put| (by.as_str(), put.as_str())));
    let odd = ODD_ZONES.iter().map(|zone| (zone.as_str(), zone.as_str()));
    let mut found = likely.chain(same).find_map(|zones| with(zones).map(|bytes| (zones, bytes)));
    if found.is_none() {
        found = odd
            .chain(pairs)
            .map_while(|zones| {
                tries.left = tries.left.checked_sub(1)?;
                Some(zones)
            })
            .find_map(|zones| with(zones).map(|bytes| (zones, bytes)));
    }
    let ((by, put), bytes) = found?;
    tries.fits((by, put));
    Some(bytes)
}
