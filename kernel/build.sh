#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Builds the kernel without and with the patches in kernel/patches, boots both under QEMU and compares them with the model:
#
#     kernel/build.sh [--record] x86|arm64
#
# The source is the newest package linux-source-* that the machine's Debian mirror has. What is built is the smallest kernel that the
# tests of tests/kernel need (config.common, config.x86, config.arm64), once as it is and once with the patches. Both answer the oracle,
# run the checks of entries, and count the instructions of a hit. The last table is the gain. --record: answers go to tests/kernel/results.
# Everything is kept in ${XDG_CACHE_HOME:-~/.cache}/fastsdt/linux and made anew when its inputs change.
# Exit: 0 both kernels are as the model says; 1 not; 2 something could not be built; 4 no source package.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/.." && pwd)
record=()
[ "${1:-}" != --record ] || { record=(--record); shift; }
case ${1:-} in
x86) arch=amd64 plugin_suffix= image=arch/x86/boot/bzImage make=(ARCH=x86) features=+endbr ;;
arm64) arch=arm64 plugin_suffix=-aarch64 image=arch/arm64/boot/Image make=(ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu-) features=+stp+bti ;;
*) sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
target=$1
cache=${XDG_CACHE_HOME:-$HOME/.cache}/fastsdt
linux=$cache/linux
started=$SECONDS
say() { printf '\n== %s (%d s)\n' "$1" $((SECONDS - started)); }
fail() { echo "build.sh: $2" >&2; exit "$1"; }

say "Packages"
"$top/scripts/install-deps.sh" kernel
mkdir -p "$linux"
exec 9>"$linux/lock"
flock 9

# The newest source, as SERIES VERSION PACKAGE.
debian() { "$top/scripts/common/debian.sh" all "$@"; }
mapfile -t names < <(debian apt-cache pkgnames linux-source-)
read -r series version package < <(debian apt-cache madison "${names[@]}" | awk -F' *[|] *' '{ sub(/^ */, "", $1); print substr($1, 14), $2, $1 }' |
    grep -E '^[0-9]+\.[0-9]+ ' | grep -v '~rc' | sort -k2,2V | tail -n 1) || true
[ -n "${package:-}" ] || fail 4 "the machine's mirror has no package linux-source-*"
say "$package $version"
plain=$linux/$version/plain patched=$linux/$version/patched
if [ ! -e "$plain/Makefile" ]; then
    rm -rf "${linux:?}/$version" && mkdir -p "$linux/$version"
    (cd "$linux/$version" && debian apt-get download "$package=$version" >download.log 2>&1) || fail 4 "$(tail -n 1 "$linux/$version/download.log")"
    mkdir "$plain.new"
    dpkg-deb --fsys-tarfile "$linux/$version"/*.deb | tar -xO --wildcards './usr/src/linux-source-*.tar.xz' |
        tar -xJ --strip-components=1 -C "$plain.new" || fail 2 "the source package cannot be unpacked"
    rm -f "$linux/$version"/*.deb
    mv "$plain.new" "$plain"
fi

say "The patches"
inputs=$(cat "$here"/patches/*.patch | sha256sum)
if [ "$(cat "$patched.inputs" 2>/dev/null)" != "$inputs" ]; then
    # Remove also what was built from it: a file that is no longer patched has its old date again, and make would keep
    # its object.
    rm -rf "$patched" "$linux/$version"/*-patched
    cp -al "$plain" "$patched" # patch replaces files: the links of the others stay
    for patch in "$here"/patches/[0-9]*.patch; do
        patch -d "$patched" -p1 --forward --no-backup-if-mismatch --fuzz=0 <"$patch" || fail 2 "$patch does not apply to $version"
    done
    echo "$inputs" >"$patched.inputs"
fi

# build NAME SOURCE FOLDER LOCALVERSION [PATCHES]: a kernel, compiled in FOLDER, for run-matrix.sh to find by NAME.
build() {
    local source=$2 out=$linux/$version/$target-$3 dir=$cache/kernels/$arch/$1 line
    say "Building $1"
    mkdir -p "$out" "$dir"
    { cat "$here/config.common" "$here/config.$target"; echo "CONFIG_LOCALVERSION=\"$4\""; } >"$out/wanted"
    make -s -C "$source" O="$out" "${make[@]}" KCONFIG_ALLCONFIG="$out/wanted" allnoconfig >"$out/log" 2>&1 || fail 2 "allnoconfig: see $out/log"
    while read -r line; do
        case $line in CONFIG_*) grep -qxF "$line" "$out/.config" || fail 2 "this source has no $line" ;; esac
    done <"$out/wanted"
    make -s -C "$source" O="$out" "${make[@]}" -j"$(nproc)" "${image##*/}" vmlinux modules_prepare >>"$out/log" 2>&1 ||
        { tail -n 20 "$out/log" >&2; fail 2 "$1 cannot be built"; }
    cp "$out/$image" "$dir/vmlinuz"
    echo "$package $version, kernel/config.$target${5:+, $5}" >"$dir/package"
}
build "$series-built" "$plain" plain -built ""
build "$series$features" "$patched" patched "-built$features" "kernel/patches"

