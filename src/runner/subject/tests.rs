use std::collections::HashMap;

use serde_json::{Value, json};

use super::*;
use crate::repo::testing::Scratch;

/// A repository in which GitHub has merged a change into its base.
struct Stage {
    repo: Scratch,
    base: CommitId,
    newer: CommitId,
    head: CommitId,
    merge: CommitId,
    event: tempfile::NamedTempFile,
}

fn stage() -> Stage {
    let repo = Scratch::new();
    let base = repo.commit(&[], &[(b"a", 0o100_644, b"1")]);
    let newer = repo.commit(&[&base], &[(b"a", 0o100_644, b"2")]);
    let head = repo.commit(&[&base], &[(b"b", 0o100_644, b"1")]);
    let merge = repo.commit(&[&newer, &head], &[(b"a", 0o100_644, b"2"), (b"b", 0o100_644, b"1")]);
    Stage { repo, base, newer, head, merge, event: tempfile::NamedTempFile::new().unwrap() }
}

impl Stage {
    fn pull(&self, into: &str) -> Value {
        json!({
            "repository": { "default_branch": "main" },
            "pull_request": {
                "number": 7,
                "base": { "sha": self.base, "ref": into },
                "head": { "sha": self.head, "ref": "work" },
            },
        })
    }

    fn around(&self, event: &Value, more: &[(&str, &str)]) -> Result<Around, Lost> {
        std::fs::write(self.event.path(), event.to_string()).unwrap();
        let file = self.event.path().display().to_string();
        let mut all: HashMap<&str, &str> = HashMap::from([
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_EVENT_PATH", file.as_str()),
            ("GITHUB_REPOSITORY", "octo/lamp"),
            ("GITHUB_RUN_ID", "99"),
            ("GITHUB_RUN_ATTEMPT", "2"),
            ("GITHUB_EVENT_NAME", "pull_request"),
        ]);
        all.extend(more.iter().copied());
        let env = |name: &str| all.get(name).map(|value| (*value).to_owned());
        around(Some(&self.repo.reader()), &env, false)
    }
}

#[test]
fn a_pull_request_is_its_head_and_its_base_and_not_the_merge() {
    let on = stage();
    let found = on.around(&on.pull("main"), &[("GITHUB_SHA", on.merge.as_str())]).unwrap();
    let subject = &found.subject;
    assert_eq!(
        (subject.change, subject.base.as_ref(), subject.head.as_ref()),
        (Some(7), Some(&on.base), Some(&on.head))
    );
    assert_eq!(subject.repository.as_ref().unwrap().to_string(), "octo/lamp");
    let run = found.run.unwrap();
    assert_eq!((run.id, run.attempt, run.event.as_deref()), (99, 2, Some("pull_request")));
    assert_eq!(found.law, Some(on.newer.clone()), "the base went on since the event was sent");
}

#[test]
fn only_what_github_made_says_which_commit_is_the_base() {
    let on = stage();
    let law = |sha: &CommitId| on.around(&on.pull("main"), &[("GITHUB_SHA", sha.as_str())]).unwrap().law.unwrap();
    // The head itself is checked out, or a merge of the change's own making.
    assert_eq!(law(&on.head), on.base);
    let own = on.repo.commit(&[&on.head, &on.newer], &[(b"a", 0o100_644, b"evil")]);
    assert_eq!(law(&own), on.base, "its second parent is not the head");
    assert_eq!(on.around(&on.pull("main"), &[]).unwrap().law, Some(on.base.clone()));
}

#[test]
fn a_base_that_was_not_fetched_is_told_with_the_lines_to_add() {
    let on = stage();
    let mut event = on.pull("main");
    event["pull_request"]["base"]["sha"] = json!("d".repeat(40));
    let lost = on.around(&event, &[("GITHUB_SHA", on.head.as_str())]).unwrap_err();
    let text = lost.to_string();
    assert!(
        text.starts_with("the commit dddddddddddd of `main`, which has the policy, is not in this checkout\n"),
        "{text}"
    );
    assert!(text.contains("- uses: actions/checkout@…\n        with:\n          fetch-depth: 0\n"), "{text}");
    // Somebody who names it needs none of that.
    let env = |name: &str| match name {
        "GITHUB_ACTIONS" => Some("true".to_owned()),
        "GITHUB_EVENT_PATH" => Some(on.event.path().display().to_string()),
        _ => None,
    };
    assert_eq!(around(Some(&on.repo.reader()), &env, true).unwrap().law, None);
}

