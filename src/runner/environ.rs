//! What the commands of a gate are given of the environment, and which of its values must not show in what they say.
//!
//! A command of a gate runs code of the change. It gets the environment of its job, because a build needs it, without
//! what would let it act in the job's name. That is a courtesy in the plain form, and not a wall: the command runs as the
//! same user. The wall is that the job has no secret at all (`docs/runner.md`).

use std::ffi::{OsStr, OsString};

use super::artefact::Environment;
use super::text;
use crate::gate::build;

/// A variable that no command sees, and why.
#[derive(Debug)]
pub struct Withheld {
    /// One that ends with `*` is the beginning of a name.
    pub name: &'static str,
    pub why: &'static str,
}

/// In the order of `docs/runner.md`.
pub const WITHHELD: &[Withheld] = &[
    Withheld { name: "GITHUB_TOKEN", why: "the job's token: it could write whatever the job may" },
    Withheld { name: "GH_TOKEN", why: "the same, for `gh`" },
    Withheld { name: "GITHUB_ENTERPRISE_TOKEN", why: "the same, on GitHub Enterprise Server" },
    Withheld { name: "GH_ENTERPRISE_TOKEN", why: "the same, for `gh`" },
    Withheld {
        name: "ACTIONS_*",
        why: "the runner's own services: tokens for artefacts and caches, and the request for an OIDC token",
    },
    Withheld { name: "INPUT_*", why: "inputs of the action around it, one of which may be a key" },
    Withheld { name: "STATE_*", why: "what an action keeps for its end" },
    Withheld { name: "APP_ID", why: "Phasegate's own App" },
    Withheld { name: "PRIVATE_KEY", why: "its key" },
    Withheld { name: "PRIVATE_KEY_PATH", why: "where its key lies" },
    Withheld { name: "WEBHOOK_SECRET", why: "its webhook's secret" },
    Withheld { name: "GITHUB_OUTPUT", why: "the job's outputs are Phasegate's to say" },
    Withheld { name: "GITHUB_ENV", why: "it would set the environment of the steps that follow" },
    Withheld { name: "GITHUB_PATH", why: "it would put programs in the place of those that the steps that follow run" },
    Withheld { name: "GITHUB_STATE", why: "it belongs to the action around it" },
    Withheld { name: "GITHUB_STEP_SUMMARY", why: "the summary is Phasegate's to write" },
    Withheld { name: "GIT_CONFIG_*", why: "settings for git, one of which may be a header with a token" },
    Withheld { name: "GIT_DIR", why: "another repository than the copy: a hook of git has it set" },
    Withheld { name: "GIT_WORK_TREE", why: "the same, of its files" },
    Withheld { name: "GIT_INDEX_FILE", why: "the same, of its index" },
    Withheld { name: "GIT_OBJECT_DIRECTORY", why: "the same, of its objects" },
    Withheld { name: "GIT_ALTERNATE_OBJECT_DIRECTORIES", why: "the same, of objects beside it" },
    Withheld { name: "GIT_COMMON_DIR", why: "the same, of what its worktrees share" },
    Withheld { name: "GIT_NAMESPACE", why: "the same, of its branches" },
    Withheld { name: "GIT_PREFIX", why: "where a hook was started, which is not where the commands run" },
];

/// Whether a command is given this variable.
pub fn is_given(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return true };
    // Names are the same in any case on some systems, and none of these is anybody else's.
    let name = name.to_ascii_uppercase();
    !WITHHELD.iter().any(|one| match one.name.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == one.name,
    })
}

