#!/usr/bin/env bash
# Runs a gate's commands, as root where that can be had without a password.
#
# Only root can put up all the walls around them (docs/runner.md): it is root that gives them a user who is nobody else, and on
# GitHub's own runners it alone may use namespaces. The commands themselves never are root.
set -euo pipefail

out=${OUT:-${RUNNER_TEMP:?the runner sets it}/phasegate-$GATE}
# Made here, it is the runner's: the steps that follow can read it and clear it away.
mkdir -p "$out"
run=("$PHASEGATE" run --out "$out" -- "$GATE")

if [[ $(uname -s) != Linux || $EUID -eq 0 ]] || ! sudo --non-interactive true 2>/dev/null; then
    exec "${run[@]}"
fi
# sudo has a PATH and a HOME of its own, and the toolchains are found by these.
sudo --non-interactive --preserve-env env "PATH=$PATH" "HOME=${HOME:-}" "${run[@]}" &
child=$!
# What root runs, the runner can't end when a job is cancelled. In its own group sudo takes no orders, hence the session.
end() { sudo --non-interactive setsid kill -TERM "$child" 2>/dev/null || true; }
trap end INT TERM
status=0
while :; do
    wait "$child" && status=0 || status=$?
    # A signal ends the waiting, and not what is waited for.
    kill -0 "$child" 2>/dev/null || [[ -e /proc/$child ]] || break
done
exit "$status"
