//! JavaScript and TypeScript.

use super::*;

pub(super) const SCRIPT: &str = r#"import { parse } from "./parse";

export function year(text) {
  return parse(text);
}

if (import.meta.vitest) {
  const { describe, it, expect } = import.meta.vitest;
  const expected = 2026;

  describe("year", () => {
    const text = "2026";

    beforeEach(() => reset());

    it("parses", () => {
      // A comment.
      expect(year(text)).toBe(expected);
      return;
    });

    it.skip("is slow", () => {
      expect(year("9")).toBe(9);
    });

    it.each([[1, 1], [2, 2]])("parses %s", (a, b) => {
      expect(year(a)).toBe(b);
    });
  });

  it("stands alone", async () => {
    expect(await year("1")).toBe(1);
  });
}

test("at the top", () => {
  expect(year(`x
  y`)).toBeNull();
});
"#;

#[test]
fn script_has_names() {
    for path in ["src/year.js", "src/year.ts", "src/year.tsx", "src/year.mjs"] {
        assert_eq!(
            names(path, SCRIPT),
            [
                "describe",
                "it",
                "expect",
                "expected",
                "year > text",
                "year > beforeEach",
                "year > parses",
                "year > is slow",
                "year > parses %s",
                "stands alone",
                "at the top",
            ],
            "{path}"
        );
    }
}

#[test]
fn script_is_free_around_its_tests() {
    edits(
        "src/year.ts",
        SCRIPT,
        &[
            ("the code", "return parse(text);", "return parse(text.trim());", &[]),
            ("a new function", "export function year", "export const now = () => 1;\nexport function year", &[]),
            ("a new test", "  it(\"stands alone\"", "  it(\"is new\", () => {});\n  it(\"stands alone\"", &[]),
            ("a new test in a suite", "    it(\"parses\"", "    it(\"is new\", () => {});\n    it(\"parses\"", &[]),
            ("a comment", "      // A comment.\n", "", &[]),
            ("semicolons", "toBe(expected);", "toBe(expected)", &[]),
            ("a comma", "[[1, 1], [2, 2]]", "[[1, 1], [2, 2],]", &[]),
            ("one that runs again", "it.skip(\"is slow\"", "it(\"is slow\"", &[]),
            (
                "a new suite",
                "  it(\"stands alone\"",
                "  describe(\"more\", () => {\n    const expected = 1;\n  });\n  it(\"stands alone\"",
                &[],
            ),
        ],
    );
}

#[test]
fn script_tells_what_was_changed() {
    let all = [
        "at the top",
        "describe",
        "expect",
        "expected",
        "it",
        "stands alone",
        "year > beforeEach",
        "year > is slow",
        "year > parses",
        "year > parses %s",
        "year > text",
    ];
    let changed: Vec<String> = all.iter().map(|name| format!("{name}: changed")).collect();
    let changed: Vec<&str> = changed.iter().map(String::as_str).collect();
    edits(
        "src/year.ts",
        SCRIPT,
        &[
            ("an assertion", "toBe(expected)", "toBeTruthy()", &["year > parses: changed"]),
            ("an expectation", "expected = 2026", "expected = 2027", &["expected: changed"]),
            ("a table", "[[1, 1], [2, 2]]", "[[1, 1]]", &["year > parses %s: changed"]),
            ("a hook", "reset()", "fake()", &["year > beforeEach: changed"]),
            ("a test that is skipped", "it(\"parses\"", "it.skip(\"parses\"", &["year > parses: skipped"]),
            ("a test that is left out", "it(\"parses\"", "xit(\"parses\"", &["year > parses: skipped"]),
            (
                "a suite that is skipped",
                "describe(\"year\"",
                "describe.skip(\"year\"",
                &["year > parses: skipped", "year > parses %s: skipped"],
            ),
            (
                "a suite with options",
                "describe(\"year\", ()",
                "describe(\"year\", { skip: true }, ()",
                &[
                    "year > beforeEach: changed",
                    "year > is slow: changed",
                    "year > parses: changed",
                    "year > parses %s: changed",
                    "year > text: changed",
                ],
            ),
            (
                "a test that is gone",
                "  it(\"stands alone\", async () => {\n    expect(await year(\"1\")).toBe(1);\n  });\n",
                "",
                &["stands alone: gone"],
            ),
            (
                "one that is run alone",
                "  it(\"stands alone\"",
                "  it.only(\"stands alone\"",
                &["at the top: skipped", "year > parses: skipped", "year > parses %s: skipped"],
            ),
            ("text in a template", "`x\n  y`", "`x y`", &["at the top: changed"]),
            ("a line break that ends a statement", "return;", "return\n      expect(1);", &["year > parses: changed"]),
            ("another block", "if (import.meta.vitest) {", "if (import.meta.vitest && false) {", &changed[1..]),
            (
                "another meaning",
                "    beforeEach",
                "    const expected = year(text);\n    beforeEach",
                &["year > parses: shadowed by year > expected"],
            ),
            ("in the place of what is tested", "import { parse }", "vi.mock(\"./parse\");\nimport { parse }", &changed),
        ],
    );
    let alone = became("src/year.ts", SCRIPT, &SCRIPT.replace("if (import.meta.vitest)", "if (false)"));
    assert_eq!(
        alone.iter().filter(|said| said.ends_with("gone") || said.ends_with("changed")).count(),
        10,
        "{alone:?}"
    );
}

