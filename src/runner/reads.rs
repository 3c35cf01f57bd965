//! What commands may read of the machine besides the system's own folders: their toolchain, and what the policy names.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::environ::is_secret;
use crate::policy::Confine;

/// Variables that name a folder which programs of a toolchain lie in, and what of it is read; nothing is all of it.
const TOOLCHAINS: &[(&str, Option<&str>, &[&str])] = &[
    ("RUSTUP_HOME", Some(".rustup"), &[]),
    // Its credentials are not among them.
    ("CARGO_HOME", Some(".cargo"), &["bin", "registry", "git", "config.toml", "config", "env"]),
    ("GOROOT", None, &[]),
    ("JAVA_HOME", None, &[]),
    ("VIRTUAL_ENV", None, &[]),
    ("PYENV_ROOT", Some(".pyenv"), &[]),
    ("NVM_DIR", Some(".nvm"), &[]),
    ("RUNNER_TOOL_CACHE", None, &[]),
];

/// Variables that lead a command to the home, the sessions and the services of whoever starts it.
const LEADS_OUT: &[&str] = &[
    "HOME",
    "TMPDIR",
    "TMP",
    "TEMP",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "DBUS_SESSION_BUS_ADDRESS",
    "DOCKER_HOST",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
];

/// What a command reads, and the environment in which it finds that.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    pub reads: Vec<PathBuf>,
    pub environment: Vec<(OsString, OsString)>,
}

/// Looks for the toolchains of an environment, and for what the policy names. `scratch` is a command's home.
pub fn look(environment: &[(OsString, OsString)], confine: &Confine, scratch: &Path) -> Found {
    let value = |name: &str| environment.iter().find(|(one, _)| one == name).map(|(_, value)| value.as_os_str());
    let absolute = |path: &OsStr| Some(PathBuf::from(path)).filter(|path| path.is_absolute());
    let home = value("HOME").and_then(absolute);
    let mut found: Vec<PathBuf> = confine.read.iter().filter_map(|path| of_home(path, home.as_deref())).collect();
    found.extend(std::env::split_paths(value("PATH").unwrap_or_default()).filter(|folder| folder.is_absolute()));
    let mut given: Vec<(OsString, OsString)> = environment.to_vec();
    let is_named = |name: &OsStr| confine.secrets.iter().any(|one| name == one.as_str());
    given.retain(|(name, value)| {
        let leads_out = name.to_str().is_some_and(|name| LEADS_OUT.contains(&name) || name.starts_with("XDG_"));
        !leads_out && (!is_secret(name, value) || is_named(name))
    });
    for (name, usual, parts) in TOOLCHAINS {
        let set = value(name).and_then(absolute);
        let usual = || Some(home.as_ref()?.join((*usual)?)).filter(|folder| folder.is_dir());
        let Some(folder) = set.clone().or_else(usual) else { continue };
        if set.is_none() {
            // With another home it would be looked for there.
            given.push(((*name).into(), folder.clone().into_os_string()));
        }
        match parts {
            [] => found.push(folder),
            parts => found.extend(parts.iter().map(|part| folder.join(part))),
        }
    }
    for name in ["HOME", "TMPDIR"] {
        given.push((name.into(), scratch.into()));
    }
    let mut reads = Vec::new();
    for path in found {
        // Where a link leads has to be there too.
        let real = path.canonicalize();
        for path in std::iter::once(path).chain(real) {
            if path.exists() && path != Path::new("/") && !reads.contains(&path) {
                reads.push(path);
            }
        }
    }
    Found { reads, environment: given }
}

fn of_home(path: &str, home: Option<&Path>) -> Option<PathBuf> {
    match path.strip_prefix("~/") {
        Some(rest) => Some(home?.join(rest)),
        None => Some(PathBuf::from(path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toolchain_is_found_and_its_credentials_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        for folder in [".cargo/bin", ".cargo/registry", ".rustup", "tools/bin", "secret"] {
            std::fs::create_dir_all(home.join(folder)).unwrap();
        }
        std::fs::write(home.join(".cargo/credentials.toml"), "").unwrap();
        std::os::unix::fs::symlink(home.join("tools"), home.join("link")).unwrap();
        let path = format!("{0}/.cargo/bin:relative:/no/such:{0}/link/bin", home.display());
        let environment: Vec<(OsString, OsString)> = [
            ("HOME", home.to_str().unwrap()),
            ("PATH", &path),
            ("SSH_AUTH_SOCK", "/run/agent"),
            ("XDG_RUNTIME_DIR", "/run/user/1"),
            ("LANG", "C"),
            ("NPM_TOKEN", "n"),
            ("DB_PASSWORD", "d"),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .to_vec();
        let scratch = Path::new("/scratch");
        let confine = Confine {
            read: vec!["~/secret".to_owned(), "/no/such".to_owned()],
            secrets: vec!["NPM_TOKEN".to_owned()],
            ..Confine::default()
        };
        let found = look(&environment, &confine, scratch);
        let named = ["secret", ".cargo/bin", "link/bin", "tools/bin", ".rustup", ".cargo/registry"];
        assert_eq!(found.reads, named.map(|name| home.join(name)));
        let value = |name: &str| {
            let all: Vec<_> = found.environment.iter().filter(|(one, _)| one == name).collect();
            assert!(all.len() <= 1, "{name}: {all:?}");
            all.first().map(|(_, value)| PathBuf::from(value))
        };
        assert_eq!((value("HOME"), value("TMPDIR")), (Some(scratch.into()), Some(scratch.into())));
        assert_eq!(
            (value("CARGO_HOME"), value("RUSTUP_HOME")),
            (Some(home.join(".cargo")), Some(home.join(".rustup")))
        );
        assert_eq!((value("LANG"), value("SSH_AUTH_SOCK"), value("XDG_RUNTIME_DIR")), (Some("C".into()), None, None));
        assert_eq!((value("NPM_TOKEN"), value("DB_PASSWORD")), (Some("n".into()), None));
    }
}
