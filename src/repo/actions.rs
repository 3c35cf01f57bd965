//! What a workflow file runs out of the repository itself.

use std::collections::{BTreeSet, HashMap};

use serde_yaml::granit_parser::{self, Event, Parser};

const MAX_BYTES: usize = 1024 * 1024;
const MAX_EVENTS: usize = 200_000;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a workflow that can be read: {0}")]
pub(super) struct NotYaml(String);

/// What a workflow, or an action's own file, takes from the repository.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Workflow {
    /// Local references as they are written, `./path/to/action` and `./.github/workflows/reusable.yml`.
    ///
    /// Every `uses` in the file counts, wherever it stands: to name a file too many costs a comparison, to miss one
    /// lets a change decide what its own green means.
    pub(super) uses: BTreeSet<String>,
    /// The folders that its steps work in.
    pub(super) folders: BTreeSet<String>,
    /// Every value but those of its triggers: commands stand in steps, in inputs of actions and in matrices.
    pub(super) texts: Vec<Text>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) text: String,
    /// It is run, and not only handed on.
    pub(super) is_command: bool,
}

/// Reads a workflow. What is not YAML is an error: nothing is known of it.
pub(super) fn workflow(yaml: &[u8]) -> Result<Workflow, NotYaml> {
    if yaml.len() > MAX_BYTES {
        return Err(NotYaml(format!("more than {MAX_BYTES} bytes")));
    }
    let text = std::str::from_utf8(yaml).map_err(|e| NotYaml(e.to_string()))?;
    let options = granit_parser::options! { emit_comments: false, flow_nesting_limit: 100, block_nesting_limit: 100 };
    let mut found = Workflow::default();
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
    Ok(found)
}

enum Open {
    List,
    Map(Option<String>),
}

/// Keys whose value is run.
const COMMANDS: &[&str] = &["run", "shell", "command", "cmd", "script", "entrypoint", "args"];

fn scalar(open: &mut [Open], text: &str, found: &mut Workflow) {
    let triggers = matches!(open.first(), Some(Open::Map(Some(key))) if key == "on");
    let key = match open.last_mut() {
        Some(Open::Map(key @ None)) => {
            *key = Some(text.to_owned());
            return;
        }
        Some(Open::Map(key)) => key.take().unwrap_or_default().trim().to_ascii_lowercase(),
        Some(Open::List) => String::new(),
        None => return,
    };
    // The runner takes both slashes.
    let path = text.trim();
    if key == "uses" && (path.starts_with("./") || path.starts_with(".\\") || path == ".") {
        found.uses.insert(path.to_owned());
    } else if key == "working-directory" {
        found.folders.insert(path.to_owned());
    } else if !triggers && !["uses", "name", "if"].contains(&key.as_str()) {
        found.texts.push(Text { text: text.to_owned(), is_command: COMMANDS.contains(&key.as_str()) });
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

    fn local_actions(yaml: &[u8]) -> Result<Vec<String>, NotYaml> {
        workflow(yaml).map(|read| read.uses.into_iter().collect())
    }

    #[test]
    fn commands_are_found_in_steps_inputs_and_matrices() {
        let read = workflow(
            br#"
on: { push: { paths: [ci/trigger.sh] } }
defaults: { run: { shell: bash ci/shell.sh, working-directory: web } }
jobs:
  test:
    strategy: { matrix: { cmd: [./a.sh] } }
    steps:
      - run: |
          make test
        working-directory: ./api
      - uses: other/retry@v1
        with: { command: ./b.sh, path: dist/** }
"#,
        )
        .unwrap();
        let texts = |is_command: bool| {
            read.texts.iter().filter(move |text| text.is_command == is_command).map(|text| text.text.trim())
        };
        assert_eq!(texts(true).collect::<Vec<_>>(), ["bash ci/shell.sh", "make test", "./b.sh"]);
        assert_eq!(texts(false).collect::<Vec<_>>(), ["./a.sh", "dist/**"]);
        assert_eq!(read.folders.iter().collect::<Vec<_>>(), ["./api", "web"]);
    }

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
