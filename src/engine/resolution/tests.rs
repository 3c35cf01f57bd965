use super::*;
use crate::engine::command;
use crate::engine::kit::*;
use crate::finding::Finding;
use crate::flow::{Phase, Stage};
use crate::gate::people::Standing;
use crate::ids::Role;
use crate::ledger::Body;
use crate::ledger::escalation::Cause;
use crate::ledger::resolution::Resolved;

/// BUILD has failed three times, and it is asked about in an issue.
fn blocked() -> Game {
    let mut game = Game::pipeline();
    game.until_building();
    for head in ["b1", "b2", "b3"] {
        game.push(head).red().says("ada", Role::Write, "/build");
    }
    game.at(Stage::BlockedOnGate).asked_in(12);
    game
}

fn stopped() -> Game {
    let mut game = Game::merge();
    game.says("ada", Role::Write, "/stop it leaks").asked_in(12);
    game
}

fn braked() -> Game {
    let mut game = Game::pipeline();
    game.until_building().says("ada", Role::Write, "/stop scope: it has doubled").asked_in(12);
    game
}

fn paused() -> Game {
    let mut game = Game::pipeline_with("mode: stepped\n");
    game.says("ada", Role::Write, "/expand").green();
    game.says("ada", Role::Write, "/expand").at(Stage::SteppedModePaused).asked_in(12);
    game
}

fn kinds(game: &Game) -> usize {
    game.log.iter().filter(|entry| !matches!(entry.body, Body::Command { .. })).count()
}

fn taken(game: &Game) -> Vec<Resolved> {
    let resolved = game.log.iter().filter_map(|entry| match &entry.body {
        Body::Resolved(resolved) => Some(Resolved::clone(resolved)),
        _ => None,
    });
    resolved.collect()
}

fn with(action: &str, yaml: &str) -> String {
    format!("/resolve {action}\n```yaml\n{yaml}\n```")
}

fn remedies(game: &Game) -> Vec<Remedy> {
    let state = game.now();
    offered(state, state.escalation.as_ref().expect("one is open"), game.world.bot_may_commit())
}

