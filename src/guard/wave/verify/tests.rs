//! What is not known is refused. Where things are known, [`super::super::tests`] and [`super::graphs`] tell.

use super::super::git::{Stack, Target};
use super::super::testing::{ledger, now, told};
use super::super::verdict::Filed;
use super::*;

fn id(digit: char) -> CommitId {
    CommitId::new(digit.to_string().repeat(40)).unwrap()
}

fn fine() -> RowFacts {
    RowFacts {
        tip: Ok(Some(id('b'))),
        handed: Ok(Some(id('b'))),
        fork: Ok(Some(Fork::At(id('a')))),
        arrived: Ok(None),
        followed: Ok(None),
        altered: Ok(Vec::new()),
        squashed: Ok(false),
        ahead: Ok(None),
        stack: Stack::default(),
        filed: Ok(Filed::default()),
        wrote_ledger: Ok(false),
    }
}

fn found(
    lease: &str,
    base: &Result<Option<CommitId>, String>,
    based: &Result<bool, String>,
    row: RowFacts,
) -> Vec<String> {
    let text = ledger("merging", &id('a'), &[["t", "w", "b", lease, id('a').as_str()]]);
    let ledger = super::super::ledger::read(text.as_bytes()).unwrap();
    let target = Target { name: "main".to_owned(), tip: id('c') };
    let facts = Facts {
        base: base.clone(),
        target,
        based: based.clone(),
        rows: vec![row],
        noted: Vec::new(),
        behind: Ok(None),
        left: Vec::new(),
        copies: Ok(Vec::new()),
    };
    let found: Vec<Finding> =
        verify(Hold::ByStatus, "WAVE.md", &ledger, &facts, now()).into_iter().map(|one| one.finding).collect();
    assert!(found.iter().all(|finding| !finding.next.is_empty() && finding.says.ends_with('.')));
    told(&found)
}

#[test]
fn what_is_not_known_is_refused() {
    let (held, done) = ("until 2026-03-01T12:00:00Z", &format!("done {}", id('b')));
    let (known, yes) = (Ok(Some(id('a'))), Ok(true));
    assert_eq!(found(held, &known, &yes, fine()), Vec::<String>::new());
    assert_eq!(found(done, &known, &yes, fine()), Vec::<String>::new());
    let why = || "the disk is full".to_owned();
    let base = format!("`{}`", id('a'));
    assert_eq!(
        found(held, &Err(why()), &Err(why()), RowFacts { fork: Err(why()), ..fine() }),
        [
            format!(
                "unverified_fork_base error WAVE.md:2 Whether the base {base} is a commit can't be told: the disk is full."
            ),
            "unverified_fork_base error WAVE.md:8 Where `b` forked can't be told: the disk is full.".to_owned(),
        ]
    );
    assert_eq!(
        found(held, &known, &Err(why()), fine()),
        [format!(
            "unverified_fork_base error WAVE.md:2 Whether the base {base} is in `main` can't be told: the disk is full."
        )]
    );
    for row in [RowFacts { handed: Err(why()), ..fine() }, RowFacts { tip: Err(why()), ..fine() }] {
        assert_eq!(
            found(done, &known, &yes, row),
            [
                "gate_record_mismatch error WAVE.md:8 Whether `b` is as it was handed in can't be told: the disk is full."
            ]
        );
    }
    let lost = || RowFacts { arrived: Err(why()), ..fine() };
    assert_eq!(
        found(done, &known, &yes, lost()),
        ["gate_record_mismatch error WAVE.md:8 Whether `b` is merged can't be told: the disk is full."]
    );
    assert_eq!(
        found("stopped ESCALATE", &known, &yes, lost()),
        ["bypassed_gate error WAVE.md:8 Whether anything of `t` was merged can't be told: the disk is full."]
    );
    // A row that nobody holds is not looked at.
    for lease in ["released", "until 2026-03-01T10:00:00Z", "stopped ESCALATE"] {
        assert_eq!(
            found(lease, &known, &yes, RowFacts { fork: Err(why()), tip: Err(why()), ..fine() }),
            Vec::<String>::new()
        );
    }
}

#[test]
fn a_row_that_git_was_not_asked_of_is_refused() {
    let text = ledger("live", &id('a'), &[["t", "w", "b", "until 2026-03-01T12:00:00Z", "pending"]]);
    let ledger = super::super::ledger::read(text.as_bytes()).unwrap();
    let target = Target { name: "main".to_owned(), tip: id('c') };
    let facts = Facts {
        base: Ok(Some(id('a'))),
        target,
        based: Ok(true),
        rows: Vec::new(),
        noted: Vec::new(),
        behind: Ok(None),
        left: Vec::new(),
        copies: Ok(Vec::new()),
    };
    let found: Vec<Finding> =
        verify(Hold::ByStatus, "WAVE.md", &ledger, &facts, now()).into_iter().map(|one| one.finding).collect();
    assert_eq!(told(&found), ["unverified_fork_base error WAVE.md:8 Nothing is known of the branch `b`."]);
}

#[test]
fn the_target_is_known_by_each_of_its_names() {
    let branch = super::super::Branch::parse("main").unwrap();
    for name in ["main", "origin/main", "refs/heads/main", "refs/remotes/origin/main", "Main"] {
        assert!(Target { name: name.to_owned(), tip: id('c') }.is(&branch), "{name}");
    }
    assert!(!Target { name: "wave/main".to_owned(), tip: id('c') }.is(&branch));
    let arrival = |nth: usize, commit: CommitId| Arrival {
        nth,
        merge: commit.clone(),
        what: commit.clone(),
        commit,
        more: None,
        out: None,
    };
    assert!(arrival(0, id('c')) < arrival(1, id('a')));
}
