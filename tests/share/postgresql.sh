#!/bin/bash
# pgslower, on the PostgreSQL that is installed: the queries of its own log, with times that fit.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
postgres=$(command -v postgres || ls /usr/lib/postgresql/*/bin/postgres 2>/dev/null | tail -n 1) || true
[ -n "$postgres" ] || skip "PostgreSQL is not installed"
need readelf
folder=$(dirname "$(readlink -f "$postgres")")
readelf -nW "$folder/postgres" 2>/dev/null | matches 'Name: query__execute__done' || skip "$folder/postgres has no USDT probes"
[ -x "$folder/pgbench" ] || skip "pgbench is not installed"
. "$FASTSDT_SOURCE/tests/share/common.sh"
"${as_user[@]}" "$folder/initdb" -D data -A trust -N --locale=C >initdb.log 2>&1 || fail "initdb: $(cat initdb.log)"
cat >queries.sql <<'END_SQL'
select 41, pg_sleep(0.01);
select 42, 'a query that is longer than the strings of a script are';
END_SQL
cat >server.sh <<END_SH
"$folder/postgres" -D data -k "$PWD" -h '' -c fsync=off -c log_min_duration_statement=0 -c log_line_prefix='' 2>server.log &
server=\$!
until grep -qs '^ready' data/postmaster.pid; do kill -0 \$server || exit 1; done
END_SH
cat >clients.sh <<END_SH
for how in simple extended prepared; do
    "$folder/pgbench" -h "$PWD" -n -t 2 -M \$how -f queries.sql postgres >>bench.log 2>&1 || exit 1
done
END_SH
cat >check.py <<'END_PY'
import re, sys
log = [(float(ms), how, query[:63]) for ms, how, query in re.findall(r"^LOG:  duration: ([\d.]+) ms  (statement|execute) ?[^:]*: (.*)$", open("server.log").read(), re.M)]
got = [(float(ms), query) for ms, query in re.findall(r"^\d\d:\S+ +\d+ +([\d.]+) (.*)$", open("out").read(), re.M)]
least = float(sys.argv[1])
if any(ms < least for ms, _ in got):
    sys.exit(f"less than {least} ms: {got}")
want = [line for line in log if not least or "pg_sleep" in line[2]]
if least: # others may have taken as long
    got = [line for line in got if "pg_sleep" in line[1]]
# The log has the time since the query came. Its own writing is a part of a simple query, and of no other.
if len(want) != (6 if least else 12) or [w[2] for w in want] != [g[1] for g in got] or any(
        w[1] == "execute" and g[0] > w[0] or "pg_sleep" in g[1] and g[0] < 10 for w, g in zip(want, got)):
    sys.exit(f"log: {want}\npgslower: {got}\n{open('err').read()}")
END_PY
echo '. ./server.sh; sh clients.sh; kill -INT $server; wait $server' >all.sh
for ms in 0 10; do
    traced pgslower.bt --read-memory -- --ms=$ms -- sh all.sh
    python3 check.py $ms || fail "pgslower --ms=$ms"
done

# A server that runs already, by its first process.
"${as_user[@]}" sh -c '. ./server.sh; echo $server >pid; wait $server' 3>&- &
until [ -s pid ]; do kill -0 $! || fail "no server"; done
until grep -qs '^ready' data/postmaster.pid; do kill -0 $! || fail "no server"; done
attached pgslower.bt "$(cat pid)" --read-memory --follow
"${as_user[@]}" sh clients.sh || fail "$(cat bench.log)"
detached
python3 check.py 0 || fail "pgslower of a server that runs"
kill -INT "$(cat pid)"
wait
