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
        ("src/a.ts", "class A {\n  constructor(private readonly b: B) {}\n}\ninterface I {}\n"),
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
fn a_function_of_javascript_with_a_name_and_no_body_holds_a_place() {
    for (text, line) in [
        ("const dim = () => {}\n", 1),
        ("import a from 'a'\n\nexport const dim = async () => {\n};\n", 3),
        ("const dim = function () {};\n", 1),
        ("const dim = level => {};\n", 1),
        ("export const dim = ({ level }) => {};\n", 1),
        ("export const dim: Dimmer = (level: number): Promise<void> => {\n  // TODO\n};\n", 1),
        ("export const dim = <T,>(level: T) => {};\n", 1),
        ("export function dim({ level }) {}\n", 1),
        ("export async function* dim(level: number): AsyncGenerator<number> {}\n", 1),
        ("export default () => {};\n", 1),
        ("export default function () {}\n", 1),
        ("export default {\n  dim() {},\n};\n", 2),
        ("module.exports = { dim: () => {} };\n", 1),
        ("module.exports = function () {};\n", 1),
        ("exports.dim = (level) => {};\n", 1),
        ("function Lamp() { this.level = 1; }\nLamp.prototype.dim = function () {};\n", 2),
        ("class Lamp {\n  dim = () => {};\n}\n", 2),
        ("class Lamp {\n  private static dim = async (level: number): Promise<void> => {};\n}\n", 2),
        ("class Lamp {\n  async dim({ level }: { level: number }): Promise<void> {}\n}\n", 2),
        ("class Lamp {\n  get level(): number {}\n}\n", 2),
        ("let dim = () => {};\nuse(dim);\n", 1),
        ("class Lamp {\n  only = () => {};\n}\n", 2),
    ] {
        assert_eq!(in_new("src/a.ts", text), [line], "{text}");
    }
    for text in [
        "<Button onClick={() => {}} />\n",
        "foo().catch(() => {});\nuseEffect(() => {}, []);\nsetTimeout(function () {}, 10);\n",
        "foo({ a }, () => {});\nnew Promise(() => {});\nconst p = wait(() => {});\n",
        "const noop = () => {};\nexport const emptyHandler = () => {};\nfunction noop() {}\n",
        "function f(done = () => {}) { done(); }\n",
        "const { onChange = () => {} } = props;\nconst {\n  onBlur = () => {},\n} = props;\n",
        "const Theme = createContext({ theme: 'dark', setTheme: () => {} });\n",
        "let done = () => {};\nconst wait = new Promise((r) => { done = r; });\n",
        "class Field {\n  onChange: (x: number) => void = () => {};\n  onTouched = () => {};\n}\n",
        "class Field {\n  private changed = () => {};\n  register(fn) { this.changed = fn; }\n}\n",
        "class A {\n  constructor(private a: A) {}\n  set level(v) {}\n  override dim() {}\n}\n",
        "class A {\n  constructor(\n    private done = () => {},\n  ) {}\n}\n",
        "socket.onerror = () => {};\nconsole.debug = () => {};\n",
        "const dim = () => {\n  // The lantern has no such button.\n};\n",
        "const a = {};\nconst f = (x = {}) => x;\nconst g = () => ({});\nexport const h = {}\nif (a) {}\n",
        "for (const a of b) {}\nwhile (next()) {}\ntry { a() } catch (e) {}\nclass E extends Error {}\n",
        "switch (f(a)) {}\ntype T = {};\nenum E {}\n",
    ] {
        assert_eq!(in_new("src/a.ts", text), [] as [u32; 0], "{text}");
    }
}

