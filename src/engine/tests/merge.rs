//! The merge flow: no phases, only the gate.

use crate::engine::kit::*;
use crate::engine::{Happened, decide};
use crate::gate::world::{Law, Review};
use crate::gate::{Finding, Verdict};
use crate::ids::Role;
use crate::ids::{ChangeNumber, Digest};
use crate::ledger::incident::Breach;
use crate::ledger::record::Evidence;
use crate::ledger::{Body, By, State};

#[test]
fn green_needs_both_evidences() {
    let mut game = Game::merge();
    game.may_not_merge(&["MRG-01", "MRG-02"]);
    game.green().may_not_merge(&["MRG-02"]);
    game.approved_by("mia").may_merge();
    assert_eq!(game.recorded().verdict, Verdict::Pass);

    let mut game = Game::merge();
    game.approved_by("mia").may_not_merge(&["MRG-01"]);
    game.red().may_not_merge(&["MRG-01"]);
    assert!(game.finding("MRG-01").says.contains("ended as failure"));
    assert!(!game.finding("MRG-01").waiting);
}

#[test]
fn an_approval_by_comment_is_as_good_as_a_review() {
    let mut game = Game::merge();
    game.green().says("mia", Role::Maintain, "/approve nice work").done().may_merge();
    assert!(game.log.iter().any(|entry| matches!(&entry.body, Body::Approved { self_approved: false, .. })));
}

#[test]
fn more_approvals_are_counted_by_people_not_by_words() {
    let mut game = Game::with("merge: { approvals: 2 }");
    game.opened().green().approved_by("mia").may_not_merge(&["MRG-03"]);
    game.says("mia", Role::Maintain, "/approve").done().may_not_merge(&["MRG-03"]);
    assert!(game.finding("MRG-03").says.contains("1 of 2"));
    game.says("zoe", Role::Admin, "/approve").done().may_merge();

    // Mia is called something else now; she is still one person.
    let mut game = Game::with("merge: { approvals: 2 }");
    game.opened().green().says("mia", Role::Maintain, "/approve").done().approved_by("mia");
    game.world.reviews[0].by.login = "mia-renamed".to_owned();
    game.look().may_not_merge(&["MRG-03"]);
}

#[test]
fn authors_operators_readers_and_bots_do_not_count() {
    for (who, why) in [("ada", "wrote or pushed"), ("bob", "wrote or pushed"), ("helper[bot]", "bots never")] {
        let mut game = Game::merge();
        game.pushed_by("bob", "two").green().approved_by(who).may_not_merge(&["MRG-02"]);
        assert!(game.finding("MRG-02").says.contains(why), "{:?}", game.finding("MRG-02"));
    }
    for role in [Role::None, Role::Read, Role::Triage, Role::Write] {
        let mut game = Game::merge();
        game.green().review("eve", role, "APPROVED").may_not_merge(&["MRG-02"]);
        assert!(game.finding("MRG-02").says.contains("their role is"));
    }
    // Named in the policy, write access is enough.
    let mut game = Game::with("people: { approve: ['@eve'] }");
    game.opened().green().review("eve", Role::Write, "APPROVED").may_not_merge(&["MRG-02"]);
    game.world.reviews[0].standing.named = true;
    game.look().may_merge();
}

#[test]
fn someone_who_pushes_after_approving_becomes_an_operator() {
    let mut game = Game::merge();
    game.green().says("mia", Role::Maintain, "/approve").done().may_merge();
    // The same content, pushed by Mia.
    game.happens(&[Happened::Pushed(person("mia"))]).may_not_merge(&["MRG-02"]);
    assert!(game.finding("MRG-02").says.contains("`mia`'s approval does not count"));
}

#[test]
fn a_single_maintainer_approves_alone_and_the_record_says_so() {
    let mut game = Game::with("people: { solo: true }");
    game.opened().green().says("ada", Role::Admin, "/approve").done().may_merge();
    let kept = |game: &Game| {
        game.recorded()
            .evidence
            .iter()
            .any(|one| matches!(one, Evidence::Review { self_approved: true, discounted: None, .. }))
    };
    assert!(kept(&game));
    assert!(game.log.iter().any(|entry| matches!(entry.body, Body::Approved { self_approved: true, .. })));

    let mut game = Game::with("people: { solo: true }");
    game.opened().green().review("ada", Role::Admin, "APPROVED").may_merge();
    assert!(kept(&game));
}

