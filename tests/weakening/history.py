#!/usr/bin/env python3
"""How often `phasegate guard weaker` is wrong, measured on published history.

Each step from one published version of a package to the next is taken as one change: a repository with two commits, the
first with the older archive and the second with the newer. `packages.json` pins the packages and their versions, and the
digest of each archive where the registry says one.

    history.py pin                     choose versions anew, and write packages.json
    history.py fetch                   fetch and unpack the archives; nothing of them is run
    history.py measure --phasegate BIN write measured.json: each step, and what was found in it
    history.py sample --of 40          draw findings, one a file, for whoever reads them: sample.json
    history.py tables                  print the tables of docs/weakening.md

Archives and repositories are kept in --work (default: a folder in the system's temporary one). Where they come from is what
pip, npm and cargo are set up for here.
"""

import argparse
import functools
import hashlib
import html
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.parse
import urllib.request
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGES = HERE / "packages.json"
MEASURED = HERE / "measured.json"
SAMPLE = HERE / "sample.json"
SEED = 20261119
STEPS = 5

PYPI = """
    anyio arrow attrs babel beautifulsoup4 black bleach boltons cachetools cattrs click construct flask h11 html5lib httpcore
    isort itemadapter itsdangerous jinja2 jsonschema markdown markupsafe marshmallow mistune more-itertools networkx
    packaging paramiko parsel parso pendulum pluggy pydantic pyjwt pyparsing pytest python-dateutil python-dotenv pyyaml
    requests schema simplejson sortedcontainers sqlparse starlette structlog tabulate tomlkit toolz tornado typer urllib3
    uvicorn voluptuous w3lib werkzeug wtforms
""".split()
NPM = """
    tape qs resolve minimist object-inspect json-stable-stringify deep-equal call-bind is-callable string.prototype.trim
    through2 glob-parent mkdirp
""".split()
CRATES = """
    bitflags bytes either fastrand hashbrown httparse indexmap itertools memchr once_cell percent-encoding regex-syntax semver
    serde_json smallvec tinyvec toml_edit unicode-width url uuid
""".split()


def say(*words):
    print(*words, file=sys.stderr, flush=True)


# ---------------------------------------------------------------- where archives come from


def version_key(version):
    return [int(part) for part in version.split(".")]


def is_final(version):
    return re.fullmatch(r"\d+(\.\d+)*", version) is not None


@functools.cache
def simple_index():
    """The index that pip is set up for, by pip itself."""
    set_up = subprocess.run(["pip", "config", "get", "global.index-url"], capture_output=True, text=True)
    if os.environ.get("PIP_INDEX_URL"):
        return os.environ["PIP_INDEX_URL"].rstrip("/")
    if set_up.returncode == 0 and set_up.stdout.strip():
        return set_up.stdout.strip().rstrip("/")
    from pip._internal.models.index import PyPI

    return PyPI.simple_url.rstrip("/")


@functools.cache
def pypi_archives(name):
    """The source archives of a package: version -> (address, sha256)."""
    page = f"{simple_index()}/{name}/"
    with urllib.request.urlopen(page, timeout=120) as answer:
        text = answer.read().decode()
    found = {}
    stem = re.sub(r"[-_.]+", "[-_.]+", re.escape(name).replace("\\-", "-"))
    for address, shown in re.findall(r'<a[^>]*href="([^"]+)"[^>]*>([^<]+)</a>', text):
        match = re.fullmatch(rf"{stem}-(.+)\.tar\.gz", shown.strip(), re.IGNORECASE)
        if match and is_final(match[1]):
            address, _, digest = html.unescape(address).partition("#")
            found[match[1]] = (urllib.parse.urljoin(page, address), digest.removeprefix("sha256="))
    return found


def npm_versions(name):
    told = subprocess.run(["npm", "view", name, "versions", "--json"], capture_output=True, text=True, check=True)
    return [version for version in json.loads(told.stdout) if is_final(version)]


def cargo_home():
    return Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))


def cargo_project(folder, name, version):
    (folder / "src").mkdir(parents=True, exist_ok=True)
    (folder / "src/lib.rs").write_text("")
    (folder / "Cargo.toml").write_text(
        f'[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n\n[dependencies]\n'
        f'{name} = {{ version = "{version}", default-features = false }}\n'
    )


def crate_versions(name):
    """Out of what cargo keeps of its index, once it has looked."""
    with tempfile.TemporaryDirectory() as folder:
        cargo_project(Path(folder), name, "*")
        subprocess.run(["cargo", "generate-lockfile"], cwd=folder, check=True, capture_output=True)
    parts = [str(len(name)), name] if len(name) < 3 else ["3", name[0], name] if len(name) == 3 else [name[:2], name[2:4], name]
    versions = set()
    for cache in (cargo_home() / "registry/index").glob("*/.cache"):
        kept = cache.joinpath(*parts)
        if kept.is_file():
            for line in kept.read_bytes().split(b"\0"):
                if line.startswith(b"{"):
                    entry = json.loads(line)
                    if is_final(entry["vers"]) and not entry.get("yanked"):
                        versions.add(entry["vers"])
    return sorted(versions, key=version_key)


