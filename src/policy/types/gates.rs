//! The words of `gates`: what counts as evidence, and what `phasegate run` carries out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Word;
use super::security::Security;

words! {
    /// Where the evidence of a gate comes from.
    Source {
        /// The trusted workflow, which the App asks to run the commands below.
        Actions = "actions",
        /// Check runs that are named below.
        Checks = "checks",
        /// The word of somebody who may approve, and has tried it.
        People = "people",
        /// The server itself, where whoever hosts it offers that.
        Runner = "runner",
    }
}

words! {
    /// What starts the trusted workflow.
    Start {
        /// The App itself, as soon as there is something to run. It takes *Actions: write*.
        App = "app",
        /// The end of another workflow, such as the change's own CI, by the trusted workflow's `on: workflow_run`.
        WorkflowRun = "workflow_run",
    }
}

impl Start {
    /// The event that GitHub tells of such a run.
    pub fn event(self) -> &'static str {
        match self {
            Self::App => "workflow_dispatch",
            Self::WorkflowRun => "workflow_run",
        }
    }
}

fn is_started_by_app(start: &Start) -> bool {
    *start == Start::App
}

impl Source {
    /// Those that are asked for runs of the commands.
    pub const ASKED: [Self; 2] = [Self::Actions, Self::Runner];
}

/// Where evidence comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Gates {
    /// That it can be built.
    #[serde(skip_serializing_if = "is_default")]
    pub build: Build,
    /// What reviewers look at.
    #[serde(skip_serializing_if = "is_default")]
    pub review: Reviewing,
    /// Documents that are out of step with the code.
    #[serde(skip_serializing_if = "is_default")]
    pub reconcile: Reconciling,
    /// The proof that the change works.
    pub verify: Verify,
    /// Which deployment it is that tells.
    #[serde(skip_serializing_if = "is_default")]
    pub deploy: Deploying,
}

/// A value that a policy written before its key was there has too. It is left out of what is written, so that such a
/// policy keeps its digest, and the evidence that names it.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Gates {
    /// What `phasegate run` does for a gate.
    pub fn runs(&self, gate: RunGate) -> Runs<'_> {
        match gate {
            RunGate::Build => {
                let Build { run, reports, timeout, network, confine, audit, audit_network } = &self.build;
                let (timeout, network, audit_network) = (*timeout, *network, *audit_network);
                let (coverage, screenshots, earned) = (&[][..], &[][..], Earned::Off);
                Runs {
                    commands: run,
                    reports,
                    coverage,
                    screenshots,
                    timeout,
                    network,
                    confine,
                    earned,
                    audit,
                    audit_network,
                }
            }
            RunGate::Verify => {
                let Verify { run, reports, coverage, screenshots, timeout, network, confine, .. } = &self.verify;
                let (timeout, network, earned) = (*timeout, *network, self.verify.earned());
                // Of a run that is asked for nothing else is seen; where there are checks, one of them is BUILD's.
                let Build { audit, audit_network, .. } = &self.build;
                let audit = if self.verify.asks_for_runs() { &audit[..] } else { &[] };
                let audit_network = *audit_network;
                Runs {
                    commands: run,
                    reports,
                    coverage,
                    screenshots,
                    timeout,
                    network,
                    confine,
                    earned,
                    audit,
                    audit_network,
                }
            }
        }
    }
}

words! {
    /// A gate whose commands `phasegate run` carries out. The others are judged by documents, by people or by what GitHub
    /// tells of a deployment, and have nothing to run.
    RunGate { Build = "build", Verify = "verify" }
}

impl RunGate {
    /// `build` and `verify`.
    pub const EACH: [Self; 2] = [Self::Build, Self::Verify];
}

