use super::*;

const DAY: Duration = Duration::from_secs(24 * 3600);

both! {
    async fn the_list_shows_each_state_newest_first(bench: Bench) {
        bench.arrives("done", "a").await;
        bench.inbox.complete(&bench.claims_something().await).await.unwrap();
        bench.arrives("dead", "a").await;
        bench.inbox.bury(&bench.claims_something().await, "no hope").await.unwrap();
        bench.arrives("parked", "b").await;
        bench.inbox.retry(&bench.claims_something().await, "not now", None).await.unwrap();
        bench.arrives("running", "c").await;
        let running = bench.claims_something().await;
        bench.later(Duration::from_secs(2));
        bench.arrives("ready", "c").await;

        let all = bench.inbox.list(&Filter::default()).await.unwrap();
        let shown: Vec<_> = all.iter().map(|entry| (entry.guid.as_str(), entry.state.as_str())).collect();
        let names = ["ready", "running", "parked", "dead", "done"];
        assert_eq!(shown, names.map(|name| (name, name)));
        assert_eq!(all[2].error.as_deref(), Some("not now"));
        assert_eq!(all[4].done_at, Some(all[4].received_at));
        assert_eq!(all[4].meta["x-github-event"], "pull_request");
        for state in [State::Ready, State::Running, State::Parked, State::Dead, State::Done] {
            let some = bench.inbox.list(&Filter { state: Some(state), ..Filter::default() }).await.unwrap();
            assert_eq!(some.iter().map(|entry| entry.guid.as_str()).collect::<Vec<_>>(), [state.as_str()]);
        }
        let of_key = Filter { key: Some("c".to_owned()), repo: Some(RepoId(u64::MAX)), ..Filter::default() };
        assert_eq!(bench.inbox.list(&of_key).await.unwrap().len(), 2);
        let of_repo = Filter { repo: Some(RepoId(1)), ..Filter::default() };
        assert_eq!(bench.inbox.list(&of_repo).await.unwrap(), []);
        let page = Filter { before: Some(all[1].id), limit: 2, ..Filter::default() };
        assert_eq!(bench.inbox.list(&page).await.unwrap(), all[2..4]);

        let stats = bench.inbox.stats().await.unwrap();
        assert_eq!(stats, Stats { ready: 1, running: 1, parked: 1, dead: 1, oldest: Duration::from_secs(2) });
        bench.later(MINUTE);
        let stats = bench.inbox.stats().await.unwrap();
        assert_eq!((stats.ready, stats.running), (3, 0), "the lease and the back-off are over");
        bench.inbox.complete(&running).await.unwrap();
    }

    async fn what_waits_in_back_off_grows_old_too(bench: Bench) {
        bench.arrives("parked", "a").await;
        bench.inbox.retry(&bench.claims_something().await, "not now", None).await.unwrap();
        bench.later(Duration::from_secs(2));
        let stats = bench.inbox.stats().await.unwrap();
        assert_eq!(stats, Stats { parked: 1, oldest: Duration::from_secs(2), ..Stats::default() });
        bench.later(MINUTE);
        bench.inbox.bury(&bench.claims_something().await, "no").await.unwrap();
        assert_eq!(bench.inbox.stats().await.unwrap(), Stats { dead: 1, ..Stats::default() }, "the dead wait for nothing");
    }

    async fn the_timer_of_a_lease_is_no_work_that_waits(bench: Bench) {
        bench.arrives("timer", "7/lease-42").await;
        let soon = bench.inbox.now() + MINUTE;
        bench.inbox.postpone(&bench.claims_something().await, "not yet", soon).await.unwrap();
        assert_eq!(bench.inbox.stats().await.unwrap(), Stats::default());
        bench.later(MINUTE);
        assert_eq!(bench.inbox.stats().await.unwrap().ready, 1, "it is due");
    }

    async fn a_guid_is_known_whatever_became_of_it(bench: Bench) {
        bench.arrives("done", "a").await;
        bench.inbox.complete(&bench.claims_something().await).await.unwrap();
        bench.arrives("dead", "a").await;
        bench.inbox.bury(&bench.claims_something().await, "no").await.unwrap();
        bench.arrives("waits", "a").await;
        let known = bench.inbox.known(["waits", "never", "dead", "done"].into_iter()).await.unwrap();
        assert_eq!(known.into_iter().collect::<Vec<_>>(), ["dead", "done", "waits"]);
    }

    async fn what_is_done_is_remembered_for_a_week(bench: Bench) {
        bench.arrives("old", "a").await;
        bench.inbox.complete(&bench.claims_something().await).await.unwrap();
        bench.arrives("dead", "a").await;
        bench.inbox.bury(&bench.claims_something().await, "no").await.unwrap();
        bench.arrives("waits", "a").await;
        bench.inbox.cache_put("n", "k", b"old").await.unwrap();
        bench.later(7 * DAY);
        assert_eq!(bench.inbox.prune(Duration::ZERO).await.unwrap(), 0);
        assert_eq!(bench.inbox.put(&fact("old", "a")).await.unwrap(), Put::Duplicate);
        bench.later(Duration::from_millis(1));
        assert_eq!(bench.inbox.prune(30 * DAY).await.unwrap(), 0);
        assert_eq!(bench.inbox.prune(Duration::ZERO).await.unwrap(), 1);
        let left = bench.inbox.list(&Filter::default()).await.unwrap();
        assert_eq!(left.iter().map(|entry| entry.guid.as_str()).collect::<Vec<_>>(), ["waits", "dead"]);
        assert_eq!(bench.inbox.cache_get("n", "k").await.unwrap().as_deref(), Some(&b"old"[..]));
    }

    async fn much_that_is_done_is_forgotten_in_parts(bench: Bench) {
        let all: Vec<_> = (0..=MOST_PRUNED).map(|n| fact(&n.to_string(), &(n % 16).to_string())).collect();
        bench.arrives("parent", "a").await;
        bench.inbox.complete_with(&bench.claims_something().await, &all, &[]).await.unwrap();
        while let Some(batch) = bench.claims().await {
            bench.inbox.complete(&batch).await.unwrap();
        }
        bench.later(8 * DAY);
        assert_eq!(bench.inbox.prune(Duration::ZERO).await.unwrap(), MOST_PRUNED);
        assert_eq!(bench.inbox.prune(Duration::ZERO).await.unwrap(), 2);
    }

    async fn a_dead_letter_that_is_delivered_again_lives_again(bench: Bench) {
        bench.arrives("done", "a").await;
        bench.inbox.complete(&bench.claims_something().await).await.unwrap();
        bench.arrives("dead", "a").await;
        bench.inbox.bury(&bench.claims_something().await, "no").await.unwrap();
        for (guid, lives) in [("done", false), ("never", false), ("dead", true), ("dead", false)] {
            assert_eq!(bench.inbox.revive(&fact(guid, "a")).await.unwrap(), lives, "{guid}");
        }
        let batch = bench.claims_something().await;
        assert_eq!((guids(&batch), batch.items[0].attempt), (vec!["dead"], 1));
        bench.inbox.complete(&batch).await.unwrap();
        // GitHub knows only what it sent, and not what followed from it.
        bench.arrives("done/2", "b").await;
        bench.inbox.bury(&bench.claims_something().await, "no").await.unwrap();
        for (guid, lives) in [("don_", false), ("don", false), ("%", false), ("done", true), ("done", false)] {
            assert_eq!(bench.inbox.revive(&fact(guid, "a")).await.unwrap(), lives, "{guid}");
        }
        assert_eq!(guids(&bench.claims_something().await), ["done/2"]);
    }

    async fn a_dead_letter_that_nobody_could_read_is_what_came_the_second_time(bench: Bench) {
        bench.stored(&Delivery { payload: b"broken".to_vec(), ..fact("one", "broken/one") }).await;
        bench.inbox.bury(&bench.claims_something().await, "it is no JSON").await.unwrap();
        let again = Delivery { barrier: true, meta: json!({ "kept": "fact" }), ..fact("one", "a") };
        assert!(bench.inbox.revive(&again).await.unwrap());
        let batch = bench.claims_something().await;
        let item = &batch.items[0];
        assert_eq!((batch.key.as_str(), &item.payload, &item.meta), ("a", &again.payload, &again.meta));
    }

    async fn the_cache_keeps_bytes_until_told_otherwise(bench: Bench) {
        let inbox = &bench.inbox;
        assert_eq!(inbox.cache_get("surface", "k").await.unwrap(), None);
        inbox.cache_put("surface", "k", b"one").await.unwrap();
        inbox.cache_put("surface", "k", b"\0\xfftwo").await.unwrap();
        inbox.cache_put("fold", "k", b"other").await.unwrap();
        assert_eq!(inbox.cache_get("surface", "k").await.unwrap().as_deref(), Some(&b"\0\xfftwo"[..]));
        inbox.cache_put("surface", "a", b"first").await.unwrap();
        let all = inbox.cache_all("surface").await.unwrap();
        assert_eq!(all, [("a".to_owned(), b"first".to_vec()), ("k".to_owned(), b"\0\xfftwo".to_vec())]);
        assert!(inbox.cache_delete("surface", "k").await.unwrap());
        assert!(!inbox.cache_delete("surface", "k").await.unwrap());
        assert_eq!(inbox.cache_clear("fold").await.unwrap(), 1);
        assert_eq!(inbox.cache_get("fold", "k").await.unwrap(), None);
    }

    async fn a_delivery_without_a_name_is_refused(bench: Bench) {
        for (bad, what) in [
            (fact("", "k"), "guid"),
            (fact(&"g".repeat(513), "k"), "guid"),
            (fact("g", "a\0b"), "key"),
            (Delivery { event: String::new(), ..fact("g", "k") }, "event"),
        ] {
            let refused = bench.inbox.put(&bad).await;
            assert!(matches!(refused, Err(InboxError::Malformed(field)) if field == what), "{refused:?}");
        }
        assert_eq!(bench.inbox.stats().await.unwrap(), Stats::default());
    }

    async fn many_processes_may_start_at_once_on_an_old_or_a_new_database(bench: Bench) {
        bench.arrives("before", "k").await;
        // An old database, and one that nobody has seen before.
        let fresh = match &bench.schema {
            Some((server, schema)) => {
                admin(server, format!("create schema {schema}_new")).await;
                bench.url.replace(schema, &format!("{schema}_new"))
            }
            None => format!("{}-new", bench.url),
        };
        for url in [bench.url.clone(), fresh] {
            let mut starts = tokio::task::JoinSet::new();
            // Connecting takes longer than making tables: the line-up lets them all begin that at once.
            let line_up = Arc::new(tokio::sync::Barrier::new(8));
            for _ in 0..8 {
                let (url, line_up) = (url.clone(), line_up.clone());
                starts.spawn(async move {
                    let db = Db::open(&url).await;
                    line_up.wait().await;
                    let db = db.unwrap();
                    schema::migrate(&db).await.unwrap();
                    db.close().await;
                });
            }
            while let Some(started) = starts.join_next().await {
                started.unwrap();
            }
            let inbox = Inbox::open(&url).await.unwrap();
            inbox.put(&fact("after", "k")).await.unwrap();
            inbox.close().await;
        }
        assert_eq!(bench.inbox.stats().await.unwrap().ready, 2);
        if let Some((server, schema)) = &bench.schema {
            admin(server, format!("drop schema {schema}_new cascade")).await;
        }
    }

    async fn a_database_of_a_newer_version_is_left_alone(bench: Bench) {
        let mut tx = bench.inbox.db.begin().await.unwrap();
        tx.run("insert into inbox_schema (version) values ($1)", args![99]).await.unwrap();
        tx.commit().await.unwrap();
        let refused = Inbox::open(&bench.url).await;
        assert!(matches!(refused, Err(InboxError::Newer { found: 99, .. })), "{refused:?}");
    }
}

