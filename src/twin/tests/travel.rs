//! Changes travel: clone, push, propose, merge.

use reqwest::Method;
use serde_json::{Value, json};

use super::stage::Stage;

#[tokio::test]
async fn a_change_travels_from_clone_to_merge_and_every_step_is_told() {
    let stage = Stage::set().await;
    let work = stage.dir.path().join("clone");
    stage.must_git(stage.dir.path(), &["clone", "-q", &stage.remote(&stage.ada.token), "clone"]).await;
    std::fs::write(work.join("a.txt"), "one\n").unwrap();
    stage.must_git(&work, &["checkout", "-qb", "work"]).await;
    stage.must_git(&work, &["add", "."]).await;
    stage.must_git(&work, &["commit", "-qm", "Add a"]).await;
    stage.must_git(&work, &["push", "-q", "origin", "work"]).await;
    let first = stage.must_git(&work, &["rev-parse", "HEAD"]).await;

    let body = json!({"title": "Add a", "head": "work", "base": "main", "body": "please"});
    let (status, pull) = stage.post(&stage.ada.token, "/repos/ada/site/pulls", body).await;
    assert_eq!((status, pull["head"]["sha"].as_str()), (201, Some(first.as_str())));

    std::fs::write(work.join("a.txt"), "two\n").unwrap();
    stage.must_git(&work, &["commit", "-qam", "Change a"]).await;
    stage.must_git(&work, &["push", "-q", "origin", "work"]).await;
    let second = stage.must_git(&work, &["rev-parse", "HEAD"]).await;
    stage.admin.wait_idle().await;

    let synchronized = stage.receiver.told("pull_request", "synchronize");
    assert_eq!(synchronized.len(), 1);
    let told = &synchronized[0].body;
    assert_eq!((told["before"].as_str(), told["after"].as_str()), (Some(first.as_str()), Some(second.as_str())));
    assert_eq!(told["sender"]["login"], "ada");
    assert_eq!(told["installation"]["id"], stage.installation);
    assert_eq!(stage.receiver.told("push", "").len(), 2);
    assert_eq!(stage.receiver.told("installation", "created").len(), 1);

    // A checkout in CI: nothing but the pull request's head, one commit deep.
    let bare = stage.dir.path().join("ci");
    std::fs::create_dir(&bare).unwrap();
    stage.must_git(&bare, &["init", "-q"]).await;
    let remote = stage.remote(&stage.ada.token);
    stage.must_git(&bare, &["fetch", "-q", "--depth=1", &remote, &second]).await;
    stage.must_git(&bare, &["fetch", "-q", &remote, "refs/pull/1/head"]).await;
    assert_eq!(stage.must_git(&bare, &["rev-parse", "FETCH_HEAD"]).await, second);

    let (status, said) =
        stage.ask(&stage.ada.token, Method::PUT, "/repos/ada/site/pulls/1/merge", json!({"sha": first})).await;
    assert_eq!(status, 409, "{said}");
    let (status, merged) =
        stage.ask(&stage.ada.token, Method::PUT, "/repos/ada/site/pulls/1/merge", json!({"sha": second})).await;
    assert_eq!(status, 200, "{merged}");
    stage.admin.wait_idle().await;
    let closed = stage.receiver.told("pull_request", "closed");
    assert_eq!(closed.len(), 1, "a merge is told once");
    assert_eq!(closed[0].body["pull_request"]["merged"], true);
    stage.must_git(&work, &["fetch", "-q", "origin"]).await;
    assert_eq!(stage.must_git(&work, &["rev-parse", "origin/main"]).await, merged["sha"].as_str().unwrap());
    assert_eq!(stage.must_git(&work, &["show", "origin/main:a.txt"]).await, "two");
    stage.twin.shutdown().await;
}

