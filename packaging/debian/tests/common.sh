# shellcheck shell=sh
# Sourced by the tests: a folder of their own, and a program with one probe.
set -eu
cd "$AUTOPKGTEST_TMP"
fail() { echo "FAIL: $*" >&2; exit 1; }
# layouts FILE: how many sites and entries of it have a note of ours.
layouts() { readelf -nW "$1" | grep -c '^  fastsdt ' || true; }
cat >app.c <<'C'
#include <sys/sdt.h>
int main(int argc, char **argv)
{
    DTRACE_PROBE2(app, start, argc, argv);
    return 0;
}
C
