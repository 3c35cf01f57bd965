//! Inside of the walls: this program as its own child.
//!
//! Four processes, of which each does what only it can:
//! - the *builder* leaves the machine's namespaces and becomes the fresh user. As root it can become any, but only somebody
//!   outside may say who that is in the new namespace, so it has a *mapper* do that;
//! - the *keeper* is the first process of the new process namespace: it makes the root folder where the builder could not,
//!   and watches over the command's memory and end. When it ends, the kernel ends whatever is left;
//! - the *last* puts up what has to hold for the command and not for the keeper, so that the command can't reach the keeper, which
//!   says how it ended: a plain user in one more namespace, Landlock, limits, refused calls. Then it becomes the command.
//!
//! What they have to say goes to the standard input as lines of JSON: it is a pipe to whoever asked. The command's own is empty.
//! Without a command all is put up and taken down again: that is how it is tried.

use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::Duration;
use std::{fs, io};

use anyhow::{Context as _, bail};
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use rustix::fs::{Gid, StatVfsMountFlags, Uid};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags};
use rustix::process::{DumpableBehavior, Resource, Rlimit, Signal};
use rustix::thread::UnshareFlags;
use serde::{Deserialize, Serialize};

use super::{BUILDER, CONFINED, Confine, Line, Spec, THIS, Wall, Walls};

mod calls;
mod loopback;
mod memory;
mod sockets;

/// The variable in which the keeper and the last are told what to do. Arguments would be for everybody inside to read.
const TOLD: &str = "PHASEGATE_CONFINED";

/// The names under which it calls itself.
const MAPPER: &str = "mapper";
const KEEPER: &str = "keeper";
const LAST: &str = "last";

/// The newest that was tried. What an older kernel does not know is left out, and said.
const LANDLOCK: ABI = ABI::V6;

/// What a system has to run programs, as far as it is there. Nothing below is a secret to a user without groups.
const SYSTEM: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store"];
/// Devices that nothing is kept in.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
/// What the scratch folder is.
const SCRATCH: &[&str] = &["/tmp", "/var/tmp", "/dev/shm"];

/// The user and group that the command sees itself as. Which one it is outside is another matter.
const PLAIN: u32 = 1000;

/// The exit status where nothing was run.
const NOT_UP: u8 = 125;
/// A shell's for one that was killed.
const KILLED: u8 = 128 + 9;

/// How often the memory of the command is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// What the keeper and the last are told.
#[derive(Serialize, Deserialize)]
struct Kept {
    spec: Spec,
    walls: Walls,
}

/// One of them. The process must not have another thread.
pub(crate) fn main(order: &[OsString]) -> ExitCode {
    let words: Option<Vec<&str>> = order.iter().map(|word| word.to_str()).collect();
    let done = match words.as_deref() {
        Some([BUILDER, told]) => builder(told),
        Some([KEEPER]) => told().and_then(keeper),
        Some([LAST]) => told().and_then(last),
        Some([MAPPER, process, user]) => mapper(process, user),
        _ => Err(anyhow::anyhow!("`{CONFINED}` is for `phasegate run` alone")),
    };
    done.unwrap_or_else(|error| {
        // Whoever asked hears it, and the command's own log does not.
        let _ = tell(&Line::Failed(format!("{error:#}")));
        ExitCode::from(NOT_UP)
    })
}

fn told() -> anyhow::Result<Kept> {
    let text = std::env::var(TOLD).context("there is no order")?;
    serde_json::from_str(&text).context("the order can't be read")
}

fn again(role: &str) -> Command {
    let mut command = Command::new(THIS);
    command.args([CONFINED, role]);
    command
}

