//! The words of a policy. Every key may be absent; the doc comments here are the descriptions in the JSON Schema.
//!
//! `Deserialize` is for values that this program wrote itself. A file goes through [`super::parse`], which checks
//! what types alone can't.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A word of a policy: an enumeration with its spelling.
pub(crate) trait Word: Sized + Copy + 'static {
    const ALL: &'static [(&'static str, Self)];
    /// Words of the vocabulary that this version does not act on.
    const LATER: &'static [&'static str] = &[];
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? } $(later [$($later:literal),*])?) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $word)] $variant),+
        }
        impl Word for $name {
            const ALL: &'static [(&'static str, Self)] = &[$(($word, Self::$variant)),+];
            $(const LATER: &'static [&'static str] = &[$($later),*];)?
        }
        impl $name {
            /// As it is written in the file.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

pub(crate) use words;

// Below the macro, which it uses.
mod agents;
mod escalating;
mod gates;
pub mod security;

pub use agents::{Adapter, Agent, Agents, Budget, Pack, Role};
pub use escalating::{Escalating, Remind};
pub use gates::*;

words! {
    /// What a change has to go through. Ordered: a later one asks for more.
    Flow {
        /// No phases: the merge gate on evidence.
        Merge = "merge",
        /// One task, in nine phases.
        Task = "task",
        /// All phases from scope to deploy.
        Pipeline = "pipeline",
    } later ["factory"]
}
words! {
    /// Whether the gate blocks, or only shows what it would do.
    Enforce { Enforce = "enforce", Observe = "observe" }
}
words! {
    /// Whether a change goes on by itself after a gate, or waits for `/continue`. Ordered: stepped is the tighter one.
    Mode { Auto = "auto", Stepped = "stepped" }
}
words! {
    /// The only mode that a match rule may ask for.
    TighterMode { Stepped = "stepped" }
}
words! {
    /// How much may pass without a person. Ordered: `manual < conservative < auto`.
    Autonomy { Manual = "manual", Conservative = "conservative", Auto = "auto" }
}
words! {
    /// How much quality is asked for. Ordered: a later one asks for more.
    Tier { Shed = "shed", House = "house", Skyscraper = "skyscraper" }
}
words! {
    /// A kind of evidence that the merge gate can require.
    Require { Verify = "verify", Review = "review" }
}
words! {
    /// Whether the deployment is judged on the merge commit or before the merge.
    Deploy { AfterMerge = "after_merge", BeforeMerge = "before_merge" }
}
words! {
    /// What the commit of a merge queue's group needs: to be verified itself, or nothing more where each file in it is as a
    /// member has proved it.
    Queue { Reverify = "reverify", Carry = "carry" }
}
words! {
    /// Whether a slice of work has to be declared, with its scope, before there is work.
    Slices { Open = "open", Declared = "declared" }
}
words! {
    /// What becomes of a change whose tests got weaker.
    #[derive(Default)]
    Weakening {
        /// It is shown to whoever reviews.
        #[default]
        Warn = "warn",
        /// It is held until the tests are put back, or a person accepts them as they are.
        Block = "block",
    }
}
words! {
    /// What becomes of the diary of gate runs.
    #[derive(Default)]
    LogWrite {
        /// It is shown, for the next push to bring along.
        #[default]
        Propose = "propose",
        /// The bot commits it to the branch of the change.
        Commit = "commit",
        /// Nothing.
        Off = "off",
    }
}
words! {
    /// Where a change's snapshots stand beside the ledger.
    #[derive(Default)]
    Snapshots {
        /// Nowhere.
        #[default]
        Ledger = "ledger",
        /// On the branch of the change as well: the bot commits them.
        Branch = "branch",
    }
}
words! {
    /// When a moved base makes evidence stale: where it touches the change, or always.
    Base { Touch = "touch", Strict = "strict" }
}

/// The policy of a repository: `.github/phasegate.yml` at the tip of the default branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(title = "Phasegate policy")]
pub struct Policy {
    /// The version of this file's format.
    #[schemars(extend("const" = 1))]
    pub version: u32,
    /// What a change has to go through.
    pub flow: Flow,
    /// `observe` shows what would happen and blocks nothing.
    pub enforce: Enforce,
    /// `stepped` waits for `/continue` after each gate.
    pub mode: Mode,
    /// How much may pass without a person.
    pub autonomy: Autonomy,
    /// The quality tier that a change has at least; its scope may ask for a higher one.
    pub tier: Tier,
    /// Globs of base branches that may get a green gate. The default branch always may. Each must be protected.
    #[schemars(length(max = 200), inner(length(min = 1, max = 512)))]
    pub branches: Vec<String>,
    /// Rules by head branch or label. They may only tighten what the policy says.
    #[serde(rename = "match")]
    #[schemars(length(max = 200))]
    pub rules: Vec<MatchRule>,
    /// Who decides.
    pub people: People,
    /// What is dangerous.
    pub risk: Risk,
    /// What a merge needs.
    pub merge: Merge,
    /// Where evidence comes from.
    pub gates: Gates,
    /// What may not change once a change is being built.
    pub freeze: Freeze,
    /// Where something that looks like a secret is none.
    #[serde(skip_serializing_if = "Secrets::says_nothing")]
    pub secrets: Secrets,
    /// Agents at work.
    #[serde(skip_serializing_if = "Agents::says_nothing")]
    pub agents: Agents,
    /// What the agents of one task may take together.
    #[serde(skip_serializing_if = "Budget::says_nothing")]
    pub budget: Budget,
    /// The log of the project, `scaffolding/log.md`.
    #[serde(skip_serializing_if = "Log::says_nothing")]
    pub log: Log,
    /// Numbers.
    pub limits: Limits,
    /// Where the record is kept.
    pub ledger: Ledger,
    /// Whether the deployment is judged after or before the merge.
    pub deploy: Deploy,
    /// When a moved base makes evidence stale.
    pub base: Base,
    /// Whether a slice of work has to be declared, with its scope, before there is work.
    #[serde(skip_serializing_if = "is_open")]
    pub slices: Slices,
    /// The labels that the bot sets.
    pub labels: Labels,
    /// The commands that people write.
    pub commands: Commands,
    /// How people are asked about a stop.
    #[serde(skip_serializing_if = "Escalating::says_nothing")]
    pub escalation: Escalating,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            version: 1,
            flow: Flow::Merge,
            enforce: Enforce::Enforce,
            mode: Mode::Auto,
            autonomy: Autonomy::Auto,
            tier: Tier::House,
            branches: Vec::new(),
            rules: Vec::new(),
            people: People::default(),
            risk: Risk::default(),
            merge: Merge::default(),
            gates: Gates::default(),
            freeze: Freeze::default(),
            secrets: Secrets::default(),
            agents: Agents::default(),
            budget: Budget::default(),
            log: Log::default(),
            limits: Limits::default(),
            ledger: Ledger::default(),
            deploy: Deploy::AfterMerge,
            base: Base::Touch,
            slices: Slices::Open,
            labels: Labels::default(),
            commands: Commands::default(),
            escalation: Escalating::default(),
        }
    }
}

