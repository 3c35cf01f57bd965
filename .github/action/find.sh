#!/usr/bin/env bash
# Finds the binary for the action, and says where it is in the output `binary`.
#
# PHASEGATE_BIN names one that is there already. Otherwise it is the release's for this platform, and it is run only if it
# is what checksums.txt says, which stands in the same commit as this script. Nothing is ever built here: a step with a
# token that writes is no place to run build scripts in. PHASEGATE_RELEASES is another place for the releases, such as a
# mirror; whatever comes from there has to have the same sum.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
checksums="$here/checksums.txt"

fail() {
    echo "::error title=Phasegate::$1"
    exit 2
}

[[ -n ${GITHUB_OUTPUT:-} ]] ||
    fail "GITHUB_OUTPUT is not set: this script is a step of the action, and the runner sets it. Use the action itself."

found() {
    echo "binary=$1" >>"$GITHUB_OUTPUT"
    exit 0
}

if [[ -n ${PHASEGATE_BIN:-} ]]; then
    [[ -f $PHASEGATE_BIN && -x $PHASEGATE_BIN ]] ||
        fail "PHASEGATE_BIN is '$PHASEGATE_BIN', and that is no program that can be run."
    # Without a folder it would be looked for among the commands.
    found "$(cd "$(dirname "$PHASEGATE_BIN")" && pwd)/$(basename "$PHASEGATE_BIN")"
fi

case "$(uname -s) $(uname -m)" in
    "Linux x86_64") platform=linux-x86_64 ;;
    "Linux aarch64" | "Linux arm64") platform=linux-aarch64 ;;
    "Darwin arm64") platform=macos-aarch64 ;;
    "Darwin x86_64") platform=macos-x86_64 ;;
    *) fail "There is no release for $(uname -s) on $(uname -m): use a Linux or macOS runner, or set PHASEGATE_BIN." ;;
esac

# Lines of `SHA-256  TAG/phasegate-PLATFORM`.
line=$(grep -E "^[0-9a-f]{64}  v[0-9A-Za-z.+-]+/phasegate-$platform\$" "$checksums" || true)
[[ $line != *$'\n'* ]] ||
    fail "checksums.txt of this commit has more than one checksum for $platform, so none of them can be believed. Use the commit of a release's tag, or set PHASEGATE_BIN."
[[ -n $line ]] ||
    fail "This commit of the action is no release: it has no checksum for $platform. Use the commit of a release's tag, or set PHASEGATE_BIN."
sum=${line%% *}
asset=${line#*  }

folder=$(mktemp -d "${RUNNER_TEMP:-/tmp}/phasegate-XXXXXX") ||
    fail "No folder can be made in ${RUNNER_TEMP:-/tmp}: RUNNER_TEMP must be one that can be written."
file="$folder/phasegate"
url="${PHASEGATE_RELEASES:-https://github.com/phasegate/phasegate/releases/download}/$asset"
curl --fail --silent --show-error --location --retry 3 --max-time 120 --output "$file" "$url" ||
    fail "The release can't be had from $url. Is the network of this runner closed? Put the file on it, and set PHASEGATE_BIN."
if command -v sha256sum >/dev/null; then
    actual=$(sha256sum <"$file")
else
    actual=$(shasum -a 256 <"$file")
fi
if [[ ${actual%% *} != "$sum" ]]; then
    rm -f "$file"
    fail "What came from $url is not the release: its SHA-256 is ${actual%% *}, and this commit says $sum. It was not run."
fi
chmod 0755 "$file"
found "$file"