/// What is run for a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Runs<'a> {
    pub commands: &'a [String],
    /// Globs of the JUnit reports that the commands write.
    pub reports: &'a [String],
    /// Globs of the reports that say how much is covered.
    pub coverage: &'a [String],
    /// Globs of the pictures that they leave.
    pub screenshots: &'a [String],
    /// For all commands together.
    pub timeout: Timeout,
    pub network: Network,
    pub confine: &'a Confine,
    /// Whether a green has to be earned.
    pub earned: Earned,
    /// The commands that audit the dependencies, once those above have passed.
    pub audit: &'a [String],
    pub audit_network: Network,
}

words! {
    /// Whether the commands of a gate reach the network.
    #[derive(Default)]
    Network { #[default] Deny = "deny", Allow = "allow" }
}

words! {
    /// What becomes of a green that was not earned: fewer tests than on the base, the base's tests red on the head's code, new tests
    /// that pass without the change.
    Earned {
        /// The gate fails.
        Demand = "demand",
        /// It is said, and nothing more.
        Show = "show",
        /// Nobody looks.
        Off = "off",
    }
}

words! {
    /// What becomes of a criterion that nothing was run for, or of what was run for one in vain.
    Proofs {
        /// The gate fails.
        Demand = "demand",
        /// It is said, and nothing more.
        Show = "show",
        /// Nothing is run.
        Off = "off",
    }
}

words! {
    /// What becomes of a review that did not look at everything: the five axes, a reduced scope, placeholders, traceability; and of
    /// concerns that nobody has settled.
    #[derive(Default)]
    Axes {
        /// The pipeline's REVIEW waits.
        Demand = "demand",
        /// It is said, where reviewers give blocks at all, and nothing more.
        #[default]
        Show = "show",
        /// Nobody looks.
        Off = "off",
    }
}

words! {
    /// Whether somebody has to have looked for what is missing before a change may pass by itself.
    #[derive(Default)]
    Completeness {
        #[default]
        Demand = "demand",
        /// Gaps that somebody names hold it all the same.
        Off = "off",
    }
}

/// What reviewers look at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Reviewing {
    /// Whether all of it has to be looked at. What is found and weighs critical or required blocks in any case.
    pub axes: Axes,
    /// What passes with nobody's approval needs a completeness critic's answer: `gaps: []` in the block of a review.
    #[serde(skip_serializing_if = "is_default")]
    pub critic: Completeness,
}

words! {
    /// What becomes of documents that a machine could put right.
    #[derive(Default)]
    Repairs {
        /// The patch is shown.
        #[default]
        Suggest = "suggest",
        /// The bot commits it to the change's branch.
        Commit = "commit",
        /// Nobody looks.
        Off = "off",
    }
}

/// Documents that are out of step with the code.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Reconciling {
    /// What becomes of those that a machine could put right.
    pub repairs: Repairs,
}

/// Which deployment it is that tells.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Deploying {
    /// The environments that it has to be deployed to. Without any, each that it was deployed to.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 20), inner(length(min = 1, max = 255)))]
    pub environments: Vec<String>,
    /// Whose word counts that it succeeded. Without any, that of everybody who neither wrote nor pushed the change.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 20))]
    pub by: Vec<Account>,
}

/// `@login`, or `@name[bot]` of an App.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(extend("pattern" = "^@[A-Za-z0-9][A-Za-z0-9_-]{0,99}(\\[bot\\])?$"))]
pub struct Account(String);

impl Account {
    /// None when the text is not of that form.
    pub fn new(text: &str) -> Option<Self> {
        let name = text.strip_prefix('@')?;
        let name = name.strip_suffix("[bot]").unwrap_or(name);
        let fine = name.len() <= 100
            && name.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric)
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        fine.then(|| Self(text.to_owned()))
    }

    /// Whether it is this one's login.
    pub fn is(&self, login: &str) -> bool {
        self.0.trim_start_matches('@').eq_ignore_ascii_case(login)
    }
}

impl TryFrom<String> for Account {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Self::new(&text).ok_or_else(|| format!("{text:?} is neither @login nor @name[bot]"))
    }
}

