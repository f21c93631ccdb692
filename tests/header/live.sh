#!/bin/bash
# Probes attached for real: every hit counted, every argument's value read back, at every layout, on the running kernel.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/header/common.sh"
[ "$(uname -m)" = x86_64 ] || skip "the values are those of x86-64"
build_attach
patches=$(kernel_patches)

# What live_values.c passes when it is given n, as signed 64-bit values; reals as their bits.
cat > expected.py <<'E'
import struct, sys
n, hits = int(sys.argv[1]), sys.argv[2]
def line(name, *values):
    print(f"live:{name}", hits, len(values), *values)
ul = 0xfedcba9876543210 - n - (1 << 64)
line("constants", 42, -43, 44, ord("x"), 0x123456789abcdef, n)
line("integers", 65 + n, -1 - n, 255 - n, -1000 - n, 65535 - n, -100000 - n, 4000000000 - n, -5000000000 - n, ul)
line("more", int(n == 0), 7 - n, n - 5, n - 77, 5 + n, n - 9, 0xabcdef0123 + n, -11, -12)
line("reals", struct.unpack("=I", struct.pack("=f", n + 1.5))[0], struct.unpack("=q", struct.pack("=d", n - 2.25))[0])
line("twelve", 65 + n, -1000 - n, -100000 - n, -5000000000 - n, 255 - n, 65535 - n, 4000000000 - n, ul, int(n == 0),
     -10, n, n + 12)
E
probes="live:constants live:integers live:more live:reals live:twelve"
check() { # check WHAT BINARY N HITS
    attach "$2" $probes -- ./"$2" $3 $4 > got || fail "$1: $(cat got)"
    expect "$1, n=$3: hits and values through libbpf" "$(cat got)" "$($python expected.py $3 $4)"
}

# Compilers and optimization levels.
for job in "gcc-12 c -O0" "gcc-12 c -O2" "gcc-12 c++ -O2" "clang-14 c -O2" "clang-14 c++ -O0" \
    "clang-19 c -O0" "clang-19 c++ -O2"; do
    read -r c lang level <<< "$job"
    have $c || continue
    compiler=$c
    [ $lang = c ] || compiler=$(cxx_of $c)
    $compiler -x $lang $level -I"$INCLUDE" "$here/live_values.c" -o values
    check "$job" values 0 1
    check "$job" values 2 5
done

# Layouts. A nop5 is optimized by the kernels that do so after the first hit: the values must stay right from then on.
# A bare nop10 can be traced since 7.2 only.
for layout in nop nop1_nop4 nop5 nop1_nop5 nop10 nop1_nop10; do
    for c in $(have_of gcc-12 clang-19); do
        $c $optin -DFASTSDT_LAYOUT=$layout -O2 -I"$INCLUDE" "$here/live_values.c" -o values-$layout
        if [ $layout = nop10 ] && [ $patches != nop10 ]; then
            # The kernel refuses it only when the process maps the file, after the attach: nothing reports that.
            attach values-$layout live:reals -- ./values-$layout > got
            expect "a bare nop10 on this kernel" "$(cat got)" "live:reals 0 0"
            continue
        fi
        check "$c $layout" values-$layout 1 1000
        attach values-$layout live:reals -- ./values-$layout 1 100 maps > got
        state=$(head -1 got)
        case $layout:$patches in
        nop5:nop5 | nop10:nop10) expect "$c $layout on this kernel" "$state" "optimized" ;;
        # libbpf of 7.2 attaches at the nop10 of nop1+nop10; older ones at the note's pc.
        nop1_nop10:nop10) ;;
        nop1_nop5:nop5) ;; # libbpf 1.7 does the same there
        *) expect "$c $layout on this kernel" "$state" "not optimized" ;;
        esac
    done
done

# bpftrace: text behind pointers, symbols, and at most six arguments.
if have bpftrace; then
    gcc -O2 -no-pie -I"$INCLUDE" "$here/live_values.c" -o values
    cat > values.bt <<E
usdt:$PWD/values:live:integers { printf("%ld %ld %ld %ld %ld %ld\n", arg0, arg1, arg2, arg3, arg4, arg5); @i = count(); }
usdt:$PWD/values:live:more { printf("%ld %ld %ld %ld %ld %ld\n", arg0, arg1, arg2, arg3, arg4, arg5); @m = count(); }
usdt:$PWD/values:live:reals { printf("%lx %lx\n", arg0, arg1); @r = count(); }
usdt:$PWD/values:live:pointers {
    printf("%s|%s|%s|%lx|%lx|%d\n", str(arg0), str(arg1), str(arg2), arg3, arg4, *(int32 *)arg5); @p = count(); }
usdt:$PWD/values:live:constants { printf("%ld %ld %ld %ld %lx %ld\n", arg0, arg1, arg2, arg3, arg4, arg5); @c = count(); }
E
    callee=$(nm values | awk '$3 == "callee" {print $1}' | sed 's/^0*//')
    bpftrace values.bt -c "$PWD/values 0 3" > got 2> got.err || fail "bpftrace: $(tail -3 got.err)"
    expect "what bpftrace reads" "$(grep -v '^Attaching\|^$' got | sort | uniq -c | awk '{$1=$1; print}' | LC_ALL=C sort)" \
        "$(LC_ALL=C sort <<E
1 @c: 3
1 @i: 3
1 @m: 3
1 @p: 3
1 @r: 3
3 1 7 -5 -77 5 -9
3 3fc00000 c002000000000000
3 42 -43 44 120 123456789abcdef 0
3 65 -1 255 -1000 65535 -100000
3 a string|an array|literal|$callee|$callee|-11
E
)"
fi
