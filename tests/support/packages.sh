# shellcheck shell=bash
# What the tests need beside Rust, and how to get it on Debian and Ubuntu. Expects $root, the repository's folder.
: "${root:?}"

# Runs a command as root: directly, or by a sudo that asks nothing.
as_root() {
    if [[ $(id -u) -eq 0 ]]; then
        "$@"
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        sudo -n "$@"
    else
        return 77
    fi
}

apt_updated=

# need_apt WHAT PACKAGE…: installs the packages, or says that WHAT is missing and how to get it.
need_apt() {
    local what=$1
    shift
    local by_hand="install it by hand:  sudo apt-get install $*"
    command -v apt-get >/dev/null || give_up "$what is missing, and there is no apt-get here to install it." \
        "Install $what with this system's package manager, and run the script again."
    as_root true || give_up "$what is missing, and installing it takes root or a sudo without password." "$by_hand"
    echo "installing $* ($what)"
    local log
    log=$(mktemp)
    if [[ -z $apt_updated ]]; then
        as_root apt-get update -q >"$log" 2>&1 || true
        apt_updated=yes
    fi
    if ! as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@" \
        >>"$log" 2>&1 </dev/null; then
        tail -n 5 "$log" >&2
        rm -f "$log"
        give_up "$what is missing, and apt-get could not install it (no network?)." "$by_hand"
    fi
    rm -f "$log"
}

need_rust() {
    command -v cargo >/dev/null || give_up "Rust is missing." "Get it from https://rustup.rs, and run the script again."
    local tool
    for tool in fmt clippy; do
        cargo "$tool" --version >/dev/null 2>&1 ||
            give_up "cargo $tool is missing." "Get it:  rustup component add rustfmt clippy"
    done
    command -v cc >/dev/null || need_apt "a C compiler" build-essential
    command -v git >/dev/null || need_apt "git" git
}

need_node() {
    if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
        need_apt "Node.js with npm" nodejs npm
    fi
}