say "fastsdt/recognize.h in a module, and the kernel's own tests"
. "$top/tests/kernel/guest.sh"
compile=$(guest_compiler "$arch")
out=$linux/$version/$target-patched more=$linux/$version/$target-more
rm -rf "$more" && mkdir -p "$more/plain/bin" "$more/patched/bin" "$more/recognize" "$more/libcap"
cp "$here/recognize.c" "$here/Kbuild" "$more/recognize/"
cp "$out/vmlinux.symvers" "$out/Module.symvers" # the kernel has no modules of its own
make -s -C "$patched" O="$out" "${make[@]}" M="$more/recognize" FASTSDT_INCLUDE="$top/include" modules >"$more/log" 2>&1 ||
    { tail -n 20 "$more/log" >&2; fail 2 "the module cannot be built"; }
$compile "$here/load.c" -o "$more/patched/bin/load"
cp "$more/recognize/recognize.ko" "$more/patched/"
echo "recognize /dev/null /bin/load /recognize.ko" >"$more/patched/commands.kernel"
# The kernel's selftests that attach uprobes and need only a C library and libcap. The others are shell scripts that
# need a whole system, or programs of the BPF test suite, which needs the kernel's type information.
make -s -C "$plain" O="$linux/$version/$target-plain" "${make[@]}" headers >>"$more/log" 2>&1 || fail 2 "no headers: see $more/log"
(cd "$more" && FASTSDT_ARCHS=$arch debian apt-get download "libcap-dev:$arch" >download.log 2>&1 && dpkg-deb -x libcap-dev_*.deb libcap) ||
    fail 4 "$(tail -n 1 "$more/download.log")"
selftest() { # NAME SOURCE... -- ARGUMENTS
    local name=$1 sources=() tests=$plain/tools/testing/selftests
    shift
    while [ "$1" != -- ]; do sources+=("$tests/$1"); shift; done
    shift
    $compile -D_GNU_SOURCE= -w -isystem "$linux/$version/$target-plain/usr/include" -I"$more/libcap/usr/include" -I"$tests" -I"$plain/tools/include" \
        "${sources[@]}" -o "$more/plain/bin/$name" -L"$(echo "$more"/libcap/usr/lib/*-linux-gnu)" -lcap >>"$more/log" 2>&1 ||
        { tail -n 20 "$more/log" >&2; fail 2 "the selftest $name cannot be built"; }
    cp "$more/plain/bin/$name" "$more/patched/bin/"
    echo "selftest /dev/null /bin/$name $*" | tee -a "$more/patched/commands.kernel" >>"$more/plain/commands.kernel"
}
selftest seccomp_bpf seccomp/seccomp_bpf.c -- -f UPROBE
selftest merge mm/merge.c mm/vm_util.c -- -t handle_uprobe_upon_merged_vma
guest_pack "$more/plain" "$cache/kernels/$arch/$series-built/more.cpio.gz"
guest_pack "$more/patched" "$cache/kernels/$arch/$series$features/more.cpio.gz"

say "fastsdt's oracle and plugin"
plugin=fastprobe-gcc-$($compile -dumpversion)$plugin_suffix # for the entries of layouts.sh
{ cmake -S "$top" -B "$top/build/kernel" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DFASTSDT_BENCHMARKS=OFF -DFASTSDT_TESTS=ON &&
    cmake --build "$top/build/kernel" --target kernel-oracle fastsdt-probe fastsdt-check "$plugin"; } >"$linux/cmake.log" 2>&1 ||
    { tail -n 20 "$linux/cmake.log" >&2; fail 2 "fastsdt cannot be built"; }

say "Both kernels, booted"
console=$linux/$version/console
mkdir -p "$console"
prefix=
[ "$arch" = amd64 ] || prefix=$arch/
status=0
# The guest's clock counts instructions, 1 ns each, so that a busy machine does not change the figures.
FASTSDT_GUEST_CLOCK=instructions FASTSDT_BUILD=$top/build/kernel "$top/tests/kernel/run-matrix.sh" "${record[@]}" --console "$console" \
    "$prefix$series-built" "$prefix$series$features" || status=$?
for name in "$series-built" "$series$features"; do
    [ -s "$console/$arch-$name.console" ] || fail 2 "$name was not booted"
    if grep -E 'BUG:|WARNING:|Oops|Unable to handle|Call trace:' "$console/$arch-$name.console" >&2; then status=1; fi
done

say "Instructions a hit takes, on emulated hardware"
# hits NAME: ENTRY<tab>INSTRUCTIONS of that kernel's guest
hits() {
    tr -d '\r' <"$console/$arch-$1.console" | sed -n 's/.*@entry ok \(.*\), called: .*; \([0-9]*\) ns a hit.*/\1\t\2/p' | sort -u -t$'\t' -k1,1
}
printf '%-14s %12s %12s %8s\n' entry "$series" "$series$features" times
join -t$'\t' <(hits "$series-built") <(hits "$series$features") |
    awk -F'\t' '{ printf "%-14s %12d %12d %8.2f\n", $1, $2, $3, $2 / $3 }'
exit $status
