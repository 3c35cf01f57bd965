use super::super::What::*;
use super::*;

pub(super) const PATH: &str = "tests/lamp.rs";

/// A body becomes a test; what has its own `fn` stays as it is.
pub(super) fn file(text: &str) -> String {
    if text.contains("fn ") { text.to_owned() } else { format!("#[test]\nfn dims() {{\n{text}\n}}\n") }
}

#[test]
fn what_is_weaker_in_rust_is_found() {
    all_weaker(
        PATH,
        file,
        &[
            (AssertionLoosened, "assert_eq!(dim(2), 3);", "assert!(dim(2) > 0);"),
            (AssertionLoosened, "assert_eq!(dim(2), 3);", "assert_ne!(dim(2), 0);"),
            (AssertionLoosened, "assert_eq!(dim(2), Ok(3));", "assert!(dim(2).is_ok());"),
            (AssertionLoosened, "assert_eq!(dim(2), Some(3));", "assert!(dim(2).is_some());"),
            (AssertionLoosened, "assert_eq!(dim(2), \"low\");", "assert!(dim(2).contains(\"lo\"));"),
            (AssertionLoosened, "assert_eq!(dim(2), \"low\");", "assert!(dim(2).starts_with('l'));"),
            (AssertsNothing, "assert_eq!(dim(2), \"low\");", "assert!(!dim(2).is_empty() || true);"),
            (AssertionLoosened, "assert_eq!(dim(2), Some(3));", "assert!(matches!(dim(2), Some(_)));"),
            (AssertionLoosened, "assert!(dim(2) == 3);\nassert!(on);", "assert!(dim(2) == 3 || true);\nassert!(on);"),
            (AssertionLoosened, "assert!(dim(2) == 3);", "assert!(dim(2) == 3 || dim(2) == 4);"),
            (
                AssertionLoosened,
                "assert!(re.is_match(&dim(2)));\nassert!(dim(2).contains(\"low\"));",
                "assert!(re.is_match(&dim(2)));\nassert!(dim(2));",
            ),
            (
                AssertionLoosened,
                "let a = dim(2);\nassert_eq!(a, 3);",
                "let a = dim(2);\nif a > 0 {\n    assert_eq!(a, 3);\n}",
            ),
            (
                AssertionLoosened,
                "lamp.dim(2).unwrap();\nassert!(lamp.on());",
                "let _ = lamp.dim(2);\nassert!(lamp.on());",
            ),
            (AssertionLoosened, "lamp.dim(2).unwrap();\nassert!(lamp.on());", "lamp.dim(2).ok();\nassert!(lamp.on());"),
            (
                AssertionLoosened,
                "#[test]\n#[should_panic(expected = \"low\")]\nfn dims() {\n    dim(-1);\n}\n",
                "#[test]\n#[should_panic]\nfn dims() {\n    dim(-1);\n}\n",
            ),
            (
                AssertionLoosened,
                "#[test]\nfn dims() {\n    assert_eq!(dim(2), 3);\n}\n",
                "#[test]\n#[should_panic]\nfn dims() {\n    assert_eq!(dim(2), 3);\n}\n",
            ),
            (AssertionRemoved, "assert_eq!(dim(2), 3);\nassert_eq!(glow(4), 5);", "assert_eq!(dim(2), 3);"),
            (AssertionRemoved, "assert!(dim(2) == 3 && glow(4) == 5);", "assert!(dim(2) == 3);"),
            (AssertionRemoved, "let a = dim(2).unwrap();\nassert_eq!(a, 3);", "let a = dim(2).unwrap();"),
            (
                AssertionRemoved,
                "#[rstest]\n#[case(1)]\n#[case(2)]\nfn dims(#[case] a: u8) {\n    assert_eq!(dim(a), a);\n}\n",
                "#[rstest]\n#[case(1)]\nfn dims(#[case] a: u8) {\n    assert_eq!(dim(a), a);\n}\n",
            ),
            (
                AssertionRemoved,
                "for (a, b) in [(1, 10), (2, 20), (3, 30)] {\n    assert_eq!(dim(a), b);\n}",
                "for (a, b) in [(1, 10), (2, 20)] {\n    assert_eq!(dim(a), b);\n}",
            ),
            (
                AssertionRemoved,
                "fn check(a: u8) {\n    assert_eq!(dim(a), a);\n    assert!(glow(a));\n}\n#[test]\nfn dims() {\n    check(1);\n}\n",
                "fn check(a: u8) {\n    assert_eq!(dim(a), a);\n}\n#[test]\nfn dims() {\n    check(1);\n}\n",
            ),
            (ExpectationFromCode, "assert_eq!(dim(2), 3);", "assert_eq!(dim(2), dim(2));"),
            (ExpectationFromCode, "assert_eq!(dim(2), 3);", "let expected = dim(2);\nassert_eq!(dim(2), expected);"),
            (ExpectationFromCode, "let a = dim(2);\nassert_eq!(a, 3);", "let a = dim(2);\nassert_eq!(a, a);"),
            (
                Skipped,
                "#[test]\nfn dims() {\n    assert!(dim());\n}\n",
                "#[test]\n#[ignore]\nfn dims() {\n    assert!(dim());\n}\n",
            ),
            (
                Skipped,
                "#[tokio::test]\nasync fn dims() {\n    assert!(dim().await);\n}\n",
                "#[tokio::test]\n#[ignore = \"later\"]\nasync fn dims() {\n    assert!(dim().await);\n}\n",
            ),
            (
                Skipped,
                "#[test]\nfn dims() {\n    assert!(dim());\n}\n",
                "#[cfg(any())]\n#[test]\nfn dims() {\n    assert!(dim());\n}\n",
            ),
            (Skipped, "assert_eq!(dim(2), 3);", "return;\nassert_eq!(dim(2), 3);"),
            (Skipped, "assert_eq!(dim(2), 3);", "if false {\n    assert_eq!(dim(2), 3);\n}"),
            (
                CatchAll,
                "assert_eq!(dim(2), 3);",
                "let _ = std::panic::catch_unwind(|| {\n    assert_eq!(dim(2), 3);\n});",
            ),
            (ToleranceWidened, "assert!((dim(2) - 3.1).abs() < 1e-9);", "assert!((dim(2) - 3.1).abs() < 0.5);"),
            (
                ToleranceWidened,
                "assert_relative_eq!(dim(2), 3.1, epsilon = 1e-9);",
                "assert_relative_eq!(dim(2), 3.1, epsilon = 0.1);",
            ),
            (
                MocksSubject,
                "let lamp = Lamp::new();\nassert_eq!(lamp.dim(2), 3);",
                "let mut lamp = MockLamp::new();\nlamp.expect_dim().return_const(3);\nassert_eq!(lamp.dim(2), 3);",
            ),
            (AssertsNothing, "assert_eq!(dim(2), 3);", "dim(2);"),
            (AssertsNothing, "assert_eq!(dim(2), 3);", "let _ = dim(2);\nassert!(true);"),
            (
                AssertsNothing,
                "#[test]\nfn a() {\n    assert!(b());\n}\n",
                "#[test]\nfn a() {\n    assert!(b());\n}\n#[test]\nfn dims() {\n    dim(2);\n}\n",
            ),
            (
                TestRemoved,
                "#[test]\nfn a() {\n    assert!(b());\n}\n#[test]\nfn dims() {\n    assert_eq!(dim(2), 3);\n}\n",
                "#[test]\nfn a() {\n    assert!(b());\n}\n",
            ),
            (
                TestRemoved,
                "#[test]\nfn dims() {\n    assert_eq!(dim(2), 3);\n}\n",
                "fn dims() {\n    assert_eq!(dim(2), 3);\n}\n",
            ),
        ],
    );
}

