//! The evidence page: beside the records, and served to whoever has its address.

use phasegate::ids::ChangeNumber;
use phasegate::ledger::evidence_page;
use phasegate::rehearsal::{LEDGER, MERGE_POLICY, REPO, Rehearsal, Setup};

use super::{green, merge_flow, proposes, proves};

/// The address of the page that the comment names.
fn linked(on: &Rehearsal, number: u64) -> String {
    let comment = on.status_comment(number).unwrap().body;
    let link = comment.split("[evidence](").nth(1).and_then(|rest| rest.split(')').next());
    link.unwrap_or_else(|| panic!("no link in\n{comment}")).to_owned()
}

pub(super) fn on_ledger(on: &Rehearsal, number: u64) -> String {
    on.admin().file(REPO, LEDGER, &evidence_page(ChangeNumber(number))).unwrap().expect("a page beside the records")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_stands_beside_the_records_and_is_linked() {
    let on = merge_flow().await;
    let number = proposes(&on, "lamp").await;
    let link = linked(&on, number);
    assert!(link.ends_with(&format!("/{REPO}/blob/{LEDGER}/changes/0/{number}/page/evidence.html")), "{link}");
    assert!(on.merge_run(number).unwrap().summary.unwrap().contains(&format!("[Evidence]({link})")));
    // The link leads somewhere.
    let source = reqwest::get(&link).await.unwrap();
    assert_eq!(source.status(), 200);
    assert!(source.text().await.unwrap().contains("What to do first"));

    let page = on_ledger(&on, number);
    assert!(page.contains("MRG-01") && page.contains("MRG-02"), "{page}");
    proves(&on, number).await;
    let page = on_ledger(&on, number);
    assert!(page.contains("may merge") && page.contains("review by <b>mia</b> (maintain)"), "{page}");
    let newest = on.records(number).unwrap().len();
    assert!(page.contains(&format!("up to {newest} (")), "{page}");
    on.merges("mia", number).await.unwrap().unwrap();
    assert!(on_ledger(&on, number).contains("Merged as "));

    // This server shows no pages of its own: nobody has said where it can be reached.
    let address = on.server().unwrap().address();
    let key = "0".repeat(64);
    let there = reqwest::get(format!("http://{address}/changes/{REPO}/{number}/{key}/evidence.html")).await.unwrap();
    assert_eq!(there.status(), 404);
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_people_can_reach_shows_it_to_whoever_has_the_address() {
    let public_url = Some("https://gate.example.test/pg/".parse().unwrap());
    let on = Rehearsal::start(Setup { public_url, ..Setup::with_policy(MERGE_POLICY) }).await.unwrap();
    let number = green(&on, "lamp").await;
    let other = proposes(&on, "other").await;
    let link = linked(&on, number);
    let path = link.strip_prefix("https://gate.example.test/pg").unwrap_or_else(|| panic!("{link}")).to_owned();
    let get = async |path: &str| {
        let answer = reqwest::get(format!("http://{}{path}", on.server().unwrap().address())).await.unwrap();
        let header = |name: &str| answer.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        let said = [
            header("content-type"),
            header("cache-control"),
            header("x-content-type-options"),
            header("referrer-policy"),
            header("x-robots-tag"),
        ];
        let policy = header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"), "{policy}");
        (answer.status().as_u16(), said.map(Option::unwrap_or_default), answer.text().await.unwrap())
    };
    let (status, said, page) = get(&path).await;
    assert_eq!(status, 200, "{page}");
    assert_eq!(said, ["text/html; charset=utf-8", "no-store", "nosniff", "no-referrer", "noindex, nofollow"]);
    assert_eq!(page, on_ledger(&on, number), "it is made of the same records");

    // A key is of one change.
    let foreign = path.replace(&format!("/{number}/"), &format!("/{other}/"));
    let guessed = path.replace(&path[path.len() - 20..], "0/evidence.html");
    for wrong in [foreign, guessed, path.replace(REPO, "octo-org/else")] {
        assert_eq!(get(&wrong).await.0, 404, "{wrong}");
    }
    // Somebody with write access writes their own: it is never served.
    let forged = "<h1>All is well</h1>";
    on.rewrites_ledger("root", &[(&evidence_page(ChangeNumber(other)), Some(forged))]).await.unwrap();
    let theirs = linked(&on, other).replacen("https://gate.example.test/pg", "", 1);
    let (status, _, page) = get(&theirs).await;
    assert!(status == 200 && !page.contains("All is well") && page.contains("MRG-01"), "{page}");
    // What is broken is said to be.
    let third = proposes(&on, "third").await;
    let theirs = linked(&on, third).replacen("https://gate.example.test/pg", "", 1);
    let record = on.record_path(third, 2);
    let text = on.admin().file(REPO, LEDGER, &record).unwrap().unwrap();
    let forged = text.replacen("\"at\":\"2", "\"at\":\"1", 1);
    assert_ne!(forged, text);
    on.rewrites_ledger("root", &[(&record, Some(&forged))]).await.unwrap();
    let (status, _, page) = get(&theirs).await;
    assert_eq!(status, 409, "{page}");
    assert!(page.starts_with("The ledger's chain is broken at record "), "{page}");
    on.end().await;
}
