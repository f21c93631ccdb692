#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A process whose program and library have one inode number, on two file systems: each is read as what it is, by root, who opens what is
# mapped, and by the process's user, who finds files by name.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc fastsdt-check setpriv unshare
[ "$(id -u)" = 0 ] || skip "mounting file systems needs root"
if [ "${1:-}" != inside ]; then
    unshare -m true 2>/dev/null || skip "no mount namespaces here"
    exec unshare -m bash "$0" inside
fi
work=$(mktemp -d /tmp/fastsdt-inode.XXXXXX) # where another user can go
mkdir "$work/program" "$work/library"
chmod 755 "$work"
mount -t tmpfs none "$work/program" 2>/dev/null || skip "tmpfs cannot be mounted"
mount -t tmpfs none "$work/library"
process=
trap '[ -z "$process" ] || { kill $process; wait $process || true; }; umount "$work/program" "$work/library"; rm -rf "$work"' EXIT
printf '#include <fastsdt.h>\nvoid f(int x) { FASTSDT(lib, inlib, x); }\n' >lib.c
cat >main.c <<'C'
#include <fastsdt.h>
#include <unistd.h>
void f(int);
int main(int c, char **v) { FASTSDT(prog, inmain, c); f(c); write(1, "\n", 1); for (;;) pause(); }
C
gcc -O2 -fPIC -shared -Wl,-soname,lib.so -I"$INCLUDE" lib.c -o lib.so
gcc -O2 -w -I"$INCLUDE" main.c lib.so -Wl,-rpath,"$work/library" -o main
cp main "$work/program/" && cp lib.so "$work/library/"
expect "inodes" "$(stat -c %i "$work/program/main")" "$(stat -c %i "$work/library/lib.so")"
user="setpriv --reuid=65534 --regid=65534 --clear-groups"
mkfifo "$work/ready"
$user "$work/program/main" >"$work/ready" &
process=$!
read -r _ <"$work/ready"
cp "$(command -v fastsdt-check)" "$work/" && chmod 755 "$work/fastsdt-check" # where the user can execute it
for who in "" "$user"; do
    $who "$work/fastsdt-check" --pid $process >out 2>err || fail "${who:-root}: $(cat err)"
    expect "${who:-root}" "$(sed -n 's/^  \([a-z]*:[a-z]*\) .* \([a-z]*\)$/\1 \2/p' out)" "prog:inmain untouched
lib:inlib untouched"
done
