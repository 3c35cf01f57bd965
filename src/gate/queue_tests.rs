//! Groups of a merge queue, each with what is found of it.

use super::*;
use crate::engine::kit::{CI, Game, OUR_APP, TEST, blob, commit};
use crate::gate::only_waiting;
use crate::gate::world::{ACTIONS_APP, WorkflowRun};
use crate::ids::{BlobId, Role};
use crate::repo::Mode;
use crate::repo::meaning::Changed;

fn file(path: &str, old: Option<&str>, new: Option<&str>) -> Delta {
    let side = |word: Option<&str>| word.map(|word| (Mode::FILE, blob(word)));
    Delta { path: RepoPath::from(path), old: side(old), new: side(new) }
}

/// A change that may merge, as the ledger has it.
fn passed(yaml: &str) -> Game {
    let mut game = Game::with(yaml);
    game.look().green().approved_by("mia").may_merge();
    game
}

fn member(game: &Game, number: u64, files: &[Delta]) -> Member {
    Member {
        number,
        head: commit("one"),
        record: Record::State(Box::new(game.now().clone())),
        base: Some(commit("base")),
        files: files.to_vec(),
    }
}

fn job(event: &str, conclusion: &str) -> CheckRun {
    CheckRun {
        id: 900,
        name: TEST.to_owned(),
        app: ACTIONS_APP,
        conclusion: (conclusion != "running").then(|| conclusion.to_owned()),
        started_at: None,
        job_of: Some(WorkflowRun {
            id: 90,
            attempt: 1,
            path: CI.to_owned(),
            head: commit("group"),
            event: event.to_owned(),
            created_at: None,
            branch: None,
        }),
    }
}

/// Two members with a file each, and a green run of the group's own.
fn group(yaml: &str) -> Group {
    let game = passed(yaml);
    let (one, two) = (file("src/one", None, Some("1")), file("src/two", Some("0"), Some("2")));
    Group {
        law: game.world.law.clone(),
        app: OUR_APP,
        head: commit("group"),
        base_ref: "main".to_owned(),
        listed: Listing::Known,
        members: vec![member(&game, 7, std::slice::from_ref(&one)), member(&game, 8, std::slice::from_ref(&two))],
        content: Content::Members { base: commit("base"), files: vec![one, two] },
        checks: vec![job("merge_group", "success")],
        workflow_runs: BTreeSet::from([90]),
        checks_unread: false,
        drift: BTreeMap::from([(CI.to_owned(), Ok(BTreeMap::new()))]),
    }
}

const CARRY: &str = "merge: { queue: carry }";

#[track_caller]
fn green(group: &Group) -> Judgement {
    let judged = judge(group);
    assert_eq!(judged.verdict, Verdict::Pass, "{:?}", judged.findings);
    judged
}

/// Red by `MRG-09`, and what it says.
#[track_caller]
fn red(group: &Group, waits: bool, says: &str) {
    let judged = judge(group);
    assert_eq!(judged.verdict, Verdict::Fail);
    let found = judged.findings.iter().find(|finding| finding.blocks() && finding.says.contains(says));
    let found = found.unwrap_or_else(|| panic!("{says:?} is not in {:?}", judged.findings));
    assert_eq!((found.rule.as_str(), found.waiting, only_waiting(&judged.findings)), (RULE, waits, waits));
}

fn change(group: &mut Group, at: usize, with: impl FnOnce(&mut State)) {
    let Record::State(state) = &mut group.members[at].record else { panic!("it is known") };
    with(state);
}

#[test]
fn members_that_passed_and_a_green_commit_may_merge() {
    let judged = green(&group(""));
    assert_eq!(judged.evidence.len(), 1, "what ran on the group is evidence");
}

#[test]
fn who_is_in_it_has_to_be_known() {
    let mut one = group("");
    one.listed = Listing::Unknown { why: "the list is empty".to_owned(), settled: false };
    red(&one, true, "the list is empty");
    one.listed = Listing::Unknown { why: "the list is empty".to_owned(), settled: true };
    red(&one, false, "the list is empty");
}

#[test]
fn a_member_without_a_good_record_fails() {
    for (record, says) in [
        (Record::Nothing, "#8 is in the group, and nothing is known"),
        (Record::Broken("cut".to_owned()), "#8 has a broken"),
    ] {
        let mut one = group("");
        one.members[1].record = record;
        red(&one, false, says);
    }
}

