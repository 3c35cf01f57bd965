use std::time::Duration;

use proptest::prelude::*;

use super::*;

/// What these reports come to together, in a folder of that name.
fn in_folder(folder: &Path, reports: &[&str]) -> Result<String, String> {
    let mut tally = Tally::of(folder);
    for report in reports {
        tally.take(report.as_bytes())?;
    }
    Ok(tally.sum().shown())
}

fn together(reports: &[&str]) -> Result<String, String> {
    in_folder(Path::new("/no/such/copy"), reports)
}

fn cobertura(source: &str, filename: &str, lines: &str) -> String {
    format!(
        "<?xml version=\"1.0\" ?>\n<!DOCTYPE coverage SYSTEM 'http://cobertura.sourceforge.net/xml/coverage-04.dtd'>\n\
         <coverage line-rate=\"NaN\" lines-valid=\"99\"><sources><source>{source}</source></sources><packages><package><classes>\
         <class filename=\"{filename}\">{lines}</class></classes></package></packages></coverage>"
    )
}

#[test]
fn lcov_names_its_lines() {
    let report = "TN:lamp\nSF:src/lamp.c\nFN:1,main\nFNDA:3,main\nDA:1,3\nDA:2,0,checksum==\nBRDA:2,0,0,-\nLF:9\nLH:9\nend_of_record\n";
    assert_eq!(together(&[report]).unwrap(), "1 of 2 lines", "its own sums are not asked where it names lines");
    let windows = report.replace('\n', "\r\n");
    assert_eq!(together(&[&windows]).unwrap(), "1 of 2 lines");
    let two = format!("\u{feff}{report}SF:src/other.c\nDA:1,1\nend_of_record\n");
    assert_eq!(together(&[&two]).unwrap(), "2 of 3 lines");
}

#[test]
fn lcov_that_names_no_lines_is_taken_by_its_numbers() {
    let counted =
        |file: &str, lines: u64, covered: u64| format!("SF:{file}\nLF:{lines}\nLH:{covered}\nend_of_record\n");
    assert_eq!(together(&[&counted("a", 4, 1), &counted("b", 6, 6)]).unwrap(), "7 of 10 lines");
    // Of the same file it is not known whether they have reached the same.
    assert_eq!(together(&[&counted("a", 4, 1), &counted("a", 4, 3)]).unwrap(), "3 of 4 lines");
    assert_eq!(together(&[&counted("a", 40, 40), "SF:a\nDA:1,0\nDA:2,1\nend_of_record"]).unwrap(), "1 of 2 lines");
    let why = together(&[&counted("a", 4, 5)]).unwrap_err();
    assert_eq!(why, "its line 4: 5 lines are reached of 4");
    assert!(together(&[&counted("a", u64::MAX, 5)]).unwrap_err().ends_with("is too large"));
}

#[test]
fn cobertura_names_the_lines_of_classes_and_methods() {
    let lines = "<methods><method name='on'><lines><line number='1' hits='2'/></lines></method></methods>\
                 <lines><line number='1' hits='2'/><line number='2' hits='0' branch='true'/></lines>";
    assert_eq!(together(&[&cobertura("", "lamp.py", lines)]).unwrap(), "1 of 2 lines");
    let elsewhere = "<coverage><lines><line number='1' hits='2'/></lines></coverage>";
    assert_eq!(together(&[elsewhere]).unwrap(), "0 of 0 lines");
    let wide: Vec<u8> = cobertura("", "lamp.py", lines).encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut tally = Tally::of(Path::new("/"));
    tally.take(&[&[0xff, 0xfe], wide.as_slice()].concat()).unwrap();
    assert_eq!(tally.sum().shown(), "1 of 2 lines");
}

