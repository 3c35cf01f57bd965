//! The walls around a gate's commands: what a hostile command reaches, with every wall and with fewer of them.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that can not go on has failed")]

use std::io::Write as _;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use phasegate::runner::artefact::{Artefact, CommandOutcome};
use phasegate::runner::wall::Wall;
use serde_json::json;
use tempfile::TempDir;

const ESCAPE: &str = include_str!("escape.py");
const TOKEN: &str = "t0ken-of-the-job";

/// Ways that lead out where nothing keeps them. They change nothing but what the test itself has put up.
const OPEN: [&str; 9] = [
    "read_a_secret",
    "list_the_machine",
    "write_outside",
    "write_by_a_link",
    "reach_by_tcp",
    "reach_by_udp",
    "reach_by_a_socket",
    "reach_by_an_abstract_socket",
    "see_a_process",
];
/// Ways that are tried behind walls alone.
const DARING: [&str; 17] = [
    "end_a_process",
    "find_a_token",
    "open_a_program",
    "spoil_the_repository",
    "take_the_keeper_over",
    "end_the_keeper",
    "become_root",
    "become_root_by_a_program",
    "mount_something",
    "make_a_namespace",
    "find_the_old_root",
    "make_a_device",
    "read_the_sessions_keys",
    "keep_a_key",
    "make_a_ring",
    "reach_the_machine_around",
    "read_the_keepers_order",
];

fn escape(outside: &Outside, ways: &[&str]) -> String {
    format!("python3 escape.py '{}' {}", outside.told(), ways.join(" "))
}

/// A repository whose policy runs these commands, with the script that tries to get out.
fn stage(commands: &[String], more: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let repo =
        git2::Repository::init_opts(dir.path(), git2::RepositoryInitOptions::new().initial_head("main")).unwrap();
    let policy = format!(
        "gates:\n  verify:\n    checks: [{{ name: verify, workflow: .github/workflows/ci.yml }}]\n    run: {}\n    {more}\n",
        json!(commands)
    );
    let files = [(".github/phasegate.yml", policy.as_str()), ("escape.py", ESCAPE), ("sub/here.txt", "here\n")];
    let mut index = repo.index().unwrap();
    for (path, text) in files {
        let file = dir.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
        index.add_path(Path::new(path)).unwrap();
    }
    index.write().unwrap();
    let tree = repo.find_tree(index.write_tree().unwrap()).unwrap();
    let by = git2::Signature::new("ada", "ada@example.com", &git2::Time::new(1_700_000_000, 0)).unwrap();
    repo.commit(Some("HEAD"), &by, &by, "files", &tree, &[]).unwrap();
    dir
}

/// The program in a folder, as root where the tester is.
fn phasegate(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("phasegate"));
    command.current_dir(folder).env_clear().env("PATH", "/usr/bin:/bin").args(args);
    command.env("GITHUB_TOKEN", TOKEN).stdin(Stdio::null());
    command
}

/// Whether this machine has all that the walls are made of, by another program's word. Where it has not, what is tried is what a run
/// says that there is, and that is said.
fn has_everything() -> bool {
    let made = Command::new("unshare")
        .args([
            "--user",
            "--map-root-user",
            "--mount",
            "--net",
            "--pid",
            "--fork",
            "mount",
            "-t",
            "proc",
            "proc",
            "/proc",
        ])
        .stdin(Stdio::null())
        .output();
    let root = std::fs::metadata("/proc/self").is_ok_and(|about| std::os::unix::fs::MetadataExt::uid(&about) == 0);
    let all = root && made.is_ok_and(|made| made.status.success());
    if !all {
        eprintln!(
            "not all walls can be put up here (that takes root, and namespaces): only those that can be are tried"
        );
    }
    all
}

