//! What is laid out for visitors of the demo and of the twin: commits that are made ready, and what is worth trying.

use super::{CHECK, CI, WORKFLOW, papers};
use crate::twin::{Prepared, Stage};

fn prepared(name: &str, about: &str, message: &str, files: &[(&str, Option<&str>)]) -> Prepared {
    Prepared {
        name: name.to_owned(),
        about: about.to_owned(),
        message: message.to_owned(),
        files: files.iter().map(|(path, text)| ((*path).to_owned(), text.map(str::to_owned))).collect(),
    }
}

/// The scope with one criterion more: what `brighter` is for.
fn brighter_scope() -> String {
    let criterion = "- AC-3: brightening from level 3 gives level 4, within 10 ms.";
    papers::SCOPE.replace("with zero errors.\n", &format!("with zero errors.\n{criterion}\n"))
}

/// The test that proves it.
const BRIGHTER_TEST: &str = "from brighter import brighten\n\n\ndef test_one_step():\n    \
                             \"\"\"AC-3: brightening from level 3 gives level 4.\"\"\"\n    assert brighten(3) == 4\n";

/// The readiness that says how it is proved.
fn brighter_readiness() -> String {
    let mut out = String::new();
    for line in papers::READINESS.lines() {
        out.push_str(&format!("{line}\n"));
        let more = match line.split(" | ").nth(1) {
            _ if line.starts_with("2. AC-2:") => "3. AC-3: the step up.\n",
            Some("Interfaces") if line.starts_with("| AC-2") => {
                "| AC-3 | Interfaces | `tests/test_brighter.py::test_one_step` | `python -m brighter 3` prints 4 |\n"
            }
            Some(_) if line.starts_with("| AC-2") => "| AC-3 | one step up from 3, timed | `python -m brighter 3` |\n",
            _ => "",
        };
        out.push_str(more);
    }
    out
}

fn harmless() -> Prepared {
    let page = ("docs/levels.md", Some("Levels go from 0, which is dark, to 10.\n"));
    prepared("harmless", "a harmless page of documentation", "Say what the levels are", &[page])
}

/// A workflow that is green whatever is in the change.
fn lax_workflow() -> String {
    CI.replace("make test", "true")
}

fn lax_ci() -> Prepared {
    let lax = lax_workflow();
    prepared("lax-ci", "a CI workflow that tests nothing", "Make CI faster", &[(WORKFLOW, Some(&lax))])
}

/// The demo's stage, once its story was played.
pub fn demo_stage(cast: &[&str]) -> Stage {
    let (scope, readiness) = (brighter_scope(), brighter_readiness());
    let design =
        papers::DESIGN.replace("One module with one function; the lantern calls it when its button is pressed.", "TBD");
    let lax = lax_workflow();
    let good: [(&str, Option<&str>); 4] = [
        ("scaffolding/scope.md", Some(&scope)),
        ("scaffolding/design.md", Some(papers::DESIGN)),
        ("scaffolding/readiness.md", Some(&readiness)),
        (WORKFLOW, Some(CI)),
    ];
    Stage {
        cast: cast.iter().map(|login| (*login).to_owned()).collect(),
        workflow: WORKFLOW.to_owned(),
        job: CHECK.to_owned(),
        commits: vec![
            harmless(),
            prepared(
                "no-scope",
                "an empty scope document",
                "Tidy up the scope",
                &[("scaffolding/scope.md", Some("# Scope\n"))],
            ),
            prepared(
                "tbd",
                "a design that says TBD",
                "Leave the architecture for later",
                &[("scaffolding/design.md", Some(&design))],
            ),
            lax_ci(),
            prepared("mend", "everything right again", "Mend the documents and CI", &good),
        ],
        changes: vec![
            prepared(
                "brighter",
                "Brighter: scope, proof and code together",
                "Brighter",
                &[
                    ("src/brighter.py", Some("def brighten(level):\n    return min(10, level + 1)\n")),
                    ("tests/test_brighter.py", Some(BRIGHTER_TEST)),
                    ("scaffolding/scope.md", Some(&scope)),
                    ("scaffolding/readiness.md", Some(&readiness)),
                ],
            ),
            prepared(
                "strobe",
                "Strobe: code that no document speaks of",
                "Strobe",
                &[("src/strobe.py", Some("def strobe(level):\n    return 10 - level\n"))],
            ),
            prepared(
                "lax-ci",
                "Faster CI: it changes the workflow that is to prove it",
                "Faster CI",
                &[
                    (WORKFLOW, Some(&lax)),
                    ("scaffolding/scope.md", Some(&scope)),
                    ("scaffolding/readiness.md", Some(&readiness)),
                ],
            ),
        ],
        tries: TRIES.iter().map(|one| (*one).to_owned()).collect(),
    }
}

/// The three things to try, as the pages show them. The demo's last words have the same three for a terminal.
const TRIES: &[&str] = &[
    "**Approve your own change.** Begin *Brighter* as `guest`; on its page comment `/expand`, let CI end green, then \
     comment `/approve`, and read why not.",
    "**Push after the approval.** Approve as `mia` and see it turn green; then push *a harmless page of documentation*, \
     and see the approval fall. Or push *a design that says TBD*, and find the line \
     that the gate objects to; *everything right again* mends it.",
    "**Merge on a bad day.** Switch one on: *GitHub loses every third webhook*. Let CI end green, approve as `mia`, and \
     merge: the end is the same.",
];

/// The stage of the twin alone, whose repository has no phases.
pub fn sandbox_stage(cast: &[&str]) -> Stage {
    Stage {
        cast: cast.iter().map(|login| (*login).to_owned()).collect(),
        workflow: WORKFLOW.to_owned(),
        job: CHECK.to_owned(),
        commits: vec![
            harmless(),
            lax_ci(),
            prepared("mend", "the CI workflow right again", "Mend CI", &[(WORKFLOW, Some(CI))]),
        ],
        changes: vec![prepared("hello", "Hello: one new file", "Hello", &[("hello.txt", Some("hello\n"))])],
        tries: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_ready_is_what_it_says() {
        let stage = demo_stage(&["guest"]);
        let file = |name: &str, path: &str| {
            let one = stage.commits.iter().chain(&stage.changes).find(|one| one.name == name).unwrap();
            one.files.iter().find(|(at, _)| at == path).and_then(|(_, text)| text.clone()).unwrap()
        };
        assert!(
            file("brighter", "scaffolding/scope.md")
                .contains("\n- AC-2: dimming from level 0 stays at level 0, with zero errors.\n- AC-3: ")
        );
        let readiness = file("brighter", "scaffolding/readiness.md");
        assert_eq!(readiness.matches("AC-3").count(), 3, "{readiness}");
        assert!(readiness.contains("tests/test_brighter.py"), "{readiness}");
        assert!(file("tbd", "scaffolding/design.md").contains("## Architecture\n\nTBD\n"));
        assert_ne!(file("lax-ci", WORKFLOW), CI);
        assert_eq!(file("mend", WORKFLOW), CI);
        assert_eq!(stage.tries.len(), 3);
    }
}
