//! How a step of GitHub Actions speaks to its runner: workflow commands on stdout, and the files of outputs and summary.
//!
//! Every function here only makes a text; whoever calls it writes that to stdout, and [`Files`] writes the other two. It
//! promises:
//!
//! - text from elsewhere can't become a workflow command, nor leave the place that it was put into: [`annotate`],
//!   [`group`] and [`mask`] escape it, [`line()`] takes the meaning out of it, [`Stopped`] turns commands off while
//!   somebody else's program writes, and [`set_output`] ends with a word that nobody could know before;
//! - what GitHub would drop is not sent: [`within_limits`] keeps to the annotations that a step may have, and a summary
//!   that grows too large is cut and says so.
//!
//! Texts end with a line break, as the runner wants them.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use uuid::Uuid;

/// The runner shows so many annotations of each level for a step, and drops the others.
pub const MOST_OF_A_LEVEL: usize = 10;
/// A step's summary with more bytes is not shown at all.
pub const MOST_OF_A_SUMMARY: usize = 1024 * 1024;
/// An annotation's text is folded by GitHub's pages long before this.
const LONGEST_MESSAGE: usize = 4_000;
const LONGEST_TITLE: usize = 250;

/// Whether this is a step of GitHub Actions, or of a runner that does as it does.
pub fn inside() -> bool {
    std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}

/// How loud an annotation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    Error,
    Warning,
    Notice,
}

impl Level {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Notice => "notice",
        }
    }
}

/// A mark at a line of a file, on the page of the run and in the change's diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    pub level: Level,
    /// Without one it stands at the run alone.
    pub path: Option<String>,
    pub line: Option<u32>,
    pub title: String,
    pub message: String,
}

impl Annotation {
    pub fn command(&self) -> String {
        annotate(self.level, self.path.as_deref(), self.line, &self.title, &self.message)
    }
}

/// `::error file=…,line=…,title=…::…`
pub fn annotate(level: Level, path: Option<&str>, line: Option<u32>, title: &str, message: &str) -> String {
    let mut properties: Vec<String> = Vec::new();
    if let Some(path) = path {
        properties.push(format!("file={}", property(&tame(path))));
        // A line without its file is a line of nothing.
        properties.extend(line.map(|line| format!("line={line}")));
    }
    if !title.trim().is_empty() {
        properties.push(format!("title={}", property(&tame(&clipped(title, LONGEST_TITLE)))));
    }
    let blank = if properties.is_empty() { "" } else { " " };
    // The runner drops an annotation that says nothing.
    let message = if message.trim().is_empty() { title } else { message };
    let message = data(&tame(&clipped(message, LONGEST_MESSAGE)));
    format!("::{}{blank}{}::{message}\n", level.as_str(), properties.join(","))
}

/// The annotations that the runner will show. Where there are more of a level, the last that it shows counts the rest.
pub fn within_limits(annotations: Vec<Annotation>) -> Vec<Annotation> {
    let of = |list: &[Annotation], level| list.iter().filter(|one| one.level == level).count();
    let all = annotations;
    let mut kept: Vec<Annotation> = Vec::new();
    for one in &all {
        let (there, shown) = (of(&all, one.level), of(&kept, one.level));
        if shown == MOST_OF_A_LEVEL {
            continue;
        }
        if shown + 1 < MOST_OF_A_LEVEL || there == MOST_OF_A_LEVEL {
            kept.push(one.clone());
            continue;
        }
        let more = there - shown;
        kept.push(Annotation {
            level: one.level,
            path: None,
            line: None,
            title: format!("And {more} more"),
            message: format!("There are {more} more; the job's summary and the check run have more of them."),
        });
    }
    kept
}

/// Opens a group of lines that the page folds; [`END_GROUP`] ends it.
pub fn group(title: &str) -> String {
    format!("::group::{}\n", data(&tame(&one_line(title))))
}

pub const END_GROUP: &str = "::endgroup::\n";

/// Has the runner hide a secret wherever it would show in the log. One of several lines is hidden line by line as well,
/// because that is how the log is read.
pub fn mask(secret: &str) -> String {
    let mut text = String::new();
    let lines = secret.lines().map(str::trim_end).filter(|_| secret.trim_end().contains('\n'));
    for part in [secret].into_iter().chain(lines).filter(|part| !part.trim().is_empty()) {
        let _ = writeln!(text, "::add-mask::{}", data(part));
    }
    text
}

