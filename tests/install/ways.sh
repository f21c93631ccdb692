#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Every way of docs/install.md, as it stands there: it builds a program, whose site is ours although systemtap's header may be
# installed. Argument: the title of one section; none: all of those that need no program beyond what a build needs.
. "$FASTSDT_SOURCE/tests/common.sh"
need cmake python3 pkg-config readelf cc make
unset CC CFLAGS CPPFLAGS LDFLAGS DESTDIR CMAKE_PREFIX_PATH
export FASTSDT=$PWD/source PREFIX=$PWD/prefix
rm -rf ways prefix source
mkdir source # as a tarball has it: FetchContent copies the folder, and a build would come along
tar -C "$FASTSDT_SOURCE" --exclude=./build --exclude=./.git -c . | tar -C source -x
python3 "$FASTSDT_SOURCE/tests/install/ways.py" "$FASTSDT_SOURCE/docs/install.md" ways

run() { # FOLDER
    local title
    title=$(cat "$1/title")
    (cd "$1" && sh run.sh >log 2>&1) || fail "$title: $(tail -n 5 "$1/log")"
    find "$1" -name app -type f -perm -u+x >found
    [ "$(wc -l <found)" = 1 ] || fail "$title: no program was built: $(tail -n 5 "$1/log")"
    "$(cat found)" || fail "$title: the program fails"
    readelf -nW "$(cat found)" >notes
    expect "$title: the probe" "$(sed -n 's/^ *Name: //p' notes)" start
    grep -q '^  fastsdt ' notes || fail "$title: the site is another header's: $(cat notes)"
    case $title in *CMake*) # nothing but the headers came along
        cmake --build "$1/build" --target help | matches -iE 'Nightly|Continuous|fastprobe|fastsdt-check' && fail "$title: foreign targets" ;;
    esac
    echo "ok: $title"
}
run ways/01 # installs
export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$PREFIX" -name fastsdt.pc)")
[ "$PKG_CONFIG_PATH" != . ] || fail "fastsdt.pc was not installed"
find "$PREFIX" -name '*.h' -printf '%P\n' | sort >installed
expect "drop-ins are installed apart" "$(grep -E '^include/(sys/|usdt)' installed)" ""
tried=0
for way in ways/??; do
    case ${1:-}:$(cat "$way/title") in
    :From*) continue ;;
    :Meson | :Autotools | :Rust*) continue ;;
    :*) ;;
    "$(cat "$way/title"):"*) ;;
    *) continue ;;
    esac
    case $(cat "$way/title") in
    Meson) need meson ninja ;;
    Autotools) need autoreconf automake aclocal ;;
    Rust*)
        need cargo rustc
        [ -n "$(find /usr/share/cargo/registry -maxdepth 1 -name 'cc-1*' 2>/dev/null)" ] || skip "the cc crate is not installed (librust-cc-dev)"
        export CARGO_HOME=$PWD/cargo
        ;;
    esac
    run "$way"
    tried=$((tried + 1))
done
# What was installed first is removed, and nothing else is left of it.
(cd ways/01 && cmake --build build --target uninstall) >uninstall.log 2>&1 || fail "uninstall: $(cat uninstall.log)"
expect "files after uninstall" "$(find "$PREFIX" ! -type d)" ""
expect "folders of ours after uninstall" "$(find "$PREFIX" -path '*/fastsdt*')" ""
[ "$tried" != 0 ] || fail "docs/install.md has no section '${1:-}'"
