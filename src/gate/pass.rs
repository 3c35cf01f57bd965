//! What is said of an agent's pass: how it ended, its answer, what it did beside that.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::finding::{Finding, quoted};
use crate::ledger::task::Task;
use crate::policy::{Budget, Role};
use crate::repo::RepoPath;
use crate::runner::pass::Report;

/// It did not end well.
pub const BROKE_OFF: &str = "AGT-01";
/// There is no answer of the form.
pub const ANSWER: &str = "AGT-02";
/// It was to look, and has written.
pub const WROTE: &str = "AGT-03";
/// It made commits, or repositories, of its own.
pub const OWN: &str = "AGT-04";
/// Something that a scout says is not where it says, or is no finding.
pub const SCOUTED: &str = "AGT-05";

/// What all passes may take together is used up.
pub const BUDGET: &str = "AGT-07";
/// It ran without all walls.
pub const UNCONFINED: &str = "AGT-06";
/// It has left something outside of its pack.
pub const OUTSIDE: &str = "AGT-09";

/// What all passes may take together, where that is used up.
pub fn over(task: &Task, budget: &Budget) -> Option<String> {
    let minutes = task.spent_ms / 60_000;
    let says = match (budget.passes, budget.minutes, budget.credits) {
        (Some(most), ..) if task.passes >= most => {
            format!("the task had {} passes, and {most} are given", task.passes)
        }
        (_, Some(most), _) if minutes >= u64::from(most) => {
            format!("agents were at it for {minutes} minutes, and {most} are given")
        }
        (.., Some(_)) if task.unpriced => {
            "the policy gives credits, and a pass did not say what it cost: so nobody knows what is left".to_owned()
        }
        (.., Some(most)) if task.credits >= most => {
            format!("it has cost {} credits, and {most} are given", task.credits)
        }
        _ => return None,
    };
    Some(says)
}

/// So many paths are named in a sentence.
const MOST_NAMED: usize = 5;

pub fn judge(report: &Report) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(last) = report.tries.last() {
        if !last.ended_well() {
            let says = format!("The {} broke off: {}.", report.role, last.how());
            let next = "See the end of what it said. The next pass begins where the branch is.";
            findings.push(Finding::error(BROKE_OFF, says, next));
        } else if report.answer.is_none() {
            let times = match report.tries.len() {
                1 => "once".to_owned(),
                2 => "twice".to_owned(),
                times => format!("{times} times"),
            };
            let wrong = last.wrong.first().map_or("", String::as_str);
            let says = format!("The {} was asked {times}, and its answer is not of the form. {wrong}", report.role);
            let next = "Write JSON by the schema in `PHASEGATE_SCHEMA` into the file that `PHASEGATE_ANSWER` names.";
            findings.push(Finding::error(ANSWER, says.trim_end().to_owned(), next));
        }
    }
    if report.discarded {
        let says = format!(
            "The {} was to look, and has written: {}. It was thrown away.",
            report.role,
            named(&report.changed)
        );
        let next = "What is to be changed is the main agent's to change. Say it in the answer.";
        findings.push(Finding::error(WROTE, says, next));
    }
    if report.committed {
        let says =
            format!("The {} made commits of its own. What it left was taken, and its commits were not.", report.role);
        let next = "Leave the files as they are to be: they become one commit.";
        findings.push(Finding::warning(OWN, says, next));
    }
    if !report.nested.is_empty() {
        let says = format!(
            "The {} left repositories inside of the content: {}. Their files were not taken.",
            report.role,
            named(&report.nested)
        );
        findings.push(Finding::warning(OWN, says, "Remove their `.git` folders, if the files are to stay."));
    }
    if !report.outside.is_empty() {
        let says = format!(
            "The {} has left something outside of what its pack gives it: {}. Nothing of the pass was taken.",
            report.role,
            named(&report.outside)
        );
        let next =
            "Leave alone what is not there; or a person widens `pack` of the policy's agent on the default branch.";
        findings.push(Finding::error(OUTSIDE, says, next));
    }
    let open = report.confinement.told();
    if !open.is_empty() {
        let says = format!("The {} ran without all walls: agents here {}.", report.role, open.join("; they "));
        let next = "Run it where there are namespaces and Landlock; `confine.required` refuses to run without.";
        findings.push(Finding::warning(UNCONFINED, says, next));
    }
    findings
}

