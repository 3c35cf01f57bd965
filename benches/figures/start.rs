//! From an action's step to its first call of the API, beside an action in JavaScript.
//!
//! What a runner does with an action is done here, without the runner: the composite action's two steps as bash scripts,
//! the JavaScript action as a file that node runs. Both ask the same listener, on the loopback and without TLS.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use sha2::{Digest as _, Sha256};

use crate::Size;
use crate::stage::{self, Stage, given};
use crate::stats::{Rounds, mib, table};

const REPOSITORY: &str = "octo-org/lantern";

/// What the two actions are started with.
struct Scene {
    folder: tempfile::TempDir,
    api: Listener,
    releases: SocketAddr,
    binary: PathBuf,
    key: String,
    node: PathBuf,
    bundle: PathBuf,
}

/// Says of each request when it came, and answers that it is not there.
struct Listener {
    address: SocketAddr,
    came: mpsc::Receiver<Instant>,
}

impl Listener {
    fn new() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let (sender, came) = mpsc::channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let sender = sender.clone();
                std::thread::spawn(move || hears(stream, &sender));
            }
        });
        Ok(Self { address, came })
    }

    fn next(&self) -> anyhow::Result<Instant> {
        self.came.recv_timeout(Duration::from_secs(30)).context("no call came within 30 seconds")
    }

    /// Forgets what came late.
    fn forget(&self) {
        while self.came.try_recv().is_ok() {}
    }
}

fn hears(mut stream: TcpStream, came: &mpsc::Sender<Instant>) {
    let mut first = [0; 1];
    if matches!(stream.read(&mut first), Ok(1)) {
        // Nobody listens any more when the figure is done.
        let _ = came.send(Instant::now());
        let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}");
    }
}

/// Serves one file under every name.
fn serve(bytes: Vec<u8>) -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let Ok(read) = stream.try_clone() else { continue };
            let request = BufReader::new(read).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
            request.for_each(drop);
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", bytes.len());
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&bytes));
        }
    });
    Ok(address)
}

fn platform() -> anyhow::Result<&'static str> {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => Ok("linux-x86_64"),
        ("linux", "aarch64") => Ok("linux-aarch64"),
        (os, arch) => bail!("there is no release for {os} on {arch}"),
    }
}

impl Scene {
    fn new(stage: &Stage) -> anyhow::Result<Self> {
        let folder = stage.folder()?;
        let binary = stage::binary()?;
        let bytes = std::fs::read(&binary)?;
        // The commit that a release tags: the script, and beside it the sum of the binary.
        let action = folder.path().join(".github/action");
        std::fs::create_dir_all(&action)?;
        std::fs::copy(stage::root().join(".github/action/find.sh"), action.join("find.sh"))?;
        let sum = hex::encode(Sha256::digest(&bytes));
        let version = env!("CARGO_PKG_VERSION");
        std::fs::write(action.join("checksums.txt"), format!("{sum}  v{version}/phasegate-{}\n", platform()?))?;
        let event = serde_json::json!({ "action": "synchronize", "pull_request": { "number": 1 } });
        std::fs::write(folder.path().join("event.json"), event.to_string())?;
        Ok(Self {
            folder,
            api: Listener::new()?,
            releases: serve(bytes)?,
            binary,
            key: stage.app.pem.clone(),
            node: given("PHASEGATE_NODE")?,
            bundle: given("PHASEGATE_ACTION_BUNDLE")?,
        })
    }

