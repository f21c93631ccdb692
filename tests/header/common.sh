# Sourced by the header's tests after tests/common.sh.
here=$FASTSDT_SOURCE/tests/header
need gcc g++ readelf objdump
[ -x /usr/bin/python3 ] && python=/usr/bin/python3 ||
    python=python3 # a version manager's wrapper costs more than the script
need $python
# Compilers to try, among those installed: have_of gcc-12 clang-19. gcc-11, which differs little from gcc-12, with test.sh --all. FASTSDT_COMPILERS
# names others to take instead (tests/long/test-header-compilers.sh).
have_of() {
    local c found= left_out=
    if [ -n "${FASTSDT_COMPILERS:-}" ]; then
        set -- $FASTSDT_COMPILERS
    elif ! whole && have gcc-12; then
        left_out=gcc-11
    fi
    for c in "$@"; do [ $c = "$left_out" ] || ! have $c || found="$found $c"; done
    echo ${found:-gcc}
}
cxx_of() { case $1 in gcc*) echo g++${1#gcc} ;; *) echo clang++${1#clang} ;; esac; }
optin="-DFASTSDT_ALLOW_NOP5_FORK_CRASH_ON_LINUX_6_18_TO_7_1 -DFASTSDT_ALLOW_NOP10_UNTRACEABLE_BEFORE_LINUX_7_2"
# binutils_before 2.36 TOOL: an assembler or linker that is older; see part 4 of fastsdt.h for what it cannot do.
binutils_before() {
    [ "$(printf '%s\n' "$1" "$("$2" --version | sed -n '1s/.* \([0-9][0-9.]*\).*/\1/p')" | sort -V | sed -n 1p)" != "$1" ]
}
# ungrouped COMPILER: FASTSDT_SITE_UNGROUPED as this compiler's assembler makes it, 4 or 0.
ungrouped() { [[ $1 = gcc* ]] && binutils_before 2.36 as && echo 4 || echo 0; }
# notes FILE [FORMAT], notes --count FILE REGEX: the probes of a linked file; see notes.py.
notes() { $python "$here/notes.py" "$@"; }
# The uprobe system call tells which patching a kernel does: none, nop5 (6.18 to 7.1) or nop10 (7.2 and later).
kernel_patches() {
    $python -c '
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall(336)
print({errno.ENXIO: "nop5", errno.EPROTO: "nop10"}.get(ctypes.get_errno(), "none"))'
}
# Builds `attach` and `attach.bpf.o` here, which attach probes through libbpf; skips where that cannot be.
build_attach() {
    need_uprobes
    local clang
    clang=$(FASTSDT_COMPILERS='' have_of clang-19 clang-16 clang-14)
    [ "$clang" != gcc ] || skip "no clang, to compile the BPF program"
    [ -e /usr/include/bpf/usdt.bpf.h ] || skip "libbpf-dev is not installed"
    [ -e /sys/kernel/btf/vmlinux ] || skip "this kernel has no BTF"
    ${clang##* } -g -O2 -target bpf -D__x86_64__ -I/usr/include/"$(gcc -print-multiarch)" \
        -c "$here/attach.bpf.c" -o attach.bpf.o
    gcc -O -Wall -Wextra "$here/attach.c" -o attach -lbpf
}
attach() { local file=$1; shift; ./attach attach.bpf.o "$PWD/$file" "$@"; }
