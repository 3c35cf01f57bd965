//! A task on a pull request: what its `STATE.md` claims, an agent that is asked by comments, and the people beside it.

use phasegate::gate::task::{Field, STATE, read};
use phasegate::rehearsal::{REPO, Rehearsal, Setup};

use super::{assert_merge, kinds, merge_says};

const POLICY: &str = "\
version: 1
flow: task
agents: { main: { comment: \"@rover\", timeout: 2h } }
gates:
  verify:
    checks:
      - { name: test, workflow: .github/workflows/ci.yml }
";

const FOLDER: &str = "tasks/dim";

fn template() -> String {
    include_str!("../../templates/task/STATE.md").replace("{{today}}", "2026-01-31")
}

fn set(text: &str, fields: &[(Field, &str)]) -> String {
    let with = |text: String, (field, value): &(Field, &str)| read(STATE, text.as_bytes()).unwrap().with(*field, value);
    fields.iter().fold(text.to_owned(), with)
}

/// What the agent has on its branch.
struct Work<'r> {
    on: &'r Rehearsal,
    number: u64,
    state: String,
    pushes: u32,
}

impl<'r> Work<'r> {
    async fn begun(on: &'r Rehearsal) -> Self {
        let (state, path) = (template(), format!("{FOLDER}/{STATE}"));
        on.pushes("rover", "dim", "a task", &[(&path, &state), (&format!("{FOLDER}/README.md"), "Dim the lamp.\n")])
            .await
            .unwrap();
        let number = on.opens("rover", "Dim the lamp", "dim").await.unwrap();
        Self { on, number, state, pushes: 0 }
    }

    /// One push: fields of `STATE.md`, and files beside it.
    async fn pushes(&mut self, fields: &[(Field, &str)], files: &[(&str, &str)]) -> String {
        self.state = set(&self.state, fields);
        self.pushes += 1;
        let path = format!("{FOLDER}/{STATE}");
        let mut all = vec![(path.as_str(), self.state.as_str())];
        all.extend(files);
        self.on.pushes("rover", "dim", &format!("pass {}", self.pushes), &all).await.unwrap()
    }

    /// What the agent was asked last.
    fn asked(&self) -> String {
        let comments = self.on.bot_comments(self.number).unwrap();
        comments.into_iter().rfind(|comment| comment.starts_with("@rover ")).expect("it was asked")
    }

    fn label(&self) -> String {
        self.on.label(self.number).unwrap().unwrap_or_default()
    }

    fn check(&self) -> String {
        let run = self.on.run(&self.on.head(self.number).unwrap(), "phasegate/task").unwrap().expect("a check");
        format!("{}: {}", run.conclusion.unwrap_or_default(), run.title.unwrap_or_default())
    }

    fn comment(&self) -> String {
        self.on.bot_comments(self.number).unwrap().remove(0)
    }
}

/// The agent is asked by comments and answers by pushes: a verify that fails, a repair, and verified again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_is_led_from_intake_to_done_by_comments() {
    let on = Rehearsal::start(Setup::with_policy(POLICY)).await.unwrap();
    let mut work = Work::begun(&on).await;
    assert_eq!(work.label(), "phase:intake");
    assert!(work.check().starts_with("action_required: TASK intake"), "{}", work.check());
    assert_merge(&on, work.number, "action_required");

    on.says("ada", work.number, "/task loop").await.unwrap();
    assert!(work.asked().contains("It is in the phase `intake`"), "{}", work.asked());
    let frame = [
        (Field::Objective, "The lamp can be dimmed."),
        (Field::DoneGate, "The meter shows each step."),
        (Field::NotDoing, "none"),
        (Field::Constraints, "none"),
        (Field::Phase, "shape"),
    ];
    work.pushes(&frame, &[]).await;
    assert_eq!(work.label(), "phase:shape");
    assert!(work.asked().contains("It is in the phase `shape`"), "{}", work.asked());
    work.pushes(&[(Field::ValidationPlan, "`make test`"), (Field::Phase, "implement")], &[]).await;
    assert_eq!(work.label(), "phase:implement");
    let handed_in = [
        (Field::CandidateDone, "yes"),
        (Field::EvidenceLocation, "EVIDENCE.md"),
        (Field::EvidenceLink, "https://example.org/dim/EVIDENCE.md"),
        (Field::Phase, "verify"),
    ];
    work.pushes(&handed_in, &[("src/dim.py", "def dim():\n    return 0\n"), ("tasks/dim/EVIDENCE.md", "Seen.\n")])
        .await;
    assert_eq!(work.label(), "phase:verify");

    // It says that everything passes, and the checks say otherwise.
    let seen = [("tasks/dim/EVIDENCE.md", "Seen: the meter moves.\n")];
    let head = work.pushes(&[(Field::ValidatorStatus, "pass"), (Field::Phase, "review")], &seen).await;
    assert_eq!(work.label(), "phase:verify");
    assert!(work.check().contains("review is claimed"), "{}", work.check());
    on.ci(&head, "failure").await.unwrap();
    assert!(work.check().starts_with("failure: TASK verify: review does not hold."), "{}", work.check());
    assert_eq!(work.label(), "phase:verify");
    assert!(work.asked().contains("TSK-12"), "what it lacked is told in the next pass: {}", work.asked());

    work.pushes(&[(Field::Phase, "repair"), (Field::ValidatorStatus, "fail")], &[]).await;
    assert_eq!(work.label(), "phase:repair");
    let mended = [(Field::RepairApplied, "yes"), (Field::Phase, "verify")];
    work.pushes(&mended, &[("src/dim.py", "def dim(step):\n    return step * 10\n")]).await;
    let again = [(Field::ValidatorStatus, "pass"), (Field::RevalidationStatus, "pass"), (Field::Phase, "review")];
    let head = work.pushes(&again, &[]).await;
    on.ci(&head, "success").await.unwrap();
    assert_eq!(work.label(), "phase:review");

    let head = work.pushes(&[(Field::Phase, "done")], &[]).await;
    on.ci(&head, "success").await.unwrap();
    assert_eq!(work.label(), "phase:review", "nobody has looked");
    assert!(work.comment().contains("TSK-25"), "{}", work.comment());
    on.reviews("mia", work.number, "APPROVE").await.unwrap();
    assert_eq!(work.label(), "phase:done");
    assert_eq!(work.check(), "success: TASK done");
    assert_merge(&on, work.number, "success");
    on.merges("ada", work.number).await.unwrap().unwrap();

    let asked = on.bot_comments(work.number).unwrap();
    let asked: Vec<&String> = asked.iter().filter(|comment| comment.starts_with("@rover ")).collect();
    let passes = kinds(&on, work.number).into_iter().filter(|kind| kind == "pass_begun").count();
    assert_eq!(asked.len(), passes, "each pass was asked for once");
    on.end().await;
}

