//! A length, or one part, in the place of the whole.

use super::super::What::*;
use super::*;

#[test]
fn a_length_or_a_part_in_the_place_of_a_value_of_go_is_less() {
    let whole = "want := []string{\"a\", \"b\"}\ngot := Names()\nif !reflect.DeepEqual(got, want) {\n\tt.Fatal(1)\n}";
    let with = |check: &str| whole.replace("!reflect.DeepEqual(got, want)", check);
    for check in ["len(got) != len(want)", "len(got) != 2", "got[0] != want[0]", "len(want) != len(got)"] {
        told(go::PATH, go::file, &[(AssertionLoosened, whole, &with(check))]);
    }
    let word = "s := Name()\nif s != \"hello\" {\n\tt.Fatal(1)\n}";
    let here = "if s := Name(); s != \"hello\" {\n\tt.Fatal(1)\n}";
    let case = "for _, tt := range tests {\n\tgot := Names(tt.in)\n\tif !reflect.DeepEqual(got, tt.want) {\n\t\tt.Fatal(1)\n\t}\n}";
    for (old, new) in [
        (word, word.replace("s != \"hello\"", "len(s) != 5")),
        (here, here.replace("s != \"hello\"", "len(s) != 5")),
        (case, case.replace("!reflect.DeepEqual(got, tt.want)", "len(got) != len(tt.want)")),
    ] {
        told(go::PATH, go::file, &[(AssertionLoosened, old, &new)]);
    }
    for (old, new) in [
        (whole, with("!slices.Equal(got, want)")),
        (whole, with("!cmp.Equal(want, got)")),
        (whole, with("len(got) != len(want) || got[0] != want[0] || got[1] != want[1]")),
        (
            whole,
            whole.replace(
                "if !reflect.DeepEqual(got, want) {\n\tt.Fatal(1)\n}",
                "if len(got) != len(want) {\n\tt.Fatal(1)\n}\nfor i := range want {\n\tif got[i] != want[i] {\n\t\tt.Fatal(i)\n\t}\n}",
            ),
        ),
        (whole, with("len(got) != len(want)") + "\nif !reflect.DeepEqual(got, want) {\n\tt.Fatal(1)\n}"),
        (here, here.replace("hello", "hallo")),
        (here, word.to_owned()),
    ] {
        quiet(go::PATH, go::file, &[(old, &new)]);
    }
}

#[test]
fn a_length_in_the_place_of_a_named_value_is_less() {
    let python = "want = ['a', 'b']\ngot = names()\nassert got == want";
    told(
        python::PATH,
        python::file,
        &[(AssertionLoosened, python, &python.replace("got == want", "len(got) == len(want)"))],
    );
    let rust = "let want = vec![\"a\", \"b\"];\nlet got = names();\nassert_eq!(got, want);";
    told(rust::PATH, rust::file, &[(AssertionLoosened, rust, &rust.replace("(got, want)", "(got.len(), want.len())"))]);
    let script = "const want = ['a', 'b']; const got = names(); expect(got).toEqual(want);";
    told(
        script::PATH,
        script::file,
        &[(
            AssertionLoosened,
            script,
            &script.replace("expect(got).toEqual(want)", "expect(got.length).toBe(want.length)"),
        )],
    );
    quiet(
        python::PATH,
        python::file,
        &[
            (python, "got = names()\nassert len(got) == 2\nassert got[0] == 'a'\nassert got[1] == 'b'"),
            (
                python,
                "want = ['a', 'b']\ngot = names()\nassert len(got) == len(want)\nfor a, b in zip(got, want):\n    assert a == b",
            ),
            ("assert a() == b()", "assert len(a()) == 2\nassert a() == b()"),
        ],
    );
}
