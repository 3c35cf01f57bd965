//! Which greens count.

use crate::engine::kit::*;
use crate::gate::people::Standing;
use crate::gate::world::{ACTIONS_APP, Beneath, CheckRun, Sibling, Untold};
use crate::ids::{Digest, Role};
use crate::ledger::record::Evidence;

/// Approved, so that only the check decides.
fn approved() -> Game {
    let mut game = Game::merge();
    game.approved_by("mia");
    game
}

/// The reason why the check does not count, and that it is on record.
#[track_caller]
fn discounted(game: &Game, why: &str) {
    let finding = game.finding("MRG-01");
    assert!(finding.says.contains(why), "{finding:?}");
    assert!(!finding.waiting);
    let kept = game
        .recorded()
        .evidence
        .iter()
        .any(|one| matches!(one, Evidence::Check { discounted: Some(reason), .. } if reason.contains(why)));
    assert!(kept, "{:#?}", game.recorded().evidence);
}

#[test]
fn a_check_of_the_wrong_app_does_not_count() {
    let mut game = approved();
    let mut run = game.job(TEST, CI, 1, "success");
    (run.app, run.job_of) = (99, None);
    game.run(run).may_not_merge(&["MRG-01"]);
    discounted(&game, "App 99, not from GitHub Actions");

    let mut game = Game::with("gates: { verify: { checks: [{ name: ci, app: 42 }] } }");
    game.opened().approved_by("mia");
    let run = CheckRun {
        id: 1,
        name: "ci".into(),
        app: 43,
        conclusion: Some("success".into()),
        started_at: None,
        job_of: None,
    };
    game.run(run.clone()).may_not_merge(&["MRG-01"]);
    discounted(&game, "App 43, not from 42");
    game.run(CheckRun { id: 2, app: 42, ..run }).may_merge();
}

#[test]
fn a_check_posted_under_actions_without_a_job_does_not_count() {
    let mut game = approved();
    let run = CheckRun { job_of: None, ..game.job(TEST, CI, 1, "success") };
    game.run(run).may_not_merge(&["MRG-01"]);
    discounted(&game, "no job of a workflow run");
    // Next to an honest red it does not help, next to an honest green it does not harm.
    game.red().may_not_merge(&["MRG-01"]);
    game.green().may_merge();
}

#[test]
fn a_job_of_another_file_or_another_head_does_not_count() {
    let mut game = approved();
    let run = game.job(TEST, ".github/workflows/mine.yml", 1, "success");
    game.run(run).may_not_merge(&["MRG-01"]);
    discounted(&game, "it is a job of .github/workflows/mine.yml");
    assert!(game.finding("MRG-01").next.contains(CI));

    let mut game = approved();
    let mut run = game.job(TEST, CI, 1, "success");
    run.job_of.as_mut().unwrap().head = commit("older");
    game.run(run).may_not_merge(&["MRG-01"]);
    discounted(&game, "its workflow run was for");
}

#[test]
fn a_workflow_that_nobody_compared_does_not_count() {
    let mut game = approved();
    game.subject().drift.clear();
    game.green().may_not_merge(&["MRG-01"]);
    discounted(&game, "not known whether its workflow");
    // What can't be known can't be accepted either.
    let mut game = approved();
    game.subject().drift.insert(CI.to_owned(), Err("`ci` is a link that leads out of the repository".to_owned()));
    game.green().may_not_merge(&["MRG-01"]);
    discounted(&game, "`ci` is a link that leads out of the repository");
    game.says("mia", Role::Maintain, "/refreeze fine").refused_with("CMD-03");
}

