use super::*;

/// The policy with these keys below `verify`, beside a check.
fn with(keys: &str) -> Result<Policy, Vec<String>> {
    let text = format!(
        "gates:\n  verify:\n    checks: [{{ name: t, app: 5 }}]\n{}",
        keys.lines().map(|line| format!("    {line}\n")).collect::<String>()
    );
    parse(text.as_bytes()).map_err(|problems| {
        let said = |p: Problem| format!("{}:{} {}: {} -> {}", p.line, p.column, p.path, p.says, p.next);
        problems.into_iter().map(said).collect()
    })
}

fn good(keys: &str) -> Policy {
    with(keys).unwrap_or_else(|said| panic!("{keys}\n{said:#?}"))
}

fn only(keys: &str) -> String {
    let mut said = with(keys).expect_err(keys);
    assert_eq!(said.len(), 1, "{keys}\n{said:#?}");
    said.remove(0)
}

#[test]
fn commands_reports_and_a_time_limit_are_read() {
    let p = good("run: [cargo test, \"make check\"]\nreports: [\"target/**/junit.xml\"]\ntimeout: 20m");
    let runs = p.gates.runs(RunGate::Verify);
    assert_eq!(runs.commands, ["cargo test", "make check"]);
    assert_eq!((runs.reports, runs.timeout.as_secs()), (&["target/**/junit.xml".to_owned()][..], 1200));
    assert!(p.gates.runs(RunGate::Build).commands.is_empty());
    let p = good("run:\n  - |\n    make\n    make check");
    assert_eq!(p.gates.verify.run, ["make\nmake check\n"]);
    assert_eq!(p.gates.verify.timeout.to_string(), "1h", "as docs/policy.md says");
    let p =
        parse(b"gates: { build: { run: [make], timeout: 90s }, verify: { checks: [{ name: t, app: 5 }] } }").unwrap();
    let runs = p.gates.runs(RunGate::Build);
    assert_eq!((runs.commands, runs.timeout.as_secs()), (&["make".to_owned()][..], 90));
}

#[test]
fn each_mistake_is_named() {
    let time = "Write a whole number and its unit, `90s`, `20m` or `2h`";
    let cases = [
        (
            "run: cargo test",
            "4:10 gates.verify.run: expected a list of commands, found the text `cargo test` -> Write it as a list: \
             `[\"cargo test\"]`",
        ),
        (
            "run: []",
            "4:10 gates.verify.run: the list is empty: nothing would be run -> Write `[\"cargo test\"]` or the like, or \
             leave the key out",
        ),
        (
            "run: [make, \" \"]",
            "4:17 gates.verify.run[1]: an empty command does nothing, and passes -> Write a command, or remove it",
        ),
        (
            "run: [true]",
            "4:11 gates.verify.run[0]: expected text, found the boolean `true` -> Put it in quotes: \"true\"",
        ),
        (
            "run: [make]\nreports: [../junit.xml]",
            "5:15 gates.verify.reports[0]: `../junit.xml` leaves the repository -> Remove `..`",
        ),
        (
            "run: [make]\nreports: [/tmp/junit.xml]",
            "5:15 gates.verify.reports[0]: `/tmp/junit.xml` matches nothing: names start at the root, without `/` -> \
             Write `tmp/junit.xml`",
        ),
        (
            "reports: [junit.xml]",
            "4:5 gates.verify.reports: this has no effect without `run`: there are no commands that it could be about -> \
             Add `run: [\"…\"]`, or remove it",
        ),
        (
            "run: [make]\nrepotrs: [junit.xml]",
            "5:5 gates.verify.repotrs: unknown key `repotrs`; did you mean `reports`? -> Write `reports`",
        ),
        ("run: [make]\nnetwork: off", "5:14 gates.verify.network: unknown value `off` -> Use `deny` or `allow`"),
        (
            "network: allow",
            "4:5 gates.verify.network: this has no effect without `run`: there are no commands that it could be about -> \
             Add `run: [\"…\"]`, or remove it",
        ),
        (
            "run: [make]\nconfine: { memory: 8 }",
            "5:24 gates.verify.confine.memory: `8` is not a size up to 1024G -> Write a whole number and its unit, `512M` or `8G`",
        ),
        (
            "run: [make]\nconfine: { read: [src] }",
            "5:23 gates.verify.confine.read[0]: `src` is no path of the machine -> Write an absolute path, or one that begins \
             with `~/`",
        ),
        (
            "run: [make]\nconfine: { read: [/a/../b] }",
            "5:23 gates.verify.confine.read[0]: `/a/../b` is not the plain name of a place -> Write it without `.`, `..`, and a \
             `/` too many",
        ),
    ];
    for (keys, expected) in cases {
        assert_eq!(only(keys), expected);
    }
    for (text, shown) in [("20", "20"), ("0m", "0m"), ("\"25h\"", "25h"), ("20 m", "20 m"), ("1d", "1d"), ("é", "é")]
    {
        let expected = format!("`{shown}` is not a time from one second to a day -> {time}");
        let said = only(&format!("run: [make]\ntimeout: {text}"));
        assert_eq!(said, format!("5:14 gates.verify.timeout: {expected}"));
    }
    let long = format!("run: [{}]", "x".repeat(4097));
    assert!(only(&long).contains("a command may have at most 4096 bytes"));
    let many = format!("run: [{}]", "x,".repeat(21));
    assert!(only(&many).contains("the list has 21 items; at most 20 are allowed"));
    let said = check(b"gates: { deploy: { run: [make] }, verify: { checks: [{ name: t, app: 5 }] } }");
    assert_eq!(said.findings[0].says, "unknown key `run`");
    let said = check(b"gates: { review: { axes: demanded }, verify: { checks: [{ name: t, app: 5 }] } }");
    assert_eq!(said.findings[0].says, "unknown value `demanded`; did you mean `demand`?");
}

