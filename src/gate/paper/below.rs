//! Parts that no name is asked for: what stands below some heading, or below a label.

use super::section::LABEL;
use super::text::words;
use super::{Block, Paper, Part, Piece};

impl Paper {
    /// What stands below each heading of which the words are so, the outermost of them, outside the sections of the
    /// names that are left out.
    pub fn below(&self, so: impl Fn(&[String]) -> bool, without: &str) -> Vec<Part<'_>> {
        let title = self.title();
        let mut parts: Vec<Part<'_>> = Vec::new();
        let mut inside: Option<u8> = None;
        let mut left_out: Option<u8> = None;
        for block in &self.blocks {
            if let Block::Heading(heading) = block {
                let called = &heading.names;
                let out = called.iter().any(|called| called.name == without);
                if !called.is_empty() || left_out.is_some_and(|level| heading.level <= level) {
                    left_out = out.then_some(heading.level);
                }
                if !called.is_empty() || inside.is_some_and(|level| heading.level <= level) {
                    inside = None;
                }
                if inside.is_none() && left_out.is_none() && title != Some(heading.line) && so(&words(&heading.text)) {
                    inside = Some(heading.level);
                    let (line, text) = (heading.line, heading.text.clone());
                    parts.push(Part { line, heading: text, blocks: Vec::new(), rest: None });
                    continue;
                }
            }
            if let (Some(part), Some(_)) = (parts.last_mut(), inside) {
                part.blocks.push(block);
            }
        }
        parts
    }

    /// What stands below each label of which the words are so: a short paragraph, `Concerns:`, and all up to the next heading
    /// or label.
    pub fn below_label(&self, so: impl Fn(&[String]) -> bool) -> Vec<Part<'_>> {
        let is_label = |piece: &Piece| {
            let short = !piece.text.ends_with(['.', '!', '?']) && words(&piece.text).len() <= LABEL;
            short && piece.code.is_empty() && !piece.text.contains('\n')
        };
        let mut parts: Vec<Part<'_>> = Vec::new();
        let mut inside = false;
        for block in &self.blocks {
            match block {
                Block::Heading(_) => inside = false,
                Block::Paragraph(piece) if is_label(piece) => {
                    inside = so(&words(&piece.text));
                    if inside {
                        let (line, heading) = (piece.line, piece.text.clone());
                        parts.push(Part { line, heading, blocks: Vec::new(), rest: None });
                    }
                }
                block => {
                    if let (Some(part), true) = (parts.last_mut(), inside) {
                        part.blocks.push(block);
                    }
                }
            }
        }
        parts
    }
}
