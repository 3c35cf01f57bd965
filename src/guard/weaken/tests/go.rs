use super::super::What::*;
use super::*;

pub(super) const PATH: &str = "lamp/lamp_test.go";

/// A body becomes a test; what has its own `func Test` stays as it is.
pub(super) fn file(text: &str) -> String {
    let body = if text.contains("func Test") {
        text.to_owned()
    } else {
        format!("func TestDim(t *testing.T) {{\n{text}\n}}\n")
    };
    format!("package lamp\n\n{body}")
}

#[test]
fn what_is_weaker_in_go_is_found() {
    all_weaker(
        PATH,
        file,
        &[
            (AssertionLoosened, "if Dim(2) != 3 {\n\tt.Error(\"low\")\n}", "if Dim(2) < 0 {\n\tt.Error(\"low\")\n}"),
            (AssertionLoosened, "if Dim(2) != 3 {\n\tt.Error(\"low\")\n}", "if Dim(2) == 0 {\n\tt.Error(\"low\")\n}"),
            (
                AssertionLoosened,
                "if Dim(2) != \"low\" {\n\tt.Fatal(1)\n}",
                "if !strings.Contains(Dim(2), \"lo\") {\n\tt.Fatal(1)\n}",
            ),
            (
                AssertionLoosened,
                "if Dim(2) != \"low\" {\n\tt.Fatal(1)\n}",
                "if !strings.HasPrefix(Dim(2), \"l\") {\n\tt.Fatal(1)\n}",
            ),
            (
                AssertionLoosened,
                "if got != 3 {\n\tt.Errorf(\"%d\", got)\n}",
                "if got == nil {\n\tt.Errorf(\"%d\", got)\n}",
            ),
            (
                AssertionLoosened,
                "if !reflect.DeepEqual(Dim(2), want) {\n\tt.Fatal(1)\n}",
                "if Dim(2) == nil {\n\tt.Fatal(1)\n}",
            ),
            (AssertionLoosened, "assert.Equal(t, 3, Dim(2))", "assert.NotNil(t, Dim(2))"),
            (AssertionLoosened, "assert.Equal(t, 3, Dim(2))", "assert.NotEmpty(t, Dim(2))"),
            (AssertionLoosened, "require.Equal(t, 3, Dim(2))", "require.Greater(t, Dim(2), 0)"),
            (AssertionLoosened, "require.Equal(t, \"low\", Dim(2))", "require.Contains(t, Dim(2), \"lo\")"),
            (AssertionLoosened, "require.Equal(t, \"low\", Dim(2))", "require.Regexp(t, \"l\", Dim(2))"),
            (AssertionLoosened, "assert.Equal(t, 3, Dim(2))", "assert.True(t, Dim(2) > 0)"),
            (AssertionLoosened, "assert.Equal(t, 3, Dim(2))", "assert.NotEqual(t, 0, Dim(2))"),
            (AssertionLoosened, "assert.ErrorIs(t, err, ErrLow)", "assert.Error(t, err)"),
            (AssertionLoosened, "assert.EqualError(t, err, \"low\")", "assert.Error(t, err)"),
            (AssertionLoosened, "assert.ErrorContains(t, err, \"low\")", "assert.Error(t, err)"),
            (AssertionLoosened, "assert.Equal(t, 3, got)", "if got > 0 {\n\tassert.Equal(t, 3, got)\n}"),
            (
                AssertionLoosened,
                "if got != 3 {\n\tt.Error(got)\n}",
                "if on {\n\tif got != 3 {\n\t\tt.Error(got)\n\t}\n}",
            ),
            (AssertionLoosened, "assert.Contains(t, Dim(2), \"low\")", "assert.NotNil(t, Dim(2))"),
            (AssertionLoosened, "Expect(Dim(2)).To(Equal(3))", "Expect(Dim(2)).NotTo(BeNil())"),
            (
                AssertionRemoved,
                "if Dim(2) != 3 {\n\tt.Error(\"a\")\n}\nif Glow(4) != 5 {\n\tt.Error(\"b\")\n}",
                "if Dim(2) != 3 {\n\tt.Error(\"a\")\n}",
            ),
            (AssertionRemoved, "assert.Equal(t, 3, Dim(2))\nassert.Equal(t, 5, Glow(4))", "assert.Equal(t, 3, Dim(2))"),
            (
                AssertionRemoved,
                "if Dim(2) != 3 || Glow(4) != 5 {\n\tt.Error(\"a\")\n}",
                "if Dim(2) != 3 {\n\tt.Error(\"a\")\n}",
            ),
            (
                AssertionRemoved,
                "tests := []struct{ a, b int }{{1, 10}, {2, 20}, {3, 30}}\nfor _, tt := range tests {\n\tif Dim(tt.a) != tt.b {\n\t\tt.Error(tt)\n\t}\n}",
                "tests := []struct{ a, b int }{{1, 10}, {2, 20}}\nfor _, tt := range tests {\n\tif Dim(tt.a) != tt.b {\n\t\tt.Error(tt)\n\t}\n}",
            ),
            (
                AssertionRemoved,
                "func check(t *testing.T, a int) {\n\tassert.Equal(t, a, Dim(a))\n\tassert.True(t, Glow(a))\n}\nfunc TestDim(t *testing.T) {\n\tcheck(t, 1)\n}\n",
                "func check(t *testing.T, a int) {\n\tassert.Equal(t, a, Dim(a))\n}\nfunc TestDim(t *testing.T) {\n\tcheck(t, 1)\n}\n",
            ),
            (ExpectationFromCode, "assert.Equal(t, 3, Dim(2))", "assert.Equal(t, Dim(2), Dim(2))"),
            (
                ExpectationFromCode,
                "if dim(2) != 3 {\n\tt.Error(\"a\")\n}",
                "want := dim(2)\nif dim(2) != want {\n\tt.Error(\"a\")\n}",
            ),
            (Skipped, "assert.Equal(t, 3, Dim(2))", "t.Skip(\"later\")\nassert.Equal(t, 3, Dim(2))"),
            (Skipped, "assert.Equal(t, 3, Dim(2))", "return\nassert.Equal(t, 3, Dim(2))"),
            (Skipped, "assert.Equal(t, 3, Dim(2))", "if false {\n\tassert.Equal(t, 3, Dim(2))\n}"),
            (
                Skipped,
                "t.Run(\"low\", func(t *testing.T) {\n\tassert.Equal(t, 3, Dim(2))\n})",
                "t.Run(\"low\", func(t *testing.T) {\n\tt.SkipNow()\n\tassert.Equal(t, 3, Dim(2))\n})",
            ),
            (CatchAll, "assert.Equal(t, 3, Dim(2))", "defer func() { recover() }()\nassert.Equal(t, 3, Dim(2))"),
            (
                CatchAll,
                "assert.Equal(t, 3, Dim(2))",
                "defer func() {\n\t_ = recover()\n}()\nassert.Equal(t, 3, Dim(2))",
            ),
            (ToleranceWidened, "assert.InDelta(t, 3.1, Dim(2), 0.001)", "assert.InDelta(t, 3.1, Dim(2), 1)"),
            (ToleranceWidened, "assert.InEpsilon(t, 3.1, Dim(2), 0.001)", "assert.InEpsilon(t, 3.1, Dim(2), 0.5)"),
            (
                MocksSubject,
                "lamp := NewLamp()\nassert.Equal(t, 3, lamp.Dim(2))",
                "lamp := NewMockLamp(ctrl)\nlamp.EXPECT().Dim(2).Return(3)\nassert.Equal(t, 3, lamp.Dim(2))",
            ),
            (
                MocksSubject,
                "lamp := NewLamp()\nassert.Equal(t, 3, lamp.Dim(2))",
                "lamp := new(MockLamp)\nlamp.On(\"Dim\", 2).Return(3)\nassert.Equal(t, 3, lamp.Dim(2))",
            ),
            (AssertsNothing, "assert.Equal(t, 3, Dim(2))", "Dim(2)"),
            (AssertsNothing, "if Dim(2) != 3 {\n\tt.Error(\"a\")\n}", "_ = Dim(2)\nt.Log(\"fine\")"),
            (
                AssertsNothing,
                "func TestA(t *testing.T) {\n\tassert.True(t, A())\n}\n",
                "func TestA(t *testing.T) {\n\tassert.True(t, A())\n}\nfunc TestDim(t *testing.T) {\n\tDim(2)\n}\n",
            ),
            (
                TestRemoved,
                "func TestA(t *testing.T) {\n\tassert.True(t, A())\n}\nfunc TestDim(t *testing.T) {\n\tassert.Equal(t, 3, Dim(2))\n}\n",
                "func TestA(t *testing.T) {\n\tassert.True(t, A())\n}\n",
            ),
            (
                TestRemoved,
                "t.Run(\"a\", func(t *testing.T) {\n\tassert.True(t, A())\n})\nt.Run(\"low\", func(t *testing.T) {\n\tassert.Equal(t, 3, Dim(2))\n})",
                "t.Run(\"a\", func(t *testing.T) {\n\tassert.True(t, A())\n})",
            ),
        ],
    );
}

