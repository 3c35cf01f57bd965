//! Tests that look at nothing: an empty body, one that ends before it begins, or one that holds literals against each other.

use std::sync::LazyLock;

use regex::Regex;

use super::super::code::Language;

/// A body that is longer than this is looked at no further.
const LONGEST: usize = 2_000;

/// Whether the body of a test, masked and as it is written, shows nothing whatever the code does.
pub(super) fn is_one(code: &str, text: &str, language: Language) -> bool {
    let body = code.trim();
    ends_at_once(body)
        || body.len() <= LONGEST && !is_put_together(code, text, language) && is_of_literals(body, language)
}

/// Whether its first statement leaves it.
fn ends_at_once(body: &str) -> bool {
    static RETURN: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"^return\b[ \t]*(?:\(\s*\)|None|True|False|true|false|null|nil|undefined|\d+)?[ \t]*(?:;|\r?\n|\}|$)",
        )
        .ok()
    });
    // Behind a docstring.
    let first = body.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';'));
    RETURN.as_ref().is_some_and(|pattern| pattern.is_match(first))
}

/// Whether a string in it has code of its own: `f"{dim(3)}"`. Masked, nothing is seen of that.
fn is_put_together(code: &str, text: &str, language: Language) -> bool {
    static PREFIX: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"(?:^|\W)[rRbB]?[fFtT][rRbB]?["']"#).ok());
    let quoted = || code.contains(['"', '\'']);
    match language {
        Language::Python => PREFIX.as_ref().is_some_and(|prefix| prefix.is_match(code)),
        Language::JavaScript => code.contains('`') && text.contains("${"),
        Language::Ruby => quoted() && text.contains("#{"),
        Language::Swift => quoted() && text.contains("\\("),
        Language::CSharp => code.contains("$\"") || code.contains("$@"),
        Language::Kotlin | Language::Php => quoted() && text.matches('$').count() > code.matches('$').count(),
        Language::Rust | Language::Go | Language::Java => false,
    }
}

/// Words that begin something which only asserts, prints or ends.
#[rustfmt::skip]
const ROOTS: &[&str] = &[
    "true", "false", "True", "False", "None", "null", "nil", "undefined", "not", "and", "or", "is", "pass", "return", "await",
    "expect", "Expect", "chai", "Assert", "Ok", "shouldBe", "print", "println", "eprintln", "console", "puts", "echo", "fmt",
    "System",
];
/// The same of what stands behind a dot.
#[rustfmt::skip]
const MEMBERS: &[&str] = &[
    "to", "not", "not_to", "to_not", "be", "a", "an", "and", "eq", "equal", "equals", "Equal", "strictEqual", "deepEqual",
    "deepStrictEqual", "notEqual", "NotEqual", "toEqual", "toStrictEqual", "ok", "is", "isTrue", "isFalse", "isEqualTo",
    "isNotNull", "true", "false", "True", "False", "That", "Is", "AreEqual", "IsTrue", "NotNull", "Nil", "NotNil", "pass",
    "Pass", "end", "plan", "log", "Log", "Logf", "info", "out", "println", "Println", "Printf", "Print", "exist", "truthy",
    "falsy", "assert", "expect", "Parallel", "Helper",
];

/// Assertions of the usual libraries, small and without what stands between words. One's own (`assert_dims(3, 2)`) look at something.
#[rustfmt::skip]
const ASSERTS: &[&str] = &[
    "assert", "asserteq", "assertne", "debugassert", "debugasserteq", "debugassertne", "asserttrue", "assertfalse", "assertequal",
    "assertequals", "assertnotequal", "assertnotequals", "assertis", "assertisnot", "assertisnone", "assertisnotnone", "assertnull",
    "assertnotnull", "assertnil", "assertnotnil", "assertsame", "assertnotsame", "assertin", "assertgreater", "assertless", "assertthat",
    "assertions", "assertstrictequals", "assertexists", "xctassert", "xctasserttrue", "xctassertfalse", "xctassertequal",
    "xctassertnotequal", "xctassertnil", "xctassertnotnil",
];

fn plain(word: &str) -> String {
    word.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect()
}

