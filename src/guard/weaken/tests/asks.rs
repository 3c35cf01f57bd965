//! Skips that ask the code, and tests that are defined once more: nothing fails, and nothing is checked.

use super::super::What::*;
use super::*;

#[test]
fn a_skip_of_python_that_asks_the_code_is_told() {
    let plain = "from lamp import Lamp, dim\n\ndef test_dim():\n    assert dim(2) == 3\n    assert Lamp().q == 1\n";
    let with = |mark: &str| plain.replace("def test", &format!("{mark}\ndef test"));
    let class = "from lamp import dim\n\nclass TestDim(unittest.TestCase):\n    def test_dim(self):\n        assert dim(2) == 3\n";
    let off = [
        (plain, with("@pytest.mark.skipif(dim(2) != 3, reason='x')")),
        (plain, with("@pytest.mark.skipif(sys.platform == 'win32' or dim(2) != 3, reason='x')")),
        (plain, with("@pytest.mark.skipif(not hasattr(Lamp, 'q'), reason='x')")),
        (plain, with("@pytest.mark.xfail(dim(2) != 3, reason='x')")),
        (plain, with("pytestmark = pytest.mark.skipif(dim(2) != 3, reason='x')\n\n")),
        (plain, plain.replace("def test_dim", "if dim(2) == 4:\n  def test_dim").replace("    assert", "      assert")),
        (plain, plain.replace("    assert dim(2)", "    if dim(1) != 2:\n        pytest.skip('x')\n    assert dim(2)")),
        (
            plain,
            plain.replace(
                "    assert dim(2)",
                "    got = dim(1)\n    if got != 2:\n        pytest.skip('x')\n    assert dim(2)",
            ),
        ),
        (class, class.replace("    def test", "    @unittest.skipUnless(dim(2) == 3, 'x')\n    def test")),
        (class, class.replace("class Test", "@unittest.skipIf(dim(2) != 3, 'x')\nclass Test")),
    ];
    for (old, new) in &off {
        told(python::PATH, str::to_owned, &[(Skipped, old, new)]);
    }
    let on = [
        with("@pytest.mark.skipif(sys.platform == 'win32', reason='x')"),
        with("@pytest.mark.skipif(not hasattr(os, 'fork'), reason='x')"),
        with("@pytest.mark.skipif(shutil.which('git') is None, reason='x')"),
        with("@pytest.mark.skipif(not has_display(), reason='x')"),
        with("@pytest.mark.skipif(lamp.__version__ < '2', reason='x')"),
        with("@pytest.mark.skipif(importlib.util.find_spec('numpy') is None, reason='x')"),
        with("@pytest.mark.skipif(not torch.cuda.is_available(), reason='x')"),
        with("@pytest.mark.skipif(broken, reason='x')"),
        plain.replace("    assert dim(2)", "    if not connect():\n        pytest.skip('x')\n    assert dim(2)"),
        plain.replace(
            "    assert dim(2)",
            "    if socket.socket() is None:\n        pytest.skip('x')\n    assert dim(2)",
        ),
        plain
            .replace("def test_dim", "if sys.version_info > (3, 9):\n  def test_dim")
            .replace("    assert", "      assert"),
    ];
    for new in &on {
        quiet(python::PATH, str::to_owned, &[(plain, new)]);
    }
}

#[test]
fn a_skip_of_javascript_that_asks_the_code_is_told() {
    let test = "it('dims', () => { expect(dim(2)).toBe(3); });\n";
    let group = format!("describe('lamp', () => {{\n{test}}});\n");
    let off = [
        (test, test.replacen("it", "it.skipIf(dim(1) !== 3)", 1)),
        (test, test.replacen("it", "it.runIf(dim(1) === 3)", 1)),
        (test, format!("if (dim(1) === 3) {{\n{test}}}\n")),
        (group.as_str(), group.replacen("describe", "describe.skipIf(dim(1) !== 3)", 1)),
        (test, test.replace("() => { expect", "function () { if (dim(1) !== 3) { this.skip(); } expect")),
    ];
    for (old, new) in &off {
        told(script::PATH, str::to_owned, &[(Skipped, old, new)]);
    }
    let on = [
        test.replacen("it", "it.skipIf(process.platform === 'win32')", 1),
        test.replacen("it", "it.skipIf(isWindows())", 1),
        test.replacen("it", "it.skipIf(typeof Bun !== 'undefined')", 1),
        format!("if (process.platform !== 'win32') {{\n{test}}}\n"),
        format!("if (supportsFork()) {{\n{test}}}\n"),
    ];
    for new in &on {
        quiet(script::PATH, str::to_owned, &[(test, new)]);
    }
}

