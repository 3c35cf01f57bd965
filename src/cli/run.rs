//! `phasegate run`: a gate's commands, as the policy names them.

mod beside;
mod frozen;
mod ground;
mod outputs;
mod show;
mod shows;
mod summary;

use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::{Exit, check, out};
use crate::actions;
use crate::finding::Verdict;
use crate::flow::Phase;
use crate::gate::ran;
use crate::guard::Manifest;
use crate::ids::CommitId;
use crate::policy::{self, Policy, RunGate, Runs};
use crate::repo::{LocalRepo, Reader as _, RepoPath};
use crate::runner::artefact::{self, Artefact, PolicyFrom, PolicyRead, Prepared, Subject};
use crate::runner::order::Order;
use crate::runner::{self, Around, Orphans, Plan};
use crate::surface::{self, page::Home};
use ground::{Ground, Machine};
use show::Live;

/// Run a gate's commands as the policy names them, and judge exit statuses and JUnit reports
///
/// The policy is read from the base, not from the change: what is run is what the default branch says. What happened is
/// written as `execution_log.json` into the artefact's folder, and as `evidence.html` for people. docs/runner.md says what counts. In GitHub Actions it writes the job's
/// summary, annotations, and the outputs verdict, reason and json.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// `build` or `verify`
    #[arg(value_name = "GATE")]
    gate: String,
    /// The repository, or a folder of it
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Run the commands in that folder itself, with what is not committed, and without walls
    #[arg(long)]
    in_place: bool,
    /// The commit whose policy is taken [default: in Actions the default branch's, by the event; else origin/HEAD, main,
    /// master]
    #[arg(long, value_name = "REV", conflicts_with = "policy")]
    base: Option<String>,
    /// Take this policy file instead
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// The artefact's folder [default: `phasegate-GATE` in RUNNER_TEMP, else in git's own folder]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The manifest of what is frozen, as `phasegate guard freeze` writes it [default: the change's newest on the ledger's branch,
    /// where that is here]
    #[arg(long, value_name = "FILE")]
    frozen: Option<PathBuf>,
    /// Go on after a command that failed
    #[arg(long)]
    keep_going: bool,
    /// Print `phasegate/run@1`; what the commands say goes to stderr
    #[arg(long)]
    json: bool,
    /// A server asks for it: the file says what it is about. It ends with its standard input
    #[arg(long, value_name = "FILE", hide = true, conflicts_with_all = ["in_place", "base", "policy"])]
    asked: Option<PathBuf>,
}

/// A policy with more bytes is not read anyway.
const ENOUGH: u64 = 1024 * 1024;

pub(super) async fn run(args: &Args) -> anyhow::Result<Exit> {
    let ended = ran(args).await;
    if let Err(error) = &ended {
        out::not_done(error, if args.json { out::Stream::Err } else { out::Stream::Out });
    }
    ended
}