#[test]
fn for_another_branch_the_default_ones_tip_is_taken_from_origin_if_that_is_the_repository() {
    let on = stage();
    let event = on.pull("release/1");
    let lost = on.around(&event, &[("GITHUB_SHA", on.merge.as_str())]).unwrap_err();
    assert!(lost.to_string().starts_with("the branch `main`, which has the policy, is not"), "{lost}");
    on.repo.point("refs/remotes/origin/main", &on.newer);
    let lost = on.around(&event, &[]).unwrap_err();
    assert!(lost.to_string().starts_with("`origin` of this checkout is not octo/lamp, so its branch `main`"), "{lost}");
    on.repo.remote("origin", "https://github.com/eve/lamp");
    on.repo.point("refs/remotes/origin/main", &on.newer);
    assert!(matches!(on.around(&event, &[]), Err(Lost::Elsewhere { .. })));
    for url in ["https://github.com/Octo/Lamp.git", "git@github.com:octo/lamp", "https://ghe.example/octo/lamp/"] {
        on.repo.remote("origin", url);
        on.repo.point("refs/remotes/origin/main", &on.newer);
        assert_eq!(on.around(&event, &[]).unwrap().law, Some(on.newer.clone()), "{url}");
    }
    on.repo.remote("origin", "https://github.com/evil-octo/lamp");
    on.repo.point("refs/remotes/origin/main", &on.newer);
    assert!(matches!(on.around(&event, &[]), Err(Lost::Elsewhere { .. })));
}

#[test]
fn other_events_are_about_the_commit_that_they_name() {
    let on = stage();
    let repository = json!({ "default_branch": "main" });
    let group = json!({
        "repository": repository,
        "merge_group": { "base_sha": on.newer, "base_ref": "refs/heads/main", "head_sha": on.merge, "head_ref": "q" },
    });
    let found = on.around(&group, &[("GITHUB_SHA", on.merge.as_str())]).unwrap();
    assert_eq!((found.subject.head, found.subject.base), (Some(on.merge.clone()), Some(on.newer.clone())));
    assert_eq!(found.law, Some(on.newer.clone()));

    let push = json!({ "repository": repository, "before": "0".repeat(40), "ref": "refs/heads/main" });
    let env = [("GITHUB_SHA", on.newer.as_str()), ("GITHUB_REF", "refs/heads/main")];
    let found = on.around(&push, &env).unwrap();
    assert_eq!(
        (found.subject.head, found.subject.base, found.law),
        (Some(on.newer.clone()), None, Some(on.newer.clone()))
    );
    let elsewhere = [("GITHUB_SHA", on.head.as_str()), ("GITHUB_REF", "refs/heads/work")];
    assert!(matches!(on.around(&push, &elsewhere), Err(Lost::NotFetched { .. })), "a branch has no say");
}

#[test]
fn an_event_that_can_not_be_read_is_not_guessed() {
    let on = stage();
    for (text, why) in
        [("", "EOF"), ("{\"pull_request\": {\"number\": 7", "EOF"), ("{\"pull_request\": 7}", "invalid type")]
    {
        std::fs::write(on.event.path(), text).unwrap();
        let env = |name: &str| match name {
            "GITHUB_ACTIONS" => Some("true".to_owned()),
            "GITHUB_EVENT_PATH" => Some(on.event.path().display().to_string()),
            _ => None,
        };
        let lost = around(Some(&on.repo.reader()), &env, false).unwrap_err().to_string();
        assert!(lost.contains("(`GITHUB_EVENT_PATH`)") && lost.contains(why), "{lost}");
    }
}

