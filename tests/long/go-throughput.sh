#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# How many requests a second Debian's prometheus, etcd and caddy, stripped Go programs, answer: untraced; with all entries counted by
# fastsdt-trace's user engine; with all entries and returns; with the entries of the functions that are hit most counted by bpftrace's uprobes, and
# by fastsdt-trace. wrk asks, and checks each answer. Prints a table for docs/recorded/real-programs.md. Usage:
#
#   tests/long/go-throughput.sh [-b DIR] [-n ROUNDS] [-t SECONDS] [-f FUNCTIONS] [PROGRAM...]
#
#   -b DIR        the built programs (default: build/default/bin)
#   -n ROUNDS     each has the five loads once, in another order (default: 12)
#   -t SECONDS    a load takes so long (default: 3)
#   -f FUNCTIONS  how many of those that are hit most (default: 100)
#
# Without PROGRAM: prometheus etcd caddy. apt fetches their packages; nothing is installed. As root, as uprobes want it.
set -euo pipefail
top=$(realpath "$(dirname "$0")/../..")
. "$top/tests/long/go_programs.sh"
usage() { sed -n '7,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
bin=$top/build/default/bin arguments=()
while getopts b:n:t:f: option; do
    case $option in
        b) bin=$(realpath "$OPTARG") ;;
        n | t | f) [[ $OPTARG =~ ^[1-9][0-9]{0,4}$ ]] || usage; arguments+=("-$option" "$OPTARG") ;;
        *) usage ;;
    esac
done
shift $((OPTIND - 1))
for name in "$@"; do
    case $name in prometheus | etcd | caddy) ;; *) usage ;; esac
done
[ "$(id -u)" = 0 ] || { echo "go-throughput.sh: it needs root, as uprobes do" >&2; exit 1; }
for tool in wrk bpftrace; do
    command -v $tool >/dev/null || { echo "go-throughput.sh: $tool is not installed; scripts/install-deps.sh does it" >&2; exit 1; }
done
unpacked prometheus etcd-server caddy
python3 "$top/tests/long/go-throughput.py" "${arguments[@]}" "$@" &
wait $!