/// Everything that is wrong with a payload is refused with what is wrong, an example that would be taken, and no change.
#[test]
fn every_wrong_shape_is_refused_with_an_example_that_works() {
    let long = format!("rationale: {}", "x".repeat(4_001));
    let many = format!("amended_acceptance_criteria: [{}]\namendment_rationale: w", vec!["a"; 51].join(", "));
    let task = "name: n\n    description: d\n    acceptance_criteria: [c]\n    depends_on: []";
    let files: String = (0..21).map(|n| format!("\n  f{n}: x")).collect();
    let at_path = |path: &str| format!("fix_description: d\nfix_artifacts: {{ \"{path}\": x }}");
    let cases: &[(&str, String, &str)] = &[
        ("", "/resolve".to_owned(), "it takes one of the options of this stop: A `APPROVE_OVERRIDE`, B `AMEND_SPEC`"),
        ("", "/resolve because it is fine".to_owned(), "there is no option `because`"),
        ("", "/resolve APROVE_OVERRIDE fine".to_owned(), "Did you mean `APPROVE_OVERRIDE`?"),
        ("", "/resolve G fine".to_owned(), "there is no option `G`"),
        ("APPROVE_OVERRIDE", "/resolve APPROVE_OVERRIDE".to_owned(), "`rationale` is missing. It takes a fenced block"),
        ("APPROVE_OVERRIDE", "/resolve A".to_owned(), "`rationale` is missing"),
        (
            "AMEND_SPEC",
            "/resolve B half of it".to_owned(),
            "`amended_acceptance_criteria` and `amendment_rationale` are missing",
        ),
        ("SPLIT_TASK", "/resolve SPLIT_TASK two".to_owned(), "`new_tasks` is missing"),
        (
            "APPROVE_OVERRIDE",
            "/resolve A fine\n```yaml\nrationale: fine\n```".to_owned(),
            "words stand on its line and a block behind it",
        ),
        ("APPROVE_OVERRIDE", "/resolve A\n```json\nrationale: fine\n```".to_owned(), "its block is marked as `json`"),
        ("APPROVE_OVERRIDE", "/resolve A\n```yaml\n\n```".to_owned(), "its block is empty"),
        ("APPROVE_OVERRIDE", "/resolve A ...".to_owned(), "its reason says nothing"),
        ("APPROVE_OVERRIDE", with("A", "rationale: \"...\""), "it says nothing"),
        ("APPROVE_OVERRIDE", with("A", "rationale: TBD"), "it says nothing"),
        ("APPROVE_OVERRIDE", "/resolve A None.".to_owned(), "its reason says nothing"),
        ("APPROVE_OVERRIDE", with("A", "rationale: |\n  ## Evidence\n\n  # Plan"), "it says nothing"),
        ("APPROVE_OVERRIDE", "/resolve A why it may go on!".to_owned(), "are the words of the example"),
        (
            "AMEND_SPEC",
            with("B", "amended_acceptance_criteria: [n/a]\namendment_rationale: w"),
            "`amended_acceptance_criteria[0]`: it says nothing",
        ),
        ("APPROVE_OVERRIDE", "/resolve A\n```yaml\nrationale: cut".to_owned(), "its block is not closed"),
        ("APPROVE_OVERRIDE", "/resolve A\n````yaml\nrationale: cut\n```".to_owned(), "its block is not closed"),
        (
            "APPROVE_OVERRIDE",
            "/resolve A\n```\nrationale: one\n```\n\n```\nrationale: two\n```".to_owned(),
            "two blocks stand behind it",
        ),
        (
            "APPROVE_OVERRIDE",
            "/resolve A\n> ```yaml\n> rationale: fine\n> ```".to_owned(),
            "one in a quote, in a list or below other words is not read",
        ),
        ("APPROVE_OVERRIDE", "/resolve A\n\n- ```yaml\n  rationale: fine\n  ```".to_owned(), "`rationale` is missing"),
        (
            "APPROVE_OVERRIDE",
            "/resolve A\n\nThat is:\n\n```yaml\nrationale: fine\n```".to_owned(),
            "`rationale` is missing",
        ),
        (
            "APPROVE_OVERRIDE",
            "/resolve A\n\n<!--\n```yaml\nrationale: fine\n```\n-->".to_owned(),
            "`rationale` is missing",
        ),
        (
            "APPROVE_OVERRIDE",
            "/resolve A\n\n<details>\n\n```yaml\nrationale: fine\n```\n\n</details>".to_owned(),
            "`rationale` is missing",
        ),
        ("APPROVE_OVERRIDE", "/resolve A\n\n    rationale: fine".to_owned(), "`rationale` is missing"),
        ("APPROVE_OVERRIDE", with("A", "- fine"), "expected a mapping, found a list"),
        ("APPROVE_OVERRIDE", with("A", "fine"), "expected a mapping, found the text `fine`"),
        (
            "APPROVE_OVERRIDE",
            with("A", "rational: fine"),
            "line 1: `rational`: unknown key `rational`; did you mean `rationale`?",
        ),
        (
            "APPROVE_OVERRIDE",
            with("A", "rationale: fine\nverified: true"),
            "line 2: `verified`: unknown key `verified`",
        ),
        (
            "APPROVE_OVERRIDE",
            with("A", "rationale: fine\nrationale: fine"),
            "line 2: `rationale`: the key `rationale` stands twice",
        ),
        ("APPROVE_OVERRIDE", with("A", "rationale: [fine]"), "`rationale`: expected text, found a list"),
        ("APPROVE_OVERRIDE", with("A", "rationale: 7"), "`rationale`: expected text, found the number `7`"),
        ("APPROVE_OVERRIDE", with("A", "rationale: true"), "expected text, found the boolean `true`"),
        ("APPROVE_OVERRIDE", with("A", "rationale:"), "expected text, found nothing"),
        ("APPROVE_OVERRIDE", with("A", "rationale: \"  \""), "`rationale`: it is empty"),
        ("APPROVE_OVERRIDE", with("A", &long), "it has more than 4000 characters"),
        ("APPROVE_OVERRIDE", with("A", "rationale: &a fine"), "anchors (`&name`)"),
        ("APPROVE_OVERRIDE", with("A", "rationale: !!str fine"), "YAML tags"),
        ("APPROVE_OVERRIDE", with("A", "rationale: \"fine"), "not valid YAML"),
        ("APPROVE_OVERRIDE", with("A", "rationale: a\n---\nrationale: b"), "a second YAML document"),
        ("APPROVE_OVERRIDE", with("A", "rationale: \"a\u{202e}b\""), "U+202E is not allowed"),
        ("ABANDON_TASK", with("C", "reason: no"), "unknown key `reason`"),
        ("AMEND_SPEC", with("B", "amended_acceptance_criteria: [a]"), "`amendment_rationale`: it is missing"),
        ("AMEND_SPEC", with("B", "amended_acceptance_criteria: []\namendment_rationale: w"), "the list is empty"),
        (
            "AMEND_SPEC",
            with("B", "amended_acceptance_criteria: a\namendment_rationale: w"),
            "expected a list of criteria",
        ),
        (
            "AMEND_SPEC",
            with("B", "amended_acceptance_criteria: [a, a]\namendment_rationale: w"),
            "stands in the list twice",
        ),
        (
            "AMEND_SPEC",
            with("B", "amended_acceptance_criteria: [a, '']\namendment_rationale: w"),
            "`amended_acceptance_criteria[1]`: it is empty",
        ),
        (
            "AMEND_SPEC",
            with("B", "amended_acceptance_criteria: [\"AC-1: it dims\", \"AC-2: TBD\"]\namendment_rationale: w"),
            "`amended_acceptance_criteria[1]`: it says nothing",
        ),
        (
            "AMEND_SPEC",
            with("B", "amended_acceptance_criteria: [\"AC-7: none\"]\namendment_rationale: w"),
            "`amended_acceptance_criteria[0]`: it says nothing",
        ),
        (
            "AMEND_SPEC",
            with("B", "amended_acceptance_criteria: [AC-7]\namendment_rationale: w"),
            "`amended_acceptance_criteria[0]`: it says nothing",
        ),
        ("AMEND_SPEC", with("B", &many), "at most 50 are allowed"),
        ("SPLIT_TASK", with("F", "new_tasks: []"), "the list is empty"),
        ("SPLIT_TASK", with("F", "new_tasks: [one]"), "`new_tasks[0]`: expected a mapping"),
        ("SPLIT_TASK", with("F", "new_tasks:\n  - name: one"), "`new_tasks[0].description`: it is missing"),
        ("SPLIT_TASK", with("F", &format!("new_tasks:\n  - {task}\n  - {task}")), "two tasks have this name"),
        ("SPLIT_TASK", with("F", &format!("new_tasks:\n  - {}", task.replace("[]", "[n]"))), "it depends on itself"),
        (
            "SPLIT_TASK",
            with(
                "F",
                &format!(
                    "new_tasks:\n  - {}\n  - {}",
                    task.replace("[]", "[m]"),
                    task.replace("name: n", "name: m").replace("[]", "[n]")
                ),
            ),
            "the tasks wait for each other",
        ),
        (
            "SPLIT_TASK",
            with("F", &format!("new_tasks:\n  - {}", task.replace("name: n", "name: \"a\\nb\""))),
            "it has more than one line",
        ),
        ("SPLIT_TASK", with("F", &format!("new_tasks:\n  - {task}\n    owner: mia")), "unknown key `owner`"),
        (
            "REVISE_PLAN",
            with("D", "revised_micro_plan: [{ module_id: \"→\", description: d, depends_on: [] }]"),
            "it has neither a letter nor a digit",
        ),
        (
            "AMEND_SPEC",
            with("B", "amended_acceptance_criteria: [\"≤ ±\"]\namendment_rationale: w"),
            "it has neither a letter nor a digit",
        ),
        (
            "REVISE_PLAN",
            with("D", "revised_micro_plan:\n  - module_id: a\n    description: d"),
            "`revised_micro_plan[0].depends_on`: it is missing",
        ),
        (
            "REVISE_PLAN",
            with(
                "D",
                "revised_micro_plan:\n  - { module_id: a, description: d, depends_on: [b] }\n  - { module_id: b, description: d, depends_on: [a] }",
            ),
            "the modules wait for each other",
        ),
        (
            "REVISE_PLAN",
            with("D", "revised_micro_plan: [{ module_id: a, description: d, depends_on: [b] }]"),
            "`revised_micro_plan[0].depends_on`: it depends on `b`, which is no module of this plan",
        ),
        (
            "SPLIT_TASK",
            with("F", &format!("new_tasks:\n  - {}", task.replace("depends_on: []", "depends_on: [N]"))),
            "`new_tasks[0].depends_on`: it depends on `N`, which is no task of this list, nor an issue (`#12`)",
        ),
        ("PROVIDE_FIX", with("E", "fix_description: d"), "`fix_artifacts`: it is missing"),
        ("PROVIDE_FIX", with("E", "fix_description: d\nfix_artifacts: {}"), "there is no file"),
        ("PROVIDE_FIX", with("E", "fix_description: d\nfix_artifacts: [a]"), "expected a mapping of files"),
        ("PROVIDE_FIX", with("E", "fix_description: d\nfix_artifacts: { a: [b] }"), "`fix_artifacts.a`: expected text"),
        ("PROVIDE_FIX", with("E", &format!("fix_description: d\nfix_artifacts:{files}")), "at most 20 are allowed"),
        ("PROVIDE_FIX", with("E", &at_path("/etc/passwd")), "it leaves the repository"),
        ("PROVIDE_FIX", with("E", &at_path("../up")), "it leaves the repository"),
        ("PROVIDE_FIX", with("E", &at_path("a/../../up")), "it leaves the repository"),
        ("PROVIDE_FIX", with("E", &at_path(".git/config")), "it leaves the repository"),
        ("PROVIDE_FIX", with("E", &at_path("a/.GIT/hooks/x")), "it leaves the repository"),
        ("PROVIDE_FIX", with("E", &at_path("a//b")), "it leaves the repository"),
        ("PROVIDE_FIX", with("E", &at_path("a/")), "it leaves the repository"),
        ("PROVIDE_FIX", with("E", &at_path("a\\\\b")), "it is no plain path"),
        ("PROVIDE_FIX", with("E", &at_path(".github/workflows/ci.yml")), "the bot writes no workflows"),
        (
            "PROVIDE_FIX",
            with("E", "fix_description: d\nfix_artifacts: { a: x, a/b: y }"),
            "is both a file and a folder",
        ),
        ("APPROVE_OVERRIDE", "/resolve CONTINUE".to_owned(), "`CONTINUE` is not offered here: it ends a stepped wait"),
    ];
    let mut game = blocked();
    let before = kinds(&game);
    for (at, (example_of, said, expected)) in cases.iter().enumerate() {
        // Each by somebody else, because nobody may say so much within an hour.
        let refusal = game.answers(&format!("mia{at}"), Role::Maintain, said).last_refusal();
        assert!(["CMD-05", "CMD-03"].contains(&refusal.rule.as_str()), "{said}\n{refusal}");
        assert!(refusal.says.contains(expected), "{said}\nexpected: {expected}\nsays:     {}", refusal.says);
        let example = refusal.example.unwrap_or_else(|| panic!("{said}: no example"));
        assert!(example.contains(example_of), "{said}\n{example}");
        assert!(example.starts_with(&format!("/resolve {} ", commit("b3").short())), "{example}");
        assert_eq!(kinds(&game), before, "{said}: nothing changes");
    }
}

