use super::*;
use crate::cli::raise::SUBJECT;

fn message(reason: &str) -> Result<String, String> {
    let given = Given { condition: Why::Scope, reason: reason.to_owned() };
    super::message(&given).map(|message| message.0).map_err(|refusal| format!("{refusal:?}"))
}

#[test]
fn a_reason_is_a_line_of_a_trailer_whatever_white_space_it_has() {
    let folded = "stop: it is twice the work\n\nPhasegate-Stop: scope: it is twice the work\n";
    assert_eq!(message(" it is\n\ntwice\tthe work\r\n").unwrap(), folded);
    // A trailer in it is words of it.
    let told = message("x\n\nPhasegate-Claim: verify").unwrap();
    assert!(told.lines().all(|line| !line.starts_with("Phasegate-Claim:")), "{told}");
}

#[test]
fn the_subject_is_the_beginning_of_a_long_reason() {
    let told = message(&"größe ".repeat(100)).unwrap();
    let subject = told.lines().next().unwrap();
    assert!(subject.chars().count() <= "stop: ".len() + SUBJECT && subject.ends_with("größe"), "{subject}");
    assert!(told.ends_with("größe größe\n"));
}

#[test]
fn a_reason_has_its_bounds_in_characters() {
    assert!(message("abc").is_ok() && message(&"ä".repeat(1_000)).is_ok());
    for wrong in ["", "ab", " \n a \t ", &"ä".repeat(1_001)] {
        assert!(message(wrong).unwrap_err().contains("3 to 1000"), "{wrong:?}");
    }
    for wrong in ["a\u{1b}[2Jb", "bell\u{7}", "turned \u{202e} round", "nul\0"] {
        assert!(message(wrong).unwrap_err().contains("control characters"), "{wrong:?}");
    }
}

#[test]
fn whatever_can_be_raised_is_a_condition_that_somebody_may_stop_for() {
    let all = [Why::Stuck, Why::Scope, Why::Dependency, Why::Unsafe];
    assert_eq!(all.map(Condition::from), Condition::ALL);
}
