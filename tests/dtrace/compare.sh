#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Our dtrace against systemtap's on the provider files of real programs: `compare.sh PACKAGE...`, or `compare.sh all`.
# For each file, as it is and preprocessed: the same macros with the same number of parameters, and a program that passes
# every probe has the same notes, with the same semaphores, whichever dtrace and whichever sys/sdt.h made it.
if [ -z "${FASTSDT_SOURCE:-}" ]; then # by hand: after a build
    FASTSDT_SOURCE=$(realpath "$(dirname "$0")/../..")
    FASTSDT_BUILD=$FASTSDT_SOURCE/build/default
    mkdir -p "$FASTSDT_BUILD/dtrace-compare"
    cd "$FASTSDT_BUILD/dtrace-compare"
fi
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/dtrace/common.sh"
[ -n "$peer" ] || skip "systemtap's dtrace is not installed"
where_sdt "$PWD/systemtap" || skip "systemtap's sys/sdt.h is not installed"
[ "$*" != all ] || set -- tcl8.6 glib2.0 postgresql-15 python3.11 perl php8.2 ruby3.1 erlang ghc openjdk-17 qemu libvirt nodejs mariadb
[ $# -gt 0 ] || { sed -n '3,/^[^#]/s/^# //p' "$0" >&2; exit 2; }

# made WHAT INCLUDE COMMAND...: in folder WHAT, the header and the object that COMMAND makes, and the program with both.
made() {
    local what=$1 include=$2 status=0
    shift 2
    rm -rf "$what"
    mkdir "$what"
    (
        cd "$what"
        "$@" -h -o made.h >log 2>&1 && "$@" -G -o made.o >>log 2>&1 || exit 1
        calls made.h >calls.c
        gcc -O1 -I"$include" calls.c made.o -o calls >>log 2>&1 || exit 2
        macros made.h >macros
        notes calls >notes
    ) || status=$?
    [ $status != 2 ] || fail "$what: $file: $(tail -n 5 "$what/log")"
    return $status
}
files=0 probes=0
for package in "$@"; do
    folder=$("$here/fetch.sh" "$package" 2>fetch.err) || skip "no source package $package: $(tail -n 1 fetch.err)"
    found=0
    while read -r file; do
        for cpp in "" -C; do
            command=(${cpp:+-C} "-I$(dirname "$file")" -s "$file")
            if ! made theirs "$PWD/systemtap" "$peer" "${command[@]}"; then
                [ -n "$cpp" ] || fail "systemtap's dtrace fails with $file: $(tail -n 3 theirs/log)"
                # An include that the build would make, a # comment.
                ! made ours "$INCLUDE" "$dtrace" "${command[@]}" || fail "cpp fails with $file for systemtap's dtrace only"
                grep -q 'error: ' ours/log || fail "no error for $file"
                continue
            fi
            made ours "$INCLUDE" "$dtrace" "${command[@]}" || fail "$file $cpp: $(tail -n 5 ours/log)"
            for what in macros notes; do
                diff theirs/$what ours/$what >difference || fail "$file $cpp: other $what"$'\n'"$(head -n 20 difference)"
            done
            [ -n "$cpp" ] || { files=$((files + 1)) probes=$((probes + $(wc -l <ours/notes))) found=$((found + $(wc -l <ours/notes))); }
        done
    done < <(find "$folder" -type f | sort)
    [ $found -gt 0 ] || fail "no probe in the provider files of $package"
    echo "$package: $found probes"
done
echo "$files provider files, $probes probes: the same macros and notes"