#[test]
fn a_changed_workflow_counts_only_after_a_refreeze_of_just_that_change() {
    let mut game = approved();
    game.push_with("two", |game| {
        game.drifts(CI, "softer").changes(CI);
    });
    game.green().approved_by("mia").may_not_merge(&["MRG-01"]);
    discounted(&game, "made by a changed workflow (`.github/workflows/ci.yml`");
    assert!(game.finding("MRG-01").next.contains("/refreeze"));
    game.says("ada", Role::Admin, "/refreeze I know").refused_with("CMD-07");
    game.says("bob", Role::Write, "/refreeze I know").refused_with("CMD-02");
    game.says("mia", Role::Maintain, "/refreeze").refused_with("CMD-05");
    game.says("mia", Role::Maintain, "/refreeze read it, a new matrix entry").done().may_merge();

    // A later blob of the same file is another matter.
    game.push_with("three", |game| {
        game.drifts(CI, "softest").changes(CI);
    });
    game.green().approved_by("mia").may_not_merge(&["MRG-01"]);
    // So is a file that was not among the accepted ones.
    game.push_with("four", |game| {
        game.drifts(CI, "softer").drifts("scripts/test.sh", "x").changes(CI);
    });
    game.green().approved_by("mia").may_not_merge(&["MRG-01"]);
    discounted(&game, "`scripts/test.sh`");
    // The accepted blob stays accepted.
    game.push_with("five", |game| {
        game.drifts(CI, "softer").changes(CI);
    });
    game.green().approved_by("mia").may_merge();
}

#[test]
fn a_deleted_file_is_accepted_as_deleted_only() {
    let mut game = approved();
    game.push_with("two", |game| {
        game.drifted("scripts/test.sh", None);
    });
    game.green().approved_by("mia").may_not_merge(&["MRG-01"]);
    game.says("mia", Role::Maintain, "/refreeze not needed any more").done().may_merge();
    game.push_with("three", |game| {
        game.drifts("scripts/test.sh", "back, and softer");
    });
    game.green().approved_by("mia").may_not_merge(&["MRG-01"]);
}

#[test]
fn no_more_is_accepted_than_was_shown() {
    let mut game = approved();
    game.push_with("two", |game| {
        for n in 0..60 {
            game.drifts(&format!("tests/{n:02}/conftest.py"), "x");
        }
    });
    game.green().approved_by("mia").may_not_merge(&["MRG-01"]);
    let surface = game.surface();
    let merge = surface.checks.iter().find(|check| check.name == "phasegate/merge").unwrap();
    let notes: Vec<&str> = merge.annotations.iter().map(|note| note.path.as_str()).collect();
    for shown in [&surface.comment, &merge.summary] {
        assert!(shown.contains("`tests/49/conftest.py`") && !shown.contains("`tests/50/conftest.py`"), "{shown}");
        assert!(shown.contains("and 10 more, which are shown when these are accepted"), "{shown}");
    }
    assert!(notes.contains(&"tests/49/conftest.py") && !notes.contains(&"tests/50/conftest.py"), "{notes:?}");
    game.says("mia", Role::Maintain, "/refreeze read them").done().may_not_merge(&["MRG-01"]);
    assert!(game.surface().comment.contains("`tests/59/conftest.py`"));
    game.says("mia", Role::Maintain, "/refreeze and the rest").done().may_merge();
    game.says("mia", Role::Maintain, "/refreeze again").refused_with("CMD-03");
}

#[test]
fn there_is_nothing_to_refreeze_when_nothing_drifted() {
    let mut game = approved();
    game.says("mia", Role::Maintain, "/refreeze just in case").refused_with("CMD-03");
}

#[test]
fn what_ran_nothing_shows_nothing() {
    for (conclusion, says) in [
        ("skipped", "it ran nothing"),
        ("neutral", "it ran nothing"),
        ("cancelled", "was cancelled"),
        ("stale", "was stale"),
        ("failure", "ended as failure"),
        ("timed_out", "ended as timed_out"),
        ("action_required", "ended as action_required"),
        ("startup_failure", "ended as startup_failure"),
    ] {
        let mut game = approved();
        game.check(TEST, conclusion).may_not_merge(&["MRG-01"]);
        let finding = game.finding("MRG-01");
        assert!(finding.says.contains(says) && !finding.waiting, "{finding:?}");
    }
    let mut game = approved();
    game.check(TEST, "running").may_not_merge(&["MRG-01"]);
    assert!(game.finding("MRG-01").waiting);
    game.check("ci / lint", "success").may_not_merge(&["MRG-01"]);
}

fn attempts(game: &Game) -> Vec<(&str, bool)> {
    let runs = game.recorded().evidence.iter().filter_map(|one| match one {
        Evidence::Check { conclusion, discounted, .. } => Some((conclusion.as_str(), discounted.is_none())),
        _ => None,
    });
    runs.collect()
}

