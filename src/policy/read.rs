//! From the tree to a [`Policy`]: every key, and what must hold between them.

mod agents;
mod gates;
mod security;

use super::decode::{Decoder, Fields, Spot};
use super::law;
use super::problem::excerpt;
use super::types::*;
use super::yaml::{At, Kind};
pub(super) use gates::build_run;

const MAX_GLOB: usize = 512;
const MAX_LIST: usize = 200;

const KEYS: &[&str] = &[
    "version",
    "flow",
    "enforce",
    "mode",
    "autonomy",
    "tier",
    "branches",
    "match",
    "people",
    "risk",
    "merge",
    "gates",
    "freeze",
    "secrets",
    "agents",
    "budget",
    "log",
    "limits",
    "ledger",
    "deploy",
    "base",
    "slices",
    "labels",
    "commands",
    "escalation",
];

/// Sets a field from a key, when the key is there and its value can be read.
fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

pub(super) fn policy(d: &mut Decoder, root: &Spot<'_>) -> Policy {
    let mut p = Policy::default();
    let Some(f) = d.map(root, KEYS, &[]) else { return p };
    if let Some(spot) = f.get("version") {
        version(d, spot);
    }
    set(&mut p.flow, f.get("flow").and_then(|s| d.word(s)));
    set(&mut p.enforce, f.get("enforce").and_then(|s| d.word(s)));
    set(&mut p.mode, f.get("mode").and_then(|s| d.word(s)));
    set(&mut p.autonomy, f.get("autonomy").and_then(|s| d.word(s)));
    set(&mut p.tier, f.get("tier").and_then(|s| d.word(s)));
    set(&mut p.branches, f.get("branches").and_then(|s| globs(d, s, "branch globs")));
    set(&mut p.deploy, f.get("deploy").and_then(|s| d.word(s)));
    set(&mut p.base, f.get("base").and_then(|s| d.word(s)));
    set(&mut p.slices, f.get("slices").and_then(|s| d.word(s)));
    if let Some(f) = f.get("people").and_then(|s| d.map(s, &["approve", "escalate", "solo"], &[])) {
        set(&mut p.people.approve, f.get("approve").and_then(|s| approvers(d, s)));
        set(&mut p.people.escalate, f.get("escalate").and_then(|s| approvers(d, s)));
        set(&mut p.people.solo, f.get("solo").and_then(|s| d.boolean(s)));
    }
    if let Some(f) = f.get("risk").and_then(|s| d.map(s, &["high"], &[])) {
        set(&mut p.risk.high, f.get("high").and_then(|s| globs(d, s, "path globs")));
    }
    if let Some(f) = f.get("merge").and_then(|s| d.map(s, &["require", "approvals", "queue"], &[])) {
        set(&mut p.merge.require, f.get("require").and_then(|s| d.words(s, "`verify` and `review`")));
        set(&mut p.merge.approvals, f.get("approvals").and_then(|s| small(d, s, 0, 10)));
        set(&mut p.merge.queue, f.get("queue").and_then(|s| d.word(s)));
    }
    if let Some(f) = f.get("freeze").and_then(|s| d.map(s, &["tests", "meaning", "weakened"], &[])) {
        set(&mut p.freeze.tests, f.get("tests").and_then(|s| globs(d, s, "path globs")));
        set(&mut p.freeze.meaning, f.get("meaning").and_then(|s| globs(d, s, "path globs")));
        set(&mut p.freeze.weakened, f.get("weakened").and_then(|s| d.word(s)));
    }
    if let Some(f) = f.get("secrets").and_then(|s| d.map(s, &["allow"], &[])) {
        set(&mut p.secrets.allow, f.get("allow").and_then(|s| globs(d, s, "path globs")));
    }
    if let Some(f) = f.get("log").and_then(|s| d.map(s, &["write"], &[])) {
        set(&mut p.log.write, f.get("write").and_then(|s| d.word(s)));
    }
    let limits = &["previews", "criteria", "components", "file_lines", "files_over_design"];
    if let Some(f) = f.get("limits").and_then(|s| d.map(s, limits, &[])) {
        set(&mut p.limits.previews, f.get("previews").and_then(|s| small(d, s, 1, 1000)));
        set(&mut p.limits.file_lines, f.get("file_lines").and_then(|s| small(d, s, 50, 100_000)));
        set(&mut p.limits.files_over_design, f.get("files_over_design").and_then(|s| small(d, s, 1, 100)));
        let Limits { criteria, components, .. } = &mut p.limits;
        by_tier(d, &f, "criteria", [&mut criteria.shed, &mut criteria.house, &mut criteria.skyscraper]);
        by_tier(d, &f, "components", [&mut components.shed, &mut components.house, &mut components.skyscraper]);
    }
    if let Some(f) = f.get("ledger").and_then(|s| d.map(s, &["branch", "snapshots"], &["repository"])) {
        set(&mut p.ledger.branch, f.get("branch").and_then(|s| ledger_branch(d, s)));
        set(&mut p.ledger.snapshots, f.get("snapshots").and_then(|s| d.word(s)));
    }
    if let Some(f) = f.get("labels").and_then(|s| d.map(s, &["prefix"], &[])) {
        set(&mut p.labels.prefix, f.get("prefix").and_then(|s| label_prefix(d, s)));
    }
    if let Some(f) = f.get("commands").and_then(|s| d.map(s, &["prefix"], &[])) {
        set(&mut p.commands.prefix, f.get("prefix").and_then(|s| command_prefix(d, s)));
    }
    if let Some(f) = f.get("escalation").and_then(|s| d.map(s, &["remind", "code_owners"], &[])) {
        set(&mut p.escalation.remind, f.get("remind").and_then(|s| remind(d, s)));
        set(&mut p.escalation.code_owners, f.get("code_owners").and_then(|s| d.boolean(s)));
    }
    p.rules = f.get("match").and_then(|s| rules(d, s, &p)).unwrap_or_default();
    gates::read(d, &f, &mut p);
    agents::read(d, &f, &mut p);
    ledger_apart(d, &f, &p);
    required(d, &f, &p);
    p
}

