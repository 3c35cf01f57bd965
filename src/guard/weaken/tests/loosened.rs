//! Less is said of the same thing; and what looks like it, and is as much.

use super::super::What::*;
use super::*;

const LOW: &str = "assert dim(2) == 3\nassert on";

#[test]
fn less_of_the_same_in_python_is_found() {
    let raises = "with pytest.raises(KeyError):\n    dim(-1)";
    let matched = "with pytest.raises(KeyError, match='low'):\n    dim(-1)";
    let list = "assert dim(2) == [1, 2, 3]";
    told(
        python::PATH,
        python::file,
        &[
            (AssertionLoosened, LOW, "assert dim(2) == 3 or 1\nassert on"),
            (AssertionLoosened, LOW, "assert dim(2) == 3 or not False\nassert on"),
            (AssertionLoosened, LOW, "assert (dim(2) == 3, 'level')\nassert on"),
            (AssertionLoosened, LOW, "assert dim(2) == 3 if on else True\nassert on"),
            (AssertionLoosened, LOW, "if dim(2) != 3:\n    print('odd')\nassert on"),
            (AssertionLoosened, raises, "with pytest.raises((KeyError, Exception)):\n    dim(-1)"),
            (AssertionLoosened, raises, "with pytest.raises((KeyError, TypeError)):\n    dim(-1)"),
            (AssertionLoosened, raises, "with pytest.raises(builtins.Exception):\n    dim(-1)"),
            (AssertionLoosened, raises, "with pytest.raises(LookupError):\n    dim(-1)"),
            (AssertionLoosened, matched, "with pytest.raises(KeyError, match='.*'):\n    dim(-1)"),
            (AssertionLoosened, matched, "with pytest.raises(KeyError, match=''):\n    dim(-1)"),
            (AssertionLoosened, list, "assert len(dim(2)) == 3"),
            (AssertionLoosened, list, "assert len(dim(2)) > 0"),
            (AssertionLoosened, "assert x == [1, 2, 3]", "assert len(x) == 3"),
            (AssertionLoosened, "m.assert_called_once_with(3)", "assert m.called"),
            (ToleranceWidened, "assert dim(2) == approx(3.1)", "assert dim(2) == approx(3.1, abs=1)"),
            (ToleranceWidened, "assert dim(2) == approx(3.1, 0.001)", "assert dim(2) == approx(3.1, 0.5)"),
            (ToleranceWidened, "assert dim(2) == 3.14159", "assert round(dim(2), 1) == 3.1"),
            (ToleranceWidened, "assert round(dim(2), 3) == 3.142", "assert round(dim(2)) == 3"),
            (ExpectationFromCode, "x = dim(2)\nassert x == 3", "x = dim(2)\ny = x\nassert x == y"),
            (ExpectationFromCode, "x = dim(2)\nassert x == 3", "x = dim(2)\ny = copy(x)\nassert x == y"),
        ],
    );
    quiet(
        python::PATH,
        python::file,
        &[
            (LOW, "if dim(2) != 3:\n    print('odd')\nassert dim(2) == 3\nassert on"),
            (LOW, "if dim(2) != 3:\n    pytest.fail('odd')\nassert dim(2) == 3\nassert on"),
            (LOW, "if verbose:\n    print('odd')\nassert dim(2) == 3\nassert on"),
            (LOW, "assert dim(2) == 4 and on"),
            ("assert (dim(2) == 3, 'level')", "assert dim(2) == 3, 'level'"),
            (raises, "with pytest.raises(IndexError):\n    dim(-1)"),
            ("with pytest.raises(LookupError):\n    dim(-1)", raises),
            ("with pytest.raises((KeyError, TypeError)):\n    dim(-1)", raises),
            (raises, matched),
            (matched, "with pytest.raises(pytest.fail.Exception, match='low'):\n    dim(-1)"),
            (matched, "with pytest.raises(KeyError, match='lower'):\n    dim(-1)"),
            (list, "assert dim(2) == [1, 2, 3, 4]"),
            ("assert len(dim(2)) == 3", list),
            ("assert len(dim(2)) == 3", "assert len(dim(2)) == 4"),
            ("assert x == [1, 2]", "assert len(x) == 2\nassert x[0] == 1\nassert x[1] == 2"),
            ("assert m.called", "m.assert_called_once_with(3)"),
            ("assert dim(2) == approx(3.1)", "assert dim(2) == approx(3.1, abs=1e-6)"),
            ("assert dim(2) == approx(3e9)", "assert dim(2) == approx(3e9, abs=100)"),
            ("assert round(dim(2), 1) == 3.1", "assert round(dim(2), 3) == 3.142"),
            ("assert round(dim(2), 1) == 3.1", "assert dim(2) == 3.14159"),
            ("x = dim(2)\nassert x == 3", "x = dim(2)\ny = 3\nassert x == y"),
        ],
    );
}

