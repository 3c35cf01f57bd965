use std::sync::Mutex;

use super::*;
use crate::finding::Verdict;
use crate::gate::ran;
use crate::ids::Digest;
use artefact::PolicyFrom;

/// What somebody who watches sees.
#[derive(Default)]
struct Seen(Mutex<Vec<String>>);

impl Watcher for Seen {
    fn begins(&mut self, command: &str) {
        self.0.lock().unwrap().push(format!("> {command}"));
    }

    fn says(&mut self, bytes: &[u8]) {
        self.0.lock().unwrap().push(String::from_utf8_lossy(bytes).into_owned());
    }

    fn turns_to(&mut self, content: &str) {
        self.0.lock().unwrap().push(format!("on {content}"));
    }

    fn ended(&mut self, command: &CommandRun) {
        self.0.lock().unwrap().push(format!("< {} {:?}", command.command, command.outcome));
    }
}

fn plan(folder: &std::path::Path, commands: &[&str], reports: &[&str]) -> Plan {
    let owned = |list: &[&str]| list.iter().map(|one| (*one).to_owned()).collect();
    let environment =
        [("PATH", std::env::var_os("PATH").unwrap()), ("A_TOKEN", "t0ken-x".into()), ("GITHUB_TOKEN", "g".into())];
    Plan {
        module: "lamp".to_owned(),
        gate: RunGate::Verify,
        commands: owned(commands),
        prints: Vec::new(),
        audits: false,
        reports: owned(reports),
        coverage: Vec::new(),
        screenshots: Vec::new(),
        timeout: Timeout::default(),
        fresh: true,
        until: None,
        folder: folder.to_owned(),
        walls: Err("a test".to_owned()),
        walls_required: false,
        output: Size::new("1M").unwrap(),
        environment: environment.map(|(name, value)| (OsString::from(name), value)).to_vec(),
        keep_going: false,
        subject: Subject::default(),
        policy: PolicyRead { digest: Digest::of(b""), from: PolicyFrom::File, commit: None },
        run: None,
        attempts: Vec::new(),
    }
}

async fn carried_out(plan: &Plan) -> (Artefact, Vec<String>) {
    let mut seen = Seen::default();
    let carried = carry_out(plan, &mut seen, None, &CancellationToken::new()).await.unwrap();
    let done = conclude(plan, carried, Beside::default(), ran::judge);
    (done, seen.0.into_inner().unwrap())
}

const GREEN: &str = "echo '<testsuite><testcase name=\"a\"/></testsuite>' > junit.xml";

#[tokio::test]
async fn commands_are_carried_out_in_their_order_and_the_rest_is_left_out_after_a_failure() {
    let dir = tempfile::tempdir().unwrap();
    let mut plan = plan(dir.path(), &["echo one", "echo two; exit 3", "echo three"], &[]);
    let (done, seen) = carried_out(&plan).await;
    assert_eq!(
        seen,
        [
            "> echo one",
            "one\n",
            "< echo one Exited",
            "> echo two; exit 3",
            "two\n",
            "< echo two; exit 3 Exited",
            "< echo three NotRun"
        ]
    );
    assert_eq!(done.verdict, Verdict::Fail);
    assert_eq!(done.commands.iter().map(|command| command.status).collect::<Vec<_>>(), [Some(0), Some(3), None]);
    assert_eq!(done.commands[1].output.as_ref().unwrap().digest, Digest::of(b"two\n"));

    plan.keep_going = true;
    let (done, _) = carried_out(&plan).await;
    assert_eq!((done.commands[2].status, done.verdict), (Some(0), Verdict::Fail));
}

#[tokio::test]
async fn a_report_of_this_run_makes_it_pass() {
    let dir = tempfile::tempdir().unwrap();
    let (done, _) = carried_out(&plan(dir.path(), &[GREEN], &["junit.xml"])).await;
    assert_eq!((done.verdict, done.totals.passed, done.findings.len()), (Verdict::Pass, 1, 1));
    // And the same again is the report of the run before.
    let (done, _) = carried_out(&plan(dir.path(), &["true"], &["junit.xml"])).await;
    assert_eq!((done.verdict, done.findings[0].rule.as_str()), (Verdict::Fail, "VER-09"));
}

#[tokio::test]
async fn a_command_sees_no_token_of_the_job_and_its_secrets_are_not_kept() {
    let dir = tempfile::tempdir().unwrap();
    let (done, seen) = carried_out(&plan(dir.path(), &["echo ${GITHUB_TOKEN-none} $A_TOKEN"], &[])).await;
    assert_eq!(seen[1], "none t0ken-x\n", "the log is not ours to hide from");
    assert_eq!(done.commands[0].output.as_ref().unwrap().tail, "none ***\n");
}

#[tokio::test]
async fn one_that_is_stopped_says_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let stop = CancellationToken::new();
    stop.cancel();
    let plan = plan(dir.path(), &["sleep 600"], &[]);
    assert!(carry_out(&plan, &mut Seen::default(), None, &stop).await.is_none());
}

#[tokio::test]
async fn the_gates_time_is_for_all_its_commands() {
    let dir = tempfile::tempdir().unwrap();
    let mut plan = plan(dir.path(), &["sleep 600", "true"], &[]);
    plan.keep_going = true;
    plan.timeout = Timeout::new("1s").unwrap();
    let (done, _) = carried_out(&plan).await;
    let outcomes: Vec<CommandOutcome> = done.commands.iter().map(|command| command.outcome).collect();
    assert_eq!(outcomes, [CommandOutcome::TimedOut, CommandOutcome::NotRun]);
}

/// What is run beside the head has the rest of the gate's time, and the jobs of the templates have all of it.
#[tokio::test]
async fn what_has_no_time_left_is_not_run() {
    let dir = tempfile::tempdir().unwrap();
    let mut late = plan(dir.path(), &["true"], &[]);
    late.until = Some(Instant::now());
    assert_eq!(carried_out(&late).await.0.commands[0].outcome, CommandOutcome::NotRun);
    late.until = Some(Instant::now() + Duration::from_secs(60));
    assert!(carried_out(&late).await.0.commands[0].passed());
    for job in [
        include_str!("../../templates/evidence/.github/workflows/phasegate-evidence.yml"),
        include_str!("../../templates/evidence-after-ci/.github/workflows/phasegate-evidence.yml"),
        include_str!("../../templates/action/.github/workflows/phasegate-gates.yml"),
        include_str!("../../templates/advisory/.github/workflows/phasegate-gates.yml"),
    ] {
        let minutes = job.lines().find_map(|line| line.trim().strip_prefix("timeout-minutes: ")).unwrap();
        let minutes: u32 = minutes.parse().unwrap();
        assert!(minutes * 60 > TIMES * Timeout::default().as_secs() && minutes < 360, "{minutes}");
    }
}