/// Of these ways those that have to be held by the walls that stand.
fn held_by<'w>(walls: &[Wall], ways: &[&'w str]) -> Vec<&'w str> {
    let needs = |way: &str| -> &[Wall] {
        match way {
            "read_a_secret"
            | "list_the_machine"
            | "write_outside"
            | "write_by_a_link"
            | "spoil_the_repository"
            | "open_a_program" => &[Wall::Files, Wall::LandlockFiles],
            "reach_by_tcp" | "reach_by_an_abstract_socket" => &[Wall::Network, Wall::LandlockReach],
            "reach_by_udp" => &[Wall::Network],
            "reach_by_a_socket" => &[Wall::Files],
            "see_a_process" | "end_the_keeper" | "read_the_keepers_order" => &[Wall::Processes],
            "read_the_sessions_keys" | "keep_a_key" | "make_a_ring" | "reach_the_machine_around" => &[Wall::Calls],
            "end_a_process" => &[Wall::Processes, Wall::LandlockReach],
            "find_a_token" | "take_the_keeper_over" => &[Wall::Processes, Wall::LandlockFiles],
            _ => &[Wall::Files],
        }
    };
    ways.iter().copied().filter(|way| needs(way).iter().any(|wall| walls.contains(wall))).collect()
}

/// The same where nobody can make a namespace any more.
fn without_namespaces(folder: &Path, args: &[&str]) -> Command {
    let plain = phasegate(folder, args);
    let mut command = Command::new("unshare");
    command.args([
        "--user",
        "--map-root-user",
        "sh",
        "-c",
        "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"",
        "sh",
    ]);
    command.arg(plain.get_program()).args(plain.get_args()).current_dir(folder).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?)))).stdin(Stdio::null());
    command
}

struct Ended {
    code: i32,
    artefact: Artefact,
    tail: String,
}

fn end(mut command: Command) -> Ended {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let artefact: Artefact = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    let tail = artefact.commands[0].output.as_ref().map(|output| output.tail.clone()).unwrap_or_default();
    Ended { code: output.status.code().unwrap(), artefact, tail }
}

fn run(commands: &[&str], more: &str) -> Ended {
    let commands: Vec<String> = commands.iter().map(|command| (*command).to_owned()).collect();
    let dir = stage(&commands, more);
    end(phasegate(dir.path(), &["run", "verify", "--json"]))
}

/// What a command must not reach: everybody on the machine may.
struct Outside {
    dir: TempDir,
    tcp: TcpListener,
    udp: UdpSocket,
    _socket: UnixListener,
    _abstract: UnixListener,
    process: Child,
    sleep: String,
    name: String,
}