#[test]
fn commands_without_a_check_are_told_which_job_to_name() {
    let said = parse(b"gates: { verify: { run: [make] } }").unwrap_err();
    assert_eq!((said.len(), said[0].path.as_str()), (1, "gates.verify.checks"));
    assert!(
        said[0].next.contains("{ name: verify, workflow: .github/workflows/phasegate-gates.yml }"),
        "{}",
        said[0].next
    );

    // Where nothing is required, they are valid and decide nothing, which is hardly meant.
    let (policy, said) = inspect(b"merge: { require: [review] }\ngates: { verify: { run: [make] } }");
    assert!(policy.is_some());
    assert_eq!((said.len(), said[0].severity, said[0].path.as_str()), (1, "warning", "gates.verify.run"));
    assert!(said[0].says.starts_with("the commands decide nothing"), "{}", said[0].says);
    // BUILD has no check of its own.
    assert!(inspect(b"merge: { require: [review] }\ngates: { build: { run: [make] } }").1.is_empty());
}

/// Commands of BUILD are run by a job that somebody has set up, and only a check tells how that ended.
#[test]
fn commands_of_build_that_nothing_counts_for_are_told() {
    let said = |build: &str, from: &str| {
        let yaml = format!(
            "gates:\n  build: {{ {build} }}\n  verify: {{ from: [{from}], run: [make], reports: [a.xml]{} }}\n",
            if from.contains("checks") { ", checks: [{ name: t, app: 5 }]" } else { "" }
        );
        let (policy, said) = inspect(yaml.as_bytes());
        (policy.is_some(), said.iter().map(|one| format!("{} {}", one.severity, one.path)).collect::<Vec<_>>())
    };
    let none: Vec<String> = Vec::new();
    for from in ["actions", "runner"] {
        assert_eq!(said("run: [make]", from), (true, vec!["warning gates.build.run".to_owned()]), "{from}");
        // The run that is asked for audits, whatever BUILD has.
        assert_eq!(said("audit: [pip-audit]", from), (true, none.clone()), "{from}");
        assert_eq!(said("run: [make], audit: [pip-audit]", &format!("{from}, checks")), (true, none.clone()), "{from}");
    }
    assert_eq!(said("run: [make]", "checks"), (true, none));
    assert_eq!(said("audit: [pip-audit]", "checks"), (false, vec!["error gates.build.audit".to_owned()]));
}

