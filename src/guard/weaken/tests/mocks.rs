//! A mock of what is tested, and one of what that uses.

use super::super::What::*;
use super::*;

#[test]
fn a_mock_of_what_a_python_test_looks_at_is_found() {
    let of = |head: &str, body: &str| format!("{head}\n\ndef test_dim():\n{body}\n");
    let plain = "    assert dim(2) == 3";
    let lamp = "    assert lamp.dim(2) == 3";
    let name = "from house.lamp import dim";
    let module = "from house import lamp";
    let other = "from house.lamp import dim as darken";
    let cases = [
        (name, plain, "    with mock.patch('house.lamp.dim', return_value=3):\n        assert dim(2) == 3"),
        (name, plain, "    with mock.patch(__name__ + '.dim', return_value=3):\n        assert dim(2) == 3"),
        (name, plain, "    with mock.patch(f'{__name__}.dim', return_value=3):\n        assert dim(2) == 3"),
        (name, plain, "    dim = MagicMock(return_value=3)\n    assert dim(2) == 3"),
        (name, plain, "    def dim(a):\n        return 3\n    assert dim(2) == 3"),
        (module, lamp, "    mocker.patch('house.lamp.dim', return_value=3)\n    assert lamp.dim(2) == 3"),
        (module, lamp, "    lamp.dim = Mock(return_value=3)\n    assert lamp.dim(2) == 3"),
        (
            "from house import lamp as light",
            "    assert light.dim(2) == 3",
            "    with mock.patch('house.lamp.dim', return_value=3):\n        assert light.dim(2) == 3",
        ),
        (
            other,
            "    assert darken(2) == 3",
            "    with mock.patch('house.lamp.dim', return_value=3):\n        assert darken(2) == 3",
        ),
        (
            "from house.lamp import Lamp",
            "    assert Lamp().dim(2) == 3",
            "    with mock.patch.object(Lamp, 'dim', return_value=3):\n        assert Lamp().dim(2) == 3",
        ),
        (
            "from house.lamp import Lamp",
            "    lamp = Lamp()\n    assert lamp.dim(2) == 3",
            "    lamp = Lamp()\n    with mock.patch.object(Lamp, 'dim', return_value=3):\n        assert lamp.dim(2) == 3",
        ),
    ];
    for (head, old, new) in cases {
        told(python::PATH, str::to_owned, &[(MocksSubject, &of(head, old), &of(head, new))]);
    }
    let class = "from house import lamp\nclass TestLamp:\n    def test_dim(self):\n        assert lamp.dim(2) == 3\n";
    let patched = class.replace("class", "@patch('house.lamp.dim', Mock(return_value=3))\nclass");
    told(python::PATH, str::to_owned, &[(MocksSubject, class, &patched)]);
    let honest = [
        (name, plain, "    with mock.patch('house.lamp.power', return_value=3):\n        assert dim(2) == 3"),
        (name, plain, "    def power(a):\n        return 3\n    assert dim(power) == 3"),
        (name, plain, "    power = Mock(return_value=3)\n    assert dim(power) == 3"),
        (module, lamp, "    lamp.power = Mock(return_value=3)\n    assert lamp.dim(2) == 3"),
        (
            "from house.lamp import Lamp",
            "    assert Lamp().dim(2) == 3",
            "    with mock.patch.object(Lamp, 'power', return_value=3):\n        assert Lamp().dim(2) == 3",
        ),
        (
            "from house.lamp import Lamp, Wire",
            "    assert Lamp().dim(2) == 3",
            "    with mock.patch.object(Wire, 'dim', return_value=3):\n        assert Lamp().dim(2) == 3",
        ),
        (name, plain, "    with mock.patch('house.lamp.dim', wraps=dim):\n        assert dim(2) == 3"),
    ];
    for (head, old, new) in honest {
        quiet(python::PATH, str::to_owned, &[(&of(head, old), &of(head, new))]);
    }
}