#[test]
fn of_one_workflow_run_the_newest_attempt_decides_and_all_are_kept() {
    let mut game = approved();
    game.red().may_not_merge(&["MRG-01"]);
    game.green().may_merge();
    assert_eq!(attempts(&game), [("failure", false), ("success", true)]);
    game.check(TEST, "running").may_not_merge(&["MRG-01"]);
    assert!(game.finding("MRG-01").waiting);
    game.red().may_not_merge(&["MRG-01"]);
    assert_eq!(attempts(&game).len(), 4);
}

#[test]
fn the_order_in_which_runs_are_listed_does_not_matter() {
    let mut game = approved();
    game.red().green().may_merge();
    game.world.checks.reverse();
    game.look().may_merge();
}

#[test]
fn every_workflow_run_must_be_green() {
    // A push run and a pull request run of the same file: a green of one hides no red of the other.
    let mut game = approved();
    let (red, green) = (game.job(TEST, CI, 1, "failure"), game.job(TEST, CI, 2, "success"));
    game.world.checks = vec![red, green];
    game.look().may_not_merge(&["MRG-01"]);
    let says = game.finding("MRG-01").says;
    assert!(says.contains("in run 1, which the green run 2 does not undo"), "{says}");
    let again = game.job(TEST, CI, 1, "success");
    game.run(again).may_merge();
}

#[test]
fn of_one_app_the_newest_run_decides() {
    let mut game = Game::with("gates: { verify: { checks: [{ name: ci, app: 42 }] } }");
    game.opened().approved_by("mia");
    let run = |id, conclusion: &str| CheckRun {
        id,
        name: "ci".into(),
        app: 42,
        conclusion: Some(conclusion.into()),
        started_at: None,
        job_of: None,
    };
    game.run(run(5, "failure")).may_not_merge(&["MRG-01"]);
    game.run(run(6, "success")).may_merge();
    game.run(run(4, "failure")).may_merge();
    assert_eq!(attempts(&game).iter().filter(|(_, counts)| *counts).count(), 1);
}

#[test]
fn a_forged_newer_attempt_hides_no_red() {
    // Posted under Actions' App, with a higher id, but no job: it is not an attempt of the run.
    let mut game = approved();
    game.red();
    let forged = CheckRun { job_of: None, ..game.job(TEST, CI, 1, "success") };
    assert_eq!(forged.app, ACTIONS_APP);
    game.run(forged).may_not_merge(&["MRG-01"]);
    assert!(game.finding("MRG-01").says.contains("ended as failure"));
}

#[test]
fn each_named_check_must_be_green() {
    let mut game = Game::with(
        "gates: { verify: { checks: [{ name: test, workflow: .github/workflows/ci.yml }, \
         { name: lint, workflow: .github/workflows/ci.yml }] } }",
    );
    game.opened().approved_by("mia").check("test", "success").may_not_merge(&["MRG-01"]);
    game.check("lint", "failure").may_not_merge(&["MRG-01"]);
    game.check("lint", "success").may_merge();
}

/// Whoever posts one check can post thousands; what is recorded stays small, and nothing counts any more.
#[test]
fn a_flood_of_runs_is_red_and_leaves_a_small_record() {
    let mut game = approved();
    game.green().may_merge();
    let posted = CheckRun { job_of: None, ..game.job(TEST, CI, 1, "success") };
    for id in 0..1_500 {
        game.world.checks.push(CheckRun { id: 10_000 + id, ..posted.clone() });
        let name = format!("phasegate/{}{id}", "long".repeat(300));
        game.world.checks.push(CheckRun { id: 20_000 + id, name, app: 99, ..posted.clone() });
    }
    game.look().may_not_merge(&["MRG-01", "MRG-04"]);
    assert!(game.finding("MRG-01").says.contains("1501 runs of the policy's checks"), "{:?}", game.finding("MRG-01"));
    let size = serde_json::to_string(game.recorded()).unwrap().len();
    assert!(size < 150_000, "{size} bytes are recorded");
    let more = game.findings().pop().unwrap();
    assert_eq!((more.rule.as_str(), more.says.as_str()), ("MRG-04", "And 1450 more of this kind."));
}

