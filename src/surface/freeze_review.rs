//! The review of the freeze: the seven lines by which whoever gives the one approval is led through what they approve, the least
//! certain first.

use std::fmt::Write as _;

use super::Seen;
use super::text::plain_to;
use crate::finding::quoted;
use crate::gate::brief::Brief;
use crate::gate::review;
use crate::ledger::State;

/// So much of a line is shown.
const LONGEST: usize = 160;

/// The seven lines, while something is frozen and nobody has approved the content.
pub(super) fn lines(state: &State, seen: &Seen<'_>) -> Option<String> {
    let frozen = state.frozen.as_ref().filter(|_| state.open && state.pipeline.is_some() && state.stopped.is_none())?;
    let subject = seen.world.subject.as_ref().filter(|_| frozen.files > 0)?;
    let policy = seen.world.policy()?;
    if !review::approvals(policy, state, seen.world).by.is_empty() {
        return None;
    }
    let brief = &subject.context.brief;
    let plain = |text: &str| plain_to(LONGEST, text);
    let joined = |texts: &[String], none: &str| match texts.is_empty() {
        true => none.to_owned(),
        false => texts.iter().map(|text| plain(text)).collect::<Vec<_>>().join("; "),
    };
    let said = |text: &Option<String>| text.as_deref().map_or_else(|| "not said".to_owned(), plain);
    let mut out =
        String::from("<details open><summary><b>Before you approve: the review of the freeze</b></summary>\n\n");
    let lines = [
        match doubt(state, seen) {
            Some(doubt) => format!("⚠️ **Least sure:** {}", plain(&doubt)),
            None => format!("⚠️ **Least sure:** nobody has said (`unflagged_freeze`). {SAY_IT}"),
        },
        format!(
            "**Does the spec say what you meant?** Problem: {}. Smallest useful version: {}.",
            said(&brief.problem),
            said(&brief.smallest)
        ),
        format!("**Do the scenarios cover what matters?** {}", joined(&subject.context.criteria, "None is named.")),
        format!("**Is the contract the shape to freeze?** {}", joined(&brief.interfaces, "No interface is named.")),
        format!("**What proves it?** {}", joined(&brief.covered, "No criterion is covered."))
            + &format!(" · frozen: {}, {}.", files(frozen.files), checks(seen)),
        format!("**What is out of scope?** {}", joined(&brief.deferred, "Nothing is deferred.")),
        format!(
            "**Autonomy and risk:** autonomy {}, risk {}.",
            state.autonomy.as_str(),
            if state.declared.high_risk { "high, as declared" } else { "not declared high" }
        ),
    ];
    for (at, line) in (1..).zip(lines) {
        let _ = writeln!(out, "{at}. {line}");
    }
    out.push_str("\n</details>");
    Some(out)
}

/// How somebody says what they are least sure of.
const SAY_IT: &str =
    "Its author writes `least sure: WHAT, because WHY` on a line of the description or of `scaffolding/readiness.md`.";

fn doubt(state: &State, seen: &Seen<'_>) -> Option<String> {
    let Brief { least_sure, .. } = &seen.world.subject.as_ref().filter(|_| state.open)?.context.brief;
    seen.world.pull.header.least_sure.clone().or_else(|| least_sure.clone())
}

fn files(count: u64) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{count} files") }
}

/// Which of others' checks are red on this head, as far as they have run. Ours are what waits for the approval.
fn checks(seen: &Seen<'_>) -> String {
    let red: Vec<String> = seen
        .world
        .checks
        .iter()
        .filter(|check| check.app != seen.world.app)
        .filter(|check| {
            check.conclusion.as_deref().is_some_and(|said| !["success", "neutral", "skipped"].contains(&said))
        })
        .map(|check| quoted(&check.name))
        .take(5)
        .collect();
    match red.is_empty() {
        true => "none of the project's checks is red on this head".to_owned(),
        false => format!("red on this head: {}", red.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::kit::*;
    use crate::flow::Stage;
    use crate::gate::world::CheckRun;
    use crate::ids::Role;

    /// Frozen and before its review.
    fn frozen() -> Game {
        let mut game = Game::pipeline();
        game.test_says("tests/lamp.rs", "it shines");
        game.says("ada", Role::Write, "/expand").green().at(Stage::Reviewing);
        let context = &mut game.subject().context;
        context.criteria = vec!["AC-1: it is lit within 200 ms (verify: cargo test)".to_owned()];
        context.brief = Brief {
            least_sure: None,
            problem: Some("It is dark".to_owned()),
            smallest: Some("A lamp".to_owned()),
            interfaces: vec!["dim(level) -> level".to_owned()],
            covered: vec!["AC-1: tests/lamp.rs, curl".to_owned()],
            deferred: vec!["Colours".to_owned()],
        };
        game.look();
        game
    }

    #[test]
    fn whoever_approves_is_led_through_seven_lines_the_least_certain_first() {
        let mut game = frozen();
        let comment = game.surface().comment;
        assert!(comment.contains("1. ⚠️ **Least sure:** nobody has said (`unflagged_freeze`)."), "{comment}");
        assert!(comment.contains("unflagged_freeze` Nobody has said"), "it is a finding of the review: {comment}");
        game.described("least sure: the curve, because nobody measured it");
        let comment = game.surface().comment;
        let lines: Vec<&str> =
            comment.lines().skip_while(|line| !line.contains("the review of the freeze")).skip(2).take(7).collect();
        assert_eq!(
            lines,
            [
                "1. ⚠️ **Least sure:** the curve, because nobody measured it",
                "2. **Does the spec say what you meant?** Problem: It is dark. Smallest useful version: A lamp.",
                "3. **Do the scenarios cover what matters?** AC-1: it is lit within 200 ms (verify: cargo test)",
                "4. **Is the contract the shape to freeze?** dim(level) -> level",
                "5. **What proves it?** AC-1: tests/lamp.rs, curl · frozen: 1 file, none of the project's checks is red on this head.",
                "6. **What is out of scope?** Colours",
                "7. **Autonomy and risk:** autonomy auto, risk not declared high.",
            ]
        );
        // Ours are red because nobody has approved it yet.
        let ours = CheckRun { app: game.world.app, ..game.job("phasegate/merge", CI, 1, "failure") };
        game.run(ours);
        assert!(
            game.surface().comment.contains("none of the project's checks is red on this head"),
            "{}",
            game.surface().comment
        );
        // Once it is approved, nobody has to be led.
        game.approved_by("mia");
        assert!(!game.surface().comment.contains("the review of the freeze"));
        game.push("two");
        assert!(game.surface().comment.contains("the review of the freeze"), "other content is approved anew");
    }

    #[test]
    fn words_of_documents_do_nothing() {
        let mut game = frozen();
        game.subject().context.brief.problem = Some("<script>@mia</script> </details> [x](http://evil)".to_owned());
        game.look();
        let comment = game.surface().comment;
        assert!(
            !comment.contains("<script>") && !comment.contains("@mia") && !comment.contains("](http://evil"),
            "{comment}"
        );
        assert_eq!(comment.matches("</details>").count(), comment.matches("<details").count());
    }
}
