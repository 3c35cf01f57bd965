#!/usr/bin/env bash
# Everything that has to be green: format, lints, documentation and all tests, on a fresh Debian or Ubuntu with Rust.
#
#   tests/run.sh              all of it
#   tests/run.sh inbox::      arguments go to the test runner
#
# What is missing is installed where that is possible; otherwise the script says what and stops. It ends with a line
# "N passed, M failed", and fails when anything did. PHASEGATE_PG_BIN names the folder of PostgreSQL's initdb where that
# is not /usr/lib/postgresql/<version>/bin, and PHASEGATE_CHROMIUM a Chromium where there is none of that name.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

# shellcheck source=tests/support/say.sh
source tests/support/say.sh
# shellcheck source=tests/support/packages.sh
source tests/support/packages.sh
# shellcheck source=tests/support/oracles.sh
source tests/support/oracles.sh
# shellcheck source=tests/support/postgres.sh
source tests/support/postgres.sh
# shellcheck source=tests/support/memory.sh
source tests/support/memory.sh
# shellcheck source=tests/support/checks.sh
source tests/support/checks.sh

twin_keys=
trap 'stop_postgres; forget_memory; rm -rf "$twin_keys"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

heading "What the tests need"
need_rust
need_postgres
need_oracles
start_postgres

# Every story makes its own repositories and databases; in memory they cost half.
use_memory

# The keys of the twin's Apps are made once for all processes.
twin_keys=$(mktemp -d)
export PHASEGATE_TWIN_KEYS=$twin_keys

# The tests say what they get from the environment themselves; a developer's own settings stay out.
unset DATABASE_URL GITHUB_TOKEN GH_TOKEN PGPASSWORD PGUSER PGHOST PGPORT PGDATABASE PGOPTIONS PGSSLMODE
export CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-auto}

# The twin keeps what is said in the tests, and at the end it is held against GitHub's own description.
export PHASEGATE_EXCHANGES="$root/target/exchanges"
rm -rf "$PHASEGATE_EXCHANGES"
mkdir -p "$PHASEGATE_EXCHANGES"
partly=()
[[ $# -eq 0 ]] || partly=(--partial)

check "Format" cargo fmt --check
check "Lints" cargo clippy --all-targets --locked -- -D warnings
check "Documentation" env RUSTDOCFLAGS=-Dwarnings cargo doc --no-deps --locked

# A story waits for others a third of its time: with two for each core, no core does.
at_once=$((2 * $(nproc)))

if cargo nextest --version >/dev/null 2>&1; then
    if [[ $# -eq 0 ]]; then
        # These run by themselves, in one process: only then can their tallies be added up, and nextest would hide them.
        check "Tests" tests cargo nextest run --locked --no-fail-fast --test-threads "$at_once" \
            -E 'not (binary(cheats) or binary(bad_days) or binary(kills))'
        check "Cheats" tests cargo test --locked --test cheats -- --test-threads "$at_once"
        check "Bad days" tests cargo test --locked --test bad_days -- --test-threads "$at_once"
        check "Kills" tests cargo test --locked --test kills -- --test-threads "$at_once"
        # nextest runs no doctests.
        check "Doctests" tests cargo test --locked --doc
    else
        check "Tests" tests cargo nextest run --locked --no-fail-fast "$@"
    fi
else
    check "Tests" tests cargo test --locked --no-fail-fast "$@"
fi

check "Description" node tests/oracles/description.cjs "$PHASEGATE_EXCHANGES" tests/oracles/deviations.json "${partly[@]}"

printf '\n%s passed, %s failed\n' "$passed_tests" "$failed_tests"
# A run in which nothing passed has shown nothing.
[[ $failed_tests -eq 0 && $passed_tests -gt 0 ]]
