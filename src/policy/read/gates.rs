//! Reading `gates`: the checks that count, and the commands that are run.

use super::{globs, security, set};
use crate::policy::OWN_ENVIRONMENT;
use crate::policy::decode::{Decoder, Fields, Spot};
use crate::policy::problem::{Problem, excerpt};
use crate::policy::types::*;
use crate::policy::yaml::{At, Kind};

/// GitHub Actions' own App. Anyone who can push a workflow can post under it, so its id proves nothing.
const GITHUB_ACTIONS_APP: u64 = 15368;
/// The largest whole number that every JSON reader keeps.
const MAX_ID: u64 = (1 << 53) - 1;
const MAX_COMMANDS: usize = 20;
const MAX_COMMAND: usize = 4096;
const MAX_READ: usize = 100;
const MAX_DEPLOY: usize = 20;
const MAX_ENVIRONMENT: usize = 255;
const MAX_PATH: usize = 512;
/// Of each gate that runs something.
const RUNS: [&str; 5] = ["run", "reports", "timeout", "network", "confine"];

pub(super) fn read(d: &mut Decoder, top: &Fields<'_>, p: &mut Policy) {
    let gates = top.get("gates");
    let f = gates.and_then(|s| d.map(s, &["build", "review", "reconcile", "verify", "deploy"], &[]));
    let build = f.as_ref().and_then(|f| f.get("build"));
    let mut built = None;
    if let Some(f) = build.and_then(|s| d.map(s, &[&RUNS[..], &["audit", "audit_network"]].concat(), &[])) {
        let Build { run, reports, timeout, network, confine, audit, audit_network } = &mut p.gates.build;
        runs(d, &f, Running { run, reports, timeout, network, confine });
        set(audit, f.get("audit").and_then(|s| commands(d, s)));
        set(audit_network, f.get("audit_network").and_then(|s| d.word(s)));
        if let (Some(spot), None) = (f.get("audit_network"), f.get("audit")) {
            let says = "this has no effect without `audit`";
            d.problem(spot.key, &spot.path, says, "Add `audit: [\"…\"]`, or remove it");
        }
        built = Some(f);
    }
    let review = f.as_ref().and_then(|f| f.get("review"));
    if let Some(f) = review.and_then(|s| d.map(s, &["axes", "critic"], &[])) {
        set(&mut p.gates.review.axes, f.get("axes").and_then(|s| d.word(s)));
        set(&mut p.gates.review.critic, f.get("critic").and_then(|s| d.word(s)));
    }
    let reconcile = f.as_ref().and_then(|f| f.get("reconcile"));
    if let Some(f) = reconcile.and_then(|s| d.map(s, &["repairs"], &[])) {
        set(&mut p.gates.reconcile.repairs, f.get("repairs").and_then(|s| d.word(s)));
    }
    let deploy = f.as_ref().and_then(|f| f.get("deploy"));
    if let Some(f) = deploy.and_then(|s| d.map(s, &["environments", "by"], &[])) {
        set(&mut p.gates.deploy.environments, f.get("environments").and_then(|s| environments(d, s)));
        set(&mut p.gates.deploy.by, f.get("by").and_then(|s| accounts(d, s)));
    }
    let verify = f.as_ref().and_then(|f| f.get("verify"));
    let f = verify.and_then(|s| {
        d.map(
            s,
            &[
                &["from", "checks", "coverage", "earned", "proofs", "screenshots", "security", "start", "workflow"],
                &RUNS[..],
            ]
            .concat(),
            &[],
        )
    });
    let mut listed = None;
    let mut commands = None;
    if let Some(f) = &f {
        let Verify { run, reports, timeout, network, confine, .. } = &mut p.gates.verify;
        runs(d, f, Running { run, reports, timeout, network, confine });
        p.gates.verify.earned = f.get("earned").and_then(|s| d.word(s));
        if let (Some(spot), None) = (f.get("earned"), f.get("reports")) {
            let says = "this has no effect without `reports`: nobody would know which tests ran";
            d.problem(spot.key, &spot.path, says, "Add `reports: [\"…\"]`, or remove it");
        }
        p.gates.verify.proofs = f.get("proofs").and_then(|s| d.word(s));
        set(&mut p.gates.verify.coverage, f.get("coverage").and_then(|s| globs(d, s, "path globs")));
        set(&mut p.gates.verify.screenshots, f.get("screenshots").and_then(|s| globs(d, s, "path globs")));
        if let (Some(spot), None) = (f.get("screenshots"), f.get("run")) {
            let says = "this has no effect without `run`: nothing would leave a picture";
            d.problem(spot.key, &spot.path, says, "Add `run: [\"…\"]`, or remove it");
        }
        commands = f.get("run").filter(|_| !p.gates.verify.run.is_empty());
        if let Some(spot) = f.get("from") {
            let before = d.problems.len();
            let from = d.words(spot, "`actions`, `checks`, `people` and `runner`");
            if from.as_ref().is_some_and(Vec::is_empty) && d.problems.len() == before {
                d.problem(spot.at(), &spot.path, "the list is empty: no evidence could ever come", "Write `[checks]`");
            }
            set(&mut p.gates.verify.from, from.filter(|list| !list.is_empty()));
        }
        listed = f.get("checks");
        set(&mut p.gates.verify.checks, listed.and_then(|s| checks(d, s)));
        set(&mut p.gates.verify.workflow, f.get("workflow").and_then(|s| workflow(d, s)));
        set(&mut p.gates.verify.start, f.get("start").and_then(|s| d.word(s)));
        sources(d, f, &p.gates.verify);
        uncovered(d, f, &p.gates.verify);
        if let Some(spot) = f.get("security") {
            p.gates.verify.security = security::read(d, spot, &p.gates.verify, !p.gates.build.audit.is_empty());
        }
    }
    if let Some(f) = &built {
        unrun(d, f, &p.gates.verify);
    }
    // Said only when nothing was named at all: a check that is named wrongly has its own problem.
    let none = match listed {
        None => true,
        Some(spot) => matches!(&spot.node.kind, Kind::List(items) if items.is_empty()),
    };
    // Under a misspelt key it may have been named.
    let misspelt = |problem: &Problem| {
        let place = problem.path.rsplit_once('.').map_or("", |(place, _)| place);
        matches!(place, "" | "gates" | "gates.verify") && problem.says.starts_with("unknown key")
    };
    if !none || !p.gates.verify.has(Source::Checks) || d.problems.iter().any(misspelt) {
        return;
    }
    if p.merge.require.contains(&Require::Verify) {
        let at = listed.or(verify).or(gates).or(top.get("merge")).map_or(At::START, |s| s.key);
        let next = match commands {
            None => {
                "Name a check: `gates: { verify: { checks: [{ name: \"test\", workflow: .github/workflows/ci.yml }] } }`; \
                 or ask for less with `merge: { require: [review] }`"
            }
            Some(_) => {
                "Name the job that runs them, as the templates have it: `checks: [{ name: verify, workflow: \
                 .github/workflows/phasegate-gates.yml }]`"
            }
        };
        let says = "the merge gate requires `verify`, but no check is named, so it could never turn green";
        d.problem(at, "gates.verify.checks", says, next);
    } else if let Some(run) = commands {
        d.warning(
            run.key,
            &run.path,
            "the commands decide nothing: `verify` is not required, and no check is named",
            "Name the job that runs them under `gates.verify.checks`, and ask for it with `merge: { require: [verify, review] }`",
        );
    }
}