#[test]
fn a_skip_of_go_that_asks_the_code_is_told() {
    let plain = "if Dim(2) != 3 {\n\tt.Fatal(1)\n}";
    let before = |first: &str| format!("{first}\n{plain}");
    for new in [
        before("if Dim(1) != 3 {\n\tt.Skip(\"x\")\n}"),
        before("if got := Dim(1); got != 3 {\n\tt.Skipf(\"x\")\n}"),
        before("got := Dim(1)\nif got != 3 {\n\tt.SkipNow()\n}"),
        before("if runtime.GOOS == \"linux\" || Dim(1) != 3 {\n\tt.Skip(\"x\")\n}"),
    ] {
        told(go::PATH, go::file, &[(Skipped, plain, &new)]);
    }
    for new in [
        before("if testing.Short() {\n\tt.Skip(\"slow\")\n}"),
        before("if runtime.GOOS == \"windows\" {\n\tt.Skip(\"x\")\n}"),
        before("if _, err := exec.LookPath(\"git\"); err != nil {\n\tt.Skip(\"x\")\n}"),
        before("if !HasLamp() {\n\tt.Skip(\"x\")\n}"),
        before("lamp, err := Open(\"x\")\nif err != nil {\n\tt.Skip(\"no lamp\")\n}"),
    ] {
        quiet(go::PATH, go::file, &[(plain, &new)]);
    }
}

#[test]
fn a_test_that_is_defined_once_more_is_gone() {
    let plain = "def test_dim():\n    assert dim(2) == 3\n";
    let method = "class TestLamp:\n    def test_dim(self):\n        assert dim(2) == 3\n";
    for (old, new) in [
        (plain, format!("{plain}\n\ndef test_dim():\n    assert dim(2)\n")),
        (plain, format!("{plain}\n\n@pytest.mark.slow\ndef test_dim():\n    assert lamp()\n")),
        (method, format!("{method}\n    def test_dim(self):\n        assert lamp()\n")),
        (method, format!("{method}\n\nclass TestLamp:\n    def test_other(self):\n        assert other()\n")),
    ] {
        let found = kinds(python::PATH, old, &new);
        assert_eq!(found, [Skipped], "{new}");
        assert!(kinds(python::PATH, &new, &new).is_empty(), "{new}");
    }
    let twice = format!("{plain}\n\ndef test_dim():\n    assert dim(2) == 3\n    assert lamp()\n");
    for (old, new) in [
        (plain, format!("{plain}\n\n{plain}")),
        (
            plain,
            "if OLD:\n    def test_dim():\n        assert dim(2) == 3\nelse:\n    def test_dim():\n        assert dim(2) == 3\n".to_owned(),
        ),
        (method, format!("{method}\n\nclass TestLamp(TestLamp):\n    def test_other(self):\n        assert other()\n")),
        (method, format!("{method}\n\nclass TestOther:\n    def test_dim(self):\n        assert lamp()\n")),
        (twice.as_str(), twice.replacen(plain, "", 1)),
    ] {
        quiet(python::PATH, str::to_owned, &[(old, &new)]);
    }
}

#[test]
fn what_is_run_again_or_can_not_fail_is_told() {
    let python = "def test_dim():\n    assert all(n in 'ab' for n in names())\n    assert dim(2) == 3\n";
    for (what, new) in [
        (Skipped, format!("@pytest.mark.flaky(reruns=5)\n{python}")),
        (Skipped, format!("@flaky\n{python}")),
        (AssertionLoosened, python.replace("assert dim(2) == 3", "assert (dim(2) == 3 for _ in range(1))")),
        (AssertionLoosened, python.replace("assert dim(2) == 3", "assert lambda: dim(2) == 3")),
    ] {
        let found = kinds(python::PATH, python, &new);
        assert_eq!(found, [what], "{new}");
    }
    let script = "it('dims', () => { expect(dim(2)).toBe(3); });\n";
    told(script::PATH, str::to_owned, &[(Skipped, script, &script.replace("'dims', ", "'dims', { retry: 9 }, "))]);
    let go = "func TestDim(t *testing.T) {\n\tif Dim(2) != 3 {\n\t\tt.Fatal(1)\n\t}\n}\n";
    let other = go.replace("{\n\tif", "{\n\tt = &testing.T{}\n\tif");
    told(go::PATH, go::file, &[(CatchAll, go, &other)]);
    quiet(
        script::PATH,
        str::to_owned,
        &[
            (script, &script.replace("'dims', ", "'dims', { retry: 0 }, ")),
            (script, &script.replace("'dims', ", "'dims', { timeout: 9 }, ")),
        ],
    );
    quiet(python::PATH, str::to_owned, &[(python, &format!("@pytest.mark.slow\n{python}"))]);
}