/// An example with somebody's own words in it.
fn filled(text: &str) -> String {
    PLACEHOLDERS.iter().fold(text.to_owned(), |text, words| text.replace(words, &format!("{words} Indeed")))
}

#[test]
fn an_example_that_nobody_filled_in_is_refused_and_changes_nothing() {
    for start in [blocked, stopped, braked, paused] {
        for remedy in remedies(&start()).into_iter().filter(|remedy| *remedy != Remedy::Continue) {
            let mut game = start();
            let before = kinds(&game);
            let text = example(&Commands::default(), None, remedy);
            game.answers("mia", Role::Maintain, &text).refused_with("CMD-05");
            let says = game.last_refusal().says.clone();
            assert!(says.contains("are the words of the example"), "{remedy}: {says}");
            assert_eq!(kinds(&game), before, "{remedy}");
        }
    }
    for (unsaid, why) in
        [("/resolve A REASON", "its reason says nothing"), ("/resolve A <!-- fine -->", "its reason says nothing")]
    {
        let mut game = blocked();
        game.answers("mia", Role::Maintain, unsaid).refused_with("CMD-05");
        assert!(game.last_refusal().says.contains(why), "{unsaid}: {}", game.last_refusal().says);
    }
    for two in ["/resolve A B because it is tight", "/resolve A ABANDON_TASK it is not needed"] {
        let mut game = blocked();
        game.answers("mia", Role::Maintain, two).refused_with("CMD-05");
        assert!(game.last_refusal().says.contains("it names two options"), "{two}: {}", game.last_refusal().says);
    }
    let mut game = blocked();
    game.answers("mia", Role::Maintain, "/resolve A A bug of the runner.").done();
    let mut game = blocked();
    let own = "new_tasks: [{ name: The first part, description: reads, acceptance_criteria: [\"it reads\"], depends_on: [] }]";
    game.answers("mia", Role::Maintain, &with("F", own)).done();
    for unsaid in ["/unblock REASON", "/unblock <!-- fine -->"] {
        let mut game = blocked();
        game.answers("mia", Role::Maintain, unsaid).refused_with("CMD-05");
        assert!(game.last_refusal().says.contains("the reason is missing"), "{unsaid}");
    }
}