#[test]
fn a_changed_command_is_another_policy_and_one_without_commands_is_what_it_was() {
    let plain = good("").digest();
    let one = good("run: [a, b]\nreports: [x, y]").digest();
    assert_ne!(one, plain);
    assert_ne!(one, good("run: [b, a]\nreports: [x, y]").digest(), "the order of commands is what they do");
    assert_ne!(one, good("run: [a, b]").digest());
    assert_ne!(one, good("run: [a, b]\nreports: [x, y]\ntimeout: 20m").digest());
    assert_eq!(one, good("run: [a, b]\nreports: [y, x]\ntimeout: 60m").digest());
    // Evidence names the digest: an upgrade alone must not make it stale.
    let json = serde_json::to_value(good("")).unwrap();
    assert!(json["gates"]["build"].is_null() && json["gates"]["verify"]["run"].is_null(), "{json}");
    assert_eq!(json["gates"]["verify"].as_object().unwrap().len(), 2, "{json}");
}

#[test]
fn a_time_is_read_by_the_schema_as_it_is_here() {
    let schema = jsonschema::validator_for(&Policy::schema()).unwrap();
    let day = [86_399, 86_400, 86_401, 79_999, 80_000, 85_999, 86_000, 9_999, 10_000, 99_999, 100_000]
        .into_iter()
        .map(|n| format!("{n}s"));
    let minutes = [1, 59, 999, 1000, 1399, 1400, 1439, 1440, 1441].into_iter().map(|n| format!("{n}m"));
    let hours = (0..30).map(|n| format!("{n}h"));
    let odd = ["", "s", "1", "01s", "+1s", "1S", "1s ", "1.5h", "-1s", "٣s"].map(str::to_owned);
    let mut taken = 0;
    for text in day.chain(minutes).chain(hours).chain(odd) {
        let json = serde_json::json!({ "gates": { "build": { "run": ["x"], "timeout": text } } });
        assert_eq!(schema.is_valid(&json), Timeout::new(&text).is_some(), "{text}");
        if let Some(time) = Timeout::new(&text) {
            taken += 1;
            assert_eq!(Timeout::new(&time.to_string()), Some(time), "{text}");
        }
    }
    assert!(taken > 30, "{taken}");
}

#[test]
fn walls_are_read_and_say_nothing_where_they_are_the_usual_ones() {
    let p = good(
        "run: [make]\nnetwork: allow\nconfine: { read: [\"~/.m2\", /srv], memory: 512M, processes: 40, output: 1M, file: 2G, required: true }",
    );
    let runs = p.gates.runs(RunGate::Verify);
    assert_eq!(
        (runs.network, runs.confine.read.as_slice()),
        (Network::Allow, &["~/.m2".to_owned(), "/srv".to_owned()][..])
    );
    let Confine { memory, processes, output, file, required, .. } = runs.confine;
    assert_eq!(
        (memory.bytes(), *processes, output.bytes(), file.bytes(), *required),
        (512 << 20, 40, 1 << 20, 2 << 30, true)
    );
    let usual = good("run: [make]").digest();
    let written = "run: [make]\nnetwork: deny\nconfine: { memory: 8192M, processes: 4096, output: 64M, file: 8G, required: false }";
    assert_eq!(good(written).digest(), usual, "a policy from before these keys keeps its digest");
    assert_ne!(p.digest(), usual);
    for (text, bytes) in [("1M", 1 << 20), ("1024G", 1024 << 30), ("999999M", 999_999 << 20)] {
        assert_eq!(Size::new(text).map(Size::bytes), Some(bytes), "{text}");
    }
    for text in ["", "M", "0M", "01M", "1025G", "1048577M", "1K", "1 G", "-1G", "1g"] {
        assert_eq!(Size::new(text), None, "{text}");
    }
}

/// The policy with these keys below `verify`, and nothing beside them.
fn alone(keys: &str) -> Result<Policy, Vec<String>> {
    let below: String = keys.lines().map(|line| format!("    {line}\n")).collect();
    parse(format!("gates:\n  verify:\n{below}").as_bytes())
        .map_err(|problems| problems.into_iter().map(|p| format!("{}: {} -> {}", p.path, p.says, p.next)).collect())
}

