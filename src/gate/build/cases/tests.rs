use super::*;
use crate::gate::build::covered::names;

fn of(path: &str, text: &str) -> Option<String> {
    said(text, Language::of(path).unwrap()).by_tests
}

/// In a test's name, in a string or a comment in it, or in a comment directly at it.
#[test]
fn a_test_says_what_stands_in_it_and_at_it() {
    for (path, text) in [
        ("a.py", "def test_ac_1_dims():\n    assert dim(3) == 2\n"),
        (
            "a.py",
            "# AC-1: dims\n@pytest.mark.slow\n@pytest.mark.parametrize(\n    'x', [1],\n)\ndef test_x(x):\n    assert x\n",
        ),
        ("a.py", "@pytest.mark.parametrize('x', [1],\n    ids=['AC-1'])\nasync def test_x(x):\n    assert x\n"),
        ("a.py", "def test_x():\n    \"\"\"Dims.\n\nAC-1\n    \"\"\"\n    assert dim(3) == 2\n"),
        ("a.py", "def test_x(\n    level,\n):\n    assert level\n    # AC-1\n"),
        ("a.py", "class TestAC1:\n    def test_x(self):\n        assert dim(3) == 2\n"),
        ("a.py", "class TestDim(TestCase):\n    '''AC-1'''\n\n    def test_x(self):\n        assert dim(3) == 2\n"),
        ("a.py", "@pytest.mark.skipif(os.name == 'nt', reason='x')\ndef test_ac_1():\n    assert dim(3)\n"),
        ("a.py", "def test_ac_1():\n    if not there:\n        pytest.skip('no lamp')\n    assert dim(3)\n"),
        ("a.rs", "// AC-1\n#[test]\nfn dims() { dim(3); }\n"),
        ("a.rs", "#[tokio::test]\nasync fn ac_1() { dim(3); }\n"),
        (
            "a.rs",
            "#[cfg(test)]\nmod tests {\n    use super::*;\n\n    /// AC-1: dims\n    #[rstest]\n    #[case(1)]\n    fn dims(#[case] x: u8) { dim(x); }\n}\n",
        ),
        ("a.rs", "proptest! {\n    #[test]\n    fn ac_1(x in 0..3) { dim(x); }\n}\n"),
        (
            "a.rs",
            "macro_rules! dims {\n    ($a:ident) => {\n        #[test]\n        fn $a() { dim(3); }\n    };\n}\ndims! { ac_1 }\n",
        ),
        ("a.rs", "mod ac_1 {\n    #[test]\n    fn dims() { dim(3); }\n}\n"),
        ("a.ts", "it('AC-1: dims', () => {\n  expect(dim(3)).toBe(2);\n});\n"),
        ("a.ts", "describe('AC-1', () => {\n  it('dims', () => {\n    expect(dim(3)).toBe(2);\n  });\n});\n"),
        ("a.ts", "// AC-1\ntest.each([[1]])('dims %s', (x) => {\n  expect(x).toBe(1);\n});\n"),
        ("a.ts", "test.each`a | b\n${1} | ${2}`('AC-1 $a', ({ a }) => { dim(a); });\n"),
        ("a.js", "test('dims', async (t) => {\n  await t.test('AC-1', () => { assert(dim(3)); });\n});\n"),
        ("a.js", "Deno.test('AC-1', { timeout: 3 }, () => { dim(3); });\nit('b', handler);\n"),
        ("a.js", "test('AC-1', { skip: isWindows }, () => dim(3));\n"),
        ("a.go", "// AC-1\nfunc TestDim(t *testing.T) {\n\tt.Log(dim(3))\n}\n"),
        (
            "a.go",
            "func TestDim(t *testing.T) {\n\tfor _, c := range []struct{ name string }{{\"AC-1\"}} {\n\t\tt.Run(c.name, f)\n\t}\n}\n",
        ),
        ("a.go", "func (s *Suite) TestAC1() {\n\tif testing.Short() {\n\t\tt.Skip()\n\t}\n\tdim(3)\n}\n"),
        ("a.go", "var _ = Describe(\"lamp\", func() {\n\tIt(\"AC-1\", func() {\n\t\tExpect(dim(3))\n\t})\n})\n"),
        ("A.java", "class A {\n  /** AC-1 */\n  @Test\n  void dims() {\n    x();\n  }\n}\n"),
        (
            "A.java",
            "class A {\n  @ParameterizedTest\n  @ValueSource(ints = {1, 2})\n  void ac_1(int x) {\n    x();\n  }\n}\n",
        ),
        ("A.java", "@Nested\nclass AC1 {\n  @DisabledOnOs(WINDOWS)\n  @Test void dims() { x(); }\n}\n"),
        ("A.kt", "class A {\n  @Test\n  fun `AC-1 dims`() = assertEquals(2, dim(3))\n}\n"),
        ("A.kt", "class A : FunSpec({\n  test(\"AC-1\") {\n    dim(3) shouldBe 2\n  }\n})\n"),
        ("A.cs", "class A {\n  [Fact]\n  public void AC_1() { X(); }\n}\n"),
        ("A.cs", "class A {\n  [Theory, InlineData(1)]\n  public void Dims(int x) => Assert.Equal(1, x); // AC-1\n}\n"),
        ("a.rb", "RSpec.describe Lamp do\n  it 'AC-1: dims' do\n    expect(dim(3))\n  end\nend\n"),
        (
            "a.rb",
            "class LampTest < Minitest::Test\n  # AC-1\n  def test_dims\n    assert_equal 2, dim(3)\n  end\nend\n",
        ),
        ("a.rb", "describe 'AC-1' do\n  it { is_expected.to be_dim }\nend\n"),
        ("a.php", "<?php\nclass A {\n  /** @test AC-1 */\n  public function dims() { x(); }\n}\n"),
        ("a.php", "<?php\nit('AC-1', function () { expect(dim(3)); });\n"),
        ("A.swift", "class A: XCTestCase {\n  func testAC1() { x() }\n}\n"),
        ("A.swift", "@Test(\"AC-1\") func dims() { x() }\n"),
    ] {
        assert!(of(path, text).is_some_and(|said| names(&said, "AC-1")), "{path}: {text}\n{:?}", of(path, text));
    }
}