#[test]
fn a_member_is_proved_with_the_head_it_entered_with_and_for_this_branch() {
    let mut one = group("");
    one.members[0].head = commit("swapped");
    red(&one, false, "#7 is in the queue with");
    let mut one = group("");
    one.base_ref = "stable".to_owned();
    red(&one, false, "#7 was judged for another branch");
    let mut one = group("");
    change(&mut one, 0, |state| state.open = false);
    red(&one, false, "#7 is in the group, and is not open");
}

#[test]
fn a_member_that_is_not_green_fails_the_group_also_where_it_only_waits() {
    let mut game = passed("");
    game.says("mia", Role::Maintain, "/stop it burns");
    let mut one = group("");
    one.members[0] = member(&game, 7, &[]);
    red(&one, false, "#7 is not green");
    let mut game = Game::merge();
    game.green();
    one.members[0] = member(&game, 7, &[]);
    red(&one, false, "#7 is not green");
}

#[test]
fn a_member_is_judged_again_under_another_policy_and_for_other_content() {
    let mut one = group("");
    change(&mut one, 1, |state| state.policy = None);
    red(&one, true, "#8 has not been looked at under the present policy");
    let mut one = group("");
    change(&mut one, 1, |state| {
        let about = state.subject.as_mut().unwrap();
        about.content = crate::ids::Digest::of("moved");
    });
    red(&one, true, "#8 has not been judged for its present content");
    let mut one = group("");
    change(&mut one, 1, |state| state.gates.clear());
    red(&one, false, "#8 has never been judged");
}

#[test]
fn content_that_no_member_brings_fails() {
    let mut one = group("");
    one.content = Content::Strange(vec!["src/evil".to_owned()]);
    red(&one, false, "Unknown content: `src/evil`");
    one.content = Content::Unreadable("it can't be merged".to_owned());
    red(&one, false, "it can't be merged");
}

#[test]
fn the_groups_own_runs_decide() {
    let mut one = group("");
    one.checks.clear();
    red(&one, true, "has not run on");
    one.checks = vec![job("merge_group", "running")];
    red(&one, true, "is still running");
    one.checks = vec![job("merge_group", "failure")];
    red(&one, false, "ended as failure");
    one.checks = vec![job("pull_request", "success")];
    red(&one, false, "it ran for a pull request");
    one.checks = vec![job("workflow_dispatch", "success")];
    red(&one, false, "which can change what is run");
    one.checks = vec![CheckRun { job_of: None, ..job("merge_group", "success") }];
    red(&one, false, "it is no job of a workflow run");
    one.checks = vec![job("push", "success")];
    green(&one);
}

#[test]
fn our_name_by_another_app_is_a_forgery_and_too_many_runs_are_none() {
    let mut one = group("");
    one.checks.push(CheckRun { name: merge::CHECK_NAME.to_owned(), app: 5, job_of: None, ..job("", "success") });
    assert!(judge(&one).findings.iter().any(|finding| finding.rule == "MRG-04"));
    let mut one = group("");
    one.checks_unread = true;
    assert_eq!(judge(&one).verdict, Verdict::Fail);
}

#[test]
fn a_changed_workflow_counts_where_the_member_that_brings_it_had_it_accepted() {
    let with = |brought: &str, accepted: Option<&str>| {
        let mut one = group("");
        let changed = Changed { blob: Some(blob("new")), what: "the workflow", touched: true };
        one.drift = BTreeMap::from([(CI.to_owned(), Ok(BTreeMap::from([(CI.to_owned(), changed)])))]);
        one.members[0].files.push(file(CI, Some("old"), Some(brought)));
        let seen: BTreeSet<Option<BlobId>> = accepted.map(|word| Some(blob(word))).into_iter().collect();
        change(&mut one, 0, |state| drop(state.accepted.insert(CI.to_owned(), seen)));
        one
    };
    red(&with("new", None), false, "made by a changed workflow");
    red(&with("new", Some("older")), false, "made by a changed workflow");
    red(&with("other", Some("new")), false, "made by a changed workflow");
    green(&with("new", Some("new")));
}