/// Whether nothing but literals and the words of assertions stands in it. Then it says nothing of any code.
fn is_of_literals(body: &str, language: Language) -> bool {
    static WORD: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[\w$]+").ok());
    let Some(word) = WORD.as_ref() else { return false };
    word.find_iter(body).all(|word| {
        let (before, after) = (body[..word.start()].trim_end(), body[word.end()..].trim_start());
        let is_member = [".", "->", "::"].iter().any(|mark| before.ends_with(mark));
        let word = word.as_str().trim_start_matches('$');
        // In Rust it is a macro, or somebody's own function.
        let is_assert =
            ASSERTS.contains(&plain(word).as_str()) && (language != Language::Rust || after.starts_with('!'));
        if word.starts_with(|c: char| c.is_ascii_digit()) || is_assert {
            return true;
        }
        if is_member {
            return MEMBERS.contains(&word) || word.starts_with("toBe");
        }
        match word {
            "r" | "b" | "u" | "R" | "B" | "U" if after.starts_with(['"', '\'']) => true,
            // Who is handed to a test; called, they are something else.
            "t" | "self" | "this" | "tap" => [".", "->", ","].iter().any(|mark| after.starts_with(mark)),
            "done" => after.starts_with('('),
            "eq" | "be" => language == Language::Ruby,
            "require" => language == Language::Go,
            word => ROOTS.contains(&word),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::build::code::Masked;

    fn shows_nothing(text: &str, language: Language) -> bool {
        is_one(&Masked::new(text, language).code, text, language)
    }

    #[test]
    fn what_looks_at_nothing_is_hollow() {
        for (language, text) in [
            (Language::Python, "\n    pass\n"),
            (Language::Python, "\n    \"\"\"AC-1\"\"\"\n"),
            (Language::Python, " ...\n"),
            (Language::Python, "\n    assert True, \"AC-1\"\n"),
            (Language::Python, "\n    assert 1 + 1 == 2\n    assert not False\n"),
            (Language::Python, "\n    self.assertTrue(True)\n    self.assertEqual(r'a', 'a')\n"),
            (Language::Python, "\n    '''Dims.'''\n    return\n    assert dim(3) == 2\n"),
            (Language::Python, "\n    print('AC-1')\n"),
            (Language::JavaScript, "\n  // AC-1\n"),
            (Language::JavaScript, "expect(true).toBe(true);"),
            (Language::JavaScript, "expect(1).to.equal(1); assert.ok(true); done();"),
            (Language::JavaScript, "return;\n  expect(dim(3)).toBe(2);\n"),
            (Language::JavaScript, "t.pass(); t.end();"),
            (Language::Rust, "assert!(true); assert_eq!(1u8, 1);"),
            (Language::Rust, " Ok(()) "),
            (Language::Go, "\n\tt.Parallel()\n\tt.Log(\"AC-1\")\n\trequire.True(t, true)\n"),
            (Language::Java, "assertTrue(true); Assertions.assertEquals(1, 1); System.out.println(\"AC-1\");"),
            (Language::CSharp, "Assert.True(true);"),
            (Language::Php, "$this->assertTrue(true);"),
            (Language::Ruby, "\n  expect(true).to be true\n  expect(1).to eq(1)\n"),
            (Language::Swift, "XCTAssertTrue(true)"),
            (Language::Kotlin, "true shouldBe true"),
        ] {
            assert!(shows_nothing(text, language), "{text}");
        }
    }

    #[test]
    fn what_looks_at_something_is_not() {
        for (language, text) in [
            (Language::Python, "\n    assert dim(3) == 2\n"),
            (Language::Python, "\n    assert lamp\n"),
            (Language::Python, "\n    with pytest.raises(ValueError):\n        dim(-1)\n"),
            (Language::Python, "\n    assert f\"{dim(3)}\" == '2'\n"),
            (Language::Python, "\n    self.lamp.dim()\n"),
            (Language::Python, "\n    if not there:\n        return\n    assert dim(3) == 2\n"),
            (Language::JavaScript, "return expect(dim(3)).resolves.toBe(2);"),
            (Language::JavaScript, "expect(`${dim(3)}`).toBe('2');"),
            (Language::JavaScript, "expect(t('dim')).toBe('Dim');"),
            (Language::JavaScript, "expect(ok).toBe(true);"),
            (Language::JavaScript, "require('./lamp');"),
            (Language::Rust, "dim(3);"),
            (Language::Rust, "assert_dims(3, 2);"),
            (Language::Rust, "assert(\"a\", \"b\");"),
            (Language::Rust, "eq!(\"foo\", \"FOO\");"),
            (Language::Python, "\n    self.assertDims(3, 2)\n"),
            (Language::Rust, "assert!(ok);"),
            (Language::Go, "Dim(3)"),
            (Language::Kotlin, "assertEquals(\"2\", \"$level\")"),
            (Language::Ruby, "is_expected.to be_dim"),
            (Language::Swift, "XCTAssertEqual(\"\\(dim(3))\", \"2\")"),
        ] {
            assert!(!shows_nothing(text, language), "{text}");
        }
    }
}