#[test]
fn a_line_counts_once_however_many_reports_name_it() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("src/pkg")).unwrap();
    std::fs::write(dir.path().join("src/pkg/lamp.py"), "").unwrap();
    let here = dir.path().display().to_string();
    let lcov = |file: &str, first: u8, second: u8| format!("SF:{file}\nDA:1,{first}\nDA:2,{second}\nend_of_record\n");
    let all = [
        lcov("src/pkg/lamp.py", 1, 0),
        lcov("./src/pkg/lamp.py", 0, 0),
        lcov(&format!("{here}/src/pkg/lamp.py"), 0, 1),
        cobertura(&format!("{here}/src"), "pkg/lamp.py", "<lines><line number='3' hits='0'/></lines>"),
        cobertura(".", "src/pkg/lamp.py", "<lines><line number='2' hits='0'/></lines>"),
        // It does not say which of its folders the file is in.
        cobertura(
            "</source><source>/usr/lib</source><source>src",
            "pkg/lamp.py",
            "<lines><line number='1' hits='0'/></lines>",
        ),
    ];
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    assert_eq!(in_folder(dir.path(), &all).unwrap(), "2 of 3 lines");
    // Files of one name in two folders are two.
    let two = ["a", "b"].map(|source| cobertura(source, "lamp.py", "<lines><line number='1' hits='1'/></lines>"));
    assert_eq!(together(&[&two[0], &two[1]]).unwrap(), "2 of 2 lines");
}

#[test]
fn what_is_no_report_is_not_guessed() {
    let line = |number: &str, hits: &str| {
        cobertura("", "a", &format!("<lines><line number='{number}' hits='{hits}'/></lines>"))
    };
    let da = |words: &str| format!("SF:a\nDA:{words}\nend_of_record\n");
    for (report, why) in [
        (String::new(), "it is neither LCOV nor Cobertura's XML"),
        ("{\"totals\": 1}".to_owned(), "it is neither LCOV nor Cobertura's XML"),
        ("<report/>".to_owned(), "it is neither LCOV nor Cobertura's XML: its root is `report`, not `coverage`"),
        ("SF:a\nDA:1,1\n".to_owned(), "it ends in the middle of a file"),
        ("SF:a\nSF:b\nend_of_record\n".to_owned(), "its line 2: a file begins before the last one has ended"),
        ("DA:1,1\n".to_owned(), "its line 1: it is of no file"),
        ("SF:a\nend_of_record\nend_of_record\n".to_owned(), "its line 3: it is of no file"),
        (da("1"), "its line 2: (nothing) is no count"),
        (da("1,-1"), "its line 2: `-1` is no count"),
        (da("1,NaN"), "its line 2: `NaN` is no count"),
        (da("1,1e9"), "its line 2: `1e9` is no count"),
        (da("-1,1"), "its line 2: `-1` is no count"),
        (da("4294967296,1"), "its line 2: `4294967296` is too large"),
        (line("1", "-1"), "`-1` is no count"),
        (line("1", "NaN"), "`NaN` is no count"),
        (line("1.5", "1"), "`1.5` is no count"),
        (line("99999999999999999999", "1"), "`99999999999999999999` is too large"),
        (cobertura("", "a", "<lines><line hits='1'/></lines>"), "a line of it has no `number`"),
        (cobertura("", "a", "<lines><line number='1'/></lines>"), "a line of it has no `hits`"),
        (cobertura("", "a", "").replace("filename", "name"), "a class of it names no file"),
    ] {
        assert_eq!(together(&[&report]).unwrap_err(), why, "{report}");
    }
    // How often may be more than any number here.
    assert_eq!(together(&[&da(&format!("1,{}", "9".repeat(400)))]).unwrap(), "1 of 1 line");
    assert_eq!(together(&[&da("1,000")]).unwrap(), "0 of 1 line");
}

