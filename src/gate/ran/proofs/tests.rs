use super::*;
use crate::ids::Digest;
use crate::runner::artefact::OutputKept;
use crate::runner::proofs::{Criterion, Truth};

fn ran(command: &str, status: i32, said: &str) -> CommandRun {
    CommandRun {
        command: command.to_owned(),
        outcome: CommandOutcome::Exited,
        status: Some(status),
        signal: None,
        why: None,
        started: None,
        ended: None,
        duration_ms: 20,
        output: Some(OutputKept {
            bytes: said.len() as u64,
            digest: Digest::of(said),
            tail: said.to_owned(),
            whole: true,
            said: None,
        }),
        audit: false,
    }
}

fn proof(command: &str, id: &str, line: u32) -> Proof {
    Proof {
        command: command.to_owned(),
        prints: Some("2".to_owned()),
        line,
        criteria: vec![id.to_owned()],
        truth: None,
    }
}

/// Two criteria that are shown, and a truth that one of them rests on.
fn good() -> Proofs {
    let criterion = |id: &str, line| Criterion { id: id.to_owned(), line, load: false };
    let asked = Asked {
        criteria: vec![criterion("AC-1", 5), criterion("AC-2", 6)],
        truths: vec![Truth { line: 2, says: "levels are whole".to_owned(), criteria: vec!["AC-1".to_owned()] }],
        proofs: vec![proof("dim 3", "AC-1", 5), proof("dim 2 -b", "AC-2", 6)],
        ..Asked::default()
    };
    let on_base = |command: &str| Some(ran(command, 127, "dim: not found"));
    let ran = vec![
        Proved { run: ran("dim 3", 0, "2\n"), on_base: on_base("dim 3") },
        Proved { run: ran("dim 2 -b", 0, "from 2\n"), on_base: on_base("dim 2 -b") },
    ];
    Proofs { demanded: true, asked, ran }
}

/// `RULE:LINE says`, with a mark before a warning.
fn told(proofs: &Proofs) -> Vec<String> {
    let one = |finding: &Finding| {
        let mark = if finding.blocks() { "" } else { "~" };
        format!("{mark}{}:{} {}", finding.rule, finding.line.unwrap_or(0), finding.says)
    };
    judge(proofs).iter().map(one).collect()
}

#[test]
fn what_was_shown_is_fine() {
    assert_eq!(told(&good()), [] as [&str; 0]);
}

/// How much was looked through is told where it is not all there to see.
#[test]
fn what_was_looked_through_is_told() {
    let mut proofs = good();
    let mut run = ran("dim 3", 0, "the end\n");
    run.output.iter_mut().for_each(|output| (output.bytes, output.whole, output.said) = (90_000, false, Some(false)));
    proofs.ran[0].run = run.clone();
    let says =
        "`dim 3`, which is to show `AC-1`, did not print `2`, in none of its 90000 bytes. It said last: `the end`";
    assert_eq!(told(&proofs), [format!("VER-02:5 {says}")]);
    run.outcome = CommandOutcome::OverLimit;
    run.why = Some("it said more than 1 MiB".to_owned());
    run.status = None;
    proofs.ran[0].run = run;
    let says = "`dim 3`, which is to show `AC-1`, was ended after 20 ms: it said more than 1 MiB, and until then had not printed `2`.";
    assert!(told(&proofs)[0].contains(says), "{:?}", told(&proofs));
}

/// `VER-03`: what is written and not looked at is told.
#[test]
fn what_is_not_read_is_told_at_its_line() {
    let mut proofs = good();
    let unread = |what| Unread { line: 5, command: "dim 3".to_owned(), what };
    proofs.asked.unread = vec![unread(UnreadKind::Prints("77".to_owned())), unread(UnreadKind::GoesOn)];
    assert_eq!(
        told(&proofs),
        [
            "VER-03:5 Whether `dim 3` prints `77` is not looked at: that does not stand in code.",
            "VER-03:5 `dim 3` is not run: it ends with a `\\`, and nothing follows.",
        ]
    );
    proofs.demanded = false;
    assert!(told(&proofs)[0].starts_with("~VER-03:5 "));
    let unwritten = Asked { unwritten: Some(7), ..Asked::default() };
    let found = judge(&Proofs { demanded: true, asked: unwritten, ran: Vec::new() });
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].path.as_deref(), found[0].line, found[0].blocks()), (Some(SCOPE), Some(7), true));
}

/// A command may stand for a criterion, for a truth, or for nothing that is known.
#[test]
fn what_a_command_is_for_is_told_as_it_is() {
    let mut proofs = good();
    proofs.asked.proofs[0].criteria.clear();
    proofs.ran[0].run = ran("dim 3", 1, "");
    assert!(
        told(&proofs).concat().contains("`dim 3`, which names no criterion of scope, ended with"),
        "{:?}",
        told(&proofs)
    );
    proofs.asked.proofs[0].truth = Some(2);
    assert!(told(&proofs).concat().contains("`dim 3`, which is to show a truth, ended with"), "{:?}", told(&proofs));
}