#[test]
fn a_self_approval_does_not_outlive_solo() {
    let mut game = Game::with("people: { solo: true }");
    game.opened().green().says("ada", Role::Admin, "/approve").done().may_merge();
    game.policy_is("").may_not_merge(&["MRG-02"]);
    // And with solo, someone who pushed after approving is self-approved, not nobody.
    let mut game = Game::with("people: { solo: true }");
    game.opened().green().says("mia", Role::Maintain, "/approve").done();
    game.happens(&[Happened::Pushed(person("mia"))]).may_merge();
    assert!(game.recorded().evidence.iter().any(|one| matches!(one, Evidence::Review { self_approved: true, .. })));
}

#[test]
fn an_approval_goes_stale_with_a_push_and_counts_again_for_the_same_content() {
    for by_comment in [true, false] {
        let mut game = Game::merge();
        game.green();
        if by_comment {
            game.says("mia", Role::Maintain, "/approve");
        } else {
            game.approved_by("mia");
        }
        game.may_merge();
        game.push("two").green().may_not_merge(&["MRG-02"]);
        // Back to the first content by another commit: the proof has to be made again, the approval holds.
        game.rebase("three", "one").may_not_merge(&["MRG-01"]);
        game.green().may_merge();
    }
}

#[test]
fn a_review_of_a_commit_that_was_never_a_head_counts_for_nothing() {
    let mut game = Game::merge();
    game.green().approved_by("mia");
    game.world.reviews[0].commit = Some(commit("elsewhere"));
    game.look().may_not_merge(&["MRG-02"]);
    game.world.reviews[0].commit = None;
    game.look().may_not_merge(&["MRG-02"]);
}

#[test]
fn whoever_asks_for_changes_blocks_until_they_say_otherwise() {
    let mut game = Game::merge();
    game.green().approved_by("mia").review("zoe", Role::Write, "CHANGES_REQUESTED").may_not_merge(&["MRG-02"]);
    assert!(game.finding("MRG-02").says.contains("`zoe` asks for changes."));
    // What they ask for is handed on; what they quote is not theirs.
    let text = "> It parses dates.\n\nNot with a zone:\nit `drops` it.\n\n```phasegate-review\nfindings: []\n```\n";
    game.review_saying("zoe", Role::Write, "CHANGES_REQUESTED", text);
    let says = game.finding("MRG-02").says;
    assert_eq!(says, "`zoe` asks for changes: `Not with a zone: it 'drops' it.`.");
    let long = "a long word, ".repeat(40);
    game.review_saying("zoe", Role::Write, "CHANGES_REQUESTED", &long);
    let says = game.finding("MRG-02").says;
    assert!(says.ends_with("…`.") && says.len() < 260, "{says}");
    // A remark leaves it standing; a push does too.
    game.review("zoe", Role::Write, "COMMENTED").may_not_merge(&["MRG-02"]);
    game.push("two").green().approved_by("mia").may_not_merge(&["MRG-02"]);
    game.review("zoe", Role::Write, "APPROVED").may_merge();

    let mut game = Game::merge();
    game.green().approved_by("mia").review("zoe", Role::Write, "CHANGES_REQUESTED");
    // Whoever gains by it may have dismissed it. For other content the others have to look anyway.
    game.world.reviews[1].state = "DISMISSED".to_owned();
    game.look().may_not_merge(&["MRG-02"]);
    game.push("two").green().approved_by("mia").may_merge();

    // A stranger's wish is no veto.
    let mut game = Game::merge();
    game.green().approved_by("mia").review("eve", Role::Read, "CHANGES_REQUESTED").may_merge();
}

#[test]
fn a_stop_holds_the_merge_until_an_independent_person_lifts_it() {
    let mut game = Game::merge();
    game.green().approved_by("mia").says("ada", Role::Write, "/stop scope is much larger").done();
    game.may_not_merge(&["MRG-05"]);
    assert!(game.finding("MRG-05").says.contains("scope is much larger"));
    game.says("ada", Role::Admin, "/unblock fine").refused_with("CMD-07");
    game.says("bob", Role::Write, "/unblock fine").refused_with("CMD-02");
    game.says("mia", Role::Maintain, "/unblock").refused_with("CMD-05");
    game.may_not_merge(&["MRG-05"]);
    game.says("mia", Role::Maintain, "/unblock agreed on the smaller scope").done().may_merge();
    game.says("mia", Role::Maintain, "/unblock again").refused_with("CMD-03");
}