/// A stretch of the log in which nothing is a workflow command: what stands between [`Stopped::begins`] and
/// [`Stopped::ends`]. Only who knows the token can end it early, and it is made anew each time.
#[derive(Debug)]
pub struct Stopped(String);

impl Stopped {
    #[expect(clippy::new_without_default, reason = "no two are the same")]
    pub fn new() -> Self {
        Self(format!("phasegate-{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple()))
    }

    pub fn begins(&self) -> String {
        format!("::stop-commands::{}\n", self.0)
    }

    /// At the beginning of a line.
    pub fn ends(&self) -> String {
        format!("::{}::\n", self.0)
    }
}

/// One line of a step's output, for [`Files::set_output`].
pub fn set_output(name: &str, value: &str) -> String {
    // With a word that is known, a value could end itself and set other outputs.
    let end = format!("phasegate-{}", Uuid::new_v4().simple());
    format!("{name}<<{end}\n{value}\n{end}\n")
}

/// A summary that still fits beside what the step has already written, cut at the end of a line where it does not.
pub fn summary(markdown: &str, written: usize) -> String {
    const CUT: &str = "\n\n*The rest does not fit into a step's summary; the log has it.*\n";
    let mut text = markdown.to_owned();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let room = MOST_OF_A_SUMMARY.saturating_sub(written);
    if text.len() <= room {
        return text;
    }
    let Some(room) = room.checked_sub(CUT.len()) else { return String::new() };
    let end = (0..=room.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let end = text[..end].rfind('\n').unwrap_or(end);
    format!("{}{CUT}", &text[..end])
}

/// A line for the log with text from elsewhere in it: it stays one line, and is no workflow command in either of their
/// two forms, of which the older one (`##[…]`) is read in the middle of a line too.
pub fn line(text: &str) -> String {
    let text = tame(&one_line(text));
    if text.trim_start().starts_with("::") { format!("\u{200b}{text}") } else { text }
}

/// Without the beginning of the older form. The runner looks for the newer one first, and not every runner is GitHub's.
fn tame(text: &str) -> String {
    text.replace("##[", "##\u{200b}[")
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The files that the runner reads when a step is over. Where one is not named, what is meant for it goes nowhere.
#[derive(Debug, Clone, Default)]
pub struct Files {
    pub output: Option<PathBuf>,
    pub summary: Option<PathBuf>,
}

impl Files {
    pub fn from_env() -> Self {
        let file = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self { output: file("GITHUB_OUTPUT"), summary: file("GITHUB_STEP_SUMMARY") }
    }

    pub fn set_output(&self, name: &str, value: &str) -> io::Result<()> {
        self.output.as_deref().map_or(Ok(()), |file| append(file, &set_output(name, value)))
    }

    pub fn append_summary(&self, markdown: &str) -> io::Result<()> {
        let Some(file) = self.summary.as_deref() else { return Ok(()) };
        let written = file.metadata().map_or(0, |about| usize::try_from(about.len()).unwrap_or(usize::MAX));
        append(file, &summary(markdown, written))
    }
}

/// In one write, so that it is there as a whole or not at all.
fn append(file: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().append(true).create(true).open(file)?.write_all(text.as_bytes())
}

fn clipped(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// A command's text, as the runner takes it apart again.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of one of its properties.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn error(n: usize) -> Annotation {
        let (title, message) = (format!("test {n}"), "it broke".to_owned());
        Annotation { level: Level::Error, path: Some("src/a.rs".into()), line: Some(3), title, message }
    }

    #[test]
    fn an_annotation_names_file_line_and_title() {
        assert_eq!(error(1).command(), "::error file=src/a.rs,line=3,title=test 1::it broke\n");
        assert_eq!(annotate(Level::Notice, None, Some(3), "", "a\nb"), "::notice::a%0Ab\n");
        assert_eq!(annotate(Level::Warning, Some("a.rs"), None, "t", ""), "::warning file=a.rs,title=t::t\n");
        let hostile = annotate(Level::Error, Some("a,line=9:b%0A"), None, "x::y", "100%\r\n::add-mask::e");
        assert_eq!(hostile, "::error file=a%2Cline=9%3Ab%250A,title=x%3A%3Ay::100%25%0D%0A::add-mask::e\n");
        let long = annotate(Level::Error, None, None, &"t".repeat(999), &"é".repeat(9_999));
        assert!(long.chars().count() < LONGEST_TITLE + LONGEST_MESSAGE + 30 && long.ends_with("…\n"));
    }

    #[test]
    fn a_step_has_ten_annotations_of_a_level_and_the_last_counts_the_rest() {
        assert_eq!(within_limits((0..10).map(error).collect()).len(), 10);
        let mut all: Vec<Annotation> = (0..13).map(error).collect();
        all.push(Annotation { level: Level::Warning, ..error(99) });
        let kept = within_limits(all);
        assert_eq!(kept.len(), 11);
        assert_eq!((kept[8].title.as_str(), kept[9].title.as_str()), ("test 8", "And 4 more"));
        assert_eq!((kept[9].path.as_deref(), kept[10].level), (None, Level::Warning));
    }

    #[test]
    fn what_is_hidden_is_hidden_line_by_line() {
        assert_eq!(mask("a%b"), "::add-mask::a%25b\n");
        assert_eq!(mask("one\r\n\ntwo\n"), "::add-mask::one%0D%0A%0Atwo%0A\n::add-mask::one\n::add-mask::two\n");
        assert_eq!(mask(" \n"), "", "nothing would be left of the log");
    }

    #[test]
    fn commands_are_stopped_by_a_token_that_was_never_used() {
        let (one, two) = (Stopped::new(), Stopped::new());
        let token = one.begins().trim_end().strip_prefix("::stop-commands::").unwrap().to_owned();
        assert!(token.len() > 60 && one.ends() == format!("::{token}::\n"));
        assert_ne!(one.begins(), two.begins());
    }

    #[test]
    fn a_value_can_not_end_itself() {
        let text = set_output("json", "a\nEOF\nother<<EOF\nb");
        let end = text.split(['<', '\n']).nth(2).unwrap();
        assert_eq!(text, format!("json<<{end}\na\nEOF\nother<<EOF\nb\n{end}\n"));
        assert_ne!(text, set_output("json", "a\nEOF\nother<<EOF\nb"));
    }

    #[test]
    fn a_line_of_the_log_is_no_command() {
        assert_eq!(line("  ::error::x\n::error::y"), "\u{200b}  ::error::x ::error::y");
        assert_eq!(line("see ##[add-mask]x"), "see ##\u{200b}[add-mask]x");
        assert_eq!(line("a::b"), "a::b");
        assert_eq!(group("a\nb% ##[x]"), "::group::a b%25 ##\u{200b}[x]\n");
        assert_eq!(mask("##[x"), "::add-mask::##[x\n", "what is hidden is hidden as it is");
    }

    #[test]
    fn outputs_and_summary_are_appended_to_and_a_summary_never_grows_too_large() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files { output: Some(dir.path().join("out")), summary: Some(dir.path().join("summary")) };
        let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
        files.set_output("a", "1").unwrap();
        files.set_output("b", "2").unwrap();
        assert_eq!(read("out").lines().filter(|line| line.contains("<<")).count(), 2);
        files.append_summary("# One").unwrap();
        assert_eq!(read("summary"), "# One\n");
        files.append_summary(&"é 12345\n".repeat(200_000)).unwrap();
        let cut = read("summary");
        assert!(cut.len() <= MOST_OF_A_SUMMARY && cut.len() > MOST_OF_A_SUMMARY - 100, "{}", cut.len());
        assert!(cut.contains("12345\n\n*The rest does not fit") && cut.ends_with("the log has it.*\n"));
        files.append_summary("more").unwrap();
        files.append_summary(&"more\n".repeat(100)).unwrap();
        assert!(read("summary").len() <= MOST_OF_A_SUMMARY);
        Files::default().append_summary("nobody reads it").unwrap();
    }

    proptest! {
        /// Nothing in a text makes a second line, or a property that was not given.
        #[test]
        fn a_text_stays_where_it_was_put(path in "(::|,|line=|%0A|\n|\r|a){0,6}", text in "(::|,|%|\n|\r|##\\[x\\]|é){0,8}") {
            let made = annotate(Level::Error, Some(&path), None, "t", &text);
            prop_assert_eq!(made.matches(['\n', '\r']).count(), 1);
            prop_assert!(!made.contains("##["), "{}", made);
            let properties = made.strip_prefix("::error ").unwrap().split("::").next().unwrap();
            prop_assert_eq!(properties.split(',').count(), 2, "{}", made);
            prop_assert!(!line(&text).contains(['\n', '\r']) && !line(&text).trim_start().starts_with("::"));
        }
    }
}