#[test]
fn evidence_from_actions_takes_commands_and_reports_and_no_checks() {
    let runs = "run: [make test]\nreports: [out.xml]";
    let p = alone(&format!("from: [actions]\n{runs}")).unwrap();
    assert_eq!(p.gates.verify.workflow, ".github/workflows/phasegate-evidence.yml");
    assert_eq!(p.gates.verify.earned(), Earned::Demand, "there a person can agree to what was found");
    let p = alone(&format!("from: [actions]\nearned: show\nworkflow: .github/workflows/own.yaml\n{runs}")).unwrap();
    assert_eq!(
        (p.gates.verify.earned(), p.gates.verify.workflow.as_str()),
        (Earned::Show, ".github/workflows/own.yaml")
    );
    let unsaid = alone(&format!("from: [actions]\n{runs}")).unwrap();
    assert_eq!(unsaid.gates.verify.start, Start::App);
    let said = alone(&format!("from: [actions]\nstart: app\n{runs}")).unwrap();
    assert_eq!(said.digest(), unsaid.digest(), "a policy from before the key has the same digest");
    let after = alone(&format!("from: [actions]\nstart: workflow_run\n{runs}")).unwrap();
    assert_eq!(after.gates.verify.start, Start::WorkflowRun);
    assert_ne!(after.digest(), unsaid.digest());
    let both = alone(&format!("from: [actions, checks]\nchecks: [{{ name: t, app: 5 }}]\n{runs}")).unwrap();
    assert!(both.gates.verify.has(Source::Actions) && both.gates.verify.has(Source::Checks));
    assert_eq!(good("run: [make]\nreports: [out.xml]").gates.verify.earned(), Earned::Show);
    let cases = [
        (
            "from: [actions]\nrun: [make test]",
            "gates.verify.from: evidence from `actions` takes reports that show which tests ran",
        ),
        ("from: [actions]", "gates.verify.from: evidence from `actions` takes commands that could be run"),
        (
            "from: [actions]\nchecks: [{ name: t, app: 5 }]\nrun: [a]\nreports: [b]",
            "gates.verify.checks: this has no effect: `from` does not name `checks`",
        ),
        (
            "checks: [{ name: t, app: 5 }]\nworkflow: .github/workflows/a.yml",
            "gates.verify.workflow: this has no effect: `from` does not name `actions`",
        ),
        (
            "checks: [{ name: t, app: 5 }]\nstart: workflow_run",
            "gates.verify.start: this has no effect: `from` does not name `actions`",
        ),
        (
            "from: [actions]\nstart: workflow_runs\nrun: [a]\nreports: [b]",
            "gates.verify.start: unknown value `workflow_runs`; did you mean `workflow_run`?",
        ),
        (
            "from: [actions]\nworkflow: a.yml\nrun: [a]\nreports: [b]",
            "gates.verify.workflow: `a.yml` is not a workflow file",
        ),
        (
            "from: [actions, checks]\nrun: [a]\nreports: [b]",
            "gates.verify.checks: the merge gate requires `verify`, but no check is named",
        ),
    ];
    for (keys, says) in cases {
        let said = alone(keys).expect_err(keys);
        assert!(said.iter().any(|one| one.starts_with(says)), "{keys}\n{said:#?}");
    }
}

#[test]
fn evidence_from_runner_takes_what_actions_takes_and_no_workflow() {
    let runs = "run: [make test]\nreports: [out.xml]";
    let p = alone(&format!("from: [runner]\n{runs}")).unwrap();
    assert!(p.gates.verify.has(Source::Runner) && p.gates.verify.asks_for_runs());
    assert_eq!(p.gates.verify.earned(), Earned::Demand, "there a person can agree to what was found");
    let both = alone(&format!("from: [runner, actions]\n{runs}")).unwrap();
    assert!(Source::ASKED.into_iter().all(|source| both.gates.verify.has(source)));
    assert_ne!(both.digest(), p.digest());
    assert_eq!(both.digest(), alone(&format!("from: [actions, runner]\n{runs}")).unwrap().digest());
    let cases = [
        (
            "from: [runner]\nrun: [a]",
            "gates.verify.from: evidence from `runner` takes reports that show which tests ran",
        ),
        ("from: [runner]", "gates.verify.from: evidence from `runner` takes commands that could be run"),
        (
            "from: [runner]\nworkflow: .github/workflows/a.yml\nrun: [a]\nreports: [b]",
            "gates.verify.workflow: this has no effect: `from` does not name `actions`",
        ),
        (
            "from: [runners]\nrun: [a]\nreports: [b]",
            "gates.verify.from[0]: unknown value `runners`; did you mean `runner`?",
        ),
    ];
    for (keys, says) in cases {
        let said = alone(keys).expect_err(keys);
        assert!(said.iter().any(|one| one.starts_with(says)), "{keys}\n{said:#?}");
    }
}

