//! Where to kill: which passages of which points, and which of them in one run of a story.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::stories::Story;

/// One passage of one point, in one step of one story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kill {
    pub(crate) story: Story,
    pub(crate) step: usize,
    pub(crate) point: String,
    /// In this step; the first is 1.
    pub(crate) passage: u64,
}

impl fmt::Display for Kill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { story, step, point, passage } = self;
        write!(f, "{story:?} {step} {passage} {point}")
    }
}

impl FromStr for Kill {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("PHASEGATE_KILLS {text:?} is neither all nor alone nor STORY STEP PASSAGE POINT");
        let [story, step, passage, point] = text.splitn(4, ' ').collect::<Vec<_>>()[..] else { return Err(wrong()) };
        let story = Story::ALL.into_iter().find(|one| format!("{one:?}") == story).ok_or_else(wrong)?;
        let (step, passage) = (step.parse().map_err(|_| wrong())?, passage.parse().map_err(|_| wrong())?);
        Ok(Self { story, step, point: point.to_owned(), passage })
    }
}

/// How often each point was passed, in each step of each story.
pub(crate) type Passed = BTreeMap<Story, Vec<BTreeMap<String, u64>>>;

/// How often a point was passed in all.
pub(crate) fn passages(passed: &Passed, point: &str) -> u64 {
    passed.values().flatten().filter_map(|step| step.get(point)).sum()
}

/// Every passage, in the order of the stories and their steps.
pub(crate) fn every(passed: &Passed) -> Vec<Kill> {
    let mut kills = Vec::new();
    for (story, steps) in passed {
        for (step, points) in steps.iter().enumerate() {
            for (point, passages) in points {
                let kill = |passage| Kill { story: *story, step, point: point.clone(), passage };
                kills.extend((1..=*passages).map(kill));
            }
        }
    }
    kills
}

/// Runs of stories with one kill a step: each kill is another life's, and struck while something else was done.
pub(crate) fn together(kills: Vec<Kill>) -> Vec<Vec<Kill>> {
    let mut steps: BTreeMap<(Story, usize), Vec<Kill>> = BTreeMap::new();
    for kill in kills {
        steps.entry((kill.story, kill.step)).or_default().push(kill);
    }
    let mut runs: BTreeMap<(Story, usize), Vec<Kill>> = BTreeMap::new();
    for ((story, _), kills) in steps {
        for (run, kill) in kills.into_iter().enumerate() {
            runs.entry((story, run)).or_default().push(kill);
        }
    }
    runs.into_values().collect()
}

/// Where it did not survive once. These are always tried.
const FOUND: &[&str] = &[
    // What only the bot may write was changed by somebody, and that was noted twice.
    "Meddled 4 1 github.DELETE /repos/{owner}/{repo}/issues/{number}/labels/{label}.before",
    "Meddled 7 1 github.PATCH /repos/{owner}/{repo}/check-runs/{run}.before",
    "Meddled 9 1 ledger.commit.after",
    // It took the half of what it was about to write for somebody else's doing.
    "Expanded 7 1 github.DELETE /repos/{owner}/{repo}/issues/{number}/labels/{label}.after",
    // Whoever rests on a change was not told: the other pull request with its head, its merge group, the group's members.
    "Rivals 9 1 inbox.complete.before",
    "Queued 7 1 inbox.complete.before",
    "Queued 9 1 github.POST /repos/{owner}/{repo}/check-runs.before",
];

