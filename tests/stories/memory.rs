//! What a change remembers: slices, snapshots that agents push, audits.

use std::path::Path;

use assert_cmd::cargo::cargo_bin_cmd;
use phasegate::rehearsal::{PIPELINE_POLICY, REPO, Rehearsal, Setup, papers};

use super::{assert_merge, kinds, merge_flow, proposes, proves};

const SLICE: &str =
    "/slice \"The lamp can be lit\" --scope \"The lamp and its tests. in: src/**, tests/** out: src/gen/**\"";

/// A verifier's report, about a scope that nobody has written.
pub(crate) const REPORT: &str = "/audit\n\n### Verdict\nFAIL\n### Mismatches\n- EXP-01: there is no scope\n### Diagnosis\n- nobody has written \
                      it (confidence: high; evidence: the findings of EXPAND)\n### Evidence gaps\n- none\n### Risk flags\n- none\n\
                      ### Verification suggestions\n- look at the folder after the next push\n";

/// The latest snapshot, as the ledger's branch has it.
fn latest(on: &Rehearsal, number: u64) -> String {
    let path = format!("changes/0/{number}/context/latest.md");
    on.admin().file(REPO, "phasegate/ledger", &path).unwrap().expect("there is one")
}

fn next_number(on: &Rehearsal, number: u64) -> u32 {
    let text = latest(on, number);
    let line = text.lines().find_map(|line| line.strip_prefix("- Iteration: ")).unwrap();
    line.parse::<u32>().unwrap() + 1
}

/// A declared slice whose EXPAND has failed three times.
async fn failed_three_times() -> (Rehearsal, u64) {
    let on = Rehearsal::start(Setup::with_policy(PIPELINE_POLICY)).await.unwrap();
    let number = proposes(&on, "work").await;
    on.says("rover", number, SLICE).await.unwrap();
    on.says("ada", number, "/expand").await.unwrap();
    for _ in 0..3 {
        on.says("rover", number, "/expand").await.unwrap();
    }
    (on, number)
}

fn answer(on: &Rehearsal, number: u64) -> String {
    on.bot_comments(number).unwrap().pop().unwrap()
}

