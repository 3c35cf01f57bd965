//! The same commands on other content, to see whether a green was earned.

use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::frozen;
use super::ground::{Ground, Machine, NoFolder};
use super::show::Live;
use crate::guard::{Manifest, set};
use crate::ids::CommitId;
use crate::policy::{Earned as Wanted, Policy, Runs};
use crate::repo::{Filter, Laid, LocalRepo, Reader as _, RepoPath};
use crate::runner::artefact::Subject;
use crate::runner::earned::{self, Among, Asked, Earned, Frozen, Looks, Sides, Tried};
use crate::runner::{self, Carried, Orphans, Plan, Watcher as _};

/// More files of tests than this are not tried one by one.
const MOST_BY_THEMSELVES: usize = 10;

pub(super) struct Beside<'a> {
    repo: &'a LocalRepo,
    /// The folder that they were asked for in.
    asked: &'a Path,
    runs: &'a Runs<'a>,
    machine: &'a Machine,
    base: CommitId,
    head: CommitId,
    sides: Sides,
    /// A later commit of where it goes: where the policy was read, or the branch's tip.
    later: Option<(CommitId, Sides)>,
    /// What is taken away from the head so that what is frozen is asked by itself.
    later_than_frozen: Vec<Laid>,
    /// Why there is nothing to hold it against.
    apart: Option<String>,
}

impl<'a> Beside<'a> {
    /// What there is to be held against; none where nobody asks for it, or where there is no base.
    pub(super) fn of(
        repo: &'a LocalRepo,
        asked: &'a Path,
        subject: &Subject,
        (law, read, frozen): (&Policy, Option<&CommitId>, Option<&Manifest>),
        runs: &'a Runs<'a>,
        machine: &'a Machine,
    ) -> anyhow::Result<Option<Self>> {
        if runs.earned == Wanted::Off || runs.reports.is_empty() {
            return Ok(None);
        }
        let (Some(tip), Some(head)) = (subject.base.clone(), subject.head.clone()) else { return Ok(None) };
        if repo.revision(tip.as_str())?.is_none() || repo.revision(head.as_str())?.is_none() {
            return Ok(None);
        }
        let base = match repo.merge_base(&tip, &head) {
            Ok(Some(base)) => base,
            // It says nothing about a head that has nothing in common with it, or that is held crosswise.
            Ok(None) | Err(_) => {
                let apart =
                    Some("head and base have several commits in common that neither comes after, or none".to_owned());
                let sides = Sides::default();
                let (base, later, later_than_frozen) = (tip, None, Vec::new());
                return Ok(Some(Self {
                    repo,
                    asked,
                    runs,
                    machine,
                    base,
                    head,
                    sides,
                    later,
                    later_than_frozen,
                    apart,
                }));
            }
        };
        if base == head {
            return Ok(None);
        }
        let added = set::Added::by(law);
        let is_test = |path: &RepoPath| set::is_among_tests(path, &added);
        let sides = |base: &CommitId| {
            let deltas = repo.diff(base, &head)?;
            let files = repo.tree(base, Filter::All)?;
            let paths = files.iter().map(|entry| &entry.path);
            let among = Among::of(&deltas, paths, is_test, set::may_hold_tests);
            anyhow::Ok(Sides::of(&deltas, among, is_test))
        };
        let later = [Some(&tip), read].into_iter().flatten().find(|later| **later != base && **later != head);
        let later = later.map(|later| anyhow::Ok((later.clone(), sides(later)?))).transpose()?;
        let sides = sides(&base)?;
        let later_than_frozen = match frozen {
            Some(frozen) => frozen::later(repo, frozen, (&base, &head), &added)?,
            None => Vec::new(),
        };
        Ok(Some(Self { repo, asked, runs, machine, base, head, sides, later, later_than_frozen, apart: None }))
    }

