#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# in_root.sh FILE ROOT: fastsdt's static file at work in a root that has nothing else of ours, whatever is in there. As root; the programs
# are built outside, and what is said about them comes from readelf, the compiler and what they do. ROOT gets a folder /fastsdt, /proc and /tmp.
. "$FASTSDT_SOURCE/tests/common.sh"
[ -n "${FASTSDT_STATIC_NAMESPACE:-}" ] || FASTSDT_STATIC_NAMESPACE=1 exec unshare --mount --propagation private bash "$0" "$@"
file=$(realpath "$1") root=$(realpath "$2")
work=$root/fastsdt
rm -rf "$work"
mkdir -p "$work" "$root/proc" "$root/tmp"
mount -t proc proc "$root/proc"
cp "$file" "$work/file"
version=$(sed -n 's/^#define FASTSDT_VERSION_STRING "\(.*\)"/\1/p' "$INCLUDE/fastsdt.h")
# inside COMMAND...: in the root, with an empty environment. Leaves status, and its output in the files out and err.
inside() { status=0; env -i "$(command -v chroot)" "$root" "$@" >out 2>err </dev/null || status=$?; }
# works WHAT COMMAND...
works() { inside "${@:2}"; [ $status = 0 ] || fail "$1: exit status $status: $(cat out err)"; }

# ---- By name and by first word
for tool in check index probe trace; do
    for name in "$tool" "fastsdt-$tool"; do
        works "$name" /fastsdt/file "$name" -V
        expect "$name -V" "$(cat out err)" "fastsdt-$tool $version"
    done
done
works install /fastsdt/file install /fastsdt
for tool in check index probe trace; do
    works "fastsdt-$tool" "/fastsdt/fastsdt-$tool" --version
    expect "fastsdt-$tool --version" "$(cat out err)" "fastsdt-$tool $version"
done
works fastsdt-dtrace /fastsdt/fastsdt-dtrace --version
expect "fastsdt-dtrace --version" "$(cat out err)" "dtrace (fastsdt) $version"
works "install, once more" /fastsdt/file install /fastsdt
ln -sf somewhere "$root/fastsdt/fastsdt-check"
inside /fastsdt/file install /fastsdt
expect "install where another's is" "$status $(cat err)" "2 /fastsdt/file: /fastsdt/fastsdt-check is there already; remove it first"
rm "$root/fastsdt/fastsdt-check"
works "install what is missing" /fastsdt/file install /fastsdt
works "without arguments" /fastsdt/file
expect "the tools it names" "$(sed -n 's/^  \(fastsdt-[a-z]*\) .*/\1/p' out | xargs)" \
    "fastsdt-check fastsdt-dtrace fastsdt-index fastsdt-probe fastsdt-trace"
inside /fastsdt/file ls
expect "no tool" "$status $(cat out err)" '2 /fastsdt/file: "ls" is no tool: check, dtrace, index, probe or trace; or install DIR'

# ---- Programs: a static one, and one for the dynamic linker of any glibc, which therefore starts by itself: main's caller has been another
# function of libc since 2.34.
cat >start.S <<'END'
.globl _start
_start: xor %ebp, %ebp; mov (%rsp), %rdi; lea 8(%rsp), %rsi; call main; mov %eax, %edi; call exit@PLT
.section .note.GNU-stack,"",@progbits
END
gcc -O2 -I"$INCLUDE" -static "$FASTSDT_SOURCE/examples/hello.c" -o "$work/static"
gcc -O2 -I"$INCLUDE" -fno-stack-protector -nostartfiles start.S "$FASTSDT_SOURCE/examples/hello.c" -o "$work/dynamic"
programs=static
[ ! -e "$root/lib64/ld-linux-x86-64.so.2" ] || programs="static dynamic"
for program in $programs; do
    works "fastsdt-check" /fastsdt/fastsdt-check --json "/fastsdt/$program"
    expect "$program: sites" "$(grep -o '"address": *[0-9]*' out | sed 's/.*[^0-9]//' | sort -u | xargs printf '0x%x\n' | sort)" \
        "$(readelf -nW "$work/$program" | sed -n 's/.*Location: 0x0*\([0-9a-f]*\),.*/0x\1/p' | sort -u)"
    # Orders 751 to 2000 cost more than 1000 cents: 250 and their number.
    works "fastsdt-trace" /fastsdt/fastsdt-trace -e "usdt:/fastsdt/$program:shop:order /arg2 > 1000/ { @[str(arg1)] = count(); @ids = sum(arg0); }" \
        -- "/fastsdt/$program" 2000
    expect "$program: counts" "$(grep -v '^$' out)" "open
2000 orders
@[coffee]: 625
@[tea]: 625
@ids: $(((751 + 2000) * 1250 / 2))
sites 2 of 2 armed; dropped 0"
done
works "fastsdt-index" /fastsdt/fastsdt-index -o /fastsdt/indexed /fastsdt/static
objcopy -O binary --only-section=.note.fastsdt --set-section-flags .note.fastsdt=alloc "$work/indexed" note.bin
expect "sites of the index" "$(od -An -tu4 -j28 -N4 note.bin | xargs)" "$(readelf -nW "$work/static" | grep -c 'Location: 0x')"
expect "the indexed program" "$("$work/indexed" 5 | tail -n 1)" "5 orders"

# ---- A provider file
echo 'provider app { probe begun(int, char *); };' >"$work/app.d"
works "fastsdt-dtrace -h" /fastsdt/fastsdt-dtrace -h -s /fastsdt/app.d -o /fastsdt/app.h
printf '#include "app.h"\nint main(int argc, char** argv) { if (APP_BEGUN_ENABLED()) return 1; APP_BEGUN(argc, argv[0]); return 0; }\n' >app.c
gcc -O2 -I"$INCLUDE" -I"$INCLUDE/fastsdt/compat" -I"$work" -c app.c -o app.o
expect "the probe" "$(readelf -nW app.o | sed -n "s/.*\(Provider\|Name\): //p" | xargs)" "app begun"
if [ ! -e "$root/usr/bin/cc" ]; then
    inside /fastsdt/fastsdt-dtrace -G -s /fastsdt/app.d -o /fastsdt/app.o
    expect "fastsdt-dtrace -G without a compiler" "$status $(wc -l <err)" "1 1"
    grep -q "^dtrace: .*cc" err || fail "fastsdt-dtrace -G without a compiler: $(cat err)"
    [ ! -e "$work/app.o" ] || fail "fastsdt-dtrace -G without a compiler wrote an object"
fi

# ---- Users are those of the root's /etc/passwd, and no module for others is loaded.
inside /fastsdt/fastsdt-trace --user nobody-has-it -e 'usdt:*:shop:order { @ = count(); }'
expect "a user that is not there" "$status $(cat out err)" "2 fastsdt-trace: --user nobody-has-it: there is no such user; a number is taken too"
