use super::super::What::*;
use super::*;

pub(super) const PATH: &str = "tests/test_lamp.py";

/// A body becomes a test; what begins with a letter at the margin and has its own `def` or `class` stays as it is.
pub(super) fn file(text: &str) -> String {
    if text.contains("def ") {
        return text.to_owned();
    }
    let lines: Vec<String> = text.lines().map(|line| format!("    {line}\n")).collect();
    format!("def test_dim():\n{}", lines.concat())
}

#[test]
fn what_is_weaker_in_python_is_found() {
    all_weaker(
        PATH,
        file,
        &[
            (AssertionLoosened, "assert dim(2) == 3", "assert dim(2)"),
            (AssertionLoosened, "assert dim(2) == 3", "assert dim(2) > 0"),
            (AssertionLoosened, "assert dim(2) == 3", "assert dim(2) is not None"),
            (AssertionLoosened, "assert dim(2) == 3", "assert isinstance(dim(2), int)"),
            (AssertionLoosened, "assert dim(2) == 'low'", "assert 'lo' in dim(2)"),
            (AssertionLoosened, "assert dim(2) == 'low'", "assert dim(2).startswith('l')"),
            (AssertionLoosened, "assert dim(2) == 'low'", "assert re.match('l', dim(2))"),
            (AssertionLoosened, "assert dim(2) == 3", "assert dim(2) != 0"),
            (AssertsNothing, "assert dim(2) == 3", "assert dim(2) == 3 or True"),
            (AssertionLoosened, "assert dim(2) == 3\nassert on", "assert dim(2) == 3 or True\nassert on"),
            (AssertionLoosened, "assert dim(2) == 3", "assert dim(2) == 3 or dim(2) is None"),
            (AssertionLoosened, "assert dim(2) == 3", "assert dim(2) in (3, 4)"),
            (AssertionLoosened, "assert dim(2) == {'a': 1}", "assert dim(2) == {'a': ANY}"),
            (AssertionLoosened, "assert 'low' in dim(2)", "assert dim(2)"),
            (AssertionLoosened, "self.assertEqual(dim(2), 3)", "self.assertTrue(dim(2))"),
            (AssertionLoosened, "self.assertEqual(dim(2), 3)", "self.assertIsNotNone(dim(2))"),
            (AssertionLoosened, "self.assertEqual(3, dim(2))", "self.assertIn(dim(2), [3, 4])"),
            (AssertionLoosened, "lamp.dim.assert_called_once_with(3)", "lamp.dim.assert_called_once()"),
            (
                AssertionLoosened,
                "with pytest.raises(ValueError):\n    dim(-1)",
                "with pytest.raises(Exception):\n    dim(-1)",
            ),
            (
                AssertionLoosened,
                "with pytest.raises(ValueError, match='low'):\n    dim(-1)",
                "with pytest.raises(ValueError):\n    dim(-1)",
            ),
            (AssertionLoosened, "self.assertRaises(ValueError, dim, -1)", "self.assertRaises(Exception, dim, -1)"),
            (
                AssertionLoosened,
                "level = dim(2)\nassert level == 3",
                "level = dim(2)\nif level:\n    assert level == 3",
            ),
            (AssertionRemoved, "assert dim(2) == 3\nassert dim(4) == 5", "assert dim(2) == 3"),
            (AssertionRemoved, "assert dim(2) == 3 and glow(4) == 5", "assert dim(2) == 3"),
            (
                AssertionRemoved,
                "@pytest.mark.parametrize('a', [1, 2, 3])\ndef test_dim(a):\n    assert dim(a) == a\n",
                "@pytest.mark.parametrize('a', [1, 2])\ndef test_dim(a):\n    assert dim(a) == a\n",
            ),
            (
                AssertionRemoved,
                "def check(a):\n    assert dim(a) == a\n    assert glow(a) == 2\ndef test_dim():\n    check(1)\n",
                "def check(a):\n    assert dim(a) == a\ndef test_dim():\n    check(1)\n",
            ),
            (ExpectationFromCode, "assert dim(2) == 3", "assert dim(2) == dim(2)"),
            (ExpectationFromCode, "level = dim(2)\nassert level == 3", "level = dim(2)\nassert level == dim(2)"),
            (ExpectationFromCode, "assert dim(2) == 3", "expected = dim(2)\nassert dim(2) == expected"),
            (
                Skipped,
                "def test_dim():\n    assert dim(2) == 3\n",
                "@pytest.mark.skip\ndef test_dim():\n    assert dim(2) == 3\n",
            ),
            (
                Skipped,
                "def test_dim():\n    assert dim(2) == 3\n",
                "@pytest.mark.skipif(True, reason='flaky')\ndef test_dim():\n    assert dim(2) == 3\n",
            ),
            (
                Skipped,
                "def test_dim():\n    assert dim(2) == 3\n",
                "@pytest.mark.xfail\ndef test_dim():\n    assert dim(2) == 3\n",
            ),
            (
                Skipped,
                "def test_dim():\n    assert dim(2) == 3\n",
                "@unittest.expectedFailure\ndef test_dim():\n    assert dim(2) == 3\n",
            ),
            (
                Skipped,
                "class TestLamp:\n    def test_dim(self):\n        assert dim(2) == 3\n",
                "@unittest.skip('later')\nclass TestLamp:\n    def test_dim(self):\n        assert dim(2) == 3\n",
            ),
            (
                Skipped,
                "def test_dim():\n    assert dim(2) == 3\n",
                "pytestmark = pytest.mark.skip\ndef test_dim():\n    assert dim(2) == 3\n",
            ),
            (Skipped, "assert dim(2) == 3", "pytest.skip('later')\nassert dim(2) == 3"),
            (Skipped, "assert dim(2) == 3", "return\nassert dim(2) == 3"),
            (Skipped, "assert dim(2) == 3", "if False:\n    assert dim(2) == 3"),
            (CatchAll, "assert dim(2) == 3", "try:\n    assert dim(2) == 3\nexcept Exception:\n    pass"),
            (CatchAll, "assert dim(2) == 3", "try:\n    assert dim(2) == 3\nexcept:\n    print('odd')"),
            (CatchAll, "assert dim(2) == 3", "with contextlib.suppress(AssertionError):\n    assert dim(2) == 3"),
            (
                ToleranceWidened,
                "assert dim(2) == pytest.approx(3.1, abs=1e-6)",
                "assert dim(2) == pytest.approx(3.1, abs=0.5)",
            ),
            (
                ToleranceWidened,
                "self.assertAlmostEqual(dim(2), 3.1, places=5)",
                "self.assertAlmostEqual(dim(2), 3.1, places=1)",
            ),
            (ToleranceWidened, "assert abs(dim(2) - 3.1) < 0.001", "assert abs(dim(2) - 3.1) < 1"),
            (
                ToleranceWidened,
                "assert math.isclose(dim(2), 3.1, rel_tol=1e-9)",
                "assert math.isclose(dim(2), 3.1, rel_tol=1e-2)",
            ),
            (
                MocksSubject,
                "assert lamp.dim(2) == 3",
                "with mock.patch('house.lamp.dim', return_value=3):\n    assert lamp.dim(2) == 3",
            ),
            (
                MocksSubject,
                "assert lamp.dim(2) == 3",
                "monkeypatch.setattr(lamp, 'dim', lambda a: 3)\nassert lamp.dim(2) == 3",
            ),
            (AssertsNothing, "assert dim(2) == 3", "dim(2)"),
            (AssertsNothing, "assert dim(2) == 3", "dim(2)\nassert True"),
            (
                AssertsNothing,
                "def test_a():\n    assert a()\n",
                "def test_a():\n    assert a()\ndef test_dim():\n    dim(2)\n",
            ),
            (
                TestRemoved,
                "def test_a():\n    assert a()\ndef test_dim():\n    assert dim(2) == 3\n",
                "def test_a():\n    assert a()\n",
            ),
            (TestRemoved, "def test_dim():\n    assert dim(2) == 3\n", "def dim_test_off():\n    assert dim(2) == 3\n"),
        ],
    );
}

