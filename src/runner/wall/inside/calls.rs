//! Calls to the kernel that no build and no test needs, and that the other walls do not see or can't keep: they are refused.
//!
//! Everything else is allowed: what a list of *allowed* calls forgets breaks somebody's tests, and what has a wall of its own
//! (files, sockets, processes, namespaces) is kept there.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

/// The kernel's keys, of which the session's come along with whoever started this; rings, which are calls that nobody filters;
/// the kernel's own programs, counters, modules and page faults.
const REFUSED: &[libc::c_long] = &[
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
];

/// Sockets of these kinds are what networks and programs are made of. Others lead to the machine that this one is run by, or to
/// parts of the kernel that are seldom looked at.
const SOCKETS: &[libc::c_int] = &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// On x86-64 each call has a second number, which most kernels refuse by themselves.
const SECOND: libc::c_long = if cfg!(target_arch = "x86_64") { 0x4000_0000 } else { 0 };

/// Refuses them for this process and whatever it becomes. A program for another architecture is ended by it: its calls have other
/// numbers.
pub(super) fn refuse() -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("calls to the kernel can't be refused: {error}");
    let filter = filter().map_err(|error| failed(&error))?;
    seccompiler::apply_filter(&filter).map_err(|error| failed(&error))
}

fn filter() -> Result<BpfProgram, seccompiler::BackendError> {
    let other = SOCKETS.iter().map(|family| {
        let family = u64::from(family.unsigned_abs());
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family)
    });
    let other = SeccompRule::new(other.collect::<Result<_, _>>()?)?;
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for second in [0, SECOND] {
        rules.extend(REFUSED.iter().map(|call| (call | second, Vec::new())));
        for call in [libc::SYS_socket, libc::SYS_socketpair] {
            rules.insert(call | second, vec![other.clone()]);
        }
    }
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, refused, std::env::consts::ARCH.try_into()?)?.try_into()
}
