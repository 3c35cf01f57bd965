//! Cobertura's XML, as coverage.py, gcovr, istanbul, coverlet, cargo-tarpaulin and their kin write it: classes with a file and lines.

use roxmltree::Node;

use super::{Tally, is_hit, number};
use crate::runner::text;
use crate::runner::xml::{self, is};

/// A class has its lines itself, in its methods, or both.
const LINES: [&[&str]; 2] = [&["lines", "line"], &["methods", "method", "lines", "line"]];

pub(super) fn read(bytes: &[u8], tally: &mut Tally<'_>) -> Result<(), String> {
    xml::read(bytes, |root| classes(root, tally))
}

fn classes(root: Node<'_, '_>, tally: &mut Tally<'_>) -> Result<(), String> {
    if !is(&root, "coverage") {
        let name = text::line(root.tag_name().name(), 60);
        return Err(format!("it is neither LCOV nor Cobertura's XML: its root is `{name}`, not `coverage`"));
    }
    let sources = below(root, &["sources", "source"]);
    let sources: Vec<&str> =
        sources.iter().filter_map(Node::text).map(str::trim).filter(|source| !source.is_empty()).collect();
    for class in below(root, &["packages", "package", "classes", "class"]) {
        let path = class.attribute("filename").ok_or("a class of it names no file")?;
        let file = tally.file(path, &sources);
        for line in LINES.iter().flat_map(|way| below(class, way)) {
            let of = |name| line.attribute(name).ok_or_else(|| format!("a line of it has no `{name}`"));
            tally.line(file, number(of("number")?)?, is_hit(of("hits")?)?);
        }
    }
    Ok(())
}

/// The elements at the end of a way. Where they are nested otherwise they are none, so that each is looked at once.
fn below<'a, 'i>(node: Node<'a, 'i>, way: &[&str]) -> Vec<Node<'a, 'i>> {
    way.iter()
        .fold(vec![node], |nodes, name| nodes.iter().flat_map(Node::children).filter(|child| is(child, name)).collect())
}
