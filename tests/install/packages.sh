#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# scripts/package.sh, of the last commit: by default the source packages, which lintian and rpmlint look at. What the packages do is tested there.
. "$FASTSDT_SOURCE/tests/common.sh"
need dpkg-buildpackage dh lintian rpmbuild rpmlint git
rm -rf checkout
git clone -q "$FASTSDT_SOURCE" checkout
checkout/scripts/package.sh "$@" >log 2>&1 || fail "package.sh $*: $(tail -n 20 log)"
cd checkout/build/package/out
version=$(sed -n 's/^#define FASTSDT_VERSION_STRING "\(.*\)"$/\1/p' "$FASTSDT_SOURCE/include/fastsdt.h")
case ${1:-} in
--source)
    # Nothing of packaging/ is left to be filled in, and a stranger's tools read both.
    mkdir debian rpm
    dpkg-source -x "fastsdt_$version-1.dsc" debian/source >/dev/null
    rpm2cpio fastsdt-"$version"-1*.src.rpm | (cd rpm && cpio -id --quiet)
    expect "placeholders" "$(grep -rnE '@[A-Z_]+@' debian/source/debian rpm/*.spec | grep -v '/watch:')" ""
    expect "Debian's version" "$(cd debian/source && dpkg-parsechangelog -S Version)" "$version-1"
    expect "the tarball" "$(tar -tzf "fastsdt-$version.tar.gz" | sed 's|^fastsdt-[^/]*/||; /^$/d; /\/$/d' | sort)" \
        "$(git -C "$FASTSDT_SOURCE" ls-files | sort)"
    ;;
esac
