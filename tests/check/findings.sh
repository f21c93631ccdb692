#!/bin/bash
# Every finding has a hand-made file that shows it, and nothing else is found there. Where another program reads the same
# file, it is asked too.
. "$FASTSDT_SOURCE/tests/common.sh"
need as ld objcopy strip gdb

cat > site.inc <<'END'
# probe LABEL, NAME: a stapsdt note. The rest has sound defaults.
.macro probe label, name, args="", base=_.stapsdt.base, sem=0, owner="stapsdt", type=3, section=".note.stapsdt"
.pushsection \section,"","note"; .balign 4
.4byte 992f-991f, 994f-993f, \type
991: .asciz "\owner"
992: .balign 4
993: .8byte \label, \base, \sem
.asciz "t"; .asciz "\name"; .asciz "\args"
994: .balign 4
.popsection
.endm
# record LABEL, LAYOUT, OFFSET, LENGTH: a layout note
.macro record label, layout, offset, length, bound=0, lead=0, flags=0, operand=0, version=1, type=0x53
.pushsection .note.fastsdt,"","note"; .balign 4
.4byte 992f-991f, 994f-993f, \type
991: .asciz "fastsdt"
992: .balign 4
993: .byte \version, \layout, \offset, \length, \bound, \lead; .2byte \flags; .8byte \label, \operand
994: .balign 4
.popsection
.endm
.macro base
.pushsection .stapsdt.base,"aG","progbits",.stapsdt.base,comdat
.weak _.stapsdt.base; .hidden _.stapsdt.base; _.stapsdt.base: .space 1
.popsection
.endm
.macro nop1_nop10
.byte 0x90,0x66,0x2e,0x0f,0x1f,0x84,0,0,0,0,0
.endm
.text; .globl _start; _start:
END

# made: assembles and links what stands on stdin behind the macros.
made() {
    cat site.inc - > "$1.s"
    as "$1.s" -o "$1.o"
    ld -z noexecstack -z noseparate-code ${2:-} "$1.o" -o "$1"
}
ids() { fastsdt-check -v "$@" 2>&1 | sed -n 's/.*\[\([a-z-]*\)\]$/\1/p' | sort | uniq -c | awk '{ print ($1 > 1 ? $1 " " : "") $2 }' | paste -sd' '; }
covered=
# finds FILE "ID..." [OPTIONS]: exactly these, with their counts if above one
finds() {
    local file=$1 want=$2
    shift 2
    expect "$file" "$(ids "$@" "$file")" "$want"
    covered="$covered $want"
}
gdb_probes() { gdb -q -batch -nx -iex 'set debuginfod enabled off' -ex 'info probes stap' "$1" 2>&1 | grep -c '^stap *t ' || true; }
# patch FILE OFFSET BYTES...: octal escapes
patch() { printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }

made clean <<'END'
1: nop1_nop10
ret
probe 1b, a, "-4@%eax 8@%rbx", sem=sem
record 1b, 6, 1, 10, flags=1, operand=sem
base
.section .probes,"aw"; sem: .2byte 0
END
finds clean ""
[ "$(gdb_probes clean)" = 1 ] || fail "gdb does not list the clean file's probe"
expect "status of a clean file" "$(fastsdt-check clean > /dev/null && echo $?)" 0

