use super::*;
use crate::engine::kit::{good_papers, sheet};
use crate::gate::build::Touched;
use crate::gate::build::covered::is_test;
use crate::rehearsal::papers as good;

/// The good change: its code, its test and its papers.
fn site(files: &[(&str, &str)]) -> Site {
    let mut site = Site::default();
    let all = good::CODE.iter().filter(|(path, _)| !files.iter().any(|(own, _)| own == path)).chain(files);
    for (path, text) in all {
        site.files.push(Touched::new(path, text));
        site.added.insert((*path).to_owned());
    }
    site.there = ["src", "src/dimmer.py", "tests", "tests/test_dimmer.py"].into_iter().map(str::to_owned).collect();
    site
}

fn told(site: &Site, papers: &Papers) -> Vec<String> {
    let found = judge(site, papers, &Policy::default(), &BTreeSet::new());
    found.iter().map(shown).collect()
}

/// `REC-01 scaffolding/design.md:12`, and a mark for what only warns.
fn shown(finding: &Finding) -> String {
    let mark = if finding.blocks() { "" } else { " (warning)" };
    let place = finding.path.clone().unwrap_or_default();
    let line = finding.line.map(|line| format!(":{line}")).unwrap_or_default();
    format!("{}{mark} {place}{line}", finding.rule)
}

fn with_code(path: &str, text: &str) -> Vec<String> {
    told(&site(&[(path, text)]), &good_papers())
}

fn design(from: &str, to: &str) -> Papers {
    assert!(good::DESIGN.contains(from), "{from}");
    Papers { design: Some(sheet(&good::DESIGN.replacen(from, to, 1))), ..good_papers() }
}

fn scope(from: &str, to: &str) -> Papers {
    assert!(good::SCOPE.contains(from), "{from}");
    Papers { scope: Some(sheet(&good::SCOPE.replacen(from, to, 1))), ..good_papers() }
}

fn line_of(text: &str, part: &str) -> usize {
    text.lines().position(|line| line.contains(part)).unwrap_or_else(|| panic!("no {part}")) + 1
}

fn none() -> Vec<String> {
    Vec::new()
}

#[test]
fn documents_that_are_in_step_are_clean() {
    assert_eq!(told(&site(&[]), &good_papers()), none());
}

#[test]
fn the_directory_structure_is_put_right_by_a_line() {
    let mut papers =
        design("  dimmer.py             # the function\n", "  dimmer.py             # the function\n  fade.py\n");
    let found = judge(&site(&[]), &papers, &Policy::default(), &BTreeSet::new());
    assert_eq!(found.len(), 1, "{found:#?}");
    let text = papers.design.as_ref().and_then(|sheet| sheet.text()).unwrap().to_owned();
    assert_eq!(shown(&found[0]), format!("REC-01 scaffolding/design.md:{}", line_of(&text, "fade.py")));
    assert!(found[0].says.starts_with("Structural drift: "), "{found:#?}");
    assert!(found[0].next.contains("Take line") && found[0].next.contains("`fade.py`"), "{found:#?}");
    papers = design("src/                    # and what it needs beside, …", "src/");
    let found = judge(&site(&[("src/more.py", "more = 1\n")]), &papers, &Policy::default(), &BTreeSet::new());
    assert_eq!(found.iter().map(shown).collect::<Vec<_>>(), ["REC-01 src/more.py"]);
    assert!(found[0].next.contains("Add the line `src/more.py`"), "{found:#?}");
}

#[test]
fn an_interface_that_nothing_has_is_found_and_one_that_is_there_is_not() {
    let unseen = BTreeSet::from(["dim".to_owned()]);
    let found = judge(&site(&[]), &good_papers(), &Policy::default(), &unseen);
    let line = line_of(good::DESIGN, "dim(level: int)");
    assert_eq!(found.iter().map(shown).collect::<Vec<_>>(), [format!("REC-02 scaffolding/design.md:{line}")]);
    let names = |text: &str| {
        let papers = design("- `dim(level: int) -> int`: one step less, and never below 0.", text);
        interfaces::names(build::design(&papers).as_ref()).into_iter().collect::<Vec<_>>()
    };
    assert_eq!(names("- `lamp.dim(level: int) -> int`\n- `fn next_level(&self) -> u8`"), ["dim", "next_level"]);
    assert_eq!(names("```python\ndef dim(level: int) -> int: ...\n```"), ["dim"]);
    assert_eq!(names("- `GET  /levels/{id}` gives a level\n- `Level { value: u8 }`"), ["GET /levels/{id}"]);
    assert_eq!(
        names("- `class Lamp`\n- `export interface Level { value: number }`\n- `the class of it`"),
        ["Lamp", "Level"]
    );
    assert_eq!(names("```rust\npub struct Lamp {\n    level: u8,\n}\n```"), ["Lamp"]);
    assert_eq!(names("```mermaid\nclassDiagram\nclass Lamp\n```"), none());
    assert_eq!(names("- `fade(level: int)`: planned for later"), none());
}