fn builder(told: &str) -> anyhow::Result<ExitCode> {
    let mut spec: Spec = serde_json::from_str(told).context("the order can't be read")?;
    let mut walls = Walls::default();
    if !spec.confine.network && spec.without.is_none() {
        match sockets::listed() {
            Ok(paths) => spec.confine.hides.extend(paths),
            Err(error) => walls.note(Wall::Network, Err(format!("the machine's sockets can't be listed: {error}"))),
        }
    }
    end_with_parent()?;
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    let fresh = spec.confine.user.filter(|_| user.is_root());
    if let Some(why) = &spec.without {
        for wall in [Wall::Files, Wall::Network, Wall::Processes] {
            if wall != Wall::Network || !spec.confine.network {
                walls.note(wall, Err(format!("there are no namespaces: {why}")));
            }
        }
        if let Some(fresh) = fresh {
            become_user(Gid::from_raw(fresh), Uid::from_raw(fresh), true)?;
        }
    } else {
        leave_all(&spec.confine, fresh, user, group)?;
        become_user(Gid::ROOT, Uid::ROOT, fresh.is_some())?;
    }
    end_with_parent()?;
    let why = || match user.is_root() {
        true => "root has no other user to give here".to_owned(),
        false => format!("they run as user {}, and only root can choose another", user.as_raw()),
    };
    walls.note(Wall::User, fresh.map(drop).ok_or_else(why));
    let kept = serde_json::to_string(&Kept { spec, walls })?;
    let mut keeper = again(KEEPER).env(TOLD, kept).process_group(0).spawn().context("there is no second process")?;
    tell(&Line::Group(keeper.id().cast_signed()))?;
    Ok(as_code(keeper.wait()?))
}

/// Becoming another user undoes it, so it is said again after that.
fn end_with_parent() -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// Leaves the machine's namespaces for new ones, in which it is root.
fn leave_all(confine: &Confine, fresh: Option<u32>, user: Uid, group: Gid) -> anyhow::Result<()> {
    // Somebody outside, who knows when it is time by the end of its input.
    let mapper = match fresh {
        Some(fresh) => {
            let me = rustix::process::getpid().as_raw_nonzero().to_string();
            let mut mapper = again(MAPPER);
            mapper.args([me, fresh.to_string()]).stdin(Stdio::piped()).stderr(Stdio::piped());
            Some(mapper.spawn().context("there is nobody to name the new user")?)
        }
        None => None,
    };
    if fresh.is_some() {
        // Root sees into folders that the new user does not, and may show what is in them.
        leave(UnshareFlags::NEWNS).context("the kernel gives none")?;
        root(confine).context("its root folder can't be made")?;
    }
    let mut flags = UnshareFlags::NEWUSER | UnshareFlags::NEWNS | UnshareFlags::NEWPID;
    flags |= UnshareFlags::NEWIPC | UnshareFlags::NEWUTS;
    if !confine.network {
        flags |= UnshareFlags::NEWNET;
    }
    let left = leave(flags);
    let Some(mut mapper) = mapper else {
        left.context("the kernel gives none")?;
        return map_self(user, group).context("the user can't be named in its namespace");
    };
    if let Err(error) = left {
        let _ = mapper.kill();
        let _ = mapper.wait();
        return Err(error).context("the kernel gives none");
    }
    drop(mapper.stdin.take());
    let done = mapper.wait_with_output()?;
    if !done.status.success() {
        bail!("the user can't be named in its namespace: {}", String::from_utf8_lossy(&done.stderr).trim());
    }
    Ok(())
}

#[expect(deprecated, reason = "it is unsafe for file descriptors alone, and these are not asked for")]
fn leave(flags: UnshareFlags) -> io::Result<()> {
    rustix::thread::unshare(flags).map_err(|error| match error {
        // The kernel's own word for it is that there is no space left.
        Errno::NOSPC => io::Error::other("no more of them may be made here (`user.max_user_namespaces`)"),
        Errno::PERM => io::Error::other("that is not permitted here, as in many containers"),
        other => other.into(),
    })
}

/// In its namespace the process is root; outside it is whom it was.
fn map_self(user: Uid, group: Gid) -> io::Result<()> {
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {} 1", user.as_raw()))?;
    fs::write("/proc/self/gid_map", format!("0 {} 1", group.as_raw()))
}

