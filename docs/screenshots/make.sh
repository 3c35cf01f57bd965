#!/usr/bin/env bash
# Makes the pictures in this folder again: plays the demo, does a few things on its pages, and looks at them with Chromium.
# Needs chromium, curl, fonts-noto-color-emoji, nodejs and pngquant (Debian packages of these names). It takes a minute.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
out=${1:-$here}
scheme=${SCHEME:-light} # or dark
work=$(mktemp -d)
cargo build --quiet --manifest-path "$root/Cargo.toml"
"${CARGO_TARGET_DIR:-$root/target}/debug/phasegate" demo >"$work/said" 2>"$work/log" &
demo=$!
trap 'kill -INT "$demo" 2>/dev/null || true; wait "$demo" || true; rm -rf "$work"' EXIT
until grep -q "Ctrl-C ends it" "$work/said"; do
    kill -0 "$demo" || { cat "$work/said" "$work/log" >&2; exit 1; }
    sleep 0.2
done
url=$(grep -o 'http://127[^ ]*/octo-org/lantern$' "$work/said" | head -n 1)

# does PATH FIELD…: sends a form, and says so when it was refused.
does() {
    local path=$1 answer field fields=()
    shift
    for field in "$@"; do
        fields+=(--data-urlencode "$field")
    done
    answer=$(curl -sS --noproxy '*' "$url$path/act" "${fields[@]}")
    [[ $answer == done:* ]] || { echo "$path $*: $answer" >&2; exit 1; }
}

# looks NAME WIDTH MOST-HEIGHT PATH [SELECTOR]
looks() {
    TMPDIR=$work node "$here/look.cjs" "$url$4" "$work/$1.png" "$2" "$3" "$scheme" "${5:-}"
    pngquant --force --quality 60-90 --strip --output "$out/$1.png" "$work/$1.png"
}

# A change of a guest's whose design says TBD: its gate fails, with the line.
does "" do=begin as=guest change=brighter
does /pull/2 do=comment as=guest "body=/expand a brighter lantern"
does /pull/2 do=push as=guest commit=tbd
does /pull/2 do=comment as=guest body=/design
# Another, which somebody stops: the bot asks in an issue.
does "" do=begin as=rover change=strobe
does /pull/3 do=comment as=ada "body=/expand a strobe"
does /pull/3 do=comment as=ada "body=/stop nobody asked for a strobe"

looks repository 1280 1100 ""
looks failed-gate 1280 1940 /pull/2
looks merged 1280 1100 /pull/1
looks escalation 1280 2400 /issues/4
if [[ -n ${ALL:-} ]]; then # more, to look at while working on the pages
    looks narrow-repository 400 1800 ""
    looks narrow-failed-gate 400 3600 /pull/2
    looks files 1280 2000 /pull/1 "#files"
    does "" do=bad-day day=loses-webhooks seed=7
    does /pull/2 do=push as=guest commit=mend
    looks bad-day 1280 900 /pull/2
    does "" do=calm
    looks calm 1280 900 /pull/2
fi
