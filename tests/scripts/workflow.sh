#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The public project's workflow and issue forms follow GitHub's syntax, and what they run is there.
. "$FASTSDT_SOURCE/tests/common.sh"
need python3
python3 -c 'import yaml, jsonschema' 2>/dev/null || skip "python3-yaml or python3-jsonschema is not installed"
cd "$FASTSDT_SOURCE"
check() { python3 tests/scripts/workflow.py "$@"; }
check .github/workflows/*.yml examples/github-actions/*.yml .github/ISSUE_TEMPLATE/*.yml || fail "see above"
grep -ohE '\./(scripts|tests)/[a-z/-]+\.sh' .github/workflows/*.yml | sort -u | while read -r script; do
    [ -x "$script" ] || fail "the workflow runs $script"
done
for runner in ubuntu-24.04 ubuntu-24.04-arm debian:12 debian:13 debian:sid ubuntu:24.04; do
    grep -qE "[[ \"]${runner}[],\"]" .github/workflows/ci.yml || fail "the workflow does not cover $runner"
done

# It can fail.
cd - >/dev/null
mkdir -p workflows
bad() { # WHAT SED-COMMAND MESSAGE
    sed "$2" "$FASTSDT_SOURCE/.github/workflows/ci.yml" >workflows/bad.yml
    if check=$(python3 "$FASTSDT_SOURCE/tests/scripts/workflow.py" "$PWD/workflows/bad.yml"); then fail "$1 was accepted"; fi
    matches -F -e "$3" <<<"$check" || fail "$1: $check"
}
bad "a misspelt key" '0,/runs-on/s/runs-on/run-on/' "'runs-on' is a required property"
bad "an unknown key" '0,/timeout-minutes/s/timeout-minutes/timeout/' "'timeout' was unexpected"
bad "an unknown runner" 's/ubuntu-24.04-arm/ubuntu-24.04-risc/' "ubuntu-24.04-risc is no hosted runner"
bad "a matrix key that is not there" 's/matrix.image/matrix.images/' "matrix.images is not in the matrix"
bad "an action without a version" 's/checkout@v4/checkout/' "does not match"
bad "not YAML" 's/^jobs:/jobs: [/' "workflows/bad.yml"
