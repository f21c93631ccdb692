#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The static file under the oldest kernel that it is for, in a guest that has no libc. The engine's own tests run there too: that kernel
# lacks pidfd_open() and PTRACE_GET_SYSCALL_INFO, for which newer ones need no other way.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/static/common.sh"
need qemu-system-x86_64 cpio gzip gcc busybox
static_file
gcc -O2 -static -I"$INCLUDE" "$FASTSDT_SOURCE/examples/hello.c" -o app
# Orders 751 to 2000 cost more than 1000 cents: 250 and their number.
echo 'usdt:/bin/app:shop:order /arg2 > 1000/ { @[str(arg1)] = count(); @ids = sum(arg0); }' >script
cat >attach <<'END'
#!/bin/busybox sh
/bin/app 2000000000 >/dev/null &
/bin/fastsdt trace --engine user -e 'usdt:/bin/app:shop:order { @ = count(); } interval:ms:300 { exit(); }' --pid $!
kill -9 $!
END
chmod +x attach
cp "$(command -v busybox)" busybox
bin=$FASTSDT_BUILD/bin status=0
"$FASTSDT_SOURCE/bench/in-guest.sh" ubuntu-4.18 fastsdt app script attach busybox "$bin/engine_outside_test" "$bin/engine_life_test" \
    "$bin/engine_follow_test" \
    "$bin/engine_target" "$bin/engine_target_static" "$bin/libengine_module.so" >out 2>err <<'COMMANDS' || status=$?
/bin/fastsdt --version
/bin/fastsdt check -P order /bin/app
/bin/fastsdt trace --engine user /bin/script -- /bin/app 2000
/bin/busybox sh /bin/attach
/bin/engine_outside_test
/bin/engine_life_test
/bin/engine_follow_test
COMMANDS
guest_passed $status 3
expect "counts" "$(grep -E '^(@\[|@ids|[0-9]* orders)' out)" "2000 orders
@[coffee]: 625
@[tea]: 625
@ids: $(((751 + 2000) * 1250 / 2))"
grep -qxE '@: [1-9][0-9]+' out || fail "attached: $(cat out)"
expect "sites" "$(grep '^sites' out)" "sites 2 of 2 armed; dropped 0
sites 2 of 2 armed; dropped 0"
