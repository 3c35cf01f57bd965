//! The evidence pages in a real browser: on a desk and on a phone, by day and by night.

use std::path::{Path, PathBuf};
use std::process::Command;

use phasegate::ids::ChangeNumber;
use phasegate::ledger::evidence_page;
use phasegate::rehearsal::{LEDGER, REPO, Rehearsal, Setup, play};
use serde_json::{Value, json};

use super::oracle;

/// What a browser makes of a page: a frame of this width is measured from outside, because the page itself runs no script.
const MEASURE: &str = r#"
const rgb = (text) => (text.match(/[\d.]+/g) || []).map(Number);
const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
const behind = (view, one) => {
  for (let at = one; at; at = at.parentElement) {
    const color = rgb(view.getComputedStyle(at).backgroundColor);
    if (color.length && color[3] !== 0) return color;
  }
  return [255, 255, 255];
};
onload = () => {
  const frame = document.querySelector('iframe'), page = frame.contentDocument, view = frame.contentWindow;
  page.querySelectorAll('details').forEach((one) => { one.open = true; });
  const root = page.documentElement;
  const faint = new Set(), wide = new Set();
  for (const one of page.querySelectorAll('body *')) {
    if (one.closest('.wide')) { if (one.matches('.wide') && one.getBoundingClientRect().right > root.clientWidth + 1) wide.add(one.tagName); continue; }
    if (one.getBoundingClientRect().right > root.clientWidth + 1) wide.add(one.tagName + ' ' + one.textContent.slice(0, 60));
  }
  for (const one of page.querySelectorAll('body *')) {
    if (![...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())) continue;
    const [a, b] = [light(rgb(view.getComputedStyle(one).color)), light(behind(view, one))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) faint.add(one.tagName + '.' + one.className + ' ' + view.getComputedStyle(one).color);
  }
  document.body.textContent = JSON.stringify({
    overflow: root.scrollWidth - root.clientWidth, wide: [...wide].slice(0, 5), faint: [...faint].slice(0, 5),
    headings: [...page.querySelectorAll('h1,h2,h3,h4,h5,h6')].map((one) => Number(one.tagName[1])),
    background: view.getComputedStyle(page.body).backgroundColor, styled: view.getComputedStyle(page.body).maxWidth,
    scripts: page.querySelectorAll('script,iframe,object,embed,form,link,[onclick],[style]').length,
    fetched: view.performance.getEntriesByType('resource').length, text: page.body.innerText.length,
  });
};
"#;

/// The document as it stands afterwards, and what was said on the console.
fn browse(url: &str, dark: bool) -> (String, String) {
    let home = tempfile::tempdir().unwrap();
    let scheme = if dark { 0 } else { 1 };
    let output = Command::new(oracle("PHASEGATE_CHROMIUM"))
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
        .args(["--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"])
        .args(["--no-proxy-server", "--virtual-time-budget=20000", "--window-size=1600,1200", "--dump-dom"])
        .args(["--enable-logging=stderr", &format!("--blink-settings=preferredColorScheme={scheme}")])
        .arg(format!("--user-data-dir={}", home.path().display()))
        .arg(url)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr)
        .lines()
        .filter(|line| line.contains("CONSOLE"))
        .collect::<Vec<_>>()
        .join("\n");
    (String::from_utf8_lossy(&output.stdout).into_owned(), said)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;")
}

fn measured(folder: &Path, page: &str, width: u32, dark: bool) -> Value {
    let frame = format!(
        "<!doctype html><html><head><meta charset=\"utf-8\"><meta name=\"color-scheme\" content=\"light dark\"></head><body>\
         <iframe width=\"{width}\" height=\"900\" frameborder=\"0\" srcdoc=\"{}\"></iframe><script>{MEASURE}</script></body></html>",
        escaped(page)
    );
    let file = folder.join(format!("frame-{width}-{dark}.html"));
    std::fs::write(&file, frame).unwrap();
    let (shown, said) = browse(&format!("file://{}", file.display()), dark);
    assert_eq!(said, "", "the browser complains");
    let told = shown.split("<body>").nth(1).and_then(|rest| rest.split("</body>").next()).unwrap_or_default();
    serde_json::from_str(told).unwrap_or_else(|error| panic!("{error}: {told:.300}\n{shown:.300}"))
}

