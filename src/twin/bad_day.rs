//! A bad day: what GitHub does to an App when it is not well, switch by switch.
//!
//! Every switch strikes once in so many occasions, by a generator of its own, so that a seed tells what kind of day it
//! was. (Not which request was hit: several are under way at once.) What strikes a request is an [`Effect`] like those
//! that [`Admin::inject`](super::Admin::inject) plays; deliveries are lost, doubled or held back where they are handed
//! to the couriers. Only an App's own requests and deliveries are struck: people have a calm day.

use std::collections::{BTreeMap, BTreeSet};

use git2::Oid;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::auth::Actor;
use super::git::Change;
use super::model::*;
use super::reply::Problem;
use super::route::Request;
use super::rules::Move;
use super::state::{Effect, State};

/// What can go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Switch {
    /// A delivery fails. It is listed as failed, and nobody sends it again by itself.
    Lost,
    /// A delivery comes twice, under one guid.
    Doubled,
    /// A delivery comes after one to three that happened later.
    Reordered,
    /// A delivery comes after ten that happened later, or when it is let go.
    Delayed,
    /// 500, 502 or 503, and nothing was done.
    Refused,
    /// The connection breaks, and nothing was done.
    Broken,
    /// The write is done, and the answer is 500, 502 or 503.
    AnswerLost,
    /// The write is done, and the connection breaks.
    AnswerBroken,
    /// The hour's calls are used up, 403 or 429; it resets in twenty seconds.
    PrimaryLimit,
    /// The secondary limit, 403 or 429, with `retry-after`.
    SecondaryLimit,
    /// The secondary limit, 403 or 429, which says only so.
    SecondaryBare,
    /// A token that was good is refused, from then on.
    ExpiredToken,
    /// One to three reads after a write come from a replica that has not heard of it.
    Lag,
    /// Another writer was faster: on a branch, with a ref, with a label; or git's own data is being written (409).
    Conflict,
}

impl Switch {
    pub const ALL: [Self; 14] = [
        Self::Lost,
        Self::Doubled,
        Self::Reordered,
        Self::Delayed,
        Self::Refused,
        Self::Broken,
        Self::AnswerLost,
        Self::AnswerBroken,
        Self::PrimaryLimit,
        Self::SecondaryLimit,
        Self::SecondaryBare,
        Self::ExpiredToken,
        Self::Lag,
        Self::Conflict,
    ];

    /// As it is written in JSON and in forms.
    pub fn name(self) -> String {
        serde_json::to_value(self).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
    }

    /// What happens when it strikes once, for people.
    pub fn says(self) -> &'static str {
        match self {
            Self::Lost => "webhook lost",
            Self::Doubled => "webhook sent twice",
            Self::Reordered => "webhook out of order",
            Self::Delayed => "webhook late",
            Self::Refused => "request refused",
            Self::Broken => "connection broken",
            Self::AnswerLost => "answer lost after the write",
            Self::AnswerBroken => "connection broken after the write",
            Self::PrimaryLimit => "hour used up",
            Self::SecondaryLimit => "secondary limit",
            Self::SecondaryBare => "secondary limit without a time",
            Self::ExpiredToken => "token expired early",
            Self::Lag => "read of an old replica",
            Self::Conflict => "faster rival",
        }
    }
}

/// Which switches are on, and how often each strikes: once in so many.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BadDay {
    pub seed: u64,
    pub one_in: BTreeMap<Switch, u32>,
}

impl BadDay {
    /// A day on which one thing goes wrong.
    pub fn only(seed: u64, switch: Switch, one_in: u32) -> Self {
        Self { seed, one_in: BTreeMap::from([(switch, one_in)]) }
    }

    /// A day on which about half of everything goes wrong, as the seed has it.
    pub fn mixed(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let mut one_in = BTreeMap::new();
        for switch in Switch::ALL {
            let (on, rare) = (dice.below(2) == 0, dice.below(40));
            // Deliveries are fewer than requests.
            let often = if switch <= Switch::Delayed { 6 } else { 40 };
            if on {
                one_in.insert(switch, often + u32::try_from(rare).unwrap_or_default());
            }
        }
        Self { seed, one_in }
    }
}

/// SplitMix64: one number of state, and the same everywhere.
#[derive(Debug, Clone)]
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.roll() % n.max(1)
    }

    fn one_of<T: Copy>(&mut self, all: [T; 3]) -> T {
        all[usize::try_from(self.below(3)).unwrap_or_default()]
    }
}

/// The day as it goes.
pub(crate) struct Weather {
    day: BadDay,
    dice: Dice,
    struck: BTreeMap<Switch, u64>,
    /// Deliveries on their way, each with how many are to overtake it.
    held: Vec<(u32, Delivery)>,
    /// What a replica still believes, and for how many reads.
    behind: Option<(u64, Replica)>,
    rivals: u64,
}