#[test]
fn a_function_of_python_that_only_says_what_it_would_do_holds_a_place() {
    for (text, line) in [
        ("def dim(level):\n    \"\"\"Dims the lamp.\"\"\"\n", 2),
        ("def dim(level):\n    \"\"\"Dims the lamp.\n\nTODO: by how much\n    \"\"\"\n\n\nx = 1\n", 2),
        ("def dim(level): 'Dims the lamp.'\n", 1),
        ("def dim(level):\n    r'''Dims the lamp.'''\n    pass\n", 3),
        ("class Lamp:\n    def dim(self): ...\n\n    # What is left.\n    def level(self):\n        return 1\n", 2),
        ("class Lamp:\n    def dim(self): ...\n    def level(self):  # as it was\n        return 1\n", 2),
        ("class Lamp:\n    def level(self): return 1  # as it was\n    def dim(self): ...\n", 3),
        ("def dim(level, colours={1: '#fff'}):\n    pass\n", 2),
        ("def dim[T](level: T) -> dict[str, int]:\n    ...\n", 2),
        ("@app.get('/dim')\ndef dim():\n    \"\"\"Dims the lamp.\"\"\"\n", 3),
        ("def dim():\n    \"\"\"Does nothing yet; TODO: dim.\"\"\"\n", 2),
    ] {
        assert_eq!(in_new("src/a.py", text), [line], "{text}");
    }
    for text in [
        "def dim(level):\n    \"\"\"Dims the lamp.\"\"\"\n    return level - 1\n",
        "def dim(level):\n    '''\nDims.\n'''\n\n    return level - 1\n",
        "def began():\n    \"\"\"Called when it begins; nothing by default.\"\"\"\n",
        "def began():\n    \"\"\"Called when it begins.\"\"\"\n    # A lamp has no beginning.\n",
        "@click.group()\n@click.option(\n    '--far',\n)\ndef main():\n    \"\"\"Lamps.\"\"\"\n",
        "class Lamp(Protocol):\n    def dim(self) -> int:\n        \"\"\"Dims.\"\"\"\n\n    def level(self): ...\n",
        "@typing.overload\ndef dim(level: int) -> int: ...\n@overload\ndef dim(level: str) -> str: ...\n",
        "class Lamp(ABC):\n    @property\n    @abstractmethod\n    def dim(self):\n        \"\"\"Dims.\"\"\"\n",
        "if TYPE_CHECKING:\n    def dim(level: int) -> int: ...\n",
        "def dim(): return ''\ndef level():\n    'text'.strip()\n",
        "def dim():\n    \"\"\"Dims.\"\"\"\n    x = \"\"\"\n    \"\"\"\n    return x\n",
    ] {
        assert_eq!(in_new("src/a.py", text), [] as [u32; 0], "{text}");
    }
    assert_eq!(in_new("src/a.pyi", "def dim(level: int) -> int: ...\n"), [] as [u32; 0]);
}

/// A name, a namespace or a condition is no reason for doing nothing.
#[test]
fn what_only_sounds_as_if_it_were_meant_holds_a_place() {
    for (path, text, line) in [
        // The innermost decides.
        (
            "a.rb",
            "module Acme\n  class Lamp\n    def dim(x)\n      raise NotImplementedError\n    end\n  end\nend\n",
            4,
        ),
        ("a.rb", "module Acme\n  class Lamp\n    def dim(x)\n    end\n  end\nend\n", 3),
        ("a.rb", "module Acme\n  def self.dim\n    raise NotImplementedError\n  end\nend\n", 3),
        ("a.rb", "class Baseline\n  def dim() end\nend\n", 2),
        ("a.rb", "class Lamp\n  def dim; end\nend\n", 2),
        // On whatever system: it is not written.
        ("src/a.rs", "#[cfg(all())]\npub fn dim() -> u8 { todo!() }\n", 2),
        ("src/a.rs", "#[cfg(unix)]\npub mod m {\n    pub fn f() { unimplemented!() }\n}\n", 3),
        ("src/a.rs", "#[cfg(all())]\npub fn dim() {}\n", 2),
        ("src/a.rs", "#[cfg_attr(unix, inline)]\npub fn dim() {}\n", 2),
        ("src/a.rs", "fn dim() -> u8 { unreachable!(\"not implemented\") }\n", 1),
        ("src/a.rs", "pub fn gen<T>() {}\n", 1),
        ("src/a.rs", "pub fn override_level() {}\n", 1),
        ("src/a.rs", "pub fn nullify_level() {}\n", 1),
        ("src/a.rs", "pub fn empty_cart() {}\n", 1),
        ("src/a.py", "class UserInterface:\n    def dim(self):\n        raise NotImplementedError\n", 3),
        ("src/a.py", "class ProtocolParser:\n    def parse(self, x):\n        pass\n", 3),
        ("src/a.py", "class KnowledgeBase:\n    def ask(self):\n        raise NotImplementedError(\"todo\")\n", 3),
        ("src/a.py", "class Lamp(AbstractLamp):\n    def dim(self):\n        raise NotImplementedError\n", 3),
        ("src/a.py", "def f():\n    raise NotImplementedError(\"the interface is not there yet\")\n", 2),
        ("src/a.py", "def ignore_case(): ...\n", 1),
        ("src/a.py", "def dim(level):\n    return\n", 2),
        ("src/a.py", "def dim(level): return None\n", 1),
        ("src/a.ts", "export const lamp = { dim() {} };\n", 1),
        ("src/a.ts", "export const lamp: Lamp = {\n  dim: () => {},\n};\n", 2),
        ("src/a.ts", "export function dim() { ; }\n", 1),
        ("src/a.ts", "export const emptyCart = () => {};\n", 1),
        ("A.java", "class A {\n  <T> void gen(T t) {}\n}\n", 2),
        ("A.java", "class A {\n  Map<String, Integer> levels() { ; }\n}\n", 2),
        ("A.java", "class A {\n  private void emptyAll() {}\n}\n", 2),
        ("a.go", "func (l Lamp) Dim() {}\n", 1),
        ("a.go", "func (Lamp) Dim() {}\n", 1),
        ("A.swift", "extension Lamp {\n  func dim() {}\n}\n", 2),
    ] {
        assert_eq!(in_new(path, text), [line], "{text}");
    }
}

