//! Code owners: who is named for a path in GitHub's `CODEOWNERS`. The last line that matches is the one that counts.

use globset::{GlobBuilder, GlobMatcher};

use super::RepoPath;

/// Where the file may stand. The first that is there is the one that counts.
pub const OWNERS: [&str; 3] = [".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"];

/// More lines are not read.
const MOST_LINES: usize = 5_000;

/// The file, understood.
#[derive(Debug, Default)]
pub struct Owners(Vec<Line>);

#[derive(Debug)]
struct Line {
    globs: Vec<GlobMatcher>,
    owners: Vec<String>,
}

impl Owners {
    /// What can't be understood is left out, as GitHub does.
    pub fn parse(text: &str) -> Self {
        Self(text.lines().take(MOST_LINES).filter_map(line).collect())
    }

    /// Who is named for any of these paths, each once, in the order of the paths: `@login`, `@organisation/team`.
    pub fn of<'p>(&self, paths: impl IntoIterator<Item = &'p RepoPath>) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for path in paths {
            let Some(path) = path.as_str() else { continue };
            let owned = self.0.iter().rfind(|line| line.globs.iter().any(|glob| glob.is_match(path)));
            for owner in owned.iter().flat_map(|line| &line.owners) {
                if !all.iter().any(|known| known.eq_ignore_ascii_case(owner)) {
                    all.push(owner.clone());
                }
            }
        }
        all
    }
}

/// One line. One without owners takes them away, and so it counts too.
fn line(text: &str) -> Option<Line> {
    let mut words = words(text).into_iter();
    let pattern = words.next()?;
    let owners = words.filter(|word| word.starts_with('@')).collect();
    Some(Line { globs: globs(&pattern)?, owners })
}

/// Words between blanks, up to a comment. A blank in a path is written with a backslash before it.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut escaped) = (Vec::new(), String::new(), false);
    for c in text.chars() {
        match c {
            _ if escaped => {
                word.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            '#' if word.is_empty() => break,
            c if c.is_whitespace() => words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty())),
            c => word.push(c),
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

/// The pattern as globs. As in `.gitignore`, one with a slash begins at the root and a folder stands for all below it; `!` and
/// `[ ]` are not known.
fn globs(pattern: &str) -> Option<Vec<GlobMatcher>> {
    if pattern.starts_with('!') || pattern.contains(['[', ']', '{', '}']) {
        return None;
    }
    let folder = pattern.ends_with('/');
    let inner = pattern.trim_matches('/');
    if inner.is_empty() {
        return None;
    }
    let rooted = pattern.starts_with('/') || inner.contains('/');
    let base = if rooted { inner.to_owned() } else { format!("**/{inner}") };
    let below = format!("{base}/**");
    // `docs/*` are the files in it, and not those in folders below it.
    let shallow = rooted && inner.rsplit('/').next() == Some("*");
    let all = match (folder, shallow) {
        (true, _) => vec![below],
        (false, true) => vec![base],
        (false, false) => vec![base, below],
    };
    let glob = |text: &String| Some(GlobBuilder::new(text).literal_separator(true).build().ok()?.compile_matcher());
    all.iter().map(glob).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(file: &str, paths: &[&str]) -> Vec<String> {
        let paths: Vec<RepoPath> = paths.iter().map(|path| RepoPath::from(*path)).collect();
        Owners::parse(file).of(&paths)
    }

    /// The examples of GitHub's own page.
    #[test]
    fn it_is_read_as_github_reads_it() {
        let file = "# the default\n*  @all @all2\n*.js @js # inline\n*.go docs@example.com\n/build/logs/ @doctocat\ndocs/* @docs\n\
                    apps/ @octocat\n/docs/ @top\n/scripts/ @doctocat @octocat\n**/logs @logs\n/apps/ @octo\n/apps/github\n";
        assert_eq!(of(file, &["README.md"]), ["@all", "@all2"]);
        assert_eq!(of(file, &["src/deep/a.js"]), ["@js"]);
        assert!(of(file, &["a.go"]).is_empty(), "an address of e-mail is nobody that we can name");
        assert_eq!(of(file, &["build/logs/a/b.txt"]), ["@logs"], "the last that matches counts");
        assert_eq!(of(file, &["deep/docs/a.txt"]), ["@all", "@all2"]);
        assert_eq!(of(file, &["docs/a/b.txt"]), ["@top"]);
        assert_eq!(of(file, &["scripts/a.sh"]), ["@doctocat", "@octocat"]);
        assert_eq!(of(file, &["apps/web/a.rs"]), ["@octo"]);
        assert!(of(file, &["apps/github/a.rs"]).is_empty(), "a line without owners takes them away");
        assert_eq!(of(file, &["deep/logs/a", "src/a.js", "x.js"]), ["@logs", "@js"]);
    }

    #[test]
    fn patterns_are_those_of_gitignore_without_its_specials() {
        assert_eq!(of("docs/* @d\n", &["docs/a.md"]), ["@d"]);
        assert!(of("docs/* @d\n", &["docs/a/b.md", "x/docs/a.md"]).is_empty());
        assert_eq!(of("/docs @d\n", &["docs/a/b.md"]), ["@d"]);
        assert_eq!(of("lamp.py @d\n", &["src/lamp.py"]), ["@d"]);
        assert_eq!(of("a\\ b.md @d\n", &["a b.md"]), ["@d"]);
        assert!(of("!src @d\n[ab].md @d\n", &["src/a", "a.md"]).is_empty());
        assert_eq!(of("* @a @A @octo/team\n", &["x", "y"]), ["@a", "@octo/team"]);
        for odd in ["", "#", "   ", "/", "@a", "*", "\\", "\u{0}\u{0} @a", "**************** @a"] {
            assert!(of(odd, &["a"]).len() <= 1, "{odd:?}");
        }
    }
}
