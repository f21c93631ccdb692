#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Builds fastsdt, compiles a program against its headers, says what each kernel will do at the probes, and (as root, on a
# kernel with uprobes) traces it for real, and without the kernel; then measures what a probe on a function costs without and with
# the compiler plugin. `demo.sh` does so with the examples, by gcc and clang; `demo.sh tcl` with Tcl 8.6 from Debian's source package, its
# sources unchanged; `demo.sh guest` boots Linux 7.2 in QEMU and shows a site there, where it needs no trap. Installs the packages it needs.
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1:-} in "" | tcl | guest) ;; *) sed -n '3,/^[^#]/s/^# //p' "$0" >&2; exit 2 ;; esac
here=$PWD
. scripts/common/versions.sh
build=$PWD/build/default # as scripts/test.sh, which compiles none of it again
bold=$(tput bold 2>/dev/null || true) plain=$(tput sgr0 2>/dev/null || true)
[ -t 1 ] || bold="" plain=""
clock() { printf '%d:%02d' $((SECONDS / 60)) $((SECONDS % 60)); }
say() { printf '\n%s== [%s] %s%s\n' "$bold" "$(clock)" "$*" "$plain"; }
# A command as it can be pasted.
shown() {
    local line="" word
    for word in "$@"; do
        case $word in
        "" | *[!a-zA-Z0-9_./:=,@%+-]*) word="'${word//\'/\'\\\'\'}'" ;;
        esac
        line+=" $word"
    done
    printf '%s$%s%s\n' "$bold" "$line" "$plain"
}
run() { shown "$@"; "$@"; }

say "Installing what is missing (scripts/install-deps.sh demo)"
scripts/install-deps.sh demo
say "Building fastsdt (build/default)"
log=$PWD/build/demo.log
mkdir -p build # for the log, before there is anything else
cmake --preset "$(preset)" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
# A line for each tenth, with the seconds so far.
NINJA_STATUS='[%f/%t %e] ' cmake --build "$build" --target demo 2>&1 | tee -a "$log" | awk -F'[][/ ]' '
    $1 == "" && $3 > 0 && int(10 * $2 / $3) > last { last = int(10 * $2 / $3); printf "   %3d %%, %d s\n", 10 * last, $4; fflush() }' ||
        { cat "$log" >&2; exit 1; }
PATH=$build/bin:$PATH

# Whether probes can be attached here, or why not.
obstacle=""
[ "$(id -u)" = 0 ] || obstacle="attaching probes needs root"
[ -e /sys/bus/event_source/devices/uprobe/type ] || obstacle="this kernel has no uprobes"

# traced FILE PROBE COMMAND...: one run with the probe attached.
traced() {
    local file=$1 probe=$2
    shift 2
    if [ -n "$obstacle" ]; then
        echo "(not traced: $obstacle)"
        return 0
    fi
    shown fastsdt-probe "$file" --probe "$probe" --time 3 -- "$@"
    fastsdt-probe "$file" --probe "$probe" --time 3 --output hits.txt -- "$@" >/dev/null # six runs; their output does not matter
    cp hits.txt hits-of-kernel.txt
    cat hits.txt
}

# counted SCRIPT COMMAND...: one run that is traced without the kernel and without root.
counted() {
    say "Without the kernel: the sites jump to instructions made for a script"
    local script=$1
    shift
    shown fastsdt-trace -e "$script" -- "$@"
    fastsdt-trace --engine user -e "$script" -- "$@" || echo "(not traced)" # not x86-64, or a container's seccomp filter
}

# What a hit costs without the kernel, beside what fastsdt-probe measured with it: a long run, untraced and counted.
compared() {
    local hits=20000000 TIMEFORMAT=%U untraced counted kernel
    untraced=$({ time ./hello-gcc $hits >/dev/null; } 2>&1)
    counted=$({ time fastsdt-trace --engine user -e 'usdt:./hello-gcc:shop:order { @ = count(); }' -- ./hello-gcc $hits >counted.txt 2>&1; } 2>&1)
    grep -q "^@: $hits\$" counted.txt || return 0
    kernel=$(awk 'FNR == 1 { for (i = 1; i <= NF; i++) if ($i == "NS/HIT") column = i } FNR == 2 { print $column }' hits-of-kernel.txt 2>/dev/null || true)
    awk -v n=$hits -v a="$untraced" -v b="$counted" -v kernel="$kernel" 'BEGIN {
        printf "\nOf %d hits each costs %.1f ns without the kernel", n, (b > a ? (b - a) * 1e9 / n : 0)
        if (kernel) printf ", and %d ns with its trap", kernel
        print "." }'
}

