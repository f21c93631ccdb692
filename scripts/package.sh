#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Makes the source tarball and the Debian packages of HEAD in build/package/out, and proves them: built twice in different places
# they are the same bytes, lintian finds no error, and in a minimal root of this release (make-root.sh) they are installed, used,
# upgraded and removed. `package.sh --build` leaves the root out. Further arguments go to CMake, e.g. -DFASTSDT_GCCS=gcc-12.
# Needs root, and what scripts/install-deps.sh installs.
set -euo pipefail
cd "$(dirname "$0")/.."
top=$PWD prove=1
if [ "${1:-}" = --build ]; then prove=; shift; fi
case ${1:-} in "" | -D*) ;; *) sed -n '3,6s/^# //p' "$0" >&2; exit 2 ;; esac
fail() { echo "package.sh: $*" >&2; exit 1; }
for program in cmake cpack dpkg-shlibdeps fakeroot git lintian scdoc; do
    command -v $program >/dev/null || fail "$program is not installed"
done
version=$(sed -n 's/^#define FASTSDT_VERSION_STRING "\(.*\)"$/\1/p' include/fastsdt.h)
work=$top/build/package out=$top/build/package/out
rm -rf "$work"
mkdir -p "$out"
# The time of the commit is the time of everything.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH LC_ALL=C.UTF-8
# dpkg-shlibdeps asks libraries in the order of a hash, and leaves out one whose symbols others have too.
export PERL_HASH_SEED=0 PERL_PERTURB_KEYS=0
umask 022
git archive --format=tar --prefix="fastsdt-$version/" HEAD | gzip -9n >"$out/fastsdt-$version.tar.gz"

# build DIR VERSION OPTIONS...: packages in DIR/packages, from the tarball.
build() {
    local dir=$1 package=$2
    shift 2
    mkdir -p "$dir"
    [ -e "$dir/fastsdt-$version" ] || tar -C "$dir" -xf "$out/fastsdt-$version.tar.gz"
    rm -rf "$dir/packages" "$dir/build/_CPack_Packages"
    {
        cmake -S "$dir/fastsdt-$version" -B "$dir/build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_INSTALL_PREFIX=/usr \
            -DCMAKE_C_FLAGS="-ffile-prefix-map=$dir=." -DCMAKE_CXX_FLAGS="-ffile-prefix-map=$dir=. -fstack-protector-strong -D_FORTIFY_SOURCE=2" \
            -DCMAKE_EXE_LINKER_FLAGS=-Wl,-z,relro,-z,now -DCMAKE_MODULE_LINKER_FLAGS=-Wl,-z,relro -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
            -DFASTSDT_PACKAGES=ON -DFASTSDT_PACKAGE_VERSION="$package" -DFASTSDT_TOOLS=ON -DFASTSDT_PLUGINS=ON -DFASTSDT_MAN=ON \
            -DFASTSDT_TESTS=OFF -DFASTSDT_BENCHMARKS=OFF -DFASTSDT_EXAMPLES=OFF "$@" &&
            cmake --build "$dir/build" &&
            (cd "$dir/build" && cpack -G DEB -B "$dir/packages")
    } >"$dir.log" 2>&1 || { tail -n 15 "$dir.log" >&2; fail "building failed: $dir.log"; }
    rm -rf "$dir/packages/_CPack_Packages"
}
echo "== Building fastsdt $version"
build "$work/one" "$version" "$@"
mv "$work"/one/packages/*.deb "$out/"
ls -l "$out" | awk 'NR > 1 {print $5, $9}'
echo "== Building it again, elsewhere"
# A compiler cache would hide differences between the two builds.
CCACHE_DISABLE=1 build "$work/two/deeper" "$version" "$@"
for package in "$out"/*.deb; do
    cmp "$package" "$work/two/deeper/packages/$(basename "$package")" || fail "$(basename "$package") is not reproducible"
done
echo "the same bytes: $(find "$out" -name '*.deb' | wc -l) packages"
echo "== lintian"
lintian --allow-root --fail-on error --display-level '>=warning' "$out"/*.deb || fail "lintian finds errors"
[ -n "$prove" ] || exit 0

echo "== In a bare root"
[ "$(id -u)" = 0 ] || fail "making the bare root needs root"
# The next version, for the upgrade: the same files.
build "$work/two/deeper" "$version+next" "$@"
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
root=$work/root
trap 'rm -rf --one-file-system "$root"' EXIT
scripts/make-root.sh "$release" "$root"
mkdir -p "$root/packages/old" "$root/packages/new"
cp "$out"/*.deb "$root/packages/old/"
cp "$work"/two/deeper/packages/*.deb "$root/packages/new/"
cp scripts/package-proof.sh "$root/packages/"
unshare --mount --propagation private sh -c '
    mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" env -i HOME=/root \
        PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive sh /packages/package-proof.sh "$1"' "$root" "$version" </dev/null
echo "ok: fastsdt $version, packages in build/package/out"