impl Outside {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let open = |path: &Path, mode: u32| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        open(dir.path(), 0o755);
        std::fs::write(dir.path().join("secret"), "a secret").unwrap();
        std::fs::create_dir(dir.path().join("shared")).unwrap();
        open(&dir.path().join("shared"), 0o777);
        let socket = UnixListener::bind(dir.path().join("socket")).unwrap();
        open(&dir.path().join("socket"), 0o777);
        let name = format!("phasegate-{}", dir.path().file_name().unwrap().to_string_lossy());
        let hidden = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let process = Command::new("sleep").arg("3600").spawn().unwrap();
        // A number that no other sleep on this machine has.
        let sleep = format!("{}", 1_000_000 + u64::from(std::process::id()));
        let outside = Self { dir, tcp, udp, _socket: socket, _abstract: hidden, process, sleep, name };
        let listener = outside.tcp.try_clone().unwrap();
        std::thread::spawn(move || {
            while let Ok((mut wire, _)) = listener.accept() {
                let _ = wire.write_all(b"x");
            }
        });
        let udp = outside.udp.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut buffer = [0; 16];
            while let Ok((_, from)) = udp.recv_from(&mut buffer) {
                let _ = udp.send_to(b"x", from);
            }
        });
        for listener in [outside._socket.try_clone().unwrap(), outside._abstract.try_clone().unwrap()] {
            std::thread::spawn(move || {
                while let Ok((mut wire, _)) = listener.accept() {
                    let _ = wire.write_all(b"x");
                }
            });
        }
        outside
    }

    fn told(&self) -> String {
        json!({
            "secret": self.dir.path().join("secret"),
            "shared": self.dir.path().join("shared"),
            "socket": self.dir.path().join("socket"),
            "abstract": self.name,
            "tcp": self.tcp.local_addr().unwrap().port(),
            "udp": self.udp.local_addr().unwrap().port(),
            "process": self.process.id(),
            "token": TOKEN,
            "sleep": self.sleep,
        })
        .to_string()
    }

    /// Whether what a command left behind still runs.
    fn is_haunted(&self) -> bool {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let lines = processes.filter_map(|one| std::fs::read(one.path().join("cmdline")).ok());
        let wanted = format!("sleep\0{}\0", self.sleep);
        lines.into_iter().any(|line| String::from_utf8_lossy(&line).contains(&wanted))
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The same script outside gets everywhere, or it would prove nothing.
#[test]
fn every_way_leads_out_where_there_are_no_walls_and_none_where_they_stand() {
    let outside = Outside::new();
    let dir = stage(&[escape(&outside, &OPEN)], "");
    let open = end(phasegate(dir.path(), &["run", "verify", "--json", "--in-place"]));
    for way in OPEN {
        assert!(open.tail.contains(&format!("ESCAPED: {way}\n")), "{way}: {}", open.tail);
    }
    let walls = &open.artefact.confinement;
    assert!(!walls.confined && walls.why.as_deref() == Some("--in-place was asked for"), "{walls:#?}");
    let unconfined = |finding: &phasegate::finding::Finding| finding.says.starts_with("Unconfined: ");
    assert!(open.artefact.findings.iter().any(unconfined), "{:#?}", open.artefact.findings);

    let outside = Outside::new();
    let all = has_everything();
    // What nothing keeps is not tried.
    let walls = run(&["true"], "").artefact.confinement;
    assert_eq!((walls.confined, walls.stand.len() == 8), (all, all), "{walls:#?}");
    let ways = held_by(&walls.stand, &[&OPEN[..], &DARING].concat());
    let held = run(&[&escape(&outside, &ways)], "");
    assert_eq!(held.artefact.confinement, walls);
    for way in &ways {
        assert!(held.tail.contains(&format!("held: {way}")), "{way}: {}", held.tail);
    }
    assert!(!held.tail.contains("ESCAPED") && held.tail.ends_with(&format!("ways: {}\n", ways.len())), "{}", held.tail);
    assert!(!all || ways.len() == OPEN.len() + DARING.len());
    assert!(!outside.is_haunted());
    assert!(std::fs::read_dir(outside.dir.path().join("shared")).unwrap().next().is_none());
    assert_eq!(held.code, 0, "{:#?}", held.artefact.findings);
}

#[test]
fn what_a_command_needs_is_there() {
    let script = "id -u; pwd | grep -q 'phasegate-.*/sub$'; cat here.txt; touch new ../new; echo x > $HOME/x; echo y > /tmp/y; \
                  git log --oneline | wc -l; git status --short; python3 -c 'import socket as s; l = s.create_server((\"127.0.0.1\", 0)); \
                  s.create_connection(l.getsockname()); print(\"loopback\")'; echo > /dev/null; head -c 1 /dev/urandom | wc -c; \
                  test -z \"${GITHUB_TOKEN-}\"; nproc > /dev/null; (exit 3) || echo $?";
    let dir = stage(&[script.to_owned()], "");
    let done = end(phasegate(&dir.path().join("sub"), &["run", "verify", "--json"]));
    let me = if has_everything() { "1000" } else { done.tail.lines().next().unwrap_or_default() };
    assert_eq!(done.tail, format!("{me}\nhere\n1\n?? ../new\n?? new\nloopback\n1\n3\n"), "{:#?}", done.artefact);
    assert_eq!(done.code, 0);
    assert!(!dir.path().join("new").exists() && !dir.path().join("sub/new").exists(), "it was a copy");
}

#[test]
fn what_is_not_committed_is_not_run_and_that_is_said() {
    let dir = stage(&["cat sub/here.txt".to_owned()], "");
    std::fs::write(dir.path().join("sub/here.txt"), "elsewhere\n").unwrap();
    let mut command = phasegate(dir.path(), &["run", "verify", "--json"]);
    let output = command.output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("what is not committed is left out"));
    let artefact: Artefact = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(artefact.commands[0].output.as_ref().unwrap().tail, "here\n");
    assert!(!artefact.subject.uncommitted && artefact.subject.checkout == artefact.subject.head);
    let here = end(phasegate(dir.path(), &["run", "verify", "--json", "--in-place"]));
    assert_eq!(here.tail, "elsewhere\n");
    assert!(here.artefact.subject.uncommitted);
}