/// Forbidden phases, code where nothing is built, and a sheet in no form: refused, with the rule, and the phase stays.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_follow_is_refused_by_name() {
    let on = Rehearsal::start(Setup::with_policy(POLICY)).await.unwrap();
    let mut work = Work::begun(&on).await;
    work.pushes(&[(Field::Phase, "done")], &[]).await;
    assert!(work.check().contains("done does not hold. done does not follow on intake"), "{}", work.check());
    assert!(merge_says(&on, work.number).contains("The task is not through"), "{}", merge_says(&on, work.number));
    let path = format!("{FOLDER}/{STATE}");
    on.pushes("rover", "dim", "prose", &[(&path, "I am done!\n")]).await.unwrap();
    assert!(work.comment().contains("TSK-02"), "{}", work.comment());
    work.pushes(&[(Field::Phase, "intake")], &[("src/dim.py", "def dim():\n    return 0\n")]).await;
    assert!(work.comment().contains("TSK-05") && work.comment().contains("src/dim.py"), "{}", work.comment());
    assert_eq!(work.label(), "phase:intake");

    // Without a task there is nothing to be led through.
    on.pushes("rover", "other", "no task", &[("src/a.py", "a = 1\n")]).await.unwrap();
    let other = on.opens("rover", "No task", "other").await.unwrap();
    let comment = on.bot_comments(other).unwrap().remove(0);
    assert!(comment.contains("`TSK-02`") && comment.contains("phasegate task init"), "{comment}");
    on.end().await;
}

