use super::*;
use crate::repo::testing::Scratch;

const STATE_MD: &str = include_str!("../../../../templates/task/STATE.md");

/// A file of a scratch repository.
fn file(path: &str, text: &str) -> (Vec<u8>, u32, Vec<u8>) {
    (path.as_bytes().to_vec(), 0o100_644, text.as_bytes().to_vec())
}

fn commit(scratch: &Scratch, parents: &[&CommitId], files: &[(Vec<u8>, u32, Vec<u8>)]) -> CommitId {
    let files: Vec<_> = files.iter().map(|(path, mode, text)| (path.as_slice(), *mode, text.as_slice())).collect();
    scratch.commit(parents, &files)
}

fn looked(scratch: &Scratch, base: &CommitId, head: &CommitId, task: Option<&Task>) -> Look {
    let reader = scratch.reader();
    let deltas = reader.diff(base, head).unwrap();
    look(&reader, (base, head), &deltas, task).unwrap()
}

fn paths(look: &Look) -> Vec<&str> {
    look.changed.as_ref().unwrap().iter().map(|one| one.path.as_str()).collect()
}

/// The task in `t`, as it came to its phase with this content.
fn task(base: &CommitId, head: &CommitId) -> Task {
    let at = serde_json::json!({ "base_ref": "main", "base": base, "head": head, "content": Digest::of("then") });
    let text = serde_json::json!({
        "folder": "t", "state": { "stage": "verify" }, "passes": 0, "spent_ms": 0, "credits": 0, "at": at,
    });
    serde_json::from_value(text).unwrap()
}

#[test]
fn a_change_is_the_task_whose_state_it_brings() {
    let scratch = Scratch::new();
    let base = commit(&scratch, &[], &[file("old/STATE.md", STATE_MD), file("README.md", "lamp")]);
    let old = file("old/STATE.md", STATE_MD);
    let none = commit(&scratch, &[&base], &[old.clone(), file("README.md", "lamps")]);
    assert_eq!(looked(&scratch, &base, &none, None).folder, Folder::None, "what it does not touch is not its");
    let one = commit(&scratch, &[&base], &[old.clone(), file("tasks/T-1/STATE.md", STATE_MD)]);
    let look = looked(&scratch, &base, &one, None);
    assert_eq!(look.folder, Folder::One("tasks/T-1".to_owned()));
    assert_eq!(look.after.as_deref(), Some(STATE_MD.as_bytes()));
    assert_eq!(paths(&look), ["README.md", "tasks/T-1/STATE.md"]);
    let two = [old, file("a/STATE.md", STATE_MD), file("b/STATE.md", STATE_MD)];
    let two = commit(&scratch, &[&base], &two);
    assert_eq!(looked(&scratch, &base, &two, None).folder, Folder::Several(vec!["a".to_owned(), "b".to_owned()]));
    let gone = commit(&scratch, &[&base], &[file("README.md", "lamp")]);
    assert_eq!(looked(&scratch, &base, &gone, None).folder, Folder::None, "one that it takes away begins nothing");
    let root = commit(&scratch, &[&base], &[file("STATE.md", STATE_MD)]);
    assert_eq!(looked(&scratch, &base, &root, None).folder, Folder::None, "a task has a folder of its own");
}

#[test]
fn what_came_since_is_told_on_whatever_base_it_stands() {
    let scratch = Scratch::new();
    let base = commit(&scratch, &[], &[file("README.md", "lamp")]);
    let own = [file("t/STATE.md", STATE_MD), file("src/dim.rs", "dim")];
    let then = commit(&scratch, &[&base], &[&own[..], &[file("README.md", "lamp")]].concat());
    // The base has moved, and with it the change.
    let moved = commit(&scratch, &[&base], &[file("README.md", "lamps"), file("docs/a.md", "a")]);
    let carried = [&own[..], &[file("README.md", "lamps"), file("docs/a.md", "a")]].concat();
    let rebased = commit(&scratch, &[&moved], &carried);
    let before = task(&base, &then);
    assert_eq!(paths(&looked(&scratch, &moved, &rebased, Some(&before))), [""; 0], "a rebase changes nothing of it");
    let more = commit(&scratch, &[&moved], &[&carried[..], &[file("src/more.rs", "more")]].concat());
    assert_eq!(paths(&looked(&scratch, &moved, &more, Some(&before))), ["src/more.rs"]);
    // To take back what it had made is a change as well.
    let less = commit(
        &scratch,
        &[&moved],
        &[file("t/STATE.md", STATE_MD), file("README.md", "lamps"), file("docs/a.md", "a")],
    );
    assert_eq!(paths(&looked(&scratch, &moved, &less, Some(&before))), ["src/dim.rs"]);
    let lost = task(&base, &CommitId::new("1".repeat(40)).unwrap());
    assert_eq!(looked(&scratch, &moved, &more, Some(&lost)).changed, None, "nobody can tell");
}

#[test]
fn the_content_is_all_but_the_claim() {
    let scratch = Scratch::new();
    let base = commit(&scratch, &[], &[file("README.md", "lamp")]);
    let head = |state: &str, code: &str| {
        let head =
            commit(&scratch, &[&base], &[file("README.md", "lamp"), file("t/STATE.md", state), file("a.rs", code)]);
        looked(&scratch, &base, &head, None).content
    };
    assert_eq!(head(STATE_MD, "one"), head(&STATE_MD.replace("intake", "shape"), "one"));
    assert_ne!(head(STATE_MD, "one"), head(STATE_MD, "two"));
}

#[test]
fn evidence_is_found_in_the_folder_and_from_the_root() {
    let scratch = Scratch::new();
    let base = commit(&scratch, &[], &[file("README.md", "lamp")]);
    let state = STATE_MD
        .replace("{{today}}", "2026-01-31")
        .replace("Evidence location:", "Evidence location: EVIDENCE.md, `proof/log.txt`, gone.txt");
    let head = [
        file("README.md", "lamp"),
        file("proof/log.txt", "ok"),
        file("t/EVIDENCE.md", "seen"),
        file("t/STATE.md", &state),
        file("t/artifacts/.gitkeep", ""),
        file("t/artifacts/shot.png", "png"),
    ];
    let head = commit(&scratch, &[&base], &head);
    let look = looked(&scratch, &base, &head, None);
    assert_eq!(look.located.iter().map(String::as_str).collect::<Vec<_>>(), ["proof/log.txt", "t/EVIDENCE.md"]);
    assert_eq!(look.evidence, "seen");
    let files: Vec<(&str, u64)> = look.files.iter().map(|(path, size)| (path.as_str(), *size)).collect();
    assert_eq!(files, [("EVIDENCE.md", 1), ("STATE.md", 1), ("artifacts/.gitkeep", 0), ("artifacts/shot.png", 1)]);
}