#[test]
fn every_word_that_is_to_be_replaced_stands_in_an_example() {
    let all: String = Remedy::ALL.into_iter().map(sample).collect();
    for words in PLACEHOLDERS {
        assert!(all.contains(words), "{words}");
    }
}

/// What is shown as an example is taken, wherever it is shown, once it says what is meant.
#[test]
fn every_example_is_taken_where_it_is_offered() {
    for start in [blocked, stopped, braked, paused] {
        for remedy in remedies(&start()) {
            let mut game = start();
            let text = filled(&example(&Commands::default(), None, remedy));
            game.answers("mia", Role::Maintain, &text).done();
            assert_eq!(taken(&game).len(), 1, "{remedy}");
            assert_eq!(taken(&game)[0].resolution.remedy(), remedy);
            assert_eq!(game.now().escalation, None, "{remedy} ends it");
        }
    }
}

#[test]
fn each_cause_offers_what_makes_sense_there() {
    let names = |game: &Game| -> String { remedies(game).iter().map(|one| one.letter()).collect() };
    assert_eq!(names(&blocked()), "ABCDEF");
    assert_eq!(names(&stopped()), "ABCEF", "the merge flow has no design");
    assert_eq!(names(&braked()), "ABCDF");
    assert_eq!(names(&paused()), "ABC", "before DESIGN there is none to revise");
    assert_eq!(remedies(&paused())[0], Remedy::Continue);
    let mut fork = blocked();
    fork.world.pull.fork = true;
    assert_eq!(names(&fork), "ABCDF");
    fork.answers("mia", Role::Maintain, &example(&Commands::default(), None, Remedy::ProvideFix))
        .refused_with("CMD-03");
    assert!(fork.last_refusal().says.contains("the branch is a fork's"));
    let mut trunk = stopped();
    trunk.world.pull.branch.as_mut().expect("a branch").name = "main".to_owned();
    assert_eq!(names(&trunk), "ABCF", "the default branch is not written to");
    let mut advisory = stopped();
    advisory.world.commits = false;
    assert_eq!(names(&advisory), "ABCF");
    let mut merged = Game::pipeline();
    merged.through_verify().merged();
    for _ in 0..3 {
        merged.deployment("failure").says("ada", Role::Write, "/deploy");
    }
    assert_eq!(names(&merged), "AC");
    // Blocked at EXPAND there is no design yet.
    let mut first = Game::pipeline();
    first.without("scaffolding/scope.md").says("ada", Role::Write, "/expand");
    for head in ["e1", "e2", "e3"] {
        first.push(head).says("ada", Role::Write, "/expand");
    }
    assert_eq!((first.stage(), names(&first).as_str()), (Stage::BlockedOnGate, "ABCEF"));
}

#[test]
fn one_text_may_stand_on_the_line_and_a_block_may_be_bare() {
    for said in [
        "/resolve A because it is known",
        "/resolve (a): because it is known",
        "/resolve APPROVE_OVERRIDE because it is known",
        "/resolve approve_override because it is known",
        "/resolve A because it is known\n```console\n$ make\nok\n```",
        "/resolve A because it is known\n\n```\n$ make\nok\n```\n\n```\nand more\n```",
        "/resolve A\n```\nrationale: because it is known\n```",
        "/resolve A\n\n\n~~~yml\nrationale: because it is known\n~~~\nThanks.",
        "Looked at it.\n/resolve A\n````YAML\nrationale: >-\n  because it\n  is known\n````",
    ] {
        let mut game = blocked();
        game.answers("mia", Role::Maintain, said).done();
        let rationale = "because it is known".to_owned();
        assert_eq!(taken(&game)[0].resolution, Resolution::ApproveOverride { rationale }, "{said}");
    }
    let mut game = paused();
    game.answers("mia", Role::Maintain, "/resolve A").done().at(Stage::Designing);
    assert_eq!(taken(&game)[0].resolution, Resolution::Continue { rationale: None });
}

/// Two commands with a block each: every one has its own.
#[test]
fn a_block_belongs_to_the_line_before_it() {
    let given = command::parse("/resolve A\n```\none: 1\n```\n/resolve B\n/status\n```\ntwo: 2\n```", |line| {
        line.strip_prefix('/')
    });
    let payloads: Vec<Option<String>> =
        given.iter().map(|one| one.payload.as_ref().map(|one| one.text.clone())).collect();
    assert_eq!(payloads, [Some("one: 1\n".to_owned()), None, Some("two: 2\n".to_owned())]);
}

#[test]
fn an_override_lets_it_go_on_and_passes_nothing() {
    let mut game = blocked();
    game.answers("mia", Role::Maintain, "/resolve APPROVE_OVERRIDE it is green elsewhere").done();
    assert_eq!(game.now().pipeline.as_ref().and_then(|one| one.phase()), Some(Phase::Build));
    assert_eq!(game.table().fails(Phase::Build), 0);
    assert!(!game.table().passed.contains_key(&Phase::Build));
    assert!(game.against().contains("MRG-01") && game.against().contains("MRG-02"), "{:?}", game.against());
}

