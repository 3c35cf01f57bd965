//! What a workflow file runs out of the repository itself.

use std::collections::{BTreeSet, HashMap};

use serde_yaml::granit_parser::{self, Event, Parser};

const MAX_BYTES: usize = 1024 * 1024;
const MAX_EVENTS: usize = 200_000;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a workflow that can be read: {0}")]
pub struct NotYaml(String);

/// The local references of a workflow or of an action's own file, as they are written: `./path/to/action` and
/// `./.github/workflows/reusable.yml`. Sorted, each once.
///
/// Every `uses` in the file counts, wherever it stands: to name a file too many costs a comparison, to miss one lets a
/// change decide what its own green means. What is not YAML is an error for the same reason.
pub fn local_actions(yaml: &[u8]) -> Result<Vec<String>, NotYaml> {
    if yaml.len() > MAX_BYTES {
        return Err(NotYaml(format!("more than {MAX_BYTES} bytes")));
    }
    let text = std::str::from_utf8(yaml).map_err(|e| NotYaml(e.to_string()))?;
    let options = granit_parser::options! { emit_comments: false, flow_nesting_limit: 100, block_nesting_limit: 100 };
    let mut found = BTreeSet::new();
    let mut anchored: HashMap<usize, String> = HashMap::new();
    // One entry an open collection; for a mapping, the key that waits for its value.
    let mut open: Vec<Open> = Vec::new();
    for (count, step) in Parser::new_from_str_with_options(text, options).enumerate() {
        let (event, _) = step.map_err(|e| NotYaml(e.to_string()))?;
        if count > MAX_EVENTS {
            return Err(NotYaml(format!("more than {MAX_EVENTS} elements")));
        }
        match event {
            Event::Scalar(text, _, anchor, _) => {
                if anchor != 0 {
                    anchored.insert(anchor, text.clone().into_owned());
                }
                scalar(&mut open, &text, &mut found);
            }
            Event::Alias(anchor) => match anchored.get(&anchor) {
                Some(text) => scalar(&mut open, &text.clone(), &mut found),
                None => value_done(&mut open),
            },
            Event::SequenceStart(..) => open.push(Open::List),
            Event::MappingStart(..) => open.push(Open::Map(None)),
            Event::SequenceEnd | Event::MappingEnd => {
                open.pop();
                value_done(&mut open);
            }
            _ => {}
        }
    }
    Ok(found.into_iter().collect())
}

enum Open {
    List,
    Map(Option<String>),
}

fn scalar(open: &mut [Open], text: &str, found: &mut BTreeSet<String>) {
    match open.last_mut() {
        Some(Open::Map(key @ None)) => *key = Some(text.to_owned()),
        Some(Open::Map(key)) => {
            // The runner takes both slashes.
            let uses = key.take().is_some_and(|key| key.trim().eq_ignore_ascii_case("uses"));
            let path = text.trim();
            if uses && (path.starts_with("./") || path.starts_with(".\\") || path == ".") {
                found.insert(path.to_owned());
            }
        }
        _ => {}
    }
}

/// A collection, or an alias of one, ended: in a mapping it was a key or a value.
fn value_done(open: &mut [Open]) {
    if let Some(Open::Map(key)) = open.last_mut() {
        *key = match key {
            None => Some(String::new()),
            Some(_) => None,
        };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn local_references_are_found_wherever_they_stand() {
        let workflow = br#"
name: ci
on: { pull_request: { branches: [main] } }
jobs:
  test:
    runs-on: ubuntu-latest
    strategy: { matrix: { include: [{ os: a }, { os: b }] } }
    steps:
      - uses: actions/checkout@v4
      - { name: setup, uses: "./.github/actions/setup", with: { uses-cache: ./no } }
      - run: |
          uses: ./not/this
      - uses: &local ./tools/lint
      - uses: *local
      - Uses: .\win
  call:
    uses: ./.github/workflows/reusable.yml
    with: { uses: [./in-a-list] }
"#;
        assert_eq!(
            local_actions(workflow).unwrap(),
            ["./.github/actions/setup", "./.github/workflows/reusable.yml", "./tools/lint", ".\\win"]
        );
        assert_eq!(local_actions(b"? [a]\n: uses\nuses: ./x").unwrap(), ["./x"]);
        assert_eq!(local_actions(b"").unwrap(), [""; 0]);
        assert_eq!(local_actions(b"just text").unwrap(), [""; 0]);
    }

    #[test]
    fn what_is_not_yaml_is_an_error() {
        for bad in [b"a: [b".as_slice(), b"\xff", b"a: *nobody", "[".repeat(5000).as_bytes()] {
            assert!(local_actions(bad).is_err());
        }
        assert!(local_actions(&vec![b' '; MAX_BYTES + 1]).is_err());
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in "((uses|jobs|- |  |\\{|\\}|\\[|\\]|: |, |\n|\"|&a |\\*a|\\./x|\\?){1,3}){0,30}") {
            let _ = local_actions(text.as_bytes());
        }
    }
}