#[test]
fn checks_that_cant_all_be_read_are_no_green() {
    let mut game = approved();
    game.green().may_merge();
    game.world.checks_unread = true;
    game.look().may_not_merge(&["MRG-01"]);
    assert!(game.finding("MRG-01").says.contains("more check runs on"), "{:?}", game.finding("MRG-01"));
}

#[test]
fn a_check_of_which_github_cant_tell_whose_job_it_is_is_no_green() {
    let mut game = approved();
    game.green().may_merge();
    // The same run as it is listed, where the runs of workflows are not told.
    game.world.checks.iter_mut().for_each(|run| run.job_of = None);
    game.world.untold.insert(Untold::WorkflowRuns);
    game.look().may_not_merge(&["MRG-01"]);
    let found = game.finding("MRG-01");
    assert!(found.says.contains("it has no `GET /repos/{owner}/{repo}/actions/runs`"), "{found:?}");
    assert!(found.next.contains("`app`"), "{found:?}");
}

#[test]
fn a_run_of_which_github_cant_tell_what_base_it_was_for_is_no_green() {
    let mut game = approved();
    game.green().may_merge();
    game.world.untold.insert(Untold::PullEvents);
    game.look().may_not_merge(&["MRG-01"]);
    let found = game.finding("MRG-01");
    assert!(found.says.contains("issues/{number}/events") && found.next.contains("`push`"), "{found:?}");
}

#[test]
fn two_jobs_of_one_name_in_one_attempt_must_both_be_green() {
    for (first, second) in [("success", "failure"), ("failure", "success"), ("success", "skipped")] {
        let mut game = approved();
        let one = game.job(TEST, CI, 1, first);
        let other = CheckRun { id: one.id + 100, conclusion: Some(second.to_owned()), ..one.clone() };
        game.world.checks.push(one);
        game.run(other).may_not_merge(&["MRG-01"]);
    }
}

#[test]
fn a_red_is_not_hidden_by_cancelling_its_rerun() {
    // The run of the push is green, that of the pull request is red.
    let mut game = approved();
    let (push, pull) = (game.job(TEST, CI, 1, "success"), game.job(TEST, CI, 2, "failure"));
    game.world.checks = vec![push, pull];
    game.look().may_not_merge(&["MRG-01"]);
    let again = game.job(TEST, CI, 2, "cancelled");
    game.run(again).may_not_merge(&["MRG-01"]);
    assert!(game.finding("MRG-01").says.contains("ended as failure"));
    let again = game.job(TEST, CI, 2, "success");
    game.run(again).may_merge();
    // A green that was run again for nothing stays one.
    let again = game.job(TEST, CI, 2, "cancelled");
    game.run(again).may_merge();
}

#[test]
fn a_run_of_nothing_but_cancelled_attempts_says_nothing() {
    let mut game = approved();
    game.check(TEST, "cancelled").check(TEST, "cancelled").may_not_merge(&["MRG-01"]);
    assert!(game.finding("MRG-01").next.contains("Run it again"));
    let other = game.job(TEST, CI, 2, "success");
    game.run(other).may_merge();
}

#[test]
fn a_red_leg_of_a_matrix_is_not_hidden_by_running_another_again() {
    let mut game = approved();
    let one = game.job(TEST, CI, 1, "success");
    let other = CheckRun { id: one.id + 100, conclusion: Some("failure".to_owned()), ..one.clone() };
    game.world.checks = vec![one, other];
    game.look().may_not_merge(&["MRG-01"]);
    game.green().may_not_merge(&["MRG-01"]);
    // All of them again.
    let one = game.job(TEST, CI, 1, "success");
    game.world.checks.push(CheckRun { id: one.id + 100, ..one.clone() });
    game.run(one).may_merge();
}

#[test]
fn a_recorded_red_outlives_its_run() {
    let mut game = approved();
    let red = game.job(TEST, CI, 1, "failure");
    game.run(red).may_not_merge(&["MRG-01"]);
    game.world.checks.clear();
    game.world.workflow_runs.clear();
    let green = game.job(TEST, CI, 2, "success");
    game.run(green).may_not_merge(&["MRG-01"]);
    assert!(game.finding("MRG-01").says.contains("in a run that has been deleted"), "{:?}", game.finding("MRG-01"));
    game.push("two").green().approved_by("mia").may_merge();
}

