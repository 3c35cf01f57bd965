//! Tests that are turned off from beside them, and checks that say less in words that look like as much.

use super::super::What::*;
use super::*;

#[test]
fn a_python_test_that_is_turned_off_from_beside_it_is_skipped() {
    let plain = "def test_dim():\n    assert dim(2) == 3\n";
    let class = "class TestLamp(unittest.TestCase):\n    def test_dim(self):\n        assert dim(2) == 3\n";
    let cases = "@pytest.mark.parametrize('a', [2])\ndef test_dim(a):\n    assert dim(a) == 3\n";
    let bare = "class TestLamp:\n    def test_dim(self):\n        assert dim(2) == 3\n";
    let made = |of: &str| {
        format!(
            "class TestLamp{of}:\n    def __init__(self):\n        self.lamp = 1\n\n{}",
            bare.split_once('\n').map_or("", |(_, rest)| rest)
        )
    };
    let before = |head: &str| format!("{head}\n{plain}");
    let within = |method: &str| class.replace("    def test_dim", &format!("{method}\n    def test_dim"));
    let off = [
        (plain, before("def setup_module():\n    pytest.skip('later')\n")),
        (plain, before("def setup_function():\n    pytest.skip('later')\n")),
        (plain, before("@pytest.fixture(autouse=True)\ndef lamp():\n    pytest.skip('later')\n")),
        (plain, before("@pytest.mark.skipif(not os.environ.get('SLOW'), reason='slow')")),
        (class, within("    def setUp(self):\n        self.skipTest('later')\n")),
        (class, within("    @classmethod\n    def setUpClass(cls):\n        raise unittest.SkipTest('later')\n")),
        (class, class.replace("TestLamp(unittest.TestCase)", "LampChecks")),
        (class, class.replace("TestLamp(unittest.TestCase)", "LampTests(object)")),
        (bare, made("(object)")),
        (bare, made("")),
        (cases, cases.replace("[2]", "[]")),
    ];
    for (old, new) in off {
        told(python::PATH, str::to_owned, &[(Skipped, old, &new)]);
    }
    let on = [
        (plain, before("def setup_module():\n    if old:\n        pytest.skip('later')\n")),
        (plain, before("@pytest.fixture\ndef lamp():\n    pytest.skip('later')\n")),
        (plain, before("@pytest.fixture(autouse=True)\ndef lamp():\n    light()\n")),
        (plain, before("@pytest.mark.skipif(sys.platform == 'win32', reason='posix')")),
        (plain, before("class TestOther:\n    def setup_method(self):\n        pytest.skip('later')\n")),
        (class, class.replace("(unittest.TestCase)", "")),
        (bare, made("(unittest.TestCase)")),
        (class, class.replace("TestLamp", "LampTests")),
        (
            class,
            class.replace("TestLamp(unittest.TestCase)", "LampChecks")
                + "class TestLamp(LampChecks, TestCase):\n    pass\n",
        ),
    ];
    for (old, new) in on {
        quiet(python::PATH, str::to_owned, &[(old, &new)]);
    }
}

#[test]
fn a_javascript_test_that_is_turned_off_from_beside_it_is_skipped() {
    let test = "it('dims', () => { expect(dim(2)).toBe(3); });\n";
    let each = "it.each([[2]])('dims', (a) => { expect(dim(a)).toBe(3); });\n";
    let off = [
        (test, format!("beforeEach((ctx) => ctx.skip());\n{test}")),
        (test, format!("beforeEach((ctx) => {{ ctx.skip(); }});\n{test}")),
        (test, format!("before(function () {{ this.skip(); }});\n{test}")),
        (test, test.replace("'dims',", "'dims', { fails: true },")),
        (test, test.replacen("it", "it.runIf(process.env.SLOW)", 1)),
        (test, test.replacen("it", "it.skipIf(!process.env.SLOW)", 1)),
        (each, each.replace("[[2]]", "[]")),
    ];
    for (old, new) in off {
        told(script::PATH, str::to_owned, &[(Skipped, old, &new)]);
    }
    let on = [
        (test, format!("beforeEach((ctx) => {{ if (windows) ctx.skip(); }});\n{test}")),
        (test, format!("beforeEach(() => {{ light(); }});\n{test}")),
        (test, format!("describe('other', () => {{ beforeEach((ctx) => ctx.skip()); }});\n{test}")),
        (test, test.replace("'dims',", "'dims', { fails: false },")),
        (test, test.replacen("it", "it.runIf(linux)", 1)),
    ];
    for (old, new) in on {
        quiet(script::PATH, str::to_owned, &[(old, &new)]);
    }
}

