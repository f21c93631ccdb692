#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs shellcheck: no error and no warning in any script; .shellcheckrc says which it shall not look for, and why.
. "$FASTSDT_SOURCE/tests/common.sh"
need shellcheck
cd "$FASTSDT_SOURCE"
scripts=$(find . \( -path ./build -o -path ./.git \) -prune -o -type f \( -name '*.sh' -o -path ./.ci/run \) -print | sort)
matches -x ./.ci/run <<<"$scripts" || fail "the search does not find .ci/run"
# An exception is one for all scripts, with its reason, or the line is written differently.
exceptions=$(xargs grep -n 'shellcheck disable''=' <<<"$scripts") && fail "exceptions outside .shellcheckrc: $exceptions"
xargs -P "$(nproc)" -n 12 shellcheck --severity=warning --format=gcc <<<"$scripts" || fail "see above"
