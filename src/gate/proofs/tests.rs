use super::*;
use crate::engine::kit::{good_papers, sheet};

const SCOPE: &str =
    "# Scope\n\n## Acceptance Criteria\n\n- AC-1: one step from 3 gives 2 within 5 ms.\n- AC-2: 0 stays 0.\n";

/// What is asked for by these sections of readiness.
fn of(readiness: &str) -> Asked {
    let papers = Papers { scope: Some(sheet(SCOPE)), readiness: Some(sheet(readiness)), ..Papers::default() };
    asked(&papers).unwrap()
}

/// `COMMAND => PRINTS @LINE AC-1,AC-2`
fn told(asked: &Asked) -> Vec<String> {
    let one = |proof: &Proof| {
        let prints = proof.prints.as_ref().map(|text| format!(" => {text:?}")).unwrap_or_default();
        let truth = proof.truth.map(|line| format!(" truth {line}")).unwrap_or_default();
        format!("{}{prints} @{} {}{truth}", proof.command, proof.line, proof.criteria.join(","))
    };
    asked.proofs.iter().map(one).collect()
}

#[test]
fn the_good_documents_ask_for_a_proof_of_each_criterion() {
    let asked = asked(&good_papers()).unwrap();
    let ids: Vec<&str> = asked.criteria.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, ["AC-1", "AC-2"]);
    assert_eq!(
        told(&asked),
        [
            "cd src && python3 -c 'import dimmer; print(dimmer.dim(3))' => \"2\" @15 AC-1",
            "cd src && python3 -c 'import dimmer; print(dimmer.dim(0))' => \"0\" @16 AC-2",
        ]
    );
    assert_eq!((asked.truths.len(), asked.truths[0].criteria.len()), (1, 2));
}

/// Nothing else in a document is run.
#[test]
fn only_code_behind_a_shells_dollar_is_a_command() {
    let quiet = "# Key Links\n- AC-1: `dim 3` prints 2; `rm -rf /`; `$HOME`; `$ `; $ dim 3\n- AC-2: `$(dim 0)`\n\n```sh\nrm -rf /\n```\n";
    assert_eq!(told(&of(quiet)), [] as [&str; 0]);
}

#[test]
fn what_it_prints_stands_behind_a_word_for_it() {
    let row = |proof: &str| {
        of(&format!("# Key Links\n\n| | Test | Runtime proof |\n|---|---|---|\n| AC-1 | `t.py` | {proof} |\n"))
    };
    assert_eq!(told(&row("`$ dim 3` prints `2`")), ["dim 3 => \"2\" @5 AC-1"]);
    assert_eq!(told(&row("`$ dim 3` → `2`")), ["dim 3 => \"2\" @5 AC-1"]);
    assert_eq!(told(&row("`$ dim 3`, which says: `2`")), ["dim 3 => \"2\" @5 AC-1"]);
    assert_eq!(told(&row("`$ dim 3` and then `2`")), ["dim 3 @5 AC-1"]);
    assert_eq!(told(&row("`$ dim 3` prints `$ dim 2`")), ["dim 3 @5 AC-1", "dim 2 @5 AC-1"]);
    // What stands in another cell is something else.
    let cells = of("# Key Links\n\n| | Runtime proof | Test |\n|---|---|---|\n| AC-1 | `$ dim 3` prints | `t.py` |\n");
    assert_eq!(told(&cells), ["dim 3 @5 AC-1"]);
}

#[test]
fn a_block_has_commands_with_what_they_print_below() {
    let text = "# Key Links\n\n## AC-1\n\n```console\n$ dim 3\n2\n$ dim 2\n\n1\nend\n\n```\n\n## AC-2\n\n`$ dim 0` prints `0`\n";
    assert_eq!(
        told(&of(text)),
        ["dim 3 => \"2\" @6 AC-1", "dim 2 => \"\\n1\\nend\" @8 AC-1", "dim 0 => \"0\" @17 AC-2"]
            .map(|one| one.replace("\\n1", "1"))
    );
}

#[test]
fn one_command_may_show_several_and_stand_in_both_sections() {
    let text = "# Key Links\n- AC-1 and AC-2: `$ dim --all`\n\n# Acceptance Criteria Coverage\n- AC-1: `$ dim --all` prints `ok`\n- AC-2: `$ dim 0`\n";
    assert_eq!(told(&of(text)), ["dim --all => \"ok\" @2 AC-1,AC-2", "dim 0 @6 AC-2"]);
}

