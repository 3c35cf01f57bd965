# shellcheck shell=bash
# Temporary files in memory, where there is enough of it.

memory_folder=

# use_memory: from here on temporary files are made there.
use_memory() {
    local free
    free=$(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1) || return 0
    if [[ -w /dev/shm && ${free:-0} -ge 4194304 ]]; then
        memory_folder=$(mktemp -d -p /dev/shm phasegate-tests.XXXXXX)
        export TMPDIR=$memory_folder
    fi
}

forget_memory() {
    if [[ -n $memory_folder ]]; then
        rm -rf "$memory_folder"
    fi
}
