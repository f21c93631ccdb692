# SPDX-License-Identifier: BSD-2-Clause
package=postgresql-15 provider=src/backend/utils/probes.d file=src/backend/postgres
tests_are="the tests of \`make check\`, by pg_regress, on a server without ICU, XML and compression"
parts="src/timezone src/interfaces/libpq src/backend/snowball src/backend/replication/libpqwalreceiver src/backend/utils/mb/conversion_procs src/pl/plpgsql/src src/bin/initdb src/bin/pg_ctl src/bin/psql src/bin/pgbench"
configure() { "$source/configure" -C --enable-dtrace --without-readline --without-zlib --without-icu "--prefix=$PWD/installed"; }
build() { # the server, and what its regression tests need: no ecpg, no dump tools
    local part
    make -C src/backend -j"$jobs" generated-headers
    make -C src/backend -j"$jobs"
    for part in src/fe_utils $parts src/test/regress; do make -C "$part" -j"$jobs"; done
    for part in src/backend $parts; do make -C "$part" install; done
}
recompile() {
    local object
    for object in "$@"; do make -C "$(dirname "$object")" "$(basename "$object")"; done
}
own_tests() { # the server refuses to be run by root
    rm -rf tmp_check
    cd src/test/regress
    as_user ./pg_regress --temp-instance=../../../tmp_check "--inputdir=$source/src/test/regress" "--bindir=$OLDPWD/installed/bin" --dlpath=. \
        --max-concurrent-tests=20 --max-connections=8 --no-locale "--schedule=$source/src/test/regress/parallel_schedule" 2>&1 |
        grep -E '(ok|FAILED|failed) *[0-9]* ms|^ All |tests passed|tests failed' | sed 's/ *[0-9]* ms$//; s/^ *//'
}
live_setup() {
    [ -d live ] || as_user "$PWD/installed/bin/initdb" -D "$PWD/live" --no-locale -A trust >initdb.log 2>&1
    live_probe=postgresql:query__start live_argument=arg0 live_value='select 7;\n' live_count=300
    live_more_probe=postgresql:query__done live_more_count=600
    live_command=("$PWD/src/backend/postgres" --single -D "$PWD/live" postgres) live_as_user=1
    live_input() { for _ in $(seq 300); do printf 'select 7;\nselect 8;\n'; done; }
}
