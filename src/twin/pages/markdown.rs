//! Markdown as GitHub would show it, from people whom nobody trusts.
//!
//! The only HTML that passes is `<br>`, `<details>` and `<summary>`, which the bot's own comments use, and the latter two
//! are closed where the text ends; comments are left out, every other tag is shown as the text that it is. Links lead to the web or
//! within the page, and pictures become links: a page fetches nothing.

use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, TagEnd, html};

use super::safe;

pub(super) fn render(text: &str) -> String {
    let mut folds = Folds::default();
    let mut events: Vec<Event<'_>> = Vec::new();
    // A block of HTML comes line by line, and a comment may be longer than a line.
    let mut block: Option<String> = None;
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    for event in Parser::new_ext(text, options) {
        match event {
            Event::Start(Tag::HtmlBlock) => block = Some(String::new()),
            Event::End(TagEnd::HtmlBlock) => {
                if let Some(raw) = block.take() {
                    events.push(Event::Html(folds.let_through(&raw).into()));
                }
            }
            Event::Html(raw) | Event::InlineHtml(raw) => match &mut block {
                Some(block) => block.push_str(&raw),
                None => events.push(Event::InlineHtml(folds.let_through(&raw).into())),
            },
            Event::Start(Tag::Link { dest_url, title, id, .. }) => {
                events.push(Event::Start(link(dest_url, title, id)));
            }
            Event::Start(Tag::Image { dest_url, title, id, .. }) => {
                events.push(Event::Start(link(dest_url, title, id)));
            }
            Event::End(TagEnd::Image) => events.push(Event::End(TagEnd::Link)),
            // GitHub keeps the line breaks of a comment.
            Event::SoftBreak => events.push(Event::HardBreak),
            event => events.push(event),
        }
    }
    let mut out = String::new();
    html::push_html(&mut out, events.into_iter());
    out.push_str(&folds.closed());
    out
}

fn link<'a>(to: CowStr<'a>, title: CowStr<'a>, id: CowStr<'a>) -> Tag<'a> {
    let lower = to.to_ascii_lowercase();
    let leads = ["http://", "https://", "#"].iter().any(|start| lower.starts_with(start))
        || (lower.starts_with('/') && !lower.starts_with("//"));
    let dest_url = if leads { to } else { CowStr::Borrowed("#") };
    Tag::Link { link_type: LinkType::Inline, dest_url, title, id }
}

/// Which foldings are open, so that none reaches beyond its comment or closes another's.
#[derive(Default)]
struct Folds(Vec<&'static str>);

impl Folds {
    fn let_through(&mut self, raw: &str) -> String {
        let mut out = String::new();
        let mut rest = raw;
        while let Some(at) = rest.find('<') {
            out.push_str(&safe(&rest[..at]));
            rest = &rest[at..];
            if let Some(comment) = rest.strip_prefix("<!--") {
                rest = comment.find("-->").map_or("", |end| &comment[end + 3..]);
                continue;
            }
            let end = rest.find('>').map_or(rest.len(), |end| end + 1);
            let (tag, after) = rest.split_at(end);
            out.push_str(&self.tag(tag));
            rest = after;
        }
        out.push_str(&safe(rest));
        out
    }

    fn tag(&mut self, tag: &str) -> String {
        match tag {
            "<details>" | "<details open>" => self.0.push("details"),
            "<summary>" => self.0.push("summary"),
            "<br>" | "<br/>" | "<br />" => {}
            "</details>" | "</summary>" => {
                let name = tag.trim_matches(['<', '/', '>']);
                if self.0.last() != Some(&name) {
                    return String::new();
                }
                self.0.pop();
            }
            other => return safe(other),
        }
        tag.to_owned()
    }

    fn closed(mut self) -> String {
        let mut out = String::new();
        while let Some(name) = self.0.pop() {
            out.push_str(&format!("</{name}>"));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_bot_writes_looks_as_on_github() {
        let text = "<!-- marker -->\n### Phasegate: **ok**\n\n<details><summary>More</summary>\n\n- one `x`<br>→ two\n\n</details>\n";
        let html = render(text);
        assert!(!html.contains("marker"), "{html}");
        assert!(html.contains("<h3>Phasegate: <strong>ok</strong></h3>"), "{html}");
        assert!(html.contains("<details><summary>More</summary>"), "{html}");
        assert!(html.contains("<li>one <code>x</code><br>→ two</li>"), "{html}");
        assert_eq!(html.matches("</details>").count(), 1, "{html}");
    }

    #[test]
    fn nothing_that_runs_or_fetches_comes_through() {
        let hostile = [
            "<script>alert(1)</script>",
            "a <script>alert(1)</script> b",
            "<img src=x onerror=alert(1)>",
            "<details ontoggle=alert(1) open>",
            "<summary onclick=alert(1)>",
            "<svg/onload=alert(1)>",
            "<!-- a\nb --><script>alert(1)</script>",
            "<!--\n\n<script>alert(1)</script>",
            "[x](javascript:alert(1))",
            "[x](JaVaScRiPt:alert(1))",
            "[x](//evil.example)",
            "![x](https://evil.example/p.png)",
            "<javascript:alert(1)>",
            "```<script>\n</code></pre><script>alert(1)</script>\n```",
            "[x](http://a/\"onmouseover=alert(1))",
            "<style>*{display:none}</style>",
        ];
        for text in hostile {
            let html = render(text);
            for bad in
                ["<script", "<img", "<svg", "<style", "javascript:alert(1)\"", "href=\"//", "<details o", "<summary o"]
            {
                assert!(!html.to_ascii_lowercase().contains(bad), "{text} became {html}");
            }
            // An attribute that was not ours would follow a quote.
            assert!(!html.contains("\"onmouseover"), "{text} became {html}");
        }
    }

    #[test]
    fn a_folding_stays_within_its_comment() {
        assert_eq!(render("<details>\n\nopen").matches("</details>").count(), 1);
        assert!(!render("</details></summary></section>").contains("</details>"));
        assert!(!render("</details></summary></section>").contains("</section>"));
    }
}
