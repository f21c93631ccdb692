#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The same scripts on fastsdt-trace's user engine and in bpftrace: all that are written down, and hundreds that are made up.
# `differ.sh [SCRIPTS [SEED]]`: 400 scripts, and another seed with each run. Root; build/default has the tools.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export FASTSDT_SOURCE=$PWD FASTSDT_BUILD=$PWD/build/default PATH=$PWD/build/default/bin:$PATH
export FASTSDT_DIFFER_SCRIPTS=${1:-400} FASTSDT_DIFFER_SEED=${2:-$RANDOM}
bpftrace --version
cd "$folder" && bash "$FASTSDT_SOURCE/tests/engine/differ.sh"