/// What nothing that counts would run: BUILD's commands are run by a job that somebody has set up, and how it ended is told by a
/// check. A run that is asked for is VERIFY's, with the audit.
fn unrun(d: &mut Decoder, build: &Fields<'_>, verify: &Verify) {
    let (run, audit) = (build.get("run"), build.get("audit"));
    if let (Some(spot), None, false) = (audit, run, verify.asks_for_runs()) {
        let says = "this has no effect without `run`";
        d.problem(spot.key, &spot.path, says, "Add `run: [\"…\"]`, or remove it");
    }
    if let Some(spot) = run.filter(|_| !verify.has(Source::Checks)) {
        d.warning(
            spot.key,
            &spot.path,
            "nothing that counts runs these: no source of `gates.verify.from` tells how a job with `phasegate run build` ended",
            "Take `checks` into `gates.verify.from` and name that job under `gates.verify.checks`; or let `gates.verify.run` do \
             it, and remove these",
        );
    }
}

/// Where `gates.build.run` stands, out of a file that may be invalid elsewhere.
pub(in crate::policy) fn build_run(d: &mut Decoder, root: &Spot<'_>) -> Option<At> {
    let top = d.map(root, &["gates"], &[])?;
    let gates = d.map(top.get("gates")?, &["build"], &[])?;
    let build = d.map(gates.get("build")?, &["run"], &[])?;
    build.get("run").map(|spot| spot.key)
}