/// Near a test, in what tests need, or at one that is never run.
#[test]
fn what_is_only_near_a_test_says_nothing_of_it() {
    let one = "def test_x():\n    assert dim(3) == 2\n";
    for (path, text) in [
        ("a.py", "# AC-1 is for later\ndef helper(): assert True\n".to_owned()),
        ("a.py", format!("# AC-1 is for later\n\n\n{one}")),
        ("a.py", format!("\"\"\"AC-1\"\"\"\n{one}")),
        ("a.py", format!("{one}\n\n# AC-1\n")),
        ("a.py", format!("def helper():\n    # AC-1\n    x()\n{one}")),
        ("a.py", format!("class AC1:\n    pass\n\n\n{one}")),
        ("a.py", "@pytest.fixture\ndef test_ac_1():\n    return 1\n".to_owned()),
        ("a.py", "@pytest.mark.skip\ndef test_ac_1():\n    assert dim(3)\n".to_owned()),
        ("a.py", "# AC-1\n@pytest.mark.skip(reason='later')\ndef test_x():\n    assert dim(3)\n".to_owned()),
        ("a.py", "@unittest.skip('later')\nclass TestAC1(TestCase):\n    def test_ac_1(self):\n        assert dim(3)\n".to_owned()),
        ("a.py", "def test_ac_1(self):\n    '''Dims.'''\n    self.skipTest('later')\n    assert dim(3)\n".to_owned()),
        ("a.py", "def test_ac_1():\n    pytest.skip('later')\n".to_owned()),
        ("a.py", "def test_ac_1(x: int = 1) -> None:  # dims\n    pytest.skip('later')\n".to_owned()),
        ("a.py", "def test_ac_1(): pytest.skip('later')\n".to_owned()),
        ("a.py", "@pytest.mark.skip\r\ndef test_ac_1():\r\n    assert dim(3)\r\n".to_owned()),
        ("a.py", "pytestmark = pytest.mark.skip\n\n\ndef test_ac_1():\n    assert dim(3)\n".to_owned()),
        ("a.rs", "#[test]\n#[ignore = \"later\"]\nfn ac_1() { dim(3); }\n".to_owned()),
        ("a.rs", "#[cfg(test)]\nmod tests {\n    // AC-1\n    fn helper() { assert!(true); }\n\n    #[test]\n    fn x() { dim(3); }\n}\n".to_owned()),
        ("a.ts", "// AC-1\n\nit('dims', () => { x(); });\n".to_owned()),
        ("a.ts", "it.skip('AC-1', () => { x(); });\n".to_owned()),
        ("a.ts", "xit('AC-1', () => { x(); });\nit('b', () => { x(); });\n".to_owned()),
        ("a.ts", "test.todo('AC-1');\n".to_owned()),
        ("a.ts", "it('AC-1');\n".to_owned()),
        ("a.ts", "describe.skip('x', () => {\n  it('AC-1', () => { x(); });\n});\nit('b', () => { x(); });\n".to_owned()),
        ("a.ts", "describe('AC-1', () => {\n  it.skip('b', () => { x(); });\n});\n".to_owned()),
        ("a.js", "test('AC-1', { skip: true }, () => { x(); });\n".to_owned()),
        ("a.js", "test('AC-1', (t) => {\n  t.skip('later');\n});\n".to_owned()),
        ("a.js", "const ok = /a/.test('AC-1');\nassert(ok);\nexpect('AC-1').toBe(1);\n".to_owned()),
        ("a.go", "func TestAC1(t *testing.T) {\n\tt.Skip(\"later\")\n}\n".to_owned()),
        ("a.go", "func TestMain(m *testing.M) {\n\t// AC-1\n\tdim(3)\n}\n".to_owned()),
        ("a.go", "// AC-1\nfunc helper(t *testing.T) {}\n\nfunc TestX(t *testing.T) { dim(3) }\n".to_owned()),
        ("A.java", "class A {\n  @Disabled(\"later\")\n  @Test\n  void ac_1() { x(); }\n}\n".to_owned()),
        ("A.java", "@Disabled\nclass A {\n  @Test\n  void ac_1() { x(); }\n}\n".to_owned()),
        ("A.kt", "class A {\n  @Ignore\n  @Test\n  fun ac_1() = x()\n}\n".to_owned()),
        ("A.cs", "class A {\n  [Fact(Skip = \"later\")]\n  public void AC_1() { X(); }\n}\n".to_owned()),
        ("a.rb", "describe Lamp do\n  xit 'AC-1' do\n    x\n  end\n  it 'b' do\n    x\n  end\nend\n".to_owned()),
        ("a.rb", "describe Lamp do\n  it 'AC-1'\nend\n".to_owned()),
        ("a.rb", "class A < Minitest::Test\n  def test_ac_1\n    skip 'later'\n    assert dim(3)\n  end\nend\n".to_owned()),
        ("a.php", "<?php\nclass A {\n  function testAC1() {\n    $this->markTestSkipped();\n  }\n}\n".to_owned()),
        ("A.swift", "class A: XCTestCase {\n  func testAC1() throws { throw XCTSkip() }\n}\n".to_owned()),
    ] {
        assert!(!of(path, &text).is_some_and(|said| names(&said, "AC-1")), "{path}: {text}\n{:?}", of(path, &text));
    }
    // Where one is skipped the others are not.
    let two = "@pytest.mark.skip\ndef test_ac_2():\n    assert dim(3)\n\n\ndef test_ac_1():\n    assert dim(3)\n";
    assert!(of("a.py", two).is_some_and(|said| names(&said, "AC-1") && !names(&said, "AC-2")));
}