/// `{ shed: 5, house: 15, skyscraper: 40 }`, each key or none.
fn by_tier(d: &mut Decoder, limits: &Fields<'_>, key: &str, [shed, house, skyscraper]: [&mut u32; 3]) {
    let tiers = &["shed", "house", "skyscraper"];
    let Some(f) = limits.get(key).and_then(|s| d.map(s, tiers, &[])) else { return };
    set(shed, f.get("shed").and_then(|s| small(d, s, 1, 1000)));
    set(house, f.get("house").and_then(|s| small(d, s, 1, 1000)));
    set(skyscraper, f.get("skyscraper").and_then(|s| small(d, s, 1, 1000)));
}

/// The ledger's branch of a file whose other keys may say anything.
pub(super) fn ledger(d: &mut Decoder, root: &Spot<'_>) -> Option<(String, u32)> {
    let top = d.map(root, &["ledger"], &[])?;
    let inner = d.map(top.get("ledger")?, &["branch"], &[])?;
    let spot = inner.get("branch")?;
    let branch = ledger_branch(d, spot)?;
    Some((branch, spot.at().line))
}

/// Records and code on one branch: each would be in the way of the other, and a change could rewrite its own record.
fn ledger_apart(d: &mut Decoder, top: &Fields<'_>, p: &Policy) {
    let branch = &p.ledger.branch;
    let matched = p.branches.iter().any(|glob| law::glob(glob).is_ok_and(|glob| glob.is_match(branch)));
    if !matched && !["main", "master"].contains(&branch.as_str()) {
        return;
    }
    let at = inner(top, "ledger", "branch").or(top.get("branches").map(Spot::at)).unwrap_or(At::START);
    let why = if matched { "it is one of `branches`, which changes go into" } else { "it is a branch of code" };
    d.problem(
        at,
        "ledger.branch",
        format!("the ledger can't be on `{}`: {why}", excerpt(branch)),
        "Give the ledger a branch of its own, such as `phasegate/ledger`",
    );
}

/// Where the value of a key in a mapping stands.
fn inner(top: &Fields<'_>, outer: &str, key: &str) -> Option<At> {
    let Kind::Map(entries) = &top.get(outer)?.node.kind else { return None };
    entries.iter().find(|(name, _)| name.name == key).map(|(_, node)| node.at)
}

/// What is required must be possible, and something should be.
fn required(d: &mut Decoder, top: &Fields<'_>, p: &Policy) {
    let pipeline = p.may_be_in(Flow::Pipeline);
    if let Some(at) = inner(top, "merge", "approvals").filter(|_| p.merge.approvals == 0)
        && p.merge.require.contains(&Require::Review)
    {
        let next = if pipeline {
            "Write `approvals: 1`, or leave the key out: the pipeline can't do without `review`"
        } else {
            "Write `require: [verify]` to do without approvals, or `approvals: 1`"
        };
        let says = "`approvals: 0` has no effect while `review` is required, and a review is at least one approval";
        d.problem(at, "merge.approvals", says, next);
    }
    let Some(at) = inner(top, "merge", "require") else { return };
    let lacks = [Require::Verify, Require::Review].into_iter().find(|one| !p.merge.require.contains(one));
    if let (true, Some(lacks)) = (pipeline, lacks) {
        d.problem(
            at,
            "merge.require",
            format!("the pipeline can't do without `{lacks}`: nothing gets through it without VERIFY and REVIEW"),
            "Write `require: [verify, review]`, or leave the key out",
        );
    } else if p.merge.require.is_empty() {
        d.warning(
            at,
            "merge.require",
            "nothing is required: every change is green as it comes",
            "Ask for `verify`, `review` or both",
        );
    }
}

