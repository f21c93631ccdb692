#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Asks real kernels what they do with uprobes and compares the answers with the model in lib/.
set -euo pipefail
usage() {
    cat <<'END'
Usage: run-matrix.sh [--ci] [--record] [KERNEL...]

Boots Debian's and Ubuntu's kernels in QEMU, runs the oracle in each and compares its answers with fastsdt's kernel model.
KERNEL is ARCH/SERIES, or SERIES for x86-64: 6.12, arm64/6.12 (also armhf, riscv64, ppc64el, s390x, loong64), ubuntu-6.8,
ubuntu-7.0.0-43. A suffix names a flavour: 6.12-rt, 6.12-generic, ubuntu-7.0-realtime. Without KERNEL: all in this script's list.

  --ci       x86-64 7.3, and every eighth pattern of tests/kernel/patterns.cpp: kernel.recorded has all answers
  --record   store the answers in tests/kernel/results (then run update-docs.sh); a new kernel is
             `run-matrix.sh --record 7.4`
  --console DIR   keep what each guest printed
  --all-checks    also those that end the program on some architectures (docs/kernels.md)
  --help     this text

Kernels come from the mirror in /etc/apt, Ubuntu's from the folder beside Debian's there, and are kept in ${XDG_CACHE_HOME:-~/.cache}/fastsdt. Nothing is installed.
The build directory is $FASTSDT_BUILD, or build/default. A guest gets $FASTSDT_GUEST_SECONDS, or 700; on a busy machine more, and
FASTSDT_GUEST_CLOCK=instructions, so that nothing in it is late.
Exit status: 0 all agree, 1 a kernel disagrees with the model, 2 something did not run, 77 nothing could be asked.
END
}
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
build=${FASTSDT_BUILD:-$source/build/default}
plugin_file() { FASTSDT_BUILD=$build plugin "$@" | sed "s|.*|$build/&/fastprobe.so|"; }
cache=${XDG_CACHE_HOME:-$HOME/.cache}/fastsdt
. "$here/guest.sh"

all="5.10 6.1 6.12 6.16 6.17 6.18 6.19 7.0 7.1 7.2 7.3 6.12-rt 6.12-generic \
ubuntu-5.15 ubuntu-6.2 ubuntu-6.5 ubuntu-6.8 ubuntu-6.11 ubuntu-6.14 ubuntu-6.17 \
ubuntu-7.0.0-14 ubuntu-7.0.0-39 ubuntu-7.0.0-42 ubuntu-7.0.0-43 ubuntu-7.0.0-44 ubuntu-7.0.0-43-realtime ubuntu-7.3 \
arm64/5.10 arm64/6.1 arm64/6.12 arm64/6.16 arm64/6.17 arm64/6.18 arm64/6.19 arm64/7.0 arm64/7.1 arm64/7.2 arm64/7.3 \
armhf/6.1 armhf/7.2 riscv64/6.12 riscv64/7.2 ppc64el/6.1 ppc64el/7.2 s390x/6.1 s390x/7.2 loong64/7.2"
ci=7.3 every=1 # CMake's FASTSDT_ALL_TESTS has more
record=no console= all_checks=no
kernels=()
while [ $# -gt 0 ]; do
    case $1 in
    --ci) read -ra kernels <<<"$ci" && every=8 ;;
    --record) record=yes ;;
    --console) console=$2; shift ;;
    --all-checks) all_checks=yes ;;
    --help | -h) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
    *) kernels+=("$1") ;;
    esac
    shift
