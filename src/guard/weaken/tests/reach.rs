//! What is never run holds nothing; what only looks so does.

use super::super::What::*;
use super::*;

/// Old checks, what stands around or before them now, and that they are not reached.
fn unreached(path: &str, wrap: fn(&str) -> String, old: &str, news: &[&str]) {
    told(path, wrap, &news.iter().map(|new| (Skipped, old, *new)).collect::<Vec<_>>());
}

fn reached(path: &str, wrap: fn(&str) -> String, old: &str, news: &[&str]) {
    quiet(path, wrap, &news.iter().map(|new| (old, *new)).collect::<Vec<_>>());
}

#[test]
fn what_python_never_reaches_is_not_checked() {
    let old = "assert dim(2) == 3";
    unreached(
        python::PATH,
        python::file,
        old,
        &[
            "if True:\n    return\nassert dim(2) == 3",
            "if 1:\n    return\nassert dim(2) == 3",
            "if not False:\n    return\nassert dim(2) == 3",
            "if on or True:\n    return\nassert dim(2) == 3",
            "if 1 == 1:\n    return\nassert dim(2) == 3",
            "if True:\n    pytest.skip('later')\nassert dim(2) == 3",
            "if True:\n    raise unittest.SkipTest('later')\nassert dim(2) == 3",
            "with lamp():\n    pytest.skip('later')\nassert dim(2) == 3",
            "with lamp():\n    return\n    assert dim(2) == 3",
            "try:\n    pytest.skip('later')\nfinally:\n    pass\nassert dim(2) == 3",
            "pytest.exit('later')\nassert dim(2) == 3",
            "assume(False)\nassert dim(2) == 3",
            "while False:\n    assert dim(2) == 3",
            "while 0:\n    assert dim(2) == 3",
            "if '':\n    assert dim(2) == 3",
            "if on and False:\n    assert dim(2) == 3",
            "if TYPE_CHECKING:\n    assert dim(2) == 3",
            "if True:\n    pass\nelse:\n    assert dim(2) == 3",
            "for a in []:\n    assert dim(2) == 3",
            "for a in ():\n    assert dim(2) == 3",
            "for a in range(0):\n    assert dim(2) == 3",
            "for a in lamps:\n    continue\n    assert dim(2) == 3",
            "raise Later\nassert dim(2) == 3",
            "from pytest import skip\ndef test_dim():\n    skip('later')\n    assert dim(2) == 3\n",
            "def test_dim():\n    def check():\n        assert dim(2) == 3\n",
            "def test_dim():\n    assert glow()\n    def check():\n        assert dim(2) == 3\n",
        ],
    );
    reached(
        python::PATH,
        python::file,
        old,
        &[
            "if sys.platform == 'win32':\n    return\nassert dim(2) == 3",
            "if not on:\n    pytest.skip('no lamp')\nassert dim(2) == 3",
            "if on and True:\n    pytest.skip('no lamp')\nassert dim(2) == 3",
            "if True:\n    assert dim(2) == 3",
            "while True:\n    assert dim(2) == 3\n    break",
            "for a in [2]:\n    assert dim(a) == 3",
            "for a in lamps:\n    if not a:\n        continue\n    assert dim(2) == 3",
            "with pytest.raises(Skipped):\n    pytest.skip('later')\nassert dim(2) == 3",
            "with self.subTest('low'):\n    self.skipTest('later')\nassert dim(2) == 3",
            "with pytest.raises(Later):\n    raise Later\nassert dim(2) == 3",
            "try:\n    raise Later\nexcept Later:\n    assert dim(2) == 3",
            "assume(a > 2)\nassert dim(2) == 3",
            "skip('a step')\nassert dim(2) == 3",
            "def test_dim():\n    def check():\n        assert dim(2) == 3\n    check()\n",
            "def test_dim():\n    def check():\n        return\n    lamp(check)\n    assert dim(2) == 3\n",
            "def test_dim():\n    @lamp.on\n    def check():\n        assert dim(2) == 3\n",
            "def test_dim():\n    class Lamp:\n        def glow(self):\n            assert dim(2) == 3\n    run(Lamp())\n",
            "def test_dim():\n    def other():\n        pytest.skip('later')\n    run(other)\n    assert dim(2) == 3\n",
        ],
    );
}

