//! How the action gets its binary, from the release's checksums to the file that is run.

use std::path::{Path, PathBuf};
use std::process::Command;

const PLATFORMS: [&str; 4] = ["linux-x86_64", "linux-aarch64", "macos-aarch64", "macos-x86_64"];
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A copy of the action's commit, and a place that releases are had from.
struct Released {
    folder: tempfile::TempDir,
}

impl Released {
    /// The source commit, before any release.
    fn source() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        std::fs::create_dir_all(folder.path().join(".github/action")).unwrap();
        for name in ["find.sh", "publish.sh", "checksums.txt"] {
            let name = format!(".github/action/{name}");
            std::fs::copy(root.join(&name), folder.path().join(&name)).unwrap();
        }
        std::fs::copy(root.join("Cargo.toml"), folder.path().join("Cargo.toml")).unwrap();
        Self { folder }
    }

    /// The commit that a release tags: with the sums of its binaries.
    fn tagged() -> Self {
        let this = Self::source();
        let out = this.releases().join(format!("v{VERSION}"));
        std::fs::create_dir_all(&out).unwrap();
        for platform in PLATFORMS {
            std::fs::write(out.join(format!("phasegate-{platform}")), format!("#!/bin/sh\necho {platform}\n")).unwrap();
        }
        let (rc, said) = this.publishes(VERSION, &out);
        assert!(rc == 0, "{said}");
        this
    }

    fn releases(&self) -> PathBuf {
        self.folder.path().join("releases")
    }

    fn publishes(&self, version: &str, out: &Path) -> (i32, String) {
        let mut command = Command::new("bash");
        command.current_dir(self.folder.path()).args([".github/action/publish.sh", version]).arg(out);
        ended(command.arg("--only-checksums"))
    }

    /// What the script says, and the binary that it found.
    fn finds(&self, given: Option<&str>) -> (i32, String, Option<PathBuf>) {
        let output = self.folder.path().join("output");
        std::fs::write(&output, "").unwrap();
        let mut command = Command::new("bash");
        command.arg(self.folder.path().join(".github/action/find.sh")).env("GITHUB_OUTPUT", &output);
        command.env("RUNNER_TEMP", self.folder.path()).env_remove("PHASEGATE_BIN");
        command.env("PHASEGATE_RELEASES", format!("file://{}", self.releases().display()));
        if let Some(given) = given {
            command.env("PHASEGATE_BIN", given);
        }
        let (rc, said) = ended(&mut command);
        let text = std::fs::read_to_string(&output).unwrap();
        let binary = text.lines().find_map(|line| line.strip_prefix("binary=")).map(PathBuf::from);
        (rc, said, binary)
    }
}

fn ended(command: &mut Command) -> (i32, String) {
    let output = command.output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code().unwrap_or(-1), said)
}

#[test]
fn a_releases_binary_is_taken_when_it_is_what_the_tagged_commit_says() {
    let released = Released::tagged();
    let (rc, said, binary) = released.finds(None);
    assert_eq!((rc, said.as_str()), (0, ""));
    let (rc, said) = ended(&mut Command::new(binary.unwrap()));
    assert!(rc == 0 && PLATFORMS.contains(&said.trim()), "{said}");
}

#[test]
fn what_is_not_the_release_is_not_run_and_not_kept() {
    let released = Released::tagged();
    let folder = released.releases().join(format!("v{VERSION}"));
    for platform in PLATFORMS {
        std::fs::write(folder.join(format!("phasegate-{platform}")), "#!/bin/sh\necho stolen\n").unwrap();
    }
    let (rc, said, binary) = released.finds(None);
    assert_eq!((rc, binary), (2, None));
    assert!(said.starts_with("::error title=Phasegate::") && said.contains("It was not run"), "{said}");
    let left = std::fs::read_dir(released.folder.path()).unwrap().filter_map(Result::ok);
    let left: Vec<_> = left.filter(|one| one.path().join("phasegate").is_file()).collect();
    assert!(left.is_empty(), "{left:?}");
    std::fs::remove_dir_all(released.releases()).unwrap();
    let (rc, said, _) = released.finds(None);
    assert!(rc == 2 && said.contains("can't be had from"), "{said}");
}

