//! Papers that meet the rules, and papers that do not.

use super::*;
use crate::ids::BlobId;
use crate::rehearsal::papers;

fn sheet(text: &str) -> Option<Sheet> {
    let blob = BlobId::new("a".repeat(40)).ok();
    Some(Sheet { blob, document: Document::Text(text.to_owned()) })
}

fn good() -> Delivered {
    Delivered {
        readme: sheet(papers::README),
        delivery: sheet(papers::DELIVERY),
        scope: sheet(papers::SCOPE),
        before: sheet(papers::DELIVERY),
    }
}

fn found(papers: &Delivered) -> Vec<String> {
    let told = |one: &Finding| {
        let line = one.line.map(|line| format!(":{line}")).unwrap_or_default();
        let kind = if one.blocks() { "" } else { " warning" };
        format!("{}{kind} {}{line} {}", one.rule, one.path.as_deref().unwrap_or("-"), one.says)
    };
    judge(papers, &Policy::default()).iter().map(told).collect()
}

fn none() -> Vec<String> {
    Vec::new()
}

fn readme_says(text: &str) -> Vec<String> {
    found(&Delivered { readme: sheet(text), ..good() })
}

/// Both before and after the deployment.
fn delivery_says(text: &str) -> Vec<String> {
    found(&Delivered { delivery: sheet(text), before: sheet(text), ..good() })
}

#[test]
fn the_rehearsals_papers_are_good() {
    assert_eq!(found(&good()), none());
}

#[test]
fn a_readme_has_four_parts() {
    assert_eq!(found(&Delivered { readme: None, ..good() }), ["DEP-05 - `README.md` does not exist."]);
    assert_eq!(readme_says("\n"), ["DEP-05 README.md There is nothing to read in `README.md`, or too much of it."]);
    assert_eq!(
        readme_says("# Lantern\n\n## Installation\n\n`pip install .`\n\n## Deployment\n\nTBD\n"),
        [
            "DEP-05 README.md The section “What This Is” is missing.",
            "DEP-05 README.md:7 The section “Deploy” says nothing.",
            "DEP-05 README.md The section “Tests” is missing.",
        ]
    );
    // The same in other words.
    let other = "# Lantern\n\n## About\n\nA lamp.\n\n### Getting started\n\nClone it.\n\n**How to run the tests**\n\n`make`\n\n## How to deploy\n\nPush.\n";
    assert_eq!(readme_says(other), none());
}

#[test]
fn a_delivery_has_the_sections_of_its_tier() {
    assert_eq!(found(&Delivered { delivery: None, ..good() }), ["DEP-06 - `DELIVERY.md` does not exist."]);
    let shed = "# Delivery\n\n## Summary\n\nA lamp. Roll back with `git revert`.\n\n## Known limitations\n\nnone\n";
    assert_eq!(
        delivery_says(shed),
        [
            "DEP-06 DELIVERY.md The section “Verified Criteria” is missing.",
            "DEP-06 DELIVERY.md The section “Support Terms” is missing.",
        ]
    );
    let of_tier = |tier: &str, delivery: &str| {
        let scope = papers::SCOPE.replace("## Quality Tier\n\nhouse", &format!("## Quality Tier\n\n{tier}"));
        let policy = Policy { tier: Tier::Shed, ..Policy::default() };
        let (scope, delivery, before) = (sheet(&scope), sheet(delivery), sheet(delivery));
        judge(&Delivered { scope, delivery, before, ..good() }, &policy).len()
    };
    assert_eq!((of_tier("shed", shed), of_tier("house", papers::DELIVERY)), (0, 0));
    assert_eq!(of_tier("skyscraper", papers::DELIVERY), 3, "architecture, incidents, roadmap");
    let tall = format!(
        "{}\n## Architecture\n\nA lamp and a dimmer.\n\n## Incident response\n\nCall Mia.\n\n## Roadmap\n\nnone\n",
        papers::DELIVERY
    );
    assert_eq!(of_tier("skyscraper", &tall), 0);
    // What a policy asks for at least is not less because a scope names less.
    assert_eq!(found(&Delivered { scope: sheet("# Scope\n\n## Quality Tier\n\nshed\n"), ..good() }), none());
    assert_eq!(delivery_says(shed).len(), 2);
}