/// What the command line says of this GitHub.
fn phasegate(on: &Rehearsal, args: &[&str]) -> String {
    let mut command = cargo_bin_cmd!("phasegate");
    command.env_clear().env("APP_ID", on.app().id.to_string()).env("PRIVATE_KEY", &on.app().pem);
    let output = command.env("GITHUB_API_URL", on.api_url()).args(args).args(["--github", REPO]).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Somebody who only has the ledger and the command line writes the next one.
fn written_by_the_cli(on: &Rehearsal, number: u64, into: &Path, args: &[&str]) -> String {
    let (number, folder) = (number.to_string(), into.to_str().unwrap());
    let said = phasegate(on, &[&["snapshot", "new", &number, "--into", folder], args].concat());
    let path = said.lines().next().expect("it says where");
    std::fs::read_to_string(into.join(path)).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_fails_on_a_slice_ask_for_an_audit_and_it_ends_by_comments_alone() {
    let (on, number) = failed_three_times().await;
    let text = latest(&on, number);
    assert!(text.contains("Consecutive Iteration FAILs (this Slice ID): 3"), "{text}");
    assert!(text.contains("Slice: The lamp can be lit") && text.contains("Next action: re-plan"), "{text}");
    assert!(on.status_comment(number).unwrap().body.contains("3 of 3 FAILs in a row"));
    on.says("mia", number, "/unblock look at it first").await.unwrap();
    // Nothing else goes on, whatever is pushed.
    on.pushes("rover", "work", "papers", &papers::ALL).await.unwrap();
    assert_eq!(on.label(number).unwrap().as_deref(), Some("phase:expand"));
    on.says("rover", number, "/expand").await.unwrap();
    assert!(answer(&on, number).starts_with("`SNP-10`"), "{}", answer(&on, number));
    on.says("rover", number, "/slice \"Something else\" --scope \"All of it. in: src/**\"").await.unwrap();
    assert!(answer(&on, number).starts_with("`SNP-10`"), "{}", answer(&on, number));

    on.says("rover", number, "/audit").await.unwrap();
    let asked = answer(&on, number);
    assert!(asked.contains("**An audit is owed**") && asked.contains("EXPAND failed on"), "{asked}");
    on.says("rover", number, &REPORT.replace("- nobody has", "- Add the file. Nobody has")).await.unwrap();
    assert!(answer(&on, number).starts_with("`SNP-11`"), "{}", answer(&on, number));
    on.says("rover", number, &REPORT.replace("### Risk flags\n- none\n", "")).await.unwrap();
    assert!(answer(&on, number).starts_with("`SNP-14`"), "{}", answer(&on, number));
    on.says("rover", number, REPORT).await.unwrap();
    assert_eq!(on.label(number).unwrap().as_deref(), Some("phase:expand"), "evidence alone is not taken to heart");
    let text = latest(&on, number);
    assert!(text.contains("- F-0005: Audit, diagnosis: nobody has written it"), "{text}");
    on.says("rover", number, "/ladder re-plan F-0005 write it first").await.unwrap();
    assert!(answer(&on, number).starts_with("`SNP-10`"), "{}", answer(&on, number));
    on.says("rover", number, "/audit promote F-0005").await.unwrap();
    assert_eq!(on.label(number).unwrap().as_deref(), Some("phase:build"), "now the documents count");
    assert!(latest(&on, number).contains("Consecutive Iteration FAILs (this Slice ID): 0"));
    assert_eq!(kinds(&on, number).iter().filter(|kind| *kind == "audited").count(), 1);
    on.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_agent_pushes_is_taken_in_when_it_follows() {
    let on = merge_flow().await;
    let number = proposes(&on, "work").await;
    let dir = tempfile::tempdir().unwrap();
    let cap = "The lamp. in: src/**";
    let file = written_by_the_cli(&on, number, dir.path(), &["--slice", "Light the lamp", "--scope", cap]);
    let name = format!("agent/context/iter-{:04}.md", next_number(&on, number));
    let added = file.replacen("None.", "- `src/lamp.py` has no `light`.", 1);
    // One that does not follow is told with its line, and nothing of it counts.
    let wrong = added.replace("Parent snapshot: iter-0001", "Parent snapshot: iter-0009");
    on.pushes("rover", "work", "what I know", &[(name.as_str(), wrong.as_str())]).await.unwrap();
    let comment = on.status_comment(number).unwrap().body;
    assert!(comment.contains("`SNP-03`") && comment.contains(&format!("{name}#L4")), "{comment}");
    assert_merge(&on, number, "failure");
    assert!(!latest(&on, number).contains("lamp.py"));
    on.pushes("rover", "work", "what I know", &[(name.as_str(), added.as_str())]).await.unwrap();
    let text = latest(&on, number);
    assert!(
        text.contains("- F-0001: `src/lamp.py` has no `light`.") && text.contains("Slice: Light the lamp"),
        "{text}"
    );
    assert!(!on.status_comment(number).unwrap().body.contains("SNP-"));
    assert_eq!(kinds(&on, number).iter().filter(|kind| *kind == "remembered").count(), 1);
    // Edited afterwards, it is refused; what was taken in stays.
    on.pushes("rover", "work", "I know better", &[(name.as_str(), &added.replace("no `light`", "a `light`"))])
        .await
        .unwrap();
    assert!(on.status_comment(number).unwrap().body.contains("`SNP-04`"));
    assert_eq!(latest(&on, number), text);
    on.pushes("rover", "work", "as it was", &[(name.as_str(), added.as_str())]).await.unwrap();
    assert!(!on.status_comment(number).unwrap().body.contains("SNP-"));
    // Work outside of the scope that it declared is held up until the scope is revised.
    on.pushes("rover", "work", "more", &[("docs/lamp.md", "Lit.\n")]).await.unwrap();
    assert!(on.status_comment(number).unwrap().body.contains("`SNP-07`"));
    on.says("rover", number, "/scope The lamp and its page. in: src/**, docs/** out: none").await.unwrap();
    assert!(!on.status_comment(number).unwrap().body.contains("SNP-"));
    on.end().await;
}

/// What `snapshot new` writes is what the bot would write: pushed as it is, it is a file like any other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_that_is_pushed_as_the_bot_writes_it_is_there() {
    let on = merge_flow().await;
    let number = proposes(&on, "work").await;
    let dir = tempfile::tempdir().unwrap();
    let args = ["--slice", "Light the lamp", "--scope", "The lamp. in: src/**"];
    let file = written_by_the_cli(&on, number, dir.path(), &args);
    let name = format!("agent/context/pr-{number}/iter-0002.md");
    // A slice that begins has its gates in the context, by the bot: without them it would not be the same file.
    on.pushes("rover", "work", "what I know", &[(name.as_str(), file.as_str())]).await.unwrap();
    let second =
        written_by_the_cli(&on, number, dir.path(), &["--scope", "The lamp and its page. in: src/**, docs/**"]);
    let name = format!("agent/context/pr-{number}/iter-0003.md");
    on.pushes("rover", "work", "more of it", &[(name.as_str(), second.as_str())]).await.unwrap();
    assert_eq!(latest(&on, number), second, "to the byte");
    proves(&on, number).await;
    assert_merge(&on, number, "success");
    // Looked at once more, and with another snapshot behind it, it is still there, and what was approved counts.
    on.says("rover", number, "/scope The lamp and its pages. in: src/**, docs/** out: none").await.unwrap();
    let comment = on.status_comment(number).unwrap().body;
    assert!(!comment.contains("SNP-"), "{comment}");
    assert_merge(&on, number, "success");
    on.pushes("rover", "work", "gone", &[(name.as_str(), &second.replace("pages", "books").replace("page", "book"))])
        .await
        .unwrap();
    assert!(on.status_comment(number).unwrap().body.contains("`SNP-04`"));
    on.pushes("rover", "work", "as it was", &[(name.as_str(), second.as_str())]).await.unwrap();
    proves(&on, number).await;
    on.merges("ada", number).await.unwrap().unwrap();
    // The memory of a merged change, with its change record, is what its records come to.
    let replayed = phasegate(&on, &["replay", &number.to_string(), "--json"]);
    assert!(replayed.contains("\"verdict\": \"PASS\"") || replayed.contains("\"verdict\":\"PASS\""), "{replayed}");
    let record = format!("changes/0/{number}/context/change-record.md");
    assert!(on.admin().file(REPO, "phasegate/ledger", &record).unwrap().is_some());
    on.end().await;
}

/// What an agent does that has just been started, and knows the capsule and the latest snapshot. Whether it did anything.
async fn a_fresh_agent_acts(on: &Rehearsal, number: u64) -> bool {
    let capsule = phasegate(on, &["next", &number.to_string()]);
    let snapshot = phasegate(on, &["snapshot", "latest", &number.to_string()]);
    assert!(capsule.len() < 1024, "{capsule}");
    let part = |name: &str| {
        let line = capsule.lines().find_map(|line| line.strip_prefix(name).map(str::trim));
        line.unwrap_or_else(|| panic!("no {name} in {capsule}")).to_owned()
    };
    assert!(part("snapshot:").ends_with(&format!("{}.md", snapshot.lines().next().unwrap().trim_start_matches("# "))));
    let allowed = part("allowed:");
    let first = allowed.split(';').next().unwrap().trim();
    if first == "/audit: hand in a verifier's report" {
        // What failed is in the snapshot, and nowhere else that it looks.
        let open = snapshot.lines().find(|line| line.starts_with("- I-")).expect("what failed is open");
        let (what, action) = open.split_once(" Next action: ").unwrap();
        assert_eq!(action, "re-plan");
        let what = what.split_once(": ").unwrap().1;
        let report = format!(
            "/audit\nVerdict: FAIL\nMismatches: {what}\nDiagnosis: nobody has written it (confidence: high)\nEvidence gaps: none\n\
             Risk flags: none\nVerification: look at the folder after the next push"
        );
        on.says("rover", number, &report).await.unwrap();
    } else if let Some(facts) = first.strip_prefix("/audit promote ") {
        let fact = facts.split(':').next().unwrap();
        assert!(snapshot.contains(&format!("- {fact}: Audit, mismatches: expand EXP-01")), "{snapshot}");
        on.says("rover", number, &format!("/audit promote {fact}")).await.unwrap();
    } else if let Some(document) = first.strip_prefix("write ").filter(|document| document.starts_with("scaffolding/"))
    {
        on.pushes("rover", "work", document, &papers::of(document)).await.unwrap();
    } else if first == "write code and tests" {
        let scope = snapshot.lines().find_map(|line| line.strip_prefix("- Scope cap: ")).unwrap();
        assert!(scope.contains("in: src/**, tests/**"), "{scope}");
        on.pushes("rover", "work", "code", &papers::CODE).await.unwrap();
        on.ci(&on.head(number).unwrap(), "success").await.unwrap();
    } else {
        return false;
    }
    true
}

/// Each turn is another agent: none of them remembers anything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_that_remember_nothing_get_out_of_an_audit_and_through_the_build() {
    let (on, number) = failed_three_times().await;
    on.says("mia", number, "/unblock find out what it is").await.unwrap();
    let mut turns = 0;
    while turns < 12 && a_fresh_agent_acts(&on, number).await {
        turns += 1;
    }
    assert_eq!(
        on.label(number).unwrap().as_deref(),
        Some("phase:review"),
        "{}",
        on.status_comment(number).unwrap().body
    );
    // Report, promotion, three documents, code.
    assert_eq!(turns, 6);
    on.end().await;
}

/// The part of a document below a heading, with the heading.
fn part_of<'t>(text: &'t str, heading: &str) -> Option<&'t str> {
    let from = text.find(&format!("## {heading}\n"))?;
    let ends = text[from + 1..].find("\n## ").map_or(text.len(), |at| from + 1 + at + 1);
    Some(&text[from..ends])
}