/// Tightens the policy for some changes: those whose head branch and label both match, where both are given.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("anyOf" = [{ "required": ["branch"] }, { "required": ["label"] }]))]
pub struct MatchRule {
    /// A glob of head branches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub branch: Option<String>,
    /// A label, in any case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 100))]
    pub label: Option<String>,
    /// Not above the policy's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autonomy: Option<Autonomy>,
    /// Only `stepped`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<TighterMode>,
    /// Not below the policy's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<Flow>,
}

/// Who decides.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct People {
    /// Who may approve, unblock, resolve and refreeze, beside those with the `maintain` or `admin` role.
    #[schemars(length(max = 200))]
    pub approve: Vec<Approver>,
    /// Who is assigned to the issue of an escalation, and mentioned there. Without any, nobody is.
    #[schemars(length(max = 200))]
    pub escalate: Vec<Approver>,
    /// The only maintainer may approve their own change; the record says *self-approved*.
    pub solo: bool,
}

/// `@login` or `@organisation/team`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(extend("pattern" = "^@[A-Za-z0-9][A-Za-z0-9_-]{0,99}(/[A-Za-z0-9][A-Za-z0-9._-]{0,99})?$"))]
pub struct Approver(String);

/// Whom an [`Approver`] names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who<'a> {
    Person { login: &'a str },
    Team { organisation: &'a str, team: &'a str },
}

