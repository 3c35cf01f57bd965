use proptest::prelude::*;

use super::super::lease::{Stop, Term};
use super::wrong::WRONG;
use super::*;

const GOOD: &str = "\
wave: parsers status: live
base: 0123456789abcdef0123456789abcdef01234567

### Roster

| task | worker | branch | lease | fork-base |
|---|---|---|---|---|
| dates | worker-1 | wave/dates | 2h since 2026-03-01T10:00:00Z | 0123456 |
| zones | worker-2 | wave/zones | until 2026-03-01T12:00:00Z | pending |
";

fn told(problems: &[Problem]) -> Vec<String> {
    let field = |field: Field| serde_json::to_value(field).unwrap().as_str().unwrap().to_owned();
    problems.iter().map(|one| format!("{} {}: {} {}", one.line, field(one.field), one.says, one.next)).collect()
}

#[test]
fn every_wrong_shape_is_told_with_its_line_its_field_and_what_to_do() {
    let mut wrong = Vec::new();
    for (nth, (from, to, says)) in WRONG.iter().enumerate() {
        assert_eq!(GOOD.matches(from).count().min(1), 1, "case {nth} bends nothing: {from:?}");
        let text = GOOD.replacen(from, to, 1);
        let found = match read(text.as_bytes()) {
            Ok(_) => vec!["it was read".to_owned()],
            Err(problems) => told(&problems),
        };
        if found != *says {
            wrong.push(format!("CASE {nth} {}", serde_json::to_string(&found).unwrap()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(WRONG.len() >= 80, "{}", WRONG.len());
}

fn good() -> Ledger {
    read(GOOD.as_bytes()).unwrap()
}

/// Without what only says where it stood.
fn bare(mut ledger: Ledger) -> Ledger {
    ledger.base_line = 0;
    ledger.rows.iter_mut().for_each(|row| row.line = 0);
    ledger.notes.iter_mut().for_each(|note| note.line = 0);
    ledger
}

#[test]
fn the_good_one_is_read_to_the_last_cell_and_comes_back() {
    let ledger = good();
    assert_eq!((ledger.name.as_str(), ledger.status, ledger.base_line), ("parsers", Status::Live, 2));
    let [dates, zones] = ledger.rows.as_slice() else { panic!("{:?}", ledger.rows) };
    assert_eq!((dates.task.as_str(), dates.branch.as_str(), dates.line, zones.line), ("dates", "wave/dates", 8, 9));
    assert_eq!(dates.lease.ends(), "2026-03-01T12:00:00Z".parse().ok());
    assert_eq!(zones.fork_base, Echo::Pending { pool: false });
    assert_eq!(ledger.write(), GOOD);
}

#[test]
fn spacing_case_line_ends_and_decoration_have_no_meaning() {
    let bent: [(&str, String); 12] = [
        ("Windows", GOOD.replace('\n', "\r\n")),
        ("a byte order mark", format!("\u{feff}{GOOD}")),
        ("no last line end", GOOD.trim_end().to_owned()),
        ("blank lines", format!("\n\n{GOOD}\n\n").replace("base:", "\n\nbase:")),
        (
            "spaces",
            GOOD.replace("wave: parsers status: live", "  wave:parsers   status:live  ").replace("base: ", "base:\t"),
        ),
        (
            "no outer borders",
            GOOD.replace("| dates", "dates").replace("0123456 |", "0123456").replace("| task", "task"),
        ),
        ("alignment", GOOD.replace("|---|---|---|---|---|", "| :--- | ---: | :---: | - | -------- |")),
        ("wide cells", GOOD.replace("| dates |", "|     dates     |").replace("2h since", "2h   since")),
        (
            "case",
            GOOD.replace("wave: ", "Wave: ")
                .replace("live", "LIVE")
                .replace("base", "BASE")
                .replace("Roster", "ROSTER"),
        ),
        ("another level", GOOD.replace("### Roster", "# roster ###")),
        (
            "code",
            GOOD.replace("wave/dates", "`wave/dates`")
                .replace("| 0123456 |", "| `0123456` |")
                .replace("pending", "PENDING"),
        ),
        ("an indented table", GOOD.replace("\n|", "\n   |")),
    ];
    for (what, text) in bent {
        let read = read(text.as_bytes()).map(bare).map_err(|problems| told(&problems));
        assert_eq!(read, Ok(bare(good())), "{what}");
    }
    let zone = GOOD.replace("T10:00:00Z", "t12:00:00.000+02:00").replace("2h", "1H60M");
    assert_eq!(bare(read(zone.as_bytes()).unwrap()), bare(good()), "the same moment, the same term");
}

#[test]
fn each_state_of_a_row_has_its_words() {
    use super::super::lease::State;
    let now = "2026-03-01T11:00:00Z".parse().unwrap();
    for (cell, state, written) in [
        ("2h since 2026-03-01T10:00:00Z", State::Held, "2h since 2026-03-01T10:00:00Z"),
        ("1h since 2026-03-01T10:00:00Z", State::Ready, "1h since 2026-03-01T10:00:00Z"),
        ("90m since 2026-03-01T10:00:00+00:00", State::Held, "1h30m since 2026-03-01T10:00:00Z"),
        ("until 2026-03-01T11:00:00Z", State::Ready, "until 2026-03-01T11:00:00Z"),
        ("UNTIL 2026-03-01T11:00:01Z", State::Held, "until 2026-03-01T11:00:01Z"),
        ("Released", State::Ready, "released"),
        ("done 0123ABC", State::Done, "done 0123abc"),
        ("stopped hard-stop", State::Stopped, "stopped HARD-STOP"),
        ("stopped ESCALATE", State::Stopped, "stopped ESCALATE"),
    ] {
        let lease = Lease::parse(cell).unwrap();
        assert_eq!((lease.state(now), lease.to_string().as_str()), (state, written), "{cell}");
    }
    let nobody = GOOD.replace("worker-2", "-");
    assert_eq!(read(nobody.as_bytes()).unwrap_err().len(), 1);
    for cell in ["released", "stopped ESCALATE"] {
        let text = nobody.replace("until 2026-03-01T12:00:00Z", cell);
        assert_eq!(read(text.as_bytes()).unwrap().rows[1].worker, None);
    }
}

#[test]
fn it_is_bounded() {
    let problems = |text: &[u8]| told(&read(text).unwrap_err());
    let long = problems(&[b'x'; LARGEST + 1]);
    assert_eq!(long.len(), 1);
    assert!(long[0].starts_with("1 file: It has 262145 bytes; a wave's ledger has at most 262144."), "{long:?}");
    assert_eq!(
        problems(b"wave: a status: live\n\xff"),
        ["2 file: It is no UTF-8 text from here on. Save the file as UTF-8."]
    );
    let notes = format!("{GOOD}{}", "x\n".repeat(100_000));
    let told = problems(notes.as_bytes());
    assert_eq!(told.len(), MOST_PROBLEMS + 1);
    assert!(told[MOST_PROBLEMS].contains("And 99950 more problems."), "{}", told[MOST_PROBLEMS]);
    let rows = |count: usize| -> String {
        let rows = (0..count).map(|n| format!("| t{n} | w{n} | b{n} | released | - |\n"));
        GOOD.lines().take(7).map(|line| format!("{line}\n")).chain(rows).collect()
    };
    assert_eq!(read(rows(MOST_ROWS).as_bytes()).unwrap().rows.len(), MOST_ROWS);
    assert_eq!(
        problems(rows(3_000).as_bytes()),
        ["208 roster: The roster has more than 200 rows. Make several waves of it, one after the other."]
    );
}

#[test]
fn a_note_is_read_where_it_stands_and_speaks_of_a_task() {
    let with = |note: &str| GOOD.replace("\n\n### Roster", &format!("\n{note}\n\n### Roster"));
    let ledger = read(with("stopped: dates 0123456\nEarly:  zones  89ABCDEF").as_bytes()).unwrap();
    let told: Vec<(NoteKind, &str, &str, u32)> =
        ledger.notes.iter().map(|note| (note.kind, note.task.as_str(), note.commit.as_str(), note.line)).collect();
    assert_eq!(told, [(NoteKind::Stopped, "dates", "0123456", 3), (NoteKind::Early, "zones", "89abcdef", 4)]);
    assert_eq!(ledger.write(), with("stopped: dates 0123456\nearly: zones 89abcdef"));
    for (note, says) in [
        ("stopped: dates", "The note is `dates`."),
        ("stopped: dates HEAD", "The note is `dates HEAD`."),
        ("stopped: dates 0123456 and more", "The note is `dates 0123456 and more`."),
        ("stopped: none 0123456", "The note is of `none`, which is no task of the roster."),
    ] {
        let problems = read(with(note).as_bytes()).unwrap_err();
        assert_eq!((problems.len(), problems[0].line, problems[0].says.as_str()), (1, 3, says), "{note}");
    }
    let below = GOOD.replace("| zones", "stopped: dates 0123456\n| zones");
    assert_eq!(read(below.as_bytes()).unwrap_err()[0].says, "A note stands below the roster of line 4.");
    let many = read(with(&"stopped: dates 0123456\n".repeat(1_000)).as_bytes()).unwrap_err();
    assert_eq!(many[0].says, "There are more than 400 notes.");
}

#[test]
fn the_branch_that_a_wave_goes_into_is_read_where_it_stands() {
    let with = |line: &str| GOOD.replace("\n\n### Roster", &format!("\n{line}\n\n### Roster"));
    let ledger = read(with("Into:  `release/1`\nleft: dates 0123456").as_bytes()).unwrap();
    assert_eq!((ledger.into.as_ref().unwrap().as_str(), ledger.notes[0].kind), ("release/1", NoteKind::Left));
    assert_eq!(ledger.write(), with("into: release/1\nleft: dates 0123456"));
    assert_eq!(read(GOOD.as_bytes()).unwrap().into, None);
    for (line, says) in [
        ("into: a..b", "The branch is `a..b`: git allows no `..` and no `@{` in it."),
        ("into:", "The branch is (nothing): there is none."),
        ("into: a\ninto: a", "`into:` stands twice, or not where it belongs."),
    ] {
        let problems = read(with(line).as_bytes()).unwrap_err();
        assert_eq!((problems.len(), problems[0].says.as_str()), (1, says), "{line}");
    }
    let below = GOOD.replace("| zones", "into: main\n| zones");
    assert_eq!(read(below.as_bytes()).unwrap_err()[0].says, "`into:` stands twice, or not where it belongs.");
    // A row may be called so, with borders and without the first.
    let row = GOOD.replace("| dates |", "into |");
    assert_eq!(read(row.as_bytes()).unwrap().rows[0].task.as_str(), "into");
}

#[test]
fn what_is_hostile_is_read_to_its_end() {
    for piece in
        ["|", "\\|", "`", "#", "wave: ", "status:", "base:", "| a | b | c | d | e |\n", "a/", "\n|", "\r\n", "-", "é"]
    {
        let text = piece.repeat((LARGEST - GOOD.len()) / piece.len());
        let behind = format!("{GOOD}{text}");
        assert!(read(text.as_bytes()).is_err(), "{piece}");
        // Blank lines behind it are fine.
        assert_eq!(read(behind.as_bytes()).is_ok(), piece.trim().is_empty(), "{piece}");
    }
}

fn lease() -> impl Strategy<Value = Lease> {
    let moment = (1_600_000_000_i64..4_000_000_000).prop_map(|at| jiff::Timestamp::from_second(at).unwrap());
    let term = (60_u32..=604_800).prop_map(|seconds| Term::parse(&format!("{seconds}s")).unwrap());
    prop_oneof![
        (moment.clone(), term).prop_map(|(at, term)| Lease::Since { at, term }),
        moment.prop_map(Lease::Until),
        Just(Lease::Released),
        "[0-9a-f]{7,40}".prop_map(|text| Lease::Done(Digits::parse(&text).unwrap())),
        Just(Lease::Stopped(Stop::HardStop)),
        Just(Lease::Stopped(Stop::Escalate)),
    ]
}

fn echo() -> impl Strategy<Value = Echo> {
    prop_oneof![
        Just(Echo::Missing),
        any::<bool>().prop_map(|pool| Echo::Pending { pool }),
        "[0-9a-f]{7,40}".prop_map(|text| Echo::Fresh(Digits::parse(&text).unwrap())),
        "[0-9a-f]{7,40}".prop_map(|text| Echo::Synced(Digits::parse(&text).unwrap())),
    ]
}

prop_compose! {
    fn any_ledger()(
        name in "[A-Za-z0-9][A-Za-z0-9._-]{0,20}",
        merging: bool,
        base in "[0-9a-f]{7,40}",
        cells in proptest::collection::vec(("[A-Za-z0-9._-]{0,6}", "[A-Za-z0-9@/]{0,6}", "[a-zé#!]{1,6}(/[a-z]{1,5})?", lease(), echo(), any::<bool>()), 1..20),
        remembered in proptest::collection::vec((any::<prop::sample::Index>(), any::<bool>(), "[0-9a-f]{7,40}"), 0..4),
    ) -> Ledger {
        let mut rows = Vec::new();
        for (nth, (task, worker, branch, lease, fork_base, nobody)) in cells.into_iter().enumerate() {
            // Different from all the others, whatever was drawn.
            let task = TaskId::parse(&format!("t{nth}{}", task.trim_end_matches('.'))).unwrap();
            let worker = Worker::parse(&format!("w{nth}-{worker}")).unwrap();
            let branch = Branch::parse(&format!("b{nth}-{branch}")).unwrap();
            let worker = Some(worker).filter(|_| !(nobody && matches!(lease, Lease::Released | Lease::Stopped(_))));
            rows.push(Row { task, worker, branch, lease, fork_base, line: 0 });
        }
        // `t1` and `t11` may end alike.
        let mut seen = std::collections::BTreeSet::new();
        rows.retain(|row| seen.insert(row.task.as_str().to_lowercase()));
        let status = if merging { Status::Merging } else { Status::Live };
        let note = |(row, early, digits): (prop::sample::Index, bool, String)| Note {
            kind: if early { NoteKind::Early } else { NoteKind::Left },
            task: rows[row.index(rows.len())].task.clone(),
            commit: Digits::parse(&digits).unwrap(),
            line: 0,
        };
        let notes = remembered.into_iter().map(note).collect();
        Ledger { name: WaveName::parse(&name).unwrap(), status, base: Digits::parse(&base).unwrap(), base_line: 0, into: merging.then(|| Branch::parse("release/1").unwrap()), notes, rows }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(ledger in any_ledger()) {
        let text = ledger.write();
        let again = read(text.as_bytes()).map_err(|problems| TestCaseError::fail(format!("{:?}\n{text}", told(&problems))))?;
        prop_assert_eq!(again.write(), text);
        prop_assert_eq!(bare(again), ledger);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>) {
        let _ = read(&bytes);
    }

    #[test]
    fn no_change_makes_it_panic_and_none_is_half_read(
        ledger in any_ledger(),
        at: prop::sample::Index,
        gone in 0_usize..6,
        put in prop_oneof![".{0,4}", "[|\\\\`#: \\-\r\n]{0,4}", "wave:|base:|status:|### Roster\n|\\| a \\|"],
    ) {
        let text: Vec<char> = ledger.write().chars().collect();
        let at = at.index(text.len());
        let bent: String = text[..at].iter().copied().chain(put.chars()).chain(text[(at + gone).min(text.len())..].iter().copied()).collect();
        match read(bent.as_bytes()) {
            Ok(read) => prop_assert_eq!(bare(super::read(read.write().as_bytes()).unwrap()), bare(read)),
            Err(problems) => {
                let lines = u32::try_from(bent.split('\n').count()).unwrap();
                prop_assert!(!problems.is_empty());
                prop_assert!(problems.iter().all(|one| (1..=lines).contains(&one.line) && !one.says.is_empty() && !one.next.is_empty()));
                prop_assert!(problems.is_sorted_by_key(|one| one.line));
            }
        }
    }

    #[test]
    fn a_branch_is_what_git_takes_for_one(name in "[a-z./@{}~^:?*\\[\\\\ -]{0,8}|(HEAD|@|a\\.lock|refs/heads/a|-a|é|a/b\\.lock)") {
        let gits = git2::Branch::name_is_valid(&name).unwrap() && !name.starts_with("refs/") && name != "@";
        prop_assert_eq!(Branch::parse(&name).is_ok(), gits, "{:?}", name);
    }

    #[test]
    fn a_moment_is_read_where_it_is_one(text in "[0-9]{4}-[01][0-9]-[0-3][0-9][Tt ][0-2][0-9]:[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,3})?(Z|z|[+-][01][0-9]:[0-5][0-9]|)") {
        let read = super::super::lease::moment(&text);
        let fine = !text.contains(' ') && (text.ends_with(['Z', 'z']) || text.get(text.len() - 6..).is_some_and(|zone| zone.starts_with(['+', '-'])));
        prop_assert_eq!(read, text.parse::<jiff::Timestamp>().ok().filter(|_| fine));
    }
}