fn mapper(process: &str, user: &str) -> anyhow::Result<ExitCode> {
    let (process, user): (u32, u32) = (process.parse()?, user.parse()?);
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    for map in ["uid_map", "gid_map"] {
        if let Err(error) = fs::write(format!("/proc/{process}/{map}"), format!("0 {user} 1")) {
            let _ = rustix::io::write(rustix::stdio::stderr(), format!("{map}: {error}").as_bytes());
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn become_user(group: Gid, user: Uid, chosen: bool) -> anyhow::Result<()> {
    let done = || -> io::Result<()> {
        if chosen {
            rustix::thread::set_thread_groups(&[])?;
        }
        rustix::thread::set_thread_res_gid(group, group, group)?;
        Ok(rustix::thread::set_thread_res_uid(user, user, user)?)
    };
    done().context("it can't become another user")
}

fn keeper(mut kept: Kept) -> anyhow::Result<ExitCode> {
    end_with_parent()?;
    // Nobody of the same user gets hold of it.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let confine = &kept.spec.confine;
    let alone = kept.spec.without.is_none();
    if alone {
        if !confine.network {
            loopback::turn_on().context("the loopback of its network can't be turned on")?;
            if !kept.walls.open.iter().any(|open| open.wall == Wall::Network) {
                kept.walls.note(Wall::Network, Ok(()));
            }
        }
        if kept.walls.open.iter().any(|open| open.wall == Wall::User) {
            root(confine).context("its root folder can't be made")?;
        }
        own_processes().context("/proc")?;
        kept.walls.note(Wall::Files, Ok(()));
        kept.walls.note(Wall::Processes, Ok(()));
    }
    let limit = confine.limits.memory;
    let mut last = again(LAST).env(TOLD, serde_json::to_string(&kept)?).spawn().context("there is no third process")?;
    if alone {
        std::thread::spawn(move || {
            let mut watch = memory::Watch::default();
            loop {
                std::thread::sleep(LOOK);
                if watch.is_over(limit).is_ok_and(|over| over) {
                    let _ = tell(&Line::OutOfMemory);
                    // With this process, which is the first here, all others end.
                    std::process::exit(KILLED.into());
                }
            }
        });
    }
    let status = last.wait()?;
    if let Some(signal) = status.signal() {
        tell(&Line::Signalled(signal))?;
    }
    Ok(as_code(status))
}

fn last(Kept { spec, mut walls }: Kept) -> anyhow::Result<ExitCode> {
    if spec.without.is_none() {
        plain_user().context("it can't become a plain user")?;
    }
    let folder = &spec.folder;
    std::env::set_current_dir(folder).with_context(|| format!("{} is not there", folder.display()))?;
    rustix::thread::set_no_new_privs(true)?;
    let (files, reach) = landlock(&spec.confine, &walls).unwrap_or_else(|error| {
        let why = format!("Landlock can't be set up: {error:#}");
        (Err(why.clone()), Err(why))
    });
    walls.note(Wall::LandlockFiles, files);
    walls.note(Wall::LandlockReach, reach);
    let limited = limit(&spec.confine).map_err(|error| format!("the limits can't be set: {error}"));
    let watched = match spec.without.is_none() {
        true => Ok(()),
        false => Err("nobody watches what its processes use together".to_owned()),
    };
    walls.note(Wall::Limits, limited.and(watched));
    walls.note(Wall::Calls, calls::refuse());
    tell(&Line::Walls(walls))?;
    let Some((program, args)) = spec.program.split_first() else { return Ok(ExitCode::SUCCESS) };
    let error = Command::new(program).args(args).env_remove(TOLD).stdin(Stdio::null()).exec();
    Err(error).with_context(|| format!("{program} can't be started"))
}

/// The standard input is open for writing here.
fn tell(line: &Line) -> anyhow::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    let mut rest = &text[..];
    while !rest.is_empty() {
        let written = rustix::io::write(rustix::stdio::stdin(), rest)?;
        rest = &rest[written..];
    }
    Ok(())
}

/// Root in a namespace could mount what it likes in it, and reach the keeper. In one more, and as a plain user, it can't.
fn plain_user() -> io::Result<()> {
    leave(UnshareFlags::NEWUSER)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{PLAIN} 0 1"))?;
    fs::write("/proc/self/gid_map", format!("{PLAIN} 0 1"))?;
    // It needs none, and the kernel behind them is large. An old one can't be told so.
    fs::write("/proc/sys/user/max_user_namespaces", "0").or(Ok(()))
}

/// A root folder with the system's programs, what may be read, what may be written, and nothing else.
fn root(confine: &Confine) -> anyhow::Result<()> {
    rustix::mount::mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)?;
    let (new, old) = (Path::new("/tmp"), Path::new("/.old"));
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    rustix::mount::mount("phasegate", new, "tmpfs", flags, Some(c"mode=755")).context("a tmpfs")?;
    let below = new.join(".old");
    fs::create_dir(&below)?;
    rustix::process::pivot_root(new, &below).context("pivot_root")?;
    std::env::set_current_dir("/")?;
    let from = |path: &Path| old.join(path.strip_prefix("/").unwrap_or(path));
    for device in DEVICES.iter().map(Path::new) {
        show(&from(device), device, false)?;
    }
    for (name, to) in [("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")] {
        symlink(format!("/proc/self/fd{to}"), Path::new("/dev").join(name))?;
    }
    for place in SCRATCH {
        show(&from(&confine.scratch), Path::new(place), false)?;
    }
    // What is below the scratch folder's place is shown after it, or it would lie under it.
    let mut shown: Vec<&Path> = Vec::new();
    for path in readable(confine) {
        if shown.iter().any(|folder| path.starts_with(folder)) {
            continue;
        }
        match fs::symlink_metadata(from(path)) {
            Ok(about) if about.is_symlink() => {
                fs::create_dir_all(path.parent().unwrap_or(path))?;
                symlink(fs::read_link(from(path))?, path).or_else(already)?;
            }
            Ok(_) => {
                show(&from(path), path, true)?;
                shown.push(path);
            }
            // A system need not have all of them.
            Err(_) => {}
        }
    }
    let mut covers: Vec<&Path> = Vec::new();
    for path in &confine.hides {
        let covered = hide(path).with_context(|| format!("{} can't be hidden", path.display()))?;
        covers.extend(covered.then_some(path.as_path()));
    }
    // What lies in a hidden folder, and was named all the same.
    let hidden = |path: &&Path| confine.hides.iter().any(|folder| path.starts_with(folder));
    for path in confine.reads.iter().map(PathBuf::as_path).filter(hidden).filter(|path| from(path).exists()) {
        show(&from(path), path, true)?;
    }
    for path in confine.writes.iter().chain([&confine.scratch]) {
        show(&from(path), path, false)?;
    }
    for path in covers {
        seal(path).with_context(|| format!("{} can't be hidden", path.display()))?;
    }
    fs::create_dir_all("/run")?;
    // Until there are processes of its own.
    show(&from(Path::new("/proc")), Path::new("/proc"), false)?;
    rustix::mount::unmount(old, UnmountFlags::DETACH).context("the old one")?;
    fs::remove_dir(old)?;
    rustix::mount::mount_remount("/", flags | MountFlags::BIND | MountFlags::RDONLY, "").context("/")
}

/// The processes of this namespace, in place of the machine's.
fn own_processes() -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    Ok(rustix::mount::mount("proc", "/proc", "proc", flags, None)?)
}

