//! A server that is measured: started, found by what it says of its address, and ended.

use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::{Child, Command};

/// Linux counts processor time in these, whatever the machine (`USER_HZ`).
const TICKS_A_SECOND: f64 = 100.0;

pub(crate) struct Server {
    child: Child,
    pid: u32,
    pub(crate) address: SocketAddr,
}

/// Which of its two voices a server tells its address with.
pub(crate) enum Tells {
    Stdout,
    Stderr,
}

impl Server {
    /// Starts it, and waits until it has said that it listens.
    pub(crate) async fn start(command: &mut Command, tells: &Tells) -> anyhow::Result<Self> {
        command.stdin(Stdio::null()).kill_on_drop(true);
        match tells {
            Tells::Stdout => command.stdout(Stdio::piped()),
            Tells::Stderr => command.stderr(Stdio::piped()),
        };
        let mut child = command.spawn().with_context(|| format!("{command:?} does not start"))?;
        let pid = child.id().context("it ended at once")?;
        let listening = async {
            match tells {
                Tells::Stdout => address(child.stdout.take().context("no stdout")?).await,
                Tells::Stderr => address(child.stderr.take().context("no stderr")?).await,
            }
        };
        let address = tokio::time::timeout(Duration::from_secs(30), listening).await;
        let address = address.context("it did not say within 30 seconds that it listens")??;
        Ok(Self { child, pid, address })
    }

    /// The processor time that it, and those of its children that it has waited for, have used so far.
    pub(crate) fn cpu(&self) -> anyhow::Result<Duration> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid))?;
        // The name is in parentheses and may hold anything; what follows it is numbers.
        let (_, rest) = stat.rsplit_once(')').context("an unknown form of /proc/PID/stat")?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        // utime, stime, cutime and cstime are the 14th to 17th, and the name is the second.
        let ticks = fields.get(11..15).context("a short /proc/PID/stat")?;
        let ticks: Vec<u64> = ticks.iter().map(|one| one.parse()).collect::<Result<_, _>>()?;
        Ok(Duration::from_secs_f64(ticks.iter().sum::<u64>() as f64 / TICKS_A_SECOND))
    }

    /// What it has in memory now.
    pub(crate) fn memory(&self) -> anyhow::Result<u64> {
        self.status("VmRSS:")
    }

    /// The most that it ever had.
    pub(crate) fn peak(&self) -> anyhow::Result<u64> {
        self.status("VmHWM:")
    }

    fn status(&self, name: &str) -> anyhow::Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid))?;
        let line =
            status.lines().find_map(|line| line.strip_prefix(name)).context("no such line in /proc/PID/status")?;
        let kib: u64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kib * 1024)
    }

    pub(crate) async fn end(mut self) -> anyhow::Result<()> {
        self.child.kill().await.context("a server can't be ended")
    }
}

/// The address in the first line that says `listening`. What is said after it is read too, or the server would wait for
/// its reader; at these levels of logging that is next to nothing.
async fn address(voice: impl AsyncRead + Unpin + Send + 'static) -> anyhow::Result<SocketAddr> {
    let mut lines = BufReader::new(voice).lines();
    let mut said = String::new();
    while let Some(line) = lines.next_line().await? {
        let found = line.contains("listening").then(|| line.split(['=', ' ']).find_map(|word| word.parse().ok()));
        if let Some(address) = found.flatten() {
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return Ok(address);
        }
        said.push_str(&line);
        said.push('\n');
    }
    bail!("it ended before it listened:\n{said}")
}