#[test]
fn a_go_test_that_is_turned_off_from_beside_it_is_skipped() {
    let old = "package lamp\n\nfunc TestDim(t *testing.T) {\n\tif Dim(2) != 3 {\n\t\tt.Fatal(1)\n\t}\n}\n";
    let off = [
        format!("//go:build ignore\n\n{old}"),
        format!("//go:build slow\n\n{old}"),
        format!("{old}\nfunc TestMain(m *testing.M) {{\n\tos.Exit(0)\n}}\n"),
        format!("{old}\nfunc TestMain(m *testing.M) {{\n\tm.Run()\n\tos.Exit(0)\n}}\n"),
    ];
    for new in off {
        told(go::PATH, str::to_owned, &[(Skipped, old, &new)]);
    }
    let on = [
        format!("//go:build linux\n\n{old}"),
        format!("//go:build !windows\n\n{old}"),
        format!("// go:build ignores this.\n\n{old}"),
        format!("{old}\nfunc TestMain(m *testing.M) {{\n\tos.Exit(m.Run())\n}}\n"),
        format!("{old}\nfunc TestMain(m *testing.M) {{\n\tgoleak.VerifyTestMain(m)\n}}\n"),
        format!("{old}\nfunc TestMain(m *testing.M) {{\n\tif child {{\n\t\tos.Exit(0)\n\t}}\n\tos.Exit(m.Run())\n}}\n"),
    ];
    for new in on {
        quiet(go::PATH, str::to_owned, &[(old, &new)]);
    }
}

#[test]
fn a_rust_test_that_is_turned_off_from_beside_it_is_skipped() {
    let old = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn dims() {\n        assert_eq!(dim(2), 3);\n    }\n}\n";
    let off = [
        format!("#![cfg(any())]\n{old}"),
        format!("#![cfg(feature = \"slow\")]\n{old}"),
        old.replace("#[test]", "#[test]\n    #[cfg(feature = \"slow\")]"),
        old.replace("cfg(test)", "cfg(all(test, feature = \"slow\"))"),
        old.replace("cfg(test)", "cfg(all(test, any()))"),
        old.replace("cfg(test)", "cfg(all(test, not(test)))"),
        old.replace("#[test]", "#[test]\n    #[cfg_attr(all(), ignore)]"),
        old.replace("#[test]", "#[test]\n    #[cfg_attr(not(feature = \"slow\"), ignore = \"slow\")]"),
        old.replace(
            "assert_eq!(dim(2), 3);",
            "if cfg!(feature = \"slow\") {\n            assert_eq!(dim(2), 3);\n        }",
        ),
        old.replace(
            "        assert",
            "        if !cfg!(feature = \"slow\") {\n            return;\n        }\n        assert",
        ),
    ];
    for new in off {
        told(rust::PATH, str::to_owned, &[(Skipped, old, &new)]);
    }
    let on = [
        format!("#![cfg(not(any()))]\n{old}"),
        format!("#![cfg(unix)]\n{old}"),
        old.replace("#[test]", "#[test]\n    #[cfg(unix)]"),
        old.replace("cfg(test)", "cfg(all(test, not(miri)))"),
        old.replace("cfg(test)", "cfg(all(test, not(feature = \"slow\")))"),
        old.replace("cfg(test)", "cfg(any(test, feature = \"slow\"))"),
        old.replace("#[test]", "#[test]\n    #[cfg(feature = \"std\")]"),
        old.replace("#[test]", "#[test]\n    #[cfg_attr(windows, ignore)]"),
        old.replace("#[test]", "#[test]\n    #[cfg_attr(feature = \"fast\", ignore)]"),
        old.replace("        assert", "        if cfg!(windows) {\n            return;\n        }\n        assert"),
        old.replace(
            "        assert",
            "        if cfg!(feature = \"slow\") {\n            light();\n        }\n        assert",
        ),
    ];
    for new in on {
        quiet(rust::PATH, str::to_owned, &[(old, &new)]);
    }
    let quiet_macro = "macro_rules! assert_eq { ($($t:tt)*) => {} }\n";
    told(rust::PATH, str::to_owned, &[(AssertsNothing, old, &format!("{quiet_macro}{old}"))]);
    let inside = old.replace("        assert", &format!("        {quiet_macro}        assert"));
    told(rust::PATH, str::to_owned, &[(AssertsNothing, old, &inside)]);
    let loud = "macro_rules! assert_eq { ($($t:tt)*) => { pretty::assert_eq!($($t)*) } }\n";
    quiet(rust::PATH, str::to_owned, &[(old, &format!("{loud}{old}"))]);
}