async fn ran(args: &Args) -> anyhow::Result<Exit> {
    let gate = gate(&args.gate)?;
    let folder = args.dir.canonicalize().with_context(|| format!("there is no folder {}", args.dir.display()))?;
    let (repo, why) = match LocalRepo::around(&folder) {
        Ok(repo) => (Some(repo), None),
        Err(error) => (None, Some(error)),
    };
    let inside = actions::inside();
    let env = |name: &str| std::env::var(name).ok();
    if inside && env("GITHUB_EVENT_NAME").as_deref() == Some("pull_request_target") {
        let says = "A run on `pull_request_target` has the repository's secrets and a token that may write, and the commands of \
                    a gate run what the change brought along. Run gates on `pull_request`.";
        out::complain(&actions::annotate(actions::Level::Warning, None, None, "Phasegate", says));
    }
    let named = args.base.is_some() || args.policy.is_some();
    let order = args.asked.as_deref().map(ordered).transpose()?;
    let mut around = match &order {
        Some(order) => order.around(),
        None => runner::around(repo.as_ref(), &env, named)?,
    };
    let (law, read) = law(args, repo.as_ref().ok_or(why), &mut around, inside)?;
    let runs = law.gates.runs(gate);
    if runs.commands.is_empty() {
        bail!(unnamed(gate, &law, &read));
    }
    let machine = Machine::here(order.as_ref());
    let beside = match (&repo, args.in_place) {
        (Some(repo), false) => {
            let later = read.commit.as_ref().filter(|_| read.from == PolicyFrom::Base);
            let frozen = frozen(args, order.as_ref(), repo, &around.subject, &law)?;
            beside::Beside::of(repo, &folder, &around.subject, (&law, later, frozen.as_ref()), &runs, &machine)?
        }
        _ => None,
    };
    let environment = || machine.environment.clone();
    let ground = match (&repo, args.in_place) {
        (Some(repo), false) => Ground::fresh(repo, &folder, &mut around, &runs, &machine).await?,
        (Some(_), true) => Ground::open(folder.clone(), environment(), "--in-place was asked for"),
        (None, _) => Ground::open(folder.clone(), environment(), "it is in no git repository"),
    };
    let shows = match (&repo, args.in_place, gate) {
        (Some(repo), false, RunGate::Verify) => {
            shows::Shows::of(repo, &folder, &around.subject, &law, &runs, (&ground, &machine))?
        }
        _ => None,
    };
    let audited_on = audited_on(args, &runs, repo.as_ref(), &folder, &around, (&ground, &machine)).await?;
    let to = out_folder(args, gate, repo.as_ref());
    // Now, and not when all the commands have been run for a result that can't be kept.
    let is_content = |commit: &CommitId| match (&repo, &around.subject.head) {
        (Some(repo), Some(head)) => repo.diff(commit, head).is_ok_and(|deltas| deltas.is_empty()),
        _ => false,
    };
    let Prepared { attempts, held: _held } = artefact::prepare(&to, gate, &around.subject, &read.digest, is_content)?;
    let plan = Plan {
        module: module(&around.subject, repo.as_ref(), &args.dir),
        gate,
        commands: runs.commands.to_vec(),
        prints: Vec::new(),
        audits: false,
        reports: runs.reports.to_vec(),
        coverage: runs.coverage.to_vec(),
        screenshots: runs.screenshots.to_vec(),
        timeout: runs.timeout,
        folder: ground.folder.clone(),
        fresh: ground.root().is_some(),
        until: tokio::time::Instant::now().checked_add(whole(&runs)),
        walls: ground.walls.clone(),
        walls_required: runs.confine.required,
        output: runs.confine.output,
        environment: ground.environment.clone(),
        keep_going: args.keep_going,
        subject: around.subject,
        policy: read,
        run: around.run,
        attempts,
    };
    let stop = stop_on_signals()?;
    if order.is_some() {
        stop_with_input(stop.clone());
    }
    // From here on every child of this process is a gate's command.
    let orphans = Orphans::adopt();
    let mut live = Live::new(inside, args.json);
    let done = async {
        let mut carried = runner::carry_out(&plan, &mut live, orphans.as_ref(), &stop).await?;
        if !runs.audit.is_empty() {
            match &audited_on {
                Some(ground) if carried.has_passed() || args.keep_going => {
                    let (audits, commands) = (true, runs.audit.to_vec());
                    let (reports, coverage, screenshots) = (Vec::new(), Vec::new(), Vec::new());
                    let Ground { folder, walls, environment, .. } = ground;
                    let (folder, walls, environment) = (folder.clone(), walls.clone(), environment.clone());
                    let audit = Plan {
                        audits,
                        commands,
                        reports,
                        coverage,
                        screenshots,
                        folder,
                        walls,
                        environment,
                        ..plan.clone()
                    };
                    carried.audited(runner::carry_out(&audit, &mut live, orphans.as_ref(), &stop).await?);
                }
                _ => carried.not_audited(runs.audit),
            }
        }
        let earned = match &beside {
            // What is red is not green by any proof.
            Some(beside) if carried.is_green() => {
                Some(beside.held_against(&plan, &carried, &mut live, orphans.as_ref(), &stop).await?)
            }
            _ => None,
        };
        let beside = match &shows {
            Some(shows) => {
                shows.carried_out(&plan, (&carried, earned.as_ref()), &mut live, orphans.as_ref(), &stop).await?
            }
            None => runner::Beside::default(),
        };
        Some(runner::conclude(&plan, carried, runner::Beside { earned, ..beside }, ran::judge))
    };
    let Some(done) = done.await else {
        out::complain("interrupted: the commands were ended, and nothing was written.\n");
        return Ok(Exit::Interrupted);
    };
    let server = env("GITHUB_SERVER_URL").filter(|server| inside && !server.is_empty());
    done.write(&to, &page(&done, server.as_deref()))?;
    live.result(&done, &to);
    if let Some(says) = too_large(done.text()?.len()) {
        let note = match inside {
            true => actions::annotate(actions::Level::Warning, None, None, "Phasegate", &says),
            false => format!("warning: {says}\n"),
        };
        out::complain(&note);
    }
    if inside {
        let files = actions::Files::from_env();
        if let Err(error) = files.append_summary(&summary::markdown(&done)) {
            out::complain(&format!("warning: the job summary could not be written: {error}\n"));
        }
        // Unlike a page, these may decide what the steps after this one do.
        for (name, value) in outputs::of(&done)? {
            files.set_output(name, &value).context("the step's outputs can't be written (GITHUB_OUTPUT)")?;
        }
    }
    if args.json {
        out::raw(&done.text()?)?;
    }
    Ok(Exit::found(done.verdict == Verdict::Fail))
}