def pin(registries):
    pinned = json.loads(PACKAGES.read_text()) if PACKAGES.is_file() else []
    pinned = [package for package in pinned if package["registry"] not in registries]
    for registry, names in [("pypi", PYPI), ("npm", NPM), ("crates", CRATES)]:
        for name in names if registry in registries else []:
            try:
                if registry == "pypi":
                    found = pypi_archives(name)
                    versions = sorted(found, key=version_key)[-STEPS - 1 :]
                    versions = {version: found[version][1] for version in versions}
                else:
                    found = npm_versions(name) if registry == "npm" else crate_versions(name)
                    versions = {version: "" for version in sorted(found, key=version_key)[-STEPS - 1 :]}
            except Exception as problem:  # One that is not there is left out, and that is said.
                say(registry, name, "left out:", problem)
                continue
            pinned.append({"registry": registry, "name": name, "versions": versions})
            say(registry, name, " ".join(versions))
    PACKAGES.write_text(json.dumps(pinned, indent=1) + "\n")


# ---------------------------------------------------------------- archives


def fetched(work, registry, name, version, digest):
    kept = work / "archives" / registry / f"{name.replace('/', '_')}-{version}.tar.gz"
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        if registry == "pypi":
            address = pypi_archives(name)[version][0]
            with urllib.request.urlopen(address, timeout=300) as answer:
                content = answer.read()
        elif registry == "npm":
            with tempfile.TemporaryDirectory() as folder:
                packed = ["npm", "pack", "--silent", "--ignore-scripts", f"{name}@{version}"]
                subprocess.run(packed, cwd=folder, check=True, capture_output=True)
                content = next(Path(folder).glob("*.tgz")).read_bytes()
        else:
            with tempfile.TemporaryDirectory() as folder:
                cargo_project(Path(folder), name, f"={version}")
                subprocess.run(["cargo", "fetch"], cwd=folder, check=True, capture_output=True)
            content = next((cargo_home() / "registry/cache").glob(f"*/{name}-{version}.crate")).read_bytes()
        if digest and hashlib.sha256(content).hexdigest() != digest:
            raise ValueError(f"{name} {version} is not the archive that was pinned")
        kept.write_bytes(content)
    return kept


def unpacked(archive, into):
    """All plain files of an archive, without its topmost folder; nothing outside of `into`, no links."""
    shutil.rmtree(into, ignore_errors=True)
    with tarfile.open(archive) as files:
        for member in files:
            parts = Path(member.name).parts[1:]
            if not member.isfile() or not parts or ".." in parts or ".git" in parts:
                continue
            path = into.joinpath(*parts)
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                path.write_bytes(files.extractfile(member).read())


def fetch(work):
    for package in json.loads(PACKAGES.read_text()):
        for version, digest in package["versions"].items():
            fetched(work, package["registry"], package["name"], version, digest)
        say(package["registry"], package["name"])


# ---------------------------------------------------------------- measuring


