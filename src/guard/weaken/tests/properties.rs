use proptest::prelude::*;

use super::*;

const PATHS: [&str; 6] = ["tests/a.rs", "test_a.py", "a.test.js", "a.test.ts", "a.test.tsx", "a_test.go"];

const RUST: &str = "#[test]\nfn a() {\n    let x = f(2).unwrap();\n    assert_eq!(x, 3);\n    if x > 1 {\n        assert!(g(x));\n    }\n}\n";
const PYTHON: &str = "class TestA:\n    @pytest.mark.parametrize('a', [1, 2])\n    def test_a(self, a):\n        try:\n            assert f(a) == 3\n        except ValueError:\n            pass\n        with pytest.raises(KeyError, match='x'):\n            g()\n";
const SCRIPT: &str = "describe('a', () => {\n  it.each([[1], [2]])('b', async (a) => {\n    expect(f(a)).not.toBe(3);\n    assert.equal(g(a), `x${a}`);\n  });\n});\n";
const GO: &str = "package a\n\nfunc TestA(t *testing.T) {\n\ttests := []struct{ a int }{{1}, {2}}\n\tfor _, tt := range tests {\n\t\tif got := F(tt.a); got != 3 {\n\t\t\tt.Errorf(\"%d\", got)\n\t\t}\n\t}\n}\n";

fn sample(path: &str) -> &'static str {
    match Language::of(path) {
        Some(Language::Rust) => RUST,
        Some(Language::Python) => PYTHON,
        Some(Language::Go) => GO,
        _ => SCRIPT,
    }
}

/// A text with some bytes of it cut out, doubled or replaced.
fn mutated(text: &str, edits: &[(usize, usize, u8, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for (from, length, kind, other) in edits {
        let from = from % (bytes.len() + 1);
        let to = (from + length).min(bytes.len());
        let part = bytes[from..to].to_vec();
        let put = match kind % 3 {
            0 => Vec::new(),
            1 => [part.clone(), part].concat(),
            _ => other.clone(),
        };
        bytes.splice(from..to, put);
    }
    bytes
}

fn edits() -> impl Strategy<Value = Vec<(usize, usize, u8, Vec<u8>)>> {
    let words = prop::sample::select(vec![
        "(", ")", "{", "}", "[", "'", "\"", "!", "assert", "expect(", "\0", "é", "#[test]", "if ", "\n",
    ]);
    let other = prop_oneof![words.prop_map(|word| word.as_bytes().to_vec()), prop::collection::vec(any::<u8>(), 0..8)];
    prop::collection::vec((0_usize..400, 0_usize..24, any::<u8>(), other), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_without_a_panic(path in prop::sample::select(&PATHS[..]), old in prop::collection::vec(any::<u8>(), 0..600), new in prop::collection::vec(any::<u8>(), 0..600)) {
        drop(weaker(path, Some(&old), Some(&new)));
    }

    #[test]
    fn any_mutation_is_read_without_a_panic_and_the_same_text_is_never_weaker(path in prop::sample::select(&PATHS[..]), edits in edits()) {
        let text = mutated(sample(path), &edits);
        drop(weaker(path, Some(sample(path).as_bytes()), Some(&text)));
        drop(weaker(path, Some(&text), Some(sample(path).as_bytes())));
        prop_assert_eq!(weaker(path, Some(&text), Some(&text)), Report::default());
        // What stands around a text is no part of its tests.
        let longer = [text.as_slice(), b"\n\n"].concat();
        let report = weaker(path, Some(&text), Some(&longer));
        prop_assert!(report.found.is_empty(), "{:?}", report);
    }

    #[test]
    fn another_assertion_never_adds_a_finding(checks in prop::collection::vec(0_usize..6, 1..6), gone in 0_usize..6, value in 0_u8..9) {
        let all = ["assert f(1) == 1", "assert g(2)", "assert h(3) > 2", "assert 'a' in k(4)", "assert isinstance(m(5), int)", "n(6)"];
        let body = |lines: &[&str]| format!("def test_a():\n{}", lines.iter().map(|line| format!("    {line}\n")).collect::<String>());
        let old: Vec<&str> = checks.iter().map(|at| all[*at]).collect();
        let mut new = old.clone();
        if gone < new.len() && new.len() > 1 {
            new.remove(gone);
        }
        let before = kinds("test_a.py", &body(&old), &body(&new)).len();
        let more = format!("assert more({value}) == {value}");
        new.push(&more);
        let after = kinds("test_a.py", &body(&old), &body(&new)).len();
        prop_assert!(after <= before, "{} then {}\n{}", before, after, body(&new));
    }
}

/// Whatever it is, it is read, or said to be unread.
fn read_through(path: &str, size: usize, what: &str) {
    let full = |part: &str| part.repeat(size / part.len().max(1));
    let deep = |open: &str, close: &str| {
        let times = size / (open.len() + close.len()) / 2;
        format!("{}{}", open.repeat(times), close.repeat(times))
    };
    let text = match what {
        "deep brackets" => deep("(", ")"),
        "deep calls" => deep("expect(", ").toBe(1)"),
        "deep asserts" => deep("assert!(", ")"),
        "deep blocks" => deep("if a {", "}"),
        "deep functions" => deep("def test_a():\n if a: assert(", ")"),
        "one line" => full("a.b(c)"),
        "words" => full("assert "),
        "quotes" => full("'\"`"),
        "returns" => format!("it('a', () => {{{}", full("{return;}")),
        _ => full("a or b || "),
    };
    drop(weaker(path, Some(sample(path).as_bytes()), Some(text.as_bytes())));
}

#[test]
fn what_was_made_to_be_slow_is_read_to_its_end() {
    let slow = [
        "deep brackets",
        "deep calls",
        "deep asserts",
        "deep blocks",
        "deep functions",
        "one line",
        "words",
        "quotes",
        "returns",
        "or",
    ];
    for path in PATHS {
        for what in slow {
            read_through(path, MOST_BYTES / 256, what);
        }
    }
}

#[test]
fn many_renamed_tests_are_paired() {
    let many = |mark: &str| {
        (0..400)
            .map(|at| format!("def test_{mark}_{at}():\n    assert f_{mark}({at}) == {mark}_{at}\n"))
            .collect::<String>()
    };
    drop(weaker("test_a.py", Some(many("a").as_bytes()), Some(many("b").as_bytes())));
}