# Notes that do not fit
made malformed_size <<'END'
1: nop
probe 1b, a
.pushsection .note.stapsdt; .4byte 8, 4000, 3; .asciz "stapsdt"; .popsection
base
END
finds malformed_size "malformed-note no-layout-note"
made malformed_header <<'END'
1: nop
probe 1b, a
.pushsection .note.stapsdt; .4byte 8, 4; .popsection
base
END
finds malformed_header "malformed-note no-layout-note"
made malformed_string <<'END'
.pushsection .note.stapsdt,"","note"; .4byte 8, 28, 3; .asciz "stapsdt"; .8byte _start, 0, 0; .ascii "abcd"; .popsection
nop
END
finds malformed_string malformed-note
made foreign <<'END'
1: nop
probe 1b, a
probe 1b, b, owner="other"
base
END
finds foreign "foreign-note no-layout-note"
made foreign_type <<'END'
1: nop
probe 1b, a
probe 1b, b, type=4
base
END
finds foreign_type "foreign-note no-layout-note"
cat site.inc - > progbits.s <<'END'
1: nop
.section .note.stapsdt,"",@progbits; .4byte 8, 28, 3; .asciz "stapsdt"; .8byte 1b, 0, 0; .asciz "t"; .asciz "a"
END
as progbits.s -o progbits.o && ld -z noexecstack progbits.o -o progbits
finds progbits note-section-type
made trailing <<'END'
1: nop
.pushsection .note.stapsdt,"","note"
.4byte 8, 33, 3; .asciz "stapsdt"; .8byte 1b, _.stapsdt.base, 0; .asciz "t"; .asciz "a"; .asciz ""; .4byte 0; .balign 4
.popsection
base
END
finds trailing "no-layout-note trailing-bytes"
[ "$(gdb_probes trailing)" = 0 ] || fail "gdb lists a probe with bytes behind its arguments: the finding is out of date"
made index <<'END'
1: nop
probe 1b, a
base
.section .note.fastsdt,"","note"; .4byte 8, 24, 0x49; .asciz "fastsdt"; .byte 1,4,1,16; .4byte 24, 1000, 1000; .8byte 0
END
finds index "index-damaged no-layout-note"
made unknown <<'END'
1: nop
probe 1b, a
record 1b, 1, 0, 1, version=9
record 1b, 1, 0, 1, type=0x99
base
END
finds unknown "no-layout-note 2 unknown-record"
made unknown_layout_id <<'END'
1: nop
probe 1b, a
record 1b, 200, 0, 1
base
END
finds unknown_layout_id unknown-record

# Notes against code
made dangling <<'END'
1: nop
probe 0, gone
probe 1b, here
base
END
finds dangling "dangling-note no-layout-note"
expect "status with an error" "$(fastsdt-check dangling > /dev/null || echo $?)" 1
expect "status with --fail-on never" "$(fastsdt-check --fail-on never dangling > /dev/null && echo $?)" 0
made bytes <<'END'
1: nop; ret
probe 1b, a
record 1b, 6, 1, 10
base
END
finds bytes bytes-mismatch
made record_shape <<'END'
1: nop1_nop10
probe 1b, a
record 1b, 6, 0, 10
base
END
finds record_shape record-mismatch
made record_semaphore <<'END'
1: nop1_nop10
probe 1b, a, sem=sem
record 1b, 6, 1, 10
base
.section .probes,"aw"; sem: .2byte 0
END
finds record_semaphore record-mismatch
made crossing <<'END'
.p2align 12
.skip 4090, 0xc3
1: nop1_nop10
probe 1b, a
record 1b, 6, 1, 10, bound=4
base
END
finds crossing "bound-broken page-crossing"
made crossing_plain <<'END'
.p2align 12
.skip 4090, 0xc3
1: nop1_nop10
probe 1b, a
base
END
finds crossing_plain "no-layout-note page-crossing"
made bound <<'END'
.p2align 6
.skip 10
1: nop1_nop10
probe 1b, a
record 1b, 6, 1, 10, bound=4
base
END
finds bound bound-broken
as bound.s -o bound.o
finds bound.o bound-broken
made orphan <<'END'
1: nop1_nop10
record 1b, 6, 1, 10
END
finds orphan layout-without-probe
made ungrouped <<'END'
1: nop
probe 1b, a
record 1b, 1, 0, 1, flags=4
base
END
finds ungrouped ungrouped-note
made plain <<'END'
1: mov %rax, %rbx
probe 1b, a
base
END
finds plain "no-layout-note single-stepped unknown-layout"
# Two headers in one program: the second probe's is systemtap's.
made other_header <<'END'
1: nop1_nop10
2: nop
probe 1b, a
record 1b, 6, 1, 10
probe 2b, b
base
END
finds other_header "no-layout-note other-header"
# Two sections of one name, as mold leaves them (tests/linker/index.sh has real ones).
objcopy --dump-section .note.stapsdt=notes.bin plain
objcopy --add-section .note.second=notes.bin plain two
objcopy --rename-section .note.second=.note.stapsdt two
expect "sections named .note.stapsdt" "$(readelf -SW two | grep -c '\.note\.stapsdt *NOTE')" 2
finds two "duplicate-probe no-layout-note 2 single-stepped split-notes 2 unknown-layout"