#[test]
fn a_red_that_was_made_good_may_be_deleted() {
    let mut game = approved();
    game.red().green().may_merge();
    game.world.checks.clear();
    game.world.workflow_runs.clear();
    let green = game.job(TEST, CI, 2, "success");
    game.run(green).may_merge();
}

#[test]
fn a_red_is_not_forgotten_while_it_runs_again() {
    let mut game = approved();
    game.red().check(TEST, "running");
    game.world.checks.clear();
    game.world.workflow_runs.clear();
    let green = game.job(TEST, CI, 2, "success");
    game.run(green).may_not_merge(&["MRG-01"]);
}

#[test]
fn what_started_a_run_must_not_change_what_it_runs() {
    for event in ["workflow_dispatch", "schedule", "repository_dispatch", "workflow_run", ""] {
        let mut game = approved();
        let mut run = game.job(TEST, CI, 1, "success");
        run.job_of.as_mut().unwrap().event = event.to_owned();
        game.run(run).may_not_merge(&["MRG-01"]);
        discounted(&game, "its run was started by");
    }
    for event in ["push", "pull_request", "pull_request_target", "merge_group"] {
        let mut game = approved();
        let mut run = game.job(TEST, CI, 1, "success");
        run.job_of.as_mut().unwrap().event = event.to_owned();
        game.run(run).may_merge();
    }
}

/// A run that was started at this second after the pull request went into its base.
fn started(game: &mut Game, event: &str, after: i64) -> CheckRun {
    let since = game.world.based_since.unwrap();
    let mut run = game.job(TEST, CI, 1, "success");
    let workflow = run.job_of.as_mut().unwrap();
    workflow.event = event.to_owned();
    workflow.created_at = Some(since + jiff::SignedDuration::from_secs(after));
    run
}

#[test]
fn a_run_from_before_the_pull_request_went_into_its_base_does_not_count() {
    for (event, after, counts) in
        [("pull_request", 0, false), ("pull_request", -5, false), ("pull_request", 1, true), ("push", -5, true)]
    {
        let mut game = approved();
        let run = started(&mut game, event, after);
        game.run(run);
        if counts {
            game.may_merge();
        } else {
            game.may_not_merge(&["MRG-01"]);
            assert!(game.finding("MRG-01").next.contains("close and reopen"), "{:?}", game.finding("MRG-01"));
        }
    }
    // A rerun repeats what was run, so it is as old as its run.
    let mut game = approved();
    let run = started(&mut game, "pull_request", -5);
    let mut again = CheckRun { id: run.id + 1, ..run.clone() };
    again.job_of.as_mut().unwrap().attempt += 1;
    game.world.checks.push(run);
    game.run(again).may_not_merge(&["MRG-01"]);
}

#[test]
fn a_base_that_was_another_in_between_is_noticed() {
    let mut game = approved();
    game.green().may_merge();
    let since = game.world.checks[0].job_of.as_ref().unwrap().created_at.unwrap();
    game.world.based_since = Some(since + jiff::SignedDuration::from_secs(1));
    game.look().may_not_merge(&["MRG-01"]);
}

#[test]
fn a_run_of_another_branch_does_not_count() {
    let mut game = approved();
    let mut run = game.job(TEST, CI, 1, "success");
    run.job_of.as_mut().unwrap().branch.as_mut().unwrap().name = "twin".to_owned();
    game.run(run).may_not_merge(&["MRG-01"]);
    discounted(&game, "it ran for the branch `twin`");
    let mut game = approved();
    game.world.pull.branch = None;
    game.green().may_not_merge(&["MRG-01"]);
    discounted(&game, "it is not known which branch it ran for");
}

