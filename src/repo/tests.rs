use std::collections::BTreeSet;

use proptest::prelude::*;

use super::testing::Scratch;
use super::*;
use crate::ids::Digest;

const FILE: u32 = 0o100_644;
const EXEC: u32 = 0o100_755;
const LINK: u32 = 0o120_000;

fn law() -> Digest {
    Digest::of("policy")
}

fn nobody() -> Written {
    Written::new()
}

/// The content digest of a change from its merge base.
fn digest(repo: &LocalRepo, base: &CommitId, head: &CommitId) -> Digest {
    let fork = repo.merge_base(base, head).unwrap().unwrap();
    content_digest(&repo.diff(&fork, head).unwrap(), &law(), &nobody())
}

fn lines(deltas: &[Delta]) -> Vec<String> {
    let side = |s: &Option<(Mode, BlobId)>| s.as_ref().map_or("-".into(), |(mode, _)| mode.to_string());
    deltas.iter().map(|d| format!("{} {} {}", side(&d.old), side(&d.new), d.path)).collect()
}

#[test]
fn a_rebase_that_changes_nothing_keeps_the_digest() {
    let repo = Scratch::new();
    let old = repo.text(&[], &[("a", "1"), ("b", "1")]);
    let change = repo.text(&[&old], &[("a", "2"), ("b", "1")]);
    let moved = repo.text(&[&old], &[("a", "1"), ("b", "9"), ("c", "new")]);
    let rebased = repo.text(&[&moved], &[("a", "2"), ("b", "9"), ("c", "new")]);
    let more = repo.text(&[&moved], &[("a", "2"), ("b", "8"), ("c", "new")]);
    let other_old = repo.text(&[&moved], &[("a", "5"), ("b", "9"), ("c", "new")]);
    let conflict = repo.text(&[&other_old], &[("a", "2"), ("b", "9"), ("c", "new")]);
    let reader = repo.reader();
    let own = digest(&reader, &old, &change);
    assert_eq!(own, digest(&reader, &moved, &rebased));
    assert_eq!(own, digest(&reader, &moved, &change), "the base moved, the change did not");
    assert_ne!(own, digest(&reader, &moved, &more), "one more path");
    assert_ne!(own, digest(&reader, &other_old, &conflict), "the same result over another old content");
    let deltas = reader.diff(&old, &change).unwrap();
    assert_ne!(own, content_digest(&deltas, &Digest::of("another policy"), &nobody()));
    assert_eq!(touched(&deltas), BTreeSet::from(["a".into()]));
}

#[test]
fn what_the_bot_wrote_over_counts_as_it_was() {
    let repo = Scratch::new();
    let old = repo.text(&[], &[("design.md", "base"), ("tests/t", "assert")]);
    let drawn = repo.text(&[&old], &[("design.md", "drawn"), ("tests/t", "assert")]);
    let mended = repo.text(&[&drawn], &[("design.md", "mended"), ("tests/t", "assert")]);
    let again = repo.text(&[&mended], &[("design.md", "mended again"), ("tests/t", "assert")]);
    let edited = repo.text(&[&mended], &[("design.md", "mended, and more"), ("tests/t", "assert")]);
    let elsewhere = repo.text(&[&drawn], &[("design.md", "drawn"), ("tests/t", "mended")]);
    let reader = repo.reader();
    let blob = |head: &CommitId| reader.blob(head, &"design.md".into()).unwrap().unwrap().id;
    let bot = Written::from([
        (("design.md".into(), blob(&mended)), Some(blob(&drawn))),
        (("design.md".into(), blob(&again)), Some(blob(&mended))),
    ]);
    let digest = |head: &CommitId| content_digest(&reader.diff(&old, head).unwrap(), &law(), &bot);
    assert_eq!((digest(&mended), digest(&again)), (digest(&drawn), digest(&drawn)));
    assert_ne!(digest(&drawn), digest(&old));
    for other in [&edited, &elsewhere] {
        assert_ne!(digest(&drawn), digest(other));
    }
    // Back and forth ends.
    let round = Written::from([
        (("design.md".into(), blob(&mended)), Some(blob(&drawn))),
        (("design.md".into(), blob(&drawn)), Some(blob(&mended))),
    ]);
    assert!(written_over(&round, &"design.md".into(), &blob(&drawn)).is_some());
}