#[test]
fn the_way_back_is_a_command_that_was_there_before() {
    let without = papers::DELIVERY.replace("`lantern install lamp==previous`", "call Mia");
    let no = "No command for going back to what ran before is written down.";
    assert_eq!(delivery_says(&without), [format!("DEP-02 DELIVERY.md:3 {no}")]);
    let no_word =
        papers::DELIVERY.replace("To roll back to what ran before: `lantern install lamp==previous`.", "Try `make`.");
    assert_eq!(delivery_says(&no_word), [format!("DEP-02 DELIVERY.md:3 {no}")]);
    let block = papers::DELIVERY.replace(
        "To roll back to what ran before: `lantern install lamp==previous`.",
        "\n\n## Incidents\n\nRollback:\n\n```sh\ndocker compose up -d lamp:41\n```\n",
    );
    assert_eq!(delivery_says(&block), none());
    // Any code and any word of it elsewhere are none.
    let apart = papers::DELIVERY.replace(
        "To roll back to what ran before: `lantern install lamp==previous`.",
        "It replaces the previous lamp; run `lamp --help`.",
    );
    assert_eq!(delivery_says(&apart), [format!("DEP-02 DELIVERY.md:3 {no}")]);
    // That there is none is none, whatever code stands beside it; and there are many words for it.
    let says = |text: &str| {
        delivery_says(
            &papers::DELIVERY.replace("To roll back to what ran before: `lantern install lamp==previous`.", text),
        )
    };
    for denied in [
        "There is no way to roll back; see `lamp --help`.",
        "Rollback is not supported: `lamp --help`.",
        "It can't be rolled back: `lamp`.",
    ] {
        assert_eq!(says(denied), [format!("DEP-02 DELIVERY.md:3 {no}")], "{denied}");
    }
    for way in [
        "To return to the previous version: `docker compose up -d lamp:1.2`.",
        "To go back, run `git push origin v1.2:main`.",
        "Data can't be lost. To roll back: `make back`.",
    ] {
        assert_eq!(says(way), none(), "{way}");
    }
    let later = "The command for going back was written down after the commit that was deployed.";
    for before in [None, sheet(&without)] {
        assert_eq!(found(&Delivered { before, ..good() }), [format!("DEP-02 warning DELIVERY.md:3 {later}")]);
    }
}

#[test]
fn what_is_stored_was_looked_for_after_a_restart() {
    let stored = |model: &str| sheet(&papers::SCOPE.replace("It is not kept.", model));
    let says = "DEP-07 DELIVERY.md:11 The scope's data model is stored, and nothing here says that it was still there after a restart.";
    let with = |model: &str| found(&Delivered { scope: stored(model), ..good() });
    assert_eq!(with("It is stored in SQLite."), [says]);
    assert_eq!(with("Levels are kept on disk."), [says]);
    assert_eq!(with("There is no database, and nothing is ever saved."), none());
    let shown = papers::DELIVERY
        .replace("2 of 2 passed.", "2 of 2 passed.\n- After `systemctl restart lamp` the level was still 3.");
    let told = |text: &str| {
        let (delivery, before) = (sheet(text), sheet(text));
        found(&Delivered { scope: stored("It is stored in SQLite."), delivery, before, ..good() })
    };
    assert_eq!(told(&shown), none());
    for denied in ["Levels do not survive a restart.", "Persistence was not tried."] {
        let text = papers::DELIVERY.replace("2 of 2 passed.", &format!("2 of 2 passed.\n- {denied}"));
        assert_eq!(told(&text).len(), 1, "{denied}");
    }
}

#[test]
fn what_is_no_plain_text_is_not_read() {
    let odd = |document| Some(Sheet { blob: None, document });
    let told = found(&Delivered { readme: odd(Document::NotAFile), delivery: odd(Document::TooLarge), ..good() });
    assert_eq!(
        told,
        ["DEP-05 README.md `README.md` is no plain file.", "DEP-06 DELIVERY.md `DELIVERY.md` is too large to be read."]
    );
}
