#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The oracle's own judgement: a wrong answer, an answer that is missing and a failed check are noticed.
. "$FASTSDT_SOURCE/tests/common.sh"
need kernel-oracle
results=$FASTSDT_SOURCE/tests/kernel/results
status_of() { local status=0; "$@" >out 2>err || status=$?; echo $status; }

expect "recorded answers" "$(status_of kernel-oracle compare "$results"/*.json)" 0
# 6.1 saying that it emulates what it refuses
sed 's/"reject": "\([^"]*\)662e0f1f840000000000 /"emulate-not": "\1/; s/"emulate": "90 /"emulate": "90 662e0f1f840000000000 /' \
    "$results/amd64-6.1.json" >wrong.json
cmp -s wrong.json "$results/amd64-6.1.json" && fail "the recorded file is not what this test thinks it is"
expect "a wrong answer" "$(status_of kernel-oracle compare wrong.json)" 1
grep -q '662e0f1f840000000000: kernel emulate, model reject' out || fail "the wrong answer is not named: $(cat out)"
# A check that failed in the guest
sed 's/^{/{ "layouts": {"passed": 3, "failed": ["plain at-note: something"]},/' "$results/amd64-6.12.json" |
    sed '2,$s/^ "layouts": {/ "layouts-before": {/' >failed.json
expect "a failed check" "$(status_of kernel-oracle compare failed.json)" 1
grep -q 'layouts: plain at-note: something' out || fail "the failed check is not named: $(cat out)"

# A console that ends early, a run that crashed
printf '# x86_64: a group\nx86_64 90\nx86_64 55\n' >patterns
console() { printf '@guest release 6.1.0-50-cloud-amd64\r\n%s\n@guest done\n' "$1"; }
console $'@x86_64 90=emulate\n@x86_64 55=emulate\n@x86_64 #done=2\n@x86_64 exit 0' >console
expect "a complete console" "$(status_of kernel-oracle record --package p patterns console)" 0
console $'@x86_64 90=emulate\n@x86_64 #done=2\n@x86_64 exit 0' >console
expect "an answer is missing" "$(status_of kernel-oracle record --package p patterns console)" 2
console $'@x86_64 90=emulate\n@x86_64 55=emulate\n@x86_64 exit 139' >console
expect "the run crashed" "$(status_of kernel-oracle record --package p patterns console)" 2
console $'@x86_64 90=emulate\n@x86_64 55=emulate\n@x86_64 #done=2\n@x86_64 exit 0\n@layouts exit 127\n@layouts ok one\n@layouts exit 0' >console
expect "one of several commands did not run" "$(status_of kernel-oracle record --package p patterns console)" 2
: >console
expect "no console" "$(status_of kernel-oracle record --package p patterns console)" 2
echo '{' >broken.json
expect "not JSON" "$(status_of kernel-oracle compare broken.json)" 2
expect "lines" "$(wc -l <err)" 1
