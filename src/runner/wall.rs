//! Walls around a command of a change.
//!
//! A command runs what the change brought along, so it gets nothing but what it needs: its own copy of the content and a scratch
//! folder to write, the system's programs and what the policy names to read, no network and no socket of the machine, no process
//! but its own. The first wall is the kernel's namespaces: a fresh user without groups, a root folder that has only those paths, a
//! network with a loopback alone, processes of its own. The second is Landlock, which refuses the same paths again, limits of
//! memory, processes and file size, and a filter of the calls to the kernel. Which walls stand is said ([`Walls`]): a kernel or a container may not have them all, and then
//! whoever judges the evidence has to know what was open.
//!
//! A process can't put walls up around a child without unsafe code between fork and exec. So the child is this program again
//! ([`inside`]), and makes the command its own child.

#[cfg(target_os = "linux")]
pub mod inside;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a command may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confine {
    /// What it may write, and read: its copy of the content.
    pub writes: Vec<PathBuf>,
    /// What it may read and run besides the system's own.
    pub reads: Vec<PathBuf>,
    /// What it is not to see, also where it lies in a folder that it may read: a file or a folder of whoever starts it.
    pub hides: Vec<PathBuf>,
    /// What it may write besides: `/tmp` to it, and its home.
    pub scratch: PathBuf,
    /// The user that it becomes, where that can be chosen.
    pub user: Option<u32>,
    /// It may reach the network.
    pub network: bool,
    pub limits: Limits,
}

/// What a command may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of memory that its processes have, each for itself and all together.
    pub memory: u64,
    /// Processes and threads at a time.
    pub processes: u64,
    /// Bytes of one file.
    pub file: u64,
}

/// One wall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Wall {
    /// A fresh user without groups.
    User,
    /// A root folder that has only what it may read and write.
    Files,
    /// A network of its own.
    Network,
    /// Processes of its own.
    Processes,
    /// Landlock on files.
    LandlockFiles,
    /// Landlock on what it reaches: TCP where it has no network of its own, abstract sockets, signals to others.
    LandlockReach,
    /// Memory, processes and file size.
    Limits,
    /// Calls to the kernel that the other walls do not see.
    Calls,
}

impl Wall {
    /// What commands can do where it is missing, in words that go on after "they".
    pub fn without(self) -> &'static str {
        match self {
            Self::User => "have the files and rights of the user who started them",
            Self::Files => "see the machine's files",
            Self::Network => "reach the network and the machine's sockets",
            Self::Processes => "see other processes, and may leave some behind",
            Self::LandlockFiles => "have one wall less around their files",
            Self::LandlockReach => "have one wall less around sockets and processes",
            Self::Limits => "may use up the machine's memory",
            Self::Calls => "have one wall less around the kernel itself",
        }
    }
}

/// What stands, and what is open.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Walls {
    pub stand: Vec<Wall>,
    pub open: Vec<Open>,
}

/// A wall that could not be put up.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Open {
    pub wall: Wall,
    pub why: String,
}

impl Walls {
    #[cfg(target_os = "linux")]
    fn note(&mut self, wall: Wall, up: Result<(), String>) {
        match up {
            Ok(()) => self.stand.push(wall),
            Err(why) => self.open.push(Open { wall, why }),
        }
    }
}

/// What is said from inside, a line each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Line {
    /// The group of the command's processes.
    Group(i32),
    Walls(Walls),
    /// The signal that ended it.
    Signalled(i32),
    /// Its processes had more memory than they may.
    OutOfMemory,
    /// The walls can't be put up, or the command can't be started.
    Failed(String),
}

/// Walls, as far as they can be put up here.
#[derive(Debug, Clone)]
pub struct Enclosure {
    confine: Confine,
    /// Why there are no namespaces; none where there are.
    without: Option<String>,
}

impl Enclosure {
    /// Tries which walls there are for commands in this folder. None where there are none at all.
    #[cfg(target_os = "linux")]
    pub fn around(confine: Confine, folder: &Path) -> Option<Self> {
        let without = linux::missing(&confine, folder);
        Some(Self { confine, without })
    }

    #[cfg(not(target_os = "linux"))]
    pub fn around(_: Confine, _: &Path) -> Option<Self> {
        None
    }

    /// Why there are no namespaces, where there are none. Then what is hidden is not hidden, and other processes are seen.
    pub fn lacks_namespaces(&self) -> Option<&str> {
        self.without.as_deref()
    }

    /// Whether a path lies in what a command may read, by the paths alone.
    #[cfg(target_os = "linux")]
    pub fn shows(&self, path: &Path) -> bool {
        inside::readable(&self.confine).any(|folder| path.starts_with(folder))
    }

    #[cfg(not(target_os = "linux"))]
    pub fn shows(&self, _: &Path) -> bool {
        true
    }

