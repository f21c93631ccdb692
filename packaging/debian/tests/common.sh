# shellcheck shell=sh
# Sourced by the tests: a folder of their own, and a program with one probe.
set -eu
cd "$AUTOPKGTEST_TMP"
fail() { echo "FAIL: $*" >&2; exit 1; }
# layouts FILE: how many sites and entries of it have a note of ours.
layouts() { readelf -nW "$1" | grep -c '^  fastsdt ' || true; }
# records_entry COMPILER PLUGINS: the plugin for it, in the folder PLUGINS, records the entry of main(), and the record agrees with the bytes.
records_entry() {
    plugin=$(find /usr/lib /usr/lib64 -path "*/fastsdt/$2/fastprobe.so" 2>/dev/null)
    echo 'int main(void) { return 0; }' >entry.c
    "$1" -O2 -fplugin="$plugin" -fplugin-arg-fastprobe-entry=auto entry.c -o entry
    [ "$(layouts entry)" = 1 ] || fail "no record of the entry"
    fastsdt-check --functions entry
}
cat >app.c <<'C'
#include <sys/sdt.h>
int main(int argc, char **argv)
{
    DTRACE_PROBE2(app, start, argc, argv);
    return 0;
}
C
