#!/bin/bash
# The verdicts on x86-64 argument strings against gdb and bcc themselves: each string is a probe of one program.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc gdb

cat > list <<'END'
-4@%eax
8@%rax
1@%al
1@%ah
2@%ax
1@%r8b
2@%r8w
4@%r8d
2@%r8l
8@%r15
8@%r16
4@$5
-4@$-5
8@$-1
8@$x
8@(%rsp)
-4@-4(%rsp)
8@8(%rsp,%rax,8)
8@(%rsp,%rax)
8@(%rsp,%rax,3)
-4@x(%rip)
-4@x+4(%rip)
-4@4+x(%rip)
-4@%fs:0
-4@%fs:tl@tpoff
8f@%rax
-8f@%xmm0
8@%xmm0
8@%ymm1
8@%k1
8@%rip
8@%eip
%eax
$5
-8(%rsp)
8@-8+16(%rsp)
8@16-8+0(%rsp)
8@1+2+3+4(%rsp)
4@1234
4@x
8@(,%rax,8)
8@(%rsp) 4@(%rsp,%rax)
8@8(%rsp) 4@%eax 2@(%rsp,%rax,2)
4@%eax 4@%fs:0 4@%ebx
8@%rax garbage
@%rax
4@
+4@%eax
1@%sil
1@%bpl
8@%st
-4@ %eax
4@%eax,
8@$18446744073709551615
8@$0x7fff12345678
4@$0x10 4@%eax
4@$-2147483648
4@-0(%rsp)
4@%EAX
8@%cr0
4@*%eax
-1@1(%r11)
END
# gdb takes registers that this processor has.
grep -qw avx512f /proc/cpuinfo || sed -i '/%k1$/d' list
grep -qw avx /proc/cpuinfo || sed -i '/%ymm1$/d' list
{
    echo '.globl main; main: mov %rsp, %r11; sub $8, %r11; xor %eax, %eax'
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
    echo 'ret
.section .stapsdt.base,"aG","progbits",.stapsdt.base,comdat; .weak _.stapsdt.base; .hidden _.stapsdt.base; _.stapsdt.base: .space 1
.data; .globl x; x: .quad 7,8
.section .note.GNU-stack,"",@progbits'
} > p.s
gcc -no-pie p.s -o p
count=$(wc -l < list)
args_dump=$FASTSDT_BUILD/bin/args_dump
"$args_dump" x86_64 < list > ours

# gdb evaluates the arguments at each stop; an argument it cannot parse spoils the probe.
cat > ask.py <<'END'
import gdb
for i in range(COUNT):
    gdb.execute('break -probe-stap t:a%d' % i, to_string=True)
gdb.execute('run', to_string=True)
for i in range(COUNT):
    try:
        count = int(gdb.parse_and_eval('$_probe_argc'))
        for k in range(count):
            gdb.parse_and_eval('$_probe_arg%d' % k)
        print('A %d %s' % (i, 'gdb' if count else '-'))
    except gdb.error:
        print('A %d -' % i)
    if i + 1 < COUNT:
        gdb.execute('continue', to_string=True)
END
sed -i "s/COUNT/$count/g" ask.py
gdb -q -batch -nx -iex 'set debuginfod enabled off' -ex 'set pagination off' -ex 'set confirm off' -x ask.py p > gdb.log 2>&1 || true
sed -n 's/^A [0-9]* //p' gdb.log > gdb
[ "$(wc -l < gdb)" = "$count" ] || { tail -5 gdb.log; fail "gdb did not stop at every probe"; }
expect "gdb's verdicts" "$(paste -d' ' <(cut -d' ' -f3 ours) list)" "$(paste -d' ' gdb list)"

# bcc's own parser, through the C interface of its library.
cat > bcc.c <<'END'
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
struct bcc_usdt { const char *provider, *name, *bin_path; uint64_t semaphore; int num_locations, num_arguments; };
static void probe(struct bcc_usdt *u) { printf("%s %d\n", u->name + 1, u->num_arguments); }
int main(int argc, char **argv)
{
    void *lib = dlopen("libbcc.so.0", RTLD_NOW), *context;
    if (!lib)
        return 77;
    context = ((void *(*)(const char *))dlsym(lib, "bcc_usdt_new_frompath"))(argv[argc - 1]);
    ((void (*)(void *, void (*)(struct bcc_usdt *)))dlsym(lib, "bcc_usdt_foreach"))(context, probe);
    return 0;
}
END
gcc bcc.c -o bcc -ldl
status=0
./bcc ./p 2> bcc.log > bcc.out || status=$?
[ $status != 77 ] || skip "libbcc.so.0 is not installed (gdb agreed)"
sort -n bcc.out | cut -d' ' -f2 > bcc.counts
awk '{ print NF }' list > words # the number of arguments; "-4@ %eax" counts as two, so bcc's count differs
paste -d' ' bcc.counts words | awk '{ print $1 == $2 ? "bcc" : "-" }' > bcc.verdicts
expect "bcc's verdicts" "$(paste -d' ' <(cut -d' ' -f2 ours) list)" "$(paste -d' ' bcc.verdicts list)"