#[test]
fn a_commit_that_is_no_release_says_so() {
    let (rc, said, binary) = Released::source().finds(None);
    assert_eq!((rc, binary), (2, None));
    assert!(said.contains("is no release") && said.contains("PHASEGATE_BIN"), "{said}");
}

#[test]
fn two_sums_for_one_platform_and_a_runner_that_is_none_are_told_as_what_they_are() {
    let released = Released::tagged();
    let sums = released.folder.path().join(".github/action/checksums.txt");
    let text = std::fs::read_to_string(&sums).unwrap();
    let other = text.replace(&format!(" v{VERSION}/"), " v9.9.9/");
    std::fs::write(&sums, format!("{text}{other}")).unwrap();
    let (rc, said, binary) = released.finds(None);
    assert_eq!((rc, binary), (2, None));
    assert!(said.contains("more than one checksum") && !said.contains("is no release"), "{said}");
    let mut command = Command::new("bash");
    command.arg(released.folder.path().join(".github/action/find.sh")).env_remove("GITHUB_OUTPUT");
    let (rc, said) = ended(command.env("PHASEGATE_BIN", env!("CARGO_BIN_EXE_phasegate")));
    assert!(rc == 2 && said.starts_with("::error title=Phasegate::GITHUB_OUTPUT is not set"), "{said}");
}

#[test]
fn a_binary_of_ones_own_is_taken_as_it_is_or_refused_by_its_name() {
    let source = Released::source();
    let own = env!("CARGO_BIN_EXE_phasegate");
    assert_eq!(source.finds(Some(own)), (0, String::new(), Some(PathBuf::from(own))));
    let (rc, said, _) = source.finds(Some("/nowhere/phasegate"));
    assert!(rc == 2 && said.contains("/nowhere/phasegate"), "{said}");
}

#[test]
fn a_binary_and_a_runners_folder_may_have_odd_names() {
    let source = Released::source();
    let odd = source.folder.path().join("it's a $HOME; `x`");
    std::fs::create_dir(&odd).unwrap();
    let own = odd.join("-phase gate");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_phasegate"), &own).unwrap();
    assert_eq!(source.finds(Some(own.to_str().unwrap())), (0, String::new(), Some(own)));
}