fn already(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::AlreadyExists { Ok(()) } else { Err(error) }
}

/// What a command may read.
pub(super) fn readable(confine: &Confine) -> impl Iterator<Item = &Path> {
    SYSTEM.iter().map(Path::new).chain(confine.reads.iter().map(PathBuf::as_path))
}

/// Lets a file or a folder be seen.
fn show(from: &Path, to: &Path, sealed: bool) -> anyhow::Result<()> {
    let mounted = || -> io::Result<()> {
        if fs::metadata(from)?.is_dir() {
            fs::create_dir_all(to)?;
        } else {
            fs::create_dir_all(to.parent().unwrap_or(to))?;
            fs::OpenOptions::new().create(true).append(true).open(to)?;
        }
        rustix::mount::mount_bind_recursive(from, to)?;
        if sealed {
            seal(to)?;
        }
        Ok(())
    };
    mounted().with_context(|| to.display().to_string())
}

/// Lays nothing over what is to be seen in the new root folder and is not to be. What is not to be seen there anyway stays so. Says whether an
/// empty folder lies there now.
fn hide(path: &Path) -> io::Result<bool> {
    let about = match fs::symlink_metadata(path) {
        // Where it leads is hidden by its own name.
        Ok(about) if about.is_symlink() => return Ok(false),
        Ok(about) => about,
        Err(_) => return Ok(false),
    };
    if about.is_dir() {
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        rustix::mount::mount("phasegate", path, "tmpfs", flags, Some(c"mode=755"))?;
    } else {
        rustix::mount::mount_bind("/dev/null", path)?;
    }
    Ok(about.is_dir())
}