#[test]
fn a_suite_may_be_called_as_a_line_is_in_rust() {
    let text = "describe(\"mod a\", () => { beforeEach(() => f()); it(\"b\", () => g()); });\n";
    let after = text.replace("beforeEach(() => f());", "");
    assert_eq!(became("a.ts", text, &after), ["mod a > beforeEach: gone"]);
}

#[test]
fn script_has_either_quote() {
    let text = "it('a', () => {\n  expect(f('x')).toBe(\"it's\");\n  g('\\n');\n});\n";
    for (from, to) in [("'a'", "\"a\""), ("'x'", "\"x\""), ("\"it's\"", "'it\\'s'"), ("'\\n'", "\"\\n\"")] {
        let other = text.replacen(from, to, 1);
        assert_ne!(text, other, "{from}");
        assert_eq!((became("a.ts", text, &other), became("a.ts", &other, text)), (vec![], vec![]), "{to}");
    }
    for (from, to) in [("'x'", "`x`"), ("'x'", "x"), ("'x'", "'y'"), ("'\\n'", "'n'"), ("'x'", "/x/")] {
        assert_eq!(became("a.ts", text, &text.replacen(from, to, 1)), ["a: changed"], "{to}");
    }
}

#[test]
fn what_says_whether_tests_are_run_is_not_set() {
    let count = frozen("src/year.ts", SCRIPT).len();
    let with = |line: &str| {
        became("src/year.ts", SCRIPT, &SCRIPT.replacen("export function", &format!("{line}\nexport function"), 1))
    };
    for line in [
        "import.meta.vitest = undefined;",
        "import . meta . vitest = undefined;",
        "import.meta['vitest'] = undefined;",
        "import.meta.vitest &&= null;",
        "({ a: import.meta.vitest } = {});",
        "[import.meta.vitest] = [];",
        "delete import.meta.vitest;",
        "function f() { import.meta.vitest = fake; }",
        "Object.assign(import.meta, { vitest: undefined });",
        "Object.defineProperty(import.meta, 'vitest', {});",
        "Reflect.deleteProperty(import.meta, 'vitest');",
        "const meta = import.meta;",
    ] {
        let told = with(line);
        assert_eq!(
            (told.len(), told.iter().all(|said| said.ends_with(": changed"))),
            (count, true),
            "{line}: {told:?}"
        );
    }
    for line in [
        "const url = import.meta.url;",
        "Object.assign(settings, import.meta.env);",
        "Object.keys(import.meta.env);",
        "const { env } = import.meta;",
        "if (import.meta.vitest) later();",
    ] {
        assert_eq!(with(line), [""; 0], "{line}");
    }
}

#[test]
fn what_is_taken_out_of_vitest_is_held_name_by_name() {
    edits(
        "src/year.ts",
        SCRIPT,
        &[
            ("another name", "{ describe, it, expect }", "{ describe, it, vi, expect }", &[]),
            ("another order", "{ describe, it, expect }", "{ expect, it, describe, }", &[]),
        ],
    );
    let told = became(
        "src/year.ts",
        SCRIPT,
        &SCRIPT.replace("{ describe, it, expect } = import", "{ describe, it, expect: it2, assert: expect } = import"),
    );
    assert!(told.contains(&"expect: changed".to_owned()), "{told:?}");
    let told = became("src/year.ts", SCRIPT, &SCRIPT.replace("expect } = import.meta.vitest", "expect } = fake"));
    assert_eq!(told, ["describe: changed", "expect: changed", "it: changed"]);
    for name in ["{ describe, it, expect = fake }", "{ describe, it, ...expect }"] {
        let told = became("src/year.ts", SCRIPT, &SCRIPT.replace("{ describe, it, expect }", name));
        assert!(told.contains(&"expect: gone".to_owned()), "{told:?}");
    }
}