impl From<Account> for String {
    fn from(account: Account) -> String {
        account.0
    }
}

/// The walls around the commands of a gate. They can write their own copy of the content and a scratch folder, and read what the
/// system has to run programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Confine {
    /// What they may read and run besides: absolute paths, or such in the home of whoever starts them (`~/`).
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 100), inner(length(min = 2, max = 512), regex(pattern = "^(/|~/)")))]
    pub read: Vec<String>,
    /// Variables with a secret, by their names or values, that they are given all the same.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 100), inner(regex(pattern = "^[A-Za-z_][A-Za-z0-9_]{0,99}$")))]
    pub secrets: Vec<String>,
    /// How much memory their processes may have together.
    #[serde(skip_serializing_if = "is_memory")]
    pub memory: Size,
    /// How many processes and threads there may be at a time.
    #[serde(skip_serializing_if = "is_processes")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub processes: u32,
    /// How much a command may say.
    #[serde(skip_serializing_if = "is_output")]
    pub output: Size,
    /// How large a file may become.
    #[serde(skip_serializing_if = "is_file")]
    pub file: Size,
    /// Whether the gate fails where one of the walls can't be put up. Else that is said, and it counts all the same.
    #[serde(skip_serializing_if = "is_default")]
    pub required: bool,
}

impl Default for Confine {
    fn default() -> Self {
        let (read, secrets, required) = (Vec::new(), Vec::new(), false);
        Self {
            read,
            secrets,
            memory: Size(8 << 30),
            processes: 4096,
            output: Size(64 << 20),
            file: Size(8 << 30),
            required,
        }
    }
}

fn is_memory(size: &Size) -> bool {
    *size == Confine::default().memory
}

fn is_processes(count: &u32) -> bool {
    *count == Confine::default().processes
}

fn is_output(size: &Size) -> bool {
    *size == Confine::default().output
}

fn is_file(size: &Size) -> bool {
    *size == Confine::default().file
}

/// So many bytes: `512M` or `8G`, up to `1024G`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("pattern" = "^([1-9][0-9]{0,5}M|([1-9][0-9]{0,2}|10[01][0-9]|102[0-4])G)$"))]
pub struct Size(u64);

impl Size {
    /// None when the text is not of that form, or too much.
    pub fn new(text: &str) -> Option<Self> {
        let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let (shift, digits) = match unit {
            "M" => (20, 6),
            "G" => (30, 4),
            _ => return None,
        };
        let plain = (1..=digits).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit());
        let number: u64 = number.parse().ok().filter(|_| plain && !number.starts_with('0'))?;
        Some(Self(number << shift)).filter(|size| size.0 <= 1024 << 30)
    }

    pub fn bytes(self) -> u64 {
        self.0
    }
}

/// In the largest unit that it is whole in, so that `1024M` and `1G` are one.
impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            bytes if bytes % (1 << 30) == 0 => write!(f, "{}G", bytes >> 30),
            bytes => write!(f, "{}M", bytes >> 20),
        }
    }
}

impl TryFrom<String> for Size {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Self::new(&text).ok_or_else(|| format!("{text:?} is not a size such as 512M or 8G, up to 1024G"))
    }
}

impl From<Size> for String {
    fn from(size: Size) -> String {
        size.to_string()
    }
}

