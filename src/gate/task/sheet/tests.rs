use super::*;

/// The file that `task init` writes.
pub(in crate::gate::task) fn template() -> String {
    include_str!("../../../../templates/task/STATE.md").replace("{{today}}", "2026-01-31")
}

fn found(text: &str) -> Vec<(String, Option<u32>, String)> {
    let findings = read(STATE, text.as_bytes()).err().unwrap_or_default();
    findings.into_iter().map(|finding| (finding.rule, finding.line, finding.says)).collect()
}

fn one(text: &str) -> (String, Option<u32>, String) {
    let found = found(text);
    let [one] = found.as_slice() else { panic!("{found:#?}\nin\n{text}") };
    one.clone()
}

#[test]
fn the_template_is_in_its_form_and_says_nothing_yet() {
    let sheet = read(STATE, template().as_bytes()).unwrap();
    assert_eq!((sheet.phase, sheet.candidate_done, sheet.repair_applied), (Stage::Intake, false, false));
    assert_eq!((sheet.validator, sheet.revalidation), (Checked::Pending, Checked::Pending));
    assert_eq!((sheet.user_facing, sheet.features.len()), (Some(false), 0));
    for field in [Field::Objective, Field::DoneGate, Field::EvidenceLink, Field::ValidationPlan] {
        assert_eq!(sheet.value(field), "", "{field}");
        assert!(!sheet.says(field), "{field}");
    }
    assert!(sheet.says(Field::Status));
}

#[test]
fn each_field_is_missed_by_name() {
    for field in Field::ALL {
        let text: String = template()
            .lines()
            .filter(|line| !line.starts_with(&format!("{field}:")))
            .map(|line| format!("{line}\n"))
            .collect();
        match field.is_optional() {
            true => assert!(read(STATE, text.as_bytes()).is_ok(), "{field}"),
            false => {
                let (rule, line, says) = one(&text);
                assert_eq!(
                    (rule.as_str(), line, says.as_str()),
                    ("TSK-02", None, format!("`{field}:` is missing.").as_str())
                );
            }
        }
    }
}

#[test]
fn a_name_that_is_nearly_right_is_told_where_it_stands() {
    let text = template().replace("Next step:", "Next steps: look");
    let (_, line, says) = one(&text);
    assert_eq!(says, "`Next step:` is missing, and `Next steps` is close to it.");
    assert_eq!(text.lines().nth(line.unwrap() as usize - 1), Some("Next steps: look"));
}

#[test]
fn fields_are_read_however_they_are_set() {
    let text = template()
        .replace("Phase: intake", "- **phase:** `Shape`.")
        .replace("Objective:\n", "* OBJECTIVE: Dim it.\n\n  In steps of ten.\n")
        .replace("Candidate done: no", "**Candidate done**: Yes")
        .replace("Done gate:", "done-gate:")
        .replace('\n', "\r\n");
    let text = format!("\u{feff}{text}");
    let sheet = read(STATE, text.as_bytes()).unwrap_or_else(|found| panic!("{found:#?}"));
    assert_eq!((sheet.phase, sheet.candidate_done), (Stage::Shape, true));
    assert_eq!(sheet.value(Field::Objective), "Dim it.\n  In steps of ten.");
}

#[test]
fn code_and_comments_declare_nothing() {
    let more = "\n```text\nPhase: done\n```\n\n<!--\nPhase: done\n-->\n<!-- Phase: done --> \n~~~~\nPhase: done\n~~~\nPhase: done\n~~~~\n";
    let sheet = read(STATE, format!("{}{more}", template()).as_bytes()).unwrap_or_else(|found| panic!("{found:#?}"));
    assert_eq!(sheet.phase, Stage::Intake);
    // A block of code belongs to the value that it stands below.
    let plan = template().replace("Validation plan:\n", "Validation plan:\n```sh\ncargo test\nPhase: x\n```\n");
    let sheet = read(STATE, plan.as_bytes()).unwrap();
    assert_eq!(sheet.value(Field::ValidationPlan), "```sh\ncargo test\nPhase: x\n```");
}

#[test]
fn what_can_not_be_is_told_with_what_can() {
    let changed = |from: &str, to: &str| {
        let text = template();
        assert!(text.contains(from), "{from}");
        one(&text.replacen(from, to, 1))
    };
    let says = |from: &str, to: &str| changed(from, to).2;
    assert_eq!(says("Phase: intake", "Phase: building"), "`building` is no phase.");
    assert_eq!(says("Phase: intake", "Phase:"), "`Phase:` names none.");
    assert_eq!(says("Phase: intake", "Phase: intake -> shape"), "`intake -> shape` is no phase.");
    assert_eq!(says("Candidate done: no", "Candidate done: yes|no"), "`Candidate done:` can't be `yes|no`.");
    assert_eq!(says("Candidate done: no", "Candidate done:"), "`Candidate done:` says nothing.");
    assert_eq!(says("Validator status: pending", "Validator status: passed"), "`Validator status:` can't be `passed`.");
    assert_eq!(says("Repair applied: no", "Repair applied: maybe"), "`Repair applied:` can't be `maybe`.");
    assert_eq!(says("Status: not started", "Status:"), "`Status:` says nothing.");
    assert_eq!(says("Last updated: 2026-01-31", "Last updated: yesterday"), "`Last updated:` can't be `yesterday`.");
    assert_eq!(says("Last updated: 2026-01-31", "Last updated: 2026-02-31"), "`Last updated:` can't be `2026-02-31`.");
    assert_eq!(says("User-facing: no", "User-facing: some"), "`User-facing:` can't be `some`.");
}

