//! The exported tables, read by the tools that they are written for.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use super::tlc::{Walked, exported, tlc};
use super::{ask, phasegate};

/// States, edges and what can be reached, counted by ourselves.
struct Table {
    states: usize,
    edges: Vec<(String, String)>,
    initial: String,
}

fn table(flow: &str) -> Table {
    let json: Value = serde_json::from_str(&phasegate(&["flow", "export", flow, "--format", "json"])).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let edges = json["transitions"].as_array().unwrap();
    Table {
        states: json["states"].as_array().unwrap().len(),
        edges: edges.iter().map(|edge| (text(&edge["from"]), text(&edge["to"]))).collect(),
        initial: text(&json["initial"]),
    }
}

impl Table {
    fn reachable(&self) -> BTreeSet<&str> {
        let mut found = BTreeSet::from([self.initial.as_str()]);
        loop {
            let more: Vec<&str> = self
                .edges
                .iter()
                .filter(|(from, _)| found.contains(from.as_str()))
                .map(|(_, to)| to.as_str())
                .collect();
            let before = found.len();
            found.extend(more);
            if found.len() == before {
                return found;
            }
        }
    }
}

/// TLC, the model checker of TLA+, parses the module, finds every state in `Stages`, and walks exactly the table: each
/// reachable state once, and one step for each transition out of one.
#[test]
fn the_model_checker_walks_the_whole_table() {
    for (flow, module) in [("pipeline", "PhasegatePipeline"), ("merge", "PhasegateMerge")] {
        let folder = exported(flow);
        let walked = Walked::by(&tlc(folder.path(), &format!("{module}.cfg"), &format!("{module}.tla")));
        let table = table(flow);
        let reachable = table.reachable();
        let steps = table.edges.iter().filter(|(from, _)| reachable.contains(from.as_str())).count();
        assert_eq!((walked.states, walked.steps), (reachable.len(), steps + 1), "{flow}");
        assert_eq!(reachable.len(), table.states, "{flow}: a state that nothing leads to");
        if flow == "pipeline" {
            assert_eq!(walked, Walked::in_rust("the bare table"));
        }
    }
}

/// Graphviz lays the graph out, with as many nodes and edges as the table has.
#[test]
fn graphviz_draws_every_edge() {
    for flow in ["pipeline", "merge"] {
        let drawn = ask(Command::new("dot").arg("-Tplain"), &phasegate(&["flow", "export", flow, "--format", "dot"]));
        let count = |what: &str| drawn.lines().filter(|line| line.split(' ').next() == Some(what)).count();
        let table = table(flow);
        assert_eq!((count("node"), count("edge")), (table.states, table.edges.len()), "{flow}");
    }
}
