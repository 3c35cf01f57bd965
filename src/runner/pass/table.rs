//! The tools of a pass: answered outside of the agent's walls, over a socket that is laid into its home.
//!
//! So the record of its calls is not the agent's to write, and a tool sees no more than the agent's own copy. One call is worked off at
//! a time, so many are answered in a pass, and so much is listened to: whoever calls without end is told so, and the pass goes on.

use std::io;
use std::os::unix::fs::{PermissionsExt as _, lchown};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::unix::OwnedReadHalf;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Mutex, OwnedMutexGuard, Semaphore};
use tokio::task::{JoinHandle, JoinSet};

use crate::ids::CommitId;
use crate::policy::{Role, Sight};
use crate::runner::calls::{Calls, Kept};

/// So many clients are spoken with at a time.
const MOST_CLIENTS: usize = 8;
/// So many calls are answered in a pass.
pub const MOST_CALLS: u64 = 2_000;
/// So many calls may wait for their turn.
const MOST_WAITING: usize = 32;
/// So many bytes are listened to in a pass.
const MOST_HEARD: u64 = 8 * 1024 * 1024;
/// A longer path has no room in a socket's address.
const LONGEST_PATH: usize = 103;

/// Who answers the calls.
pub trait Tools: Send + Sync {
    /// Talks with a client until it leaves.
    fn talk(&self, client: UnixStream, seat: Arc<Seat>) -> BoxFuture<'static, ()>;
}

/// Whose tools they are, and what they see.
pub struct Seat {
    pub role: Role,
    /// What the copy was made of.
    pub commit: CommitId,
    pub folder: PathBuf,
    /// Whom what is written there belongs to.
    pub owner: Option<u32>,
    pub sight: Sight,
    pub calls: Kept,
    heard: AtomicU64,
    waiting: Semaphore,
    turn: Arc<Mutex<()>>,
    over: AtomicBool,
}

/// Why a call is not worked off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoTurn {
    /// Too many wait already.
    Crowded,
    /// The pass is over.
    Over,
}

impl Seat {
    pub fn new(role: Role, commit: CommitId, folder: PathBuf, owner: Option<u32>, sight: Sight) -> Self {
        Self {
            role,
            commit,
            folder,
            owner,
            sight,
            calls: Kept::begin(),
            heard: AtomicU64::new(0),
            waiting: Semaphore::new(MOST_WAITING),
            turn: Arc::default(),
            over: AtomicBool::new(false),
        }
    }

    /// Waits until nothing else is worked off. Whoever works holds what comes of it to the end, also where nobody waits for it any more.
    pub async fn turn(&self) -> Result<OwnedMutexGuard<()>, NoTurn> {
        let Ok(_waits) = self.waiting.try_acquire() else { return Err(NoTurn::Crowded) };
        let turn = self.turn.clone().lock_owned().await;
        if self.over.load(Ordering::SeqCst) { Err(NoTurn::Over) } else { Ok(turn) }
    }
}

/// What a client says, up to what is listened to in a pass. Then it is as if it had left.
pub struct Ear {
    pub from: OwnedReadHalf,
    pub seat: Arc<Seat>,
}

impl AsyncRead for Ear {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.seat.heard.load(Ordering::Relaxed) >= MOST_HEARD {
            return Poll::Ready(Ok(()));
        }
        let before = into.filled().len();
        let polled = Pin::new(&mut self.from).poll_read(cx, into);
        let heard = into.filled().len().saturating_sub(before);
        self.seat.heard.fetch_add(heard as u64, Ordering::Relaxed);
        polled
    }
}

/// The socket, and who answers at it. It goes with this.
pub(super) struct Table {
    seat: Arc<Seat>,
    serves: JoinHandle<()>,
}

