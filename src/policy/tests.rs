use proptest::prelude::*;

use super::*;

/// A valid end for a file that is about something else.
const CHECK: &str = "gates: { verify: { checks: [{ name: test, workflow: .github/workflows/ci.yml }] } }\n";

fn good(text: &str) -> Policy {
    parse(format!("{text}\n{CHECK}").as_bytes()).unwrap_or_else(|p| panic!("{text}\n{p:#?}"))
}

fn bad(text: &str) -> Vec<Problem> {
    parse(text.as_bytes()).expect_err(text)
}

/// `line:column path: says -> next` of each problem.
fn said(text: &str) -> Vec<String> {
    bad(text).into_iter().map(|p| format!("{}:{} {}: {} -> {}", p.line, p.column, p.path, p.says, p.next)).collect()
}

/// The only problem of a file that otherwise names a check.
fn only(text: &str) -> String {
    let text = format!("{text}\n{CHECK}");
    let mut said = said(&text);
    assert_eq!(said.len(), 1, "{text}\n{said:#?}");
    said.remove(0)
}

#[test]
fn the_defaults_are_those_that_are_written_down() {
    let p = good("");
    assert_eq!((p.version, p.flow, p.enforce, p.mode), (1, Flow::Merge, Enforce::Enforce, Mode::Auto));
    assert_eq!((p.autonomy, p.tier, p.deploy, p.base), (Autonomy::Auto, Tier::House, Deploy::AfterMerge, Base::Touch));
    assert_eq!(
        p.merge,
        Merge { require: vec![Require::Verify, Require::Review], approvals: 1, queue: Queue::Reverify }
    );
    assert_eq!((p.limits.previews, p.ledger.branch.as_str()), (20, "phasegate/ledger"));
    assert_eq!((p.labels.prefix.as_str(), p.commands.prefix.as_str()), ("phase:", "/"));
    assert_eq!(parse(b"merge: { require: [review] }").unwrap().merge.require, [Require::Review]);
}

#[test]
fn an_empty_file_means_the_defaults_and_is_told_how_to_name_a_check() {
    for text in ["", "\n", "# nothing\n", "---\n", "{}", "null", "\u{feff}", "version: 1"] {
        let problems = bad(text);
        assert_eq!(problems.len(), 1, "{text:?} {problems:#?}");
        assert_eq!((problems[0].line, problems[0].path.as_str()), (1, "gates.verify.checks"));
        assert!(problems[0].next.contains("workflow: .github/workflows/ci.yml"));
    }
    assert_eq!(
        said("version: 1\ngates:\n  verify:\n    checks: []\n")[0].split(": ").next(),
        Some("4:5 gates.verify.checks")
    );
}

#[test]
fn the_documented_example_is_valid_and_is_accepted_by_the_schema() {
    let doc = include_str!("../../docs/policy.md");
    let yaml = doc.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a yaml block");
    let p =
        parse(yaml.as_bytes()).unwrap_or_else(|p| panic!("{}", render_problems("docs/policy.md", yaml.as_bytes(), &p)));
    assert_eq!(p.flow, Flow::Pipeline);
    assert_eq!(p.gates.verify.checks[0].made_by(), Some(MadeBy::Workflow(".github/workflows/ci.yml")));
    assert_eq!(p.gates.verify.checks[1].made_by(), Some(MadeBy::App(57789)));

    let schema = jsonschema::validator_for(&Policy::schema()).unwrap();
    let json: serde_json::Value = serde_yaml::from_str(yaml).unwrap();
    assert!(schema.is_valid(&json), "{:?}", schema.iter_errors(&json).map(|e| e.to_string()).collect::<Vec<_>>());
    assert!(schema.is_valid(&serde_json::to_value(&p).unwrap()), "what we write ourselves is in the schema too");
    assert_eq!(serde_json::from_value::<Policy>(serde_json::to_value(&p).unwrap()).unwrap(), p);
    for (pointer, key) in [("", "budgets"), ("/merge", "queue"), ("/gates/verify/checks/0", "id"), ("/match/0", "tier")]
    {
        let mut wrong = json.clone();
        wrong.pointer_mut(pointer).unwrap()[key] = true.into();
        assert!(!schema.is_valid(&wrong), "{pointer}/{key}");
    }
    for key in keys_of(&Policy::schema()) {
        assert!(doc.contains(&format!("`{key}`")), "{key} is not in the table of docs/policy.md");
    }
}