#[test]
fn honest_changes_in_rust_are_let_be() {
    all_honest(
        PATH,
        file,
        &[
            ("assert_eq!(dim(2), 3);", "assert_eq!(dim(2), 4);"),
            ("assert!(dim(2));", "assert_eq!(dim(2), true);"),
            ("assert_eq!(dim(2), true);", "assert!(dim(2));"),
            ("assert_eq!(dim(2), false);", "assert!(!dim(2));"),
            ("assert_eq!(3, dim(2));", "assert_eq!(dim(2), 3);"),
            ("assert_eq!(dim(2), 3);", "assert_eq!(\n    dim(2),\n    3,\n    \"level of {}\",\n    2,\n);"),
            ("assert_eq!(dim(2), 3);", "let level = dim(2);\nassert_eq!(level, 3);"),
            ("assert_eq!(dim(2).unwrap(), 3);", "assert_eq!(dim(2), Ok(3));"),
            ("assert_eq!(dim(2), Ok(3));", "assert!(dim(2).is_err());"),
            ("assert_eq!(dim(2), None);", "assert!(dim(2).is_none());"),
            ("assert_eq!(dim(2), \"\");", "assert!(dim(2).is_empty());"),
            ("assert!(dim(2).is_ok());", "dim(2).unwrap();\nassert!(true);"),
            ("assert!(a.is_some());\nassert_eq!(a.level, 3);", "assert_eq!(a.level, 3);"),
            ("assert!(dim(2) == 3 && glow(4) == 5);", "assert_eq!(dim(2), 3);\nassert_eq!(glow(4), 5);"),
            (
                "assert_eq!(dim(2), 3);\nassert_eq!(dim(4), 5);",
                "for (a, b) in [(2, 3), (4, 5)] {\n    assert_eq!(dim(a), b);\n}",
            ),
            ("assert_eq!(dim(2), 3);", "assert_eq!(dim(2), 3);\nassert_eq!(dim(4), 5);"),
            ("assert_eq!(dim(2), 3);", "insta::assert_snapshot!(dim(2));"),
            ("assert!((dim(2) - 3.1).abs() < 0.5);", "assert!((dim(2) - 3.1).abs() < 1e-9);"),
            ("assert_eq!(dim(2), 0.3);", "assert!((dim(2) - 0.3).abs() < f64::EPSILON);"),
            ("lamp.dim(2).unwrap();\nassert!(lamp.on());", "lamp.dim(2)?;\nassert!(lamp.on());"),
            ("let a = dim(2);\nassert_eq!(a, 3);", "if cfg!(unix) {\n    let a = dim(2);\n    assert_eq!(a, 3);\n}"),
            ("assert_eq!(dim(2), 3);", "assert_eq!(dim(2), glow(2));"),
            (
                "#[test]\nfn a() {\n    assert_eq!(dim(2), 3);\n}\n",
                "#[test]\nfn dims_to_three() {\n    assert_eq!(dim(2), 3);\n}\n",
            ),
            (
                "#[test]\nfn a() {\n    assert_eq!(dim(2), 3);\n}\n",
                "mod low {\n    #[tokio::test]\n    async fn a() {\n        assert_eq!(dim(2), 3);\n    }\n}\n",
            ),
            (
                "#[test]\nfn a() {\n    assert_eq!(dim(2), 3);\n    assert_eq!(dim(4), 5);\n}\n",
                "fn check(a: u8, b: u8) {\n    assert_eq!(dim(a), b);\n}\n#[test]\nfn a() {\n    check(2, 3);\n    check(4, 5);\n}\n",
            ),
            (
                "#[test]\nfn a() {\n    assert_eq!(dim(2), 3);\n    assert_eq!(glow(4), 5);\n}\n",
                "#[test]\nfn a() {\n    assert_eq!(dim(2), 3);\n}\n#[test]\nfn glows() {\n    assert_eq!(glow(4), 5);\n}\n",
            ),
            (
                "#[test]\n#[should_panic]\nfn a() {\n    dim(2);\n}\n",
                "#[test]\n#[should_panic(expected = \"low\")]\nfn a() {\n    dim(2);\n}\n",
            ),
            (
                "#[test]\nfn a() {\n    assert!(b());\n}\n",
                "#[test]\nfn a() {\n    assert!(b());\n}\n#[test]\nfn c() {\n    dim(2).unwrap();\n}\n",
            ),
            (
                "#[test]\nfn a() {\n    assert!(b());\n}\n",
                "#[test]\nfn a() {\n    assert!(b());\n}\n#[test]\nfn c() {\n    is_send::<Lamp>();\n}\n",
            ),
            (
                "#[test]\nfn a() {\n    assert!(b());\n}\n",
                "#[test]\nfn a() {\n    assert!(b());\n}\n#[test]\nfn c() -> Result<(), Error> {\n    dim(2)?;\n    Ok(())\n}\n",
            ),
            (
                "#[test]\nfn a() {\n    assert!(b());\n}\n",
                "macro_rules! dims {\n    ($a:expr) => { assert_eq!(dim($a), 3); };\n}\n#[test]\nfn a() {\n    assert!(b());\n}\n#[test]\nfn c() {\n    dims!(2);\n}\n",
            ),
            (
                "#[test]\n#[cfg(unix)]\nfn a() {\n    assert!(b());\n}\n",
                "#[test]\n#[cfg_attr(miri, ignore)]\nfn a() {\n    assert!(b());\n}\n",
            ),
        ],
    );
}

#[test]
fn what_the_code_under_test_asserts_is_its_own_affair() {
    let old = "fn dim(a: u8) -> u8 {\n    debug_assert!(a > 1);\n    debug_assert!(a < 9);\n    a\n}\n\
               #[cfg(test)]\nmod tests {\n    #[test]\n    fn dims() {\n        assert_eq!(super::dim(2), 2);\n    }\n}\n";
    let new = old.replace("    debug_assert!(a < 9);\n", "");
    assert_eq!(kinds("src/lamp.rs", old, &new), []);
    let new = old.replace("assert_eq!(super::dim(2), 2)", "assert!(super::dim(2) > 0)");
    assert_eq!(kinds("src/lamp.rs", old, &new), [AssertionLoosened]);
}
