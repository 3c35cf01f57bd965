//! `phasegate action`: one event inside GitHub Actions.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context as _, bail};
use secrecy::{ExposeSecret as _, SecretString};

use super::app::Given;
use super::serve::log_filter;
use super::{Exit, app, out};
use crate::action::claims;
use crate::action::event::{self, BadEvent};
use crate::action::report::{ADVISORY, Report, observing};
use crate::actions::{self, Files};
use crate::github;
use crate::ids::Slug;
use crate::repo;
use crate::server::{Heard, Identity, Once, OnceConfig};

/// Work off one event inside GitHub Actions
///
/// Takes what the runner sets: GITHUB_EVENT_NAME, GITHUB_EVENT_PATH, GITHUB_REPOSITORY and, for an Enterprise Server,
/// GITHUB_API_URL. With APP_ID and PRIVATE_KEY it speaks as that App, and its merge check can be required; with GITHUB_TOKEN
/// alone it is advisory. PHASEGATE_MODE says which of the two it is to be, `enforcing` or `advisory`: then nothing else will
/// do. Writes the job's summary, annotations, and the outputs phase, verdict, reason, change and json.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// How long is waited for what fails and may not fail again, in seconds [default: 240]
    #[arg(long, env = "PHASEGATE_PATIENCE")]
    patience: Option<Given<Patience>>,
    /// Do not keep under GitHub's secondary rate limits by ourselves: for an Enterprise Server without any
    #[arg(long, env = "PHASEGATE_UNPACED", value_parser = clap::builder::FalseyValueParser::new())]
    unpaced: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Seconds.
#[derive(Debug, Clone, Copy)]
struct Patience(u64);

impl FromStr for Patience {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let seconds = text.parse().ok().filter(|seconds| (1..=3600).contains(seconds));
        seconds.map(Self).ok_or_else(|| "it is a number of seconds from 1 to 3600 (PHASEGATE_PATIENCE)".to_owned())
    }
}

pub(super) async fn run(args: &Args) -> anyhow::Result<Exit> {
    let ended = worked_off(args).await;
    if let Err(error) = &ended {
        out::not_done(error, if args.json { out::Stream::Err } else { out::Stream::Out });
    }
    ended
}

async fn worked_off(args: &Args) -> anyhow::Result<Exit> {
    let filter = log_filter(app::variable("LOG_LEVEL").as_deref().unwrap_or("warn"))?;
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(std::io::stderr).init();
    #[cfg(fault_points)]
    crate::fault::arm()?;
    let identity = identity()?;
    if actions::inside() {
        masked(&identity)?;
    }
    let event = app::variable("GITHUB_EVENT_NAME").ok_or(BadEvent::Unset("GITHUB_EVENT_NAME"))?;
    let path = app::variable("GITHUB_EVENT_PATH").map(PathBuf::from).ok_or(BadEvent::Unset("GITHUB_EVENT_PATH"))?;
    let slug = app::variable("GITHUB_REPOSITORY").ok_or(BadEvent::Unset("GITHUB_REPOSITORY"))?;
    let slug: Slug = slug.parse().context("GITHUB_REPOSITORY is not of the form owner/name")?;
    let at = app::variable("GITHUB_REF").unwrap_or_default();
    repo::git_runs().await.context("git is needed: install it on the runner")?;
    let data = data()?;
    let advisory = identity.is_advisory();
    let endpoint = app::endpoint()?;
    let page = format!("{}/{slug}", endpoint.server());
    let api = endpoint.api().to_owned();
    let once = Once::begin(OnceConfig {
        identity,
        endpoint,
        slug: slug.clone(),
        run: run_id(),
        data: data.path().to_owned(),
        patience: Duration::from_secs(Given::get(args.patience.as_ref()).map_or(240, |patience| patience.0)),
        paced: !args.unpaced,
    })
    .await
    .map_err(|error| hindered(error, &api))?;
    let default_branch = once.home().default_branch.clone();
    let told = event::Told { event: &event, path: &path, slug: &slug, at: &at, default_branch: &default_branch };
    let started = event::read(&told)?;
    let heard = once.work(started.facts).await?;
    let claims = match (app::variable("PHASEGATE_ARTIFACTS"), &started.after) {
        (Some(folder), Some(after)) => claims::shown(Path::new(&folder), &slug, after),
        _ => Vec::new(),
    };
    let report = Report { heard: &heard, advisory, page, event: &event, claims };
    say(&report, args.json)?;
    Ok(if heard.faults.is_empty() { Exit::Fine } else { Exit::Finding })
}