#[test]
fn limits_hold_and_say_what_there_was_too_much_of() {
    let hog = "python3 -c 'x = bytearray(600 << 20)'";
    let each = run(&[hog], "confine: { memory: 512M }");
    assert_eq!(each.artefact.commands[0].status, Some(1), "{}", each.tail);
    assert!(each.tail.contains("MemoryError"), "{}", each.tail);
    if has_everything() {
        let few = "for i in 1 2 3; do python3 -c 'import time; x = bytearray(b\"x\" * (200 << 20)); time.sleep(60)' & done; wait";
        let together = run(&[few], "confine: { memory: 512M }");
        let command = &together.artefact.commands[0];
        assert_eq!(command.outcome, CommandOutcome::OverLimit, "{command:#?}");
        assert!(together.artefact.findings[0].says.contains("more memory"), "{:#?}", together.artefact.findings);
        // Memory that nobody has for itself: files that are only there, mapped by nobody, and what several share.
        let in_files = "python3 -c 'import os, time\nfor i in range(4):\n f = os.memfd_create(\"f\")\n for j in range(200): os.write(f, b\"x\" * (1 << 20))\ntime.sleep(60)'";
        let shared = "python3 -c 'import mmap, time\nm = [mmap.mmap(-1, 200 << 20) for i in range(4)]\nfor one in m:\n for j in range(200): one.write(b\"x\" * (1 << 20))\ntime.sleep(60)'";
        for hog in [in_files, shared] {
            let over = run(&[hog], "confine: { memory: 512M }");
            assert_eq!(over.artefact.commands[0].outcome, CommandOutcome::OverLimit, "{:#?}", over.artefact.commands);
        }
        // Each of ten sees the same hundred.
        let once = "python3 -c 'import mmap, os\nm = mmap.mmap(-1, 100 << 20)\nm.write(b\"x\" * (100 << 20))\nfor i in range(10):\n if os.fork() == 0:\n  sum(m[k] for k in range(0, 100 << 20, 4096)); import time; time.sleep(1); os._exit(0)\nfor i in range(10): os.wait()\nprint(\"once\")'";
        let held = run(&[once], "confine: { memory: 512M }");
        assert_eq!((held.code, held.tail.as_str()), (0, "once\n"), "{:#?}", held.artefact.commands);
    }
    let bomb = run(&["for i in $(seq 100); do sleep 60 & done; echo all"], "confine: { processes: 40 }");
    assert!(!bomb.tail.contains("all\n") && bomb.code == 1, "{}", bomb.tail);
    let large = run(&["head -c 3000000 /dev/zero > file"], "confine: { file: 2M }");
    assert_eq!(large.code, 1, "{}", large.tail);
    let loud = run(&["yes | head -c 3000000"], "confine: { output: 1M }");
    assert_eq!(loud.artefact.commands[0].outcome, CommandOutcome::OverLimit);
    assert!(loud.artefact.findings[0].says.contains("it said more than 1M"), "{:#?}", loud.artefact.findings);
}

