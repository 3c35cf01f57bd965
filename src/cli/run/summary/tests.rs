use super::*;
use crate::runner::artefact::sample;

#[test]
fn a_person_reads_what_broke_and_what_to_do() {
    let mut artefact = sample();
    artefact.commands[0].output.as_mut().unwrap().tail = "one\n```\n<script>\n".to_owned();
    artefact.commands[0].status = Some(1);
    artefact.findings = crate::gate::ran::judge(&artefact.facts());
    insta::assert_snapshot!(markdown(&artefact).replace('\u{200b}', "·"), @r"
    ### ❌ VERIFY failed

    4 tests: 2 passed (1 at a later try), 1 failed, 1 skipped · head `aaaaaaaaaaaa` · policy of `aaaaaaaaaaaa` · 1.0 s

    | | command | |
    |---|---|---|
    | ✗ | `make check` | ended with exit status 1 after 1.0 s |

    **What stands against it**

    - `VER-01` `make check` ended with exit status 1 after 1.0 s.<br>→ Read what it said, mend the change, and try it here: `phasegate run verify`.
    - `VER-01` The test `a::b` failed: no (`src/a.rs:3`)<br>→ Mend the change, and try it here: `phasegate run verify`.

    **Worth a look**

    - `VER-13` Passed at a later try only: `a::c`.<br>→ Find out why the first try failed.

    <details><summary>The end of what <code>make check</code> said</summary>

    ````text
    one
    ```
    <script>
    ````

    </details>
    ");
}

#[test]
fn somebody_elses_words_make_no_markup() {
    let mut artefact = sample();
    artefact.commands[0].command = "a | b `c` <img> @all [x](y)".to_owned();
    artefact.failing[0].name = "`<img src=x>` | @all".to_owned();
    artefact.findings = crate::gate::ran::judge(&artefact.facts());
    let page = markdown(&artefact);
    assert!(!page.contains("<img") && !page.contains("@all") && !page.contains("](y)"), "{page}");
    assert!(page.contains("| ✓ | `a \\| b 'c' "), "{page}");
}