/// What is told of where commands run that are given these variables. Of a variable its name alone: a value may be anything.
pub(crate) fn described(given: &[(OsString, OsString)]) -> Environment {
    let of = |name: &str| given.iter().find(|(given, _)| given == name).map(|(_, value)| value.to_string_lossy());
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let named = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME=")).map(|name| name.trim_matches('"'));
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let image = of("ImageOS").map(|os| format!("{os} {}", of("ImageVersion").unwrap_or_default()));
    let mut variables: Vec<String> = given.iter().map(|(name, _)| text::line(&name.to_string_lossy(), 100)).collect();
    variables.sort();
    Environment {
        os: text::line(named.unwrap_or(std::env::consts::OS), 100),
        kernel: text::line(kernel.trim(), 100),
        arch: std::env::consts::ARCH.to_owned(),
        cpus: std::thread::available_parallelism().map_or(0, |count| u32::try_from(count.get()).unwrap_or(u32::MAX)),
        image: image.map(|image| text::line(image.trim(), 100)),
        variables,
    }
}

/// How the name of a variable ends whose value is a secret.
const SECRET: &[&str] = &["TOKEN", "SECRET", "PASSWORD", "KEY"];
/// Words that the name of one has between its dashes.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "APIKEY", "AUTH", "AUTHORIZATION", "BEARER", "COOKIE", "COOKIES", "CRED", "CREDENTIAL", "CREDENTIALS", "CREDS", "DSN", "HTPASSWD",
    "JWT", "KEY", "KEYS", "MNEMONIC", "PASS", "PASSPHRASE", "PASSWD", "PASSWORD", "PASSWORDS", "PAT", "PIN", "PW", "PWD", "SALT",
    "SECRET", "SECRETS", "SEED", "SESSION", "SSHPASS", "TOKEN", "TOKENS", "WEBHOOK",
];
/// What is one by such a word alone may be a word itself (`AUTH_TYPE=basic`): then it is not hidden.
const SHORTEST_BY_WORD: usize = 8;
/// Shorter ones are words or numbers that stand everywhere, and hiding them would hide the text around them.
const SHORTEST: usize = 4;
/// A user of an address that is as long is a token, and so is what comes after `Bearer`.
const SHORTEST_TOKEN: usize = 16;
/// Each line of a longer secret is hidden by itself, as long as it is not one that any text could have.
const SHORTEST_LINE: usize = 8;

/// Whether the value of a variable is a secret: by its name, because there is one inside of it, or because it has the form of one.
pub(crate) fn is_secret(name: &OsStr, value: &OsStr) -> bool {
    let text = value.to_string_lossy();
    is_called_one(name) || has_word(name) || !inside(&text).is_empty() || build::is_secret(&text)
}

/// Whether one is set in a line of settings, `token = "…"`.
pub(crate) fn is_set_in(line: &str) -> bool {
    let Some((name, value)) = line.split_once('=') else { return false };
    let value = value.trim().trim_matches(['"', '\'']);
    let called = is_called_one(OsStr::new(name.trim().trim_matches('"'))) && !value.is_empty();
    !name.trim_start().starts_with('#') && (called || !inside(value).is_empty() || build::is_secret(value))
}

fn is_called_one(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    SECRET.iter().any(|end| name.ends_with(end))
}

/// `MYSQL_PWD`, and not `PWD`, which is where one is.
fn has_word(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    let words = name.split(|c: char| !c.is_ascii_alphanumeric());
    !matches!(name.as_str(), "PWD" | "OLDPWD") && words.into_iter().any(|word| WORDS.contains(&word))
}

/// The secrets inside of a value that is none itself: the password in `postgres://user:password@host/`, the token in
/// `https://token@host/`, what comes after `Bearer`. Also where there are several.
fn inside(value: &str) -> Vec<&str> {
    let addresses = value.match_indices("://").filter_map(|(at, _)| {
        let scheme = value[..at].rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        let authority = value[at + 3..].split(['/', '?', '#', ' ', '\n', '"', '\'']).next()?;
        let (user, _) = authority.rsplit_once('@')?;
        match user.split_once(':') {
            Some((_, password)) if !password.is_empty() && password != "x-oauth-basic" => Some(password),
            // `ssh://git@host` names somebody.
            _ if scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https") => {
                let name = user.split(':').next().unwrap_or(user);
                (name.len() >= SHORTEST_TOKEN).then_some(name)
            }
            _ => None,
        }
    });
    let mut words = value.split_whitespace().peekable();
    let mut headers = Vec::new();
    while let Some(word) = words.next() {
        let scheme = word.rsplit(':').next().unwrap_or(word);
        let is_scheme = ["basic", "bearer", "token"].iter().any(|one| scheme.eq_ignore_ascii_case(one));
        headers.extend(words.peek().filter(|next| is_scheme && next.len() >= SHORTEST_TOKEN));
    }
    addresses.chain(headers).collect()
}

