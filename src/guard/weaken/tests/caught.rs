//! A failure that is caught and forgotten is none; one that is handed on, kept or of another kind is.

use super::super::What::*;
use super::*;

fn forgotten(path: &str, wrap: fn(&str) -> String, old: &str, news: &[&str]) {
    told(path, wrap, &news.iter().map(|new| (CatchAll, old, *new)).collect::<Vec<_>>());
}

fn kept(path: &str, wrap: fn(&str) -> String, old: &str, news: &[&str]) {
    quiet(path, wrap, &news.iter().map(|new| (old, *new)).collect::<Vec<_>>());
}

#[test]
fn python_forgets_in_many_ways() {
    let old = "assert dim(2) == 3";
    forgotten(
        python::PATH,
        python::file,
        old,
        &[
            "try:\n    assert dim(2) == 3\nexcept AssertionError:\n    pass",
            "try:\n    assert dim(2) == 3\nexcept (ValueError, AssertionError):\n    pass",
            "try:\n    assert dim(2) == 3\nexcept builtins.Exception:\n    return True",
            "try:\n    assert dim(2) == 3\nexcept* Exception:\n    pass",
            "try:\n    assert dim(2) == 3\nexcept Exception as odd:\n    self.log.info(odd)",
            "try:\n    assert dim(2) == 3\nexcept Exception as odd:\n    failed = odd",
            "try:\n    assert dim(2) == 3\nexcept Exception:\n    pytest.skip('flaky')",
            "try:\n    assert dim(2) == 3\nexcept AssertionError:\n    traceback.print_exc()\n    pytest.xfail('flaky')",
            "try:\n    assert dim(2) == 3\nfinally:\n    return",
            "with suppress(Exception):\n    assert dim(2) == 3",
        ],
    );
    kept(
        python::PATH,
        python::file,
        old,
        &[
            "try:\n    assert dim(2) == 3\nexcept AssertionError:\n    lamp.dump()\n    raise",
            "try:\n    assert dim(2) == 3\nexcept ImportError:\n    pytest.skip('no lamp')",
            "try:\n    assert dim(2) == 3\nexcept Exception as odd:\n    failed = odd\nassert not failed",
            "try:\n    assert dim(2) == 3\nexcept Exception as odd:\n    failures.append(odd)",
            "try:\n    assert dim(2) == 3\nfinally:\n    lamp.off()",
            "try:\n    lamp.on()\nexcept Exception:\n    pass\nassert dim(2) == 3",
            "with suppress(OSError):\n    assert dim(2) == 3",
        ],
    );
}

#[test]
fn javascript_forgets_in_many_ways() {
    let old = "expect(dim(2)).toBe(3);";
    forgotten(
        script::PATH,
        script::file,
        old,
        &[
            "try {\n  expect(dim(2)).toBe(3);\n} catch {}",
            "try {\n  expect(dim(2)).toBe(3);\n} catch (e) { logger.info(e); }",
            "try {\n  expect(dim(2)).toBe(3);\n} catch (e) { return true; }",
            "try {\n  expect(dim(2)).toBe(3);\n} catch (e) { this.skip(); }",
            "try {\n  expect(dim(2)).toBe(3);\n} finally { return; }",
        ],
    );
    let promise = "await expect(go()).resolves.toBe(3);";
    forgotten(
        script::PATH,
        script::file,
        promise,
        &[
            "await expect(go()).resolves.toBe(3).catch(() => {});",
            "await expect(go()).resolves.toBe(3).catch(() => undefined);",
            "await expect(go()).resolves.toBe(3).catch((e) => console.log(e));",
            "await expect(go()).resolves.toBe(3).catch(noop);",
            "await expect(go()).resolves.toBe(3).then(() => {}, () => {});",
        ],
    );
    kept(
        script::PATH,
        script::file,
        promise,
        &[
            "await expect(go()).resolves.toBe(3).then(() => {});",
            "await expect(go()).resolves.toBe(3).catch((e) => { throw new Error(e); });",
            "await expect(go()).resolves.toBe(3).catch(fail);",
            "await expect(go().catch(() => 3)).resolves.toBe(3);\nawait expect(go()).resolves.toBe(3);",
            "try {\n  await expect(go()).resolves.toBe(3);\n} finally { off(); }",
        ],
    );
}

#[test]
fn rust_forgets_in_many_ways() {
    let old = "assert_eq!(dim(2), 3);";
    forgotten(
        rust::PATH,
        rust::file,
        old,
        &[
            "std::panic::catch_unwind(|| {\n    assert_eq!(dim(2), 3);\n}).ok();",
            "let _result = std::panic::catch_unwind(|| {\n    assert_eq!(dim(2), 3);\n});",
            "drop(std::panic::catch_unwind(|| {\n    assert_eq!(dim(2), 3);\n}));",
            "let _ = std::thread::spawn(|| {\n    assert_eq!(dim(2), 3);\n}).join();",
            "if std::panic::catch_unwind(|| {\n    assert_eq!(dim(2), 3);\n}).is_err() {}",
        ],
    );
    kept(
        rust::PATH,
        rust::file,
        old,
        &[
            "std::panic::catch_unwind(|| {\n    assert_eq!(dim(2), 3);\n}).unwrap();",
            "let result = std::panic::catch_unwind(|| {\n    assert_eq!(dim(2), 3);\n});\noff();\nresult.unwrap();",
            "if std::panic::catch_unwind(|| {\n    assert_eq!(dim(2), 3);\n}).is_err() { panic!(); }",
            "std::thread::spawn(|| {\n    assert_eq!(dim(2), 3);\n}).join().unwrap();",
            "let _ = std::panic::catch_unwind(|| dim(9));\nassert_eq!(dim(2), 3);",
        ],
    );
}

#[test]
fn go_forgets_by_recovering() {
    let old = "assert.Equal(t, 3, Dim(2))";
    forgotten(
        go::PATH,
        go::file,
        old,
        &[
            "defer func() {\n\tif r := recover(); r != nil {\n\t\tt.Log(r)\n\t}\n}()\nassert.Equal(t, 3, Dim(2))",
            "defer func() {\n\tif r := recover(); r != nil {\n\t\tt.Skip(r)\n\t}\n}()\nassert.Equal(t, 3, Dim(2))",
        ],
    );
    kept(
        go::PATH,
        go::file,
        old,
        &[
            "defer func() {\n\tif r := recover(); r == nil {\n\t\tt.Fatal(r)\n\t}\n}()\nassert.Equal(t, 3, Dim(2))",
            "defer func() {\n\tif r := recover(); r != nil {\n\t\tfailed = true\n\t}\n}()\nassert.Equal(t, 3, Dim(2))",
            "defer func() {\n\tassert.NotNil(t, recover())\n}()\nassert.Equal(t, 3, Dim(2))",
        ],
    );
    // A check in a condition is made each time.
    quiet(go::PATH, go::file, &[(old, "if assert.Equal(t, 3, Dim(2)) {\n\tassert.True(t, Glow())\n}")]);
}