fn named(paths: &[String]) -> String {
    let mut names: Vec<String> = paths.iter().take(MOST_NAMED).map(|path| quoted(path)).collect();
    if paths.len() > MOST_NAMED {
        names.push(format!("{} more", paths.len() - MOST_NAMED));
    }
    names.join(", ")
}

/// The JSON Schema of what is answered in a role.
pub fn schema(role: Role) -> Value {
    let text = |most: u32| json!({ "type": "string", "minLength": 1, "maxLength": most });
    let summary = text(4000);
    let credits = json!({ "type": "integer", "minimum": 0, "maximum": 1_000_000_000_u64, "description": "what this pass has cost" });
    let object = |properties: Value, required: Value| {
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "additionalProperties": false,
            "properties": properties,
            "required": required,
        })
    };
    match role {
        Role::Main => object(json!({ "summary": summary, "credits": credits }), json!(["summary"])),
        Role::Scout => {
            let finding = json!({
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "says": text(1000),
                    "path": text(512),
                    "line": { "type": "integer", "minimum": 1, "maximum": 10_000_000 },
                    "quote": text(2000),
                },
                "required": ["says", "path", "line", "quote"],
            });
            let findings = json!({ "type": "array", "maxItems": 100, "items": finding });
            object(json!({ "findings": findings, "summary": summary, "credits": credits }), json!(["findings"]))
        }
        _ => {
            let check = json!({
                "type": "object",
                "additionalProperties": false,
                "properties": { "rule": text(20), "pass": { "type": "boolean" }, "evidence": text(2000) },
                "required": ["rule", "pass", "evidence"],
            });
            let checks = json!({ "type": "array", "minItems": 1, "maxItems": 100, "items": check });
            object(json!({ "checks": checks, "summary": summary, "credits": credits }), json!(["checks", "summary"]))
        }
    }
}

/// What a pass has cost, as its answer says; none where it does not.
pub fn credits(answer: &Value) -> Option<u64> {
    answer.get("credits").and_then(Value::as_u64)
}

/// Something that a scout has found, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    pub says: String,
    pub path: String,
    pub line: u32,
    pub quote: String,
}

/// Words of somebody who says what to do. A scout says what is there.
const PROPOSES: &[&str] = &[
    "should",
    "shall",
    "must",
    "recommend",
    "suggest",
    "propose",
    "let's",
    "let us",
    "consider",
    "better to",
    "would be better",
    "need to",
    "needs to",
    "fix this",
    "i would",
    "we could",
    "you could",
    "todo",
];

/// What a scout has found, and what is wrong with the rest: it is not where it says, or it says what to do.
pub fn scouted(answer: &Value, text: &mut dyn FnMut(&RepoPath) -> Option<Vec<u8>>) -> (Vec<Found>, Vec<Finding>) {
    let (mut found, mut wrong) = (Vec::new(), Vec::new());
    let given = answer.get("findings").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for one in given {
        let Ok(one) = serde_json::from_value::<Found>(one.clone()) else { continue };
        let finding =
            |says: String, next: &str| Finding::error(SCOUTED, says, next).at(one.path.clone(), Some(one.line));
        if let Some(word) = proposes(&one.says) {
            let says =
                format!("A scout says what is there, and this says what to do (`{word}`): {}", quoted(&one.says));
            wrong.push(finding(says, "Say what you saw, and where. What follows from it is for others."));
        } else if !stands(&one, text) {
            let says = format!("{} does not have {} at line {}.", quoted(&one.path), quoted(&one.quote), one.line);
            wrong.push(finding(says, "Quote what stands there, word for word, with the line that it begins on."));
        } else {
            found.push(one);
        }
    }
    (found, wrong)
}

