# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Sourced by scripts/package.sh: Debian's packages.
needs dpkg-buildpackage dh lintian
# dpkg-shlibdeps asks libraries in the order of a hash, and leaves out one whose symbols others have too.
export PERL_HASH_SEED=0 PERL_PERTURB_KEYS=0
look() {
    # Nobody has asked for the package, so there is no bug to close.
    lintian --allow-root --pedantic --fail-on error,warning,info,pedantic --suppress-tags initial-upload-closes-no-bugs "$@" ||
        fail "lintian finds something"
}
echo "== Debian: the source package"
mkdir -p "$work/source" "$work/one" "$work/two/deeper"
cp "$out/$tree.tar.gz" "$work/source/fastsdt_$version.orig.tar.gz"
tar -C "$work/source" -xf "$out/$tree.tar.gz"
cp -r packaging/debian "$work/source/$tree/debian"
fill "$work/source/$tree/debian"
(cd "$work/source/$tree" && logged source dpkg-source -b .)
cp "$work"/source/fastsdt_* "$out/"
look "$out"/*.dsc
if [ $until != source ]; then
    build_debs() { # DIR
        rm -rf "${1:?}/$tree"
        dpkg-source -x "$out"/fastsdt_*.dsc "$1/$tree" >"$1.log" 2>&1 || fail "dpkg-source: $(tail -n 3 "$1.log")"
        (cd "$1/$tree" && DEB_BUILD_OPTIONS="parallel=$(nproc)" dpkg-buildpackage -us -uc -b) >>"$1.log" 2>&1 ||
            { tail -n 20 "$1.log" >&2; fail "dpkg-buildpackage failed; all of it: $1.log"; }
        rm -rf "${1:?}/$tree"
    }
    echo "== Debian: the packages"
    build_debs "$work/one"
    mv "$work"/one/*.deb "$out/"
    ls -l "$out"/*.deb | awk '{print $5, $9}'
    look "$out"/*.deb
    echo "== Debian: built again, elsewhere"
    # A compiler cache would hide differences between the two builds.
    CCACHE_DISABLE=1 build_debs "$work/two/deeper"
    for package in "$out"/*.deb; do
        cmp "$package" "$work/two/deeper/$(basename "$package")" || fail "$(basename "$package") is not reproducible"
    done
    echo "the same bytes: $(find "$out" -name '*.deb' | wc -l) packages"
fi
if [ $until = proof ]; then
    needs autopkgtest piuparts
    echo "== Debian: autopkgtest, in a bare root of $release"
    bare_root root
    logged autopkgtest beside "$root" autopkgtest --no-built-binaries "$out"/*.deb "$out"/fastsdt_*.dsc -- chroot "$root"
    sed -n '/ summary$/,$p' "$work/autopkgtest.log"
    echo "== Debian: piuparts, in another"
    bare_root second
    logged piuparts piuparts --existing-chroot "$root" --no-eatmydata --no-upgrade-test --distribution "$release" "$out"/*.deb
    sed -n 's/.*INFO: \(PASS: .*\)/piuparts: \1/p' "$work/piuparts.log"
fi
