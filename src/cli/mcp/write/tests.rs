use super::*;

const LATEST: &str = "\
# iter-0003

- Iteration: 0003
- Parent snapshot: iter-0002
- Slice ID: S-0001
- Slice: Light the lamp.
- Scope cap: The lamp. in: src/** out: none
- Gate (iteration): none
- Gate (exit): merge
- Last gate run: none
- Last gate outcome: none
- Consecutive Iteration FAILs (this Slice ID): 0
- Consecutive Exit FAILs (this Slice ID): 0

## Evidence

- F-0001: `src/lamp.py` has `shine`.
- F-0002: `src/lamp.py` has no `light`.

## Consolidated Context

- F-0001: `src/lamp.py` has `shine`.

## Issues

### Open Issues

- I-0001: nothing lights it Next action: fix
- I-0002: nobody has tried it Next action: re-scout

### Resolved This Iteration

None.
";

fn latest() -> Snapshot {
    read("iter-0003.md", LATEST).whole(0, 0).expect("it is a snapshot")
}

/// What is given, read by itself and put to the latest.
fn with(given: &Given) -> (Snapshot, Vec<String>) {
    let said = read("iter-0003.md", &text_of(&latest(), given));
    let said = said.whole(2, 2).unwrap_or_else(|| panic!("{:?}", said.findings));
    let added = numbers(&said, &latest());
    (joined(latest(), said), added)
}

fn facts(facts: &[Fact]) -> Vec<String> {
    facts.iter().map(|fact| format!("{}: {}", fact.id, fact.text)).collect()
}

#[test]
fn what_is_not_spoken_of_is_carried_forward() {
    let (whole, added) = with(&Given::default());
    assert_eq!(whole, latest());
    assert!(added.is_empty());
}

#[test]
fn what_is_new_gets_the_next_numbers() {
    let given = Given {
        evidence: "- `src/lamp.py` has 10 lines.".to_owned(),
        context: "- F-0002: `src/lamp.py` has no `light`.\n- it is dark (shown by: F-0002)".to_owned(),
        issues: "- a bulb is missing Next action: fix".to_owned(),
        resolved: "- I-0002: nobody has tried it Closed by: F-0002".to_owned(),
        ..Given::default()
    };
    let (whole, added) = with(&given);
    assert_eq!(added, ["F-0003", "F-0004", "I-0003"]);
    assert_eq!(facts(&whole.evidence)[2], "F-0003: `src/lamp.py` has 10 lines.");
    let context = ["F-0001: `src/lamp.py` has `shine`.", "F-0002: `src/lamp.py` has no `light`."];
    assert_eq!(facts(&whole.context)[..2], context);
    assert_eq!(facts(&whole.context)[2], "F-0004: it is dark (shown by: F-0002)");
    let open: Vec<u32> = whole.open.iter().map(|issue| issue.id.0).collect();
    assert_eq!(open, [1, 3], "what is closed is not open");
    assert_eq!(whole.resolved.len(), 1);
}

#[test]
fn what_has_a_number_that_is_there_stands_in_its_place() {
    let given = Given { evidence: "- F-0002: there is a `light` now".to_owned(), ..Given::default() };
    let (whole, added) = with(&given);
    assert_eq!(facts(&whole.evidence)[1], "F-0002: there is a `light` now");
    assert!(added.is_empty() && whole.evidence.len() == 2);
}

#[test]
fn a_section_can_not_begin_another() {
    let given = Given { evidence: "- one\n\n## Consolidated Context\n\n- two".to_owned(), ..Given::default() };
    let said = read("iter-0003.md", &text_of(&latest(), &given));
    assert!(said.whole(2, 2).is_none());
    assert_eq!(said.findings[0].rule, "SNP-01");
}

#[test]
fn entries_are_left_out_by_their_numbers() {
    let whole = dropped(latest(), &["f-0002".to_owned()]).expect("it is there");
    assert_eq!(facts(&whole.evidence), ["F-0001: `src/lamp.py` has `shine`."]);
    assert!(dropped(latest(), &["F-0009".to_owned()]).is_err());
    assert!(dropped(latest(), &[String::new()]).is_err());
}
