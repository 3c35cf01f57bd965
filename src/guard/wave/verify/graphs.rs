//! Random histories, made with git, and verified: it is accepted exactly where the definition holds.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::super::git::Target;
use super::super::testing::{Yard, now};
use super::*;

/// A history: of each commit, the commits before it that it follows.
type History = Vec<Vec<usize>>;

fn history() -> impl Strategy<Value = History> {
    let parents = proptest::collection::vec(any::<prop::sample::Index>(), 0..3);
    proptest::collection::vec(parents, 2..10).prop_map(|drawn| {
        let of = |(nth, drawn): (usize, Vec<prop::sample::Index>)| -> Vec<usize> {
            let found: BTreeSet<usize> = drawn.iter().filter(|_| nth > 0).map(|one| one.index(nth)).collect();
            found.into_iter().rev().collect()
        };
        drawn.into_iter().enumerate().map(of).collect()
    })
}

/// A commit and all before it.
fn behind(history: &History, of: usize) -> BTreeSet<usize> {
    let mut all = BTreeSet::from([of]);
    let mut open = vec![of];
    while let Some(one) = open.pop() {
        open.extend(history[one].iter().filter(|parent| all.insert(**parent)));
    }
    all
}

/// The best common ancestors: those that no other is after.
fn bases(history: &History, one: usize, two: usize) -> Vec<usize> {
    let common: BTreeSet<usize> = behind(history, one).intersection(&behind(history, two)).copied().collect();
    let after = |it: usize| common.iter().any(|other| *other != it && behind(history, *other).contains(&it));
    common.iter().copied().filter(|it| !after(*it)).collect()
}

/// Whether the target has only merges of its own since the base, up to where this branch is: it has no commit of its own.
fn is_bare(history: &History, (base, main): (usize, usize), tip: usize) -> bool {
    let old = behind(history, base);
    let own = std::iter::successors(Some(main), |one| history[*one].first().copied());
    let own: Vec<usize> = own.take_while(|one| !old.contains(one)).collect();
    let at = own.iter().position(|one| *one == tip);
    at.is_some_and(|at| own[at..].iter().all(|one| history[*one].len() > 1))
}

#[derive(Debug, Clone)]
struct Drawn {
    /// Where the branch is.
    tip: Option<prop::sample::Index>,
    lease: u8,
    echo: u8,
    /// Another commit, for an echo or what was handed in.
    other: prop::sample::Index,
    digits: usize,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let tip = proptest::option::weighted(0.9, any::<prop::sample::Index>());
    (tip, 0_u8..6, 0_u8..8, any::<prop::sample::Index>(), 7_usize..=40)
        .prop_map(|(tip, lease, echo, other, digits)| Drawn { tip, lease, echo, other, digits })
}

