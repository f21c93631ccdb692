#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Every layout of fastsdt.h with real probes on the running kernel: `layouts.sh DIRECTORY` with layouts and liblayouts.so in it.
# Runs as a test here and inside the guests of run-matrix.sh (a POSIX shell is enough). One line per check, `ok ...` or
# `FAIL ...`; exit status 1 if anything failed.
#
# In each scenario (threads, fork, vfork, clone with CLONE_VM, exec, dlopen, signals) every site is attached at the note's
# address and at the plan's place; hits have to be exact, registers, flags and red zone intact, the mode the model's. Where
# the kernel's handling of nop5 is unsafe, the hazard has to show itself on nop5, and nop1+nop10 has to be free of it.
cd "$1" || exit 2
failed=0
ok() { echo "ok $*"; }
bad() { echo "FAIL $*"; failed=1; }

# rows REPORT: name, attach, mode, model, hits
rows() { awk 'NR > 1 { sub(/ \(return\)/, "-return"); print $1, $3, $4, $5, $6 }' "$1"; }

# usable PLACE: names of the layouts that can be probed there without danger, as -P options.
usable() {
    fastsdt-probe --dry-run $1 ./layouts >dry.txt 2>dry.err
    rows dry.txt | awk '$2 == "ok" && $4 != "optimize-unsafe" { printf "-P %s ", $1 }'
}

# check NAME FILE OPTIONS... -- COMMAND...: hits as the command says, modes as the model says.
check() {
    name=$1 file=$2
    shift 2
    fastsdt-probe --output report.txt "$@" >out.txt 2>all.txt
    status=$?
    # Before 5.15 perf events count, of all processes, and a message says so; no other process runs these programs.
    case $(uname -r) in 5.[0-9].* | 5.1[0-4].*) grep -v ': BPF cannot be used' all.txt >err.txt ;; *) cat all.txt >err.txt ;; esac
    hits=$(sed -n 's/^hits //p' out.txt | tail -n 1)
    if [ $status != 0 ] || [ -s err.txt ] || [ -z "$hits" ]; then
        bad "$name: status $status $(head -n 3 err.txt | tr '\n' ' ')"
        return
    fi
    wrong=$(rows report.txt | awk -v hits="$hits" '$3 != $4 || $5 != hits { printf "%s mode %s model %s hits %s; ", $1, $3, $4, $5 }')
    if [ -n "$wrong" ]; then
        bad "$name: ${wrong}expected $hits"
    else
        ok "$name: $hits hits at each of $(rows report.txt | awk '{ printf "%s%s(%s)", c, $1, $3; c = " " }')"
    fi
}

for place in --at-note ""; do
    probes=$(usable "$place")
    where=${place:---at-plan}
    for scenario in plain threads fork vfork clone exec signals; do
        check "$scenario ${where#--}" ./layouts $place $probes ./layouts -- ./layouts $scenario
    done
    check "dlopen ${where#--}" ./liblayouts.so $place $probes ./liblayouts.so -- ./layouts dlopen ./liblayouts.so
done

# Function entries by fastprobe, with return probes; all but the one that other functions call too.
for program in ./entries.*; do
    [ -e "$program" ] || continue
    for place in --at-note ""; do
        where=${place:---at-plan}
        functions="-e f_loop -e f_calls -e f_stack -e f_double -e f_varargs -e f_struct"
        check "${program#./} ${where#--}" $program $place $functions --return $program
    done
done

fastsdt-probe --dry-run --at-note ./layouts >dry.txt 2>dry.err
unsafe=no
rows dry.txt | grep -q '^layouts:nop5 .*optimize-unsafe' && unsafe=yes
for layout in nop1 nop1_nop4 nop5 nop1_nop5 nop10 nop1_nop10; do
    case $unsafe-$layout in yes-nop5 | yes-nop1_nop5) continue ;; esac
    if [ $layout = nop10 ] && rows dry.txt | grep -q '^layouts:nop10 ENOTSUPP'; then
        continue
    fi
    if ./layouts churn $layout >out.txt 2>err.txt; then
        ok "churn under eight threads: $layout, $(sed -n 's/attached //p' out.txt) times attached"
    else
        bad "churn under eight threads: $layout: $(cat err.txt)"
    fi
done

# hazard NAME WANTED OPTIONS... -- COMMAND...: the program is damaged in the way that WANTED (a pattern) says.
hazard() {
    name=$1 wanted=$2
    shift 2
    fastsdt-probe --output report.txt "$@" >out.txt 2>err.txt
    if grep -q "$wanted" err.txt; then
        ok "hazard shown: $name: $(grep "$wanted" err.txt | sed -n 1p)"
    else
        bad "hazard: $name: expected \"$wanted\": $(cat err.txt)"
    fi
}
orphan() { ./layouts orphan "$@" >out.txt 2>err.txt; }
if [ $unsafe = yes ]; then
    second=$(awk '$1 == "layouts:nop1_nop5" { print $2 }' dry.txt)
    second=$(printf '0x%x' $((second + 1)))
    hazard "nop5 overwrites the red zone" "red zone" --at-note -P nop5 ./layouts -- ./layouts plain nop5
    hazard "nop1+nop5 attached at the nop5 overwrites the red zone" "red zone" -a "$second" ./layouts -- ./layouts plain nop1_nop5
    if orphan nop5; then
        bad "hazard: nop5: the child of a traced process lives"
    else
        ok "hazard shown: nop5 and fork: $(cat err.txt)"
    fi
fi
for where in "" second; do
    if orphan nop1_nop10 $where; then
        ok "nop1+nop10 and fork: the child lives (attached at the ${where:-first} byte)"
    elif [ -n "$where" ] && grep -q 'cannot attach' err.txt; then
        ok "nop1+nop10 is $(sed 's/.*cannot/not to be attached: cannot/' err.txt)"
    else
        bad "nop1+nop10 and fork: $(cat err.txt)"
    fi
done
exit $failed