#[tokio::test]
async fn what_is_put_into_a_file_is_there_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a plain path.db");
    let inbox = Inbox::open(path.to_str().unwrap()).await.unwrap();
    inbox.put(&fact("g", "k")).await.unwrap();
    let mut tx = inbox.db.read().await.unwrap();
    let mode = tx.row("pragma journal_mode", args![]).await.unwrap().unwrap().text(0).unwrap();
    let sync = tx.row("pragma synchronous", args![]).await.unwrap().unwrap().int(0).unwrap();
    drop(tx);
    assert_eq!((mode.as_str(), sync), ("wal", 2), "WAL, and FULL is 2");
    // No close: a crash does not close either.
    drop(inbox);
    let inbox = Inbox::open(path.to_str().unwrap()).await.unwrap();
    assert_eq!(inbox.put(&fact("g", "k")).await.unwrap(), Put::Duplicate);
}

#[tokio::test]
async fn an_inbox_in_memory_works_as_long_as_it_lives() {
    let inbox = Inbox::open("sqlite::memory:").await.unwrap();
    let other = Inbox::open("sqlite::memory:").await.unwrap();
    inbox.put(&fact("g", "k")).await.unwrap();
    let mut puts = tokio::task::JoinSet::new();
    for n in 0..10 {
        let inbox = inbox.clone();
        puts.spawn(async move { inbox.put(&fact(&format!("g{n}"), "k")).await.unwrap() });
    }
    puts.join_all().await;
    assert_eq!(inbox.stats().await.unwrap().ready, 11);
    assert_eq!(other.stats().await.unwrap().ready, 0);
}