#[test]
fn outside_of_actions_the_event_of_somebody_else_says_nothing() {
    let on = stage();
    on.repo.point("HEAD", &on.head);
    let found = on.around(&on.pull("main"), &[("GITHUB_ACTIONS", "false")]).unwrap();
    assert_eq!(
        found,
        Around {
            subject: Subject { head: Some(on.head.clone()), checkout: Some(on.head.clone()), ..Subject::default() },
            ..Around::default()
        }
    );
}

/// The end of a run on the head has started this one.
fn after(on: &Stage, pulls: Value) -> Value {
    json!({
        "repository": { "default_branch": "main" },
        "workflow_run": {
            "head_sha": on.head, "head_branch": "work", "head_repository": { "owner": { "login": "eve" } },
            "pull_requests": pulls,
        },
    })
}

#[test]
fn a_run_after_another_is_of_that_ones_head_where_it_parts_from_its_base() {
    let on = stage();
    on.repo.point("refs/heads/work", &on.head);
    on.repo.point("HEAD", &on.head);
    on.repo.point("refs/remotes/origin/main", &on.newer);
    let more =
        [("GITHUB_EVENT_NAME", "workflow_run"), ("GITHUB_SHA", on.newer.as_str()), ("GITHUB_REF", "refs/heads/main")];
    let found = on.around(&after(&on, json!([])), &more).unwrap();
    let subject = &found.subject;
    assert_eq!((&subject.base, &subject.head), (&Some(on.base.clone()), &Some(on.head.clone())));
    assert_eq!((subject.change, &found.law), (None, &Some(on.newer.clone())));
    // Its pull request says where it goes; one that went on since says nothing of this head.
    let end = |sha: &CommitId, name: &str| json!({ "sha": sha, "ref": name });
    let pull = |number: u64, head: &CommitId, into: &str| json!({ "number": number, "base": end(&on.newer, into), "head": end(head, "work") });
    on.repo.point("refs/remotes/origin/next", &on.head);
    let pulls = json!([pull(6, &on.base, "main"), pull(7, &on.head, "next")]);
    let found = on.around(&after(&on, pulls), &more).unwrap().subject;
    assert_eq!((found.change, found.base), (Some(7), Some(on.head.clone())));
    let lost = on.around(&after(&on, json!([pull(8, &on.head, "gone")])), &more).unwrap_err().to_string();
    assert!(lost.starts_with("the branch `gone`, which has the policy") || lost.contains("`gone`"), "{lost}");
    on.repo.point("HEAD", &on.newer);
    let lost = on.around(&after(&on, json!([])), &more).unwrap_err().to_string();
    assert!(lost.contains("`ref: ${{ github.event.workflow_run.head_sha }}`"), "{lost}");
}

#[test]
fn who_answers_after_another_run_knows_the_head_and_whose_branch_it_is() {
    let on = stage();
    let told = |event: &str, payload: &Value| {
        std::fs::write(on.event.path(), payload.to_string()).unwrap();
        let file = on.event.path().display().to_string();
        started_after(&|name| match name {
            "GITHUB_EVENT_NAME" => Some(event.to_owned()),
            "GITHUB_EVENT_PATH" => Some(file.clone()),
            _ => None,
        })
    };
    let good = after(&on, json!([]));
    let expected = For { head: on.head.clone(), branch: "eve:work".to_owned() };
    assert_eq!(told("workflow_run", &good).unwrap(), Some(expected));
    assert_eq!(told("workflow_dispatch", &good).unwrap(), None);
    for field in ["head_branch", "head_repository"] {
        let mut bent = good.clone();
        bent["workflow_run"][field] = Value::Null;
        let lost = told("workflow_run", &bent).unwrap_err().to_string();
        assert!(lost.contains("is gone"), "{lost}");
    }
    let lost = told("workflow_run", &json!({})).unwrap_err().to_string();
    assert!(lost.contains("it has no `workflow_run`"), "{lost}");
}
