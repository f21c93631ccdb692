#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# PostgreSQL's regression tests on the installed server, by itself and with all functions of `postgres` armed by fastsdt-trace,
# their returns too: both have to have the same results. As root. Usage: tests/long/move-postgresql.sh [-b DIR]
#
#   -b DIR  the built programs (default: build/default/bin)
#
# Needs the packages postgresql-15 and gcc, make, bison, flex, perl: pg_regress and its library come from Debian's source package, built
# once into the cache.
set -euo pipefail
top=$(realpath "$(dirname "$0")/../..")
bin=$top/build/default/bin
while getopts b: option; do
    case $option in
        b) bin=$(realpath "$OPTARG") ;;
        *) sed -n '4,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
done
fail() { echo "move-postgresql.sh: $*" >&2; exit 1; }
[ "$(id -u)" = 0 ] || fail "it needs root, which starts the server as another user"
server=/usr/lib/postgresql/15/bin
[ -x $server/postgres ] || fail "the package postgresql-15 is not installed"
cache=${FASTSDT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fastsdt}/move-postgresql
if [ ! -e "$cache/built" ]; then
    archives=$("$top/scripts/common/debian-source.sh" postgresql-15)
    rm -rf "$cache" && mkdir -p "$cache"
    (
        cd "$cache"
        dpkg-source --no-copy -x "$archives"/*.dsc source
        mkdir build && cd build
        ../source/configure --without-readline --without-zlib --without-icu
        make -C src/backend generated-headers
        make -j"$(nproc)" -C src/test/regress
    ) >"$cache.log" 2>&1 || fail "pg_regress cannot be built: see $cache.log"
    touch "$cache/built"
fi
work=$(mktemp -d)
as_user() { (cd "$work" && setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$work" PGHOST="$work" PGPORT=5499 PGUSER=nobody "$@"); }
end() {
    as_user $server/pg_ctl -D "$work/data" -m immediate stop >/dev/null 2>&1 || true
    rm -rf "$work"
}
trap end EXIT
chmod 755 "$work"
chown 65534:65534 "$work"
cp -r "$cache/source/src/test/regress" "$work/tests"
cp "$cache/build/src/test/regress/"{pg_regress,regress.so} "$work/tests/"
chown -R 65534:65534 "$work/tests"
as_user $server/initdb -D data --no-locale -A trust >"$work/initdb.log" 2>&1 || fail "initdb: $(tail -n 3 "$work/initdb.log")"
echo "fsync = off" >>"$work/data/postgresql.conf"
as_user $server/pg_ctl -w -D data -l server.log -o "-p 5499 -k $work -c listen_addresses=" start >/dev/null ||
    fail "the server does not start: $(tail -n 3 "$work/server.log")"
postmaster=$(sed -n 1p "$work/data/postmaster.pid")

# results FILE: runs the tests; what each came to, without times
results() {
    local started=$SECONDS
    as_user sh -c "cd tests && ./pg_regress --bindir=$server --dlpath=. --schedule=parallel_schedule --max-connections=8 --no-locale" >"$1.log" 2>&1 || true
    grep -E '(ok|FAILED|failed) *[0-9]* ms|^ All |tests passed|tests failed|^server|^psql' "$1.log" | sed 's/ *[0-9]* ms$//; s/^ *//' >"$1"
    cp "$work/tests/regression.diffs" "$1.diffs" 2>/dev/null || : >"$1.diffs"
    echo "$(grep -c '\bok$' "$1") tests ok, $(grep -ciE 'FAILED$' "$1" || true) not, in $((SECONDS - started)) s"
}
lines() { wc -l <"$work/server.log"; }
echo "by themselves: $(results "$work/plain")"
before=$(lines)
"$bin/fastsdt-trace" --engine user --follow -p "$postmaster" -e "interval:ms:100 { printf(\"armed\n\"); }
    uprobe:$server/postgres:* { @in = count(); @by[func] = count(); } uretprobe:$server/postgres:* { @out = count(); }" >"$work/report" 2>"$work/said" &
tracer=$!
until grep -q armed "$work/report"; do
    kill -0 $tracer 2>/dev/null || fail "fastsdt-trace ended: $(cat "$work/said")"
    sleep 0.1
done
echo "traced: $(results "$work/traced")"
kill -INT $tracer
status=0
wait $tracer || status=$?
grep -E '^(sites|@in|@out)' "$work/report" | sed 's/^/  /'
sed 's/^/  /' "$work/said"
echo "  fastsdt-trace ended with $status, $(grep -c '^@by' "$work/report") functions were hit"
trouble=$(sed -n "$((before + 1)),\$p" "$work/server.log" | grep -E 'PANIC|terminated by signal|TRAP' | grep -v 'FATAL:  terminating' || true)
[ -z "$trouble" ] || { echo "$trouble"; fail "trouble in the server's log"; }
diff "$work/plain" "$work/traced" || { diff "$work/plain.diffs" "$work/traced.diffs" | sed -n 1,60p; fail "the results differ"; }
grep -aq rwxp "/proc/$postmaster/maps" && fail "writable text was left"
echo "the same results"