#[tokio::test]
async fn git_behaves_with_long_requests_large_packs_and_shallow_clones() {
    let stage = Stage::set().await;
    let work = stage.dir.path().join("clone");
    stage.must_git(stage.dir.path(), &["clone", "-q", &stage.remote(&stage.ada.token), "clone"]).await;
    // Over a megabyte git sends a push in chunks, after a probe. The content must not compress away.
    let mut noise = vec![0_u8; 3 << 20];
    aws_lc_rs::rand::fill(&mut noise).unwrap();
    std::fs::write(work.join("noise.bin"), &noise).unwrap();
    stage.must_git(&work, &["add", "."]).await;
    stage.must_git(&work, &["commit", "-qm", "Noise"]).await;
    stage.must_git(&work, &["push", "-q", "origin", "main"]).await;
    for n in 0..40 {
        stage.admin.commit("ada/site", "ada", &format!("b{n}"), "B", &[("n.txt", Some(&n.to_string()))]).unwrap();
    }
    // Many wants make a request long enough for git to compress it, in both versions of the protocol.
    for version in ["protocol.version=0", "protocol.version=2"] {
        let remote = stage.remote(&stage.ada.token);
        stage.must_git(stage.dir.path(), &["-c", version, "clone", "-q", &remote, version]).await;
        let there = stage.dir.path().join(version);
        assert_eq!(stage.must_git(&there, &["show", "origin/b39:n.txt"]).await, "39");
    }
    let remote = stage.remote(&stage.ada.token);
    stage.must_git(stage.dir.path(), &["clone", "-q", "--depth=1", &remote, "shallow"]).await;
    let shallow = stage.dir.path().join("shallow");
    stage.must_git(&shallow, &["commit", "-q", "--allow-empty", "-m", "On top"]).await;
    stage.must_git(&shallow, &["push", "-q", "origin", "HEAD:main"]).await;
    let head = stage.must_git(&shallow, &["rev-parse", "HEAD"]).await;
    assert_eq!(stage.admin.branch("ada/site", "main").unwrap(), Some(head));
    // A push that lost a race is told so, and wins nothing.
    stage.must_git(&work, &["commit", "-q", "--allow-empty", "-m", "Late"]).await;
    let (fine, said) = stage.git(&work, &["push", "origin", "main"]).await;
    assert!(!fine && said.contains("rejected"), "{said}");
}

#[tokio::test]
async fn a_push_that_brings_a_change_in_around_the_gate_is_seen_as_a_merge() {
    let stage = Stage::set().await;
    let (number, head) = stage.propose();
    let body = json!({"sha": head});
    let (status, said) = stage.ask(&stage.ada.token, Method::PATCH, "/repos/ada/site/git/refs/heads/main", body).await;
    assert_eq!(status, 200, "{said}");
    stage.admin.wait_idle().await;
    assert!(stage.admin.issue("ada/site", number).unwrap().pull.unwrap().merged_at.is_some());
    assert_eq!(stage.receiver.told("pull_request", "closed").len(), 1);

    // Deleting a branch closes what was proposed from it.
    stage.admin.commit("ada/site", "ada", "gone", "Gone", &[("g.txt", Some("g\n"))]).unwrap();
    let number = stage.admin.open_pull("ada/site", "ada", "Gone", "gone", "main").unwrap();
    stage.admin.call_as("ada", "DELETE", "/repos/ada/site/git/refs/heads/gone", Value::Null).unwrap();
    let issue = stage.admin.issue("ada/site", number).unwrap();
    assert!(!issue.open && issue.pull.unwrap().merged_at.is_none());
}

#[tokio::test]
async fn what_follows_a_merge_is_never_told_as_earlier() {
    let stage = Stage::set().await;
    let begun = jiff::Timestamp::from_second(1_800_000_000).unwrap();
    stage.admin.set_clock(move || begun);
    let (number, _) = stage.propose();
    let (status, said) =
        stage.ask(&stage.ada.token, Method::PUT, &format!("/repos/ada/site/pulls/{number}/merge"), json!({})).await;
    assert_eq!(status, 200, "{said}");
    let merged = stage.admin.issue("ada/site", number).unwrap().pull.unwrap().merged_at.unwrap();
    assert!(merged > begun, "opening and merging are told in their order, though the clock stands");
    stage.admin.commit("ada/site", "ada", "later", "Later", &[("l.txt", Some("l\n"))]).unwrap();
    let (_, moves) = stage.get(&stage.ada.token, "/repos/ada/site/activity?ref=refs/heads/later").await;
    let pushed: jiff::Timestamp = moves[0]["timestamp"].as_str().unwrap().parse().unwrap();
    assert!(pushed >= merged, "pushed {pushed}, merged {merged}");
}

#[tokio::test]
async fn a_commit_that_is_not_there_is_refused_in_gits_own_words() {
    let stage = Stage::set().await;
    let work = stage.dir.path().join("clone");
    stage.must_git(stage.dir.path(), &["clone", "-q", &stage.remote(&stage.ada.token), "clone"]).await;
    let (fine, said) = stage.git(&work, &["fetch", "origin", &"1".repeat(40)]).await;
    assert!(!fine && said.contains("not our ref"), "{said}");
}