/// The cells that were drawn, and what must be found of the row.
fn expected(
    history: &History,
    (base, main): (usize, usize),
    merging: bool,
    drawn: &Drawn,
) -> (usize, BTreeSet<(&'static str, bool)>) {
    let tip = drawn.tip.map(|tip| tip.index(history.len()));
    let other = drawn.other.index(history.len());
    let mut rules = BTreeSet::new();
    let done = drawn.lease == 3 || drawn.lease == 4;
    let handed = if drawn.lease == 3 { tip.unwrap_or(other) } else { other };
    // Of what was stopped, or was not handed in, nothing may have come in. About what is released somebody has decided.
    let came_in = |tip: usize| behind(history, main).contains(&tip) && !behind(history, base).contains(&tip);
    let empty = |tip: usize| drawn.lease != 2 && is_bare(history, (base, main), tip);
    if drawn.lease != 0 && !done && tip.is_some_and(|tip| came_in(tip) && !empty(tip)) {
        rules.insert((BYPASSED, true));
    }
    // Nobody works on it.
    if drawn.lease < 3 {
        return (handed, rules);
    }
    let mut look = true;
    match drawn.echo {
        0 => {
            rules.insert((UNVERIFIED, true));
            look = false;
        }
        1 => {
            rules.insert(if merging { (UNVERIFIED, true) } else { (PENDING, false) });
            look = false;
        }
        // From a pool: looked at before the merge-back, or once it is done.
        2 | 3 => look = merging || done,
        _ => {}
    }
    if (drawn.echo == 3 || drawn.echo == 4) && other != base {
        rules.insert((UNVERIFIED, true));
    }
    let subject = tip.or(Some(handed).filter(|_| done));
    if look && subject.is_none_or(|tip| bases(history, base, tip) != [base]) {
        rules.insert((UNVERIFIED, true));
    }
    if done && tip.is_some_and(|tip| tip != handed) {
        rules.insert((MISMATCH, true));
    }
    (handed, rules)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]
    #[test]
    fn it_is_accepted_exactly_where_the_definition_holds(
        history in history(),
        base: prop::sample::Index,
        main: prop::sample::Index,
        short in 7_usize..=40,
        merging: bool,
        rows in proptest::collection::vec(drawn(), 1..4),
    ) {
        let yard = Yard::new();
        let mut ids = Vec::new();
        for parents in &history {
            let parents: Vec<&CommitId> = parents.iter().map(|parent| &ids[*parent]).collect();
            let id = yard.commit(&parents, &[]);
            ids.push(id);
        }
        let (base, main) = (base.index(history.len()), main.index(history.len()));
        let begin = |commit: usize, digits: usize| ids[commit].as_str()[..digits].to_owned();
        let mut text = format!("wave: w status: {}\nbase: {}\n### Roster\n", if merging { "merging" } else { "live" }, begin(base, short));
        text.push_str("| task | worker | branch | lease | fork-base |\n|---|---|---|---|---|\n");
        let mut wanted = Vec::new();
        for (nth, drawn) in rows.iter().enumerate() {
            let (handed, rules) = expected(&history, (base, main), merging, drawn);
            wanted.push(rules);
            if let Some(tip) = drawn.tip {
                yard.point(&format!("b{nth}"), &ids[tip.index(history.len())]);
            }
            let lease = match drawn.lease {
                0 => "released".to_owned(),
                1 => "1h since 2026-03-01T09:00:00Z".to_owned(),
                2 => "stopped ESCALATE".to_owned(),
                3 | 4 => format!("done {}", begin(handed, drawn.digits)),
                _ => "until 2026-03-01T12:00:00Z".to_owned(),
            };
            let other = begin(drawn.other.index(history.len()), drawn.digits);
            let echo = match drawn.echo {
                0 => "-".to_owned(),
                1 => "pending".to_owned(),
                2 => format!("step-0 {}", begin(base, drawn.digits)),
                3 => format!("step-0 {other}"),
                4 => other,
                _ => begin(base, drawn.digits),
            };
            text.push_str(&format!("| t{nth} | w{nth} | b{nth} | {lease} | {echo} |\n"));
        }
        let ledger = super::super::ledger::read(text.as_bytes()).unwrap();
        let target = Target { name: "main".to_owned(), tip: ids[main].clone() };
        let facts = Facts::gather(&yard.reader(), &ledger, target);
        let found = verify(Hold::ByStatus, "WAVE.md", &ledger, &facts, now());
        let based = !found.iter().any(|one| one.row.is_none() && one.finding.blocks());
        prop_assert_eq!(based, behind(&history, main).contains(&base), "{}", text);
        for (nth, mut wanted) in wanted.into_iter().enumerate() {
            // Where the branch is was merged in place of what was handed in, and that is told instead.
            if found.iter().any(|one| one.row == Some(nth) && one.finding.says.contains("which nobody has handed in")) {
                wanted.remove(&(MISMATCH, true));
            }
            let wanted = &wanted;
            // That two came in at once is told of rows that are done, by other tests.
            let done = matches!(ledger.rows[nth].lease, Lease::Done(_));
            // Nor is it of a row that was stopped and came in by a part of its work.
            let stopped = matches!(ledger.rows[nth].lease, Lease::Stopped(_)) && !wanted.contains(&(BYPASSED, true));
            let of_row = found.iter().filter(|one| one.row == Some(nth));
            let of_row = of_row.filter(|one| !((done || stopped) && one.finding.rule == BYPASSED));
            let of_row = of_row.filter(|one| one.finding.rule != MISMATCH || wanted.contains(&(MISMATCH, true)));
            let rules: BTreeSet<(&str, bool)> = of_row.map(|one| (one.finding.rule.as_str(), one.finding.blocks())).collect();
            prop_assert_eq!(&rules, wanted, "row {} of\n{}\n{:?}", nth, text, history);
        }
    }
}
