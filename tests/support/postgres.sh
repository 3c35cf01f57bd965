# shellcheck shell=bash
# A PostgreSQL of the tests' own: a fresh cluster in a temporary folder, on a free port of the loopback. Expects $root.
: "${root:?}"

pg_bin=
pg_home=
pg_user=

find_postgres() {
    local dir
    local -a places=(/usr/lib/postgresql/*/bin)
    if [[ -n ${PHASEGATE_PG_BIN:-} ]]; then
        places=("$PHASEGATE_PG_BIN")
    fi
    # The newest one that is whole.
    while IFS= read -r dir; do
        if [[ -x $dir/initdb && -x $dir/pg_ctl && -x $dir/postgres ]]; then
            pg_bin=$dir
            return 0
        fi
    done < <(printf '%s\n' "${places[@]}" | sort -rV)
    return 1
}

need_postgres() {
    find_postgres && return
    need_apt "PostgreSQL" postgresql
    find_postgres || give_up "PostgreSQL was installed, but initdb, pg_ctl and postgres are not where they should be." \
        "Expected:  ${PHASEGATE_PG_BIN:-/usr/lib/postgresql/<version>/bin}"
}

# PostgreSQL refuses to run as root.
as_pg() {
    if [[ -z $pg_user ]]; then
        "$@"
    elif command -v runuser >/dev/null; then
        runuser -u "$pg_user" -- "$@"
    else
        su -s /bin/sh "$pg_user" -c "$(printf '%q ' "$@")"
    fi
}

free_port() {
    local port
    for _ in {1..50}; do
        port=$((20000 + RANDOM % 20000))
        # A port that refuses a connection has nobody on it.
        if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
            echo "$port"
            return
        fi
    done
    return 1
}

# Starts the cluster and exports PHASEGATE_TEST_POSTGRES_URL. Call stop_postgres when done, whatever happened.
start_postgres() {
    local base=${TMPDIR:-/tmp}
    if [[ $(id -u) -eq 0 ]]; then
        pg_user=postgres
        # A TMPDIR of root's own is shut for others.
        base=/tmp
        id "$pg_user" >/dev/null 2>&1 ||
            give_up "as root, PostgreSQL has to run as the user postgres, which does not exist." \
                "Make it:  useradd --system --no-create-home postgres"
    fi
    pg_home=$(mktemp -d "$base/phasegate-pg.XXXXXX")
    if [[ -n $pg_user ]]; then
        chown "$pg_user" "$pg_home"
    fi
    local log=$pg_home/log password port
    password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
    (umask 077 && printf '%s\n' "$password" >"$pg_home/password")
    if [[ -n $pg_user ]]; then
        chown "$pg_user" "$pg_home/password"
    fi
    # From a folder that the other user may enter, or its programs complain.
    cd "$pg_home" || exit 1
    if ! as_pg "$pg_bin/initdb" -D "$pg_home/data" -U phasegate --pwfile="$pg_home/password" -A scram-sha-256 \
        -E UTF8 --locale=C --no-sync >"$pg_home/initdb.log" 2>&1; then
        cat "$pg_home/initdb.log" >&2
        give_up "initdb failed; its words are above."
    fi
    local started=
    for _ in 1 2 3 4 5; do
        port=$(free_port) || give_up "there is no free port on the loopback."
        # Someone may take the port before PostgreSQL does: then another is tried.
        if as_pg "$pg_bin/pg_ctl" -D "$pg_home/data" -l "$log" -w -t 60 -s -o "-p $port -c listen_addresses=127.0.0.1 \
            -c unix_socket_directories='' -c fsync=off -c full_page_writes=off -c max_connections=400" \
            start </dev/null >/dev/null 2>&1; then
            started=yes
            break
        fi
    done
    cd "$root" || exit 1
    if [[ -z $started ]]; then
        cat "$log" >&2 || true
        give_up "PostgreSQL did not start; its log is above."
    fi
    export PHASEGATE_TEST_POSTGRES_URL="postgres://phasegate:$password@127.0.0.1:$port/postgres"
    echo "PostgreSQL $("$pg_bin/postgres" --version | sed 's/.*) //') on port $port"
}

stop_postgres() {
    [[ -n $pg_home ]] || return 0
    cd /
    if [[ -f $pg_home/data/postmaster.pid ]]; then
        as_pg "$pg_bin/pg_ctl" -D "$pg_home/data" -m immediate -w -t 30 -s stop >/dev/null 2>&1 </dev/null || true
    fi
    rm -rf "$pg_home"
    pg_home=
}