#[test]
fn what_is_made_to_hold_the_reader_up_is_refused_at_once() {
    let why = |report: &str| together(&[report]).unwrap_err();
    let bomb = "<!DOCTYPE coverage [<!ENTITY a 'x'><!ENTITY b '&a;&a;&a;&a;'>]><coverage>&b;</coverage>";
    assert!(why(bomb).starts_with("it is not XML that can be read: "), "{}", why(bomb));
    let outside = "<!DOCTYPE coverage SYSTEM 'file:///etc/passwd' [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><coverage>&a;</coverage>";
    assert!(why(outside).starts_with("it is not XML that can be read: "), "{}", why(outside));
    let undeclared = "<!DOCTYPE coverage SYSTEM 'a.dtd'><coverage>&a;</coverage>";
    assert!(why(undeclared).starts_with("it is not XML that can be read: "), "{}", why(undeclared));
    for cut in ["<!DOCTYPE", "<!DOCTYPE coverage SYSTEM 'a.dtd", "<!-- ", "<?xml", "<"] {
        assert!(why(cut).starts_with("it is not XML that can be read: "), "{cut}: {}", why(cut));
    }
    let deep = format!("<coverage>{}{}</coverage>", "<package>".repeat(300_000), "</package>".repeat(300_000));
    assert_eq!(why(&deep), "its elements are nested more than 100 deep");
    let crowd: String = (0..150_000).map(|at| format!(" a{at}='1'")).collect();
    assert_eq!(why(&format!("<coverage{crowd}/>")), "it has an element with more than 100 attributes");
    // A class in a class is looked at once, or it takes the time of its square.
    let nested = format!("{}{}", "<class filename='a'>".repeat(90), "</class>".repeat(90));
    assert_eq!(together(&[&cobertura("", "a", &nested)]).unwrap(), "0 of 0 lines");
}

/// Ten megabytes that honest tools may write.
#[test]
fn large_reports_are_read() {
    let mut large = String::from("SF:src/lamp.c\n");
    (0..1_000_000).for_each(|at| large += &format!("DA:{at},{}\n", at % 2));
    large += "end_of_record\n";
    assert!(large.len() > 10_000_000, "{}", large.len());
    assert_eq!(together(&[&large, &large]).unwrap(), "500000 of 1000000 lines");
    let lines: String = (0..320_000).map(|at| format!("<line number=\"{at}\" hits=\"1\"/>\n")).collect();
    let large = cobertura("", "src/lamp.py", &format!("<lines>{lines}</lines>"));
    assert!(large.len() > 10_000_000, "{}", large.len());
    assert_eq!(together(&[&large]).unwrap(), "320000 of 320000 lines");
}

const HALF: &str = "SF:a\nDA:1,1\nDA:2,0\nend_of_record\n";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, path: &str, text: &str) {
        let file = self.0.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    /// What is read where these globs are asked for, and the run does this.
    fn run(&self, globs: &[&str], does: impl FnOnce(&Self)) -> String {
        let coverage = self.read(globs, does);
        coverage.known().map(Coverage::shown).unwrap_or_else(str::to_owned)
    }

    fn read(&self, globs: &[&str], does: impl FnOnce(&Self)) -> Coverage {
        let globs: Vec<String> = globs.iter().map(|glob| (*glob).to_owned()).collect();
        let before = Before::note(self.0.path(), &globs, true);
        does(self);
        let coverage = read(self.0.path(), &globs, &before, &Masks::default()).unwrap();
        assert!(coverage.adds_up());
        coverage
    }
}

#[test]
fn each_report_is_known_by_its_digest() {
    let on = Folder::new();
    let other = HALF.replace("SF:a", "SF:b");
    let of = |path: &str, text: &str| CoverageReport {
        path: path.to_owned(),
        digest: Digest::of(text),
        bytes: text.len() as u64,
    };
    let both = on.read(&["lcov.info", "parts/*.info", "*.info"], |on| {
        on.write("lcov.info", HALF);
        on.write("parts/b.info", &other);
    });
    assert_eq!(both.reports, [of("lcov.info", HALF), of("parts/b.info", &other)]);
    // Also where the number is not known: it is that file which is not of this run, and what came before it.
    let stale = on.read(&["lcov.info", "parts/b.info"], |on| on.write("lcov.info", &HALF.replace("2,0", "2,1")));
    assert!(stale.known().is_err());
    assert_eq!(stale.reports, [of("lcov.info", &HALF.replace("2,0", "2,1")), of("parts/b.info", &other)]);
    let gone = on.read(&["gone.info"], |_| ());
    assert!(gone.known().is_err() && gone.reports.is_empty());
    // What is secret stays so in a name too.
    let masks = Masks::of([("TOKEN".into(), "correct-horse".into())]);
    let globs = ["*horse.info".to_owned()];
    let before = Before::note(on.0.path(), &globs, true);
    on.write("correct-horse.info", HALF);
    let masked = read(on.0.path(), &globs, &before, &masks).unwrap();
    assert!(!masked.reports[0].path.contains("correct-horse"), "{masked:?}");
}