/// Values that are replaced by `***`.
#[derive(Clone, Default)]
pub(crate) struct Masks(Vec<Vec<u8>>);

impl Masks {
    pub(crate) fn of(environment: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut values: Vec<Vec<u8>> = Vec::new();
        for (name, value) in environment {
            let text = value.to_string_lossy();
            let parts = inside(&text).into_iter().filter(|part| part.len() >= SHORTEST);
            values.extend(parts.map(|part| part.as_bytes().to_vec()));
            let shortest = match (is_called_one(&name), has_word(&name)) {
                (true, _) => SHORTEST,
                (false, true) => SHORTEST_BY_WORD,
                (false, false) if inside(&text).is_empty() && build::is_secret(&text) => SHORTEST,
                (false, false) => continue,
            };
            let value = value.as_encoded_bytes();
            let lines = value.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
            let lines = lines.filter(|line| line.len() >= SHORTEST_LINE && line.len() < value.len());
            values.extend(lines.map(<[u8]>::to_vec));
            if value.trim_ascii().len() >= shortest {
                values.push(value.trim_ascii().to_vec());
            }
        }
        // The longest first: one that begins another must not leave the other's end.
        values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        values.dedup();
        Self(values)
    }

    /// The longest value's bytes.
    pub(crate) fn longest(&self) -> usize {
        self.0.first().map_or(0, Vec::len)
    }

