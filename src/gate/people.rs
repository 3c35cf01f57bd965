//! Who may do what.

use crate::ids::Role;

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
}

impl May {
    pub fn allows(self, standing: Standing) -> bool {
        match self {
            May::Ask => standing.role >= Role::Triage || standing.named,
            May::Move => standing.role >= Role::Write,
            May::Approve => standing.role >= Role::Maintain || standing.named,
        }
    }

    pub fn who(self) -> &'static str {
        match self {
            May::Ask => "anyone with triage rights",
            May::Move => "anyone with write access",
            May::Approve => "maintainers, and those the policy names under `people.approve`",
        }
    }
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
    }
}
