use serde_json::{Value, json};

use super::*;

const SHA: &str = "5bd5f196a46b8222fb7484f05faba41a73cf34bd";

/// A payload with the parts every delivery has.
fn delivery(mut special: Value) -> Vec<u8> {
    let common = json!({
        "sender": {"id": 7, "login": "ann", "type": "User"},
        "repository": {"id": 1, "full_name": "o/r", "default_branch": "trunk"},
        "installation": {"id": 99},
    });
    for (key, value) in common.as_object().unwrap() {
        special.as_object_mut().unwrap().entry(key).or_insert_with(|| value.clone());
    }
    serde_json::to_vec(&special).unwrap()
}

fn fact(event: &str, special: Value) -> Fact {
    parse(event, &delivery(special)).unwrap().unwrap().fact
}

#[test]
fn the_repository_and_installation_are_carried_along() {
    let body = delivery(json!({"action": "opened", "issue": {"number": 3}}));
    let repo = parse("issues", &body).unwrap().unwrap().repo.unwrap();
    assert_eq!((repo.id, repo.installation), (RepoId(1), InstallationId(99)));
    assert_eq!((repo.slug.to_string().as_str(), repo.default_branch.as_str()), ("o/r", "trunk"));

    let body = delivery(json!({"action": "opened", "issue": {"number": 3}, "installation": null}));
    assert_eq!(parse("issues", &body).unwrap().unwrap().repo.unwrap().installation, NO_INSTALLATION);
}

#[test]
fn only_a_created_comment_can_be_a_command() {
    let payload = |action| {
        json!({"action": action, "issue": {"number": 3, "pull_request": {"url": "u"}},
               "comment": {"id": 5, "body": "/approve", "created_at": "2026-01-02T03:04:05Z",
                           "user": {"id": 8, "login": "bob", "type": "User"}}})
    };
    let Fact::Comment(comment) = fact("issue_comment", payload("created")) else { panic!() };
    assert!(comment.on_pull);
    assert_eq!((comment.author.login.as_str(), comment.body.as_str()), ("bob", "/approve"));
    for (action, gone) in [("edited", false), ("deleted", true), ("something_new", false)] {
        let Fact::CommentChanged { deleted, author, sender, .. } = fact("issue_comment", payload(action)) else {
            panic!("{action}")
        };
        assert_eq!((deleted, author.id, sender.id), (gone, 8, 7));
    }
    assert_eq!(parse("issue_comment", &delivery(payload("pinned"))), Ok(None));
}

#[test]
fn a_deleted_or_broken_sender_becomes_the_ghost_who_approves_nothing() {
    for sender in [Value::Null, json!({}), json!("ann"), json!({"id": "7"})] {
        let Fact::Issue { sender: ghost, .. } =
            fact("issues", json!({"action": "opened", "issue": {"number": 3}, "sender": sender}))
        else {
            panic!()
        };
        assert_eq!((ghost.login.as_str(), ghost.bot), ("ghost", true), "{sender}");
    }
    let robot = json!({"id": 9, "login": "x[bot]", "type": "Bot"});
    let Fact::Issue { sender, .. } =
        fact("issues", json!({"action": "opened", "issue": {"number": 3}, "sender": robot}))
    else {
        panic!()
    };
    assert!(sender.bot);
}

#[test]
fn a_deleted_branch_has_no_commit_after_it_and_a_tag_is_no_branch() {
    let zero = "0".repeat(40);
    let push = |r: &str, before: &str, after: &str| json!({"ref": r, "before": before, "after": after, "forced": true});
    let Fact::Push { branch, before, after, forced, .. } = fact("push", push("refs/heads/a/b", SHA, &zero)) else {
        panic!()
    };
    assert_eq!((branch.as_str(), after, forced), ("a/b", None, true));
    assert_eq!(before.unwrap().as_str(), SHA);
    assert_eq!(parse("push", &delivery(push("refs/tags/v1", &zero, SHA))), Ok(None));
    assert!(parse("push", &delivery(push("refs/heads/a", "", SHA))).is_err());
}

#[test]
fn buttons_name_the_pull_requests_of_this_repository_only() {
    let run = json!({"id": 4, "name": "gate", "head_sha": SHA, "app": {"id": 2}, "pull_requests": [
        {"number": 10, "base": {"repo": {"id": 1}}}, {"number": 11, "base": {"repo": {"id": 666}}}]});
    let pressed =
        json!({"action": "requested_action", "requested_action": {"identifier": "approve"}, "check_run": run});
    let Fact::Button { pulls, button, run: id, .. } = fact("check_run", pressed) else { panic!() };
    assert_eq!((pulls, button, id), (vec![10], Button::Pressed("approve".into()), 4));

    let again = fact("check_run", json!({"action": "rerequested", "check_run": run}));
    assert!(matches!(again, Fact::Button { button: Button::Rerequested, .. }));
    let moved = fact("check_run", json!({"action": "completed", "check_run": run}));
    let expected =
        Fact::Checks { head: CommitId::new(SHA).unwrap(), app: Some(2), completed: Some(4), branch: None, owner: None };
    assert_eq!(moved, expected);
    let broken = delivery(json!({"action": "requested_action", "check_run": run}));
    assert!(parse("check_run", &broken).is_err());
}