/// And what says it by what it is.
#[test]
fn what_is_meant_by_its_kind_holds_no_place() {
    for (path, text) in [
        ("a.rb", "module Dims\n  def dim\n    raise NotImplementedError\n  end\nend\n"),
        ("a.rb", "module Acme\n  class BaseLamp\n    def dim\n      raise NotImplementedError\n    end\n  end\nend\n"),
        ("a.rb", "class NullLamp\n  def dim; end\nend\n"),
        ("src/a.rs", "fn main() {}\n"),
        ("src/a.rs", "impl NoopSink {\n    pub fn dim(&self) {}\n}\n"),
        ("src/a.rs", "#[cfg(any(test, feature = \"x\"))]\nmod m {\n    fn a() { todo!() }\n}\n"),
        ("src/a.rs", "#[cfg(feature = \"metrics\")]\npub fn count() {}\n"),
        ("src/a.rs", "fn f(x: u8) -> u8 { match x { 0 => 1, _ => unreachable!(\"a byte is small\") } }\n"),
        ("src/a.py", "class Lamp(\n    Switch,\n    Protocol,\n):\n    def dim(self) -> int: ...\n"),
        ("src/a.py", "class Lamp(metaclass=abc.ABCMeta):\n    def dim(self):\n        raise NotImplementedError\n"),
        ("src/a.py", "class Lamp(Protocol[T]):\n    def dim(self) -> T: ...\n"),
        ("src/a.py", "class AbstractLamp:\n    def dim(self):\n        raise NotImplementedError\n"),
        ("src/a.py", "class Lamp(AbstractLamp):\n    def close(self):\n        pass\n"),
        ("src/a.py", "class FakeLamp:\n    def dim(self): pass\n"),
        ("src/a.py", "def f():\n    raise NotImplementedError(\n        \"subclasses must implement this\"\n    )\n"),
        ("src/a.py", "class Lamp(Switch):\n    def parent(self):\n        return None\n"),
        ("src/a.py", "def parent():\n    \"\"\"A lamp has none.\"\"\"\n    return None\n"),
        ("src/a.py", "def do_nothing(): pass\n"),
        ("src/a.ts", "export const defaultTheme = { set() {}, clear: () => {} };\nconst lamp = { dim() {} };\n"),
        ("src/a.ts", "export const events = { onChange() {} };\nexport class NullLamp { dim() {} off = () => {} }\n"),
        ("src/a.ts", "export const lamp = { dim() { return 1; } };\nuse({ dim() {} });\n"),
        ("a.go", "func (Circle) isShape() {}\nfunc (*Event_On) isEvent_Kind() {}\nfunc (e *Call) isExpr() {}\n"),
        ("a.go", "func (*Call) exprNode() {}\nfunc (x *Lamp) ProtoMessage() {}\nfunc (noopLog) Log(s string) {}\n"),
        ("A.swift", "protocol P { func x() }\nextension P { func x() {} }\n"),
        ("A.swift", "extension Lamp: Watcher {\n  func began() {}\n}\n"),
        ("A.java", "class NullLamp {\n  void dim() {}\n}\n"),
    ] {
        assert_eq!(in_new(path, text), [] as [u32; 0], "{text}");
    }
}

/// What is an answer, what another's class or tool asks for, and what an application is about.
#[test]
fn what_is_an_answer_holds_no_place() {
    for (path, text) in [
        (
            "A.swift",
            "class V: UIView {\n  required init?(coder: NSCoder) {\n    fatalError(\"init(coder:) has not been implemented\")\n  }\n}\n",
        ),
        ("src/a.ts", "class Lamp {\n  onInit() {}\n  protected onChange(): void {}\n}\n"),
        ("src/a.py", "def get(i):\n    raise KeyError(f\"TODO {i} not found\")\n"),
        ("src/a.js", "function end() {\n  throw new Error(\"TODO is already done\");\n}\n"),
        ("src/a.js", "function end() {\n  throw new Error('cannot delete TODO');\n}\n"),
        (
            "src/a.py",
            "def dim(x):\n    if x == \"win\":\n        raise NotImplementedError(\"Windows is not supported\")\n    return 1\n",
        ),
        ("src/a.py", "def dim(x):\n    if x: raise NotImplementedError(\"only works on Linux\")\n    return 1\n"),
        ("src/a.rb", "def dim(x)\n  raise NotImplementedError, 'Windows is not supported' if x\n  1\nend\n"),
        ("src/a.py", "class H(BaseHTTPRequestHandler):\n    def log_message(self, *args):\n        pass\n"),
        ("src/a.rs", "fn put() -> Result<(), StatusCode> {\n    Err(StatusCode::NOT_IMPLEMENTED)\n}\n"),
        ("src/a.rs", "fn put() -> Result<(), String> {\n    Err(\"the lamp is broken\".into())\n}\n"),
        ("src/a.go", "func Dim() {\n\treturn // a lantern has no such button\n}\n"),
        ("src/a.ts", "export function dim() {\n  return;  // the lantern does it\n}\n"),
    ] {
        assert_eq!(in_new(path, text), [] as [u32; 0], "{text}");
    }
}

