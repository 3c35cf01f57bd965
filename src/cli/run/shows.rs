//! What shows the criteria at runtime, run where the gate's commands were, and whether all of them left the files alone.

use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::ground::{Ground, Machine};
use super::show::Live;
use crate::cli::out;
use crate::gate::papers::{Papers, SCOPE};
use crate::gate::{build, proofs};
use crate::guard::{Kind, set};
use crate::ids::{BlobId, CommitId};
use crate::policy::{Flow, Policy, Proofs as Wanted, Runs};
use crate::repo::{Entry, Filter, LocalRepo, Reader as _, RepoPath};
use crate::runner::artefact::{CommandRun, Subject};
use crate::runner::earned::Earned;
use crate::runner::proofs::{Asked, Proofs, Proved};
use crate::runner::rewritten::Noted;
use crate::runner::{self, Beside, Carried, Orphans, Plan, Watcher as _};

pub(super) struct Shows<'a> {
    repo: &'a LocalRepo,
    /// The folder that it was asked for in.
    asked_in: &'a Path,
    runs: &'a Runs<'a>,
    machine: &'a Machine,
    /// Where the change began.
    base: Option<CommitId>,
    demanded: bool,
    asked: Option<Asked>,
    /// What is known as a test: of the head, and of the base.
    tests: (Tests, Tests),
    noted: Option<Noted>,
}

