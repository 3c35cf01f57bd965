#!/usr/bin/env bash
# Kills the real process at one write after the other, and prints the table of docs/kills.md.
#
#   tests/kills.sh                        as tests/run.sh does
#   PHASEGATE_KILLS=all tests/kills.sh    at every passage of every point
#   tests/kills.sh nested                 arguments go to the test runner
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

# shellcheck source=tests/support/say.sh
source tests/support/say.sh
# shellcheck source=tests/support/packages.sh
source tests/support/packages.sh
# shellcheck source=tests/support/postgres.sh
source tests/support/postgres.sh
# shellcheck source=tests/support/memory.sh
source tests/support/memory.sh

trap 'stop_postgres; forget_memory' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

need_rust
need_postgres
start_postgres
use_memory

cargo test --locked --test kills -- --test-threads $((2 * $(nproc))) "$@"