/// And one that looks at nothing, or that nothing ever runs, whatever the condition is called.
#[test]
fn what_shows_nothing_names_no_criterion() {
    let honest = "def test_other():\n    assert dim(3) == 2\n";
    for (path, text) in [
        ("a.py", "def test_ac_1():\n    pass\n"),
        ("a.py", "def test_ac_1(): ...\n"),
        ("a.py", "def test_ac_1(\n    lamp,\n):\n    \"\"\"Dims.\"\"\"\n    assert True\n"),
        ("a.py", "def test_ac_1():\n    return\n    assert dim(3) == 2\n"),
        ("a.py", "class TestDim:\n    def test_ac_1(self):\n        self.assertEqual(1, 1)\n"),
        ("a.py", "@pytest.mark.skipif(True, reason='x')\ndef test_ac_1():\n    assert dim(3)\n"),
        (
            "a.py",
            "@unittest.skipIf(True, 'x')\nclass TestAC1(TestCase):\n    def test_x(self):\n        assert dim(3)\n",
        ),
        ("a.py", "@unittest.skipUnless(False, 'x')\ndef test_ac_1():\n    assert dim(3)\n"),
        ("a.py", "pytestmark = pytest.mark.skipif(True, reason='x')\n\n\ndef test_ac_1():\n    assert dim(3)\n"),
        ("a.py", "@pytest.mark.xfail(run=False)\ndef test_ac_1():\n    assert dim(3)\n"),
        ("a.py", "if False:\n    def test_ac_1():\n        assert dim(3)\n"),
        ("a.py", "def test_ac_1():\n    assert dim(3)\n\n\ntest_ac_1.__test__ = False\n"),
        ("a.py", "class TestDim:\n    __test__ = False\n\n    def test_ac_1(self):\n        assert dim(3)\n"),
        ("a.py", "def helper(\n    x,\n):\n    def test_ac_1():\n        assert dim(3)\n"),
        ("a.ts", "test('AC-1', () => {});\n"),
        ("a.ts", "test('AC-1', async () => {\n  // AC-1 dims\n});\n"),
        ("a.ts", "it('AC-1', function () { expect(true).toBe(true); });\n"),
        ("a.ts", "it('AC-1', () => expect(1).toBe(1));\n"),
        ("a.ts", "it('AC-1', (done) => done(), 500);\n"),
        ("a.ts", "test.skipIf(true)('AC-1', () => { x(); });\n"),
        ("a.ts", "describe.runIf(false)('x', () => { test('AC-1', () => { x(); }); });\n"),
        ("a.ts", "if (false) {\n  test('AC-1', () => { x(); });\n}\n"),
        ("a.ts", "test('all', async (t) => {\n  x();\n  await t.test('AC-1', () => {});\n});\n"),
        ("a.rs", "#[test]\nfn ac_1() {}\n"),
        ("a.rs", "#[test]\nfn ac_1() {\n    assert!(true);\n}\n"),
        ("a.rs", "#[cfg(any())]\n#[test]\nfn ac_1() { dim(3); }\n"),
        ("a.rs", "#[test]\n#[cfg_attr(all(), ignore)]\nfn ac_1() { dim(3); }\n"),
        ("a.rs", "#[cfg(any())]\nmod tests {\n    #[test]\n    fn ac_1() { dim(3); }\n}\n"),
        ("a.rs", "#![cfg(any())]\n#[test]\nfn ac_1() { dim(3); }\n"),
        ("a.rs", "macro_rules! never {\n    () => {\n        #[test]\n        fn ac_1() { dim(3); }\n    };\n}\n"),
        ("a.go", "func TestAC1(t *testing.T) {\n}\n"),
        ("a.go", "//go:build ignore\n\npackage a\n\nfunc TestAC1(t *testing.T) { dim(3) }\n"),
        ("A.java", "class A {\n  @Test\n  void ac_1() { assertTrue(true); }\n}\n"),
        ("A.kt", "class A : FunSpec({\n  test(\"AC-1\") {\n  }\n})\n"),
        ("A.cs", "class A {\n  [Fact]\n  public void AC_1() { }\n}\n"),
        ("a.rb", "describe Lamp do\n  it 'AC-1' do\n  end\nend\n"),
        ("a.rb", "describe Lamp do\n  it('AC-1') { }\nend\n"),
        ("a.rb", "class A < Minitest::Test\n  def test_ac_1\n    assert true\n  end\nend\n"),
        ("a.php", "<?php\nclass A {\n  function testAC1() {\n    $this->assertTrue(true);\n  }\n}\n"),
        ("A.swift", "class A: XCTestCase {\n  func testAC1() {}\n}\n"),
    ] {
        assert!(!of(path, text).is_some_and(|said| names(&said, "AC-1")), "{path}: {text}\n{:?}", of(path, text));
        assert!(
            names(&said(text, Language::of(path).unwrap()).in_vain, "AC-1")
                || text.contains("helper")
                || text.contains("never"),
            "{text}"
        );
        if path == "a.py" {
            let two = format!("{text}\n\n{honest}");
            assert!(!of(path, &two).is_some_and(|said| names(&said, "AC-1")), "{two}");
        }
    }
    for (path, text) in [
        ("a.py", "@scenario('dim.feature', 'Dims')\ndef test_ac_1():\n    pass\n"),
        ("a.py", "@pytest.mark.skipif(sys.platform == 'win32', reason='x')\ndef test_ac_1():\n    assert dim(3)\n"),
        ("a.py", "def helper():\n    return 1\n\n\nif True:\n    def test_ac_1():\n        assert dim(3)\n"),
        ("a.py", "if False:\n    x = 1\nelse:\n    def test_ac_1():\n        assert dim(3)\n"),
        ("a.py", "def describe_dim():\n    def test_ac_1():\n        assert dim(3)\n"),
        ("a.py", "class Lamp:\n    __test__ = False\n\n\ndef test_ac_1():\n    assert dim(3)\n"),
        ("a.py", "def test_ac_1():\n    with pytest.raises(ValueError):\n        dim(-1)\n"),
        ("a.ts", "test.skipIf(isWindows)('AC-1', () => { x(); });\n"),
        ("a.ts", "test('AC-1', () => expect(dim(3)).toBe(2));\n"),
        ("a.ts", "test('AC-1', dims);\n"),
        ("a.ts", "test('AC-1', async () => {\n  await expect(dim(-1)).rejects.toThrow();\n});\n"),
        (
            "a.rs",
            "#[test_case(&json!({\"a\": {}}), &[]; \"AC-1 one\")]\n#[test_case(&json!({\"b\": {}}), &[]; \"two\")]\nfn dims(a: &Value, b: &[u8]) {\n    assert_dims(a, b);\n}\n",
        ),
        ("a.rs", "#[cfg(any(unix, windows))]\n#[test]\nfn ac_1() { dim(3); }\n"),
        ("a.rs", "#[test]\n#[cfg_attr(windows, ignore)]\nfn ac_1() { dim(3); }\n"),
        ("A.java", "class A {\n  /** AC-1: it starts. */\n  @Test\n  void contextLoads() {}\n}\n"),
        ("A.kt", "class A : FunSpec({\n  test(\"AC-1\") { dim(3) shouldBe 2 }\n})\n"),
    ] {
        assert!(of(path, text).is_some_and(|said| names(&said, "AC-1")), "{path}: {text}\n{:?}", of(path, text));
    }
}