# One function, as compiled and with the plugin, probed for real.
gain() {
    local gcc plugin source=$here/examples/entry.c
    plugin=$(FASTSDT_BUILD=$build plugin gcc)
    [ -n "$plugin" ] || { echo "(the compiler plugin was not built: $log says why)"; return 0; }
    gcc=$(command -v "$plugin" || echo gcc)
    say "A probe on a function: examples/entry.c, as compiled and with the plugin"
    run "${gcc##*/}" -O2 "$source" -o plain
    run "${gcc##*/}" -O2 -fplugin="$build/$plugin/fastprobe.so" "$source" -o fast
    if [ -n "$obstacle" ]; then
        run fastsdt-check --functions fast
        return
    fi
    for f in plain fast; do
        fastsdt-probe $f --symbol mix --time 3 --output $f.txt -- ./$f 5000 >/dev/null
        [ $f = fast ] || sed -n 's/^/       /;1p' plain.txt
        sed -n "2s/^/$f  /p" $f.txt | sed 's/^fast /fast  /;s/^plain /plain /'
    done
    awk '{ for (i = 1; i <= NF; i++) if ($i == "NS/HIT") column = i }
         FNR == 2 { cost[++n] = $column }
         END { printf "\nA hit costs %d ns as compiled and %d ns with the plugin: %.0f times less.\n",
             cost[1], cost[2], cost[1] / cost[2] }' plain.txt fast.txt
    say "What was seen, and what to try next"
    cat <<EOF
Sites with nop1+nop10 that every tracer finds, probes that are emulated (one trap) instead of single-stepped (two), and
the same for a function's entry. From Linux 7.2 on libbpf's tracers need no trap at all at these sites.
  scripts/demo.sh tcl                        Tcl 8.6, unchanged sources, nearly 900 sites
  scripts/demo.sh guest                      Linux 7.2 in QEMU: a site becomes a call
  scripts/bench.sh --quick                   what it costs and gains, with Redis
  build/default/bin/fastsdt-trace --help     scripts like bpftrace's, without root
  build/default/bin/fastsdt-check FILE       what kernels do at the probes of any program
  build/default/bin/fastsdt-check --functions FILE
  docs/fastprobe.md, docs/linking.md         the plugin; CMake, pkg-config and make
EOF
}

# The same site under a kernel that optimizes it, as a breakpoint and as a call.
guest() {
    local series=7.2 at
    say "The site in the file: nop1, then the nop10 that Linux $series knows"
    run gcc -O2 -g -I"$here/include" "$here/examples/hello.c" -o hello
    at=$(fastsdt-check --plan --json --kernel 6.18 --probe order hello | sed -n 's/.*"file_offset": *\([0-9]*\).*/\1/p' | sed -n 1p)
    run od -An -tx1 -j "$at" -N 11 hello
    say "Linux $series in QEMU (emulated hardware: only the ratio counts)"
    printf '/bin/fastsdt-probe /bin/hello --probe shop:order %s --time 3 -- /bin/hello 20000\n' --at-note "" |
        "$here/bench/in-guest.sh" "$series" "$build/bin/fastsdt-probe" "$PWD/hello" | grep -E '^NAME|^shop' >guest.txt
    awk '/^NAME/ { heads++; if (heads == 1) print "                        " $0; for (i = 1; i <= NF; i++) if ($i == "NS/HIT") column = i; next }
         !seen[heads]++ { print (heads == 1 ? "at the nop1, a breakpoint" : "at the nop10, a call     ") "  " $0; cost[heads] = $column }
         END { if (!cost[2]) exit 1
               printf "\nA hit takes %.1f us with a trap and %.1f us without: %.1f times less.\n", cost[1] / 1000, cost[2] / 1000, cost[1] / cost[2] }' guest.txt
}