/// That it can be built.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("dependentRequired" = { "reports": ["run"], "timeout": ["run"], "network": ["run"], "confine": ["run"], "audit": ["run"], "audit_network": ["audit"] }))]
pub struct Build {
    /// The commands that `phasegate run build` carries out, one after the other.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(min = 1, max = 20), inner(length(min = 1, max = 4096), regex(pattern = "\\S")))]
    pub run: Vec<String>,
    /// Globs of the JUnit reports that they write. Each must match one.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 200), inner(length(min = 1, max = 512)))]
    pub reports: Vec<String>,
    /// How long they may take together.
    #[serde(skip_serializing_if = "is_default")]
    pub timeout: Timeout,
    /// Whether they reach the network.
    #[serde(skip_serializing_if = "is_default")]
    pub network: Network,
    /// The walls around them.
    #[serde(skip_serializing_if = "is_default")]
    pub confine: Confine,
    /// The commands that audit the dependencies, after those have passed: each fails where one has a known hole that counts.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(min = 1, max = 20), inner(length(min = 1, max = 4096), regex(pattern = "\\S")))]
    pub audit: Vec<String>,
    /// Whether these reach the network: what is known of holes is most often fetched.
    #[serde(skip_serializing_if = "is_default")]
    pub audit_network: Network,
}

/// From `1s` to `86400s`, `1440m` or `24h`.
const DAY: &str = "^(([1-9][0-9]{0,3}|[1-7][0-9]{4}|8[0-5][0-9]{3}|86[0-3][0-9]{2}|86400)s\
                   |([1-9][0-9]{0,2}|1[0-3][0-9]{2}|14[0-3][0-9]|1440)m|([1-9]|1[0-9]|2[0-4])h)$";

/// How long something may take: `90s`, `20m` or `2h`, up to a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("pattern" = DAY))]
pub struct Timeout(u32);

impl Timeout {
    /// The longest, in seconds.
    const MOST: u32 = 24 * 3600;

    /// None when the text is not of that form, or too much.
    pub fn new(text: &str) -> Option<Self> {
        let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let unit = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 3600,
            _ => return None,
        };
        let plain = (1..=5).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit());
        let number: u32 = number.parse().ok().filter(|_| plain && !number.starts_with('0'))?;
        number.checked_mul(unit).filter(|seconds| *seconds <= Self::MOST).map(Self)
    }

    pub fn as_secs(self) -> u32 {
        self.0
    }
}

impl Default for Timeout {
    fn default() -> Self {
        Self(3600)
    }
}

/// In the largest unit that it is whole in, so that `60m` and `1h` are one.
impl std::fmt::Display for Timeout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            seconds if seconds % 3600 == 0 => write!(f, "{}h", seconds / 3600),
            seconds if seconds % 60 == 0 => write!(f, "{}m", seconds / 60),
            seconds => write!(f, "{seconds}s"),
        }
    }
}

impl TryFrom<String> for Timeout {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Self::new(&text).ok_or_else(|| format!("{text:?} is not a time such as 90s, 20m or 2h, up to a day"))
    }
}

impl From<Timeout> for String {
    fn from(timeout: Timeout) -> String {
        timeout.to_string()
    }
}

/// The proof that the change works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("dependentRequired" = { "reports": ["run"], "coverage": ["run"], "screenshots": ["run"], "timeout": ["run"], "network": ["run"], "confine": ["run"], "proofs": ["run"], "earned": ["reports"] }))]
pub struct Verify {
    /// Where its evidence comes from.
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub from: Vec<Source>,
    /// The check runs that must be green, all of them.
    #[schemars(length(max = 100))]
    pub checks: Vec<Check>,
    /// The commands that `phasegate run verify` carries out, one after the other. Its job counts where it is one of
    /// `checks`.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(min = 1, max = 20), inner(length(min = 1, max = 4096), regex(pattern = "\\S")))]
    pub run: Vec<String>,
    /// Globs of the JUnit reports that they write. Each must match one.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 200), inner(length(min = 1, max = 512)))]
    pub reports: Vec<String>,
    /// Globs of the reports that say which lines they reach (LCOV, Cobertura's XML). Each must match one, and no smaller part may be
    /// covered than on the base.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 200), inner(length(min = 1, max = 512)))]
    pub coverage: Vec<String>,
    /// Globs of pictures that they leave (PNG, JPEG, WebP), for people to look at.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 200), inner(length(min = 1, max = 512)))]
    pub screenshots: Vec<String>,
    /// How long they may take together.
    #[serde(skip_serializing_if = "is_default")]
    pub timeout: Timeout,
    /// Whether they reach the network.
    #[serde(skip_serializing_if = "is_default")]
    pub network: Network,
    /// The walls around them.
    #[serde(skip_serializing_if = "is_default")]
    pub confine: Confine,
    /// Whether a green has to be earned. They are run on other content too, to find out. `demand` where evidence comes from
    /// `actions` or `runner`, else `show`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earned: Option<Earned>,
    /// Whether each criterion has to be shown by running the software, by the commands that readiness has for it. In the pipeline
    /// `demand` where evidence comes from `actions` or `runner`, else `show`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proofs: Option<Proofs>,
    /// Who says that nothing is wrong with the security of a change.
    #[serde(skip_serializing_if = "is_default")]
    pub security: Security,
    /// The trusted workflow of `actions`: it runs the commands in one job and answers from another.
    #[serde(skip_serializing_if = "is_evidence_workflow")]
    #[schemars(extend("pattern" = "^\\.github/workflows/[^/]+\\.ya?ml$"))]
    pub workflow: String,
    /// What starts it.
    #[serde(skip_serializing_if = "is_started_by_app")]
    pub start: Start,
}

