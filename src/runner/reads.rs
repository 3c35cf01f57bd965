//! What commands may read of the machine besides the system's own folders: their toolchain, and what the policy names.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::environ::{is_secret, is_set_in};
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
    /// Folders of the search path and of toolchains that are not opened, and why.
    pub left_out: Vec<(PathBuf, &'static str)>,
    pub environment: Vec<(OsString, OsString)>,
}

/// Looks for the toolchains of an environment, and for what the policy names. `scratch` is a command's home.
pub fn look(environment: &[(OsString, OsString)], confine: &Confine, scratch: &Path) -> Found {
    let value = |name: &str| environment.iter().find(|(one, _)| one == name).map(|(_, value)| value.as_os_str());
    let absolute = |path: &OsStr| Some(PathBuf::from(path)).filter(|path| path.is_absolute());
    let home = value("HOME").and_then(absolute);
    let mut found: Vec<PathBuf> = confine.read.iter().filter_map(|path| of_home(path, home.as_deref())).collect();
    let mut left_out: Vec<(PathBuf, &'static str)> = Vec::new();
    let on_path = std::env::split_paths(value("PATH").unwrap_or_default()).filter(|folder| folder.is_absolute());
    for folder in on_path.filter(|folder| folder.is_dir()) {
        match too_wide(&folder, home.as_deref()).or_else(|| has_keys(&folder)) {
            Some(why) => left_out.push((folder, why)),
            // Without a program in it, it is of no use to anybody.
            None => found.extend(Some(folder).filter(|folder| has_program(folder))),
        }
    }
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
            [] => match too_wide(&folder, home.as_deref()).or_else(|| keeps_keys(&folder)) {
                Some(why) => left_out.push((folder, why)),
                None => found.push(folder),
            },
            parts => {
                let (keep, leave): (Vec<PathBuf>, Vec<PathBuf>) =
                    parts.iter().map(|part| folder.join(part)).partition(|part| !sets_a_secret(part));
                found.extend(keep);
                left_out.extend(leave.into_iter().map(|file| (file, KEYS)));
            }
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
    left_out.sort();
    left_out.dedup();
    Found { reads, left_out, environment: given }
}

/// What lies in a home or beside a checkout, and is nobody's to read: keys, tokens, what git is given.
const SECRETS: &[&str] = &[
    ".aws",
    ".azure",
    ".config",
    ".docker",
    ".env",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".ssh",
    "credentials",
    "credentials.toml",
];

/// Why a folder that a variable names is not opened as a whole: what else lies in it is not for a command of a change.
fn too_wide(folder: &Path, home: Option<&Path>) -> Option<&'static str> {
    let real = folder.canonicalize().ok();
    let each = || std::iter::once(folder).chain(real.as_deref());
    let homes = home.map(|home| [Some(home.to_owned()), home.canonicalize().ok()]);
    let is_above = |inner: &Path| each().any(|folder| inner.starts_with(folder));
    if is_above(Path::new("/")) {
        return Some("it is the root folder");
    }
    if homes.iter().flatten().flatten().any(|home| is_above(home)) {
        return Some("the home is in it");
    }
    None
}

/// The same of a folder on the search path, where programs lie that somebody put there. A toolchain's own folder is what it is.
fn has_keys(folder: &Path) -> Option<&'static str> {
    let real = folder.canonicalize().ok();
    let mut names = std::iter::once(folder).chain(real.as_deref()).filter_map(Path::file_name);
    let is_one = names.any(|name| SECRETS.iter().any(|one| name == *one));
    let has_one = || SECRETS.iter().any(|name| folder.join(name).symlink_metadata().is_ok());
    (is_one || has_one() || has_token(folder)).then_some(KEYS)
}

/// The same of a toolchain's own folder, which may be called what it likes and have a configuration of its own.
fn keeps_keys(folder: &Path) -> Option<&'static str> {
    const KEPT: &[&str] = &[".env", ".git-credentials", ".netrc", ".npmrc", ".pypirc", ".ssh"];
    let has_one = KEPT.iter().any(|name| folder.join(name).symlink_metadata().is_ok());
    (has_one || has_token(folder)).then_some(KEYS)
}

const KEYS: &str = "keys or tokens may lie in it";

