#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Full and thin LTO: the selection is made at compile time and travels in the bitcode; whatever makes the code loads the
# pass. Records are exact after inlining, importing, internalizing, folding and collecting.
. "$FASTSDT_SOURCE/tests/fastprobe/llvm/llvm.sh"
cat >a.c <<'E'
__attribute__((noinline)) static int local(int a) { return a * 3; }
static int inlined(int a) { return a * 5; }
int dead(int a) { return a * 7; }
__attribute__((noinline)) int same_one(int a) { return a * 11 + 1; }
__attribute__((noinline)) int same_two(int a) { return a * 11 + 1; }
__attribute__((noinline, annotate("no_fastprobe"))) int unwanted(int a) { return a * 13; }
int other(int), small(int);
int main(int argc, char **argv) {
    int (*volatile one)(int) = same_one, (*volatile two)(int) = same_two;
    return local(argc) + inlined(argc) + one(argc) + two(argc) + unwanted(argc) + other(argc) + small(argc) != 3 + 5 + 24 + 13 + 9 + 2;
}
E
cat >b.c <<'E'
__attribute__((noinline)) static int local(int a) { return a * 9; } // the same name as in a.c
__attribute__((noinline)) int other(int a) { return local(a); }
int small(int a) { return a * 2; }
__attribute__((visibility("hidden"))) int dead_too(int a) { return a * 15; }
E
mkdir -p bin
ln -sf "$bin/ld.lld" bin/ld.lld
ways=("-fuse-ld=lld -Wl,-mllvm,-load=$pass" "-fuse-ld=lld -Wl,-mllvm,-load=$pass -Wl,--icf=all" "-fuse-ld=lld -fPIC -pie -Wl,-mllvm,-load=$pass")
[ "$version" -lt 15 ] || ways+=("-fuse-ld=lld -Wl,--load-pass-plugin=$pass")
for linker in bfd gold mold; do
    ! have ld.$linker && ! have $linker || [ ! -e "$bin/../lib/LLVMgold.so" ] || ways+=("-fuse-ld=$linker -Wl,-plugin,$pass")
done
cat >expected <<'E'
// CHECK-NOT: {{^}}inlined
// CHECK-DAG: {{^}}main: nop {{.*}} added | nop;
// CHECK-DAG: {{^}}local{{(\.[0-9]+|\.llvm\.[0-9]+)?}}: nop {{.*}} added | nop; lea (%rdi,%rdi,2)
// CHECK-DAG: {{^}}local{{(\.[0-9]+|\.llvm\.[0-9]+)?}}: nop {{.*}} added | nop; lea (%rdi,%rdi,8)
// CHECK-DAG: {{^}}same_one{{(=same_two)?}}: nop {{.*}} added | nop;
// CHECK-DAG: {{^}}unwanted: no record
E
for lto in full thin; do
    for way in "${ways[@]}"; do
        what="-flto=$lto $way"
        rm -f e report
        flags=(-O2 "-flto=$lto" -ffunction-sections -fplugin="$plugin")
        for unit in a b; do
            clang "${flags[@]}" -fplugin-arg-fastprobe-entry=nop -fplugin-arg-fastprobe-report=report -c $unit.c -o $unit.o
        done
        # gold refuses to link where it collects a function that has a record, and mold keeps the record.
        collect=-Wl,--gc-sections
        case $way in *gold* | *mold*) collect= ;; esac
        clang -O2 "-flto=$lto" "-B$PWD/bin" $way $collect a.o b.o -o e || fail "$what: does not link"
        ./e || fail "$what: the program fails"
        entries e >out
        check expected CHECK <out || fail "$what"
        [ -z "$collect" ] || ! grep '^dead' out || fail "$what: dead functions stay"
        no_strays e "$what"
        ! fastsdt-check --fail-on never e | grep lto-without-pass || fail "$what: the pass was there"
        case $way in *icf*) grep -q '^same_one=same_two: nop' out || fail "$what: no folding: $(cat out)" ;; esac
        # The report's path came with the bitcode, too.
        grep -q '"function": "main", .*"action": "added"' report || fail "$what: report: $(cat report)"
        ! grep -q unwanted report || fail "$what: reports what nobody selected"
    done
    # Without the pass in the link there is no entry: nothing is half done.
    clang -O2 "-flto=$lto" "-B$PWD/bin" -fuse-ld=lld a.o b.o -o e
    ./e || fail "-flto=$lto without the pass: the program fails"
    expect "-flto=$lto without the pass: records" "$(entries e | grep -vc 'no record' || true)" 0
    fastsdt-check --fail-on never e | matches 'lto-without-pass' || fail "-flto=$lto without the pass: nobody is told"
    # Bitcode of compilations without the plugin: the link selects, with default arguments.
    if [ "$version" -ge 15 ]; then
        for unit in a b; do clang -O2 "-flto=$lto" -c $unit.c -o $unit.o; done
        clang -O2 "-flto=$lto" "-B$PWD/bin" -fuse-ld=lld "-Wl,--load-pass-plugin=$pass" a.o b.o -o e
        entries e >out
        grep -q '^main: \(nop\|push\)' out || fail "-flto=$lto, plugin in the link only: $(cat out)"
    fi
    # In the linker's cache and in distributed thin LTO nothing is shared between different selections.
    [ "$lto" = thin ] || continue
    rm -rf cache
    for entry in nop nop10 nop; do
        for unit in a b; do clang -O2 -flto=thin -fplugin="$plugin" -fplugin-arg-fastprobe-entry=$entry -c $unit.c -o $unit.o; done
        clang -O2 -flto=thin "-B$PWD/bin" -fuse-ld=lld "-Wl,-mllvm,-load=$pass,--thinlto-cache-dir=cache" a.o b.o -o e
        want=nop
        [ $entry = nop ] || want=nop1+nop10
        entries e >out
        grep -qF "main: $want " out || fail "thin LTO cache, $entry: $(cat out)"
    done
done