/// Everything about the repositories before a write.
pub(crate) struct Replica {
    repos: BTreeMap<u64, Repo>,
    refs: BTreeMap<u64, Refs>,
}

type Refs = BTreeMap<String, Oid>;

/// What becomes of a delivery.
enum Fate {
    Sent,
    Lost,
    Doubled,
    Held(u32),
}

/// A request, as far as it matters to what may strike it.
pub(crate) struct Asked<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) is_write: bool,
    pub(crate) actor: Option<&'a Actor>,
    pub(crate) body: &'a Value,
}

impl Asked<'_> {
    fn makes_a_label(&self) -> bool {
        self.method == "POST"
            && self.path.starts_with("/repos/")
            && self.path.split('/').count() == 5
            && self.path.ends_with("/labels")
    }

    fn makes_a_ref(&self) -> bool {
        self.method == "POST" && self.path.ends_with("/git/refs")
    }

    fn may_meet_a_rival(&self) -> bool {
        self.makes_a_label() || self.makes_a_ref() || (self.path == "/graphql" && self.is_write)
    }

    fn writes_git_data(&self) -> bool {
        self.is_write && self.path.contains("/git/")
    }
}

impl Weather {
    pub(crate) fn new(day: BadDay) -> Self {
        let dice = Dice(day.seed);
        Self { day, dice, struck: BTreeMap::new(), held: Vec::new(), behind: None, rivals: 0 }
    }

    pub(crate) fn struck(&self) -> BTreeMap<Switch, u64> {
        self.struck.clone()
    }

    pub(crate) fn day(&self) -> &BadDay {
        &self.day
    }

    fn strikes(&mut self, switch: Switch) -> bool {
        let Some(one_in) = self.day.one_in.get(&switch).copied() else { return false };
        let hit = self.dice.below(u64::from(one_in)) == 0;
        if hit {
            *self.struck.entry(switch).or_default() += 1;
        }
        hit
    }

    /// What strikes this request.
    pub(crate) fn effect(&mut self, asked: &Asked<'_>) -> Option<Effect> {
        use Switch as S;
        let actor = asked.actor.filter(|actor| actor.app().is_some_and(|app| app != ACTIONS_APP))?;
        let installed = matches!(actor, Actor::Installation { .. });
        if !asked.is_write
            && installed
            && let Some((left, _)) = &mut self.behind
            && *left > 0
        {
            *left -= 1;
            *self.struck.entry(S::Lag).or_default() += 1;
            return Some(Effect::Lag);
        }
        let failed = self.dice.one_of([500, 502, 503]);
        let limited = self.dice.one_of([403, 429, 403]);
        if self.strikes(S::Refused) {
            return Some(Effect::Refuse(failed));
        }
        if self.strikes(S::Broken) {
            return Some(Effect::Break);
        }
        if asked.is_write && self.strikes(S::AnswerLost) {
            return Some(Effect::Lose(failed));
        }
        if asked.is_write && self.strikes(S::AnswerBroken) {
            return Some(Effect::Hang);
        }
        if self.strikes(S::PrimaryLimit) {
            return Some(Effect::Primary { status: limited });
        }
        if self.strikes(S::SecondaryLimit) {
            return Some(Effect::Secondary { status: limited, retry_after: Some(1 + self.dice.below(30)) });
        }
        if self.strikes(S::SecondaryBare) {
            return Some(Effect::Secondary { status: limited, retry_after: None });
        }
        if installed && self.strikes(S::ExpiredToken) {
            return Some(Effect::Expire);
        }
        if (asked.may_meet_a_rival() || asked.writes_git_data()) && self.strikes(S::Conflict) {
            let is_busy = asked.writes_git_data() && (!asked.may_meet_a_rival() || self.dice.below(2) == 0);
            return Some(if is_busy { Effect::Refuse(409) } else { Effect::Rival });
        }
        None
    }

    fn fate(&mut self) -> Fate {
        if self.strikes(Switch::Lost) {
            Fate::Lost
        } else if self.strikes(Switch::Doubled) {
            Fate::Doubled
        } else if self.strikes(Switch::Reordered) {
            Fate::Held(1 + u32::try_from(self.dice.below(3)).unwrap_or_default())
        } else if self.strikes(Switch::Delayed) {
            Fate::Held(10)
        } else {
            Fate::Sent
        }
    }

