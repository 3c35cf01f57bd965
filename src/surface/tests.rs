//! What people read, read as they would.

use proptest::prelude::*;

use super::*;
use crate::engine::kit::*;
use crate::flow::Stage;
use crate::gate::Finding;
use crate::ids::Role;
use crate::ledger::record::Outcome;

fn comment(game: &Game) -> String {
    game.surface().comment
}

fn merge_check(game: &Game) -> Check {
    game.surface().checks.into_iter().find(|check| check.name == "phasegate/merge").expect("a merge check")
}

fn gate_check(game: &Game) -> Check {
    game.surface().checks.into_iter().find(|check| !check.only_if_there).expect("the current gate's check")
}

#[track_caller]
fn next(game: &Game) -> String {
    let comment = comment(game);
    let next = comment.lines().find_map(|line| line.strip_prefix("**Next:** ")).unwrap_or_else(|| panic!("{comment}"));
    assert!(next.len() < 1024, "{next}");
    next.to_owned()
}

#[test]
fn a_fresh_change_of_the_pipeline() {
    let game = Game::pipeline();
    insta::assert_snapshot!(comment(&game), @r#"
    ### Phasegate: ready to start

    ○ expand · ○ design · ○ analyze · ○ build · ○ review · ○ reconcile · ○ verify · ○ deploy

    **Next:** Say `/expand` to begin.

    **Merge gate**

    - ⏳ `MRG-01` The pipeline is not through: the expand gate has not passed for this content.<br>→ *Next* in the comment says what to do. This follows by itself.
    - ⏳ `MRG-01` `ci / test` has not run on cbb8c768af4a.<br>→ It is looked at again when it has. If it never runs, check the workflow's triggers.
    - ⏳ `MRG-02` Nobody entitled has approved this content yet.<br>→ Someone who may approve and neither wrote nor pushed it reviews cbb8c768af4a, or says `/approve`.

    <details><summary>For an agent that starts fresh</summary>

    ```text
    change #7, head cbb8c768af4a
    phase: ready to start
    slice: S-0001 (not declared)
    allowed: /expand; /distill; /audit-stack; /explain
    forbidden: to delete from scaffolding/ or docs/input/; to merge before phasegate/merge is green
    failing:
    - MRG-01 The pipeline has not begun. -> Somebody with write access says '/expand'.
    - MRG-01 'ci / test' has not run on cbb8c768af4a. -> It is looked at again when it has. If it never runs, check the workflow's triggers.
    - MRG-02 Nobody entitled has approved this content yet. -> Someone who may approve and neither wrote nor pushed it reviews cbb8c768af4a, or says '/approve'.
    snapshot: https://github.com/octo/demo/blob/phasegate/ledger/changes/0/7/context/iter-0001.md
    ```

    </details>

    <details><summary>Where this is in the pipeline flow</summary>

    - merge: FAIL on `cbb8c768af4a`

    ```mermaid
    stateDiagram-v2
        direction LR
        WorkspaceOpened --> PreferencesConfigured: ConfigurePreferences
        PreferencesConfigured --> Expanding: RequestBuild
        PreferencesConfigured --> AuditingStack: AuditStackFromConfigured
        AuditingStack --> PreferencesConfigured: StackAuditComplete
        PreferencesConfigured --> Distilling: DistillFromConfigured
        Distilling --> PreferencesConfigured: DistillCompleteToExpand
        classDef here fill:#fef2c0,stroke:#b08800
        class PreferencesConfigured here
    ```

    </details>

    Head `cbb8c768af4a` · flow pipeline · record 4 · [evidence](https://github.com/octo/demo/blob/phasegate/ledger/changes/0/7/page/evidence.html) · `/help`
    "#);
    assert_eq!(game.surface().label.unwrap().name, "phase:start");
}

#[test]
fn waiting_for_a_review() {
    let mut game = Game::pipeline();
    game.until_reviewing();
    insta::assert_snapshot!(comment(&game), @r#"
    ### Phasegate: REVIEW

    ● expand · ● design · ● analyze · ● build · ◐ review · ○ reconcile · ○ verify · ○ deploy

    **Next:** `REV-01` Nobody entitled has approved this content yet. Someone who may approve and neither wrote nor pushed it reviews cbb8c768af4a, or says `/approve`.

    **REVIEW gate**

    - ⏳ `REV-01` Nobody entitled has approved this content yet.<br>→ Someone who may approve and neither wrote nor pushed it reviews cbb8c768af4a, or says `/approve`.

    _REVIEW: Judged by reviews of entitled people for this content, and by what reviewers found (REV-01 to REV-10)._

    **Merge gate**

    - ⏳ `MRG-01` The pipeline is not through: the review gate has not passed for this content.<br>→ The check `phasegate/review` says what to do. This follows by itself.

    Last command: `/expand` by `ada`: done.

    <details><summary>What belongs into <code>scaffolding/log.md</code></summary>

    Append it with the next push:

    ```markdown
    - record 7 of #7: EXPAND PASS on cbb8c768af4a
    - record 10 of #7: DESIGN PASS on cbb8c768af4a
    - record 13 of #7: ANALYZE PASS on cbb8c768af4a
    - record 17 of #7: BUILD PASS on cbb8c768af4a
    ```

    </details>

    <details><summary>For an agent that starts fresh</summary>

    ```text
    change #7, head cbb8c768af4a
    phase: REVIEW
    slice: S-0001 (not declared)
    allowed: mend what reviewers found; /review; /drop; /stop; /explain
    forbidden: to claim RECONCILE or later; to delete from scaffolding/ or docs/input/; to merge before phasegate/merge is green
    failing:
    - REV-01 Nobody entitled has approved this content yet. -> Someone who may approve and neither wrote nor pushed it reviews cbb8c768af4a, or says '/approve'.
    - MRG-01 The pipeline is not through: the review gate has not passed for this content. -> The check 'phasegate/review' says what to do. This follows by itself.
    snapshot: https://github.com/octo/demo/blob/phasegate/ledger/changes/0/7/context/iter-0005.md
    ```

    </details>

    <details><summary>Where this is in the pipeline flow</summary>

    - expand: PASS on `cbb8c768af4a`
    - design: PASS on `cbb8c768af4a`
    - analyze: PASS on `cbb8c768af4a`
    - build: PASS on `cbb8c768af4a`
    - merge: FAIL on `cbb8c768af4a`
    - frozen: 0 files at `cbb8c768af4a`, by record 20

    ```mermaid
    stateDiagram-v2
        direction LR
        BuildGatePassed --> Reviewing: AutoContinueToReview
        Reviewing --> ReviewGatePassed: PassReviewGate
        Reviewing --> ReviewFixing: FailReviewGate
        ReviewFixing --> Reviewing: FixReviewFindings
        SteppedModePaused --> Reviewing: ResumeToReview
        Reviewing --> SessionDropped: DropSession
        ContextRecovering --> Reviewing: RecoverToReview
        Reviewing --> Reconciling: ManualReconcileFromReviewing
        Reconciling --> Reviewing: ResumeAfterReconcileToReviewing
        classDef here fill:#fef2c0,stroke:#b08800
        class Reviewing here
    ```

    </details>

    Head `cbb8c768af4a` · flow pipeline · record 21 · [evidence](https://github.com/octo/demo/blob/phasegate/ledger/changes/0/7/page/evidence.html) · `/help`
    "#);
    insta::assert_snapshot!(gate_check(&game).title, @"REVIEW waits: Nobody entitled has approved this content yet.");
    assert_eq!(game.surface().label.unwrap().name, "phase:review");
}

#[test]
fn blocked_after_three_tries() {
    let mut game = Game::pipeline();
    game.until_building();
    for head in ["b1", "b2", "b3"] {
        game.push(head).red().says("ada", Role::Write, "/build");
    }
    game.at(Stage::BlockedOnGate);
    insta::assert_snapshot!(next(&game), @"BLOCKED: build failed 3 times. `ci / test` ended as failure on a6e18682aa5b. Options: (A) mend it; (B) change the scope; (C) close the pull request. For A a maintainer (not its author, and nobody who pushed to it) says `/unblock REASON`, for another one `/resolve LETTER` as the issue shows. Recommendation: read the findings; if they name one cause, A. An audit is owed as well: `/audit`.");
    assert_eq!(gate_check(&game).conclusion, Conclusion::Failure);
    assert_eq!(merge_check(&game).conclusion, Conclusion::Failure);
    assert_eq!(game.surface().label.unwrap().name, "phase:blocked");
}

/// The issue of the escalation that is open.
#[track_caller]
fn issue(game: &Game) -> String {
    let notice = game.notice().expect("an escalation is open");
    format!("{}\n\n{}", notice.title, notice.body)
}

#[test]
fn the_issue_of_a_gate_that_blocked() {
    let mut game = Game::pipeline_with("people: { approve: ['@zoe'], escalate: ['@octo/leads', '@lea'] }\n");
    game.until_building();
    for head in ["b1", "b2", "b3"] {
        game.push(head).red().says("ada", Role::Write, "/build");
    }
    insta::assert_snapshot!(issue(&game), @r#"
    Phasegate: #7 is blocked at BUILD

    **Decide whether #7 is tried again at BUILD, changed or given up.**

    **BLOCKED:** BUILD failed 3 times on #7, which blocks it. Nothing goes on before a person decides.

    An audit is owed as well: whatever is decided here, nothing goes on before its report is handed in (`/audit` says what it is about).

    - ❌ `BLD-02` `ci / test` ended as failure on a6e18682aa5b.<br>→ Read its log, mend the change and push; where it is not to blame, run that job again.

    **Options**, each as a reply to copy, with your words in place of the example's:

    **(A) `APPROVE_OVERRIDE`**: mend it and go on: its FAILs are counted from zero, and the gate is still to be passed. In short: `/resolve A REASON` or `/unblock REASON`.

    ````text
    /resolve APPROVE_OVERRIDE
    ```yaml
    rationale: "Why it may go on."
    ```
    ````

    **(B) `AMEND_SPEC`**: change the scope: these are the criteria now, it goes back to EXPAND, and every gate is passed again.

    ````text
    /resolve AMEND_SPEC
    ```yaml
    amended_acceptance_criteria:
      - "AC-1: What must be true now."
    amendment_rationale: "Why the criteria changed."
    ```
    ````

    **(C) `ABANDON_TASK`**: give up: the pull request is closed. In short: `/resolve C REASON`.

    ````text
    /resolve ABANDON_TASK
    ```yaml
    rationale: "Why it is not needed any more."
    ```
    ````

    **(D) `REVISE_PLAN`**: change the plan: this is it now, it goes back to DESIGN, and passes it again.

    ````text
    /resolve REVISE_PLAN
    ```yaml
    revised_micro_plan:
      - module_id: "reader"
        description: "What it does."
        depends_on: []
      - module_id: "writer"
        description: "What it does."
        depends_on: ["reader"]
    ```
    ````

    **(E) `PROVIDE_FIX`**: give the fix: the bot commits these files on top of the head, and it goes on; they are judged like any others.

    ````text
    /resolve PROVIDE_FIX
    ```yaml
    fix_description: "What the fix does, and why."
    fix_artifacts:
      "src/example.py": |
        print("the whole file as it is to be")
    ```
    ````

    **(F) `SPLIT_TASK`**: split it: each part gets an issue, and this pull request is closed.

    ````text
    /resolve SPLIT_TASK
    ```yaml
    new_tasks:
      - name: "The first part"
        description: "What it does."
        acceptance_criteria: ["What must be true of it."]
        depends_on: []
      - name: "The second part"
        description: "What it does."
        acceptance_criteria: ["What must be true of it."]
        depends_on: ["The first part"]
    ```
    ````

    **Recommendation:** (A) `APPROVE_OVERRIDE`: with another approach than those that failed: the findings name what to mend.

    **Post-mortem**

    - What went wrong: `BLD-02` stood against every try: whatever is behind it was never mended.
    - What to try differently: Read its log, mend the change and push; where it is not to blame, run that job again.
    - What to avoid: What was tried on `e8157116a51d`, `cffcbe8f0e90`, `a6e18682aa5b`: it failed.

    <details>
    <summary>What was tried (4)</summary>

    1. `cbb8c768af4a`: PASS (record 17)
    1. `e8157116a51d`, claimed by `ada` with `/build`: FAIL: `BLD-02` `ci / test` ended as failure on e8157116a51d. (record 31)
    1. `cffcbe8f0e90`, claimed by `ada` with `/build`: FAIL: `BLD-02` `ci / test` ended as failure on cffcbe8f0e90. (record 40)
    1. `a6e18682aa5b`, claimed by `ada` with `/build`: FAIL: `BLD-02` `ci / test` ended as failure on a6e18682aa5b. (record 49)

    </details>

    **Who may answer:** A maintainer or `zoe` (not its author, and nobody who pushed to it), here or on #7.

    **Asked to look:** @octo/leads @lea

    What is said here counts for the head that is shown. Head `a6e18682aa5b` · [#7](https://github.com/octo/demo/pull/7) · since 1970-01-12 13:48 UTC · record 51 · [ESC-9332a15e](https://github.com/octo/demo/blob/phasegate/ledger/changes/0/7/escalations/ESC-9332a15e.json) · [evidence](https://github.com/octo/demo/blob/phasegate/ledger/changes/0/7/page/evidence.html)
    "#);
    let before = issue(&game);
    game.asked_in(12);
    assert_eq!(issue(&game), before, "its own number is nothing new");
    assert!(
        comment(&game).contains("\n**Asked in #12**, with the options of `/resolve`. It is answered there or here.\n")
    );
    assert!(merge_check(&game).title.contains("It is asked in #12."), "{}", merge_check(&game).title);
    game.says("tim", Role::Triage, "/status");
    assert!(game.surface().replies.pop().unwrap().body.contains("**Asked in #12**"));
    // The head follows the pushes, and nothing else does.
    game.push("b4");
    assert_eq!(
        issue(&game),
        before.replace(&format!("Head `{}`", commit("b3").short()), &format!("Head `{}`", commit("b4").short()))
    );
}

#[test]
fn the_issue_of_a_stop_in_the_merge_flow() {
    let mut game = Game::merge();
    game.red().says("ada", Role::Write, "/stop it `leaks`, @everybody <b>see</b> #1");
    insta::assert_snapshot!(issue(&game).replace('\u{200b}', "|"), @r#"
    Phasegate: #7 is stopped

    **Decide whether what stopped #7 is settled, or what becomes of it.**

    **BLOCKED:** `ada` stopped #7: `it 'leaks', @|everybody <|b>see<|/b> #1`. Nothing goes on before a person decides.

    **Options**, each as a reply to copy, with your words in place of the example's:

    **(A) `APPROVE_OVERRIDE`**: go on: what the stop names is settled. In short: `/resolve A REASON` or `/unblock REASON`.

    ````text
    /resolve APPROVE_OVERRIDE
    ```yaml
    rationale: "Why it may go on."
    ```
    ````

    **(B) `AMEND_SPEC`**: change what it does: these are the criteria now, and it goes on.

    ````text
    /resolve AMEND_SPEC
    ```yaml
    amended_acceptance_criteria:
      - "AC-1: What must be true now."
    amendment_rationale: "Why the criteria changed."
    ```
    ````

    **(C) `ABANDON_TASK`**: give up: the pull request is closed. In short: `/resolve C REASON`.

    ````text
    /resolve ABANDON_TASK
    ```yaml
    rationale: "Why it is not needed any more."
    ```
    ````

    **(E) `PROVIDE_FIX`**: give the fix: the bot commits these files on top of the head, and it goes on; they are judged like any others.

    ````text
    /resolve PROVIDE_FIX
    ```yaml
    fix_description: "What the fix does, and why."
    fix_artifacts:
      "src/example.py": |
        print("the whole file as it is to be")
    ```
    ````

    **(F) `SPLIT_TASK`**: split it: each part gets an issue, and this pull request is closed.

    ````text
    /resolve SPLIT_TASK
    ```yaml
    new_tasks:
      - name: "The first part"
        description: "What it does."
        acceptance_criteria: ["What must be true of it."]
        depends_on: []
      - name: "The second part"
        description: "What it does."
        acceptance_criteria: ["What must be true of it."]
        depends_on: ["The first part"]
    ```
    ````

    **Recommendation:** (A) `APPROVE_OVERRIDE`: once the reason is settled; (C) if it can't be.

    **Post-mortem**

    - What went wrong: What the stop names; nobody has looked for the cause behind it yet.
    - What to try differently: That is for whoever answers; the reason given is kept with the record.
    - What to avoid: What was tried on `cbb8c768af4a`: it failed.

    <details>
    <summary>What was tried (1)</summary>

    1. `cbb8c768af4a`: FAIL: `MRG-01` `ci / test` ended as failure on cbb8c768af4a. (record 5)

    </details>

    **Who may answer:** A maintainer (not its author, and nobody who pushed to it), here or on #7.

    What is said here counts for the head that is shown. Head `cbb8c768af4a` · [#7](https://github.com/octo/demo/pull/7) · since 1970-01-12 13:47 UTC · record 6 · [ESC-dd10d82a](https://github.com/octo/demo/blob/phasegate/ledger/changes/0/7/escalations/ESC-dd10d82a.json) · [evidence](https://github.com/octo/demo/blob/phasegate/ledger/changes/0/7/page/evidence.html)
    "#);
}

#[test]
fn the_issue_of_the_brake() {
    let mut game = Game::pipeline();
    game.until_building().says("ada", Role::Write, "/stop scope: it has doubled");
    insta::assert_snapshot!(issue(&game), @r#"
    Phasegate: #7 is stopped by the complexity brake

    **Decide whether #7 may be as large as it has become.**

    **BLOCKED:** `ada` pulled the complexity brake on #7 because it is much larger than its scope says: `scope: it has doubled`. Nothing goes on before a person decides.

    **Options**, each as a reply to copy, with your words in place of the example's:

    **(A) `APPROVE_OVERRIDE`**: let it be that large. In short: `/resolve A REASON` or `/brake-resolved REASON`.

    ````text
    /resolve APPROVE_OVERRIDE
    ```yaml
    rationale: "Why it may go on."
    ```
    ````

    **(B) `AMEND_SPEC`**: cut the scope, and split off the rest: these are the criteria now, it goes back to EXPAND, and every gate is passed again.

    ````text
    /resolve AMEND_SPEC
    ```yaml
    amended_acceptance_criteria:
      - "AC-1: What must be true now."
    amendment_rationale: "Why the criteria changed."
    ```
    ````

    **(C) `ABANDON_TASK`**: give up: the pull request is closed. In short: `/resolve C REASON`.

    ````text
    /resolve ABANDON_TASK
    ```yaml
    rationale: "Why it is not needed any more."
    ```
    ````

    **(D) `REVISE_PLAN`**: change the plan: this is it now, it goes back to DESIGN, and passes it again.

    ````text
    /resolve REVISE_PLAN
    ```yaml
    revised_micro_plan:
      - module_id: "reader"
        description: "What it does."
        depends_on: []
      - module_id: "writer"
        description: "What it does."
        depends_on: ["reader"]
    ```
    ````

    **(F) `SPLIT_TASK`**: split it: each part gets an issue, and this pull request is closed.

    ````text
    /resolve SPLIT_TASK
    ```yaml
    new_tasks:
      - name: "The first part"
        description: "What it does."
        acceptance_criteria: ["What must be true of it."]
        depends_on: []
      - name: "The second part"
        description: "What it does."
        acceptance_criteria: ["What must be true of it."]
        depends_on: ["The first part"]
    ```
    ````

    **Recommendation:** (B) `AMEND_SPEC`: a smaller change is judged sooner.

    **Post-mortem**

    - What went wrong: What the stop names; nobody has looked for the cause behind it yet.
    - What to try differently: That is for whoever answers; the reason given is kept with the record.
    - What to avoid: Nothing failed before this.

    <details>
    <summary>What was tried (1)</summary>

    1. `cbb8c768af4a`: PASS (record 17)

    </details>

    **Who may answer:** A maintainer (not its author, and nobody who pushed to it), here or on #7.

    What is said here counts for the head that is shown. Head `d1e5d5368a86` · [#7](https://github.com/octo/demo/pull/7) · since 1970-01-12 13:47 UTC · record 25 · [ESC-c5c4cce0](https://github.com/octo/demo/blob/phasegate/ledger/changes/0/7/escalations/ESC-c5c4cce0.json) · [evidence](https://github.com/octo/demo/blob/phasegate/ledger/changes/0/7/page/evidence.html)
    "#);
}

#[test]
fn the_issue_of_a_stepped_wait() {
    let mut game = Game::pipeline_with("mode: stepped\n");
    game.says("ada", Role::Write, "/expand").green().says("ada", Role::Write, "/expand").at(Stage::SteppedModePaused);
    insta::assert_snapshot!(issue(&game), @r#"
    Phasegate: #7 waits before DESIGN

    **Decide whether DESIGN of #7 may begin.**

    **WAITING:** #7 is in stepped mode. Nothing is wrong: DESIGN begins when a person has looked at what the phase before left behind.

    **EXPAND passed** on `cbb8c768af4a`. What it left behind: [scaffolding/scope.md](https://github.com/octo/demo/blob/cbb8c768af4a288aa55db44b43df093cfc4ef802/scaffolding/scope.md).

    **Options**, each as a reply to copy, with your words in place of the example's:

    **(A) `CONTINUE`**: go on: what the phase left behind is good. In short: `/resolve A` or `/continue`.

    ```text
    /resolve CONTINUE
    ```

    **(B) `AMEND_SPEC`**: change the scope: these are the criteria now, it goes back to EXPAND, and every gate is passed again.

    ````text
    /resolve AMEND_SPEC
    ```yaml
    amended_acceptance_criteria:
      - "AC-1: What must be true now."
    amendment_rationale: "Why the criteria changed."
    ```
    ````

    **(C) `ABANDON_TASK`**: give up: the pull request is closed. In short: `/resolve C REASON`.

    ````text
    /resolve ABANDON_TASK
    ```yaml
    rationale: "Why it is not needed any more."
    ```
    ````

    **Recommendation:** (A) `CONTINUE`: after a look at what the phase left behind.

    **Who may answer:** A maintainer (not its author, and nobody who pushed to it), here or on #7. `/continue` is for anyone with write access.

    What is said here counts for the head that is shown. Head `cbb8c768af4a` · [#7](https://github.com/octo/demo/pull/7) · since 1970-01-12 13:47 UTC · record 13 · [ESC-e07ec317](https://github.com/octo/demo/blob/phasegate/ledger/changes/0/7/escalations/ESC-e07ec317.json) · [evidence](https://github.com/octo/demo/blob/phasegate/ledger/changes/0/7/page/evidence.html)
    "#);
}

#[test]
fn nobody_is_asked_where_we_only_observe_and_everything_is_asked_here_without_issues() {
    let mut game = Game::with("enforce: observe");
    game.opened().says("ada", Role::Write, "/stop it leaks");
    assert_eq!(game.notice(), None);
    assert!(comment(&game).contains("_Observing only: no issue is opened for this._"), "{}", comment(&game));

    let mut game = Game::merge();
    game.says("ada", Role::Write, "/stop it leaks");
    assert!(!comment(&game).contains("**Options**"), "{}", comment(&game));
    game.no_issues = true;
    let shown = comment(&game);
    assert!(
        shown.contains("_Issues are disabled in this repository, so this is asked here and nowhere else._"),
        "{shown}"
    );
    assert!(shown.contains("**BLOCKED:**") && shown.contains("`/resolve C REASON`"), "{shown}");
}

#[test]
fn what_was_given_up_says_how_it_is_undone() {
    let mut game = Game::merge();
    game.says("ada", Role::Write, "/stop it leaks").says("mia", Role::Maintain, "/resolve C nobody needs it").closed();
    insta::assert_snapshot!(next(&game), @"Nothing: `mia` gave it up (`nobody needs it`). Reopening takes it up where it stopped.");
    let mut game = Game::pipeline();
    game.through_verify().merged();
    for _ in 0..3 {
        game.deployment("failure").says("ada", Role::Write, "/deploy");
    }
    game.says("mia", Role::Maintain, "/resolve C not worth it");
    insta::assert_snapshot!(next(&game), @"`mia` gave it up (`not worth it`), and it is merged: revert it in a pull request of its own, with the button *Revert* or with `git revert 338346dcee64` (`-m 1` for a merge commit).");
}

#[test]
fn may_merge_merged_and_around_the_gate() {
    let mut game = Game::merge();
    game.green().approved_by("mia");
    insta::assert_snapshot!(comment(&game), @r#"
    ### Phasegate: may merge

    **Next:** It may be merged.

    <details><summary>Change record</summary>

    #### What changed

    - `8dbd7b672502` to `cbb8c768af4a`, into `main`; content `7692c3ad3540`

    #### Why

    - Nobody has declared a slice; the pull request says it in its own words.

    #### How verified

    - check `ci / test` on `cbb8c768af4a`: success
    - review of `cbb8c768af4a` by `mia`: APPROVED

    #### Known risks

    - None that is on record.

    </details>

    <details><summary>For an agent that starts fresh</summary>

    ```text
    change #7, head cbb8c768af4a
    phase: merge
    slice: S-0001 (not declared)
    allowed: /explain
    forbidden: to merge before phasegate/merge is green
    failing: nothing
    snapshot: https://github.com/octo/demo/blob/phasegate/ledger/changes/0/7/context/iter-0002.md
    ```

    </details>

    <details><summary>Where this is in the merge flow</summary>

    - merge: PASS on `cbb8c768af4a`

    ```mermaid
    stateDiagram-v2
        direction LR
        Waiting --> Mergeable: GateTurnsGreen
        Mergeable --> Waiting: GateTurnsRed
        Mergeable --> Merged: Merge
        Waiting --> Merged: MergeUnhindered
        Waiting --> Merged: Bypass
        Mergeable --> Merged: Bypass
        Closed --> Merged: Bypass
        Waiting --> Closed: CloseWaiting
        Mergeable --> Closed: CloseMergeable
        Closed --> Waiting: Reopen
        classDef here fill:#fef2c0,stroke:#b08800
        class Mergeable here
    ```

    </details>

    Head `cbb8c768af4a` · flow merge · record 6 · [evidence](https://github.com/octo/demo/blob/phasegate/ledger/changes/0/7/page/evidence.html) · `/help`
    "#);
    let check = merge_check(&game);
    assert_eq!((check.conclusion, check.title.as_str()), (Conclusion::Success, "May merge"));
    assert_eq!(game.surface().label, None);
    game.merged();
    insta::assert_snapshot!(comment(&game), @r#"
    ### Phasegate: merged

    **Next:** Nothing: it is merged.

    Merged as `338346dcee64`.

    <details><summary>Change record</summary>

    #### What changed

    - `8dbd7b672502` to `cbb8c768af4a`, into `main`; content `7692c3ad3540`
    - merged as `338346dcee64`

    #### Why

    - Nobody has declared a slice; the pull request says it in its own words.

    #### How verified

    - check `ci / test` on `cbb8c768af4a`: success
    - review of `cbb8c768af4a` by `mia`: APPROVED

    #### Known risks

    - None that is on record.

    </details>

    <details><summary>Where this is in the merge flow</summary>

    - merge: PASS on `cbb8c768af4a`

    ```mermaid
    stateDiagram-v2
        direction LR
        Waiting --> Mergeable: GateTurnsGreen
        Mergeable --> Waiting: GateTurnsRed
        Mergeable --> Merged: Merge
        Waiting --> Merged: MergeUnhindered
        Waiting --> Merged: Bypass
        Mergeable --> Merged: Bypass
        Closed --> Merged: Bypass
        Waiting --> Closed: CloseWaiting
        Mergeable --> Closed: CloseMergeable
        Closed --> Waiting: Reopen
        classDef here fill:#fef2c0,stroke:#b08800
        class Merged here
    ```

    </details>

    Head `cbb8c768af4a` · flow merge · record 7 · [evidence](https://github.com/octo/demo/blob/phasegate/ledger/changes/0/7/page/evidence.html) · `/help`
    "#);
    assert!(game.surface().checks.is_empty(), "the head is not judged any more");

    let mut game = Game::merge();
    game.green().merged();
    insta::assert_snapshot!(comment(&game), @r#"
    ### Phasegate: merged around the gate

    **Next:** It was merged around the gate: a maintainer looks at what was skipped and decides whether it stays.

    Merged as `338346dcee64`.

    ❌ `bypassed_gate` It was merged while `MRG-02` stood against it.

    <details><summary>Change record</summary>

    #### What changed

    - `8dbd7b672502` to `cbb8c768af4a`, into `main`; content `7692c3ad3540`
    - merged as `338346dcee64`

    #### Why

    - Nobody has declared a slice; the pull request says it in its own words.

    #### How verified

    - check `ci / test` on `cbb8c768af4a`: success

    #### Known risks

    - it was merged around `MRG-02`

    </details>

    <details><summary>Where this is in the merge flow</summary>

    - merge: FAIL on `cbb8c768af4a`

    ```mermaid
    stateDiagram-v2
        direction LR
        Waiting --> Mergeable: GateTurnsGreen
        Mergeable --> Waiting: GateTurnsRed
        Mergeable --> Merged: Merge
        Waiting --> Merged: MergeUnhindered
        Waiting --> Merged: Bypass
        Mergeable --> Merged: Bypass
        Closed --> Merged: Bypass
        Waiting --> Closed: CloseWaiting
        Mergeable --> Closed: CloseMergeable
        Closed --> Waiting: Reopen
        classDef here fill:#fef2c0,stroke:#b08800
        class Merged here
    ```

    </details>

    Head `cbb8c768af4a` · flow merge · record 7 · [evidence](https://github.com/octo/demo/blob/phasegate/ledger/changes/0/7/page/evidence.html) · `/help`
    "#);
}

#[test]
fn merged_in_the_middle_of_the_pipeline() {
    let mut game = Game::pipeline();
    game.until_reviewing().merged();
    insta::assert_snapshot!(next(&game), @"It was merged around the gate: a maintainer looks at what was skipped and decides whether it stays.");
    assert!(!comment(&game).contains("REVIEW gate"), "{}", comment(&game));
    // Observed only, there was nothing to go around.
    let mut game = Game::pipeline_with("enforce: observe\n");
    game.until_reviewing().merged();
    insta::assert_snapshot!(next(&game), @"Nothing: it was merged before it was through, and its gates are not judged any more.");
}

#[test]
fn deployed_before_the_merge_it_still_says_what_the_merge_needs() {
    let mut game = Game::pipeline_with("deploy: before_merge\n");
    game.says("ada", Role::Write, "/expand").green().approved_by("mia").at(Stage::PipelineComplete);
    assert_eq!(next(&game), "It may be merged.");
    game.review("zoe", Role::Write, "CHANGES_REQUESTED");
    assert!(next(&game).contains("`zoe`"));
}

#[test]
fn waiting_is_not_failing() {
    let mut game = Game::merge();
    let check = merge_check(&game);
    assert_eq!(check.conclusion, Conclusion::ActionRequired);
    insta::assert_snapshot!(check.title, @"Not yet: ci / test has not run on cbb8c768af4a. (and 1 more)");
    game.red();
    let check = merge_check(&game);
    assert_eq!(check.conclusion, Conclusion::Failure);
    insta::assert_snapshot!(check.title, @"May not merge: ci / test ended as failure on cbb8c768af4a. (and 1 more)");
}

#[test]
fn observing_shows_and_blocks_nothing() {
    let mut game = Game::with("enforce: observe");
    game.opened();
    let check = merge_check(&game);
    assert_eq!(check.conclusion, Conclusion::Neutral);
    assert!(check.title.starts_with("Observing: it would be stopped."), "{}", check.title);
    assert!(comment(&game).contains("Observing only: nothing is blocked."));
    assert!(comment(&game).starts_with("### Phasegate: waiting\n"), "{}", comment(&game));
    game.red();
    assert!(comment(&game).starts_with("### Phasegate: would not let it merge (observing)\n"), "{}", comment(&game));
    game.green().approved_by("mia");
    let check = merge_check(&game);
    assert_eq!(
        (check.conclusion, check.title.as_str()),
        (Conclusion::Neutral, "Observing: it would be allowed to merge")
    );
    game.merged();
    assert!(!comment(&game).contains("bypassed_gate"));
}

/// A phase's run may be required by somebody too.
#[test]
fn observing_every_run_is_neutral_and_says_what_it_would_be() {
    let mut game = Game::with("flow: pipeline\nenforce: observe");
    let all = |game: &Game| {
        let checks = game.surface().checks;
        assert!(checks.iter().all(|check| check.conclusion == Conclusion::Neutral), "{checks:#?}");
        checks.into_iter().map(|check| check.title).collect::<Vec<_>>().join("\n")
    };
    game.opened().says("ada", Role::Write, "/expand");
    assert!(all(&game).contains("Observing, would be red: EXPAND: "), "{}", all(&game));
    game.documents().green();
    assert!(all(&game).contains("Observing, would be green: EXPAND passed"), "{}", all(&game));
    assert!(all(&game).contains("Observing, would wait: "), "{}", all(&game));
}

#[test]
fn an_approval_of_ones_own_is_called_so() {
    let mut game = Game::with("people: { solo: true }");
    game.opened().green().approved_by("mia");
    assert!(!comment(&game).contains("Self-approved"));
    let mut game = Game::with("people: { solo: true }");
    game.opened().green().approved_by("ada").may_merge();
    let said = "*Self-approved*: `ada` wrote or pushed to this change (`people.solo`).";
    assert!(comment(&game).contains(said), "{}", comment(&game));
    assert!(merge_check(&game).summary.contains(said), "{}", merge_check(&game).summary);
}

#[test]
fn a_refusal_is_answered_with_its_rule_and_the_way_on() {
    let mut game = Game::pipeline();
    game.says("ada", Role::Write, "/pmf maybe");
    let surface = game.surface();
    insta::assert_snapshot!(surface.replies[0].body, @r#"
    `CMD-05` `/pmf` was not done: it takes one of `start`, `validated`, `iterate`, not `maybe`.

    Write it as `/pmf start|validated|iterate`.
    "#);
    assert_eq!(surface.replies[0].on, 7);
    assert_eq!(surface.reactions.iter().map(|(_, fine)| *fine).collect::<Vec<_>>(), [false]);
}

#[test]
fn help_lists_every_command_of_the_flow_once() {
    for (mut game, flow) in [(Game::merge(), "merge"), (Game::pipeline(), "pipeline")] {
        game.says("tom", Role::Triage, "/help");
        let help = game.surface().replies[0].body.clone();
        for spec in crate::engine::command::COMMANDS {
            let known = spec.is_known_in(game.now().flow, game.world.policy());
            let rows = help.lines().filter(|line| {
                line.starts_with(&format!("| `/{}`", spec.name)) || line.starts_with(&format!("| `/{} ", spec.name))
            });
            assert_eq!(rows.count(), usize::from(known), "{flow} {}\n{help}", spec.name);
        }
        assert_eq!(help.contains("complexity brake"), flow == "pipeline", "{help}");
        let cells = |line: &str| line.replace("\\|", "").matches('|').count();
        assert!(help.lines().filter(|line| line.starts_with('|')).all(|line| cells(line) == 4), "{help}");
    }
}

#[test]
fn explain_says_every_rule_that_stands_against_it() {
    let mut game = Game::merge();
    game.says("tom", Role::Triage, "/explain\n/status");
    let replies = game.surface().replies;
    assert!(replies[0].body.contains("`MRG-01`") && replies[0].body.contains("`MRG-02`"), "{}", replies[0].body);
    assert!(replies[0].body.contains("\n\n---\n\n**waiting**"), "{}", replies[0].body);
    assert_eq!(replies.len(), 1, "one answer to one comment");
    game.green().approved_by("mia");
    assert!(game.surface().replies[0].body.starts_with("Nothing stands against merging"));
}

#[test]
fn a_comment_gets_one_answer_however_much_is_in_it() {
    let mut game = Game::merge();
    game.says("tom", Role::Triage, &"/status\n".repeat(25));
    let replies = game.surface().replies;
    assert_eq!(replies.len(), 1, "{replies:#?}");
    assert_eq!(replies[0].body.matches("**waiting**").count(), 1, "{}", replies[0].body);
    assert!(replies[0].body.contains("`CMD-10`"), "{}", replies[0].body);
    game.says("tom", Role::Triage, "/status");
    let keys: Vec<String> = game.surface().replies.into_iter().map(|reply| reply.key).collect();
    assert!(keys.len() == 2 && keys[0] == replies[0].key && keys[0] != keys[1], "{keys:?}");
}

#[test]
fn a_failed_claim_is_called_so_and_counted() {
    let mut game = Game::pipeline();
    let last = |game: &Game| {
        let comment = comment(game);
        comment.lines().find(|line| line.starts_with("Last command: ")).unwrap_or_default().to_owned()
    };
    game.without("scaffolding/scope.md").says("ada", Role::Write, "/expand");
    assert_eq!(last(&game), "Last command: `/expand` by `ada`: done.");
    assert!(!comment(&game).contains("FAIL 0"), "{}", comment(&game));
    game.says("ada", Role::Write, "/expand");
    assert_eq!(last(&game), "Last command: `/expand` by `ada`: claimed; EXPAND said FAIL.");
    assert!(comment(&game).contains("\n**EXPAND: FAIL 1 of 3: the third blocks.**\n"), "{}", comment(&game));
    let title = gate_check(&game).title;
    assert!(title.starts_with("EXPAND: FAIL 1 of 3: the third blocks. "), "{title}");
    game.says("ada", Role::Write, "/expand").says("tom", Role::Triage, "/status");
    let said = game.surface().replies.pop().unwrap().body;
    assert!(said.contains("EXPAND: FAIL 2 of 3: the third blocks."), "{said}");
    game.says("ada", Role::Write, "/expand").at(Stage::BlockedOnGate);
    assert!(!comment(&game).contains("the third blocks"), "it has: {}", comment(&game));
    assert_eq!(last(&game), "Last command: `/expand` by `ada`: claimed; EXPAND said FAIL.");

    let mut game = Game::pipeline();
    game.until_building().says("ada", Role::Write, "/build");
    assert_eq!(last(&game), "Last command: `/build` by `ada`: claimed; BUILD waits for its evidence.");
    game.green();
    assert_eq!(last(&game), "Last command: `/build` by `ada`: claimed; BUILD said PASS.");
}

#[test]
fn a_draft_is_not_said_to_merge_as_it_is() {
    let mut game = Game::merge();
    game.world.pull.draft = true;
    game.green().approved_by("mia").may_merge();
    let check = merge_check(&game);
    assert_eq!((check.conclusion, check.title.as_str()), (Conclusion::Success, "May merge once it is no draft"));
    assert!(comment(&game).starts_with("### Phasegate: may merge once it is no draft\n"), "{}", comment(&game));
    assert_eq!(next(&game), "Mark it ready for review; then it may be merged.");
}

#[test]
fn a_title_is_known_as_a_verdict_with_its_number_too() {
    use super::project::{is_verdict, titled_for};
    for title in ["May merge", "May not merge: x", "Not yet: x", "Observing: x"] {
        assert!(is_verdict(title) && is_verdict(&titled_for(31, title)), "{title}");
    }
    assert_eq!(titled_for(31, "May merge"), "#31: May merge");
    for title in ["Superseded by x", "#31: Superseded by x", "#: May merge", "#x: May merge", "# May merge"] {
        assert!(!is_verdict(title), "{title}");
    }
    assert!(titled_for(7, &"x".repeat(300)).chars().count() <= 200);
}

#[test]
fn a_paused_change_says_how_to_go_on() {
    let mut game = Game::pipeline_with("mode: stepped\n");
    game.says("ada", Role::Write, "/expand").green().says("ada", Role::Write, "/expand").at(Stage::SteppedModePaused);
    let check = gate_check(&game);
    assert_eq!(check.title, "DESIGN has not begun: say /continue to go on");
    assert_eq!(check.conclusion, Conclusion::ActionRequired);
    game.says("ada", Role::Write, "/continue");
    assert_eq!(gate_check(&game).title, "DESIGN would pass; say /design to claim it");
    assert_eq!(next(&game), "The design gate would pass. Say `/design` to claim it.");
    let told = comment(&game);
    assert!(told.contains("\nallowed: /design: claim it; /reconcile;"), "{told}");
    let first =
        "failing:\n- MRG-01 The design gate would pass, and nobody has claimed it. -> Say '/design' to claim it.\n";
    assert!(told.contains(first), "{told}");
    game.says("tom", Role::Triage, "/explain");
    let explained = game.surface().replies.pop().unwrap().body;
    assert!(explained.contains("1. ⏳ `MRG-01` The design gate would pass"), "{explained}");
    game.says("ada", Role::Write, "/drop");
    assert_eq!(gate_check(&game).title, "DESIGN was dropped: say /recover to take it up");
}

#[test]
fn what_is_verified_has_nothing_to_claim() {
    let mut game = Game::pipeline();
    game.through_verify().says("tom", Role::Triage, "/explain");
    assert!(comment(&game).contains("It may be merged"), "{}", comment(&game));
    assert!(comment(&game).contains("failing: nothing"), "{}", comment(&game));
    assert!(!comment(&game).contains("claim it"), "{}", comment(&game));
}

#[test]
fn a_finding_with_a_place_is_annotated_and_linked() {
    let mut game = Game::with("flow: pipeline");
    game.opened().says("ada", Role::Write, "/expand");
    // What does not exist can't be pointed at.
    assert!(gate_check(&game).annotations.is_empty());
    assert!(comment(&game).contains("`scaffolding/scope.md` does not exist."), "{}", comment(&game));
    assert!(!comment(&game).contains("scope.md)"), "{}", comment(&game));
    game.paper_says("scaffolding/scope.md", "");
    game.look();
    let check = gate_check(&game);
    assert_eq!(check.annotations.len(), 1);
    let one = &check.annotations[0];
    assert_eq!((one.path.as_str(), one.line, one.title.as_str()), ("scaffolding/scope.md", 1, "EXP-01"));
    assert!(one.failure && one.message.contains("is empty"));
    assert!(
        comment(&game).contains(&format!("https://github.com/octo/demo/blob/{}/scaffolding/scope.md", commit("one")))
    );
}

#[test]
fn long_lists_stay_within_a_page() {
    let mut game = Game::merge();
    let problem = |n| Finding::error("MRG-07", "<".repeat(3000), "@".repeat(3000)).at("p".repeat(4000), Some(n));
    game.world.law = crate::gate::world::Law::Invalid((1..=100).map(problem).collect());
    game.says("tom", Role::Triage, "/explain");
    let surface = game.surface();
    let check = &surface.checks[0];
    assert!(check.summary.chars().count() < 65_535, "{}", check.summary.len());
    assert!(check.summary.contains(" more\n"));
    assert!(check.title.chars().count() <= 200);
    assert!(surface.comment.chars().count() < 65_536);
    assert!(surface.replies[0].body.chars().count() < 65_536);
}

#[test]
fn a_stop_reason_is_shown_in_short() {
    let mut game = Game::merge();
    game.says("ada", Role::Write, &format!("/stop {}", "x".repeat(900)));
    assert_eq!(*game.outcome(), Outcome::Done);
    assert!(next(&game).len() < 400);
}

/// What is said without the drawing, which has the table's own names.
fn said(text: &str) -> String {
    let (before, rest) = text.split_once("```mermaid").unwrap_or((text, ""));
    format!("{before}{}", rest.split_once("```").map_or("", |(_, after)| after))
}

#[test]
fn no_inner_name_is_shown_in_any_stage_and_each_says_what_is_next() {
    for merged in [false, true] {
        let mut game = Game::pipeline();
        game.until_reviewing().says("tom", Role::Triage, "/explain").says("tom", Role::Triage, "/status");
        if merged {
            game.approved_by("mia").merged();
        }
        for &stage in Stage::ALL {
            let state = game.state.as_mut().unwrap();
            state.pipeline.as_mut().unwrap().stage = stage;
            let surface = game.surface();
            let mut shown = vec![said(&surface.comment)];
            shown.extend(surface.replies.iter().map(|reply| reply.body.clone()));
            shown.extend(surface.checks.iter().map(|check| format!("{}\n{}", check.title, check.summary)));
            for text in &shown {
                let inner = Stage::ALL.iter().find(|inner| text.contains(inner.as_str()));
                assert_eq!(inner, None, "{stage} {merged}: {text}");
            }
            assert!(next(&game).len() > 10, "{stage}: {}", next(&game));
            let (explain, status) = (&surface.replies[0].body, &surface.replies[1].body);
            assert!(explain.contains("Next: ") || explain.starts_with("Nothing stands against"), "{stage}: {explain}");
            assert!(status.len() < 1024, "{status}");
        }
    }
}

#[test]
fn a_refusal_is_under_a_kilobyte_whatever_was_written() {
    let mut game = Game::pipeline();
    let long = "\u{1f4a5}".repeat(900);
    for text in ["/verify ", "/pmf ", "/link ", "/unblock ", "/approve "] {
        game.push(text).says_too_early("mia", Role::Maintain, &format!("{text}{long}"));
        let reply = game.surface().replies.pop().unwrap().body;
        assert!(reply.len() < 1024 && reply.contains("`CMD-"), "{} {reply}", reply.len());
    }
}

#[test]
fn a_deployment_after_the_merge_names_the_merge_commit() {
    let mut game = Game::pipeline();
    game.through_verify().merged().deployment("success").at(Stage::PipelineComplete);
    let comment = comment(&game);
    let line = format!("- deploy: PASS on the merge commit `{}`", commit("merge").short());
    assert!(comment.lines().any(|one| one == line), "{comment}");
    insta::assert_snapshot!(next(&game), @"Nothing: it is through. `/iterate` begins another round, `/pmf start` asks its users.");
}

#[test]
fn after_the_merge_the_deploy_gate_is_shown_on_the_merge_commit() {
    let mut game = Game::pipeline();
    game.through_verify().merged();
    let shown = |game: &Game| {
        let mut checks = game.surface().checks;
        assert_eq!((checks.len(), &checks[0].head), (1, &commit("merge")));
        let check = checks.remove(0);
        assert!(check.name == "phasegate/deploy", "{}", check.name);
        (check.conclusion, check.title, check.summary)
    };
    let (conclusion, title, summary) = shown(&game);
    assert!(conclusion == Conclusion::ActionRequired && title.starts_with("DEPLOY waits"), "{title}");
    assert!(summary.starts_with("Judged by the newest deployment of the commit to each environment"), "{summary}");
    assert!(comment(&game).contains("_DEPLOY: Judged by the newest deployment"));
    game.deployment("failure");
    let (conclusion, title, _) = shown(&game);
    assert!(conclusion == Conclusion::Failure && title.starts_with("DEPLOY: FAIL 1 of 3"), "{title}");
    game.deployment("failure").deployment("failure").at(Stage::BlockedOnGate);
    assert_eq!(shown(&game).1, "DEPLOY is blocked and waits for a person");
    assert!(next(&game).contains("(C) revert it"), "{}", next(&game));
    game.says("mia", Role::Maintain, "/unblock the target was down").deployment("success").at(Stage::PipelineComplete);
    assert_eq!(shown(&game).1, "DEPLOY passed");

    let mut game = Game::pipeline();
    game.until_reviewing().merged();
    assert_eq!(game.surface().checks, [], "what went around the gate is not judged any more");
}

#[test]
fn somebodys_words_stay_theirs() {
    let mut game = Game::merge();
    game.says("ada", Role::Write, "/stop `a and **b**, see #1 and https://example.test");
    let says = game.finding("MRG-05").says.clone();
    assert_eq!(says, "The change is stopped: `'a and **b**, see #1 and https://example.test`.");
    assert!(next(&game).starts_with("It is stopped (`'a and **b**, see #1"), "{}", next(&game));
}

#[test]
fn a_mark_behind_the_name_is_named() {
    let mut game = Game::merge();
    game.says("ada", Role::Write, "/approve.");
    insta::assert_snapshot!(game.surface().replies.pop().unwrap().body, @r#"
    `CMD-01` `/approve.` was not done: behind `/approve` stands another character, `.` (U+002E).

    Write `/approve`, and a blank before anything else.
    "#);
}

/// The question, the options and the recommendation are those of the condition, in the comment and in the issue.
#[test]
fn each_condition_asks_its_own_question() {
    let asks = [
        ("stuck", "Decide what #7 tries next, or what becomes of it.", "(A) `APPROVE_OVERRIDE`: with an approach"),
        ("scope", "Decide whether #7 may be as large as it has become.", "(B) `AMEND_SPEC`: a smaller change"),
        (
            "dependency",
            "Decide whether #7 waits for what it depends on, or does without it.",
            "(A) `APPROVE_OVERRIDE`: as soon as",
        ),
        (
            "unsafe",
            "Decide whether what #7 does is safe, or what it does in its place.",
            "(B) `AMEND_SPEC`: unless somebody",
        ),
    ];
    for (condition, question, advice) in asks {
        for mut game in [Game::pipeline(), Game::merge()] {
            if game.now().pipeline.is_some() {
                game.until_building();
            }
            game.says("ada", Role::Write, &format!("/stop {condition}: look at it"));
            let (shown, next) = (issue(&game), next(&game));
            assert!(shown.contains(&format!("\n\n**{question}**\n\n**BLOCKED:** `ada` ")), "{condition}: {shown}");
            assert!(shown.contains(&format!("**Recommendation:** {advice}")), "{condition}: {shown}");
            let (_, wrong) = shown.split_once(" because ").expect("why it is");
            let (wrong, _) = wrong.split_once(": ").expect("what was said");
            assert!(next.starts_with(&format!("BLOCKED: {wrong} (")), "{condition}: {next}");
            let (_, go_on) = shown.split_once("**(A) `APPROVE_OVERRIDE`**: ").expect("an option");
            let (go_on, _) = go_on.split_once(". In short").expect("its end");
            assert!(next.contains(&format!("(A) {go_on}; (B) ")), "{condition}: {next}");
        }
    }
}

#[test]
fn the_complexity_brake_names_the_command_that_releases_it() {
    let mut game = Game::pipeline();
    game.until_reviewing().says("ada", Role::Write, "/stop Scope: it has doubled").at(Stage::ComplexityBrakeTriggered);
    insta::assert_snapshot!(next(&game), @"BLOCKED: it is much larger than its scope says (`Scope: it has doubled`). Options: (A) let it be that large; (B) cut the scope, and split off the rest; (C) close the pull request. For A a maintainer (not its author, and nobody who pushed to it) says `/brake-resolved REASON`, for another one `/resolve LETTER` as the issue shows. Recommendation: (B) a smaller change is judged sooner.");
    assert!(game.finding("MRG-05").next.contains("/brake-resolved"));
    game.says("mia", Role::Maintain, "/unblock fine");
    insta::assert_snapshot!(game.surface().replies.pop().unwrap().body, @r#"
    `CMD-03` `/unblock` was not done: the change stands at “stopped by the complexity brake”.

    What can: `/brake-resolved`, `/resolve`.
    "#);
    game.says("mia", Role::Maintain, "/brake-resolved split it").done().at(Stage::Reviewing);
}

#[test]
fn those_who_decide_are_named() {
    let mut game = Game::with("people: { approve: ['@zoe', '@octo/leads'] }");
    game.opened().says("ada", Role::Write, "/stop it leaks");
    let next = next(&game);
    assert!(next.contains("A maintainer, `zoe` or `octo/leads` (not its author"), "{next}");
}

#[test]
fn after_the_merge_it_says_so() {
    let mut game = Game::merge();
    game.green().approved_by("mia").merged().says("mia", Role::Maintain, "/approve");
    insta::assert_snapshot!(game.surface().replies.pop().unwrap().body, @r#"
    `CMD-03` `/approve` was not done: it is merged.

    What is to change now needs a pull request of its own.
    "#);
}

#[test]
fn the_limits_are_told_in_words() {
    let mut game = Game::merge();
    for _ in 0..30 {
        game.says("ada", Role::Write, "/link #9").done();
    }
    game.says("ada", Role::Write, "/status");
    insta::assert_snapshot!(game.surface().replies.pop().unwrap().body, @r#"
    `CMD-09` `/status` was not done: you have given 30 commands on this change within an hour, and more are not taken.

    Say it again after 14:47 UTC. Until then what you say here gets 😕 and no answer; others are not held up.
    "#);
    game.says("bob", Role::Write, &"/link 9\n".repeat(23));
    insta::assert_snapshot!(game.surface().replies.pop().unwrap().body, @r#"
    `CMD-10` `/link` was not done: a comment has at most 20 commands. The first 20 were carried out, the other 3 were not.

    Give the rest in another comment.
    "#);
}

/// Text as an attacker writes it.
fn hostile() -> impl Strategy<Value = String> {
    let parts = prop_oneof![
        Just("<script>alert(1)</script>".to_owned()),
        Just("@octo/everyone".to_owned()),
        Just("&#64;ada".to_owned()),
        Just("![x](http://evil.test/p.png)".to_owned()),
        Just("</details>".to_owned()),
        Just("<!--".to_owned()),
        Just("\u{202e}txt".to_owned()),
        Just("`\n# h\n".to_owned()),
        "[ -~]{0,20}",
        "\\PC{0,20}",
    ];
    prop::collection::vec(parts, 1..6).prop_map(|parts| parts.concat())
}

fn harmless(text: &str) -> Result<(), TestCaseError> {
    prop_assert!(!text.to_lowercase().contains("<script"), "{}", text);
    prop_assert!(!text.contains("<!--"), "{}", text);
    prop_assert!(!text.contains("&#"), "{}", text);
    prop_assert!(!text.contains("](http://evil"), "{}", text);
    prop_assert_eq!(text.matches("</details>").count(), text.matches("<details>").count(), "{}", text);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        prop_assert!(letter != '@' || letters.peek() == Some(&'\u{200b}'), "a mention in {}", text);
    }
    let turned = text.chars().any(|c| ('\u{202a}'..='\u{202e}').contains(&c));
    prop_assert!(!turned, "the text is turned");
    prop_assert!(text.chars().count() < 65_536);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_hostile_gets_through(text in hostile(), path in hostile(), login in hostile(), pipeline in any::<bool>()) {
        let mut game = if pipeline { Game::pipeline() } else { Game::merge() };
        game.world.pull.base_ref = text.clone();
        game.push_with("two", |game| {
            game.drifts(&path, "x").changes(&format!(".github/workflows/{path}"));
        });
        let mut run = game.job(&format!("phasegate/{text}"), &path, 1, &text);
        run.app = 9;
        game.run(run);
        game.green().review(&login, Role::Write, "CHANGES_REQUESTED").approved_by(&format!("{login}2"));
        game.rival(9, &text, false);
        let one_line = text.replace('\n', " ");
        game.says("bob", Role::Write, &format!("/stop x{one_line}\n/stop\n/link x{one_line}\n/pmf {one_line}"));
        game.says("tom", Role::Triage, "/explain\n/status\n/help");
        game.happens(&[crate::engine::Happened::Tampered { what: text.clone(), told: Some(text.clone()) }]);
        let surface = game.surface();
        harmless(&surface.comment)?;
        for check in &surface.checks {
            prop_assert!(check.title.chars().count() <= 200 && !check.title.contains('\n'));
            harmless(&check.summary)?;
        }
        for reply in &surface.replies {
            harmless(&reply.body)?;
        }
        prop_assert!(next(&game).len() < 1024);
        prop_assert_eq!(surface, game.surface());
    }
}