fn environments(d: &mut Decoder, spot: &Spot<'_>) -> Option<Vec<String>> {
    let mut list = Vec::new();
    for item in d.items(spot, "environments", MAX_DEPLOY)? {
        let Some(text) = d.text(&item) else { continue };
        if text.is_empty() || text.chars().count() > MAX_ENVIRONMENT || text.chars().any(char::is_control) {
            let says = format!("this is to have from one to {MAX_ENVIRONMENT} characters on one line");
            d.problem(item.at(), &item.path, says, "Write it as GitHub shows it under Environments");
        } else if text.eq_ignore_ascii_case(OWN_ENVIRONMENT) {
            let says = format!("`{}` is where the Action keeps its key: nothing is deployed there", excerpt(text));
            d.problem(item.at(), &item.path, says, "Name the environment that the software is deployed to");
        } else {
            list.push(text.to_owned());
        }
    }
    Some(list)
}

fn accounts(d: &mut Decoder, spot: &Spot<'_>) -> Option<Vec<Account>> {
    let mut list = Vec::new();
    for item in d.items(spot, "accounts", MAX_DEPLOY)? {
        let Some(text) = d.text(&item) else { continue };
        match Account::new(text) {
            Some(account) => list.push(account),
            None => {
                let says = format!("`{}` is no account", excerpt(text));
                let next = "Write `\"@login\"`, or `\"@github-actions[bot]\"` for what workflows deploy";
                d.problem(item.at(), &item.path, says, next);
            }
        }
    }
    Some(list)
}

/// What each source takes, and what none of them takes.
fn sources(d: &mut Decoder, f: &Fields<'_>, verify: &Verify) {
    let asked = Source::ASKED.into_iter().find(|source| verify.has(*source));
    if let (Some(from), Some(source)) = (f.get("from"), asked) {
        for (key, what) in [("run", "commands that could be run"), ("reports", "reports that show which tests ran")] {
            if f.get(key).is_none() {
                let says = format!("evidence from `{source}` takes {what}: there is no `{key}`");
                d.problem(from.at(), &from.path, says, format!("Add `{key}: [\"…\"]`, or write `[checks]`"));
            }
        }
    }
    for (key, source) in [("checks", Source::Checks), ("workflow", Source::Actions), ("start", Source::Actions)] {
        if let (Some(spot), false) = (f.get(key), verify.has(source)) {
            let says = format!("this has no effect: `from` does not name `{source}`");
            d.problem(spot.key, &spot.path, says, format!("Add `{source}` to `from`, or remove it"));
        }
    }
}

/// A coverage that nobody reads, or that is held against nothing.
fn uncovered(d: &mut Decoder, f: &Fields<'_>, verify: &Verify) {
    let Some(spot) = f.get("coverage") else { return };
    let (says, next) = if f.get("run").is_none() {
        ("this has no effect without `run`: nothing would write a report", "Add `run: [\"…\"]`, or remove it")
    } else if !verify.asks_for_runs() {
        (
            "nobody reads these: `from` names neither `actions` nor `runner`, so how much is covered would stay unknown",
            "Add `actions` or `runner` to `from`, or remove it",
        )
    } else if verify.earned() == Earned::Off {
        (
            "with `earned: off` nothing is run on the base, so how much was covered there would stay unknown",
            "Write `earned: show` or `earned: demand`, or remove it",
        )
    } else {
        return;
    };
    d.problem(spot.key, &spot.path, says, next);
}

/// What a gate that runs something has.
struct Running<'p> {
    run: &'p mut Vec<String>,
    reports: &'p mut Vec<String>,
    timeout: &'p mut Timeout,
    network: &'p mut Network,
    confine: &'p mut Confine,
}

fn runs(d: &mut Decoder, f: &Fields<'_>, to: Running<'_>) {
    set(to.run, f.get("run").and_then(|s| commands(d, s)));
    set(to.reports, f.get("reports").and_then(|s| globs(d, s, "path globs")));
    set(to.timeout, f.get("timeout").and_then(|s| time(d, s)));
    set(to.network, f.get("network").and_then(|s| d.word(s)));
    confine(d, f, to.confine);
    if f.get("run").is_some() {
        return;
    }
    for spot in RUNS[1..].iter().filter_map(|key| f.get(key)) {
        let says = "this has no effect without `run`: there are no commands that it could be about";
        d.problem(spot.key, &spot.path, says, "Add `run: [\"…\"]`, or remove it");
    }
}