#[test]
fn an_interface_takes_what_the_design_says() {
    let line = line_of(good::DESIGN, "dim(level: int)");
    let wide = "def dim(level, step):\n    return max(0, level - step)\n";
    assert_eq!(with_code("src/dimmer.py", wide), [format!("REC-02 scaffolding/design.md:{line}")]);
    let found = judge(&site(&[("src/dimmer.py", wide)]), &good_papers(), &Policy::default(), &BTreeSet::new());
    assert!(found[0].next.contains("Write `dim(level, step)` into line"), "{found:#?}");
    for fine in [
        "def dim(level, step=1):\n    return max(0, level - step)\n",
        "class Lamp:\n    def dim(self, level: int) -> int:\n        return level\n",
        "def dim(*levels):\n    return levels\n",
        "def dim(level):\n    return level\n\n\nclass B:\n    def dim(self, a, b):\n        return a\n",
    ] {
        assert_eq!(with_code("src/dimmer.py", fine), none(), "{fine}");
    }
}

#[test]
fn criteria_have_tests_and_tests_have_criteria() {
    let test = good::TESTS.replace("AC-2: dimming", "Dimming");
    assert!(with_code("tests/test_dimmer.py", &test).iter().any(|one| one.starts_with("REC-03 scaffolding/scope.md")));
    let more = format!("{}\n\ndef test_more():\n    \"\"\"AC-9: more.\"\"\"\n    assert True\n", good::TESTS);
    let line = line_of(&more, "AC-9");
    assert_eq!(with_code("tests/test_dimmer.py", &more), [format!("REC-03 (warning) tests/test_dimmer.py:{line}")]);
}

#[test]
fn a_service_that_nobody_designed_is_found() {
    let code = |line: &str| format!("{}{line}\n", good::CODE[0].1);
    let found = |line: &str| with_code("src/dimmer.py", &code(line));
    assert_eq!(found("URL = \"https://api.weather-now.io/v1/levels\""), ["REC-04 src/dimmer.py:3"]);
    assert_eq!(found("URL = 'https://weather-now.io/api/levels'"), ["REC-04 src/dimmer.py:3"]);
    for fine in [
        "# see \"https://api.weather-now.io/v1\"",
        "URL = \"https://weather-now.io/docs\"",
        "URL = \"http://localhost:8000/api/levels\"",
        "URL = \"https://api.example.com/v1\"",
        "URL = \"http://127.0.0.1/api/x\"",
    ] {
        assert_eq!(found(fine), none(), "{fine}");
    }
    let papers = design(
        "## External Integrations\n\nnone",
        "## External Integrations\n\n- Weather-now: when it is down, nothing is dimmed.",
    );
    let site = site(&[("src/dimmer.py", &code("URL = \"https://api.weather-now.io/v1/levels\""))]);
    assert_eq!(told(&site, &papers), none());
}

#[test]
fn a_target_and_a_language_that_nobody_named_are_found() {
    assert_eq!(with_code("fly.toml", "app = 'x'\n"), ["REC-05 fly.toml"]);
    assert_eq!(with_code("tests/fixtures/fly.toml", "app = 'x'\n"), none());
    let papers = scope("A package on the lantern.", "A package on the lantern, and Fly for its page.");
    assert_eq!(told(&site(&[("fly.toml", "app = 'x'\n")]), &papers), none());
    assert_eq!(with_code("src/lamp.go", "package lamp\n"), ["REC-05 (warning) src/lamp.go"]);
    // The end of a file's name names no language, nor does a word of every day.
    let drawn =
        design("  dimmer.py             # the function\n", "  dimmer.py             # the function\n  lamp.go\n");
    let mut with_lamp = site(&[("src/lamp.go", "package lamp\n")]);
    with_lamp.there.insert("src/lamp.go".to_owned());
    assert_eq!(told(&with_lamp, &drawn), ["REC-05 (warning) src/lamp.go"]);
    let papers = design("One module with one function;", "One module, from which levels go out; see `src/lamp.go`;");
    assert_eq!(told(&with_lamp, &papers), ["REC-05 (warning) src/lamp.go"]);
    let papers = scope("Python 3.11, without dependencies.", "Python 3.11 and Go, without dependencies.");
    assert_eq!(told(&site(&[("src/lamp.go", "package lamp\n")]), &papers), none());
}

