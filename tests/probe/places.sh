#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Places: where a probe breaks the program, aliases, ifuncs, many sites with many threads, names with escape sequences.
. "$FASTSDT_SOURCE/tests/common.sh"
need fastsdt-probe fastsdt-check cc python3
need_uprobes
get() { python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"; }

# ---- AVX: the program computes right, because the probe is left out; with --force it does not ----
if [ "$(uname -m)" = x86_64 ] && grep -qw avx2 /proc/cpuinfo; then
    cat >avx.c <<'END'
#include <immintrin.h>
__attribute__((noipa)) __m128i equal(__m128i a, __m128i b) { return _mm_cmpeq_epi8(a, b); }
int main(void) {
    int wrong = 0;
    for (int i = 0; i < 1000; i++)
        wrong += _mm_movemask_epi8(equal(_mm_set1_epi8(1), _mm_set1_epi8(1))) != 0xffff;
    return wrong == 1000 ? 5 : wrong != 0;
}
END
    cc -O2 -mavx2 avx.c -o avx
    status=0; fastsdt-probe --json --symbol equal --output avx.json ./avx 2>err || status=$?
    expect "unsafe: status" $status 1
    expect "unsafe: attach, mode, model" "$(get avx.json '[d["targets"][0][k] for k in ("attach", "mode", "model")]')" \
        "['unsafe', 'emulate-unsafe', 'emulate-unsafe']"
    expect "unsafe: the program is right" "$(get avx.json 'd["exit_status"]')" 0
    grep -q -- --force err || fail "how to attach all the same is not said: $(cat err)"
    fastsdt-probe --json --force --symbol equal --output avx.json ./avx
    expect "forced: every result is wrong" "$(get avx.json 'd["exit_status"], d["targets"][0]["hits"]')" "(5, 1000)"
fi

# ---- every name of an address; an ifunc ----
cat >names.c <<'END'
#include <unistd.h>
__attribute__((noinline)) int original(int n) { __asm__ volatile(""); return n + 1; }
int other(int) __attribute__((alias("original")));
int third(int) __attribute__((alias("original")));
static int one(void) { return 1; }
static int (*choose(void))(void) { return one; }
int chosen(void) __attribute__((ifunc("choose")));
int main(void) { int n = 0; for (int i = 0; i < 5; i++) n = original(n); return n + chosen(); }
END
cc -O2 names.c -o names
for name in original other third; do
    fastsdt-probe --json --symbol $name --output names.json ./names
    expect "hits of $name" "$(get names.json 'd["targets"][0]["hits"]')" 5
done
status=0; fastsdt-probe --symbol chosen ./names >out 2>err || status=$?
expect "ifunc: status" $status 2
grep -q ifunc err || fail "an ifunc is called: $(cat err)"
# The ELF header is mapped too; a breakpoint there would hit nothing and be in every reader's way.
for place in "--address 0" "--offset 0"; do
    status=0; fastsdt-probe $place ./names >out 2>err || status=$?
    expect "$place: status" $status 2
    grep -q 'names: .* 0 is in no executable segment' err || fail "$place is taken: $(cat err)"
done
libc=$(ldd ./names | awk '/libc\.so/ { print $3 }')
for name in free getpid write; do fastsdt-probe --dry-run --symbol $name "$libc" >/dev/null || fail "libc: $name"; done

# ---- 200 sites, 8 threads: exact ----
{
    echo '#include <fastsdt.h>
#include <pthread.h>'
    for i in $(seq 0 199); do echo "static void f$i(int n) { FASTSDT(many, p$i, n); }"; done
    echo 'static void (*const all[])(int) = {'
    for i in $(seq 0 199); do echo "f$i,"; done
    echo '};
static void *run(void *p) { for (int k = 0; k < 250; k++) for (int i = 0; i < 200; i++) all[i](k); return p; }
int main(void) {
    pthread_t t[8];
    for (int i = 0; i < 8; i++) pthread_create(&t[i], 0, run, 0);
    for (int i = 0; i < 8; i++) pthread_join(t[i], 0);
    return 0;
}'
} >many.c
cc -O2 -I"$INCLUDE" many.c -o many -lpthread
fastsdt-probe --json --output many.json ./many
expect "hits of 200 sites in 8 threads" "$(get many.json 'len(d["targets"]), set(t["hits"] for t in d["targets"])')" \
    "(200, {2000})"

# ---- names from the file are escaped on the terminal ----
cat >evil.s <<'END'
.text
.globl main
main: xor %eax,%eax
990: nop
ret
.pushsection .note.stapsdt,"","note"
.balign 4
.4byte 8, 2f-1f, 3
.asciz "stapsdt"
1: .8byte 990b, _.stapsdt.base, 0
.asciz "p"
.ascii "\033]0;n\342\200\256"
.byte 0, 0
2: .balign 4
.popsection
.pushsection .stapsdt.base,"aG","progbits",.stapsdt.base,comdat
_.stapsdt.base: .space 1
.popsection
.section .note.GNU-stack,"",@progbits
END
if [ "$(uname -m)" = x86_64 ]; then
    cc evil.s -o evil
    fastsdt-probe --dry-run ./evil >table 2>&1
    LC_ALL=C grep -q "$(printf '[\033\342]')" table && fail "the table has an escape sequence: $(cat -v table)"
    grep -q 'x1b' table || fail "the name is not there: $(cat -v table)"
fi

# ---- 32-bit: a refused probe is not called ok ----
cat >small.s <<'END'
.text
.globl main
main: xor %eax,%eax
.globl refused
.type refused,@function
refused: .byte 0xf0, 0x90
ret
.size refused,.-refused
.section .note.GNU-stack,"",@progbits
END
if cc -m32 small.s -o small 2>/dev/null; then
    status=0; fastsdt-probe --json --symbol refused --output small.json ./small 2>err || status=$?
    expect "32-bit, refused: status" $status 1
    expect "32-bit, refused" "$(get small.json 'd["targets"][0]["attach"], d["targets"][0]["mode"]')" "('untried', 'reject')"
fi
echo ok