/// What is frozen of the change.
fn frozen(
    args: &Args,
    order: Option<&Order>,
    repo: &LocalRepo,
    subject: &Subject,
    law: &Policy,
) -> anyhow::Result<Option<Manifest>> {
    if let Some(file) = &args.frozen {
        return frozen::in_file(file).map(Some);
    }
    if let Some(order) = order {
        let manifest = order.frozen.as_deref().map(Manifest::parse).transpose();
        return manifest.map_err(|why| anyhow::anyhow!("the order's manifest is none: {why}"));
    }
    let Some(change) = subject.change else { return Ok(None) };
    match frozen::on_ledger(repo, change, &law.ledger.branch) {
        Ok(found) => Ok(found),
        // What is wrong with the ledger is told by who has its key (`tripwire_missing`).
        Err(error) => {
            out::complain(&format!("note: what is frozen is not known here: {}\n", out::plain(&format!("{error:#}"))));
            Ok(None)
        }
    }
}

/// How long everything may take that is run for a gate.
fn whole(runs: &Runs<'_>) -> Duration {
    Duration::from_secs(runs.timeout.as_secs().into()) * runner::TIMES
}

/// What is to be said of a log that a server will not take, or will hardly take the next one.
fn too_large(bytes: usize) -> Option<String> {
    let most = artefact::LARGEST;
    let says = match bytes {
        _ if bytes > most => "more than the server of an App takes, so that it can't be posted",
        _ if bytes > most / 10 * 9 => "and not much more is taken by the server of an App",
        _ => return None,
    };
    Some(format!(
        "{} has {bytes} bytes, {says} ({most}). Let the reports have fewer tests with shorter names: one for a table of cases, or \
         one for a file.",
        artefact::FILE
    ))
}

/// Where the dependencies are audited: on a copy that the build has not touched, with the network that the audit may have.
async fn audited_on(
    args: &Args,
    runs: &Runs<'_>,
    repo: Option<&LocalRepo>,
    folder: &Path,
    around: &Around,
    (ground, machine): (&Ground, &Machine),
) -> anyhow::Result<Option<Ground>> {
    if runs.audit.is_empty() {
        return Ok(None);
    }
    let environment = || machine.environment.clone();
    Ok(Some(match (repo, &around.subject.head, &ground.walls) {
        (Some(repo), Some(head), _) if !args.in_place => {
            let runs = Runs { network: runs.audit_network, ..*runs };
            Ground::of(repo, folder, (head, &[]), &runs, machine).await?
        }
        (_, _, Err(why)) => Ground::open(folder.to_owned(), environment(), why),
        (_, _, Ok(_)) => Ground::open(folder.to_owned(), environment(), "there is no head to lay out"),
    }))
}

/// The run for people. It has links where GitHub is known.
fn page(done: &Artefact, server: Option<&str>) -> String {
    let home = server.zip(done.subject.repository.as_ref()).map(|(server, slug)| Home {
        server: server.trim_end_matches('/'),
        slug,
        ledger: "",
        change: done.subject.change.unwrap_or(0),
    });
    surface::page::run(done, home.as_ref())
}

