//! `VER-02`, `VER-03`, `VER-04`, `VER-07`, `VER-14`: whether each criterion was shown by running the software.

use super::shown;
use crate::finding::{Finding, Severity, quoted};
use crate::gate::papers::{READINESS, SCOPE};
use crate::gate::proofs::{only_reads, puts_load};
use crate::runner::artefact::{CommandOutcome, CommandRun};
use crate::runner::proofs::{Asked, Proof, Proofs, Proved, Unread, UnreadKind};
use crate::runner::text;

/// The rules that look at what the documents ask for.
pub(super) fn judge(proofs: &Proofs) -> Vec<Finding> {
    let mut findings = unasked(&proofs.asked);
    findings.extend(failed(proofs));
    findings.extend(silent(proofs));
    findings.extend(nothing_shown(proofs));
    findings.extend(unmeasured(proofs));
    if !proofs.demanded {
        findings.iter_mut().for_each(|finding| finding.severity = Severity::Warning);
    }
    findings
}

/// What can be seen before anything is run: what no command is written for.
pub fn unasked(asked: &Asked) -> Vec<Finding> {
    let at = |finding: Finding, line: u32| finding.at(READINESS.to_owned(), Some(line));
    if let Some(line) = asked.unwritten {
        let says = format!("Nothing is run that shows the criteria: there is no `{READINESS}` that says how.");
        let next = "Write it, with a command for each criterion in Key Links: `` `$ COMMAND` prints `TEXT` ``.";
        return vec![Finding::error("VER-03", says, next).at(SCOPE.to_owned(), Some(line))];
    }
    let mut findings: Vec<Finding> = asked.unread.iter().map(unread).collect();
    for criterion in asked.criteria.iter().filter(|criterion| asked.of(&criterion.id).next().is_none()) {
        let says = format!("Nothing is run that shows `{}`: Key Links has no command for it.", criterion.id);
        let next = "Write it there in code behind a `$`, with what it prints: `` `$ COMMAND` prints `TEXT` ``.";
        findings.push(at(Finding::error("VER-03", says, next), criterion.line));
    }
    for criterion in &asked.criteria {
        let mut own = asked.of(&criterion.id).peekable();
        let first = own.peek().map(|proof| shown(&proof.command)).unwrap_or_default();
        if own.peek().is_some() && own.all(|proof| only_reads(&proof.command)) {
            let says = format!(
                "Nothing is run that shows `{}`: {first} only reads or says what was written before.",
                criterion.id
            );
            let next = "Write a command there that runs the software.";
            findings.push(at(Finding::error("VER-03", says, next), criterion.line));
        }
    }
    if !asked.criteria.is_empty() && asked.criteria.iter().all(|criterion| asked.of(&criterion.id).next().is_none()) {
        let says = "No criterion is shown by running the software: readiness has no command at all.";
        let next = "Write one for at least one criterion.";
        findings.push(at(Finding::error("VER-04", says, next), asked.criteria[0].line));
    }
    for criterion in asked.criteria.iter().filter(|criterion| criterion.load) {
        let mut own = asked.of(&criterion.id).peekable();
        if own.peek().is_some() && !own.any(|proof| puts_load(&proof.command)) {
            let says =
                format!("`{}` has a threshold under load, and no command of it puts load on anything.", criterion.id);
            let next = "Measure it with a tool for that: `hey`, `wrk`, `k6`, `oha`, … or a benchmark of your own.";
            findings.push(at(Finding::error("VER-07", says, next), criterion.line));
        }
    }
    for truth in &asked.truths {
        let shown = asked.proofs.iter().any(|proof| {
            proof.truth == Some(truth.line) || proof.criteria.iter().any(|id| truth.criteria.contains(id))
        });
        if !shown {
            let says = format!("Nothing exercises the truth {}.", quoted(&truth.says));
            let next = "Name the criterion that rests on it, or write the command that shows it in code behind a `$`.";
            findings.push(at(Finding::error("VER-14", says, next), truth.line));
        }
    }
    findings
}

/// `VER-03`, of what is written and not looked at.
fn unread(unread: &Unread) -> Finding {
    let command = shown(&unread.command);
    let (says, next) = match &unread.what {
        UnreadKind::Prints(text) => {
            let text = shown(text);
            (
                format!("Whether {command} prints {text} is not looked at: that does not stand in code."),
                format!("Write it as code: prints {text}. An exit status of 0 is asked for anyway."),
            )
        }
        UnreadKind::GoesOn => (
            format!("{command} is not run: it ends with a `\\`, and nothing follows."),
            "Write the rest of it into the next line of the block, or all of it into one line.".to_owned(),
        ),
        UnreadKind::Long => (
            format!("{command} is not run: it is too long."),
            "Put it into a script of the repository, and name that.".to_owned(),
        ),
        UnreadKind::Many => (
            format!("{command} and what comes after it is not run: there are too many commands before it."),
            "Let one command show several criteria.".to_owned(),
        ),
    };
    Finding::error("VER-03", says, next).at(READINESS.to_owned(), Some(unread.line))
}

fn criteria(proof: &Proof) -> String {
    let ids: Vec<String> = proof.criteria.iter().map(|id| format!("`{id}`")).collect();
    ids.join(", ")
}

/// What a command is to show, said of it.
fn aim(proof: &Proof) -> String {
    match proof.truth {
        _ if !proof.criteria.is_empty() => format!("which is to show {}", criteria(proof)),
        Some(_) => "which is to show a truth".to_owned(),
        None => "which names no criterion of scope".to_owned(),
    }
}