/// Every key of the schema, as the documentation's table writes it.
fn keys_of(schema: &serde_json::Value) -> Vec<String> {
    fn walk(root: &serde_json::Value, schema: &serde_json::Value, path: &str, out: &mut Vec<String>) {
        let schema = match schema["$ref"].as_str() {
            Some(target) => root.pointer(target.trim_start_matches('#')).unwrap(),
            None => schema,
        };
        assert!(!schema["description"].is_null() || path.is_empty() || schema["type"] != "object", "{path}: described");
        if schema["type"] == "object" {
            assert_eq!(schema["additionalProperties"], false, "{path}");
        }
        for (key, value) in schema["properties"].as_object().into_iter().flatten() {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            assert!(!value["description"].is_null(), "{path} has no description");
            let before = out.len();
            walk(root, value, &path, out);
            if !value["items"]["$ref"].is_null() {
                walk(root, &value["items"], &format!("{path}[]"), out);
            }
            if out.len() == before {
                out.push(path);
            }
        }
    }
    let mut out = Vec::new();
    walk(schema, schema, "", &mut out);
    assert!(out.len() > 25, "{out:?}");
    out
}

#[test]
fn what_is_named_under_a_misspelt_key_is_not_said_to_be_missing() {
    for text in ["gates: { verify: { chekcs: [] } }", "gates: { verfy: {} }", "gats: {}"] {
        let said = said(text);
        assert!(said.len() == 1 && said[0].contains("unknown key"), "{said:?}");
    }
    let said = said("merge: { aprovals: 1 }");
    assert!(said.len() == 2 && said.iter().any(|one| one.contains("no check is named")), "{said:?}");
}

#[test]
fn mistakes_are_found_all_at_once_each_on_its_line() {
    let text = "version: 2\nflwo: merge\nautonomy: full\nmerge:\n  approvals: eleven\n  require: [verify, verfy]\npeople: { solo: yes }\n";
    assert_eq!(
        said(&format!("{text}{CHECK}")),
        [
            "1:10 version: this version of Phasegate reads policies of version 1, not `2` -> Write `version: 1`",
            "2:1 flwo: unknown key `flwo`; did you mean `flow`? -> Write `flow`",
            "3:11 autonomy: unknown value `full` -> Use `manual`, `conservative` or `auto`",
            "5:14 merge.approvals: expected a whole number from 0 to 10, found the text `eleven` -> Write a whole number from 0 to 10, in plain digits",
            "6:21 merge.require[1]: unknown value `verfy`; did you mean `verify`? -> Write `verify`",
            "7:17 people.solo: expected true or false, found the text `yes` -> Write `true` or `false`, without quotes",
        ]
    );
}