#[test]
fn pull_requests_keep_their_head_and_unknown_actions_are_other() {
    for (action, expected) in
        [("synchronize", PullEvent::Synchronize), ("closed", PullEvent::Closed), ("in_2031", PullEvent::Other)]
    {
        let payload = json!({"action": action, "pull_request": {"number": 3, "head": {"sha": SHA}}});
        let Fact::Pull { what, number, head, .. } = fact("pull_request", payload) else { panic!() };
        assert_eq!((what, number, head.as_str()), (expected, 3, SHA));
    }
}

#[test]
fn merge_groups_deployments_and_installations() {
    let group = json!({"head_sha": SHA, "base_sha": SHA, "base_ref": "refs/heads/main",
                       "head_ref": "refs/heads/gh-readonly-queue/main/pr-1-abc"});
    let Fact::MergeGroup { base_ref, head_ref, .. } =
        fact("merge_group", json!({"action": "checks_requested", "merge_group": group}))
    else {
        panic!()
    };
    assert_eq!((base_ref.as_str(), head_ref.as_str()), ("main", "gh-readonly-queue/main/pr-1-abc"));
    assert_eq!(parse("merge_group", &delivery(json!({"action": "destroyed", "merge_group": group}))), Ok(None));

    let deployed = json!({"action": "created", "deployment": {"sha": SHA, "environment": "prod"},
                          "deployment_status": {"state": "success", "environment_url": "", "target_url": "http://x"}});
    assert_eq!(
        fact("deployment_status", deployed),
        Fact::Deployment {
            commit: CommitId::new(SHA).unwrap(),
            environment: "prod".into(),
            state: "success".into(),
            url: Some("http://x".into())
        }
    );

    let body = delivery(json!({"action": "added", "repositories_added": [{"id": 1, "full_name": "o/r"}],
                               "repositories_removed": []}));
    let event = parse("installation_repositories", &body).unwrap().unwrap();
    assert_eq!(event.repo, None);
    let repos = vec![(1, "o/r".to_owned())];
    assert_eq!(event.fact, Fact::Installation { id: InstallationId(99), action: "added".into(), repos });
}

#[test]
fn what_is_needed_and_missing_is_an_error_that_names_the_event() {
    let error = parse("pull_request", &delivery(json!({"action": "opened"}))).unwrap_err();
    assert!(error.to_string().contains("pull_request"), "{error}");
    assert!(parse("issues", b"{}").is_err());
    assert!(parse("issues", b"").is_err());
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(parse("push", deep.as_bytes()).is_err());
    let huge = delivery(json!({"action": "opened", "issue": {"number": "9".repeat(100_000)}}));
    assert!(parse("issues", &huge).unwrap_err().to_string().len() < 500);
    assert_eq!(parse("star", b"not even JSON"), Ok(None));
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_it_panic(at in 0..UNDERSTOOD.len(), bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..300)) {
        let _ = parse(UNDERSTOOD[at], &bytes);
    }

    #[test]
    fn no_mangled_payload_makes_it_panic(at in 0..UNDERSTOOD.len(), cut in 0usize..400, byte in proptest::num::u8::ANY) {
        let mut body = delivery(json!({"action": "created", "ref": "refs/heads/é", "before": SHA, "after": SHA,
            "issue": {"number": 1}, "comment": {"id": 1, "user": null, "created_at": "2026-01-02T03:04:05Z"},
            "check_run": {"id": 1, "head_sha": SHA}, "merge_group": {}, "pull_request": {"number": 1}}));
        let cut = cut % body.len();
        body[cut] = byte;
        let _ = parse(UNDERSTOOD[at], &body);
    }
}

#[test]
fn the_end_of_a_trusted_run_is_about_what_its_title_names() {
    let ended = |event: &str, title: &str| {
        let run = json!({"head_sha": SHA, "head_branch": "trunk", "event": event, "display_title": title,
                         "head_repository": {"owner": {"login": "o"}}});
        fact("workflow_run", json!({"action": "completed", "workflow_run": run}))
    };
    let about = "b".repeat(40);
    let after = format!("Phasegate verify {about}");
    assert_eq!(ended("workflow_dispatch", "Phasegate verify #7 abc"), Fact::Look { number: 7 });
    assert!(matches!(
        ended("workflow_run", &after),
        Fact::Checks { head, branch: None, owner: None, .. } if head.as_str() == about
    ));
    // Any other is about the commit that it ran on.
    for (event, title) in [
        ("workflow_dispatch", after.as_str()),
        ("workflow_run", "Phasegate verify #7 abc"),
        ("pull_request", after.as_str()),
        ("workflow_dispatch", "Phasegate verify #0 abc"),
        ("workflow_run", "Phasegate verify main"),
        ("push", "Some title"),
    ] {
        let Fact::Checks { head, branch, .. } = ended(event, title) else { panic!("{event}: {title}") };
        assert_eq!((head.as_str(), branch.as_deref()), (SHA, Some("trunk")), "{event}: {title}");
    }
}
