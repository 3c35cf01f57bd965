use super::*;

fn in_new(path: &str, text: &str) -> Vec<u32> {
    let bases = bases(std::iter::once((path, text)));
    let added = vec![true; text.split('\n').count()];
    held(path, text, &added, &bases).into_iter().map(|held| held.line).collect()
}

#[test]
fn a_place_that_is_only_held_is_found_at_its_line() {
    for (path, text, line) in [
        ("src/a.rs", "fn a() -> u8 {\n    todo!()\n}\n", 2),
        ("src/a.rs", "fn a() -> u8 {\n    unimplemented!(\"later\")\n}\n", 2),
        ("src/a.rs", "pub fn save(&self) {}\n", 1),
        ("src/a.rs", "impl A {\n    pub fn save(&self) {\n        // TODO: write it\n    }\n}\n", 2),
        ("src/a.rs", "fn a() {\n    panic!(\"not implemented yet\")\n}\n", 2),
        ("src/a.py", "def a():\n    raise NotImplementedError\n", 2),
        ("src/a.py", "def a():\n    raise NotImplementedError(\"AC-1\")\n", 2),
        ("src/a.py", "def a(level): pass\n", 1),
        ("src/a.py", "def a(\n    level: int,\n) -> int:\n    ...\n", 4),
        ("src/a.py", "class Lamp:\n    def dim(self):\n        pass  # TODO: dim\n", 3),
        ("src/a.py", "def a():\n    raise RuntimeError(\"not implemented\")\n", 2),
        ("src/a.ts", "export function a(): number {\n  throw new Error(\"not implemented\");\n}\n", 2),
        ("src/a.ts", "export function a(x: number): void {\n}\n", 1),
        ("src/a.js", "class Lamp {\n  dim(level) {\n  }\n}\n", 2),
        ("src/a.js", "const f = () => {\n  return Promise.reject(new Error('TODO: dim'));\n};\n", 2),
        ("a.go", "func Dim(l int) int {\n\tpanic(\"not implemented\")\n}\n", 2),
        ("a.go", "func (l *Lamp) Dim() error {\n\treturn errors.New(\"not implemented\")\n}\n", 2),
        ("a.go", "func Dim() {\n}\n", 1),
        (
            "A.java",
            "class A {\n  int a() {\n    throw new UnsupportedOperationException(\"Not supported yet.\");\n  }\n}\n",
            3,
        ),
        ("A.java", "class A {\n  public void save(int x) {\n  }\n}\n", 2),
        ("A.kt", "fun a(): Int = TODO(\"later\")\n", 1),
        ("A.kt", "fun a() {\n}\n", 1),
        ("A.cs", "class A {\n  int B() {\n    throw new NotImplementedException();\n  }\n}\n", 3),
        ("A.swift", "func a() -> Int {\n  fatalError(\"not implemented\")\n}\n", 2),
        ("a.rb", "def dim(level)\n  raise NotImplementedError\nend\n", 2),
        ("a.rb", "def dim(level)\nend\n", 1),
        ("a.php", "<?php\nfunction dim($level) {\n  throw new \\Exception('Not implemented');\n}\n", 3),
    ] {
        assert_eq!(in_new(path, text), [line], "{text}");
    }
    // Nothing that was there before.
    let text = "fn a() {\n    todo!()\n}\n";
    assert!(held("src/a.rs", text, &[true, false, true, true], &BTreeSet::new()).is_empty());
}

