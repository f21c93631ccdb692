#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Prints random sets of a compiler's flags, with arguments of fastprobe. The same SEED gives the same sets.

    flags.py gcc|clang x86-64|arm64 PLUGIN CC SEED COUNT

One set a line. The line's first word is the entry mode, which says what has to hold at an entry (entries.py --check). Flags that this
compiler does not know are among them: whoever uses a set finds out whether it compiles without the plugin.
"""
import os
import random
import shutil
import sys

# Of each group at most one is taken.
COMMON = [
    ["-O0", "-O1", "-O2", "-O2", "-O2", "-O3", "-Os", "-Og"],
    ["-g", "-g3", "-gdwarf-5"],
    ["-falign-functions=1", "-falign-functions=8", "-falign-functions=32", "-falign-functions=64", "-falign-functions=16:8"],
    ["-falign-loops=16", "-falign-loops=32"],
    ["-fpack-struct=1"],
    ["-ffunction-sections", "-ffunction-sections -Wl,--gc-sections"],
    ["-fno-pie -no-pie", "-fPIE -pie", "-fPIC"],
    ["-fno-omit-frame-pointer", "-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer", "-fomit-frame-pointer"],
    ["-fpatchable-function-entry=5", "-fpatchable-function-entry=4,2", "-fpatchable-function-entry=3,3", "-fpatchable-function-entry=1",
     "-fpatchable-function-entry=16,16"],
    ["-fstack-protector-strong", "-fstack-protector-all"],
    ["-fstack-clash-protection"],
    ["-finstrument-functions", "-pg", "-pg -mfentry"],
    ["-fno-optimize-sibling-calls"],
    ["-fno-asynchronous-unwind-tables"],
    ["-fno-plt"],
    ["-funroll-loops"],
    ["-fno-inline"],
    ["-fno-jump-tables"],
    ["-fzero-call-used-regs=used-gpr", "-fzero-call-used-regs=all", "-fzero-call-used-regs=used-arg"],
    ["-ftrivial-auto-var-init=pattern"],
]
GCC = [
    ["-flto", "-flto -ffat-lto-objects"],
    ["-fno-shrink-wrap", "-fno-shrink-wrap-separate"],
    ["-fno-reorder-blocks-and-partition", "-freorder-blocks-algorithm=simple", "-freorder-blocks-and-partition -freorder-functions",
     "-fno-guess-branch-probability"],
    ["-falign-jumps=32 -falign-labels=16", "-falign-labels=8", "-flimit-function-alignment -falign-functions=32"],
    ["-fsplit-wide-types-early", "-fno-split-wide-types", "-fipa-ra", "-fno-ipa-ra", "-fno-ipa-icf", "-fno-partial-inlining"],
    ["-fharden-conditional-branches", "-fharden-compares", "-fhardened"],
    ["-fcallgraph-info", "-fprofile-arcs", "-fprofile-generate"],
    ["-fno-cse-follow-jumps -fno-gcse", "-fno-ivopts", "-fsection-anchors"],
    ["-fno-schedule-insns2", "-fsched-pressure"],
    ["-fno-crossjumping", "-fno-peephole2", "-fno-rename-registers", "-frename-registers"],
    ["-fno-toplevel-reorder"],
    ["-fipa-pta"],
    ["-fno-dwarf2-cfi-asm"],
]
CLANG = [
    ["-flto -fuse-ld=lld -B{bin} -Wl,-mllvm,-load={pass}", "-flto=thin -fuse-ld=lld -B{bin} -Wl,-mllvm,-load={pass}"],
    ["-fsanitize=function -fsanitize-trap=function", "-fsanitize=kcfi"],
    ["-mllvm -enable-machine-outliner=always"],
    ["-mllvm -enable-shrink-wrap=false"],
    ["-mllvm -fast-isel", "-mllvm -global-isel"],
    ["-mllvm -tail-dup-size=8"],
    ["-mllvm -align-all-blocks=4", "-mllvm -align-all-nofallthru-blocks=5", "-mllvm -align-all-functions=5", "-mllvm -align-all-blocks=6",
     "-mllvm -align-loops=32"],
    ["-fxray-instrument", "-fxray-instrument -fxray-instruction-threshold=1", "-fxray-instrument -fxray-ignore-loops",
     "-fxray-instrument -fxray-function-index",
     "-fxray-instrument -fxray-instrumentation-bundle=function-entry", "-fxray-instrument -fxray-instrumentation-bundle=function-exit"],
    ["-fsplit-machine-functions", "-fbasic-block-sections=all -funique-basic-block-section-names", "-mllvm -hot-cold-split=true"],
    ["-fprofile-instr-generate", "-fprofile-generate", "-fcoverage-mapping -fprofile-instr-generate"],
    ["-mllvm -enable-block-placement=false", "-mllvm -disable-branch-fold", "-mllvm -disable-tail-duplicate", "-mllvm -enable-misched=false"],
    ["-fsanitize=cfi-icall -fvisibility=hidden -flto -fuse-ld=lld -B{bin} -Wl,-mllvm,-load={pass}"],
    ["-fno-integrated-as"],
]
X86 = [
    ["-fcf-protection=full", "-fcf-protection=branch", "-fcf-protection=return", "-fcf-protection=none"],
    ["-mno-red-zone"],
    ["-mstackrealign"],
    ["-mcmodel=medium", "-mcmodel=large"],
    ["-mtune=haswell", "-mtune=znver2", "-mtune=atom"],
    ["-mindirect-branch=thunk -mfunction-return=thunk", "-mharden-sls=all",
     "-fcf-protection=none -mindirect-branch=thunk-inline", "-fcf-protection=none -mfunction-return=thunk-inline",
     "-fcf-protection=none -mfunction-return=thunk-inline -mindirect-branch=thunk-inline",
     "-mindirect-branch-register -fcf-protection=none -mindirect-branch=thunk-extern"],
    ["-mapxf", "-mavx10.1", "-mapxf -mapx-inline-asm-use-gpr32", "-mapx-features=egpr", "-mapx-features=push2pop2", "-mapx-features=ndd,ppx",
     "-mapx-features=ccmp,nf"],
    ["-mavx2", "-mavx512f", "-mno-sse2 -mfpmath=387"],
    ["-mpreferred-stack-boundary=5", "-mincoming-stack-boundary=4", "-mstack-alignment=32"],
    ["-mskip-rax-setup", "-mno-vzeroupper", "-minline-all-stringops"],
]
ARM64 = [
    ["-mbranch-protection=standard", "-mbranch-protection=bti", "-mbranch-protection=pac-ret+leaf", "-mbranch-protection=none"],
    ["-mcmodel=tiny", "-mcmodel=large"],
    ["-mtune=cortex-a53", "-mtune=neoverse-n1"],
    ["-march=armv8.3-a", "-march=armv8.5-a"],
    ["-mno-outline-atomics"],
]
OWN = {
    ("gcc", "x86-64"): [
        ["-Wa,-mbranches-within-32B-boundaries",
         "-Wa,-malign-branch-boundary=32 -Wa,-malign-branch=jcc+fused+jmp+call+ret+indirect -Wa,-malign-branch-prefix-size=5"],
        ["-fno-schedule-insns -fsel-sched-pipelining -fselective-scheduling2"],
        ["-mno-push-args -maccumulate-outgoing-args"],
        ["-fsplit-stack"],
        ["-mcall-ms2sysv-xlogues"],
    ],
    ("clang", "x86-64"): [
        ["-mbranches-within-32B-boundaries", "-mbranches-within-32B-boundaries -mpad-max-prefix-size=5",
         "-malign-branch-boundary=32 -malign-branch=fused,jcc,jmp,call,ret,indirect -mpad-max-prefix-size=5"],
        ["-mretpoline", "-mlvi-hardening", "-mseses", "-mspeculative-load-hardening"],
        ["-fbasic-block-sections=all"],
        ["-fms-hotpatch"],
    ],
    ("gcc", "arm64"): [["-mlow-precision-sqrt"], ["-mfix-cortex-a53-835769 -mfix-cortex-a53-843419"]],
    ("clang", "arm64"): [["-mfix-cortex-a53-835769"], ["-mllvm -aarch64-enable-compress-jump-tables=0"]],
}
ENTRIES = ["auto", "auto", "auto", "nop", "nop10", "nop10", "nop10", "frame", "auto-frame", "none"]
EXITS = ["none", "nop", "nop", "nop10", "nop10"]


def main():
    kind, target, plugin, cc, seed, count = sys.argv[1:]
    groups = COMMON + (GCC if kind == "gcc" else CLANG) + (X86 if target == "x86-64" else ARM64) + OWN[kind, target]
    # Made from a text, so that sets of one compiler do not shift when another's groups change.
    dice = random.Random(f"{seed} {kind} {target}")
    bindir = os.path.dirname(os.path.realpath(shutil.which(cc.split()[0]) or cc))
    for _ in range(int(count)):
        entry = dice.choice(ENTRIES)
        words = [dice.choice(COMMON[0])]
        words += [dice.choice(group) for group in groups[1:] if dice.random() < 0.15]
        words += [f"-fplugin-arg-fastprobe-entry={entry}", f"-fplugin-arg-fastprobe-exit={dice.choice(EXITS)}"]
        print(entry, " ".join(words).replace("{pass}", plugin[:-3] + "-pass.so").replace("{bin}", bindir))


if __name__ == "__main__":
    main()
