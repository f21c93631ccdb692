#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Real services under load: PostgreSQL with its own probes, nginx and Redis with fastprobe's entries. Each runs as another user, once as a
# service does and once in namespaces of its own under a filter like Docker's (tests/engine/box.c), and root traces it from outside.
#
#     tests/long/services.sh [--seconds N] [--only postgresql|nginx|redis]... [--record]
#
# Sixteen pairs of the same load, untraced and with a count on a probe that each request hits: the counts have to be the server's own, the
# median of the throughputs' ratios at least 0.95, and the 99th percentile within the noise of the untraced loads. Then tracers come and go
# under load, every third of them killed, while PostgreSQL has a new process for each transaction, nginx is told to reload and Redis saves.
# Afterwards text, mappings and semaphores are as before, there is no new zombie, and no client and no log has an error.
# N (64) is how long each is traced in its pairs. The table is written to build/services/table.md; --record puts it into
# docs/recorded/real-programs.md, where all three have passed. After a build of fastsdt (build/default), as root; needs wrk.
# Exit 1: a promise was broken, and a sentence says which.
set -euo pipefail
usage() { sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
cd "$(dirname "$0")/../.."
top=$PWD work=$PWD/build/services
fail() { echo "services.sh: $*" >&2; exit 1; }
seconds=64 services=() record=
while [ $# -gt 0 ]; do
    case $1 in
    --seconds) seconds=${2:-}; [[ $seconds =~ ^[1-9][0-9]*$ ]] || usage; shift 2 ;;
    --only) case ${2:-} in postgresql | nginx | redis) services+=("$2") ;; *) usage ;; esac; shift 2 ;;
    --record) record=1; shift ;;
    *) usage ;;
    esac
done
[ ${#services[@]} -gt 0 ] || services=(postgresql nginx redis)
[ -z "$record" ] || [ ${#services[@]} = 3 ] || fail "--record wants all three"
[ "$(id -u)" = 0 ] || fail "it needs root, which starts servers as another user and traces them"
for tool in wrk ip nsenter setpriv unshare; do command -v $tool >/dev/null || fail "$tool is not installed"; done
mkdir -p "$work"
for name in "${services[@]}"; do
    if [ "$name" = postgresql ]; then
        tests/long/real-programs.sh -b -c gcc -v fastsdt postgresql >"$work/build.log" 2>&1 || fail "$(tail -n 1 "$work/build.log")"
    else
        tests/long/real-servers.sh -b "$name" >"$work/build.log" 2>&1 || fail "$(tail -n 1 "$work/build.log")"
    fi
done
gcc -O2 tests/engine/box.c -o "$work/box"
python3 tests/long/services.py "$seconds" "$work/table.md" "${services[@]}"
if [ -n "$record" ]; then
    sed '/^## Services under load$/,$d' docs/recorded/real-programs.md | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' >"$work/document"
    sed '1,/^## Services under load$/d' docs/recorded/real-programs.md | sed -n '/^## /,$p' >"$work/behind" # what others have written
    { cat "$work/document"; echo; cat "$work/table.md"; [ ! -s "$work/behind" ] || { echo; cat "$work/behind"; }; } >"$work/real-programs.md"
    mv "$work/real-programs.md" docs/recorded/real-programs.md
    echo "recorded in docs/recorded/real-programs.md"
fi