def git(folder, *words):
    settings = ["-c", "user.name=History", "-c", "user.email=history@example.invalid", "-c", "core.autocrlf=false"]
    return subprocess.run(["git", *settings, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def repository(work, package, older, newer):
    """A repository whose main is the older version, and whose change is the newer."""
    folder = work / "repositories" / f"{package['registry']}-{package['name'].replace('/', '_')}-{newer}"
    if (folder / ".done").is_file():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    for branch, version in [("main", older), ("change", newer)]:
        archive = fetched(work, package["registry"], package["name"], version, package["versions"][version])
        with tempfile.TemporaryDirectory(dir=work) as place:
            tree = Path(place) / "tree"
            unpacked(archive, tree)
            # The archive's own settings of git, and of this tool, are no part of what is measured.
            for name in [".gitattributes", ".gitignore", ".gitmodules"]:
                for path in tree.rglob(name):
                    path.unlink()
            if branch == "change":
                git(folder, "branch", "change", "main")
                git(folder, "symbolic-ref", "HEAD", "refs/heads/change")
            there = [f"--git-dir={folder}/.git", f"--work-tree={tree}"]
            git(tree, *there, "add", "--all", "--force", ".")
            git(tree, *there, "commit", "--quiet", "--allow-empty", "-m", f"{package['name']} {version}")
    (folder / ".done").touch()
    return folder


def carries_tests(folder, branch, registry):
    """Some archives carry their tests in one version and not in the next: that is no change of tests. Rust has them inside."""
    names = git(folder, "ls-tree", "-r", "--name-only", branch).splitlines()
    return registry == "crates" or any(re.search(r"(^|/)(tests?|__tests__)/|(^|/)test_|[._-]test\.", name) for name in names)


def measure(work, phasegate, only):
    work.mkdir(parents=True, exist_ok=True)
    steps = []
    for package in json.loads(PACKAGES.read_text()):
        if only and package["name"] not in only:
            continue
        versions = list(package["versions"])
        for older, newer in zip(versions, versions[1:]):
            folder = repository(work, package, older, newer)
            if not all(carries_tests(folder, branch, package["registry"]) for branch in ["main", "change"]):
                say(package["name"], newer, "left out: one of the two archives has no tests")
                continue
            told = subprocess.run(
                [phasegate, "guard", "weaker", "--base", "main", "--head", "change", "--json"],
                cwd=folder,
                capture_output=True,
                text=True,
            )
            if not told.stdout:
                raise RuntimeError(f"{package['name']} {newer}: {told.stderr}")
            report = json.loads(told.stdout)
            steps.append(
                {
                    "registry": package["registry"],
                    "name": package["name"],
                    "from": older,
                    "to": newer,
                    "files": report["files"],
                    "edited": report["edited"],
                    "tests": report["tests"],
                    "unread": len(report["unread"]),
                    "edits": len(report["edits"]),
                    "findings": [
                        {key: finding[key] for key in ["path", "line", "kind", "says"]} for finding in report["findings"]
                    ],
                }
            )
        say(package["registry"], package["name"], sum(len(step["findings"]) for step in steps if step["name"] == package["name"]))
    if only:
        print(json.dumps(steps, indent=1))
    else:
        MEASURED.write_text("[\n" + ",\n".join(json.dumps(step) for step in steps) + "\n]\n")


def sample(count):
    """At most one finding a file, so that one large file does not speak for all; the seed is fixed."""
    dice = random.Random(SEED)
    by_file = {}
    for step in json.loads(MEASURED.read_text()):
        for finding in step["findings"]:
            at = (step["registry"], step["name"], step["from"], step["to"], finding["path"])
            by_file.setdefault(at, []).append(finding)
    drawn = []
    for at in dice.sample(sorted(by_file), min(count, len(by_file))):
        finding = dice.choice(by_file[at])
        place = dict(zip(["registry", "name", "from", "to"], at))
        drawn.append({**place, **finding, "is": None, "because": ""})
    SAMPLE.write_text("[\n" + ",\n".join(json.dumps(one) for one in drawn) + "\n]\n")


def tables():
    steps = json.loads(MEASURED.read_text())
    print("| | packages | steps | changed test files | of them edited | tests in them that changed | files called weaker | findings | unread |")
    print("|---|---|---|---|---|---|---|---|---|")
    rows = [("PyPI", "pypi"), ("npm", "npm"), ("crates", "crates"), ("all", None)]
    for shown, registry in rows:
        of = [step for step in steps if registry in (None, step["registry"])]
        called = sum(len({finding["path"] for finding in step["findings"]}) for step in of)
        files, edited = sum(step["files"] for step in of), sum(step["edited"] for step in of)
        share = lambda part, whole: f"{100 * part / whole:.1f} %" if whole else "–"
        print(
            f"| {shown} | {len({step['name'] for step in of})} | {len(of)} | {files:,} | {edited:,} | {sum(step['tests'] for step in of):,} "
            f"| {called} ({share(called, files)}) | {sum(len(step['findings']) for step in of)} | {sum(step['unread'] for step in of)} |"
        )
    print()
    print("| steps with changed test files | in which nothing that was there was edited |\n|---|---|")
    tested = [step for step in steps if step["files"]]
    print(f"| {len(tested)} | {sum(not step['edits'] for step in tested)} |")
    print()
    kinds = Counter((finding["kind"], step["registry"]) for step in steps for finding in step["findings"])
    print("| kind | PyPI | npm | crates |\n|---|---|---|---|")
    for kind in sorted({kind for kind, _ in kinds}, key=lambda kind: -sum(kinds[kind, of] for _, of in rows[:3])):
        print(f"| `{kind}` | {kinds[kind, 'pypi']} | {kinds[kind, 'npm']} | {kinds[kind, 'crates']} |")
    if SAMPLE.is_file():
        print()
        drawn = json.loads(SAMPLE.read_text())
        judged = Counter((one["kind"], one["is"]) for one in drawn)
        print(f"| kind, of {len(drawn)} drawn | right | arguable | wrong |\n|---|---|---|---|")
        for kind in sorted({one["kind"] for one in drawn}):
            print(f"| `{kind}` | {judged[kind, 'right']} | {judged[kind, 'arguable']} | {judged[kind, 'wrong']} |")
        total = Counter(one["is"] for one in drawn)
        print(f"| all | {total['right']} | {total['arguable']} | {total['wrong']} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["pin", "fetch", "measure", "sample", "tables"])
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "phasegate-history")
    parser.add_argument("--phasegate", default="phasegate")
    parser.add_argument("--registry", action="append", choices=["pypi", "npm", "crates"], help="of which to choose [default: all]")
    parser.add_argument("--of", type=int, default=40)
    parser.add_argument("--only", action="append", default=[], help="print what is found in this package, and write nothing")
    given = parser.parse_args()
    if given.what == "pin":
        pin(given.registry or ["pypi", "npm", "crates"])
    elif given.what == "fetch":
        fetch(given.work)
    elif given.what == "measure":
        measure(given.work, given.phasegate, set(given.only))
    elif given.what == "sample":
        sample(given.of)
    else:
        tables()


if __name__ == "__main__":
    main()
