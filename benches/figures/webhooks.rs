//! Signed webhooks accepted: how many a second, how long each waits, and what that costs, beside Probot.

use std::time::Duration;

use crate::Size;
use crate::load::{self, Until};
use crate::process::Server;
use crate::stage::{GitHub, Stage};
use crate::stats::{Rounds, mib, short, table};

/// How many clients send at once.
const CLIENTS: [usize; 3] = [1, 32, 256];

pub(crate) const PROBOT: &str = "Probot";
pub(crate) const STORING: &str = "Phasegate, storing";
pub(crate) const WORKING: &str = "Phasegate, storing and working off";

#[derive(Default)]
struct Measured {
    a_second: Rounds,
    p50: Rounds,
    p99: Rounds,
    cpu: Rounds,
}

impl Measured {
    async fn round(&mut self, stage: &Stage, server: &Server, clients: usize, time: Duration) -> anyhow::Result<()> {
        let before = server.cpu()?;
        let answered = load::send(server.address, &stage.letters, clients, Until::Over(time)).await?;
        let cpu = server.cpu()?.saturating_sub(before);
        self.a_second.push(answered.a_second());
        self.p50.push(answered.percentile(0.5));
        self.p99.push(answered.percentile(0.99));
        self.cpu.push(cpu.as_secs_f64() * 1e6 / answered.count as f64);
        Ok(())
    }
}

/// All servers stand there at once, and take their turns: what the machine does meanwhile it does to all of them.
pub(crate) async fn figure(stage: &Stage, size: &Size) -> anyhow::Result<String> {
    let mut rows = Vec::new();
    for clients in CLIENTS {
        let folders = [stage.folder()?, stage.folder()?];
        let servers = [
            (PROBOT, stage.probot().await?),
            (STORING, stage.phasegate(folders[0].path(), GitHub::Away).await?),
            (WORKING, stage.phasegate(folders[1].path(), GitHub::There).await?),
        ];
        for (_, server) in &servers {
            load::send(server.address, &stage.letters, clients, Until::Over(size.warm_up)).await?;
        }
        let mut measured: [Measured; 3] = Default::default();
        for _ in 0..size.rounds {
            for ((_, server), measured) in servers.iter().zip(&mut measured) {
                measured.round(stage, server, clients, size.round).await?;
            }
        }
        let probot = (measured[0].a_second.median(), measured[0].cpu.median());
        for ((name, server), measured) in servers.into_iter().zip(measured) {
            let faster = measured.a_second.median() / probot.0;
            let cheaper = measured.cpu.median() / probot.1;
            rows.push(vec![
                clients.to_string(),
                name.to_owned(),
                measured.a_second.told(),
                format!("{}×", short(faster)),
                measured.p50.told(),
                measured.p99.told(),
                measured.cpu.told(),
                format!("{}×", short(cheaper)),
                format!("{:.0}", mib(server.peak()?)),
            ]);
            server.end().await?;
        }
    }
    let head = [
        "clients",
        "server",
        "a second",
        "of Probot's",
        "p50, ms",
        "p99, ms",
        "CPU, µs each",
        "of Probot's",
        "peak, MiB",
    ];
    Ok(table(&head, &rows))
}