#[test]
fn a_forged_check_of_our_name_is_named() {
    for app in [15368, 99] {
        let mut game = Game::merge();
        game.green().approved_by("mia").may_merge();
        let mut forged = game.job("phasegate/merge", CI, 1, "success");
        forged.app = app;
        game.run(forged).may_not_merge(&["MRG-04"]);
        assert!(game.finding("MRG-04").says.contains(&app.to_string()));
    }
    let mut game = Game::merge();
    game.green().approved_by("mia");
    let mut ours = game.job("phasegate/merge", CI, 1, "success");
    (ours.app, ours.job_of) = (OUR_APP, None);
    game.run(ours).may_merge();
}

#[test]
fn a_thousand_forgeries_are_one_finding() {
    let mut game = Game::merge();
    for _ in 0..1000 {
        let mut forged = game.job("phasegate/merge", CI, 1, "success");
        forged.app = 99;
        game.world.checks.push(forged);
    }
    game.look().may_not_merge(&["MRG-01", "MRG-02", "MRG-04"]);
    assert_eq!(game.findings().iter().filter(|finding| finding.rule == "MRG-04").count(), 1);
}

#[test]
fn a_branch_outside_the_policy_is_never_green() {
    let mut game = Game::merge();
    game.green().approved_by("mia").may_merge();
    game.retargeted("soft");
    assert!(game.against().contains("MRG-11"));
    let mut game = Game::with("branches: ['release/*']");
    game.world.pull.base_ref = "release/1".to_owned();
    game.subject().about.base_ref = "release/1".to_owned();
    game.opened().green().approved_by("mia").may_merge();
}

#[test]
fn retargeting_asks_for_the_approval_again() {
    for by_comment in [true, false] {
        let mut game = Game::with("branches: ['soft']");
        game.world.pull.base_ref = "soft".to_owned();
        game.subject().about.base_ref = "soft".to_owned();
        game.opened().green();
        if by_comment {
            game.says("mia", Role::Maintain, "/approve");
        } else {
            game.approved_by("mia");
        }
        game.may_merge();
        game.retargeted("main").may_not_merge(&["MRG-01", "MRG-02"]);
        let anew = game.job(TEST, CI, 2, "success");
        game.run(anew).may_not_merge(&["MRG-02"]);
        assert!(by_comment || game.finding("MRG-02").says.contains("another base"), "{:?}", game.finding("MRG-02"));
        game.approved_by("mia").may_merge();
    }
}

#[test]
fn what_is_not_known_of_the_same_work_is_not_green() {
    let mut game = Game::merge();
    game.green().approved_by("mia").may_merge();
    game.world.unread = 3;
    game.look().may_not_merge(&["MRG-08"]);
    assert!(game.finding("MRG-08").says.contains("3 more changes"));
    game.world.unread = 0;
    game.world.broken.insert(ChangeNumber(8));
    game.look().may_not_merge(&["MRG-08"]);
    assert!(game.finding("MRG-08").next.contains("phasegate replay 8 --github"));
    game.world.broken.clear();
    game.world.unseen_moves = true;
    game.look().may_not_merge(&["MRG-08"]);
    assert!(game.finding("MRG-08").says.contains("Others than Phasegate"));
    game.world.unseen_moves = false;
    game.look().may_merge();
}

#[test]
fn one_commit_has_one_verdict() {
    let mut game = Game::merge();
    game.green().approved_by("mia").rival(8, "soft", false).may_not_merge(&["MRG-10"]);
    assert!(game.finding("MRG-10").says.contains("#8"));
    game.rival(8, "main", true).may_merge();
}

#[test]
fn an_invalid_policy_blocks_and_points_at_the_line() {
    let mut game = Game::merge();
    game.green().approved_by("mia").may_merge();
    let problems = crate::policy::parse(b"version: 1\nflwo: merge\n").unwrap_err();
    let findings = problems
        .iter()
        .map(|p| Finding::error(p.rule, p.says.clone(), p.next.clone()).at(crate::policy::PATH, Some(p.line)));
    let valid = std::mem::replace(&mut game.world.law, Law::Invalid(findings.collect()));
    game.look().may_not_merge(&["MRG-07"]);
    assert_eq!(game.recorded().verdict, Verdict::Fail);
    let check = &game.surface().checks[0];
    assert!(check.annotations.iter().any(|one| (one.path.as_str(), one.line) == (crate::policy::PATH, 2)));
    game.world.law = valid;
    game.look().may_merge();
}

