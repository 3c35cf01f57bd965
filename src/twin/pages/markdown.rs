//! Markdown as GitHub would show it, from people whom nobody trusts.
//!
//! The only HTML that passes is `<br>`, `<details>`, `<summary>`, `<code>` and `<b>`, which the bot's own comments use, and all but
//! the first are closed where the text ends; comments are left out, every other tag is shown as the text that it is. Links lead to
//! the web or within the page, and pictures become links: a page fetches nothing. A diagram is shown as its text, folded:
//! drawing it takes a script.

use pulldown_cmark::{BlockQuoteKind, CodeBlockKind, CowStr, Event, HeadingLevel, LinkType, Options, Parser};
use pulldown_cmark::{Tag, TagEnd, TextMergeStream, html};

use super::super::model::Repo;
use super::safe;
use crate::ids::Digest;

/// Shows a text of this repository: what it says of `#12` leads there.
pub(super) fn render(repo: &Repo, text: &str) -> String {
    rendered(text, &|number| {
        let issue = repo.issues.get(&number)?;
        Some(format!("/{}/{}/{number}", repo.full_name(), super::pull::kind(issue)))
    })
}

/// Where `#12` leads, if there is such a thing.
type Leads<'a> = &'a dyn Fn(u64) -> Option<String>;

fn rendered(text: &str, leads: Leads<'_>) -> String {
    let mut folds = Folds::default();
    let mut events: Vec<Event<'_>> = Vec::new();
    // A block of HTML comes line by line, and a comment may be longer than a line.
    let mut block: Option<String> = None;
    // What stands in code or in a link already is not looked through for links.
    let (mut code, mut links, mut diagram) = (false, 0_usize, false);
    let notes = Footnotes::of(text);
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_GFM;
    for event in TextMergeStream::new(Parser::new_ext(text, options)) {
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
            Event::Start(Tag::Link { dest_url, title, id, .. } | Tag::Image { dest_url, title, id, .. }) => {
                links += 1;
                // A picture within a link is a link within a link, which HTML does not have.
                if links == 1 {
                    events.push(Event::Start(link(dest_url, title, id)));
                }
            }
            Event::End(TagEnd::Image | TagEnd::Link) => {
                links = links.saturating_sub(1);
                if links == 0 {
                    events.push(Event::End(TagEnd::Link));
                }
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                code = true;
                diagram = matches!(&kind, CodeBlockKind::Fenced(info) if info.trim() == "mermaid");
                if diagram {
                    let head = "<details class=\"diagram\"><summary>A diagram, as its text (GitHub draws it)</summary>";
                    events.push(Event::Html(head.into()));
                }
                events.push(Event::Start(Tag::CodeBlock(kind)));
            }
            Event::End(TagEnd::CodeBlock) => {
                code = false;
                events.push(Event::End(TagEnd::CodeBlock));
                if std::mem::take(&mut diagram) {
                    events.push(Event::Html("</details>".into()));
                }
            }
            Event::Start(Tag::Heading { level, .. }) => events.push(Event::Start(heading(level))),
            Event::End(TagEnd::Heading(level)) => events.push(Event::End(TagEnd::Heading(below_the_pages(level)))),
            Event::Start(Tag::BlockQuote(kind)) => {
                events.push(Event::Start(Tag::BlockQuote(kind)));
                events.extend(kind.map(|kind| Event::Html(alert(kind).into())));
            }
            Event::Start(Tag::Table(aligned)) => {
                events.push(Event::Html("<div class=\"wide\">".into()));
                events.push(Event::Start(Tag::Table(aligned)));
            }
            Event::End(TagEnd::Table) => {
                events.push(Event::End(TagEnd::Table));
                events.push(Event::Html("</div>".into()));
            }
            Event::FootnoteReference(name) => events.push(Event::FootnoteReference(notes.name(&name))),
            Event::Start(Tag::FootnoteDefinition(name)) => {
                events.push(Event::Start(Tag::FootnoteDefinition(notes.name(&name))));
            }
            Event::Text(text) if !code && links == 0 => linked(&text, leads, &mut events),
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

/// The page's own headings are the first two levels; what people write is below them, and looks as large as they wrote it.
fn below_the_pages(level: HeadingLevel) -> HeadingLevel {
    level.max(HeadingLevel::H3)
}

fn heading<'a>(level: HeadingLevel) -> Tag<'a> {
    let classes = match level {
        HeadingLevel::H1 => vec!["first".into()],
        HeadingLevel::H2 => vec!["second".into()],
        _ => Vec::new(),
    };
    Tag::Heading { level: below_the_pages(level), id: None, classes, attrs: Vec::new() }
}

fn alert(kind: BlockQuoteKind) -> &'static str {
    match kind {
        BlockQuoteKind::Note => "<p class=\"alert\">Note</p>",
        BlockQuoteKind::Tip => "<p class=\"alert\">Tip</p>",
        BlockQuoteKind::Important => "<p class=\"alert\">Important</p>",
        BlockQuoteKind::Warning => "<p class=\"alert\">Warning</p>",
        BlockQuoteKind::Caution => "<p class=\"alert\">Caution</p>",
    }
}

/// Footnotes of several comments stand on one page: each text has names of its own.
struct Footnotes(String);

impl Footnotes {
    fn of(text: &str) -> Self {
        Self(Digest::of(text.as_bytes()).to_string().chars().take(8).collect())
    }

    fn name<'a>(&self, name: &str) -> CowStr<'a> {
        // What is not a letter or digit would need escaping twice, in an id and in a link to it.
        let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        format!("fn-{}-{plain}", self.0).into()
    }
}

/// A text with its addresses and `#12` as links.
fn linked(text: &str, leads: Leads<'_>, events: &mut Vec<Event<'_>>) {
    let mut rest = text;
    let mut plain = String::new();
    while let Some(c) = rest.chars().next() {
        let begins = plain.chars().last().is_none_or(|before| !before.is_alphanumeric() && before != '/');
        let found = if begins { address(rest).or_else(|| number(rest, leads)) } else { None };
        match found {
            Some((length, to)) => {
                events.push(Event::Text(std::mem::take(&mut plain).into()));
                events.push(Event::Start(link(to.into(), "".into(), "".into())));
                events.push(Event::Text(rest[..length].to_owned().into()));
                events.push(Event::End(TagEnd::Link));
                // What comes right after it begins no other.
                rest = &rest[length..];
                if let Some(next) = rest.chars().next() {
                    plain.push(next);
                    rest = &rest[next.len_utf8()..];
                }
            }
            None => {
                plain.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    events.push(Event::Text(plain.into()));
}

/// The length of the address that a text begins with, and where it leads.
fn address(text: &str) -> Option<(usize, String)> {
    let scheme = ["https://", "http://"].into_iter().find(|scheme| text.starts_with(scheme))?;
    let end = text.find(|c: char| c.is_whitespace() || "<>\"`".contains(c)).unwrap_or(text.len());
    // Punctuation ends the sentence, not the address; a parenthesis that was opened within it belongs to it.
    let mut found = text[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '_', '~', '\'']);
    while found.ends_with(')') && found.matches(')').count() > found.matches('(').count() {
        found = &found[..found.len() - 1];
    }
    (found.len() > scheme.len()).then(|| (found.len(), found.to_owned()))
}

/// The same for the number of an issue or pull request that there is.
fn number(text: &str, leads: Leads<'_>) -> Option<(usize, String)> {
    let after = text.strip_prefix('#')?;
    let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let word_goes_on = after[digits..].chars().next().is_some_and(|c| c.is_alphanumeric() || c == '_');
    if word_goes_on {
        return None;
    }
    Some((1 + digits, leads(after[..digits].parse().ok()?)?))
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
            "<code>" => self.0.push("code"),
            "<b>" => self.0.push("b"),
            "<br>" | "<br/>" | "<br />" => {}
            "</details>" | "</summary>" | "</code>" | "</b>" => {
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

    fn render(text: &str) -> String {
        rendered(text, &|number| (number == 12).then(|| "/o/r/pull/12".to_owned()))
    }

    #[test]
    fn numbers_and_addresses_become_links_and_mentions_do_not() {
        let html = render("Asked in #12, (see https://example.com/a_(b)?x=1&y=2). Not #13, a#12, `#12` or @mia.");
        assert!(html.contains("Asked in <a href=\"/o/r/pull/12\">#12</a>, (see "), "{html}");
        let shown = "<a href=\"https://example.com/a_(b)?x=1&amp;y=2\">https://example.com/a_(b)?x=1&amp;y=2</a>). Not";
        assert!(html.contains(shown), "{html}");
        assert!(html.contains("Not #13, a#12, <code>#12</code> or @mia."), "{html}");
        assert_eq!(html.matches("<a ").count(), 2, "{html}");
        // Neither twice, nor in code, nor in what is a link already.
        let html = render("[see #12](https://a.example) and #12\n\n```\n#12 https://a.example\n```\n");
        assert_eq!(html.matches("<a ").count(), 2, "{html}");
        assert_eq!(render("http:// #12x #").matches("<a ").count(), 0);
    }

    #[test]
    fn the_rest_of_githubs_markdown_is_there() {
        let html = render("> [!WARNING]\n> Mind the gap.\n");
        assert!(
            html.contains("<blockquote class=\"markdown-alert-warning\">") && html.contains(">Warning</p>"),
            "{html}"
        );
        let html = render("- [x] done\n- [ ] open\n\n~~gone~~\n\n| a |\n|---|\n| 1 |\n");
        assert_eq!(html.matches("type=\"checkbox\"").count(), 2, "{html}");
        assert!(html.contains("<del>gone</del>") && html.contains("<div class=\"wide\"><table>"), "{html}");
        let html = render("# One\n## Two\n### Three\n#### Four\n");
        for shown in
            ["<h3 class=\"first\">One</h3>", "<h3 class=\"second\">Two</h3>", "<h3>Three</h3>", "<h4>Four</h4>"]
        {
            assert!(html.contains(shown), "{shown} in {html}");
        }
        // A diagram is its text, and one that is not closed stays within its comment.
        let html = render("```mermaid\nstateDiagram-v2\n  a --> b\n");
        assert!(html.contains("<details class=\"diagram\">") && html.contains("a --&gt; b"), "{html}");
        assert_eq!(html.matches("</details>").count(), 1, "{html}");
        assert!(!render("```mermaids\nx\n```").contains("<details"));
    }

    #[test]
    fn footnotes_of_two_comments_do_not_meet() {
        let (one, other) = (render("a[^1]\n\n[^1]: first"), render("b[^1]\n\n[^1]: second"));
        let id = |html: &str| html.split("id=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        assert!(one.contains(&format!("href=\"#{}\"", id(&one))), "{one}");
        assert_ne!(id(&one), id(&other));
        assert!(!render("a[^<b>]\n\n[^<b>]: x").contains("<b>"));
    }

    #[test]
    fn what_the_bot_writes_looks_as_on_github() {
        let text = "<!-- marker -->\n### Phasegate: **ok**\n\n<details><summary>More of <code>x</code></summary>\n\n- one `x`<br>→ two\n\n</details>\n";
        let html = render(text);
        assert!(!html.contains("marker"), "{html}");
        assert!(html.contains("<h3>Phasegate: <strong>ok</strong></h3>"), "{html}");
        assert!(html.contains("<details><summary>More of <code>x</code></summary>"), "{html}");
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