/// By what this run is known: its number, which it keeps when it is run again. Where nobody gave it one it is no other's.
fn run_id() -> String {
    let number = app::variable("GITHUB_RUN_ID").filter(|number| number.bytes().all(|b| b.is_ascii_digit()));
    number.filter(|number| number.len() <= 20).unwrap_or_else(|| uuid::Uuid::new_v4().to_string())
}

/// As whom to speak. An App without its key is a mistake: falling back to the workflow's token would turn a gate into
/// advice without anybody asking for it.
fn identity() -> anyhow::Result<Identity> {
    let key = app::variable("PRIVATE_KEY").or(app::variable("PRIVATE_KEY_PATH"));
    let mode = app::variable("PHASEGATE_MODE");
    match (mode.as_deref().map(str::trim), app::given_id(), &key) {
        (None, ..)
        | (Some("enforcing"), Some(_), _)
        | (Some("enforcing"), _, Some(_))
        | (Some("advisory"), None, None) => {}
        (Some("enforcing"), None, None) => bail!(
            "the mode is `enforcing`, and neither an App's id nor its key has come. They stand in an environment: see that the \
             job names it (`environment: phasegate`), that it is there with the variable PHASEGATE_APP_ID and the secret \
             PHASEGATE_PRIVATE_KEY, and that the default branch may use it"
        ),
        (Some("advisory"), ..) => {
            bail!("the mode is `advisory`, and an App's id or key is given. Take those out, or say `mode: enforcing`")
        }
        (Some(other), ..) => bail!("the mode is `enforcing` or `advisory`, and not `{}`", out::plain(other)),
    }
    match (app::given_id(), key) {
        (Some(issuer), Some(_)) => Ok(Identity::App { issuer, key: app::key()?, earlier_keys: app::earlier_keys()? }),
        (Some(_), None) => bail!(
            "an App's id is given and its private key is empty. The key is a secret of an environment: name that environment \
             in the job (`environment: phasegate`), and let the default branch use it"
        ),
        (None, Some(_)) => bail!("a private key is given and no App's id: give `app-id` too"),
        (None, None) => match app::variable("GITHUB_TOKEN") {
            Some(token) if PERSONAL.iter().any(|prefix| token.starts_with(prefix)) => bail!(
                "the token is a person's, and what the bot says would be said by them. Leave `github-token` out: then it is \
                 the workflow's own; or give an App (`app-id` and `private-key`)"
            ),
            Some(token) => Ok(Identity::Workflow { token: SecretString::from(token) }),
            None => bail!("there is neither an App (APP_ID and PRIVATE_KEY) nor a workflow's token (GITHUB_TOKEN)"),
        },
    }
}

/// How tokens begin that are a person's: classic and fine-grained ones, and those that an App or a program got for somebody.
const PERSONAL: [&str; 4] = ["ghp_", "github_pat_", "gho_", "ghu_"];

/// What a run could not begin for. That GitHub does not answer, or has no time for us, says nothing about a key or a
/// token, and who is sent to look at those looks in vain.
fn hindered(error: anyhow::Error, api: &str) -> anyhow::Error {
    match error.chain().find_map(|cause| cause.downcast_ref::<github::Error>()) {
        Some(cause) if cause.is_transient() => {
            let reached = matches!(cause, github::Error::Server { .. });
            let what = if reached { "GitHub is out of order at" } else { "GitHub can't be reached at" };
            let api = out::plain(api);
            anyhow::anyhow!(
                "{what} {api}: {cause}. Run the job again; if it stays so, see that the runner gets to that address, which \
                 is GITHUB_API_URL"
            )
        }
        Some(cause @ github::Error::RateLimited { .. }) => {
            anyhow::anyhow!("{cause}. Run the job again after that; what happened until then is seen all the same")
        }
        _ => error,
    }
}