#[test]
fn a_field_stands_once() {
    let text = format!("{}\nPhase: done\n", template().replace("## Visible features\n", ""));
    let (rule, line, says) = one(&text);
    assert_eq!(rule, "TSK-02");
    assert!(says.starts_with("`Phase:` stands here once more; line "), "{says}");
    assert_eq!(text.lines().nth(line.unwrap() as usize - 1), Some("Phase: done"));
}

#[test]
fn features_have_a_name_and_one_of_four_labels() {
    let with = |items: &str| format!("{}{items}", template());
    let sheet = read(STATE, with("- the knob: real_working\n- [x] **list** — `real_read_only`\n* Export: Blocked hidden\n+ a: b: unknown_do_not_show\n").as_bytes());
    let sheet = sheet.unwrap_or_else(|found| panic!("{found:#?}"));
    let told: Vec<(&str, &str)> = sheet.features.iter().map(|one| (one.name.as_str(), one.truth.as_str())).collect();
    assert_eq!(
        told,
        [
            ("the knob", "real_working"),
            ("list", "real_read_only"),
            ("Export", "blocked_hidden"),
            ("a: b", "unknown_do_not_show")
        ]
    );
    let says = |items: &str| {
        let (rule, line, says) = one(&with(items));
        assert_eq!((rule.as_str(), line.is_some()), ("TSK-06", true), "{items}");
        says
    };
    assert_eq!(says("- the knob: works\n"), "The feature `the knob` can't be `works`.");
    assert_eq!(says("- the knob\n"), "The feature `the knob` has no label.");
    assert_eq!(says("- : real_working\n"), "A feature has no name.");
    assert!(says("- a: real_working\n- A: blocked_hidden\n").starts_with("The feature `A` stands here once more"));
    let many: String = (0..201).map(|n| format!("- f{n}: real_working\n")).collect();
    assert_eq!(says(&many), "There are 201 features; at most 200 are tracked.");
}

#[test]
fn a_value_is_put_back_and_all_else_stays() {
    let text = template().replace("Blockers: none", "Blockers: the meter\nis not there\n- and broken");
    let sheet = read(STATE, text.as_bytes()).unwrap();
    assert_eq!(sheet.with(Field::Phase, "shape"), text.replace("Phase: intake", "Phase: shape"));
    assert_eq!(sheet.with(Field::Blockers, "none"), template());
    let plan = sheet.with(Field::ValidationPlan, "- one\n- two");
    assert_eq!(read(STATE, plan.as_bytes()).unwrap().value(Field::ValidationPlan), "- one\n- two");
    let bare: String =
        text.lines().filter(|line| !line.starts_with("User-facing")).map(|line| format!("{line}\n")).collect();
    let added = read(STATE, bare.as_bytes()).unwrap().with(Field::UserFacing, "yes");
    assert_eq!(read(STATE, added.as_bytes()).unwrap().user_facing, Some(true));
}

#[test]
fn what_is_no_text_or_too_long_is_refused_whole() {
    let bytes = [template().as_bytes(), b"\nNote: \xff\n"].concat();
    let found = read(STATE, &bytes).unwrap_err();
    assert_eq!((found.len(), found[0].line), (1, Some(template().lines().count() as u32 + 2)));
    let found = read(STATE, &vec![b'x'; LARGEST + 1]).unwrap_err();
    assert!(found[0].says.starts_with("STATE.md has 262145 bytes"), "{found:?}");
    let long = template().replace("Objective:\n", &format!("Objective: {}\n", "x".repeat(LONGEST + 1)));
    assert_eq!(one(&long).2, "`Objective:` has more than 8000 characters.");
    assert_eq!(read(STATE, b"").unwrap_err().len(), 17);
}

proptest::proptest! {
    /// Whatever stands there, it is read or refused; and what is written reads as it was.
    #[test]
    fn nothing_breaks_it(lines in proptest::collection::vec("(Phase|Status|Blockers|- a|#+|<!--|-->|```|~~~)?:? ?[ -~é\u{200b}]{0,30}", 0..40)) {
        let text = format!("{}\n{}", template(), lines.join("\n"));
        if let Ok(sheet) = read(STATE, text.as_bytes()) {
            let again = sheet.with(Field::Phase, "shape");
            let again = read(STATE, again.as_bytes()).unwrap();
            proptest::prop_assert_eq!(again.phase, Stage::Shape);
            proptest::prop_assert_eq!(&again.features, &sheet.features);
            for field in Field::ALL.into_iter().filter(|field| *field != Field::Phase) {
                proptest::prop_assert_eq!(again.value(field), sheet.value(field));
            }
        }
    }
}