#[test]
fn less_of_the_same_in_javascript_is_found() {
    let both = "expect(dim(2)).toBe(3);\nexpect(on).toBe(1);";
    let list = "expect(dim(2)).toEqual([1, 2, 3]);";
    told(
        script::PATH,
        script::file,
        &[
            (AssertionLoosened, both, "expect(dim(2) === 3 || true).toBe(true);\nexpect(on).toBe(1);"),
            (AssertionLoosened, both, "if (dim(2) !== 3) console.log('odd');\nexpect(on).toBe(1);"),
            (AssertionLoosened, both, "expect([3, 4, 5]).toContain(dim(2));\nexpect(on).toBe(1);"),
            (AssertionLoosened, both, "expect(typeof dim(2)).toBe('number');\nexpect(on).toBe(1);"),
            (AssertionLoosened, both, "expect(Boolean(dim(2))).toBe(true);\nexpect(on).toBe(1);"),
            (AssertionLoosened, both, "expect(!!dim(2)).toBe(true);\nexpect(on).toBe(1);"),
            (AssertionRemoved, both, "expect(true).toBe(true);\nexpect(on).toBe(1);"),
            (AssertionLoosened, list, "expect(dim(2)).toHaveLength(3);"),
            (AssertionLoosened, list, "expect(dim(2).length).toBeGreaterThan(0);"),
            (AssertionLoosened, "assert.throws(() => dim(-1), RangeError);", "assert.throws(() => dim(-1), Error);"),
            (AssertionLoosened, "expect(() => dim(-1)).toThrow('low');", "expect(() => dim(-1)).toThrow(/.*/);"),
            (AssertionLoosened, "expect(() => dim(-1)).toThrow('low');", "expect(() => dim(-1)).toThrow('');"),
            (AssertsNothing, "await expect(go()).resolves.toBe(3);", "expect(go()).resolves.toBe(3);"),
            (AssertsNothing, "expect(dim(2)).toBe(3);", "expect('a').toEqual('a');"),
        ],
    );
    quiet(
        script::PATH,
        script::file,
        &[
            (both, "if (dim(2) !== 3) console.log('odd');\nexpect(dim(2)).toBe(3);\nexpect(on).toBe(1);"),
            (both, "if (verbose) console.log('odd');\nexpect(dim(2)).toBe(3);\nexpect(on).toBe(1);"),
            (both, "expect(dim(2) === 3).toBe(true);\nexpect(on).toBe(1);"),
            ("expect(dim(2) === 3).toBe(true);", "expect(dim(2)).toBe(3);"),
            ("expect(dim(2)).toHaveLength(3);", list),
            ("expect(dim(2)).toHaveLength(3);", "expect(dim(2).length).toBe(3);"),
            ("assert.throws(() => dim(-1), Error);", "assert.throws(() => dim(-1), RangeError);"),
            ("expect(typeof dim(2)).toBe('number');", "expect(typeof dim(2)).toBe('string');"),
            ("await expect(go()).resolves.toBe(3);", "return expect(go()).resolves.toBe(3);"),
            ("expect(go()).resolves.toBe(3);", "await expect(go()).resolves.toBe(3);"),
            ("expect(dim(2)).toBe(false);", "expect(!dim(2)).toBe(true);"),
        ],
    );
}

