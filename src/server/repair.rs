//! The bot's own commits: documents that are put right, on top of the head that they were found wrong at.

use super::pass::Pass;
use super::route::Halt;
use crate::fault::around;
use crate::gate::reconcile::repair::Rewritten;
use crate::gate::world::World;
use crate::github::Error;
use crate::github::calls::git::Addition;
use crate::github::calls::pulls::Pull as Fetched;
use crate::ledger::State;
use crate::surface::sync::Memory as _;

impl Pass<'_> {
    /// Commits what the record says is put right, where the branch is still there and nobody has done it.
    ///
    /// The write says which head it is on top of, so a second one finds that the branch has moved, and so does one that comes
    /// after somebody's push: then there is another head, and another look.
    pub(super) async fn commit_repair(&self, pull: &Fetched, state: &State, world: &World) -> Result<(), Halt> {
        let wanted = world.subject.as_ref().and_then(|subject| Some((&subject.about.head, subject.repair.as_ref()?)));
        let (Some((head, repair)), Some(branch)) = (wanted, &world.pull.branch) else { return Ok(()) };
        let recorded = state.repairs.iter().any(|known| {
            let same = known.files.iter().map(|file| (file.path.as_str(), &file.is));
            known.head == *head && same.eq(repair.files.iter().map(|file| (file.path, &file.is)))
        });
        let refused = format!("unrepaired:{head}");
        if !recorded || !state.open || *head != pull.head.sha || self.memory.recall(&refused).await.is_some() {
            return Ok(());
        }
        let names: Vec<&str> = repair.files.iter().map(|file| file.path).collect();
        let message = format!(
            "docs: put {} in step with the code\n\nPhasegate's RECONCILE found the drift, and the policy lets it write this.",
            names.join(" and ")
        );
        let addition =
            |file: &Rewritten| Addition { path: file.path.to_owned(), contents: file.text.clone().into_bytes() };
        let files: Vec<Addition> = repair.files.iter().map(addition).collect();
        let written = self.repo.create_commit_on_branch(&branch.name, head, &message, &files);
        match around!("server.repair", written.await) {
            Ok(commit) => tracing::info!(change = pull.number, commit = commit.short(), "documents were put right"),
            Err(Error::StaleHead) => tracing::debug!(change = pull.number, "the branch has moved before the repair"),
            // The patch is shown, and they can apply it.
            Err(error) if error.is_for_a_person() => {
                tracing::warn!(change = pull.number, %error, "documents can't be put right here");
                self.memory.keep(&refused, &error.to_string()).await;
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}