#[test]
fn honest_changes_in_go_are_let_be() {
    all_honest(
        PATH,
        file,
        &[
            ("assert.Equal(t, 3, Dim(2))", "assert.Equal(t, 4, Dim(2))"),
            ("assert.NotNil(t, Dim(2))", "assert.Equal(t, 3, Dim(2))"),
            ("assert.Equal(t, 3, Dim(2))", "require.Equal(t, 3, Dim(2))"),
            ("assert.Equal(t, 3, Dim(2))", "assert.Equalf(t, 3, Dim(2), \"level %d\", 2)"),
            ("assert.Equal(t, 3, Dim(2))", "if Dim(2) != 3 {\n\tt.Error(\"low\")\n}"),
            ("if Dim(2) != 3 {\n\tt.Error(\"low\")\n}", "if got := Dim(2); got != 3 {\n\tt.Errorf(\"%d\", got)\n}"),
            ("if Dim(2) != 3 {\n\tt.Error(\"low\")\n}", "if Dim(2) != 4 {\n\tt.Error(\"high\")\n}"),
            ("if err != nil {\n\tt.Fatal(err)\n}", "require.NoError(t, err)"),
            ("assert.Equal(t, true, Dim(2))", "assert.True(t, Dim(2))"),
            ("assert.Equal(t, nil, Dim(2))", "assert.Nil(t, Dim(2))"),
            ("assert.Equal(t, \"\", Dim(2))", "assert.Empty(t, Dim(2))"),
            ("assert.Error(t, err)", "assert.ErrorIs(t, err, ErrLow)"),
            ("assert.NoError(t, err)", "assert.Error(t, err)"),
            ("assert.InDelta(t, 3.1, Dim(2), 1)", "assert.InDelta(t, 3.1, Dim(2), 0.001)"),
            ("assert.Equal(t, 3, Dim(2))", "got := Dim(2)\nassert.Equal(t, 3, got)"),
            ("assert.Equal(t, 3, Dim(2))", "assert.Equal(t, 3, Dim(2))\nassert.Equal(t, 5, Dim(4))"),
            ("assert.Equal(t, 3, Dim(2))", "assert.Equal(t, Glow(2), Dim(2))"),
            (
                "if !reflect.DeepEqual(got, want) {\n\tt.Error(got)\n}",
                "if diff := cmp.Diff(want, got); diff != \"\" {\n\tt.Error(diff)\n}",
            ),
            ("assert.Equal(t, 3, Dim(2))", "if runtime.GOOS != \"windows\" {\n\tassert.Equal(t, 3, Dim(2))\n}"),
            ("assert.Equal(t, 3, Dim(2))", "if testing.Short() {\n\tt.Skip(\"slow\")\n}\nassert.Equal(t, 3, Dim(2))"),
            (
                "assert.Equal(t, 3, Dim(2))\nassert.Equal(t, 5, Dim(4))",
                "tests := []struct{ a, b int }{{2, 3}, {4, 5}}\nfor _, tt := range tests {\n\tassert.Equal(t, tt.b, Dim(tt.a))\n}",
            ),
            ("assert.Equal(t, 3, Dim(2))", "t.Run(\"low\", func(t *testing.T) {\n\tassert.Equal(t, 3, Dim(2))\n})"),
            (
                "assert.Equal(t, 3, Dim(2))",
                "defer func() {\n\tif r := recover(); r != nil {\n\t\tt.Fatal(r)\n\t}\n}()\nassert.Equal(t, 3, Dim(2))",
            ),
            (
                "func TestA(t *testing.T) {\n\tassert.Equal(t, 3, Dim(2))\n}\n",
                "func TestDimsToThree(t *testing.T) {\n\tassert.Equal(t, 3, Dim(2))\n}\n",
            ),
            (
                "func TestA(t *testing.T) {\n\tassert.Equal(t, 3, Dim(2))\n\tassert.Equal(t, 5, Dim(4))\n}\n",
                "func check(t *testing.T, a, b int) {\n\tassert.Equal(t, a, Dim(b))\n}\nfunc TestA(t *testing.T) {\n\tcheck(t, 3, 2)\n\tcheck(t, 5, 4)\n}\n",
            ),
            (
                "func TestA(t *testing.T) {\n\tassert.Equal(t, 3, Dim(2))\n\tassert.Equal(t, 5, Glow(4))\n}\n",
                "func TestA(t *testing.T) {\n\tassert.Equal(t, 3, Dim(2))\n}\nfunc TestGlow(t *testing.T) {\n\tassert.Equal(t, 5, Glow(4))\n}\n",
            ),
            (
                "func TestA(t *testing.T) {\n\tassert.True(t, A())\n}\n",
                "func TestA(t *testing.T) {\n\tassert.True(t, A())\n}\nfunc TestB(t *testing.T) {\n\troundtrip(t, B)\n}\n",
            ),
            (
                "func TestA(t *testing.T) {\n\tassert.True(t, A())\n}\n",
                "func TestA(t *testing.T) {\n\tassert.True(t, A())\n}\nfunc TestB(t *testing.T) {\n\tif err := B(); err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n",
            ),
            (
                "func TestA(t *testing.T) {\n\tassert.True(t, A())\n}\nfunc TestB(t *testing.T) {\n\tt.Skip(\"never ran\")\n\tassert.True(t, B())\n}\n",
                "func TestA(t *testing.T) {\n\tassert.True(t, A())\n}\n",
            ),
        ],
    );
}

/// Fuzzing for panics is the usual thing.
#[test]
fn a_fuzz_test_that_calls_what_it_fuzzes_asserts_that_nothing_panics() {
    let file =
        |body: &str| format!("package lamp\n\nfunc FuzzDim(f *testing.F) {{\n\tf.Add(1)\n\tf.Fuzz({body})\n}}\n");
    let new = |body: &str| {
        let report = weaker(PATH, None, Some(file(body).as_bytes()));
        report.found.iter().map(|one| one.what).collect::<Vec<_>>()
    };
    assert_eq!(new("func(t *testing.T, i int) { Dim(i) }"), []);
    assert_eq!(new("func(t *testing.T, i int) { lamp.Dim(i) }"), []);
    assert_eq!(new("func(t *testing.T, i int) { t.Log(i) }"), [AssertsNothing]);
    assert_eq!(new("func(t *testing.T, i int) {}"), [AssertsNothing]);
    let with = file("func(t *testing.T, i int) { if Dim(i) < 0 { t.Fatal(i) } }");
    let without = file("func(t *testing.T, i int) { Dim(i) }");
    assert_eq!(kinds(PATH, &with, &without), [AssertionRemoved]);
}