/// What it is mounted with can't be taken off in a namespace, so it is said again.
fn seal(path: &Path) -> io::Result<()> {
    let kept = rustix::fs::statvfs(path)?.f_flag;
    let mut flags = MountFlags::BIND | MountFlags::RDONLY;
    for (was, is) in [
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ] {
        if kept.contains(was) {
            flags |= is;
        }
    }
    Ok(rustix::mount::mount_remount(path, flags, "")?)
}

fn limit(confine: &Confine) -> io::Result<()> {
    let limits = confine.limits;
    for (what, most) in [
        (Resource::Data, limits.memory),
        (Resource::Nproc, limits.processes),
        (Resource::Fsize, limits.file),
        (Resource::Core, 0),
    ] {
        // What is lower already stays.
        let most = rustix::process::getrlimit(what).maximum.map_or(most, |now| now.min(most));
        rustix::process::setrlimit(what, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    Ok(())
}

type Up = Result<(), String>;

fn landlock(confine: &Confine, walls: &Walls) -> anyhow::Result<(Up, Up)> {
    let stands = |wall| walls.stand.contains(&wall);
    let (read, all) = (AccessFs::from_read(LANDLOCK), AccessFs::from_all(LANDLOCK));
    let mut allowed: Vec<(&Path, BitFlags<AccessFs>)> = readable(confine).map(|path| (path, read)).collect();
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
    allowed.extend(DEVICES.iter().map(|path| (Path::new(path), device)));
    allowed.extend(confine.writes.iter().chain([&confine.scratch]).map(|path| (path.as_path(), all)));
    // With processes of its own there is nothing of others in it; and what is a secret of others there is kept by Landlock itself,
    // as it keeps a process from getting hold of another outside.
    let to_itself = if stands(Wall::Processes) { AccessFs::WriteFile.into() } else { BitFlags::EMPTY };
    allowed.push((Path::new("/proc"), read | to_itself));
    if stands(Wall::Files) {
        allowed.push((Path::new("/"), AccessFs::ReadDir.into()));
        allowed.extend(SCRATCH.iter().map(|path| (Path::new(path), all)));
    }
    let mut rules = Ruleset::default().set_compatibility(CompatLevel::BestEffort).handle_access(all)?;
    if !confine.network && !stands(Wall::Network) {
        rules = rules.handle_access(AccessNet::from_all(LANDLOCK))?;
    }
    let mut rules = rules.scope(Scope::from_all(LANDLOCK))?.create()?;
    for (path, access) in allowed {
        let (Ok(there), Ok(about)) = (PathFd::new(path), fs::metadata(path)) else { continue };
        let access = if about.is_dir() { access } else { access & AccessFs::from_file(LANDLOCK) };
        rules = rules.add_rule(PathBeneath::new(there, access))?;
    }
    Ok(match rules.restrict_self()?.ruleset {
        RulesetStatus::FullyEnforced => (Ok(()), Ok(())),
        RulesetStatus::PartiallyEnforced => (Ok(()), Err("this kernel's Landlock knows only a part of it".to_owned())),
        RulesetStatus::NotEnforced => {
            let why = "this kernel has no Landlock".to_owned();
            (Err(why.clone()), Err(why))
        }
    })
}

/// As a shell tells it.
fn as_code(status: ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
