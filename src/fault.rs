//! Fault points: names for the instants before and after each write of the road, at which a test can end the process.
//!
//! What a crash leaves behind is tried out, not reasoned about: `tests/kills.rs` plays stories against the real process,
//! ends it at one point after the other, starts it again and compares the end with that of a calm run. See
//! `docs/kills.md`.
//!
//! **A release build has none of this.** `point!` expands to nothing there and `around!` to the write alone, so
//! neither a branch nor a name is left in the binary. In a debug build a point is one relaxed load, unless the process was
//! started with `PHASEGATE_FAULTS`, which names a folder:
//!
//! - each point that is passed is appended to the file `passed` in it;
//! - `kill` in it, `ID N NAME`, ends the process at the N-th passage of that point since this text is there, as `kill -9`
//!   would: no destructor runs, nothing is flushed, no connection is closed by us.

/// Whether this build has its fault points.
pub const BUILT_IN: bool = cfg!(fault_points);

/// Names an instant. The name may be a format with arguments, which is written out only where somebody looks.
/// `point!(if CONDITION, …)`: only then.
macro_rules! point {
    (if $when:expr, $($name:tt)+) => {
        #[cfg(fault_points)]
        if $when {
            $crate::fault::passed(format_args!($($name)+));
        }
    };
    ($($name:tt)+) => {
        #[cfg(fault_points)]
        $crate::fault::passed(format_args!($($name)+));
    };
}

/// A write, with the instant `NAME.before` ahead of it and `NAME.after` behind it.
macro_rules! around {
    ($name:literal, $write:expr) => {{
        $crate::fault::point!(concat!($name, ".before"));
        let done = $write;
        $crate::fault::point!(concat!($name, ".after"));
        done
    }};
}

pub(crate) use {around, point};

#[cfg(fault_points)]
pub(crate) use armed::{arm, passed};

#[cfg(fault_points)]
mod armed {
    use std::fmt;
    use std::fs::{File, OpenOptions};
    use std::io::Write as _;
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Mutex, OnceLock, PoisonError};

    use anyhow::Context as _;

    static ARMED: AtomicBool = AtomicBool::new(false);
    static FAULTS: OnceLock<Faults> = OnceLock::new();

    struct Faults {
        folder: PathBuf,
        passed: File,
        /// The last `kill`, and how often its point has been passed since.
        counted: Mutex<(String, u64)>,
    }

    impl Faults {
        fn open(folder: &Path) -> anyhow::Result<Self> {
            let passed = OpenOptions::new().append(true).create(true).open(folder.join("passed"));
            let passed = passed
                .with_context(|| format!("PHASEGATE_FAULTS {}: name a folder that may be written", folder.display()))?;
            Ok(Self { folder: folder.to_owned(), passed, counted: Mutex::default() })
        }

        /// Notes a passage, and says whether the process is to end with it.
        fn passes(&self, name: &str) -> bool {
            let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
            // One write a line, at the end: passages of several processes do not mix.
            let _ = (&self.passed).write_all(format!("{name}\n").as_bytes());
            let Ok(kill) = std::fs::read_to_string(self.folder.join("kill")) else { return false };
            if counted.0 != kill {
                *counted = (kill, 0);
            }
            let (kill, passages) = &mut *counted;
            let mut parts = kill.trim_end().splitn(3, ' ').skip(1);
            let (at, wanted) = (parts.next().and_then(|at| at.parse::<u64>().ok()), parts.next());
            if wanted != Some(name) {
                return false;
            }
            *passages += 1;
            Some(*passages) == at
        }
    }

    /// Reads `PHASEGATE_FAULTS`, once, at the start of the process.
    pub(crate) fn arm() -> anyhow::Result<()> {
        if let Some(folder) = std::env::var_os("PHASEGATE_FAULTS") {
            // A second one in the same process changes nothing.
            let _ = FAULTS.set(Faults::open(Path::new(&folder))?);
            ARMED.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn passed(name: fmt::Arguments<'_>) {
        if ARMED.load(Ordering::Relaxed) {
            strike(&name.to_string());
        }
    }

    #[cold]
    fn strike(name: &str) {
        if FAULTS.get().is_some_and(|faults| faults.passes(name)) {
            // Straight to the file descriptor, for whoever reads the log; nothing else is said or done.
            let _ = std::io::stderr().write_all(format!("killed at {name}\n").as_bytes());
            std::process::abort();
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        const POINT: &str = "github.POST /repos/{owner}/{repo}/issues.after";

        fn ends(faults: &Faults, names: &[&str]) -> Vec<bool> {
            names.iter().map(|name| faults.passes(name)).collect()
        }

        #[test]
        fn it_ends_at_the_nth_passage_of_its_point_alone() {
            let folder = tempfile::tempdir().unwrap();
            let faults = Faults::open(folder.path()).unwrap();
            let kill = |text: String| std::fs::write(folder.path().join("kill"), text).unwrap();
            assert_eq!(ends(&faults, &[POINT]), [false], "nobody asked for it");
            kill(format!("1 2 {POINT}\n"));
            assert_eq!(
                ends(&faults, &["inbox.put.before", POINT, "inbox.put.after", POINT, POINT]),
                [false, false, false, true, false]
            );
            kill(format!("2 2 {POINT}"));
            assert_eq!(ends(&faults, &[POINT, POINT]), [false, true], "it is counted anew");
            for nonsense in ["", "3", "3 2", "3 x inbox.put.after", "3 0 inbox.put.after"] {
                kill(nonsense.to_owned());
                assert_eq!(ends(&faults, &["inbox.put.after"]), [false], "{nonsense:?}");
            }
        }

        #[test]
        fn passages_are_noted_in_their_order() {
            let folder = tempfile::tempdir().unwrap();
            ends(&Faults::open(folder.path()).unwrap(), &["a.before", "a.after", "a.before"]);
            let passed = std::fs::read_to_string(folder.path().join("passed")).unwrap();
            assert_eq!(passed, "a.before\na.after\na.before\n");
        }

        #[test]
        fn a_folder_that_is_not_there_is_refused() {
            let error = Faults::open(Path::new("/no/such/folder")).err().unwrap().to_string();
            assert!(error.contains("PHASEGATE_FAULTS"), "{error}");
        }

        #[test]
        fn a_write_gives_what_it_gave() {
            let written: Result<u8, &str> = crate::fault::around!("a", Err("no"));
            assert_eq!(written, Err("no"));
        }
    }
}