#[test]
fn content_that_can_not_be_read_is_never_fine() {
    let mut game = Game::merge();
    game.green().approved_by("mia").may_merge();
    let subject = game.world.subject.take();
    game.look().may_not_merge(&["MRG-01"]);
    game.says("mia", Role::Maintain, "/refreeze fine").refused_with("CMD-03");
    let says = &game.refused_with("CMD-03").says;
    assert!(says.contains("could not be read"), "{says}");
    game.world.subject = subject;
    game.look().may_merge();

    let mut game = Game::with("");
    game.world.subject = None;
    game.opened().green().approved_by("mia").may_not_merge(&["MRG-01"]);
}

#[test]
fn high_risk_needs_a_lowered_autonomy() {
    let mut game = Game::with("risk: { high: ['src/auth/**'] }\nmatch: [{ label: care, autonomy: conservative }]");
    game.changes("src/auth/login.rs").opened().green().approved_by("mia");
    game.may_not_merge(&["unguarded_high_risk_auto"]);
    game.labelled("Care").may_merge();
}

#[test]
fn what_decides_its_own_green_lowers_its_autonomy() {
    let yaml = &format!("{ALONE}freeze: {{ meaning: ['.config/nextest.toml'] }}");
    for path in [
        CI,
        ".github/phasegate.yml",
        "AGENTS.md",
        "CLAUDE.md",
        ".cursor/rules/tests.mdc",
        ".gitattributes",
        "docs/CODEOWNERS",
        ".config/nextest.toml",
    ] {
        let mut game = Game::with(yaml);
        game.opened().green().may_merge();
        game.push_with("two", |game| {
            game.changes(path);
        })
        .green();
        game.may_not_merge(&["MRG-03"]);
        assert!(game.finding("self_weakening").says.contains(path));
        game.approved_by("mia").may_merge();
    }
}

#[test]
fn a_lowered_autonomy_asks_for_a_person_even_where_no_review_is_required() {
    let mut game = Game::with(&format!("{ALONE}autonomy: manual"));
    game.opened().green().may_not_merge(&["MRG-03"]);
    game.approved_by("ada").may_not_merge(&["MRG-03"]);
    game.approved_by("mia").may_merge();
}

#[test]
fn what_a_label_tightened_stays_until_the_policy_is_another() {
    let mut game = Game::with(&format!("{ALONE}match: [{{ label: care, autonomy: manual }}]"));
    game.opened().green().may_merge();
    game.labelled("care").may_not_merge(&["MRG-03"]);
    game.unlabelled().may_not_merge(&["MRG-03"]);
    game.policy_is(ALONE).may_merge();
}

#[test]
fn a_merge_with_the_gate_green_is_no_bypass() {
    let mut game = Game::merge();
    game.green().approved_by("mia").merged();
    let merged = game.now().merged.clone().unwrap();
    assert!(merged.bypassed.is_empty());
    assert!(!game.now().open);
}

/// The check was green still, because nobody was there to make it red.
#[test]
fn a_no_that_nobody_saw_before_the_merge_is_told() {
    let at = |second: i64| jiff::Timestamp::from_second(second).ok();
    let bypassed = |asked: i64, approved: Option<i64>, merged: i64| {
        let mut game = Game::merge();
        game.green().approved_by("mia").may_merge();
        let review = Review {
            id: 900,
            by: person("zoe"),
            standing: standing(Role::Write),
            state: "CHANGES_REQUESTED".to_owned(),
            commit: Some(game.world.pull.head.clone()),
            submitted_at: at(asked),
            body: None,
            says: String::new(),
        };
        let approval =
            |second| Review { id: 901, state: "APPROVED".to_owned(), submitted_at: at(second), ..review.clone() };
        let approval = approved.map(approval);
        game.world.reviews.push(review);
        game.world.reviews.extend(approval);
        game.world.pull.merged_at = at(merged);
        game.merged();
        let incident = game.now().incidents.len();
        (game.now().merged.clone().unwrap().bypassed.into_iter().collect::<Vec<_>>().join(" "), incident)
    };
    assert_eq!(bypassed(2_000_000_000, None, 2_000_000_001), ("MRG-02".to_owned(), 1));
    let taken_back = bypassed(2_000_000_000, Some(2_000_000_001), 2_000_000_001);
    assert_eq!(taken_back, (String::new(), 0), "in the second of the merge");
    assert_eq!(
        bypassed(2_000_000_001, None, 2_000_000_000),
        (String::new(), 0),
        "what is said afterwards was not gone around"
    );
}

