#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The entries are instructions of the target, and the last change to the code: what was decided is what is in the object.
. "$FASTSDT_SOURCE/tests/fastprobe/llvm/llvm.sh"
plugged() { # MODE FLAGS...
    local mode=$1
    shift
    clang -w "-fplugin=$plugin" "-fplugin-arg-fastprobe-entry=$mode" "$@"
}
cross=()
! echo 'int main(void) { return 0; }' | clang --target=aarch64-linux-gnu -c -x c - -o probe.o 2>/dev/null || cross=(aarch64)

cat >a.c <<'E2'
#define NOINLINE __attribute__((noinline))
NOINLINE int leaf(int a) { return a * 3; }
NOINLINE int loop(int *p) { int s = 0; do s += *p; while (*p++); return s; }
NOINLINE int calls(int a) { int b = leaf(a); return leaf(b) + a; }
NOINLINE const char *name(int n) {
    switch (n) { // a jump table
    case 0: return "a"; case 1: return "c"; case 2: leaf(1); return "d"; case 3: return "x"; case 4: leaf(2); return "t";
    case 5: leaf(7); return "p"; case 6: leaf(9); return "i"; case 7: leaf(3); return "u";
    }
    return 0;
}
int main(int argc, char **argv) { int one[] = {1, 0}; return calls(argc) != 10 || loop(one) != 1 || *name(argc) != 'c'; }
E2

# entry=none: not a byte of what is loaded differs, at any level.
for target in x86_64 "${cross[@]}"; do
    for level in -O0 -O1 -O3 -Oz "-O2 -g" "-O2 -ffunction-sections" "-O2 -fcf-protection=full" "-O2 -mbranch-protection=standard"; do
        case $target$level in *cf-prot*) [ $target = x86_64 ] || continue ;; *branch-prot*) [ $target != x86_64 ] || continue ;; esac
        clang -w --target=$target-linux-gnu $level -c a.c -o without.o
        plugged none --target=$target-linux-gnu $level -c a.c -o with.o
        readelf -nW with.o | matches 'fastsdt.*0x00000045' || fail "none, $target $level: no records"
        # What is not loaded: the records, indices into the symbol table, and the numbers in names of mapping symbols ($d.5).
        for object in with without; do
            "$bin/llvm-objcopy" -R '.note.fastsdt*' -R '.rela.note.fastsdt*' -R .llvm_addrsig --wildcard $object.o $object.stripped
            "$bin/llvm-objdump" -s $object.stripped | grep -v 'file format' |
                awk '/^Contents of section/ { table = $4 ~ /^\.(strtab|symtab):$/ } !table' >$object.dump
        done
        cmp without.dump with.dump || fail "none, $target $level: sections differ: $(diff without.dump with.dump | sed -n 1,10p)"
    done
done

# Passes that put something first, and run late. What is recorded is what is there.
say() { entries "$1" | sed -n "s/^$2: //p"; }
for flags in -mseses -mlvi-hardening -mlvi-cfi -mretpoline -mharden-sls=all -mspeculative-load-hardening \
    -mbranches-within-32B-boundaries -fstack-protector-all -fcf-protection=full; do
    clang -w -O2 $flags a.c -o probe.o 2>/dev/null || continue
    for mode in auto nop nop10; do
        plugged $mode -O2 $flags a.c -o a.o
        for f in leaf loop calls name main; do
            line=$(say a.o $f)
            first=${line#*| }
            first=${first#endbr64; }
            case $line in
                nop1+nop10*) [[ $first = "nop; cs nopw "* ]] ;;
                nop*) [[ $first = "nop; "* ]] ;;
                push*) [[ $first = push* ]] ;;
                other*) [[ $mode = auto && ($first = jmp* || $first = call*) ]] ;;
                *) false ;;
            esac || fail "$flags entry=$mode $f: $line"
        done
    done
done

# The exact bytes of nop10 whatever writes them: the object writer, LLVM's assembler from text, GNU's.
exact() { # WHAT OBJECT
    objdump -d --insn-width=16 "$2" | grep -A2 '<leaf>:' | matches '90[[:space:]]*nop' || fail "$1: no nop"
    objdump -d --insn-width=16 "$2" | grep -A2 '<leaf>:' | matches '66 2e 0f 1f 84 00 00 00 00 00 ' ||
        fail "$1: another nop10: $(objdump -d --insn-width=16 "$2" | grep -A2 '<leaf>:')"
    matches '^leaf: nop1+nop10 .*bound=4.* added' <<<"$(entries "$2")" || fail "$1: $(entries "$2")"
    no_strays "$2" "$1"
}
plugged nop10 -O2 -c a.c -o a.o && exact object a.o
plugged nop10 -O2 -g -c a.c -o a.o && exact "object with -g" a.o
plugged nop10 -O2 -S a.c -o a.s && clang -c a.s -o a.o && exact "through -S" a.o
! grep -q '#APP' a.s || fail "assembly text among the instructions: $(cat a.s)"
as a.s -o a.o && exact "through -S and as" a.o
plugged nop10 -O2 -fno-integrated-as -c a.c -o a.o && exact -fno-integrated-as a.o