/// And what is none, however it is said.
#[test]
fn what_only_returns_or_fails_holds_a_place() {
    for (path, text, line) in [
        ("src/a.ts", "export function dim() {\n  return;\n}\n", 1),
        ("a.go", "func Dim() {\n\treturn\n}\n", 1),
        ("A.java", "class A {\n  public void save(int x) {\n    return;\n  }\n}\n", 2),
        ("A.kt", "fun dim() {\n  return\n}\n", 1),
        ("a.php", "<?php\nfunction dim($level) {\n  return;\n}\n", 2),
        ("a.rb", "def dim(level)\n  return\nend\n", 1),
        ("src/a.rs", "pub fn dim() { () }\n", 1),
        ("src/a.rs", "fn dim() -> Result<u8, String> {\n    Err(\"not implemented\".into())\n}\n", 2),
        ("src/a.rs", "fn dim() -> Result<u8> {\n    bail!(\"not implemented yet\")\n}\n", 2),
        ("src/a.rs", "fn dim() {\n    assert!(false, \"not implemented\");\n}\n", 2),
        ("src/a.py", "def dim(level):\n    assert False, \"TODO\"\n", 2),
        ("src/a.ts", "export function dim() {\n  // x\n}\n", 1),
        ("src/a.ts", "export function dim() {\n  // will come in the next change\n}\n", 1),
        ("src/a.js", "function dim() {\n  throw new Error('TODO');\n}\n", 2),
        ("src/a.js", "function dim() {\n  throw new Error('TODO: dim');\n}\n", 2),
        ("src/a.py", "def dim(x):\n    raise NotImplementedError(\"Windows is not supported\")\n", 2),
        (
            "src/a.py",
            "def dim(x):\n    if x:\n        raise NotImplementedError(\"not supported yet\")\n    return 1\n",
            3,
        ),
        (
            "A.swift",
            "class V {\n  func dim() {\n    fatalError(\"init(coder:) has not been implemented\")\n  }\n}\n",
            3,
        ),
    ] {
        assert_eq!(in_new(path, text), [line], "{text}");
    }
}

#[test]
fn what_stands_there_is_told_by_its_own_name() {
    let what = |path: &str, text: &str| held(path, text, &[true; 4], &BTreeSet::new())[0].what;
    assert_eq!(what("src/a.rs", "fn a() {\n    unimplemented!()\n}\n"), "unimplemented!");
    assert_eq!(what("src/a.rs", "fn a() {\n    todo!()\n}\n"), "todo!");
    assert_eq!(what("src/a.rs", "fn a() {\n}\n"), "an empty body");
    assert_eq!(what("src/a.py", "def a():\n    'Later.'\n"), "a docstring without a body");
}

/// Whoever looked at each place from every other one would come to no end here before the run's limit for one test.
#[test]
fn a_file_that_is_made_to_be_dear_is_read_to_its_end() {
    for (path, line) in [
        ("src/a.py", "    raise NotImplementedError\n"),
        ("src/a.py", "def a(\n"),
        ("src/a.py", "def a(): pass\n"),
        ("src/a.py", "def a():\n '''\n"),
        ("src/a.js", "){}"),
        ("src/a.js", "let a = () => {}\n"),
        ("src/a.js", "class a{b=()=>{}}"),
        ("src/a.rs", "fn a() {}\n"),
        ("src/a.rs", "{"),
        ("src/a.rs", "/*"),
        ("src/a.js", "throw new Error("),
        ("src/a.js", "x = /["),
        ("a.rb", "def a\n"),
    ] {
        let text = line.repeat(300_000 / line.len());
        let lines = text.split('\n').count();
        assert!(in_new(path, &text).iter().all(|at| (1..=lines).contains(&(*at as usize))), "{line}");
    }
}
