use super::*;

mod alarms;
mod asks;
mod caught;
mod files;
mod go;
mod lengths;
mod loosened;
mod mocks;
mod moved;
mod plain;
mod properties;
mod python;
mod reach;
mod rust;
mod script;
mod turned;
mod unsaid;
mod values;

/// The kinds that are found from an old text to a new one, each once.
fn kinds(path: &str, old: &str, new: &str) -> Vec<What> {
    let report = weaker(path, Some(old.as_bytes()), Some(new.as_bytes()));
    assert_eq!(report.unread, None, "{path}: {new}");
    let mut kinds: Vec<What> = report.found.iter().map(|one| one.what).collect();
    for one in &report.found {
        assert!(!one.says.is_empty() && one.says.ends_with('.') && !one.next.is_empty() && one.line > 0, "{one:?}");
    }
    kinds.sort();
    kinds.dedup();
    kinds
}

/// Pairs that are weaker, each with its one kind; and that none of them is weaker the other way round in the same way.
fn all_weaker(path: &str, wrap: fn(&str) -> String, pairs: &[(What, &str, &str)]) {
    assert!(pairs.len() >= 25, "{path} has {} pairs", pairs.len());
    told(path, wrap, pairs);
}

fn told(path: &str, wrap: fn(&str) -> String, pairs: &[(What, &str, &str)]) {
    let mut wrong = String::new();
    for (what, old, new) in pairs {
        let (old, new) = (wrap(old), wrap(new));
        let found = kinds(path, &old, &new);
        if found != [*what] {
            wrong += &format!("--- {what:?}, found {found:?}\n{old}\n>>>\n{new}\n");
        }
        if !kinds(path, &old, &old).is_empty() || !kinds(path, &new, &new).is_empty() {
            wrong += &format!("--- found in the same text\n{old}\n>>>\n{new}\n");
        }
    }
    assert!(wrong.is_empty(), "{path}\n{wrong}");
}

/// Pairs that look like those and are honest.
fn all_honest(path: &str, wrap: fn(&str) -> String, pairs: &[(&str, &str)]) {
    assert!(pairs.len() >= 25, "{path} has {} pairs", pairs.len());
    quiet(path, wrap, pairs);
}

fn quiet(path: &str, wrap: fn(&str) -> String, pairs: &[(&str, &str)]) {
    let mut wrong = String::new();
    for (old, new) in pairs {
        let (old, new) = (wrap(old), wrap(new));
        let report = weaker(path, Some(old.as_bytes()), Some(new.as_bytes()));
        if !report.found.is_empty() {
            wrong += &format!("--- found {:#?}\n{old}\n>>>\n{new}\n", report.found);
        }
    }
    assert!(wrong.is_empty(), "{path}\n{wrong}");
}
