---- MODULE PhasegatePipelineLaw ----
(***************************************************************************)
(* The pipeline's law: the table, with what guards each of its steps, and  *)
(* what happens beside it. The tables between the lines of dashes are      *)
(* printed from those that the engine runs. The rest is written by hand,   *)
(* and held against the engine by comparing the states and the steps of    *)
(* both.                                                                   *)
(*                                                                         *)
(*   java -cp tla2tools.jar tlc2.TLC -config content.cfg                   *)
(*        PhasegatePipelineLaw.tla                                         *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
    Guarded,    \* TRUE: the law. FALSE: the table alone, without a guard and without anything beside it.
    Fails,      \* The gates that may fail as often as the law lets them.
    Others,     \* How many FAILs of all other gates may be open at once.
    Rewrites,   \* The first documents that may be rewritten.
    Pushes,     \* Whether the content may become another one.
    Modes,      \* The modes that a change may start in, and be changed to.
    Stops,      \* Whether stops are called.
    Beyond      \* Whether there are ideas, set-up and other rounds.

(***************************************************************************)
(* Where a change is.                                                      *)
(*   stage, mode   where it stands, and whether it goes on by itself       *)
(*   back          where a pause, a detour, a drop or a block came from    *)
(*   content       whether there is anything yet                           *)
(*   passed        the pass on record of each gate: 0 none, 1 for what is  *)
(*                 there now, 2 and more for something else. Versions have *)
(*                 no names: only which gates passed for the same one.     *)
(*   attempts      the FAILs on record of each gate                        *)
(* And what truly happened, kept by rules of its own:                      *)
(*   truth         the last verdict of each gate, as in passed             *)
(*   counted       its FAILs since its last PASS or a person's unblock     *)
(***************************************************************************)
VARIABLE change

----------------------------------------------------------------------------
@DATA@
----------------------------------------------------------------------------

None == "none"
G == 1..Len(Gates)
Before(g) == 1..(g - 1)
After(g) == IF g = Len(Gates) THEN g ELSE g + 1
Zero == [g \in G |-> 0]
FromStage == [s \in Stages |-> {a \in Actions : s \in DOMAIN Leads[a]}]
\* The phase whose work is done in a stage.
Begins == [s \in Stages |-> IF \E g \in G : WorkOf[g] = s THEN CHOOSE g \in G : WorkOf[g] = s ELSE 0]
\* The verdict that an action is, of which gate.
Passes == [a \in Actions |-> IF a \in DOMAIN PassOf THEN PassOf[a] ELSE 0]
FailsOf == [a \in Actions |-> IF a \in DOMAIN FailOf THEN FailOf[a] ELSE 0]
Escalates == {"EscalateReviewFailure", "EscalateVerifyFailure"}

Holds(s, g) == s.content /\ s.passed[g] = 1
First(open(_)) == IF \E g \in G : open(g) THEN CHOOSE g \in G : open(g) /\ \A h \in Before(g) : ~open(h) ELSE Deploy
EarliestOpen(s) == LET open(g) == ~Holds(s, g) IN First(open)
Proven(s) == \A g \in Before(Deploy) : Holds(s, g)
Spent(s, g) == s.attempts[g] >= Limit[g]

\* Other names for the versions: what is there now is 1, the others follow as they are met, first in passed, then in
\* truth. The documents have versions of their own, and the content has one for all of its gates.
Same == [g \in G |-> 1]
New == 99
RECURSIVE Met(_, _, _, _)
Met(of, at, now, known) ==
    IF at > Len(of) THEN known
    ELSE Met(of, at + 1, now, IF of[at] = 0 \/ of[at] = now \/ \E i \in 1..Len(known) : known[i] = of[at]
                              THEN known ELSE Append(known, of[at]))
Name(v, now, known) ==
    IF v = 0 THEN 0 ELSE IF v = now THEN 1 ELSE 1 + CHOOSE i \in 1..Len(known) : known[i] = v
Renamed(s, p) ==
    IF p = Same /\ \A g \in G : s.passed[g] < 2 /\ s.truth[g] < 2 THEN s ELSE
    LET known == Met(SubSeq(s.passed, Build, Deploy) \o SubSeq(s.truth, Build, Deploy), 1, p[Build], <<>>)
        name(g, v) == IF g >= Build THEN Name(v, p[g], known)
                      ELSE Name(v, p[g], Met(<<s.passed[g], s.truth[g]>>, 1, p[g], <<>>))
    IN  [s EXCEPT !.passed = [g \in G |-> name(g, @[g])], !.truth = [g \in G |-> name(g, @[g])]]

----------------------------------------------------------------------------
\* One step of the table.

Allowed(s, a, by, to) ==
    /\ a \in Doors => by = "person"
    /\ Passes[a] = Reconcile => s.back = None
    /\ Passes[a] = Verify => \A g \in Before(Verify) : Holds(s, g)
    /\ Passes[a] = Deploy => \A g \in Before(Deploy) : Holds(s, g)
    /\ Passes[a] # 0 => s.content
    /\ a \in Blocks => Spent(s, GateOf[s.stage])
    /\ a \in Tries => ~Spent(s, GateOf[s.stage])
    /\ a \in Drops => ~Spent(s, GateOf[s.stage])
    /\ a \in GoesOn => s.mode = "auto"
    /\ a \in Pauses => s.mode = "stepped"
    /\ a \in Returns => s.back = to
    /\ a \in Distilled => to = IF s.back = "PipelineComplete" THEN "Iterating" ELSE s.back
    /\ a \in Recovers => to = WorkOf[EarliestOpen(s)] \/ (EarliestOpen(s) = Deploy /\ to = WorkOf[Verify])
    /\ a \in Delivered => Proven(s)

\* A phase begins on gates that passed, and on documents as they are; DEPLOY on gates that all hold.
Ready(s, g) == \A h \in Before(g) : s.passed[h] # 0 /\ (h \in Documents \/ g = Deploy => Holds(s, h))
MayBegin(s, a) == Begins[s.stage] = 0 \/ a \in Detours \/ Ready(s, Begins[s.stage])

Recorded(s, a, to) ==
    LET gate == IF s.back = None THEN 0 ELSE GateOf[s.back] IN
    [s EXCEPT
        !.stage = to,
        !.back = CASE a \in Blocks -> WorkOf[GateOf[s.stage]]
                   [] a \in Pauses -> WorkOf[After(PassedIn[s.stage])]
                   [] a \in Leaves -> s.stage
                   [] a \in Drops -> IF @ = None THEN s.stage ELSE @
                   [] a \in Returns \cup Distilled \cup Recovers -> None
                   [] OTHER -> @,
        !.passed = CASE Passes[a] # 0 -> [@ EXCEPT ![Passes[a]] = 1]
                     [] FailsOf[a] # 0 -> [@ EXCEPT ![FailsOf[a]] = 0]
                     [] a \in Confirms -> [g \in G |-> IF g = Expand /\ s.content THEN 1
                                                    ELSE IF g <= Design THEN @[g] ELSE 0]
                     [] a \in Redesigns -> [@ EXCEPT ![Design] = 0]
                     [] OTHER -> @,
        !.attempts = CASE Passes[a] # 0 -> [@ EXCEPT ![Passes[a]] = 0]
                       [] FailsOf[a] # 0 -> [@ EXCEPT ![FailsOf[a]] = @ + 1]
                       [] a \in Unblocks /\ gate # 0 -> [@ EXCEPT ![gate] = 0]
                       [] a \in Confirms -> Zero
                       [] OTHER -> @]

\* What is true after it, whatever was recorded.
Told(s, a, n) ==
    LET v == Verdicts[a]
        gate == IF s.back = None THEN 0 ELSE GateOf[s.back]
    IN
    [n EXCEPT
        !.truth = CASE v.gate # 0 /\ v.pass -> [@ EXCEPT ![v.gate] = 1]
                    [] v.gate # 0 /\ ~v.pass -> [@ EXCEPT ![v.gate] = 0]
                    [] a = "ConfirmIteration" -> [g \in G |-> IF g = Expand /\ s.content THEN 1
                                                           ELSE IF g <= Design THEN @[g] ELSE 0]
                    [] a = "IterateToDesign" -> [@ EXCEPT ![Design] = 0]
                    [] OTHER -> @,
        !.counted = CASE v.gate # 0 /\ v.pass -> [@ EXCEPT ![v.gate] = 0]
                      [] v.gate # 0 /\ ~v.pass -> [@ EXCEPT ![v.gate] = @ + 1]
                      [] a = "UnblockByUser" /\ gate # 0 -> [@ EXCEPT ![gate] = 0]
                      [] a = "ConfirmIteration" -> Zero
                      [] OTHER -> @]

\* Where a step leads: to one state, or, when it is refused, to none.
Step(s, a, by) ==
    IF s.stage \notin DOMAIN Leads[a] THEN {} ELSE
    LET to == Leads[a][s.stage] IN
    IF ~Guarded THEN {Told(s, a, [s EXCEPT !.stage = to])} ELSE
    IF ~Allowed(s, a, by, to) THEN {} ELSE
    {Renamed(Told(s, a, n), Same) : n \in {m \in {Recorded(s, a, to)} : MayBegin(m, a)}}

----------------------------------------------------------------------------
\* What follows by itself.

Follows(s, deploys) ==
    LET g == PassedIn[s.stage]
        at == GateOf[s.stage]
        only(of) == LET here == FromStage[s.stage] \cap of IN IF here = {} THEN None ELSE CHOOSE a \in here : TRUE
        open == EarliestOpen(s)
        lands == IF open = Deploy /\ ~deploys THEN Verify ELSE open
    IN  IF g = Verify /\ ~deploys THEN None
        ELSE IF g # 0 THEN only(IF s.mode = "stepped" THEN Pauses ELSE GoesOn)
        ELSE IF s.stage = "ContextRecovering" THEN CHOOSE a \in Recovers : Leads[a][s.stage] = WorkOf[lands]
        ELSE IF s.stage \in {"ReviewFixing", "VerifyFixing"} THEN IF Spent(s, at) THEN only(Escalates) ELSE None
        ELSE IF s.stage \in {"ReviewRetrying", "VerifyRetrying"} /\ ~Spent(s, at) THEN only(Tries)
        ELSE IF at # 0 /\ Spent(s, at) THEN only(Blocks) ELSE None

RECURSIVE Settled(_, _)
Settled(s, deploys) ==
    LET a == Follows(s, deploys)
        n == IF a = None THEN {} ELSE Step(s, a, "bot")
    IN  IF n = {} THEN s ELSE Settled(CHOOSE one \in n : TRUE, deploys)

----------------------------------------------------------------------------
\* What happens beside the table. It is never refused: it has already happened.

\* A gate that failed for the last time blocks before anything else happens.
LastTry(s) ==
    LET g == GateOf[s.stage] IN
    IF g # 0 /\ Spent(s, g) /\ s.stage \notin Closed
    THEN [s EXCEPT !.stage = "BlockedOnGate", !.back = WorkOf[g]]
    ELSE s

Recovering(s) == [s EXCEPT !.stage = "ContextRecovering", !.back = IF @ = None THEN s.stage ELSE @]

\* Whether the stage rests on a gate that no longer holds. Where something is fixed, only the documents count.
RestsOnStale(s) ==
    LET back == IF s.back = None THEN 0 ELSE GateOf[s.back]
        detour == s.stage = "Reconciling" /\ s.back # None
        under == IF s.stage = "SteppedModePaused" \/ detour THEN back
                 ELSE IF s.stage = "PipelineComplete" THEN Deploy
                 ELSE IF s.stage = "IterationConfirmed" THEN Design
                 ELSE IF s.stage \in Closed THEN 0
                 ELSE IF PassedIn[s.stage] # 0 THEN After(PassedIn[s.stage])
                 ELSE GateOf[s.stage]
        fixing == detour \/ s.stage \in {"ReviewFixing", "ReviewRetrying", "VerifyFixing", "VerifyRetrying"}
    IN  \E g \in Before(under) : (fixing => g \in Documents) /\ ~Holds(s, g)

IfStale(s) == IF RestsOnStale(s) THEN Recovering(s) ELSE s

\* What is there now has this name, for each gate.
Present(s, p) == IfStale(Renamed([LastTry(s) EXCEPT !.content = TRUE], p))
Code(v) == [g \in G |-> IF g \in Documents THEN 1 ELSE v]
Texts(from, v) == [g \in G |-> IF g \in Documents /\ g < from THEN 1 ELSE v]
Codes(s) == {s.passed[g] : g \in G \ Documents} \cup {s.truth[g] : g \in G \ Documents}

Renewed(s, g) ==
    IF s.passed[g] < 2 /\ s.truth[g] < 2 THEN LastTry(s) ELSE
    Renamed([LastTry(s) EXCEPT !.passed[g] = IF @ = 0 THEN 0 ELSE 1, !.truth[g] = IF @ = 0 THEN 0 ELSE 1], Same)

Begin == /\ Guarded /\ ~change.content
         /\ change' = Present(change, Same)
PushNew == /\ Guarded /\ Pushes /\ change.content
           /\ change' = Present(change, Code(New))
PushOlder == /\ Guarded /\ Pushes /\ change.content
             /\ \E v \in Codes(change) \ {0, 1} : change' = Present(change, Code(v))
RewriteNew == /\ Guarded /\ change.content
              /\ \E g \in G : Gates[g] \in Rewrites /\ change' = Present(change, Texts(g, New))
RewriteOlder == /\ Guarded /\ change.content
                /\ \E g \in G : Gates[g] \in Rewrites /\ change' = Present(change, Texts(g, 2))
Renew == /\ Guarded /\ change.content
         /\ \E g \in Build..Verify : change' = Renewed(change, g)
Retarget == /\ Guarded /\ Pushes /\ change.content
            /\ change' = IfStale([LastTry(change) EXCEPT !.passed = Zero, !.truth = Zero])
Reopen == /\ Guarded
          /\ change' = LET s == LastTry(change) IN
                       IF GateOf[s.stage] # 0 /\ s.stage \notin Closed THEN Recovering(s) ELSE s
Drop == /\ Guarded
        /\ change' = LET s == LastTry(change)
                         n == Step(s, "DropSession", "bot")
                     IN  IF n = {} THEN s ELSE CHOOSE one \in n : TRUE
StoppedAt(s, at) == IF s.stage \in Closed \cup {"SteppedModePaused"} THEN s
                    ELSE [s EXCEPT !.stage = at, !.back = IF @ = None THEN s.stage ELSE @]
Stop == /\ Guarded /\ Stops
        /\ change' = StoppedAt(LastTry(change), "BlockedOnGate")
\* Blocked by a stop alone: no gate has failed as often as it may.
StoppedOnly(s) == LET g == IF s.back = None THEN 0 ELSE GateOf[s.back]
                  IN  s.stage = "BlockedOnGate" /\ (g = 0 \/ ~Spent(s, g))
Brake == /\ Guarded /\ Stops
         /\ change' = LET s == LastTry(change)
                      IN  IF StoppedOnly(s) THEN [s EXCEPT !.stage = "ComplexityBrakeTriggered"]
                          ELSE StoppedAt(s, "ComplexityBrakeTriggered")
ChangeMode == /\ Guarded
              /\ \E m \in Modes \ {change.mode} : change' = [LastTry(change) EXCEPT !.mode = m]
Settle == /\ Guarded
          /\ change' = Settled(change, FALSE)
SettleDeployed == /\ Guarded
                  /\ change' = Settled(change, TRUE)

Facts == \/ Begin \/ PushNew \/ PushOlder \/ RewriteNew \/ RewriteOlder \/ Renew \/ Retarget \/ Reopen \/ Drop
         \/ Stop \/ Brake \/ ChangeMode \/ Settle \/ SettleDeployed

----------------------------------------------------------------------------
\* Every step of the table, by everybody. To the law the bot and an agent are the same.

RECURSIVE Sum(_, _)
Sum(f, of) == IF of = {} THEN 0 ELSE LET g == CHOOSE g \in of : TRUE IN f[g] + Sum(f, of \ {g})
Within(s, a) ==
    LET g == Verdicts[a].gate
        mayFail(h) == Gates[h] \in Fails
    IN  /\ g # 0 /\ ~Verdicts[a].pass /\ ~mayFail(g) => Sum(s.counted, {h \in G : ~mayFail(h)}) < Others
        /\ a \in Outer => Beyond
By(s, a, who) == IF a \in FromStage[s.stage] /\ Within(s, a) THEN UNION {Step(s, a, by) : by \in who} ELSE {}
Taken(a) == By(change, a, IF a \in Doors THEN {"agent", "person"} ELSE {"agent"})

@STEPS@
Start(stage, mode) == [stage |-> stage, mode |-> mode, back |-> None, content |-> FALSE,
                       passed |-> Zero, attempts |-> Zero, truth |-> Zero, counted |-> Zero]
Init == \E mode \in Modes, stage \in {"PreferencesConfigured"} \cup (IF Beyond THEN {Initial} ELSE {}) :
            change = Start(stage, mode)
Next == Steps \/ Facts
Spec == Init /\ [][Next]_change

----------------------------------------------------------------------------
\* What must hold.

True(s, g) == s.content /\ s.truth[g] = 1
FirstOpen(s) == LET open(g) == ~True(s, g) IN First(open)
Shut == {"BlockedOnGate", "ReconcileBlocked", "ComplexityBrakeTriggered"}
FailedIn == <<{"ExpandRetrying"}, {"DesignRetrying"}, {"AnalyzeRetrying"}, {"BuildRetrying"},
              {"ReviewFixing", "ReviewRetrying"}, {"ReconcileBlocked"}, {"VerifyFixing", "VerifyRetrying"},
              {"DeployRetrying"}>>

TypeOK ==
    /\ change.stage \in Stages /\ change.mode \in {"auto", "stepped"} /\ change.back \in Stages \cup {None}
    /\ change.content \in BOOLEAN
    /\ \A g \in G : change.passed[g] \in 0..(2 * Len(Gates) + 2) /\ change.truth[g] \in 0..(2 * Len(Gates) + 2)
    /\ \A g \in G : change.attempts[g] \in 0..4 /\ change.counted[g] \in 0..4

\* Nothing is complete without review and verify of what is there.
CompleteIsProven == change.stage = "PipelineComplete" => True(change, Review) /\ True(change, Verify)

\* The third FAIL of a gate (the fourth of RECONCILE) blocks.
ThirdFailBlocks ==
    \A g \in G : change.counted[g] >= (IF g = Reconcile THEN 4 ELSE 3) => change.stage \in FailedIn[g] \cup Shut

\* A stale pass is never used: a pass on record is one that was given, for the version it is on record for; ...
PassesAreTrue == \A g \in G : change.passed[g] # 0 => change.passed[g] = change.truth[g]
\* ... VERIFY has passed, and DEPLOY begins, only on gates that all hold; ...
DeliveryRestsOnProof ==
    change.stage \in {"VerifyGatePassed", "Deploying"} => \A g \in Before(Deploy) : True(change, g)
\* ... and a phase begins only on gates that passed and documents that are as they were. To reconcile in the middle of
\* another phase begins none.
Aside == {"ManualReconcileFromDesigning", "ManualReconcileFromAnalyzing", "ManualReconcileFromBuilding",
          "ManualReconcileFromReviewing", "ManualReconcileFromVerifying", "ResolveReconcileBlock"}
BeginsOnPasses == [][
    LET g == Begins[change'.stage]
        ready == \A h \in Before(g) : True(change', h) \/ (change'.truth[h] # 0 /\ h \notin Documents)
    IN  g # 0 /\ change'.stage # change.stage /\ ~ready =>
            change' \in UNION {By(change, a, {"agent", "person"}) : a \in Aside}
    ]_change

\* Recovery lands no later than the earliest gate that does not hold.
RecoveryLandsEarly == [][
    change.stage = "ContextRecovering" /\ Begins[change'.stage] # 0 => Begins[change'.stage] <= FirstOpen(change')
    ]_change

\* Nothing but a person leaves a block or the brake, or goes on from a pause.
WithoutPerson == Facts \/ change' \in UNION {By(change, a, {"agent"}) : a \in FromStage[change.stage]}
OnlyPersonUnblocks == [][change.stage \in Shut /\ change'.stage \notin Shut => ~WithoutPerson]_change
OnlyPersonContinues == [][change.stage = "SteppedModePaused" /\ Begins[change'.stage] # 0 => ~WithoutPerson]_change

\* Every state has a way on: some step leads nearer to the end, wherever the change stands. How near it is, is a number,
\* so there is no way that gets nearer for ever: what is there at all, then whether it is in the phases, then the gates
\* that do not hold, then the place in the pipeline.
Outside == [ValidatingPMF |-> 9, Distilling |-> 8, Ideating |-> 7, TemplateForked |-> 6, RepoCloned |-> 5,
            WorkspaceOpened |-> 4, AuditingStack |-> 4, PreferencesConfigured |-> 3, Iterating |-> 3,
            IterationProposed |-> 2, IterationConfirmed |-> 1]
Place(s) ==
    LET g == GateOf[s.stage]
        b == IF s.back = None THEN 0 ELSE GateOf[s.back]
        from(gate) == 10 * (Len(Gates) + 1 - gate)
    IN  IF s.stage = "ContextRecovering" THEN 100
        ELSE IF s.stage = "SessionDropped" THEN 101
        ELSE IF s.stage \in {"BlockedOnGate", "ComplexityBrakeTriggered"} THEN 102
        ELSE IF s.stage = "Reconciling" /\ b # 0 THEN IF Ready(s, b) THEN from(b) + 3 ELSE 103
        ELSE IF s.stage = "ReconcileBlocked" THEN 104
        ELSE IF s.stage \in {"ReviewFixing", "VerifyFixing"} THEN IF Spent(s, g) THEN 106 ELSE from(g) + 1
        ELSE IF s.stage = "SteppedModePaused" THEN from(b) + 2
        ELSE IF g = 0 THEN 0
        ELSE IF PassedIn[s.stage] # 0 THEN from(g) - 4
        ELSE IF Begins[s.stage] # 0 THEN from(g)
        ELSE IF Spent(s, g) THEN 105 ELSE from(g) + 2
Far(s) == (IF s.content THEN 0 ELSE 100000)
          + 10000 * (IF s.stage \in DOMAIN Outside THEN Outside[s.stage] ELSE 0)
          + 1000 * Cardinality({g \in G : ~Holds(s, g)})
          + Place(s)
\* A drop is the last resort.
Ahead == [s \in Stages |-> {a \in FromStage[s] : FailsOf[a] = 0 /\ a \notin Leaves \cup Drops}]
Nearer(s, who) ==
    LET far == Far(s) IN
    IF ~s.content THEN Far(Present(s, Same)) < far ELSE
    \/ \E a \in Ahead[s.stage] : \E n \in By(s, a, who) : Far(n) < far
    \/ \E g \in Build..Verify : Far(Renewed(s, g)) < far
    \/ \E n \in By(s, "DropSession", who) : Far(n) < far
WayOn == change.stage = "PipelineComplete" \/ Nearer(change, {"agent", "person"})

\* Honest work gets on by itself until a person is asked.
Asks == change.stage \in Resting \cup Shut \cup {"SteppedModePaused"}
HonestWork == Asks \/ Nearer(change, {"agent"})

====