#[test]
fn less_of_the_same_in_go_is_found() {
    let low = "if Dim(2) != 3 {\n\tt.Errorf(\"a\")\n}\nif Glow(4) != 5 {\n\tt.Errorf(\"b\")\n}";
    let said = low.replacen("Errorf", "Logf", 1);
    let printed = low.replacen("t.Errorf", "fmt.Println", 1);
    let never = low.replacen("!= 3", "!= 3 && false", 1);
    let also = low.replacen("Dim(2)", "on && Dim(2)", 1);
    let error = "if err != nil {\n\tt.Fatal(err)\n}\nif Glow(4) != 5 {\n\tt.Errorf(\"b\")\n}";
    told(
        go::PATH,
        go::file,
        &[
            (AssertionLoosened, low, &said),
            (AssertionLoosened, low, &printed),
            (AssertionLoosened, low, &never),
            (AssertionLoosened, low, &also),
            (AssertionLoosened, error, &error.replacen("Fatal", "Log", 1)),
            (AssertionLoosened, "assert.Equal(t, 3, Dim(2))", "assert.Contains(t, []int{3, 4}, Dim(2))"),
            (AssertionLoosened, "assert.Equal(t, []int{1, 2}, Dim(2))", "assert.Len(t, Dim(2), 2)"),
            (AssertsNothing, "if Dim(2) != 3 {\n\tt.Fatal(1)\n}", "if Dim(2) != 3 {\n\tt.Log(1)\n}"),
            (AssertsNothing, "if Dim(2) != 3 {\n\tt.Fatal(1)\n}", "if false && Dim(2) != 3 {\n\tt.Fatal(1)\n}"),
        ],
    );
    quiet(
        go::PATH,
        go::file,
        &[
            (&said, low),
            (&also, low),
            (low, &low.replace("Errorf", "Fatalf")),
            (low, &format!("if Dim(2) != 3 {{\n\tt.Log(1)\n}}\n{low}")),
            (low, &format!("if testing.Verbose() {{\n\tt.Log(1)\n}}\n{low}")),
            ("if Dim(2) != 3 {\n\tt.Fatal(1)\n}", "if !tt.fails && Dim(2) != 3 {\n\tt.Fatal(1)\n}"),
            ("assert.Contains(t, []int{3, 4}, Dim(2))", "assert.Equal(t, 3, Dim(2))"),
            ("assert.Len(t, Dim(2), 2)", "assert.Equal(t, []int{1, 2}, Dim(2))"),
        ],
    );
}

#[test]
fn less_of_the_same_in_rust_is_found() {
    told(
        rust::PATH,
        rust::file,
        &[
            (AssertionLoosened, "assert_eq!(dim(2), Err(Low));", "assert!(dim(2).is_err());"),
            (AssertionLoosened, "assert_eq!(dim(2), 3);", "assert!([3, 4].contains(&dim(2)));"),
            (AssertionLoosened, "assert_eq!(dim(2), 3);", "assert!((1..9).contains(&dim(2)));"),
            (AssertionLoosened, "assert_eq!(dim(2), 3);", "assert!(matches!(dim(2), 3 | 4));"),
            (AssertionLoosened, "assert_eq!(dim(2), [1, 2]);", "assert_eq!(dim(2).len(), 2);"),
            (
                AssertionLoosened,
                "assert_eq!(dim(2), 3);\nassert!(on());",
                "if dim(2) != 3 {\n    eprintln!(\"odd\");\n}\nassert!(on());",
            ),
            (AssertsNothing, "assert!(dim(2) == 3);", "assert!(dim(2) == 3 || !false);"),
        ],
    );
    quiet(
        rust::PATH,
        rust::file,
        &[
            ("assert!(dim(2).is_err());", "assert_eq!(dim(2), Err(Low));"),
            ("assert_eq!(dim(2), Err(Low));", "assert!(dim(2).is_ok());"),
            ("assert_eq!(dim(2), Err(Low));", "assert!(matches!(dim(2), Err(Low)));"),
            ("assert!([3, 4].contains(&dim(2)));", "assert_eq!(dim(2), 3);"),
            ("assert_eq!(dim(2).len(), 2);", "assert_eq!(dim(2), [1, 2]);"),
            (
                "assert_eq!(dim(2), 3);\nassert!(on());",
                "if dim(2) != 3 {\n    eprintln!(\"odd\");\n}\nassert_eq!(dim(2), 3);\nassert!(on());",
            ),
        ],
    );
}
