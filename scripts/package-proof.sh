#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What package.sh runs in a bare root: installs, uses, upgrades and removes the packages in /packages. Argument: the version.
set -eu
version=$1
cd /packages
fail() { echo "FAIL: $*" >&2; exit 1; }
apt() { apt-get -y -qq --no-install-recommends "$@" >log 2>&1 || { tail -n 15 log >&2; fail "apt-get $*"; }; }
ours() { readelf -nW "$1" | grep -c '^  fastsdt ' || true; }
plain() { find / -xdev -path /packages -prune -o -path /proc -prune -o \( -iname '*fastsdt*' -o -iname '*fastprobe*' \) -print; }
cat >app.c <<'C'
#include <sys/sdt.h>
int main(void) { DTRACE_PROBE(app, start); return 0; }
C
[ -z "$(plain)" ] || fail "the root has files of ours: $(plain)"
apt update
apt install gcc libc6-dev binutils pkg-config make cmake systemtap-sdt-dev

echo "libfastsdt-dev beside systemtap-sdt-dev"
apt install ./old/libfastsdt-dev_*.deb
gcc app.c -o app
[ "$(ours app)" = 0 ] || fail "sys/sdt.h is ours without being asked for"
# shellcheck disable=SC2046 # flags
gcc $(pkg-config --cflags fastsdt-compat) app.c -o app
[ "$(ours app)" = 1 ] || fail "fastsdt-compat does not come first"
printf '#include <fastsdt.h>\nint main(void) { FASTSDT(app, start); return 0; }\n' >own.c
# shellcheck disable=SC2046
gcc $(pkg-config --cflags fastsdt) own.c -o own
[ "$(ours own)" = 1 ] || fail "fastsdt.h does not work"
mkdir -p project
cat >project/CMakeLists.txt <<'C'
cmake_minimum_required(VERSION 3.20)
project(app LANGUAGES C)
find_package(fastsdt REQUIRED)
add_executable(app ../app.c)
target_link_libraries(app PRIVATE fastsdt::compat)
if(TARGET fastsdt::fastsdt-check)
  fastsdt_target(app CHECK INDEX)
endif()
C
build() { rm -rf project/build; { cmake -S project -B project/build && cmake --build project/build; } >log 2>&1 || { cat log >&2; fail "a CMake project"; }; }
build
[ "$(ours project/build/app)" = 1 ] || fail "CMake: the header is not ours"

echo "fastsdt-tools, plugins"
apt install ./old/fastsdt-tools_*.deb ./old/fastprobe-*.deb
fastsdt-check app >log || fail "fastsdt-check: $(cat log)"
for file in /lib/systemd/system/fastsdt-trace.service /usr/share/fastsdt/grafana/fastsdt.json /usr/share/doc/fastsdt-tools/fleet.md; do
    dpkg -L fastsdt-tools | grep -qxE "(/usr)?$file" || fail "fastsdt-tools is without $file, which serve needs"
done
build
for plugin in /usr/lib/*/fastsdt/*/fastprobe.so; do
    name=$(basename "$(dirname "$plugin")")
    case $name in *-aarch64) continue ;; esac
    cc=$(echo "$name" | sed 's/^llvm/clang/')
    "$cc" -O2 -fplugin="$plugin" -fplugin-arg-fastprobe-entry=auto app.c -I/usr/include/fastsdt/compat -o entry || fail "$name"
    [ "$(ours entry)" = 2 ] || fail "$name: no record of the entry"
    echo "  $name works"
done

echo "libfastsdt-trace"
apt install ./old/libfastsdt-trace0_*.deb ./old/libfastsdt-trace-dev_*.deb
cat >self.c <<'C'
#include <fastsdt/trace.h>
#include <sys/sdt.h>
#include <stdio.h>
int main(void)
{
    fastsdt_trace_error error;
    fastsdt_trace *self = fastsdt_trace_open(0, &error);
    fastsdt_trace_attachment *a = fastsdt_trace_attach(self, "usdt:*:app:start { @ = count(); }", &error);
    fastsdt_trace_maps *maps;
    DTRACE_PROBE(app, start);
    if (!(maps = fastsdt_trace_maps_read(a, &error)) || !fastsdt_trace_maps_entry(maps, 0, 0)) { puts(error.text); return 1; }
    return fastsdt_trace_maps_entry(maps, 0, 0)->value.number != 1;
}
C
# shellcheck disable=SC2046
gcc $(pkg-config --cflags fastsdt-compat) self.c -o self $(pkg-config --cflags --libs fastsdt-trace) && ./self || fail "libfastsdt-trace"

echo "fastsdt-sdt-dev instead of systemtap-sdt-dev"
apt install ./old/fastsdt-sdt-dev_*.deb
[ "$(dpkg-query -W -f '${db:Status-Status}' systemtap-sdt-dev 2>/dev/null)" != installed ] || fail "systemtap-sdt-dev stayed"
gcc app.c -o app
[ "$(ours app)" = 1 ] || fail "the system's sys/sdt.h is not ours"
printf 'provider app { probe start(); };\n' >app.d
dtrace -h -s app.d -o app.h
grep -q APP_START app.h || fail "dtrace -h: $(cat app.h)"
[ "$(apt-get -s install systemtap-sdt-dev | grep -c '^Remv fastsdt-sdt-dev')" = 1 ] || fail "going back is impossible"

echo "upgrade"
apt install ./new/*.deb
for package in new/*.deb; do
    name=$(dpkg-deb -f "$package" Package)
    [ "$(dpkg-query -W -f '${Version}' "$name")" = "$version+next" ] || fail "$name was not upgraded"
done
gcc app.c -o app && fastsdt-check app >log || fail "after the upgrade: $(cat log)"
build

echo "removal"
names=$(for package in new/*.deb; do dpkg-deb -f "$package" Package; done)
# shellcheck disable=SC2086 # a list
apt purge $names
[ -z "$(plain)" ] || fail "left behind: $(plain)"
[ ! -e /usr/bin/dtrace ] || fail "/usr/bin/dtrace was left behind"
echo "ok: installed, used, upgraded, removed"
