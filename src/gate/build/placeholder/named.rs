//! Names that say themselves that nothing happens.

/// What stands in for something without doing it, by the first word of a type's name.
const STAND_INS: &[&str] = &["null", "noop", "nop", "fake", "dummy", "mock"];
/// What is called when something happens, by the last word of its name.
const CALLED: &[&str] = &["callback", "fn", "func", "function", "handler", "hook", "listener"];

/// The words of a name, small: `emptyCart`, `empty_cart` and `EmptyCart` are `empty` and `cart`.
fn words(name: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut before = '_';
    for c in name.chars() {
        if !c.is_alphanumeric() {
            before = c;
            continue;
        }
        match all.last_mut() {
            Some(word) if before.is_alphanumeric() && !(c.is_uppercase() && before.is_lowercase()) => {
                word.extend(c.to_lowercase());
            }
            _ => all.push(c.to_lowercase().collect()),
        }
        before = c;
    }
    all
}

fn says_nothing(words: &[String]) -> bool {
    words.iter().any(|word| matches!(word.as_str(), "noop" | "nop" | "nothing"))
        || words.windows(2).any(|two| two[0] == "no" && two[1] == "op")
}

/// Whether a function's name says that nothing happens. `emptyCart` and `ignore_case` say what is to happen.
pub(super) fn is_noop(name: &str) -> bool {
    let words = words(name);
    // `empty$1` is what a bundler makes of it.
    let is_count = |word: &&str| word.chars().all(|c| c.is_ascii_digit());
    let own: Vec<&str> = words.iter().map(String::as_str).filter(|word| !is_count(word)).collect();
    match own.as_slice() {
        ["ignore" | "dummy" | "fake" | "empty"] => true,
        ["empty" | "dummy" | "fake" | "null" | "default", .., last] if CALLED.contains(last) => true,
        _ => says_nothing(&words),
    }
}

/// Whether a type's name says that it does nothing: `NullLamp`, `fakeClock`, `NoOpSink`.
pub(super) fn is_stand_in(name: &str) -> bool {
    let words = words(name);
    words.first().is_some_and(|first| STAND_INS.contains(&first.as_str())) || says_nothing(&words)
}

/// Whether a class says itself that others are to fill it: `AbstractLamp`.
pub(super) fn is_abstract(name: &str) -> bool {
    words(name).first().is_some_and(|first| first == "abstract")
}

/// Whether an object's name says that it is there until somebody sets another.
pub(super) fn is_until_set(name: &str) -> bool {
    let words = words(name);
    let first = words.first().map(String::as_str);
    first.is_some_and(|first| matches!(first, "default" | "defaults" | "empty" | "initial")) || is_stand_in(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_that_nothing_happens_in_whole_words() {
        for name in
            ["noop", "no_op", "noOp", "NOOP", "doNothing", "do_nothing", "ignore", "emptyHandler", "_noop", "empty$1"]
        {
            assert!(is_noop(name), "{name}");
        }
        for name in ["emptyCart", "empty_cart", "nullify_level", "ignore_case", "fakeNews", "snoop", "canopy", "dim"] {
            assert!(!is_noop(name), "{name}");
        }
        for name in ["NullLamp", "FakeClock", "DummySink", "noopLogger", "LampNoOp"] {
            assert!(is_stand_in(name), "{name}");
        }
        for name in ["Nullable", "Lamp", "LampFakery", "EmptyCart", "Nope"] {
            assert!(!is_stand_in(name), "{name}");
        }
    }
}
