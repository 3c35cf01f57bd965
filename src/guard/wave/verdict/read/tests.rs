use super::*;

fn formless(text: &str) -> Option<Unread> {
    handed_in("SUMMARY.md", text.as_bytes()).map(|read| read.unwrap_err())
}

/// The shape that is asked for on one line, without its fence, hid the outcome behind the task.
#[test]
fn what_a_verdict_on_one_line_names_stops() {
    for text in [
        "{ task: a, outcome: HARD-STOP, evidence: x, residue: [security: the key], deltas: [] }\n",
        "task: a, outcome: HARD-STOP, evidence: x\n",
        "{\"task\":\"a\",\"outcome\":\"HARD-STOP\",\"evidence\":\"x\",\"residue\":[],\"deltas\":[]}",
        "# Done\n\n`{ task: a, outcome: HARD STOP, evidence: x }`\n",
        "Verdict: { task: a, outcome: HARD-STOP, evidence: 2 passed }\n",
        "## Outcome\n\nHARD-STOP\n\n## Residue\n\n- security: key\n",
        "Outcome\n-------\n\n**HARD-STOP**: the key\n\nEvidence\n--------\n\n2 passed\n",
        "## Outcome: HARD-STOP\n",
        "Outcome: HARD-STOP\n",
        "# Summary\n\nOutcome: HARD-STOP of the train, for security.\n",
        "| task | outcome | evidence |\n|---|---|---|\n| a | HARD-STOP | 2 passed |\n",
        "```yaml\n{ task: a, outcome: HARD-STOP, evidence: a: b: c }\n```\n",
    ] {
        let unread = formless(text).unwrap_or_else(|| panic!("nothing: {text}"));
        assert_eq!(unread.stops, Some(Outcome::HardStop), "{text}");
        assert!(unread.findings.iter().all(|one| one.rule == MALFORMED), "{text}");
    }
    let asks = formless(
        "# Work\n\n## Verdict\n\n{ task: a, outcome: ESCALATE, residue: [architecture: it knows the clock] }\n",
    );
    assert_eq!(asks.and_then(|unread| unread.stops), Some(Outcome::Escalate));
    assert_eq!(
        formless("Task: a\n\n## Outcome\n\nESCALATE\n").and_then(|unread| unread.stops),
        Some(Outcome::Escalate)
    );
}

#[test]
fn what_is_left_of_security_is_read_from_all_of_it() {
    for text in [
        "{ task: a, outcome: PASS, evidence: x, residue: [security: the key], deltas: [] }\n",
        "{\"task\": \"a\", \"outcome\": \"PASS\", \"residue\": [{\"kind\": \"security\", \"finding\": \"the key\"}]}",
        "## Outcome\n\nPASS\n\n## Evidence\n\n2 passed\n\n## Residue\n\n- [security] the key\n",
        "```yaml\n{ task: a, outcome: PASS, residue: [security: the key }\n```\n",
    ] {
        let unread = formless(text).unwrap_or_else(|| panic!("nothing: {text}"));
        assert!(unread.security && unread.stops == Some(Outcome::HardStop), "{text}");
    }
    for text in [
        "{ task: security, outcome: PASS, evidence: the security review is clean, residue: [], deltas: [] }\n",
        "## Outcome\n\nPASS\n\n## Evidence\n\nThe security tests are green.\n",
    ] {
        let unread = formless(text).unwrap_or_else(|| panic!("nothing: {text}"));
        assert!(!unread.security && unread.stops.is_none(), "{text}");
    }
}

#[test]
fn a_summary_of_something_else_is_let_be() {
    for prose in [
        "# Summary\n\n- [Outcome](outcome.md)\n- [Evidence](evidence.md)\n- [Security](security.md)\n",
        "The outcome: nobody was hurt.\n",
        "# Summary\n\nOutcome: HARD-STOP of the train.\n",
        "## Outcome\n\nThe parser is twice as fast.\n\n## Evidence\n\nSee the figures.\n",
        "## Outcome\n\nPASS\n",
        "A worker's verdict is `{ task: Task, outcome: Outcome }`.\n",
        "<!-- task: ID\noutcome: PASS|RISK-ACCEPTED|HARD-STOP|ESCALATE -->\n# Summary\n",
        "A `sub-task: b` escalates where task::spawn fails; outcome == PASS is fine.\n",
    ] {
        assert!(formless(prose).is_none(), "{prose}");
    }
}
