//! The client: so many connections that are kept open, each sending the next delivery as soon as the last is answered.
//!
//! It is as cheap as it can be, because it shares the machine with what it measures: the request is one buffer in which
//! only the delivery's id changes, and of the answer only the status and the length are read.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// What is sent: a body with its signature.
pub(crate) struct Letter {
    pub(crate) event: &'static str,
    pub(crate) body: Vec<u8>,
    pub(crate) signature: String,
}

/// When a client stops.
#[derive(Clone, Copy)]
pub(crate) enum Until {
    Over(Duration),
    Sent(u64),
}

/// What a run of the load came to.
pub(crate) struct Answered {
    pub(crate) count: u64,
    pub(crate) took: Duration,
    /// How long each answer took, sorted, in microseconds.
    pub(crate) waits: Vec<u32>,
}

impl Answered {
    pub(crate) fn a_second(&self) -> f64 {
        self.count as f64 / self.took.as_secs_f64()
    }

    /// The wait that this share of the deliveries did not exceed, in milliseconds.
    pub(crate) fn percentile(&self, share: f64) -> f64 {
        let last = self.waits.len().saturating_sub(1);
        let at = (share * self.waits.len() as f64).ceil() as usize;
        self.waits.get(at.saturating_sub(1).min(last)).map_or(0.0, |wait| f64::from(*wait) / 1000.0)
    }
}

/// Numbers that no two deliveries of this process share.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A delivery's id of the length that GitHub's have. The last part counts.
fn guid() -> String {
    format!("be4c0000-{:04x}-4000-8000-{:012x}", std::process::id() & 0xffff, NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Each client sends one of the letters over and over, and expects it to be taken.
pub(crate) async fn send(to: SocketAddr, letters: &[Letter], clients: usize, until: Until) -> anyhow::Result<Answered> {
    let mut connections = Vec::new();
    for letter in letters.iter().cycle().take(clients) {
        connections.push(Connection::open(to, letter).await?);
    }
    let begun = Instant::now();
    let left = Arc::new(AtomicU64::new(match until {
        Until::Sent(count) => count,
        Until::Over(_) => u64::MAX,
    }));
    let end = match until {
        Until::Over(time) => Some(begun + time),
        Until::Sent(_) => None,
    };
    let clients: Vec<_> = connections
        .into_iter()
        .map(|mut connection| {
            let left = Arc::clone(&left);
            tokio::spawn(async move {
                let more = || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_ok();
                while end.is_none_or(|end| Instant::now() < end) && more() {
                    connection.deliver().await?;
                }
                anyhow::Ok(connection.waits)
            })
        })
        .collect();
    let mut waits = Vec::new();
    for client in clients {
        waits.extend(client.await??);
    }
    let took = begun.elapsed();
    waits.sort_unstable();
    Ok(Answered { count: waits.len() as u64, took, waits })
}

struct Connection {
    stream: TcpStream,
    request: Vec<u8>,
    guid_at: usize,
    answer: Vec<u8>,
    waits: Vec<u32>,
}

impl Connection {
    async fn open(to: SocketAddr, letter: &Letter) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(to).await.with_context(|| format!("nobody listens on {to}"))?;
        stream.set_nodelay(true)?;
        let head = format!(
            "POST /api/github/webhooks HTTP/1.1\r\nHost: {to}\r\nAccept: */*\r\nContent-Type: application/json\r\n\
             User-Agent: GitHub-Hookshot/044aadd\r\nX-GitHub-Event: {}\r\nX-Hub-Signature-256: {}\r\n\
             Content-Length: {}\r\nX-GitHub-Delivery: ",
            letter.event,
            letter.signature,
            letter.body.len()
        );
        let guid_at = head.len();
        let mut request = head.into_bytes();
        request.extend_from_slice(guid().as_bytes());
        request.extend_from_slice(b"\r\n\r\n");
        request.extend_from_slice(&letter.body);
        Ok(Self { stream, request, guid_at, answer: Vec::with_capacity(4096), waits: Vec::new() })
    }

    async fn deliver(&mut self) -> anyhow::Result<()> {
        let guid = guid();
        self.request[self.guid_at..self.guid_at + guid.len()].copy_from_slice(guid.as_bytes());
        let sent = Instant::now();
        self.stream.write_all(&self.request).await?;
        self.answer.clear();
        while !is_whole(&self.answer)? {
            let read = self.stream.read_buf(&mut self.answer).await?;
            ensure!(read > 0, "the connection was closed before the answer was whole");
        }
        self.waits.push(u32::try_from(sent.elapsed().as_micros()).unwrap_or(u32::MAX));
        match self.answer.get(9..12) {
            // Taken, or taken and kept.
            Some(b"200" | b"202") => Ok(()),
            _ => bail!("a delivery was answered with {}", String::from_utf8_lossy(&self.answer)),
        }
    }
}

/// Whether all of an answer is there.
fn is_whole(answer: &[u8]) -> anyhow::Result<bool> {
    let Some(end) = answer.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(false) };
    let body = &answer[end + 4..];
    let head = std::str::from_utf8(&answer[..end])?.to_ascii_lowercase();
    let header = |name: &str| head.split("\r\n").find_map(|line| line.strip_prefix(name)).map(str::trim);
    match (header("content-length:"), header("transfer-encoding:")) {
        (Some(length), _) => Ok(body.len() >= length.parse::<usize>()?),
        (None, Some("chunked")) => Ok(body.ends_with(b"0\r\n\r\n")),
        _ => bail!("an answer without a length: {head}"),
    }
}