#[test]
fn another_plan_goes_back_to_design_and_the_same_design_needs_a_word() {
    for mut game in [blocked(), braked()] {
        let text = filled(&example(&Commands::default(), None, Remedy::RevisePlan));
        game.answers("mia", Role::Maintain, &text).done().at(Stage::Designing);
        assert_eq!(
            game.now().escalated.last().and_then(|one| one.ended.as_ref()).map(|end| end.how),
            Some(Ending::Replanned)
        );
        assert!(game.table().holds(Phase::Expand), "the scope stands");
        assert!(!game.table().passed.contains_key(&Phase::Design));
        game.green().at(Stage::Designing);
        if game.now().audit_owed().is_some() {
            game.audited();
        }
        game.subject().context.design = Some("The reader, then the writer.".to_owned());
        game.says("ada", Role::Write, "/design").done();
        assert!(game.table().holds(Phase::Design));
        assert_eq!(game.now().replanned, None);
    }
    // A wait goes back just as well, where there is a design.
    let mut waits = Game::pipeline_with("mode: stepped\n");
    waits.says("ada", Role::Write, "/expand").green();
    for (phase, says) in [("expand", "/continue"), ("design", "/continue"), ("analyze", "")] {
        waits.says("ada", Role::Write, &format!("/{phase}")).at(Stage::SteppedModePaused);
        if !says.is_empty() {
            waits.says("ada", Role::Write, says).done();
        }
    }
    let text = filled(&example(&Commands::default(), None, Remedy::RevisePlan));
    waits.says("mia", Role::Maintain, &text).done().at(Stage::Designing);
    assert!(waits.table().holds(Phase::Expand) && !waits.table().passed.contains_key(&Phase::Analyze));
    // Another design passes as ever.
    let mut game = blocked();
    game.answers("mia", Role::Maintain, &filled(&example(&Commands::default(), None, Remedy::RevisePlan)))
        .at(Stage::Designing);
    game.audited();
    game.push_with("anew", |game| {
        game.rewrites_documents("second");
        game.subject().context.design = Some("The reader, then the writer.".to_owned());
    });
    game.green();
    assert!(game.table().passed.contains_key(&Phase::Design), "{:?}", game.stage());
}

#[test]
fn a_fix_waits_for_its_commit_and_makes_its_giver_an_operator() {
    let mut game = blocked();
    let text = filled(&example(&Commands::default(), None, Remedy::ProvideFix));
    game.answers("mia", Role::Maintain, &text).done();
    let fix = game.now().fix.clone().expect("it is to be committed");
    assert_eq!((fix.head, fix.files.len()), (commit("b3"), 1));
    assert!(game.now().operators.iter().any(|one| one.login == "mia"));
    // What was given is kept once, in its record.
    let settled = game.now().escalated.last().and_then(|one| one.settled.clone()).expect("it is settled");
    let Resolution::ProvideFix { fix_artifacts, .. } = settled.resolution else { panic!("{settled:?}") };
    assert_eq!(fix_artifacts.values().collect::<Vec<_>>(), [""]);
    // Whoever wrote it does not approve it.
    game.push("fixed").green().says("mia", Role::Maintain, "/approve").refused_with("CMD-07");
    assert_eq!(game.now().fix, None, "there is another head");
    // Being named to approve is not write access.
    let mut game = blocked();
    let mut named = game.comment("zoe", Standing { role: Role::Triage, named: true }, &text);
    for one in &mut named {
        if let crate::engine::Happened::Command(order) = one {
            order.comment.number = 7;
        }
    }
    game.happens(&named).refused_with("CMD-02");
    assert_eq!(game.now().fix, None);
}

/// What is not on the branch has answered nothing, and its giver has no hand in the change.
#[test]
fn a_fix_that_is_not_committed_stops_it_again() {
    let fix = with("PROVIDE_FIX", "fix_description: tight\nfix_artifacts: { \"src/a.py\": \"pass\" }");
    for mut game in [stopped(), blocked()] {
        game.answers("mia", Role::Maintain, &fix).done();
        let of = game.now().fix.as_ref().expect("a fix").record;
        assert!(game.now().operators.iter().any(|person| person.login == "mia"));
        game.happens(&[crate::engine::Happened::Unfixed {
            of,
            why: "GitHub does not let the bot commit it".to_owned(),
        }]);
        assert_eq!(game.now().fix, None);
        assert!(game.against().contains("MRG-05"), "{:?}", game.against());
        let reason = &game.now().stopped.as_ref().expect("it is stopped").reason;
        let lost = "the fix that mia gave is not on the branch: GitHub does not let the bot commit it";
        let stood = reason.strip_suffix(lost).expect("what became of the fix");
        assert!(["it leaks (said by ada); ", "BUILD failed as often as it may; "].contains(&stood), "{reason}");
        // Told twice, it is one.
        let before = kinds(&game);
        game.happens(&[crate::engine::Happened::Unfixed { of, why: "again".to_owned() }]);
        assert_eq!(kinds(&game), before);
        game.asked_in(13).answers("mia", Role::Maintain, "/resolve A I push it myself").done();
        assert!(game.now().stopped.is_none());
    }
}

#[test]
fn files_that_would_be_no_fix_are_refused_before_anything_is_recorded() {
    let fix = with("PROVIDE_FIX", "fix_description: tight\nfix_artifacts: { src: pass }");
    let mut game = stopped();
    game.no_fix = Some("`src` is a folder there".to_owned());
    let before = kinds(&game);
    game.answers("mia", Role::Maintain, &fix).refused_with("CMD-05");
    assert_eq!(kinds(&game), before);
    assert!(game.now().stopped.is_some() && game.now().fix.is_none());
    game.answers("mia", Role::Maintain, "/resolve A it is settled").done();
}

#[test]
fn the_files_of_a_fix_are_known_before_it_is_judged() {
    let of = |text: &str| {
        let given = command::parse(text, |line| line.strip_prefix('/'));
        given.first().and_then(fix_of).map(|files| files.into_keys().collect::<Vec<_>>())
    };
    let yaml = "fix_description: tight\nfix_artifacts: { \"src/a.py\": pass }";
    assert_eq!(of(&with("PROVIDE_FIX", yaml)), Some(vec!["src/a.py".to_owned()]));
    assert_eq!(of(&with("0123456789ab E", yaml)), Some(vec!["src/a.py".to_owned()]));
    assert_eq!(of(&with("APPROVE_OVERRIDE", yaml)), None);
    assert_eq!(of("/resolve E"), None);
    assert_eq!(of("/status"), None);
}