    /// A command with what a runner sets for both.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        let api = format!("http://{}/api/v3", self.api.address);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", self.folder.path());
        command.env("GITHUB_API_URL", api).env("GITHUB_SERVER_URL", format!("http://{}", self.api.address));
        command.env("GITHUB_GRAPHQL_URL", format!("http://{}/api/graphql", self.api.address));
        command.env("GITHUB_REPOSITORY", REPOSITORY).env("GITHUB_EVENT_NAME", "pull_request_target");
        command.env("GITHUB_EVENT_PATH", self.folder.path().join("event.json")).env("GITHUB_ACTIONS", "true");
        command.env("GITHUB_OUTPUT", self.output()).env("GITHUB_STEP_SUMMARY", self.folder.path().join("summary"));
        command.env("RUNNER_TEMP", self.folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn output(&self) -> PathBuf {
        self.folder.path().join("output")
    }

    /// As the runner starts a step of a composite action.
    fn bash(&self, script: &str) -> Command {
        let mut command = self.command("bash");
        command.args(["--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script]);
        command
    }

    /// The composite action. Says how long it took to find the binary, and until the first call.
    fn composite(&self, given: Option<&Path>) -> anyhow::Result<(Duration, Duration)> {
        std::fs::write(self.output(), "")?;
        self.api.forget();
        let begun = Instant::now();
        let mut find = self.bash("bash \"$GITHUB_ACTION_PATH/.github/action/find.sh\"");
        find.env("GITHUB_ACTION_PATH", self.folder.path());
        find.env("PHASEGATE_RELEASES", format!("http://{}", self.releases));
        if let Some(given) = given {
            find.env("PHASEGATE_BIN", given);
        }
        ensure!(find.status()?.success(), "find.sh failed");
        let found = begun.elapsed();
        let output = std::fs::read_to_string(self.output())?;
        let binary = output.lines().find_map(|line| line.strip_prefix("binary=")).context("no binary was found")?;
        let mut work = self.bash("\"$PHASEGATE\" action");
        work.env("PHASEGATE", binary).env("APP_ID", "1").env("PRIVATE_KEY", &self.key);
        let called = self.until_called(work)?;
        if given.is_none() {
            std::fs::remove_file(binary)?;
        }
        Ok((found, called - begun))
    }

    fn javascript(&self) -> anyhow::Result<Duration> {
        self.api.forget();
        let begun = Instant::now();
        let mut work = self.command(&self.node);
        work.arg(&self.bundle).env("INPUT_GITHUB-TOKEN", "ghs_none");
        Ok(self.until_called(work)? - begun)
    }

    fn until_called(&self, mut work: Command) -> anyhow::Result<Instant> {
        let child = work.spawn()?;
        let called = self.api.next();
        end(child)?;
        called
    }

    fn measure(&self, size: &Size) -> anyhow::Result<String> {
        let mut rounds: [Rounds; 4] = Default::default();
        // The first time is for the file system's cache.
        for round in 0..=size.starts {
            let (found, called) = self.composite(None)?;
            let (_, given) = self.composite(Some(&self.binary))?;
            let javascript = self.javascript()?;
            if round > 0 {
                for (rounds, time) in rounds.iter_mut().zip([called, found, given, javascript]) {
                    rounds.push(time.as_secs_f64() * 1000.0);
                }
            }
        }
        let [called, found, given, javascript] = rounds;
        let size = mib(std::fs::metadata(&self.binary)?.len());
        let row = |what: String, rounds: &Rounds| vec![what, rounds.told()];
        Ok(table(
            &["from the step's start to the first call of the API", "ms"],
            &[
                row(format!("Phasegate, its release of {size:.0} MiB fetched and its SHA-256 checked"), &called),
                row("of that, until the binary was fetched and checked".to_owned(), &found),
                row("Phasegate, a binary that is there already (`PHASEGATE_BIN`)".to_owned(), &given),
                row(
                    "an action in JavaScript with `@actions/core` and `@actions/github`, bundled".to_owned(),
                    &javascript,
                ),
            ],
        ))
    }
}

/// It has made its call, and was told that there is nothing there: it ends by itself.
fn end(mut child: Child) -> anyhow::Result<()> {
    child.wait()?;
    Ok(())
}

pub(crate) fn figure(stage: &Stage, size: &Size) -> anyhow::Result<String> {
    Scene::new(stage)?.measure(size)
}