#[test]
fn a_run_that_may_have_been_for_another_pull_request_of_the_branch_does_not_count() {
    for (covered, opened, quiet, event, counts) in [
        (false, 5, None, "pull_request", false),
        (false, 1_000, None, "pull_request", false),
        (false, 1_001, None, "pull_request", true),
        // Closed; a run may come a while after the last thing that happened there.
        (false, 5, Some(400), "pull_request", false),
        (false, 5, Some(399), "pull_request", true),
        (false, 5, Some(1_001), "pull_request", false),
        (true, 5, None, "pull_request", true),
        (false, 5, None, "push", true),
    ] {
        let mut game = approved();
        let since = game.world.based_since.unwrap();
        let second = |n| since + jiff::SignedDuration::from_secs(n);
        game.world.siblings = vec![Sibling {
            number: 8,
            base_ref: "soft".to_owned(),
            covered,
            opened: second(opened),
            quiet_since: quiet.map(second),
        }];
        let run = started(&mut game, event, 1_000);
        game.run(run);
        if counts {
            game.may_merge();
        } else {
            game.may_not_merge(&["MRG-01"]);
            assert!(game.finding("MRG-01").says.contains("it may have run for #8, which goes into `soft`"));
        }
    }
}

/// Somebody without write access whom the policy names.
#[test]
fn whoever_may_approve_may_object() {
    let named = Standing { role: Role::Triage, named: true };
    let mut game = Game::merge();
    game.green().approved_by("mia").may_merge();
    let rejects = game.comment("tim", named, "/reject it leaks");
    game.happens(&rejects).done().may_not_merge(&["MRG-02"]);
    game.world.standings.insert(person("tim").id, named);
    game.look().may_not_merge(&["MRG-02"]);
    game.world.standings.insert(person("tim").id, standing(Role::Triage));
    game.look().may_merge();

    game.review("tim", Role::Triage, "CHANGES_REQUESTED").may_merge();
    game.world.reviews.last_mut().unwrap().standing = named;
    game.look().may_not_merge(&["MRG-02"]);
    game.review("tim", Role::Triage, "APPROVED");
    game.world.reviews.last_mut().unwrap().standing = named;
    game.look().may_merge();
}

#[test]
fn an_approving_review_takes_back_its_giver_s_rejection() {
    let mut game = Game::merge();
    game.green().approved_by("mia");
    game.says("mia", Role::Maintain, "/reject it leaks").done().may_not_merge(&["MRG-02"]);
    game.approved_by("root").may_not_merge(&["MRG-02"]);
    game.approved_by("mia").may_merge();
    assert!(game.now().rejections.is_empty());
    // Of other content it takes nothing back.
    game.says("mia", Role::Maintain, "/reject it leaks").done().push("two").approved_by("mia");
    game.push("one").green().approved_by("root").may_not_merge(&["MRG-02"]);
}

/// The bot has put its own files on top of a head: the same content, another commit, on which nothing has run.
fn copied_onto(game: &mut Game) {
    let below = Beneath {
        head: game.world.pull.head.clone(),
        checks: std::mem::take(&mut game.world.checks),
        workflow_runs: game.world.workflow_runs.clone(),
    };
    let copied = commit(&format!("copies on {}", below.head));
    game.world.pull.head = copied.clone();
    game.subject().about.head = copied;
    game.world.beneath.insert(0, below);
}

#[test]
fn what_was_run_below_the_bots_own_commit_counts_until_its_own_checks_tell() {
    let mut game = approved();
    game.green().may_merge();
    copied_onto(&mut game);
    game.look().may_merge();
    copied_onto(&mut game);
    game.look().may_merge();
    // Its own checks have the last word.
    game.red().may_not_merge(&["MRG-01"]);

    let mut game = approved();
    game.red().may_not_merge(&["MRG-01"]);
    copied_onto(&mut game);
    game.look().may_not_merge(&["MRG-01"]);
    assert!(!game.finding("MRG-01").waiting, "a red below it is one until something is told of it");
    game.green().may_merge();
}

#[test]
fn below_the_bots_own_commit_only_what_was_counted_there_counts() {
    let mut game = approved();
    copied_onto(&mut game);
    game.look().may_not_merge(&["MRG-01"]);
    // It ended after that head was no head any more: nobody saw what it was run for.
    let run = game.job(TEST, CI, 1, "success");
    game.world.beneath[0].checks.push(run);
    game.look().may_not_merge(&["MRG-01"]);
    assert!(game.finding("MRG-01").waiting);

    let mut game = approved();
    game.green().may_merge();
    copied_onto(&mut game);
    // Another content than that head had.
    game.subject().about.content = Digest::of("something else");
    game.look();
    assert!(game.finding("MRG-01").waiting);
}
