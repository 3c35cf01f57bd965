#!/usr/bin/env bash
# Breaks one rule of the code at a time and sees which property of the models fails.
#
# usage: tests/mutations.sh [NAME…]        all of tests/mutations/*.patch, or those
#
# Each patch says in its first lines what it breaks (`Breaks:`), which test is run (`Test:`) and which property must
# fail (`Property:`). They are applied to a copy of the tree, from which everything is taken out that the models do not
# need, so that a mutation takes seconds and not minutes. A table is printed; the exit code is 1 when a mutation
# survives or fails another way.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
# Never where the tree itself is built: a mutant would pass for it.
target=${CARGO_TARGET_DIR:-$root/target}/mutations
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Always the same place, so that only what a patch touches is built again.
copy=$target/mutated
mkdir -p "$copy"
fresh() {
    (cd "$root" && git ls-files -co --exclude-standard -- src docs templates tests/fixtures Cargo.toml Cargo.lock) | while read -r file; do
        # What is as it was is not built again.
        mkdir -p "$(dirname "$work/tree/$file")" && cp "$root/$file" "$work/tree/$file"
    done
    rm -f "$work/tree/src/main.rs"
    # Of the rehearsal only its documents are needed.
    sed -i -E '/^pub mod (cli|inbox|server|twin);/d; s/^pub mod rehearsal;/pub mod rehearsal { pub mod papers; }/' \
        "$work/tree/src/lib.rs"
    # Its test binary is not there.
    sed -i '/^\[\[test\]\]/,/^$/d' "$work/tree/Cargo.toml"
    [ -z "${1-}" ] || patch --quiet --directory="$work/tree" -p1 --input="$1" >&2
    (cd "$work/tree" && find . -type f) | while read -r file; do
        cmp -s "$work/tree/$file" "$copy/$file" || { mkdir -p "$(dirname "$copy/$file")"; cp "$work/tree/$file" "$copy/$file"; }
    done
}
field() { sed -n "s/^$2: //p" "$1" | head -1; }

names=("$@")
if [ ${#names[@]} -eq 0 ]; then
    for patch in "$root"/tests/mutations/*.patch; do names+=("$(basename "$patch" .patch)"); done
fi

survived=0
printf '| mutation | what was broken | property that failed | a way there |\n|---|---|---|---|\n'
for name in "${names[@]}"; do
    patch=$root/tests/mutations/$name.patch
    fresh "$patch"
    property=$(field "$patch" Property)
    log=$work/$name.log
    if (cd "$copy" && CARGO_TARGET_DIR=$target RUST_BACKTRACE=0 cargo test --locked --lib --quiet -- \
        --exact $(field "$patch" Test)) >"$log" 2>&1; then
        verdict="**survived**" way=""
        survived=1
    elif grep -qF "FAILS \`$property\`" "$log"; then
        others=$(sed -n 's/^FAILS `\([^`]*\)`.*/\1/p' "$log" | { grep -vxF "$property" || true; } | sort -u | paste -sd';' | sed 's/;/; /g')
        verdict="$property${others:+ (and: $others)}"
        way=$(grep -m1 -F "FAILS \`$property\`" "$log" | sed 's/^FAILS `[^`]*` //; s/|/\\|/g')
    else
        verdict="**failed another way**" way=$(grep -m1 -E '^error|panicked|FAILS' "$log" | sed 's/|/\\|/g' || true)
        survived=1
    fi
    printf '| `%s` | %s | %s | %s |\n' "$name" "$(field "$patch" Breaks)" "$verdict" "$way"
done
exit $survived