impl Approver {
    /// `None` when the text is neither form. Bots (`name[bot]`) are not: they never approve.
    pub fn new(text: &str) -> Option<Self> {
        let name = text.strip_prefix('@')?;
        let (owner, team) = match name.split_once('/') {
            Some((owner, team)) => (owner, Some(team)),
            None => (name, None),
        };
        let fine = |part: &str, more: &[u8]| {
            part.len() <= 100
                && part.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric)
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || more.contains(&b))
        };
        (fine(owner, b"-_") && team.is_none_or(|t| fine(t, b"-_."))).then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn who(&self) -> Who<'_> {
        let name = self.0.trim_start_matches('@');
        match name.split_once('/') {
            Some((organisation, team)) => Who::Team { organisation, team },
            None => Who::Person { login: name },
        }
    }

    /// GitHub's logins are the same in any case.
    pub fn is_person(&self, login: &str) -> bool {
        matches!(self.who(), Who::Person { login: own } if own.eq_ignore_ascii_case(login))
    }
}

impl TryFrom<String> for Approver {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Self::new(&text).ok_or_else(|| format!("{text:?} is neither @login nor @organisation/team"))
    }
}

impl From<Approver> for String {
    fn from(approver: Approver) -> String {
        approver.0
    }
}

/// What is dangerous.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Risk {
    /// Globs of paths; a change that touches one is of high risk.
    #[schemars(length(max = 200), inner(length(min = 1, max = 512)))]
    pub high: Vec<String>,
}

/// What a merge needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Merge {
    /// The kinds of evidence that must be there for the content of the change.
    #[schemars(extend("uniqueItems" = true))]
    pub require: Vec<Require>,
    /// How many people other than the author must approve.
    #[schemars(range(max = 10))]
    pub approvals: u32,
    /// What the commit of a merge queue's group needs.
    pub queue: Queue,
}

impl Default for Merge {
    fn default() -> Self {
        Self { require: vec![Require::Verify, Require::Review], approvals: 1, queue: Queue::Reverify }
    }
}

/// What may not change once a change is being built.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Freeze {
    /// Globs of tests and of what they compare with, added to the built-in sets.
    #[schemars(length(max = 200), inner(length(min = 1, max = 512)))]
    // Left out where it is empty: a policy that does not name it is the same law as before there was such a key.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<String>,
    /// Globs of files that decide what a test run means, added to the built-in set.
    #[schemars(length(max = 200), inner(length(min = 1, max = 512)))]
    pub meaning: Vec<String>,
    /// What becomes of a change whose tests got weaker: `warn` shows it, `block` holds it until a person accepts that.
    // Left out where it is as without the key, for the same reason.
    #[serde(skip_serializing_if = "Weakening::is_usual")]
    pub weakened: Weakening,
}

impl Weakening {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// The log of the project, `scaffolding/log.md`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// What becomes of the lines that each gate run and each block leave for it.
    pub write: LogWrite,
}

impl Log {
    /// A policy written before the key was there keeps its digest.
    fn says_nothing(&self) -> bool {
        self.write == LogWrite::default()
    }
}

/// Where something that looks like a secret is none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Secrets {
    /// Globs of files in which BUILD looks for no secrets: keys that were made for tests, examples.
    #[schemars(length(max = 200), inner(length(min = 1, max = 512)))]
    pub allow: Vec<String>,
}

impl Secrets {
    /// A policy written before the key was there keeps its digest.
    fn says_nothing(&self) -> bool {
        self.allow.is_empty()
    }
}

/// Numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Red previews of a gate before an audit is due.
    #[schemars(range(min = 1, max = 1000))]
    pub previews: u32,
    /// Acceptance criteria that a scope may have, by its tier.
    pub criteria: Criteria,
    /// Components that its smallest useful version may name, by its tier.
    pub components: Components,
    /// Lines of a source file beyond which the complexity brake is pulled.
    #[serde(skip_serializing_if = "is_file_lines")]
    #[schemars(range(min = 50, max = 100_000))]
    pub file_lines: u32,
    /// How many times the files that the design names a change may add before the complexity brake is pulled.
    #[serde(skip_serializing_if = "is_files_over_design")]
    #[schemars(range(min = 1, max = 100))]
    pub files_over_design: u32,
}

fn is_open(slices: &Slices) -> bool {
    *slices == Slices::Open
}

// A policy written before these were there keeps its digest.
fn is_file_lines(lines: &u32) -> bool {
    *lines == Limits::default().file_lines
}

fn is_files_over_design(times: &u32) -> bool {
    *times == Limits::default().files_over_design
}

impl Default for Limits {
    fn default() -> Self {
        let (criteria, components) = (Criteria::default(), Components::default());
        Self { previews: 20, criteria, components, file_lines: 300, files_over_design: 2 }
    }
}

macro_rules! by_tier {
    ($(#[$doc:meta])* $name:ident { $shed:literal, $house:literal, $skyscraper:literal }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            /// Of a shed.
            #[schemars(range(min = 1, max = 1000))]
            pub shed: u32,
            /// Of a house.
            #[schemars(range(min = 1, max = 1000))]
            pub house: u32,
            /// Of a skyscraper.
            #[schemars(range(min = 1, max = 1000))]
            pub skyscraper: u32,
        }

        impl Default for $name {
            fn default() -> Self {
                Self { shed: $shed, house: $house, skyscraper: $skyscraper }
            }
        }

        impl $name {
            pub fn of(&self, tier: Tier) -> u32 {
                match tier {
                    Tier::Shed => self.shed,
                    Tier::House => self.house,
                    Tier::Skyscraper => self.skyscraper,
                }
            }
        }
    };
}

by_tier! {
    /// Acceptance criteria that a scope may have, by its tier.
    Criteria { 5, 15, 40 }
}
by_tier! {
    /// Components that the smallest useful version may name, by the tier.
    Components { 3, 8, 20 }
}

/// Where the record is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Ledger {
    /// The branch of the ledger.
    #[schemars(length(min = 1, max = 200))]
    pub branch: String,
    /// Where the snapshots of a change stand: on the ledger alone, or on the branch of the change as well.
    #[serde(skip_serializing_if = "Snapshots::says_nothing")]
    pub snapshots: Snapshots,
}

impl Snapshots {
    /// A policy written before the key was there keeps its digest.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
    fn says_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for Ledger {
    fn default() -> Self {
        Self { branch: "phasegate/ledger".to_owned(), snapshots: Snapshots::default() }
    }
}

/// The labels that the bot sets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Labels {
    /// What each of them starts with.
    #[schemars(length(min = 1, max = 20), extend("pattern" = "^[^,]+$"))]
    pub prefix: String,
}

impl Default for Labels {
    fn default() -> Self {
        Self { prefix: "phase:".to_owned() }
    }
}

/// The commands that people write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Commands {
    /// `/` for `/expand`; `/pg` for `/pg expand`.
    #[schemars(extend("pattern" = "^/([a-z0-9][a-z0-9-]{0,19} ?)?$"))]
    pub prefix: String,
}

impl Default for Commands {
    fn default() -> Self {
        Self { prefix: "/".to_owned() }
    }
}

impl Commands {
    /// How a command is written: `/expand`, or `/pg expand`.
    pub fn written(&self, command: &str) -> String {
        if self.prefix == "/" { format!("/{command}") } else { format!("{} {command}", self.prefix) }
    }

    /// What follows the prefix, when the line starts with it: `expand now` of `/pg expand now`.
    pub fn strip<'l>(&self, line: &'l str) -> Option<&'l str> {
        // A telephone makes the first letter a large one.
        let (start, rest) = line.split_at_checked(self.prefix.len())?;
        if !start.eq_ignore_ascii_case(&self.prefix) {
            return None;
        }
        if self.prefix == "/" {
            return Some(rest);
        }
        rest.starts_with(char::is_whitespace).then(|| rest.trim_start())
    }
}
