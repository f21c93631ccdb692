# SPDX-License-Identifier: BSD-2-Clause
# Compiles the functions that decide about a uprobe out of Linux source trees, x86's and arm64's, and compares them with
# judge() on some millions of instructions. FASTSDT_LINUX_SOURCE names the trees, or Debian's linux-source packages:
#
#     scripts/common/debian.sh 'bookworm trixie sid' apt-get download linux-source-6.1 linux-source-6.12 linux-source-7.2
#     FASTSDT_LINUX_SOURCE="$(echo linux-source-*.deb)" ctest --preset default -R kernel_source
#
# Nothing of Linux is kept in this project, so without the variable the test is skipped.
. "$FASTSDT_SOURCE/tests/common.sh"
[ -n "${FASTSDT_LINUX_SOURCE:-}" ] || skip "FASTSDT_LINUX_SOURCE names no Linux source tree"
need gcc g++ awk xz
count=${FASTSDT_COMPARE_COUNT:-2000000}

wanted="arch/x86/kernel/uprobes.c arch/x86/lib/insn.c arch/x86/lib/inat.c arch/x86/lib/insn-eval.c
    arch/x86/lib/x86-opcode-map.txt arch/x86/tools/gen-insn-attr-x86.awk
    arch/x86/include/asm/insn.h arch/x86/include/asm/inat.h arch/x86/include/asm/inat_types.h
    arch/x86/include/asm/emulate_prefix.h arch/x86/include/asm/nops.h
    arch/arm64/include/asm/insn.h arch/arm64/lib/insn.c arch/arm64/kernel/probes/decode-insn.c"

# function NAME FILE: the definition of one C function, or nothing.
function_of() {
    awk -v name="$1" '
        !inside && $0 ~ "^[a-z].*[ *]" name "\\(" { head = 1; text = "" }
        # The return type may stand on the line before.
        !inside && $0 ~ "^" name "\\(" { head = 1; text = before "\n" }
        head { text = text $0 "\n"; if (/;$/) { head = 0 } else if (/^\{/ || /\{$/) { head = 0; inside = 1; next } else next }
        inside { text = text $0 "\n"; if (/^}/) { printf "%s\n", text; exit } }
        { before = $0 }' "$2"
}

compare() { # TREE NAME
    local tree=$1 name=$2 f u=$1/arch/x86/kernel/uprobes.c a=$1/arch/arm64
    rm -rf gen && mkdir gen
    awk -f "$tree/arch/x86/tools/gen-insn-attr-x86.awk" "$tree/arch/x86/lib/x86-opcode-map.txt" >gen/inat-tables.c
    {
        awk '/^#define OPCODE|^#define MODRM_REG|^#define UPROBE_FIX_(IP|CALL|SETF|RIP_(SI|DI|BX))/' "$u"
        awk '/^#define W\(row/ { on = 1 } on; /^#undef W/ { exit }' "$u"
        grep -E '^#define (OPT_INSN_SIZE|LEA_INSN_SIZE|REDZONE_SIZE)' "$u" || true
        function_of insn_is_nop "$tree/arch/x86/lib/insn-eval.c"
        echo 'static const struct uprobe_xol_ops default_xol_ops, branch_xol_ops, push_xol_ops;'
        awk '/^#define CASE_COND/ { on = 1 } /^$/ { if (on) exit } on' "$u"
        awk '/^#define COND\(/ { on = 1 } /^$/ { if (on) exit } on' "$u"
        for f in is_prefix_bad uprobe_init_insn insn_is_nop insn_is_nopl is_optimizable_nop10 can_optimize \
            branch_clear_offset is_cond_jmp_opcode branch_setup_xol_ops push_setup_xol_ops arch_uprobe_analyze_insn; do
            function_of $f "$u"
        done
    } >gen/uprobes.inc
    {
        awk '/^enum aarch64_insn_(hint_cr_op|system_register|special_register) \{/ { on = 1 } on; /^};/ { on = 0 }' "$a/include/asm/insn.h"
        awk '/^#define[ \t]+__AARCH64_INSN_FUNCS/ { on = 1 } on; /^#undef[ \t]+__AARCH64_INSN_FUNCS/ { exit }' "$a/include/asm/insn.h"
        for f in aarch64_get_insn_class aarch64_insn_get_hint_value aarch64_insn_gen_hint aarch64_insn_gen_nop \
            aarch64_insn_is_nop aarch64_insn_is_adr_adrp aarch64_insn_is_steppable_hint aarch64_insn_is_branch \
            aarch64_insn_uses_literal aarch64_insn_extract_system_reg; do
            function_of $f "$a/include/asm/insn.h"
            function_of $f "$a/lib/insn.c"
        done
        function_of aarch64_insn_is_steppable "$a/kernel/probes/decode-insn.c"
        function_of arm_probe_decode_insn "$a/kernel/probes/decode-insn.c"
    } >gen/arm64.inc
    gcc -O2 -w -I"$FASTSDT_COMPARE/stubs" -idirafter "$tree/arch/x86/include" -I"$tree/arch/x86/lib" -Igen \
        -c "$FASTSDT_COMPARE/x86.c" -o x86.o || fail "$name: cannot compile its x86 functions"
    gcc -O2 -w -I"$FASTSDT_COMPARE/stubs" -Igen -c "$FASTSDT_COMPARE/arm64.c" -o arm64.o || fail "$name: cannot compile its arm64 functions"
    g++ -std=c++20 -O2 -I"$FASTSDT_SOURCE/lib" -I"$INCLUDE" "$FASTSDT_COMPARE/compare.cpp" x86.o arm64.o \
        "$FASTSDT_BUILD/lib/libfastsdt_reader.a" -lZydis -lfmt -lelf -ldw -o compare
    ./compare "$name" "$count"
}

for source in $FASTSDT_LINUX_SOURCE; do
    tree=$source
    if [ -f "$source" ]; then # a package, with a compressed tree inside
        tree=tree/$(basename "$source" .deb)
        if [ ! -d "$tree/arch/arm64" ]; then
            mkdir -p "$tree"
            dpkg-deb --fsys-tarfile "$source" | tar xO --wildcards './usr/src/linux-source-*.tar.xz' | xz -dc |
                tar x --strip-components=1 -C "$tree" --wildcards --no-wildcards-match-slash $(printf '*/%s ' $wanted Makefile)
        fi
    fi
    [ -f "$tree/arch/x86/kernel/uprobes.c" ] || fail "$source: no Linux source tree"
    version=$(awk -F' = ' '/^VERSION/ { v = $2 } /^PATCHLEVEL/ { v = v "." $2 } /^SUBLEVEL/ { print v "." $2; exit }' "$tree/Makefile")
    [ -n "$version" ] || fail "$source: no version in its Makefile"
    compare "$tree" "$version"
done