#[test]
fn a_merge_around_the_gate_is_recorded_with_the_rules() {
    let mut game = Game::merge();
    game.green().merged();
    assert_eq!(game.now().merged.clone().unwrap().bypassed, ["MRG-02".to_owned()].into());
    assert!(game.surface().comment.contains("`bypassed_gate`"));
}

/// The incident of a change.
#[track_caller]
fn incident(game: &Game) -> (Option<String>, Vec<Finding>) {
    let [one] = &game.now().incidents[..] else { panic!("{:?}", game.now().incidents) };
    let Breach::Bypassed { by, findings } = &one.breach else { panic!("{:?}", one.breach) };
    (by.as_ref().map(|by| by.login.clone()), findings.clone())
}

#[test]
fn a_merge_around_the_gate_is_an_incident_in_the_words_that_stood_there() {
    let mut game = Game::merge();
    game.green();
    let said: Vec<Finding> = game.recorded().findings.iter().filter(|one| one.blocks()).cloned().collect();
    game.world.pull.merged_by = Some(person("root"));
    game.merged();
    assert_eq!(incident(&game), (Some("root".to_owned()), said));
    // Another look tells of nothing new.
    game.look();
    assert_eq!(game.fresh, 0);

    let mut unseen = Game::merge();
    unseen.green().approved_by("mia").may_merge();
    unseen.world.pull.head = commit("sneaked in");
    unseen.world.subject = None;
    unseen.merged();
    let rules: Vec<String> = incident(&unseen).1.into_iter().map(|one| one.rule).collect();
    assert_eq!(rules, ["MRG-01", "MRG-02"]);
}

#[test]
fn nothing_else_is_an_incident() {
    let mut passed = Game::merge();
    passed.green().approved_by("mia").merged();
    let mut observed = Game::with("enforce: observe");
    observed.opened().merged();
    let mut elsewhere = Game::merge();
    elsewhere.world.pull.base_ref = "below".to_owned();
    elsewhere.look().merged();
    // Nobody is named who could be told.
    let mut lawless = Game::merge();
    lawless.world.law = Law::Invalid(vec![Finding::error("MRG-07", "no", "yes")]);
    lawless.look().merged();
    for game in [passed, observed, elsewhere, lawless] {
        assert_eq!(game.now().incidents, []);
    }
}

#[test]
fn a_gate_that_is_not_required_any_more_is_an_incident_once_for_each_time() {
    let mut game = Game::merge();
    game.green().approved_by("mia");
    let gone = |second: i64| {
        let at = |second| jiff::Timestamp::from_second(second).unwrap();
        let (branch, since, seen) = ("main".to_owned(), at(second), at(second + 60));
        Happened::Unguarded(Breach::Unguarded { branch, since, seen })
    };
    game.happens(&[gone(60)]);
    game.may_merge();
    assert!(game.now().incidents[0].breach.rules().is_empty());
    game.happens(&[gone(60)]);
    assert_eq!((game.fresh, game.now().incidents.len()), (0, 1));
    game.happens(&[gone(120)]);
    let since: Vec<_> = game.now().incidents.iter().map(|one| one.breach.clone()).collect();
    let [Breach::Unguarded { since: first, .. }, Breach::Unguarded { since: second, branch, .. }] = &since[..] else {
        panic!("{since:?}")
    };
    assert!(first < second && branch == "main");
    // It says what it is about, and nobody is said to have merged anything.
    let told = game.incident().unwrap();
    assert_eq!(told.title, "Phasegate: `phasegate/merge` is not required on main any more");
    assert!(told.body.contains("1970-01-01 00:03 UTC") && !told.body.contains("around the gate"), "{}", told.body);
}