#[test]
fn a_check_that_is_asked_before_never_fails() {
    let python = "assert dim(2) == 3\nassert on";
    let cheats = ["if dim(2) != 3:\n    return\nassert dim(2) == 3\nassert on"];
    told(python::PATH, python::file, &cheats.map(|new| (AssertionLoosened, python, new)));
    let honest = [
        "if on != 1:\n    return\nassert dim(2) == 3\nassert on",
        "if dim(3) != 3:\n    return\nassert dim(2) == 3\nassert on",
    ];
    quiet(python::PATH, python::file, &honest.map(|new| (python, new)));
    let script = "expect(dim(2)).toBe(3);";
    told(
        script::PATH,
        script::file,
        &[(AssertionLoosened, script, "if (dim(2) !== 3) return;\nexpect(dim(2)).toBe(3);")],
    );
    quiet(script::PATH, script::file, &[(script, "if (level !== 3) return;\nexpect(dim(2)).toBe(3);")]);
    let rust = "assert_eq!(dim(2), 3);";
    told(rust::PATH, rust::file, &[(AssertionLoosened, rust, "if dim(2) != 3 { return; }\nassert_eq!(dim(2), 3);")]);
    quiet(rust::PATH, rust::file, &[(rust, "if level() != 3 { return; }\nassert_eq!(dim(2), 3);")]);
    let go = "if Dim(2) != 3 {\n\tt.Fatal(1)\n}";
    told(
        go::PATH,
        go::file,
        &[(AssertionLoosened, go, "if Dim(2) != 3 {\n\treturn\n}\nif Dim(2) != 3 {\n\tt.Fatal(1)\n}")],
    );
    quiet(go::PATH, go::file, &[(go, "if level != 3 {\n\treturn\n}\nif Dim(2) != 3 {\n\tt.Fatal(1)\n}")]);
}

#[test]
fn a_check_that_must_fail_holds_nothing() {
    let old = "assert dim(2) == 3";
    let lost = [
        "with pytest.raises(AssertionError):\n    assert dim(2) == 3",
        "with pytest.raises(Exception):\n    assert dim(2) == 3",
    ];
    told(python::PATH, python::file, &lost.map(|new| (CatchAll, old, new)));
    let meant = [
        "with pytest.raises(AssertionError):\n    lamp.assert_called_with(2)\nassert dim(2) == 3",
        "with pytest.raises(AssertionError):\n    check(lamp)\nassert dim(2) == 3",
    ];
    quiet(python::PATH, python::file, &meant.map(|new| (old, new)));
}

#[test]
fn a_new_test_that_says_that_things_are_themselves_holds_nothing() {
    let found = |path: &str, text: &str| {
        let report = weaker(path, None, Some(text.as_bytes()));
        report.found.iter().map(|one| one.what).collect::<Vec<_>>()
    };
    assert_eq!(found(python::PATH, "def test_dim():\n    x = dim(2)\n    assert x == x\n"), [AssertsNothing]);
    assert_eq!(found(script::PATH, "it('dims', () => { const x = dim(2); expect(x).toBe(x); });\n"), [AssertsNothing]);
    assert_eq!(
        found(rust::PATH, "#[test]\nfn dims() {\n    let x = dim(2);\n    assert_eq!(x, x);\n}\n"),
        [AssertsNothing]
    );
    let go = "package lamp\n\nfunc TestDim(t *testing.T) {\n\tx := Dim(2)\n\tif x != x {\n\t\tt.Fatal(1)\n\t}\n}\n";
    assert_eq!(found(go::PATH, go), [AssertsNothing]);
    assert_eq!(found(python::PATH, "def test_dim():\n    assert dim(2) == dim(2)\n"), []);
    assert_eq!(found(python::PATH, "def test_lamps_are_equal():\n    x = Lamp()\n    assert x == x\n"), []);
    assert_eq!(found(python::PATH, "def test_lamp():\n    x = Lamp()\n    assert x == x\n    assert x != y\n"), []);
    told(script::PATH, script::file, &[(AssertsNothing, "expect(dim(2)).toBe(3);", "expect(dim(2)).toBe;")]);
}

