#!/bin/bash
# A broken link is caught: hand-made objects with dangling, duplicate, mismatched and misplaced notes make fastsdt-check and
# the CHECK step fail, and the step names the object and the section. Nothing half built stays behind.
. "$FASTSDT_SOURCE/tests/common.sh"
need cmake ninja gcc fastsdt-check
cat > note.inc <<'E'
    /* STAPSDT pc, base, semaphore, name: as systemtap writes it. SITE pc, bound: a layout record, nop1+nop10. */
    .macro STAPSDT pc, base, semaphore, name
    .pushsection .note.stapsdt, "", "note"
    .balign 4
    .4byte 8, 994f - 993f, 3
    .asciz "stapsdt"
993: .8byte \pc, \base, \semaphore
    .asciz "broken"
    .asciz "\name"
    .asciz ""
994: .balign 4
    .popsection
    .endm
    .macro SITE pc, bound, semaphore=0
    .pushsection .note.fastsdt, "", "note"
    .balign 4
    .4byte 8, 24, 0x53
    .asciz "fastsdt"
    .byte 1, 6, 1, 10, \bound, 0
    .2byte 1
    .8byte \pc, \semaphore
    .popsection
    .endm
    .macro BASE
    .pushsection .stapsdt.base, "aG", "progbits", .stapsdt.base, comdat
    .weak _.stapsdt.base
    .hidden _.stapsdt.base
_.stapsdt.base: .space 1
    .size _.stapsdt.base, 1
    .popsection
    .endm
    .macro NOP1_NOP10
    .byte 0x90, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0
    .endm
    .globl probed
    .type probed, @function
    .section .note.GNU-stack, "", @progbits
    BASE
    .text
E
make_case() { { echo '    .include "note.inc"'; cat; echo '    ret'; } > "$1.S"; }
make_case good <<'E'
    .p2align 4
probed: 1: NOP1_NOP10
    STAPSDT 1b, _.stapsdt.base, 0, fine
    SITE 1b, 4
E
make_case dangling <<'E'
probed: 1: NOP1_NOP10
    STAPSDT 1b, _.stapsdt.base, 0, fine
    SITE 1b, 0
    STAPSDT 0, _.stapsdt.base, 0, gone
E
make_case base <<'E'
probed: 1: NOP1_NOP10
    STAPSDT 1b, _.stapsdt.base + 0x100, 0, shifted
    SITE 1b, 0
E
make_case duplicate <<'E'
probed: 1: NOP1_NOP10
    STAPSDT 1b, _.stapsdt.base, 0, twice
    STAPSDT 1b, _.stapsdt.base, 0, twice
    SITE 1b, 0
E
make_case bound <<'E'
    .p2align 4
    .skip 8, 0x90
probed: 1: NOP1_NOP10
    STAPSDT 1b, _.stapsdt.base, 0, crossing
    SITE 1b, 4
E
make_case page <<'E'
    .p2align 12
    .skip 4090, 0x90
probed: 1: NOP1_NOP10
    STAPSDT 1b, _.stapsdt.base, 0, crossing
    SITE 1b, 0
E
make_case bytes <<'E'
probed: 1: nop
    STAPSDT 1b, _.stapsdt.base, 0, other
    SITE 1b, 0
E
make_case semaphore <<'E'
probed: 1: NOP1_NOP10
    STAPSDT 1b, _.stapsdt.base, probed, counted
    SITE 1b, 0, probed
E
make_case malformed <<'E'
probed: 1: NOP1_NOP10
    STAPSDT 1b, _.stapsdt.base, 0, fine
    SITE 1b, 0
    .pushsection .note.stapsdt, "", "note"
    .4byte 8, 1000, 3
    .asciz "stapsdt"
    .popsection
E
cat > main.c <<'E'
void probed(void);
int main(void) { probed(); return 0; }
E
cat > CMakeLists.txt <<E
cmake_minimum_required(VERSION 3.20)
project(broken LANGUAGES C ASM)
find_package(fastsdt REQUIRED)
add_executable(app main.c \${CASE}.S)
target_compile_options(app PRIVATE \$<\$<COMPILE_LANGUAGE:ASM>:-I${PWD}>)
fastsdt_target(app \${STEPS})
E
cmake --install "$FASTSDT_BUILD" --prefix "$PWD/prefix" > install.log || fail "cmake --install: $(tail -3 install.log)"
configure() { cmake -S . -B build -G Ninja -DCMAKE_PREFIX_PATH="$PWD/prefix" "$@" > configure.log 2>&1 || fail "$(tail -5 configure.log)"; }
tries() { # CASE STEPS: builds; the output is in build.log
    configure -DCASE="$1" -DSTEPS="$2"
    cmake --build build > build.log 2>&1
}
tries good CHECK || fail "a good object was refused: $(cat build.log)"
caught() { # CASE LEVEL FINDING [PROBE]
    ! tries "$1" "CHECK;$2" || fail "$1 was not caught"
    grep -q "\[$3\]" build.log || fail "$1: no $3 in: $(cat build.log)"
    if [ $# -gt 3 ]; then
        grep -q "$4 is in section .note.stapsdt of .*/$1.S.o" build.log || fail "$1: the object is not named: $(cat build.log)"
    fi
    # The program alone says it too.
    gcc -I. main.c "$1.S" -o alone
    status=0; fastsdt-check --fail-on "$2" alone > alone.log || status=$?
    expect "$1: fastsdt-check's status" $status 1
    grep -q "\[$3\]" alone.log || fail "$1: $(cat alone.log)"
    # Not built: the next build tries again instead of taking the bad file.
    ! cmake --build build > build.log 2>&1 || fail "$1: the second build took the bad file"
}
caught dangling error dangling-note broken:gone
caught base error base-mismatch
caught duplicate warning duplicate-probe broken:twice
caught bound error bound-broken broken:crossing
caught page error page-crossing broken:crossing
caught bytes error bytes-mismatch broken:other
caught semaphore error semaphore-executable broken:counted
caught malformed error malformed-note
grep -q 'malformed.S.o' build.log && grep -q '\.note\.stapsdt' build.log || fail "malformed: neither object nor section in: $(cat build.log)"

# What the index can repair it repairs, and then the check passes.
for case in dangling base duplicate; do
    tries $case "INDEX;CHECK;warning" || fail "$case was not repaired: $(cat build.log)"
done
! tries malformed "INDEX;CHECK" || fail "malformed notes were indexed"
