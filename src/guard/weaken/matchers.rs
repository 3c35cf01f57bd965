//! What the words of assertion libraries hold, as tables.

use super::model::{Check, Form, Tolerance};
use super::tree::{Sort, Token};
use super::truth::{self, Tokens, number};

/// Methods of `assert` and of a test's `t`, and whether they say what must not be.
pub(super) fn method(name: &str) -> Option<(Form, bool)> {
    Some(match name {
        "ok" | "true" | "truthy" | "isTrue" | "isOk" | "assert" | "exists" | "isDefined" => (Form::Truth, false),
        "notOk" | "false" | "falsy" | "isFalse" | "isNotOk" | "notExists" => (Form::Truth, true),
        "equal" | "equals" | "strictEqual" | "deepEqual" | "deepStrictEqual" | "is" | "same" | "strictSame"
        | "isEqual" | "eq" | "deepLooseEqual" | "looseEqual" | "is_deeply" | "snapshot" | "matchSnapshot" => {
            (Form::Exact, false)
        }
        "notEqual" | "notStrictEqual" | "notDeepEqual" | "notDeepStrictEqual" | "not" | "notSame" | "strictNotSame" => {
            (Form::Differs, false)
        }
        "match"
        | "include"
        | "includes"
        | "like"
        | "partialDeepStrictEqual"
        | "hasStrict"
        | "has"
        | "property"
        | "regex" => (Form::Part, false),
        "doesNotMatch" | "notMatch" | "notInclude" | "notMatches" | "notRegex" => (Form::Part, true),
        "instanceOf" | "isString" | "isArray" | "isObject" | "isFunction" | "isNumber" | "typeOf" | "type" => {
            (Form::Type, false)
        }
        "isNull" | "isUndefined" => (Form::Other, false),
        "isAbove" | "isBelow" | "isAtLeast" | "isAtMost" => (Form::Order, false),
        "throws" | "rejects" | "throwsAsync" | "doesReject" => (Form::Raises, false),
        "doesNotThrow" | "notThrows" | "doesNotReject" | "notThrowsAsync" | "error" | "ifError" => (Form::Other, true),
        "fail" => (Form::Other, false),
        "pass" => (Form::Nothing, false),
        _ => return None,
    })
}

