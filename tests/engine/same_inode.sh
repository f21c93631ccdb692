#!/bin/bash
# A program and its library have one inode number, on two file systems. The process's user, whose tracer finds files by name, sees each as what it is:
# sites, the constants that they pass, and the names of their functions.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv unshare
need_attachable
[ "$(id -u)" = 0 ] || skip "mounting file systems needs root"
if [ "${1:-}" != inside ]; then
    unshare -m true 2>/dev/null || skip "no mount namespaces here"
    exec unshare -m bash "$0" inside
fi
user_folder
mkdir program library
mount -t tmpfs none program 2>/dev/null || skip "tmpfs cannot be mounted"
mount -t tmpfs none library
trap 'umount -l program library; leave_user_folder' EXIT
cat >lib.c <<'END'
#include <fastsdt.h>
static const char in_library[] = "a constant of the library";
void of_library(void) { FASTSDT(lib, hit, in_library); __asm__ volatile(""); }
END
cat >main.c <<'END'
#include <fastsdt.h>
#include <stdio.h>
void of_library(void);
static const char in_program[] = "a constant of the program";
__attribute__((noinline)) void of_program(void) { FASTSDT(prog, hit, in_program); of_library(); __asm__ volatile(""); }
int main(void)
{
    char line[16];
    while (fgets(line, sizeof line, stdin)) {
        of_program();
        puts("did");
        fflush(stdout);
    }
    return 0;
}
END
gcc -O2 -fno-omit-frame-pointer -fPIC -shared -Wl,-soname,lib.so -I"$INCLUDE" lib.c -o lib.so
gcc -O2 -fno-omit-frame-pointer -rdynamic -I"$INCLUDE" main.c lib.so -Wl,-rpath,"$PWD/library" -o main
cp main program && cp lib.so library
expect "inodes" "$(stat -c %i program/main)" "$(stat -c %i library/lib.so)"
driven program/main
"${as_user[@]}" fastsdt-trace --engine user --interval 0.02 -p $pid \
    -e 'usdt:*:lib:hit { @[str(arg0), ustack(2)] = count(); } usdt:*:prog:hit { @[str(arg0), ustack(2)] = count(); }' >out 2>err 3>&- 4<&- &
tracer=$!
until grep -qx 'sites 2 of 2 armed; dropped 0' out; do kill -0 $tracer || fail "$(cat out err)"; done
did
kill -INT $tracer
wait $tracer || fail "$(cat out err)"
expect "what was hit" "$(tac out | sed '/^sites/{1!Q}' | tac | grep -v '^sites' | sed 's/+[0-9]*//' | xargs)" \
    "@[a constant of the library, of_library main ]: 1 @[a constant of the program, of_program main ]: 1"
exec 3>&- 4<&-
wait $pid || fail "the program failed"