if [ "${1:-}" = guest ]; then
    scripts/install-deps.sh bench
    work=$here/build/demo/hello
    mkdir -p "$work"
    cd "$work"
    guest
    exit 0
fi
if [ "${1:-}" != tcl ]; then
    work=$here/build/demo/hello
    mkdir -p "$work"
    cd "$work"
    for compiler in gcc $(installed clang | sed -n '$p'); do
        say "examples/hello.c, compiled by $compiler"
        run "$compiler" -O2 -g -I"$here/include" "$here/examples/hello.c" -o "hello-$compiler"
        run fastsdt-check "hello-$compiler"
    done
    say "Any tracer finds them"
    run gdb -batch -ex 'info probes stap shop' hello-gcc
    run bpftrace -l 'usdt:./hello-gcc:*'
    say "On this kernel, $(uname -r)"
    traced hello-gcc shop:order ./hello-gcc 100000
    if [ -z "$obstacle" ]; then
        run bpftrace -e 'usdt:./hello-gcc:shop:order { printf("order %d: %s, %d cents\n", arg0, str(arg1), arg2); }' -c './hello-gcc 3' 2>&1 |
            grep -v RLIMIT_MEMLOCK # which bpftrace could not raise, and did not need to
        say "The bytes of a running program before, during and after"
        coproc ./hello-gcc -
        pid=$COPROC_PID orders=${COPROC[1]}
        run fastsdt-check --pid "$pid"
        fastsdt-probe hello-gcc --probe shop:order --pid "$pid" --output hits.txt &
        tracer=$!
        # Attached when no site of that probe is untouched.
        while fastsdt-check --pid "$pid" >during.txt && grep -q 'shop:order.*untouched' during.txt; do kill -0 $tracer; done
        seq 1000 >&"$orders"
        while read -r answer && [ "$answer" != 1000 ]; do :; done <&"${COPROC[0]}"
        echo "1000 orders with a probe attached:"
        cat during.txt
        kill -INT $tracer
        wait $tracer || true
        cat hits.txt
        echo "and detached:"
        run fastsdt-check --pid "$pid"
        exec {orders}>&-
        wait "$pid" || true
    fi
    counted 'usdt:./hello-gcc:shop:order /arg2 > 1000/ { @[str(arg1)] = count(); @cents = hist(arg2); }' ./hello-gcc 2000
    compared
    gain
    exit 0
fi

work=$here/build/demo/tcl
mkdir -p "$work"
cd "$work"
if [ ! -d source ]; then
    say "Fetching Tcl's source package"
    files=$("$here/scripts/common/debian-source.sh" tcl8.6)
    dpkg-source -x "$files"/*.dsc source >/dev/null
fi
if [ ! -x tclsh ]; then
    say "Building Tcl with --enable-dtrace; <sys/sdt.h> is ours"
    run env CPPFLAGS="-I$here/include" CFLAGS=-g source/unix/configure --enable-dtrace >configure.log 2>&1 || { tail configure.log >&2; exit 1; }
    make -j"$(nproc)" >make.log 2>&1 || { tail make.log >&2; exit 1; }
fi
export TCL_LIBRARY=$work/source/library LD_LIBRARY_PATH=$work
say "What the kernels will do"
run fastsdt-check --summary libtcl8.6.so
run fastsdt-check --probe 'tcl:proc__*' libtcl8.6.so
say "Any tracer finds them"
run bpftrace -l "usdt:$work/libtcl8.6.so:tcl:proc__*"
gdb -batch -ex 'info probes stap tcl proc' libtcl8.6.so | sed -n 1,8p
say "On this kernel, $(uname -r)"
printf 'proc twice {x} {expr {2*$x}}\nfor {set i 0} {$i < 10000} {incr i} {twice $i}\nputs [twice 21]\n' >twice.tcl
traced libtcl8.6.so 'tcl:proc__entry' ./tclsh twice.tcl
counted 'usdt:*:tcl:proc__entry { @[str(arg0)] = count(); }' ./tclsh twice.tcl
