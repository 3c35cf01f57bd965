//! What a workflow file runs out of the repository itself.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use serde_yaml::granit_parser::{self, Event, Parser};

const MAX_BYTES: usize = 1024 * 1024;
const MAX_EVENTS: usize = 200_000;
/// What the texts of a file may come to with every alias written out: one may repeat a long text many thousand times.
const MAX_TEXT: usize = 2 * MAX_BYTES;

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
    /// What may be the file that an action is built from as an image: `image: ../Dockerfile`.
    pub(super) images: BTreeSet<String>,
    /// The folders that its steps work in.
    pub(super) folders: BTreeSet<String>,
    /// Every value but those of its triggers: commands stand in steps, in inputs of actions and in matrices.
    pub(super) texts: Vec<Text>,
    pub(super) matrix: Matrix,
}

impl Workflow {
    /// One that has nothing but these commands.
    pub(super) fn running(commands: &[String]) -> Self {
        let text = |text: &String| Text { text: Arc::from(text.as_str()), is_command: true };
        Self { texts: commands.iter().map(text).collect(), ..Self::default() }
    }
}

/// The values of a file's matrices, those of all its jobs together.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Matrix {
    /// By the name behind `matrix.`; none where one of them is only known when it runs.
    values: BTreeMap<String, Option<BTreeSet<Arc<str>>>>,
    /// One is put together when it runs, or out of what stands elsewhere: it may have any value.
    is_open: bool,
}

impl Matrix {
    /// All that a member may be, where that is known.
    pub(super) fn values(&self, name: &str) -> Option<&BTreeSet<Arc<str>>> {
        self.values.get(name).filter(|_| !self.is_open)?.as_ref()
    }