/// The beginning of a file, where it is one.
fn beginning(file: &Path) -> Option<String> {
    use std::io::Read as _;
    let mut text = Vec::new();
    std::fs::File::open(file).ok()?.take(256 * 1024).read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// Whether a file of settings has a token among them.
fn sets_a_secret(file: &Path) -> bool {
    file.is_file() && beginning(file).is_some_and(|text| text.lines().any(is_set_in))
}

/// Whether a folder is a checkout whose remote is spoken to with a token.
fn has_token(folder: &Path) -> bool {
    let with_user = |line: &str| line.split_once("://").is_some_and(|(_, rest)| rest.contains('@'));
    let has_one = |text: &str| text.contains("extraheader") || text.lines().any(with_user);
    beginning(&folder.join(".git/config")).is_some_and(|text| has_one(&text.to_lowercase()))
}

/// Whether a program lies in a folder itself. More entries than these are not looked at: so many files are programs, or nobody's.
fn has_program(folder: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let Ok(entries) = folder.read_dir() else { return false };
    entries.take(10_000).flatten().any(|entry| {
        entry.path().metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    })
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

    fn program(file: &Path) {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::write(file, "").unwrap();
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// A search path is somebody's habit, and must not open their home.
    #[test]
    fn what_the_search_path_names_is_opened_only_where_nothing_else_lies_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let all = dir.path().canonicalize().unwrap();
        let home = all.join("users/mia");
        for folder in ["bin", ".config/tools", ".ssh", "work/.git", "work/bin", "empty", "folders/bin"] {
            std::fs::create_dir_all(home.join(folder)).unwrap();
        }
        for file in ["run", "bin/run", ".config/tools/run", ".ssh/run", "work/run", "work/bin/run"] {
            program(&home.join(file));
        }
        std::os::unix::fs::symlink(&home, all.join("link")).unwrap();
        std::fs::create_dir_all(home.join("clone/.git")).unwrap();
        program(&home.join("clone/run"));
        let (bare, token) =
            ("[remote \"origin\"]\nurl = https://example.com/a\n", "url = https://x:t0k3n@example.com/a\n");
        std::fs::write(home.join("clone/.git/config"), bare).unwrap();
        std::fs::write(home.join("work/.git/config"), token).unwrap();
        let names = ["", "bin", ".ssh", "work", "work/bin", "empty", "folders", ".config/tools", "clone"];
        let mut path: Vec<PathBuf> = names.iter().map(|name| home.join(name)).collect();
        path.extend([all.join("link"), all.join("users"), PathBuf::from("/"), PathBuf::from(".")]);
        let path = std::env::join_paths(path).unwrap();
        let environment = vec![
            (OsString::from("HOME"), home.clone().into_os_string()),
            (OsString::from("PATH"), path),
            (OsString::from("GOROOT"), home.clone().into_os_string()),
        ];
        let found = look(&environment, &Confine::default(), Path::new("/scratch"));
        assert_eq!(found.reads, ["bin", "work/bin", ".config/tools", "clone"].map(|name| home.join(name)));
        let told: Vec<(&Path, &str)> = found.left_out.iter().map(|(path, why)| (path.as_path(), *why)).collect();
        let (home_in_it, keys) = ("the home is in it", "keys or tokens may lie in it");
        let (ssh, work) = (home.join(".ssh"), home.join("work"));
        let (link, users) = (all.join("link"), all.join("users"));
        let expected = [
            (Path::new("/"), "it is the root folder"),
            (link.as_path(), home_in_it),
            (users.as_path(), home_in_it),
            (home.as_path(), home_in_it),
            (ssh.as_path(), keys),
            (work.as_path(), keys),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn a_toolchain_is_found_and_its_credentials_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        for folder in [".cargo/bin", ".cargo/registry", ".rustup", "tools/bin", "secret"] {
            std::fs::create_dir_all(home.join(folder)).unwrap();
        }
        std::fs::write(home.join(".cargo/credentials.toml"), "").unwrap();
        program(&home.join(".cargo/bin/cargo"));
        program(&home.join("tools/bin/tool"));
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

        // Settings are read, unless somebody keeps a token there.
        let settings = home.join(".cargo/config.toml");
        let plain = "[registry]\nglobal-credential-providers = [\"cargo:token\"]\n# token = \"a\"\n";
        std::fs::write(&settings, plain).unwrap();
        assert!(look(&environment, &confine, scratch).reads.contains(&settings));
        for token in ["[registries.own]\ntoken = \"abc\"\n", "[http]\nproxy = \"https://me:hunter2@proxy\"\n"] {
            std::fs::write(&settings, token).unwrap();
            let found = look(&environment, &confine, scratch);
            assert!(!found.reads.contains(&settings) && found.left_out == [(settings.clone(), KEYS)], "{found:?}");
        }
    }
}
