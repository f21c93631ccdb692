#!/bin/bash
# A library that comes and goes has its functions once, those too that cannot be armed. What is mapped and not executable yet is not there.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv
need_attachable
user_folder
cat >library.c <<'END'
int work(int n) { __asm__ volatile(""); return 3 * n + 1; }
__asm__(".globl turns\n.type turns, @function\nturns: .cfi_startproc\ndec %edi\njnz turns\nret\n.cfi_endproc\n.size turns, . - turns");
END
gcc -O2 -shared -fPIC library.c -o reloaded.so
gcc -O2 -Wall -Wextra -Werror "$FASTSDT_SOURCE/tests/engine/reloaded.c" -o reloaded
do_one() { # LINE ANSWER
    echo "$1" >&3
    read -r did <&4 || did="no answer"
    expect "$1" "$did" "$2"
}
# sites LINES...: runs it so, until it has answered. Leaves the last line of the report, and its status.
sites() {
    local line
    rm -f in answers report
    driven ./reloaded
    attach 'uprobe:./reloaded.so:work, uprobe:./reloaded.so:t* { @[func] = count(); } uprobe:./reloaded:main { @main = count(); }'
    for line in "$@"; do do_one "$line" "$line $([ "$line" = n ] && echo 0 || echo 10)"; done
    kill -INT $tracer
    report
    exec 3>&-
    wait "$pid" || fail "the program failed"
    last=$(grep '^sites' maps)
}
sites l
expect "once: status" "$status" 0
expect "once" "$last" 'sites 2 of 2 armed; dropped 0; left out 1'
sites w w w w w l
expect "again: status" "$status" 0
expect "again" "$last" 'sites 2 of 2 armed; dropped 0; left out 1'
expect "again" "$(grep '^@\[' maps)" '@[work]: 6'
sites l n
expect "not executable: status" "$status" 0
expect "not executable" "$last" 'sites 1 of 1 armed; dropped 0; left out 1'