    /// A value below these keys.
    fn add(&mut self, keys: &[Arc<str>], value: Option<&Arc<str>>) {
        let keys = match keys.first() {
            Some(first) if &**first == "include" => &keys[1..],
            Some(first) if &**first == "exclude" => return,
            _ => keys,
        };
        let (Some(value), false) = (value, keys.is_empty()) else {
            self.is_open = true;
            return;
        };
        let values = self.values.entry(keys.join(".").to_ascii_lowercase()).or_insert_with(|| Some(BTreeSet::new()));
        match values {
            Some(values) if !value.contains("${{") => drop(values.insert(Arc::clone(value))),
            _ => *values = None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Text {
    pub(super) text: Arc<str>,
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
    let mut reading = Reading::default();
    for (count, step) in Parser::new_from_str_with_options(text, options).enumerate() {
        let (event, _) = step.map_err(|e| NotYaml(e.to_string()))?;
        if count > MAX_EVENTS {
            return Err(NotYaml(format!("more than {MAX_EVENTS} elements")));
        }
        match event {
            Event::Scalar(text, _, anchor, _) => {
                let text: Arc<str> = Arc::from(&*text);
                if anchor != 0 {
                    reading.anchored.insert(anchor, Arc::clone(&text));
                }
                reading.scalar(&text)?;
            }
            Event::Alias(anchor) => match reading.anchored.get(&anchor).map(Arc::clone) {
                Some(text) => reading.scalar(&text)?,
                None => {
                    reading.of_matrix(None);
                    value_done(&mut reading.open);
                }
            },
            Event::SequenceStart(_, anchor, _) => {
                reading.begins(anchor);
                let key = match reading.open.last() {
                    Some(Open::Map(key)) => key.clone().unwrap_or_else(|| Arc::from("")),
                    Some(Open::List(key)) => Arc::clone(key),
                    None => Arc::from(""),
                };
                reading.open.push(Open::List(key));
            }
            Event::MappingStart(_, anchor, _) => {
                reading.begins(anchor);
                reading.open.push(Open::Map(None));
            }
            Event::SequenceEnd | Event::MappingEnd => {
                reading.open.pop();
                value_done(&mut reading.open);
            }
            _ => {}
        }
    }
    Ok(reading.found)
}

/// An open collection.
enum Open {
    /// With the key that it is the value of.
    List(Arc<str>),
    /// With the key that waits for its value.
    Map(Option<Arc<str>>),
}

/// Keys whose value is run.
const COMMANDS: &[&str] = &["run", "shell", "command", "cmd", "script", "entrypoint", "args"];

#[derive(Default)]
struct Reading {
    found: Workflow,
    seen: HashSet<Text>,
    anchored: HashMap<usize, Arc<str>>,
    open: Vec<Open>,
    bytes: usize,
    /// What stands in the triggers may be meant again elsewhere.
    shared_triggers: bool,
}

impl Reading {
    fn in_triggers(&self) -> bool {
        matches!(self.open.first(), Some(Open::Map(Some(key))) if &**key == "on") && !self.shared_triggers
    }

    fn begins(&mut self, anchor: usize) {
        if anchor != 0 && self.in_triggers() {
            self.shared_triggers = true;
        }
    }

    /// Takes a value that stands below `strategy.matrix`; none when it is not known here.
    fn of_matrix(&mut self, value: Option<&Arc<str>>) {
        let keys = self.open.iter().filter_map(|open| match open {
            Open::Map(key) => key.clone(),
            Open::List(_) => None,
        });
        let keys: Vec<Arc<str>> = keys.collect();
        let named = |at: usize, name: &str| keys[at].trim().eq_ignore_ascii_case(name);
        if let Some(at) = (1..keys.len()).find(|at| named(*at, "matrix") && named(at - 1, "strategy")) {
            self.found.matrix.add(&keys[at + 1..], value);
        }
    }

    fn scalar(&mut self, text: &Arc<str>) -> Result<(), NotYaml> {
        self.bytes += text.len();
        if self.bytes > MAX_TEXT {
            return Err(NotYaml(format!("its texts come to more than {MAX_TEXT} bytes, aliases written out")));
        }
        let triggers = self.in_triggers();
        if !matches!(self.open.last(), Some(Open::Map(None))) {
            self.of_matrix(Some(text));
        }
        let key = match self.open.last_mut() {
            Some(Open::Map(key @ None)) => {
                *key = Some(Arc::clone(text));
                return Ok(());
            }
            Some(Open::Map(key)) => key.take().unwrap_or_else(|| Arc::from("")),
            // A list of commands is written under the key that one would be.
            Some(Open::List(key)) if is_command(key) => Arc::clone(key),
            Some(Open::List(_)) => Arc::from(""),
            None => return Ok(()),
        };
        // The runner takes both slashes.
        let path = text.trim();
        let named = |names: &[&str]| names.iter().any(|name| key.trim().eq_ignore_ascii_case(name));
        if named(&["image"]) && path.contains(['/', '\\']) && !path.contains("://") {
            self.found.images.insert(path.replace('\\', "/"));
        }
        if named(&["uses"]) && (path.starts_with("./") || path.starts_with(".\\") || path == ".") {
            self.found.uses.insert(path.to_owned());
        } else if named(&["working-directory"]) {
            self.found.folders.insert(path.to_owned());
        } else if !triggers && !named(&["uses", "name", "if"]) {
            let text = Text { text: Arc::clone(text), is_command: is_command(&key) };
            if self.seen.insert(text.clone()) {
                self.found.texts.push(text);
            }
        }
        Ok(())
    }
}

fn is_command(key: &str) -> bool {
    COMMANDS.iter().any(|name| key.trim().eq_ignore_ascii_case(name))
}

/// A collection, or an alias of one, ended: in a mapping it was a key or a value.
fn value_done(open: &mut [Open]) {
    if let Some(Open::Map(key)) = open.last_mut() {
        *key = match key {
            None => Some(Arc::from("")),
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
    strategy: { matrix: { cmd: [./a.sh], os: [x] } }
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
        assert_eq!(texts(true).collect::<Vec<_>>(), ["bash ci/shell.sh", "./a.sh", "make test", "./b.sh"]);
        assert_eq!(texts(false).collect::<Vec<_>>(), ["x", "dist/**"]);
        assert_eq!(read.folders.iter().collect::<Vec<_>>(), ["./api", "web"]);
    }

    #[test]
    fn the_values_of_a_matrix_are_known_where_all_are_written() {
        let all = |matrix: &str, name: &str| {
            let yaml = format!(
                "x: &x [a]\njobs:\n  a: {{strategy: {{matrix: {{dir: [web], n: 1}}}}}}\n  b: {{strategy: {{matrix: {matrix}}}}}\n"
            );
            let values = workflow(yaml.as_bytes()).unwrap().matrix.values(name).cloned();
            values.map(|values| values.iter().map(|value| value.to_string()).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(all("{Dir: [api], os: [x, y]}", "dir").as_deref(), Some("api web"));
        assert_eq!(
            all("{include: [{dir: api, to: {at: z}}], exclude: [{dir: no}]}", "dir").as_deref(),
            Some("api web")
        );
        assert_eq!(all("{include: [{dir: api, to: {at: z}}]}", "to.at").as_deref(), Some("z"));
        for open in
            ["{dir: '${{ fromJSON(x) }}'}", "{include: '${{ x }}'}", "'${{ x }}'", "{dir: *x}", "*x", "{<<: *x}"]
        {
            assert_eq!(all(open, "dir"), None, "{open}");
        }
        assert_eq!(all("{dir: '${{ x }}'}", "n").as_deref(), Some("1"));
    }

    #[test]
    fn the_file_of_an_image_is_told_from_an_image() {
        let images =
            |image: &str| workflow(format!("runs: {{using: docker, image: '{image}'}}\n").as_bytes()).unwrap().images;
        assert_eq!(
            images("../../docker/Dockerfile.ci").into_iter().collect::<Vec<_>>(),
            ["../../docker/Dockerfile.ci"]
        );
        assert_eq!(images("..\\Dockerfile").into_iter().collect::<Vec<_>>(), ["../Dockerfile"]);
        assert!(images("docker://alpine:3").is_empty() && images("postgres").is_empty());
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

    #[test]
    fn an_alias_that_repeats_a_long_text_is_not_written_out() {
        let text = "b".repeat(500_000);
        let read = workflow(format!("a: &a \"{text}\"\nb: [{}]\n", "*a ,".repeat(100_000)).as_bytes());
        assert!(read.unwrap_err().to_string().contains("aliases written out"));
        // As keys too, and small ones as often as anybody writes them.
        assert!(workflow(format!("a: &a \"{text}\"\nb: {{{}}}\n", "*a : x,".repeat(10)).as_bytes()).is_err());
        let read = workflow(format!("a: &a ./x.sh\nb: [{}]\n", "*a ,".repeat(1000)).as_bytes()).unwrap();
        assert_eq!(read.texts.len(), 1);
    }

    #[test]
    fn what_the_triggers_share_is_read() {
        let texts = |yaml: &str| workflow(yaml.as_bytes()).unwrap().texts.len();
        assert_eq!(texts("on: {push: {branches: [./a.sh]}}\njobs: {m: x}"), 1);
        assert_eq!(texts("on: {push: {branches: &b [./a.sh]}}\njobs: {m: *b, n: x}"), 2);
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in "((uses|jobs|- |  |\\{|\\}|\\[|\\]|: |, |\n|\"|&a |\\*a|\\./x|\\?){1,3}){0,30}") {
            let _ = local_actions(text.as_bytes());
        }
    }
}