    /// Runs them, and says what came of it. None when it was stopped.
    pub(super) async fn held_against(
        &self,
        plan: &Plan,
        head: &Carried,
        live: &mut Live,
        orphans: Option<&Orphans>,
        stop: &CancellationToken,
    ) -> Option<Earned> {
        let (mut base, mut sides) = (&self.base, &self.sides);
        let demanded = self.runs.earned == Wanted::Demand;
        if let Some(why) = &self.apart {
            return Some(Earned::unknown(demanded, base.clone(), why.clone()));
        }
        let mut on = async |words: &str, content: (&CommitId, &[Laid])| -> Option<Tried> {
            live.turns_to(&format!("the same on {words}"));
            let ground = Ground::of(self.repo, self.asked, content, self.runs, self.machine).await;
            let ground = match ground {
                Ok(ground) => ground,
                // A base that has no such folder yet has no test in it either.
                Err(error) if error.is::<NoFolder>() && content.1.is_empty() => return Some(Ok(Carried::empty())),
                Err(error) => return Some(Err(format!("{error:#}"))),
            };
            let Ground { folder, walls, environment, .. } = &ground;
            let (folder, walls, environment) = (folder.clone(), walls.clone(), environment.clone());
            // What is covered is held against the base as it is.
            let coverage = if content.1.is_empty() { plan.coverage.clone() } else { Vec::new() };
            let screenshots = Vec::new();
            let plan = Plan { folder, walls, environment, coverage, screenshots, keep_going: true, ..plan.clone() };
            runner::carry_out(&plan, live, orphans, stop).await.map(Ok)
        };
        let mut on_base = on(&format!("the base ({})", base.short()), (base, &[])).await?;
        // Who parts from a commit where no test ran yet would not be held to any.
        if let Some((later, to)) = self.later.as_ref().filter(|_| !ran_any(&on_base)) {
            let on_later = on(&format!("where it goes ({})", later.short()), (later, &[])).await?;
            if ran_any(&on_later) {
                (base, sides, on_base) = (later, to, on_later);
            }
        }
        let name = base.short();
        let mut old = None;
        if !sides.old_tests.is_empty() {
            let words = format!("the head with the tests of the base ({name})");
            let lacks = |tried: &Tried| on_base.as_ref().is_ok_and(|base| earned::lack_something(sides, base, tried));
            let mut asked = Asked::alone(on(&words, (&self.head, &sides.old_tests)).await?);
            // A file that is part of a program only where its code names it is tried first: it can do no more than that code.
            for may_bend in [false, true] {
                let (laid, beside) = sides.beside(|path| may_bend || set::may_hold_tests(path));
                if beside.len() == asked.beside.len() || !lacks(&asked.tried) {
                    continue;
                }
                let tried = match laid.as_slice() {
                    [] => Ok(head.clone()),
                    laid => on(&format!("{words}, beside its new ones"), (&self.head, laid)).await?,
                };
                asked = Asked { tried, beside, may_bend };
            }
            old = Some(asked);
        }
        let frozen = match self.later_than_frozen.as_slice() {
            [] => None,
            laid => {
                let without = laid.iter().map(|laid| laid.path.to_string()).collect();
                let words = "the head with the tests that are frozen, and none that came later";
                Some(Frozen { without, tried: on(words, (&self.head, laid)).await? })
            }
        };
        let misses = |base| earned::misses_some(sides, base, head, old.as_ref());
        let again = match on_base.as_ref().is_ok_and(misses) {
            true => Some(on(&format!("the base ({name}) once more"), (base, &[])).await?),
            false => None,
        };
        let has_new = on_base.as_ref().is_ok_and(|on_base| earned::has_new(head, on_base));
        let mut new = match sides.new_tests.as_slice() {
            laid @ [_, ..] if has_new || on_base.is_err() => {
                Some(on(&format!("the base ({name}) with the tests of the head"), (base, laid)).await?)
            }
            _ => None,
        };
        // Where one file does not compile, none of them runs. Each by itself may.
        if let Some(Ok(together)) = new.as_mut().filter(|new| new.as_ref().is_ok_and(Carried::is_empty_handed)) {
            for laid in sides.each_by_itself(MOST_BY_THEMSELVES) {
                let words = format!("the base ({name}) with {} of the head", laid.path);
                if let Ok(alone) = on(&words, (base, std::slice::from_ref(laid))).await? {
                    together.join(alone);
                }
            }
        }
        let looks = Looks { old, new, frozen, again };
        Some(earned::compared((demanded, base), sides, head, &on_base, looks))
    }
}

fn ran_any(tried: &Tried) -> bool {
    tried.as_ref().is_ok_and(Carried::ran_any)
}