/// A chain of `expect` or `should`: its words and the arguments of the last one.
pub(super) fn chain(
    line: u32,
    all: Tokens<'_, '_>,
    words: &[&str],
    subject: Tokens<'_, '_>,
    arguments: &[Tokens<'_, '_>],
) -> Check {
    let one = arguments.first().copied().unwrap_or_default();
    let not = words.contains(&"not");
    let form = |form: Form, expected: Tokens<'_, '_>| {
        let mut check = Check::new(line, form, all);
        truth::sides(&mut check, subject, expected);
        check
    };
    let last = words.last().copied().unwrap_or("");
    // `expect(a === b).toBe(true)` says what `assert(a === b)` says.
    let is_true = matches!(last, "toBeTruthy" | "toBeTrue" | "true" | "ok")
        || matches!(last, "toBe" | "toEqual" | "toStrictEqual" | "equal" | "equals" | "eql" | "eq")
            && matches!(one, [one] if one.text == "true");
    if is_true && !not && truth::is_asked(subject) {
        let mut parts = truth::truth(line, subject);
        if let (1, Some(check)) = (parts.len(), parts.pop()) {
            return Check { text: Check::new(line, Form::Other, all).text, shown: super::model::shown(all), ..check };
        }
    }
    let mut check = match last {
        "toBe"
        | "toEqual"
        | "toStrictEqual"
        | "equal"
        | "equals"
        | "eql"
        | "eq"
        | "deep"
        | "toHaveBeenCalledWith"
        | "members"
        | "toHaveBeenLastCalledWith"
        | "toHaveBeenNthCalledWith"
        | "toHaveBeenCalledTimes"
        | "calledWith"
        | "toHaveLength"
        | "toHaveReturnedWith"
        | "lengthOf"
        | "length"
        | "calledOnceWith"
        | "calledOnceWithExactly"
        | "toHaveBeenCalledOnceWith"
        | "toHaveBeenCalledExactlyOnceWith"
        | "toHaveBeenExactlyOnceCalledWith"
        | "callCount"
        | "toHaveTextContent"
        | "toHaveValue"
        | "toMatchInlineSnapshot"
        | "toMatchSnapshot"
        | "toThrowErrorMatchingInlineSnapshot"
        | "toThrowErrorMatchingSnapshot" => exact(line, all, subject, one, last, arguments),
        "toBeNull" | "toBeUndefined" | "toBeNaN" | "null" | "undefined" | "toBeFalse" | "toBeTrue" | "true"
        | "false" | "empty" | "toBeEmpty" => Check { trivial: true, ..form(Form::Exact, &[]) },
        "toBeTruthy" | "toBeDefined" | "ok" | "exist" | "toBeInTheDocument" | "toHaveBeenCalled" | "called"
        | "toBeCalled" => form(Form::Truth, &[]),
        "toBeFalsy" => Check { negative: true, ..form(Form::Truth, &[]) },
        "toContain" | "contain" | "include" | "contains" | "includes"
            if subject.first().is_some_and(super::words::opens) =>
        {
            // One of a list that is written out.
            let (looked, expected) = truth::contained(one, subject);
            let mut check = Check::new(line, Form::Part, all);
            truth::sides(&mut check, looked, expected);
            check
        }
        "toBeOneOf" | "oneOf" => form(Form::Part, one),
        "toContain" | "toMatch" | "toContainEqual" | "toMatchObject" | "toHaveProperty" | "contain" | "include"
        | "match" | "contains" | "includes" | "property" | "matches" | "string" | "keys" => {
            let whole = last == "toHaveProperty" || last == "property";
            let form_of = if whole && arguments.len() > 1 { Form::Other } else { Form::Part };
            form(form_of, one)
        }
        "toBeInstanceOf" | "instanceof" | "instanceOf" | "a" | "an" | "toBeTypeOf" => form(Form::Type, one),
        "toBeGreaterThan"
        | "toBeGreaterThanOrEqual"
        | "toBeLessThan"
        | "toBeLessThanOrEqual"
        | "above"
        | "below"
        | "least"
        | "most"
        | "greaterThan"
        | "lessThan"
        | "within" => match truth::distance(truth::bare(subject)) {
            Some((looked, expected)) if last.to_lowercase().contains("less") || last == "below" || last == "most" => {
                let mut check = Check::new(line, Form::Near, all);
                truth::sides(&mut check, looked, expected);
                check.tolerance = number(truth::bare(one)).map(Tolerance);
                check
            }
            _ => form(Form::Order, one),
        },
        "toBeCloseTo" | "closeTo" => {
            let mut check = form(Form::Near, one);
            let said = arguments.get(1).and_then(|second| number(second));
            let digits = said.or((last == "toBeCloseTo").then_some(2.0));
            let value = if last == "toBeCloseTo" { digits.map(|digits| 0.1_f64.powf(digits)) } else { said };
            check.tolerance = value.map(Tolerance);
            check
        }
        "toThrow" | "toThrowError" | "throw" | "throws" | "throwError" | "rejected" | "rejectedWith" => {
            let mut check = form(Form::Raises, one);
            let any = one.is_empty() || is_any_error(one) || truth::matches_all(one);
            (check.broad, check.message) = (any, !any);
            if not {
                check.form = Form::Truth;
            }
            return check;
        }
        _ => form(Form::Other, one),
    };
    if not {
        check.negative = !check.negative;
        check.form = match check.form {
            // `not.toBeNull()` and `not.toBeUndefined()` say that something is there.
            Form::Exact
                if check.trivial && matches!(last, "toBeNull" | "toBeUndefined" | "null" | "undefined" | "empty") =>
            {
                check.negative = false;
                Form::Truth
            }
            Form::Exact => {
                check.negative = false;
                Form::Differs
            }
            Form::Near => Form::Other,
            other => other,
        };
    }
    check
}