#[test]
fn what_javascript_never_reaches_is_not_checked() {
    let old = "expect(dim(2)).toBe(3);";
    let test = "it('dims', async () => { expect(dim(2)).toBe(3); });\n";
    unreached(
        script::PATH,
        script::file,
        old,
        &[
            "if (true) { return; }\nexpect(dim(2)).toBe(3);",
            "if (true) return;\nexpect(dim(2)).toBe(3);",
            "if (!0) return;\nexpect(dim(2)).toBe(3);",
            "if (1) { this.skip(); }\nexpect(dim(2)).toBe(3);",
            "return this.skip();\nexpect(dim(2)).toBe(3);",
            "ctx.skip();\nexpect(dim(2)).toBe(3);",
            "pending();\nexpect(dim(2)).toBe(3);",
            "{ return; }\nexpect(dim(2)).toBe(3);",
            "while (false) {\n  expect(dim(2)).toBe(3);\n}",
            "if (true) {} else {\n  expect(dim(2)).toBe(3);\n}",
            "if (on && false) {\n  expect(dim(2)).toBe(3);\n}",
            "false && expect(dim(2)).toBe(3);",
            "true || expect(dim(2)).toBe(3);",
            "throw later;\nexpect(dim(2)).toBe(3);",
            "for (const a of []) {\n  expect(dim(2)).toBe(3);\n}",
            "[].forEach(() => {\n  expect(dim(2)).toBe(3);\n});",
            "const check = () => {\n  expect(dim(2)).toBe(3);\n};",
            "function check() {\n  expect(dim(2)).toBe(3);\n}",
        ],
    );
    let skipped = ["it.skipIf(true)", "it.runIf(false)", "it.skip", "xit"];
    for name in skipped {
        told(script::PATH, script::file, &[(Skipped, test, &test.replacen("it", name, 1))]);
    }
    told(script::PATH, script::file, &[(Skipped, test, &test.replace("{ expect", "{ test.skip(); expect"))]);
    told(script::PATH, script::file, &[(Skipped, test, &test.replace("{ expect", "{ test.fixme(true, 'x'); expect"))]);
    quiet(
        script::PATH,
        script::file,
        &[(test, &test.replace("{ expect", "{ test.skip(browser === 'old', 'x'); expect"))],
    );
    quiet(script::PATH, script::file, &[(test, &test.replacen("it", "it.skipIf(windows)", 1))]);
    reached(
        script::PATH,
        script::file,
        old,
        &[
            "if (windows) return;\nexpect(dim(2)).toBe(3);",
            "if (windows) { this.skip(); }\nexpect(dim(2)).toBe(3);",
            "lamp.skip();\nexpect(dim(2)).toBe(3);",
            "lamps.forEach(() => { return; });\nexpect(dim(2)).toBe(3);",
            "[2].forEach((a) => {\n  expect(dim(a)).toBe(3);\n});",
            "on && expect(on).toBe(true);\nexpect(dim(2)).toBe(3);",
            "check();\nreturn;\nfunction check() {\n  expect(dim(2)).toBe(3);\n}",
            "const check = () => {\n  expect(dim(2)).toBe(3);\n};\nlamp.on('dim', check);",
            "switch (on) {\n  case 1: return;\n}\nexpect(dim(2)).toBe(3);",
        ],
    );
}

