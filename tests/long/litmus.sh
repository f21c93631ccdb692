#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The algorithms of engine/code on arm64's memory model, as litmus tests (litmus/*.litmus) for herd7 (herdtools7: `opam install herdtools7`;
# 7.56 builds with Debian 12's ocaml, dune and menhir): what each of them excludes may not be observed. HERD7 is the command, herd7 by default.
# Exit status 77: it is not here.
set -euo pipefail
cd "$(dirname "$0")/litmus"
read -ra herd <<<"${HERD7:-herd7}"
command -v "${herd[0]}" >/dev/null || { echo "no herd7 here"; exit 77; }
status=0
# expect FILE PATTERN
expect() {
    local observed
    observed=$("${herd[@]}" "$1" 2>&1 | grep -E '^Observation|rror|Warning' || true)
    echo "${observed:-$1: no answer}"
    [[ $observed =~ ^Observation\ [a-z-]+\ $2$ ]] || { echo "$1: expected $2" && status=1; }
}
# Of at least two outcomes: one alone would mean that nothing was read.
for file in *.litmus; do expect "$file" 'Never 0 ([2-9]|[0-9]{2,})'; done
expect observed/store-behind-exchange.litmus 'Sometimes [1-9][0-9]* [0-9]+'
exit $status