#[test]
fn what_is_meant_to_be_empty_holds_no_place() {
    for (path, text) in [
        ("src/a.rs", "// todo!() is what we do not write\nconst A: &str = \"todo!()\";\n"),
        ("src/a.rs", "trait A {\n    fn a(&self) {\n        unimplemented!()\n    }\n    fn b(&self) {}\n}\n"),
        ("src/a.rs", "impl Visitor for A {\n    fn visit(&mut self) {}\n}\n"),
        ("src/a.rs", "#[cfg(test)]\nmod tests {\n    fn a() {\n        todo!()\n    }\n    fn b() {}\n}\n"),
        (
            "src/a.rs",
            "pub struct A {}\nimpl Marker for A {}\nenum E {}\nmod m {}\nlet f = || {};\nmatch x { A => {} _ => {} }\n",
        ),
        ("src/a.rs", "fn a() {\n    // Nothing is to be done on this system.\n}\n"),
        (
            "src/a.rs",
            "#[cfg(not(unix))]\nfn keep(_: &Path) {}\ncfg_not_metrics! {\n    impl A {\n        fn inc(&self) {}\n    }\n}\n",
        ),
        ("src/a.rs", "fn assert_send<T: Send>() {}\n"),
        ("src/a.js", "function ask(method, params = {}, id) {\n  return send(method, params, id);\n}\n"),
        ("src/a.rs", "fn noop() {}\nextern \"C\" fn handler() {}\n"),
        ("src/a.rs", "fn todo_list() -> Vec<Todo> { todos() }\nlet todo = todo;\n"),
        ("src/a.py", "class LevelError(Exception):\n    pass\n"),
        ("src/a.py", "try:\n    a()\nexcept OSError:\n    pass\n"),
        ("src/a.py", "class A(Protocol):\n    def a(self) -> int: ...\n"),
        ("src/a.py", "class A(ABC):\n    @abstractmethod\n    def a(self):\n        raise NotImplementedError\n"),
        ("src/a.py", "class Lamp:\n    @abc.abstractmethod\n    def a(self):\n        pass\n"),
        (
            "src/a.py",
            "class Lamp:\n    def a(self):\n        raise NotImplementedError\n\n\nclass Red(Lamp):\n    def a(self):\n        return 1\n",
        ),
        ("src/a.py", "def a():\n    raise NotImplementedError(\"subclasses must implement a()\")\n"),
        ("src/a.py", "@overload\ndef a(x: int) -> int: ...\n"),
        ("src/a.py", "def a():\n    \"\"\"Called when it begins; nothing by default.\"\"\"\n    pass\n"),
        ("src/a.py", "def a():\n    pass  # the lantern has no such button\n"),
        ("src/a.py", "def __init__(self): pass\n"),
        ("src/a.py", "while True:\n    pass\n"),
        ("tests/test_a.py", "def fake(): pass\n\n\ndef test_a():\n    raise NotImplementedError\n"),
        ("src/a.ts", "class A {\n  constructor(private readonly b: B) {}\n}\nconst f = () => {};\ninterface I {}\n"),
        ("src/a.ts", "on('x', function () {});\nfoo().catch(() => {});\nif (a) {\n}\n"),
        ("src/a.ts", "throw new Error(`cannot dim ${level}`);\nconst todo = 'TODO';\nthrow new TodoError(todo);\n"),
        (
            "a.go",
            "func main() {}\nfunc init() {}\ntype A struct {}\nfor {\n}\nvar ErrNot = errors.New(\"not implemented\")\n",
        ),
        (
            "A.java",
            "class A {\n  A(int x) {\n  }\n  @Override\n  public void close() {\n  }\n  void b() {\n    // Nothing to free.\n  }\n}\n",
        ),
        ("A.java", "class A {\n  void b() {\n    throw new UnsupportedOperationException();\n  }\n}\n"),
        ("A.java", "interface A {\n  default void b() {\n  }\n}\n"),
        ("A.kt", "class A : B {\n  override fun c() {}\n}\ndata class D(val todo: Int)\n"),
        ("A.cs", "class A {\n  public A() { }\n  public override void B() { }\n  public int C { get; set; }\n}\n"),
        ("A.swift", "protocol P {\n}\nclass A: P {\n  override func b() {\n  }\n  init() {}\n}\n"),
        (
            "a.rb",
            "class Base\n  def dim\n    raise NotImplementedError\n  end\nend\nclass A\n  def initialize\n  end\nend\n",
        ),
        ("a.rb", "def dim\n  raise NotImplementedError, \"#{self.class} must implement dim\"\nend\n"),
        ("notes/a.md", "todo!()\n"),
    ] {
        assert_eq!(in_new(path, text), [] as [u32; 0], "{text}");
    }
}

#[test]
fn a_file_that_is_made_to_be_dear_is_read_in_bounded_time() {
    let began = std::time::Instant::now();
    for (path, line) in [
        ("src/a.py", "    raise NotImplementedError\n"),
        ("src/a.py", "def a(\n"),
        ("src/a.rs", "fn a() {}\n"),
        ("src/a.rs", "{"),
        ("src/a.rs", "/*"),
        ("src/a.js", "throw new Error("),
        ("src/a.js", "x = /["),
        ("a.rb", "def a\n"),
    ] {
        let text = line.repeat(300_000 / line.len());
        let _ = in_new(path, &text);
        assert!(began.elapsed() < std::time::Duration::from_secs(30), "{line}: {:?}", began.elapsed());
    }
}
