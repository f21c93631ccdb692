#!/bin/bash
# A function named by the address where it begins in its file, as nm has it.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc nm
cat >main.c <<'END_OF_C'
__attribute__((noinline)) long work(long n) { __asm__ volatile("" : "+r"(n)); return n * 31 + 7; }
__attribute__((noinline)) long other(long n) { __asm__ volatile("" : "+r"(n)); return n * 33 + 5; }
int main(void)
{
    long n = 0;
    for (int i = 0; i < 300; ++i)
        n = work(n) + (i % 3 ? 0 : other(n));
    return n == 1;
}
END_OF_C
for flags in "-fPIE -pie" "-fno-pie -no-pie"; do
    gcc -O2 $flags main.c -o main
    for function in work=300 other=100; do
        at=0x$(nm main | sed -n "s/ T ${function%=*}\$//p" | sed 's/^0*//')
        fastsdt-trace --engine user -e "uprobe:./main:$at { @[func] = count(); }" -- ./main >out 2>err || fail "$flags, $at: $(cat out err)"
        expect "$flags, $at" "$(xargs <out)" "@[${function%=*}]: ${function#*=} sites 1 of 1 armed; dropped 0"
    done
    status=0
    fastsdt-trace --engine user -e "uprobe:./main:0x$(printf %x $((at + 1))) { @ = count(); }" -- ./main >out 2>err || status=$?
    expect "$flags: within a function" "$status" 2
    matches 'nothing matches uprobe:./main:0x' <err || fail "$flags: $(cat err)"
done