/// Headings go down by one step at a time, and there is one of the first.
fn in_order(headings: &Value) -> bool {
    let levels: Vec<u64> = headings.as_array().unwrap().iter().filter_map(Value::as_u64).collect();
    levels.first() == Some(&1)
        && levels.iter().filter(|level| **level == 1).count() == 1
        && levels.windows(2).all(|two| two[1] <= two[0] + 1)
}

/// A page, at both widths and in both schemes.
fn reads_well(name: &str, page: &str) {
    let dir = tempfile::tempdir().unwrap();
    // Kept for whoever wants to look at it.
    std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.html")), page).unwrap();
    let mut backgrounds = Vec::new();
    for (width, dark) in [(1280, false), (1280, true), (390, false), (390, true)] {
        let told = measured(dir.path(), page, width, dark);
        let at = format!("{name} at {width}, dark {dark}: {told}");
        assert_eq!((&told["overflow"], &told["wide"], &told["faint"]), (&json!(0), &json!([]), &json!([])), "{at}");
        assert!(in_order(&told["headings"]), "{at}");
        assert_eq!((&told["scripts"], &told["fetched"]), (&json!(0), &json!(0)), "{at}");
        assert!(told["styled"] != "none" && told["text"].as_u64() > Some(300), "{at}");
        backgrounds.push(told["background"].clone());
    }
    assert!(backgrounds[0] == backgrounds[2] && backgrounds[1] == backgrounds[3], "{backgrounds:?}");
    assert_ne!(backgrounds[0], backgrounds[1], "by night it is another page");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_of_a_whole_story_reads_well_everywhere() {
    let on = Rehearsal::start(Setup::default()).await.unwrap();
    play(&on, &mut |_| {}).await.unwrap();
    let page = on.admin().file(REPO, LEDGER, &evidence_page(ChangeNumber(1))).unwrap().unwrap();
    on.end().await;
    assert!(page.contains("Records</h2>") && page.contains("DEPLOY"));
    tokio::task::spawn_blocking(move || reads_well("evidence-of-a-change", &page)).await.unwrap();
}

const REPORT: &str = r#"<testsuites><testsuite name="lamp"><testcase classname="lamp" name="shines" time="0.2"/><testcase classname="lamp" name="a name that goes on and on without any place to break it_it_goes_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on" time="1.5"><failure message="assert 9 == 10">lamp.py:4: AssertionError&#10;  expected 10</failure></testcase><testcase classname="lamp" name="later"><skipped/></testcase></testsuite></testsuites>"#;

#[test]
fn the_page_of_a_run_reads_well_everywhere() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| -> PathBuf { dir.path().join(name) };
    std::fs::write(at("report.txt"), REPORT).unwrap();
    let long = "x".repeat(400);
    let policy = format!(
        "flow: merge\ngates:\n  verify:\n    checks: [{{ name: test, workflow: .github/workflows/ci.yml }}]\n    run:\n      - echo '<script>document.title=1</script>'; echo {long}; seq 1 200\n      \
         - mkdir -p out && cp report.txt out/junit.xml && echo '1 of 3 failed' && exit 1\n      - echo never\n    reports: [\"out/*.xml\"]\n"
    );
    std::fs::write(at("policy.yml"), policy).unwrap();
    let ended = Command::new(env!("CARGO_BIN_EXE_phasegate"))
        .args(["run", "verify", "--policy", "policy.yml", "--out", "kept"])
        .current_dir(dir.path())
        .output()
        .unwrap();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    let page = std::fs::read_to_string(at("kept/evidence.html")).unwrap();
    for part in ["A run of VERIFY", "1 of 3 failed", "assert 9 == 10", "Skipped (1)", "Unconfined", "&lt;script&gt;"] {
        assert!(page.contains(part), "no {part} in\n{page}");
    }
    reads_well("evidence-of-a-run", &page);
}