/// The walls around what is run.
pub(super) fn confine(d: &mut Decoder, f: &Fields<'_>, confine: &mut Confine) {
    if let Some(f) = f
        .get("confine")
        .and_then(|s| d.map(s, &["read", "secrets", "memory", "processes", "output", "file", "required"], &[]))
    {
        set(&mut confine.read, f.get("read").and_then(|s| readable(d, s)));
        set(&mut confine.secrets, f.get("secrets").and_then(|s| variables(d, s)));
        set(&mut confine.memory, f.get("memory").and_then(|s| size(d, s)));
        set(&mut confine.output, f.get("output").and_then(|s| size(d, s)));
        set(&mut confine.file, f.get("file").and_then(|s| size(d, s)));
        let processes = f.get("processes").and_then(|s| d.number(s, 1..=1_000_000));
        set(&mut confine.processes, processes.and_then(|count| u32::try_from(count).ok()));
        set(&mut confine.required, f.get("required").and_then(|s| d.boolean(s)));
    }
}

fn commands(d: &mut Decoder, spot: &Spot<'_>) -> Option<Vec<String>> {
    let mut list = Vec::new();
    let items = d.items_like(spot, "commands", MAX_COMMANDS, |text| format!("`[\"{text}\"]`"))?;
    if items.is_empty() {
        let next = "Write `[\"cargo test\"]` or the like, or leave the key out";
        d.problem(spot.at(), &spot.path, "the list is empty: nothing would be run", next);
    }
    for item in items {
        let Some(text) = d.text(&item) else { continue };
        let (says, next) = if text.trim().is_empty() {
            ("an empty command does nothing, and passes".to_owned(), "Write a command, or remove it")
        } else if text.len() > MAX_COMMAND {
            (format!("a command may have at most {MAX_COMMAND} bytes"), "Put it into a script, and run that")
        } else {
            list.push(text.to_owned());
            continue;
        };
        d.problem(item.at(), &item.path, says, next);
    }
    Some(list)
}

/// Paths that commands may read.
fn readable(d: &mut Decoder, spot: &Spot<'_>) -> Option<Vec<String>> {
    let mut list = Vec::new();
    for item in d.items_like(spot, "paths", MAX_READ, |text| format!("`[\"{text}\"]`"))? {
        let Some(text) = d.text(&item) else { continue };
        let named = text.strip_prefix("~/").or_else(|| text.strip_prefix('/')).unwrap_or_default();
        let (says, next) = if named.is_empty() || text.len() > MAX_PATH {
            (
                format!("`{}` is no path of the machine", excerpt(text)),
                "Write an absolute path, or one that begins with `~/`",
            )
        } else if named.split('/').any(|part| matches!(part, "" | "." | "..")) {
            (
                format!("`{}` is not the plain name of a place", excerpt(text)),
                "Write it without `.`, `..`, and a `/` too many",
            )
        } else {
            list.push(text.to_owned());
            continue;
        };
        d.problem(item.at(), &item.path, says, next);
    }
    Some(list)
}

/// Names of variables.
fn variables(d: &mut Decoder, spot: &Spot<'_>) -> Option<Vec<String>> {
    let mut list = Vec::new();
    for item in d.items_like(spot, "names of variables", MAX_READ, |text| format!("`[{text}]`"))? {
        let Some(text) = d.text(&item) else { continue };
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if text.is_empty()
            || text.len() > 100
            || !text.bytes().all(plain)
            || text.starts_with(|c: char| c.is_ascii_digit())
        {
            let says = format!("`{}` is no name of a variable", excerpt(text));
            d.problem(item.at(), &item.path, says, "Write the name alone, such as `NPM_TOKEN`");
            continue;
        }
        list.push(text.to_owned());
    }
    Some(list)
}

/// A number with a unit, which is no number to YAML.
pub(super) fn with_unit<'n>(d: &mut Decoder, spot: &Spot<'n>) -> Option<&'n str> {
    match &spot.node.kind {
        // `20` would be asked to be put in quotes, which does not help.
        Kind::Scalar { text, .. } if !spot.node.is_nothing() => Some(text),
        _ => d.text(spot),
    }
}