#[test]
fn the_log_is_the_one_of_this_scope() {
    let papers =
        Papers { log: Some(sheet("# Log\n\n- Began. Target in use: a package on the lantern.\n")), ..good_papers() };
    assert_eq!(told(&site(&[]), &papers), ["REC-06 scaffolding/log.md"]);
}

#[test]
fn a_link_that_leads_nowhere_is_put_right_by_a_line() {
    let readiness = good::READINESS.replace("tests/test_dimmer.py::test_dark", "tests/test_dark.py::test_dark");
    let papers = Papers { readiness: Some(sheet(&readiness)), ..good_papers() };
    let found = judge(&site(&[]), &papers, &Policy::default(), &BTreeSet::new());
    let line = line_of(&readiness, "test_dark.py");
    assert_eq!(found.iter().map(shown).collect::<Vec<_>>(), [format!("REC-07 scaffolding/readiness.md:{line}")]);
    assert!(found[0].next.contains(&format!("Write `tests/test_dimmer.py` into line {line}")), "{found:#?}");
}

#[test]
fn what_scope_defers_is_not_built_without_a_person() {
    let papers = scope("- Fading from one level to the next.", "- AC-3: fading from one level to the next.");
    let fades = format!("{}\n\ndef test_ac_3_fades():\n    assert dim(3) == 2\n", good::TESTS);
    let line = line_of(&fades, "test_ac_3");
    let found = judge(&site(&[("tests/test_dimmer.py", &fades)]), &papers, &Policy::default(), &BTreeSet::new());
    assert_eq!(found.iter().map(shown).collect::<Vec<_>>(), [format!("REC-08 tests/test_dimmer.py:{line}")]);
    assert!(is_spec_violating(&found[0]) && found[0].says.starts_with("Spec-violating drift"), "{found:#?}");
    assert_eq!(told(&site(&[]), &papers), none());
}

#[test]
fn a_criterion_that_cant_be_met_is_a_persons_to_decide() {
    let log = |line: &str| {
        let papers = Papers { log: Some(sheet(&format!("{}- {line}\n", good::LOG))), ..good_papers() };
        told(&site(&[]), &papers)
    };
    let line = good::LOG.lines().count() + 1;
    for said in [
        "AC-2 is impossible on this lantern.",
        "AC-1 can't be met in 10 ms.",
        "Meeting AC-2 is not feasible.",
        "It is impossible to meet AC-1.",
        "AC-2: this is not possible here.",
    ] {
        assert_eq!(log(said), [format!("REC-09 scaffolding/log.md:{line}")], "{said}");
    }
    for fine in [
        "AC-2 is not impossible.",
        "It is impossible to fail AC-1 by accident.",
        "AC-2: negative levels are not possible.",
        "AC-2 would be impossible on the old lantern.",
        "AC-1 was impossible with the first clock; it is met now.",
        "Fading is impossible.",
        "AC-1 and AC-2 are done.",
    ] {
        assert_eq!(log(fine), none(), "{fine}");
    }
}

#[test]
fn design_and_scope_are_of_one_tier() {
    let papers = design("One module with one function;", "Tier: shed. One module with one function;");
    let line = line_of(good::DESIGN, "One module");
    assert_eq!(told(&site(&[]), &papers), [format!("REC-10 scaffolding/design.md:{line}")]);
    for fine in ["Tier: house.", "Pricing tier: shed brand.", "Tier: shed-like prices."] {
        let papers = design("One module with one function;", &format!("{fine} One module with one function;"));
        assert_eq!(told(&site(&[]), &papers), none(), "{fine}");
    }
    let papers = design("One module with one function;", "Quality tier: skyscraper (as asked). One module;");
    assert_eq!(told(&site(&[]), &papers), [format!("REC-10 scaffolding/design.md:{line}")]);
}

/// What puts it right, without the lines of the patch that say where.
fn put_right(site: &Site, papers: &Papers) -> Option<String> {
    let repair = repair::of(site, papers, &Policy::default(), &BTreeSet::new())?;
    let lines = repair
        .diff
        .lines()
        .filter(|line| line.starts_with(['+', '-']) && !line.starts_with("+++") && !line.starts_with("---"));
    Some(lines.map(|line| format!("{line}\n")).collect())
}

