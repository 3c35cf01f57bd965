# shellcheck shell=bash
# The checks, and the count of the tests.

passed_tests=0
failed_tests=0

# check TITLE COMMAND…: runs it, and remembers when it failed. The later ones still run: a person wants to see all.
# A failure that is no test's (a lint, a build) counts as one, so that a bad run never ends with "0 failed".
check() {
    local title=$1 before=$failed_tests
    shift
    heading "$title"
    if "$@" </dev/null; then
        return 0
    fi
    printf -- '-- failed: %s\n' "$title" >&2
    if [[ $failed_tests -eq $before ]]; then
        failed_tests=$((failed_tests + 1))
    fi
}

# count_tests FILE: adds the results in a test runner's output: nextest's summary and cargo test's result lines.
count_tests() {
    local passed broken
    passed=$(sed -nE 's/\x1b\[[0-9;]*m//g
        s/^ *Summary .* ([0-9]+) passed.*/\1/p
        s/^test result: .* ([0-9]+) passed;.*/\1/p' "$1" | awk '{ n += $1 } END { print n + 0 }')
    # "1 failed", "2 timed out" and "1 exec failed" are all failures.
    broken=$(sed -E 's/\x1b\[[0-9;]*m//g' "$1" | awk '
        /^ *Summary / {
            for (i = 1; i < NF; i++)
                if ($(i + 1) ~ /^failed/ || $(i + 1) ~ /^timed/ || $(i + 1) ~ /^exec/) { sub(/^.*\(/, "", $i); n += $i }
        }
        /^test result: / { for (i = 1; i < NF; i++) if ($(i + 1) ~ /^failed;/) n += $i }
        END { print n + 0 }')
    passed_tests=$((passed_tests + passed))
    failed_tests=$((failed_tests + broken))
}

# tests COMMAND…: runs a test runner, shows what it says, and counts.
tests() {
    local log status=0
    log=$(mktemp)
    "$@" 2>&1 | tee "$log" || status=$?
    count_tests "$log"
    rm -f "$log"
    return "$status"
}
