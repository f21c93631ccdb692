#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Debian's prometheus, etcd, caddy, containerd and dockerd, stripped Go programs with C code, run at once, each under a load whose answers are
# checked. Tracers arm all functions and returns and take them back, again and again; every third tracer is killed at a random moment. After each
# one the program lives and answers as before; after each that armed all and was not killed, and at the end, its code is its file's. Usage:
#
#   tests/long/move-go-programs.sh [-b DIR] [-n ROUNDS | -t SECONDS] [-s SEED] [PROGRAM...]
#
#   -b DIR      the built programs (default: build/default/bin)
#   -n ROUNDS   so many tracers for each program (default: 20)
#   -t SECONDS  until so long has passed
#   -s SEED     when tracers are interrupted and killed (default: 1)
#
# Without PROGRAM: prometheus etcd caddy containerd dockerd. apt fetches their packages; nothing is installed. As root, as containerd wants it.
# dockerd runs containers of gcc's, with runc.
set -euo pipefail
top=$(realpath "$(dirname "$0")/../..")
. "$top/tests/long/go_programs.sh"
usage() { sed -n '7,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
bin=$top/build/default/bin arguments=()
while getopts b:n:t:s: option; do
    case $option in
        b) bin=$(realpath "$OPTARG") ;;
        n | t | s) [[ $OPTARG =~ ^[0-9]{1,6}$ ]] || usage; arguments+=("-$option" "$OPTARG") ;;
        *) usage ;;
    esac
done
shift $((OPTIND - 1))
for name in "$@"; do
    case $name in prometheus | etcd | caddy | containerd | dockerd) ;; *) usage ;; esac
done
[ "$(id -u)" = 0 ] || { echo "move-go-programs.sh: it needs root, as which containerd runs" >&2; exit 1; }
unpacked prometheus etcd-server caddy containerd docker.io runc tini
# In namespaces of its own: what containerd and dockerd mount ends with it, and what they write into these folders is in ours.
mkdir -p over/{etc,opt,run}{,.work}
unshare --mount --propagation private sh -c '
    for folder in etc opt run; do
        mount -t overlay -o "lowerdir=/$folder,upperdir=$PWD/over/$folder,workdir=$PWD/over/$folder.work" overlay "/$folder" || exit
    done
    exec "$@"' sh python3 "$top/tests/long/move-go-programs.py" "${arguments[@]}" "$@" &
wait $!
