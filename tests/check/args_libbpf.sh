#!/bin/bash
# The verdicts on argument strings against libbpf's own parser, on x86-64, i386, arm64, arm, riscv and s390: the functions are
# taken out of usdt.c of Debian's linux-source package (never kept here) and fed ten thousand strings each, a hundred thousand with test.sh --all.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc
strings=10000
! whole || strings=100000
if [ -n "${FASTSDT_LIBBPF:-}" ]; then # tools/lib/bpf of a Linux source tree
    source=$FASTSDT_LIBBPF/usdt.c
elif peers=$(timeout 300 bash "$FASTSDT_SOURCE/tests/header/fetch-peers.sh" \
    "${FASTSDT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fastsdt}" 2> peers.err); then
    source=$peers/libbpf/usdt.c
else
    skip "libbpf's source could not be fetched: $(tail -n 1 peers.err); FASTSDT_LIBBPF can name tools/lib/bpf of a source tree"
fi

cat > head.h <<'END'
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define ARRAY_SIZE(x) (sizeof(x) / sizeof(x[0]))
#define pr_warn(...)
enum { USDT_ARG_CONST, USDT_ARG_REG, USDT_ARG_REG_DEREF, USDT_ARG_SIB };
struct usdt_arg_spec { uint64_t val_off; int arg_type; int reg_off, idx_reg_off, scale_bitshift; bool arg_signed; char arg_bitshift; };
/* The structures only lend their offsets. */
struct x86_regs { long rip, rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15, eip, eax, ebx, ecx, edx, esi, edi, ebp, esp; };
struct user_pt_regs { long regs[31], sp; };
typedef struct { long gprs[16]; } user_s390_regs;
struct user_regs_struct { long ra, sp, gp, tp, a0, a1, a2, a3, a4, a5, a6, a7, s0, s1, s2, s3, s4, s5, s6, s7, rv_s8, s9, s10, s11, t0, t1, t2, t3, t4, t5, t6; };
struct arm_regs { long uregs[18]; };
END
cat > tail.h <<'END'
/* parse_usdt_spec(), without the parts that keep what it found. */
static int accepts(const char *s)
{
    int count = 0, size, length;
    while (*s) {
        struct usdt_arg_spec arg = {0};
        if (count++ >= 12)
            return 0;
        length = parse_usdt_arg(s, count, &arg, &size);
        if (length < 0)
            return 0;
        if (size < 0)
            size = -size;
        if (size != 1 && size != 2 && size != 4 && size != 8)
            return 0;
        s += length;
    }
    return 1;
}
static uint32_t state = 1;
static unsigned any(unsigned n) { state = state * 1664525 + 1013904223; return (state >> 8) % n; }
static const char *pick(const char **words, unsigned n) { return words[any(n)]; }
#define PICK(...) (pick((const char *[]){__VA_ARGS__}, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)))
#define NUMBER PICK("8", "-8", "0", "+16", "96", "-2147483648")
#define CONSTANT PICK("8", "-8", "0", "71", "sym", "0x10", "")
static void operand(char *to) {
    switch (any(8)) {
    case 0: sprintf(to, FORM_CONST, CONSTANT); break;
    case 1: case 2: sprintf(to, FORM_REG, REGISTER); break;
    case 3: case 4: sprintf(to, FORM_MEM, NUMBER, REGISTER); break;
    case 5: sprintf(to, FORM_MEM2, REGISTER); break;
    case 6: sprintf(to, FORM_SIB); break;
    default: sprintf(to, "%s", ODD); break;
    }
}
int main(void)
{
    FILE *strings = fopen("strings", "w"), *verdicts = fopen("verdicts", "w");
    for (int i = 0; i < STRINGS; i++) {
        char line[2000] = "", one[200];
        for (unsigned k = any(9) ? 1 + any(3) : 12 + any(2); k > 0; k--) {
            operand(one);
            sprintf(line + strlen(line), "%s%s%s%s", *line ? " " : "", PICK("4", "-4", "8", "-1", "2", "-8", "8f", "16", "3", "1"), "@", one);
        }
        fprintf(strings, "%s\n", line);
        fprintf(verdicts, "%s\n", accepts(line) ? "libbpf" : "-");
    }
    return fclose(strings) || fclose(verdicts);
}
END
# branch CONDITION: the lines of the file's #if that stand under it.
branch() { sed -n '/^.\* Architecture-specific logic/,$p' "$source" |
    awk -v want="$1" '/^#if |^#elif |^#else|^#endif/ { if (depth == 0) { past += on; on = !past && index($0, want) > 0; next } }
        on && /^#if/ { depth++ } on { print } on && /^#endif/ { depth-- }'; }

# Where the last literal of a format fails, as in "[x0, #8]" on arm64, libbpf goes on with a length that nothing has set. The
# length gets a value here that makes this an error.
sound() { sed 's/\<int \(reg_off, \|\)len\b/int \1len = -EINVAL/; s/int len, reg_off/int len = -EINVAL, reg_off/'; }

compare() { # compare ARCH FORMS, with the functions on stdin
    local arch=$1
    { cat head.h; sound; echo "$2"; cat tail.h; } > "$arch.c"
    grep -q parse_usdt_arg "$arch.c" || fail "no parser for $arch in $source"
    gcc -w -O1 -DSTRINGS=$strings "$arch.c" -o "$arch"
    "./$arch"
    "$FASTSDT_BUILD/bin/args_dump" "$arch" < strings | cut -d' ' -f1 > ours
    [ "$(grep -c libbpf verdicts)" -gt $((strings / 100)) ] || fail "$arch: the strings are too odd to say anything"
    if ! cmp -s ours verdicts; then
        paste ours verdicts strings | awk -F'\t' '$1 != $2' | sed -n 1,5p >&2
        fail "$arch: ours, libbpf's, string; $(paste ours verdicts | awk '$1 != $2' | wc -l) differ"
    fi
    echo "$arch: $(wc -l < strings) strings, libbpf accepts $(grep -c libbpf verdicts)"
}

x86_forms='
#define FORM_CONST "$%s"
#define FORM_REG "%%%s"
#define FORM_MEM "%s(%%%s)"
#define FORM_MEM2 "(%%%s)"
#define FORM_SIB "%s(%%%s,%%%s%s)", PICK("", "8", "-96"), REGISTER, REGISTER, PICK("", ",1", ",2", ",8", ",3")
#define REGISTER PICK("rax", "eax", "al", "ah", "r8", "r8d", "r8w", "r8b", "r15", "r16", "rbp", "rsp", "sil", "xmm0", "rip", "bpl", "r08", "ax")
#define ODD PICK("x(%rip)", "x+4(%rip)", "4+x(%rip)", "%fs:0", "%fs:x@tpoff", "-8+16(%rbp)", "1234", "sym", "(,%rax,8)", "%xmm0", "%rax,", "")
'
# libbpf picks r8 to r15 and the names of pt_regs at compile time.
extract_x86() { awk '/^#if defined\(__x86_64__\) \|\| defined\(__i386__\)/ { on = 1; next } on && /^#elif defined\(__s390x__\)/ { exit } on' \
    "$source"; }
extract_x86 | sed 's/struct pt_regs/struct x86_regs/' | compare x86_64 "$x86_forms"
{ echo '#undef __x86_64__'; extract_x86 | sed 's/struct pt_regs/struct x86_regs/'; } | compare i386 "$x86_forms"
branch __aarch64__ | compare arm64 '
#define FORM_CONST "%s"
#define FORM_REG "%s"
#define FORM_MEM "[%2$s, %1$s]"
#define FORM_MEM2 "[%s]"
#define FORM_SIB "[%s, %s]", REGISTER, REGISTER
#define REGISTER PICK("x0", "x4", "x30", "x31", "sp", "w0", "xzr", "x29", "v0", "d0")
#define ODD PICK("[x0, #8]", "[x0, #:lo12:sym]", "sym", "[sp,8]", "[sp, 8", "x0]", "#5", "")'
branch __arm__ | sed 's/struct pt_regs/struct arm_regs/' | compare arm '
#define FORM_CONST "#%s"
#define FORM_REG "%s"
#define FORM_MEM "[%2$s, #%1$s]"
#define FORM_MEM2 "[%s]"
#define FORM_SIB "[%s, %s]", REGISTER, REGISTER
#define REGISTER PICK("r0", "r10", "r11", "fp", "ip", "sp", "lr", "pc", "s0", "sl")
#define ODD PICK("[r0, 8]", "5", "sym", "[fp,#-8]", ".LC0", "[sp", "")'
branch __riscv | compare riscv '
#define FORM_CONST "%s"
#define FORM_REG "%s"
#define FORM_MEM "%s(%s)"
#define FORM_MEM2 "0(%s)"
#define FORM_SIB "%s,%s", REGISTER, REGISTER
#define REGISTER PICK("a0", "a7", "a8", "s0", "s11", "t6", "t7", "ra", "sp", "gp", "tp", "zero", "fp", "x5")
#define ODD PICK("sym", "%lo(sym)(a0)", "(a0)", "8(a0", "")'
branch __s390x__ | sed 's/user_pt_regs/user_s390_regs/' | compare s390 '
#define FORM_CONST "%s"
#define FORM_REG "%%%s"
#define FORM_MEM "%s(%%%s)"
#define FORM_MEM2 "0(%%%s)"
#define FORM_SIB "8(%%%s,%%%s)", REGISTER, REGISTER
#define REGISTER PICK("r0", "r7", "r15", "r16", "f0")
#define ODD PICK("sym", "(%r1)", "8(%r1", "%r", "")'
