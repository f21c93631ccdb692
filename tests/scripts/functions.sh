#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# No test redefines a function of tests/common.sh or scripts/common/versions.sh: other functions there call it. If the test's own fails inside $(...),
# the output is empty, a loop over it runs zero times, and the test passes without a check.
. "$FASTSDT_SOURCE/tests/common.sh"
names() { sed -nE 's/^([a-z_]+)\(\).*/\1/p' "$@"; }
cd "$FASTSDT_SOURCE"
names tests/common.sh scripts/common/versions.sh | sort >"$OLDPWD/shared"
bad=
for file in tests/*/*.sh; do
    grep -qF 'tests/common.sh"' "$file" || continue
    again=$(names "$file" | sort | comm -12 - "$OLDPWD/shared" | xargs)
    [ -z "$again" ] || bad+="$file: $again"$'\n'
done
[ -s "$OLDPWD/shared" ] || fail "tests/common.sh has no functions"
[ -z "$bad" ] || fail "functions of tests/common.sh that a test has under the same name:"$'\n'"$bad"