/// The whole of what an error could print.
fn everything(err: &InboxError) -> String {
    let mut text = format!("{err} {err:?} {err:#?}");
    let mut source = std::error::Error::source(err);
    while let Some(cause) = source {
        text.push_str(&format!(" {cause} {cause:?}"));
        source = cause.source();
    }
    text
}

#[tokio::test]
async fn no_error_repeats_the_password() {
    // Something that answers, but is no PostgreSQL.
    let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = server.local_addr().unwrap();
    tokio::spawn(async move {
        use tokio::io::AsyncWriteExt as _;
        while let Ok((mut socket, _)) = server.accept().await {
            let _ = socket.write_all(b"???").await;
        }
    });
    let dir = tempfile::tempdir().unwrap();
    for url in [
        &format!("postgres://bot:hunter2@{at}/phasegate"),
        &format!("postgresql://{at}/db?user=bot&password=hunter2"),
        "postgres://bot:hunter2@[bad/phasegate",
        "postgres://bot:hunter2@127.0.0.1:notaport/phasegate",
        "postgres://bot:hunter2@127.0.0.1:1/db?sslmode=hunter2",
        "mysql://bot:hunter2@localhost/phasegate",
        "sqlite:",
        "sqlite:file.db?mode=hunter2",
        "",
        &format!("{}/missing/inbox.db", dir.path().display()),
    ] {
        let text = everything(&Inbox::open(url).await.unwrap_err());
        assert!(!text.contains("hunter2"), "{text}");
    }
}

