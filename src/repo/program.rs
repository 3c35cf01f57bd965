//! Running the `git` program for the network part, and nothing else.
//!
//! No shell. The environment is built from nothing, so that neither the machine's git configuration nor a variable of
//! the server decides anything: no credential helper, no hook, no prompt, no `~/.netrc`, no protocol but three. The
//! token goes through the environment, because arguments are there for everyone on the machine to read, and it is taken
//! out of whatever git says.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::LazyLock;
use std::time::Duration;

use base64::Engine as _;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;

use super::{Error, Result};

/// Variables that say how to reach the network from here.
const PASSED_ON: &[&str] = &[
    "PATH",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "GIT_SSL_CAINFO",
];

/// What git says is kept up to here; a remote may talk without end.
const MAX_STDERR: u64 = 64 * 1024;

const CONFIG: &[(&str, &str)] = &[
    ("credential.helper", ""),
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.askPass", ""),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("fetch.writeCommitGraph", "false"),
    ("transfer.bundleURI", "false"),
    ("protocol.version", "2"),
    // A token must not follow a redirect to another host, and a stalled transfer must end.
    ("http.followRedirects", "false"),
    ("http.lowSpeedLimit", "1000"),
    ("http.lowSpeedTime", "60"),
];

/// Where `git` is. With an environment of its own and a program without a path, starting another program copies this whole
/// process first, which takes the longer the larger it is; with a path it does not.
static GIT: LazyLock<PathBuf> = LazyLock::new(|| {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut there = std::env::split_paths(&path).filter(|dir| dir.is_absolute()).map(|dir| dir.join("git"));
    there.find(|file| is_program(file)).unwrap_or_else(|| "git".into())
});

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// Only URLs that name a place and carry no secret of their own.
pub(super) fn check_url(url: &str) -> Result<()> {
    let refused = |why: &str| Err(Error::Url(why.to_owned()));
    let Some((scheme, rest)) = url.split_once("://") else { return refused("it has no scheme") };
    if !matches!(scheme, "http" | "https" | "file") {
        return refused("only http, https and file are allowed");
    }
    if url.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return refused("it has blanks or control characters");
    }
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.contains('@') {
        return refused("it carries a user name or password; those are given apart");
    }
    Ok(())
}

/// Whether there is a `git` to run.
pub async fn git_runs() -> Result<()> {
    let mut command = Command::new(&*GIT);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status().await.map_err(Error::io(CANT_RUN))?;
    if status.success() { Ok(()) } else { Err(Error::Fetch(format!("`git --version` ended with {status}"))) }
}

const CANT_RUN: &str = "can't run git";

