//! Who may do what.

use std::collections::BTreeSet;

use crate::ids::{Person, Role};
use crate::policy::Policy;

/// Someone's standing at this moment: their role, and whether the policy names them among those who approve.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Standing {
    pub role: Role,
    pub named: bool,
}

/// What a command asks of the one who gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum May {
    /// Ask where things stand.
    Ask,
    /// Move a change through its phases.
    Move,
    /// Decide what only an independent person decides.
    Approve,
    /// Be against it. Whoever's approval would count, their objection counts.
    Object,
}

impl May {
    pub fn allows(self, standing: Standing) -> bool {
        match self {
            May::Ask => standing.role >= Role::Triage || standing.named,
            May::Move => standing.role >= Role::Write,
            May::Approve => standing.role >= Role::Maintain || standing.named,
            May::Object => May::Move.allows(standing) || May::Approve.allows(standing),
        }
    }

    pub fn who(self) -> &'static str {
        match self {
            May::Ask => "anyone with triage rights",
            May::Move => "anyone with write access",
            May::Approve => "maintainers, and those the policy names under `people.approve`",
            May::Object => "anyone with write access, and those the policy names under `people.approve`",
        }
    }
}

/// The most names that are listed.
const MOST_NAMES: usize = 5;

/// Who decides about a change, as people are told: with the names that the policy gives, and without those who wrote or pushed to it.
pub fn who_decides(policy: &Policy, operators: &BTreeSet<Person>) -> String {
    let own = |name: &&str| !policy.people.solo && operators.iter().any(|one| one.login.eq_ignore_ascii_case(name));
    let names = policy.people.approve.iter().map(|one| one.as_str().trim_start_matches('@'));
    let names: Vec<&str> = names.filter(|name| !own(name)).collect();
    let mut who = "a maintainer".to_owned();
    for name in names.iter().take(MOST_NAMES) {
        who.push_str(&format!(", `{name}`"));
    }
    if names.len() > MOST_NAMES {
        who.push_str(" and others whom the policy names");
    }
    if let Some(comma) = who.rfind(", ").filter(|_| names.len() <= MOST_NAMES) {
        who.replace_range(comma..comma + 2, " or ");
    }
    if policy.people.solo { who } else { format!("{who} (not its author, and nobody who pushed to it)") }
}

/// The same at the beginning of a sentence.
pub fn who_decides_first(policy: &Policy, operators: &BTreeSet<Person>) -> String {
    who_decides(policy, operators).replacen('a', "A", 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_grow_with_the_role() {
        let of = |role, named| Standing { role, named };
        assert!(!May::Ask.allows(of(Role::Read, false)));
        assert!(May::Ask.allows(of(Role::Triage, false)));
        assert!(!May::Move.allows(of(Role::Triage, false)));
        assert!(May::Move.allows(of(Role::Write, false)));
        assert!(!May::Approve.allows(of(Role::Write, false)));
        assert!(May::Approve.allows(of(Role::Maintain, false)));
        assert!(May::Approve.allows(of(Role::Write, true)));
        assert!(!May::Move.allows(of(Role::None, true)), "being named to approve gives no write access");
        assert!(May::Object.allows(of(Role::None, true)) && May::Object.allows(of(Role::Write, false)));
        assert!(!May::Object.allows(of(Role::Triage, false)));
    }

    #[test]
    fn who_decides_is_said_by_name() {
        let of = |people: &str| {
            let text = format!("people: {people}\ngates: {{ verify: {{ checks: [{{ name: t, app: 5 }}] }} }}\n");
            let policy = crate::policy::parse(text.as_bytes()).unwrap_or_else(|problems| panic!("{problems:?}"));
            who_decides(&policy, &BTreeSet::from([Person { login: "Zoe".to_owned(), id: 9, bot: false }]))
        };
        assert_eq!(of("{}"), "a maintainer (not its author, and nobody who pushed to it)");
        assert_eq!(of("{ solo: true, approve: ['@zoe'] }"), "a maintainer or `zoe`");
        let others = of("{ approve: ['@zoe', '@mia'] }");
        assert_eq!(others, "a maintainer or `mia` (not its author, and nobody who pushed to it)");
        assert_eq!(of("{ solo: true, approve: ['@zoe', '@octo/leads'] }"), "a maintainer, `zoe` or `octo/leads`");
        let many: Vec<String> = (0..9).map(|n| format!("'@p{n}'")).collect();
        let many = of(&format!("{{ solo: true, approve: [{}] }}", many.join(", ")));
        assert_eq!(many, "a maintainer, `p0`, `p1`, `p2`, `p3`, `p4` and others whom the policy names");
    }
}
