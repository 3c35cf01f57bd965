use super::super::testing::{Yard, ledger, told};
use super::super::{ledger as file, read};
use super::*;

const HELD: &str = "2h since 2026-03-01T10:00:00Z";

#[test]
fn it_warns_while_a_wave_is_live_and_is_red_while_it_merges() {
    let yard = Yard::new();
    let old = yard.commit(&[], &[("a", "a")]);
    let base = yard.commit(&[&old], &[("a", "b")]);
    yard.point("main", &base);
    yard.work("dates", "wave/dates", &old);
    let rows = [["dates", "w1", "wave/dates", HELD, base.as_str()], ["zones", "w2", "wave/zones", HELD, "pending"]];
    let says = |status: &str| {
        let found = told(&standing(&yard.look(&ledger(status, &base, &rows)).unwrap()));
        found.iter().map(|one| one.split(' ').take(3).collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
    };
    assert_eq!(says("live"), ["unverified_fork_base warning WAVE.md:8", "fork_base_pending warning WAVE.md:9"]);
    assert_eq!(says("merging"), ["unverified_fork_base error WAVE.md:8", "unverified_fork_base error WAVE.md:9"]);
    // What is no ledger is red at any time.
    let text = ledger("live", &base, &rows).replace("### Roster", "### Workers");
    assert!(yard.look(&text).unwrap_err().iter().all(|finding| finding.blocks() && finding.rule == MALFORMED));
}

fn text(status: &str, base: char, tasks: &[&str]) -> String {
    let base = crate::ids::CommitId::new(base.to_string().repeat(40)).unwrap();
    let rows: Vec<[String; 5]> = tasks
        .iter()
        .map(|task| {
            [(*task).to_owned(), format!("w-{task}"), format!("wave/{task}"), "released".to_owned(), "-".to_owned()]
        })
        .collect();
    let rows: Vec<[&str; 5]> = rows.iter().map(|row| row.each_ref().map(String::as_str)).collect();
    ledger(status, &base, &rows)
}

#[test]
fn a_ledger_is_not_bent_until_it_fits() {
    let cases: &[(&str, String, String, &[&str])] = &[
        ("the same", text("live", 'a', &["x", "y"]), text("live", 'a', &["x", "y"]), &[]),
        ("it goes on", text("live", 'a', &["x"]), text("merging", 'a', &["x", "y"]), &[]),
        ("reordered while live", text("live", 'a', &["x", "y"]), text("live", 'a', &["y", "x"]), &[]),
        (
            "another base",
            text("live", 'a', &["x"]),
            text("live", 'b', &["x"]),
            &[
                "unverified_fork_base error WAVE.md:2 The base was `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa` and is `bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb`.",
            ],
        ),
        (
            "back to a warning",
            text("merging", 'a', &["x"]),
            text("live", 'a', &["x"]),
            &["wave_ledger_malformed error WAVE.md:1 The status was `merging` and is `live`."],
        ),
        (
            "a row is gone",
            text("live", 'a', &["x", "y"]),
            text("live", 'a', &["x"]),
            &["wave_ledger_malformed error WAVE.md:2 The row of `y` is gone."],
        ),
        (
            "another order",
            text("merging", 'a', &["x", "y"]),
            text("merging", 'a', &["y", "x"]),
            &["wave_ledger_malformed error WAVE.md:2 The rows are in another order than when merge-back began."],
        ),
        (
            "a late row",
            text("merging", 'a', &["x"]),
            text("merging", 'a', &["x", "y"]),
            &["wave_ledger_malformed error WAVE.md:9 The row of `y` came when merge-back had begun."],
        ),
        (
            "another wave",
            text("live", 'a', &["x"]),
            text("live", 'a', &["x"]).replace("parsers", "writers"),
            &["wave_ledger_malformed error WAVE.md:1 The wave `writers` stands where `parsers` was open."],
        ),
    ];
    for (what, before, now, says) in cases {
        let read = |text: &str| read(file::FILE, text.as_bytes()).unwrap();
        assert_eq!(told(&follows(file::FILE, &read(before), &read(now))), *says, "{what}");
    }
    // Fewer digits of the same commit are the same base.
    let short = text("live", 'a', &["x"]).replace(&"a".repeat(40), &"a".repeat(12));
    let read = |text: &str| read(file::FILE, text.as_bytes()).unwrap();
    assert!(follows(file::FILE, &read(&short), &read(&text("live", 'a', &["x"]))).is_empty());
}

#[test]
fn a_ledger_goes_at_its_end_and_not_before() {
    let yard = Yard::new();
    let base = yard.commit(&[], &[("a", "a")]);
    yard.point("main", &base);
    let look = |lease: &str| yard.look(&ledger("live", &base, &[["dates", "w1", "wave/dates", lease, "-"]])).unwrap();
    assert_eq!(told(&vanished(file::FILE, &look("stopped ESCALATE"))), Vec::<String>::new());
    assert_eq!(
        told(&vanished(file::FILE, &look("released"))),
        ["bypassed_gate error WAVE.md The ledger is gone, and `dates` is released: anyone may take it."]
    );
}

#[test]
fn a_ledger_that_goes_takes_no_error_with_it() {
    let yard = Yard::new();
    let old = yard.commit(&[], &[("a", "a")]);
    let base = yard.commit(&[&old], &[("a", "b")]);
    yard.point("main", &base);
    let tip = yard.work_with("dates", "wave/dates", &base, "HARD-STOP", "['security: a token']");
    let merged = yard.commit(&[&base, &tip], &[]);
    yard.point("main", &merged);
    let rules = |lease: &str, echo: &str| {
        let looked = yard.look(&ledger("live", &base, &[["dates", "w1", "wave/dates", lease, echo]])).unwrap();
        let (ledger, facts) = (looked.ledger, looked.facts);
        let hold = super::super::verify::Hold::AsAtMergeBack;
        let looked = super::super::judge_at(hold, file::FILE, ledger, facts, super::super::testing::now());
        let found = vanished(file::FILE, &looked);
        assert!(found.iter().all(|one| one.blocks() && one.line.is_none()), "{found:?}");
        found.into_iter().map(|one| one.rule).collect::<Vec<_>>()
    };
    assert_eq!(rules("stopped HARD-STOP", "pending"), ["bypassed_gate"]);
    assert_eq!(rules(HELD, base.as_str()), ["bypassed_gate", "bypassed_gate"], "open, and in it");
    let done = format!("done {tip}");
    assert_eq!(rules(&done, base.as_str()), ["bypassed_gate", "bypassed_gate"], "live, and a stop");
    assert_eq!(rules(&done, old.as_str()), ["unverified_fork_base", "bypassed_gate", "bypassed_gate"]);
}

#[test]
fn a_row_does_not_change_its_branch_in_silence() {
    let yard = Yard::new();
    let base = yard.commit(&[], &[("a", "a")]);
    let tip = yard.work("dates", "wave/dates", &base);
    let merged = yard.commit(&[&base, &tip], &[]);
    yard.point("main", &base);
    let row = |worker: &str, branch: &str, lease: &str| {
        ledger("merging", &base, &[["dates", worker, branch, lease, base.as_str()]])
    };
    let told_of = |before: &str, now: &str| {
        let before = yard.look(before).unwrap();
        told(&let_go(file::FILE, &before, &read(file::FILE, now.as_bytes()).unwrap(), &yard.reader()))
    };
    let (held, later) = (row("w1", "wave/dates", HELD), row("w2", "wave/new", "2h since 2026-03-01T12:00:00Z"));
    assert_eq!(
        told_of(&held, &row("w1", "empty", HELD)),
        ["wave_ledger_malformed error WAVE.md:8 The branch of `dates` was `wave/dates` and is `empty`."]
    );
    assert_eq!(told_of(&held, &later), Vec::<String>::new(), "another has taken it");
    yard.point("main", &merged);
    let says = |why: &str| {
        let (tip, merged) = (tip.short(), merged.short());
        [format!(
            "bypassed_gate error WAVE.md:8 `dates` {why}, and of `wave/dates` the commit {tip} came in with {merged}."
        )]
    };
    assert_eq!(told_of(&held, &later), says("had that branch"));
    // Nor is a stop talked away by hand.
    let stopped = row("w1", "wave/dates", "stopped HARD-STOP");
    assert_eq!(told_of(&stopped, &row("w1", "wave/dates", "released")), says("was stopped"));
    assert_eq!(told_of(&stopped, &later), says("was stopped"));
    assert_eq!(told_of(&stopped, &stopped), Vec::<String>::new(), "the row tells it");
    // Built upon, it is spoken of by what was handed in.
    let next = yard.commit(&[&tip], &[("b", "b")]);
    assert_eq!(told_of(&held, &row("w2", "wave/new", &format!("done {next}"))), Vec::<String>::new());
}

#[test]
fn what_was_noted_is_not_forgotten() {
    let read = |text: &str| read(file::FILE, text.as_bytes()).unwrap();
    let bare = text("live", 'a', &["x"]);
    let noted = bare.replace("\n\n###", "\nstopped: x 0123456789\n\n###");
    let says = ["wave_ledger_malformed error WAVE.md:2 The note `stopped: x 0123456789` is gone."];
    assert_eq!(told(&follows(file::FILE, &read(&noted), &read(&bare))), says);
    assert_eq!(
        told(&follows(file::FILE, &read(&noted), &read(&noted.replace("0123456789", "0123456")))),
        Vec::<String>::new()
    );
    assert_eq!(told(&forgotten(file::FILE, &read(&noted), &read(&noted.replace("stopped", "early")))), says);
}

#[test]
fn a_wave_goes_where_it_was_opened_for() {
    let before = text("live", 'a', &["x"]).replacen("\n\n###", "\ninto: develop\n\n###", 1);
    let told = |now: &str| {
        let (before, now) = (file::read(before.as_bytes()).unwrap(), file::read(now.as_bytes()).unwrap());
        told(&follows("WAVE.md", &before, &now))
    };
    assert_eq!(told(&before), Vec::<String>::new());
    assert_eq!(
        told(&before.replace("develop", "main")),
        ["wave_ledger_malformed error WAVE.md:2 The wave went into `develop` and goes into `main`."]
    );
    assert_eq!(told(&text("live", 'a', &["x"])).len(), 1);
}