/// A ledger from before there were incidents has the merge and nothing else: nobody is told of that anew.
#[test]
fn a_bypass_from_before_there_were_incidents_stays_what_it_is() {
    let mut game = Game::merge();
    game.green().merged();
    let mut old: Option<State> = None;
    for record in game.records.iter().filter(|record| !matches!(record.body, Body::Incident(_))) {
        old = Some(State::fold(old, record, Digest::of("")).unwrap());
    }
    let old = old.unwrap();
    assert!(!old.merged.as_ref().unwrap().bypassed.is_empty() && old.incidents.is_empty());
    let next = decide(old.change, Some(&old), &game.world, &[], None).unwrap();
    assert!(next.entries.is_empty(), "{:?}", next.entries);
}

#[test]
fn whoever_closes_an_incident_has_taken_note() {
    let mut game = Game::merge();
    game.green().merged();
    let of = game.now().incidents[0].id;
    game.happens(&[Happened::IncidentShown { of, issue: 12 }]);
    assert!(game.now().linked.contains(&12) && game.surface().comment.contains("Incident #12 is open"));
    let by = By::Person { person: person("mia"), role: "maintain".to_owned() };
    game.happens(&[Happened::IncidentNoted { of, by: by.clone() }]);
    assert_eq!(game.now().incidents[0].noted, Some(by));
    assert!(game.surface().comment.contains("Incident #12 was closed by `mia`"));
    game.look();
    assert_eq!(game.fresh, 0);
}

#[test]
fn a_merge_of_a_head_that_was_never_judged_is_a_bypass() {
    let mut game = Game::merge();
    game.green().approved_by("mia").may_merge();
    // Pushed and merged by an administrator before anyone looked.
    game.world.pull.head = commit("sneaked in");
    game.world.subject = None;
    game.merged();
    let bypassed = game.now().merged.clone().unwrap().bypassed;
    assert!(bypassed.contains("MRG-01") && bypassed.contains("MRG-02"), "{bypassed:?}");
}

#[test]
fn observing_blocks_nothing_so_there_is_nothing_to_go_around() {
    let mut game = Game::with("enforce: observe");
    game.opened();
    assert_eq!(game.recorded().verdict, Verdict::Fail, "what it would do is on record");
    game.merged();
    assert!(game.now().merged.clone().unwrap().bypassed.is_empty());
}

#[test]
fn closing_and_reopening_keeps_what_was_proven() {
    let mut game = Game::merge();
    game.green().approved_by("mia").closed();
    assert!(!game.now().open);
    game.says("mia", Role::Maintain, "/approve").refused_with("CMD-03");
    game.says("mia", Role::Maintain, "/status");
    game.reopened().may_merge();
    assert_eq!(game.now().merge, crate::flow::merge::Stage::Mergeable);
    assert!(game.surface().comment.starts_with("### Phasegate: may merge\n"), "{}", game.surface().comment);
}

#[test]
fn the_same_push_told_twice_changes_nothing() {
    let mut game = Game::merge();
    game.pushed_by("bob", "two");
    let before = game.now().clone();
    game.happens(&[Happened::Pushed(person("bob")), Happened::Pushed(person("ada"))]);
    assert_eq!((game.fresh, game.now()), (0, &before));
    assert!(before.operators.contains(&person("bob")));
}

#[test]
fn the_first_look_begins_the_change_once() {
    let game = Game::merge();
    let openings = game.log.iter().filter(|entry| matches!(entry.body, Body::Opened { .. })).count();
    assert_eq!(openings, 1);
    let again = decide(ChangeNumber(7), None, &game.world, &[], None).unwrap();
    assert_eq!(again.entries.len(), game.log.len(), "the same world gives the same decision");
}

#[test]
fn a_branch_that_the_policy_names_must_be_protected() {
    let mut game = Game::with("branches: [next]");
    game.world.pull.base_ref = "next".to_owned();
    game.subject().about.base_ref = "next".to_owned();
    game.world.base_protected = false;
    game.opened().green().approved_by("mia").may_not_merge(&["MRG-11"]);
    assert!(game.finding("MRG-11").says.contains("not protected"), "{:?}", game.finding("MRG-11"));
    game.world.base_protected = true;
    game.look().may_merge();
}

#[test]
fn a_law_that_asks_for_nothing_says_so() {
    let mut game = Game::with("merge: { require: [] }");
    game.opened().may_merge();
    let finding = game.finding("MRG-07");
    assert!(!finding.blocks() && finding.says.starts_with("Nothing is required"), "{finding:?}");
}
