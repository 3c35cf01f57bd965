#!/usr/bin/env bash
# What an agent has to read, in tokens: the tables of docs/benchmarks.md under "What an agent reads".
#
#   benches/tokens.sh            counts, and prints the tables
#   benches/tokens.sh --page     and puts them on the page
#
# It takes no time that matters, so it needs neither the release nor a quiet machine.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

# shellcheck source=tests/support/say.sh
source tests/support/say.sh
# shellcheck source=tests/support/packages.sh
source tests/support/packages.sh
# shellcheck source=tests/support/oracles.sh
source tests/support/oracles.sh

need_rust
need_node
need_tokenizer

mkdir -p target
export PHASEGATE_TOKENS="$root/target/tokens.json"
rm -f "$PHASEGATE_TOKENS"
# What is over its ceiling is told, and is counted all the same.
cargo test --locked --test oracles -- tokens:: --nocapture || [[ -f $PHASEGATE_TOKENS ]]
python3 tests/peers/tokens.py "$PHASEGATE_TOKENS" "$@"