fn remind(d: &mut Decoder, spot: &Spot<'_>) -> Option<Remind> {
    let text = gates::with_unit(d, spot)?;
    let remind = Remind::new(text);
    if remind.is_none() {
        let says = format!("`{}` is neither whole minutes, hours or days, up to 30 days, nor `never`", excerpt(text));
        d.problem(spot.at(), &spot.path, says, "Write it as `90m`, `24h` or `3d`, or `never`");
    }
    remind
}

fn small(d: &mut Decoder, spot: &Spot<'_>, min: u64, max: u64) -> Option<u32> {
    d.number(spot, min..=max).and_then(|n| u32::try_from(n).ok())
}

fn version(d: &mut Decoder, spot: &Spot<'_>) {
    if !matches!(&spot.node.kind, Kind::Scalar { text, plain: true } if text == "1") {
        let quoted = matches!(&spot.node.kind, Kind::Scalar { text, plain: false } if text == "1");
        let next = if quoted { "Write `version: 1`, without quotes" } else { "Write `version: 1`" };
        let says = match &spot.node.kind {
            _ if quoted => "`\"1\"` is a text, and the version is a number".to_owned(),
            Kind::Scalar { text, .. } if !spot.node.is_nothing() => {
                format!("this version of Phasegate reads policies of version 1, not `{}`", excerpt(text))
            }
            _ => "this version of Phasegate reads policies of version 1".to_owned(),
        };
        d.problem(spot.at(), &spot.path, says, next);
    }
}

fn globs(d: &mut Decoder, spot: &Spot<'_>, of: &str) -> Option<Vec<String>> {
    let mut list = Vec::new();
    for item in d.items(spot, of, MAX_LIST)? {
        list.extend(glob(d, &item));
    }
    Some(list)
}

fn glob(d: &mut Decoder, spot: &Spot<'_>) -> Option<String> {
    let text = d.text(spot)?;
    let shown = excerpt(text);
    let (says, next) = if text.is_empty() {
        ("an empty glob matches nothing".to_owned(), "Write a glob such as `src/**`, or remove it".to_owned())
    } else if text.len() > MAX_GLOB {
        (format!("a glob may have at most {MAX_GLOB} bytes"), "Shorten it".to_owned())
    } else if text != text.trim() {
        ("the glob has blanks around it".to_owned(), "Remove the blanks".to_owned())
    } else if let Some(rest) = text.strip_prefix('!') {
        let next = format!("Remove the `!`, or list what should match instead of `{}`", excerpt(rest));
        (format!("`{shown}`: globs can't be negated"), next)
    } else if text.starts_with('/') || text.starts_with("./") {
        let rest = excerpt(text.trim_start_matches(['.', '/']));
        (format!("`{shown}` matches nothing: names start at the root, without `/`"), format!("Write `{rest}`"))
    } else if text.split('/').any(|part| part == "..") {
        (format!("`{shown}` leaves the repository"), "Remove `..`".to_owned())
    } else if text.ends_with('/') {
        (format!("`{shown}` matches nothing: it names a directory"), format!("Write `{shown}**`"))
    } else {
        match law::glob(text) {
            Ok(_) => return Some(text.to_owned()),
            Err(e) => (format!("`{shown}` is not a glob: {}", e.kind()), "Correct the glob".to_owned()),
        }
    };
    d.problem(spot.at(), &spot.path, says, next);
    None
}

fn approvers(d: &mut Decoder, spot: &Spot<'_>) -> Option<Vec<Approver>> {
    let mut list = Vec::new();
    for item in d.items(spot, "people and teams", MAX_LIST)? {
        let Some(text) = d.text(&item) else { continue };
        match Approver::new(text) {
            Some(approver) => list.push(approver),
            None if text.ends_with("[bot]") => {
                let says = format!("`{}` is a bot, and bots never approve", excerpt(text));
                d.problem(item.at(), &item.path, says, "Name a person or a team");
            }
            None => {
                let says = format!("`{}` is neither a person nor a team", excerpt(text));
                d.problem(item.at(), &item.path, says, "Write `\"@login\"` or `\"@organisation/team\"`");
            }
        }
    }
    Some(list)
}