impl Table {
    /// Lays it at a path that nothing stands at yet.
    pub(super) fn lay(tools: Arc<dyn Tools>, seat: Arc<Seat>, path: &Path) -> io::Result<Self> {
        if path.as_os_str().len() > LONGEST_PATH {
            return Err(io::Error::other(format!(
                "the path of the folder for copies is too long for a socket in it, which has at most {LONGEST_PATH} bytes"
            )));
        }
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        if let Some(owner) = seat.owner {
            lchown(path, Some(owner), Some(owner))?;
        }
        let shared = seat.clone();
        let serves = tokio::spawn(async move {
            let mut talks = JoinSet::new();
            loop {
                let has_room = talks.len() < MOST_CLIENTS;
                tokio::select! {
                    accepted = listener.accept(), if has_room => match accepted {
                        Ok((client, _)) => drop(talks.spawn(tools.talk(client, shared.clone()))),
                        Err(_) => return,
                    },
                    Some(_) = talks.join_next(), if !talks.is_empty() => {}
                }
            }
        });
        Ok(Self { seat, serves })
    }

    /// Ends it, and what is under way, and gives the record.
    pub(super) async fn clear(self) -> Calls {
        self.seat.over.store(true, Ordering::SeqCst);
        self.serves.abort();
        // What is being written into the copy is written before the copy is looked at.
        drop(self.seat.turn.lock().await);
        self.seat.calls.taken()
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        self.seat.over.store(true, Ordering::SeqCst);
        self.serves.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    fn seat() -> Arc<Seat> {
        let commit = CommitId::new("a".repeat(40)).unwrap();
        Arc::new(Seat::new(Role::Main, commit, PathBuf::from("/nowhere"), None, Sight::default()))
    }

    /// Answers each client with what it heard of it.
    struct Echo;

    impl Tools for Echo {
        fn talk(&self, client: UnixStream, seat: Arc<Seat>) -> BoxFuture<'static, ()> {
            Box::pin(async move {
                let (from, mut to) = client.into_split();
                let mut heard = Vec::new();
                let _ = Ear { from, seat }.read_to_end(&mut heard).await;
                let _ = to.write_all(format!("{}", heard.len()).as_bytes()).await;
            })
        }
    }

    #[tokio::test]
    async fn one_call_is_worked_off_at_a_time_and_only_so_many_wait() {
        let seat = seat();
        let first = seat.turn().await.unwrap();
        let mut waiting = JoinSet::new();
        for _ in 0..MOST_WAITING {
            let seat = seat.clone();
            waiting.spawn(async move { seat.turn().await.map(drop) });
        }
        while seat.waiting.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(seat.turn().await.err(), Some(NoTurn::Crowded));
        // What is worked off is worked off to the end; who waited for it meets the end.
        let table = Table { seat: seat.clone(), serves: tokio::spawn(std::future::pending()) };
        let clear = tokio::spawn(table.clear());
        while !seat.over.load(Ordering::SeqCst) {
            tokio::task::yield_now().await;
        }
        assert!(!clear.is_finished(), "the first is still at it");
        drop(first);
        clear.await.unwrap();
        assert!(waiting.join_all().await.iter().all(|turn| *turn == Err(NoTurn::Over)));
    }

    #[tokio::test]
    async fn who_talks_without_end_is_not_listened_to_without_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mcp.sock");
        let table = Table::lay(Arc::new(Echo), seat(), &path).unwrap();
        let answered = async |bytes: usize| {
            let (mut from, mut to) = UnixStream::connect(&path).await.unwrap().into_split();
            // Whoever does not listen any more closes the line.
            let says = async move {
                let _ = to.write_all(&vec![b'x'; bytes]).await;
                drop(to);
            };
            let mut text = String::new();
            let hears = async { from.read_to_string(&mut text).await };
            let _ = tokio::join!(says, hears);
            text.parse::<u64>().unwrap_or(0)
        };
        assert_eq!(answered(1_000).await, 1_000);
        let heard = answered(usize::try_from(MOST_HEARD).unwrap() * 2).await;
        assert!(heard < MOST_HEARD + 1024 * 1024, "{heard}");
        assert_eq!(answered(1_000).await, 0, "and no other client is heard");
        table.clear().await;
    }

    #[tokio::test]
    async fn a_path_that_is_too_long_is_told() {
        let long = Path::new("/tmp").join("x".repeat(LONGEST_PATH));
        let error = Table::lay(Arc::new(Echo), seat(), &long).err().unwrap();
        assert!(error.to_string().contains("too long"), "{error}");
    }
}
