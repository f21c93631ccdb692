#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs the cases of the shared suite with one compiler.
#
#   suite.sh KIND TARGET PLUGIN CC CXX [CASE...]
#
# KIND    gcc or clang
# TARGET  x86-64 or arm64
# PLUGIN  the fastprobe.so for -fplugin=
# CC CXX  commands, with their own options (clang-19 --target=aarch64-linux-gnu)
#
# A case is a source with its expectations beside it:
#
#   // RUN: NAME [gcc|clang] [x86-64|arm64] : FLAGS
#
# compiles, links and runs the file (it must exit with 0) with FLAGS, in which a word KEY=VALUE that does not begin with
# '-' is an argument of the plugin and %S the folder of the cases. entries.py prints the entries, and FileCheck compares them with the
# lines whose prefix is ALL, NAME, or one of those followed by -X86, -ARM64, -GCC, -CLANG, -X86-GCC and so on.
# "// NAME-NEVER: REGEX" is an extended regular expression that no line may match.
# NAME may be followed by "norun" where running needs more than this machine promises. A line "// REPORT-..." is
# matched against the plugin's report in the same way.
. "$FASTSDT_SOURCE/tests/common.sh"
kind=$1 target=$2 plugin=$3 cc=$4 cxx=$5
shift 5
need FileCheck-19 python3 "${cc%% *}" "${cxx%% *}"
[ -e "$plugin" ] || skip "$plugin was not built"
cases=$FASTSDT_SOURCE/tests/fastprobe/cases
# FASTPROBE_SYSROOT: programs run with the libraries of that chroot (scripts/test-gcc-versions.sh).
objdump=objdump run=${FASTPROBE_SYSROOT:+chroot $FASTPROBE_SYSROOT} short=X86
if [ "$target" = arm64 ]; then
    objdump=aarch64-linux-gnu-objdump run="qemu-aarch64 -cpu max -L ${FASTPROBE_SYSROOT:-}/usr/aarch64-linux-gnu" short=ARM64
    need qemu-aarch64 $objdump
fi
KIND=${kind^^}
export ASAN_OPTIONS=detect_leaks=0 # leaks are not the subject

one() { # FILE NAME run|norun FLAGS...
    local file=$1 name=$2 mode=$3 compiler=$cc prefix prefixes= words=() word out=$PWD/out
    shift 3
    case $file in *.cpp) compiler=$cxx ;; esac
    local arguments=()
    for word in "$@"; do
        word=${word//%S/$cases}
        case $word in
            -*) words+=("$word") ;;
            *) arguments+=("-fplugin-arg-fastprobe-$word") ;;
        esac
    done
    # LTO with clang makes the code in the linker, which has to load the pass as well.
    if [ "$kind" = clang ] && [[ " ${words[*]} " = *" -flto"* ]]; then
        words+=(-fuse-ld=lld "-B$(dirname "${cc%% *}")" "-Wl,-mllvm,-load=${plugin%.so}-pass.so")
    fi
    rm -f "$out" "$out".*
    # shellcheck disable=SC2086 # commands with options
    if ! $compiler "${words[@]}" -w -I"$INCLUDE" -fplugin="$plugin" "${arguments[@]}" \
        -fplugin-arg-fastprobe-report="$out.report" "$file" -o "$out" -lm 2>"$out.err"; then
        # shellcheck disable=SC2086
        if ! $compiler "${words[@]}" -w -I"$INCLUDE" "$file" -o "$out" -lm 2>"$out.without"; then
            echo "${file##*/} $name ($*): left out, does not compile without the plugin either: $(head -n1 "$out.without")"
            return
        fi
        cat "$out.err" >&2
        fail "${file##*/} $name ($*): does not compile"
    fi
    if [ "$mode" = run ]; then
        $run "$out" >"$out.stdout" 2>&1 || { cat "$out.stdout"; fail "${file##*/} $name ($*): exit code $?"; }
    fi
    python3 "$FASTSDT_SOURCE/tests/fastprobe/entries.py" "$out" --objdump $objdump >"$out.entries"
    for prefix in ALL "$name"; do
        prefixes+=",$prefix,$prefix-$short,$prefix-$KIND,$prefix-$short-$KIND"
    done
    FileCheck-19 --allow-unused-prefixes --allow-deprecated-dag-overlap --check-prefixes="${prefixes#,}" --input-file="$out.entries" --dump-input=fail "$file" \
        >"$out.filecheck" 2>&1 || { cat "$out.filecheck"; fail "${file##*/} $name ($*)"; }
    while IFS= read -r prefix; do
        ! grep -E "$prefix" "$out.entries" || fail "${file##*/} $name ($*): matches $prefix"
    done < <(sed -nE "s,^// (ALL|$name)-NEVER: ,,p" "$file")
    if grep -q "REPORT-$name\(-$short\)\?\(-$KIND\)\?\(-DAG\|-NOT\)\?:" "$file"; then
        FileCheck-19 --allow-unused-prefixes --allow-deprecated-dag-overlap --check-prefixes="REPORT-$name,REPORT-$name-$short,REPORT-$name-$KIND,REPORT-$name-$short-$KIND" \
            --input-file="$out.report" "$file" >"$out.filecheck" 2>&1 || { cat "$out.filecheck"; fail "${file##*/} $name report"; }
    fi
    count=$((count + 1))
}

count=0
[ $# -gt 0 ] && files=("$@") || files=("$cases"/*.c "$cases"/*.cpp)
for file in "${files[@]}"; do
    [ -e "$file" ] || file=$cases/$file
    runs=0
    while IFS= read -r line; do
        head=${line%%: *} flags=${line#*: }
        # shellcheck disable=SC2086 # a list of words
        set -- $head
        name=$1 wanted=1 mode=run
        shift
        for word in "$@"; do
            case $word in
                gcc | clang) [ "$word" = "$kind" ] || wanted= ;;
                x86-64 | arm64) [ "$word" = "$target" ] || wanted= ;;
                norun) mode=norun ;;
                *) fail "$file: what is '$word'?" ;;
            esac
        done
        runs=$((runs + 1))
        # shellcheck disable=SC2086 # a list of words
        [ -z "$wanted" ] || one "$file" "$name" $mode $flags
    done < <(sed -n 's,^// RUN: ,,p' "$file")
    [ $runs -gt 0 ] || fail "$file has no RUN line"
done
[ $count -gt 0 ] || skip "no case is meant for $kind $target"
echo "$count runs of ${#files[@]} cases"