#[test]
fn a_split_is_given_up_and_its_parts_come_in_order() {
    let mut game = stopped();
    let yaml = "new_tasks:\n  - { name: last, description: d, acceptance_criteria: [c], depends_on: [first, '#3'] }\n  \
                - { name: first, description: d, acceptance_criteria: [c], depends_on: [] }";
    game.answers("mia", Role::Maintain, &with("SPLIT_TASK", yaml)).done();
    let split = game.now().split.clone().expect("its issues are to be opened");
    assert_eq!(split.tasks.iter().map(|task| task.name.as_str()).collect::<Vec<_>>(), ["first", "last"]);
    assert!(game.now().given_up.is_some());
    game.happens(&[crate::engine::Happened::Split { of: split.record, issues: vec![20, 21] }]);
    assert_eq!(game.now().split, None);
    let settled = game.now().escalated.last().and_then(|one| one.settled.as_ref()).expect("it is settled");
    assert_eq!(settled.issues, [20, 21]);
}

#[test]
fn what_is_over_says_by_whom_when_and_how() {
    let mut game = stopped();
    game.answers("mia", Role::Maintain, "/resolve A it is tight").done();
    let refusal = game.says("root", Role::Admin, "/resolve C no").refused_with("CMD-03").clone();
    let says = &refusal.says;
    assert!(says.starts_with("this stop is over: `mia` answered it with `APPROVE_OVERRIDE` on 1970-"), "{says}");
    assert!(says.ends_with(": `it is tight`."), "{says}");
    assert_eq!(taken(&game).len(), 1);
}

#[test]
fn what_is_over_leads_to_the_stop_that_is_open() {
    let mut game = stopped();
    game.answers("mia", Role::Maintain, "/resolve A it is tight").done();
    game.says("ada", Role::Write, "/stop it leaks again").asked_in(13);
    let mut late = game.comment("mia", standing(Role::Maintain), "/resolve A it is tight");
    for one in &mut late {
        if let crate::engine::Happened::Command(order) = one {
            (order.comment.number, order.comment.on_pull) = (12, false);
        }
    }
    let refusal = game.happens(&late).refused_with("CMD-03").clone();
    assert_eq!(refusal.next, "Another stop is open. Answer it in #13, for example, with your own words in it:");
    assert_eq!(taken(&game).len(), 1);
    game.answers("mia", Role::Maintain, &filled(&refusal.example.expect("an example"))).done();
    assert_eq!(taken(&game).len(), 2);
}

/// Whoever may not decide is shown what somebody else may say, in the bot's own words.
#[test]
fn the_wrong_person_is_answered_with_an_example_for_the_right_one() {
    let evil = with("PROVIDE_FIX", "fix_description: mine\nfix_artifacts: { \"a.py\": evil }");
    let strangers = [
        ("tim", Role::Triage, "CMD-02", evil.as_str()),
        ("ada", Role::Maintain, "CMD-07", "/resolve A fine"),
        ("tim", Role::Triage, "CMD-02", "/resolve what"),
    ];
    for (login, role, rule, said) in strangers {
        let mut game = stopped();
        let before = kinds(&game);
        let refusal = game.answers(login, role, said).refused_with(rule).clone();
        assert!(refusal.next.ends_with(" It is written like this, with your own words in it:"), "{refusal:?}");
        assert_eq!((kinds(&game), taken(&game).len()), (before, 0), "nothing happens");
        let example = refusal.example.expect("an example");
        assert!(!example.contains("evil"), "{example}");
        game.answers("mia", Role::Maintain, &filled(&example)).done();
        assert_eq!(taken(&game).len(), 1);
    }
}

#[test]
fn another_head_is_answered_with_the_same_payload_for_that_head() {
    let mut game = blocked();
    let stale = game.shown.clone();
    game.push("b4");
    game.shown = stale;
    let said = with("AMEND_SPEC", "amended_acceptance_criteria: [less]\namendment_rationale: too much");
    let refusal = game.answers("mia", Role::Maintain, &said).refused_with("CMD-04").clone();
    let again = refusal.example.expect("an example");
    assert_eq!(again, said.replace("/resolve ", &format!("/resolve {} ", commit("b4").short())));
    game.answers("mia", Role::Maintain, &again).done().at(Stage::Expanding);
}

#[test]
fn notes_are_kept_up_to_fifty_and_decide_nothing() {
    let mut game = stopped();
    let said = |game: &Game, at: u64, role: Role, bot: bool| {
        let comment = crate::fact::Comment {
            number: 12,
            on_pull: false,
            id: 1_000 + at,
            author: crate::ids::Person { bot, ..person("tim") },
            body: "I approve the override.".to_owned(),
            created_at: game.shown.as_ref().expect("something is shown").since,
        };
        crate::engine::Happened::Noted(comment, standing(role))
    };
    let notes = |game: &Game| game.log.iter().filter(|entry| matches!(entry.body, Body::Noted { .. })).count();
    for (role, bot) in [(Role::Read, false), (Role::Admin, true)] {
        let note = said(&game, 99, role, bot);
        game.happens(&[note]);
    }
    assert_eq!(notes(&game), 0);
    for at in 0..60 {
        let note = said(&game, at, Role::Triage, false);
        game.happens(std::slice::from_ref(&note)).happens(&[note]);
    }
    assert_eq!(notes(&game), 50);
    assert!(game.now().escalation.is_some());
    game.answers("mia", Role::Maintain, "/resolve A fine").done();
}