#[test]
fn the_design_is_put_right_by_a_machine() {
    assert_eq!(put_right(&site(&[]), &good_papers()), None);
    // A path that is not there goes, and one that is there comes.
    let fade =
        design("  dimmer.py             # the function\n", "  dimmer.py             # the function\n  fade.py\n");
    assert_eq!(put_right(&site(&[]), &fade).as_deref(), Some("-  fade.py\n"));
    let drawn = |to: &str| {
        let from = "src/                    # and what it needs beside, …\n  dimmer.py             # the function\ntests/\n  \
                    test_dimmer.py\n";
        design(from, to)
    };
    let more = site(&[("src/more.py", "more = 1\n")]);
    for (tree, line) in [
        ("src/\n  dimmer.py\ntests/\n  test_dimmer.py\n", "+src/more.py\n"),
        ("lantern/\n├── src/\n│   └── dimmer.py\n└── tests/\n    └── test_dimmer.py\n", "+├── src/more.py\n"),
    ] {
        assert_eq!(put_right(&more, &drawn(tree)).as_deref(), Some(line), "{tree}");
    }
    let listed = "```\nsrc/                    # and what it needs beside, …\n  dimmer.py             # the function\ntests/\n  \
                  test_dimmer.py\n```\n";
    let listed = design(listed, "- `src/dimmer.py`: the function\n- `tests/test_dimmer.py`\n");
    assert_eq!(put_right(&more, &listed).as_deref(), Some("+- `src/more.py`\n"));
    // What an interface takes now.
    let wide = site(&[("src/dimmer.py", "def dim(level, step):\n    return max(0, level - step)\n")]);
    let line = "-- `dim(level: int) -> int`: one step less, and never below 0.\n+- `dim(level, step) -> int`: one step less, and never below 0.\n";
    assert_eq!(put_right(&wide, &good_papers()).as_deref(), Some(line));
}

#[test]
fn readiness_is_led_to_where_the_tests_are() {
    let moved = good::READINESS.replace("tests/test_dimmer.py", "tests/test_lamp.py");
    let papers = Papers { readiness: Some(sheet(&moved)), ..good_papers() };
    let repair = repair::of(&site(&[]), &papers, &Policy::default(), &BTreeSet::new()).unwrap();
    let [file] = repair.files.as_slice() else { panic!("{repair:#?}") };
    assert_eq!((file.path, file.is != file.was), (papers::READINESS, true));
    let now = Papers { readiness: Some(sheet(&file.text)), ..good_papers() };
    assert_eq!(told(&site(&[]), &now), none());
}

#[test]
fn what_a_person_has_to_say_is_not_written_by_a_machine() {
    // An interface that nothing has, a service, a target, a log.
    let unseen = BTreeSet::from(["dim".to_owned()]);
    assert_eq!(repair::of(&site(&[]), &good_papers(), &Policy::default(), &unseen), None);
    let calls = site(&[("src/pay.py", "URL = 'https://api.stripe.com/v1/charges'\n")]);
    assert_eq!(put_right(&calls, &good_papers()), None);
    let silent = Papers { log: Some(sheet("Nothing happened.\n")), ..good_papers() };
    assert_eq!(put_right(&site(&[]), &silent), None);
}

/// A name that the change gives a file is to write nothing else into a document that nobody looks at again.
#[test]
fn a_machine_writes_no_commands_and_no_lines_of_somebody_elses() {
    let astray = |now: &str| {
        let mut site = site(&[(now, good::TESTS)]);
        site.files.retain(|file| file.path != "tests/test_dimmer.py");
        let moved = good::READINESS.replace("tests/test_dimmer.py", "tests/test_lamp.py");
        repair::of(
            &site,
            &Papers { readiness: Some(sheet(&moved)), ..good_papers() },
            &Policy::default(),
            &BTreeSet::new(),
        )
    };
    assert!(astray("tests/test_moved.py").is_some());
    for name in ["tests/`$ true`.py", "tests/a.py\n- AC-1: $ true.py", "tests/a|b.py"] {
        assert!(!is_test(name) || astray(name).is_none(), "{name:?}");
    }
    // The command of a criterion stays as it was agreed on.
    let runs = good::READINESS.replacen("`tests/test_dimmer.py::test_dark`", "`$ pytest tests/test_lamp.py`", 1);
    let papers = Papers { readiness: Some(sheet(&runs)), ..good_papers() };
    assert_eq!(put_right(&site(&[]), &papers), None);
    // A file of that name is in no design.
    let drawn = design("src/                    # and what it needs beside, …", "src/");
    assert_eq!(put_right(&site(&[("src/a\n## Interfaces\n.py", "a = 1\n")]), &drawn), None);
}