#[test]
fn only_what_the_bot_wrote_where_it_wrote_it_is_left_out() {
    let repo = Scratch::new();
    let old = repo.text(&[], &[("a", "1"), ("tests/t", "assert")]);
    let change = repo.text(&[&old], &[("a", "2"), ("tests/t", "assert")]);
    let with_log = repo.text(&[&old], &[("a", "2"), ("tests/t", "assert"), ("log.md", "by the bot")]);
    let hidden = repo.text(&[&old], &[("a", "2"), ("tests/t", "assert"), ("log.md", "evil")]);
    let copied = repo.text(&[&old], &[("a", "2"), ("tests/t", "by the bot")]);
    let executable =
        repo.commit(&[&old], &[(b"a", FILE, b"2"), (b"tests/t", FILE, b"assert"), (b"log.md", EXEC, b"by the bot")]);
    let reader = repo.reader();
    let blob = reader.blob(&with_log, &"log.md".into()).unwrap().unwrap().id;
    let bot = Written::from([(("log.md".into(), blob), None)]);
    let digest = |head: &CommitId| content_digest(&reader.diff(&old, head).unwrap(), &law(), &bot);
    assert_eq!(digest(&change), digest(&with_log));
    for cheat in [&hidden, &copied, &executable] {
        assert_ne!(digest(&change), digest(cheat));
    }
    let gone = content_digest(&reader.diff(&with_log, &change).unwrap(), &law(), &bot);
    assert_ne!(gone, content_digest(&[], &law(), &bot), "deleting the bot's file is a change");
}

