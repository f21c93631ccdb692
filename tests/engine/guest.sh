#!/bin/bash
# The kernel's probes on sites that the engine has armed, in a guest. Its kernel takes a probe on a nop10 and makes a call of it (Linux
# 7.2), and lets only a tracer write code (proc_mem.force_override=ptrace, as Debian's kernels do).
. "$FASTSDT_SOURCE/tests/common.sh"
need qemu-system-x86_64 cpio gzip apt-get dpkg-deb gcc
bin=$FASTSDT_BUILD/bin status=0
"$FASTSDT_SOURCE/bench/in-guest.sh" 7.2 "$bin/engine_kernel_test" "$bin/engine_outside_test" "$bin/engine_target" "$bin/engine_target_static" \
    >out 2>err <<'COMMANDS' || status=$?
/bin/engine_kernel_test
/bin/engine_outside_test
COMMANDS
guest_passed $status 2