fn size(d: &mut Decoder, spot: &Spot<'_>) -> Option<Size> {
    let text = with_unit(d, spot)?;
    let size = Size::new(text);
    if size.is_none() {
        let says = format!("`{}` is not a size up to 1024G", excerpt(text));
        d.problem(spot.at(), &spot.path, says, "Write a whole number and its unit, `512M` or `8G`");
    }
    size
}

pub(super) fn time(d: &mut Decoder, spot: &Spot<'_>) -> Option<Timeout> {
    let text = with_unit(d, spot)?;
    let time = Timeout::new(text);
    if time.is_none() {
        let says = format!("`{}` is not a time from one second to a day", excerpt(text));
        d.problem(spot.at(), &spot.path, says, "Write a whole number and its unit, `90s`, `20m` or `2h`");
    }
    time
}

fn checks(d: &mut Decoder, spot: &Spot<'_>) -> Option<Vec<Check>> {
    let mut list: Vec<Check> = Vec::new();
    // Those of checks with another mistake too.
    let mut names: Vec<String> = Vec::new();
    let like = |text: &str| format!("`- {{ name: {text}, workflow: .github/workflows/ci.yml }}`");
    for item in d.items_like(spot, "checks", 100, like)? {
        let Some(f) = d.map(&item, &["name", "workflow", "app"], &[]) else { continue };
        let name = match f.get("name") {
            Some(s) => check_name(d, s, &names),
            None => {
                d.problem(item.at(), &item.path, "the check has no name", "Add `name:`, as the pull request shows it");
                None
            }
        };
        names.extend(name.clone());
        let (workflow, app) = match (f.get("workflow"), f.get("app")) {
            (Some(made_by), Some(s)) => {
                let says = "the check has both `workflow` and `app`; who makes it must be one of them";
                d.problem(s.key, &item.path, says, "Keep `workflow` for GitHub Actions, `app` for any other CI");
                workflow(d, made_by);
                app(d, s);
                continue;
            }
            (None, None) => {
                let says = "the check does not say who makes it, so anyone who can post a check could";
                let next = "Add `workflow: .github/workflows/….yml` for GitHub Actions, or `app: <id>` for another CI";
                d.problem(item.at(), &item.path, says, next);
                continue;
            }
            (Some(s), None) => (workflow(d, s), None),
            (None, Some(s)) => (None, app(d, s)),
        };
        if let Some(name) = name
            && (workflow.is_some() || app.is_some())
        {
            list.push(Check { name, workflow, app });
        }
    }
    Some(list)
}

fn check_name(d: &mut Decoder, spot: &Spot<'_>, others: &[String]) -> Option<String> {
    let text = d.text(spot)?;
    let shown = excerpt(text);
    let (says, next) = if text.trim().is_empty() || text.chars().count() > 200 {
        ("a check's name has 1 to 200 characters".to_owned(), "Write the name as the pull request shows it")
    } else if text.starts_with("phasegate/") {
        (format!("`{shown}` is Phasegate's own check; a gate can't wait for itself"), "Name a check of your CI")
    } else if others.iter().any(|name| name == text) {
        (format!("the check `{shown}` is named twice"), "Remove one, or give the jobs different names")
    } else {
        return Some(text.to_owned());
    };
    d.problem(spot.at(), &spot.path, says, next);
    None
}

fn workflow(d: &mut Decoder, spot: &Spot<'_>) -> Option<String> {
    let text = d.text(spot)?;
    let file = text.strip_prefix(".github/workflows/").unwrap_or_default();
    let stem = file.strip_suffix(".yml").or_else(|| file.strip_suffix(".yaml")).unwrap_or_default();
    if stem.is_empty() || file.contains(['/', '\\', '\n', '\r']) {
        let says = format!("`{}` is not a workflow file", excerpt(text));
        d.problem(
            spot.at(),
            &spot.path,
            says,
            "Write the path of a file in `.github/workflows/`, ending in .yml or .yaml",
        );
        return None;
    }
    Some(text.to_owned())
}

fn app(d: &mut Decoder, spot: &Spot<'_>) -> Option<u64> {
    let id = d.number(spot, 1..=MAX_ID)?;
    if id == GITHUB_ACTIONS_APP {
        d.problem(
            spot.at(),
            &spot.path,
            "15368 is GitHub Actions: anyone who can push a workflow can make a check under it",
            "Use `workflow: .github/workflows/….yml` instead, which pins the workflow file",
        );
        return None;
    }
    Some(id)
}