#[test]
fn honest_changes_in_python_are_let_be() {
    all_honest(
        PATH,
        file,
        &[
            ("assert dim(2) == 3", "assert dim(2) == 4"),
            ("assert dim(2)", "assert dim(2) == 3"),
            ("assert dim(2) == 3", "assert dim(2) == 3\nassert dim(4) == 5"),
            ("assert dim(2) == 3", "level = dim(2)\nassert level == 3"),
            ("assert dim( 2 )==3", "assert (\n    dim(2) == 3\n)"),
            ("assert dim('a') == 3", "assert dim(\"a\") == 3"),
            ("assert dim(2) == True", "assert dim(2)"),
            ("assert dim(2) == []", "assert not dim(2)"),
            ("assert dim(2) is None", "assert not dim(2)"),
            ("assert dim(2) == 3", "assert dim(2) == 3, 'level'"),
            ("self.assertEqual(dim(2), 3)", "assert dim(2) == 3"),
            ("self.assertEqual(dim(2), True)", "self.assertTrue(dim(2))"),
            ("self.assertEqual(3, dim(2))", "self.assertEqual(dim(2), 3)"),
            ("assert dim(2) == 3\nassert dim(4) == 5", "for a, b in [(2, 3), (4, 5)]:\n    assert dim(a) == b"),
            ("assert dim(2) == 3", "with pytest.raises(ValueError):\n    dim(2)"),
            ("with pytest.raises(ValueError):\n    dim(-1)", "assert dim(-1) == 0"),
            ("with pytest.raises(ValueError):\n    dim(-1)", "with pytest.raises(TypeError):\n    dim(-1)"),
            (
                "with pytest.raises(Exception):\n    dim(-1)",
                "with pytest.raises(ValueError, match='low'):\n    dim(-1)",
            ),
            ("assert dim(2) == 0.3", "assert dim(2) == pytest.approx(0.3)"),
            ("assert dim(2) == pytest.approx(3.1, abs=0.5)", "assert dim(2) == pytest.approx(3.1, abs=1e-6)"),
            ("assert dim(2) == 3 and glow(4) == 5", "assert dim(2) == 3\nassert glow(4) == 5"),
            ("assert x is not None\nassert x.level == 3", "assert x.level == 3"),
            ("def test_a():\n    assert dim(2) == 3\n", "def test_dims_to_three():\n    assert dim(2) == 3\n"),
            (
                "def test_a():\n    assert dim(2) == 3\n    assert glow(5) == 6\n",
                "def test_a():\n    assert dim(2) == 3\ndef test_b():\n    assert glow(5) == 6\n",
            ),
            (
                "def test_a():\n    assert dim(2) == 3\n    assert dim(4) == 5\n",
                "def check(a, b):\n    assert dim(a) == b\ndef test_a():\n    check(2, 3)\n    check(4, 5)\n",
            ),
            (
                "def test_a():\n    assert dim(2) == 3\ndef test_b():\n    assert dim(4) == 5\n",
                "@pytest.mark.parametrize('a,b', [(2, 3), (4, 5)])\ndef test_dim(a, b):\n    assert dim(a) == b\n",
            ),
            (
                "def test_dim():\n    assert dim(2) == 3\n",
                "class TestLamp:\n    def test_dim(self):\n        assert dim(2) == 3\n",
            ),
            (
                "def test_dim():\n    assert dim(2) == 3\n",
                "@pytest.mark.skipif(sys.platform == 'win32', reason='no lamp')\ndef test_dim():\n    assert dim(2) == 3\n",
            ),
            ("assert dim(2) == 3", "if sys.version_info >= (3, 9):\n    assert dim(2) == 3"),
            ("assert dim(2) == 3", "if on:\n    assert dim(2) == 3\nelse:\n    assert dim(2) == 0"),
            ("assert dim(2) == 3", "try:\n    assert dim(2) == 3\nexcept OSError:\n    pass"),
            (
                "assert dim(2) == 3",
                "try:\n    assert dim(2) == 3\nexcept Exception as odd:\n    raise RuntimeError from odd",
            ),
            ("assert dim(2) == 3", "with mock.patch('house.wire.power'):\n    assert dim(2) == 3"),
            ("assert dim(2) == 3", "assert dim(2) == glow(2)"),
            ("assert a == b", "assert a == a.copy()"),
            (
                "def test_a():\n    assert a()\n",
                "def test_a():\n    assert a()\ndef test_b(check_lamp):\n    check_lamp(2)\n",
            ),
            (
                "def test_a():\n    assert a()\n",
                "def test_a():\n    assert a()\ndef test_b():\n    with pytest.warns(UserWarning):\n        b()\n",
            ),
            (
                "def test_a():\n    assert a()\n",
                "from .helpers import roundtrip\ndef test_a():\n    assert a()\ndef test_b():\n    roundtrip(b)\n",
            ),
            (
                "def test_a():\n    assert a()\n@pytest.mark.skip\ndef test_b():\n    assert b()\n",
                "def test_a():\n    assert a()\n",
            ),
            (
                "@pytest.mark.parametrize('a', [1, 2, 3])\ndef test_dim(a):\n    assert dim(a) == a\n",
                "@pytest.mark.parametrize('a', [1, 2, 4])\ndef test_dim(a):\n    assert dim(a) == a\n",
            ),
            ("assert dim(2) == 3\nreturn", "assert dim(2) == 3"),
            (
                "def test_dim(lamp):\n    assert dim(2) == 3\n",
                "@pytest.mark.usefixtures('lamp')\ndef test_dim():\n    assert dim(2) == 3\n",
            ),
        ],
    );
}

#[test]
fn a_finding_names_the_test_the_line_and_whether_it_is_gone() {
    let old = "class TestLamp:\n    def test_dim(self):\n        assert dim(2) == 3\n        assert glow(4) == 5\n";
    let new = "import os\n\nclass TestLamp:\n    def test_dim(self):\n        assert dim(2)\n";
    let report = weaker(PATH, Some(old.as_bytes()), Some(new.as_bytes()));
    let told: Vec<_> = report.found.iter().map(|one| (one.what, one.test.as_str(), one.line, one.gone)).collect();
    assert_eq!(
        told,
        [(AssertionLoosened, "TestLamp::test_dim", 5, false), (AssertionRemoved, "TestLamp::test_dim", 4, true)]
    );
    assert!(report.found[0].says.contains("`dim(2)` was `dim(2) == 3`"), "{report:#?}");
}
