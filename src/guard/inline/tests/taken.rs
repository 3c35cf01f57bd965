//! What is kept of a file, and what its base may make of it later.

use super::*;

const BASE: &str = "pub fn a() {}\n#[cfg(test)]\nmod tests {\n    fn help() {}\n    #[test]\n    fn old() { help() }\n    #[test]\n    fn left() {}\n}\n";

fn read(text: &str) -> Vec<Item> {
    items("a.rs", text.as_bytes()).unwrap().unwrap()
}

/// What trips at a head, after a freeze of another head, with the base as it is now.
fn trips(taken: &Taken, base: &str, now: &str) -> Vec<String> {
    let told = compare(&taken.expected(&read(base)), &read(now));
    let trips = told.into_iter().filter(|(_, became)| became.trips());
    trips.map(|(name, became)| format!("{name}: {}", said(&became))).collect()
}

#[test]
fn only_what_the_change_made_is_kept() {
    let head = BASE
        .replace("    fn help", "    #[test]\n    fn new() { help() }\n    fn help")
        .replace("    #[test]\n    fn left() {}\n", "");
    let taken = Taken::of(&read(&head), &read(BASE));
    assert_eq!(taken.items.keys().collect::<Vec<_>>(), ["tests::new"]);
    assert_eq!(taken.without.iter().collect::<Vec<_>>(), ["tests::left"]);
    assert_eq!(taken.expected(&read(BASE)), freeze(&read(&head)));
    assert!(Taken::of(&read(BASE), &read(BASE)).is_empty());

    assert_eq!(trips(&taken, BASE, &head), [""; 0]);
    assert_eq!(trips(&taken, BASE, &head.replace("pub fn a() {}", "pub fn a() { b() }")), [""; 0]);
    assert_eq!(trips(&taken, BASE, &head.replace("fn new() { help() }", "fn new() {}")), ["tests::new: changed"]);
    assert_eq!(trips(&taken, BASE, &head.replace("fn old() { help() }", "fn old() {}")), ["tests::old: changed"]);

    // The base goes on, and the change takes it in.
    let later = BASE.replace("fn old() { help() }", "fn old() { help(); help() }").replace("fn a()", "fn b()");
    let merged = head.replace("fn old() { help() }", "fn old() { help(); help() }");
    assert_eq!(trips(&taken, &later, &merged), [""; 0]);
    assert_eq!(trips(&taken, &later, &merged.replace("help(); help()", "")), ["tests::old: changed"]);
    let gone = BASE.replace("    #[test]\n    fn old() { help() }\n", "");
    assert_eq!(trips(&taken, &gone, &head.replace("    #[test]\n    fn old() { help() }\n", "")), [""; 0]);
}