/// The templates' file.
const EVIDENCE_WORKFLOW: &str = ".github/workflows/phasegate-evidence.yml";

fn is_evidence_workflow(workflow: &String) -> bool {
    workflow == EVIDENCE_WORKFLOW
}

impl Verify {
    /// What becomes of a green that was not earned. Where a person can't excuse it, it is only shown.
    pub fn earned(&self) -> Earned {
        let otherwise = if self.asks_for_runs() { Earned::Demand } else { Earned::Show };
        self.earned.unwrap_or(otherwise)
    }

    pub fn has(&self, source: Source) -> bool {
        self.from.contains(&source)
    }

    /// Whether runs of the commands are asked for, each content's by itself.
    pub fn asks_for_runs(&self) -> bool {
        Source::ASKED.into_iter().any(|source| self.has(source))
    }
}

impl Default for Verify {
    fn default() -> Self {
        let Build { run, reports, timeout, network, confine, .. } = Build::default();
        let (from, checks, workflow) = (vec![Source::Checks], Vec::new(), EVIDENCE_WORKFLOW.to_owned());
        let (earned, proofs, security) = (None, None, Security::default());
        let (coverage, screenshots) = (Vec::new(), Vec::new());
        let start = Start::App;
        Self {
            from,
            checks,
            run,
            reports,
            coverage,
            screenshots,
            timeout,
            network,
            confine,
            earned,
            proofs,
            security,
            workflow,
            start,
        }
    }
}

/// A check run, and who may make it. Exactly one of `workflow` and `app` is given.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{ "required": ["workflow"] }, { "required": ["app"] }]))]
pub struct Check {
    /// The check run's name. For a job of GitHub Actions, the name as the pull request page shows it.
    #[schemars(length(min = 1, max = 200))]
    pub name: String,
    /// The workflow file whose job it is. It counts only where the file is the default branch's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = "^\\.github/workflows/[^/]+\\.ya?ml$"))]
    pub workflow: Option<String>,
    /// The numeric id of the GitHub App that makes it, for CI other than GitHub Actions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 9_007_199_254_740_991_u64), extend("not" = { "const": 15368 }))]
    pub app: Option<u64>,
}

/// Who makes a [`Check`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MadeBy<'a> {
    /// A job of the GitHub Actions workflow at this path.
    Workflow(&'a str),
    /// Another App, by its id.
    App(u64),
}

impl Check {
    /// `None` only for a value that no policy file can have.
    pub fn made_by(&self) -> Option<MadeBy<'_>> {
        match (&self.workflow, self.app) {
            (Some(path), None) => Some(MadeBy::Workflow(path)),
            (None, Some(id)) => Some(MadeBy::App(id)),
            _ => None,
        }
    }
}