done
[ ${#kernels[@]} -gt 0 ] || read -ra kernels <<<"$all"

oracle=$build/bin/kernel-oracle
for program in kernel-oracle fastsdt-probe fastsdt-check; do
    [ -x "$build/bin/$program" ] && continue
    echo "run-matrix.sh: $build/bin/$program is not built (cmake --build $build --target $program)" >&2
    exit 2
done
for tool in cpio gzip apt-get dpkg-deb busybox; do
    command -v "$tool" >/dev/null || { echo "SKIP: $tool is not installed"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$oracle" patterns "$here" | awk -v every=$every '/^#/ || ++n % every == 0' >"$work/patterns"

# The programs of layouts.sh, the tool they are probed with, and a shell.
add_layouts() {
    local applet
    "$here/build-layouts.sh" amd64 "$source/include" "$1/layouts" "$(plugin_file gcc)"
    cp "$here/layouts.sh" "$1/layouts/"
    for applet in sh awk sed grep head tail tr cat; do
        ln -s busybox "$1/bin/$applet"
    done
    guest_add_program "$1" "$(command -v busybox)"
    guest_add_program "$1" "$build/bin/fastsdt-probe"
    guest_add_program "$1" "$1/layouts/layouts"
    echo "layouts /dev/null /bin/sh /layouts/layouts.sh /layouts"
}

# offsets FILE: where `fastsdt-check --plan` says to attach, with commas between; entries with a return probe each.
offsets() {
    "$build/bin/fastsdt-check" --plan --json --no-lines --kernel 7.2 "$1" | python3 -c '
import json, sys
plan = json.load(sys.stdin)["files"][0]["plan"]
places = [(hex(p["file_offset"]), p["entry"]) for p in plan if p["name"] != "f_leaf"] # which others call too
print(",".join(text for place, entry in places for text in ([place, "r" + place] if entry else [place])))'
}

# The same without our tools and a shell, which this machine does not have for others: one command for each check. What layouts.sh
# looks at beyond that is about layouts that only x86-64 has.
add_layouts_cross() { # ARCH ROOT
    local arch=$1 plugin='' lib loader at scenario program
    lib=$(guest_libraries "$arch")
    shift
    [ "$arch" != arm64 ] || plugin=$(plugin_file gcc -aarch64)
    "$here/build-layouts.sh" "$arch" "$source/include" "$1/layouts" "$plugin"
    loader=$(readelf -Wl "$1/layouts/layouts" | sed -n 's/.*program interpreter: \(.*\)]/\1/p')
    mkdir -p "$1/lib" "$1${loader%/*}"
    cp -L "$lib/${loader##*/}" "$1$loader"
    cp -L "$lib/libc.so.6" "$1/lib/"
    $(guest_compiler "$arch") "$here/count.c" -o "$1/bin/count"
    at=$(offsets "$1/layouts/layouts")
    for scenario in plain threads fork vfork clone exec signals; do
        [ "$all_checks-$arch/$scenario" != no-s390x/signals ] || continue # as churn below
        echo "layouts /dev/null /bin/count $scenario /layouts/layouts $at /layouts/layouts $scenario"
    done
    echo "layouts /dev/null /bin/count dlopen /layouts/liblayouts.so $(offsets "$1/layouts/liblayouts.so")" \
        "/layouts/layouts dlopen /layouts/liblayouts.so"
    echo "layouts /dev/null /bin/count orphan /layouts/layouts - /layouts/layouts orphan nop"
    # There it ends the program: docs/kernels.md.
    case $all_checks-$arch in
    no-riscv64 | no-s390x | no-ppc64el | no-loong64) ;;
    *) echo "layouts /dev/null /bin/count churn /layouts/layouts - /layouts/layouts churn" ;;
    esac
    for program in "$1"/layouts/entries.*; do
        [ -e "$program" ] || continue
        echo "layouts /dev/null /bin/count ${program##*/} /layouts/${program##*/} $(offsets "$program") /layouts/${program##*/}"
    done
}

# The libbpf of a kernel that optimizes nop10, with a program of 4096 sites. Fails if it is not available.
add_libbpf() {
    local clang libbpf
    clang=$(newest clang)
    command -v "$clang" >/dev/null || { echo "no clang"; return 1; }
    libbpf=$("$here/fetch-libbpf.sh" 7.2 "$cache") || return 1
    mkdir -p "$1/libbpf"
    # v2: 5.10 does not know the atomic operations of v3.
    "$clang" -O2 -g -target bpf -mcpu=v2 -D__TARGET_ARCH_x86 -I"$libbpf/include" -I"$libbpf/uapi" -I"/usr/include/$(gcc -print-multiarch)" \
        -c "$here/usdt_count.bpf.c" -o "$1/libbpf/usdt_count.bpf.o" || return 1
    gcc -O2 -static -no-pie -I"$source/include" -I"$libbpf/include" "$here/usdt_loader.c" "$here/usdt_sites.S" "$libbpf/libbpf.a" \
        -lelf -lz -o "$1/libbpf/usdt_loader" || return 1
}

# initramfs ARCH: made once per architecture; prints the file's name.
initramfs() {
    local root=$work/root.$1 file=$work/initramfs.$1
    if [ ! -e "$file" ]; then
        mkdir -p "$root/bin"
        $(guest_compiler "$1") "$here/guest-init.c" -o "$root/init"
        cp "$work/patterns" "$root/patterns"
        if [ "$1" = amd64 ]; then
            $(guest_compiler amd64) "$here/oracle.c" -o "$root/bin/oracle"
            $(guest_compiler i386) "$here/oracle.c" -o "$root/bin/oracle32"
            $(guest_compiler amd64) "$here/entry.c" -o "$root/bin/entry"
            $(guest_compiler i386) "$here/entry.c" -o "$root/bin/entry32"
            printf '%s\n' "x86_64 /patterns /bin/oracle x86_64" "i386 /patterns /bin/oracle32 i386" \
                "entry /dev/null /bin/entry" "entry /dev/null /bin/entry32" >"$root/commands"
            add_layouts "$root" >>"$root/commands"
            if add_libbpf "$root" >"$work/libbpf.log" 2>&1; then
                echo "libbpf /dev/null /libbpf/usdt_loader /libbpf/usdt_count.bpf.o" >>"$root/commands"
            else
                echo "libbpf's attach is not checked: $(tail -n 1 "$work/libbpf.log")" >&2
            fi
        else
            $(guest_compiler "$1") "$here/oracle.c" -o "$root/bin/oracle"
            echo "$(guest_model "$1") /patterns /bin/oracle $(guest_model "$1")" >"$root/commands"
            if [ "$1" = arm64 ]; then
                $(guest_compiler arm64) "$here/entry.c" -o "$root/bin/entry"
                echo "entry /dev/null /bin/entry" >>"$root/commands"
            fi
            add_layouts_cross "$1" "$root" >>"$root/commands"
        fi
        guest_pack "$root" "$file"
    fi
    echo "$file"
}

results=() missing=() failed=() reason=
for kernel in "${kernels[@]}"; do
    arch=amd64 series=$kernel
    case $kernel in */*) arch=${kernel%%/*} series=${kernel#*/} ;; esac
    case $arch in
    amd64 | arm64 | armhf | riscv64 | s390x | ppc64el) ;;
    loong64) guest_loong64 "$cache" || { reason="no loong64"; missing+=("$kernel (fetch-loong64.sh failed)"); continue; } ;;
    *) echo "run-matrix.sh: unknown architecture in $kernel" >&2; exit 2 ;;
    esac
    compiler=$(guest_cc "$arch")
    for tool in "$(guest_qemu "$arch")" "${compiler%% *}"; do
        command -v "$tool" >/dev/null || { reason="$tool is not installed"; missing+=("$kernel ($reason)"); continue 2; }
    done
    if ! dir=$("$here/fetch-kernel.sh" "$arch" "$series" "$cache" 2>"$work/fetch.err"); then
        reason=$(tail -n 1 "$work/fetch.err")
        missing+=("$kernel ($reason)")
        continue
    fi
    image=$(initramfs "$arch")
    # What kernel/build.sh adds for its own kernels: a second archive behind the first.
    [ ! -e "$dir/more.cpio.gz" ] || { cat "$image" "$dir/more.cpio.gz" >"$work/image" && image=$work/image; }
    started=$SECONDS
    name=$arch-$series
    [ -z "$console" ] || rm -f "$console/$name.console"
    # A guest that stops is booted once more, and this is said: on a busy machine a guest may be too slow to boot at all.
    for try in first second; do
        guest_boot "$arch" "$dir/vmlinuz" "$image" "${FASTSDT_GUEST_SECONDS:-700}" >"$work/console" || true
        [ -z "$console" ] || cat "$work/console" >>"$console/$name.console"
        if "$oracle" record --package "$(cat "$dir/package")" "$work/patterns" \
            "$work/console" >"$work/$name.json" 2>"$work/record.err"; then break; fi
        if [ $try = second ]; then
            tail -n 30 "$work/console" >&2
            cat "$work/record.err" >&2
            echo "run-matrix.sh: $kernel gave no complete answer; the end of its console is above" >&2
            failed+=("$kernel")
            continue 2
        fi
        echo "$kernel: stopped after \"$(tail -n 1 "$work/console" | tr -d '\r')\"; booted once more"
    done
    echo "$kernel: asked in $((SECONDS - started)) s ($(cat "$dir/package"))"
    results+=("$work/$name.json")
    [ "$record" = no ] || cp "$work/$name.json" "$here/results/"
done
for kernel in "${missing[@]}"; do
    echo "not asked: $kernel"
done
if [ ${#results[@]}${#failed[@]} = 00 ]; then
    echo "SKIP: no kernel could be fetched or booted: $reason"
    exit 77
fi
status=0
"$oracle" compare "${results[@]}" || status=$?
[ ${#failed[@]} = 0 ] || { echo "no complete answer: ${failed[*]}"; status=2; }
exit "$status"