/// A document with nothing below one heading, and without another.
fn gaps(whole: &str, empty: &str, gone: &str) -> String {
    let hollow = format!("## {empty}\n\nTBD\n\n");
    whole.replace(part_of(whole, empty).unwrap(), &hollow).replace(part_of(whole, gone).unwrap(), "")
}

/// What a fresh agent makes of what fails: the capsule names the file and what it lacks, and it mends that and nothing else. What it
/// mended, if a gate has failed.
async fn a_fresh_agent_mends(on: &Rehearsal, number: u64) -> Option<String> {
    let capsule = phasegate(on, &["next", &number.to_string()]);
    let snapshot = phasegate(on, &["snapshot", "latest", &number.to_string()]);
    assert!(capsule.len() < 1024, "{capsule}");
    let first = capsule.lines().skip_while(|line| !line.starts_with("failing:")).nth(1)?.strip_prefix("- ")?;
    let (rule, rest) = first.split_once(' ').unwrap();
    // What fails is an open issue in the snapshot, with the one thing to do next; what nobody has begun is none.
    let open = snapshot.lines().find(|line| line.starts_with("- I-") && line.contains(rule))?;
    assert_eq!(open.matches("Next action: ").count(), 1, "{open}");
    if rule == "BLD-02" {
        assert!(rest.contains("ended as failure"), "{rest}");
        on.pushes("rover", "work", "code that passes", &papers::CODE).await.unwrap();
        on.ci(&on.head(number).unwrap(), "success").await.unwrap();
        return Some(rule.to_owned());
    }
    let path = rest.split([' ', ':']).next().unwrap();
    let heading = rest.split('“').nth(1).and_then(|rest| rest.split('”').next()).expect("it names what is missing");
    let now = on.admin().file(REPO, "work", path).unwrap().expect("the file is there");
    let said = part_of(papers::of(path)[0].1, heading).unwrap_or_else(|| panic!("no {heading} in {path}"));
    let mended = match part_of(&now, heading) {
        Some(bad) => now.replace(bad, said),
        None => format!("{now}\n{said}"),
    };
    on.pushes("rover", "work", "mended", &[(path, &mended)]).await.unwrap();
    Some(format!("{rule} {heading}"))
}