#[test]
fn a_truth_has_a_command_or_a_criterion() {
    let text = "# Truths\n- `$ uname` prints `Linux`\n- Levels are whole (AC-2).\n- Nobody dims twice.\n\n# Key Links\n- AC-1: `$ dim 3`\n";
    let asked = of(text);
    assert_eq!(told(&asked), ["dim 3 @7 AC-1", "uname => \"Linux\" @2  truth 2"]);
    let truths: Vec<(u32, usize)> = asked.truths.iter().map(|one| (one.line, one.criteria.len())).collect();
    assert_eq!(truths, [(2, 0), (3, 1), (4, 0)]);
    assert_eq!(of("# Truths\nnone\n\n# Key Links\n- AC-1: `$ dim 3`\n").truths, []);
}

/// The scope of an earlier change asks for nothing of this one.
#[test]
fn documents_of_an_earlier_change_ask_for_nothing() {
    let mut papers = good_papers();
    papers.base_scope = papers.scope.clone();
    assert_eq!(asked(&papers), None);
    assert_eq!(asked(&Papers { scope: None, ..good_papers() }), None);
}

/// Without readiness nothing is shown, and that is said.
#[test]
fn readiness_that_is_not_there_is_told_where_scope_has_its_criteria() {
    let bare = asked(&Papers { scope: Some(sheet(SCOPE)), ..Papers::default() }).unwrap();
    assert_eq!(bare, Asked { unwritten: Some(5), ..Asked::default() });
    assert_eq!(asked(&good_papers()).unwrap().unwritten, None);
}

/// `LINE COMMAND WHAT`
fn left(asked: &Asked) -> Vec<String> {
    let what = |one: &Unread| match &one.what {
        UnreadKind::Prints(text) => format!("{} {} prints {text}", one.line, one.command),
        other => format!("{} {} {other:?}", one.line, cut(&one.command, 20)),
    };
    asked.unread.iter().map(what).collect()
}

#[test]
fn an_output_that_is_not_code_is_told() {
    let row = |proof: &str| {
        left(&of(&format!("# Key Links\n\n| | Test | Runtime proof |\n|---|---|---|\n| AC-1 | `t.py` | {proof} |\n")))
    };
    for (proof, value) in [
        ("`$ dim 3` prints 77", "77"),
        ("`$ dim 3` prints 77.", "77"),
        ("`$ dim 3`, which prints \"a level\", and ends", "\"a level\""),
        ("`$ dim 3` → -2", "-2"),
        ("`$ dim 3` says: ok", "ok"),
        ("`$ dim 3` shows level 2; see `t.py`", "level 2"),
        ("`$ dim 3` answers 200 (see `t.py`)", "200"),
    ] {
        assert_eq!(row(proof), [format!("5 dim 3 prints {value}")], "{proof}");
    }
    for proof in [
        "`$ dim 3` prints `77`",
        "`$ dim 3`",
        "`$ dim 3` and look at it",
        "`$ dim 3` shows the level of the lamp, which is 2",
        "`$ dim 3` returns within 5 ms",
        "`$ wrk http://a` shows p99 below 50 ms",
        "`$ dim 3` returns 0",
        "`$ dim 3` prints nothing",
        "`$ dim 3` (see `t.py`)",
    ] {
        assert_eq!(row(proof), [] as [&str; 0], "{proof}");
    }
}

#[test]
fn a_command_goes_on_behind_its_lines_end() {
    let block = |text: &str| of(&format!("# Key Links\n\n## AC-1\n\n```console\n{text}\n```\n"));
    let joined = block("$ dim \\\n    --from 3 \\\n> --by 1\n2\n$ dim 0\n0");
    assert_eq!(told(&joined), ["dim --from 3 --by 1 => \"2\" @6 AC-1", "dim 0 => \"0\" @10 AC-1"]);
    assert_eq!(left(&joined), [] as [&str; 0]);
    let cut = block("$ dim \\");
    assert_eq!((told(&cut), left(&cut)), (vec![], vec!["6 dim \\ GoesOn".to_owned()]));
    let inline = of("# Key Links\n- AC-1: `$ dim \\`\n- AC-2: `$ echo a\\\\`\n");
    assert_eq!(told(&inline), ["echo a\\\\ @3 AC-2"]);
    assert_eq!(left(&inline), ["2 dim \\ GoesOn"]);
}

