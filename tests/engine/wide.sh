#!/bin/bash
# Functions that are far from each other in one library, each in a page of its own whose rights are changed: all of them are armed.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv python3
need_attachable
user_folder
count=300
{
    for n in $(seq $count); do
        printf '\t.globl f%d\n\t.type f%d, @function\n\t.p2align 17\nf%d:\n\t.cfi_startproc\n\tlea 7(%%rdi,%%rdi), %%rax\n\txor %%rdi, %%rax\n\tret\n\t.cfi_endproc\n\t.size f%d, . - f%d\n' "$n" "$n" "$n" "$n" "$n"
    done
    printf '\t.section .note.GNU-stack, "", @progbits\n'
} >wide.s
{
    echo '#include <stdio.h>'
    for n in $(seq $count); do echo "long f$n(long);"; done
    echo 'int main(void) { char line[9]; long sum = 0; while (fgets(line, sizeof line, stdin)) {'
    for n in $(seq $count); do echo "sum += f$n(sum);"; done
    echo 'puts("did"); fflush(stdout); } return 0; }'
} >main.c
gcc -shared wide.s -o libwide.so
gcc -O1 main.c -o main -L. -lwide -Wl,-rpath,"$PWD"
driven ./main
did
attach 'uprobe:./libwide.so:f[0-9]* { @ = count(); }'
did
kill -INT $tracer
report
expect "what is armed" "$status $(xargs <maps)" "0 @: $count sites $count of $count armed; dropped 0"
did
exec 3>&- 5<&-
wait $pid || fail "the program failed"
