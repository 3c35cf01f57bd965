//! The demo and the twin as a visitor meets them: what is printed is typed in, as it stands, with plain git and curl.

#![allow(clippy::unwrap_used, reason = "a test that can not go on has failed")]

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PHASEGATE: &str = env!("CARGO_BIN_EXE_phasegate");
/// Nothing here takes long; a machine with much else to do may.
const PATIENCE: Duration = Duration::from_secs(120);

/// A program that stays up, with what it has printed so far.
struct Up {
    child: Child,
    lines: std::sync::mpsc::Receiver<String>,
    said: String,
}

impl Up {
    /// Starts it, with its temporary files in a folder of our own.
    fn start(command: &mut Command, temp: &Path, from_stderr: bool) -> Self {
        command.env("TMPDIR", temp).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (send, lines) = std::sync::mpsc::channel();
        let (out, err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let pump = move |from: Box<dyn std::io::Read + Send>, heard: bool| {
            let send = send.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(from).lines().map_while(Result::ok).filter(|_| heard) {
                    let _ = send.send(line);
                }
            })
        };
        pump(Box::new(out), !from_stderr);
        pump(Box::new(err), from_stderr);
        Self { child, lines, said: String::new() }
    }

    /// Reads until a line has this.
    fn until(&mut self, words: &str) -> &str {
        loop {
            let line = self.lines.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("no {words:?} in\n{}", self.said));
            self.said += &format!("{line}\n");
            if line.contains(words) {
                return &self.said;
            }
        }
    }

    /// Ctrl-C. Answers how it ended.
    fn interrupted(mut self) -> i32 {
        let sent = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        self.child.wait().unwrap().code().expect("it ended by itself")
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}

/// The indented lines of what was printed, from the first with one of these words to the last with the other.
fn block(said: &str, from: &str, to: &str) -> String {
    let lines: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    let first = lines.iter().position(|line| line.contains(from)).unwrap_or_else(|| panic!("no {from:?} in\n{said}"));
    let last = lines.iter().rposition(|line| line.contains(to)).unwrap_or_else(|| panic!("no {to:?} in\n{said}"));
    lines[first..=last].join("\n")
}

/// A visitor's shell, in this folder.
fn types(lines: &str, dir: &Path) -> String {
    let output = Command::new("bash")
        .args(["-euc", lines])
        .current_dir(dir)
        .env("NO_PROXY", "127.0.0.1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].map(|all| String::from_utf8_lossy(&all).into_owned()).concat();
    assert!(output.status.success(), "{lines}\n{said}");
    said
}

/// Looks at a page until it has these words.
fn shows(url: &str, words: &str) {
    let begun = Instant::now();
    loop {
        let page = types(&format!("curl -sS '{url}'"), &std::env::temp_dir());
        if page.contains(words) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "no {words:?} on {url}:\n{page}");
    }
}

/// Types the lines of a change one by one, each when the bot has done with the one before it.
fn drives(lines: &str, pull: &str) {
    let home = std::env::temp_dir();
    let line =
        |word: &str| lines.lines().find(|line| line.contains(word)).unwrap_or_else(|| panic!("no {word} in {lines}"));
    let done = |word: &str| {
        let said = types(&line(word).replace("curl ", "curl -sS "), &home);
        assert!(said.starts_with("done: /"), "{word}: {said}");
    };
    done("do=open");
    shows(pull, "Merging is refused");
    shows(pull, "phasegate/merge</a>");
    done("do=ci-green");
    shows(pull, "test</a></b> <span class=\"ok\">success");
    shows(pull, "approved this content yet");
    // Nobody approves their own.
    let own = line("do=approve").replace("as=mia", "as=ada");
    assert!(types(&own.replace("curl ", "curl -sS "), &home).starts_with("refused: "));
    done("do=approve");
    shows(pull, "It may be merged");
    done("do=merge");
    shows(pull, "<b>Merged</b>");
}

/// Types a block as it was printed; every line of it is done.
fn all_done(said: &str, from: &str, to: &str, dir: &Path) {
    let lines = block(said, from, to);
    let told = types(&lines.replace("curl ", "curl -sS "), dir);
    let count = lines.lines().count();
    assert!(told.lines().count() == count && told.lines().all(|line| line.starts_with("done: /")), "{lines}\n{told}");
}