    /// The bytes from `start` on, with every value hidden. A value that begins before `start` is hidden as a whole.
    pub(crate) fn hide(&self, bytes: &[u8], start: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len().saturating_sub(start));
        let mut at = 0;
        while at < bytes.len() {
            match self.0.iter().find(|value| bytes[at..].starts_with(value)) {
                Some(value) => {
                    at += value.len();
                    if at > start {
                        out.extend_from_slice(b"***");
                    }
                }
                None => {
                    if at >= start {
                        out.push(bytes[at]);
                    }
                    at += 1;
                }
            }
        }
        out
    }

    pub(crate) fn hide_text(&self, text: &str) -> String {
        // A whole value that is text was taken out of text, so text is left.
        String::from_utf8_lossy(&self.hide(text.as_bytes(), 0)).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masks(values: &[(&str, &str)]) -> Masks {
        Masks::of(values.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))))
    }

    #[test]
    fn what_acts_in_the_jobs_name_is_withheld_and_the_rest_is_given() {
        for name in [
            "GITHUB_TOKEN",
            "gh_token",
            "ACTIONS_RUNTIME_TOKEN",
            "ACTIONS_ID_TOKEN_REQUEST_URL",
            "INPUT_PRIVATE-KEY",
            "PRIVATE_KEY",
            "APP_ID",
            "GITHUB_OUTPUT",
            "GITHUB_STEP_SUMMARY",
            "GIT_CONFIG_VALUE_0",
            "GIT_DIR",
        ] {
            assert!(!is_given(OsStr::new(name)), "{name}");
        }
        for name in ["PATH", "HOME", "CI", "GITHUB_ACTIONS", "GITHUB_SHA", "DATABASE_URL", "NPM_TOKEN", "MY_APP_ID"] {
            assert!(is_given(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn secrets_of_the_environment_are_hidden() {
        let masks = masks(&[
            ("NPM_TOKEN", "tok-1"),
            ("LONG_TOKEN", "tok-12345"),
            ("db_password", "hunter2"),
            ("API_KEY", "abc"),
            ("HOME", "/home/me"),
            ("PRIVATE_KEY", "-----BEGIN-----\nline-one-of-it\nx\n"),
        ]);
        assert_eq!(masks.hide_text("tok-1, tok-12345, hunter2, abc, /home/me"), "***, ***, ***, abc, /home/me");
        assert_eq!(masks.hide_text("a line-one-of-it b x"), "a *** b x");
        assert_eq!(masks.hide_text("-----BEGIN-----\nline-one-of-it\nx\n"), "***\n", "as a whole");
        assert_eq!(masks.longest(), "-----BEGIN-----\nline-one-of-it\nx".len());
    }

    #[test]
    fn a_secret_is_known_by_a_word_of_its_name_or_as_a_password_of_an_address() {
        let secret = |name: &str, value: &str| is_secret(OsStr::new(name), OsStr::new(value));
        for name in [
            "FOO_PAT",
            "MYSQL_PWD",
            "SLACK_WEBHOOK_URL",
            "DOCKER_AUTH_CONFIG",
            "GOOGLE_CREDENTIALS",
            "SIGNING_PASSPHRASE",
            "TOKEN_GH",
            "npm_config__auth",
            "MYTOKEN",
            "SSHPASS",
            "X_BEARER",
            "OP_SESSION_my",
            "WALLET_SEED",
        ] {
            assert!(secret(name, "x"), "{name}");
        }
        assert!(secret("DATABASE_URL", "postgres://u:pw@h/db") && !secret("DATABASE_URL", "postgres://h/db?a=b:c@d"));
        for name in ["PATH", "PWD", "OLDPWD", "HOME", "CI", "KEYBOARD", "AUTHOR", "COMPASS", "GITHUB_SHA"] {
            assert!(!secret(name, "https://example.com/@a"), "{name}");
        }
        let masks =
            masks(&[("DB_URL", "postgres://u:hunter2@h/db"), ("AUTH_TYPE", "basic"), ("A_PAT", "ghp_12345678")]);
        assert_eq!(masks.hide_text("hunter2 basic ghp_12345678 h/db"), "*** basic *** h/db");
    }

    #[test]
    fn a_secret_is_known_by_its_form_whatever_it_is_called() {
        let secret = |value: &str| is_secret(OsStr::new("LAMP"), OsStr::new(value));
        // Put together here, so that no scanner takes the test for a leak.
        let token = format!("ghp_{}", "Q7w2ZxN4bVt8mK1pL9sDf3GhJ6yR5uTc0EaB");
        let key = format!(
            "-----BEGIN PRIVATE {}-----\n{}\n-----END PRIVATE KEY-----",
            "KEY",
            "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC".repeat(4)
        );
        let jwt = format!(
            "{}.{}.{}",
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9",
            "eyJzdWIiOiIxMjM0NTY3ODkwIn0",
            "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
        );
        let header = "AUTHORIZATION: basic eC1hY2Nlc3MtdG9rZW46bGFtcA==";
        let address = "url.https://0123456789abcdef0123@github.com/.insteadOf";
        let two = "postgres://h/a postgres://u:hunter2@h/b";
        for value in [&token, &key, &jwt, header, address, two] {
            assert!(secret(value), "{value}");
        }
        for value in ["ssh://git@github.com/a/b", "https://me@h/", "https://h/a@b:c", "basic", "a basic lamp", "x86_64"]
        {
            assert!(!secret(value), "{value}");
        }
        let masks = masks(&[("LAMP", &token), ("ORIGIN", address), ("HEADER", header), ("BOTH", two)]);
        assert_eq!(masks.hide_text(&format!("a {token} b hunter2")), "a *** b ***");
        assert_eq!(masks.hide_text(address), "url.https://***@github.com/.insteadOf");
        assert_eq!(masks.hide_text(header), "AUTHORIZATION: basic ***");
    }

    #[test]
    fn a_secret_across_the_cut_is_hidden_as_a_whole() {
        let masks = masks(&[("A_TOKEN", "secret")]);
        assert_eq!(masks.hide(b"a secret b", 5), b"*** b");
        assert_eq!(masks.hide(b"a secret b", 8), b" b");
        assert_eq!(masks.hide(b"\xff secret", 0), b"\xff ***");
    }
}