#[test]
fn a_red_on_record_stays_red_when_its_run_is_gone() {
    let mut one = group("");
    one.checks = vec![job("merge_group", "failure")];
    let was = grouped(&one, &commit("base"), "", &judge(&one));
    one.checks = vec![CheckRun {
        job_of: job("", "").job_of.map(|run| WorkflowRun { id: 91, event: "push".into(), ..run }),
        ..job("", "success")
    }];
    one.workflow_runs = BTreeSet::from([91]);
    green(&one);
    change(&mut one, 0, |state| state.groups.push(was));
    red(&one, false, "in a run that has been deleted");
}

#[test]
fn members_that_touch_nothing_of_each_others_are_carried() {
    let mut one = group(CARRY);
    one.checks.clear();
    assert!(green(&one).evidence.is_empty());
}

#[test]
fn what_is_not_carried_is_verified() {
    let not = |with: &dyn Fn(&mut Group), says: &str| {
        let mut one = group(CARRY);
        with(&mut one);
        let judged = green(&one);
        let warned = judged.findings.iter().any(|finding| !finding.blocks() && finding.says.contains(says));
        assert!(warned, "{says:?} is not in {:?}", judged.findings);
        one.checks.clear();
        red(&one, true, "has not run on");
    };
    let shared = file("src/one", None, Some("1"));
    not(&|one| one.members[1].files.push(shared.clone()), "`src/one` is changed by #7 and #8");
    not(&|one| one.members[1].files = vec![file("src/two", Some("older"), Some("2"))], "is not as #8 has shown it");
    not(&|one| one.members[1].files.clear(), "nobody brings `src/two`");
}

#[test]
fn under_a_strict_base_only_one_on_its_own_base_is_carried() {
    let mut one = group("merge: { queue: carry }\nbase: strict");
    one.checks.clear();
    red(&one, true, "has not run on");
    one.members.pop();
    green(&one);
    one.members[0].base = Some(commit("older"));
    red(&one, true, "has not run on");
}

#[test]
fn without_a_valid_law_nothing_is_green() {
    let mut one = group("");
    one.law = Law::Invalid(vec![Finding::error("MRG-07", "It is broken.", "Mend it.")]);
    assert_eq!(judge(&one).verdict, Verdict::Fail);
}

#[test]
fn where_no_verification_is_asked_for_the_members_are_enough() {
    let mut one = group("merge: { require: [review] }");
    one.checks.clear();
    green(&one);
    one.members[0].record = Record::Nothing;
    red(&one, false, "nothing is known of it");
}

#[test]
fn the_name_of_a_groups_branch() {
    let sha = "a".repeat(40);
    let branch = format!("gh-readonly-queue/release/1.0/pr-12-{sha}");
    let (base, number, on) = named(&branch).unwrap();
    assert_eq!((base, number, on.as_str()), ("release/1.0", 12, sha.as_str()));
    for wrong in ["main", "gh-readonly-queue/main", "gh-readonly-queue/main/pr-x-1"] {
        assert!(named(wrong).is_none(), "{wrong}");
    }
    assert!(named(&format!("gh-readonly-queue/main/pr-1-{}", &sha[..7])).is_none());
}

#[test]
fn a_merge_as_a_red_groups_commit_is_around_the_gate_unless_a_later_one_is_green() {
    let mut one = group("");
    one.members[1].record = Record::Nothing;
    let bad = grouped(&one, &commit("base"), "", &judge(&one));
    let mut state = passed("").now().clone();
    assert!(state.red_group(&commit("group")).is_empty(), "no queue did that");
    let body = crate::ledger::Body::Grouped(Box::new(bad.clone()));
    let written = serde_json::to_string(&body).unwrap();
    assert_eq!(serde_json::from_str::<crate::ledger::Body>(&written).unwrap(), body, "it can be read again");
    state.groups.push(bad.clone());
    let rules: BTreeSet<String> = state.red_group(&commit("group")).into_iter().map(|one| one.rule).collect();
    assert_eq!(rules, BTreeSet::from([RULE.to_owned()]));
    assert!(state.red_group(&commit("other")).is_empty());
    let mut later = Grouped { head: commit("later"), verdict: Verdict::Pass, findings: Vec::new(), ..bad };
    state.groups.push(later.clone());
    assert!(state.red_group(&commit("group")).is_empty());
    later.members.pop();
    *state.groups.last_mut().unwrap() = later;
    assert!(!state.red_group(&commit("group")).is_empty(), "it has not all of them in it");
}
