//! A flow's table for other tools to read, printed from the table that the engine runs.

mod law;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use super::{FlowName, Stage, TRANSITIONS, merge, task};

#[cfg(test)]
pub(super) use law::constants;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Json,
    Mermaid,
    Dot,
    Tla,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Exported {
    pub schema: &'static str,
    pub name: &'static str,
    pub initial: &'static str,
    pub states: Vec<&'static str>,
    pub transitions: Vec<Edge>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Edge {
    pub action: &'static str,
    pub from: &'static str,
    pub to: &'static str,
}

/// A file for another tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    pub name: String,
    pub text: String,
}

impl Exported {
    /// Every table there is.
    pub const NAMES: [&str; 3] = [FlowName::Merge.as_str(), FlowName::Task.as_str(), FlowName::Pipeline.as_str()];

    pub fn named(name: &str) -> Option<Self> {
        FlowName::ALL.into_iter().find(|flow| flow.as_str() == name).map(Self::of)
    }

    pub fn of(flow: FlowName) -> Self {
        let edge = |action, from, to| Edge { action, from, to };
        let (initial, states, transitions) = match flow {
            FlowName::Pipeline => (
                Stage::Ideating.as_str(),
                Stage::ALL.iter().map(|stage| stage.as_str()).collect(),
                TRANSITIONS
                    .iter()
                    .map(|(action, from, to)| edge(action.as_str(), from.as_str(), to.as_str()))
                    .collect(),
            ),
            FlowName::Task => (
                task::Stage::default().as_str(),
                task::Stage::ALL.map(task::Stage::as_str).to_vec(),
                task::TRANSITIONS
                    .iter()
                    .map(|(action, from, to)| edge(action.as_str(), from.as_str(), to.as_str()))
                    .collect(),
            ),
            FlowName::Merge => (
                merge::Stage::default().as_str(),
                merge::Stage::ALL.iter().map(|stage| stage.as_str()).collect(),
                merge::TRANSITIONS
                    .iter()
                    .map(|(action, from, to)| edge(action.as_str(), from.as_str(), to.as_str()))
                    .collect(),
            ),
        };
        Self { schema: "phasegate/flow@1", name: flow.as_str(), initial, states, transitions }
    }

    pub fn print(&self, format: Format) -> String {
        match format {
            Format::Json => {
                let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
                text.push('\n');
                text
            }
            Format::Mermaid => self.mermaid(),
            Format::Dot => self.dot(),
            Format::Tla => self.tla(),
        }
    }

    /// What this format's reader needs, as files. TLC is given a configuration with each module, and, where the flow has
    /// guards, the law with them.
    pub fn files(&self, format: Format) -> Vec<File> {
        let extension = match format {
            Format::Json => "json",
            Format::Mermaid => "mmd",
            Format::Dot => "dot",
            Format::Tla => return self.for_tlc(),
        };
        vec![File { name: format!("{}.{extension}", self.name), text: self.print(format) }]
    }

    fn for_tlc(&self) -> Vec<File> {
        let module = self.module();
        let mut files = vec![
            File { name: format!("{module}.tla"), text: self.tla() },
            File { name: format!("{module}.cfg"), text: "SPECIFICATION Spec\nINVARIANT TypeOK\n".to_owned() },
        ];
        if self.name == FlowName::Pipeline.as_str() {
            files.extend(law::files());
        }
        files
    }

    /// A small state diagram with one state marked: the whole flow, or of a large one what lies next to that state.
    pub fn diagram(&self, here: &str) -> String {
        const SMALL: usize = 12;
        let mut out = String::from("stateDiagram-v2\n    direction LR\n");
        let small = self.transitions.len() <= SMALL;
        for Edge { action, from, to } in &self.transitions {
            if small || *from == here || *to == here {
                let _ = writeln!(out, "    {from} --> {to}: {action}");
            }
        }
        let _ = writeln!(out, "    classDef here fill:#fef2c0,stroke:#b08800\n    class {here} here");
        out
    }

    fn mermaid(&self) -> String {
        let mut out = format!("stateDiagram-v2\n    [*] --> {}\n", self.initial);
        for Edge { action, from, to } in &self.transitions {
            let _ = writeln!(out, "    {from} --> {to}: {action}");
        }
        out
    }

    fn dot(&self) -> String {
        let mut out = format!("digraph {} {{\n    rankdir=LR;\n    node [shape=box, style=rounded];\n", self.name);
        let _ = writeln!(out, "    \"{}\" [penwidth=2];", self.initial);
        for Edge { action, from, to } in &self.transitions {
            let _ = writeln!(out, "    \"{from}\" -> \"{to}\" [label=\"{action}\"];");
        }
        out.push_str("}\n");
        out
    }

    fn module(&self) -> String {
        let mut name = self.name.to_owned();
        name[..1].make_ascii_uppercase();
        format!("Phasegate{name}")
    }

    /// A module with one variable, one definition an action. An action that is also the name of a state is fine in
    /// TLA+, because states are strings there.
    fn tla(&self) -> String {
        let module = self.module();
        let mut out = format!("---- MODULE {module} ----\n\nVARIABLE stage\n\nStages == {{\n");
        let _ =
            writeln!(out, "{}\n}}", self.states.iter().map(|s| format!("    \"{s}\"")).collect::<Vec<_>>().join(",\n"));
        let _ = writeln!(out, "\nInit == stage = \"{}\"\n", self.initial);
        let mut actions: Vec<&str> = Vec::new();
        let mut by_action: BTreeMap<&str, Vec<&Edge>> = BTreeMap::new();
        for edge in &self.transitions {
            if !actions.contains(&edge.action) {
                actions.push(edge.action);
            }
            by_action.entry(edge.action).or_default().push(edge);
        }
        for action in &actions {
            let _ = writeln!(out, "{action} ==");
            for edge in &by_action[action] {
                let _ = writeln!(out, "    \\/ stage = \"{}\" /\\ stage' = \"{}\"", edge.from, edge.to);
            }
            out.push('\n');
        }
        out.push_str("Next ==\n");
        for action in &actions {
            let _ = writeln!(out, "    \\/ {action}");
        }
        out.push_str("\nSpec == Init /\\ [][Next]_stage\n\nTypeOK == stage \\in Stages\n\n====\n");
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_every_transition() {
        for flow in Exported::NAMES {
            let exported = Exported::named(flow).unwrap();
            for (format, per_edge) in [(Format::Mermaid, " --> "), (Format::Dot, " -> ")] {
                let text = exported.print(format);
                let start = usize::from(format == Format::Mermaid);
                assert_eq!(text.matches(per_edge).count(), exported.transitions.len() + start, "{flow} {format:?}");
            }
            assert_eq!(exported.print(Format::Tla).matches("stage' = ").count(), exported.transitions.len());
            let json: serde_json::Value = serde_json::from_str(&exported.print(Format::Json)).unwrap();
            assert_eq!(json["transitions"].as_array().unwrap().len(), exported.transitions.len());
            assert_eq!(json["schema"], "phasegate/flow@1");
        }
    }

    #[test]
    fn every_transition_joins_two_states_of_the_flow() {
        for flow in Exported::NAMES {
            let exported = Exported::named(flow).unwrap();
            assert!(exported.states.contains(&exported.initial));
            for edge in &exported.transitions {
                assert!(exported.states.contains(&edge.from), "{edge:?}");
                assert!(exported.states.contains(&edge.to), "{edge:?}");
            }
        }
    }
}
