use super::*;

fn runs() -> Runs {
    Runs {
        program: "/bin/true".into(),
        repositories: "octo-org/*, Eve/Lamp".parse().unwrap(),
        at_once: 1,
        limit: Duration::from_secs(5),
        reads: vec!["/srv/fixtures".into()],
        network: false,
        hides: Vec::new(),
        environment: vec![("PATH".into(), std::env::var_os("PATH").unwrap_or_default())],
    }
}

fn policy(keys: &str) -> Policy {
    let text = format!("gates: {{ verify: {{ from: [runner], run: [make], reports: [out.xml]{keys} }} }}");
    policy::parse(text.as_bytes()).unwrap()
}

#[test]
fn repositories_are_named_one_by_one_by_their_owner_or_all() {
    let has = |names: &str, slug: &str| names.parse::<Repositories>().unwrap().has(&slug.parse().unwrap());
    let named = "octo-org/*, Eve/Lamp";
    assert!(has(named, "octo-org/lamp") && has(named, "Octo-Org/Other") && has(named, "eve/lamp"));
    assert!(!has(named, "eve/other") && !has(named, "octo-org-2/lamp") && !has("", "octo-org/lamp"));
    assert!(has("*", "any/thing") && !has("octo/*", "octo-org/lamp"));
    for wrong in ["octo-org", "/lamp", "octo-org/", "a/b/c", "octo-org/[lamp"] {
        assert!(wrong.parse::<Repositories>().is_err(), "{wrong}");
    }
}

#[test]
fn a_policy_gives_its_commands_no_more_than_the_host_does() {
    let wants = |keys: &str| beyond(&runs(), &policy(keys));
    assert_eq!(wants(""), None);
    assert_eq!(wants(", network: allow").as_deref(), Some("the network"));
    assert_eq!(wants(", confine: { read: [/srv/fixtures, /srv/fixtures/a] }"), None);
    assert_eq!(wants(", confine: { read: [/srv] }").as_deref(), Some("`/srv` to read"));
    assert_eq!(wants(", confine: { read: [~/.ssh] }").as_deref(), Some("`~/.ssh` to read"));
    assert_eq!(wants(", confine: { secrets: [NPM_TOKEN] }").as_deref(), Some("the secret `NPM_TOKEN`"));
    let online = Runs { network: true, ..runs() };
    assert_eq!(beyond(&online, &policy(", network: allow")), None);
}

#[test]
fn a_link_in_what_is_lent_leads_nowhere() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().canonicalize().unwrap();
    for folder in ["lent", "kept"] {
        std::fs::create_dir(place.join(folder)).unwrap();
    }
    std::os::unix::fs::symlink(place.join("kept"), place.join("lent/link")).unwrap();
    let lends = Runs { reads: vec![place.join("lent")], ..runs() };
    let wants = |path: &str| beyond(&lends, &policy(&format!(", confine: {{ read: [{}/{path}] }}", place.display())));
    assert_eq!(wants("lent"), None);
    assert!(wants("lent/link").is_some() && wants("kept").is_some());
}

#[test]
fn what_a_dead_server_left_is_cleared_away_and_not_what_a_living_one_has() {
    let data = tempfile::tempdir().unwrap();
    let all = data.path().join("runs");
    std::fs::create_dir_all(all.join("dead/5/phasegate-x")).unwrap();
    std::fs::write(all.join("dead").join(ALIVE), "").unwrap();
    std::fs::create_dir_all(all.join("older")).unwrap();
    let names = || {
        let mut names: Vec<_> = all.read_dir().unwrap().map(|one| one.unwrap().path()).collect();
        names.sort();
        names
    };
    let first = Runner::new(runs(), data.path(), CancellationToken::new()).unwrap();
    assert_eq!(names(), std::slice::from_ref(&first.folder));
    let second = Runner::new(runs(), data.path(), CancellationToken::new()).unwrap();
    assert_eq!(names().len(), 2, "the first one lives");
    let kept = std::path::absolute(data.path()).unwrap();
    assert!(second.runs.hides.contains(&kept), "mirrors of other repositories lie there");
    drop(first);
    assert_eq!(names(), std::slice::from_ref(&second.folder));
}

fn order() -> Order {
    let commit = |digit: &str| crate::ids::CommitId::new(digit.repeat(40)).unwrap();
    let (base, head, law) = (commit("a"), commit("b"), commit("c"));
    Order { repository: "o/r".parse().unwrap(), change: 7, base, head, law, frozen: None, run: 5, hides: Vec::new() }
}

/// Something else in the place of this program, which is told the same.
async fn came(script: &str, limit: Duration, stop: &CancellationToken) -> Came {
    use std::os::unix::fs::PermissionsExt as _;
    let data = tempfile::tempdir().unwrap();
    let program = data.path().join("program");
    std::fs::write(&program, format!("#!/bin/sh\nout=$8\n{script}\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let runner = Runner::new(Runs { program, limit, ..runs() }, data.path(), stop.clone()).unwrap();
    let came = runner.carried_out(&order(), data.path()).await.unwrap();
    assert_eq!(runner.folder.read_dir().unwrap().count(), 1, "nothing is left but the sign of life");
    came
}

#[tokio::test]
async fn a_log_counts_where_the_process_ended_well_and_half_of_one_never() {
    let (long, goes_on) = (Duration::from_secs(60), CancellationToken::new());
    let writes = "mkdir $out; echo log > $out/execution_log.json";
    for status in [0, 1] {
        let came = came(&format!("{writes}; exit {status}"), long, &goes_on).await;
        assert!(matches!(&came, Came::Log(log) if log == b"log\n"), "{came:?}");
    }
    let cases = [
        (format!("{writes}; echo 'error: no `room`' >&2; exit 2"), "(exit status: 2): `no 'room'`"),
        (format!("{writes}; kill -9 $$"), "it said nothing"),
        (format!("{writes}; exit 130"), "exit status: 130"),
        ("exit 0".to_owned(), "has left no log"),
    ];
    for (script, says) in cases {
        let came = came(&script, long, &goes_on).await;
        assert!(matches!(&came, Came::Nothing(why) if why.contains(says)), "{script}: {came:?}");
    }
    // Its standard input ends before it is ended.
    let waits = format!("{writes}; cat > /dev/null; exit 0");
    let late = came(&waits, Duration::from_millis(50), &goes_on).await;
    assert!(matches!(&late, Came::Nothing(why) if why.contains("longer than")), "{late:?}");
    let ends = CancellationToken::new();
    ends.cancel();
    assert!(matches!(came(&waits, long, &ends).await, Came::Stopped));
}

#[tokio::test]
async fn nothing_of_the_servers_environment_is_passed_on() {
    let script = "mkdir $out; env | cut -d= -f1 | sort | tr '\\n' ' ' > $out/execution_log.json";
    let Came::Log(names) = came(script, Duration::from_secs(60), &CancellationToken::new()).await else {
        panic!("it has no log")
    };
    // What a shell sets by itself is not of ours.
    let names = String::from_utf8(names).unwrap();
    let names: Vec<&str> =
        names.split_whitespace().filter(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name)).collect();
    assert_eq!(names, ["PATH", "TMPDIR"]);
}