/// A task that needs somebody opens an issue; the answer there takes it up where it was left.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocked_task_asks_in_an_issue_and_goes_on_from_the_answer() {
    let on = Rehearsal::start(Setup::with_policy(POLICY)).await.unwrap();
    let mut work = Work::begun(&on).await;
    let frame = [
        (Field::Objective, "The lamp can be dimmed."),
        (Field::DoneGate, "The meter shows each step."),
        (Field::NotDoing, "none"),
        (Field::Constraints, "none"),
        (Field::Phase, "shape"),
    ];
    work.pushes(&frame, &[]).await;
    on.says("ada", work.number, "/task loop").await.unwrap();
    let stuck = [(Field::Blockers, "Nobody says how dark the darkest step is."), (Field::Phase, "needs_user_decision")];
    work.pushes(&stuck, &[]).await;
    assert_eq!(work.label(), "phase:blocked");
    let issue = on.escalations().unwrap().pop().expect("an issue");
    assert!(issue.body.as_deref().unwrap_or_default().contains("how dark the darkest step is"), "{:?}", issue.body);
    let asked = on.bot_comments(work.number).unwrap().len();
    on.says("rover", issue.number, "/unblock ten percent").await.unwrap();
    assert_eq!(work.label(), "phase:blocked", "whoever pushed does not decide");
    on.says("mia", issue.number, "/unblock ten percent").await.unwrap();
    assert_eq!(work.label(), "phase:shape");
    assert!(!on.escalations().unwrap().pop().unwrap().open);
    assert!(on.bot_comments(work.number).unwrap().len() <= asked + 1, "no agent is asked that nobody asked for");
    on.says("ada", work.number, "/task run").await.unwrap();
    assert!(work.asked().contains("It is in the phase `shape`"), "{}", work.asked());
    on.end().await;
}

/// The same with an agent that a workflow starts: it is started once, and told so where there is no such workflow.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workflow_that_is_not_there_is_told_and_asked_for_no_more() {
    let policy = POLICY.replace("comment: \"@rover\"", "workflow: .github/workflows/agent.yml");
    let on = Rehearsal::start(Setup::with_policy(&policy)).await.unwrap();
    let work = Work::begun(&on).await;
    on.says("ada", work.number, "/task loop").await.unwrap();
    assert!(work.comment().contains("could not be asked for"), "{}", work.comment());
    assert!(work.comment().contains("workflow_dispatch"), "{}", work.comment());
    let ended = kinds(&on, work.number);
    assert_eq!(ended.iter().filter(|kind| *kind == "pass_ended").count(), 1);
    on.end().await;
}

/// A workflow that takes what a pass says.
const AGENT: &str = "\
name: agent
run-name: 'Phasegate pass #${{ inputs.change }} ${{ inputs.pass }}'
on:
  workflow_dispatch:
    inputs:
      change: { required: true }
      pass: { required: true }
      branch: { required: true }
      head: { required: true }
      prompt: { required: true }
permissions: {}
jobs:
  agent:
    runs-on: ubuntu-latest
    steps:
      - run: 'true'
";

/// Where there is one, it is started once for each pass, however often the change is looked at.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workflow_is_started_once_for_each_pass() {
    let policy = POLICY.replace("comment: \"@rover\"", "workflow: .github/workflows/agent.yml");
    let mut setup = Setup::with_policy(&policy);
    setup.files.push((".github/workflows/agent.yml".to_owned(), AGENT.to_owned()));
    let mut on = Rehearsal::start(setup).await.unwrap();
    let number = {
        let mut work = Work::begun(&on).await;
        on.says("ada", work.number, "/task loop").await.unwrap();
        on.says("ada", work.number, "/status").await.unwrap();
        let asked = on.admin().dispatched(REPO, ".github/workflows/agent.yml").unwrap();
        assert_eq!(asked.len(), 1, "{asked:#?}");
        let inputs = &asked[0].1;
        let said = |name: &str| inputs[name].as_str().unwrap_or_default().to_owned();
        assert_eq!((said("change"), said("pass"), said("branch")), (work.number.to_string(), "1".into(), "dim".into()));
        assert_eq!(said("head"), on.head(work.number).unwrap());
        assert!(said("prompt").starts_with("# One pass at the task in `tasks/dim`"), "{}", said("prompt"));
        let frame = [
            (Field::Objective, "The lamp can be dimmed."),
            (Field::DoneGate, "The meter shows each step."),
            (Field::NotDoing, "none"),
            (Field::Constraints, "none"),
            (Field::Phase, "shape"),
        ];
        work.pushes(&frame, &[]).await;
        assert_eq!(
            on.admin().dispatched(REPO, ".github/workflows/agent.yml").unwrap().len(),
            2,
            "the next pass is another run"
        );
        work.number
    };
    // Who has forgotten that it was started finds the run by its name.
    on.loses_its_database().await.unwrap();
    on.says("ada", number, "/status").await.unwrap();
    assert_eq!(on.admin().dispatched(REPO, ".github/workflows/agent.yml").unwrap().len(), 2);

    on.says("ada", number, "/task pause").await.unwrap();
    let comment = on.bot_comments(number).unwrap().remove(0);
    assert!(comment.contains("Pass 2 is asked of an agent; it has until"), "{comment}");
    on.end().await;
}
