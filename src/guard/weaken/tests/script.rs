use super::super::What::*;
use super::*;

pub(super) const PATH: &str = "src/lamp.test.ts";

/// A body becomes a test; what has its own `it(` or `test(` stays as it is.
pub(super) fn file(text: &str) -> String {
    let whole = ["it(", "test(", "it.", "test.", "describe"].iter().any(|word| text.contains(word));
    if whole { text.to_owned() } else { format!("it('dims', async () => {{\n{text}\n}});\n") }
}

#[test]
fn what_is_weaker_in_javascript_is_found() {
    all_weaker(
        PATH,
        file,
        &[
            (AssertionLoosened, "expect(dim(2)).toBe(3);", "expect(dim(2)).toBeTruthy();"),
            (AssertionLoosened, "expect(dim(2)).toBe(3);", "expect(dim(2)).toBeDefined();"),
            (
                AssertionLoosened,
                "dim(2); expect(on).toHaveBeenCalledExactlyOnceWith(2);",
                "dim(2); expect(on).toHaveBeenCalled();",
            ),
            (
                AssertionRemoved,
                "expect(a()).toBe(1); dim(2); expect(on).toHaveBeenCalledExactlyOnceWith(2);",
                "expect(a()).toBe(1); dim(2);",
            ),
            (AssertionLoosened, "expect(dim(2)).toEqual({ a: 1 });", "expect(dim(2)).not.toBeNull();"),
            (AssertionLoosened, "expect(dim(2)).toBe(3);", "expect(dim(2)).toBeGreaterThan(0);"),
            (AssertionLoosened, "expect(dim(2)).toBe(3);", "expect(dim(2)).not.toBe(0);"),
            (AssertionLoosened, "expect(dim(2)).toBe('low');", "expect(dim(2)).toContain('lo');"),
            (AssertionLoosened, "expect(dim(2)).toBe('low');", "expect(dim(2)).toMatch(/l/);"),
            (AssertionLoosened, "expect(dim(2)).toEqual({ a: 1, b: 2 });", "expect(dim(2)).toMatchObject({ a: 1 });"),
            (AssertionLoosened, "expect(dim(2)).toEqual({ a: 1 });", "expect(dim(2)).toEqual(expect.anything());"),
            (
                AssertionLoosened,
                "expect(dim(2)).toEqual({ a: 1, b: 2 });",
                "expect(dim(2)).toEqual({ a: 1, b: expect.any(Number) });",
            ),
            (AssertionLoosened, "expect(dim(2)).toBe(3);", "expect(dim(2)).toBeInstanceOf(Number);"),
            (AssertionLoosened, "expect(dim(2)).to.equal(3);", "expect(dim(2)).to.be.ok;"),
            (AssertionLoosened, "expect(() => dim(-1)).toThrow(RangeError);", "expect(() => dim(-1)).toThrow();"),
            (
                AssertionLoosened,
                "await expect(dim(-1)).rejects.toThrow('low');",
                "await expect(dim(-1)).rejects.toThrow();",
            ),
            (AssertionLoosened, "assert.equal(dim(2), 3);", "assert.ok(dim(2));"),
            (AssertionLoosened, "assert.strictEqual(dim(2), 3);", "assert(dim(2) > 0);"),
            (AssertionLoosened, "assert.throws(() => dim(-1), RangeError);", "assert.throws(() => dim(-1));"),
            (AssertionLoosened, "expect(level).toBe(3);", "if (level) {\n  expect(level).toBe(3);\n}"),
            (AssertionLoosened, "expect(dim(2)).toContain('low');", "expect(dim(2)).toBeDefined();"),
            (AssertionRemoved, "expect(dim(2)).toBe(3);\nexpect(glow(4)).toBe(5);", "expect(dim(2)).toBe(3);"),
            (
                AssertionRemoved,
                "test.each([[1, 10], [2, 20], [3, 30]])('dims %d', (a, b) => {\n  expect(dim(a)).toBe(b);\n});\n",
                "test.each([[1, 10], [2, 20]])('dims %d', (a, b) => {\n  expect(dim(a)).toBe(b);\n});\n",
            ),
            (
                AssertionRemoved,
                "function check(a) {\n  expect(dim(a)).toBe(a);\n  expect(glow(a)).toBe(2);\n}\nit('dims', () => { check(1); });\n",
                "function check(a) {\n  expect(dim(a)).toBe(a);\n}\nit('dims', () => { check(1); });\n",
            ),
            (ExpectationFromCode, "expect(dim(2)).toBe(3);", "expect(dim(2)).toBe(dim(2));"),
            (
                ExpectationFromCode,
                "expect(dim(2)).toEqual(3);",
                "const expected = dim(2);\nexpect(dim(2)).toEqual(expected);",
            ),
            (
                Skipped,
                "it('dims', () => { expect(dim(2)).toBe(3); });\n",
                "it.skip('dims', () => { expect(dim(2)).toBe(3); });\n",
            ),
            (
                Skipped,
                "it('dims', () => { expect(dim(2)).toBe(3); });\n",
                "xit('dims', () => { expect(dim(2)).toBe(3); });\n",
            ),
            (Skipped, "test('dims', () => { expect(dim(2)).toBe(3); });\n", "test.todo('dims');\n"),
            (
                Skipped,
                "test('dims', () => { expect(dim(2)).toBe(3); });\n",
                "test.failing('dims', () => { expect(dim(2)).toBe(3); });\n",
            ),
            (
                Skipped,
                "test('dims', () => { expect(dim(2)).toBe(3); });\n",
                "test('dims', { skip: true }, () => { expect(dim(2)).toBe(3); });\n",
            ),
            (
                Skipped,
                "describe('lamp', () => { it('dims', () => { expect(dim(2)).toBe(3); }); });\n",
                "describe.skip('lamp', () => { it('dims', () => { expect(dim(2)).toBe(3); }); });\n",
            ),
            (
                Skipped,
                "it('dims', () => { expect(dim(2)).toBe(3); });\nit('glows', () => { expect(glow(2)).toBe(3); });\n",
                "it.only('dims', () => { expect(dim(2)).toBe(3); });\nit('glows', () => { expect(glow(2)).toBe(3); });\n",
            ),
            (Skipped, "expect(dim(2)).toBe(3);", "return;\nexpect(dim(2)).toBe(3);"),
            (Skipped, "expect(dim(2)).toBe(3);", "if (false) {\n  expect(dim(2)).toBe(3);\n}"),
            (CatchAll, "expect(dim(2)).toBe(3);", "try {\n  expect(dim(2)).toBe(3);\n} catch {}"),
            (
                CatchAll,
                "expect(dim(2)).toBe(3);",
                "try {\n  expect(dim(2)).toBe(3);\n} catch (e) {\n  console.log(e);\n}",
            ),
            (
                CatchAll,
                "await go().then((a) => expect(a).toBe(3));",
                "await go().then((a) => expect(a).toBe(3)).catch(() => {});",
            ),
            (ToleranceWidened, "expect(dim(2)).toBeCloseTo(3.1, 5);", "expect(dim(2)).toBeCloseTo(3.1, 1);"),
            (ToleranceWidened, "expect(dim(2)).to.be.closeTo(3.1, 0.001);", "expect(dim(2)).to.be.closeTo(3.1, 1);"),
            (
                MocksSubject,
                "it('dims', () => { expect(dim(2)).toBe(3); });\n",
                "jest.mock('./lamp');\nit('dims', () => { expect(dim(2)).toBe(3); });\n",
            ),
            (
                MocksSubject,
                "expect(lamp.dim(2)).toBe(3);",
                "jest.spyOn(lamp, 'dim').mockReturnValue(3);\nexpect(lamp.dim(2)).toBe(3);",
            ),
            (AssertsNothing, "expect(dim(2)).toBe(3);", "dim(2);"),
            (AssertsNothing, "expect(dim(2)).toBe(3);", "expect(dim(2));"),
            (
                AssertsNothing,
                "it('a', () => { expect(a()).toBe(1); });\n",
                "it('a', () => { expect(a()).toBe(1); });\nit('dims', () => { dim(2); });\n",
            ),
            (
                TestRemoved,
                "it('a', () => { expect(a()).toBe(1); });\nit('dims', () => { expect(dim(2)).toBe(3); });\n",
                "it('a', () => { expect(a()).toBe(1); });\n",
            ),
            (AssertionLoosened, "t.is(dim(2), 3);", "t.true(dim(2) > 0);"),
            (AssertionLoosened, "dim(2).should.equal(3);", "dim(2).should.exist;"),
        ],
    );
}