#[test]
fn each_glob_has_a_report_of_this_run() {
    let on = Folder::new();
    let both = ["lcov.info", "parts/*.info"];
    assert_eq!(
        on.run(&both, |on| {
            on.write("lcov.info", HALF);
            on.write("parts/b.info", &HALF.replace("SF:a", "SF:b"));
        }),
        "2 of 4 lines"
    );
    let stale = "`lcov.info` is not of this run: it was there before the commands, and is the same as it was";
    assert_eq!(on.run(&["lcov.info"], |_| ()), stale);
    assert_eq!(on.run(&["lcov.info"], |on| on.write("lcov.info", HALF)), stale, "to touch it makes nothing of it");
    assert_eq!(on.run(&["*.info"], |on| on.write("lcov.info", &HALF.replace("2,0", "2,1"))), "2 of 2 lines");
    // A part that is missing is not left out: the rest may look better.
    assert_eq!(on.run(&["cov.xml", "lcov.info"], |on| on.write("lcov.info", HALF)), "nothing matches `cov.xml`");
    let old = |on: &Folder| {
        on.write("lcov.info", &HALF.replace("1,1", "1,7"));
        let file = std::fs::File::options().write(true).open(on.0.path().join("lcov.info")).unwrap();
        file.set_modified(std::time::SystemTime::now() - Duration::from_mins(1)).unwrap();
    };
    assert_eq!(on.run(&["lcov.info"], old), "`lcov.info` is not of this run: it is older than this run");
    assert_eq!(on.run(&["none.info"], |on| on.write("none.info", "SF:a\nend_of_record\n")), "the reports name no line");
    let said = on.run(&["lost.info"], |on| on.write("lost.info", "x"));
    assert_eq!(said, "`lost.info` can't be read: it is neither LCOV nor Cobertura's XML");
    assert_eq!(read(on.0.path(), &[], &Before::note(on.0.path(), &[], true), &Masks::default()), None);
}

#[test]
fn nothing_is_read_behind_a_link() {
    let on = Folder::new();
    on.write("elsewhere/lcov.info", HALF);
    let link = |on: &Folder| std::os::unix::fs::symlink("elsewhere/lcov.info", on.0.path().join("link.info")).unwrap();
    assert_eq!(on.run(&["link.info"], link), "`link.info` can't be read: it is a link");
    let round = |on: &Folder| std::os::unix::fs::symlink("elsewhere", on.0.path().join("out")).unwrap();
    let said = on.run(&["out/lcov.info"], round);
    assert_eq!(said, "`out/lcov.info` can't be read: it lies behind a link, and those are not followed");
    assert_eq!(on.run(&["out/*.info"], |_| ()), "`out/*.info`: it lies behind a link, and those are not followed");
    let large = |on: &Folder| {
        let file = std::fs::File::create(on.0.path().join("large.info")).unwrap();
        file.set_len(MOST_BYTES + 1).unwrap();
    };
    assert_eq!(on.run(&["large.info"], large), "`large.info` can't be read: the reports have more than 50 MB together");
}

#[test]
fn parts_are_compared_without_rounding() {
    let of = |covered, lines| Coverage { covered, lines, ..Coverage::default() };
    assert!(of(812, 1000).is_less_than(&of(815, 1000)) && !of(815, 1000).is_less_than(&of(812, 1000)));
    assert!(!of(1, 2).is_less_than(&of(2, 4)) && !of(2, 4).is_less_than(&of(1, 2)), "the same part of more lines");
    assert!(of(u64::MAX - 1, u64::MAX).is_less_than(&of(u64::MAX, u64::MAX)));
    assert!(of(0, 1).is_less_than(&of(1, u64::MAX)));
    assert_eq!(of(0, 0).known(), Err("the reports name no line"));
    assert!(!of(2, 1).adds_up() && !Coverage { why: Some("x".to_owned()), ..of(1, 1) }.adds_up());
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in "(SF:a\n|DA:|LF:|LH:|end_of_record\n|[0-9,-]{1,12}|\n|<coverage>|<!DOCTYPE |<!--|-->|<class filename='|[a'>\\[]){0,30}") {
        let _ = together(&[&text]);
        let _ = together(&[&cobertura("", "a", &text)]);
    }
}