    /// The program that puts them up and then runs this one, and its arguments. What it has to say about them comes out of its
    /// standard input.
    pub(crate) fn order(&self, program: Vec<String>, folder: &Path) -> Result<(PathBuf, Vec<String>), String> {
        let spec =
            Spec { program, folder: folder.to_owned(), confine: self.confine.clone(), without: self.without.clone() };
        let told = serde_json::to_string(&spec).map_err(|error| format!("a path is not text: {error}"))?;
        Ok((PathBuf::from(THIS), vec![CONFINED.to_owned(), BUILDER.to_owned(), told]))
    }
}

/// What the builder is told.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Spec {
    /// The program and its arguments; none to try the walls alone.
    pub(crate) program: Vec<String>,
    /// Where it runs.
    pub(crate) folder: PathBuf,
    pub(crate) confine: Confine,
    pub(crate) without: Option<String>,
}

/// A user that nobody is, for one run; none where there is none to be had.
pub fn new_user() -> Option<u32> {
    #[cfg(target_os = "linux")]
    return linux::fresh_user();
    #[cfg(not(target_os = "linux"))]
    None
}

/// This program, also where its file was replaced meanwhile, and where it is not in the root folder any more.
const THIS: &str = "/proc/self/exe";
/// The argument after which it is told what to do inside. It is no command: people have no use for it.
const CONFINED: &str = "confined";
/// The first that it is there.
const BUILDER: &str = "builder";

#[cfg(target_os = "linux")]
pub(crate) use linux::order;

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::OsString;
    use std::io::Read as _;
    use std::process::{Command, Stdio};

    use super::*;

    /// What this program is told, where it was started by itself.
    pub(crate) fn order(args: impl IntoIterator<Item = OsString>) -> Option<Vec<OsString>> {
        let mut args = args.into_iter().skip(1);
        (args.next()? == CONFINED).then(|| args.collect())
    }

    /// Tries whether there are namespaces for such commands, and says why not. They are all there or none: half of them can't be
    /// set up.
    pub(super) fn missing(confine: &Confine, folder: &Path) -> Option<String> {
        let tried = || -> Result<(), String> {
            let (program, args) = Enclosure { confine: confine.clone(), without: None }.order(Vec::new(), folder)?;
            let said = |error: std::io::Error| error.to_string();
            let (mut pipe, theirs) = std::io::pipe().map_err(said)?;
            let mut command = Command::new(program);
            command.args(args).env_clear().stdin(theirs).stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = command.spawn().map_err(said)?;
            drop(command);
            let mut text = String::new();
            let heard = pipe.read_to_string(&mut text).map_err(said);
            let status = child.wait().map_err(said)?;
            heard?;
            let failed = text.lines().find_map(|line| match serde_json::from_str(line) {
                Ok(Line::Failed(why)) => Some(why),
                _ => None,
            });
            match (failed, status.success()) {
                (Some(why), _) => Err(why),
                (None, true) => Ok(()),
                (None, false) => Err(format!("it ended without a word ({status})")),
            }
        };
        tried().err()
    }

    /// A user that nobody is, for one run. None where this process is not root, or has no numbers to give.
    pub(super) fn fresh_user() -> Option<u32> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let map = std::fs::read_to_string("/proc/self/uid_map").ok()?;
        chosen(&map, uuid::Uuid::new_v4().as_u128())
    }

    /// A number that the map has, far from those that people and services are given.
    fn chosen(map: &str, chance: u128) -> Option<u32> {
        /// Each range with how many numbers of it are for us.
        const RANGES: [(u64, u64); 2] = [(0x7000_0000, 0x0100_0000), (0xf000, 0x0800)];
        let lines = map.lines().filter_map(|line| {
            let mut numbers = line.split_whitespace().map(|number| number.parse::<u64>().ok());
            let (inside, _, count) = (numbers.next()??, numbers.next()??, numbers.next()??);
            Some(inside..inside.saturating_add(count))
        });
        let ranges: Vec<std::ops::Range<u64>> = lines.collect();
        let free =
            |(start, count): &(u64, u64)| ranges.iter().any(|one| one.start <= *start && start + count <= one.end);
        let (start, count) = RANGES.into_iter().find(free)?;
        u32::try_from(start + u64::try_from(chance % u128::from(count)).ok()?).ok()
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_fresh_user_is_one_that_there_is() {
            let of = |map: &str| chosen(map, u128::MAX);
            assert_eq!(of("         0          0 4294967295\n"), Some(0x70ff_ffff));
            assert_eq!(of("0 100000 65536\n"), Some(0xf7ff), "a container with few of them");
            for none in ["0 1000 1\n", "0 1000 1\n1 100000 1000\n", "", "a b c\n"] {
                assert_eq!(of(none), None, "{none}");
            }
        }

        #[test]
        fn only_its_own_word_leads_inside() {
            let of = |args: &[&str]| order(args.iter().map(OsString::from));
            assert_eq!(of(&["phasegate", "confined", "builder", "{}"]), Some(vec!["builder".into(), "{}".into()]));
            assert!(
                of(&["phasegate", "run", "confined"]).is_none() && of(&["phasegate"]).is_none() && of(&[]).is_none()
            );
        }
    }
}
