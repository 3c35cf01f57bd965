//! A clone as an agent has it before it: the branch of its change checked out, and the ledger's branch beside it.

use std::path::PathBuf;
use std::process::Command;

use phasegate::rehearsal::{LEDGER, PIPELINE_POLICY, REPO, Rehearsal, Setup};
use tempfile::TempDir;

pub(crate) struct Desk {
    dir: TempDir,
    pub(crate) number: u64,
}

impl Desk {
    /// With nobody at the other end.
    pub(crate) async fn new() -> Self {
        let (on, desk) = Self::begun().await;
        on.end().await;
        desk
    }

    /// A change whose slice is declared, and whose EXPAND has failed once: there is no scope yet.
    pub(crate) async fn begun() -> (Rehearsal, Self) {
        let on = Rehearsal::start(Setup::with_policy(PIPELINE_POLICY)).await.unwrap();
        let lamp = [("src/lamp.py", "def shine():\n    return 10\n")];
        on.pushes("rover", "work", "work", &lamp).await.unwrap();
        let number = on.opens("rover", "Shine", "work").await.unwrap();
        let slice = "/slice \"The lamp can be lit\" --scope \"The lamp. in: src/**, tests/** out: src/gen/**\"";
        on.says("rover", number, slice).await.unwrap();
        on.says("ada", number, "/expand").await.unwrap();
        on.says("rover", number, "/expand").await.unwrap();
        let desk = Self { dir: tempfile::tempdir().unwrap(), number };
        let url = format!("{}/{REPO}.git", on.url());
        let cloned = Command::new("git").args(["clone", "-q", "-b", "work", &url]).arg(desk.path()).output().unwrap();
        assert!(cloned.status.success(), "{}", String::from_utf8_lossy(&cloned.stderr));
        desk.fetch();
        desk.git(&["config", "user.name", "rover"]);
        desk.git(&["config", "user.email", "rover@example.com"]);
        (on, desk)
    }

    /// Brings the ledger here.
    pub(crate) fn fetch(&self) {
        self.git(&["fetch", "-q", "origin", &format!("{LEDGER}:{LEDGER}")]);
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("here")
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let done = Command::new("git").args(args).current_dir(self.path()).output().unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().trim_end().to_owned()
    }
}