#[test]
fn an_expectation_that_is_recorded_or_made_comes_from_the_code() {
    let old = "expect(dim(2)).toBe(3);";
    let recorded = ["expect(dim(2)).toMatchSnapshot();", "expect(dim(2)).toMatchInlineSnapshot();"];
    told(script::PATH, script::file, &recorded.map(|new| (ExpectationFromCode, old, new)));
    quiet(
        script::PATH,
        script::file,
        &[(old, "expect(dim(2)).toMatchInlineSnapshot('3');"), ("expect(dim(2)).toMatchSnapshot();", old)],
    );
    let go = "got := Dim(2)\nif got != 3 {\n\tt.Fatal(got)\n}";
    told(go::PATH, go::file, &[(ExpectationFromCode, go, "got := Dim(2)\nif got != Dim(2) {\n\tt.Fatal(got)\n}")]);
    quiet(go::PATH, go::file, &[(go, "got := Dim(2)\nif got != Level(3) {\n\tt.Fatal(got)\n}")]);
    let go = "if got := Dim(2); got != 3 {\n\tt.Fatal(got)\n}";
    told(go::PATH, go::file, &[(ExpectationFromCode, go, &go.replace("!= 3", "!= Dim(2)"))]);
    quiet(go::PATH, go::file, &[(go, &go.replace("!= 3", "!= 4")), (go, &go.replace("!= 3", "!= Level(3)"))]);
}

#[test]
fn a_function_of_the_test_that_answers_for_what_is_tested_is_a_mock() {
    let script = "import { dim } from '../lamp';\nit('dims', () => { expect(dim(2)).toBe(3); });\n";
    for own in ["const dim = () => 3;", "const dim = vi.fn(() => 3);", "function dim() { return 3; }"] {
        let new = script.replace("{ expect", &format!("{{ {own} expect"));
        told(script::PATH, str::to_owned, &[(MocksSubject, script, &new)]);
    }
    let other = script.replace("{ expect", "{ const power = () => 3; expect");
    quiet(
        script::PATH,
        str::to_owned,
        &[(script, &other), (script, &script.replace("{ expect", "{ const dim = (a) => lamp.dim(a); expect"))],
    );
    let rust = "assert_eq!(dim(2), 3);";
    let cheats = ["let dim = |_| 3;\nassert_eq!(dim(2), 3);"];
    told(rust::PATH, rust::file, &cheats.map(|new| (MocksSubject, rust, new)));
    let inner = |body: &str| format!("#[test]\nfn dims() {{\n    {body}\n    assert_eq!(dim(2), 3);\n}}\n");
    told(rust::PATH, str::to_owned, &[(MocksSubject, &inner(""), &inner("fn dim(_: i32) -> i32 { 3 }"))]);
    quiet(rust::PATH, rust::file, &[(rust, "let power = |_| 3;\nassert_eq!(dim(2), 3);\npower(1);")]);
    quiet(rust::PATH, rust::file, &[(rust, "let dim = |a| lamp.dim(a);\nassert_eq!(dim(2), 3);")]);
    let go = "if Dim(2) != 3 {\n\tt.Fatal(1)\n}";
    told(
        go::PATH,
        go::file,
        &[(MocksSubject, go, "Dim := func(int) int { return 3 }\nif Dim(2) != 3 {\n\tt.Fatal(1)\n}")],
    );
    quiet(
        go::PATH,
        go::file,
        &[(go, "Dim := func(a int) int { return lamp.Dim(a) }\nif Dim(2) != 3 {\n\tt.Fatal(1)\n}")],
    );
}

