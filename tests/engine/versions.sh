#!/bin/bash
# A library is mapped under the name with its whole version, and is meant by those that links beside it have: by name, by path, by pattern.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc
echo 'long work(long n) { __asm__ volatile("" : "+r"(n)); return n * 31 + 7; }' >library.c
echo 'long work(long); int main(void) { long n = 0; for (int i = 0; i < 100; ++i) n = work(n); return n == 1; }' >main.c
gcc -O2 -shared -fPIC library.c -Wl,-soname,libwork-3.1.so.3.1 -o libwork-3.1.so.3.1.2
ln -s libwork-3.1.so.3.1.2 libwork-3.1.so.3.1
ln -s libwork-3.1.so.3.1 libwork-3.1.so
gcc -O2 main.c -o main -L. -lwork-3.1 -Wl,-rpath,"$PWD"
for file in libwork-3.1.so.3.1.2 libwork-3.1.so.3.1 libwork-3.1.so libwork-3.1 ./libwork-3.1.so.3.1 "$PWD/libwork-3.1.so" \
    '*/libwork-3.1.so.3.1.2' '*/libwork-3.1.so.3.1' '*/libwork-3.1.so' '*/libwork-3.1.so*'; do
    fastsdt-trace --engine user -e "uprobe:$file:work { @ = count(); }" -- ./main >out 2>err || fail "$file: $(cat out err)"
    expect "$file" "$(xargs <out)" "@: 100 sites 1 of 1 armed; dropped 0"
done
for file in libwork-3 libwork-3.1.so.4 '*/libwork-3.1.so.3' '*/libwork'; do
    fastsdt-trace --engine user -e "uprobe:$file:work { @ = count(); }" -- ./main >out 2>err && fail "$file: $(cat out err)"
    matches 'nothing matched' <err || fail "$file: $(cat err)"
done
