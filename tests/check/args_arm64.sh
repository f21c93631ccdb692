#!/bin/bash
# The verdicts on arm64 argument strings against gdb itself, on a program under qemu-user.
. "$FASTSDT_SOURCE/tests/common.sh"
need aarch64-linux-gnu-gcc qemu-aarch64 gdb-multiarch

cat > list <<'END'
-4@x0
8@x30
-4@w0
8@sp
8@5
-4@-5
8@#5
8@[sp]
8@[sp, 8]
8@[sp, -8]
8@[sp, #8]
8@[sp,8]
8@[x1, #:lo12:sym]
8@[x1, x0]
8@sym
8f@x0
8@d0
8@v0
8@xzr
8@[sp, 8
x0
4@x0 4@w1 8@x2
3@x0
END
{
    echo '.text; .globl _start; _start: mov x1, sp; mov x0, #0'
    n=0
    while IFS= read -r args; do
        echo "1: nop
.pushsection .note.stapsdt,\"\",\"note\"; .balign 4; .4byte 992f-991f,994f-993f,3
991: .asciz \"stapsdt\"
992: .balign 4
993: .8byte 1b,_.stapsdt.base,0; .asciz \"t\"; .asciz \"a$n\"; .asciz \"$args\"
994: .balign 4; .popsection"
        n=$((n + 1))
    done < list
    echo 'mov x8, #93; svc #0
.section .stapsdt.base,"aG","progbits",.stapsdt.base,comdat; .weak _.stapsdt.base; .hidden _.stapsdt.base; _.stapsdt.base: .space 1'
} > p.s
aarch64-linux-gnu-gcc -nostdlib -static p.s -o p

cat > ask.py <<'END'
import gdb
gdb.execute('target remote ./socket')
for i in range(COUNT):
    gdb.execute('break -probe-stap t:a%d' % i, to_string=True)
for i in range(COUNT):
    gdb.execute('continue', to_string=True)
    try:
        count = int(gdb.parse_and_eval('$_probe_argc'))
        for k in range(count):
            gdb.parse_and_eval('$_probe_arg%d' % k)
        print('A %d %s' % (i, 'gdb' if count else '-'))
    except gdb.error:
        print('A %d -' % i)
gdb.execute('kill')
END
count=$(wc -l < list)
sed -i "s/COUNT/$count/g" ask.py
rm -f socket
timeout 120 qemu-aarch64 -g ./socket ./p 2> qemu.log &
trap 'kill %1 2> /dev/null || true' EXIT
# qemu makes the socket before it waits for gdb.
until [ -S socket ]; do kill -0 %1 2> /dev/null || fail "qemu ended: $(cat qemu.log)"; done
timeout 120 gdb-multiarch -q -batch -nx -iex 'set debuginfod enabled off' -ex 'set pagination off' -ex 'set confirm off' -x ask.py \
    p > gdb.log 2>&1 || true
sed -n 's/^A [0-9]* //p' gdb.log > gdb
[ "$(wc -l < gdb)" = "$count" ] || { tail -5 gdb.log; fail "gdb did not stop at every probe"; }
"$FASTSDT_BUILD/bin/args_dump" arm64 < list | cut -d' ' -f3 > ours
expect "gdb's verdicts" "$(paste -d' ' ours list)" "$(paste -d' ' gdb list)"
