//! The pages in a real browser, and the diagrams in the library that GitHub draws them with.

use std::process::Command;

use phasegate::rehearsal::{Rehearsal, Setup, play};
use phasegate::twin::{NewRepo, Options, Stage, Twin};
use serde_json::{Value, json};

use super::{ask, oracle, phasegate};

/// The document as it stands after the browser has done all that it would do.
fn dom(url: &str) -> String {
    let home = tempfile::tempdir().unwrap();
    ask(
        Command::new(oracle("PHASEGATE_CHROMIUM"))
            // As root, in a container, there is no sandbox to be had; what is loaded is our own.
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
            .args(["--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"])
            .args(["--no-proxy-server", "--virtual-time-budget=20000", "--dump-dom"])
            .arg(format!("--user-data-dir={}", home.path().display()))
            .arg(url),
        "",
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hostile_pull_request_runs_nothing_in_a_browser() {
    let dir = tempfile::tempdir().unwrap();
    let listen = "127.0.0.1:0".parse().unwrap();
    let twin = Twin::start(Options { listen, data: dir.path().join("git") }).await.unwrap();
    let admin = twin.admin();
    for login in ["ada", "eve"] {
        admin.create_user(login).unwrap();
    }
    admin.create_repo("ada/site", NewRepo::default()).unwrap();
    admin.require_checks("ada/site", &[("gate", None)]).unwrap();
    let run = "document.documentElement.dataset.owned=1";
    let hostile = format!("<script>{run}</script><img src=x onerror=\"{run}\"><svg onload='{run}'>");
    let branch = format!("x\"><script>{run}</script>");
    let path = format!("<img src=x onerror={run}>.md");
    admin.commit("ada/site", "ada", &branch, &hostile, &[("a.md", Some("a")), (&path, Some(&hostile))]).unwrap();
    admin.open_pull("ada/site", "ada", &hostile, &branch, "main").unwrap();
    admin.comment("ada/site", "eve", 1, &hostile).unwrap();
    admin
        .comment("ada/site", "eve", 1, &format!("<details open ontoggle=\"{run}\">x\n\n[y](javascript:{run})"))
        .unwrap();
    let labels = json!({ "labels": ["<script>owned()</script>"] });
    admin.call_as("ada", "POST", "/repos/ada/site/issues/1/labels", labels).unwrap();
    let cast = vec!["ada".to_owned(), "eve".to_owned()];
    admin.open_stage("ada/site", Stage { cast, ..Stage::default() }).unwrap();

    let url = format!("{}/ada/site/pull/1", twin.url());
    let shown = tokio::task::spawn_blocking(move || dom(&url)).await.unwrap();
    assert!(!shown.contains("data-owned"), "a script ran:\n{shown}");
    for element in ["<script", "<img", "<svg"] {
        assert!(!shown.contains(element), "the browser made {element} of it:\n{shown}");
    }
    assert!(!shown.contains("href=\"javascript:"), "{shown}");
    assert!(shown.contains("<b>Merging is refused</b>"), "{shown}");
    assert!(shown.contains("Required status check \"gate\" is expected."), "{shown}");
    assert!(shown.contains("value=\"merge\">Merge</button>"), "{shown}");
    // The same page with a script of its own shows that one would have run.
    let proof = dir.path().join("proof.html");
    std::fs::write(&proof, format!("<!doctype html><html><body><script>{run}</script></body></html>")).unwrap();
    let proof = format!("file://{}", proof.display());
    assert!(tokio::task::spawn_blocking(move || dom(&proof)).await.unwrap().contains("data-owned"));
    twin.shutdown().await;
}

/// The diagrams in a text.
fn diagrams(text: &str) -> Vec<String> {
    text.split("```mermaid\n").skip(1).filter_map(|rest| rest.split("```").next()).map(str::to_owned).collect()
}

/// The exported diagrams, and every diagram that the bot shows in the course of the demo's story, are drawn by Mermaid
/// with as many arrows as they have lines for them. A diagram that it can't read would be a red box on GitHub.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mermaid_reads_every_diagram() {
    let mut texts: Vec<String> =
        ["pipeline", "merge"].map(|flow| phasegate(&["flow", "export", flow, "--format", "mermaid"])).into();
    let on = Rehearsal::start(Setup::default()).await.unwrap();
    play(&on, &mut |_| {
        for comment in on.bot_comments(1).unwrap() {
            texts.extend(diagrams(&comment).into_iter().filter(|one| !texts.contains(one)).collect::<Vec<_>>());
        }
    })
    .await
    .unwrap();
    on.end().await;
    assert!(texts.len() > 8, "only {} diagrams", texts.len());

    let dir = tempfile::tempdir().unwrap();
    std::fs::copy(oracle("PHASEGATE_MERMAID"), dir.path().join("mermaid.js")).unwrap();
    let script = format!(
        "const texts = {}; (async () => {{ const told = []; for (const text of texts) {{ try {{
           await mermaid.parse(text);
           const read = await mermaid.mermaidAPI.getDiagramFromText(text);
           told.push({{ arrows: read.db.getRelations().length }});
         }} catch (error) {{ told.push({{ error: String(error) }}); }} }}
         document.body.textContent = JSON.stringify(told); }})();",
        json!(texts).to_string().replace('<', "\\u003c")
    );
    let page = format!(
        "<!doctype html><html><head><meta charset=\"utf-8\"></head><body>nothing</body>\
         <script src=\"mermaid.js\"></script><script>{script}</script></html>"
    );
    let file = dir.path().join("page.html");
    std::fs::write(&file, page).unwrap();
    let url = format!("file://{}", file.display());
    let shown = tokio::task::spawn_blocking(move || dom(&url)).await.unwrap();
    let told = shown.split("<body>").nth(1).and_then(|rest| rest.split("</body>").next()).unwrap_or_default();
    let told: Vec<Value> = serde_json::from_str(told).unwrap_or_else(|error| panic!("{error}: {told}\n{shown}"));
    assert_eq!(told.len(), texts.len());
    for (text, told) in texts.iter().zip(&told) {
        assert_eq!(told["arrows"], text.matches(" --> ").count(), "{told}\n{text}");
    }
}