    /// Those that enough others have overtaken.
    fn overtaken(&mut self) -> Vec<Delivery> {
        self.held.iter_mut().for_each(|(left, _)| *left = left.saturating_sub(1));
        let (due, held) = std::mem::take(&mut self.held).into_iter().partition(|(left, _)| *left == 0);
        self.held = held;
        Vec::into_iter(due).map(|(_, delivery)| delivery).collect()
    }

    pub(crate) fn let_go(&mut self) -> Vec<Delivery> {
        std::mem::take(&mut self.held).into_iter().map(|(_, delivery)| delivery).collect()
    }
}

impl State {
    /// Hands a delivery to its courier, as well as the day lets it.
    pub(crate) fn hand_over(&mut self, delivery: Delivery) {
        let Some(weather) = &mut self.weather else { return self.send_off(delivery) };
        let overtaken = weather.overtaken();
        match weather.fate() {
            Fate::Sent => self.send_off(delivery),
            Fate::Held(by) => weather.held.push((by, delivery)),
            Fate::Lost => {
                let outcome = Outcome {
                    status_code: 504,
                    status: "Gateway Timeout".into(),
                    duration: 10.0,
                    request_headers: json!({}),
                    response_headers: json!({}),
                    response_body: String::new(),
                };
                self.deliveries.insert(delivery.id, Delivery { outcome: Some(outcome), ..delivery });
            }
            Fate::Doubled => {
                let twin = Delivery { id: self.new_id(), ..delivery.clone() };
                self.send_off(delivery);
                self.send_off(twin);
            }
        }
        overtaken.into_iter().for_each(|delivery| self.send_off(delivery));
    }

    /// Sends what is held back. Says how many there were.
    pub(crate) fn release(&mut self) -> usize {
        let held = self.weather.as_mut().map(Weather::let_go).unwrap_or_default();
        let count = held.len();
        held.into_iter().for_each(|delivery| self.send_off(delivery));
        count
    }

    /// Begins a day, which ends another.
    pub(crate) fn begin_day(&mut self, day: BadDay) {
        self.calm();
        self.past_day = None;
        self.weather = Some(Weather::new(day));
    }

    /// Ends the day.
    pub(crate) fn calm(&mut self) -> BTreeMap<Switch, u64> {
        self.release();
        let Some(weather) = self.weather.take() else { return BTreeMap::new() };
        self.past_day = Some(weather.struck.clone());
        weather.struck
    }

    fn send_off(&mut self, delivery: Delivery) {
        let (app, id) = (delivery.app, delivery.id);
        let delivered_at = self.now();
        self.deliveries.insert(id, Delivery { delivered_at, ..delivery });
        self.post.send(app, id);
    }

    /// Called before every write, anybody's: a replica may not hear of it at once.
    pub(crate) fn about_to_write(&mut self) {
        let lags = self.weather.as_ref().is_some_and(|weather| weather.day.one_in.contains_key(&Switch::Lag));
        if !lags {
            return;
        }
        let replica = Replica { repos: self.repos.clone(), refs: self.all_refs() };
        let Some(weather) = &mut self.weather else { return };
        let one_in = weather.day.one_in.get(&Switch::Lag).copied().unwrap_or(1);
        if weather.dice.below(u64::from(one_in)) == 0 {
            let reads = 1 + weather.dice.below(3);
            weather.behind = Some((reads, replica));
        }
    }

    fn all_refs(&self) -> BTreeMap<u64, Refs> {
        let refs = |repo: &u64| -> Option<Refs> {
            let git = self.git(*repo).ok()?;
            let all = git.0.references().ok()?;
            let named = all.flatten().filter_map(|one| Some((one.name().ok()?.to_owned(), one.target()?)));
            Some(named.collect())
        };
        self.repos.keys().filter_map(|repo| Some((*repo, refs(repo)?))).collect()
    }

    /// Answers as a replica that is behind would. All of it happens under the lock, so nobody sees it otherwise.
    pub(crate) fn as_if_behind<T>(&mut self, answer: impl FnOnce(&mut Self) -> T) -> T {
        let Some((left, replica)) = self.weather.as_mut().and_then(|weather| weather.behind.take()) else {
            return answer(self);
        };
        let now = self.all_refs();
        let Replica { repos, refs } = replica;
        let repos_now = std::mem::replace(&mut self.repos, repos);
        self.turn_refs(&now, &refs);
        let answered = answer(self);
        self.turn_refs(&refs, &now);
        let repos = std::mem::replace(&mut self.repos, repos_now);
        if let Some(weather) = &mut self.weather {
            weather.behind = Some((left, Replica { repos, refs }));
        }
        answered
    }