/// Documents with gaps and code that does not pass: whoever comes mends what is named, and hands over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_that_remember_nothing_mend_what_the_last_one_left_wrong() {
    let on = Rehearsal::start(Setup::with_policy(PIPELINE_POLICY)).await.unwrap();
    let number = proposes(&on, "work").await;
    on.says("rover", number, SLICE).await.unwrap();
    on.says("ada", number, "/expand").await.unwrap();
    let scope = gaps(papers::SCOPE, "Deployment Target", "Deferred");
    let scope = [("scaffolding/scope.md", scope.as_str()), ("scaffolding/log.md", papers::LOG)];
    let design = gaps(papers::DESIGN, "Observability", "Complexity Exceptions");
    let design = [("scaffolding/design.md", design.as_str())];
    let readiness = [("scaffolding/readiness.md", papers::READINESS)];
    let code = [("src/dimmer.py", "def dim(level):\n    return level\n"), papers::CODE[1]];
    let left: [(&[(&str, &str)], &str); 4] =
        [(&scope, "/expand"), (&design, "/design"), (&readiness, "/analyze"), (&code, "/build")];
    let mut mended = Vec::new();
    for (files, claim) in left {
        on.pushes("rover", "work", claim, files).await.unwrap();
        if claim == "/build" {
            on.ci(&on.head(number).unwrap(), "failure").await.unwrap();
        }
        on.says("rover", number, claim).await.unwrap();
        while let Some(what) = a_fresh_agent_mends(&on, number).await {
            mended.push(what);
            assert!(mended.len() < 10, "{mended:?}");
        }
    }
    let all = [
        "EXP-02 Deployment Target",
        "EXP-02 Deferred",
        "DSN-02 Observability",
        "DSN-02 Complexity Exceptions",
        "BLD-02",
    ];
    assert_eq!(mended, all);
    let label = on.label(number).unwrap();
    assert_eq!(label.as_deref(), Some("phase:review"), "{}", on.status_comment(number).unwrap().body);
    on.end().await;
}