#[test]
fn an_audit_is_named_beside_the_build_with_a_network_of_its_own() {
    let of = |keys: &str| {
        let text = format!("gates: {{ build: {{ {keys} }}, verify: {{ checks: [{{ name: t, app: 5 }}] }} }}");
        parse(text.as_bytes())
            .map_err(|problems| problems.into_iter().map(|p| format!("{}: {}", p.path, p.says)).collect::<Vec<_>>())
    };
    let p = of("run: [make], audit: [cargo audit, cargo deny check], audit_network: allow").unwrap();
    let runs = p.gates.runs(RunGate::Build);
    assert_eq!((runs.audit.len(), runs.audit_network, runs.network), (2, Network::Allow, Network::Deny));
    assert!(p.gates.runs(RunGate::Verify).audit.is_empty());
    let none = of("run: [make]").unwrap();
    assert_eq!(
        none.digest(),
        of("run: [make], audit_network: deny, audit: [x]")
            .map(|mut p| {
                p.gates.build.audit.clear();
                p.digest()
            })
            .unwrap(),
        "a policy from before these keys keeps its digest"
    );
    assert_eq!(of("audit: [cargo audit]").unwrap_err(), ["gates.build.audit: this has no effect without `run`"]);
    assert_eq!(
        of("run: [make], audit_network: allow").unwrap_err(),
        ["gates.build.audit_network: this has no effect without `audit`"]
    );
    assert_eq!(
        of("run: [make], audit: []").unwrap_err(),
        ["gates.build.audit: the list is empty: nothing would be run"]
    );
    let schema = jsonschema::validator_for(&Policy::schema()).unwrap();
    let valid = |build: serde_json::Value| schema.is_valid(&serde_json::json!({ "gates": { "build": build } }));
    assert!(valid(serde_json::json!({ "run": ["x"], "audit": ["y"], "audit_network": "allow" })));
    assert!(
        !valid(serde_json::json!({ "audit": ["y"] })) && !valid(serde_json::json!({ "run": ["x"], "audit": [" "] }))
    );
}

#[test]
fn which_deployment_tells_is_named_by_environment_and_account() {
    let with =
        |deploy: &str| parse(format!("merge: {{ require: [review] }}\ngates: {{ deploy: {deploy} }}\n").as_bytes());
    let read = with("{ environments: [production, 'eu west'], by: ['@github-actions[bot]', '@mia'] }").unwrap();
    assert_eq!(read.gates.deploy.environments, ["production", "eu west"]);
    assert!(read.gates.deploy.by[0].is("GitHub-Actions[bot]") && !read.gates.deploy.by[0].is("github-actions"));
    let same = with("{ by: ['@mia', '@github-actions[bot]'], environments: ['eu west', production] }").unwrap();
    assert_eq!(read.digest(), same.digest());
    assert_ne!(read.digest(), with("{ environments: [production] }").unwrap().digest());
    for (bad, says) in [
        ("{ environments: [phasegate] }", "where the Action keeps its key"),
        ("{ environments: [''] }", "from one to 255 characters"),
        ("{ by: [mia] }", "`mia` is no account"),
        ("{ by: ['@octo/team'] }", "`@octo/team` is no account"),
        ("{ to: [production] }", "unknown key"),
    ] {
        let problems = with(bad).unwrap_err();
        assert!(problems.iter().any(|problem| problem.says.contains(says)), "{bad}: {problems:?}");
    }
}

#[test]
fn pictures_take_commands_that_leave_them() {
    assert_eq!(good("run: [make]\nscreenshots: ['shots/*.png']").gates.verify.screenshots, ["shots/*.png"]);
    assert!(only("screenshots: ['shots/*.png']").contains("this has no effect without `run`"));
}

