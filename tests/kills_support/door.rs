//! Where GitHub finds the bot, whichever of its lives it is in.
//!
//! A process that is started again listens on another port. So webhooks come to one address here and are passed on, byte
//! for byte, to wherever the bot is now. While it is dead a connection is dropped, as on a machine where nobody listens;
//! while it is being started again, it waits.

use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Behind {
    Nobody,
    Starting,
    Bot(SocketAddr),
}

pub(crate) struct Door {
    address: SocketAddr,
    behind: watch::Sender<Behind>,
    porter: tokio::task::JoinHandle<()>,
}

impl Drop for Door {
    fn drop(&mut self) {
        self.porter.abort();
    }
}

impl Door {
    pub(crate) async fn open() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (behind, seen) = watch::channel(Behind::Nobody);
        let porter = tokio::spawn(async move {
            while let Ok((caller, _)) = listener.accept().await {
                tokio::spawn(pass_on(caller, seen.clone()));
            }
        });
        Ok(Self { address, behind, porter })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn put(&self, behind: Behind) {
        self.behind.send_replace(behind);
    }
}

async fn pass_on(mut caller: TcpStream, mut seen: watch::Receiver<Behind>) {
    let Ok(behind) = seen.wait_for(|behind| !matches!(behind, Behind::Starting)).await.map(|behind| *behind) else {
        return;
    };
    let Behind::Bot(address) = behind else { return };
    if let Ok(mut bot) = TcpStream::connect(address).await {
        // Whichever side ends, the other is told by the end of its connection.
        let _ = tokio::io::copy_bidirectional(&mut caller, &mut bot).await;
    }
}