/// Whatever is written as the payload, reading it ends, and a refusal changes nothing.
mod odd {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
        #[test]
        fn nothing_breaks_it(text in "(\\PC|\n|- |: |\\[|\\{|\"|`|rationale: ){0,60}", at in 0usize..7) {
            let remedy = Remedy::ALL[at];
            let fence = Fence { info: "yaml".to_owned(), text, more: false, closed: true };
            if let Ok(read) = payload(remedy, &fence) {
                prop_assert_eq!(read.remedy(), remedy);
                let json = serde_json::to_string(&read).unwrap();
                prop_assert_eq!(serde_json::from_str::<Resolution>(&json).unwrap(), read);
            }
        }
    }
}

/// What a person is asked about is not lost behind what somebody else calls on top of it.
#[test]
fn a_stop_on_top_of_another_is_shown_beside_it() {
    for (mut game, cause, asked) in [
        (stopped(), Cause::Stop, "`it leaks`"),
        (blocked(), Cause::Gate, "BUILD failed 3 times"),
        (braked(), Cause::Brake, "`ada` pulled the complexity brake"),
    ] {
        let id = game.now().escalation.as_ref().map(|open| open.id);
        let question = game.notice().unwrap().body.lines().next().map(str::to_owned);
        game.says("rover", Role::Write, "/stop the docs have a typo").done();
        let open = game.now().escalation.clone().expect("it is still asked");
        assert_eq!((Some(open.id), open.cause), (id, cause));
        let body = game.notice().unwrap().body;
        assert_eq!(body.lines().next().map(str::to_owned), question, "{cause:?}");
        assert!(body.contains(asked), "{body}");
        assert!(body.contains("- `rover` stopped it: `the docs have a typo`"), "{body}");
        assert!(game.surface().comment.contains("`the docs have a typo`"), "{}", game.surface().comment);
        assert!(game.finding("MRG-05").says.contains("`the docs have a typo`"), "{:?}", game.finding("MRG-05"));
        game.answers("mia", Role::Maintain, "/resolve A all of it is settled").done();
        assert!(game.now().stopped.is_none() && game.now().escalation.is_none(), "{cause:?}");
    }
}

/// Red pushes are told beside whatever else stops it.
#[test]
fn a_stop_on_top_of_red_pushes_is_what_is_asked_about() {
    let mut game = Game::pipeline_with("limits: { previews: 1 }\n");
    game.until_building().push("r1").red().push("r2").red().asked_in(12);
    game.says("rover", Role::Write, "/stop it leaks").done();
    assert_eq!(game.now().escalation.as_ref().map(|open| open.cause), Some(Cause::Stop));
    let body = game.notice().unwrap().body;
    assert!(body.contains("- 2 pushes were red at BUILD") && body.contains("`it leaks`"), "{body}");
    assert!(remedies(&game).contains(&Remedy::RevisePlan), "{:?}", remedies(&game));
    game.answers("mia", Role::Maintain, "/resolve A all of it is settled").done();
    assert!(game.now().escalation.is_none() && game.now().red_pushes.is_none());
}

/// Nobody crowds out what somebody else has said, and what has a question of its own is asked.
#[test]
fn many_stops_hide_none_of_another_person() {
    let mut game = stopped();
    for number in 0..12 {
        game.says("rover", Role::Write, &format!("/stop typo {number}")).done();
    }
    game.says("mia", Role::Maintain, "/stop unsafe: the key is in the log").done();
    let stop = game.now().stopped.clone().unwrap();
    assert_eq!(stop.reason, "unsafe: the key is in the log");
    let also: Vec<&str> = stop.also.iter().map(|one| one.reason.as_str()).collect();
    assert_eq!(also.len(), 13, "{also:?}");
    // Of one's own the lightest go first.
    for number in 12..34 {
        game.says("mia", Role::Maintain, &format!("/stop typo {number}")).done();
    }
    game.says("mia", Role::Maintain, "/stop unsafe: a second key").done();
    game.says("mia", Role::Maintain, "/stop one more").done();
    let stop = game.now().stopped.clone().unwrap();
    let also: Vec<&str> = stop.also.iter().map(|one| one.reason.as_str()).collect();
    assert!(
        also.contains(&"unsafe: a second key") && also.contains(&"it leaks") && also.contains(&"typo 0"),
        "{also:?}"
    );
    assert_eq!(also.len(), 33, "{also:?}");
    let comment = game.surface().comment;
    assert!(comment.contains(" And 30 more."), "{comment}");
    let body = game.notice().unwrap().body;
    assert!(body.contains("**Recommendation:** (B)") && body.contains("`it leaks`"), "{body}");
}

/// A small stop that came first takes nothing off the brake.
#[test]
fn the_brake_is_pulled_on_top_of_a_stop() {
    let mut game = Game::pipeline();
    game.until_building().says("rover", Role::Write, "/stop the docs have a typo").asked_in(12);
    game.says("ada", Role::Write, "/stop stuck: the same error").done();
    game.says("mia", Role::Maintain, "/stop scope: it has doubled").done().at(Stage::ComplexityBrakeTriggered);
    assert_eq!(game.now().escalation.as_ref().map(|open| open.cause), Some(Cause::Brake));
    let body = game.notice().unwrap().body;
    assert!(body.contains("`mia` pulled the complexity brake") && body.contains("`scope: it has doubled`"), "{body}");
    assert!(body.contains("typo") && body.contains("the same error"), "{body}");
    // Whether it is safe goes before how large it is.
    game.says("ada", Role::Write, "/stop unsafe: it sends passwords").done();
    game.says("rover", Role::Write, "/stop scope: it grew a bit").done();
    let body = game.notice().unwrap().body;
    assert!(body.contains("`ada` stopped #7 because nobody knows whether it is safe"), "{body}");
    assert!(body.contains("**Recommendation:** (B)") && body.contains("it has doubled"), "{body}");
    assert!(!remedies(&game).contains(&Remedy::ProvideFix), "{:?}", remedies(&game));
    game.says("mia", Role::Maintain, "/unblock typo mended").refused_with("CMD-03");
    game.says("mia", Role::Maintain, "/brake-resolved it is cut").done().at(Stage::Building);
    assert!(game.now().stopped.is_none() && game.now().escalation.is_none());
}