/// What a person sees of it.
fn told(err: InboxError) -> String {
    format!("{:#}", anyhow::Error::new(err))
}

#[tokio::test]
async fn a_database_that_is_not_there_is_named_with_what_to_check() {
    // A port that was free a moment ago has nobody on it.
    let at = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let text = told(Inbox::open(&format!("postgres://bot:hunter2@{at}/phasegate")).await.unwrap_err());
    for part in [&format!("the database phasegate of PostgreSQL at {at}"), "refused", "DATABASE_URL"] {
        assert!(text.contains(part), "{part} is missing in: {text}");
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("missing/inbox.db").display().to_string();
    let text = told(Inbox::open(&file).await.unwrap_err());
    assert!(text.contains(&file) && text.contains("DATABASE_URL"), "{text}");
}

#[tokio::test]
async fn a_server_without_that_database_is_told_from_one_that_is_not_there() {
    let bench = Bench::postgres().await;
    let (server, _) = bench.schema.clone().unwrap();
    let (front, _) = server.rsplit_once('/').unwrap();
    let text = told(Inbox::open(&format!("{front}/nodb")).await.unwrap_err());
    assert!(text.contains("the database nodb of PostgreSQL at"), "{text}");
    assert!(text.contains("database \"nodb\" does not exist") && !text.contains("line"), "{text}");
    bench.clear_away().await;
}

#[tokio::test]
async fn a_wrong_password_is_refused_without_repeating_it() {
    let bench = Bench::postgres().await;
    let (before, host) = bench.url.split_once('@').unwrap();
    let (before, _) = before.rsplit_once(':').unwrap();
    let text = everything(&Inbox::open(&format!("{before}:hunter2@{host}")).await.unwrap_err());
    assert!(text.contains("password authentication failed") && !text.contains("hunter2"), "{text}");
    bench.clear_away().await;
}

#[cfg(unix)]
#[tokio::test]
async fn nobody_else_reads_the_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("inbox.db");
    let inbox = Inbox::open(&format!("sqlite:{}", file.display())).await.unwrap();
    let mut files = 0;
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{} has {mode:o}", entry.path().display());
        files += 1;
    }
    assert!(files > 1, "there is no log beside it");
    drop(inbox);
}