fn gate(name: &str) -> anyhow::Result<RunGate> {
    if let Some(gate) = RunGate::EACH.into_iter().find(|gate| gate.as_str() == name) {
        return Ok(gate);
    }
    if let Some(phase) = Phase::parse(name) {
        let by = match phase {
            Phase::Expand | Phase::Design | Phase::Analyze => "its document; `phasegate check` looks at it",
            Phase::Review => "people's reviews",
            Phase::Deploy => "what GitHub tells of the deployment",
            _ => "comparing documents and code",
        };
        bail!("the gate `{phase}` runs nothing: it is judged by {by}. There are build and verify");
    }
    let near = RunGate::EACH.map(|gate| (strsim::damerau_levenshtein(&name.to_lowercase(), gate.as_str()), gate));
    match near.into_iter().min().filter(|(distance, _)| *distance <= 2) {
        Some((_, gate)) => bail!("there is no gate `{name}`; did you mean `{gate}`?"),
        None => bail!("there is no gate `{name}` that runs anything; there are build and verify"),
    }
}

/// The policy, and where it comes from.
fn law(
    args: &Args,
    repo: Result<&LocalRepo, Option<crate::repo::Error>>,
    around: &mut Around,
    inside: bool,
) -> anyhow::Result<(Policy, PolicyRead)> {
    if let Some(file) = &args.policy {
        if inside {
            out::complain(
                "note: --policy names a file. If it is one of the checkout, the change decides what is run.\n",
            );
        }
        let read = from_file(file)?;
        if let (None, Ok(repo)) = (&around.subject.base, &repo) {
            let named = args.base.as_deref().map(|base| check::revision(repo, base)).transpose()?;
            let found = || {
                tip(repo, around.subject.checkout.clone())
                    .ok()
                    .filter(|(_, from)| *from == PolicyFrom::Base)
                    .map(|(commit, _)| commit)
            };
            around.subject.base = named.or_else(found);
        }
        return Ok(read);
    }
    let repo = repo.map_err(|why| {
        let says = format!("{} is not in a git repository; name the policy with --policy FILE", args.dir.display());
        match why {
            Some(why) => anyhow::Error::new(why).context(says),
            None => anyhow::anyhow!(says),
        }
    })?;
    let (commit, from) = match (&args.base, around.law.take()) {
        (Some(base), _) => (check::revision(repo, base)?, PolicyFrom::Base),
        (None, Some(commit)) => (commit, PolicyFrom::Base),
        (None, None) => tip(repo, around.subject.checkout.clone())?,
    };
    if from == PolicyFrom::Base && around.subject.base.is_none() {
        around.subject.base = Some(commit.clone());
    }
    let Some(blob) = repo.blob(&commit, &RepoPath::from(policy::PATH))? else {
        let hint = match args.dir.join(policy::PATH).is_file() {
            true => format!("; to try the one that is here: --policy {}", policy::PATH),
            false => String::new(),
        };
        bail!("the base ({}) has no {}, so nothing is to be run{hint}", commit.short(), policy::PATH);
    };
    let policy = parsed(&blob.bytes, &format!("at the base ({})", commit.short()))?;
    let read = PolicyRead { digest: policy.digest(), from, commit: Some(commit) };
    Ok((policy, read))
}

/// The policy that holds for work in this repository.
pub(super) fn law_of(repo: &LocalRepo, base: Option<&str>, file: Option<&Path>) -> anyhow::Result<Policy> {
    if let Some(file) = file {
        return Ok(from_file(file)?.0);
    }
    let commit = match base {
        Some(base) => check::revision(repo, base)?,
        None => tip(repo, repo.resolve("HEAD")?)?.0,
    };
    let Some(blob) = repo.blob(&commit, &RepoPath::from(policy::PATH))? else {
        bail!(
            "the base ({}) has no {}\nCommit one to the default branch, or name a file with --policy",
            commit.short(),
            policy::PATH
        );
    };
    parsed(&blob.bytes, &format!("at the base ({})", commit.short()))
}