fn rules(d: &mut Decoder, spot: &Spot<'_>, p: &Policy) -> Option<Vec<MatchRule>> {
    let mut list = Vec::new();
    let like = |text: &str| format!("`- {{ branch: {text}, autonomy: conservative }}`");
    for item in d.items_like(spot, "rules", MAX_LIST, like)? {
        let Some(f) = d.map(&item, &["branch", "label", "autonomy", "mode", "flow"], &[]) else { continue };
        let before = d.problems.len();
        let rule = MatchRule {
            branch: f.get("branch").and_then(|s| glob(d, s)),
            label: f.get("label").and_then(|s| label(d, s)),
            autonomy: f.get("autonomy").and_then(|s| d.word(s)),
            mode: f.get("mode").and_then(|s| stepped(d, s)),
            flow: f.get("flow").and_then(|s| d.word(s)),
        };
        if let (Some(own), Some(s)) = (rule.autonomy, f.get("autonomy"))
            && own > p.autonomy
        {
            loosens(d, s, &format!("`autonomy: {own}` is looser than the policy's `{}`", p.autonomy));
        }
        if let (Some(own), Some(s)) = (rule.flow, f.get("flow"))
            && own < p.flow
        {
            loosens(d, s, &format!("`flow: {own}` is looser than the policy's `{}`", p.flow));
        }
        if f.get("branch").is_none() && f.get("label").is_none() {
            let next = "Add `branch:` or `label:`; to tighten every change, set it at the top of the file";
            d.problem(item.at(), &item.path, "the rule does not say which changes it is for", next);
        }
        if f.get("autonomy").is_none() && f.get("mode").is_none() && f.get("flow").is_none() {
            let next = "Add `autonomy:`, `mode: stepped` or `flow:`, or remove the rule";
            d.problem(item.at(), &item.path, "the rule does not say what it tightens", next);
        }
        if d.problems.len() == before {
            list.push(rule);
        }
    }
    Some(list)
}

fn loosens(d: &mut Decoder, spot: &Spot<'_>, what: &str) {
    d.problem(
        spot.at(),
        &spot.path,
        format!("{what}; a match rule may only tighten"),
        "Remove it, or loosen the policy itself at the top of the file",
    );
}

fn stepped(d: &mut Decoder, spot: &Spot<'_>) -> Option<TighterMode> {
    if matches!(&spot.node.kind, Kind::Scalar { text, .. } if text == "auto") {
        d.problem(spot.at(), &spot.path, "a match rule may only tighten: `mode` can only be `stepped`", "Remove it");
        return None;
    }
    d.word(spot)
}

fn label(d: &mut Decoder, spot: &Spot<'_>) -> Option<String> {
    let text = d.text(spot)?;
    if text.trim().is_empty() || text.chars().count() > 100 {
        d.problem(spot.at(), &spot.path, "a label has 1 to 100 characters", "Write the label's name");
        return None;
    }
    Some(text.to_owned())
}

fn ledger_branch(d: &mut Decoder, spot: &Spot<'_>) -> Option<String> {
    let text = d.text(spot)?;
    let shown = excerpt(text);
    let full = format!("refs/heads/{text}");
    if text.starts_with("refs/") {
        d.problem(
            spot.at(),
            &spot.path,
            format!("`{shown}` is the name of a ref, not of a branch"),
            "Write the branch without `refs/heads/`",
        );
    } else if text.len() > 200
        || text.starts_with('-')
        || ["HEAD", "@"].contains(&text)
        || !git2::Reference::is_valid_name(&full)
    {
        d.problem(
            spot.at(),
            &spot.path,
            format!("`{shown}` is not a valid branch name"),
            "Write a branch name such as `phasegate/ledger`",
        );
    } else {
        return Some(text.to_owned());
    }
    None
}

fn label_prefix(d: &mut Decoder, spot: &Spot<'_>) -> Option<String> {
    let text = d.text(spot)?;
    let fine = (1..=20).contains(&text.chars().count())
        && !text.contains(',')
        && !text.starts_with(char::is_whitespace)
        && !text.contains(['\n', '\r', '\t']);
    if fine {
        return Some(text.to_owned());
    }
    let says = format!("`{}` can't start a label: it takes 1 to 20 characters, without a comma", excerpt(text));
    d.problem(spot.at(), &spot.path, says, "Write a prefix such as `\"phase:\"`");
    None
}

fn command_prefix(d: &mut Decoder, spot: &Spot<'_>) -> Option<String> {
    let text = d.text(spot)?;
    let own = text.strip_suffix(' ').unwrap_or(text);
    let fine = match own.strip_prefix('/') {
        Some("") => text == "/",
        Some(word) => {
            word.len() <= 20
                && !word.starts_with('-')
                && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        }
        None => false,
    };
    if fine {
        return Some(own.to_owned());
    }
    let says = format!("`{}` can't start a command: it takes `/`, or `/` and one short lower-case word", excerpt(text));
    d.problem(spot.at(), &spot.path, says, "Write `\"/\"` for `/expand`, or `\"/pg\"` for `/pg expand`");
    None
}
