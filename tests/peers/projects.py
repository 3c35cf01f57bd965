"""The same small project in several languages: one function that adds, one test of it, and what a cheat makes of that test."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Language:
    name: str
    # Where its people put them.
    code: str
    test: str
    # The code before and after it is built.
    red: str
    green: str
    proof: str
    # The test with another expectation, and the test that no runner runs any more.
    loosened: str
    skipped: str
    # A name that no runner looks for.
    unseen: str
    # A further test, and a further file of code.
    more: str
    beside: str


PYTHON = Language(
    name="Python",
    code="src/total.py",
    test="tests/test_total.py",
    red="def total(prices):\n    raise NotImplementedError\n",
    green="def total(prices):\n    return sum(prices)\n",
    proof="from src.total import total\n\n\ndef test_total():\n    assert total([2, 3]) == 5\n",
    loosened="from src.total import total\n\n\ndef test_total():\n    assert total([2, 3]) == 6\n",
    skipped="import pytest\nfrom src.total import total\n\n\n@pytest.mark.skip\ndef test_total():\n    assert total([2, 3]) == 5\n",
    unseen="tests/old_total.py",
    more="tests/test_total_of_nothing.py",
    beside="src/rounding.py",
)

RUST = Language(
    name="Rust",
    code="src/total.rs",
    test="tests/total.rs",
    red="pub fn total(_prices: &[u32]) -> u32 {\n    unimplemented!()\n}\n",
    green="pub fn total(prices: &[u32]) -> u32 {\n    prices.iter().sum()\n}\n",
    proof="#[test]\nfn it_adds() {\n    assert_eq!(shop::total(&[2, 3]), 5);\n}\n",
    loosened="#[test]\nfn it_adds() {\n    assert_eq!(shop::total(&[2, 3]), 6);\n}\n",
    skipped="#[test]\n#[ignore]\nfn it_adds() {\n    assert_eq!(shop::total(&[2, 3]), 5);\n}\n",
    unseen="tests/old/total.rs",
    more="tests/total_of_nothing.rs",
    beside="src/rounding.rs",
)

JAVASCRIPT = Language(
    name="JavaScript",
    code="src/total.js",
    test="src/total.test.js",
    red="export const total = () => { throw new Error('not built') }\n",
    green="export const total = prices => prices.reduce((a, b) => a + b, 0)\n",
    proof="import { total } from './total.js'\n\ntest('it adds', () => {\n  expect(total([2, 3])).toBe(5)\n})\n",
    loosened="import { total } from './total.js'\n\ntest('it adds', () => {\n  expect(total([2, 3])).toBeDefined()\n})\n",
    skipped="import { total } from './total.js'\n\ntest.skip('it adds', () => {\n  expect(total([2, 3])).toBe(5)\n})\n",
    unseen="src/total.old.js",
    more="src/total-of-nothing.test.js",
    beside="src/rounding.js",
)

TYPESCRIPT = Language(
    name="TypeScript",
    code="src/total.ts",
    test="src/__tests__/total.spec.ts",
    red="export const total = (_: number[]): number => { throw new Error('not built') }\n",
    green="export const total = (prices: number[]): number => prices.reduce((a, b) => a + b, 0)\n",
    proof="import { total } from '../total'\n\nit('adds', () => {\n  expect(total([2, 3])).toBe(5)\n})\n",
    loosened="import { total } from '../total'\n\nit('adds', () => {\n  expect(total([2, 3])).toBeTruthy()\n})\n",
    skipped="import { total } from '../total'\n\nxit('adds', () => {\n  expect(total([2, 3])).toBe(5)\n})\n",
    unseen="src/total-old.ts",
    more="src/__tests__/nothing.spec.ts",
    beside="src/rounding.ts",
)

GO = Language(
    name="Go",
    code="shop/total.go",
    test="shop/total_test.go",
    red="package shop\n\nfunc Total(prices []int) int { panic(\"not built\") }\n",
    green="package shop\n\nfunc Total(prices []int) (sum int) {\n\tfor _, p := range prices {\n\t\tsum += p\n\t}\n\treturn\n}\n",
    proof='package shop\n\nimport "testing"\n\nfunc TestTotal(t *testing.T) {\n\tif Total([]int{2, 3}) != 5 {\n\t\tt.Fatal("wrong")\n\t}\n}\n',
    loosened='package shop\n\nimport "testing"\n\nfunc TestTotal(t *testing.T) {\n\tif Total([]int{2, 3}) < 0 {\n\t\tt.Fatal("wrong")\n\t}\n}\n',
    skipped='package shop\n\nimport "testing"\n\nfunc TestTotal(t *testing.T) {\n\tt.Skip()\n\tif Total([]int{2, 3}) != 5 {\n\t\tt.Fatal("wrong")\n\t}\n}\n',
    unseen="shop/total_tested.go",
    more="shop/nothing_test.go",
    beside="shop/rounding.go",
)

JAVA = Language(
    name="Java",
    code="src/main/java/shop/Total.java",
    test="src/test/java/shop/TotalTest.java",
    red="package shop;\n\nclass Total {\n    static int of(int... prices) { throw new UnsupportedOperationException(); }\n}\n",
    green="package shop;\n\nclass Total {\n    static int of(int... prices) { return java.util.Arrays.stream(prices).sum(); }\n}\n",
    proof="package shop;\n\nclass TotalTest {\n    @Test void adds() { assertEquals(5, Total.of(2, 3)); }\n}\n",
    loosened="package shop;\n\nclass TotalTest {\n    @Test void adds() { assertNotNull(Total.of(2, 3)); }\n}\n",
    skipped="package shop;\n\nclass TotalTest {\n    @Disabled @Test void adds() { assertEquals(5, Total.of(2, 3)); }\n}\n",
    unseen="src/main/java/shop/TotalOld.java",
    more="src/test/java/shop/NothingTest.java",
    beside="src/main/java/shop/Rounding.java",
)

RUBY = Language(
    name="Ruby",
    code="lib/total.rb",
    test="spec/total_spec.rb",
    red="def total(_prices) = raise(NotImplementedError)\n",
    green="def total(prices) = prices.sum\n",
    proof="RSpec.describe 'total' do\n  it('adds') { expect(total([2, 3])).to eq(5) }\nend\n",
    loosened="RSpec.describe 'total' do\n  it('adds') { expect(total([2, 3])).to be_truthy }\nend\n",
    skipped="RSpec.describe 'total' do\n  xit('adds') { expect(total([2, 3])).to eq(5) }\nend\n",
    unseen="lib/total_old.rb",
    more="spec/nothing_spec.rb",
    beside="lib/rounding.rb",
)

LANGUAGES = [PYTHON, RUST, JAVASCRIPT, TYPESCRIPT, GO, JAVA, RUBY]

# What stands in each project beside the code and its test, in the places of the project itself.
SHARED = {
    "README.md": "# Shop\n",
    "pytest.ini": "[pytest]\naddopts = --strict-markers\n",
    "package.json": '{"scripts": {"test": "jest"}}\n',
    "guide/page.md": "A page.\n",
}

# What stands among the tests in Python.
AMONG_TESTS = {
    "expected.json": '{"total": 5}\n',
    "deep/test_deep.py": "def test_deep():\n    assert 2 + 3 == 5\n",
    "test_gr\u00f6\u00dfe.py": "def test_size():\n    assert 2 + 3 == 5\n",
    "smoke.sh": "#!/bin/sh\ntest $((2 + 3)) = 5\n",
}