# -save-temps: one process writes bitcode with passes switched off, and another makes the code of it.
cat >temps.c <<'E2'
#define NOINLINE __attribute__((noinline))
NOINLINE int leaf(int a) { return a * 3; }
NOINLINE __attribute__((annotate("no_fastprobe"))) int out(int a) { return a * 5; }
NOINLINE __attribute__((no_instrument_function)) int not_mine(int a) { return a * 9; }
static inline int inlined(int a) { return a + 1; }
int main(int argc, char **argv) { return leaf(inlined(argc)) + out(argc) + not_mine(argc) != 20; }
E2
for flags in -O2 -O0 "-O2 -ffunction-sections" "-O2 -flto" "-O2 -flto=thin"; do
    for temps in "" -save-temps; do
        rm -f report temps
        link=()
        [[ $flags != *-flto* ]] || link=(-fuse-ld=lld "-B$bin" "-Wl,-mllvm,-load=$pass")
        plugged nop10 $flags $temps -fplugin-arg-fastprobe-report=report -fplugin-arg-fastprobe-exclude=^main$ temps.c "${link[@]}" -o temps &&
            ./temps || fail "$flags $temps"
        entries temps | grep -E '^(leaf|out|not_mine|main): ' | sed 's/ |.*//' >"entries$temps"
        sort report >"report$temps.sorted"
    done
    cmp entries entries-save-temps || fail "$flags -save-temps: other entries: $(diff entries entries-save-temps)"
    cmp report.sorted report-save-temps.sorted || fail "$flags -save-temps: another report: $(diff report.sorted report-save-temps.sorted)"
    matches '^leaf: nop1+nop10 .* added' <entries-save-temps || fail "$flags -save-temps: $(cat entries-save-temps)"
    matches '^out: no record' <entries-save-temps || fail "$flags -save-temps: $(cat entries-save-temps)"
done

# The same input twice gives the same output.
for mode in auto nop10; do
    plugged $mode -O2 -g -c a.c -o one.o
    plugged $mode -O2 -g -c a.c -o two.o
    cmp one.o two.o || fail "entry=$mode: not deterministic"
done

# Assembly that uses the frame pointer's register gets no frame around it.
cat >rbp.c <<'E2'
__attribute__((noinline)) int sum(volatile int *p) { return p[0] + p[3]; }
__attribute__((noinline)) int owner(int a) {
    volatile int x[4] = {a, 2, 3, 4};
    asm volatile("xor %%ebp, %%ebp" ::: "rbp");
    return sum(x) + x[1];
}
__attribute__((noinline)) int other(int a) { return sum((volatile int[]){a, 2, 3, 4}) + a; }
int main(int argc, char **argv) { return owner(argc) != 7 || other(argc) != 6; }
E2
for mode in frame auto-frame; do
    for level in -O0 -O1 -O2; do
        clang -w $level rbp.c -o rbp && ./rbp || { echo "$level: fails without the plugin"; continue; }
        rm -f report
        plugged $mode $level -fplugin-arg-fastprobe-report=report rbp.c -o rbp
        # clang itself uses a frame at -O0, and stays away from rbp then.
        ./rbp || fail "entry=$mode $level: asm that clobbers rbp crashes"
        grep '"function": "other"' report | matches '"after": "push %rbp"' || fail "entry=$mode $level: $(cat report)"
        # Saving rbp may still put a push of it first: then nothing is missed.
        [ $level = -O0 ] || [ $mode = auto-frame ] || grep '"function": "owner"' report |
            matches 'asm uses the frame pointer"' || fail "entry=$mode $level: $(cat report)"
    done
done

# Two copies of the pass would put down each entry twice.
cp "$pass" other-pass.so
if plugged nop -fpass-plugin=./other-pass.so -c a.c -o a.o 2>err; then fail "two copies: accepted"; fi
grep -q 'error: fastprobe is loaded twice, from .*fastprobe-pass.so and from .*other-pass.so' err || fail "two copies: $(cat err)"
plugged nop "-fpass-plugin=$pass" -c a.c -o a.o || fail "the same file by two options"

# No report of a compilation that failed. (LLVM 14 to 17 do not tell the plugin.)
if [ "$version" -ge 18 ]; then
    rm -f report
    echo 'int f(int a) { asm volatile("no such instruction"); return a * 3; }' >bad.c
    ! plugged nop -fplugin-arg-fastprobe-report=report -c bad.c -o bad.o 2>/dev/null || fail "bad assembly: accepted"
    [ ! -s report ] || fail "a report of a failed compilation: $(cat report)"
fi

# LLVM's own check of its instructions.
for target in x86_64 "${cross[@]}"; do
    for mode in auto nop nop10 frame; do
        for level in -O0 -O2 -Oz; do
            plugged $mode --target=$target-linux-gnu $level -g -mllvm -verify-machineinstrs -c a.c -o a.o ||
                fail "$target $level entry=$mode: not valid"
        done
    done
done

# flang has no parser for assembly text at hand.
for flang in "$bin/flang-new" "$bin/flang"; do
    [ -x "$flang" ] || continue
    printf 'integer function triple(a)\n  integer :: a\n  triple = a * 3\nend function\n' >f.f90
    "$flang" -O2 -c "-fpass-plugin=$pass" f.f90 -o f.o || fail "flang"
    entries f.o | matches '^triple_: .*| \(nop\|push\)' || fail "flang: $(entries f.o)"
    echo "with $flang"
    break
done

# rustc, if it is built on the same LLVM. Plugins are an unstable option.
if have rustc && rustc -vV | matches "^LLVM version: $version\."; then
    echo '#[no_mangle] pub extern "C" fn triple(a: i32) -> i32 { a.wrapping_mul(3) }' >r.rs
    RUSTC_BOOTSTRAP=1 rustc --crate-type lib -O "-Zllvm-plugins=$pass" --emit obj r.rs -o r.o || fail "rustc"
    entries r.o | matches '^triple: nop .*added | nop; ' || fail "rustc: $(entries r.o)"
    echo "with $(rustc --version)"
fi
