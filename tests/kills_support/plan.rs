//! Where to kill: which passages of which points, and which of them in one run of a story.

use std::collections::{BTreeMap, BTreeSet};

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

/// As many kills as fit into so many runs of each story, with one kill a step: every point first where it is passed least
/// often, then again in other steps, so that all get about the same.
pub(crate) fn some(passed: &Passed, runs: impl Fn(Story) -> usize, most: usize) -> Vec<Kill> {
    let points: BTreeSet<&String> = passed.values().flatten().flat_map(BTreeMap::keys).collect();
    let mut free: BTreeMap<(Story, usize), usize> = BTreeMap::new();
    let mut places: BTreeMap<&String, Vec<(Story, usize)>> = BTreeMap::new();
    for (story, steps) in passed {
        for (step, passed) in steps.iter().enumerate() {
            free.insert((*story, step), runs(*story));
            passed.keys().for_each(|point| places.entry(point).or_default().push((*story, step)));
        }
    }
    let mut order: Vec<&String> = points.into_iter().collect();
    order.sort_by_key(|point| places[point].len());
    let mut kills: Vec<Kill> = Vec::new();
    for round in 0..most {
        for point in &order {
            let used = |at: &(Story, usize)| {
                kills.iter().filter(|kill| (kill.story, kill.step) == *at && kill.point == **point).count()
            };
            let told = |story: Story| kills.iter().filter(|kill| kill.story == story && kill.point == **point).count();
            let open = places[point].iter().filter(|at| free[at] > 0 && (used(at) as u64) < passed[&at.0][at.1][*point]);
            // Where it was not killed yet, in a story where it was not, and where there is most room.
            let Some(at) = open.min_by_key(|at| (used(at), told(at.0), usize::MAX - free[at])).copied() else { continue };
            let (of, seed) = (passed[&at.0][at.1][*point], seed(point, round));
            let taken = |passage: &u64| {
                kills.iter().any(|kill| {
                    (kill.story, kill.step, kill.passage) == (at.0, at.1, *passage) && kill.point == **point
                })
            };
            let mut passages = (0..of).map(|n| 1 + (seed + n) % of);
            let Some(passage) = passages.find(|passage| !taken(passage)) else { continue };
            kills.push(Kill { story: at.0, step: at.1, point: (*point).clone(), passage });
            if let Some(free) = free.get_mut(&at) {
                *free -= 1;
            }
        }
    }
    kills
}

/// The same number for the same words.
pub(crate) fn seed(text: &str, round: usize) -> u64 {
    let mix = |seed: u64, byte: u8| (seed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().chain(round.to_le_bytes()).fold(0xcbf2_9ce4_8422_2325, mix) >> 20
}
