# shellcheck shell=bash
# How the scripts talk.

heading() {
    printf '\n== %s\n' "$*"
}

# The script can't go on, and says what to do about it.
give_up() {
    printf '\n%s can not go on: %s\n' "$0" "$1" >&2
    shift
    local line
    for line in "$@"; do
        printf '  %s\n' "$line" >&2
    done
    exit 1
}