pub(super) fn is_any_error(tokens: Tokens<'_, '_>) -> bool {
    matches!(tokens, [one] if one.sort == Sort::Word && one.text == "Error")
}

/// A value that must be the same. What a matcher in it lets pass counts as such.
fn exact(
    line: u32,
    all: Tokens<'_, '_>,
    subject: Tokens<'_, '_>,
    one: Tokens<'_, '_>,
    name: &str,
    arguments: &[Tokens<'_, '_>],
) -> Check {
    let whole: Vec<Token<'_>> = arguments.iter().flat_map(|argument| argument.iter().copied()).collect();
    let called = name == "toHaveBeenCalledWith" || name.starts_with("called") || name.contains("Once");
    let expected = if called { whole.as_slice() } else { one };
    let mut check = Check::new(line, Form::Exact, all);
    if name.contains("Once") {
        // How often, and with what.
        check.weight = check.weight.saturating_mul(2);
    }
    truth::sides(&mut check, subject, expected);
    if truth::is_literal(subject) && truth::bare(subject) == truth::bare(expected) {
        check.form = Form::Nothing;
    }
    if let [word, inner @ ..] = truth::bare(subject)
        && word.text == "typeof"
    {
        truth::sides(&mut check, inner, expected);
        check.form = Form::Type;
    }
    if matches!(name, "toHaveLength" | "lengthOf" | "length") {
        (check.part_of, check.subject) = (check.subject, check.subject ^ 2);
    }
    let words: Vec<&str> = expected.iter().take(3).map(|token| token.text).collect();
    match words.as_slice() {
        ["expect", ".", "anything" | "any"] => check.form = Form::Truth,
        ["expect", ".", "objectContaining" | "stringContaining" | "arrayContaining" | "stringMatching"] => {
            check.form = Form::Part
        }
        ["expect", ".", "closeTo"] => check.form = Form::Near,
        _ => {}
    }
    if let Some((inner, digits)) = truth::rounded(truth::bare(subject)) {
        truth::sides(&mut check, inner, expected);
        check.form = Form::Near;
        check.tolerance = Some(Tolerance(0.5 * 0.1_f64.powf(digits)));
    }
    // What is looked at is the call of a mock or the length, not the value: another matcher is another question.
    if name.contains("Called") || name.contains("called") || name == "callCount" {
        check.subject ^= 1;
    }
    if name.ends_with("Snapshot") {
        (check.form, check.literal) = (Form::Other, false);
        check.recorded = one.is_empty() && matches!(name, "toMatchSnapshot" | "toMatchInlineSnapshot");
    }
    check
}