fn last_words(run: &CommandRun) -> String {
    let tail = run.output.as_ref().map(|output| output.tail.trim()).unwrap_or_default();
    let last: Vec<&str> = tail.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = last[last.len().saturating_sub(4)..].join(" · ");
    match last.is_empty() {
        true => " It said nothing.".to_owned(),
        false => format!(" It said last: {}", quoted(&text::line(&last, 300))),
    }
}

fn has_said(run: &CommandRun) -> Option<bool> {
    run.output.as_ref().and_then(|output| output.said)
}

/// In how much it was looked for, where not all of that is kept.
fn looked_through(run: &CommandRun) -> String {
    match run.output.as_ref().filter(|output| !output.whole) {
        Some(output) if output.said.is_some() => format!(", in none of its {} bytes", output.bytes),
        Some(_) => ", as far as its output is kept".to_owned(),
        None => String::new(),
    }
}

/// `VER-02`: what was run did what it is to do.
fn failed(proofs: &Proofs) -> Vec<Finding> {
    let bad = proofs.each().filter(|(proof, proved)| !proof.is_shown_by(&proved.run));
    let told = |(proof, proved): (&Proof, &Proved)| {
        let command = shown(&proof.command);
        let end = match &proof.prints {
            Some(text) if proved.run.passed() => {
                format!("did not print {}{}", shown(text), looked_through(&proved.run))
            }
            Some(text) if proved.run.outcome == CommandOutcome::OverLimit && has_said(&proved.run) == Some(false) => {
                format!("{}, and until then had not printed {}", proved.run.ending(), shown(text))
            }
            _ => proved.run.ending(),
        };
        let says = format!("{command}, {}, {end}.{}", aim(proof), last_words(&proved.run));
        let next =
            "Mend the change. It can be tried with `phasegate run verify`, or by the command itself at this commit.";
        Finding::error("VER-02", says, next).at(READINESS.to_owned(), Some(proof.line))
    };
    let mut findings: Vec<Finding> = bad.map(told).collect();
    if let Some(first) = proofs.asked.proofs.get(proofs.ran.len()) {
        let says = format!("{}, {}, was not run.", shown(&first.command), aim(first));
        let next = "It is run when the policy's commands and the audit are green. Mend what is told of these first.";
        findings.push(Finding::error("VER-02", says, next).at(READINESS.to_owned(), Some(first.line)));
    }
    findings
}

/// `VER-03`: there is an output that can be shown.
fn silent(proofs: &Proofs) -> Vec<Finding> {
    let bad = proofs.each().filter(|(proof, proved)| proof.is_shown_by(&proved.run) && !proved.says_something());
    let told = |(proof, _): (&Proof, &Proved)| {
        let says = format!("{}, {}, said nothing, so there is nothing to see.", shown(&proof.command), aim(proof));
        let next = "Let it print what it has found.";
        Finding::error("VER-03", says, next).at(READINESS.to_owned(), Some(proof.line))
    };
    bad.map(told).collect()
}

/// `VER-04`: at least one criterion is shown by what would not be so without the change.
fn nothing_shown(proofs: &Proofs) -> Vec<Finding> {
    let good: Vec<(&Proof, &Proved)> = proofs
        .each()
        .filter(|(proof, proved)| {
            !proof.criteria.is_empty() && proof.is_shown_by(&proved.run) && proved.says_something()
        })
        .collect();
    let idle: Vec<&(&Proof, &Proved)> = good.iter().filter(|(proof, proved)| proved.is_idle(proof)).collect();
    let Some((first, _)) = idle.first() else { return Vec::new() };
    if idle.len() == good.len() {
        let says = match idle.len() {
            1 => format!(
                "{} shows the same on the base, so nothing that was run shows the change.",
                shown(&first.command)
            ),
            count => {
                format!("All {count} commands that ran show the same on the base, so none of them shows the change.")
            }
        };
        let next = "Let one of them ask for what the change brings.";
        return vec![Finding::error("VER-04", says, next).at(READINESS.to_owned(), Some(first.line))];
    }
    let told = |(proof, _): &&(&Proof, &Proved)| {
        let says = format!("{}, {}, shows it on the base too.", shown(&proof.command), aim(proof));
        Finding::warning("VER-04", says, "Look whether it shows what the change brings.")
            .at(READINESS.to_owned(), Some(proof.line))
    };
    idle.iter().map(told).collect()
}

/// `VER-07`: what was measured under load was said.
fn unmeasured(proofs: &Proofs) -> Vec<Finding> {
    let load = |proof: &Proof| {
        let asks = |id: &String| proofs.asked.criteria.iter().any(|criterion| criterion.load && criterion.id == *id);
        puts_load(&proof.command) && proof.criteria.iter().any(asks)
    };
    let has_number = |proved: &Proved| {
        proved.run.output.as_ref().is_some_and(|output| output.tail.contains(|c: char| c.is_ascii_digit()))
    };
    let bad = proofs.each().filter(|(proof, proved)| {
        load(proof) && proof.is_shown_by(&proved.run) && proved.says_something() && !has_number(proved)
    });
    let told = |(proof, _): (&Proof, &Proved)| {
        let command = shown(&proof.command);
        let says = format!("{command}, which is to measure {} under load, said no number.", criteria(proof));
        let next = "Let it print what it has measured.";
        Finding::error("VER-07", says, next).at(READINESS.to_owned(), Some(proof.line))
    };
    bad.map(told).collect()
}

#[cfg(test)]
mod tests;