#[test]
fn a_threshold_under_load_is_seen() {
    for (load, says) in [
        (true, "200 requests per second with less than 1% errors"),
        (true, "p99 below 50 ms at 100 concurrent users"),
        (true, "answers within 50 ms under load"),
        (true, "500 writes/s"),
        (false, "answers within 50 ms"),
        (false, "no more than 3 steps per second"),
        (false, "concurrent edits are merged"),
    ] {
        assert_eq!(is_under_load(says), load, "{says}");
    }
    for (load, command) in [
        (true, "hey -n 200 http://localhost:80/"),
        (true, "npx autocannon -c 10 :80"),
        (true, "./bench.sh"),
        (false, "curl localhost"),
        (true, "PORT=80 ./load_test.py"),
        (true, "serve & npm run bench"),
        (false, "echo upload 5"),
        (false, "echo bench"),
        (false, "./prog # bench"),
        (false, "./prog --payload 5"),
    ] {
        assert_eq!(puts_load(command), load, "{command}");
    }
}

#[test]
fn what_is_too_much_is_cut() {
    let many: String = (0..200).map(|n| format!("- AC-1: `$ dim {n}`\n")).collect();
    let asked = of(&format!("# Key Links\n{many}"));
    assert_eq!((asked.proofs.len(), left(&asked)), (MOST, vec!["102 dim 100 Many".to_owned()]));
    let long = "ä".repeat(3000);
    let asked = of(&format!("# Key Links\n- AC-1: `$ dim 3` prints `{long}`\n- AC-2: `$ dim {}`\n", "x".repeat(5000)));
    assert_eq!((asked.proofs.len(), left(&asked)), (1, vec!["3 dim xxxxxxxxxxxxxxxx Long".to_owned()]));
    assert_eq!(asked.proofs[0].prints.as_ref().map(String::len), Some(LONGEST_PRINTS));
}

#[test]
fn what_only_reads_is_told_from_what_runs() {
    for idle in [
        "cat docs/out.txt",
        "cd src && cat out.txt | head -1",
        "LANG=C uname -s",
        "echo 2; true",
        "/bin/cat x",
        "test -e out",
        "(cat out.txt)",
        "env LANG=C cat out.txt",
        "timeout -k 1 5s cat out.txt",
        "if true; then cat out.txt; fi",
        "while read line; do echo $line; done < out.txt",
        "cp out.txt x && cat x",
        "\\cat out.txt",
        "\"cat\" out.txt",
        "sh -c 'cat out.txt'",
        "bash -ec \"cat out.txt\"",
        "eval cat out.txt",
        "echo $(cat out.txt)",
        "echo \"level $(cat out.txt)\"",
        "echo `cat out.txt`",
        "case x in x) cat out.txt;; esac",
        "X=cat; $X out.txt",
        "find docs -name out.txt -exec cat {} +",
        "dd if=out.txt",
        "python3 src/nothing.py 0 || cat out.txt",
        "cat out.txt 2>&1",
        "for f in a b; do cat $f; done",
    ] {
        assert!(only_reads(idle), "{idle}");
    }
    for runs in [
        "cd src && python3 -c 'print(2)'",
        "cargo run -- 3 | head -1",
        "test \"$(sh lamp 1)\" = on",
        "./lamp 1 > out; cat out",
        "diff <(./lamp 1) expected",
        "timeout 5 ./lamp 1",
        "(cd src; env ./lamp 1)",
        "for n in 1 2; do ./lamp $n; done",
        "if ./lamp 1; then echo on; fi",
        "sh -c './lamp 1'",
        "sh lamp.sh",
        "eval ./lamp 1",
        "echo $(./lamp 1)",
        "echo \"$(./lamp 1)\" | grep 2",
        "find . -name lamp -exec {} \\;",
        "./lamp 1 || true",
        "./lamp 1 || { echo failed; exit 1; }",
        "./lamp 1 || (cat lamp.log; exit 1)",
        "./lamp 1 || { cat lamp.log; exit 1; }",
        "./lamp 1 2>&1 | head -1",
        "python3 -c 'print(\"cat out.txt\")'",
        "X=./lamp; $X 1",
    ] {
        assert!(!only_reads(runs), "{runs}");
    }
}