const NODE: &str = "import test from 'node:test'\nimport { parse } from './parse.mjs'\nimport assert from 'node:assert'\nexport const add = (a, b) => a + b\ntest('adds', () => { assert.equal(add(1, 2), 3) })\n";

#[test]
fn what_tests_speak_through_comes_from_where_it_came() {
    assert_eq!(names("src/m.mjs", NODE), ["adds", "what assert means", "what test means"]);
    edits(
        "src/m.mjs",
        NODE,
        &[
            ("another test", "'node:test'", "'./fake.mjs'", &["what test means: changed"]),
            (
                "another assert",
                "import assert from 'node:assert'",
                "import { equal as assert } from './fake.mjs'",
                &["what assert means: changed"],
            ),
            (
                "one of its own",
                "import assert from 'node:assert'",
                "const assert = { equal() {} }",
                &["what assert means: changed"],
            ),
            ("a stricter one", "'node:assert'", "'node:assert/strict'", &["what assert means: changed"]),
            ("a setter", "export", "assert.equal = () => {}\nexport", &["adds: shadowed by assert.equal"]),
            ("by a key", "export", "assert['equal'] = f\nexport", &["adds: shadowed by assert['equal']"]),
            (
                "at once",
                "export",
                "Object.assign(assert, { equal() {} })\nexport",
                &["adds: shadowed by Object.assign(assert"],
            ),
            ("all of it", "export", "Object.assign(assert, fake)\nexport", &["adds: shadowed by Object.assign(assert"]),
            ("the code", "a + b", "b + a", &[]),
            ("an import of the code", "./parse.mjs", "./read.mjs", &[]),
            ("without its scheme", "'node:assert'", "\"assert\"", &[]),
            ("another name beside it", "import test from", "import test, { mock } from", &[]),
            ("a new import", "export", "import { expect } from 'chai'\nexport", &[]),
            ("another method", "export", "assert.near = () => {}\nexport", &[]),
            ("an object of the code", "export", "table.equal = () => {}\nexport", &[]),
        ],
    );
    let own = |to: &str| format!("const context = {to};\nit('a', () => {{ f(context); }});\n");
    assert_eq!(became("a.ts", &own("1"), &own("2")), [""; 0], "a name that code has for something else");
    // What was there for everybody may be named.
    let global = NODE.replace("import test from 'node:test'\n", "");
    assert_eq!(became("src/m.mjs", &global, &format!("import {{ test }} from 'vitest'\n{global}")), [""; 0]);
    let fake = became("src/m.mjs", &global, &format!("import {{ test }} from './fake'\n{global}"));
    assert_eq!(fake, ["adds: shadowed by what test means"]);
}

#[test]
fn what_is_beside_tests_does_not_leave_them_out() {
    let text = "if (import.meta.vitest) {\n  const { it, expect } = import.meta.vitest;\n  it('a', () => { expect(f()).toBe(1); });\n}\n";
    let beside = |line: &str| became("a.ts", text, &text.replacen("  it('a'", &format!("  {line}\n  it('a'"), 1));
    assert_eq!(beside("import.meta.vitest.beforeEach(ctx => ctx.skip());"), ["a: decided by beforeEach"]);
    assert_eq!(beside("beforeEach(ctx => { if (x) ctx.skip(); });"), ["a: decided by beforeEach"]);
    assert_eq!(beside("before(function () { this.skip(); });"), ["a: decided by before"]);
    assert_eq!(names("a.ts", "after(() => { f(); });\n"), [""; 0]);
    assert_eq!(beside("process.exit(0);"), ["a: decided by process"]);
    assert_eq!(beside("expect.extend({ toBe() { return pass; } });"), ["a: shadowed by expect.extend({toBe"]);
    assert_eq!(beside("import.meta.vitest.it.only('b', () => {});"), ["a: skipped"]);
    assert_eq!(beside("f = () => 1;"), ["a: shadowed by f = ( ) => 1"]);
    for line in [
        "beforeEach(() => reset());",
        "expect.extend({ toBeNear() { return near; } });",
        "import.meta.vitest.it('b', () => {});",
        "describe('c', () => { beforeEach(ctx => ctx.skip()); it('d', () => {}); });",
        "g = () => 1;",
    ] {
        assert_eq!(beside(line), [""; 0], "{line}");
    }
    let other = format!("{text}if (import.meta.vitest) {{\n  import.meta.vitest.it.only('z', () => {{}});\n}}\n");
    assert_eq!(became("a.ts", text, &other), ["a: skipped"]);
}