fn proposes(says: &str) -> Option<&'static str> {
    let says = says.to_lowercase();
    let is_word = |at: usize, word: &str| {
        let letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        !letter(says[..at].chars().next_back()) && !letter(says[at + word.len()..].chars().next())
    };
    PROPOSES.iter().copied().find(|word| says.match_indices(word).any(|(at, _)| is_word(at, word)))
}

/// Whether a file has it, beginning on that line.
fn stands(found: &Found, text: &mut dyn FnMut(&RepoPath) -> Option<Vec<u8>>) -> bool {
    let Ok(path) = RepoPath::parse(&found.path) else { return false };
    let Some(bytes) = text(&path) else { return false };
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let Some(at) = found.line.checked_sub(1).and_then(|line| usize::try_from(line).ok()) else { return false };
    let quoted: Vec<&str> = found.quote.trim().lines().map(str::trim).collect();
    let Some(there) = lines.get(at..at.saturating_add(quoted.len())) else { return false };
    let [first, rest @ ..] = &quoted[..] else { return false };
    there[0].contains(first) && rest.iter().zip(&there[1..]).all(|(quoted, line)| line.contains(quoted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scout(says: &str, path: &str, line: u32, quote: &str) -> (usize, Vec<String>) {
        let answer = json!({ "findings": [{ "says": says, "path": path, "line": line, "quote": quote }] });
        let mut text = |path: &RepoPath| {
            (path.to_string() == "lamp.py").then(|| b"def on():\n    return 1\n\n\ndef off(): ...\n".to_vec())
        };
        let (found, wrong) = scouted(&answer, &mut text);
        (found.len(), wrong.into_iter().map(|finding| finding.says).collect())
    }

    #[test]
    fn what_a_scout_has_found_stands_where_it_says() {
        assert_eq!(scout("It gives back one.", "lamp.py", 2, "return 1"), (1, vec![]));
        assert_eq!(scout("Two lines.", "lamp.py", 1, "def on():\n  return 1"), (1, vec![]));
        for (path, line, quote) in [
            ("lamp.py", 1, "return 1"),
            ("other.py", 2, "return 1"),
            ("lamp.py", 99, "x"),
            ("../lamp.py", 2, "return 1"),
            ("lamp.py", 5, "def off(): ...\nmore"),
        ] {
            let (found, wrong) = scout("It gives back one.", path, line, quote);
            assert_eq!((found, wrong.len()), (0, 1), "{path}:{line} {quote}");
        }
    }

    #[test]
    fn what_a_scout_proposes_is_not_taken() {
        for says in ["`on` should give back True.", "Let's rename it.", "I'd SUGGEST a test", "consider: a lock"] {
            let (found, wrong) = scout(says, "lamp.py", 2, "return 1");
            assert_eq!((found, wrong.len()), (0, 1), "{says}");
        }
        assert_eq!(scout("The shoulder of `considered` is mustard.", "lamp.py", 2, "return 1").0, 1);
    }

    #[test]
    fn each_role_has_a_schema_that_takes_nothing_beside_it() {
        for role in Role::EACH {
            let validator = jsonschema::validator_for(&schema(role)).unwrap();
            assert!(!validator.is_valid(&json!({ "approve": true })), "{role}");
            assert!(!validator.is_valid(&json!("prose")) && !validator.is_valid(&json!({})), "{role}");
        }
        let main = jsonschema::validator_for(&schema(Role::Main)).unwrap();
        assert!(main.is_valid(&json!({ "summary": "done", "credits": 12 })));
        assert!(!main.is_valid(&json!({ "summary": "done", "credits": -1 })));
        assert_eq!(credits(&json!({ "summary": "done" })), None);
    }
}
