#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What the running kernel does not have, in one guest: Debian's 7.2, which takes a probe on a nop10 and makes a call of it, and lets only a tracer
# write code (proc_mem.force_override=ptrace, as Debian's kernels do). The kernel's engine at a nop10; the kernel's probes on sites that the user
# engine has armed; the engine from outside; the live tests of the recognizer and of the process reader, which on the running kernel see what that
# one does.
. "$FASTSDT_SOURCE/tests/common.sh"
need qemu-system-x86_64 cpio gzip apt-get dpkg-deb gcc busybox
[ "$(uname -m)" = x86_64 ] || skip "the test programs are not x86-64"
bin=$FASTSDT_BUILD/bin status=0
for tool in sh cp env; do cp "$(command -v busybox)" $tool; done # for the test of deleted files
"$FASTSDT_SOURCE/bench/in-guest.sh" 7.2 \
    "$bin"/{engine_bpf_test,engine_kernel_test,engine_outside_test,engine_target,engine_target_static,recognize_test,lib_live_test} sh cp env \
    >out 2>err <<'COMMANDS' || status=$?
/bin/env FASTSDT_CLAUSES=8 /bin/engine_bpf_test
/bin/engine_kernel_test
/bin/engine_outside_test
/bin/recognize_test --gtest_filter=Live*
/bin/lib_live_test
COMMANDS
guest_passed $status 5
# An optimization that was skipped because the kernel has none would prove nothing.
for test in OptimizedAndBack Optimized; do
    matches "OK.*Live\.$test\>" <out || fail "the nop10 was not optimized (Live.$test): $(cat out)"
done
# Kernels without a call for all sites, and without programs that may wait.
whole || exit 0
for series in 6.1 6.12; do
    status=0
    "$FASTSDT_SOURCE/bench/in-guest.sh" $series \
        "$bin/engine_bpf_test" env >out 2>err <<<'/bin/env FASTSDT_CLAUSES=20 /bin/engine_bpf_test --gtest_filter=*Reference*' || status=$?
    guest_passed $status 1
done