#[test]
fn a_guest_of_the_demo_tries_the_three_things() {
    let (temp, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut demo = Up::start(Command::new(PHASEGATE).arg("demo"), temp.path(), false);
    let said = demo.until("Ctrl-C ends it").to_owned();
    assert!(said.lines().nth(2).unwrap().starts_with("Watch it in a browser:  http://127.0.0.1:"), "{said}");
    let repo = said.split("http://").find_map(|rest| rest.split_once("/pull/2/act")).unwrap().0;
    let (repo, pull) = (format!("http://{repo}"), format!("http://{repo}/pull/2"));
    shows(&repo, "<h2>Three things to try</h2>");
    shows(&format!("{repo}/pull/1"), "<h2>Three things to try</h2>");
    // Pasted block by block: each line waits until the bot has done with what it led to.
    all_done(&said, "do=begin", "body=/approve", work.path());
    shows(&pull, "<code>/approve</code> was not done");
    let (second, third) = said.split_once("\n3. ").unwrap();
    let second = second.split_once("\n2. ").unwrap().1;
    all_done(second, "do=approve", "do=approve", work.path());
    shows(&pull, "It may be merged");
    all_done(second, "do=push", "do=push", work.path());
    shows(&pull, "Merging is refused");
    all_done(third, "do=bad-day", "do=calm", work.path());
    shows(&pull, "<b>Merged</b>");
    shows(&pull, "The bad day is over.");
    // A change of one's own, with plain git.
    types(&block(&said, "git clone", "git clone"), work.path());
    let own = "cd lantern && git switch -q -c own && echo hello > hello.txt && git add . && \
               git -c user.name=guest -c user.email=guest@example.com commit -qm Own && git push -q origin own";
    types(own, work.path());
    shows(&repo, "<option>own</option>");
    let answer = types(&block(&said, "Authorization", "Authorization").replace("curl ", "curl -sS "), work.path());
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    assert_eq!((&answer["merged"], &answer["user"]["login"]), (&true.into(), &"rover".into()));
    assert!(!is_empty(temp.path()));
    assert_eq!(demo.interrupted(), 0);
    assert!(is_empty(temp.path()), "the demo left something behind");
}

#[test]
fn the_demo_can_be_stopped_in_the_middle_of_its_story() {
    let temp = tempfile::tempdir().unwrap();
    for words in ["Phasegate's demo", "says /expand", "claims /build"] {
        let mut demo = Up::start(Command::new(PHASEGATE).args(["demo", "--once"]), temp.path(), false);
        demo.until(words);
        assert_eq!(demo.interrupted(), 130, "at {words:?}");
        assert!(is_empty(temp.path()), "stopped at {words:?} it left something behind");
    }
}

#[test]
fn the_twin_says_how_to_run_a_server_for_it_and_how_to_bring_a_change() {
    let (temp, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    // The server's port has to be known before the server is there.
    let server = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let mut twin = Up::start(Command::new(PHASEGATE).args(["twin", "--server", &server]), temp.path(), false);
    let said = twin.until("Ctrl-C ends it").to_owned();
    let serve = block(&said, "APP_ID=", "phasegate serve").replace("phasegate serve", "exec phasegate serve");
    let path = format!("{}:{}", Path::new(PHASEGATE).parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("bash");
    shell.args(["-c", &serve]).env("PATH", path).env("NO_PROXY", "127.0.0.1").current_dir(work.path());
    let mut server = Up::start(&mut shell, temp.path(), true);
    server.until("listening");
    types(&block(&said, "git clone", "git push"), work.path());
    let pull = said.split("http://").find_map(|rest| rest.split_once("/pull/1/act")).unwrap().0;
    drives(&block(&said, "do=open", "do=merge"), &format!("http://{pull}/pull/1"));
    assert_eq!(server.interrupted(), 0);
    assert_eq!(twin.interrupted(), 0);
    assert!(is_empty(temp.path()), "the twin left something behind");
}