# .stapsdt.base
made no_base <<'END'
1: nop
probe 1b, a, base=0
END
finds no_base "base-missing no-layout-note"
[ "$(gdb_probes no_base)" = 0 ] || fail "gdb lists a probe without .stapsdt.base: the finding is out of date"
made base_zero <<'END'
1: nop
probe 1b, a, base=0
probe 1b, b
base
END
finds base_zero "base-mismatch no-layout-note"
made base_wrong <<'END'
1: nop; ret; ret
probe 1b, a, base=_.stapsdt.base-1
base
END
finds base_wrong "base-mismatch no-layout-note single-stepped unknown-layout"
made moved <<'END'
1: nop
probe 1b-0x10000, a, base=_.stapsdt.base-0x10000
base
END
finds moved "base-moved no-layout-note"

# Semaphores
for kind in outside:0x10 executable:_start not-writable:ro; do
    made "sem_${kind%:*}" <<END
1: nop
probe 1b, a, sem=${kind#*:}
base
.section .rodata; ro: .2byte 0
END
done
finds sem_outside "no-layout-note semaphore-outside"
finds sem_executable "no-layout-note semaphore-executable"
ld -z noexecstack -z separate-code sem_not-writable.o -o sem_not-writable # .rodata in a segment of its own
finds sem_not-writable "no-layout-note semaphore-not-writable"
made varies <<'END'
1: nop
probe 1b, a, sem=s1
2: nop
probe 2b, a, sem=s2
3: nop
probe 3b, b
probe 3b, b
base
.section .probes,"aw"; s1: .2byte 0; s2: .2byte 0
END
finds varies "duplicate-probe no-layout-note semaphore-varies"

cat > shared.ld <<'END'
PHDRS { text PT_LOAD FLAGS(5); first PT_LOAD FLAGS(6); second PT_LOAD FLAGS(6); }
SECTIONS {
    . = 0x400000 + SIZEOF_HEADERS;
    .text : { *(.text) } :text
    .stapsdt.base : { *(.stapsdt.base) } :text
    . = 0x500000; .data : { *(.data) } :first
    . = . + 0x1000; .probes : { *(.probes) } :second
}
END
made sem_shared_page "-T shared.ld" <<'END'
1: nop
probe 1b, a, sem=sem
base
.data; .8byte 1
.section .probes,"aw"; sem: .2byte 0
END
finds sem_shared_page "no-layout-note semaphore-shared-page"

# Kernels
made nop5 <<'END'
1: .byte 0x0f,0x1f,0x44,0,0
probe 1b, a
record 1b, 3, 0, 5
base
END
finds nop5 "single-stepped unsafe-optimization"
finds nop5 "" -k 7.2
finds nop5 unsafe-optimization -k 6.18
made avx <<'END'
1: vpcmpeqb %xmm1,%xmm0,%xmm0
probe 1b, a
base
END
finds avx "breaks-program no-layout-note unknown-layout"
made avx_function <<'END'
.type _start,@function; ret
.size _start, . - _start
.type compare,@function; compare: vpcmpeqb %xmm1,%xmm0,%xmm0; ret
.size compare, . - compare
END
# Nobody selected it, and whoever probes it breaks the program all the same.
finds avx_function "breaks-program" --functions
made nop10 <<'END'
1: .byte 0x66,0x2e,0x0f,0x1f,0x84,0,0,0,0,0
probe 1b, a
record 1b, 5, 0, 10
base
END
finds nop10 kernel-rejects
finds nop10 "" -k 7.2-7.4

# Arguments
made arguments <<'END'
1: nop
probe 1b, a, "-4@x(%rip)"
2: nop
probe 2b, b, "8@%xmm0"
3: nop
probe 3b, c, "1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1"
base
END
finds arguments "argument-conditional argument-misread 2 argument-unreadable no-layout-note too-many-arguments"

# Names that bpftrace cannot be asked for: it says so itself. An empty one makes a malformed note.
made names <<'END'
1: nop1_nop10
2: nop1_nop10
probe 1b, "~"
probe 2b, "b{c"
record 1b, 6, 1, 10, flags=1
record 2b, 6, 1, 10, flags=1
base
END
finds names "2 unaddressable-name"
if have bpftrace; then
    for name in '~' 'b{c'; do
        bpftrace -d -e "usdt:./names:t:$name { exit() }" >out 2>&1 || true
        grep -q 'syntax error' out || fail "bpftrace takes t:$name"
    done
fi

# Whole files
cp clean stripped
objcopy --remove-section .note.stapsdt --remove-section .note.fastsdt clean stripped
finds stripped notes-stripped
strip clean -o strip_gnu
finds strip_gnu ""
llvm_strip=$(newest llvm-strip)
if have "$llvm_strip"; then
    "$llvm_strip" clean -o strip_llvm
    finds strip_llvm notes-stripped
    "$llvm_strip" -g clean -o strip_llvm_g
    finds strip_llvm_g ""
fi
cat > semaphores.s <<'END' # what dtrace -G makes
.section .probes,"aw"; .globl t_a_semaphore; t_a_semaphore: .2byte 0
END
as semaphores.s -o semaphores.o
finds semaphores.o ""
cp clean headless
patch headless 40 '\0\0\0\0\0\0\0\0' # e_shoff
patch headless 60 '\0\0\0\0'         # e_shnum, e_shstrndx
finds headless no-section-headers
objcopy --only-keep-debug clean only_debug
finds only_debug no-text
cp clean alien
patch alien 18 '\0\xf0' # e_machine
finds alien "unknown-machine"

# Function entries
made entries <<'END'
.type _start,@function
mov %rax, %rbx
.globl good; .type good,@function; good: endbr64; 1: nop; ret
.globl bad; .type bad,@function; bad: sub $8, %rsp; ret
.globl missed; .type missed,@function; missed: sub $8, %rsp; ret
record good, 1, 0, 1, lead=4, type=0x45
record bad, 0, 0, 0, type=0x45
record missed, 0, 0, 0, type=0x45, flags=4
END
finds entries "entry-missed entry-single-stepped" --functions
expect "the three selected functions" "$(fastsdt-check --functions entries | sed -n 's/^ *\(4 functions.*\)/\1/p')" \
    "4 functions, 3 selected by fastprobe"

# A push that the assembler gave prefixes, to keep the jump behind it off a boundary, and one that is none: the text says which.
cat site.inc - >prefixed.s <<'END'
.p2align 5; .type prefixed,@function; prefixed: .skip 26, 0x90; ret
.type f,@function; f: push %rbp; cmp $100, %eax; je f; ret
.size f, . - f
.type g,@function; g: nop; ret
.size g, . - g
record f, 16, 0, 0, type=0x45
record g, 16, 0, 0, type=0x45
END
as -mbranches-within-32B-boundaries prefixed.s -o prefixed.o && ld -z noexecstack -z noseparate-code prefixed.o -o prefixed
[[ $(objdump -d --disassemble=f prefixed) =~ ([23]e\ )+55 ]] || fail "as put no prefix on the push: $(objdump -d prefixed)"
finds prefixed "2 bytes-mismatch entry-single-stepped" --functions
fastsdt-check --functions -v prefixed >out || true
expect "what it says of prefixes" \
    "$(grep -c 'the assembler put prefixes on the push, as with -mbranches-within-32B-boundaries; every kernel refuses' out)" 1

# Exits: `whole` has all that it promises, `lacks` a return without a record, `two` a record that stands before no exit, `odd` one
# whose bytes are no nop, `none` one that its entry knows nothing of, and one belongs to no function.
made exits <<'END'
.macro entry name, flags
.globl \name; .type \name,@function; \name: nop
record \name, 1, 0, 1, flags=\flags, type=0x45
.endm
.macro exit label, name, layout=1, offset=0, length=1, flags=0
record \label, \layout, \offset, \length, lead=2, flags=\flags, operand=\name, type=0x58
.endm
.type _start,@function
mov %rax, %rbx
entry whole, 8
test %edi, %edi; jne whole.cold
1: nop1_nop10; ret
2: nop; jmp lacks
.size whole, . - whole
.type whole.cold,@function; whole.cold: inc %eax; 3: nop; ret
.size whole.cold, . - whole.cold
exit 1b, whole, 6, 1, 10
exit 2b, whole, flags=1
exit 3b, whole
entry lacks, 8
test %edi, %edi; je 9f
1: nop; ret
9: ret
.size lacks, . - lacks
exit 1b, lacks
entry two, 8
1: nop; inc %eax; 2: nop; repz ret
.size two, . - two
exit 1b, two
exit 2b, two
entry odd, 8
1: pop %rbx; ret
.size odd, . - odd
exit 1b, odd
entry none, 1
1: nop; ret
.size none, . - none
exit 1b, none
2: nop; ret
exit 2b, lacks+1
END
# A computed goto with -mindirect-branch=thunk: an indirect jump, by way of the compiler's function.
made thunk <<'END'
.type _start,@function; _start: nop
record _start, 1, 0, 1, flags=8, type=0x45
lea 1f(%rip), %rax; jmp __x86_indirect_thunk_rax
1: nop; ret
.size _start, . - _start
record 1b, 1, 0, 1, lead=2, operand=_start, type=0x58
.type __x86_indirect_thunk_rax,@function; __x86_indirect_thunk_rax: push %rax; ret
END
finds thunk "" --functions
finds exits "bytes-mismatch entry-single-stepped exit-missing 3 record-mismatch return-probe-unsafe" --functions
# Without names .eh_frame tells a function's own parts: `back` jumps back into it, `deep` begins with more on the stack than a return
# address. Of `other` nothing tells, so that nothing is said; its return is a way out of neither.
made unnamed <<'END'
.type _start,@function; ret
.globl whole; .type whole,@function; whole: .cfi_startproc; nop
record whole, 1, 0, 1, flags=8, type=0x45
test %edi, %edi; js back; jp other
5: push %rbx; .cfi_adjust_cfa_offset 8; test %esi, %esi; js deep
pop %rbx; .cfi_adjust_cfa_offset -8
1: nop; ret
record 1b, 1, 0, 1, lead=2, operand=whole, type=0x58
.cfi_endproc; .size whole, . - whole
back: .cfi_startproc; inc %esi; jmp 5b; .cfi_endproc
deep: .cfi_startproc; .cfi_def_cfa_offset 16; pop %rbx; .cfi_def_cfa_offset 8
nop; ret
.cfi_endproc
record deep+1, 1, 0, 1, lead=2, operand=whole, type=0x58
other: .cfi_startproc; ret; .cfi_endproc
END
finds unnamed "" --functions
sed 's/^record deep+1.*//' unnamed.s >lacking.s
as lacking.s -o lacking.o && ld -z noexecstack -z noseparate-code lacking.o -o lacking
fastsdt-check -v --functions lacking >out || true
expect "a return of an unnamed part without a record" \
    "$(grep -c "the way out at $(printf '%#x' $((0x$(nm lacking | sed -n 's/ t deep$//p') + 2))) " out)" 1

# REX2 of APX, which this decoder does not know: push %r16.
made apx <<'END'
.type _start,@function; ret
.globl f; .type f,@function; f: nop; .byte 0xd5,0x18,0x50; ret
.size f, . - f
record f, 1, 0, 1, flags=8, type=0x45
END
finds apx undecoded-code --functions

ld -z shstk -z noexecstack -z noseparate-code exits.o -o shadow
readelf -n shadow | matches SHSTK
# A process may have a shadow stack, which kernels up to 6.10 ignore when they place a return probe. One finding for the
# file.
finds shadow "bytes-mismatch entry-single-stepped exit-missing 3 record-mismatch return-probe-unsafe" --functions -k 6.11
finds shadow "bytes-mismatch entry-single-stepped exit-missing 3 record-mismatch 2 return-probe-unsafe" --functions -k 6.6-6.10
finds exits "bytes-mismatch entry-single-stepped exit-missing 3 record-mismatch return-probe-unsafe" --functions -k 6.6-6.10
fastsdt-check --functions -v exits >out || true
for line in "the way out at .* \[exit-missing\]" "neither a return nor a jump" "the note says nop1, the bytes are 5b" \
    "entry record knows of no exits" \
    "the exit's function has no entry record"; do
    grep -q "$line" out || fail "no \"$line\" in: $(cat out)"
done
grep -q '8 exits of 5 functions: 7 returns, 1 tail call' out || fail "number of exits: $(cat out)"
grep -q '^    tail call  0x' out || fail "-v does not list the exits"

# What BOLT leaves behind: tests/check/bolt.sh has real ones. `left` has a symbol, so it is executed still.
made bolted <<'END'
.type _start,@function; ret
.size _start, . - _start
.section .bolt.org.text,"ax",@progbits
1: nop
2: nop1_nop10
.type left,@function; left: nop
3: nop1_nop10
.size left, . - left
record 1b, 1, 0, 1, type=0x45
record 2b, 6, 1, 10, flags=1
record left, 1, 0, 1, type=0x45
probe 3b, a
record 3b, 6, 1, 10, flags=1
base
END
finds bolted stale-record --functions
# The same without BOLT is code that nobody gave a name: strip -x takes them away. fastsdt-index keeps all.
sed 's/\.bolt\.org\.text/.text.plain/' bolted.s >plain.s
as plain.s -o plain.o && ld -z noexecstack -z noseparate-code plain.o -o plain
finds plain layout-without-probe --functions
cp plain indexed && fastsdt-index -v indexed >out
! grep removed out || fail "the index removes records of code without a name"
{ fastsdt-check bolted || true; } | matches '2 of 4 layout records' || fail "bolted: another number of records"

# clang's LTO without the pass: tests/fastprobe/llvm/lto.sh makes real ones.
made unfinished <<END
.ident "$(sed -n 's/#define FASTSDT_NO_PASS "\(.*\)"/\1/p' "$INCLUDE/fastsdt.h")"
END
finds unfinished lto-without-pass

# gcc -flto without and with machine code
echo '#include <usdt.h>
void f(void) { USDT(t, p); }' > lto.c
if echo 'int f;' | gcc -flto -fno-fat-lto-objects -x c -c - -o probe.o 2> /dev/null && readelf -SW probe.o | matches 'gnu\.lto_\.lto\.'; then
    gcc -O1 -flto -fno-fat-lto-objects -I"$INCLUDE" -c lto.c -o slim.o
    gcc -O1 -flto -ffat-lto-objects -I"$INCLUDE" -c lto.c -o fat.o
    finds slim.o slim-lto-object
    finds fat.o ""
else
    echo "SKIP: slim LTO objects: gcc makes none here"
    covered="$covered slim-lto-object"
fi

# A line table that grows a thousandfold when it is unpacked.
python3 "$FASTSDT_SOURCE/bench/scale.py" lines 30000000 swollen
finds swollen lines-left-out

# A type of 200 KB for the arguments of many probes.
python3 "$FASTSDT_SOURCE/bench/scale.py" one-names-note 20 shared-names
finds shared-names names-left-out

all=$(fastsdt-check --list-findings | cut -d' ' -f1 | sort)
expect "findings that no file here shows" "$(comm -23 <(echo "$all") <(tr ' ' '\n' <<< "$covered" | sort -u))" ""