#[test]
fn a_mock_of_the_module_that_a_javascript_test_looks_at_is_found() {
    let test = "it('dims', () => { expect(dim(2)).toBe(3); });\n";
    let named = "import { dim } from '../thing';\n";
    let all = "import * as thing from '../thing';\n";
    let spaced = "it('dims', () => { expect(thing.dim(2)).toBe(3); });\n";
    let required = "const { dim } = require('../thing');\n";
    let aliased = "import { dark as dim } from '@/thing';\n";
    let cases = [
        (named, "jest.mock('../thing');\n", test),
        (named, "vi.mock('../thing', () => ({ dim: () => 3 }));\n", test),
        (named, "vi.mock(import('../thing'));\n", test),
        (named, "jest.doMock('../thing');\n", test),
        (named, "mock.module('../thing', { namedExports: { dim: () => 3 } });\n", test),
        (named, "jest.mock('../thing');\n", "it('dims', () => { const a = dim(2); expect(a).toBe(3); });\n"),
        (required, "jest.mock('../thing');\n", test),
        (all, "jest.mock('../thing');\n", spaced),
        (aliased, "vi.mock('@/thing');\n", test),
        (named, "vi.mock('@/thing');\n", test),
        ("import { dim } from '../src/deep/thing.js';\n", "vi.mock('~/deep/thing');\n", test),
    ];
    for (head, mock, test) in cases {
        told(script::PATH, str::to_owned, &[(MocksSubject, &format!("{head}{test}"), &format!("{head}{mock}{test}"))]);
    }
    let given = "it('dims', () => { thing.dim = jest.fn(() => 3); expect(thing.dim(2)).toBe(3); });\n";
    told(script::PATH, str::to_owned, &[(MocksSubject, &format!("{all}{spaced}"), &format!("{all}{given}"))]);
    let method = |more: &str| {
        format!("{all}it('dims', (t) => {{ t.mock.method(thing, 'dim'{more}); expect(thing.dim(2)).toBe(3); }});\n")
    };
    told(script::PATH, str::to_owned, &[(MocksSubject, &format!("{all}{spaced}"), &method(", () => 3"))]);
    quiet(script::PATH, str::to_owned, &[(&format!("{all}{spaced}"), &method(""))]);
    let wired = "import { dim } from '../thing';\nimport { wire } from '../wire';\n";
    let called = "it('dims', () => { expect(dim(2)).toBe(3); expect(wire).toHaveBeenCalledWith(2); });\n";
    let asked = "it('dims', () => { expect(dim(2)).toBe(3); expect(wire(1)).toBe(1); });\n";
    let honest = [
        (wired, "jest.mock('../wire');\n", test),
        (named, "vi.mock('@/other/wire');\n", test),
        (wired, "jest.mock('../wire');\n", called),
        (wired, "jest.mock('../wire');\n", asked),
        (named, "vi.mock('../thing', { spy: true });\n", test),
        (named, "jest.mock('../thing', () => ({ ...jest.requireActual('../thing'), power: 1 }));\n", test),
        (
            "import { readFileSync } from 'fs';\n",
            "vi.mock('fs');\n",
            "it('a', () => { expect(readFileSync('a')).toBe('b'); });\n",
        ),
    ];
    for (head, mock, test) in honest {
        quiet(script::PATH, str::to_owned, &[(&format!("{head}{test}"), &format!("{head}{mock}{test}"))]);
    }
    // A file that had the mock before has it still.
    let before = format!("{named}jest.mock('../thing');\n{test}");
    quiet(script::PATH, str::to_owned, &[(&before, &before.replace("toBe(3)", "toBe(4)"))]);
}

#[test]
fn a_function_beside_the_tests_that_takes_the_place_of_what_is_tested_is_found() {
    let script = |head: &str| format!("{head}\nit('dims', () => {{ expect(dim(2)).toBe(3); }});\n");
    let python = |head: &str| format!("{head}\n\ndef test_dim():\n    assert dim(2) == 3\n");
    let rust = |head: &str| format!("{head}\n\n#[test]\nfn dims() {{\n    assert_eq!(dim(2), 3);\n}}\n");
    let go = |head: &str| {
        format!(
            "package lamp\n\n{head}\n\nfunc TestDim(t *testing.T) {{\n\tif dim(2) != 3 {{\n\t\tt.Fatal(1)\n\t}}\n}}\n"
        )
    };
    let taken = script("import { dim } from '../thing';");
    for head in ["const dim = () => 3;", "function dim() { return 3; }", "const dim = function (a) { return 3; };"] {
        told(script::PATH, str::to_owned, &[(MocksSubject, &taken, &script(head))]);
    }
    let given = python("from house.lamp import dim");
    told(python::PATH, str::to_owned, &[(MocksSubject, &given, &python("def dim(a):\n    return 3"))]);
    let used = rust("use lamp::dim;");
    told(rust::PATH, str::to_owned, &[(MocksSubject, &used, &rust("fn dim(_: u8) -> u8 {\n    3\n}"))]);
    told(go::PATH, str::to_owned, &[(MocksSubject, &go(""), &go("func dim(a int) int {\n\treturn 3\n}"))]);
    quiet(
        script::PATH,
        str::to_owned,
        &[
            (&taken, &script("import { dark } from '../thing';\nconst dim = (a) => dark(a);")),
            (&taken, &script("import { dim } from '../thing';\nconst glow = () => 3;")),
            (&script("const dim = () => 3;"), &script("const dim = () => 4;")),
        ],
    );
}