#[test]
fn coverage_takes_a_run_that_reads_it_and_a_base_that_it_is_held_against() {
    let runs = "from: [actions]\nrun: [make]\nreports: [out.xml]";
    let asks = |globs: &str| alone(&format!("{runs}\ncoverage: {globs}")).unwrap();
    let p = asks("[coverage.xml, lcov.info]");
    assert_eq!(p.gates.runs(RunGate::Verify).coverage, ["coverage.xml", "lcov.info"]);
    assert!(p.gates.runs(RunGate::Build).coverage.is_empty());
    assert_eq!(p.digest(), asks("[lcov.info, coverage.xml]").digest(), "the order of reports is nothing");
    let none = alone(runs).unwrap();
    assert_eq!(none.digest(), asks("[]").digest(), "a policy from before the key keeps its digest");
    assert!(!serde_json::to_string(&none).unwrap().contains("coverage"));
    assert_ne!(none.digest(), p.digest());
    let checks = "checks: [{ name: t, app: 5 }]";
    for from in ["[runner]", "[actions, people]", &format!("[actions, checks]\n{checks}")] {
        alone(&format!("from: {from}\nrun: [make]\nreports: [out.xml]\ncoverage: [lcov.info]")).unwrap();
    }
    let nobody = "gates.verify.coverage: nobody reads these: `from` names neither `actions` nor `runner`, so how much is covered would \
                  stay unknown -> Add `actions` or `runner` to `from`, or remove it";
    for (keys, says) in [
        (&*format!("{checks}\nrun: [make]\nreports: [out.xml]\ncoverage: [lcov.info]"), nobody),
        ("from: [people]\nrun: [make]\ncoverage: [lcov.info]", nobody),
        (
            "from: [people]\ncoverage: [lcov.info]",
            "gates.verify.coverage: this has no effect without `run`: nothing would write a report -> Add `run: [\"…\"]`, or remove it",
        ),
        (
            &format!("{runs}\nearned: off\ncoverage: [lcov.info]"),
            "gates.verify.coverage: with `earned: off` nothing is run on the base, so how much was covered there would stay unknown -> \
             Write `earned: show` or `earned: demand`, or remove it",
        ),
        (
            &format!("{runs}\ncoverage: [../lcov.info]"),
            "gates.verify.coverage[0]: `../lcov.info` leaves the repository -> Remove `..`",
        ),
        (
            &format!("{runs}\ncoverge: [lcov.info]"),
            "gates.verify.coverge: unknown key `coverge`; did you mean `coverage`? -> Write `coverage`",
        ),
    ] {
        assert_eq!(alone(keys).expect_err(keys), [says], "{keys}");
    }
    let schema = jsonschema::validator_for(&Policy::schema()).unwrap();
    let valid = |verify: serde_json::Value| schema.is_valid(&serde_json::json!({ "gates": { "verify": verify } }));
    assert!(valid(serde_json::json!({ "from": ["actions"], "run": ["a"], "reports": ["b"], "coverage": ["c"] })));
    assert!(!valid(serde_json::json!({ "from": ["people"], "coverage": ["c"] })));
}

/// A check whose workflow runs something else tells nothing of BUILD's commands.
#[test]
fn commands_of_build_that_no_workflow_runs_are_told() {
    let of = |from: &str, check: &str| {
        format!(
            "version: 1\ngates:\n  build:\n    run: [\"false\"]\n  verify:\n    from: [{from}]\n    checks: [{{ name: test, {check} }}]\n"
        )
    };
    let ci = "workflow: .github/workflows/ci.yml";
    let told = |policy: &str, text: Option<&str>| {
        let found = unrun(policy.as_bytes(), &|_| text.map(str::to_owned));
        found.map(|one| (one.line, one.is_error(), one.path))
    };
    let warned = Some((4, false, "gates.build.run".to_owned()));
    assert_eq!(told(&of("checks", ci), Some("jobs: { test: { steps: [{ run: pytest }] } }")), warned);
    assert_eq!(told(&of("checks", ci), None), warned);
    for runs in ["      - run: phasegate run build\n", "        with:\n          command: run\n          gate: build\n"]
    {
        assert_eq!(told(&of("checks", ci), Some(runs)), None, "{runs}");
    }
    assert_eq!(told(&of("checks", "app: 7"), None), None);
    assert_eq!(told(&of("checks", ci).replace("    run: [\"false\"]\n", "    timeout: 5m\n"), None), None);
}