#[test]
fn what_go_never_reaches_is_not_checked() {
    let old = "if Dim(2) != 3 {\n\tt.Fatal(1)\n}";
    unreached(
        go::PATH,
        go::file,
        old,
        &[
            "if true {\n\treturn\n}\nif Dim(2) != 3 {\n\tt.Fatal(1)\n}",
            "if 1 == 1 {\n\tt.Skip()\n}\nif Dim(2) != 3 {\n\tt.Fatal(1)\n}",
            "if true || on {\n\tt.Skipf(\"later\")\n}\nif Dim(2) != 3 {\n\tt.Fatal(1)\n}",
            "{\n\treturn\n}\nif Dim(2) != 3 {\n\tt.Fatal(1)\n}",
            "runtime.Goexit()\nif Dim(2) != 3 {\n\tt.Fatal(1)\n}",
            "os.Exit(0)\nif Dim(2) != 3 {\n\tt.Fatal(1)\n}",
            "for false {\n\tif Dim(2) != 3 {\n\t\tt.Fatal(1)\n\t}\n}",
            "for range []int{} {\n\tif Dim(2) != 3 {\n\t\tt.Fatal(1)\n\t}\n}",
            "for _, a := range lamps {\n\tcontinue\n\tif Dim(2) != 3 {\n\t\tt.Fatal(a)\n\t}\n}",
            "_ = func() {\n\tif Dim(2) != 3 {\n\t\tt.Fatal(1)\n\t}\n}",
            "check := func() {\n\tif Dim(2) != 3 {\n\t\tt.Fatal(1)\n\t}\n}\n_ = check",
        ],
    );
    reached(
        go::PATH,
        go::file,
        old,
        &[
            "if testing.Short() {\n\tt.Skip()\n}\nif Dim(2) != 3 {\n\tt.Fatal(1)\n}",
            "if runtime.GOOS == \"windows\" {\n\treturn\n}\nif Dim(2) != 3 {\n\tt.Fatal(1)\n}",
            "for _, a := range []int{2} {\n\tif Dim(a) != 3 {\n\t\tt.Fatal(1)\n\t}\n}",
            "for _, a := range lamps {\n\tif a == 0 {\n\t\tcontinue\n\t}\n\tif Dim(2) != 3 {\n\t\tt.Fatal(a)\n\t}\n}",
            "check := func() {\n\tif Dim(2) != 3 {\n\t\tt.Fatal(1)\n\t}\n}\ncheck()",
            "go func() {\n\treturn\n}()\nif Dim(2) != 3 {\n\tt.Fatal(1)\n}",
            "t.Cleanup(func() {\n\tif true {\n\t\treturn\n\t}\n})\nif Dim(2) != 3 {\n\tt.Fatal(1)\n}",
        ],
    );
}

#[test]
fn what_rust_never_reaches_is_not_checked() {
    let old = "assert_eq!(dim(2), 3);";
    unreached(
        rust::PATH,
        rust::file,
        old,
        &[
            "if true { return; }\nassert_eq!(dim(2), 3);",
            "if true { return }\nassert_eq!(dim(2), 3);",
            "if !false { return; }\nassert_eq!(dim(2), 3);",
            "if cfg!(test) { return; }\nassert_eq!(dim(2), 3);",
            "if cfg!(any()) {\n    assert_eq!(dim(2), 3);\n}",
            "{ return; }\nassert_eq!(dim(2), 3);",
            "std::process::exit(0);\nassert_eq!(dim(2), 3);",
            "while false {\n    assert_eq!(dim(2), 3);\n}",
            "for _ in 0..0 {\n    assert_eq!(dim(2), 3);\n}",
            "for _ in [] as [u8; 0] {\n    assert_eq!(dim(2), 3);\n}",
            "for _ in Vec::<u8>::new() {\n    assert_eq!(dim(2), 3);\n}",
            "let check = || {\n    assert_eq!(dim(2), 3);\n};",
            "let _ = || {\n    assert_eq!(dim(2), 3);\n};",
            "let _ = async {\n    assert_eq!(dim(2), 3);\n};",
            "#[cfg(any())]\n{\n    assert_eq!(dim(2), 3);\n}",
            "#[test]\nfn dims() {\n    fn check() {\n        assert_eq!(dim(2), 3);\n    }\n}\n",
            "#[test]\n#[cfg_attr(all(), ignore)]\nfn dims() {\n    assert_eq!(dim(2), 3);\n}\n",
        ],
    );
    reached(
        rust::PATH,
        rust::file,
        old,
        &[
            "if cfg!(windows) { return; }\nassert_eq!(dim(2), 3);",
            "for a in [2] {\n    assert_eq!(dim(a), 3);\n}",
            "for a in lamps {\n    if a > 2 { continue; }\n    assert_eq!(dim(2), 3);\n}",
            "loop {\n    assert_eq!(dim(2), 3);\n    break;\n}",
            "let check = || {\n    assert_eq!(dim(2), 3);\n};\ncheck();",
            "let lamp = async {\n    assert_eq!(dim(2), 3);\n};\nlamp.await;",
            "let lamp = || { return; };\nlamp();\nassert_eq!(dim(2), 3);",
            "#[cfg(unix)]\n{\n    assert_eq!(dim(2), 3);\n}",
            "#[test]\nfn dims() {\n    check();\n    return;\n    fn check() {\n        assert_eq!(dim(2), 3);\n    }\n}\n",
            "#[test]\n#[cfg_attr(miri, ignore)]\nfn dims() {\n    assert_eq!(dim(2), 3);\n}\n",
        ],
    );
}