/// The default branch's tip as far as this repository knows it.
fn tip(repo: &LocalRepo, checkout: Option<CommitId>) -> anyhow::Result<(CommitId, PolicyFrom)> {
    if let Ok(tip) = check::default_tip(repo) {
        return Ok((tip, PolicyFrom::Base));
    }
    let own = checkout.context("there is no commit here yet; name the policy with --policy")?;
    out::complain(
        "note: there is no default branch here (origin/HEAD, main, master); the policy of HEAD itself is taken.\n",
    );
    Ok((own, PolicyFrom::Checkout))
}

fn from_file(file: &Path) -> anyhow::Result<(Policy, PolicyRead)> {
    let cant = || format!("can't read the policy {}", file.display());
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(file).with_context(cant)?;
    opened.take(ENOUGH).read_to_end(&mut bytes).with_context(cant)?;
    let policy = parsed(&bytes, &format!("in {}", file.display()))?;
    let read = PolicyRead { digest: policy.digest(), from: PolicyFrom::File, commit: None };
    Ok((policy, read))
}

fn parsed(bytes: &[u8], place: &str) -> anyhow::Result<Policy> {
    policy::parse(bytes).map_err(|problems| {
        let first = problems.first().map(|problem| format!(" (line {}: {})", problem.line, problem.says));
        let first = first.unwrap_or_default();
        anyhow::anyhow!("the policy {place} is invalid{first}; `phasegate config check` says more")
    })
}

/// What to write where a gate has no commands.
fn unnamed(gate: RunGate, law: &Policy, read: &PolicyRead) -> String {
    let place = match &read.commit {
        Some(commit) => format!("the policy at {}", commit.short()),
        None => "the policy".to_owned(),
    };
    let other = RunGate::EACH.into_iter().find(|other| !law.gates.runs(*other).commands.is_empty());
    let other = other.map(|other| format!(" (it has some for `{other}`)")).unwrap_or_default();
    format!(
        "{place} names no commands for the gate `{gate}`{other}\nAdd them to {} on the default branch:\n\n  gates:\n    \
         {gate}:\n      run: [\"make test\"]\n",
        policy::PATH
    )
}

/// The name of what is tested.
fn module(subject: &Subject, repo: Option<&LocalRepo>, folder: &Path) -> String {
    let root = repo.and_then(LocalRepo::root).or_else(|| folder.canonicalize().ok());
    let name = || root.and_then(|root| Some(root.file_name()?.to_string_lossy().into_owned())).unwrap_or_default();
    subject.repository.as_ref().map_or_else(|| runner::text::line(&name(), 100), ToString::to_string)
}

fn out_folder(args: &Args, gate: RunGate, repo: Option<&LocalRepo>) -> PathBuf {
    if let Some(out) = &args.out {
        return out.clone();
    }
    let name = format!("phasegate-{gate}");
    match (std::env::var_os("RUNNER_TEMP").filter(|folder| !folder.is_empty()), repo) {
        (Some(folder), _) => PathBuf::from(folder).join(name),
        (None, Some(repo)) => repo.git_folder().join(name),
        // A name that others could take first is not for a folder that all may write.
        (None, None) => std::env::temp_dir().join(OsString::from(format!("{name}-{}", uuid::Uuid::new_v4().simple()))),
    }
}

/// What a server asks for.
fn ordered(file: &Path) -> anyhow::Result<Order> {
    let cant = || format!("what is asked for can't be read from {}", file.display());
    serde_json::from_slice(&std::fs::read(file).with_context(cant)?).with_context(cant)
}

/// The server holds the other end: where it is gone, nobody waits for the result, and the commands are not to outlive it.
fn stop_with_input(stop: CancellationToken) {
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        stop.cancel();
    });
}

/// Actions interrupts a job that is cancelled, and asks it to end a little later.
pub(super) fn stop_on_signals() -> anyhow::Result<CancellationToken> {
    let stop = CancellationToken::new();
    for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
        let (mut heard, stop) = (signal(kind).context("can't listen for signals")?, stop.clone());
        tokio::spawn(async move {
            heard.recv().await;
            stop.cancel();
        });
    }
    Ok(stop)
}