#[tokio::test]
async fn a_draft_is_not_merged_until_it_is_ready() {
    let stage = Stage::set().await;
    stage.admin.commit("ada/site", "ada", "work", "Work", &[("a.txt", Some("a\n"))]).unwrap();
    let draft = json!({"title": "Work", "head": "work", "base": "main", "draft": true});
    let (_, pull) = stage.post(&stage.ada.token, "/repos/ada/site/pulls", draft).await;
    let (status, _) = stage.ask(&stage.ada.token, Method::PUT, "/repos/ada/site/pulls/1/merge", json!({})).await;
    assert_eq!(status, 405);
    let ready =
        "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { isDraft } } }";
    let said = stage.graphql(&stage.ada.token, ready, json!({"id": pull["node_id"]})).await;
    let back =
        "mutation($id: ID!) { convertPullRequestToDraft(input: {pullRequestId: $id}) { pullRequest { isDraft } } }";
    let again = stage.graphql(&stage.ada.token, back, json!({"id": pull["node_id"]})).await;
    assert_eq!(again["data"]["convertPullRequestToDraft"]["pullRequest"]["isDraft"], true);
    stage.graphql(&stage.ada.token, ready, json!({"id": pull["node_id"]})).await;
    assert_eq!(said["data"]["markPullRequestReadyForReview"]["pullRequest"]["isDraft"], false);
    stage.admin.wait_idle().await;
    assert_eq!(stage.receiver.told("pull_request", "ready_for_review").len(), 2);
    assert_eq!(stage.receiver.told("pull_request", "converted_to_draft").len(), 1);
    let (status, _) = stage.ask(&stage.ada.token, Method::PUT, "/repos/ada/site/pulls/1/merge", json!({})).await;
    assert_eq!(status, 200);
}

#[tokio::test]
async fn who_moved_a_branch_is_listed_newest_first() {
    let stage = Stage::set().await;
    let first = stage.admin.commit("ada/site", "ada", "work", "one", &[("a.txt", Some("1\n"))]).unwrap();
    let second = stage.admin.quiet().commit("ada/site", "ada", "work", "two", &[("a.txt", Some("2\n"))]).unwrap();
    let body = json!({"sha": first, "force": true});
    let (status, said) = stage.ask(&stage.ada.token, Method::PATCH, "/repos/ada/site/git/refs/heads/work", body).await;
    assert_eq!(status, 200, "{said}");
    stage.admin.open_pull("ada/site", "ada", "Work", "work", "main").unwrap();
    let merge = stage.ask(&stage.ada.token, Method::PUT, "/repos/ada/site/pulls/1/merge", json!({})).await;
    assert_eq!(merge.0, 200, "{}", merge.1);

    let token = stage.app_token().await;
    let (status, moves) = stage.get(&token, "/repos/ada/site/activity?ref=refs/heads/work").await;
    assert_eq!(status, 200, "{moves}");
    let told = |moves: &Value| -> Vec<(String, String)> {
        let text = |one: &Value, field: &str| one[field].as_str().unwrap().to_owned();
        moves.as_array().unwrap().iter().map(|one| (text(one, "activity_type"), text(one, "after"))).collect()
    };
    let expected = [("force_push", &first), ("push", &second), ("branch_creation", &first)];
    assert_eq!(told(&moves), expected.map(|(kind, after)| (kind.to_owned(), after.clone())));
    assert_eq!((moves[0]["actor"]["login"].as_str(), moves[0]["ref"].as_str()), (Some("ada"), Some("refs/heads/work")));
    let (_, merged) = stage.get(&token, "/repos/ada/site/activity?ref=main&per_page=1").await;
    assert_eq!(told(&merged)[0].0, "pr_merge");

    // The cursor keeps the branch that was asked for.
    let url = format!("{}/repos/ada/site/activity?ref=refs/heads/work&per_page=2", stage.twin.api_url());
    let answer = stage.http.get(url).bearer_auth(&token).send().await.unwrap();
    let link = answer.headers()["link"].to_str().unwrap().to_owned();
    let next = link.strip_prefix('<').and_then(|link| link.split_once('>')).unwrap().0;
    let rest: Value = stage.http.get(next).bearer_auth(&token).send().await.unwrap().json().await.unwrap();
    assert_eq!(told(&rest), [("branch_creation".to_owned(), first)]);
}
