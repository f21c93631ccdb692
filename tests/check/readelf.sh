#!/bin/bash
# The probes of real objects and programs of every target against `readelf -n`: same names, addresses, semaphores, arguments.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc readelf python3

cat > t.c <<'END'
#define SEMAPHORE(name) __extension__ unsigned short name##_semaphore __attribute__((section(".probes")));
#ifdef GUARDED
SEMAPHORE(t_two)
SEMAPHORE(t_none)
#define _SDT_HAS_SEMAPHORES 1
#endif
#include "sdt.h"
long global[4];
void none(void) { DTRACE_PROBE(t, none); }
int two(int a, long *b) { DTRACE_PROBE2(t, two, a, b[1]); return a; }
void guard(short a) { DTRACE_PROBE2(t, two, a, (unsigned char)a); }
int main(void) { none(); guard(1); return two(0, global); }
END
cat > compare.py <<'END'
import json, re, subprocess, sys
tool, path, relocatable = sys.argv[1], sys.argv[2], sys.argv[3] == 'r'
file = json.loads(subprocess.run([tool, '--json', '--no-lines', path], capture_output=True, check=False).stdout)['files'][0]
ours = sorted((p['provider'], p['name'], 0 if relocatable else p['address'], p['semaphore']['address'] if p['semaphore'] and not relocatable else 0,
               p['argument_string']) for p in file['probes'])
text = subprocess.run(['readelf', '-nW', path], capture_output=True, check=True, text=True).stdout
theirs = sorted((m[0], m[1], 0 if relocatable else int(m[2], 16), 0 if relocatable else int(m[3], 16), m[4]) for m in re.findall(
    r'Provider: (\S*)\n\s*Name: (\S*)\n\s*Location: (0x\w+), Base: 0x\w+, Semaphore: (0x\w+)\n\s*Arguments: ?(.*)', text))
if ours != theirs or len(ours) < 3:
    sys.exit(f'FAIL: {path}\nours   {ours}\nreadelf {theirs}')
for p in file['probes']:
    if p['findings'] and any(f['severity'] == 'error' for f in p['findings']):
        sys.exit(f'FAIL: {path}: {p["name"]}: {p["findings"]}')
    if not p['bytes'] or p['layout'] == 'other':
        sys.exit(f'FAIL: {path}: {p["name"]}: bytes {p["bytes"]}, layout {p["layout"]}')
print(path, file['arch'], file['class'], file['byte_order'], len(ours), 'probes')
END
tool=$FASTSDT_BUILD/bin/fastsdt-check
checked=0
one() { # one NAME INCLUDE COMPILER...
    local name=$1 header=$2
    shift 2
    printf '#include "%s"\n' "$header" > sdt.h
    "$@" -O2 -I. -c t.c -o "$name.o"
    python3 compare.py "$tool" "$name.o" r
    checked=$((checked + 1))
    if "$@" -O2 -I. -nostdlib -static -Wl,-e,main t.c -o "$name" 2> link.err; then
        python3 compare.py "$tool" "$name" x
    elif "$@" -O2 -I. t.c -o "$name" 2> link.err; then
        python3 compare.py "$tool" "$name" x
    else
        fail "$name does not link: $(tail -n 2 link.err)"
    fi
}
for header in "$INCLUDE/sys/sdt.h" /usr/include/x86_64-linux-gnu/sys/sdt.h; do
    [ -f "$header" ] || continue
    tag=$([ "$header" = "$INCLUDE/sys/sdt.h" ] && echo ours || echo systemtap)
    include=-I$INCLUDE
    for target in "x86_64 gcc" "i386 gcc -m32" "clang $(newest clang)" "arm64 aarch64-linux-gnu-gcc" "arm arm-linux-gnueabihf-gcc -marm" \
        "riscv riscv64-linux-gnu-gcc" "powerpc powerpc64le-linux-gnu-gcc" "s390 s390x-linux-gnu-gcc" "mips mips64el-linux-gnuabi64-gcc"; do
        set -- $target
        have "$2" || continue
        one "$1_$tag" "$header" "${@:2}" "$include"
        one "$1_${tag}_guarded" "$header" "${@:2}" "$include" -DGUARDED
    done
done
[ "$checked" -ge 4 ] || fail "only $checked targets were checked"
