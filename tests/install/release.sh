#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# scripts/release.sh makes what it says of a tag, and refuses where versions differ; install.sh installs the static file of this machine, or nothing.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/static/common.sh"
need git sha256sum python3
version=$(sed -n 's/^#define FASTSDT_VERSION_STRING "\(.*\)"$/\1/p' "$FASTSDT_SOURCE/include/fastsdt.h")
rm -rf checkout from to busybox port alone.sh
git clone -q "$FASTSDT_SOURCE" checkout
refused() { # what it says
    if checkout/scripts/release.sh source >log 2>&1; then fail "release.sh does not say: $1"; fi
    expect "refused" "$(cat log)" "release.sh: $1"
}
git -C checkout tag -d "v$version" >/dev/null 2>&1 || true
refused "there is no tag v$version: tag the commit, or give --snapshot"
# What a step needs is missed before the first of them.
mkdir -p few
for program in dirname sed git python3 sha256sum uname; do ln -sf "$(command -v "$program")" few/; done
other=x86_64
[ "$(uname -m)" != x86_64 ] || other=aarch64
if PATH=$PWD/few checkout/scripts/release.sh >log 2>&1; then fail "it needs no compiler for the other architecture"; fi
expect "refused" "$(cat log)" "release.sh: $other-linux-gnu-g++ is not installed: scripts/install-deps.sh package"
sed -i 's/^version = .*/version = "9.9.9"/' checkout/rust/trace/Cargo.toml
git -C checkout -c user.name=test -c user.email=test@test.invalid commit -qam "Another version"
git -C checkout tag "v$version"
refused "rust/trace/Cargo.toml has another version than include/fastsdt.h, $version"
# What is released is the tag: this folder may have something newer.
git -C checkout tag -f "v$version" HEAD~1 >/dev/null
if ! python3 -c "import ensurepip" 2>/dev/null; then
    echo "no release: python3 makes no virtual environment"
elif checkout/scripts/release.sh source >log 2>&1; then
    out=checkout/build/release/fastsdt-$version
    (cd "$out" && sha256sum --quiet -c SHA256SUMS) || fail "SHA256SUMS"
    expect "files" "$(cd "$out" && echo *)" "RELEASE_NOTES.md SHA256SUMS fastsdt-$version.tar.gz install.sh sbom.spdx.json"
    expect "notes" "$(sed 1q "$out/RELEASE_NOTES.md")" "$(sed -n "/^## $version/,/^- /p" "$FASTSDT_SOURCE/CHANGELOG.md" | sed -n 3p)"
    sum=$(sha256sum "$out/fastsdt-$version.tar.gz")
    python3 - "$out/sbom.spdx.json" "${sum%% *}" <<'END'
import json, sys
files = {f["fileName"]: {c["algorithm"]: c["checksumValue"] for c in f["checksums"]} for f in json.load(open(sys.argv[1]))["files"]}
assert [sums["SHA256"] for name, sums in files.items() if name.endswith(".tar.gz")] == [sys.argv[2]], files
END
else
    grep -q 'pip.log' log || fail "release.sh: $(tail -n 20 log)"
    echo "no release: the package index cannot be reached"
fi

static_file
mkdir from
cp fastsdt "from/fastsdt-$version-x86_64"
"$FASTSDT_SOURCE/packaging/installer.sh" from
sh -n from/install.sh
install() { env -i HOME="$PWD/home" PATH=/usr/bin:/bin "${shell:-sh}" "$@"; }
install from/install.sh -d "$PWD/to" 2>said
expect "says" "$(cat said)" "install.sh: fastsdt $version is in $PWD/to
install.sh: your PATH does not have $PWD/to: export PATH=\"$PWD/to:\$PATH\""
expect "installs" "$(cd to && echo *)" "fastsdt fastsdt-check fastsdt-dtrace fastsdt-index fastsdt-probe fastsdt-trace"
expect "works" "$(to/fastsdt-trace --version)" "fastsdt-trace $version"
install from/install.sh -d "$PWD/to" 2>said # again: an update
expect "an update" "$(cmp to/fastsdt fastsdt && ls -A to | wc -l)" 6
# A file that is not the release's, and one that is not there: what was installed stays, and nothing else is left.
before=$(ls -lA to)
printf x >>"from/fastsdt-$version-x86_64"
if install from/install.sh -d "$PWD/to" 2>said; then fail "it installs another file"; fi
grep -q "is not the file of the release" said || fail "$(cat said)"
if install from/install.sh -d "$PWD/to" -f http://127.0.0.1:1 2>said; then fail "it installs what it cannot get"; fi
grep -q "cannot get http://127.0.0.1:1/fastsdt-$version-x86_64\|neither curl nor wget" said || fail "$(cat said)"
expect "what was installed" "$(ls -lA to)" "$before"
# From an address.
cp fastsdt "from/fastsdt-$version-x86_64"
if have curl || have wget; then
    mkfifo port
    python3 -c 'import functools, http.server
with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(http.server.SimpleHTTPRequestHandler, directory="from")) as server:
    open("port", "w").write(f"{server.server_port}\n")
    server.serve_forever()' 2>/dev/null &
    server=$!
    trap 'kill $server' EXIT
    read -r port <port
    cp from/install.sh alone.sh
    install alone.sh -d "$PWD/to" -f "http://127.0.0.1:$port" || fail "from an address"
fi
if have busybox; then
    mkdir busybox
    busybox --install -s busybox
    env -i PATH="$PWD/busybox" busybox sh from/install.sh -d "$PWD/to" || fail "with busybox alone"
fi