/// The runner hides what it knows to be secret. What came here in another way it does not know.
fn masked(identity: &Identity) -> anyhow::Result<()> {
    let token = match identity {
        Identity::Workflow { token } => Some(token.expose_secret().to_owned()),
        Identity::App { .. } => app::variable("PRIVATE_KEY"),
    };
    // An App's own tokens are made while it runs.
    github::tell_of_minted(|minted| {
        // If this can't be written, neither can anything that would show it.
        let _ = out::raw(&actions::mask(minted.expose_secret()));
    });
    token.map_or(Ok(()), |secret| out::raw(&actions::mask(&secret)))
}

/// A folder that is gone when the run is over.
fn data() -> anyhow::Result<tempfile::TempDir> {
    let below = app::variable("RUNNER_TEMP").map_or_else(std::env::temp_dir, PathBuf::from);
    tempfile::Builder::new().prefix("phasegate-").tempdir_in(&below).with_context(|| {
        let below = out::plain(&below.display().to_string());
        format!("no folder can be made in {below}: RUNNER_TEMP must be one that can be written")
    })
}

fn say(report: &Report<'_>, as_json: bool) -> anyhow::Result<()> {
    if actions::inside() {
        for annotation in actions::within_limits(report.annotations()) {
            out::raw(&annotation.command())?;
        }
    }
    let files = Files::from_env();
    let outputs = report.outputs();
    for (name, value) in [
        ("phase", &outputs.phase),
        ("verdict", &outputs.verdict),
        ("reason", &outputs.reason),
        ("change", &outputs.change),
        ("json", &outputs.json),
    ] {
        files.set_output(name, value).context("the step's outputs can't be written (GITHUB_OUTPUT)")?;
    }
    files.append_summary(&report.summary()).context("the job's summary can't be written (GITHUB_STEP_SUMMARY)")?;
    if as_json {
        return out::json(&report.json());
    }
    lines(report.heard, report.advisory)
}

/// What happened, in the log.
fn lines(heard: &Heard, advisory: bool) -> anyhow::Result<()> {
    for told in &heard.changes {
        let text = format!("#{} {} {}: {}", told.change, told.phase, told.verdict.as_str(), told.reason);
        out::raw(&format!("{}\n", actions::line(&out::plain(&text))))?;
    }
    if advisory {
        out::raw(&format!("Advisory. {ADVISORY}\n"))?;
    }
    if heard.observing {
        out::raw(&format!("Observing. {}\n", observing(advisory)))?;
    }
    for notice in &heard.notices {
        out::raw(&format!("{}\n", actions::line(&out::plain(notice))))?;
    }
    for fault in &heard.faults {
        out::complain(&format!("{}: {}\n", out::plain(&fault.about), out::plain(&fault.says)));
        if let Some(next) = fault.next(advisory) {
            out::complain(&format!("{}\n", out::plain(&next)));
        }
    }
    if heard.changes.is_empty() && heard.faults.is_empty() && heard.notices.is_empty() {
        out::raw("Nothing here depends on it.\n")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_to_look_at_a_key_because_github_does_not_answer() {
        let route = "/app";
        let told = |cause: github::Error| {
            let error =
                anyhow::Error::new(cause).context("GitHub does not say who this App is: check its id and its key");
            format!("{:#}", hindered(error, "https://ghe.example/api/v3"))
        };
        let message = "refused".to_owned();
        let says = told(github::Error::Transport { route, message, unclear: false });
        assert!(says.starts_with("GitHub can't be reached at https://ghe.example/api/v3: the connection"), "{says}");
        assert!(says.ends_with("GITHUB_API_URL") && !says.contains("key"), "{says}");
        let says = told(github::Error::Timeout { route, unclear: false });
        assert!(says.starts_with("GitHub can't be reached at") && !says.contains("key"), "{says}");
        let says = told(github::Error::RateLimited { until: jiff::Timestamp::UNIX_EPOCH, secondary: false });
        assert!(says.contains("Run the job again after that") && !says.contains("key"), "{says}");
        let says = told(github::Error::Unauthorized { route, by: github::Speaker::App });
        assert!(says.contains("check its id and its key") && says.contains("installation (/app)"), "{says}");
    }
}
