#!/usr/bin/env bash
# The figures of docs/benchmarks.md: builds the release, fetches the peers, measures, and writes the page's tables.
#
#   benches/run.sh                     all of it; the machine should have nothing else to do
#   benches/run.sh --quick             whether all of it works: its numbers are worth nothing, and the page stays
#   benches/run.sh webhooks decide     these figures alone; they are printed, and the page stays
#   benches/run.sh --page run tree     these figures alone, on the page too
#
# Everything is kept below target/, which has to be on a disk: what is to be durable is waited for there.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

# shellcheck source=tests/support/say.sh
source tests/support/say.sh
# shellcheck source=tests/support/packages.sh
source tests/support/packages.sh
# shellcheck source=tests/support/oracles.sh
source tests/support/oracles.sh

# The peers, each in one version. docs/dependencies.md says what each is for.
need_peers() {
    need_new_node
    need_npm_package @octokit/webhooks-examples 7.6.1
    export PHASEGATE_WEBHOOK_EXAMPLES="$npm_package/api.github.com/index.json"
    need_npm_package probot 14.3.2
    export PHASEGATE_PROBOT=$npm_package
    bundle_action
    FIGURES_PEERS="Node $("$PHASEGATE_NODE" --version | tr -d v), probot 14.3.2, @actions/core 3.0.1, @actions/github 9.1.1"
    export FIGURES_PEERS
}

# The action in JavaScript, as one file: that is how such actions are published.
bundle_action() {
    local home="$root/target/benches/action"
    mkdir -p "$home/node_modules/@actions"
    need_npm_package @actions/core 3.0.1
    ln -sfn "$npm_package" "$home/node_modules/@actions/core"
    need_npm_package @actions/github 9.1.1
    ln -sfn "$npm_package" "$home/node_modules/@actions/github"
    need_npm_package @vercel/ncc 0.45.0
    cp benches/peers/action.mjs "$home/action.mjs"
    "$PHASEGATE_NODE" "$npm_package/dist/ncc/cli.js" build "$home/action.mjs" --out "$home/dist" --minify --quiet
    export PHASEGATE_ACTION_BUNDLE="$home/dist/index.mjs"
}

need_rust
need_node
command -v curl >/dev/null || need_apt "curl" curl
[[ -x /usr/bin/time ]] || need_apt "GNU time" time
need_peers

FIGURES_DATE=$(date -u +%Y-%m-%d)
FIGURES_COMMIT=$(git rev-parse --short=12 HEAD)
[[ -z $(git status --porcelain -- src Cargo.toml Cargo.lock benches) ]] || FIGURES_COMMIT+=", with changes"
FIGURES_RUSTC=$(rustc --version)
export FIGURES_DATE FIGURES_COMMIT FIGURES_RUSTC

cargo build --locked --release --bin phasegate
# A copy: what the client is built with puts its own there.
export PHASEGATE_RELEASE="$root/target/benches/phasegate"
cp "${CARGO_TARGET_DIR:-$root/target}/release/phasegate" "$PHASEGATE_RELEASE"
cargo bench --locked --bench figures --no-run

# Nothing of a developer's own settings, and no proxy between the client and what it measures.
unset DATABASE_URL GITHUB_TOKEN GH_TOKEN HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy
cargo bench --locked --bench figures -- "$@"