impl<'a> Shows<'a> {
    /// What there is to be shown at the head, and which files are not to be touched.
    pub(super) fn of(
        repo: &'a LocalRepo,
        asked_in: &'a Path,
        subject: &Subject,
        law: &Policy,
        runs: &'a Runs<'a>,
        (ground, machine): (&Ground, &'a Machine),
    ) -> anyhow::Result<Option<Self>> {
        let Some(head) = subject.head.clone() else { return Ok(None) };
        let tip = subject.base.clone().filter(|tip| repo.revision(tip.as_str()).ok().flatten().is_some());
        let base = tip.and_then(|tip| repo.merge_base(&tip, &head).ok().flatten()).filter(|base| *base != head);
        let wanted = law.proofs();
        let asked = match wanted {
            Wanted::Off => None,
            Wanted::Demand | Wanted::Show => {
                let from = base.as_ref().unwrap_or(&head);
                proofs::asked(&Papers::read(repo, from, from, &head)?)
            }
        };
        if asked.is_none() && wanted == Wanted::Demand && law.flow >= Flow::Pipeline {
            out::complain(&format!(
                "note: no criterion is shown by running the software, which the policy demands (`gates.verify.proofs`): \
                 {SCOPE} is not there, or is that of an earlier change.\n"
            ));
        }
        let (mut watched, mut sources): (Vec<RepoPath>, Vec<(RepoPath, BlobId)>) = Default::default();
        let added = set::Added::by(law);
        let mut tests = (Tests::default(), Tests::default());
        for Entry { path, blob, .. } in repo.tree(&head, Filter::All)? {
            let (kind, name) = (set::kind(&path, &added), String::from_utf8_lossy(path.as_bytes()).into_owned());
            tests.0.count(&path, kind);
            match kind {
                Some(_) => watched.push(path),
                None if build::is_written_by_hand(&name) => sources.push((path, blob)),
                None => {}
            }
        }
        if let Some(base) = &base {
            for entry in repo.tree(base, Filter::All)? {
                tests.1.count(&entry.path, set::kind(&entry.path, &added));
            }
            watched.extend(
                repo.diff(base, &head)?.into_iter().filter(|delta| delta.new.is_some()).map(|delta| delta.path),
            );
        }
        let noted = ground.root().map(|root| Noted::of(root, watched).with_sources(sources));
        let demanded = wanted == Wanted::Demand;
        Ok(Some(Self { repo, asked_in, runs, machine, base, demanded, asked, tests, noted }))
    }

    /// Runs what shows the criteria, and says which files were written anew. None when it was stopped. Where tests ran on the base, a
    /// new file that is called like a test does not tell where these are.
    pub(super) async fn carried_out(
        &self,
        plan: &Plan,
        (carried, earned): (&Carried, Option<&Earned>),
        live: &mut Live,
        orphans: Option<&Orphans>,
        stop: &CancellationToken,
    ) -> Option<Beside> {
        let ran = match &self.asked {
            Some(asked) if carried.has_passed() => self.proved(asked, plan, live, orphans, stop).await?,
            _ => Vec::new(),
        };
        let proofs = self.asked.clone().map(|asked| Proofs { demanded: self.demanded, asked, ran });
        let rewritten = self.noted.as_ref().map(Noted::changed).unwrap_or_default();
        let (head, base) = self.tests;
        let known = match earned.is_some_and(|earned| earned.on_base.totals.ran() > 0) {
            true => Tests { files: head.files.min(base.files), ..base },
            false => head,
        };
        // Where tests may stand among the code, no file of tests need not mean anything.
        let test_files = Some(known.files).filter(|files| *files > 0 || !known.inline);
        Some(Beside { earned: None, proofs, test_files, rewritten })
    }

    async fn proved(
        &self,
        asked: &Asked,
        plan: &Plan,
        live: &mut Live,
        orphans: Option<&Orphans>,
        stop: &CancellationToken,
    ) -> Option<Vec<Proved>> {
        if asked.proofs.is_empty() {
            return Some(Vec::new());
        }
        let commands = asked.proofs.iter().map(|proof| proof.command.clone()).collect();
        let prints = asked.proofs.iter().map(|proof| proof.prints.clone()).collect();
        let (reports, coverage, screenshots) = (Vec::new(), Vec::new(), Vec::new());
        let plan = Plan { commands, prints, reports, coverage, screenshots, keep_going: true, ..plan.clone() };
        live.turns_to("what shows the criteria");
        let on_head = runner::carry_out(&plan, live, orphans, stop).await?.into_commands();
        let on_base = self.on_base(&plan, live, orphans, stop).await?;
        let mut on_base = on_base.into_iter();
        Some(on_head.into_iter().map(|run| Proved { run, on_base: on_base.next() }).collect())
    }

    /// The same on the base, after the gate's own commands: what they build is there for both. Where it can't be laid out, nothing
    /// is said of it.
    async fn on_base(
        &self,
        plan: &Plan,
        live: &mut Live,
        orphans: Option<&Orphans>,
        stop: &CancellationToken,
    ) -> Option<Vec<CommandRun>> {
        let Some(base) = &self.base else { return Some(Vec::new()) };
        let content = (base, &[][..]);
        let ground = Ground::of(self.repo, self.asked_in, content, self.runs, self.machine).await;
        let Ok(ground) = ground else { return Some(Vec::new()) };
        live.turns_to(&format!("the same on the base ({})", base.short()));
        let Ground { folder, walls, environment, .. } = &ground;
        let (folder, walls, environment) = (folder.clone(), walls.clone(), environment.clone());
        let plan = Plan { folder, walls, environment, ..plan.clone() };
        let built = Plan { commands: self.runs.commands.to_vec(), prints: Vec::new(), ..plan.clone() };
        runner::carry_out(&built, live, orphans, stop).await?;
        Some(runner::carry_out(&plan, live, orphans, stop).await?.into_commands())
    }
}

/// What is known as a test in some content.
#[derive(Debug, Clone, Copy, Default)]
struct Tests {
    files: u64,
    /// Tests may stand among the code.
    inline: bool,
}

impl Tests {
    fn count(&mut self, path: &RepoPath, kind: Option<Kind>) {
        self.files += u64::from(kind == Some(Kind::Test) && !is_paper(path));
        self.inline |= set::may_hold_tests(path);
    }
}

/// Whether it is for people to read, and no test, whatever folder it is in.
fn is_paper(path: &RepoPath) -> bool {
    let name = path.as_bytes().to_ascii_lowercase();
    [&b".md"[..], b".rst", b".adoc", b"readme", b"readme.txt"].iter().any(|end| name.ends_with(end))
}