#[test]
fn honest_changes_in_javascript_are_let_be() {
    all_honest(
        PATH,
        file,
        &[
            ("expect(dim(2)).toBe(3);", "expect(dim(2)).toBe(4);"),
            (
                "dim(2); expect(on).toHaveBeenCalledTimes(1); expect(on).toHaveBeenCalledWith(2);",
                "dim(2); expect(on).toHaveBeenCalledExactlyOnceWith(2);",
            ),
            ("expect(dim(2)).toBeTruthy();", "expect(dim(2)).toBe(3);"),
            ("expect(dim(2)).toBe(3);", "expect(dim(2)).toEqual(3);"),
            ("expect(dim(2)).toBe(3)", "expect( dim(2) ).toBe( 3 );"),
            ("expect(dim('a')).toBe(3);", "expect(dim(\"a\")).toBe(3);"),
            ("expect(dim(2)).toBe(true);", "expect(dim(2)).toBeTruthy();"),
            ("expect(dim(2)).toBe(null);", "expect(dim(2)).toBeNull();"),
            ("expect(dim(2)).toBe(undefined);", "expect(dim(2)).toBeUndefined();"),
            ("expect(dim(2)).toBe(3);", "const level = dim(2);\nexpect(level).toBe(3);"),
            ("assert.equal(dim(2), 3);", "expect(dim(2)).toBe(3);"),
            ("assert.equal(dim(2), 3);", "assert.equal(dim(2), 3, 'level');"),
            ("assert.equal(3, dim(2));", "assert.strictEqual(dim(2), 3);"),
            ("expect(dim(2)).to.equal(3);", "expect(dim(2)).toBe(3);"),
            ("expect(() => dim(-1)).toThrow();", "expect(() => dim(-1)).toThrow(RangeError);"),
            ("expect(() => dim(-1)).toThrow(RangeError);", "expect(() => dim(-1)).toThrow(TypeError);"),
            ("expect(() => dim(-1)).toThrow(RangeError);", "expect(dim(-1)).toBe(0);"),
            ("expect(dim(2)).toBeCloseTo(3.1, 1);", "expect(dim(2)).toBeCloseTo(3.1, 5);"),
            ("expect(dim(2)).toBe(0.3);", "expect(dim(2)).toBeCloseTo(0.3);"),
            ("expect(dim(2)).toBe(3);", "expect(dim(2)).toMatchInlineSnapshot(`3`);"),
            (
                "expect(dim(2)).toBe(3);\nexpect(dim(4)).toBe(5);",
                "for (const [a, b] of [[2, 3], [4, 5]]) {\n  expect(dim(a)).toBe(b);\n}",
            ),
            ("expect(dim(2)).toBe(3);", "expect(dim(2)).toBe(3);\nexpect(dim(4)).toBe(5);"),
            ("expect(dim(2)).toBe(3);", "expect(dim(2)).toBe(glow(2));"),
            ("expect(a).toBeDefined();\nexpect(a.level).toBe(3);", "expect(a.level).toBe(3);"),
            (
                "expect(dim(2)).toBe(3);",
                "try {\n  expect(dim(2)).toBe(3);\n} catch (e) {\n  throw new Error('odd');\n}",
            ),
            ("expect(dim(2)).toBe(3);", "try {\n  dim(2);\n} catch (e) {\n  expect(e).toBe(3);\n}"),
            ("it('dims', () => { expect(dim(2)).toBe(3); });\n", "test('dims', () => { expect(dim(2)).toBe(3); });\n"),
            (
                "it('dims', () => { expect(dim(2)).toBe(3); });\n",
                "it('dims to three', () => { expect(dim(2)).toBe(3); });\n",
            ),
            (
                "it('dims', () => { expect(dim(2)).toBe(3); });\n",
                "describe('lamp', () => {\n  it('dims', () => {\n    expect(dim(2)).toBe(3);\n  });\n});\n",
            ),
            (
                "it('dims', () => { expect(dim(2)).toBe(3); expect(dim(4)).toBe(5); });\n",
                "const check = (a, b) => { expect(dim(a)).toBe(b); };\nit('dims', () => { check(2, 3); check(4, 5); });\n",
            ),
            (
                "it('a', () => { expect(dim(2)).toBe(3); });\nit('b', () => { expect(dim(4)).toBe(5); });\n",
                "it.each([[2, 3], [4, 5]])('dims %d', (a, b) => { expect(dim(a)).toBe(b); });\n",
            ),
            (
                "it('dims', () => { expect(dim(2)).toBe(3); expect(glow(4)).toBe(5); });\n",
                "it('dims', () => { expect(dim(2)).toBe(3); });\nit('glows', () => { expect(glow(4)).toBe(5); });\n",
            ),
            (
                "it('dims', () => { expect(dim(2)).toBe(3); });\n",
                "jest.mock('./wire');\nit('dims', () => { expect(dim(2)).toBe(3); });\n",
            ),
            (
                "it('dims', () => { expect(dim(2)).toBe(3); });\n",
                "jest.mock('./lamp', () => ({ ...jest.requireActual('./lamp'), power: 1 }));\nit('dims', () => { expect(dim(2)).toBe(3); });\n",
            ),
            (
                "it('a', () => { expect(a()).toBe(1); });\n",
                "it('a', () => { expect(a()).toBe(1); });\nit('b', (done) => { dim(2, done); });\n",
            ),
            (
                "it('a', () => { expect(a()).toBe(1); });\n",
                "it('a', () => { expect(a()).toBe(1); });\nit('b', async () => { await request(app).get('/').expect(200); });\n",
            ),
            (
                "it('a', () => { expect(a()).toBe(1); });\nit.skip('b', () => { expect(b()).toBe(1); });\n",
                "it('a', () => { expect(a()).toBe(1); });\n",
            ),
        ],
    );
}

#[test]
fn the_same_words_are_read_in_each_dialect() {
    let old = "it('dims', () => { expect(dim(2)).toBe(3); });\n";
    let new = "it('dims', () => { expect(dim(2)).toBeTruthy(); });\n";
    for path in ["a.test.js", "a.spec.jsx", "a.test.mjs", "a.test.cjs", "a.test.ts", "a.test.mts", "a.test.tsx"] {
        assert_eq!(kinds(path, old, new), [AssertionLoosened], "{path}");
    }
}
