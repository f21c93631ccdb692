# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Sourced by the tests of serve. What is in `started` is ended when the test ends.
started=()
leave() {
    local status=$? pid
    for pid in "${started[@]}"; do kill -KILL "$pid" 2>/dev/null || true; done
    exit $status
}
trap leave EXIT

# await COMMAND: until it succeeds. A service that ends before is an error.
await() {
    local deadline=$((SECONDS + 60))
    until eval "$1"; do
        [ $SECONDS -lt $deadline ] || fail "in vain: $1
$(cat log 2>/dev/null)"
        [ -z "${service:-}" ] || kill -0 "$service" 2>/dev/null || fail "the service ended before: $1
$(cat log)"
        sleep 0.02
    done
}
# hit N: the target, whose input is descriptor 8 and output descriptor 7, makes 3 N hits; leaves in `made` how many it has made.
hit() {
    echo "hit $1" >&8
    read -r _ made <&7 || fail "the target ended: $(cat log)"
}
