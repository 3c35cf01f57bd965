//! Where a gate's commands run: on a copy of the head's content behind walls, or in a folder as it is.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::bail;

use crate::cli::out;
use crate::ids::CommitId;
use crate::policy::{Network, Runs};
use crate::repo::{Laid, LocalRepo};
use crate::runner::order::Order;
use crate::runner::wall::{Confine, Enclosure, Limits, new_user};
use crate::runner::worktree::Worktree;
use crate::runner::{Around, reads};

/// What there is around the commands.
#[derive(Debug, Clone)]
pub(super) struct Machine {
    pub(super) environment: Vec<(OsString, OsString)>,
    /// What they are not to see.
    hides: Vec<PathBuf>,
    /// It is a server's, which has more to lose than a job: without namespaces nothing is run at all.
    is_a_servers: bool,
}

impl Machine {
    pub(super) fn here(order: Option<&Order>) -> Self {
        let environment = std::env::vars_os().collect();
        let hides = order.map(|order| order.hides.clone()).unwrap_or_default();
        Self { environment, hides, is_a_servers: order.is_some() }
    }
}

pub(super) struct Ground {
    pub(super) folder: PathBuf,
    pub(super) walls: Result<Enclosure, String>,
    pub(super) environment: Vec<(OsString, OsString)>,
    /// Folders that the environment names and that are not opened to the commands, and why.
    left_out: Vec<(PathBuf, &'static str)>,
    /// Goes with this.
    worktree: Option<Worktree>,
}

impl Ground {
    /// A folder as it is.
    pub(super) fn open(folder: PathBuf, environment: Vec<(OsString, OsString)>, why: &str) -> Self {
        Self { folder, walls: Err(why.to_owned()), environment, left_out: Vec::new(), worktree: None }
    }

    /// The whole copy, where this is one.
    pub(super) fn root(&self) -> Option<&Path> {
        self.worktree.as_ref().map(Worktree::folder)
    }

    /// A fresh copy of the head's content. The commands run in the same folder of it as the one that they were asked for in.
    pub(super) async fn fresh(
        repo: &LocalRepo,
        asked: &Path,
        around: &mut Around,
        runs: &Runs<'_>,
        machine: &Machine,
    ) -> anyhow::Result<Self> {
        let Some(head) = around.subject.head.clone() else {
            bail!("there is no commit here yet; `--in-place` runs the commands in the folder as it is");
        };
        if repo.revision(head.as_str())?.is_none() {
            bail!(
                "the head {} is not in this checkout, so its content can't be laid out\nLet the checkout fetch the whole \
                 history (`fetch-depth: 0`)",
                head.short()
            );
        }
        if around.subject.uncommitted {
            out::complain(&format!(
                "note: what is not committed is left out: the commands run on a copy of {}. `--in-place` runs them here.\n",
                head.short()
            ));
        }
        let ground = Self::of(repo, asked, (&head, &[]), runs, machine).await?;
        for (folder, why) in &ground.left_out {
            out::complain(&format!(
                "note: the commands do not see {}, which PATH or a toolchain's variable names: {why}. What they need of it is named \
                 in `confine.read` of the policy.\n",
                folder.display()
            ));
        }
        (around.subject.checkout, around.subject.uncommitted) = (Some(head), false);
        Ok(ground)
    }

    /// A fresh copy of a commit's content with other files laid over it, and the walls that can be put up around it.
    pub(super) async fn of(
        repo: &LocalRepo,
        asked: &Path,
        content: (&CommitId, &[Laid]),
        runs: &Runs<'_>,
        machine: &Machine,
    ) -> anyhow::Result<Self> {
        let below = std::env::var_os("RUNNER_TEMP").filter(|folder| !folder.is_empty());
        let below = below.map_or_else(std::env::temp_dir, PathBuf::from);
        let user = new_user();
        let worktree = Worktree::of(&repo.common_folder(), content, &below, user).await?;
        let folder =
            within(repo, asked).map_or_else(|| worktree.folder().to_owned(), |path| worktree.folder().join(path));
        if !folder.is_dir() {
            return Err(NoFolder { folder: asked.display().to_string(), commit: content.0.short().to_owned() }.into());
        }
        let mut found = reads::look(&machine.environment, runs.confine, worktree.scratch());
        found.reads.retain(|path| !machine.hides.iter().any(|hidden| path.starts_with(hidden)));
        let network = runs.network == Network::Allow;
        // Who answers for names is often written where nothing else is to be seen.
        let names = network.then(|| Path::new("/etc/resolv.conf").canonicalize().ok()).flatten();
        let confine = Confine {
            writes: vec![worktree.folder().to_owned()],
            reads: found.reads.into_iter().chain([worktree.objects().to_owned()]).chain(names).collect(),
            hides: machine.hides.clone(),
            scratch: worktree.scratch().to_owned(),
            user,
            network,
            limits: Limits {
                memory: runs.confine.memory.bytes(),
                processes: runs.confine.processes.into(),
                file: runs.confine.file.bytes(),
            },
        };
        let walls = Enclosure::around(confine, &folder).ok_or_else(|| "walls are a matter of Linux".to_owned());
        let missing = match &walls {
            Ok(walls) => walls.lacks_namespaces(),
            Err(why) => Some(why.as_str()),
        };
        if let Some(why) = missing.filter(|_| machine.is_a_servers) {
            bail!(
                "nothing was run: on a server commands run behind walls alone, and there are no namespaces here ({why})"
            );
        }
        let (environment, left_out) = match &walls {
            Ok(_) => (found.environment, found.left_out),
            Err(_) => (machine.environment.clone(), Vec::new()),
        };
        Ok(Self { folder, walls, environment, left_out, worktree: Some(worktree) })
    }
}

/// The folder that the commands run in is not in the content.
#[derive(Debug, thiserror::Error)]
#[error("the folder {folder} is not in {commit}")]
pub(super) struct NoFolder {
    folder: String,
    commit: String,
}

/// The path of a folder inside of its repository.
fn within(repo: &LocalRepo, folder: &Path) -> Option<PathBuf> {
    let root = repo.root()?.canonicalize().ok()?;
    folder.strip_prefix(root).ok().map(Path::to_owned)
}