/// Runs `git --git-dir <dir> <args>` and returns what went wrong, without secrets.
pub(super) async fn git(dir: &Path, args: &[String], auth: Option<&SecretString>, limit: Duration) -> Result<()> {
    let secret = auth.map(Secret::new).transpose()?;
    let mut command = Command::new(&*GIT);
    command.arg("--git-dir").arg(dir).args(args);
    command.env_clear();
    for name in PASSED_ON {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
        .env("HOME", dir)
        .env("LC_ALL", "C")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_ALLOW_PROTOCOL", "http:https:file")
        .env("GIT_OPTIONAL_LOCKS", "0");
    let header = secret.as_ref().map(|s| ("http.extraHeader", s.header.as_str()));
    let mut count = 0;
    for (key, value) in CONFIG.iter().copied().chain(header) {
        command.env(format!("GIT_CONFIG_KEY_{count}"), key).env(format!("GIT_CONFIG_VALUE_{count}"), value);
        count += 1;
    }
    command.env("GIT_CONFIG_COUNT", count.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);

    let mut child = command.spawn().map_err(Error::io(CANT_RUN))?;
    let stderr = child.stderr.take();
    let run = async {
        let said = match stderr {
            Some(pipe) => read_some(pipe).await,
            None => String::new(),
        };
        Ok::<_, Error>((child.wait().await.map_err(Error::io("can't wait for git"))?, said))
    };
    let (status, said) = tokio::time::timeout(limit, run).await.map_err(|_| Error::TimedOut(limit.as_secs()))??;
    if status.success() {
        return Ok(());
    }
    let said = secret.map_or_else(|| said.clone(), |s| s.scrub(&said));
    let said: String = said.trim().chars().filter(|c| *c == '\n' || !c.is_control()).take(2000).collect();
    Err(Error::Fetch(if said.is_empty() { status.to_string() } else { said }))
}

/// The beginning of what is said; the rest is read and dropped, so that the other side does not wait.
async fn read_some(mut pipe: impl AsyncRead + Unpin) -> String {
    let mut bytes = Vec::new();
    let _ = (&mut pipe).take(MAX_STDERR).read_to_end(&mut bytes).await;
    let _ = tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A token in the forms in which it could be repeated.
struct Secret {
    token: zeroize::Zeroizing<String>,
    basic: zeroize::Zeroizing<String>,
    header: zeroize::Zeroizing<String>,
}

impl Secret {
    fn new(token: &SecretString) -> Result<Self> {
        let token = zeroize::Zeroizing::new(token.expose_secret().to_owned());
        // A line break in it would be a header of its own.
        if token.is_empty() || token.bytes().any(|b| !b.is_ascii_graphic()) {
            return Err(Error::Fetch("the token is empty or has blanks or control characters in it".into()));
        }
        let pair = zeroize::Zeroizing::new(format!("x-access-token:{}", *token));
        let basic = zeroize::Zeroizing::new(base64::engine::general_purpose::STANDARD.encode(pair.as_bytes()));
        let header = zeroize::Zeroizing::new(format!("Authorization: Basic {}", *basic));
        Ok(Self { token, basic, header })
    }

    fn scrub(&self, text: &str) -> String {
        text.replace(self.token.as_str(), "***").replace(self.basic.as_str(), "***")
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn only_plain_urls_are_fetched_from() {
        for good in ["https://github.com/o/r.git", "http://127.0.0.1:8080/o/r.git", "file:///srv/x.git"] {
            assert!(check_url(good).is_ok(), "{good}");
        }
        for bad in [
            "ext::sh -c true",
            "ssh://git@github.com/o/r",
            "git@github.com:o/r",
            "/etc",
            "-u",
            "--upload-pack=x://y",
            "https://user:secret@github.com/o/r",
            "https://github.com/o/r\n",
            "ftp://x/y",
            "",
        ] {
            let error = check_url(bad).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[tokio::test]
    async fn the_token_is_sent_in_a_header_and_never_repeated() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/o/r.git", listener.local_addr().unwrap());
        let seen = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                request.push(stream.read_u8().await.unwrap());
            }
            // A hostile server repeats what it was sent.
            let request = String::from_utf8(request).unwrap();
            let sent = request.lines().find(|l| l.starts_with("Authorization")).unwrap_or("none").to_owned();
            let body = format!("you sent {sent} tok-en-123\n");
            let answer = format!(
                "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
            tokio::io::AsyncWriteExt::write_all(&mut stream, answer.as_bytes()).await.unwrap();
            sent
        });
        let dir = tempfile::tempdir().unwrap();
        git2::Repository::init_bare(dir.path()).unwrap();
        let token = SecretString::from("tok-en-123".to_owned());
        let args = ["fetch", "--", url.as_str(), "refs/heads/main"].map(str::to_owned);
        let error = git(dir.path(), &args, Some(&token), Duration::from_secs(20)).await.unwrap_err().to_string();
        let basic = base64::engine::general_purpose::STANDARD.encode("x-access-token:tok-en-123");
        assert_eq!(seen.await.unwrap(), format!("Authorization: Basic {basic}"));
        assert!(error.contains("you sent") && error.contains("***"), "{error}");
        assert!(!error.contains("tok-en-123") && !error.contains(&basic), "{error}");
    }

    #[tokio::test]
    async fn an_error_of_the_system_says_what_was_tried_and_once() {
        let error = anyhow::Error::new(Error::io(CANT_RUN)(std::io::ErrorKind::NotFound.into()));
        assert_eq!(format!("{error:#}"), "can't run git: entity not found");
    }

    #[tokio::test]
    async fn a_stalled_remote_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/o/r.git", listener.local_addr().unwrap());
        let dir = tempfile::tempdir().unwrap();
        git2::Repository::init_bare(dir.path()).unwrap();
        let args = ["fetch", "--", url.as_str(), "refs/heads/main"].map(str::to_owned);
        let error = git(dir.path(), &args, None, Duration::from_millis(300)).await.unwrap_err();
        assert!(matches!(error, Error::TimedOut(_)), "{error}");
    }

    #[tokio::test]
    async fn a_token_that_is_a_header_is_refused() {
        let token = SecretString::from("a\r\nX-Evil: 1".to_owned());
        let dir = tempfile::tempdir().unwrap();
        let error = git(dir.path(), &["version".into()], Some(&token), Duration::from_secs(5)).await.unwrap_err();
        assert!(!error.to_string().contains("Evil"));
    }
}
