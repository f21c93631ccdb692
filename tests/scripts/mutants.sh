#!/bin/bash
# Each change of tests/long/mutants.sh still changes something: a run of it takes more than an hour, and code moves.
. "$FASTSDT_SOURCE/tests/common.sh"
"$FASTSDT_SOURCE/tests/long/mutants.sh" --applies >out 2>&1 || fail "$(cat out)"
grep -q '^[1-9][0-9]* mutants apply$' out || fail "$(cat out)"