#[test]
fn a_diff_says_what_the_trees_say() {
    let repo = Scratch::new();
    let sub = "1".repeat(40);
    let old = repo.commit(
        &[],
        &[
            (b"gone/x", FILE, b"x"),
            (b"mode", FILE, b"x"),
            (b"old-name", FILE, b"the same content, long enough to be called a rename"),
            (b"same/deep/f", FILE, b"x"),
            (b"swap", FILE, b"target"),
            (b"tests/a", FILE, b"x"),
            (b"vendor", 0o160_000, sub.as_bytes()),
        ],
    );
    let new = repo.commit(
        &[&old],
        &[
            (b"gone", FILE, b"a file now"),
            (b"mode", EXEC, b"x"),
            (b"new-name", FILE, b"the same content, long enough to be called a rename"),
            (b"same/deep/f", FILE, b"x"),
            (b"swap", LINK, b"target"),
            (b"tests", LINK, b"elsewhere"),
            (b"vendor", 0o160_000, "2".repeat(40).as_bytes()),
        ],
    );
    let reader = repo.reader();
    let deltas = reader.diff(&old, &new).unwrap();
    assert_eq!(
        lines(&deltas),
        [
            "- 100644 gone",
            "100644 - gone/x",
            "100644 100755 mode",
            "- 100644 new-name",
            "100644 - old-name",
            "100644 120000 swap",
            "- 120000 tests",
            "100644 - tests/a",
            "160000 160000 vendor",
        ]
    );
    let mode = deltas.iter().find(|d| d.path == "mode".into()).unwrap();
    assert_eq!(mode.old.as_ref().unwrap().1, mode.new.as_ref().unwrap().1, "only the mode differs");
    assert_eq!(reader.diff(&new, &new).unwrap(), []);
    // Each of them counts.
    let all = content_digest(&deltas, &law(), &nobody());
    for i in 0..deltas.len() {
        let mut fewer = deltas.clone();
        fewer.remove(i);
        assert_ne!(all, content_digest(&fewer, &law(), &nobody()), "{:?}", deltas[i]);
    }
    let globs = crate::policy::globs(["tests/**", "tests", "same/**", "m*"]).unwrap();
    assert_eq!(same_blobs(&reader, &old, &new, &globs).unwrap(), ["mode".into(), "tests".into(), "tests/a".into()]);

    let entries = reader.tree(&new, Filter::All).unwrap();
    assert_eq!(entries.len(), 7);
    assert!(
        entries.iter().any(|e| e.path == "vendor".into() && e.mode.is_submodule() && e.blob.as_str() == "2".repeat(40))
    );
    assert!(matches!(reader.blob(&new, &"vendor".into()), Err(Error::NotAFile(_))));
    let link = reader.blob(&new, &"tests".into()).unwrap().unwrap();
    assert!(link.mode.is_symlink() && link.bytes == b"elsewhere");
    assert_eq!(reader.blob(&new, &"tests/a".into()).unwrap(), None, "a symlink is not followed");
    let paths = |filter: Filter<'_>| {
        reader.tree(&old, filter).unwrap().into_iter().map(|e| e.path.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(paths(Filter::Under(&"same/deep".into())), ["same/deep/f"]);
    assert_eq!(paths(Filter::Under(&"gone/x".into())), ["gone/x"]);
    assert_eq!(paths(Filter::Globs(&crate::policy::globs(["*/*"]).unwrap())), ["gone/x", "tests/a"]);
}

#[test]
fn paths_that_look_alike_stay_apart() {
    let repo = Scratch::new();
    let names: [&[u8]; 8] = [
        b"Makefile",
        b"makefile",
        "caf\u{e9}".as_bytes(),
        "cafe\u{301}".as_bytes(),
        b"caf\xe9",
        b"caf\xff",
        br#""caf\351""#,
        b"a\nb",
    ];
    let empty = repo.text(&[], &[]);
    let heads: Vec<CommitId> = names.iter().map(|name| repo.commit(&[&empty], &[(name, FILE, b"x")])).collect();
    let reader = repo.reader();
    let digests: BTreeSet<Digest> = heads.iter().map(|head| digest(&reader, &empty, head)).collect();
    assert_eq!(digests.len(), names.len());
    for (name, head) in names.iter().zip(&heads) {
        let entry = &reader.tree(head, Filter::All).unwrap()[0];
        assert_eq!(entry.path.as_bytes(), *name);
        assert_eq!(RepoPath::parse(&entry.path.to_string()).unwrap(), entry.path);
        assert_eq!(reader.blob(head, &entry.path).unwrap().unwrap().bytes, b"x");
        let json = serde_json::to_string(entry).unwrap();
        assert_eq!(&serde_json::from_str::<Entry>(&json).unwrap(), entry);
    }
    let all: Vec<_> = names.iter().map(|name| (*name, FILE, b"x".as_slice())).collect();
    let all = repo.commit(&[&empty], &all);
    let paths: Vec<RepoPath> = reader.diff(&empty, &all).unwrap().into_iter().map(|d| d.path).collect();
    assert_eq!(paths.len(), names.len());
    assert!(paths.is_sorted_by(|a, b| a.as_bytes() < b.as_bytes()));
}

#[test]
fn a_blob_is_read_up_to_its_cap() {
    let repo = Scratch::new();
    let at = repo.text(&[], &[("big", &"x".repeat(100_000)), ("a/small", "y")]);
    let reader = repo.reader().with_blob_cap(99_999);
    let error = reader.blob(&at, &"big".into()).unwrap_err();
    assert_eq!(error.to_string(), "big has 100000 bytes; at most 99999 are read");
    assert_eq!(repo.reader().with_blob_cap(100_000).blob(&at, &"big".into()).unwrap().unwrap().bytes.len(), 100_000);
    assert_eq!(reader.blob(&at, &"a/small".into()).unwrap().unwrap().bytes, b"y");
    for nothing in ["a", "a/", "/a/small", "a//small", "b", "", "a/small/x", "../a", "."] {
        assert_eq!(reader.blob(&at, &nothing.into()).unwrap(), None, "{nothing}");
    }
    let unknown = CommitId::new("3".repeat(40)).unwrap();
    assert!(matches!(reader.blob(&unknown, &"a".into()), Err(Error::Missing(_))));
    assert!(reader.blob(&CommitId::new("3".repeat(64)).unwrap(), &"a".into()).is_err());
}

#[test]
fn hostile_trees_are_malformed_or_too_many() {
    let repo = Scratch::new();
    let (x, y) = (repo.blob(b"x"), repo.blob(b"y"));
    let fine = repo.text(&[], &[("a", "x")]);
    let twice = repo.commit_tree(&[&fine], repo.raw_tree(&[(FILE, b"a", x), (FILE, b"a", y)]));
    let slash = repo.commit_tree(&[&fine], repo.raw_tree(&[(FILE, b"a/b", x)]));
    let dots = repo.commit_tree(&[&fine], repo.raw_tree(&[(FILE, b"..", x)]));
    let reader = repo.reader();
    for (bad, name) in [(twice, "twice"), (slash, "slash"), (dots, "dots")] {
        assert!(reader.diff(&fine, &bad).is_err(), "{name}");
        assert!(reader.tree(&bad, Filter::All).is_err(), "{name}");
        assert!(reader.blob(&bad, &"a".into()).is_err(), "{name}");
    }
    // Ten trees, each holding the one before ten times: ten thousand million files in a kilobyte.
    let mut tree = repo.raw_tree(&[(FILE, b"f", x)]);
    for _ in 0..10 {
        let names: Vec<[u8; 1]> = (b'0'..=b'9').map(|b| [b]).collect();
        tree = repo.raw_tree(&names.iter().map(|n| (0o040_000, n.as_slice(), tree)).collect::<Vec<_>>());
    }
    let bomb = repo.commit_tree(&[&fine], tree);
    assert!(matches!(reader.tree(&bomb, Filter::All), Err(Error::TooMany(_))));
    assert!(matches!(reader.diff(&fine, &bomb), Err(Error::TooMany(_))));
    // A legacy mode is another mode, not the same.
    let legacy = repo.commit_tree(&[&fine], repo.raw_tree(&[(0o100_664, b"a", x)]));
    assert_eq!(lines(&reader.diff(&fine, &legacy).unwrap()), ["100644 100664 a"]);
}

#[test]
fn history_is_read() {
    let repo = Scratch::new();
    let root = repo.text(&[], &[("a", "1")]);
    let left = repo.text(&[&root], &[("a", "2")]);
    let right = repo.text(&[&root], &[("a", "3")]);
    let merge = repo.text(&[&left, &right], &[("a", "4")]);
    let alone = repo.text(&[], &[("z", "1")]);
    let reader = repo.reader();
    assert_eq!(reader.merge_base(&left, &right).unwrap(), Some(root.clone()));
    assert_eq!(reader.merge_base(&left, &merge).unwrap(), Some(left.clone()));
    assert_eq!(reader.merge_base(&left, &alone).unwrap(), None);
    assert!(reader.is_ancestor(&root, &merge).unwrap() && reader.is_ancestor(&root, &root).unwrap());
    assert!(!reader.is_ancestor(&merge, &root).unwrap() && !reader.is_ancestor(&left, &right).unwrap());
    let info = reader.commit(&merge).unwrap();
    assert_eq!(info.parents, [left, right]);
    assert!(info.message.contains("Phasegate-Claim: build"));
    assert_eq!((info.author.name.as_str(), info.committer.email.as_str()), ("A", "a@example.com"));
}

fn deltas() -> impl Strategy<Value = Vec<Delta>> {
    let side = || proptest::option::of((prop_oneof![Just(FILE), Just(EXEC), Just(LINK)], 0u8..3));
    let delta = ("[ab/]{1,3}", side(), side());
    proptest::collection::vec(delta, 0..4).prop_map(|list| {
        let blob = |n: u8| BlobId::new(format!("{n:040x}")).unwrap();
        let side = |s: Option<(u32, u8)>| s.map(|(mode, n)| (Mode::new(mode), blob(n)));
        let deltas: std::collections::BTreeMap<String, _> = list.into_iter().map(|(p, o, n)| (p, (o, n))).collect();
        let delta =
            |(path, (old, new)): (String, (_, _))| Delta { path: path.as_str().into(), old: side(old), new: side(new) };
        deltas.into_iter().map(delta).collect()
    })
}

proptest! {
    #[test]
    fn the_digest_changes_exactly_when_the_set_of_deltas_does(a in deltas(), b in deltas()) {
        let of = |d: &[Delta]| content_digest(d, &law(), &nobody());
        prop_assert_eq!(a == b, of(&a) == of(&b));
        let mut turned = a.clone();
        turned.reverse();
        prop_assert_eq!(of(&a), of(&turned));
    }
}

#[test]
fn a_patch_is_known_by_its_lines_wherever_they_stand() {
    let repo = Scratch::new();
    let body: String = (1..30).map(|n| format!("line {n}\n")).collect();
    let edited = body.replace("line 15\n", "line fifteen\n");
    let base = repo.text(&[], &[("a", &body)]);
    let change = repo.text(&[&base], &[("a", &edited)]);
    let step = repo.text(&[&base], &[("a", &body.replace("line 15\n", "line\n"))]);
    let in_two = repo.text(&[&step], &[("a", &edited)]);
    let moved = repo.text(&[&base], &[("a", &format!("new\n{body}")), ("b", "2")]);
    let rebased = repo.text(&[&moved], &[("a", &format!("new\n{edited}")), ("b", "2")]);
    let other = repo.text(&[&base], &[("a", &body.replace("line 15\n", "line 15!\n"))]);
    let spaced = repo.text(&[&base], &[("a", &edited.replace("line fifteen\n", "line  fifteen \n\n"))]);
    let elsewhere = repo.text(&[&base], &[("a", &body), ("b", "line fifteen\n")]);
    let reader = repo.reader();
    let own = reader.patch_id(&base, &change).unwrap();
    assert!(own.is_some());
    assert_eq!(own, reader.patch_id(&base, &in_two).unwrap());
    assert_eq!(own, reader.patch_id(&moved, &rebased).unwrap());
    assert_ne!(own, reader.patch_id(&base, &other).unwrap());
    assert_eq!(own, reader.patch_id(&base, &spaced).unwrap(), "white space is no other work");
    assert_ne!(own, reader.patch_id(&base, &elsewhere).unwrap());
    assert_eq!(reader.patch_id(&base, &base).unwrap(), None, "nothing is no patch");
    // Git's own patch id says of two binary files only that they differ.
    let picture = |bytes: &[u8]| repo.commit(&[&base], &[(b"a", FILE, body.as_bytes()), (b"p.png", FILE, bytes)]);
    let (one, two) = (picture(b"\0one"), picture(b"\0two"));
    assert_ne!(reader.patch_id(&base, &one).unwrap(), reader.patch_id(&base, &two).unwrap());
    assert_eq!(reader.patch_id(&base, &one).unwrap(), reader.patch_id(&base, &picture(b"\0one")).unwrap());
}

/// Grafts are nobody's commit: they would prove whatever the folder's user wants of merge bases.
#[test]
fn a_folder_that_tells_another_history_is_not_read() {
    let repo = Scratch::new();
    let old = repo.text(&[], &[("a", "1")]);
    let base = repo.text(&[&old], &[("a", "2")]);
    let grafts = repo.path().join("info/grafts");
    std::fs::create_dir_all(grafts.parent().unwrap()).unwrap();
    std::fs::write(&grafts, "").unwrap();
    assert!(LocalRepo::open(repo.path()).is_ok());
    std::fs::write(&grafts, format!("{old} {base}\n")).unwrap();
    let refused = [LocalRepo::open(repo.path()), LocalRepo::around(repo.path())].map(|opened| opened.err().unwrap());
    assert!(refused.iter().all(|error| matches!(error, Error::Grafted)), "{refused:?}");
    assert!(refused[0].to_string().contains("info/grafts"));
}