/// `VER-02`: what is run to show a criterion does so.
#[test]
fn a_proof_that_fails_is_told_with_what_it_said() {
    let mut proofs = good();
    proofs.ran[0].run = ran("dim 3", 1, "Traceback\nValueError: 3\n");
    proofs.ran[1].run = ran("dim 2 -b", 0, "from 12\n");
    assert_eq!(
        told(&proofs),
        [
            "VER-02:5 `dim 3`, which is to show `AC-1`, ended with exit status 1 after 20 ms. It said last: `Traceback · ValueError: 3`",
            "VER-02:6 `dim 2 -b`, which is to show `AC-2`, did not print `2`. It said last: `from 12`",
        ]
    );
    assert!(judge(&proofs)[0].next.contains("phasegate run verify"));
}

/// `VER-03`: what was written down beforehand shows nothing, also where it prints what it should.
#[test]
fn a_criterion_is_not_shown_by_reading_a_file() {
    let mut proofs = good();
    proofs.asked.proofs[0].command = "cat docs/out.txt".to_owned();
    proofs.ran[0].run = ran("cat docs/out.txt", 0, "2\n");
    let says =
        "VER-03:5 Nothing is run that shows `AC-1`: `cat docs/out.txt` only reads or says what was written before.";
    assert_eq!(told(&proofs), [says]);
    // Beside one that runs it, it may stand.
    proofs.asked.proofs.push(proof("dim 3 -v", "AC-1", 7));
    proofs.ran.push(Proved { run: ran("dim 3 -v", 0, "2\n"), on_base: Some(ran("dim 3 -v", 127, "dim: not found")) });
    assert_eq!(told(&proofs), [] as [&str; 0]);
}

/// A log that leaves the proofs out shows nothing.
#[test]
fn a_proof_that_was_not_run_is_told() {
    let mut proofs = good();
    proofs.ran.clear();
    assert_eq!(told(&proofs), ["VER-02:5 `dim 3`, which is to show `AC-1`, was not run."]);
}

/// `VER-03`: each criterion has a command, and the command an output.
#[test]
fn a_criterion_without_a_command_or_an_output_is_told() {
    let mut proofs = good();
    proofs.asked.proofs.pop();
    proofs.ran.pop();
    assert_eq!(told(&proofs), ["VER-03:6 Nothing is run that shows `AC-2`: Key Links has no command for it."]);
    let mut proofs = good();
    (proofs.asked.proofs[1].prints, proofs.ran[1].run) = (None, ran("dim 2 -b", 0, " \n"));
    assert_eq!(
        told(&proofs),
        ["VER-03:6 `dim 2 -b`, which is to show `AC-2`, said nothing, so there is nothing to see."]
    );
}

/// `VER-04`: one at least is shown by what would not be so without the change.
#[test]
fn what_says_the_same_on_the_base_shows_nothing() {
    let mut proofs = good();
    proofs.ran[0].on_base = Some(proofs.ran[0].run.clone());
    assert_eq!(told(&proofs), ["~VER-04:5 `dim 3`, which is to show `AC-1`, shows it on the base too."]);
    proofs.ran[1].on_base = Some(proofs.ran[1].run.clone());
    assert_eq!(
        told(&proofs),
        ["VER-04:5 All 2 commands that ran show the same on the base, so none of them shows the change."]
    );
    // Where nothing was run on the base, nobody knows.
    proofs.ran.iter_mut().for_each(|proved| proved.on_base = None);
    assert_eq!(told(&proofs), [] as [&str; 0]);
}

#[test]
fn without_any_command_nothing_is_shown() {
    let mut proofs = good();
    (proofs.asked.proofs, proofs.ran) = (Vec::new(), Vec::new());
    let rules: Vec<String> = judge(&proofs).into_iter().map(|finding| finding.rule).collect();
    assert_eq!(rules, ["VER-03", "VER-03", "VER-04", "VER-14"]);
}

/// `VER-07`: a threshold under load is measured.
#[test]
fn a_threshold_under_load_takes_a_tool_and_a_number() {
    let mut proofs = good();
    proofs.asked.criteria[0].load = true;
    assert_eq!(
        told(&proofs),
        ["VER-07:5 `AC-1` has a threshold under load, and no command of it puts load on anything."]
    );
    let measured = |said: &str| {
        let mut proofs = good();
        proofs.asked.criteria[0].load = true;
        (proofs.asked.proofs[0].command, proofs.asked.proofs[0].prints) = ("hey -n 9 :80".to_owned(), None);
        proofs.ran[0].run = ran("hey -n 9 :80", 0, said);
        told(&proofs)
    };
    assert_eq!(measured("212 requests/sec"), [] as [&str; 0]);
    assert_eq!(measured("fast"), ["VER-07:5 `hey -n 9 :80`, which is to measure `AC-1` under load, said no number."]);
}

/// `VER-14`: each truth is exercised.
#[test]
fn a_truth_that_nothing_rests_on_is_told() {
    let mut proofs = good();
    proofs.asked.truths[0].criteria.clear();
    assert_eq!(told(&proofs), ["VER-14:2 Nothing exercises the truth `levels are whole`."]);
    proofs.asked.proofs[1].truth = Some(2);
    assert_eq!(told(&proofs), [] as [&str; 0]);
}

#[test]
fn where_it_is_only_shown_nothing_blocks() {
    let mut proofs = good();
    proofs.demanded = false;
    proofs.ran[0].run = ran("dim 3", 1, "");
    assert_eq!(
        told(&proofs),
        ["~VER-02:5 `dim 3`, which is to show `AC-1`, ended with exit status 1 after 20 ms. It said nothing."]
    );
}