/// A row of a table that a test is run with is said of it; a comment in it, a row that is skipped and a table of nobody's are not.
#[test]
fn a_table_that_a_test_is_run_with_names_its_criteria() {
    for (path, text, is_named) in [
        (
            "a.py",
            "CASES = [\n    (\"AC-1\", 4, 2),\n]\n\n\n@pytest.mark.parametrize(\"id,a,b\", CASES)\ndef test_dim(id, a, b):\n    assert dim(a) == b\n",
            true,
        ),
        (
            "a.py",
            "CASES: list[tuple] = [(\"AC-1\", 4)]\n\n\ndef test_dim(subtests):\n    for name, a in CASES:\n        assert dim(a)\n",
            true,
        ),
        (
            "a.py",
            "CASES = [\n    (\"other\", 4, 2),  # AC-1\n]\n\n\n@pytest.mark.parametrize(\"id,a,b\", CASES)\ndef test_dim(id, a, b):\n    assert dim(a) == b\n",
            false,
        ),
        (
            "a.py",
            "CASES = [\n    pytest.param(\"AC-1\", 4, marks=pytest.mark.skip),\n]\n\n\n@pytest.mark.parametrize(\"id,a\", CASES)\ndef test_dim(id, a):\n    assert dim(a)\n",
            false,
        ),
        ("a.py", "CASES = [(\"AC-1\", 4, 2)]\n\n\ndef test_dim():\n    assert dim(a) == b\n", false),
        (
            "a.py",
            "CASES = [(\"AC-1\", 4, 2)]\n\n\n@pytest.mark.parametrize(\"id,a,b\", CASES)\ndef test_dim(id, a, b):\n    pass\n",
            false,
        ),
        (
            "a.ts",
            "const CASES = [\n  ['AC-1', 4, 2],\n] as const;\ntest.each(CASES)('%s', (id, a, b) => {\n  expect(dim(a)).toBe(b);\n});\n",
            true,
        ),
        (
            "a.ts",
            "const cases = [{ id: 'AC-1' }];\nfor (const c of cases) {\n  test(c.id, () => { dim(c); });\n}\n",
            true,
        ),
        (
            "a.ts",
            "const cases = [{ id: 'AC-1' }];\ncases.forEach((c) => {\n  test(c.id, () => { dim(c); });\n});\n",
            true,
        ),
        ("a.ts", "const cases = [{ id: 'AC-1' }];\nshow(cases);\ntest('x', () => { dim(1); });\n", false),
        (
            "a.go",
            "var cases = []struct {\n\tname string\n}{\n\t{\"AC-1\"},\n}\n\nfunc TestDim(t *testing.T) {\n\tfor _, c := range cases {\n\t\tdim(c)\n\t}\n}\n",
            true,
        ),
        (
            "a.rs",
            "const CASES: &[(&str, u8)] = &[(\"AC-1\", 3)];\n\n#[test]\nfn dims() {\n    for (name, level) in CASES {\n        dim(level);\n    }\n}\n",
            true,
        ),
    ] {
        assert_eq!(
            of(path, text).is_some_and(|said| names(&said, "AC-1")),
            is_named,
            "{path}: {text}\n{:?}",
            of(path, text)
        );
    }
}

/// Whoever looked at each place from every other one would come to no end here before the run's limit for one test.
#[test]
fn a_file_that_is_made_to_be_dear_is_read_to_its_end() {
    for (path, line) in [
        ("a.py", "def test_a():\n"),
        ("a.py", ")\ndef test_a():\n"),
        ("a.py", "@a(\ndef test_a():\n"),
        ("a.ts", "it("),
        ("a.ts", "it('a', () => {"),
        ("a.ts", "it``"),
        ("a.go", "func TestA() {"),
        ("A.java", "@Test\n\n"),
        ("A.cs", "[Fact]\n"),
        ("a.rb", "it 'a' do\n"),
        ("a.rs", "#[test]fn a(){}"),
        ("a.py", " def a():\n"),
        ("a.py", "A = [\n"),
        ("a.py", "if False:\n"),
        ("a.ts", "if (false) {"),
        ("a.ts", "const a = ["),
    ] {
        let text = line.repeat(300_000 / line.len());
        assert!(of(path, &text).is_none_or(|said| said.len() <= 2 * text.len()), "{line}");
    }
}