#[test]
fn what_the_policy_opens_is_open() {
    let outside = Outside::new();
    let port = outside.tcp.local_addr().unwrap().port();
    let command = format!(
        "cat {}; python3 -c 'import socket; print(socket.create_connection((\"127.0.0.1\", {port})).recv(1))'; ! touch {}",
        outside.dir.path().join("secret").display(),
        outside.dir.path().join("shared/x").display()
    );
    let more = format!("network: allow\n    confine: {{ read: [\"{}\"] }}", outside.dir.path().display());
    let done = run(&[&command], &more);
    assert!(done.code == 0 && done.tail.starts_with("a secretb'x'\n"), "{}", done.tail);
    assert_eq!(
        done.artefact.confinement.confined,
        has_everything(),
        "what is allowed is no missing wall: {:#?}",
        done.artefact.confinement
    );
    assert!(!done.artefact.confinement.stand.contains(&Wall::Network));
}

/// Whether one may read a socket says nothing to the kernel: who sees it can speak to it.
#[test]
fn a_socket_in_a_folder_that_may_be_read_is_not_reached_unless_it_is_named() {
    if !has_everything() {
        return;
    }
    let outside = Outside::new();
    let socket = outside.dir.path().join("socket");
    let command = format!(
        "cat {}; python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect(\"{}\"); print(s.recv(1))' || echo held",
        outside.dir.path().join("secret").display(),
        socket.display()
    );
    let read = |paths: serde_json::Value| run(&[&command], &format!("confine: {{ read: {paths} }}"));
    let held = read(json!([outside.dir.path()]));
    assert!(held.code == 0 && held.tail.starts_with("a secret") && held.tail.ends_with("held\n"), "{}", held.tail);
    let named = read(json!([outside.dir.path(), socket]));
    assert!(named.tail.ends_with("b'x'\n"), "{}", named.tail);
}

/// What a socket is called is up to whoever has bound it.
#[test]
fn a_socket_is_not_reached_whatever_its_name_is() {
    if !has_everything() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(dir.path().join("read me"), "it is read").unwrap();
    // By somebody whose folder it is: a relative name is kept as it is.
    let bind = "import os, socket, sys\n\
        names = ['a blank', 'two\\nlines', 'plain', 'rel.sock']\n\
        kept = [socket.socket(socket.AF_UNIX) for _ in names] + [socket.socket(socket.AF_UNIX)]\n\
        for name, one in zip(names, kept):\n\
        \x20 one.bind(name if name == 'rel.sock' else os.path.join(os.getcwd(), name)); os.chmod(name, 0o777); one.listen(9)\n\
        kept[-1].bind(b'\\0phasegate\\xff' + str(os.getpid()).encode())\n\
        print('bound', flush=True); sys.stdin.read()\n";
    let mut owner = Command::new("python3");
    owner.args(["-c", bind]).current_dir(dir.path()).stdin(std::process::Stdio::piped());
    let mut owner = owner.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut said = [0; 6];
    std::io::Read::read_exact(owner.stdout.as_mut().unwrap(), &mut said).unwrap();
    assert_eq!(&said, b"bound\n");
    let connect = "import os, socket\n\
        for name in ['a blank', 'two\\nlines', 'plain', 'rel.sock']:\n\
        \x20 try: socket.socket(socket.AF_UNIX).connect(os.path.join(os.environ['AT'], name)); print('reached', repr(name))\n\
        \x20 except OSError: print('held')\n";
    let command = format!("export AT={}; cat \"$AT/read me\"; echo; python3 -c \"{connect}\"", dir.path().display());
    let done = run(&[&command], &format!("confine: {{ read: {} }}", json!([dir.path()])));
    drop(owner.stdin.take());
    owner.wait().unwrap();
    assert_eq!(done.tail, "it is read\nheld\nheld\nheld\nheld\n");
    assert!(done.artefact.confinement.stand.contains(&Wall::Network));
}