/// Functions of testify, with the package's `t` taken away.
pub(super) fn testify(line: u32, all: Tokens<'_, '_>, name: &str, arguments: &[Tokens<'_, '_>]) -> Option<Check> {
    let one = arguments.first().copied().unwrap_or_default();
    let two = arguments.get(1).copied().unwrap_or_default();
    let form = |form: Form, subject: Tokens<'_, '_>, expected: Tokens<'_, '_>| {
        let mut check = Check::new(line, form, all);
        truth::sides(&mut check, subject, expected);
        check
    };
    // `Equalf` is `Equal` with a message.
    let plain = name.strip_suffix('f').filter(|plain| plain.len() > 2 && *plain != "I").unwrap_or(name);
    Some(match plain {
        "Equal" | "EqualValues" | "Exactly" | "Same" | "JSONEq" | "YAMLEq" | "ElementsMatch" => {
            let (subject, expected) =
                if truth::is_literal(two) && !truth::is_literal(one) { (one, two) } else { (two, one) };
            let mut check = form(Form::Exact, subject, expected);
            if truth::bare(one) == truth::bare(two) {
                check.same = !check.literal;
                if check.literal {
                    check.form = Form::Nothing;
                }
            }
            check
        }
        "Len" => {
            let of = form(Form::Exact, one, two).subject;
            Check { subject: of ^ 2, part_of: of, ..form(Form::Exact, one, two) }
        }
        "EqualError" | "ErrorIs" | "ErrorAs" | "ErrorContains" | "PanicsWithValue" | "PanicsWithError" => {
            form(if plain == "ErrorContains" { Form::Part } else { Form::Exact }, one, two)
        }
        "NotEqual" | "NotSame" => form(Form::Differs, two, one),
        "True" => {
            let mut parts = truth::truth(line, one);
            return if parts.len() == 1 { parts.pop() } else { Some(form(Form::Other, one, &[])) };
        }
        "False" => {
            let mut check = truth::truth(line, one).pop()?;
            check.negative = !check.negative;
            check.form = match check.form {
                Form::Exact => Form::Differs,
                Form::Differs => Form::Exact,
                Form::Nothing => Form::Other,
                other => other,
            };
            check
        }
        "Nil" | "NoError" | "Empty" | "Zero" => Check { trivial: true, ..form(Form::Exact, one, &[]) },
        "NotNil" | "Error" | "NotEmpty" | "NotZero" | "NotPanics" | "Panics" => form(Form::Truth, one, &[]),
        "Contains" | "Regexp" | "Subset" => {
            let listed = plain == "Contains" && one.first().is_some_and(super::words::opens) && !truth::is_literal(two);
            let (subject, expected) = if plain == "Regexp" || listed { (two, one) } else { (one, two) };
            form(Form::Part, subject, expected)
        }
        "NotContains" | "NotRegexp" | "NotSubset" => Check { negative: true, ..form(Form::Part, one, two) },
        "IsType" | "Implements" => form(Form::Type, two, one),
        "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual" | "Positive" | "Negative" => form(Form::Order, one, two),
        "InDelta" | "InEpsilon" | "WithinDuration" | "InDeltaSlice" => {
            let mut check = form(Form::Near, two, one);
            check.tolerance = arguments.get(2).and_then(|third| number(third)).map(Tolerance);
            check
        }
        "Fail" | "FailNow" | "Eventually" | "Never" | "FileExists" | "DirExists" | "Condition" | "HTTPStatusCode"
        | "EventuallyWithT" | "NotErrorIs" | "Never_" | "IsIncreasing" | "NoFileExists" => form(Form::Other, one, two),
        _ => return None,
    })
}

/// A matcher of gomega or of gocheck.
pub(super) fn matched(
    line: u32,
    all: Tokens<'_, '_>,
    subject: Tokens<'_, '_>,
    matcher: Tokens<'_, '_>,
    expected: Tokens<'_, '_>,
) -> Check {
    let name = matcher.iter().take_while(|token| token.text != "(").last().map_or("", |token| token.text);
    let (form, trivial) = match name {
        "Equal" | "Equals" | "DeepEquals" | "BeEquivalentTo" | "BeIdenticalTo" | "HaveLen" | "HasLen" | "ConsistOf" => {
            (Form::Exact, false)
        }
        "BeNil" | "IsNil" | "BeTrue" | "BeFalse" | "Succeed" | "BeEmpty" => (Form::Exact, true),
        "NotNil" | "HaveOccurred" => (Form::Truth, false),
        "ContainSubstring" | "MatchRegexp" | "ContainElement" | "Matches" | "ErrorMatches" | "MatchError"
        | "HavePrefix" => (Form::Part, false),
        "BeNumerically" => (Form::Order, false),
        _ => (Form::Other, false),
    };
    let mut check = Check::new(line, form, all);
    truth::sides(&mut check, subject, expected);
    check.trivial |= trivial;
    check
}
