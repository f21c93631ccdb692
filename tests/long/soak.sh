#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# An hour of churn: threads, children, libraries, signals, exceptions, a program with more than 1 GiB in use and one of Go, where that is; tracers
# that attach, detach, are killed or lose the reader of their output at any moment (tests/engine/churn.py). At the end text, vdso, semaphores,
# mappings, memory and the program's own results are compared. `soak.sh [--minutes N]`; `soak.sh --attachments N`: so many tracers in turn, some of
# them killed, with twenty scripts; then the process has as much memory as after the first twenty (tests/engine/attachments_test.cpp). `soak.sh
# --tree N`: so many to a working server of 100 processes (tests/engine/tree.py). build/default has the tools.
set -euo pipefail
cd "$(dirname "$0")/../.."
minutes=60 attachments='' tree=''
while [ $# -gt 1 ]; do
    case $1 in
    --minutes) minutes=$2 ;;
    --attachments) attachments=$2 ;;
    --tree) tree=$2 ;;
    *) break ;;
    esac
    shift 2
done
[ $# = 0 ] || { sed -n '5,/^[^#]/s/^# //p' "$0" >&2; exit 2; }
export FASTSDT_SOURCE=$PWD FASTSDT_BUILD=$PWD/build/default PATH=$PWD/build/default/bin:$PATH
if [ -n "$attachments" ]; then
    FASTSDT_ATTACHMENTS=$attachments engine_attachments_test
    exit
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
if [ -n "$tree" ]; then
    FASTSDT_TREE=$tree FASTSDT_TREE_SEED=$RANDOM bash "$FASTSDT_SOURCE/tests/engine/tree.sh"
    exit
fi
FASTSDT_CHURN=$((minutes * 60))s FASTSDT_CHURN_SEED=$RANDOM bash "$FASTSDT_SOURCE/tests/engine/churn.sh"