#[test]
fn each_mistake_is_named() {
    let cases = [
        (
            "branches: main",
            "1:11 branches: expected a list of branch globs, found the text `main` -> Write it as a list: `[main]`",
        ),
        (
            "branches:",
            "1:1 branches: expected a list of branch globs, found nothing -> Write it as a list: `[…]`, or leave the key out",
        ),
        ("branches: [1.0]", "1:12 branches[0]: expected text, found the number `1.0` -> Put it in quotes: \"1.0\""),
        (
            "branches: [\"!main\"]",
            "1:12 branches[0]: `!main`: globs can't be negated -> Remove the `!`, or list what should match instead of `main`",
        ),
        (
            "risk: { high: [/src/**] }",
            "1:16 risk.high[0]: `/src/**` matches nothing: names start at the root, without `/` -> Write `src/**`",
        ),
        ("risk: { high: [src/] }", "1:16 risk.high[0]: `src/` matches nothing: it names a directory -> Write `src/**`"),
        ("risk: { high: [\"a/../b\"] }", "1:16 risk.high[0]: `a/../b` leaves the repository -> Remove `..`"),
        (
            "risk: { high: [\"[a\"] }",
            "1:16 risk.high[0]: `[a` is not a glob: unclosed character class; missing ']' -> Correct the glob",
        ),
        (
            "people: [\"@a\"]",
            "1:9 people: expected a mapping, found a list -> Write it as `key: value`, with the keys `approve`, `escalate`, `solo`",
        ),
        (
            "people: { approve: [alice] }",
            "1:21 people.approve[0]: `alice` is neither a person nor a team -> Write `\"@login\"` or `\"@organisation/team\"`",
        ),
        (
            "people: { approve: [\"@dependabot[bot]\"] }",
            "1:21 people.approve[0]: `@dependabot[bot]` is a bot, and bots never approve -> Name a person or a team",
        ),
        (
            "people: { solo: \"true\" }",
            "1:17 people.solo: expected true or false, found the text `true` -> Write `true` or `false`, without quotes",
        ),
        (
            "limits: { previews: 0 }",
            "1:21 limits.previews: expected a whole number from 1 to 1000, found the number `0` -> Write a whole number from 1 to 1000, in plain digits",
        ),
        (
            "limits: { previews: 012 }",
            "1:21 limits.previews: expected a whole number from 1 to 1000, found the number `012` -> Write a whole number from 1 to 1000, in plain digits",
        ),
        ("mode: [auto]", "1:7 mode: expected `auto` or `stepped`, found a list -> Write `auto` or `stepped`"),
        (
            "merge: { require: [review, review, verify] }",
            "1:28 merge.require[1]: this stands in the list twice -> Remove one of the two",
        ),
        (
            "flow: merge\nflow: pipeline",
            "2:1 flow: the key `flow` stands twice; it was first given on line 1 -> Keep one of the two",
        ),
        (
            "merge: { approvals: 1, approvals: 0 }",
            "1:24 merge.approvals: the key `approvals` stands twice; it was first given on line 1 -> Keep one of the two",
        ),
        (
            "labels: { prefix: \"a,b\" }",
            "1:19 labels.prefix: `a,b` can't start a label: it takes 1 to 20 characters, without a comma -> Write a prefix such as `\"phase:\"`",
        ),
        (
            "commands: { prefix: pg }",
            "1:21 commands.prefix: `pg` can't start a command: it takes `/`, or `/` and one short lower-case word -> Write `\"/\"` for `/expand`, or `\"/pg\"` for `/pg expand`",
        ),
        (
            "ledger: { branch: \"a..b\" }",
            "1:19 ledger.branch: `a..b` is not a valid branch name -> Write a branch name such as `phasegate/ledger`",
        ),
        (
            "ledger: { branch: refs/heads/x }",
            "1:19 ledger.branch: `refs/heads/x` is the name of a ref, not of a branch -> Write the branch without `refs/heads/`",
        ),
        (
            "ledger: { branch: main }",
            "1:19 ledger.branch: the ledger can't be on `main`: it is a branch of code -> Give the ledger a branch of its own, such as `phasegate/ledger`",
        ),
        (
            "branches: [\"release/*\"]\nledger: { branch: release/log }",
            "2:19 ledger.branch: the ledger can't be on `release/log`: it is one of `branches`, which changes go into -> Give the ledger a branch of its own, such as `phasegate/ledger`",
        ),
        (
            "branches: [\"**\"]",
            "1:11 ledger.branch: the ledger can't be on `phasegate/ledger`: it is one of `branches`, which changes go into -> Give the ledger a branch of its own, such as `phasegate/ledger`",
        ),
        (
            "flow: pipeline\nmerge: { require: [review] }",
            "2:19 merge.require: the pipeline can't do without `verify`: nothing gets through it without VERIFY and REVIEW -> Write `require: [verify, review]`, or leave the key out",
        ),
        (
            "merge: { require: [verify] }\nmatch: [{ label: x, flow: pipeline }]",
            "1:19 merge.require: the pipeline can't do without `review`: nothing gets through it without VERIFY and REVIEW -> Write `require: [verify, review]`, or leave the key out",
        ),
        (
            "agents: { main: { command: [x], workflow: x.yml } }",
            "1:33 agents.main.workflow: there is `command` already: an agent is reached in one way -> Remove one of them",
        ),
        (
            "agents: { main: { network: allow } }",
            "1:11 agents.main: there is no `command`: nothing could be asked -> Add `command: [\"agent-cli\", \"--stdin\"]`",
        ),
        (
            "agents: { main: { command: agent-cli --stdin } }",
            "1:28 agents.main.command: expected a list of the program and its arguments, found the text `agent-cli --stdin` -> Write it as a list: `[\"agent-cli\", \"--stdin\"]`",
        ),
        (
            "agents: { main: { command: [\"\"] } }",
            "1:29 agents.main.command[0]: this is the program, and it has no name -> Write its name, or its path",
        ),
        (
            "agents: { main: { comment: copilot } }",
            "1:28 agents.main.comment: this is whom a comment begins with, and no name with an `@` before it -> Write `\"@copilot\"` or the like",
        ),
        (
            "agents: { main: { comment: \"@copilot do this\" } }",
            "1:28 agents.main.comment: this is whom a comment begins with, and no name with an `@` before it -> Write `\"@copilot\"` or the like",
        ),
        (
            "agents: { main: { workflow: ../agent.yml } }",
            "1:29 agents.main.workflow: this is no workflow's file -> Write `.github/workflows/agent.yml` or the like",
        ),
        (
            "agents: { main: { comment: \"@copilot\", network: allow } }",
            "1:40 agents.main.network: this has no effect on an agent elsewhere -> Remove it",
        ),
        (
            "agents: { main: { command: [x] }, reader: { comment: \"@copilot\" } }",
            "1:45 agents.reader.comment: whoever only looks is kept from writing by walls, and there are none around an agent elsewhere -> Give it a `command`, or leave `reader` out",
        ),
        (
            "agents: { main: { command: [x], attempts: 6 } }",
            "1:43 agents.main.attempts: expected a whole number from 1 to 5, found the number `6` -> Write a whole number from 1 to 5, in plain digits",
        ),
        (
            "agents: { main: { command: [x], pack: { hide: [\"../x\"] } } }",
            "1:48 agents.main.pack.hide[0]: `../x` leaves the repository -> Remove `..`",
        ),
        (
            "agents: { main: { command: [x], pack: { only: [] } } }",
            "1:47 agents.main.pack.only: the list is empty: it would get nothing -> Name what it gets, such as `[\"src/**\"]`, or leave the key out",
        ),
        (
            "agents: { main: { command: [x], pack: { hides: [x] } } }",
            "1:41 agents.main.pack.hides: unknown key `hides`; did you mean `hide`? -> Write `hide`",
        ),
        (
            "budget: { passes: 3 }",
            "1:1 budget: this has no effect without an agent -> Name one: `agents: { main: { command: [\"agent-cli\"] } }`, or remove it",
        ),
        (
            "flow: factory",
            "1:7 flow: `flow: factory` is not available in this version of Phasegate; remove it -> Use `merge`, `task` or `pipeline`, or remove it",
        ),
        (
            "tier: !!str house",
            "1:7 tier: YAML tags (`!…`) have no meaning here -> Remove the tag; quote the value if it is text",
        ),
        ("? [a, b]\n: c", "1:3 : a key must be a single word -> Write `key: value`"),
        (
            "<<: { flow: merge }",
            "1:1 <<: unknown key `<<` -> Use `version`, `flow`, `enforce`, `mode`, `autonomy`, `tier`, `branches`, `match`, `people`, `risk`, `merge`, `gates`, `freeze`, `secrets`, `agents`, `budget`, `log`, `limits`, `ledger`, `deploy`, `base`, `slices`, `labels`, `commands` or `escalation`",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(only(text), expected);
    }
}

#[test]
fn the_ledgers_branch_is_read_out_of_an_invalid_file() {
    let of = |text: &str| ledger_branch(text.as_bytes());
    let found = Some(("records/gate".to_owned(), 3));
    assert_eq!(of("flwo: x\nledger:\n  branch: records/gate\n"), found);
    assert_eq!(of("flow: merge\nledger:\n  branch: records/gate\n  more: 1\nflow: task\n"), found);
    for unreadable in [
        "",
        "flow: merge",
        "ledger: x",
        "ledger: { branch: [a] }",
        "ledger: { branch: \"a..b\" }",
        "ledger: { branch: x",
    ] {
        assert_eq!(of(unreadable), None, "{unreadable}");
    }
}

/// The names that `git check-ref-format --branch` refuses are refused, and no others.
#[test]
fn the_ledgers_branch_is_a_name_that_git_takes() {
    let valid = |name: &str| parse(format!("ledger: {{ branch: {name:?} }}\n{CHECK}").as_bytes()).is_ok();
    for name in ["a", "phasegate/ledger", "a.b/c-d_e", "é", "a@b", "x/@"] {
        assert!(valid(name), "{name}");
    }
    for name in [
        "",
        "/a",
        "a/",
        "a//b",
        ".a",
        "a/.b",
        "a.lock",
        "a/b.lock/c",
        "a..b",
        "a b",
        "a~b",
        "a^b",
        "a:b",
        "a?b",
        "a*b",
        "a[b",
        "a\\b",
        "a.",
        "a@{b",
        "@",
        "-a",
        "HEAD",
        "refs/heads/a",
    ] {
        assert!(!valid(name), "{name}");
    }
}

#[test]
fn an_empty_list_of_what_is_required_is_a_warning() {
    let (policy, said) = inspect(b"merge:\n  require: []\n");
    assert!(policy.is_some());
    assert_eq!((said.len(), said[0].severity, said[0].line, said[0].path.as_str()), (1, "warning", 2, "merge.require"));
    let (policy, said) = inspect(b"merge:\n  require: []\nflwo: x\n");
    assert!(policy.is_none());
    assert_eq!(said.iter().map(|problem| problem.severity).collect::<Vec<_>>(), ["warning", "error"]);
    assert!(inspect(b"merge: { require: [review] }").1.is_empty());
}

#[test]
fn a_check_must_say_who_makes_it() {
    let check = |inner: &str| {
        let mut said = said(&format!("gates:\n  verify:\n    checks:\n      - {{ {inner} }}\n"));
        assert_eq!(said.len(), 1, "{inner} {said:#?}");
        said.remove(0)
    };
    let cases = [
        ("name: t", "4:9 gates.verify.checks[0]: the check does not say who makes it"),
        ("app: 5", "4:9 gates.verify.checks[0]: the check has no name"),
        ("name: t, app: 5, workflow: .github/workflows/a.yml", "4:20 gates.verify.checks[0]: the check has both"),
        ("name: t, app: 15368", "4:25 gates.verify.checks[0].app: 15368 is GitHub Actions"),
        ("name: t, app: \"5\"", "4:25 gates.verify.checks[0].app: expected a whole number"),
        ("name: t, app: 9007199254740992", "4:25 gates.verify.checks[0].app: expected a whole number"),
        ("name: t, workflow: ci.yml", "4:30 gates.verify.checks[0].workflow: `ci.yml` is not a workflow file"),
        ("name: t, workflow: .github/workflows/../x.yml", "4:30 gates.verify.checks[0].workflow: "),
        ("name: t, workflow: .github/workflows/.yml", "4:30 gates.verify.checks[0].workflow: "),
        ("name: phasegate/merge, app: 5", "4:17 gates.verify.checks[0].name: `phasegate/merge` is Phasegate's own"),
        ("name: t, worklow: .github/workflows/ci.yml, app: 5", "4:20 gates.verify.checks[0].worklow: unknown key"),
    ];
    for (inner, expected) in cases {
        assert!(check(inner).starts_with(expected), "{inner}: {}", check(inner));
    }
    let twice = "gates: { verify: { checks: [{ name: t, app: 5 }, { name: t, app: 6 }] } }";
    assert_eq!(
        said(twice),
        [
            "1:58 gates.verify.checks[1].name: the check `t` is named twice -> Remove one, or give the jobs different names"
        ]
    );
    let from = "gates: { verify: { from: [], checks: [{ name: t, app: 5 }] } }";
    assert!(said(from)[0].starts_with("1:26 gates.verify.from: the list is empty"));
}

#[test]
fn what_a_merge_group_needs_is_reverify_or_carry() {
    let read = |queue: &str| parse(format!("merge: {{ queue: {queue} }}\n{CHECK}").as_bytes());
    assert_eq!(read("carry").unwrap().merge.queue, Queue::Carry);
    assert_eq!(read("reverify").unwrap().digest(), parse(CHECK.as_bytes()).unwrap().digest(), "it is the default");
    assert_ne!(read("carry").unwrap().digest(), read("reverify").unwrap().digest());
    assert!(read("skip").is_err());
}

#[test]
fn what_a_later_version_will_know_is_refused_by_name() {
    let text = include_str!("../../tests/fixtures/policy/later.yml");
    let expected = [(3, "flow: factory"), (19, "ledger.repository")];
    let found: Vec<(u32, String)> = bad(text).into_iter().map(|p| (p.line, p.says)).collect();
    let expected: Vec<(u32, String)> = expected
        .into_iter()
        .map(|(line, what)| (line, format!("`{what}` is not available in this version of Phasegate; remove it")))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn reminders_come_after_a_time_or_never() {
    let text = |escalation: &str| {
        format!("escalation: {escalation}\ngates: {{ verify: {{ checks: [{{ name: t, app: 5 }}] }} }}")
    };
    let read = |remind: &str| parse(text(&format!("{{ remind: {remind} }}")).as_bytes());
    let minutes = |remind: &str| read(remind).unwrap().escalation.remind.after().map(|after| after.as_mins());
    assert_eq!(["1m", "90m", "24h", "3d", "30d", "720h"].map(minutes), [1, 90, 1440, 4320, 43200, 43200].map(Some));
    assert_eq!(minutes("never"), None);
    let plain = parse(text("{}").as_bytes()).unwrap();
    assert_eq!(plain.escalation.remind.after(), Some(jiff::SignedDuration::from_hours(24)));
    assert_eq!(plain.digest(), read("1d").unwrap().digest(), "it is the default, in other words");
    assert_ne!(plain.digest(), read("never").unwrap().digest());
    let schema = jsonschema::validator_for(&Policy::schema()).unwrap();
    for bad in ["0h", "24", "1w", "31d", "721h", "\"\"", "soon", "-1h", "1.5h", "[1h]"] {
        let problems = read(bad).unwrap_err();
        assert_eq!((problems.len(), problems[0].path.as_str()), (1, "escalation.remind"), "{bad}: {problems:?}");
        let json = serde_json::json!({ "escalation": { "remind": bad.trim_matches('"') } });
        assert!(!schema.is_valid(&json), "{bad}");
    }
    assert!(schema.is_valid(&serde_json::json!({ "escalation": { "remind": "3d", "code_owners": true } })));
    assert!(parse(text("{ code_owners: true }").as_bytes()).unwrap().escalation.code_owners);
    assert_eq!(
        parse(text("{ codeowners: true }").as_bytes()).unwrap_err()[0].says,
        "unknown key `codeowners`; did you mean `code_owners`?"
    );
}

#[test]
fn limits_by_tier_are_each_their_own() {
    let text = |limits: &str| format!("{limits}\ngates: {{ verify: {{ checks: [{{ name: t, app: 5 }}] }} }}");
    let p = parse(text("limits: { criteria: { house: 7 }, components: { shed: 1 } }").as_bytes()).unwrap();
    let of = |tier| (p.limits.criteria.of(tier), p.limits.components.of(tier));
    assert_eq!([Tier::Shed, Tier::House, Tier::Skyscraper].map(of), [(5, 1), (7, 8), (40, 20)]);
    for (limits, expected) in [
        ("limits: { criteria: { hut: 3 } }", "1:23 limits.criteria.hut: unknown key `hut`"),
        ("limits: { criteria: 5 }", "1:21 limits.criteria: expected a mapping, found the number `5`"),
        ("limits: { components: { shed: 0 } }", "1:31 limits.components.shed: expected a whole number from 1 to 1000"),
    ] {
        assert!(said(&text(limits))[0].starts_with(expected), "{:?}", said(&text(limits)));
    }
}

#[test]
fn match_rules_may_only_tighten() {
    let cases = [
        (
            "autonomy: conservative\nmatch: [{ label: x, autonomy: auto }]",
            "2:31 match[0].autonomy: `autonomy: auto` is looser than the policy's `conservative`; a match rule may only tighten",
        ),
        (
            "flow: pipeline\nmatch: [{ label: x, flow: merge }]",
            "2:27 match[0].flow: `flow: merge` is looser than the policy's `pipeline`; a match rule may only tighten",
        ),
        (
            "mode: stepped\nmatch: [{ label: x, mode: auto }]",
            "2:27 match[0].mode: a match rule may only tighten: `mode` can only be `stepped`",
        ),
        ("match: [{ autonomy: manual }]", "1:9 match[0]: the rule does not say which changes it is for"),
        ("match: [{ branch: \"x/**\" }]", "1:9 match[0]: the rule does not say what it tightens"),
        ("match: [{ branch: \"x/**\", tier: shed, mode: stepped }]", "1:27 match[0].tier: unknown key `tier`"),
    ];
    for (text, expected) in cases {
        let said = said(&format!("{text}\n{CHECK}"));
        assert!(said[0].starts_with(expected), "{text}: {said:#?}");
    }
    let p = good(
        "match:\n  - { branch: \"copilot/**\", autonomy: conservative }\n  - { label: needs-care, autonomy: manual, mode: stepped }\n  - { branch: \"big/*\", label: full, flow: pipeline }",
    );
    let law = |branch: &str, labels: &[&str]| {
        let labels: Vec<String> = labels.iter().map(|l| (*l).to_owned()).collect();
        let law = p.effective(branch, &labels);
        (law.flow, law.mode, law.autonomy)
    };
    assert_eq!(law("main", &[]), (Flow::Merge, Mode::Auto, Autonomy::Auto));
    assert_eq!(law("copilot/a/b", &[]), (Flow::Merge, Mode::Auto, Autonomy::Conservative));
    assert_eq!(law("copilot/a", &["Needs-Care"]), (Flow::Merge, Mode::Stepped, Autonomy::Manual));
    assert_eq!(law("big/x", &[]), (Flow::Merge, Mode::Auto, Autonomy::Auto), "branch and label must both match");
    assert_eq!(law("big/x/y", &["full"]).0, Flow::Merge, "* stays within a part of the name");
    assert_eq!(law("big/x", &["full"]).0, Flow::Pipeline);
    let mut loose = p.clone();
    loose.autonomy = Autonomy::Manual;
    assert_eq!(loose.effective("copilot/a", &[]).autonomy, Autonomy::Manual, "even a loose rule does not loosen");
}

#[test]
fn the_default_branch_may_always_get_a_green_gate_and_others_when_named() {
    let p = good("branches: [\"release/*\"]");
    assert!(p.may_merge_into("trunk", "trunk") && p.may_merge_into("release/1", "trunk"));
    assert!(!p.may_merge_into("release/1/x", "trunk") && !p.may_merge_into("agent/soft", "trunk"));
    assert!(!good("").may_merge_into("develop", "main"));
}

#[test]
fn the_digest_is_of_what_is_said_not_of_how() {
    let a = good("# a comment\nbranches: [a, b]\nflow: pipeline\nrisk: { high: [x, y] }").digest();
    let b = good("risk:\n  high:\n    - 'y'\n    - \"x\"\nflow: 'pipeline'\nbranches: [b, a, b]\nmode: auto").digest();
    assert_eq!(a, b);
    assert_ne!(a, good("branches: [a, b]\nflow: pipeline\nrisk: { high: [x] }").digest());
    assert_eq!(good("commands: { prefix: \"/pg \" }").digest(), good("commands: { prefix: /pg }").digest());
}

#[test]
fn commands_are_written_with_the_prefix() {
    let slash = good("").commands;
    assert_eq!((slash.written("expand").as_str(), slash.strip("/expand now")), ("/expand", Some("expand now")));
    let pg = good("commands: { prefix: \"/pg \" }").commands;
    assert_eq!((pg.written("expand").as_str(), pg.strip("/pg expand")), ("/pg expand", Some("expand")));
    assert_eq!((pg.strip("/expand"), pg.strip("/pgexpand")), (None, None));
}

#[test]
fn approvers_are_people_or_teams() {
    let p = good("people: { approve: [\"@Alice\", \"@octo-org/core.team\", \"@dev_corp\"] }");
    assert!(p.people.approve[0].is_person("alice") && !p.people.approve[1].is_person("octo-org"));
    assert_eq!(p.people.approve[1].who(), Who::Team { organisation: "octo-org", team: "core.team" });
}

#[test]
fn hostile_files_are_refused() {
    let bomb = {
        let mut text = String::from("a: &a [x,x,x,x,x,x,x,x,x]\n");
        for (this, last) in ('b'..='i').zip('a'..='h') {
            text += &format!("{this}: &{this} [{}]\n", vec![format!("*{last}"); 9].join(","));
        }
        text
    };
    let cases: Vec<(String, &str)> = vec![
        (bomb, "anchors (`&name`) and aliases (`*name`) are not allowed"),
        ("a: *nobody".into(), "anchors (`&name`) and aliases"),
        ("flow: &x merge".into(), "anchors (`&name`) and aliases"),
        ("[".repeat(100_000), "nested deeper than 24 levels"),
        ("- ".repeat(100_000), "nested deeper than 24 levels"),
        ("{a: ".repeat(50_000), "nested deeper than 24 levels"),
        ((0..300).map(|i| format!("{}k:\n", " ".repeat(i))).collect(), "nested deeper than 24 levels"),
        ((0..20_000).map(|i| format!("k{i}: 1\n")).collect(), "a mapping with more than 200 keys"),
        (format!("branches: [{}]", "a,".repeat(60_000)), "more than 50000 YAML elements"),
        (format!("branches: [{}]", "a,".repeat(300)), "the list has 300 items; at most 200 are allowed"),
        ("x".repeat(256 * 1024 + 1), "the file has more than 262144 bytes"),
        (format!("x: {}", "y".repeat(200 * 1024)), "unknown key `x`"),
        (format!("{}: 1", "y".repeat(900)), "unknown key `yyyy"),
        ("flow: merge\n---\nflow: pipeline\n".into(), "a second YAML document starts here"),
        ("%YAML 1.1\n---\nflow: merge".into(), "not valid YAML"),
        ("flow: mer\0ge".into(), "U+0000"),
        ("flow: \"mer\\0ge\"".into(), "U+0000"),
        ("# \u{202e}egrem :wolf\n".into(), "U+202E"),
        ("ledger: { branch: \"a\\u2066b\" }".into(), "U+2066"),
        ("flow: merge\u{feff}".into(), "U+FEFF"),
        ("mode:\nflow: [merge".into(), "not valid YAML"),
        ("flow: merge\n bad: indent".into(), "not valid YAML"),
        ("flow: @merge".into(), "not valid YAML"),
        ("just words".into(), "expected a mapping, found the text `just words`"),
        ("[]".into(), "expected a mapping, found a list"),
        (format!("risk: {{ high: [\"{}\"] }}", "{a,".repeat(170)), "is not a glob"),
        ("match: [*a]".into(), "anchors"),
    ];
    for (text, expected) in cases {
        let problems = bad(&text);
        let shown: String = text.chars().take(60).collect();
        assert!(problems.iter().any(|p| p.says.contains(expected)), "{shown}: {problems:#?}");
        assert!(problems.len() <= 100 && problems.iter().all(|p| p.says.len() < 600), "{shown}");
        render_problems("x.yml", text.as_bytes(), &problems);
    }
    let problems = parse(b"flow: merge\nmode: a\xff").unwrap_err();
    assert_eq!((problems[0].line, problems[0].column), (2, 8));
    assert_eq!(problems[0].says, "the file is not UTF-8 text from here on");
}

#[test]
fn a_terminal_sees_the_line_and_a_caret() {
    let text = format!("version: 1\nflwo: merge\n{CHECK}");
    let shown = render_problems(PATH, text.as_bytes(), &bad(&text));
    let plain = anstream::adapter::strip_str(&shown).to_string();
    insta::assert_snapshot!(plain.trim_end(), @r"
    error[MRG-07]: flwo: unknown key `flwo`; did you mean `flow`?
     --> .github/phasegate.yml:2:1
      |
    2 | flwo: merge
      | ^^^^
      |
      = help: Write `flow`
    ");
}

#[test]
fn the_report_has_its_shape() {
    let json = serde_json::to_value(check(format!("flwo: merge\n{CHECK}").as_bytes())).unwrap();
    assert_eq!(
        json,
        serde_json::json!({
            "schema": "phasegate/config-check@1",
            "verdict": "FAIL",
            "findings": [{
                "rule": "MRG-07", "severity": "error", "path": "flwo", "line": 1, "column": 1,
                "says": "unknown key `flwo`; did you mean `flow`?", "next": "Write `flow`",
            }],
        })
    );
    assert_eq!(
        check(CHECK.as_bytes()),
        Report { schema: "phasegate/config-check@1", verdict: "PASS", findings: vec![] }
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        if let Err(problems) = parse(&bytes) {
            render_problems("x", &bytes, &problems);
        }
    }

    #[test]
    fn arbitrary_policies_never_panic_and_point_into_the_file(
        text in "((version|flow|match|gates|merge|checks|branches|people|- |name|  |\\{|\\}|\\[|\\]|: |, |\n|\"|'|\\||>|#|&a|\\*a|!|1|true|é|🦀|[a-z]){1,3}){0,40}"
    ) {
        let lines = text.split('\n').count() as u32;
        match parse(text.as_bytes()) {
            Ok(policy) => {
                policy.digest();
            }
            Err(problems) => {
                prop_assert!(!problems.is_empty());
                render_problems("x", text.as_bytes(), &problems);
                for p in problems {
                    prop_assert!(p.line >= 1 && p.line <= lines + 1 && p.column >= 1, "{p:?} in {lines} lines");
                }
            }
        }
    }
}

#[test]
fn what_is_told_to_be_written_is_taken() {
    assert_eq!(
        only("version: \"1\""),
        "1:10 version: `\"1\"` is a text, and the version is a number -> Write `version: 1`, without quotes"
    );
    let said = said("gates: { verify: { checks: test } }");
    let next = "Write it as a list: `- { name: test, workflow: .github/workflows/ci.yml }`";
    assert!(said.len() == 1 && said[0].ends_with(next), "{said:#?}");
    assert!(
        parse(b"gates:\n  verify:\n    checks:\n    - { name: test, workflow: .github/workflows/ci.yml }\n").is_ok()
    );
    assert!(only("match: x").ends_with("`- { branch: x, autonomy: conservative }`"));
}

#[test]
fn a_check_with_two_mistakes_hides_none() {
    let both = "gates: { verify: { checks: [{ name: test, app: 5, workflow: nope }, { name: test, app: 6 }] } }";
    let said = said(both);
    assert_eq!(said.len(), 3, "{said:#?}");
    assert!(said[0].contains("both `workflow` and `app`"), "{said:#?}");
    assert!(said[1].contains("`nope` is not a workflow file"), "{said:#?}");
    assert!(said[2].contains("the check `test` is named twice"), "{said:#?}");
}

#[test]
fn no_approvals_and_a_required_review_do_not_go_together() {
    let says = "`approvals: 0` has no effect while `review` is required, and a review is at least one approval";
    let next = "Write `require: [verify]` to do without approvals, or `approvals: 1`";
    assert_eq!(only("merge: { approvals: 0 }"), format!("1:21 merge.approvals: {says} -> {next}"));
    assert!(only("flow: pipeline\nmerge: { approvals: 0 }").ends_with("the pipeline can't do without `review`"));
    let fine = format!("merge: {{ require: [verify], approvals: 0 }}\n{CHECK}");
    assert!(parse(fine.as_bytes()).is_ok());
}

#[test]
fn an_anchor_and_a_tag_are_pointed_at() {
    let at = |text: &str| bad(text).into_iter().map(|p| (p.line, p.column)).next().unwrap();
    assert_eq!(at("mode: &a auto\n"), (1, 7));
    assert_eq!(at("branches: &list\n  # not & this\n  - main\n"), (1, 11));
    assert_eq!(at("branches: [&one main]\n"), (1, 12));
    assert_eq!(at("mode: &a\n"), (1, 7));
    assert_eq!(at("a: &x 1\nmode: *x\n"), (1, 4));
    let tags = said("mode: !!str auto\nbranches: !mine\n  - main\n");
    assert!(tags[1].starts_with("1:7 mode: YAML tags") && tags[2].starts_with("2:11 branches: YAML tags"), "{tags:#?}");
}

#[test]
fn a_pack_says_what_an_agent_gets() {
    let read = |pack: &str| parse(format!("{CHECK}agents: {{ reader: {{ command: [x]{pack} }} }}\n").as_bytes());
    let none = read("").unwrap();
    assert!(Sight::of(&none.agents.reader.as_ref().unwrap().pack).unwrap().is_all());
    let some = read(", pack: { only: [\"src/**\", \"docs/**\"], hide: [secret] }").unwrap();
    assert_ne!(some.digest(), none.digest());
    let same = read(", pack: { hide: [secret], only: [\"docs/**\", \"src/**\"] }").unwrap();
    assert_eq!(some.digest(), same.digest(), "the order says nothing");
    assert_eq!(serde_json::from_value::<Policy>(serde_json::to_value(&some).unwrap()).unwrap(), some);
    assert!(!serde_json::to_string(&none).unwrap().contains("pack"), "one that has none keeps its digest");
}
