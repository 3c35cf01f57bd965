#!/usr/bin/env bash
# Has TLC, the model checker of TLA+, walk the law in every exploration of docs/model.md, and compares its counts with
# those of the exploration in Rust. The test command walks the small ones; all of them take minutes.
#
# usage: tests/tlc.sh [NAME…]        all explorations, or those (`content`, `fails-of-review`, …)
#
# A table is printed; the exit code is 1 when a property does not hold or a count is another one.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
# shellcheck source=tests/support/say.sh
source tests/support/say.sh
# shellcheck source=tests/support/packages.sh
source tests/support/packages.sh
# shellcheck source=tests/support/oracles.sh
source tests/support/oracles.sh
need_tlc

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cargo run --quiet --locked -- flow export pipeline --format tla --out "$work" >"$work/written"

# row NAME: what docs/model.md says of it: states, steps and depth.
row() {
    sed 's/,//g' docs/model.md | awk -F ' *\\| *' -v wanted="law: ${1//-/ }" \
        'tolower($2) == wanted { print $4, $5, $6 }'
}

names=("$@")
if [[ ${#names[@]} -eq 0 ]]; then
    # Of the two modules each has its own configuration, and one shows what the table is without guards.
    mapfile -t names < <(cd "$work" && ls -- *.cfg | grep -v -e '^Phasegate' -e '^unguarded' | sed 's/\.cfg$//')
fi

bad=0
printf '| exploration | states | steps | depth | in Rust | seconds |\n|---|---|---|---|---|---|\n'
for name in "${names[@]}"; do
    if [[ ! -f $work/$name.cfg ]]; then
        echo "tests/tlc.sh: there is no exploration $name. Those that are: $(cd "$work" && ls -- *.cfg | sed 's/\.cfg$//' | paste -sd' ')" >&2
        exit 2
    fi
    log=$work/$name.log began=$SECONDS
    (cd "$work" && java -XX:+UseParallelGC -Djava.io.tmpdir="$work" -cp "$PHASEGATE_TLA2TOOLS" tlc2.TLC -workers 1 \
        -config "$name.cfg" PhasegatePipelineLaw.tla) >"$log" 2>&1 || true
    counts=$(sed -nE 's/^([0-9]+) states generated, ([0-9]+) distinct states found, 0 states left on queue\.$/\2 \1/p' "$log")
    depth=$(sed -nE 's/^The depth of the complete state graph search is ([0-9]+)\.$/\1/p' "$log")
    verdict="the same"
    if ! grep -q '^Model checking completed. No error has been found.' "$log"; then
        verdict="**$(grep -m1 '^Error' "$log" || echo "TLC did not end")**" bad=1
    elif [[ "$counts $depth" != "$(row "$name")" ]]; then
        verdict="**$(row "$name")**" bad=1
    fi
    printf '| %s | %s | %s | %s | %s | %s |\n' "$name" "${counts% *}" "${counts#* }" "$depth" "$verdict" "$((SECONDS - began))"
done
exit $bad
