#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Makes the source tarball and the packages of HEAD in build/package/out, by what is in packaging/, and proves them. Names choose: debian, rpm,
# conan; without one all are made.
#
#     package.sh [--source | --build] [debian] [rpm] [conan]
#
# debian  a source package and its binary packages; built twice, in different places: the same bytes. lintian finds nothing. Then, in bare roots of
#         this release, autopkgtest runs the tests of packaging/debian/tests, and piuparts installs, removes and purges
# rpm     by rpmbuild; rpmlint finds nothing. Then they are installed, used and erased in a root that rpm has made
# conan   by conan itself, from PyPI: created, and used by a project
#
# --source: only the source packages, and lintian and rpmlint of these. --build: no roots. FASTSDT_MAINTAINER="NAME <ADDRESS>": who publishes them.
# Wants root, and what `scripts/install-deps.sh package` installs.
set -euo pipefail
cd "$(dirname "$0")/.."
top=$PWD kinds=() until=proof
while [ $# -gt 0 ]; do
    case $1 in
    --source | --build) until=${1#--} ;;
    debian | rpm | conan) kinds+=("$1") ;;
    *) sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
    shift
done
[ ${#kinds[@]} -gt 0 ] || kinds=(debian rpm conan)
fail() { echo "package.sh: $*" >&2; exit 1; }
needs() {
    local program
    for program in "$@"; do command -v "$program" >/dev/null || fail "$program is not installed: scripts/install-deps.sh package"; done
}
# logged NAME COMMAND...: its output is build/package/NAME.log.
logged() {
    local name=$1 log=$work/$1.log
    shift
    "$@" >"$log" 2>&1 </dev/null || { tail -n 20 "$log" >&2; fail "$name failed; all of it: $log"; }
}
version=$(sed -n 's/^#define FASTSDT_VERSION_STRING "\(.*\)"$/\1/p' include/fastsdt.h)
url=$(sed -n 's/^ *HOMEPAGE_URL "\(.*\)").*/\1/p' CMakeLists.txt)
maintainer=${FASTSDT_MAINTAINER:-fastsdt maintainers <maintainers@fastsdt.invalid>}
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
work=$top/build/package out=$top/build/package/out tree=fastsdt-$version
rm -rf --one-file-system "$work"
mkdir -p "$out"
roots=()
trap '[ ${#roots[@]} = 0 ] || rm -rf --one-file-system "${roots[@]}"' EXIT
# bare_root NAME: sets root to a new bare root of this release.
bare_root() {
    [ "$(id -u)" = 0 ] || fail "making a root needs root"
    root=$work/$1
    roots+=("$root")
    scripts/common/make-root.sh "$release" "$root"
}
# beside ROOT COMMAND...: runs it with what programs expect mounted in ROOT. inside ROOT COMMAND...: and within it.
beside() {
    unshare --mount --propagation private sh -c 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec "$@"' "$@" </dev/null
}
inside() {
    beside "$1" chroot "$1" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "${@:2}"
}
# The time of the commit is the time of everything.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH LC_ALL=C.UTF-8
umask 022
git archive --format=tar --prefix="$tree/" HEAD | gzip -9n >"$out/$tree.tar.gz"
# fill FOLDER: what packaging/ leaves to this script.
fill() {
    find "$1" -type f -exec sed -i -e "s|@URL@|$url|g; s|@VERSION@|$version|g; s|@MAINTAINER@|$maintainer|g" \
        -e "s|@DATE@|$(date -u -R -d "@$SOURCE_DATE_EPOCH")|g; s|@RPM_DATE@|$(date -u -d "@$SOURCE_DATE_EPOCH" '+%a %b %d %Y')|g" {} +
}
for kind in "${kinds[@]}"; do
    # shellcheck source=/dev/null
    . "packaging/$kind.sh"
done
echo "ok: fastsdt $version, in build/package/out"