/// The first step of the action, which no other comes before.
#[test]
fn inputs_that_do_not_fit_are_told_before_anything_is_fetched() {
    let action: serde_json::Value =
        serde_yaml::from_str(&std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/action.yml")).unwrap())
            .unwrap();
    let first = &action["runs"]["steps"][0];
    let when = first["if"].as_str().unwrap();
    assert!(when.contains("inputs.command == 'run' && inputs.gate == ''"), "{when}");
    let cases = [
        ("run", "The input `gate` is missing"),
        ("post", "Is the variable PHASEGATE_URL set?"),
        ("serve", "`action`, `run`, `post` or `audit`, nothing else"),
    ];
    for (command, says) in cases {
        let mut script = Command::new("bash");
        script.args(["-e", "-c", first["run"].as_str().unwrap()]).env("COMMAND", command);
        let (rc, said) = ended(&mut script);
        assert!(rc == 2 && said.starts_with("::error title=Phasegate::") && said.contains(says), "{said}");
    }
}

#[test]
fn a_release_is_not_published_twice_nor_under_another_version_nor_in_part() {
    let released = Released::tagged();
    let out = released.releases().join(format!("v{VERSION}"));
    assert!(released.publishes(VERSION, &out).1.contains("has sums already"));
    let source = Released::source();
    assert!(source.publishes("9.9.9", &out).1.contains("another version"));
    assert!(source.publishes("1.0;rm", &out).1.contains("is no version"));
    let (rc, said) = source.publishes(VERSION, source.folder.path());
    assert!(rc == 2 && said.contains("is missing"), "{said}");
}

/// GitHub's command line, as far as the release needs it: it writes down what it is asked, and knows one tag or none.
const GH: &str = r#"#!/bin/sh
echo "$*" >>"$GH_LOG"
case "$*" in
    *git/ref/tags/*) [ -n "$GH_TAGGED" ] ;;
    *"/releases --paginate"*) echo 17 ;;
    *) echo 0123456789012345678901234567890123456789 ;;
esac
"#;

/// Whoever names the tag is to find the binaries there.
#[test]
fn the_binaries_are_there_before_the_tag_is() {
    let source = Released::source();
    let folder = source.folder.path();
    for platform in PLATFORMS {
        std::fs::write(folder.join(format!("phasegate-{platform}")), platform).unwrap();
    }
    std::fs::create_dir(folder.join("bin")).unwrap();
    let gh = folder.join("bin/gh");
    std::fs::write(&gh, GH).unwrap();
    assert!(Command::new("chmod").arg("+x").arg(&gh).status().unwrap().success());
    let git = |args: &[&str]| assert!(Command::new("git").current_dir(folder).args(args).status().unwrap().success());
    git(&["init", "-q"]);
    git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "source"]);
    let publishes = |tagged: &str| {
        let path = format!("{}:{}", folder.join("bin").display(), std::env::var("PATH").unwrap());
        let mut command = Command::new("bash");
        command.current_dir(folder).args([".github/action/publish.sh", VERSION, "."]).env("PATH", path);
        command.env("GITHUB_REPOSITORY", "o/r").env("GH_LOG", folder.join("log")).env("GH_TAGGED", tagged);
        let (rc, said) = ended(&mut command);
        let sums = folder.join(".github/action/checksums.txt");
        std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/action/checksums.txt"), sums).unwrap();
        (rc, said, std::fs::read_to_string(folder.join("log")).unwrap())
    };
    let (rc, said, asked) = publishes("yes");
    assert!(rc == 2 && said.contains("is there already") && asked.lines().count() == 1, "{said}{asked}");
    let (rc, said, asked) = publishes("");
    assert_eq!(rc, 0, "{said}");
    let at =
        |what: &str| asked.lines().position(|line| line.contains(what)).unwrap_or_else(|| panic!("{what}: {asked}"));
    assert!(at("releases/17") < at("release create") && at("release create") < at("ref=refs/tags/v"), "{asked}");
    assert!(at("ref=refs/tags/v") < at("release edit") && asked.contains("--draft=false"), "{asked}");
}

/// Root alone can put up all walls, so the commands are started by root where nobody has to be asked for a password.
#[cfg(target_os = "linux")]
#[test]
fn a_gate_is_run_by_root_where_that_can_be_had() {
    use std::os::unix::fs::PermissionsExt as _;
    // Not everybody may enter the folder of the tests.
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let at = |name: &str| folder.path().join(name);
    let put = |name: &str, text: &str| {
        std::fs::write(at(name), format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(at(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    for name in ["", "bin", "temp"] {
        std::fs::create_dir_all(at(name)).unwrap();
        std::fs::set_permissions(at(name), std::fs::Permissions::from_mode(0o777)).unwrap();
    }
    // Not everybody may read the folder of the sources.
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/action/run.sh");
    std::fs::copy(script, at("run.sh")).unwrap();
    put("phasegate", "echo \"ran $* with $PATH as $BY\"; exit 3");
    let run = |gives: &str, out: &str| {
        put("bin/sudo", gives);
        let root = rustix::process::geteuid().is_root();
        let mut command = Command::new(if root { "setpriv" } else { "bash" });
        if root {
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "bash"]);
        }
        command.arg(at("run.sh")).env_clear();
        command.env("PATH", format!("{}:/usr/bin:/bin", at("bin").display())).env("HOME", "/home/nobody");
        command.env("PHASEGATE", at("phasegate")).env("RUNNER_TEMP", at("temp")).env("GATE", "verify").env("OUT", out);
        ended(&mut command)
    };
    let path = format!("{}:/usr/bin:/bin", at("bin").display());
    let place = at("temp").join("phasegate-verify");
    let said = |by: &str, place: &Path| format!("ran run --out {} -- verify with {path} as {by}\n", place.display());
    let grants =
        "shift; [ \"$1\" = --preserve-env ] && { shift; export BY=root PATH=/usr/bin:/bin:/secure; }; exec \"$@\"";
    assert_eq!(run(grants, ""), (3, said("root", &place)));
    assert!(place.is_dir(), "the runner makes it, so it can clear it away");
    assert_eq!(run("echo 'a password is required' >&2; exit 1", ""), (3, said("", &place)));
    let other = at("temp").join("other place");
    assert_eq!(run(grants, other.to_str().unwrap()), (3, said("root", &other)));
}