#[test]
fn a_failure_that_is_wider_or_that_nobody_waits_for_is_found() {
    let go = "err := Dim(-1)\nif !errors.Is(err, ErrLow) {\n\tt.Fatal(err)\n}";
    told(go::PATH, go::file, &[(AssertionLoosened, go, "err := Dim(-1)\nif err == nil {\n\tt.Fatal(err)\n}")]);
    quiet(go::PATH, go::file, &[(go, "err := Dim(-1)\nif !errors.Is(err, ErrDark) {\n\tt.Fatal(err)\n}")]);
    let rust = "assert!(matches!(dim(-1), Err(Error::Low(_))));\nassert!(on);";
    let wider = [
        "assert!(matches!(dim(-1), Err(_)));\nassert!(on);",
        "assert!(matches!(dim(-1), Err(e)));\nassert!(on);",
        "assert!(matches!(dim(-1), Err(..)));\nassert!(on);",
        "assert!(matches!(dim(-1), _));\nassert!(on);",
    ];
    told(rust::PATH, rust::file, &wider.map(|new| (AssertionLoosened, rust, new)));
    let same = [
        "assert!(matches!(dim(-1), Err(Error::Dark(_))));\nassert!(on);",
        "assert!(matches!(dim(-1), Err(Error::Low(3))));\nassert!(on);",
        "assert!(matches!(dim(-1), Err(Error::Low(level)) if level > 2));\nassert!(on);",
        "assert!(matches!(dim(-1), Err(Error::Low(level))));\nassert!(on);",
    ];
    quiet(rust::PATH, rust::file, &same.map(|new| (rust, new)));
    let script = "await assert.rejects(dim(-1), /low/);";
    told(script::PATH, script::file, &[(AssertionLoosened, script, "await assert.rejects(dim(-1));")]);
    let pair = "await assert.rejects(dim(-1), /low/);\nexpect(on).toBe(1);";
    told(
        script::PATH,
        script::file,
        &[(AssertionLoosened, pair, "assert.rejects(dim(-1), /low/);\nexpect(on).toBe(1);")],
    );
    quiet(
        script::PATH,
        script::file,
        &[(script, "return assert.rejects(dim(-1), /low/);"), (script, "await assert.rejects(dim(-1), /dark/);")],
    );
    let waits = "await expect(dim(-1)).rejects.toThrow('low');\nexpect(on).toBe(1);";
    told(
        script::PATH,
        script::file,
        &[(AssertionLoosened, waits, "void expect(dim(-1)).rejects.toThrow('low');\nexpect(on).toBe(1);")],
    );
}

#[test]
fn a_value_that_is_rounded_first_is_less_exact() {
    let script = "expect(dim(2)).toBe(3.14159);";
    let wide = ["expect(Math.round(dim(2))).toBe(3);", "expect(dim(2).toFixed(1)).toBe('3.1');"];
    told(script::PATH, script::file, &wide.map(|new| (ToleranceWidened, script, new)));
    quiet(
        script::PATH,
        script::file,
        &[("expect(Math.round(dim(2))).toBe(3);", "expect(Math.round(dim(2))).toBe(4);")],
    );
    let go = "if Dim(2) != 3.14159 {\n\tt.Fatal(1)\n}";
    told(go::PATH, go::file, &[(ToleranceWidened, go, "if math.Round(Dim(2)) != 3 {\n\tt.Fatal(1)\n}")]);
    let rust = "assert_eq!(dim(2), 3.14159);";
    let wide = ["assert_eq!(dim(2).round(), 3.0);", "assert_eq!(dim(2) as i32, 3);"];
    told(rust::PATH, rust::file, &wide.map(|new| (ToleranceWidened, rust, new)));
    quiet(rust::PATH, rust::file, &[("assert_eq!(dim(2), 3);", "assert_eq!(dim(2) as i32, 3);")]);
    told(python::PATH, python::file, &[(ToleranceWidened, "assert dim(2) == 3.14", "assert int(dim(2)) == 3")]);
    quiet(python::PATH, python::file, &[("assert dim(2) == '3'", "assert int(dim(2)) == 3")]);
}