    fn turn_refs(&self, from: &BTreeMap<u64, Refs>, to: &BTreeMap<u64, Refs>) {
        for (repo, to) in to {
            let (Ok(git), Some(from)) = (self.git(*repo), from.get(repo)) else { continue };
            let names: BTreeSet<&String> = from.keys().chain(to.keys()).collect();
            for name in names.into_iter().filter(|name| from.get(*name) != to.get(*name)) {
                let turned = match to.get(name) {
                    Some(target) => git.set_ref(name, *target),
                    None => git.delete_ref(name),
                };
                if let Err(error) = turned {
                    tracing::error!(%error, name, "a replica's ref can't be turned");
                }
            }
        }
    }

    /// Another writer, with the same rights, is faster.
    pub(crate) fn rival_wins(&mut self, actor: &Actor, asked: &Asked<'_>) -> Result<(), Problem> {
        if asked.makes_a_label() {
            let Asked { method, path, body, .. } = *asked;
            let request = Request { method, path, query: "", accept: "", body: body.clone() };
            return self.answer(actor.clone(), request).map(drop);
        }
        let by = actor.account()?;
        let (slug, refname) = if asked.makes_a_ref() {
            let slug = asked.path.trim_start_matches("/repos/").trim_end_matches("/git/refs").to_owned();
            (slug, asked.body["ref"].as_str().unwrap_or_default().to_owned())
        } else {
            let find = |name| found(asked.body, name).and_then(Value::as_str).unwrap_or_default().to_owned();
            (find("repositoryNameWithOwner"), format!("refs/heads/{}", find("branchName")))
        };
        let (owner, name) = slug.split_once('/').ok_or_else(Problem::not_found)?;
        let repo = self.repo_id(owner, name).ok_or_else(Problem::not_found)?;
        let git = self.git(repo)?;
        let old = git.reference(&refname);
        if old.is_none() && !asked.makes_a_ref() {
            return Ok(());
        }
        let rivals = self.weather.as_mut().map_or(0, |weather| {
            weather.rivals += 1;
            weather.rivals
        });
        let change: Change = (format!("rivals/{rivals}"), Some(format!("{rivals}\n").into_bytes()));
        let base = old.map(|old| git.tree_of(old)).transpose()?;
        let tree = git.tree_with(base, &[change])?;
        let identity = (by.login.as_str(), "rival@example.com");
        let parents: Vec<Oid> = old.into_iter().collect();
        let new = git.commit(tree, &parents, "a rival's record", identity, identity)?;
        self.move_ref(repo, &refname, Move { old, new: Some(new) }, &by)
    }
}

/// The first field of this name, however deep.
fn found<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    match value {
        Value::Object(fields) => fields.get(name).or_else(|| fields.values().find_map(|inner| found(inner, name))),
        Value::Array(items) => items.iter().find_map(|inner| found(inner, name)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_day() {
        assert_eq!(BadDay::mixed(7), BadDay::mixed(7));
        assert_ne!(BadDay::mixed(7), BadDay::mixed(8));
        let text = serde_json::to_string(&BadDay::only(3, Switch::AnswerLost, 9)).unwrap();
        assert_eq!(text, r#"{"seed":3,"one_in":{"answer_lost":9}}"#);
        assert_eq!(serde_json::from_str::<BadDay>(&text).unwrap(), BadDay::only(3, Switch::AnswerLost, 9));
        // Every switch is on in some of the first days.
        let on: BTreeSet<Switch> = (0..12).flat_map(|seed| BadDay::mixed(seed).one_in.into_keys()).collect();
        assert_eq!(on.len(), Switch::ALL.len());
    }

    #[test]
    fn a_conflict_is_a_rival_or_data_that_is_being_written() {
        let actor = Actor::App { app: 7, slug: "phasegate".to_owned() };
        let mut weather = Weather::new(BadDay::only(1, Switch::Conflict, 1));
        let mut met = |path: &str| {
            let (actor, body) = (Some(&actor), &Value::Null);
            weather.effect(&Asked { method: "POST", path, is_write: true, actor, body })
        };
        assert!(matches!(met("/repos/o/r/git/trees"), Some(Effect::Refuse(409))));
        assert!(matches!(met("/repos/o/r/labels"), Some(Effect::Rival)));
        let refs: Vec<Option<Effect>> = (0..20).map(|_| met("/repos/o/r/git/refs")).collect();
        assert!(refs.iter().any(|one| matches!(one, Some(Effect::Refuse(409)))), "sometimes this");
        assert!(refs.iter().any(|one| matches!(one, Some(Effect::Rival))), "and sometimes that");
        assert!(met("/repos/o/r/issues/1/comments").is_none());
    }

    #[test]
    fn the_dice_are_splitmix64() {
        // The first numbers for the seed 1234567, as the generator's authors give them.
        let mut dice = Dice(1_234_567);
        assert_eq!([dice.roll(), dice.roll()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }
}
