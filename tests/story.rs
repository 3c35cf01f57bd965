//! The demo's story as a test: what it shows, what it costs, and that a second delivery of everything changes nothing.

use phasegate::rehearsal::{Rehearsal, Setup, play};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_goes_from_expand_to_its_merge() {
    let _ = tracing_subscriber::fmt().with_env_filter(tracing_subscriber::EnvFilter::from_default_env()).try_init();
    let rehearsal = Rehearsal::start(Setup::default()).await.unwrap();
    let timeline = play(&rehearsal, &mut |beat| println!("{beat:?}")).await.unwrap();
    assert!(timeline.merged);
    rehearsal.end().await;
}
