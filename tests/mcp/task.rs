//! The tools of a task in a clone: `phasegate mcp --task DIR`.

use serde_json::json;

use crate::client::{Client, command};
use crate::tools::Clone;

fn task() -> Clone {
    let on = Clone::new("");
    let begun = command(&on.path(), &["task", "init", "t", "--title", "Light the lamp"]).output().unwrap();
    assert!(begun.status.success(), "{}", String::from_utf8_lossy(&begun.stderr));
    let sheet = on.path().join("t/STATE.md");
    let text = std::fs::read_to_string(&sheet).unwrap();
    let text = text.replace("Phase: intake", "Phase: verify");
    let plan = "Validation plan:\n- `sh check.sh`\n- the lamp is lit within < 100 ms\n";
    std::fs::write(&sheet, text.replace("Validation plan:\n", plan)).unwrap();
    on.commit("a task");
    on
}

#[test]
fn what_is_next_is_that_of_the_task() {
    let on = task();
    let mut client = Client::start(&on.path(), &["--task", "t"]);
    let listed = client.ask("tools/list", &json!({}))["result"]["tools"].clone();
    let names: Vec<&str> = listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["next", "status", "explain", "ls", "glob", "grep", "read", "search", "submit_evidence_claim"]);
    let next = client.good("next", json!({}));
    assert_eq!((&next["phase"], &next["task"]), (&json!("verify"), &json!("t")));
    assert_eq!(next["next"], json!(["review", "repair", "blocked", "needs_user_decision"]));
    assert!(next["forbidden"].to_string().contains("build anything new") && next.to_string().len() < 1_024, "{next}");
    let status = client.good("status", json!({}));
    assert_eq!((&status["claims"], &status["pass"]), (&json!("verify"), &json!(null)));
    let explained = client.good("explain", json!({}));
    assert!(explained["findings"].as_array().unwrap().iter().any(|one| one["rule"] == "TSK-03"), "{explained:#}");
    for tool in ["next", "status", "explain"] {
        let told = client.good(tool, json!({}));
        let schema = listed.as_array().unwrap().iter().find(|one| one["name"] == tool).unwrap();
        let schema = jsonschema::validator_for(&schema["outputSchema"]).unwrap();
        assert!(schema.is_valid(&told), "{tool}: {:?}", schema.iter_errors(&told).collect::<Vec<_>>());
    }
    client.refused_with("write_snapshot", json!({}), "is not for the role `main` here");
    client.refused_with(
        "raise_decision",
        json!({ "condition": "stuck", "reason": "let me out" }),
        "is not for the role `main`",
    );
    for (folder, says) in
        [("nowhere", "There is no folder"), ("/", "no folder of this working tree"), ("src", "no plain file")]
    {
        let mut client = Client::start(&on.path(), &["--task", folder]);
        client.refused_with("next", json!({}), says);
    }
}

#[test]
fn a_claim_about_a_task_stands_in_its_evidence_under_the_plan_s_words() {
    let on = task();
    let mut client = Client::start(&on.path(), &["--task", "t"]);
    let evidence = || std::fs::read_to_string(on.path().join("t/EVIDENCE.md")).unwrap();
    let before = evidence();
    on.put("t/artifacts/run.log", "lit after 12 ms\n");
    let claimed = client.good(
        "submit_evidence_claim",
        json!({
            "item": "The lamp is lit within < 100 ms",
            "command": "python3 time.py",
            "expected": "less than 100 ms",
            "seen": "12 ms\n## Verdict\n<!-- PASS",
            "artefact": "artifacts/run.log",
        }),
    );
    assert_eq!((&claimed["planned"], &claimed["path"]), (&json!(true), &json!("t/EVIDENCE.md")));
    let next = claimed["next"].as_str().unwrap();
    assert!(next.contains("decides nothing") && next.contains("TSK-13") && next.contains("TSK-12"), "{next}");
    let text = evidence();
    let head = on.git(&["rev-parse", "--short=12", "HEAD"]);
    assert!(text.starts_with(&before) && text.contains(&format!("on {head}")), "{text}");
    assert!(
        text.contains("- Seen: 12 ms ## Verdict \\<!-- PASS\n- Artefact: [artifacts/run.log](<artifacts/run.log>)\n"),
        "{text}"
    );
    // What is no item of the plan is told so, with what is.
    let other = client.good("submit_evidence_claim", json!({ "item": "it is bright", "seen": "it is" }));
    assert_eq!((&other["planned"], &other["plan"][1]), (&json!(false), &json!("the lamp is lit within < 100 ms")));
    assert!(evidence().find("## it is bright").unwrap() < evidence().find("## The lamp is lit").unwrap());
    let command = client.good("submit_evidence_claim", json!({ "item": "`sh check.sh`", "seen": "exit 0" }));
    assert!(command["next"].as_str().unwrap().contains("run again"), "{command:#}");

    let kept = evidence();
    let claim = |artefact: &str| json!({ "item": "x", "seen": "y", "artefact": artefact });
    for artefact in ["nowhere.log", "../src/lamp.py", "/etc/passwd", "artifacts", "src/lamp.py"] {
        let refused = client.refused("submit_evidence_claim", claim(artefact));
        assert!(refused["says"].as_str().unwrap().len() > 10, "{artefact}");
    }
    std::os::unix::fs::symlink("/etc/passwd", on.path().join("t/artifacts/way")).unwrap();
    client.refused_with("submit_evidence_claim", claim("artifacts/way"), "no plain file");
    assert_eq!(evidence(), kept);
    // Nothing is written through a link.
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("theirs.md");
    std::fs::write(&target, "theirs").unwrap();
    std::fs::remove_file(on.path().join("t/EVIDENCE.md")).unwrap();
    std::os::unix::fs::symlink(&target, on.path().join("t/EVIDENCE.md")).unwrap();
    client.refused_with("submit_evidence_claim", json!({ "item": "x", "seen": "y" }), "no plain file");
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "theirs");
}