/// Whoever may not answer learns what they may say.
#[test]
fn who_may_not_answer_a_wait_may_go_on() {
    let mut game = paused();
    let refused = game.answers("ada", Role::Write, "/resolve CONTINUE").refused_with("CMD-02").clone();
    assert!(refused.next.contains("`/continue` is for everybody with write access."), "{refused:?}");
    game.says("ada", Role::Write, "/continue").done().at(Stage::Designing);
}

/// A stop is no way past somebody's look.
#[test]
fn a_stepped_wait_waits_again_when_a_stop_is_over() {
    let mut game = paused();
    game.says("ada", Role::Write, "/stop it leaks").done();
    assert_eq!(game.now().escalation.as_ref().map(|open| open.cause), Some(Cause::Stop));
    let surface = game.surface();
    assert_eq!(surface.label.map(|label| label.name), Some("phase:blocked".to_owned()));
    assert!(surface.comment.starts_with("### Phasegate: stopped"), "{}", surface.comment);
    let refused = game.says("mia", Role::Maintain, "/continue").refused_with("CMD-03").clone();
    assert!(refused.says.ends_with(", and is stopped: `it leaks`."), "{refused:?}");
    assert!(refused.next.contains("`/unblock`"), "{refused:?}");
    game.asked_in(13).answers("mia", Role::Maintain, "/resolve A settled").done().at(Stage::SteppedModePaused);
    assert_eq!(game.now().escalation.as_ref().map(|open| open.cause), Some(Cause::Pause));
    let ended = game.now().escalated.last().and_then(|last| last.ended.clone()).expect("it was answered");
    assert_eq!((ended.how, ended.reason.as_deref()), (Ending::Lifted, Some("settled")));
    game.says("mia", Role::Maintain, "/continue").done().at(Stage::Designing);
}

#[test]
fn a_head_that_is_too_short_is_answered_with_all_that_was_given() {
    let mut game = stopped();
    let yaml = "amended_acceptance_criteria: [less]\namendment_rationale: too much";
    let refusal = game.answers("mia", Role::Maintain, &with("0123456 AMEND_SPEC", yaml)).refused_with("CMD-04");
    let example = refusal.example.clone().expect("a command that would be taken");
    assert!(example.contains("AMEND_SPEC\n```yaml\namended_acceptance_criteria: [less]"), "{example}");
    game.answers("mia", Role::Maintain, &example).done();
}

#[test]
fn an_option_is_known_by_a_hyphen_and_two_answers_in_one_comment_are_one() {
    let mut game = stopped();
    game.answers("mia", Role::Maintain, "/resolve approve-override fine\n/resolve C nobody needs it");
    let says = &game.refused_with("CMD-03").says;
    assert!(says.starts_with("this stop is over: `mia` answered it with `APPROVE_OVERRIDE` (record "), "{says}");
}

/// `EXP-14` and `DSN-11`: what a person decided is in the documents before a gate passes.
#[test]
fn amended_criteria_and_plans_are_written_before_the_gate_passes() {
    let phase = |game: &Game| {
        let (_, judged) = crate::engine::phase_gate(game.now(), &game.world).expect("a phase");
        judged.findings.into_iter().filter(Finding::blocks).map(|one| one.rule).collect::<Vec<_>>()
    };
    let mut game = blocked();
    let yaml = "amended_acceptance_criteria: [\"AC-1: It stays at level 3.\"]\namendment_rationale: asked for";
    game.answers("mia", Role::Maintain, &with("AMEND_SPEC", yaml)).done().at(Stage::Expanding);
    game.subject().context.criteria = vec!["AC-1: it goes to level 2".to_owned()];
    assert_eq!(phase(&game), ["EXP-14"]);
    assert!(game.surface().comment.contains("AC-1: It stays at level 3."), "{}", game.surface().comment);
    game.audited().says("ada", Role::Write, "/expand").at(Stage::ExpandRetrying);
    for other in
        ["AC-1: it stays at level -3", "AC-1: it stays at level 3, or goes to 2", "AC-1: it stays at level 3.5"]
    {
        game.subject().context.criteria = vec![other.to_owned()];
        assert_eq!(phase(&game), ["EXP-14"], "{other}");
    }
    game.subject().context.criteria = vec!["AC-1: it *stays* at level 3".to_owned()];
    assert_eq!(phase(&game), [""; 0]);
    // Its identifier may have meant something else before (`EXP-11`).
    game.subject().context.criteria = vec!["AC-9: it stays at level 3".to_owned()];
    assert_eq!(phase(&game), [""; 0]);
    let mut game = blocked();
    let yaml = "revised_micro_plan: [{ module_id: relay, description: d, depends_on: [] }]";
    game.answers("mia", Role::Maintain, &with("REVISE_PLAN", yaml)).done().at(Stage::Designing);
    game.subject().context.design = Some("# Design\n\nThe relays switch.\n".to_owned());
    assert_eq!(phase(&game), ["DSN-11"]);
    game.subject().context.design = Some("# Design\n\nThe `Relay` switches.\n".to_owned());
    assert_eq!(phase(&game), [""; 0]);
    // A path is drawn as folders mostly.
    let mut game = blocked();
    let yaml = "revised_micro_plan: [{ module_id: src/relay.py, description: d, depends_on: [] }]";
    game.answers("mia", Role::Maintain, &with("REVISE_PLAN", yaml)).done().at(Stage::Designing);
    game.subject().context.design = Some("# Design\n\n- `src/`\n  - `relay.py` switches\n".to_owned());
    assert_eq!(phase(&game), [""; 0]);
    game.subject().context.design = Some("# Design\n\n- `src/`\n  - `lamp.py` switches\n".to_owned());
    assert_eq!(phase(&game), ["DSN-11"]);
}
