# SPDX-License-Identifier: BSD-2-Clause
# The live tests of the recognizer and of the process reader on a kernel that optimizes the nop10: Debian's 7.2 in QEMU.
# On the running kernel they see what that one does.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/kernel/guest.sh"
need gcc busybox qemu-system-x86_64 cpio gzip ldd
[ "$(uname -m)" = x86_64 ] || skip "the test programs are not x86-64"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/fastsdt
kernel=$(bash "$FASTSDT_SOURCE/tests/kernel/fetch-kernel.sh" amd64 7.2 "$cache" 2>fetch.err) || skip "$(tail -n 1 fetch.err)"

rm -rf root && mkdir -p root/bin
gcc -static -O2 "$FASTSDT_SOURCE/tests/kernel/guest-init.c" -o root/init
for program in recognize_test lib_live_test; do guest_add_program root "$(command -v $program)"; done
guest_add_program root "$(command -v busybox)" # cp for the test of deleted files
for tool in sh cp; do ln -sf busybox root/bin/$tool; done
touch root/empty
echo "recognize /empty /bin/recognize_test --gtest_filter=Live*
live /empty /bin/lib_live_test" >root/commands
guest_pack root initramfs
guest_boot amd64 "$kernel/vmlinuz" initramfs 300 | tr -d '\r' >console || true
grep '^@' console || { tail -n 30 console >&2; fail "the guest did not run"; }

# An optimization that was skipped because the kernel has none would prove nothing.
for test in recognize live; do
    expect "$test: exit status" "$(sed -n "s/^@$test exit //p" console)" 0
    ! grep -q "^@$test .*SKIPPED" console || fail "$test: something was skipped"
done
grep -q '^@recognize .*OK.*Live.OptimizedAndBack' console || fail "the nop10 was not optimized"
grep -q '^@live .*OK.*Live.Optimized' console || fail "the nop10 was not optimized"
