//! The server of a pass, which runs outside of the agent's walls, and the way to it from inside.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use futures::future::BoxFuture;
use rmcp::ServiceExt as _;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncWriteExt as _, copy, stdin, stdout};
use tokio::net::UnixStream;

use super::record::Record;
use super::task::Task;
use super::{About, LONGEST_MESSAGE, Server};
use crate::cli::Exit;
use crate::runner::pass::{Ear, Seat, Tools};

/// The tools of one pass.
pub(in crate::cli) struct Served {
    /// The task that it is about, if it is about one.
    pub(in crate::cli) task: Option<Task>,
}

impl Tools for Served {
    fn talk(&self, client: UnixStream, seat: Arc<Seat>) -> BoxFuture<'static, ()> {
        let task = self.task.clone();
        Box::pin(async move {
            let (from, to) = client.into_split();
            let ear = Ear { from, seat: seat.clone() };
            let transport = AsyncRwTransport::new_server(ear, to).with_max_line_length(LONGEST_MESSAGE);
            let server =
                Server { about: About::Pass { seat: seat.clone(), task }, role: seat.role, record: Record::Pass(seat) };
            // A client that makes no sense is let go, and the next one is heard.
            if let Ok(running) = server.serve(transport).await {
                let _ = running.waiting().await;
            }
        })
    }
}

/// Carries what the client says to the server of the pass, and back. It ends when either of them does.
pub(super) async fn bridge() -> anyhow::Result<Exit> {
    let socket = std::env::var_os("PHASEGATE_MCP").map(PathBuf::from).context(
        "this is not in a pass that has tools (PHASEGATE_MCP is not set); `--pass` is for an agent that `phasegate agent pass` or \
         `phasegate task run` has started",
    )?;
    let server = UnixStream::connect(&socket).await;
    let server = server.with_context(|| format!("the server of the pass does not answer at {}", socket.display()))?;
    let (mut from, mut to) = server.into_split();
    let said = async move {
        let _ = copy(&mut stdin(), &mut to).await;
        let _ = to.shutdown().await;
        // What was asked is still answered.
        std::future::pending::<()>().await;
    };
    let heard = async move {
        let mut out = stdout();
        let done = copy(&mut from, &mut out).await;
        let _ = out.flush().await;
        done
    };
    tokio::select! {
        () = said => {}
        done = heard => drop(done.context("the server of the pass can't be heard")?),
    }
    Ok(Exit::Fine)
}
