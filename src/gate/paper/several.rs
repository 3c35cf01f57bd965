//! What is one thing by its marks, and several by its meaning.

use super::{Cell, Line, Piece, ids};

/// The rows of a table whose columns are criteria: one for each of these, with the first column as its headers.
pub(super) fn by_column(headers: &[String], line: u32, rows: Vec<Piece>) -> Vec<Piece> {
    let marked = |header: &String| ids::leading(header).is_some();
    if headers.iter().filter(|header| marked(header)).count() < 2 {
        return rows;
    }
    let columns = headers.iter().enumerate().filter(|(_, header)| marked(header));
    columns
        .map(|(at, id)| {
            let mut cells = vec![Cell { header: String::new(), text: id.trim().to_owned() }];
            cells.extend(rows.iter().filter_map(|row| {
                let label = row.cells.first()?;
                Some(Cell { header: label.text.clone(), text: row.cells.get(at)?.text.clone() })
            }));
            let text = cells.iter().map(|cell| cell.text.as_str()).collect::<Vec<_>>().join("\n");
            let lines = vec![Line { at: line, text: text.replace('\n', " ") }];
            Piece { line, text, lines, cells, ..Piece::default() }
        })
        .collect()
}

/// Lines of one paragraph that each begin with an identifier are pieces of their own: people write lists like that.
pub(super) fn by_identifier(piece: Piece) -> Vec<Piece> {
    let begins = |line: &Line| ids::leading(&line.text).is_some();
    if piece.lines.len() < 2 || !begins(&piece.lines[0]) || !piece.lines[1..].iter().any(begins) {
        return vec![piece];
    }
    let mut found: Vec<Piece> = Vec::new();
    for line in &piece.lines {
        // `… holds for AC-1 and` goes on in the next line.
        let goes_on = |last: &Piece| {
            last.text.ends_with([',', '(', '/']) || last.text.ends_with(" and") || last.text.ends_with(" or")
        };
        match found.last_mut() {
            Some(last) if !begins(line) || goes_on(last) => {
                last.text.push(' ');
                last.text.push_str(line.text.trim());
                last.lines.push(line.clone());
            }
            _ => found.push(Piece {
                line: line.at,
                text: line.text.trim().to_owned(),
                lines: vec![line.clone()],
                ..Piece::default()
            }),
        }
    }
    for one in &mut found {
        one.spans = piece.spans.iter().filter(|span| one.text.contains(span.as_str())).cloned().collect();
        one.targets.clone_from(&piece.targets);
    }
    found
}
