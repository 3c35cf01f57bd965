//! Memory at rest, and after many deliveries.

use std::time::Duration;

use anyhow::ensure;

use crate::Size;
use crate::load::{self, Until};
use crate::process::Server;
use crate::stage::{GitHub, Stage};
use crate::stats::{mib, short, table};
use crate::webhooks::{PROBOT, WORKING};

const CLIENTS: usize = 32;
const PARTS: u64 = 4;

/// Its memory when it has just started, and after each part of the deliveries, when it has nothing left to do.
async fn watch(stage: &Stage, server: &Server, works: bool, deliveries: u64) -> anyhow::Result<Vec<String>> {
    tokio::time::sleep(Duration::from_secs(2)).await;
    let mut seen = vec![format!("{:.1}", mib(server.memory()?))];
    for _ in 0..PARTS {
        load::send(server.address, &stage.letters, CLIENTS, Until::Sent(deliveries / PARTS)).await?;
        if works {
            idle(server).await?;
        }
        seen.push(format!("{:.1}", mib(server.memory()?)));
    }
    seen.push(format!("{:.1}", mib(server.peak()?)));
    Ok(seen)
}

/// Returns when all that was stored has been worked off.
async fn idle(server: &Server) -> anyhow::Result<()> {
    let client = reqwest::Client::builder().no_proxy().build()?;
    let url = format!("http://{}/readyz", server.address);
    loop {
        let says: serde_json::Value = client.get(&url).send().await?.error_for_status()?.json().await?;
        let count = |name: &str| says[name].as_u64().unwrap_or_default();
        ensure!(count("dead") == 0, "deliveries died: {says}");
        if count("ready") + count("running") + count("parked") == 0 {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

pub(crate) async fn figure(stage: &Stage, size: &Size) -> anyhow::Result<String> {
    let folder = stage.folder()?;
    let mut rows = Vec::new();
    for name in [PROBOT, WORKING] {
        let works = name == WORKING;
        let server = if works { stage.phasegate(folder.path(), GitHub::There).await? } else { stage.probot().await? };
        let mut row = vec![name.to_owned()];
        row.extend(watch(stage, &server, works, size.deliveries).await?);
        rows.push(row);
        server.end().await?;
    }
    let after = (1..=PARTS).map(|part| format!("after {}", short((size.deliveries / PARTS * part) as f64)));
    let head: Vec<String> =
        ["MiB".to_owned(), "at rest".to_owned()].into_iter().chain(after).chain(["peak".to_owned()]).collect();
    Ok(table(&head.iter().map(String::as_str).collect::<Vec<_>>(), &rows))
}
