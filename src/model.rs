//! For tests: explores a model to its end, and holds what was found against `docs/model.md`.
//!
//! The models themselves are beside what they explore: [`flow::pipeline`](crate::flow::pipeline) and
//! [`engine`](crate::engine).

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use stateright::{Checker, Expectation, Model};

/// Every step that was explored, from which state to which, and whether honest work of an agent and the bot would take
/// it. The checker keeps the states, not the steps between them.
#[derive(Default)]
pub(crate) struct Graph(Mutex<Vec<(u64, u64, bool)>>);

pub(crate) fn print_of(state: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    state.hash(&mut hasher);
    hasher.finish()
}

impl Graph {
    pub(crate) fn note(&self, from: u64, to: u64, honest: bool) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((from, to, honest));
    }

    /// The states from which no way leads to one of these.
    pub(crate) fn stuck(&self, goals: &HashSet<u64>, only_honest: bool) -> HashSet<u64> {
        let steps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut into: HashMap<u64, Vec<u64>> = HashMap::new();
        let mut all: HashSet<u64> = HashSet::new();
        for (from, to, honest) in steps.iter() {
            all.extend([*from, *to]);
            if *honest || !only_honest {
                into.entry(*to).or_default().push(*from);
            }
        }
        let mut left: VecDeque<u64> = goals.iter().copied().collect();
        let mut good = goals.clone();
        while let Some(state) = left.pop_front() {
            for from in into.get(&state).into_iter().flatten() {
                if good.insert(*from) {
                    left.push_back(*from);
                }
            }
        }
        all.difference(&good).copied().collect()
    }
}

/// Fails with the name of each property that does not hold, and how it came to that.
pub(crate) fn holds<M>(model: &str, checker: &impl Checker<M>) -> Vec<String>
where
    M: Model,
    M::State: Clone + Debug + Hash + PartialEq,
    M::Action: Clone + Debug + PartialEq,
{
    let mut failed = Vec::new();
    for property in checker.model().properties() {
        let found = checker.discovery(property.name);
        match (property.expectation, found) {
            (Expectation::Sometimes, None) => {
                failed.push(format!("FAILS `{}` ({model}): it never happens", property.name))
            }
            (Expectation::Always | Expectation::Eventually, Some(path)) => {
                let last = format!("{:?}", path.last_state());
                let steps: Vec<String> = path.into_actions().iter().map(|action| format!("{action:?}")).collect();
                failed.push(format!("FAILS `{}` ({model}): {}\n  it ends at {last}", property.name, steps.join(" → ")));
            }
            _ => {}
        }
    }
    failed
}

/// What `docs/model.md` says of this model: how many different states, how many steps led to them (with the first ones
/// and those to a state that was known), and how many states are on the longest way.
pub(crate) fn documented<M>(model: &str, checker: &impl Checker<M>) -> Option<String>
where
    M: Model,
    M::State: Clone + Debug + Hash + PartialEq,
    M::Action: Clone + Debug + PartialEq,
{
    let counted = [checker.unique_state_count(), checker.state_count(), checker.max_depth()];
    let paper = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/model.md");
    let paper = std::fs::read_to_string(paper).unwrap_or_default();
    let start = format!("| {model} |");
    let row = paper.lines().find(|line| line.starts_with(&start)).unwrap_or_default();
    let cells: Vec<String> = row.split('|').map(|cell| cell.trim().replace(',', "")).collect();
    let said = cells.len() >= 5 && cells[cells.len() - 4..cells.len() - 1] == counted.map(|count| count.to_string());
    let [states, steps, depth] = counted;
    (!said).then(|| {
        format!(
            "docs/model.md has another count for `{model}`: it is {states} states, {steps} steps, depth {depth}; \
             it says {row:?}"
        )
    })
}