/// A server has more to lose than a job: what it asks for is run behind namespaces or not at all, and not without the server.
#[test]
fn what_a_server_asks_for_is_run_behind_namespaces_and_for_as_long_as_it_waits() {
    let dir = stage(&["echo it ran".to_owned()], "");
    let repo = git2::Repository::open(dir.path()).unwrap();
    let head = repo.head().unwrap().peel_to_commit().unwrap().id().to_string();
    let order = json!({
        "repository": "octo-org/lantern", "change": 7, "base": head, "head": head, "law": head, "run": 5, "hides": []
    });
    let (asked, out) = (dir.path().join(".git/asked.json"), dir.path().join(".git/out"));
    std::fs::write(&asked, order.to_string()).unwrap();
    let args = ["run", "verify", "--asked", asked.to_str().unwrap(), "--out", out.to_str().unwrap()];
    let refused = without_namespaces(dir.path(), &args).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(2) && said.contains("there are no namespaces here"), "{said}");
    assert!(!String::from_utf8_lossy(&refused.stdout).contains("it ran"));
    if !has_everything() {
        return;
    }
    // Nobody holds the other end of its input.
    let left = phasegate(dir.path(), &args).output().unwrap();
    assert_eq!(left.status.code(), Some(130), "{}", String::from_utf8_lossy(&left.stderr));
    assert!(!out.join("execution_log.json").exists());
    let mut waited_for = phasegate(dir.path(), &args).stdin(Stdio::piped()).spawn().unwrap();
    let _held = waited_for.stdin.take();
    assert_eq!(waited_for.wait().unwrap().code(), Some(0));
    let log: Artefact = serde_json::from_slice(&std::fs::read(out.join("execution_log.json")).unwrap()).unwrap();
    let run = log.run.as_ref().unwrap();
    assert_eq!((run.id, run.attempt, run.workflow.as_deref()), (5, 1, Some("runner")));
    assert_eq!((log.subject.change, log.subject.checkout.map(|id| id.to_string())), (Some(7), Some(head)));
}

/// A machine without namespaces: what is left stands, what is open is named, and the policy decides.
#[test]
fn where_walls_are_missing_the_run_is_unconfined_and_the_policy_decides() {
    let outside = Outside::new();
    let ways = [
        "read_a_secret",
        "list_the_machine",
        "write_outside",
        "write_by_a_link",
        "reach_by_tcp",
        "reach_by_an_abstract_socket",
        "end_a_process",
        "find_a_token",
        "open_a_program",
        "spoil_the_repository",
        "take_the_keeper_over",
    ];
    for (more, code) in [("", 0), ("confine: { required: true }", 1)] {
        let dir = stage(&[escape(&outside, &ways)], more);
        let done = end(without_namespaces(dir.path(), &["run", "verify", "--json"]));
        let walls = &done.artefact.confinement;
        let open: Vec<Wall> = walls.open.iter().map(|open| open.wall).collect();
        assert!(!walls.confined && open.contains(&Wall::Network) && open.contains(&Wall::Files), "{walls:#?}");
        assert!(walls.stand.contains(&Wall::LandlockFiles) && walls.stand.contains(&Wall::LandlockReach), "{walls:#?}");
        for way in ways {
            assert!(done.tail.contains(&format!("held: {way}")), "{way}: {}", done.tail);
        }
        assert!(!outside.is_haunted());
        assert_eq!(done.code, code, "{:#?}", done.artefact.findings);
        let finding = done.artefact.findings.iter().find(|finding| finding.says.starts_with("Unconfined: ")).unwrap();
        assert!(finding.says.contains("reach the network") && finding.blocks() == (code == 1), "{finding:#?}");
    }
}

#[test]
fn a_copy_is_gone_afterwards_also_where_a_command_locked_it() {
    let temp = tempfile::tempdir().unwrap();
    let dir = stage(&["mkdir -p locked/deep && chmod 000 locked/deep locked".to_owned()], "");
    let mut command = phasegate(dir.path(), &["run", "verify", "--json"]);
    command.env("RUNNER_TEMP", temp.path());
    assert_eq!(end(command).code, 0);
    let left: Vec<String> = std::fs::read_dir(temp.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(left, ["phasegate-verify"], "the artefact alone");
}
