#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Servers whose sources have no probes, with fastprobe: Debian's unchanged upstream sources, built by gcc -O2 with the plugin.
#
#     tests/long/real-servers.sh [-b] [nginx|redis]...
#
# A function that runs once for each request is counted by fastsdt-trace's user engine and by bpftrace while a client asks a fixed
# number of times, and both numbers have to be those of the server's own statistics. No kernel single-steps or refuses a selected
# entry, but for those that the report lists as missed. After a build of fastsdt (build/default), as root, on a kernel with uprobes.
# -b: builds only, in build/real-servers/NAME, for other scripts.
# FASTSDT_REAL_SERVERS: a folder instead of build/real-servers.
set -euo pipefail
cd "$(dirname "$0")/../.."
top=$PWD
bin=$top/build/default/bin
work=${FASTSDT_REAL_SERVERS:-$top/build/real-servers}
build_only=
[ "${1:-}" != -b ] || { build_only=1; shift; }
programs=("$@")
[ $# -gt 0 ] || programs=(nginx redis)
for name in "${programs[@]}"; do case $name in nginx | redis) ;; *) sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;; esac; done
fail() { echo "real-servers.sh: $*" >&2; exit 1; }
plugin=$top/build/default/gcc-$(gcc -dumpversion | cut -d. -f1)/fastprobe.so
[ -x "$bin/fastsdt-trace" ] && [ -e "$plugin" ] || fail "build fastsdt first: $bin/fastsdt-trace, $plugin"
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true' EXIT

# A recipe sets package, file (the program), counted (the function), requests. Its functions run in the build folder: build; start,
# which sets server; asks, which asks `requests` times and prints nothing; statistics, which prints how often the server says it was asked.
nginx_recipe() {
    package=nginx file=objs/nginx counted=ngx_http_process_request requests=500
    build() {
        ./configure --without-http_rewrite_module --without-http_gzip_module --with-http_stub_status_module "--with-cc-opt=-O2 $flags" --with-ld-opt=
        make -j2
    }
    start() {
        mkdir -p run/logs
        cat >run/nginx.conf <<END
daemon off; master_process off; error_log stderr;
events { }
http { access_log off; server { listen unix:$PWD/run/socket; location = /empty { empty_gif; } location = /status { stub_status; } } }
END
        rm -f run/socket
        objs/nginx -p run -c nginx.conf >run/log 2>&1 &
        server=$!
        until [ -S run/socket ]; do kill -0 $server || fail "nginx: $(tail -n 2 run/log)"; done
    }
    ask() { # PATH TIMES
        python3 -c '
import socket, sys
for _ in range(int(sys.argv[3])):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    s.sendall(b"GET %s HTTP/1.0\r\n\r\n" % sys.argv[2].encode())
    got = b""
    while part := s.recv(4096):
        got += part
print(got.decode(errors="replace"))' run/socket "$1" "$2"
    }
    asks() { ask /empty "$requests" >/dev/null; }
    statistics() { # the third number of the third line; asking is a request too
        ask /status 1 | awk '/^server accepts/ { getline; print $3 }'
    }
    own_requests=1
}
redis_recipe() {
    package=redis file=src/redis-server counted=getCommand requests=500
    build() { make -C src -j2 MALLOC=libc OPTIMIZATION=-O2 "REDIS_CFLAGS=$flags" redis-server redis-cli redis-benchmark; }
    start() {
        rm -f run.socket
        src/redis-server --port 0 --unixsocket "$PWD/run.socket" --save '' >run.log 2>&1 &
        server=$!
        until [ "$(src/redis-cli -s run.socket ping 2>/dev/null)" = PONG ]; do kill -0 $server || fail "redis: $(tail -n 2 run.log)"; done
    }
    asks() { seq "$requests" | sed 's/.*/get key/' | src/redis-cli -s run.socket >/dev/null; }
    statistics() { src/redis-cli -s run.socket info commandstats | sed -n 's/^cmdstat_get:calls=\([0-9]*\),.*/\1/p'; }
    own_requests=0
}

# counted_by TRACER...: the server's own count and the tracer's, of the same requests.
counted_by() {
    local tracer before after
    rm -f trace.out
    "$@" >trace.out 2>&1 &
    tracer=$!
    until grep -q '^attached$' trace.out 2>/dev/null; do kill -0 $tracer 2>/dev/null || fail "$1: $(tail -n 3 trace.out)"; done
    before=$(statistics)
    asks
    after=$(statistics)
    kill -INT $tracer
    wait $tracer || true
    echo "$((${after:-0} - ${before:-0} + own_requests)) $(sed -n 's/^@hits: //p' trace.out)"
}

mkdir -p "$work"
for name in "${programs[@]}"; do
    "${name}_recipe"
    cd "$work"
    if [ ! -e "$name/built" ]; then
        rm -rf "$name"
        sources=$("$top/scripts/common/debian-source.sh" "$package") || fail "cannot fetch $package"
        dpkg-source --no-copy --skip-patches -x "$sources"/*.dsc "$name" >fetch.log 2>&1 || fail "cannot unpack $package: $(tail -n 1 fetch.log)"
        cd "$name"
        export CCACHE_DISABLE=1
        flags="-fplugin=$plugin -fplugin-arg-fastprobe-entry=nop10 -fplugin-arg-fastprobe-report=$PWD/report.json" # what the user engine arms
        build >make.log 2>&1 || fail "$name: $(tail -n 3 make.log)"
        touch built
        cd ..
    fi
    [ -z "$build_only" ] || continue
    cd "$name"
    "$bin/fastsdt-check" --functions --json --no-lines "$file" >functions.json || fail "$name: fastsdt-check --functions $file"
    entries=$("$top/tests/long/check-entries.py" functions.json report.json) || fail "$name: entries: $entries"
    start
    probe="BEGIN { printf(\"attached\\n\"); } uprobe:$PWD/$file:$counted { @hits = count(); }"
    user=$(counted_by "$bin/fastsdt-trace" --engine user -p $server -e "${probe/BEGIN/interval:ms:10}")
    kernel=$(counted_by bpftrace -p $server -e "$probe")
    kill $server
    wait $server || true
    server=
    for count in "$user" "$kernel"; do
        [ "${count% *}" = "${count#* }" ] && [ "${count% *}" -ge "$requests" ] ||
            fail "$name: its statistics and a tracer's count differ: $count (user: $user, bpftrace: $kernel)"
    done
    echo "$name: $entries; $counted: ${user#* } hits by fastsdt-trace and ${kernel#* } by bpftrace, as $name counts"
done