/// As many kills as fit into so many runs of each story, with one kill a step: first where it did not survive once, then
/// every point, those that are passed least often first, and again in other steps, so that all get about the same.
pub(crate) fn some(passed: &Passed, runs: usize, most: usize) -> Result<Vec<Kill>, String> {
    let mut free: BTreeMap<(Story, usize), usize> = BTreeMap::new();
    let mut places: BTreeMap<&String, Vec<(Story, usize)>> = BTreeMap::new();
    for (story, steps) in passed {
        for (step, passed) in steps.iter().enumerate() {
            free.insert((*story, step), runs);
            passed.keys().for_each(|point| places.entry(point).or_default().push((*story, step)));
        }
    }
    let mut kills = FOUND.iter().map(|kill| kill.parse()).collect::<Result<Vec<Kill>, String>>()?;
    for kill in &kills {
        let free = free.get_mut(&(kill.story, kill.step)).filter(|free| **free > 0);
        *free.ok_or_else(|| format!("there is no place for {kill}"))? -= 1;
    }
    let mut order: Vec<&String> = places.keys().copied().collect();
    order.sort_by_key(|point| places[point].len());
    for round in 0..most {
        for point in &order {
            let of = |at: &(Story, usize)| passed[&at.0][at.1][*point];
            let here = |at: &(Story, usize), kill: &Kill| (kill.story, kill.step) == *at && kill.point == **point;
            let used = |at: &(Story, usize)| kills.iter().filter(|kill| here(at, kill)).count() as u64;
            let told = |story: Story| kills.iter().filter(|kill| kill.story == story && kill.point == **point).count();
            let open = places[point].iter().filter(|at| free[at] > 0 && used(at) < of(at));
            // Where it was not killed yet, in a story where it was not, and where there is most room.
            let best = open.min_by_key(|at| (used(at), told(at.0), usize::MAX - free[at])).copied();
            let Some(at) = best else {
                // That there is no room for a second kill is no harm. A point without any has shown nothing.
                if !kills.iter().any(|kill| kill.point == **point) {
                    return Err(format!("there is no room for a kill at {point}: play more runs of each story"));
                }
                continue;
            };
            let seed = seed(point, round);
            let taken = |passage: &u64| kills.iter().any(|kill| here(&at, kill) && kill.passage == *passage);
            let Some(passage) = (0..of(&at)).map(|n| 1 + (seed + n) % of(&at)).find(|passage| !taken(passage)) else {
                continue;
            };
            kills.push(Kill { story: at.0, step: at.1, point: (*point).clone(), passage });
            *free.entry(at).or_default() -= 1;
        }
    }
    Ok(kills)
}

/// Every point that a story passes, once, in so many runs of it. A step has several kills, each in the life after that of the one
/// before; so they come in the order in which they are passed, for what is done is not done again.
pub(crate) fn each(story: Story, order: &[Vec<String>], runs: usize) -> Vec<Vec<Kill>> {
    let mut places: BTreeMap<&String, Vec<usize>> = BTreeMap::new();
    for (step, points) in order.iter().enumerate() {
        for point in points {
            let places = places.entry(point).or_default();
            if places.last() != Some(&step) {
                places.push(step);
            }
        }
    }
    // Whoever has the fewest steps to choose from chooses first.
    let mut points: Vec<_> = places.into_iter().collect();
    points.sort_by_key(|(_, places)| places.len());
    let mut steps: Vec<Vec<Kill>> = vec![Vec::new(); order.len()];
    for (point, places) in points {
        if let Some(step) = places.into_iter().min_by_key(|step| steps[*step].len()) {
            steps[step].push(Kill { story, step, point: point.clone(), passage: 1 });
        }
    }
    let mut kills = vec![Vec::new(); runs];
    for (step, mut here) in steps.into_iter().enumerate() {
        here.sort_by_key(|kill| order[step].iter().position(|point| *point == kill.point));
        // A point before a write and the one behind it are another run's.
        here.into_iter().enumerate().for_each(|(at, kill)| kills[at % runs].push(kill));
    }
    kills
}

/// One kill in every step of a story, at a seeded passage of a seeded point.
pub(crate) fn anywhere(story: Story, steps: &[BTreeMap<String, u64>], round: usize) -> Vec<Kill> {
    let kill = |(step, passed): (usize, &BTreeMap<String, u64>)| {
        let seed = seed(&format!("{story:?} {step}"), round);
        let (point, passages) = passed.iter().nth(usize::try_from(seed).ok()? % passed.len().max(1))?;
        Some(Kill { story, step, point: point.clone(), passage: 1 + seed / 7 % passages })
    };
    steps.iter().enumerate().filter_map(kill).collect()
}

/// The same number for the same words.
fn seed(text: &str, round: usize) -> u64 {
    let mix = |seed: u64, byte: u8| (seed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().chain(round.to_le_bytes()).fold(0xcbf2_9ce4_8422_2325, mix) >> 20
}
