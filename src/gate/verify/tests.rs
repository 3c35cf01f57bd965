use super::*;
use crate::engine::kit::{Game, good_papers, sheet};
use crate::gate::build::tests::good_site;
use crate::gate::papers::tests::told;
use crate::gate::world::Law;
use crate::rehearsal::papers as good;

fn found(site: &Site, papers: &Papers, tree: &[&str]) -> Vec<String> {
    let policy = Policy::default();
    let tree: Vec<String> = tree.iter().map(|path| (*path).to_owned()).collect();
    told(&judge(&Bench::new(site, papers, &policy), papers, &policy, &tree))
}

/// The good papers with another scope or readiness.
fn papers(document: &str, from: &str, to: &str) -> Papers {
    let mut papers = good_papers();
    let (text, place) = match document {
        "scope" => (good::SCOPE, &mut papers.scope),
        _ => (good::READINESS, &mut papers.readiness),
    };
    assert!(text.contains(from), "{from}");
    *place = Some(sheet(&text.replace(from, to)));
    papers
}

#[test]
fn the_good_change_is_good() {
    assert_eq!(found(&good_site(), &good_papers(), &[]), [] as [&str; 0]);
}

/// `VER-06`: nothing is configured for a target that nobody named.
#[test]
fn what_is_deployed_is_configured_for_the_target_of_scope() {
    let mut site = good_site();
    site.added.insert("fly.toml".to_owned());
    assert_eq!(found(&site, &good_papers(), &[]), ["VER-06 fly.toml"]);
    let line = good::SCOPE.lines().position(|line| line == "## Deployment Target").unwrap() + 1;
    let fly = papers("scope", "## Deployment Target\n", "## Deployment Target\n\nFly, in Frankfurt.\n");
    assert_eq!(found(&site, &fly, &["deploy/fly.toml"]), [] as [&str; 0]);
    assert_eq!(found(&good_site(), &fly, &["src/dimmer.py"]), [format!("VER-06 warning scope.md:{line}")]);
}

/// `VER-08`: the way from a criterion to its test and its design.
#[test]
fn readiness_leads_to_what_is_there() {
    let gone = papers("readiness", "tests/test_dimmer.py::test_dark", "tests/test_night.py::test_dark");
    assert_eq!(found(&good_site(), &gone, &[]), ["VER-08 readiness.md:16"]);
    let unlinked =
        papers("readiness", "| AC-2 | Interfaces | `tests/test_dimmer.py::test_dark` |", "| AC-2 | Interfaces | |");
    assert_eq!(found(&good_site(), &unlinked, &[]), ["VER-08 readiness.md:16"]);
}

/// What VERIFY will miss is said as soon as it can be seen, where the pipeline asks for it.
#[test]
fn what_will_not_be_shown_is_said_ahead() {
    let unshown = papers("readiness", "$ cd src && python3 -c 'import dimmer; print(dimmer.dim(0))'", "look at it");
    let by = |yaml: &str| {
        let policy = crate::policy::parse(
            format!("version: 1\n{yaml}gates: {{ verify: {{ checks: [{{ name: t, app: 5 }}] }} }}").as_bytes(),
        );
        told(&ahead(&unshown, &policy.unwrap()))
    };
    assert_eq!(by("flow: pipeline\n"), ["VER-03 warning readiness.md:16"]);
    assert_eq!(by(""), [] as [&str; 0]);
}

/// `VER-05`, at VERIFY with these words in the policy.
fn secure(security: &str, tier: Option<Tier>, block: Option<&str>) -> Game {
    let yaml = format!(
        "gates:\n  build: {{ run: [make], audit: [pip-audit] }}\n  verify: {{ checks: [{{ name: ci / test, workflow: .github/workflows/ci.yml }}]{security} }}\n"
    );
    let mut game = Game::pipeline_with(&yaml);
    game.subject().tier = tier;
    game.until_reviewing();
    if let Some(block) = block {
        game.finds("zoe", crate::ids::Role::Write, block);
    }
    game
}

#[test]
fn of_what_nobody_tells_it_is_unknown_and_that_is_not_fine() {
    let unknown = |game: &Game| {
        let Law::Valid(policy) = &game.world.law else { panic!() };
        let (findings, evidence) = security(policy, game.state.as_ref().unwrap(), &game.world);
        let by: Vec<String> = evidence
            .into_iter()
            .map(|one| match one {
                Evidence::Security { subject, by } => format!("{subject}: {by}"),
                other => panic!("{other:?}"),
            })
            .collect();
        (told(findings.as_slice()), by)
    };
    let known = ["secrets: Phasegate, in what the change adds (`BLD-04`)"];
    for tier in [Some(Tier::House), Some(Tier::Skyscraper), None] {
        let (findings, by) = unknown(&secure("", tier, None));
        assert_eq!(findings, ["VER-05"], "{tier:?}");
        assert_eq!(by, known);
    }
    assert_eq!(unknown(&secure("", Some(Tier::Shed), None)).0, ["VER-05 warning"]);
    let (findings, by) = unknown(&secure("", Some(Tier::House), Some("axes: [security]")));
    assert_eq!(findings, [] as [&str; 0]);
    assert_eq!(
        by[1..],
        ["dependencies", "injection", "authentication"].map(|one| format!("{one}: the review of `zoe`"))
    );
    assert_eq!(unknown(&secure("", Some(Tier::House), Some("axes: [performance]"))).0, ["VER-05"]);
    let named = ", security: { dependencies: { check: ci / test }, injection: { check: ci / test }, authentication: { none: one person }, secrets: review }";
    let (findings, by) = unknown(&secure(named, Some(Tier::House), None));
    assert_eq!(findings, ["VER-05"], "the review that tells of secrets");
    assert_eq!(
        by[1..],
        ["injection: the check `ci / test`", "authentication: nobody: it does not apply (`one person`)"]
    );
}

/// An audit that the policy names tells of something where a source runs it, and how a check ended does not say that it did.
#[test]
fn an_audit_that_nobody_runs_tells_of_nothing() {
    let open = "dependencies: audit, injection: { none: a }, authentication: { none: b }";
    let told_by = |from: &str| {
        let yaml = format!(
            "gates:\n  build: {{ run: [make], audit: [pip-audit] }}\n  verify: {{ from: [{from}], run: [make], reports: [a.xml], \
             checks: [{{ name: ci / test, workflow: .github/workflows/ci.yml }}], security: {{ {open} }} }}\n"
        );
        let mut game = Game::pipeline_with(&yaml);
        game.subject().tier = Some(Tier::House);
        let Law::Valid(policy) = &game.world.law else { panic!("{:?}", game.world.law) };
        security(policy, game.state.as_ref().unwrap(), &game.world)
    };
    for from in ["checks", "checks, people"] {
        let (finding, evidence) = told_by(from);
        let finding = finding.unwrap();
        assert_eq!((finding.rule.as_str(), finding.blocks()), ("VER-05", true), "{from}");
        for part in ["`gates.verify.security.dependencies: { check: NAME }`", "`actions`"] {
            assert!(finding.next.contains(part) && !finding.next.contains("axes"), "{}", finding.next);
        }
        assert_eq!(evidence.len(), 3, "{evidence:?}");
    }
    for from in ["actions, checks", "runner, checks"] {
        let (finding, evidence) = told_by(from);
        assert_eq!(finding, None, "{from}");
        assert!(format!("{evidence:?}").contains("in the run"), "{evidence:?}");
    }
}
